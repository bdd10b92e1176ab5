//! Convex quadratic functions over the simplex, by an active set that is kept from one problem to the next.
//!
//! The free weights are those above zero. In turn: minimise over the affine hull of the free vertices; where that leaves the
//! simplex, go to its boundary and drop the weight that became zero; otherwise the vertex with the least slope becomes free.
//! Every round lowers the function or drops a weight, so that no set of free vertices occurs twice. All is done in steps from
//! the present weights, so that rounding is relative to how far they still move.

use super::cholesky::Cholesky;
use super::{axpy, dot};
use crate::error::Result;

/// The columns of a positive semidefinite form.
pub(crate) trait Columns {
    /// The column that belongs to this vertex.
    fn column(&mut self, vertex: usize) -> Result<&[f64]>;
}

impl Columns for &[Vec<f64>] {
    fn column(&mut self, vertex: usize) -> Result<&[f64]> {
        Ok(&self[vertex])
    }
}

/// The free vertices, with the factor of the form on them.
#[derive(Clone, Debug, Default)]
pub(crate) struct ActiveSet {
    free: Vec<usize>,
    factor: Cholesky,
    /// The entries of the form on the diagonal, for the free vertices.
    diagonal: Vec<f64>,
    /// A multiple of `1 1'` is added to the form: it says nothing about steps that keep the sum of the weights, and makes them
    /// definite where the vertices are independent.
    shift: f64,
}

impl ActiveSet {
    /// The free vertices, in the order in which they became free.
    pub fn free(&self) -> &[usize] {
        &self.free
    }

    /// What the factor was made with; with the free vertices it says all.
    pub fn shift(&self) -> f64 {
        self.shift
    }

    /// The active set with these free vertices, in their order.
    pub fn restore(free: &[usize], shift: f64, form: &mut dyn Columns) -> Result<Self> {
        let diagonal = Vec::with_capacity(free.len());
        let mut set =
            ActiveSet { free: free.to_vec(), factor: Cholesky::default(), diagonal, shift };
        for vertex in free {
            set.diagonal.push(form.column(*vertex)?[*vertex]);
        }
        set.refactor(form)?;
        Ok(set)
    }

    /// A vertex that is not free is no longer there: those after it move up by one.
    pub fn renumber(&mut self, gone: usize) {
        self.free.iter_mut().filter(|vertex| **vertex > gone).for_each(|vertex| *vertex -= 1);
    }

    fn refactor(&mut self, form: &mut dyn Columns) -> Result<()> {
        self.factor = Cholesky::default();
        for i in 0..self.free.len() {
            self.append(i, form)?;
        }
        Ok(())
    }

    /// Appends the row of the free vertex at this place, the next one of the factor.
    fn append(&mut self, at: usize, form: &mut dyn Columns) -> Result<()> {
        let column = form.column(self.free[at])?;
        let row = self.free[..=at].iter().map(|vertex| column[*vertex] + self.shift).collect();
        self.factor.append(row);
        Ok(())
    }

    fn add(&mut self, vertex: usize, form: &mut dyn Columns) -> Result<()> {
        self.diagonal.push(form.column(vertex)?[vertex]);
        self.free.push(vertex);
        let largest = self.diagonal.iter().fold(0.0f64, |m, d| m.max(d.abs()));
        if self.shift == 0.0 || (largest > 0.0 && !(0.25..=4.0).contains(&(largest / self.shift))) {
            self.shift = if largest > 0.0 { largest } else { 1.0 };
            return self.refactor(form);
        }
        self.append(self.free.len() - 1, form)
    }

    fn remove(&mut self, at: usize) {
        self.free.remove(at);
        self.diagonal.remove(at);
        self.factor.remove(at);
    }

    /// The step to the minimiser where only free weights move and their sum stays.
    fn step(&self, slope: &[f64]) -> Vec<f64> {
        // a constant makes no difference, but a large one costs digits
        let constant = self.free.first().map_or(0.0, |j| slope[*j]);
        let mut step: Vec<f64> = self.free.iter().map(|j| constant - slope[*j]).collect();
        let mut level = vec![1.0; step.len()];
        self.factor.solve(&mut step);
        self.factor.solve(&mut level);
        let multiplier = -step.iter().sum::<f64>() / level.iter().sum::<f64>();
        axpy(multiplier, &level, &mut step);
        step
    }

    /// Minimises `<slope, u - w> + <u - w, M (u - w)>/2` over the simplex, from `w`, until no vertex is better by more than
    /// `accuracy`. `weights` go from `w` to `u`, and `slope` from the slope at `w` to that at `u`. `M` need be positive
    /// semidefinite only up to rounding.
    pub fn minimise(
        &mut self,
        form: &mut dyn Columns,
        weights: &mut [f64],
        slope: &mut [f64],
        accuracy: f64,
    ) -> Result<()> {
        for vertex in (0..weights.len()).filter(|j| weights[*j] > 0.0) {
            if !self.free.contains(&vertex) {
                self.add(vertex, form)?;
            }
        }
        let mut newest = None;
        for _ in 0..10 * weights.len() + 100 {
            let step = self.step(slope);
            // how far the way stays in the simplex
            let shrinks = self.free.iter().zip(&step).enumerate();
            let blocks = shrinks.filter(|(_, (j, d))| weights[**j] + **d < 0.0);
            let blocks = blocks.map(|(at, (j, d))| (weights[*j] / -d, at));
            let first = blocks.min_by(|a, b| a.0.total_cmp(&b.0));
            let length = first.map_or(1.0, |(length, _)| length);
            for (j, d) in self.free.iter().zip(&step) {
                weights[*j] = (weights[*j] + length * d).max(0.0);
                axpy(length * d, form.column(*j)?, slope);
            }
            if let Some((length, at)) = first {
                let vertex = self.free[at];
                weights[vertex] = 0.0;
                self.remove(at);
                if newest == Some(vertex) && length == 0.0 {
                    break; // rounding is all that made it look better
                }
                continue;
            }
            let sum: f64 = weights.iter().sum();
            let level = dot(slope, weights) / sum;
            let mut is_free = vec![false; weights.len()];
            self.free.iter().for_each(|j| is_free[*j] = true);
            let others = (0..weights.len()).filter(|j| !is_free[*j]);
            let least = others.min_by(|i, j| slope[*i].total_cmp(&slope[*j]));
            match least {
                Some(j) if level - slope[j] > accuracy => {
                    self.add(j, form)?;
                    newest = Some(j);
                }
                _ => break,
            }
        }
        let sum: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|w| *w /= sum);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(seed: usize, i: usize, j: usize) -> f64 {
        ((13 * i + 29 * j + 7 * seed) as f64 * 0.731).sin()
    }

    #[test]
    fn a_problem_that_has_little_to_do_with_the_last_one_is_solved_as_from_scratch() {
        // the projection on the simplex: first the solution is at all vertices but the last, then at the last alone, and
        // the best vertex of those that were free before is another
        let form: Vec<Vec<f64>> =
            (0..12).map(|i| (0..12).map(|j| f64::from(u8::from(i == j))).collect()).collect();
        let mut weights = vec![0.0; 12];
        weights[0] = 1.0;
        let mut active = ActiveSet::default();
        for (pull, [among, last]) in [([0.0, 9.0], [1.0 / 11.0, 0.0]), ([-20.0, -40.0], [0.0, 1.0])]
        {
            let mut slope = weights.clone();
            slope[3] += pull[0];
            slope[11] += pull[1];
            active.minimise(&mut &form[..], &mut weights, &mut slope, 1e-12).expect("columns");
            assert!((weights[3] - among).abs() < 1e-12, "{weights:?}");
            assert!((weights[11] - last).abs() < 1e-12, "{weights:?}");
        }
    }

    #[test]
    fn no_vertex_is_better_than_the_point_found_whatever_the_rank() {
        for seed in 0..40 {
            let (k, rows) = (3 + seed % 30, 1 + seed % 7);
            let b: Vec<Vec<f64>> =
                (0..k).map(|j| (0..rows).map(|r| wave(seed, r, j)).collect()).collect();
            let form: Vec<Vec<f64>> =
                b.iter().map(|i| b.iter().map(|j| dot(i, j)).collect()).collect();
            let at_zero: Vec<f64> = (0..k).map(|j| 0.3 * wave(seed + 99, j, j)).collect();
            let slope_at = |w: &[f64]| -> Vec<f64> {
                form.iter().zip(&at_zero).map(|(row, g)| g + dot(row, w)).collect()
            };
            let gap = |w: &[f64]| {
                let slope = slope_at(w);
                dot(&slope, w) - slope.iter().copied().fold(f64::INFINITY, f64::min)
            };
            let mut w = vec![0.0; k];
            (w[0], w[k - 1]) = (0.25, 0.75);
            let mut active = ActiveSet::default();
            for round in 0..3 {
                let mut slope = slope_at(&w);
                active.minimise(&mut &form[..], &mut w, &mut slope, 1e-12).expect("columns");
                assert!((w.iter().sum::<f64>() - 1.0).abs() < 1e-14 && w.iter().all(|w| *w >= 0.0));
                if round > 0 {
                    assert!(gap(&w) < 1e-9, "seed {seed}: {}", gap(&w));
                }
            }
            // the same factor from what it says of itself
            let again = ActiveSet::restore(active.free(), active.shift(), &mut &form[..]);
            let slope = slope_at(&vec![1.0 / k as f64; k]);
            assert_eq!(active.step(&slope), again.expect("columns").step(&slope));
        }
    }
}
