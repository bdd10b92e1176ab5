//! The best lower bound of `min_x max_y f` that the gradients computed so far can give.
//!
//! A gradient at `(z, y)` is a linear minorant of `f(., y)`, and by concavity in `y` a convex combination of
//! minorants is one of `f(., ybar)` at the same combination of the `y`'s. Its least value over X, one
//! linear minimisation, is a lower bound: a concave function of the weights. The average of the theorem has
//! fixed weights and forgets early minorants slowly; here each new minorant is mixed in with
//! the weight that is best for it.

use super::points::{Gradient, Slope};
use crate::domain::{Confidence, MixGoal, Mixture};
use crate::error::{Block, Result};
use crate::linalg::step_toward;
use crate::oracles::Oracles;
use crate::state::Archive;

/// `f(u, y) >= constant + <slope, u>` for all `u` in X.
#[derive(Clone, Copy)]
pub(super) struct Minorant<'a> {
    pub slope: Gradient<'a>,
    pub constant: f64,
    pub y: &'a [f64],
}

/// A combination of minorants and the bound that it gives.
pub(super) struct LowerBound {
    slope: Slope,
    constant: f64,
    /// The `y` whose `f(., y)` is bounded.
    pub y: Vec<f64>,
    /// `min_u constant + <slope, u>`, less the rounding.
    pub value: f64,
    pub confidence: Confidence,
    /// The weight to try first.
    guess: f64,
    /// Whether the slope is what the last search found.
    found: bool,
}

impl LowerBound {
    pub fn new(slope: Slope, dim_y: usize) -> Self {
        LowerBound {
            slope,
            constant: 0.0,
            y: vec![0.0; dim_y],
            value: f64::NEG_INFINITY,
            confidence: Confidence::Exact,
            guess: 0.5,
            found: false,
        }
    }

    pub fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.nested("slope", |archive| self.slope.state(archive))?;
        archive.number("constant", &mut self.constant)?;
        archive.numbers("y", &mut self.y)?;
        archive.number("value", &mut self.value)?;
        archive.nested("confidence", |archive| self.confidence.state(archive))?;
        archive.magnitude("guess", &mut self.guess)?;
        self.guess = self.guess.min(1.0);
        archive.flag("found", &mut self.found)
    }

    /// Goes on with vectors.
    pub fn become_vector(&mut self, oracles: &mut Oracles<'_>) -> Result<()> {
        self.found = false;
        self.slope.become_vector(oracles)
    }

    /// Takes this minorant, whose bound is `value`, in place of the combination.
    pub fn take(&mut self, slope: &Slope, constant: f64, y: &[f64], value: f64) {
        self.slope.copy_from(slope);
        self.constant = constant;
        self.y.copy_from_slice(y);
        self.value = value;
        self.found = false;
    }

    /// Mixes a minorant in with the weight that raises the bound most, as far as that may raise it by
    /// more than `worth`.
    pub fn absorb(
        &mut self,
        oracles: &mut Oracles<'_>,
        new: Minorant<'_>,
        rounding: f64,
        worth: f64,
    ) -> Result<()> {
        if self.value == f64::NEG_INFINITY {
            self.slope.set(new.slope);
            let minimum = self.slope.support(oracles)?;
            self.confidence = self.confidence.and(minimum.confidence);
            self.constant = new.constant;
            self.y.copy_from_slice(new.y);
            self.value = new.constant + minimum.lower - rounding;
            self.found = false;
            return Ok(());
        }
        let goal = MixGoal {
            from_constant: self.constant - rounding,
            to_constant: new.constant - rounding,
            known: self.value,
            guess: self.guess,
            worth,
        };
        let Mixture { weight, lower, confidence, .. } =
            self.slope.mix(oracles, goal, self.found, new.slope)?;
        self.confidence = self.confidence.and(confidence);
        self.found = true;
        self.guess = if weight > 0.0 { weight } else { (0.5 * self.guess).max(1e-3) };
        if weight > 0.0 {
            self.constant += weight * (new.constant - self.constant);
            step_toward(weight, new.y, &mut self.y);
            oracles.repair(Block::Y, &mut self.y);
            self.value = lower;
        }
        Ok(())
    }
}
