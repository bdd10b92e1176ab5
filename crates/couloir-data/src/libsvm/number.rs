//! Decimal numbers, fast when they are short and exact always.

/// Powers of ten that a 64-bit float holds exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// Reads `[+-]digits[.digits]` at the start of `text` and says how many bytes it took. None when there
/// are no digits or too many for the quick way, which is exact: mantissa and power are both exact
/// 64-bit floats, so their quotient is rounded once (Clinger 1990).
#[inline]
pub(super) fn short_decimal(text: &[u8]) -> Option<(f64, usize)> {
    let mut at = 0;
    let negative = match text.first() {
        Some(b'-') => {
            at = 1;
            true
        }
        Some(b'+') => {
            at = 1;
            false
        }
        _ => false,
    };
    let first = at;
    let mut mantissa = 0u64;
    while let Some(digit) = digit(text, at) {
        mantissa = mantissa.wrapping_mul(10).wrapping_add(digit);
        at += 1;
    }
    let mut digits = at - first;
    let mut fraction = 0;
    if text.get(at) == Some(&b'.') {
        at += 1;
        let point = at;
        while let Some(digit) = digit(text, at) {
            mantissa = mantissa.wrapping_mul(10).wrapping_add(digit);
            at += 1;
        }
        fraction = at - point;
        digits += fraction;
    }
    // nineteen digits never overflow, so the mantissa is right where it is compared
    if digits == 0 || digits > 19 || mantissa > 1 << 53 {
        return None;
    }
    let size = mantissa as f64 / POWERS[fraction];
    Some((if negative { -size } else { size }, at))
}

#[inline]
fn digit(text: &[u8], at: usize) -> Option<u64> {
    let digit = text.get(at)?.wrapping_sub(b'0');
    (digit < 10).then_some(u64::from(digit))
}

/// A whole token as a number, by the standard library; infinite when it is too large.
pub(super) fn any_decimal(text: &[u8]) -> Option<f64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Whether two texts that parse as finite numbers are the same number, of whatever precision: `1`, `+1.0` and `10e-1` are,
/// `1` and `1.0000000000000001` are not.
pub(crate) fn same_decimal(a: &str, b: &str) -> bool {
    canonical(a) == canonical(b)
}

/// The digits without zeros at their ends, the power of ten of the last of them, and whether there is a minus.
fn canonical(text: &str) -> (bool, String, i64) {
    let negative = text.starts_with('-');
    let text = text.trim_start_matches(['+', '-']);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        // an exponent beyond 64 bits is that of zero, or the number would not be finite
        Some((mantissa, exponent)) => (mantissa, exponent.parse().unwrap_or(0)),
        None => (text, 0i64),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let digits = digits.trim_start_matches('0');
    let kept = digits.trim_end_matches('0');
    if kept.is_empty() {
        return (false, String::new(), 0);
    }
    let dropped = (digits.len() - kept.len()) as i64;
    let power = exponent.saturating_sub(fraction.len() as i64).saturating_add(dropped);
    (negative, kept.to_owned(), power)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn short_decimals_stop_where_the_number_stops() {
        assert_eq!(short_decimal(b"12.5 "), Some((12.5, 4)));
        assert_eq!(short_decimal(b"-.5e3"), Some((-0.5, 3)));
        assert_eq!(short_decimal(b"+7:"), Some((7.0, 2)));
        assert_eq!(short_decimal(b"5."), Some((5.0, 2)));
        for none in [&b""[..], b"-", b".", b"x", b"12345678901234567890", b"9007199254740993"] {
            assert_eq!(short_decimal(none), None, "{}", none.escape_ascii());
        }
    }

    #[test]
    fn numbers_are_the_same_however_they_are_spelled() {
        for same in ["1", "+1", "1.0", "01", "1e0", "10e-1", "0.1E1", "1."] {
            assert!(same_decimal("1", same), "{same}");
        }
        for zero in ["0", "-0", "0.000", "0e99999999999999999999"] {
            assert!(same_decimal("0", zero), "{zero}");
        }
        for other in ["-1", "10", "0.1", "1.0000000000000001", "1e1"] {
            assert!(!same_decimal("1", other), "{other}");
        }
    }

    proptest! {
        #[test]
        fn short_decimals_have_the_bits_of_the_standard_parser(text in "[+-]?[0-9]{0,11}(\\.[0-9]{0,11})?") {
            if let Some((value, length)) = short_decimal(text.as_bytes()) {
                prop_assert_eq!(length, text.len());
                let reference: f64 = text.parse().expect("a number");
                prop_assert_eq!(value.to_bits(), reference.to_bits());
            } else {
                let digits = text.bytes().filter(u8::is_ascii_digit).count();
                prop_assert!(digits == 0 || digits > 15);
            }
        }
    }
}
