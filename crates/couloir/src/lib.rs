//! Projection-free saddle-point optimisation.

pub mod certificate;
pub mod domain;
pub mod error;
pub mod linalg;
pub mod problem;
pub mod run;
pub mod sliding;
pub mod solver;

pub use certificate::{Bounds, Certificate};
pub use error::{Block, Error, Result};
pub use solver::{Inner, Method, Solution, Solve};
