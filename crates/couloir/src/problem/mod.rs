//! What a saddle problem is: `min over x in X, max over y in Y of f(x, y)`.
//!
//! A problem sees `x` only through a linear image `A x` ([`SaddleProblem::image`]): solvers move
//! images along with their iterates, so that affine combinations cost no operator product. What
//! depends on the image alone (losses, softmax, ...) is computed once per point by
//! [`SaddleProblem::prepare`] and reused for every `y`. A problem without such structure leaves the
//! defaults: the image is `x` itself.

mod check;
mod closures;
mod constants;
mod point;
mod quadratic;
mod sampled;

pub use crate::random::Population;
pub use check::{GradientCheck, check_gradient};
pub use closures::ClosureProblem;
pub use constants::BlockConstants;
pub(crate) use point::Imaged;
pub use point::PointX;
pub use quadratic::{QuadraticBilinear, QuadraticBuilder, QuadraticSum, Saddle};
pub use sampled::{BatchProblem, Sampled};

use crate::state::Fingerprint;

/// What a problem sees of a point `x`.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// The linear image `A x`.
    pub image: &'a [f64],
    /// What [`SaddleProblem::prepare`] made of it.
    pub cache: &'a [f64],
}

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
        Measured { value: a - b - c, rounding: 8.0 * f64::EPSILON * (a.abs() + b.abs() + c.abs()) }
    }
}

/// A convex-concave function of two blocks, as solvers ask for it.
///
/// `f(., y)` must be convex and `f(x, .)` strongly concave. Slices have the lengths that the `*_dim`
/// methods tell; solvers check what comes back for NaN and infinities.
pub trait SaddleProblem: Send + Sync {
    /// The number of coordinates of `x`.
    fn dim_x(&self) -> usize;

    /// The number of coordinates of `y`.
    fn dim_y(&self) -> usize;

    /// The length of the image `A x`.
    fn image_dim(&self) -> usize {
        self.dim_x()
    }

    /// Whether the image is more than `x` itself. A problem whose operator is square says so here, for the
    /// ledger.
    fn has_operator(&self) -> bool {
        self.image_dim() != self.dim_x()
    }

    /// Writes the linear image `A x`.
    fn image(&self, x: &[f64], out: &mut [f64]) {
        out.copy_from_slice(x);
    }

    /// Writes the adjoint `A^T s`.
    fn adjoint(&self, s: &[f64], out: &mut [f64]) {
        out.copy_from_slice(s);
    }

    /// Writes `A A^T s`, for who does not need `A^T s` itself; `room` has room for that, and is left with whatever. Who
    /// knows a quicker way than the two products overrides this; the result must be theirs but for rounding.
    fn normal(&self, s: &[f64], room: &mut [f64], out: &mut [f64]) {
        self.adjoint(s, room);
        self.image(room, out);
    }

    /// The number `h` of columns, where `x` and its image are matrices with rows of length `h` and the operator works on
    /// every column alike: the image of `x F` is that of `x`, times `F`, for every `h x h` matrix `F`. On sets of
    /// matrices whose prox is such a product (see [`ByGram`](crate::domain::ByGram)) trials then cost no operator product.
    /// A claim that does not hold is an error in the first iteration.
    fn columns(&self) -> Option<usize> {
        None
    }

    /// The length of what [`prepare`](SaddleProblem::prepare) writes.
    fn cache_dim(&self) -> usize {
        0
    }

    /// Computes once what depends on the image alone.
    fn prepare(&self, image: &[f64], cache: &mut [f64]) {
        let _ = (image, cache);
    }

    /// Writes an image, of which `fill(start, piece)` writes the piece from `start` on, and what
    /// [`prepare`](SaddleProblem::prepare) makes of it. A problem that prepares pieces apart can do so while they are in cache.
    fn prepare_filled(
        &self,
        fill: &(dyn Fn(usize, &mut [f64]) + Sync),
        image: &mut [f64],
        cache: &mut [f64],
    ) {
        fill(0, image);
        self.prepare(image, cache);
    }

    /// `f(x, y)`.
    fn value(&self, at: Seen<'_>, y: &[f64]) -> f64;

    /// Writes the gradient in the image: `grad_x f = A^T` of it.
    fn grad_image(&self, at: Seen<'_>, y: &[f64], out: &mut [f64]);

    /// Writes the gradient in `y`.
    fn grad_y(&self, at: Seen<'_>, y: &[f64], out: &mut [f64]);

    /// Whether [`best_response`](SaddleProblem::best_response) is there.
    fn has_best_response(&self) -> bool {
        false
    }

    /// Writes the maximiser of `f(x, .)` over the set of `y` and returns a bound of
    /// `max_y f(x, .) - f(x, out)`, at the level of rounding. Called only where
    /// [`has_best_response`](SaddleProblem::has_best_response) says so.
    fn best_response(&self, at: Seen<'_>, y: &mut [f64]) -> f64 {
        let _ = (at, y);
        f64::INFINITY
    }

    /// `f(to, y) - f(from, y) - slope`, where `slope = <grad_x f(from, y), to - from>`: how much the
    /// function bends. A problem that can compute this without cancellation should, for it decides
    /// how far a solver can go before rounding stops it.
    fn bend_x(&self, from: Seen<'_>, to: Seen<'_>, y: &[f64], slope: f64) -> Measured {
        Measured::difference(self.value(to, y), self.value(from, y), slope)
    }

    /// `f(x, to) - f(x, from)`; the same advice holds.
    fn change_y(&self, at: Seen<'_>, from: &[f64], to: &[f64]) -> Measured {
        Measured::difference(self.value(at, to), self.value(at, from), 0.0)
    }

    /// The constants that are known.
    fn constants(&self) -> BlockConstants {
        BlockConstants::default()
    }

    /// Notes what tells this problem from others like it (a digest of its data, its settings), so that a run on one is not
    /// gone on with on another. A run notes the sets, the method, the start points and the value there in any case.
    fn fingerprint(&self, print: &mut Fingerprint) {
        let _ = print;
    }

    /// The problem as a mean over components or samples, where it is one.
    fn sampled(&self) -> Option<&dyn Sampled> {
        None
    }
}
