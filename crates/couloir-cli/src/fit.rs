//! `couloir fit`: a robust classifier from a LIBSVM file, with a certificate.

use crate::failure::warn;
use crate::files::{Source, check_distinct, check_output, on_threads};
use crate::fit_page::fit_page;
use crate::interrupt::{First, Interrupted, listen};
use crate::keeping::{Keeping, Watch};
use crate::progress::Progress;
use crate::report::{Report, write_trace};
use crate::settings::{Settings, names};
use crate::values::{positive, show};
use anyhow::{Context, Result};
use couloir::io::{remove_stale, write_atomically};
use couloir::model::{Fitted, RobustFit};
use couloir::run::{Cancel, Status, WallClock};
use std::io::Write;
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// LIBSVM file (plain, .bz2 or .gz), `-` for standard input, or a data set that was fetched by name
    data: PathBuf,

    /// Write the model here (safetensors)
    #[arg(short, long, value_name = "MODEL", help_heading = "Results")]
    output: Option<PathBuf>,
    /// Print one JSON object in place of the summary
    #[arg(long, help_heading = "Results")]
    json: bool,
    /// Write the trace here, one JSON object per line
    #[arg(long, value_name = "FILE.jsonl", help_heading = "Results")]
    trace: Option<PathBuf>,
    /// Keep every record of the trace; otherwise a long one is thinned to at most 16384, at even intervals
    #[arg(long, help_heading = "Results")]
    whole_trace: bool,
    /// Write a page about the fit here: the certificate over time, the spectrum of X, the rows and classes that are
    /// hard
    #[arg(long, value_name = "FILE.html", help_heading = "Results")]
    report: Option<PathBuf>,
    /// Show no progress
    #[arg(short, long, help_heading = "Results")]
    quiet: bool,

    /// Radius of the nuclear-norm ball [default: sqrt(n h) / mean row norm]
    #[arg(long, value_name = "T", value_parser = positive, allow_hyphen_values = true, help_heading = "Problem")]
    tau: Option<f64>,
    #[command(flatten)]
    settings: Settings,
    #[command(flatten)]
    keeping: Keeping,
}

const EXAMPLES: &str = "\
Examples:
  couloir data generate --rows 2000 --features 5000 --classes 8 -o text.svm
  couloir fit text.svm -o text.safetensors
  couloir fit news20.scale --tau 100 --tol 1e-3 --json --trace trace.jsonl
  couloir fit news20.scale --tol 1e-4 --checkpoint news20.checkpoint   # ended by Ctrl-C, goes on with
  couloir fit news20.scale --tol 1e-4 --resume news20.checkpoint";

pub fn run(options: &Options, out: &mut (dyn Write + Send)) -> Result<()> {
    let plan = options.keeping.plan()?;
    let source = Source::find(&options.data)?;
    let outputs = [
        ("--output", options.output.as_deref()),
        ("--trace", options.trace.as_deref()),
        ("--report", options.report.as_deref()),
        ("the checkpoint", options.keeping.file()),
    ];
    let mut paths = vec![("the data", source.name())];
    paths.extend(outputs.iter().filter_map(|(name, path)| Some((*name, (*path)?))));
    for (_, path) in &paths[1..] {
        check_output(path)?;
    }
    check_distinct(&paths)?;
    let written: Vec<PathBuf> = paths[1..].iter().map(|(_, path)| path.to_path_buf()).collect();
    written.iter().for_each(|path| remove_stale(path));
    let fit = options.settings.fit(options.tau)?.checkpoints(plan).whole_trace(options.whole_trace);
    let fit = fit.cancel(Some(listen(First::Asks, written)));
    on_threads(options.settings.threads, || {
        let (report, fitted) = fit_source(options, &fit, &source)?;
        if let Some(path) = &options.trace {
            write_trace(path, [&fitted]).with_context(|| format!("{}", path.display()))?;
        }
        if options.json {
            writeln!(out, "{}", serde_json::to_string(&report)?)?;
        } else {
            summarise(&report, out)?;
        }
        match fitted.outcome().status {
            Status::Cancelled => Err(Interrupted::now(what_is_left(options))),
            _ => Ok(()),
        }
    })
}

/// What an interrupted fit leaves.
fn what_is_left(options: &Options) -> String {
    let model = match &options.output {
        Some(_) => "the model is the best point so far, with its certificate",
        None => "the certificate is that of the best point so far",
    };
    match options.keeping.file() {
        Some(file) => format!("{model}; --resume {} goes on", file.display()),
        None => format!("{model}; with --checkpoint one could go on"),
    }
}

fn fit_source(options: &Options, fit: &RobustFit, source: &Source) -> Result<(Report, Fitted)> {
    let file = source.name();
    let mut progress = Progress::start(options.quiet, &format!("reading {}", file.display()));
    let mut data = options.settings.read(source, |n, d, h, entries| {
        (format!("a fit of {n} rows, {d} features and {h} classes"), fit.memory(n, d, h, entries))
    })?;
    let (n, d, h) = (data.len(), data.features, data.classes.len());
    let entries = data.nonzeros();
    progress.doing("starting");
    let rows = data.take_matrix()?;
    let labels = std::mem::take(&mut data.labels);
    if fit.cancel.as_ref().is_some_and(Cancel::is_raised) {
        return Err(Interrupted::now("nothing was begun, and nothing written"));
    }
    let scale = fit.scaling.factor(n);
    let mut watch = Watch { progress: &mut progress, scale };
    let fitted =
        fit.run(rows, labels, h, &WallClock::start(), &mut watch).map_err(|error| match error {
            couloir::Error::Checkpoint { .. } => error.into(),
            _ => anyhow::Error::new(error).context(format!("{}", file.display())),
        })?;
    if let Some(trouble) = &fitted.outcome().trouble {
        warn(&format!("{}: {trouble}; the best certified point is kept", file.display()));
    }
    if let Some(path) = &options.output {
        fitted.classifier(names(&data))?.save(path)?;
    }
    let report = Report::new(file, options.output.as_deref(), d, entries, &fitted);
    if let Some(path) = &options.report {
        let page = fit_page(&report, &fitted, &names(&data))?.html();
        write_atomically(path, |out| out.write_all(page.as_bytes()))
            .with_context(|| format!("{}", path.display()))?;
    }
    Ok((report, fitted))
}

fn summarise(report: &Report, out: &mut dyn Write) -> Result<()> {
    let Report { n, d, classes, entries, .. } = report;
    let chosen = if report.tau_chosen { " (chosen: sqrt(n h) / mean row norm)" } else { "" };
    let intercept = if report.intercept { ", intercept" } else { "" };
    let threads = if report.threads == 1 { "thread" } else { "threads" };
    writeln!(
        out,
        "data      {}: {n} rows, {d} features, {classes} classes, {entries} entries",
        report.data
    )?;
    writeln!(
        out,
        "problem   {}, tau {}{chosen}, lambda n {}{intercept}",
        report.objective,
        show(report.tau),
        report.lambda_n
    )?;
    writeln!(
        out,
        "ended     {} after {} iterations of {}, {:.2} s on {} {threads}",
        report.status, report.iterations, report.method, report.seconds, report.threads
    )?;
    writeln!(
        out,
        "loss      {} robust (the worst weights of the rows); no X in the ball has less than {}",
        show(report.primal),
        show(report.lower.max(0.0)),
    )?;
    writeln!(
        out,
        "gap       {} certified (X {}, y {}), asked for {}",
        show(report.gap),
        show(report.gap_x),
        show(report.gap_y),
        report.tol
    )?;
    writeln!(
        out,
        "work      {} gradients, {} for certificates, {} linear minimisations",
        report.grads, report.certificate_grads, report.lo_calls
    )?;
    writeln!(out, "X         rank {}, nuclear norm {}", report.rank, show(report.nuclear_norm))?;
    match &report.model {
        Some(model) => writeln!(out, "model     {model}")?,
        None => writeln!(out, "model     not kept; name a file with -o to keep it")?,
    }
    Ok(())
}
