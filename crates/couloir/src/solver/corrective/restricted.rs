//! What a corrective method grows: a small part of X, with small coordinates, in which problems are cheap.

use crate::certificate::Charged;
use crate::domain::LinearMin;
use crate::error::{Block, Result};
use crate::linalg::{Factors, dot, norm, sum_rounding};
use crate::oracles::Oracles;
use crate::state::Archive;

/// A convex function of the image `s = A x`: `phi(s) = max over y of f(s, y)`.
pub(in crate::solver) trait ImageFunction {
    /// The value, with its gradient in the image. Looks at the watch.
    fn look(&mut self, image: &[f64], slope: &mut [f64]) -> Result<f64>;

    /// Writes second derivatives along a direction, at an image with this slope, or differences of slopes.
    fn bend(
        &mut self,
        image: &[f64],
        slope: &[f64],
        direction: &[f64],
        out: &mut [f64],
    ) -> Result<()>;

    /// How well [`bend`](Self::bend) is known, as a share of its size.
    fn noise(&self) -> f64 {
        1e-12
    }
}

/// How a restricted problem was left.
#[derive(Clone, Copy, Debug)]
pub(in crate::solver) struct Restricted {
    /// By how much phi fell.
    pub fell: f64,
    /// The FW-gap over the atoms that is left; zero where the set has no atoms.
    pub left: f64,
}

/// A part of X that grows by the answers of the linear minimisation.
///
/// Points have coordinates in a small convex set of their own (a simplex of weights, a small nuclear ball), and are known through
/// their image; in full only on demand. The set has a present point, which [`minimise`](Self::minimise) moves and nothing else.
pub(in crate::solver) trait RestrictedSet {
    /// The number of coordinates.
    fn len(&self) -> usize;

    /// Writes the image of the present point.
    fn image(&self, out: &mut [f64]);

    /// Moves to where `phi` is least over the restricted set: until the FW-gap over it is at most `wanted`, or as small as rounding
    /// lets it be. `phi` never rises.
    fn minimise(&mut self, phi: &mut dyn ImageFunction, wanted: f64) -> Result<Restricted>;

    /// Asks X for the minimum of `<A' slope, p>`, with its lower bound, and keeps the answer for [`grow`](Self::grow). `slope` is a
    /// gradient in the image; whether a vector as long as `x` is formed from it is up to the set.
    fn ask(&mut self, oracles: &mut Oracles<'_>, slope: &[f64]) -> Result<LinearMin>;

    /// Takes in what was last asked for, which leaves the point where it is. Returns whether that is new.
    fn grow(&mut self, oracles: &mut Oracles<'_>) -> Result<bool>;

    /// Drops what the point has not used for long.
    fn shrink(&mut self);

    /// The size of the terms in the inner product of a slope with the image of the point, for its rounding.
    fn scale(&self, slope: &[f64]) -> f64;

    /// What the point may gain along `slope`, which was asked for last: a bound of `<slope, image - A p>` for all points `p` of the
    /// set. The gradient errs by `error`; the image is that of the present point, as it was repaired.
    fn gain(
        &self,
        oracles: &Oracles<'_>,
        (slope, image): (&[f64], &[f64]),
        minimum: &LinearMin,
        error: f64,
    ) -> Charged {
        let (here, farthest) = (dot(slope, image), oracles.farthest(Block::X));
        let sums = sum_rounding(slope.len()) * norm(slope) * norm(image)
            + 4.0 * f64::EPSILON * (here.abs() + minimum.lower.abs());
        // the gradient enters the minimum, and the product with the image through its operator
        let rounding = sums + error * (oracles.diameters[0] + 2.0 * farthest);
        Charged { gap: (here - minimum.lower).max(0.0) + rounding, rounding }
    }

    /// Writes the point in full. Never called where there are [`factors`](Self::factors).
    fn write(&self, x: &mut [f64]);

    /// The point by its factors, for sets whose points are too large to be written in full.
    ///
    /// # Errors
    /// A decomposition that fails.
    fn factors(&self) -> Option<Result<Factors>> {
        None
    }

    /// Saves or loads it.
    fn state(&mut self, archive: &mut Archive<'_>) -> Result<()>;
}
