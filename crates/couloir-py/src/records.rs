//! Records of runs and fits as dicts, and traces as dicts of arrays.

use couloir::run::{TracePoint, TraceRecord};
use numpy::PyArray1;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Serialize;

/// The dict that Python reads from the record's JSON: what `--json` prints, to the same bits.
pub fn dict<'py>(py: Python<'py>, record: &impl Serialize) -> PyResult<Bound<'py, PyDict>> {
    let text = serde_json::to_string(record).map_err(|e| PyRuntimeError::new_err(e.to_string()))?;
    Ok(py.import("json")?.call_method1("loads", (text,))?.cast_into()?)
}

/// The trace as a dict of arrays of one length, by the names of [`TraceRecord`]; numbers of the objective are over `scale`.
pub fn trace<'py>(
    py: Python<'py>,
    points: &[TracePoint],
    scale: f64,
) -> PyResult<Bound<'py, PyDict>> {
    let records: Vec<TraceRecord> = points.iter().map(|p| TraceRecord::new(p, scale)).collect();
    let dict = PyDict::new(py);
    let whole = |name: &str, of: fn(&TraceRecord) -> u64| {
        dict.set_item(name, PyArray1::from_iter(py, records.iter().map(of)))
    };
    let real = |name: &str, of: fn(&TraceRecord) -> f64| {
        dict.set_item(name, PyArray1::from_iter(py, records.iter().map(of)))
    };
    whole("iteration", |r| r.iteration)?;
    real("seconds", |r| r.seconds)?;
    real("gap", |r| r.gap)?;
    real("gap_x", |r| r.gap_x)?;
    real("gap_y", |r| r.gap_y)?;
    real("lower", |r| r.lower)?;
    real("upper", |r| r.upper)?;
    real("bound", |r| r.bound)?;
    whole("grads", |r| r.grads)?;
    whole("certificate_grads", |r| r.certificate_grads)?;
    whole("component_grads", |r| r.component_grads)?;
    whole("lo_calls", |r| r.lo_calls)?;
    whole("certificate_lo_calls", |r| r.certificate_lo_calls)?;
    real("passes", |r| r.passes)?;
    Ok(dict)
}
