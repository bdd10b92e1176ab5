//! Points whose entries, or their magnitudes, should add up to a given number, and do so but for rounding.

use crate::linalg::{accurate_sum, accurate_sum_of};

/// What the entries should be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Sum {
    /// Not negative, with this sum.
    Exactly,
    /// Of any sign, with at most this sum of magnitudes.
    AtMost,
}

/// Units in the last place of the bound by which a sum may miss it.
const ULPS: f64 = 2.0;
/// Rounds at the most: one takes all of the difference but for rounding, unless entries were clipped at zero.
const ROUNDS: usize = 4;

/// How far a point that is right up to [`ULPS`] may be from one that is right, Euclidean and in the 1-norm: an excess can be taken
/// from the largest entries, and sums are accurate to less than one more unit.
pub(super) fn slack(bound: f64) -> [f64; 2] {
    [(ULPS + 1.0) * f64::EPSILON * bound; 2]
}

/// Shrinks or raises all entries other than zero by the same amount, towards the nearest point with the right sum; returns how
/// far the point has moved. A point that is right up to [`ULPS`] keeps its bits.
pub(super) fn repair_sum(p: &mut [f64], bound: f64, sum: Sum) -> f64 {
    let mut moved = 0.0;
    if sum == Sum::Exactly && has_negative(p) {
        let negative: f64 = p.iter().map(|p| p.min(0.0).powi(2)).sum();
        p.iter_mut().for_each(|p| *p = p.max(0.0));
        moved += negative.sqrt();
    }
    for _ in 0..ROUNDS {
        let present = match sum {
            Sum::Exactly => accurate_sum_of(p),
            Sum::AtMost => accurate_sum(p.iter().map(|p| p.abs())),
        };
        let missing = bound - present;
        let is_right = match sum {
            Sum::Exactly => missing.abs() <= ULPS * f64::EPSILON * bound,
            Sum::AtMost => missing >= -ULPS * f64::EPSILON * bound,
        };
        if is_right || !missing.is_finite() {
            break;
        }
        let support = p.iter().filter(|p| **p != 0.0).count();
        if support == 0 {
            break;
        }
        let each = missing / support as f64;
        for p in p.iter_mut().filter(|p| **p != 0.0) {
            *p = (p.abs() + each).max(0.0).copysign(*p);
        }
        // every entry moves by this, and by a rounding
        moved += missing.abs() / (support as f64).sqrt() + f64::EPSILON * bound;
    }
    moved
}

/// Whether an entry is negative, looked for in blocks that need no branch for every entry.
fn has_negative(p: &[f64]) -> bool {
    p.chunks(512).any(|block| block.iter().fold(false, |found, p| found | (*p < 0.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_right_to_two_units_after_a_repair_and_points_that_were_right_keep_their_bits() {
        for n in [1usize, 2, 7, 1000] {
            for bound in [1.0, 0.3, 1e-9, 7e8] {
                for off in [0.0, 1e-15, -1e-15, 3e-12, -1e-9, 1e-9] {
                    for sum in [Sum::Exactly, Sum::AtMost] {
                        let raw = |i: usize| 1.0 + ((i * i) as f64 * 0.7).sin();
                        let total: f64 = (0..n).map(raw).sum();
                        let sign = |i: usize| match sum {
                            Sum::AtMost if i.is_multiple_of(3) => -1.0,
                            _ => 1.0,
                        };
                        let point: Vec<f64> = (0..n)
                            .map(|i| sign(i) * raw(i) / total * bound * (1.0 + off))
                            .collect();
                        let mut p = point.clone();
                        let moved = repair_sum(&mut p, bound, sum);
                        let present = accurate_sum(p.iter().map(|p| p.abs()));
                        let over = (present - bound) / (f64::EPSILON * bound);
                        assert!(over <= ULPS, "{n} {bound} {off} {sum:?}: {over} above");
                        assert!(over >= -ULPS || sum == Sum::AtMost, "{over} below");
                        let apart = crate::linalg::distance_squared(&p, &point).sqrt();
                        assert!(
                            apart <= moved * (1.0 + 1e-9),
                            "{n}: moved {apart:e}, said {moved:e}"
                        );
                        assert_eq!(moved == 0.0, p == point);
                        if off == -1e-9 && sum == Sum::AtMost {
                            assert_eq!(p, point);
                        }
                        // once is enough
                        let again = p.clone();
                        assert_eq!((repair_sum(&mut p, bound, sum), &p), (0.0, &again));
                    }
                }
            }
        }
        let mut p = [-1e-17, 0.5, 0.5, 0.0];
        assert!(repair_sum(&mut p, 1.0, Sum::Exactly) > 0.0);
        assert_eq!(p, [0.0, 0.5, 0.5, 0.0]);
    }
}
