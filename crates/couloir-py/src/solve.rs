//! Saddle problems whose functions are Python's.

use couloir::problem::{BlockConstants, ClosureProblem, check_gradient as check};
use couloir::run::{Algorithm, Flow, StopRules, TracePoint, WallClock};
use couloir::{Method, Solve};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::sync::Mutex;

use crate::failure::to_python;
use crate::records;
use crate::sets::Described;

/// Calls into Python from the core. The first exception is kept and every answer from then on is NaN, at which the
/// core stops.
#[derive(Default)]
pub struct Callbacks {
    failure: Mutex<Option<PyErr>>,
}

impl Callbacks {
    fn failed(&self) -> bool {
        self.failure.lock().map_or(true, |failure| failure.is_some())
    }

    fn keep(&self, error: PyErr) {
        if let Ok(mut failure) = self.failure.lock() {
            failure.get_or_insert(error);
        }
    }

    fn take(&self) -> Option<PyErr> {
        self.failure.lock().ok().and_then(|mut failure| failure.take())
    }

    fn call<T>(
        &self,
        function: &Py<PyAny>,
        points: &[&[f64]],
        read: impl FnOnce(Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Option<T> {
        if self.failed() {
            return None;
        }
        let answer = Python::attach(|py| {
            let points = PyTuple::new(py, points.iter().map(|p| PyArray1::from_slice(py, p)))?;
            read(function.bind(py).call1(points)?)
        });
        answer.map_err(|e| self.keep(e)).ok()
    }

    fn number(&self, function: &Py<PyAny>, points: &[&[f64]]) -> f64 {
        self.call(function, points, |answer| answer.extract()).unwrap_or(f64::NAN)
    }

    /// Writes the array that `function` answers; Python's side sees to its type and length.
    pub fn vector(&self, function: &Py<PyAny>, points: &[&[f64]], out: &mut [f64]) {
        let read = |answer: Bound<'_, PyAny>| {
            let array: PyReadonlyArray1<'_, f64> = answer.extract()?;
            out.copy_from_slice(array.as_slice()?);
            Ok(())
        };
        if self.call(function, points, read).is_none() {
            out.fill(f64::NAN);
        }
    }
}

/// A problem's functions on flat arrays.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Functions {
    dim_x: usize,
    dim_y: usize,
    value: Py<PyAny>,
    grad_x: Py<PyAny>,
    grad_y: Py<PyAny>,
    best_response_y: Option<Py<PyAny>>,
    lxx: Option<f64>,
    lxy: Option<f64>,
    lyy: Option<f64>,
    mu: Option<f64>,
}

impl Functions {
    fn problem(self, callbacks: &Callbacks) -> PyResult<ClosureProblem<'_>> {
        let Functions { value, grad_x, grad_y, .. } = self;
        let problem = ClosureProblem::new(
            self.dim_x,
            self.dim_y,
            move |x, y| callbacks.number(&value, &[x, y]),
            move |x, y, out| callbacks.vector(&grad_x, &[x, y], out),
            move |x, y, out| callbacks.vector(&grad_y, &[x, y], out),
        );
        let mut constants = BlockConstants::default();
        (constants.lxx, constants.lxy) = (self.lxx, self.lxy);
        (constants.lyy, constants.mu) = (self.lyy, self.mu);
        let problem = problem.and_then(|p| p.with_constants(constants)).map_err(to_python)?;
        Ok(match self.best_response_y {
            None => problem,
            Some(respond) => {
                problem.with_best_response(move |x, out| callbacks.vector(&respond, &[x], out))
            }
        })
    }
}

/// When a solve ends.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Rules {
    method: String,
    seed: u64,
    tol: Option<f64>,
    relative_tol: Option<f64>,
    max_time: Option<f64>,
    max_iter: Option<u64>,
}

impl Rules {
    fn method(&self) -> PyResult<Method> {
        let method: Method = self.method.parse().map_err(to_python)?;
        Ok(method.with_seed(self.seed))
    }

    fn stop(&self) -> StopRules {
        let mut rules = StopRules::default();
        (rules.gap, rules.relative_gap) = (self.tol, self.relative_tol);
        (rules.seconds, rules.iterations) = (self.max_time, self.max_iter);
        rules
    }
}

/// The best pair so far and all records, for the case that the run is cut short.
#[derive(Default)]
struct Kept {
    x: Vec<f64>,
    y: Vec<f64>,
    trace: Vec<TracePoint>,
}

impl Kept {
    fn look(&mut self, point: &TracePoint, state: &dyn Algorithm) {
        let (x, y) = state.best();
        self.x.clear();
        self.x.extend_from_slice(x);
        self.y.clear();
        self.y.extend_from_slice(y);
        self.trace.push(*point);
    }
}

/// Solves and returns a dict. Exceptions of the functions are raised as they are, but for `KeyboardInterrupt`: it is
/// the entry "exception", beside the best pair up to there.
#[pyfunction]
#[pyo3(signature = (functions, x_set, y_set, rules, x0=None, y0=None, callback=None))]
#[expect(clippy::too_many_arguments, reason = "only `couloir.solve` calls it, by name")]
pub fn solve<'py>(
    py: Python<'py>,
    functions: Functions,
    x_set: Described<'py>,
    y_set: Described<'py>,
    rules: Rules,
    x0: Option<Vec<f64>>,
    y0: Option<Vec<f64>>,
    callback: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let callbacks = Callbacks::default();
    let problem = functions.problem(&callbacks)?;
    let (x_set, y_set) = (x_set.set(&callbacks)?, y_set.set(&callbacks)?);
    let mut run =
        Solve::new(&problem, &*x_set, &*y_set).method(rules.method()?).rules(rules.stop());
    if let Some(x0) = x0 {
        run = run.start_x(x0);
    }
    if let Some(y0) = y0 {
        run = run.start_y(y0);
    }
    let mut kept = Kept::default();
    let mut observer = |point: &TracePoint, state: &dyn Algorithm| {
        kept.look(point, state);
        match told(&callback, point) {
            Ok(flow) => flow,
            Err(error) => {
                callbacks.keep(error);
                Flow::Stop
            }
        }
    };
    let solution = py.detach(|| run.run_with(&WallClock::start(), &mut observer));
    let answer = PyDict::new(py);
    match (callbacks.take(), solution) {
        (Some(error), _) => {
            let last = kept.trace.last();
            let Some(last) = last.filter(|_| error.is_instance_of::<PyKeyboardInterrupt>(py))
            else {
                return Err(error);
            };
            let certificate =
                records::certificate(py, &last.certificate, &last.bounds, &last.ledger, 1.0)?;
            certificate.set_item("status", "interrupted")?;
            certificate.set_item("solved", false)?;
            answer.set_item("x", PyArray1::from_vec(py, kept.x))?;
            answer.set_item("y", PyArray1::from_vec(py, kept.y))?;
            answer.set_item("iterations", last.iteration)?;
            answer.set_item("certificate", certificate)?;
            answer.set_item("trace", records::trace(py, &kept.trace, 1.0)?)?;
            answer.set_item("exception", error)?;
        }
        (None, Err(error)) => return Err(to_python(error)),
        (None, Ok(solution)) => {
            let outcome = solution.outcome;
            answer.set_item("x", PyArray1::from_vec(py, solution.x))?;
            answer.set_item("y", PyArray1::from_vec(py, solution.y))?;
            answer.set_item("iterations", outcome.iterations)?;
            answer.set_item("certificate", records::of_run(py, &outcome, 1.0)?)?;
            answer.set_item("trace", records::trace(py, &outcome.trace, 1.0)?)?;
            answer.set_item("exception", py.None())?;
        }
    }
    Ok(answer)
}

/// Looks at signals and asks the user's callback, which ends the run by answering `True`.
fn told(callback: &Option<Py<PyAny>>, point: &TracePoint) -> PyResult<Flow> {
    Python::attach(|py| {
        py.check_signals()?;
        let Some(callback) = callback else { return Ok(Flow::Continue) };
        let record = PyDict::new(py);
        record.set_item("iteration", point.iteration)?;
        record.set_item("seconds", point.seconds)?;
        record.set_item("gap", point.certificate.gap)?;
        record.set_item("lower", point.certificate.lower)?;
        record.set_item("upper", point.certificate.upper)?;
        let stop = callback.bind(py).call1((record,))?.is_truthy()?;
        Ok(if stop { Flow::Stop } else { Flow::Continue })
    })
}

/// The relative errors of the two gradients at a point.
#[pyfunction]
pub fn check_gradient(
    py: Python<'_>,
    functions: Functions,
    x: Vec<f64>,
    y: Vec<f64>,
) -> PyResult<(f64, f64)> {
    let callbacks = Callbacks::default();
    let problem = functions.problem(&callbacks)?;
    let report = py.detach(|| check(&problem, &x, &y));
    if let Some(error) = callbacks.take() {
        return Err(error);
    }
    let report = report.map_err(|e| PyValueError::new_err(e.to_string()))?;
    Ok((report.grad_x, report.grad_y))
}
