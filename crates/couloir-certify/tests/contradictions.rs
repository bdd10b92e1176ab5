//! A problem or an oracle that contradicts itself is not believed: the run ends with a status, or before it has begun with an
//! error, that names what was contradicted, with both numbers.

use couloir::domain::{BoxSet, Domain, LoSet};
use couloir::problem::{ClosureProblem, SaddleProblem};
use couloir::run::Status;
use couloir::{Certificate, Error, Method, Solution, Solve};
use couloir_certify::draw::Draw;

fn method(name: &str) -> Method {
    name.parse().expect("a method")
}

/// Methods that certify in ways of their own.
const CERTIFIERS: [&str; 5] = ["certified", "spfw", "extragradient", "apg", "spafw"];

/// Runs a problem that contradicts itself by every method that takes it, and looks that each one says so; returns what the
/// contradictions are.
fn accused(problem: &dyn SaddleProblem, x_set: &dyn Domain, y_set: &dyn Domain) -> Vec<String> {
    let mut found = Vec::new();
    for name in CERTIFIERS {
        let solve = Solve::new(problem, x_set, y_set).method(method(name)).gap(1e-6);
        let error = match solve.iterations(2_000).run() {
            // before there is a certificate it is an error
            Err(Error::MissingOracle { .. }) => continue,
            Err(error) => error,
            Ok(Solution { outcome, .. }) => {
                let (status, certificate) = (outcome.status, outcome.certificate);
                assert_eq!(status, Status::Contradiction, "{name}: {certificate:?}");
                assert_eq!(certificate, Certificate::NONE, "{name}");
                outcome.trouble.expect("what was contradicted")
            }
        };
        let Error::Contradiction { what, claimed, seen, allowance, .. } = error else {
            panic!("{name}: {error}");
        };
        assert!((claimed - seen).abs() > allowance && allowance > 0.0, "{name}: {error}");
        let text = error.to_string();
        for number in [claimed, seen] {
            assert!(text.contains(&format!("{number:e}")), "{name}: {text}");
        }
        found.push(what.to_owned());
    }
    found
}

/// `1/2 |x - (1, 1)/4|^2 + <x, y> - 1/2 |y|^2` as a user writes it, with `grad_x` times a factor.
fn simple(factor: f64) -> ClosureProblem<'static> {
    let value = |x: &[f64], y: &[f64]| {
        (0..2).map(|i| 0.5 * (x[i] - 0.25).powi(2) + x[i] * y[i] - 0.5 * y[i] * y[i]).sum()
    };
    let grad_x = move |x: &[f64], y: &[f64], out: &mut [f64]| {
        (0..2).for_each(|i| out[i] = factor * (x[i] - 0.25 + y[i]));
    };
    let grad_y = |x: &[f64], y: &[f64], out: &mut [f64]| (0..2).for_each(|i| out[i] = x[i] - y[i]);
    ClosureProblem::new(2, 2, value, grad_x, grad_y).expect("a problem")
}

#[test]
fn a_set_whose_oracle_maximises_is_not_believed() {
    // the square [0, 1]^2 with the corner that is worst
    let wrong = LoSet::new(2, 2f64.sqrt(), vec![0.5, 0.5], |g, p| {
        (0..2).for_each(|i| p[i] = if g[i] > 0.0 { 1.0 } else { 0.0 });
    });
    let y_set = BoxSet::cube(2, -1.0, 1.0).expect("a box");
    let found = accused(&simple(1.0), &wrong.expect("a set"), &y_set);
    assert!(found.len() >= 2 && found.iter().all(|what| what.contains("minim")), "{found:?}");
}

#[test]
fn a_gradient_that_is_too_small_is_not_believed() {
    // linear in x, so that a slope of half its size makes every lower bound too high
    let value = |x: &[f64], y: &[f64]| x[0] + 0.5 * x[1] + x[0] * y[0] - 0.5 * y[0] * y[0];
    let grad_x = |_: &[f64], y: &[f64], out: &mut [f64]| {
        (out[0], out[1]) = (0.5 * (1.0 + y[0]), 0.25);
    };
    let grad_y = |x: &[f64], y: &[f64], out: &mut [f64]| out[0] = x[0] - y[0];
    let problem = ClosureProblem::new(2, 1, value, grad_x, grad_y).expect("a problem");
    let x_set = BoxSet::cube(2, -1.0, 1.0).expect("a box");
    let y_set = BoxSet::cube(1, -0.5, 0.5).expect("a box");
    let found = accused(&problem, &x_set, &y_set);
    assert_eq!(found.len(), CERTIFIERS.len(), "{found:?}");
}

#[test]
fn a_function_that_is_convex_in_y_is_not_believed() {
    let value = |x: &[f64], y: &[f64]| 0.5 * x[0] * x[0] + x[0] * y[0] + 0.5 * y[0] * y[0];
    let grad_x = |x: &[f64], y: &[f64], out: &mut [f64]| out[0] = x[0] + y[0];
    let grad_y = |x: &[f64], y: &[f64], out: &mut [f64]| out[0] = x[0] + y[0];
    let problem = ClosureProblem::new(1, 1, value, grad_x, grad_y).expect("a problem");
    let (x_set, y_set) =
        (BoxSet::cube(1, -1.0, 0.5).expect("a box"), BoxSet::cube(1, -0.75, 1.0).expect("a box"));
    let found = accused(&problem, &x_set, &y_set);
    assert_eq!(found.len(), CERTIFIERS.len(), "{found:?}");
}

#[test]
fn a_function_that_is_concave_in_x_is_not_believed() {
    let value = |x: &[f64], y: &[f64]| -0.5 * x[0] * x[0] + x[0] * y[0] - 0.5 * y[0] * y[0];
    let grad_x = |x: &[f64], y: &[f64], out: &mut [f64]| out[0] = y[0] - x[0];
    let grad_y = |x: &[f64], y: &[f64], out: &mut [f64]| out[0] = x[0] - y[0];
    let problem = ClosureProblem::new(1, 1, value, grad_x, grad_y).expect("a problem");
    let (x_set, y_set) =
        (BoxSet::cube(1, -1.0, 0.5).expect("a box"), BoxSet::cube(1, -0.25, 0.25).expect("a box"));
    let found = accused(&problem, &x_set, &y_set);
    assert_eq!(found.len(), CERTIFIERS.len(), "{found:?}");
}

#[test]
fn an_oracle_that_is_a_little_off_and_values_with_noise_are_not_accused() {
    // the square again, by corners that are off by 1e-9, as a solver with a tolerance leaves them
    let off = LoSet::new(2, 2.0, vec![0.5, 0.5], |g, p| {
        (0..2).for_each(|i| p[i] = if g[i] > 0.0 { 1e-9 } else { 1.0 - 1e-9 });
    });
    let y_set = BoxSet::cube(2, -1.0, 1.0).expect("a box");
    let x_set = off.expect("a set");
    let problem = simple(1.0);
    for name in ["certified", "spfw"] {
        let solve =
            Solve::new(&problem, &x_set, &y_set).method(method(name)).gap(1e-3).iterations(2_000);
        let status = solve.run().expect("a run").outcome.status;
        assert!(status.is_solved(), "{name}: {status}");
    }
    // what a simulation leaves: noise in value and gradients, relative to numbers of size 1
    let noise = |x: &[f64], y: &[f64]| {
        let bits: u64 = x
            .iter()
            .chain(y)
            .fold(7, |h: u64, v| (h ^ v.to_bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        1e-9 * ((bits >> 11) as f64 / (1u64 << 53) as f64 - 0.5)
    };
    let mut draw = Draw::new(4);
    for _ in 0..20 {
        let (a, b) = (draw.unit(), draw.unit());
        let value = move |x: &[f64], y: &[f64]| {
            0.5 * (x[0] - a).powi(2) + x[0] * y[0] - 0.5 * (y[0] - b).powi(2) + noise(x, y)
        };
        let grad_x =
            move |x: &[f64], y: &[f64], out: &mut [f64]| out[0] = x[0] - a + y[0] + noise(x, y);
        let grad_y =
            move |x: &[f64], y: &[f64], out: &mut [f64]| out[0] = x[0] - y[0] + b + noise(y, x);
        let problem = ClosureProblem::new(1, 1, value, grad_x, grad_y).expect("a problem");
        let set = BoxSet::cube(1, -1.0, 1.0).expect("a box");
        for name in CERTIFIERS {
            let solve = Solve::new(&problem, &set, &set).method(method(name)).gap(1e-12);
            match solve.iterations(300).run() {
                Ok(solution) => {
                    let outcome = solution.outcome;
                    assert_ne!(
                        outcome.status,
                        Status::Contradiction,
                        "{name}: {:?}",
                        outcome.trouble
                    );
                }
                Err(error) => assert!(!error.is_contradiction(), "{name}: {error}"),
            }
        }
    }
}
