//! The nuclear ball: minimisation, prox and sliding against full singular value decompositions and
//! against the plain procedures.
#![allow(clippy::unwrap_used, missing_docs)]

use couloir::domain::{
    Cndg, Confidence, Domain, LanczosSettings, NuclearBall, Oracle, SlideReport, SlideState,
    SlideTask, Sliding, cndg,
};
use couloir::linalg::{distance_squared, dot, norm};
use couloir::{Error, Result};
use faer::{Mat, MatRef};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

fn draw(rng: &mut Pcg64, len: usize, size: f64) -> Vec<f64> {
    (0..len).map(|_| size * (2.0 * rng.random::<f64>() - 1.0)).collect()
}

/// Singular values, in falling order.
fn singular_values(rows: usize, cols: usize, x: &[f64]) -> Vec<f64> {
    MatRef::from_row_major_slice(x, rows, cols).singular_values().unwrap()
}

/// A random matrix with the given singular values.
fn with_spectrum(rng: &mut Pcg64, rows: usize, cols: usize, spectrum: &[f64]) -> Vec<f64> {
    let noise = draw(rng, rows * cols, 1.0);
    let svd = MatRef::from_row_major_slice(&noise, rows, cols).thin_svd().unwrap();
    recompose(rows, cols, svd.U(), spectrum, svd.V())
}

fn recompose(
    rows: usize,
    cols: usize,
    u: MatRef<'_, f64>,
    s: &[f64],
    v: MatRef<'_, f64>,
) -> Vec<f64> {
    let scaled = Mat::from_fn(rows, s.len(), |i, k| u[(i, k)] * s[k]);
    let product = &scaled * v.transpose();
    (0..rows * cols).map(|i| product[(i / cols, i % cols)]).collect()
}

/// The projection onto the ball from a full decomposition.
fn project(rows: usize, cols: usize, w: &[f64], radius: f64) -> Vec<f64> {
    let svd = MatRef::from_row_major_slice(w, rows, cols).thin_svd().unwrap();
    let mut s: Vec<f64> = (0..rows.min(cols)).map(|k| svd.S()[k]).collect();
    if s.iter().sum::<f64>() <= radius {
        return w.to_vec();
    }
    // s falls, so the threshold is the largest of the running ones.
    let mut sum = 0.0;
    let mut threshold = 0.0f64;
    for (k, s) in s.iter().enumerate() {
        sum += s;
        threshold = threshold.max((sum - radius) / (k + 1) as f64);
    }
    for s in &mut s {
        *s = (*s - threshold).max(0.0);
    }
    recompose(rows, cols, svd.U(), &s, svd.V())
}

/// `max over u of <r + beta (at - q), at - u>`.
fn gap(rows: usize, cols: usize, radius: f64, task: &SlideTask<'_>, at: &[f64]) -> f64 {
    let gradient: Vec<f64> =
        (0..at.len()).map(|i| task.r[i] + task.beta * (at[i] - task.q[i])).collect();
    dot(&gradient, at) + radius * singular_values(rows, cols, &gradient)[0]
}

fn objective(task: &SlideTask<'_>, at: &[f64]) -> f64 {
    dot(task.r, at) + 0.5 * task.beta * distance_squared(at, task.q)
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    distance_squared(a, b).sqrt()
}

fn plain(ball: &NuclearBall, task: &SlideTask<'_>) -> (Vec<f64>, SlideReport) {
    let mut out = vec![0.0; ball.dim()];
    let report = cndg(&mut *ball.oracle(), task, &mut Cndg::new(ball.dim()), &mut out).unwrap();
    (out, report)
}

fn compressed(ball: &NuclearBall, task: &SlideTask<'_>) -> (Vec<f64>, SlideReport) {
    let mut oracle = ball.oracle();
    assert_eq!(oracle.sliding(), Sliding::Compressed);
    let mut out = vec![0.0; ball.dim()];
    let report = oracle.slide(task, &mut out).unwrap();
    (out, report)
}

const SHAPES: [(usize, usize); 7] = [(1, 1), (1, 9), (9, 1), (4, 4), (5, 40), (40, 5), (12, 30)];

#[test]
fn impossible_balls_are_refused() {
    assert!(matches!(NuclearBall::new(0, 3, 1.0), Err(Error::EmptySet { .. })));
    assert!(matches!(NuclearBall::new(3, 0, 1.0), Err(Error::EmptySet { .. })));
    for radius in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(NuclearBall::new(2, 2, radius), Err(Error::NotPositive { .. })));
    }
    let refused = |settings| NuclearBall::with_lanczos(2, 2, 1.0, settings).is_err();
    let good = LanczosSettings::default;
    assert!(refused(LanczosSettings { tolerance: 0.0, ..good() }));
    assert!(refused(LanczosSettings { certificate: f64::NAN, ..good() }));
    assert!(refused(LanczosSettings { failure: 1.0, ..good() }));
    assert!(refused(LanczosSettings { max_steps: 0, ..good() }));
    assert!(!refused(good()));
}

#[test]
fn violation_is_the_excess_of_the_nuclear_norm() {
    let mut rng = Pcg64::seed_from_u64(1);
    for (rows, cols) in SHAPES {
        let short = rows.min(cols);
        let spectrum: Vec<f64> = (0..short).map(|k| 0.5f64.powi(k as i32)).collect();
        let nuclear: f64 = spectrum.iter().sum();
        let p = with_spectrum(&mut rng, rows, cols, &spectrum);
        let ball = |radius| NuclearBall::new(rows, cols, radius).unwrap();
        assert!(ball(nuclear * (1.0 + 1e-13)).violation(&p) <= 1e-13);
        assert!((ball(0.75 * nuclear).violation(&p) - 0.25 * nuclear).abs() <= 1e-13);
        let mut bad = p.clone();
        bad[0] = f64::NAN;
        assert_eq!(ball(1.0).violation(&bad), f64::INFINITY);
        assert_eq!(ball(1.0).diameter(), 2.0);
        ball(1.0).center(&mut bad);
        assert!(bad.iter().all(|v| *v == 0.0));
        // Low rank must not count as outside: square roots of a Gram matrix would.
        let mut rank_one = vec![0.0; short];
        rank_one[0] = 1.0;
        let p = with_spectrum(&mut rng, rows, cols, &rank_one);
        assert!(ball(1.0).violation(&p) <= 1e-13);
    }
}

#[test]
fn minimum_matches_a_full_decomposition_at_any_scale() {
    let mut rng = Pcg64::seed_from_u64(2);
    for (rows, cols) in SHAPES {
        for size in [1.0, 1e-150, 1e150, 1e-290, 1e300] {
            let g = draw(&mut rng, rows * cols, 1.0);
            let sigma = singular_values(rows, cols, &g)[0];
            let g: Vec<f64> = g.iter().map(|v| v * size).collect();
            let radius = 3.0;
            let exact = NuclearBall::new(rows, cols, radius).unwrap();
            let lanczos =
                NuclearBall::with_lanczos(rows, cols, radius, LanczosSettings::default()).unwrap();
            for ball in [&exact, &lanczos] {
                let mut p = vec![f64::NAN; rows * cols];
                let minimum = ball.oracle().lmo(&g, &mut p).unwrap();
                let value = minimum.value / size;
                assert!((value + radius * sigma).abs() <= 1e-12 * sigma, "{rows} {cols} {size}");
                assert!(minimum.lower <= -radius * sigma * size * (1.0 - 1e-14));
                assert!((minimum.value - minimum.lower) / size <= 1e-5 * sigma);
                let scaled: f64 = p.iter().zip(&g).map(|(p, g)| p * (g / size)).sum();
                assert!((scaled - value).abs() <= 1e-13 * radius * sigma);
                let s = singular_values(rows, cols, &p);
                assert!((s[0] - radius).abs() <= 1e-13 * radius);
                assert!(s[1..].iter().all(|s| *s <= 1e-13 * radius));
            }
        }
    }
}

#[test]
fn minimum_of_zero_is_zero_and_of_nan_an_error() {
    let settings = LanczosSettings::default();
    for ball in [
        NuclearBall::new(3, 7, 2.0).unwrap(),
        NuclearBall::with_lanczos(3, 7, 2.0, settings).unwrap(),
    ] {
        let mut oracle = ball.oracle();
        let mut p = vec![1.0; 21];
        let minimum = oracle.lmo(&[0.0; 21], &mut p).unwrap();
        assert_eq!((minimum.value, minimum.lower), (0.0, 0.0));
        assert_eq!(p, vec![0.0; 21]);
        for bad in [f64::NAN, f64::INFINITY] {
            let mut g = vec![1.0; 21];
            g[5] = bad;
            let error = oracle.lmo(&g, &mut p).unwrap_err();
            assert!(matches!(error, Error::NotFinite { index: 5, .. }), "{error}");
        }
        // The oracle survives.
        assert!(oracle.lmo(&[1.0; 21], &mut p).is_ok());
    }
}

/// Runs `lmo` on a matrix with this spectrum, checks both sides of the interval and returns its
/// relative width.
fn check_lanczos(
    rng: &mut Pcg64,
    oracle: &mut dyn Oracle,
    shape: (usize, usize),
    spectrum: &[f64],
) -> f64 {
    let (rows, cols) = shape;
    let g = with_spectrum(rng, rows, cols, spectrum);
    let sigma = singular_values(rows, cols, &g)[0];
    let mut p = vec![0.0; rows * cols];
    let minimum = oracle.lmo(&g, &mut p).unwrap();
    assert!(matches!(minimum.confidence, Confidence::Probabilistic { failure } if failure == 1e-9));
    assert!(minimum.products >= 3);
    let upper = -minimum.lower;
    assert!(upper >= sigma * (1.0 - 1e-14), "{upper} is not above {sigma}");
    assert!(-minimum.value <= sigma * (1.0 + 1e-13));
    (minimum.value - minimum.lower) / sigma
}

#[test]
fn lanczos_interval_holds_the_truth_on_many_spectra_and_on_flat_ones() {
    let mut rng = Pcg64::seed_from_u64(3);
    let shape = (60, 80);
    for max_steps in [4, 12, 300] {
        let settings = LanczosSettings { max_steps, ..LanczosSettings::default() };
        let ball = NuclearBall::with_lanczos(shape.0, shape.1, 1.0, settings).unwrap();
        let mut oracle = ball.oracle();
        let mut run = |s: Vec<f64>| check_lanczos(&mut rng, &mut *oracle, shape, &s);
        for case in 0..25 {
            let c = f64::from(case);
            let widths = [
                run((0..60).map(|k| 1.0 - 0.01 * (f64::from(k) + c) / 85.0).collect()),
                run(vec![1.0; 60]),
                run((0..60).map(|k| 0.9f64.powi(k)).collect()),
                run((0..60).map(|k| if k < 2 { 1.0 - 1e-6 * f64::from(k) } else { 0.5 }).collect()),
            ];
            if max_steps == 300 {
                assert!(widths.iter().all(|w| *w <= 2e-6), "{widths:?}");
            }
        }
    }
}

#[test]
fn lanczos_with_the_residual_test_alone_is_cheaper_and_still_right() {
    let mut rng = Pcg64::seed_from_u64(4);
    let (rows, cols) = (200, 220);
    let spectrum: Vec<f64> = (0..rows).map(|k| 1.0 / (1.0 + k as f64)).collect();
    let g = with_spectrum(&mut rng, rows, cols, &spectrum);
    let run = |certificate| {
        let settings = LanczosSettings { certificate, ..LanczosSettings::default() };
        let ball = NuclearBall::with_lanczos(rows, cols, 1.0, settings).unwrap();
        let mut p = vec![0.0; rows * cols];
        ball.oracle().lmo(&g, &mut p).unwrap()
    };
    let (loose, tight) = (run(f64::INFINITY), run(1e-6));
    assert!(loose.products < tight.products);
    for minimum in [loose, tight] {
        assert!((minimum.value + 1.0).abs() <= 1e-10);
        assert!(minimum.lower <= -1.0 + 1e-13);
    }
    assert!(tight.value - tight.lower <= 2e-6);
}

#[test]
fn lanczos_gives_the_same_bits_for_the_same_seed() {
    let run = |seed| {
        let settings = LanczosSettings { seed, ..LanczosSettings::default() };
        let ball = NuclearBall::with_lanczos(20, 30, 1.0, settings).unwrap();
        let mut oracle = ball.oracle();
        let mut rng = Pcg64::seed_from_u64(5);
        let mut p = vec![0.0; 600];
        for _ in 0..3 {
            oracle.lmo(&draw(&mut rng, 600, 1.0), &mut p).unwrap();
        }
        p
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn prox_matches_the_projection_of_a_full_decomposition() {
    let mut rng = Pcg64::seed_from_u64(6);
    for (rows, cols) in SHAPES.into_iter().chain([(20, 300), (300, 20)]) {
        let short = rows.min(cols);
        let spectra: [Vec<f64>; 5] = [
            (0..short).map(|k| 1.0 / (1.0 + k as f64)).collect(),
            // Spread over nine decades: a Gram matrix alone sees half of them.
            (0..short).map(|k| 10f64.powf(-9.0 * k as f64 / short as f64)).collect(),
            vec![1.0; short],
            (0..short).map(|k| if k < 2 { 1.0 } else { 0.0 }).collect(),
            (0..short).map(|k| if k == 0 { 1.0 } else { 1e-8 }).collect(),
        ];
        for (which, spectrum) in spectra.iter().enumerate() {
            let nuclear: f64 = spectrum.iter().sum();
            for part in [1e-3, 0.3, 0.9, 1.0 - 1e-7, 1.0 - 1e-10, 1.0 + 1e-12, 2.0] {
                let radius = part * nuclear;
                let beta = 0.7;
                let w = with_spectrum(&mut rng, rows, cols, spectrum);
                let q = project(rows, cols, &draw(&mut rng, rows * cols, 1.0), radius);
                let g: Vec<f64> = w.iter().zip(&q).map(|(w, q)| beta * (q - w)).collect();
                let w: Vec<f64> = g.iter().zip(&q).map(|(g, q)| q - g / beta).collect();
                let ball = NuclearBall::new(rows, cols, radius).unwrap();
                let mut out = vec![f64::NAN; rows * cols];
                let bound = ball.oracle().prox(&g, &q, beta, &mut out).unwrap();
                let truth = project(rows, cols, &w, radius);
                let error = distance(&out, &truth) / norm(&w);
                let at = format!("{rows} x {cols}, spectrum {which}, part {part}: {error:e}");
                assert!(error <= 1e-10, "{at}");
                assert!(ball.violation(&out) <= 1e-11 * norm(&w), "{at}");
                let task = SlideTask { r: &g, q: &q, beta, eta: 0.0, budget: 0 };
                let left = gap(rows, cols, radius, &task, &out);
                let noise = 1e-14 * (norm(&g) + beta * norm(&q)) * radius;
                assert!(left <= bound + noise, "{at}: gap {left:e}, bound {bound:e}");
                let size = beta * (norm(&w) + norm(&q) + radius) * (norm(&w) + radius);
                assert!(bound <= 1e-9 * size, "{at}: bound {bound:e}");
            }
        }
    }
}

#[test]
fn prox_works_at_any_scale() {
    let mut rng = Pcg64::seed_from_u64(7);
    let (rows, cols) = (6, 25);
    let g = draw(&mut rng, rows * cols, 1.0);
    let minus: Vec<f64> = g.iter().map(|v| -v).collect();
    let truth = project(rows, cols, &minus, 1.5);
    for size in [1e-200, 1e200] {
        let ball = NuclearBall::new(rows, cols, 1.5 * size).unwrap();
        let scaled: Vec<f64> = g.iter().map(|v| v * size).collect();
        let mut out = vec![0.0; rows * cols];
        let zero = vec![0.0; rows * cols];
        ball.oracle().prox(&scaled, &zero, 1.0, &mut out).unwrap();
        for (o, t) in out.iter().zip(&truth) {
            assert!((o / size - t).abs() <= 1e-13);
        }
    }
}

#[test]
fn prox_matches_long_sliding_plain_and_compressed() {
    let mut rng = Pcg64::seed_from_u64(8);
    for (rows, cols) in [(4, 30), (30, 4)] {
        let ball = NuclearBall::new(rows, cols, 2.0).unwrap();
        let r = draw(&mut rng, rows * cols, 1.0);
        let q = project(rows, cols, &draw(&mut rng, rows * cols, 1.0), 2.0);
        let task = SlideTask { r: &r, q: &q, beta: 1.0, eta: 1e-3, budget: 1_000_000 };
        let mut exact = vec![0.0; rows * cols];
        ball.oracle().prox(&r, &q, 1.0, &mut exact).unwrap();
        for (out, report) in [plain(&ball, &task), compressed(&ball, &task)] {
            assert_eq!(report.state, SlideState::Reached);
            let excess = objective(&task, &out) - objective(&task, &exact);
            assert!((-1e-12..=report.gap).contains(&excess), "{excess}");
            // Strong convexity: beta/2 |out - exact|^2 <= excess.
            assert!(distance(&out, &exact) <= (2.0 * report.gap).sqrt());
            assert!(gap(rows, cols, 2.0, &task, &out) <= report.gap + 1e-13);
        }
    }
}

/// A matrix whose singular values fall by a fifth each: a stated gap for every singular vector.
fn gapped(rng: &mut Pcg64, rows: usize, cols: usize, size: f64) -> Vec<f64> {
    let spectrum: Vec<f64> = (0..rows.min(cols)).map(|k| size * 0.8f64.powi(k as i32)).collect();
    with_spectrum(rng, rows, cols, &spectrum)
}

/// (size of r, radius and size of q, beta).
const SIZES: [(f64, f64, f64); 3] = [(1.0, 1.0, 1.0), (1e-7, 100.0, 1e-9), (1e-7, 100.0, 1e-8)];

#[test]
fn the_first_fifty_iterates_equal_those_of_the_plain_procedure() {
    let mut rng = Pcg64::seed_from_u64(9);
    for (rows, cols) in [(8, 60), (60, 8), (13, 101)] {
        for (size_r, radius, beta) in SIZES {
            let ball = NuclearBall::new(rows, cols, radius).unwrap();
            let r = gapped(&mut rng, rows, cols, size_r);
            let start = gapped(&mut rng, rows, cols, radius);
            let q = project(rows, cols, &start, 0.9 * radius);
            for budget in 1..=50 {
                let task = SlideTask { r: &r, q: &q, beta, eta: 0.0, budget };
                let (a, first) = plain(&ball, &task);
                let (b, second) = compressed(&ball, &task);
                let error = distance(&a, &b) / radius;
                let at = format!("{rows} x {cols}, |r| {size_r}, beta {beta}, t = {budget}");
                assert!(error <= 1e-9, "{at}: {error:e}");
                let ends = (first.lo_calls, first.state);
                assert_eq!(ends, (second.lo_calls, second.state), "{at}");
                let (f, g) = (first.gap, second.gap);
                assert!((f - g).abs() <= 1e-6 * f, "{at}: {f} {g}");
            }
        }
    }
}

/// The largest relative changes of objective and gap when `r` changes in its last digits: what
/// rounding alone does to the plain procedure, whose choice among close singular values is chaotic
/// once it is near a solution of higher rank.
fn sensitivity(ball: &NuclearBall, task: &SlideTask<'_>) -> (f64, f64) {
    let (a, first) = plain(ball, task);
    let value = objective(task, &a);
    let mut worst = (0.0f64, 0.0f64);
    for phase in [0.0, 1.0, 2.0] {
        let r: Vec<f64> = (0..task.r.len())
            .map(|i| task.r[i] * (1.0 + 2.0 * f64::EPSILON * (i as f64 + phase).sin()))
            .collect();
        let (b, second) = plain(ball, &SlideTask { r: &r, ..*task });
        worst.0 = worst.0.max((objective(task, &b) / value - 1.0).abs());
        worst.1 = worst.1.max((second.gap / first.gap - 1.0).abs());
    }
    worst
}

#[test]
fn five_hundred_calls_agree_in_objective_and_gap_with_the_plain_procedure() {
    let mut rng = Pcg64::seed_from_u64(10);
    // To 1e-6, and where rounding alone changes the plain procedure by more, as well as that agrees
    // with itself.
    let sizes = [
        (1.0, 1.0, 0.3),
        (1.0, 1.0, 3.0),
        (1e-7, 100.0, 3e-10),
        (1e-7, 100.0, 1e-9),
        (1e-7, 100.0, 1e-8),
    ];
    let (mut tame, mut tame_at_the_end) = (0, 0);
    for (size_r, radius, beta) in sizes {
        for (rows, cols) in [(6, 80), (80, 6)] {
            let ball = NuclearBall::new(rows, cols, radius).unwrap();
            let r = draw(&mut rng, rows * cols, size_r);
            let start = draw(&mut rng, rows * cols, radius);
            let q = project(rows, cols, &start, 0.999 * radius);
            for budget in [1, 2, 5, 20, 100, 250, 500] {
                let task = SlideTask { r: &r, q: &q, beta, eta: 0.0, budget };
                let (a, first) = plain(&ball, &task);
                let (b, second) = compressed(&ball, &task);
                let at = format!("{rows} x {cols}, |r| {size_r}, beta {beta}, t = {budget}");
                assert!(ball.violation(&b) <= 1e-12 * radius, "{at}");
                let rounding = 1e-11 * norm(&r) * radius;
                if first.gap <= rounding {
                    // Done, both of them; what is left is rounding.
                    assert!(second.gap <= rounding, "{at}: {second:?}");
                    break;
                }
                let ends = (first.lo_calls, first.state);
                assert_eq!(ends, (second.lo_calls, second.state), "{at}");
                let own = sensitivity(&ball, &task);
                let change = (objective(&task, &b) / objective(&task, &a) - 1.0).abs();
                assert!(change <= 1e-6 + 10.0 * own.0, "{at}: objective {change:e}, {own:?}");
                // A gap is a difference of numbers as large as |r| radius.
                let change = (second.gap - first.gap).abs();
                assert!(
                    change <= (1e-6 + 10.0 * own.1) * first.gap + 1e-14 * norm(&r) * radius,
                    "{at}: gap {:e}, change {change:e}, {own:?}",
                    first.gap
                );
                if own.0.max(own.1) <= 1e-7 {
                    tame += 1;
                    tame_at_the_end += u32::from(budget == 500);
                }
            }
        }
    }
    // The strict comparison must have been made often, and at the last call.
    assert!(tame >= 25 && tame_at_the_end >= 1, "{tame} {tame_at_the_end}");
}

#[test]
fn compressed_sliding_reaches_gaps_far_below_the_gradient() {
    // The optimum lies inside: the gradient vanishes there, and products of r and q alone would
    // lose it. The procedure anchors itself anew and goes on.
    let mut rng = Pcg64::seed_from_u64(11);
    let (rows, cols, radius) = (4, 40, 10.0);
    let ball = NuclearBall::new(rows, cols, radius).unwrap();
    let r = gapped(&mut rng, rows, cols, 1.0);
    let q = vec![0.0; rows * cols];
    let task = SlideTask { r: &r, q: &q, beta: 1.0, eta: 1e-7, budget: 20_000 };
    let (out, report) = compressed(&ball, &task);
    let (other, plainly) = plain(&ball, &task);
    assert_eq!(report.state, SlideState::Reached, "{report:?}");
    assert_eq!(plainly.state, SlideState::Reached);
    let calls = (report.lo_calls as f64, plainly.lo_calls as f64);
    assert!((calls.0 - calls.1).abs() <= 0.05 * calls.1, "{calls:?}");
    let truth = gap(rows, cols, radius, &task, &out);
    assert!((truth - report.gap).abs() <= 1e-3 * report.gap, "{truth:e} {:e}", report.gap);
    assert!(distance(&out, &other) <= 1e-6);
    assert!(ball.violation(&out) <= 1e-12 * radius);
}

#[test]
fn low_rank_centres_and_dependent_rows_are_no_trouble() {
    // Gradients of a softmax have rows that add up to zero, and iterates are of low rank.
    let mut rng = Pcg64::seed_from_u64(12);
    let (rows, cols, radius) = (7, 50, 3.0);
    let ball = NuclearBall::new(rows, cols, radius).unwrap();
    let mut r = gapped(&mut rng, rows, cols, 1.0);
    for j in 0..cols {
        let mean = (0..rows).map(|i| r[i * cols + j]).sum::<f64>() / rows as f64;
        for i in 0..rows {
            r[i * cols + j] -= mean;
        }
    }
    let mut rank_one = vec![0.0; rows * cols];
    ball.oracle().lmo(&r, &mut rank_one).unwrap();
    let nearly: Vec<f64> = r.iter().map(|v| -0.5 * v).collect();
    for q in [vec![0.0; rows * cols], rank_one, nearly] {
        for budget in [1, 3, 10, 30] {
            let task = SlideTask { r: &r, q: &q, beta: 1.0, eta: 0.0, budget };
            let (a, first) = plain(&ball, &task);
            let (b, second) = compressed(&ball, &task);
            let error = distance(&a, &b) / radius;
            assert!(error <= 1e-9, "{budget}: {error:e}");
            assert_eq!(first.lo_calls, second.lo_calls);
            assert!(ball.violation(&b) <= 1e-12 * radius);
        }
    }
}

#[test]
fn sliding_ends_as_the_report_says() -> Result<()> {
    let ball = NuclearBall::new(2, 9, 1.0)?;
    let mut oracle = ball.oracle();
    let mut out = vec![f64::NAN; 18];
    let r: Vec<f64> = (0..18).map(|i| f64::from(i).sin()).collect();
    let q = vec![0.0; 18];
    let task = SlideTask { r: &r, q: &q, beta: 1.0, eta: 1e9, budget: 5 };
    let report = oracle.slide(&task, &mut out)?;
    assert_eq!((report.state, report.lo_calls), (SlideState::Reached, 1));
    assert_eq!(out, q);
    let inside = SlideTask { beta: 20.0, eta: 0.0, ..task };
    let report = oracle.slide(&inside, &mut out)?;
    assert_eq!((report.state, report.lo_calls), (SlideState::OutOfBudget, 5));
    let report = oracle.slide(&SlideTask { budget: 0, ..task }, &mut out)?;
    assert_eq!((report.state, report.lo_calls), (SlideState::OutOfBudget, 0));
    // No gradient at the centre: nothing is left to do.
    let zero = SlideTask { r: &q, eta: 0.0, ..task };
    let report = oracle.slide(&zero, &mut out)?;
    assert_eq!((report.state, report.gap), (SlideState::Reached, 0.0));
    // A weak quadratic: one full step to the vertex, and then only rounding is left.
    let weak = SlideTask { beta: 1e-9, eta: -1.0, budget: 1000, ..task };
    let report = oracle.slide(&weak, &mut out)?;
    assert_eq!(report.state, SlideState::RoundingFloor);
    assert!(report.gap <= 1e-13, "{report:?}");
    let mut bad = r.clone();
    bad[3] = f64::NAN;
    assert!(oracle.slide(&SlideTask { r: &bad, ..task }, &mut out).is_err());
    // Magnitudes whose squares overflow take the plain way.
    let huge: Vec<f64> = r.iter().map(|v| v * 1e140).collect();
    let huge = SlideTask { r: &huge, beta: 2e141, eta: 0.0, ..task };
    let report = oracle.slide(&huge, &mut out)?;
    assert_eq!(report.lo_calls, 5);
    assert!(ball.violation(&out) <= 1e-12);
    Ok(())
}

#[test]
fn balls_that_are_not_thin_slide_plainly() {
    let sliding = |ball: NuclearBall| ball.oracle().sliding();
    assert_eq!(sliding(NuclearBall::new(5, 10, 1.0).unwrap()), Sliding::Plain);
    assert_eq!(sliding(NuclearBall::new(5, 11, 1.0).unwrap()), Sliding::Compressed);
    let forced = NuclearBall::with_lanczos(5, 11, 1.0, LanczosSettings::default()).unwrap();
    let mut oracle = forced.oracle();
    assert_eq!(oracle.sliding(), Sliding::Plain);
    let mut rng = Pcg64::seed_from_u64(13);
    let (r, q) = (draw(&mut rng, 55, 1.0), vec![0.0; 55]);
    let task = SlideTask { r: &r, q: &q, beta: 1.0, eta: 1e-2, budget: 10_000 };
    let mut out = vec![0.0; 55];
    let report = oracle.slide(&task, &mut out).unwrap();
    assert_eq!(report.state, SlideState::Reached);
    assert!(report.products > report.lo_calls);
    assert!(gap(5, 11, 1.0, &task, &out) <= report.gap);
    let large = NuclearBall::new(1025, 1025, 1.0).unwrap();
    assert!(!large.oracle().has_prox());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_answer_is_feasible(
        seed in any::<u64>(),
        rows in 1usize..12,
        cols in 1usize..40,
        size_r in -9i32..5,
        log_beta in -6i32..6,
        radius in 0.01f64..200.0,
        rank in 1usize..12,
        budget in 1u64..60,
    ) {
        let mut rng = Pcg64::seed_from_u64(seed);
        let ball = NuclearBall::new(rows, cols, radius).unwrap();
        let dim = rows * cols;
        let r = draw(&mut rng, dim, 10f64.powi(size_r));
        let short = rows.min(cols);
        let weights: Vec<f64> =
            (0..short).map(|k| if k < rank { rng.random::<f64>() } else { 0.0 }).collect();
        let total: f64 = weights.iter().sum::<f64>() * (1.0 + 1e-14);
        let spectrum: Vec<f64> = weights.iter().map(|s| s * radius / total).collect();
        let q = with_spectrum(&mut rng, rows, cols, &spectrum);
        let beta = 10f64.powi(log_beta);
        let mut oracle = ball.oracle();
        let mut out = vec![0.0; dim];
        let task = SlideTask { r: &r, q: &q, beta, eta: 0.0, budget };
        oracle.slide(&task, &mut out).unwrap();
        prop_assert!(ball.violation(&out) <= 1e-12 * radius, "slide {:e}", ball.violation(&out));
        let slack = 1e-12 * (norm(&r) + beta * radius) * radius;
        prop_assert!(objective(&task, &out) <= objective(&task, &q) + slack);
        oracle.lmo(&r, &mut out).unwrap();
        prop_assert!(ball.violation(&out) <= 1e-13 * radius, "lmo {:e}", ball.violation(&out));
        oracle.prox(&r, &q, beta, &mut out).unwrap();
        // The prox projects q - r/beta, so its rounding is relative to that.
        let size = radius.max(norm(&r) / beta);
        prop_assert!(ball.violation(&out) <= 1e-12 * size, "prox {:e}", ball.violation(&out));
    }
}

#[test]
fn the_exact_prox_goes_as_far_as_it_is_asked_to() {
    let ball = NuclearBall::new(6, 8, 2.0).expect("a ball");
    let g: Vec<f64> = (0..48).map(|i| f64::from(i * 7 % 11) - 5.0).collect();
    let q = vec![0.0; 48];
    let prox = |ball: &NuclearBall| {
        let mut out = vec![0.0; 48];
        ball.oracle().prox(&g, &q, 1.5, &mut out).map(|_| out)
    };
    let usual = prox(&ball).expect("a point");
    assert_eq!(prox(&ball.clone().exact_up_to(6)).expect("a point"), usual);
    assert!(!ball.clone().exact_up_to(5).oracle().has_prox());
    let error = prox(&ball.exact_up_to(5)).expect_err("an error");
    assert!(matches!(error, couloir::Error::MissingOracle { .. }), "{error}");
    // beyond the usual limit
    let large = NuclearBall::new(1025, 1025, 1.0).expect("a ball");
    assert!(!large.oracle().has_prox() && large.exact_up_to(1025).oracle().has_prox());
    // as for 600 classes
    assert!(NuclearBall::new(5000, 600, 1.0).expect("a ball").oracle().has_prox());
}
