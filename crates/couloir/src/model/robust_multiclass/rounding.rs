//! Bounds of the rounding in values and gradients of the robust model, from the lengths of its rows.

use super::RobustMulticlass;
use crate::problem::{KnownRounding, PreparedImage, Rounding};

/// Roundings of a loss or of a slope with its weight, beyond those of the scores: exponentials, a logarithm, a few products.
const OF_A_LOSS: f64 = 24.0;
/// Roundings of a slope of the penalty.
const OF_THE_PENALTY: f64 = 16.0;

impl KnownRounding for RobustMulticlass {
    /// Row `i` has scores of at most `S = tau max_i |a_i|`, which err by `m u S` for rows of at most `m` entries; hence losses of at
    /// most `L = loss(0) + q S` with slopes of length `q`. Weights add up to one, so a mean over rows errs as one row does:
    ///
    /// ```text
    /// value     s (q m u S + (24 + n/16) u (L + S)) + 16 u (|penalty| + 2 max |its slopes|)
    /// grad_x    s max|a_i| (c sqrt(h) m u S + (24 + n) u q (1 + S))        n terms in a column of A at the most
    /// grad_y    as the value, in every entry
    /// ```
    fn rounding(&self, _at: PreparedImage<'_>, y: &[f64], _reach: f64) -> Rounding {
        let (h, n, dim) = (self.classes() as f64, self.labels.len(), y.len() as f64);
        let longest = self.lengths.longest;
        let unit = f64::EPSILON;
        let score = self.settings.tau * longest;
        let score_error = unit * (self.lengths.most_entries as f64) * score;
        let slope = self.slope_squared().sqrt();
        let largest = self.loss.at_zero(self.classes()) + slope * score;
        let in_sums = OF_A_LOSS + (n as f64 / 16.0).min(1100.0);
        let of_a_loss = slope * score_error * h.sqrt() + in_sums * unit * (largest + score);
        let penalty = self.uncertainty.value(y).abs();
        let steepest = self.scratch.with(y.len(), |slopes| {
            self.uncertainty.slopes(y, slopes);
            slopes.iter().fold(0.0f64, |most, slope| most.max(slope.abs()))
        });
        let of_penalty = OF_THE_PENALTY * unit;
        let in_slope = self.loss.curvature() * h.sqrt() * score_error
            + (OF_A_LOSS + n as f64) * unit * slope * (1.0 + score);
        Rounding {
            value: self.weight * of_a_loss + of_penalty * (penalty + 2.0 * steepest),
            grad_x: self.weight * longest * in_slope,
            grad_y: dim.sqrt() * (self.weight * of_a_loss + of_penalty * steepest),
            steepest_y: 1.001 * (self.weight * largest + steepest),
        }
    }
}
