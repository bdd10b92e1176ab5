//! `sum (p_i - q_i)^2/q_i <= rho`.

use super::root;
use crate::linalg::accurate_sum;

/// Passes of a search for a threshold.
const PASSES: u32 = 200;

/// The chi-square divergence.
pub(super) fn distance(p: &[f64], q: &[f64]) -> f64 {
    accurate_sum(p.iter().zip(q).map(|(p, q)| (p - q) * ((p - q) / q)))
}

/// `p_i` proportional to `q_i (l_i - nu)_+`, with the `nu` of the dual
///
/// ```text
/// min over nu of  nu + sqrt(1 + rho) sqrt(sum q_i ((l_i - nu)_+)^2)
/// ```
///
/// For a given support `nu = m - s/sqrt(S (1 + rho) - 1)`, with mass, mean and standard deviation `S`, `m`, `s` of its losses; the support
/// is what lies above `nu`. What is missed is the dual's value less that of the point.
pub(super) fn best(losses: &[f64], q: &[f64], rho: f64, p: &mut [f64]) -> f64 {
    let top = losses.iter().fold(f64::NEG_INFINITY, |m, l| m.max(*l));
    // by differences to the top, which are at most zero
    let l = |i: usize| losses[i] - top;
    let n = q.len();
    let at_top = accurate_sum((0..n).filter(|&i| l(i) == 0.0).map(|i| q[i]));
    if at_top * (1.0 + rho) >= 1.0 {
        // all weight on the largest losses is near enough
        (0..n).for_each(|i| p[i] = if l(i) == 0.0 { q[i] / at_top } else { 0.0 });
        return 0.0;
    }
    let mut nu = f64::NEG_INFINITY;
    let (mut low, mut high) = (f64::NEG_INFINITY, 0.0f64);
    for _ in 0..PASSES {
        let (mut mass, mut sum) = (0.0, 0.0);
        for i in 0..n {
            let inside = if l(i) > nu { q[i] } else { 0.0 };
            mass += inside;
            sum += inside * l(i);
        }
        let mean = sum / mass;
        let variance =
            (0..n).map(|i| if l(i) > nu { q[i] * (l(i) - mean).powi(2) } else { 0.0 }).sum::<f64>()
                / mass;
        let free = mass * (1.0 + rho) - 1.0;
        // a support of too little mass is beyond the bound wherever nu is
        let next = if free > 0.0 { mean - (variance / free).sqrt() } else { f64::NEG_INFINITY };
        if next == nu {
            break;
        }
        // the support shrinks where the answer lies above
        if next > nu {
            low = nu
        } else {
            high = nu
        }
        let next = if next > low && next < high { next } else { 0.5 * (low.max(-1e300) + high) };
        if next <= low || next >= high {
            break;
        }
        nu = next;
    }
    if !nu.is_finite() {
        // the ball is smaller than what rounding leaves of the nominal weights: their mean, and how far any weights can be from it
        p.copy_from_slice(q);
        let mean: f64 = (0..n).map(|i| q[i] * l(i)).sum();
        let variance: f64 = (0..n).map(|i| q[i] * (l(i) - mean).powi(2)).sum();
        return (rho * variance).sqrt() * (1.0 + 1e-9) + 16.0 * f64::EPSILON * mean.abs();
    }
    let mut sum = 0.0;
    for i in 0..n {
        p[i] = q[i] * (l(i) - nu).max(0.0);
        sum += p[i];
    }
    let squares: f64 = (0..n).map(|i| q[i] * (l(i) - nu).max(0.0).powi(2)).sum();
    p.iter_mut().for_each(|p| *p /= sum);
    // inside, whatever nu was
    let distance = distance(p, q);
    if distance > rho {
        let share = (rho / distance).sqrt();
        p.iter_mut().zip(q).for_each(|(p, q)| *p = (q + share * (*p - q)).max(0.0));
    }
    let value: f64 = (0..n).map(|i| p[i] * l(i)).sum();
    let dual = nu + ((1.0 + rho) * squares).sqrt();
    let rounding = 16.0 * f64::EPSILON * (nu.abs() + value.abs());
    dual - value + rounding
}

/// The nearest point to `v`, but for a common part: `p_i = a_i (v_i - theta)_+` with `a_i = q_i/(q_i + kappa)`.
pub(super) fn project(v: &[f64], q: &[f64], rho: f64, out: &mut [f64]) {
    let n = v.len();
    let mut scale = vec![1.0; n];
    weighted_threshold(v, &scale, out);
    if distance(out, q) <= rho {
        return;
    }
    let mut excess = |log: f64, out: &mut [f64]| {
        let kappa = log.exp();
        scale.iter_mut().zip(q).for_each(|(a, q)| *a = q / (q + kappa));
        weighted_threshold(v, &scale, out);
        distance(out, q) / rho - 1.0
    };
    let most = q.iter().fold(0.0f64, |m, q| m.max(*q));
    let (mut low, mut high) = (most.ln(), most.ln());
    while excess(low, out) <= 0.0 && low > -700.0 {
        low -= 2.0;
    }
    while excess(high, out) > 0.0 && high < 700.0 {
        high += 2.0;
    }
    let log = root(|log| excess(log, out), low, high);
    excess(log, out);
}

/// Writes `a_i (v_i - theta)_+` with the `theta` for which that adds up to 1 (Michelot's passes, each with fewer entries).
fn weighted_threshold(v: &[f64], a: &[f64], out: &mut [f64]) {
    let (mut theta, mut count) = (f64::NEG_INFINITY, usize::MAX);
    for _ in 0..v.len() + 1 {
        let (mut mass, mut sum, mut kept) = (0.0, 0.0, 0);
        for (v, a) in v.iter().zip(a) {
            if *v > theta {
                mass += a;
                sum += a * v;
                kept += 1;
            }
        }
        if kept == count || kept == 0 {
            break;
        }
        count = kept;
        theta = (sum - 1.0) / mass;
    }
    for ((o, v), a) in out.iter_mut().zip(v).zip(a) {
        *o = a * (v - theta).max(0.0);
    }
    let sum = accurate_sum(out.iter().copied());
    out.iter_mut().for_each(|o| *o /= sum);
}
