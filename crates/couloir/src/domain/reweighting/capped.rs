//! `0 <= p_i <= q_i/alpha`, and the search for a threshold between bounds.

use crate::linalg::{accurate_sum, accurate_sum_of};

/// Entries of which the order is looked at no further.
const FEW: usize = 16;
/// Passes of the search for a threshold.
const PASSES: u32 = 200;

/// The share of the way from `q` to `p` on which no weight is above its bound.
pub(super) fn share(p: &[f64], q: &[f64], alpha: f64) -> f64 {
    let mut share = f64::INFINITY;
    for (p, q) in p.iter().zip(q) {
        let (over, room) = (p - q, q * (1.0 / alpha - 1.0));
        if over > room {
            share = share.min(room / over);
        }
    }
    share
}

/// As much as may be of the largest losses.
pub(super) fn best(losses: &[f64], q: &[f64], alpha: f64, p: &mut [f64]) -> f64 {
    fill(|i| losses[i], |i| q[i] / alpha, 1.0, p);
    0.0
}

/// Gives `total` to the entries with the largest keys, to each up to its bound: O(n), by the selection of a median.
pub(super) fn fill(
    key: impl Fn(usize) -> f64,
    bound: impl Fn(usize) -> f64,
    total: f64,
    p: &mut [f64],
) {
    p.fill(0.0);
    let mut order: Vec<u32> = (0..p.len() as u32).collect();
    let mut open = &mut order[..];
    let mut left = total;
    let descending = |a: &u32, b: &u32| key(*b as usize).total_cmp(&key(*a as usize));
    while open.len() > FEW {
        let half = open.len() / 2;
        open.select_nth_unstable_by(half, descending);
        let (upper, lower) = std::mem::take(&mut open).split_at_mut(half);
        let mass = accurate_sum(upper.iter().map(|&i| bound(i as usize)));
        if mass >= left {
            open = upper;
        } else {
            upper.iter().for_each(|&i| p[i as usize] = bound(i as usize));
            left -= mass;
            open = lower;
        }
    }
    open.sort_unstable_by(descending);
    for &mut i in open {
        let i = i as usize;
        p[i] = bound(i).min(left);
        left -= p[i];
        if left <= 0.0 {
            break;
        }
    }
}

/// The nearest point to `v`, but for a common part.
pub(super) fn project(v: &[f64], q: &[f64], alpha: f64, out: &mut [f64]) {
    threshold(v, |i| q[i] / alpha, 1.0, out);
}

/// Writes `v_i - theta` between 0 and the bound of each entry, with the `theta` for which that adds up to `total`: Newton steps
/// within a bracket. The bounds add up to `total` or more. Returns `theta`.
pub(super) fn threshold(
    v: &[f64],
    bound: impl Fn(usize) -> f64,
    total: f64,
    out: &mut [f64],
) -> f64 {
    let n = v.len();
    let mut high = v.iter().fold(f64::NEG_INFINITY, |m, v| m.max(*v));
    let mut low = (0..n).fold(f64::INFINITY, |m, i| m.min(v[i] - bound(i).min(total)));
    let at = |theta: f64, out: &mut [f64]| {
        let mut free = 0usize;
        for i in 0..n {
            let (raw, bound) = (v[i] - theta, bound(i));
            out[i] = raw.max(0.0).min(bound);
            free += usize::from(raw > 0.0 && raw < bound);
        }
        (accurate_sum_of(out) - total, free)
    };
    let mut theta = (high - total).max(low);
    for _ in 0..PASSES {
        let (excess, free) = at(theta, out);
        if excess == 0.0 {
            break;
        }
        if excess > 0.0 {
            low = theta
        } else {
            high = theta
        }
        let newton = theta + excess / free as f64;
        let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
        if next == theta || next <= low || next >= high {
            break;
        }
        theta = next;
    }
    // what rounding of theta leaves is taken by the entries between their bounds
    let (excess, free) = at(theta, out);
    let each = excess / free.max(1) as f64;
    for i in 0..n {
        let bound = bound(i);
        if out[i] > 0.0 && out[i] < bound {
            out[i] = (out[i] - each).max(0.0).min(bound);
        }
    }
    theta
}
