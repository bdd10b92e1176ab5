//! `couloir path`: fits over a grid of radii, and the choice among them.

use crate::data_sets::DataSet;
use crate::evaluate::Scores;
use crate::failure::warn;
use crate::files::{on_threads, prepare_outputs};
use crate::interrupt::{Interrupted, keep, listen};
use crate::missed_tolerance;
use crate::progress::Progress;
use crate::settings::{Settings, names};
use crate::terminal::{shown, shown_path};
use crate::values::{positive, show, table};
use anyhow::{Context, Result};
use clap::ValueEnum;
use couloir::model::{
    Criterion, FitRecord, Labelled, PathStep, RobustFit, RobustPath, auto_tau, geometric_grid,
    stratified_split,
};
use couloir::run::{Algorithm, Cancel, Flow, TracePoint, WallClock};
use couloir_data::Dataset;
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// LIBSVM file (plain, .bz2 or .gz), `-` for standard input, a data set that was fetched by name, or made-up text:
    /// generated:news20, generated:rcv1, generated:sector, or generated:2000x5000x8 for rows x features x classes
    data: PathBuf,

    /// Fit all rows with the chosen radius and write the model here (safetensors)
    #[arg(short, long, value_name = "MODEL", help_heading = "Results")]
    output: Option<PathBuf>,
    /// Print one JSON object in place of the table
    #[arg(long, help_heading = "Results")]
    json: bool,
    /// Show no progress
    #[arg(short, long, help_heading = "Results")]
    quiet: bool,

    /// Middle of the grid of radii [default: sqrt(n h) / mean row norm]
    #[arg(long, value_name = "T", value_parser = positive, allow_hyphen_values = true, help_heading = "Path")]
    tau: Option<f64>,
    /// Number of radii
    #[arg(long, value_name = "K", default_value = "5", value_parser = points, allow_hyphen_values = true, help_heading = "Path")]
    points: usize,
    /// How much larger each radius is than the one before
    #[arg(long, value_name = "R", default_value_t = 2.0, value_parser = ratio, allow_hyphen_values = true, help_heading = "Path")]
    ratio: f64,
    /// Share of the rows to hold back
    #[arg(long, value_name = "SHARE", default_value_t = 0.2, value_parser = share, allow_hyphen_values = true, help_heading = "Path")]
    validation: f64,
    /// What the chosen radius is best in, on the rows held back
    #[arg(
        long,
        value_name = "NAME",
        value_enum,
        default_value = "accuracy",
        help_heading = "Path"
    )]
    by: By,

    #[command(flatten)]
    settings: Settings,
}

const EXAMPLES: &str = "\
Examples:
  couloir path text.svm -o text.safetensors
  couloir path text.svm --points 3 --ratio 4 --by cvar --json";

#[derive(Clone, Copy, ValueEnum)]
enum By {
    /// The largest accuracy
    Accuracy,
    /// The largest recall of the worst class
    WorstRecall,
    /// The smallest mean of the largest tenth of the losses
    Cvar,
    /// The smallest mean loss
    Loss,
}

fn points(text: &str) -> Result<usize, String> {
    const MOST: usize = 1000;
    match text.parse() {
        Ok(points @ 1..=MOST) => Ok(points),
        _ => Err(format!("it must be a whole number from 1 to {MOST}")),
    }
}

fn ratio(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(ratio) if ratio > 1.0 && ratio.is_finite() => Ok(ratio),
        _ => Err("it must be a finite number above 1".to_owned()),
    }
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if share > 0.0 && share < 1.0 => Ok(share),
        _ => Err("it must be a number between 0 and 1".to_owned()),
    }
}

/// The object that `--json` prints.
#[derive(Serialize)]
struct Summary {
    data: String,
    n: usize,
    d: usize,
    classes: usize,
    train_rows: usize,
    validation_rows: usize,
    seed: u64,
    by: String,
    steps: Vec<Step>,
    /// The place of the chosen one in `steps`, and its radius.
    chosen: usize,
    tau: f64,
    /// The fit to all rows, where a model was asked for.
    fit: Option<FitRecord>,
}

#[derive(Serialize)]
struct Step {
    tau: f64,
    status: String,
    gap: f64,
    iterations: u64,
    grads: u64,
    seconds: f64,
    rank: usize,
    #[serde(flatten)]
    scores: Scores,
}

impl Step {
    fn new(step: &PathStep, labels: &[String]) -> Self {
        Step {
            tau: step.tau,
            status: step.status.to_string(),
            gap: step.gap,
            iterations: step.iterations,
            grads: step.grads,
            seconds: step.seconds,
            rank: step.rank,
            scores: Scores::new(&step.measures, labels),
        }
    }
}

pub fn run(options: &Options, out: &mut (dyn Write + Send)) -> Result<()> {
    let fit = options.settings.fit(options.tau)?;
    let data = DataSet::find(&options.data)?;
    if let Some(path) = &options.output {
        let mut inputs = vec![("the data", data.path())];
        inputs.extend(options.settings.row_files());
        prepare_outputs(&inputs, &[("--output", path)])?;
    }
    let fit = fit.cancel(Some(listen(options.output.iter().cloned().collect())));
    on_threads(options.settings.threads, || {
        let summary = follow(options, &fit, &data)?;
        if options.json {
            writeln!(out, "{}", serde_json::to_string(&summary)?)?;
        } else {
            print(options, &summary, out)?;
        }
        Ok(())
    })
}

fn follow(options: &Options, fit: &RobustFit, data: &DataSet) -> Result<Summary> {
    let file = data.path();
    let at = || format!("{}", file.display());
    let mut progress = Progress::start(options.quiet, &format!("reading {}", shown_path(file)));
    let mut data = options.settings.load(data, |n, d, h, entries| {
        let what = format!("a path over {n} rows, {d} features and {h} classes");
        // the rows themselves and those held back stay; the weights are copied to be measured
        let more = 32 * entries as u64 + (h as u64).saturating_mul(24 * d as u64);
        (what, fit.memory(n, d, h, entries).saturating_add(more))
    })?;
    let (n, d, entries) = (data.len(), data.features, data.nonzeros());
    let (classes, labels) = (data.classes.len(), names(&data));
    progress.doing("starting");
    let fit = &options.settings.with_rows(fit.clone(), &data)?;
    keep(true);
    let (train, back) =
        stratified_split(&data.labels, options.validation, fit.seed).with_context(at)?;
    let (train_rows, validation_rows) = (train.len(), back.len());
    let held_back = labelled(data.select(&back))?;
    let fit_to_train = fit.of_rows(&train);
    let train = labelled(data.select(&train))?;
    let scale = fit.scaling.factor(train_rows);
    let rows = data.take_matrix()?;
    let middle = fit.tau.map_or_else(|| auto_tau(&rows, classes, fit.weights.as_deref()), Ok);
    let middle = middle.with_context(at)?;
    let taus = geometric_grid(middle, options.points, options.ratio)?;
    let mut watch = |point: &TracePoint, _: &dyn Algorithm| {
        progress.at(point, scale);
        Flow::Continue
    };
    let by = match options.by {
        By::Accuracy => Criterion::Accuracy,
        By::WorstRecall => Criterion::WorstRecall,
        By::Cvar => Criterion::Cvar,
        By::Loss => Criterion::MeanLoss,
    };
    let path = RobustPath::new(fit_to_train, taus)
        .by(by)
        .run(train, &held_back, classes, &WallClock::start(), &mut watch)
        .with_context(at)?;
    let cancelled = || match fit.cancel.as_ref().is_some_and(Cancel::is_raised) {
        true => Err(Interrupted::now("no radius was chosen, and nothing written")),
        false => Ok(()),
    };
    cancelled()?;
    if let Some(warning) = missed_tolerance::path_warning(file, &path.steps, fit.tol) {
        warn(&warning);
    }
    let refit = match &options.output {
        None => None,
        Some(output) => {
            let fitted = fit
                .clone()
                .tau(Some(path.tau()))
                .run(
                    rows,
                    std::mem::take(&mut data.labels),
                    classes,
                    &WallClock::start(),
                    &mut watch,
                )
                .with_context(at)?;
            cancelled()?;
            if let Some(warning) = missed_tolerance::warning(file, &fitted, None) {
                warn(&warning);
            }
            fitted.classifier(labels.clone())?.save(output)?;
            let mut record = fitted.record(&at(), entries);
            record.model = Some(output.display().to_string());
            Some(record)
        }
    };
    Ok(Summary {
        data: at(),
        n,
        d,
        classes,
        train_rows,
        validation_rows,
        seed: fit.seed,
        by: by.to_string(),
        steps: path.steps.iter().map(|step| Step::new(step, &labels)).collect(),
        chosen: path.chosen,
        tau: path.tau(),
        fit: refit,
    })
}

fn labelled(mut data: Dataset) -> Result<Labelled> {
    let labels = std::mem::take(&mut data.labels);
    Ok(Labelled { rows: data.take_matrix()?, labels })
}

fn print(options: &Options, summary: &Summary, out: &mut dyn Write) -> Result<()> {
    let Summary { data, n, d, classes, train_rows, validation_rows, .. } = summary;
    writeln!(out, "data      {}: {n} rows, {d} features, {classes} classes", shown(data))?;
    writeln!(out, "split     {train_rows} rows to train on, {validation_rows} held back\n")?;
    let header = [
        "tau",
        "accuracy",
        "worst recall",
        "CVaR 10 %",
        "mean loss",
        "gradients",
        "seconds",
        "rank",
        "ended",
        "",
    ];
    let mut table = table(header, 0..8);
    for (k, step) in summary.steps.iter().enumerate() {
        table.add_row([
            show(step.tau),
            show(step.scores.accuracy),
            show(step.scores.worst_recall),
            show(step.scores.cvar_10),
            show(step.scores.mean_loss),
            step.grads.to_string(),
            format!("{:.2}", step.seconds),
            step.rank.to_string(),
            step.status.clone(),
            if k == summary.chosen { "chosen" } else { "" }.to_owned(),
        ]);
    }
    writeln!(out, "{table}\n")?;
    let tau = show(summary.tau);
    writeln!(
        out,
        "chosen    tau {tau}: best {} on the rows held back, of equal ones the smallest",
        summary.by
    )?;
    if summary.steps.len() > 1 && summary.chosen + 1 == summary.steps.len() {
        writeln!(
            out,
            "          the largest of the grid; a larger one may do better: --tau {tau}"
        )?;
    }
    match &summary.fit {
        Some(fit) => {
            writeln!(
                out,
                "model     {}: all {n} rows, gap {} after {} gradients, {:.2} s",
                shown(fit.model.as_deref().unwrap_or_default()),
                show(fit.run.gap),
                fit.run.grads,
                fit.seconds
            )?;
        }
        None => {
            let data = shown_path(&options.data);
            writeln!(
                out,
                "model     not trained; use -o here, or couloir fit {data} --tau {}",
                summary.tau
            )?;
        }
    }
    Ok(())
}
