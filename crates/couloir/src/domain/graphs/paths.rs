//! Paths from one node to another.

use super::Graph;
use crate::domain::plain::{PlainOracle, Work, excess, found};
use crate::domain::{Domain, LinearMin, Oracle};
use crate::error::{Error, Result, check_finite};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The convex hull of the paths from one node to another, each as ones on its arcs.
///
/// In a graph without cycles, linear minimisation goes through the nodes in topological order, in `O(arcs)`, for costs of any sign. In a
/// graph with cycles it is Dijkstra's method for costs that are not negative, and otherwise the method of Bellman and Ford, with an
/// error where a cycle has a negative cost: then the cheapest path without cycles is out of reach, and [`Flows`](super::Flows) are
/// the set to take. There is no projection.
///
/// Membership is tested as a flow of value 1 with entries from 0 to 1. Without cycles these are the points of the set; with cycles
/// a circulation goes unnoticed.
///
/// ```
/// use couloir::domain::{Domain, Graph, Paths};
/// let graph = Graph::new(3, vec![(0, 1), (1, 2), (0, 2)])?;
/// let set = Paths::new(graph, 0, 2)?;
/// let mut p = [0.0; 3];
/// let minimum = set.oracle().lmo(&[1.0, 1.0, 3.0], &mut p)?;
/// assert_eq!((p, minimum.value), ([1.0, 1.0, 0.0], 2.0));
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Paths {
    graph: Graph,
    from: usize,
    to: usize,
    order: Option<Vec<usize>>,
    /// The most arcs of a path, or a bound of it.
    longest: f64,
}

impl Paths {
    /// The paths of this graph from one node to another.
    ///
    /// # Errors
    /// Nodes that are not there, or the same twice; no path between them.
    pub fn new(graph: Graph, from: usize, to: usize) -> Result<Self> {
        graph.check_ends(from, to)?;
        let order = graph.topological_order();
        let mut set = Paths { graph, from, to, order, longest: 0.0 };
        let arcs = set.graph.arcs().len();
        let mut tree = Tree::new(set.graph.nodes());
        tree.grow(&set, &vec![-1.0; arcs], &vec![1.0; arcs])?;
        if tree.cost[to] == f64::INFINITY {
            return Err(Error::EmptySet { why: format!("no path from node {from} to node {to}") });
        }
        set.longest = match set.order {
            Some(_) => -tree.cost[to],
            None => arcs.min(set.graph.nodes() - 1) as f64,
        };
        Ok(set)
    }

    /// The graph.
    #[must_use]
    pub fn graph(&self) -> &Graph {
        &self.graph
    }
}

impl Domain for Paths {
    fn dim(&self) -> usize {
        self.graph.arcs().len()
    }

    /// A bound: paths differ in the arcs that only one of them has.
    fn diameter(&self) -> f64 {
        (2.0 * self.longest).min(self.dim() as f64).sqrt()
    }

    fn violation(&self, p: &[f64]) -> f64 {
        if check_finite("point", p).is_err() {
            return f64::INFINITY;
        }
        let outside = p.iter().map(|p| excess((-p).max(p - 1.0))).fold(0.0, f64::max);
        outside.max(self.graph.imbalance(p, self.from, self.to, 1.0))
    }

    /// A path of fewest arcs.
    fn center(&self, out: &mut [f64]) {
        let mut tree = Tree::new(self.graph.nodes());
        let ones = vec![1.0; self.dim()];
        if tree.grow(self, &ones, &ones).is_ok() {
            tree.write(self, out);
        }
    }

    fn describe(&self) -> String {
        let (nodes, arcs) = (self.graph.nodes(), self.dim());
        format!(
            "the paths from node {} to {} in a graph of {nodes} nodes and {arcs} arcs",
            self.from, self.to
        )
    }

    fn is_polytope(&self) -> Option<bool> {
        Some(true)
    }

    fn oracle(&self) -> Box<dyn Oracle + '_> {
        let work = ShortestPath { set: self, tree: Tree::new(self.graph.nodes()) };
        Box::new(PlainOracle::new(work, self.dim(), self.diameter()))
    }
}

/// The cheapest ways from the first node.
struct Tree {
    cost: Vec<f64>,
    /// The last arc on the way to each node.
    arc: Vec<usize>,
    heap: BinaryHeap<(Reverse<Ordered>, usize)>,
}

/// A number that can be compared with all others.
#[derive(Clone, Copy, PartialEq)]
struct Ordered(f64);

impl Eq for Ordered {}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl Tree {
    fn new(nodes: usize) -> Self {
        Tree { cost: vec![0.0; nodes], arc: vec![usize::MAX; nodes], heap: BinaryHeap::new() }
    }

    /// With the costs `g`, or where there are cycles with `or`.
    fn grow(&mut self, set: &Paths, g: &[f64], or: &[f64]) -> Result<()> {
        self.cost.fill(f64::INFINITY);
        self.arc.fill(usize::MAX);
        self.cost[set.from] = 0.0;
        match &set.order {
            Some(order) => {
                for node in order {
                    if self.cost[*node] < f64::INFINITY {
                        self.relax(&set.graph, *node, g, |_, _| {});
                    }
                }
                Ok(())
            }
            None if or.iter().all(|g| *g >= 0.0) => {
                self.by_dijkstra(set, or);
                Ok(())
            }
            None => self.by_bellman_ford(set, or),
        }
    }

    /// Looks at the arcs that leave a node; tells of the heads that are now cheaper.
    fn relax(&mut self, graph: &Graph, node: usize, g: &[f64], mut tell: impl FnMut(f64, usize)) {
        for arc in graph.leaving(node) {
            let (to, cost) = (graph.arcs()[*arc].1, self.cost[node] + g[*arc]);
            if cost < self.cost[to] {
                (self.cost[to], self.arc[to]) = (cost, *arc);
                tell(cost, to);
            }
        }
    }

    fn by_dijkstra(&mut self, set: &Paths, g: &[f64]) {
        let mut heap = std::mem::take(&mut self.heap);
        heap.clear();
        heap.push((Reverse(Ordered(0.0)), set.from));
        while let Some((Reverse(Ordered(cost)), node)) = heap.pop() {
            if node == set.to {
                break;
            }
            if cost <= self.cost[node] {
                self.relax(&set.graph, node, g, |cost, to| {
                    heap.push((Reverse(Ordered(cost)), to));
                });
            }
        }
        self.heap = heap;
    }

    /// With a queue of the nodes whose cost has fallen; after as many rounds as nodes some cycle is negative.
    fn by_bellman_ford(&mut self, set: &Paths, g: &[f64]) -> Result<()> {
        let nodes = set.graph.nodes();
        let (mut queue, mut waits) = (VecDeque::from([set.from]), vec![false; nodes]);
        let mut turns = vec![0; nodes];
        while let Some(node) = queue.pop_front() {
            waits[node] = false;
            turns[node] += 1;
            if turns[node] > nodes {
                return Err(Error::Setting {
                    name: "costs of paths",
                    why: format!(
                        "a cycle that the paths from node {} can reach has a negative cost, so that there is no \
                         cheapest path; take costs that are not negative, a graph without cycles, or flows",
                        set.from
                    ),
                });
            }
            self.relax(&set.graph, node, g, |_, to| {
                if !waits[to] {
                    waits[to] = true;
                    queue.push_back(to);
                }
            });
        }
        Ok(())
    }

    fn write(&self, set: &Paths, p: &mut [f64]) {
        p.fill(0.0);
        let mut node = set.to;
        while node != set.from && self.arc[node] != usize::MAX {
            let arc = self.arc[node];
            p[arc] = 1.0;
            node = set.graph.arcs()[arc].0;
        }
    }
}

struct ShortestPath<'a> {
    set: &'a Paths,
    tree: Tree,
}

impl Work for ShortestPath<'_> {
    fn lmo(&mut self, g: &[f64], p: &mut [f64]) -> Result<LinearMin> {
        self.tree.grow(self.set, g, g)?;
        self.tree.write(self.set, p);
        Ok(found(g, p, 2 * self.set.longest as usize, self.set.longest.sqrt()))
    }
}
