//! The records of a run, at most so many of them, spread evenly over it.

use crate::certificate::{Bounds, Certificate};
use crate::error::Result;
use crate::oracles::Ledger;
use crate::state::Archive;

/// Records that a trace keeps unless the rules say otherwise: about 5 MB.
pub const TRACE_RECORDS: usize = 16_384;

/// One record of the trace.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct TracePoint {
    /// Iterations done.
    pub iteration: u64,
    /// Seconds spent by the method, evaluations not counted.
    pub seconds: f64,
    /// The best certificate so far.
    pub certificate: Certificate,
    /// What theory says.
    pub bounds: Bounds,
    /// Oracle calls so far.
    pub ledger: Ledger,
}

impl TracePoint {
    /// A record to load into.
    fn blank() -> Self {
        TracePoint {
            iteration: 0,
            seconds: 0.0,
            certificate: Certificate::NONE,
            bounds: Bounds::NONE,
            ledger: Ledger::default(),
        }
    }

    fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.count("iteration", &mut self.iteration)?;
        archive.number("seconds", &mut self.seconds)?;
        archive.nested("certificate", |archive| self.certificate.state(archive))?;
        archive.nested("bounds", |archive| self.bounds.state(archive))?;
        archive.nested("ledger", |archive| self.ledger.state(archive))
    }
}

/// Records of evaluations, of which at most a given number are kept.
///
/// Evaluations are counted from 0. The trace keeps those whose number is a multiple of a stride, and the last one. The
/// stride is 1 until there would be too many records; then it doubles, and every other record is dropped. So the first and
/// the last evaluation are always there, at least half as many records as allowed are kept, and what is kept depends on
/// nothing but how many evaluations there were.
#[derive(Clone, Debug)]
pub struct Trace {
    records: Vec<TracePoint>,
    /// Evaluations so far.
    evaluations: u64,
    stride: u64,
}

impl Default for Trace {
    fn default() -> Self {
        Trace { records: Vec::new(), evaluations: 0, stride: 1 }
    }
}

impl Trace {
    /// Adds the record of the next evaluation and keeps at most `limit` (all without one, and never fewer than 2).
    pub fn add(&mut self, point: TracePoint, limit: Option<usize>) {
        let last_stays = (self.evaluations.saturating_sub(1)).is_multiple_of(self.stride);
        if !last_stays {
            self.records.pop();
        }
        self.records.push(point);
        self.evaluations += 1;
        let limit = limit.map_or(usize::MAX, |limit| limit.max(2));
        while self.records.len() > limit {
            self.stride = self.stride.saturating_mul(2);
            let (last, mut place) = (self.records.len() - 1, 0);
            self.records.retain(|_| {
                place += 1;
                (place - 1) % 2 == 0 || place - 1 == last
            });
        }
    }

    /// The records, in their order.
    #[must_use]
    pub fn records(&self) -> &[TracePoint] {
        &self.records
    }

    /// The records, in their order.
    #[must_use]
    pub fn into_records(self) -> Vec<TracePoint> {
        self.records
    }

    /// Saves or loads it.
    ///
    /// # Errors
    /// What the archive reports.
    pub(super) fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.count("evaluations", &mut self.evaluations)?;
        archive.count("stride", &mut self.stride)?;
        if !self.stride.is_power_of_two() {
            let why = format!("is {}, which is no power of two", self.stride);
            return Err(archive.misfit("stride", &why));
        }
        archive.list("records", &mut self.records, TracePoint::blank, |archive, point| {
            point.state(archive)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(trace: &mut Trace, iteration: u64, limit: Option<usize>) {
        trace.add(TracePoint { iteration, ..TracePoint::blank() }, limit);
    }

    #[test]
    fn a_trace_keeps_its_ends_and_every_strideth_record_between() {
        for limit in [2, 3, 4, 7, 16, 100] {
            let mut trace = Trace::default();
            for i in 0..1000 {
                add(&mut trace, i, Some(limit));
                let kept: Vec<u64> = trace.records().iter().map(|point| point.iteration).collect();
                let stride = trace.stride;
                let mut expected: Vec<u64> = (0..=i).step_by(stride as usize).collect();
                if expected.last() != Some(&i) {
                    expected.push(i);
                }
                assert_eq!(kept, expected, "limit {limit}, stride {stride}");
                assert!(kept.len() <= limit);
                assert!(kept.len() as u64 >= (limit as u64 / 2).min(i + 1), "{limit}: {kept:?}");
            }
        }
    }

    #[test]
    fn without_a_limit_every_record_is_kept() {
        let mut trace = Trace::default();
        (0..100_000).for_each(|i| add(&mut trace, i, None));
        let records = trace.into_records();
        assert!(records.iter().enumerate().all(|(i, point)| point.iteration == i as u64));
        assert_eq!(records.len(), 100_000);
    }
}
