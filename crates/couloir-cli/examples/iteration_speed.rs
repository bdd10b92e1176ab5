//! Answers every line `OBJECTIVE TOL` with the counts and the seconds of a certified fit of the LIBSVM file of its argument
//! (tau 100, level 1), a JSON object a line: `cargo run --release -p couloir-cli --example iteration_speed -- FILE`
//!
//! `scripts/bench` sets them beside the same iteration in NumPy and SciPy: both sides read their data once, and neither gets
//! memory that is new to its process after its first run.
#![allow(clippy::print_stdout)]

#[cfg(target_os = "linux")]
#[path = "../src/allocator.rs"]
mod allocator;

use couloir::model::{RobustFit, Scaling};
use couloir::run::{Algorithm, Flow, TracePoint, WallClock};
use couloir_data::libsvm::{ReadOptions, read};
use std::error::Error;
use std::path::Path;

/// As in the command.
#[cfg(target_os = "linux")]
#[global_allocator]
static MEMORY: allocator::LargeBlocks = allocator::LargeBlocks;

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("name a LIBSVM file")?;
    let mut data = read(Path::new(&file), &ReadOptions::default())?;
    let rows = data.take_matrix()?;
    let pool = rayon::ThreadPoolBuilder::new().build()?;
    let mut nobody = |_: &TracePoint, _: &dyn Algorithm| Flow::Continue;
    for line in std::io::stdin().lines() {
        let line = line?;
        let (objective, tol) = line.split_once(' ').ok_or("a line is OBJECTIVE TOL")?;
        let scaling = match objective {
            "paper" => Scaling::Paper,
            "dro" => Scaling::Dro,
            other => return Err(format!("no objective: {other}").into()),
        };
        let fit = RobustFit::default().scaling(scaling).tau(Some(100.0)).tol(tol.trim().parse()?);
        let (rows, labels, classes) = (rows.clone(), data.labels.clone(), data.classes.len());
        // on a thread of the pool, which need not wait for one
        let fitted = pool.install(|| {
            fit.level(1.0).run(rows, labels, classes, &WallClock::start(), &mut nobody)
        })?;
        let outcome = fitted.outcome();
        let answer = serde_json::json!({
            "status": outcome.status.to_string(),
            "seconds": outcome.seconds,
            "iterations": outcome.iterations,
            "grads": fitted.grads(),
            "certificate_grads": fitted.certificate_grads(),
            "gap": fitted.gap(),
        });
        println!("{answer}");
    }
    Ok(())
}
