//! CndG and CGS: against closed forms, and their theorems.

use couloir::block::{Cgs, CgsGoal, SmoothFunction};
use couloir::domain::{
    BoxSet, Cndg, Domain, L1Ball, L2Ball, LoSet, NuclearBall, Simplex, SlideState, SlideTask,
    Sliding, cndg,
};
use couloir::{Result, linalg::distance_squared};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

fn sets() -> Vec<Box<dyn Domain>> {
    vec![
        Box::new(Simplex::new(9).expect("a simplex")),
        Box::new(L1Ball::new(8, 1.3).expect("an l1 ball")),
        Box::new(L2Ball::new(7, 0.9).expect("a ball")),
        Box::new(BoxSet::cube(6, -0.5, 1.0).expect("a box")),
        Box::new(NuclearBall::new(3, 9, 1.1).expect("a nuclear ball")),
        Box::new(NuclearBall::new(4, 5, 1.1).expect("a nuclear ball")),
    ]
}

fn random(n: usize, rng: &mut Pcg64Mcg) -> Vec<f64> {
    (0..n).map(|_| rng.random_range(-1.0..1.0)).collect()
}

/// `<r, u> + beta/2 |u - q|^2`.
fn objective(r: &[f64], q: &[f64], beta: f64, u: &[f64]) -> f64 {
    couloir::linalg::dot(r, u) + 0.5 * beta * distance_squared(u, q)
}

#[test]
fn every_way_to_slide_ends_within_its_gap_of_the_exact_prox() {
    let mut rng = Pcg64Mcg::seed_from_u64(3);
    for set in sets() {
        for beta in [0.3, 3.0] {
            let n = set.dim();
            let r = random(n, &mut rng);
            let mut q = vec![0.0; n];
            set.oracle().lmo(&random(n, &mut rng), &mut q).expect("a vertex");
            let mut exact = vec![0.0; n];
            set.oracle().prox(&r, &q, beta, &mut exact).expect("a prox");
            let best = objective(&r, &q, beta, &exact);
            let eta = 1e-5;
            let task = SlideTask { r: &r, q: &q, beta, eta, budget: 3_000_000 };
            for plain in [true, false] {
                let mut oracle = set.oracle();
                let mut out = vec![0.0; n];
                let report = if plain {
                    cndg(&mut *oracle, &task, &mut Cndg::new(n), &mut out)
                } else {
                    oracle.slide(&task, &mut out)
                }
                .expect("a slide");
                let name = set.describe();
                assert_eq!(report.state, SlideState::Reached, "{name}");
                assert!(report.gap <= eta && report.lo_calls >= 1, "{name}: {report:?}");
                let excess = objective(&r, &q, beta, &out) - best;
                assert!(excess >= -1e-15, "{name}: the exact prox is not the best, {excess:e}");
                assert!(excess <= report.gap, "{name}: {excess:e} above the gap {report:?}");
                let distance = distance_squared(&out, &exact).sqrt();
                assert!(
                    distance <= (2.0 * report.gap / beta).sqrt() + 1e-15,
                    "{name}: off by {distance:e}"
                );
                assert!(set.contains(&out, 1e-14), "{name}: outside");
            }
        }
    }
}

#[test]
fn the_sets_slide_in_the_way_that_suits_them() {
    let ways: Vec<Sliding> = sets().iter().map(|set| set.oracle().sliding()).collect();
    use Sliding::{Compressed, Coordinatewise, Pairwise, Plain};
    assert_eq!(ways, [Pairwise, Pairwise, Plain, Coordinatewise, Compressed, Plain]);
}

/// The listing of the paper, written out once more for the unit disc and run beside the library.
#[test]
fn cndg_is_the_printed_procedure_step_by_step() {
    let (r, q, beta): ([f64; 2], [f64; 2], f64) = ([0.4, -0.3], [0.2, 0.1], 1.7);
    let set = L2Ball::new(2, 1.0).expect("a disc");
    let mut point = q;
    for steps in 1..30u64 {
        let g = [r[0] + beta * (point[0] - q[0]), r[1] + beta * (point[1] - q[1])];
        let length = g[0].hypot(g[1]);
        let p = [-g[0] / length, -g[1] / length];
        let tau = g[0] * (point[0] - p[0]) + g[1] * (point[1] - p[1]);
        let task = SlideTask { r: &r, q: &q, beta, eta: tau * (1.0 + 1e-9), budget: 1000 };
        if tau < 1e-7 {
            assert!(steps > 5, "over after {steps} steps: this instance shows too little");
            break;
        }
        let mut out = [0.0; 2];
        let report = cndg(&mut *set.oracle(), &task, &mut Cndg::new(2), &mut out).expect("a slide");
        if report.lo_calls == steps {
            assert!((report.gap - tau).abs() <= 1e-14, "step {steps}");
            assert!(distance_squared(&out, &point).sqrt() <= 1e-12, "step {steps}");
        } else {
            // an earlier point had met this gap already
            assert!(report.lo_calls < steps, "{} calls at step {steps}", report.lo_calls);
        }
        let d2 = (point[0] - p[0]).powi(2) + (point[1] - p[1]).powi(2);
        let theta = (tau / (beta * d2)).min(1.0);
        point = [(1.0 - theta) * point[0] + theta * p[0], (1.0 - theta) * point[1] + theta * p[1]];
    }
}

#[test]
fn a_budget_ends_the_slide_and_is_reported() {
    for set in sets() {
        let n = set.dim();
        let r: Vec<f64> = (0..n).map(|i| 0.1 * (i as f64 + 0.5).sin()).collect();
        let mut q = vec![0.0; n];
        set.center(&mut q);
        let task = SlideTask { r: &r, q: &q, beta: 0.7, eta: 0.0, budget: 1 };
        let mut out = vec![0.0; n];
        let report = set.oracle().slide(&task, &mut out).expect("a slide");
        assert_eq!(
            (report.state, report.lo_calls),
            (SlideState::OutOfBudget, 1),
            "{}",
            set.describe()
        );
        assert!(set.contains(&out, 1e-12));
    }
}

#[test]
fn a_gap_of_zero_ends_at_the_rounding_floor_or_is_reached() {
    for set in sets().into_iter().take(2) {
        let n = set.dim();
        let r: Vec<f64> = (0..n).map(|i| 0.1 * (i as f64 + 0.5).sin()).collect();
        let mut q = vec![0.0; n];
        set.center(&mut q);
        let task = SlideTask { r: &r, q: &q, beta: 0.7, eta: 0.0, budget: 10_000_000 };
        let mut out = vec![0.0; n];
        let report = set.oracle().slide(&task, &mut out).expect("a slide");
        assert_ne!(report.state, SlideState::OutOfBudget, "{}", set.describe());
        assert!(report.gap <= 1e-13, "{}: {report:?}", set.describe());
    }
}

/// `1/2 sum_i h_i (u_i - c_i)^2`.
struct Diagonal {
    h: Vec<f64>,
    c: Vec<f64>,
}

/// A set in numbers of the tests' own.
enum Shape {
    Ball(f64),
    Simplex,
    Box(f64, f64),
}

impl Shape {
    /// The least value of `<g, .>`.
    fn least(&self, g: &[f64]) -> f64 {
        match self {
            Shape::Ball(radius) => -radius * g.iter().map(|g| g * g).sum::<f64>().sqrt(),
            Shape::Simplex => g.iter().copied().fold(f64::INFINITY, f64::min),
            Shape::Box(lower, upper) => g.iter().map(|g| (lower * g).min(upper * g)).sum(),
        }
    }
}

impl Diagonal {
    /// The minimiser over a set, by bisection of the multiplier `t` of its one constraint.
    fn minimiser(&self, shape: &Shape) -> Vec<f64> {
        let at = |t: f64| -> Vec<f64> {
            let each = self.h.iter().zip(&self.c);
            each.map(|(h, c)| match shape {
                Shape::Ball(_) => h * c / (h + t),
                Shape::Simplex => (c - t / h).max(0.0),
                Shape::Box(lower, upper) => c.clamp(*lower, *upper),
            })
            .collect()
        };
        let too_large = |u: &[f64]| match shape {
            Shape::Ball(radius) => u.iter().map(|u| u * u).sum::<f64>() > radius * radius,
            Shape::Simplex => u.iter().sum::<f64>() > 1.0,
            Shape::Box(..) => false,
        };
        let least = if matches!(shape, Shape::Simplex) { -100.0 } else { 0.0 };
        let (mut low, mut high) = (least, 100.0);
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            *(if too_large(&at(middle)) { &mut low } else { &mut high }) = middle;
        }
        at(high)
    }

    fn value(&self, u: &[f64]) -> f64 {
        (0..u.len()).map(|i| 0.5 * self.h[i] * (u[i] - self.c[i]).powi(2)).sum()
    }
}

impl SmoothFunction for Diagonal {
    fn gradient(&mut self, w: &[f64], out: &mut [f64]) -> Result<()> {
        (0..w.len()).for_each(|i| out[i] = self.h[i] * (w[i] - self.c[i]));
        Ok(())
    }
}

#[test]
fn cgs_keeps_its_guarantee_of_halving_in_every_round() {
    let mut rng = Pcg64Mcg::seed_from_u64(5);
    for (set, shape) in [
        (Box::new(L2Ball::new(5, 1.0).expect("a ball")) as Box<dyn Domain>, Shape::Ball(1.0)),
        (Box::new(Simplex::new(6).expect("a simplex")), Shape::Simplex),
        (Box::new(BoxSet::cube(5, -1.0, 0.3).expect("a box")), Shape::Box(-1.0, 0.3)),
    ] {
        let n = set.dim();
        let mut h = Diagonal {
            h: (0..n).map(|_| rng.random_range(1.0..9.0)).collect(),
            c: random(n, &mut rng),
        };
        (h.h[0], h.h[1]) = (1.0, 9.0);
        let mut cgs = Cgs::new(n, 9.0, 1.0);
        let run = |cgs: &mut Cgs, h: &mut Diagonal, accuracy: f64| {
            let mut x = vec![0.0; n];
            set.center(&mut x);
            let goal = CgsGoal { accuracy, delta_0: None, budget: 50_000_000 };
            let report = cgs.minimise(h, &mut *set.oracle(), goal, &mut x).expect("CGS");
            (report, h.value(&x))
        };
        let best = h.value(&h.minimiser(&shape));
        let (mut start, mut slope) = (vec![0.0; n], vec![0.0; n]);
        set.center(&mut start);
        h.gradient(&start, &mut slope).expect("a gradient");
        let first = couloir::linalg::dot(&slope, &start) - shape.least(&slope);
        let mut rounds_seen = 0;
        for digits in 1..=8 {
            let accuracy = 10f64.powi(-digits);
            let (report, value) = run(&mut cgs, &mut h, accuracy);
            assert_eq!(report.state, SlideState::Reached, "{}", set.describe());
            assert!(report.guarantee <= accuracy);
            let error = value - best;
            let name = set.describe();
            assert!(error <= report.guarantee, "{name}: {error:e}, {report:?}");
            // a point of the set is no better than the minimiser, but for rounding in their values
            assert!(error >= -1e-14, "{name}: {error:e}");
            // delta_0, the FW-gap at the start, is halved in every round
            assert_eq!(
                report.rounds,
                (first / accuracy).log2().ceil() as u64,
                "{name}: {report:?}"
            );
            rounds_seen = report.rounds;
        }
        assert!(rounds_seen >= 20, "only {rounds_seen} rounds");
    }
}

#[test]
fn the_constants_of_cgs_are_the_printed_ones() {
    let cgs = Cgs::new(1, 6.0, 1.0);
    assert_eq!(cgs.steps_per_round(), 12); // sqrt(24 * 6) = 12
    // 8 * 6 * 0.5 * 2^-3 / (1 * 12 * 2)
    assert!((cgs.eta(0.5, 3, 2) - 0.125).abs() < 1e-15);
}

#[test]
fn a_users_own_set_slides_as_printed() {
    let mut calls = std::sync::atomic::AtomicU64::new(0);
    let (r, q, beta, eta): ([f64; 2], [f64; 2], f64, f64) = ([1.0, -2.0], [0.1, 0.2], 0.9, 1e-4);
    let disc = |g: [f64; 2]| {
        let n = g[0].hypot(g[1]);
        [-g[0] / n, -g[1] / n]
    };
    let set = LoSet::new(2, 2.0, vec![0.0; 2], |g, p| {
        calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        p.copy_from_slice(&disc([g[0], g[1]]));
    })
    .expect("a set");
    let task = SlideTask { r: &r, q: &q, beta, eta, budget: 100_000 };
    let mut out = [0.0; 2];
    let report = set.oracle().slide(&task, &mut out).expect("a slide");
    drop(set);
    // the listing of the paper
    let (mut point, mut steps) = (q, 0);
    let tau = loop {
        let g = [r[0] + beta * (point[0] - q[0]), r[1] + beta * (point[1] - q[1])];
        let p = disc(g);
        let d = [point[0] - p[0], point[1] - p[1]];
        let tau = g[0] * d[0] + g[1] * d[1];
        steps += 1;
        if tau <= eta {
            break tau;
        }
        let theta = (tau / (beta * (d[0] * d[0] + d[1] * d[1]))).min(1.0);
        point = [(1.0 - theta) * point[0] + theta * p[0], (1.0 - theta) * point[1] + theta * p[1]];
    };
    assert!(steps > 3, "{steps} steps show nothing");
    assert_eq!((report.lo_calls, *calls.get_mut()), (steps, steps));
    assert!((report.gap - tau).abs() <= 1e-12 && distance_squared(&out, &point).sqrt() <= 1e-12);
}
