//! Uncertainty sets other than the chi-square penalty, on the robust model.

use couloir::linalg::{Layout, SparseMatrix, distance_squared};
use couloir::model::loss::{LOSSES, LossChoice, MultinomialLogistic};
use couloir::model::uncertainty::{Groups, RowData, UNCERTAINTY_SETS, UncertaintyChoice};
use couloir::model::{GroupRobust, RobustFit, RobustMulticlass, RobustSettings, Start};
use couloir::problem::{
    KnownConstants, PreparedImage, SaddleProblem, WithFallbacks, check_gradient,
};
use couloir::run::{Algorithm, Flow, NoClock, TracePoint};
use couloir::{Error, Method, Solve};
use std::sync::Arc;

const ROWS: usize = 40;
const FEATURES: usize = 12;
const GROUPS: usize = 3;

/// Sparse rows with both signs.
fn rows() -> SparseMatrix {
    let starts = (0..=ROWS).map(|i| 3 * i).collect();
    let indices = (0..ROWS).flat_map(|i| [i % 4, 4 + i % 3, 7 + i % 5].map(|j| j as u32)).collect();
    let values = (0..3 * ROWS).map(|k| (1.3 * k as f64).sin()).collect();
    SparseMatrix::from_rows(FEATURES, starts, indices, values).expect("rows")
}

fn labels(classes: usize) -> Vec<u32> {
    (0..ROWS).map(|i| ((i * i + i / 3) % classes) as u32).collect()
}

/// Groups of different size.
fn groups() -> Vec<u32> {
    (0..ROWS).map(|i| [0, 0, 0, 1, 0, 2, 1][i % 7]).collect()
}

fn model(classes: usize, level: f64, layout: Layout) -> RobustMulticlass {
    let set = Groups::new(groups(), level).expect("groups");
    let settings = RobustSettings::default().tau(6.0).layout(layout);
    let loss = Arc::new(MultinomialLogistic);
    RobustMulticlass::compose(loss, Arc::new(set), rows(), labels(classes), classes, settings)
        .expect("a model")
}

struct At {
    image: Vec<f64>,
    cache: Vec<f64>,
}

impl At {
    fn new(problem: &dyn SaddleProblem, x: &[f64]) -> Self {
        let problem = WithFallbacks::new(problem);
        let mut at =
            At { image: vec![0.0; problem.image_dim()], cache: vec![0.0; problem.cache_dim()] };
        problem.image(x, &mut at.image);
        problem.prepare(&at.image, &mut at.cache);
        at
    }

    fn prepared(&self) -> PreparedImage<'_> {
        PreparedImage { image: &self.image, cache: &self.cache }
    }
}

fn some_x(dim: usize, size: f64) -> Vec<f64> {
    (0..dim).map(|i| size * (0.37 * i as f64 + 0.1).sin()).collect()
}

fn gradient(problem: &dyn SaddleProblem, x: &[f64], y: &[f64]) -> Vec<f64> {
    let at = At::new(problem, x);
    let (mut s, mut g) = (vec![0.0; at.image.len()], vec![0.0; x.len()]);
    problem.grad_image(at.prepared(), y, &mut s);
    WithFallbacks::new(problem).adjoint(&s, &mut g);
    g
}

#[test]
fn groups_of_two_classes_are_the_group_robust_model() {
    let level = 0.3;
    let two = model(2, level, Layout::ClassMajor);
    let signs = labels(2).iter().map(|&b| if b == 1 { 1.0 } else { -1.0 }).collect();
    let other =
        GroupRobust::new(rows(), signs, groups(), level * GROUPS as f64).expect("the other model");
    let x = some_x(FEATURES, 1.5);
    // class 1 scores <a, x>, class 0 scores 0
    let mut matrix = vec![0.0; FEATURES];
    matrix.extend(&x);
    let (at, there) = (At::new(&two, &matrix), At::new(&other, &x));
    let y = [0.2, 0.5, 0.3];
    let values = (two.value(at.prepared(), &y), other.value(there.prepared(), &y));
    assert!((values.0 - values.1).abs() < 1e-14, "{values:?}");
    let (mut g, mut g_there) = ([0.0; GROUPS], [0.0; GROUPS]);
    two.grad_y(at.prepared(), &y, &mut g);
    other.grad_y(there.prepared(), &y, &mut g_there);
    assert!(distance_squared(&g, &g_there) < 1e-28);
    let (gradient, gradient_there) = (gradient(&two, &matrix, &y), gradient(&other, &x, &y));
    assert!(distance_squared(&gradient[FEATURES..], &gradient_there) < 1e-28);
    let respond = |problem: &dyn SaddleProblem, at: &At| {
        let mut y = vec![0.0; GROUPS];
        let known = problem.capabilities().best_response.expect("it is known");
        assert!(known.best_response(at.prepared(), &mut y) < 1e-12);
        y
    };
    assert!(distance_squared(&respond(&two, &at), &respond(&other, &there)) < 1e-28);
}

#[test]
fn gradients_differences_and_batches_with_groups_are_right() {
    for layout in [Layout::ClassMajor, Layout::FeatureMajor] {
        let model = model(3, 0.5, layout);
        let (x, y, w) = (some_x(model.dim_x(), 1.0), [0.2, 0.5, 0.3], [0.6, 0.0, 0.4]);
        assert!(check_gradient(&model, &x, &y).expect("finite").worst() < 1e-6);

        let capabilities = model.capabilities();
        let sampled = capabilities.sampled.expect("a mean");
        let all: Vec<u64> = (0..ROWS as u64).collect();
        let at = At::new(&model, &x);
        let whole = model.value(at.prepared(), &y);
        assert!((sampled.batch_value(&all, &x, &y) - whole).abs() < 1e-14);
        let single: f64 = all.iter().map(|&i| sampled.batch_value(&[i], &x, &y)).sum();
        assert!((single / ROWS as f64 - whole).abs() < 1e-14);

        // a batch as a problem, with a row that it has twice
        let batch = [3, 17, 3, 22, 39, 8, 5];
        let restriction = capabilities.restriction.expect("batches are problems");
        let part = restriction.restrict(&batch).expect("it can");
        let part = WithFallbacks::new(&*part);
        assert!(check_gradient(&*part, &x, &y).expect("finite").worst() < 1e-6);
        let at = At::new(&*part, &x);
        let value = sampled.batch_value(&batch, &x, &y);
        assert!((part.value(at.prepared(), &y) - value).abs() < 1e-14);
        let (mut g, mut b) = (vec![0.0; x.len()], vec![0.0; x.len()]);
        sampled.batch_grad_x(&batch, &x, &y, &mut b);
        g.copy_from_slice(&gradient(&*part, &x, &y));
        assert!(distance_squared(&g, &b) < 1e-28);
        let (mut g, mut b) = ([0.0; GROUPS], [0.0; GROUPS]);
        part.grad_y(at.prepared(), &y, &mut g);
        sampled.batch_grad_y(&batch, &x, &y, &mut b);
        assert!(distance_squared(&g, &b) < 1e-28);

        // differences, of the whole and of the part
        for problem in [WithFallbacks::new(&model), part] {
            assert!(problem.capabilities().differences.is_some());
            let (at, there) = (At::new(&*problem, &x), At::new(&*problem, &some_x(x.len(), 1.01)));
            let mut slope = vec![0.0; at.image.len()];
            problem.grad_image(at.prepared(), &y, &mut slope);
            let along: f64 =
                (0..slope.len()).map(|i| slope[i] * (there.image[i] - at.image[i])).sum();
            let plain =
                problem.value(there.prepared(), &y) - problem.value(at.prepared(), &y) - along;
            let bend = problem.bend_x(at.prepared(), there.prepared(), &y, along);
            assert!((bend.value - plain).abs() < 1e-13 + bend.rounding, "{bend:?} {plain:e}");
            let plain = problem.value(at.prepared(), &w) - problem.value(at.prepared(), &y);
            let change = problem.change_y(at.prepared(), &y, &w);
            assert!((change.value - plain).abs() < 1e-13, "{change:?} {plain:e}");

            // the constants hold between points
            let constants = problem.constants();
            let (lxx, lxy) = (constants.lxx.expect("known"), constants.lxy.expect("known"));
            let far = some_x(x.len(), -0.7);
            let [a, b, c] =
                [(&x, &y), (&far, &y), (&x, &w)].map(|(x, y)| gradient(&*problem, x, y));
            let distance = |a: &[f64], b: &[f64]| distance_squared(a, b).sqrt();
            assert!(distance(&a, &b) <= lxx * distance(&x, &far));
            assert!(distance(&a, &c) <= lxy * distance(&y, &w));
        }
    }
}

#[test]
fn every_method_that_takes_groups_certifies_the_same_value() {
    let model = model(3, 0.5, Layout::FeatureMajor);
    assert_eq!(model.constants().mu, Some(1.5));
    let x_set = model.x_set().expect("a ball");
    let run = |method: Method, gap: f64| {
        let solve = Solve::new(&model, &x_set, model.y_set()).method(method).gap(gap);
        let solution = solve.iterations(20_000).run().expect("a run");
        assert!(solution.outcome.status.is_solved(), "{}", solution.outcome.status);
        solution.outcome.certificate
    };
    let best = run(Method::certified(), 1e-8);
    for (method, gap) in [(Method::apg(), 1e-6), (Method::batched(), 1e-6), (Method::spfw(), 1e-1)]
    {
        let other = run(method, gap);
        assert!(other.lower <= best.upper + 1e-12 && best.lower <= other.upper + 1e-12);
    }
}

#[test]
fn a_fit_chooses_its_uncertainty_set_by_name() {
    let mut nobody = |_: &TracePoint, _: &dyn Algorithm| Flow::Continue;
    let choice: UncertaintyChoice = "group".parse().expect("a set");
    let fit = RobustFit::default().tau(Some(6.0)).tol(1e-6).uncertainty(choice).level(0.5);
    for start in [Start::Uniform, Start::Vertex] {
        let fit = fit.clone().start(start).groups(Some(groups()));
        let fitted = fit.run(rows(), labels(3), 3, &NoClock, &mut nobody).expect("a fit");
        assert!(fitted.outcome().status.is_solved() && fitted.gap() <= 1e-6);
        assert!(fitted.primal() >= fitted.value());
        let weights = fitted.model().row_weights(&fitted.solution().y);
        assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(weights[0] == weights[1] && weights[0] != weights[3]);
        let names = (0..3).map(|i| i.to_string()).collect();
        let classifier = fitted.classifier(names).expect("a classifier");
        assert_eq!(classifier.info()["uncertainty"], "group");
        assert_eq!(classifier.info()["loss"], "logistic");
    }
    // what is missing or does not fit is named
    for (groups, what) in [
        (None, "group"),
        (Some(vec![0; ROWS - 1]), "groups"),
        (Some((0..ROWS as u32).map(|i| 2 * i).collect()), "group 1"),
        (Some(vec![u32::MAX; ROWS]), "group 0"),
    ] {
        let error = fit.clone().groups(groups).model(rows(), labels(3), 3).expect_err("wrong");
        assert!(error.to_string().contains(what), "{error}");
    }
}

#[test]
fn every_loss_with_every_uncertainty_set_has_right_gradients_and_can_be_fitted() {
    let mut nobody = |_: &TracePoint, _: &dyn Algorithm| Flow::Continue;
    for loss in LOSSES {
        for set in UNCERTAINTY_SETS {
            let fit = RobustFit::default().tau(Some(4.0)).level(0.5);
            let fit = fit.loss(*loss).uncertainty(*set).groups(Some(groups()));
            let model = fit.model(rows(), labels(3), 3).expect("a model");
            let tol = if model.uncertainty().moduli().mu.is_some() { 1e-5 } else { 1e-3 };
            let fit = fit.tol(tol);
            let x = some_x(model.dim_x(), 1.0);
            let dim = model.dim_y();
            let mut y: Vec<f64> =
                (1..=dim).map(|i| 2.0 * i as f64 / (dim * (dim + 1)) as f64).collect();
            model.y_set().repair(&mut y);
            let check = check_gradient(&model, &x, &y).expect("finite");
            assert!(check.worst() < 1e-6, "{loss} with {set}: {check:?}");
            let fitted = fit.run(rows(), labels(3), 3, &NoClock, &mut nobody).expect("a fit");
            let (status, gap) = (fitted.outcome().status, fitted.gap());
            assert!(status.is_solved() && gap <= tol, "{loss} with {set}: {status}, gap {gap}");
        }
    }
}

#[test]
fn tables_and_names_agree_and_unknown_names_list_the_known_ones() {
    for line in LOSSES {
        assert_eq!(line.loss().name(), line.name());
        assert_eq!(line.name().parse::<LossChoice>().expect("it is there"), *line);
    }
    let groups = [0, 1, 0];
    let data = RowData::new(3).groups(Some(&groups)).labels(Some(&groups));
    for line in UNCERTAINTY_SETS {
        assert_eq!(line.set(&data, 1.0).expect("a set").name(), line.name());
        assert_eq!(line.name().parse::<UncertaintyChoice>().expect("it is there"), *line);
        assert!(line.set(&data, f64::NAN).is_err(), "{line}");
        assert!(line.check_level(line.level().default).is_ok() && !line.level().means.is_empty());
    }
    let error = "wasserstein".parse::<UncertaintyChoice>().expect_err("not there");
    assert!(matches!(error, Error::Setting { name: "uncertainty", .. }));
    assert!(UNCERTAINTY_SETS.iter().all(|line| error.to_string().contains(line.name())), "{error}");
}

#[test]
fn a_set_for_other_rows_is_refused() {
    let set = Groups::new(vec![0, 1], 1.0).expect("groups");
    let loss = Arc::new(MultinomialLogistic);
    let settings = RobustSettings::default();
    let result = RobustMulticlass::compose(loss, Arc::new(set), rows(), labels(2), 2, settings);
    assert!(matches!(result, Err(Error::Dimension { .. })), "{result:?}");
}
