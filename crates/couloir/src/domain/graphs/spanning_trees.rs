//! Spanning trees.

use super::max_flow::Network;
use crate::domain::plain::{PlainOracle, Work, excess, found};
use crate::domain::{Domain, LinearMin, Oracle};
use crate::error::{Error, Result, check_finite};

/// The convex hull of the spanning trees of an undirected graph, each as ones on its edges.
///
/// Linear minimisation is Kruskal's method, in `O(m log m)`. Membership, `p >= 0`, `sum of p = nodes - 1` and
/// `p(edges within S) <= |S| - 1` for all sets of nodes, is tested by one largest flow for each node. There is no projection.
///
/// ```
/// use couloir::domain::{Domain, SpanningTrees};
/// let set = SpanningTrees::new(3, vec![(0, 1), (1, 2), (2, 0)])?;
/// let mut p = [0.0; 3];
/// set.oracle().lmo(&[1.0, 5.0, 2.0], &mut p)?;
/// assert_eq!(p, [1.0, 0.0, 1.0]);
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SpanningTrees {
    nodes: usize,
    edges: Vec<(usize, usize)>,
}

impl SpanningTrees {
    /// The spanning trees of the graph with nodes `0..nodes` and these edges.
    ///
    /// # Errors
    /// An edge at a node that is not there, or a graph that is not connected.
    pub fn new(nodes: usize, edges: Vec<(usize, usize)>) -> Result<Self> {
        if let Some(k) = edges.iter().position(|(a, b)| *a >= nodes || *b >= nodes) {
            let (a, b) = edges[k];
            let why = format!("edge {k} joins nodes {a} and {b}, but there are {nodes} nodes");
            return Err(Error::Setting { name: "edges", why });
        }
        if nodes < 2 {
            return Err(Error::EmptySet { why: format!("spanning trees of {nodes} nodes") });
        }
        let set = SpanningTrees { nodes, edges };
        let all: Vec<usize> = (0..set.edges.len()).collect();
        let tree = set.greedy(&all).count();
        if tree + 1 < nodes {
            let why = format!("the graph has {} parts that no edge joins", nodes - tree);
            return Err(Error::EmptySet { why });
        }
        Ok(set)
    }

    /// Of the edges in this order, those that join what was not joined before.
    fn greedy<'a>(&'a self, order: &'a [usize]) -> impl Iterator<Item = usize> + 'a {
        let mut parent: Vec<usize> = (0..self.nodes).collect();
        let root = |parent: &mut Vec<usize>, mut node: usize| {
            while parent[node] != node {
                parent[node] = parent[parent[node]];
                node = parent[node];
            }
            node
        };
        order.iter().copied().filter(move |edge| {
            let (a, b) = self.edges[*edge];
            let (a, b) = (root(&mut parent, a), root(&mut parent, b));
            parent[a] = b;
            a != b
        })
    }

    /// The largest `p(edges within S) - |S| + 1` over sets `S` that contain `node`, by a least cut: an edge within `S` is a gain, a
    /// node of `S` has a price of 1.
    fn excess_around(&self, node: usize, p: &[f64]) -> f64 {
        let (source, sink) = (self.nodes + self.edges.len(), self.nodes + self.edges.len() + 1);
        let mut network = Network::new(sink + 1, 1e-14);
        let mut gains = 0.0;
        for (k, (a, b)) in self.edges.iter().enumerate() {
            let gain = p[k].max(0.0);
            gains += gain;
            network.add(source, self.nodes + k, gain);
            network.add(self.nodes + k, *a, f64::INFINITY);
            network.add(self.nodes + k, *b, f64::INFINITY);
        }
        for v in (0..self.nodes).filter(|v| *v != node) {
            network.add(v, sink, 1.0);
        }
        gains - network.largest(source, sink)
    }
}

impl Domain for SpanningTrees {
    fn dim(&self) -> usize {
        self.edges.len()
    }

    fn diameter(&self) -> f64 {
        let changed = (self.nodes - 1).min(self.edges.len() + 1 - self.nodes);
        (2.0 * changed as f64).sqrt()
    }

    fn violation(&self, p: &[f64]) -> f64 {
        if check_finite("point", p).is_err() {
            return f64::INFINITY;
        }
        let simple = p
            .iter()
            .fold((p.iter().sum::<f64>() - (self.nodes - 1) as f64).abs(), |w, p| w.max(-p));
        let subset = (0..self.nodes).map(|v| self.excess_around(v, p)).fold(0.0, f64::max);
        // the flows leave out capacities of the size of rounding
        let noise = 1e-13 * self.edges.len() as f64;
        simple.max(if subset > noise { excess(subset) } else { 0.0 })
    }

    /// A tree.
    fn center(&self, out: &mut [f64]) {
        let all: Vec<usize> = (0..self.edges.len()).collect();
        out.fill(0.0);
        self.greedy(&all).for_each(|edge| out[edge] = 1.0);
    }

    fn describe(&self) -> String {
        format!("the spanning trees of {} nodes and {} edges", self.nodes, self.edges.len())
    }

    fn is_polytope(&self) -> Option<bool> {
        Some(true)
    }

    fn oracle(&self) -> Box<dyn Oracle + '_> {
        Box::new(PlainOracle::new(
            Kruskal { set: self, order: Vec::new() },
            self.dim(),
            self.diameter(),
        ))
    }
}

struct Kruskal<'a> {
    set: &'a SpanningTrees,
    order: Vec<usize>,
}

impl Work for Kruskal<'_> {
    fn lmo(&mut self, g: &[f64], p: &mut [f64]) -> Result<LinearMin> {
        self.order.clear();
        self.order.extend(0..g.len());
        self.order.sort_unstable_by(|i, j| g[*i].total_cmp(&g[*j]));
        p.fill(0.0);
        self.set.greedy(&self.order).for_each(|edge| p[edge] = 1.0);
        Ok(found(g, p, self.set.nodes, (self.set.nodes as f64).sqrt()))
    }
}
