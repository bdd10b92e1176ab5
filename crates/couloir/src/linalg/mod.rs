//! Dense kernels and spectral routines.

mod vector;

pub use vector::{axpby, axpy, combine, distance_squared, dot, norm, norm_squared, scale};
