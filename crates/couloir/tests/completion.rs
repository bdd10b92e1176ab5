//! Robust matrix completion: points as thin factors agree with whole matrices, with methods that are independent of them,
//! and with sums written out.

use couloir::domain::Domain;
use couloir::linalg::Factors;
use couloir::model::loss::{Huber, ResidualLoss, Squared};
use couloir::model::uncertainty::{ChiSquare, Groups, Uncertainty};
use couloir::model::{RankOneMeasurements, RobustCompletion};
use couloir::problem::{SaddleProblem, check_gradient};
use couloir::run::{Algorithm, Checkpoints, Clock, Flow, Status, StopRules, TracePoint};
use couloir::watch::SharedClock;
use couloir::{Method, Solution, Solve};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Numbers that look random and are the same everywhere.
struct Numbers(u64);

impl Numbers {
    fn uniform(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }

    fn below(&mut self, n: usize) -> u32 {
        (self.uniform() * n as f64) as u32
    }
}

/// Ratings: a matrix of low rank plus noise, seen at random places, of which some repeat.
#[derive(Clone)]
struct Ratings {
    shape: (usize, usize),
    rows: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

impl Ratings {
    fn new(shape: (usize, usize), rank: usize, n: usize, noise: f64, seed: u64) -> Self {
        let mut numbers = Numbers(seed);
        let left: Vec<f64> = (0..shape.0 * rank).map(|_| numbers.normal()).collect();
        let right: Vec<f64> = (0..shape.1 * rank).map(|_| numbers.normal()).collect();
        let (mut rows, mut columns, mut values) = (vec![], vec![], vec![]);
        for _ in 0..n {
            let (i, j) = (numbers.below(shape.0), numbers.below(shape.1));
            let truth: f64 =
                (0..rank).map(|l| left[i as usize * rank + l] * right[j as usize * rank + l]).sum();
            rows.push(i);
            columns.push(j);
            values.push(truth + noise * numbers.normal());
        }
        Ratings { shape, rows, columns, values }
    }

    fn problem(
        &self,
        loss: Arc<dyn ResidualLoss>,
        set: Arc<dyn Uncertainty>,
        tau: f64,
    ) -> RobustCompletion {
        let places = (self.rows.clone(), self.columns.clone());
        RobustCompletion::of_entries(loss, set, self.shape, places, self.values.clone(), tau)
            .expect("a problem")
    }

    fn chi_square(&self, level: f64) -> Arc<dyn Uncertainty> {
        Arc::new(ChiSquare::new(self.values.len(), level).expect("a level"))
    }

    fn squared(&self, level: f64, tau: f64) -> RobustCompletion {
        self.problem(Arc::new(Squared), self.chi_square(level), tau)
    }

    /// `max over y in the simplex of sum y_i loss_i - (level/2n) sum (n y_i - 1)^2` at a whole matrix, by bisection on the
    /// multiplier.
    fn robust_loss(&self, x: &[f64], level: f64) -> f64 {
        let losses: Vec<f64> = (0..self.values.len())
            .map(|e| {
                let at = self.rows[e] as usize * self.shape.1 + self.columns[e] as usize;
                0.5 * (x[at] - self.values[e]).powi(2)
            })
            .collect();
        let n = losses.len() as f64;
        let weights = |nu: f64| losses.iter().map(move |l| ((l - nu) / level + 1.0).max(0.0) / n);
        let (mut low, mut high) = (-1e6, 1e6);
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            if weights(middle).sum::<f64>() > 1.0 { low = middle } else { high = middle }
        }
        let penalty: f64 = weights(low).map(|y| (n * y - 1.0).powi(2)).sum();
        losses.iter().zip(weights(low)).map(|(l, y)| l * y).sum::<f64>()
            - level / (2.0 * n) * penalty
    }
}

fn solve(problem: &RobustCompletion, method: Method, gap: f64) -> Solution {
    let x_set = problem.x_set().expect("a ball");
    let solve =
        Solve::new(problem, &x_set, problem.y_set()).method(method).gap(gap).iterations(100_000);
    solve.run().expect("a run")
}

#[test]
fn gradients_agree_with_differences_for_every_loss_and_uncertainty_set() {
    let ratings = Ratings::new((7, 6), 2, 60, 0.3, 1);
    let groups: Vec<u32> = (0..60).map(|e| (e * e % 7 % 3) as u32).collect();
    let sets: [Arc<dyn Uncertainty>; 2] =
        [ratings.chi_square(0.7), Arc::new(Groups::new(groups, 0.5).expect("groups"))];
    let losses: [Arc<dyn ResidualLoss>; 2] =
        [Arc::new(Squared), Arc::new(Huber { threshold: 0.8 })];
    for set in &sets {
        for loss in &losses {
            let problem = ratings.problem(loss.clone(), set.clone(), 5.0);
            let mut numbers = Numbers(9);
            let x: Vec<f64> = (0..42).map(|_| 0.3 * numbers.normal()).collect();
            let mut y: Vec<f64> = (0..problem.dim_y()).map(|_| 0.1 + numbers.uniform()).collect();
            let sum: f64 = y.iter().sum();
            y.iter_mut().for_each(|y| *y /= sum);
            let check = check_gradient(&problem, &x, &y).expect("finite numbers");
            assert!(check.worst() < 1e-6, "{loss:?}, {set:?}: {check:?}");
        }
    }
}

#[test]
fn thin_factors_agree_with_whole_matrices_and_with_projections() {
    for (seed, tau) in [(1, 2.0), (2, 6.0), (3, 1000.0)] {
        let ratings = Ratings::new((6, 5), 2, 24, 0.3, seed);
        for level in [10.0, 1.0, 0.1] {
            let problem = ratings.squared(level, tau);
            let thin = solve(&problem, Method::corrective(), 1e-8);
            assert!(
                thin.outcome.status.is_solved(),
                "seed {seed}, level {level}: {:?}",
                thin.outcome
            );
            for method in [Method::certified(), Method::apg()] {
                let whole = solve(&problem, method.clone(), 1e-8);
                let (a, b) = (thin.outcome.certificate, whole.outcome.certificate);
                // for the largest ball, with its optimum inside, rounding ends `certified` at 3e-8
                assert!(b.gap <= 1e-7, "{method}: {:?}", whole.outcome);
                assert!(a.upper >= b.lower && b.upper >= a.lower, "{method}: {a:?} against {b:?}");
            }
            // the upper bound is that of the matrix which the factors stand for
            assert!(thin.x.is_empty());
            let x = thin.form_x().expect("a small matrix");
            let value = ratings.robust_loss(&x, level);
            let upper = thin.outcome.certificate.upper;
            // and charged with rounding, which is estimated here: gradients are taken to be as long as X is wide
            let above = upper - value;
            assert!((0.0..=1e-8).contains(&above), "{upper} is no bound of {value}");
            assert!(problem.x_set().expect("a ball").violation(&x) <= 1e-10 * tau);
        }
    }
}

#[test]
fn the_huber_loss_and_groups_run_on_thin_factors_as_well() {
    let ratings = Ratings::new((8, 9), 2, 70, 0.5, 5);
    let groups: Vec<u32> = (0..70).map(|e| e % 4).collect();
    let sets: [Arc<dyn Uncertainty>; 2] =
        [ratings.chi_square(1.0), Arc::new(Groups::new(groups, 1.0).expect("groups"))];
    for set in sets {
        let problem = ratings.problem(Arc::new(Huber { threshold: 0.5 }), set, 8.0);
        let (thin, whole) = (
            solve(&problem, Method::corrective(), 1e-7),
            solve(&problem, Method::certified(), 1e-7),
        );
        let (a, b) = (thin.outcome.certificate, whole.outcome.certificate);
        assert!(thin.outcome.status.is_solved() && whole.outcome.status.is_solved());
        assert!(a.upper >= b.lower && b.upper >= a.lower, "{a:?} against {b:?}");
    }
}

#[test]
fn a_place_that_is_observed_twice_counts_as_two_observations() {
    let one = Ratings {
        shape: (2, 2),
        rows: vec![0, 1, 1],
        columns: vec![0, 1, 0],
        values: vec![1.0, 3.0, 2.0],
    };
    let mut two = one.clone();
    two.rows.push(1);
    two.columns.push(1);
    two.values.push(0.0);
    let problem = two.squared(1.0, 100.0);
    let solution = solve(&problem, Method::corrective(), 1e-9);
    assert_eq!(solution.y.len(), 4);
    // both claims on one entry cannot be met: with equal weights the best is half way
    let entry = solution.factors.as_ref().expect("factors").entry(1, 1);
    assert!((entry - 1.5).abs() < 1e-3, "{entry}");
    assert!((solution.y[1] - solution.y[3]).abs() < 1e-3);
    let value = two.robust_loss(&solution.form_x().expect("small"), 1.0);
    assert!((value - solution.outcome.certificate.upper).abs() < 1e-9);
}

/// Held-out entries, and what was seen.
fn split(ratings: &Ratings, held: usize) -> (Ratings, Ratings) {
    let cut = ratings.values.len() - held;
    let part = |range: std::ops::Range<usize>| Ratings {
        shape: ratings.shape,
        rows: ratings.rows[range.clone()].to_vec(),
        columns: ratings.columns[range.clone()].to_vec(),
        values: ratings.values[range].to_vec(),
    };
    (part(0..cut), part(cut..ratings.values.len()))
}

#[test]
fn held_out_entries_are_predicted_far_better_than_by_the_mean() {
    let all = Ratings::new((120, 150), 3, 9000, 0.1, 11);
    let (seen, held) = split(&all, 1000);
    let solution = solve(&seen.squared(1.0, 350.0), Method::corrective(), 1e-2);
    let factors: &Factors = solution.factors.as_ref().expect("factors");
    let mean = seen.values.iter().sum::<f64>() / seen.values.len() as f64;
    let (mut missed, mut of_mean) = (0.0, 0.0);
    for e in 0..1000 {
        let predicted = factors.entry(held.rows[e] as usize, held.columns[e] as usize);
        missed += (predicted - held.values[e]).powi(2);
        of_mean += (mean - held.values[e]).powi(2);
    }
    assert!(missed < 0.1 * of_mean, "{missed} against {of_mean}");
}

#[test]
fn runs_go_on_from_checkpoints_with_the_same_bits() {
    let ratings = Ratings::new((40, 30), 2, 500, 0.2, 4);
    let problem = ratings.squared(1.0, 40.0);
    let x_set = problem.x_set().expect("a ball");
    let folder = tempfile::tempdir().expect("a folder");
    let solve =
        Solve::new(&problem, &x_set, problem.y_set()).method(Method::corrective()).gap(1e-10);
    let whole = solve.clone().run().expect("a run");
    assert!(whole.outcome.iterations > 3, "{}", whole.outcome.iterations);
    for at in [0, 1, 2, 3] {
        let file = folder.path().join(format!("{at}"));
        solve.clone().iterations(at).checkpoints(Checkpoints::to(&file)).run().expect("a run");
        let resumed = solve.clone().checkpoints(Checkpoints::resume(&file)).run().expect("a run");
        assert_eq!(resumed, whole, "from iteration {at}");
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let ratings = Ratings::new((300, 400), 3, 30_000, 0.2, 8);
    let problem = ratings.squared(1.0, 700.0);
    let x_set = problem.x_set().expect("a ball");
    let mut rules = StopRules::default();
    rules.iterations = Some(8);
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        let solve = Solve::new(&problem, &x_set, problem.y_set()).method(Method::corrective());
        pool.install(|| solve.rules(rules.clone()).run()).expect("a run")
    };
    let one = on(1);
    for threads in [2, 5] {
        assert_eq!(on(threads), one, "{threads} threads");
    }
}

/// A clock that moves on when it is looked at.
#[derive(Clone, Default)]
struct Ticking(Arc<AtomicU64>);

impl Clock for Ticking {
    fn seconds(&self) -> f64 {
        self.0.fetch_add(1, Relaxed) as f64
    }

    fn shared(&self) -> Option<SharedClock> {
        Some(Arc::new(self.clone()))
    }
}

#[test]
fn time_is_looked_at_within_linear_minimisations_and_restricted_problems() {
    let ratings = Ratings::new((300, 300), 3, 9000, 0.2, 3);
    let problem = ratings.squared(1.0, 700.0);
    let x_set = problem.x_set().expect("a ball");
    for limit in [10.0, 40.0, 100.0, 333.0] {
        let clock = Ticking::default();
        let mut looked = 0;
        let mut count = |_: &TracePoint, state: &dyn Algorithm| {
            looked = state.iterations();
            Flow::Continue
        };
        let solve = Solve::new(&problem, &x_set, problem.y_set()).method(Method::corrective());
        let solution =
            solve.gap(1e-9).seconds(limit, clock.clone()).run_with(&mut count).expect("a run");
        assert_eq!(solution.outcome.status, Status::TimeLimit);
        assert!(looked < 20, "iterations have many looks each, {looked} were done");
        // the next look ends it
        let spent = clock.0.load(Relaxed) as f64;
        assert!(spent <= limit + 60.0, "{spent} looks where {limit} were allowed");
        assert!(solution.outcome.certificate.gap.is_finite());
    }
}

#[test]
fn a_matrix_that_could_not_be_formed_is_worked_on() {
    // 10^10 entries, 80 GB, of which a thousand are known
    let ratings = Ratings::new((100_000, 100_000), 1, 1000, 0.0, 6);
    let problem = ratings.squared(1.0, 1e3);
    let x_set = problem.x_set().expect("a ball");
    let solve = Solve::new(&problem, &x_set, problem.y_set()).method(Method::corrective());
    let solution = solve.iterations(3).run().expect("a run");
    let certificate = solution.outcome.certificate;
    assert!(
        certificate.gap.is_finite()
            && certificate.upper < solution.outcome.trace[0].certificate.upper
    );
    assert!(solution.x.is_empty() && solution.factors.as_ref().expect("factors").rank() > 0);
}

#[test]
fn measurements_of_rank_one_run_on_thin_factors_and_agree_with_whole_matrices() {
    let ((rows, columns), n) = ((12, 10), 60);
    let mut numbers = Numbers(21);
    let a: Vec<f64> = (0..n * rows).map(|_| numbers.normal() / 3.0).collect();
    let b: Vec<f64> = (0..n * columns).map(|_| numbers.normal() / 3.0).collect();
    let values: Vec<f64> = (0..n)
        .map(|i| {
            let first = |v: &[f64], d: usize| v[i * d] - v[i * d + 1];
            first(&a, rows) * first(&b, columns) + 0.1 * numbers.normal()
        })
        .collect();
    let measured = RankOneMeasurements::new(rows, columns, a, b).expect("measurements");
    let set = Arc::new(ChiSquare::new(n, 1.0).expect("a level"));
    let problem = RobustCompletion::new(Arc::new(Squared), set, Box::new(measured), values, 1.5)
        .expect("a problem");
    let x: Vec<f64> = (0..rows * columns).map(|_| 0.1 * numbers.normal()).collect();
    let check = check_gradient(&problem, &x, &vec![1.0 / n as f64; n]).expect("finite numbers");
    assert!(check.worst() < 1e-6, "{check:?}");
    let (thin, whole) =
        (solve(&problem, Method::corrective(), 1e-8), solve(&problem, Method::certified(), 1e-8));
    let (a, b) = (thin.outcome.certificate, whole.outcome.certificate);
    assert!(thin.outcome.status.is_solved() && whole.outcome.status.is_solved());
    assert!(a.upper >= b.lower && b.upper >= a.lower, "{a:?} against {b:?}");
    assert!(RankOneMeasurements::new(2, 2, vec![1.0; 3], vec![1.0; 4]).is_err());
}

#[test]
fn bad_ratings_are_refused_by_name() {
    let good = Ratings::new((4, 3), 1, 9, 0.1, 2);
    let made = |ratings: &Ratings, loss: Arc<dyn ResidualLoss>, tau: f64| {
        let places = (ratings.rows.clone(), ratings.columns.clone());
        let set = Arc::new(ChiSquare::new(9, 1.0).expect("a level"));
        RobustCompletion::of_entries(loss, set, ratings.shape, places, ratings.values.clone(), tau)
            .map(|_| ())
            .map_err(|error| error.to_string())
    };
    assert_eq!(made(&good, Arc::new(Squared), 1.0), Ok(()));
    let mut bad = good.clone();
    bad.values[3] = f64::NAN;
    assert!(made(&bad, Arc::new(Squared), 1.0).is_err_and(|e| e.contains("entry 3 is NaN")));
    let mut bad = good.clone();
    bad.columns[2] = 3;
    assert!(made(&bad, Arc::new(Squared), 1.0).is_err_and(|e| e.contains("there are 3 columns")));
    let mut bad = good.clone();
    bad.values.pop();
    assert!(made(&bad, Arc::new(Squared), 1.0).is_err());
    assert!(made(&good, Arc::new(Squared), -1.0).is_err_and(|e| e.contains("tau")));
    assert!(
        made(&good, Arc::new(Huber { threshold: 0.0 }), 1.0).is_err_and(|e| e.contains("Huber"))
    );
}

#[test]
fn every_kind_of_ratings_is_certified_in_few_oracle_calls() {
    let huber: Arc<dyn ResidualLoss> = Arc::new(Huber { threshold: 0.3 });
    let squared: Arc<dyn ResidualLoss> = Arc::new(Squared);
    // shape, rank, observations, noise, tau relative to the size of the truth, level, loss
    let cases = [
        ("square", (200, 200), 5, 8000, 0.1, 0.8, 1.0, &squared),
        ("wide", (100, 400), 5, 8000, 0.1, 0.8, 1.0, &squared),
        ("tall", (400, 100), 5, 8000, 0.1, 0.8, 1.0, &squared),
        ("high rank", (200, 150), 20, 9000, 0.1, 0.8, 1.0, &squared),
        ("heavy noise", (150, 150), 3, 5000, 3.0, 0.5, 1.0, &squared),
        ("huber", (150, 150), 3, 5000, 0.5, 0.8, 1.0, &huber),
        ("a small ball", (150, 150), 3, 5000, 0.1, 0.05, 1.0, &squared),
        ("a large ball", (150, 150), 3, 5000, 0.1, 3.0, 1.0, &squared),
        ("few observations", (300, 300), 3, 900, 0.1, 0.8, 1.0, &squared),
        ("repeated places", (12, 10), 2, 3000, 0.5, 0.8, 1.0, &squared),
        ("a timid adversary", (150, 150), 3, 5000, 0.1, 0.8, 100.0, &squared),
        ("a bold adversary", (150, 150), 3, 5000, 0.1, 0.8, 0.1, &squared),
    ];
    for (i, (what, shape, rank, n, noise, share, level, loss)) in cases.into_iter().enumerate() {
        let ratings = Ratings::new(shape, rank, n, noise, 31 + i as u64);
        let size = (shape.0 as f64 * shape.1 as f64).sqrt() * rank as f64;
        let problem = ratings.problem(loss.clone(), ratings.chi_square(level), share * size);
        let solution = solve(&problem, Method::corrective(), 1e-3);
        let outcome = &solution.outcome;
        assert!(outcome.status.is_solved(), "{what}: {outcome:?}");
        let counts = outcome.ledger.method + outcome.ledger.certificate;
        assert!(counts.lo_x <= 40, "{what}: {} calls", counts.lo_x);
    }
}

/// A clock that raises a flag when it is looked at for the n-th time.
#[derive(Clone)]
struct Raising {
    looks: Arc<AtomicU64>,
    at: u64,
    flag: Arc<AtomicBool>,
}

impl Clock for Raising {
    fn seconds(&self) -> f64 {
        if self.looks.fetch_add(1, Relaxed) == self.at {
            self.flag.store(true, Relaxed);
        }
        0.0
    }

    fn shared(&self) -> Option<SharedClock> {
        Some(Arc::new(self.clone()))
    }
}

#[test]
fn limits_end_a_run_on_1500_by_1500_matrices_within_a_few_looks() {
    let ratings = Ratings::new((1500, 1500), 3, 60_000, 0.2, 3);
    let problem = ratings.squared(1.0, 2500.0);
    let x_set = problem.x_set().expect("a ball");
    let methods = [(Method::corrective(), [5, 40, 90]), (Method::certified(), [5, 8, 11])];
    for (method, looks) in methods {
        for at in looks {
            let solve = Solve::new(&problem, &x_set, problem.y_set()).method(method.clone());
            let clock = Ticking::default();
            let solution = solve.clone().gap(1e-12).seconds(at as f64, clock.clone()).run();
            let outcome = solution.expect("a run").outcome;
            assert_eq!(outcome.status, Status::TimeLimit, "{method} at {at}");
            assert!(outcome.certificate.gap.is_finite());
            let spent = clock.0.load(Relaxed);
            assert!(spent <= at + 60, "{method}: {spent} looks where {at} were allowed");

            let flag = Arc::new(AtomicBool::new(false));
            let clock = Raising { looks: Arc::default(), at, flag: flag.clone() };
            let solution = solve.gap(1e-12).cancel(flag).seconds(1e9, clock.clone()).run();
            let outcome = solution.expect("a run").outcome;
            assert_eq!(outcome.status, Status::Cancelled, "{method} at {at}");
            let spent = clock.looks.load(Relaxed);
            assert!(spent <= at + 60, "{method}: {spent} looks, raised at {at}");
        }
    }
}

/// Charges for rounding must not grow with the size of the matrix or of its ball: an estimate ends this run at several times the gap.
#[test]
fn rounding_does_not_keep_large_matrices_from_small_gaps() {
    let ratings = Ratings::new((1000, 1000), 5, 50_000, 0.1, 3);
    let problem = ratings.squared(1.0, 4000.0);
    let solution = solve(&problem, Method::corrective(), 1e-4);
    let outcome = solution.outcome;
    assert!(outcome.status.is_solved(), "{}: {:e}", outcome.status, outcome.certificate.gap);
    assert!(outcome.ledger.method.lo_x <= 8, "{}", outcome.ledger.method.lo_x);
}
