//! A Cholesky factor that grows and shrinks by one row.

use super::{axpy, dot};
use crate::error::Result;
use crate::state::Archive;

/// A pivot below this share of its diagonal entry is taken for rounding and set to it.
const LEAST_PIVOT: f64 = 1e-12;

/// `Q = L L'` for a positive semidefinite matrix `Q` to which rows are appended and from which rows are removed. Pivots that
/// rounding hides are raised, as if the matrix had a little more on its diagonal there.
#[derive(Clone, Debug)]
pub(crate) struct Cholesky {
    /// The rows of `L`.
    rows: Vec<Vec<f64>>,
    least_pivot: f64,
}

impl Default for Cholesky {
    fn default() -> Self {
        Cholesky::with_least_pivot(LEAST_PIVOT)
    }
}

impl Cholesky {
    /// An empty factor with another share below which pivots are rounding.
    pub fn with_least_pivot(least_pivot: f64) -> Self {
        Cholesky { rows: Vec::new(), least_pivot }
    }

    /// Appends a row of `Q`: its entries with the rows before it, then the diagonal.
    pub fn append(&mut self, mut row: Vec<f64>) {
        for (j, l) in self.rows.iter().enumerate() {
            let (known, rest) = row.split_at_mut(j);
            rest[0] = (rest[0] - dot(known, &l[..j])) / l[j];
        }
        if let Some((diagonal, known)) = row.split_last_mut() {
            let pivot = *diagonal - dot(known, known);
            *diagonal = pivot.max(self.least_pivot * diagonal.abs()).max(f64::MIN_POSITIVE).sqrt();
        }
        self.rows.push(row);
    }

    /// Removes the row and the column at this place: what its column contributed to later rows is added to their factor.
    pub fn remove(&mut self, at: usize) {
        self.rows.remove(at);
        let mut lost: Vec<f64> = self.rows[at..].iter_mut().map(|row| row.remove(at)).collect();
        for k in 0..lost.len() {
            let own = self.rows[at + k][at + k];
            let new = own.hypot(lost[k]);
            let (cosine, sine) = (new / own, lost[k] / own);
            self.rows[at + k][at + k] = new;
            for (row, lost) in self.rows[at + k + 1..].iter_mut().zip(&mut lost[k + 1..]) {
                let entry = &mut row[at + k];
                *entry = (*entry + sine * *lost) / cosine;
                *lost = cosine * *lost - sine * *entry;
            }
        }
    }

    /// Saves or loads it.
    pub fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.magnitude("least_pivot", &mut self.least_pivot)?;
        archive.list("rows", &mut self.rows, Vec::new, |archive, row| {
            archive.list("row", row, || 0.0, |archive, entry| archive.number("entry", entry))
        })
    }

    /// Whether it has so many rows and can be solved with.
    pub fn fits(&self, rows: usize) -> bool {
        self.rows.len() == rows
            && self.rows.iter().enumerate().all(|(i, row)| row.len() == i + 1 && row[i] > 0.0)
    }

    /// Solves `Q z = b` in place.
    pub fn solve(&self, b: &mut [f64]) {
        for (i, row) in self.rows.iter().enumerate() {
            b[i] = (b[i] - dot(&row[..i], &b[..i])) / row[i];
        }
        for (i, row) in self.rows.iter().enumerate().rev() {
            b[i] /= row[i];
            let z = b[i];
            axpy(-z, &row[..i], &mut b[..i]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_that_grew_and_shrank_solves_what_is_left() {
        // Q = C C' + I with 6 rows
        let c = |i: usize, j: usize| ((3 * i + 5 * j) as f64).sin();
        let q = |i: usize, j: usize| {
            (0..4).map(|l| c(i, l) * c(j, l)).sum::<f64>() + if i == j { 1.0 } else { 0.0 }
        };
        let mut there: Vec<usize> = Vec::new();
        let mut factor = Cholesky::default();
        for i in 0..6 {
            there.push(i);
            factor.append(there.iter().map(|j| q(i, *j)).collect());
        }
        for at in [2, 0, 3] {
            there.remove(at);
            factor.remove(at);
        }
        let b = [1.0, -2.0, 0.5];
        let mut z = b;
        factor.solve(&mut z);
        for (row, i) in there.iter().enumerate() {
            let product: f64 = there.iter().zip(z).map(|(j, z)| q(*i, *j) * z).sum();
            assert!((product - b[row]).abs() < 1e-12, "{product} {}", b[row]);
        }
    }
}
