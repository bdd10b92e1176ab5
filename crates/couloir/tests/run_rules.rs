//! The run loop: why runs end, what the trace holds, what observers see.

use couloir::domain::{L2Ball, Simplex};
use couloir::oracles::Counter;
use couloir::problem::QuadraticBilinear;
use couloir::run::{
    Algorithm, Clock, Flow, MemoryLimit, NoClock, Status, StopRules, TRACE_RECORDS, TracePoint,
};
use couloir::{Error, Method, Solution, Solve};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

fn rules() -> StopRules {
    let mut rules = StopRules::default();
    rules.relative_gap = None;
    rules
}

fn solve(rules: StopRules, clock: impl Clock, method: Method) -> Solution {
    let (x_set, y_set) =
        (L2Ball::new(6, 1.0).expect("a ball"), Simplex::new(5).expect("a simplex"));
    let problem = QuadraticBilinear::on(&x_set, &y_set).coupling(3.0).build().expect("a problem");
    let solve = Solve::new(&problem, &x_set, &y_set).method(method).rules(rules);
    solve.clock(clock).run().expect("a run")
}

/// A clock that moves on by one second each time it is read.
#[derive(Default)]
struct Ticking(AtomicU64);

impl Clock for Ticking {
    fn seconds(&self) -> f64 {
        (1 + self.0.fetch_add(1, Ordering::Relaxed)) as f64
    }
}

#[test]
fn each_rule_ends_the_run_with_its_own_status() {
    let mut by_gap = rules();
    by_gap.gap = Some(1e-3);
    let solution = solve(by_gap, NoClock, Method::certified());
    assert_eq!(solution.outcome.status, Status::Solved);
    assert!(solution.outcome.certificate.gap <= 1e-3);

    let mut relative = rules();
    relative.relative_gap = Some(1e-2);
    let outcome = solve(relative, NoClock, Method::certified()).outcome;
    assert_eq!(outcome.status, Status::SolvedRelative);
    assert!(outcome.certificate.gap <= 1e-2 * outcome.trace[0].certificate.gap);

    let mut iterations = rules();
    iterations.iterations = Some(4);
    let outcome = solve(iterations, NoClock, Method::mpcgs()).outcome;
    assert_eq!((outcome.status, outcome.iterations), (Status::IterationLimit, 4));

    let mut time = rules();
    time.seconds = Some(3.0);
    let outcome = solve(time, Ticking::default(), Method::mpcgs()).outcome;
    assert_eq!((outcome.status, outcome.iterations, outcome.seconds), (Status::TimeLimit, 3, 3.0));

    let mut memory = rules();
    let taken = AtomicU64::new(0); // a byte more at every look
    memory.memory = Some(MemoryLimit::new(3, move || taken.fetch_add(1, Ordering::Relaxed)));
    let outcome = solve(memory, NoClock, Method::mpcgs()).outcome;
    assert_eq!((outcome.status, outcome.iterations), (Status::MemoryLimit, 4));
    assert_eq!(outcome.status.to_string(), "memory limit");
    let (first, last) = (outcome.trace[0].certificate.gap, outcome.certificate.gap);
    assert!(last.is_finite() && last < first, "the best pair is kept: {last} of {first}");

    for (counter, limit) in [(Counter::GradX, 30), (Counter::LoY, 50), (Counter::Value, 3)] {
        let mut budget = rules();
        budget.limits = vec![(counter, limit)];
        let method = if counter == Counter::Value { Method::certified() } else { Method::mpcgs() };
        let outcome = solve(budget, NoClock, method).outcome;
        assert_eq!(outcome.status, Status::OracleLimit(counter));
        assert!(outcome.ledger.method.get(counter) >= limit);
    }

    let mut impatient = rules();
    (impatient.patience, impatient.gap) = (Some(3), Some(1e-12));
    let outcome = solve(impatient, NoClock, Method::spfw()).outcome;
    assert_eq!(
        outcome.status,
        Status::Stalled,
        "the open step moves by less than a hundredth in time"
    );

    let mut cancel = rules();
    let flag = Arc::new(AtomicBool::new(true));
    cancel.cancel = Some(flag.clone().into());
    let outcome = solve(cancel.clone(), NoClock, Method::certified()).outcome;
    assert_eq!((outcome.status, outcome.iterations), (Status::Cancelled, 0));
    assert!(outcome.certificate.gap.is_finite(), "even a cancelled run has a certificate");
    flag.store(false, Ordering::Relaxed);
    cancel.iterations = Some(2);
    let outcome = solve(cancel, NoClock, Method::certified()).outcome;
    assert_eq!(outcome.status, Status::IterationLimit);
}

#[test]
fn an_inner_solve_out_of_budget_is_reported_as_that() {
    let (x_set, y_set) =
        (L2Ball::new(6, 1.0).expect("a ball"), L2Ball::new(5, 1.0).expect("a ball"));
    let problem =
        QuadraticBilinear::on(&x_set, &y_set).coupling(3.0).spread(4.0).build().expect("a problem");
    let mut settings = couloir::solver::CertifiedSettings::default().inner(couloir::Inner::Slide);
    settings.inner_budget = 3;
    let solution = Solve::new(&problem, &x_set, &y_set)
        .method(Method::new(settings))
        .gap(1e-9)
        .run()
        .expect("a run");
    assert!(
        matches!(solution.outcome.status, Status::InnerBudget(_)),
        "{}",
        solution.outcome.status
    );
    let gap = solution.outcome.certificate.gap;
    assert!(gap.is_finite() && gap > 1e-9, "the best point is kept with its certificate {gap}");
}

#[test]
fn the_trace_is_kept_as_often_as_asked_and_ends_with_the_last_iterate() {
    let mut every = rules();
    every.evaluate_every = 4;
    every.iterations = Some(10);
    let outcome = solve(every, NoClock, Method::mpcgs()).outcome;
    let at: Vec<u64> = outcome.trace.iter().map(|p| p.iteration).collect();
    assert_eq!(at, [0, 4, 8, 10]);
    let last = outcome.trace.last().expect("a trace");
    assert_eq!(last.ledger, outcome.ledger);
    assert_eq!(outcome.ledger.certificate.grad_x, 4, "one gradient for each evaluation");
    for pair in outcome.trace.windows(2) {
        assert!(pair[1].certificate.gap <= pair[0].certificate.gap, "the best one is kept");
        assert!(pair[1].ledger.method.grad_x > pair[0].ledger.method.grad_x);
    }
    let c = last.certificate;
    assert!((c.gap - c.gap_x - c.gap_y).abs() <= 1e-15 && c.gap_x >= 0.0 && c.gap_y >= 0.0);
}

#[test]
fn evaluation_time_is_not_charged() {
    let mut every = rules();
    every.iterations = Some(6);
    // every step reads the clock twice, one second apart; evaluations do not read it
    let outcome = solve(every, Ticking::default(), Method::mpcgs()).outcome;
    assert_eq!(outcome.seconds, 6.0);
}

#[test]
fn an_observer_sees_the_state_and_can_stop_the_run() {
    let (x_set, y_set) =
        (L2Ball::new(6, 1.0).expect("a ball"), Simplex::new(5).expect("a simplex"));
    let problem = QuadraticBilinear::on(&x_set, &y_set).build().expect("a problem");
    let mut seen = Vec::new();
    let mut observer = |point: &TracePoint, state: &dyn Algorithm| {
        assert_eq!((state.current().0.len(), state.best().1.len()), (6, 5));
        assert_eq!(state.iterations(), point.iteration);
        seen.push(point.iteration);
        if point.iteration == 3 { Flow::Stop } else { Flow::Continue }
    };
    let solution =
        Solve::new(&problem, &x_set, &y_set).gap(1e-15).run_with(&mut observer).expect("a run");
    assert_eq!(solution.outcome.status, Status::StoppedByObserver);
    assert_eq!(seen, [0, 1, 2, 3]);
}

#[test]
fn the_same_settings_give_the_same_bits() {
    let run = || {
        let mut some = rules();
        some.iterations = Some(12);
        solve(some, NoClock, Method::certified())
    };
    assert_eq!(run(), run());
}

#[test]
fn a_time_limit_needs_a_clock_and_works_with_one() {
    let (x_set, y_set) =
        (L2Ball::new(6, 1.0).expect("a ball"), Simplex::new(5).expect("a simplex"));
    let problem = QuadraticBilinear::on(&x_set, &y_set).coupling(3.0).build().expect("a problem");
    let solve = Solve::new(&problem, &x_set, &y_set).gap(1e-15);
    let outcome = solve.clone().seconds(3.0, Ticking::default()).run().expect("a run").outcome;
    assert_eq!((outcome.status, outcome.iterations, outcome.seconds), (Status::TimeLimit, 3, 3.0));
    // a clock alone gives times and no limit
    let timed = solve.clone().iterations(5).clock(Ticking::default()).run().expect("a run").outcome;
    assert_eq!((timed.status, timed.seconds), (Status::IterationLimit, 5.0));
    // rules may set a limit without a clock: that is an error, not a limit without effect
    let mut limited = rules();
    limited.seconds = Some(3.0);
    let error = solve.rules(limited).run().expect_err("no clock");
    assert!(error.to_string().contains("needs a clock"), "{error}");
}

#[test]
fn a_long_trace_is_thinned_and_keeps_its_ends_unless_all_of_it_is_wanted() {
    let iterations = 40_000;
    let mut long = rules();
    long.iterations = Some(iterations);
    let mut whole = long.clone();
    whole.trace_records = None;
    let thinned = solve(long, NoClock, Method::spfw()).outcome.trace;
    let whole = solve(whole, NoClock, Method::spfw()).outcome.trace;
    assert_eq!(whole.len() as u64, iterations + 1);
    assert!((TRACE_RECORDS / 2..=TRACE_RECORDS).contains(&thinned.len()), "{}", thinned.len());
    // 40,001 evaluations: every fourth is kept
    assert!(thinned.iter().eq(whole.iter().step_by(4)));
    assert_eq!(thinned.last(), whole.last());

    let mut few = rules();
    few.trace_records = Some(1);
    assert!(matches!(try_solve(few), Err(Error::Setting { name: "trace_records", .. })));
}

fn try_solve(rules: StopRules) -> couloir::Result<Solution> {
    let (x_set, y_set) = (L2Ball::new(6, 1.0)?, Simplex::new(5)?);
    let problem = QuadraticBilinear::on(&x_set, &y_set).coupling(3.0).build()?;
    Solve::new(&problem, &x_set, &y_set).rules(rules).run()
}
