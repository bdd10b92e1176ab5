//! The `couloir` command: projection-free saddle-point optimisation from the shell.

mod demo;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Solves min over x in X, max over y in Y of f(x, y) when X and Y are easy to minimise a linear
/// function over and hard to project onto.
#[derive(Parser)]
#[command(name = "couloir", version, about, arg_required_else_help = true)]
struct Command {
    #[command(subcommand)]
    job: Job,
}

#[derive(Subcommand)]
enum Job {
    /// Solve two small saddle problems with both forms of MPCGS and print a table
    ///
    /// Each problem has a known saddle point. `printed` is MPCGS with the constants of the paper,
    /// `certified` finds its own by backtracking. The table shows the certified gap, the bound that
    /// theory gives, the gradients and linear minimisations spent, and the time.
    Demo(demo::Options),
}

fn main() -> ExitCode {
    let Command { job } = Command::parse();
    let result = match job {
        Job::Demo(options) => demo::run(&options, &mut std::io::stdout().lock()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            use std::io::Write;
            // Nothing is left to do if even standard error is closed.
            let _ = writeln!(std::io::stderr(), "couloir: {error:#}");
            ExitCode::from(2)
        }
    }
}
