//! Differences of values, and the rounding in them.

use super::PreparedImage;

/// A number and a bound of the rounding in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The number.
    pub value: f64,
    /// How far rounding may have moved it.
    pub rounding: f64,
}

impl Measured {
    /// `a - b - c`, with the rounding that such a difference of large numbers carries.
    #[must_use]
    pub fn difference(a: f64, b: f64, c: f64) -> Self {
        Measured::difference_by(8.0 * f64::EPSILON, a, b, c)
    }

    /// The same where each of the three is off by this share of its size.
    pub(crate) fn difference_by(share: f64, a: f64, b: f64, c: f64) -> Self {
        Measured { value: a - b - c, rounding: share * (a.abs() + b.abs() + c.abs()) }
    }
}

/// Differences of values that are computed without cancellation.
///
/// For a problem without this capability two values are subtracted. Then rounding ends a run when what is left to gain
/// falls to about 1e-16 of the value itself; exact differences let it go on.
///
/// ```
/// use couloir::problem::{Capabilities, ExactDifferences, Measured, PreparedImage, SaddleProblem};
///
/// /// `f(x, y) = 1000 + x^2/2 - y^2/2`.
/// struct FarFromZero;
///
/// impl SaddleProblem for FarFromZero {
///     fn dim_x(&self) -> usize { 1 }
///     fn dim_y(&self) -> usize { 1 }
///     fn value(&self, at: PreparedImage<'_>, y: &[f64]) -> f64 {
///         1000.0 + 0.5 * at.image[0].powi(2) - 0.5 * y[0].powi(2)
///     }
///     fn grad_image(&self, at: PreparedImage<'_>, _y: &[f64], out: &mut [f64]) { out[0] = at.image[0] }
///     fn grad_y(&self, _at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) { out[0] = -y[0] }
///     fn capabilities(&self) -> Capabilities<'_> { Capabilities::NONE.with_differences(self) }
/// }
///
/// impl ExactDifferences for FarFromZero {
///     fn bend_x(&self, from: PreparedImage<'_>, to: PreparedImage<'_>, _y: &[f64], _slope: f64) -> Measured {
///         let value = 0.5 * (to.image[0] - from.image[0]).powi(2);
///         Measured { value, rounding: 4.0 * f64::EPSILON * value }
///     }
///     fn change_y(&self, _at: PreparedImage<'_>, from: &[f64], to: &[f64]) -> Measured {
///         let value = 0.5 * (from[0] + to[0]) * (from[0] - to[0]);
///         Measured { value, rounding: 4.0 * f64::EPSILON * value.abs() }
///     }
/// }
///
/// let (from, to) = (PreparedImage::plain(&[0.0]), PreparedImage::plain(&[1e-9]));
/// let f = FarFromZero;
/// assert_eq!(f.value(to, &[0.0]) - f.value(from, &[0.0]), 0.0);
/// assert!((f.bend_x(from, to, &[0.0], 0.0).value - 5e-19).abs() < 1e-30);
/// ```
pub trait ExactDifferences: Send + Sync {
    /// `f(to, y) - f(from, y) - slope`, where `slope = <grad_x f(from, y), to - from>`: how far the function bends away from
    /// its tangent.
    fn bend_x(
        &self,
        from: PreparedImage<'_>,
        to: PreparedImage<'_>,
        y: &[f64],
        slope: f64,
    ) -> Measured;

    /// `f(x, to) - f(x, from)`.
    fn change_y(&self, at: PreparedImage<'_>, from: &[f64], to: &[f64]) -> Measured;
}
