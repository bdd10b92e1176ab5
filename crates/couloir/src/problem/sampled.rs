//! Problems that are a mean: of `n` components, or of infinitely many samples.

use super::{BlockConstants, SaddleProblem, Seen};
use crate::random::Population;

/// Values and gradients of a batch of samples: the mean over the batch.
pub trait Sampled: Send + Sync {
    /// How many samples there are.
    fn population(&self) -> Population;

    /// The mean of `F(x, y; xi)` over the batch.
    fn batch_value(&self, batch: &[u64], x: &[f64], y: &[f64]) -> f64;

    /// Writes the mean of `grad_x F(x, y; xi)` over the batch.
    fn batch_grad_x(&self, batch: &[u64], x: &[f64], y: &[f64], out: &mut [f64]);

    /// Writes the mean of `grad_y F(x, y; xi)` over the batch.
    fn batch_grad_y(&self, batch: &[u64], x: &[f64], y: &[f64], out: &mut [f64]);

    /// The smoothness in the mean square of the joint gradient,
    /// `E |grad F(p) - grad F(q)|^2 <= L^2 |p - q|^2`, where it is known.
    fn mean_smoothness(&self) -> Option<f64> {
        None
    }

    /// A bound of the standard deviation of the joint gradient, `E |grad F - grad f|^2 <= sigma^2`, where it
    /// is known.
    fn sigma(&self) -> Option<f64> {
        None
    }

    /// The block constants of the mean over a batch, as far as they are known: those of the whole need not
    /// hold for a part of it.
    fn batch_constants(&self, batch: &[u64]) -> BlockConstants {
        let _ = batch;
        BlockConstants::default()
    }

    /// The mean over the batch as a problem of its own, where the problem can do better than
    /// [`BatchProblem`] (with images, with a best response).
    fn restrict(&self, batch: &[u64]) -> Option<Box<dyn SaddleProblem + '_>> {
        let _ = batch;
        None
    }
}

/// The mean over a fixed batch as a problem, from batch values and gradients alone.
pub struct BatchProblem<'a> {
    whole: &'a dyn SaddleProblem,
    sampled: &'a dyn Sampled,
    batch: Vec<u64>,
}

impl<'a> BatchProblem<'a> {
    /// The mean over `batch` of a problem that is one; `None` where it is none.
    #[must_use]
    pub fn new(whole: &'a dyn SaddleProblem, batch: Vec<u64>) -> Option<Self> {
        Some(BatchProblem { whole, sampled: whole.sampled()?, batch })
    }
}

impl SaddleProblem for BatchProblem<'_> {
    fn dim_x(&self) -> usize {
        self.whole.dim_x()
    }

    fn dim_y(&self) -> usize {
        self.whole.dim_y()
    }

    fn value(&self, at: Seen<'_>, y: &[f64]) -> f64 {
        self.sampled.batch_value(&self.batch, at.image, y)
    }

    fn grad_image(&self, at: Seen<'_>, y: &[f64], out: &mut [f64]) {
        self.sampled.batch_grad_x(&self.batch, at.image, y, out);
    }

    fn grad_y(&self, at: Seen<'_>, y: &[f64], out: &mut [f64]) {
        self.sampled.batch_grad_y(&self.batch, at.image, y, out);
    }

    fn constants(&self) -> BlockConstants {
        self.sampled.batch_constants(&self.batch)
    }
}
