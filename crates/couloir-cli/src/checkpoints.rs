//! Checkpoints of a fit: where, how often, and which one to resume from.

use crate::failure::warn;
use crate::memory::Memory;
use crate::progress::Progress;
use anyhow::Result;
use couloir::run::{Algorithm, Checkpoints, Flow, Observer, TracePoint};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct CheckpointOptions {
    /// Save the state of the run here, to continue from with --resume
    #[arg(long, value_name = "FILE", help_heading = "Checkpoints")]
    checkpoint: Option<PathBuf>,
    /// Seconds from one checkpoint to the next; one is written at the end in any case
    #[arg(long, value_name = "S", value_parser = seconds, allow_hyphen_values = true, default_value_t = 60.0, help_heading = "Checkpoints")]
    checkpoint_every: f64,
    /// Continue from a checkpoint of the same data and settings, with the same bits as if the run had never stopped; --tol and
    /// the limits may differ. Checkpoints go to the same file unless --checkpoint names another
    #[arg(long, value_name = "FILE", help_heading = "Checkpoints")]
    resume: Option<PathBuf>,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds >= 0.0 && seconds.is_finite() => Ok(seconds),
        _ => Err("it must be a finite number, zero or more".to_owned()),
    }
}

impl CheckpointOptions {
    /// The file that is kept.
    pub fn file(&self) -> Option<&Path> {
        self.checkpoint.as_deref().or(self.resume.as_deref())
    }

    /// The checkpoint to continue from, where that is another file than the one that is kept.
    pub fn other_resumed(&self) -> Option<&Path> {
        self.resume.as_deref().filter(|resumed| self.file() != Some(resumed))
    }

    /// The plan; fails for a checkpoint that is none, before anything else is done.
    pub fn plan(&self, memory: Memory) -> Result<Checkpoints> {
        if let Some(file) = &self.resume {
            // what it holds was in memory once; a sum over more would only take time
            if let Ok(bytes) = std::fs::metadata(file).map(|metadata| metadata.len()) {
                let what = format!("{}: a checkpoint of this size", file.display());
                memory.check(&what, bytes, "name another checkpoint")?;
            }
            Checkpoints::verify(file)?;
        }
        let Some(file) = self.file() else { return Ok(Checkpoints::default()) };
        let mut plan = Checkpoints::to(file).every(self.checkpoint_every);
        plan.resume.clone_from(&self.resume);
        Ok(plan)
    }
}

/// Shows how far a fit is, and warns of checkpoints that cannot be written.
pub struct FitObserver<'a> {
    pub progress: &'a mut Progress,
    /// What the objective is divided by.
    pub scale: f64,
}

impl Observer for FitObserver<'_> {
    fn observe(&mut self, point: &TracePoint, _: &dyn Algorithm) -> Flow {
        self.progress.at(point, self.scale);
        Flow::Continue
    }

    fn checkpointed(&mut self, written: couloir::Result<()>) {
        if let Err(error) = written {
            warn(&format!("no checkpoint: {error}"));
        }
    }
}
