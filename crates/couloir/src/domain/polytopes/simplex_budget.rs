//! A simplex with one budget.

use crate::domain::plain::{PlainOracle, Work, excess, found};
use crate::domain::threshold::project_onto_simplex;
use crate::domain::{Domain, LinearMin, Oracle, Simplex};
use crate::error::{Error, Result, check_finite, check_len};
use crate::linalg::{dot, norm};

/// Halvings of the interval of the multiplier: more than a double has digits.
const HALVINGS: u32 = 200;

/// The part of a simplex where `<costs, p> <= budget`.
///
/// A vertex has one entry, or two that use up the budget. Linear minimisation looks for the best two by the multiplier of the budget,
/// with a few passes over the entries; the projection bisects the multiplier, with a projection on the simplex for each.
///
/// ```
/// use couloir::domain::{Domain, Simplex, SimplexBudget};
/// let set = SimplexBudget::new(Simplex::new(2)?, vec![1.0, 3.0], 2.0)?;
/// let mut p = [0.0; 2];
/// set.oracle().lmo(&[0.0, -1.0], &mut p)?;
/// assert_eq!(p, [0.5, 0.5]);
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SimplexBudget {
    simplex: Simplex,
    costs: Vec<f64>,
    budget: f64,
}

impl SimplexBudget {
    /// The points of the simplex whose cost is at most the budget. Costs may have any sign.
    ///
    /// # Errors
    /// Another number of costs, costs or a budget that are not finite, a budget below the cost of every point.
    pub fn new(simplex: Simplex, costs: Vec<f64>, budget: f64) -> Result<Self> {
        check_len("costs of the budget", simplex.dim(), costs.len())?;
        check_finite("costs of the budget", &costs)?;
        check_finite("budget", &[budget])?;
        let set = SimplexBudget { simplex, costs, budget };
        let least = set.costs[set.cheapest()] * set.simplex.total();
        if least > budget + 1e-12 * budget.abs() {
            let why = format!(
                "every point of the simplex costs at least {least}, above the budget {budget}"
            );
            return Err(Error::EmptySet { why });
        }
        Ok(set)
    }

    /// What an entry may cost on average.
    fn share(&self) -> f64 {
        self.budget / self.simplex.total()
    }

    fn cheapest(&self) -> usize {
        least(self.costs.len(), |i| (self.costs[i], 0.0))
    }

    /// The projection of `v - t costs` on the simplex; returns its cost.
    fn nearest_at(&self, v: &[f64], t: f64, scratch: &mut Vec<f64>, out: &mut [f64]) -> f64 {
        let g: Vec<f64> = self.costs.iter().map(|c| t * c).collect();
        project_onto_simplex(&g, v, 1.0, self.simplex.total(), scratch, out);
        dot(&self.costs, out)
    }
}

/// The place of the least pair.
fn least(n: usize, of: impl Fn(usize) -> (f64, f64)) -> usize {
    (0..n).fold(0, |best, i| if of(i) < of(best) { i } else { best })
}

impl Domain for SimplexBudget {
    fn dim(&self) -> usize {
        self.costs.len()
    }

    /// That of the simplex: a bound.
    fn diameter(&self) -> f64 {
        self.simplex.diameter()
    }

    /// The larger of what is outside of the simplex, and the distance from the half-space of the budget.
    fn violation(&self, p: &[f64]) -> f64 {
        let (outside, length) = (self.simplex.violation(p), norm(&self.costs));
        let over = dot(&self.costs, p) - self.budget;
        if length > 0.0 { outside.max(excess(over / length)) } else { outside }
    }

    /// The centre of the simplex, moved to its cheapest vertex as far as the budget demands.
    fn center(&self, out: &mut [f64]) {
        self.simplex.center(out);
        let cheapest = self.cheapest();
        let (least, here) = (self.costs[cheapest] * self.simplex.total(), dot(&self.costs, out));
        if here > self.budget {
            let keep = ((self.budget - least) / (here - least)).clamp(0.0, 1.0);
            out.iter_mut().for_each(|o| *o *= keep);
            out[cheapest] += (1.0 - keep) * self.simplex.total();
        }
    }

    fn describe(&self) -> String {
        format!("{} within a budget of {}", self.simplex.describe(), self.budget)
    }

    fn is_polytope(&self) -> Option<bool> {
        Some(true)
    }

    fn oracle(&self) -> Box<dyn Oracle + '_> {
        let work = TwoEntries { set: self, scratch: Vec::new() };
        Box::new(PlainOracle::new(work, self.dim(), self.diameter()))
    }
}

struct TwoEntries<'a> {
    set: &'a SimplexBudget,
    scratch: Vec<f64>,
}

impl Work for TwoEntries<'_> {
    /// Goes from the best vertex `i`, if it costs too much, and the cheapest one `j` along the lower envelope of the lines
    /// `g_k + t cost_k`: where they cross, either no line is below, or the one below takes the place of `i` or `j`.
    fn lmo(&mut self, g: &[f64], p: &mut [f64]) -> Result<LinearMin> {
        let SimplexBudget { simplex, costs, .. } = self.set;
        let (n, total, share) = (g.len(), simplex.total(), self.set.share());
        p.fill(0.0);
        let mut over = least(n, |k| (g[k], costs[k]));
        if costs[over] <= share {
            p[over] = total;
            return Ok(found(g, p, n, total));
        }
        let mut within = least(n, |k| (costs[k], g[k]));
        for _ in 0..4 * n + 4 {
            let t = (g[within] - g[over]) / (costs[over] - costs[within]);
            let level = |k: usize| g[k] + t * costs[k];
            let best = least(n, |k| (level(k), 0.0));
            let noise = 8.0
                * f64::EPSILON
                * (g[best].abs() + t * costs[best].abs() + g[over].abs() + t * costs[over].abs());
            if level(best) >= level(over).min(level(within)) - noise
                || best == over
                || best == within
            {
                break;
            }
            *(if costs[best] > share { &mut over } else { &mut within }) = best;
        }
        let of_over = ((share - costs[within]) / (costs[over] - costs[within])).clamp(0.0, 1.0);
        p[over] = total * of_over;
        p[within] = total * (1.0 - of_over);
        Ok(found(g, p, 8 * n, total))
    }

    fn projects(&self) -> bool {
        true
    }

    fn project(&mut self, v: &[f64], out: &mut [f64]) -> Result<()> {
        let TwoEntries { set, scratch } = self;
        if set.nearest_at(v, 0.0, scratch, out) <= set.budget {
            return Ok(());
        }
        let (mut low, mut high) = (0.0, 1.0);
        while set.nearest_at(v, high, scratch, out) > set.budget {
            low = high;
            high *= 2.0;
            if !(high < 1e100) {
                // the budget is what the cheapest entries cost, up to rounding
                return Ok(());
            }
        }
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            if middle <= low || middle >= high {
                break;
            }
            let cost = set.nearest_at(v, middle, scratch, out);
            *(if cost > set.budget { &mut low } else { &mut high }) = middle;
        }
        set.nearest_at(v, high, scratch, out);
        Ok(())
    }
}
