//! Runs of methods, to be looked at: results of a comparison on disk, tables and figures of them, and a
//! page for a browser that needs nothing but itself.
//!
//! The feature `figures`, on by default, has comparisons with their pictures as files; pages do without.

#[cfg(feature = "figures")]
pub mod comparison;
#[cfg(feature = "figures")]
pub mod figure;
pub mod fit_page;
pub mod machine;
pub mod numbers;
pub mod page;
pub mod results;
pub mod summary;
