//! Bounds of the rounding in values and gradients of the robust model, from the entries of its rows.

use super::RobustMulticlass;
use super::constants::Lengths;
use crate::linalg::spectral::max_abs;
use crate::linalg::{SparseMatrix, dot, norm, sum_rounding};
use crate::model::loss::ScoreLoss;
use crate::problem::{KnownRounding, PreparedImage, Rounding};

/// Roundings of a loss or of a slope with its weight, beyond those of the scores: exponentials, a logarithm, a few products.
const OF_A_LOSS: f64 = 24.0;
/// Roundings of a slope of the penalty.
const OF_THE_PENALTY: f64 = 16.0;
/// Half a unit in the last place.
const UNIT: f64 = 0.5 * f64::EPSILON;

/// What the sums over rows and columns round by: a sum errs once for each of its own terms at the most, in
/// whatever order they are added, and zeros are added without an error.
#[derive(Debug)]
pub(super) struct Sums {
    /// `u max_i (m_i + 2) |a_i|`, for rows of `m_i` entries.
    scores: f64,
    /// For each row what it brings to the error of a gradient, but for its weight.
    in_gradient: Vec<f64>,
}

impl Sums {
    /// Of rows of these lengths with this loss, for points that are no longer than `tau`.
    pub(super) fn new(
        rows: &SparseMatrix,
        lengths: &Lengths,
        loss: &dyn ScoreLoss,
        tau: f64,
    ) -> Self {
        let curvature = loss.curvature();
        let slope = loss.slope_squared(tau * lengths.longest).sqrt();
        let (mut scores, mut counted) = (0.0f64, Vec::new());
        let mut row = |i: usize| {
            let (columns, values) = rows.row(i);
            let length = norm(values);
            // the unit comes first, so that no square of a length overflows before it
            let of_scores = UNIT * (values.len() + 2) as f64 * length;
            scores = scores.max(of_scores);
            counted.clear();
            counted.extend(columns.iter().zip(values).map(|(&j, value)| {
                UNIT * (OF_A_LOSS + rows.entries_in_column(j as usize) as f64) * value
            }));
            curvature * tau * of_scores * length + slope * norm(&counted)
        };
        let in_gradient = (0..rows.rows()).map(&mut row).collect();
        Sums { scores, in_gradient }
    }
}

impl KnownRounding for RobustMulticlass {
    /// The scores of row `i`, of `m_i` entries, err by a vector of length at most `m_i u tau |a_i|`, for `X` is no longer than
    /// `tau`; losses are at most `L = loss(0) + q tau max|a_i|` with slopes of length `q`. An entry of the gradient in column `j`, which
    /// has `N_j` entries, is the sum `sum_i p_i q_ic a_ij` over the rows that have one, with `p` the weights of the rows:
    ///
    /// ```text
    /// value     s (q max (m_i + 2) u tau|a_i| + 24 u (L + S)) + (a sum of n products) + 16 u (|penalty| + 2 max |its slopes|)
    /// grad_x    s u sum_i p_i (c tau (m_i + 2) |a_i|^2 + q |((24 + N_j) a_ij)_j|)
    /// grad_y    as one term of the value, in every entry
    /// ```
    ///
    /// A probability `p` is the exponential of a number that rounds by a share of itself, `|ln p|`; and `p |ln p| < 1/2`.
    fn rounding(&self, at: PreparedImage<'_>, y: &[f64], _reach: [f64; 2]) -> Rounding {
        let (n, dim) = (self.labels.len(), y.len() as f64);
        let longest = self.lengths.longest;
        let score = self.settings.tau * longest;
        let score_error = self.settings.tau * self.sums.scores;
        let slope = self.slope_squared().sqrt();
        let of_a_loss = slope * score_error + OF_A_LOSS * UNIT * (self.largest_loss() + score);
        let penalty = self.uncertainty.value(y).abs();
        let steepest = self.steepest_penalty(y);
        let of_penalty = OF_THE_PENALTY * UNIT;
        let sums = sum_rounding(n) * (self.mean_loss(at, y).abs() + 2.0 * penalty);
        let in_gradient = self.with_row_weights(y, |weights| dot(weights, &self.sums.in_gradient));
        Rounding {
            value: self.weight * of_a_loss + sums + of_penalty * (penalty + 2.0 * steepest),
            grad_x: 1.001 * self.weight * in_gradient.abs(),
            grad_y: dim.sqrt() * (self.weight * of_a_loss + of_penalty * steepest),
            steepest_x: 1.001 * self.weight * longest * slope,
            steepest_y: self.steepest(steepest),
        }
    }

    fn steepest_y(&self, _at: PreparedImage<'_>, y: &[f64], _reach: [f64; 2]) -> f64 {
        self.steepest(self.steepest_penalty(y))
    }
}

impl RobustMulticlass {
    /// The loss of a row at the most.
    fn largest_loss(&self) -> f64 {
        let score = self.settings.tau * self.lengths.longest;
        self.loss.at_zero(self.classes()) + self.slope_squared().sqrt() * score
    }

    /// The largest slope of the penalty.
    fn steepest_penalty(&self, y: &[f64]) -> f64 {
        self.scratch.with(y.len(), |slopes| {
            self.uncertainty.slopes(y, slopes);
            max_abs(slopes)
        })
    }

    /// The largest slope in `y`, with the largest one of the penalty.
    fn steepest(&self, of_penalty: f64) -> f64 {
        1.001 * (self.weight * self.largest_loss() + of_penalty)
    }
}
