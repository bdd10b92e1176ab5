//! Lengths of rows and the top singular value, from which block constants are bounded.

use crate::linalg::{SparseMatrix, norm, norm_squared, scale};

/// Power iterations for the top singular value.
const POWER_STEPS: usize = 60;

/// What the bounds need to know of the rows' lengths.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lengths {
    pub(super) longest: f64,
    /// `sum_i |a_i|^2`.
    pub(super) squares: f64,
}

impl Lengths {
    pub(super) fn new(rows: &SparseMatrix) -> Self {
        let (mut longest, mut squares) = (0.0f64, 0.0);
        for i in 0..rows.rows() {
            let length = norm(rows.row(i).1);
            longest = longest.max(length);
            squares += length * length;
        }
        Lengths { longest, squares }
    }
}

/// The top eigenvalue of `A^T diag(weights) A`, from below, by power iteration from a positive vector: text has
/// positive entries, and then so has the top eigenvector.
pub(super) fn top_eigenvalue(rows: &SparseMatrix, weights: Option<&[f64]>) -> f64 {
    let (mut v, mut image) = (vec![1.0; rows.columns()], vec![0.0; rows.rows()]);
    for (j, v) in v.iter_mut().enumerate() {
        *v += 0.5 * (j as f64).sin(); // not orthogonal to everything of other signs either
    }
    let mut value = 0.0;
    for _ in 0..POWER_STEPS {
        let length = norm(&v);
        if length == 0.0 {
            return 0.0;
        }
        scale(1.0 / length, &mut v);
        rows.multiply(&v, &mut image);
        if let Some(weights) = weights {
            image.iter_mut().zip(weights).for_each(|(i, w)| *i *= w.sqrt());
        }
        let before = value;
        value = norm_squared(&image);
        if value - before <= 1e-4 * value {
            break;
        }
        if let Some(weights) = weights {
            image.iter_mut().zip(weights).for_each(|(i, w)| *i *= w.sqrt());
        }
        rows.multiply_transposed(&image, &mut v);
    }
    value
}
