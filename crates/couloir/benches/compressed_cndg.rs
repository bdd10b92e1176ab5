//! CndG on the nuclear ball of 53 x 47,236 matrices (the shape of rcv1): 200 linear minimisations
//! by the plain procedure, each with the Gram matrix of the gradient, against the compressed one,
//! set-up and expansion included.
#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

use std::time::{Duration, Instant};

use couloir::domain::{Cndg, Domain, NuclearBall, SlideReport, SlideState, SlideTask, cndg};
use criterion::{Criterion, criterion_group, criterion_main};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

const ROWS: usize = 53;
const COLS: usize = 47_236;
const RADIUS: f64 = 100.0;
const CALLS: u64 = 200;

/// A gradient and a centre of full rank, `beta radius` of the size of the gradient.
fn task_data() -> (Vec<f64>, Vec<f64>, f64) {
    let mut rng = Pcg64::seed_from_u64(7);
    let dim = ROWS * COLS;
    let mut draw =
        |size: f64| -> Vec<f64> { (0..dim).map(|_| size * (rng.random::<f64>() - 0.5)).collect() };
    let mut r = draw(1e-3);
    // A falling spectrum, as gradients have one.
    for (i, row) in r.chunks_exact_mut(COLS).enumerate() {
        for x in row {
            *x /= 1.0 + 0.2 * i as f64;
        }
    }
    let ball = NuclearBall::new(ROWS, COLS, RADIUS).unwrap();
    let mut q = vec![0.0; dim];
    ball.oracle().prox(&draw(1.0), &vec![0.0; dim], 1.0, &mut q).unwrap();
    let length = r.iter().map(|v| v * v).sum::<f64>().sqrt();
    (r, q, length / RADIUS)
}

fn check(report: SlideReport) {
    assert_eq!((report.lo_calls, report.state), (CALLS, SlideState::OutOfBudget));
}

fn compressed_cndg(c: &mut Criterion) {
    let (r, q, beta) = task_data();
    let ball = NuclearBall::new(ROWS, COLS, RADIUS).unwrap();
    let mut oracle = ball.oracle();
    let mut scratch = Cndg::new(ball.dim());
    let mut out = vec![0.0; ball.dim()];
    let task = SlideTask { r: &r, q: &q, beta, eta: 0.0, budget: CALLS };

    // One linear minimisation: the Gram matrix is h (h+1) d flops, the rest is not counted.
    let flops = (ROWS * (ROWS + 1) * COLS) as f64;
    let mut minimisation = f64::INFINITY;
    for _ in 0..10 {
        let start = Instant::now();
        oracle.lmo(&r, &mut out).unwrap();
        minimisation = minimisation.min(start.elapsed().as_secs_f64());
    }
    println!(
        "linear minimisation {:.2} ms: h (h+1) d = {:.0} Mflop in it, {:.1} GFLOP/s over all of it",
        1e3 * minimisation,
        1e-6 * flops,
        1e-9 * flops / minimisation
    );
    check(oracle.slide(&task, &mut out).unwrap());
    let time = |run: &mut dyn FnMut()| {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64()
    };
    let short = (0..5)
        .map(|_| time(&mut || check(oracle.slide(&task, &mut out).unwrap())))
        .fold(f64::INFINITY, f64::min);
    let long = (0..2)
        .map(|_| time(&mut || check(cndg(&mut *oracle, &task, &mut scratch, &mut out).unwrap())))
        .fold(f64::INFINITY, f64::min);
    println!(
        "{CALLS} calls: plain {:.1} ms, compressed {:.1} ms, ratio {:.1}",
        1e3 * long,
        1e3 * short,
        long / short
    );

    let mut group = c.benchmark_group("cndg_53x47236_200_calls");
    group.sample_size(10).warm_up_time(Duration::from_millis(500));
    group.measurement_time(Duration::from_secs(2));
    group.bench_function("compressed", |b| {
        b.iter(|| check(oracle.slide(&task, &mut out).unwrap()));
    });
    group.bench_function("plain", |b| {
        b.iter(|| check(cndg(&mut *oracle, &task, &mut scratch, &mut out).unwrap()));
    });
    group.finish();
}

criterion_group!(benches, compressed_cndg);
criterion_main!(benches);
