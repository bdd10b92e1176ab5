//! The best pair so far by its FW-gap, for methods that have no certificate of their own.

use super::history::History;
use crate::certificate::{Certificate, GapScratch, fw_gap};
use crate::error::{Block, Result};
use crate::oracles::Oracles;
use crate::problem::PointX;
use crate::state::Archive;

/// The best pair so far by its FW-gap: what a method keeps that has no certificate of its own.
pub struct Incumbent {
    pub(super) certificate: Certificate,
    pub(super) x: Vec<f64>,
    pub(super) y: Vec<f64>,
    scratch: GapScratch,
    /// Room for a repaired `x`, from the first repair on.
    member_x: Vec<f64>,
    member_y: Vec<f64>,
    pub(super) history: History,
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
            member_x: Vec::new(),
            member_y: y.to_vec(),
            history: History::new(x.len(), y.len()),
        }
    }

    /// Starts from another pair, with what was seen so far.
    #[must_use]
    pub(super) fn at(mut self, x: &[f64], y: &[f64]) -> Self {
        self.x.copy_from_slice(x);
        self.y.copy_from_slice(y);
        self
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

    /// Evaluates the FW-gap of a pair, counted as work for the certificate, and keeps the pair if it is the best so far. Where
    /// rounding has left a point outside of its set, the pair is the one with that point taken into the set.
    ///
    /// # Errors
    /// Values or gradients that are not finite, or that contradict what was seen at other pairs, and what linear minimisation
    /// reports.
    pub fn consider(&mut self, oracles: &mut Oracles<'_>, at: &PointX, y: &[f64]) -> Result<()> {
        self.member_y.copy_from_slice(y);
        oracles.repair(Block::Y, &mut self.member_y);
        if !oracles.repairs(Block::X) {
            return self.consider_members(oracles, at);
        }
        self.member_x.clear();
        self.member_x.extend_from_slice(&at.x);
        if oracles.repair(Block::X, &mut self.member_x) == 0.0 {
            return self.consider_members(oracles, at);
        }
        let mut member = at.clone();
        member.x.copy_from_slice(&self.member_x);
        oracles.certifying(|o| o.image(&member.x, &mut member.image))?;
        oracles.prepare(&mut member);
        self.consider_members(oracles, &member)
    }

    /// The same for an `x` in its set and the `y` in `member_y`.
    fn consider_members(&mut self, oracles: &mut Oracles<'_>, at: &PointX) -> Result<()> {
        let y = &self.member_y;
        let now = oracles.certifying(|o| fw_gap(o, at, y, &mut self.scratch))?;
        let first_order = self.scratch.first_order(now.lower + now.gap_x, &at.x, y);
        self.history.compare(oracles, &now, &first_order)?;
        let y = std::mem::take(&mut self.member_y);
        self.offer(now, &at.x, &y);
        self.member_y = y;
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
        archive.numbers("y", &mut self.y)?;
        archive.nested("history", |archive| self.history.state(archive))
    }
}
