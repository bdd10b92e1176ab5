//! MPSCGS: the paper's stochastic method as printed.

mod printed;

pub use printed::{MpscgsConstants, MpscgsSettings, NegatedBatches};
