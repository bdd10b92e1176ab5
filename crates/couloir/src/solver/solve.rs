//! The one call that runs any method.

use super::last_look::look_last;
use super::members::return_members;
use super::{Method, Start};
use crate::domain::Domain;
use crate::error::{Error, Result};
use crate::linalg::Factors;
use crate::oracles::Counter;
use crate::problem::{PointX, SaddleProblem, WithFallbacks};
use crate::run::{
    Algorithm, Checkpoints, Clock, Flow, MemoryLimit, NoClock, Observer, Outcome, StopRules,
    TracePoint, run_kept,
};
use crate::state::{Digest, Fingerprint};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A saddle problem to be solved: one call shape for every method.
///
/// ```
/// use couloir::domain::{L2Ball, Simplex};
/// use couloir::problem::QuadraticBilinear;
/// use couloir::{Method, Solve};
///
/// let (x_set, y_set) = (L2Ball::new(5, 1.0)?, Simplex::new(4)?);
/// let problem = QuadraticBilinear::on(&x_set, &y_set).build()?;
/// let solution = Solve::new(&problem, &x_set, &y_set)
///     .method(Method::certified())
///     .gap(1e-6)
///     .run()?;
/// assert!(solution.outcome.status.is_solved());
/// assert!(problem.exact_gap(&x_set, &y_set, &solution.x, &solution.y)? <= 1e-6);
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone)]
pub struct Solve<'a> {
    problem: &'a dyn SaddleProblem,
    x_set: &'a dyn Domain,
    y_set: &'a dyn Domain,
    /// None: the one that suits the problem.
    chosen: Option<Method>,
    pub(super) rules: StopRules,
    x_start: Option<Vec<f64>>,
    y_start: Option<Vec<f64>>,
    checkpoints: Checkpoints,
    clock: Option<Arc<dyn Clock + 'a>>,
}

/// The best certified pair, and how the run went.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Solution {
    /// The point `x` of the best certified pair; empty where it is known by its `factors`.
    pub x: Vec<f64>,
    /// The point `x` by its factors, where the method works on these alone: see [`form_x`](Self::form_x).
    pub factors: Option<Factors>,
    /// The point `y` of the best certified pair.
    pub y: Vec<f64>,
    /// The name of the method that ran.
    pub method: &'static str,
    /// Status, certificate, trace, ledger.
    pub outcome: Outcome,
}

impl Solution {
    /// The point `x` in full, also where it is known by its factors.
    ///
    /// # Errors
    /// A matrix that does not fit into memory.
    pub fn form_x(&self) -> Result<Vec<f64>> {
        self.factors.as_ref().map_or_else(|| Ok(self.x.clone()), Factors::to_matrix)
    }
}

impl<'a> Solve<'a> {
    /// `min over x in x_set, max over y in y_set` of the problem's function.
    #[must_use]
    pub fn new(
        problem: &'a dyn SaddleProblem,
        x_set: &'a dyn Domain,
        y_set: &'a dyn Domain,
    ) -> Self {
        Solve {
            problem,
            x_set,
            y_set,
            chosen: None,
            rules: StopRules::default(),
            x_start: None,
            y_start: None,
            checkpoints: Checkpoints::default(),
            clock: None,
        }
    }

    /// The method, or its settings; where none is named, the one that [suits](Method::suited) the problem.
    #[must_use]
    pub fn method(mut self, method: impl Into<Method>) -> Self {
        self.chosen = Some(method.into());
        self
    }

    /// The method that was named, or the one that suits the problem.
    #[must_use]
    pub fn method_in_use(&self) -> Method {
        let suited = || Method::suited(self.problem, self.x_set, self.y_set);
        self.chosen.clone().unwrap_or_else(suited)
    }

    /// All stopping rules at once.
    #[must_use]
    pub fn rules(mut self, rules: StopRules) -> Self {
        self.rules = rules;
        self
    }

    /// Stop when the certified gap is at most `tolerance` (in place of the relative rule).
    #[must_use]
    pub fn gap(mut self, tolerance: f64) -> Self {
        self.rules.gap = Some(tolerance);
        self.rules.relative_gap = None;
        self
    }

    /// Stop when the certified gap is at most this share of the first one.
    #[must_use]
    pub fn relative_gap(mut self, share: f64) -> Self {
        self.rules.relative_gap = Some(share);
        self
    }

    /// Stop after this many iterations.
    #[must_use]
    pub fn iterations(mut self, limit: u64) -> Self {
        self.rules.iterations = Some(limit);
        self
    }

    /// Stop after this many seconds of the method's own time, evaluations not counted, by this clock:
    ///
    /// ```
    /// use couloir::Solve;
    /// use couloir::domain::{L2Ball, Simplex};
    /// use couloir::problem::QuadraticBilinear;
    /// use couloir::run::WallClock;
    ///
    /// let (x_set, y_set) = (L2Ball::new(5, 1.0)?, Simplex::new(4)?);
    /// let problem = QuadraticBilinear::on(&x_set, &y_set).build()?;
    /// let solution = Solve::new(&problem, &x_set, &y_set).seconds(60.0, WallClock::start()).run()?;
    /// assert!(solution.outcome.seconds < 60.0);
    /// # Ok::<(), couloir::Error>(())
    /// ```
    #[must_use]
    pub fn seconds(mut self, limit: f64, clock: impl Clock + 'a) -> Self {
        self.rules.seconds = Some(limit);
        self.clock(clock)
    }

    /// Take times from this clock: those in the trace, those between checkpoints, and the time limit if the rules set
    /// one. The library reads no other; without one the trace has zeros.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock + 'a) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// Stop when more memory than this is taken, with the best pair so far.
    #[must_use]
    pub fn memory(mut self, limit: MemoryLimit) -> Self {
        self.rules.memory = Some(limit);
        self
    }

    /// Stop when an entry of the method's ledger reaches a limit.
    #[must_use]
    pub fn limit(mut self, counter: Counter, limit: u64) -> Self {
        self.rules.limits.push((counter, limit));
        self
    }

    /// Stop when this flag is raised.
    #[must_use]
    pub fn cancel(mut self, flag: Arc<AtomicBool>) -> Self {
        self.rules.cancel = Some(flag.into());
        self
    }

    /// Evaluate the certificate and record the trace every this many iterations.
    #[must_use]
    pub fn evaluate_every(mut self, iterations: u64) -> Self {
        self.rules.evaluate_every = iterations;
        self
    }

    /// Keep every record of the trace, in place of at most
    /// [`TRACE_RECORDS`](crate::run::TRACE_RECORDS) that are spread over the run.
    #[must_use]
    pub fn whole_trace(mut self) -> Self {
        self.rules.trace_records = None;
        self
    }

    /// Start from `x` in place of the set's centre.
    #[must_use]
    pub fn start_x(mut self, x: Vec<f64>) -> Self {
        self.x_start = Some(x);
        self
    }

    /// Start from `y` in place of the set's centre.
    #[must_use]
    pub fn start_y(mut self, y: Vec<f64>) -> Self {
        self.y_start = Some(y);
        self
    }

    /// Keep checkpoints, or go on from one:
    ///
    /// ```
    /// # let folder = tempfile::tempdir().expect("a folder");
    /// # let file = folder.path().join("run.checkpoint");
    /// use couloir::Solve;
    /// use couloir::domain::{L2Ball, Simplex};
    /// use couloir::problem::QuadraticBilinear;
    /// use couloir::run::Checkpoints;
    ///
    /// let (x_set, y_set) = (L2Ball::new(5, 1.0)?, Simplex::new(4)?);
    /// let problem = QuadraticBilinear::on(&x_set, &y_set).build()?;
    /// let solve = Solve::new(&problem, &x_set, &y_set).gap(1e-6);
    ///
    /// // ten iterations, and on another day the rest
    /// solve.clone().iterations(10).checkpoints(Checkpoints::to(&file)).run()?;
    /// let resumed = solve.clone().checkpoints(Checkpoints::resume(&file)).run()?;
    /// assert_eq!(resumed, solve.run()?); // to the last bit
    /// # Ok::<(), couloir::Error>(())
    /// ```
    ///
    /// Without a [`clock`](Solve::clock) it keeps one at the end alone, or with `every(0.0)` one for every iteration.
    #[must_use]
    pub fn checkpoints(mut self, checkpoints: Checkpoints) -> Self {
        self.checkpoints = checkpoints;
        self
    }

    /// The solver at its start point, for callers who drive it themselves.
    ///
    /// # Errors
    /// Dimensions that disagree, settings or start points that make no sense, constants or oracles
    /// that the method needs and the problem or a set lacks.
    pub fn start(&self) -> Result<Box<dyn Algorithm + 'a>> {
        let start = Start::new(self.problem, self.x_set, self.y_set);
        self.method_in_use().start(start.at(self.x_start.as_deref(), self.y_start.as_deref()))
    }

    /// Runs until a rule ends it.
    ///
    /// # Errors
    /// As [`start`](Solve::start), values or gradients that are not finite before there is a certificate, and rules with a
    /// time limit where there is no clock.
    pub fn run(&self) -> Result<Solution> {
        self.run_with(&mut |_: &TracePoint, _: &dyn Algorithm| Flow::Continue)
    }

    /// The same with an observer.
    ///
    /// # Errors
    /// As [`run`](Solve::run).
    pub fn run_with(&self, observer: &mut dyn Observer) -> Result<Solution> {
        let clock = self.clock_in_use()?;
        let mut solver = self.start()?;
        let kept = self.checkpoints.file.is_some() || self.checkpoints.resume.is_some();
        let fingerprint = if kept { self.fingerprint() } else { Fingerprint::default() };
        let (rules, checkpoints) = (&self.rules, &self.checkpoints);
        let outcome = run_kept(&mut *solver, rules, checkpoints, &fingerprint, clock, observer)?;
        let (x, y) = solver.best();
        let (x, y, factors) = (x.to_vec(), y.to_vec(), solver.factors().cloned());
        let mut solution = Solution { x, factors, y, method: solver.name(), outcome };
        // its memory is not needed with that of the decomposition that may follow
        drop(solver);
        // factors are never formed here, and their certificate takes no other look
        if solution.factors.is_none() {
            // the points as they are, and their certificate, are what there is where gradients fail now
            let sets = (self.x_set, self.y_set);
            let _ = return_members(&mut solution, rules, self.problem, sets);
            look_last(&mut solution, self.problem, sets)?;
        }
        Ok(solution)
    }

    /// The clock that was given, or one that stands still if there is no time limit.
    pub(super) fn clock_in_use(&self) -> Result<&dyn Clock> {
        match &self.clock {
            Some(clock) => Ok(&**clock),
            None if self.rules.seconds.is_none() => Ok(&NoClock),
            None => Err(Error::Setting {
                name: "time limit",
                why: "needs a clock: give one by `Solve::clock`, for instance `WallClock::start()`"
                    .to_owned(),
            }),
        }
    }

    /// What the solve is about, for its checkpoints: problem, sets, method with its settings, start points.
    fn fingerprint(&self) -> Fingerprint {
        let mut print = Fingerprint::default();
        if let Some(identity) = self.problem.capabilities().identity {
            identity.fingerprint(&mut print);
        }
        self.method_in_use().fingerprint(&mut print);
        print.note("set of x", self.x_set.describe());
        print.note("set of y", self.y_set.describe());
        print.note("start of x", described(self.x_start.as_deref()));
        print.note("start of y", described(self.y_start.as_deref()));
        print.note_maybe("f at the start", self.value_at_start());
        // certified MPCGS goes another way where it is known
        let constants = self.problem.capabilities().constants;
        if let Some(mu_x) = constants.and_then(|constants| constants.mu_x()) {
            print.note("mu_x", mu_x);
        }
        print
    }

    /// The value tells problems apart that say nothing of themselves; none where the start points do not fit.
    fn value_at_start(&self) -> Option<f64> {
        let can = self.problem.capabilities();
        // a large matrix is not formed: the centre of its ball is zero
        let is_zero = self.x_start.is_none()
            && can.matrix_operator.is_some()
            && self.x_set.nuclear_shape().is_some();
        let mut point = match is_zero {
            true => PointX::at_image_zero(self.problem),
            false => PointX::new(self.problem),
        };
        match &self.x_start {
            Some(x) => point.x.clone_from(x),
            None => self.x_set.center(&mut point.x),
        }
        let mut y = vec![0.0; self.problem.dim_y()];
        match &self.y_start {
            Some(start) => y.clone_from(start),
            None => self.y_set.center(&mut y),
        }
        let fits = is_zero || point.x.len() == self.problem.dim_x();
        if !fits || y.len() != self.problem.dim_y() {
            return None;
        }
        let problem = WithFallbacks::new(self.problem);
        if !is_zero {
            problem.image(&point.x, &mut point.image);
        }
        problem.prepare(&point.image, &mut point.cache);
        Some(self.problem.value(point.prepared(), &y))
    }
}

fn described(start: Option<&[f64]>) -> String {
    let Some(start) = start else { return "the centre of its set".to_owned() };
    let mut digest = Digest::default();
    digest.numbers(start);
    format!("a given point ({})", digest.name())
}
