//! The corrective method: against enumeration of all vertices, within its limits, and on oracles that are wrong.

use couloir::domain::{Atom, Domain, LoSet, Simplex};
use couloir::oracles::Counter;
use couloir::problem::{BlockConstants, ClosureProblem};
use couloir::run::{Algorithm, Checkpoints, Clock, Flow, Status, TracePoint, WallClock};
use couloir::solver::{AtomBlocks, CorrectiveSettings};
use couloir::{Error, Method, Solution, Solve};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

const SIDE: usize = 5;
const DIM: usize = SIDE * SIDE;
const SCENARIOS: usize = 6;

fn number(i: usize, j: usize) -> f64 {
    ((127.1 * i as f64 + 311.7 * j as f64).sin() * 43_758.545_3).fract().abs()
}

/// All permutation matrices of side 5.
fn permutations() -> Vec<Vec<f64>> {
    let mut found = Vec::new();
    for code in 0..SIDE.pow(SIDE as u32) {
        let columns: Vec<usize> = (0..SIDE).map(|row| code / SIDE.pow(row as u32) % SIDE).collect();
        if (0..SIDE).all(|column| columns.contains(&column)) {
            let mut x = vec![0.0; DIM];
            columns.iter().enumerate().for_each(|(row, column)| x[row * SIDE + column] = 1.0);
            found.push(x);
        }
    }
    assert_eq!(found.len(), 120);
    found
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// A polytope known by its oracle alone, which looks at all vertices and counts its calls.
fn hull(vertices: Vec<Vec<f64>>, calls: Arc<AtomicU64>) -> LoSet<'static> {
    let start = vertices[0].clone();
    LoSet::new(start.len(), 2.0 * start.len() as f64, start, move |g, x| {
        calls.fetch_add(1, Relaxed);
        let value = |x: &&Vec<f64>| dot(g, x);
        let best = vertices.iter().min_by(|a, b| value(a).total_cmp(&value(b))).expect("one");
        x.copy_from_slice(best);
    })
    .expect("a set")
}

/// `sum_i y_i <c_i, V w> - mu/2 |y - 1/m|^2` over combinations `w` of vertices, or over `x = V w` where `V` is None.
fn robust(mu: f64, vertices: Option<Vec<Vec<f64>>>) -> ClosureProblem<'static> {
    let costs = costs(vertices.as_ref());
    with_costs(mu, &costs, Alarm::default()).with_best_response(move |x, y| {
        let even = 1.0 / SCENARIOS as f64;
        (0..SCENARIOS).for_each(|i| y[i] = even + dot(&costs[i], x) / mu);
        let mut falling = y.to_vec();
        falling.sort_by(|a, b| b.total_cmp(a));
        let (mut sum, mut theta) = (0.0, f64::NEG_INFINITY);
        for (k, v) in falling.iter().enumerate() {
            sum += v;
            theta = theta.max((sum - 1.0) / (k + 1) as f64);
        }
        y.iter_mut().for_each(|y| *y = (*y - theta).max(0.0));
    })
}

/// A flag that the gradient in x raises when it has been asked so often.
#[derive(Clone, Default)]
struct Alarm {
    after: u64,
    seen: Arc<AtomicU64>,
    flag: Arc<AtomicBool>,
}

/// The same function with no more known of it than its constants.
fn plain(mu: f64, alarm: Alarm) -> ClosureProblem<'static> {
    let mut constants = BlockConstants::default();
    (constants.mu, constants.lyy) = (Some(mu), Some(mu));
    with_costs(mu, &costs(None), alarm).with_constants(constants).expect("constants")
}

fn costs(vertices: Option<&Vec<Vec<f64>>>) -> Vec<Vec<f64>> {
    let cost = |i: usize| (0..DIM).map(move |j| number(i, j)).collect::<Vec<f64>>();
    match vertices {
        None => (0..SCENARIOS).map(cost).collect(),
        Some(all) => {
            (0..SCENARIOS).map(|i| all.iter().map(|v| dot(&cost(i), v)).collect()).collect()
        }
    }
}

fn with_costs(mu: f64, costs: &[Vec<f64>], alarm: Alarm) -> ClosureProblem<'static> {
    let even = 1.0 / SCENARIOS as f64;
    let dim = costs[0].len();
    let (c1, c2, c3) = (costs.to_vec(), costs.to_vec(), costs.to_vec());
    ClosureProblem::new(
        dim,
        SCENARIOS,
        move |x, y| {
            let of = |(i, y): (usize, &f64)| y * dot(&c1[i], x) - 0.5 * mu * (y - even).powi(2);
            y.iter().enumerate().map(of).sum()
        },
        move |_, y, g| {
            if alarm.after > 0 && alarm.seen.fetch_add(1, Relaxed) + 1 == alarm.after {
                alarm.flag.store(true, Relaxed);
            }
            g.fill(0.0);
            c2.iter().zip(y).for_each(|(c, y)| g.iter_mut().zip(c).for_each(|(g, c)| *g += y * c));
        },
        move |x, y, g| {
            (0..SCENARIOS).for_each(|i| g[i] = dot(&c3[i], x) - mu * (y[i] - even));
        },
    )
    .expect("a problem")
}

fn scenarios() -> Simplex {
    Simplex::new(SCENARIOS).expect("a simplex")
}

fn settings() -> CorrectiveSettings {
    CorrectiveSettings::default()
}

#[test]
fn the_value_over_an_oracle_is_that_over_all_vertices() {
    for mu in [10.0, 1.0, 0.1, 0.01] {
        let all = permutations();
        let weights = Simplex::new(all.len()).expect("a simplex");
        let by_list = robust(mu, Some(all.clone()));
        let y_set = scenarios();
        let reference = Solve::new(&by_list, &weights, &y_set)
            .method(Method::apg())
            .gap(1e-5)
            .iterations(20_000)
            .run()
            .expect("a run");
        let calls = Arc::new(AtomicU64::new(0));
        let set = hull(all, calls.clone());
        let problem = robust(mu, None);
        let solution = Solve::new(&problem, &set, &y_set).gap(1e-8).run().expect("a run");
        assert_eq!(solution.method, "corrective");
        assert!(solution.outcome.status.is_solved(), "{mu}: {}", solution.outcome.status);
        let (ours, theirs) = (solution.outcome.certificate, reference.outcome.certificate);
        assert!(ours.lower <= theirs.upper && theirs.lower <= ours.upper, "{ours:?} {theirs:?}");
        // every call is counted, and there are not many
        let ledger = solution.outcome.ledger;
        assert_eq!(ledger.method.lo_x + ledger.certificate.lo_x, calls.load(Relaxed));
        assert!(calls.load(Relaxed) <= 40, "{mu}: {}", calls.load(Relaxed));
    }
}

/// `x' B y` over two hulls.
fn game(rows: usize, columns: usize) -> ClosureProblem<'static> {
    let b = move |i: usize, j: usize| number(i + 3, j + 5) - 0.5;
    ClosureProblem::new(
        rows,
        columns,
        move |x, y| {
            (0..rows).map(|i| x[i] * (0..columns).map(|j| b(i, j) * y[j]).sum::<f64>()).sum()
        },
        move |_, y, g| (0..rows).for_each(|i| g[i] = (0..columns).map(|j| b(i, j) * y[j]).sum()),
        move |x, _, g| (0..columns).for_each(|j| g[j] = (0..rows).map(|i| b(i, j) * x[i]).sum()),
    )
    .expect("a problem")
}

/// The gap of a pair in the game, over lists of all vertices.
fn game_gap(solution: &Solution, xs: &[Vec<f64>], ys: &[Vec<f64>]) -> f64 {
    let b = |i: usize, j: usize| number(i + 3, j + 5) - 0.5;
    let value = |x: &[f64], y: &[f64]| -> f64 {
        (0..x.len()).map(|i| x[i] * (0..y.len()).map(|j| b(i, j) * y[j]).sum::<f64>()).sum()
    };
    let most = ys.iter().map(|y| value(&solution.x, y)).fold(f64::NEG_INFINITY, f64::max);
    let least = xs.iter().map(|x| value(x, &solution.y)).fold(f64::INFINITY, f64::min);
    most - least
}

#[test]
fn games_with_both_sides_by_oracle_end_at_a_saddle_point_over_all_vertices() {
    let (xs, ys) = (permutations(), permutations());
    let calls = Arc::new(AtomicU64::new(0));
    let (x_set, y_set) = (hull(xs.clone(), calls.clone()), hull(ys.clone(), calls));
    let problem = game(DIM, DIM);
    let solution = Solve::new(&problem, &x_set, &y_set).gap(1e-9).run().expect("a run");
    assert!(solution.outcome.status.is_solved(), "{}", solution.outcome.status);
    let gap = game_gap(&solution, &xs, &ys);
    assert!(gap <= solution.outcome.certificate.gap + 1e-12 && gap >= -1e-12, "{gap:e}");
    // no answer of an oracle is needed twice
    assert!(solution.outcome.iterations <= 239, "{}", solution.outcome.iterations);
}

#[test]
fn without_a_penalty_a_cheap_y_grows_between_calls_for_x() {
    let xs = permutations();
    let calls = Arc::new(AtomicU64::new(0));
    let x_set = hull(xs.clone(), calls.clone());
    let y_set = scenarios();
    let problem = game(DIM, SCENARIOS);
    let solution = Solve::new(&problem, &x_set, &y_set).gap(1e-9).run().expect("a run");
    assert!(solution.outcome.status.is_solved(), "{}", solution.outcome.status);
    let corners: Vec<Vec<f64>> = (0..SCENARIOS)
        .map(|i| (0..SCENARIOS).map(|j| if i == j { 1.0 } else { 0.0 }).collect())
        .collect();
    assert!(game_gap(&solution, &xs, &corners) <= 1e-9 + 1e-12);
    assert!(calls.load(Relaxed) <= 120, "{}", calls.load(Relaxed));
}

#[test]
fn both_blocks_as_atoms_agree_with_one() {
    let y_set = scenarios();
    let problem = robust(1.0, None);
    let run = |blocks: AtomBlocks| {
        let set = hull(permutations(), Arc::default());
        let solve = Solve::new(&problem, &set, &y_set).method(settings().blocks(blocks));
        solve.gap(1e-7).run().expect("a run").outcome
    };
    let (one, both) = (run(AtomBlocks::X), run(AtomBlocks::Both));
    assert!(one.status.is_solved() && both.status.is_solved(), "{} {}", one.status, both.status);
    assert!(one.certificate.lower <= both.certificate.upper);
    assert!(both.certificate.lower <= one.certificate.upper);
}

#[test]
fn a_limit_of_atoms_holds_and_the_certificate_with_it() {
    let y_set = scenarios();
    let problem = robust(0.1, None);
    let set = hull(permutations(), Arc::default());
    let solve = Solve::new(&problem, &set, &y_set);
    let free = solve.clone().gap(1e-8).run().expect("a run").outcome;
    let tight = solve.method(settings().atoms(3)).gap(1e-8).iterations(200).run().expect("a run");
    let atoms = tight.outcome.facts.iter().find(|fact| fact.name == "atoms_x").expect("a fact");
    assert!(atoms.value <= 3.0, "{atoms:?}");
    let (upper, lower) = (tight.outcome.certificate.upper, tight.outcome.certificate.lower);
    assert!(lower <= free.certificate.upper && free.certificate.lower <= upper);
    assert!(upper < free.certificate.upper + 0.05, "{upper} {}", free.certificate.upper);
}

#[test]
fn runs_go_on_with_the_same_bits() {
    let folder = tempfile::tempdir().expect("a folder");
    for blocks in [AtomBlocks::X, AtomBlocks::Both] {
        let file = folder.path().join(format!("{blocks:?}"));
        let y_set = scenarios();
        let problem = robust(0.1, None);
        let set = hull(permutations(), Arc::default());
        let solve = Solve::new(&problem, &set, &y_set).method(settings().blocks(blocks)).gap(1e-8);
        let whole = solve.run().expect("a run");
        let most = whole.outcome.iterations;
        assert!(most > 3);
        for stop in 1..most {
            solve
                .clone()
                .iterations(stop)
                .checkpoints(Checkpoints::to(&file))
                .run()
                .expect("a run");
            let rest = solve.clone().checkpoints(Checkpoints::resume(&file)).run();
            assert_eq!(rest.expect("the rest"), whole, "{blocks:?}, from {stop}");
        }
    }
}

/// Where `phi` is all but piecewise linear, restricted problems on one block are left unsolved, and atoms of y take over.
#[test]
fn tiny_penalties_are_solved_with_atoms_of_both_blocks_and_resumed_with_the_same_bits() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run");
    let y_set = scenarios();
    let mut changed = 0;
    for mu in [1e-4, 1e-5, 1e-6, 1e-8] {
        let problem = robust(mu, None);
        let set = hull(permutations(), Arc::default());
        let solve = Solve::new(&problem, &set, &y_set).method(settings()).gap(1e-7);
        let mut has_changed = false;
        let mut look = |_: &TracePoint, running: &dyn Algorithm| {
            has_changed |= running.facts().iter().any(|fact| fact.name == "atoms_y");
            Flow::Continue
        };
        let whole = solve.run_with(&mut look).expect("a run");
        assert!(whole.outcome.status.is_solved(), "{mu}: {}", whole.outcome.status);
        changed += u32::from(has_changed);
        let both = solve.clone().method(settings().blocks(AtomBlocks::Both)).run().expect("a run");
        let (one, other) = (whole.outcome.certificate, both.outcome.certificate);
        assert!(one.lower <= other.upper && other.lower <= one.upper, "{mu}");
        for stop in 1..whole.outcome.iterations {
            let part = solve.clone().iterations(stop).checkpoints(Checkpoints::to(&file));
            part.run().expect("a run");
            let rest = solve.clone().checkpoints(Checkpoints::resume(&file)).run();
            assert_eq!(rest.expect("the rest"), whole, "{mu}, from {stop}");
        }
    }
    assert!(changed > 0);
}

#[test]
fn a_limit_of_oracle_calls_is_never_exceeded() {
    let y_set = scenarios();
    let problem = robust(0.01, None);
    for limit in 1..8 {
        let calls = Arc::new(AtomicU64::new(0));
        let set = hull(permutations(), calls.clone());
        let solve = Solve::new(&problem, &set, &y_set).gap(1e-12).limit(Counter::LoX, limit);
        let outcome = solve.run().expect("a run").outcome;
        assert_eq!(outcome.status, Status::OracleLimit(Counter::LoX));
        assert!(calls.load(Relaxed) <= limit, "{} > {limit}", calls.load(Relaxed));
        assert!(outcome.certificate.gap.is_finite());
    }
}

#[test]
fn time_and_cancel_end_a_run_within_one_slow_oracle_call() {
    let call = Duration::from_millis(50);
    let y_set = scenarios();
    let problem = robust(0.01, None);
    let set = slow(call, None);
    let before = Instant::now();
    let solve = Solve::new(&problem, &set, &y_set).gap(1e-12).seconds(0.12, WallClock::start());
    let outcome = solve.run().expect("a run").outcome;
    assert_eq!(outcome.status, Status::TimeLimit);
    assert!(before.elapsed().as_secs_f64() < 0.12 + 1.0, "{:?}", before.elapsed());
    assert!(outcome.certificate.gap.is_finite());

    let flag = Arc::new(AtomicBool::new(false));
    let set = slow(call, Some(flag.clone()));
    let outcome =
        Solve::new(&problem, &set, &y_set).gap(1e-12).cancel(flag).run().expect("a run").outcome;
    assert_eq!(outcome.status, Status::Cancelled);
    assert_eq!(outcome.ledger.method.lo_x + outcome.ledger.certificate.lo_x, 4);
}

/// A set whose oracle takes this long, and raises the flag in its fourth call.
fn slow(call: Duration, flag: Option<Arc<AtomicBool>>) -> LoSet<'static> {
    let all = permutations();
    let seen = AtomicU64::new(0);
    LoSet::by_atoms(DIM, 8.0, all[0].clone(), move |g| {
        std::thread::sleep(call);
        if seen.fetch_add(1, Relaxed) == 3 {
            flag.iter().for_each(|flag| flag.store(true, Relaxed));
        }
        let best = all.iter().min_by(|a, b| dot(g, a).total_cmp(&dot(g, b)));
        Atom::from_point(best.expect("one"))
    })
    .expect("a set")
}

/// Responses by CGS over a ball known by its oracle, inside of Newton steps by differences: thousands of linear minimisations in one
/// iteration.
#[test]
fn limits_hold_within_an_iteration_whose_responses_are_slides() {
    let x_set = Simplex::new(2).expect("a simplex");
    let y_set = LoSet::new(3, 1.2, vec![0.0; 3], |g, p| {
        let length = dot(g, g).sqrt();
        (0..3).for_each(|j| p[j] = if length > 0.0 { -0.55 * g[j] / length } else { 0.0 });
    })
    .expect("a ball");
    const B: [[f64; 2]; 3] = [[-0.93, 0.87], [-1.81, -1.48], [0.4, -1.83]];
    let centre = [0.33, 0.31, 0.35];
    let coupled = |x: &[f64], j: usize| B[j][0] * (x[0] - 0.3) + B[j][1] * (x[1] - 0.3);
    let problem = ClosureProblem::new(
        2,
        3,
        move |x, y| {
            let of_x = 1.3 * dot(x, x) + 0.8 * x[0];
            let of_y = |j: usize| {
                let d = y[j] - centre[j];
                d * coupled(x, j) - 1.6 * d * d
            };
            of_x + (0..3).map(of_y).sum::<f64>()
        },
        move |x, y, out| {
            for i in 0..2 {
                let of_y: f64 = (0..3).map(|j| B[j][i] * (y[j] - centre[j])).sum();
                out[i] = 2.6 * x[i] + of_y + if i == 0 { 0.8 } else { 0.0 };
            }
        },
        move |x, y, out| {
            (0..3).for_each(|j| out[j] = coupled(x, j) - 3.2 * (y[j] - centre[j]));
        },
    )
    .expect("a problem");
    let constants = BlockConstants {
        lxx: Some(2.6),
        lxy: Some(3.5),
        lyy: Some(3.2),
        mu: Some(3.2),
        mu_x: None,
    };
    let problem = problem.with_constants(constants).expect("constants");
    let settings = CorrectiveSettings::default().blocks(AtomBlocks::X);
    let solve = Solve::new(&problem, &x_set, &y_set).method(settings).gap(1e-15);
    let free = solve.clone().iterations(1).run().expect("a run").outcome;
    let spent = free.ledger.method.lo_y;
    assert!(spent > 200, "an iteration of {spent} linear minimisations shows nothing");
    let outcome = solve.clone().limit(Counter::LoY, 100).run().expect("a run").outcome;
    assert_eq!(outcome.status, Status::OracleLimit(Counter::LoY));
    assert!(outcome.ledger.method.lo_y <= 100, "{:?}", outcome.ledger.method);
    assert!(outcome.certificate.gap.is_finite() && outcome.iterations == 0);
    // a clock that moves on by a second at every look
    let outcome = solve.seconds(50.0, Ticking::default()).run().expect("a run").outcome;
    assert_eq!(outcome.status, Status::TimeLimit);
    assert!(outcome.ledger.method.lo_y <= 60, "{:?}", outcome.ledger.method);
}

/// A clock that shows a second more at every look.
#[derive(Clone, Default)]
struct Ticking(Arc<AtomicU64>);

impl Clock for Ticking {
    fn seconds(&self) -> f64 {
        self.0.fetch_add(1, Relaxed) as f64
    }

    fn shared(&self) -> Option<Arc<dyn Clock>> {
        Some(Arc::new(self.clone()))
    }
}

#[test]
fn limits_hold_where_both_blocks_have_slow_oracles() {
    let call = Duration::from_millis(30);
    let problem = game(DIM, DIM);
    let (x_set, y_set) = (slow(call, None), slow(call, None));
    let before = Instant::now();
    let solve = Solve::new(&problem, &x_set, &y_set).gap(1e-12);
    let outcome = solve.clone().seconds(0.2, WallClock::start()).run().expect("a run").outcome;
    assert_eq!(outcome.status, Status::TimeLimit);
    assert!(before.elapsed().as_secs_f64() < 0.2 + 1.0, "{:?}", before.elapsed());
    assert!(outcome.certificate.gap.is_finite());

    for counter in [Counter::LoX, Counter::LoY] {
        let outcome = solve.clone().limit(counter, 3).run().expect("a run").outcome;
        assert_eq!(outcome.status, Status::OracleLimit(counter));
        let (method, other) = (outcome.ledger.method, outcome.ledger.certificate);
        let calls = match counter {
            Counter::LoX => method.lo_x + other.lo_x,
            _ => method.lo_y + other.lo_y,
        };
        assert!(calls <= 3 && outcome.certificate.gap.is_finite(), "{calls}");
    }

    let flag = Arc::new(AtomicBool::new(false));
    let (x_set, y_set) = (slow(call, None), slow(call, Some(flag.clone())));
    let solve = Solve::new(&problem, &x_set, &y_set).gap(1e-12).cancel(flag);
    let outcome = solve.run().expect("a run").outcome;
    assert_eq!(outcome.status, Status::Cancelled);
    assert_eq!(outcome.ledger.method.lo_y + outcome.ledger.certificate.lo_y, 4);
    assert!(outcome.certificate.gap.is_finite());
}

#[test]
fn limits_hold_within_restricted_problems() {
    // the flag is raised by a gradient, mostly in the middle of a restricted problem
    for blocks in [AtomBlocks::X, AtomBlocks::Both] {
        let afters = if blocks == AtomBlocks::X { 20..60 } else { 10..40 };
        for after in afters {
            let alarm = Alarm { after, ..Alarm::default() };
            let problem = plain(1e-3, alarm.clone());
            let (x_set, y_set) = (hull(permutations(), Arc::default()), scenarios());
            let solve = Solve::new(&problem, &x_set, &y_set).method(settings().blocks(blocks));
            let solve = solve.gap(1e-13).cancel(alarm.flag.clone());
            let outcome = solve.run().expect("a run").outcome;
            assert_eq!(outcome.status, Status::Cancelled, "{blocks:?} {after}");
            let more = alarm.seen.load(Relaxed) - after;
            assert!(more <= 3 && outcome.certificate.gap.is_finite(), "{blocks:?} {after}: {more}");
        }
    }
}

#[test]
fn functions_that_say_nothing_but_their_constants_are_solved_for_small_penalties_too() {
    let y_set = scenarios();
    for mu in [0.1, 0.01, 0.001] {
        let problem = robust(mu, None);
        let run = |problem: &ClosureProblem<'_>| {
            let set = hull(permutations(), Arc::default());
            Solve::new(problem, &set, &y_set).gap(1e-6).run().expect("a run").outcome
        };
        let known = run(&problem);
        let outcome = run(&plain(mu, Alarm::default()));
        assert!(outcome.status.is_solved(), "{mu}: {}", outcome.status);
        assert!(outcome.certificate.lower <= known.certificate.upper);
        assert!(known.certificate.lower <= outcome.certificate.upper);
        let calls = |outcome: &couloir::run::Outcome| {
            outcome.ledger.method.lo_x + outcome.ledger.certificate.lo_x
        };
        assert!(2 * calls(&outcome) <= 3 * calls(&known) + 10, "{mu}: {}", calls(&outcome));
    }
}

/// A set with this oracle, which is asked for its n-th point, and which knows its members.
fn set_with(lo: impl Fn(u64, &[f64], &mut [f64]) + Send + Sync + 'static) -> LoSet<'static> {
    let calls = AtomicU64::new(0);
    let start = permutations()[0].clone();
    let sums = |x: &[f64]| {
        let row = |i: usize| (0..SIDE).map(|j| x[i * SIDE + j]).sum::<f64>();
        let column = |j: usize| (0..SIDE).map(|i| x[i * SIDE + j]).sum::<f64>();
        let below = x.iter().fold(0.0f64, |m, x| m.max(-x));
        (0..SIDE).map(|i| (row(i) - 1.0).abs().max((column(i) - 1.0).abs())).fold(below, f64::max)
    };
    let set = LoSet::new(DIM, 8.0, start, move |g, x| lo(calls.fetch_add(1, Relaxed), g, x));
    let set = set.expect("a set").with_violation(sums);
    assert!(set.contains(&permutations()[3], 1e-12));
    set
}

/// What runs come to where the oracle of x alone, of x in a game, and of y in a game is this one.
fn with_oracle(
    lo: impl Fn(u64, &[f64], &mut [f64]) + Clone + Send + Sync + 'static,
) -> Vec<couloir::Result<Solution>> {
    let (problem, y_set) = (robust(0.1, None), scenarios());
    let alone = set_with(lo.clone());
    let alone = Solve::new(&problem, &alone, &y_set).gap(1e-10).iterations(100).run();
    let problem = game(DIM, DIM);
    let (bad, good) = (set_with(lo.clone()), set_with(|_, g, x| honest(g, x)));
    let in_x = Solve::new(&problem, &bad, &good).gap(1e-10).iterations(100).run();
    let bad = set_with(lo);
    let in_y = Solve::new(&problem, &good, &bad).gap(1e-10).iterations(100).run();
    vec![alone, in_x, in_y]
}

fn honest(g: &[f64], x: &mut [f64]) {
    let all = permutations();
    x.copy_from_slice(all.iter().min_by(|a, b| dot(g, a).total_cmp(&dot(g, b))).expect("one"));
}

#[test]
fn an_honest_oracle_passes_the_checks() {
    for solution in with_oracle(|_, g, x| honest(g, x)) {
        let status = solution.expect("a run").outcome.status;
        assert!(status.is_solved(), "{status}");
    }
}

/// Whether a run ended with an error, at once or after a certificate.
fn complaint(run: couloir::Result<Solution>) -> Option<Error> {
    match run {
        Ok(solution) => solution.outcome.trouble,
        Err(error) => Some(error),
    }
}

#[test]
fn an_oracle_that_leaves_its_set_is_named() {
    for bad in [0, 2] {
        let runs = with_oracle(move |call, g, x| {
            honest(g, x);
            if call == bad {
                x[0] += 0.5;
            }
        });
        for run in runs {
            let error = complaint(run).expect("an error").to_string();
            assert!(error.contains("lies outside"), "{error}");
        }
    }
}

#[test]
fn an_oracle_that_returns_nan_is_named() {
    for bad in [0, 2] {
        let runs = with_oracle(move |call, g, x| {
            honest(g, x);
            if call == bad {
                x[5] = f64::NAN;
            }
        });
        for run in runs {
            let error = complaint(run).expect("an error");
            assert!(matches!(error, Error::NotFinite { index: 5, .. }), "{error}");
        }
    }
}

#[test]
fn an_oracle_whose_answer_is_worse_than_an_earlier_one_is_named() {
    // after three answers only the start point, which no check against the start point can tell from an honest answer
    let runs = with_oracle(|call, g, x| match call {
        0..3 => honest(g, x),
        _ => x.copy_from_slice(&permutations()[0]),
    });
    for solution in runs {
        let outcome = solution.expect("a run").outcome;
        assert_eq!(outcome.status, Status::Contradiction);
        assert!(outcome.certificate.gap.is_infinite(), "{}", outcome.certificate.gap);
        let error = outcome.trouble.expect("an error");
        let Error::Contradiction { place, claimed, seen, allowance, .. } = error else {
            panic!("{error}");
        };
        assert!(place.contains("earlier answer") && seen < claimed - allowance, "{error}");
    }
}

#[test]
fn atoms_of_another_dimension_are_named() {
    let atoms = [Atom::Dense(vec![1.0; 3]), Atom::sparse(vec![DIM], vec![1.0])];
    for atom in atoms {
        let start = permutations()[0].clone();
        let set = LoSet::by_atoms(DIM, 8.0, start, move |_| atom.clone()).expect("a set");
        let (problem, y_set) = (robust(0.1, None), scenarios());
        assert!(Solve::new(&problem, &set, &y_set).run().is_err());
        let (problem, good) = (game(DIM, DIM), hull(permutations(), Arc::default()));
        assert!(Solve::new(&problem, &set, &good).run().is_err());
        assert!(Solve::new(&problem, &good, &set).run().is_err());
    }
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    for bad in [settings().atoms(1), settings().share(0.0), settings().share(0.5)] {
        assert!(matches!(Method::from(bad).check(), Err(Error::Setting { .. })));
    }
}
