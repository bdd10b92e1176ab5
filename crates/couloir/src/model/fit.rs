//! Robust multiclass classification from rows and labels to a certified point: what `couloir fit` runs.

use super::{Classifier, RobustMulticlass, RobustSettings, Scaling};
use crate::error::{Error, Result, check_positive};
use crate::linalg::{SparseMatrix, norm};
use crate::problem::{Counter, SaddleProblem, Seen};
use crate::run::{Cancel, Checkpoints, Clock, MemoryLimit, Observer, Outcome, StopRules};
use crate::solver::{Inner, Method, Solution, Solve};
use std::collections::BTreeMap;

/// The tolerance on gap/s unless another is set: the loosest of those tried at which the accuracy on test
/// rows is within 0.2 points of that at 1e-3 on news20 and rcv1sub (docs/benchmarks.md has the table).
pub const DEFAULT_TOL: f64 = 1e-1;

/// Singular values of `X` below this share of the largest do not count towards its rank.
const RANK_SHARE: f64 = 1e-6;

/// Where a fit starts; `X = 0` in all cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Start {
    /// `y = (1/n, ..., 1/n)`.
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

/// The mean length of a row, `1/n sum_i |a_i|`.
#[must_use]
pub fn mean_row_norm(rows: &SparseMatrix) -> f64 {
    let sum: f64 = (0..rows.rows()).map(|i| norm(rows.row(i).1)).sum();
    sum / rows.rows().max(1) as f64
}

/// The root mean square of the feature for which it is largest; 1 where all are zero. It is the value of the
/// intercept's feature, which then bends f no more than the heaviest of the others does and still costs little
/// of the ball.
#[must_use]
pub fn heaviest_feature(rows: &SparseMatrix) -> f64 {
    let mut squares = vec![0.0; rows.columns()];
    for i in 0..rows.rows() {
        let (indices, values) = rows.row(i);
        for (&j, v) in indices.iter().zip(values) {
            squares[j as usize] += v * v;
        }
    }
    let heaviest = squares.into_iter().fold(0.0, f64::max);
    if heaviest > 0.0 { (heaviest / rows.rows() as f64).sqrt() } else { 1.0 }
}

/// The radius of the nuclear-norm ball where none is given: `sqrt(n h)` over the mean length of a row.
///
/// Scores `X a_i` of order 1 for each of `n` rows and `h` classes make an `n x h` matrix of Frobenius norm
/// `sqrt(n h)`, and the row length takes out the units of the data.
///
/// # Errors
/// Rows that are all zero, so that no radius is better than another.
pub fn auto_tau(rows: &SparseMatrix, classes: usize) -> Result<f64> {
    let mean = mean_row_norm(rows);
    let tau = (rows.rows() as f64 * classes as f64).sqrt() / mean;
    if tau.is_finite() && tau > 0.0 {
        return Ok(tau);
    }
    let why = format!("none can be chosen: the mean length of a row is {mean}");
    Err(Error::Setting { name: "tau", why })
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
    /// The radius of the nuclear-norm ball; [`auto_tau`] where none is given.
    pub tau: Option<f64>,
    /// `lambda n`.
    pub lambda_n: f64,
    /// Whether to append a feature that is the same in every row. Its value is the mean length of a row
    /// (1 where all rows are zero), so that it weighs as much as a whole row.
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
}

impl Default for RobustFit {
    /// Certified MPCGS on the dro scaling with `lambda n = 1`, to [`DEFAULT_TOL`], at most 10,000 iterations.
    fn default() -> Self {
        RobustFit {
            scaling: Scaling::Dro,
            tau: None,
            lambda_n: 1.0,
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

    /// The fit with this radius, or a radius chosen from the data.
    #[must_use]
    pub fn tau(mut self, tau: Option<f64>) -> Self {
        self.tau = tau;
        self
    }

    /// The fit with this `lambda n`.
    #[must_use]
    pub fn lambda_n(mut self, lambda_n: f64) -> Self {
        self.lambda_n = lambda_n;
        self
    }

    /// The fit with or without an intercept.
    #[must_use]
    pub fn intercept(mut self, intercept: bool) -> Self {
        self.intercept = intercept;
        self
    }

    /// The fit with this method.
    #[must_use]
    pub fn method(mut self, method: Method) -> Self {
        self.method = method;
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

    /// Fails for settings that no data can save.
    ///
    /// # Errors
    /// `tau`, `lambda_n`, the tolerance or the seconds not positive and finite, a method that needs
    /// polytopes.
    pub fn check(&self) -> Result<()> {
        if let Some(tau) = self.tau {
            check_positive("tau", tau)?;
        }
        check_positive("lambda n", self.lambda_n)?;
        check_positive("the tolerance", self.tol)?;
        if let Some(seconds) = self.max_seconds {
            check_positive("the time limit", seconds)?;
        }
        if matches!(self.method, Method::SpAfw(_)) {
            let why = "`spafw` needs polytopes and the nuclear-norm ball is none; use `spfw` or `certified`";
            return Err(Error::Setting { name: "method", why: why.to_owned() });
        }
        Ok(())
    }

    /// About how many bytes a fit of this size takes at its peak, the data included: an upper estimate,
    /// so that a fit can be refused before anything is allocated.
    #[must_use]
    pub fn memory(&self, rows: usize, features: usize, classes: usize, entries: usize) -> u64 {
        let big = |v: usize| v as u128;
        let (n, h) = (big(rows), big(classes));
        let intercept = u128::from(self.intercept);
        let (d, entries) = (big(features) + intercept, big(entries) + n * intercept);
        let (points, images) = self.vectors();
        // by rows and by columns, a number and a place for each entry; both twice where they are copied
        let copied = matches!(self.method, Method::Mpscgs(_));
        // a column more may move the numbers of one order
        let moved = if self.intercept { 8 } else { 0 };
        // frequent columns once more by tiles, where there are many
        let tiled = if 8 * n * h >= 4 << 20 { if copied { 28 } else { 14 } } else { 0 };
        let sparse = entries * (if copied { 52 } else { 32 } + moved + tiled) + 16 * (n + d);
        // the products of columns of three entries or fewer, of nine each
        let exact = matches!(&self.method, Method::Certified(s) if s.inner_x != Inner::Slide);
        let rare = if exact { 36 * entries.min(3 * d) + 16 * n } else { 0 };
        // Gram matrices of the smaller side, where it is small
        let side = h.min(d).min(512);
        let small = 8 * (24 * n + 8 * side * side + 8 * d);
        let bytes = 8 * (points * h * d + images * n * h) + sparse + rare + small;
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// Vectors of `h d` and of `n h` numbers that the method keeps, with what its oracles need.
    fn vectors(&self) -> (u128, u128) {
        match &self.method {
            Method::Certified(settings) => {
                let history = settings.hull_points.saturating_sub(3) as u128;
                // exact steps keep points by weights as long as images, until rounding makes them form all vectors
                let points = if settings.inner_x == Inner::Slide { 14 } else { 19 };
                (points + history, 21 + 2 * history)
            }
            Method::Mpscgs(_) => (29, 26),
            _ => (13, 12),
        }
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
        fitted.seconds = clock.seconds() - began;
        Ok(fitted)
    }

    /// The problem that [`run`](Self::run) solves.
    ///
    /// # Errors
    /// As [`check`](Self::check), [`auto_tau`] and [`RobustMulticlass::new`].
    pub fn model(
        &self,
        rows: SparseMatrix,
        labels: Vec<u32>,
        classes: usize,
    ) -> Result<RobustMulticlass> {
        self.check()?;
        let tau = match self.tau {
            Some(tau) => tau,
            None => auto_tau(&rows, classes)?,
        };
        let intercept = self.intercept.then(|| heaviest_feature(&rows));
        let settings = RobustSettings::default()
            .scaling(self.scaling)
            .lambda_n(self.lambda_n)
            .tau(tau)
            .intercept(intercept);
        RobustMulticlass::new(rows, labels, classes, settings)
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
        let x_set = model.x_set()?;
        let mut solve = Solve::new(&model, &x_set, model.y_set())
            .method(self.method.clone().with_seed(self.seed))
            .rules(self.rules(&model))
            .checkpoints(self.checkpoints.clone());
        if let Some(x) = from.x {
            solve = solve.start_x(x);
        }
        if let Some(y) = from.y {
            solve = solve.start_y(y);
        } else if self.start == Start::Vertex {
            let mut y = vec![0.0; model.len()];
            y[0] = 1.0;
            solve = solve.start_y(y);
        }
        let solution = solve.run_with(clock, observer)?;
        drop(solve);
        let seconds = clock.seconds() - began;
        let (value, primal) = values_at(&model, &solution);
        let singular_values = x_set.singular_values(&solution.x)?;
        Ok(Fitted { fit: self.clone(), model, solution, seconds, value, primal, singular_values })
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
        if let Method::Svre(settings) = &self.method {
            // an iteration is one batch, and a certificate costs as much as an epoch
            rules.evaluate_every = (model.len() as u64).div_ceil(settings.batch.max(1));
        }
        rules
    }
}

/// `f` at the solution, and `max_y f(X, y)`, both over `s`.
fn values_at(model: &RobustMulticlass, solution: &Solution) -> (f64, f64) {
    let (mut image, mut cache) = (vec![0.0; model.image_dim()], vec![0.0; model.cache_dim()]);
    model.image(&solution.x, &mut image);
    model.prepare(&image, &mut cache);
    let at = Seen { image: &image, cache: &cache };
    let value = model.value(at, &solution.y);
    let mut response = vec![0.0; model.len()];
    let missing = model.best_response(at, &mut response);
    let primal = model.value(at, &response) + missing;
    (value / model.scale(), primal.max(value) / model.scale())
}

/// What comes out of a fit. Numbers of the objective are over `s`, so in units of the loss.
#[derive(Debug)]
pub struct Fitted {
    fit: RobustFit,
    model: RobustMulticlass,
    solution: Solution,
    seconds: f64,
    value: f64,
    primal: f64,
    singular_values: Vec<f64>,
}

impl Fitted {
    /// The settings of the fit.
    #[must_use]
    pub fn fit(&self) -> &RobustFit {
        &self.fit
    }

    /// The problem that was solved.
    #[must_use]
    pub fn model(&self) -> &RobustMulticlass {
        &self.model
    }

    /// The certified pair and how the run went.
    #[must_use]
    pub fn solution(&self) -> &Solution {
        &self.solution
    }

    /// The problem and the certified pair, for the next fit.
    #[must_use]
    pub fn into_parts(self) -> (RobustMulticlass, Solution) {
        (self.model, self.solution)
    }

    /// How the run went; not over `s`.
    #[must_use]
    pub fn outcome(&self) -> &Outcome {
        &self.solution.outcome
    }

    /// The radius of the ball, given or chosen.
    #[must_use]
    pub fn tau(&self) -> f64 {
        self.model.settings().tau
    }

    /// The scores of the rows of the fit: `h` numbers for each.
    #[must_use]
    pub fn scores(&self) -> Vec<f64> {
        let mut scores = vec![0.0; self.model.image_dim()];
        self.model.image(&self.solution.x, &mut scores);
        scores
    }

    /// Seconds from the rows to the solution, by the clock of the run: building the model, the method's
    /// work and all certificates.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// `f(X, y)/s` at the pair returned.
    #[must_use]
    pub fn value(&self) -> f64 {
        self.value
    }

    /// `max_y f(X, y)/s`, from the exact best response: what the robust objective is at `X`.
    #[must_use]
    pub fn primal(&self) -> f64 {
        self.primal
    }

    /// The certified primal-dual gap over `s`.
    #[must_use]
    pub fn gap(&self) -> f64 {
        self.outcome().certificate.gap / self.model.scale()
    }

    /// The part of the gap that `X` may still gain.
    #[must_use]
    pub fn gap_x(&self) -> f64 {
        self.outcome().certificate.gap_x / self.model.scale()
    }

    /// The part of the gap that `y` may still gain.
    #[must_use]
    pub fn gap_y(&self) -> f64 {
        self.outcome().certificate.gap_y / self.model.scale()
    }

    /// What theory says of the last iterate, over `s`; infinite where it says nothing.
    #[must_use]
    pub fn bound(&self) -> f64 {
        let bounds = self.outcome().bounds;
        bounds.schedule.min(bounds.minorant) / self.model.scale()
    }

    /// Full gradients in `X` (products with `A^T`) of the method itself, rejected trials included.
    #[must_use]
    pub fn grads(&self) -> u64 {
        self.outcome().ledger.method.grad_x
    }

    /// Full gradients in `X` that were spent on certificates alone.
    #[must_use]
    pub fn certificate_grads(&self) -> u64 {
        self.outcome().ledger.certificate.grad_x
    }

    /// Linear minimisations over both sets, those for certificates included.
    #[must_use]
    pub fn lo_calls(&self) -> u64 {
        let ledger = &self.outcome().ledger;
        ledger.method.lo() + ledger.certificate.lo()
    }

    /// The singular values of `X`, in falling order.
    #[must_use]
    pub fn singular_values(&self) -> &[f64] {
        &self.singular_values
    }

    /// `|X|_*`.
    #[must_use]
    pub fn nuclear_norm(&self) -> f64 {
        self.singular_values.iter().sum()
    }

    /// The rank of `X`: its singular values above a millionth of the largest.
    #[must_use]
    pub fn rank(&self) -> usize {
        let least = RANK_SHARE * self.singular_values.first().copied().unwrap_or(0.0);
        self.singular_values.iter().filter(|&&s| s > least).count()
    }

    /// The weights of the features of the data, a row of them for each class.
    #[must_use]
    pub fn weights(&self) -> Vec<f64> {
        let matrix = self.model.class_major(&self.solution.x);
        match self.model.settings().intercept {
            None => matrix,
            Some(_) => {
                let d = self.model.features();
                matrix.chunks_exact(d).flat_map(|row| &row[..d - 1]).copied().collect()
            }
        }
    }

    /// What the intercept adds to the score of each class: the value of its feature times its weight.
    #[must_use]
    pub fn bias(&self) -> Option<Vec<f64>> {
        let value = self.model.settings().intercept?;
        let matrix = self.model.class_major(&self.solution.x);
        Some(
            matrix
                .chunks_exact(self.model.features())
                .map(|row| value * row[row.len() - 1])
                .collect(),
        )
    }

    /// The classifier with these labels, one for each class; its info has the settings and the certificate, nothing
    /// of the machine or the time, so that the same fit gives the same bytes.
    ///
    /// # Errors
    /// As [`Classifier::new`]: labels of another number than classes, the same, or with spaces.
    pub fn classifier(&self, labels: Vec<String>) -> Result<Classifier> {
        let features = self.model.features() - usize::from(self.fit.intercept);
        Classifier::new(labels, features, self.weights(), self.bias(), self.info())
    }

    fn info(&self) -> BTreeMap<String, String> {
        let settings = self.model.settings();
        let mut info = BTreeMap::new();
        let mut keep = |name: &str, value: &dyn std::fmt::Display| {
            info.insert(name.to_owned(), value.to_string());
        };
        keep("objective", &settings.scaling);
        keep("tau", &settings.tau);
        keep("tau_chosen", &self.fit.tau.is_none());
        keep("lambda_n", &settings.lambda_n);
        if let Some(value) = settings.intercept {
            keep("intercept", &value);
        }
        keep("method", &self.fit.method);
        keep("start", &self.fit.start);
        keep("seed", &self.fit.seed);
        keep("tol", &self.fit.tol);
        keep("rows", &self.model.len());
        keep("status", &self.outcome().status);
        keep("iterations", &self.outcome().iterations);
        keep("value", &self.value());
        keep("primal", &self.primal());
        keep("gap", &self.gap());
        keep("gap_x", &self.gap_x());
        keep("gap_y", &self.gap_y());
        keep("rank", &self.rank());
        keep("nuclear_norm", &self.nuclear_norm());
        info
    }
}
