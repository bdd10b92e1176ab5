//! A classifier as a safetensors file.
//!
//! Tensors: `weights`, `h x d` of 64-bit floats, and where there is a bias `bias`, `h` of them. Metadata: `format`, `version`,
//! `labels` (a JSON list of strings, one per class) and the entries of [`Classifier::info`].
//!
//! Both ways go through a small buffer, so that nothing beside the weights themselves is ever held; the same
//! classifier always gives the same bytes.

use super::Classifier;
use crate::error::Error;
use crate::io::write_atomically;
use safetensors::tensor::{Dtype, Metadata, TensorInfo};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// What the metadata calls the format, and its version.
const FORMAT: &str = "couloir classifier";
const VERSION: &str = "1";
/// Numbers that are converted at a time.
const BUFFER: usize = 8192;
/// Characters of a foreign text that a message quotes.
const QUOTED: usize = 160;

/// How much of a model file to bear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelLimits {
    /// The largest file, in bytes.
    pub bytes: u64,
    /// The largest header, in bytes: parsing it takes up to some tens of times as much memory for a moment. Labels
    /// and `info` live there.
    pub header: u64,
}

impl Default for ModelLimits {
    /// Files up to 8 GiB, headers up to 4 MiB.
    fn default() -> Self {
        ModelLimits { bytes: 8 << 30, header: 4 << 20 }
    }
}

impl ModelLimits {
    /// The limits with this largest file.
    #[must_use]
    pub fn bytes(mut self, bytes: u64) -> Self {
        self.bytes = bytes;
        self
    }

    /// The limits with this largest header.
    #[must_use]
    pub fn header(mut self, bytes: u64) -> Self {
        self.header = bytes;
        self
    }
}

/// What can be wrong with a model file. Every message is one line that begins with the file.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ModelFileError {
    /// There is no such file.
    #[error("{}: no such file; check the path", file.display())]
    Missing {
        /// The path asked for.
        file: PathBuf,
    },
    /// A folder, or something else that is not a file.
    #[error("{}: is {what}, not a file; name the model file", file.display())]
    NotAFile {
        /// The path asked for.
        file: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// The file could not be opened, read or written.
    #[error("{}: {why}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// The kind of trouble.
        kind: io::ErrorKind,
        /// What the system says.
        why: String,
    },
    /// The file, or its header, is larger than allowed.
    #[error("{}: {what} takes {bytes} bytes, more than the limit of {limit}", file.display())]
    TooLarge {
        /// The file.
        file: PathBuf,
        /// The file or the header.
        what: &'static str,
        /// Its size.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// The header and the file's length disagree.
    #[error(
        "{}: {got} bytes, but its header speaks of {expected}; the file is truncated or damaged, get it again",
        file.display()
    )]
    Length {
        /// The file.
        file: PathBuf,
        /// The length that follows from the header.
        expected: u64,
        /// The length of the file.
        got: u64,
    },
    /// The header is not that of a safetensors file.
    #[error("{}: not a safetensors file: {why}; name a model that couloir saved", file.display())]
    Header {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// A safetensors file, but not one of ours.
    #[error("{}: not a couloir model: {why}; name a model that couloir saved", file.display())]
    NotAModel {
        /// The file.
        file: PathBuf,
        /// What is missing or too much.
        why: String,
    },
    /// A format of another time.
    #[error("{}: model format version {version}, but this couloir reads version {VERSION}; use the couloir that wrote it or train again", file.display())]
    Version {
        /// The file.
        file: PathBuf,
        /// What the file says.
        version: String,
    },
    /// A tensor of another type or shape.
    #[error("{}: tensor `{tensor}` is {got}, expected {expected}; name a model that couloir saved", file.display())]
    Tensor {
        /// The file.
        file: PathBuf,
        /// The tensor.
        tensor: &'static str,
        /// Type and shape in the file.
        got: String,
        /// Type and shape that were expected.
        expected: String,
    },
    /// Labels, weights or bias that no classifier can have.
    #[error("{}: {error}; the file is damaged, train again", file.display())]
    Content {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        error: Error,
    },
}

type Result<T> = std::result::Result<T, ModelFileError>;

impl Classifier {
    /// Writes the classifier to a file; see [`write_atomically`] for what happens on errors.
    ///
    /// # Errors
    /// What the file system reports; labels and `info` beyond the default [`ModelLimits::header`].
    pub fn save(&self, path: &Path) -> Result<()> {
        let header = self.header();
        let limit = ModelLimits::default().header;
        if header.len() as u64 > limit {
            let (file, bytes) = (path.to_owned(), header.len() as u64);
            return Err(ModelFileError::TooLarge { file, what: "the header", bytes, limit });
        }
        write_atomically(path, |out| {
            out.write_all(&(header.len() as u64).to_le_bytes())?;
            out.write_all(header.as_bytes())?;
            write_numbers(out, self.weights())?;
            write_numbers(out, self.bias().unwrap_or(&[]))
        })
        .map_err(|error| {
            let (file, kind) = (path.to_owned(), error.kind());
            let why = one_line(&format!("could not be written: {error}"));
            ModelFileError::Io { file, kind, why }
        })
    }

    /// Reads a classifier from a file, which nobody needs to trust: sizes are checked before memory is taken, and what
    /// is taken is bounded by the file's own size.
    ///
    /// # Errors
    /// Whatever is wrong with the file: see [`ModelFileError`].
    pub fn load(path: &Path, limits: &ModelLimits) -> Result<Self> {
        let got = file_size(path)?;
        let file = || path.to_owned();
        let too_large =
            |what, bytes, limit| Err(ModelFileError::TooLarge { file: file(), what, bytes, limit });
        if got > limits.bytes {
            return too_large("the file", got, limits.bytes);
        }
        let bad_header = |why: String| ModelFileError::Header { file: file(), why };
        if got < 8 {
            return Err(bad_header(match got {
                0 => "the file is empty".to_owned(),
                _ => format!("{got} bytes are too few"),
            }));
        }
        let mut input = File::open(path).map_err(|e| io_error(path, &e))?;
        let mut length = [0; 8];
        input.read_exact(&mut length).map_err(|e| io_error(path, &e))?;
        let header = u64::from_le_bytes(length);
        if header > got - 8 {
            let why = format!("{got} bytes cannot hold the header that the first 8 announce");
            return Err(bad_header(why));
        }
        if header > limits.header {
            return too_large("the header", header, limits.header);
        }
        let mut text = vec![0; header as usize];
        input.read_exact(&mut text).map_err(|e| io_error(path, &e))?;
        // the format says so; what JSON would skip before it could hide the header of another format
        if text.first() != Some(&b'{') {
            return Err(bad_header("its header does not begin with `{`".to_owned()));
        }
        let metadata: Metadata =
            serde_json::from_slice(&text).map_err(|e| bad_header(one_line(&e.to_string())))?;
        drop(text);
        let start = 8 + header;
        let expected = start.saturating_add(metadata.data_len() as u64);
        if expected != got {
            return Err(ModelFileError::Length { file: file(), expected, got });
        }
        let (labels, info) = labels_and_info(path, &metadata)?;
        let (features, with_bias) = shapes(path, &metadata, labels.len())?;
        let mut tensor = |name: &str, count: usize| -> Result<Vec<f64>> {
            let offset = metadata.info(name).map_or(0, |info| info.data_offsets.0);
            read_numbers(&mut input, start + offset as u64, count).map_err(|e| io_error(path, &e))
        };
        // the shape was checked against the file's size, so the product is small
        let weights = tensor("weights", labels.len() * features)?;
        let bias = if with_bias { Some(tensor("bias", labels.len())?) } else { None };
        Classifier::new(labels, features, weights, bias, info)
            .map_err(|error| ModelFileError::Content { file: file(), error })
    }

    /// The JSON header, padded so that numbers are aligned as the format asks.
    fn header(&self) -> String {
        let mut metadata: BTreeMap<&str, String> =
            self.info().iter().map(|(k, v)| (k.as_str(), v.clone())).collect();
        metadata.insert("format", FORMAT.to_owned());
        metadata.insert("version", VERSION.to_owned());
        metadata.insert("labels", serde_json::json!(self.labels()).to_string());
        let (h, d) = (self.classes(), self.features());
        let tensor = |shape: &[usize], from: usize| {
            let to = from + 8 * shape.iter().product::<usize>();
            serde_json::json!({ "dtype": "F64", "shape": shape, "data_offsets": [from, to] })
        };
        let mut header = BTreeMap::from([
            ("__metadata__", serde_json::json!(metadata)),
            ("weights", tensor(&[h, d], 0)),
        ]);
        if self.bias().is_some() {
            header.insert("bias", tensor(&[h], 8 * h * d));
        }
        let mut text = serde_json::json!(header).to_string();
        while text.len() % 8 != 0 {
            text.push(' ');
        }
        text
    }
}

fn io_error(path: &Path, error: &io::Error) -> ModelFileError {
    let file = path.to_owned();
    match error.kind() {
        io::ErrorKind::NotFound => ModelFileError::Missing { file },
        io::ErrorKind::IsADirectory => ModelFileError::NotAFile { file, what: "a directory" },
        kind => ModelFileError::Io { file, kind, why: one_line(&error.to_string()) },
    }
}

/// Looks before opening: opening a pipe would wait for someone to write.
fn file_size(path: &Path) -> Result<u64> {
    let metadata = std::fs::metadata(path).map_err(|e| io_error(path, &e))?;
    let what = match () {
        () if metadata.is_file() => return Ok(metadata.len()),
        () if metadata.is_dir() => "a directory",
        () => "a device or pipe",
    };
    Err(ModelFileError::NotAFile { file: path.to_owned(), what })
}

fn labels_and_info(
    path: &Path,
    metadata: &Metadata,
) -> Result<(Vec<String>, BTreeMap<String, String>)> {
    let bad = |why: String| ModelFileError::NotAModel { file: path.to_owned(), why };
    let mut entries: BTreeMap<String, String> = match metadata.metadata() {
        Some(entries) => entries.iter().map(|(k, v)| (k.clone(), v.clone())).collect(),
        None => return Err(bad("its header has no metadata".to_owned())),
    };
    match entries.remove("format") {
        Some(format) if format == FORMAT => {}
        Some(format) => return Err(bad(format!("its format is `{}`", one_line(&format)))),
        None => return Err(bad("its metadata names no format".to_owned())),
    }
    let version = entries.remove("version").unwrap_or_default();
    if version != VERSION {
        let version = one_line(&version);
        return Err(ModelFileError::Version { file: path.to_owned(), version });
    }
    let labels = entries.remove("labels").ok_or_else(|| bad("it has no labels".to_owned()))?;
    let labels = serde_json::from_str(&labels).map_err(|e| {
        bad(format!("its labels are no JSON list of strings: {}", one_line(&e.to_string())))
    })?;
    Ok((labels, entries))
}

/// `d`, and whether there is a bias.
fn shapes(path: &Path, metadata: &Metadata, h: usize) -> Result<(usize, bool)> {
    let bad = |why: String| ModelFileError::NotAModel { file: path.to_owned(), why };
    let names = metadata.offset_keys();
    // the first by name: their order is not the same each time
    let unknown = names.iter().filter(|name| !["weights", "bias"].contains(&name.as_str())).min();
    if let Some(name) = unknown {
        return Err(bad(format!("unknown tensor `{}`", one_line(name))));
    }
    let wrong = |tensor: &'static str, info: &TensorInfo, expected: String| {
        let got = one_line(&format!("{} {:?}", info.dtype, info.shape));
        Err(ModelFileError::Tensor { file: path.to_owned(), tensor, got, expected })
    };
    let Some(weights) = metadata.info("weights") else {
        return Err(bad("it has no tensor `weights`".to_owned()));
    };
    let d = match weights.shape[..] {
        [classes, d] if classes == h && d > 0 && weights.dtype == Dtype::F64 => d,
        _ => {
            let expected = format!("F64 [{h}, features] for its {h} labels");
            return wrong("weights", weights, expected);
        }
    };
    match metadata.info("bias") {
        Some(bias) if bias.dtype != Dtype::F64 || bias.shape != [h] => {
            wrong("bias", bias, format!("F64 [{h}] for its {h} labels"))
        }
        bias => Ok((d, bias.is_some())),
    }
}

fn write_numbers(out: &mut dyn Write, numbers: &[f64]) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(8 * BUFFER);
    for numbers in numbers.chunks(BUFFER) {
        bytes.clear();
        bytes.extend(numbers.iter().flat_map(|v| v.to_le_bytes()));
        out.write_all(&bytes)?;
    }
    Ok(())
}

fn read_numbers(input: &mut File, offset: u64, count: usize) -> io::Result<Vec<f64>> {
    let mut numbers = Vec::new();
    numbers
        .try_reserve_exact(count)
        .map_err(|_| io::Error::new(io::ErrorKind::OutOfMemory, "not enough memory for it"))?;
    input.seek(SeekFrom::Start(offset))?;
    let mut buffer = vec![0; 8 * BUFFER];
    while numbers.len() < count {
        let bytes = &mut buffer[..8 * BUFFER.min(count - numbers.len())];
        input.read_exact(bytes)?;
        let (words, _) = bytes.as_chunks::<8>();
        numbers.extend(words.iter().map(|word| f64::from_le_bytes(*word)));
    }
    Ok(numbers)
}

/// Foreign text without control characters, and cut, so that a message stays one line.
fn one_line(text: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let mut line: String = text.chars().take(QUOTED).map(plain).collect();
    if line.len() < text.len() {
        line.push_str("...");
    }
    line
}
