//! The ball of the maximum norm.

use super::check_ball;
use crate::domain::plain::{PlainOracle, Work, excess, found};
use crate::domain::{Domain, LinearMin, Oracle};
use crate::error::Result;

/// The ball of the maximum norm `{p : |p_i| <= radius for all i}`.
///
/// Linear minimisation takes the corner of opposite signs, in `O(n)`; the projection clips, in `O(n)`.
///
/// ```
/// use couloir::domain::{Domain, LinfBall};
/// let ball = LinfBall::new(2, 3.0)?;
/// let mut p = [0.0; 2];
/// ball.oracle().lmo(&[0.5, -1.0], &mut p)?;
/// assert_eq!(p, [-3.0, 3.0]);
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LinfBall {
    dim: usize,
    radius: f64,
}

impl LinfBall {
    /// The ball of the given radius around the origin of `R^dim`.
    ///
    /// # Errors
    /// A dimension of zero, or a radius that is not positive and finite.
    pub fn new(dim: usize, radius: f64) -> Result<Self> {
        check_ball(dim, radius)?;
        Ok(LinfBall { dim, radius })
    }
}

impl Domain for LinfBall {
    fn dim(&self) -> usize {
        self.dim
    }

    fn diameter(&self) -> f64 {
        2.0 * self.radius * (self.dim as f64).sqrt()
    }

    fn violation(&self, p: &[f64]) -> f64 {
        p.iter().fold(0.0, |worst: f64, p| worst.max(excess(p.abs() - self.radius)))
    }

    fn center(&self, out: &mut [f64]) {
        out.fill(0.0);
    }

    fn describe(&self) -> String {
        format!("the maximum-norm ball of radius {} in dimension {}", self.radius, self.dim)
    }

    fn is_polytope(&self) -> Option<bool> {
        Some(true)
    }

    fn oracle(&self) -> Box<dyn Oracle + '_> {
        Box::new(PlainOracle::new(Corners(self), self.dim, self.diameter()))
    }
}

struct Corners<'a>(&'a LinfBall);

impl Work for Corners<'_> {
    fn lmo(&mut self, g: &[f64], p: &mut [f64]) -> Result<LinearMin> {
        let radius = self.0.radius;
        p.iter_mut().zip(g).for_each(|(p, g)| *p = if *g > 0.0 { -radius } else { radius });
        Ok(found(g, p, g.len(), radius * (g.len() as f64).sqrt()))
    }

    fn projects(&self) -> bool {
        true
    }

    fn project(&mut self, v: &[f64], out: &mut [f64]) -> Result<()> {
        let radius = self.0.radius;
        out.iter_mut().zip(v).for_each(|(o, v)| *o = v.clamp(-radius, radius));
        Ok(())
    }
}
