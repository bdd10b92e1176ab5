//! Checkpoints: the whole state of a run in a file, from which it goes on with the same bits.

mod file;
#[cfg(test)]
mod tests;

use super::{Algorithm, Clock, Journal, Observer};
use crate::error::{CheckpointError, Error, Result};
use crate::io::{Lock, LockError, check_output, remove_stale};
use crate::state::{Archive, Fingerprint, io_error};
use file::Writing;
use std::path::{Path, PathBuf};

/// Where a run keeps checkpoints, how often, and where it goes on from. They change nothing in its results.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Checkpoints {
    /// The file to keep; none where there is nothing to keep.
    pub file: Option<PathBuf>,
    /// Seconds between two checkpoints, by the clock of the run; one is written at the end in any case.
    pub every: f64,
    /// The checkpoint to go on from.
    pub resume: Option<PathBuf>,
}

impl Default for Checkpoints {
    /// None, or one every minute.
    fn default() -> Self {
        Checkpoints { file: None, every: 60.0, resume: None }
    }
}

impl Checkpoints {
    /// Checkpoints in this file.
    #[must_use]
    pub fn to(file: impl Into<PathBuf>) -> Self {
        Checkpoints { file: Some(file.into()), ..Checkpoints::default() }
    }

    /// Goes on from this file, and keeps checkpoints in it.
    #[must_use]
    pub fn resume(file: impl Into<PathBuf>) -> Self {
        let file = file.into();
        Checkpoints { resume: Some(file.clone()), ..Checkpoints::to(file) }
    }

    /// Checkpoints every so many seconds; 0 for one after every iteration.
    #[must_use]
    pub fn every(mut self, seconds: f64) -> Self {
        self.every = seconds;
        self
    }

    /// Fails unless this is a checkpoint whose every byte is as it was written. Whether it fits a run shows when that
    /// goes on.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn verify(file: &Path) -> Result<()> {
        file::open(file).map(|_| ())
    }

    pub(super) fn check(&self) -> Result<()> {
        if self.every >= 0.0 {
            return Ok(());
        }
        let why = format!("must be zero or more seconds, got {}", self.every);
        Err(Error::Setting { name: "checkpoint every", why })
    }
}

/// Seconds from which on an iteration is long.
const LONG: f64 = 0.25;

/// Keeps the checkpoints of a run.
pub(super) struct Keeper<'a> {
    plan: &'a Checkpoints,
    fingerprint: &'a Fingerprint,
    clock: &'a dyn Clock,
    last: f64,
    /// A checkpoint that may not be on the disk yet.
    writing: Option<Writing>,
    /// Nobody else keeps checkpoints in the file; dropped after the last one is written.
    _lock: Option<Lock>,
}

impl<'a> Keeper<'a> {
    pub fn new(
        plan: &'a Checkpoints,
        fingerprint: &'a Fingerprint,
        clock: &'a dyn Clock,
    ) -> Result<Self> {
        plan.check()?;
        let lock = plan.file.as_deref().map(take).transpose()?;
        Ok(Keeper { plan, fingerprint, clock, last: clock.seconds(), writing: None, _lock: lock })
    }

    /// The run as the checkpoint to go on from has it; tells whether there is one.
    pub fn resume(
        &self,
        solver: &mut dyn Algorithm,
        journal: &mut Journal,
        observer: &mut dyn Observer,
    ) -> Result<bool> {
        let Some(path) = &self.plan.resume else { return Ok(false) };
        file::read(path, |archive| self.state(archive, solver, journal, observer))?;
        Ok(true)
    }

    /// Writes a checkpoint where it is time or the run is about to end. One that cannot be written is no reason to
    /// end a run: the observer hears of it, and the next one may do better.
    pub fn keep(
        &mut self,
        solver: &mut dyn Algorithm,
        journal: &mut Journal,
        observer: &mut dyn Observer,
        ends: bool,
    ) {
        let Some(path) = &self.plan.file else { return };
        if !ends && self.clock.seconds() - self.last < self.plan.every {
            return;
        }
        self.finish(observer);
        match Writing::begin(path, |archive| self.state(archive, solver, journal, observer)) {
            Ok(writing) => self.writing = Some(writing),
            Err(error) => observer.checkpointed(Err(error)),
        }
        if ends {
            self.finish(observer);
        }
        self.last = self.clock.seconds();
    }

    /// Whether checkpoints are kept.
    pub fn is_on(&self) -> bool {
        self.plan.file.is_some()
    }

    /// The state before an iteration, where that may take so long that it is worth being able to end it: the first one,
    /// and one after another that took long.
    pub fn snapshot(
        &self,
        solver: &mut dyn Algorithm,
        journal: &mut Journal,
        observer: &mut dyn Observer,
    ) -> Option<Vec<u8>> {
        let path = self.plan.file.as_ref()?;
        if journal.step_seconds < LONG {
            return None;
        }
        let mut bytes = Vec::new();
        let saved = self.state(&mut Archive::save(path, &mut bytes), solver, journal, observer);
        saved.is_ok().then_some(bytes)
    }

    /// Writes the state before an iteration that was ended. Without one the last checkpoint stays.
    pub fn keep_snapshot(&mut self, snapshot: Option<Vec<u8>>, observer: &mut dyn Observer) {
        let (Some(path), Some(bytes)) = (&self.plan.file, snapshot) else { return };
        self.finish(observer);
        match Writing::begin_with(path, |out| {
            out.write_all(&bytes).map_err(|error| io_error(path, &error))
        }) {
            Ok(writing) => observer.checkpointed(writing.finish()),
            Err(error) => observer.checkpointed(Err(error)),
        }
    }

    /// Waits for the last checkpoint.
    fn finish(&mut self, observer: &mut dyn Observer) {
        if let Some(writing) = self.writing.take() {
            observer.checkpointed(writing.finish());
        }
    }

    fn state(
        &self,
        archive: &mut Archive<'_>,
        solver: &mut dyn Algorithm,
        journal: &mut Journal,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        self.fingerprint.clone().state(archive)?;
        archive.nested("run", |archive| journal.state(archive))?;
        archive.nested("solver", |archive| solver.state(archive))?;
        archive.nested("observer", |archive| observer.state(archive))
    }
}

/// Makes sure, before any work is done, that checkpoints can be written to this file and that nobody else writes them.
fn take(file: &Path) -> Result<Lock> {
    check_output(file).map_err(|error| io_error(file, &error))?;
    let lock = Lock::beside(file).map_err(|error| match error {
        LockError::Held => {
            Error::Checkpoint { file: file.to_owned(), error: CheckpointError::InUse }
        }
        LockError::Io(error) => io_error(file, &error),
    })?;
    remove_stale(file);
    Ok(lock)
}

impl Drop for Keeper<'_> {
    /// A run that fails has its last checkpoint on the disk when the caller hears of it.
    fn drop(&mut self) {
        if let Some(writing) = self.writing.take() {
            let _ = writing.finish();
        }
    }
}
