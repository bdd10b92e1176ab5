//! Losses on scores: what a row costs whose `h` scores and label are known, or whose score misses its target by so much.

mod multinomial_logistic;
mod of_targets;
mod residual;
mod smoothed_hinge;

pub use multinomial_logistic::MultinomialLogistic;
pub use of_targets::TargetLoss;
pub use residual::{
    Huber, MakeResidualLoss, RESIDUAL_LOSSES, ResidualLoss, ResidualLossChoice, Squared,
};
pub use smoothed_hinge::SmoothedHinge;

use super::choice::{Choice, Tabled};
use crate::error::{Error, Result};
use crate::linalg::Rows;
use std::sync::Arc;

/// The losses that a fit can choose by name.
pub const LOSSES: &[LossChoice] = &[
    Choice::new("logistic", || Arc::new(MultinomialLogistic)),
    Choice::new("hinge", || Arc::new(SmoothedHinge)),
];

/// A loss that a fit can choose by name: a line of [`LOSSES`].
///
/// ```
/// use couloir::model::loss::LossChoice;
/// assert_eq!("logistic".parse::<LossChoice>()?, LossChoice::default());
/// assert!("linear".parse::<LossChoice>().is_err());
/// # Ok::<(), couloir::Error>(())
/// ```
pub type LossChoice = Choice<MakeLoss>;

/// How the loss of a [`LossChoice`] is made.
pub type MakeLoss = fn() -> Arc<dyn ScoreLoss>;

impl Tabled for MakeLoss {
    const SETTING: &'static str = "loss";
    const TABLE: &'static [LossChoice] = LOSSES;
}

impl LossChoice {
    /// The loss.
    #[must_use]
    pub fn loss(&self) -> Arc<dyn ScoreLoss> {
        (self.make)()
    }
}

/// A convex loss of a row's scores. Kernels take many rows at once. The label of a row is its class, or what else the loss knows
/// it by: its number among [targets](TargetLoss).
///
/// What `Debug` prints must tell the loss from every other, its parameters included: checkpoints note it.
pub trait ScoreLoss: Send + Sync + std::fmt::Debug {
    /// The name by which a fit chooses it.
    fn name(&self) -> &'static str;

    /// Fails for labels that are none of `h` scores: unless a loss says otherwise, these are classes, of which there must be two.
    ///
    /// # Errors
    /// The first such label.
    fn check(&self, labels: &[u32], h: usize) -> Result<()> {
        if h < 2 {
            let why = format!("at least two are needed, got {h}");
            return Err(Error::Setting { name: "classes", why });
        }
        if let Some(i) = labels.iter().position(|&b| b as usize >= h) {
            let why = format!("label {i} is {}; there are {h} classes", labels[i]);
            return Err(Error::Setting { name: "labels", why });
        }
        Ok(())
    }

    /// A bound of the largest eigenvalue of the Hessian in the scores of a row.
    fn curvature(&self) -> f64;

    /// A bound of the squared length of a row's slopes, as long as its scores are no longer than `longest`.
    fn slope_squared(&self, longest: f64) -> f64;

    /// The loss of a row whose `h` scores are zero, at the most.
    fn at_zero(&self, h: usize) -> f64;

    /// Writes the loss of every row of `h` scores and its gradient, the slopes.
    fn prepare(
        &self,
        scores: &[f64],
        labels: &[u32],
        h: usize,
        losses: &mut [f64],
        slopes: &mut [f64],
    );

    /// The same for scores of which `fill(start, piece)` writes the piece from `start` on: quicker than one after the
    /// other if a piece is prepared while it is in the processor's cache.
    fn prepare_filled(
        &self,
        fill: &(dyn Fn(usize, &mut [f64]) + Sync),
        labels: &[u32],
        h: usize,
        scores: &mut [f64],
        losses: &mut [f64],
        slopes: &mut [f64],
    ) {
        fill(0, scores);
        self.prepare(scores, labels, h, losses, slopes);
    }

    /// The weighted sum over some rows of how far the loss bends from one point to another, and a bound of its
    /// rounding.
    fn bend(
        &self,
        from: Rows<'_>,
        to: Rows<'_>,
        labels: &[u32],
        h: usize,
        weights: &[f64],
    ) -> (f64, f64);
}
