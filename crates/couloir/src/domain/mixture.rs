//! The best mixture of two linear minorants over a set.

use super::{Confidence, LinearMin, Oracle, room};
use crate::error::Result;
use crate::linalg::{combine, dot_difference};

/// Evaluations that a search may spend where each is a linear minimisation.
const DEAR: u32 = 4;
/// And where each is the work of a small matrix.
pub(super) const CHEAP: u32 = 12;

/// Two linear functions `u -> constant + <slope, u>`, to be mixed.
#[derive(Clone, Copy, Debug)]
pub struct MixTask<'a> {
    /// The slope at weight 0.
    pub from: &'a [f64],
    /// The slope at weight 1.
    pub to: &'a [f64],
    /// Their constants, and what is sought.
    pub goal: MixGoal,
    /// Whether the slope at weight 0 is, up to rounding, the mixture that this oracle's last search found: what is
    /// known of that need not be computed anew.
    pub follows: bool,
}

/// The numbers of a [`MixTask`].
#[derive(Clone, Copy, Debug)]
pub struct MixGoal {
    /// The constant at weight 0.
    pub from_constant: f64,
    /// The constant at weight 1.
    pub to_constant: f64,
    /// A lower bound of the minimum over the set at weight 0.
    pub known: f64,
    /// The weight to try first, above 0 and at most 1.
    pub guess: f64,
    /// The search ends when no more than this is to be gained.
    pub worth: f64,
}

/// What a search found.
#[derive(Clone, Copy, Debug)]
pub struct Mixture {
    /// The weight of the second function; 0 if none tried is better than the first alone.
    pub weight: f64,
    /// A lower bound of the mixture's minimum over the set.
    pub lower: f64,
    /// On what the bounds rest.
    pub confidence: Confidence,
    /// Minima that were computed.
    pub evaluations: u64,
    /// Operator products that they took.
    pub products: u64,
}

/// A weight that was tried: the bound there and how fast it rises.
#[derive(Clone, Copy)]
struct Cut {
    weight: f64,
    value: f64,
    rise: f64,
}

impl Cut {
    /// Where two cuts meet: the highest that the bound may be between them, as it is concave.
    fn meet(self, other: Cut) -> (f64, f64) {
        let ahead = other.value - other.rise * other.weight - self.value + self.rise * self.weight;
        let weight = (ahead / (self.rise - other.rise)).clamp(self.weight, other.weight);
        (weight, self.value + self.rise * (weight - self.weight))
    }
}

/// Maximises `D(t) = min_u (1-t) (constant + <from, u>) + t (constant' + <to, u>)` over `t` in `[0, 1]`. `minimise` gives for a
/// `t` the minimum of `<(1-t) from + t to, u>` and `<to - from, u>` at the minimiser: `D` is concave, and that is its
/// slope but for the constants.
pub(super) fn search(
    goal: &MixGoal,
    evaluations: u32,
    mut minimise: impl FnMut(f64) -> Result<(LinearMin, f64)>,
) -> Result<Mixture> {
    let mut best = Mixture {
        weight: 0.0,
        lower: goal.known,
        confidence: Confidence::Exact,
        evaluations: 0,
        products: 0,
    };
    let (mut low, mut high) = (None::<Cut>, None::<Cut>);
    let mut weight = goal.guess;
    for _ in 0..evaluations {
        let (minimum, slope) = minimise(weight)?;
        best.evaluations += 1;
        best.products += minimum.products;
        best.confidence = best.confidence.and(minimum.confidence);
        let constant = (1.0 - weight) * goal.from_constant + weight * goal.to_constant;
        let value = constant + minimum.lower;
        if value > best.lower {
            (best.weight, best.lower) = (weight, value);
        }
        let rise = goal.to_constant - goal.from_constant + slope;
        let cut = Cut { weight, value, rise };
        if rise > 0.0 {
            low = Some(cut)
        } else {
            high = Some(cut)
        }
        let (next, most) = match (low, high) {
            (Some(low), Some(high)) => low.meet(high),
            (Some(low), None) if low.weight == 1.0 => break,
            (Some(low), None) => {
                ((2.0 * low.weight).min(1.0), low.value + low.rise * (1.0 - low.weight))
            }
            (None, Some(high)) => {
                // the parabola through the bound at 0 and this cut
                let bend = (goal.known - high.value) / high.weight + high.rise;
                let back = if bend < 0.0 { 0.5 * high.rise / bend } else { 0.9 };
                let next = high.weight * (1.0 - back.clamp(0.1, 0.9));
                (next, high.value - high.rise * high.weight)
            }
            (None, None) => break,
        };
        if !(most - best.lower > goal.worth) {
            break;
        }
        weight = next;
    }
    Ok(best)
}

/// The search with the set's linear minimisation.
pub(super) fn by_lmo<O: Oracle + ?Sized>(
    oracle: &mut O,
    task: &MixTask<'_>,
    scratch: &mut Vec<f64>,
) -> Result<Mixture> {
    let dim = task.from.len();
    let (mixed, vertex) = room(scratch, 2 * dim).split_at_mut(dim);
    search(&task.goal, DEAR, |t| {
        combine(1.0 - t, task.from, t, task.to, mixed);
        let minimum = oracle.lmo(mixed, vertex)?;
        Ok((minimum, dot_difference(vertex, task.to, task.from).0))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Domain, NuclearBall};

    fn wave(rate: f64, dim: usize) -> Vec<f64> {
        (0..dim).map(|i| (rate * i as f64).sin() + (0.1 * rate * i as f64).cos()).collect()
    }

    #[test]
    fn the_nuclear_ball_mixes_by_gram_matrices_as_by_linear_minimisation() {
        for (rows, cols) in [(4, 30), (30, 4), (3, 3)] {
            let (from, to) = (wave(0.7, rows * cols), wave(1.3, rows * cols));
            let ball = NuclearBall::new(rows, cols, 2.0).expect("a ball");
            let mut oracle = ball.oracle();
            let mut scratch = Vec::new();
            let known = 0.3 + oracle.support(&from, &mut scratch).expect("a minimum").lower;
            for (to_constant, guess) in [(0.0, 0.5), (2.0, 0.01), (20.0, 0.5), (-20.0, 1.0)] {
                let task = MixTask {
                    from: &from,
                    to: &to,
                    goal: MixGoal { from_constant: 0.3, to_constant, known, guess, worth: 1e-9 },
                    follows: false,
                };
                let quick = oracle.mix(&task, &mut scratch).expect("a mixture");
                let plain = by_lmo(&mut *oracle, &task, &mut scratch).expect("a mixture");
                assert!(plain.lower <= quick.lower + 1e-9, "{quick:?} {plain:?}");
                if plain.evaluations < u64::from(DEAR) {
                    assert!((quick.weight - plain.weight).abs() < 1e-6, "{quick:?} {plain:?}");
                    assert!((quick.lower - plain.lower).abs() < 1e-9, "{quick:?} {plain:?}");
                }
                // against the minimum at the weight found, and at all weights of a fine grid
                let mut p = vec![0.0; rows * cols];
                let mut minimum = |t: f64| {
                    let mut mixed = vec![0.0; rows * cols];
                    combine(1.0 - t, &from, t, &to, &mut mixed);
                    let least = oracle.lmo(&mixed, &mut p).expect("a minimum").value;
                    (1.0 - t) * 0.3 + t * to_constant + least
                };
                assert!(quick.lower <= minimum(quick.weight) + 1e-12, "{quick:?}");
                let grid = (0..=1000).map(|k| minimum(f64::from(k) / 1000.0));
                let best = grid.fold(f64::NEG_INFINITY, f64::max);
                assert!(quick.lower >= best - 0.01 * (best - known) - 1e-9, "{quick:?} {best}");
            }
        }
    }

    #[test]
    fn a_search_that_follows_another_finds_what_one_from_scratch_finds() {
        for (rows, cols) in [(4, 30), (30, 4), (3, 3)] {
            let dim = rows * cols;
            let (from, to, next) = (wave(0.7, dim), wave(1.3, dim), wave(2.1, dim));
            let ball = NuclearBall::new(rows, cols, 2.0).expect("a ball");
            let (mut oracle, mut scratch) = (ball.oracle(), Vec::new());
            let known = oracle.support(&from, &mut scratch).expect("a minimum").lower;
            let goal =
                MixGoal { from_constant: 0.0, to_constant: 2.0, known, guess: 0.3, worth: 1e-12 };
            let first = MixTask { from: &from, to: &to, goal, follows: false };
            let found = oracle.mix(&first, &mut scratch).expect("a mixture");
            assert!(found.weight > 0.0, "{found:?}");
            let mut mixed = vec![0.0; dim];
            combine(1.0 - found.weight, &from, found.weight, &to, &mut mixed);
            let anew = MixTask {
                from: &mixed,
                to: &next,
                goal: MixGoal {
                    from_constant: found.weight * goal.to_constant,
                    known: found.lower,
                    ..goal
                },
                follows: false,
            };
            let follows = MixTask { follows: true, ..anew };
            let quick = oracle.mix(&follows, &mut scratch).expect("a mixture");
            let plain = ball.oracle().mix(&anew, &mut scratch).expect("a mixture");
            assert!((quick.weight - plain.weight).abs() < 1e-6, "{quick:?} {plain:?}");
            assert!((quick.lower - plain.lower).abs() < 1e-9, "{quick:?} {plain:?}");
        }
    }
}
