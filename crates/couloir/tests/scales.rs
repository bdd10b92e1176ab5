//! Blocks of different scale: what block constants buy, and that the units of y do not matter.

mod common;

use common::Rescaled;
use couloir::domain::{L2Ball, NuclearBall, Simplex};
use couloir::oracles::Counter;
use couloir::problem::{KnownConstants, QuadraticBilinear, SaddleProblem};
use couloir::run::{Algorithm, Flow, Status, StopRules, TracePoint};
use couloir::{Inner, Method, Solve, solver::CertifiedSettings};

#[test]
fn certified_needs_a_twentieth_of_the_gradients_of_printed_when_blocks_differ_in_scale() {
    let x_set = NuclearBall::new(5, 8, 1.0).expect("a ball");
    let y_set = Simplex::new(10).expect("a simplex");
    let problem = QuadraticBilinear::on(&x_set, &y_set)
        .curvature(1e-2, 1.01e2)
        .coupling(10.0)
        .push(0.1)
        .build()
        .expect("a problem");
    let constants = problem.constants();
    let ratio = constants.lyy.expect("Lyy") / constants.lxx.expect("Lxx");
    assert!(ratio >= 1e4, "Lyy/Lxx is {ratio}");

    let mut rules = StopRules::default();
    rules.relative_gap = Some(1e-3);
    let certified = Solve::new(&problem, &x_set, &y_set).rules(rules.clone()).run().expect("a run");
    assert_eq!(certified.outcome.status, Status::SolvedRelative);
    let grads = certified.outcome.ledger.method.grad_x;
    assert!(grads > 1, "solved by the first gradient: this shows too little");

    rules.limits = vec![(Counter::GradX, 20 * grads)];
    let printed = Solve::new(&problem, &x_set, &y_set)
        .method(Method::mpcgs())
        .rules(rules)
        .run()
        .expect("a run");
    assert_eq!(
        printed.outcome.status,
        Status::OracleLimit(Counter::GradX),
        "printed got there with {} gradients, certified took {grads}",
        printed.outcome.ledger.method.grad_x
    );
}

/// The x-iterates of the first iterations.
fn iterates(
    problem: &dyn SaddleProblem,
    x_set: &L2Ball,
    total: f64,
    inner: Inner,
) -> Vec<Vec<f64>> {
    let y_set = Simplex::scaled(6, total).expect("a simplex");
    let mut rules = StopRules::default();
    rules.relative_gap = Some(1e-7);
    rules.iterations = Some(25);
    let mut list = Vec::new();
    let mut observer = |_: &TracePoint, state: &dyn Algorithm| {
        list.push(state.current().0.to_vec());
        Flow::Continue
    };
    Solve::new(problem, x_set, &y_set)
        .method(Method::new(CertifiedSettings::default().inner(inner)))
        .rules(rules)
        .run_with(&mut observer)
        .expect("a run");
    list
}

#[test]
fn the_units_of_y_do_not_matter_to_the_x_iterates_of_certified() {
    let x_set = L2Ball::new(5, 1.0).expect("a ball");
    let y_set = Simplex::new(6).expect("a simplex");
    let problem = QuadraticBilinear::on(&x_set, &y_set)
        .curvature(0.1, 1.0)
        .coupling(2.0)
        .build()
        .expect("a problem");
    // A slide may break ties between equal slopes by their last bits, so its own units are powers of
    // two, which leave them as they are.
    for (inner, units) in
        [(Inner::Exact, [1e-3, 1e3]), (Inner::Slide, [2f64.powi(-10), 2f64.powi(10)])]
    {
        let base = iterates(&problem, &x_set, 1.0, inner);
        assert!(base.len() > 5, "only {} iterates", base.len());
        for c in units {
            let scaled = iterates(&Rescaled { inner: &problem, c }, &x_set, c, inner);
            assert_eq!(base.len(), scaled.len(), "{inner:?}, c = {c}");
            for (k, (a, b)) in base.iter().zip(&scaled).enumerate() {
                let d = couloir::linalg::distance_squared(a, b).sqrt();
                assert!(d <= 1e-8, "{inner:?}, c = {c}, k = {k}: {d:e}");
            }
        }
    }
}
