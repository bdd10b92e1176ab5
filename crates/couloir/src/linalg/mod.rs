//! Dense kernels and spectral routines.

pub(crate) mod lanczos;
pub(crate) mod nuclear_projection;
pub(crate) mod simd;
mod softmax;
mod sparse;
mod sparse_dense;
pub(crate) mod spectral;
mod vector;

pub(crate) use softmax::{Rows, bend};
pub use softmax::{exp_in_place, softmax_losses};
pub use sparse::SparseMatrix;
pub use sparse_dense::{Layout, ScoreOperator};
pub(crate) use sparse_dense::{score_rows, transpose};
pub(crate) use vector::{all_finite, update};
pub use vector::{
    axpby, axpy, between, combine, distance_squared, dot, dot_difference, dot_of_differences, norm,
    norm_squared, scale, step_toward,
};

use crate::error::{Error, Result};

/// The largest singular value of a row-major matrix, by a full decomposition: for small matrices.
///
/// # Errors
/// A decomposition that fails (entries that are not finite).
pub fn spectral_norm(a: &[f64], rows: usize, cols: usize) -> Result<f64> {
    let view = faer::MatRef::from_row_major_slice(a, rows, cols);
    let values = view.singular_values().map_err(|e| Error::Numerical {
        what: "spectral norm",
        why: format!("the singular value decomposition of a {rows} x {cols} matrix: {e:?}"),
    })?;
    Ok(values.first().copied().unwrap_or(0.0))
}
