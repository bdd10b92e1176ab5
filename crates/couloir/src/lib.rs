//! Projection-free saddle-point optimisation.
//!
//! couloir solves `min over x in X, max over y in Y of f(x, y)` for `f` convex in `x` and strongly concave
//! in `y`, when X and Y are easy to minimise a linear function over and hard to project onto:
//! nuclear-norm balls, polytopes of combinatorial problems, a set of your own. It implements the
//! methods of "Efficient Projection-Free Algorithms for Saddle Point Problems" (Chen, Luo, Zhang, Yu,
//! NeurIPS 2020) as printed, and a certified variant whose every answer comes with a proof of how
//! good it is.
//!
//! ```
//! use couloir::domain::{NuclearBall, Simplex};
//! use couloir::problem::QuadraticBilinear;
//! use couloir::Solve;
//!
//! let x_set = NuclearBall::new(4, 30, 1.0)?;
//! let y_set = Simplex::new(20)?;
//! let problem = QuadraticBilinear::on(&x_set, &y_set).coupling(2.0).build()?;
//!
//! let solution = Solve::new(&problem, &x_set, &y_set).gap(1e-6).run()?;
//! let certificate = solution.outcome.certificate;
//! println!("value in [{}, {}]", certificate.lower, certificate.upper);
//! assert!(certificate.gap <= 1e-6);
//! # Ok::<(), couloir::Error>(())
//! ```
//!
//! Where things are:
//!
//! * [`domain`]: sets and what can be asked of them;
//! * [`problem`]: what a saddle problem is, how to build one, the ledger of oracle calls;
//! * [`sliding`]: CndG, CGS and (i)STORC, the building blocks on one block of variables;
//! * [`solver`]: the methods, one file each, behind the one call [`Solve`];
//! * [`model`]: saddle problems over data;
//! * [`random`]: one seed, named streams;
//! * [`run`]: stopping rules, status, trace, observers;
//! * [`certificate`]: gaps and bounds;
//! * [`linalg`]: kernels and spectral routines.

pub mod certificate;
pub mod domain;
pub mod error;
pub mod linalg;
pub mod model;
pub mod problem;
pub mod random;
pub mod run;
mod scratch;
pub mod sliding;
pub mod solver;

pub use certificate::{Bounds, Certificate};
pub use error::{Block, Error, Result};
pub use solver::{Inner, Method, Solution, Solve};
