//! The ellipsoid.

use super::check_ball;
use crate::domain::matrices::{SymmetricParts, symmetric_parts};
use crate::domain::plain::{PlainOracle, Work, excess, found};
use crate::domain::{Domain, LinearMin, Oracle};
use crate::error::{Error, Result, check_finite, check_len};
use crate::linalg::{dot, norm};

/// The ellipsoid `{p : (p - center)' shape^-1 (p - center) <= radius^2}`.
///
/// Linear minimisation gives `center - radius shape g/sqrt(g' shape g)`. The matrix is decomposed once; linear minimisation and the
/// projection, by bisection of one multiplier, then take `O(n^2)`.
///
/// ```
/// use couloir::domain::{Domain, Ellipsoid};
/// let set = Ellipsoid::new(vec![1.0, 0.0], vec![4.0, 0.0, 0.0, 1.0], 1.0)?;
/// let mut p = [0.0; 2];
/// set.oracle().lmo(&[1.0, 0.0], &mut p)?;
/// assert_eq!(p, [-1.0, 0.0]);
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Ellipsoid {
    center: Vec<f64>,
    parts: SymmetricParts,
    radius: f64,
}

impl Ellipsoid {
    /// The ellipsoid of this symmetric positive definite matrix (row by row), such as a covariance matrix.
    ///
    /// # Errors
    /// No entries, a matrix of another size, that is not symmetric or not positive definite, a radius that is not positive and
    /// finite.
    pub fn new(center: Vec<f64>, shape: Vec<f64>, radius: f64) -> Result<Self> {
        let n = center.len();
        check_ball(n, radius)?;
        check_finite("centre of the ellipsoid", &center)?;
        check_len("matrix of the ellipsoid", n * n, shape.len())?;
        check_finite("matrix of the ellipsoid", &shape)?;
        let largest = shape.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        for i in 0..n {
            for j in 0..i {
                let (a, b) = (shape[i * n + j], shape[j * n + i]);
                if (a - b).abs() > 1e-9 * largest {
                    let why = format!(
                        "must be symmetric, but entries ({i}, {j}) and ({j}, {i}) are {a} and {b}"
                    );
                    return Err(Error::Setting { name: "shape", why });
                }
            }
        }
        let parts = symmetric_parts(&shape, n)?;
        let (least, most) = (parts.values[0], parts.values[n - 1]);
        if !(least > 1e-14 * most) {
            let why = format!(
                "must be positive definite, but its eigenvalues go from {least:e} to {most:e}"
            );
            return Err(Error::Setting { name: "shape", why });
        }
        Ok(Ellipsoid { center, parts, radius })
    }

    /// The longest half-axis.
    fn longest(&self) -> f64 {
        self.radius * self.parts.values.last().map_or(0.0, |v| v.sqrt()) * (1.0 + 1e-12)
    }

    /// Of `p - center`, the part along every axis.
    fn along_axes(&self, p: &[f64]) -> Vec<f64> {
        let away: Vec<f64> = p.iter().zip(&self.center).map(|(p, c)| p - c).collect();
        (0..p.len()).map(|k| dot(self.parts.vector(k), &away)).collect()
    }
}

impl Domain for Ellipsoid {
    fn dim(&self) -> usize {
        self.center.len()
    }

    fn diameter(&self) -> f64 {
        2.0 * self.longest()
    }

    /// In the norm of the ellipsoid.
    fn violation(&self, p: &[f64]) -> f64 {
        let mut parts = self.along_axes(p);
        parts.iter_mut().zip(&self.parts.values).for_each(|(p, value)| *p /= value.sqrt());
        excess(norm(&parts) - self.radius)
    }

    fn center(&self, out: &mut [f64]) {
        out.copy_from_slice(&self.center);
    }

    fn describe(&self) -> String {
        format!("an ellipsoid of radius {} in dimension {}", self.radius, self.dim())
    }

    fn is_polytope(&self) -> Option<bool> {
        Some(self.dim() == 1)
    }

    fn oracle(&self) -> Box<dyn Oracle + '_> {
        Box::new(PlainOracle::new(Axes(self), self.dim(), self.diameter()))
    }
}

struct Axes<'a>(&'a Ellipsoid);

impl Axes<'_> {
    /// Writes the point with these parts along the axes.
    fn write(&self, parts: &[f64], p: &mut [f64]) {
        p.copy_from_slice(&self.0.center);
        for (k, part) in parts.iter().enumerate() {
            crate::linalg::axpy(*part, self.0.parts.vector(k), p);
        }
    }
}

impl Work for Axes<'_> {
    fn lmo(&mut self, g: &[f64], p: &mut [f64]) -> Result<LinearMin> {
        let Ellipsoid { center, parts, radius } = self.0;
        let along: Vec<f64> = (0..g.len()).map(|k| dot(parts.vector(k), g)).collect();
        let weighted: Vec<f64> =
            along.iter().zip(&parts.values).map(|(a, v)| a * v.sqrt()).collect();
        let length = norm(&weighted);
        let of = |(w, v): (&f64, &f64)| {
            if length > 0.0 { -radius * (w / length) * v.sqrt() } else { 0.0 }
        };
        let steps: Vec<f64> = weighted.iter().zip(&parts.values).map(of).collect();
        self.write(&steps, p);
        // the eigenvectors, too, are right up to rounding
        Ok(found(g, p, 16 * g.len(), norm(center) + self.0.longest()))
    }

    fn projects(&self) -> bool {
        true
    }

    /// With the multiplier `t` the nearest point has parts `a_k v_k/(v_k + t)`, and `t` makes its norm the radius.
    fn project(&mut self, v: &[f64], out: &mut [f64]) -> Result<()> {
        let Ellipsoid { parts, radius, .. } = self.0;
        let along = self.0.along_axes(v);
        let square = |t: f64| -> f64 {
            let each = along.iter().zip(&parts.values);
            each.map(|(a, v)| v * (a / (v + t)) * (a / (v + t))).sum()
        };
        if square(0.0) <= radius * radius {
            out.copy_from_slice(v);
            return Ok(());
        }
        // the norm is at most |a| sqrt(v_n)/t
        let (mut low, mut high) =
            (0.0, norm(&along) * parts.values.last().map_or(0.0, |v| v.sqrt()) / radius);
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            if middle <= low || middle >= high {
                break;
            }
            *(if square(middle) > radius * radius { &mut low } else { &mut high }) = middle;
        }
        let steps: Vec<f64> =
            along.iter().zip(&parts.values).map(|(a, v)| a * (v / (v + high))).collect();
        self.write(&steps, out);
        Ok(())
    }
}
