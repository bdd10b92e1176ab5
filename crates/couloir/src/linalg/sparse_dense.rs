//! Sparse times dense: the scores `S = A X^T` of all rows for all classes, and the adjoint `G = W^T A`.
//!
//! `A` is `n x d`, `X` and `G` belong to `h` classes and `d` features, `S` and `W` are `n x h` (row-major). Both
//! products are the same loop: line `i` of the result is a combination of the lines of a dense matrix
//! whose lines (of one feature, of one row) are `h` numbers side by side, so that it runs over `h` in
//! vector registers. Every line is computed by one task in one order: the same bits on any number of
//! threads. Tasks are made of about equally many non-zeros, for text has features that nearly every row
//! has.

use super::SparseMatrix;
use super::simd::{dispatch, fma};
use super::sparse::Compressed;
use crate::scratch::Pool;

/// How a matrix of `h` classes x `d` features lies in a flat slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// Class after class: entry `(j, k)` at `j d + k`, as a row-major `h x d` matrix.
    ClassMajor,
    /// Feature after feature: entry `(j, k)` at `k h + j`, as a row-major `d x h` matrix; products need no
    /// transposition. The nuclear norm does not mind.
    #[default]
    FeatureMajor,
}

/// Numbers in a vector register that the kernels count on.
const LANES: usize = 4;
/// Registers of sums that a kernel keeps; 16 in all.
const MOST_VECTORS: usize = 14;
/// Non-zeros of one task, and lines at the most.
const TASK_NONZEROS: usize = 8192;
const TASK_LINES: usize = 256;
/// Columns that are transposed at a time.
const TRANSPOSED: usize = 64;

/// `A` with what its products with `h` classes need.
#[derive(Debug)]
pub struct ScoreOperator {
    matrix: SparseMatrix,
    classes: usize,
    layout: Layout,
    row_tasks: Vec<u32>,
    column_tasks: Vec<u32>,
    scratch: Pool,
}

impl ScoreOperator {
    /// The products of a matrix with `classes` vectors.
    #[must_use]
    pub fn new(matrix: SparseMatrix, classes: usize, layout: Layout) -> Self {
        let row_tasks = tasks(&matrix.rows.starts);
        let column_tasks = tasks(&matrix.columns.starts);
        ScoreOperator { matrix, classes, layout, row_tasks, column_tasks, scratch: Pool::default() }
    }

    /// `A`.
    #[must_use]
    pub fn matrix(&self) -> &SparseMatrix {
        &self.matrix
    }

    /// `h`.
    #[must_use]
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// How `X` and `G` lie.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// `out = A X^T`.
    ///
    /// # Panics
    /// If `x` does not hold `h d` or `out` not `n h` numbers.
    pub fn scores(&self, x: &[f64], out: &mut [f64]) {
        let (h, d) = (self.classes, self.matrix.columns());
        assert!(x.len() == h * d && out.len() == h * self.matrix.rows(), "shapes of scores");
        match self.layout {
            Layout::FeatureMajor => products(&self.matrix.rows, &self.row_tasks, h, x, out),
            Layout::ClassMajor => self.scratch.with(h * d, |by_feature| {
                transpose(x, h, d, by_feature);
                products(&self.matrix.rows, &self.row_tasks, h, by_feature, out);
            }),
        }
    }

    /// `out = W^T A`.
    ///
    /// # Panics
    /// If `w` does not hold `n h` or `out` not `h d` numbers.
    pub fn adjoint(&self, w: &[f64], out: &mut [f64]) {
        let (h, d) = (self.classes, self.matrix.columns());
        assert!(out.len() == h * d && w.len() == h * self.matrix.rows(), "shapes of the adjoint");
        match self.layout {
            Layout::FeatureMajor => products(&self.matrix.columns, &self.column_tasks, h, w, out),
            Layout::ClassMajor => self.scratch.with(h * d, |by_feature| {
                products(&self.matrix.columns, &self.column_tasks, h, w, by_feature);
                transpose(by_feature, d, h, out);
            }),
        }
    }
}

/// Bounds of tasks of about equally many non-zeros.
fn tasks(starts: &[usize]) -> Vec<u32> {
    let mut bounds = vec![0u32];
    let (mut lines, mut first) = (0, 0);
    for i in 1..starts.len() {
        lines += 1;
        if starts[i] - first >= TASK_NONZEROS || lines == TASK_LINES || i + 1 == starts.len() {
            bounds.push(i as u32);
            (lines, first) = (0, starts[i]);
        }
    }
    bounds
}

/// Line `i` of `out` is `sum_j m_ij dense_j`, for the lines between the first and the last task bound.
fn products(m: &Compressed, tasks: &[u32], h: usize, dense: &[f64], out: &mut [f64]) {
    if h == 0 || tasks.len() < 2 {
        return;
    }
    if tasks.len() == 2 {
        combine_lines(m, tasks[0] as usize, h, dense, out);
        return;
    }
    let middle = tasks.len() / 2;
    let (first, second) = out.split_at_mut((tasks[middle] - tasks[0]) as usize * h);
    rayon::join(
        || products(m, &tasks[..=middle], h, dense, first),
        || products(m, &tasks[middle..], h, dense, second),
    );
}

dispatch! {
    /// The lines of `m` from `first` on, as many as `out` has room for.
    fn combine_lines = combine_lines_any(
        m: &Compressed, first: usize, h: usize, dense: &[f64], out: &mut [f64]
    )
}

#[inline(always)]
fn combine_lines_any<const FUSED: bool>(
    m: &Compressed,
    first: usize,
    h: usize,
    dense: &[f64],
    out: &mut [f64],
) {
    if h < LANES {
        return combine_short::<FUSED>(m, first, h, dense, out);
    }
    // as few blocks of classes as the registers allow, about equally wide
    let blocks = h.div_ceil(LANES * MOST_VECTORS);
    for b in 0..blocks {
        let (from, to) = (b * h / blocks, (b + 1) * h / blocks);
        macro_rules! by_width {
            ($($full:literal)*) => {
                match ((to - from) / LANES, (to - from) % LANES > 0) {
                    $(
                        ($full, false) =>
                            combine_block::<$full, false, FUSED>(m, first, h, from, to, dense, out),
                        ($full, true) =>
                            combine_block::<$full, true, FUSED>(m, first, h, from, to, dense, out),
                    )*
                    _ => unreachable!("blocks have 1 to 14 vectors"),
                }
            };
        }
        by_width!(1 2 3 4 5 6 7 8 9 10 11 12 13 14);
    }
}

/// Classes `from..to`, which are `FULL` vectors and, where `TAIL`, a last one that overlaps the one before.
#[inline(always)]
fn combine_block<const FULL: usize, const TAIL: bool, const FUSED: bool>(
    m: &Compressed,
    first: usize,
    h: usize,
    from: usize,
    to: usize,
    dense: &[f64],
    out: &mut [f64],
) {
    for (i, out) in out.chunks_exact_mut(h).enumerate() {
        let (indices, values) = m.line(first + i);
        let mut sums = [[0.0; LANES]; FULL];
        let mut tail = [0.0; LANES];
        for (&j, &value) in indices.iter().zip(values) {
            let start = j as usize * h;
            let line = &dense[start + from..start + to];
            let (Some(full), Some(last)) =
                (line.as_chunks::<LANES>().0.first_chunk::<FULL>(), line.last_chunk::<LANES>())
            else {
                return;
            };
            for v in 0..FULL {
                for l in 0..LANES {
                    sums[v][l] = fma::<FUSED>(value, full[v][l], sums[v][l]);
                }
            }
            if TAIL {
                for l in 0..LANES {
                    tail[l] = fma::<FUSED>(value, last[l], tail[l]);
                }
            }
        }
        let out = &mut out[from..to];
        for (out, sums) in out.as_chunks_mut::<LANES>().0.iter_mut().zip(&sums) {
            *out = *sums;
        }
        if TAIL && let Some(last) = out.last_chunk_mut::<LANES>() {
            *last = tail;
        }
    }
}

/// Fewer classes than a vector holds.
#[inline(always)]
fn combine_short<const FUSED: bool>(
    m: &Compressed,
    first: usize,
    h: usize,
    dense: &[f64],
    out: &mut [f64],
) {
    for (i, out) in out.chunks_exact_mut(h).enumerate() {
        let (indices, values) = m.line(first + i);
        let mut sums = [0.0; LANES];
        for (&j, &value) in indices.iter().zip(values) {
            let start = j as usize * h;
            for (sum, x) in sums.iter_mut().zip(&dense[start..start + h]) {
                *sum = fma::<FUSED>(value, *x, *sum);
            }
        }
        out.copy_from_slice(&sums[..h]);
    }
}

/// `out` (`cols x rows`) `= x` (`rows x cols`) transposed, both row-major.
pub(crate) fn transpose(x: &[f64], rows: usize, cols: usize, out: &mut [f64]) {
    use rayon::prelude::*;
    if rows == 0 || cols == 0 {
        return;
    }
    let (tile, wide) = if rows <= cols { (TRANSPOSED, true) } else { (1, false) };
    if wide {
        // lines of `out` are short: a task writes a stretch of them and reads a stretch of every row
        out.par_chunks_mut(tile * rows).enumerate().for_each(|(t, out)| {
            transpose_tile(x, cols, t * tile, rows, out);
        });
    } else {
        // lines of `out` are long: a task writes a few of them, piece by piece
        const LINES: usize = 8;
        out.par_chunks_mut(LINES * rows).enumerate().for_each(|(t, out)| {
            for first in (0..rows).step_by(TRANSPOSED) {
                let last = (first + TRANSPOSED).min(rows);
                for (j, out) in out.chunks_exact_mut(rows).enumerate() {
                    let column = t * LINES + j;
                    for (i, o) in (first..last).zip(&mut out[first..last]) {
                        *o = x[i * cols + column];
                    }
                }
            }
        });
    }
}

fn transpose_tile(x: &[f64], cols: usize, first: usize, rows: usize, out: &mut [f64]) {
    let width = out.len() / rows;
    for i in 0..rows {
        let row = &x[i * cols + first..i * cols + first + width];
        for (j, x) in row.iter().enumerate() {
            out[j * rows + i] = *x;
        }
    }
}
