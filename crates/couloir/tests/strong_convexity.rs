//! Problems that are strongly convex in x: the theorems, the rate, and what becomes of a modulus that is wrong.

mod strongly_convex;

use couloir::domain::{Confidence, Domain, LoSet, Simplex};
use couloir::problem::{BlockConstants, ClosureProblem, QuadraticBilinear};
use couloir::run::{Algorithm, Flow, Status, StopRules, TracePoint};
use couloir::solver::CertifiedSettings;
use couloir::{Error, Inner, Method, Solve};
use strongly_convex::{Believed, Bent, Instance, SETS, fall, instance};

/// What rounding leaves of true gaps, and of bounds that are charged for it.
const ROUNDING: f64 = 1e-14;
const CHARGED: f64 = 1e-12;

fn cases(condition: f64, seed: u64) -> Vec<Instance> {
    let mut cases = Vec::new();
    for set in SETS {
        for bent in [Bent::Spread, Bent::Coupled, Bent::Chain] {
            for is_interior in [true, false] {
                cases.push(instance(set, bent, is_interior, condition, seed).expect("an instance"));
            }
        }
    }
    cases
}

fn slope(case: &Instance, mu_x: Option<f64>, asked: f64) -> f64 {
    let problem = Believed { inner: &case.problem, mu_x };
    let solve = Solve::new(&problem, &*case.x_set, &*case.y_set).method(Method::certified());
    let unit = (1.0 / case.condition).sqrt();
    let run = fall(solve, 1e-8, (40.0 / (asked * unit)) as u64).expect("a run");
    assert!(run.gaps.windows(2).all(|pair| pair[1] <= pair[0]), "{}: a gap rose", case.name);
    run.slope() / unit
}

#[test]
fn the_gap_falls_at_three_tenths_of_the_ideal_rate_where_the_modulus_is_known() {
    for condition in [1e2, 1e4, 1e6] {
        for case in cases(condition, 3) {
            let slope = slope(&case, Some(1.0 / condition), 0.3);
            assert!(slope >= 0.3, "{}, condition {condition:e}: {slope}", case.name);
        }
    }
}

#[test]
fn the_gap_falls_at_a_tenth_of_the_ideal_rate_where_it_is_not() {
    for condition in [1e2, 1e4, 1e6] {
        for case in cases(condition, 3) {
            let slope = slope(&case, None, 0.1);
            assert!(slope >= 0.1, "{}, condition {condition:e}: {slope}", case.name);
        }
    }
}

/// Theorem G: `gap(x_k, ybar_k) <= C_k <= B_k`, and `B_k` contracts as it says.
#[test]
fn the_gap_is_below_the_bounds_of_theorem_g_at_every_iteration() {
    let sets = |bent| SETS.map(|set| (set, bent));
    for (set, bent) in sets(Bent::Coupled).into_iter().chain(sets(Bent::Chain)) {
        for (is_interior, inner) in [
            (true, Inner::Exact),
            (false, Inner::Exact),
            (false, Inner::Slide),
            (true, Inner::Atoms),
        ] {
            // plain slides take many linear minimisations
            let (condition, iterations) =
                if inner == Inner::Exact { (1e3, 300) } else { (1e1, 12) };
            if inner != Inner::Exact && (set == "nuclear ball" || matches!(bent, Bent::Chain)) {
                continue;
            }
            let case = instance(set, bent, is_interior, condition, 5).expect("an instance");
            let name = format!("{}, {inner:?}", case.name);
            let mu_x = 1.0 / condition;
            let mut before = f64::INFINITY;
            let mut seen = 0;
            let mut observer = |point: &TracePoint, state: &dyn Algorithm| {
                let k = point.iteration;
                if k == 0 {
                    return Flow::Continue;
                }
                let exact = |x: &[f64], y: &[f64]| {
                    let (x_set, y_set) = (&*case.x_set, &*case.y_set);
                    case.problem.exact_gap(x_set, y_set, x, y).expect("isotropic curvature")
                };
                let (x, y) = state.best();
                let gap = exact(x, y);
                let certified = point.certificate.gap;
                assert!(gap <= certified + ROUNDING, "{name}, k = {k}: {gap:e}, {certified:e}");
                let (c, b) = (point.bounds.minorant, point.bounds.schedule);
                assert!(certified <= c + CHARGED, "{name}, k = {k}: C_k is not used");
                assert!(c <= b + CHARGED, "{name}, k = {k}: C {c:e} above B {b:e}");
                let (x, y_bar) = state.current();
                let gap = exact(x, y_bar);
                assert!(gap <= c + ROUNDING, "{name}, k = {k}: gap {gap:e} above C {c:e}");
                if inner == Inner::Exact && k > 1 {
                    // Lhat has not fallen by more than a third after the iteration
                    let q = (mu_x / (3.0 * state.facts()[0].value)).sqrt();
                    let most = 1.0 - 0.85 * q * (1.0 - 0.5 * q);
                    assert!(
                        b <= most * before + CHARGED,
                        "{name}, k = {k}: {b:e} after {before:e}"
                    );
                }
                before = b;
                seen = k;
                Flow::Continue
            };
            let mut rules = StopRules::default();
            (rules.relative_gap, rules.iterations) = (None, Some(iterations));
            let outcome = Solve::new(&case.problem, &*case.x_set, &*case.y_set)
                .method(Method::new(CertifiedSettings::default().inner(inner)))
                .rules(rules)
                .run_with(&mut observer)
                .unwrap_or_else(|e| panic!("{name}: {e}"))
                .outcome;
            let floor = outcome.status == Status::NoProgress && outcome.certificate.gap < 1e-11;
            assert!(seen == iterations || floor, "{name}: {} after {seen}", outcome.status);
            assert_eq!(outcome.certificate.confidence, Confidence::Exact, "{name}");
        }
    }
}

#[test]
fn a_wrong_modulus_is_a_contradiction_and_never_a_certificate_below_the_truth() {
    let mut found = 0;
    let mut all = 0;
    for set in SETS {
        for bent in [Bent::Spread, Bent::Coupled, Bent::Chain] {
            for is_interior in [true, false] {
                let case = instance(set, bent, is_interior, 1e2, 7).expect("an instance");
                for factor in [1.01, 2.0, 10.0, 1e3] {
                    let problem = Believed { inner: &case.problem, mu_x: Some(factor * 1e-2) };
                    let run = Solve::new(&problem, &*case.x_set, &*case.y_set)
                        .method(Method::certified())
                        .relative_gap(1e-8)
                        .run();
                    all += 1;
                    match run {
                        Err(Error::Contradiction { what, .. }) => {
                            assert!(what.contains("mu_x") || what.contains("convex"), "{what}");
                            found += 1;
                        }
                        Err(error) => panic!("{}: {error}", case.name),
                        Ok(solution) if solution.outcome.status == Status::Contradiction => {
                            found += 1;
                        }
                        Ok(solution) => {
                            assert_eq!(
                                solution.outcome.certificate.confidence,
                                Confidence::AsGiven,
                                "{}",
                                case.name
                            );
                            if !matches!(bent, Bent::Spread) {
                                let gap = case
                                    .problem
                                    .exact_gap(&*case.x_set, &*case.y_set, &solution.x, &solution.y)
                                    .expect("isotropic curvature");
                                let certified = solution.outcome.certificate.gap;
                                assert!(
                                    gap <= certified + ROUNDING,
                                    "{}, factor {factor}: {gap:e} above {certified:e}",
                                    case.name
                                );
                            }
                        }
                    }
                }
            }
        }
    }
    // curvature that is mu_x in every direction contradicts at once
    assert!(3 * found >= 2 * all, "{found} of {all}");
}

#[test]
fn certificates_that_rest_on_a_given_modulus_say_so() {
    let case = instance("box", Bent::Coupled, true, 1e2, 1).expect("an instance");
    let of = |mu_x: Option<f64>| {
        let problem = Believed { inner: &case.problem, mu_x };
        let solve = Solve::new(&problem, &*case.x_set, &*case.y_set).method(Method::certified());
        solve.relative_gap(1e-6).run().expect("a run").outcome.certificate.confidence
    };
    assert_eq!(of(Some(1e-2)), Confidence::AsGiven);
    assert_eq!(of(None), Confidence::Exact);
    let solve = Solve::new(&case.problem, &*case.x_set, &*case.y_set).method(Method::certified());
    let own = solve.relative_gap(1e-6).run().expect("a run").outcome.certificate.confidence;
    assert_eq!(own, Confidence::Exact);
}

#[test]
fn a_modulus_that_cannot_be_one_is_refused() {
    let case = instance("box", Bent::Coupled, true, 1e2, 1).expect("an instance");
    for mu_x in [-1.0, 0.0, f64::NAN, f64::INFINITY] {
        let problem = Believed { inner: &case.problem, mu_x: Some(mu_x) };
        let run =
            Solve::new(&problem, &*case.x_set, &*case.y_set).method(Method::certified()).run();
        let message = run.expect_err("no modulus").to_string();
        assert!(message.contains("mu_x"), "{message}");
    }
    assert_eq!(BlockConstants::default().with_mu_x(0.0).mu_x, None);
}

/// `<x, A y> + mu_x/2 |x|^2`, linear in y.
fn bowl(mu_x: f64, given: Option<f64>) -> ClosureProblem<'static> {
    let a = |i: usize, j: usize| ((3 * i + 5 * j + i * j) as f64).sin();
    let (n, m) = (20, 15);
    let problem = ClosureProblem::new(
        n,
        m,
        move |x, y| {
            let square = 0.5 * mu_x * x.iter().map(|x| x * x).sum::<f64>();
            square + (0..n).map(|i| x[i] * (0..m).map(|j| a(i, j) * y[j]).sum::<f64>()).sum::<f64>()
        },
        move |x, y, g| {
            (0..n).for_each(|i| g[i] = mu_x * x[i] + (0..m).map(|j| a(i, j) * y[j]).sum::<f64>());
        },
        move |x, _, g| {
            (0..m).for_each(|j| g[j] = (0..n).map(|i| a(i, j) * x[i]).sum());
        },
    )
    .expect("a problem");
    let constants = BlockConstants { mu_x: given, ..BlockConstants::default() };
    problem.with_constants(constants).expect("constants")
}

/// Stages of smoothing in y on top of strong convexity in x.
#[test]
fn a_function_that_is_linear_in_y_is_solved_with_the_modulus_of_x_too() {
    let (x_set, y_set) =
        (Simplex::new(20).expect("a simplex"), Simplex::new(15).expect("a simplex"));
    let solve = |mu_x: f64, given: Option<f64>| {
        let problem = bowl(mu_x, given);
        let solve = Solve::new(&problem, &x_set, &y_set).method(Method::certified());
        solve.gap(1e-7).iterations(20_000).run().expect("a run")
    };
    for mu_x in [1.0, 0.1] {
        let (known, unknown) = (solve(mu_x, Some(mu_x)), solve(mu_x, None));
        assert!(known.outcome.status.is_solved(), "{mu_x}: {}", known.outcome.status);
        assert!(unknown.outcome.status.is_solved(), "{mu_x}: {}", unknown.outcome.status);
        let (a, b) = (known.outcome.certificate, unknown.outcome.certificate);
        assert!(a.lower <= b.upper && b.lower <= a.upper, "{mu_x}: {a:?}, {b:?}");
        assert_eq!(a.confidence, Confidence::AsGiven);
    }
}

#[test]
fn sets_known_by_their_oracle_use_the_modulus_too() {
    let simplex = Simplex::new(12).expect("a simplex");
    let y_set = Simplex::new(6).expect("a simplex");
    let problem = QuadraticBilinear::on(&simplex, &y_set).curvature(0.2, 1.0).seed(3);
    let problem = problem.build().expect("a problem");
    let least = |g: &[f64], p: &mut [f64]| {
        p.fill(0.0);
        let best = (0..g.len()).min_by(|&i, &j| g[i].total_cmp(&g[j])).unwrap_or(0);
        p[best] = 1.0;
    };
    let by_oracle = LoSet::new(12, 2.0f64.sqrt(), vec![1.0 / 12.0; 12], least).expect("a set");
    for inner in [Inner::Auto, Inner::Atoms] {
        let method = Method::new(CertifiedSettings::default().inner_x(inner));
        let solve = Solve::new(&problem, &by_oracle, &y_set).method(method).gap(1e-5);
        let solution = solve.run().expect("a run");
        assert!(solution.outcome.status.is_solved(), "{inner:?}: {}", solution.outcome.status);
        let (x_set, y_set): (&dyn Domain, &dyn Domain) = (&simplex, &y_set);
        let gap = problem.exact_gap(x_set, y_set, &solution.x, &solution.y).expect("isotropic");
        assert!(gap <= solution.outcome.certificate.gap + ROUNDING, "{inner:?}: {gap:e}");
    }
}
