//! Matrices that are known at some of their entries: the entries of a product of thin factors, and products of the sparse
//! matrix that has given numbers there with blocks of vectors, from both sides.
//!
//! Every output is computed by one task in one order: the same bits on any number of threads.

use super::scratch::Pool;
use super::simd::{dispatch, fma, prefetch};
use super::sparse::Lines;
use super::sparse_dense::{products, tasks};
use crate::error::{Error, Result, check_len};
use crate::state::{Digest, Fingerprint};
use rayon::prelude::*;

/// Entries that one task computes.
const CHUNK: usize = 4096;
/// Numbers in a vector register that the kernel counts on.
const LANES: usize = 4;
/// Entries between a line's prefetch and its use.
const AHEAD: usize = 16;

/// Places `(row_e, column_e)` of a `rows x columns` matrix, in the order in which they were given. A place may occur
/// several times.
///
/// With `A` the operator that takes a matrix to its numbers at these places, and `A^T` its adjoint, `A^T s` is a sparse
/// matrix: the numbers of a place that occurs several times add up.
///
/// ```
/// use couloir::linalg::ObservedEntries;
/// let entries = ObservedEntries::new(2, 3, vec![0, 1, 1], vec![2, 0, 0])?;
/// // the entries of u v'
/// let mut image = [0.0; 3];
/// entries.of_product(1, &[1.0, 2.0], &[3.0, 4.0, 5.0], &mut image);
/// assert_eq!(image, [5.0, 6.0, 6.0]);
/// // (A^T s) v
/// let mut out = [0.0; 2];
/// entries.times(&[1.0, 10.0, 100.0], 1, &[3.0, 4.0, 5.0], &mut out);
/// assert_eq!(out, [5.0, 330.0]);
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Debug)]
pub struct ObservedEntries {
    rows: usize,
    columns: usize,
    row: Vec<u32>,
    column: Vec<u32>,
    by_row: Order,
    by_column: Order,
    gathered: Pool,
}

/// The entries sorted by one of the two sides.
#[derive(Debug)]
struct Order {
    /// Line `i` has the entries from `starts[i]` to `starts[i + 1]`.
    starts: Vec<usize>,
    /// The number of each entry in the order in which they were given; none where that is this order.
    places: Vec<u32>,
    /// The other side of each entry.
    others: Vec<u32>,
    tasks: Vec<u32>,
}

/// Stable sort of `order` by `key`, of which there are `lines`: also where each line starts.
fn sorted_by(
    key: &[u32],
    lines: usize,
    order: impl Iterator<Item = u32>,
) -> (Vec<usize>, Vec<u32>) {
    let mut starts = vec![0usize; lines + 1];
    for &k in key {
        starts[k as usize + 1] += 1;
    }
    for i in 0..lines {
        starts[i + 1] += starts[i];
    }
    let mut next = starts.clone();
    let mut places = vec![0; key.len()];
    for e in order {
        let place = &mut next[key[e as usize] as usize];
        places[*place] = e;
        *place += 1;
    }
    (starts, places)
}

impl Order {
    fn new(starts: Vec<usize>, mut places: Vec<u32>, other: &[u32]) -> Self {
        let others = places.iter().map(|&e| other[e as usize]).collect();
        if places.iter().enumerate().all(|(i, &e)| i == e as usize) {
            places = Vec::new();
        }
        let tasks = tasks(&starts, 0);
        Order { starts, places, others, tasks }
    }

    /// The numbers `s` in this order.
    fn gather<T>(&self, pool: &Pool, s: &[f64], work: impl FnOnce(&[f64]) -> T) -> T {
        if self.places.is_empty() {
            return work(s);
        }
        pool.with(s.len(), |gathered| {
            gathered.par_chunks_mut(CHUNK).zip(self.places.par_chunks(CHUNK)).for_each(
                |(gathered, places)| {
                    for (g, &e) in gathered.iter_mut().zip(places) {
                        *g = s[e as usize];
                    }
                },
            );
            work(gathered)
        })
    }

    /// `out = M block` with `M` the matrix of which this order has the lines.
    fn times(&self, pool: &Pool, s: &[f64], k: usize, block: &[f64], out: &mut [f64]) {
        self.gather(pool, s, |values| {
            let (starts, ends) = (&self.starts[..], &self.starts[1..]);
            let lines = Lines { starts, ends, indices: &self.others, values };
            products(&[(lines, block)], &self.tasks, k, out);
        });
    }

    /// The most entries in one line.
    fn longest(&self) -> usize {
        self.starts.windows(2).map(|w| w[1] - w[0]).max().unwrap_or(0)
    }
}

impl ObservedEntries {
    /// These places of a `rows x columns` matrix.
    ///
    /// # Errors
    /// No places, lists of different lengths, a place outside of the matrix, more than 2^32 of anything.
    pub fn new(rows: usize, columns: usize, row: Vec<u32>, column: Vec<u32>) -> Result<Self> {
        check_len("columns of the observed entries", row.len(), column.len())?;
        let n = row.len();
        if n == 0 || rows == 0 || columns == 0 {
            let why = format!("{n} observed entries of a {rows} x {columns} matrix");
            return Err(Error::EmptySet { why });
        }
        let largest = u32::MAX as usize;
        if n >= largest
            || rows >= largest
            || columns >= largest
            || rows.checked_mul(columns).is_none()
        {
            let why = format!("{n} entries of a {rows} x {columns} matrix are too many");
            return Err(Error::Setting { name: "observed entries", why });
        }
        for (what, index, size) in [("rows", &row, rows), ("columns", &column, columns)] {
            if let Some(e) = index.iter().position(|&i| i as usize >= size) {
                let why = format!("entry {e} is {}; there are {size} {what}", index[e]);
                return Err(Error::Setting { name: what, why });
            }
        }
        // by row and, within a row, by column: what occurs several times lies side by side
        let (_, places) = sorted_by(&column, columns, 0..n as u32);
        let (starts, places) = sorted_by(&row, rows, places.into_iter());
        let by_column = sorted_by(&column, columns, places.iter().copied());
        let by_column = Order::new(by_column.0, by_column.1, &row);
        let by_row = Order::new(starts, places, &column);
        Ok(ObservedEntries { rows, columns, row, column, by_row, by_column, gathered: Pool::new() })
    }

    /// The number of rows of the matrix.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns of the matrix.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The number of places.
    #[must_use]
    pub fn len(&self) -> usize {
        self.row.len()
    }

    /// Whether there are no places; there are.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.row.is_empty()
    }

    /// The places, in the order in which they were given.
    pub fn places(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.row.iter().zip(&self.column).map(|(&i, &j)| (i as usize, j as usize))
    }

    /// Writes the entries of `L R'`; `L` is `rows x k` and `R` is `columns x k`, row after row.
    ///
    /// # Panics
    /// If a slice does not have the length that this says.
    pub fn of_product(&self, k: usize, left: &[f64], right: &[f64], out: &mut [f64]) {
        assert!(
            left.len() == self.rows * k
                && right.len() == self.columns * k
                && out.len() == self.len(),
            "shapes of the factors"
        );
        out.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, out)| {
            let range = chunk * CHUNK..chunk * CHUNK + out.len();
            sampled(&self.row[range.clone()], &self.column[range], k, left, right, out);
        });
    }

    /// Writes the entries of a whole matrix, row after row.
    ///
    /// # Panics
    /// If a slice does not have the right length.
    pub fn of_matrix(&self, x: &[f64], out: &mut [f64]) {
        assert!(x.len() == self.rows * self.columns && out.len() == self.len(), "shapes");
        for (o, (i, j)) in out.iter_mut().zip(self.places()) {
            *o = x[i * self.columns + j];
        }
    }

    /// Writes `A^T s` as a whole matrix, row after row.
    ///
    /// # Panics
    /// If a slice does not have the right length.
    pub fn adjoint(&self, s: &[f64], out: &mut [f64]) {
        assert!(out.len() == self.rows * self.columns && s.len() == self.len(), "shapes");
        out.fill(0.0);
        for (s, (i, j)) in s.iter().zip(self.places()) {
            out[i * self.columns + j] += s;
        }
    }

    /// `out = (A^T s) block`; `block` is `columns x k`.
    ///
    /// # Panics
    /// If a slice does not have the right length.
    pub fn times(&self, s: &[f64], k: usize, block: &[f64], out: &mut [f64]) {
        assert!(
            s.len() == self.len() && block.len() == self.columns * k && out.len() == self.rows * k,
            "shapes of a product"
        );
        self.by_row.times(&self.gathered, s, k, block, out);
    }

    /// `out = (A^T s)' block`; `block` is `rows x k`.
    ///
    /// # Panics
    /// If a slice does not have the right length.
    pub fn transposed_times(&self, s: &[f64], k: usize, block: &[f64], out: &mut [f64]) {
        assert!(
            s.len() == self.len() && block.len() == self.rows * k && out.len() == self.columns * k,
            "shapes of a transposed product"
        );
        self.by_column.times(&self.gathered, s, k, block, out);
    }

    /// The Frobenius norm of the matrix with the sum of `|s_e|` at every place: at least that of `A^T s`.
    #[must_use]
    pub fn adjoint_norm(&self, s: &[f64]) -> f64 {
        let Order { starts, others, .. } = &self.by_row;
        self.by_row.gather(&self.gathered, s, |values| {
            let mut total = 0.0;
            for line in starts.windows(2) {
                let (mut squares, mut sum, mut last) = (0.0, 0.0f64, None);
                for e in line[0]..line[1] {
                    if last != Some(others[e]) {
                        squares += sum * sum;
                        (sum, last) = (0.0, Some(others[e]));
                    }
                    sum += values[e].abs();
                }
                total += squares + sum * sum;
            }
            total.sqrt()
        })
    }

    /// A bound of the rounding of one product, relative to [`adjoint_norm`](Self::adjoint_norm) and the block.
    #[must_use]
    pub fn rounding(&self) -> f64 {
        let longest = self.by_row.longest().max(self.by_column.longest());
        f64::EPSILON * (longest + 2) as f64
    }

    /// How often the place that occurs most often does.
    #[must_use]
    pub fn most_at_one_place(&self) -> usize {
        let Order { starts, others, .. } = &self.by_row;
        let in_line = |line: &[usize]| {
            let runs = others[line[0]..line[1]].chunk_by(|a, b| a == b);
            runs.map(<[u32]>::len).max().unwrap_or(0)
        };
        starts.windows(2).map(in_line).max().unwrap_or(0)
    }

    pub(crate) fn fingerprint(&self, print: &mut Fingerprint) {
        print.note("shape", format!("{} x {}", self.rows, self.columns));
        let mut digest = Digest::default();
        digest.indices(&self.row);
        digest.indices(&self.column);
        print.note("observed entries (SHA-256)", digest.name());
    }
}

dispatch! {
    /// `out_e = <left_{row_e}, right_{column_e}>`.
    fn sampled = sampled_any(
        row: &[u32], column: &[u32], k: usize, left: &[f64], right: &[f64], out: &mut [f64]
    )
}

#[inline(always)]
fn sampled_any<const FUSED: bool>(
    row: &[u32],
    column: &[u32],
    k: usize,
    left: &[f64],
    right: &[f64],
    out: &mut [f64],
) {
    for (e, out) in out.iter_mut().enumerate() {
        if let Some(&next) = column.get(e + AHEAD) {
            for line in (0..k).step_by(8) {
                prefetch::<1>(right, next as usize * k + line);
            }
        }
        let (i, j) = (row[e] as usize * k, column[e] as usize * k);
        let (a, b) = (&left[i..i + k], &right[j..j + k]);
        let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
        let mut sums = [0.0; LANES];
        for (a, b) in a.iter().zip(b) {
            for l in 0..LANES {
                sums[l] = fma::<FUSED>(a[l], b[l], sums[l]);
            }
        }
        let mut sum = (sums[0] + sums[2]) + (sums[1] + sums[3]);
        for (a, b) in a_rest.iter().zip(b_rest) {
            sum = fma::<FUSED>(*a, *b, sum);
        }
        *out = sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(i: usize) -> f64 {
        ((i * i) as f64 * 0.61 + 0.3).sin()
    }

    /// Places in no order, of which some occur two and three times.
    fn entries(rows: usize, columns: usize, n: usize) -> ObservedEntries {
        let place = |e: usize, size: usize| ((e * 7919 + e * e % 13) % size) as u32;
        let mut row: Vec<u32> = (0..n).map(|e| place(e, rows)).collect();
        let mut column: Vec<u32> = (0..n).map(|e| place(3 * e + 1, columns)).collect();
        for e in 0..n / 5 {
            (row[n - 1 - e], column[n - 1 - e]) = (row[e / 2], column[e / 2]);
        }
        ObservedEntries::new(rows, columns, row, column).expect("places")
    }

    #[test]
    fn products_agree_with_those_of_the_whole_matrix_from_both_sides() {
        for (rows, columns, n) in [(1, 1, 1), (6, 5, 40), (40, 300, 9000)] {
            let entries = entries(rows, columns, n);
            let s: Vec<f64> = (0..n).map(number).collect();
            let mut whole = vec![0.0; rows * columns];
            entries.adjoint(&s, &mut whole);
            for k in [1, 3, 4, 7, 8, 17] {
                let left: Vec<f64> = (0..rows * k).map(|i| number(i + 5)).collect();
                let right: Vec<f64> = (0..columns * k).map(|i| number(i + 11)).collect();
                let mut product = vec![0.0; rows * columns];
                for i in 0..rows {
                    for j in 0..columns {
                        product[i * columns + j] =
                            (0..k).map(|l| left[i * k + l] * right[j * k + l]).sum();
                    }
                }
                let (mut image, mut seen) = (vec![0.0; n], vec![0.0; n]);
                entries.of_matrix(&product, &mut image);
                entries.of_product(k, &left, &right, &mut seen);
                assert!(image.iter().zip(&seen).all(|(a, b)| (a - b).abs() < 1e-12));

                let mut out = vec![0.0; rows * k];
                entries.times(&s, k, &right, &mut out);
                for i in 0..rows {
                    for l in 0..k {
                        let true_sum: f64 =
                            (0..columns).map(|j| whole[i * columns + j] * right[j * k + l]).sum();
                        assert!((out[i * k + l] - true_sum).abs() < 1e-11 * n as f64);
                    }
                }
                let mut out = vec![0.0; columns * k];
                entries.transposed_times(&s, k, &left, &mut out);
                for j in 0..columns {
                    for l in 0..k {
                        let true_sum: f64 =
                            (0..rows).map(|i| whole[i * columns + j] * left[i * k + l]).sum();
                        assert!((out[j * k + l] - true_sum).abs() < 1e-11 * n as f64);
                    }
                }
            }
            let frobenius = whole.iter().map(|v| v * v).sum::<f64>().sqrt();
            assert!(entries.adjoint_norm(&s) >= frobenius * (1.0 - 1e-14));
            let sizes: Vec<f64> = s.iter().map(|v| v.abs()).collect();
            entries.adjoint(&sizes, &mut whole);
            let sizes = whole.iter().map(|v| v * v).sum::<f64>().sqrt();
            assert!((entries.adjoint_norm(&s) - sizes).abs() <= 1e-13 * sizes);
        }
    }

    #[test]
    fn places_outside_of_the_matrix_and_lists_that_do_not_fit_are_refused() {
        assert!(ObservedEntries::new(2, 2, vec![], vec![]).is_err());
        assert!(ObservedEntries::new(0, 2, vec![0], vec![0]).is_err());
        assert!(ObservedEntries::new(2, 2, vec![0], vec![0, 1]).is_err());
        let error = ObservedEntries::new(2, 3, vec![0, 1], vec![0, 3]).expect_err("column 3");
        assert!(error.to_string().contains("entry 1 is 3"), "{error}");
    }
}
