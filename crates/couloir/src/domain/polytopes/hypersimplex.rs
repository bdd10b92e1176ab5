//! The hypersimplex.

use super::CappedSimplex;
use crate::domain::{Domain, Oracle};
use crate::error::{Error, Result};

/// The hypersimplex `{0 <= p_i <= 1, sum of p = k}`: the convex hull of the subsets with `k` elements.
///
/// Linear minimisation takes the `k` least entries, and the projection is `clip(v - theta, 0, 1)`; either takes `O(n log n)`.
///
/// ```
/// use couloir::domain::{Domain, Hypersimplex};
/// let set = Hypersimplex::new(4, 2)?;
/// let mut p = [0.0; 4];
/// set.oracle().lmo(&[1.0, -1.0, 3.0, 0.5], &mut p)?;
/// assert_eq!(p, [0.0, 1.0, 0.0, 1.0]);
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Hypersimplex {
    k: usize,
    capped: CappedSimplex,
}

impl Hypersimplex {
    /// The subsets of `k` of `dim` elements.
    ///
    /// # Errors
    /// `k` that is not from 1 to `dim`.
    pub fn new(dim: usize, k: usize) -> Result<Self> {
        if !(1..=dim).contains(&k) {
            let why = format!("must be from 1 to the dimension {dim}, got {k}");
            return Err(Error::Setting { name: "k", why });
        }
        Ok(Hypersimplex { k, capped: CappedSimplex::new(vec![1.0; dim], k as f64)? })
    }
}

impl Domain for Hypersimplex {
    fn dim(&self) -> usize {
        self.capped.dim()
    }

    fn diameter(&self) -> f64 {
        (2.0 * self.k.min(self.dim() - self.k) as f64).sqrt()
    }

    fn violation(&self, p: &[f64]) -> f64 {
        self.capped.violation(p)
    }

    fn center(&self, out: &mut [f64]) {
        out.fill(self.k as f64 / self.dim() as f64);
    }

    fn describe(&self) -> String {
        format!("the hypersimplex of {} of {} elements", self.k, self.dim())
    }

    fn is_polytope(&self) -> Option<bool> {
        Some(true)
    }

    fn oracle(&self) -> Box<dyn Oracle + '_> {
        self.capped.oracle()
    }
}
