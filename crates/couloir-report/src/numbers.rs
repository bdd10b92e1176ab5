//! Numbers for people.

/// Units of bytes, each 1024 of the one before.
const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];

/// Bytes: three digits that matter.
#[must_use]
pub fn show_bytes(bytes: u64) -> String {
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1000.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let digits = if unit == 0 || value >= 100.0 { 0 } else { 1 };
    format!("{value:.digits$} {}", UNITS[unit])
}

/// A number: four digits that matter.
#[must_use]
pub fn show(value: f64) -> String {
    show_digits(value, 4)
}

/// A number: so many digits that matter, and a power of ten where it is far from 1.
#[must_use]
pub fn show_digits(value: f64, digits: i32) -> String {
    let plain = 10f64.powi(1 - digits)..10f64.powi(digits + 1);
    if value == 0.0 {
        "0".to_owned()
    } else if plain.contains(&value.abs()) {
        let places = (digits - 1 - value.abs().log10().floor() as i32).max(0);
        format!("{value:.*}", places as usize)
    } else {
        format!("{value:.*e}", (digits - 1) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_shown_in_powers_of_1024() {
        assert_eq!(show_bytes(800), "800 B");
        assert_eq!(show_bytes(3 << 29), "1.5 GiB");
        assert_eq!(show_bytes(300 << 20), "300 MiB");
    }

    #[test]
    fn numbers_are_shown_with_four_digits() {
        assert_eq!(
            [0.0, 0.012345, 1.0, 564.5321, 1e-7, 12345678.0].map(show),
            ["0", "0.01235", "1.000", "564.5", "1.000e-7", "1.235e7"]
        );
    }
}
