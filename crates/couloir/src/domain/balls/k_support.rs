//! The ball of the k-support norm.

use super::{check_ball, falling_magnitudes};
use crate::domain::plain::{PlainOracle, Work, excess, found};
use crate::domain::{Domain, LinearMin, Oracle};
use crate::error::{Error, Result};
use crate::linalg::norm;

/// The convex hull of the vectors with at most `k` entries other than zero and Euclidean length at most `radius`: the ball of the
/// k-support norm (Argyriou, Foygel and Srebro, NIPS 2012).
///
/// Linear minimisation keeps the `k` largest magnitudes and normalises, in `O(n)`. `k = 1` gives the l1 ball, `k = n` the Euclidean
/// ball.
///
/// ```
/// use couloir::domain::{Domain, KSupportBall};
/// let ball = KSupportBall::new(3, 2, 5.0)?;
/// let mut p = [0.0; 3];
/// ball.oracle().lmo(&[3.0, 0.5, -4.0], &mut p)?;
/// assert_eq!(p, [-3.0, 0.0, 4.0]);
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct KSupportBall {
    dim: usize,
    k: usize,
    radius: f64,
}

impl KSupportBall {
    /// The hull of the vectors of `R^dim` with `k` entries and this length.
    ///
    /// # Errors
    /// A dimension of zero, a radius that is not positive and finite, `k` that is not from 1 to `dim`.
    pub fn new(dim: usize, k: usize, radius: f64) -> Result<Self> {
        check_ball(dim, radius)?;
        if !(1..=dim).contains(&k) {
            let why = format!("must be from 1 to the dimension {dim}, got {k}");
            return Err(Error::Setting { name: "k", why });
        }
        Ok(KSupportBall { dim, k, radius })
    }

    /// The k-support norm. With the magnitudes `m` in falling order and `m_0 = infinity` it is the root of
    /// `sum of m_i^2 for i < k - r  +  (sum of m_i for i >= k - r)^2/(r + 1)` for the only `r` with
    /// `m_(k-r-1) > (sum of m_i for i >= k - r)/(r + 1) >= m_(k-r)`.
    fn norm(&self, p: &[f64]) -> f64 {
        let sizes = falling_magnitudes(p);
        let mut tail: f64 = sizes[self.k..].iter().sum();
        for r in 0..self.k {
            let first = self.k - 1 - r;
            tail += sizes[first];
            let level = tail / (r + 1) as f64;
            if first == 0 || sizes[first - 1] > level {
                let head = norm(&sizes[..first]);
                return head.hypot(tail / ((r + 1) as f64).sqrt());
            }
        }
        f64::NAN
    }
}

impl Domain for KSupportBall {
    fn dim(&self) -> usize {
        self.dim
    }

    fn diameter(&self) -> f64 {
        2.0 * self.radius
    }

    fn violation(&self, p: &[f64]) -> f64 {
        if p.iter().any(|p| p.is_nan()) {
            return f64::INFINITY;
        }
        excess(self.norm(p) - self.radius)
    }

    fn center(&self, out: &mut [f64]) {
        out.fill(0.0);
    }

    fn describe(&self) -> String {
        let KSupportBall { dim, k, radius } = self;
        format!("the {k}-support ball of radius {radius} in dimension {dim}")
    }

    fn is_polytope(&self) -> Option<bool> {
        Some(self.k == 1)
    }

    fn oracle(&self) -> Box<dyn Oracle + '_> {
        let work = Largest { set: self, order: Vec::new() };
        Box::new(PlainOracle::new(work, self.dim, self.diameter()))
    }
}

struct Largest<'a> {
    set: &'a KSupportBall,
    order: Vec<usize>,
}

impl Work for Largest<'_> {
    fn lmo(&mut self, g: &[f64], p: &mut [f64]) -> Result<LinearMin> {
        let KSupportBall { dim, k, radius } = *self.set;
        self.order.clear();
        self.order.extend(0..dim);
        self.order.select_nth_unstable_by(k - 1, |i, j| g[*j].abs().total_cmp(&g[*i].abs()));
        p.fill(0.0);
        self.order[..k].iter().for_each(|i| p[*i] = -g[*i]);
        let length = norm(p);
        if length > 0.0 {
            p.iter_mut().for_each(|p| *p = radius * (*p / length));
        }
        Ok(found(g, p, dim, radius))
    }
}
