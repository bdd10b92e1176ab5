//! Measurements of rank one, `a_i' X b_i`.

use super::{MatrixMeasurements, MeasurementRounding};
use crate::error::{Error, Result, check_finite, check_len};
use crate::linalg::spectral::{product_of, transposed_product};
use crate::linalg::{dot, norm};
use crate::problem::{LinearOperator, MatrixOperator};
use crate::state::{Digest, Fingerprint};

/// The measurements `a_i' X b_i` of a matrix: what factorisation machines and networks with quadratic units see of it.
///
/// ```
/// use couloir::model::RankOneMeasurements;
/// use couloir::problem::LinearOperator;
/// // two measurements of a 2 x 3 matrix
/// let measured = RankOneMeasurements::new(2, 3, vec![1.0, 0.0, 1.0, 1.0], vec![0.0, 1.0, 0.0, 1.0, 0.0, 2.0])?;
/// let mut out = [0.0; 2];
/// measured.image(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &mut out);
/// assert_eq!(out, [2.0, 5.0 + 18.0]);
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct RankOneMeasurements {
    rows: usize,
    columns: usize,
    n: usize,
    /// `n x rows` and `n x columns`, row-major.
    a: Vec<f64>,
    b: Vec<f64>,
}

impl RankOneMeasurements {
    /// The vectors `a_i` (`n x rows`) and `b_i` (`n x columns`), one after the other.
    ///
    /// # Errors
    /// No measurements, lengths that disagree, numbers that are not finite.
    pub fn new(rows: usize, columns: usize, a: Vec<f64>, b: Vec<f64>) -> Result<Self> {
        let n = a.len().checked_div(rows).unwrap_or(0);
        if n == 0 || columns == 0 {
            let why = format!("{n} measurements of a {rows} x {columns} matrix");
            return Err(Error::EmptySet { why });
        }
        check_len("left vectors of the measurements", n * rows, a.len())?;
        check_len("right vectors of the measurements", n * columns, b.len())?;
        check_finite("left vectors of the measurements", &a)?;
        check_finite("right vectors of the measurements", &b)?;
        Ok(RankOneMeasurements { rows, columns, n, a, b })
    }

    /// The lengths `|a_i| |b_i|`.
    fn sizes(&self) -> impl Iterator<Item = f64> + '_ {
        let pairs = self.a.chunks_exact(self.rows).zip(self.b.chunks_exact(self.columns));
        pairs.map(|(a, b)| norm(a) * norm(b))
    }
}

/// `out = P' diag(s) (Q block)` for `n x p` and `n x q` matrices.
fn weighted(
    s: &[f64],
    (p, left): (usize, &[f64]),
    (q, right): (usize, &[f64]),
    k: usize,
    block: &[f64],
    out: &mut [f64],
) {
    let n = s.len();
    let mut inner = vec![0.0; n * k];
    product_of(n, q, k, right, block, &mut inner);
    for (row, s) in inner.chunks_exact_mut(k.max(1)).zip(s) {
        row.iter_mut().for_each(|x| *x *= s);
    }
    transposed_product(n, p, k, left, &inner, out);
}

impl LinearOperator for RankOneMeasurements {
    fn image_dim(&self) -> usize {
        self.n
    }

    fn image(&self, x: &[f64], out: &mut [f64]) {
        let mut products = vec![0.0; self.n * self.columns];
        product_of(self.n, self.rows, self.columns, &self.a, x, &mut products);
        let pairs = products.chunks_exact(self.columns).zip(self.b.chunks_exact(self.columns));
        out.iter_mut().zip(pairs).for_each(|(o, (p, b))| *o = dot(p, b));
    }

    fn adjoint(&self, s: &[f64], out: &mut [f64]) {
        let mut scaled = self.b.clone();
        for (row, s) in scaled.chunks_exact_mut(self.columns).zip(s) {
            row.iter_mut().for_each(|x| *x *= s);
        }
        transposed_product(self.n, self.rows, self.columns, &self.a, &scaled, out);
    }
}

impl MatrixOperator for RankOneMeasurements {
    fn shape(&self) -> (usize, usize) {
        (self.rows, self.columns)
    }

    fn image_of_product(&self, k: usize, left: &[f64], right: &[f64], out: &mut [f64]) {
        let (mut l, mut r) = (vec![0.0; self.n * k], vec![0.0; self.n * k]);
        product_of(self.n, self.rows, k, &self.a, left, &mut l);
        product_of(self.n, self.columns, k, &self.b, right, &mut r);
        let pairs = l.chunks_exact(k.max(1)).zip(r.chunks_exact(k.max(1)));
        out.iter_mut().zip(pairs).for_each(|(o, (l, r))| *o = dot(l, r));
    }

    fn adjoint_times(&self, s: &[f64], k: usize, block: &[f64], out: &mut [f64]) {
        weighted(s, (self.rows, &self.a), (self.columns, &self.b), k, block, out);
    }

    fn adjoint_transposed_times(&self, s: &[f64], k: usize, block: &[f64], out: &mut [f64]) {
        weighted(s, (self.columns, &self.b), (self.rows, &self.a), k, block, out);
    }

    fn adjoint_norm(&self, s: &[f64]) -> f64 {
        s.iter().zip(self.sizes()).map(|(s, size)| s.abs() * size).sum()
    }

    fn rounding(&self) -> f64 {
        f64::EPSILON * (self.n + self.rows.max(self.columns) + 2) as f64
    }
}

impl MatrixMeasurements for RankOneMeasurements {
    fn squared_norm(&self) -> f64 {
        self.sizes().map(|size| size * size).sum()
    }

    fn largest(&self, nuclear_norm: f64) -> f64 {
        nuclear_norm * self.sizes().fold(0.0, f64::max)
    }

    /// Of `sum_jk a_j X_jk b_k` no term goes through more roundings than there are rows and columns, and one for each product; and
    /// matrices of magnitudes have the Frobenius norm of the others.
    fn rounding_within(&self, nuclear_norm: f64) -> Option<MeasurementRounding> {
        let roundings = (self.rows + self.columns + 2) as f64;
        let longest = self.largest(1.0) * (1.0 + f64::EPSILON * roundings);
        let image = 0.5 * f64::EPSILON * roundings * nuclear_norm * longest;
        Some(MeasurementRounding { image, roundings: (self.n + 2) as f64, longest })
    }

    fn fingerprint(&self, print: &mut Fingerprint) {
        print.note("shape", format!("{} x {}", self.rows, self.columns));
        let mut digest = Digest::default();
        digest.numbers(&self.a);
        digest.numbers(&self.b);
        print.note("measurements of rank one (SHA-256)", digest.name());
    }
}
