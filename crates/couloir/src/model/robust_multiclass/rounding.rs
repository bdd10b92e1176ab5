//! Bounds of the rounding in values and gradients of the robust model, from the lengths of its rows.

use super::RobustMulticlass;
use crate::linalg::spectral::max_abs;
use crate::linalg::sum_rounding;
use crate::problem::{KnownRounding, PreparedImage, Rounding, SaddleProblem};

/// Roundings of a loss or of a slope with its weight, beyond those of the scores: exponentials, a logarithm, a few products.
const OF_A_LOSS: f64 = 24.0;
/// Roundings of a slope of the penalty.
const OF_THE_PENALTY: f64 = 16.0;

impl KnownRounding for RobustMulticlass {
    /// Row `i` has scores of at most `S = tau max_i |a_i|`, which err by `m u S` for rows of at most `m` entries; hence losses of at
    /// most `L = loss(0) + q S` with slopes of length `q`. Weights add up to one, so a mean over rows errs as one row does:
    ///
    /// ```text
    /// value     s (q sqrt(h) m u S + 24 u (L + S)) + (a sum of n products) + 16 u (|penalty| + 2 max |its slopes|)
    /// grad_x    s max|a_i| (c sqrt(h) m u S + (24 + n) u q)        n terms in a column of A at the most
    /// grad_y    as one term of the value, in every entry
    /// ```
    ///
    /// A probability `p` is the exponential of a number that rounds by a share of itself, `|ln p|`; and `p |ln p| < 1/2`.
    fn rounding(&self, at: PreparedImage<'_>, y: &[f64], _reach: [f64; 2]) -> Rounding {
        let (h, n, dim) = (self.classes() as f64, self.labels.len(), y.len() as f64);
        let longest = self.lengths.longest;
        let unit = 0.5 * f64::EPSILON;
        let score = self.settings.tau * longest;
        let score_error = unit * (self.lengths.most_entries + 2) as f64 * score * h.sqrt();
        let slope = self.slope_squared().sqrt();
        let largest = self.largest_loss();
        let of_a_loss = slope * score_error + OF_A_LOSS * unit * (largest + score);
        let penalty = self.uncertainty.value(y).abs();
        let steepest = self.steepest_penalty(y);
        let of_penalty = OF_THE_PENALTY * unit;
        let sums = sum_rounding(n) * (self.value(at, y).abs() + penalty);
        let in_slope = self.loss.curvature() * score_error + (OF_A_LOSS + n as f64) * unit * slope;
        Rounding {
            value: self.weight * of_a_loss + sums + of_penalty * (penalty + 2.0 * steepest),
            grad_x: self.weight * longest * in_slope,
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
