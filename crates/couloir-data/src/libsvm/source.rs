//! Where text comes from: pieces of a file, plain or packed.

use super::bz2::Blocks;
use crate::error::Compression;
use std::io::{self, Read};

/// Bytes of text per piece.
const PIECE: usize = 512 << 10;

/// A piece of the file, from wherever the last one ended.
#[derive(Debug, Default)]
pub(super) struct Piece {
    pub bytes: Vec<u8>,
    /// Whether the bytes are a bzip2 block, to be unpacked by whoever parses it.
    pub packed: bool,
}

/// A file being read.
pub(super) enum Source {
    /// Text, and the error that ended it once the bytes before it are used.
    Text(Box<dyn Read + Send>, Option<io::Error>),
    Blocks(Box<Blocks<Box<dyn Read + Send>>>),
}

impl Source {
    /// `apart`: cut bzip2 into blocks rather than unpack it here.
    pub fn new(input: Box<dyn Read + Send>, compression: Compression, apart: bool) -> Self {
        let text: Box<dyn Read + Send> = match compression {
            Compression::Plain => input,
            Compression::Gzip => Box::new(flate2::read::MultiGzDecoder::new(input)),
            Compression::Bzip2 if apart => return Source::Blocks(Box::new(Blocks::new(input))),
            Compression::Bzip2 => Box::new(bzip2::read::MultiBzDecoder::new(input)),
        };
        Source::Text(text, None)
    }

    /// The next piece; false if there is none.
    fn next(&mut self, piece: &mut Piece) -> io::Result<bool> {
        piece.bytes.clear();
        match self {
            Source::Text(input, pending) => {
                if let Some(error) = pending.take() {
                    return Err(error);
                }
                piece.packed = false;
                piece.bytes.reserve_exact(PIECE);
                match input.take(PIECE as u64).read_to_end(&mut piece.bytes) {
                    Ok(length) => Ok(length > 0),
                    // a decoder that failed may pretend to be at its end when asked again
                    Err(error) if !piece.bytes.is_empty() => {
                        *pending = Some(error);
                        Ok(true)
                    }
                    Err(error) => Err(error),
                }
            }
            Source::Blocks(blocks) => {
                piece.packed = true;
                blocks.next(&mut piece.bytes)
            }
        }
    }

    /// Reads up to so many more bytes, only to see whether that goes well. Blocks need no such look: they
    /// are checked before anyone sees their text.
    pub fn drain(&mut self, limit: u64) -> io::Result<()> {
        match self {
            Source::Text(_, pending) if pending.is_some() => pending.take().map_or(Ok(()), Err),
            Source::Text(input, _) => io::copy(&mut input.take(limit), &mut io::sink()).map(|_| ()),
            Source::Blocks(_) => Ok(()),
        }
    }
}

/// Several pieces, read together, and how reading ended if it did.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pieces: Vec<Piece>,
    length: usize,
    pub end: Option<io::Result<()>>,
}

impl Batch {
    /// Reads up to `limit` pieces, into the buffers of the last time.
    pub fn fill(&mut self, source: &mut Source, limit: usize) {
        (self.length, self.end) = (0, None);
        while self.length < limit {
            if self.length == self.pieces.len() {
                self.pieces.push(Piece::default());
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

    pub fn pieces(&self) -> &[Piece] {
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
