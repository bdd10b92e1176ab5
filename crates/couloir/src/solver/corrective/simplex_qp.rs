//! Convex quadratic functions over the simplex, by an active set.
//!
//! The free weights are those above zero. In turn: minimise over the affine hull of the free vertices; where that leaves the
//! simplex, go to its boundary and drop the weight that became zero; otherwise the vertex with the least slope becomes free.
//! Every round lowers the function (or drops a weight), so that no set of free vertices occurs twice.

use super::cholesky::Cholesky;
use crate::error::Result;
use crate::linalg::{axpy, dot};
use crate::state::Archive;

/// A quadratic form by its columns, which are computed when they are asked for.
pub(super) trait Form {
    /// Has the column of this vertex ready.
    fn prepare(&mut self, vertex: usize) -> Result<()>;

    /// A column that is ready.
    fn column(&self, vertex: usize) -> &[f64];
}

/// The free vertices, with the factor of the form on them: what one problem leaves to the next with the same form.
#[derive(Debug, Default)]
pub(super) struct ActiveSet {
    pub places: Vec<usize>,
    factor: Cholesky,
    /// A multiple of `1 1'` is added to the form: constant on the simplex, it makes affine directions definite.
    shift: f64,
}

impl ActiveSet {
    fn entry(&self, form: &dyn Form, i: usize, j: usize) -> f64 {
        let (row, column) = (self.places[i], self.places[j]);
        0.5 * (form.column(column)[row] + form.column(row)[column]) + self.shift
    }

    fn append(&mut self, form: &dyn Form, i: usize) {
        self.factor.append((0..=i).map(|j| self.entry(form, i, j)).collect());
    }

    fn add(&mut self, form: &mut dyn Form, place: usize) -> Result<()> {
        form.prepare(place)?;
        self.places.push(place);
        let diagonal = self.places.iter().map(|j| form.column(*j)[*j].abs());
        let largest = diagonal.fold(0.0, f64::max);
        if self.shift == 0.0 || largest > 0.0 && !(0.25..=4.0).contains(&(largest / self.shift)) {
            self.shift = if largest > 0.0 { largest } else { 1.0 };
            self.factor = Cholesky::default();
            (0..self.places.len()).for_each(|i| self.append(form, i));
        } else {
            self.append(form, self.places.len() - 1);
        }
        Ok(())
    }

    fn remove(&mut self, at: usize) {
        self.places.remove(at);
        self.factor.remove(at);
    }

    /// The minimiser of `<slope, u> + <u, M u>/2` where the weights sum to one.
    fn target(&self, slope: &[f64]) -> Vec<f64> {
        // a constant makes no difference, but large ones cost digits
        let constant = self.places.first().map_or(0.0, |j| slope[*j]);
        let mut down: Vec<f64> = self.places.iter().map(|j| constant - slope[*j]).collect();
        let mut level = vec![1.0; down.len()];
        self.factor.solve(&mut down);
        self.factor.solve(&mut level);
        let of = |v: &[f64]| v.iter().sum::<f64>();
        let multiplier = (1.0 - of(&down)) / of(&level);
        axpy(multiplier, &level, &mut down);
        down
    }

    /// Saves or loads it, for a form with so many vertices.
    pub fn state(&mut self, archive: &mut Archive<'_>, vertices: usize) -> Result<()> {
        let mut places: Vec<u64> = self.places.iter().map(|j| *j as u64).collect();
        archive.list(
            "places",
            &mut places,
            || 0,
            |archive, place| archive.count("place", place),
        )?;
        self.places = places.into_iter().map(|j| j as usize).collect();
        archive.nested("factor", |archive| self.factor.state(archive))?;
        archive.magnitude("shift", &mut self.shift)?;
        if !self.factor.fits(self.places.len()) || self.places.iter().any(|j| *j >= vertices) {
            return Err(archive.misfit("places", "do not fit the factor"));
        }
        Ok(())
    }
}

/// Minimises `<g, u - w> + <u - w, M (u - w)>/2` over the simplex, from `w`, until no vertex is better by more than `accuracy`. `M`
/// need be positive semidefinite only up to rounding. `active` is what the last problem with this form left, or empty.
pub(super) fn minimise(
    g: &[f64],
    w: &[f64],
    form: &mut dyn Form,
    active: &mut ActiveSet,
    accuracy: f64,
) -> Result<Vec<f64>> {
    let mut is_free = vec![false; w.len()];
    for j in &active.places {
        form.prepare(*j)?;
        is_free[*j] = true;
    }
    for j in (0..w.len()).filter(|j| w[*j] > 0.0) {
        if !std::mem::replace(&mut is_free[j], true) {
            active.add(form, j)?;
        }
    }
    let mut slope = g.to_vec();
    active.places.iter().for_each(|j| axpy(-w[*j], form.column(*j), &mut slope));
    let mut u = w.to_vec();
    let mut newest = None;
    for _ in 0..10 * w.len() + 100 {
        let target = active.target(&slope);
        // how far the way to the target stays in the simplex
        let blocking = active.places.iter().zip(&target).enumerate();
        let blocking = blocking.filter(|(_, (_, t))| **t < 0.0);
        let blocking = blocking.map(|(at, (j, t))| (u[*j] / (u[*j] - t), at));
        let first = blocking.min_by(|a, b| a.0.total_cmp(&b.0));
        let step = first.map_or(1.0, |(step, _)| step);
        for (j, t) in active.places.iter().zip(&target) {
            u[*j] = (u[*j] + step * (t - u[*j])).max(0.0);
        }
        if let Some((step, at)) = first {
            let j = active.places[at];
            u[j] = 0.0;
            if active.places.len() == 1 || newest == Some(j) && step == 0.0 {
                break; // rounding is all that made it look better
            }
            active.remove(at);
            is_free[j] = false;
            continue;
        }
        let sum: f64 = u.iter().sum();
        u.iter_mut().for_each(|u| *u /= sum);
        let mut now = slope.clone();
        active.places.iter().for_each(|j| axpy(u[*j], form.column(*j), &mut now));
        let level = dot(&now, &u);
        let outside = (0..u.len()).filter(|j| !is_free[*j]);
        let least = outside.min_by(|i, j| now[*i].total_cmp(&now[*j]));
        match least {
            Some(j) if level - now[j] > accuracy => {
                active.add(form, j)?;
                is_free[j] = true;
                newest = Some(j);
            }
            _ => break,
        }
    }
    let sum: f64 = u.iter().sum();
    u.iter_mut().for_each(|u| *u /= sum);
    Ok(u)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(seed: usize, i: usize, j: usize) -> f64 {
        ((13 * i + 29 * j + 7 * seed) as f64 * 0.731).sin()
    }

    struct Dense(Vec<Vec<f64>>);

    impl Form for Dense {
        fn prepare(&mut self, _vertex: usize) -> Result<()> {
            Ok(())
        }

        fn column(&self, vertex: usize) -> &[f64] {
            &self.0[vertex]
        }
    }

    /// The gap of a quadratic function `<g, u> + |B u|^2/2`.
    fn gap(g: &[f64], b: &[Vec<f64>], u: &[f64]) -> f64 {
        let rows = b[0].len();
        let image: Vec<f64> =
            (0..rows).map(|r| b.iter().zip(u).map(|(column, u)| column[r] * u).sum()).collect();
        let slope: Vec<f64> = g.iter().zip(b).map(|(g, column)| g + dot(column, &image)).collect();
        dot(&slope, u) - slope.iter().copied().fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn no_vertex_is_better_than_the_point_found_whatever_the_rank() {
        for seed in 0..40 {
            let (k, rows) = (3 + seed % 30, 1 + seed % 7);
            let b: Vec<Vec<f64>> =
                (0..k).map(|j| (0..rows).map(|r| wave(seed, r, j)).collect()).collect();
            let at_zero: Vec<f64> = (0..k).map(|j| 0.3 * wave(seed + 99, j, j)).collect();
            let mut w = vec![0.0; k];
            (w[0], w[k - 1]) = (0.25, 0.75);
            let m = |i: usize, j: usize| dot(&b[i], &b[j]);
            let g: Vec<f64> =
                (0..k).map(|i| at_zero[i] + 0.25 * m(i, 0) + 0.75 * m(i, k - 1)).collect();
            let mut form = Dense((0..k).map(|j| (0..k).map(|i| m(i, j)).collect()).collect());
            let mut active = ActiveSet::default();
            minimise(&at_zero, &w, &mut form, &mut active, 1e-12).expect("columns");
            let u = minimise(&g, &w, &mut form, &mut active, 1e-12).expect("columns");
            assert!((u.iter().sum::<f64>() - 1.0).abs() < 1e-14 && u.iter().all(|u| *u >= 0.0));
            assert!(gap(&at_zero, &b, &u) < 1e-9, "seed {seed}: {}", gap(&at_zero, &b, &u));
        }
    }
}
