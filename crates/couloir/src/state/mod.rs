//! State that outlives a process: saved and loaded entry by entry, and the fingerprint that tells whose it is.

mod archive;
mod fingerprint;
#[cfg(test)]
pub(crate) mod rehearsal;

pub use archive::Archive;
pub(crate) use archive::io_error;
pub use fingerprint::{Digest, Fingerprint};
