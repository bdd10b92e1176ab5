//! `certify [N] [--seed S] [--faults MOST]` judges N random problems and prints the table; `certify --case SEED` judges one.

use couloir_certify::judge::{Case, judge_all, method_names};
use couloir_certify::table::Table;
use std::io::Write;
use std::process::ExitCode;

const USAGE: &str = "usage: certify [N] [--seed S] [--faults MOST] | certify --case SEED";

/// Cases that are judged before the next line of progress.
const CHUNK: u64 = 2_000;

fn main() -> ExitCode {
    match run(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            let _ = writeln!(std::io::stderr(), "{why}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &[String]) -> Result<bool, String> {
    let number = |text: &String| text.parse().map_err(|_| format!("`{text}` is no whole number"));
    let (mut cases, mut seed, mut faults, mut one): (u64, u64, usize, _) = (100_000, 1, 20, None);
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let mut following = || arguments.next().ok_or(format!("{argument} needs a number"));
        match argument.as_str() {
            "--seed" => seed = number(following()?)?,
            "--faults" => faults = number(following()?)? as usize,
            "--case" => one = Some(number(following()?)?),
            _ => cases = number(argument)?,
        }
    }
    let names = method_names();
    let mut out = std::io::stdout().lock();
    let broken = |error: std::io::Error| error.to_string();
    if let Some(seed) = one {
        let case = Case::new(seed, &names);
        let judged = case.judge();
        writeln!(out, "{case:#?}\n{judged:#?}").map_err(broken)?;
        let table = Table::default().and(&[judged]);
        let (faults, low) = (table.faults(1), table.low_estimates(1));
        faults.iter().chain(&low).try_for_each(|f| writeln!(out, "{f}")).map_err(broken)?;
        return Ok(table.is_clean());
    }
    let mut table = Table::default();
    let mut done = 0;
    while done < cases {
        let end = cases.min(done + CHUNK);
        table = table.and(&judge_all(seed, done..end, &names));
        done = end;
        let _ = writeln!(std::io::stderr(), "{done} of {cases}, {} wrong", table.all.wrong);
    }
    writeln!(out, "{cases} problems, seed {seed}\n{}", table.markdown()).map_err(broken)?;
    for seed in table.ended_by_the_clock() {
        writeln!(out, "case {seed}: ended by the clock").map_err(broken)?;
    }
    for low in table.low_estimates(faults) {
        writeln!(out, "low estimate: {low}").map_err(broken)?;
    }
    for fault in table.faults(faults) {
        writeln!(out, "{fault}\n  repeat with: scripts/certify --case {}", seed_of(&fault))
            .map_err(broken)?;
    }
    Ok(table.is_clean())
}

/// The seed that a fault begins with.
fn seed_of(fault: &str) -> &str {
    fault.trim_start_matches("case ").split(':').next().unwrap_or_default()
}
