//! Lines of LIBSVM text, parsed from bytes by hand.

use super::number::{any_decimal, same_decimal, short_decimal};
use crate::dataset::Label;
use crate::error::LineFault;
use std::collections::HashMap;

/// Numbers have no reason to be longer, and every class keeps its label.
const MAX_LABEL: usize = 64;

/// What a line must keep to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules<'a> {
    pub max_line: usize,
    pub features: Option<usize>,
    /// The labels that rows may have.
    pub labels: Option<&'a [Label]>,
}

/// The rows of a piece of text.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// For every row the number of entries of the piece up to its end.
    pub ends: Vec<usize>,
    pub indices: Vec<u32>,
    pub values: Vec<f64>,
    /// For every row the place of its label in `spellings`.
    pub labels: Vec<u32>,
    /// Every spelling of a label in this piece, and its number.
    pub spellings: Vec<(f64, String)>,
    /// One more than the largest index (counted from 0).
    pub features: usize,
    known: HashMap<Vec<u8>, u32>,
}

/// A fault and the number of line ends before it.
pub(super) type Fault = (u64, LineFault);

impl Rows {
    /// Parses lines. The text must end with a line end.
    pub fn parse(&mut self, text: &[u8], rules: &Rules<'_>) -> Result<(), Fault> {
        debug_assert!(text.is_empty() || text.ends_with(b"\n"));
        // a feature takes eight bytes or more in most files, and what is too much is only address space
        self.indices.reserve(text.len() / 8);
        self.values.reserve(text.len() / 8);
        let (mut at, mut line) = (0, 0);
        while at < text.len() {
            at = self.parse_line(text, at, rules).map_err(|fault| (line, fault))?;
            line += 1;
        }
        Ok(())
    }

    /// Parses the line that starts at `start` and gives the start of the next.
    fn parse_line(
        &mut self,
        text: &[u8],
        start: usize,
        rules: &Rules<'_>,
    ) -> Result<usize, LineFault> {
        let rest_of = |from: usize| {
            memchr::memchr(b'\n', &text[from..]).map_or(text.len(), |length| from + length + 1)
        };
        let fits = |next: usize| {
            if next - 1 - start > rules.max_line {
                return Err(LineFault::TooLong { limit: rules.max_line });
            }
            Ok(next)
        };
        let mut at = skip_blanks(text, start);
        match text[at] {
            b'\n' => return fits(at + 1),
            b'#' => return fits(rest_of(at)),
            _ => {}
        }
        let label_end = token_end(text, at);
        let label = self.label(&text[at..label_end], at - start, rules)?;
        at = label_end;

        let mut previous = 0u32;
        let next = loop {
            at = skip_blanks(text, at);
            match text[at] {
                b'\n' => break at + 1,
                b'#' => break rest_of(at),
                _ => {}
            }
            let (index, value, end) = match quick_feature(text, at) {
                Some(feature) => feature,
                None => {
                    let end = token_end(text, at);
                    let (index, value) = slow_feature(&text[at..end], at - start)?;
                    (index, value, end)
                }
            };
            if index <= previous {
                return Err(match index {
                    0 => LineFault::IndexZero { text: quote(&text[at..end]) },
                    _ if index == previous => LineFault::IndexDuplicate { index },
                    _ => LineFault::IndexNotIncreasing { index, previous },
                });
            }
            previous = index;
            self.indices.push(index - 1);
            self.values.push(value);
            at = end;
        };
        fits(next)?;
        if let Some(features) = rules.features.filter(|&f| previous as usize > f) {
            return Err(LineFault::BeyondFeatures { index: previous, features });
        }
        self.features = self.features.max(previous as usize);
        self.labels.push(label);
        self.ends.push(self.indices.len());
        Ok(next)
    }

    fn label(&mut self, text: &[u8], column: usize, rules: &Rules<'_>) -> Result<u32, LineFault> {
        if let Some(&known) = self.known.get(text) {
            return Ok(known);
        }
        let value = label_value(text, column)?;
        // a label that parsed is ASCII
        let spelling = String::from_utf8_lossy(text);
        let is = |label: &Label| label.value() == value && same_decimal(label.text(), &spelling);
        if rules.labels.is_some_and(|labels| !labels.iter().any(is)) {
            return Err(LineFault::LabelUnknown { text: quote(text) });
        }
        let place = self.spellings.len() as u32;
        self.spellings.push((value, spelling.into_owned()));
        self.known.insert(text.to_vec(), place);
        Ok(place)
    }
}

#[inline]
fn skip_blanks(text: &[u8], mut at: usize) -> usize {
    // the line end at the end of the text stops every loop
    while matches!(text[at], b' ' | b'\t' | b'\r') {
        at += 1;
    }
    at
}

#[inline]
fn ends_token(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\t' | b'\r' | b'#')
}

fn token_end(text: &[u8], mut at: usize) -> usize {
    while !ends_token(text[at]) {
        at += 1;
    }
    at
}

/// `index:value` with a short decimal; everything else is left to the slow way.
#[inline]
fn quick_feature(text: &[u8], start: usize) -> Option<(u32, f64, usize)> {
    let mut at = start;
    let mut index = 0u64;
    loop {
        let digit = text[at].wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        index = index.wrapping_mul(10).wrapping_add(u64::from(digit));
        at += 1;
    }
    if text[at] != b':' || at == start || at - start > 10 {
        return None;
    }
    let (value, length) = short_decimal(&text[at + 1..])?;
    let end = at + 1 + length;
    if !ends_token(text[end]) {
        return None;
    }
    Some((u32::try_from(index).ok()?, value, end))
}

/// `index:value` of any kind, or what is wrong with it.
#[cold]
fn slow_feature(token: &[u8], column: usize) -> Result<(u32, f64), LineFault> {
    binary(token, column)?;
    let text = || quote(token);
    let Some(colon) = memchr::memchr(b':', token) else {
        return Err(LineFault::MissingValue { text: text() });
    };
    let (index, value) = (&token[..colon], &token[colon + 1..]);
    if index.eq_ignore_ascii_case(b"qid") {
        return Err(LineFault::QueryId { text: text() });
    }
    if memchr::memchr(b':', value).is_some() {
        return Err(LineFault::ExtraColon { text: text() });
    }
    let digits = index.strip_prefix(b"+").unwrap_or(index);
    if index.is_empty() {
        return Err(LineFault::MissingIndex { text: text() });
    }
    if index.len() > 1 && index[0] == b'-' && index[1..].iter().all(u8::is_ascii_digit) {
        return Err(LineFault::IndexNegative { text: text() });
    }
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(LineFault::Index { text: text() });
    }
    let too_large = || LineFault::IndexTooLarge { text: text() };
    let index = digits.iter().try_fold(0u32, |index, digit| {
        index.checked_mul(10).and_then(|i| i.checked_add(u32::from(digit - b'0')))
    });
    let index = index.ok_or_else(too_large)?;
    if value.is_empty() {
        return Err(LineFault::MissingValue { text: text() });
    }
    let value = any_decimal(value).ok_or_else(|| LineFault::Value { text: text() })?;
    if !value.is_finite() {
        return Err(LineFault::ValueNotFinite { text: text() });
    }
    Ok((index, value))
}

fn label_value(token: &[u8], column: usize) -> Result<f64, LineFault> {
    let text = || quote(token);
    if [&b"\xef\xbb\xbf"[..], b"\xff\xfe", b"\xfe\xff"].iter().any(|mark| token.starts_with(mark)) {
        return Err(LineFault::ByteOrderMark);
    }
    binary(token, column)?;
    let Some(value) = any_decimal(token) else {
        return Err(if token.contains(&b',') {
            LineFault::ManyLabels { text: text() }
        } else if token.contains(&b':') {
            LineFault::MissingLabel { text: text() }
        } else {
            LineFault::Label { text: text() }
        });
    };
    if !value.is_finite() {
        return Err(LineFault::LabelNotFinite { text: text() });
    }
    if value.abs() >= (1u64 << 53) as f64 {
        return Err(LineFault::LabelTooLarge { text: text() });
    }
    if token.len() > MAX_LABEL {
        return Err(LineFault::LabelTooLong { text: text(), limit: MAX_LABEL });
    }
    // -0 is 0
    Ok(value + 0.0)
}

/// Fails at the first byte that no text has.
fn binary(token: &[u8], column: usize) -> Result<(), LineFault> {
    let valid = match std::str::from_utf8(token) {
        Ok(_) => token.len(),
        Err(error) => error.valid_up_to(),
    };
    let control = token.iter().position(u8::is_ascii_control).unwrap_or(token.len());
    match token.get(valid.min(control)) {
        Some(&byte) => {
            let column = (column + valid.min(control) + 1) as u64;
            Err(LineFault::Binary { byte, column })
        }
        None => Ok(()),
    }
}

/// The token as a message can show it: on one line, and short.
fn quote(token: &[u8]) -> String {
    const SHOWN: usize = 40;
    let text = String::from_utf8_lossy(token);
    let mut shown: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push_str("...");
    }
    shown
}
