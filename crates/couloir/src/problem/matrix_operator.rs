//! Operators on matrices that need no whole matrix.

/// A [`LinearOperator`](super::LinearOperator) whose points are `rows x columns` matrices, and which can be applied where a
/// matrix is known by thin factors, `X = L R'`, and its adjoint product `A^T s`, itself a matrix, by products with a few
/// vectors. Sets of large matrices (see [`NuclearBall`](crate::domain::NuclearBall)) are then worked on without a single
/// array of the size of `X`.
///
/// Factors and blocks of `k` vectors are row-major: `L` is `rows x k`, `R` is `columns x k`. The results must not depend on
/// the number of threads.
///
/// ```
/// use couloir::problem::MatrixOperator;
///
/// /// `A X = (a' X b)`, one measurement of rank one.
/// struct Measurement { a: Vec<f64>, b: Vec<f64> }
///
/// impl MatrixOperator for Measurement {
///     fn shape(&self) -> (usize, usize) { (self.a.len(), self.b.len()) }
///     fn image_of_product(&self, k: usize, left: &[f64], right: &[f64], out: &mut [f64]) {
///         let along = |v: &[f64], block: &[f64], l: usize| -> f64 { (0..v.len()).map(|i| v[i] * block[i * k + l]).sum() };
///         out[0] = (0..k).map(|l| along(&self.a, left, l) * along(&self.b, right, l)).sum();
///     }
///     fn adjoint_times(&self, s: &[f64], k: usize, block: &[f64], out: &mut [f64]) {
///         for l in 0..k {
///             let inner: f64 = (0..self.b.len()).map(|j| self.b[j] * block[j * k + l]).sum();
///             (0..self.a.len()).for_each(|i| out[i * k + l] = s[0] * self.a[i] * inner);
///         }
///     }
///     fn adjoint_transposed_times(&self, s: &[f64], k: usize, block: &[f64], out: &mut [f64]) {
///         let transposed = Measurement { a: self.b.clone(), b: self.a.clone() };
///         transposed.adjoint_times(s, k, block, out);
///     }
///     fn adjoint_norm(&self, s: &[f64]) -> f64 {
///         let length = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
///         s[0].abs() * length(&self.a) * length(&self.b)
///     }
///     fn rounding(&self) -> f64 { f64::EPSILON * (self.a.len() + self.b.len() + 4) as f64 }
/// }
///
/// let measurement = Measurement { a: vec![1.0, 2.0], b: vec![1.0, 0.0, 3.0] };
/// let mut image = [0.0];
/// measurement.image_of_product(1, &[1.0, 1.0], &[2.0, 5.0, 1.0], &mut image);
/// assert_eq!(image, [15.0]);
/// ```
pub trait MatrixOperator: Send + Sync {
    /// The shape of a point: rows and columns.
    fn shape(&self) -> (usize, usize);

    /// Writes the image of `L R'`.
    fn image_of_product(&self, k: usize, left: &[f64], right: &[f64], out: &mut [f64]);

    /// Writes `(A^T s) block`, which is `rows x k`; the block is `columns x k`.
    fn adjoint_times(&self, s: &[f64], k: usize, block: &[f64], out: &mut [f64]);

    /// Writes `(A^T s)' block`, which is `columns x k`; the block is `rows x k`.
    fn adjoint_transposed_times(&self, s: &[f64], k: usize, block: &[f64], out: &mut [f64]);

    /// An upper bound of the Frobenius norm of `A^T s`, and of the matrix of the magnitudes that are added up for its
    /// entries: the measure of [`rounding`](Self::rounding).
    fn adjoint_norm(&self, s: &[f64]) -> f64;

    /// A bound of the rounding in one product with `A^T s`: relative to [`adjoint_norm`](Self::adjoint_norm) and the
    /// length of a vector.
    fn rounding(&self) -> f64;
}
