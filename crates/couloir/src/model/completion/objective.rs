//! Robust completion as a saddle problem: residuals, losses, weights.

use super::RobustCompletion;
use crate::linalg::{accurate_sum, dot};
use crate::problem::{
    BestResponse, BlockConstants, Capabilities, ExactDifferences, Identity, KnownConstants,
    Measured, Preparation, PreparedImage, SaddleProblem,
};
use crate::state::{Digest, Fingerprint};
use rayon::prelude::*;

/// Observations that one task takes.
const CHUNK: usize = 4096;

impl RobustCompletion {
    /// Losses and their derivatives.
    fn split<'a>(&self, cache: &'a [f64]) -> (&'a [f64], &'a [f64]) {
        cache.split_at(self.len())
    }

    fn with_weights<T>(&self, y: &[f64], work: impl FnOnce(&[f64]) -> T) -> T {
        self.scratch.with(self.len(), |room| self.row_weights.with_weights(y, room, work))
    }

    fn with_sums<T>(&self, losses: &[f64], work: impl FnOnce(&[f64]) -> T) -> T {
        self.scratch.with(self.dim_y(), |room| self.row_weights.with_sums(losses, room, work))
    }
}

impl SaddleProblem for RobustCompletion {
    fn dim_x(&self) -> usize {
        let (rows, columns) = self.measurements.shape();
        rows * columns
    }

    fn dim_y(&self) -> usize {
        self.y_set().dim()
    }

    fn value(&self, at: PreparedImage<'_>, y: &[f64]) -> f64 {
        let (losses, _) = self.split(at.cache);
        self.with_weights(y, |weights| dot(losses, weights)) + self.uncertainty.value(y)
    }

    fn grad_image(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
        let (_, slopes) = self.split(at.cache);
        self.with_weights(y, |weights| {
            let weights = weights.par_chunks(CHUNK).zip(slopes.par_chunks(CHUNK));
            out.par_chunks_mut(CHUNK).zip(weights).for_each(|(out, (weights, slopes))| {
                for ((o, w), q) in out.iter_mut().zip(weights).zip(slopes) {
                    *o = w * q;
                }
            });
        });
    }

    fn grad_y(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
        let (losses, _) = self.split(at.cache);
        self.uncertainty.slopes(y, out);
        self.with_sums(losses, |sums| out.iter_mut().zip(sums).for_each(|(o, s)| *o += s));
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities::NONE
            .with_operator(&*self.measurements)
            .with_matrix_operator(&*self.measurements)
            .with_preparation(self)
            .with_best_response(self)
            .with_differences(self)
            .with_constants(self)
            .with_identity(self)
    }
}

impl Preparation for RobustCompletion {
    fn cache_dim(&self) -> usize {
        2 * self.len()
    }

    fn prepare(&self, image: &[f64], cache: &mut [f64]) {
        let (losses, slopes) = cache.split_at_mut(self.len());
        let given = image.par_chunks(CHUNK).zip(self.targets.par_chunks(CHUNK));
        let made = losses.par_chunks_mut(CHUNK).zip(slopes.par_chunks_mut(CHUNK));
        given.zip(made).for_each(|((scores, targets), (losses, slopes))| {
            self.loss.prepare(scores, targets, losses, slopes);
        });
    }

    fn prepare_filled(
        &self,
        fill: &(dyn Fn(usize, &mut [f64]) + Sync),
        image: &mut [f64],
        cache: &mut [f64],
    ) {
        image
            .par_chunks_mut(CHUNK)
            .enumerate()
            .for_each(|(chunk, piece)| fill(chunk * CHUNK, piece));
        self.prepare(image, cache);
    }
}

impl BestResponse for RobustCompletion {
    fn best_response(&self, at: PreparedImage<'_>, y: &mut [f64]) -> f64 {
        let (losses, _) = self.split(at.cache);
        self.with_sums(losses, |sums| {
            self.scratch.with(y.len(), |room| self.uncertainty.best_response(sums, room, y))
        })
    }
}

impl ExactDifferences for RobustCompletion {
    fn bend_x(
        &self,
        from: PreparedImage<'_>,
        to: PreparedImage<'_>,
        y: &[f64],
        _slope: f64,
    ) -> Measured {
        let missed = |image: &[f64], i: usize| image[i] - self.targets[i];
        let bend =
            |i: usize, w: f64| w * self.loss.bend(missed(from.image, i), missed(to.image, i));
        // what rounding of a residual does to a term: the slope moves by no more than the curvature allows
        let size = |i: usize, w: f64| {
            let (a, b) = (from.image[i], to.image[i]);
            w * (b - a).abs() * (a.abs() + b.abs() + self.targets[i].abs())
        };
        let (value, sizes) = self.with_weights(y, |weights| {
            let weights = || weights.iter().enumerate();
            let sizes: f64 = weights().map(|(i, w)| size(i, *w)).sum();
            // terms of one sign
            (accurate_sum(weights().map(|(i, w)| bend(i, *w))), sizes)
        });
        let rounding = f64::EPSILON * (8.0 * value.abs() + 2.0 * self.loss.curvature() * sizes);
        Measured { value, rounding: rounding + f64::MIN_POSITIVE }
    }

    fn change_y(&self, at: PreparedImage<'_>, from: &[f64], to: &[f64]) -> Measured {
        let (losses, _) = self.split(at.cache);
        self.with_sums(losses, |sums| self.uncertainty.change(sums, from, to))
    }
}

/// The weights of rows add up to 1, so that `|A^T diag(w l'') A| <= curvature |A A^T| max w`; and weights move by no more
/// than `y` does, as the shares of the rows of an entry add up to 1 as well.
impl KnownConstants for RobustCompletion {
    fn constants(&self) -> BlockConstants {
        let moduli = self.uncertainty.moduli();
        let largest = self.targets.iter().fold(0.0f64, |m, t| m.max(t.abs()));
        let residual = largest + self.measurements.largest(self.tau);
        let norm = self.measurements.squared_norm();
        BlockConstants {
            lxx: Some(self.loss.curvature() * norm),
            lxy: Some(self.loss.at(residual).1 * norm.sqrt()),
            lyy: moduli.lyy,
            mu: moduli.mu,
            mu_x: None,
        }
    }

    fn mu(&self) -> Option<f64> {
        self.uncertainty.moduli().mu
    }

    fn mu_x(&self) -> Option<f64> {
        None
    }
}

impl Identity for RobustCompletion {
    fn fingerprint(&self, print: &mut Fingerprint) {
        print.note("tau", self.tau);
        print.note("loss", format!("{:?}", self.loss));
        print.note("uncertainty", self.uncertainty.name());
        self.uncertainty.fingerprint(print);
        self.measurements.fingerprint(print);
        let mut digest = Digest::default();
        digest.numbers(&self.targets);
        print.note("values (SHA-256)", digest.name());
    }
}
