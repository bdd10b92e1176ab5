//! MPCGS: the paper's method as printed, and the certified one, whose conditions are checked while it runs.

mod certified;
mod certified_settings;
mod doubling;
mod hull_search;
mod lower_bound;
mod pace;
mod points;
mod printed;
mod schedule;
mod smoothed;
mod staged;
mod y_solve;

pub use certified::Certified;
pub use certified_settings::CertifiedSettings;
pub use printed::{MpcgsConstants, MpcgsSettings};
pub(super) use y_solve::YSolver;
