//! `sum p_i log(p_i/q_i) <= rho`.

use super::root;
use crate::linalg::{accurate_sum, accurate_sum_of, exp_in_place};

/// Exponents below this are taken as this: no normal number is smaller.
const LEAST_LOG: f64 = -690.0;
/// Newton steps for one weight.
const STEPS: u32 = 100;

/// The Kullback-Leibler divergence of probabilities, of terms that are not negative.
pub(super) fn distance(p: &[f64], q: &[f64]) -> f64 {
    let term = |(p, q): (&f64, &f64)| {
        if *p > 0.0 { p * (p / q).ln() - (p - q) } else { *q }
    };
    accurate_sum(p.iter().zip(q).map(term)).max(0.0)
}

/// `p_i` proportional to `q_i exp(s l_i)`, with the `s` at which the divergence is `rho`. What is missed is the value of the dual
/// `rho/s + log(sum q_i exp(s l_i))/s` less that of the point.
pub(super) fn best(losses: &[f64], q: &[f64], rho: f64, room: &mut [f64], p: &mut [f64]) -> f64 {
    let top = losses.iter().fold(f64::NEG_INFINITY, |m, l| m.max(*l));
    let n = q.len();
    room.iter_mut().zip(losses).for_each(|(l, loss)| *l = loss - top);
    let l = &*room;
    let at_top = accurate_sum((0..n).filter(|&i| l[i] == 0.0).map(|i| q[i]));
    if -at_top.ln() <= rho {
        // all weight on the largest losses is near enough
        (0..n).for_each(|i| p[i] = if l[i] == 0.0 { q[i] / at_top } else { 0.0 });
        return 0.0;
    }
    // divergence, mean and the logarithm of the sum at s; writes the point
    let at = |s: f64, p: &mut [f64]| {
        p.iter_mut().zip(l).for_each(|(p, l)| *p = (s * l).max(LEAST_LOG));
        exp_in_place(p);
        p.iter_mut().zip(q).for_each(|(p, q)| *p *= q);
        let sum = accurate_sum_of(p);
        p.iter_mut().for_each(|p| *p /= sum);
        let mean: f64 = p.iter().zip(l).map(|(p, l)| p * l).sum();
        let variance: f64 = p.iter().zip(l).map(|(p, l)| p * (l - mean).powi(2)).sum();
        (s * mean - sum.ln(), mean, sum.ln(), variance)
    };
    let (_, _, _, variance) = at(0.0, p);
    // for small s the divergence is s^2/2 times the variance
    let mut s = (2.0 * rho / variance).sqrt();
    if !s.is_finite() {
        p.copy_from_slice(q);
        return -l.iter().fold(0.0f64, |m, l| m.min(*l));
    }
    let (mut low, mut high) = (0.0, f64::INFINITY);
    let mut inside = 0.0;
    for _ in 0..60 {
        let (divergence, _, _, variance) = at(s, p);
        if divergence > rho {
            high = s;
        } else {
            (low, inside) = (s, s);
        }
        if (divergence / rho - 1.0).abs() <= 1e-13 {
            break;
        }
        // Newton on the root of the divergence, which is nearly straight; its slope is s times the variance
        let slope = s * variance / (2.0 * divergence.sqrt());
        let newton = s + (rho.sqrt() - divergence.max(0.0).sqrt()) / slope;
        let middle = if high.is_finite() { 0.5 * (low + high) } else { 4.0 * s };
        let next = if newton > low && newton < high { newton.min(16.0 * s) } else { middle };
        if next <= low || next >= high {
            break;
        }
        s = next;
    }
    let (mut divergence, ..) = at(s, p);
    if divergence > rho * (1.0 + 1e-13) && inside > 0.0 {
        s = inside;
        (divergence, ..) = at(s, p);
    }
    let (_, mean, log_sum, _) = at(s, p);
    let mut value = mean;
    if divergence > rho {
        let share = rho / divergence;
        p.iter_mut().zip(q).for_each(|(p, q)| *p = q + share * (*p - q));
        value = p.iter().zip(l).map(|(p, l)| p * l).sum();
    }
    let dual = (rho + log_sum) / s;
    dual - value + 32.0 * f64::EPSILON * ((rho + log_sum.abs() + 1.0) / s + mean.abs())
}

/// The nearest point to `v`, but for a common part: `p_i + kappa log(p_i/q_i) = v_i - theta`.
pub(super) fn project(v: &[f64], q: &[f64], rho: f64, out: &mut [f64]) {
    super::capped::threshold(v, |_| f64::INFINITY, 1.0, out);
    if distance(out, q) <= rho {
        return;
    }
    let excess = |log: f64, out: &mut [f64]| {
        penalised(v, q, log.exp(), out);
        distance(out, q) / rho - 1.0
    };
    let (mut low, mut high) = (-1.0, 1.0);
    while excess(low, out) <= 0.0 && low > -600.0 {
        low -= 2.0;
    }
    while excess(high, out) > 0.0 && high < 600.0 {
        high += 2.0;
    }
    let log = root(|log| excess(log, out), low, high);
    excess(log, out);
}

/// Writes the `p` with `p_i + kappa log(p_i/q_i) = v_i - theta` and the sum 1.
fn penalised(v: &[f64], q: &[f64], kappa: f64, out: &mut [f64]) {
    let n = v.len();
    // the sum less 1, and how fast it falls
    let at = |theta: f64, out: &mut [f64]| {
        let mut slope = 0.0;
        for i in 0..n {
            out[i] = weight(q[i], kappa, v[i] - theta);
            slope += out[i] / (out[i] + kappa);
        }
        (accurate_sum_of(out) - 1.0, slope)
    };
    // where all weights are at most nominal, and where all are at least that
    let right = (0..n).fold(f64::NEG_INFINITY, |m, i| m.max(v[i] - q[i]));
    let left = (0..n).fold(f64::INFINITY, |m, i| m.min(v[i] - q[i]));
    let (mut low, mut high, mut theta) = (left, right, right);
    for _ in 0..100 {
        let (excess, slope) = at(theta, out);
        if excess.abs() <= 2.0 * f64::EPSILON {
            break;
        }
        if excess > 0.0 {
            low = theta
        } else {
            high = theta
        }
        let newton = theta + excess / slope;
        let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
        if next == theta || next <= low || next >= high {
            break;
        }
        theta = next;
    }
    let sum = accurate_sum_of(out);
    out.iter_mut().for_each(|p| *p /= sum);
}

/// The `p` with `p + kappa log(p/q) = r`: Newton's steps for `z = log(p/q)` from above, where they fall all the way.
fn weight(q: f64, kappa: f64, r: f64) -> f64 {
    let mut z = r / kappa;
    if r > 0.0 {
        z = z.min((r / q).ln().max(0.0));
    }
    for _ in 0..STEPS {
        let p = q * z.exp();
        let next = z - (p + kappa * z - r) / (p + kappa);
        if next >= z - 1e-15 * (1.0 + z.abs()) {
            break;
        }
        z = next;
    }
    q * z.max(LEAST_LOG).exp()
}
