//! Work of the core off Python's lock, with an ear for Ctrl-C.

use couloir::run::{Algorithm, Flow, Observer, TracePoint};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How often signals are looked at.
const LOOK: Duration = Duration::from_millis(50);

/// Ends a run when told to, and remembers its last record.
#[derive(Default)]
pub struct Watch {
    stop: Arc<AtomicBool>,
    last: Mutex<Option<TracePoint>>,
    checkpoint_error: Mutex<Option<String>>,
}

impl Watch {
    /// The flag that is raised when the work is to end, for inner loops.
    pub fn flag(&self) -> Arc<AtomicBool> {
        self.stop.clone()
    }

    pub fn observer(&self) -> impl Observer + '_ {
        Watching(self)
    }

    /// Why the last checkpoint could not be written.
    pub fn checkpoint_error(&self) -> Option<String> {
        self.checkpoint_error.lock().ok().and_then(|error| error.clone())
    }

    fn last(&self) -> Option<TracePoint> {
        self.last.lock().ok().and_then(|mut last| last.take())
    }
}

struct Watching<'a>(&'a Watch);

impl Observer for Watching<'_> {
    fn observe(&mut self, point: &TracePoint, _: &dyn Algorithm) -> Flow {
        if let Ok(mut last) = self.0.last.lock() {
            *last = Some(*point);
        }
        if self.0.stop.load(Ordering::Relaxed) { Flow::Stop } else { Flow::Continue }
    }

    fn checkpointed(&mut self, written: couloir::Result<()>) {
        if let Ok(mut last) = self.0.checkpoint_error.lock() {
            *last = written.err().map(|error| error.to_string());
        }
    }
}

/// Runs `work` on a thread of its own, on `threads` workers where that is set, while this one waits for signals and
/// reports to `progress(iteration, seconds, gap)`. An exception in either asks the work to stop; it comes back
/// beside the result.
///
/// Python hands signals to its main thread only, which is why the work is not done on it.
pub fn listening<T: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    progress: Option<&Py<PyAny>>,
    watch: &Watch,
    work: impl FnOnce() -> T + Send,
) -> PyResult<(T, Option<PyErr>)> {
    let pool = threads
        .map(|n| rayon::ThreadPoolBuilder::new().num_threads(n).build())
        .transpose()
        .map_err(|e| PyValueError::new_err(format!("n_jobs: {e}")))?;
    py.detach(|| {
        std::thread::scope(|scope| {
            let (done, wait) = channel();
            let worker = scope.spawn(move || {
                let result = match &pool {
                    Some(pool) => pool.install(work),
                    None => work(),
                };
                // the other end waits until it hears of this or of the end of this thread
                let _ = done.send(());
                result
            });
            let mut failure = None;
            while wait.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                if failure.is_none() {
                    failure = Python::attach(|py| look(py, progress, watch)).err();
                    watch.stop.store(failure.is_some(), Ordering::Relaxed);
                }
            }
            let result = worker.join();
            let result = result.map_err(|_| PyRuntimeError::new_err("the core panicked"))?;
            Ok((result, failure))
        })
    })
}

fn look(py: Python<'_>, progress: Option<&Py<PyAny>>, watch: &Watch) -> PyResult<()> {
    py.check_signals()?;
    if let Some(progress) = progress
        && let Some(point) = watch.last()
    {
        progress.call1(py, (point.iteration, point.seconds, point.certificate.gap))?;
    }
    Ok(())
}
