//! The multinomial logistic loss, `log sum_j exp(s_j) - s_b`; its kernels are in `linalg`.

use super::ScoreLoss;
use crate::linalg::{Rows, bend, softmax_filled, softmax_losses};

/// The multinomial logistic loss.
#[derive(Clone, Copy, Debug)]
pub struct MultinomialLogistic;

impl ScoreLoss for MultinomialLogistic {
    fn name(&self) -> &'static str {
        "logistic"
    }

    /// `|softmax'| <= 1/2`.
    fn curvature(&self) -> f64 {
        0.5
    }

    /// `|p - e_b|^2 <= 2`.
    fn slope_squared(&self, _longest: f64) -> f64 {
        2.0
    }

    fn at_zero(&self, h: usize) -> f64 {
        (h as f64).ln()
    }

    fn prepare(
        &self,
        scores: &[f64],
        labels: &[u32],
        h: usize,
        losses: &mut [f64],
        slopes: &mut [f64],
    ) {
        softmax_losses(scores, labels, h, losses, slopes);
    }

    fn prepare_filled(
        &self,
        fill: &(dyn Fn(usize, &mut [f64]) + Sync),
        labels: &[u32],
        h: usize,
        scores: &mut [f64],
        losses: &mut [f64],
        slopes: &mut [f64],
    ) {
        softmax_filled(fill, labels, h, scores, losses, slopes);
    }

    fn bend(
        &self,
        from: Rows<'_>,
        to: Rows<'_>,
        labels: &[u32],
        h: usize,
        weights: &[f64],
    ) -> (f64, f64) {
        bend(from, to, labels, h, weights)
    }
}
