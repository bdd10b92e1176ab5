//! `couloir evaluate`: how good a model is on labelled rows.

use crate::files::{Source, on_threads};
use crate::model_and_data::ModelAndData;
use crate::row_files;
use crate::terminal::shown;
use crate::values::{show, table};
use anyhow::{Context, Result};
use couloir::model::{Classifier, GroupMeasures, MeasureBy, Measures};
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    #[command(flatten)]
    inputs: ModelAndData,
    /// File with the group of each row, one label per line; adds measures for each group
    #[arg(long, value_name = "FILE")]
    groups: Option<PathBuf>,
    /// Share of the worst rows over which CVaR averages the loss, above 0 and at most 1
    #[arg(long, value_name = "SHARE", default_value_t = Measures::TAIL, value_parser = tail, allow_negative_numbers = true)]
    cvar: f64,
    /// Print one JSON object in place of the tables
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  couloir evaluate text.safetensors test.svm
  couloir evaluate text.safetensors test.svm --json
  couloir evaluate text.safetensors test.svm --groups groups.txt --cvar 0.05";

fn tail(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if share > 0.0 && share <= 1.0 => Ok(share),
        _ => Err("it must be a number above 0 and at most 1".to_owned()),
    }
}

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
    /// The group with the least accuracy, where groups are given.
    worst_group: Option<String>,
    worst_group_accuracy: Option<f64>,
    per_group: Vec<Group>,
}

/// The measures in which models are compared.
#[derive(Serialize)]
pub struct Scores {
    pub accuracy: f64,
    pub worst_recall: f64,
    pub worst_class: String,
    pub balanced_accuracy: f64,
    pub macro_f1: f64,
    pub mean_loss: f64,
    pub cvar: f64,
    /// The share of rows that `cvar` is about.
    pub cvar_level: f64,
}

/// `recall` and `mean_loss` are null for a class without rows.
#[derive(Serialize)]
struct Class {
    label: String,
    rows: usize,
    recall: Option<f64>,
    mean_loss: Option<f64>,
}

/// `recall` is the mean recall of the classes that rows of the group have.
#[derive(Serialize)]
struct Group {
    group: String,
    rows: usize,
    accuracy: f64,
    recall: f64,
    mean_loss: f64,
}

impl Scores {
    pub fn new(measures: &Measures, labels: &[String]) -> Self {
        Scores {
            accuracy: measures.accuracy,
            worst_recall: measures.worst_recall,
            worst_class: labels[measures.worst_class].clone(),
            balanced_accuracy: measures.balanced_accuracy,
            macro_f1: measures.macro_f1,
            mean_loss: measures.mean_loss,
            cvar: measures.cvar,
            cvar_level: measures.tail,
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
        let groups = options.groups.as_deref();
        let groups = groups.map(|file| row_files::groups(file, rows.rows())).transpose()?;
        let by = MeasureBy::default()
            .tail(options.cvar)
            .groups(groups.as_ref().map(|(numbers, _)| numbers.as_slice()));
        let measures = model.measures_by(&rows, &labels, by).with_context(|| format!("{file}"))?;
        let names = groups.map(|(_, names)| names).unwrap_or_default();
        let report = Report {
            model: inputs.model.display().to_string(),
            data: file.to_string(),
            rows: measures.rows,
            features: model.features(),
            classes: model.classes(),
            scores: Scores::new(&measures, model.labels()),
            per_class: per_class(&measures, &model),
            worst_group: measures.worst_group().map(|g| names[g].clone()),
            worst_group_accuracy: measures.worst_group_accuracy(),
            per_group: per_group(&measures, &names),
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
    let class = |(j, label): (usize, &String)| Class {
        label: label.clone(),
        rows: measures.class_rows[j],
        recall: measures.recall[j],
        mean_loss: measures.class_loss[j],
    };
    model.labels().iter().enumerate().map(class).collect()
}

fn per_group(measures: &Measures, names: &[String]) -> Vec<Group> {
    let group = |(name, m): (&String, &GroupMeasures)| Group {
        group: name.clone(),
        rows: m.rows,
        accuracy: m.accuracy,
        recall: m.recall,
        mean_loss: m.mean_loss,
    };
    names.iter().zip(&measures.groups).map(group).collect()
}

fn print(report: &Report, worst_rows: usize, out: &mut dyn Write) -> Result<()> {
    let Report { rows, features, classes, scores, .. } = report;
    let (model, data) = (shown(&report.model), shown(&report.data));
    writeln!(out, "model         {model}: {classes} classes, {features} features")?;
    writeln!(out, "data          {data}: {rows} rows")?;
    if let (Some(group), Some(accuracy)) = (&report.worst_group, report.worst_group_accuracy) {
        writeln!(out, "worst group   {}, of group {group}", show(accuracy))?;
    }
    writeln!(out, "accuracy      {}", show(scores.accuracy))?;
    let worst = shown(&scores.worst_class);
    writeln!(
        out,
        "worst recall  {}, of class {worst} with {worst_rows} rows",
        show(scores.worst_recall)
    )?;
    writeln!(
        out,
        "balanced      {}, the mean recall of the classes",
        show(scores.balanced_accuracy)
    )?;
    writeln!(out, "macro F1      {}", show(scores.macro_f1))?;
    writeln!(out, "mean loss     {}", show(scores.mean_loss))?;
    writeln!(
        out,
        "{:<12}  {}, the mean of the largest losses",
        format!("CVaR {} %", 100.0 * scores.cvar_level),
        show(scores.cvar)
    )?;
    let mut classes = table(["class", "rows", "recall", "mean loss"], 0..4);
    let told = |value: Option<f64>| value.map_or("none".to_owned(), show);
    for class in &report.per_class {
        let (recall, loss) = (told(class.recall), told(class.mean_loss));
        classes.add_row([shown(&class.label), class.rows.to_string(), recall, loss]);
    }
    writeln!(out, "\n{classes}")?;
    if !report.per_group.is_empty() {
        let header = ["group", "rows", "accuracy", "mean recall", "mean loss"];
        let mut groups = table(header, 1..header.len());
        for group in &report.per_group {
            groups.add_row([
                shown(&group.group),
                group.rows.to_string(),
                show(group.accuracy),
                show(group.recall),
                show(group.mean_loss),
            ]);
        }
        writeln!(out, "\n{groups}")?;
    }
    Ok(())
}
