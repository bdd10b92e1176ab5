//! What can go wrong, with the values that went wrong.

mod checkpoint;

pub use checkpoint::{CheckpointError, Difference};

use std::path::PathBuf;
use thiserror::Error;

/// Which of the two blocks of variables a message speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Block {
    /// The minimising block `x`.
    X,
    /// The maximising block `y`.
    Y,
}

impl std::fmt::Display for Block {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Block::X => "x",
            Block::Y => "y",
        })
    }
}

/// Why work in progress was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Interruption {
    /// The time is up.
    Time,
    /// The cancel flag was raised.
    Cancelled,
    /// The linear minimisations on this block are used up.
    LinearMinimisations(Block),
}

impl std::fmt::Display for Interruption {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Interruption::Time => f.write_str("the time is up"),
            Interruption::Cancelled => f.write_str("the run was cancelled"),
            Interruption::LinearMinimisations(block) => {
                write!(f, "the linear minimisations on {block} are used up")
            }
        }
    }
}

/// Everything that couloir reports as an error.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Error {
    /// Two lengths that must agree do not.
    #[error("{what}: expected {expected} entries, got {got}")]
    Dimension {
        /// What was being measured, in the user's words.
        what: String,
        /// The length that was needed.
        expected: usize,
        /// The length that was there.
        got: usize,
    },
    /// A number that must be finite is NaN or infinite.
    #[error("{what}: entry {index} is {value}; every entry must be a finite number")]
    NotFinite {
        /// Which vector or value.
        what: String,
        /// The first offending entry (0 for a single value).
        index: usize,
        /// The offending number.
        value: f64,
    },
    /// A parameter that must be positive (and finite) is not.
    #[error("{name} must be a positive finite number, got {value}")]
    NotPositive {
        /// The parameter's name.
        name: String,
        /// Its value.
        value: f64,
    },
    /// A set with no points in it, or of no dimension.
    #[error("empty set: {why}")]
    EmptySet {
        /// What makes it empty.
        why: String,
    },
    /// A start point that does not lie in its set.
    #[error(
        "the start point for {block} lies outside {set}: violation {violation:e}, allowed {allowed:e}"
    )]
    OutsideSet {
        /// Which block.
        block: Block,
        /// The set, described.
        set: String,
        /// How far outside (in the set's own measure).
        violation: f64,
        /// What would have been accepted.
        allowed: f64,
    },
    /// A method needs a constant that the problem does not give.
    #[error("{needed_by} needs the constant {name}, which this problem does not give: {hint}")]
    MissingConstant {
        /// The constant: `Lxx`, `Lxy`, `Lyy` or `mu`.
        name: &'static str,
        /// Who needs it.
        needed_by: &'static str,
        /// What to do about it.
        hint: &'static str,
    },
    /// A set lacks an oracle that was asked for.
    #[error("{set} has no {oracle}: {hint}")]
    MissingOracle {
        /// The set, described.
        set: String,
        /// What is missing.
        oracle: &'static str,
        /// What to do about it.
        hint: &'static str,
    },
    /// A setting outside its range.
    #[error("setting {name}: {why}")]
    Setting {
        /// The setting's name.
        name: &'static str,
        /// What is wrong with it, and what is right.
        why: String,
    },
    /// Rows with a feature that a classifier was not trained on.
    #[error(
        "feature {widest} (counted from 1) is beyond the {features} features of the model; \
         leave out what the training data did not have"
    )]
    TooWide {
        /// The largest feature of the rows, counted from 1 as in files.
        widest: usize,
        /// What the classifier knows.
        features: usize,
    },
    /// A checkpoint that cannot be written, read or gone on from.
    #[error("{}: {error}", file.display())]
    Checkpoint {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        error: CheckpointError,
    },
    /// A decomposition or an iteration inside an oracle failed.
    #[error("numerical trouble in {what}: {why}")]
    Numerical {
        /// Where.
        what: &'static str,
        /// What happened.
        why: String,
    },
    /// The problem, or an oracle, contradicts itself, by more than rounding explains: certificates would be worthless.
    #[error(
        "{what}: {claim} {claimed:e}, but {place} {seen:e} was seen; rounding explains {allowance:e} (`check_gradient` tells more)"
    )]
    Contradiction {
        /// What cannot be right.
        what: &'static str,
        /// What was claimed,
        claim: &'static str,
        /// with this number,
        claimed: f64,
        /// what was seen,
        place: &'static str,
        /// with that number,
        seen: f64,
        /// and how far apart the two may be.
        allowance: f64,
    },
    /// Work in progress was ended by a limit or from outside.
    #[error("interrupted: {0}")]
    Interrupted(Interruption),
}

impl Error {
    /// Whether it arose from the size or the rounding of numbers: overflow, NaN, a decomposition that failed.
    #[must_use]
    pub fn is_numerical(&self) -> bool {
        matches!(self, Error::NotFinite { .. } | Error::Numerical { .. })
    }

    /// Whether it says that the problem or an oracle contradicts itself.
    #[must_use]
    pub fn is_contradiction(&self) -> bool {
        matches!(self, Error::Contradiction { .. })
    }
}

/// couloir's result type.
pub type Result<T> = std::result::Result<T, Error>;

/// Fails unless `got == expected`.
pub(crate) fn check_len(what: &str, expected: usize, got: usize) -> Result<()> {
    if expected == got {
        Ok(())
    } else {
        Err(Error::Dimension { what: what.to_owned(), expected, got })
    }
}

/// Fails at the first entry that is NaN or infinite.
pub(crate) fn check_finite(what: &str, values: &[f64]) -> Result<()> {
    if all_finite(values) {
        return Ok(());
    }
    match values.iter().position(|v| !v.is_finite()) {
        Some(index) => Err(Error::NotFinite { what: what.to_owned(), index, value: values[index] }),
        None => Ok(()),
    }
}

/// Whether no entry is NaN or infinite: `v * 0` is 0 exactly where `v` is finite, so that one pass without branches tells.
fn all_finite(values: &[f64]) -> bool {
    const LANES: usize = 32;
    let mut sums = [0.0; LANES];
    let (chunks, rest) = values.as_chunks::<LANES>();
    for chunk in chunks {
        for (sum, value) in sums.iter_mut().zip(chunk) {
            *sum += value * 0.0;
        }
    }
    sums.iter().all(|sum| *sum == 0.0) && rest.iter().all(|value| value.is_finite())
}

/// Fails unless `value` is finite and above zero.
pub(crate) fn check_positive(name: &str, value: f64) -> Result<()> {
    if value.is_finite() && value > 0.0 {
        Ok(())
    } else {
        Err(Error::NotPositive { name: name.to_owned(), value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_entry_that_is_not_finite_is_named_wherever_it_is() {
        for broken in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for index in [0, 31, 32, 63, 64, 70] {
                let mut values = [f64::MAX; 71];
                assert_eq!(check_finite("v", &values), Ok(()));
                values[index] = broken;
                let Err(Error::NotFinite { index: named, .. }) = check_finite("v", &values) else {
                    panic!("{broken} at {index} passed");
                };
                assert_eq!(named, index);
            }
        }
    }
}
