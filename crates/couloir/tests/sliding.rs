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
                assert!(excess >= -1e-12, "{name}: the exact prox is not the best, {excess:e}");
                assert!(
                    excess <= report.gap + 1e-12,
                    "{name}: {excess:e} above the gap {report:?}"
                );
                let distance = distance_squared(&out, &exact).sqrt();
                assert!(
                    distance <= (2.0 * eta / beta).sqrt() + 1e-9,
                    "{name}: off by {distance:e}"
                );
                assert!(set.contains(&out, 1e-12), "{name}: outside");
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

impl Diagonal {
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
    for set in [
        Box::new(L2Ball::new(5, 1.0).expect("a ball")) as Box<dyn Domain>,
        Box::new(Simplex::new(6).expect("a simplex")),
        Box::new(BoxSet::cube(5, -1.0, 0.3).expect("a box")),
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
        let best = run(&mut cgs, &mut h, 1e-12).1;
        let mut rounds_seen = 0;
        for digits in 1..=8 {
            let accuracy = 10f64.powi(-digits);
            let (report, value) = run(&mut cgs, &mut h, accuracy);
            assert_eq!(report.state, SlideState::Reached, "{}", set.describe());
            assert!(report.guarantee <= accuracy);
            let error = value - best;
            assert!(error <= report.guarantee + 1e-12, "{}: {error:e}, {report:?}", set.describe());
            assert!(report.rounds >= rounds_seen);
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
    let set = LoSet::new(2, 2.0, vec![0.0; 2], |g, p| {
        let n = g[0].hypot(g[1]).max(1e-300);
        p.copy_from_slice(&[-g[0] / n, -g[1] / n]);
    })
    .expect("a set");
    let disc = L2Ball::new(2, 1.0).expect("a disc");
    let task = SlideTask { r: &[1.0, -2.0], q: &[0.1, 0.2], beta: 0.9, eta: 1e-6, budget: 100_000 };
    let (mut a, mut b) = ([0.0; 2], [0.0; 2]);
    set.oracle().slide(&task, &mut a).expect("a slide");
    disc.oracle().slide(&task, &mut b).expect("a slide");
    assert!(distance_squared(&a, &b) < 1e-20);
}
