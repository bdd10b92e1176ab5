//! Polytopes that are known by formulas.

mod assign;
mod birkhoff;
mod box_budget;
mod capped_simplex;
mod convex_hull;
mod hypersimplex;
#[cfg(feature = "highs")]
mod linear_polytope;
mod permutahedron;
mod simplex_budget;
mod treeplex;
mod treeplex_projection;

pub(super) use assign::Assigner;
pub use birkhoff::Birkhoff;
pub use box_budget::BoxBudget;
pub use capped_simplex::CappedSimplex;
pub(super) use capped_simplex::cap_sum;
pub use convex_hull::ConvexHull;
pub use hypersimplex::Hypersimplex;
#[cfg(feature = "highs")]
pub use linear_polytope::{LinearConstraints, LinearPolytope};
pub use permutahedron::Permutahedron;
pub use simplex_budget::SimplexBudget;
pub use treeplex::{InformationSet, Treeplex};
