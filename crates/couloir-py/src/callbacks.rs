//! Calls into Python from the core.

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::Mutex;

/// What a function of the user's is called with.
#[derive(Clone, Copy)]
pub enum Argument<'a> {
    /// Numbers of samples.
    Batch(&'a [u64]),
    /// A point or its image. Python gets a copy, since it may keep it.
    Point(&'a [f64]),
}

/// Calls into Python. The first exception is kept and every answer from then on is NaN, at which the core stops.
#[derive(Default)]
pub struct Callbacks {
    failure: Mutex<Option<PyErr>>,
}

impl Callbacks {
    fn failed(&self) -> bool {
        self.failure.lock().map_or(true, |failure| failure.is_some())
    }

    pub fn keep(&self, error: PyErr) {
        if let Ok(mut failure) = self.failure.lock() {
            failure.get_or_insert(error);
        }
    }

    pub fn take(&self) -> Option<PyErr> {
        self.failure.lock().ok().and_then(|mut failure| failure.take())
    }

    /// What `read` makes of the answer; none from the first exception on.
    pub fn call<T>(
        &self,
        function: &Py<PyAny>,
        arguments: &[Argument<'_>],
        read: impl FnOnce(Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Option<T> {
        if self.failed() {
            return None;
        }
        let answer = Python::attach(|py| {
            let arguments = arguments.iter().map(|argument| match argument {
                Argument::Batch(batch) => PyArray1::from_slice(py, batch).into_any(),
                Argument::Point(point) => PyArray1::from_slice(py, point).into_any(),
            });
            read(function.bind(py).call1(PyTuple::new(py, arguments)?)?)
        });
        answer.map_err(|e| self.keep(e)).ok()
    }

    pub fn number(&self, function: &Py<PyAny>, arguments: &[Argument<'_>]) -> f64 {
        self.call(function, arguments, |answer| answer.extract()).unwrap_or(f64::NAN)
    }

    /// Writes the array that `function` answers; Python's side sees to its type and length.
    pub fn vector(&self, function: &Py<PyAny>, arguments: &[Argument<'_>], out: &mut [f64]) {
        let read = |answer: Bound<'_, PyAny>| {
            let array: PyReadonlyArray1<'_, f64> = answer.extract()?;
            out.copy_from_slice(array.as_slice()?);
            Ok(())
        };
        if self.call(function, arguments, read).is_none() {
            out.fill(f64::NAN);
        }
    }
}
