//! Ready-made models: saddle problems over data.

mod group_robust;
mod robust_multiclass;

pub use group_robust::{GroupRobust, SyntheticGroups};
pub use robust_multiclass::{RobustMulticlass, RobustSettings, Scaling};
