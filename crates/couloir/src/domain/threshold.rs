//! The Euclidean projection onto the scaled simplex, which the l1 ball shares.

use crate::linalg::accurate_sum;

/// Passes of the threshold search before it sorts what is left, to keep to O(n log n).
const PASSES: u32 = 32;

/// Writes `argmin <g, u> + beta/2 |u - q|^2` over `{u >= 0, sum u = total}`, that is
/// `max(0, v - theta)` with `v = q - g/beta`.
///
/// Only differences to the largest entry of `v` are formed, each from differences of `q` and of
/// `g`: neither a large common part nor a tiny `beta` does harm. `scratch` grows once.
pub(super) fn project_onto_simplex(
    g: &[f64],
    q: &[f64],
    beta: f64,
    total: f64,
    scratch: &mut Vec<f64>,
    out: &mut [f64],
) {
    let top = largest(g, q, beta);
    scratch.clear();
    for i in 0..out.len() {
        out[i] = (q[i] - q[top]) - (g[i] - g[top]) / beta;
        // The largest difference is 0 up to rounding, so theta is at least -total.
        if out[i] >= -total {
            scratch.push(out[i]);
        }
    }
    let theta = threshold(scratch, total);
    for o in out.iter_mut() {
        *o = (*o - theta).max(0.0);
    }
    // One correction takes the rounding of theta (times the size of the support) out of the sum.
    let support = out.iter().filter(|&&o| o > 0.0).count();
    let missing = (total - accurate_sum(out.iter().copied())) / support.max(1) as f64;
    for o in out.iter_mut().filter(|o| **o > 0.0) {
        *o = (*o + missing).max(0.0);
    }
}

/// The entry with the largest `q - g/beta`, up to rounding, and without overflow.
pub(super) fn largest(g: &[f64], q: &[f64], beta: f64) -> usize {
    let level = |i: usize| {
        if beta > 1.0 { q[i] - g[i] / beta } else { beta * q[i] - g[i] }
    };
    (0..g.len()).fold(0, |best, i| if level(i) > level(best) { i } else { best })
}

/// `theta` with `sum of max(0, v - theta) = total` (Michelot): the mean of the entries above the
/// last `theta`, until none falls below. Destroys `v`, which must not be empty.
fn threshold(v: &mut Vec<f64>, total: f64) -> f64 {
    for _ in 0..PASSES {
        let before = v.len();
        let theta = (accurate_sum(v.iter().copied()) - total) / before as f64;
        v.retain(|&v| v > theta);
        if v.len() == before || v.is_empty() {
            return theta;
        }
    }
    threshold_by_sorting(v, total)
}

/// The same threshold from the entries in falling order.
fn threshold_by_sorting(v: &mut [f64], total: f64) -> f64 {
    v.sort_unstable_by(|a, b| b.total_cmp(a));
    let mut sum = 0.0;
    let mut theta = f64::NEG_INFINITY;
    for (i, &v) in v.iter().enumerate() {
        if v <= theta {
            break;
        }
        sum += v;
        theta = (sum - total) / (i + 1) as f64;
    }
    theta
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorting_finds_the_threshold_that_the_passes_find() {
        // Powers of two make the passes drop few entries at a time.
        let v: Vec<f64> = (0..200).map(|i| -(0.5f64.powi(i / 2))).collect();
        for total in [1e-20, 1e-3, 0.7, 50.0, 1e4] {
            let by_passes = threshold(&mut v.clone(), total);
            let by_sorting = threshold_by_sorting(&mut v.clone(), total);
            assert!((by_passes - by_sorting).abs() <= 1e-14 * total.max(1e-3));
            let sum: f64 = v.iter().map(|v| (v - by_sorting).max(0.0)).sum();
            assert!((sum - total).abs() <= 1e-13 * total, "{sum} {total}");
        }
    }
}
