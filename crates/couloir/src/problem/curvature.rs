//! Problems that know how `phi(s) = max over y of f(s, y)` bends.

use super::PreparedImage;

/// Second derivatives of `phi(s) = max over y of f(s, y)` in the image `s`, where they are known: the product
/// `H d`, with
///
/// ```text
/// H = f_ss - f_sy (f_yy on the face of y)^-1 f_ys,      y the best response to s
/// ```
///
/// Where `phi` has a kink in its gradient any generalised second derivative will do. The corrective method solves its restricted
/// problems with it; without, it takes differences of gradients, which costs more and is less accurate.
///
/// For `f(s, y) = <s, y> - mu/2 |y|^2` on the simplex a change of `s` moves the positive entries of `y` alone, along their mean:
///
/// ```
/// use couloir::problem::{Curvature, PreparedImage};
///
/// struct Penalised { mu: f64 }
///
/// impl Curvature for Penalised {
///     fn curvature(&self, _at: PreparedImage<'_>, y: &[f64], direction: &[f64], out: &mut [f64]) {
///         let on_face = || y.iter().zip(direction).filter(|(y, _)| **y > 0.0);
///         let mean = on_face().map(|(_, d)| d).sum::<f64>() / on_face().count() as f64;
///         for ((o, y), d) in out.iter_mut().zip(y).zip(direction) {
///             *o = if *y > 0.0 { (d - mean) / self.mu } else { 0.0 };
///         }
///     }
/// }
///
/// let mut out = [0.0; 3];
/// Penalised { mu: 0.5 }.curvature(PreparedImage::plain(&[0.0; 3]), &[0.5, 0.5, 0.0], &[1.0, 3.0, 9.0], &mut out);
/// assert_eq!(out, [-2.0, 2.0, 0.0]);
/// ```
pub trait Curvature: Send + Sync {
    /// Writes `H direction` at an image whose best response is `y`.
    fn curvature(&self, at: PreparedImage<'_>, y: &[f64], direction: &[f64], out: &mut [f64]);
}
