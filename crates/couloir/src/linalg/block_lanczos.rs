//! Leading singular pairs of a matrix that is known by its products with blocks of vectors, by the block Lanczos process on
//! the Gram matrix of its smaller side, and an upper bound of the largest singular value (docs/theory.md, section 2).

use super::spectral::{SymmetricEigen, product, safe_factor, transposed_product};
use super::{axpy, dot, norm, scale, transpose};
use crate::error::{Error, Result, check_finite};
use crate::watch::Watch;
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

/// A matrix by its products. Blocks of `k` vectors are row-major.
pub(crate) trait MatrixProducts {
    /// Rows and columns.
    fn shape(&self) -> (usize, usize);
    /// `out = M block`.
    fn times(&self, k: usize, block: &[f64], out: &mut [f64]);
    /// `out = M' block`.
    fn transposed_times(&self, k: usize, block: &[f64], out: &mut [f64]);
    /// A bound of the Frobenius norm.
    fn frobenius(&self) -> f64;
    /// A bound of the rounding of a product, relative to that norm and the length of a vector.
    fn rounding(&self) -> f64;
}

/// Vectors of a block. More of them make the bound sharper for the same number of products up to about here: with eight
/// random vectors the overlap that holds but for a probability of 1e-9 is 3.5e-3 for n = 2,000, with one it is 2.8e-11.
const WIDTH: usize = 8;

/// How far a column may shrink in the second orthogonalisation before it counts as rounding.
const IS_NOISE: f64 = 0.1;

/// What is asked of [`leading_pairs`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    /// The most pairs that are returned.
    pub pairs: usize,
    /// The process goes on until the upper bound of the largest singular value is within this of it, relatively.
    pub accuracy: f64,
    /// The most steps, each with two products of a block.
    pub most_steps: usize,
    /// The probability with which the upper bound may fail.
    pub failure: f64,
}

/// The leading singular pairs of a matrix.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leading {
    /// Singular values, falling: each is `|M u|` or `|M' u|` of its vector, so a lower bound.
    pub sigma: Vec<f64>,
    /// Left vectors, `rows x k`, row-major.
    pub left: Vec<f64>,
    /// Right vectors, `columns x k`, row-major.
    pub right: Vec<f64>,
    /// An upper bound of the largest singular value.
    pub upper: f64,
    /// Whether the bound is certain.
    pub is_certain: bool,
    /// Products of the matrix with a vector.
    pub products: u64,
}

/// Finds leading singular pairs from a block of random vectors, whose standard normal entries `gaussian` draws.
///
/// # Errors
/// An interruption by the watch; numbers that are not finite.
pub(crate) fn leading_pairs(
    matrix: &dyn MatrixProducts,
    request: Request,
    gaussian: impl FnMut() -> f64,
    watch: &Watch,
) -> Result<Leading> {
    let frobenius = matrix.frobenius();
    check_finite("gradient", &[frobenius])?;
    if frobenius <= 0.0 {
        return Ok(Leading { is_certain: true, ..Leading::default() });
    }
    Process::new(matrix, frobenius, request.failure, gaussian).run(request, watch)
}

/// The process: `S Q_j = Q_{j-1} B_{j-1}' + Q_j A_j + Q_{j+1} B_j` for the Gram matrix `S` of the smaller side.
struct Process<'a> {
    matrix: &'a dyn MatrixProducts,
    /// Whether the rows are the smaller side.
    is_wide: bool,
    n: usize,
    long: usize,
    b: usize,
    /// Products are multiplied by this, so that squares neither overflow nor vanish.
    factor: f64,
    /// The Frobenius norm, times the factor.
    frobenius: f64,
    /// A lower bound of `|Q_1' u|` for a leading vector u, but for the probability of failure.
    overlap: f64,
    /// `Q_j`, each `n x b`.
    basis: Vec<Vec<f64>>,
    /// `A_j` and `B_j`, each `b x b`.
    diagonal: Vec<Vec<f64>>,
    below: Vec<Vec<f64>>,
    /// The square of what the equation above leaves out: coefficients that vanish but for rounding.
    dropped: f64,
    half: Vec<f64>,
}

impl<'a> Process<'a> {
    fn new(
        matrix: &'a dyn MatrixProducts,
        frobenius: f64,
        failure: f64,
        mut gaussian: impl FnMut() -> f64,
    ) -> Self {
        let (rows, columns) = matrix.shape();
        let (n, long) = (rows.min(columns), rows.max(columns));
        let b = WIDTH.min(n);
        let factor = safe_factor(frobenius);
        let mut process = Process {
            matrix,
            is_wide: rows <= columns,
            n,
            long,
            b,
            factor,
            frobenius: frobenius * factor,
            overlap: overlap(n, b, failure),
            basis: Vec::new(),
            diagonal: Vec::new(),
            below: Vec::new(),
            dropped: 0.0,
            half: vec![0.0; long * b],
        };
        let mut start: Vec<f64> = (0..n * b).map(|_| gaussian()).collect();
        orthonormalise(n, b, 0.0, &mut start);
        process.basis.push(start);
        process
    }

    fn run(mut self, request: Request, watch: &Watch) -> Result<Leading> {
        let most = request.most_steps.min(self.n.div_ceil(self.b)).max(1);
        loop {
            watch.check()?;
            let is_exhausted = self.step()?;
            let steps = self.diagonal.len();
            let last = is_exhausted || steps >= most;
            // looks cost little beside the products of two steps
            if last || steps >= 3 && steps.is_multiple_of(2) {
                let ritz = self.ritz()?;
                let theta = ritz.top_value().max(0.0);
                let upper = self.upper_bound(theta)?;
                if last || upper <= (1.0 + request.accuracy).powi(2) * theta {
                    return self.pairs(&ritz, upper, request.pairs);
                }
            }
        }
    }

    /// `out = S block`, both `n x k`, with scratch memory for `long x k`.
    fn gram(&self, k: usize, block: &[f64], half: &mut [f64], out: &mut [f64]) {
        if self.is_wide {
            self.matrix.transposed_times(k, block, half);
            rescale(self.factor, half);
            self.matrix.times(k, half, out);
        } else {
            self.matrix.times(k, block, half);
            rescale(self.factor, half);
            self.matrix.transposed_times(k, half, out);
        }
        rescale(self.factor, out);
    }

    /// One step; tells whether the space is exhausted.
    fn step(&mut self) -> Result<bool> {
        let (n, b, k) = (self.n, self.b, self.diagonal.len());
        let mut next = vec![0.0; n * b];
        let mut half = std::mem::take(&mut self.half);
        self.gram(b, &self.basis[k], &mut half, &mut next);
        self.half = half;
        check_finite("Lanczos vectors", &next)?;
        let mut c = vec![0.0; b * b];
        for (j, q) in self.basis.iter().enumerate() {
            transposed_product(n, b, b, q, &next, &mut c);
            subtract(n, b, q, &c, &mut next);
            if j == k {
                // what is not symmetric is rounding
                let mut a = c.clone();
                for r in 0..b {
                    for s in 0..b {
                        a[r * b + s] = 0.5 * (c[r * b + s] + c[s * b + r]);
                        self.dropped += (c[r * b + s] - a[r * b + s]).powi(2);
                    }
                }
                self.diagonal.push(a);
            } else if j + 1 == k {
                let before = &self.below[j];
                let off = |r: usize, s: usize| (c[r * b + s] - before[s * b + r]).powi(2);
                self.dropped += (0..b * b).map(|i| off(i / b, i % b)).sum::<f64>();
            } else {
                self.dropped += dot(&c, &c);
            }
        }
        let tiny = 4.0 * f64::EPSILON * self.frobenius * self.frobenius;
        let first = orthonormalise(n, b, tiny, &mut next);
        // once more: columns that lost much are not orthogonal to the basis yet
        for q in &self.basis {
            transposed_product(n, b, b, q, &next, &mut c);
            subtract(n, b, q, &c, &mut next);
            let mut lost = vec![0.0; b * b];
            product(b, &c, &first.r, &mut lost);
            self.dropped += dot(&lost, &lost);
        }
        let second = orthonormalise(n, b, IS_NOISE, &mut next);
        // what is left out of the columns of the block is measured by their coefficients
        self.dropped += first.dropped;
        for j in (0..b).filter(|&j| second.r[j * (b + 1)] == 0.0) {
            let row = &first.r[j * b..(j + 1) * b];
            self.dropped += dot(row, row);
        }
        let mut r = vec![0.0; b * b];
        product(b, &second.r, &first.r, &mut r);
        let is_exhausted = r.iter().all(|v| *v == 0.0);
        self.below.push(r);
        self.basis.push(next);
        Ok(is_exhausted)
    }

    /// The eigenvalues and vectors of the block tridiagonal matrix `T`.
    fn ritz(&self) -> Result<SymmetricEigen> {
        let (b, k) = (self.b, self.diagonal.len());
        let size = k * b;
        let mut t = vec![0.0; size * size];
        for (j, a) in self.diagonal.iter().enumerate() {
            for r in 0..b {
                for s in 0..b {
                    t[(j * b + r) * size + j * b + s] = a[r * b + s];
                }
            }
        }
        for (j, below) in self.below[..k - 1].iter().enumerate() {
            for r in 0..b {
                for s in 0..b {
                    let (row, column) = ((j + 1) * b + r, j * b + s);
                    t[row * size + column] = below[r * b + s];
                    t[column * size + row] = below[r * b + s];
                }
            }
        }
        let mut eigen = SymmetricEigen::new(size);
        eigen.decompose(&t)?;
        Ok(eigen)
    }

    /// An upper bound of the largest eigenvalue of `S`, but for the probability of failure.
    fn upper_bound(&self, theta: f64) -> Result<f64> {
        let ceiling = self.frobenius * self.frobenius * (1.0 + 8.0 * f64::EPSILON);
        if ceiling <= theta {
            return Ok(theta);
        }
        let mut decay = Decay::new(self.b);
        let columns = (self.b * self.diagonal.len()) as f64;
        let products = 2.0 * self.matrix.rounding() * self.frobenius;
        let mut is_possible = |excess: f64| -> Result<bool> {
            let lambda = theta + excess;
            let rounding = columns.sqrt()
                * (products * lambda.sqrt() + 4.0 * columns * f64::EPSILON * lambda)
                + self.dropped.sqrt();
            let decayed = decay.at(lambda, &self.diagonal, &self.below)?;
            Ok(decayed * (1.0 + 1e-6) + rounding / excess >= self.overlap)
        };
        // bisection on the logarithm of the excess
        let (mut low, mut high) =
            ((f64::EPSILON * theta.max(f64::MIN_POSITIVE)).ln(), (ceiling - theta).ln());
        if is_possible(high.exp())? {
            return Ok(ceiling);
        }
        while high - low > 0.02 {
            let middle = 0.5 * (low + high);
            if is_possible(middle.exp())? {
                low = middle;
            } else {
                high = middle;
            }
        }
        Ok(theta + high.exp())
    }

    /// The pairs of the largest Ritz values.
    fn pairs(self, ritz: &SymmetricEigen, upper: f64, most: usize) -> Result<Leading> {
        let (n, b) = (self.n, self.b);
        let size = b * self.diagonal.len();
        let k = most.min(size);
        let mut short = vec![0.0; n * k];
        for (j, q) in self.basis[..self.diagonal.len()].iter().enumerate() {
            let mut y = vec![0.0; b * k];
            for l in 0..k {
                let vector = ritz.vector(size - 1 - l);
                (0..b).for_each(|r| y[r * k + l] = vector[j * b + r]);
            }
            matmul(
                MatMut::from_row_major_slice_mut(&mut short, n, k),
                Accum::Add,
                MatRef::from_row_major_slice(q, n, b),
                MatRef::from_row_major_slice(&y, b, k),
                1.0,
                Par::Seq,
            );
        }
        normalise_columns(n, k, &mut short);
        let mut long = vec![0.0; self.long * k];
        if self.is_wide {
            self.matrix.transposed_times(k, &short, &mut long);
        } else {
            self.matrix.times(k, &short, &mut long);
        }
        let mut sigma = normalise_columns(self.long, k, &mut long);
        let kept = sigma.iter().take_while(|s| **s > 0.0).count();
        if kept == 0 {
            let why = format!("the top singular value came out as {:?}", sigma.first());
            return Err(Error::Numerical { what: "Lanczos process", why });
        }
        sigma.truncate(kept);
        let (short, long) = (first_columns(k, kept, short), first_columns(k, kept, long));
        let (left, right) = if self.is_wide { (short, long) } else { (long, short) };
        let upper = (upper.sqrt() / self.factor).max(sigma[0]) * (1.0 + 4.0 * f64::EPSILON);
        let products = 2 * (size as u64) + k as u64;
        Ok(Leading { sigma, left, right, upper, is_certain: n <= WIDTH, products })
    }
}

/// A lower bound of the length of the projection of a fixed unit vector of `R^n` on a uniformly random subspace of `b`
/// dimensions (an even number), which fails with at most this probability.
///
/// The square of the length has the Beta(a, c) distribution, `a = b/2`, `c = (n - b)/2`. Its density is
/// `t^(a-1) (1-t)^(c-1)/B(a, c)`, so that `P(square <= t) <= t^a/(a B(a, c))` for `c >= 1`, and for `c = 1/2` and `t <= 1/2` at
/// most `sqrt(2)` times that; `1/(a B(a, c)) = c (c+1) ... (c+a-1)/a!`.
fn overlap(n: usize, b: usize, failure: f64) -> f64 {
    if b >= n {
        return 1.0;
    }
    let (a, c) = (b / 2, 0.5 * (n - b) as f64);
    let (factor, most) = if c >= 1.0 { (1.0, 1.0) } else { (std::f64::consts::SQRT_2, 0.5) };
    let ratio: f64 = (0..a).map(|i| (i + 1) as f64 / (c + i as f64)).product();
    let square = (failure / factor * ratio).powf(1.0 / a as f64).min(most);
    square.sqrt() * (1.0 - 1e-6)
}

/// The decreasing bound of `|Q_1' u|` for an eigenvector u of an eigenvalue `lambda` above those of T.
struct Decay {
    b: usize,
    eigen: SymmetricEigen,
    small: SymmetricEigen,
    d: Vec<f64>,
    /// `B D^-1 B'`, and for the first block `B D^-2 B'`.
    x: Vec<f64>,
    squared: Vec<f64>,
    work: Vec<f64>,
    other: Vec<f64>,
}

impl Decay {
    fn new(b: usize) -> Self {
        let zeros = vec![0.0; b * b];
        Decay {
            b,
            eigen: SymmetricEigen::new(b),
            small: SymmetricEigen::new(b),
            d: zeros.clone(),
            x: zeros.clone(),
            squared: zeros.clone(),
            work: zeros.clone(),
            other: zeros,
        }
    }

    /// The square root of `|D_2^-1/2 B_1 D_1^-2 B_1' D_2^-1/2| prod_j |D_{j+1}^-1/2 B_j D_j^-1 B_j' D_{j+1}^-1/2|
    /// |B_k D_k^-1 B_k'|`, with the pivots `D_1 = lambda - A_1`, `D_{j+1} = lambda - A_{j+1} - B_j D_j^-1 B_j'`: infinite
    /// where a pivot is not positive definite.
    fn at(&mut self, lambda: f64, diagonal: &[Vec<f64>], below: &[Vec<f64>]) -> Result<f64> {
        let b = self.b;
        let mut log = 0.0;
        self.x.fill(0.0);
        for (j, (a, next)) in diagonal.iter().zip(below).enumerate() {
            for (i, d) in self.d.iter_mut().enumerate() {
                let on_diagonal = if i % (b + 1) == 0 { lambda } else { 0.0 };
                *d = on_diagonal - a[i] - self.x[i];
            }
            self.eigen.decompose(&self.d)?;
            if self.eigen.values[0].is_nan() || self.eigen.values[0] <= 0.0 {
                return Ok(f64::INFINITY);
            }
            if j > 0 {
                // the factor that joins this block with the one before
                self.power(-0.5);
                let inner = if j == 1 { &self.squared } else { &self.x };
                product(b, &self.work, inner, &mut self.other);
                product(b, &self.other, &self.work, &mut self.d);
                log += self.largest()?;
            }
            if j == 0 {
                self.power(-2.0);
                self.between(next);
                self.squared.copy_from_slice(&self.d);
            }
            self.power(-1.0);
            self.between(next);
            self.x.copy_from_slice(&self.d);
        }
        if diagonal.len() == 1 {
            self.d.copy_from_slice(&self.squared);
        }
        log += self.largest()?;
        Ok((0.5 * log).exp())
    }

    /// `work = D^p`.
    fn power(&mut self, p: f64) {
        let b = self.b;
        self.work.fill(0.0);
        for k in 0..b {
            let (value, vector) = (self.eigen.values[k].powf(p), self.eigen.vector(k));
            for (row, v) in self.work.chunks_exact_mut(b).zip(vector) {
                axpy(value * v, vector, row);
            }
        }
    }

    /// `d = B work B'`.
    fn between(&mut self, below: &[f64]) {
        let b = self.b;
        product(b, below, &self.work, &mut self.other);
        for (row, out) in self.other.chunks_exact(b).zip(self.d.chunks_exact_mut(b)) {
            for (o, line) in out.iter_mut().zip(below.chunks_exact(b)) {
                *o = dot(row, line);
            }
        }
    }

    /// The logarithm of the norm of `d`, rounded up.
    fn largest(&mut self) -> Result<f64> {
        self.small.decompose(&self.d)?;
        Ok(self.small.top_value().max(0.0).ln() + 1e-9)
    }
}

/// Multiplies by a factor that is mostly one.
fn rescale(factor: f64, x: &mut [f64]) {
    if factor != 1.0 {
        scale(factor, x);
    }
}

/// `x -= q c`.
fn subtract(n: usize, k: usize, q: &[f64], c: &[f64], x: &mut [f64]) {
    let (q, c) = (MatRef::from_row_major_slice(q, n, k), MatRef::from_row_major_slice(c, k, k));
    matmul(MatMut::from_row_major_slice_mut(x, n, k), Accum::Add, q, c, -1.0, Par::Seq);
}

/// The triangle of a factorisation, row-major, and the square of what it leaves out.
struct Triangle {
    r: Vec<f64>,
    dropped: f64,
}

/// `x = Q R` by Gram-Schmidt, every column twice: `x` becomes `Q`. Columns of which no more than `tiny` is left become zero.
fn orthonormalise(n: usize, k: usize, tiny: f64, x: &mut [f64]) -> Triangle {
    let mut columns = vec![0.0; n * k];
    transpose(x, n, k, &mut columns);
    let mut triangle = Triangle { r: vec![0.0; k * k], dropped: 0.0 };
    for j in 0..k {
        let (done, rest) = columns.split_at_mut(j * n);
        let column = &mut rest[..n];
        for _ in 0..2 {
            for (i, q) in done.chunks_exact(n).enumerate() {
                let along = dot(q, column);
                triangle.r[i * k + j] += along;
                axpy(-along, q, column);
            }
        }
        let length = norm(column);
        if length > tiny {
            triangle.r[j * (k + 1)] = length;
            scale(1.0 / length, column);
        } else {
            triangle.dropped += length * length;
            column.fill(0.0);
        }
    }
    transpose(&columns, k, n, x);
    triangle
}

/// Normalises the columns of a row-major `n x k` block and returns their lengths; a column of zeros stays.
fn normalise_columns(n: usize, k: usize, x: &mut [f64]) -> Vec<f64> {
    let mut columns = vec![0.0; n * k];
    transpose(x, n, k, &mut columns);
    let lengths: Vec<f64> = columns.chunks_exact(n).map(norm).collect();
    for (column, length) in columns.chunks_exact_mut(n).zip(&lengths) {
        if *length > 0.0 {
            scale(1.0 / length, column);
        }
    }
    transpose(&columns, k, n, x);
    lengths
}

/// The first columns of a row-major block.
fn first_columns(k: usize, kept: usize, x: Vec<f64>) -> Vec<f64> {
    if kept == k {
        return x;
    }
    x.chunks_exact(k).flat_map(|row| row[..kept].iter().copied()).collect()
}

#[cfg(test)]
mod tests;
