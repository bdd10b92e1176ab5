//! Sets of graphs: paths, flows, trees and matchings.

mod flows;
mod graph;
mod matchings;
mod max_flow;
mod paths;
mod spanning_trees;

pub use flows::Flows;
pub use graph::Graph;
pub use matchings::Matchings;
pub use paths::Paths;
pub use spanning_trees::SpanningTrees;
