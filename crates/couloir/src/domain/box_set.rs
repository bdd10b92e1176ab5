//! Placeholder while the real file is written.
/// placeholder
#[derive(Debug)]
pub struct BoxSet;
