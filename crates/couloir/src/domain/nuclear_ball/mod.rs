//! The nuclear-norm ball.

mod gram_pair;
mod lanczos_pair;
mod oracle;

pub use lanczos_pair::LanczosSettings;

use super::{Domain, Oracle};
use crate::error::{Error, Result, check_finite, check_len, check_positive};
use crate::linalg::norm;
use crate::linalg::nuclear_projection::NuclearProjection;
use crate::linalg::spectral::{Thin, max_abs, safe_factor};
use oracle::NuclearOracle;

/// Up to this smaller side there is an exact prox, and on thin balls (`2 h < d`) a Gram matrix and its
/// eigen-decomposition find the top singular pair. docs/reproduction.md has the crossing: an exact prox is ahead of a slide to a hundredth
/// of its first gap from h = 20 to 800 by 100 to 2 times, and behind from somewhat below 2,000 on.
const THIN_LIMIT: usize = 1024;

/// Up to this smaller side they do on all balls. Measured on one core, milliseconds for one minimum
/// by Gram and eigen-decomposition, against Lanczos on a falling and on a flat spectrum: 256 x 1024,
/// 13 against 5 and 13; 400 x 400, 34 against 3 and 7; 512 x 512, 65 against 7 and 19; 512 x 2048, 80
/// against 19 and 64. The Gram matrix is dearer but exact, and sliding on thin balls needs it once only.
const SQUARE_LIMIT: usize = 256;

/// The nuclear-norm ball `{P in R^{rows x cols} : |P|_* <= radius}`: the sum of the singular values
/// is bounded. Points are flat, row after row.
///
/// The minimum of `<G, P>` is `-radius u v^T` with `(u, v)` the top singular pair of `G`: from the
/// Gram matrix of the smaller side where that is at most 256 (512 if the other is more than twice
/// as large), exact up to rounding; above, from a warm-started Lanczos process, with a bound that
/// holds with high probability.
///
/// ```
/// use couloir::domain::{Domain, NuclearBall};
/// let ball = NuclearBall::new(2, 3, 2.0)?;
/// let mut p = [0.0; 6];
/// let minimum = ball.oracle().lmo(&[0.0, 5.0, 0.0, 1.0, 0.0, 0.0], &mut p)?;
/// assert!((p[1] + 2.0).abs() < 1e-12);
/// assert!((minimum.value + 10.0).abs() < 1e-12);
/// assert!(minimum.lower <= minimum.value);
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct NuclearBall {
    rows: usize,
    cols: usize,
    radius: f64,
    lanczos: Option<LanczosSettings>,
    exact_up_to: usize,
}

/// What is known of a nuclear-norm ball where points are not kept as vectors: see
/// [`Domain::nuclear_shape`](super::Domain::nuclear_shape).
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct NuclearShape {
    /// The number of rows of a point.
    pub rows: usize,
    /// The number of columns of a point.
    pub columns: usize,
    /// The radius.
    pub radius: f64,
    /// The probability with which the upper bound of one largest singular value may fail.
    pub failure: f64,
    /// The seed of the random start vectors that it rests on.
    pub seed: u64,
}

impl NuclearBall {
    /// The ball of the given radius around the zero matrix.
    ///
    /// # Errors
    /// No rows or no columns, or a radius that is not positive and finite.
    pub fn new(rows: usize, cols: usize, radius: f64) -> Result<Self> {
        if rows == 0 || cols == 0 {
            let why = format!("a nuclear ball of {rows} x {cols} matrices");
            return Err(Error::EmptySet { why });
        }
        check_positive("radius", radius)?;
        let (short, long) = (rows.min(cols), rows.max(cols));
        let limit = if 2 * short < long { THIN_LIMIT } else { SQUARE_LIMIT };
        let lanczos = (short > limit).then(LanczosSettings::default);
        Ok(NuclearBall { rows, cols, radius, lanczos, exact_up_to: THIN_LIMIT })
    }

    /// The same ball, with the Lanczos process whatever the size, run as `settings` say.
    ///
    /// # Errors
    /// As [`new`](Self::new), and settings outside their ranges.
    pub fn with_lanczos(
        rows: usize,
        cols: usize,
        radius: f64,
        settings: LanczosSettings,
    ) -> Result<Self> {
        settings.check()?;
        Ok(NuclearBall { lanczos: Some(settings), ..NuclearBall::new(rows, cols, radius)? })
    }

    /// The ball with an exact prox up to this smaller side in place of 1,024. It takes a full decomposition of the
    /// matrix: docs/reproduction.md has what that costs.
    #[must_use]
    pub fn exact_up_to(mut self, side: usize) -> Self {
        self.exact_up_to = side;
        self
    }

    /// The number of rows of a point.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns of a point.
    #[must_use]
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// The radius.
    #[must_use]
    pub fn radius(&self) -> f64 {
        self.radius
    }

    /// Whether sliding can run in the row space of `[r; q]` with a gain: `2 h < d`.
    fn compresses(&self) -> bool {
        self.lanczos.is_none() && 2 * self.rows.min(self.cols) < self.rows.max(self.cols)
    }

    /// The singular values of a point, in falling order, from a full decomposition: right to about
    /// rounding times the largest of them. Their sum is the nuclear norm.
    ///
    /// ```
    /// use couloir::domain::NuclearBall;
    /// let ball = NuclearBall::new(2, 3, 2.0)?;
    /// let values = ball.singular_values(&[0.0, 3.0, 0.0, -4.0, 0.0, 0.0])?;
    /// assert!((values[0] - 4.0).abs() < 1e-12 && (values[1] - 3.0).abs() < 1e-12);
    /// # Ok::<(), couloir::Error>(())
    /// ```
    ///
    /// # Errors
    /// A point of another length, entries that are not finite, a decomposition that fails.
    pub fn singular_values(&self, p: &[f64]) -> Result<Vec<f64>> {
        check_len("point", self.dim(), p.len())?;
        check_finite("point", p)?;
        let factor = safe_factor(max_abs(p));
        let scaled: Vec<f64> = p.iter().map(|v| v * factor).collect();
        let values = Thin::new(self.rows, self.cols).view(&scaled).singular_values();
        let mut values = values.map_err(|e| Error::Numerical {
            what: "singular value decomposition",
            why: format!("{e:?}"),
        })?;
        values.iter_mut().for_each(|v| *v /= factor);
        Ok(values)
    }

    /// The nuclear norm.
    fn nuclear_norm(&self, p: &[f64]) -> f64 {
        self.singular_values(p).map_or(f64::NAN, |values| values.iter().sum())
    }
}

impl Domain for NuclearBall {
    fn dim(&self) -> usize {
        self.rows * self.cols
    }

    /// `2 radius`, between a rank-one matrix of the boundary and its antipode.
    fn diameter(&self) -> f64 {
        2.0 * self.radius
    }

    fn violation(&self, p: &[f64]) -> f64 {
        if p.len() != self.dim() || check_finite("point", p).is_err() {
            return f64::INFINITY;
        }
        // |P|_* <= sqrt(rank) |P|: saves the decomposition well inside.
        let rank = self.rows.min(self.cols) as f64;
        if rank.sqrt() * norm(p) <= self.radius {
            return 0.0;
        }
        let excess = self.nuclear_norm(p) - self.radius;
        if excess.is_nan() { f64::INFINITY } else { excess.max(0.0) }
    }

    /// Projects, on balls that have an exact prox; larger ones leave points as they are.
    fn repair(&self, p: &mut [f64]) -> f64 {
        let thin = Thin::new(self.rows, self.cols);
        // |P|_* <= sqrt(rank) |P|: saves the decomposition well inside
        if thin.short() > self.exact_up_to || (thin.short() as f64).sqrt() * norm(p) <= self.radius
        {
            return 0.0;
        }
        NuclearProjection::new(thin).repair(p, self.radius).unwrap_or(0.0)
    }

    /// Two units in the last place of the radius, and as many as rounding may hide in the decomposition that measures them.
    fn slack(&self) -> [f64; 2] {
        let length = (8 + 2 * self.rows.min(self.cols)) as f64 * f64::EPSILON * self.radius;
        [length, length * (self.dim() as f64).sqrt()]
    }

    /// Larger balls leave points as they are; for others a Gram matrix tells, but for points at the very border.
    fn needs_no_repair(&self, p: &[f64]) -> bool {
        let thin = Thin::new(self.rows, self.cols);
        thin.short() > self.exact_up_to || NuclearProjection::new(thin).is_inside(p, self.radius)
    }

    fn repairs_quickly(&self) -> bool {
        false
    }

    fn center(&self, out: &mut [f64]) {
        // where it is zero already, as new memory is, reading it is quicker
        if out.iter().any(|x| *x != 0.0) {
            out.fill(0.0);
        }
    }

    fn describe(&self) -> String {
        format!(
            "the nuclear-norm ball of radius {} of {} x {} matrices",
            self.radius, self.rows, self.cols
        )
    }

    fn is_polytope(&self) -> Option<bool> {
        Some(false)
    }

    fn nuclear_shape(&self) -> Option<NuclearShape> {
        let NuclearBall { rows, cols, radius, .. } = *self;
        let LanczosSettings { failure, seed, .. } = self.lanczos.clone().unwrap_or_default();
        Some(NuclearShape { rows, columns: cols, radius, failure, seed })
    }

    fn oracle(&self) -> Box<dyn Oracle + '_> {
        Box::new(NuclearOracle::new(self))
    }
}
