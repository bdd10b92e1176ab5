//! The one run loop: stopping rules, status, trace and observers, for every solver.

mod atomic;
mod clock;
mod stop;

pub use atomic::write_atomically;
pub use clock::{Clock, NoClock, WallClock};
pub(crate) use stop::Stall;
pub use stop::{Status, StopRules};

use crate::certificate::{Bounds, Certificate};
use crate::error::{Block, Error, Result};
use crate::problem::Ledger;

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

    /// What the method found out or settled on by itself, for reports.
    fn facts(&self) -> Vec<Fact> {
        Vec::new()
    }
}

/// A number that a method found out by itself: an estimate of `sigma`, the `Lhat` it ended with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fact {
    /// What it is.
    pub name: &'static str,
    /// Its value.
    pub value: f64,
}

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
    /// What went wrong, where the status is [`Status::NumericalTrouble`].
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
    /// The trace, one record for each evaluation.
    pub trace: Vec<TracePoint>,
    /// What the method found out by itself.
    pub facts: Vec<Fact>,
}

/// Runs a solver until a rule stops it.
///
/// The state is evaluated and recorded before the first iteration, then every `rules.evaluate_every`
/// iterations, and at the end. Numerical trouble (see [`Error::is_numerical`]) after the first certificate ends the run with
/// [`Status::NumericalTrouble`] and the best pair so far.
///
/// # Errors
/// Rules that make no sense; what the solver reports.
pub fn run(
    solver: &mut dyn Algorithm,
    rules: &StopRules,
    clock: &dyn Clock,
    observer: &mut dyn Observer,
) -> Result<Outcome> {
    rules.check()?;
    let mut trace: Vec<TracePoint> = Vec::new();
    let mut seconds = 0.0;
    let mut stall = Stall::new();
    let mut first_gap = f64::INFINITY;
    let mut ended: Option<Status> = None;
    let mut trouble: Option<Error> = None;
    loop {
        let due = solver.iterations().is_multiple_of(rules.evaluate_every);
        if trouble.is_none() && (due || ended.is_some() || trace.is_empty()) {
            if let Err(error) = solver.evaluate() {
                trouble = Some(survivable(error, solver)?);
                ended = Some(Status::NumericalTrouble);
                continue;
            }
            let certificate = *solver.certificate();
            if trace.is_empty() {
                first_gap = certificate.gap;
            }
            let point = TracePoint {
                iteration: solver.iterations(),
                seconds,
                certificate,
                bounds: solver.bounds(),
                ledger: *solver.ledger(),
            };
            trace.push(point);
            stall.look(certificate.gap);
            let stalled = rules.patience.is_some_and(|patience| stall.looks >= patience);
            let flow = observer.observe(&point, solver);
            ended = rules
                .reached(certificate.gap, first_gap)
                .or(ended)
                .or((flow == Flow::Stop).then_some(Status::StoppedByObserver))
                .or(stalled.then_some(Status::Stalled));
        }
        if ended.is_none() {
            ended = rules.spent(solver.iterations(), seconds, solver.ledger());
            if ended.is_some() && trace.last().map(|p| p.iteration) != Some(solver.iterations()) {
                continue; // evaluate once more at the end
            }
        }
        if let Some(status) = ended {
            return Ok(Outcome {
                status,
                trouble,
                certificate: *solver.certificate(),
                bounds: solver.bounds(),
                iterations: solver.iterations(),
                seconds,
                ledger: *solver.ledger(),
                trace,
                facts: solver.facts(),
            });
        }
        let before = clock.seconds();
        let step = solver.step();
        seconds += clock.seconds() - before;
        ended = match step {
            Ok(Step::Advanced) => None,
            Ok(Step::NoProgress) => Some(Status::NoProgress),
            Ok(Step::InnerBudget(block)) => Some(Status::InnerBudget(block)),
            Err(error) => {
                trouble = Some(survivable(error, solver)?);
                Some(Status::NumericalTrouble)
            }
        };
    }
}

/// The error, if it is one after which the best pair so far is worth keeping.
fn survivable(error: Error, solver: &dyn Algorithm) -> Result<Error> {
    let certified = solver.certificate().gap.is_finite();
    if error.is_numerical() && certified { Ok(error) } else { Err(error) }
}
