//! Slides over atoms: against exact proxes, brute force and slides that forget.

use super::*;
use crate::domain::{
    BoxSet, Cndg, Domain, L1Ball, L2Ball, LinearMin, LoSet, NuclearBall, Simplex, cndg,
};
use crate::error::{Block, Error, Interruption};
use crate::linalg::distance_squared;
use crate::watch::Limits;

fn wave(seed: usize, n: usize) -> Vec<f64> {
    (0..n)
        .map(|i| ((7 * seed + 3) as f64 * 0.37 + 1.7 * i as f64 * (1 + seed % 5) as f64).sin())
        .collect()
}

fn over_atoms(set: &dyn Domain) -> OverAtoms<'_> {
    OverAtoms::new(set.oracle(), set.dim())
}

/// `<r, u> + beta/2 |u - q|^2`.
fn objective(task: &SlideTask<'_>, u: &[f64]) -> f64 {
    dot(task.r, u) + 0.5 * task.beta * distance_squared(u, task.q)
}

/// The gap at a point, by a linear minimisation of its own.
fn measured(set: &dyn Domain, task: &SlideTask<'_>, u: &[f64]) -> f64 {
    let gradient = |i: usize| task.r[i] + task.beta * (u[i] - task.q[i]);
    let gradient: Vec<f64> = (0..u.len()).map(gradient).collect();
    let minimum = set.oracle().lmo(&gradient, &mut vec![0.0; u.len()]).expect("a minimum");
    dot(&gradient, u) - minimum.lower
}

#[test]
fn slides_end_within_their_gap_of_the_exact_prox_whatever_came_before() {
    let sets: [Box<dyn Domain>; 5] = [
        Box::new(Simplex::new(30).expect("a simplex")),
        Box::new(L1Ball::new(25, 1.3).expect("an l1 ball")),
        Box::new(BoxSet::cube(7, -0.5, 1.0).expect("a box")),
        Box::new(L2Ball::new(5, 0.9).expect("a ball")),
        Box::new(NuclearBall::new(3, 5, 1.1).expect("a nuclear ball")),
    ];
    for set in sets {
        let (n, name) = (set.dim(), set.describe());
        let mut oracle = over_atoms(&*set);
        let (mut q, mut out, mut exact) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
        set.center(&mut q);
        for turn in 0..20 {
            let beta = [0.3, 3.0, 50.0][turn % 3];
            let r = wave(turn, n);
            let task = SlideTask { r: &r, q: &q, beta, eta: 1e-6, budget: 20_000 };
            let report = oracle.slide(&task, &mut out).expect("a slide");
            assert_eq!(report.state, SlideState::Reached, "{name}, {turn}: {report:?}");
            assert!(report.gap <= 1e-6, "{name}, {turn}: {report:?}");
            let gap = measured(&*set, &task, &out);
            assert!(gap <= report.gap + 1e-12, "{name}, {turn}: {gap:e}, reported {report:?}");
            set.oracle().prox(&r, &q, beta, &mut exact).expect("a prox");
            let excess = objective(&task, &out) - objective(&task, &exact);
            assert!((-1e-12..=report.gap + 1e-12).contains(&excess), "{name}, {turn}: {excess:e}");
            assert!(set.contains(&out, 1e-12), "{name}, {turn}: outside");
            q.copy_from_slice(&out);
        }
    }
}

/// All permutations of `n` columns.
fn permutations(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![Vec::new()];
    }
    let shorter = permutations(n - 1);
    let longer = |p: &Vec<usize>| {
        (0..n)
            .map(|at| {
                let mut p = p.clone();
                p.insert(at, n - 1);
                p
            })
            .collect::<Vec<_>>()
    };
    shorter.iter().flat_map(longer).collect()
}

/// The assignments of `n` rows to `n` columns and their mixtures, by trying all of them.
fn assignments(n: usize) -> LoSet<'static> {
    let all = permutations(n);
    let start = (0..n * n).map(|i| f64::from(u8::from(i % (n + 1) == 0))).collect();
    LoSet::new(n * n, (2.0 * n as f64).sqrt(), start, move |g, p| {
        let cost = |a: &[usize]| a.iter().enumerate().map(|(i, j)| g[i * n + j]).sum::<f64>();
        let best = all.iter().min_by(|a, b| cost(a).total_cmp(&cost(b)));
        p.fill(0.0);
        best.into_iter().flatten().enumerate().for_each(|(i, j)| p[i * n + j] = 1.0);
    })
    .expect("a set")
}

/// The projection on the doubly stochastic matrices, by Dykstra's alternating projections.
fn doubly_stochastic(n: usize, point: &[f64]) -> Vec<f64> {
    let (mut u, mut lifted) = (point.to_vec(), vec![0.0; n * n]);
    for _ in 0..20_000 {
        // the sums of rows and columns: an affine set, which needs no correction
        let all = u.iter().sum::<f64>() / n as f64;
        let row = |i: usize| u[i * n..][..n].iter().sum::<f64>();
        let column = |j: usize| (0..n).map(|i| u[i * n + j]).sum::<f64>();
        let (rows, columns): (Vec<f64>, Vec<f64>) = (0..n).map(|i| (row(i), column(i))).unzip();
        for i in 0..n {
            for j in 0..n {
                u[i * n + j] += (1.0 + all - rows[i] - columns[j]) / n as f64;
            }
        }
        for (u, lifted) in u.iter_mut().zip(&mut lifted) {
            let before = *u - *lifted;
            *u = before.max(0.0);
            *lifted = *u - before;
        }
    }
    u
}

#[test]
fn mixtures_of_assignments_are_projected_as_by_alternating_projections() {
    let n = 4;
    let set = assignments(n);
    let mut oracle = over_atoms(&set);
    let (mut q, mut out) = (vec![0.0; n * n], vec![0.0; n * n]);
    set.center(&mut q);
    for turn in 0..6 {
        let (r, beta) = (wave(turn, n * n), 2.0);
        let task = SlideTask { r: &r, q: &q, beta, eta: 1e-12, budget: 500 };
        let report = oracle.slide(&task, &mut out).expect("a slide");
        assert!(report.gap <= 1e-12, "{report:?}");
        let centre: Vec<f64> = q.iter().zip(&r).map(|(q, r)| q - r / beta).collect();
        let exact = doubly_stochastic(n, &centre);
        let apart = distance_squared(&exact, &out).sqrt();
        assert!(apart < 1e-6, "{turn}: {apart:e}");
        q.copy_from_slice(&out);
    }
}

/// The slope with which a slide of beta 1 from `q` ends about at the centre, where it needs many atoms; they differ as those of
/// neighbouring iterations do.
fn inwards(n: usize, q: &[f64], size: f64, turn: usize) -> Vec<f64> {
    q.iter().zip(wave(turn, n * n)).map(|(q, w)| q - 1.0 / n as f64 + size * w).collect()
}

#[test]
fn what_earlier_slides_found_is_not_asked_for_again() {
    let n = 5;
    let set = assignments(n);
    let mut remembers = over_atoms(&set);
    let (mut q, mut out) = (vec![0.0; n * n], vec![0.0; n * n]);
    set.center(&mut q);
    let (mut calls, mut anew, mut plain) = (0, 0, 0);
    for turn in 0..12 {
        // gradients that differ as those of neighbouring iterations do
        let r = inwards(n, &q, 0.05, turn);
        let task = SlideTask { r: &r, q: &q, beta: 1.0, eta: 1e-4, budget: 1_000_000 };
        anew += over_atoms(&set).slide(&task, &mut out).expect("a slide").lo_calls;
        let scratch = &mut Cndg::new(n * n);
        plain += cndg(&mut *set.oracle(), &task, scratch, &mut out).expect("a slide").lo_calls;
        calls += remembers.slide(&task, &mut out).expect("a slide").lo_calls;
        q.copy_from_slice(&out);
    }
    assert!(2 * calls < anew && 20 * calls < plain, "{calls}, {anew} and {plain} calls");
}

#[test]
fn a_limit_ends_a_slide_at_the_oracle_call_and_the_next_one_goes_on_from_there() {
    let n = 5;
    let set = assignments(n);
    let (mut oracle, watch) = (over_atoms(&set), Watch::default());
    oracle.attend(&watch);
    let (mut q, mut out) = (vec![0.0; n * n], vec![0.0; n * n]);
    set.center(&mut q);
    let r = inwards(n, &q, 0.1, 2);
    let task = SlideTask { r: &r, q: &q, beta: 1.0, eta: 1e-9, budget: 1000 };
    let whole = over_atoms(&set).slide(&task, &mut out).expect("a slide");
    assert!(whole.state == SlideState::Reached && whole.lo_calls > 6, "{whole:?}");
    watch.arm(Limits { linear_minimisations: [Some(3), None], ..Limits::default() });
    let ended = oracle.slide(&task, &mut out);
    let why = Interruption::LinearMinimisations(Block::X);
    assert!(matches!(ended, Err(Error::Interrupted(w)) if w == why), "{ended:?}");
    watch.disarm();
    let short = oracle.slide(&SlideTask { budget: 2, ..task }, &mut out).expect("a slide");
    assert_eq!((short.state, short.lo_calls), (SlideState::OutOfBudget, 2));
    let gap = measured(&set, &task, &out);
    assert!((gap - short.gap).abs() < 1e-12, "a gap of the point returned: {gap:e}, {short:?}");
    let rest = oracle.slide(&task, &mut out).expect("a slide");
    assert_eq!(rest.state, SlideState::Reached);
    // the last call of a slide that ended early is made again at most
    assert!(
        rest.lo_calls + 3 + 2 <= whole.lo_calls + 2,
        "{} after 5 of {}",
        rest.lo_calls,
        whole.lo_calls
    );
}

#[test]
fn atoms_without_weight_leave_when_there_are_too_many() {
    let set = L2Ball::new(3, 1.0).expect("a ball");
    let mut oracle = over_atoms(&set);
    let mut p = vec![0.0; 3];
    for turn in 0..MOST_IDLE + 300 {
        oracle.lmo(&wave(turn, 3), &mut p).expect("a vertex");
    }
    let before = oracle.hull.atoms.len();
    assert!(before > MOST_IDLE + 100, "{before}");
    let (r, mut out) = (wave(5, 3), vec![0.0; 3]);
    let task = SlideTask { r: &r, q: &p, beta: 1.0, eta: 1e-6, budget: 1000 };
    for _ in 0..2 {
        let report = oracle.slide(&task, &mut out).expect("a slide");
        assert_eq!(report.state, SlideState::Reached);
        assert!(measured(&set, &task, &out) <= 1e-6);
        assert!(oracle.hull.atoms.len() <= MOST_IDLE + 4, "{}", oracle.hull.atoms.len());
    }
}

#[test]
fn a_set_of_one_point_and_one_far_from_the_origin_are_no_trouble() {
    let point = LoSet::new(3, 1.0, vec![2.0, -1.0, 0.5], |_, p| {
        p.copy_from_slice(&[2.0, -1.0, 0.5]);
    });
    let point = point.expect("a set");
    let (mut oracle, mut out) = (over_atoms(&point), vec![0.0; 3]);
    let r = wave(1, 3);
    let task = SlideTask { r: &r, q: &[2.0, -1.0, 0.5], beta: 1.0, eta: 1e-12, budget: 10 };
    let report = oracle.slide(&task, &mut out).expect("a slide");
    assert!(report.gap <= 1e-12 && out == [2.0, -1.0, 0.5], "{report:?}");

    // a small simplex a thousand diameters away
    let far = LoSet::new(4, 2f64.sqrt(), vec![1001.0, 1000.0, 1000.0, 1000.0], |g, p| {
        let best = (0..4).min_by(|i, j| g[*i].total_cmp(&g[*j])).unwrap_or(0);
        (0..4).for_each(|i| p[i] = 1000.0 + f64::from(u8::from(i == best)));
    });
    let far = far.expect("a set");
    let mut oracle = over_atoms(&far);
    let (r, q) = ([0.3, 0.2, 0.1, 0.9], [1001.0, 1000.0, 1000.0, 1000.0]);
    let task = SlideTask { r: &r, q: &q, beta: 0.5, eta: 1e-9, budget: 100 };
    let mut out = vec![0.0; 4];
    let report = oracle.slide(&task, &mut out).expect("a slide");
    assert!(report.gap <= 1e-9 && measured(&far, &task, &out) <= 2e-9, "{report:?}");
}

#[test]
fn an_inexact_oracle_is_charged_with_what_it_misses() {
    struct Inexact<'a>(Box<dyn Oracle + 'a>);
    impl Oracle for Inexact<'_> {
        fn lmo(&mut self, g: &[f64], p: &mut [f64]) -> Result<LinearMin> {
            let minimum = self.0.lmo(g, p)?;
            Ok(LinearMin { lower: minimum.value - 1e-3, ..minimum })
        }
        fn slide(&mut self, task: &SlideTask<'_>, out: &mut [f64]) -> Result<SlideReport> {
            self.0.slide(task, out)
        }
    }
    let set = Simplex::new(6).expect("a simplex");
    let mut oracle = OverAtoms::new(Box::new(Inexact(set.oracle())), 6);
    let (r, q, mut out) = (wave(3, 6), [1.0, 0.0, 0.0, 0.0, 0.0, 0.0], vec![0.0; 6]);
    let task = SlideTask { r: &r, q: &q, beta: 1.0, eta: 1e-6, budget: 100 };
    let report = oracle.slide(&task, &mut out).expect("a slide");
    assert_eq!(report.state, SlideState::RoundingFloor, "no step can make up for the oracle");
    assert!(report.gap >= 1e-3 && report.gap < 1.1e-3, "{report:?}");
}
