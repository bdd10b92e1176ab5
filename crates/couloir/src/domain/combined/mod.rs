//! Sets made of other sets.

mod affine;
mod product;

pub use affine::Affine;
pub use product::Product;
