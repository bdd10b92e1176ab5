//! Flows of a given value.

use super::Graph;
use crate::domain::plain::{PlainOracle, Work, excess};
use crate::domain::{Domain, LinearMin, Oracle};
use crate::error::{Error, Result, check_finite, check_len, check_positive};
use crate::linalg::{dot, norm};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Flows from one node to another of a given value: `0 <= p <= capacity`, with balance at every other node.
///
/// Linear minimisation is a cheapest flow by successive shortest paths, for costs of any sign: arcs of negative cost start full. Its
/// lower bound comes from the potentials of the nodes. With integer capacities and value the vertices are integers. There is no projection.
///
/// ```
/// use couloir::domain::{Domain, Flows, Graph};
/// let graph = Graph::new(3, vec![(0, 1), (1, 2), (0, 2)])?;
/// let set = Flows::new(graph, vec![1.0, 1.0, 5.0], 0, 2, 3.0)?;
/// let mut p = [0.0; 3];
/// let minimum = set.oracle().lmo(&[1.0, 1.0, 3.0], &mut p)?;
/// assert_eq!((p, minimum.value), ([1.0, 1.0, 2.0], 8.0));
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Flows {
    graph: Graph,
    capacities: Vec<f64>,
    from: usize,
    to: usize,
    value: f64,
}

/// The largest capacity in units of the value.
const MOST_FREE: f64 = 1e4;

impl Flows {
    /// The flows of this value from one node to another.
    ///
    /// # Errors
    /// Another number of capacities, capacities that are negative or not finite, nodes that are not there or the same, a value that is not
    /// positive and finite, or more than the capacities let through; capacities so large beside the value that rounding in them would
    /// hide it (more than ten thousand times).
    pub fn new(
        graph: Graph,
        capacities: Vec<f64>,
        from: usize,
        to: usize,
        value: f64,
    ) -> Result<Self> {
        graph.check_ends(from, to)?;
        check_len("capacities of the arcs", graph.arcs().len(), capacities.len())?;
        check_finite("capacities of the arcs", &capacities)?;
        check_positive("value of the flow", value)?;
        if let Some(k) = capacities.iter().position(|c| *c < 0.0) {
            let why = format!("entry {k} is negative: {}", capacities[k]);
            return Err(Error::Setting { name: "capacities", why });
        }
        if let Some(k) = capacities.iter().position(|c| *c > MOST_FREE * value) {
            let why = format!(
                "entry {k} is {}, more than {MOST_FREE} times the value {value} of the flow, which would be lost in its rounding; \
                 lower it to what can flow",
                capacities[k]
            );
            return Err(Error::Setting { name: "capacities", why });
        }
        let set = Flows { graph, capacities, from, to, value };
        let mut search = Search::new(&set);
        search.run(&vec![0.0; set.capacities.len()])?;
        Ok(set)
    }

    /// The graph.
    #[must_use]
    pub fn graph(&self) -> &Graph {
        &self.graph
    }
}

impl Domain for Flows {
    fn dim(&self) -> usize {
        self.capacities.len()
    }

    /// A bound: that of the box of the capacities.
    fn diameter(&self) -> f64 {
        norm(&self.capacities)
    }

    fn violation(&self, p: &[f64]) -> f64 {
        if check_finite("point", p).is_err() {
            return f64::INFINITY;
        }
        let outside = p.iter().zip(&self.capacities).map(|(p, c)| excess((-p).max(p - c)));
        let outside = outside.fold(0.0, f64::max);
        outside.max(self.graph.imbalance(p, self.from, self.to, self.value))
    }

    /// A flow of fewest arcs.
    fn center(&self, out: &mut [f64]) {
        let mut search = Search::new(self);
        if search.run(&vec![1.0; self.dim()]).is_ok() {
            out.copy_from_slice(&search.flow);
        }
    }

    fn describe(&self) -> String {
        let Flows { graph, from, to, value, .. } = self;
        let arcs = graph.arcs().len();
        format!(
            "the flows of {value} from node {from} to {to} in a graph of {} nodes and {arcs} arcs",
            graph.nodes()
        )
    }

    fn is_polytope(&self) -> Option<bool> {
        Some(true)
    }

    fn oracle(&self) -> Box<dyn Oracle + '_> {
        Box::new(PlainOracle::new(Search::new(self), self.dim(), self.diameter()))
    }
}

/// An entry of the queue of Dijkstra's method: the nearest node comes first.
#[derive(PartialEq)]
struct Entry(f64, usize);

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        other.0.total_cmp(&self.0).then(other.1.cmp(&self.1))
    }
}

/// Successive shortest paths.
struct Search<'a> {
    set: &'a Flows,
    /// The arcs that enter each node.
    entering: Vec<Vec<usize>>,
    flow: Vec<f64>,
    potential: Vec<f64>,
    /// What each node still has to send on.
    supply: Vec<f64>,
    distance: Vec<f64>,
    /// The last arc on the way to a node, and whether it is taken backwards.
    last: Vec<(usize, bool)>,
    /// Amounts below this count as nothing.
    tiny: f64,
}

impl<'a> Search<'a> {
    fn new(set: &'a Flows) -> Self {
        let nodes = set.graph.nodes();
        let mut entering = vec![Vec::new(); nodes];
        set.graph.arcs().iter().enumerate().for_each(|(k, (_, to))| entering[*to].push(k));
        let largest = set.capacities.iter().fold(set.value, |m, c| m.max(*c));
        Search {
            set,
            entering,
            flow: vec![0.0; set.capacities.len()],
            potential: vec![0.0; nodes],
            supply: vec![0.0; nodes],
            distance: vec![0.0; nodes],
            last: vec![(usize::MAX, false); nodes],
            tiny: 1e-13 * largest,
        }
    }

    fn run(&mut self, costs: &[f64]) -> Result<()> {
        let Flows { graph, capacities, from, to, value } = self.set;
        self.potential.fill(0.0);
        self.supply.fill(0.0);
        self.supply[*from] = *value;
        self.supply[*to] = -value;
        for (k, (tail, head)) in graph.arcs().iter().enumerate() {
            self.flow[k] = if costs[k] < 0.0 { capacities[k] } else { 0.0 };
            self.supply[*tail] -= self.flow[k];
            self.supply[*head] += self.flow[k];
        }
        let most = 100 * (graph.arcs().len() + graph.nodes()) + 1000;
        for _ in 0..most {
            if self.supply.iter().all(|s| *s <= self.tiny) {
                return Ok(());
            }
            let Some(end) = self.nearest(costs) else {
                let left: f64 = self.supply.iter().map(|s| s.max(0.0)).sum();
                let why = format!("the capacities do not let {value} through, {left} is left");
                return Err(Error::EmptySet { why });
            };
            self.augment(end);
        }
        Err(Error::Numerical {
            what: "cheapest flow",
            why: format!("not found after {most} paths"),
        })
    }

    /// The nearest node that lacks flow, seen from all that have too much, with potentials that keep reduced costs above zero.
    fn nearest(&mut self, costs: &[f64]) -> Option<usize> {
        let Flows { graph, capacities, .. } = self.set;
        self.distance.fill(f64::INFINITY);
        let mut heap = BinaryHeap::new();
        for v in (0..graph.nodes()).filter(|v| self.supply[*v] > self.tiny) {
            self.distance[v] = 0.0;
            self.last[v] = (usize::MAX, false);
            heap.push(Entry(0.0, v));
        }
        let mut end = None;
        while let Some(Entry(distance, node)) = heap.pop() {
            if distance > self.distance[node] {
                continue;
            }
            if self.supply[node] < -self.tiny {
                end = Some((node, distance));
                break;
            }
            let forward = graph.leaving(node).iter().map(|arc| (*arc, false));
            let backward = self.entering[node].iter().map(|arc| (*arc, true));
            for (arc, is_back) in forward.chain(backward) {
                let (tail, head) = graph.arcs()[arc];
                let (other, cost, left) = if is_back {
                    (tail, -costs[arc], self.flow[arc])
                } else {
                    (head, costs[arc], capacities[arc] - self.flow[arc])
                };
                if left <= self.tiny {
                    continue;
                }
                let reduced = (cost + self.potential[node] - self.potential[other]).max(0.0);
                if distance + reduced < self.distance[other] {
                    self.distance[other] = distance + reduced;
                    self.last[other] = (arc, is_back);
                    heap.push(Entry(distance + reduced, other));
                }
            }
        }
        let (end, farthest) = end?;
        for (potential, distance) in self.potential.iter_mut().zip(&self.distance) {
            *potential += distance.min(farthest);
        }
        Some(end)
    }

    /// Sends what fits along the way to this node.
    fn augment(&mut self, end: usize) {
        let Flows { graph, capacities, .. } = self.set;
        let mut amount = -self.supply[end];
        let mut node = end;
        while let (arc, is_back) = self.last[node]
            && arc != usize::MAX
        {
            let (tail, head) = graph.arcs()[arc];
            amount =
                amount.min(if is_back { self.flow[arc] } else { capacities[arc] - self.flow[arc] });
            node = if is_back { head } else { tail };
        }
        amount = amount.min(self.supply[node]);
        self.supply[node] -= amount;
        self.supply[end] += amount;
        let mut node = end;
        while let (arc, is_back) = self.last[node]
            && arc != usize::MAX
        {
            let (tail, head) = graph.arcs()[arc];
            let flow = if is_back { self.flow[arc] - amount } else { self.flow[arc] + amount };
            self.flow[arc] = flow.clamp(0.0, capacities[arc]);
            node = if is_back { head } else { tail };
        }
    }
}

impl Work for Search<'_> {
    fn lmo(&mut self, g: &[f64], p: &mut [f64]) -> Result<LinearMin> {
        self.run(g)?;
        p.copy_from_slice(&self.flow);
        let Flows { graph, capacities, from, to, value: amount } = self.set;
        // what the potentials prove: every arc at least its reduced cost, where that is negative, times its capacity
        let mut bound = amount * (self.potential[*to] - self.potential[*from]);
        let mut highest = 0.0f64;
        for ((tail, head), (g, capacity)) in graph.arcs().iter().zip(g.iter().zip(capacities)) {
            bound += (g + self.potential[*tail] - self.potential[*head]).min(0.0) * capacity;
            highest = highest.max(self.potential[*tail].abs()).max(self.potential[*head].abs());
        }
        let value = dot(g, p);
        let sums = norm(g) * norm(capacities) + highest * (norm(capacities) + amount);
        let rounding = 4.0 * f64::EPSILON * (g.len() + graph.nodes()) as f64 * sums;
        Ok(LinearMin { lower: bound.min(value) - rounding, ..LinearMin::exact(value) })
    }
}
