//! What comes out of a fit.

use super::RobustFit;
use crate::error::Result;
use crate::model::{ClassWeight, Classifier, RobustMulticlass};
use crate::problem::{BestResponse, LinearOperator, Preparation, PreparedImage, SaddleProblem};
use crate::run::Outcome;
use crate::solver::Solution;
use std::collections::BTreeMap;

/// Singular values of `X` below this share of the largest do not count towards its rank.
const RANK_SHARE: f64 = 1e-6;

/// `f` at the solution, and `max_y f(X, y)`, both over `s`.
fn values_at(model: &RobustMulticlass, solution: &Solution) -> (f64, f64) {
    let (mut image, mut cache) = (vec![0.0; model.image_dim()], vec![0.0; model.cache_dim()]);
    model.image(&solution.x, &mut image);
    model.prepare(&image, &mut cache);
    let at = PreparedImage { image: &image, cache: &cache };
    let value = model.value(at, &solution.y);
    let mut response = vec![0.0; model.dim_y()];
    let missing = model.best_response(at, &mut response);
    let primal = model.value(at, &response) + missing;
    (value / model.scale(), primal.max(value) / model.scale())
}

/// What comes out of a fit. Numbers of the objective are over `s`, so in units of the loss.
#[derive(Debug)]
pub struct Fitted {
    fit: RobustFit,
    model: RobustMulticlass,
    solution: Solution,
    is_warm: bool,
    seconds: f64,
    value: f64,
    primal: f64,
    singular_values: Vec<f64>,
}

impl Fitted {
    pub(super) fn new(
        fit: RobustFit,
        model: RobustMulticlass,
        solution: Solution,
        is_warm: bool,
        seconds: f64,
        singular_values: Vec<f64>,
    ) -> Self {
        let (value, primal) = values_at(&model, &solution);
        Fitted { fit, model, solution, is_warm, seconds, value, primal, singular_values }
    }

    pub(super) fn set_seconds(&mut self, seconds: f64) {
        self.seconds = seconds;
    }

    /// Whether the fit started from a point that it was given.
    pub(super) fn is_warm(&self) -> bool {
        self.is_warm
    }

    /// The settings of the fit.
    #[must_use]
    pub fn fit(&self) -> &RobustFit {
        &self.fit
    }

    /// The problem that was solved.
    #[must_use]
    pub fn model(&self) -> &RobustMulticlass {
        &self.model
    }

    /// The certified pair and how the run went.
    #[must_use]
    pub fn solution(&self) -> &Solution {
        &self.solution
    }

    /// The problem and the certified pair, for the next fit.
    #[must_use]
    pub fn into_parts(self) -> (RobustMulticlass, Solution) {
        (self.model, self.solution)
    }

    /// How the run went; not over `s`.
    #[must_use]
    pub fn outcome(&self) -> &Outcome {
        &self.solution.outcome
    }

    /// The radius of the ball, given or chosen.
    #[must_use]
    pub fn tau(&self) -> f64 {
        self.model.settings().tau
    }

    /// The scores of the rows of the fit: `h` numbers for each.
    #[must_use]
    pub fn scores(&self) -> Vec<f64> {
        let mut scores = vec![0.0; self.model.image_dim()];
        self.model.image(&self.solution.x, &mut scores);
        scores
    }

    /// The weight that the adversary gives to each row of the data; they add up to 1, and rows that were left out have none.
    #[must_use]
    pub fn row_weights(&self) -> Vec<f64> {
        self.model.data_weights(&self.solution.y)
    }

    /// Seconds from the rows to the solution, by the clock of the run: building the model, the method's
    /// work and all certificates.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// `f(X, y)/s` at the pair returned.
    #[must_use]
    pub fn value(&self) -> f64 {
        self.value
    }

    /// `max_y f(X, y)/s`, from the exact best response: what the robust objective is at `X`.
    #[must_use]
    pub fn primal(&self) -> f64 {
        self.primal
    }

    /// The certified primal-dual gap over `s`.
    #[must_use]
    pub fn gap(&self) -> f64 {
        self.outcome().certificate.gap / self.model.scale()
    }

    /// The part of the gap that `X` may still gain.
    #[must_use]
    pub fn gap_x(&self) -> f64 {
        self.outcome().certificate.gap_x / self.model.scale()
    }

    /// The part of the gap that `y` may still gain.
    #[must_use]
    pub fn gap_y(&self) -> f64 {
        self.outcome().certificate.gap_y / self.model.scale()
    }

    /// What theory says of the last iterate, over `s`; infinite where it says nothing.
    #[must_use]
    pub fn bound(&self) -> f64 {
        self.outcome().bounds.best() / self.model.scale()
    }

    /// Full gradients in `X` (products with `A^T`) of the method itself, rejected trials included.
    #[must_use]
    pub fn grads(&self) -> u64 {
        self.outcome().ledger.method.grad_x
    }

    /// Full gradients in `X` that were spent on certificates alone.
    #[must_use]
    pub fn certificate_grads(&self) -> u64 {
        self.outcome().ledger.certificate.grad_x
    }

    /// Linear minimisations over both sets of the method itself.
    #[must_use]
    pub fn lo_calls(&self) -> u64 {
        self.outcome().ledger.method.lo()
    }

    /// Linear minimisations over both sets that were spent on certificates alone.
    #[must_use]
    pub fn certificate_lo_calls(&self) -> u64 {
        self.outcome().ledger.certificate.lo()
    }

    /// The singular values of `X`, in falling order.
    #[must_use]
    pub fn singular_values(&self) -> &[f64] {
        &self.singular_values
    }

    /// `|X|_*`.
    #[must_use]
    pub fn nuclear_norm(&self) -> f64 {
        self.singular_values.iter().sum()
    }

    /// The rank of `X`: its singular values above a millionth of the largest.
    #[must_use]
    pub fn rank(&self) -> usize {
        let least = RANK_SHARE * self.singular_values.first().copied().unwrap_or(0.0);
        self.singular_values.iter().filter(|&&s| s > least).count()
    }

    /// The weights of the features of the data, a row of them for each class.
    #[must_use]
    pub fn weights(&self) -> Vec<f64> {
        let matrix = self.model.class_major(&self.solution.x);
        match self.model.settings().intercept {
            None => matrix,
            Some(_) => {
                let d = self.model.features();
                matrix.chunks_exact(d).flat_map(|row| &row[..d - 1]).copied().collect()
            }
        }
    }

    /// What the intercept adds to the score of each class: the value of its feature times its weight.
    #[must_use]
    pub fn bias(&self) -> Option<Vec<f64>> {
        let value = self.model.settings().intercept?;
        let matrix = self.model.class_major(&self.solution.x);
        Some(
            matrix
                .chunks_exact(self.model.features())
                .map(|row| value * row[row.len() - 1])
                .collect(),
        )
    }

    /// The classifier with these labels, one for each class; its info has the settings and the certificate, nothing
    /// of the machine or the time, so that the same fit gives the same bytes.
    ///
    /// # Errors
    /// As [`Classifier::new`]: labels of another number than classes, the same, or with spaces.
    pub fn classifier(&self, labels: Vec<String>) -> Result<Classifier> {
        let features = self.model.features() - usize::from(self.fit.intercept);
        Classifier::new(labels, features, self.weights(), self.bias(), self.info())
    }

    fn info(&self) -> BTreeMap<String, String> {
        let settings = self.model.settings();
        let mut info = BTreeMap::new();
        let mut keep = |name: &str, value: &dyn std::fmt::Display| {
            info.insert(name.to_owned(), value.to_string());
        };
        keep("objective", &settings.scaling);
        keep("loss", &self.model.loss().name());
        keep("uncertainty", &self.model.uncertainty().name());
        keep("ball", &settings.ball);
        keep("tau", &settings.tau);
        keep("tau_chosen", &self.fit.tau.is_none());
        keep("level", &settings.level);
        if self.fit.weights.is_some() {
            keep("weighted", &true);
        }
        if self.fit.class_weight != ClassWeight::None {
            let balanced = self.fit.class_weight == ClassWeight::Balanced;
            keep("class_weight", &if balanced { "balanced" } else { "given" });
        }
        if let Some(value) = settings.intercept {
            keep("intercept", &value);
        }
        keep("method", &self.fit.method);
        keep("start", &self.fit.start);
        keep("seed", &self.fit.seed);
        keep("tol", &self.fit.tol);
        keep("rows", &self.model.len());
        keep("status", &self.outcome().status);
        keep("iterations", &self.outcome().iterations);
        keep("value", &self.value());
        keep("primal", &self.primal());
        keep("gap", &self.gap());
        keep("gap_x", &self.gap_x());
        keep("gap_y", &self.gap_y());
        keep("rank", &self.rank());
        keep("nuclear_norm", &self.nuclear_norm());
        info
    }
}
