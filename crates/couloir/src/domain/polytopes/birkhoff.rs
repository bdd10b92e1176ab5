//! The Birkhoff polytope.

use super::Assigner;
use crate::domain::plain::{PlainOracle, Work, excess};
use crate::domain::{Domain, LinearMin, Oracle};
use crate::error::{Error, Result, check_finite};
use crate::linalg::{dot, norm, sum_rounding};

/// Assignments: the convex hull of the `rows x columns` matrices of zeros and ones (row by row) in which every line of the shorter
/// side has a one, and no other line more than one. Square ones are the doubly stochastic matrices.
///
/// Linear minimisation is the Hungarian method, in `O(rows^2 columns)` for `rows <= columns`, with a lower bound from its
/// potentials. There is no projection in closed form.
///
/// ```
/// use couloir::domain::{Birkhoff, Domain};
/// let set = Birkhoff::new(2)?;
/// let mut p = [0.0; 4];
/// let minimum = set.oracle().lmo(&[1.0, 2.0, 0.0, 3.0], &mut p)?;
/// assert_eq!(p, [0.0, 1.0, 1.0, 0.0]);
/// assert_eq!(minimum.value, 2.0);
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Birkhoff {
    rows: usize,
    columns: usize,
}

impl Birkhoff {
    /// The doubly stochastic matrices with so many rows.
    ///
    /// # Errors
    /// No rows.
    pub fn new(side: usize) -> Result<Self> {
        Birkhoff::rectangular(side, side)
    }

    /// Assignments of the shorter side to lines of the longer one.
    ///
    /// # Errors
    /// No rows or columns.
    pub fn rectangular(rows: usize, columns: usize) -> Result<Self> {
        if rows == 0 || columns == 0 {
            return Err(Error::EmptySet { why: format!("assignments of {rows} x {columns}") });
        }
        Ok(Birkhoff { rows, columns })
    }

    fn short(&self) -> usize {
        self.rows.min(self.columns)
    }
}

impl Domain for Birkhoff {
    fn dim(&self) -> usize {
        self.rows * self.columns
    }

    fn diameter(&self) -> f64 {
        if self.dim() == 1 { 0.0 } else { (2.0 * self.short() as f64).sqrt() }
    }

    fn violation(&self, p: &[f64]) -> f64 {
        if check_finite("point", p).is_err() {
            return f64::INFINITY;
        }
        let mut worst = p.iter().fold(0.0f64, |worst, p| worst.max(-p));
        let mut in_columns = vec![0.0; self.columns];
        let mut miss = |sum: f64, lines: usize| {
            let missed = if lines == self.short() { (sum - 1.0).abs() } else { sum - 1.0 };
            worst = worst.max(excess(missed));
        };
        for row in p.chunks_exact(self.columns) {
            miss(row.iter().sum(), self.rows);
            in_columns.iter_mut().zip(row).for_each(|(sum, p)| *sum += p);
        }
        in_columns.into_iter().for_each(|sum| miss(sum, self.columns));
        worst
    }

    fn center(&self, out: &mut [f64]) {
        out.fill(1.0 / self.rows.max(self.columns) as f64);
    }

    fn describe(&self) -> String {
        format!("the assignments of {} rows to {} columns", self.rows, self.columns)
    }

    fn is_polytope(&self) -> Option<bool> {
        Some(true)
    }

    fn oracle(&self) -> Box<dyn Oracle + '_> {
        let work = Hungarian { set: self, assigner: Assigner::default(), turned: Vec::new() };
        Box::new(PlainOracle::new(work, self.dim(), self.diameter()))
    }
}

struct Hungarian<'a> {
    set: &'a Birkhoff,
    assigner: Assigner,
    turned: Vec<f64>,
}

impl Work for Hungarian<'_> {
    fn lmo(&mut self, g: &[f64], p: &mut [f64]) -> Result<LinearMin> {
        let Birkhoff { rows, columns } = *self.set;
        p.fill(0.0);
        let bound = if rows <= columns {
            let bound = self.assigner.solve(g, rows, columns);
            let chosen = self.assigner.columns.iter().enumerate();
            chosen.for_each(|(i, j)| p[i * columns + j] = 1.0);
            bound
        } else {
            self.turned.clear();
            self.turned
                .extend((0..columns).flat_map(|j| (0..rows).map(move |i| g[i * columns + j])));
            let bound = self.assigner.solve(&self.turned, columns, rows);
            let chosen = self.assigner.columns.iter().enumerate();
            chosen.for_each(|(j, i)| p[i * columns + j] = 1.0);
            bound
        };
        let value = dot(g, p);
        // of the sums of the potentials, which are no larger than the gradient, and of the value
        let largest = g.iter().fold(0.0f64, |m, g| m.max(g.abs()));
        let short = self.set.short() as f64;
        let rounding = 8.0 * f64::EPSILON * short * short * largest
            + sum_rounding(g.len()) * norm(g) * short.sqrt();
        let lower = bound.min(value) - rounding;
        Ok(LinearMin { lower, ..LinearMin::exact(value) })
    }
}
