//! Sparse times dense: the scores `S = A X^T` of all rows for all classes, and the adjoint `G = W^T A`.
//!
//! `A` is `n x d`, `X` and `G` belong to `h` classes and `d` features, `S` and `W` are `n x h` (row-major). Both
//! products are the same loop: line `i` of the result is a combination of the lines of a dense matrix
//! whose lines (of one feature, of one row) are `h` numbers side by side, so that it runs over `h` in
//! vector registers. Every line is computed by one task in one order: the same bits on any number of
//! threads. Tasks are made of about equally many non-zeros, for text has features that nearly every row
//! has.
//!
//! The dense matrix is larger than the caches that are fast. For the scores that does little harm where features come in order
//! of falling frequency, for the lines of the frequent ones stay in them. For the adjoint the frequent features are combined
//! from one tile of rows after the other ([`Tiled`]).

use super::SparseMatrix;
use super::rare_columns::RareColumns;
use super::simd::{dispatch, fma, prefetch};
use super::sparse::{Compressed, Lines};
use crate::linalg::scratch::Pool;
use std::ops::Range;
use std::sync::OnceLock;

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
/// Non-zeros between a line's prefetch and its use.
const AHEAD: usize = 24;
/// Non-zeros of one task, and lines at the most.
const TASK_NONZEROS: usize = 8192;
const TASK_LINES: usize = 256;
/// Bytes of a tile of rows: half of a usual second cache.
const TILE_BYTES: usize = 512 << 10;
/// Tiles that are worth it: 20 % of the time of the adjoint on rcv1's 13; on news20's 5 it took 8 % more.
const FEWEST_TILES: usize = 8;
/// Frequent columns have so many non-zeros in a tile, on average.
const TILE_NONZEROS: usize = 4;
/// Tasks that the frequent columns are cut into: few, so that a tile is used often once it is there.
const TILED_TASKS: usize = 8;
/// Columns that are transposed at a time.
const TRANSPOSED: usize = 64;

/// `A` with what its products with `h` classes need.
#[derive(Debug)]
pub struct ScoreOperator {
    matrix: SparseMatrix,
    classes: usize,
    layout: Layout,
    row_tasks: Vec<u32>,
    frequent: Tiled,
    /// Of the other columns.
    column_tasks: Vec<u32>,
    /// Formed when it is first used.
    rare: OnceLock<RareColumns>,
    scratch: Pool,
}

impl ScoreOperator {
    /// The products of a matrix with `classes` vectors.
    #[must_use]
    pub fn new(matrix: SparseMatrix, classes: usize, layout: Layout) -> Self {
        let (row_starts, column_starts) = (&matrix.rows.starts, &matrix.columns.starts);
        let frequent = Tiled::new(&matrix, classes);
        ScoreOperator {
            row_tasks: tasks(row_starts, 0),
            column_tasks: tasks(column_starts, frequent.columns()),
            frequent,
            rare: OnceLock::new(),
            classes,
            layout,
            scratch: Pool::default(),
            matrix,
        }
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
            Layout::FeatureMajor => self.scores_by_feature(x, out),
            Layout::ClassMajor => self.scratch.with(h * d, |by_feature| {
                transpose(x, h, d, by_feature);
                self.scores_by_feature(by_feature, out);
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
            Layout::FeatureMajor => self.adjoint_by_feature(w, &self.column_tasks, out),
            Layout::ClassMajor => self.scratch.with(h * d, |by_feature| {
                self.adjoint_by_feature(w, &self.column_tasks, by_feature);
                transpose(by_feature, d, h, out);
            }),
        }
    }

    /// `out = A (W^T A)^T`: both products for less, as rare features need not be gone through one by one. `room` has room for
    /// `h d` numbers.
    ///
    /// # Panics
    /// If `w` or `out` does not hold `n h` or `room` not `h d` numbers.
    pub fn normal(&self, w: &[f64], room: &mut [f64], out: &mut [f64]) {
        if self.layout == Layout::ClassMajor {
            self.adjoint(w, room);
            return self.scores(room, out);
        }
        let (h, d, n) = (self.classes, self.matrix.columns(), self.matrix.rows());
        assert!(room.len() == h * d && w.len() == h * n && out.len() == h * n, "shapes of both");
        let rare =
            self.rare.get_or_init(|| RareColumns::new(&self.matrix, self.frequent.columns()));
        self.adjoint_by_feature(w, &rare.column_tasks, &mut room[..rare.first * h]);
        let parts = [(rare.frequent(&self.matrix), &*room), (rare.product(), w)];
        products(&parts, &self.row_tasks, h, out);
    }

    fn scores_by_feature(&self, x: &[f64], out: &mut [f64]) {
        products(&[(self.matrix.rows.lines(), x)], &self.row_tasks, self.classes, out);
    }

    /// The tiled features and those of these tasks.
    fn adjoint_by_feature(&self, w: &[f64], column_tasks: &[u32], out: &mut [f64]) {
        let h = self.classes;
        let (frequent, others) = out.split_at_mut(self.frequent.columns() * h);
        rayon::join(
            || self.frequent.products(0, TILED_TASKS, h, w, frequent),
            || products(&[(self.matrix.columns.lines(), w)], column_tasks, h, others),
        );
    }
}

/// The frequent columns of a matrix, as far as they come first, cut into tiles of rows: a tile of the dense matrix stays in
/// the second cache while all columns of a task take what they need of it. Sums go on from tile to tile in the order
/// of the rows, so they have the same bits as in one go.
#[derive(Debug)]
struct Tiled {
    tiles: usize,
    /// The first column of each task, and the end.
    bounds: Vec<usize>,
    /// By task, tile and column.
    lines: Compressed,
}

impl Tiled {
    fn new(matrix: &SparseMatrix, h: usize) -> Self {
        let (n, all) = (matrix.rows(), &matrix.columns);
        let rows = (TILE_BYTES / (8 * h.max(1))).max(1);
        let tiles = n.div_ceil(rows);
        let enough = if tiles >= FEWEST_TILES { TILE_NONZEROS * tiles } else { usize::MAX };
        let is_frequent = |c: &usize| all.starts[c + 1] - all.starts[*c] >= enough;
        let count = (0..matrix.columns()).take_while(is_frequent).count();
        // about equally many non-zeros in every task
        let total = all.starts[count];
        let bound =
            |task: usize| all.starts[..count].partition_point(|s| s * TILED_TASKS < task * total);
        let bounds: Vec<usize> = (0..TILED_TASKS).map(bound).chain([count]).collect();
        let mut lines = Compressed {
            starts: Vec::with_capacity(count * tiles + 1),
            indices: Vec::with_capacity(total),
            values: Vec::with_capacity(total),
        };
        lines.starts.push(0);
        let mut next = all.starts[..count].to_vec();
        for task in bounds.windows(2) {
            for tile in 1..=tiles {
                for c in task[0]..task[1] {
                    let rest = next[c]..all.starts[c + 1];
                    let within = all.indices[rest].partition_point(|&i| (i as usize) < tile * rows);
                    let range = next[c]..next[c] + within;
                    lines.indices.extend_from_slice(&all.indices[range.clone()]);
                    lines.values.extend_from_slice(&all.values[range]);
                    lines.starts.push(lines.indices.len());
                    next[c] += within;
                }
            }
        }
        Tiled { tiles, bounds, lines }
    }

    fn columns(&self) -> usize {
        self.bounds[TILED_TASKS]
    }

    /// The columns of the tasks from `first` to `last`.
    fn products(&self, first: usize, last: usize, h: usize, dense: &[f64], out: &mut [f64]) {
        if out.is_empty() {
            return;
        }
        if last - first > 1 {
            let middle = (first + last) / 2;
            let cut = (self.bounds[middle] - self.bounds[first]) * h;
            let (left, right) = out.split_at_mut(cut);
            rayon::join(
                || self.products(first, middle, h, dense, left),
                || self.products(middle, last, h, dense, right),
            );
            return;
        }
        let columns = self.bounds[last] - self.bounds[first];
        for tile in 0..self.tiles {
            let line = self.tiles * self.bounds[first] + tile * columns;
            combine_lines(self.lines.lines(), line, h, dense, out, tile > 0);
        }
    }
}

/// Bounds of tasks of about equally many non-zeros, from a line on.
pub(super) fn tasks(starts: &[usize], from: usize) -> Vec<u32> {
    let mut bounds = vec![from as u32];
    let (mut lines, mut first) = (0, starts.get(from).copied().unwrap_or(0));
    for i in from + 1..starts.len() {
        lines += 1;
        if starts[i] - first >= TASK_NONZEROS || lines == TASK_LINES || i + 1 == starts.len() {
            bounds.push(i as u32);
            (lines, first) = (0, starts[i]);
        }
    }
    bounds
}

/// `out = A X^T` for as many rows of `matrix` as `out` has room for, from `first` on. `x` lies by features and has
/// at least those that the rows use.
pub(crate) fn score_rows(
    matrix: &SparseMatrix,
    first: usize,
    h: usize,
    x: &[f64],
    out: &mut [f64],
) {
    let last = first + out.len() / h.max(1);
    let bounds = tasks(&matrix.rows.starts[..=last], first);
    products(&[(matrix.rows.lines(), x)], &bounds, h, out);
}

/// Line `i` of `out` is `sum_j m_ij dense_j`, summed over the parts `(m, dense)`, for the lines between the first and the
/// last task bound.
pub(super) fn products(parts: &[(Lines<'_>, &[f64])], tasks: &[u32], h: usize, out: &mut [f64]) {
    if h == 0 || tasks.len() < 2 {
        return;
    }
    if tasks.len() == 2 {
        for (part, (m, dense)) in parts.iter().enumerate() {
            combine_lines(*m, tasks[0] as usize, h, dense, out, part > 0);
        }
        return;
    }
    let middle = tasks.len() / 2;
    let (first, second) = out.split_at_mut((tasks[middle] - tasks[0]) as usize * h);
    rayon::join(
        || products(parts, &tasks[..=middle], h, first),
        || products(parts, &tasks[middle..], h, second),
    );
}

dispatch! {
    /// The lines of `m` from `first` on, as many as `out` has room for, added to what is there where `add`.
    fn combine_lines = combine_lines_any(
        m: Lines<'_>, first: usize, h: usize, dense: &[f64], out: &mut [f64], add: bool
    )
}

#[inline(always)]
fn combine_lines_any<const FUSED: bool>(
    m: Lines<'_>,
    first: usize,
    h: usize,
    dense: &[f64],
    out: &mut [f64],
    add: bool,
) {
    if h < LANES {
        return combine_short::<FUSED>(m, first, h, dense, out, add);
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
                            combine_block::<$full, false, FUSED>(m, first, h, from..to, dense, out, add),
                        ($full, true) =>
                            combine_block::<$full, true, FUSED>(m, first, h, from..to, dense, out, add),
                    )*
                    _ => unreachable!("blocks have 1 to 14 vectors"),
                }
            };
        }
        by_width!(1 2 3 4 5 6 7 8 9 10 11 12 13 14);
    }
}

/// A range of classes, which are `FULL` vectors and, where `TAIL`, a last one that overlaps the one before.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn combine_block<const FULL: usize, const TAIL: bool, const FUSED: bool>(
    m: Lines<'_>,
    first: usize,
    h: usize,
    classes: Range<usize>,
    dense: &[f64],
    out: &mut [f64],
    add: bool,
) {
    let Range { start: from, end: to } = classes;
    for (i, out) in out.chunks_exact_mut(h).enumerate() {
        let (indices, values) = m.line(first + i);
        let out = &mut out[from..to];
        let mut sums = [[0.0; LANES]; FULL];
        let mut tail = [0.0; LANES];
        if add {
            for (sums, out) in sums.iter_mut().zip(out.as_chunks::<LANES>().0) {
                *sums = *out;
            }
            if TAIL && let Some(last) = out.last_chunk::<LANES>() {
                tail = *last;
            }
        }
        // beyond the end of a line the next one follows, as a rule
        let ahead = &m.indices[(m.starts[first + i] + AHEAD).min(m.indices.len())..];
        for (p, (&j, &value)) in indices.iter().zip(values).enumerate() {
            let start = j as usize * h;
            let line = &dense[start + from..start + to];
            if let Some(&j) = ahead.get(p) {
                let start = j as usize * h + from;
                prefetch::<FULL>(dense, start);
                if TAIL {
                    prefetch::<1>(dense, start + LANES * FULL);
                }
            }
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
    m: Lines<'_>,
    first: usize,
    h: usize,
    dense: &[f64],
    out: &mut [f64],
    add: bool,
) {
    for (i, out) in out.chunks_exact_mut(h).enumerate() {
        let (indices, values) = m.line(first + i);
        let mut sums = [0.0; LANES];
        if add {
            sums[..h].copy_from_slice(out);
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Streams;

    fn random(rows: usize, columns: usize, seed: u64) -> SparseMatrix {
        let mut draw = Streams::new(seed).stream("matrix");
        let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for i in 0..rows {
            for j in 0..columns as u32 {
                // the first columns are in nearly every row, some rows are empty
                if i % 7 != 3 && draw.below(u64::from(j) + 2) == 0 {
                    indices.push(j);
                    values.push(draw.below(1000) as f64 / 250.0 - 2.0);
                }
            }
            starts.push(indices.len());
        }
        SparseMatrix::from_rows(columns, starts, indices, values).expect("a matrix")
    }

    #[test]
    fn products_match_the_definition_for_every_width_and_layout() {
        for h in (1..=60).chain([105, 113]) {
            let (n, d) = (40, 70);
            let a = random(n, d, h as u64);
            let x: Vec<f64> = (0..h * d).map(|i| (0.7 * i as f64).sin()).collect();
            let w: Vec<f64> = (0..h * n).map(|i| (0.3 * i as f64).cos()).collect();
            for layout in [Layout::ClassMajor, Layout::FeatureMajor] {
                let at = |j: usize, k: usize| match layout {
                    Layout::ClassMajor => j * d + k,
                    Layout::FeatureMajor => k * h + j,
                };
                let (mut scores, mut adjoint) = (vec![0.0; n * h], vec![0.0; h * d]);
                for i in 0..n {
                    let (columns, values) = a.row(i);
                    for (&k, v) in columns.iter().zip(values) {
                        for j in 0..h {
                            scores[i * h + j] += v * x[at(j, k as usize)];
                            adjoint[at(j, k as usize)] += v * w[i * h + j];
                        }
                    }
                }
                let operator = ScoreOperator::new(a.clone(), h, layout);
                let (mut s, mut g) = (vec![f64::NAN; n * h], vec![f64::NAN; h * d]);
                operator.scores(&x, &mut s);
                operator.adjoint(&w, &mut g);
                assert!(operator.rare.get().is_none(), "formed where nobody asked for it");
                let close = |a: &[f64], b: &[f64]| {
                    a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-12 * (1.0 + b.abs()))
                };
                assert!(close(&s, &scores) && close(&g, &adjoint), "{h} {layout:?}");
                // <A X^T, W> = <X, W^T A>
                let (left, right) = (crate::linalg::dot(&s, &w), crate::linalg::dot(&x, &g));
                assert!((left - right).abs() <= 1e-11 * (1.0 + left.abs()), "{left} {right}");
                // the version without FMA
                let by_feature: Vec<f64> = (0..h * d).map(|i| x[at(i % h, i / h)]).collect();
                combine_lines_any::<false>(a.rows.lines(), 0, h, &by_feature, &mut s, false);
                assert!(close(&s, &scores), "{h} without FMA");
                // both in one
                let (mut both, mut room) = (vec![f64::NAN; n * h], vec![f64::NAN; h * d]);
                operator.scores(&adjoint, &mut s);
                operator.normal(&w, &mut room, &mut both);
                assert!(close(&both, &s), "{h} {layout:?} both");
            }
        }
    }

    #[test]
    fn both_products_in_one_with_all_few_or_no_rare_columns() {
        let h = 5;
        let matrix = |columns: usize, rows: &[&[u32]]| {
            let starts = (0..=rows.len()).map(|i| rows[..i].iter().map(|r| r.len()).sum());
            let indices = rows.concat();
            let values = (0..indices.len()).map(|p| 0.5 + (0.9 * p as f64).sin()).collect();
            SparseMatrix::from_rows(columns, starts.collect(), indices, values).expect("a matrix")
        };
        let many = random(300, 900, 7);
        let entries = |c: u32| many.rows.indices.iter().filter(|other| **other == c).count();
        let last_frequent = (0..900).filter(|c| entries(*c) > 3).max().expect("one") as usize + 1;
        assert!(last_frequent > 10 && last_frequent < 800, "{last_frequent}");
        let full: [&[u32]; 6] = [&[0, 1, 2, 3]; 6];
        let cases = [
            (matrix(4, &full), 4, "none is rare"),
            (matrix(4, &full[..3]), 0, "all are rare"),
            (matrix(7, &[&[0, 1, 4], &[0, 5], &[0, 4], &[], &[0, 4]]), 1, "one is not"),
            (matrix(4, &[&[0, 2, 2, 3], &[0, 2, 3, 3], &[0], &[0]]), 1, "columns come twice"),
            (matrix(4, &[&[3, 1], &[0, 2]]), 4, "rows are not in order"),
            (matrix(3, &[]), 0, "there are no rows"),
            (matrix(0, &[&[], &[]]), 0, "there are no columns"),
            (many, last_frequent, "many rows"),
        ];
        for (a, first_rare, what) in cases {
            let (n, d) = (a.rows(), a.columns());
            let w: Vec<f64> = (0..h * n).map(|i| (0.3 * i as f64).cos()).collect();
            let operator = ScoreOperator::new(a, h, Layout::FeatureMajor);
            let (mut g, mut two) = (vec![f64::NAN; h * d], vec![f64::NAN; n * h]);
            operator.adjoint(&w, &mut g);
            operator.scores(&g, &mut two);
            let mut one = vec![f64::NAN; n * h];
            operator.normal(&w, &mut g, &mut one);
            let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-12 * (1.0 + b.abs());
            assert!(one.iter().zip(&two).all(close), "{what}");
            assert_eq!(operator.rare.get().map(|r| r.first), Some(first_rare), "{what}");
        }
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        let (n, d, h) = (3000, 300, 21);
        let a = random(n, d, 1);
        let x: Vec<f64> = (0..h * d).map(|i| (0.7 * i as f64).sin()).collect();
        let w: Vec<f64> = (0..h * n).map(|i| (0.3 * i as f64).cos()).collect();
        for layout in [Layout::ClassMajor, Layout::FeatureMajor] {
            let operator = ScoreOperator::new(a.clone(), h, layout);
            assert!(operator.row_tasks.len() > 4 && operator.column_tasks.len() > 2);
            let run = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
                let (mut s, mut g) = (vec![0.0; n * h], vec![0.0; h * d]);
                let (mut both, mut room) = (vec![0.0; n * h], vec![0.0; h * d]);
                pool.expect("a pool").install(|| {
                    operator.scores(&x, &mut s);
                    operator.adjoint(&w, &mut g);
                    operator.normal(&w, &mut room, &mut both);
                });
                (s, g, both)
            };
            let one = run(1);
            assert!(one == run(2) && one == run(5));
        }
    }

    #[test]
    fn transposing_twice_changes_nothing() {
        for (rows, cols) in [(1, 1), (3, 200), (200, 3), (65, 65), (7, 64)] {
            let x: Vec<f64> = (0..rows * cols).map(|i| i as f64).collect();
            let (mut once, mut twice) = (vec![0.0; x.len()], vec![0.0; x.len()]);
            transpose(&x, rows, cols, &mut once);
            assert_eq!(once[rows - 1], x[(rows - 1) * cols]);
            transpose(&once, cols, rows, &mut twice);
            assert_eq!(x, twice);
        }
    }
}
