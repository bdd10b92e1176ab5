//! The best pair so far by its FW-gap, for methods that certify themselves in no other way.

use crate::certificate::{Certificate, GapScratch, fw_gap};
use crate::domain::Confidence;
use crate::error::Result;
use crate::oracles::Oracles;
use crate::problem::PointX;
use crate::state::Archive;

/// The best pair so far.
pub(super) struct Incumbent {
    pub certificate: Certificate,
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    confidence: Confidence,
    scratch: GapScratch,
}

impl Incumbent {
    /// Starts from a pair that is not certified yet.
    pub fn new(x: &[f64], y: &[f64]) -> Self {
        Incumbent {
            certificate: Certificate::NONE,
            x: x.to_vec(),
            y: y.to_vec(),
            confidence: Confidence::Exact,
            scratch: GapScratch::new(x.len(), y.len()),
        }
    }

    /// Evaluates the FW-gap of a pair, at the certificate's expense, and keeps the pair if it is better.
    pub fn consider(&mut self, oracles: &mut Oracles<'_>, at: &PointX, y: &[f64]) -> Result<()> {
        let now = oracles.certifying(|o| fw_gap(o, at, y, &mut self.scratch))?;
        // the best of all bounds so far holds if all of them do
        self.confidence = self.confidence.and(now.confidence);
        if now.gap < self.certificate.gap {
            self.certificate = now;
            self.certificate.confidence = self.confidence;
            self.x.copy_from_slice(&at.x);
            self.y.copy_from_slice(y);
        }
        Ok(())
    }

    pub fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.nested("certificate", |archive| self.certificate.state(archive))?;
        archive.nested("confidence", |archive| self.confidence.state(archive))?;
        archive.numbers("x", &mut self.x)?;
        archive.numbers("y", &mut self.y)
    }
}
