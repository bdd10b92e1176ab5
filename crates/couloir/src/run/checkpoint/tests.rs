//! Runs go on with the same bits, whatever the method, and every entry of a checkpoint is needed for that.

use super::*;
use crate::domain::{
    Atom, BoxSet, Domain, L1Ball, L2Ball, LanczosSettings, LoSet, NuclearBall, Simplex,
};
use crate::linalg::SparseMatrix;
use crate::model::{RobustMulticlass, RobustSettings, SyntheticGroups};
use crate::oracles::Counter;
use crate::problem::{
    BlockConstants, ClosureProblem, KnownConstants, MatrixGame, Population, QuadraticBilinear,
    QuadraticSum, Saddle, SaddleProblem,
};
use crate::run::StopRules;
use crate::solver::*;
use crate::state::rehearsal;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

struct Case {
    name: &'static str,
    problem: Box<dyn SaddleProblem>,
    x_set: Box<dyn Domain>,
    y_set: Box<dyn Domain>,
    methods: Vec<Method>,
    iterations: u64,
    rules: fn(&mut StopRules),
}

impl Case {
    fn new(
        name: &'static str,
        problem: impl SaddleProblem + 'static,
        x_set: impl Domain + 'static,
        y_set: impl Domain + 'static,
        methods: Vec<Method>,
    ) -> Self {
        Case {
            name,
            problem: Box::new(problem),
            x_set: Box::new(x_set),
            y_set: Box::new(y_set),
            methods,
            iterations: if name.starts_with("slow") { 4 } else { 12 },
            rules: |_| {},
        }
    }

    fn run(&self, method: &Method, iterations: u64, checkpoints: Checkpoints) -> Solution {
        let done = self.try_run(method, iterations, checkpoints);
        done.unwrap_or_else(|error| panic!("{}, {method}: {error}", self.name))
    }

    fn try_run(
        &self,
        method: &Method,
        iterations: u64,
        checkpoints: Checkpoints,
    ) -> Result<Solution> {
        let mut rules = StopRules::default();
        (rules.relative_gap, rules.iterations) = (None, Some(iterations));
        (self.rules)(&mut rules);
        Solve::new(&*self.problem, &*self.x_set, &*self.y_set)
            .method(method.clone())
            .rules(rules)
            .checkpoints(checkpoints.every(f64::INFINITY))
            .clock(Ticking::default())
            .run()
    }
}

/// Every look at it is a second later.
#[derive(Default)]
struct Ticking(AtomicU64);

impl Clock for Ticking {
    fn seconds(&self) -> f64 {
        (1 + self.0.fetch_add(1, Ordering::Relaxed)) as f64
    }
}

fn quadratic(x_set: &dyn Domain, y_set: &dyn Domain, seed: u64) -> QuadraticBilinear {
    QuadraticBilinear::on(x_set, y_set)
        .curvature(0.1, 1.0)
        .coupling(0.9)
        .seed(seed)
        .build()
        .expect("a problem")
}

/// `y' B (x - x*) - |y|^2/2` with differences of neighbours for `B`: slow, and not strongly convex in x.
fn chain(n: usize) -> QuadraticBilinear {
    let row = |j: usize, i: usize| f64::from(i == j) - f64::from(i + 1 == j);
    let b = (0..=n).flat_map(|j| (0..n).map(move |i| row(j, i))).collect();
    let x = (0..n).map(|i| 0.05 * (i as f64).cos()).collect();
    let saddle = Saddle { x, y: vec![0.0; n + 1], value: 0.0 };
    let (cx, cy) = (vec![0.0; n], vec![0.0; n + 1]);
    QuadraticBilinear::new(vec![0.0; n], vec![1.0; n + 1], b, cx, cy, saddle).expect("a problem")
}

/// The matrices of the permutations of three, known by their linear minimisation alone.
fn permutations() -> LoSet<'static> {
    const ALL: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let matrix = |columns: [usize; 3]| {
        (0..9).map(|e| f64::from(u8::from(columns[e / 3] == e % 3))).collect::<Vec<f64>>()
    };
    LoSet::new(9, 6f64.sqrt(), matrix(ALL[0]), move |g, x| {
        let cost = |columns: &[usize; 3]| (0..3).map(|row| g[3 * row + columns[row]]).sum::<f64>();
        let best = ALL.into_iter().min_by(|a, b| cost(a).total_cmp(&cost(b))).unwrap_or(ALL[0]);
        x.copy_from_slice(&matrix(best));
    })
    .expect("a set")
}

fn slide() -> Method {
    Method::certified().with_inner(Inner::Slide).expect("an inner solve")
}

/// `x^T M y + c^T x - |y|^2/2` with nothing known of it.
fn bare(dim: usize, slope: f64) -> ClosureProblem<'static> {
    let m = move |i: usize, j: usize| ((3 * i + 5 * j) as f64).sin();
    let c = move |i: usize| slope * (7.0 * i as f64).cos();
    let sum = move |f: &dyn Fn(usize) -> f64| (0..dim).map(f).sum::<f64>();
    ClosureProblem::new(
        dim,
        dim,
        move |x, y| {
            (0..dim).map(|i| x[i] * (c(i) + sum(&|j| m(i, j) * y[j])) - 0.5 * y[i] * y[i]).sum()
        },
        move |_, y, g| (0..dim).for_each(|i| g[i] = c(i) + sum(&|j| m(i, j) * y[j])),
        move |x, y, g| (0..dim).for_each(|j| g[j] = sum(&|i| m(i, j) * x[i]) - y[j]),
    )
    .expect("a problem")
}

/// `5 x^T y + 30 y_1 - 50 |y|^2` with nothing known of it: a first step of length one takes `y` far beyond the saddle point, where
/// the gradient in `x` is longest.
fn overshot(dim: usize) -> ClosureProblem<'static> {
    let pull = |j: usize| if j == 0 { 30.0 } else { 0.0 };
    ClosureProblem::new(
        dim,
        dim,
        move |x, y| (0..dim).map(|j| (5.0 * x[j] + pull(j) - 50.0 * y[j]) * y[j]).sum(),
        move |_, y, g| g.iter_mut().zip(y).for_each(|(g, y)| *g = 5.0 * y),
        move |x, y, g| (0..dim).for_each(|j| g[j] = 5.0 * x[j] + pull(j) - 100.0 * y[j]),
    )
    .expect("a problem")
}

/// `|x - c|^2/2 + x^T y - |y|^2/2 - 2 sum y_j^4` with nothing known of it but constants for the unit simplex.
fn bent(dim: usize) -> ClosureProblem<'static> {
    let c = |i: usize| 0.3 + 0.2 * (i as f64).sin();
    let term = move |x: f64, y: f64, c: f64| {
        0.5 * (x - c) * (x - c) + x * y - 0.5 * y * y - 2.0 * y.powi(4)
    };
    ClosureProblem::new(
        dim,
        dim,
        move |x, y| (0..dim).map(|i| term(x[i], y[i], c(i))).sum(),
        move |x, y, g| (0..dim).for_each(|i| g[i] = x[i] - c(i) + y[i]),
        move |x, y, g| (0..dim).for_each(|j| g[j] = x[j] - y[j] - 8.0 * y[j].powi(3)),
    )
    .and_then(|problem| problem.with_constants(BlockConstants::all(1.0, 1.0, 25.0, 1.0)))
    .expect("a problem")
}

/// The set of the rows' weights.
fn rows_simplex(model: &RobustMulticlass) -> Simplex {
    Simplex::new(model.len()).expect("a simplex")
}

fn robust(size: f64) -> RobustMulticlass {
    classifier(48, 12, size)
}

/// With more features than rows, so that points are kept by weights.
fn wide() -> RobustMulticlass {
    classifier(20, 30, 1.0)
}

fn classifier(n: usize, d: usize, size: f64) -> RobustMulticlass {
    let h = 3;
    let starts = (0..=n).map(|i| 3 * i).collect();
    let indices = (0..n).flat_map(|i| [i % 4, 4 + i % 3, 7 + i % 5].map(|j| j as u32)).collect();
    let values = (0..3 * n).map(|k| size * (1.0 + (k as f64).sin())).collect();
    let rows = SparseMatrix::from_rows(d, starts, indices, values).expect("rows");
    let labels = (0..n).map(|i| ((i * i) % h) as u32).collect();
    let settings = RobustSettings::default().tau(8.0).level(0.5).intercept(Some(size));
    RobustMulticlass::new(rows, labels, h, settings).expect("a model")
}

fn batches(first: u64, seed: u64) -> Method {
    BatchedSettings::default().first_batch(first).seed(seed).largest_batch(1 << 12).into()
}

fn svre(batch: u64) -> Method {
    SvreSettings::default().batch(batch).seed(5).into()
}

fn sum(population: Population) -> Case {
    let (x_set, y_set) = (L2Ball::new(4, 1.0), BoxSet::cube(3, -0.5, 0.5));
    let (x_set, y_set) = (x_set.expect("a ball"), y_set.expect("a box"));
    let base = quadratic(&x_set, &y_set, 3);
    let problem = QuadraticSum::new(base, population, 0.3, 0.1, 8).expect("a sum");
    let mut methods = vec![batches(16, 2)];
    if population != Population::Infinite {
        methods.extend([svre(20), svre(u64::MAX)]);
    }
    Case::new("sum", problem, x_set, y_set, methods)
}

fn mpscgs() -> Case {
    let methods = vec![MpscgsSettings::default().seed(4).into()];
    Case { methods, iterations: 3, ..sum(Population::Finite(600)) } // its batches are large
}

fn polytopes(mu_x: f64, coupling: f64) -> Case {
    let (x_set, y_set) =
        (Simplex::new(6).expect("a simplex"), L1Ball::new(5, 1.0).expect("a ball"));
    let problem = QuadraticBilinear::on(&x_set, &y_set).curvature(mu_x, 1.0).coupling(coupling);
    let problem = problem.build().expect("a problem");
    let mut methods = vec![Method::spafw(), Method::spfw(), Method::certified(), Method::mpcgs()];
    for step in [SpAfwStep::Open, SpAfwStep::Adaptive] {
        methods.push(SpAfwSettings::default().step(step).into());
        methods.push(SpPfwSettings::default().step(step).atoms(3).into());
    }
    let (diameters, widths) = ((x_set.diameter(), y_set.diameter()), (0.5, 0.5));
    let rate = SpfwRate::polytope(&problem.constants(), mu_x, diameters, widths);
    if let Ok(rate) = rate {
        methods.push(SpAfwSettings::default().step(SpAfwStep::Gap(rate)).into());
    }
    let rate = SpfwRate::pairwise(&problem.constants(), mu_x, diameters, widths);
    if let Ok(rate) = rate {
        methods.push(SpPfwSettings::default().step(SpAfwStep::Gap(rate)).into());
    }
    let rate = SpfwRate::interior(&problem.constants(), mu_x, diameters, widths);
    if let Ok(rate) = rate {
        methods.push(SpfwSettings::default().gap_step(rate).into());
    }
    Case::new("polytopes", problem, x_set, y_set, methods)
}

fn cases() -> Vec<Case> {
    let ball = |dim| L2Ball::new(dim, 1.0).expect("a ball");
    let simplex = |dim| Simplex::new(dim).expect("a simplex");
    let mut cases = Vec::new();

    let all = vec![
        Method::certified(),
        slide(),
        Method::mpcgs(),
        Method::spfw(),
        Method::extragradient(),
        Method::apg(),
        ExtragradientSettings::default().steps(0.2, 0.3).into(),
    ];
    let problem = quadratic(&ball(6), &simplex(8), 1);
    cases.push(Case::new("ball, simplex", problem, ball(6), simplex(8), all.clone()));

    let thin = || NuclearBall::new(4, 30, 1.5).expect("a ball");
    let problem = quadratic(&thin(), &simplex(6), 2);
    let methods = vec![Method::certified(), Method::spfw()];
    cases.push(Case::new("thin nuclear ball", problem, thin(), simplex(6), methods));
    let problem = quadratic(&thin(), &simplex(6), 2);
    let methods = vec![slide(), Method::mpcgs()];
    cases.push(Case::new("slow: thin", problem, thin(), simplex(6), methods));

    let settings = LanczosSettings { seed: 7, ..LanczosSettings::default() };
    let lanczos = || NuclearBall::with_lanczos(8, 10, 1.2, settings.clone()).expect("a ball");
    let problem = quadratic(&lanczos(), &ball(4), 5);
    let methods = vec![Method::certified(), Method::spfw()];
    cases.push(Case::new("Lanczos", problem, lanczos(), ball(4), methods));
    let problem = quadratic(&lanczos(), &ball(4), 5);
    cases.push(Case::new("slow: Lanczos", problem, lanczos(), ball(4), vec![slide()]));
    let lanczos = || NuclearBall::with_lanczos(5, 6, 1.2, settings.clone()).expect("a ball");
    let problem = quadratic(&ball(4), &lanczos(), 5);
    let methods = vec![Method::spfw(), Method::certified(), Method::apg()];
    cases.push(Case::new("Lanczos in y", problem, ball(4), lanczos(), methods));

    let methods = vec![CertifiedSettings::default().hull_points(0).into()];
    let chain = Case::new("chain", chain(80), ball(80), ball(81), methods);
    cases.push(Case { iterations: 410, ..chain }); // three stages of 100, then one of 200

    cases.push(polytopes(0.2, 0.8));
    cases.push(polytopes(1.0, 0.02));
    cases.push(sum(Population::Finite(600)));
    cases.push(sum(Population::Infinite));
    cases.push(mpscgs());

    let model = robust(1.0);
    let (x_set, y_set) = (model.x_set().expect("a ball"), rows_simplex(&model));
    let mut methods = all.clone();
    methods.truncate(6); // without steps that suit the other problem
    methods.extend([batches(6, 1), svre(8)]);
    cases.push(Case::new("robust multiclass", model, x_set, y_set, methods));

    let model = wide();
    let (x_set, y_set) = (model.x_set().expect("a ball"), rows_simplex(&model));
    let methods = vec![Method::certified(), batches(6, 1)];
    let mut case = Case::new("more features than rows", model, x_set, y_set, methods);
    case.iterations = 40; // images are formed anew after 32
    cases.push(case);

    // squares vanish, so that points are kept as vectors
    let model = robust(1e-130);
    let (x_set, y_set) = (model.x_set().expect("a ball"), rows_simplex(&model));
    cases.push(Case::new("tiny rows", model, x_set, y_set, vec![Method::certified()]));

    let groups =
        SyntheticGroups { rows: 60, features: 10, nonzeros: 3, groups: 3, flipped: 0.1, seed: 1 };
    let model = groups.model(0.5).expect("a model");
    let y_set = model.y_set().clone();
    cases.push(Case::new("groups", model, ball(10), y_set, vec![batches(8, 3), svre(10)]));

    let methods = vec![Method::certified(), Method::extragradient(), Method::apg()];
    cases.push(Case::new("bare", bare(5, 1.0), ball(5), ball(5), methods.clone()));
    let few = CorrectiveSettings::default().atoms(4);
    let corrective = vec![Method::corrective(), few.clone().into()];
    cases.push(Case::new("both blocks", bare(5, 1.0), ball(5), ball(5), corrective));
    let weighted: Vec<Method> = vec![few.blocks(AtomBlocks::X).into(), Method::corrective()];
    let problem = quadratic(&simplex(9), &simplex(8), 6);
    cases.push(Case::new("atoms of a simplex", problem, simplex(9), simplex(8), weighted));
    cases.push(Case::new("solved at the start", bare(5, 0.0), ball(5), ball(5), methods));

    // a set known by its linear minimisation alone, which certificates then rest on
    let own = || {
        let lo = |g: &[f64], p: &mut [f64]| {
            let length = g.iter().map(|v| v * v).sum::<f64>().sqrt().max(1e-300);
            p.iter_mut().zip(g).for_each(|(p, g)| *p = -g / length);
        };
        LoSet::new(5, 2.0, vec![0.0; 5], lo).expect("a set")
    };
    let constants = BlockConstants::all(0.0, 5.0, 1.0, 1.0);
    let problem = bare(5, 1.0).with_constants(constants).expect("constants");
    let methods = vec![slide(), Method::certified(), Method::spfw(), Method::corrective()];
    cases.push(Case::new("own set", problem, own(), ball(5), methods));
    let few = SpAfwSettings::default().atoms(3).into();
    let methods = vec![Method::spafw(), Method::sppfw(), few];
    cases.push(Case::new("own sets", bare(5, 1.0), own(), own(), methods));
    let open = SpAfwStep::Open;
    let methods = vec![
        SpAfwSettings::default().step(open).into(),
        SpPfwSettings::default().step(open).into(),
    ];
    cases.push(Case::new("overshot", overshot(5), own(), own(), methods));

    // the same with atoms that are sparse, and of a function that is not quadratic
    let own = || {
        let vertex = |g: &[f64]| {
            let best = (0..g.len()).min_by(|&i, &j| g[i].total_cmp(&g[j])).unwrap_or(0);
            Atom::sparse(vec![best], vec![1.0])
        };
        let start = (0..6).map(|i| f64::from(u8::from(i == 0))).collect();
        LoSet::by_atoms(6, 2f64.sqrt(), start, vertex).expect("a set")
    };
    // so little concave that restricted problems of one block are left unsolved
    let costs = |i: usize, j: usize| ((127 * i + 311 * j) as f64).sin();
    let b = (0..6).flat_map(|i| (0..9).map(move |j| costs(i, j))).collect();
    let saddle = Saddle { x: vec![1.0 / 3.0; 9], y: vec![1.0 / 6.0; 6], value: 0.0 };
    let problem =
        QuadraticBilinear::new(vec![0.0; 9], vec![1e-7; 6], b, vec![0.0; 9], vec![0.0; 6], saddle);
    let methods =
        vec![CorrectiveSettings::default().blocks(AtomBlocks::X).into(), Method::corrective()];
    let case =
        Case::new("tiny penalty", problem.expect("a problem"), permutations(), simplex(6), methods);
    cases.push(Case { iterations: 60, ..case });

    let both = CorrectiveSettings::default().blocks(AtomBlocks::Both);
    let methods = vec![Method::certified(), both.clone().into(), both.atoms(3).into()];
    cases.push(Case::new("own simplices", bent(6), own(), own(), methods));

    // looks that are not at every iteration, and a rule with a memory
    let problem = quadratic(&ball(6), &simplex(8), 1);
    let mut rare = Case::new("rare looks", problem, ball(6), simplex(8), all);
    rare.rules = |rules| (rules.evaluate_every, rules.patience) = (3, Some(4));
    cases.push(rare);
    let problem = quadratic(&ball(6), &simplex(8), 1);
    let mut impatient = Case::new("impatient", problem, ball(6), simplex(8), vec![Method::spfw()]);
    impatient.iterations = 40;
    impatient.rules = |rules| rules.patience = Some(5);
    cases.push(impatient);

    // a trace that is thinned several times
    let problem = quadratic(&ball(6), &simplex(8), 1);
    let methods = vec![Method::spfw(), Method::certified()];
    let mut thinned = Case::new("thinned trace", problem, ball(6), simplex(8), methods);
    thinned.iterations = 30;
    thinned.rules = |rules| rules.trace_records = Some(5);
    cases.push(thinned);

    // runs that end by themselves
    let problem = quadratic(&ball(2), &ball(2), 4);
    let methods = vec![Method::certified(), Method::extragradient(), Method::apg(), slide()];
    let mut ends = Case::new("to the end", problem, ball(2), ball(2), methods);
    ends.iterations = 400;
    cases.push(ends);
    let mut relative = polytopes(0.2, 0.8);
    relative.iterations = 60;
    relative.rules = |rules| rules.relative_gap = Some(1e-3);
    cases.push(relative);
    // a game, by steps alone and with an exact solution on the way
    for (size, iterations) in [(40, 30), (24, 300)] {
        let payoffs = (0..size * size).map(|k| ((k * k + 7 * k) % 101) as f64 / 16.0).collect();
        let problem = MatrixGame::from_rows(size, size, payoffs).expect("a game");
        let steps = RestartedSettings::default().finish(false).into();
        let methods = vec![Method::restarted(), steps, Method::certified()];
        let mut game = Case::new("game", problem, simplex(size), simplex(size), methods);
        game.iterations = iterations;
        cases.push(game);
    }
    // one whose coupling looks half as strong at first: the power method starts at right angles to its first direction
    let (long, short) = ([0.168_033_988_749_894_9, 0.45], [-0.45, 0.168_033_988_749_894_9]);
    let payoffs = vec![2.0 * long[0], 2.0 * long[1], short[0], short[1]];
    let problem = MatrixGame::from_rows(2, 2, payoffs).expect("a game");
    let cube = || BoxSet::cube(2, -1.0, 2.0).expect("a box");
    cases.push(Case::new("strong coupling", problem, cube(), cube(), vec![Method::restarted()]));
    let short = CertifiedSettings::default().inner(Inner::Slide).inner_budget(400);
    let problem = quadratic(&ball(6), &ball(5), 1);
    let methods = vec![short.into()];
    let mut budget = Case::new("inner budget", problem, ball(6), ball(5), methods);
    budget.iterations = 100;
    cases.push(budget);
    cases
}

/// A folder in memory, where there is one: syncing costs nothing there.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a folder")
}

/// Everything that can be told apart: NaNs and the sign of zero too.
fn bits(solution: &Solution) -> (String, Vec<u64>) {
    let points = solution.x.iter().chain(&solution.y).map(|v| v.to_bits()).collect();
    (format!("{:?}", solution.outcome), points)
}

/// Iterations to stop at: the first dozen, and some of the rest.
fn stops(last: u64) -> impl Iterator<Item = u64> {
    (0..=last).filter(move |&k| k <= 12 || k.is_multiple_of(17) || k == last)
}

#[test]
fn a_run_that_is_stopped_anywhere_goes_on_to_the_same_bits() {
    let folder = folder();
    let file = folder.path().join("run.checkpoint");
    let mut runs = 0;
    for case in cases() {
        for method in &case.methods {
            let whole = case.run(method, case.iterations, Checkpoints::default());
            for stop in stops(whole.outcome.iterations) {
                let stopped = case.run(method, stop, Checkpoints::to(&file));
                assert!(stopped.outcome.iterations <= stop);
                let resumed = case.run(method, case.iterations, Checkpoints::resume(&file));
                assert!(
                    bits(&resumed) == bits(&whole),
                    "{}, {method:?}, stopped at {stop}:\n{:?}\n{:?}",
                    case.name,
                    resumed.outcome.trace.last(),
                    whole.outcome.trace.last()
                );
                runs += 1;
            }
        }
    }
    assert!(runs > 500, "{runs}");
}

/// What an entry belongs to: parts that methods share are looked at over all of them.
fn owner(method: &Method, path: &str) -> String {
    let last = path.rsplit('.').next().unwrap_or(path);
    if Counter::ALL.iter().any(|counter| counter.name() == last) && !path.ends_with("best.value") {
        return format!("ledger: {last}");
    }
    let shared = [
        "certificate.",
        "confidence.",
        "y_solver.",
        "oracles.seen.",
        "whole.seen.",
        "run.",
        "x_set.",
        "y_set.",
        "look.",
        "longest_image",
        "active.factor.",
    ];
    match shared.iter().filter_map(|part| path.rfind(part)).max() {
        Some(at) => path[at..].to_owned(),
        None if path.starts_with("solver.stage.") => format!("certified: {}", &path[13..]),
        // the corrective method runs on one block or on both, by itself or within the one that goes over
        None => {
            let path = path.trim_start_matches("solver.");
            format!("{method}: {}", path.strip_prefix("running.").unwrap_or(path))
        }
    }
}

#[test]
fn a_long_run_goes_on_with_the_same_bits_before_and_after_vectors_take_over() {
    let folder = folder();
    let file = folder.path().join("checkpoint");
    for model in [robust(1.0), wide()] {
        let (x_set, y_set) = (model.x_set().expect("a ball"), rows_simplex(&model));
        let method = Method::certified();
        let mut case = Case::new("long", model, x_set, y_set, vec![method.clone()]);
        case.iterations = 600;
        let whole = case.run(&method, case.iterations, Checkpoints::default());
        let latest = whole.outcome.iterations;
        assert!(latest > 110, "{latest}");
        let mut sizes = BTreeSet::new();
        // images are formed anew after 32, 64, ... iterations
        for stop in [20, 31, 32, 33, 70, latest - 15, latest - 5, latest - 1] {
            case.run(&method, stop, Checkpoints::to(&file));
            sizes.insert(std::fs::metadata(&file).expect("a checkpoint").len());
            let resumed = case.run(&method, case.iterations, Checkpoints::resume(&file));
            assert!(bits(&resumed) == bits(&whole), "stopped after {stop}");
        }
        assert!(sizes.len() > 2, "the state was of one kind only: {sizes:?}");
    }
}

/// Found by fuzzing: a forged count that grew beyond what counts may be left a thread behind.
#[test]
fn a_state_that_cannot_be_saved_leaves_the_old_checkpoint_and_nothing_else() {
    let folder = folder();
    let file = folder.path().join("checkpoint");
    std::fs::write(&file, "old").expect("a file");
    for _ in 0..50 {
        let mut count = 1 << 60;
        let saved = super::file::Writing::begin(&file, |archive| {
            // until the thread has a file
            std::thread::sleep(std::time::Duration::from_millis(3));
            archive.count("k", &mut count)
        });
        assert!(matches!(saved, Err(Error::Checkpoint { .. })));
        let left: Vec<_> = std::fs::read_dir(folder.path()).expect("a folder").collect();
        assert!(left.len() == 1 && std::fs::read(&file).expect("a file") == b"old", "{left:?}");
    }
}

#[test]
fn every_entry_of_a_checkpoint_is_needed_to_go_on() {
    let folder = folder();
    let (file, last) = (folder.path().join("checkpoint"), folder.path().join("last"));
    let (mut all, mut needed) = (BTreeSet::new(), BTreeSet::new());
    for case in cases().into_iter().filter(|case| !case.name.starts_with("slow")) {
        for method in &case.methods {
            let whole = case.run(method, case.iterations, Checkpoints::to(&last));
            let end = std::fs::read(&last).expect("the last checkpoint");
            let latest = whole.outcome.iterations;
            for stop in [1, 2, 4, 8, latest].into_iter().filter(|stop| *stop <= latest) {
                rehearsal::take_seen();
                case.run(method, stop, Checkpoints::to(&file));
                for path in rehearsal::take_seen().into_iter().filter(|path| path != "fingerprint")
                {
                    let owner = owner(method, &path);
                    all.insert(owner.clone());
                    if needed.contains(&owner) {
                        continue;
                    }
                    let mut plan = Checkpoints::resume(&file);
                    plan.file = Some(last.clone());
                    rehearsal::forget(Some(path));
                    let resumed = case.try_run(method, case.iterations, plan);
                    rehearsal::forget(None);
                    // other results, another state at the end, or no way to go on at all
                    let differs = resumed.map_or(true, |resumed| {
                        bits(&resumed) != bits(&whole)
                            || std::fs::read(&last).expect("a checkpoint") != end
                    });
                    if differs {
                        needed.insert(owner);
                    }
                }
            }
        }
    }
    let idle: Vec<_> = all.difference(&needed).collect();
    assert!(all.len() > 100, "{}", all.len());
    assert!(idle.is_empty(), "{idle:#?}");
}
