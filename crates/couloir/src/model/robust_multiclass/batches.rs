//! The robust model as a mean over its rows: batches.

use super::RobustMulticlass;
use super::constants::Lengths;
use super::rounding::Sums;
use crate::linalg::scratch::Pool;
use crate::linalg::{Layout, ScoreOperator, axpy};
use crate::problem::{
    BatchRestriction, BlockConstants, KnownConstants, Population, SaddleProblem, Sampled,
    SampledConstants,
};
use rayon::prelude::*;
use std::sync::OnceLock;

impl RobustMulticlass {
    /// Scores of one row.
    fn row_scores(&self, i: usize, x: &[f64], out: &mut [f64]) {
        let (h, d) = (self.classes(), self.features());
        let (columns, values) = self.operator.matrix().row(i);
        out.fill(0.0);
        for (&k, v) in columns.iter().zip(values) {
            let k = k as usize;
            match self.settings.layout {
                Layout::FeatureMajor => axpy(*v, &x[k * h..(k + 1) * h], out),
                Layout::ClassMajor => {
                    out.iter_mut().enumerate().for_each(|(j, o)| *o += v * x[j * d + k]);
                }
            }
        }
    }

    /// Lends scores, losses and slopes of a batch of rows.
    fn with_batch<T>(&self, batch: &[u64], x: &[f64], work: impl FnOnce(&[f64], &[f64]) -> T) -> T {
        let (h, count) = (self.classes(), batch.len());
        self.scratch.with(count * (2 * h + 1), |buffer| {
            let (scores, rest) = buffer.split_at_mut(count * h);
            let (losses, slopes) = rest.split_at_mut(count);
            scores
                .par_chunks_mut(h)
                .zip(batch)
                .zip(losses.par_iter_mut().zip(slopes.par_chunks_mut(h)))
                .for_each(|((scores, &i), (loss, slopes))| {
                    let i = i as usize;
                    self.row_scores(i, x, scores);
                    let label = &self.labels[i..=i];
                    self.loss.prepare(scores, label, h, std::slice::from_mut(loss), slopes);
                });
            work(losses, slopes)
        })
    }
}

impl Sampled for RobustMulticlass {
    fn population(&self) -> Population {
        Population::Finite(self.n as u64)
    }

    fn batch_value(&self, batch: &[u64], x: &[f64], y: &[f64]) -> f64 {
        let weight = self.n as f64 * self.weight / batch.len() as f64;
        let sum: f64 = self.with_batch(batch, x, |losses, _| {
            batch.iter().zip(losses).map(|(&i, l)| self.row_weight(i as usize, y) * l).sum()
        });
        weight * sum + self.uncertainty.value(y)
    }

    fn batch_grad_x(&self, batch: &[u64], x: &[f64], y: &[f64], out: &mut [f64]) {
        let (h, d) = (self.classes(), self.features());
        let weight = self.n as f64 * self.weight / batch.len() as f64;
        out.fill(0.0);
        self.with_batch(batch, x, |_, slopes| {
            for (&i, slopes) in batch.iter().zip(slopes.chunks_exact(h)) {
                let weight = weight * self.row_weight(i as usize, y);
                let (columns, values) = self.operator.matrix().row(i as usize);
                for (&k, v) in columns.iter().zip(values) {
                    let (k, factor) = (k as usize, weight * v);
                    match self.settings.layout {
                        Layout::FeatureMajor => {
                            axpy(factor, slopes, &mut out[k * h..(k + 1) * h]);
                        }
                        Layout::ClassMajor => {
                            slopes
                                .iter()
                                .enumerate()
                                .for_each(|(j, q)| out[j * d + k] += factor * q);
                        }
                    }
                }
            }
        });
    }

    fn batch_grad_y(&self, batch: &[u64], x: &[f64], y: &[f64], out: &mut [f64]) {
        let weight = self.n as f64 * self.weight / batch.len() as f64;
        self.uncertainty.slopes(y, out);
        self.with_batch(batch, x, |losses, _| {
            for (&i, l) in batch.iter().zip(losses) {
                let (entry, share) = self.entry(i as usize);
                out[entry] += weight * share * l;
            }
        });
    }
}

impl SampledConstants for RobustMulticlass {
    /// In the mean square over the components, where the squares of the rows' weights add up to at most 1: the norm of
    /// `[[sqrt(n) s c a^2, s sqrt(q n) a], [s sqrt(q n) |A|_F, mu]]` with `a` the longest row, and `c` and `q` the bounds of the
    /// loss's curvature and squared slopes.
    fn mean_smoothness(&self) -> Option<f64> {
        let (n, s) = (self.n as f64, self.weight);
        let Lengths { longest, squares, .. } = self.lengths;
        let (xx, xy) = (
            self.loss.curvature() * s * n.sqrt() * longest * longest,
            s * (self.slope_squared() * n).sqrt() * longest,
        );
        let (yx, yy) =
            (s * (self.slope_squared() * n * squares).sqrt(), self.uncertainty.moduli().lyy?);
        crate::linalg::spectral_norm(&[xx, xy, yx, yy], 2, 2).ok()
    }

    /// From `|n s p_i q_i a_i| <= n s p_i sqrt(q) |a_i|` for row weights `p`, and `l_i <= l(0) + sqrt(q) tau |a_i|`.
    fn sigma(&self) -> Option<f64> {
        let (n, s) = (self.n as f64, self.weight);
        let Lengths { longest, squares, .. } = self.lengths;
        let zero = self.loss.at_zero(self.classes());
        let radius = self.slope_squared().sqrt() * self.settings.tau;
        // |(l(0) + r |a_i|)_i| <= sqrt(n) l(0) + r |A|_F
        let losses = n.sqrt() * zero + radius * squares.sqrt();
        Some(s * (self.slope_squared() * n * longest * longest + n * losses * losses).sqrt())
    }

    /// Those of the [restriction](BatchRestriction).
    fn batch_constants(&self, batch: &[u64]) -> BlockConstants {
        self.part(batch).map_or_else(BlockConstants::default, |part| part.constants())
    }
}

impl BatchRestriction for RobustMulticlass {
    /// The batch has images and a best response of its own; `y` keeps all its entries, those of rows that
    /// the batch lacks have no loss.
    fn restrict(&self, batch: &[u64]) -> Option<Box<dyn SaddleProblem + '_>> {
        Some(Box::new(self.part(batch)?))
    }
}

impl RobustMulticlass {
    /// The mean over a batch of rows.
    fn part(&self, batch: &[u64]) -> Option<Self> {
        if batch.is_empty() || self.members.is_some() {
            return None;
        }
        let rows = self.operator.matrix().select(batch);
        let lengths = Lengths::new(&rows);
        let sums = Sums::new(&rows, &lengths, &*self.loss, self.settings.tau);
        Some(RobustMulticlass {
            loss: self.loss.clone(),
            uncertainty: self.uncertainty.clone(),
            row_weights: self.row_weights.clone(),
            operator: ScoreOperator::new(rows, self.classes(), self.settings.layout),
            labels: batch.iter().map(|&i| self.labels[i as usize]).collect(),
            order: Vec::new(), // points are read in the whole's terms
            members: Some(batch.iter().map(|&i| i as u32).collect()),
            places: None,
            nominal: None,
            n: self.n,
            weight: self.n as f64 * self.weight / batch.len() as f64,
            settings: self.settings,
            lengths,
            sums,
            singular: OnceLock::new(),
            scratch: Pool::default(),
        })
    }
}
