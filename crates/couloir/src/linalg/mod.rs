//! Dense kernels and spectral routines.

mod accurate_sum;
pub(crate) mod block_lanczos;
mod cholesky;
mod dense;
mod exchange;
mod factor;
mod factors;
pub(crate) mod lanczos;
pub(crate) mod nuclear_projection;
mod observed_entries;
mod rare_columns;
pub(crate) mod scratch;
pub(crate) mod simd;
mod simplex_qp;
mod softmax;
mod sparse;
mod sparse_dense;
pub(crate) mod spectral;
mod vector;

pub(crate) use accurate_sum::{accurate_sum, accurate_sum_of};
pub(crate) use cholesky::Cholesky;
pub(crate) use dense::DenseMatrix;
pub(crate) use exchange::{Ended, ExchangeTableau};
#[doc(hidden)] // its home for users is `domain`
pub use factor::Factor;
pub use factors::Factors;
pub use observed_entries::ObservedEntries;
pub(crate) use simplex_qp::{ActiveSet, Form};
pub(crate) use softmax::{Rows, bend, softmax_filled};
#[doc(hidden)] // for our own benchmarks
pub use softmax::{exp_in_place, softmax_losses};
pub use sparse::SparseMatrix;
pub use sparse_dense::Layout;
#[doc(hidden)] // for our own benchmarks
pub use sparse_dense::ScoreOperator;
pub(crate) use sparse_dense::{score_rows, transpose};
pub(crate) use vector::{
    MOST_POINTS, combine_many, combine_piece, gradient_step, gram_of_differences,
    slopes_of_differences,
};
pub(crate) use vector::{
    axpby, axpy, combine, dot_and_squares, dot_difference, dot_of_differences, length,
    norm_squared, step_toward, sum_abs, sum_rounding,
};
pub use vector::{between, distance_squared, dot, norm, scale};

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

/// The Gram matrix of the smaller side of a row-major matrix: `out = A A^T` where it is wide, `A^T A` where it is tall, in
/// both triangles.
///
/// ```
/// let mut out = [0.0; 4];
/// couloir::linalg::gram(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3, 2, &mut out);
/// assert_eq!(out, [35.0, 44.0, 44.0, 56.0]);
/// ```
///
/// # Panics
/// If `a` does not hold `rows cols` numbers, or `out` not the square of the smaller.
pub fn gram(a: &[f64], rows: usize, cols: usize, out: &mut [f64]) {
    let thin = spectral::Thin::new(rows, cols);
    assert!(a.len() == rows * cols && out.len() == thin.short().pow(2), "shapes of gram");
    thin.gram(a, out);
}
