//! The best lower bound of `min_x max_y f` that the gradients computed so far can give.
//!
//! A gradient at `(z, y)` is a linear minorant of `f(., y)`, and by concavity in `y` a convex combination of
//! minorants is one of `f(., ybar)` at the same combination of the `y`'s. Its least value over X, one
//! linear minimisation, is a lower bound: a concave function of the weights. The average of the theorem has
//! fixed weights and forgets early minorants slowly; here each new minorant is mixed in with
//! the weight that is best for it.

use super::points::{Gradient, Slope};
use crate::domain::{MixGoal, Mixture};
use crate::error::{Block, Result};
use crate::linalg::{step_toward, sum_abs};
use crate::oracles::Oracles;
use crate::problem::PointX;
use crate::state::Archive;

/// `f(u, y) >= constant + <slope, u> - error` for all `u` in X.
#[derive(Clone, Copy)]
pub(super) struct Minorant<'a> {
    pub slope: Gradient<'a>,
    pub numbers: Numbers,
    pub y: &'a [f64],
}

/// The numbers of a minorant or of a mixture of minorants.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Numbers {
    pub constant: f64,
    /// What rounding may have moved the minorant by, anywhere in X: of the value, of the gradient, and of mixing.
    pub error: f64,
    /// A bound of the length of the slope.
    pub length: f64,
}

impl Numbers {
    /// Moves towards other numbers, as constants, slopes and `y` do: a mixture errs as its parts do, and once more.
    pub fn step(&mut self, oracles: &Oracles<'_>, weight: f64, to: &Numbers) {
        let mixing = oracles.rounding_of_mixing(self.constant, self.length)
            + oracles.rounding_of_mixing(to.constant, to.length);
        self.constant += weight * (to.constant - self.constant);
        self.error = (1.0 - weight) * self.error + weight * to.error + mixing;
        self.length = ((1.0 - weight) * self.length + weight * to.length) * (1.0 + 1e-12);
    }

    /// What is charged to `constant + min <slope, .>`.
    pub fn charge(&self, oracles: &Oracles<'_>) -> f64 {
        self.error + oracles.rounding_of_minimum(self.constant, self.length)
    }

    pub fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.number("constant", &mut self.constant)?;
        archive.number("error", &mut self.error)?;
        archive.number("length", &mut self.length)
    }
}

/// A mixture of `y`s, and the rounding in it: how far all entries together may be from those of the exact mixture.
#[derive(Clone, Debug)]
pub(super) struct MixedY {
    pub y: Vec<f64>,
    rounding: f64,
}

impl MixedY {
    pub fn new(y: Vec<f64>) -> Self {
        MixedY { y, rounding: 0.0 }
    }

    /// Moves towards another `y`.
    pub fn step(&mut self, weight: f64, to: &[f64]) {
        let before = sum_abs(&self.y);
        step_toward(weight, to, &mut self.y);
        let after =
            2.0 * f64::EPSILON * (before.max(sum_abs(&self.y)) + 2.0 * weight * sum_abs(to));
        self.rounding = (1.0 - weight) * self.rounding + after;
    }

    pub fn set(&mut self, y: &[f64]) {
        self.y.copy_from_slice(y);
        self.rounding = 0.0;
    }

    pub fn copy_from(&mut self, other: &MixedY) {
        self.y.copy_from_slice(&other.y);
        self.rounding = other.rounding;
    }

    /// What `f(u, .)` may lose between the exact mixture and the numbers that are kept, for every `u` of X.
    pub fn charge(&self, oracles: &Oracles<'_>, x: &PointX) -> f64 {
        // room for a repair of the mixture, which moves it no further than rounding did, and the way from there to a member
        let way = 2.0 * self.rounding + oracles.slack_of_y();
        if way == 0.0 {
            return 0.0;
        }
        way * oracles.steepest_y(x, &self.y)
    }

    pub fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.numbers("y", &mut self.y)?;
        archive.number("rounding", &mut self.rounding)
    }
}

/// A combination of minorants and the bound that it gives.
pub(super) struct LowerBound {
    slope: Slope,
    numbers: Numbers,
    /// The `y` whose `f(., y)` is bounded.
    pub mixed: MixedY,
    /// `min_u constant + <slope, u>`, less what is charged for rounding but for that of `y`.
    pub value: f64,
    /// The weight to try first.
    guess: f64,
    /// Whether the slope is what the last search found.
    found: bool,
}

impl LowerBound {
    pub fn new(slope: Slope, dim_y: usize) -> Self {
        LowerBound {
            slope,
            numbers: Numbers::default(),
            mixed: MixedY::new(vec![0.0; dim_y]),
            value: f64::NEG_INFINITY,
            guess: 0.5,
            found: false,
        }
    }

    pub fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.nested("slope", |archive| self.slope.state(archive))?;
        archive.nested("numbers", |archive| self.numbers.state(archive))?;
        archive.nested("mixed", |archive| self.mixed.state(archive))?;
        archive.number("value", &mut self.value)?;
        archive.magnitude("guess", &mut self.guess)?;
        self.guess = self.guess.min(1.0);
        archive.flag("found", &mut self.found)
    }

    /// Goes on with vectors.
    pub fn become_vector(&mut self, oracles: &mut Oracles<'_>) -> Result<()> {
        self.found = false;
        self.slope.become_vector(oracles)
    }

    /// The same minorant for a function that is larger by `shift` at the mixed `y`.
    pub fn shift(&mut self, shift: f64) {
        let rounding = 4.0 * f64::EPSILON * (self.numbers.constant.abs() + shift.abs());
        self.numbers.constant += shift;
        self.numbers.error += rounding;
        self.value += shift - rounding;
    }

    /// Takes this minorant, whose bound is `value`, in place of the combination.
    pub fn take(&mut self, slope: &Slope, numbers: Numbers, y: &MixedY, value: f64) {
        self.slope.copy_from(slope);
        self.numbers = numbers;
        self.mixed.copy_from(y);
        self.value = value;
        self.found = false;
    }

    /// The same for a single minorant.
    pub fn replace(&mut self, minorant: Minorant<'_>, value: f64) {
        self.slope.set(minorant.slope);
        self.numbers = minorant.numbers;
        self.mixed.set(minorant.y);
        self.value = value;
        self.found = false;
    }

    /// Mixes a minorant in with the weight that raises the bound most, as far as that may raise it by
    /// more than `worth`.
    pub fn absorb(
        &mut self,
        oracles: &mut Oracles<'_>,
        new: Minorant<'_>,
        worth: f64,
    ) -> Result<()> {
        if self.value == f64::NEG_INFINITY {
            self.slope.set(new.slope);
            let minimum = self.slope.support(oracles)?;
            self.numbers = new.numbers;
            self.mixed.set(new.y);
            self.value = new.numbers.constant + minimum.lower - new.numbers.charge(oracles);
            self.found = false;
            return Ok(());
        }
        let goal = MixGoal {
            from_constant: self.numbers.constant - self.numbers.charge(oracles),
            to_constant: new.numbers.constant - new.numbers.charge(oracles),
            known: self.value,
            guess: self.guess,
            worth,
        };
        let Mixture { weight, lower, .. } = self.slope.mix(oracles, goal, self.found, new.slope)?;
        self.found = true;
        self.guess = if weight > 0.0 { weight } else { (0.5 * self.guess).max(1e-3) };
        if weight > 0.0 {
            self.numbers.step(oracles, weight, &new.numbers);
            self.mixed.step(weight, new.y);
            oracles.repair(Block::Y, &mut self.mixed.y);
            self.value = lower;
        }
        Ok(())
    }
}
