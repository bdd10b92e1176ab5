//! The Kullback-Leibler penalty: `y` in the unit simplex of `R^n`, at the cost `c sum_i y_i log(y_i/q_i)`.

use super::chi_square::{in_lanes, largest};
use super::{Moduli, RowWeights, Uncertainty, check_nominal};
use crate::domain::{Domain, Simplex};
use crate::error::{Result, check_positive};
use crate::linalg::{accurate_sum_of, exp_in_place};
use crate::problem::Measured;
use crate::state::{Digest, Fingerprint};
use std::sync::Arc;

/// The logarithm of the least ratio `y_i/q_i` that a response takes. Below it an exponential is no normal number any more.
const LEAST_LOG: f64 = -690.0;
/// Its exponential. The penalty is steep without bound at `y_i = 0`; slopes are those at this ratio, with which the tangent plane
/// lies above the objective but for less than this ratio of a penalty.
const LEAST: f64 = 1e-300;

/// The Kullback-Leibler penalty around nominal weights `q`.
///
/// ```
/// use couloir::model::uncertainty::{KullbackLeibler, Uncertainty};
/// let set = KullbackLeibler::new(vec![0.25, 0.75], 1.0)?;
/// let mut y = [0.0; 2];
/// set.best_response(&[3f64.ln(), 0.0], &mut [0.0; 2], &mut y);
/// // proportional to 0.25 * 3 and 0.75
/// assert!((y[0] - 0.5).abs() < 1e-15);
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct KullbackLeibler {
    q: Arc<[f64]>,
    level: f64,
    y_set: Simplex,
}

impl KullbackLeibler {
    /// The penalty around these nominal weights, which are positive and add up to 1.
    ///
    /// # Errors
    /// No rows, weights that are not positive or do not add up to 1, a level that is not positive.
    pub fn new(q: Vec<f64>, level: f64) -> Result<Self> {
        check_positive("level", level)?;
        check_nominal(&q)?;
        Ok(KullbackLeibler { y_set: Simplex::new(q.len())?, q: q.into(), level })
    }
}

impl Uncertainty for KullbackLeibler {
    fn name(&self) -> &'static str {
        "kl"
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

    /// `-c sum_i (y_i log(y_i/q_i) - y_i + q_i)`: the added sums are the same, and every term is at least zero.
    fn value(&self, y: &[f64]) -> f64 {
        let term = |[y, q]: [f64; 2]| if y > 0.0 { bregman(q, y) } else { q };
        -self.level * in_lanes([y, &self.q], 0.0, term, |sum, term| sum + term)
    }

    fn slopes(&self, y: &[f64], out: &mut [f64]) {
        for ((o, y), q) in out.iter_mut().zip(y).zip(&*self.q) {
            *o = -self.level * (y / q).max(LEAST).ln();
        }
    }

    fn largest_term(&self, y: &[f64]) -> Option<f64> {
        let most = largest([y, &self.q], |[y, q]| (y / q).max(LEAST).ln().abs());
        Some(self.level * (most + 1.0))
    }

    /// `y_i` proportional to `q_i exp(g_i/c)`. The exponents round by `u (2 |z_i| + 4)`, which moves each weight by as much of itself.
    fn best_response(&self, losses: &[f64], room: &mut [f64], y: &mut [f64]) -> f64 {
        let top = largest([losses, losses], |[g, _]| g);
        for ((y, room), g) in y.iter_mut().zip(room.iter_mut()).zip(losses) {
            *room = ((g - top) / self.level).max(LEAST_LOG);
            *y = *room;
        }
        exp_in_place(y);
        y.iter_mut().zip(&*self.q).for_each(|(y, q)| *y *= q);
        let share = 1.0 / accurate_sum_of(y);
        y.iter_mut().for_each(|y| *y *= share);
        // what each weight misses is a share of itself: of the penalty that is the mean of the shares at the most
        let steps =
            in_lanes([y, room], 0.0, |[y, z]| y * (2.0 * z.abs() + 8.0), |sum, term| sum + term);
        2.0 * f64::EPSILON * self.level * steps
    }

    fn change(&self, losses: &[f64], from: &[f64], to: &[f64]) -> Measured {
        let slope = |i: usize| losses[i] - self.level * (from[i] / self.q[i]).max(LEAST).ln();
        // both sum to 1, so a common part of the slopes cancels
        let shift = (0..from.len()).map(|i| from[i] * slope(i)).sum::<f64>();
        let (mut value, mut size, mut drift) = (0.0, 0.0, 0.0);
        for i in 0..from.len() {
            let step = to[i] - from[i];
            let slope = slope(i);
            let bend = self.level * bregman(from[i].max(LEAST * self.q[i]), to[i]);
            value += (slope - shift) * step - bend;
            drift += step;
            size += (losses[i].abs() + (slope - losses[i]).abs() + self.level + shift.abs())
                * step.abs()
                + bend;
        }
        Measured { value, rounding: 8.0 * f64::EPSILON * size + (shift * drift).abs() }
    }

    /// `mu = c`: the Hessian is `c/y_i`, and `y_i <= 1`. There is no `Lyy`.
    fn moduli(&self) -> Moduli {
        Moduli { mu: Some(self.level), lyy: None }
    }

    fn fingerprint(&self, print: &mut Fingerprint) {
        print.note("level", self.level);
        let mut digest = Digest::default();
        digest.numbers(&self.q);
        print.note("nominal weights (SHA-256)", digest.name());
    }
}

/// `b log(b/a) - b + a`, without cancellation, for `a > 0` and `b >= 0`.
pub(super) fn bregman(a: f64, b: f64) -> f64 {
    /// Below this the series is as good as the logarithm.
    const SMALL: f64 = 0.03;
    let t = (b - a) / a;
    if t.abs() < SMALL {
        // (1 + t) log(1 + t) - t = t^2 sum_k (-t)^k / ((k + 1)(k + 2))
        let mut sum = 0.0;
        for k in (0..12).rev() {
            let k = f64::from(k);
            sum = 1.0 / ((k + 1.0) * (k + 2.0)) - t * sum;
        }
        a * t * t * sum
    } else if b > 0.0 {
        (b * (b / a).ln() - (b - a)).max(0.0)
    } else {
        a
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_series_meets_the_logarithm() {
        for t in [0.0299999, -0.0299999, 0.0300001, -0.0300001, 1e-3, -1e-5] {
            let plain = (1.0 + t) * f64::ln_1p(t) - t;
            let value = bregman(2.0, 2.0 + 2.0 * t) / 2.0;
            assert!((value - plain).abs() < 1e-15, "{t}: {value} {plain}");
        }
        // t^2/2 - t^3/6 where the plain difference has lost all digits
        let t = 2f64.powi(-30);
        assert!((bregman(1.0, 1.0 + t) / (t * t / 2.0 - t.powi(3) / 6.0) - 1.0).abs() < 1e-15);
        assert_eq!((bregman(0.5, 0.0), bregman(0.5, 0.5)), (0.5, 0.0));
    }
}
