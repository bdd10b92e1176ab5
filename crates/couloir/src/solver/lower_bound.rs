//! The best lower bound of `min_x max_y f` that the gradients computed so far can give.
//!
//! A gradient at `(z, y)` is a linear minorant of `f(., y)`, and by concavity in `y` a convex combination of
//! minorants is one of `f(., ybar)` at the same combination of the `y`'s. Its least value over X, one
//! linear minimisation, is a lower bound: a concave function of the weights. The average of the theorem has
//! fixed weights and forgets early minorants slowly; here each new minorant is mixed in with
//! the weight that is best for it.

use crate::domain::Confidence;
use crate::error::{Block, Result};
use crate::linalg::{combine, dot_difference, step_toward};
use crate::problem::Oracles;

/// Linear minimisations that one minorant may cost.
const EVALUATIONS: u32 = 4;

/// `f(u, y) >= constant + <slope, u>` for all `u` in X.
#[derive(Clone, Copy)]
pub(super) struct Minorant<'a> {
    pub slope: &'a [f64],
    pub constant: f64,
    pub y: &'a [f64],
}

/// A combination of minorants and the bound that it gives.
pub(super) struct LowerBound {
    slope: Vec<f64>,
    constant: f64,
    /// The `y` whose `f(., y)` is bounded.
    pub y: Vec<f64>,
    /// `min_u constant + <slope, u>`, less the rounding.
    pub value: f64,
    pub confidence: Confidence,
    /// The weight to try first.
    guess: f64,
    mixed: Vec<f64>,
}

/// A point of the line between the old combination and the new minorant: the bound there and, where it
/// was evaluated, how fast it rises.
#[derive(Clone, Copy)]
struct Cut {
    weight: f64,
    value: f64,
    rise: f64,
}

impl Cut {
    /// Where two cuts meet: the highest that the bound may be between them, as it is concave.
    fn meet(self, other: Cut) -> (f64, f64) {
        let ahead = other.value - other.rise * other.weight - self.value + self.rise * self.weight;
        let weight = (ahead / (self.rise - other.rise)).clamp(self.weight, other.weight);
        (weight, self.value + self.rise * (weight - self.weight))
    }
}

impl LowerBound {
    pub fn new(dim_x: usize, dim_y: usize) -> Self {
        LowerBound {
            slope: vec![0.0; dim_x],
            constant: 0.0,
            y: vec![0.0; dim_y],
            value: f64::NEG_INFINITY,
            confidence: Confidence::Exact,
            guess: 0.5,
            mixed: vec![0.0; dim_x],
        }
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.value = f64::NEG_INFINITY;
    }

    /// Takes this minorant, whose bound is `value`, in place of the combination.
    pub fn take(&mut self, new: Minorant<'_>, value: f64) {
        self.slope.copy_from_slice(new.slope);
        self.constant = new.constant;
        self.y.copy_from_slice(new.y);
        self.value = value;
    }

    /// Mixes a minorant in with the weight that raises the bound most, as far as that may raise it by
    /// more than `worth`.
    pub fn absorb(
        &mut self,
        oracles: &mut Oracles<'_>,
        new: Minorant<'_>,
        rounding: f64,
        worth: f64,
        vertex: &mut [f64],
    ) -> Result<()> {
        if self.value == f64::NEG_INFINITY {
            let minimum = oracles.lmo(Block::X, new.slope, vertex)?;
            self.confidence = self.confidence.and(minimum.confidence);
            self.take(new, new.constant + minimum.lower - rounding);
            return Ok(());
        }
        let mut best = (0.0, self.value);
        let (mut low, mut high) = (None::<Cut>, None::<Cut>);
        let mut weight = self.guess;
        for _ in 0..EVALUATIONS {
            combine(1.0 - weight, &self.slope, weight, new.slope, &mut self.mixed);
            let minimum = oracles.lmo(Block::X, &self.mixed, vertex)?;
            self.confidence = self.confidence.and(minimum.confidence);
            let constant = (1.0 - weight) * self.constant + weight * new.constant;
            let value = constant + minimum.lower - rounding;
            let rise =
                new.constant - self.constant + dot_difference(vertex, new.slope, &self.slope).0;
            if value > best.1 {
                best = (weight, value);
            }
            let cut = Cut { weight, value, rise };
            if rise > 0.0 {
                low = Some(cut)
            } else {
                high = Some(cut)
            }
            let (next, most) = match (low, high) {
                (Some(low), Some(high)) => low.meet(high),
                (Some(low), None) if low.weight == 1.0 => break,
                (Some(low), None) => {
                    ((2.0 * low.weight).min(1.0), low.value + low.rise * (1.0 - low.weight))
                }
                (None, Some(high)) => {
                    // the parabola through the old bound and this cut
                    let bend = (self.value - high.value) / high.weight + high.rise;
                    let back = if bend < 0.0 { 0.5 * high.rise / bend } else { 0.9 };
                    let next = high.weight * (1.0 - back.clamp(0.1, 0.9));
                    (next, high.value - high.rise * high.weight)
                }
                (None, None) => break,
            };
            if most - best.1 <= worth {
                break;
            }
            weight = next;
        }
        let (weight, value) = best;
        self.guess = if weight > 0.0 { weight } else { (0.5 * self.guess).max(1e-3) };
        if weight > 0.0 {
            step_toward(weight, new.slope, &mut self.slope);
            self.constant += weight * (new.constant - self.constant);
            step_toward(weight, new.y, &mut self.y);
            self.value = value;
        }
        Ok(())
    }
}
