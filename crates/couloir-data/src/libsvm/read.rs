//! Reading: pieces in parallel, put together in order.

use super::number::same_decimal;
use super::parse::{Rows, Rules};
use super::source::{Batch, Source, packing};
use crate::dataset::{Csr, Dataset, Label};
use crate::error::{Compression, DataError, LineFault, Result};
use rayon::prelude::*;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// More classes than anyone trains; a mistyped number must not eat the memory.
const MAX_CLASSES: usize = 1 << 24;
/// Bytes that a class takes while a file is read: its label, twice, and its places in tables.
const CLASS_BYTES: u64 = 256;

/// What to expect of a file, and how much of it to bear.
///
/// ```
/// use couloir_data::libsvm::{ReadOptions, read_from};
/// let options = ReadOptions::default().classes(4);
/// let data = read_from(&b"1 1:2\n3 2:1\n"[..], "example", &options)?;
/// assert_eq!(data.classes.len(), 4);
/// assert_eq!(data.labels, [0, 2]);
/// # Ok::<(), couloir_data::DataError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct ReadOptions {
    classes: Option<usize>,
    labels: Option<Vec<Label>>,
    features: Option<usize>,
    max_line: usize,
    max_text: u64,
    max_memory: u64,
}

impl Default for ReadOptions {
    /// Lines up to 64 MiB, text up to 4 GiB if it comes out of a packed file, data up to 4 GiB.
    fn default() -> Self {
        ReadOptions {
            classes: None,
            labels: None,
            features: None,
            max_line: 64 << 20,
            max_text: 4 << 30,
            max_memory: 4 << 30,
        }
    }
}

impl ReadOptions {
    /// The number of classes, when there are some that no row of the file has. With fewer than that in
    /// the file, labels must be whole numbers from 1 to this number, or from 0 to one less.
    pub fn classes(mut self, classes: usize) -> Self {
        self.classes = Some(classes);
        self
    }

    /// The classes, in this order, for example those of a model; a row with another label is an error.
    /// [`classes`](Self::classes) is then not looked at.
    pub fn labels(mut self, labels: Vec<Label>) -> Self {
        self.labels = Some(labels);
        self
    }

    /// The number of features, when it may be more than the largest index; a larger index is an error.
    pub fn features(mut self, features: usize) -> Self {
        self.features = Some(features);
        self
    }

    /// The longest line, in bytes.
    pub fn max_line(mut self, bytes: usize) -> Self {
        self.max_line = bytes;
        self
    }

    /// The most text that may come out of a packed file, in bytes.
    pub fn max_text(mut self, bytes: u64) -> Self {
        self.max_text = bytes;
        self
    }

    /// The most memory that rows and labels may take, in bytes.
    pub fn max_memory(mut self, bytes: u64) -> Self {
        self.max_memory = bytes;
        self
    }
}

/// Reads a file.
///
/// # Errors
/// Whatever is wrong with the file, with its name, the line and what to do: see [`DataError`] and
/// [`LineFault`].
pub fn read(path: &Path, options: &ReadOptions) -> Result<Dataset> {
    let io_error = |error: io::Error| DataError::io(path, &error);
    let mut file = File::open(path).map_err(io_error)?;
    let metadata = file.metadata().map_err(io_error)?;
    if metadata.is_dir() {
        return Err(DataError::Directory { file: path.to_owned() });
    }
    let (start, compression) = sniff(&mut file, path)?;
    let input = Box::new(io::Cursor::new(start).chain(file));
    Collector::new(path, compression, options).run(Source::new(input, compression))
}

/// Reads from anything, for example standard input; `name` is for messages.
///
/// # Errors
/// As [`read`].
pub fn read_from(
    mut input: impl Read + Send + 'static,
    name: &str,
    options: &ReadOptions,
) -> Result<Dataset> {
    let path = Path::new(name);
    let (start, compression) = sniff(&mut input, path)?;
    let input = Box::new(io::Cursor::new(start).chain(input));
    Collector::new(path, compression, options).run(Source::new(input, compression))
}

/// The first bytes and what they tell.
fn sniff(input: &mut impl Read, path: &Path) -> Result<(Vec<u8>, Compression)> {
    let mut start = Vec::new();
    input.take(6).read_to_end(&mut start).map_err(|error| DataError::io(path, &error))?;
    match packing(&start) {
        Ok(compression) => Ok((start, compression)),
        Err(packing) => Err(DataError::UnknownPacking { file: path.to_owned(), packing }),
    }
}

/// A parsed piece: rows of its whole lines, and what it has of the lines that it shares with its
/// neighbours.
struct Parsed {
    text: u64,
    /// Up to and with the first line end, or everything if there is none.
    head: Vec<u8>,
    body: Option<Body>,
}

struct Body {
    rows: std::result::Result<Rows, (u64, LineFault)>,
    lines: u64,
    tail: Vec<u8>,
}

impl Parsed {
    fn new(text: &[u8], rules: &Rules<'_>) -> Self {
        let size = text.len() as u64;
        let (Some(first), Some(last)) = (memchr::memchr(b'\n', text), memchr::memrchr(b'\n', text))
        else {
            return Parsed { text: size, head: text.to_vec(), body: None };
        };
        let inner = &text[first + 1..=last];
        let mut rows = Rows::default();
        let rows = rows.parse(inner, rules).map(|()| rows);
        let lines = memchr::memchr_iter(b'\n', inner).count() as u64;
        let body = Body { rows, lines, tail: text[last + 1..].to_vec() };
        Parsed { text: size, head: text[..=first].to_vec(), body: Some(body) }
    }
}

/// Puts pieces together.
struct Collector<'a> {
    file: &'a Path,
    compression: Compression,
    options: &'a ReadOptions,
    rules: Rules<'a>,
    rows: Csr,
    /// Places in `classes`, in order of appearance until the end.
    labels: Vec<u32>,
    classes: Vec<Label>,
    known: HashMap<u64, u32>,
    features: usize,
    /// The beginning of a line that is not complete.
    carry: Vec<u8>,
    /// Complete lines so far.
    lines: u64,
    text: u64,
}

impl<'a> Collector<'a> {
    fn new(file: &'a Path, compression: Compression, options: &'a ReadOptions) -> Self {
        Collector {
            file,
            compression,
            options,
            rules: Rules {
                max_line: options.max_line,
                features: options.features,
                labels: options.labels.as_deref(),
            },
            rows: Csr::default(),
            labels: Vec::new(),
            classes: Vec::new(),
            known: HashMap::new(),
            features: 0,
            carry: Vec::new(),
            lines: 0,
            text: 0,
        }
    }

    fn run(mut self, mut source: Source) -> Result<Dataset> {
        let threads = rayon::current_num_threads();
        let limit = (4 * threads).clamp(4, 128);
        let (mut batch, mut ahead) = (Batch::default(), Batch::default());
        // a short first batch: until it is there, no one has anything to parse
        batch.fill(&mut source, threads);
        loop {
            let rules = self.rules;
            let parse = || -> Vec<Parsed> {
                let one = |piece: &Vec<u8>| Parsed::new(piece, &rules);
                batch.pieces().par_iter().with_max_len(1).map(one).collect()
            };
            let more = batch.end.is_none();
            let (parsed, ()) = rayon::join(parse, || {
                if more {
                    ahead.fill(&mut source, limit);
                }
            });
            for piece in parsed {
                if let Err(error) = self.add(piece) {
                    let ends = [batch.end.take(), ahead.end.take()];
                    return Err(self.blame(error, ends, &mut source));
                }
            }
            match batch.end.take() {
                None => std::mem::swap(&mut batch, &mut ahead),
                Some(Ok(())) => return self.finish(),
                Some(Err(error)) => return Err(self.source_error(&error)),
            }
        }
    }

    /// Decoders hand out text before they reach its checksum. So when a line of a packed file is bad, the
    /// rest is unpacked too: if the file is damaged, that is the error.
    fn blame(
        &self,
        error: DataError,
        ends: [Option<io::Result<()>>; 2],
        source: &mut Source,
    ) -> DataError {
        let DataError::Line { fault, .. } = &error else { return error };
        let plain = self.compression == Compression::Plain;
        if plain || matches!(fault, LineFault::TooLong { .. }) {
            return error;
        }
        let end = match ends.into_iter().flatten().next() {
            Some(end) => end,
            None => source.drain(self.max_text().saturating_sub(self.text)),
        };
        match end {
            Err(damage) => self.source_error(&damage),
            Ok(()) => error,
        }
    }

    /// The limit is against bombs: what is not packed is as large as it looks.
    fn max_text(&self) -> u64 {
        match self.compression {
            Compression::Plain => u64::MAX,
            _ => self.options.max_text,
        }
    }

    fn add(&mut self, piece: Parsed) -> Result<()> {
        self.text += piece.text;
        if self.text > self.max_text() {
            let limit = self.max_text();
            return Err(DataError::TooMuchText { file: self.file.to_owned(), limit });
        }
        // the line end is not part of the line
        let line_end = usize::from(piece.body.is_some());
        if self.carry.len() + piece.head.len() - line_end > self.rules.max_line {
            return Err(self.fault(0, LineFault::TooLong { limit: self.rules.max_line }));
        }
        self.carry.extend_from_slice(&piece.head);
        let Some(body) = piece.body else {
            return Ok(());
        };
        self.add_carry()?;
        let rows = body.rows.map_err(|(line, fault)| self.fault(line, fault))?;
        self.append(rows, body.lines)?;
        self.carry.extend_from_slice(&body.tail);
        Ok(())
    }

    /// The carried line is complete.
    fn add_carry(&mut self) -> Result<()> {
        let carry = std::mem::take(&mut self.carry);
        let mut rows = Rows::default();
        rows.parse(&carry, &self.rules).map_err(|(line, fault)| self.fault(line, fault))?;
        self.append(rows, 1)?;
        self.carry = carry;
        self.carry.clear();
        Ok(())
    }

    fn append(&mut self, rows: Rows, lines: u64) -> Result<()> {
        let before = self.rows.indices.len();
        let entries = (before + rows.indices.len()) as u64;
        let rows_after = (self.labels.len() + rows.labels.len()) as u64;
        let places: Vec<u32> = (rows.spellings.into_iter())
            .map(|(value, text)| self.class(value, text))
            .collect::<Result<_>>()?;
        let classes = self.classes.len() as u64;
        if entries * 12 + rows_after * 12 + classes * CLASS_BYTES > self.options.max_memory {
            let limit = self.options.max_memory;
            let line = self.lines + 1;
            return Err(DataError::TooMuchMemory { file: self.file.to_owned(), line, limit });
        }
        self.labels.extend(rows.labels.iter().map(|&l| places[l as usize]));
        self.rows.starts.extend(rows.ends.iter().map(|&end| before + end));
        self.rows.indices.extend_from_slice(&rows.indices);
        self.rows.values.extend_from_slice(&rows.values);
        self.features = self.features.max(rows.features);
        self.lines += lines;
        Ok(())
    }

    fn class(&mut self, value: f64, text: String) -> Result<u32> {
        if let Some(&place) = self.known.get(&value.to_bits()) {
            let first = self.classes[place as usize].text();
            if !same_decimal(first, &text) {
                let (file, first) = (self.file.to_owned(), first.to_owned());
                return Err(DataError::LabelsMeet { file, first, second: text });
            }
            return Ok(place);
        }
        let place = self.classes.len() as u32;
        self.known.insert(value.to_bits(), place);
        self.classes.push(Label::spelled(value, text));
        Ok(place)
    }

    fn finish(mut self) -> Result<Dataset> {
        if !self.carry.is_empty() {
            self.carry.push(b'\n');
            self.add_carry()?;
        }
        if self.labels.is_empty() {
            return Err(DataError::Empty { file: self.file.to_owned() });
        }
        let classes = self.final_classes()?;
        // -0 is 0
        let place: HashMap<u64, u32> = classes
            .iter()
            .zip(0..)
            .map(|(class, place)| ((class.value() + 0.0).to_bits(), place))
            .collect();
        let places: Vec<u32> = self.classes.iter().map(|c| place[&c.value().to_bits()]).collect();
        for label in &mut self.labels {
            *label = places[*label as usize];
        }
        self.rows.starts.shrink_to_fit();
        self.rows.indices.shrink_to_fit();
        self.rows.values.shrink_to_fit();
        self.labels.shrink_to_fit();
        let features = self.options.features.unwrap_or(self.features);
        Ok(Dataset { rows: self.rows, labels: self.labels, classes, features })
    }

    /// The classes seen, in order, with those declared but not seen.
    fn final_classes(&self) -> Result<Vec<Label>> {
        if let Some(labels) = &self.options.labels {
            return Ok(labels.clone());
        }
        let mut classes = self.classes.clone();
        classes.sort_by(|a, b| a.value().total_cmp(&b.value()));
        let seen = classes.len();
        let Some(declared) = self.options.classes else {
            return Ok(classes);
        };
        let file = || self.file.to_owned();
        if declared < seen {
            return Err(DataError::TooFewClasses { file: file(), declared, seen });
        }
        if declared == seen {
            return Ok(classes);
        }
        if declared > MAX_CLASSES {
            let why = format!("{declared} is more than {MAX_CLASSES}");
            return Err(DataError::Setting { name: "classes", why });
        }
        let first = if classes[0].value() == 0.0 { 0.0 } else { 1.0 };
        let last = first + declared as f64 - 1.0;
        let stranger = classes
            .iter()
            .find(|c| c.value().fract() != 0.0 || !(first..=last).contains(&c.value()));
        if let Some(stranger) = stranger {
            let label = stranger.to_string();
            return Err(DataError::UnnamedClasses { file: file(), declared, seen, label });
        }
        let mut seen = classes.into_iter().peekable();
        Ok((0..declared)
            .map(|i| {
                let value = first + i as f64;
                seen.next_if(|c| c.value() == value).unwrap_or_else(|| Label::new(value))
            })
            .collect())
    }

    /// A fault so many lines after the complete ones.
    fn fault(&self, line: u64, fault: LineFault) -> DataError {
        DataError::Line { file: self.file.to_owned(), line: self.lines + line + 1, fault }
    }

    fn source_error(&self, error: &io::Error) -> DataError {
        let (file, compression, line) = (self.file.to_owned(), self.compression, self.lines + 1);
        match (self.compression, error.kind()) {
            (Compression::Plain, _) => DataError::io(self.file, error),
            (_, io::ErrorKind::UnexpectedEof) => DataError::Truncated { file, compression, line },
            // decoders report damage as one of these; other kinds come from the file system
            (_, io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData) => {
                DataError::Corrupt { file, compression, line, why: error.to_string() }
            }
            _ => DataError::io(self.file, error),
        }
    }
}
