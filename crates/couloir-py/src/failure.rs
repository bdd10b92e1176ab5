//! The core's errors as Python exceptions.

use couloir::Error;
use couloir::error::CheckpointError;
use pyo3::PyErr;
use pyo3::exceptions::{PyArithmeticError, PyFileNotFoundError, PyOSError, PyValueError};

/// A constant of the whole need not be one of its parts.
const BATCHES: &str = ", and batch_constants(batch) where it has batches";

/// Numerical trouble is an `ArithmeticError`, a file that cannot be read an `OSError`; all else is about what was passed
/// in, so a `ValueError`.
pub fn to_python(error: Error) -> PyErr {
    match error {
        Error::MissingConstant { name, needed_by, .. } => {
            let (attribute, more) = match name {
                "Lxx" => ("lxx", BATCHES),
                "Lxy" => ("lxy", BATCHES),
                "Lyy" => ("lyy", BATCHES),
                "mu" => ("mu", BATCHES),
                _ => ("mean_smoothness", ""),
            };
            PyValueError::new_err(format!(
                "{needed_by} needs the constant {name}: give the problem an attribute {attribute}{more}"
            ))
        }
        Error::Numerical { .. } => PyArithmeticError::new_err(error.to_string()),
        Error::Checkpoint { error: CheckpointError::Missing, .. } => {
            PyFileNotFoundError::new_err(error.to_string())
        }
        Error::Checkpoint {
            error: CheckpointError::Io { .. } | CheckpointError::NotAFile { .. },
            ..
        } => PyOSError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}
