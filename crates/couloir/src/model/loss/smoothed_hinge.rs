//! The smoothed hinge loss, which is zero for rows that are right by a margin.

use super::ScoreLoss;
use crate::linalg::Rows;
use rayon::prelude::*;

/// How strongly the hinge is smoothed: the margin over which its slope grows from 0 to 1 between two classes is twice this.
const SMOOTHING: f64 = 0.5;
/// Rows that one task takes.
const CHUNK: usize = 256;
/// Roundings in a probability, beyond those of the scores, over the size of the scores.
const OF_A_WEIGHT: f64 = 16.0;

/// The hinge loss of several classes, smoothed by a quadratic:
///
/// ```text
/// l(s) = max over p in the simplex of   sum_j p_j (s_j - s_b + [j != b]) - 1/4 |p - e_b|^2
/// ```
///
/// Without the quadratic this is the largest violation of a margin of 1, `max_j s_j - s_b + [j != b]` (Crammer and Singer). The
/// slope in the scores is `p - e_b`, and `p` is the projection of `e_b + 2 (s + 1 - e_b)` onto the simplex. For two classes with the
/// margin `m = s_b - s_j` the loss is 0 from `m = 1` on, `(1 - m)^2/2` down to `m = 0` and `1/2 - m` below.
///
/// The loss has no probabilities of its own: those of a classifier are the softmax of its scores all the same, and are not
/// calibrated.
#[derive(Clone, Copy, Debug)]
pub struct SmoothedHinge;

impl ScoreLoss for SmoothedHinge {
    fn name(&self) -> &'static str {
        "hinge"
    }

    /// Projections do not expand.
    fn curvature(&self) -> f64 {
        1.0 / SMOOTHING
    }

    /// `|p - e_b|^2 <= 2`.
    fn slope_squared(&self, _longest: f64) -> f64 {
        2.0
    }

    /// All the weight is on the other classes, evenly.
    fn at_zero(&self, h: usize) -> f64 {
        let h = h as f64;
        1.0 - 0.5 * SMOOTHING * h / (h - 1.0)
    }

    fn prepare(
        &self,
        scores: &[f64],
        labels: &[u32],
        h: usize,
        losses: &mut [f64],
        slopes: &mut [f64],
    ) {
        losses
            .par_chunks_mut(CHUNK)
            .zip(slopes.par_chunks_mut(CHUNK * h))
            .zip(scores.par_chunks(CHUNK * h).zip(labels.par_chunks(CHUNK)))
            .for_each(|((losses, slopes), (scores, labels))| {
                let rows = scores.chunks_exact(h).zip(slopes.chunks_exact_mut(h));
                for (((scores, slopes), loss), &b) in rows.zip(losses).zip(labels) {
                    *loss = of_row(scores, b as usize, slopes);
                }
            });
    }

    fn bend(
        &self,
        from: Rows<'_>,
        to: Rows<'_>,
        labels: &[u32],
        h: usize,
        weights: &[f64],
    ) -> (f64, f64) {
        let (mut value, mut rounding) = (0.0, 0.0);
        for (i, (&b, &weight)) in labels.iter().zip(weights).enumerate() {
            if weight != 0.0 {
                let row = i * h..(i + 1) * h;
                let slopes = [&from.slopes[row.clone()], &to.slopes[row.clone()]];
                let scores = [&from.scores[row.clone()], &to.scores[row]];
                let (v, r) = bend_of_row(scores, slopes, b as usize);
                value += weight * v;
                rounding += weight.abs() * r;
            }
        }
        (value, rounding)
    }
}

/// The argument of the projection: `w_j = s_j - s_b + [j != b]` and `w_b = smoothing`, over the smoothing.
fn pull(scores: &[f64], b: usize, j: usize) -> f64 {
    if j == b { 1.0 } else { (scores[j] - scores[b] + 1.0) / SMOOTHING }
}

/// The loss of a row; writes its slopes `p - e_b`.
fn of_row(scores: &[f64], b: usize, slopes: &mut [f64]) -> f64 {
    let top = (0..scores.len()).fold(1.0f64, |top, j| top.max(pull(scores, b, j)));
    for (j, slope) in slopes.iter_mut().enumerate() {
        *slope = pull(scores, b, j) - top;
    }
    // the mean of the entries above the threshold, until none falls below (Michelot)
    let mut threshold = -1.0;
    loop {
        let (mut sum, mut lost, mut count) = (0.0f64, 0.0f64, 0.0);
        for &v in slopes.iter().filter(|v| **v > threshold) {
            // with the digits that the sum loses (Kahan)
            let term = v - lost;
            let next = sum + term;
            (lost, sum) = ((next - sum) - term, next);
            count += 1.0;
        }
        let next = (sum - 1.0) / count;
        if next <= threshold {
            break;
        }
        threshold = next;
    }
    let (mut value, mut others, mut squares) = (0.0, 0.0, 0.0);
    for (j, slope) in slopes.iter_mut().enumerate() {
        let p = (*slope - threshold).max(0.0);
        *slope = p;
        if j != b {
            value += p * (scores[j] - scores[b] + 1.0);
            others += p;
            squares += p * p;
        }
    }
    // 1 - p_b keeps all its digits
    slopes[b] = -others;
    (value - 0.5 * SMOOTHING * (squares + others * others)).max(0.0)
}

/// With `c` the smoothing, `d = p' - p` and `v'` the multiplier of the projection `p'`: the bend is
///
/// ```text
/// c/2 |d|^2 + sum over j with p'_j = 0 of p_j (v' - w'_j)
/// ```
///
/// where all terms are zero or more; and a bound of its rounding.
fn bend_of_row(scores: [&[f64]; 2], slopes: [&[f64]; 2], b: usize) -> (f64, f64) {
    let h = scores[0].len();
    let weight = |slopes: &[f64], j: usize| slopes[j] + if j == b { 1.0 } else { 0.0 };
    let largest = |scores: &[f64]| scores.iter().fold(0.0f64, |most, s| most.max(s.abs()));
    let size = 1.0 + largest(scores[0]) + largest(scores[1]);
    let error = OF_A_WEIGHT * f64::EPSILON * size / SMOOTHING;
    let heaviest = (0..h)
        .fold(b, |best, j| if weight(slopes[1], j) > weight(slopes[1], best) { j } else { best });
    let multiplier = pull(scores[1], b, heaviest) - weight(slopes[1], heaviest);
    let (mut squares, mut edge, mut moved) = (0.0, 0.0, 0.0);
    for j in 0..h {
        let change = slopes[1][j] - slopes[0][j];
        squares += change * change;
        if weight(slopes[1], j) <= 0.0 {
            let p = weight(slopes[0], j).max(0.0);
            edge += p * (multiplier - pull(scores[1], b, j)).max(0.0);
            moved += p;
        }
    }
    let total = h as f64 * error;
    let rounding = total * (squares.sqrt() + total) + error * moved;
    (SMOOTHING * (0.5 * squares + edge), SMOOTHING * rounding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Streams;

    fn at(scores: &[f64], b: usize) -> (f64, Vec<f64>) {
        let mut slopes = vec![0.0; scores.len()];
        let loss = of_row(scores, b, &mut slopes);
        (loss, slopes)
    }

    #[test]
    fn for_two_classes_it_is_the_smoothed_hinge_of_the_margin() {
        for i in -40..=40 {
            let m = 0.1 * f64::from(i);
            let expected = match m {
                m if m >= 1.0 => 0.0,
                m if m >= 0.0 => 0.5 * (1.0 - m) * (1.0 - m),
                m => 0.5 - m,
            };
            let (loss, slopes) = at(&[m + 0.3, 0.3], 0);
            assert!((loss - expected).abs() < 1e-14, "{m}: {loss} {expected}");
            let slope = if m >= 1.0 { 0.0 } else { (1.0 - m).min(1.0) };
            assert!(
                (slopes[1] - slope).abs() < 1e-14 && slopes[0] == -slopes[1],
                "{m}: {slopes:?}"
            );
        }
    }

    #[test]
    fn it_is_the_maximum_over_the_simplex_and_its_slopes_are_derivatives() {
        let mut draw = Streams::new(3).stream("hinge");
        let mut number = |size: f64| size * (draw.below(2001) as f64 / 1000.0 - 1.0);
        for h in [2, 3, 7, 30] {
            assert!((at(&vec![0.7; h], h / 2).0 - SmoothedHinge.at_zero(h)).abs() < 1e-14);
            for size in [0.3, 2.0, 50.0] {
                let scores: Vec<f64> = (0..h).map(|_| number(size)).collect();
                let b = h / 3;
                let (loss, slopes) = at(&scores, b);
                let value = |p: &[f64]| -> f64 {
                    let linear =
                        (0..h).filter(|&j| j != b).map(|j| p[j] * (scores[j] - scores[b] + 1.0));
                    let away = |j: usize| p[j] - if j == b { 1.0 } else { 0.0 };
                    linear.sum::<f64>() - 0.25 * (0..h).map(|j| away(j) * away(j)).sum::<f64>()
                };
                let mut p = slopes.clone();
                p[b] += 1.0;
                assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-13 && p.iter().all(|p| *p >= 0.0));
                assert!((value(&p) - loss).abs() < 1e-13 * (1.0 + loss));
                // no worse than at other points, towards which the value does not rise
                for k in 0..h {
                    let other: Vec<f64> =
                        (0..h).map(|j| 0.999 * p[j] + if j == k { 0.001 } else { 0.0 }).collect();
                    assert!(value(&other) <= loss + 1e-13 * (1.0 + loss), "towards {k}");
                }
                for j in 0..h {
                    let moved = |step: f64| {
                        let mut scores = scores.clone();
                        scores[j] += step;
                        at(&scores, b).0
                    };
                    let slope = (moved(1e-6) - moved(-1e-6)) / 2e-6;
                    assert!((slope - slopes[j]).abs() < 1e-5, "{slope} {}", slopes[j]);
                }
            }
        }
    }

    #[test]
    fn bends_are_differences_within_their_rounding_and_small_ones_keep_their_digits() {
        let mut draw = Streams::new(4).stream("hinge");
        let mut number = |size: f64| size * (draw.below(2001) as f64 / 1000.0 - 1.0);
        for trial in 0..300 {
            let h = 2 + trial % 6;
            let (size, step) = [(1.0, 1.0), (3.0, 0.1), (0.5, 4.0), (1.0, 1e-3)][trial % 4];
            let s: Vec<f64> = (0..h).map(|_| number(size)).collect();
            let t: Vec<f64> = s.iter().map(|s| s + number(step)).collect();
            let b = trial % h;
            let ((l0, q0), (l1, q1)) = (at(&s, b), at(&t, b));
            let (value, rounding) = bend_of_row([&s, &t], [&q0, &q1], b);
            let along: f64 = (0..h).map(|j| q0[j] * (t[j] - s[j])).sum();
            let plain = l1 - l0 - along;
            assert!((value - plain).abs() <= rounding + 1e-14, "{value:e} {plain:e}");
            let squares: f64 = (0..h).map(|j| (t[j] - s[j]).powi(2)).sum();
            assert!(value >= 0.0 && value <= SmoothedHinge.curvature() / 2.0 * squares + rounding);
        }
        // two classes inside the quadratic part: half the square of the change of the margin
        for step in [1e-3, 1e-6, 1e-9] {
            let (s, t) = ([0.5, 0.0], [0.5 + step, 0.0]);
            let (q0, q1) = (at(&s, 0).1, at(&t, 0).1);
            let (value, rounding) = bend_of_row([&s, &t], [&q0, &q1], 0);
            let exact = 0.5 * (t[0] - s[0]) * (t[0] - s[0]);
            assert!((value - exact).abs() <= rounding.min(1e-5 * exact), "{value:e} {exact:e}");
        }
    }
}
