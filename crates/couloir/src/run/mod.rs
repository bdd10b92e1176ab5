//! The one run loop: stopping rules, status, trace and observers, for every solver.

mod checkpoint;
mod journal;
mod memory;
mod record;
mod stop;
mod trace;

pub use crate::watch::{Cancel, Clock, NoClock, WallClock};
pub use checkpoint::Checkpoints;
use journal::Journal;
pub use memory::MemoryLimit;
pub(crate) use record::number;
pub use record::{RunRecord, TraceRecord};
pub(crate) use stop::Stall;
pub use stop::{Status, StopRules};
pub use trace::{TRACE_RECORDS, Trace, TracePoint};

use crate::certificate::{Bounds, Certificate};
use crate::error::{Block, Error, Result};
use crate::linalg::Factors;
use crate::oracles::Ledger;
use crate::state::{Archive, Fingerprint};
use crate::watch::Watch;
use checkpoint::Keeper;

/// How one iteration of a solver ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// The iterate moved on.
    Advanced,
    /// Rounding leaves nothing more to gain.
    NoProgress,
    /// An inner solve on this block used up its budget of linear minimisations.
    InnerBudget(Block),
}

/// A running solver: explicit state, one iteration at a time.
pub trait Algorithm {
    /// The method's name, as users type it.
    fn name(&self) -> &'static str;

    /// Does one iteration.
    ///
    /// # Errors
    /// What the problem or the sets report; the best pair and its certificate stay valid.
    fn step(&mut self) -> Result<Step>;

    /// Brings [`certificate`](Algorithm::certificate) up to date, at the expense of the ledger's
    /// certificate account.
    ///
    /// # Errors
    /// What the problem or the sets report; the best pair and its certificate stay valid.
    fn evaluate(&mut self) -> Result<()>;

    /// The certificate of the best pair so far.
    fn certificate(&self) -> &Certificate;

    /// The best certified pair so far.
    fn best(&self) -> (&[f64], &[f64]);

    /// The point `x` of the best pair by its factors, where the method keeps it so; the vector of [`best`](Algorithm::best) is
    /// then empty.
    fn factors(&self) -> Option<&Factors> {
        None
    }

    /// The current iterate, with the average of the `y`s where the method takes one: what theory bounds.
    fn current(&self) -> (&[f64], &[f64]);

    /// Iterations done.
    fn iterations(&self) -> u64;

    /// What theory says of the current iterate.
    fn bounds(&self) -> Bounds {
        Bounds::NONE
    }

    /// The ledger of oracle calls.
    fn ledger(&self) -> &Ledger;

    /// The watch that the method's inner work looks at: the run loop sets its limits before every iteration.
    fn watch(&self) -> &Watch;

    /// What the method found out or settled on by itself, for reports.
    fn facts(&self) -> Vec<Fact> {
        Vec::new()
    }

    /// Saves or loads all that decides how the run goes on, between two iterations. Loading is into a solver at its
    /// start, made with the same problem, sets, settings and start points.
    ///
    /// # Errors
    /// What the archive reports.
    fn state(&mut self, archive: &mut Archive<'_>) -> Result<()>;
}

/// A number that a method found out by itself: an estimate of `sigma`, the `Lhat` it ended with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fact {
    /// What it is.
    pub name: &'static str,
    /// Its value.
    pub value: f64,
}

/// What an observer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Go on.
    Continue,
    /// End the run; the status will be [`Status::StoppedByObserver`].
    Stop,
}

/// Watches a run: called at the start and after every evaluation with read access to the state.
pub trait Observer {
    /// Looks at the state.
    fn observe(&mut self, point: &TracePoint, state: &dyn Algorithm) -> Flow;

    /// Hears that a checkpoint was written, or why not.
    fn checkpointed(&mut self, written: Result<()>) {
        let _ = written;
    }

    /// Saves or loads what the observer itself must remember when a run goes on from a checkpoint.
    ///
    /// # Errors
    /// What the archive reports.
    fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let _ = archive;
        Ok(())
    }
}

impl<F: FnMut(&TracePoint, &dyn Algorithm) -> Flow> Observer for F {
    fn observe(&mut self, point: &TracePoint, state: &dyn Algorithm) -> Flow {
        self(point, state)
    }
}

/// What comes out of a run (the points are in the solver).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Outcome {
    /// Why it ended.
    pub status: Status,
    /// What went wrong, where the status is [`Status::NumericalTrouble`] or [`Status::Contradiction`].
    pub trouble: Option<Error>,
    /// The certificate of the best pair.
    pub certificate: Certificate,
    /// What theory says at the last iterate.
    pub bounds: Bounds,
    /// Iterations done.
    pub iterations: u64,
    /// Seconds spent by the method, evaluations not counted.
    pub seconds: f64,
    /// Oracle calls.
    pub ledger: Ledger,
    /// The trace: one record for each evaluation, or for evaluations at even intervals where there were more than
    /// [`trace_records`](StopRules::trace_records).
    pub trace: Vec<TracePoint>,
    /// What the method found out by itself.
    pub facts: Vec<Fact>,
}

impl Outcome {
    /// The same of a problem that contradicts itself: without a certificate.
    pub(crate) fn contradict(&mut self, error: Error) {
        self.status = Status::Contradiction;
        self.trouble = Some(error);
        (self.certificate, self.bounds) = (Certificate::NONE, Bounds::NONE);
    }
}

/// Runs a solver until a rule stops it.
///
/// The state is evaluated and recorded before the first iteration, then every `rules.evaluate_every`
/// iterations, and at the end. Numerical trouble (see [`Error::is_numerical`]) after the first certificate ends the run with
/// [`Status::NumericalTrouble`] and the best pair so far; a contradiction (see [`Error::is_contradiction`]) with
/// [`Status::Contradiction`], and without a certificate. A time limit, the cancel flag and limits of linear minimisations also
/// end an iteration that is under way, at its next oracle call or inner iteration, with the best pair before it.
///
/// # Errors
/// Rules that make no sense; what the solver reports.
pub fn run(
    solver: &mut dyn Algorithm,
    rules: &StopRules,
    clock: &dyn Clock,
    observer: &mut dyn Observer,
) -> Result<Outcome> {
    let (none, nothing) = (Checkpoints::default(), Fingerprint::default());
    run_kept(solver, rules, &none, &nothing, clock, observer)
}

/// Seconds that an iteration may go on after a limit where checkpoints are kept: most iterations are over by then, and the
/// checkpoint can be one of their end.
const GRACE: f64 = 0.5;

/// The same with checkpoints. A run that goes on from one gives the same bits as a run that was never
/// interrupted, but for its times; the fingerprint must be the same.
///
/// # Errors
/// As [`run`], and a checkpoint to go on from that cannot be read or is of another run.
pub(crate) fn run_kept(
    solver: &mut dyn Algorithm,
    rules: &StopRules,
    checkpoints: &Checkpoints,
    fingerprint: &Fingerprint,
    clock: &dyn Clock,
    observer: &mut dyn Observer,
) -> Result<Outcome> {
    rules.check()?;
    let mut keeper = Keeper::new(checkpoints, fingerprint, clock)?;
    let mut journal = Journal::new();
    let mut resumed = keeper.resume(solver, &mut journal, observer)?;
    loop {
        // a checkpoint is written after the look that was due
        let looked = if std::mem::take(&mut resumed) {
            Ok(journal.verdict(rules))
        } else if journal.is_due(rules, solver.iterations()) {
            journal.look(solver, rules, observer)
        } else {
            Ok(None)
        };
        let mut ended = match looked {
            Ok(verdict) => verdict,
            Err(error) => return journal.broken_off(solver, error),
        };
        ended =
            ended.or_else(|| rules.spent(solver.iterations(), journal.seconds, solver.ledger()));
        keeper.keep(solver, &mut journal, observer, ended.is_some());
        if let Some(status) = ended {
            // one more look at the end, of which the checkpoint knows nothing: a run that goes on will not have had it
            let better = match journal.has_seen(solver.iterations()) {
                true => None,
                false => match journal.look(solver, rules, observer) {
                    Ok(verdict) => verdict,
                    Err(error) => return journal.broken_off(solver, error),
                },
            };
            let better = better.filter(|better| better.is_solved());
            return Ok(journal.outcome(solver, better.unwrap_or(status)));
        }
        let snapshot = keeper.snapshot(solver, &mut journal, observer);
        let before = clock.seconds();
        let grace = if keeper.is_on() { GRACE } else { 0.0 };
        solver.watch().arm(rules.within_step(
            journal.seconds,
            solver.ledger(),
            (clock, before),
            grace,
        ));
        let step = solver.step();
        solver.watch().disarm();
        journal.step_seconds = clock.seconds() - before;
        journal.seconds += journal.step_seconds;
        match step {
            Ok(step) => journal.last_step = step,
            Err(Error::Interrupted(why)) => {
                keeper.keep_snapshot(snapshot, observer);
                return Ok(journal.outcome(solver, StopRules::status_of(why)));
            }
            Err(error) => return journal.broken_off(solver, error),
        }
    }
}
