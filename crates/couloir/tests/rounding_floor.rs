//! Run to the floor of rounding: nothing runs away, and the status says so.

mod common;

use common::{Plain, families};
use couloir::oracles::Counter;
use couloir::problem::{KnownConstants, SaddleProblem};
use couloir::run::{Algorithm, Flow, NoClock, Status, StopRules, TracePoint, run};
use couloir::solver::{Certified, CertifiedSettings, Start};
use couloir::{Inner, Method, Solution, Solve};

/// On problems of about the size 1 the certified gap falls to this share of the first one.
const FLOOR: f64 = 1e-13;

#[test]
fn certified_gaps_fall_to_1e_13_of_the_first_one_and_are_above_the_true_ones() {
    for family in families() {
        let (xs, ys) = (&*family.x_set, &*family.y_set);
        for name in ["extragradient", "apg", "corrective"] {
            let method: Method = name.parse().expect("a method");
            // restricted problems with a nuclear ball take responses by iterations, which end earlier
            if name == "corrective" && family.name.starts_with("nuclear") {
                continue;
            }
            let mut rules = StopRules::default();
            (rules.gap, rules.relative_gap, rules.iterations) = (Some(1e-17), None, Some(2000));
            rules.limits = vec![(Counter::LoX, 10_000), (Counter::LoY, 10_000)];
            let solve = Solve::new(&family.problem, xs, ys).method(method).rules(rules);
            let Solution { x, y, outcome, .. } = solve.run().expect("a run");
            let (gap, first) = (outcome.certificate.gap, outcome.trace[0].certificate.gap);
            assert!((0.5..10.0).contains(&first), "{}, {name}: first gap {first}", family.name);
            assert!(
                gap <= FLOOR * first,
                "{}, {name}: {:e} of the first gap, {}",
                family.name,
                gap / first,
                outcome.status
            );
            // from differences to the saddle point: right to a few roundings of what it is made of
            let truth = family.problem.exact_gap(xs, ys, &x, &y).expect("isotropic curvature");
            assert!(
                (-1e-15..=gap).contains(&truth),
                "{}, {name}: true gap {truth:e}, certified {gap:e}",
                family.name
            );
        }
    }
}

#[test]
fn at_the_rounding_floor_lhat_stays_bounded_and_the_status_says_that_no_progress_is_possible() {
    for family in families() {
        for (inner, hull_points, bare) in [
            (Inner::Exact, 6, false),
            (Inner::Exact, 0, false),
            (Inner::Exact, 6, true),
            (Inner::Slide, 6, false),
        ] {
            let mut settings = CertifiedSettings::default().inner(inner);
            settings.hull_points = hull_points;
            let slides = inner == Inner::Slide;
            if slides {
                // CndG needs 1/zeta calls on sets that are not polytopes: there a budget must end the run
                settings.inner_budget = 20_000;
            }
            let (xs, ys) = (&*family.x_set, &*family.y_set);
            let plain = Plain(&family.problem);
            let problem: &dyn SaddleProblem = if bare { &plain } else { &family.problem };
            let mut solver =
                Certified::new(Start::new(problem, xs, ys), &settings).expect("a solver");
            let mut rules = StopRules::default();
            // the value at the saddle point is 0.7, so 1e-17 is below what doubles can tell
            rules.gap = Some(1e-17);
            rules.relative_gap = None;
            rules.iterations = Some(5000);
            if slides {
                rules.iterations = Some(100);
            }
            let mut observer = |_: &TracePoint, _: &dyn Algorithm| Flow::Continue;
            let outcome = run(&mut solver, &rules, &NoClock, &mut observer).expect("a run");
            let highest = solver.highest_lhat();
            let name = family.name;
            let allowed = 8.0 * family.problem.constants().lhat().expect("all constants");
            assert!(highest <= allowed, "{name}, {inner:?}: Lhat {highest:e}, allowed {allowed:e}");
            let gap = outcome.certificate.gap;
            // every minorant brings its roundings, and few of them make the bound: hence more than a method with FW-gaps leaves. On
            // nuclear balls decompositions round as well; without the hull search, from plain values, and by slides it is the
            // iterations that end first
            let nuclear = family.name.starts_with("nuclear");
            let reachable = match (slides, bare, hull_points) {
                (true, _, _) => 1e-5,
                (false, false, 0) => 1e-10,
                (false, true, _) => 5e-10,
                (false, false, _) => {
                    if nuclear {
                        1e-11
                    } else {
                        1e-12
                    }
                }
            };
            assert!(
                gap.is_finite() && gap <= reachable,
                "{name}, {inner:?}, {hull_points}, bare {bare}: gap {gap:e}"
            );
            // the true gap, from differences to the saddle point: right to a few roundings of what it is made of
            let (x, y) = solver.best();
            let truth = family.problem.exact_gap(xs, ys, x, y).expect("isotropic curvature");
            assert!(
                truth <= gap + 1e-16,
                "{name}, {inner:?}, {hull_points}, bare {bare}: true gap {truth:e}, certified {gap:e}"
            );
            let finite = |v: &[f64]| v.iter().all(|v| v.is_finite());
            assert!(finite(solver.best().0) && finite(solver.best().1), "{name}: NaN");
            // without the hull search 5,000 iterations at the rate 1/k^2 may end above the floor
            let ended = outcome.status == Status::NoProgress
                || (hull_points == 0 && outcome.status == Status::IterationLimit)
                || (slides
                    && matches!(outcome.status, Status::InnerBudget(_) | Status::IterationLimit));
            assert!(
                ended,
                "{name}, {inner:?}, {hull_points}: {} after {} iterations, gap {gap:e}",
                outcome.status, outcome.iterations
            );
        }
    }
}
