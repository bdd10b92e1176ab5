//! The chi-square penalty around nominal weights: `y` in the unit simplex of `R^n`, at the cost
//! `c/2 sum_i (y_i - q_i)^2/q_i`.

use super::chi_square::{in_lanes, largest};
use super::{Moduli, RowWeights, Uncertainty, check_nominal};
use crate::domain::{Domain, Simplex};
use crate::error::{Result, check_positive};
use crate::linalg::accurate_sum_of;
use crate::problem::Measured;
use crate::state::{Digest, Fingerprint};
use std::sync::Arc;

/// Passes of the threshold search before it sorts what is left, to keep to O(n log n).
const PASSES: u32 = 32;

/// The chi-square penalty around nominal weights `q`. With `q_i = 1/n` it is [`ChiSquare`](super::ChiSquare), which is quicker.
#[derive(Clone, Debug)]
pub struct WeightedChiSquare {
    q: Arc<[f64]>,
    level: f64,
    y_set: Simplex,
}

impl WeightedChiSquare {
    /// The penalty around these nominal weights, which are positive and add up to 1.
    ///
    /// # Errors
    /// No rows, weights that are not positive or do not add up to 1, a level that is not positive.
    pub fn new(q: Vec<f64>, level: f64) -> Result<Self> {
        check_positive("level", level)?;
        check_nominal(&q)?;
        Ok(WeightedChiSquare { y_set: Simplex::new(q.len())?, q: q.into(), level })
    }

    /// The derivative of [`value`](Uncertainty::value) by an entry of `y` with this nominal weight.
    fn slope(&self, y: f64, q: f64) -> f64 {
        -self.level * (y / q - 1.0)
    }
}

impl Uncertainty for WeightedChiSquare {
    fn name(&self) -> &'static str {
        "chi2"
    }

    fn y_set(&self) -> &dyn Domain {
        &self.y_set
    }

    fn row_weights(&self) -> RowWeights {
        RowWeights::PerRow
    }

    fn start(&self) -> Option<Vec<f64>> {
        Some(self.q.to_vec())
    }

    /// `-c/2 sum_i (y_i - q_i)^2/q_i`.
    fn value(&self, y: &[f64]) -> f64 {
        let term = |[y, q]: [f64; 2]| (y - q) * (y / q - 1.0);
        -0.5 * self.level * in_lanes([y, &self.q], 0.0, term, |sum, term| sum + term)
    }

    fn slopes(&self, y: &[f64], out: &mut [f64]) {
        for ((o, y), q) in out.iter_mut().zip(y).zip(&*self.q) {
            *o = self.slope(*y, *q);
        }
    }

    fn largest_term(&self, y: &[f64]) -> Option<f64> {
        let most = largest([y, &self.q], |[y, q]| (y / q).abs());
        Some(self.level * (most + 1.0))
    }

    fn best_response(&self, losses: &[f64], room: &mut [f64], y: &mut [f64]) -> f64 {
        respond(losses, &self.q, self.level, room, y)
    }

    fn change(&self, losses: &[f64], from: &[f64], to: &[f64]) -> Measured {
        let middle = |i: usize| 0.5 * (from[i] + to[i]);
        let slope = |i: usize| losses[i] + self.slope(middle(i), self.q[i]);
        // both sum to 1, so a common part of the slopes cancels: their mean, for near the best response they are all the same
        let (sum, mass) =
            (0..from.len()).fold((0.0, 0.0), |(s, m), i| (s + middle(i) * slope(i), m + middle(i)));
        let shift = if mass > 0.0 { sum / mass } else { 0.0 };
        let (mut value, mut size, mut drift) = (0.0, 0.0, 0.0);
        for i in 0..from.len() {
            let step = to[i] - from[i];
            value += (slope(i) - shift) * step;
            drift += step;
            let weight = self.level * (middle(i) / self.q[i] + 1.0);
            size += (losses[i].abs() + weight + shift.abs()) * step.abs();
        }
        let rounding = 4.0 * f64::EPSILON * size + (shift * drift).abs();
        Measured { value, rounding }
    }

    /// `mu = c/max q`, `Lyy = c/min q`.
    fn moduli(&self) -> Moduli {
        let most = self.q.iter().fold(0.0f64, |m, q| m.max(*q));
        let least = self.q.iter().fold(1.0f64, |m, q| m.min(*q));
        Moduli { mu: Some(self.level / most), lyy: Some(self.level / least) }
    }

    fn fingerprint(&self, print: &mut Fingerprint) {
        print.note("level", self.level);
        let mut digest = Digest::default();
        digest.numbers(&self.q);
        print.note("nominal weights (SHA-256)", digest.name());
    }
}

/// Writes the maximiser `y_i = q_i max(0, u_i - theta)`, `u_i = (g_i - g_max)/c`, of `<g, y> - c/2 sum_i (y_i - q_i)^2/q_i` over the
/// simplex, with `theta` such that `y` adds up to 1 (Michelot's passes), and returns a bound of what it misses. Only
/// differences of the `g` are formed.
fn respond(g: &[f64], q: &[f64], level: f64, room: &mut [f64], y: &mut [f64]) -> f64 {
    let top = largest([g, g], |[g, _]| g);
    for (y, g) in y.iter_mut().zip(g) {
        *y = (g - top) / level;
    }
    let theta = threshold(y, q, room);
    for (y, q) in y.iter_mut().zip(q) {
        *y = q * (*y - theta).max(0.0);
    }
    // one correction takes the rounding of theta out of the sum
    let support =
        in_lanes([y, q], 0.0, |[y, q]| if y > 0.0 { q } else { 0.0 }, |sum, term| sum + term);
    let missing = if support > 0.0 { (1.0 - accurate_sum_of(y)) / support } else { 0.0 };
    for (y, q) in y.iter_mut().zip(q) {
        *y = if *y > 0.0 { (*y + q * missing).max(0.0) } else { 0.0 };
    }
    // max over w of <grad, w - y>, with the rounding of the slopes against us
    let slope = |i: usize| {
        let (g, weight) = (g[i] - top, y[i] / q[i]);
        let noise = 2.0 * f64::EPSILON * (g.abs() + level * (weight + 1.0));
        (g - level * (weight - 1.0), noise)
    };
    let highest = (0..y.len()).fold(f64::NEG_INFINITY, |highest, i| {
        let (value, noise) = slope(i);
        highest.max(value + noise)
    });
    let mut gap = 0.0;
    for i in (0..y.len()).filter(|&i| y[i] > 0.0) {
        let (value, noise) = slope(i);
        gap += y[i] * (highest - value + noise);
    }
    gap
}

/// `theta` with `sum_i q_i max(0, u_i - theta) = 1`. `room` has as many numbers.
fn threshold(u: &[f64], q: &[f64], room: &mut [f64]) -> f64 {
    let mut theta = f64::NEG_INFINITY;
    let mut count = usize::MAX;
    for _ in 0..PASSES {
        let (mut mass, mut kept) = (0.0, 0);
        for ((room, u), q) in room.iter_mut().zip(u).zip(q) {
            let in_support = *u > theta;
            *room = if in_support { q * u } else { 0.0 };
            mass += if in_support { *q } else { 0.0 };
            kept += usize::from(in_support);
        }
        if kept == count || kept == 0 {
            return theta;
        }
        count = kept;
        theta = (accurate_sum_of(room) - 1.0) / mass;
    }
    // few entries fall in each pass: take them in falling order
    let mut order: Vec<usize> = (0..u.len()).filter(|&i| u[i] > theta).collect();
    order.sort_unstable_by(|&i, &j| u[j].total_cmp(&u[i]));
    let (mut sum, mut mass) = (0.0, 0.0);
    let mut theta = f64::NEG_INFINITY;
    for i in order {
        if u[i] <= theta {
            break;
        }
        sum += q[i] * u[i];
        mass += q[i];
        theta = (sum - 1.0) / mass;
    }
    theta
}
