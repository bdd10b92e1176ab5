//! The strategies of a player with perfect recall, in sequence form.

use super::treeplex_projection::project;
use crate::domain::plain::{PlainOracle, Work, excess};
use crate::domain::{Domain, LinearMin, Oracle};
use crate::error::{Error, Result, check_finite};
use crate::linalg::{dot, norm};

/// A place where a player acts and cannot tell what the others did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InformationSet {
    /// The player's own last sequence before it: 0 for the empty one.
    pub parent: usize,
    /// The number of actions.
    pub actions: usize,
}

/// A treeplex: the strategies of a player of an extensive-form game with perfect recall, as weights of *sequences* of the player's own
/// actions (von Stengel 1996).
///
/// Sequence 0 is the empty one, of weight 1. Each information set, in the order given, adds one sequence for each of its actions; their
/// weights are not negative and add up to the weight of its parent. Linear minimisation goes once up and once down the tree, in `O(n)`.
/// So does the projection, which adds up piecewise linear slopes on its way: it takes about `O(n depth)`.
///
/// ```
/// use couloir::domain::{Domain, InformationSet, Treeplex};
/// // two actions, and after the first of them (sequence 1) two more
/// let root = InformationSet { parent: 0, actions: 2 };
/// let then = InformationSet { parent: 1, actions: 2 };
/// let set = Treeplex::new(vec![root, then])?;
/// let mut p = [0.0; 5];
/// let minimum = set.oracle().lmo(&[0.0, 2.0, 1.5, -1.0, 0.0], &mut p)?;
/// assert_eq!(p, [1.0, 1.0, 0.0, 1.0, 0.0]);
/// assert_eq!(minimum.value, 1.0);
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Treeplex {
    sets: Vec<InformationSet>,
    /// The first sequence of each set.
    first: Vec<usize>,
    dim: usize,
    /// The most sequences, the empty one included, that a strategy without chance uses.
    most: f64,
}

impl Treeplex {
    /// The strategies over these information sets; parents come before their children.
    ///
    /// # Errors
    /// An information set without actions, or whose parent is not the empty sequence or one of a set before it.
    pub fn new(sets: Vec<InformationSet>) -> Result<Self> {
        let mut dim = 1usize;
        let mut first = Vec::with_capacity(sets.len());
        for (k, set) in sets.iter().enumerate() {
            if set.actions == 0 {
                return Err(Error::EmptySet { why: format!("information set {k} has no actions") });
            }
            if set.parent >= dim {
                let why = format!(
                    "the parent of set {k} is sequence {}, but the sets before it have sequences 0 to {}",
                    set.parent,
                    dim - 1
                );
                return Err(Error::Setting { name: "information sets", why });
            }
            first.push(dim);
            dim += set.actions;
        }
        let mut treeplex = Treeplex { sets, first, dim, most: 0.0 };
        treeplex.most = -treeplex.values(&vec![-1.0; dim])[0];
        Ok(treeplex)
    }

    /// The information sets.
    #[must_use]
    pub fn information_sets(&self) -> &[InformationSet] {
        &self.sets
    }

    /// The sequences of information set `k`, one for each action.
    #[must_use]
    pub fn sequences(&self, k: usize) -> std::ops::Range<usize> {
        self.first[k]..self.first[k] + self.sets[k].actions
    }

    /// For every sequence the least sum of `g` over it and what can follow.
    fn values(&self, g: &[f64]) -> Vec<f64> {
        let mut values = g.to_vec();
        for k in (0..self.sets.len()).rev() {
            let best = values[self.sequences(k)].iter().copied().fold(f64::INFINITY, f64::min);
            values[self.sets[k].parent] += best;
        }
        values
    }
}

impl Domain for Treeplex {
    fn dim(&self) -> usize {
        self.dim
    }

    /// A bound: two strategies without chance differ by ones in the sequences that either uses, but for the empty one.
    fn diameter(&self) -> f64 {
        (2.0 * (self.most - 1.0)).min(self.dim as f64 - 1.0).sqrt()
    }

    fn violation(&self, p: &[f64]) -> f64 {
        if check_finite("point", p).is_err() {
            return f64::INFINITY;
        }
        let negative = p.iter().fold((p[0] - 1.0).abs(), |worst, p| worst.max(-p));
        let of =
            |k: usize| (p[self.sequences(k)].iter().sum::<f64>() - p[self.sets[k].parent]).abs();
        (0..self.sets.len()).map(|k| excess(of(k))).fold(negative, f64::max)
    }

    /// Every action with the same probability.
    fn center(&self, out: &mut [f64]) {
        out[0] = 1.0;
        for (k, set) in self.sets.iter().enumerate() {
            let share = out[set.parent] / set.actions as f64;
            out[self.sequences(k)].fill(share);
        }
    }

    fn describe(&self) -> String {
        format!("a treeplex of {} information sets and {} sequences", self.sets.len(), self.dim)
    }

    fn is_polytope(&self) -> Option<bool> {
        Some(true)
    }

    fn oracle(&self) -> Box<dyn Oracle + '_> {
        Box::new(PlainOracle::new(UpAndDown(self), self.dim, self.diameter()))
    }
}

struct UpAndDown<'a>(&'a Treeplex);

impl Work for UpAndDown<'_> {
    fn lmo(&mut self, g: &[f64], p: &mut [f64]) -> Result<LinearMin> {
        let set = self.0;
        let values = set.values(g);
        p.fill(0.0);
        p[0] = 1.0;
        for (k, info) in set.sets.iter().enumerate() {
            if p[info.parent] > 0.0 {
                let choices = set.sequences(k);
                let start = choices.start;
                let best =
                    choices.fold(start, |best, s| if values[s] < values[best] { s } else { best });
                p[best] = 1.0;
            }
        }
        let value = dot(g, p);
        let rounding = f64::EPSILON * (2 * set.dim + 8) as f64 * norm(g) * set.most.sqrt();
        Ok(LinearMin { lower: value - rounding, ..LinearMin::exact(value) })
    }

    fn projects(&self) -> bool {
        true
    }

    fn project(&mut self, v: &[f64], out: &mut [f64]) -> Result<()> {
        project(self.0, v, out);
        Ok(())
    }
}
