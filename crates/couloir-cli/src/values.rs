//! Values of options: parsed, checked, and printed for people.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use comfy_table::{CellAlignment, Table, presets};
use couloir::model::loss::{LOSSES, LossChoice};
use couloir::model::uncertainty::{UNCERTAINTY_SETS, UncertaintyChoice};
use couloir::model::{Ball, ScaleRule};
use couloir::solver::Need;
use couloir::{Inner, Method};
pub use couloir_report::numbers::{show, show_bytes};

/// A table for people, with numbers in these columns.
pub fn table<const N: usize>(header: [&str; N], numbers: std::ops::Range<usize>) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN).set_header(header);
    for column in table.column_iter_mut().take(numbers.end).skip(numbers.start) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// A method by its name, with all methods and what they are in the help.
pub fn method() -> impl TypedValueParser<Value = Method> {
    method_among(|_| true)
}

/// A method that can solve a robust problem, which is not bilinear, on the nuclear-norm ball, which is no polytope.
pub fn method_for_balls() -> impl TypedValueParser<Value = Method> {
    method_among(|method| !method.needs(Need::Polytopes) && !method.needs(Need::Bilinear))
}

fn method_among(which: fn(&Method) -> bool) -> impl TypedValueParser<Value = Method> {
    let about = Method::all().filter(which).map(|method| method.about());
    let choices = about.map(|about| PossibleValue::new(about.name).help(about.summary));
    PossibleValuesParser::new(choices).try_map(|name| name.parse::<Method>())
}

/// A way to solve inner problems.
pub fn inner() -> impl TypedValueParser<Value = Inner> {
    let choices = Inner::ALL.map(|inner| PossibleValue::new(inner.name()).help(inner.summary()));
    PossibleValuesParser::new(choices).try_map(|name| name.parse::<Inner>())
}

/// An uncertainty set by its name, with all of them and what their levels are in the help.
pub fn uncertainty() -> impl TypedValueParser<Value = UncertaintyChoice> {
    let about = |set: &UncertaintyChoice| {
        let level = set.level();
        match set.name() {
            "none" => "No adversary: the plain model".to_owned(),
            _ => format!("level {}: {}", level.default, level.means),
        }
    };
    let choices =
        UNCERTAINTY_SETS.iter().map(|set| PossibleValue::new(set.name()).help(about(set)));
    PossibleValuesParser::new(choices).try_map(|name| name.parse::<UncertaintyChoice>())
}

/// A radius: a number, or a multiple of the one that is chosen from the data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Radius {
    Given(f64),
    Auto(f64),
}

/// A radius: `100`, `auto`, or a multiple of it like `0.5auto`.
pub fn radius(text: &str) -> Result<Radius, String> {
    match text.strip_suffix("auto") {
        None if text.parse::<f64>().is_ok() => positive(text).map(Radius::Given),
        None => {
            Err("it must be a number above zero, auto, or a multiple of it like 0.5auto".to_owned())
        }
        Some("") => Ok(Radius::Auto(1.0)),
        Some(factor) => positive(factor).map(Radius::Auto),
    }
}

/// A loss by its name.
pub fn loss() -> impl TypedValueParser<Value = LossChoice> {
    PossibleValuesParser::new(LOSSES.iter().map(|loss| loss.name()))
        .try_map(|name| name.parse::<LossChoice>())
}

/// A ball by its norm, with what each is for in the help.
pub fn ball() -> impl TypedValueParser<Value = Ball> {
    let choices = Ball::ALL.map(|ball| PossibleValue::new(ball.name()).help(ball.summary()));
    PossibleValuesParser::new(choices).try_map(|name| name.parse::<Ball>())
}

/// A rule for the scaling of columns.
pub fn scale_rule() -> impl TypedValueParser<Value = ScaleRule> {
    PossibleValuesParser::new(["auto", "on", "off"]).try_map(|name| name.parse::<ScaleRule>())
}

/// A finite number.
pub fn number(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err("it must be a finite number".to_owned()),
    }
}

/// Weights of classes: `none`, `balanced`, or a weight for some of them, as in `3=2.5,7=0.5`.
#[derive(Clone, Debug, PartialEq)]
pub enum ClassWeights {
    None,
    Balanced,
    Given(Vec<(String, f64)>),
}

/// Weights of classes.
pub fn class_weights(text: &str) -> Result<ClassWeights, String> {
    match text {
        "none" => return Ok(ClassWeights::None),
        "balanced" => return Ok(ClassWeights::Balanced),
        _ => {}
    }
    let mut given: Vec<(String, f64)> = Vec::new();
    for part in text.split(',') {
        let Some((class, weight)) = part.split_once('=') else {
            return Err("it must be none, balanced, or a list like 3=2.5,7=0.5".to_owned());
        };
        let weight = weight.parse::<f64>().ok().filter(|w| w.is_finite() && *w >= 0.0);
        let weight = weight.ok_or_else(|| {
            format!("the weight of class {class} must be a finite number of zero or more")
        })?;
        if given.iter().any(|(other, _)| other == class) {
            return Err(format!("class {class} has two weights"));
        }
        given.push((class.to_owned(), weight));
    }
    Ok(ClassWeights::Given(given))
}

/// A positive finite number.
pub fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value > 0.0 => Ok(value),
        Ok(_) => Err("it must be a finite number above zero".to_owned()),
        Err(_) => Err("it must be a number above zero".to_owned()),
    }
}

/// A whole number above zero.
pub fn count(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(count) if count > 0 => Ok(count),
        _ => Err("it must be a whole number above zero".to_owned()),
    }
}

/// A number of threads.
pub fn threads(text: &str) -> Result<usize, String> {
    const MOST: usize = 4096;
    match text.parse() {
        Ok(count @ 1..=MOST) => Ok(count),
        _ => Err(format!("it must be a whole number from 1 to {MOST}")),
    }
}

/// A number of bytes: `800000`, `500M`, `1.5GiB`.
pub fn bytes(text: &str) -> Result<u64, String> {
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = (text[..split].trim(), text[split..].to_ascii_uppercase());
    let unit = unit.trim_end_matches('B').trim_end_matches('I');
    let power = ["", "K", "M", "G", "T"].iter().position(|u| *u == unit);
    match (number.parse::<f64>(), power) {
        (Ok(value), Some(power)) if value > 0.0 && value.is_finite() => {
            Ok((value * 1024f64.powi(power as i32)) as u64)
        }
        _ => Err("it must be a size like 800000, 500M or 1.5G".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_in_powers_of_1024() {
        for (text, size) in [
            ("800000", 800_000),
            ("500M", 500 << 20),
            ("1.5G", 3 << 29),
            ("2 gib", 2 << 30),
            ("7B", 7),
        ] {
            assert_eq!(bytes(text), Ok(size), "{text}");
        }
        for text in ["", "G", "-1G", "0", "1X", "nan", "1.2.3M", "inf"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn radii_are_numbers_or_multiples_of_auto() {
        assert_eq!(radius("12.5"), Ok(Radius::Given(12.5)));
        assert_eq!(radius("auto"), Ok(Radius::Auto(1.0)));
        assert_eq!(radius("0.5auto"), Ok(Radius::Auto(0.5)));
        for text in ["", "0", "-1auto", "0auto", "autos", "xauto"] {
            assert!(radius(text).is_err(), "{text}");
        }
    }

    #[test]
    fn only_positive_finite_numbers_and_possible_threads_pass() {
        assert_eq!(positive("1e-3"), Ok(1e-3));
        for text in ["0", "-1", "NaN", "inf", "1e999", "x", ""] {
            assert!(positive(text).is_err(), "{text}");
        }
        assert_eq!(threads("2"), Ok(2));
        assert!(threads("0").is_err() && threads("5000").is_err() && threads("-1").is_err());
    }
}
