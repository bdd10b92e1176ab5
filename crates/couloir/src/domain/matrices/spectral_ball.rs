//! The ball of the spectral norm.

use crate::domain::plain::{PlainOracle, Work, excess, found};
use crate::domain::{Domain, LinearMin, Oracle};
use crate::error::{Error, Result, check_finite, check_positive};
use crate::linalg::{axpy, spectral_norm};
use faer::MatRef;

/// The matrices (row by row) whose largest singular value is at most `radius`.
///
/// With `G = U S V'`, linear minimisation gives `-radius U V'`; the projection cuts the singular values off. Either takes a singular
/// value decomposition.
///
/// ```
/// use couloir::domain::{Domain, SpectralBall};
/// let ball = SpectralBall::new(2, 2, 1.0)?;
/// let mut p = [0.0; 4];
/// let minimum = ball.oracle().lmo(&[3.0, 0.0, 0.0, -2.0], &mut p)?;
/// assert!((minimum.value + 5.0).abs() < 1e-12 && (p[3] - 1.0).abs() < 1e-12);
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SpectralBall {
    rows: usize,
    columns: usize,
    radius: f64,
}

impl SpectralBall {
    /// The ball of `rows x columns` matrices of this radius.
    ///
    /// # Errors
    /// No rows or columns, or a radius that is not positive and finite.
    pub fn new(rows: usize, columns: usize, radius: f64) -> Result<Self> {
        if rows == 0 || columns == 0 {
            return Err(Error::EmptySet { why: format!("{rows} x {columns} matrices") });
        }
        check_positive("radius", radius)?;
        Ok(SpectralBall { rows, columns, radius })
    }
}

impl Domain for SpectralBall {
    fn dim(&self) -> usize {
        self.rows * self.columns
    }

    fn diameter(&self) -> f64 {
        2.0 * self.radius * (self.rows.min(self.columns) as f64).sqrt()
    }

    fn violation(&self, p: &[f64]) -> f64 {
        if check_finite("point", p).is_err() {
            return f64::INFINITY;
        }
        spectral_norm(p, self.rows, self.columns).map_or(f64::INFINITY, |s| excess(s - self.radius))
    }

    fn center(&self, out: &mut [f64]) {
        out.fill(0.0);
    }

    fn describe(&self) -> String {
        let SpectralBall { rows, columns, radius } = self;
        format!("the spectral-norm ball of radius {radius} of {rows} x {columns} matrices")
    }

    fn is_polytope(&self) -> Option<bool> {
        Some(self.dim() == 1)
    }

    fn oracle(&self) -> Box<dyn Oracle + '_> {
        Box::new(PlainOracle::new(SingularValues(self), self.dim(), self.diameter()))
    }
}

struct SingularValues<'a>(&'a SpectralBall);

impl SingularValues<'_> {
    /// Writes the matrix with the singular vectors of `a` and the singular values that `new` makes of its own.
    fn rewrite(&self, a: &[f64], new: impl Fn(f64) -> f64, out: &mut [f64]) -> Result<()> {
        let SpectralBall { rows, columns, .. } = *self.0;
        let parts = MatRef::from_row_major_slice(a, rows, columns).thin_svd().map_err(|e| {
            Error::Numerical { what: "singular value decomposition", why: format!("{e:?}") }
        })?;
        let (left, values, right) = (parts.U(), parts.S(), parts.V());
        out.fill(0.0);
        for k in 0..rows.min(columns) {
            let column: Vec<f64> = (0..columns).map(|j| right[(j, k)]).collect();
            let value = new(values[k]);
            for (i, row) in out.chunks_exact_mut(columns).enumerate() {
                axpy(value * left[(i, k)], &column, row);
            }
        }
        Ok(())
    }
}

impl Work for SingularValues<'_> {
    fn lmo(&mut self, g: &[f64], p: &mut [f64]) -> Result<LinearMin> {
        let SpectralBall { rows, columns, radius } = *self.0;
        self.rewrite(g, |_| -radius, p)?;
        let reach = radius * (rows.min(columns) as f64).sqrt();
        Ok(found(g, p, 16 * (rows + columns), reach))
    }

    fn projects(&self) -> bool {
        true
    }

    fn project(&mut self, v: &[f64], out: &mut [f64]) -> Result<()> {
        self.rewrite(v, |s| s.min(self.0.radius), out)
    }
}
