//! Cross-validation along paths of radii.

use couloir::linalg::SparseMatrix;
use couloir::model::{Ball, Labelled, Measures, RobustFit, RobustPath, auto_tau as core_auto_tau};
use couloir::run::WallClock;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::failure::to_python;
use crate::fit::{Settings, check_room, of_rows, rows_of};
use crate::guard::not_forked;
use crate::rows::Columns;
use crate::watch::{Watch, listening};

/// Rows to train on and rows held back, with how their columns become features.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Fold<'py> {
    train: Bound<'py, PyAny>,
    train_labels: PyReadonlyArray1<'py, u32>,
    held_back: Bound<'py, PyAny>,
    held_back_labels: PyReadonlyArray1<'py, u32>,
    held_back_groups: Option<PyReadonlyArray1<'py, u32>>,
    centre: PyReadonlyArray1<'py, f64>,
    factor: PyReadonlyArray1<'py, f64>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    groups: Option<PyReadonlyArray1<'py, u32>>,
}

impl Fold<'_> {
    fn data(&self) -> PyResult<(Labelled, Labelled)> {
        let columns = Columns { centre: self.centre.as_slice()?, factor: self.factor.as_slice()? };
        let labelled = |x: &Bound<'_, PyAny>, labels: &PyReadonlyArray1<'_, u32>| {
            let rows: SparseMatrix = rows_of(x, &columns)?;
            PyResult::Ok(Labelled::new(rows, labels.as_slice()?.to_vec()))
        };
        let train = labelled(&self.train, &self.train_labels)?;
        let mut held_back = labelled(&self.held_back, &self.held_back_labels)?;
        let groups = self.held_back_groups.as_ref();
        held_back.groups = groups.map(|g| g.as_slice().map(<[u32]>::to_vec)).transpose()?;
        Ok((train, held_back))
    }
}

/// Accuracy, recall of the worst class, balanced accuracy, accuracy on the worst group (on all rows where there are no groups), CVaR 10 % and
/// mean loss on the rows held back.
type Row = [f64; 6];

/// What each radius gives, for each `level` and then each fold; all paths in parallel.
#[pyfunction]
pub fn path_robust(
    py: Python<'_>,
    folds: Vec<Fold<'_>>,
    classes: usize,
    settings: Settings,
    taus: Vec<f64>,
    levels: Vec<Option<f64>>,
) -> PyResult<Vec<Vec<Vec<Row>>>> {
    not_forked()?;
    let fit = settings.fit_of_classes()?;
    let data = folds.iter().map(Fold::data).collect::<PyResult<Vec<_>>>()?;
    data.iter().try_for_each(|(train, _)| check_room(&fit, &train.rows, (classes, "classes")))?;
    let of_fold =
        |fold: &Fold<'_>| of_rows(fit.clone(), fold.weights.as_ref(), fold.groups.as_ref());
    let fits = folds.iter().map(of_fold).collect::<PyResult<Vec<_>>>()?;
    let watch = Watch::default();
    let path = |level: Option<f64>, fit: &RobustFit, (train, held_back): &(Labelled, Labelled)| {
        let fit: RobustFit = fit.clone().level(level);
        let clock = WallClock::start();
        let path = RobustPath::new(fit, taus.clone());
        let path = path.run(train.clone(), held_back, classes, &clock, &mut watch.observer())?;
        let row = |m: &Measures| {
            let worst_group = m.worst_group_accuracy().unwrap_or(m.accuracy);
            let recalls = [m.worst_recall, m.balanced_accuracy];
            [m.accuracy, recalls[0], recalls[1], worst_group, m.cvar, m.mean_loss]
        };
        couloir::Result::Ok(path.steps.iter().map(|step| row(&step.measures)).collect())
    };
    let work = || -> couloir::Result<Vec<Vec<Vec<Row>>>> {
        let at_level = |&level: &Option<f64>| {
            fits.par_iter().zip(&data).map(|(fit, fold)| path(level, fit, fold)).collect()
        };
        levels.par_iter().map(at_level).collect()
    };
    let (table, exception) = listening(py, settings.threads, None, &watch, work)?;
    match exception {
        Some(exception) => Err(exception),
        None => table.map_err(to_python),
    }
}

/// The radius that a fit would choose.
#[pyfunction]
#[pyo3(signature = (x, centre, factor, classes, ball, weights=None))]
pub fn auto_tau(
    x: &Bound<'_, PyAny>,
    centre: PyReadonlyArray1<'_, f64>,
    factor: PyReadonlyArray1<'_, f64>,
    classes: usize,
    ball: &str,
    weights: Option<PyReadonlyArray1<'_, f64>>,
) -> PyResult<f64> {
    not_forked()?;
    let ball: Ball = ball.parse().map_err(to_python)?;
    let weights = weights.as_ref().map(|w| w.as_slice()).transpose()?;
    let columns = Columns { centre: centre.as_slice()?, factor: factor.as_slice()? };
    core_auto_tau(&rows_of(x, &columns)?, classes, weights, ball).map_err(to_python)
}
