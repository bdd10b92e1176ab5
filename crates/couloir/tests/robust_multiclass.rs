//! Robust multiclass classification: the model says what it promises.

use couloir::domain::Domain;
use couloir::linalg::{Layout, SparseMatrix, dot};
use couloir::model::{RobustMulticlass, RobustSettings, Scaling};
use couloir::problem::{
    BestResponse, ExactDifferences, KnownConstants, LinearOperator, PreparedImage, SaddleProblem,
    Sampled, WithFallbacks, check_gradient,
};
use couloir::random::Streams;
use couloir::{Method, Solve};

/// Bags of words like Cora's: a topic for every class, unit rows.
fn model(n: usize, d: usize, h: usize, settings: RobustSettings) -> RobustMulticlass {
    let mut draw = Streams::new(7).stream("words");
    let (mut starts, mut indices, mut values) = (vec![0], Vec::<u32>::new(), Vec::new());
    let mut labels = Vec::new();
    for _ in 0..n {
        let class = draw.below(h as u64);
        let first = indices.len();
        for _ in 0..18 {
            let topical = draw.below(3) == 0;
            let word = if topical {
                draw.below(d as u64 / h as u64) * h as u64 + class
            } else {
                draw.below(1 + draw.clone().below(d as u64))
            };
            if !indices[first..].contains(&(word as u32)) {
                indices.push(word as u32);
            }
        }
        indices[first..].sort_unstable();
        let count = (indices.len() - first) as f64;
        values.resize(indices.len(), 1.0 / count.sqrt());
        starts.push(indices.len());
        labels.push(class as u32);
    }
    let rows = SparseMatrix::from_rows(d, starts, indices, values).expect("a matrix");
    RobustMulticlass::new(rows, labels, h, settings).expect("a model")
}

fn variants() -> Vec<RobustSettings> {
    let mut all = Vec::new();
    for scaling in [Scaling::Dro, Scaling::Paper] {
        for layout in [Layout::ClassMajor, Layout::FeatureMajor] {
            for intercept in [None, Some(1.0)] {
                let s = RobustSettings::default().scaling(scaling).layout(layout).tau(20.0);
                all.push(s.intercept(intercept).level(0.7));
            }
        }
    }
    all
}

struct At {
    image: Vec<f64>,
    cache: Vec<f64>,
}

impl At {
    fn new(model: &dyn SaddleProblem, x: &[f64]) -> Self {
        let model = WithFallbacks::new(model);
        let mut at =
            At { image: vec![0.0; model.image_dim()], cache: vec![0.0; model.cache_dim()] };
        model.image(x, &mut at.image);
        model.prepare(&at.image, &mut at.cache);
        at
    }

    fn prepared(&self) -> PreparedImage<'_> {
        PreparedImage { image: &self.image, cache: &self.cache }
    }
}

fn some_x(model: &RobustMulticlass, size: f64) -> Vec<f64> {
    (0..model.dim_x()).map(|i| size * (0.37 * i as f64 + 0.1).sin()).collect()
}

/// A point of the simplex with zeros.
fn some_y(n: usize, phase: f64) -> Vec<f64> {
    let raw: Vec<f64> = (0..n).map(|i| (0.2 + (i as f64 * 0.9 + phase).sin()).max(0.0)).collect();
    let total: f64 = raw.iter().sum();
    raw.iter().map(|v| v / total).collect()
}

#[test]
fn gradients_are_right_and_the_image_has_its_adjoint() {
    for settings in variants() {
        let model = model(60, 40, 4, settings);
        let (x, y) = (some_x(&model, 1.0), some_y(60, 0.0));
        let worst = check_gradient(&model, &x, &y).expect("finite").worst();
        assert!(worst < 1e-6, "{settings:?}: {worst:e}");
        let s: Vec<f64> = (0..model.image_dim()).map(|i| (0.3 * i as f64).cos()).collect();
        let at = At::new(&model, &x);
        let mut back = vec![0.0; x.len()];
        model.adjoint(&s, &mut back);
        assert!((dot(&at.image, &s) - dot(&x, &back)).abs() < 1e-11);
    }
}

#[test]
fn layouts_and_the_class_major_view_agree() {
    let settings = RobustSettings::default();
    let a = model(50, 30, 5, settings.layout(Layout::ClassMajor));
    let b = model(50, 30, 5, settings.layout(Layout::FeatureMajor));
    let x = some_x(&b, 1.0);
    let by_class = b.class_major(&x);
    assert_eq!(b.from_class_major(&by_class), x);
    assert_ne!(by_class, x);
    assert_eq!(a.class_major(&x), x);
    let (at_a, at_b) = (At::new(&a, &by_class), At::new(&b, &x));
    let distance = couloir::linalg::distance_squared(&at_a.image, &at_b.image);
    assert!(distance < 1e-24);
    assert_eq!(a.x_set().expect("a ball").dim(), b.x_set().expect("a ball").dim());
}

#[test]
fn the_best_response_is_the_maximiser() {
    for settings in variants() {
        for (size, level) in [(0.1, 1.0), (3.0, 1.0), (30.0, 0.01), (30.0, 1e4)] {
            let model = model(80, 40, 4, settings.level(level));
            let at = At::new(&model, &some_x(&model, size));
            let n = model.len();
            let mut y = vec![f64::NAN; n];
            let gap = model.best_response(at.prepared(), &mut y);
            assert!(model.y_set().violation(&y) < 1e-14);
            let value = model.value(at.prepared(), &y);
            assert!(gap >= 0.0 && gap <= 1e-13 * (1.0 + value.abs() + level), "{gap:e}");
            // against the set's own projection
            let slope: Vec<f64> = at.cache[..n].iter().map(|l| -model.scale() * l).collect();
            let (mut centre, mut other) = (vec![0.0; n], vec![0.0; n]);
            model.y_set().center(&mut centre);
            let mu = level * n as f64;
            model.y_set().oracle().prox(&slope, &centre, mu, &mut other).expect("a prox");
            for (a, b) in y.iter().zip(&other) {
                assert!((a - b).abs() < 1e-13, "{a} {b}");
            }
            // KKT: the slope is the same where y > 0 and no larger where y = 0
            let mut g = vec![0.0; n];
            model.grad_y(at.prepared(), &y, &mut g);
            let top = g.iter().fold(f64::NEG_INFINITY, |m, v| m.max(*v));
            let scale = 1e-11 * (1.0 + top.abs() + level);
            assert!(y.iter().zip(&g).all(|(y, g)| *y == 0.0 || top - g < scale));
            // and no other point does better
            for phase in 0..20 {
                let other = some_y(n, phase as f64);
                assert!(model.value(at.prepared(), &other) <= value + 1e-12);
            }
        }
    }
}

#[test]
fn bends_and_changes_agree_with_the_values() {
    for settings in variants() {
        let model = model(70, 40, 4, settings);
        let (y, w) = (some_y(70, 0.0), some_y(70, 1.0));
        for step in [3.0, 0.1, 1e-3] {
            let x = some_x(&model, 2.0);
            let z: Vec<f64> =
                x.iter().enumerate().map(|(i, v)| v + step * (1.1 * i as f64).cos()).collect();
            let (a, b) = (At::new(&model, &x), At::new(&model, &z));
            let mut slope = vec![0.0; a.image.len()];
            model.grad_image(a.prepared(), &y, &mut slope);
            let along: f64 = (0..slope.len()).map(|i| slope[i] * (b.image[i] - a.image[i])).sum();
            let plain = model.value(b.prepared(), &y) - model.value(a.prepared(), &y) - along;
            let bend = model.bend_x(a.prepared(), b.prepared(), &y, along);
            let size = model.scale() * 20.0;
            assert!(
                (bend.value - plain).abs() <= bend.rounding + 1e-14 * size,
                "{bend:?} {plain:e}"
            );
            assert!(bend.value > 0.0 && bend.rounding < 1e-6 * bend.value, "{bend:?}");
            let plain = model.value(a.prepared(), &w) - model.value(a.prepared(), &y);
            let change = model.change_y(a.prepared(), &y, &w);
            assert!((change.value - plain).abs() < 1e-13 + change.rounding, "{change:?} {plain:e}");
        }
    }
}

#[test]
fn batches_are_means_of_components_and_all_of_them_are_the_whole() {
    for settings in variants() {
        let model = model(40, 30, 3, settings);
        let sampled: &dyn Sampled = model.capabilities().sampled.expect("a mean");
        let (x, y) = (some_x(&model, 1.0), some_y(40, 0.4));
        let at = At::new(&model, &x);
        let mut slope = vec![0.0; at.image.len()];
        model.grad_image(at.prepared(), &y, &mut slope);
        let (mut gx, mut gy) = (vec![0.0; x.len()], vec![0.0; 40]);
        model.adjoint(&slope, &mut gx);
        model.grad_y(at.prepared(), &y, &mut gy);
        let all: Vec<u64> = (0..40).collect();
        let (mut bx, mut by) = (vec![0.0; x.len()], vec![0.0; 40]);
        sampled.batch_grad_x(&all, &x, &y, &mut bx);
        sampled.batch_grad_y(&all, &x, &y, &mut by);
        assert!(couloir::linalg::distance_squared(&gx, &bx) < 1e-26);
        assert!(couloir::linalg::distance_squared(&gy, &by) < 1e-24);
        let value = model.value(at.prepared(), &y);
        assert!((sampled.batch_value(&all, &x, &y) - value).abs() < 1e-13);
        let single: f64 = all.iter().map(|&i| sampled.batch_value(&[i], &x, &y)).sum();
        assert!((single / 40.0 - value).abs() < 1e-13);

        // a batch as a problem, with a row that it has twice
        let batch = [3, 17, 3, 22, 39, 8];
        let restriction = model.capabilities().restriction.expect("batches are problems");
        let part = restriction.restrict(&batch).expect("it can");
        let part = WithFallbacks::new(&*part);
        assert!(check_gradient(&*part, &x, &y).expect("finite").worst() < 1e-6);
        let at = At::new(&*part, &x);
        let value = sampled.batch_value(&batch, &x, &y);
        assert!((part.value(at.prepared(), &y) - value).abs() < 1e-13);
        let mut slope = vec![0.0; at.image.len()];
        part.grad_image(at.prepared(), &y, &mut slope);
        part.adjoint(&slope, &mut gx);
        part.grad_y(at.prepared(), &y, &mut gy);
        sampled.batch_grad_x(&batch, &x, &y, &mut bx);
        sampled.batch_grad_y(&batch, &x, &y, &mut by);
        assert!(couloir::linalg::distance_squared(&gx, &bx) < 1e-26);
        assert!(couloir::linalg::distance_squared(&gy, &by) < 1e-24);
        let mut best = vec![0.0; 40];
        let response = part.capabilities().best_response.expect("its own");
        assert!(response.best_response(at.prepared(), &mut best) < 1e-12);
        assert!(part.value(at.prepared(), &best) >= value);
        let there = At::new(&*part, &some_x(&model, 1.01));
        let along: f64 = (0..slope.len()).map(|i| slope[i] * (there.image[i] - at.image[i])).sum();
        assert!(part.capabilities().differences.is_some());
        let bend = part.bend_x(at.prepared(), there.prepared(), &y, along);
        let plain = part.value(there.prepared(), &y) - part.value(at.prepared(), &y) - along;
        assert!((bend.value - plain).abs() < 1e-13 + bend.rounding);
        let change = part.change_y(at.prepared(), &y, &best);
        assert!((change.value - (part.value(at.prepared(), &best) - value)).abs() < 1e-12);
    }
}

#[test]
fn the_constants_hold_between_random_points() {
    for settings in variants() {
        let model = model(60, 40, 4, settings);
        let constants = model.constants();
        let (lxx, lxy) = (constants.lxx.expect("known"), constants.lxy.expect("known"));
        let gradient = |x: &[f64], y: &[f64]| {
            let at = At::new(&model, x);
            let (mut s, mut g) = (vec![0.0; at.image.len()], vec![0.0; x.len()]);
            model.grad_image(at.prepared(), y, &mut s);
            model.adjoint(&s, &mut g);
            g
        };
        let distance = |a: &[f64], b: &[f64]| couloir::linalg::distance_squared(a, b).sqrt();
        for trial in 0..10 {
            let t = 0.3 * trial as f64;
            let x = some_x(&model, t);
            let z: Vec<f64> =
                x.iter().enumerate().map(|(i, v)| v + 0.2 * (t + i as f64).cos()).collect();
            let mut peak = vec![0.0; 60];
            peak[3 * trial] = 1.0;
            for y in [some_y(60, t), peak] {
                let (a, b) = (gradient(&x, &y), gradient(&z, &y));
                assert!(distance(&a, &b) <= lxx * distance(&x, &z));
                assert!(distance(&a, &b) <= 1.05 * model.smoothness_at(&y) * distance(&x, &z));
                let w = some_y(60, t + 1.0);
                assert!(distance(&a, &gradient(&x, &w)) <= lxy * distance(&y, &w));
            }
        }
    }
}

#[test]
fn a_certified_solve_reaches_its_gap_on_any_number_of_threads() {
    for scaling in [Scaling::Dro, Scaling::Paper] {
        let model = model(500, 300, 7, RobustSettings::default().scaling(scaling).tau(50.0));
        let x_set = model.x_set().expect("a ball");
        let solve = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            pool.expect("a pool").install(|| {
                Solve::new(&model, &x_set, model.y_set())
                    .method(Method::certified())
                    .gap(1e-4 * model.scale())
                    .iterations(500)
                    .run()
                    .expect("a run")
            })
        };
        let solution = solve(1);
        let outcome = &solution.outcome;
        assert!(outcome.status.is_solved(), "{}", outcome.status);
        assert!(x_set.violation(&solution.x) < 1e-9);
        // the certificate's upper bound is the primal value at x, measured anew
        let at = At::new(&model, &solution.x);
        let mut y = vec![0.0; model.len()];
        model.best_response(at.prepared(), &mut y);
        let primal = model.value(at.prepared(), &y);
        let certificate = outcome.certificate;
        assert!(primal <= certificate.upper + 1e-12 * primal.abs());
        assert!(primal >= certificate.lower);
        assert!(solution == solve(2) && solution == solve(5), "threads");
    }
}

#[test]
fn printed_mpscgs_can_ask_for_its_constants() {
    let model = model(50, 30, 3, RobustSettings::default());
    let sampled = model.capabilities().sampled_constants.expect("known");
    assert!(sampled.sigma().expect("known") > 0.0);
    let mean = sampled.mean_smoothness().expect("known");
    assert!(mean >= model.constants().lyy.expect("known"));
}

#[test]
fn bad_input_is_refused() {
    let rows =
        || SparseMatrix::from_rows(2, vec![0, 1, 2], vec![0, 1], vec![1.0; 2]).expect("rows");
    let settings = RobustSettings::default();
    let refused = |labels: Vec<u32>, classes: usize, settings: RobustSettings| {
        RobustMulticlass::new(rows(), labels, classes, settings).is_err()
    };
    assert!(!refused(vec![0, 1], 2, settings));
    assert!(refused(vec![0], 2, settings), "too few labels");
    assert!(refused(vec![0, 2], 2, settings), "a label out of range");
    assert!(refused(vec![0, 0], 1, settings), "one class");
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(refused(vec![0, 1], 2, settings.tau(bad)));
        assert!(refused(vec![0, 1], 2, settings.level(bad)));
    }
    assert!(refused(vec![0, 1], 2, settings.intercept(Some(f64::NAN))));
    let none = SparseMatrix::from_rows(2, vec![0], vec![], vec![]).expect("no rows");
    assert!(RobustMulticlass::new(none, vec![], 2, settings).is_err());
}
