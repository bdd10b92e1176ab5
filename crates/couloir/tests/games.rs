//! Games: values that are known from elsewhere, within certified bounds.

use couloir::Solution;
use couloir::domain::{BoxBudget, BoxSet, Domain, Graph, Paths, Product, Simplex};
use couloir::linalg::SparseMatrix;
use couloir::model::games::{ExtensiveForm, Game, Player, RegularisedGame};
use couloir::problem::{MatrixGame, PreparedImage, SaddleProblem};

fn value_between(solution: &Solution, value: f64, gap: f64) {
    let bounds = solution.outcome.certificate;
    assert!(solution.outcome.status.is_solved(), "{}", solution.outcome.status);
    assert!(bounds.gap <= gap && bounds.upper - bounds.lower <= gap * (1.0 + 1e-9), "{bounds:?}");
    let rounding = 1e-12;
    assert!(bounds.lower <= value + rounding && value <= bounds.upper + rounding, "{bounds:?}");
}

/// What best responses gain, by linear minimisations alone.
fn exploitability(game: &Game, x: &[f64], y: &[f64]) -> f64 {
    let payoffs = game.payoffs();
    let (mut gx, mut gy) = (vec![0.0; x.len()], vec![0.0; y.len()]);
    payoffs.grad_image(PreparedImage { image: x, cache: &[] }, y, &mut gx);
    payoffs.grad_y(PreparedImage { image: x, cache: &[] }, y, &mut gy);
    let least = game.x_set().oracle().lmo(&gx, &mut vec![0.0; x.len()]).expect("a minimum").value;
    gy.iter_mut().for_each(|g| *g = -*g);
    let most = -game.y_set().oracle().lmo(&gy, &mut vec![0.0; y.len()]).expect("a maximum").value;
    most - least
}

#[test]
fn kuhn_poker_has_the_value_minus_one_eighteenth() {
    let game = Game::kuhn().expect("a game");
    // 12 information sets in all, 6 of each player, with 2 actions
    assert_eq!((game.x_set().dim(), game.y_set().dim()), (13, 13));
    let solution = game.solve(1e-9).expect("a solution");
    value_between(&solution, -1.0 / 18.0, 1e-9);
    assert!(exploitability(&game, &solution.x, &solution.y) <= 1e-9);
    assert!(game.x_set().contains(&solution.x, 1e-12) && game.y_set().contains(&solution.y, 1e-12));
}

/// The value of the linear program in sequence form by HiGHS, from bench/peers/games/poker_lp.py.
const LEDUC: f64 = -0.085_606_424_078;

#[test]
fn leduc_poker_has_the_value_of_the_linear_program() {
    let game = Game::leduc().expect("a game");
    // 144 information sets of each player, with ranks alone
    assert_eq!((game.x_set().dim(), game.y_set().dim()), (337, 337));
    let solution = game.solve(1e-6).expect("a solution");
    value_between(&solution, LEDUC, 1e-6);
    assert!(exploitability(&game, &solution.x, &solution.y) <= 1.01e-6);
}

#[test]
#[ignore = "takes half a minute: restricted games of some two hundred strategies"]
fn leduc_poker_is_solved_exactly_by_the_double_oracle() {
    let game = Game::leduc().expect("a game");
    let solution = game.solver().method(couloir::Method::corrective()).gap(1e-10).run();
    let solution = solution.expect("a solution");
    value_between(&solution, LEDUC, 1e-10);
    assert!(solution.outcome.iterations <= 400, "{}", solution.outcome.iterations);
}

#[test]
fn blotto_is_worth_nothing_and_its_placements_use_all_soldiers() {
    let game = Game::blotto(5, 3).expect("a game");
    let solution = game.solve(1e-8).expect("a solution");
    value_between(&solution, 0.0, 1e-8);
    let soldiers: f64 = (0..solution.x.len())
        .map(|i| {
            let name = game.x_name(i);
            let count: f64 = name.split(' ').next().and_then(|n| n.parse().ok()).expect("a count");
            count * solution.x[i]
        })
        .sum();
    assert!((soldiers - 5.0).abs() < 1e-9, "{soldiers}");
}

#[test]
fn a_matrix_game_with_names_of_its_own_sets_agrees_with_its_simplices() {
    let payoffs: Vec<f64> = (0..48).map(|k| ((k * k) as f64 * 0.37).sin()).collect();
    let by_simplices = Game::matrix(6, 8, payoffs.clone()).expect("a game");
    let reference = by_simplices.solve(1e-10).expect("a solution");
    assert_eq!(reference.method, "restarted");
    // the same over sets that are known by paths: six parallel arcs, and eight
    let arcs = |n: usize| Graph::new(2, vec![(0, 1); n]).expect("a graph");
    let paths = |n: usize| Box::new(Paths::new(arcs(n), 0, 1).expect("paths"));
    let matrix = MatrixGame::from_rows(6, 8, payoffs).expect("payoffs");
    let by_paths =
        Game::new(paths(6), paths(8), matrix).expect("a game").solve(1e-9).expect("a solution");
    assert_eq!(by_paths.method, "corrective");
    let (one, two) = (reference.outcome.certificate, by_paths.outcome.certificate);
    assert!(one.lower <= two.upper + 1e-12 && two.lower <= one.upper + 1e-12, "{one:?} {two:?}");
}

#[test]
fn regularised_games_have_the_saddle_point_of_their_formula() {
    // on 2 x 2 games of the identity both play evenly, whatever the weights
    let game = Game::matrix(2, 2, vec![1.0, 0.0, 0.0, 1.0]).expect("a game");
    let regularised = RegularisedGame::new(&game, 0.3, 0.7).expect("a game");
    let solution = regularised.solver().gap(1e-10).run().expect("a solution");
    let expected = 0.5 + 0.5 * 0.3 * 0.5 - 0.5 * 0.7 * 0.5;
    value_between(&solution, expected, 1e-10);
    assert!(solution.x.iter().chain(&solution.y).all(|p| (p - 0.5).abs() < 1e-4));
    assert!(RegularisedGame::new(&game, -1.0, 0.0).is_err());
    // and over treeplexes, where nothing projects
    let kuhn = Game::kuhn().expect("a game");
    let regularised = RegularisedGame::new(&kuhn, 1e-3, 1e-3).expect("a game");
    let solution = regularised.solver().gap(1e-6).run().expect("a solution");
    assert!(solution.outcome.status.is_solved(), "{}", solution.outcome.status);
    assert!((solution.outcome.certificate.lower + 1.0 / 18.0).abs() < 2e-2);
}

#[test]
fn forgetting_is_an_error() {
    let mut form = ExtensiveForm::new();
    let first = form.act(Player::X, "root", 0, 2).expect("a set");
    form.act(Player::X, "later", first, 2).expect("a set");
    let error = form.act(Player::X, "later", first + 1, 2).expect_err("forgotten");
    assert!(error.to_string().contains("perfect recall"), "{error}");
    assert!(form.clone().into_game().is_err(), "y never acts");
    assert!(form.end(9, 0, 1.0, 1.0).is_err());
}

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

/// Prints what a game took; `cargo test -p couloir --test games -- --ignored --nocapture` shows the large ones.
fn certify(name: &str, game: &Game, gap: f64) -> Solution {
    let solution = game.solve(gap).expect("a solution");
    let calls = solution.outcome.ledger.method + solution.outcome.ledger.certificate;
    let bounds = solution.outcome.certificate;
    eprintln!(
        "{name}: value {:.6} to {:.6}, gap {:.2e}, {} iterations, linear minimisations {} of x and {} of y ({})",
        bounds.lower,
        bounds.upper,
        bounds.gap,
        solution.outcome.iterations,
        calls.lo_x,
        calls.lo_y,
        solution.outcome.status
    );
    assert!(solution.outcome.status.is_solved(), "{name}: {}", solution.outcome.status);
    assert!(exploitability(game, &solution.x, &solution.y) <= gap * 1.01, "{name}");
    solution
}

/// A path against the worst of some scenarios of costs.
fn robust_path(side: usize, scenarios: usize) -> Game {
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
fn security(side: usize, checks: f64) -> Game {
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

#[test]
fn games_over_paths_are_certified() {
    certify("robust path 8 x 8, 10 scenarios", &robust_path(8, 10), 1e-4);
    certify("security 6 x 6", &security(6, 5.0), 1e-4);
}

#[test]
#[ignore = "the sizes of the catalogue's figures; takes minutes"]
fn large_games_are_certified() {
    certify("robust path 40 x 40, 50 scenarios", &robust_path(40, 50), 1e-4);
    certify("security on 1,984 arcs", &security(32, 40.0), 1e-4);
    certify("Blotto 20 on 8", &Game::blotto(20, 8).expect("a game"), 1e-4);
}
