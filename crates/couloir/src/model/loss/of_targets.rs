//! Losses of rows that have targets, not classes: regression.

use super::{ResidualLoss, ScoreLoss};
use crate::error::{Error, Result, check_finite, check_len};
use crate::linalg::Rows;
use crate::state::Digest;
use rayon::prelude::*;
use std::fmt;
use std::sync::Arc;

/// Rows that one task takes.
const CHUNK: usize = 256;

/// The loss of a row with `h` targets: the sum of the losses of its residuals `s_j - t_j`.
///
/// The label of a row is its number among the targets.
///
/// ```
/// use couloir::model::loss::{ScoreLoss, Squared, TargetLoss};
/// use std::sync::Arc;
/// // two rows with two targets each
/// let loss = TargetLoss::new(Arc::new(Squared), vec![1.0, 2.0, 3.0, 4.0], 2)?;
/// let (mut losses, mut slopes) = ([0.0], [0.0; 2]);
/// loss.prepare(&[3.0, 6.0], &[1], 2, &mut losses, &mut slopes);
/// assert_eq!((losses, slopes), ([2.0], [0.0, 2.0]));
/// # Ok::<(), couloir::Error>(())
/// ```
pub struct TargetLoss {
    loss: Arc<dyn ResidualLoss>,
    targets: Vec<f64>,
    width: usize,
    /// The length of the longest row of targets.
    longest: f64,
    /// The loss of the worst row whose scores are zero.
    at_zero: f64,
    digest: String,
}

impl TargetLoss {
    /// This loss of residuals, and the targets of all rows, `width` for each.
    ///
    /// # Errors
    /// No targets, a number of them that is no multiple of the width, targets that are not finite, a loss with bad parameters.
    pub fn new(loss: Arc<dyn ResidualLoss>, targets: Vec<f64>, width: usize) -> Result<Self> {
        loss.check()?;
        if width == 0 || targets.is_empty() || !targets.len().is_multiple_of(width) {
            let why = format!("{} numbers are no rows of {width} targets", targets.len());
            return Err(Error::Setting { name: "targets", why });
        }
        check_finite("targets", &targets)?;
        let rows = || targets.chunks_exact(width);
        let longest = rows().map(crate::linalg::norm).fold(0.0, f64::max);
        let of_zero = |row: &[f64]| row.iter().map(|t| loss.at(-t).0).sum();
        let at_zero: f64 = rows().map(of_zero).fold(0.0, f64::max);
        if !(longest.is_finite() && at_zero.is_finite()) {
            let why = "they are so large that their losses overflow; scale them".to_owned();
            return Err(Error::Setting { name: "targets", why });
        }
        let mut digest = Digest::default();
        digest.numbers(&targets);
        let digest = digest.name();
        Ok(TargetLoss { loss, targets, width, longest, at_zero, digest })
    }

    /// The targets of the row with this number.
    fn of(&self, label: u32) -> &[f64] {
        let first = label as usize * self.width;
        &self.targets[first..first + self.width]
    }
}

/// With a digest in place of the targets.
impl fmt::Debug for TargetLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} to targets {} in rows of {}", self.loss, self.digest, self.width)
    }
}

impl ScoreLoss for TargetLoss {
    fn name(&self) -> &'static str {
        self.loss.name()
    }

    fn check(&self, labels: &[u32], h: usize) -> Result<()> {
        check_len("targets of a row", self.width, h)?;
        let rows = self.targets.len() / self.width;
        match labels.iter().position(|&label| label as usize >= rows) {
            None => Ok(()),
            Some(i) => {
                let why = format!("row {i} has number {}, but {rows} rows have targets", labels[i]);
                Err(Error::Setting { name: "targets", why })
            }
        }
    }

    fn curvature(&self) -> f64 {
        self.loss.curvature()
    }

    /// Slopes grow with the residual, whose length is at most that of the scores and that of the targets.
    fn slope_squared(&self, longest: f64) -> f64 {
        let residual = longest + self.longest;
        let steepest = self.loss.at(residual).1.abs().max(self.loss.at(-residual).1.abs());
        let by_curvature = self.loss.curvature() * residual;
        (by_curvature * by_curvature).min(self.width as f64 * steepest * steepest)
    }

    /// Of the worst row.
    fn at_zero(&self, _h: usize) -> f64 {
        self.at_zero
    }

    fn prepare(
        &self,
        scores: &[f64],
        labels: &[u32],
        h: usize,
        losses: &mut [f64],
        slopes: &mut [f64],
    ) {
        losses
            .par_chunks_mut(CHUNK)
            .zip(slopes.par_chunks_mut(CHUNK * h))
            .zip(scores.par_chunks(CHUNK * h).zip(labels.par_chunks(CHUNK)))
            .for_each(|((losses, slopes), (scores, labels))| {
                let rows = scores.chunks_exact(h).zip(slopes.chunks_exact_mut(h));
                for (((scores, slopes), loss), &label) in rows.zip(losses).zip(labels) {
                    *loss = 0.0;
                    for ((s, t), slope) in scores.iter().zip(self.of(label)).zip(slopes) {
                        let (value, derivative) = self.loss.at(s - t);
                        *loss += value;
                        *slope = derivative;
                    }
                }
            });
    }

    fn bend(
        &self,
        from: Rows<'_>,
        to: Rows<'_>,
        labels: &[u32],
        h: usize,
        weights: &[f64],
    ) -> (f64, f64) {
        let (mut value, mut rounding) = (0.0, 0.0);
        for (i, (&label, &weight)) in labels.iter().zip(weights).enumerate() {
            if weight == 0.0 {
                continue;
            }
            for (j, &target) in self.of(label).iter().enumerate() {
                let (s, t) = (from.scores[i * h + j], to.scores[i * h + j]);
                let error = f64::EPSILON * (s.abs() + t.abs() + target.abs());
                let change = (t - s).abs();
                value += weight * self.loss.bend(s - target, t - target);
                rounding += weight.abs() * self.curvature() * error * (change + error);
            }
        }
        (value, rounding)
    }
}
