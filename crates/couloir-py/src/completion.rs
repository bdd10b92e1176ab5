//! The fit of `MatrixCompletion`.

use couloir::domain::{LanczosSettings, NuclearBall};
use couloir::model::RobustCompletion;
use couloir::model::loss::ResidualLossChoice;
use couloir::model::uncertainty::{RowData, UncertaintyChoice};
use couloir::run::{RunRecord, StopRules, WallClock};
use couloir::{Method, Solve};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::failure::to_python;
use crate::guard::not_forked;
use crate::records;
use crate::watch::{Watch, listening};

/// What `MatrixCompletion` sets.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Settings {
    shape: (usize, usize),
    tau: f64,
    loss: String,
    threshold: f64,
    uncertainty: String,
    level: f64,
    tol: f64,
    max_time: Option<f64>,
    max_iter: Option<u64>,
    seed: u64,
    threads: Option<usize>,
}

impl Settings {
    fn problem(
        &self,
        places: (Vec<u32>, Vec<u32>),
        values: Vec<f64>,
        groups: Option<&[u32]>,
    ) -> couloir::Result<RobustCompletion> {
        let loss: ResidualLossChoice = self.loss.parse()?;
        let uncertainty: UncertaintyChoice = self.uncertainty.parse()?;
        let set = uncertainty.set(&RowData::new(values.len()).groups(groups), self.level)?;
        let loss = loss.loss(self.threshold);
        RobustCompletion::of_entries(loss, set, self.shape, places, values, self.tau)
    }

    fn ball(&self) -> couloir::Result<NuclearBall> {
        let lanczos = LanczosSettings { seed: self.seed, ..LanczosSettings::default() };
        NuclearBall::with_lanczos(self.shape.0, self.shape.1, self.tau, lanczos)
    }

    fn rules(&self) -> StopRules {
        let mut rules = StopRules::default();
        (rules.gap, rules.relative_gap) = (Some(self.tol), None);
        (rules.seconds, rules.iterations) = (self.max_time, self.max_iter);
        rules
    }
}

/// Fits and returns a dict; its entry "exception" holds what Python raised meanwhile, such as `KeyboardInterrupt`, and the
/// rest is then the best point up to there.
#[pyfunction]
#[pyo3(signature = (rows, columns, values, settings, groups=None))]
pub fn fit_completion<'py>(
    py: Python<'py>,
    rows: PyReadonlyArray1<'py, u32>,
    columns: PyReadonlyArray1<'py, u32>,
    values: PyReadonlyArray1<'py, f64>,
    settings: Settings,
    groups: Option<PyReadonlyArray1<'py, u32>>,
) -> PyResult<Bound<'py, PyDict>> {
    not_forked()?;
    let places = (rows.as_slice()?.to_vec(), columns.as_slice()?.to_vec());
    let values = values.as_slice()?.to_vec();
    let groups = groups.as_ref().map(|groups| groups.as_slice()).transpose()?;
    let watch = Watch::default();
    let work = || {
        let problem = settings.problem(places, values, groups)?;
        let ball = settings.ball()?;
        let solution = Solve::new(&problem, &ball, problem.y_set())
            .method(Method::corrective())
            .rules(settings.rules())
            .cancel(watch.flag())
            .clock(WallClock::start())
            .run_with(&mut watch.observer())?;
        let weights = problem.observation_weights(&solution.y);
        couloir::Result::Ok((solution, weights))
    };
    let (solved, exception) = listening(py, settings.threads, None, &watch, work)?;
    let (solution, weights) = solved.map_err(to_python)?;
    let mut record = RunRecord::new(&solution.outcome, 1.0);
    if exception.is_some() {
        record.status = "interrupted".to_owned();
    }
    let answer = PyDict::new(py);
    let factors = solution.factors.unwrap_or_default();
    answer.set_item("left", PyArray1::from_slice(py, factors.left()))?;
    answer.set_item("values", PyArray1::from_slice(py, factors.values()))?;
    answer.set_item("right", PyArray1::from_slice(py, factors.right()))?;
    answer.set_item("weights", PyArray1::from_vec(py, weights))?;
    answer.set_item("trace", records::trace(py, &solution.outcome.trace, 1.0)?)?;
    answer.set_item("record", records::dict(py, &record)?)?;
    answer.set_item("exception", exception)?;
    Ok(answer)
}
