//! Measures how fast the certified gap falls on problems that are strongly convex in x, with the modulus known and
//! unknown: the slope of its logarithm per iteration, in units of `sqrt(mu_x/Lhat0)`. Prints the table of docs/theory.md.
#![allow(clippy::print_stdout)]

#[path = "../tests/strongly_convex/mod.rs"]
mod strongly_convex;

use couloir::solver::CertifiedSettings;
use couloir::{Inner, Method, Result, Solve};
use std::process::ExitCode;
use strongly_convex::{Believed, Bent, SETS, fall, instance};

/// The share of its first value to which the gap is followed.
const SHARE: f64 = 1e-8;
/// What is asked of the slopes with the modulus known and unknown.
const ASKED: [f64; 2] = [0.3, 0.1];

fn main() -> Result<ExitCode> {
    let most: f64 = std::env::args().nth(1).map_or(1e6, |c| c.parse().unwrap_or(1e6));
    let seeds: u64 = std::env::args().nth(2).map_or(2, |c| c.parse().unwrap_or(2));
    let mut held = true;
    println!(
        "| set, curvature, solution | condition | known: slope | iterations | gradients | unknown: slope | iterations | gradients |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for set in SETS {
        for bent in [Bent::Spread, Bent::Coupled, Bent::Chain] {
            for is_interior in [true, false] {
                for condition in [1e2, 1e4, 1e6].into_iter().filter(|c| *c <= most) {
                    for seed in 1..=seeds {
                        let case = instance(set, bent, is_interior, condition, seed)?;
                        let unit = (1.0 / case.condition).sqrt();
                        let method = Method::new(CertifiedSettings::default().inner(Inner::Auto));
                        print!("| {} | {condition:.0e}", case.name);
                        for (asked, mu_x) in ASKED.into_iter().zip([Some(1.0 / condition), None]) {
                            let problem = Believed { inner: &case.problem, mu_x };
                            let solve = Solve::new(&problem, &*case.x_set, &*case.y_set)
                                .method(method.clone());
                            let most = (40.0 / (asked * unit)) as u64;
                            let run = fall(solve, SHARE, most)?;
                            let slope = run.slope() / unit;
                            held &= slope >= asked;
                            let mark = if slope >= asked { "" } else { " (!)" };
                            print!(
                                " | {slope:.2}{mark} | {} | {}",
                                run.gaps.len() - 1,
                                run.gradients
                            );
                        }
                        println!(" |");
                    }
                }
            }
        }
    }
    Ok(if held { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
