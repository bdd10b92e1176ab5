//! Solves a matrix game from a file by the default method, for `scripts/bench games`, and prints one line of JSON:
//!
//!     game_speed FILE ROWS COLUMNS GAP [steps [ITERATIONS]]
//!
//! The file holds the payoffs row by row, 8 bytes each (little-endian). With `steps`, by steps alone, without the exact finish, and with the
//! gaps on the way.

#![allow(clippy::print_stdout)]

use couloir::domain::Simplex;
use couloir::problem::MatrixGame;
use couloir::run::WallClock;
use couloir::solver::RestartedSettings;
use couloir::{Method, Solve};
use std::error::Error;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, rows, columns, gap, rest @ ..] = arguments.as_slice() else {
        return Err("arguments: FILE ROWS COLUMNS GAP [steps [ITERATIONS]]".into());
    };
    let bytes = std::fs::read(file)?;
    let (numbers, _) = bytes.as_chunks::<8>();
    let payoffs: Vec<f64> = numbers.iter().map(|number| f64::from_le_bytes(*number)).collect();
    let (rows, columns, gap) = (rows.parse()?, columns.parse()?, gap.parse()?);
    let by_steps = rest.iter().any(|word| word == "steps");
    let limit = rest.get(1).map_or(Ok(1_000_000), |limit| limit.parse())?;
    let begun = Instant::now();
    let game = MatrixGame::from_rows(rows, columns, payoffs)?;
    let (x_set, y_set) = (Simplex::new(rows)?, Simplex::new(columns)?);
    let mut solve = Solve::new(&game, &x_set, &y_set).gap(gap).clock(WallClock::start());
    if by_steps {
        solve = solve.method(RestartedSettings::default().finish(false)).iterations(limit);
    }
    let solution = solve.run()?;
    let seconds = begun.elapsed().as_secs_f64();
    let (outcome, method) = (&solution.outcome, Method::suited(&game, &x_set, &y_set));
    let trace: Vec<(u64, f64)> = match by_steps {
        true => outcome.trace.iter().map(|at| (at.iteration, at.certificate.gap)).collect(),
        false => Vec::new(),
    };
    let answer = serde_json::json!({
        "method": method.name(),
        "seconds": seconds,
        "iterations": outcome.iterations,
        "gradients": outcome.ledger.method.grad_x,
        "lower": outcome.certificate.lower,
        "upper": outcome.certificate.upper,
        "gap": outcome.certificate.gap,
        "solved": outcome.status.is_solved(),
        "trace": trace,
    });
    println!("{answer}");
    Ok(())
}
