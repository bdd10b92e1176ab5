//! The LIBSVM format: a line per row, `label index:value index:value ...`, indices from 1, increasing.
//!
//! Blank lines and comments from `#` to the end of the line are skipped. Files may be plain, bzip2 or gzip;
//! their first bytes tell which. Pieces of the file are parsed, and bzip2 blocks unpacked, by all
//! threads of the current rayon pool, while the next pieces are being read; what comes out does not
//! depend on the number of threads. Memory is bounded: the data itself, a few pieces of the file, one line.

mod bunzip;
mod bz2;
mod number;
mod parse;
mod read;
mod source;
mod unsort;
mod write;

pub use read::{ReadOptions, read, read_from};
pub use write::{write, write_to};
