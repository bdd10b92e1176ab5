//! A box with one budget.

use crate::domain::kinks::root_between_kinks;
use crate::domain::plain::{PlainOracle, Work, excess, found};
use crate::domain::{BoxSet, Domain, LinearMin, Oracle};
use crate::error::{Error, Result, check_finite, check_len};
use crate::linalg::{accurate_sum, norm};

/// The part of a box where `<costs, p> <= budget`.
///
/// Linear minimisation is the fractional knapsack, in `O(n log n)`: from the best corner it moves the entries that save the most of the
/// budget for their price. The projection is `clip(v - t costs)` with `t` between two kinks of the cost, in `O(n log n)`.
///
/// ```
/// use couloir::domain::{BoxBudget, BoxSet, Domain};
/// let set = BoxBudget::new(BoxSet::cube(2, 0.0, 1.0)?, vec![1.0, 2.0], 2.0)?;
/// let mut p = [0.0; 2];
/// set.oracle().lmo(&[-1.0, -1.0], &mut p)?;
/// assert_eq!(p, [1.0, 0.5]);
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct BoxBudget {
    bounds: BoxSet,
    costs: Vec<f64>,
    budget: f64,
}

impl BoxBudget {
    /// The points of the box whose cost is at most the budget. Costs may have any sign.
    ///
    /// # Errors
    /// Another number of costs, costs or a budget that are not finite, a budget below the cost of every point.
    pub fn new(bounds: BoxSet, costs: Vec<f64>, budget: f64) -> Result<Self> {
        check_len("costs of the budget", bounds.dim(), costs.len())?;
        check_finite("costs of the budget", &costs)?;
        check_finite("budget", &[budget])?;
        let set = BoxBudget { bounds, costs, budget };
        let least = set.cost(|i| set.cheapest(i));
        if least > budget + 1e-12 * budget.abs() {
            let why =
                format!("every point of the box costs at least {least}, above the budget {budget}");
            return Err(Error::EmptySet { why });
        }
        Ok(set)
    }

    fn cost(&self, entry: impl Fn(usize) -> f64) -> f64 {
        accurate_sum((0..self.costs.len()).map(|i| self.costs[i] * entry(i)))
    }

    /// The bound of an entry that costs less.
    fn cheapest(&self, i: usize) -> f64 {
        if self.costs[i] > 0.0 { self.bounds.lower()[i] } else { self.bounds.upper()[i] }
    }
}

impl Domain for BoxBudget {
    fn dim(&self) -> usize {
        self.costs.len()
    }

    /// That of the box: a bound.
    fn diameter(&self) -> f64 {
        self.bounds.diameter()
    }

    /// The larger of what is outside of the box, and the distance from the half-space of the budget.
    fn violation(&self, p: &[f64]) -> f64 {
        let outside = self.bounds.violation(p);
        let length = norm(&self.costs);
        let over = self.cost(|i| p[i]) - self.budget;
        if length > 0.0 { outside.max(excess(over / length)) } else { outside }
    }

    /// The point nearest to the centre of the box.
    fn center(&self, out: &mut [f64]) {
        let mut middle = vec![0.0; self.dim()];
        self.bounds.center(&mut middle);
        self.nearest(&middle, &mut Vec::new(), out);
    }

    fn describe(&self) -> String {
        format!("{} within a budget of {}", self.bounds.describe(), self.budget)
    }

    fn is_polytope(&self) -> Option<bool> {
        Some(true)
    }

    fn oracle(&self) -> Box<dyn Oracle + '_> {
        let corners = self.bounds.lower().iter().zip(self.bounds.upper());
        let reach = norm(&corners.map(|(l, u)| l.abs().max(u.abs())).collect::<Vec<_>>());
        let work = Knapsack { set: self, order: Vec::new(), kinks: Vec::new(), reach };
        Box::new(PlainOracle::new(work, self.dim(), self.diameter()))
    }
}

impl BoxBudget {
    fn nearest(&self, v: &[f64], kinks: &mut Vec<f64>, out: &mut [f64]) {
        let (lower, upper) = (self.bounds.lower(), self.bounds.upper());
        let at = |t: f64, i: usize| (v[i] - t * self.costs[i]).clamp(lower[i], upper[i]);
        kinks.clear();
        kinks.push(0.0);
        for i in (0..v.len()).filter(|i| self.costs[*i] != 0.0) {
            let both = [lower[i], upper[i]].map(|bound| (v[i] - bound) / self.costs[i]);
            kinks.extend(both.into_iter().filter(|t| *t > 0.0 && t.is_finite()));
        }
        let t = root_between_kinks(kinks, self.budget, |t| self.cost(|i| at(t, i)));
        (0..v.len()).for_each(|i| out[i] = at(t, i));
    }
}

struct Knapsack<'a> {
    set: &'a BoxBudget,
    order: Vec<usize>,
    kinks: Vec<f64>,
    reach: f64,
}

impl Work for Knapsack<'_> {
    fn lmo(&mut self, g: &[f64], p: &mut [f64]) -> Result<LinearMin> {
        let BoxBudget { bounds, costs, budget } = self.set;
        for i in 0..g.len() {
            p[i] = match g[i] {
                g if g > 0.0 => bounds.lower()[i],
                g if g < 0.0 => bounds.upper()[i],
                _ => self.set.cheapest(i),
            };
        }
        let mut over = self.set.cost(|i| p[i]) - budget;
        if over > 0.0 {
            self.order.clear();
            self.order.extend(
                (0..g.len()).filter(|i| p[*i] != self.set.cheapest(*i) && costs[*i] != 0.0),
            );
            let price = |i: usize| (g[i] / costs[i]).abs();
            self.order.sort_unstable_by(|i, j| price(*i).total_cmp(&price(*j)));
            for &i in &self.order {
                let goal = self.set.cheapest(i);
                let saves = ((p[i] - goal) * costs[i]).abs();
                if saves >= over {
                    p[i] += (goal - p[i]) * (over / saves);
                    break;
                }
                over -= saves;
                p[i] = goal;
            }
        }
        Ok(found(g, p, 4 * g.len(), self.reach))
    }

    fn projects(&self) -> bool {
        true
    }

    fn project(&mut self, v: &[f64], out: &mut [f64]) -> Result<()> {
        self.set.nearest(v, &mut self.kinks, out);
        Ok(())
    }
}
