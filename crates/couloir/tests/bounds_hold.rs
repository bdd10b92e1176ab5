//! The theorems, by test: the exact primal-dual gap is below the bound at every iteration.

mod common;

use common::{Family, families};
use couloir::domain::{BoxSet, Domain};
use couloir::problem::{ClosureProblem, KnownConstants, QuadraticBilinear, Saddle, SaddleProblem};
use couloir::run::{Algorithm, Flow, Status, StopRules, TracePoint};
use couloir::solver::{Certified, CertifiedSettings, MpcgsConstants, MpcgsSettings, Start};
use couloir::{Block, Inner, Method, Solve};

const ITERATIONS: u64 = 100;

/// What rounding leaves of true gaps, which are sums of differences to the saddle point.
const ROUNDING: f64 = 1e-16;
/// What certificates are charged with, which the bounds of the theorem are not.
const CHARGED: f64 = 1e-13;

/// Runs to the last iteration whatever the gap, and hands every state after the first to `look`.
fn watch(family: &Family, method: Method, mut look: impl FnMut(&TracePoint, &dyn Algorithm)) {
    let mut rules = StopRules::default();
    rules.relative_gap = None;
    rules.iterations = Some(ITERATIONS);
    let mut seen = 0;
    let mut observer = |point: &TracePoint, state: &dyn Algorithm| {
        if point.iteration > 0 {
            look(point, state);
        }
        seen = point.iteration;
        Flow::Continue
    };
    let name = family.name;
    let outcome = Solve::new(&family.problem, &*family.x_set, &*family.y_set)
        .method(method)
        .rules(rules)
        .run_with(&mut observer)
        .unwrap_or_else(|e| panic!("{name}: {e}"))
        .outcome;
    // a run may end before only because rounding leaves nothing to gain
    let floor = outcome.status == Status::NoProgress && outcome.certificate.gap < 1e-12;
    // or because plain slides on a set that is no polytope, of about 1/zeta calls, cannot follow a bound that falls linearly
    let budget = outcome.status == Status::InnerBudget(Block::X) && outcome.certificate.gap < 1e-6;
    assert!(
        seen == ITERATIONS || floor || budget,
        "{name}: {} after {seen} at {:e}",
        outcome.status,
        outcome.certificate.gap
    );
}

fn exact_gap(family: &Family, x: &[f64], y: &[f64]) -> f64 {
    family.problem.exact_gap(&*family.x_set, &*family.y_set, x, y).expect("isotropic curvature")
}

/// Theorem 1. On simplices and l1 balls the inner steps are pairwise ones, with CndG's stopping test.
#[test]
fn the_gap_of_printed_mpcgs_is_below_theorem_1_at_every_iteration() {
    for family in families() {
        for inner in [Inner::Slide, Inner::Exact] {
            let method = Method::new(MpcgsSettings::default().inner(inner));
            let mut count = 0;
            watch(&family, method, |point, state| {
                let (x, y) = state.current();
                let gap = exact_gap(&family, x, y);
                let bound = MpcgsConstants::new(&family.problem, &*family.x_set)
                    .expect("all constants")
                    .bound(point.iteration);
                assert_eq!(point.bounds.schedule, bound);
                assert!(
                    gap <= bound && gap >= -1e-12,
                    "{}, {inner:?}, k = {}: gap {gap:e}, bound {bound:e}",
                    family.name,
                    point.iteration
                );
                count += 1;
            });
            assert_eq!(count, ITERATIONS, "{}", family.name);
        }
    }
}

#[test]
fn the_gap_of_certified_mpcgs_is_below_its_certificate_and_c_and_b() {
    for family in families() {
        let inners = [Inner::Exact, Inner::Slide, Inner::Atoms];
        for (inner, hull_points) in inners.into_iter().flat_map(|i| [(i, 0), (i, 6)]) {
            let mut settings = CertifiedSettings::default().inner(inner);
            settings.hull_points = hull_points;
            watch(&family, Method::new(settings), |point, state| {
                let k = point.iteration;
                let name = family.name;
                let (x, y) = state.best();
                let best = exact_gap(&family, x, y);
                assert!(
                    best <= point.certificate.gap + ROUNDING,
                    "{name}, {inner:?}, {hull_points}, k = {k}: gap {best:e} above its certificate {:e}",
                    point.certificate.gap
                );
                let (c, b) = (point.bounds.minorant, point.bounds.schedule);
                assert!(point.certificate.gap <= c + CHARGED, "{name}, k = {k}: C_k is not used");
                assert!(c <= b + CHARGED, "{name}, {inner:?}, k = {k}: C {c:e} above B {b:e}");
                let (x, y_bar) = state.current();
                let gap = exact_gap(&family, x, y_bar);
                assert!(
                    gap <= c + ROUNDING,
                    "{name}, {inner:?}, k = {k}: gap {gap:e} above C {c:e}"
                );
            });
        }
    }
}

/// Without coupling nothing but the step in x is left of the theorem: `alpha_1 = 3 Lhat_1` and, with k counted from where the weights
/// were started anew, `B_k = 9 D^2 sum_{s<=k} max(0, s Lhat_s - (s-1) Lhat_{s-1})/(k(k+1)(k+2))`.
#[test]
fn the_schedule_of_certified_mpcgs_is_that_of_the_theorem() {
    let (x_set, y_set) =
        (BoxSet::cube(3, -1.0, 2.0).expect("a cube"), BoxSet::cube(2, -1.0, 1.0).expect("a cube"));
    let saddle = Saddle { x: vec![1.9, -0.4, 0.3], y: vec![0.2, -0.1], value: 0.7 };
    // flat in one direction: strong convexity would bring other weights
    let (h, nothing) = (vec![0.0, 2.0, 3.0], vec![0.0; 6]);
    let problem =
        QuadraticBilinear::new(h, vec![1.0; 2], nothing, vec![0.0; 3], vec![0.0; 2], saddle)
            .expect("a problem");
    let mut settings = CertifiedSettings::default().inner(Inner::Exact);
    settings.hull_points = 0;
    let mut solver = Certified::new(Start::new(&problem, &x_set, &y_set), &settings).expect("one");
    let diameter = x_set.diameter();
    // iterations since the weights were started anew, `sum max(0, ..)`, and `s Lhat_s`
    let mut stages = vec![(0.0f64, 0.0f64, 0.0f64)];
    for k in 1..=20 {
        solver.step().expect("a step");
        let after = solver.facts().iter().find(|fact| fact.name == "Lhat").expect("Lhat").value;
        if k == 1 {
            // from the centre at 1/2
            let x = solver.current().0;
            let fits = |lhat: f64| {
                x.iter().zip([(0.0, 1.9), (2.0, -0.4), (3.0, 0.3)]).all(|(x, (h, to))| {
                    let step = 0.5 - h * (0.5 - to) / (3.0 * lhat);
                    (x - step.clamp(-1.0, 2.0)).abs() <= 1e-12
                })
            };
            // after the step Lhat has fallen by half, or not
            assert!(
                fits(after) || fits(2.0 * after),
                "{x:?} is no step of 1/(3 Lhat), Lhat {after}"
            );
        }
        let mut tried = Vec::new();
        let found =
            [*stages.last().expect("a stage"), (0.0, 0.0, 0.0)].into_iter().find_map(|stage| {
                let (j, rises, last) = (stage.0 + 1.0, stage.1, stage.2);
                // after the step Lhat has fallen, or not
                [after, after / (j / (j + 1.0)).min(0.85)].into_iter().find_map(|lhat| {
                    let rises = rises + (j * lhat - last).max(0.0);
                    let theorem = 9.0 * rises * diameter.powi(2) / (j * (j + 1.0) * (j + 2.0));
                    let share = solver.bounds().schedule / theorem;
                    tried.push((j, lhat, share));
                    (1.0 - 1e-12..=1.001).contains(&share).then_some((j, rises, j * lhat))
                })
            });
        stages.push(found.unwrap_or_else(|| panic!("k = {k}: (j, Lhat, B_k/theorem's) {tried:?}")));
    }
    let anew = stages.iter().skip(1).filter(|stage| stage.0 == 1.0).count();
    assert!((1..=6).contains(&anew), "weights were started anew {anew} times in 20 iterations");
}

/// The minorant through `z_k` is taken by its value at `x_k`, less all of the bend between the two. Here a first step runs past the
/// minimiser, into a sharp rise: half of the bend would lift the lower bound above the minimum.
#[test]
fn a_lower_bound_stays_below_a_minimum_that_a_step_has_run_past() {
    // a line of slope 1 that turns up to the left of 0.02
    let (turn, width, rise) = (0.02, 0.004, 22.5);
    let value = move |x: f64| x + rise * width * (((turn - x) / width).exp()).ln_1p();
    let slope = move |x: f64| 1.0 - rise / (1.0 + ((x - turn) / width).exp());
    let problem = ClosureProblem::new(
        1,
        1,
        move |x, y| value(x[0]) - 0.5 * y[0] * y[0],
        move |x, _, out| out[0] = slope(x[0]),
        move |_, y, out| out[0] = -y[0],
    )
    .expect("a problem");
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        *(if slope(middle) < 0.0 { &mut low } else { &mut high }) = middle;
    }
    let least = value(high);
    let (x_set, y_set) =
        (BoxSet::cube(1, 0.0, 1.0).expect("a cube"), BoxSet::cube(1, -1.0, 1.0).expect("a cube"));
    let settings = CertifiedSettings::default().inner(Inner::Exact).first_lhat(0.333);
    let mut start = Start::new(&problem, &x_set, &y_set);
    start.x0 = Some(&[1.0]);
    let mut solver = Certified::new(start, &settings).expect("a solver");
    solver.step().expect("a step");
    // the step has gone all the way, and has gained less than half of what its slope promised
    assert!(value(solver.current().0[0]) > least + 0.4, "{:?}", solver.current());
    for _ in 0..20 {
        solver.evaluate().expect("a look");
        let lower = solver.certificate().lower;
        assert!(lower <= least, "{lower} above {least}");
        solver.step().expect("a step");
    }
    assert!(solver.certificate().lower > least - 0.05, "{:?}", solver.certificate());
}

/// The map of the prox step, `x -> (1-gamma) x_0 + gamma argmin <grad_x f(z, y*(x)), u> + alpha/2 |u - v|^2`,
/// contracts by 1/2 with the printed `alpha`, and with `Lhat` in place of `kappa L`.
#[test]
fn the_prox_map_contracts_by_a_half() {
    let mut worst: f64 = 0.0;
    for family in families() {
        let (p, xs, ys) = (&family.problem, &*family.x_set, &*family.y_set);
        let printed = MpcgsConstants::new(p, xs).expect("all constants");
        let lhat = p.constants().lhat().expect("all constants");
        let mut x_oracle = xs.oracle();
        let mut y_oracle = ys.oracle();
        let n = xs.dim();
        let mut map = |x: &[f64], z: &[f64], v: &[f64], gamma: f64, alpha: f64| -> Vec<f64> {
            // y*(x) by projection: the curvature in y is a multiple of the identity
            let mu = p.constants().mu.expect("mu");
            let mut slope = vec![0.0; ys.dim()];
            let y0 = &p.saddle().y;
            p.grad_y(PreparedImage::plain(x), y0, &mut slope);
            slope.iter_mut().for_each(|g| *g = -*g);
            let mut y = vec![0.0; ys.dim()];
            y_oracle.prox(&slope, y0, mu, &mut y).expect("a projection");
            let mut g = vec![0.0; n];
            p.grad_image(PreparedImage::plain(z), &y, &mut g);
            let mut u = vec![0.0; n];
            x_oracle.prox(&g, v, alpha, &mut u).expect("a projection");
            (0..n).map(|i| (1.0 - gamma) * v[i] + gamma * u[i]).collect()
        };
        // points of X: random mixtures of vertices
        let mut draw = Points::new(xs, 11);
        for k in 1..=20 {
            let gamma = printed.gamma(k);
            for alpha in [printed.alpha(k), 6.0 * lhat / (k as f64 + 1.0)] {
                for _ in 0..10 {
                    let (a, b, z, v) = (draw.next(), draw.next(), draw.next(), draw.next());
                    let (ma, mb) = (map(&a, &z, &v, gamma, alpha), map(&b, &z, &v, gamma, alpha));
                    let ratio = distance(&ma, &mb) / distance(&a, &b);
                    worst = worst.max(ratio);
                    assert!(ratio <= 0.5, "{}: k = {k}, factor {ratio}", family.name);
                }
            }
        }
    }
    assert!(worst > 0.02, "the maps hardly move: {worst} proves nothing");
}

use couloir::problem::PreparedImage;
use rand::{RngExt, SeedableRng};

struct Points<'a> {
    set: &'a dyn couloir::domain::Domain,
    rng: rand_pcg::Pcg64Mcg,
}

impl<'a> Points<'a> {
    fn new(set: &'a dyn couloir::domain::Domain, seed: u64) -> Self {
        Points { set, rng: rand_pcg::Pcg64Mcg::seed_from_u64(seed) }
    }

    fn next(&mut self) -> Vec<f64> {
        let n = self.set.dim();
        let mut point = vec![0.0; n];
        self.set.center(&mut point);
        for _ in 0..3 {
            let g: Vec<f64> = (0..n).map(|_| self.rng.random_range(-1.0..1.0)).collect();
            let mut vertex = vec![0.0; n];
            self.set.oracle().lmo(&g, &mut vertex).expect("a vertex");
            let t: f64 = self.rng.random();
            (0..n).for_each(|i| point[i] += t * (vertex[i] - point[i]));
        }
        point
    }
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    couloir::linalg::distance_squared(a, b).sqrt()
}

/// The printed schedule, against the paper's formulas evaluated by hand for L = 3, kappa = 2, D = 5.
#[test]
fn the_printed_schedule_equals_the_formulas() {
    let c = MpcgsConstants { l: 3.0, kappa: 2.0, diameter: 5.0 };
    let close = |a: f64, b: f64| assert!((a - b).abs() <= 1e-12 * b.abs(), "{a} is not {b}");
    close(c.gamma(1), 1.0);
    close(c.gamma(10), 0.25);
    close(c.alpha(1), 18.0);
    close(c.alpha(11), 3.0);
    close(c.zeta(1), 75.0 / 768.0);
    close(c.zeta(4), 75.0 / 7680.0);
    close(c.eps(1), 25.0);
    close(c.eps(3), 2.5);
    close(c.eps_cgs(3), 2.5 / 128.0);
    // k = 1: 4 sqrt(2*2*3*(25/128)/18^2 + 2*(75/768)/18)
    close(c.eps_mp(1), 4.0 * (12.0 * 25.0 / 128.0 / 324.0 + 150.0 / 768.0 / 18.0_f64).sqrt());
    assert_eq!(c.rounds(1), (20.0 / c.eps_mp(1)).log2().ceil() as u64);
    assert_eq!(c.rounds(1), 6);
    close(c.bound(1), 275.0);
    close(c.bound(9), 15.0);
}
