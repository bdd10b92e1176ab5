//! A fit is what its parts say: the same problem, the same start, the same bits.

use couloir::linalg::SparseMatrix;
use couloir::model::{
    Ball, Fitted, RobustFit, RobustMulticlass, RobustSettings, Scaling, Start, auto_tau,
    heaviest_feature,
};
use couloir::problem::LinearOperator;
use couloir::run::{Algorithm, Flow, NoClock, TracePoint};
use couloir::{Error, Inner, Method, Result, Solve};

const CLASSES: usize = 3;

/// Rows around three directions, with some noise; `unit` is what one of the data is measured in.
fn data(n: usize, unit: f64) -> (SparseMatrix, Vec<u32>) {
    let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    let labels: Vec<u32> = (0..n).map(|i| (i * i % CLASSES) as u32).collect();
    for (i, &label) in labels.iter().enumerate() {
        indices.extend([label, 3 + (i % 7) as u32, 10]);
        let noise = (i as f64 * 1.7).sin();
        values.extend([unit * (0.8 + noise), unit * 0.6, -unit * noise]);
        starts.push(indices.len());
    }
    (SparseMatrix::from_rows(11, starts, indices, values).expect("rows"), labels)
}

fn run(fit: &RobustFit, (rows, labels): (SparseMatrix, Vec<u32>)) -> Result<Fitted> {
    let mut nobody = |_: &TracePoint, _: &dyn Algorithm| Flow::Continue;
    fit.run(rows, labels, CLASSES, &NoClock, &mut nobody)
}

#[test]
fn a_method_for_bilinear_functions_is_refused_before_anything_is_read() {
    let error = RobustFit::default().method(Method::restarted()).check();
    assert!(matches!(error, Err(Error::Setting { name: "method", .. })), "{error:?}");
}

#[test]
fn a_fit_gives_the_bits_of_the_solve_that_it_stands_for() {
    for (scaling, start) in [(Scaling::Dro, Start::Uniform), (Scaling::Paper, Start::Vertex)] {
        let fit = RobustFit::default().scaling(scaling).start(start).tau(Some(20.0)).tol(1e-6);
        let fitted = run(&fit, data(60, 1.0)).expect("a fit");

        let (rows, labels) = data(60, 1.0);
        let settings = RobustSettings::default().scaling(scaling).tau(20.0);
        let model = RobustMulticlass::new(rows, labels, CLASSES, settings).expect("a model");
        let x_set = model.x_set().expect("a ball");
        let mut solve = Solve::new(&model, &x_set, model.y_set()).gap(1e-6 * model.scale());
        if start == Start::Vertex {
            let mut y = vec![0.0; 60];
            y[0] = 1.0;
            solve = solve.start_y(y);
        }
        let solution = solve.run().expect("a solution");
        assert_eq!((&fitted.solution().x, &fitted.solution().y), (&solution.x, &solution.y));
        assert!(fitted.outcome().status.is_solved() && fitted.gap() <= 1e-6);
        let certificate = solution.outcome.certificate;
        assert!(fitted.value() <= fitted.primal());
        let upper = certificate.upper / model.scale();
        assert!(fitted.primal() <= upper, "{} {upper}", fitted.primal());
        assert!((fitted.gap() - fitted.gap_x() - fitted.gap_y()).abs() <= 1e-15);
    }
}

#[test]
fn the_chosen_radius_takes_out_the_units_of_the_data() {
    let taus: Vec<f64> = [1.0, 8.0]
        .map(|u| auto_tau(&data(60, u).0, CLASSES, None, Ball::Nuclear).expect("tau"))
        .into();
    assert!((taus[0] - 8.0 * taus[1]).abs() <= 1e-12 * taus[0], "{taus:?}");
    let values = [1.0, 8.0].map(|u| {
        let fitted = run(&RobustFit::default().tol(1e-7), data(60, u)).expect("a fit");
        fitted.primal()
    });
    assert!((values[0] - values[1]).abs() <= 2e-7, "{values:?}");
    let empty = SparseMatrix::from_rows(2, vec![0, 0, 0], vec![], vec![]).expect("rows");
    assert!(matches!(
        auto_tau(&empty, 2, None, Ball::Nuclear),
        Err(Error::Setting { name: "tau", .. })
    ));
}

#[test]
fn the_classifier_of_a_fit_has_the_scores_of_the_model() {
    for intercept in [false, true] {
        let fit = RobustFit::default().intercept(intercept).tau(Some(5.0));
        let fitted = run(&fit, data(40, 2.0)).expect("a fit");
        let labels = ["a", "b", "c"].map(str::to_owned).to_vec();
        let classifier = fitted.classifier(labels).expect("a classifier");
        assert_eq!((classifier.features(), classifier.bias().is_some()), (11, intercept));
        let mut scores = vec![0.0; 40 * CLASSES];
        classifier.scores(&data(40, 2.0).0, &mut scores).expect("scores");
        let mut image = vec![0.0; 40 * CLASSES];
        fitted.model().image(&fitted.solution().x, &mut image);
        for (a, b) in scores.iter().zip(&image) {
            assert!((a - b).abs() <= 1e-12 * (1.0 + b.abs()), "{a} {b}");
        }
        assert_eq!(classifier.info()["tau"], "5");
        assert_eq!(classifier.info()["objective"], "dro");
    }
}

#[test]
fn rank_and_nuclear_norm_are_those_of_the_weights() {
    let fitted = run(&RobustFit::default().tau(Some(0.5)).tol(1e-9), data(60, 1.0)).expect("a fit");
    assert!(fitted.rank() >= 1 && fitted.rank() <= CLASSES);
    assert!((fitted.nuclear_norm() - 0.5).abs() <= 1e-9, "a small ball is filled");
    let squares: f64 = fitted.weights().iter().map(|w| w * w).sum();
    let singular: f64 = fitted.singular_values().iter().map(|s| s * s).sum();
    assert!((squares - singular).abs() <= 1e-12 * squares);
}

#[test]
fn losses_below_rounding_end_no_method_with_an_error() {
    // separable with room: the best response has nothing but rounding left to find
    let (n, row) = (3000, 200);
    for name in ["certified", "batched", "apg", "extragradient", "spfw"] {
        let starts = (0..=n).map(|i| i * row).collect();
        let indices = (0..n * row).map(|p| (2 * (p % row) + p / row % 2) as u32).collect();
        let values = (0..n * row).map(|p| 0.3 + 0.2 * (p as f64).sin()).collect();
        let rows = SparseMatrix::from_rows(2 * row, starts, indices, values).expect("rows");
        let labels = (0..n as u32).map(|i| i % 2).collect();
        let method: Method = name.parse().expect("a method");
        let fit = RobustFit::default().method(method).tol(1e-9).max_iters(Some(6));
        let fitted = run(&fit, (rows, labels));
        assert!(fitted.is_ok(), "{name}: {:?}", fitted.err());
    }
}

#[test]
fn settings_that_no_data_can_save_are_named() {
    let base = RobustFit::default;
    for (fit, name) in [
        (base().tau(Some(0.0)), "tau"),
        (base().tau(Some(f64::NAN)), "tau"),
        (base().level(-1.0), "level"),
        (base().tol(0.0), "tolerance"),
        (base().max_seconds(Some(0.0)), "time limit"),
        (base().method(Method::spafw()), "spafw"),
    ] {
        let error = fit.check().expect_err("refused");
        assert!(error.to_string().contains(name), "{error}");
        let again = run(&fit, data(9, 1.0)).expect_err("refused");
        assert_eq!(again.to_string(), error.to_string());
    }
    assert!(Method::svre().with_inner(Inner::Slide).is_err());
}

#[test]
fn the_intercept_weighs_as_much_as_the_heaviest_feature() {
    // features of root mean square 0, 3, sqrt(8)
    let rows = SparseMatrix::from_rows(3, vec![0, 1, 3], vec![1, 1, 2], vec![-3.0, 3.0, 4.0]);
    assert_eq!(heaviest_feature(&rows.expect("rows"), None), 3.0);
    let empty = SparseMatrix::from_rows(3, vec![0, 0, 0], vec![], vec![]).expect("rows");
    assert_eq!(heaviest_feature(&empty, None), 1.0);

    let fit = RobustFit::default().intercept(true).tau(Some(5.0));
    let fitted = run(&fit, data(30, 7.0)).expect("a fit");
    assert_eq!(fitted.model().settings().intercept, Some(heaviest_feature(&data(30, 7.0).0, None)));
}
