//! `1/2 sum |p_i - q_i| <= rho`.

use super::capped::{fill, threshold};
use crate::linalg::accurate_sum;

/// Half the sum of the changes.
pub(super) fn distance(p: &[f64], q: &[f64]) -> f64 {
    0.5 * accurate_sum(p.iter().zip(q).map(|(p, q)| (p - q).abs()))
}

/// `rho` of the weight moved from the smallest losses to the largest.
pub(super) fn best(losses: &[f64], q: &[f64], rho: f64, p: &mut [f64]) -> f64 {
    let top = (0..q.len()).fold(0, |best, i| if losses[i] > losses[best] { i } else { best });
    let moved = rho.min(1.0 - q[top]).max(0.0);
    fill(|i| -losses[i], |i| if i == top { 0.0 } else { q[i] }, moved, p);
    p.iter_mut().zip(q).for_each(|(p, q)| *p = (q - *p).max(0.0));
    p[top] += moved;
    0.0
}

/// The nearest point to `v`, but for a common part. Where the bound on the distance matters, what is added and what is taken off are
/// projections of their own: `a_i = (v_i - q_i - s)_+` and `b_i = (t - (v_i - q_i))` between 0 and `q_i`, which add up to `rho` each, with
/// `s >= t`. Otherwise the bound does not matter, and the point is that of the simplex.
pub(super) fn project(v: &[f64], q: &[f64], rho: f64, out: &mut [f64]) {
    let n = v.len();
    if rho < 1.0 {
        let step: Vec<f64> = (0..n).map(|i| v[i] - q[i]).collect();
        let back: Vec<f64> = step.iter().map(|s| -s).collect();
        let mut taken = vec![0.0; n];
        let s = threshold(&step, |_| f64::INFINITY, rho, out);
        let t = -threshold(&back, |i| q[i], rho, &mut taken);
        if s >= t {
            for i in 0..n {
                out[i] = (q[i] + (out[i] - taken[i])).max(0.0);
            }
            return;
        }
    }
    threshold(v, |_| f64::INFINITY, 1.0, out);
}
