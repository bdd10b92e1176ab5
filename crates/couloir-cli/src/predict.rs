//! `couloir predict`: the label, or the probabilities, of every row.

use crate::files::{Source, on_threads, prepare_outputs, write_result};
use crate::interrupt::listen;
use crate::model_and_data::ModelAndData;
use anyhow::{Context, Result};
use couloir::linalg::SparseMatrix;
use couloir::model::Classifier;
use std::io::{self, Write};
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    #[command(flatten)]
    inputs: ModelAndData,
    /// Write to this file in place of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print probabilities: a line with the labels, then a line for every row
    #[arg(long)]
    proba: bool,
}

const EXAMPLES: &str = "\
Examples:
  couloir predict text.safetensors new.svm -o labels.txt
  couloir predict text.safetensors new.svm --proba | head";

pub fn run(options: &Options, out: &mut (dyn Write + Send)) -> Result<()> {
    let Options { inputs, output, proba } = options;
    let source = Source::find(&inputs.data)?;
    if let Some(path) = output {
        let read = [("the model", inputs.model.as_path()), ("the data", source.name())];
        prepare_outputs(&read, &[("--output", path)])?;
    }
    listen(output.iter().cloned().collect());
    on_threads(inputs.threads, || {
        let model = inputs.load()?;
        let rows = inputs.rows(&source, &model)?;
        // before anything is written: this fails where the probabilities would
        let classes =
            model.predict(&rows).with_context(|| format!("{}", source.name().display()))?;
        write_result(output.as_deref(), out, |out| {
            if *proba {
                return write_probabilities(&model, &rows, out);
            }
            let labels = model.labels();
            classes.iter().try_for_each(|&class| writeln!(out, "{}", labels[class as usize]))
        })
    })
}

fn write_probabilities(
    model: &Classifier,
    rows: &SparseMatrix,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "{}", model.labels().join(" "))?;
    let mut result = Ok(());
    let scored = model.score_blocks(rows, |_, scores| {
        model.scores_to_probabilities(scores);
        if result.is_ok() {
            let mut lines = scores.chunks_exact(model.classes());
            result = lines.try_for_each(|line| write_line(line, out));
        }
        Ok(())
    });
    scored.map_err(io::Error::other).and(result)
}

fn write_line(probabilities: &[f64], out: &mut dyn Write) -> io::Result<()> {
    for (j, p) in probabilities.iter().enumerate() {
        // `{:?}` writes small ones with an exponent, `{}` with hundreds of zeros
        write!(out, "{}{p:?}", if j > 0 { " " } else { "" })?;
    }
    writeln!(out)
}
