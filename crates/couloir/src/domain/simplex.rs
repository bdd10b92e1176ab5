//! The simplex.

use super::slide::pairwise::{Hull, Pairwise};
use super::sum_repair::{Sum, repair_sum, slack};
use super::threshold::{largest, project_onto_simplex};
use super::{Confidence, Domain, LinearMin, Oracle, SlideReport, SlideTask, Sliding};
use crate::error::{Error, Result, check_finite, check_positive};
use crate::linalg::accurate_sum;
use crate::watch::Watch;

/// The simplex `{p : p >= 0, sum of p = total}`, with `total = 1` the probability vectors.
///
/// ```
/// use couloir::domain::{Domain, Simplex};
/// let simplex = Simplex::new(3)?;
/// let mut p = [0.0; 3];
/// let minimum = simplex.oracle().lmo(&[0.5, -1.0, 2.0], &mut p)?;
/// assert_eq!(p, [0.0, 1.0, 0.0]);
/// assert_eq!(minimum.value, -1.0);
///
/// // argmin <g, u> + 1/2 |u - q|^2
/// simplex.oracle().prox(&[0.0, 0.25, 2.0], &[0.5, 0.5, 0.0], 1.0, &mut p)?;
/// assert_eq!(p, [0.625, 0.375, 0.0]);
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Simplex {
    dim: usize,
    total: f64,
}

impl Simplex {
    /// The unit simplex of `R^dim`.
    ///
    /// # Errors
    /// A dimension of zero.
    pub fn new(dim: usize) -> Result<Self> {
        Self::scaled(dim, 1.0)
    }

    /// The simplex of `R^dim` whose entries add up to `total`.
    ///
    /// # Errors
    /// A dimension of zero, or a total that is not positive and finite.
    pub fn scaled(dim: usize, total: f64) -> Result<Self> {
        if dim == 0 {
            return Err(Error::EmptySet { why: "a simplex of dimension 0".to_owned() });
        }
        check_positive("total", total)?;
        Ok(Simplex { dim, total })
    }

    /// What the entries add up to.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.total
    }
}

impl Domain for Simplex {
    fn dim(&self) -> usize {
        self.dim
    }

    fn diameter(&self) -> f64 {
        if self.dim == 1 { 0.0 } else { std::f64::consts::SQRT_2 * self.total }
    }

    fn violation(&self, p: &[f64]) -> f64 {
        if p.iter().any(|p| !p.is_finite()) {
            return f64::INFINITY;
        }
        let negative = p.iter().fold(0.0f64, |worst, p| worst.max(-p));
        let sum = accurate_sum(p.iter().copied());
        negative.max((sum - self.total).abs())
    }

    /// Clips at zero and spreads what is missing of the total evenly over the support.
    fn repair(&self, p: &mut [f64]) -> f64 {
        // there is one point
        if let [only] = p {
            let moved = (*only - self.total).abs();
            *only = self.total;
            return moved;
        }
        repair_sum(p, self.total, Sum::Exactly)
    }

    fn slack(&self) -> [f64; 2] {
        if self.dim == 1 { [0.0; 2] } else { slack(self.total) }
    }

    fn center(&self, out: &mut [f64]) {
        out.fill(self.total / self.dim as f64);
    }

    fn simplex_total(&self) -> Option<f64> {
        Some(self.total)
    }

    fn describe(&self) -> String {
        if self.total == 1.0 {
            format!("the unit simplex in dimension {}", self.dim)
        } else {
            format!("the simplex of total {} in dimension {}", self.total, self.dim)
        }
    }

    fn is_polytope(&self) -> Option<bool> {
        Some(true)
    }

    fn oracle(&self) -> Box<dyn Oracle + '_> {
        Box::new(SimplexOracle {
            set: self,
            candidates: Vec::new(),
            pairwise: Pairwise::new(Hull::Simplex, self.total),
        })
    }
}

struct SimplexOracle<'a> {
    set: &'a Simplex,
    candidates: Vec<f64>,
    pairwise: Pairwise,
}

impl Oracle for SimplexOracle<'_> {
    fn confidence(&self) -> Confidence {
        Confidence::Exact
    }

    fn lmo(&mut self, g: &[f64], p: &mut [f64]) -> Result<LinearMin> {
        check_finite("gradient", g)?;
        let best = (0..g.len()).fold(0, |best, i| if g[i] < g[best] { i } else { best });
        p.fill(0.0);
        p[best] = self.set.total;
        Ok(LinearMin::exact(self.set.total * g[best]))
    }

    fn has_prox(&self) -> bool {
        true
    }

    fn prox(&mut self, g: &[f64], q: &[f64], beta: f64, out: &mut [f64]) -> Result<f64> {
        check_finite("gradient", g)?;
        check_finite("centre of the prox", q)?;
        project_onto_simplex(g, q, beta, self.set.total, &mut self.candidates, out);
        Ok(gap_bound(g, q, beta, out))
    }

    fn has_away(&self) -> bool {
        true
    }

    fn away(&mut self, g: &[f64], u: &[f64], a: &mut [f64]) -> Result<f64> {
        check_finite("gradient", g)?;
        let worst = (0..g.len())
            .filter(|&i| u[i] > 0.0)
            .reduce(|worst, i| if g[i] > g[worst] { i } else { worst })
            .ok_or_else(|| Error::Numerical {
                what: "away oracle of the simplex",
                why: "the point has no positive entry".to_owned(),
            })?;
        a.fill(0.0);
        a[worst] = self.set.total;
        Ok(self.set.total * g[worst])
    }

    fn max_pairwise_step(&mut self, u: &[f64], p: &[f64], a: &[f64]) -> Result<f64> {
        // Along p - a the sum stays; the first entry to reach zero ends the step.
        let mut longest = f64::INFINITY;
        for i in 0..u.len() {
            let fall = a[i] - p[i];
            if fall > 0.0 {
                longest = longest.min(u[i].max(0.0) / fall);
            }
        }
        Ok(longest)
    }

    fn attend(&mut self, watch: &Watch) {
        self.pairwise.attend(watch);
    }

    fn slide(&mut self, task: &SlideTask<'_>, out: &mut [f64]) -> Result<SlideReport> {
        self.pairwise.slide(task, out)
    }

    fn sliding(&self) -> Sliding {
        Sliding::Pairwise
    }
}

/// A bound of `max over w of <g + beta (u - q), u - w>`: the gap as computed, and what rounding may
/// hide of it. As in the projection, only differences to the largest entry of `q - g/beta` count.
fn gap_bound(g: &[f64], q: &[f64], beta: f64, u: &[f64]) -> f64 {
    let top = largest(g, q, beta);
    let slope = |i: usize| {
        let (g, q) = (g[i] - g[top], q[i] - q[top]);
        let noise = 4.0 * f64::EPSILON * (g.abs() + beta * (q.abs() + u[i]));
        (g + beta * (u[i] - q), noise)
    };
    let mut lowest = f64::INFINITY;
    for i in 0..u.len() {
        let (value, noise) = slope(i);
        lowest = lowest.min(value - noise);
    }
    let mut gap = 0.0;
    for i in (0..u.len()).filter(|&i| u[i] > 0.0) {
        let (value, noise) = slope(i);
        gap += u[i] * (value + noise - lowest);
    }
    gap
}
