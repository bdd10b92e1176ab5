//! Bounds of the rounding in values and gradients of robust completion, from the residuals at hand.

use super::{MatrixMeasurements, RobustCompletion};
use crate::linalg::spectral::max_abs;
use crate::linalg::{norm, sum_rounding};
use crate::model::loss::ResidualLoss;
use crate::model::uncertainty::RowWeights;
use crate::problem::{KnownRounding, PreparedImage, Rounding};

/// Half a unit in the last place.
const UNIT: f64 = 0.5 * f64::EPSILON;
/// Roundings of a loss and of its derivative that a loss with a promise has at the most, besides that of the residual's measurement.
const OF_A_LOSS: f64 = 6.0;
/// Roundings of a term of a gradient beyond those of a derivative: the weight of a row and two products.
const OF_A_TERM: f64 = 3.0;
/// Roundings of the penalty and its slopes, as shares of the terms of a slope.
const OF_THE_PENALTY: f64 = 64.0;
/// What is left for terms of second order and for the rounding of the bounds themselves.
const ROOM: f64 = 1.001;

/// Bounds of the rounding of measurements and of their adjoint, for matrices whose nuclear norm is bounded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasurementRounding {
    /// The error of a measurement at the most.
    pub image: f64,
    /// How many roundings an entry of an adjoint product `A^T s` goes through: the error is no longer than so many units of rounding
    /// (2^-53) times the Frobenius norm of the sums of the magnitudes.
    pub roundings: f64,
    /// The Frobenius norm of the matrix that the longest measurement multiplies by.
    pub longest: f64,
}

/// What is known of the rounding before any point is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Promise {
    measurements: MeasurementRounding,
    /// A bound of the length of `sum_i |s_i| |A_i|` for `|s| = 1`.
    norm: f64,
    /// A bound of all losses over the ball.
    largest_loss: f64,
    /// How far a derivative may be from the one at a member of the ball: by the measurement, and the way of a repair.
    way: f64,
}

impl Promise {
    /// None where the loss or the measurements promise nothing.
    pub fn new(
        loss: &dyn ResidualLoss,
        measurements: &dyn MatrixMeasurements,
        targets: &[f64],
        tau: f64,
    ) -> Option<Promise> {
        let known = measurements.rounding_within(tau)?;
        if !loss.rounds_by_shares() {
            return None;
        }
        let residual = ROOM * (max_abs(targets) + measurements.largest(tau));
        // convex, so largest at an end
        let largest_loss = loss.at(residual).0.max(loss.at(-residual).0);
        let (rows, columns) = measurements.shape();
        let repair = (8 + 2 * rows.min(columns)) as f64 * f64::EPSILON * tau * known.longest;
        Some(Promise {
            norm: measurements.squared_norm().sqrt(),
            largest_loss,
            way: loss.curvature() * (known.image + repair),
            measurements: known,
        })
    }
}

impl RobustCompletion {
    /// The largest term of a slope of the penalty, where it is known.
    fn terms_of_penalty(&self, y: &[f64]) -> f64 {
        self.uncertainty.largest_term(y).unwrap_or(f64::INFINITY)
    }
}

impl KnownRounding for RobustCompletion {
    /// With `r` the residuals, `l` and `q` the losses and their derivatives, `w` the weights of the observations, `d` the largest error of a
    /// measurement (0 for observed entries), `N` the longest sum of an adjoint product, `t` the largest term in a slope of the penalty and `c`
    /// the curvature of the loss:
    ///
    /// ```text
    /// value       sum_i w_i l_i (7 u + a sum of n products) + (n u + 64 u) |penalty| + 64 u t + d max|q| + c d^2
    /// grad_x      (N + 9) u |A| |w q| + c d max|A_i|
    /// grad_y      (7 + terms of an entry) u |sums of losses| + sqrt(m) (64 u t + d max|q| + c d^2)
    /// steepest_x  max |q_i| |A_i|, as weights add up to 1, a little more for members of the ball that are as near as a repair goes
    /// steepest_y  the loss of the largest residual in the ball, and t
    /// ```
    fn rounding(&self, at: PreparedImage<'_>, y: &[f64], reach: [f64; 2]) -> Rounding {
        let Some(promise) = &self.promise else { return Rounding::NONE };
        let Promise { measurements, norm: of_adjoint, way, .. } = *promise;
        let (n, dim) = (self.len() as f64, y.len() as f64);
        let (losses, slopes) = at.cache.split_at(self.len());
        let steepest = max_abs(slopes) * (1.0 + OF_A_LOSS * UNIT);
        let curvature = self.loss.curvature();
        let measured = measurements.image;
        let of_image = measured * (steepest + curvature * measured);
        let penalty = self.uncertainty.value(y).abs();
        let of_penalty = OF_THE_PENALTY * UNIT * self.terms_of_penalty(y);
        // products of tiny numbers may vanish
        let vanished = n * f64::MIN_POSITIVE;
        let (mean, in_gradient) = self.scratch.with(self.len(), |room| {
            self.row_weights.with_weights(y, room, |weights| {
                let terms = weights.iter().zip(losses).zip(slopes);
                terms.fold((0.0, 0.0), |(mean, squares), ((w, l), q)| {
                    let term = w * q;
                    (mean + (w * l).abs(), squares + term * term)
                })
            })
        });
        let chain = if self.row_weights == RowWeights::PerRow { 0.0 } else { n };
        let sums =
            self.scratch.with(y.len(), |room| self.row_weights.with_sums(losses, room, norm));
        let own = (OF_A_LOSS + 1.0) * UNIT;
        let in_sums = (n + OF_THE_PENALTY) * UNIT * penalty;
        let value = mean * (own + sum_rounding(self.len())) + in_sums + of_penalty;
        let roundings = measurements.roundings + OF_A_LOSS + OF_A_TERM;
        let grad_x = roundings * UNIT * of_adjoint * in_gradient.sqrt();
        let grad_y = (own + chain * UNIT) * sums + dim.sqrt() * (of_penalty + of_image);
        Rounding {
            value: ROOM * (value + of_image) + vanished,
            grad_x: ROOM * (grad_x + curvature * measured * measurements.longest) + vanished,
            grad_y: ROOM * grad_y + vanished,
            steepest_x: ROOM * measurements.longest * (steepest + way) + vanished,
            steepest_y: self.steepest_y(at, y, reach),
        }
    }

    fn steepest_y(&self, _at: PreparedImage<'_>, y: &[f64], _reach: [f64; 2]) -> f64 {
        let largest = self.promise.as_ref().map_or(f64::INFINITY, |promise| promise.largest_loss);
        ROOM * (largest + self.terms_of_penalty(y))
    }
}
