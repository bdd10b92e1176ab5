//! Solving saddle problems whose functions are Python's.

use couloir::linalg::Factors;
use couloir::problem::check_gradient as check;
use couloir::run::{
    Algorithm, Flow, Observer, RunRecord, Status, StopRules, Trace, TracePoint, WallClock,
};
use couloir::{Method, Solve};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::callbacks::Callbacks;
use crate::checkpoints::CheckpointOptions;
use crate::failure::to_python;
use crate::guard::{not_forked, room};
use crate::problem::Functions;
use crate::records;
use crate::sets::Described;

/// When a solve ends.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Rules {
    method: Option<String>,
    inner: Option<String>,
    seed: u64,
    tol: Option<f64>,
    relative_tol: Option<f64>,
    max_time: Option<f64>,
    max_iter: Option<u64>,
    whole_trace: bool,
}

impl Rules {
    /// The method that was named, or the one that suits the problem.
    pub fn method(&self, suited: impl FnOnce() -> Method) -> PyResult<Method> {
        let method = match &self.method {
            Some(name) => name.parse().map_err(to_python)?,
            None => suited(),
        };
        let method = match &self.inner {
            Some(inner) => {
                let inner = inner.parse().map_err(to_python)?;
                method.with_inner(inner).map_err(to_python)?
            }
            None => method,
        };
        Ok(method.with_seed(self.seed))
    }

    /// The rules for a problem with so many samples, where it has any.
    pub fn stop(&self, method: &Method, samples: Option<u64>) -> StopRules {
        let mut rules = StopRules::default();
        (rules.gap, rules.relative_gap) = (self.tol, self.relative_tol);
        (rules.seconds, rules.iterations) = (self.max_time, self.max_iter);
        rules.evaluate_every = samples.map_or(1, |samples| method.iterations_per_pass(samples));
        if self.whole_trace {
            rules.trace_records = None;
        }
        rules
    }
}

/// The best pair so far and all records, for the case that the run is cut short.
struct Kept<'a> {
    callbacks: &'a Callbacks,
    callback: &'a Option<Py<PyAny>>,
    x: Vec<f64>,
    y: Vec<f64>,
    factors: Option<Factors>,
    trace: Trace,
    /// How many records the trace keeps.
    records: Option<usize>,
    /// Why the last checkpoint could not be written.
    checkpoint_error: Option<String>,
}

impl Observer for Kept<'_> {
    fn observe(&mut self, point: &TracePoint, state: &dyn Algorithm) -> Flow {
        let (x, y) = state.best();
        self.x.clear();
        self.x.extend_from_slice(x);
        self.y.clear();
        self.y.extend_from_slice(y);
        self.factors = state.factors().cloned();
        self.trace.add(*point, self.records);
        match told(self.callback, point) {
            Ok(flow) => flow,
            Err(error) => {
                self.callbacks.keep(error);
                Flow::Stop
            }
        }
    }

    fn checkpointed(&mut self, written: couloir::Result<()>) {
        self.checkpoint_error = written.err().map(|error| error.to_string());
    }
}

/// Solves and returns a dict. Exceptions of the functions are raised as they are, but for `KeyboardInterrupt`: it is
/// the entry "exception", beside the best pair up to there.
#[pyfunction]
#[pyo3(signature = (functions, x_set, y_set, rules, x0=None, y0=None, callback=None, checkpoints=None))]
#[expect(clippy::too_many_arguments, reason = "only `couloir.solve` calls it, by name")]
pub fn solve<'py>(
    py: Python<'py>,
    functions: Functions,
    x_set: Described<'py>,
    y_set: Described<'py>,
    rules: Rules,
    x0: Option<PyReadonlyArray1<'py, f64>>,
    y0: Option<PyReadonlyArray1<'py, f64>>,
    callback: Option<Py<PyAny>>,
    checkpoints: Option<CheckpointOptions>,
) -> PyResult<Bound<'py, PyDict>> {
    not_forked()?;
    let callbacks = Callbacks::default();
    let (x_set, y_set) = (x_set.set(&callbacks)?, y_set.set(&callbacks)?);
    // the start, the point under way, the best one and a gradient, if no more
    let entries = (x_set.dim() as u64).saturating_add(y_set.dim() as u64);
    room("points of these sets", entries.saturating_mul(4 * 8))?;
    let samples = functions.samples();
    let problem = functions.problem(&callbacks)?;
    let method = rules.method(|| Method::suited(&problem, &*x_set, &*y_set))?;
    let name = method.name();
    let stop = rules.stop(&method, samples);
    let records = stop.trace_records;
    let mut run =
        Solve::new(&problem, &*x_set, &*y_set).method(method).rules(stop).clock(WallClock::start());
    if let Some(options) = checkpoints {
        run = run.checkpoints(options.plan());
    }
    if let Some(x0) = x0 {
        run = run.start_x(x0.as_slice()?.to_vec());
    }
    if let Some(y0) = y0 {
        run = run.start_y(y0.as_slice()?.to_vec());
    }
    solved(py, run, &callbacks, &callback, (name, records))
}

/// Runs a solve whose functions and sets tell `callbacks` of exceptions, and makes the dict of it. The method has this name, and the
/// trace so many records.
pub fn solved<'py>(
    py: Python<'py>,
    run: Solve<'_>,
    callbacks: &Callbacks,
    callback: &Option<Py<PyAny>>,
    (name, records): (&'static str, Option<usize>),
) -> PyResult<Bound<'py, PyDict>> {
    let mut kept = Kept {
        callbacks,
        callback,
        x: Vec::new(),
        y: Vec::new(),
        factors: None,
        trace: Trace::default(),
        records,
        checkpoint_error: None,
    };
    let solution = py.detach(|| run.run_with(&mut kept));
    let answer = PyDict::new(py);
    answer.set_item("checkpoint_error", &kept.checkpoint_error)?;
    answer.set_item("method", name)?;
    let calls = kept.trace.records().last().map(|last| last.ledger);
    let calls = calls.map(|ledger| ledger.method + ledger.certificate).unwrap_or_default();
    answer.set_item("oracle_calls", (calls.lo_x, calls.lo_y))?;
    match (callbacks.take(), solution) {
        (Some(error), _) => {
            let last = kept.trace.records().last();
            let Some(last) = last.filter(|_| error.is_instance_of::<PyKeyboardInterrupt>(py))
            else {
                return Err(error);
            };
            let mut record = RunRecord::at(last, Status::StoppedByObserver, 1.0);
            record.status = "interrupted".to_owned();
            answer.set_item("x", PyArray1::from_vec(py, kept.x))?;
            answer.set_item("factors", thin(py, kept.factors.as_ref()))?;
            answer.set_item("y", PyArray1::from_vec(py, kept.y))?;
            answer.set_item("record", records::dict(py, &record)?)?;
            answer.set_item("trace", records::trace(py, kept.trace.records(), 1.0)?)?;
            answer.set_item("exception", error)?;
        }
        (None, Err(error)) => return Err(to_python(error)),
        (None, Ok(solution)) => {
            let outcome = solution.outcome;
            let calls = outcome.ledger.method + outcome.ledger.certificate;
            answer.set_item("oracle_calls", (calls.lo_x, calls.lo_y))?;
            answer.set_item("x", PyArray1::from_vec(py, solution.x))?;
            answer.set_item("factors", thin(py, solution.factors.as_ref()))?;
            answer.set_item("y", PyArray1::from_vec(py, solution.y))?;
            answer.set_item("record", records::dict(py, &RunRecord::new(&outcome, 1.0))?)?;
            answer.set_item("trace", records::trace(py, &outcome.trace, 1.0)?)?;
            answer.set_item("exception", py.None())?;
        }
    }
    Ok(answer)
}

type Arrays<'py> = [Bound<'py, PyArray1<f64>>; 3];

/// Left vectors, values and right vectors.
fn thin<'py>(py: Python<'py>, factors: Option<&Factors>) -> Option<Arrays<'py>> {
    let parts =
        |f: &Factors| [f.left(), f.values(), f.right()].map(|a| PyArray1::from_slice(py, a));
    factors.map(parts)
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

/// Every method: its name, what it is, and whether it needs a problem that is a mean over samples.
#[pyfunction]
pub fn methods() -> Vec<(&'static str, &'static str, bool)> {
    Method::all().map(|method| (method.name(), method.about().summary, method.samples())).collect()
}

/// The relative errors of the two gradients at a point.
#[pyfunction]
pub fn check_gradient(
    py: Python<'_>,
    functions: Functions,
    x: PyReadonlyArray1<'_, f64>,
    y: PyReadonlyArray1<'_, f64>,
) -> PyResult<(f64, f64)> {
    not_forked()?;
    let callbacks = Callbacks::default();
    let problem = functions.problem(&callbacks)?;
    let (x, y) = (x.as_slice()?, y.as_slice()?);
    let report = py.detach(|| check(&problem, x, y));
    if let Some(error) = callbacks.take() {
        return Err(error);
    }
    let report = report.map_err(|e| PyValueError::new_err(e.to_string()))?;
    Ok((report.grad_x, report.grad_y))
}
