//! Rows of a dense array or of SciPy's compressed rows, checked and scaled on their way into the core.
//!
//! The core keeps rows and columns in its own order, so the numbers are copied once, here: what comes in is read where
//! it lies, whatever its strides, and what is made here is handed over.

use couloir::linalg::SparseMatrix;
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::failure::to_python;

/// How columns become features: `(value - centre) * factor`.
pub struct Columns<'a> {
    pub centre: &'a [f64],
    pub factor: &'a [f64],
}

/// A dense array, zeros left out.
pub fn dense(x: &PyReadonlyArray2<'_, f64>, columns: &Columns<'_>) -> PyResult<SparseMatrix> {
    let x = x.as_array();
    let d = x.ncols();
    check_columns(d, columns)?;
    let mut starts = Vec::with_capacity(x.nrows() + 1);
    starts.push(0);
    let (mut indices, mut values) = (Vec::with_capacity(x.len()), Vec::with_capacity(x.len()));
    for row in x.rows() {
        for (j, &value) in row.iter().enumerate() {
            let value = (value - columns.centre[j]) * columns.factor[j];
            if value != 0.0 {
                indices.push(j as u32);
                values.push(value);
            }
        }
        starts.push(indices.len());
    }
    SparseMatrix::from_rows(d, starts, indices, values).map_err(to_python)
}

/// SciPy's `indptr`, `indices` and `data`; the indices are of 32 or 64 bits. Only the factors count: a centre
/// would fill in the zeros.
pub fn compressed(
    starts: &Bound<'_, PyAny>,
    indices: &Bound<'_, PyAny>,
    data: &PyReadonlyArray1<'_, f64>,
    columns: &Columns<'_>,
) -> PyResult<SparseMatrix> {
    let d = columns.factor.len();
    let starts: Vec<usize> = whole_numbers("X.indptr", starts, usize::MAX)?;
    let indices: Vec<u32> = whole_numbers("X.indices", indices, d)?;
    let mut values = data.as_slice()?.to_vec();
    for (value, &j) in values.iter_mut().zip(&indices) {
        *value *= columns.factor[j as usize];
    }
    SparseMatrix::from_rows(d, starts, indices, values).map_err(to_python)
}

fn check_columns(d: usize, columns: &Columns<'_>) -> PyResult<()> {
    if d > u32::MAX as usize || d != columns.factor.len() || d != columns.centre.len() {
        let (centres, factors) = (columns.centre.len(), columns.factor.len());
        let why = format!("X has {d} columns, {centres} centres and {factors} factors");
        return Err(PyValueError::new_err(why));
    }
    Ok(())
}

/// Numbers from 0 to below `end`.
fn whole_numbers<T: TryFrom<i64>>(
    name: &str,
    array: &Bound<'_, PyAny>,
    end: usize,
) -> PyResult<Vec<T>> {
    let convert = |v: i64| {
        let inside = usize::try_from(v).is_ok_and(|v| v < end);
        T::try_from(v).ok().filter(|_| inside).ok_or_else(|| {
            PyValueError::new_err(format!("{name} has an entry {v}, which is out of range"))
        })
    };
    if let Ok(array) = array.extract::<PyReadonlyArray1<'_, i32>>() {
        array.as_slice()?.iter().map(|&v| convert(i64::from(v))).collect()
    } else if let Ok(array) = array.extract::<PyReadonlyArray1<'_, i64>>() {
        array.as_slice()?.iter().map(|&v| convert(v)).collect()
    } else {
        Err(PyTypeError::new_err(format!("{name} must be an array of int32 or int64")))
    }
}
