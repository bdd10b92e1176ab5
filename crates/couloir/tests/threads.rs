//! The same seed gives the same bits on any number of threads, for every method.

use couloir::domain::L1Ball;
use couloir::model::{GroupRobust, SyntheticGroups};
use couloir::problem::{PreparedImage, SaddleProblem, WithFallbacks, check_gradient};
use couloir::run::StopRules;
use couloir::{Method, Solution, Solve};

fn model(rows: usize) -> GroupRobust {
    let data =
        SyntheticGroups { rows, features: 60, nonzeros: 5, groups: 4, flipped: 0.05, seed: 2 };
    data.model(0.5).expect("a model")
}

/// Every method, with rows and iterations that make a trace in good time.
fn methods() -> Vec<(Method, usize, u64)> {
    vec![
        (Method::certified(), 30_000, 15),
        (Method::mpcgs(), 30_000, 3),
        (Method::batched(), 30_000, 25),
        (Method::mpscgs(), 2_500, 1),
        (Method::spfw(), 30_000, 20),
        (Method::spafw(), 30_000, 20),
        (Method::sppfw(), 30_000, 20),
        (Method::svre(), 30_000, 20),
        (Method::extragradient(), 30_000, 10),
        (Method::apg(), 30_000, 15),
    ]
}

fn solve(model: &GroupRobust, method: Method, iterations: u64, threads: usize) -> Solution {
    let x_set = L1Ball::new(model.dim_x(), 5.0).expect("a ball");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
    let mut rules = StopRules::default();
    rules.iterations = Some(iterations);
    rules.relative_gap = Some(1e-9);
    pool.install(|| Solve::new(model, &x_set, model.y_set()).method(method).rules(rules).run())
        .expect("a run")
}

#[test]
fn any_number_of_threads_gives_identical_traces() {
    for (method, rows, iterations) in methods() {
        let model = model(rows);
        let one = solve(&model, method.clone(), iterations, 1);
        let trace = &one.outcome.trace;
        assert_eq!(one.outcome.iterations, iterations, "{method:?}: {}", one.outcome.status);
        assert_eq!(trace.len() as u64, iterations + 1);
        assert!(trace[0].certificate.gap.is_finite());
        for threads in [2, 5] {
            let many = solve(&model, method.clone(), iterations, threads);
            assert_eq!(one, many, "{method:?} on {threads} threads");
        }
    }
}

#[test]
fn the_group_robust_model_has_right_gradients() {
    let model = model(30_000);
    let x: Vec<f64> = (0..model.dim_x()).map(|i| (i as f64 * 0.3).sin()).collect();
    let y = [0.1, 0.4, 0.3, 0.2];
    assert!(check_gradient(&model, &x, &y).expect("finite").worst() < 1e-6);
    let capabilities = model.capabilities();
    let sampled = capabilities.sampled.expect("a finite sum");
    let batch: Vec<u64> = (0..30_000).step_by(7).collect();
    let restriction = capabilities.restriction.expect("batches are problems");
    let part = restriction.restrict(&batch).expect("it can");
    let part = WithFallbacks::new(&*part);
    assert!(check_gradient(&*part, &x, &y).expect("finite").worst() < 1e-6);
    // the restriction is the batch's mean
    let mut image = vec![0.0; part.image_dim()];
    let mut cache = vec![0.0; part.cache_dim()];
    part.image(&x, &mut image);
    part.prepare(&image, &mut cache);
    let at = PreparedImage { image: &image, cache: &cache };
    let value = sampled.batch_value(&batch, &x, &y);
    assert!((part.value(at, &y) - value).abs() < 1e-12 * value.abs());
    let (mut a, mut b) = (vec![0.0; x.len()], vec![0.0; x.len()]);
    let mut slope = vec![0.0; image.len()];
    part.grad_image(at, &y, &mut slope);
    part.adjoint(&slope, &mut a);
    sampled.batch_grad_x(&batch, &x, &y, &mut b);
    assert!(couloir::linalg::distance_squared(&a, &b) < 1e-24);
    let (mut a, mut b) = (vec![0.0; 4], vec![0.0; 4]);
    part.grad_y(at, &y, &mut a);
    sampled.batch_grad_y(&batch, &x, &y, &mut b);
    assert!(couloir::linalg::distance_squared(&a, &b) < 1e-24);
    // bends and changes without cancellation agree with the values
    assert!(part.capabilities().differences.is_some());
    let z: Vec<f64> = x.iter().map(|v| v + 0.01).collect();
    let mut image_z = vec![0.0; part.image_dim()];
    let mut cache_z = vec![0.0; part.cache_dim()];
    part.image(&z, &mut image_z);
    part.prepare(&image_z, &mut cache_z);
    let at_z = PreparedImage { image: &image_z, cache: &cache_z };
    let along: f64 = (0..image.len()).map(|i| slope[i] * (image_z[i] - image[i])).sum();
    let plain = part.value(at_z, &y) - part.value(at, &y) - along;
    let bend = part.bend_x(at, at_z, &y, along).value;
    assert!((bend - plain).abs() < 1e-12 && bend > 1e-8, "{bend:e} against {plain:e}");
    let w = [0.3, 0.3, 0.3, 0.1];
    let plain = part.value(at, &w) - part.value(at, &y);
    assert!((part.change_y(at, &y, &w).value - plain).abs() < 1e-12);
}
