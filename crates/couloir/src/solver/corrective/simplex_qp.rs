//! Convex quadratic functions over the simplex, by an active set.
//!
//! The free weights are those above zero. In turn: minimise over the affine hull of the free vertices; where that leaves the
//! simplex, go to its boundary and drop the weight that became zero; otherwise the vertex with the least slope becomes free.
//! Every round lowers the function (or drops a weight), so that no set of free vertices occurs twice.

use super::cholesky::Cholesky;
use crate::error::Result;
use crate::linalg::{axpy, dot};

/// The column of the quadratic form that belongs to a vertex.
pub(super) type Column<'a> = dyn FnMut(usize) -> Result<Vec<f64>> + 'a;

/// What is free, with its columns.
struct Free<'a> {
    places: Vec<usize>,
    columns: Vec<Vec<f64>>,
    factor: Cholesky,
    /// A multiple of `1 1'` is added to the form: constant on the simplex, it makes affine directions definite.
    shift: f64,
    column: &'a mut Column<'a>,
}

impl Free<'_> {
    fn entry(&self, i: usize, j: usize) -> f64 {
        let (row, column) = (self.places[i], self.places[j]);
        0.5 * (self.columns[j][row] + self.columns[i][column]) + self.shift
    }

    fn add(&mut self, place: usize) -> Result<()> {
        let column = (self.column)(place)?;
        self.places.push(place);
        self.columns.push(column);
        let diagonal = self.places.iter().zip(&self.columns).map(|(j, column)| column[*j].abs());
        let largest = diagonal.fold(0.0, f64::max);
        if largest > 0.0 && !(0.25..=4.0).contains(&(largest / self.shift)) {
            self.shift = largest;
            self.factor = Cholesky::default();
            for i in 0..self.places.len() {
                self.factor.append((0..=i).map(|j| self.entry(i, j)).collect());
            }
        } else {
            let last = self.places.len() - 1;
            self.factor.append((0..=last).map(|j| self.entry(last, j)).collect());
        }
        Ok(())
    }

    fn remove(&mut self, at: usize) {
        self.places.remove(at);
        self.columns.remove(at);
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
}

/// Minimises `<g, u - w> + <u - w, M (u - w)>/2` over the simplex, from `w`, until no vertex is better by more than `accuracy`. `M`
/// is given by columns, and need be positive semidefinite only up to rounding.
pub(super) fn minimise(g: &[f64], w: &[f64], column: &mut Column<'_>, accuracy: f64) -> Result<Vec<f64>> {
    // a reborrow with a shorter life
    let column: &mut Column<'_> = &mut |j| column(j);
    let mut free = Free {
        places: Vec::new(),
        columns: Vec::new(),
        factor: Cholesky::default(),
        shift: 1.0,
        column,
    };
    let mut u = w.to_vec();
    let mut slope = g.to_vec();
    for j in (0..w.len()).filter(|j| w[*j] > 0.0) {
        free.add(j)?;
        let last = free.places.len() - 1;
        axpy(-w[j], &free.columns[last], &mut slope);
    }
    let mut newest = None;
    for _ in 0..10 * w.len() + 100 {
        let target = free.target(&slope);
        // how far the way to the target stays in the simplex
        let blocking = free.places.iter().zip(&target).enumerate();
        let blocking = blocking.filter(|(_, (_, t))| **t < 0.0);
        let blocking = blocking.map(|(at, (j, t))| (u[*j] / (u[*j] - t), at));
        let first = blocking.min_by(|a, b| a.0.total_cmp(&b.0));
        let step = first.map_or(1.0, |(step, _)| step);
        for (j, t) in free.places.iter().zip(&target) {
            u[*j] = (u[*j] + step * (t - u[*j])).max(0.0);
        }
        if let Some((step, at)) = first {
            let j = free.places[at];
            u[j] = 0.0;
            if newest == Some(j) && step == 0.0 {
                break; // rounding is all that made it look better
            }
            if free.places.len() > 1 {
                free.remove(at);
                continue;
            }
            break;
        }
        let sum: f64 = u.iter().sum();
        u.iter_mut().for_each(|u| *u /= sum);
        let mut now = slope.clone();
        for (j, column) in free.places.iter().zip(&free.columns) {
            axpy(u[*j], column, &mut now);
        }
        let level = dot(&now, &u);
        let outside = (0..u.len()).filter(|j| !free.places.contains(j));
        let least = outside.min_by(|i, j| now[*i].total_cmp(&now[*j]));
        match least {
            Some(j) if level - now[j] > accuracy => {
                free.add(j)?;
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
            let mut column = |j: usize| Ok((0..k).map(|i| m(i, j)).collect());
            let u = minimise(&g, &w, &mut column, 1e-12).expect("columns");
            assert!((u.iter().sum::<f64>() - 1.0).abs() < 1e-14 && u.iter().all(|u| *u >= 0.0));
            assert!(gap(&at_zero, &b, &u) < 1e-9, "seed {seed}: {}", gap(&at_zero, &b, &u));
        }
    }
}
