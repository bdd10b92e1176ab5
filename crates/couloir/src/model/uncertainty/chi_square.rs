//! The chi-square penalty: `y` in the unit simplex of `R^n`, at the cost `lambda/2 |n y - 1|^2`.

use super::{Moduli, RowWeights, Uncertainty};
use crate::domain::{Domain, Simplex};
use crate::error::{Result, check_positive};
use crate::linalg::{accurate_sum, accurate_sum_of};
use crate::problem::Measured;
use crate::state::Fingerprint;
use rayon::prelude::*;

/// Entries that one thread takes at a time. Up to here everything is one piece.
const PIECE: usize = 1 << 16;

/// The chi-square penalty on the weights of `n` rows whose nominal weights are all the same, at a level that is `lambda n`.
#[derive(Clone, Debug)]
pub struct ChiSquare {
    n: usize,
    level: f64,
    y_set: Simplex,
}

impl ChiSquare {
    /// The penalty on the weights of `n` rows, at this level, `lambda n` of the paper.
    ///
    /// # Errors
    /// No rows, a level that is not positive.
    pub fn new(n: usize, level: f64) -> Result<Self> {
        check_positive("level", level)?;
        Ok(ChiSquare { n, level, y_set: Simplex::new(n)? })
    }

    /// The derivative of [`value`](Self::value) by an entry of `y`.
    fn slope(&self, y: f64) -> f64 {
        -self.level * (self.n as f64 * y - 1.0)
    }
}

impl Uncertainty for ChiSquare {
    fn name(&self) -> &'static str {
        "chi2"
    }

    fn y_set(&self) -> &dyn Domain {
        &self.y_set
    }

    fn row_weights(&self) -> RowWeights {
        RowWeights::PerRow
    }

    /// `-lambda/2 |n y - 1|^2`, which the objective adds to the weighted losses.
    fn value(&self, y: &[f64]) -> f64 {
        let (n, lambda) = (self.n as f64, self.level / self.n as f64);
        let sum = in_lanes([y, y], 0.0, |[y, _]| (n * y - 1.0).powi(2), |sum, square| sum + square);
        -0.5 * lambda * sum
    }

    /// Writes the gradient of [`value`](Self::value).
    fn slopes(&self, y: &[f64], out: &mut [f64]) {
        for (o, y) in out.iter_mut().zip(y) {
            *o = self.slope(*y);
        }
    }

    fn largest_term(&self, y: &[f64]) -> Option<f64> {
        let most = largest([y, y], |[y, _]| y.abs());
        Some(self.level * (self.n as f64 * most + 1.0))
    }

    /// Writes the maximiser of `<losses, y>` and the penalty, and returns a bound of what it misses. `room` has `n` numbers.
    fn best_response(&self, losses: &[f64], room: &mut [f64], y: &mut [f64]) -> f64 {
        respond(losses, self.level, room, y)
    }

    /// The change of `<losses, y>` and the penalty between two points, without cancellation.
    fn change(&self, losses: &[f64], from: &[f64], to: &[f64]) -> Measured {
        let n = self.n;
        let middle = |i: usize| 0.5 * (from[i] + to[i]);
        let slope = |i: usize| losses[i] + self.slope(middle(i));
        // both sum to 1, so a common part of the slopes cancels: their mean, for near the best
        // response they are all the same
        let (sum, mass) =
            (0..n).fold((0.0, 0.0), |(s, m), i| (s + middle(i) * slope(i), m + middle(i)));
        let shift = if mass > 0.0 { sum / mass } else { 0.0 };
        let (mut value, mut size, mut drift) = (0.0, 0.0, 0.0);
        for i in 0..n {
            let step = to[i] - from[i];
            let slope = slope(i) - shift;
            value += slope * step;
            drift += step;
            let weight = self.level * (n as f64 * middle(i) + 1.0);
            size += (losses[i] + weight + shift.abs()) * step.abs();
        }
        let rounding = 4.0 * f64::EPSILON * size + (shift * drift).abs();
        Measured { value, rounding }
    }

    /// `mu = Lyy = level n`.
    fn moduli(&self) -> Moduli {
        let modulus = self.level * self.n as f64;
        Moduli { mu: Some(modulus), lyy: Some(modulus) }
    }

    fn fingerprint(&self, print: &mut Fingerprint) {
        print.note("level", self.level);
    }
}

/// Writes the maximiser of `<g, y> - lambda/2 |n y - 1|^2` over the simplex, `n y_i = max(0, (g_i - g_max)/level - theta)`
/// with `theta` such that they add up to `n` (Michelot's passes: O(n)), and returns a bound of what it misses.
/// Only differences of the `g` are formed.
fn respond(g: &[f64], level: f64, candidates: &mut [f64], y: &mut [f64]) -> f64 {
    let n = g.len() as f64;
    let top = largest([g, g], |[g, _]| g);
    // the largest entry is 0, so theta is at least -n and what lies below is none of the support
    // how many candidates a piece has, and their sum; one piece takes no memory of its own
    let mut one = [(0, 0.0)];
    let mut many = Vec::new();
    let counts: &mut [(usize, f64)] = match g.len().div_ceil(PIECE) {
        ..=1 => &mut one,
        pieces => {
            many.resize(pieces, (0, 0.0));
            &mut many
        }
    };
    (y.par_chunks_mut(PIECE).zip(g.par_chunks(PIECE)))
        .zip(candidates.par_chunks_mut(PIECE))
        .zip(&mut *counts)
        .for_each(|(((y, g), candidates), (count, _))| {
            for (y, g) in y.iter_mut().zip(g) {
                *y = (g - top) / level;
                candidates[*count] = *y;
                *count += usize::from(*y > -n);
            }
        });
    let mut theta;
    loop {
        let before: usize = counts.iter().map(|(count, _)| count).sum();
        let pieces = candidates.par_chunks(PIECE).zip(&mut *counts);
        pieces.for_each(|(candidates, (count, sum))| *sum = accurate_sum_of(&candidates[..*count]));
        theta = (accurate_sum(counts.iter().map(|(_, sum)| *sum)) - n) / before as f64;
        candidates.par_chunks_mut(PIECE).zip(&mut *counts).for_each(|(candidates, (count, _))| {
            let before = std::mem::take(count);
            for i in 0..before {
                let candidate = candidates[i];
                candidates[*count] = candidate;
                *count += usize::from(candidate > theta);
            }
        });
        let count: usize = counts.iter().map(|(count, _)| count).sum();
        if count == before || count == 0 {
            break;
        }
    }
    let supports: usize = y
        .par_chunks_mut(PIECE)
        .map(|y| {
            y.iter_mut().for_each(|y| *y = (*y - theta).max(0.0) / n);
            y.iter().filter(|&&y| y > 0.0).count()
        })
        .sum();
    // one correction takes the rounding of theta (times the size of the support) out of the sum
    let missing = (1.0 - accurate_sum_of(y)) / supports.max(1) as f64;
    y.par_chunks_mut(PIECE).for_each(|y| {
        for y in y {
            *y = if *y > 0.0 { (*y + missing).max(0.0) } else { 0.0 };
        }
    });
    // max over w of <grad, w - y>, with the rounding of the slopes against us
    let slope = |g: f64, y: f64| {
        let (g, weight) = (g - top, n * y);
        let noise = 2.0 * f64::EPSILON * (g.abs() + level * (weight + 1.0));
        (g - level * (weight - 1.0), noise)
    };
    let highest = largest([g, y], |[g, y]| {
        let (value, noise) = slope(g, y);
        value + noise
    });
    let term = |[g, y]: [f64; 2]| {
        let (value, noise) = slope(g, y);
        if y > 0.0 { y * (highest - value + noise) } else { 0.0 }
    };
    in_lanes([g, y], 0.0, term, |sum, term| sum + term)
}

/// The largest of `value(a_i, b_i)`.
pub(super) fn largest(vectors: [&[f64]; 2], value: impl Fn([f64; 2]) -> f64 + Sync) -> f64 {
    in_lanes(vectors, f64::NEG_INFINITY, value, |m, v| if v > m { v } else { m })
}

/// All `value(a_i, b_i)` joined: pieces by several threads, in lanes that need not wait for each other.
pub(super) fn in_lanes(
    [a, b]: [&[f64]; 2],
    first: f64,
    value: impl Fn([f64; 2]) -> f64 + Sync,
    join: impl Fn(f64, f64) -> f64 + Sync,
) -> f64 {
    if a.len() <= PIECE {
        return piece_in_lanes([a, b], first, &value, &join);
    }
    let pieces = a.par_chunks(PIECE).zip(b.par_chunks(PIECE));
    let joined: Vec<f64> =
        pieces.map(|(a, b)| piece_in_lanes([a, b], first, &value, &join)).collect();
    joined.into_iter().fold(first, join)
}

fn piece_in_lanes(
    [a, b]: [&[f64]; 2],
    first: f64,
    value: &impl Fn([f64; 2]) -> f64,
    join: &impl Fn(f64, f64) -> f64,
) -> f64 {
    const LANES: usize = 8;
    let ((chunks, rest), (others, other_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut lanes = [first; LANES];
    for (a, b) in chunks.iter().zip(others) {
        for l in 0..LANES {
            lanes[l] = join(lanes[l], value([a[l], b[l]]));
        }
    }
    let rest = rest.iter().zip(other_rest).map(|(a, b)| value([*a, *b]));
    lanes.into_iter().chain(rest).fold(first, join)
}
