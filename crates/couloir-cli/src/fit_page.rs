//! `fit --report`: the page of a single fit.

use crate::report::Report;
use anyhow::Result;
use couloir::model::Fitted;
use couloir_report::fit_record::{FitRecord, FitRows, page_point};
use couloir_report::page::Page;

/// The page of a fit to data with these labels of classes.
pub fn fit_page(report: &Report, fitted: &Fitted, labels: &[String]) -> Result<Page> {
    let model = fitted.model();
    let (n, scale) = (model.len() as f64, model.scale());
    let record = FitRecord {
        data: report.data.clone(),
        features: report.d,
        entries: report.entries,
        objective: report.objective.clone(),
        tau: report.tau,
        tau_chosen: report.tau_chosen,
        lambda_n: report.lambda_n,
        intercept: report.intercept,
        method: report.method.to_owned(),
        start: report.start.clone(),
        tol: report.tol,
        seed: report.seed,
        threads: report.threads,
        status: report.status.clone(),
        iterations: report.iterations,
        seconds: report.seconds,
        primal: report.primal,
        lower: report.lower,
        gap: report.gap,
        grads: report.grads,
        certificate_grads: report.certificate_grads,
        lo_calls: report.lo_calls,
        rank: report.rank,
        singular_values: fitted.singular_values().to_vec(),
        row_weights: fitted.solution().y.iter().map(|y| n * y).collect(),
        points: fitted.outcome().trace.iter().map(|point| page_point(point, scale)).collect(),
        ..FitRecord::default()
    };
    let scores = fitted.scores();
    Ok(record.page(FitRows { names: labels, scores: &scores, labels: model.labels() })?)
}
