//! Games: values that are known from elsewhere, within certified bounds.

#[path = "../examples/large_games/problems.rs"]
mod problems;

use couloir::Solution;
use couloir::domain::{Graph, Paths};
use couloir::model::games::{ExtensiveForm, Game, Player, RegularisedGame};
use couloir::problem::{MatrixGame, PreparedImage, SaddleProblem};
use problems::{robust_path, security};

fn value_between(solution: &Solution, value: f64, gap: f64) {
    let bounds = solution.outcome.certificate;
    assert!(solution.outcome.status.is_solved(), "{}: {bounds:?}", solution.outcome.status);
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
fn leduc_poker_is_solved_exactly_by_the_double_oracle() {
    let game = Game::leduc().expect("a game");
    let solution = game.solver().method(couloir::Method::corrective()).gap(1e-9).run();
    let solution = solution.expect("a solution");
    value_between(&solution, LEDUC, 1e-9);
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

fn certify(name: &str, game: &Game, gap: f64) -> Solution {
    let solution = game.solve(gap).expect("a solution");
    assert!(solution.outcome.status.is_solved(), "{name}: {}", solution.outcome.status);
    assert!(exploitability(game, &solution.x, &solution.y) <= gap * 1.01, "{name}");
    solution
}

#[test]
fn games_over_paths_are_certified() {
    certify("robust path 8 x 8, 10 scenarios", &robust_path(8, 10), 1e-4);
    certify("security 6 x 6", &security(6, 5.0), 1e-4);
}
