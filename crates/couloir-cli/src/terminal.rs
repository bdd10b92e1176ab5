//! Foreign text where people read it: names of files and labels can hold characters that move the cursor, forge a line or turn
//! text around, and none of those reaches a terminal as it is.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

/// Bytes to collect at most before they are written.
const ROOM: usize = 64 << 10;

/// Whether a character acts on a terminal instead of showing there: controls, and what changes the direction of the text
/// after it.
fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text with characters that act on a terminal spelled `\uXXXX`, as JSON does, which means the same there; `stays` are
/// left as they are.
fn spelled(text: &str, stays: &[char]) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if acts(c) && !stays.contains(&c) {
            // writing to a string does not fail
            let _ = write!(shown, "\\u{:04x}", u32::from(c));
        } else {
            shown.push(c);
        }
    }
    shown
}

/// A name from elsewhere on one line.
pub fn shown(text: &str) -> String {
    spelled(text, &[])
}

/// A path on one line.
pub fn shown_path(path: &Path) -> String {
    shown(&path.to_string_lossy())
}

/// Standard output: files and pipes get what is written to it, terminals only text and line ends.
pub enum Output {
    Plain(io::Stdout),
    Terminal(Spelled<io::Stdout>),
}

impl Output {
    pub fn standard() -> Self {
        let out = io::stdout();
        if out.is_terminal() { Output::Terminal(Spelled::new(out)) } else { Output::Plain(out) }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Output::Plain(out) => out.write(bytes),
            Output::Terminal(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Output::Plain(out) => out.flush(),
            Output::Terminal(out) => out.flush(),
        }
    }
}

/// Spells what acts on a terminal, line by line.
pub struct Spelled<W> {
    out: W,
    line: Vec<u8>,
}

impl<W: Write> Spelled<W> {
    fn new(out: W) -> Self {
        Spelled { out, line: Vec::new() }
    }

    /// Writes what is collected, but for the first bytes of a character that is not complete.
    fn release(&mut self) -> io::Result<()> {
        let whole = match std::str::from_utf8(&self.line) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.line.len(),
        };
        let text = String::from_utf8_lossy(&self.line[..whole]).into_owned();
        self.line.drain(..whole);
        self.out.write_all(spelled(&text, &['\n', '\t']).as_bytes())
    }
}

impl<W: Write> Write for Spelled<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.line.extend_from_slice(bytes);
        if bytes.contains(&b'\n') || self.line.len() > ROOM {
            self.release()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.release()?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_on_a_terminal_is_spelled_and_means_the_same_in_json() {
        assert_eq!(shown("a\u{1b}[2J\nb\u{202e}c\u{9b}é"), "a\\u001b[2J\\u000ab\\u202ec\\u009bé");
        let name = "\u{202e}x\u{200f}".to_owned();
        let mut out = Spelled::new(Vec::new());
        writeln!(out, "{}", serde_json::to_string(&name).expect("JSON")).expect("writing");
        let text = String::from_utf8(out.out).expect("UTF-8");
        assert!(text.is_ascii(), "{text}");
        assert_eq!(serde_json::from_str::<String>(&text).expect("JSON"), name);
    }

    #[test]
    fn characters_that_come_in_pieces_stay_whole() {
        let text = "é\u{202e}ü\tz\nlast \u{2066}";
        for size in 1..8 {
            let mut out = Spelled::new(Vec::new());
            text.as_bytes().chunks(size).for_each(|piece| out.write_all(piece).expect("writing"));
            out.flush().expect("writing");
            let written = String::from_utf8(out.out).expect("UTF-8");
            assert_eq!(written, "é\\u202eü\tz\nlast \\u2066", "{size}");
        }
    }
}
