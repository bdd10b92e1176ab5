//! The robust model as a saddle problem: scores, losses, weights.

use super::RobustMulticlass;
use crate::domain::Confidence;
use crate::linalg::{Layout, Rows, dot};
use crate::model::uncertainty::RowWeights;
use crate::model::{Ball, RobustSettings};
use crate::problem::{
    BestResponse, Capabilities, ColumnWise, ExactDifferences, Identity, LinearOperator, Measured,
    Preparation, PreparedImage, SaddleProblem,
};
use crate::state::{Digest, Fingerprint};
use rayon::prelude::*;

/// A difference of values is as good as a sum of differences where its rounding is below this share of it.
const PLAIN_IS_ENOUGH: f64 = 1e-6;

/// Rows that one task of a sum takes.
const CHUNK: usize = 256;

impl RobustMulticlass {
    /// The entry of `y` that weighs row `r`, and the row's share in it.
    #[inline]
    pub(super) fn entry(&self, r: usize) -> (usize, f64) {
        self.row_weights.of(self.members.as_ref().map_or(r, |m| m[r] as usize))
    }

    #[inline]
    pub(super) fn row_weight(&self, r: usize, y: &[f64]) -> f64 {
        let (entry, share) = self.entry(r);
        share * y[entry]
    }

    /// Whether the entries of `y` are the weights of the rows, one after the other.
    fn weighs_in_order(&self) -> bool {
        self.members.is_none() && self.row_weights == RowWeights::PerRow
    }

    /// Lends the weight of every row.
    pub(super) fn with_row_weights<T>(&self, y: &[f64], work: impl FnOnce(&[f64]) -> T) -> T {
        if self.weighs_in_order() {
            return work(y);
        }
        self.scratch.with(self.labels.len(), |weights| {
            weights.iter_mut().enumerate().for_each(|(r, w)| *w = self.row_weight(r, y));
            work(weights)
        })
    }

    /// The value but for the penalty.
    pub(super) fn mean_loss(&self, at: PreparedImage<'_>, y: &[f64]) -> f64 {
        let (losses, _) = self.split(at.cache);
        let mean = match (&self.members, &self.row_weights) {
            (Some(members), RowWeights::PerRow) => {
                members.iter().zip(losses).map(|(&i, l)| y[i as usize] * l).sum()
            }
            _ => self.with_row_weights(y, |weights| dot(losses, weights)),
        };
        self.weight * mean
    }

    /// Losses, slopes.
    fn split<'a>(&self, cache: &'a [f64]) -> (&'a [f64], &'a [f64]) {
        cache.split_at(self.labels.len())
    }

    /// Lends the losses of the rows of every entry of `y`, times their factors: zero where a batch has no row.
    fn with_weighted_losses<T>(&self, losses: &[f64], work: impl FnOnce(&[f64]) -> T) -> T {
        self.scratch.with(self.dim_y(), |weighted| {
            if self.weighs_in_order() {
                weighted.iter_mut().zip(losses).for_each(|(w, l)| *w = self.weight * l);
            } else {
                weighted.fill(0.0);
                self.add_weighted_losses(losses, weighted);
            }
            work(weighted)
        })
    }

    /// Adds the losses of the rows to the entries of `y` that weigh them.
    fn add_weighted_losses(&self, losses: &[f64], out: &mut [f64]) {
        let add = |first: usize, losses: &[f64], out: &mut [f64]| {
            for (r, l) in losses.iter().enumerate() {
                let (entry, share) = self.entry(first + r);
                out[entry] += self.weight * share * l;
            }
        };
        if self.row_weights == RowWeights::PerRow {
            return add(0, losses, out);
        }
        // sums of many rows, piece by piece, so that rounding does not grow with their number
        let piece = CHUNK.max(out.len());
        self.scratch.with(out.len(), |sums| {
            for (k, losses) in losses.chunks(piece).enumerate() {
                sums.fill(0.0);
                add(k * piece, losses, sums);
                out.iter_mut().zip(&*sums).for_each(|(o, s)| *o += s);
            }
        });
    }
}

impl SaddleProblem for RobustMulticlass {
    fn dim_x(&self) -> usize {
        self.classes() * self.features()
    }

    fn dim_y(&self) -> usize {
        self.y_set().dim()
    }

    fn value(&self, at: PreparedImage<'_>, y: &[f64]) -> f64 {
        self.mean_loss(at, y) + self.uncertainty.value(y)
    }

    fn grad_image(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
        let h = self.classes();
        let (_, slopes) = self.split(at.cache);
        out.par_chunks_mut(CHUNK * h).zip(slopes.par_chunks(CHUNK * h)).enumerate().for_each(
            |(chunk, (out, slopes))| {
                let rows = out.chunks_exact_mut(h).zip(slopes.chunks_exact(h));
                for (r, (out, slopes)) in rows.enumerate() {
                    let weight = self.weight * self.row_weight(chunk * CHUNK + r, y);
                    out.iter_mut().zip(slopes).for_each(|(o, q)| *o = weight * q);
                }
            },
        );
    }

    fn grad_y(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
        let (losses, _) = self.split(at.cache);
        self.uncertainty.slopes(y, out);
        self.add_weighted_losses(losses, out);
    }

    fn capabilities(&self) -> Capabilities<'_> {
        let mut capabilities = Capabilities::NONE
            .with_operator(self)
            .with_preparation(self)
            .with_best_response(self)
            .with_differences(self)
            .with_constants(self)
            .with_rounding(self)
            .with_identity(self);
        if self.settings.layout == Layout::FeatureMajor {
            capabilities.column_wise = Some(self);
        }
        // a batch has no batches
        if self.members.is_none() {
            capabilities =
                capabilities.with_sampled(self).with_sampled_constants(self).with_restriction(self);
        }
        capabilities
    }
}

impl LinearOperator for RobustMulticlass {
    fn image_dim(&self) -> usize {
        self.labels.len() * self.classes()
    }

    fn image(&self, x: &[f64], out: &mut [f64]) {
        self.operator.scores(x, out);
    }

    fn adjoint(&self, s: &[f64], out: &mut [f64]) {
        self.operator.adjoint(s, out);
    }

    fn image_weights(&self) -> Option<&[f64]> {
        self.nominal.as_deref()
    }
}

impl ColumnWise for RobustMulticlass {
    fn columns(&self) -> usize {
        self.classes()
    }

    fn normal(&self, s: &[f64], room: &mut [f64], out: &mut [f64]) {
        self.operator.normal(s, room, out);
    }
}

impl Preparation for RobustMulticlass {
    fn cache_dim(&self) -> usize {
        self.labels.len() * (self.classes() + 1)
    }

    fn prepare(&self, image: &[f64], cache: &mut [f64]) {
        let (losses, slopes) = cache.split_at_mut(self.labels.len());
        self.loss.prepare(image, &self.labels, self.classes(), losses, slopes);
    }

    fn prepare_filled(
        &self,
        fill: &(dyn Fn(usize, &mut [f64]) + Sync),
        image: &mut [f64],
        cache: &mut [f64],
    ) {
        let (losses, slopes) = cache.split_at_mut(self.labels.len());
        self.loss.prepare_filled(fill, &self.labels, self.classes(), image, losses, slopes);
    }
}

impl BestResponse for RobustMulticlass {
    fn best_response(&self, at: PreparedImage<'_>, y: &mut [f64]) -> f64 {
        let (losses, _) = self.split(at.cache);
        self.with_weighted_losses(losses, |weighted| {
            self.scratch.with(y.len(), |room| self.uncertainty.best_response(weighted, room, y))
        })
    }

    fn confidence(&self) -> Confidence {
        Confidence::Exact
    }
}

impl ExactDifferences for RobustMulticlass {
    fn bend_x(
        &self,
        from: PreparedImage<'_>,
        to: PreparedImage<'_>,
        y: &[f64],
        slope: f64,
    ) -> Measured {
        // far from rounding the losses tell, which are there already
        let plain = Measured::difference(self.value(to, y), self.value(from, y), slope);
        if plain.rounding <= PLAIN_IS_ENOUGH * plain.value {
            return plain;
        }
        let (h, count) = (self.classes(), self.labels.len());
        let ((l0, q0), (l1, q1)) = (self.split(from.cache), self.split(to.cache));
        let chunks = count.div_ceil(CHUNK);
        let in_chunks = |weights: &[f64], sums: &mut [f64]| {
            sums.par_chunks_mut(2).enumerate().for_each(|(chunk, sums)| {
                let rows = chunk * CHUNK..((chunk + 1) * CHUNK).min(count);
                let cells = rows.start * h..rows.end * h;
                let at = Rows {
                    scores: &from.image[cells.clone()],
                    losses: &l0[rows.clone()],
                    slopes: &q0[cells.clone()],
                };
                let there = Rows {
                    scores: &to.image[cells.clone()],
                    losses: &l1[rows.clone()],
                    slopes: &q1[cells],
                };
                (sums[0], sums[1]) =
                    self.loss.bend(at, there, &self.labels[rows.clone()], h, &weights[rows]);
            });
            // added up in the order of the chunks
            sums.chunks(2).fold((0.0, 0.0), |(v, r), s| (v + s[0], r + s[1]))
        };
        let (value, rounding) = self.with_row_weights(y, |weights| {
            self.scratch.with(2 * chunks, |sums| in_chunks(weights, sums))
        });
        // the sum itself, of terms of one sign
        let rounding = rounding + f64::EPSILON * (count as f64).sqrt() * value.abs();
        Measured {
            value: self.weight * value,
            rounding: self.weight * rounding + f64::MIN_POSITIVE,
        }
    }

    fn change_y(&self, at: PreparedImage<'_>, from: &[f64], to: &[f64]) -> Measured {
        let (losses, _) = self.split(at.cache);
        self.with_weighted_losses(losses, |weighted| self.uncertainty.change(weighted, from, to))
    }
}

impl Identity for RobustMulticlass {
    fn fingerprint(&self, print: &mut Fingerprint) {
        let RobustSettings { scaling, ball, tau, intercept, layout, .. } = self.settings;
        let rows = self.operator.matrix();
        print.note("tau", tau);
        print.note_maybe("ball", (ball != Ball::Nuclear).then_some(ball));
        print.note("loss", format!("{:?}", self.loss));
        print.note("uncertainty", self.uncertainty.name());
        self.uncertainty.fingerprint(print);
        print.note("objective", scaling);
        print.note_maybe("intercept", intercept);
        print.note("layout", format!("{layout:?}"));
        print.note("number of classes", self.classes());
        rows.fingerprint(print);
        let mut digest = Digest::default();
        digest.indices(&self.labels);
        digest.indices(&self.order);
        print.note("labels and features (SHA-256)", digest.name());
    }
}
