//! The lp ball.

use super::check_ball;
use crate::domain::plain::{PlainOracle, Work, excess, found};
use crate::domain::{Domain, LinearMin, Oracle};
use crate::error::{Error, Result};
use crate::linalg::norm;

/// The ball `{p : (sum of |p_i|^power)^(1/power) <= radius}`, for a power above 1.
///
/// With `1/power + 1/q = 1` linear minimisation gives `p_i = -radius sign(g_i) (|g_i|/|g|_q)^(q - 1)`, in `O(n)`. There is no
/// projection in closed form. Powers of 1, 2 and infinity have sets of their own: [`L1Ball`](crate::domain::L1Ball),
/// [`L2Ball`](crate::domain::L2Ball), [`LinfBall`](crate::domain::LinfBall).
///
/// ```
/// use couloir::domain::{Domain, LpBall};
/// let ball = LpBall::new(2, 3.0, 1.0)?;
/// let mut p = [0.0; 2];
/// let minimum = ball.oracle().lmo(&[1.0, 1.0], &mut p)?;
/// assert!((minimum.value + 2f64.powf(2.0 / 3.0)).abs() < 1e-12);
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LpBall {
    dim: usize,
    power: f64,
    radius: f64,
}

impl LpBall {
    /// The ball of this power and radius around the origin of `R^dim`.
    ///
    /// # Errors
    /// A dimension of zero, a radius that is not positive and finite, a power that is not above 1 and finite.
    pub fn new(dim: usize, power: f64, radius: f64) -> Result<Self> {
        check_ball(dim, radius)?;
        if !(power > 1.0 && power.is_finite()) {
            let why = format!(
                "must be above 1 and finite, got {power}; for 1 take L1Ball, for infinity LinfBall"
            );
            return Err(Error::Setting { name: "power", why });
        }
        Ok(LpBall { dim, power, radius })
    }
}

/// `(sum of |v_i|^power)^(1/power)`, without overflow.
fn power_norm(v: &[f64], power: f64) -> f64 {
    let largest = v.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    if !(largest > 0.0) {
        return if v.iter().any(|v| v.is_nan()) { f64::NAN } else { 0.0 };
    }
    let sum: f64 = v.iter().map(|v| (v.abs() / largest).powf(power)).sum();
    largest * sum.powf(1.0 / power)
}

impl Domain for LpBall {
    fn dim(&self) -> usize {
        self.dim
    }

    /// `2 radius` times the largest Euclidean length of a vector of length 1.
    fn diameter(&self) -> f64 {
        let longest = (self.dim as f64).powf((0.5 - 1.0 / self.power).max(0.0));
        2.0 * self.radius * longest * (1.0 + 1e-12)
    }

    fn violation(&self, p: &[f64]) -> f64 {
        excess(power_norm(p, self.power) - self.radius)
    }

    fn center(&self, out: &mut [f64]) {
        out.fill(0.0);
    }

    fn describe(&self) -> String {
        let LpBall { dim, power, radius } = self;
        format!("the l{power} ball of radius {radius} in dimension {dim}")
    }

    fn is_polytope(&self) -> Option<bool> {
        Some(false)
    }

    fn oracle(&self) -> Box<dyn Oracle + '_> {
        Box::new(PlainOracle::new(Dual(self), self.dim, self.diameter()))
    }
}

struct Dual<'a>(&'a LpBall);

impl Work for Dual<'_> {
    fn lmo(&mut self, g: &[f64], p: &mut [f64]) -> Result<LinearMin> {
        let LpBall { power, radius, .. } = *self.0;
        let dual = power / (power - 1.0);
        let length = power_norm(g, dual);
        for (p, g) in p.iter_mut().zip(g) {
            let share = if length > 0.0 { (g.abs() / length).powf(dual - 1.0) } else { 0.0 };
            *p = -(radius * share).copysign(*g);
        }
        // the powers round, too
        let mut minimum = found(g, p, 2 * g.len(), norm(p));
        let least = -radius * length;
        minimum.lower = minimum.lower.min(least * (1.0 + 1e-15 * (g.len() as f64 + dual)));
        Ok(minimum)
    }
}
