//! Runs of methods, to be looked at: a page for a browser that needs nothing but itself.

pub mod page;
