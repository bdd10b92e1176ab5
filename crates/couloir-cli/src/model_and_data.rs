//! A trained model and the data it is used on: what predict and evaluate begin with.

use crate::failure::bad;
use crate::files::{Limits, Source};
use crate::values::{bytes, threads};
use anyhow::Result;
use couloir::linalg::SparseMatrix;
use couloir::model::{Classifier, ModelFileError, ModelLimits};
use couloir_data::libsvm::ReadOptions;
use couloir_data::{DataError, Dataset, Label, LineFault};
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct ModelAndData {
    /// Model file, written by `couloir fit` or `couloir path`
    pub model: PathBuf,
    /// LIBSVM file (plain, .bz2 or .gz), `-` for standard input, or a data set that was fetched by name
    pub data: PathBuf,
    /// Threads; the results are the same for any number [default: one per processor]
    #[arg(long, value_name = "T", value_parser = threads, allow_negative_numbers = true)]
    pub threads: Option<usize>,
    /// Refuse a model whose labels and facts take more than this
    #[arg(long, value_name = "SIZE", value_parser = bytes, default_value = "4M", help_heading = "Limits")]
    max_header: u64,
    #[command(flatten)]
    limits: Limits,
}

impl ModelAndData {
    /// The model.
    pub fn load(&self) -> Result<Classifier> {
        // weights lie in memory twice when they are used
        let memory = self.limits.memory();
        // a header takes up to some thirty times its size for a moment
        let header = self.max_header.min((memory / 32).max(ModelLimits::default().header));
        let limits = ModelLimits::default().bytes(memory / 2).header(header);
        Classifier::load(&self.model, &limits).map_err(|error| match error {
            ModelFileError::TooLarge { what: "the file", .. } => {
                bad(format!("{error} (half of --max-memory)"))
            }
            ModelFileError::TooLarge { .. } if header < self.max_header => {
                bad(format!("{error} (a 32nd of --max-memory)"))
            }
            ModelFileError::TooLarge { .. } => bad(format!("{error} (--max-header)")),
            other => other.into(),
        })
    }

    /// The rows of the data, whatever their labels.
    pub fn rows(&self, source: &Source, model: &Classifier) -> Result<SparseMatrix> {
        let name = format!("the model {}", self.model.display());
        let options = self.limits.read_options(None);
        Ok(read(source, model, &name, &self.limits, options)?.take_matrix()?)
    }

    /// The rows of the data and their classes, as the model numbers them.
    pub fn labelled(
        &self,
        source: &Source,
        model: &Classifier,
    ) -> Result<(SparseMatrix, Vec<u32>)> {
        read_labelled(source, model, &format!("the model {}", self.model.display()), &self.limits)
    }
}

/// The rows of labelled data and their classes, as the model numbers them; `name` is what messages call the model.
pub fn read_labelled(
    source: &Source,
    model: &Classifier,
    name: &str,
    limits: &Limits,
) -> Result<(SparseMatrix, Vec<u32>)> {
    let options = limits.read_options(None).labels(numbers(name, model)?);
    let mut data = read(source, model, name, limits, options)?;
    let labels = std::mem::take(&mut data.labels);
    Ok((data.take_matrix()?, labels))
}

fn read(
    source: &Source,
    model: &Classifier,
    name: &str,
    limits: &Limits,
    options: ReadOptions,
) -> Result<Dataset> {
    let data = source.read(&options.features(model.features())).map_err(|error| {
        let Some(DataError::Line { file, line, fault }) = error.downcast_ref() else {
            return error;
        };
        let at = format!("{}:{line}", file.display());
        match fault {
            LineFault::BeyondFeatures { index, features } => bad(format!(
                "{at}: index {index}, but {name} has only {features} features; leave out what it was not \
                 trained on"
            )),
            LineFault::LabelUnknown { text } => bad(format!(
                "{at}: the label `{text}` is no class of {name}, which has {}; leave out such rows",
                some(model.labels())
            )),
            _ => error,
        }
    })?;
    // rows and columns of the data, and weights by classes and by features
    let (n, entries) = (data.len() as u64, data.nonzeros() as u64);
    let (h, d) = (model.classes() as u64, model.features() as u64);
    let what = format!("{}: {n} rows with {entries} entries", source.name().display());
    let bytes = 24 * (entries + n) + 16 * d * (h + 1);
    limits.memory.check(&what, bytes, "use fewer rows")?;
    Ok(data)
}

/// The labels as LIBSVM files have them: numbers, each once.
fn numbers(name: &str, model: &Classifier) -> Result<Vec<Label>> {
    let mut numbers: Vec<Label> = Vec::new();
    for label in model.labels() {
        match Label::parse(label) {
            None => {
                return Err(bad(format!(
                    "{name}: its label `{label}` is no number, as labels of data are"
                )));
            }
            Some(number) => numbers.push(number),
        }
    }
    let mut order: Vec<&Label> = numbers.iter().collect();
    order.sort_by(|a, b| a.value().total_cmp(&b.value()));
    if let Some(pair) = order.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(bad(format!(
            "{name}: its labels `{}` and `{}` are the same",
            pair[0], pair[1]
        )));
    }
    Ok(numbers)
}

/// A few labels, for a message.
pub fn some(labels: &[String]) -> String {
    const MANY: usize = 8;
    let more = if labels.len() > MANY { ", ..." } else { "" };
    format!("{}{more}", labels[..labels.len().min(MANY)].join(", "))
}
