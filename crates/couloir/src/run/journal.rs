//! What the run loop itself remembers.

use super::{
    Algorithm, Flow, Observer, Outcome, Stall, Status, Step, StopRules, Trace, TracePoint,
};
use crate::error::{Block, Error, Result};
use crate::state::Archive;

/// The records of a run and what its rules go by.
pub(super) struct Journal {
    trace: Trace,
    /// Seconds spent by the method.
    pub seconds: f64,
    /// Seconds that the last iteration took.
    pub step_seconds: f64,
    first_gap: f64,
    stall: Stall,
    /// How the last iteration ended.
    pub last_step: Step,
}

impl Journal {
    pub fn new() -> Self {
        Journal {
            trace: Trace::default(),
            seconds: 0.0,
            step_seconds: f64::INFINITY,
            first_gap: f64::INFINITY,
            stall: Stall::new(),
            last_step: Step::Advanced,
        }
    }

    /// The last record.
    fn last(&self) -> Option<&TracePoint> {
        self.trace.records().last()
    }

    /// Whether the certificate is to be looked at now.
    pub fn is_due(&self, rules: &StopRules, iterations: u64) -> bool {
        iterations.is_multiple_of(rules.evaluate_every)
            || self.last().is_none()
            || self.last_step != Step::Advanced
    }

    /// Whether the last record is of this iteration.
    pub fn has_seen(&self, iterations: u64) -> bool {
        self.last().map(|point| point.iteration) == Some(iterations)
    }

    /// Evaluates and records the state; tells whether the run ends.
    pub fn look(
        &mut self,
        solver: &mut dyn Algorithm,
        rules: &StopRules,
        observer: &mut dyn Observer,
    ) -> Result<Option<Status>> {
        solver.evaluate()?;
        let certificate = *solver.certificate();
        if self.last().is_none() {
            self.first_gap = certificate.gap;
        }
        let point = TracePoint {
            iteration: solver.iterations(),
            seconds: self.seconds,
            certificate,
            bounds: solver.bounds(),
            ledger: *solver.ledger(),
        };
        self.trace.add(point, rules.trace_records);
        self.stall.look(certificate.gap);
        let flow = observer.observe(&point, solver);
        let stopped = (flow == Flow::Stop).then_some(Status::StoppedByObserver);
        let verdict = self.verdict(rules);
        Ok(verdict.filter(|status| *status != Status::Stalled).or(stopped).or(verdict))
    }

    /// Whether what was seen last, or the method itself, ends the run.
    pub fn verdict(&self, rules: &StopRules) -> Option<Status> {
        let last_gap = self.last().map_or(f64::INFINITY, |point| point.certificate.gap);
        let by_method = match self.last_step {
            Step::Advanced => None,
            Step::NoProgress => Some(Status::NoProgress),
            Step::InnerBudget(block) => Some(Status::InnerBudget(block)),
        };
        let stalled = rules.patience.is_some_and(|patience| self.stall.looks >= patience);
        rules.reached(last_gap, self.first_gap).or(by_method).or(stalled.then_some(Status::Stalled))
    }

    /// The outcome with the best pair so far, where numbers failed after there was one, or the problem contradicted itself; no
    /// checkpoint is written of a state that an iteration left behind half done.
    pub fn broken_off(self, solver: &dyn Algorithm, error: Error) -> Result<Outcome> {
        let certified = solver.certificate().gap.is_finite();
        if error.is_contradiction() && certified {
            let mut outcome = self.outcome(solver, Status::Contradiction);
            outcome.contradict(error);
            return Ok(outcome);
        }
        if !(error.is_numerical() && certified) {
            return Err(error);
        }
        let outcome = self.outcome(solver, Status::NumericalTrouble);
        Ok(Outcome { trouble: Some(error), ..outcome })
    }

    pub fn outcome(self, solver: &dyn Algorithm, status: Status) -> Outcome {
        Outcome {
            status,
            trouble: None,
            certificate: *solver.certificate(),
            bounds: solver.bounds(),
            iterations: solver.iterations(),
            seconds: self.seconds,
            ledger: *solver.ledger(),
            trace: self.trace.into_records(),
            facts: solver.facts(),
        }
    }

    pub fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.number("seconds", &mut self.seconds)?;
        archive.number("first_gap", &mut self.first_gap)?;
        archive.nested("stall", |archive| self.stall.state(archive))?;
        let mut step = match self.last_step {
            Step::Advanced => 0,
            Step::NoProgress => 1,
            Step::InnerBudget(Block::X) => 2,
            Step::InnerBudget(Block::Y) => 3,
        };
        archive.count("last_step", &mut step)?;
        self.last_step = match step {
            0 => Step::Advanced,
            1 => Step::NoProgress,
            2 => Step::InnerBudget(Block::X),
            _ => Step::InnerBudget(Block::Y),
        };
        archive.nested("trace", |archive| self.trace.state(archive))
    }
}
