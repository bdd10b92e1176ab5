//! Sparse matrices, by rows and by columns: products with a vector from both sides run in parallel
//! over outputs, so they give the same bits on any number of threads.

use crate::error::{Error, Result, check_finite, check_len};
use crate::state::{Digest, Fingerprint};
use rayon::prelude::*;

/// Outputs that one task computes.
const CHUNK: usize = 2048;

/// A sparse matrix, stored both by rows and by columns.
#[derive(Clone, Debug, PartialEq)]
pub struct SparseMatrix {
    pub(super) rows: Compressed,
    pub(super) columns: Compressed,
}

/// One of the two orders: `indices[starts[i]..starts[i + 1]]` and the same of `values` are line `i`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Compressed {
    pub(super) starts: Vec<usize>,
    pub(super) indices: Vec<u32>,
    pub(super) values: Vec<f64>,
}

/// Lines of which each may end before the next begins.
#[derive(Clone, Copy)]
pub(super) struct Lines<'a> {
    pub(super) starts: &'a [usize],
    pub(super) ends: &'a [usize],
    pub(super) indices: &'a [u32],
    pub(super) values: &'a [f64],
}

impl<'a> Lines<'a> {
    pub(super) fn line(&self, i: usize) -> (&'a [u32], &'a [f64]) {
        let range = self.starts[i]..self.ends[i];
        (&self.indices[range.clone()], &self.values[range])
    }
}

impl Compressed {
    pub(super) fn lines(&self) -> Lines<'_> {
        let Compressed { starts, indices, values } = self;
        Lines { starts, ends: &starts[1..], indices, values }
    }

    pub(super) fn line(&self, i: usize) -> (&[u32], &[f64]) {
        let range = self.starts[i]..self.starts[i + 1];
        (&self.indices[range.clone()], &self.values[range])
    }

    fn count(&self) -> usize {
        self.starts.len() - 1
    }

    fn multiply(&self, x: &[f64], out: &mut [f64]) {
        out.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, out)| {
            for (i, o) in out.iter_mut().enumerate() {
                let (indices, values) = self.line(chunk * CHUNK + i);
                *o = indices.iter().zip(values).map(|(&j, v)| v * x[j as usize]).sum();
            }
        });
    }

    /// The other order, with `lines` lines.
    fn transposed(&self, lines: usize) -> Compressed {
        let mut starts = vec![0; lines + 1];
        for &j in &self.indices {
            starts[j as usize + 1] += 1;
        }
        for j in 0..lines {
            starts[j + 1] += starts[j];
        }
        let mut next = starts.clone();
        let mut indices = vec![0; self.indices.len()];
        let mut values = vec![0.0; self.values.len()];
        for i in 0..self.count() {
            let (js, vs) = self.line(i);
            for (&j, &v) in js.iter().zip(vs) {
                let place = &mut next[j as usize];
                indices[*place] = i as u32;
                values[*place] = v;
                *place += 1;
            }
        }
        Compressed { starts, indices, values }
    }
}

/// Gives every entry of these lines the column that `place` says, and sorts each line.
fn relabel(starts: &[usize], place: &[u32], indices: &mut [u32], values: &mut [f64]) {
    let lines = starts.len() - 1;
    if lines > CHUNK {
        let middle = lines / 2;
        let cut = starts[middle] - starts[0];
        let (left, right) = (indices.split_at_mut(cut), values.split_at_mut(cut));
        rayon::join(
            || relabel(&starts[..=middle], place, left.0, right.0),
            || relabel(&starts[middle..], place, left.1, right.1),
        );
        return;
    }
    let mut entries = Vec::new();
    for line in starts.windows(2) {
        let range = line[0] - starts[0]..line[1] - starts[0];
        let (indices, values) = (&mut indices[range.clone()], &mut values[range]);
        entries.clear();
        entries.extend(indices.iter().zip(&*values).map(|(&j, &v)| (place[j as usize], v)));
        entries.sort_by_key(|e| e.0);
        for ((index, value), &(j, v)) in indices.iter_mut().zip(values).zip(&entries) {
            (*index, *value) = (j, v);
        }
    }
}

impl SparseMatrix {
    /// From compressed rows: row `i` has the entries `starts[i]..starts[i + 1]` of `indices` (columns) and `values`.
    ///
    /// # Errors
    /// Starts that do not fit the entries, columns out of range, values that are not finite.
    pub fn from_rows(
        columns: usize,
        starts: Vec<usize>,
        indices: Vec<u32>,
        values: Vec<f64>,
    ) -> Result<Self> {
        check_len("values of a sparse matrix", indices.len(), values.len())?;
        let bad = |why: String| Error::Setting { name: "sparse matrix", why };
        if starts.first() != Some(&0) || starts.last() != Some(&indices.len()) {
            return Err(bad(format!("row starts must run from 0 to {}", indices.len())));
        }
        if let Some(i) = starts.windows(2).position(|w| w[0] > w[1]) {
            return Err(bad(format!("row {i} ends before it starts")));
        }
        if let Some(&j) = indices.iter().find(|&&j| j as usize >= columns) {
            return Err(bad(format!("column {j} in a matrix of {columns} columns")));
        }
        if starts.len() - 1 > u32::MAX as usize {
            return Err(bad(format!("{} rows, at most {}", starts.len() - 1, u32::MAX)));
        }
        check_finite("values of a sparse matrix", &values)?;
        let rows = Compressed { starts, indices, values };
        let columns = rows.transposed(columns);
        Ok(SparseMatrix { rows, columns })
    }

    /// The matrix with one more column, which has this value in every row. Entries move within their memory, so that
    /// there are never two matrices.
    ///
    /// # Errors
    /// A value that is not finite.
    pub fn with_constant_column(self, value: f64) -> Result<SparseMatrix> {
        check_finite("the value of a constant column", &[value])?;
        let column = u32::try_from(self.columns()).map_err(|_| Error::Setting {
            name: "sparse matrix",
            why: format!("{} columns leave no room for one more", self.columns()),
        })?;
        let SparseMatrix { mut rows, mut columns } = self;
        let n = rows.count();
        // by no more than is needed: room to grow would be half of the memory
        for line in [&mut rows, &mut columns] {
            line.indices.reserve_exact(n);
            line.values.reserve_exact(n);
        }
        columns.indices.extend(0..n as u32);
        columns.values.resize(columns.indices.len(), value);
        columns.starts.push(columns.indices.len());
        let entries = rows.indices.len() + n;
        rows.indices.resize(entries, column);
        rows.values.resize(entries, value);
        // from the last row on, each moves by as many places as there are rows before it
        for i in (0..n).rev() {
            let (start, end) = (rows.starts[i], rows.starts[i + 1]);
            rows.indices.copy_within(start..end, start + i);
            rows.values.copy_within(start..end, start + i);
            (rows.indices[end + i], rows.values[end + i]) = (column, value);
            rows.starts[i + 1] = end + i + 1;
        }
        Ok(SparseMatrix { rows, columns })
    }

    /// The matrix with its columns in order of falling frequency (ties stay in order), and the column of
    /// this one that each of its columns was. On text the lines of a dense factor that are used most
    /// then lie side by side.
    #[must_use]
    pub fn by_frequency(self) -> (SparseMatrix, Vec<u32>) {
        let SparseMatrix { mut rows, columns } = self;
        let count = |j: u32| columns.starts[j as usize + 1] - columns.starts[j as usize];
        let mut order: Vec<u32> = (0..columns.count() as u32).collect();
        order.sort_by_key(|&j| std::cmp::Reverse(count(j)));
        let mut place = vec![0; order.len()];
        for (k, &j) in order.iter().enumerate() {
            place[j as usize] = k as u32;
        }
        drop(columns);
        relabel(&rows.starts, &place, &mut rows.indices, &mut rows.values);
        let columns = rows.transposed(order.len());
        (SparseMatrix { rows, columns }, order)
    }

    /// The number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows.count()
    }

    /// The number of columns.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns.count()
    }

    /// One more than the largest column that has an entry; zero if there is none.
    #[must_use]
    pub fn used_columns(&self) -> usize {
        let starts = &self.columns.starts;
        // the starts after the last entry are all the same
        starts.partition_point(|&s| s < self.columns.indices.len())
    }

    /// How many entries a column has.
    pub(crate) fn entries_in_column(&self, j: usize) -> usize {
        self.columns.starts[j + 1] - self.columns.starts[j]
    }

    /// The columns and values of a row.
    #[must_use]
    pub fn row(&self, i: usize) -> (&[u32], &[f64]) {
        self.rows.line(i)
    }

    /// Notes the size and a digest of all entries.
    pub(crate) fn fingerprint(&self, print: &mut Fingerprint) {
        let mut digest = Digest::default();
        let starts: Vec<u32> = self.rows.starts.iter().map(|&start| start as u32).collect();
        digest.indices(&starts);
        digest.indices(&self.rows.indices);
        digest.numbers(&self.rows.values);
        print.note("number of rows", self.rows());
        print.note("number of features", self.columns());
        print.note("number of entries", self.rows.indices.len());
        print.note("entries (SHA-256)", digest.name());
    }

    /// `out = A x`.
    pub fn multiply(&self, x: &[f64], out: &mut [f64]) {
        self.rows.multiply(x, out);
    }

    /// `out = A^T s`.
    pub fn multiply_transposed(&self, s: &[f64], out: &mut [f64]) {
        self.columns.multiply(s, out);
    }

    /// The matrix of these rows, in this order.
    #[must_use]
    pub fn select(&self, rows: &[u64]) -> SparseMatrix {
        let mut starts = Vec::with_capacity(rows.len() + 1);
        starts.push(0);
        let (mut indices, mut values) = (Vec::new(), Vec::new());
        for &i in rows {
            let (js, vs) = self.row(i as usize);
            indices.extend_from_slice(js);
            values.extend_from_slice(vs);
            starts.push(indices.len());
        }
        let rows = Compressed { starts, indices, values };
        let columns = rows.transposed(self.columns());
        SparseMatrix { rows, columns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> SparseMatrix {
        // [1 0 2; 0 0 0; 0 3 4; 5 0 0]
        SparseMatrix::from_rows(
            3,
            vec![0, 2, 2, 4, 5],
            vec![0, 2, 1, 2, 0],
            vec![1.0, 2.0, 3.0, 4.0, 5.0],
        )
        .expect("a matrix")
    }

    #[test]
    fn products_from_both_sides_and_of_chosen_rows() {
        let a = example();
        let (mut image, mut back) = (vec![0.0; 4], vec![0.0; 3]);
        a.multiply(&[1.0, 10.0, 100.0], &mut image);
        assert_eq!(image, [201.0, 0.0, 430.0, 5.0]);
        a.multiply_transposed(&[1.0, 7.0, 10.0, 100.0], &mut back);
        assert_eq!(back, [501.0, 30.0, 42.0]);
        let part = a.select(&[3, 0]);
        part.multiply(&[1.0, 10.0, 100.0], &mut image[..2]);
        assert_eq!(image[..2], [5.0, 201.0]);
        assert_eq!((part.rows(), part.columns()), (2, 3));
    }

    #[test]
    fn used_columns_end_at_the_last_entry() {
        let used = |columns, indices: Vec<u32>| {
            let (starts, values) = (vec![0, 0, indices.len()], vec![1.0; indices.len()]);
            SparseMatrix::from_rows(columns, starts, indices, values)
                .expect("a matrix")
                .used_columns()
        };
        assert_eq!((used(5, vec![1, 3]), used(4, vec![3]), used(9, vec![0])), (4, 4, 1));
        assert_eq!((used(5, vec![]), used(0, vec![])), (0, 0));
    }

    #[test]
    fn a_constant_column_is_the_last_of_every_row() {
        let wide = SparseMatrix::from_rows(
            4,
            vec![0, 3, 4, 7, 9],
            vec![0, 2, 3, 3, 1, 2, 3, 0, 3],
            vec![1.0, 2.0, 9.0, 9.0, 3.0, 4.0, 9.0, 5.0, 9.0],
        );
        assert_eq!(example().with_constant_column(9.0), wide);
        assert!(example().with_constant_column(f64::NAN).is_err());
        let empty = SparseMatrix::from_rows(0, vec![0, 0], vec![], vec![]).expect("a matrix");
        let ones = SparseMatrix::from_rows(1, vec![0, 1], vec![0], vec![1.0]);
        assert_eq!(empty.with_constant_column(1.0), ones);
    }

    #[test]
    fn frequent_columns_come_first() {
        let (b, order) = example().by_frequency();
        assert_eq!(order, [0, 2, 1]);
        let mut image = vec![0.0; 4];
        b.multiply(&[1.0, 100.0, 10.0], &mut image);
        assert_eq!(image, [201.0, 0.0, 430.0, 5.0]);
    }

    #[test]
    fn bad_parts_are_refused() {
        let make = |starts: Vec<usize>, indices: Vec<u32>, values: Vec<f64>| {
            SparseMatrix::from_rows(3, starts, indices, values).is_err()
        };
        assert!(make(vec![0, 1], vec![3], vec![1.0]), "column out of range");
        assert!(make(vec![0, 2], vec![0], vec![1.0]), "starts beyond the entries");
        assert!(make(vec![0, 1, 0, 1], vec![0], vec![1.0]), "a row that ends before it starts");
        assert!(make(vec![0, 1], vec![0], vec![f64::NAN]), "NaN");
        assert!(make(vec![0, 1], vec![0], vec![]), "too few values");
        assert!(make(vec![], vec![], vec![]), "no starts");
    }
}
