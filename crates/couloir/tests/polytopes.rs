//! Simplex, l1 ball and box: every oracle against brute force, for any input.
#![allow(clippy::unwrap_used)]

use couloir::Error;
use couloir::domain::{
    BoxSet, Cndg, Domain, L1Ball, Simplex, SlideReport, SlideState, SlideTask, Sliding, cndg,
};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};

/// One of the three sets, with all of its vertices.
#[derive(Debug)]
enum Set {
    Simplex(Simplex),
    L1(L1Ball),
    Box(BoxSet),
}

impl Set {
    fn domain(&self) -> &dyn Domain {
        match self {
            Set::Simplex(s) => s,
            Set::L1(s) => s,
            Set::Box(s) => s,
        }
    }

    fn dim(&self) -> usize {
        self.domain().dim()
    }

    /// The size of the points in it.
    fn size(&self) -> f64 {
        match self {
            Set::Simplex(s) => s.total(),
            Set::L1(s) => s.radius(),
            Set::Box(s) => s.lower().iter().chain(s.upper()).fold(0.0, |m, v| m.max(v.abs())),
        }
    }

    fn vertices(&self) -> Vec<Vec<f64>> {
        let n = self.dim();
        let unit = |k: usize, value: f64| {
            let mut v = vec![0.0; n];
            v[k] = value;
            v
        };
        match self {
            Set::Simplex(s) => (0..n).map(|k| unit(k, s.total())).collect(),
            Set::L1(s) => {
                (0..n).flat_map(|k| [unit(k, s.radius()), unit(k, -s.radius())]).collect()
            }
            Set::Box(s) => (0..1usize << n)
                .map(|bits| {
                    (0..n)
                        .map(|i| if bits >> i & 1 == 1 { s.upper()[i] } else { s.lower()[i] })
                        .collect()
                })
                .collect(),
        }
    }

    /// A point inside or on the boundary, some entries of it zero or at a bound.
    fn point(&self, seed: u64) -> Vec<f64> {
        let mut random = rand_pcg::Pcg64::seed_from_u64(seed);
        let mut weights: Vec<f64> = (0..self.dim())
            .map(|_| if random.random_bool(0.4) { 0.0 } else { random.random_range(0.01..1.0) })
            .collect();
        let sum: f64 = weights.iter().sum();
        match self {
            Set::Simplex(s) => {
                if sum == 0.0 {
                    weights[0] = s.total();
                } else {
                    weights.iter_mut().for_each(|w| *w *= s.total() / sum);
                }
            }
            Set::L1(s) => {
                let inside = if random.random_bool(0.5) { 1.0 } else { 0.7 };
                if sum > 0.0 {
                    weights.iter_mut().for_each(|w| *w *= inside * s.radius() / sum);
                }
                for w in &mut weights {
                    *w = if random.random_bool(0.5) { -*w } else { *w };
                }
            }
            Set::Box(s) => {
                for (i, w) in weights.iter_mut().enumerate() {
                    let (lo, hi) = (s.lower()[i], s.upper()[i]);
                    let up = random.random_bool(0.2);
                    *w = if up { hi } else { (lo + *w * (hi - lo)).min(hi) };
                }
            }
        }
        weights
    }
}

fn any_set() -> impl Strategy<Value = Set> {
    let size = prop_oneof![Just(1.0), 1e-3..1e3f64];
    let interval = (-5.0..5.0f64, prop_oneof![Just(0.0), 0.1..4.0f64]);
    prop_oneof![
        (1usize..9, size.clone()).prop_map(|(n, t)| Set::Simplex(Simplex::scaled(n, t).unwrap())),
        (1usize..9, size).prop_map(|(n, r)| Set::L1(L1Ball::new(n, r).unwrap())),
        prop::collection::vec(interval, 1..7).prop_map(|sides| {
            let (lower, width): (Vec<f64>, Vec<f64>) = sides.into_iter().unzip();
            let upper = lower.iter().zip(width).map(|(l, w)| l + w).collect();
            Set::Box(BoxSet::new(lower, upper).unwrap())
        }),
    ]
}

/// Numbers of everyday size, with ties.
fn plain() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(1.0), Just(-1.0), -10.0..10.0f64]
}

/// Numbers of any size that does not overflow when squared.
fn wild() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(0.0),
        -1.0..1.0f64,
        (-1.0..1.0f64, -60i32..60).prop_map(|(m, e)| m * 10f64.powi(e)),
        (0.0..1.0f64).prop_map(|d| 1e12 + d),
    ]
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn slide(set: &Set, r: &[f64], q: &[f64], beta: f64, eta: f64) -> (Vec<f64>, SlideReport) {
    let mut u = vec![f64::NAN; q.len()];
    let task = SlideTask { r, q, beta, eta, budget: u64::MAX };
    let report = set.domain().oracle().slide(&task, &mut u).unwrap();
    (u, report)
}

/// `max over w of <r + beta (u - q), u - w>`, over the vertices.
fn gap(set: &Set, r: &[f64], q: &[f64], beta: f64, u: &[f64]) -> f64 {
    let g: Vec<f64> = (0..u.len()).map(|i| r[i] + beta * (u[i] - q[i])).collect();
    set.vertices()
        .iter()
        .map(|v| (0..u.len()).map(|i| g[i] * (u[i] - v[i])).sum::<f64>())
        .fold(0.0, f64::max)
}

fn close(a: &[f64], b: &[f64], tol: f64) -> bool {
    a.iter().zip(b).all(|(a, b)| (a - b).abs() <= tol)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn linear_minima_are_those_of_the_vertices(
        set in any_set(), g in prop::collection::vec(plain(), 9)
    ) {
        let g = &g[..set.dim()];
        let mut p = vec![f64::NAN; set.dim()];
        let minimum = set.domain().oracle().lmo(g, &mut p).unwrap();
        let best = set.vertices().iter().map(|v| dot(g, v)).fold(f64::INFINITY, f64::min);
        let tol = 1e-12 * (1.0 + best.abs());
        prop_assert!((minimum.value - best).abs() <= tol);
        prop_assert!((dot(g, &p) - best).abs() <= tol);
        prop_assert!(minimum.lower <= minimum.value);
        prop_assert!(set.vertices().contains(&p));
    }

    #[test]
    fn the_diameter_is_the_largest_distance_of_two_vertices(set in any_set()) {
        let vertices = set.vertices();
        let mut largest = 0.0f64;
        for v in &vertices {
            for w in &vertices {
                largest = largest.max(v.iter().zip(w).map(|(v, w)| (v - w).powi(2)).sum::<f64>());
            }
        }
        let diameter = set.domain().diameter();
        prop_assert!((diameter - largest.sqrt()).abs() <= 1e-12 * (1.0 + diameter));
    }

    #[test]
    fn the_prox_closes_the_gap(
        set in any_set(),
        g in prop::collection::vec(plain(), 9),
        q in prop::collection::vec(plain(), 9),
        beta in 1e-3..1e3f64,
    ) {
        let (g, q) = (&g[..set.dim()], &q[..set.dim()]);
        let mut u = vec![f64::NAN; set.dim()];
        let mut oracle = set.domain().oracle();
        let bound = oracle.prox(g, q, beta, &mut u).unwrap();
        prop_assert!(set.domain().violation(&u) <= 1e-15 * set.size());
        let parts = 10.0 + beta * (10.0 + set.size());
        let tol = 1e-13 * parts * set.size() * set.dim() as f64;
        prop_assert!(gap(&set, g, q, beta, &u) <= tol);
        prop_assert!((0.0..=tol).contains(&bound), "bound {bound}");
    }

    #[test]
    fn projecting_twice_is_projecting_once(
        set in any_set(), q in prop::collection::vec(wild(), 9)
    ) {
        let (q, zero) = (&q[..set.dim()], vec![0.0; set.dim()]);
        let (mut once, mut twice) = (zero.clone(), zero.clone());
        let mut oracle = set.domain().oracle();
        oracle.prox(&zero, q, 1.0, &mut once).unwrap();
        oracle.prox(&zero, &once, 1.0, &mut twice).unwrap();
        prop_assert!(close(&once, &twice, 4.0 * f64::EPSILON * set.size()), "{once:?} {twice:?}");
    }

    #[test]
    fn sliding_ends_at_the_prox(
        set in any_set(),
        r in prop::collection::vec(plain(), 9),
        seed in any::<u64>(),
        beta in 1e-2..1e3f64,
    ) {
        let (r, q) = (&r[..set.dim()], set.point(seed));
        let mut exact = vec![f64::NAN; set.dim()];
        set.domain().oracle().prox(r, &q, beta, &mut exact).unwrap();
        let eta = 1e-18 * beta * set.size().powi(2);
        let (u, report) = slide(&set, r, &q, beta, eta);
        // |u - u*|^2 <= gap / beta, down to the rounding of r / beta.
        let tol = 1e-8 * set.size() + 1e-12 * 10.0 / beta;
        prop_assert!(close(&u, &exact, tol), "{u:?} {exact:?} {report:?}");
        prop_assert!(report.lo_calls < 100_000, "{report:?}");
        prop_assert!(set.domain().contains(&u, 1e-14 * set.size()));
        prop_assert!(report.state == SlideState::RoundingFloor || report.gap <= eta);
    }

    #[test]
    fn sliding_ends_where_plain_cndg_ends(
        set in any_set(),
        r in prop::collection::vec(plain(), 9),
        seed in any::<u64>(),
    ) {
        let (r, q) = (&r[..set.dim()], set.point(seed));
        let beta = 10.0 / set.size();
        let eta = 1e-3 * set.size();
        let mut plain = vec![0.0; set.dim()];
        let task = SlideTask { r, q: &q, beta, eta, budget: 100_000 };
        let mut scratch = Cndg::new(set.dim());
        let long =
            cndg(&mut *set.domain().oracle(), &task, &mut scratch, &mut plain).unwrap();
        let (u, report) = slide(&set, r, &q, beta, eta);
        prop_assert_eq!(long.state, SlideState::Reached);
        prop_assert_eq!(report.state, SlideState::Reached);
        let distance: f64 = u.iter().zip(&plain).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
        prop_assert!(distance <= 2.0 * (eta / beta).sqrt());
    }

    #[test]
    fn the_reported_gap_is_the_gap(
        set in any_set(),
        r in prop::collection::vec(plain(), 9),
        seed in any::<u64>(),
        beta in 1e-2..1e2f64,
        budget in 0u64..30,
    ) {
        let (r, q) = (&r[..set.dim()], set.point(seed));
        let mut u = vec![f64::NAN; set.dim()];
        let task = SlideTask { r, q: &q, beta, eta: 1e-6, budget };
        let report = set.domain().oracle().slide(&task, &mut u).unwrap();
        prop_assert!(report.lo_calls <= budget);
        prop_assert!(set.domain().contains(&u, 1e-14 * set.size()));
        if budget == 0 {
            prop_assert_eq!(report.gap, f64::INFINITY);
        } else {
            let truth = gap(&set, r, &q, beta, &u);
            let parts = 10.0 + beta * (10.0 + set.size());
            let tol = 1e-13 * parts * set.size() * set.dim() as f64;
            prop_assert!((report.gap - truth).abs() <= tol, "{} {truth}", report.gap);
        }
    }

    #[test]
    fn any_input_gives_a_point_of_the_set_and_ends(
        set in any_set(),
        r in prop::collection::vec(wild(), 9),
        q in prop::collection::vec(wild(), 9),
        log_beta in -60i32..60,
    ) {
        let (r, q, beta) = (&r[..set.dim()], &q[..set.dim()], 10f64.powi(log_beta));
        let (u, report) = slide(&set, r, q, beta, 0.0);
        prop_assert!(set.domain().violation(&u) <= 1e-14 * set.size(), "{u:?}");
        prop_assert!(report.lo_calls < 100_000, "{report:?}");
        prop_assert!(report.state != SlideState::OutOfBudget);
        let mut p = vec![f64::NAN; set.dim()];
        let bound = set.domain().oracle().prox(r, q, beta, &mut p).unwrap();
        prop_assert!(set.domain().violation(&p) <= 1e-14 * set.size(), "{p:?}");
        prop_assert!(bound >= 0.0);
    }

    #[test]
    fn prox_and_slide_agree_for_wild_input(
        set in any_set(),
        r in prop::collection::vec(wild(), 9),
        seed in any::<u64>(),
        log_beta in -30i32..30,
    ) {
        let (r, q, beta) = (&r[..set.dim()], set.point(seed), 10f64.powi(log_beta));
        let (u, report) = slide(&set, r, &q, beta, 0.0);
        let mut p = vec![f64::NAN; set.dim()];
        let bound = set.domain().oracle().prox(r, &q, beta, &mut p).unwrap();
        // Both minimise: beta/2 |u - p|^2 is below the sum of what the two leave.
        let distance_squared: f64 = u.iter().zip(&p).map(|(a, b)| (a - b).powi(2)).sum();
        let rounding = 1e-11 * set.size() * set.dim() as f64;
        let left = (2.0 * (report.gap.abs() + bound) / beta).sqrt();
        prop_assert!(
            distance_squared.sqrt() <= left + rounding,
            "{u:?} {p:?} {report:?} {bound:e}"
        );
    }

    #[test]
    fn away_vertices_are_the_worst_of_the_face_and_the_pairwise_step_ends_at_its_boundary(
        set in any_set(), g in prop::collection::vec(plain(), 9), seed in any::<u64>()
    ) {
        let (g, u) = (&g[..set.dim()], set.point(seed));
        let domain = set.domain();
        let mut oracle = domain.oracle();
        let (mut a, mut p) = (vec![f64::NAN; set.dim()], vec![f64::NAN; set.dim()]);
        let value = oracle.away(g, &u, &mut a).unwrap();
        prop_assert!((value - dot(g, &a)).abs() <= 1e-12 * (1.0 + value.abs()));
        // v is a vertex of u's face when u can move away from it.
        let size = set.size();
        for v in set.vertices() {
            let beyond: Vec<f64> = u.iter().zip(&v).map(|(u, v)| u + 1e-6 * (u - v)).collect();
            let on_face = domain.violation(&beyond) <= 1e-9 * size;
            prop_assert!(!on_face || dot(g, &v) <= value + 1e-12 * (1.0 + value.abs()));
            prop_assert!(on_face || v != a, "away vertex {a:?} is not on the face of {u:?}");
        }

        oracle.lmo(g, &mut p).unwrap();
        let step = oracle.max_pairwise_step(&u, &p, &a).unwrap();
        let after = |s: f64| -> Vec<f64> {
            (0..u.len()).map(|i| u[i] + s * (p[i] - a[i])).collect()
        };
        if p == a {
            prop_assert_eq!(step, f64::INFINITY);
        } else {
            prop_assert!(step > 0.0 && step.is_finite());
            prop_assert!(domain.violation(&after(step)) <= 1e-14 * size);
            prop_assert!(domain.violation(&after(step + 1e-6)) > 1e-9 * size);
        }
    }
}

/// r such that the minimum has full support: `|r_i - r_j| < beta/n` leaves every entry positive.
fn dense_task(n: usize) -> (Vec<f64>, Vec<f64>) {
    let mut random = rand_pcg::Pcg64::seed_from_u64(7);
    let r = (0..n).map(|_| random.random_range(0.0..0.9 / n as f64)).collect();
    (r, vec![1.0 / n as f64; n])
}

#[test]
fn a_dense_minimum_over_16_000_vertices_is_reached_to_1e_10_of_the_first_gap() {
    let n = 16_000;
    let simplex = Simplex::new(n).unwrap();
    let (r, q) = dense_task(n);
    let mut oracle = simplex.oracle();
    assert_eq!(oracle.sliding(), Sliding::Pairwise);
    let mut u = vec![0.0; n];
    let mut task = SlideTask { r: &r, q: &q, beta: 1.0, eta: 0.0, budget: 1 };
    let first = oracle.slide(&task, &mut u).unwrap().gap;
    (task.eta, task.budget) = (1e-10 * first, u64::MAX);
    let report = oracle.slide(&task, &mut u).unwrap();
    assert_eq!(report.state, SlideState::Reached);
    assert!(report.gap <= 1e-10 * first);
    assert!(u.iter().all(|&u| u > 0.0));
    // With all sites in use a step divides V = |g - mean|^2 by at least 1/(1 - 2/n): it takes
    // (max - min)^2 / 2 from V <= n (max - min)^2 / 4. The gap is at most max - min <= sqrt(2 V), and
    // 2 V <= n (max - min)^2 / 2 at first, so n/2 ln(1e20 n) steps are enough up to the ratio of
    // max - min to the first gap, here about 2.
    let bound = 0.5 * n as f64 * (1e20 * n as f64 * 4.0).ln();
    assert!((report.lo_calls as f64) < bound, "{} calls, bound {bound}", report.lo_calls);

    let mut exact = vec![0.0; n];
    oracle.prox(&r, &q, 1.0, &mut exact).unwrap();
    assert!(close(&u, &exact, 1e-6 / n as f64));
}

#[test]
fn with_eta_zero_a_slide_ends_at_the_rounding_floor() {
    let n = 2_000;
    let simplex = Simplex::new(n).unwrap();
    let ball = L1Ball::new(n, 3.0).unwrap();
    let (dense, uniform) = dense_task(n);
    let spread: Vec<f64> = (0..n).map(|i| ((i * 7919) % n) as f64).collect();
    let mut vertex = vec![0.0; n];
    vertex[3] = 1.0;
    for set in [&simplex as &dyn Domain, &ball] {
        for r in [&dense, &spread] {
            for q in [&uniform, &vertex] {
                for beta in [1e-8, 1.0, 1e3, 1e12] {
                    let mut u = vec![0.0; n];
                    let task = SlideTask { r, q, beta, eta: 0.0, budget: u64::MAX };
                    let report = set.oracle().slide(&task, &mut u).unwrap();
                    assert!(report.lo_calls < 60 * n as u64, "{report:?} beta {beta}");
                    assert!(set.contains(&u, 1e-14), "{}", set.violation(&u));
                    let size = beta + n as f64;
                    assert!(report.gap <= 1e-12 * size, "{report:?} beta {beta}");
                }
            }
        }
    }
}

#[test]
fn a_common_part_of_r_does_not_spoil_the_slide_or_the_prox() {
    // Exact in binary: 2^40 + k/64.
    let r: Vec<f64> = [5.0, 1.0, 3.0, 64.0].map(|k| 2f64.powi(40) + k / 64.0).to_vec();
    let plain: Vec<f64> = r.iter().map(|r| r - 2f64.powi(40)).collect();
    let set = Set::Simplex(Simplex::new(4).unwrap());
    let q = vec![0.25; 4];
    let (shifted, _) = slide(&set, &r, &q, 0.5, 1e-20);
    let (straight, _) = slide(&set, &plain, &q, 0.5, 1e-20);
    assert!(close(&shifted, &straight, 1e-15));
    let (mut a, mut b) = (vec![0.0; 4], vec![0.0; 4]);
    set.domain().oracle().prox(&r, &q, 0.5, &mut a).unwrap();
    set.domain().oracle().prox(&plain, &q, 0.5, &mut b).unwrap();
    assert!(close(&a, &b, 1e-15));
    assert!(close(&a, &shifted, 1e-9));
}

#[test]
fn small_coordinates_stay_exact_inside_a_large_l1_ball() {
    let set = Set::L1(L1Ball::new(3, 1e12).unwrap());
    let (u, report) = slide(&set, &[-1.0, 2.0, 0.0], &[0.0, 0.0, 1e-3], 1.0, 0.0);
    assert!(close(&u, &[1.0, -2.0, 1e-3], 1e-14), "{u:?} {report:?}");
    assert!(report.gap <= 1e-14 * 1e12);
}

#[test]
fn a_simplex_of_one_entry_is_one_point() {
    let point = Simplex::scaled(1, 3.0).unwrap();
    assert_eq!(point.diameter(), 0.0);
    let set = Set::Simplex(point);
    let (u, report) = slide(&set, &[1e300], &[3.0], 1e-300, 0.0);
    assert_eq!((u[0], report.gap, report.state), (3.0, 0.0, SlideState::Reached));
    assert_eq!(slide(&set, &[-5.0], &[-7.0], 1.0, 0.0).0, [3.0]);
}

#[test]
fn a_box_needs_two_linear_minimisations() {
    let set = BoxSet::cube(50, -1.0, 2.0).unwrap();
    let r: Vec<f64> = (0..50).map(|i| (i as f64) / 8.0 - 3.0).collect();
    let q = vec![0.5; 50];
    let mut u = vec![0.0; 50];
    let task = SlideTask { r: &r, q: &q, beta: 2.0, eta: 1e-12, budget: 100 };
    let mut oracle = set.oracle();
    let report = oracle.slide(&task, &mut u).unwrap();
    assert_eq!((report.state, report.lo_calls), (SlideState::Reached, 2));
    let mut exact = vec![0.0; 50];
    oracle.prox(&r, &q, 2.0, &mut exact).unwrap();
    assert_eq!(u, exact);
    assert_eq!(oracle.sliding(), Sliding::Coordinatewise);
}

#[test]
fn a_strong_pull_goes_to_the_vertex_at_once() {
    let n = 1_000;
    let mut r = vec![0.0; n];
    r[17] = -1e6;
    for domain in [&Simplex::new(n).unwrap() as &dyn Domain, &L1Ball::new(n, 1.0).unwrap()] {
        let q = vec![1.0 / n as f64; n];
        let mut u = vec![0.0; n];
        let task = SlideTask { r: &r, q: &q, beta: 1.0, eta: 1e-9, budget: u64::MAX };
        let report = domain.oracle().slide(&task, &mut u).unwrap();
        assert_eq!((report.state, report.lo_calls, u[17]), (SlideState::Reached, 2, 1.0));
    }
}

#[test]
fn the_same_slide_gives_the_same_bits_from_a_used_oracle() {
    let simplex = Simplex::new(300).unwrap();
    let (r, q) = dense_task(300);
    let task = SlideTask { r: &r, q: &q, beta: 1.0, eta: 1e-14, budget: u64::MAX };
    let mut oracle = simplex.oracle();
    let (mut first, mut second) = (vec![0.0; 300], vec![1.0; 300]);
    let one = oracle.slide(&task, &mut first).unwrap();
    let two = oracle.slide(&task, &mut second).unwrap();
    assert_eq!((one, first), (two, second));
}

#[test]
fn violations_measure_how_far_outside() {
    let simplex = Simplex::new(2).unwrap();
    assert_eq!(simplex.violation(&[0.5, 0.5]), 0.0);
    assert_eq!(simplex.violation(&[-0.25, 1.25]), 0.25);
    assert_eq!(simplex.violation(&[1.0, 0.5]), 0.5);
    let ball = L1Ball::new(2, 1.0).unwrap();
    assert_eq!(ball.violation(&[-1.0, 0.5]), 0.5);
    let set = BoxSet::cube(2, 0.0, 1.0).unwrap();
    assert_eq!(set.violation(&[0.5, 1.75]), 0.75);
    for domain in [&simplex as &dyn Domain, &ball, &set] {
        assert_eq!(domain.violation(&[f64::NAN, 0.0]), f64::INFINITY);
        assert_eq!(domain.violation(&[0.0, f64::INFINITY]), f64::INFINITY);
        let mut center = [f64::NAN; 2];
        domain.center(&mut center);
        assert_eq!(domain.violation(&center), 0.0);
    }
}

#[test]
fn bad_parameters_are_refused_by_name_and_value() {
    assert!(matches!(Simplex::new(0), Err(Error::EmptySet { .. })));
    assert!(matches!(L1Ball::new(0, 1.0), Err(Error::EmptySet { .. })));
    assert!(matches!(BoxSet::new(vec![], vec![]), Err(Error::EmptySet { .. })));
    for bad in [0.0, -2.0, f64::NAN, f64::INFINITY] {
        let said = |e: Error| match e {
            Error::NotPositive { name, value } => (name, value.to_bits()),
            other => panic!("{other}"),
        };
        let total = said(Simplex::scaled(3, bad).unwrap_err());
        assert_eq!(total, ("total".to_owned(), bad.to_bits()));
        let radius = said(L1Ball::new(3, bad).unwrap_err());
        assert_eq!(radius, ("radius".to_owned(), bad.to_bits()));
    }
    let crossed = BoxSet::new(vec![0.0, 2.0], vec![1.0, 1.5]).unwrap_err();
    assert_eq!(crossed.to_string(), "empty set: entry 1 of the box: lower 2 > upper 1.5");
    let infinite = BoxSet::new(vec![0.0, 0.0], vec![1.0, f64::INFINITY]).unwrap_err();
    assert!(matches!(infinite, Error::NotFinite { index: 1, .. }));
    let short = BoxSet::new(vec![0.0, 0.0], vec![1.0]).unwrap_err();
    assert!(matches!(short, Error::Dimension { expected: 2, got: 1, .. }));
}

#[test]
fn a_nan_in_the_input_is_an_error_that_names_it() {
    let sets: [&dyn Domain; 3] = [
        &Simplex::new(2).unwrap(),
        &L1Ball::new(2, 1.0).unwrap(),
        &BoxSet::cube(2, 0.0, 1.0).unwrap(),
    ];
    let (bad, good) = ([0.0, f64::NAN], [0.5, 0.5]);
    for set in sets {
        let mut oracle = set.oracle();
        let mut out = [0.0; 2];
        let task = |r, q| SlideTask { r, q, beta: 1.0, eta: 0.0, budget: 9 };
        for error in [
            oracle.lmo(&bad, &mut out).unwrap_err(),
            oracle.prox(&bad, &good, 1.0, &mut out).unwrap_err(),
            oracle.prox(&good, &bad, 1.0, &mut out).unwrap_err(),
            oracle.away(&bad, &good, &mut out).unwrap_err(),
            oracle.slide(&task(&bad, &good), &mut out).unwrap_err(),
            oracle.slide(&task(&good, &bad), &mut out).unwrap_err(),
        ] {
            assert!(matches!(error, Error::NotFinite { index: 1, .. }), "{error}");
        }
    }
}
