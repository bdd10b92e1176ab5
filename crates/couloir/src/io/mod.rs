//! Files that are written whole or not at all.

mod atomic;
mod stale;

pub use atomic::write_atomically;
pub use stale::{remove_stale, remove_unfinished};
