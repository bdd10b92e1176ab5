//! The estimate of a fit's memory holds, and is no wild guess. The only test of this file, for it counts
//! the bytes of the whole process.

use couloir::linalg::SparseMatrix;
use couloir::model::RobustFit;
use couloir::run::{Algorithm, Flow, NoClock, TracePoint};
use couloir::{Inner, Method};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Keeps the highest number of bytes in use.
struct Peak;

static NOW: AtomicU64 = AtomicU64::new(0);
static HIGHEST: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call goes to the system allocator unchanged; counting touches two atomics.
unsafe impl GlobalAlloc for Peak {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size() as u64, Relaxed) + layout.size() as u64;
        HIGHEST.fetch_max(now, Relaxed);
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size() as u64, Relaxed);
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static GLOBAL: Peak = Peak;

#[test]
fn the_estimate_of_memory_is_above_the_peak_and_within_reason() {
    // wide, long, dense, of rare features: in each another part of the memory is the largest
    let wide_and_rare = [(300, 20_000, 8, 10), (6000, 20_000, 2, 10)];
    for (n, d, h, row) in
        wide_and_rare.into_iter().chain([(12_000, 300, 20, 5), (3000, 500, 2, 200)])
    {
        for (name, method, iterations) in [
            // where points are kept by weights, until all their vectors are formed
            ("certified", Method::certified(), if n < d { 1500 } else { 6 }),
            ("slide", Method::certified().with_inner(Inner::Slide).expect("slides"), 6),
            ("mpcgs", Method::mpcgs(), 1),
            ("batched", Method::batched(), 6),
            ("mpscgs", Method::mpscgs(), 1),
            ("spfw", Method::spfw(), 6),
            ("svre", Method::svre(), 6),
            ("extragradient", Method::extragradient(), 6),
            ("apg", Method::apg(), 6),
        ] {
            let ratios = [false, true].map(|intercept| {
                let fit = RobustFit::default().method(method.clone()).intercept(intercept);
                let fit = fit.tol(1e-14).max_iters(Some(iterations));
                let estimate = fit.memory(n, d, h, n * row);
                let before = NOW.load(Relaxed);
                HIGHEST.store(before, Relaxed);
                let starts = (0..=n).map(|i| i * row).collect();
                let place = |p: usize| ((p % row) * (d / row) + (p / row * 7) % (d / row)) as u32;
                let indices = (0..n * row).map(place).collect();
                let values = (0..n * row).map(|p| 0.3 + 0.2 * (p as f64).sin()).collect();
                let rows = SparseMatrix::from_rows(d, starts, indices, values).expect("rows");
                let labels = (0..n).map(|i| (i % h) as u32).collect();
                let mut nobody = |_: &TracePoint, _: &dyn Algorithm| Flow::Continue;
                let fitted = fit.run(rows, labels, h, &NoClock, &mut nobody).expect("a fit");
                let _ = fitted.weights();
                let peak = HIGHEST.load(Relaxed) - before;
                let ratio = estimate as f64 / peak as f64;
                let what = format!("{name}, {n} x {d}, {h} classes, intercept {intercept}");
                assert!(ratio >= 1.0, "{what}: {peak} bytes, estimate {estimate} ({ratio:.2})");
                ratio
            });
            // the frugal methods and early batches are not worth an estimate of their own
            let most = if matches!(name, "certified" | "slide") { 2.0 } else { 4.0 };
            let closest = ratios[0].min(ratios[1]);
            assert!(closest <= most, "{name}, {n} x {d}, {h} classes: {closest:.2} times too much");
        }
    }
}
