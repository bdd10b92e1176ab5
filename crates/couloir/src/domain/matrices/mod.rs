//! Sets of matrices that are known by eigenvalues or singular values.

mod fantope;
mod spectrahedron;
mod spectral_ball;

pub use fantope::Fantope;
pub use spectrahedron::{Spectrahedron, TraceBound};
pub use spectral_ball::SpectralBall;

use crate::error::{Error, Result};
use crate::linalg::axpy;
use faer::{MatRef, Side};

/// Eigenvalues in rising order, and the eigenvectors one after the other.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SymmetricParts {
    pub values: Vec<f64>,
    vectors: Vec<f64>,
}

impl SymmetricParts {
    pub(super) fn vector(&self, k: usize) -> &[f64] {
        let n = self.values.len();
        &self.vectors[k * n..(k + 1) * n]
    }

    /// Writes the matrix with the same eigenvectors and these eigenvalues.
    fn write(&self, values: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        for (k, value) in values.iter().enumerate().filter(|(_, value)| **value != 0.0) {
            let vector = self.vector(k);
            for (row, v) in out.chunks_exact_mut(vector.len()).zip(vector) {
                axpy(value * v, vector, row);
            }
        }
    }
}

/// Of the symmetric part `(A + A')/2`.
pub(super) fn symmetric_parts(a: &[f64], n: usize) -> Result<SymmetricParts> {
    let half = |i: usize, j: usize| 0.5 * a[i * n + j] + 0.5 * a[j * n + i];
    let whole: Vec<f64> = (0..n * n).map(|at| half(at / n, at % n)).collect();
    let parts = MatRef::from_row_major_slice(&whole, n, n).self_adjoint_eigen(Side::Lower);
    let parts = parts.map_err(|e| Error::Numerical {
        what: "symmetric eigen-decomposition",
        why: format!("{e:?}"),
    })?;
    let (values, vectors) = (parts.S(), parts.U());
    Ok(SymmetricParts {
        values: (0..n).map(|k| values[k]).collect(),
        vectors: (0..n * n).map(|at| vectors[(at % n, at / n)]).collect(),
    })
}

/// The largest difference between an entry and the one across the diagonal.
fn asymmetry(p: &[f64], n: usize) -> f64 {
    let of = |at: usize| (p[at] - p[at % n * n + at / n]).abs();
    (0..n * n).map(of).fold(0.0, f64::max)
}
