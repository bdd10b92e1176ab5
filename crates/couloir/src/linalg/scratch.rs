//! Scratch memory behind `&self`: buffers that are lent and come back.

use std::sync::{Mutex, PoisonError};

/// A pool of buffers. A call takes one that lies there or makes one, so after the first calls there
/// is no allocation, and calls from several threads do not wait for each other's work.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    buffers: Mutex<Vec<Vec<f64>>>,
}

impl Pool {
    pub(crate) const fn new() -> Self {
        Pool { buffers: Mutex::new(Vec::new()) }
    }

    /// Lends a buffer of `len` numbers of whatever value.
    pub(crate) fn with<T>(&self, len: usize, work: impl FnOnce(&mut [f64]) -> T) -> T {
        let lent = self.buffers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut buffer = lent.unwrap_or_default();
        if buffer.len() < len {
            buffer.resize(len, 0.0);
        }
        let result = work(&mut buffer[..len]);
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner).push(buffer);
        result
    }
}
