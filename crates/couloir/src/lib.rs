//! Projection-free saddle-point optimisation.
//!
//! couloir solves `min over x in X, max over y in Y of f(x, y)` for `f` convex in `x` and concave
//! in `y` (strongly or not), when X and Y are easy to minimise a linear function over and hard to project onto:
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
//! * [`error`]: what can go wrong;
//! * [`state`], [`io`]: saved state and its fingerprint; files written whole or not at all;
//! * [`watch`]: clock, cancel flag and budgets, as inner loops see them;
//! * [`random`], [`linalg`]: one seed, named streams; kernels and spectral routines;
//! * [`domain`]: sets, what can be asked of them, and how to slide on them;
//! * [`problem`]: what a saddle problem is and how to build one;
//! * [`oracles`]: the ledger of oracle calls;
//! * [`certificate`]: gaps and bounds;
//! * [`run`]: stopping rules, status, trace, observers, checkpoints;
//! * [`block`]: CGS and (i)STORC, methods on one block of variables;
//! * [`solver`]: the methods behind the one call [`Solve`];
//! * [`model`]: saddle problems over data.
//!
//! Each knows only those before it in this list.

pub mod block;
pub mod certificate;
pub mod domain;
pub mod error;
pub mod io;
pub mod linalg;
pub mod model;
pub mod oracles;
pub mod problem;
pub mod random;
pub mod run;
pub mod solver;
pub mod state;
pub mod watch;

pub use certificate::{Bounds, Certificate};
pub use error::{Block, Error, Result};
pub use solver::{Inner, Method, Solution, Solve};

/// The examples of the pages on problems and sets of one's own.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../../docs/your-own-problem.md")]
    struct Problem;
    #[doc = include_str!("../../../docs/your-own-set.md")]
    struct Set;
}
