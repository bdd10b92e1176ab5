//! Bad input gets a typed error that names the value.

use couloir::domain::{BoxSet, Domain, L1Ball, L2Ball, LoSet, NuclearBall, Simplex};
use couloir::problem::{BlockConstants, ClosureProblem, QuadraticBilinear, Saddle};
use couloir::run::{Status, StopRules};
use couloir::solver::{
    ApgSettings, BatchedSettings, CertifiedSettings, ExtragradientSettings, MpcgsSettings,
    MpscgsSettings, SvreSettings,
};
use couloir::{Block, Error, Inner, Method, Solve};
use proptest::prelude::*;

fn ball(n: usize) -> L2Ball {
    L2Ball::new(n, 1.0).expect("a ball")
}

fn bilinear<'a>() -> ClosureProblem<'a> {
    ClosureProblem::new(
        2,
        2,
        |x, y| x[0] * y[0] + x[1] * y[1] - 0.5 * (y[0] * y[0] + y[1] * y[1]),
        |_, y, g| g.copy_from_slice(y),
        |x, y, g| (0..2).for_each(|i| g[i] = x[i] - y[i]),
    )
    .expect("a problem")
}

fn fails(problem: &ClosureProblem<'_>) -> Error {
    let set = ball(2);
    Solve::new(problem, &set, &set).start_x(vec![0.5, 0.0]).run().expect_err("an error")
}

/// What goes wrong after the first certificate, which is kept.
fn troubled(problem: &ClosureProblem<'_>) -> Error {
    let set = ball(2);
    let solution = Solve::new(problem, &set, &set).start_x(vec![0.5, 0.0]).run().expect("a run");
    assert_eq!(solution.outcome.status, Status::NumericalTrouble);
    assert!(solution.outcome.certificate.gap.is_finite());
    solution.outcome.trouble.expect("what went wrong")
}

#[test]
fn sets_and_problems_of_different_dimension_are_refused() {
    let (x, y) = (ball(3), ball(2));
    let error = Solve::new(&bilinear(), &x, &y).run().expect_err("an error");
    assert!(matches!(error, Error::Dimension { expected: 2, got: 3, .. }), "{error}");
    let error = Solve::new(&bilinear(), &y, &x).run().expect_err("an error");
    assert!(matches!(error, Error::Dimension { expected: 2, got: 3, .. }), "{error}");
    let start = Solve::new(&bilinear(), &y, &y).start_x(vec![0.0; 5]).run().expect_err("an error");
    assert!(matches!(start, Error::Dimension { expected: 2, got: 5, .. }), "{start}");
}

#[test]
fn a_start_point_outside_its_set_is_refused_with_the_distance() {
    let set = ball(2);
    let error =
        Solve::new(&bilinear(), &set, &set).start_y(vec![3.0, 4.0]).run().expect_err("an error");
    match error {
        Error::OutsideSet { block: Block::Y, violation, .. } => {
            assert!((violation - 4.0).abs() < 1e-12);
        }
        other => panic!("{other}"),
    }
    let error = Solve::new(&bilinear(), &set, &set)
        .start_x(vec![f64::NAN, 0.0])
        .run()
        .expect_err("an error");
    assert!(matches!(error, Error::NotFinite { index: 0, .. }), "{error}");
}

#[test]
fn an_unbounded_or_missing_number_from_a_closure_is_named() {
    let nan_gradient = ClosureProblem::new(
        2,
        2,
        |x, y| x[0] * y[0],
        |_, _, g| g.copy_from_slice(&[0.0, f64::NAN]),
        |x, _, g| g.copy_from_slice(x),
    )
    .expect("a problem");
    match fails(&nan_gradient) {
        Error::NotFinite { what, index, value } => {
            assert_eq!((what.as_str(), index), ("grad_x", 1));
            assert!(value.is_nan());
        }
        other => panic!("{other}"),
    }
    let infinite = ClosureProblem::new(
        2,
        2,
        |x, y| x[0] * y[0],
        |_, y, g| g.copy_from_slice(y),
        |_, _, g| g.copy_from_slice(&[f64::NEG_INFINITY, 0.0]),
    )
    .expect("a problem");
    match fails(&infinite) {
        Error::NotFinite { what, index, value } => {
            assert_eq!((what.as_str(), index, value), ("grad_y", 0, f64::NEG_INFINITY));
        }
        other => panic!("{other}"),
    }
    let nan_value = ClosureProblem::new(
        2,
        2,
        |_, _| f64::NAN,
        |_, y, g| g.copy_from_slice(y),
        |x, _, g| {
            g.copy_from_slice(x);
        },
    )
    .expect("a problem");
    assert!(matches!(fails(&nan_value), Error::NotFinite { .. }));
}

#[test]
fn a_wrong_gradient_ends_with_a_hint_and_not_in_an_endless_loop() {
    let wrong = ClosureProblem::new(
        2,
        2,
        |x, y| 5.0 * x[0] + x[1] * y[1] - 0.5 * (y[0] * y[0] + y[1] * y[1]),
        |_, _, g| g.copy_from_slice(&[-5.0, 1.0]), // the sign is wrong
        |x, y, g| (0..2).for_each(|i| g[i] = [0.0, x[1]][i] - y[i]),
    )
    .expect("a problem");
    let trouble = troubled(&wrong);
    assert!(trouble.to_string().contains("check_gradient"), "{trouble}");
}

#[test]
fn methods_say_which_constant_they_lack() {
    let set = ball(2);
    let problem = bilinear();
    let printed = Solve::new(&problem, &set, &set).method(Method::mpcgs()).run();
    assert!(matches!(printed, Err(Error::MissingConstant { name: "Lxx", .. })), "{printed:?}");
    let slide = Method::new(CertifiedSettings::default().inner(Inner::Slide));
    let certified = Solve::new(&problem, &set, &set).method(slide).run();
    assert!(matches!(certified, Err(Error::MissingConstant { name: "Lyy", .. })), "{certified:?}");
    // with an exact inner solve it needs none
    let solved = Solve::new(&problem, &set, &set).start_x(vec![0.5, 0.0]).gap(1e-9).run();
    assert!(solved.expect("a run").outcome.status.is_solved());
}

#[test]
fn a_set_without_a_prox_says_so() {
    let set = LoSet::new(2, 2.0, vec![0.0; 2], |g, p| {
        let n = g[0].hypot(g[1]).max(1e-300);
        p.copy_from_slice(&[-g[0] / n, -g[1] / n]);
    })
    .expect("a set");
    let exact = Method::new(CertifiedSettings::default().inner(Inner::Exact));
    let y_set = ball(2);
    let error = Solve::new(&bilinear(), &set, &y_set).method(exact).run().expect_err("an error");
    assert!(matches!(error, Error::MissingOracle { .. }), "{error}");
    // Auto slides on it
    let solved = Solve::new(&bilinear(), &set, &y_set).start_x(vec![0.5, 0.0]).gap(1e-6).run();
    assert!(solved.expect("a run").outcome.status.is_solved());
}

#[test]
fn a_user_lo_that_returns_nan_is_named() {
    let set = LoSet::new(2, 2.0, vec![0.0; 2], |_, p| p.fill(f64::NAN)).expect("a set");
    let y_set = ball(2);
    let error =
        Solve::new(&bilinear(), &set, &y_set).start_y(vec![0.1, 0.1]).run().expect_err("an error");
    assert!(matches!(error, Error::NotFinite { .. }), "{error}");
}

#[test]
fn a_best_response_that_is_none_is_found_out() {
    let set = ball(2);
    for (answer, hint) in [(0.0, "not the maximiser"), (5.0, "outside")] {
        let wrong = bilinear().with_best_response(move |_, y| y.fill(answer));
        let error = troubled(&wrong);
        assert!(error.to_string().contains(hint), "{answer}: {error}");
    }
    let right = bilinear().with_best_response(|x, y| y.copy_from_slice(x));
    let solved = Solve::new(&right, &set, &set).start_x(vec![0.5, 0.0]).gap(1e-9).run();
    assert!(solved.expect("a run").outcome.status.is_solved());
}

#[test]
fn a_diameter_that_is_too_small_is_found_out() {
    let set = LoSet::new(2, 0.3, vec![0.0; 2], |g, p| {
        let n = g[0].hypot(g[1]).max(1e-300);
        p.copy_from_slice(&[-g[0] / n, -g[1] / n]);
    })
    .expect("a set");
    let y_set = ball(2);
    let solve = Solve::new(&bilinear(), &set, &y_set).start_y(vec![0.1, 0.1]).run();
    assert!(matches!(solve, Err(Error::Setting { name: "diameter", .. })), "{solve:?}");
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let set = ball(2);
    let bad: [Method; 17] = [
        CertifiedSettings::default().hull_points(2).into(),
        CertifiedSettings::default().hull_points(17).into(),
        CertifiedSettings::default().inner_budget(0).into(),
        CertifiedSettings::default().first_lhat(-1.0).into(),
        MpcgsSettings::default().inner_budget(0).into(),
        MpscgsSettings::default().inner_budget(0).into(),
        MpscgsSettings::default().sigma(f64::NAN).into(),
        MpscgsSettings::default().smoothness(0.0).into(),
        BatchedSettings::default().growth(1).into(),
        BatchedSettings::default().first_batch(0).into(),
        BatchedSettings::default().first_batch(8).largest_batch(4).into(),
        SvreSettings::default().batch(0).into(),
        SvreSettings::default().epoch_mean(0.5).into(),
        SvreSettings::default().steps(-1.0, 1.0).into(),
        ExtragradientSettings::default().steps(1.0, f64::INFINITY).into(),
        ApgSettings::default().inner_budget(0).into(),
        ApgSettings::default().first_curvature(0.0).into(),
    ];
    for method in bad {
        // before anything is known of the problem, and again at the start
        let early = method.check().expect_err("a bad setting");
        let late = Solve::new(&bilinear(), &set, &set).method(method.clone()).run();
        assert_eq!(late.expect_err("a bad setting"), early, "{method:?}");
        let is_of_a_setting = matches!(early, Error::Setting { .. } | Error::NotPositive { .. });
        assert!(is_of_a_setting, "{method:?}: {early}");
    }
    for method in Method::all() {
        assert_eq!(method.check(), Ok(()), "{method}");
    }
}

/// One point in X, scales from 1e-100 to 1e100: valid, and certified.
#[test]
fn extreme_but_valid_sets_are_solved() {
    let point = Simplex::new(1).expect("one point");
    let simplex = Simplex::new(4).expect("a simplex");
    let problem = QuadraticBilinear::on(&point, &simplex).build().expect("a problem");
    for inner in [Inner::Exact, Inner::Slide] {
        let method = Method::new(CertifiedSettings::default().inner(inner));
        let solution = Solve::new(&problem, &point, &simplex).method(method).gap(1e-9).run();
        let outcome = solution.expect("a run").outcome;
        assert!(outcome.status.is_solved(), "{inner:?}: {}", outcome.status);
    }
    let printed = Solve::new(&problem, &point, &simplex).method(Method::mpcgs()).run();
    assert!(matches!(printed, Err(Error::NotPositive { .. })), "{printed:?}");
    for scale in [1e-100, 1e100] {
        let x_set = L2Ball::new(3, scale).expect("a ball");
        let y_set = L2Ball::new(3, scale).expect("a ball");
        let problem =
            QuadraticBilinear::on(&x_set, &y_set).curvature(0.5, 1.0).build().expect("one");
        let solve = Solve::new(&problem, &x_set, &y_set).relative_gap(1e-6);
        let solution = solve.run().unwrap_or_else(|e| panic!("{scale:e}: {e}"));
        assert!(solution.outcome.status.is_solved(), "{scale:e}: {}", solution.outcome.status);
        let gap = problem.exact_gap(&x_set, &y_set, &solution.x, &solution.y).expect("isotropic");
        let first = solution.outcome.trace[0].certificate.gap;
        assert!(gap <= 1e-6 * first, "{scale:e}: {gap:e} of {first:e}");
    }
}

#[test]
fn empty_sets_are_refused() {
    assert!(matches!(L2Ball::new(0, 1.0), Err(Error::EmptySet { .. })));
    assert!(matches!(L1Ball::new(0, 1.0), Err(Error::EmptySet { .. })));
    assert!(matches!(Simplex::new(0), Err(Error::EmptySet { .. })));
    assert!(matches!(NuclearBall::new(0, 3, 1.0), Err(Error::EmptySet { .. })));
    assert!(matches!(NuclearBall::new(3, 0, 1.0), Err(Error::EmptySet { .. })));
    assert!(matches!(BoxSet::new(vec![], vec![]), Err(Error::EmptySet { .. })));
    assert!(matches!(BoxSet::new(vec![1.0], vec![0.0]), Err(Error::EmptySet { .. })));
    let none = LoSet::new(0, 1.0, vec![], |_, _| {});
    assert!(matches!(none, Err(Error::EmptySet { .. })));
}

#[test]
fn stopping_rules_that_make_no_sense_are_refused() {
    let set = ball(2);
    for tolerance in [0.0, -1.0, f64::NAN] {
        let result = Solve::new(&bilinear(), &set, &set).gap(tolerance).run();
        assert!(matches!(result, Err(Error::Setting { .. })), "{tolerance}");
    }
    let mut rules = StopRules::default();
    rules.evaluate_every = 0;
    let result = Solve::new(&bilinear(), &set, &set).rules(rules).run();
    assert!(matches!(result, Err(Error::Setting { name: "evaluate_every", .. })));
}

fn not_positive() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(0.0),
        Just(-0.0),
        Just(f64::NAN),
        Just(f64::INFINITY),
        Just(f64::NEG_INFINITY),
        (-1e300..-1e-300f64),
    ]
}

fn names(result: couloir::Result<()>, bad: f64) {
    match result {
        Err(Error::NotPositive { value, .. }) => {
            assert!(value == bad || (value.is_nan() && bad.is_nan()));
        }
        other => panic!("{bad}: {other:?}"),
    }
}

proptest! {
    #[test]
    fn a_radius_that_is_not_positive_is_named(bad in not_positive(), dim in 1usize..9) {
        names(L2Ball::new(dim, bad).map(drop), bad);
        names(L1Ball::new(dim, bad).map(drop), bad);
        names(Simplex::scaled(dim, bad).map(drop), bad);
        names(NuclearBall::new(dim, 3, bad).map(drop), bad);
        names(LoSet::new(dim, bad, vec![0.0; dim], |_, _| {}).map(drop), bad);
    }

    #[test]
    fn a_mu_that_is_not_positive_is_named(bad in not_positive()) {
        names(bilinear().with_constants(BlockConstants { mu: Some(bad), ..Default::default() }).map(drop), bad);
        let saddle = Saddle { x: vec![0.0], y: vec![0.0], value: 0.0 };
        let made = QuadraticBilinear::new(
            vec![1.0], vec![bad], vec![1.0], vec![0.0], vec![0.0], saddle);
        let named = matches!(made, Err(Error::NotPositive { .. } | Error::NotFinite { .. }));
        prop_assert!(named);
    }

    #[test]
    fn any_start_point_is_taken_or_refused_and_never_panics(
        x in proptest::collection::vec(proptest::num::f64::ANY, 0..4),
    ) {
        let set = ball(2);
        let inside = x.len() == 2 && set.contains(&x, 1e-9);
        let result = Solve::new(&bilinear(), &set, &set).start_x(x).iterations(3).run();
        prop_assert_eq!(result.is_ok(), inside);
    }

    #[test]
    fn garbage_from_closures_never_panics(value in proptest::num::f64::ANY, slope in proptest::num::f64::ANY) {
        let problem = ClosureProblem::new(
            2, 2, move |_, _| value, move |_, _, g| g.fill(slope), move |_, _, g| g.fill(-slope),
        ).expect("a problem");
        let set = ball(2);
        let result = Solve::new(&problem, &set, &set).iterations(3).run();
        if !value.is_finite() || !slope.is_finite() {
            let named = matches!(result, Err(Error::NotFinite { .. }));
            prop_assert!(named);
        }
    }
}
