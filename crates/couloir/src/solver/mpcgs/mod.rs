//! MPCGS: the paper's method as printed, and the certified one, whose conditions are checked while it runs.

mod certified;
mod hull_search;
mod lower_bound;
mod points;
mod printed;
mod y_solve;

pub(super) use certified::INNER_BUDGET;
pub use certified::{Certified, CertifiedSettings};
pub use printed::{Mpcgs, MpcgsConstants, MpcgsSettings};
pub(super) use y_solve::YSolver;
