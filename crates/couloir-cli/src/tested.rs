//! Rows that a fit did not see, with the scores that its model gives them.

use crate::files::{Limits, Source};
use crate::model_and_data::read_labelled;
use crate::row_files;
use anyhow::{Context, Result};
use couloir::model::Classifier;
use couloir_report::fit_page::TestRows;
use std::path::Path;

/// Rows to test on.
pub struct Tested {
    name: String,
    scores: Vec<f64>,
    labels: Vec<u32>,
    /// The group of each row, and the names of the groups.
    groups: Option<(Vec<u32>, Vec<String>)>,
}

impl Tested {
    /// The rows of a source whose labels are classes of the model, and what the model makes of them.
    pub fn new(
        source: &Source,
        model: &Classifier,
        groups: Option<&Path>,
        limits: &Limits,
    ) -> Result<Self> {
        let (rows, labels) = read_labelled(source, model, "this fit", limits)?;
        let groups = groups.map(|file| row_files::groups(file, labels.len())).transpose()?;
        let mut scores = vec![0.0; labels.len() * model.classes()];
        let name = source.name().display().to_string();
        model.scores(&rows, &mut scores).with_context(|| name.clone())?;
        Ok(Tested { name, scores, labels, groups })
    }

    /// What the page shows of them.
    pub fn rows(&self) -> TestRows<'_> {
        TestRows {
            name: self.name.clone(),
            scores: &self.scores,
            labels: &self.labels,
            groups: self.groups.as_ref().map(|(numbers, names)| (&numbers[..], &names[..])),
        }
    }
}
