//! The run loop: why runs end, what the trace holds, what observers see.

use couloir::domain::{BoxSet, L2Ball, LoSet, Simplex};
use couloir::oracles::Counter;
use couloir::problem::{ClosureProblem, QuadraticBilinear};
use couloir::run::{
    Algorithm, Cancel, Checkpoints, Clock, Flow, MemoryLimit, NoClock, Status, StopRules,
    TRACE_RECORDS, TracePoint,
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

/// A set whose linear minimisation takes a while, by a clock that it moves itself.
#[derive(Clone, Default)]
struct ByHand(Arc<AtomicU64>);

impl Clock for ByHand {
    fn seconds(&self) -> f64 {
        self.0.load(Ordering::Relaxed) as f64
    }

    fn shared(&self) -> Option<couloir::watch::SharedClock> {
        Some(Arc::new(self.clone()))
    }
}

/// Least squares over a simplex that is known by its linear minimisation alone, each of which takes a second and does
/// `also` with the number of calls so far.
fn slow_run(clock: &ByHand, rules: StopRules, also: impl Fn(u64) + Send + Sync) -> (Solution, u64) {
    slow_run_kept(clock, rules, Checkpoints::default(), also)
}

fn slow_run_kept(
    clock: &ByHand,
    rules: StopRules,
    checkpoints: Checkpoints,
    also: impl Fn(u64) + Send + Sync,
) -> (Solution, u64) {
    const DIM: usize = 30;
    let calls = AtomicU64::new(0);
    let linear_minimum = |g: &[f64], p: &mut [f64]| {
        clock.0.fetch_add(1, Ordering::Relaxed);
        also(calls.fetch_add(1, Ordering::Relaxed) + 1);
        let best = (0..DIM).min_by(|&i, &j| g[i].total_cmp(&g[j])).unwrap_or(0);
        p.fill(0.0);
        p[best] = 1.0;
    };
    let mut start = vec![0.0; DIM];
    start[0] = 1.0;
    let x_set = LoSet::new(DIM, 2f64.sqrt(), start, linear_minimum).expect("a set");
    let y_set = BoxSet::cube(1, -1.0, 1.0).expect("a box");
    let target = |i: usize| (1.0 + (i as f64).sin()) / DIM as f64;
    let problem = ClosureProblem::new(
        DIM,
        1,
        move |x, y| {
            let square: f64 = (0..DIM).map(|i| (x[i] - target(i)).powi(2)).sum();
            0.5 * square - 0.5 * y[0] * y[0]
        },
        move |x, _, g| (0..DIM).for_each(|i| g[i] = x[i] - target(i)),
        |_, y, g| g[0] = -y[0],
    )
    .expect("a problem");
    // plain slides take many linear minimisations
    let slides = couloir::solver::CertifiedSettings::default().inner_x(couloir::Inner::Slide);
    let run = Solve::new(&problem, &x_set, &y_set).method(Method::new(slides));
    let run = run.rules(rules).clock(clock);
    let solution = run.checkpoints(checkpoints).run().expect("a run");
    (solution, calls.load(Ordering::Relaxed))
}

#[test]
fn limits_end_an_iteration_that_is_under_way_at_its_next_linear_minimisation() {
    let without_end = || {
        let mut rules = rules();
        rules.relative_gap = Some(1e-300);
        rules.iterations = Some(1_000_000);
        rules
    };
    // how long single iterations are: some take many linear minimisations
    let mut few = without_end();
    few.iterations = Some(12);
    let (whole, _) = slow_run(&ByHand::default(), few, |_| {});
    let lo_at = |k: usize| whole.outcome.trace[k].ledger.method.lo_x;
    let longest = (1..12).max_by_key(|&k| lo_at(k + 1) - lo_at(k)).expect("iterations");
    let (begin, end) = (lo_at(longest), lo_at(longest + 1));
    assert!(end - begin > 20, "no iteration is long: {begin} {end}");
    let middle = (begin + end) / 2;

    let mut by_calls = without_end();
    by_calls.limits.push((Counter::LoX, middle));
    let (solution, _) = slow_run(&ByHand::default(), by_calls, |_| {});
    let outcome = &solution.outcome;
    assert_eq!(outcome.status, Status::OracleLimit(Counter::LoX));
    assert_eq!((outcome.iterations, outcome.ledger.method.lo_x), (longest as u64, middle));
    assert_eq!(outcome.certificate, whole.outcome.trace[longest].certificate);

    let seconds = middle as f64;
    let (clock, mut by_time) = (ByHand::default(), without_end());
    by_time.seconds = Some(seconds);
    let (solution, _) = slow_run(&clock, by_time, |_| {});
    assert_eq!(solution.outcome.status, Status::TimeLimit);
    let late = solution.outcome.seconds - seconds;
    assert!((0.0..=1.0).contains(&late), "{late} s late");

    let cancel = Cancel::default();
    let mut by_flag = without_end();
    by_flag.cancel = Some(cancel.clone());
    let raise = |calls| {
        if calls == middle {
            cancel.raise()
        }
    };
    let (solution, calls) = slow_run(&ByHand::default(), by_flag, raise);
    assert_eq!((solution.outcome.status, calls), (Status::Cancelled, middle));
    assert!(solution.outcome.certificate.gap.is_finite());
}

#[test]
fn a_run_whose_iteration_was_ended_goes_on_from_the_state_before_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("checkpoint");
    let twelve = || {
        let mut rules = rules();
        (rules.relative_gap, rules.iterations) = (Some(1e-300), Some(12));
        rules
    };
    let (whole, all_calls) = slow_run(&ByHand::default(), twelve(), |_| {});
    let mut ended_within = 0;
    let apart = (all_calls / 23).max(1) as usize;
    for calls_before in (1..all_calls).step_by(apart) {
        let cancel = Cancel::default();
        let mut rules = twelve();
        rules.cancel = Some(cancel.clone());
        let raise = |calls| {
            if calls == calls_before {
                cancel.raise()
            }
        };
        let kept = Checkpoints::to(&file).every(f64::INFINITY);
        let (ended, _) = slow_run_kept(&ByHand::default(), rules, kept, raise);
        assert_eq!(ended.outcome.status, Status::Cancelled, "{calls_before}");
        let at = whole.outcome.trace[ended.outcome.iterations as usize];
        assert_eq!(ended.outcome.certificate, at.certificate, "{calls_before}");
        ended_within += u64::from(ended.outcome.ledger != at.ledger);
        let resumed = Checkpoints::resume(&file).every(f64::INFINITY);
        let (resumed, _) = slow_run_kept(&ByHand::default(), twelve(), resumed, |_| {});
        assert_eq!((&resumed.x, &resumed.y), (&whole.x, &whole.y), "{calls_before}");
        assert_eq!(resumed.outcome.certificate, whole.outcome.certificate, "{calls_before}");
        assert_eq!(resumed.outcome.ledger, whole.outcome.ledger, "{calls_before}");
    }
    assert!(ended_within > 10, "only {ended_within} iterations were ended while under way");
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
