//! The Euclidean ball.

use super::{Cndg, Confidence, Domain, LinearMin, Oracle, SlideReport, SlideTask, cndg};
use crate::error::{Error, Result, check_finite, check_positive};
use crate::linalg::spectral::SAFE_SQUARES;
use crate::linalg::{accurate_sum, norm, scale, sum_rounding};
use crate::watch::Watch;

/// The Euclidean ball `{p : |p| <= radius}`.
///
/// ```
/// use couloir::domain::{Domain, L2Ball};
/// let ball = L2Ball::new(2, 5.0)?;
/// let mut p = [0.0; 2];
/// let minimum = ball.oracle().lmo(&[3.0, 4.0], &mut p)?;
/// assert_eq!(p, [-3.0, -4.0]);
/// assert_eq!(minimum.value, -25.0);
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct L2Ball {
    dim: usize,
    radius: f64,
}

impl L2Ball {
    /// The ball of the given radius around the origin of `R^dim`.
    ///
    /// # Errors
    /// A dimension of zero, or a radius that is not positive and finite.
    pub fn new(dim: usize, radius: f64) -> Result<Self> {
        if dim == 0 {
            return Err(Error::EmptySet { why: "a ball of dimension 0".to_owned() });
        }
        check_positive("radius", radius)?;
        Ok(L2Ball { dim, radius })
    }

    /// The radius.
    #[must_use]
    pub fn radius(&self) -> f64 {
        self.radius
    }
}

impl Domain for L2Ball {
    fn dim(&self) -> usize {
        self.dim
    }

    fn diameter(&self) -> f64 {
        2.0 * self.radius
    }

    fn violation(&self, p: &[f64]) -> f64 {
        let excess = norm(p) - self.radius;
        if excess.is_nan() { f64::INFINITY } else { excess.max(0.0) }
    }

    /// Scales.
    fn repair(&self, p: &mut [f64]) -> f64 {
        let length = match accurate_sum(p.iter().map(|p| p * p)) {
            square if SAFE_SQUARES.contains(&square) => square.sqrt(),
            _ => norm(p),
        };
        if !(length > self.radius * (1.0 + 2.0 * f64::EPSILON)) || length.is_infinite() {
            return 0.0;
        }
        scale(self.radius / length, p);
        (length - self.radius) + 2.0 * f64::EPSILON * self.radius
    }

    /// Two units in the last place of the radius, and one for the rounding of the length.
    fn slack(&self) -> [f64; 2] {
        let length = 3.0 * f64::EPSILON * self.radius;
        [length, length * (self.dim as f64).sqrt()]
    }

    fn center(&self, out: &mut [f64]) {
        out.fill(0.0);
    }

    fn describe(&self) -> String {
        format!("the Euclidean ball of radius {} in dimension {}", self.radius, self.dim)
    }

    fn is_polytope(&self) -> Option<bool> {
        Some(false)
    }

    fn oracle(&self) -> Box<dyn Oracle + '_> {
        Box::new(L2BallOracle { set: self, scratch: Some(Cndg::new(self.dim)) })
    }
}

struct L2BallOracle<'a> {
    set: &'a L2Ball,
    scratch: Option<Cndg>,
}

impl Oracle for L2BallOracle<'_> {
    fn confidence(&self) -> Confidence {
        Confidence::Exact
    }

    fn lmo(&mut self, g: &[f64], p: &mut [f64]) -> Result<LinearMin> {
        check_finite("gradient over the Euclidean ball", g)?;
        let length = norm(g);
        for (p, g) in p.iter_mut().zip(g) {
            *p = if length > 0.0 { -self.set.radius * (g / length) } else { 0.0 };
        }
        let value = -self.set.radius * length;
        // the length is a sum that rounds, and so is the point
        let lower = value * (1.0 + 2.0 * sum_rounding(g.len()));
        Ok(LinearMin { lower, ..LinearMin::exact(value) })
    }

    fn has_prox(&self) -> bool {
        true
    }

    fn prox(&mut self, g: &[f64], q: &[f64], beta: f64, out: &mut [f64]) -> Result<f64> {
        for i in 0..out.len() {
            out[i] = q[i] - g[i] / beta;
        }
        let length = norm(out);
        if length > self.set.radius {
            for o in out.iter_mut() {
                *o = self.set.radius * (*o / length);
            }
        }
        Ok(4.0 * f64::EPSILON * beta * length.max(self.set.radius) * self.set.radius)
    }

    fn attend(&mut self, watch: &Watch) {
        self.scratch.iter_mut().for_each(|scratch| scratch.attend(watch));
    }

    fn slide(&mut self, task: &SlideTask<'_>, out: &mut [f64]) -> Result<SlideReport> {
        let mut scratch = self.scratch.take().unwrap_or_else(|| Cndg::new(self.set.dim()));
        let report = cndg(self, task, &mut scratch, out);
        self.scratch = Some(scratch);
        report
    }
}
