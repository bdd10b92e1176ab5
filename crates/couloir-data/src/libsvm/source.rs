//! Where text comes from: pieces of a file, plain or packed.

use crate::error::Compression;
use flate2::bufread::GzDecoder;
use std::io::{self, BufRead, BufReader, Read};

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
            Compression::Gzip => Box::new(GzipMembers::new(input)),
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

/// The most zero bytes behind a member of a .gz file: those of a block of a tape are far fewer.
const MAX_PADDING: u64 = 16 << 20;

/// The members of a .gz file one after the other. Zero bytes behind a member, which tapes and some programs add, are skipped as
/// gzip does.
struct GzipMembers {
    /// None after an error.
    member: Option<GzDecoder<BufReader<Box<dyn Read + Send>>>>,
}

impl GzipMembers {
    fn new(input: Box<dyn Read + Send>) -> Self {
        GzipMembers { member: Some(GzDecoder::new(BufReader::new(input))) }
    }
}

impl Read for GzipMembers {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let length = member.read(buffer)?;
            if length > 0 || buffer.is_empty() {
                return Ok(length);
            }
            let Some(member) = self.member.take() else { break };
            let mut input = member.into_inner();
            if !skip_zeros(&mut input)? {
                self.member = Some(GzDecoder::new(input));
            }
        }
        Ok(0)
    }
}

/// Skips zero bytes, and says whether that leads to the end.
fn skip_zeros(input: &mut impl BufRead) -> io::Result<bool> {
    let mut skipped = 0;
    loop {
        let bytes = match input.fill_buf() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if bytes.is_empty() {
            return Ok(true);
        }
        let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
        if zeros == 0 {
            return Ok(false);
        }
        skipped += zeros as u64;
        if skipped > MAX_PADDING {
            let why = format!("more than {MAX_PADDING} zero bytes behind it");
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        input.consume(zeros);
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
