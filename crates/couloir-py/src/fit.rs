//! The robust classifier's fit.

use couloir::Method;
use couloir::linalg::SparseMatrix;
use couloir::model::loss::{LossChoice, ResidualLoss, ResidualLossChoice};
use couloir::model::uncertainty::UncertaintyChoice;
use couloir::model::{Ball, ClassWeight, Fitted, RobustFit, RobustMulticlass, Scaling, Warm};
use couloir::run::{Clock as _, WallClock};
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::checkpoints::CheckpointOptions;
use std::sync::Arc;

use crate::failure::to_python;
use crate::guard::{not_forked, room};
use crate::records;
use crate::rows::{Columns, compressed, dense};
use crate::watch::{Watch, listening};

/// What `RobustClassifier` sets.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Settings {
    ball: String,
    loss: String,
    threshold: f64,
    tau: Option<f64>,
    tau_times: f64,
    uncertainty: String,
    level: Option<f64>,
    class_weight: Option<ClassWeights>,
    objective: String,
    method: String,
    tol: f64,
    max_time: Option<f64>,
    max_iter: Option<u64>,
    fit_intercept: bool,
    seed: u64,
    pub threads: Option<usize>,
}

/// The word "balanced", or a factor for each class.
#[derive(FromPyObject)]
enum ClassWeights {
    Name(String),
    Given(Vec<f64>),
}

impl ClassWeights {
    fn class_weight(&self) -> PyResult<ClassWeight> {
        match self {
            ClassWeights::Given(factors) => Ok(ClassWeight::PerClass(factors.clone())),
            ClassWeights::Name(name) if name == "balanced" => Ok(ClassWeight::Balanced),
            ClassWeights::Name(name) => {
                let why = format!("class_weight must be None, 'balanced' or a dict, got {name:?}");
                Err(PyValueError::new_err(why))
            }
        }
    }
}

impl Settings {
    pub fn fit(&self) -> PyResult<RobustFit> {
        let scaling = match self.objective.as_str() {
            "dro" => Scaling::Dro,
            "paper" => Scaling::Paper,
            other => {
                let why = format!("objective must be 'dro' or 'paper', got {other:?}");
                return Err(PyValueError::new_err(why));
            }
        };
        let method: Method = self.method.parse().map_err(to_python)?;
        let uncertainty: UncertaintyChoice = self.uncertainty.parse().map_err(to_python)?;
        let class_weight =
            self.class_weight.as_ref().map(ClassWeights::class_weight).transpose()?;
        let fit = RobustFit::default()
            .scaling(scaling)
            .ball(self.ball.parse::<Ball>().map_err(to_python)?)
            .tau(self.tau)
            .tau_times(self.tau_times)
            .uncertainty(uncertainty)
            .class_weight(class_weight.unwrap_or_default())
            .level(self.level)
            .intercept(self.fit_intercept)
            .method(method)
            .tol(self.tol)
            .max_seconds(self.max_time)
            .max_iters(self.max_iter)
            .seed(self.seed);
        fit.check().map_err(to_python)?;
        Ok(fit)
    }

    /// The fit of classes, with their loss.
    pub fn fit_of_classes(&self) -> PyResult<RobustFit> {
        let loss: LossChoice = self.loss.parse().map_err(to_python)?;
        Ok(self.fit()?.loss(loss))
    }
}

/// What rows are fitted to.
#[derive(FromPyObject)]
pub enum Answers<'py> {
    /// The class of each, from 0 on.
    Classes(PyReadonlyArray1<'py, u32>),
    /// The targets of each.
    Targets(PyReadonlyArray2<'py, f64>),
}

/// The answers, in the core's hands, with their loss.
enum Aim {
    Classes(Vec<u32>),
    Targets(Vec<f64>, Arc<dyn ResidualLoss>),
}

impl Answers<'_> {
    fn aim(&self, settings: &Settings) -> PyResult<Aim> {
        Ok(match self {
            Answers::Classes(labels) => Aim::Classes(labels.as_slice()?.to_vec()),
            Answers::Targets(targets) => {
                let loss: ResidualLossChoice = settings.loss.parse().map_err(to_python)?;
                Aim::Targets(targets.as_slice()?.to_vec(), loss.loss(settings.threshold))
            }
        })
    }
}

/// A start in the user's terms: weights by classes with the intercept's beside them, weights of the rows.
#[derive(FromPyObject)]
pub struct Start<'py>(
    PyReadonlyArray2<'py, f64>,
    PyReadonlyArray1<'py, f64>,
    Option<PyReadonlyArray1<'py, f64>>,
);

/// Fits and returns a dict; its entry "exception" holds what Python raised meanwhile, such as `KeyboardInterrupt`,
/// and the rest is then the best point up to there.
///
/// `x` is a dense array or the tuple `(indptr, indices, data)`; `classes` is the number of classes, or of targets.
#[pyfunction]
#[pyo3(signature = (x, centre, factor, answers, classes, settings, start=None, progress=None, checkpoints=None, weights=None, groups=None))]
#[expect(clippy::too_many_arguments, reason = "only the estimators call it")]
pub fn fit_robust<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    centre: PyReadonlyArray1<'py, f64>,
    factor: PyReadonlyArray1<'py, f64>,
    answers: Answers<'py>,
    classes: usize,
    settings: Settings,
    start: Option<Start<'py>>,
    progress: Option<Py<PyAny>>,
    checkpoints: Option<CheckpointOptions>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    groups: Option<PyReadonlyArray1<'py, u32>>,
) -> PyResult<Bound<'py, PyDict>> {
    not_forked()?;
    let plan = checkpoints.map(|options| options.plan()).unwrap_or_default();
    let aim = answers.aim(&settings)?;
    let fit = match aim {
        Aim::Classes(_) => settings.fit_of_classes()?,
        Aim::Targets(..) => settings.fit()?,
    };
    let fit = fit.checkpoints(plan);
    let fit = of_rows(fit, weights.as_ref(), groups.as_ref())?;
    let columns = Columns { centre: centre.as_slice()?, factor: factor.as_slice()? };
    let rows = rows_of(x, &columns)?;
    let kind = if matches!(aim, Aim::Classes(_)) { "classes" } else { "targets" };
    check_room(&fit, &rows, (classes, kind))?;
    let start = start.map(|s| from_user(&s, &columns)).transpose()?;
    let watch = Watch::default();
    let work = || {
        let clock = WallClock::start();
        let model = match aim {
            Aim::Classes(labels) => fit.model(rows, labels, classes)?,
            Aim::Targets(targets, loss) => fit.model_of_targets(rows, targets, classes, loss)?,
        };
        let warm = start.map_or_else(Warm::default, |start| start.inside(&model));
        let fitted = fit.run_on(model, warm, &clock, &mut watch.observer())?;
        // the data's name and entries are Python's to give
        let mut record = fitted.record("", 0);
        record.seconds = clock.seconds();
        couloir::Result::Ok((fitted, record))
    };
    let (fitted, exception) = listening(py, settings.threads, progress.as_ref(), &watch, work)?;
    let (fitted, mut record) = fitted.map_err(to_python)?;
    if exception.is_some() {
        record.run.status = "interrupted".to_owned();
    }
    let answer = describe(py, fitted, &columns)?;
    answer.set_item("record", records::dict(py, &record)?)?;
    answer.set_item("exception", exception)?;
    answer.set_item("checkpoint_error", watch.checkpoint_error())?;
    Ok(answer)
}

/// `MemoryError` unless there is room for a fit to these rows of so many classes or targets, and which of them.
pub fn check_room(fit: &RobustFit, rows: &SparseMatrix, answers: (usize, &str)) -> PyResult<()> {
    let (n, d, (h, kind)) = (rows.rows(), rows.columns(), answers);
    let what = format!("a fit of {n} rows, {d} features and {h} {kind}");
    let entries = (0..n).map(|i| rows.row(i).0.len()).sum();
    room(&what, fit.memory(n, d, h, entries))
}

/// The fit with what rows weigh and the groups that they are in.
pub fn of_rows(
    fit: RobustFit,
    weights: Option<&PyReadonlyArray1<'_, f64>>,
    groups: Option<&PyReadonlyArray1<'_, u32>>,
) -> PyResult<RobustFit> {
    let weights = weights.map(|w| w.as_slice().map(<[f64]>::to_vec)).transpose()?;
    let groups = groups.map(|g| g.as_slice().map(<[u32]>::to_vec)).transpose()?;
    Ok(fit.weights(weights).groups(groups))
}

/// Rows from a dense array or from the tuple `(indptr, indices, data)`.
pub fn rows_of(x: &Bound<'_, PyAny>, columns: &Columns<'_>) -> PyResult<SparseMatrix> {
    if let Ok((starts, indices, data)) =
        x.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>, PyReadonlyArray1<'_, f64>)>()
    {
        compressed(&starts, &indices, &data, columns)
    } else {
        dense(&x.extract()?, columns)
    }
}

/// A start by classes, in the core's units.
struct UserStart {
    weights: Vec<f64>,
    bias: Vec<f64>,
    y: Option<Vec<f64>>,
}

fn from_user(start: &Start<'_>, columns: &Columns<'_>) -> PyResult<UserStart> {
    let weights = start.0.as_array();
    let mut bias = start.1.as_slice()?.to_vec();
    let mut scaled = Vec::with_capacity(weights.len());
    for (row, bias) in weights.rows().into_iter().zip(&mut bias) {
        for (j, &w) in row.iter().enumerate() {
            *bias += w * columns.centre[j];
            scaled.push(w / columns.factor[j]);
        }
    }
    let y = start.2.as_ref().map(|y| y.as_slice().map(<[f64]>::to_vec)).transpose()?;
    Ok(UserStart { weights: scaled, bias, y })
}

impl UserStart {
    /// The start as the model lays points out, drawn into the ball where it is outside.
    fn inside(self, model: &RobustMulticlass) -> Warm {
        let d = model.features();
        let by_classes: Vec<f64> = match model.settings().intercept {
            None => self.weights,
            Some(value) => self
                .weights
                .chunks_exact(d - 1)
                .zip(&self.bias)
                .flat_map(|(row, bias)| row.iter().copied().chain([bias / value]))
                .collect(),
        };
        // where each entry by classes lies in a point
        let places: Vec<f64> = (0..by_classes.len()).map(|k| k as f64).collect();
        let mut x = vec![0.0; by_classes.len()];
        for (&place, w) in model.class_major(&places).iter().zip(by_classes) {
            x[place as usize] = w;
        }
        let length = model.norm(&x);
        // a hair inside, for rounding
        let shrink = length.map_or(0.0, |length| {
            if length > 0.0 {
                (model.settings().tau / length * (1.0 - 1e-12)).min(1.0)
            } else {
                1.0
            }
        });
        x.iter_mut().for_each(|v| *v *= shrink);
        // the adversary's point of another problem may be none of this one's
        let fits = |y: &Vec<f64>| model.y_set().contains(y, 1e-9);
        Warm { x: Some(x), y: self.y.filter(fits) }
    }
}

/// The arrays that the fit gives, in the user's units. The large arrays are handed over, not copied.
fn describe<'py>(
    py: Python<'py>,
    fitted: Fitted,
    columns: &Columns<'_>,
) -> PyResult<Bound<'py, PyDict>> {
    let d = columns.factor.len();
    let mut weights = fitted.weights();
    let mut bias = fitted.bias().unwrap_or_else(|| vec![0.0; fitted.model().classes()]);
    for (row, bias) in weights.chunks_exact_mut(d).zip(&mut bias) {
        for (j, w) in row.iter_mut().enumerate() {
            *w *= columns.factor[j];
            *bias -= *w * columns.centre[j];
        }
    }
    let answer = PyDict::new(py);
    answer.set_item("weights", PyArray1::from_vec(py, weights))?;
    answer.set_item("bias", PyArray1::from_vec(py, bias))?;
    answer.set_item("singular_values", PyArray1::from_slice(py, fitted.singular_values()))?;
    let trace = records::trace(py, &fitted.outcome().trace, fitted.model().scale())?;
    answer.set_item("trace", trace)?;
    answer.set_item("row_weights", PyArray1::from_vec(py, fitted.row_weights()))?;
    answer.set_item("y", PyArray1::from_vec(py, fitted.into_parts().1.y))?;
    Ok(answer)
}
