//! The LIBSVM format: a line per row, `label index:value index:value ...`, indices from 1, increasing.
//!
//! Blank lines and comments from `#` to the end of the line are skipped. Files may be plain, bzip2 or gzip;
//! their first bytes tell which. Pieces of the text are parsed by all threads of the current rayon pool, while
//! one of them reads and unpacks the next pieces; what comes out does not depend on the number of threads. Memory
//! is bounded: the data itself, a few pieces of the text, one line.

mod number;
mod parse;
mod read;
mod source;
mod write;

pub use read::{ReadOptions, read, read_from};
pub use write::{write, write_to};
