//! The one record of a fit: what `--json` prints, pages show and Python receives.

use super::Fitted;
use crate::model::ClassWeight;
use crate::run::{RunRecord, number};
use serde::{Deserialize, Serialize};

/// What a fit has to tell. Numbers of the objective are over `s`, so in units of the loss.
///
/// The large arrays are not in it: weights, row weights and singular values are those of [`Fitted`], and each point of the
/// trace is a [`TraceRecord`](crate::run::TraceRecord).
///
/// ```
/// # use couloir::linalg::SparseMatrix;
/// use couloir::model::{FitRecord, RobustFit};
/// # use couloir::run::{Algorithm, Flow, TracePoint, WallClock};
/// # let rows = SparseMatrix::from_rows(2, vec![0, 1, 2], vec![0, 1], vec![1.0, 1.0])?;
/// # let mut watch = |_: &TracePoint, _: &dyn Algorithm| Flow::Continue;
/// let fitted = RobustFit::default().run(rows, vec![0, 1], 2, &WallClock::start(), &mut watch)?;
/// let record = fitted.record("two rows", 2);
/// assert!(record.run.solved && record.primal - record.run.lower <= record.run.gap);
/// let text = serde_json::to_string(&record).expect("JSON");
/// assert_eq!(serde_json::from_str::<FitRecord>(&text).expect("a record"), record);
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FitRecord {
    /// The name of the data.
    pub data: String,
    /// Rows.
    pub n: usize,
    /// Features of the data, an intercept not among them.
    pub d: usize,
    /// Classes.
    pub classes: usize,
    /// Entries of the data.
    pub entries: usize,
    /// The scaling of the objective.
    pub objective: String,
    /// The norm of the ball that the weights lie in.
    #[serde(default)]
    pub ball: String,
    /// The loss of a row.
    #[serde(default)]
    pub loss: String,
    /// The radius of the ball.
    pub tau: f64,
    /// Whether it was chosen from the data.
    pub tau_chosen: bool,
    /// The uncertainty set.
    pub uncertainty: String,
    /// Its level.
    pub level: f64,
    /// Whether rows or classes have weights of their own.
    pub weighted: bool,
    /// Whether every class has a constant.
    pub intercept: bool,
    /// How columns were scaled, `centred` or `divided`; none if they were left as they are.
    #[serde(default)]
    pub scale: Option<String>,
    /// The method.
    pub method: String,
    /// Where the fit started: `uniform`, `vertex`, or `warm` where it was given a point.
    pub start: String,
    /// The certified gap that was asked for.
    pub tol: f64,
    /// The seed of methods that sample.
    pub seed: u64,
    /// Threads of the pool that the record was made in.
    pub threads: usize,
    /// How the run ended: certificate and work.
    #[serde(flatten)]
    pub run: RunRecord,
    /// `f(X, y)` at the pair returned.
    #[serde(deserialize_with = "number")]
    pub value: f64,
    /// The robust loss, `max_y f(X, y)`.
    #[serde(deserialize_with = "number")]
    pub primal: f64,
    /// Seconds from the rows to the solution: building the problem, the method's work and all certificates.
    pub seconds: f64,
    /// The rank of `X`.
    pub rank: usize,
    /// `|X|_*`.
    pub nuclear_norm: f64,
    /// The file of the model, where one was written.
    pub model: Option<String>,
}

impl Fitted {
    /// The record of this fit to data of this name and with so many entries.
    #[must_use]
    pub fn record(&self, data: &str, entries: usize) -> FitRecord {
        let (fit, model) = (self.fit(), self.model());
        FitRecord {
            data: data.to_owned(),
            n: model.len(),
            d: model.features() - usize::from(fit.intercept),
            classes: model.classes(),
            entries,
            objective: fit.scaling.to_string(),
            ball: fit.ball.to_string(),
            loss: model.loss().name().to_owned(),
            tau: self.tau(),
            tau_chosen: fit.tau.is_none(),
            uncertainty: fit.uncertainty.name().to_owned(),
            level: fit.level_in_use(),
            weighted: fit.weights.is_some() || fit.class_weight != ClassWeight::None,
            intercept: fit.intercept,
            scale: None,
            method: fit.method.name().to_owned(),
            start: if self.is_warm() { "warm".to_owned() } else { fit.start.to_string() },
            tol: fit.tol,
            seed: fit.seed,
            threads: rayon::current_num_threads(),
            run: RunRecord::new(self.outcome(), model.scale()),
            value: self.value(),
            primal: self.primal(),
            seconds: self.seconds(),
            rank: self.rank(),
            nuclear_norm: self.nuclear_norm(),
            model: None,
        }
    }
}
