//! Groups of rows: `y` in the unit simplex of the `G` groups, at the cost `mu/2 |y - 1/G|^2`.

use super::{Moduli, RowWeights, Uncertainty};
use crate::domain::{Domain, Simplex};
use crate::error::{Error, Result, check_positive};
use crate::problem::Measured;
use crate::state::{Digest, Fingerprint};
use std::sync::Arc;

/// The adversary weighs groups of rows; within a group all rows weigh the same.
///
/// ```
/// use couloir::model::uncertainty::{Groups, Uncertainty};
/// let groups = Groups::new(vec![0, 0, 0, 1], 1.0)?;
/// let mut y = [0.0; 2];
/// groups.best_response(&[0.3, 1.3], &mut [0.0; 2], &mut y);
/// // the second group is worse, and the penalty allows a move of 1/4 per unit of loss
/// assert_eq!(y, [0.25, 0.75]);
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Groups {
    entry: Arc<[u32]>,
    share: Arc<[f64]>,
    y_set: Simplex,
    mu: f64,
}

impl Groups {
    /// The group of each row, numbered from 0 with none empty, and the level `c` of the penalty `c/2 G |y - 1/G|^2`.
    ///
    /// # Errors
    /// No rows, a group without rows, a level that is not positive.
    pub fn new(groups: Vec<u32>, level: f64) -> Result<Self> {
        check_positive("the level of the uncertainty set", level)?;
        let count = groups.iter().max().map_or(0, |&g| g as usize + 1);
        Groups::with_modulus(groups, level * count as f64)
    }

    /// The same with the penalty `mu/2 |y - 1/G|^2`.
    pub(in crate::model) fn with_modulus(groups: Vec<u32>, mu: f64) -> Result<Self> {
        check_positive("mu", mu)?;
        let count = groups.iter().max().map_or(0, |&g| g as usize + 1);
        // of more groups than rows one is empty, which is found without room for all
        let mut sizes = vec![0u64; count.min(groups.len() + 1)];
        for &g in &groups {
            if let Some(size) = sizes.get_mut(g as usize) {
                *size += 1;
            }
        }
        if let Some(g) = sizes.iter().position(|&s| s == 0) {
            return Err(Error::EmptySet { why: format!("group {g} has no rows") });
        }
        let y_set = Simplex::new(count)?;
        let share = groups.iter().map(|&g| 1.0 / sizes[g as usize] as f64).collect();
        Ok(Groups { entry: groups.into(), share, y_set, mu })
    }

    /// The set of `y`.
    pub(in crate::model) fn simplex(&self) -> &Simplex {
        &self.y_set
    }

    /// The group of each row, and the share of the row in it.
    pub(in crate::model) fn parts(&self) -> (Arc<[u32]>, Arc<[f64]>) {
        (self.entry.clone(), self.share.clone())
    }

    /// `mu`.
    pub(in crate::model) fn modulus(&self) -> f64 {
        self.mu
    }

    fn even(&self) -> f64 {
        1.0 / self.y_set.dim() as f64
    }
}

impl Uncertainty for Groups {
    fn name(&self) -> &'static str {
        "groups"
    }

    fn y_set(&self) -> &dyn Domain {
        &self.y_set
    }

    fn row_weights(&self) -> RowWeights {
        RowWeights::Shared { entry: self.entry.clone(), share: self.share.clone() }
    }

    /// `-mu/2 |y - 1/G|^2`.
    fn value(&self, y: &[f64]) -> f64 {
        -0.5 * self.mu * y.iter().map(|v| (v - self.even()).powi(2)).sum::<f64>()
    }

    fn slopes(&self, y: &[f64], out: &mut [f64]) {
        for (out, y) in out.iter_mut().zip(y) {
            *out = -self.mu * (y - self.even());
        }
    }

    /// A projection onto the simplex.
    fn best_response(&self, losses: &[f64], _room: &mut [f64], y: &mut [f64]) -> f64 {
        let slope: Vec<f64> = losses.iter().map(|l| -l).collect();
        let mut centre = vec![0.0; y.len()];
        self.y_set.center(&mut centre);
        self.y_set.oracle().prox(&slope, &centre, self.mu, y).unwrap_or(f64::INFINITY)
    }

    fn change(&self, losses: &[f64], from: &[f64], to: &[f64]) -> Measured {
        // the losses' common part cancels, since both sum to 1
        let shift = losses[0];
        let (mut value, mut size) = (0.0, 0.0);
        for g in 0..from.len() {
            let middle = 0.5 * (from[g] + to[g]) - self.even();
            let slope = losses[g] - shift - self.mu * middle;
            value += slope * (to[g] - from[g]);
            size += (losses[g].abs() + self.mu * middle.abs()) * (to[g] - from[g]).abs();
        }
        Measured { value, rounding: 4.0 * f64::EPSILON * size }
    }

    fn moduli(&self) -> Moduli {
        Moduli { mu: Some(self.mu), lyy: Some(self.mu) }
    }

    fn fingerprint(&self, print: &mut Fingerprint) {
        print.note("mu", self.mu);
        let mut digest = Digest::default();
        digest.indices(&self.entry);
        print.note("groups (SHA-256)", digest.name());
    }
}
