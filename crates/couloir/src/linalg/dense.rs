//! Dense matrices, by rows and by columns: products with a vector from both sides read only the lines of its entries that are not
//! zero, and run in parallel over outputs, so they give the same bits on any number of threads.

use super::simd::{dispatch, fma};
use crate::error::{Result, check_finite, check_len};
use crate::state::Digest;
use rayon::prelude::*;

/// Outputs that one task computes.
const CHUNK: usize = 512;
/// Products with fewer entries are not handed to other threads.
const GRAIN: usize = 1 << 16;
/// Lines that are added at once.
const LINES: usize = 4;

/// A dense matrix, stored both by rows and by columns.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DenseMatrix {
    rows: usize,
    columns: usize,
    by_rows: Vec<f64>,
    by_columns: Vec<f64>,
}

impl DenseMatrix {
    /// From its entries, row by row.
    pub fn from_rows(rows: usize, columns: usize, entries: Vec<f64>) -> Result<Self> {
        check_len("entries of a matrix", rows.saturating_mul(columns), entries.len())?;
        check_finite("entries of a matrix", &entries)?;
        let mut by_columns = vec![0.0; entries.len()];
        super::transpose(&entries, rows, columns, &mut by_columns);
        Ok(DenseMatrix { rows, columns, by_rows: entries, by_columns })
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn columns(&self) -> usize {
        self.columns
    }

    /// All entries, row by row.
    pub fn entries(&self) -> &[f64] {
        &self.by_rows
    }

    /// `out = A y`.
    pub fn multiply(&self, y: &[f64], out: &mut [f64]) {
        weigh_lines(y, &self.by_columns, out);
    }

    /// `out = A^T x`.
    pub fn multiply_transposed(&self, x: &[f64], out: &mut [f64]) {
        weigh_lines(x, &self.by_rows, out);
    }

    /// A digest of all entries.
    pub fn digest(&self) -> String {
        let mut digest = Digest::default();
        digest.numbers(&self.by_rows);
        digest.name()
    }
}

/// `out = sum_i weights[i] line_i`, for lines as long as `out`.
fn weigh_lines(weights: &[f64], lines: &[f64], out: &mut [f64]) {
    let width = out.len();
    if lines.len() < GRAIN {
        return weigh_piece(weights, lines, width, 0, out);
    }
    out.par_chunks_mut(CHUNK)
        .enumerate()
        .for_each(|(chunk, piece)| weigh_piece(weights, lines, width, chunk * CHUNK, piece));
}

#[inline(always)]
fn weigh_body<const FUSED: bool>(
    weights: &[f64],
    lines: &[f64],
    width: usize,
    first: usize,
    out: &mut [f64],
) {
    out.fill(0.0);
    let mut held: [(f64, &[f64]); LINES] = [(0.0, &[]); LINES];
    let mut count = 0;
    for (i, &weight) in weights.iter().enumerate().filter(|(_, weight)| **weight != 0.0) {
        let start = i * width + first;
        held[count] = (weight, &lines[start..start + out.len()]);
        count += 1;
        if count == LINES {
            count = 0;
            let [(p, a), (q, b), (r, c), (s, d)] = held;
            for ((((o, a), b), c), d) in out.iter_mut().zip(a).zip(b).zip(c).zip(d) {
                let two = fma::<FUSED>(q, *b, fma::<FUSED>(p, *a, *o));
                *o = fma::<FUSED>(s, *d, fma::<FUSED>(r, *c, two));
            }
        }
    }
    for (weight, line) in &held[..count] {
        for (o, a) in out.iter_mut().zip(*line) {
            *o = fma::<FUSED>(*weight, *a, *o);
        }
    }
}
dispatch! {
    fn weigh_piece = weigh_body(weights: &[f64], lines: &[f64], width: usize, first: usize, out: &mut [f64])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_from_both_sides_are_those_of_the_definition() {
        for (rows, columns) in [(1, 1), (3, 2), (7, 300), (700, 130)] {
            let entry = |i: usize, j: usize| ((i * 31 + j * 17) % 23) as f64 - 11.0;
            let entries = (0..rows * columns).map(|k| entry(k / columns, k % columns)).collect();
            let a = DenseMatrix::from_rows(rows, columns, entries).expect("a matrix");
            let weight = |i: usize| if i.is_multiple_of(3) { 0.0 } else { (i % 5) as f64 - 2.0 };
            let (x, y): (Vec<f64>, Vec<f64>) =
                ((0..rows).map(weight).collect(), (0..columns).map(weight).collect());
            let (mut ay, mut ax) = (vec![f64::NAN; rows], vec![f64::NAN; columns]);
            a.multiply(&y, &mut ay);
            a.multiply_transposed(&x, &mut ax);
            for i in 0..rows {
                // whole numbers: sums are exact
                assert_eq!(ay[i], (0..columns).map(|j| entry(i, j) * y[j]).sum::<f64>());
            }
            for j in 0..columns {
                assert_eq!(ax[j], (0..rows).map(|i| entry(i, j) * x[i]).sum::<f64>());
            }
        }
    }
}
