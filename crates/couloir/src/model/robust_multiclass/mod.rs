//! Robust multiclass classification over a nuclear-norm ball.

mod batches;
mod constants;
mod objective;
mod rounding;
mod settings;

pub use settings::{Ball, RobustSettings, Scaling};

use super::loss::{MultinomialLogistic, ScoreLoss};
use super::uncertainty::{ChiSquare, RowWeights, Uncertainty};
use crate::domain::{Domain, GroupL1Ball, L1Ball, L2Ball, NuclearBall};
use crate::error::{Error, Result, check_len, check_positive};
use crate::linalg::scratch::Pool;
use crate::linalg::{Layout, ScoreOperator, SparseMatrix, norm};
use constants::Lengths;
use rayon::prelude::*;
use rounding::Sums;
use std::sync::{Arc, OnceLock};

/// A linear model over rows: a loss on their scores, and an uncertainty set from which an adversary takes their weights.
///
/// With the multinomial logistic loss and the chi-square penalty, which [`new`](Self::new) takes,
///
/// ```text
/// f(X, y) = s sum_i y_i l_i(X) - lambda/2 |n y - 1|^2,   |X|_* <= tau,   y in the unit simplex of R^n,
/// l_i(X) = log(1 + sum_{j != b_i} exp(x_j.a_i - x_{b_i}.a_i))
/// ```
///
/// over sparse rows `a_i` in `R^d` with labels `b_i` below `h`; `X` has a vector `x_j` for every class. As a mean
/// over rows, `F_i = n s y_i l_i(X) - lambda/2 |n y - 1|^2`.
///
/// f sees X only through the `n x h` scores `A X^T` (the image); losses (`n`) and softmax slopes (`n x h`) are the
/// cache, so that a gradient for another `y` needs no exponential.
///
/// ```
/// use couloir::Solve;
/// use couloir::linalg::SparseMatrix;
/// use couloir::model::{RobustMulticlass, RobustSettings};
///
/// // three rows in the plane, one of each class
/// let rows = SparseMatrix::from_rows(2, vec![0, 1, 2, 4], vec![0, 1, 0, 1],
///     vec![1.0, 1.0, -0.7, -0.7])?;
/// let settings = RobustSettings::default().tau(10.0);
/// let model = RobustMulticlass::new(rows, vec![0, 1, 2], 3, settings)?;
/// let x_set = model.x_set()?;
/// let solution = Solve::new(&model, &x_set, model.y_set()).gap(1e-6).run()?;
/// assert_eq!(model.class_major(&solution.x).len(), 3 * 2);
/// assert!(solution.outcome.certificate.upper < 0.5);
/// # Ok::<(), couloir::Error>(())
/// ```
///
/// [`compose`](Self::compose) takes any loss and any uncertainty set:
///
/// ```
/// use couloir::Solve;
/// use couloir::linalg::SparseMatrix;
/// use couloir::model::{RobustMulticlass, RobustSettings, loss, uncertainty};
/// use std::sync::Arc;
///
/// let rows = SparseMatrix::from_rows(2, vec![0, 1, 2, 4], vec![0, 1, 0, 1],
///     vec![1.0, 1.0, -0.7, -0.7])?;
/// // the first two rows are one group, the third is another
/// let groups = uncertainty::Groups::new(vec![0, 0, 1], 1.0)?;
/// let loss = Arc::new(loss::MultinomialLogistic);
/// let settings = RobustSettings::default().tau(10.0);
/// let model = RobustMulticlass::compose(loss, Arc::new(groups), rows, vec![0, 1, 2], 3, settings)?;
/// let solution = Solve::new(&model, &model.x_set()?, model.y_set()).gap(1e-6).run()?;
/// assert_eq!(solution.y.len(), 2);
/// let weights = model.row_weights(&solution.y);
/// assert!(weights[0] == weights[1] && (weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Debug)]
pub struct RobustMulticlass {
    loss: Arc<dyn ScoreLoss>,
    uncertainty: Arc<dyn Uncertainty>,
    row_weights: RowWeights,
    operator: ScoreOperator,
    labels: Vec<u32>,
    /// The feature that each line of a point by features stands for; none by classes.
    order: Vec<u32>,
    /// In a batch, the number that each row has in the whole.
    members: Option<Vec<u32>>,
    /// Where rows of the data were left out: the places of those that are here, and the number of all.
    places: Option<(Vec<u64>, usize)>,
    /// The nominal weights of the rows times their number, where they are not all 1.
    nominal: Option<Vec<f64>>,
    /// `n`, the number of rows of the whole.
    n: usize,
    /// The factor of a row's loss: `s`, or `n s / |batch|` in a batch.
    weight: f64,
    settings: RobustSettings,
    lengths: Lengths,
    sums: Sums,
    /// A bound of the top singular value of the rows, found when it is asked for.
    singular: OnceLock<f64>,
    scratch: Pool,
}

impl RobustMulticlass {
    /// The multinomial logistic loss and the chi-square penalty over these rows, with `classes` classes and labels numbered
    /// from 0. A class may have no rows.
    ///
    /// # Errors
    /// As [`compose`](Self::compose), and `level` not positive.
    pub fn new(
        rows: SparseMatrix,
        labels: Vec<u32>,
        classes: usize,
        settings: RobustSettings,
    ) -> Result<Self> {
        let uncertainty = Arc::new(ChiSquare::new(rows.rows(), settings.level)?);
        let loss = Arc::new(MultinomialLogistic);
        RobustMulticlass::compose(loss, uncertainty, rows, labels, classes, settings)
    }

    /// This loss and this uncertainty set over these rows. The set brings its own level: `level` of the settings is not
    /// used.
    ///
    /// # Errors
    /// No rows, fewer than two classes, labels of another number than rows or not below `classes`, an uncertainty set for
    /// another number of rows, `tau` not positive, an intercept that is not finite.
    pub fn compose(
        loss: Arc<dyn ScoreLoss>,
        uncertainty: Arc<dyn Uncertainty>,
        rows: SparseMatrix,
        labels: Vec<u32>,
        classes: usize,
        settings: RobustSettings,
    ) -> Result<Self> {
        check_len("labels", rows.rows(), labels.len())?;
        let row_weights = uncertainty.row_weights();
        row_weights.check(rows.rows(), uncertainty.y_set().dim())?;
        check_positive("tau", settings.tau)?;
        loss.check(&labels, classes)?;
        let n = labels.len();
        let rows = match settings.intercept {
            Some(value) => rows.with_constant_column(value)?,
            None => rows,
        };
        let (rows, order) = match settings.layout {
            Layout::ClassMajor => (rows, Vec::new()),
            Layout::FeatureMajor => rows.by_frequency(),
        };
        let weight = settings.scaling.factor(n);
        let lengths = Lengths::new(&rows);
        let sums = Sums::new(&rows, &lengths, &*loss, settings.tau);
        let operator = ScoreOperator::new(rows, classes, settings.layout);
        let scratch = Pool::default();
        Ok(RobustMulticlass {
            loss,
            uncertainty,
            row_weights,
            operator,
            labels,
            order,
            members: None,
            places: None,
            nominal: None,
            n,
            weight,
            settings,
            lengths,
            sums,
            singular: OnceLock::new(),
            scratch,
        })
    }

    /// The same problem, of which it is known that its rows had these places among so many of the data.
    pub(in crate::model) fn with_places(mut self, places: Vec<u64>, of: usize) -> Self {
        self.places = Some((places, of));
        self
    }

    /// The same problem, of which it is known how much its rows count.
    pub(in crate::model) fn with_nominal(mut self, q: Vec<f64>) -> Self {
        let n = q.len() as f64;
        self.nominal = Some(q.into_iter().map(|q| n * q).collect());
        self
    }

    /// The places that the rows have in the data they were taken from, if some were left out.
    #[must_use]
    pub fn places(&self) -> Option<&[u64]> {
        self.places.as_ref().map(|(places, _)| places.as_slice())
    }

    /// The weight that `y` gives to each row of the data, zero for rows that were left out.
    #[must_use]
    pub fn data_weights(&self, y: &[f64]) -> Vec<f64> {
        let weights = self.row_weights(y);
        let Some((places, of)) = &self.places else { return weights };
        let mut all = vec![0.0; *of];
        places.iter().zip(weights).for_each(|(&i, weight)| all[i as usize] = weight);
        all
    }

    /// The same problem over a ball of another radius.
    ///
    /// # Errors
    /// `tau` not positive.
    pub fn with_tau(mut self, tau: f64) -> Result<Self> {
        check_positive("tau", tau)?;
        self.settings.tau = tau;
        Ok(self)
    }

    /// The set of `X` of a model on a nuclear-norm ball: matrices of nuclear norm `tau` at most, which lie as the settings say.
    ///
    /// # Errors
    /// No features; a model on another ball, whose set is [`x_domain`](Self::x_domain).
    pub fn x_set(&self) -> Result<NuclearBall> {
        match self.settings.ball {
            Ball::Nuclear => self.nuclear_ball(),
            other => {
                let why = format!(
                    "the weights lie in the {other} ball; take `x_domain` in place of `x_set`"
                );
                Err(Error::Setting { name: "ball", why })
            }
        }
    }

    /// The set of `X`, whatever its ball.
    ///
    /// # Errors
    /// No features.
    pub fn x_domain(&self) -> Result<Box<dyn Domain>> {
        let (size, tau) = (self.classes() * self.features(), self.settings.tau);
        Ok(match self.settings.ball {
            Ball::Nuclear => Box::new(self.nuclear_ball()?),
            Ball::L2 => Box::new(L2Ball::new(size, tau)?),
            Ball::L1 => Box::new(L1Ball::new(size, tau)?),
            Ball::GroupL1 => {
                let (h, d) = (self.classes(), self.features());
                let feature = |entry: usize| match self.settings.layout {
                    Layout::ClassMajor => entry % d,
                    Layout::FeatureMajor => entry / h,
                };
                Box::new(GroupL1Ball::new((0..size).map(feature).collect(), tau)?)
            }
        })
    }

    /// The nuclear-norm ball of this radius, whatever the set of `X`.
    fn nuclear_ball(&self) -> Result<NuclearBall> {
        let (h, d) = (self.classes(), self.features());
        match self.settings.layout {
            Layout::ClassMajor => NuclearBall::new(h, d, self.settings.tau),
            Layout::FeatureMajor => NuclearBall::new(d, h, self.settings.tau),
        }
    }

    /// The norm of a point: the radius of the smallest ball of the model's kind that it lies in.
    ///
    /// # Errors
    /// A point of another length, or numbers that are not finite.
    pub fn norm(&self, x: &[f64]) -> Result<f64> {
        check_len("x", self.classes() * self.features(), x.len())?;
        Ok(match self.settings.ball {
            Ball::Nuclear => self.singular_values(x)?.iter().sum(),
            Ball::L2 => norm(x),
            Ball::L1 => x.iter().map(|v| v.abs()).sum(),
            Ball::GroupL1 => {
                let (h, d) = (self.classes(), self.features());
                let mut squares = vec![0.0f64; d];
                for (i, v) in x.iter().enumerate() {
                    let feature = if self.order.is_empty() { i % d } else { i / h };
                    squares[feature] += v * v;
                }
                squares.into_iter().map(f64::sqrt).sum()
            }
        })
    }

    /// The singular values of the matrix of a point, in falling order.
    ///
    /// # Errors
    /// A point of another length, or numbers that are not finite.
    pub fn singular_values(&self, x: &[f64]) -> Result<Vec<f64>> {
        self.nuclear_ball()?.singular_values(x)
    }

    /// The loss of a row.
    #[must_use]
    pub fn loss(&self) -> &dyn ScoreLoss {
        &*self.loss
    }

    /// The set from which the adversary takes the weights of the rows, with its penalty.
    #[must_use]
    pub fn uncertainty(&self) -> &dyn Uncertainty {
        &*self.uncertainty
    }

    /// The set of `y`.
    #[must_use]
    pub fn y_set(&self) -> &dyn Domain {
        self.uncertainty.y_set()
    }

    /// The weight that `y` gives to each row.
    #[must_use]
    pub fn row_weights(&self, y: &[f64]) -> Vec<f64> {
        (0..self.labels.len()).map(|r| self.row_weight(r, y)).collect()
    }

    /// `n`.
    #[must_use]
    pub fn len(&self) -> usize {
        self.n
    }

    /// Whether there are no rows; there are.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// The labels of the rows, numbered from 0.
    #[must_use]
    pub fn labels(&self) -> &[u32] {
        &self.labels
    }

    /// `h`.
    #[must_use]
    pub fn classes(&self) -> usize {
        self.operator.classes()
    }

    /// `d`, with the intercept where there is one (it is the last feature).
    #[must_use]
    pub fn features(&self) -> usize {
        self.operator.matrix().columns()
    }

    /// The settings.
    #[must_use]
    pub fn settings(&self) -> &RobustSettings {
        &self.settings
    }

    /// `s`.
    #[must_use]
    pub fn scale(&self) -> f64 {
        self.settings.scaling.factor(self.n)
    }

    /// A point of [`x_set`](Self::x_set) as the row-major `h x d` matrix `X`, features in the order of the data.
    #[must_use]
    pub fn class_major(&self, x: &[f64]) -> Vec<f64> {
        if self.order.is_empty() {
            return x.to_vec();
        }
        let (h, d) = (self.classes(), self.features());
        let mut lines = vec![0; d];
        for (k, &feature) in self.order.iter().enumerate() {
            lines[feature as usize] = k;
        }
        // of every line one cache line at a time: as many classes
        const CLASSES: usize = 8;
        let mut out = vec![0.0; x.len()];
        out.par_chunks_mut(CLASSES * d).enumerate().for_each(|(chunk, out)| {
            for (feature, k) in lines.iter().enumerate() {
                let line = &x[k * h + chunk * CLASSES..(k + 1) * h];
                for (out, x) in out.chunks_exact_mut(d).zip(line) {
                    out[feature] = *x;
                }
            }
        });
        out
    }

    /// The point of [`x_set`](Self::x_set) that stands for a row-major `h x d` matrix: what a start point must be.
    #[must_use]
    pub fn from_class_major(&self, matrix: &[f64]) -> Vec<f64> {
        let (h, d) = (self.classes(), self.features());
        let mut out = matrix.to_vec();
        out.par_chunks_mut(h).zip(&self.order).for_each(|(line, &feature)| {
            for (j, x) in line.iter_mut().enumerate() {
                *x = matrix[j * d + feature as usize];
            }
        });
        out
    }
}
