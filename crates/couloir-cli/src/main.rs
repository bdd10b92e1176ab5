//! The `couloir` command: projection-free saddle-point optimisation from the shell.

#[cfg(target_os = "linux")]
mod allocator;
mod checkpoints;
mod compare;
mod data;
mod data_sets;
mod demo;
mod evaluate;
mod failure;
mod files;
mod fit;
mod game;
mod interrupt;
mod memory;
mod missed_tolerance;
mod model_and_data;
mod path;
mod predict;
mod progress;
mod row_files;
mod settings;
mod terminal;
mod tested;
mod trace_file;
mod values;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Robust classifiers and saddle points with a proof of how good they are.
///
/// couloir solves min over x in X, max over y in Y of f(x, y) when X and Y are easy to minimise a linear
/// function over and hard to project onto.
#[derive(Parser)]
#[command(name = "couloir", version, about, arg_required_else_help = true)]
struct Command {
    #[command(subcommand)]
    job: Job,
}

#[derive(Subcommand)]
enum Job {
    /// Train a robust multiclass classifier on a LIBSVM file
    ///
    /// Finds weights X, a row for each class, that minimise the loss for the worst weights y of the rows:
    /// f(X, y) = s sum_i y_i l_i(X) - lambda/2 |n y - 1|^2 with the logistic loss l_i, the nuclear norm of X at most tau
    /// and y a probability. It ends when the certified gap, an upper bound on the distance from the optimal value, is at
    /// most --tol. A fit that a limit stops before that keeps its best point, warns and ends with exit code 0; `solved` in
    /// --json tells the two apart.
    #[command(arg_required_else_help = true)]
    Fit(Box<fit::Options>),
    /// Predict the label of every row of a LIBSVM file
    ///
    /// Prints one label a line, spelled as in the training file. The labels in DATA are not looked at (a line must
    /// have one, any number will do). Features that DATA lacks count as zero; one that the model was not trained
    /// on is an error.
    #[command(arg_required_else_help = true)]
    Predict(predict::Options),
    /// Measure a model on a labelled LIBSVM file
    ///
    /// Accuracy, recall of every class and the worst of them, macro F1 (over the classes that rows have or are given),
    /// mean loss, and CVaR at 10 %: the mean of the largest tenth of the losses. A label that the model does not have
    /// is an error: its loss would be infinite.
    #[command(arg_required_else_help = true)]
    Evaluate(evaluate::Options),
    /// Find a good radius: fit along a path of growing ones and choose by rows held back
    ///
    /// Holds back a share of the rows of every class, fits the rest with each radius of a geometric grid, smallest first
    /// and each from the solution before it, and chooses the radius that is best on the rows held back; of equal
    /// ones the smallest. With -o the chosen radius is then fitted to all rows: the same model as `couloir fit --tau T`
    /// gives.
    #[command(arg_required_else_help = true)]
    Path(Box<path::Options>),
    /// Compare methods on data sets under one time budget, as the paper does, and write a page about it
    ///
    /// Runs the methods one after the other from the same start. Time for looks at the gap is not charged, nor is
    /// the search for steps of svre and extragradient: every pair of the paper's grid and the method's own steps get a
    /// tenth of the budget each. Writes results.jsonl (every point), summary.json, figure.svg, figure.png
    /// and report.html, a page to explore. What is done is kept when it is interrupted; the same command with --continue
    /// goes on.
    #[command(arg_required_else_help = true)]
    Compare(compare::Options),
    /// Make the page, the figures and the summary of a comparison again from its results
    #[command(arg_required_else_help = true)]
    Report(compare::ReportOptions),
    /// Solve a zero-sum game: its value with certified bounds, and strategies for both players
    ///
    /// Finds a mixed strategy of x, who pays, and one of y, who is paid, whose exploitability (what both could gain together by a best
    /// response to the other) is at most --tol. Matrix games are solved by restarted primal-dual steps, poker and Blotto by best
    /// responses over their trees and paths.
    #[command(arg_required_else_help = true)]
    Game(game::Options),
    /// List, describe, download or make data sets
    #[command(subcommand)]
    Data(data::Job),
    /// Show the main job on made-up text, in less than a minute
    ///
    /// Generates a data set, fits the robust classifier and the plain one, compares four methods under one
    /// time budget, prints the tables and writes model, trace and a picture.
    Demo(demo::Options),
}

#[cfg(target_os = "linux")]
#[global_allocator]
static MEMORY: allocator::LargeBlocks = allocator::LargeBlocks;

fn main() -> ExitCode {
    interrupt::survive_file_limits();
    let job = match Command::try_parse() {
        Ok(command) => command.job,
        Err(error) => return failure::report_usage(&error),
    };
    // not locked: jobs run on threads of their own
    let mut out = terminal::Output::standard();
    let result = match job {
        Job::Fit(options) => fit::run(&options, &mut out),
        Job::Predict(options) => predict::run(&options, &mut out),
        Job::Evaluate(options) => evaluate::run(&options, &mut out),
        Job::Path(options) => path::run(&options, &mut out),
        Job::Compare(options) => compare::run(&options, &mut out),
        Job::Report(options) => compare::report(&options, &mut out),
        Job::Game(options) => game::run(&options, &mut out),
        Job::Data(job) => data::run(&job, &mut out),
        Job::Demo(options) => demo::run(&options, &mut out),
    };
    let result = result.and_then(|()| Ok(std::io::Write::flush(&mut out)?));
    interrupt::take_the_last_word();
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failure::report(&error),
    }
}
