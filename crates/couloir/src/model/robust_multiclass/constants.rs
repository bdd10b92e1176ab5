//! Block constants, bounded by the lengths of the rows and their top singular value.

use super::RobustMulticlass;
use crate::domain::Confidence;
use crate::linalg::{SparseMatrix, norm, norm_squared, scale};
use crate::model::uncertainty::Moduli;
use crate::problem::{BlockConstants, KnownConstants, SaddleProblem};

/// Power iterations for the top singular value.
const POWER_STEPS: usize = 60;

/// What the bounds need to know of the rows' lengths.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lengths {
    pub(super) longest: f64,
    /// `sum_i |a_i|^2`.
    pub(super) squares: f64,
}

impl Lengths {
    pub(super) fn new(rows: &SparseMatrix) -> Self {
        let (mut longest, mut squares) = (0.0f64, 0.0);
        for i in 0..rows.rows() {
            let length = norm(rows.row(i).1);
            longest = longest.max(length);
            squares += length * length;
        }
        Lengths { longest, squares }
    }
}

/// The top eigenvalue of `A^T diag(weights) A`, from below, by power iteration from a positive vector: text has
/// positive entries, and then so has the top eigenvector.
fn top_eigenvalue(rows: &SparseMatrix, weights: Option<&[f64]>) -> f64 {
    let (mut v, mut image) = (vec![1.0; rows.columns()], vec![0.0; rows.rows()]);
    for (j, v) in v.iter_mut().enumerate() {
        *v += 0.5 * (j as f64).sin(); // not orthogonal to everything of other signs either
    }
    let mut value = 0.0;
    for _ in 0..POWER_STEPS {
        let length = norm(&v);
        if length == 0.0 {
            return 0.0;
        }
        scale(1.0 / length, &mut v);
        rows.multiply(&v, &mut image);
        if let Some(weights) = weights {
            image.iter_mut().zip(weights).for_each(|(i, w)| *i *= w.sqrt());
        }
        let before = value;
        value = norm_squared(&image);
        if value - before <= 1e-4 * value {
            break;
        }
        if let Some(weights) = weights {
            image.iter_mut().zip(weights).for_each(|(i, w)| *i *= w.sqrt());
        }
        rows.multiply_transposed(&image, &mut v);
    }
    value
}

impl KnownConstants for RobustMulticlass {
    /// For every `y`, with a loss that bends by at most `c` (1/2 for the multinomial logistic one) and whose slopes `q_i` have
    /// `|q_i|^2 <= q` (2 for it):
    ///
    /// ```text
    /// Lxx = s c max_i |a_i|^2        all the weight may be on one row
    /// Lxy = s sqrt(q) sigma_max(A)   the Gram matrix of the q_i (x) a_i is that of the q_i times that of the a_i,
    ///                                entry by entry, whose norm is at most max |q_i|^2 |A A^T| (Schur)
    /// ```
    ///
    /// `Lyy` and `mu` are those of the uncertainty set. Rows that share an entry of `y` have shares of at most 1, so the
    /// weights move no further than `y` does.
    fn constants(&self) -> BlockConstants {
        let Moduli { mu, lyy } = self.uncertainty.moduli();
        let longest = self.lengths.longest;
        // rows that are drawn twice weigh twice
        let repeated = self.heaviest_entry();
        let lxx = self.loss.curvature() * self.weight * longest * longest * repeated;
        let lxy = self.weight * self.slope_squared().sqrt() * self.singular() * repeated.sqrt();
        BlockConstants { lxx: Some(lxx), lxy: Some(lxy), lyy, mu, mu_x: None }
    }

    fn mu(&self) -> Option<f64> {
        self.uncertainty.moduli().mu
    }

    fn mu_x(&self) -> Option<f64> {
        None
    }

    fn confidence(&self) -> Confidence {
        Confidence::Exact
    }
}

impl RobustMulticlass {
    /// The smoothness of `f(., y)` for this `y`: `s/2` times the square of the top singular value of
    /// `diag(y)^(1/2) A`, by power iteration (from below, within a percent or so). Far below the
    /// [`constants`](KnownConstants::constants), which hold for every `y`, where `y` is near uniform.
    #[must_use]
    pub fn smoothness_at(&self, y: &[f64]) -> f64 {
        let mut weights = self.row_weights(y);
        weights.iter_mut().for_each(|w| *w = w.max(0.0));
        self.loss.curvature() * self.weight * top_eigenvalue(self.operator.matrix(), Some(&weights))
    }

    /// A bound of the squared length of a row's slopes, for every `X` of the ball.
    pub(super) fn slope_squared(&self) -> f64 {
        self.loss.slope_squared(self.settings.tau * self.lengths.longest)
    }

    /// A bound of the top singular value of the rows.
    fn singular(&self) -> f64 {
        let Lengths { longest, squares, .. } = self.lengths;
        *self.singular.get_or_init(|| {
            // from below; a tenth more makes it a bound in practice, and |A|_F is one for sure
            let top = 1.1 * top_eigenvalue(self.operator.matrix(), None);
            top.max(longest * longest).min(squares).sqrt()
        })
    }

    /// The largest sum of the shares that rows have in one entry of `y`: 1 but in a batch, which may have a row more than
    /// once.
    fn heaviest_entry(&self) -> f64 {
        if self.members.is_none() {
            return 1.0;
        }
        let mut sums = vec![0.0; self.dim_y()];
        for r in 0..self.labels.len() {
            let (entry, share) = self.entry(r);
            sums[entry] += share;
        }
        sums.into_iter().fold(0.0, f64::max)
    }
}
