//! Ready-made models: saddle problems over data.

mod classifier;
mod classifier_file;
mod fit;
mod group_robust;
pub mod loss;
mod measures;
mod path;
mod robust_multiclass;
pub mod uncertainty;

pub use classifier::Classifier;
pub use classifier_file::{ModelFileError, ModelLimits};
pub use fit::{
    DEFAULT_TOL, FitRecord, Fitted, RobustFit, Start, Warm, auto_tau, heaviest_feature,
    mean_row_norm,
};
pub use group_robust::{GroupRobust, SyntheticGroups};
pub use measures::Measures;
pub use path::{
    Criterion, Labelled, PathStep, RobustPath, TauPath, geometric_grid, stratified_split,
};
pub use robust_multiclass::{RobustModel, RobustMulticlass, RobustSettings, Scaling};
