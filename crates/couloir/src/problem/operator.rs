//! Problems that see `x` only through a linear image `A x`.

/// The linear operator `A` of a problem whose `f` depends on `x` through `A x` alone.
///
/// Solvers carry images along with their iterates, so that affine combinations of points cost no product with `A`. With this
/// capability [`value`](super::SaddleProblem::value) and the gradients receive `A x` in place of `x`, and
/// [`grad_image`](super::SaddleProblem::grad_image) writes the gradient with respect to `A x`.
///
/// ```
/// use couloir::problem::{Capabilities, LinearOperator, PreparedImage, SaddleProblem, check_gradient};
///
/// /// `f(x, y) = y (x_1 + x_2 + x_3) - y^2/2`: the image is one number, the sum.
/// struct OfTheSum;
///
/// impl SaddleProblem for OfTheSum {
///     fn dim_x(&self) -> usize { 3 }
///     fn dim_y(&self) -> usize { 1 }
///     fn value(&self, at: PreparedImage<'_>, y: &[f64]) -> f64 { y[0] * at.image[0] - 0.5 * y[0] * y[0] }
///     fn grad_image(&self, _at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) { out[0] = y[0] }
///     fn grad_y(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) { out[0] = at.image[0] - y[0] }
///     fn capabilities(&self) -> Capabilities<'_> { Capabilities::NONE.with_operator(self) }
/// }
///
/// impl LinearOperator for OfTheSum {
///     fn image_dim(&self) -> usize { 1 }
///     fn image(&self, x: &[f64], out: &mut [f64]) { out[0] = x.iter().sum() }
///     fn adjoint(&self, s: &[f64], out: &mut [f64]) { out.fill(s[0]) }
/// }
///
/// assert!(check_gradient(&OfTheSum, &[0.1, 0.2, 0.3], &[0.5])?.worst() < 1e-6);
/// # Ok::<(), couloir::Error>(())
/// ```
pub trait LinearOperator: Send + Sync {
    /// The length of the image `A x`.
    fn image_dim(&self) -> usize;

    /// Writes the image `A x`.
    fn image(&self, x: &[f64], out: &mut [f64]);

    /// Writes the adjoint product `A^T s`.
    fn adjoint(&self, s: &[f64], out: &mut [f64]);

    /// How much each row of an image counts, where rows count differently: solvers that model `f` by a quadratic in the image take
    /// its metric from them. Bounds do not depend on it.
    fn image_weights(&self) -> Option<&[f64]> {
        None
    }
}

/// An operator that treats all columns alike: `x` and its image are matrices with rows of length `h`, and the image of `x F` is
/// that of `x`, times `F`, for every `h x h` matrix `F`.
///
/// On sets of matrices whose prox is such a product (see [`ByGram`](crate::domain::ByGram)) trials then cost no operator product. A
/// claim that does not hold is an error in the first iteration. The problem needs a [`LinearOperator`] as well.
///
/// ```
/// use couloir::problem::{ColumnWise, LinearOperator};
///
/// /// `A x` has the sums of neighbouring rows of `x`, which has rows of length 2.
/// struct NeighbourSums { rows: usize }
///
/// impl LinearOperator for NeighbourSums {
///     fn image_dim(&self) -> usize { 2 * (self.rows - 1) }
///     fn image(&self, x: &[f64], out: &mut [f64]) {
///         out.iter_mut().enumerate().for_each(|(i, o)| *o = x[i] + x[i + 2]);
///     }
///     fn adjoint(&self, s: &[f64], out: &mut [f64]) {
///         out.fill(0.0);
///         s.iter().enumerate().for_each(|(i, s)| { out[i] += s; out[i + 2] += s; });
///     }
/// }
///
/// impl ColumnWise for NeighbourSums {
///     fn columns(&self) -> usize { 2 }
///     // this operator knows no quicker way than the two products
///     fn normal(&self, s: &[f64], room: &mut [f64], out: &mut [f64]) {
///         self.adjoint(s, room);
///         self.image(room, out);
///     }
/// }
///
/// let a = NeighbourSums { rows: 3 };
/// let (mut room, mut out) = (vec![0.0; 6], vec![0.0; 4]);
/// a.normal(&[1.0, 0.0, 0.0, 0.0], &mut room, &mut out);
/// assert_eq!(out, [2.0, 0.0, 1.0, 0.0]);
/// ```
pub trait ColumnWise: Send + Sync {
    /// `h`, the number of columns.
    fn columns(&self) -> usize;

    /// Writes `A A^T s`. `room` is as long as `x`; what it holds afterwards is not read. The result must be that of the
    /// two products up to rounding, but may be computed in a quicker way.
    fn normal(&self, s: &[f64], room: &mut [f64], out: &mut [f64]);
}
