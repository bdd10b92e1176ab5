//! The page about a fit.

use couloir::io::write_atomically;
use couloir_report::fit_record::{FitRecord, FitRows};
use couloir_report::page::Point;
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use std::path::PathBuf;

use crate::failure::to_python;

/// What an estimator knows of its fit, as `python/couloir/_report.py` gives it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Record<'py> {
    data: String,
    features: usize,
    entries: usize,
    objective: String,
    tau: f64,
    tau_chosen: bool,
    lambda_n: f64,
    intercept: bool,
    method: String,
    start: String,
    tol: f64,
    seed: u64,
    threads: usize,
    status: String,
    iterations: u64,
    seconds: f64,
    robust_loss: f64,
    lower: f64,
    gap: f64,
    grads: u64,
    certificate_grads: u64,
    lo_calls: u64,
    rank: usize,
    singular_values: PyReadonlyArray1<'py, f64>,
    sample_weights: PyReadonlyArray1<'py, f64>,
    trace: Trace,
    settings: Vec<(String, String)>,
    versions: Vec<(String, String)>,
}

/// The trace by columns.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Trace {
    iteration: Vec<f64>,
    seconds: Vec<f64>,
    gap: Vec<f64>,
    gap_x: Vec<f64>,
    gap_y: Vec<f64>,
    bound: Vec<f64>,
    grad_x: Vec<f64>,
    component_grads: Vec<f64>,
    lo: Vec<f64>,
    passes: Vec<f64>,
}

impl Trace {
    fn points(&self) -> Vec<Point> {
        // a page says of NaN that it is not known
        let at = |column: &[f64], k: usize| column.get(k).copied().unwrap_or(f64::NAN);
        let point = |k: usize| Point {
            seconds: at(&self.seconds, k),
            gradients: at(&self.grad_x, k),
            component_gradients: at(&self.component_grads, k),
            lo_calls: at(&self.lo, k),
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

impl Record<'_> {
    fn read(self) -> PyResult<FitRecord> {
        Ok(FitRecord {
            points: self.trace.points(),
            singular_values: self.singular_values.as_slice()?.to_vec(),
            row_weights: self.sample_weights.as_slice()?.to_vec(),
            data: self.data,
            features: self.features,
            entries: self.entries,
            objective: self.objective,
            tau: self.tau,
            tau_chosen: self.tau_chosen,
            lambda_n: self.lambda_n,
            intercept: self.intercept,
            method: self.method,
            start: self.start,
            tol: self.tol,
            seed: self.seed,
            threads: self.threads,
            status: self.status,
            iterations: self.iterations,
            seconds: self.seconds,
            primal: self.robust_loss,
            lower: self.lower,
            gap: self.gap,
            grads: self.grads,
            certificate_grads: self.certificate_grads,
            lo_calls: self.lo_calls,
            rank: self.rank,
            more_settings: self.settings,
            more_versions: self.versions,
        })
    }
}

/// Writes the page of a fit to rows with these scores and labels.
#[pyfunction]
pub fn write_fit_page(
    record: Record<'_>,
    names: Vec<String>,
    scores: PyReadonlyArray2<'_, f64>,
    labels: PyReadonlyArray1<'_, u32>,
    path: PathBuf,
) -> PyResult<()> {
    let rows = FitRows { names: &names, scores: scores.as_slice()?, labels: labels.as_slice()? };
    let page = record.read()?.page(rows).map_err(to_python)?.html();
    Ok(write_atomically(&path, |out| out.write_all(page.as_bytes()))?)
}
