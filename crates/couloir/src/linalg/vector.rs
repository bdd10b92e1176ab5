//! Vector kernels. Sums run in eight lanes, so they vectorise; long vectors are cut in halves that two
//! threads may take, always at the same places, so that a sum has the same bits every time and on
//! any number of threads.

use super::simd::{dispatch, fma};
use super::spectral::max_abs;

const LANES: usize = 8;
/// Vectors of lanes that are summed side by side, so that a sum need not wait for the one before.
const SIDES: usize = 4;
/// Vectors up to this length are not cut: a task must outweigh its hand-over.
const GRAIN: usize = 1 << 15;

/// The sum over all pieces of what `kernel` makes of one.
fn reduce<const IN: usize, const OUT: usize>(
    vectors: [&[f64]; IN],
    kernel: impl Fn([&[f64]; IN]) -> [f64; OUT] + Copy + Sync + Send,
) -> [f64; OUT] {
    let len = vectors[0].len();
    debug_assert!(vectors.iter().all(|v| v.len() == len));
    if len <= GRAIN {
        return kernel(vectors);
    }
    let middle = (len / 2).next_multiple_of(LANES);
    let (left, right) = rayon::join(
        || reduce(vectors.map(|v| &v[..middle]), kernel),
        || reduce(vectors.map(|v| &v[middle..]), kernel),
    );
    std::array::from_fn(|k| left[k] + right[k])
}

/// Runs `kernel` on all pieces of `out` and the vectors.
fn update<const IN: usize>(
    out: &mut [f64],
    vectors: [&[f64]; IN],
    kernel: impl Fn(&mut [f64], [&[f64]; IN]) + Copy + Sync + Send,
) {
    let len = out.len();
    debug_assert!(vectors.iter().all(|v| v.len() == len));
    if len <= GRAIN {
        return kernel(out, vectors);
    }
    let middle = (len / 2).next_multiple_of(LANES);
    let (left, right) = out.split_at_mut(middle);
    rayon::join(
        || update(left, vectors.map(|v| &v[..middle]), kernel),
        || update(right, vectors.map(|v| &v[middle..]), kernel),
    );
}

/// `out = q - g/beta`; returns `[|q|^2, |g|^2]`.
pub(crate) fn gradient_step(q: &[f64], g: &[f64], beta: f64, out: &mut [f64]) -> [f64; 2] {
    let len = out.len();
    debug_assert!(q.len() == len && g.len() == len);
    if len <= GRAIN {
        for ((o, q), g) in out.iter_mut().zip(q).zip(g) {
            *o = q - g / beta;
        }
        // from cache
        return [dot_piece([q, q])[0], dot_piece([g, g])[0]];
    }
    let middle = (len / 2).next_multiple_of(LANES);
    let (left, right) = out.split_at_mut(middle);
    let (a, b) = rayon::join(
        || gradient_step(&q[..middle], &g[..middle], beta, left),
        || gradient_step(&q[middle..], &g[middle..], beta, right),
    );
    [a[0] + b[0], a[1] + b[1]]
}

/// `sum_i a(v_i) b(v_i)` in eight lanes, for each pair of factors that `terms` makes.
#[inline(always)]
fn lanes<const FUSED: bool, const IN: usize, const OUT: usize>(
    vectors: [&[f64]; IN],
    terms: impl Fn([f64; IN]) -> [(f64, f64); OUT],
) -> [f64; OUT] {
    let cut = vectors.map(|v| v.as_chunks::<{ LANES * SIDES }>());
    let mut sums = [[0.0; LANES * SIDES]; OUT];
    for i in 0..cut[0].0.len() {
        for l in 0..LANES * SIDES {
            let pairs = terms(cut.map(|(chunks, _)| chunks[i][l]));
            for k in 0..OUT {
                sums[k][l] = fma::<FUSED>(pairs[k].0, pairs[k].1, sums[k][l]);
            }
        }
    }
    let mut total = sums.map(|sums| {
        let mut lanes = [0.0; LANES];
        for side in sums.as_chunks::<LANES>().0 {
            (0..LANES).for_each(|l| lanes[l] += side[l]);
        }
        lanes.iter().sum::<f64>()
    });
    for i in 0..cut[0].1.len() {
        let pairs = terms(cut.map(|(_, rest)| rest[i]));
        for k in 0..OUT {
            total[k] += pairs[k].0 * pairs[k].1;
        }
    }
    total
}

#[inline(always)]
fn dot_body<const FUSED: bool>(v: [&[f64]; 2]) -> [f64; 1] {
    lanes::<FUSED, 2, 1>(v, |[a, b]| [(a, b)])
}
dispatch! { fn dot_piece = dot_body(v: [&[f64]; 2]) -> [f64; 1] }

#[inline(always)]
fn pair_body<const FUSED: bool>(v: [&[f64]; 2]) -> [f64; 3] {
    lanes::<FUSED, 2, 3>(v, |[a, b]| [(a, b), (a, a), (b, b)])
}
dispatch! { fn pair_piece = pair_body(v: [&[f64]; 2]) -> [f64; 3] }

#[inline(always)]
fn difference_body<const FUSED: bool>(v: [&[f64]; 3]) -> [f64; 2] {
    lanes::<FUSED, 3, 2>(v, |[g, a, b]| [(g, a - b), (a - b, a - b)])
}
dispatch! { fn difference_piece = difference_body(v: [&[f64]; 3]) -> [f64; 2] }

#[inline(always)]
fn slope_body<const FUSED: bool>(v: [&[f64]; 3]) -> [f64; 1] {
    lanes::<FUSED, 3, 1>(v, |[g, a, b]| [(g, a - b)])
}
dispatch! { fn slope_piece = slope_body(v: [&[f64]; 3]) -> [f64; 1] }

#[inline(always)]
fn differences_body<const FUSED: bool>(v: [&[f64]; 3]) -> [f64; 1] {
    lanes::<FUSED, 3, 1>(v, |[a, b, c]| [(a - c, b - c)])
}
dispatch! { fn differences_piece = differences_body(v: [&[f64]; 3]) -> [f64; 1] }

/// A bound of the rounding in a sum of so many products, in shares of the lengths of the two vectors: no term goes through more
/// additions than a lane of a piece has, and those that join lanes and pieces.
#[must_use]
pub(crate) fn sum_rounding(len: usize) -> f64 {
    let of_joins = LANES * SIDES + 32;
    let roundings = len.min(GRAIN / (LANES * SIDES)).min(of_joins + len / (LANES * SIDES));
    0.5 * f64::EPSILON * (roundings + of_joins.min(len) + 4) as f64
}

/// `<a, b>`.
#[must_use]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    reduce([a, b], dot_piece)[0]
}

/// `|a|^2`.
#[must_use]
pub fn norm_squared(a: &[f64]) -> f64 {
    dot(a, a)
}

/// `|a|`, also where the squares would overflow or vanish.
#[must_use]
pub fn norm(a: &[f64]) -> f64 {
    length(a, norm_squared(a))
}

/// `|a|` of a vector with this square, which may have overflowed or vanished.
pub(crate) fn length(a: &[f64], square: f64) -> f64 {
    if (1e-280..1e280).contains(&square) {
        return square.sqrt();
    }
    let largest = max_abs(a);
    if largest == 0.0 || !largest.is_finite() {
        return if square.is_nan() { f64::NAN } else { largest };
    }
    largest * a.iter().map(|v| (v / largest).powi(2)).sum::<f64>().sqrt()
}

/// `[<a, b>, |a|^2, |b|^2]` in one pass.
#[must_use]
pub(crate) fn dot_and_squares(a: &[f64], b: &[f64]) -> [f64; 3] {
    reduce([a, b], pair_piece)
}

/// The sum of all `|a_i|`.
#[must_use]
pub(crate) fn sum_abs(a: &[f64]) -> f64 {
    reduce([a], |v| lanes::<false, 1, 1>(v, |[a]| [(a.abs(), 1.0)]))[0]
}

/// `|a - b|^2`.
#[must_use]
pub fn distance_squared(a: &[f64], b: &[f64]) -> f64 {
    reduce([a, b], |v| lanes::<false, 2, 1>(v, |[a, b]| [(a - b, a - b)]))[0]
}

/// `y += a x`.
pub fn axpy(a: f64, x: &[f64], y: &mut [f64]) {
    update(y, [x], |y, [x]| {
        for (y, x) in y.iter_mut().zip(x) {
            *y += a * x;
        }
    });
}

/// `y = a x + b y`.
pub fn axpby(a: f64, x: &[f64], b: f64, y: &mut [f64]) {
    update(y, [x], |y, [x]| {
        for (y, x) in y.iter_mut().zip(x) {
            *y = a * x + b * *y;
        }
    });
}

/// `out = a x + b y`.
pub fn combine(a: f64, x: &[f64], b: f64, y: &[f64], out: &mut [f64]) {
    update(out, [x, y], |out, [x, y]| {
        for ((o, x), y) in out.iter_mut().zip(x).zip(y) {
            *o = a * x + b * y;
        }
    });
}

/// `out = x + t (v - x)`: a convex combination whose weights add up to one exactly.
pub fn between(t: f64, x: &[f64], v: &[f64], out: &mut [f64]) {
    update(out, [x, v], |out, [x, v]| {
        for ((o, x), v) in out.iter_mut().zip(x).zip(v) {
            *o = x + t * (v - x);
        }
    });
}

/// `x += t (v - x)`.
pub fn step_toward(t: f64, v: &[f64], x: &mut [f64]) {
    update(x, [v], |x, [v]| {
        for (x, v) in x.iter_mut().zip(v) {
            *x += t * (v - *x);
        }
    });
}

/// `x *= a`.
pub fn scale(a: f64, x: &mut [f64]) {
    update(x, [], |x, []| {
        for x in x {
            *x *= a;
        }
    });
}

/// `(<g, a - b>, |a - b|^2)`, in one pass.
#[must_use]
pub fn dot_difference(g: &[f64], a: &[f64], b: &[f64]) -> (f64, f64) {
    let [slope, square] = reduce([g, a, b], difference_piece);
    (slope, square)
}

/// `<a - c, b - c>`.
#[must_use]
pub fn dot_of_differences(a: &[f64], b: &[f64], c: &[f64]) -> f64 {
    reduce([a, b, c], differences_piece)[0]
}

/// Points that [`gram_of_differences`] takes at the most.
pub(crate) const MOST_POINTS: usize = 16;
/// Entries of a block of differences, which stays in cache while all pairs are multiplied.
const BLOCK: usize = 512;
/// Entries of a block that stays in cache while others stream by: long enough for the processor to read ahead.
const LONG_BLOCK: usize = 8192;

/// `<p_i - c, p_j - c>` at `[i][j]` for `j <= i`, reading each point once.
pub(crate) fn gram_of_differences(
    points: &[&[f64]],
    c: &[f64],
) -> [[f64; MOST_POINTS]; MOST_POINTS] {
    let count = points.len();
    assert!(count <= MOST_POINTS && points.iter().all(|p| p.len() == c.len()), "shapes of points");
    gram_of(points, c, 0)
}

fn gram_of(points: &[&[f64]], c: &[f64], first: usize) -> [[f64; MOST_POINTS]; MOST_POINTS] {
    if c.len() > GRAIN {
        let middle = (c.len() / 2).next_multiple_of(LANES);
        let (mut left, right) = rayon::join(
            || gram_of(points, &c[..middle], first),
            || gram_of(points, &c[middle..], first + middle),
        );
        for (row, other) in left.iter_mut().zip(&right) {
            row.iter_mut().zip(other).for_each(|(a, b)| *a += b);
        }
        return left;
    }
    gram_of_piece(points, c, first)
}

/// Apart, so that its blocks do not lie on the stack of every cut.
#[inline(never)]
fn gram_of_piece(points: &[&[f64]], c: &[f64], first: usize) -> [[f64; MOST_POINTS]; MOST_POINTS] {
    let mut gram = [[0.0; MOST_POINTS]; MOST_POINTS];
    let mut differences = [[0.0; BLOCK]; MOST_POINTS];
    for start in (0..c.len()).step_by(BLOCK) {
        let size = BLOCK.min(c.len() - start);
        let origin = &c[start..start + size];
        for (d, p) in differences.iter_mut().zip(points) {
            let p = &p[first + start..first + start + size];
            for ((d, p), c) in d.iter_mut().zip(p).zip(origin) {
                *d = p - c;
            }
        }
        for i in 0..points.len() {
            for j in 0..=i {
                gram[i][j] += dot_piece([&differences[i][..size], &differences[j][..size]])[0];
            }
        }
    }
    gram
}

/// `out = own out + sum_j w_j p_j`, reading each point once. What has weight zero is not read.
pub(crate) fn combine_many(own: f64, weights: &[f64], points: &[&[f64]], out: &mut [f64]) {
    assert!(points.iter().all(|p| p.len() == out.len()), "shapes of points");
    combine_from(own, weights, points, out, 0);
}

/// The piece `out` of `sum_j w_j p_j` from `first` on.
pub(crate) fn combine_piece(weights: &[f64], points: &[&[f64]], first: usize, out: &mut [f64]) {
    combine_from(0.0, weights, points, out, first);
}

fn combine_from(own: f64, weights: &[f64], points: &[&[f64]], out: &mut [f64], first: usize) {
    if out.len() > GRAIN {
        let middle = (out.len() / 2).next_multiple_of(LANES);
        let (left, right) = out.split_at_mut(middle);
        rayon::join(
            || combine_from(own, weights, points, left, first),
            || combine_from(own, weights, points, right, first + middle),
        );
        return;
    }
    for (b, block) in out.chunks_mut(BLOCK).enumerate() {
        let start = first + b * BLOCK;
        if own == 0.0 {
            block.fill(0.0);
        } else {
            block.iter_mut().for_each(|o| *o *= own);
        }
        for (w, p) in weights.iter().zip(points).filter(|(w, _)| **w != 0.0) {
            for (o, p) in block.iter_mut().zip(&p[start..]) {
                *o += w * p;
            }
        }
    }
}

/// `<g, p_j - c>` for every point, reading each once.
pub(crate) fn slopes_of_differences(g: &[f64], points: &[&[f64]], c: &[f64]) -> [f64; MOST_POINTS] {
    let fits = points.len() <= MOST_POINTS && g.len() == c.len();
    assert!(fits && points.iter().all(|p| p.len() == c.len()), "shapes of points");
    slopes_of(g, points, c, 0)
}

fn slopes_of(g: &[f64], points: &[&[f64]], c: &[f64], first: usize) -> [f64; MOST_POINTS] {
    let mut slopes = [0.0; MOST_POINTS];
    if c.len() > GRAIN {
        let middle = (c.len() / 2).next_multiple_of(LANES);
        let (left, right) = rayon::join(
            || slopes_of(&g[..middle], points, &c[..middle], first),
            || slopes_of(&g[middle..], points, &c[middle..], first + middle),
        );
        for j in 0..MOST_POINTS {
            slopes[j] = left[j] + right[j];
        }
        return slopes;
    }
    for start in (0..c.len()).step_by(LONG_BLOCK) {
        let end = c.len().min(start + LONG_BLOCK);
        for (slope, p) in slopes.iter_mut().zip(points) {
            let p = &p[first + start..first + end];
            *slope += slope_piece([&g[start..end], p, &c[start..end]])[0];
        }
    }
    slopes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool").install(work)
    }

    fn sums_of(a: &[f64], b: &[f64], c: &[f64]) -> f64 {
        (0..c.len()).map(|i| (a[i] - c[i]) * (b[i] - c[i])).sum()
    }

    #[test]
    fn long_vectors_give_the_plain_sums_and_the_same_bits_on_any_number_of_threads() {
        let len = 3 * GRAIN + 13;
        let a: Vec<f64> = (0..len).map(|i| (i as f64 * 0.7).sin()).collect();
        let b: Vec<f64> = (0..len).map(|i| (i as f64 * 0.3).cos() + 0.1).collect();
        let c: Vec<f64> = (0..len).map(|i| (i as f64 * 0.11).sin()).collect();
        let all = || {
            let mut moved = c.clone();
            step_toward(0.3, &a, &mut moved);
            axpby(0.5, &b, 2.0, &mut moved);
            axpy(-1.0, &a, &mut moved);
            let (slope, square) = dot_difference(&a, &b, &c);
            let [along, of_a, of_b] = dot_and_squares(&a, &b);
            assert_eq!([along, of_a, of_b], [dot(&a, &b), norm_squared(&a), norm_squared(&b)]);
            let sums = [along, slope, square, dot_of_differences(&a, &b, &c), norm(&moved)];
            ([&sums[..], &[sum_abs(&a)]].concat(), moved)
        };
        let (sums, moved) = on_threads(1, all);
        for threads in [2, 5] {
            assert_eq!(on_threads(threads, all), (sums.clone(), moved.clone()));
        }
        let sum = |term: &dyn Fn(usize) -> f64| (0..len).map(term).sum::<f64>();
        let plain = [
            sum(&|i| a[i] * b[i]),
            sum(&|i| a[i] * (b[i] - c[i])),
            sum(&|i| (b[i] - c[i]).powi(2)),
            sum(&|i| (a[i] - c[i]) * (b[i] - c[i])),
            sum(&|i| (0.5 * b[i] + 2.0 * (c[i] + 0.3 * (a[i] - c[i])) - a[i]).powi(2)).sqrt(),
            sum(&|i| a[i].abs()),
        ];
        for (sum, plain) in sums.iter().zip(plain) {
            assert!((sum - plain).abs() < 1e-10 * len as f64, "{sum} is not {plain}");
        }
        let mut shifted = vec![f64::NAN; len];
        let squares = gradient_step(&a, &b, 0.5, &mut shifted);
        assert!((0..len).all(|i| shifted[i] == a[i] - b[i] / 0.5));
        assert_eq!(squares, [norm_squared(&a), norm_squared(&b)]);
        let gram = gram_of_differences(&[&a, &b], &c);
        let plain = [[sums_of(&a, &a, &c), 0.0], [sums_of(&b, &a, &c), sums_of(&b, &b, &c)]];
        for i in 0..2 {
            for j in 0..=i {
                assert!((gram[i][j] - plain[i][j]).abs() < 1e-10 * len as f64, "{i} {j}");
            }
        }
        let slopes = slopes_of_differences(&c, &[&a, &b], &b);
        assert!((slopes[0] - dot_difference(&c, &a, &b).0).abs() < 1e-10 * len as f64);
        assert_eq!(slopes[1], 0.0);
        let mut sum = vec![f64::NAN; len];
        let nan = vec![f64::NAN; len];
        combine_many(0.0, &[0.5, 0.0, -2.0], &[&a, &nan, &b], &mut sum);
        assert!((0..len).all(|i| (sum[i] - (0.5 * a[i] - 2.0 * b[i])).abs() < 1e-15));
        combine_many(2.0, &[4.0], &[&b], &mut sum);
        assert!((0..len).all(|i| (sum[i] - a[i]).abs() < 1e-14));
    }
}
