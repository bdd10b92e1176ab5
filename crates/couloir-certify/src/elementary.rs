//! Exponential and logarithm to 256 bits and more, with whole numbers alone and an error that is easy to bound.
//!
//! A number is kept in units of `2^-POINT`.

use crate::exact::{Exact, exact, rounded};
use dashu_int::{IBig, UBig};

/// Bits after the binary point.
const POINT: usize = 384;

/// Errors of [`exp`] and [`ln`] are below `2^-ACCURATE`.
pub const ACCURATE: usize = 300;

fn one() -> IBig {
    IBig::ONE << POINT
}

/// In units, rounded towards minus infinity.
fn units(v: &Exact) -> IBig {
    let (numerator, denominator) = v.clone().into_parts();
    let denominator = IBig::from(denominator);
    let scaled = numerator << POINT;
    let quotient = &scaled / &denominator;
    if &quotient * &denominator > scaled { quotient - IBig::ONE } else { quotient }
}

fn number(units: IBig) -> Exact {
    Exact::from_parts(units, UBig::ONE << POINT)
}

fn times(a: &IBig, b: &IBig) -> IBig {
    (a * b) >> POINT
}

/// `e^v` for `v <= 0`.
///
/// With `r = v/2^k` and `|r| < 2^-16` the series of `e^r` ends after some twenty terms, each a unit off; the value, at most 1,
/// is then squared k times, which doubles an error and adds a unit. As `v` is at least -700 where it matters, k is at most 26,
/// and the error is below `2^26 (25 + 1)` units and that of `r`, far below `2^-ACCURATE`.
///
/// # Panics
/// A positive `v`.
#[must_use]
pub fn exp(v: &Exact) -> Exact {
    assert!(*v <= Exact::ZERO, "only falling exponentials are needed");
    // e^-700 is below 2^-1000
    let floor = exact(-700.0);
    let v = units(if *v < floor { &floor } else { v });
    let k = 26;
    let r = v >> k;
    let (mut term, mut sum, mut i) = (one(), one(), IBig::ONE);
    loop {
        term = times(&term, &r) / &i;
        if term == IBig::ZERO || term == IBig::NEG_ONE {
            break;
        }
        sum += &term;
        i += IBig::ONE;
    }
    for _ in 0..k {
        sum = times(&sum, &sum);
    }
    number(sum)
}

/// `ln v` for `v >= 1`: `y + 2 (v e^-y - 1)/(v e^-y + 1)` triples the right bits of `y`, from those of an `f64` on.
///
/// # Panics
/// A `v` below 1.
#[must_use]
pub fn ln(v: &Exact) -> Exact {
    assert!(*v >= Exact::ONE, "only logarithms of sums with a 1 in them are needed");
    let mut y = exact(rounded(v).ln());
    for _ in 0..3 {
        let near = v * exp(&-&y);
        let step = exact(2.0) * (&near - Exact::ONE) / (near + Exact::ONE);
        y = number(units(&(y + step)));
        if y < Exact::ZERO {
            y = Exact::ZERO;
        }
    }
    y
}
