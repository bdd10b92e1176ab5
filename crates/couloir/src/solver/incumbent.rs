//! The best pair so far by its FW-gap, for methods that have no certificate of their own.

use crate::certificate::{Certificate, GapScratch, fw_gap};
use crate::error::Result;
use crate::oracles::Oracles;
use crate::problem::PointX;
use crate::state::Archive;

/// The best pair so far by its FW-gap: what a method keeps that has no certificate of its own.
pub struct Incumbent {
    pub(super) certificate: Certificate,
    pub(super) x: Vec<f64>,
    pub(super) y: Vec<f64>,
    scratch: GapScratch,
}

impl Incumbent {
    /// Starts from a pair that is not certified yet.
    #[must_use]
    pub fn new(x: &[f64], y: &[f64]) -> Self {
        Incumbent {
            certificate: Certificate::NONE,
            x: x.to_vec(),
            y: y.to_vec(),
            scratch: GapScratch::new(x.len(), y.len()),
        }
    }

    /// The certificate of the best pair.
    #[must_use]
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// The best pair.
    #[must_use]
    pub fn pair(&self) -> (&[f64], &[f64]) {
        (&self.x, &self.y)
    }

    /// Evaluates the FW-gap of a pair, counted as work for the certificate, and keeps the pair if it is the best so far.
    ///
    /// # Errors
    /// Values or gradients that are not finite, and what linear minimisation reports.
    pub fn consider(&mut self, oracles: &mut Oracles<'_>, at: &PointX, y: &[f64]) -> Result<()> {
        let now = oracles.certifying(|o| fw_gap(o, at, y, &mut self.scratch))?;
        self.offer(now, &at.x, y);
        Ok(())
    }

    /// Keeps a pair if its certificate is the best so far.
    pub(super) fn offer(&mut self, now: Certificate, x: &[f64], y: &[f64]) {
        if now.gap < self.certificate.gap {
            self.certificate = now;
            self.x.copy_from_slice(x);
            self.y.copy_from_slice(y);
        }
        // the best of all bounds so far holds if all of them do
        self.certificate.confidence = now.confidence;
    }

    /// Saves or loads it.
    ///
    /// # Errors
    /// What the archive reports.
    pub fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.nested("certificate", |archive| self.certificate.state(archive))?;
        archive.numbers("x", &mut self.x)?;
        archive.numbers("y", &mut self.y)
    }
}
