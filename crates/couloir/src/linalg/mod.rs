//! Dense kernels and spectral routines.

pub(crate) mod lanczos;
pub(crate) mod nuclear_projection;
pub(crate) mod spectral;
mod vector;

pub use vector::{axpby, axpy, combine, distance_squared, dot, norm, norm_squared, scale};
