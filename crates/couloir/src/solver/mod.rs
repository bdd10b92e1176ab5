//! The solvers, one file each, and the one call that runs any of them.

mod apg;
mod extragradient;
mod fingerprint;
mod incumbent;
mod mpcgs;
mod mpscgs;
mod practical;
mod spafw;
mod spfw;
mod step_search;
mod svre;

pub use apg::{Apg, ApgSettings};
pub use extragradient::{Extragradient, ExtragradientSettings};
pub use mpcgs::{Certified, CertifiedSettings, Printed, PrintedConstants, PrintedSettings};
pub use mpscgs::{MpscgsConstants, NegatedBatches, PrintedMpscgs, PrintedMpscgsSettings};
pub use practical::{Practical, PracticalSettings};
pub use spafw::{SpAfw, SpAfwSettings, SpAfwStep};
pub use spfw::{Geometry, Spfw, SpfwRate, SpfwSettings, SpfwStep};
pub use step_search::{PAPER_GRID, StepSearch, StepTrial, search_steps};
pub use svre::{Epoch, Svre, SvreSettings};

use crate::domain::Domain;
use crate::error::{Block, Error, Result};
use crate::oracles::{Counter, Oracles};
use crate::problem::SaddleProblem;
use crate::run::{
    Algorithm, Checkpoints, Clock, Flow, MemoryLimit, NoClock, Observer, Outcome, StopRules,
    TracePoint, run_kept,
};
use crate::state::Fingerprint;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// How an inner problem on one block is solved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Inner {
    /// Projection-free, by conditional gradient steps, as in the paper.
    Slide,
    /// By the problem's best response or the set's exact prox.
    Exact,
    /// `Exact` where there is one, else `Slide`.
    #[default]
    Auto,
}

/// A method and its settings.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Method {
    /// MPCGS with block constants found by backtracking and its bounds computed while running.
    Certified(CertifiedSettings),
    /// MPCGS as printed in the paper.
    Printed(PrintedSettings),
    /// MPSCGS on growing batches, each solved by certified MPCGS.
    Mpscgs(PracticalSettings),
    /// MPSCGS as printed in the paper.
    PrintedMpscgs(PrintedMpscgsSettings),
    /// SP-FW of Gidel, Jebara and Lacoste-Julien.
    Spfw(SpfwSettings),
    /// SP-FW with away steps, on polytopes.
    SpAfw(SpAfwSettings),
    /// Variance reduced extragradient with exact projections.
    Svre(SvreSettings),
    /// Extragradient (Euclidean Mirror-Prox) with exact projections.
    Extragradient(ExtragradientSettings),
    /// Accelerated projected gradient on `max_y f(., y)`.
    Apg(ApgSettings),
}

impl Default for Method {
    fn default() -> Self {
        Method::certified()
    }
}

impl Method {
    /// Certified MPCGS with its default settings.
    #[must_use]
    pub fn certified() -> Self {
        Method::Certified(CertifiedSettings::default())
    }

    /// Printed MPCGS with its default settings.
    #[must_use]
    pub fn printed() -> Self {
        Method::Printed(PrintedSettings::default())
    }

    /// Practical MPSCGS with its default settings.
    #[must_use]
    pub fn mpscgs() -> Self {
        Method::Mpscgs(PracticalSettings::default())
    }

    /// Printed MPSCGS with its default settings.
    #[must_use]
    pub fn printed_mpscgs() -> Self {
        Method::PrintedMpscgs(PrintedMpscgsSettings::default())
    }

    /// SP-FW with the open step.
    #[must_use]
    pub fn spfw() -> Self {
        Method::Spfw(SpfwSettings::default())
    }

    /// SP-AFW with its adaptive step.
    #[must_use]
    pub fn spafw() -> Self {
        Method::SpAfw(SpAfwSettings::default())
    }

    /// SVRE with its default settings.
    #[must_use]
    pub fn svre() -> Self {
        Method::Svre(SvreSettings::default())
    }

    /// Extragradient with steps found by backtracking.
    #[must_use]
    pub fn extragradient() -> Self {
        Method::Extragradient(ExtragradientSettings::default())
    }

    /// Accelerated projected gradient with its default settings.
    #[must_use]
    pub fn apg() -> Self {
        Method::Apg(ApgSettings::default())
    }

    /// The method with this seed; methods that draw nothing stay as they are.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        match &mut self {
            Method::Mpscgs(settings) => settings.seed = seed,
            Method::PrintedMpscgs(settings) => settings.seed = seed,
            Method::Svre(settings) => settings.seed = seed,
            _ => {}
        }
        self
    }

    /// The method with this way to solve its inner problems, on both blocks where it has both.
    ///
    /// # Errors
    /// A method that has no inner problems, or only one way to solve them.
    pub fn with_inner(mut self, inner: Inner) -> Result<Self> {
        match &mut self {
            Method::Certified(s) => (s.inner_x, s.inner_y) = (inner, inner),
            Method::Printed(s) => (s.inner_x, s.inner_y) = (inner, inner),
            Method::Mpscgs(settings) => settings.inner = inner,
            Method::Apg(settings) => settings.inner_y = inner,
            _ => {
                let why = format!(
                    "`{self}` leaves no choice; certified, mpcgs, mpscgs and apg solve inner problems"
                );
                return Err(Error::Setting { name: "inner", why });
            }
        }
        Ok(self)
    }

    /// The method with these steps in `x` and `y`.
    ///
    /// # Errors
    /// A method other than SVRE and extragradient: it has no steps to set.
    pub fn with_steps(self, step_x: f64, step_y: f64) -> Result<Self> {
        match self {
            Method::Svre(settings) => Ok(Method::Svre(settings.steps(step_x, step_y))),
            Method::Extragradient(settings) => {
                Ok(Method::Extragradient(settings.steps(step_x, step_y)))
            }
            _ => Err(Error::Setting {
                name: "method",
                why: "only `svre` and `extragradient` have steps to search for".to_owned(),
            }),
        }
    }
}

/// The names of all methods, as users type them.
const NAMES: [&str; 9] = [
    "certified",
    "mpcgs",
    "mpscgs",
    "mpscgs-printed",
    "spfw",
    "spafw",
    "svre",
    "extragradient",
    "apg",
];

impl Method {
    /// The method's name, as users type it: `mpcgs` is MPCGS as printed, `mpscgs` the practical MPSCGS.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Method::Certified(_) => "certified",
            Method::Printed(_) => "mpcgs",
            Method::Mpscgs(_) => "mpscgs",
            Method::PrintedMpscgs(_) => "mpscgs-printed",
            Method::Spfw(_) => "spfw",
            Method::SpAfw(_) => "spafw",
            Method::Svre(_) => "svre",
            Method::Extragradient(_) => "extragradient",
            Method::Apg(_) => "apg",
        }
    }
}

impl std::fmt::Display for Method {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// A method with its default settings, by its name.
///
/// ```
/// use couloir::Method;
/// let method: Method = "mpscgs".parse()?;
/// assert_eq!(method, Method::mpscgs());
/// assert!("mpcg".parse::<Method>().is_err());
/// # Ok::<(), couloir::Error>(())
/// ```
impl std::str::FromStr for Method {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Ok(match name {
            "certified" => Method::certified(),
            "mpcgs" => Method::printed(),
            "mpscgs" => Method::mpscgs(),
            "mpscgs-printed" => Method::printed_mpscgs(),
            "spfw" => Method::spfw(),
            "spafw" => Method::spafw(),
            "svre" => Method::svre(),
            "extragradient" => Method::extragradient(),
            "apg" => Method::apg(),
            other => {
                return Err(Error::Setting {
                    name: "method",
                    why: format!("there is no `{other}`; there are {}", NAMES.join(", ")),
                });
            }
        })
    }
}

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
    method: Method,
    rules: StopRules,
    x_start: Option<Vec<f64>>,
    y_start: Option<Vec<f64>>,
    checkpoints: Checkpoints,
}

/// The best certified pair, and how the run went.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Solution {
    /// The point `x` of the best certified pair.
    pub x: Vec<f64>,
    /// The point `y` of the best certified pair.
    pub y: Vec<f64>,
    /// Status, certificate, trace, ledger.
    pub outcome: Outcome,
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
            method: Method::default(),
            rules: StopRules::default(),
            x_start: None,
            y_start: None,
            checkpoints: Checkpoints::default(),
        }
    }

    /// The method; certified MPCGS where none is named.
    #[must_use]
    pub fn method(mut self, method: Method) -> Self {
        self.method = method;
        self
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

    /// Stop after this many seconds of the method's time; needs a clock, so
    /// [`run_with`](Solve::run_with).
    #[must_use]
    pub fn seconds(mut self, limit: f64) -> Self {
        self.rules.seconds = Some(limit);
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
    /// [`run`](Solve::run) has no clock, so it keeps one at the end alone, or with `every(0.0)` one for every iteration.
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
        let (p, xs, ys) = (self.problem, self.x_set, self.y_set);
        let (x0, y0) = (self.x_start.as_deref(), self.y_start.as_deref());
        Ok(match &self.method {
            Method::Certified(settings) => Box::new(Certified::new(p, xs, ys, settings, x0, y0)?),
            Method::Printed(settings) => Box::new(Printed::new(p, xs, ys, settings, x0, y0)?),
            Method::Mpscgs(settings) => Box::new(Practical::new(p, xs, ys, settings, x0, y0)?),
            Method::PrintedMpscgs(settings) => {
                Box::new(PrintedMpscgs::new(p, xs, ys, settings, x0, y0)?)
            }
            Method::Spfw(settings) => Box::new(Spfw::new(p, xs, ys, settings, x0, y0)?),
            Method::SpAfw(settings) => Box::new(SpAfw::new(p, xs, ys, settings, x0, y0)?),
            Method::Svre(settings) => Box::new(Svre::new(p, xs, ys, settings, x0, y0)?),
            Method::Extragradient(settings) => {
                Box::new(Extragradient::new(p, xs, ys, settings, x0, y0)?)
            }
            Method::Apg(settings) => Box::new(Apg::new(p, xs, ys, settings, x0, y0)?),
        })
    }

    /// Runs without a clock (seconds in the trace are 0) and without an observer.
    ///
    /// # Errors
    /// As [`run_with`](Solve::run_with).
    pub fn run(&self) -> Result<Solution> {
        if self.rules.seconds.is_some() {
            return Err(Error::Setting {
                name: "time limit",
                why: "`run` has no clock; use `run_with(&WallClock::start(), ..)`".to_owned(),
            });
        }
        let mut nobody = |_: &TracePoint, _: &dyn Algorithm| Flow::Continue;
        self.run_with(&NoClock, &mut nobody)
    }

    /// Runs, with a clock for time limits and the trace and an observer.
    ///
    /// # Errors
    /// As [`start`](Solve::start), and values or gradients that are not finite.
    pub fn run_with(&self, clock: &dyn Clock, observer: &mut dyn Observer) -> Result<Solution> {
        let mut solver = self.start()?;
        let kept = self.checkpoints.file.is_some() || self.checkpoints.resume.is_some();
        let fingerprint = if kept { self.fingerprint() } else { Fingerprint::default() };
        let (rules, checkpoints) = (&self.rules, &self.checkpoints);
        let outcome = run_kept(&mut *solver, rules, checkpoints, &fingerprint, clock, observer)?;
        let (x, y) = solver.best();
        Ok(Solution { x: x.to_vec(), y: y.to_vec(), outcome })
    }
}

/// Fails for a budget with which no inner solve could even test its start point.
fn check_budget(inner_budget: u64) -> Result<()> {
    if inner_budget == 0 {
        return Err(Error::Setting {
            name: "inner_budget",
            why: "must be at least 1 linear minimisation, got 0".to_owned(),
        });
    }
    Ok(())
}

/// Whether the inner problem on X is solved exactly.
fn exact_x(oracles: &Oracles<'_>, inner: Inner) -> Result<bool> {
    match (inner, oracles.has_prox(Block::X)) {
        (Inner::Slide, _) | (Inner::Auto, false) => Ok(false),
        (_, true) => Ok(true),
        (Inner::Exact, false) => Err(Error::MissingOracle {
            set: oracles.x_set.describe(),
            oracle: "exact prox",
            hint: "use the inner solve `Slide` for x",
        }),
    }
}

/// Fails unless the set of this block has an exact projection.
fn need_projection(oracles: &Oracles<'_>, block: Block) -> Result<()> {
    let set = match block {
        Block::X => oracles.x_set,
        Block::Y => oracles.y_set,
    };
    if oracles.has_prox(block) {
        return Ok(());
    }
    Err(Error::MissingOracle {
        set: set.describe(),
        oracle: "exact projection",
        hint: "use a projection-free method, for instance `certified`",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_goes_by_its_name() {
        for name in NAMES {
            let method: Method = name.parse().expect("a method");
            assert_eq!(method.to_string(), name);
        }
    }
}
