//! Convex quadratic functions over the simplex, by an active set that is kept from one problem to the next.
//!
//! The free weights are those above zero. In turn: minimise over the affine hull of the free vertices; where that leaves the
//! simplex, go to its boundary and drop the weight that became zero; otherwise the vertex with the least slope becomes free.
//! Every round lowers the function or drops a weight, so that no set of free vertices occurs twice. All is done in steps from
//! the present weights, so that rounding is relative to how far they still move.

use super::cholesky::Cholesky;
use super::{axpy, dot};
use crate::error::Result;
use crate::state::Archive;

/// A positive semidefinite form on the weights.
pub(crate) trait Form {
    /// Writes the entries of a vertex with others.
    fn entries(&mut self, vertex: usize, others: &[usize], out: &mut Vec<f64>) -> Result<()>;

    /// How well the entries are known, as a share of their size: pivots below it are noise.
    fn noise(&self) -> f64 {
        1e-12
    }

    /// `slope += M step`.
    fn add_product(&mut self, step: &[f64], slope: &mut [f64]) -> Result<()>;
}

/// A symmetric matrix by its rows.
impl Form for &[Vec<f64>] {
    fn entries(&mut self, vertex: usize, others: &[usize], out: &mut Vec<f64>) -> Result<()> {
        out.clear();
        out.extend(others.iter().map(|j| self[vertex][*j]));
        Ok(())
    }

    fn add_product(&mut self, step: &[f64], slope: &mut [f64]) -> Result<()> {
        for (row, step) in self.iter().zip(step).filter(|(_, step)| **step != 0.0) {
            axpy(*step, row, slope);
        }
        Ok(())
    }
}

/// The free vertices, with the factor of the form on them: what one problem leaves to the next with the same form.
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

    /// A vertex is no longer there: those after it move up by one.
    pub fn forget(&mut self, gone: usize) {
        if let Some(at) = self.free.iter().position(|vertex| *vertex == gone) {
            self.remove(at);
        }
        self.free.iter_mut().filter(|vertex| **vertex > gone).for_each(|vertex| *vertex -= 1);
    }

    /// Makes a vertex free.
    fn add(&mut self, vertex: usize, form: &mut dyn Form) -> Result<()> {
        let mut row = Vec::new();
        self.free.push(vertex);
        form.entries(vertex, &self.free, &mut row)?;
        self.diagonal.push(row.last().map_or(0.0, |d| d.abs()));
        let largest = self.diagonal.iter().copied().fold(0.0, f64::max);
        if self.shift != 0.0 && (largest == 0.0 || (0.25..=4.0).contains(&(largest / self.shift))) {
            row.iter_mut().for_each(|entry| *entry += self.shift);
            self.factor.append(row);
            return Ok(());
        }
        self.shift = if largest > 0.0 { largest } else { 1.0 };
        self.factor = Cholesky::with_least_pivot(form.noise());
        for i in 0..self.free.len() {
            let mut row = Vec::with_capacity(i + 1);
            form.entries(self.free[i], &self.free[..=i], &mut row)?;
            row.iter_mut().for_each(|entry| *entry += self.shift);
            self.factor.append(row);
        }
        Ok(())
    }

    fn remove(&mut self, at: usize) {
        self.free.remove(at);
        self.diagonal.remove(at);
        self.factor.remove(at);
    }

    /// The step to the minimiser where only free weights move and their sum stays, and what all free slopes are there.
    fn step(&self, slopes: &[f64]) -> (Vec<f64>, f64) {
        // a constant makes no difference, but a large one costs digits
        let constant = slopes.first().copied().unwrap_or(0.0);
        let mut step: Vec<f64> = slopes.iter().map(|slope| constant - slope).collect();
        let mut level = vec![1.0; step.len()];
        self.factor.solve(&mut step);
        self.factor.solve(&mut level);
        let multiplier = -step.iter().sum::<f64>() / level.iter().sum::<f64>();
        axpy(multiplier, &level, &mut step);
        (step, constant + multiplier)
    }

    /// Minimises `<slope, u - w> + <u - w, M (u - w)>/2` over the simplex, from `w`, until no vertex is better by more than
    /// `accuracy`. `weights` go from `w` to `u`; `slope` is needed no longer. `M` need be symmetric and positive semidefinite only
    /// nearly.
    pub fn minimise(
        &mut self,
        form: &mut dyn Form,
        weights: &mut [f64],
        slope: &mut [f64],
        accuracy: f64,
    ) -> Result<()> {
        let mut is_free = vec![false; weights.len()];
        self.free.iter().for_each(|j| is_free[*j] = true);
        for vertex in (0..weights.len()).filter(|j| weights[*j] > 0.0) {
            if !std::mem::replace(&mut is_free[vertex], true) {
                self.add(vertex, form)?;
            }
        }
        // slopes are those at these weights, but for the free ones
        let mut base = weights.to_vec();
        let mut local: Vec<f64> = self.free.iter().map(|j| slope[*j]).collect();
        let (mut newest, mut uneven) = (None, f64::INFINITY);
        for _ in 0..3 * weights.len() + 100 {
            let (step, level) = self.step(&local);
            // how far the way stays in the simplex
            let shrinks = self.free.iter().zip(&step).enumerate();
            let blocks = shrinks.filter(|(_, (j, d))| weights[**j] + **d < 0.0);
            let blocks = blocks.map(|(at, (j, d))| (weights[*j] / -d, at));
            let first = blocks.min_by(|a, b| a.0.total_cmp(&b.0));
            let length = first.map_or(1.0, |(length, _)| length);
            for ((j, d), slope) in self.free.iter().zip(&step).zip(&mut local) {
                weights[*j] = (weights[*j] + length * d).max(0.0);
                *slope += length * (level - *slope);
            }
            if let Some((length, at)) = first {
                let vertex = self.free[at];
                weights[vertex] = 0.0;
                self.remove(at);
                local.remove(at);
                is_free[vertex] = false;
                if newest == Some(vertex) && length == 0.0 {
                    break; // rounding is all that made it look better
                }
                continue;
            }
            base.iter_mut().zip(&*weights).for_each(|(base, w)| *base = w - *base);
            form.add_product(&base, slope)?;
            base.copy_from_slice(weights);
            local.iter_mut().zip(&self.free).for_each(|(local, j)| *local = slope[*j]);
            let level = dot(slope, weights) / weights.iter().sum::<f64>();
            let others = (0..weights.len()).filter(|j| !is_free[*j]);
            let least = others.min_by(|i, j| slope[*i].total_cmp(&slope[*j]));
            match least {
                Some(j) if level - slope[j] > accuracy => {
                    self.add(j, form)?;
                    local.push(slope[j]);
                    is_free[j] = true;
                    newest = Some(j);
                }
                _ => {
                    // a factor that is not quite that of the form leaves slopes that are not quite the same
                    let left = level - local.iter().copied().fold(level, f64::min);
                    if !(left > accuracy && left < 0.5 * uneven) {
                        break;
                    }
                    (uneven, newest) = (left, None);
                }
            }
        }
        let sum: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|w| *w /= sum);
        Ok(())
    }

    /// Saves or loads it, for a form with so many vertices.
    pub fn state(&mut self, archive: &mut Archive<'_>, vertices: usize) -> Result<()> {
        let mut free: Vec<u64> = self.free.iter().map(|j| *j as u64).collect();
        archive.list("free", &mut free, || 0, |archive, vertex| archive.count("vertex", vertex))?;
        self.free = free.into_iter().map(|j| j as usize).collect();
        archive.nested("factor", |archive| self.factor.state(archive))?;
        archive.list(
            "diagonal",
            &mut self.diagonal,
            || 0.0,
            |archive, entry| archive.magnitude("entry", entry),
        )?;
        archive.magnitude("shift", &mut self.shift)?;
        let mut seen = vec![false; vertices];
        let is_new =
            |j: &usize| seen.get_mut(*j).is_some_and(|seen| !std::mem::replace(seen, true));
        let are_vertices = self.free.iter().all(is_new);
        let count = self.free.len();
        if !are_vertices || !self.factor.fits(count) || self.diagonal.len() != count {
            return Err(archive.misfit("free", "vertices do not fit the factor"));
        }
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
        }
    }
}
