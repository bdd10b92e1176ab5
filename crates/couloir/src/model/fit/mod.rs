//! Robust multiclass classification from rows and labels to a certified point: what `couloir fit` runs.

mod data_scales;
mod fitted;
mod memory;
mod record;

pub use data_scales::{auto_tau, heaviest_feature};
pub use fitted::Fitted;
pub use record::FitRecord;

use super::loss::{LossChoice, ResidualLoss, ScoreLoss, TargetLoss};
use super::row_weights::{ClassWeight, Nominal};
use super::uncertainty::{RowData, UncertaintyChoice, renumbered};
use super::{Ball, RobustMulticlass, RobustSettings, Scaling};
use crate::error::{Error, Result, check_len, check_positive};
use crate::linalg::SparseMatrix;
use crate::oracles::Counter;
use crate::run::{Cancel, Checkpoints, Clock, MemoryLimit, Observer, StopRules};
use crate::solver::{Method, Need, Solve};
use std::sync::Arc;

/// The tolerance on gap/s unless another is set: the loosest of those tried at which the accuracy on test
/// rows is within 0.2 points of that at 1e-3 on news20 and rcv1sub (docs/benchmarks.md has the table).
pub const DEFAULT_TOL: f64 = 1e-1;

/// Where a fit starts; `X = 0` in all cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Start {
    /// The `y` where the penalty is zero: `(1/n, ..., 1/n)`, or the nominal weights.
    #[default]
    Uniform,
    /// `y = e_1`: all the weight on the first row.
    Vertex,
}

impl std::fmt::Display for Start {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Start::Uniform => "uniform",
            Start::Vertex => "vertex",
        })
    }
}

/// A start that is known to be good, for example the solution for a smaller radius; where there is none, [`Start`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Warm {
    /// A point of [`RobustMulticlass::x_set`].
    pub x: Option<Vec<f64>>,
    /// A point of the simplex.
    pub y: Option<Vec<f64>>,
}

/// A fit of [`RobustMulticlass`]: settings that are checked once and then give the same bits wherever
/// they are run, from the command or a program.
///
/// ```
/// use couloir::linalg::SparseMatrix;
/// use couloir::model::RobustFit;
/// use couloir::run::{Algorithm, Flow, TracePoint, WallClock};
///
/// // three rows in the plane, one of each class
/// let rows = SparseMatrix::from_rows(2, vec![0, 1, 2, 4], vec![0, 1, 0, 1],
///     vec![1.0, 1.0, -0.7, -0.7])?;
/// let mut watch = |point: &TracePoint, _: &dyn Algorithm| {
///     println!("{} {}", point.iteration, point.certificate.gap);
///     Flow::Continue
/// };
/// let fitted = RobustFit::default()
///     .tau(Some(10.0))
///     .tol(1e-6)
///     .run(rows, vec![0, 1, 2], 3, &WallClock::start(), &mut watch)?;
/// assert!(fitted.outcome().status.is_solved() && fitted.gap() <= 1e-6);
/// assert!(fitted.primal() < 0.5 && fitted.nuclear_norm() <= 10.0 + 1e-9);
/// assert_eq!(fitted.weights().len(), 3 * 2);
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RobustFit {
    /// The factor `s` of the losses.
    pub scaling: Scaling,
    /// The norm of the ball that the weights lie in.
    pub ball: Ball,
    /// The radius of the ball; [`auto_tau`] times [`tau_times`](Self::tau_times) where none is given.
    pub tau: Option<f64>,
    /// The radius over the one that is chosen from the data, where none is given.
    pub tau_times: f64,
    /// The loss of a row.
    pub loss: LossChoice,
    /// The set from which the adversary takes the weights of the rows.
    pub uncertainty: UncertaintyChoice,
    /// The group of each row, for the uncertainty sets that need it.
    pub groups: Option<Vec<u32>>,
    /// The level of the uncertainty set; its own default if none is given.
    pub level: Option<f64>,
    /// What each row weighs; all the same if there are no weights. Rows of weight zero are left out, and whole numbers count
    /// their rows so often.
    pub weights: Option<Vec<f64>>,
    /// What the rows of each class weigh, on top of that.
    pub class_weight: ClassWeight,
    /// Whether to append an intercept: a feature that has the same value in every row. The value is that of
    /// [`heaviest_feature`], the largest root mean square of a feature (1 if all rows are zero).
    pub intercept: bool,
    /// The method and its settings.
    pub method: Method,
    /// Where to start.
    pub start: Start,
    /// Stop when gap/s is at most this: it is in units of the loss, whatever the scaling.
    pub tol: f64,
    /// Stop after this many seconds of the method's own work (looks at certificates not counted).
    pub max_seconds: Option<f64>,
    /// Stop when more memory than this is taken, with the best point so far.
    pub max_memory: Option<MemoryLimit>,
    /// Stop after this many full gradients in `X` of the method's own.
    pub max_grads: Option<u64>,
    /// Stop after this many iterations.
    pub max_iters: Option<u64>,
    /// The seed of methods that sample.
    pub seed: u64,
    /// Stop when this is raised, with the best point so far.
    pub cancel: Option<Cancel>,
    /// Checkpoints to keep, and one to go on from.
    pub checkpoints: Checkpoints,
    /// Whether to keep every record of the trace, however long it gets.
    pub whole_trace: bool,
}

impl Default for RobustFit {
    /// Certified MPCGS on the dro scaling with the chi-square penalty, to [`DEFAULT_TOL`], at most 10,000 iterations.
    fn default() -> Self {
        RobustFit {
            scaling: Scaling::Dro,
            ball: Ball::Nuclear,
            tau: None,
            tau_times: 1.0,
            loss: LossChoice::default(),
            uncertainty: UncertaintyChoice::default(),
            groups: None,
            level: None,
            weights: None,
            class_weight: ClassWeight::None,
            intercept: false,
            method: Method::certified(),
            start: Start::Uniform,
            tol: DEFAULT_TOL,
            max_seconds: None,
            max_memory: None,
            max_grads: None,
            max_iters: Some(10_000),
            seed: 0,
            cancel: None,
            checkpoints: Checkpoints::default(),
            whole_trace: false,
        }
    }
}

impl RobustFit {
    /// The fit with this scaling.
    #[must_use]
    pub fn scaling(mut self, scaling: Scaling) -> Self {
        self.scaling = scaling;
        self
    }

    /// The fit with this ball.
    #[must_use]
    pub fn ball(mut self, ball: Ball) -> Self {
        self.ball = ball;
        self
    }

    /// The fit with this multiple of the radius that is chosen from the data.
    #[must_use]
    pub fn tau_times(mut self, factor: f64) -> Self {
        self.tau_times = factor;
        self
    }

    /// The fit with this radius, or a radius chosen from the data.
    #[must_use]
    pub fn tau(mut self, tau: Option<f64>) -> Self {
        self.tau = tau;
        self
    }

    /// The fit with this loss.
    #[must_use]
    pub fn loss(mut self, loss: LossChoice) -> Self {
        self.loss = loss;
        self
    }

    /// The fit with this uncertainty set.
    #[must_use]
    pub fn uncertainty(mut self, uncertainty: UncertaintyChoice) -> Self {
        self.uncertainty = uncertainty;
        self
    }

    /// The fit with these groups of rows, numbered from 0.
    #[must_use]
    pub fn groups(mut self, groups: Option<Vec<u32>>) -> Self {
        self.groups = groups;
        self
    }

    /// The fit with this level, or with the default of its uncertainty set.
    #[must_use]
    pub fn level(mut self, level: impl Into<Option<f64>>) -> Self {
        self.level = level.into();
        self
    }

    /// The fit with these weights of the rows.
    #[must_use]
    pub fn weights(mut self, weights: Option<Vec<f64>>) -> Self {
        self.weights = weights;
        self
    }

    /// The fit with these weights of the classes.
    #[must_use]
    pub fn class_weight(mut self, class_weight: ClassWeight) -> Self {
        self.class_weight = class_weight;
        self
    }

    /// The level in use: the one given, or the default of the uncertainty set.
    #[must_use]
    pub fn level_in_use(&self) -> f64 {
        self.level.unwrap_or_else(|| self.uncertainty.level().default)
    }

    /// The fit with or without an intercept.
    #[must_use]
    pub fn intercept(mut self, intercept: bool) -> Self {
        self.intercept = intercept;
        self
    }

    /// The fit with this method.
    #[must_use]
    pub fn method(mut self, method: impl Into<Method>) -> Self {
        self.method = method.into();
        self
    }

    /// The fit from this start.
    #[must_use]
    pub fn start(mut self, start: Start) -> Self {
        self.start = start;
        self
    }

    /// The fit to this tolerance on gap/s.
    #[must_use]
    pub fn tol(mut self, tol: f64) -> Self {
        self.tol = tol;
        self
    }

    /// The fit within these seconds.
    #[must_use]
    pub fn max_seconds(mut self, seconds: Option<f64>) -> Self {
        self.max_seconds = seconds;
        self
    }

    /// The fit within this much memory: [`memory`](Self::memory) estimates it beforehand, this ends a fit that takes more.
    #[must_use]
    pub fn max_memory(mut self, limit: Option<MemoryLimit>) -> Self {
        self.max_memory = limit;
        self
    }

    /// The fit within this many full gradients.
    #[must_use]
    pub fn max_grads(mut self, grads: Option<u64>) -> Self {
        self.max_grads = grads;
        self
    }

    /// The fit within this many iterations.
    #[must_use]
    pub fn max_iters(mut self, iterations: Option<u64>) -> Self {
        self.max_iters = iterations;
        self
    }

    /// The fit with this seed.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The fit that ends when this is raised.
    #[must_use]
    pub fn cancel(mut self, cancel: Option<Cancel>) -> Self {
        self.cancel = cancel;
        self
    }

    /// The fit with these checkpoints. One can go on from a checkpoint with another tolerance and other limits; data
    /// and all other settings must be the same.
    #[must_use]
    pub fn checkpoints(mut self, checkpoints: Checkpoints) -> Self {
        self.checkpoints = checkpoints;
        self
    }

    /// The fit that keeps every record of its trace, in place of at most
    /// [`TRACE_RECORDS`](crate::run::TRACE_RECORDS) at even intervals.
    #[must_use]
    pub fn whole_trace(mut self, whole: bool) -> Self {
        self.whole_trace = whole;
        self
    }

    /// The same fit for the rows at these places alone: with their weights and their groups.
    #[must_use]
    pub fn of_rows(&self, places: &[usize]) -> Self {
        let mut fit = self.clone();
        let of_places = |all: &Vec<f64>| places.iter().map(|&i| all[i]).collect();
        fit.weights = self.weights.as_ref().map(of_places);
        let groups =
            |all: &Vec<u32>| renumbered(&places.iter().map(|&i| all[i]).collect::<Vec<u32>>());
        fit.groups = self.groups.as_ref().map(groups);
        fit
    }

    /// Fails for settings that no data can save.
    ///
    /// # Errors
    /// `tau`, `level`, the tolerance or the seconds not positive and finite, a method that needs
    /// polytopes.
    pub fn check(&self) -> Result<()> {
        if let Some(tau) = self.tau {
            check_positive("tau", tau)?;
        }
        check_positive("the multiple of the radius", self.tau_times)?;
        self.uncertainty.check_level(self.level_in_use())?;
        if self.scaling == Scaling::Paper && self.uncertainty != UncertaintyChoice::default() {
            let why = format!(
                "`paper` is the scaling of the chi-square penalty alone, and the uncertainty set is `{}`; use `dro`",
                self.uncertainty
            );
            return Err(Error::Setting { name: "objective", why });
        }
        check_positive("the tolerance", self.tol)?;
        if let Some(seconds) = self.max_seconds {
            check_positive("the time limit", seconds)?;
        }
        if self.method.needs(Need::Polytopes) {
            let why = format!(
                "`{}` needs polytopes and the nuclear-norm ball is none; use `spfw` or `certified`",
                self.method
            );
            return Err(Error::Setting { name: "method", why });
        }
        if self.method.needs(Need::Bilinear) {
            let why = format!(
                "`{}` needs a bilinear function and a loss is none; use `certified`",
                self.method
            );
            return Err(Error::Setting { name: "method", why });
        }
        self.method.check()
    }

    /// Fits `classes` classes to rows with labels numbered from 0.
    ///
    /// # Errors
    /// As [`check`](Self::check), [`auto_tau`] and [`RobustMulticlass::new`], and what the method
    /// reports.
    pub fn run(
        &self,
        rows: SparseMatrix,
        labels: Vec<u32>,
        classes: usize,
        clock: &dyn Clock,
        observer: &mut dyn Observer,
    ) -> Result<Fitted> {
        let began = clock.seconds();
        let model = self.model(rows, labels, classes)?;
        let mut fitted = self.run_on(model, Warm::default(), clock, observer)?;
        fitted.set_seconds(clock.seconds() - began);
        Ok(fitted)
    }

    /// The problem that [`run`](Self::run) solves.
    ///
    /// # Errors
    /// As [`check`](Self::check), [`auto_tau`] and [`RobustMulticlass::compose`]; an uncertainty set on groups without groups.
    pub fn model(
        &self,
        rows: SparseMatrix,
        labels: Vec<u32>,
        classes: usize,
    ) -> Result<RobustMulticlass> {
        self.check()?;
        check_len("labels", rows.rows(), labels.len())?;
        if let Some(groups) = &self.groups {
            check_len("groups", rows.rows(), groups.len())?;
        }
        let nominal = self.nominal(&labels, classes)?;
        let loss = self.loss.loss();
        self.compose(loss, rows, labels, classes, nominal, true)
    }

    /// The problem of rows that have `width` targets each, row after row, with this loss of residuals; the loss of the
    /// settings and the weights of classes do not count. [`run_on`](Self::run_on) solves it.
    ///
    /// ```
    /// use couloir::linalg::SparseMatrix;
    /// use couloir::model::loss::Squared;
    /// use couloir::model::{RobustFit, Warm};
    /// use couloir::run::{Algorithm, Flow, NoClock, TracePoint};
    /// use std::sync::Arc;
    ///
    /// // y = 2 x
    /// let rows = SparseMatrix::from_rows(1, vec![0, 1, 2, 3], vec![0; 3], vec![1.0, 2.0, 3.0])?;
    /// let fit = RobustFit::default().tau(Some(10.0)).tol(1e-8);
    /// let model = fit.model_of_targets(rows, vec![2.0, 4.0, 6.0], 1, Arc::new(Squared))?;
    /// let mut nobody = |_: &TracePoint, _: &dyn Algorithm| Flow::Continue;
    /// let fitted = fit.run_on(model, Warm::default(), &NoClock, &mut nobody)?;
    /// assert!((fitted.weights()[0] - 2.0).abs() < 1e-3);
    /// # Ok::<(), couloir::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`check`](Self::check), [`auto_tau`] and [`TargetLoss::new`]; targets for another number of rows.
    pub fn model_of_targets(
        &self,
        rows: SparseMatrix,
        targets: Vec<f64>,
        width: usize,
        loss: Arc<dyn ResidualLoss>,
    ) -> Result<RobustMulticlass> {
        self.check()?;
        check_len("targets", rows.rows() * width, targets.len())?;
        if let Some(groups) = &self.groups {
            check_len("groups", rows.rows(), groups.len())?;
        }
        let numbers: Vec<u32> = (0..rows.rows() as u32).collect();
        let zeros = vec![0; numbers.len()];
        let weights = ClassWeight::None.of_rows(&zeros, 1, self.weights.as_deref())?;
        let nominal = Nominal::new(weights.as_deref());
        let loss = Arc::new(TargetLoss::new(loss, targets, width)?);
        self.compose(loss, rows, numbers, width, nominal, false)
    }

    /// The problem with this loss of `h` scores and the labels by which it knows the rows.
    fn compose(
        &self,
        loss: Arc<dyn ScoreLoss>,
        rows: SparseMatrix,
        labels: Vec<u32>,
        h: usize,
        nominal: Nominal,
        are_classes: bool,
    ) -> Result<RobustMulticlass> {
        let data_rows = rows.rows();
        let rows = match &nominal.kept {
            None => rows,
            Some(kept) => rows.select(kept),
        };
        let labels = nominal.keep(labels);
        let groups = self.groups.as_deref().map(|groups| nominal.keep_groups(groups));
        let weights = self.weights.clone().map(|weights| nominal.keep(weights));
        let tau = match self.tau {
            Some(tau) => tau,
            None => self.tau_times * auto_tau(&rows, h, weights.as_deref(), self.ball)?,
        };
        let intercept = self.intercept.then(|| heaviest_feature(&rows, weights.as_deref()));
        let settings = RobustSettings::default()
            .scaling(self.scaling)
            .level(self.level_in_use())
            .ball(self.ball)
            .tau(tau)
            .intercept(intercept);
        let data = RowData::new(rows.rows())
            .weights(nominal.weights.as_deref())
            .groups(groups.as_deref())
            .labels(are_classes.then_some(&labels));
        let uncertainty = self.uncertainty.set(&data, self.level_in_use())?;
        let model = RobustMulticlass::compose(loss, uncertainty, rows, labels, h, settings)?;
        let model = match nominal.weights {
            None => model,
            Some(weights) => model.with_nominal(weights),
        };
        Ok(match nominal.kept {
            None => model,
            Some(kept) => model.with_places(kept, data_rows),
        })
    }

    /// What these settings make of rows with these labels.
    fn nominal(&self, labels: &[u32], classes: usize) -> Result<Nominal> {
        let weights = self.class_weight.of_rows(labels, classes, self.weights.as_deref())?;
        Ok(Nominal::new(weights.as_deref()))
    }

    /// Solves a problem that [`model`](Self::model) made, from a start of one's own: the radius and all that is the
    /// problem's are taken from it, the rest from the settings.
    ///
    /// # Errors
    /// As [`check`](Self::check), a start outside its set, and what the method reports.
    pub fn run_on(
        &self,
        model: RobustMulticlass,
        from: Warm,
        clock: &dyn Clock,
        observer: &mut dyn Observer,
    ) -> Result<Fitted> {
        self.check()?;
        let began = clock.seconds();
        let is_warm = from.x.is_some() || from.y.is_some();
        let x_set = model.x_domain()?;
        let mut solve = Solve::new(&model, &*x_set, model.y_set())
            .method(self.method.with_seed(self.seed))
            .rules(self.rules(&model))
            .checkpoints(self.checkpoints.clone())
            .clock(clock);
        if let Some(x) = from.x {
            solve = solve.start_x(x);
        }
        if let Some(y) = from.y {
            solve = solve.start_y(y);
        } else if self.start == Start::Vertex {
            let mut y = vec![0.0; model.y_set().dim()];
            y[0] = 1.0;
            solve = solve.start_y(y);
        } else if let Some(y) = model.uncertainty().start() {
            solve = solve.start_y(y);
        }
        let solution = solve.run_with(observer)?;
        drop(solve);
        let seconds = clock.seconds() - began;
        let singular_values = model.singular_values(&solution.x)?;
        Ok(Fitted::new(self.clone(), model, solution, is_warm, seconds, singular_values))
    }

    fn rules(&self, model: &RobustMulticlass) -> StopRules {
        let mut rules = StopRules {
            gap: Some(self.tol * model.scale()),
            relative_gap: None,
            seconds: self.max_seconds,
            memory: self.max_memory.clone(),
            iterations: self.max_iters,
            cancel: self.cancel.clone(),
            ..StopRules::default()
        };
        rules.limits.extend(self.max_grads.map(|grads| (Counter::GradX, grads)));
        if self.whole_trace {
            rules.trace_records = None;
        }
        rules.evaluate_every = self.method.iterations_per_pass(model.len() as u64);
        rules
    }
}
