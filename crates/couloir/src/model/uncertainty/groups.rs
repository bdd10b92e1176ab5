//! Groups of rows: `y` in the unit simplex of the `G` groups, at the cost `mu/2 |y - centre|^2`.

use super::{Moduli, RowWeights, Uncertainty, check_nominal};
use crate::domain::{Domain, Simplex};
use crate::error::{Error, Result, check_len, check_positive};
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
    name: &'static str,
    entry: Arc<[u32]>,
    share: Arc<[f64]>,
    y_set: Simplex,
    /// Where the penalty is zero.
    centre: Arc<[f64]>,
    mu: f64,
}

impl Groups {
    /// The group of each row, numbered from 0 with none empty, and the level `c` of the penalty `c/2 G |y - 1/G|^2`.
    ///
    /// # Errors
    /// No rows, a group without rows, a level that is negative. At level 0 the worst group has all the weight.
    pub fn new(groups: Vec<u32>, level: f64) -> Result<Self> {
        if !(level >= 0.0 && level.is_finite()) {
            let why = format!("of groups must be a finite number of zero or more, got {level}");
            return Err(Error::Setting { name: "level", why });
        }
        let count = groups.iter().max().map_or(0, |&g| g as usize + 1);
        Groups::priced(groups, level * count as f64)
    }

    /// The same with the penalty `mu/2 |y - 1/G|^2`.
    pub(in crate::model) fn with_modulus(groups: Vec<u32>, mu: f64) -> Result<Self> {
        check_positive("mu", mu)?;
        Groups::priced(groups, mu)
    }

    fn priced(groups: Vec<u32>, mu: f64) -> Result<Self> {
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
        let centre = vec![1.0 / count as f64; count].into();
        Ok(Groups { name: "group", entry: groups.into(), share, y_set, centre, mu })
    }

    /// The groups with these nominal weights of the rows, which are positive and add up to 1: within a group rows weigh in
    /// proportion to them.
    ///
    /// # Errors
    /// Weights of another number than rows, or that are not positive or do not add up to 1.
    pub fn weighted(mut self, q: &[f64]) -> Result<Self> {
        check_len("nominal weights", self.entry.len(), q.len())?;
        check_nominal(q)?;
        let mut sums = vec![0.0; self.y_set.dim()];
        self.entry.iter().zip(q).for_each(|(&g, q)| sums[g as usize] += q);
        self.share =
            self.entry.iter().zip(q).map(|(&g, q)| (q / sums[g as usize]).min(1.0)).collect();
        Ok(self)
    }

    /// The classes as groups, with labels numbered from 0 of which each has rows: the penalty `c/2 G |y - centre|^2` is on
    /// moving the shares of the classes, so its centre is their shares in the nominal weights.
    ///
    /// # Errors
    /// As [`new`](Self::new) and [`weighted`](Self::weighted).
    pub fn label_shift(labels: Vec<u32>, q: &[f64], level: f64) -> Result<Self> {
        let mut set = Groups::new(labels, level)?.weighted(q)?;
        let mut centre = vec![0.0; set.y_set.dim()];
        set.entry.iter().zip(q).for_each(|(&g, q)| centre[g as usize] += q);
        set.y_set.repair(&mut centre);
        (set.name, set.centre) = ("label", centre.into());
        Ok(set)
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
}

impl Uncertainty for Groups {
    fn name(&self) -> &'static str {
        self.name
    }

    fn y_set(&self) -> &dyn Domain {
        &self.y_set
    }

    fn row_weights(&self) -> RowWeights {
        RowWeights::Shared { entry: self.entry.clone(), share: self.share.clone() }
    }

    fn start(&self) -> Option<Vec<f64>> {
        Some(self.centre.to_vec())
    }

    /// `-mu/2 |y - centre|^2`.
    fn value(&self, y: &[f64]) -> f64 {
        let squares = y.iter().zip(&*self.centre).map(|(v, centre)| (v - centre).powi(2));
        -0.5 * self.mu * squares.sum::<f64>()
    }

    fn slopes(&self, y: &[f64], out: &mut [f64]) {
        for ((out, y), centre) in out.iter_mut().zip(y).zip(&*self.centre) {
            *out = -self.mu * (y - centre);
        }
    }

    fn largest_term(&self, y: &[f64]) -> Option<f64> {
        let most = y.iter().chain(&*self.centre).fold(0.0f64, |m, v| m.max(v.abs()));
        Some(2.0 * self.mu * most)
    }

    /// A projection onto the simplex, or the worst group.
    fn best_response(&self, losses: &[f64], _room: &mut [f64], y: &mut [f64]) -> f64 {
        if self.mu == 0.0 {
            let worst = (0..y.len()).fold(0, |w, g| if losses[g] > losses[w] { g } else { w });
            y.fill(0.0);
            y[worst] = 1.0;
            return 0.0;
        }
        let slope: Vec<f64> = losses.iter().map(|l| -l).collect();
        self.y_set.oracle().prox(&slope, &self.centre, self.mu, y).unwrap_or(f64::INFINITY)
    }

    fn change(&self, losses: &[f64], from: &[f64], to: &[f64]) -> Measured {
        // the losses' common part cancels, since both sum to 1
        let shift = losses[0];
        let (mut value, mut size) = (0.0, 0.0);
        for g in 0..from.len() {
            let middle = 0.5 * (from[g] + to[g]) - self.centre[g];
            let slope = losses[g] - shift - self.mu * middle;
            value += slope * (to[g] - from[g]);
            size += (losses[g].abs() + self.mu * middle.abs()) * (to[g] - from[g]).abs();
        }
        Measured { value, rounding: 4.0 * f64::EPSILON * size }
    }

    fn moduli(&self) -> Moduli {
        let mu = (self.mu > 0.0).then_some(self.mu);
        Moduli { mu, lyy: mu }
    }

    fn fingerprint(&self, print: &mut Fingerprint) {
        print.note("mu", self.mu);
        let mut digest = Digest::default();
        digest.indices(&self.entry);
        digest.numbers(&self.share);
        digest.numbers(&self.centre);
        print.note("groups (SHA-256)", digest.name());
    }
}
