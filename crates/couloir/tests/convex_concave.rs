//! Problems that are not strongly concave in `y`: the default method solves them, and certifies `f` itself.

mod worst_of;

use couloir::domain::{L2Ball, Simplex};
use couloir::problem::{
    BlockConstants, ClosureProblem, MatrixGame, PreparedImage, QuadraticBilinear, SaddleProblem,
};
use couloir::run::{Algorithm, Flow, TracePoint};
use couloir::{Method, Solve};
use worst_of::{Family, Losses, bowls, cvar, squares};

/// How far the reference, an interior-point method asked for 1e-9, may itself be off.
const REFERENCE: f64 = 1e-7;

fn instances() -> Vec<Family> {
    let made = [
        squares("squares_l2", 8, 5, 12, false),
        squares("squares_l1", 12, 4, 10, true),
        cvar("cvar_l2", 6, 80, 0.2, false),
        cvar("cvar_l1", 10, 120, 0.1, true),
        bowls("bowls_small", 5, 8),
        bowls("bowls", 10, 20),
    ];
    made.into_iter().map(|family| family.expect("a family")).collect()
}

#[test]
fn optima_agree_with_a_conic_solver_to_1e_6() {
    let text = include_str!("convex_concave_optima.txt");
    let optima: Vec<(&str, f64)> = text
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(name, value)| Some((name, value.parse().ok()?)))
        .collect();
    let families = instances();
    assert_eq!(optima.len(), families.len());
    for family in families {
        let optimum = optima.iter().find(|o| o.0 == family.name).expect("a reference").1;
        let solution = Solve::new(&family.problem, &*family.x_set, &*family.y_set)
            .gap(1e-6)
            .run()
            .expect("a solution");
        let outcome = &solution.outcome;
        let found = outcome.certificate;
        assert!(outcome.status.is_solved(), "{}: {outcome:?}", family.name);
        assert!(found.lower <= optimum + REFERENCE, "{}: {found:?}, {optimum}", family.name);
        assert!(found.upper >= optimum - REFERENCE, "{}: {found:?}, {optimum}", family.name);
        // the worst mixture of the losses at the point that is returned, by the linear oracle of Y
        let losses = family.problem.losses(&solution.x);
        let slope: Vec<f64> = losses.iter().map(|l| -l).collect();
        let mut worst = vec![0.0; losses.len()];
        let value = -family.y_set.oracle().lmo(&slope, &mut worst).expect("a minimum").value;
        assert!((value - optimum).abs() <= 1e-6 + REFERENCE, "{}: {value}, {optimum}", family.name);
        assert!(value <= found.upper, "{}", family.name);
    }
}

/// `min over x in [-1, 1]^n of f(x, y)`, which is a sum of parabolas, coordinate by coordinate.
fn least_of_bowls(family: &Family, y: &[f64]) -> f64 {
    let Losses::Bowls { bends, centres, heights } = &family.problem.losses else {
        panic!("bowls");
    };
    let mut value: f64 = heights.iter().zip(y).map(|(h, y)| h * y).sum();
    for j in 0..family.problem.dim {
        let term = |x: f64| -> f64 {
            (0..y.len()).map(|i| 0.5 * y[i] * bends[i][j] * (x - centres[i][j]).powi(2)).sum()
        };
        let (mut top, mut bottom) = (0.0, 0.0);
        for i in 0..y.len() {
            top += y[i] * bends[i][j] * centres[i][j];
            bottom += y[i] * bends[i][j];
        }
        let x = if bottom > 0.0 { (top / bottom).clamp(-1.0, 1.0) } else { 0.0 };
        value += term(x);
    }
    value
}

#[test]
fn the_bounds_of_every_iterate_hold_for_f_itself() {
    let family = bowls("bowls", 6, 9).expect("a family");
    let mut seen = 0;
    let mut observer = |point: &TracePoint, state: &dyn Algorithm| {
        let largest = |x: &[f64]| family.problem.losses(x).into_iter().fold(f64::MIN, f64::max);
        let (x, y) = state.current();
        if point.iteration > 0 {
            let gap = largest(x) - least_of_bowls(&family, y);
            let bounds = state.bounds();
            assert!(gap <= bounds.schedule && gap <= bounds.minorant, "{gap}, {bounds:?}");
            seen += 1;
        }
        let (x, y) = state.best();
        let found = state.certificate();
        let (upper, lower) = (largest(x), least_of_bowls(&family, y));
        assert!(upper <= found.upper && lower >= found.lower, "{upper}, {lower}, {found:?}");
        assert!(upper - lower <= found.gap);
        Flow::Continue
    };
    let solve = Solve::new(&family.problem, &*family.x_set, &*family.y_set).gap(1e-7);
    let solution = solve.run_with(&mut observer).expect("a solution");
    assert!(solution.outcome.status.is_solved() && seen > 20, "{seen}");
}

#[test]
fn a_bilinear_problem_needs_no_strong_concavity() {
    // without the capability `bilinear`, so that the default is `certified`
    let payoffs: Vec<f64> =
        (0..30 * 40).map(|k| ((k * k + 7 * k) % 101) as f64 / 50.5 - 1.0).collect();
    let game = MatrixGame::from_rows(30, 40, payoffs).expect("a game");
    let (x_set, y_set) = (Simplex::new(30).expect("a set"), Simplex::new(40).expect("a set"));
    let value = |x: &[f64], y: &[f64]| game.value(PreparedImage::plain(x), y);
    let plain = ClosureProblem::new(
        30,
        40,
        value,
        |x, y, out: &mut [f64]| game.grad_image(PreparedImage::plain(x), y, out),
        |x, y, out: &mut [f64]| game.grad_y(PreparedImage::plain(x), y, out),
    )
    .expect("a problem");
    let exact = Solve::new(&game, &x_set, &y_set).gap(1e-9).run().expect("a solution");
    let solve = Solve::new(&plain, &x_set, &y_set).gap(1e-4);
    assert_eq!(solve.method_in_use(), Method::certified());
    let solution = solve.run().expect("a solution");
    let found = solution.outcome.certificate;
    assert!(solution.outcome.status.is_solved(), "{:?}", solution.outcome);
    let value = exact.outcome.certificate.upper;
    assert!(found.lower <= value + 1e-9 && value - 1e-9 <= found.upper, "{found:?}, {value}");
}

#[test]
fn a_little_strong_concavity_is_no_harder_than_none() {
    let (x_set, y_set) = (L2Ball::new(12, 1.0).expect("a set"), Simplex::new(10).expect("a set"));
    let mut gradients = Vec::new();
    for mu in [0.0, 1e-8, 1e-6, 1e-4] {
        let base = QuadraticBilinear::on(&x_set, &y_set)
            .curvature(0.0, if mu > 0.0 { mu } else { 1e-12 })
            .coupling(1.0)
            .push(0.3)
            .build()
            .expect("a problem");
        let known = BlockConstants { mu: (mu > 0.0).then_some(mu), ..BlockConstants::default() };
        let problem = ClosureProblem::new(
            12,
            10,
            |x, y| base.value(PreparedImage::plain(x), y),
            |x, y, out: &mut [f64]| base.grad_image(PreparedImage::plain(x), y, out),
            |x, y, out: &mut [f64]| base.grad_y(PreparedImage::plain(x), y, out),
        )
        .expect("a problem")
        .with_constants(known)
        .expect("constants");
        let solution = Solve::new(&problem, &x_set, &y_set).gap(1e-5).run().expect("a solution");
        assert!(solution.outcome.status.is_solved(), "mu = {mu}: {:?}", solution.outcome);
        gradients.push(solution.outcome.ledger.method.grad_x);
    }
    let most = 3 * gradients[0] / 2 + 10;
    assert!(gradients.iter().all(|count| *count <= most), "{gradients:?}");
}
