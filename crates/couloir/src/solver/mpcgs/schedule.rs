//! The weights of Theorem D: its bound while `Lhat` rises and falls, and when they are started anew.
//!
//! ```text
//! c_s = 9 s Lhat_s,   B_k = [D_X^2 sum max(0, c_s - c_{s-1}) + sum A_s delta_s + sum 3 s(s+1) zeta_s]/A_k
//! ```
//!
//! Only rises of `c_s` are paid for, so `Lhat` may fall by any factor (7.3 of docs/theory.md). Weights are started anew where the step from
//! `x_{k-1}` to `x_k` leads uphill, once the certified gap is half of what it was when they began (7.12), and after stages of
//! doubling length ([`Doubling`], 7.11).

use super::doubling::Doubling;
use crate::error::Result;
use crate::state::Archive;

/// The share of the gap at its start to which a stage must have come before it may end uphill.
const SUFFICIENT: f64 = 0.5;
/// The most that `Lhat` keeps when it falls.
const KEPT: f64 = 0.85;

#[derive(Clone, Copy, Debug)]
pub(super) struct Schedule {
    /// Iterations since the weights were started anew.
    iterations: u64,
    /// The certified gap then.
    gap: f64,
    /// `sum max(0, c_s - c_{s-1})`, and `c_s`.
    rises: f64,
    coefficient: f64,
    /// `sum A_s delta_s + sum 3 s(s+1) zeta_s`.
    charges: f64,
    doubling: Doubling,
}

impl Schedule {
    /// New weights, from a point with this certified gap and this upper bound.
    pub fn new(gap: f64, upper: f64) -> Self {
        Schedule {
            iterations: 0,
            gap,
            rises: 0.0,
            coefficient: 0.0,
            charges: 0.0,
            doubling: Doubling::new(upper),
        }
    }

    /// The number of the next iteration, from 1.
    pub fn next(&self) -> f64 {
        (self.iterations + 1) as f64
    }

    /// Whether a stage of doubling length is over, with this upper bound.
    pub fn is_over(&mut self, upper: f64) -> bool {
        self.doubling.is_over(self.iterations, upper)
    }

    /// Whether a step uphill may end the stage, with this certified gap.
    pub fn may_end(&self, gap: f64) -> bool {
        gap <= SUFFICIENT * self.gap
    }

    /// Starts the weights anew, at this certified gap. The length of stages stays.
    pub fn start_anew(&mut self, gap: f64) {
        *self = Schedule { doubling: self.doubling, ..Schedule::new(gap, f64::INFINITY) };
    }

    /// Takes an iteration with these errors. Returns the bound of the theorem without rounding.
    pub fn step(&mut self, lhat: f64, [delta, zeta]: [f64; 2], diameter: f64) -> f64 {
        let k = self.next();
        let (weight, coefficient) = (k * (k + 1.0) * (k + 2.0), 9.0 * k * lhat);
        self.rises += (coefficient - self.coefficient).max(0.0);
        self.coefficient = coefficient;
        self.charges += weight * delta + 3.0 * k * (k + 1.0) * zeta;
        self.iterations += 1;
        (self.rises * diameter.powi(2) + self.charges) / weight
    }

    /// What `Lhat` is multiplied with where less would have done: at the start of a stage at least as much as its weights grow.
    pub fn fall(&self) -> f64 {
        let k = self.iterations as f64;
        (k / (k + 1.0)).min(KEPT)
    }

    pub fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.count("iterations", &mut self.iterations)?;
        archive.number("gap", &mut self.gap)?;
        archive.number("rises", &mut self.rises)?;
        archive.number("coefficient", &mut self.coefficient)?;
        archive.number("charges", &mut self.charges)?;
        archive.nested("doubling", |archive| self.doubling.state(archive))
    }
}
