//! Where projections stop being cheap: the inner problem `min <g, u> + beta/2 |u - v|^2` over nuclear-norm balls of
//! h x d matrices for growing h, by an exact prox (a projection) and by sliding (linear minimisations alone).
//!
//!     cargo run --release -p couloir --example inner_crossing [-- d h h h ...]
#![allow(clippy::print_stdout)]

use couloir::domain::{Domain, LanczosSettings, NuclearBall, SlideTask};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use std::time::Instant;

const RADIUS: f64 = 100.0;
/// Directions that matter in a gradient: those of classes that are confused.
const DIRECTIONS: usize = 12;
/// Accuracies of a slide, relative to the gap of the inner problem at its start.
const ACCURACIES: [f64; 2] = [1e-1, 1e-2];

/// Linear minimisations that a slide may take here.
const BUDGET: u64 = 100;

/// A sum of a few directions with a falling spectrum, and noise a hundredth as long.
fn matrix(h: usize, d: usize, rng: &mut Pcg64) -> Vec<f64> {
    let mut noise = |n: usize| -> Vec<f64> { (0..n).map(|_| rng.random::<f64>() - 0.5).collect() };
    let mut matrix = noise(h * d);
    matrix.iter_mut().for_each(|v| *v *= 1e-2);
    for k in 0..DIRECTIONS {
        let (left, right) = (noise(h), noise(d));
        let size = 1.0 / (1 + k) as f64;
        for (row, l) in matrix.chunks_exact_mut(d).zip(&left) {
            row.iter_mut().zip(&right).for_each(|(v, r)| *v += size * l * r);
        }
    }
    matrix
}

/// Seconds of the quickest of a few runs; one if it is long.
fn seconds(mut run: impl FnMut() -> couloir::Result<()>) -> couloir::Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        let began = Instant::now();
        run()?;
        best = best.min(began.elapsed().as_secs_f64());
        if best > 2.0 {
            break;
        }
    }
    Ok(best)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut sizes = Vec::new();
    for argument in std::env::args().skip(1) {
        sizes.push(argument.parse::<usize>()?);
    }
    let (d, sides) = match sizes.split_first() {
        Some((d, sides)) if !sides.is_empty() => (*d, sides.to_vec()),
        _ => (50_000, vec![20, 50, 100, 200, 400, 800, 2000]),
    };
    println!(
        "| h x {d} | exact | slide to 1e-1 | LO calls | exact / slide | slide to 1e-2 | LO calls | exact / slide |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for h in sides {
        let mut rng = Pcg64::seed_from_u64(3);
        let ball = NuclearBall::with_lanczos(h, d, RADIUS, LanczosSettings::default())?;
        let ball = ball.exact_up_to(h);
        let mut oracle = ball.oracle();
        let (g, mut v, mut u) = (matrix(h, d, &mut rng), vec![0.0; h * d], vec![0.0; h * d]);
        let length = g.iter().map(|x| x * x).sum::<f64>().sqrt();
        let beta = 0.5 * length / RADIUS;
        // a centre that an earlier step could have left
        oracle.prox(&matrix(h, d, &mut rng), &u, beta, &mut v)?;
        let exact = seconds(|| oracle.prox(&g, &v, beta, &mut u).map(drop))?;
        // the gap at the start of the slide: <g, v> - min <g, u>
        let at_v: f64 = g.iter().zip(&v).map(|(g, v)| g * v).sum();
        let first = at_v - oracle.lmo(&g, &mut u)?.lower;
        let mut cells = Vec::new();
        for accuracy in ACCURACIES {
            let task = SlideTask { r: &g, q: &v, beta, eta: accuracy * first, budget: BUDGET };
            let (mut calls, mut arrived) = (0, true);
            let time = seconds(|| {
                let report = oracle.slide(&task, &mut u)?;
                (calls, arrived) = (report.lo_calls, report.gap <= task.eta);
                Ok(())
            })?;
            let (more, less) = if arrived { ("", "") } else { ("> ", "< ") };
            cells.push(format!("{more}{time:.3} s | {calls} | {less}{:.2}", exact / time));
        }
        println!("| {h} | {exact:.3} s | {} |", cells.join(" | "));
    }
    Ok(())
}
