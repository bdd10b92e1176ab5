//! Projection-free saddle-point optimisation.

pub mod domain;
pub mod error;
pub mod linalg;
pub mod sliding;

pub use error::{Block, Error, Result};
