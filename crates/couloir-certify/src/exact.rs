//! Numbers without rounding: every `f64` is a rational number, and sums, products and quotients of rationals are rationals.

use dashu_base::Abs;
use dashu_float::{FBig, round::mode::HalfEven};
use dashu_int::UBig;
use dashu_ratio::RBig;

/// A rational number.
pub type Exact = RBig;

/// A binary number of some hundred bits, for roots, exponentials and logarithms.
pub type Wide = FBig<HalfEven, 2>;

/// The bits of a [`Wide`] number.
pub const BITS: usize = 256;

/// What an `f64` stands for.
///
/// # Panics
/// A NaN or an infinity, which stand for no number: callers look for them first.
#[must_use]
pub fn exact(v: f64) -> Exact {
    Exact::try_from(v).expect("only finite numbers are compared")
}

/// All entries as they are.
#[must_use]
pub fn exact_vector(v: &[f64]) -> Vec<Exact> {
    v.iter().map(|v| exact(*v)).collect()
}

/// The nearest `f64`, for tables.
#[must_use]
pub fn rounded(v: &Exact) -> f64 {
    v.to_f64().value()
}

/// The larger one.
#[must_use]
pub fn max(a: Exact, b: Exact) -> Exact {
    if b > a { b } else { a }
}

/// The absolute value.
#[must_use]
pub fn abs(v: &Exact) -> Exact {
    v.clone().abs()
}

/// The number to [`BITS`] bits.
#[must_use]
pub fn wide(v: &Exact) -> Wide {
    v.to_float(BITS).value()
}

/// A [`Wide`] number is a rational one.
///
/// # Panics
/// An infinity.
#[must_use]
pub fn narrow(v: &Wide) -> Exact {
    Exact::try_from(v.clone()).expect("only finite numbers are compared")
}

/// `2^-bits`.
#[must_use]
pub fn tiny(bits: usize) -> Exact {
    Exact::from_parts(1.into(), UBig::ONE << bits)
}

/// A number that lies between two others.
#[derive(Clone, Debug, PartialEq)]
pub struct Enclosure {
    /// It is at least this.
    pub low: Exact,
    /// It is at most this.
    pub high: Exact,
}

impl Enclosure {
    /// A number that is known.
    #[must_use]
    pub fn known(v: Exact) -> Self {
        Enclosure { low: v.clone(), high: v }
    }

    /// The number with a known one added.
    #[must_use]
    pub fn plus(self, v: &Exact) -> Self {
        Enclosure { low: self.low + v, high: self.high + v }
    }

    /// Minus the number.
    #[must_use]
    pub fn negated(self) -> Self {
        Enclosure { low: -self.high, high: -self.low }
    }
}
