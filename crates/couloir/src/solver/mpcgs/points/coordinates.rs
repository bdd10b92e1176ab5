//! How points are kept where trials take no operator products: by weights, where those are shorter.
//!
//! A step is `v' = (v - t g) F` with a gradient `g = A^T s` and a small matrix `F`, and an `x` is a combination of `v`'s. So
//! every point of a run is
//!
//! ```text
//! x = A^T u + b_1 M_1 + b_2 M_2 + ...
//! ```
//!
//! with `u` as long as an image, the vectors `b` that the run began with (none where it began at zero) and `h x h` matrices
//! `M`. Where an image is shorter than a vector, the coordinates of a point are `(u, M_1, M_2, ...)`: a step is
//! `u' = (u - t s) F`, `M' = M F`, a combination is one of coordinates, and the vector is formed when it is asked for, by one
//! product with `A^T`. Else the coordinates are the vector itself.

use crate::domain::Factor;
use crate::error::Result;
use crate::linalg::spectral::{Thin, product};
use crate::problem::{SaddleProblem, WithFallbacks};
use crate::state::Archive;

pub(super) struct Coordinates {
    h: usize,
    vectors: Thin,
    images: Thin,
    by_weights: bool,
    /// The vectors that the run began with.
    bases: Vec<Vec<f64>>,
}

impl Coordinates {
    /// Points with this shape of vectors and images, with rows of length `h`.
    pub fn new(h: usize, vectors: Thin, images: Thin) -> Self {
        let by_weights = images.long() < vectors.long();
        Coordinates { h, vectors, images, by_weights, bases: Vec::new() }
    }

    /// Whether coordinates are others than the vector.
    pub fn are_by_weights(&self) -> bool {
        self.by_weights
    }

    /// How many coordinates a point has.
    pub fn len(&self) -> usize {
        match self.by_weights {
            true => self.weights() + self.bases.len() * self.h * self.h,
            false => self.vectors.long() * self.h,
        }
    }

    fn weights(&self) -> usize {
        self.images.long() * self.h
    }

    /// Puts coordinates in place of the vectors that the run begins with.
    pub fn embed(&mut self, mut vectors: Vec<&mut Vec<f64>>) {
        if !self.by_weights {
            return;
        }
        let place = |vector: &mut &mut Vec<f64>| {
            let vector = std::mem::take(*vector);
            if vector.iter().all(|x| *x == 0.0) {
                return None;
            }
            let known = self.bases.iter().position(|base| *base == vector);
            known.or_else(|| {
                self.bases.push(vector);
                Some(self.bases.len() - 1)
            })
        };
        let places: Vec<_> = vectors.iter_mut().map(place).collect();
        for (vector, place) in vectors.into_iter().zip(places) {
            *vector = vec![0.0; self.len()];
            if let Some(base) = place {
                let first = self.weights() + base * self.h * self.h;
                (0..self.h).for_each(|i| vector[first + i * (self.h + 1)] = 1.0);
            }
        }
    }

    /// `out = (from - t g) F` in coordinates, with `g = A^T weights`.
    pub fn step(
        &self,
        f: &Factor,
        from: &[f64],
        t: f64,
        (g, weights): (&[f64], &[f64]),
        out: &mut [f64],
    ) {
        if !self.by_weights {
            return self.vectors.step(f, from, t, g, out);
        }
        let (u, small) = from.split_at(self.weights());
        let (out, out_small) = out.split_at_mut(self.weights());
        self.images.step(f, u, t, weights, out);
        let size = self.h * self.h;
        for (m, out) in small.chunks_exact(size).zip(out_small.chunks_exact_mut(size)) {
            product(self.h, m, &f.matrix, out);
        }
    }

    /// Writes the vector of a point.
    pub fn write(&self, problem: &dyn SaddleProblem, coordinates: &[f64], out: &mut [f64]) {
        if !self.by_weights {
            return out.copy_from_slice(coordinates);
        }
        let (u, small) = coordinates.split_at(self.weights());
        WithFallbacks::new(problem).adjoint(u, out);
        for (m, base) in small.chunks_exact(self.h * self.h).zip(&self.bases) {
            if m.iter().any(|m| *m != 0.0) {
                self.vectors.add_product(base, m, out);
            }
        }
    }

    /// The vector of a point.
    pub fn vector(&self, problem: &dyn SaddleProblem, coordinates: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.vectors.long() * self.h];
        self.write(problem, coordinates, &mut out);
        out
    }

    /// Saves or loads the vectors that the run began with, of which there are `most` at the most.
    pub fn state(&mut self, archive: &mut Archive<'_>, most: usize) -> Result<()> {
        let mut count = self.bases.len() as u64;
        archive.count("bases", &mut count)?;
        if count > most as u64 || (count > 0 && !self.by_weights) {
            return Err(archive.misfit("bases", &format!("are {count}, of {most} at the most")));
        }
        let dim = self.vectors.long() * self.h;
        self.bases.resize_with(count as usize, || vec![0.0; dim]);
        self.bases.iter_mut().try_for_each(|base| archive.numbers("base", base))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{Layout, SparseMatrix, combine};
    use crate::model::{RobustMulticlass, RobustSettings};
    use crate::problem::LinearOperator;
    use crate::random::Streams;

    #[test]
    fn coordinates_move_as_vectors_do() {
        let h = 3;
        // more features than rows, and fewer
        for (n, d, by_weights) in [(10, 40, true), (40, 10, false)] {
            let mut draw = Streams::new(1).stream("points");
            let mut random = |len: usize| -> Vec<f64> {
                (0..len).map(|_| draw.below(2000) as f64 / 1000.0 - 1.0).collect()
            };
            let (starts, indices) =
                ((0..=n).map(|i| i * d).collect(), (0..n).flat_map(|_| 0..d as u32));
            let rows =
                SparseMatrix::from_rows(d, starts, indices.collect(), random(n * d)).expect("rows");
            let labels = (0..n as u32).map(|i| i % h as u32).collect();
            let settings = RobustSettings::default().layout(Layout::FeatureMajor);
            let problem = RobustMulticlass::new(rows, labels, h, settings).expect("a problem");
            let shapes = (Thin::new(d, h), Thin::new(n, h));
            let mut points = Coordinates::new(h, shapes.0, shapes.1);
            assert_eq!(points.are_by_weights(), by_weights);
            // two that are the same, one that is another, and zero
            let first = random(d * h);
            let mut vectors = [first.clone(), first, random(d * h), vec![0.0; d * h]];
            let mut kept = vectors.clone();
            points.embed(kept.iter_mut().collect());
            assert_eq!(points.bases.len(), if by_weights { 2 } else { 0 });
            for k in 0..12 {
                let (from, to) = (k % 4, (k + 1) % 4);
                let weights = random(n * h);
                let mut g = vec![0.0; d * h];
                problem.adjoint(&weights, &mut g);
                // any vectors do, not only orthonormal ones
                let mut f =
                    Factor { matrix: vec![0.0; h * h], values: random(2), vectors: random(2 * h) };
                for (value, vector) in f.values.iter().zip(f.vectors.chunks(h)) {
                    for i in 0..h * h {
                        f.matrix[i] += value * vector[i / h] * vector[i % h];
                    }
                }
                let mut moved = vec![0.0; d * h];
                shapes.0.step(&f, &vectors[from], 0.3, &g, &mut moved);
                let mut coordinates = vec![f64::NAN; points.len()];
                points.step(&f, &kept[from], 0.3, (&g, &weights), &mut coordinates);
                let (old, old_kept) = (vectors[to].clone(), kept[to].clone());
                combine(0.4, &old, 0.6, &moved, &mut vectors[to]);
                combine(0.4, &old_kept, 0.6, &coordinates, &mut kept[to]);
                for (vector, kept) in vectors.iter().zip(&kept) {
                    let formed = points.vector(&problem, kept);
                    let close = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-11;
                    assert!(formed.iter().zip(vector).all(close), "{k}");
                }
            }
        }
    }
}
