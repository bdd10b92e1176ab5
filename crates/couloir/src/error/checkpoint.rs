//! What can be wrong with a checkpoint.

use std::io;
use thiserror::Error;

/// What can be wrong with a checkpoint file; [`Error::Checkpoint`](crate::Error::Checkpoint) has the file.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// There is no such file.
    #[error("no such file; check the path")]
    Missing,
    /// A folder, or something else that is not a file.
    #[error("is {what}, not a file; name the checkpoint")]
    NotAFile {
        /// What it is.
        what: &'static str,
    },
    /// The file could not be opened, read or written.
    #[error("{why}")]
    Io {
        /// The kind of trouble.
        kind: io::ErrorKind,
        /// What the system says.
        why: String,
    },
    /// Another process keeps its checkpoints there.
    #[error("another process keeps its checkpoints there; name another file, or wait for its end")]
    InUse,
    /// A file of another kind.
    #[error("not a checkpoint; name a file in which couloir kept one")]
    NotACheckpoint,
    /// A format of another time.
    #[error(
        "checkpoint format version {got}, but this couloir reads version {expected}; resume it with the couloir that wrote it, or start again"
    )]
    Version {
        /// What the file says.
        got: u32,
        /// What can be read.
        expected: u32,
    },
    /// Bytes are missing or not those that were written.
    #[error("damaged: {why}; start again, or from a copy of it")]
    Damaged {
        /// What tells.
        why: String,
    },
    /// A checkpoint of other data or with other settings.
    #[error("is of another run: {}", list(differences))]
    Differs {
        /// All that differs.
        differences: Vec<Difference>,
    },
}

/// An entry of a fingerprint that is not the same in the checkpoint and in the run that is to go on from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What it is.
    pub name: String,
    /// Its value in the checkpoint.
    pub there: Option<String>,
    /// Its value here.
    pub here: Option<String>,
}

/// Differences that a message names.
const NAMED: usize = 3;

fn list(differences: &[Difference]) -> String {
    let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "not set".to_owned());
    let mut parts: Vec<String> = (differences.iter().take(NAMED))
        .map(|d| {
            format!(
                "{} is {} in the checkpoint and {} here",
                d.name,
                shown(&d.there),
                shown(&d.here)
            )
        })
        .collect();
    if differences.len() > NAMED {
        parts.push(format!("{} more differ", differences.len() - NAMED));
    }
    parts.join("; ")
}
