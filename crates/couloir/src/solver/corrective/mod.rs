//! The corrective method: on sets that are known only by their linear minimisation oracle, points are convex combinations of what
//! the oracle has returned, and problems restricted to these combinations are solved without asking it.

mod atoms;
mod both_blocks;
mod factored;
mod newton;
mod one_block;
mod one_then_both;
mod phi;
mod restricted;
mod saddle_qp;
mod settings;
mod spectral;

pub use both_blocks::BothBlocks;
pub use one_block::OneBlock;
pub use settings::{AtomBlocks, CorrectiveSettings};
