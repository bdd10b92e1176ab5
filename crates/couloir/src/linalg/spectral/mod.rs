//! Gram matrices of short and long matrices, and what is made from them.
//!
//! A flat row-major slice of `rows * cols` numbers is seen as a *short* x *long* matrix, transposed
//! where it has more rows than columns, so that everything above speaks of `h` rows and `d >= h`
//! columns ([`Thin`]). Decompositions of the small matrices that come out are in `decompose`.

mod decompose;
mod thin;

pub(crate) use decompose::{SmallSvd, SymmetricEigen};
pub(crate) use thin::Thin;

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

/// Entries of one operand that a chunk of columns holds: 256 kB, half of a usual L2 cache.
pub(super) const CHUNK_ENTRIES: usize = 32 * 1024;

/// Magnitudes between which squares and their sums neither overflow nor lose what matters.
const SAFE: std::ops::RangeInclusive<f64> = 1e-120..=1e120;

/// Squared lengths between which nothing has overflowed or vanished.
pub(crate) const SAFE_SQUARES: std::ops::RangeInclusive<f64> = 1e-240..=1e240;

/// The trace of a row-major `h x h` matrix.
pub(crate) fn trace(m: &[f64], h: usize) -> f64 {
    (0..h).map(|i| m[i * (h + 1)]).sum()
}

/// `out = a b` of row-major `h x h` matrices.
pub(crate) fn product(h: usize, a: &[f64], b: &[f64], out: &mut [f64]) {
    product_of(h, h, h, a, b, out);
}

/// `out = a b` of row-major matrices, `rows x inner` times `inner x cols`.
pub(crate) fn product_of(
    rows: usize,
    inner: usize,
    cols: usize,
    a: &[f64],
    b: &[f64],
    out: &mut [f64],
) {
    let a = MatRef::from_row_major_slice(a, rows, inner);
    let b = MatRef::from_row_major_slice(b, inner, cols);
    let out = MatMut::from_row_major_slice_mut(out, rows, cols);
    matmul(out, Accum::Replace, a, b, 1.0, Par::Seq);
}

/// `out = a' b` of row-major matrices, `n x p` and `n x q`.
pub(crate) fn transposed_product(
    n: usize,
    p: usize,
    q: usize,
    a: &[f64],
    b: &[f64],
    out: &mut [f64],
) {
    let a = MatRef::from_row_major_slice(a, n, p);
    let b = MatRef::from_row_major_slice(b, n, q);
    let out = MatMut::from_row_major_slice_mut(out, p, q);
    matmul(out, Accum::Replace, a.transpose(), b, 1.0, Par::Seq);
}

/// The largest magnitude in `x`.
pub(crate) fn max_abs(x: &[f64]) -> f64 {
    const LANES: usize = 8;
    if x.len() > CHUNK_ENTRIES {
        let (left, right) = x.split_at(x.len() / 2);
        let (left, right) = rayon::join(|| max_abs(left), || max_abs(right));
        return left.max(right);
    }
    let (chunks, rest) = x.as_chunks::<LANES>();
    let mut lanes = [0.0f64; LANES];
    for chunk in chunks {
        for l in 0..LANES {
            let a = chunk[l].abs();
            lanes[l] = if a > lanes[l] { a } else { lanes[l] };
        }
    }
    lanes.iter().chain(rest).fold(0.0, |m, v| m.max(v.abs()))
}

/// A power of two by which to multiply numbers as large as `magnitude` before they are squared: 1
/// where that is safe as it is.
pub(crate) fn safe_factor(magnitude: f64) -> f64 {
    if magnitude == 0.0 || SAFE.contains(&magnitude) {
        1.0
    } else {
        // Two factors where one would overflow: 2^1022 is the largest that always exists.
        (-magnitude.log2().floor()).clamp(-1022.0, 1022.0).exp2()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scaling_brings_every_magnitude_to_where_squares_are_safe() {
        for magnitude in [5e-324, 1e-310, 1e-200, 1e-119, 1.0, 1e119, 1e200, f64::MAX] {
            let factor = safe_factor(magnitude);
            let scaled = magnitude * factor;
            assert!(factor.is_finite() && factor > 0.0);
            assert!((1e-120..=1e120).contains(&scaled), "{magnitude:e}: {scaled:e}");
        }
        assert_eq!(max_abs(&[1.0, -3.0, 2.0]), 3.0);
        assert_eq!(max_abs(&[0.0; 20]), 0.0);
    }
}
