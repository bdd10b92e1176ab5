//! What a saddle problem is: `min over x in X, max over y in Y of f(x, y)`.
//!
//! Every [`SaddleProblem`] gives the value of `f` and its two gradients. Whatever else a problem can do is a *capability*, a small
//! trait of its own, and [`SaddleProblem::capabilities`] names those that a problem has:
//!
//! * [`LinearOperator`]: `f` depends on `x` through a linear image `A x`, which solvers carry along with their iterates;
//!   [`ColumnWise`]: the operator treats all columns of a matrix alike; [`MatrixOperator`]: it needs no whole matrix;
//! * [`Preparation`]: work that depends on the image alone is done once for each point and used for every `y`;
//! * [`BestResponse`]: the maximiser of `f(x, .)` is known;
//! * [`Curvature`]: second derivatives of `max over y of f(., y)`;
//! * [`Bilinear`]: `f` is linear in each block;
//! * [`ExactDifferences`]: differences of values without cancellation;
//! * [`KnownConstants`]: smoothness and strong concavity;
//! * [`KnownRounding`]: bounds of the rounding in values and gradients;
//! * [`Sampled`], [`SampledConstants`], [`BatchRestriction`]: `f` is a mean, and can be asked for batches;
//! * [`Identity`]: what tells the problem from others like it, for checkpoints.

mod best_response;
mod bilinear;
mod capabilities;
mod check;
mod closures;
mod constants;
mod curvature;
mod differences;
mod fallbacks;
mod identity;
mod image_space;
mod matrix_game;
mod matrix_operator;
mod operator;
mod point;
mod preparation;
mod quadratic;
mod rounding;
mod sampled;

pub use crate::random::Population;
pub use best_response::BestResponse;
pub use bilinear::Bilinear;
pub use capabilities::Capabilities;
pub use check::{GradientCheck, check_gradient};
pub use closures::ClosureProblem;
pub use constants::{BlockConstants, KnownConstants};
pub use curvature::Curvature;
pub use differences::{ExactDifferences, Measured};
pub use fallbacks::WithFallbacks;
pub use identity::Identity;
pub use image_space::{ImageSpace, LocalImages};
pub use matrix_game::MatrixGame;
pub use matrix_operator::MatrixOperator;
pub use operator::{ColumnWise, LinearOperator};
pub(crate) use point::Imaged;
pub use point::PointX;
pub use preparation::{Preparation, PreparedImage};
pub use quadratic::{QuadraticBilinear, QuadraticBuilder, QuadraticSum, Saddle};
pub use rounding::{KnownRounding, Rounding};
pub use sampled::{BatchProblem, BatchRestriction, Sampled, SampledConstants};

/// A convex-concave function of two blocks, as solvers ask for it.
///
/// `f(., y)` must be convex and `f(x, .)` concave; most methods want it strongly concave. Slices have the lengths that the dimensions tell; solvers check what
/// comes back for NaN and infinities.
///
/// A problem without further structure receives `x` as `at.image` and has no capabilities:
///
/// ```
/// use couloir::domain::Simplex;
/// use couloir::problem::{Capabilities, PreparedImage, SaddleProblem};
/// use couloir::Solve;
///
/// /// `f(x, y) = <x, y> - |y|^2/2`.
/// struct Matching { dim: usize }
///
/// impl SaddleProblem for Matching {
///     fn dim_x(&self) -> usize { self.dim }
///     fn dim_y(&self) -> usize { self.dim }
///     fn value(&self, at: PreparedImage<'_>, y: &[f64]) -> f64 {
///         at.image.iter().zip(y).map(|(x, y)| x * y - 0.5 * y * y).sum()
///     }
///     fn grad_image(&self, _at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) { out.copy_from_slice(y) }
///     fn grad_y(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
///         for ((g, x), y) in out.iter_mut().zip(at.image).zip(y) { *g = x - y; }
///     }
///     fn capabilities(&self) -> Capabilities<'_> { Capabilities::NONE }
/// }
///
/// let set = Simplex::new(4)?;
/// let solution = Solve::new(&Matching { dim: 4 }, &set, &set).gap(1e-6).run()?;
/// assert!(solution.x.iter().all(|x| (x - 0.25).abs() < 1e-2));
/// # Ok::<(), couloir::Error>(())
/// ```
pub trait SaddleProblem: Send + Sync {
    /// The number of coordinates of `x`.
    fn dim_x(&self) -> usize;

    /// The number of coordinates of `y`.
    fn dim_y(&self) -> usize;

    /// `f(x, y)`.
    fn value(&self, at: PreparedImage<'_>, y: &[f64]) -> f64;

    /// Writes the gradient with respect to the image, which is `x` itself for a problem without a [`LinearOperator`]:
    /// `grad_x f = A^T` of it.
    fn grad_image(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]);

    /// Writes the gradient in `y`.
    fn grad_y(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]);

    /// What else the problem can do. It must give the same answer every time: solvers ask when they start.
    fn capabilities(&self) -> Capabilities<'_>;
}
