//! Matrices of low rank by their factors.

use crate::error::{Error, Result};
use crate::state::Archive;

/// The matrix `L diag(values) R'`, of which `L` and `R` have orthonormal columns, `values` are its singular values, falling,
/// and all three may be far smaller than the matrix.
///
/// ```
/// use couloir::linalg::Factors;
/// let factors = Factors::new(2, 3, vec![0.6, 0.8], vec![5.0], vec![0.0, 1.0, 0.0]);
/// assert_eq!(factors.rank(), 1);
/// assert_eq!(factors.entry(1, 1), 4.0);
/// assert_eq!(factors.to_matrix()?, [0.0, 3.0, 0.0, 0.0, 4.0, 0.0]);
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Factors {
    rows: usize,
    columns: usize,
    left: Vec<f64>,
    values: Vec<f64>,
    right: Vec<f64>,
}

impl Factors {
    /// From `L` (`rows x k`) and `R` (`columns x k`), row after row, and `k` values.
    ///
    /// # Panics
    /// If the lengths do not fit.
    #[must_use]
    pub fn new(
        rows: usize,
        columns: usize,
        left: Vec<f64>,
        values: Vec<f64>,
        right: Vec<f64>,
    ) -> Self {
        let k = values.len();
        assert!(left.len() == rows * k && right.len() == columns * k, "shapes of factors");
        Factors { rows, columns, left, values, right }
    }

    /// The number of rows of the matrix.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns of the matrix.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The number of singular values that are not zero.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.values.len()
    }

    /// `L`, row after row.
    #[must_use]
    pub fn left(&self) -> &[f64] {
        &self.left
    }

    /// The singular values, falling.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// `R`, row after row.
    #[must_use]
    pub fn right(&self) -> &[f64] {
        &self.right
    }

    /// An entry of the matrix.
    ///
    /// # Panics
    /// If it is outside of the matrix.
    #[must_use]
    pub fn entry(&self, row: usize, column: usize) -> f64 {
        let k = self.rank();
        let (l, r) = (&self.left[row * k..][..k], &self.right[column * k..][..k]);
        l.iter().zip(&self.values).zip(r).map(|((l, v), r)| l * v * r).sum()
    }

    /// The whole matrix, row after row.
    ///
    /// # Errors
    /// A matrix of more entries than memory can have.
    pub fn to_matrix(&self) -> Result<Vec<f64>> {
        let mut out = Vec::new();
        let size = self.rows.checked_mul(self.columns);
        if size.is_none_or(|size| out.try_reserve_exact(size).is_err()) {
            let why = format!(
                "a whole matrix of {} x {} numbers does not fit into memory; use its factors",
                self.rows, self.columns
            );
            return Err(Error::Setting { name: "x", why });
        }
        let k = self.rank();
        let mut scaled = vec![0.0; k];
        for row in 0..self.rows {
            let line = &self.left[row * k..(row + 1) * k];
            for ((s, l), v) in scaled.iter_mut().zip(line).zip(&self.values) {
                *s = l * v;
            }
            let of_column = |j: usize| {
                let line = &self.right[j * k..(j + 1) * k];
                scaled.iter().zip(line).map(|(a, b)| a * b).sum::<f64>()
            };
            out.extend((0..self.columns).map(of_column));
        }
        Ok(out)
    }

    /// Saves or loads them, for the state of a solver.
    ///
    /// # Errors
    /// What the archive reports; factors of another shape.
    pub fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let mut rank = self.rank() as u64;
        archive.count("rank", &mut rank)?;
        let most = self.rows.min(self.columns) as u64;
        let rank = rank.min(most) as usize;
        self.left.resize(self.rows * rank, 0.0);
        self.values.resize(rank, 0.0);
        self.right.resize(self.columns * rank, 0.0);
        archive.numbers("left", &mut self.left)?;
        archive.numbers("values", &mut self.values)?;
        archive.numbers("right", &mut self.right)
    }
}
