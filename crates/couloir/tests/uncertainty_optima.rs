//! Robust models with nominal weights against an independent conic solver, for every uncertainty set.
//!
//! `uncertainty_optima.txt` is written by `scripts/reference_optima`; `bench/peers/uncertainty_optima.py` has the conic programs.

use couloir::Method;
use couloir::Solve;
use couloir::linalg::SparseMatrix;
use couloir::model::loss::MultinomialLogistic;
use couloir::model::uncertainty::{RowData, UNCERTAINTY_SETS, Uncertainty, UncertaintyChoice};
use couloir::model::{RobustMulticlass, RobustSettings};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How far from the optimum the primal value may be.
const AGREEMENT: f64 = 1e-6;

/// The same for functions that are not strongly concave.
const ROUGH: f64 = 1e-4;

struct Instance {
    name: String,
    level: f64,
    classes: usize,
    tau: f64,
    optimum: f64,
    tolerance: f64,
    labels: Vec<u32>,
    groups: Vec<u32>,
    weights: Vec<f64>,
    rows: Vec<Vec<f64>>,
}

fn instances() -> Vec<Instance> {
    let mut all: Vec<Instance> = Vec::new();
    for line in include_str!("uncertainty_optima.txt").lines().filter(|l| !l.starts_with('#')) {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let number = |i: usize| words[i].parse::<f64>().expect("a number");
        match words.first() {
            Some(&"instance") => all.push(Instance {
                name: words[1].to_owned(),
                level: number(2),
                classes: number(3) as usize,
                tau: number(4),
                optimum: number(5),
                tolerance: number(6),
                labels: Vec::new(),
                groups: Vec::new(),
                weights: Vec::new(),
                rows: Vec::new(),
            }),
            Some(&"row") => {
                let it = all.last_mut().expect("an instance before its rows");
                it.labels.push(number(1) as u32);
                it.groups.push(number(2) as u32);
                it.weights.push(number(3));
                it.rows.push((4..words.len()).map(number).collect());
            }
            _ => {}
        }
    }
    all
}

impl Instance {
    fn set(&self) -> Arc<dyn Uncertainty> {
        let sum: f64 = self.weights.iter().sum();
        let q: Vec<f64> = self.weights.iter().map(|w| w / sum).collect();
        let choice: UncertaintyChoice = self.name.parse().expect("a set");
        let data = RowData::new(q.len())
            .weights(Some(&q))
            .groups(Some(&self.groups))
            .labels(Some(&self.labels));
        choice.set(&data, self.level).expect("a set")
    }

    fn model(&self) -> RobustMulticlass {
        let (n, d) = (self.rows.len(), self.rows[0].len());
        let starts = (0..=n).map(|i| i * d).collect();
        let indices = (0..n).flat_map(|_| 0..d as u32).collect();
        let rows = SparseMatrix::from_rows(d, starts, indices, self.rows.concat()).expect("rows");
        let settings = RobustSettings::default().tau(self.tau);
        let loss = Arc::new(MultinomialLogistic);
        RobustMulticlass::compose(
            loss,
            self.set(),
            rows,
            self.labels.clone(),
            self.classes,
            settings,
        )
        .expect("a model")
    }
}

#[test]
fn every_uncertainty_set_has_three_instances() {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for instance in instances() {
        *counts.entry(instance.name).or_default() += 1;
    }
    for set in UNCERTAINTY_SETS {
        assert_eq!(counts.get(set.name()), Some(&3), "{set}");
    }
}

#[test]
fn optima_of_strongly_concave_sets_agree_with_a_conic_solver() {
    for instance in instances() {
        let model = instance.model();
        if model.uncertainty().moduli().mu.is_none() {
            continue;
        }
        let certificate = solved(&instance, &model, Method::certified(), 5e-7);
        let above = certificate - instance.optimum;
        let Instance { name, level, tolerance, .. } = &instance;
        assert!(above <= AGREEMENT, "{name} {level}: {above:e} above");
        assert!(above >= -10.0 * tolerance, "{name} {level}: {above:e} below");
    }
}

/// The upper bound of the optimum that a method certifies within this gap.
fn solved(instance: &Instance, model: &RobustMulticlass, method: Method, gap: f64) -> f64 {
    let x_set = model.x_set().expect("a ball");
    let y = model.uncertainty().start();
    let mut solve = Solve::new(model, &x_set, model.y_set()).method(method).gap(gap);
    if let Some(y) = y {
        solve = solve.start_y(y);
    }
    let solution = solve.iterations(200_000).run().expect("a run");
    let (status, certificate) = (solution.outcome.status, solution.outcome.certificate);
    let Instance { name, level, .. } = instance;
    assert!(status.is_solved(), "{name} {level}: {status}, gap {:e}", certificate.gap);
    assert!(certificate.lower <= instance.optimum + 10.0 * instance.tolerance, "{name} {level}");
    certificate.upper
}

#[test]
fn optima_without_a_price_agree_with_a_conic_solver() {
    for instance in instances() {
        let model = instance.model();
        if model.uncertainty().moduli().mu.is_some() {
            continue;
        }
        let upper = solved(&instance, &model, Method::certified(), ROUGH);
        let above = upper - instance.optimum;
        let Instance { name, level, tolerance, .. } = &instance;
        assert!(above <= ROUGH, "{name} {level}: {above:e} above");
        assert!(above >= -10.0 * tolerance, "{name} {level}: {above:e} below");
    }
}
