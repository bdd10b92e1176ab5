//! What a fit has to tell, as JSON. Numbers that are not finite become null.

use anyhow::Result;
use couloir::io::write_atomically;
use couloir::model::Fitted;
use couloir::oracles::{Counter, Ledger, OracleCounts};
use couloir::run::TracePoint;
use serde::{Serialize, Serializer};
use std::path::Path;

/// The object that `--json` prints. Values of the objective, gaps and bounds are over `s`.
#[derive(Serialize)]
pub struct Report {
    pub data: String,
    pub status: String,
    pub method: &'static str,
    pub n: usize,
    pub d: usize,
    pub classes: usize,
    pub entries: usize,
    pub tau: f64,
    pub tau_chosen: bool,
    pub lambda_n: f64,
    pub objective: String,
    pub intercept: bool,
    pub start: String,
    pub tol: f64,
    pub value: f64,
    pub primal: f64,
    pub lower: f64,
    pub gap: f64,
    pub gap_x: f64,
    pub gap_y: f64,
    pub bound: f64,
    pub iterations: u64,
    pub grads: u64,
    pub certificate_grads: u64,
    pub lo_calls: u64,
    pub seconds: f64,
    pub method_seconds: f64,
    pub rank: usize,
    pub nuclear_norm: f64,
    pub threads: usize,
    pub seed: u64,
    pub model: Option<String>,
    pub ledger: Accounts,
}

impl Report {
    /// The report of a fit to data of `d` features (an intercept is none of them) and so many entries.
    pub fn new(
        data: &Path,
        model: Option<&Path>,
        d: usize,
        entries: usize,
        fitted: &Fitted,
    ) -> Self {
        let (fit, outcome) = (fitted.fit(), fitted.outcome());
        Report {
            data: data.display().to_string(),
            status: outcome.status.to_string(),
            method: fit.method.name(),
            n: fitted.model().len(),
            d,
            classes: fitted.model().classes(),
            entries,
            tau: fitted.tau(),
            tau_chosen: fit.tau.is_none(),
            lambda_n: fit.lambda_n,
            objective: fit.scaling.to_string(),
            intercept: fit.intercept,
            start: fit.start.to_string(),
            tol: fit.tol,
            value: fitted.value(),
            primal: fitted.primal(),
            lower: outcome.certificate.lower / fitted.model().scale(),
            gap: fitted.gap(),
            gap_x: fitted.gap_x(),
            gap_y: fitted.gap_y(),
            bound: fitted.bound(),
            iterations: outcome.iterations,
            grads: fitted.grads(),
            certificate_grads: fitted.certificate_grads(),
            lo_calls: fitted.lo_calls(),
            seconds: fitted.seconds(),
            method_seconds: outcome.seconds,
            rank: fitted.rank(),
            nuclear_norm: fitted.nuclear_norm(),
            threads: rayon::current_num_threads(),
            seed: fit.seed,
            model: model.map(|path| path.display().to_string()),
            ledger: Accounts::of(&outcome.ledger),
        }
    }
}

/// The two accounts of the ledger.
#[derive(Serialize)]
pub struct Accounts {
    method: Counts,
    certificate: Counts,
}

impl Accounts {
    fn of(ledger: &Ledger) -> Self {
        Accounts { method: Counts(ledger.method), certificate: Counts(ledger.certificate) }
    }
}

struct Counts(OracleCounts);

impl Serialize for Counts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let mut map = serializer.serialize_map(Some(Counter::ALL.len()))?;
        for counter in Counter::ALL {
            match counter {
                Counter::Passes => map.serialize_entry(counter.name(), &self.0.passes)?,
                _ => map.serialize_entry(counter.name(), &self.0.get(counter))?,
            }
        }
        map.end()
    }
}

/// A line of the trace file.
#[derive(Serialize)]
struct TraceLine {
    method: &'static str,
    iteration: u64,
    seconds: f64,
    gap: f64,
    gap_x: f64,
    gap_y: f64,
    upper: f64,
    lower: f64,
    bound: f64,
    grads: u64,
    certificate_grads: u64,
    lo_calls: u64,
    passes: f64,
}

/// Writes the traces of fits, a JSON object a line.
pub fn write_trace<'a>(path: &Path, fits: impl IntoIterator<Item = &'a Fitted>) -> Result<()> {
    let mut lines = Vec::new();
    for fitted in fits {
        let (method, scale) = (fitted.fit().method.name(), fitted.model().scale());
        for point in &fitted.outcome().trace {
            lines.push(trace_line(method, point, scale)?);
        }
    }
    Ok(write_atomically(path, |out| lines.iter().try_for_each(|line| writeln!(out, "{line}")))?)
}

/// A point of the trace as JSON, its objective over `scale`.
fn trace_line(method: &'static str, point: &TracePoint, scale: f64) -> serde_json::Result<String> {
    let (certificate, ledger) = (&point.certificate, &point.ledger);
    serde_json::to_string(&TraceLine {
        method,
        iteration: point.iteration,
        seconds: point.seconds,
        gap: certificate.gap / scale,
        gap_x: certificate.gap_x / scale,
        gap_y: certificate.gap_y / scale,
        upper: certificate.upper / scale,
        lower: certificate.lower / scale,
        bound: point.bounds.schedule.min(point.bounds.minorant) / scale,
        grads: ledger.method.grad_x,
        certificate_grads: ledger.certificate.grad_x,
        lo_calls: ledger.method.lo() + ledger.certificate.lo(),
        passes: ledger.method.passes,
    })
}
