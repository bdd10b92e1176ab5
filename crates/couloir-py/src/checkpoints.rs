//! Checkpoints as Python asks for them.

use couloir::run::Checkpoints;
use pyo3::prelude::*;
use std::path::PathBuf;

/// The file to write, seconds between two checkpoints, the file to resume from.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct CheckpointOptions {
    checkpoint: Option<PathBuf>,
    checkpoint_every: f64,
    resume: Option<PathBuf>,
}

impl CheckpointOptions {
    /// Checkpoints go to the file that is resumed from unless another is named.
    pub fn plan(&self) -> Checkpoints {
        let Some(file) = self.checkpoint.as_ref().or(self.resume.as_ref()) else {
            return Checkpoints::default();
        };
        let mut plan = Checkpoints::to(file).every(self.checkpoint_every);
        plan.resume.clone_from(&self.resume);
        plan
    }
}
