//! The spectrahedron.

use super::{asymmetry, symmetric_parts};
use crate::domain::plain::{PlainOracle, Work, excess};
use crate::domain::threshold::project_onto_simplex;
use crate::domain::{Atom, Domain, LinearMin, Oracle};
use crate::error::{Error, Result, check_finite, check_positive};
use crate::linalg::norm;

/// Whether the trace of the matrices is given, or bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceBound {
    /// The trace is equal to the number given.
    Exactly,
    /// The trace is at most the number given.
    AtMost,
}

/// The positive semidefinite `n x n` matrices (row by row) whose trace is a given number, or at most that.
///
/// Linear minimisation gives `trace v v'` with `v` an eigenvector of the least eigenvalue, as an atom of rank one (or zero, where
/// the trace is only bounded and no eigenvalue is negative); the projection projects the eigenvalues. Either takes an
/// eigen-decomposition.
///
/// ```
/// use couloir::domain::{Domain, Spectrahedron, TraceBound};
/// let set = Spectrahedron::new(2, 3.0, TraceBound::Exactly)?;
/// let mut p = [0.0; 4];
/// let minimum = set.oracle().lmo(&[2.0, 0.0, 0.0, -1.0], &mut p)?;
/// assert_eq!(p, [0.0, 0.0, 0.0, 3.0]);
/// assert_eq!(minimum.value, -3.0);
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Spectrahedron {
    side: usize,
    trace: f64,
    bound: TraceBound,
}

impl Spectrahedron {
    /// The matrices with so many rows and this trace.
    ///
    /// # Errors
    /// No rows, or a trace that is not positive and finite.
    pub fn new(side: usize, trace: f64, bound: TraceBound) -> Result<Self> {
        if side == 0 {
            return Err(Error::EmptySet { why: "matrices without rows".to_owned() });
        }
        check_positive("trace", trace)?;
        Ok(Spectrahedron { side, trace, bound })
    }
}

impl Domain for Spectrahedron {
    fn dim(&self) -> usize {
        self.side * self.side
    }

    fn diameter(&self) -> f64 {
        if self.side == 1 && self.bound == TraceBound::Exactly {
            return 0.0;
        }
        let factor = if self.side == 1 { 1.0 } else { std::f64::consts::SQRT_2 };
        factor * self.trace
    }

    /// The largest of the asymmetry, what the least eigenvalue is below zero, and what the trace misses.
    fn violation(&self, p: &[f64]) -> f64 {
        if check_finite("point", p).is_err() {
            return f64::INFINITY;
        }
        let Ok(parts) = symmetric_parts(p, self.side) else { return f64::INFINITY };
        let over = (0..self.side).map(|i| p[i * (self.side + 1)]).sum::<f64>() - self.trace;
        let missed = if self.bound == TraceBound::Exactly { over.abs() } else { over };
        excess(asymmetry(p, self.side).max(-parts.values[0]).max(missed))
    }

    fn center(&self, out: &mut [f64]) {
        out.fill(0.0);
        (0..self.side).for_each(|i| out[i * (self.side + 1)] = self.trace / self.side as f64);
    }

    fn describe(&self) -> String {
        let Spectrahedron { side, trace, bound } = self;
        let bound = if *bound == TraceBound::Exactly { "" } else { "at most " };
        format!("the positive semidefinite {side} x {side} matrices of trace {bound}{trace}")
    }

    fn is_polytope(&self) -> Option<bool> {
        Some(self.side == 1)
    }

    fn oracle(&self) -> Box<dyn Oracle + '_> {
        Box::new(PlainOracle::new(Eigenvalues(self), self.dim(), self.diameter()))
    }
}

struct Eigenvalues<'a>(&'a Spectrahedron);

impl Work for Eigenvalues<'_> {
    fn lmo(&mut self, g: &[f64], p: &mut [f64]) -> Result<LinearMin> {
        let (atom, minimum) = self.atom(g, p)?;
        atom.write(p);
        Ok(minimum)
    }

    fn atom(&mut self, g: &[f64], _scratch: &mut [f64]) -> Result<(Atom, LinearMin)> {
        let Spectrahedron { side, trace, bound } = *self.0;
        let parts = symmetric_parts(g, side)?;
        let least = parts.values[0];
        // the eigenvalue errs by a few roundings of the largest one
        let rounding = 32.0 * f64::EPSILON * side as f64 * norm(g) * trace;
        if bound == TraceBound::AtMost && !(least < 0.0) {
            let minimum = LinearMin { lower: -rounding, ..LinearMin::exact(0.0) };
            return Ok((Atom::sparse(Vec::new(), Vec::new()), minimum));
        }
        let v = parts.vector(0).to_vec();
        let atom = Atom::RankOne { u: v.iter().map(|v| trace * v).collect(), v };
        let value = atom.dot(g);
        Ok((atom, LinearMin { lower: value - rounding, ..LinearMin::exact(value) }))
    }

    fn projects(&self) -> bool {
        true
    }

    fn project(&mut self, v: &[f64], out: &mut [f64]) -> Result<()> {
        let Spectrahedron { side, trace, bound } = *self.0;
        let parts = symmetric_parts(v, side)?;
        let mut values: Vec<f64> = parts.values.iter().map(|v| v.max(0.0)).collect();
        if bound == TraceBound::Exactly || values.iter().sum::<f64>() > trace {
            let zero = vec![0.0; side];
            project_onto_simplex(&zero, &parts.values, 1.0, trace, &mut Vec::new(), &mut values);
        }
        parts.write(&values, out);
        Ok(())
    }
}
