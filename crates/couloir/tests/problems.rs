//! The ready-made problems: gradients, saddle points, batches.

mod common;

use common::families;
use couloir::domain::Domain;
use couloir::problem::{
    ExactDifferences, Population, PreparedImage, QuadraticSum, SaddleProblem, check_gradient,
};

#[test]
fn gradients_agree_with_finite_differences() {
    for family in families() {
        let (x, y) = (&family.problem.saddle().x, &family.problem.saddle().y);
        let x: Vec<f64> = x.iter().enumerate().map(|(i, v)| v + 0.1 * (i as f64).cos()).collect();
        let y: Vec<f64> = y.iter().enumerate().map(|(i, v)| v + 0.1 * (i as f64).sin()).collect();
        let report = check_gradient(&family.problem, &x, &y).expect("finite values");
        assert!(report.worst() < 1e-6, "{}: {report:?}", family.name);
    }
}

/// `f(x*, y) <= f(x*, y*) <= f(x, y*)` for many `x` and `y` of the sets, and the exact gap vanishes there.
#[test]
fn the_saddle_point_is_one() {
    for family in families() {
        let (p, xs, ys) = (&family.problem, &*family.x_set, &*family.y_set);
        let saddle = p.saddle();
        assert!(xs.contains(&saddle.x, 1e-12) && ys.contains(&saddle.y, 1e-12), "{}", family.name);
        let value = |x: &[f64], y: &[f64]| p.value(PreparedImage::plain(x), y);
        assert_eq!(value(&saddle.x, &saddle.y), saddle.value);
        for trial in 0..200 {
            let point = |set: &dyn Domain, shift: f64| {
                let g: Vec<f64> = (0..set.dim())
                    .map(|i| ((trial * 31 + i) as f64 * 0.73 + shift).sin())
                    .collect();
                let mut v = vec![0.0; set.dim()];
                set.oracle().lmo(&g, &mut v).expect("a vertex");
                v
            };
            let (x, y) = (point(xs, 0.0), point(ys, 1.0));
            assert!(value(&saddle.x, &y) <= saddle.value + 1e-12, "{}", family.name);
            assert!(value(&x, &saddle.y) >= saddle.value - 1e-12, "{}", family.name);
            let gap = p.exact_gap(xs, ys, &x, &y).expect("isotropic curvature");
            // the exact gap is at least what any pair of deviations shows
            let shown = value(&x, &saddle.y) - value(&saddle.x, &y);
            assert!(gap >= shown - 1e-12, "{}: gap {gap}, shown {shown}", family.name);
        }
    }
}

#[test]
fn differences_without_cancellation_agree_with_the_values() {
    let family = &families()[3];
    let p = &family.problem;
    let (n, m) = (p.dim_x(), p.dim_y());
    let a: Vec<f64> = (0..n).map(|i| (i as f64).sin() * 0.2).collect();
    let b: Vec<f64> = (0..n).map(|i| (i as f64).cos() * 0.2).collect();
    let (y, w) = (vec![0.1; m], (0..m).map(|i| 0.05 * i as f64).collect::<Vec<_>>());
    let (sa, sb) = (PreparedImage::plain(&a), PreparedImage::plain(&b));
    let mut g = vec![0.0; n];
    p.grad_image(sa, &y, &mut g);
    let slope: f64 = (0..n).map(|i| g[i] * (b[i] - a[i])).sum();
    let plain = p.value(sb, &y) - p.value(sa, &y) - slope;
    assert!((p.bend_x(sa, sb, &y, slope).value - plain).abs() < 1e-13);
    let plain = p.value(sa, &w) - p.value(sa, &y);
    assert!((p.change_y(sa, &y, &w).value - plain).abs() < 1e-13);
}

#[test]
fn the_mean_over_all_components_is_the_whole() {
    let family = families().swap_remove(0);
    let n = 40;
    let sum = QuadraticSum::new(family.problem, Population::Finite(n), 0.5, 0.3, 9).expect("a sum");
    let x: Vec<f64> = (0..sum.dim_x()).map(|i| 0.1 * (i as f64).cos()).collect();
    let y: Vec<f64> = (0..sum.dim_y()).map(|i| 0.1 * (i as f64).sin()).collect();
    let at = PreparedImage::plain(&x);
    let batches = sum.capabilities().sampled.expect("a finite sum");
    assert_eq!(batches.population(), Population::Finite(n));
    let all: Vec<u64> = (0..n).collect();
    let (mut whole, mut batch) = (vec![0.0; x.len()], vec![0.0; x.len()]);
    sum.grad_image(at, &y, &mut whole);
    batches.batch_grad_x(&all, &x, &y, &mut batch);
    assert!(couloir::linalg::distance_squared(&whole, &batch) < 1e-28);
    batches.batch_grad_x(&all[..3], &x, &y, &mut batch);
    assert!(couloir::linalg::distance_squared(&whole, &batch) > 1e-6, "components differ");
    let (mut whole, mut batch) = (vec![0.0; y.len()], vec![0.0; y.len()]);
    sum.grad_y(at, &y, &mut whole);
    batches.batch_grad_y(&all, &x, &y, &mut batch);
    assert!(couloir::linalg::distance_squared(&whole, &batch) < 1e-28);
}
