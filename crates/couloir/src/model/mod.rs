//! Ready-made models: saddle problems over data.

mod choice;
mod classifier;
mod classifier_file;
mod column_scale;
mod completion;
mod fit;
pub mod games;
mod group_robust;
pub mod loss;
mod measures;
mod path;
mod robust_multiclass;
mod row_weights;
pub mod uncertainty;

pub use choice::Choice;
pub use classifier::Classifier;
pub use classifier_file::{ModelFileError, ModelLimits};
pub use column_scale::{ColumnScale, ScaleRule, is_dense};
pub use completion::{MatrixMeasurements, RankOneMeasurements, RobustCompletion};
pub use fit::{DEFAULT_TOL, FitRecord, Fitted, RobustFit, Start, Warm, auto_tau, heaviest_feature};
pub use group_robust::{GroupRobust, SyntheticGroups};
pub use measures::{GroupMeasures, MeasureBy, Measures};
pub use path::{
    Criterion, Found, Labelled, PathStep, RobustPath, RobustSearch, SearchStep, TauPath,
    geometric_grid, stratified_folds, stratified_split,
};
pub use robust_multiclass::{Ball, RobustMulticlass, RobustSettings, Scaling};
pub use row_weights::ClassWeight;
