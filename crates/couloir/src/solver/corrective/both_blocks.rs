//! Both blocks by oracle.
use super::CorrectiveSettings;
use crate::error::{Error, Result};
use crate::solver::Start;

/// placeholder
pub struct BothBlocks;
impl BothBlocks {
    /// x
    pub fn new<'a>(_start: Start<'a, '_>, _settings: &CorrectiveSettings) -> Result<super::OneBlock<'a, super::atoms::Atoms>> {
        Err(Error::Setting { name: "blocks", why: String::new() })
    }
}
