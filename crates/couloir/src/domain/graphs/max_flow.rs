//! Largest flows, for tests of membership.

use std::collections::VecDeque;

/// A network whose capacities are used up by flows (Dinic's method).
pub(super) struct Network {
    /// Each arc is followed by the one back.
    heads: Vec<usize>,
    left: Vec<f64>,
    leaving: Vec<Vec<usize>>,
    level: Vec<usize>,
    next: Vec<usize>,
    /// Capacities below this count as used up.
    tiny: f64,
}

impl Network {
    pub(super) fn new(nodes: usize, tiny: f64) -> Self {
        let none = vec![usize::MAX; nodes];
        let leaving = vec![Vec::new(); nodes];
        Network {
            heads: Vec::new(),
            left: Vec::new(),
            leaving,
            level: none.clone(),
            next: none,
            tiny,
        }
    }

    pub(super) fn add(&mut self, from: usize, to: usize, capacity: f64) {
        self.leaving[from].push(self.heads.len());
        self.leaving[to].push(self.heads.len() + 1);
        self.heads.extend([to, from]);
        self.left.extend([capacity, 0.0]);
    }

    /// The value of a largest flow.
    pub(super) fn largest(&mut self, from: usize, to: usize) -> f64 {
        let mut value = 0.0;
        while self.reaches(from, to) {
            self.next.fill(0);
            loop {
                let more = self.push(from, to);
                if more <= self.tiny {
                    break;
                }
                value += more;
            }
        }
        value
    }

    fn reaches(&mut self, from: usize, to: usize) -> bool {
        self.level.fill(usize::MAX);
        self.level[from] = 0;
        let mut queue = VecDeque::from([from]);
        while let Some(node) = queue.pop_front() {
            for arc in &self.leaving[node] {
                let head = self.heads[*arc];
                if self.left[*arc] > self.tiny && self.level[head] == usize::MAX {
                    self.level[head] = self.level[node] + 1;
                    queue.push_back(head);
                }
            }
        }
        self.level[to] != usize::MAX
    }

    /// Pushes flow along one path of rising levels.
    fn push(&mut self, from: usize, to: usize) -> f64 {
        let (mut path, mut node): (Vec<usize>, usize) = (Vec::new(), from);
        while node != to {
            let here = &self.leaving[node];
            let open = (self.next[node]..here.len()).find(|k| {
                let arc = here[*k];
                self.left[arc] > self.tiny && self.level[self.heads[arc]] == self.level[node] + 1
            });
            match open {
                Some(k) => {
                    self.next[node] = k;
                    path.push(here[k]);
                    node = self.heads[here[k]];
                }
                None => {
                    self.next[node] = here.len();
                    let Some(arc) = path.pop() else { return 0.0 };
                    node = self.heads[arc ^ 1];
                    self.next[node] += 1;
                }
            }
        }
        let amount = path.iter().map(|arc| self.left[*arc]).fold(f64::INFINITY, f64::min);
        for arc in path {
            self.left[arc] -= amount;
            self.left[arc ^ 1] += amount;
        }
        amount
    }
}
