//! How much of a file of results is read, and what makes a text none.

use std::io;

/// How much of a file of results to bear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResultsLimits {
    /// The largest file, in bytes. Reading it takes up to three times as much memory.
    pub bytes: u64,
    /// The longest line, in bytes. Reading it takes up to some twenty times as much for a moment.
    pub line: u64,
    /// The most data sets, searches and runs together: tables and pages are made of all of them.
    pub runs: usize,
}

impl Default for ResultsLimits {
    /// Files up to 1 GiB, lines up to 1 MiB, 2000 data sets, searches and runs.
    fn default() -> Self {
        ResultsLimits { bytes: 1 << 30, line: 1 << 20, runs: 2000 }
    }
}

impl ResultsLimits {
    /// What can be read within this much memory, and made into tables, figures and a page: those take up to some forty times
    /// the file.
    #[must_use]
    pub fn within(memory: u64) -> Self {
        ResultsLimits { bytes: memory / 64, line: memory / 256, ..ResultsLimits::default() }
    }

    /// The limits with this many data sets, searches and runs.
    #[must_use]
    pub fn runs(mut self, runs: usize) -> Self {
        self.runs = runs;
        self
    }
}

/// A file with more lines that cannot be used is none of ours.
pub(super) const MAX_SKIPPED: usize = 10_000;

/// Why a text is no file of results.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResultsError {
    /// It begins otherwise.
    #[error("line 1 does not have the settings of a comparison: {why}")]
    NoSettings {
        /// What is wrong with it.
        why: String,
    },
    /// A file larger than allowed.
    #[error("more than {limit} bytes; if that is meant, raise the limit on memory")]
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// A line longer than allowed.
    #[error("line {line}: longer than {limit} bytes; if that is meant, raise the limit on memory")]
    TooLong {
        /// The line, from 1.
        line: u64,
        /// The limit.
        limit: u64,
    },
    /// More runs than allowed.
    #[error(
        "line {line}: more than {limit} data sets, searches and runs; if that is meant, raise the limit on runs"
    )]
    TooMany {
        /// The line, from 1.
        line: u64,
        /// The limit.
        limit: usize,
    },
    /// Hardly a line that can be used.
    #[error("line {line}: the {MAX_SKIPPED}th that cannot be used; this is no file of results")]
    Nonsense {
        /// The line, from 1.
        line: u64,
    },
    /// What the file system reports.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// A line that cannot be written.
    #[error("cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
}
