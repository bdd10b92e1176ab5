//! What is refused before the core begins, because it could only fail worse: too little memory, a process that was forked.

use pyo3::exceptions::{PyMemoryError, PyRuntimeError};
use pyo3::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering};

/// `MemoryError` unless so many bytes can be had in one piece. An allocation that fails inside the core ends the interpreter.
pub fn room(what: &str, bytes: u64) -> PyResult<()> {
    let mut probe: Vec<u8> = Vec::new();
    let had = usize::try_from(bytes).is_ok_and(|bytes| probe.try_reserve_exact(bytes).is_ok());
    // or the compiler may leave out an allocation that nobody uses
    std::hint::black_box(&probe);
    if had {
        return Ok(());
    }
    let gib = bytes as f64 / f64::from(1 << 30);
    let why = format!("{what} would take about {gib:.1} GiB of memory, more than there is");
    Err(PyMemoryError::new_err(why))
}

/// `RuntimeError` in a process that was forked from one in which the core has worked: the threads that it works on are not there,
/// and to wait for them would never end.
pub fn not_forked() -> PyResult<()> {
    /// The process that the core works in.
    static PROCESS: AtomicU32 = AtomicU32::new(0);
    let own = std::process::id();
    match PROCESS.compare_exchange(0, own, Ordering::SeqCst, Ordering::SeqCst) {
        Err(first) if first != own => Err(PyRuntimeError::new_err(
            "couloir cannot be used after a fork of a process that has used it, for its threads are gone; start processes \
             with multiprocessing.get_context('spawn') or 'forkserver', or with joblib",
        )),
        _ => Ok(()),
    }
}
