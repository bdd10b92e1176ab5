//! The sets of the package, as Python describes them, and sets of the user's own.

use couloir::domain::{BoxSet, Domain, L1Ball, L2Ball, LoSet, NuclearBall, Simplex};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::callbacks::{Argument, Callbacks};
use crate::failure::to_python;

/// A set as `python/couloir/_sets.py` describes it.
#[derive(FromPyObject)]
pub enum Described<'py> {
    Box(PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>),
    Named(String, usize, usize, f64),
    /// `lmo(g)`, diameter, start.
    Own(Py<PyAny>, f64, PyReadonlyArray1<'py, f64>),
}

impl Described<'_> {
    /// The set; `callbacks` hears of exceptions in the user's own.
    pub fn set<'a>(self, callbacks: &'a Callbacks) -> PyResult<Box<dyn Domain + 'a>> {
        Ok(match self {
            Described::Box(lower, upper) => {
                let (lower, upper) = (lower.as_slice()?.to_vec(), upper.as_slice()?.to_vec());
                Box::new(BoxSet::new(lower, upper).map_err(to_python)?)
            }
            Described::Named(kind, rows, cols, radius) => match kind.as_str() {
                "simplex" => Box::new(Simplex::scaled(rows, radius).map_err(to_python)?),
                "l1" => Box::new(L1Ball::new(rows, radius).map_err(to_python)?),
                "l2" => Box::new(L2Ball::new(rows, radius).map_err(to_python)?),
                "nuclear" => Box::new(NuclearBall::new(rows, cols, radius).map_err(to_python)?),
                other => return Err(PyValueError::new_err(format!("no set `{other}`"))),
            },
            Described::Own(lmo, diameter, start) => {
                let start = start.as_slice()?.to_vec();
                let call = move |g: &[f64], p: &mut [f64]| {
                    callbacks.vector(&lmo, &[Argument::Point(g)], p)
                };
                Box::new(LoSet::new(start.len(), diameter, start, call).map_err(to_python)?)
            }
        })
    }
}

/// A minimiser of `<g, .>` over a set of the package.
#[pyfunction]
pub fn set_lmo<'py>(
    py: Python<'py>,
    set: Described<'py>,
    g: PyReadonlyArray1<'py, f64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let callbacks = Callbacks::default();
    let set = set.set(&callbacks)?;
    let g = g.as_slice()?;
    if g.len() != set.dim() {
        let why = format!("g: expected {} entries, got {}", set.dim(), g.len());
        return Err(PyValueError::new_err(why));
    }
    let mut p = vec![0.0; g.len()];
    set.oracle().lmo(g, &mut p).map_err(to_python)?;
    Ok(PyArray1::from_vec(py, p))
}

/// The Euclidean diameter of a set of the package.
#[pyfunction]
pub fn set_diameter(set: Described<'_>) -> PyResult<f64> {
    let callbacks = Callbacks::default();
    Ok(set.set(&callbacks)?.diameter())
}
