//! Balls of norms, and ellipsoids.

mod ellipsoid;
mod group_l1;
mod k_support;
mod linf;
mod lp;
mod ordered_l1;

pub use ellipsoid::Ellipsoid;
pub use group_l1::GroupL1Ball;
pub use k_support::KSupportBall;
pub use linf::LinfBall;
pub use lp::LpBall;
pub use ordered_l1::OrderedL1Ball;

use crate::error::{Error, Result, check_positive};

/// Fails unless there is a dimension, and the radius is a positive number.
fn check_ball(dim: usize, radius: f64) -> Result<()> {
    if dim == 0 {
        return Err(Error::EmptySet { why: "a ball of dimension 0".to_owned() });
    }
    check_positive("radius", radius)
}

/// The magnitudes, largest first.
fn falling_magnitudes(p: &[f64]) -> Vec<f64> {
    let mut sizes: Vec<f64> = p.iter().map(|p| p.abs()).collect();
    sizes.sort_unstable_by(|a, b| b.total_cmp(a));
    sizes
}
