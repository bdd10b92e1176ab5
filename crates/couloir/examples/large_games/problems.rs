//! Games over paths, small or large.

use couloir::domain::{BoxBudget, BoxSet, Domain, Graph, Paths, Product, Simplex};
use couloir::linalg::SparseMatrix;
use couloir::model::games::Game;
use couloir::problem::MatrixGame;

fn number(i: usize, j: usize) -> f64 {
    ((127.1 * i as f64 + 311.7 * j as f64).sin() * 43_758.545_3).fract().abs()
}

/// A grid whose arcs go right and down.
fn grid(side: usize) -> Graph {
    let node = |i: usize, j: usize| i * side + j;
    let right = (0..side).flat_map(|i| (0..side - 1).map(move |j| (node(i, j), node(i, j + 1))));
    let down = (0..side - 1).flat_map(|i| (0..side).map(move |j| (node(i, j), node(i + 1, j))));
    Graph::new(side * side, right.chain(down).collect()).expect("a graph")
}

/// A path against the worst of some scenarios of costs.
pub fn robust_path(side: usize, scenarios: usize) -> Game {
    let graph = grid(side);
    let arcs = graph.arcs().len();
    let costs = (0..arcs * scenarios).map(|k| number(k / scenarios, k % scenarios)).collect();
    let paths = Paths::new(graph, 0, side * side - 1).expect("paths");
    let worst = Simplex::new(scenarios).expect("a simplex");
    let costs = MatrixGame::from_rows(arcs, scenarios, costs).expect("costs");
    Game::new(Box::new(paths), Box::new(worst), costs).expect("a game")
}

/// An attacker `y` goes through a road-like graph; `x` spreads checks over the arcs, at most one on each and within a budget. The
/// attacker gains the value of the arcs on the way but for what is checked: `sum_a y_a (v_a - loss_a x_a)`, with a last entry of `x`
/// fixed at 1 for the values.
pub fn security(side: usize, checks: f64) -> Game {
    let graph = grid(side);
    let arcs = graph.arcs().len();
    let bounds = BoxSet::cube(arcs, 0.0, 1.0).expect("a box");
    let guards = BoxBudget::new(bounds, vec![1.0; arcs], checks).expect("a set");
    let one = BoxSet::cube(1, 1.0, 1.0).expect("a point");
    let parts: Vec<Box<dyn Domain>> = vec![Box::new(guards), Box::new(one)];
    let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for a in 0..arcs {
        columns.push(a as u32);
        values.push(-2.0 * (1.0 + number(a, 1)));
        starts.push(columns.len());
    }
    for a in 0..arcs {
        columns.push(a as u32);
        values.push(number(a, 2));
    }
    starts.push(columns.len());
    let payoffs = SparseMatrix::from_rows(arcs, starts, columns, values).expect("payoffs");
    let attacks = Paths::new(graph, 0, side * side - 1).expect("paths");
    let payoffs = MatrixGame::sparse(payoffs).expect("a game");
    Game::new(Box::new(Product::new(parts).expect("a set")), Box::new(attacks), payoffs)
        .expect("a game")
}
