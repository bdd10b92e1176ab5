//! A saddle problem and a set of one's own: a regularised matrix game in which the first player
//! mixes shortest paths, known only through a linear minimisation.
//!
//! The network is a ladder of `STAGES` stages with an upper and a lower edge each; a path takes one edge
//! a stage. Player x mixes paths (a point of the path polytope, edges in R^{2 STAGES}), player y puts
//! a toll distribution on the edges: `f(x, y) = <y, C x> - mu/2 |y - 1/m|^2`.
#![allow(clippy::print_stdout)]

use couloir::domain::{LoSet, Simplex};
use couloir::problem::{ClosureProblem, check_gradient};
use couloir::{Result, Solve};

const STAGES: usize = 12;
const EDGES: usize = 2 * STAGES;
const MU: f64 = 0.5;

/// What edge `e` costs before tolls.
fn cost(e: usize) -> f64 {
    1.0 + ((e * 7 + 3) % 11) as f64 / 11.0
}

fn main() -> Result<()> {
    // argmin of <g, p> over paths: the cheaper edge of every stage
    let paths = LoSet::new(EDGES, (EDGES as f64).sqrt(), upper_path(), |g, p| {
        p.fill(0.0);
        for stage in 0..STAGES {
            let (up, down) = (2 * stage, 2 * stage + 1);
            p[if g[up] <= g[down] { up } else { down }] = 1.0;
        }
    })?;
    let tolls = Simplex::new(EDGES)?;

    let even = 1.0 / EDGES as f64;
    let game = ClosureProblem::new(
        EDGES,
        EDGES,
        |x, y| (0..EDGES).map(|e| y[e] * cost(e) * x[e] - 0.5 * MU * (y[e] - even).powi(2)).sum(),
        |_, y, g| (0..EDGES).for_each(|e| g[e] = y[e] * cost(e)),
        |x, y, g| (0..EDGES).for_each(|e| g[e] = cost(e) * x[e] - MU * (y[e] - even)),
    )?;
    let check = check_gradient(&game, &upper_path(), &[even; EDGES])?;
    println!("gradients off by at most {:.1e}", check.worst());

    let solution = Solve::new(&game, &paths, &tolls).gap(1e-4).run()?;
    let outcome = &solution.outcome;
    println!("{} after {} iterations", outcome.status, outcome.iterations);
    println!(
        "value of the game in [{:.6}, {:.6}], proved as far as the path oracle is right ({:?})",
        outcome.certificate.lower, outcome.certificate.upper, outcome.certificate.confidence
    );
    println!(
        "{} gradients, {} shortest paths",
        outcome.ledger.method.grad_x,
        outcome.ledger.method.lo_x + outcome.ledger.certificate.lo_x
    );
    for stage in 0..STAGES {
        println!("stage {stage:2}: upper edge with probability {:.3}", solution.x[2 * stage]);
    }
    Ok(())
}

fn upper_path() -> Vec<f64> {
    (0..EDGES).map(|e| if e % 2 == 0 { 1.0 } else { 0.0 }).collect()
}
