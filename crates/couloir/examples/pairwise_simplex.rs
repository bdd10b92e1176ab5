//! Pairwise sliding on a large simplex, to a minimum with full support.
#![allow(clippy::print_stdout)]

use couloir::domain::{Domain, Simplex, SlideTask};
use rand::{RngExt, SeedableRng};
use std::time::Instant;

fn main() -> couloir::Result<()> {
    let n = 16_000;
    let simplex = Simplex::new(n)?;
    let mut q = vec![0.0; n];
    simplex.center(&mut q);
    // Entries of r below beta/n = 1/n move no coordinate to zero.
    let mut random = rand_pcg::Pcg64::seed_from_u64(1);
    let r: Vec<f64> = (0..n).map(|_| random.random_range(0.0..0.9 / n as f64)).collect();

    let mut oracle = simplex.oracle();
    let mut u = vec![0.0; n];
    let mut task = SlideTask { r: &r, q: &q, beta: 1.0, eta: 0.0, budget: 1 };
    let first_gap = oracle.slide(&task, &mut u)?.gap;
    (task.eta, task.budget) = (1e-10 * first_gap, u64::MAX);

    let clock = Instant::now();
    let report = oracle.slide(&task, &mut u)?;
    let slide_time = clock.elapsed();
    let mut exact = vec![0.0; n];
    oracle.prox(&r, &q, 1.0, &mut exact)?;
    let clock = Instant::now();
    let prox_gap = oracle.prox(&r, &q, 1.0, &mut exact)?;
    let prox_time = clock.elapsed();

    let support = u.iter().filter(|&&u| u > 0.0).count();
    println!("n = {n}, support {support}, gap {first_gap:.3e} -> {:.3e}", report.gap);
    println!(
        "slide: {} LO calls, {:.1} ms, {:?}",
        report.lo_calls,
        millis(slide_time),
        report.state
    );
    println!("exact prox: {:.3} ms, gap bound {prox_gap:.1e}", millis(prox_time));

    task.eta = 0.0;
    let clock = Instant::now();
    let report = oracle.slide(&task, &mut u)?;
    println!(
        "with eta = 0: {} LO calls, {:.1} ms, {:?} at gap {:.1e}",
        report.lo_calls,
        millis(clock.elapsed()),
        report.state,
        report.gap
    );
    Ok(())
}

fn millis(time: std::time::Duration) -> f64 {
    1e3 * time.as_secs_f64()
}
