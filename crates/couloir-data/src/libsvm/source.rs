//! Where text comes from: pieces of a file, plain or packed.

use crate::error::Compression;
use std::io::{self, Read};

/// Bytes of text per piece.
const PIECE: usize = 512 << 10;

/// The text of a file, and the error that ended it once the text before it is used.
pub(super) struct Source {
    text: Box<dyn Read + Send>,
    pending: Option<io::Error>,
}

impl Source {
    /// Decoders take the same memory whatever a file unpacks to (for bzip2 less than 4 MB): they hand text out as it is
    /// asked for, so that a block of 900 kB that unpacks to 46 MB does no harm.
    pub fn new(input: Box<dyn Read + Send>, compression: Compression) -> Self {
        let text: Box<dyn Read + Send> = match compression {
            Compression::Plain => input,
            Compression::Gzip => Box::new(flate2::read::MultiGzDecoder::new(input)),
            Compression::Bzip2 => Box::new(bzip2::read::MultiBzDecoder::new(input)),
        };
        Source { text, pending: None }
    }

    /// Reads the next piece of text, from where the last one ended; false if there is none.
    fn next(&mut self, piece: &mut Vec<u8>) -> io::Result<bool> {
        piece.clear();
        if let Some(error) = self.pending.take() {
            return Err(error);
        }
        piece.reserve_exact(PIECE);
        match (&mut self.text).take(PIECE as u64).read_to_end(piece) {
            Ok(length) => Ok(length > 0),
            // a decoder that failed may pretend to be at its end when asked again
            Err(error) if !piece.is_empty() => {
                self.pending = Some(error);
                Ok(true)
            }
            Err(error) => Err(error),
        }
    }

    /// Reads up to so many more bytes, only to see whether that goes well.
    pub fn drain(&mut self, limit: u64) -> io::Result<()> {
        match self.pending.take() {
            Some(error) => Err(error),
            None => io::copy(&mut (&mut self.text).take(limit), &mut io::sink()).map(|_| ()),
        }
    }
}

/// Several pieces, read together, and how reading ended if it did.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pieces: Vec<Vec<u8>>,
    length: usize,
    pub end: Option<io::Result<()>>,
}

impl Batch {
    /// Reads up to `limit` pieces, into the buffers of the last time.
    pub fn fill(&mut self, source: &mut Source, limit: usize) {
        (self.length, self.end) = (0, None);
        while self.length < limit {
            if self.length == self.pieces.len() {
                self.pieces.push(Vec::new());
            }
            match source.next(&mut self.pieces[self.length]) {
                Ok(true) => self.length += 1,
                Ok(false) => {
                    self.end = Some(Ok(()));
                    return;
                }
                Err(error) => {
                    self.end = Some(Err(error));
                    return;
                }
            }
        }
    }

    pub fn pieces(&self) -> &[Vec<u8>] {
        &self.pieces[..self.length]
    }
}

/// How a file that starts with these bytes is packed, or the name of a packing that is not supported.
pub(super) fn packing(start: &[u8]) -> Result<Compression, &'static str> {
    match start {
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => Ok(Compression::Bzip2),
        [0x1f, 0x8b, ..] => Ok(Compression::Gzip),
        [0xfd, b'7', b'z', b'X', b'Z', ..] => Err("xz"),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Err("zstd"),
        [b'P', b'K', 3, 4, ..] => Err("zip"),
        [b'7', b'z', 0xbc, 0xaf, ..] => Err("7-zip"),
        [0x1f, 0x9d, ..] => Err("compress"),
        _ => Ok(Compression::Plain),
    }
}
