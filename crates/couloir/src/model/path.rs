//! Fits along growing radii, each from the solution before it, and the choice among them by rows held back, once or by
//! cross-validation.

use super::fit::Warm;
use super::{ColumnScale, MeasureBy, Measures, RobustFit, ScaleRule};
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
    /// The group of each, where rows that are held back are measured by groups.
    pub groups: Option<Vec<u32>>,
}

impl Labelled {
    /// These rows and labels, without groups.
    #[must_use]
    pub fn new(rows: SparseMatrix, labels: Vec<u32>) -> Self {
        Labelled { rows, labels, groups: None }
    }

    /// The rows at these places.
    #[must_use]
    pub fn select(&self, places: &[usize]) -> Self {
        let rows: Vec<u64> = places.iter().map(|&i| i as u64).collect();
        let of_places = |all: &Vec<u32>| places.iter().map(|&i| all[i]).collect();
        Labelled {
            rows: self.rows.select(&rows),
            labels: of_places(&self.labels),
            groups: self.groups.as_ref().map(of_places),
        }
    }
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
    /// The largest mean recall of the classes.
    BalancedAccuracy,
    /// The largest accuracy on the worst group of rows; without groups, the largest accuracy.
    WorstGroup,
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
            Criterion::BalancedAccuracy => measures.balanced_accuracy,
            Criterion::WorstGroup => measures.worst_group_accuracy().unwrap_or(measures.accuracy),
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
            Criterion::BalancedAccuracy => "balanced-accuracy",
            Criterion::WorstGroup => "worst-group",
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

/// A fold for every row, from 0 on, drawn by the seed so that each fold has about the same share of every class.
///
/// # Errors
/// Fewer than two folds, or fewer rows than folds.
pub fn stratified_folds(labels: &[u32], folds: usize, seed: u64) -> Result<Vec<usize>> {
    if folds < 2 || folds > labels.len() {
        let why = format!("from 2 to the number of rows, {}, got {folds}", labels.len());
        return Err(Error::Setting { name: "folds", why });
    }
    let mut order: Vec<usize> = (0..labels.len()).collect();
    order.sort_by_key(|&i| labels[i]);
    let mut draw = Streams::new(seed).stream("folds");
    for class in order.chunk_by_mut(|&i, &j| labels[i] == labels[j]) {
        for k in (1..class.len()).rev() {
            class.swap(k, draw.below(k as u64 + 1) as usize);
        }
    }
    let mut fold = vec![0; labels.len()];
    // in turn from class to class, so that small classes do not all begin with the first fold
    order.iter().enumerate().for_each(|(k, &i)| fold[i] = k % folds);
    Ok(fold)
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
/// let data = Labelled::new(rows, vec![0, 1, 0, 1]);
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
            let by = MeasureBy::default().groups(held_back.groups.as_deref());
            let measures = classifier.measures_by(&held_back.rows, &held_back.labels, by)?;
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

/// The choice of level and radius by cross-validation: for every fold and every level a [path](RobustPath) over the radii,
/// measured on the rows of the fold.
///
/// ```
/// use couloir::linalg::SparseMatrix;
/// use couloir::model::{Labelled, RobustFit, RobustSearch};
/// use couloir::run::{Algorithm, Flow, NoClock, TracePoint};
///
/// let rows = SparseMatrix::from_rows(2, vec![0, 1, 2, 3, 4], vec![0, 1, 0, 1], vec![1.0; 4])?;
/// let data = Labelled::new(rows, vec![0, 1, 0, 1]);
/// let search = RobustSearch::new(RobustFit::default(), vec![1.0, 10.0]).folds(2);
/// let mut nobody = |_: &TracePoint, _: &dyn Algorithm| Flow::Continue;
/// let found = search.run(&data, 2, &NoClock, &mut nobody)?;
/// assert_eq!((found.steps.len(), found.best().folds.len()), (2, 2));
/// assert_eq!(found.best().tau, 1.0); // all rows are right everywhere, so the smallest
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RobustSearch {
    /// The fit; its own radius and level do not count.
    pub fit: RobustFit,
    /// The radii, increasing.
    pub taus: Vec<f64>,
    /// The levels of the uncertainty set.
    pub levels: Vec<f64>,
    /// The number of folds.
    pub folds: usize,
    /// What the choice goes by.
    pub by: Criterion,
    /// How columns are scaled, in every fold by the rows to train on alone.
    pub scale: ScaleRule,
}

/// One level and one radius of a search.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SearchStep {
    /// The level.
    pub level: f64,
    /// The radius.
    pub tau: f64,
    /// The fit of every fold.
    pub folds: Vec<PathStep>,
}

impl SearchStep {
    /// The mean of a measure over the folds.
    pub fn mean(&self, measure: impl Fn(&Measures) -> f64) -> f64 {
        let sum: f64 = self.folds.iter().map(|step| measure(&step.measures)).sum();
        sum / self.folds.len() as f64
    }
}

/// What a search found.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Found {
    /// Every level with every radius.
    pub steps: Vec<SearchStep>,
    /// The place of the chosen one.
    pub chosen: usize,
}

impl Found {
    /// The chosen one.
    #[must_use]
    pub fn best(&self) -> &SearchStep {
        &self.steps[self.chosen]
    }
}

impl RobustSearch {
    /// The search over these radii at the fit's own level, with 5 folds, by accuracy, with columns as they are.
    #[must_use]
    pub fn new(fit: RobustFit, taus: Vec<f64>) -> Self {
        let levels = vec![fit.level_in_use()];
        let (by, scale) = (Criterion::default(), ScaleRule::Off);
        RobustSearch { fit, taus, levels, folds: 5, by, scale }
    }

    /// The search over these levels.
    #[must_use]
    pub fn levels(mut self, levels: Vec<f64>) -> Self {
        self.levels = levels;
        self
    }

    /// The search with so many folds.
    #[must_use]
    pub fn folds(mut self, folds: usize) -> Self {
        self.folds = folds;
        self
    }

    /// The search with this choice.
    #[must_use]
    pub fn by(mut self, by: Criterion) -> Self {
        self.by = by;
        self
    }

    /// The search with columns scaled by this rule.
    #[must_use]
    pub fn scale(mut self, scale: ScaleRule) -> Self {
        self.scale = scale;
        self
    }

    /// Measures every level with every radius, and chooses the best by the mean over the folds; ties go to the smaller
    /// radius, then to the level named first. The fit's seed draws the folds. A search that is cancelled
    /// ends with the path under way, and its choice means nothing.
    ///
    /// # Errors
    /// No levels, folds that [`stratified_folds`] refuses, and as [`RobustPath::run`].
    pub fn run(
        &self,
        data: &Labelled,
        classes: usize,
        clock: &dyn Clock,
        observer: &mut dyn Observer,
    ) -> Result<Found> {
        if self.levels.is_empty() {
            let why = "there must be one".to_owned();
            return Err(Error::Setting { name: "levels", why });
        }
        let fold = stratified_folds(&data.labels, self.folds, self.fit.seed)?;
        let step = |level: f64, tau: f64| SearchStep { level, tau, folds: Vec::new() };
        // by radius first, so that the first of equal ones is the one to choose
        let mut steps: Vec<SearchStep> = Vec::new();
        for &tau in &self.taus {
            steps.extend(self.levels.iter().map(|&level| step(level, tau)));
        }
        for k in 0..self.folds {
            let (held_back, train): (Vec<usize>, Vec<usize>) =
                (0..fold.len()).partition(|&i| fold[i] == k);
            let fit = self.fit.of_rows(&train);
            let (mut train, mut held_back) = (data.select(&train), data.select(&held_back));
            let weights = fit.weights.as_deref();
            if let Some(scale) = ColumnScale::of(&train.rows, weights, self.scale, fit.intercept)? {
                train.rows = scale.apply(&train.rows)?;
                held_back.rows = scale.apply(&held_back.rows)?;
            }
            for (place, &level) in self.levels.iter().enumerate() {
                let path = RobustPath::new(fit.clone().level(level), self.taus.clone()).by(self.by);
                let path = path.run(train.clone(), &held_back, classes, clock, observer)?;
                let cancelled = path.steps.iter().any(|step| step.status == Status::Cancelled);
                for (t, found) in path.steps.into_iter().enumerate() {
                    steps[t * self.levels.len() + place].folds.push(found);
                }
                if cancelled {
                    return Ok(Found { steps, chosen: 0 });
                }
            }
        }
        let merit = |step: &SearchStep| step.mean(|measures| self.by.merit(measures));
        let mut chosen = 0;
        for (k, step) in steps.iter().enumerate() {
            if merit(step) > merit(&steps[chosen]) {
                chosen = k;
            }
        }
        Ok(Found { steps, chosen })
    }
}
