//! The page about a fit.

use couloir::io::write_atomically;
use couloir::model::FitRecord;
use couloir_report::fit_page::{FitDetails, TestRows, fit_page};
use couloir_report::page::Point;
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::PathBuf;

use crate::failure::to_python;

/// What an estimator shows of its fit besides the record, as `python/couloir/_report.py` gives it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Details<'py> {
    names: Vec<String>,
    scores: PyReadonlyArray2<'py, f64>,
    labels: PyReadonlyArray1<'py, u32>,
    sample_weights: PyReadonlyArray1<'py, f64>,
    groups: Option<Groups<'py>>,
    test: Option<Test<'py>>,
    singular_values: PyReadonlyArray1<'py, f64>,
    trace: Trace,
    settings: Vec<(String, String)>,
    versions: Vec<(String, String)>,
}

/// The group of each row, and the names of the groups.
type Groups<'py> = (PyReadonlyArray1<'py, u32>, Vec<String>);

/// Rows to test on: scores, labels and groups.
type Test<'py> = (PyReadonlyArray2<'py, f64>, PyReadonlyArray1<'py, u32>, Option<Groups<'py>>);

fn groups<'a>(groups: Option<&'a Groups<'_>>) -> PyResult<Option<(&'a [u32], &'a [String])>> {
    groups.map(|(numbers, names)| Ok((numbers.as_slice()?, &names[..]))).transpose()
}

/// The columns of a trace that a page shows.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Trace {
    iteration: Vec<f64>,
    seconds: Vec<f64>,
    gap: Vec<f64>,
    gap_x: Vec<f64>,
    gap_y: Vec<f64>,
    bound: Vec<f64>,
    grads: Vec<f64>,
    component_grads: Vec<f64>,
    lo_calls: Vec<f64>,
    passes: Vec<f64>,
}

impl Trace {
    fn points(&self) -> Vec<Point> {
        // a page says of NaN that it is not known
        let at = |column: &[f64], k: usize| column.get(k).copied().unwrap_or(f64::NAN);
        let point = |k: usize| Point {
            seconds: at(&self.seconds, k),
            gradients: at(&self.grads, k),
            component_gradients: at(&self.component_grads, k),
            lo_calls: at(&self.lo_calls, k),
            passes: at(&self.passes, k),
            iterations: at(&self.iteration, k),
            gap: at(&self.gap, k),
            gap_x: at(&self.gap_x, k),
            gap_y: at(&self.gap_y, k),
            certified_gap: at(&self.gap, k),
            bound: at(&self.bound, k),
        };
        (0..self.iteration.len()).map(point).collect()
    }
}

/// Writes the page of a fit with this record, as JSON.
#[pyfunction]
pub fn write_fit_page(record: &str, details: Details<'_>, path: PathBuf) -> PyResult<()> {
    let record: FitRecord = serde_json::from_str(record)
        .map_err(|error| PyValueError::new_err(format!("the record of the fit: {error}")))?;
    let test = match &details.test {
        None => None,
        Some((scores, labels, of)) => Some(TestRows {
            name: "the test rows".to_owned(),
            scores: scores.as_slice()?,
            labels: labels.as_slice()?,
            groups: groups(of.as_ref())?,
        }),
    };
    let details = FitDetails {
        groups: groups(details.groups.as_ref())?,
        test,
        places: None,
        names: &details.names,
        scores: details.scores.as_slice()?,
        labels: details.labels.as_slice()?,
        row_weights: details.sample_weights.as_slice()?,
        singular_values: details.singular_values.as_slice()?,
        trace: details.trace.points(),
        more_settings: details.settings,
        more_versions: details.versions,
    };
    let page = fit_page(&record, &details).map_err(to_python)?.html();
    Ok(write_atomically(&path, |out| out.write_all(page.as_bytes()))?)
}
