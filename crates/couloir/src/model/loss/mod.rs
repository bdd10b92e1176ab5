//! Losses on scores: what a row costs whose `h` scores and label are known.

mod multinomial_logistic;

pub use multinomial_logistic::MultinomialLogistic;

use crate::linalg::Rows;
use crate::state::Fingerprint;

/// A convex loss of a row's scores. Kernels take many rows at once.
pub trait ScoreLoss: Send + Sync + std::fmt::Debug {
    /// A bound of the largest eigenvalue of the Hessian in the scores of a row.
    const CURVATURE: f64;

    /// A bound of the squared length of a row's slopes.
    const SLOPE_SQUARED: f64;

    /// The loss of a row whose `h` scores are zero.
    fn at_zero(h: usize) -> f64;

    /// Notes what tells this loss from the others; the multinomial logistic one, which was the first, notes nothing.
    fn fingerprint(print: &mut Fingerprint);

    /// Writes the loss of every row of `h` scores and its gradient, the slopes.
    fn prepare(scores: &[f64], labels: &[u32], h: usize, losses: &mut [f64], slopes: &mut [f64]);

    /// The same for scores of which `fill(start, piece)` writes the piece from `start` on.
    fn prepare_filled(
        fill: &(dyn Fn(usize, &mut [f64]) + Sync),
        labels: &[u32],
        h: usize,
        scores: &mut [f64],
        losses: &mut [f64],
        slopes: &mut [f64],
    );

    /// The weighted sum over some rows of how far the loss bends from one point to another, and a bound of its
    /// rounding.
    fn bend(from: Rows<'_>, to: Rows<'_>, labels: &[u32], h: usize, weights: &[f64]) -> (f64, f64);
}
