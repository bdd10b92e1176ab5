//! What a run is about, as named entries: a checkpoint goes on only where they are the same.

use super::archive::Archive;
use crate::error::{CheckpointError, Difference, Result};
use sha2::{Digest as _, Sha256};
use std::fmt::Display;

/// Data and settings of a run: all that decides its results, and nothing that only decides when it ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fingerprint {
    entries: Vec<(String, String)>,
}

impl Fingerprint {
    /// Notes a setting.
    pub fn note(&mut self, name: &str, value: impl Display) {
        self.entries.push((name.to_owned(), value.to_string()));
    }

    /// Notes a setting that may not be there.
    pub fn note_maybe(&mut self, name: &str, value: Option<impl Display>) {
        match value {
            Some(value) => self.note(name, value),
            None => self.note(name, "none"),
        }
    }

    /// Saves the entries, or fails unless those in the archive are the same.
    pub(crate) fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let mut there = if archive.is_loading() { Vec::new() } else { self.entries.clone() };
        let nothing = || (String::new(), String::new());
        archive.list("fingerprint", &mut there, nothing, |archive, (name, value)| {
            archive.text("name", name)?;
            archive.text("value", value)
        })?;
        let differences = self.differences(&there);
        if differences.is_empty() {
            return Ok(());
        }
        Err(archive.error(CheckpointError::Differs { differences }))
    }

    fn differences(&self, there: &[(String, String)]) -> Vec<Difference> {
        let value = |entries: &[(String, String)], name: &str| {
            entries.iter().find(|entry| entry.0 == name).map(|entry| entry.1.clone())
        };
        let mut names: Vec<&String> = self.entries.iter().map(|entry| &entry.0).collect();
        names.extend(
            there.iter().map(|entry| &entry.0).filter(|n| value(&self.entries, n).is_none()),
        );
        (names.into_iter())
            .map(|name| Difference {
                name: name.clone(),
                there: value(there, name),
                here: value(&self.entries, name),
            })
            .filter(|difference| difference.there != difference.here)
            .collect()
    }
}

/// A short name for large data: the first 128 bits of their SHA-256.
#[derive(Clone, Default)]
pub struct Digest(Sha256);

/// Numbers that are converted at a time.
const BUFFER: usize = 1024;

impl Digest {
    /// Takes numbers in.
    pub fn numbers(&mut self, numbers: &[f64]) {
        let mut bytes = [0; 8 * BUFFER];
        for numbers in numbers.chunks(BUFFER) {
            for (to, number) in bytes.chunks_exact_mut(8).zip(numbers) {
                to.copy_from_slice(&number.to_le_bytes());
            }
            self.0.update(&bytes[..8 * numbers.len()]);
        }
    }

    /// Takes whole numbers in.
    pub fn indices(&mut self, indices: &[u32]) {
        let mut bytes = [0; 4 * BUFFER];
        for indices in indices.chunks(BUFFER) {
            for (to, index) in bytes.chunks_exact_mut(4).zip(indices) {
                to.copy_from_slice(&index.to_le_bytes());
            }
            self.0.update(&bytes[..4 * indices.len()]);
        }
    }

    /// The name.
    #[must_use]
    pub fn name(self) -> String {
        self.0.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }
}
