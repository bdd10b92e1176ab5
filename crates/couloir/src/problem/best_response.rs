//! Problems that know the maximiser of `f(x, .)`.

use super::PreparedImage;
use crate::domain::Confidence;

/// The exact best response in `y`.
///
/// ```
/// use couloir::domain::BoxSet;
/// use couloir::problem::{BestResponse, Capabilities, PreparedImage, SaddleProblem};
/// use couloir::Solve;
///
/// /// `f(x, y) = x^2/2 + (x + 1) y - y^2` on the interval [-1, 1] in both blocks.
/// struct Game;
///
/// impl SaddleProblem for Game {
///     fn dim_x(&self) -> usize { 1 }
///     fn dim_y(&self) -> usize { 1 }
///     fn value(&self, at: PreparedImage<'_>, y: &[f64]) -> f64 {
///         let (x, y) = (at.image[0], y[0]);
///         0.5 * x * x + (x + 1.0) * y - y * y
///     }
///     fn grad_image(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) { out[0] = at.image[0] + y[0] }
///     fn grad_y(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) { out[0] = at.image[0] + 1.0 - 2.0 * y[0] }
///     fn capabilities(&self) -> Capabilities<'_> { Capabilities::NONE.with_best_response(self) }
/// }
///
/// impl BestResponse for Game {
///     fn best_response(&self, at: PreparedImage<'_>, y: &mut [f64]) -> f64 {
///         y[0] = (0.5 * (at.image[0] + 1.0)).clamp(-1.0, 1.0);
///         8.0 * f64::EPSILON * self.value(at, y).abs()
///     }
/// }
///
/// let set = BoxSet::cube(1, -1.0, 1.0)?;
/// let solution = Solve::new(&Game, &set, &set).gap(1e-9).run()?;
/// assert!((solution.x[0] + 1.0 / 3.0).abs() < 1e-4);
/// assert!(solution.outcome.ledger.method.best_response > 0);
/// # Ok::<(), couloir::Error>(())
/// ```
pub trait BestResponse: Send + Sync {
    /// Writes the maximiser of `f(x, .)` over the set of `y` and returns a bound of `max_y f(x, .) - f(x, out)`, at the level
    /// of rounding. Certificates rest on this bound. Where there is none, return infinity: then every response is
    /// measured, by one gradient in `y` and one linear minimisation.
    fn best_response(&self, at: PreparedImage<'_>, y: &mut [f64]) -> f64;

    /// On what the bound rests: as given, unless the problem has a proof of its own. Certificates say so.
    fn confidence(&self) -> Confidence {
        Confidence::AsGiven
    }
}
