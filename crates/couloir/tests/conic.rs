//! Robust multiclass classification against an independent conic solver.
//!
//! `conic_optima.txt` holds ten small instances with the optima that Clarabel found, an interior-point method. It is
//! written by `scripts/reference_optima`; `bench/peers/reference_optima.py` has the derivation of the conic program.
//! Clarabel is not run here: its semidefinite cone, which the nuclear norm needs, needs a LAPACK library.

use couloir::domain::Domain;
use couloir::linalg::SparseMatrix;
use couloir::model::{RobustMulticlass, RobustSettings, Scaling};
use couloir::run::StopRules;
use couloir::{Method, Solve};

/// What certified MPCGS is asked for, in units of the loss.
const GAP: f64 = 1e-7;
/// How far from the optimum the primal value may be, in units of the loss.
const AGREEMENT: f64 = 1e-6;

#[derive(Default)]
struct Instance {
    name: String,
    scaling: Scaling,
    level: f64,
    tau: f64,
    classes: usize,
    intercept: Option<f64>,
    /// What the solver reports, in units of the loss.
    optimum: f64,
    /// The exact value at the solver's `X`; its optimum is a little above, for it keeps slack in the
    /// inequalities.
    attained: f64,
    /// What the solver was asked for.
    tolerance: f64,
    /// Of the solver's solution.
    nuclear_norm: f64,
    zero_weights: usize,
    rows: Vec<Vec<f64>>,
    labels: Vec<u32>,
}

fn instances() -> Vec<Instance> {
    let mut all: Vec<Instance> = Vec::new();
    for line in include_str!("conic_optima.txt").lines().filter(|l| !l.starts_with('#')) {
        let mut words = line.split_ascii_whitespace();
        let Some(key) = words.next() else { continue };
        let rest: Vec<&str> = words.collect();
        if key == "instance" {
            all.push(Instance { name: rest[0].to_owned(), ..Instance::default() });
            continue;
        }
        let it = all.last_mut().expect("an instance before its settings");
        let number = |i: usize| rest[i].parse::<f64>().expect("a number");
        match key {
            "scaling" if rest[0] == "paper" => it.scaling = Scaling::Paper,
            "scaling" if rest[0] == "dro" => it.scaling = Scaling::Dro,
            "level" => it.level = number(0),
            "tau" => it.tau = number(0),
            "classes" => it.classes = number(0) as usize,
            "intercept" => it.intercept = Some(number(0)),
            "optimum" => it.optimum = number(0),
            "attained" => it.attained = number(0),
            "tolerance" => it.tolerance = number(0),
            "nuclear_norm" => it.nuclear_norm = number(0),
            "zero_weights" => it.zero_weights = number(0) as usize,
            "row" => {
                it.labels.push(number(0) as u32);
                it.rows.push((1..rest.len()).map(number).collect());
            }
            other => panic!("what is {other}?"),
        }
    }
    all
}

impl Instance {
    fn model(&self) -> RobustMulticlass {
        let d = self.rows[0].len();
        let starts = (0..=self.rows.len()).map(|i| i * d).collect();
        let indices = (0..self.rows.len()).flat_map(|_| 0..d as u32).collect();
        let rows = SparseMatrix::from_rows(d, starts, indices, self.rows.concat()).expect("rows");
        let settings = RobustSettings::default()
            .scaling(self.scaling)
            .level(self.level)
            .tau(self.tau)
            .intercept(self.intercept);
        RobustMulticlass::new(rows, self.labels.clone(), self.classes, settings).expect("a model")
    }

    /// `max_y f(X, y) / s` from the definition, sharing no code with the library: the multiplier of the
    /// weights' sum by bisection.
    fn primal(&self, x: &[f64]) -> f64 {
        let n = self.rows.len() as f64;
        let losses: Vec<f64> =
            self.rows.iter().zip(&self.labels).map(|(r, &b)| self.loss(x, r, b)).collect();
        // c = lambda/s
        let c = match self.scaling {
            Scaling::Dro => self.level / n,
            Scaling::Paper => self.level,
        };
        let weight = |l: f64, nu: f64| (1.0 + (l - nu) / (n * c)).max(0.0);
        let top = losses.iter().fold(0.0f64, |m, l| m.max(*l));
        let (mut low, mut high) = (-top, 2.0 * top + n * c);
        for _ in 0..200 {
            let nu = 0.5 * (low + high);
            let total: f64 = losses.iter().map(|l| weight(*l, nu)).sum();
            if total > n { low = nu } else { high = nu }
        }
        losses
            .iter()
            .map(|&l| {
                let w = weight(l, high);
                w * l / n - 0.5 * c * (w - 1.0).powi(2)
            })
            .sum()
    }

    fn loss(&self, x: &[f64], row: &[f64], label: u32) -> f64 {
        let d = x.len() / self.classes;
        let entries = row.iter().copied().chain(self.intercept);
        let scores: Vec<f64> =
            x.chunks(d).map(|x| x.iter().zip(entries.clone()).map(|(x, a)| x * a).sum()).collect();
        let own = scores[label as usize];
        scores.iter().map(|s| (s - own).exp()).sum::<f64>().ln()
    }
}

#[test]
fn the_instances_cover_what_they_should() {
    let all = instances();
    assert!(all.len() >= 6);
    let count = |what: fn(&Instance) -> bool| all.iter().filter(|i| what(i)).count();
    assert!(count(|i| i.scaling == Scaling::Dro) >= 3);
    assert!(count(|i| i.scaling == Scaling::Paper) >= 3);
    assert!(count(|i| i.intercept.is_some()) >= 3);
    assert!(count(|i| i.nuclear_norm > 0.999 * i.tau) >= 3, "the ball is active");
    assert!(count(|i| i.nuclear_norm < 0.5 * i.tau) >= 3, "the ball is not active");
    assert!(count(|i| i.zero_weights > 0) >= 2, "y is on the boundary of the simplex");
    for classes in 2..=6 {
        assert!(all.iter().any(|i| i.classes == classes));
    }
}

#[test]
fn certified_mpcgs_agrees_with_a_conic_solver() {
    for instance in instances() {
        let model = instance.model();
        let (s, x_set) = (model.scale(), model.x_set().expect("a ball"));
        let mut rules = StopRules::default();
        rules.gap = Some(GAP * s);
        rules.relative_gap = None;
        rules.iterations = Some(40_000); // the lower bound is slow to rise where the ball is wide
        let solution = Solve::new(&model, &x_set, model.y_set())
            .method(Method::certified())
            .rules(rules)
            .run()
            .expect("a solution");
        let (outcome, name) = (&solution.outcome, &instance.name);
        assert!(outcome.status.is_solved(), "{name}: {}", outcome.status);
        assert!(x_set.violation(&solution.x) < 1e-12 * instance.tau, "{name}");

        let primal = instance.primal(&model.class_major(&solution.x));
        let above = primal - instance.optimum;
        assert!(above.abs() <= AGREEMENT, "{name}: {above:e} from the optimum");
        let below = instance.attained - primal;
        assert!(below <= instance.tolerance, "{name}: {below:e} below what the solver attains");
        let certificate = &outcome.certificate;
        assert!(
            (certificate.upper / s - primal).abs() < 1e-9,
            "{name}: what is certified is this value"
        );
        assert!(certificate.lower / s <= instance.attained + 1e-12, "{name}: the bound is one");
    }
}
