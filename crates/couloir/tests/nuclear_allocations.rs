//! The nuclear ball's oracles allocate nothing once they are warm.
#![allow(clippy::unwrap_used, missing_docs)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use couloir::domain::{Domain, LanczosSettings, NuclearBall};
use couloir::sliding::SlideTask;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system allocator unchanged; the counter is a plain cell of the
// thread that allocates nothing itself.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|n| n.set(n.get() + 1));
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn allocations(mut run: impl FnMut()) -> u64 {
    let before = ALLOCATIONS.with(Cell::get);
    run();
    ALLOCATIONS.with(Cell::get) - before
}

#[test]
fn a_warm_oracle_allocates_nothing() {
    for (rows, cols) in [(20, 3000), (3000, 20), (53, 2000)] {
        let dim = rows * cols;
        let r: Vec<f64> = (0..dim).map(|i| (i as f64 * 0.7).sin()).collect();
        let q: Vec<f64> = (0..dim).map(|i| 1e-6 * (i as f64 * 0.3).cos()).collect();
        let mut out = vec![0.0; dim];
        let gram = NuclearBall::new(rows, cols, 10.0).unwrap();
        let settings = LanczosSettings::default();
        let lanczos = NuclearBall::with_lanczos(rows, cols, 10.0, settings).unwrap();
        for ball in [&gram, &lanczos] {
            let mut oracle = ball.oracle();
            let task = SlideTask { r: &r, q: &q, beta: 5.0, eta: 0.0, budget: 20 };
            let mut all = || {
                (
                    allocations(|| {
                        let _ = oracle.lmo(&r, &mut out).unwrap();
                    }),
                    allocations(|| {
                        let _ = oracle.prox(&r, &q, 5.0, &mut out).unwrap();
                    }),
                    allocations(|| {
                        let _ = oracle.slide(&task, &mut out).unwrap();
                    }),
                )
            };
            all();
            assert_eq!(all(), (0, 0, 0), "{rows} x {cols}");
        }
    }
}
