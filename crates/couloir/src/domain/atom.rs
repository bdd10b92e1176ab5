//! The points that linear minimisations return, in a form that suits them.

use crate::error::{Error, Result, check_finite, check_len};
use crate::state::Archive;

/// A point of a set in the form in which its linear minimisation returned it.
///
/// ```
/// use couloir::domain::Atom;
/// let edge = Atom::sparse(vec![1, 3], vec![1.0, 1.0]);
/// let mut x = [0.0; 4];
/// edge.add_to(0.5, &mut x);
/// assert_eq!(x, [0.0, 0.5, 0.0, 0.5]);
/// assert_eq!(edge.dot(&[1.0, 2.0, 3.0, 4.0]), 6.0);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Atom {
    /// All coordinates.
    Dense(Vec<f64>),
    /// The coordinates that are not zero.
    Sparse {
        /// Where they are.
        indices: Vec<usize>,
        /// What they are.
        values: Vec<f64>,
    },
    /// The matrix `u v'`, row by row.
    RankOne {
        /// One entry for each row.
        u: Vec<f64>,
        /// One entry for each column.
        v: Vec<f64>,
    },
}

impl Default for Atom {
    fn default() -> Self {
        Atom::Dense(Vec::new())
    }
}

impl Atom {
    /// An atom from its coordinates that are not zero; where an index is named twice, the values add up.
    #[must_use]
    pub fn sparse(indices: Vec<usize>, values: Vec<f64>) -> Self {
        Atom::Sparse { indices, values }
    }

    /// The form that takes less memory.
    #[must_use]
    pub fn from_point(point: &[f64]) -> Self {
        let occupied = point.iter().filter(|v| **v != 0.0).count();
        if 2 * occupied > point.len() {
            return Atom::Dense(point.to_vec());
        }
        let there = || point.iter().enumerate().filter(|(_, v)| **v != 0.0);
        Atom::Sparse {
            indices: there().map(|(i, _)| i).collect(),
            values: there().map(|(_, v)| *v).collect(),
        }
    }

    /// Fails unless this can be a point of this dimension.
    ///
    /// # Errors
    /// Lengths or indices that do not fit, entries that are not finite.
    pub fn check(&self, what: &'static str, dim: usize) -> Result<()> {
        match self {
            Atom::Dense(x) => {
                check_len(what, dim, x.len())?;
                check_finite(what, x)
            }
            Atom::Sparse { indices, values } => {
                check_len(what, indices.len(), values.len())?;
                check_finite(what, values)?;
                match indices.iter().find(|i| **i >= dim) {
                    Some(i) => Err(Error::Setting {
                        name: "atom",
                        why: format!("{what}: index {i} in dimension {dim}"),
                    }),
                    None => Ok(()),
                }
            }
            Atom::RankOne { u, v } => {
                check_len(what, dim, u.len() * v.len())?;
                check_finite(what, u)?;
                check_finite(what, v)
            }
        }
    }

    /// `<g, p>`.
    ///
    /// # Panics
    /// If `g` is shorter than the point.
    #[must_use]
    pub fn dot(&self, g: &[f64]) -> f64 {
        match self {
            Atom::Dense(x) => crate::linalg::dot(g, x),
            Atom::Sparse { indices, values } => {
                indices.iter().zip(values).map(|(i, v)| g[*i] * v).sum()
            }
            Atom::RankOne { u, v } => {
                g.chunks_exact(v.len()).zip(u).map(|(row, u)| u * crate::linalg::dot(row, v)).sum()
            }
        }
    }

    /// `out += a p`.
    ///
    /// # Panics
    /// If `out` is shorter than the point.
    pub fn add_to(&self, a: f64, out: &mut [f64]) {
        match self {
            Atom::Dense(x) => crate::linalg::axpy(a, x, out),
            Atom::Sparse { indices, values } => {
                indices.iter().zip(values).for_each(|(i, v)| out[*i] += a * v);
            }
            Atom::RankOne { u, v } => {
                for (row, u) in out.chunks_exact_mut(v.len()).zip(u) {
                    crate::linalg::axpy(a * u, v, row);
                }
            }
        }
    }

    /// Writes all coordinates.
    pub fn write(&self, out: &mut [f64]) {
        out.fill(0.0);
        self.add_to(1.0, out);
    }

    /// Numbers that it keeps.
    #[must_use]
    pub fn size(&self) -> usize {
        match self {
            Atom::Dense(x) => x.len(),
            Atom::Sparse { indices, values } => indices.len() + values.len(),
            Atom::RankOne { u, v } => u.len() + v.len(),
        }
    }

    /// Saves or loads it.
    ///
    /// # Errors
    /// What the archive reports.
    pub fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let mut parts: [Vec<f64>; 2] = Default::default();
        let mut places = Vec::new();
        let mut kind = match self {
            Atom::Dense(x) => {
                parts[0].clone_from(x);
                0
            }
            Atom::Sparse { indices, values } => {
                places = indices.iter().map(|i| *i as u64).collect();
                parts[0].clone_from(values);
                1
            }
            Atom::RankOne { u, v } => {
                (parts[0], parts[1]) = (u.clone(), v.clone());
                2
            }
        };
        archive.count("kind", &mut kind)?;
        archive.list("places", &mut places, || 0, |archive, i| archive.count("place", i))?;
        let [first, second] = &mut parts;
        archive.list("first", first, || 0.0, |archive, v| archive.number("value", v))?;
        archive.list("second", second, || 0.0, |archive, v| archive.number("value", v))?;
        let [first, second] = parts;
        *self = match kind {
            0 => Atom::Dense(first),
            1 => {
                let indices = places.into_iter().map(|i| i as usize).collect();
                Atom::Sparse { indices, values: first }
            }
            _ => Atom::RankOne { u: first, v: second },
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_point_is_the_same_point() {
        let dense = [0.0, 2.0, 0.0, 0.0, -6.0, 0.0];
        let forms = [
            Atom::Dense(dense.to_vec()),
            Atom::from_point(&dense),
            Atom::RankOne { u: vec![1.0, -3.0], v: vec![0.0, 2.0, 0.0] },
        ];
        assert!(matches!(forms[1], Atom::Sparse { .. }));
        let g = [3.0, 1.0, -1.0, 4.0, 0.5, 9.0];
        for form in &forms {
            let mut out = [7.0; 6];
            form.write(&mut out);
            assert_eq!(out, dense);
            assert_eq!(form.dot(&g), -1.0);
            assert!(form.check("a point", 6).is_ok() && form.check("a point", 4).is_err());
        }
    }

    #[test]
    fn what_is_not_finite_or_out_of_range_is_an_error() {
        assert!(Atom::Dense(vec![f64::NAN]).check("a point", 1).is_err());
        assert!(Atom::sparse(vec![2], vec![1.0]).check("a point", 2).is_err());
        assert!(Atom::sparse(vec![0, 1], vec![1.0]).check("a point", 2).is_err());
    }
}
