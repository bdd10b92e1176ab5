//! What can be wrong with data, with the file, the line, the offending text and what to do.

use std::path::PathBuf;
use thiserror::Error;

/// This crate's result type.
pub type Result<T> = std::result::Result<T, DataError>;

/// How a file is packed; told by its first bytes, never by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Compression {
    /// Text.
    Plain,
    /// bzip2.
    Bzip2,
    /// gzip.
    Gzip,
}

impl std::fmt::Display for Compression {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Compression::Plain => "plain",
            Compression::Bzip2 => "bzip2",
            Compression::Gzip => "gzip",
        })
    }
}

/// Everything that can go wrong with a data set. Every message is one line.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum DataError {
    /// There is no such file.
    #[error("{}: no such file; check the path", file.display())]
    Missing {
        /// The path asked for.
        file: PathBuf,
    },
    /// A folder where a file should be.
    #[error("{}: is a directory; name a LIBSVM file in it", file.display())]
    Directory {
        /// The path asked for.
        file: PathBuf,
    },
    /// The file could not be opened, read or written.
    #[error("{}: {why}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// The kind of trouble.
        kind: std::io::ErrorKind,
        /// What the system says.
        why: String,
    },
    /// No row in the whole file.
    #[error("{}: no rows in it; expected lines like `1 3:0.5 7:1`", file.display())]
    Empty {
        /// The file.
        file: PathBuf,
    },
    /// A line that is not LIBSVM format.
    #[error("{}:{line}: {fault}", file.display())]
    Line {
        /// The file.
        file: PathBuf,
        /// The line, counted from 1 in the unpacked text.
        line: u64,
        /// What is wrong with it.
        fault: LineFault,
    },
    /// A compressed file that ends too early.
    #[error("{}:{line}: the {compression} data ends too early; the file is truncated, get it again", file.display())]
    Truncated {
        /// The file.
        file: PathBuf,
        /// How it is packed.
        compression: Compression,
        /// The line in which it breaks off.
        line: u64,
    },
    /// A compressed file that does not unpack.
    #[error("{}:{line}: the {compression} data is damaged ({why}); get the file again", file.display())]
    Corrupt {
        /// The file.
        file: PathBuf,
        /// How it is packed.
        compression: Compression,
        /// The line up to which it could be unpacked.
        line: u64,
        /// What the decoder says.
        why: String,
    },
    /// A kind of packing that couloir does not read.
    #[error("{}: packed with {packing}, which is not supported; unpack it, or pack it with bzip2 or gzip", file.display())]
    UnknownPacking {
        /// The file.
        file: PathBuf,
        /// What it seems to be.
        packing: &'static str,
    },
    /// More text than allowed.
    #[error("{}: more than {limit} bytes of text when unpacked; if that is meant, raise the limit on text", file.display())]
    TooMuchText {
        /// The file.
        file: PathBuf,
        /// The limit in bytes.
        limit: u64,
    },
    /// More data than allowed in memory.
    #[error("{}:{line}: the data would take more than {limit} bytes of memory; if that is meant, raise the limit on memory", file.display())]
    TooMuchMemory {
        /// The file.
        file: PathBuf,
        /// The line at which the limit was passed.
        line: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// More classes in the file than were declared.
    #[error("{}: {seen} different labels, but {declared} classes declared; declare at least {seen}", file.display())]
    TooFewClasses {
        /// The file.
        file: PathBuf,
        /// The classes that were asked for.
        declared: usize,
        /// The labels seen.
        seen: usize,
    },
    /// Two labels that are different numbers and the same 64-bit float.
    #[error(
        "{}: the labels `{first}` and `{second}` are different numbers, but the same as 64-bit numbers; renumber the labels",
        file.display()
    )]
    LabelsMeet {
        /// The file.
        file: PathBuf,
        /// The one that came first.
        first: String,
        /// The other.
        second: String,
    },
    /// Unseen classes cannot be named.
    #[error(
        "{}: {declared} classes declared and {seen} seen, but the label {label} is neither in 1..={declared} nor, with all others, in 0..{declared}, so the unseen ones have no name; \
         renumber the labels", file.display()
    )]
    UnnamedClasses {
        /// The file.
        file: PathBuf,
        /// The classes that were asked for.
        declared: usize,
        /// The labels seen.
        seen: usize,
        /// A label that does not fit the numbering.
        label: String,
    },
    /// All rows have the same label.
    #[error("{}: every row has the label {label}; training needs at least two classes", file.display())]
    OneClass {
        /// The file.
        file: PathBuf,
        /// The only label.
        label: String,
    },
    /// A setting outside its range.
    #[error("setting {name}: {why}")]
    Setting {
        /// The setting's name.
        name: &'static str,
        /// What is wrong with it, and what is right.
        why: String,
    },
    /// A download that failed.
    #[error("{url}: {why}")]
    Download {
        /// What was asked for.
        url: String,
        /// What happened and what to do.
        why: String,
    },
    /// A file at its source that is larger than allowed.
    #[error(
        "{url}: {bytes} bytes or more, allowed are {limit}; if that is meant, raise the limit on files"
    )]
    TooLarge {
        /// What was asked for.
        url: String,
        /// What it has at the least.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// A file that is not the one it should be.
    #[error("{}: SHA-256 is {got}, expected {expected}; {hint}", file.display())]
    Digest {
        /// The file.
        file: PathBuf,
        /// The digest, or its beginning, that was expected.
        expected: String,
        /// The digest of the file.
        got: String,
        /// What to do.
        hint: &'static str,
    },
}

impl DataError {
    pub(crate) fn io(file: &std::path::Path, error: &std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::NotFound => DataError::Missing { file: file.to_owned() },
            std::io::ErrorKind::IsADirectory => DataError::Directory { file: file.to_owned() },
            kind => DataError::Io { file: file.to_owned(), kind, why: error.to_string() },
        }
    }
}

/// What is wrong with a line. Quoted text is escaped and cut.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LineFault {
    /// The label is not a number.
    #[error("the label `{text}` is not a number; number the classes")]
    Label {
        /// The label.
        text: String,
    },
    /// Several labels.
    #[error(
        "several labels `{text}`: data with more than one label per row is not supported; keep one"
    )]
    ManyLabels {
        /// The label.
        text: String,
    },
    /// The label is NaN or infinite.
    #[error("the label `{text}` is not finite; number the classes")]
    LabelNotFinite {
        /// The label.
        text: String,
    },
    /// An integer label that a 64-bit float cannot tell from its neighbour.
    #[error("the label `{text}` is too large to be told from its neighbours; renumber the labels")]
    LabelTooLarge {
        /// The label.
        text: String,
    },
    /// A label of more characters than a class needs.
    #[error("the label `{text}` is longer than {limit} characters; renumber the labels")]
    LabelTooLong {
        /// The label.
        text: String,
        /// The most that it may have.
        limit: usize,
    },
    /// A label that is none of those declared.
    #[error("the label `{text}` is none of the declared classes")]
    LabelUnknown {
        /// The label.
        text: String,
    },
    /// The line begins with a feature.
    #[error("no label before `{text}`; a line is `label index:value index:value ...`")]
    MissingLabel {
        /// The first feature.
        text: String,
    },
    /// Feature 0.
    #[error("index 0 in `{text}`; indices start at 1, add 1 to all of them")]
    IndexZero {
        /// The feature.
        text: String,
    },
    /// A negative index.
    #[error("negative index in `{text}`; indices start at 1")]
    IndexNegative {
        /// The feature.
        text: String,
    },
    /// Indices out of order.
    #[error("index {index} after {previous}; sort the indices of a row in increasing order")]
    IndexNotIncreasing {
        /// The index.
        index: u32,
        /// The one before it.
        previous: u32,
    },
    /// An index twice in one row.
    #[error("index {index} twice in a row; keep one, or add the values")]
    IndexDuplicate {
        /// The index.
        index: u32,
    },
    /// An index that does not fit.
    #[error("the index in `{text}` is larger than 4294967295; renumber the features")]
    IndexTooLarge {
        /// The feature.
        text: String,
    },
    /// An index that is not a number.
    #[error("the index in `{text}` is not a whole number; a feature is `index:value`")]
    Index {
        /// The feature.
        text: String,
    },
    /// An index beyond the declared number of features.
    #[error("index {index}, but only {features} features are expected")]
    BeyondFeatures {
        /// The index.
        index: u32,
        /// The declared number.
        features: usize,
    },
    /// `:value`.
    #[error("no index before the colon in `{text}`; a feature is `index:value`")]
    MissingIndex {
        /// The feature.
        text: String,
    },
    /// `index:`, or `index` alone.
    #[error("no value in `{text}`; a feature is `index:value` without spaces")]
    MissingValue {
        /// The feature.
        text: String,
    },
    /// `1:1:1`.
    #[error("more than one colon in `{text}`; a feature is `index:value`")]
    ExtraColon {
        /// The feature.
        text: String,
    },
    /// The value is not a number.
    #[error("the value in `{text}` is not a number; a feature is `index:value`")]
    Value {
        /// The feature.
        text: String,
    },
    /// The value is NaN or infinite, or too large for a 64-bit float.
    #[error("the value in `{text}` is not finite; leave the feature out or give a number")]
    ValueNotFinite {
        /// The feature.
        text: String,
    },
    /// A ranking file.
    #[error("`{text}`: ranking data with query ids is not supported; remove the `qid:` fields")]
    QueryId {
        /// The field.
        text: String,
    },
    /// The file starts with a byte-order mark.
    #[error("byte-order mark; save the file as plain ASCII or UTF-8 without one")]
    ByteOrderMark,
    /// Not text at all.
    #[error("byte 0x{byte:02x} in column {column}: this is not a text file; name a LIBSVM file")]
    Binary {
        /// The byte.
        byte: u8,
        /// Its place in the line, from 1.
        column: u64,
    },
    /// The line is longer than allowed.
    #[error("longer than {limit} bytes; if that is meant, raise the limit on lines")]
    TooLong {
        /// The limit in bytes.
        limit: usize,
    },
}
