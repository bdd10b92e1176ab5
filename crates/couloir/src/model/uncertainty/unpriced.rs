//! Sets of weights around the nominal ones, from which the adversary chooses without a price: CVaR and balls.

use super::{Moduli, RowWeights, Uncertainty};
use crate::domain::{Domain, Reweighting};
use crate::error::Result;
use crate::linalg::accurate_sum;
use crate::problem::Measured;
use crate::state::{Digest, Fingerprint};

/// The weights of a set around the nominal ones, all at the same price. The objective is linear in them, so it has no modulus of
/// strong concavity.
#[derive(Clone, Debug)]
pub struct Unpriced {
    name: &'static str,
    set: Reweighting,
}

impl Unpriced {
    /// Conditional value at risk: `p_i <= q_i/alpha`, so that the worst share `alpha` of the rows counts.
    ///
    /// # Errors
    /// As [`Reweighting::capped`].
    pub fn cvar(q: Vec<f64>, alpha: f64) -> Result<Self> {
        Ok(Unpriced { name: "cvar", set: Reweighting::capped(q, alpha)? })
    }

    /// `sum (p_i - q_i)^2/q_i <= rho`.
    ///
    /// # Errors
    /// As [`Reweighting::chi_square`].
    pub fn chi_square_ball(q: Vec<f64>, rho: f64) -> Result<Self> {
        Ok(Unpriced { name: "chi2-ball", set: Reweighting::chi_square(q, rho)? })
    }

    /// `sum p_i log(p_i/q_i) <= rho`.
    ///
    /// # Errors
    /// As [`Reweighting::kullback_leibler`].
    pub fn kl_ball(q: Vec<f64>, rho: f64) -> Result<Self> {
        Ok(Unpriced { name: "kl-ball", set: Reweighting::kullback_leibler(q, rho)? })
    }

    /// `1/2 sum |p_i - q_i| <= rho`.
    ///
    /// # Errors
    /// As [`Reweighting::total_variation`].
    pub fn tv_ball(q: Vec<f64>, rho: f64) -> Result<Self> {
        Ok(Unpriced { name: "tv-ball", set: Reweighting::total_variation(q, rho)? })
    }
}

impl Uncertainty for Unpriced {
    fn name(&self) -> &'static str {
        self.name
    }

    fn y_set(&self) -> &dyn Domain {
        &self.set
    }

    fn row_weights(&self) -> RowWeights {
        RowWeights::PerRow
    }

    fn value(&self, _y: &[f64]) -> f64 {
        0.0
    }

    fn slopes(&self, _y: &[f64], out: &mut [f64]) {
        out.fill(0.0);
    }

    fn largest_term(&self, _y: &[f64]) -> Option<f64> {
        Some(0.0)
    }

    fn best_response(&self, losses: &[f64], room: &mut [f64], y: &mut [f64]) -> f64 {
        self.set.best(losses, room, y)
    }

    fn change(&self, losses: &[f64], from: &[f64], to: &[f64]) -> Measured {
        // both sum to 1, so a common part of the losses cancels
        let shift = accurate_sum(losses.iter().zip(to).map(|(l, y)| l * y));
        let (mut value, mut size, mut drift) = (0.0, 0.0, 0.0);
        for i in 0..from.len() {
            let step = to[i] - from[i];
            value += (losses[i] - shift) * step;
            drift += step;
            size += (losses[i].abs() + shift.abs()) * step.abs();
        }
        Measured { value, rounding: 4.0 * f64::EPSILON * size + (shift * drift).abs() }
    }

    fn moduli(&self) -> Moduli {
        Moduli { mu: None, lyy: None }
    }

    fn fingerprint(&self, print: &mut Fingerprint) {
        print.note("level", self.set.level());
        let mut digest = Digest::default();
        digest.numbers(self.set.nominal());
        print.note("nominal weights (SHA-256)", digest.name());
    }
}
