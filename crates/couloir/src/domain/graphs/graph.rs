//! Directed graphs.

use crate::error::{Error, Result};

/// A directed graph. Points of sets over it have one entry for each arc, in the order in which the arcs were given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    nodes: usize,
    arcs: Vec<(usize, usize)>,
    /// The arcs that leave each node: `leaving[first[v]..first[v + 1]]`.
    first: Vec<usize>,
    leaving: Vec<usize>,
}

impl Graph {
    /// The graph with nodes `0..nodes` and these arcs, each from its first to its second node.
    ///
    /// # Errors
    /// No nodes or arcs, or an arc at a node that is not there.
    pub fn new(nodes: usize, arcs: Vec<(usize, usize)>) -> Result<Self> {
        if nodes == 0 || arcs.is_empty() {
            let why = format!("a graph with {nodes} nodes and {} arcs", arcs.len());
            return Err(Error::EmptySet { why });
        }
        if let Some(k) = arcs.iter().position(|(from, to)| *from >= nodes || *to >= nodes) {
            let (from, to) = arcs[k];
            let why = format!(
                "arc {k} goes from node {from} to node {to}, but the nodes are 0 to {}",
                nodes - 1
            );
            return Err(Error::Setting { name: "arcs", why });
        }
        let mut first = vec![0; nodes + 1];
        arcs.iter().for_each(|(from, _)| first[from + 1] += 1);
        (0..nodes).for_each(|v| first[v + 1] += first[v]);
        let mut next = first.clone();
        let mut leaving = vec![0; arcs.len()];
        for (k, (from, _)) in arcs.iter().enumerate() {
            leaving[next[*from]] = k;
            next[*from] += 1;
        }
        Ok(Graph { nodes, arcs, first, leaving })
    }

    /// The number of nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// The arcs.
    #[must_use]
    pub fn arcs(&self) -> &[(usize, usize)] {
        &self.arcs
    }

    /// The numbers of the arcs that leave a node.
    pub(super) fn leaving(&self, node: usize) -> &[usize] {
        &self.leaving[self.first[node]..self.first[node + 1]]
    }

    /// The nodes in an order in which all arcs go forward; none where there is a cycle.
    pub(super) fn topological_order(&self) -> Option<Vec<usize>> {
        let mut entering = vec![0; self.nodes];
        self.arcs.iter().for_each(|(_, to)| entering[*to] += 1);
        let mut order: Vec<usize> = (0..self.nodes).filter(|v| entering[*v] == 0).collect();
        let mut at = 0;
        while at < order.len() {
            for arc in self.leaving(order[at]) {
                let to = self.arcs[*arc].1;
                entering[to] -= 1;
                if entering[to] == 0 {
                    order.push(to);
                }
            }
            at += 1;
        }
        (order.len() == self.nodes).then_some(order)
    }

    /// Fails unless both are nodes, and different.
    pub(super) fn check_ends(&self, from: usize, to: usize) -> Result<()> {
        let why = if from >= self.nodes || to >= self.nodes {
            format!("must be nodes 0 to {}, got {from} and {to}", self.nodes - 1)
        } else if from == to {
            format!("must be different nodes, got {from} twice")
        } else {
            return Ok(());
        };
        Err(Error::Setting { name: "from and to", why })
    }

    /// How far `p` is from a flow of this value: the largest imbalance of a node.
    pub(super) fn imbalance(&self, p: &[f64], from: usize, to: usize, value: f64) -> f64 {
        let mut net = vec![0.0; self.nodes];
        net[from] -= value;
        net[to] += value;
        for ((tail, head), p) in self.arcs.iter().zip(p) {
            net[*tail] += p;
            net[*head] -= p;
        }
        net.into_iter().fold(0.0, |worst, net| worst.max(net.abs()))
    }
}
