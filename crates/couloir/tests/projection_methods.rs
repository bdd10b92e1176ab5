//! The baselines with exact projections converge as theory says: SVRE, extragradient, accelerated
//! projected gradient, and the search for their steps.

mod common;
mod counting;

use common::{Plain, Rescaled, families};
use couloir::domain::{BoxSet, Domain, L2Ball, LoSet, NuclearBall, Simplex};
use couloir::oracles::Counter;
use couloir::problem::{
    Capabilities, Population, PreparedImage, QuadraticBilinear, QuadraticSum, SaddleProblem,
};
use couloir::run::{Algorithm, Flow, Status, StopRules, TracePoint};
use couloir::solver::{
    Apg, ApgSettings, Epoch, Extragradient, ExtragradientSettings, PAPER_GRID, Start, Svre,
    SvreSettings, search_steps,
};
use couloir::{Block, Error, Inner, Method, Solution, Solve};

fn rules(iterations: u64, every: u64, relative: f64) -> StopRules {
    let mut rules = StopRules::default();
    rules.iterations = Some(iterations);
    rules.evaluate_every = every;
    rules.relative_gap = Some(relative);
    rules
}

/// The least-squares line through `(iteration, ln gap)`: its slope, and how much of the variance it
/// explains.
fn log_linear(solution: &Solution) -> (f64, f64) {
    let trace = &solution.outcome.trace;
    let points: Vec<(f64, f64)> =
        trace.iter().map(|p| (p.iteration as f64, p.certificate.gap.ln())).collect();
    let n = points.len() as f64;
    let mean = |f: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(f).sum::<f64>() / n;
    let (mx, my) = (mean(&|p| p.0), mean(&|p| p.1));
    let sxy = mean(&|p| (p.0 - mx) * (p.1 - my));
    let (sxx, syy) = (mean(&|p| (p.0 - mx).powi(2)), mean(&|p| (p.1 - my).powi(2)));
    (sxy / sxx, sxy * sxy / (sxx * syy))
}

fn strongly_convex() -> (L2Ball, Simplex, QuadraticBilinear) {
    let (x_set, y_set) =
        (L2Ball::new(12, 1.0).expect("a ball"), Simplex::new(9).expect("a simplex"));
    let problem = QuadraticBilinear::on(&x_set, &y_set)
        .curvature(0.5, 1.0)
        .coupling(2.0)
        .push(0.3)
        .value(0.3)
        .build()
        .expect("a problem");
    (x_set, y_set, problem)
}

fn sum(n: u64, noise: f64, drift: f64) -> (L2Ball, Simplex, QuadraticSum) {
    let (x_set, y_set, base) = strongly_convex();
    let problem =
        QuadraticSum::new(base, Population::Finite(n), noise, drift, 5).expect("a finite sum");
    (x_set, y_set, problem)
}

#[test]
fn extragradient_converges_linearly_on_strongly_convex_concave_problems() {
    let (x_set, y_set, problem) = strongly_convex();
    for method in
        [Method::extragradient(), Method::new(ExtragradientSettings::default().steps(0.3, 0.3))]
    {
        let solution = Solve::new(&problem, &x_set, &y_set)
            .method(method.clone())
            .rules(rules(2000, 1, 1e-10))
            .run()
            .expect("a run");
        let (slope, fit) = log_linear(&solution);
        assert_eq!(solution.outcome.status, Status::SolvedRelative);
        assert!(slope < -0.03 && fit > 0.95, "slope {slope}, fit {fit}");
    }
}

#[test]
fn svre_converges_linearly_on_finite_sums_with_noise_in_hessian_and_gradient() {
    let (x_set, y_set, problem) = sum(1000, 0.8, 3.0);
    for (epoch, batch) in [(Epoch::Geometric, 50), (Epoch::Fixed, 50), (Epoch::Geometric, 10)] {
        let settings = SvreSettings::default().batch(batch).seed(3).epoch(epoch);
        let length = 1000 / batch;
        let solution = Solve::new(&problem, &x_set, &y_set)
            .method(Method::new(settings))
            .rules(rules(length * 400, length, 1e-8))
            .run()
            .expect("a run");
        let (slope, fit) = log_linear(&solution);
        assert_eq!(solution.outcome.status, Status::SolvedRelative);
        assert!(slope * (length as f64) < -0.1 && fit > 0.95, "slope {slope}, fit {fit}");
    }
}

#[test]
fn stochastic_extragradient_without_variance_reduction_would_stall_here() {
    // the same noise, one snapshot that is never renewed: the estimator's variance stays
    let (x_set, y_set, problem) = sum(1000, 0.8, 3.0);
    let mut settings = SvreSettings::default().batch(5).seed(3).epoch(Epoch::Fixed);
    let renewed = settings.clone();
    settings.epoch_mean = Some(1e9);
    let gap = |settings| {
        Solve::new(&problem, &x_set, &y_set)
            .method(Method::new(settings))
            .rules(rules(3000, 200, 1e-12))
            .run()
            .expect("a run")
            .outcome
            .certificate
            .gap
    };
    let (stale, fresh) = (gap(settings), gap(renewed));
    assert!(fresh < 1e-3 * stale, "stale snapshot {stale:e}, renewed {fresh:e}");
}

#[test]
fn extragradient_and_apg_certify_every_family_and_agree_with_certified_mpcgs() {
    for family in families() {
        let (problem, xs, ys) = (&family.problem, &*family.x_set, &*family.y_set);
        let reference = Solve::new(problem, xs, ys).gap(1e-6).run().expect("certified MPCGS");
        let theirs = reference.outcome.certificate;
        assert!(theirs.gap <= 1e-6, "{}: certified MPCGS {:e}", family.name, theirs.gap);
        for method in [Method::extragradient(), Method::apg()] {
            let solution = Solve::new(problem, xs, ys)
                .method(method.clone())
                .gap(1e-6)
                .iterations(20_000)
                .run()
                .expect("a run");
            let ours = solution.outcome.certificate;
            assert!(ours.gap <= 1e-6, "{} {method:?}: gap {:e}", family.name, ours.gap);
            assert!(
                ours.lower <= theirs.upper && theirs.lower <= ours.upper,
                "{} {method:?}: [{}, {}] and [{}, {}]",
                family.name,
                ours.lower,
                ours.upper,
                theirs.lower,
                theirs.upper
            );
            let truth = problem.saddle().value;
            assert!(ours.lower <= truth + 1e-12 && truth <= ours.upper + 1e-12, "{}", family.name);
            let exact = problem.exact_gap(xs, ys, &solution.x, &solution.y).expect("a gap");
            assert!(exact <= ours.gap + 1e-12, "{}: certificate below the truth", family.name);
        }
    }
}

#[test]
fn steps_found_by_backtracking_need_no_constants_and_bear_any_units_of_y() {
    for family in families() {
        for c in [1e-3, 1e3] {
            // the set of y in the same units
            let y_set = BoxSet::cube(family.problem.dim_y(), -c, 0.5 * c).expect("a box");
            let scaled = NoConstants(Rescaled { inner: &family.problem, c });
            let solution = Solve::new(&scaled, &*family.x_set, &y_set)
                .method(Method::extragradient())
                .gap(1e-6)
                .iterations(20_000)
                .run()
                .expect("a run");
            assert!(solution.outcome.status.is_solved(), "{} x {c:e}", family.name);
        }
    }
}

/// A problem that keeps its constants to itself.
struct NoConstants<P>(P);

impl<P: SaddleProblem> SaddleProblem for NoConstants<P> {
    fn dim_x(&self) -> usize {
        self.0.dim_x()
    }
    fn dim_y(&self) -> usize {
        self.0.dim_y()
    }
    fn value(&self, at: PreparedImage<'_>, y: &[f64]) -> f64 {
        self.0.value(at, y)
    }
    fn grad_image(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
        self.0.grad_image(at, y, out);
    }
    fn grad_y(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
        self.0.grad_y(at, y, out);
    }
    fn capabilities(&self) -> Capabilities<'_> {
        let mut kept = self.0.capabilities();
        kept.constants = None;
        kept.differences = None;
        kept
    }
}

#[test]
fn apg_bears_plain_differences_and_converges_linearly() {
    let (x_set, y_set, problem) = strongly_convex();
    let plain = Plain(&problem);
    for (problem, iterations) in [(&problem as &dyn SaddleProblem, 150), (&plain, 150)] {
        let solution = Solve::new(problem, &x_set, &y_set)
            .method(Method::apg())
            .rules(rules(iterations, 1, 1e-6))
            .run()
            .expect("a run");
        let (slope, fit) = log_linear(&solution);
        assert_eq!(solution.outcome.status, Status::SolvedRelative);
        assert!(slope < -0.3 && fit > 0.95, "slope {slope}, fit {fit}");
    }
}

#[test]
fn the_estimator_is_unbiased_and_exact_on_the_full_batch() {
    let (x_set, y_set, problem) = sum(60, 1.0, 2.0);
    let settings = SvreSettings::default().batch(7).seed(1);
    let mut svre = Svre::new(Start::new(&problem, &x_set, &y_set), &settings).expect("a solver");
    for _ in 0..5 {
        svre.step().expect("a step");
    }
    let (x, y) = (vec![0.2; 12], vec![1.0 / 9.0; 9]);
    let at = PreparedImage::plain(&x);
    let all: Vec<u64> = (0..60).collect();
    let mut stream = couloir::random::Streams::new(9).stream("test");
    for block in [Block::X, Block::Y] {
        let dim = if block == Block::X { 12 } else { 9 };
        let (mut truth, mut out) = (vec![0.0; dim], vec![0.0; dim]);
        match block {
            Block::X => problem.grad_image(at, &y, &mut truth),
            Block::Y => problem.grad_y(at, &y, &mut truth),
        }
        svre.estimate(block, &all, &x, &y, &mut out).expect("an estimate");
        for (a, b) in out.iter().zip(&truth) {
            assert!((a - b).abs() < 1e-12, "{block}: full batch {a}, gradient {b}");
        }
        let rounds = 4000;
        let (mut first, mut second) = (vec![0.0; dim], vec![0.0; dim]);
        let mut batch = Vec::new();
        for _ in 0..rounds {
            stream.batch(Population::Finite(60), 7, &mut batch).expect("a batch");
            svre.estimate(block, &batch, &x, &y, &mut out).expect("an estimate");
            for i in 0..dim {
                first[i] += out[i] / f64::from(rounds);
                second[i] += out[i] * out[i] / f64::from(rounds);
            }
        }
        for i in 0..dim {
            let sd = ((second[i] - first[i] * first[i]).max(0.0) / f64::from(rounds)).sqrt();
            assert!(
                (first[i] - truth[i]).abs() <= 5.0 * sd + 1e-12,
                "{block}, entry {i}: mean {}, gradient {}, deviation {sd}",
                first[i],
                truth[i]
            );
            assert!(sd > 0.0, "{block}: no noise, so nothing was tested");
        }
    }
}

#[test]
fn a_full_batch_makes_svre_the_extragradient_method() {
    let (x_set, y_set, problem) = sum(40, 0.5, 1.0);
    let settings = SvreSettings::default().batch(1000).steps(0.2, 0.1);
    let mut svre = Svre::new(Start::new(&problem, &x_set, &y_set), &settings).expect("a solver");
    let settings = ExtragradientSettings::default().steps(0.2, 0.1);
    let mut plain =
        Extragradient::new(Start::new(&problem, &x_set, &y_set), &settings).expect("a solver");
    for _ in 0..30 {
        svre.step().expect("a step");
        plain.step().expect("a step");
    }
    for (a, b) in svre.current().0.iter().zip(plain.current().0) {
        assert!((a - b).abs() < 1e-12, "{a} and {b}");
    }
    // two half steps, two blocks, n components each, and no snapshot
    assert_eq!(svre.ledger().method.component_grads, 30 * 4 * 40);
    assert_eq!(svre.ledger().method.grad_x, 0);
}

#[test]
fn svre_counts_components_snapshots_and_passes() {
    let (x_set, y_set, problem) = sum(1000, 0.5, 1.0);
    let settings = SvreSettings::default().batch(100).epoch(Epoch::Fixed);
    let mut svre = Svre::new(Start::new(&problem, &x_set, &y_set), &settings).expect("a solver");
    assert_eq!(svre.epoch_mean(), 10.0);
    for _ in 0..25 {
        svre.step().expect("a step");
    }
    let counts = svre.ledger().method;
    assert_eq!(svre.epochs(), 3);
    assert_eq!(counts.component_grads, 3 * 2 * 1000 + 25 * 8 * 100);
    assert_eq!((counts.grad_x, counts.grad_y, counts.images), (3, 3, 3));
    assert_eq!((counts.prox_x, counts.prox_y), (50, 50));
    assert!((counts.passes - (6.0 + 25.0 * 0.8)).abs() < 1e-9, "{} passes", counts.passes);
}

#[test]
fn the_same_seed_gives_the_same_bits_and_another_seed_another_trace() {
    let (x_set, y_set, problem) = sum(200, 0.8, 2.0);
    let run = |seed: u64, every: u64| {
        Solve::new(&problem, &x_set, &y_set)
            .method(Method::new(SvreSettings::default().batch(10).seed(seed)))
            .rules(rules(100, every, 1e-12))
            .run()
            .expect("a run")
    };
    let (a, b, other) = (run(1, 5), run(1, 5), run(2, 5));
    assert_eq!(a, b);
    assert_ne!(a.outcome.trace, other.outcome.trace);
    // looking more often changes nothing in what the method does
    assert_eq!(a.outcome.ledger.method, run(1, 1).outcome.ledger.method);
}

#[test]
fn every_iterate_is_feasible() {
    for family in families() {
        let (xs, ys) = (&*family.x_set, &*family.y_set);
        let sum = QuadraticSum::new(family.problem.clone(), Population::Finite(40), 0.9, 2.0, 3)
            .expect("a finite sum");
        let long = SvreSettings::default().batch(4).steps(3.0, 3.0);
        for method in [
            Method::new(SvreSettings::default().batch(4)),
            Method::new(long),
            Method::extragradient(),
            Method::new(ExtragradientSettings::default().steps(10.0, 10.0)),
            Method::apg(),
        ] {
            let mut watch = |_: &TracePoint, state: &dyn Algorithm| {
                for (x, y) in [state.current(), state.best()] {
                    assert!(xs.contains(x, 1e-9), "{}, {}: x outside", family.name, state.name());
                    assert!(ys.contains(y, 1e-9), "{}, {}: y outside", family.name, state.name());
                }
                Flow::Continue
            };
            Solve::new(&sum, xs, ys)
                .method(method)
                .rules(rules(60, 1, 1e-9))
                .run_with(&mut watch)
                .expect("a run");
        }
        let settings = ExtragradientSettings::default();
        let mut solver = Extragradient::new(Start::new(&sum, xs, ys), &settings).expect("a solver");
        for _ in 0..50 {
            solver.step().expect("a step");
            let (x, y) = solver.average();
            assert!(xs.contains(x, 1e-9) && ys.contains(y, 1e-9), "{}: average", family.name);
        }
    }
}

#[test]
fn the_step_search_finds_a_step_that_converges_and_lists_those_that_do_not() {
    let (x_set, y_set, problem) = sum(200, 0.5, 1.0);
    let grid = [1e3, 10.0, 1e-1, 1e-2, 1e-5];
    for base in [Method::extragradient(), Method::new(SvreSettings::default().batch(20))] {
        for per_block in [false, true] {
            let rules = rules(300, 10, 1e-9);
            let solve =
                Solve::new(&problem, &x_set, &y_set).method(base.clone()).rules(rules.clone());
            let search = search_steps(&solve, &grid, per_block).expect("a search");
            assert_eq!(search.trials.len(), if per_block { 25 } else { 5 });
            let best = search.best().expect("a step that converges");
            assert!(best.gap() < 1e-3 * best.first.gap, "{best:?}");
            let joint =
                |step: f64| search.trials.iter().find(|t| t.step_x == step && t.step_y == step);
            let astray = joint(1e3).expect("tried");
            assert!(astray.ended.is_ok() && astray.gap() > 1e3 * best.gap(), "{astray:?}");
            let again = search_steps(&solve, &grid, per_block).expect("a search");
            assert_eq!(search, again);
            let total: u64 = search.trials.iter().map(|t| t.ledger.method.prox_x).sum();
            assert_eq!(search.ledger().method.prox_x, total);
            // the winner runs with a ledger of its own and gets where the trial got
            let winner = Solve::new(&problem, &x_set, &y_set)
                .method(search.method().expect("a method"))
                .rules(rules.clone())
                .run()
                .expect("a run");
            assert_eq!(winner.outcome.certificate, best.reached);
            assert_eq!(winner.outcome.ledger, best.ledger);
        }
    }
    assert_eq!(PAPER_GRID.len(), 6);
}

/// Blows up where `x` leaves the middle.
struct Explosive(QuadraticBilinear);

impl SaddleProblem for Explosive {
    fn dim_x(&self) -> usize {
        self.0.dim_x()
    }
    fn dim_y(&self) -> usize {
        self.0.dim_y()
    }
    fn value(&self, at: PreparedImage<'_>, y: &[f64]) -> f64 {
        self.0.value(at, y)
    }
    fn grad_image(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
        self.0.grad_image(at, y, out);
        if at.image.iter().map(|v| v * v).sum::<f64>() > 0.9 {
            out[0] = f64::NAN;
        }
    }
    fn grad_y(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
        self.0.grad_y(at, y, out);
    }
    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities::NONE
    }
}

#[test]
fn a_step_that_ends_in_nan_is_recorded_as_failed() {
    let (x_set, y_set) =
        (L2Ball::new(6, 1.0).expect("a ball"), Simplex::new(5).expect("a simplex"));
    let base = QuadraticBilinear::on(&x_set, &y_set).curvature(1.0, 1.0).push(0.0).build();
    let problem = Explosive(base.expect("a problem"));
    let grid = [1e3, 0.1];
    let solve = Solve::new(&problem, &x_set, &y_set)
        .method(Method::extragradient())
        .rules(rules(200, 1, 1e-6));
    let search = search_steps(&solve, &grid, false).expect("a search");
    assert!(matches!(search.trials[0].ended, Err(Error::NotFinite { .. })), "{search:?}");
    assert_eq!(search.trials[0].gap(), f64::INFINITY);
    assert!(search.trials[0].ledger.method.grad_x > 0);
    assert_eq!(search.best, Some(1));
    let search = search_steps(&solve, &grid[..1], false).expect("a search without a winner");
    assert_eq!((search.best, search.method()), (None, None));
}

#[test]
fn what_is_missing_or_makes_no_sense_is_a_clear_error() {
    let (x_set, y_set, base) = strongly_convex();
    let start = |problem: &dyn SaddleProblem, x: &dyn Domain, y: &dyn Domain, method: Method| {
        Solve::new(problem, x, y).method(method).start().map(|_| ()).expect_err("an error")
    };
    // no components
    let error = start(&base, &x_set, &y_set, Method::svre());
    assert!(matches!(error, Error::MissingOracle { .. }), "{error}");
    assert!(error.to_string().contains("sampled"), "{error}");
    // an expectation
    let expectation =
        QuadraticSum::new(base.clone(), Population::Infinite, 0.5, 1.0, 1).expect("a problem");
    let error = start(&expectation, &x_set, &y_set, Method::svre());
    assert!(error.to_string().contains("finite sum"), "{error}");
    // no projection
    let vertex = |g: &[f64], p: &mut [f64]| {
        let best = (0..g.len()).min_by(|&a, &b| g[a].total_cmp(&g[b])).unwrap_or(0);
        p.fill(0.0);
        p[best] = 1.0;
    };
    let no_projection =
        LoSet::new(9, std::f64::consts::SQRT_2, vec![1.0 / 9.0; 9], vertex).expect("a set");
    let sum = QuadraticSum::new(base.clone(), Population::Finite(10), 0.5, 1.0, 1).expect("a sum");
    for method in [Method::svre(), Method::extragradient()] {
        let error = start(&sum, &x_set, &no_projection, method);
        assert!(matches!(error, Error::MissingOracle { .. }), "{error}");
    }
    // no constants and no steps
    let unknown = NoConstants(sum.clone());
    let error = start(&unknown, &x_set, &y_set, Method::svre());
    assert!(matches!(error, Error::MissingConstant { .. }), "{error}");
    assert!(error.to_string().contains("search_steps"), "{error}");
    // settings
    let mut half = ExtragradientSettings::default();
    half.step_x = Some(0.1);
    let mut epoch = SvreSettings::default();
    epoch.epoch_mean = Some(0.5);
    let mut curvature = ApgSettings::default();
    curvature.first_curvature = Some(-1.0);
    for method in [
        Method::new(half),
        Method::new(ExtragradientSettings::default().steps(0.1, f64::NAN)),
        Method::new(SvreSettings::default().batch(0)),
        Method::new(SvreSettings::default().steps(-1.0, 1.0)),
        Method::new(epoch),
        Method::new(curvature),
    ] {
        start(&sum, &x_set, &y_set, method);
    }
    // searches
    let (grid, limit) = ([0.1], rules(10, 1, 1e-3));
    let search = |method: Method, grid: &[f64], rules: &StopRules| {
        let solve = Solve::new(&sum, &x_set, &y_set).method(method).rules(rules.clone());
        search_steps(&solve, grid, false).expect_err("an error")
    };
    search(Method::certified(), &grid, &limit);
    search(Method::svre(), &[], &limit);
    search(Method::svre(), &[0.1, 0.0], &limit);
    let mut endless = limit.clone();
    endless.iterations = None;
    search(Method::svre(), &grid, &endless);
    endless.limits = vec![(Counter::ComponentGrads, 5000)];
    let solve = Solve::new(&sum, &x_set, &y_set).method(Method::svre()).rules(endless);
    search_steps(&solve, &grid, false).expect("a search");
    // from a start of one's own
    let mut far = vec![0.0; sum.dim_y()];
    far[0] = 1.0;
    let there = search_steps(&solve.clone().start_y(far), &grid, false).expect("a search");
    let here = search_steps(&solve, &grid, false).expect("a search");
    assert!(there.trials[0].first.gap > here.trials[0].first.gap);
}

#[test]
fn methods_go_by_their_names() {
    let (x_set, y_set, problem) = sum(10, 0.5, 1.0);
    for (method, name) in [
        (Method::svre(), "svre"),
        (Method::extragradient(), "extragradient"),
        (Method::apg(), "apg"),
    ] {
        let solver = Solve::new(&problem, &x_set, &y_set).method(method).start().expect("a solver");
        assert_eq!(solver.name(), name);
    }
    let apg = Apg::new(Start::new(&problem, &x_set, &y_set), &ApgSettings::default());
    assert_eq!(apg.expect("a solver").curvature(), 0.0);
}

#[test]
fn weak_concavity_slows_extragradient_and_apg_but_does_not_stop_them() {
    // Lxy^2/mu = 1000: nearly a bilinear game
    let sets: [Box<dyn Domain>; 2] = [
        Box::new(L2Ball::new(30, 1.0).expect("a ball")),
        Box::new(NuclearBall::new(5, 12, 1.0).expect("a ball")),
    ];
    let y_set = Simplex::new(40).expect("a simplex");
    for x_set in &sets {
        let problem = QuadraticBilinear::on(&**x_set, &y_set)
            .curvature(0.0, 1e-3)
            .push(0.4)
            .value(0.1)
            .build()
            .expect("a problem");
        for method in [Method::extragradient(), Method::apg()] {
            let solution = Solve::new(&problem, &**x_set, &y_set)
                .method(method)
                .rules(rules(5000, 1, 1e-6))
                .run()
                .expect("a run");
            assert!(
                solution.outcome.status.is_solved(),
                "{}: {:?}",
                x_set.describe(),
                solution.outcome.status
            );
            let exact = problem.exact_gap(&**x_set, &y_set, &solution.x, &solution.y);
            assert!(exact.expect("a gap") <= solution.outcome.certificate.gap + 1e-12);
        }
    }
}

#[test]
fn apg_can_slide_in_y() {
    let (x_set, y_set, problem) = strongly_convex();
    let mut settings = ApgSettings::default();
    settings.inner_y = Inner::Slide;
    let solution = Solve::new(&problem, &x_set, &y_set)
        .method(Method::new(settings))
        .gap(1e-5)
        .run()
        .expect("a run");
    assert!(solution.outcome.status.is_solved(), "{:?}", solution.outcome.status);
    assert_eq!(solution.outcome.ledger.method.prox_y, 0);
}

#[test]
fn steady_state_steps_allocate_nothing() {
    let sets: [Box<dyn Domain>; 2] = [
        Box::new(NuclearBall::new(6, 40, 1.0).expect("a ball")),
        Box::new(L2Ball::new(20, 1.0).expect("a ball")),
    ];
    let y_set = Simplex::new(30).expect("a simplex");
    for x_set in &sets {
        let base =
            QuadraticBilinear::on(&**x_set, &y_set).coupling(3.0).build().expect("a problem");
        let problem =
            QuadraticSum::new(base, Population::Finite(400), 0.5, 1.0, 1).expect("a finite sum");
        for method in [
            Method::extragradient(),
            Method::apg(),
            Method::new(SvreSettings::default().batch(20)),
            Method::new(SvreSettings::default().batch(100)),
        ] {
            let mut solver =
                Solve::new(&problem, &**x_set, &y_set).method(method).start().expect("a solver");
            for _ in 0..10 {
                solver.step().expect("a step");
                solver.evaluate().expect("an evaluation");
            }
            let before = counting::so_far();
            for _ in 0..20 {
                solver.step().expect("a step");
                solver.evaluate().expect("an evaluation");
            }
            let count = counting::so_far() - before;
            assert_eq!(count, 0, "{}, {}: allocations", solver.name(), x_set.describe());
        }
    }
}
