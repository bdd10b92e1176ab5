//! Columns of a sparse matrix with so few entries that their part of `A A^T` is cheaper formed once.
//!
//! ```text
//! A A^T W = A_1 (A_1^T W) + K W,   K = A_2 A_2^T
//! ```
//!
//! with the long columns in `A_1` and the short ones in `A_2`. A column of `c` entries has `c^2` in `K`, where those of the
//! diagonal fall together, against `2 c` in both products and a line of the dense matrix that is written, and read when it
//! has left the caches. Text has mostly such columns: on news20 half of all have three entries or fewer, on rcv1 half of
//! those that have any.

use super::SparseMatrix;
use super::sparse::{Compressed, Lines};
use super::sparse_dense::tasks;

/// The most entries of a short column.
const FEW: usize = 3;

/// The columns from `first` on are short.
#[derive(Debug)]
pub(super) struct ShortColumns {
    pub(super) first: usize,
    /// Of the columns before those, after the ones that are tiled.
    pub(super) column_tasks: Vec<u32>,
    /// Where the entries of each row that are in short columns begin.
    ends: Vec<usize>,
    /// `K`, by rows.
    product: Compressed,
}

impl ShortColumns {
    /// Looks for short columns from `tiled` on.
    pub(super) fn new(matrix: &SparseMatrix, tiled: usize) -> Self {
        let (rows, columns) = (&matrix.rows, &matrix.columns);
        let is_sorted = (0..matrix.rows()).all(|i| rows.line(i).0.is_sorted());
        let is_short = |c: &usize| columns.line(*c).0.len() <= FEW;
        let all = matrix.columns();
        let count = if is_sorted { (tiled..all).rev().take_while(is_short).count() } else { 0 };
        let first = all - count;
        let end =
            |i: usize| rows.starts[i] + rows.line(i).0.partition_point(|&c| (c as usize) < first);
        let ends = (0..matrix.rows()).map(end).collect();
        let column_tasks = tasks(&columns.starts[..=first], tiled);
        ShortColumns { first, column_tasks, ends, product: product(matrix, first) }
    }

    /// The rows without their entries in short columns.
    pub(super) fn without_short<'a>(&'a self, matrix: &'a SparseMatrix) -> Lines<'a> {
        Lines { ends: &self.ends, ..matrix.rows.lines() }
    }

    /// `K`.
    pub(super) fn product(&self) -> Lines<'_> {
        self.product.lines()
    }
}

/// `A_2 A_2^T` of the columns from `first` on.
fn product(matrix: &SparseMatrix, first: usize) -> Compressed {
    let squares = matrix.columns.starts[first..].windows(2).map(|w| (w[1] - w[0]).pow(2));
    let most = squares.sum();
    let mut product = Compressed {
        starts: Vec::with_capacity(matrix.rows() + 1),
        indices: Vec::with_capacity(most),
        values: Vec::with_capacity(most),
    };
    product.starts.push(0);
    let mut entries: Vec<(u32, f64)> = Vec::new();
    for i in 0..matrix.rows() {
        entries.clear();
        let (columns, values) = matrix.row(i);
        for (&c, v) in columns.iter().zip(values).filter(|(c, _)| **c as usize >= first) {
            let (others, theirs) = matrix.columns.line(c as usize);
            entries.extend(others.iter().zip(theirs).map(|(&other, w)| (other, v * w)));
        }
        entries.sort_by_key(|e| e.0);
        for same in entries.chunk_by(|a, b| a.0 == b.0) {
            product.indices.push(same[0].0);
            product.values.push(same.iter().map(|e| e.1).sum());
        }
        product.starts.push(product.indices.len());
    }
    product
}
