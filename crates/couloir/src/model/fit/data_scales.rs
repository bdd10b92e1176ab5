//! The radius and the intercept that a fit chooses from the scales of its data.

use crate::error::{Error, Result, check_len};
use crate::linalg::spectral::max_abs;
use crate::linalg::{SparseMatrix, norm};
use crate::model::Ball;

/// Weights above this are no counts of rows.
const MOST_ROWS: f64 = 9_007_199_254_740_992.0;

/// What each row weighs, over the heaviest, and the sum of that.
struct Shares<'a> {
    weights: Option<(&'a [f64], f64)>,
    total: f64,
}

impl<'a> Shares<'a> {
    fn new(rows: usize, weights: Option<&'a [f64]>) -> Self {
        let most = |all: &[f64]| all.iter().fold(0.0f64, |most, w| most.max(*w));
        let weights = weights.map(|all| (all, most(all))).filter(|(_, most)| *most > 0.0);
        let total = match weights {
            None => rows as f64,
            Some((all, most)) => all.iter().map(|w| w / most).sum(),
        };
        Shares { weights, total }
    }

    fn of(&self, i: usize) -> f64 {
        self.weights.map_or(1.0, |(all, most)| all.get(i).map_or(0.0, |w| w / most))
    }
}

/// The root mean square of the feature for which it is largest; 1 where all are zero. It is the value of the
/// intercept's feature, which then bends f no more than the heaviest of the others does and still costs little
/// of the ball. Rows may have weights, one for each; a row without one counts as weight zero.
#[must_use]
pub fn heaviest_feature(rows: &SparseMatrix, weights: Option<&[f64]>) -> f64 {
    let shares = Shares::new(rows.rows(), weights);
    let mut squares = vec![0.0; rows.columns()];
    for i in 0..rows.rows() {
        let (indices, values) = rows.row(i);
        let share = shares.of(i);
        for (&j, v) in indices.iter().zip(values) {
            squares[j as usize] += share * (v * v);
        }
    }
    let heaviest = squares.into_iter().fold(0.0, f64::max);
    if heaviest > 0.0 { (heaviest / shares.total).sqrt() } else { 1.0 }
}

/// The radius of the ball where none is given: `sqrt(n h)` over the mean size of a row: its length for the nuclear-norm and the l2
/// ball, its largest entry for the l1 and the group-l1 ball (its dual norm, by which weights in the ball can change a score).
///
/// Scores `X a_i` of order 1 for each of `n` rows and `h` classes make an `n x h` matrix of Frobenius norm
/// `sqrt(n h)`, and the size of a row takes out the units of the data. Rows may have weights, one for each, by which the mean is
/// taken. Weights that are whole numbers count their rows so often, so that `n` is their sum; with all others `n` is the number of
/// rows that have any weight, whatever the scale of the weights.
///
/// # Errors
/// Rows that are all zero, so that no radius is better than another; weights of another length.
pub fn auto_tau(
    rows: &SparseMatrix,
    classes: usize,
    weights: Option<&[f64]>,
    ball: Ball,
) -> Result<f64> {
    if let Some(weights) = weights {
        check_len("the weights of the rows", rows.rows(), weights.len())?;
    }
    let shares = Shares::new(rows.rows(), weights);
    let size = match ball {
        Ball::Nuclear | Ball::L2 => norm,
        Ball::L1 | Ball::GroupL1 => max_abs,
    };
    let sum: f64 = (0..rows.rows()).map(|i| shares.of(i) * size(rows.row(i).1)).sum();
    let mean = sum / shares.total.max(1.0);
    let count = |weights: &[f64]| {
        let counts = weights.iter().all(|w| w.fract() == 0.0);
        let total: f64 = weights.iter().sum();
        let any = || weights.iter().filter(|w| **w > 0.0).count() as f64;
        if counts && total <= MOST_ROWS { total } else { any() }
    };
    let n = weights.map_or(rows.rows() as f64, count);
    let tau = (n * classes as f64).sqrt() / mean;
    if tau.is_finite() && tau > 0.0 {
        return Ok(tau);
    }
    let why = format!("none can be chosen: the mean size of a row is {mean}");
    Err(Error::Setting { name: "tau", why })
}
