//! Matchings in bipartite graphs.

use crate::domain::plain::{PlainOracle, Work, excess};
use crate::domain::polytopes::Assigner;
use crate::domain::{Domain, LinearMin, Oracle};
use crate::error::{Error, Result, check_finite};
use crate::linalg::{dot, norm};

/// The convex hull of the matchings of a bipartite graph, each as ones on its edges: `p >= 0`, and at most 1 in sum at every node.
///
/// Linear minimisation is an assignment of the smaller side in which edges of positive cost are left out, in
/// `O(left^2 right)` for `left <= right`. There is no projection in closed form. Where all nodes of the smaller side must be matched and
/// every pair is allowed, take [`Birkhoff`](crate::domain::Birkhoff).
///
/// ```
/// use couloir::domain::{Domain, Matchings};
/// let set = Matchings::new(2, 2, vec![(0, 0), (0, 1), (1, 0)])?;
/// let mut p = [0.0; 3];
/// let minimum = set.oracle().lmo(&[-3.0, -2.0, -2.0], &mut p)?;
/// assert_eq!((p, minimum.value), ([0.0, 1.0, 1.0], -4.0));
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Matchings {
    left: usize,
    right: usize,
    edges: Vec<(usize, usize)>,
}

/// Pairs of nodes for which costs are kept: 1.6 GB of them.
const MOST_PAIRS: usize = 100_000_000;

impl Matchings {
    /// The matchings of the graph with so many nodes on either side; an edge names its left and its right node.
    ///
    /// # Errors
    /// No edges, or one at a node that is not there; more than a hundred million pairs of nodes.
    pub fn new(left: usize, right: usize, edges: Vec<(usize, usize)>) -> Result<Self> {
        if edges.is_empty() {
            return Err(Error::EmptySet { why: "matchings in a graph without edges".to_owned() });
        }
        if let Some(k) = edges.iter().position(|(a, b)| *a >= left || *b >= right) {
            let (a, b) = edges[k];
            let why = format!(
                "edge {k} joins nodes {a} and {b}, but there are {left} nodes on the left and {right} on the right"
            );
            return Err(Error::Setting { name: "edges", why });
        }
        if left.checked_mul(right).is_none_or(|pairs| pairs > MOST_PAIRS) {
            let why = format!(
                "{left} nodes on the left and {right} on the right make more than {MOST_PAIRS} pairs; leave out nodes without edges"
            );
            return Err(Error::Setting { name: "edges", why });
        }
        Ok(Matchings { left, right, edges })
    }

    /// The most edges of a matching, or a bound of it.
    fn most(&self) -> f64 {
        self.left.min(self.right).min(self.edges.len()) as f64
    }
}

impl Domain for Matchings {
    fn dim(&self) -> usize {
        self.edges.len()
    }

    /// A bound: matchings differ in the edges that only one of them has.
    fn diameter(&self) -> f64 {
        (2.0 * self.most()).min(self.dim() as f64).sqrt()
    }

    fn violation(&self, p: &[f64]) -> f64 {
        if check_finite("point", p).is_err() {
            return f64::INFINITY;
        }
        let mut sums = vec![0.0; self.left + self.right];
        let mut worst = 0.0f64;
        for ((a, b), p) in self.edges.iter().zip(p) {
            sums[*a] += p;
            sums[self.left + b] += p;
            worst = worst.max(-p);
        }
        sums.into_iter().fold(worst, |worst, sum| worst.max(excess(sum - 1.0)))
    }

    /// No edge.
    fn center(&self, out: &mut [f64]) {
        out.fill(0.0);
    }

    fn describe(&self) -> String {
        let Matchings { left, right, edges } = self;
        format!("the matchings of {left} and {right} nodes along {} edges", edges.len())
    }

    fn is_polytope(&self) -> Option<bool> {
        Some(true)
    }

    fn oracle(&self) -> Box<dyn Oracle + '_> {
        let work = BestMatching {
            set: self,
            assigner: Assigner::default(),
            costs: Vec::new(),
            edge_of: Vec::new(),
        };
        Box::new(PlainOracle::new(work, self.dim(), self.diameter()))
    }
}

struct BestMatching<'a> {
    set: &'a Matchings,
    assigner: Assigner,
    /// For every pair of nodes, the smaller side in rows: the least negative cost and its edge.
    costs: Vec<f64>,
    edge_of: Vec<usize>,
}

impl Work for BestMatching<'_> {
    fn lmo(&mut self, g: &[f64], p: &mut [f64]) -> Result<LinearMin> {
        let Matchings { left, right, edges } = self.set;
        let (rows, columns) = (*left.min(right), *left.max(right));
        self.costs.clear();
        self.costs.resize(rows * columns, 0.0);
        self.edge_of.clear();
        self.edge_of.resize(rows * columns, usize::MAX);
        for (k, (a, b)) in edges.iter().enumerate() {
            let at = if left <= right { a * columns + b } else { b * columns + a };
            if g[k] < self.costs[at] {
                (self.costs[at], self.edge_of[at]) = (g[k], k);
            }
        }
        let bound = self.assigner.solve(&self.costs, rows, columns);
        p.fill(0.0);
        for (i, j) in self.assigner.columns.iter().enumerate() {
            let edge = self.edge_of[i * columns + j];
            if edge != usize::MAX {
                p[edge] = 1.0;
            }
        }
        let value = dot(g, p);
        let most = self.set.most();
        let largest = g.iter().fold(0.0f64, |m, g| m.max(-g));
        let rounding = 8.0 * f64::EPSILON * (rows * rows) as f64 * largest
            + f64::EPSILON * 64.0 * norm(g) * most.sqrt();
        Ok(LinearMin { lower: bound.min(value) - rounding, ..LinearMin::exact(value) })
    }
}
