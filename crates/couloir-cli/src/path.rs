//! `couloir path`: fits over a grid of radii and levels, and the choice among them by cross-validation.

use crate::data_sets::DataSet;
use crate::failure::warn;
use crate::files::{on_threads, prepare_outputs};
use crate::interrupt::{Interrupted, keep, listen};
use crate::missed_tolerance;
use crate::progress::Progress;
use crate::settings::{Settings, names};
use crate::terminal::{shown, shown_path};
use crate::values::{Radius, number, radius, show, table};
use anyhow::{Context, Result};
use clap::ValueEnum;
use couloir::model::{
    Criterion, FitRecord, Labelled, Measures, RobustFit, RobustSearch, SearchStep, auto_tau,
    geometric_grid,
};
use couloir::run::{Algorithm, Cancel, Flow, TracePoint, WallClock};
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// LIBSVM file (plain, .bz2 or .gz), `-` for standard input, a data set that was fetched by name, or made-up text:
    /// generated:news20, generated:rcv1, generated:sector, or generated:2000x5000x8 for rows x features x classes
    data: PathBuf,

    /// Fit all rows with the chosen radius and level and write the model here (safetensors)
    #[arg(short, long, value_name = "MODEL", help_heading = "Results")]
    output: Option<PathBuf>,
    /// Print one JSON object in place of the table
    #[arg(long, help_heading = "Results")]
    json: bool,
    /// Show no progress
    #[arg(short, long, help_heading = "Results")]
    quiet: bool,

    /// Middle of the grid of radii: a number, auto, or a multiple of it like 0.5auto [default: auto, which is sqrt(n h) / mean row norm]
    #[arg(long, value_name = "T", value_parser = radius, allow_hyphen_values = true, help_heading = "Path")]
    tau: Option<Radius>,
    /// Number of radii
    #[arg(long, value_name = "K", default_value = "5", value_parser = points, allow_hyphen_values = true, help_heading = "Path")]
    points: usize,
    /// How much larger each radius is than the one before
    #[arg(long, value_name = "R", default_value_t = 2.0, value_parser = ratio, allow_hyphen_values = true, help_heading = "Path")]
    ratio: f64,
    /// Levels of the uncertainty set to choose from, as in 0.1,0.3,1 [default: the set's own, or --level]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = number, allow_hyphen_values = true, conflicts_with = "level", help_heading = "Path")]
    levels: Vec<f64>,
    /// Number of folds of the cross-validation
    #[arg(long, value_name = "K", default_value = "5", value_parser = folds, allow_hyphen_values = true, help_heading = "Path")]
    folds: usize,
    /// Measure to choose by, averaged over the held-out rows of all folds
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
  couloir path text.svm --points 3 --ratio 4 --by cvar --json
  couloir path text.svm --uncertainty group --groups groups.txt --levels 0.1,0.3,1 --by worst-group";

#[derive(Clone, Copy, ValueEnum)]
enum By {
    /// The largest accuracy
    Accuracy,
    /// The largest recall of the worst class
    WorstRecall,
    /// The largest mean recall of the classes
    BalancedAccuracy,
    /// The largest accuracy on the worst group (--groups)
    WorstGroup,
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

fn folds(text: &str) -> Result<usize, String> {
    const MOST: usize = 1000;
    match text.parse() {
        Ok(folds @ 2..=MOST) => Ok(folds),
        _ => Err(format!("it must be a whole number from 2 to {MOST}")),
    }
}

/// The object that `--json` prints.
#[derive(Serialize)]
struct Summary {
    data: String,
    n: usize,
    d: usize,
    classes: usize,
    folds: usize,
    seed: u64,
    by: String,
    steps: Vec<Step>,
    /// The place of the chosen one in `steps`, its radius and its level.
    chosen: usize,
    tau: f64,
    level: f64,
    /// The fit to all rows, where a model was asked for.
    fit: Option<FitRecord>,
}

/// A level and a radius: means over the folds, the largest gap, and the work of all folds.
#[derive(Serialize)]
struct Step {
    level: f64,
    tau: f64,
    status: String,
    gap: f64,
    iterations: u64,
    grads: u64,
    seconds: f64,
    accuracy: f64,
    worst_recall: f64,
    balanced_accuracy: f64,
    worst_group_accuracy: Option<f64>,
    macro_f1: f64,
    mean_loss: f64,
    cvar_10: f64,
}

impl Step {
    fn new(step: &SearchStep, with_groups: bool) -> Self {
        let unsolved = step.folds.iter().find(|fold| !fold.status.is_solved());
        let status = unsolved.or(step.folds.first()).map(|fold| fold.status.to_string());
        let worst_group = |m: &Measures| m.worst_group_accuracy().unwrap_or(m.accuracy);
        Step {
            level: step.level,
            tau: step.tau,
            status: status.unwrap_or_default(),
            gap: step.folds.iter().map(|fold| fold.gap).fold(0.0, f64::max),
            iterations: step.folds.iter().map(|fold| fold.iterations).sum(),
            grads: step.folds.iter().map(|fold| fold.grads).sum(),
            seconds: step.folds.iter().map(|fold| fold.seconds).sum(),
            accuracy: step.mean(|m| m.accuracy),
            worst_recall: step.mean(|m| m.worst_recall),
            balanced_accuracy: step.mean(|m| m.balanced_accuracy),
            worst_group_accuracy: with_groups.then(|| step.mean(worst_group)),
            macro_f1: step.mean(|m| m.macro_f1),
            mean_loss: step.mean(|m| m.mean_loss),
            cvar_10: step.mean(|m| m.cvar),
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
    let fit = options.settings.with_rows(fit.clone(), &data)?;
    keep(true);
    let numbers = std::mem::take(&mut data.labels);
    let mut all = Labelled::new(data.take_matrix()?, numbers);
    all.groups = fit.groups.clone();
    let fit = options.settings.for_rows(fit, &all.rows);
    let columns = options.settings.scale(&fit, &all.rows).with_context(at)?;
    let scaled = match &columns {
        Some(columns) => columns.apply(&all.rows).with_context(at)?,
        None => all.rows.clone(),
    };
    let auto = || auto_tau(&scaled, classes, fit.weights.as_deref(), fit.ball);
    let middle = fit.tau.map_or_else(|| Ok(fit.tau_times * auto()?), Ok::<f64, couloir::Error>);
    let taus = geometric_grid(middle.with_context(at)?, options.points, options.ratio)?;
    let scale = fit.scaling.factor(n - n / options.folds);
    let mut watch = |point: &TracePoint, _: &dyn Algorithm| {
        progress.at(point, scale);
        Flow::Continue
    };
    let by = match options.by {
        By::Accuracy => Criterion::Accuracy,
        By::WorstRecall => Criterion::WorstRecall,
        By::BalancedAccuracy => Criterion::BalancedAccuracy,
        By::WorstGroup => Criterion::WorstGroup,
        By::Cvar => Criterion::Cvar,
        By::Loss => Criterion::MeanLoss,
    };
    let mut search = RobustSearch::new(fit.clone(), taus)
        .folds(options.folds)
        .by(by)
        .scale(options.settings.scale_rule());
    if !options.levels.is_empty() {
        search = search.levels(options.levels.clone());
    }
    let found = search.run(&all, classes, &WallClock::start(), &mut watch).with_context(at)?;
    let cancelled = || match fit.cancel.as_ref().is_some_and(Cancel::is_raised) {
        true => Err(Interrupted::now("no radius was chosen, and nothing written")),
        false => Ok(()),
    };
    cancelled()?;
    if let Some(warning) = missed_tolerance::path_warning(file, &found.steps, fit.tol) {
        warn(&warning);
    }
    let (tau, level) = (found.best().tau, found.best().level);
    let refit = match &options.output {
        None => None,
        Some(output) => {
            let fitted = (fit.clone().tau(Some(tau)).level(level))
                .run(scaled, all.labels, classes, &WallClock::start(), &mut watch)
                .with_context(at)?;
            cancelled()?;
            if let Some(warning) = missed_tolerance::warning(file, &fitted, None) {
                warn(&warning);
            }
            let model = fitted.classifier(labels)?;
            match &columns {
                Some(columns) => columns.classifier(&model)?.save(output)?,
                None => model.save(output)?,
            }
            let mut record = fitted.record(&at(), entries);
            record.scale = columns.as_ref().map(|columns| columns.name().to_owned());
            record.model = Some(output.display().to_string());
            Some(record)
        }
    };
    let with_groups = all.groups.is_some();
    Ok(Summary {
        data: at(),
        n,
        d,
        classes,
        folds: options.folds,
        seed: fit.seed,
        by: by.to_string(),
        steps: found.steps.iter().map(|step| Step::new(step, with_groups)).collect(),
        chosen: found.chosen,
        tau,
        level,
        fit: refit,
    })
}

fn print(options: &Options, summary: &Summary, out: &mut dyn Write) -> Result<()> {
    let Summary { data, n, d, classes, folds, .. } = summary;
    writeln!(out, "data      {}: {n} rows, {d} features, {classes} classes", shown(data))?;
    writeln!(out, "folds     {folds}; measures are means over the rows that each holds back\n")?;
    let header = [
        "level",
        "tau",
        "worst group",
        "worst recall",
        "accuracy",
        "CVaR 10 %",
        "mean loss",
        "gradients",
        "seconds",
        "ended",
        "",
    ];
    let mut table = table(header, 0..9);
    for (k, step) in summary.steps.iter().enumerate() {
        table.add_row([
            show(step.level),
            show(step.tau),
            step.worst_group_accuracy.map_or("-".to_owned(), show),
            show(step.worst_recall),
            show(step.accuracy),
            show(step.cvar_10),
            show(step.mean_loss),
            step.grads.to_string(),
            format!("{:.2}", step.seconds),
            step.status.clone(),
            if k == summary.chosen { "chosen" } else { "" }.to_owned(),
        ]);
    }
    writeln!(out, "{table}\n")?;
    let (tau, level) = (show(summary.tau), show(summary.level));
    writeln!(
        out,
        "chosen    tau {tau}, level {level}: best {}, of equal ones the smallest radius",
        summary.by
    )?;
    let largest = summary.steps.iter().map(|step| step.tau).fold(0.0, f64::max);
    let smallest = summary.steps.iter().map(|step| step.tau).fold(f64::INFINITY, f64::min);
    if largest > smallest && (summary.tau == largest || summary.tau == smallest) {
        let (edge, other) =
            if summary.tau == largest { ("largest", "larger") } else { ("smallest", "smaller") };
        writeln!(
            out,
            "          the {edge} of the grid; a {other} one may do better: --tau {tau}"
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
                "model     not trained; use -o here, or couloir fit {data} --tau {} --level {}",
                summary.tau, summary.level
            )?;
        }
    }
    Ok(())
}
