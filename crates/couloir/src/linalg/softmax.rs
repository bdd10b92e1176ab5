//! The multinomial loss of many rows of scores: values, slopes, and how far it bends between two points.
//!
//! For scores `s` of a row with label `b`:
//!
//! ```text
//! loss       l = log(1 + sum_{j != b} exp(s_j - s_b)) = log sum_j exp(s_j) - s_b
//! slope      q_j = p_j - [j = b],   p = softmax(s)
//! ```

use super::simd::{dispatch, fma};
use rayon::prelude::*;

/// Numbers that one task takes: they stay in L1 from pass to pass.
const TASK: usize = 2048;
const LANES: usize = 8;

/// `log2(e)`, and `ln 2` in two parts of which the first has 21 zero bits at its end.
const LOG2_E: f64 = std::f64::consts::LOG2_E;
const LN2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
const LN2_LOW: f64 = f64::from_bits(0x3dea_39ef_3579_3c76);
/// `1.5 * 2^52`: adding it rounds to an integer, which then lies in the low bits.
const SHIFTER: f64 = 6_755_399_441_055_744.0;
/// Below this `exp` is taken to be zero; above its negative it would overflow.
const LOWEST: f64 = -708.0;
/// `1/2!, 1/3!, ..., 1/13!`: `exp(r) = 1 + r + r^2 (1/2! + r/3! + ...)` is off by less than `5e-18` for
/// `|r| <= ln(2)/2`.
const INVERSE_FACTORIALS: [f64; 12] = {
    let mut c = [0.5; 12];
    let mut i = 1;
    while i < 12 {
        c[i] = c[i - 1] / (i + 2) as f64;
        i += 1;
    }
    c
};

/// `x` in `[-708, 709]` as `2^k` and `r`, with `r^2 (1/2! + r/3! + ...)`.
#[inline(always)]
fn reduce<const FUSED: bool>(x: f64) -> (f64, f64, f64) {
    let shifted = fma::<FUSED>(x, LOG2_E, SHIFTER);
    let k = shifted - SHIFTER;
    let r = fma::<FUSED>(-k, LN2_LOW, fma::<FUSED>(-k, LN2_HIGH, x));
    let power = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1023 << 52));
    let c = &INVERSE_FACTORIALS;
    // pairs first (Estrin), so that the chain is short
    let square = r * r;
    let fourth = square * square;
    let pair = |i: usize| fma::<FUSED>(c[i + 1], r, c[i]);
    let low = fma::<FUSED>(pair(2), square, pair(0));
    let middle = fma::<FUSED>(pair(6), square, pair(4));
    let high = fma::<FUSED>(pair(10), square, pair(8));
    let sum = fma::<FUSED>(fma::<FUSED>(high, fourth, middle), fourth, low);
    (power, r, square * sum)
}

/// `exp(x)` for `x <= 709`, within 2 units in the last place; zero below -708.
#[inline(always)]
fn exp_any<const FUSED: bool>(x: f64) -> f64 {
    let inside = if x > LOWEST { x } else { LOWEST };
    let (power, r, rest) = reduce::<FUSED>(inside);
    let value = power * (1.0 + (r + rest));
    if x >= LOWEST { value } else { 0.0 }
}

/// `exp(x) - 1 - x`, which is zero or more, for `x <= 709`: no cancellation where `x` is small, for then
/// `k = 0` and the series is the answer.
#[inline(always)]
fn exp_rest_any<const FUSED: bool>(x: f64) -> f64 {
    let inside = if x > LOWEST { x } else { LOWEST };
    let (power, r, rest) = reduce::<FUSED>(inside);
    let far = power * (1.0 + (r + rest)) - 1.0 - x;
    if power == 1.0 { rest } else { far }
}

#[inline(always)]
fn exp_slice<const FUSED: bool>(x: &mut [f64]) {
    for x in x {
        *x = exp_any::<FUSED>(*x);
    }
}

dispatch! {
    /// `x = exp(x)` for entries of at most 709 (larger ones give nonsense), zero below -708, within 2 units in
    /// the last place: what a softmax needs, several times faster than `f64::exp`.
    pub fn exp_in_place = exp_slice(x: &mut [f64])
}

#[inline(always)]
fn max_of(x: &[f64]) -> f64 {
    let (chunks, rest) = x.as_chunks::<LANES>();
    let mut lanes = [f64::NEG_INFINITY; LANES];
    for chunk in chunks {
        for l in 0..LANES {
            lanes[l] = if chunk[l] > lanes[l] { chunk[l] } else { lanes[l] };
        }
    }
    lanes.iter().chain(rest).fold(f64::NEG_INFINITY, |m, &v| if v > m { v } else { m })
}

#[inline(always)]
fn sum_of(x: &[f64]) -> f64 {
    let (chunks, rest) = x.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for chunk in chunks {
        for l in 0..LANES {
            lanes[l] += chunk[l];
        }
    }
    lanes.iter().sum::<f64>() + rest.iter().sum::<f64>()
}

#[inline(always)]
fn rows_any<const FUSED: bool>(
    scores: &[f64],
    labels: &[u32],
    h: usize,
    losses: &mut [f64],
    slopes: &mut [f64],
) {
    for ((s, q), loss) in scores.chunks_exact(h).zip(slopes.chunks_exact_mut(h)).zip(&mut *losses) {
        let top = max_of(s);
        *loss = top;
        for (q, s) in q.iter_mut().zip(s) {
            *q = s - top;
        }
    }
    exp_slice::<FUSED>(slopes);
    for (((s, q), loss), &b) in
        scores.chunks_exact(h).zip(slopes.chunks_exact_mut(h)).zip(losses).zip(labels)
    {
        let b = b as usize;
        let below = *loss - s[b];
        let own = std::mem::replace(&mut q[b], 0.0);
        // the label's own term is left out: 1 - p_b and a small loss keep all their digits
        let others = sum_of(q);
        let total = others + own;
        *loss = if below == 0.0 { others.ln_1p() } else { below + total.ln() };
        let inverse = 1.0 / total;
        for q in q.iter_mut() {
            *q *= inverse;
        }
        q[b] = -others * inverse;
    }
}

dispatch! {
    fn rows = rows_any(
        scores: &[f64], labels: &[u32], h: usize, losses: &mut [f64], slopes: &mut [f64]
    )
}

/// Writes the loss of every row of `h` scores and its slopes `q = p - [j = b]`; in parallel.
///
/// Safe for scores of any size, and small losses are relatively exact: rows are shifted by their largest
/// score, and the label's own term stays out of sums.
///
/// ```
/// let (mut losses, mut slopes) = ([0.0; 2], [0.0; 6]);
/// let scores = [1e4, 0.0, -1e4, 0.0, 0.0, 0.0];
/// couloir::linalg::softmax_losses(&scores, &[1, 2], 3, &mut losses, &mut slopes);
/// assert_eq!(losses[0], 1e4);
/// assert!((losses[1] - 3.0f64.ln()).abs() < 1e-15);
/// assert_eq!(slopes[..3], [1.0, -1.0, 0.0]);
/// ```
///
/// # Panics
/// If a label is `h` or more, or lengths disagree.
pub fn softmax_losses(
    scores: &[f64],
    labels: &[u32],
    h: usize,
    losses: &mut [f64],
    slopes: &mut [f64],
) {
    let n = labels.len();
    assert!(losses.len() == n && scores.len() == n * h && slopes.len() == n * h, "lengths");
    let count = (TASK / h.max(1)).max(1);
    losses
        .par_chunks_mut(count)
        .zip(slopes.par_chunks_mut(count * h))
        .zip(scores.par_chunks(count * h).zip(labels.par_chunks(count)))
        .for_each(|((losses, slopes), (scores, labels))| rows(scores, labels, h, losses, slopes));
}

/// The same for scores of which `fill(start, piece)` writes the piece from `start` on.
pub(crate) fn softmax_filled(
    fill: &(dyn Fn(usize, &mut [f64]) + Sync),
    labels: &[u32],
    h: usize,
    scores: &mut [f64],
    losses: &mut [f64],
    slopes: &mut [f64],
) {
    let n = labels.len();
    assert!(losses.len() == n && scores.len() == n * h && slopes.len() == n * h, "lengths");
    let count = (TASK / h.max(1)).max(1);
    losses
        .par_chunks_mut(count)
        .zip(slopes.par_chunks_mut(count * h))
        .zip(scores.par_chunks_mut(count * h).zip(labels.par_chunks(count)))
        .enumerate()
        .for_each(|(i, ((losses, slopes), (scores, labels)))| {
            fill(i * count * h, scores);
            rows(scores, labels, h, losses, slopes);
        });
}

/// Some rows at one point: scores, losses and slopes.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    pub(crate) scores: &'a [f64],
    pub(crate) losses: &'a [f64],
    pub(crate) slopes: &'a [f64],
}

/// `exp(30)` still leaves ten digits to a term that was below `exp(-40)`.
const FAR: f64 = 30.0;
const TILE: usize = 128;

/// `l(t) - l(s) - <q(s), t - s>` of one row, and a bound of its rounding.
///
/// With `d = t - s`, `m = <p, d>` and `c = d - m` this is `log sum_j p_j exp(c_j) = log(1 + sum_j p_j (exp(c_j) - 1 - c_j))`
/// because `<p, c> = 0`: all terms are zero or more. Rounding in `c` (at most that of the scores) moves it by
/// `sum_j p_j |exp(c_j) - 1|` times as much. Where a `c_j` is so large that `p_j` may have vanished before,
/// the difference is taken as it stands.
#[inline(always)]
fn bend_row<const FUSED: bool>(
    s: &[f64],
    t: &[f64],
    q: &[f64],
    b: usize,
    losses: (f64, f64),
) -> (f64, f64) {
    let mut tile = [0.0; TILE];
    let mut rest = [0.0; TILE];
    // relative to the label's own change, which drops out: only the p_j with j != b, known to all digits, count
    let own = t[b] - s[b];
    let (mut mean, mut size, mut highest) = (0.0, 0.0f64, f64::NEG_INFINITY);
    for ((s, t), q) in s.chunks(TILE).zip(t.chunks(TILE)).zip(q.chunks(TILE)) {
        let tile = &mut tile[..s.len()];
        let sizes = &mut rest[..s.len()];
        for j in 0..s.len() {
            tile[j] = (t[j] - s[j]) - own;
            sizes[j] = t[j].abs() + s[j].abs();
        }
        mean += super::dot(q, tile); // the entry of b is zero
        size = size.max(max_of(sizes));
        highest = highest.max(max_of(tile));
    }
    if highest - mean > FAR {
        let value = losses.1 - losses.0 - mean;
        let magnitude = losses.0 + losses.1 + mean.abs() + size;
        return (value, 8.0 * f64::EPSILON * magnitude);
    }
    let (mut sum, mut slope) = (0.0, 0.0);
    for (c, ((s, t), q)) in s.chunks(TILE).zip(t.chunks(TILE)).zip(q.chunks(TILE)).enumerate() {
        let (tile, rest) = (&mut tile[..s.len()], &mut rest[..s.len()]);
        for j in 0..s.len() {
            let centred = (t[j] - s[j]) - own - mean;
            rest[j] = exp_rest_any::<FUSED>(centred);
            tile[j] = (rest[j] + centred).abs();
        }
        if (c * TILE..c * TILE + s.len()).contains(&b) {
            // q_b = p_b - 1, of which p_b = exp(-l) is the part wanted
            let (p, j) = (exp_any::<FUSED>(-losses.0), b - c * TILE);
            sum += p * std::mem::replace(&mut rest[j], 0.0);
            slope += p * std::mem::replace(&mut tile[j], 0.0);
        }
        sum += super::dot(q, rest);
        slope += super::dot(q, tile);
    }
    let value = sum.max(0.0).ln_1p();
    (value, 8.0 * f64::EPSILON * (value + size * slope))
}

#[inline(always)]
fn bend_any<const FUSED: bool>(
    from: Rows<'_>,
    to: Rows<'_>,
    labels: &[u32],
    h: usize,
    weights: &[f64],
) -> (f64, f64) {
    let (mut value, mut rounding) = (0.0, 0.0);
    for (i, &b) in labels.iter().enumerate() {
        let y = weights[i];
        if y != 0.0 {
            let range = i * h..(i + 1) * h;
            let (s, t, q) =
                (&from.scores[range.clone()], &to.scores[range.clone()], &from.slopes[range]);
            let losses = (from.losses[i], to.losses[i]);
            let (v, r) = bend_row::<FUSED>(s, t, q, b as usize, losses);
            value += y * v;
            rounding += y.abs() * r;
        }
    }
    (value, rounding)
}

dispatch! {
    /// The weighted sum over some rows of how far the loss bends, and a bound of its rounding.
    pub(crate) fn bend = bend_any(
        from: Rows<'_>, to: Rows<'_>, labels: &[u32], h: usize, weights: &[f64]
    ) -> (f64, f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_within_two_units_in_the_last_place() {
        let xs: Vec<f64> = (0..200_000)
            .map(|i| -708.0 + 1417.0 * (i as f64 / 2e5) + 1e-3 * (i as f64).sin())
            .chain((-60..0).flat_map(|e| [2f64.powi(e), -(2f64.powi(e))]))
            .chain([0.0, -0.0, -1e-320, 0.5 * std::f64::consts::LN_2, -707.99])
            .collect();
        let mut fast = xs.clone();
        exp_in_place(&mut fast);
        let mut slow = xs.clone();
        exp_slice::<false>(&mut slow);
        for ((x, a), b) in xs.iter().zip(&fast).zip(&slow) {
            if *x < LOWEST {
                continue;
            }
            let exact = x.exp();
            assert!((a - exact).abs() <= 2.0 * f64::EPSILON * exact, "exp({x}): {a} not {exact}");
            assert!((b - exact).abs() <= 2.0 * f64::EPSILON * exact, "exp({x}): {b} not {exact}");
        }
        let mut low = [-708.5, -1e4, -1e300, f64::NEG_INFINITY];
        exp_in_place(&mut low);
        assert_eq!(low, [0.0; 4]);
    }

    #[test]
    fn exp_without_its_first_two_terms_does_not_cancel() {
        for i in 0..40_000 {
            let x = -30.0 + 60.0 * i as f64 / 4e4;
            for x in [x, 1e-3 * x, 1e-6 * x, 1e-9 * x] {
                // where |x| is small the series itself: positive terms or a fast alternating sum
                let exact = if x.abs() < 1.0 {
                    (2..30).rev().fold(0.0, |s, k| (s + 1.0) * x / k as f64) * x
                } else {
                    x.exp_m1() - x
                };
                let got = exp_rest_any::<true>(x);
                assert!((got - exact).abs() <= 64.0 * f64::EPSILON * exact, "{x}: {got} {exact}");
            }
        }
        assert_eq!(exp_rest_any::<true>(-1e4), 9999.0);
        assert_eq!(exp_rest_any::<false>(0.0), 0.0);
    }

    /// The loss and slopes from `f64` functions, term by term.
    fn by_definition(s: &[f64], b: usize) -> (f64, Vec<f64>) {
        let top = s.iter().fold(f64::NEG_INFINITY, |m, &v| m.max(v));
        let total: f64 = s.iter().map(|v| (v - top).exp()).sum();
        let others: f64 = (0..s.len()).filter(|&j| j != b).map(|j| (s[j] - top).exp()).sum();
        let loss = if s[b] == top { others.ln_1p() } else { top - s[b] + total.ln() };
        let slope = |j: usize| if j == b { -others / total } else { (s[j] - top).exp() / total };
        (loss, (0..s.len()).map(slope).collect())
    }

    #[test]
    fn losses_and_slopes_are_safe_for_scores_of_any_size() {
        for h in [2, 3, 7, 8, 20, 53, 130] {
            for scale in [0.0, 1e-8, 1.0, 40.0, 1e4, 1e9] {
                let n = 37;
                let scores: Vec<f64> =
                    (0..n * h).map(|i| scale * (1.7 * i as f64 + 0.3).sin()).collect();
                let labels: Vec<u32> = (0..n).map(|i| (i * i % h) as u32).collect();
                let (mut losses, mut slopes) = (vec![f64::NAN; n], vec![f64::NAN; n * h]);
                softmax_losses(&scores, &labels, h, &mut losses, &mut slopes);
                for i in 0..n {
                    let range = i * h..(i + 1) * h;
                    let (loss, slope) = by_definition(&scores[range.clone()], labels[i] as usize);
                    assert!((losses[i] - loss).abs() <= 1e-15 * loss * 4.0, "{h} {scale} {loss:e}");
                    for (a, b) in slopes[range].iter().zip(slope) {
                        assert!((a - b).abs() <= 1e-14 * b.abs() + 1e-300);
                    }
                }
            }
        }
    }

    /// One row's bend with scores at two points.
    fn bend_of(s: &[f64], t: &[f64], b: u32) -> (f64, f64) {
        let h = s.len();
        let mut caches = [(vec![0.0], vec![0.0; h]), (vec![0.0], vec![0.0; h])];
        for ((losses, slopes), scores) in caches.iter_mut().zip([s, t]) {
            softmax_losses(scores, &[b], h, losses, slopes);
        }
        let [(l0, q0), (l1, q1)] = &caches;
        let from = Rows { scores: s, losses: l0, slopes: q0 };
        let to = Rows { scores: t, losses: l1, slopes: q1 };
        bend(from, to, &[b], h, &[1.0])
    }

    #[test]
    fn bend_agrees_with_the_difference_within_the_rounding_of_both() {
        for h in [2, 5, 20, 131, 300] {
            for (size, step) in [(1.0, 1.0), (10.0, 0.1), (30.0, 60.0), (1e3, 1e4), (1e4, 1e-3)] {
                let s: Vec<f64> = (0..h).map(|j| size * (1.3 * j as f64).sin()).collect();
                let t: Vec<f64> =
                    (0..h).map(|j| s[j] + step * (0.7 + 2.1 * j as f64).cos()).collect();
                let b = (h / 3) as u32;
                let (value, rounding) = bend_of(&s, &t, b);
                let (l0, q) = by_definition(&s, b as usize);
                let (l1, _) = by_definition(&t, b as usize);
                let along: f64 = (0..h).map(|j| q[j] * (t[j] - s[j])).sum();
                let plain = l1 - l0 - along;
                let size: f64 = (0..h).map(|j| (q[j] * (t[j] - s[j])).abs()).sum();
                let allowed = rounding + 16.0 * f64::EPSILON * (l0 + l1 + size);
                assert!((value - plain).abs() <= allowed, "{h} {size} {step}: {value:e} {plain:e}");
                assert!(value >= 0.0 && rounding >= 0.0);
            }
        }
    }

    #[test]
    fn small_bends_keep_their_digits() {
        // the second-order term, and the third from central symmetry
        for step in [1e-3, 1e-5, 1e-8] {
            let (h, b) = (9, 4);
            let s: Vec<f64> = (0..h).map(|j| 3.0 * (1.3 * j as f64).sin()).collect();
            // powers of two in a grid that all scores share: differences are exact
            let grid = |v: f64| (v * 2f64.powi(44)).round() * 2f64.powi(-44);
            let s: Vec<f64> = s.into_iter().map(grid).collect();
            let d: Vec<f64> = (0..h).map(|j| grid(step * (2.1 * j as f64).cos())).collect();
            let t: Vec<f64> = s.iter().zip(&d).map(|(s, d)| s + d).collect();
            let back: Vec<f64> = s.iter().zip(&d).map(|(s, d)| s - d).collect();
            let (_, q) = by_definition(&s, b);
            let p = |j: usize| q[j] + if j == b { 1.0 } else { 0.0 };
            let mean: f64 = (0..h).map(|j| p(j) * d[j]).sum();
            let variance: f64 = (0..h).map(|j| p(j) * (d[j] - mean).powi(2)).sum();
            let (ahead, rounding) = bend_of(&s, &t, b as u32);
            let (behind, _) = bend_of(&s, &back, b as u32);
            let mid = 0.5 * (ahead + behind);
            let expected = 0.5 * variance;
            assert!((mid - expected).abs() <= (step * step + 1e-7) * expected + rounding);
            assert!(rounding <= 1e-5 * ahead.max(1e-16 * step), "{rounding:e} of {ahead:e}");
        }
    }
}
