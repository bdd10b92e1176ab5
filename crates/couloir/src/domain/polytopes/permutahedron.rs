//! The permutahedron.

use crate::domain::plain::{PlainOracle, Work, excess, found};
use crate::domain::{Domain, LinearMin, Oracle};
use crate::error::{Error, Result, check_finite};
use crate::linalg::{distance_squared, norm};

/// The convex hull of all permutations of a vector: the points that it majorises.
///
/// Linear minimisation sorts, in `O(n log n)`; so does the projection, which then fits a falling sequence.
///
/// ```
/// use couloir::domain::{Domain, Permutahedron};
/// let set = Permutahedron::new(vec![1.0, 2.0, 3.0])?;
/// let mut p = [0.0; 3];
/// set.oracle().lmo(&[0.5, 9.0, -1.0], &mut p)?;
/// assert_eq!(p, [2.0, 1.0, 3.0]);
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Permutahedron {
    /// Largest first.
    values: Vec<f64>,
}

impl Permutahedron {
    /// The hull of the permutations of these values.
    ///
    /// # Errors
    /// No values, or values that are not finite.
    pub fn new(mut values: Vec<f64>) -> Result<Self> {
        if values.is_empty() {
            return Err(Error::EmptySet { why: "a permutahedron of dimension 0".to_owned() });
        }
        check_finite("values of the permutahedron", &values)?;
        values.sort_unstable_by(|a, b| b.total_cmp(a));
        Ok(Permutahedron { values })
    }
}

/// The places of the entries, largest first.
fn falling(v: &[f64], order: &mut Vec<usize>) {
    order.clear();
    order.extend(0..v.len());
    order.sort_unstable_by(|i, j| v[*j].total_cmp(&v[*i]));
}

impl Domain for Permutahedron {
    fn dim(&self) -> usize {
        self.values.len()
    }

    /// Between the rising and the falling order.
    fn diameter(&self) -> f64 {
        let rising: Vec<f64> = self.values.iter().rev().copied().collect();
        distance_squared(&self.values, &rising).sqrt()
    }

    /// By how much a sum of largest entries exceeds that of the values, or the sum of all differs.
    fn violation(&self, p: &[f64]) -> f64 {
        let mut order = Vec::new();
        falling(p, &mut order);
        let (mut over, mut worst) = (0.0, 0.0f64);
        for (i, value) in order.iter().zip(&self.values) {
            over += p[*i] - value;
            worst = worst.max(excess(over));
        }
        worst.max(over.abs())
    }

    fn center(&self, out: &mut [f64]) {
        out.fill(self.values.iter().map(|v| v / self.dim() as f64).sum());
    }

    fn describe(&self) -> String {
        format!("a permutahedron in dimension {}", self.dim())
    }

    fn is_polytope(&self) -> Option<bool> {
        Some(true)
    }

    fn oracle(&self) -> Box<dyn Oracle + '_> {
        let work = Sorting { set: self, order: Vec::new(), reach: norm(&self.values) };
        Box::new(PlainOracle::new(work, self.dim(), self.diameter()))
    }
}

struct Sorting<'a> {
    set: &'a Permutahedron,
    order: Vec<usize>,
    reach: f64,
}

impl Work for Sorting<'_> {
    fn lmo(&mut self, g: &[f64], p: &mut [f64]) -> Result<LinearMin> {
        falling(g, &mut self.order);
        let smallest_first = self.set.values.iter().rev();
        self.order.iter().zip(smallest_first).for_each(|(i, value)| p[*i] = *value);
        Ok(found(g, p, g.len(), self.reach))
    }

    fn projects(&self) -> bool {
        true
    }

    /// With `v` and the values in falling order, the point is `v - y` where `y` is the falling sequence nearest to their difference;
    /// it is found by pooling neighbours that rise.
    fn project(&mut self, v: &[f64], out: &mut [f64]) -> Result<()> {
        falling(v, &mut self.order);
        // pools of a sum and a count
        let mut pools: Vec<(f64, usize)> = Vec::with_capacity(v.len());
        for (i, value) in self.order.iter().zip(&self.set.values) {
            let mut pool = (v[*i] - value, 1);
            while let Some((sum, count)) = pools.last().copied()
                && sum / count as f64 <= pool.0 / pool.1 as f64
            {
                pool = (pool.0 + sum, pool.1 + count);
                pools.pop();
            }
            pools.push(pool);
        }
        let fitted =
            pools.iter().flat_map(|(sum, count)| std::iter::repeat_n(sum / *count as f64, *count));
        self.order.iter().zip(fitted).for_each(|(i, y)| out[*i] = v[*i] - y);
        Ok(())
    }
}
