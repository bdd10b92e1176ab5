//! Matrix games.

use super::{
    Bilinear, BlockConstants, Capabilities, Identity, KnownConstants, KnownRounding, PreparedImage,
    Rounding, SaddleProblem,
};
use crate::domain::Confidence;
use crate::error::{Error, Result, check_finite};
use crate::linalg::{DenseMatrix, SparseMatrix, dot, norm};
use crate::state::Fingerprint;

/// The matrix game `f(x, y) = x^T A y`: `x` pays `A_ij` to `y` if they play row `i` and column `j`.
///
/// ```
/// use couloir::Solve;
/// use couloir::domain::Simplex;
/// use couloir::problem::MatrixGame;
///
/// // rock, paper, scissors, where paper wins twice
/// let game = MatrixGame::from_rows(3, 3, vec![0.0, 2.0, -1.0, -2.0, 0.0, 1.0, 1.0, -1.0, 0.0])?;
/// let (x_set, y_set) = (Simplex::new(3)?, Simplex::new(3)?);
/// let solution = Solve::new(&game, &x_set, &y_set).gap(1e-9).run()?;
/// assert!(solution.outcome.status.is_solved());
/// assert!(solution.x.iter().zip([0.25, 0.25, 0.5]).all(|(x, expected)| (x - expected).abs() < 1e-8));
/// # Ok::<(), couloir::Error>(())
/// ```
///
/// The sets need not be simplices: `x^T A y` on boxes, balls or any mixture is the same problem.
#[derive(Clone, Debug, PartialEq)]
pub struct MatrixGame {
    payoffs: Payoffs,
    /// The length of all entries as one vector, and of the longest column.
    frobenius: f64,
    longest_column: f64,
}

#[derive(Clone, Debug, PartialEq)]
enum Payoffs {
    Dense(DenseMatrix),
    Sparse(SparseMatrix),
}

impl MatrixGame {
    /// The game with these payoffs, row by row: row `i` is what `x` pays for its `i`-th choice.
    ///
    /// # Errors
    /// A matrix without entries, a wrong number of them, entries that are not finite.
    pub fn from_rows(rows: usize, columns: usize, payoffs: Vec<f64>) -> Result<Self> {
        let matrix = DenseMatrix::from_rows(rows, columns, payoffs)?;
        let mut squares = vec![0.0; columns];
        for row in matrix.entries().chunks(columns.max(1)) {
            squares.iter_mut().zip(row).for_each(|(square, a)| *square += a * a);
        }
        MatrixGame::new(rows, columns, norm(matrix.entries()), squares, Payoffs::Dense(matrix))
    }

    /// The game with a sparse matrix of payoffs.
    ///
    /// # Errors
    /// A matrix without rows or columns.
    pub fn sparse(payoffs: SparseMatrix) -> Result<Self> {
        let (rows, columns) = (payoffs.rows(), payoffs.columns());
        let mut squares = vec![0.0; columns];
        for i in 0..rows {
            let (indices, values) = payoffs.row(i);
            indices.iter().zip(values).for_each(|(&j, a)| squares[j as usize] += a * a);
        }
        let frobenius = squares.iter().sum::<f64>().sqrt();
        MatrixGame::new(rows, columns, frobenius, squares, Payoffs::Sparse(payoffs))
    }

    fn new(
        rows: usize,
        columns: usize,
        frobenius: f64,
        squares: Vec<f64>,
        payoffs: Payoffs,
    ) -> Result<Self> {
        if rows == 0 || columns == 0 {
            return Err(Error::EmptySet { why: format!("a game of {rows} x {columns} payoffs") });
        }
        check_finite("length of the matrix of payoffs", &[frobenius])?;
        let longest_column = squares.into_iter().fold(0.0, f64::max).sqrt();
        Ok(MatrixGame { payoffs, frobenius, longest_column })
    }

    /// The payoffs that are not zero, row by row: `(i, j, A_ij)`.
    pub fn nonzeros(&self) -> impl Iterator<Item = (usize, usize, f64)> + '_ {
        let row = |i: usize| -> Box<dyn Iterator<Item = (usize, usize, f64)> + '_> {
            match &self.payoffs {
                Payoffs::Dense(matrix) => {
                    let columns = matrix.columns();
                    let entries = &matrix.entries()[i * columns..(i + 1) * columns];
                    Box::new(entries.iter().enumerate().map(move |(j, a)| (i, j, *a)))
                }
                Payoffs::Sparse(matrix) => {
                    let (indices, values) = matrix.row(i);
                    Box::new(indices.iter().zip(values).map(move |(j, a)| (i, *j as usize, *a)))
                }
            }
        };
        (0..self.dim_x()).flat_map(row).filter(|(_, _, a)| *a != 0.0)
    }

    /// A bound of the share that rounding takes of a sum of products over rows or columns.
    fn roundings(&self) -> f64 {
        0.5 * f64::EPSILON * (self.dim_x() + self.dim_y() + 8) as f64
    }
}

impl SaddleProblem for MatrixGame {
    fn dim_x(&self) -> usize {
        match &self.payoffs {
            Payoffs::Dense(matrix) => matrix.rows(),
            Payoffs::Sparse(matrix) => matrix.rows(),
        }
    }

    fn dim_y(&self) -> usize {
        match &self.payoffs {
            Payoffs::Dense(matrix) => matrix.columns(),
            Payoffs::Sparse(matrix) => matrix.columns(),
        }
    }

    fn value(&self, at: PreparedImage<'_>, y: &[f64]) -> f64 {
        let chosen = at.image.iter().enumerate().filter(|(_, x)| **x != 0.0);
        match &self.payoffs {
            Payoffs::Dense(matrix) => {
                let row = |i: usize| &matrix.entries()[i * y.len()..(i + 1) * y.len()];
                chosen.map(|(i, x)| x * dot(row(i), y)).sum()
            }
            Payoffs::Sparse(matrix) => chosen
                .map(|(i, x)| {
                    let (indices, values) = matrix.row(i);
                    x * indices.iter().zip(values).map(|(&j, a)| a * y[j as usize]).sum::<f64>()
                })
                .sum(),
        }
    }

    fn grad_image(&self, _at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
        match &self.payoffs {
            Payoffs::Dense(matrix) => matrix.multiply(y, out),
            Payoffs::Sparse(matrix) => matrix.multiply(y, out),
        }
    }

    fn grad_y(&self, at: PreparedImage<'_>, _y: &[f64], out: &mut [f64]) {
        match &self.payoffs {
            Payoffs::Dense(matrix) => matrix.multiply_transposed(at.image, out),
            Payoffs::Sparse(matrix) => matrix.multiply_transposed(at.image, out),
        }
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities::NONE
            .with_bilinear(self)
            .with_constants(self)
            .with_rounding(self)
            .with_identity(self)
    }
}

impl Bilinear for MatrixGame {
    fn entries(&self) -> u64 {
        match &self.payoffs {
            Payoffs::Dense(matrix) => matrix.entries().len() as u64,
            Payoffs::Sparse(matrix) => {
                (0..matrix.rows()).map(|i| matrix.row(i).0.len() as u64).sum()
            }
        }
    }

    fn coupling(&self, out: &mut [f64]) -> bool {
        match &self.payoffs {
            Payoffs::Dense(matrix) => out.copy_from_slice(matrix.entries()),
            Payoffs::Sparse(matrix) => {
                out.fill(0.0);
                for (i, row) in out.chunks_mut(matrix.columns()).enumerate() {
                    let (indices, values) = matrix.row(i);
                    indices.iter().zip(values).for_each(|(&j, a)| row[j as usize] += a);
                }
            }
        }
        true
    }
}

impl KnownConstants for MatrixGame {
    /// `Lxx = 0`, and the Frobenius norm for `Lxy`. There is no strong concavity.
    fn constants(&self) -> BlockConstants {
        BlockConstants { lxx: Some(0.0), lxy: Some(self.frobenius), ..BlockConstants::default() }
    }

    fn confidence(&self) -> Confidence {
        Confidence::Exact
    }
}

impl KnownRounding for MatrixGame {
    /// Every entry of a gradient is a sum of products, and the lengths of the rows of `|A|` bound its terms.
    fn rounding(&self, at: PreparedImage<'_>, y: &[f64], reach: [f64; 2]) -> Rounding {
        let (x, y, roundings) = (norm(at.image), norm(y), self.roundings());
        Rounding {
            value: 2.0 * roundings * self.frobenius * x * y,
            grad_x: roundings * self.frobenius * y,
            grad_y: roundings * self.frobenius * x,
            steepest_x: self.frobenius * (y + reach[1]) * (1.0 + roundings),
            steepest_y: self.longest_column * (x + reach[0]) * (1.0 + roundings),
        }
    }
}

impl Identity for MatrixGame {
    fn fingerprint(&self, print: &mut Fingerprint) {
        match &self.payoffs {
            Payoffs::Dense(matrix) => {
                print.note("payoffs", format!("{} x {}", matrix.rows(), matrix.columns()));
                print.note("entries (SHA-256)", matrix.digest());
            }
            Payoffs::Sparse(matrix) => matrix.fingerprint(print),
        }
    }
}
