//! A Cholesky factor that grows and shrinks by one row.

use crate::linalg::{axpy, dot};

/// A pivot below this share of its diagonal entry is taken for rounding and set to it.
const LEAST_PIVOT: f64 = 1e-12;

/// `Q = L L'` for a positive semidefinite matrix `Q` to which rows are appended and from which rows are removed. Pivots that
/// rounding hides are raised, as if the matrix had a little more on its diagonal there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cholesky {
    /// The rows of `Q`, each up to its diagonal.
    rows: Vec<Vec<f64>>,
    /// The rows of `L`.
    factor: Vec<Vec<f64>>,
}

impl Cholesky {
    /// Appends a row of `Q`: its entries with the rows before it, then the diagonal.
    pub fn append(&mut self, row: Vec<f64>) {
        let mut new: Vec<f64> = Vec::with_capacity(row.len());
        for (j, entry) in row.iter().enumerate() {
            let known = dot(&new, self.factor.get(j).map_or(&new, |l| &l[..j]));
            new.push(match self.factor.get(j) {
                Some(l) => (entry - known) / l[j],
                None => {
                    (entry - known).max(LEAST_PIVOT * entry.abs()).max(f64::MIN_POSITIVE).sqrt()
                }
            });
        }
        self.factor.push(new);
        self.rows.push(row);
    }

    /// Removes the row and the column at this place.
    pub fn remove(&mut self, at: usize) {
        let mut later = self.rows.split_off(at);
        self.factor.truncate(at);
        later.remove(0);
        for mut row in later {
            row.remove(at);
            self.append(row);
        }
    }

    /// Solves `Q z = b` in place.
    pub fn solve(&self, b: &mut [f64]) {
        for (i, row) in self.factor.iter().enumerate() {
            b[i] = (b[i] - dot(&row[..i], &b[..i])) / row[i];
        }
        for (i, row) in self.factor.iter().enumerate().rev() {
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
