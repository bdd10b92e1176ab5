//! The radius and the intercept that a fit chooses from the scales of its data.

use crate::error::{Error, Result};
use crate::linalg::{SparseMatrix, norm};

/// The mean length of a row, `1/n sum_i |a_i|`.
#[must_use]
fn mean_row_norm(rows: &SparseMatrix) -> f64 {
    let sum: f64 = (0..rows.rows()).map(|i| norm(rows.row(i).1)).sum();
    sum / rows.rows().max(1) as f64
}

/// The root mean square of the feature for which it is largest; 1 where all are zero. It is the value of the
/// intercept's feature, which then bends f no more than the heaviest of the others does and still costs little
/// of the ball.
#[must_use]
pub fn heaviest_feature(rows: &SparseMatrix) -> f64 {
    let mut squares = vec![0.0; rows.columns()];
    for i in 0..rows.rows() {
        let (indices, values) = rows.row(i);
        for (&j, v) in indices.iter().zip(values) {
            squares[j as usize] += v * v;
        }
    }
    let heaviest = squares.into_iter().fold(0.0, f64::max);
    if heaviest > 0.0 { (heaviest / rows.rows() as f64).sqrt() } else { 1.0 }
}

/// The radius of the nuclear-norm ball where none is given: `sqrt(n h)` over the mean length of a row.
///
/// Scores `X a_i` of order 1 for each of `n` rows and `h` classes make an `n x h` matrix of Frobenius norm
/// `sqrt(n h)`, and the row length takes out the units of the data.
///
/// # Errors
/// Rows that are all zero, so that no radius is better than another.
pub fn auto_tau(rows: &SparseMatrix, classes: usize) -> Result<f64> {
    let mean = mean_row_norm(rows);
    let tau = (rows.rows() as f64 * classes as f64).sqrt() / mean;
    if tau.is_finite() && tau > 0.0 {
        return Ok(tau);
    }
    let why = format!("none can be chosen: the mean length of a row is {mean}");
    Err(Error::Setting { name: "tau", why })
}
