//! Ready-made models: saddle problems over data.

mod group_robust;

pub use group_robust::{GroupRobust, SyntheticGroups};
