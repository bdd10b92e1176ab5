//! The game of `python/examples/callback_overhead.py` in Rust: `x.y + |x|^2/2 - |y|^2/2` on a simplex and a ball of 1,000
//! numbers each. Prints the microseconds that an iteration of SPFW takes.
#![allow(clippy::print_stdout)]

use couloir::domain::{L2Ball, Simplex};
use couloir::problem::ClosureProblem;
use couloir::run::StopRules;
use couloir::{Method, Result, Solve};
use std::time::Instant;

const N: usize = 1000;
const ITERATIONS: u64 = 3000;

fn main() -> Result<()> {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let game = ClosureProblem::new(
        N,
        N,
        move |x, y| dot(x, y) + 0.5 * dot(x, x) - 0.5 * dot(y, y),
        |x, y, g| (0..N).for_each(|i| g[i] = y[i] + x[i]),
        |x, y, g| (0..N).for_each(|i| g[i] = x[i] - y[i]),
    )?;
    let (simplex, ball) = (Simplex::new(N)?, L2Ball::new(N, 1.0)?);
    let mut rules = StopRules::default();
    (rules.gap, rules.relative_gap) = (Some(1e-15), None);
    rules.iterations = Some(ITERATIONS);
    let began = Instant::now();
    let solution = Solve::new(&game, &simplex, &ball).method(Method::spfw()).rules(rules).run()?;
    let micros = 1e6 * began.elapsed().as_secs_f64() / solution.outcome.iterations as f64;
    println!("{micros:.2} microseconds in each of {} iterations", solution.outcome.iterations);
    Ok(())
}
