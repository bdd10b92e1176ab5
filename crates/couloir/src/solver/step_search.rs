//! The search for a step size over a grid, as the paper does for its baselines.

use super::{Method, Solve};
use crate::certificate::Certificate;
use crate::error::{Error, Result};
use crate::oracles::Ledger;
use crate::run::{Algorithm, Clock, Flow, Outcome, Status, StopRules, TracePoint, run};

/// The steps that the NeurIPS 2020 paper tries.
pub const PAPER_GRID: [f64; 6] = [1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6];

/// One candidate and what came of it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StepTrial {
    /// The step in `x`.
    pub step_x: f64,
    /// The step in `y`.
    pub step_y: f64,
    /// How the run ended, or the numerical trouble it ran into.
    pub ended: std::result::Result<Status, Error>,
    /// The certificate at the start.
    pub first: Certificate,
    /// The best certificate reached; for a failed trial, none.
    pub reached: Certificate,
    /// Iterations done.
    pub iterations: u64,
    /// Oracle calls of this trial.
    pub ledger: Ledger,
}

impl StepTrial {
    /// The best certified gap; infinite for a trial that failed.
    #[must_use]
    pub fn gap(&self) -> f64 {
        self.reached.gap
    }

    /// Whether the run got better than its start point.
    #[must_use]
    pub fn improved(&self) -> bool {
        self.reached.gap < self.first.gap
    }

    /// Whether this is a better candidate than `other`: solved before not solved, then by the passes
    /// and iterations that solving took, or by the gap reached.
    fn beats(&self, other: &StepTrial) -> bool {
        let solved = |t: &StepTrial| t.ended.as_ref().is_ok_and(|s| s.is_solved());
        match (solved(self), solved(other)) {
            (true, true) => {
                let cost = |t: &StepTrial| (t.ledger.method.passes, t.iterations);
                cost(self) < cost(other)
            }
            (false, false) => self.gap() < other.gap(),
            (mine, _) => mine,
        }
    }
}

/// All candidates, in the order in which they were tried, and the best of them.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StepSearch {
    /// Every candidate.
    pub trials: Vec<StepTrial>,
    /// The index of the best one; `None` if no candidate improved on the start point.
    pub best: Option<usize>,
    base: Method,
}

impl StepSearch {
    /// The best candidate.
    #[must_use]
    pub fn best(&self) -> Option<&StepTrial> {
        self.trials.get(self.best?)
    }

    /// The method with the best steps: its own run starts a ledger of its own.
    #[must_use]
    pub fn method(&self) -> Option<Method> {
        let best = self.best()?;
        self.base.with_steps(best.step_x, best.step_y).ok()
    }

    /// What the whole search spent.
    #[must_use]
    pub fn ledger(&self) -> Ledger {
        let mut sum = Ledger::default();
        for trial in &self.trials {
            sum.method = sum.method + trial.ledger.method;
            sum.certificate = sum.certificate + trial.ledger.certificate;
        }
        sum
    }
}

/// Tries every step of `grid` (with `per_block`, every pair of them; else the same step for both
/// blocks) for SVRE or extragradient: the method of `base`, from its start and under its rules, which must
/// limit iterations or oracle calls. A time limit needs the clock of `base`; without one the result is a function of
/// problem, settings and seed.
///
/// A candidate that runs into values that are not finite, or other numerical trouble, is recorded as
/// failed; one that goes astray inside its set is one that has not improved. Both are no errors.
///
/// ```
/// use couloir::domain::{L2Ball, Simplex};
/// use couloir::problem::QuadraticBilinear;
/// use couloir::solver::{PAPER_GRID, search_steps};
/// use couloir::{Method, Solve};
///
/// let (x_set, y_set) = (L2Ball::new(5, 1.0)?, Simplex::new(4)?);
/// let problem = QuadraticBilinear::on(&x_set, &y_set).curvature(0.5, 1.0).build()?;
/// let base = Solve::new(&problem, &x_set, &y_set).method(Method::extragradient()).iterations(200);
/// let search = search_steps(&base, &PAPER_GRID, false)?;
/// assert_eq!(search.trials.len(), 6);
/// assert_eq!(search.best().map(|t| t.step_x), Some(0.1));
/// # Ok::<(), couloir::Error>(())
/// ```
///
/// # Errors
/// A method without steps, an empty grid or steps that are no positive numbers, rules without a limit,
/// and what [`Solve::start`] reports: a missing oracle is missing for every step.
pub fn search_steps(base: &Solve<'_>, grid: &[f64], per_block: bool) -> Result<StepSearch> {
    let (rules, clock) = (&base.rules, base.clock_in_use()?);
    if grid.is_empty() {
        return Err(Error::Setting { name: "grid", why: "has no steps to try".to_owned() });
    }
    if rules.iterations.is_none() && rules.limits.is_empty() {
        return Err(Error::Setting {
            name: "rules",
            why: "a step search needs a limit of iterations or oracle calls".to_owned(),
        });
    }
    let mut trials: Vec<StepTrial> = Vec::new();
    for (i, &step_x) in grid.iter().enumerate() {
        let partners = if per_block { grid } else { &grid[i..=i] };
        for &step_y in partners {
            let method = base.method_in_use().with_steps(step_x, step_y)?;
            // what is wrong here is wrong with every step: an error
            let mut solver = base.clone().method(method).start()?;
            trials.push(trial(&mut *solver, rules, clock, step_x, step_y)?);
        }
    }
    let best = (0..trials.len())
        .filter(|&i| trials[i].improved())
        .reduce(|best, i| if trials[i].beats(&trials[best]) { i } else { best });
    Ok(StepSearch { trials, best, base: base.method_in_use() })
}

fn trial(
    solver: &mut dyn Algorithm,
    rules: &StopRules,
    clock: &dyn Clock,
    step_x: f64,
    step_y: f64,
) -> Result<StepTrial> {
    let mut first = Certificate::NONE;
    let mut note_first = |point: &TracePoint, _: &dyn Algorithm| {
        if point.iteration == 0 {
            first = point.certificate;
        }
        Flow::Continue
    };
    let (ended, reached) = match run(solver, rules, clock, &mut note_first) {
        // steps that lead to trouble are no good, whatever was reached before it
        Ok(Outcome { trouble: Some(trouble), .. }) => (Err(trouble), Certificate::NONE),
        Ok(outcome) => (Ok(outcome.status), outcome.certificate),
        Err(trouble) if trouble.is_numerical() => (Err(trouble), Certificate::NONE),
        Err(error) => return Err(error),
    };
    let (iterations, ledger) = (solver.iterations(), *solver.ledger());
    Ok(StepTrial { step_x, step_y, ended, first, reached, iterations, ledger })
}
