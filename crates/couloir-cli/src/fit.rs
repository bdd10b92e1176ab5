//! `couloir fit`: a robust classifier from a LIBSVM file, with a certificate.

mod summary;

use crate::checkpoints::{CheckpointOptions, FitObserver};
use crate::data_sets::DataSet;
use crate::failure::warn;
use crate::files::{Source, on_threads, prepare_outputs};
use crate::interrupt::{Interrupted, keep, listen};
use crate::missed_tolerance;
use crate::progress::Progress;
use crate::settings::{Settings, names};
use crate::terminal::shown_path;
use crate::tested::Tested;
use crate::trace_file::write_trace;
use crate::values::{Radius, radius};
use anyhow::{Context, Result};
use couloir::io::write_atomically;
use couloir::model::{FitRecord, Fitted, RobustFit};
use couloir::run::{Status, TracePoint, TraceRecord, WallClock};
use couloir_report::fit_page::{FitDetails, fit_page};
use couloir_report::page::{Page, Point};
use std::io::Write;
use std::path::{Path, PathBuf};
use summary::print_summary;

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// LIBSVM file (plain, .bz2 or .gz), `-` for standard input, a data set that was fetched by name, or made-up text:
    /// generated:news20, generated:rcv1, generated:sector, or generated:2000x5000x8 for rows x features x classes
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
    /// Labelled test data on which the page evaluates the model
    #[arg(long, value_name = "FILE", requires = "report", help_heading = "Results")]
    test: Option<PathBuf>,
    /// File with the group of each row of --test, one label per line
    #[arg(long, value_name = "FILE", requires = "test", help_heading = "Results")]
    test_groups: Option<PathBuf>,
    /// Show no progress
    #[arg(short, long, help_heading = "Results")]
    quiet: bool,

    /// Radius of the ball: a number, auto, or a multiple of it like 0.5auto [default: auto, which is sqrt(n h) / mean row norm]
    #[arg(long, value_name = "T", value_parser = radius, allow_hyphen_values = true, help_heading = "Problem")]
    tau: Option<Radius>,
    #[command(flatten)]
    settings: Settings,
    #[command(flatten)]
    checkpoints: CheckpointOptions,
}

const EXAMPLES: &str = "\
Examples:
  couloir data generate --rows 2000 --features 5000 --classes 8 -o text.svm
  couloir fit text.svm -o text.safetensors
  couloir fit news20.scale --tau 100 --tol 1e-3 --json --trace trace.jsonl
  couloir fit text.svm --uncertainty kl --level 0.5 --class-weight balanced
  couloir fit text.svm --uncertainty group --groups groups.txt --weights weights.txt
  couloir fit generated:2000x5000x8 --report fit.html
  couloir fit news20.scale --tol 1e-4 --checkpoint news20.checkpoint   # stopped by Ctrl-C, continues with
  couloir fit news20.scale --tol 1e-4 --resume news20.checkpoint";

pub fn run(options: &Options, out: &mut (dyn Write + Send)) -> Result<()> {
    let plan = options.checkpoints.plan(options.settings.limits.memory)?;
    let data = DataSet::find(&options.data)?;
    let outputs = [
        ("--output", options.output.as_deref()),
        ("--trace", options.trace.as_deref()),
        ("--report", options.report.as_deref()),
        ("the checkpoint", options.checkpoints.file()),
    ];
    let outputs: Vec<(&str, &Path)> =
        outputs.into_iter().filter_map(|(name, path)| Some((name, path?))).collect();
    let resumed = options.checkpoints.other_resumed().map(|path| ("--resume", path));
    let inputs: Vec<(&str, &Path)> = [("the data", data.path())]
        .into_iter()
        .chain(options.settings.row_files())
        .chain(options.test.as_deref().map(|path| ("--test", path)))
        .chain(options.test_groups.as_deref().map(|path| ("--test-groups", path)))
        .chain(resumed)
        .collect();
    prepare_outputs(&inputs, &outputs)?;
    let written: Vec<PathBuf> = outputs.iter().map(|(_, path)| path.to_path_buf()).collect();
    let fit = options.settings.fit(options.tau)?.checkpoints(plan).whole_trace(options.whole_trace);
    let fit = fit.cancel(Some(listen(written)));
    on_threads(options.settings.threads, || {
        let (record, fitted) = fit_data(options, &fit, &data)?;
        if let Some(path) = &options.trace {
            write_trace(path, [&fitted]).with_context(|| format!("{}", path.display()))?;
        }
        if options.json {
            writeln!(out, "{}", serde_json::to_string(&record)?)?;
        } else {
            print_summary(&record, out)?;
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
    match options.checkpoints.file() {
        Some(file) => format!("{model}; --resume {} continues", file.display()),
        None => format!("{model}; with --checkpoint a fit can be continued"),
    }
}

fn fit_data(options: &Options, fit: &RobustFit, data: &DataSet) -> Result<(FitRecord, Fitted)> {
    let file = data.path();
    let test = options.test.as_deref().map(Source::find).transpose()?;
    let mut progress = Progress::start(options.quiet, &format!("reading {}", shown_path(file)));
    let mut data = options.settings.load(data, |n, d, h, entries| {
        (format!("a fit of {n} rows, {d} features and {h} classes"), fit.memory(n, d, h, entries))
    })?;
    let (n, h, entries) = (data.len(), data.classes.len(), data.nonzeros());
    progress.doing("starting");
    let fit = options.settings.with_rows(fit.clone(), &data)?;
    let mut rows = data.take_matrix()?;
    let fit = options.settings.for_rows(fit, &rows);
    let at = || format!("{}", file.display());
    let columns = options.settings.scale(&fit, &rows).with_context(at)?;
    if let Some(columns) = &columns {
        rows = columns.apply(&rows).with_context(at)?;
    }
    let labels = std::mem::take(&mut data.labels);
    keep(true); // a signal until here has ended the process: nothing was begun, and nothing written
    let scale = fit.scaling.factor(n);
    let mut observer = FitObserver { progress: &mut progress, scale };
    let fitted =
        fit.run(rows, labels, h, &WallClock::start(), &mut observer).map_err(
            |error| match error {
                couloir::Error::Checkpoint { .. } => error.into(),
                _ => anyhow::Error::new(error).context(format!("{}", file.display())),
            },
        )?;
    drop(progress);
    if let Some(warning) = missed_tolerance::warning(file, &fitted, options.checkpoints.file()) {
        warn(&warning);
    }
    let model = fitted.classifier(names(&data))?;
    let model = match &columns {
        Some(columns) => columns.classifier(&model)?,
        None => model,
    };
    if let Some(path) = &options.output {
        model.save(path)?;
    }
    let mut record = fitted.record(&file.display().to_string(), entries);
    record.scale = columns.as_ref().map(|columns| columns.name().to_owned());
    record.model = options.output.as_ref().map(|path| path.display().to_string());
    if let Some(path) = &options.report {
        let test = test.map(|source| {
            options.settings.test_rows(&source, &model, options.test_groups.as_deref())
        });
        let test = test.transpose()?;
        let groups = options.settings.group_names(n)?;
        let page = page(&record, &fitted, &names(&data), &groups, test.as_ref())?.html();
        write_atomically(path, |out| out.write_all(page.as_bytes()))
            .with_context(|| format!("{}", path.display()))?;
    }
    Ok((record, fitted))
}

/// The page of a fit to data with these names of classes.
fn page(
    record: &FitRecord,
    fitted: &Fitted,
    names: &[String],
    group_names: &[String],
    test: Option<&Tested>,
) -> Result<Page> {
    let (model, solution) = (fitted.model(), fitted.solution());
    // of the rows that were not left out
    let groups = fitted.fit().groups.as_ref().map(|all| match model.places() {
        None => all.clone(),
        Some(places) => places.iter().map(|&i| all[i as usize]).collect::<Vec<u32>>(),
    });
    let n = model.len() as f64;
    let row_weights = model.row_weights(&solution.y);
    let point = |point: &TracePoint| Point::from(&TraceRecord::new(point, model.scale()));
    let details = FitDetails {
        names,
        scores: &fitted.scores(),
        labels: model.labels(),
        row_weights: &row_weights.iter().map(|weight| n * weight).collect::<Vec<f64>>(),
        places: model.places(),
        groups: groups.as_deref().map(|groups| (groups, group_names)),
        test: test.map(Tested::rows),
        singular_values: fitted.singular_values(),
        trace: solution.outcome.trace.iter().map(point).collect(),
        ..FitDetails::default()
    };
    Ok(fit_page(record, &details)?)
}
