//! bzip2 streams cut into their blocks, so that blocks can be unpacked in parallel.
//!
//! A bzip2 stream is a header, blocks of up to 900 kB that do not depend on each other, and an end mark with
//! a checksum. Blocks start at any *bit*, with 48 fixed bits. [`Blocks`] looks for these bits and makes of
//! every block a stream of its own, which any decoder can unpack and check. Should the same bits appear
//! inside a block (once in 2^48 positions), the checksum of that block fails; so whoever sees an
//! error here unpacks the file again the plain way, and takes that decoder's word.

use std::io::{self, Read};

pub(super) const BLOCK: u64 = 0x3141_5926_5359;
pub(super) const END: u64 = 0x1772_4538_5090;
/// Bits of a mark and the checksum after it.
const MARK: usize = 48 + 32;
/// No block is larger than this when packed: 900 kB that do not shrink, and tables.
const MAX_BLOCK: usize = 2 << 20;
const READ: usize = 256 << 10;

/// For the second byte of a mark that starts in the byte before: can it be one at all?
const CANDIDATE: [bool; 256] = {
    let mut table = [false; 256];
    let mut shift = 0;
    while shift < 8 {
        table[((BLOCK >> (32 + shift)) & 0xff) as usize] = true;
        table[((END >> (32 + shift)) & 0xff) as usize] = true;
        shift += 1;
    }
    table
};

/// Cuts a bzip2 file into streams of one block each.
pub(super) struct Blocks<R> {
    input: R,
    buffer: Vec<u8>,
    /// The next bit of the buffer.
    at: usize,
    ended: bool,
    /// The level digit of the current stream; none between streams.
    level: Option<u8>,
    checksum: u32,
    streams: usize,
}

impl<R: Read> Blocks<R> {
    pub fn new(input: R) -> Self {
        Blocks {
            input,
            buffer: Vec::new(),
            at: 0,
            ended: false,
            level: None,
            checksum: 0,
            streams: 0,
        }
    }

    /// Writes the next block into `out` as a stream of its own; false at the end of the file.
    ///
    /// # Errors
    /// What reading reports, and `InvalidData` or `UnexpectedEof` where the file is not as expected.
    pub fn next(&mut self, out: &mut Vec<u8>) -> io::Result<bool> {
        loop {
            self.drop_used();
            let Some(level) = self.level else {
                if !self.open_stream()? {
                    return Ok(false);
                }
                continue;
            };
            self.need(MARK)?;
            let mark = self.bits(self.at, 48);
            let checksum = self.bits(self.at + 48, 32) as u32;
            match mark {
                BLOCK => {
                    let end = self.find_mark(self.at + MARK)?;
                    self.checksum = self.checksum.rotate_left(1) ^ checksum;
                    self.cut(level, end, checksum, out);
                    self.at = end;
                    return Ok(true);
                }
                END if checksum == self.checksum => {
                    self.at = (self.at + MARK).next_multiple_of(8);
                    self.level = None;
                }
                END => return Err(invalid("checksum of the stream")),
                _ => return Err(invalid("neither a block nor the end of the stream")),
            }
        }
    }

    fn open_stream(&mut self) -> io::Result<bool> {
        self.fill(32)?;
        let header = &self.buffer[self.at / 8..];
        if header.is_empty() && self.streams > 0 {
            return Ok(false);
        }
        match header {
            [b'B', b'Z', b'h', level @ b'1'..=b'9', ..] => {
                self.level = Some(*level);
                self.checksum = 0;
                self.streams += 1;
                self.at += 32;
                Ok(true)
            }
            _ => Err(invalid("no header of a stream")),
        }
    }

    /// Reads until so many bits are there from `at` on, or the file ends.
    fn fill(&mut self, bits: usize) -> io::Result<()> {
        while !self.ended && self.at + bits > self.buffer.len() * 8 {
            let got = (&mut self.input).take(READ as u64).read_to_end(&mut self.buffer)?;
            self.ended = got == 0;
        }
        Ok(())
    }

    fn need(&mut self, bits: usize) -> io::Result<()> {
        self.fill(bits)?;
        if self.at + bits > self.buffer.len() * 8 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }

    fn drop_used(&mut self) {
        let used = self.at / 8;
        if used >= READ {
            self.buffer.drain(..used);
            self.at -= used * 8;
        }
    }

    /// Up to 56 bits from a place that is in the buffer.
    fn bits(&self, at: usize, count: usize) -> u64 {
        let mut window = [0; 8];
        let from = at / 8;
        let length = self.buffer.len().min(from + 8) - from;
        window[..length].copy_from_slice(&self.buffer[from..from + length]);
        (u64::from_be_bytes(window) << (at % 8)) >> (64 - count)
    }

    /// The first bit at or after `from` where a mark and its checksum start.
    fn find_mark(&mut self, from: usize) -> io::Result<usize> {
        let mut byte = from / 8;
        loop {
            // a mark that starts in `byte` ends at most eight bytes later
            while byte + 8 <= self.buffer.len() {
                if CANDIDATE[usize::from(self.buffer[byte + 1])] {
                    for at in (byte * 8).max(from)..byte * 8 + 8 {
                        if matches!(self.bits(at, 48), BLOCK | END) {
                            return Ok(at);
                        }
                    }
                }
                byte += 1;
            }
            if self.ended {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if byte - self.at / 8 > MAX_BLOCK {
                return Err(invalid("a block without an end"));
            }
            let have = self.buffer.len() * 8 - self.at;
            self.fill(have + 8)?;
        }
    }

    /// Header, the bits from `at` to `end`, end mark, checksum: a stream of one block has the
    /// checksum of its block.
    fn cut(&self, level: u8, end: usize, checksum: u32, out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(&[b'B', b'Z', b'h', level]);
        let (shift, from, length) = (self.at % 8, self.at / 8, end - self.at);
        let whole = length / 8;
        // the mark after the block is in the buffer too, so there is always a next byte
        out.extend(
            self.buffer[from..=from + whole]
                .windows(2)
                .map(|pair| (u16::from_be_bytes([pair[0], pair[1]]) << shift >> 8) as u8),
        );
        // the bits left over, then the tail, most significant first
        let left = length % 8;
        let mut pending = if left == 0 { 0 } else { u128::from(self.bits(end - left, left)) };
        pending = (pending << 48) | u128::from(END);
        pending = (pending << 32) | u128::from(checksum);
        let bits = left + MARK;
        let padded = bits.next_multiple_of(8);
        pending <<= padded - bits;
        out.extend_from_slice(&pending.to_be_bytes()[16 - padded / 8..]);
    }
}

pub(super) fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bzip2::Compression;
    use bzip2::read::{BzDecoder, BzEncoder};

    fn pack(text: &[u8], level: u32) -> Vec<u8> {
        let mut packed = Vec::new();
        BzEncoder::new(text, Compression::new(level)).read_to_end(&mut packed).expect("packing");
        packed
    }

    fn unpack_by_blocks(packed: &[u8]) -> io::Result<(usize, Vec<u8>)> {
        let mut blocks = Blocks::new(packed);
        let (mut block, mut text, mut count) = (Vec::new(), Vec::new(), 0);
        while blocks.next(&mut block)? {
            BzDecoder::new(&block[..]).read_to_end(&mut text)?;
            count += 1;
        }
        Ok((count, text))
    }

    #[test]
    fn blocks_unpack_one_by_one_to_the_whole_text() {
        let mut stream = couloir::random::Streams::new(1).stream("text");
        let text: Vec<u8> = (0..450_000).map(|_| b'0' + stream.below(10) as u8).collect();
        for level in [1, 2, 9] {
            let (count, unpacked) = unpack_by_blocks(&pack(&text, level)).expect("unpacking");
            assert_eq!(count, 450_usize.div_ceil(100 * level as usize));
            assert!(unpacked == text);
        }
        // streams one after the other, an empty one between
        let mut several = pack(&text[..150_000], 1);
        several.extend(pack(b"", 9));
        several.extend(pack(&text[150_000..], 3));
        let (_, unpacked) = unpack_by_blocks(&several).expect("unpacking");
        assert!(unpacked == text);
    }

    #[test]
    fn damage_of_any_kind_is_an_error() {
        let text: Vec<u8> = (0..50_000u32).flat_map(|i| (i * i).to_le_bytes()).collect();
        let packed = pack(&text, 1);
        for length in (0..packed.len()).step_by(997) {
            assert!(unpack_by_blocks(&packed[..length]).is_err(), "{length} bytes");
        }
        for place in (0..packed.len()).step_by(997) {
            let mut damaged = packed.clone();
            damaged[place] ^= 4;
            assert!(unpack_by_blocks(&damaged).is_err(), "byte {place}");
        }
        let mut longer = packed.clone();
        longer.extend_from_slice(b"junk");
        assert!(unpack_by_blocks(&longer).is_err());
    }
}
