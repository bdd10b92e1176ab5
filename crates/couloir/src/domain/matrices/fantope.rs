//! The Fantope.

use super::{asymmetry, symmetric_parts};
use crate::domain::plain::{PlainOracle, Work, excess, found};
use crate::domain::polytopes::cap_sum;
use crate::domain::{Domain, LinearMin, Oracle};
use crate::error::{Error, Result, check_finite};

/// The Fantope `{P symmetric : 0 <= P <= I, trace P = k}` of `n x n` matrices (row by row): the convex hull of the projections on
/// subspaces of dimension `k`.
///
/// Linear minimisation gives the projection on the eigenvectors of the `k` least eigenvalues; the projection on the set projects
/// the eigenvalues. Either takes an eigen-decomposition.
///
/// ```
/// use couloir::domain::{Domain, Fantope};
/// let set = Fantope::new(2, 1)?;
/// let mut p = [0.0; 4];
/// set.oracle().lmo(&[2.0, 0.0, 0.0, -1.0], &mut p)?;
/// assert_eq!(p, [0.0, 0.0, 0.0, 1.0]);
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Fantope {
    side: usize,
    k: usize,
}

impl Fantope {
    /// The Fantope of matrices with so many rows, and trace `k`.
    ///
    /// # Errors
    /// No rows, or `k` that is not from 1 to their number.
    pub fn new(side: usize, k: usize) -> Result<Self> {
        if !(1..=side).contains(&k) {
            let why = format!("must be from 1 to the number of rows {side}, got {k}");
            return Err(Error::Setting { name: "k", why });
        }
        Ok(Fantope { side, k })
    }
}

impl Domain for Fantope {
    fn dim(&self) -> usize {
        self.side * self.side
    }

    fn diameter(&self) -> f64 {
        (2.0 * self.k.min(self.side - self.k) as f64).sqrt()
    }

    /// The largest of the asymmetry, what the eigenvalues are outside of 0 to 1, and what the trace misses.
    fn violation(&self, p: &[f64]) -> f64 {
        if check_finite("point", p).is_err() {
            return f64::INFINITY;
        }
        let Ok(parts) = symmetric_parts(p, self.side) else { return f64::INFINITY };
        let trace: f64 = (0..self.side).map(|i| p[i * (self.side + 1)]).sum();
        let outside = (-parts.values[0]).max(parts.values[self.side - 1] - 1.0);
        excess(outside.max(asymmetry(p, self.side)).max((trace - self.k as f64).abs()))
    }

    fn center(&self, out: &mut [f64]) {
        out.fill(0.0);
        (0..self.side).for_each(|i| out[i * (self.side + 1)] = self.k as f64 / self.side as f64);
    }

    fn describe(&self) -> String {
        format!("the Fantope of {0} x {0} matrices of trace {1}", self.side, self.k)
    }

    fn is_polytope(&self) -> Option<bool> {
        Some(self.k == self.side)
    }

    fn oracle(&self) -> Box<dyn Oracle + '_> {
        Box::new(PlainOracle::new(Eigenvalues(self), self.dim(), self.diameter()))
    }
}

struct Eigenvalues<'a>(&'a Fantope);

impl Work for Eigenvalues<'_> {
    fn lmo(&mut self, g: &[f64], p: &mut [f64]) -> Result<LinearMin> {
        let Fantope { side, k } = *self.0;
        let parts = symmetric_parts(g, side)?;
        let ones: Vec<f64> = (0..side).map(|i| f64::from(u8::from(i < k))).collect();
        parts.write(&ones, p);
        Ok(found(g, p, 32 * side, (k as f64).sqrt()))
    }

    fn projects(&self) -> bool {
        true
    }

    fn project(&mut self, v: &[f64], out: &mut [f64]) -> Result<()> {
        let Fantope { side, k } = *self.0;
        let parts = symmetric_parts(v, side)?;
        let mut values = vec![0.0; side];
        cap_sum(&parts.values, &vec![1.0; side], k as f64, &mut Vec::new(), &mut values);
        parts.write(&values, out);
        Ok(())
    }
}
