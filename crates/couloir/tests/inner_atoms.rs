//! Certified MPCGS on sets that are known by their linear minimisation alone, with inner problems solved over atoms.

use couloir::domain::{Domain, LoSet, Simplex};
use couloir::oracles::Counter;
use couloir::problem::{BlockConstants, ClosureProblem};
use couloir::run::{Status, StopRules};
use couloir::solver::CertifiedSettings;
use couloir::{Inner, Method, Solution, Solve};

const N: usize = 5;
const SCENARIOS: usize = 6;

/// The cost of taking column `j` for row `i` in a scenario.
fn cost(scenario: usize, i: usize, j: usize) -> f64 {
    1.0 + (1.3 * scenario as f64 + 2.1 * i as f64 + 3.7 * (i * j) as f64 + 0.9 * j as f64).sin()
}

/// `sum_s y_s <C_s, x> - mu/2 |y|^2`.
fn robust_assignment(mu: f64) -> ClosureProblem<'static> {
    let costs: Vec<Vec<f64>> =
        (0..SCENARIOS).map(|s| (0..N * N).map(|k| cost(s, k / N, k % N)).collect()).collect();
    let of = move |costs: &[Vec<f64>], x: &[f64], s: usize| couloir::linalg::dot(&costs[s], x);
    let (by_x, by_y) = (costs.clone(), costs.clone());
    ClosureProblem::new(
        N * N,
        SCENARIOS,
        move |x, y| (0..SCENARIOS).map(|s| y[s] * of(&costs, x, s) - 0.5 * mu * y[s] * y[s]).sum(),
        move |_, y, g| {
            g.fill(0.0);
            for (costs, y) in by_x.iter().zip(y) {
                g.iter_mut().zip(costs).for_each(|(g, c)| *g += y * c);
            }
        },
        move |x, y, g| (0..SCENARIOS).for_each(|s| g[s] = of(&by_y, x, s) - mu * y[s]),
    )
    .and_then(|problem| problem.with_constants(BlockConstants::all(0.0, 40.0, mu, mu)))
    .expect("a problem")
}

/// Mixtures of assignments, by dynamic programming over sets of columns.
fn assignments() -> LoSet<'static> {
    let start = (0..N * N).map(|k| f64::from(u8::from(k % (N + 1) == 0))).collect();
    let linear_minimum = |g: &[f64], p: &mut [f64]| {
        let (mut best, mut last) = (vec![f64::INFINITY; 1 << N], vec![0; 1 << N]);
        best[0] = 0.0;
        for taken in 1usize..1 << N {
            let row = taken.count_ones() as usize - 1;
            for j in (0..N).filter(|j| taken & (1 << j) != 0) {
                let total = best[taken ^ (1 << j)] + g[row * N + j];
                if total < best[taken] {
                    (best[taken], last[taken]) = (total, j);
                }
            }
        }
        p.fill(0.0);
        let mut taken = (1 << N) - 1;
        for row in (0..N).rev() {
            p[row * N + last[taken]] = 1.0;
            taken ^= 1 << last[taken];
        }
    };
    LoSet::new(N * N, (2.0 * N as f64).sqrt(), start, linear_minimum).expect("a set")
}

fn own_simplex() -> LoSet<'static> {
    let start = vec![1.0 / SCENARIOS as f64; SCENARIOS];
    LoSet::new(SCENARIOS, 2f64.sqrt(), start, |g, p| {
        let best = (0..SCENARIOS).min_by(|i, j| g[*i].total_cmp(&g[*j])).unwrap_or(0);
        p.fill(0.0);
        p[best] = 1.0;
    })
    .expect("a set")
}

fn solve(y_set: &dyn Domain, settings: CertifiedSettings, gap: f64) -> Solution {
    let (problem, x_set) = (robust_assignment(1.0), assignments());
    Solve::new(&problem, &x_set, y_set).method(Method::new(settings)).gap(gap).run().expect("a run")
}

fn lo_calls(solution: &Solution) -> u64 {
    solution.outcome.ledger.method.lo_x + solution.outcome.ledger.certificate.lo_x
}

#[test]
fn auto_means_atoms_where_there_is_no_projection_and_takes_far_fewer_oracle_calls() {
    let y_set = Simplex::new(SCENARIOS).expect("a simplex");
    let settings = CertifiedSettings::default();
    let auto = solve(&y_set, settings.clone(), 1e-4);
    let atoms = solve(&y_set, settings.clone().inner_x(Inner::Atoms), 1e-4);
    assert_eq!((&auto.x, &auto.y), (&atoms.x, &atoms.y));
    let slide = solve(&y_set, settings.inner_x(Inner::Slide), 1e-4);
    assert!(auto.outcome.status.is_solved() && slide.outcome.status.is_solved());
    let (few, many) = (lo_calls(&auto), lo_calls(&slide));
    // plain slides took ten times as many before they asked for no more than the theorem's bound needs
    assert!(4 * few < many && few <= 160, "{few} calls over atoms, {many} by plain slides");
    let (own, plain) = (auto.outcome.ledger.method.grad_x, slide.outcome.ledger.method.grad_x);
    assert!(2 * own <= 3 * plain + 20, "{own} gradients over atoms, {plain} by plain slides");
    let (a, b) = (auto.outcome.certificate, slide.outcome.certificate);
    assert!(a.lower.max(b.lower) <= a.upper.min(b.upper), "{a:?} and {b:?} do not meet");
    // x is doubly stochastic
    for i in 0..N {
        let row: f64 = auto.x[i * N..][..N].iter().sum();
        let column: f64 = (0..N).map(|k| auto.x[k * N + i]).sum();
        assert!((row - 1.0).abs() < 1e-12 && (column - 1.0).abs() < 1e-12, "{row} {column}");
    }
    assert!(auto.x.iter().all(|x| *x >= 0.0));
}

#[test]
fn the_bounds_of_the_theorem_hold_at_every_iteration() {
    let (problem, x_set) = (robust_assignment(1.0), assignments());
    let y_set = Simplex::new(SCENARIOS).expect("a simplex");
    let mut rules = StopRules::default();
    (rules.relative_gap, rules.iterations) = (None, Some(60));
    // where no method is named these sets have the corrective method
    let solve_by = Solve::new(&problem, &x_set, &y_set).method(Method::certified());
    let solution = solve_by.rules(rules).run().expect("a run");
    let value = solve(&y_set, CertifiedSettings::default(), 1e-8).outcome.certificate;
    assert!(value.gap <= 1e-8);
    let mut seen = 0;
    for point in solution.outcome.trace.iter().filter(|point| point.iteration > 0) {
        let (c, b) = (point.bounds.minorant, point.bounds.schedule);
        let k = point.iteration;
        assert!(point.certificate.gap <= c + 1e-12 && c <= b + 1e-12, "k = {k}: {c:e} and {b:e}");
        assert!(point.certificate.lower <= value.upper && value.lower <= point.certificate.upper);
        seen += 1;
    }
    assert_eq!(seen, 60);
}

#[test]
fn both_sets_may_be_known_by_their_oracles_alone() {
    let simplex = Simplex::new(SCENARIOS).expect("a simplex");
    let known = solve(&simplex, CertifiedSettings::default(), 1e-5).outcome;
    let own = solve(&own_simplex(), CertifiedSettings::default(), 1e-5).outcome;
    assert!(own.status.is_solved(), "{}", own.status);
    assert_eq!(own.ledger.method.prox_x + own.ledger.method.prox_y, 0);
    let (a, b) = (known.certificate, own.certificate);
    assert!(a.lower.max(b.lower) <= a.upper.min(b.upper), "{a:?} and {b:?} do not meet");
}

#[test]
fn limits_hold_within_an_inner_solve() {
    let (problem, x_set) = (robust_assignment(0.1), assignments());
    let y_set = Simplex::new(SCENARIOS).expect("a simplex");
    for limit in [1, 7, 30] {
        let mut rules = StopRules::default();
        rules.relative_gap = None;
        rules.limits = vec![(Counter::LoX, limit)];
        let solve = Solve::new(&problem, &x_set, &y_set).method(Method::certified());
        let outcome = solve.rules(rules).run().expect("a run").outcome;
        assert!(outcome.ledger.method.lo_x <= limit, "{limit}: {}", outcome.ledger.method.lo_x);
        assert!(outcome.certificate.gap.is_finite());
    }
    let settings = CertifiedSettings::default().inner_budget(1);
    let outcome = solve(&y_set, settings, 1e-9).outcome;
    assert!(matches!(outcome.status, Status::InnerBudget(_)), "{}", outcome.status);
    assert!(outcome.certificate.gap.is_finite() && outcome.certificate.gap > 1e-9);
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let y_set = Simplex::new(SCENARIOS).expect("a simplex");
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| solve(&y_set, CertifiedSettings::default(), 1e-6))
    };
    let one = on(1);
    assert!(one.outcome.status.is_solved());
    assert_eq!(one, on(2));
    assert_eq!(one, on(5));
}
