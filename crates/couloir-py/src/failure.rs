//! The core's errors as Python exceptions.

use couloir::Error;
use pyo3::PyErr;
use pyo3::exceptions::{PyArithmeticError, PyValueError};

/// Numerical trouble is an `ArithmeticError`; all else is about what was passed in, so a `ValueError`.
pub fn to_python(error: Error) -> PyErr {
    match error {
        Error::Numerical { .. } => PyArithmeticError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}
