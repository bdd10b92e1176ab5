//! Vector kernels. Sums run in eight lanes, so they vectorise, and always in the same order, so
//! they give the same bits every time.

const LANES: usize = 8;

/// `<a, b>`.
#[must_use]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    debug_assert_eq!(a.len(), b.len());
    let (a8, a1) = a.as_chunks::<LANES>();
    let (b8, b1) = b.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for (p, q) in a8.iter().zip(b8) {
        for l in 0..LANES {
            lanes[l] += p[l] * q[l];
        }
    }
    let rest: f64 = a1.iter().zip(b1).map(|(p, q)| p * q).sum();
    lanes.iter().sum::<f64>() + rest
}

/// `|a|^2`.
#[must_use]
pub fn norm_squared(a: &[f64]) -> f64 {
    dot(a, a)
}

/// `|a|`, also where the squares would overflow or vanish.
#[must_use]
pub fn norm(a: &[f64]) -> f64 {
    let square = norm_squared(a);
    if (1e-280..1e280).contains(&square) {
        return square.sqrt();
    }
    let largest = a.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    if largest == 0.0 || !largest.is_finite() {
        return if a.iter().any(|v| v.is_nan()) { f64::NAN } else { largest };
    }
    largest * a.iter().map(|v| (v / largest).powi(2)).sum::<f64>().sqrt()
}

/// `|a - b|^2`.
#[must_use]
pub fn distance_squared(a: &[f64], b: &[f64]) -> f64 {
    debug_assert_eq!(a.len(), b.len());
    let (a8, a1) = a.as_chunks::<LANES>();
    let (b8, b1) = b.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for (p, q) in a8.iter().zip(b8) {
        for l in 0..LANES {
            let d = p[l] - q[l];
            lanes[l] += d * d;
        }
    }
    let rest: f64 = a1.iter().zip(b1).map(|(p, q)| (p - q) * (p - q)).sum();
    lanes.iter().sum::<f64>() + rest
}

/// `y += a x`.
pub fn axpy(a: f64, x: &[f64], y: &mut [f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += a * x;
    }
}

/// `y = a x + b y`.
pub fn axpby(a: f64, x: &[f64], b: f64, y: &mut [f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y = a * x + b * *y;
    }
}

/// `out = a x + b y`.
pub fn combine(a: f64, x: &[f64], b: f64, y: &[f64], out: &mut [f64]) {
    for ((o, x), y) in out.iter_mut().zip(x).zip(y) {
        *o = a * x + b * y;
    }
}

/// `out = x + t (v - x)`: a convex combination whose weights add up to one exactly.
pub fn between(t: f64, x: &[f64], v: &[f64], out: &mut [f64]) {
    for ((o, x), v) in out.iter_mut().zip(x).zip(v) {
        *o = x + t * (v - x);
    }
}

/// `x += t (v - x)`.
pub fn step_toward(t: f64, v: &[f64], x: &mut [f64]) {
    for (x, v) in x.iter_mut().zip(v) {
        *x += t * (v - *x);
    }
}

/// `x *= a`.
pub fn scale(a: f64, x: &mut [f64]) {
    for x in x {
        *x *= a;
    }
}

/// `(<g, a - b>, |a - b|^2)`, in one pass.
#[must_use]
pub fn dot_difference(g: &[f64], a: &[f64], b: &[f64]) -> (f64, f64) {
    debug_assert!(g.len() == a.len() && a.len() == b.len());
    let (g8, g1) = g.as_chunks::<LANES>();
    let (a8, a1) = a.as_chunks::<LANES>();
    let (b8, b1) = b.as_chunks::<LANES>();
    let (mut slope, mut square) = ([0.0; LANES], [0.0; LANES]);
    for ((g, a), b) in g8.iter().zip(a8).zip(b8) {
        for l in 0..LANES {
            let d = a[l] - b[l];
            slope[l] += g[l] * d;
            square[l] += d * d;
        }
    }
    let (mut dot, mut size) = (slope.iter().sum::<f64>(), square.iter().sum::<f64>());
    for ((g, a), b) in g1.iter().zip(a1).zip(b1) {
        let d = a - b;
        dot += g * d;
        size += d * d;
    }
    (dot, size)
}

/// `<a - c, b - c>`.
#[must_use]
pub fn dot_of_differences(a: &[f64], b: &[f64], c: &[f64]) -> f64 {
    debug_assert!(a.len() == b.len() && b.len() == c.len());
    let (a8, a1) = a.as_chunks::<LANES>();
    let (b8, b1) = b.as_chunks::<LANES>();
    let (c8, c1) = c.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for ((a, b), c) in a8.iter().zip(b8).zip(c8) {
        for l in 0..LANES {
            lanes[l] += (a[l] - c[l]) * (b[l] - c[l]);
        }
    }
    let rest: f64 = a1.iter().zip(b1).zip(c1).map(|((a, b), c)| (a - c) * (b - c)).sum();
    lanes.iter().sum::<f64>() + rest
}
