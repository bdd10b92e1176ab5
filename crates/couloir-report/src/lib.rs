//! Runs of methods, to be looked at: results of a comparison on disk, tables and figures of them, and a
//! page for a browser that needs nothing but itself.

pub mod comparison;
pub mod figure;
pub mod fit;
pub mod page;
pub mod results;
pub mod summary;
