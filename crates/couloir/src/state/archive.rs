//! The state of a run, entry by entry, on its way into a file or out of one.

#[cfg(test)]
use super::rehearsal;
use crate::error::{CheckpointError, Error, Result};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Numbers that are converted at a time.
const BUFFER: usize = 8192;
/// No run counts further; sums and small multiples of counts do not overflow.
const LARGEST_COUNT: u64 = 1 << 48;
/// The longest text, in bytes.
const LONGEST_TEXT: u64 = 1 << 16;

/// What an entry holds; its first byte in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Kind {
    Number = b'n',
    Count = b'c',
    Flag = b'f',
    Text = b't',
    Numbers = b'N',
    List = b'L',
    Nested = b'{',
}

/// Saves the state of something, or loads it: the same calls do both, so that what is saved and what is loaded
/// cannot drift apart. A type with a state has one function that names each of its fields:
///
/// ```
/// use couloir::Result;
/// use couloir::state::Archive;
///
/// struct Walk {
///     at: Vec<f64>,
///     steps: u64,
/// }
///
/// impl Walk {
///     fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
///         archive.numbers("at", &mut self.at)?;
///         archive.count("steps", &mut self.steps)
///     }
/// }
/// ```
///
/// While loading, every entry must have the name, the kind and the length that is asked for.
pub struct Archive<'a> {
    way: Way<'a>,
    file: PathBuf,
    /// Where the present entry is, for messages.
    within: Vec<&'static str>,
    /// In a list entries go without their names.
    bare: bool,
}

enum Way<'a> {
    Save(&'a mut dyn Write),
    Load { from: &'a mut dyn Read, left: u64 },
}

impl<'a> Archive<'a> {
    /// An archive that saves; `file` is for messages.
    pub(crate) fn save(file: &Path, to: &'a mut dyn Write) -> Self {
        Archive::new(file, Way::Save(to))
    }

    /// An archive that loads from at most `left` bytes.
    pub(crate) fn load(file: &Path, from: &'a mut dyn Read, left: u64) -> Self {
        Archive::new(file, Way::Load { from, left })
    }

    fn new(file: &Path, way: Way<'a>) -> Self {
        Archive { way, file: file.to_owned(), within: Vec::new(), bare: false }
    }

    /// Whether it loads.
    #[must_use]
    pub fn is_loading(&self) -> bool {
        matches!(self.way, Way::Load { .. })
    }

    /// A number.
    ///
    /// # Errors
    /// What the file system reports; an entry that does not fit.
    pub fn number(&mut self, name: &'static str, value: &mut f64) -> Result<()> {
        self.entry(Kind::Number, name)?;
        let word = self.word(value.to_bits())?;
        if self.keeps(name) {
            *value = f64::from_bits(word);
        }
        Ok(())
    }

    /// A number that is finite and not below zero.
    ///
    /// # Errors
    /// As [`number`](Archive::number).
    pub fn magnitude(&mut self, name: &'static str, value: &mut f64) -> Result<()> {
        self.number(name, value)?;
        if !(*value >= 0.0 && value.is_finite()) {
            return Err(self.misfit(name, &format!("is {value}, which is no magnitude")));
        }
        Ok(())
    }

    /// A count, at most `2^48`.
    ///
    /// # Errors
    /// As [`number`](Archive::number).
    pub fn count(&mut self, name: &'static str, value: &mut u64) -> Result<()> {
        self.entry(Kind::Count, name)?;
        let word = self.word(*value)?;
        if word > LARGEST_COUNT {
            return Err(self.misfit(name, &format!("is {word}, more than can have been counted")));
        }
        if self.keeps(name) {
            *value = word;
        }
        Ok(())
    }

    /// A yes or no.
    ///
    /// # Errors
    /// As [`number`](Archive::number).
    pub fn flag(&mut self, name: &'static str, value: &mut bool) -> Result<()> {
        self.entry(Kind::Flag, name)?;
        let word = self.word(u64::from(*value))?;
        if word > 1 {
            return Err(self.misfit(name, &format!("is {word}, neither yes nor no")));
        }
        if self.keeps(name) {
            *value = word == 1;
        }
        Ok(())
    }

    /// A number that may not be there.
    ///
    /// # Errors
    /// As [`number`](Archive::number).
    pub fn maybe(&mut self, name: &'static str, value: &mut Option<f64>) -> Result<()> {
        self.nested(name, |archive| {
            let (mut is_there, mut number) = (value.is_some(), value.unwrap_or_default());
            archive.flag("is_there", &mut is_there)?;
            archive.number("value", &mut number)?;
            *value = is_there.then_some(number);
            Ok(())
        })
    }

    /// A short text.
    ///
    /// # Errors
    /// As [`number`](Archive::number).
    pub fn text(&mut self, name: &'static str, value: &mut String) -> Result<()> {
        self.entry(Kind::Text, name)?;
        let length = self.word(value.len() as u64)?;
        if length > LONGEST_TEXT {
            return Err(self.misfit(name, &format!("is a text of {length} bytes")));
        }
        if !self.is_loading() {
            return self.write(value.as_bytes());
        }
        let mut bytes = vec![0; length as usize];
        self.read(&mut bytes)?;
        match String::from_utf8(bytes) {
            Ok(text) => *value = text,
            Err(_) => return Err(self.misfit(name, "is no text")),
        }
        Ok(())
    }

    /// As many numbers as there is room for.
    ///
    /// # Errors
    /// As [`number`](Archive::number).
    pub fn numbers(&mut self, name: &'static str, values: &mut [f64]) -> Result<()> {
        self.entry(Kind::Numbers, name)?;
        let length = self.word(values.len() as u64)?;
        if length != values.len() as u64 {
            let why = format!("has {length} numbers, expected {}", values.len());
            return Err(self.misfit(name, &why));
        }
        let keep = !self.is_loading() || self.keeps(name);
        let mut bytes = vec![0; 8 * BUFFER.min(values.len())];
        for values in values.chunks_mut(BUFFER) {
            let bytes = &mut bytes[..8 * values.len()];
            let (words, _) = bytes.as_chunks_mut::<8>();
            if !matches!(self.way, Way::Load { .. }) {
                for (word, value) in words.iter_mut().zip(&*values) {
                    *word = value.to_le_bytes();
                }
                self.write(bytes)?;
                continue;
            }
            self.read(bytes)?;
            if keep {
                let (words, _) = bytes.as_chunks::<8>();
                for (value, word) in values.iter_mut().zip(words) {
                    *value = f64::from_le_bytes(*word);
                }
            }
        }
        Ok(())
    }

    /// A list of things that have a state; `new` makes one to load into.
    ///
    /// # Errors
    /// As [`number`](Archive::number).
    pub fn list<T>(
        &mut self,
        name: &'static str,
        items: &mut Vec<T>,
        new: impl Fn() -> T,
        mut state: impl FnMut(&mut Self, &mut T) -> Result<()>,
    ) -> Result<()> {
        self.entry(Kind::List, name)?;
        let count = self.word(items.len() as u64)?;
        if let Way::Load { left, .. } = self.way
            && count > left / 8
        {
            return Err(self.misfit(name, &format!("is a list of {count}, longer than the file")));
        }
        let keep = self.keeps(name);
        self.within.push(name);
        let bare = std::mem::replace(&mut self.bare, true);
        let mut work = || -> Result<()> {
            if !self.is_loading() {
                return items.iter_mut().try_for_each(|item| state(self, item));
            }
            let mut loaded = Vec::new();
            for _ in 0..count {
                let mut item = new();
                state(self, &mut item)?;
                loaded.push(item);
            }
            if keep {
                *items = loaded;
            }
            Ok(())
        };
        let done = work();
        self.bare = bare;
        self.within.pop();
        done
    }

    /// Something that has a state of its own.
    ///
    /// # Errors
    /// As [`number`](Archive::number).
    pub fn nested(
        &mut self,
        name: &'static str,
        state: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        self.entry(Kind::Nested, name)?;
        self.within.push(name);
        let done = state(self);
        self.within.pop();
        done
    }

    /// An error about this file.
    pub(crate) fn error(&self, error: CheckpointError) -> Error {
        Error::Checkpoint { file: self.file.clone(), error }
    }

    /// Fails unless all has been read.
    pub(crate) fn finish(self) -> Result<()> {
        match self.way {
            Way::Load { left, .. } if left > 0 => {
                let why = format!("{left} bytes are left over");
                Err(self.error(CheckpointError::Damaged { why }))
            }
            _ => Ok(()),
        }
    }

    /// An error about an entry that was loaded and cannot be.
    #[must_use]
    pub fn misfit(&self, name: &str, why: &str) -> Error {
        let why = format!("its entry {} {why}", self.path(name));
        self.error(CheckpointError::Damaged { why })
    }

    /// The beginning of an entry.
    fn entry(&mut self, kind: Kind, name: &'static str) -> Result<()> {
        #[cfg(test)]
        if kind != Kind::Nested && kind != Kind::Text {
            rehearsal::see(&self.path(name));
        }
        if self.bare {
            return Ok(());
        }
        if !self.is_loading() {
            self.write(&[kind as u8, name.len() as u8])?;
            return self.write(name.as_bytes());
        }
        let mut start = [0; 2];
        self.read(&mut start)?;
        let mut there = [0; u8::MAX as usize];
        let there = &mut there[..usize::from(start[1])];
        self.read(there)?;
        if start[0] == kind as u8 && there == name.as_bytes() {
            return Ok(());
        }
        let there = String::from_utf8_lossy(there).escape_debug().to_string();
        Err(self.misfit(name, &format!("is not there, `{there}` is")))
    }

    /// Writes a word, or reads the one that was written.
    fn word(&mut self, word: u64) -> Result<u64> {
        if !self.is_loading() {
            self.write(&word.to_le_bytes())?;
            return Ok(word);
        }
        let mut bytes = [0; 8];
        self.read(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        match &mut self.way {
            Way::Save(to) => to.write_all(bytes).map_err(|e| io_error(&self.file, &e)),
            Way::Load { .. } => Ok(()),
        }
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<()> {
        let Way::Load { from, left } = &mut self.way else { return Ok(()) };
        let Some(then) = left.checked_sub(bytes.len() as u64) else {
            let why = "it ends in the middle of an entry".to_owned();
            return Err(self.error(CheckpointError::Damaged { why }));
        };
        *left = then;
        from.read_exact(bytes).map_err(|e| io_error(&self.file, &e))
    }

    /// Whether what was read is to be kept: always, but for a test.
    fn keeps(&self, name: &str) -> bool {
        #[cfg(test)]
        if rehearsal::forgets(&self.path(name)) {
            return false;
        }
        let _ = name;
        true
    }

    fn path(&self, name: &str) -> String {
        self.within.iter().copied().chain([name]).collect::<Vec<_>>().join(".")
    }
}

/// What the system reports about a file.
pub(crate) fn io_error(file: &Path, error: &io::Error) -> Error {
    let error = match error.kind() {
        io::ErrorKind::NotFound => CheckpointError::Missing,
        io::ErrorKind::IsADirectory => CheckpointError::NotAFile { what: "a directory" },
        kind => CheckpointError::Io { kind, why: error.to_string() },
    };
    Error::Checkpoint { file: file.to_owned(), error }
}
