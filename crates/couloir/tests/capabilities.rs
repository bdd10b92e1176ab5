//! A wrapper that passes the capabilities of a problem on changes nothing; one that drops a capability shows it.

use couloir::domain::{BoxSet, Domain, L1Ball, L2Ball, Simplex};
use couloir::linalg::SparseMatrix;
use couloir::model::{RobustMulticlass, RobustSettings, SyntheticGroups};
use couloir::oracles::OracleCounts;
use couloir::problem::{
    BlockConstants, Capabilities, ClosureProblem, Population, PreparedImage, QuadraticBilinear,
    QuadraticSum, SaddleProblem, WithFallbacks,
};
use couloir::run::{Checkpoints, StopRules};
use couloir::{Error, Method, Solution, Solve};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Every method, with the iterations that it runs for.
fn methods() -> Vec<(Method, u64)> {
    vec![
        (Method::certified(), 40),
        (Method::mpcgs(), 2),
        (Method::batched(), 30),
        (Method::mpscgs(), 1),
        (Method::spfw(), 15),
        (Method::spafw(), 15),
        (Method::sppfw(), 15),
        (Method::svre(), 15),
        (Method::extragradient(), 10),
        (Method::apg(), 20),
    ]
}

/// What a wrapper makes of the capabilities of its inner problem.
type Pass = for<'a> fn(Capabilities<'a>) -> Capabilities<'a>;

/// A problem whose capabilities go through a function before anybody sees them.
struct Wrapper<'a> {
    inner: &'a dyn SaddleProblem,
    pass: Pass,
    asked: AtomicU64,
}

impl<'a> Wrapper<'a> {
    fn new(inner: &'a dyn SaddleProblem, pass: Pass) -> Self {
        Wrapper { inner, pass, asked: AtomicU64::new(0) }
    }
}

impl SaddleProblem for Wrapper<'_> {
    fn dim_x(&self) -> usize {
        self.inner.dim_x()
    }
    fn dim_y(&self) -> usize {
        self.inner.dim_y()
    }
    fn value(&self, at: PreparedImage<'_>, y: &[f64]) -> f64 {
        self.inner.value(at, y)
    }
    fn grad_image(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
        self.inner.grad_image(at, y, out);
    }
    fn grad_y(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
        self.inner.grad_y(at, y, out);
    }
    fn capabilities(&self) -> Capabilities<'_> {
        self.asked.fetch_add(1, Relaxed);
        (self.pass)(self.inner.capabilities())
    }
}

struct Case {
    name: &'static str,
    problem: Box<dyn SaddleProblem>,
    x_set: Box<dyn Domain>,
    y_set: Box<dyn Domain>,
}

impl Case {
    fn run(&self, problem: &dyn SaddleProblem, method: &Method, iterations: u64) -> Run {
        let mut rules = StopRules::default();
        (rules.iterations, rules.relative_gap) = (Some(iterations), Some(1e-14));
        Solve::new(problem, &*self.x_set, &*self.y_set).method(method.clone()).rules(rules).run()
    }

    /// The calls of a run on this case without some capability.
    fn calls(&self, pass: Pass, method: &Method, iterations: u64) -> OracleCounts {
        let wrapper = Wrapper::new(&*self.problem, pass);
        let solution = self.run(&wrapper, method, iterations).expect("a run");
        solution.outcome.ledger.method
    }
}

type Run = couloir::Result<Solution>;

/// Has every capability.
fn robust() -> Case {
    let (n, d, h, row) = (60, 24, 3, 4);
    let starts = (0..=n).map(|i| row * i).collect();
    let indices = (0..n * row).map(|p| ((p % row) * (d / row) + (p * p / 5) % (d / row)) as u32);
    let values = (0..n * row).map(|p| 0.25 + ((p * p) % 97) as f64 / 64.0).collect();
    let rows = SparseMatrix::from_rows(d, starts, indices.collect(), values).expect("rows");
    let labels = (0..n).map(|i| ((i * i + i / 7) % h) as u32).collect();
    let settings = RobustSettings::default().tau(5.0);
    let model = RobustMulticlass::new(rows, labels, h, settings).expect("a model");
    Case {
        name: "robust",
        x_set: Box::new(model.x_set().expect("a ball")),
        y_set: Box::new(Simplex::new(model.len()).expect("a simplex")),
        problem: Box::new(model),
    }
}

fn groups() -> Case {
    let data =
        SyntheticGroups { rows: 300, features: 20, nonzeros: 4, groups: 3, flipped: 0.05, seed: 2 };
    let model = data.model(0.5).expect("a model");
    Case {
        name: "groups",
        x_set: Box::new(L1Ball::new(model.dim_x(), 5.0).expect("a ball")),
        y_set: Box::new(model.y_set().clone()),
        problem: Box::new(model),
    }
}

fn quadratic_sum() -> Case {
    let (x_set, y_set) =
        (L2Ball::new(6, 1.0).expect("a ball"), Simplex::new(8).expect("a simplex"));
    let base = QuadraticBilinear::on(&x_set, &y_set).curvature(0.2, 1.0).coupling(0.7).push(0.4);
    let base = base.seed(5).build().expect("a problem");
    let sum = QuadraticSum::new(base, Population::Finite(400), 0.5, 0.1, 3).expect("a sum");
    Case {
        name: "quadratic sum",
        problem: Box::new(sum),
        x_set: Box::new(x_set),
        y_set: Box::new(y_set),
    }
}

/// `1/2 |x|^2 + <x, y> - 1/2 |y|^2` with its best response on a box.
fn closures() -> Case {
    const N: usize = 5;
    let value = |x: &[f64], y: &[f64]| {
        (0..N).map(|i| 0.5 * x[i] * x[i] + x[i] * y[i] - 0.5 * y[i] * y[i]).sum()
    };
    let grad_x = |x: &[f64], y: &[f64], out: &mut [f64]| (0..N).for_each(|i| out[i] = x[i] + y[i]);
    let grad_y = |x: &[f64], y: &[f64], out: &mut [f64]| (0..N).for_each(|i| out[i] = x[i] - y[i]);
    let response = |x: &[f64], y: &mut [f64]| (0..N).for_each(|i| y[i] = x[i].clamp(0.1, 0.75));
    let problem = ClosureProblem::new(N, N, value, grad_x, grad_y).expect("a problem");
    let constants = BlockConstants::all(1.0, 1.0, 1.0, 1.0);
    let problem = problem.with_best_response(response).with_constants(constants);
    Case {
        name: "closures",
        problem: Box::new(problem.expect("constants")),
        x_set: Box::new(L1Ball::new(N, 1.0).expect("a ball")),
        y_set: Box::new(BoxSet::cube(N, 0.1, 0.75).expect("a box")),
    }
}

#[test]
fn a_wrapper_that_passes_everything_on_changes_no_bit_and_no_call() {
    for case in [robust(), groups(), quadratic_sum(), closures()] {
        let mut solved = 0;
        for (method, iterations) in methods() {
            let bare = case.run(&*case.problem, &method, iterations);
            let wrapper = Wrapper::new(&*case.problem, |all| all);
            let wrapped = case.run(&wrapper, &method, iterations);
            let name = format!("{} by {}", case.name, method.name());
            match (bare, wrapped) {
                // points, certificate, trace and ledger
                (Ok(bare), Ok(wrapped)) => {
                    assert_eq!(bare, wrapped, "{name}");
                    solved += 1;
                }
                (Err(bare), Err(wrapped)) => {
                    assert_eq!(bare.to_string(), wrapped.to_string(), "{name}");
                }
                (bare, wrapped) => panic!("{name}: {bare:?} {wrapped:?}"),
            }
        }
        assert!(solved >= 5, "{}: {solved} methods ran", case.name);
    }
}

#[test]
fn capabilities_are_asked_for_when_a_run_starts_and_never_again() {
    for case in [quadratic_sum(), closures(), groups()] {
        for (method, _) in methods() {
            let asked = |iterations: u64| {
                let wrapper = Wrapper::new(&*case.problem, |all| all);
                case.run(&wrapper, &method, iterations).ok().map(|_| wrapper.asked.load(Relaxed))
            };
            // progressive batching makes a problem for each batch
            if method.name() != Method::batched().name() {
                assert_eq!(asked(1), asked(4), "{} by {}", case.name, method.name());
            }
        }
    }
}

#[test]
fn without_a_best_response_the_ledger_shows_the_search_for_it() {
    let case = robust();
    let method = Method::certified();
    let known = case.calls(|all| all, &method, 20);
    assert!(known.best_response >= 20 && known.prox_y == 0, "{known:?}");
    let searched = case.calls(
        |mut kept| {
            kept.best_response = None;
            kept
        },
        &method,
        20,
    );
    assert!(searched.best_response == 0, "{searched:?}");
    assert!(searched.prox_y >= 20 && searched.grad_y >= 20, "{searched:?}");
}

#[test]
fn without_column_wise_operators_the_ledger_shows_more_images() {
    let case = robust();
    let drop: Pass = |mut kept| {
        kept.column_wise = None;
        kept
    };
    let with = case.calls(|all| all, &Method::certified(), 20);
    let without = case.calls(drop, &Method::certified(), 20);
    assert!(without.images > with.images, "{without:?} {with:?}");
}

#[test]
fn without_exact_differences_the_rounding_is_that_of_two_values() {
    let case = quadratic_sum();
    let whole = WithFallbacks::new(&*case.problem);
    let dropped = Wrapper::new(&*case.problem, |mut kept| {
        kept.differences = None;
        kept
    });
    let dropped = WithFallbacks::new(&dropped);
    let (x, near) = ([0.1; 6], [0.1 + 1e-7; 6]);
    let (x, near) = (PreparedImage::plain(&x), PreparedImage::plain(&near));
    let y = [0.125; 8];
    let mut gradient = [0.0; 6];
    whole.grad_image(x, &y, &mut gradient);
    let slope = gradient.iter().map(|g| g * 1e-7).sum();
    let [exact, plain] = [&whole, &dropped].map(|p| p.bend_x(x, near, &y, slope).rounding);
    assert!(exact < 1e-3 * plain, "{exact:e} {plain:e}");
}

#[test]
fn what_needs_a_capability_that_is_missing_is_refused_by_name() {
    let case = quadratic_sum();
    let refusal = |pass: Pass, method: Method| {
        let wrapper = Wrapper::new(&*case.problem, pass);
        case.run(&wrapper, &method, 5).expect_err("it lacks something")
    };
    for method in [Method::batched(), Method::mpscgs(), Method::svre()] {
        let error = refusal(
            |mut kept| {
                kept.sampled = None;
                kept
            },
            method,
        );
        assert!(matches!(error, Error::MissingOracle { .. }), "{error}");
        assert!(error.to_string().contains("`sampled`"), "{error}");
    }
    let error = refusal(
        |mut kept| {
            kept.sampled_constants = None;
            kept
        },
        Method::mpscgs(),
    );
    assert!(matches!(error, Error::MissingConstant { .. }), "{error}");
    let error = refusal(|all| all.representation(), Method::mpcgs());
    assert!(matches!(error, Error::MissingConstant { .. }), "{error}");
}

#[test]
fn without_restrictions_batches_lose_their_best_response_and_show_it() {
    let case = groups();
    // one iteration, on a batch: it has 256 of the 300 rows
    let with = case.calls(|all| all, &Method::batched(), 1);
    assert!(with.best_response > 0 && with.prox_y == 0, "{with:?}");
    let without = case.calls(
        |mut kept| {
            kept.restriction = None;
            kept
        },
        &Method::batched(),
        1,
    );
    assert!(without.best_response == 0 && without.prox_y > 0, "{without:?}");
}

#[test]
fn a_wrapper_without_an_identity_cannot_continue_the_run_of_a_problem_with_one() {
    let case = groups();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("checkpoint");
    let run = |problem: &dyn SaddleProblem, checkpoints: Checkpoints| {
        let mut rules = StopRules::default();
        (rules.iterations, rules.relative_gap) = (Some(5), Some(1e-14));
        Solve::new(problem, &*case.x_set, &*case.y_set).rules(rules).checkpoints(checkpoints).run()
    };
    run(&*case.problem, Checkpoints::to(&file)).expect("a run");
    let whole = Wrapper::new(&*case.problem, |all| all);
    run(&whole, Checkpoints::resume(&file)).expect("the same problem");
    let dropped = Wrapper::new(&*case.problem, |mut kept| {
        kept.identity = None;
        kept
    });
    let error = run(&dropped, Checkpoints::resume(&file)).expect_err("an unknown problem");
    assert!(error.to_string().contains("mu"), "{error}");
}

#[test]
fn capabilities_print_the_names_of_those_that_are_there() {
    let case = closures();
    let shown = format!("{:?}", case.problem.capabilities());
    assert_eq!(shown, r#"Capabilities {"best_response", "constants"}"#);
    assert_eq!(format!("{:?}", Capabilities::NONE), "Capabilities {}");
}

#[test]
fn without_its_bounds_of_rounding_a_problem_is_charged_with_estimates() {
    let set = BoxSet::cube(3, 999_999.5, 1_000_000.5).expect("a box");
    let problem = QuadraticBilinear::on(&set, &set).curvature(1.0, 1.0).coupling(0.5);
    let problem = problem.push(0.0).build().expect("a problem");
    let floor = |problem: &dyn SaddleProblem| {
        let solve = Solve::new(problem, &set, &set).method(Method::extragradient());
        solve.gap(1e-30).iterations(300).run().expect("a run").outcome.certificate.gap
    };
    let drop: Pass = |mut capabilities| {
        capabilities.rounding = None;
        capabilities
    };
    // the estimate must take the function for one that is computed from x and y themselves; what is known is little more than
    // that the points of a pair a million away from the origin are rounded
    let (known, estimated) = (floor(&problem), floor(&Wrapper::new(&problem, drop)));
    assert!(known < 1e-9 && estimated > 5.0 * known, "{known:e} {estimated:e}");
}
