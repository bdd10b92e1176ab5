//! The convex hull of given points.

use crate::domain::plain::{PlainOracle, Work, found};
use crate::domain::{Domain, LinearMin, Oracle};
use crate::error::{Error, Result, check_finite, check_len};
use crate::linalg::{ActiveSet, axpy, distance_squared, dot, norm};

/// So many points are compared with each other for the diameter; of more, only their distances from the mean are.
const COMPARED: usize = 1000;

/// The convex hull of points that are given one by one.
///
/// Linear minimisation compares all points, in `O(m n)`; the projection is a quadratic program over their weights.
///
/// ```
/// use couloir::domain::{ConvexHull, Domain};
/// let set = ConvexHull::new(&[vec![0.0, 0.0], vec![2.0, 0.0], vec![0.0, 1.0]])?;
/// let mut p = [0.0; 2];
/// set.oracle().lmo(&[-1.0, 0.0], &mut p)?;
/// assert_eq!(p, [2.0, 0.0]);
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ConvexHull {
    dim: usize,
    /// One after the other.
    points: Vec<f64>,
    diameter: f64,
    reach: f64,
}

impl ConvexHull {
    /// The hull of these points.
    ///
    /// # Errors
    /// No points, points without entries, of different lengths, or that are not finite.
    pub fn new(points: &[Vec<f64>]) -> Result<Self> {
        let dim = points.first().map_or(0, Vec::len);
        if dim == 0 {
            return Err(Error::EmptySet { why: "the convex hull of no points".to_owned() });
        }
        for point in points {
            check_len("point of the convex hull", dim, point.len())?;
            check_finite("point of the convex hull", point)?;
        }
        let mut set = ConvexHull { dim, points: points.concat(), diameter: 0.0, reach: 0.0 };
        set.reach = points.iter().map(|p| norm(p)).fold(0.0, f64::max);
        set.diameter = if points.len() <= COMPARED {
            let of = |(i, p): (usize, &Vec<f64>)| {
                points[..i].iter().map(|q| distance_squared(p, q)).fold(0.0, f64::max)
            };
            points.iter().enumerate().map(of).fold(0.0, f64::max).sqrt()
        } else {
            let mut mean = vec![0.0; dim];
            set.center(&mut mean);
            2.0 * points.iter().map(|p| distance_squared(p, &mean)).fold(0.0, f64::max).sqrt()
        };
        Ok(set)
    }

    fn rows(&self) -> std::slice::ChunksExact<'_, f64> {
        self.points.chunks_exact(self.dim)
    }

    /// Writes the point nearest to `v`.
    fn nearest(&self, v: &[f64], gram: &[Vec<f64>], out: &mut [f64]) -> Result<()> {
        let distances: Vec<f64> = self.rows().map(|p| distance_squared(p, v)).collect();
        let first = (0..distances.len())
            .fold(0, |best, k| if distances[k] < distances[best] { k } else { best });
        let mut weights = vec![0.0; distances.len()];
        weights[first] = 1.0;
        let mut active = ActiveSet::default();
        // the second round takes the rounding of the first
        for _ in 0..2 {
            self.mix(&weights, out);
            let away: Vec<f64> = out.iter().zip(v).map(|(o, v)| o - v).collect();
            let mut slope: Vec<f64> = self.rows().map(|p| dot(p, &away)).collect();
            let accuracy = 1e-15 * self.diameter * (self.diameter + norm(&away));
            active.minimise(&mut &*gram, &mut weights, &mut slope, accuracy)?;
        }
        self.mix(&weights, out);
        Ok(())
    }

    fn mix(&self, weights: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        self.rows().zip(weights).filter(|(_, w)| **w > 0.0).for_each(|(p, w)| axpy(*w, p, out));
    }

    /// The products of all pairs of points.
    fn gram(&self) -> Vec<Vec<f64>> {
        self.rows().map(|p| self.rows().map(|q| dot(p, q)).collect()).collect()
    }
}

impl Domain for ConvexHull {
    fn dim(&self) -> usize {
        self.dim
    }

    fn diameter(&self) -> f64 {
        self.diameter
    }

    /// The distance from the nearest point, less what rounding makes of it.
    fn violation(&self, p: &[f64]) -> f64 {
        if check_finite("point", p).is_err() {
            return f64::INFINITY;
        }
        let mut nearest = vec![0.0; self.dim];
        match self.nearest(p, &self.gram(), &mut nearest) {
            Ok(()) => {
                let distance = distance_squared(p, &nearest).sqrt();
                if distance <= 1e-13 * (self.reach + self.diameter) { 0.0 } else { distance }
            }
            Err(_) => f64::INFINITY,
        }
    }

    /// The mean of the points.
    fn center(&self, out: &mut [f64]) {
        let count = (self.points.len() / self.dim) as f64;
        self.mix(&vec![1.0 / count; self.points.len() / self.dim], out);
    }

    fn describe(&self) -> String {
        let count = self.points.len() / self.dim;
        format!("the convex hull of {count} points in dimension {}", self.dim)
    }

    fn is_polytope(&self) -> Option<bool> {
        Some(true)
    }

    fn oracle(&self) -> Box<dyn Oracle + '_> {
        Box::new(PlainOracle::new(Listed { set: self, gram: None }, self.dim, self.diameter))
    }
}

/// Points of which the products of all pairs are kept: 32 MB.
const MOST_PROJECTED: usize = 2000;

struct Listed<'a> {
    set: &'a ConvexHull,
    /// Made when first used.
    gram: Option<Vec<Vec<f64>>>,
}

impl Work for Listed<'_> {
    fn lmo(&mut self, g: &[f64], p: &mut [f64]) -> Result<LinearMin> {
        let mut best = (f64::INFINITY, 0);
        for (k, point) in self.set.rows().enumerate() {
            let value = dot(g, point);
            if value < best.0 {
                best = (value, k);
            }
        }
        p.copy_from_slice(&self.set.points[best.1 * self.set.dim..(best.1 + 1) * self.set.dim]);
        Ok(found(g, p, g.len(), self.set.reach))
    }

    /// Among few points, whose products are kept.
    fn projects(&self) -> bool {
        self.set.points.len() / self.set.dim <= MOST_PROJECTED
    }

    fn project(&mut self, v: &[f64], out: &mut [f64]) -> Result<()> {
        let gram = self.gram.get_or_insert_with(|| self.set.gram());
        self.set.nearest(v, gram, out)
    }
}
