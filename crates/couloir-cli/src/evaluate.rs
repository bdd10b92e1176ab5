//! `couloir evaluate`: how good a model is on labelled rows.

use crate::files::{Source, on_threads};
use crate::model_and_data::ModelAndData;
use crate::terminal::shown;
use crate::values::{show, table};
use anyhow::{Context, Result};
use couloir::model::{Classifier, Measures};
use serde::Serialize;
use std::io::Write;

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    #[command(flatten)]
    inputs: ModelAndData,
    /// Print one JSON object in place of the tables
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  couloir evaluate text.safetensors test.svm
  couloir evaluate text.safetensors test.svm --json";

/// The object that `--json` prints.
#[derive(Serialize)]
struct Report {
    model: String,
    data: String,
    rows: usize,
    features: usize,
    classes: usize,
    #[serde(flatten)]
    scores: Scores,
    per_class: Vec<Class>,
}

/// The measures in which models are compared.
#[derive(Serialize)]
pub struct Scores {
    pub accuracy: f64,
    pub worst_recall: f64,
    pub worst_class: String,
    pub macro_f1: f64,
    pub mean_loss: f64,
    pub cvar_10: f64,
}

/// `recall` is null for a class without rows.
#[derive(Serialize)]
struct Class {
    label: String,
    rows: usize,
    recall: Option<f64>,
}

impl Scores {
    pub fn new(measures: &Measures, labels: &[String]) -> Self {
        Scores {
            accuracy: measures.accuracy,
            worst_recall: measures.worst_recall,
            worst_class: labels[measures.worst_class].clone(),
            macro_f1: measures.macro_f1,
            mean_loss: measures.mean_loss,
            cvar_10: measures.cvar,
        }
    }
}

pub fn run(options: &Options, out: &mut (dyn Write + Send)) -> Result<()> {
    let inputs = &options.inputs;
    let source = Source::find(&inputs.data)?;
    on_threads(inputs.threads, || {
        let model = inputs.load()?;
        let (rows, labels) = inputs.labelled(&source, &model)?;
        let file = source.name().display();
        let measures = model.measures(&rows, &labels).with_context(|| format!("{file}"))?;
        let report = Report {
            model: inputs.model.display().to_string(),
            data: file.to_string(),
            rows: measures.rows,
            features: model.features(),
            classes: model.classes(),
            scores: Scores::new(&measures, model.labels()),
            per_class: per_class(&measures, &model),
        };
        if options.json {
            writeln!(out, "{}", serde_json::to_string(&report)?)?;
        } else {
            print(&report, measures.class_rows[measures.worst_class], out)?;
        }
        Ok(())
    })
}

fn per_class(measures: &Measures, model: &Classifier) -> Vec<Class> {
    let counts = measures.class_rows.iter().zip(&measures.recall);
    let named = model.labels().iter().zip(counts);
    named.map(|(label, (&rows, &recall))| Class { label: label.clone(), rows, recall }).collect()
}

fn print(report: &Report, worst_rows: usize, out: &mut dyn Write) -> Result<()> {
    let Report { rows, features, classes, scores, .. } = report;
    let (model, data) = (shown(&report.model), shown(&report.data));
    writeln!(out, "model         {model}: {classes} classes, {features} features")?;
    writeln!(out, "data          {data}: {rows} rows")?;
    writeln!(out, "accuracy      {}", show(scores.accuracy))?;
    let worst = shown(&scores.worst_class);
    writeln!(
        out,
        "worst recall  {}, of class {worst} with {worst_rows} rows",
        show(scores.worst_recall)
    )?;
    writeln!(out, "macro F1      {}", show(scores.macro_f1))?;
    writeln!(out, "mean loss     {}", show(scores.mean_loss))?;
    writeln!(
        out,
        "CVaR 10 %     {}, the mean of the largest tenth of the losses",
        show(scores.cvar_10)
    )?;
    let mut table = table(["class", "rows", "recall"], 0..3);
    for class in &report.per_class {
        let recall = class.recall.map_or("none".to_owned(), show);
        table.add_row([shown(&class.label), class.rows.to_string(), recall]);
    }
    writeln!(out, "\n{table}")?;
    Ok(())
}
