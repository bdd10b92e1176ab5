//! What a problem promises about the rounding of its value and gradients.

use super::PreparedImage;

/// Bounds of the rounding in what a problem returns at a pair `(x, y)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rounding {
    /// How far the value may be from `f(x, y)`.
    pub value: f64,
    /// The length of the error of the gradient in `x` (of `A^T` times the gradient in the image, where there is an operator).
    pub grad_x: f64,
    /// The length of the error of the gradient in `y`.
    pub grad_y: f64,
    /// A bound of the length of `grad_x f(x, v)`, for every `v` of its set within the distance asked about.
    pub steepest_x: f64,
    /// A bound of all entries of `grad_y f(u, y)`, for every `u` of its set within the distance asked about.
    pub steepest_y: f64,
}

impl Rounding {
    /// Nothing is known.
    pub(crate) const NONE: Rounding = Rounding {
        value: f64::INFINITY,
        grad_x: f64::INFINITY,
        grad_y: f64::INFINITY,
        steepest_x: f64::INFINITY,
        steepest_y: f64::INFINITY,
    };

    /// The same, infinite where a bound is no number: what is not known bounds nothing.
    pub(crate) fn checked(self) -> Self {
        let known = |bound: f64| if bound.is_finite() { bound } else { f64::INFINITY };
        Rounding {
            value: known(self.value),
            grad_x: known(self.grad_x),
            grad_y: known(self.grad_y),
            steepest_x: known(self.steepest_x),
            steepest_y: known(self.steepest_y),
        }
    }
}

/// Known bounds of rounding: certificates are charged with them, so that they hold for the numbers that come out of a
/// processor as they would for real ones.
///
/// For a problem without this capability the bounds are estimated from the sizes of its values and gradients and from where its sets
/// lie (docs/theory.md, "Rounding"): generous where a function is computed by plain sums.
///
/// ```
/// use couloir::problem::{Capabilities, KnownRounding, PreparedImage, Rounding, SaddleProblem};
///
/// /// `f(x, y) = x y - y^2/2` for numbers.
/// struct Product;
///
/// impl SaddleProblem for Product {
///     fn dim_x(&self) -> usize { 1 }
///     fn dim_y(&self) -> usize { 1 }
///     fn value(&self, at: PreparedImage<'_>, y: &[f64]) -> f64 { at.image[0] * y[0] - 0.5 * y[0] * y[0] }
///     fn grad_image(&self, _at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) { out[0] = y[0] }
///     fn grad_y(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) { out[0] = at.image[0] - y[0] }
///     fn capabilities(&self) -> Capabilities<'_> { Capabilities::NONE.with_rounding(self) }
/// }
///
/// impl KnownRounding for Product {
///     fn rounding(&self, at: PreparedImage<'_>, y: &[f64], reach: [f64; 2]) -> Rounding {
///         let (x, y) = (at.image[0].abs(), y[0].abs());
///         Rounding {
///             value: 2.0 * f64::EPSILON * (x * y + 0.5 * y * y),
///             grad_x: 0.0,
///             grad_y: f64::EPSILON * (x + y),
///             steepest_x: y + reach[1],
///             steepest_y: x + reach[0] + y,
///         }
///     }
/// }
///
/// let at = PreparedImage::plain(&[3.0]);
/// assert_eq!(Product.rounding(at, &[2.0], [1.0, 0.5]).steepest_y, 6.0);
/// ```
pub trait KnownRounding: Send + Sync {
    /// Bounds at a pair; [`steepest_y`](Rounding::steepest_y) for all points within `reach[0]` of `x`, and
    /// [`steepest_x`](Rounding::steepest_x) for all within `reach[1]` of `y`.
    fn rounding(&self, at: PreparedImage<'_>, y: &[f64], reach: [f64; 2]) -> Rounding;

    /// [`steepest_y`](Rounding::steepest_y) alone, for less work where that is possible.
    fn steepest_y(&self, at: PreparedImage<'_>, y: &[f64], reach: [f64; 2]) -> f64 {
        self.rounding(at, y, reach).steepest_y
    }
}
