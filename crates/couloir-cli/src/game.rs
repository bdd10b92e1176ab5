//! `couloir game`: the value of a zero-sum game, with strategies for both players.

use crate::failure::{bad, warn};
use crate::interrupt::{Interrupted, keep, listen};
use crate::values::{count, positive, show, table};
use anyhow::{Context, Result};
use couloir::Solution;
use couloir::model::games::Game;
use couloir::run::{Status, StopRules, WallClock};
use serde::Serialize;
use std::io::{BufRead, Read as _, Write};
use std::path::Path;

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// CSV file of payoffs, one line for each choice of x; `-` for standard input; or a ready game: kuhn, leduc, or
    /// blotto:S,F for S soldiers on F fields
    game: String,
    /// Stop at this exploitability (the certified gap)
    #[arg(long, value_name = "GAP", value_parser = positive, allow_negative_numbers = true, default_value_t = 1e-6)]
    tol: f64,
    /// Stop after this many iterations
    #[arg(long, value_name = "N", value_parser = count, default_value_t = 100_000)]
    max_iters: u64,
    /// Stop after this many seconds
    #[arg(long, value_name = "S", value_parser = positive, allow_negative_numbers = true)]
    max_seconds: Option<f64>,
    /// Show at most this many entries of each strategy, the largest first
    #[arg(long, value_name = "N", value_parser = count, default_value_t = 20)]
    show: u64,
    /// Print one JSON object in place of the summary
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  printf '0,1,-1\\n-1,0,1\\n1,-1,0\\n' | couloir game -
  couloir game leduc --tol 1e-4
  couloir game blotto:10,4 --json

x pays the entry of the payoffs to y. The value is what x pays on average if both play best.";

/// Payoffs that a file may have: 800 MB.
const MOST_PAYOFFS: usize = 100_000_000;
/// Bytes of a file of payoffs.
const MOST_BYTES: u64 = 4 << 30;
/// Entries of a strategy below this are left out of its support.
const SUPPORT: f64 = 1e-12;

/// What `--json` prints.
#[derive(Serialize)]
struct Record<'a> {
    game: &'a str,
    method: &'a str,
    status: String,
    solved: bool,
    /// The middle of the bounds.
    value: f64,
    lower: f64,
    upper: f64,
    gap: f64,
    iterations: u64,
    oracle_calls: [u64; 2],
    seconds: f64,
    x: &'a [f64],
    y: &'a [f64],
}

pub fn run(options: &Options, out: &mut (dyn Write + Send)) -> Result<()> {
    let game = read(&options.game)?;
    let mut rules = StopRules::default();
    (rules.gap, rules.relative_gap) = (Some(options.tol), None);
    (rules.iterations, rules.seconds) = (Some(options.max_iters), options.max_seconds);
    rules.cancel = Some(listen(Vec::new()));
    keep(true);
    let solution = game.solver().rules(rules).clock(WallClock::start()).run()?;
    let status = solution.outcome.status;
    if options.json {
        writeln!(out, "{}", serde_json::to_string(&record(&options.game, &solution))?)?;
    } else {
        print(&game, &solution, options.show as usize, out)?;
    }
    match status {
        Status::Cancelled => {
            Err(Interrupted::now("the strategies are the best so far, with their bounds"))
        }
        status if !status.is_solved() => {
            let gap = solution.outcome.certificate.gap;
            warn(&format!(
                "stopped ({status}) at an exploitability of {gap:.3e}, above --tol {:.3e}",
                options.tol
            ));
            Ok(())
        }
        _ => Ok(()),
    }
}

fn record<'a>(name: &'a str, solution: &'a Solution) -> Record<'a> {
    let outcome = &solution.outcome;
    let bounds = outcome.certificate;
    let calls = outcome.ledger.method + outcome.ledger.certificate;
    Record {
        game: name,
        method: solution.method,
        status: outcome.status.to_string(),
        solved: outcome.status.is_solved(),
        value: 0.5 * bounds.lower + 0.5 * bounds.upper,
        lower: bounds.lower,
        upper: bounds.upper,
        gap: bounds.gap,
        iterations: outcome.iterations,
        oracle_calls: [calls.lo_x, calls.lo_y],
        seconds: outcome.seconds,
        x: &solution.x,
        y: &solution.y,
    }
}

fn print(game: &Game, solution: &Solution, most: usize, out: &mut dyn Write) -> Result<()> {
    let bounds = solution.outcome.certificate;
    let calls = solution.outcome.ledger.method + solution.outcome.ledger.certificate;
    writeln!(out, "value           {:.9}", 0.5 * bounds.lower + 0.5 * bounds.upper)?;
    writeln!(out, "certified       {:.9} to {:.9}", bounds.lower, bounds.upper)?;
    writeln!(out, "exploitability  {:.3e}", bounds.gap)?;
    writeln!(
        out,
        "method          {}, {} iterations, best responses: {} of x and {} of y",
        solution.method, solution.outcome.iterations, calls.lo_x, calls.lo_y
    )?;
    for (name, point) in [("x, who pays", &solution.x), ("y, who is paid", &solution.y)] {
        let is_x = name.starts_with('x');
        let label = |i: usize| if is_x { game.x_name(i) } else { game.y_name(i) };
        let mut support: Vec<usize> = (0..point.len()).filter(|i| point[*i] > SUPPORT).collect();
        support.sort_by(|i, j| point[*j].total_cmp(&point[*i]));
        let mut rows = table([name, "weight"], 1..2);
        for i in support.iter().take(most) {
            rows.add_row([label(*i), show(point[*i])]);
        }
        writeln!(out, "\n{rows}")?;
        if support.len() > most {
            writeln!(out, "and {} more; --show prints more of them", support.len() - most)?;
        }
    }
    Ok(())
}

fn read(name: &str) -> Result<Game> {
    match name {
        "kuhn" => Ok(Game::kuhn()?),
        "leduc" => Ok(Game::leduc()?),
        "-" => payoffs("standard input", &mut std::io::stdin().lock()),
        _ => match name.strip_prefix("blotto:") {
            Some(sizes) => {
                let numbers: Option<Vec<usize>> =
                    sizes.split(',').map(|size| size.trim().parse().ok()).collect();
                match numbers.as_deref() {
                    Some([soldiers @ 1..=200, fields @ 2..=50]) => {
                        Ok(Game::blotto(*soldiers, *fields)?)
                    }
                    _ => Err(bad(format!(
                        "{name}: write blotto:S,F with 1 to 200 soldiers S and 2 to 50 fields F, such as blotto:10,4"
                    ))),
                }
            }
            None => {
                let file = std::fs::File::open(Path::new(name)).map_err(|error| match error.kind() {
                    std::io::ErrorKind::NotFound => bad(format!(
                        "{name}: no such file, and no game of this name; the ready games are kuhn, leduc and blotto:S,F"
                    )),
                    _ => anyhow::Error::new(error).context(name.to_owned()),
                })?;
                payoffs(name, &mut std::io::BufReader::new(file))
            }
        },
    }
}

/// Payoffs in lines of numbers between commas.
fn payoffs(name: &str, from: &mut dyn BufRead) -> Result<Game> {
    let (mut entries, mut columns, mut rows) = (Vec::new(), 0, 0);
    // a file without line ends would be read as one line
    let from = std::io::BufReader::new(from.take(MOST_BYTES + 1));
    let mut bytes = 0;
    for (number, line) in from.lines().enumerate() {
        let line = line.with_context(|| format!("{name}, line {}", number + 1))?;
        bytes += line.len() as u64 + 1;
        if bytes > MOST_BYTES {
            return Err(bad(format!("{name}: more than {MOST_BYTES} bytes")));
        }
        if line.trim().is_empty() {
            continue;
        }
        let before = entries.len();
        for (field, text) in line.split(',').enumerate() {
            match text.trim().parse::<f64>() {
                Ok(payoff) if payoff.is_finite() => entries.push(payoff),
                _ => {
                    let shown: String = text.trim().chars().take(30).collect();
                    return Err(bad(format!(
                        "{name}, line {}, entry {}: `{shown}` is not a finite number",
                        number + 1,
                        field + 1
                    )));
                }
            }
            if entries.len() > MOST_PAYOFFS {
                return Err(bad(format!("{name}: more than {MOST_PAYOFFS} payoffs")));
            }
        }
        let here = entries.len() - before;
        if rows > 0 && here != columns {
            return Err(bad(format!(
                "{name}, line {}: {here} payoffs, but the lines before have {columns}",
                number + 1
            )));
        }
        columns = here;
        rows += 1;
    }
    if rows == 0 {
        return Err(bad(format!(
            "{name}: no payoffs; write one line for each choice of x, with commas between numbers"
        )));
    }
    Ok(Game::matrix(rows, columns, entries)?)
}
