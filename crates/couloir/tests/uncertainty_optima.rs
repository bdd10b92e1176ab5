//! Robust models with nominal weights against an independent conic solver, for every uncertainty set.
//!
//! `uncertainty_optima.txt` is written by `scripts/reference_optima`; `bench/peers/uncertainty_optima.py` has the conic programs.

use couloir::Method;
use couloir::Solve;
use couloir::linalg::SparseMatrix;
use couloir::model::loss::{MultinomialLogistic, ScoreLoss, Squared, TargetLoss};
use couloir::model::uncertainty::{RowData, UNCERTAINTY_SETS, Uncertainty, UncertaintyChoice};
use couloir::model::{RobustMulticlass, RobustSettings};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How far from the optimum the primal value may be.
const AGREEMENT: f64 = 1e-6;

struct Instance {
    name: String,
    loss: String,
    level: f64,
    classes: usize,
    tau: f64,
    optimum: f64,
    tolerance: f64,
    labels: Vec<u32>,
    groups: Vec<u32>,
    weights: Vec<f64>,
    /// Row after row, for the squared loss.
    targets: Vec<f64>,
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
                loss: words[2].to_owned(),
                level: number(3),
                classes: number(4) as usize,
                tau: number(5),
                optimum: number(6),
                tolerance: number(7),
                labels: Vec::new(),
                groups: Vec::new(),
                weights: Vec::new(),
                targets: Vec::new(),
                rows: Vec::new(),
            }),
            Some(&"row") => {
                let it = all.last_mut().expect("an instance before its rows");
                it.labels.push(number(1) as u32);
                it.groups.push(number(2) as u32);
                it.weights.push(number(3));
                let targets = if it.loss == "squared" { it.classes } else { 0 };
                it.targets.extend((4..4 + targets).map(number));
                it.rows.push((4 + targets..words.len()).map(number).collect());
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
        let (loss, labels): (Arc<dyn ScoreLoss>, Vec<u32>) = match self.loss.as_str() {
            "squared" => {
                let loss = TargetLoss::new(Arc::new(Squared), self.targets.clone(), self.classes);
                (Arc::new(loss.expect("targets")), (0..n as u32).collect())
            }
            _ => (Arc::new(MultinomialLogistic), self.labels.clone()),
        };
        RobustMulticlass::compose(loss, self.set(), rows, labels, self.classes, settings)
            .expect("a model")
    }
}

#[test]
fn every_uncertainty_set_has_three_instances_of_each_loss() {
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    for instance in instances() {
        *counts.entry((instance.name, instance.loss)).or_default() += 1;
    }
    for set in UNCERTAINTY_SETS {
        for loss in ["logistic", "squared"] {
            let key = (set.name().to_owned(), loss.to_owned());
            assert_eq!(counts.get(&key), Some(&3), "{key:?}");
        }
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
    let solution = solve.iterations(1_000_000).run().expect("a run");
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
        let upper = solved(&instance, &model, Method::certified(), 0.9 * AGREEMENT);
        let above = upper - instance.optimum;
        let Instance { name, level, tolerance, .. } = &instance;
        assert!(above <= AGREEMENT, "{name} {level}: {above:e} above");
        assert!(above >= -10.0 * tolerance, "{name} {level}: {above:e} below");
    }
}
