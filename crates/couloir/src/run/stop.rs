//! When a run ends, and why.

use super::{MemoryLimit, TRACE_RECORDS};
use crate::error::{Block, Error, Interruption, Result};
use crate::oracles::{Counter, Ledger};
use crate::state::Archive;
use crate::watch::{Cancel, Clock, Limits};

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    /// The certified gap is at most the absolute tolerance.
    Solved,
    /// The certified gap is at most the relative tolerance times the first one.
    SolvedRelative,
    /// The time is up.
    TimeLimit,
    /// The memory is used up.
    MemoryLimit,
    /// The iterations are done.
    IterationLimit,
    /// This entry of the method's ledger reached its limit.
    OracleLimit(Counter),
    /// The cancel flag was raised.
    Cancelled,
    /// An observer asked to stop.
    StoppedByObserver,
    /// The method says that no more progress is possible: its certificate is at the level of rounding,
    /// or has stood still for half of its run.
    NoProgress,
    /// The certificate has stood still for as many evaluations as the rules allow.
    Stalled,
    /// An inner solve on this block used up its budget of linear minimisations.
    InnerBudget(Block),
    /// The problem or the oracle of a set contradicts itself: a minimum that is none, a value below a linear minorant or
    /// above a linear majorant. [`Outcome::trouble`](super::Outcome::trouble) says what, with both numbers. The best pair is
    /// kept, without a certificate, for none can be trusted.
    Contradiction,
    /// Numbers overflowed, became NaN, or a decomposition failed; [`Outcome::trouble`](super::Outcome::trouble) says
    /// where. The best certified pair before that is kept.
    NumericalTrouble,
}

impl Status {
    /// Whether the tolerance asked for was reached.
    #[must_use]
    pub fn is_solved(self) -> bool {
        matches!(self, Status::Solved | Status::SolvedRelative)
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Status::Solved => f.write_str("solved"),
            Status::SolvedRelative => f.write_str("solved (relative)"),
            Status::TimeLimit => f.write_str("time limit"),
            Status::MemoryLimit => f.write_str("memory limit"),
            Status::IterationLimit => f.write_str("iteration limit"),
            Status::OracleLimit(counter) => write!(f, "limit of {counter}"),
            Status::Cancelled => f.write_str("cancelled"),
            Status::StoppedByObserver => f.write_str("stopped by observer"),
            Status::NoProgress => f.write_str("no more progress"),
            Status::Stalled => f.write_str("stalled"),
            Status::InnerBudget(block) => write!(f, "inner budget of {block}"),
            Status::Contradiction => f.write_str("contradiction"),
            Status::NumericalTrouble => f.write_str("numerical trouble"),
        }
    }
}

/// When to stop, and how often to look.
///
/// All rules are looked at between iterations. The clock, the cancel flag and limits of linear minimisations are also
/// looked at within one, at every oracle call and in every inner loop; the run then ends with the best pair before that
/// iteration. (For time this takes a clock that inner loops may read: see [`Clock::shared`](crate::watch::Clock::shared).)
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StopRules {
    /// Stop when the certified gap is at most this.
    pub gap: Option<f64>,
    /// Stop when the certified gap is at most this times the gap at the start.
    pub relative_gap: Option<f64>,
    /// Stop after this many seconds (evaluations not counted).
    pub seconds: Option<f64>,
    /// Stop when more memory than this is taken.
    pub memory: Option<MemoryLimit>,
    /// Stop after this many iterations.
    pub iterations: Option<u64>,
    /// Stop when an entry of the method's ledger reaches its limit.
    pub limits: Vec<(Counter, u64)>,
    /// Stop when this is raised.
    pub cancel: Option<Cancel>,
    /// Stop when this many evaluations in a row have not lowered the certificate by a hundredth.
    pub patience: Option<u64>,
    /// Evaluate the certificate every this many iterations.
    pub evaluate_every: u64,
    /// Keep at most this many records in the trace ([`Trace`](super::Trace) says which); all without a limit.
    pub trace_records: Option<usize>,
}

impl Default for StopRules {
    /// A gap of one part in a million of the first, 10,000 iterations, a look at every iteration, a trace of at most
    /// [`TRACE_RECORDS`].
    fn default() -> Self {
        StopRules {
            gap: None,
            relative_gap: Some(1e-6),
            seconds: None,
            memory: None,
            iterations: Some(10_000),
            limits: Vec::new(),
            cancel: None,
            patience: None,
            evaluate_every: 1,
            trace_records: Some(TRACE_RECORDS),
        }
    }
}

impl StopRules {
    pub(super) fn check(&self) -> Result<()> {
        let positive = [
            ("gap tolerance", self.gap),
            ("relative gap tolerance", self.relative_gap),
            ("time limit", self.seconds),
        ];
        for (name, value) in positive {
            if let Some(v) = value
                && !(v > 0.0)
            {
                return Err(Error::Setting { name, why: format!("must be above zero, got {v}") });
            }
        }
        if self.patience == Some(0) {
            return Err(Error::Setting {
                name: "patience",
                why: "must be at least 1 evaluation, got 0".to_owned(),
            });
        }
        if let Some(records @ 0..2) = self.trace_records {
            return Err(Error::Setting {
                name: "trace_records",
                why: format!("must be at least 2, for the first and the last, got {records}"),
            });
        }
        if self.evaluate_every == 0 {
            return Err(Error::Setting {
                name: "evaluate_every",
                why: "must be at least 1, got 0".to_owned(),
            });
        }
        Ok(())
    }

    pub(crate) fn reached(&self, gap: f64, first_gap: f64) -> Option<Status> {
        if self.gap.is_some_and(|tol| gap <= tol) {
            Some(Status::Solved)
        } else if self
            .relative_gap
            .is_some_and(|tol| gap <= tol * first_gap && first_gap.is_finite())
        {
            Some(Status::SolvedRelative)
        } else {
            None
        }
    }

    pub(super) fn spent(&self, iterations: u64, seconds: f64, ledger: &Ledger) -> Option<Status> {
        if self.cancel.as_ref().is_some_and(Cancel::is_raised) {
            return Some(Status::Cancelled);
        }
        if self.iterations.is_some_and(|limit| iterations >= limit) {
            return Some(Status::IterationLimit);
        }
        if self.seconds.is_some_and(|limit| seconds >= limit) {
            return Some(Status::TimeLimit);
        }
        if self.memory.as_ref().is_some_and(MemoryLimit::is_exceeded) {
            return Some(Status::MemoryLimit);
        }
        let over =
            self.limits.iter().find(|(counter, limit)| ledger.method.get(*counter) >= *limit);
        over.map(|(counter, _)| Status::OracleLimit(*counter))
    }
}

impl StopRules {
    /// The limits that hold within an iteration, after so many seconds; an iteration that is over within `grace` seconds is
    /// finished.
    pub(super) fn within_step(
        &self,
        seconds: f64,
        ledger: &Ledger,
        (clock, now): (&dyn Clock, f64),
        grace: f64,
    ) -> Limits {
        let mut limits = Limits { cancel: self.cancel.clone(), ..Limits::default() };
        limits.deadline = clock.shared().map(|shared| {
            (shared, self.seconds.map_or(f64::INFINITY, |limit| now + limit - seconds))
        });
        match limits.deadline.is_some() {
            true => limits.not_before = now + grace,
            // without a clock nobody can tell how long an iteration has taken
            false if grace > 0.0 => limits.cancel = None,
            false => {}
        }
        for (counter, limit) in &self.limits {
            let place = match counter {
                Counter::LoX => 0,
                Counter::LoY => 1,
                _ => continue,
            };
            let left = limit.saturating_sub(ledger.method.get(*counter));
            let most = &mut limits.linear_minimisations[place];
            *most = Some(most.map_or(left, |most| most.min(left)));
        }
        limits
    }

    /// The status of a run whose iteration was ended.
    pub(super) fn status_of(why: Interruption) -> Status {
        match why {
            Interruption::Time => Status::TimeLimit,
            Interruption::Cancelled => Status::Cancelled,
            Interruption::LinearMinimisations(Block::X) => Status::OracleLimit(Counter::LoX),
            Interruption::LinearMinimisations(Block::Y) => Status::OracleLimit(Counter::LoY),
        }
    }
}

/// Tells a certificate that stands still.
pub(crate) struct Stall {
    mark: f64,
    /// Looks since the certificate last fell by a hundredth.
    pub looks: u64,
}

impl Stall {
    pub fn new() -> Self {
        Stall { mark: f64::INFINITY, looks: 0 }
    }

    pub fn look(&mut self, gap: f64) {
        if gap <= 0.99 * self.mark {
            self.mark = gap;
            self.looks = 0;
        } else {
            self.looks += 1;
        }
    }

    pub fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.number("mark", &mut self.mark)?;
        archive.count("looks", &mut self.looks)
    }
}
