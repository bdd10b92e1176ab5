//! `couloir demo`: the main job on made-up text, from data to model, table and picture.

use crate::failure::bad;
use crate::files::on_threads;
use crate::interrupt::listen;
use crate::terminal::shown_path;
use crate::trace_file::write_trace;
use crate::values::{positive, show, table, threads};
use anyhow::{Context, Result};
use couloir::Method;
use couloir::io::{remove_stale, write_atomically};
use couloir::model::uncertainty::UncertaintyChoice;
use couloir::model::{ClassWeight, Fitted, MeasureBy, Measures, RobustFit};
use couloir::run::{Algorithm, Flow, TracePoint, WallClock};
use couloir_data::Dataset;
use couloir_data::generate::TextLike;
use couloir_report::figure::{Figure, Panel, Series};
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Options {
    /// Folder for the model, the trace and the picture; made if it is not there
    #[arg(short, long, value_name = "DIR", default_value = "couloir-demo")]
    out: PathBuf,
    /// Rows to train on
    #[arg(long, value_name = "N", default_value_t = 8000, value_parser = clap::value_parser!(u64).range(100..=10_000_000))]
    rows: u64,
    /// Seconds that each method gets in the comparison
    #[arg(long, value_name = "S", value_parser = positive, allow_negative_numbers = true, default_value_t = 6.0)]
    time_budget: f64,
    /// Seed of the data and of the methods that sample
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Threads [default: one per processor]
    #[arg(long, value_name = "T", value_parser = threads, allow_negative_numbers = true)]
    threads: Option<usize>,
}

/// What is written: the model, the trace and the picture.
const OUTPUTS: [&str; 3] = ["model.safetensors", "trace.jsonl", "gap.svg"];
const FEATURES: usize = 20_000;
const CLASSES: usize = 12;
/// Class `c` has about `c^-1` times as many rows as the first: the last ones are rare.
const IMBALANCE: f64 = 1.0;
const LABEL_NOISE: f64 = 0.02;
/// The share of the minority in the rows to train on, and in those to test on.
const MINORITY: f64 = 0.05;
const MINORITY_IN_TEST: f64 = 0.5;
const TEST_ROWS: usize = 4000;
/// A gap that no method reaches in the budget, so that each uses it up.
const OUT_OF_REACH: f64 = 1e-9;

pub fn run(options: &Options, out: &mut (dyn Write + Send)) -> Result<()> {
    let folder = &options.out;
    if folder.exists() && !folder.is_dir() {
        return Err(bad(format!("{}: is not a folder; name another with --out", folder.display())));
    }
    std::fs::create_dir_all(folder).with_context(|| format!("{}", folder.display()))?;
    let outputs: Vec<PathBuf> = OUTPUTS.iter().map(|name| folder.join(name)).collect();
    outputs.iter().for_each(|path| remove_stale(path));
    listen(outputs);
    on_threads(options.threads, || tour(options, out))
}

fn tour(options: &Options, out: &mut (dyn Write + Send)) -> Result<()> {
    let (train, groups) = text(options, options.rows as usize, MINORITY, 0)?;
    let (test, test_groups) = text(options, TEST_ROWS, MINORITY_IN_TEST, 1)?;
    writeln!(
        out,
        "Made-up text: {} rows to train on, {} features, {} classes (the largest has {} times the rows of the\n\
         smallest), {} % of the labels wrong. In a minority of {} % of the rows some words speak for another class.\n\
         In the {} rows to test on the minority has grown to {} %.\n",
        train.len(),
        train.features,
        CLASSES,
        largest_over_smallest(&train),
        100.0 * LABEL_NOISE,
        100.0 * MINORITY,
        test.len(),
        100.0 * MINORITY_IN_TEST,
    )?;

    let fit_with = |uncertainty: &str| -> Result<RobustFit> {
        let uncertainty: UncertaintyChoice = uncertainty.parse()?;
        Ok(RobustFit::default().uncertainty(uncertainty).groups(Some(groups.clone())))
    };
    let plain = fit(&fit_with("none")?, &train)?;
    let balanced = fit(&fit_with("none")?.class_weight(ClassWeight::Balanced), &train)?;
    let group_robust = fit(&fit_with("group")?, &train)?;
    let cvar = fit(&fit_with("cvar")?, &train)?;
    let robust = fit(&fit_with("chi2")?, &train)?;
    writeln!(out, "1. Five models of these rows, tau = {}:\n", show(robust.tau()))?;
    let models = [
        ("plain", &plain),
        ("class-balanced", &balanced),
        ("group-robust", &group_robust),
        ("CVaR 30 %", &cvar),
        ("chi2 (the default)", &robust),
    ];
    compare_models(&test, &test_groups, &models, out)?;

    writeln!(out, "\n2. The robust problem by four methods, {} s each:\n", options.time_budget)?;
    let fit_for = |method| {
        RobustFit::default()
            .method(method)
            .tol(OUT_OF_REACH)
            .max_seconds(Some(options.time_budget))
            .max_iters(None)
            .seed(options.seed)
    };
    let mut runs = Vec::new();
    for method in [Method::certified(), Method::batched(), Method::svre(), Method::spfw()] {
        let name = method.name();
        runs.push((name, fit(&fit_for(method), &train)?));
    }
    compare_methods(&runs, out)?;

    let labels = train.classes.iter().map(|class| class.text().to_owned()).collect();
    let model = options.out.join(OUTPUTS[0]);
    robust.classifier(labels)?.save(&model)?;
    let trace = options.out.join(OUTPUTS[1]);
    write_trace(&trace, runs.iter().map(|(_, fitted)| fitted))?;
    let picture = options.out.join(OUTPUTS[2]);
    write_picture(&picture, &runs)?;
    writeln!(out, "\nmodel    {}", shown_path(&model))?;
    writeln!(out, "trace    {}", shown_path(&trace))?;
    writeln!(out, "picture  {}", shown_path(&picture))?;
    Ok(())
}

fn largest_over_smallest(data: &Dataset) -> usize {
    let counts = data.class_counts();
    let largest = counts.iter().max().copied().unwrap_or(0);
    largest / counts.iter().min().copied().unwrap_or(1).max(1)
}

fn fit(fit: &RobustFit, data: &Dataset) -> Result<Fitted> {
    let mut data = data.clone();
    let rows = data.take_matrix()?;
    let mut nobody = |_: &TracePoint, _: &dyn Algorithm| Flow::Continue;
    let classes = data.classes.len();
    Ok(fit.run(rows, data.labels, classes, &WallClock::start(), &mut nobody)?)
}

/// Text in which a minority of this share has some words that speak for another class, and the group of each row.
fn text(options: &Options, rows: usize, minority: f64, sample: u64) -> Result<(Dataset, Vec<u32>)> {
    let text = TextLike::new(rows, FEATURES, CLASSES)
        .imbalance(IMBALANCE)
        .label_noise(LABEL_NOISE)
        .minority(minority)
        .seed(options.seed)
        .sample(sample);
    Ok(text.generate_with_groups()?)
}

fn measure(fitted: &Fitted, test: &Dataset, groups: &[u32]) -> Result<Measures> {
    let names = test.classes.iter().map(|class| class.text().to_owned()).collect();
    let mut test = test.clone();
    let rows = test.take_matrix()?;
    let by = MeasureBy::default().groups(Some(groups));
    Ok(fitted.classifier(names)?.measures_by(&rows, &test.labels, by)?)
}

fn compare_models(
    test: &Dataset,
    groups: &[u32],
    models: &[(&str, &Fitted)],
    out: &mut dyn Write,
) -> Result<()> {
    let header = [
        "on the test rows",
        "worst group",
        "accuracy",
        "worst recall",
        "mean loss",
        "CVaR 10 %",
        "certified gap",
        "gradients",
        "seconds",
    ];
    let mut table = table(header, 1..header.len());
    for (name, fitted) in models {
        let m = measure(fitted, test, groups)?;
        table.add_row([
            (*name).to_owned(),
            format!("{:.1} %", 100.0 * m.worst_group_accuracy().unwrap_or(m.accuracy)),
            format!("{:.1} %", 100.0 * m.accuracy),
            format!("{:.1} %", 100.0 * m.worst_recall),
            format!("{:.3}", m.mean_loss),
            format!("{:.3}", m.cvar),
            show(fitted.gap()),
            fitted.grads().to_string(),
            format!("{:.2}", fitted.seconds()),
        ]);
    }
    writeln!(out, "{table}")?;
    writeln!(
        out,
        "worst group: accuracy on the majority or the minority, whichever is less. CVaR 10 %: the mean\n\
         loss of the worst tenth of the rows."
    )?;
    Ok(())
}

fn compare_methods(runs: &[(&str, Fitted)], out: &mut dyn Write) -> Result<()> {
    let header = [
        "method",
        "iterations",
        "passes over the data",
        "LO calls",
        "robust loss",
        "certified gap",
        "seconds",
    ];
    let mut table = table(header, 1..header.len());
    for (name, fitted) in runs {
        let outcome = fitted.outcome();
        table.add_row([
            (*name).to_owned(),
            outcome.iterations.to_string(),
            format!("{:.0}", outcome.ledger.method.passes),
            fitted.lo_calls().to_string(),
            format!("{:.4}", fitted.primal()),
            show(fitted.gap()),
            format!("{:.2}", outcome.seconds),
        ]);
    }
    writeln!(out, "{table}")?;
    writeln!(
        out,
        "LO calls: linear minimisations of the method, without those for certificates. certified gap: an\n\
         upper bound on the distance from the optimal value. SVRE projects, the others need not."
    )?;
    Ok(())
}

fn write_picture(path: &Path, runs: &[(&str, Fitted)]) -> Result<()> {
    let series = runs
        .iter()
        .map(|(name, fitted)| Series {
            name: (*name).to_owned(),
            points: (fitted.outcome().trace.iter())
                .map(|p| (p.seconds, p.certificate.gap / fitted.model().scale()))
                .collect(),
        })
        .collect();
    let title = "certified gap of four methods".to_owned();
    let figure = Figure {
        x_label: "seconds".to_owned(),
        y_label: "gap".to_owned(),
        panels: vec![Panel { title, series }],
    };
    let svg = figure.svg()?;
    Ok(write_atomically(path, |out| out.write_all(svg.as_bytes()))?)
}
