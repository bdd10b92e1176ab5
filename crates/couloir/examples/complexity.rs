//! Measures how oracle calls grow with 1/eps, against the corollaries of the paper, and Theorem 3 for
//! k = 1..6. Prints the tables of docs/theory.md. `scripts/complexity` runs it.
#![allow(clippy::print_stdout)]

#[path = "../tests/worst_of/mod.rs"]
mod worst_of;

use couloir::block::{Istorc, IstorcConstants, Snapshot};
use couloir::domain::{BoxSet, Domain, L2Ball};
use couloir::problem::{
    Population, QuadraticBilinear, QuadraticSum, Saddle, SaddleProblem, SampledConstants,
};
use couloir::random::Streams;
use couloir::run::{Algorithm, Flow, StopRules, TracePoint};
use couloir::solver::{MpcgsConstants, MpscgsConstants, MpscgsSettings, NegatedBatches};
use couloir::{Method, Result, Solve};
use std::process::ExitCode;

/// The accuracy reached, and the gradients and linear minimisations that it took.
type Point = (f64, f64, f64);

fn main() -> Result<ExitCode> {
    let mut held = true;
    println!("| method | calls | predicted exponent | measured | eps from | to | points |");
    println!("|---|---|---|---|---|---|---|");
    let families = [
        worst_of::squares("least squares with a worst group", 20, 10, 30, false)?,
        worst_of::cvar("CVaR of logistic losses", 8, 150, 0.2, false)?,
        worst_of::bowls("max of smooth functions", 12, 25)?,
    ];
    for family in &families {
        held &= row(family.name, "grad_x", 1.0, &certified(family)?, |p| p.1);
    }
    let points = mpcgs()?;
    held &= row("MPCGS", "grad_x", 0.5, &points, |p| p.1);
    held &= row("MPCGS", "LO", 2.0, &points, |p| p.2);
    let points = istorc()?;
    held &= row("iSTORC", "component gradients", 1.0, &points, |p| p.1);
    held &= row("iSTORC", "LO", 1.0, &points, |p| p.2);
    for (name, population) in [
        ("MPSCGS, finite sum", Population::Finite(44_000)),
        ("MPSCGS, expectation", Population::Infinite),
    ] {
        let points = mpscgs(population)?;
        held &= row(name, "component gradients", 2.0, &points, |p| p.1);
        held &= row(name, "LO", 2.0, &points, |p| p.2);
    }
    println!();
    held &= theorem_3()?;
    Ok(if held { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// One row: the slope of log(calls) against log(1/eps) by least squares. `eps` counts from the first
/// accuracy that was reached, and only improvements count.
fn row(
    method: &str,
    calls: &str,
    predicted: f64,
    points: &[Point],
    pick: impl Fn(&Point) -> f64,
) -> bool {
    let logs: Vec<(f64, f64)> = points.iter().map(|p| (-p.0.ln(), pick(p).max(1.0).ln())).collect();
    let n = logs.len() as f64;
    let (mx, my) =
        (logs.iter().map(|l| l.0).sum::<f64>() / n, logs.iter().map(|l| l.1).sum::<f64>() / n);
    let slope = logs.iter().map(|l| (l.0 - mx) * (l.1 - my)).sum::<f64>()
        / logs.iter().map(|l| (l.0 - mx).powi(2)).sum::<f64>();
    let verdict = if slope <= predicted + 0.1 { "" } else { " (above!)" };
    let (first, last) = (points[0].0, points[points.len() - 1].0);
    let number = points.len();
    println!(
        "| {method} | {calls} | {predicted} | {slope:.2}{verdict} | {first:.1e} | {last:.1e} | {number} |"
    );
    slope <= predicted + 0.1
}

/// The points of a run at which the gap first falls below each of a grid of accuracies, half a decade
/// apart.
fn thresholds(run: &[Point]) -> Vec<Point> {
    let mut points: Vec<Point> = Vec::new();
    for p in run {
        let next = points.last().map_or(f64::INFINITY, |last| last.0 / 10f64.sqrt());
        if p.0 <= next {
            points.push(*p);
        }
    }
    points
}

/// Printed MPCGS on two balls, convex and not strongly convex in x, saddle point on the boundary.
fn mpcgs() -> Result<Vec<Point>> {
    let (x_set, y_set) = (L2Ball::new(12, 1.0)?, L2Ball::new(10, 1.0)?);
    let problem = QuadraticBilinear::on(&x_set, &y_set)
        .curvature(0.0, 1.0)
        .coupling(1.0)
        .push(0.3)
        .build()?;
    let mut run = Vec::new();
    let mut observer = |point: &TracePoint, state: &dyn Algorithm| {
        let (x, y) = state.current();
        if let (1.., Ok(gap)) = (point.iteration, problem.exact_gap(&x_set, &y_set, x, y)) {
            let counts = point.ledger.method;
            run.push((gap, counts.grad_x as f64, counts.lo() as f64));
        }
        Flow::Continue
    };
    let mut rules = StopRules::default();
    (rules.relative_gap, rules.iterations) = (None, Some(1500));
    Solve::new(&problem, &x_set, &y_set)
        .method(Method::mpcgs())
        .rules(rules)
        .run_with(&mut observer)?;
    Ok(thresholds(&run))
}

/// Certified MPCGS on a function that is not strongly concave in `y`, by the gap that it certifies.
fn certified(family: &worst_of::Family) -> Result<Vec<Point>> {
    let mut run = Vec::new();
    let mut observer = |point: &TracePoint, _: &dyn Algorithm| {
        let counts = point.ledger.method;
        if point.iteration > 0 {
            run.push((point.certificate.gap, counts.grad_x as f64, counts.lo() as f64));
        }
        Flow::Continue
    };
    Solve::new(&family.problem, &*family.x_set, &*family.y_set)
        .gap(1e-6)
        .run_with(&mut observer)?;
    Ok(thresholds(&run))
}

/// A small mean with noise in its Hessians.
/// A linear part of this size in x puts the start far above the bounds of Theorem 3.
fn small_with(population: Population, slope: f64) -> Result<(L2Ball, BoxSet, QuadraticSum)> {
    let (x_set, y_set) = (L2Ball::new(3, 1.0)?, BoxSet::cube(3, -0.5, 0.5)?);
    let direction = [0.68, 0.46, -0.57];
    let length = couloir::linalg::norm(&direction);
    let saddle = Saddle {
        x: direction.iter().map(|c| -c / length).collect(),
        y: vec![0.5, -0.2, 0.1],
        value: 0.0,
    };
    let b = vec![0.1, 0.2, 0.0, -0.1, 0.1, 0.1, 0.05, 0.0, -0.2];
    let base = QuadraticBilinear::new(
        vec![0.2; 3],
        vec![1.0; 3],
        b,
        direction.iter().map(|c| slope * c / length).collect(),
        vec![-0.1, 0.0, 0.0],
        saddle,
    )?;
    Ok((x_set, y_set, QuadraticSum::new(base, population, 0.3, 0.1, 8)?))
}

fn small(population: Population) -> Result<(L2Ball, BoxSet, QuadraticSum)> {
    small_with(population, GENTLE)
}

/// The linear part for slopes, and for Theorem 3.
const GENTLE: f64 = 0.3;
const STEEP: f64 = 40.0;

/// iSTORC on `-f(x, .)` over a ball, accuracy against the minimum, mean over seeds.
fn istorc() -> Result<Vec<Point>> {
    let (x_set, _, _) = small(Population::Infinite)?;
    let y_set = L2Ball::new(6, 1.0)?;
    let base = QuadraticBilinear::on(&x_set, &y_set)
        .curvature(0.2, 1.0)
        .coupling(0.3)
        .push(0.5)
        .build()?;
    let sum = QuadraticSum::new(base, Population::Infinite, 0.3, 0.3, 8)?;
    let x = sum.base().saddle().x.clone();
    let value = |y: &[f64]| -> f64 { -sum.value(couloir::problem::PreparedImage::plain(&x), y) };
    // at x = x* the maximiser is y*
    let best = value(&sum.base().saddle().y);
    let constants = IstorcConstants {
        smoothness: sum.mean_smoothness().unwrap_or(f64::NAN),
        strong_convexity: 1.0,
        diameter: y_set.diameter(),
        sigma: sum.sigma_on(x_set.diameter(), y_set.diameter()),
    };
    const ROUNDS: usize = 12;
    const SEEDS: u64 = 10;
    let mut points = vec![(0.0, 0.0, 0.0); ROUNDS];
    for seed in 0..SEEDS {
        let mut stream = Streams::new(seed).stream("complexity");
        let mut solver = Istorc::new(y_set.dim(), constants, Snapshot::Sampled);
        let mut y = vec![0.0; y_set.dim()];
        let mut h = NegatedBatches { sampled: &sum, x: &x };
        let (mut gradients, mut lo) = (0.0, 0.0);
        for (i, point) in points.iter_mut().enumerate() {
            let t = i as u64 + 1;
            let report =
                solver.round(&mut h, &mut *y_set.oracle(), &mut stream, t, u64::MAX, &mut y)?;
            gradients += report.component_grads as f64;
            lo += report.lo_calls as f64;
            point.0 += (value(&y) - best) / SEEDS as f64;
            point.1 += gradients / SEEDS as f64;
            point.2 += lo / SEEDS as f64;
        }
    }
    Ok(thresholds(&points))
}

/// Printed MPSCGS, gap and calls averaged over seeds.
fn mpscgs(population: Population) -> Result<Vec<Point>> {
    const ITERATIONS: usize = 16;
    const SEEDS: u64 = 3;
    let mut points = vec![(0.0, 0.0, 0.0); ITERATIONS];
    for seed in 0..SEEDS {
        for (point, one) in
            points.iter_mut().zip(one_mpscgs(population, GENTLE, seed, ITERATIONS as u64)?)
        {
            point.0 += one.0 / SEEDS as f64;
            point.1 += one.1 / SEEDS as f64;
            point.2 += one.2 / SEEDS as f64;
        }
    }
    Ok(thresholds(&points))
}

fn one_mpscgs(
    population: Population,
    slope: f64,
    seed: u64,
    iterations: u64,
) -> Result<Vec<Point>> {
    let (x_set, y_set, sum) = small_with(population, slope)?;
    let mut settings = MpscgsSettings::default();
    settings.sigma = Some(sum.sigma_on(x_set.diameter(), y_set.diameter()));
    settings.seed = seed;
    let mut run = Vec::new();
    let mut observer = |point: &TracePoint, state: &dyn Algorithm| {
        let (x, y) = state.current();
        if let (1.., Ok(gap)) = (point.iteration, sum.base().exact_gap(&x_set, &y_set, x, y)) {
            let counts = point.ledger.method;
            run.push((gap, counts.component_grads as f64, counts.lo() as f64));
        }
        Flow::Continue
    };
    let mut rules = StopRules::default();
    (rules.relative_gap, rules.iterations) = (None, Some(iterations));
    Solve::new(&sum, &x_set, &y_set)
        .method(Method::new(settings))
        .rules(rules)
        .run_with(&mut observer)?;
    Ok(run)
}

/// Theorem 3: the mean gap of printed MPSCGS against its bound for k = 1..6 over 30 seeds.
fn theorem_3() -> Result<bool> {
    let mut held = true;
    const SEEDS: u64 = 30;
    println!("| k | mean gap, expectation | mean gap, finite sum | bound of Theorem 3 |");
    println!("|---|---|---|---|");
    let (x_set, _, sum) = small(Population::Infinite)?;
    let l = sum.mean_smoothness().unwrap_or(f64::NAN);
    let batch = MpcgsConstants { l, kappa: l, diameter: x_set.diameter() }; // mu = 1
    let bound = MpscgsConstants { batch, sigma: 0.0 };
    let mean = |population: Population| -> Result<Vec<f64>> {
        let mut gaps = vec![0.0; 6];
        for seed in 0..SEEDS {
            for (gap, one) in gaps.iter_mut().zip(one_mpscgs(population, STEEP, seed, 6)?) {
                *gap += one.0 / SEEDS as f64;
            }
        }
        Ok(gaps)
    };
    let (expectation, finite) = (mean(Population::Infinite)?, mean(Population::Finite(44_000))?);
    for k in 1..=6 {
        let b = bound.bound(k as u64);
        let (e, f) = (expectation[k - 1], finite[k - 1]);
        held &= e <= b && f <= b;
        let verdict = if e <= b && f <= b { "" } else { " (exceeded!)" };
        println!("| {k} | {e:.2e} | {f:.2e} | {b:.2e}{verdict} |");
    }
    Ok(held)
}
