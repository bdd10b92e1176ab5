//! Methods on one block of variables, made from sliding on its set: CGS for a smooth function, (i)STORC for a mean of
//! functions.

mod cgs;
mod storc;

pub use cgs::{Cgs, CgsGoal, CgsReport, SmoothFunction};
pub use storc::{Istorc, IstorcConstants, IstorcReport, SampledFunction, Snapshot};
