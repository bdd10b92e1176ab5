//! The robust model as a mean over its rows: batches.

use super::RobustModel;
use super::row_lengths::Lengths;
use crate::linalg::scratch::Pool;
use crate::linalg::{Layout, ScoreOperator, axpy};
use crate::model::loss::ScoreLoss;
use crate::model::uncertainty::Uncertainty;
use crate::problem::{
    BatchRestriction, BlockConstants, KnownConstants, Population, SaddleProblem, Sampled,
    SampledConstants,
};
use rayon::prelude::*;
use std::marker::PhantomData;
use std::sync::OnceLock;

impl<L: ScoreLoss, U: Uncertainty> RobustModel<L, U> {
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
                    L::prepare(scores, &self.labels[i..=i], h, std::slice::from_mut(loss), slopes);
                });
            work(losses, slopes)
        })
    }
}

impl<L: ScoreLoss, U: Uncertainty> Sampled for RobustModel<L, U> {
    fn population(&self) -> Population {
        Population::Finite(self.n as u64)
    }

    fn batch_value(&self, batch: &[u64], x: &[f64], y: &[f64]) -> f64 {
        let weight = self.n as f64 * self.weight / batch.len() as f64;
        let sum: f64 = self.with_batch(batch, x, |losses, _| {
            batch.iter().zip(losses).map(|(&i, l)| y[i as usize] * l).sum()
        });
        weight * sum + self.uncertainty.value(y)
    }

    fn batch_grad_x(&self, batch: &[u64], x: &[f64], y: &[f64], out: &mut [f64]) {
        let (h, d) = (self.classes(), self.features());
        let weight = self.n as f64 * self.weight / batch.len() as f64;
        out.fill(0.0);
        self.with_batch(batch, x, |_, slopes| {
            for (&i, slopes) in batch.iter().zip(slopes.chunks_exact(h)) {
                let weight = weight * y[i as usize];
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
                out[i as usize] += weight * l;
            }
        });
    }
}

impl<L: ScoreLoss, U: Uncertainty> SampledConstants for RobustModel<L, U> {
    /// In the mean square over the components, where `sum_i y_i^2 <= 1` and the entries of `y` differ:
    /// the norm of `[[sqrt(n) s/2 a^2, s sqrt(2 n) a], [s sqrt(2 n) |A|_F, mu]]` with `a` the longest row.
    fn mean_smoothness(&self) -> Option<f64> {
        let (n, s) = (self.n as f64, self.weight);
        let Lengths { longest, squares } = self.lengths;
        let (xx, xy) =
            (0.5 * s * n.sqrt() * longest * longest, s * (L::SLOPE_SQUARED * n).sqrt() * longest);
        let (yx, yy) =
            (s * (L::SLOPE_SQUARED * n * squares).sqrt(), self.uncertainty.moduli().lyy?);
        crate::linalg::spectral_norm(&[xx, xy, yx, yy], 2, 2).ok()
    }

    /// From `|n s y_i q_i a_i| <= n s y_i sqrt(2) |a_i|` and `l_i <= log h + sqrt(2) tau |a_i|`.
    fn sigma(&self) -> Option<f64> {
        let (n, s) = (self.n as f64, self.weight);
        let Lengths { longest, squares } = self.lengths;
        let log = L::at_zero(self.classes());
        let radius = L::SLOPE_SQUARED.sqrt() * self.settings.tau;
        // |(log h + r |a_i|)_i| <= sqrt(n) log h + r |A|_F
        let losses = n.sqrt() * log + radius * squares.sqrt();
        Some(s * (L::SLOPE_SQUARED * n * longest * longest + n * losses * losses).sqrt())
    }

    /// Those of the [restriction](BatchRestriction).
    fn batch_constants(&self, batch: &[u64]) -> BlockConstants {
        self.part(batch).map_or_else(BlockConstants::default, |part| part.constants())
    }
}

impl<L: ScoreLoss, U: Uncertainty> BatchRestriction for RobustModel<L, U> {
    /// The batch has images and a best response of its own; `y` keeps all its entries, those of rows that
    /// the batch lacks have no loss.
    fn restrict(&self, batch: &[u64]) -> Option<Box<dyn SaddleProblem + '_>> {
        Some(Box::new(self.part(batch)?))
    }
}

impl<L: ScoreLoss, U: Uncertainty> RobustModel<L, U> {
    /// The mean over a batch of rows.
    fn part(&self, batch: &[u64]) -> Option<Self> {
        if batch.is_empty() || self.members.is_some() {
            return None;
        }
        let rows = self.operator.matrix().select(batch);
        let lengths = Lengths::new(&rows);
        Some(RobustModel {
            loss: PhantomData::<L>,
            uncertainty: self.uncertainty,
            operator: ScoreOperator::new(rows, self.classes(), self.settings.layout),
            labels: batch.iter().map(|&i| self.labels[i as usize]).collect(),
            order: Vec::new(), // points are read in the whole's terms
            members: Some(batch.iter().map(|&i| i as u32).collect()),
            y_set: self.y_set.clone(),
            n: self.n,
            weight: self.n as f64 * self.weight / batch.len() as f64,
            settings: self.settings,
            lengths,
            singular: OnceLock::new(),
            scratch: Pool::default(),
        })
    }
}
