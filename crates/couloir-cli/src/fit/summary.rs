//! What a fit tells people: the summary on standard output.

use crate::terminal::shown;
use crate::values::show;
use anyhow::Result;
use couloir::model::FitRecord;
use std::io::Write;

/// Prints the summary of a fit.
pub fn print_summary(record: &FitRecord, out: &mut dyn Write) -> Result<()> {
    let FitRecord { n, d, classes, entries, run, .. } = record;
    let chosen = if record.tau_chosen { " (chosen: sqrt(n h) / mean row norm)" } else { "" };
    let adversary = match record.uncertainty.as_str() {
        "none" => "no adversary".to_owned(),
        name => format!("{name} at level {}", record.level),
    };
    let weighted = if record.weighted { ", weighted rows" } else { "" };
    let intercept = if record.intercept { ", intercept" } else { "" };
    let scale = match record.scale.as_deref() {
        Some("centred") => ", centred and scaled columns",
        Some(_) => ", scaled columns",
        None => "",
    };
    let threads = if record.threads == 1 { "thread" } else { "threads" };
    writeln!(
        out,
        "data      {}: {n} rows, {d} features, {classes} classes, {entries} entries",
        shown(&record.data)
    )?;
    writeln!(
        out,
        "problem   {}, tau {}{chosen}, {adversary}{intercept}{scale}{weighted}",
        record.objective,
        show(record.tau),
    )?;
    writeln!(
        out,
        "ended     {} after {} iterations of {}, {:.2} s on {} {threads}",
        run.status, run.iterations, record.method, record.seconds, record.threads
    )?;
    writeln!(
        out,
        "loss      {} robust (under the worst row weights), lower bound {}",
        show(record.primal),
        show(run.lower),
    )?;
    writeln!(
        out,
        "gap       {} certified (X {}, y {}), tolerance {:?}",
        show(run.gap),
        show(run.gap_x),
        show(run.gap_y),
        record.tol
    )?;
    writeln!(out, "certainty {}", run.certainty())?;
    writeln!(
        out,
        "work      {} and {}; for certificates {} and {}",
        counted(run.grads, "gradient"),
        counted(run.lo_calls, "linear minimisation"),
        counted(run.certificate_grads, "gradient"),
        counted(run.certificate_lo_calls, "linear minimisation"),
    )?;
    writeln!(out, "X         rank {}, nuclear norm {}", record.rank, show(record.nuclear_norm))?;
    match &record.model {
        Some(model) => writeln!(out, "model     {}", shown(model))?,
        None => writeln!(out, "model     not kept; name a file with -o to keep it")?,
    }
    Ok(())
}

fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(record: &FitRecord) -> String {
        let mut out = Vec::new();
        print_summary(record, &mut out).expect("a summary");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn loss_lower_bound_and_gap_add_up() {
        let mut record = FitRecord::default();
        (record.primal, record.tol) = (1.042, 0.1);
        (record.run.lower, record.run.upper, record.run.gap) = (-0.734, 1.042, 1.776);
        (record.run.grads, record.run.certificate_lo_calls) = (1, 3);
        record.run.confidence = "probabilistic".to_owned();
        record.run.failure_probability = 3e-9;
        let text = summary(&record);
        for line in [
            "loss      1.042 robust (under the worst row weights), lower bound -0.7340\n",
            "gap       1.776 certified (X 0, y 0), tolerance 0.1\n",
            "certainty holds except with probability 3.0e-9\n",
            "work      1 gradient and 0 linear minimisations; for certificates 0 gradients and 3 linear minimisations\n",
        ] {
            assert!(text.contains(line), "{text}");
        }
    }
}
