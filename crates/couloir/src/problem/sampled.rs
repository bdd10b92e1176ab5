//! Problems that are a mean: of `n` components, or of infinitely many samples.

use super::{BlockConstants, Capabilities, KnownConstants, PreparedImage, SaddleProblem};
use crate::random::Population;

/// Values and gradients of a batch of samples: the mean over the batch. They take `x` itself, not its image.
///
/// ```
/// use couloir::problem::{Capabilities, Population, PreparedImage, SaddleProblem, Sampled};
///
/// /// `f(x, y) = mean_i a_i x y - y^2/2`.
/// struct Mean { a: Vec<f64> }
///
/// impl Mean {
///     fn slope(&self, batch: &[u64]) -> f64 {
///         batch.iter().map(|&i| self.a[i as usize]).sum::<f64>() / batch.len() as f64
///     }
///     fn all(&self) -> Vec<u64> { (0..self.a.len() as u64).collect() }
/// }
///
/// impl Sampled for Mean {
///     fn population(&self) -> Population { Population::Finite(self.a.len() as u64) }
///     fn batch_value(&self, batch: &[u64], x: &[f64], y: &[f64]) -> f64 {
///         self.slope(batch) * x[0] * y[0] - 0.5 * y[0] * y[0]
///     }
///     fn batch_grad_x(&self, batch: &[u64], _x: &[f64], y: &[f64], out: &mut [f64]) {
///         out[0] = self.slope(batch) * y[0];
///     }
///     fn batch_grad_y(&self, batch: &[u64], x: &[f64], y: &[f64], out: &mut [f64]) {
///         out[0] = self.slope(batch) * x[0] - y[0];
///     }
/// }
///
/// impl SaddleProblem for Mean {
///     fn dim_x(&self) -> usize { 1 }
///     fn dim_y(&self) -> usize { 1 }
///     fn value(&self, at: PreparedImage<'_>, y: &[f64]) -> f64 { self.batch_value(&self.all(), at.image, y) }
///     fn grad_image(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
///         self.batch_grad_x(&self.all(), at.image, y, out);
///     }
///     fn grad_y(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
///         self.batch_grad_y(&self.all(), at.image, y, out);
///     }
///     fn capabilities(&self) -> Capabilities<'_> { Capabilities::NONE.with_sampled(self) }
/// }
///
/// let f = Mean { a: vec![1.0, 2.0, 6.0] };
/// assert_eq!(f.value(PreparedImage::plain(&[1.0]), &[1.0]), 2.5);
/// assert_eq!(f.batch_value(&[0, 1], &[1.0], &[1.0]), 1.0);
/// ```
pub trait Sampled: Send + Sync {
    /// How many samples there are.
    fn population(&self) -> Population;

    /// The mean of `F(x, y; xi)` over the batch.
    fn batch_value(&self, batch: &[u64], x: &[f64], y: &[f64]) -> f64;

    /// Writes the mean of `grad_x F(x, y; xi)` over the batch.
    fn batch_grad_x(&self, batch: &[u64], x: &[f64], y: &[f64], out: &mut [f64]);

    /// Writes the mean of `grad_y F(x, y; xi)` over the batch.
    fn batch_grad_y(&self, batch: &[u64], x: &[f64], y: &[f64], out: &mut [f64]);
}

/// What is known of the samples of a mean and of the means over batches.
///
/// ```
/// use couloir::problem::{BlockConstants, SampledConstants};
///
/// /// `F(x, y; i) = a_i x y - y^2/2` on the interval [-1, 1] in both blocks.
/// struct Mean { a: Vec<f64> }
///
/// impl SampledConstants for Mean {
///     // nobody has computed it
///     fn mean_smoothness(&self) -> Option<f64> { None }
///     // grad F - grad f = (a_i - mean a) (y, x)
///     fn sigma(&self) -> Option<f64> {
///         let mean = self.a.iter().sum::<f64>() / self.a.len() as f64;
///         let variance = self.a.iter().map(|a| (a - mean).powi(2)).sum::<f64>() / self.a.len() as f64;
///         Some((2.0 * variance).sqrt())
///     }
///     fn batch_constants(&self, batch: &[u64]) -> BlockConstants {
///         let a = batch.iter().map(|&i| self.a[i as usize]).sum::<f64>() / batch.len() as f64;
///         BlockConstants::all(0.0, a.abs(), 1.0, 1.0)
///     }
/// }
///
/// assert_eq!(Mean { a: vec![1.0, 3.0] }.sigma(), Some(2.0_f64.sqrt()));
/// ```
pub trait SampledConstants: Send + Sync {
    /// The smoothness in the mean square of the joint gradient,
    /// `E |grad F(p) - grad F(q)|^2 <= L^2 |p - q|^2`, if it is known.
    fn mean_smoothness(&self) -> Option<f64>;

    /// A bound of the standard deviation of the joint gradient, `E |grad F - grad f|^2 <= sigma^2`, if it is known.
    fn sigma(&self) -> Option<f64>;

    /// The block constants of the mean over a batch, as far as they are known: those of the whole need not
    /// hold for a part of it.
    fn batch_constants(&self, batch: &[u64]) -> BlockConstants;
}

/// Means over batches that are problems with capabilities of their own: an operator, a best response.
///
/// Without this capability [`BatchProblem`] makes a problem from batch values and gradients.
///
/// ```
/// use couloir::problem::{BatchRestriction, Capabilities, PreparedImage, SaddleProblem};
///
/// /// `f(x, y) = mean_i a_i x y - y^2/2`.
/// struct Mean { a: Vec<f64> }
///
/// impl Mean {
///     fn slope(&self) -> f64 { self.a.iter().sum::<f64>() / self.a.len() as f64 }
/// }
///
/// impl SaddleProblem for Mean {
///     fn dim_x(&self) -> usize { 1 }
///     fn dim_y(&self) -> usize { 1 }
///     fn value(&self, at: PreparedImage<'_>, y: &[f64]) -> f64 { self.slope() * at.image[0] * y[0] - 0.5 * y[0] * y[0] }
///     fn grad_image(&self, _at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) { out[0] = self.slope() * y[0] }
///     fn grad_y(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) { out[0] = self.slope() * at.image[0] - y[0] }
///     fn capabilities(&self) -> Capabilities<'_> { Capabilities::NONE.with_restriction(self) }
/// }
///
/// impl BatchRestriction for Mean {
///     fn restrict(&self, batch: &[u64]) -> Option<Box<dyn SaddleProblem + '_>> {
///         let a: Vec<f64> = batch.iter().map(|&i| self.a[i as usize]).collect();
///         (!a.is_empty()).then(|| Box::new(Mean { a }) as Box<dyn SaddleProblem>)
///     }
/// }
///
/// let f = Mean { a: vec![1.0, 2.0, 6.0] };
/// let part = f.restrict(&[0, 1]).expect("two rows");
/// assert_eq!(part.value(PreparedImage::plain(&[1.0]), &[1.0]), 1.0);
/// ```
pub trait BatchRestriction: Send + Sync {
    /// The mean over the batch; `None` for a batch for which there is no better way than [`BatchProblem`].
    fn restrict(&self, batch: &[u64]) -> Option<Box<dyn SaddleProblem + '_>>;
}

/// The mean over a fixed batch as a problem, from batch values and gradients alone.
pub struct BatchProblem<'a> {
    whole: &'a dyn SaddleProblem,
    sampled: &'a dyn Sampled,
    constants: Option<&'a dyn SampledConstants>,
    batch: Vec<u64>,
}

impl<'a> BatchProblem<'a> {
    /// The mean over `batch` of a problem that is one; `None` where it is none.
    #[must_use]
    pub fn new(whole: &'a dyn SaddleProblem, batch: Vec<u64>) -> Option<Self> {
        let capabilities = whole.capabilities();
        let (sampled, constants) = (capabilities.sampled?, capabilities.sampled_constants);
        Some(BatchProblem { whole, sampled, constants, batch })
    }
}

impl SaddleProblem for BatchProblem<'_> {
    fn dim_x(&self) -> usize {
        self.whole.dim_x()
    }

    fn dim_y(&self) -> usize {
        self.whole.dim_y()
    }

    fn value(&self, at: PreparedImage<'_>, y: &[f64]) -> f64 {
        self.sampled.batch_value(&self.batch, at.image, y)
    }

    fn grad_image(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
        self.sampled.batch_grad_x(&self.batch, at.image, y, out);
    }

    fn grad_y(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
        self.sampled.batch_grad_y(&self.batch, at.image, y, out);
    }

    /// Those of the whole are about the whole: all that a batch has is its constants.
    fn capabilities(&self) -> Capabilities<'_> {
        let mut capabilities = Capabilities::NONE;
        capabilities.constants = self.constants.map(|_| self as &dyn KnownConstants);
        capabilities
    }
}

impl KnownConstants for BatchProblem<'_> {
    fn constants(&self) -> BlockConstants {
        let known = |c: &dyn SampledConstants| c.batch_constants(&self.batch);
        self.constants.map_or_else(BlockConstants::default, known)
    }
}
