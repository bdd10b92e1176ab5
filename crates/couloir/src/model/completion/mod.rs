//! Robust matrix completion over a nuclear-norm ball.

mod measurements;
mod objective;
mod rank_one;
mod rounding;

pub use measurements::MatrixMeasurements;
pub use rank_one::RankOneMeasurements;
pub use rounding::MeasurementRounding;

use super::loss::ResidualLoss;
use super::uncertainty::{RowWeights, Uncertainty};
use crate::domain::{Domain, NuclearBall};
use crate::error::{Error, Result, check_finite, check_len, check_positive};
use crate::linalg::ObservedEntries;
use crate::linalg::scratch::Pool;
use std::sync::Arc;

/// A matrix `X` of low rank from some of its entries: a loss of what is missed at each of them, and an uncertainty set from
/// which an adversary takes the weights of the observations.
///
/// ```text
/// f(X, y) = sum_i w_i(y) l(X[r_i, c_i] - b_i) - penalty(y),   |X|_* <= tau
/// ```
///
/// With the chi-square penalty `w(y) = y` lies in the unit simplex of the `n` observations and the penalty is
/// `level/(2n) sum_i (n y_i - 1)^2`. A place that was observed several times counts as several observations.
///
/// `f` sees `X` through its entries at the observed places alone, and can be asked for them where `X` is known by thin
/// factors ([`MatrixOperator`](crate::problem::MatrixOperator)): matrices may be far too large to be formed.
///
/// ```
/// use couloir::Solve;
/// use couloir::linalg::ObservedEntries;
/// use couloir::model::{RobustCompletion, loss::Squared, uncertainty::ChiSquare};
/// use std::sync::Arc;
///
/// // four entries of a 2 x 3 matrix; one of them was observed twice
/// let places = ObservedEntries::new(2, 3, vec![0, 0, 1, 1, 1], vec![0, 2, 0, 2, 2])?;
/// let values = vec![1.0, 2.0, 2.0, 4.1, 3.9];
/// let uncertainty = Arc::new(ChiSquare::new(5, 1.0)?);
/// let problem = RobustCompletion::new(Arc::new(Squared), uncertainty, Box::new(places), values, 5.0)?;
/// let (x_set, y_set) = (problem.x_set()?, problem.y_set());
/// let solution = Solve::new(&problem, &x_set, y_set).gap(1e-6).run()?;
/// assert!(solution.outcome.status.is_solved());
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Debug)]
pub struct RobustCompletion {
    loss: Arc<dyn ResidualLoss>,
    uncertainty: Arc<dyn Uncertainty>,
    row_weights: RowWeights,
    measurements: Box<dyn MatrixMeasurements>,
    targets: Vec<f64>,
    tau: f64,
    /// What is known of its rounding, if anything.
    promise: Option<rounding::Promise>,
    scratch: Pool,
}

impl RobustCompletion {
    /// The model for these measurements and their values, over the nuclear-norm ball of radius `tau`.
    ///
    /// # Errors
    /// Lengths that disagree, values that are not finite, a radius or a parameter of the loss that makes no sense.
    pub fn new(
        loss: Arc<dyn ResidualLoss>,
        uncertainty: Arc<dyn Uncertainty>,
        measurements: Box<dyn MatrixMeasurements>,
        values: Vec<f64>,
        tau: f64,
    ) -> Result<Self> {
        check_positive("tau", tau)?;
        check_len("values", measurements.image_dim(), values.len())?;
        check_finite("values", &values)?;
        loss.check()?;
        let row_weights = uncertainty.row_weights();
        row_weights.check(values.len(), uncertainty.y_set().dim())?;
        let (rows, columns) = measurements.shape();
        if rows.checked_mul(columns).is_none() {
            let why = format!("a matrix of {rows} x {columns} entries");
            return Err(Error::Setting { name: "shape", why });
        }
        let scratch = Pool::default();
        let is_known = uncertainty.largest_term(&vec![0.0; uncertainty.y_set().dim()]).is_some();
        let promise = rounding::Promise::new(&*loss, &*measurements, &values, tau);
        Ok(RobustCompletion {
            loss,
            uncertainty,
            row_weights,
            measurements,
            targets: values,
            tau,
            promise: promise.filter(|_| is_known),
            scratch,
        })
    }

    /// The model for observed entries of a `rows x columns` matrix.
    ///
    /// # Errors
    /// As [`new`](Self::new), and places outside of the matrix.
    pub fn of_entries(
        loss: Arc<dyn ResidualLoss>,
        uncertainty: Arc<dyn Uncertainty>,
        (rows, columns): (usize, usize),
        places: (Vec<u32>, Vec<u32>),
        values: Vec<f64>,
        tau: f64,
    ) -> Result<Self> {
        let entries = ObservedEntries::new(rows, columns, places.0, places.1)?;
        RobustCompletion::new(loss, uncertainty, Box::new(entries), values, tau)
    }

    /// The set of `X`: the nuclear-norm ball of radius `tau`.
    ///
    /// # Errors
    /// An empty matrix.
    pub fn x_set(&self) -> Result<NuclearBall> {
        let (rows, columns) = self.measurements.shape();
        NuclearBall::new(rows, columns, self.tau)
    }

    /// The set of `y`.
    #[must_use]
    pub fn y_set(&self) -> &dyn Domain {
        self.uncertainty.y_set()
    }

    /// The weight that `y` gives to each observation.
    #[must_use]
    pub fn observation_weights(&self, y: &[f64]) -> Vec<f64> {
        (0..self.targets.len())
            .map(|i| {
                let (entry, share) = self.row_weights.of(i);
                share * y[entry]
            })
            .collect()
    }

    /// The number of observations.
    #[must_use]
    pub fn len(&self) -> usize {
        self.targets.len()
    }

    /// Whether there are no observations; there are.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }
}
