//! Losses of a residual: what a row costs whose score misses its target by so much.

use crate::model::choice::{Choice, Tabled};
use std::sync::Arc;

/// The losses of residuals that can be chosen by name, at their default parameters.
pub const RESIDUAL_LOSSES: &[ResidualLossChoice] = &[
    Choice::new("squared", |_| Arc::new(Squared)),
    Choice::new("huber", |threshold| Arc::new(Huber { threshold })),
];

/// A loss of residuals that can be chosen by name: a line of [`RESIDUAL_LOSSES`].
///
/// ```
/// use couloir::model::loss::{Huber, ResidualLoss, ResidualLossChoice};
/// let huber = "huber".parse::<ResidualLossChoice>()?.loss(2.0);
/// assert_eq!(huber.at(3.0), (4.0, 2.0));
/// assert!("cubic".parse::<ResidualLossChoice>().is_err());
/// # Ok::<(), couloir::Error>(())
/// ```
pub type ResidualLossChoice = Choice<MakeResidualLoss>;

/// How the loss of a [`ResidualLossChoice`] is made, from the residual at which it turns linear where it does.
pub type MakeResidualLoss = fn(f64) -> Arc<dyn ResidualLoss>;

impl Tabled for MakeResidualLoss {
    const SETTING: &'static str = "loss";
    const TABLE: &'static [ResidualLossChoice] = RESIDUAL_LOSSES;
}

impl ResidualLossChoice {
    /// The loss. `threshold` is the residual at which the Huber loss turns linear; the squared loss has none.
    #[must_use]
    pub fn loss(&self, threshold: f64) -> Arc<dyn ResidualLoss> {
        (self.make)(threshold)
    }
}

/// A convex loss of one number, the residual.
///
/// What `Debug` prints must tell the loss from every other, its parameters included: checkpoints note it.
pub trait ResidualLoss: Send + Sync + std::fmt::Debug {
    /// The name by which it is chosen.
    fn name(&self) -> &'static str;

    /// Loss and derivative at a residual.
    fn at(&self, residual: f64) -> (f64, f64);

    /// `loss(to) - loss(from) - loss'(from) (to - from)`, without cancellation.
    fn bend(&self, from: f64, to: f64) -> f64;

    /// A bound of the second derivative.
    fn curvature(&self) -> f64;

    /// Whether [`at`](Self::at) rounds by no more than shares of what it returns: a residual that is off by `2^-53` of itself, and the
    /// operations of `at`, may change the loss and the size of the derivative by `6 * 2^-53` of themselves at the most, and losses are at least
    /// zero. Certificates are then charged with what the numbers at hand round by, and with an estimate otherwise.
    fn rounds_by_shares(&self) -> bool {
        false
    }

    /// Writes losses and derivatives of many residuals `scores - targets`.
    fn prepare(&self, scores: &[f64], targets: &[f64], losses: &mut [f64], slopes: &mut [f64]) {
        for (((s, t), l), q) in scores.iter().zip(targets).zip(losses).zip(slopes) {
            (*l, *q) = self.at(s - t);
        }
    }

    /// Fails for parameters that make no sense.
    ///
    /// # Errors
    /// The first such parameter.
    fn check(&self) -> crate::Result<()> {
        Ok(())
    }
}

/// `r^2/2`.
#[derive(Clone, Copy, Debug)]
pub struct Squared;

impl ResidualLoss for Squared {
    fn name(&self) -> &'static str {
        "squared"
    }

    fn at(&self, residual: f64) -> (f64, f64) {
        (0.5 * residual * residual, residual)
    }

    fn bend(&self, from: f64, to: f64) -> f64 {
        0.5 * (to - from) * (to - from)
    }

    fn curvature(&self) -> f64 {
        1.0
    }

    /// A residual, a square.
    fn rounds_by_shares(&self) -> bool {
        true
    }
}

/// `r^2/2` up to `|r| = threshold`, and linear from there on.
#[derive(Clone, Copy, Debug)]
pub struct Huber {
    /// Where it turns linear.
    pub threshold: f64,
}

impl ResidualLoss for Huber {
    fn name(&self) -> &'static str {
        "huber"
    }

    fn at(&self, residual: f64) -> (f64, f64) {
        let inner = residual.clamp(-self.threshold, self.threshold);
        (inner * (residual - 0.5 * inner), inner)
    }

    /// With the derivative `c(r)`, which is r cut off at the threshold, the integral of `c(r) - c(from)` from `from` to `to`:
    /// `c` moves from `c(from)` to `c(to)` at slope 1 and stays there for the rest of the way.
    fn bend(&self, from: f64, to: f64) -> f64 {
        let cut = |r: f64| r.clamp(-self.threshold, self.threshold);
        let (a, b) = (cut(from), cut(to));
        let rise = b - a;
        0.5 * rise * rise + rise * (to - b)
    }

    fn curvature(&self) -> f64 {
        1.0
    }

    /// `|l'(r) r| <= 2 l(r)`, a difference of a number and at most half of it, and a product.
    fn rounds_by_shares(&self) -> bool {
        true
    }

    fn check(&self) -> crate::Result<()> {
        crate::error::check_positive("the threshold of the Huber loss", self.threshold)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_are_derivatives_and_bends_are_differences() {
        let losses: [&dyn ResidualLoss; 3] =
            [&Squared, &Huber { threshold: 1.0 }, &Huber { threshold: 0.3 }];
        for loss in losses {
            for i in -20..=20 {
                let r = 0.17 * f64::from(i) + 0.01;
                let (value, slope) = loss.at(r);
                let h = 1e-6;
                let difference = (loss.at(r + h).0 - loss.at(r - h).0) / (2.0 * h);
                assert!((slope - difference).abs() < 1e-6, "{loss:?} at {r}");
                for j in -20..=20 {
                    let t = 0.17 * f64::from(j) - 0.03;
                    let bend = loss.at(t).0 - value - slope * (t - r);
                    let exact = loss.bend(r, t);
                    assert!((exact - bend).abs() < 1e-14 && exact >= 0.0, "{loss:?}: {r} to {t}");
                    assert!(exact <= 0.5 * loss.curvature() * (t - r).powi(2) + 1e-15);
                }
            }
        }
        assert!(
            Huber { threshold: 0.0 }.check().is_err()
                && Huber { threshold: f64::NAN }.check().is_err()
        );
    }
}
