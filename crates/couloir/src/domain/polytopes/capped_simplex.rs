//! The simplex with a cap on every entry.

use crate::domain::kinks::root_between_kinks;
use crate::domain::plain::{PlainOracle, Work, excess, found};
use crate::domain::{Domain, LinearMin, Oracle};
use crate::error::{Error, Result, check_finite, check_positive};
use crate::linalg::{accurate_sum_of, norm};

/// The capped simplex `{0 <= p_i <= cap_i, sum of p = total}`: with caps `q_i/alpha` the distributions of CVaR.
///
/// Linear minimisation fills the entries of least gradient, in `O(n log n)`; the projection is `clip(v - theta, 0, cap)` with
/// `theta` between two kinks of the sum, in `O(n log n)`.
///
/// ```
/// use couloir::domain::{CappedSimplex, Domain};
/// let set = CappedSimplex::new(vec![0.5, 0.5, 0.5], 1.0)?;
/// let mut p = [0.0; 3];
/// set.oracle().lmo(&[0.1, 3.0, 0.2], &mut p)?;
/// assert_eq!(p, [0.5, 0.0, 0.5]);
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CappedSimplex {
    caps: Vec<f64>,
    total: f64,
}

impl CappedSimplex {
    /// The points with these caps whose entries add up to `total`.
    ///
    /// # Errors
    /// No entries, caps that are negative or not finite, a total that is not positive and finite, caps that add up to less.
    pub fn new(caps: Vec<f64>, total: f64) -> Result<Self> {
        if caps.is_empty() {
            return Err(Error::EmptySet { why: "a capped simplex of dimension 0".to_owned() });
        }
        check_finite("caps", &caps)?;
        check_positive("total", total)?;
        if let Some(i) = caps.iter().position(|cap| *cap < 0.0) {
            return Err(Error::EmptySet { why: format!("cap {i} is negative: {}", caps[i]) });
        }
        let most = accurate_sum_of(&caps);
        if most < total * (1.0 - 1e-12) {
            let why = format!("the caps add up to {most}, less than the total {total}");
            return Err(Error::EmptySet { why });
        }
        Ok(CappedSimplex { caps, total })
    }
}

/// Writes the point nearest to `v` with `0 <= p_i <= cap_i` and this sum.
pub(in crate::domain) fn cap_sum(
    v: &[f64],
    caps: &[f64],
    total: f64,
    kinks: &mut Vec<f64>,
    out: &mut [f64],
) {
    kinks.clear();
    kinks.extend(v.iter().zip(caps).flat_map(|(v, cap)| [v - cap, *v]));
    let at = |theta: f64| v.iter().zip(caps).map(move |(v, cap)| (v - theta).clamp(0.0, *cap));
    let theta = root_between_kinks(kinks, total, |theta| at(theta).sum());
    out.iter_mut().zip(at(theta)).for_each(|(o, p)| *o = p);
    // what rounding left of the total, spread over the entries that are free to move
    let is_free = |p: f64, cap: f64| p > 0.0 && p < cap;
    let free = out.iter().zip(caps).filter(|(p, cap)| is_free(**p, **cap)).count();
    let missing = (total - accurate_sum_of(out)) / free.max(1) as f64;
    for (p, cap) in out.iter_mut().zip(caps).filter(|(p, cap)| is_free(**p, **cap)) {
        *p = (*p + missing).clamp(0.0, *cap);
    }
}

impl Domain for CappedSimplex {
    fn dim(&self) -> usize {
        self.caps.len()
    }

    /// A bound: two points differ by at most `2 total` in sum, and by the largest cap in an entry.
    fn diameter(&self) -> f64 {
        let cap = self.caps.iter().fold(0.0f64, |m, c| m.max(c.min(self.total)));
        let left = (accurate_sum_of(&self.caps) - self.total).max(0.0);
        let by_sum = (2.0 * self.total.min(left) * cap).sqrt();
        by_sum.min(norm(&self.caps)) * (1.0 + 1e-12)
    }

    fn violation(&self, p: &[f64]) -> f64 {
        if check_finite("point", p).is_err() {
            return f64::INFINITY;
        }
        let outside = p.iter().zip(&self.caps).map(|(p, cap)| excess((-p).max(p - cap)));
        outside.fold((accurate_sum_of(p) - self.total).abs(), f64::max)
    }

    /// The caps, shrunk by one factor.
    fn center(&self, out: &mut [f64]) {
        let factor = (self.total / accurate_sum_of(&self.caps)).min(1.0);
        out.iter_mut().zip(&self.caps).for_each(|(o, cap)| *o = factor * cap);
    }

    fn describe(&self) -> String {
        format!("a capped simplex of total {} in dimension {}", self.total, self.dim())
    }

    fn is_polytope(&self) -> Option<bool> {
        Some(true)
    }

    fn oracle(&self) -> Box<dyn Oracle + '_> {
        Box::new(PlainOracle::new(self.filling(), self.dim(), self.diameter()))
    }
}

impl CappedSimplex {
    fn filling(&self) -> Filling<'_> {
        Filling { set: self, order: Vec::new(), kinks: Vec::new() }
    }
}

struct Filling<'a> {
    set: &'a CappedSimplex,
    order: Vec<usize>,
    kinks: Vec<f64>,
}

impl Work for Filling<'_> {
    fn lmo(&mut self, g: &[f64], p: &mut [f64]) -> Result<LinearMin> {
        self.order.clear();
        self.order.extend(0..g.len());
        self.order.sort_unstable_by(|i, j| g[*i].total_cmp(&g[*j]));
        p.fill(0.0);
        let mut left = self.set.total;
        for i in &self.order {
            p[*i] = self.set.caps[*i].min(left);
            left -= p[*i];
            if left <= 0.0 {
                break;
            }
        }
        Ok(found(g, p, 2 * g.len(), self.set.total.min(norm(&self.set.caps))))
    }

    fn projects(&self) -> bool {
        true
    }

    fn project(&mut self, v: &[f64], out: &mut [f64]) -> Result<()> {
        cap_sum(v, &self.set.caps, self.set.total, &mut self.kinks, out);
        Ok(())
    }
}
