//! What a problem computes once for each image and uses for every `y`.

/// A point `x` as a problem receives it: its image, and what the problem has prepared from it.
#[derive(Clone, Copy, Debug)]
pub struct PreparedImage<'a> {
    /// The linear image `A x`; `x` itself for a problem without a [`LinearOperator`](super::LinearOperator).
    pub image: &'a [f64],
    /// What [`Preparation::prepare`] made of it; empty for a problem without a [`Preparation`].
    pub cache: &'a [f64],
}

impl<'a> PreparedImage<'a> {
    /// A point of a problem that prepares nothing. (If it has no operator either, the image is `x`.)
    #[must_use]
    pub fn plain(image: &'a [f64]) -> Self {
        PreparedImage { image, cache: &[] }
    }
}

/// The work of a problem that depends on the image alone (losses, a softmax, ...): it is done once for each point, and
/// [`value`](super::SaddleProblem::value) and the gradients find its result in [`PreparedImage::cache`].
///
/// ```
/// use couloir::problem::{Capabilities, Preparation, PreparedImage, SaddleProblem, check_gradient};
///
/// /// `f(x, y) = y exp(x) - y^2/2`, with one exponential for each point.
/// struct Exponential;
///
/// impl SaddleProblem for Exponential {
///     fn dim_x(&self) -> usize { 1 }
///     fn dim_y(&self) -> usize { 1 }
///     fn value(&self, at: PreparedImage<'_>, y: &[f64]) -> f64 { y[0] * at.cache[0] - 0.5 * y[0] * y[0] }
///     fn grad_image(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) { out[0] = y[0] * at.cache[0] }
///     fn grad_y(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) { out[0] = at.cache[0] - y[0] }
///     fn capabilities(&self) -> Capabilities<'_> { Capabilities::NONE.with_preparation(self) }
/// }
///
/// impl Preparation for Exponential {
///     fn cache_dim(&self) -> usize { 1 }
///     fn prepare(&self, image: &[f64], cache: &mut [f64]) { cache[0] = image[0].exp() }
///     // nothing is gained by preparing pieces of the image while they are written
///     fn prepare_filled(&self, fill: &(dyn Fn(usize, &mut [f64]) + Sync), image: &mut [f64], cache: &mut [f64]) {
///         fill(0, image);
///         self.prepare(image, cache);
///     }
/// }
///
/// assert!(check_gradient(&Exponential, &[0.1], &[0.5])?.worst() < 1e-6);
/// # Ok::<(), couloir::Error>(())
/// ```
pub trait Preparation: Send + Sync {
    /// The length of what [`prepare`](Self::prepare) writes.
    fn cache_dim(&self) -> usize;

    /// Writes what depends on the image alone.
    fn prepare(&self, image: &[f64], cache: &mut [f64]);

    /// Writes an image, of which `fill(start, piece)` writes the piece from `start` on, and what [`prepare`](Self::prepare)
    /// makes of it. A problem that prepares pieces independently can do so while they are in the processor's cache.
    fn prepare_filled(
        &self,
        fill: &(dyn Fn(usize, &mut [f64]) + Sync),
        image: &mut [f64],
        cache: &mut [f64],
    );
}
