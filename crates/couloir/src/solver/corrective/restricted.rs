//! What a corrective method grows: a small part of X, with small coordinates, in which problems are cheap.

use crate::domain::LinearMin;
use crate::error::Result;
use crate::oracles::Oracles;
use crate::state::Archive;

/// A convex function of the image `s = A x`: `phi(s) = max over y of f(s, y)`.
pub(in crate::solver) trait ImageFunction {
    /// The value, with its gradient in the image. Looks at the watch.
    fn look(&mut self, image: &[f64], slope: &mut [f64]) -> Result<f64>;
}

/// How well a restricted problem is to be solved.
#[derive(Clone, Copy, Debug)]
pub(in crate::solver) struct Goal {
    /// The largest FW-gap over the restricted set that will do: a share of the certified gap.
    pub most: f64,
    /// The FW-gap that is worth some more work: accurate restricted solutions save calls of the oracle.
    pub wanted: f64,
}

/// How a restricted problem was left.
#[derive(Clone, Copy, Debug)]
pub(in crate::solver) struct Restricted {
    /// The FW-gap over the restricted set, with its rounding.
    pub gap: f64,
    /// By how much phi fell.
    pub fell: f64,
}

/// A part of X that grows by the answers of the linear minimisation.
///
/// Coordinates live in a small convex set of their own (a simplex of weights, a small nuclear ball); the point that they
/// stand for is known through its image, and in full only on demand.
pub(in crate::solver) trait RestrictedSet {
    /// The number of coordinates.
    fn dim(&self) -> usize;

    /// Those of the present point.
    fn coordinates(&self) -> &[f64];

    /// Writes the image of coordinates.
    fn image_of(&self, coordinates: &[f64], out: &mut [f64]);

    /// Writes the gradient in the coordinates that belongs to one in the image: the adjoint of `image_of`.
    fn pull_back(&self, slope: &[f64], out: &mut [f64]);

    /// Minimises `phi(image_of(c))` over the coordinates, from the present ones, which it replaces; phi never rises.
    fn minimise(&mut self, phi: &mut dyn ImageFunction, goal: Goal) -> Result<Restricted>;

    /// Asks X for the minimum of `<A' slope, p>`, with its lower bound, and keeps the answer for [`grow`](Self::grow). `slope` is a
    /// gradient in the image; whether a vector as long as `x` is formed from it is up to the set.
    fn ask(&mut self, oracles: &mut Oracles<'_>, slope: &[f64]) -> Result<LinearMin>;

    /// Takes in what was last asked for, with coordinates that leave the point where it is. Returns whether that is new.
    fn grow(&mut self, oracles: &mut Oracles<'_>) -> Result<bool>;

    /// Drops what the point does not use.
    fn shrink(&mut self);

    /// Writes the point in full.
    fn write(&self, x: &mut [f64]);

    /// Saves or loads it.
    fn state(&mut self, archive: &mut Archive<'_>) -> Result<()>;
}
