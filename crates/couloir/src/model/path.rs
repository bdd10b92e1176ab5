//! Fits along growing radii, each from the solution before it, and the choice among them by rows held back.

use super::fit::Warm;
use super::{Measures, RobustFit};
use crate::error::{Error, Result, check_positive};
use crate::linalg::SparseMatrix;
use crate::random::Streams;
use crate::run::{Checkpoints, Clock, Observer, Status};

/// Rows and their labels, numbered from 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Labelled {
    /// The rows.
    pub rows: SparseMatrix,
    /// The class of each.
    pub labels: Vec<u32>,
}

/// What the chosen radius is best in, on the rows held back. Ties go to the smaller radius.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Criterion {
    /// The largest accuracy.
    #[default]
    Accuracy,
    /// The largest recall of the worst class.
    WorstRecall,
    /// The smallest mean of the largest tenth of the losses.
    Cvar,
    /// The smallest mean loss.
    MeanLoss,
}

impl Criterion {
    /// The larger, the better.
    fn merit(self, measures: &Measures) -> f64 {
        match self {
            Criterion::Accuracy => measures.accuracy,
            Criterion::WorstRecall => measures.worst_recall,
            Criterion::Cvar => -measures.cvar,
            Criterion::MeanLoss => -measures.mean_loss,
        }
    }
}

impl std::fmt::Display for Criterion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Criterion::Accuracy => "accuracy",
            Criterion::WorstRecall => "worst-recall",
            Criterion::Cvar => "cvar",
            Criterion::MeanLoss => "loss",
        })
    }
}

/// `points` numbers around `centre`, each `ratio` times the one before: `centre ratio^(k - (points - 1)/2)`.
///
/// ```
/// use couloir::model::geometric_grid;
/// assert_eq!(geometric_grid(100.0, 3, 2.0)?, [50.0, 100.0, 200.0]);
/// # Ok::<(), couloir::Error>(())
/// ```
///
/// # Errors
/// No points, a centre that is not positive, a ratio of 1 or less, numbers out of range.
pub fn geometric_grid(centre: f64, points: usize, ratio: f64) -> Result<Vec<f64>> {
    check_positive("the centre of a grid", centre)?;
    if points == 0 {
        let why = "at least one is needed".to_owned();
        return Err(Error::Setting { name: "points", why });
    }
    if !(ratio > 1.0 && ratio.is_finite()) {
        let why = format!("each point must be larger than the one before, got {ratio}");
        return Err(Error::Setting { name: "ratio", why });
    }
    let middle = 0.5 * (points - 1) as f64;
    let grid: Vec<f64> = (0..points).map(|k| centre * ratio.powf(k as f64 - middle)).collect();
    for &point in &grid {
        check_positive("a point of the grid", point)?;
    }
    Ok(grid)
}

/// Splits rows into those to train on and a `share` to hold back, drawn by the seed within every class; both in
/// their order. Of every class that has rows one stays to train on; a class of few rows may have none held
/// back, but over all classes together the share is kept.
///
/// # Errors
/// A share that is not between 0 and 1, or no rows held back.
pub fn stratified_split(labels: &[u32], share: f64, seed: u64) -> Result<(Vec<usize>, Vec<usize>)> {
    let bad = |why: String| Err(Error::Setting { name: "validation", why });
    if !(share > 0.0 && share < 1.0) {
        return bad(format!("the share of rows must be between 0 and 1, got {share}"));
    }
    let mut order: Vec<usize> = (0..labels.len()).collect();
    order.sort_by_key(|&i| labels[i]);
    let mut draw = Streams::new(seed).stream("split");
    let mut back = vec![false; labels.len()];
    let (mut seen, mut taken) = (0, 0);
    for class in order.chunk_by_mut(|&i, &j| labels[i] == labels[j]) {
        seen += class.len();
        // what rounding took from the classes before comes out of this one
        let due = (share * seen as f64).round() as usize;
        let count = due.saturating_sub(taken).min(class.len() - 1);
        for k in 0..count {
            let other = k + draw.below((class.len() - k) as u64) as usize;
            class.swap(k, other);
            back[class[k]] = true;
        }
        taken += count;
    }
    if taken == 0 {
        return bad(format!(
            "{share} of {} rows are none; give more rows or a larger share",
            labels.len()
        ));
    }
    Ok((0..labels.len()).partition(|&i| !back[i]))
}

/// One radius of a path.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PathStep {
    /// The radius.
    pub tau: f64,
    /// How the fit ended.
    pub status: Status,
    /// Its gap over `s`.
    pub gap: f64,
    /// Its iterations.
    pub iterations: u64,
    /// Its full gradients in `X`, without those for certificates.
    pub grads: u64,
    /// Its time.
    pub seconds: f64,
    /// The rank of its solution.
    pub rank: usize,
    /// How good it is on the rows held back.
    pub measures: Measures,
}

/// A path and what was chosen.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TauPath {
    /// What happened at each radius.
    pub steps: Vec<PathStep>,
    /// The place of the chosen one.
    pub chosen: usize,
}

impl TauPath {
    /// The radius chosen.
    #[must_use]
    pub fn tau(&self) -> f64 {
        self.steps[self.chosen].tau
    }
}

/// A path of fits over growing radii.
///
/// ```
/// use couloir::linalg::SparseMatrix;
/// use couloir::model::{Labelled, RobustFit, RobustPath};
/// use couloir::run::{Algorithm, Flow, NoClock, TracePoint};
///
/// let rows = SparseMatrix::from_rows(2, vec![0, 1, 2, 3, 4], vec![0, 1, 0, 1], vec![1.0; 4])?;
/// let data = Labelled { rows, labels: vec![0, 1, 0, 1] };
/// let path = RobustPath::new(RobustFit::default(), vec![1.0, 10.0, 100.0]);
/// let mut nobody = |_: &TracePoint, _: &dyn Algorithm| Flow::Continue;
/// let path = path.run(data.clone(), &data, 2, &NoClock, &mut nobody)?;
/// assert_eq!((path.steps.len(), path.steps[path.chosen].measures.accuracy), (3, 1.0));
/// assert_eq!(path.tau(), 1.0); // all are right everywhere, so the smallest
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RobustPath {
    /// The fit at every radius; its own radius does not count.
    pub fit: RobustFit,
    /// The radii, increasing.
    pub taus: Vec<f64>,
    /// What the choice goes by.
    pub by: Criterion,
}

impl RobustPath {
    /// The path over these radii, chosen by accuracy.
    #[must_use]
    pub fn new(fit: RobustFit, taus: Vec<f64>) -> Self {
        RobustPath { fit, taus, by: Criterion::default() }
    }

    /// The path with this choice.
    #[must_use]
    pub fn by(mut self, by: Criterion) -> Self {
        self.by = by;
        self
    }

    /// Fits with every radius on the rows `train` and measures on `held_back`. Each fit starts from the solution
    /// before it, which lies in every larger ball. The observer hears of all of them. A path that is cancelled ends with
    /// the radius under way.
    ///
    /// # Errors
    /// Radii that do not increase, and as [`RobustFit::run`] and [`Classifier::measures`](super::Classifier::measures).
    pub fn run(
        &self,
        train: Labelled,
        held_back: &Labelled,
        classes: usize,
        clock: &dyn Clock,
        observer: &mut dyn Observer,
    ) -> Result<TauPath> {
        let Some(&first) = self.taus.first().filter(|_| self.taus.is_sorted_by(|a, b| a < b))
        else {
            let why = "the radii of a path must increase, and there must be one".to_owned();
            return Err(Error::Setting { name: "taus", why });
        };
        let names: Vec<String> = (0..classes).map(|j| j.to_string()).collect();
        // one file cannot hold the states of several fits
        let fit = self.fit.clone().tau(Some(first)).checkpoints(Checkpoints::default());
        let mut model = fit.model(train.rows, train.labels, classes)?;
        let mut warm = Warm::default();
        let mut steps: Vec<PathStep> = Vec::new();
        let mut chosen = 0;
        for &tau in &self.taus {
            model = model.with_tau(tau)?;
            let fitted = fit.clone().tau(Some(tau)).run_on(model, warm, clock, observer)?;
            let classifier = fitted.classifier(names.clone())?;
            let measures = classifier.measures(&held_back.rows, &held_back.labels)?;
            let step = PathStep {
                tau,
                status: fitted.outcome().status,
                gap: fitted.gap(),
                iterations: fitted.outcome().iterations,
                grads: fitted.grads(),
                seconds: fitted.seconds(),
                rank: fitted.rank(),
                measures,
            };
            let best = steps.get(chosen).map(|best| self.by.merit(&best.measures));
            if best.is_none_or(|best| self.by.merit(&step.measures) > best) {
                chosen = steps.len();
            }
            let cancelled = step.status == Status::Cancelled;
            steps.push(step);
            if cancelled {
                break;
            }
            let solution;
            (model, solution) = fitted.into_parts();
            warm = Warm { x: Some(solution.x), y: Some(solution.y) };
        }
        Ok(TauPath { steps, chosen })
    }
}
