//! Eigenvalues and singular values of small square matrices, with their scratch memory.

use faer::diag::DiagMut;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::linalg::svd::{ComputeSvdVectors, svd, svd_scratch};
use faer::{MatMut, MatRef, Par};

use crate::error::{Error, Result};

/// Eigen-decomposition of an `n x n` Gram matrix, with its scratch.
pub(crate) struct SymmetricEigen {
    n: usize,
    scratch: MemBuffer,
    /// Eigenvalues, in rising order.
    pub(crate) values: Vec<f64>,
    /// Eigenvectors, one after the other.
    pub(crate) vectors: Vec<f64>,
}

impl SymmetricEigen {
    pub(crate) fn new(n: usize) -> Self {
        let need = self_adjoint_evd_scratch::<f64>(
            n,
            ComputeEigenvectors::Yes,
            Par::Seq,
            Default::default(),
        );
        SymmetricEigen {
            n,
            scratch: MemBuffer::new(need),
            values: vec![0.0; n],
            vectors: vec![0.0; n * n],
        }
    }

    /// Decomposes `a` (its lower triangle, in columns); where that fails, by another way once more.
    pub(crate) fn decompose(&mut self, a: &[f64]) -> Result<()> {
        self.decompose_by(Self::by_eigen, a)
    }

    /// Decomposes `a` by this way, and where it fails by the second.
    fn decompose_by(
        &mut self,
        first: impl FnOnce(&mut Self, &[f64]) -> Result<()>,
        a: &[f64],
    ) -> Result<()> {
        first(self, a).or_else(|_| self.by_svd(a))
    }

    /// A Gram matrix has no negative eigenvalues, so they are its singular values.
    #[cold]
    fn by_svd(&mut self, a: &[f64]) -> Result<()> {
        let n = self.n;
        let mut whole = a.to_vec();
        for j in 0..n {
            for i in 0..j {
                whole[j * n + i] = whole[i * n + j];
            }
        }
        let mut svd = SmallSvd::new(n);
        svd.decompose(&whole)?;
        // the same in rising order
        self.values.iter_mut().zip(svd.values.iter().rev()).for_each(|(to, from)| *to = *from);
        let vectors = self.vectors.chunks_exact_mut(n).zip(svd.left.chunks_exact(n).rev());
        vectors.for_each(|(to, from)| to.copy_from_slice(from));
        Ok(())
    }

    fn by_eigen(&mut self, a: &[f64]) -> Result<()> {
        let n = self.n;
        self_adjoint_evd(
            MatRef::from_column_major_slice(a, n, n),
            DiagMut::from_slice_mut(&mut self.values),
            Some(MatMut::from_column_major_slice_mut(&mut self.vectors, n, n)),
            Par::Seq,
            MemStack::new(&mut self.scratch),
            Default::default(),
        )
        .map_err(|e| Error::Numerical {
            what: "symmetric eigen-decomposition",
            why: format!("{e:?}"),
        })
    }

    /// The eigenvector of the largest eigenvalue.
    pub(crate) fn top_vector(&self) -> &[f64] {
        &self.vectors[(self.n - 1) * self.n..]
    }

    /// The largest eigenvalue.
    pub(crate) fn top_value(&self) -> f64 {
        self.values[self.n - 1]
    }

    /// Eigenvector `k`, in the order of the eigenvalues.
    pub(crate) fn vector(&self, k: usize) -> &[f64] {
        &self.vectors[k * self.n..(k + 1) * self.n]
    }
}

/// Left singular vectors and singular values of a square `n x n` matrix, with their scratch.
pub(crate) struct SmallSvd {
    n: usize,
    scratch: MemBuffer,
    /// Singular values, in falling order.
    pub(crate) values: Vec<f64>,
    /// Left singular vectors, one after the other.
    pub(crate) left: Vec<f64>,
}

impl SmallSvd {
    pub(crate) fn new(n: usize) -> Self {
        let need = svd_scratch::<f64>(
            n,
            n,
            ComputeSvdVectors::Thin,
            ComputeSvdVectors::No,
            Par::Seq,
            Default::default(),
        );
        SmallSvd { n, scratch: MemBuffer::new(need), values: vec![0.0; n], left: vec![0.0; n * n] }
    }

    /// Decomposes `a`, given in columns.
    pub(crate) fn decompose(&mut self, a: &[f64]) -> Result<()> {
        let n = self.n;
        svd(
            MatRef::from_column_major_slice(a, n, n),
            DiagMut::from_slice_mut(&mut self.values),
            Some(MatMut::from_column_major_slice_mut(&mut self.left, n, n)),
            None,
            Par::Seq,
            MemStack::new(&mut self.scratch),
            Default::default(),
        )
        .map_err(|e| Error::Numerical {
            what: "singular value decomposition",
            why: format!("{e:?}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Thin;
    use super::*;
    use crate::linalg::dot;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-12 * (1.0 + b.abs())
    }

    #[test]
    fn both_ways_to_decompose_a_gram_matrix_agree_and_nan_is_an_error_of_both() {
        let n = 7;
        let thin = Thin::new(n, 30);
        let a: Vec<f64> = (0..n * 30).map(|i| (0.7 * (i * i) as f64).sin()).collect();
        let mut gram = vec![0.0; n * n];
        thin.gram(&a, &mut gram);
        for j in 0..n {
            for i in 0..j {
                gram[j * n + i] = f64::NAN; // only the lower triangle may be read
            }
        }
        let (mut one, mut other) = (SymmetricEigen::new(n), SymmetricEigen::new(n));
        one.by_eigen(&gram).expect("eigenvalues");
        other.by_svd(&gram).expect("singular values");
        for k in 0..n {
            assert!((one.values[k] - other.values[k]).abs() <= 1e-13 * one.top_value());
            let cosine = dot(one.vector(k), other.vector(k)).abs();
            assert!((cosine - 1.0).abs() <= 1e-10, "vector {k}: {cosine}");
        }
        gram[0] = f64::NAN;
        let what = |error| match error {
            Error::Numerical { what, .. } => what,
            other => panic!("{other}"),
        };
        assert_eq!(one.by_eigen(&gram).map_err(what), Err("symmetric eigen-decomposition"));
        // the error of the second way: it was taken
        assert_eq!(one.decompose(&gram).map_err(what), Err("singular value decomposition"));
    }

    #[test]
    fn a_way_to_decompose_that_fails_is_followed_by_the_other_and_one_that_does_not_is_not() {
        let gram = [2.0, 1.0, 1.0, 2.0]; // eigenvalues 1 and 3, the top one along (1, 1)
        let mut eigen = SymmetricEigen::new(2);
        let fails = |eigen: &mut SymmetricEigen, _: &[f64]| {
            // what a process that does not converge may leave
            eigen.values.fill(f64::NAN);
            eigen.vectors.fill(f64::NAN);
            Err(Error::Numerical { what: "a fault", why: "injected".to_owned() })
        };
        eigen.decompose_by(fails, &gram).expect("the second way");
        assert!(close(eigen.values[0], 1.0) && close(eigen.top_value(), 3.0));
        let top = eigen.top_vector();
        assert!(close(top[0], top[1]) && close(dot(top, top), 1.0), "{top:?}");

        let marks = |eigen: &mut SymmetricEigen, _: &[f64]| {
            eigen.values.fill(-7.0);
            Ok(())
        };
        eigen.decompose_by(marks, &gram).expect("the first way");
        assert_eq!(eigen.values, [-7.0, -7.0]);
    }
}
