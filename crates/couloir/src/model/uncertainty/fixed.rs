//! No adversary: every row has its nominal weight.

use super::{Moduli, RowWeights, Uncertainty, check_nominal};
use crate::domain::{Domain, Simplex};
use crate::error::Result;
use crate::problem::Measured;
use crate::state::{Digest, Fingerprint};
use std::sync::Arc;

/// The nominal weights alone: the plain model. `y` has one entry, which is 1.
#[derive(Clone, Debug)]
pub struct Fixed {
    name: &'static str,
    q: Arc<[f64]>,
    y_set: Simplex,
}

impl Fixed {
    /// These nominal weights, which are positive and add up to 1.
    ///
    /// # Errors
    /// No rows, weights that are not positive or do not add up to 1.
    pub fn new(q: Vec<f64>) -> Result<Self> {
        Fixed::named("none", q)
    }

    /// The same under the name of a set that its level has shrunk to the nominal weights.
    pub(super) fn named(name: &'static str, q: Vec<f64>) -> Result<Self> {
        check_nominal(&q)?;
        Ok(Fixed { name, q: q.into(), y_set: Simplex::new(1)? })
    }
}

impl Uncertainty for Fixed {
    fn name(&self) -> &'static str {
        self.name
    }

    fn y_set(&self) -> &dyn Domain {
        &self.y_set
    }

    fn row_weights(&self) -> RowWeights {
        RowWeights::Shared { entry: vec![0; self.q.len()].into(), share: self.q.clone() }
    }

    fn value(&self, _y: &[f64]) -> f64 {
        0.0
    }

    fn slopes(&self, _y: &[f64], out: &mut [f64]) {
        out.fill(0.0);
    }

    fn largest_term(&self, _y: &[f64]) -> Option<f64> {
        Some(0.0)
    }

    fn best_response(&self, _losses: &[f64], _room: &mut [f64], y: &mut [f64]) -> f64 {
        y.fill(1.0);
        0.0
    }

    fn change(&self, losses: &[f64], from: &[f64], to: &[f64]) -> Measured {
        let value = losses[0] * (to[0] - from[0]);
        Measured { value, rounding: f64::EPSILON * value.abs() }
    }

    /// On a set of one point every modulus holds.
    fn moduli(&self) -> Moduli {
        Moduli { mu: Some(1.0), lyy: Some(1.0) }
    }

    fn fingerprint(&self, print: &mut Fingerprint) {
        let mut digest = Digest::default();
        digest.numbers(&self.q);
        print.note("nominal weights (SHA-256)", digest.name());
    }
}
