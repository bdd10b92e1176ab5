//! Certificates, ledgers and traces as dicts of plain numbers and arrays.

use couloir::domain::Confidence;
use couloir::oracles::{Counter, Ledger};
use couloir::run::{Outcome, TracePoint};
use couloir::{Bounds, Certificate};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The certificate with all numbers of the objective over `scale`.
pub fn certificate<'py>(
    py: Python<'py>,
    certificate: &Certificate,
    bounds: &Bounds,
    ledger: &Ledger,
    scale: f64,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("gap", certificate.gap / scale)?;
    dict.set_item("gap_x", certificate.gap_x / scale)?;
    dict.set_item("gap_y", certificate.gap_y / scale)?;
    dict.set_item("lower", certificate.lower / scale)?;
    dict.set_item("upper", certificate.upper / scale)?;
    dict.set_item("bound", bounds.schedule.min(bounds.minorant) / scale)?;
    let (confidence, failure) = match certificate.confidence {
        Confidence::Exact => ("exact", 0.0),
        Confidence::Probabilistic { failure } => ("probabilistic", failure),
        _ => ("as given", 0.0),
    };
    dict.set_item("confidence", confidence)?;
    dict.set_item("failure_probability", failure)?;
    let calls = PyDict::new(py);
    for (name, counts) in [("method", &ledger.method), ("certificate", &ledger.certificate)] {
        let of = PyDict::new(py);
        for counter in Counter::ALL {
            of.set_item(counter.name(), counts.get(counter))?;
        }
        calls.set_item(name, of)?;
    }
    dict.set_item("ledger", calls)?;
    Ok(dict)
}

/// The certificate of a whole run, with why it ended.
pub fn of_run<'py>(py: Python<'py>, outcome: &Outcome, scale: f64) -> PyResult<Bound<'py, PyDict>> {
    let dict = certificate(py, &outcome.certificate, &outcome.bounds, &outcome.ledger, scale)?;
    dict.set_item("status", outcome.status.to_string())?;
    dict.set_item("solved", outcome.status.is_solved())?;
    Ok(dict)
}

/// The trace as a dict of arrays of one length.
pub fn trace<'py>(
    py: Python<'py>,
    points: &[TracePoint],
    scale: f64,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let whole = |f: fn(&TracePoint) -> u64| PyArray1::from_iter(py, points.iter().map(f));
    let real =
        |f: fn(&TracePoint) -> f64| PyArray1::from_iter(py, points.iter().map(|p| f(p) / scale));
    dict.set_item("iteration", whole(|p| p.iteration))?;
    dict.set_item("seconds", PyArray1::from_iter(py, points.iter().map(|p| p.seconds)))?;
    dict.set_item("gap", real(|p| p.certificate.gap))?;
    dict.set_item("gap_x", real(|p| p.certificate.gap_x))?;
    dict.set_item("gap_y", real(|p| p.certificate.gap_y))?;
    dict.set_item("lower", real(|p| p.certificate.lower))?;
    dict.set_item("upper", real(|p| p.certificate.upper))?;
    dict.set_item("bound", real(|p| p.bounds.schedule.min(p.bounds.minorant)))?;
    dict.set_item("grad_x", whole(|p| p.ledger.method.grad_x))?;
    dict.set_item("component_grads", whole(|p| p.ledger.method.component_grads))?;
    dict.set_item("lo", whole(|p| p.ledger.method.lo()))?;
    dict.set_item(
        "passes",
        PyArray1::from_iter(py, points.iter().map(|p| p.ledger.method.passes)),
    )?;
    Ok(dict)
}
