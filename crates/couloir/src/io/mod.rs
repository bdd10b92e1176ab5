//! Files that are written whole or not at all, and locks on files that two processes must not keep at once.

mod atomic;
mod lock;
mod place;
mod unfinished;

pub use atomic::{check_output, write_atomically};
pub use lock::{Lock, LockError};
pub use unfinished::{remove_stale, remove_unfinished};
