//! The short x long view of a matrix, and products that run over chunks of its columns while they stay in cache.

use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{BlockStructure, matmul as triangular_matmul};
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

use super::CHUNK_ENTRIES;
use crate::linalg::scratch::Pool;
use crate::linalg::{Factor, axpy, dot};

/// Chunks of one task at the most.
const TASK_CHUNKS: usize = 4;

thread_local! {
    /// Partial sums and copies of chunks.
    static SCRATCH: Pool = const { Pool::new() };
}

/// Lends this thread's scratch memory.
fn with_scratch<T>(len: usize, work: impl FnOnce(&mut [f64]) -> T) -> T {
    SCRATCH.with(|pool| pool.with(len, work))
}

/// The short x long view of flat row-major slices of a fixed shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Thin {
    rows: usize,
    cols: usize,
}

impl Thin {
    pub(crate) fn new(rows: usize, cols: usize) -> Self {
        Thin { rows, cols }
    }

    /// `h`, the smaller side.
    pub(crate) fn short(&self) -> usize {
        self.rows.min(self.cols)
    }

    /// `d`, the larger side.
    pub(crate) fn long(&self) -> usize {
        self.rows.max(self.cols)
    }

    /// Whether the flat slice holds the short x long matrix transposed.
    fn transposed(&self) -> bool {
        self.rows > self.cols
    }

    fn chunk(&self) -> usize {
        (CHUNK_ENTRIES / self.short()).clamp(64, 4096).min(self.long())
    }

    /// The short x long view.
    pub(crate) fn view<'a>(&self, x: &'a [f64]) -> MatRef<'a, f64> {
        let view = MatRef::from_row_major_slice(x, self.rows, self.cols);
        if self.transposed() { view.transpose() } else { view }
    }

    fn view_mut<'a>(&self, x: &'a mut [f64]) -> MatMut<'a, f64> {
        let view = MatMut::from_row_major_slice_mut(x, self.rows, self.cols);
        if self.transposed() { view.transpose_mut() } else { view }
    }

    /// The chunks of so many columns, as (first, count).
    fn chunks(&self, columns: usize) -> impl Iterator<Item = (usize, usize)> + use<> {
        let step = self.chunk();
        (0..columns).step_by(step).map(move |first| (first, step.min(columns - first)))
    }

    /// Where to cut so many columns in two for two threads, if that pays. It depends on the shape alone, so
    /// that sums have the same bits on any number of threads.
    fn halve(&self, columns: usize) -> Option<usize> {
        let chunks = columns.div_ceil(self.chunk());
        (chunks > TASK_CHUNKS).then(|| chunks / 2 * self.chunk())
    }

    /// The relative rounding of an inner product that [`gram`](Self::gram) computes: a random walk
    /// of roundings through a chunk and then over the chunks (the worst case, never seen, is about
    /// the square).
    pub(crate) fn rounding(&self) -> f64 {
        let chunk = self.chunk() as f64;
        let chunks = self.long() as f64 / chunk;
        f64::EPSILON * (8.0 + chunk.sqrt() + chunks.sqrt())
    }

    /// `out = a a^T` (`h x h`, both triangles): `h (h+1) d` flops.
    pub(crate) fn gram(&self, a: &[f64], out: &mut [f64]) {
        self.symmetric_cross(a, a, out);
    }

    /// `out = a b^T`, which is symmetric, in both triangles: `h (h+1) d` flops.
    pub(crate) fn symmetric_cross(&self, a: &[f64], b: &[f64], out: &mut [f64]) {
        let h = self.short();
        self.accumulate(self.view(a), self.view(b), out, |a, b, out, accumulate| {
            triangular_matmul(
                MatMut::from_column_major_slice_mut(out, h, h),
                BlockStructure::TriangularLower,
                accumulate,
                a,
                BlockStructure::Rectangular,
                b.transpose(),
                BlockStructure::Rectangular,
                1.0,
                Par::Seq,
            );
        });
        for j in 0..h {
            for i in j + 1..h {
                out[i * h + j] = out[j * h + i];
            }
        }
    }

    /// `out = a b^T`, row-major (`out[i h + j] = <a_i, b_j>`): `2 h^2 d` flops.
    pub(crate) fn cross(&self, a: &[f64], b: &[f64], out: &mut [f64]) {
        let h = self.short();
        self.accumulate(self.view(a), self.view(b), out, |a, b, out, accumulate| {
            let out = MatMut::from_row_major_slice_mut(out, h, h);
            matmul(out, accumulate, a, b.transpose(), 1.0, Par::Seq);
        });
    }

    /// Sums an `h x h` product over chunks of columns; halves go to two threads, their sums
    /// to one place.
    fn accumulate(
        &self,
        a: MatRef<'_, f64>,
        b: MatRef<'_, f64>,
        out: &mut [f64],
        product: impl Fn(MatRef<'_, f64>, MatRef<'_, f64>, &mut [f64], Accum) + Copy + Sync + Send,
    ) {
        match self.halve(a.ncols()) {
            Some(middle) => with_scratch(out.len(), |other| {
                let ((a0, a1), (b0, b1)) = (a.split_at_col(middle), b.split_at_col(middle));
                rayon::join(
                    || self.accumulate(a0, b0, out, product),
                    || self.accumulate(a1, b1, other, product),
                );
                axpy(1.0, other, out);
            }),
            None => {
                // a triangular product leaves the other triangle as it was
                out.fill(0.0);
                for (first, count) in self.chunks(a.ncols()) {
                    product(a.subcols(first, count), b.subcols(first, count), out, Accum::Add);
                }
            }
        }
    }

    /// `out = m_1 x_1 + m_2 x_2 + ...` with row-major `h x h` matrices: `2 h^2 d` flops each.
    pub(crate) fn combine(&self, terms: &[(&[f64], &[f64])], out: &mut [f64]) {
        let h = self.short();
        self.columns(self.view_mut(out), 0, |first, mut out| {
            let mut accumulate = Accum::Replace;
            for (m, x) in terms {
                let m = MatRef::from_row_major_slice(m, h, h);
                let x = self.view(x).subcols(first, out.ncols());
                matmul(out.as_mut(), accumulate, m, x, 1.0, Par::Seq);
                accumulate = Accum::Add;
            }
        });
    }

    /// `out += x m` of matrices with rows of length `h`, with a row-major `h x h` matrix.
    pub(crate) fn add_product(&self, x: &[f64], m: &[f64], out: &mut [f64]) {
        let h = self.short();
        debug_assert!(self.transposed());
        let m = MatRef::from_row_major_slice(m, h, h).transpose();
        self.columns(self.view_mut(out), 0, |first, out| {
            let x = self.view(x).subcols(first, out.ncols());
            matmul(out, Accum::Add, m, x, 1.0, Par::Seq);
        });
    }

    /// `x = m x` in place with a row-major `h x h` matrix.
    pub(crate) fn transform(&self, m: &[f64], x: &mut [f64]) {
        let h = self.short();
        let m = MatRef::from_row_major_slice(m, h, h);
        self.columns(self.view_mut(x), 0, |_, mut part| {
            let count = part.ncols();
            with_scratch(h * count, |buffer| {
                let mut copy = if self.transposed() {
                    MatMut::from_column_major_slice_mut(buffer, h, count)
                } else {
                    MatMut::from_row_major_slice_mut(buffer, h, count)
                };
                copy.copy_from(part.as_ref());
                matmul(part.as_mut(), Accum::Replace, m, copy.as_ref(), 1.0, Par::Seq);
            });
        });
    }

    /// `out = F (a - t b)` in one pass, through the few eigenvectors of `F`.
    pub(crate) fn step(&self, f: &Factor, a: &[f64], t: f64, b: &[f64], out: &mut [f64]) {
        let (h, rank) = (self.short(), f.values.len());
        let vectors = MatRef::from_row_major_slice(&f.vectors, rank, h);
        let (a, b) = (self.view(a), self.view(b));
        self.columns(self.view_mut(out), 0, |first, mut out| {
            let count = out.ncols();
            let (a, b) = (a.subcols(first, count), b.subcols(first, count));
            with_scratch((h + rank) * count, |buffer| {
                let (moved, parts) = buffer.split_at_mut(h * count);
                let (mut moved, mut parts) = if self.transposed() {
                    let moved = MatMut::from_column_major_slice_mut(moved, h, count);
                    (moved, MatMut::from_column_major_slice_mut(parts, rank, count))
                } else {
                    let moved = MatMut::from_row_major_slice_mut(moved, h, count);
                    (moved, MatMut::from_row_major_slice_mut(parts, rank, count))
                };
                faer::zip!(moved.as_mut(), a, b).for_each(|faer::unzip!(m, a, b)| *m = a - t * b);
                matmul(parts.as_mut(), Accum::Replace, vectors, moved.as_ref(), 1.0, Par::Seq);
                for (mut row, value) in parts.as_mut().row_iter_mut().zip(&f.values) {
                    row *= faer::Scale(*value);
                }
                let vectors = vectors.transpose();
                matmul(out.as_mut(), Accum::Replace, vectors, parts.as_ref(), 1.0, Par::Seq);
            });
        });
    }

    /// Runs `work` on the chunks of columns, each with the number of its first.
    fn columns(
        &self,
        x: MatMut<'_, f64>,
        first: usize,
        work: impl Fn(usize, MatMut<'_, f64>) + Copy + Sync + Send,
    ) {
        match self.halve(x.ncols()) {
            Some(middle) => {
                let (left, right) = x.split_at_col_mut(middle);
                rayon::join(
                    || self.columns(left, first, work),
                    || self.columns(right, first + middle, work),
                );
            }
            None => {
                let mut x = x;
                for (start, count) in self.chunks(x.ncols()) {
                    work(first + start, x.as_mut().subcols_mut(start, count));
                }
            }
        }
    }

    /// `out = x^T u`, of length `d`.
    pub(crate) fn mul_transposed(&self, x: &[f64], u: &[f64], out: &mut [f64]) {
        let (h, d) = (self.short(), self.long());
        // A block of `out` stays in L1 while every row adds to it.
        const BLOCK: usize = 1024;
        let fill = |(b, block): (usize, &mut [f64])| {
            if self.transposed() {
                let rows = &x[b * BLOCK * h..];
                for (o, row) in block.iter_mut().zip(rows.chunks_exact(h)) {
                    *o = dot(row, u);
                }
                return;
            }
            block.fill(0.0);
            for (i, u) in u.iter().enumerate() {
                let first = i * d + b * BLOCK;
                axpy(*u, &x[first..first + block.len()], block);
            }
        };
        match self.halve(d) {
            Some(_) => out.par_chunks_mut(BLOCK).enumerate().for_each(fill),
            None => out.chunks_mut(BLOCK).enumerate().for_each(fill),
        }
    }

    /// `out = x w`, of length `h`.
    pub(crate) fn mul(&self, x: &[f64], w: &[f64], out: &mut [f64]) {
        let (h, d) = (self.short(), self.long());
        if self.transposed() {
            self.sum_rows(x, w, out);
        } else {
            for (o, row) in out.iter_mut().zip(x.chunks_exact(d)) {
                *o = dot(row, w);
            }
        }
        debug_assert_eq!(out.len(), h);
    }

    /// `out = sum_k w_k x_k` over the rows of length `h`.
    fn sum_rows(&self, x: &[f64], w: &[f64], out: &mut [f64]) {
        if let Some(middle) = self.halve(w.len()) {
            let ((w0, w1), (x0, x1)) = (w.split_at(middle), x.split_at(middle * out.len()));
            with_scratch(out.len(), |other| {
                rayon::join(|| self.sum_rows(x0, w0, out), || self.sum_rows(x1, w1, other));
                axpy(1.0, other, out);
            });
            return;
        }
        out.fill(0.0);
        for (w, row) in w.iter().zip(x.chunks_exact(out.len())) {
            axpy(*w, row, out);
        }
    }

    /// `x = factor u w^T`.
    pub(crate) fn rank_one(&self, factor: f64, u: &[f64], w: &[f64], x: &mut [f64]) {
        let (outer, inner) = if self.transposed() { (w, u) } else { (u, w) };
        let fill = |(o, row): (&f64, &mut [f64])| {
            let o = factor * o;
            for (x, i) in row.iter_mut().zip(inner) {
                *x = o * i;
            }
        };
        match self.halve(self.long()) {
            Some(_) => outer.par_iter().zip(x.par_chunks_exact_mut(inner.len())).for_each(fill),
            None => outer.iter().zip(x.chunks_exact_mut(inner.len())).for_each(fill),
        }
    }
}

#[cfg(test)]
// Indices say what the kernels are to do.
#[allow(clippy::needless_range_loop)]
mod tests {
    use super::*;

    /// Entry `(i, j)` of the short x long view, from the definition.
    fn entry(rows: usize, cols: usize, x: &[f64], i: usize, j: usize) -> f64 {
        if rows > cols { x[j * cols + i] } else { x[i * cols + j] }
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-12 * (1.0 + b.abs())
    }

    #[test]
    fn kernels_match_the_definition_in_both_layouts() {
        // The long side spans several chunks.
        for (rows, cols) in [(3, 9001), (9001, 3), (5, 5), (1, 7), (7, 1)] {
            let thin = Thin::new(rows, cols);
            let (h, d) = (thin.short(), thin.long());
            let a: Vec<f64> = (0..h * d).map(|i| (0.7 * i as f64).sin()).collect();
            let b: Vec<f64> = (0..h * d).map(|i| (0.3 * i as f64).cos()).collect();
            let m: Vec<f64> = (0..h * h).map(|i| (1.3 * i as f64).sin()).collect();
            let at = |x: &[f64], i, j| entry(rows, cols, x, i, j);
            let (mut gram, mut cross) = (vec![f64::NAN; h * h], vec![f64::NAN; h * h]);
            thin.gram(&a, &mut gram);
            thin.cross(&a, &b, &mut cross);
            for i in 0..h {
                for j in 0..h {
                    let aa: f64 = (0..d).map(|k| at(&a, i, k) * at(&a, j, k)).sum();
                    let ab: f64 = (0..d).map(|k| at(&a, i, k) * at(&b, j, k)).sum();
                    assert!(close(gram[i * h + j], aa), "{rows} x {cols}");
                    assert!(close(cross[i * h + j], ab), "{rows} x {cols}");
                }
            }
            let mut sum = vec![f64::NAN; h * d];
            thin.combine(&[(&m, &a), (&gram, &b)], &mut sum);
            let mut changed = a.clone();
            thin.transform(&m, &mut changed);
            let (mut w, mut u) = (vec![f64::NAN; d], vec![f64::NAN; h]);
            thin.mul_transposed(&a, &m[..h], &mut w);
            thin.mul(&a, &w, &mut u);
            let mut outer = vec![f64::NAN; h * d];
            thin.rank_one(0.5, &m[..h], &w, &mut outer);
            for j in 0..d {
                let product: f64 = (0..h).map(|i| at(&a, i, j) * m[i]).sum();
                assert!(close(w[j], product));
                for i in 0..h {
                    let ma: f64 = (0..h).map(|k| m[i * h + k] * at(&a, k, j)).sum();
                    let gb: f64 = (0..h).map(|k| gram[i * h + k] * at(&b, k, j)).sum();
                    assert!(close(at(&changed, i, j), ma));
                    assert!(close(at(&sum, i, j), ma + gb));
                    assert!(close(at(&outer, i, j), 0.5 * m[i] * w[j]));
                }
            }
            for i in 0..h {
                let product: f64 = (0..d).map(|j| at(&a, i, j) * w[j]).sum();
                assert!(close(u[i], product));
            }
        }
    }
}
