//! One bzip2 block unpacked.
//!
//! By hand, since 85 % of the time to read a packed file was spent here: on the blocks of news20.scale.bz2,
//! on one core of an EPYC, this takes 9.6 ms for a block of 900 kB and the decoder of the `bzip2` crate
//! 20.2 ms. It only has to be right about good blocks. Whoever gets an error here asks the
//! crate's decoder, which decides about the file and words what is wrong.

use super::bz2::{BLOCK, END, invalid};
use super::unsort::{Unsorter, grow};
use std::io;

/// Bits that the table of a Huffman code looks at; longer codes are rare and take the slow way.
const QUICK: u32 = 10;
/// The longest code.
const LONGEST: usize = 20;
/// 256 values, less the one at the front, and two digits of run lengths, and the end of the block.
const SYMBOLS: usize = 258;
/// Symbols per selector.
const GROUP: usize = 50;
/// Runs in the sorted text are written so many bytes at once.
const STRIDE: usize = 16;

/// The bits of a block, most significant first.
struct Bits<'a> {
    bytes: &'a [u8],
    /// The next byte that is not wholly in `window`.
    at: usize,
    /// The next bits, from the top; below `count` of them there is nothing to rely on.
    window: u64,
    count: u32,
}

impl<'a> Bits<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Bits { bytes, at: 0, window: 0, count: 0 }
    }

    /// Makes at least so many bits available, up to 56.
    #[inline(always)]
    fn need(&mut self, count: u32) -> io::Result<()> {
        if self.count >= count {
            return Ok(());
        }
        match self.bytes.get(self.at..).and_then(|rest| rest.first_chunk()) {
            Some(next) => {
                self.window |= u64::from_be_bytes(*next) >> self.count;
                self.at += ((63 - self.count) / 8) as usize;
                self.count |= 56;
                Ok(())
            }
            None => self.need_last(count),
        }
    }

    #[cold]
    fn need_last(&mut self, count: u32) -> io::Result<()> {
        while self.count < count {
            let next = *self.bytes.get(self.at).ok_or(io::ErrorKind::UnexpectedEof)?;
            self.window |= u64::from(next) << (56 - self.count);
            self.at += 1;
            self.count += 8;
        }
        Ok(())
    }

    #[inline(always)]
    fn skip(&mut self, count: u32) {
        self.window <<= count;
        self.count -= count;
    }

    /// The next 1 to 32 bits.
    fn take(&mut self, count: u32) -> io::Result<u32> {
        self.need(count)?;
        let value = (self.window >> (64 - count)) as u32;
        self.skip(count);
        Ok(value)
    }

    fn flag(&mut self) -> io::Result<bool> {
        Ok(self.take(1)? == 1)
    }

    fn take48(&mut self) -> io::Result<u64> {
        Ok(u64::from(self.take(24)?) << 24 | u64::from(self.take(24)?))
    }
}

/// A canonical Huffman code.
struct Code {
    /// By the next `QUICK` bits: symbol times 32 plus the length of its code; 0 where that is longer.
    quick: [u16; 1 << QUICK],
    /// By length: the first code that is longer, with zeros after it up to `LONGEST` bits.
    limit: [u32; LONGEST + 1],
    /// By length: place in `sorted` of its first symbol, and the first code, which that symbol has.
    first: [(u32, u32); LONGEST + 1],
    /// Symbols by the length of their codes.
    sorted: [u16; SYMBOLS],
}

impl Code {
    const EMPTY: Code = Code {
        quick: [0; 1 << QUICK],
        limit: [0; LONGEST + 1],
        first: [(0, 0); LONGEST + 1],
        sorted: [0; SYMBOLS],
    };

    /// Lengths must be from 1 to `LONGEST`. Codes that nothing uses are fine until one is met.
    fn build(&mut self, lengths: &[u8]) -> io::Result<()> {
        self.quick.fill(0);
        let (mut next, mut place) = (0u32, 0usize);
        for length in 1..=LONGEST {
            self.first[length] = (place as u32, next);
            for (symbol, _) in
                lengths.iter().enumerate().filter(|(_, l)| usize::from(**l) == length)
            {
                if next >> length != 0 {
                    return Err(invalid("too many short codes"));
                }
                if length <= QUICK as usize {
                    let span = 1 << (QUICK as usize - length);
                    let from = next as usize * span;
                    self.quick[from..from + span].fill((symbol << 5 | length) as u16);
                }
                self.sorted[place] = symbol as u16;
                place += 1;
                next += 1;
            }
            self.limit[length] = next << (LONGEST - length);
            next <<= 1;
        }
        Ok(())
    }

    /// Symbol and length of the code at the top of the window, which is not in `quick`.
    #[cold]
    fn slow(&self, window: u64) -> io::Result<(u32, u32)> {
        let top = (window >> (64 - LONGEST)) as u32;
        let length = (1..=LONGEST)
            .find(|&l| top < self.limit[l])
            .ok_or_else(|| invalid("a code that stands for nothing"))?;
        let (place, code) = self.first[length];
        let symbol = self.sorted[(place + (top >> (LONGEST - length)) - code) as usize];
        Ok((u32::from(symbol), length as u32))
    }
}

/// The values of a block, the one used last first.
struct Recent {
    /// Sixteen of them, the first in the low byte: text rarely reaches further, and a number needs neither
    /// a loop nor memory to be shifted.
    front: u128,
    rest: [u8; 240],
}

impl Recent {
    fn new(values: &[u8]) -> Self {
        let mut all = [0; 256];
        all[..values.len()].copy_from_slice(values);
        let (mut front, mut rest) = ([0; 16], [0; 240]);
        front.copy_from_slice(&all[..16]);
        rest.copy_from_slice(&all[16..]);
        Recent { front: u128::from_le_bytes(front), rest }
    }

    #[inline(always)]
    fn first(&self) -> u8 {
        self.front as u8
    }

    /// Moves the value at a place, at most 255, to the front.
    #[inline(always)]
    fn pull(&mut self, place: usize) -> u8 {
        if place < 16 {
            let value = (self.front >> (8 * place)) as u8;
            let moved = u128::MAX >> (120 - 8 * place);
            self.front = (self.front & !moved) | ((self.front << 8) & moved) | u128::from(value);
            return value;
        }
        let place = place - 16;
        let value = self.rest[place];
        self.rest.copy_within(..place, 1);
        self.rest[0] = (self.front >> 120) as u8;
        self.front = self.front << 8 | u128::from(value);
        value
    }
}

/// Unpacks blocks, with memory that is kept from one to the next.
pub(super) struct Unpacker {
    codes: Box<[Code; 6]>,
    selectors: Vec<u8>,
    /// The sorted text, then the text.
    bytes: Vec<u8>,
    unsorter: Unsorter,
    text: Vec<u8>,
}

impl Unpacker {
    pub fn new() -> Self {
        Unpacker {
            codes: Box::new([Code::EMPTY; 6]),
            selectors: Vec::new(),
            bytes: Vec::new(),
            unsorter: Unsorter::default(),
            text: Vec::new(),
        }
    }

    /// The text of a stream of one block, as [`Blocks`](super::bz2::Blocks) makes them.
    ///
    /// # Errors
    /// `InvalidData` or `UnexpectedEof` when the block is damaged, and also when it is of a kind that no
    /// encoder has made for decades (randomised), or has more than `limit` bytes of text.
    pub fn unpack(&mut self, stream: &[u8], limit: usize) -> io::Result<&[u8]> {
        let [b'B', b'Z', b'h', level @ b'1'..=b'9', block @ ..] = stream else {
            return Err(invalid("no header of a stream"));
        };
        let most = usize::from(level - b'0') * 100_000;
        let mut bits = Bits::new(block);
        if bits.take48()? != BLOCK {
            return Err(invalid("no mark of a block"));
        }
        let checksum = bits.take(32)?;
        if bits.flag()? {
            return Err(invalid("a randomised block"));
        }
        let start = bits.take(24)? as usize;
        let (values, count) = read_values(&mut bits)?;
        self.read_codes(&mut bits, count + 2)?;
        let (length, counts) = self.read_sorted(&mut bits, &values[..count], most)?;
        // the cut must have been made at the end of the block, not at bits that look like it
        if bits.take48()? != END || bits.take(32)? != checksum {
            return Err(invalid("a block that does not end where the next one starts"));
        }
        if start >= length {
            return Err(invalid("a start outside of the block"));
        }
        self.unsorter.unsort(&mut self.bytes[..length], start, &counts);
        expand(&self.bytes[..length], limit, &mut self.text)?;
        if crc(&self.text) != checksum {
            return Err(invalid("checksum of a block"));
        }
        Ok(&self.text)
    }

    /// Selectors and codes.
    fn read_codes(&mut self, bits: &mut Bits<'_>, symbols: usize) -> io::Result<()> {
        let codes = bits.take(3)? as usize;
        let selectors = bits.take(15)?;
        if !(2..=6).contains(&codes) || selectors == 0 {
            return Err(invalid("number of codes or selectors"));
        }
        self.selectors.clear();
        let mut recent: [u8; 6] = [0, 1, 2, 3, 4, 5];
        for _ in 0..selectors {
            let mut place = 0;
            while bits.flag()? {
                place += 1;
                if place == codes {
                    return Err(invalid("a selector of no code"));
                }
            }
            recent[..=place].rotate_right(1);
            self.selectors.push(recent[0]);
        }
        for code in &mut self.codes[..codes] {
            let mut lengths = [0; SYMBOLS];
            let mut length = bits.take(5)?;
            for each in &mut lengths[..symbols] {
                loop {
                    if !(1..=LONGEST as u32).contains(&length) {
                        return Err(invalid("length of a code"));
                    }
                    if !bits.flag()? {
                        break;
                    }
                    length = if bits.flag()? { length - 1 } else { length + 1 };
                }
                *each = length as u8;
            }
            code.build(&lengths[..symbols])?;
        }
        Ok(())
    }

    /// Huffman codes, runs and moves to the front undone: the sorted text, into `bytes`. Gives its
    /// length and how often it has each value.
    fn read_sorted(
        &mut self,
        bits: &mut Bits<'_>,
        values: &[u8],
        most: usize,
    ) -> io::Result<(usize, [u32; 256])> {
        grow(&mut self.bytes, most + STRIDE);
        let bytes = &mut self.bytes[..];
        let end = values.len() as u32 + 1;
        let mut recent = Recent::new(values);
        let mut counts = [0u32; 256];
        let mut length = 0;
        // a run's length is written in base two with the digits 1 and 2, lowest first
        let (mut run, mut digit) = (0, 1);
        for &selector in &self.selectors {
            let code = &self.codes[usize::from(selector)];
            for _ in 0..GROUP {
                bits.need(LONGEST as u32)?;
                let entry = u32::from(code.quick[(bits.window >> (64 - QUICK)) as usize]);
                let (symbol, used) =
                    if entry != 0 { (entry >> 5, entry & 31) } else { code.slow(bits.window)? };
                bits.skip(used);
                if symbol < 2 {
                    run += digit << symbol;
                    digit <<= 1;
                    if digit > 1 << 21 {
                        return Err(invalid("a run longer than any block"));
                    }
                    continue;
                }
                if run > 0 {
                    if run > most - length {
                        return Err(invalid("a block longer than it may be"));
                    }
                    let value = recent.first();
                    if run <= STRIDE {
                        bytes[length..length + STRIDE].fill(value);
                    } else {
                        bytes[length..length + run].fill(value);
                    }
                    counts[usize::from(value)] += run as u32;
                    length += run;
                    (run, digit) = (0, 1);
                }
                if symbol == end {
                    return Ok((length, counts));
                }
                if length == most {
                    return Err(invalid("a block longer than it may be"));
                }
                let value = recent.pull(symbol as usize - 1);
                counts[usize::from(value)] += 1;
                bytes[length] = value;
                length += 1;
            }
        }
        Err(invalid("a block without an end"))
    }
}

/// The values that a block has, in order, and how many.
fn read_values(bits: &mut Bits<'_>) -> io::Result<([u8; 256], usize)> {
    let (mut values, mut count) = ([0; 256], 0);
    let ranges = bits.take(16)?;
    for range in (0..16).filter(|r| ranges << r & 0x8000 != 0) {
        let used = bits.take(16)?;
        for value in (0..16).filter(|v| used << v & 0x8000 != 0) {
            values[count] = range << 4 | value;
            count += 1;
        }
    }
    if count == 0 {
        return Err(invalid("a block without values"));
    }
    Ok((values, count))
}

/// Undoes the first step of packing: after four equal bytes comes the number of further ones.
fn expand(packed: &[u8], limit: usize, text: &mut Vec<u8>) -> io::Result<()> {
    text.clear();
    let mut rest = packed;
    while let Some(run) = find_run(rest) {
        let (upto, after) = rest.split_at(run + 4);
        let Some((&more, after)) = after.split_first() else {
            return Err(invalid("a run without a length"));
        };
        text.extend_from_slice(upto);
        text.resize(text.len() + usize::from(more), upto[run]);
        if text.len() > limit {
            return Err(invalid("a block of very much text"));
        }
        rest = after;
    }
    text.extend_from_slice(rest);
    Ok(())
}

/// Where four equal bytes start.
fn find_run(bytes: &[u8]) -> Option<usize> {
    const LANES: usize = 32;
    let starts = |part: &[u8]| part.windows(4).position(|w| w[1..] == w[..3]);
    let mut from = 0;
    while let Some(part) = bytes[from..].first_chunk::<{ LANES + 3 }>() {
        let mut found = 0;
        for i in 0..LANES {
            let apart = (part[i] ^ part[i + 1]) | (part[i] ^ part[i + 2]) | (part[i] ^ part[i + 3]);
            found |= u8::from(apart == 0);
        }
        if found != 0 {
            return starts(part).map(|i| from + i);
        }
        from += LANES;
    }
    starts(&bytes[from..]).map(|i| from + i)
}

/// Checksums of a byte followed by 0 to 7 zero bytes.
static CRC: [[u32; 256]; 8] = {
    let mut tables = [[0u32; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut sum = (byte as u32) << 24;
        let mut step = 0;
        while step < 64 {
            let carry = sum >> 31;
            sum = (sum << 1) ^ (0x04c1_1db7 * carry);
            step += 1;
            if step % 8 == 0 {
                tables[step / 8 - 1][byte] = sum;
            }
        }
        byte += 1;
    }
    tables
};

/// CRC-32 as bzip2 has it, most significant bits first.
fn crc(bytes: &[u8]) -> u32 {
    let (eights, rest) = bytes.as_chunks::<8>();
    let mut sum = u32::MAX;
    for part in eights {
        let word = u64::from_be_bytes(*part) ^ u64::from(sum) << 32;
        sum = (0..8).fold(0, |sum, i| sum ^ CRC[i][(word >> (8 * i) & 255) as usize]);
    }
    for &byte in rest {
        sum = sum << 8 ^ CRC[0][(sum >> 24 ^ u32::from(byte)) as usize];
    }
    !sum
}

#[cfg(test)]
mod tests {
    use super::super::bz2::Blocks;
    use super::*;
    use bzip2::Compression;
    use bzip2::read::{BzDecoder, BzEncoder};
    use couloir::random::Streams;
    use proptest::prelude::*;
    use std::io::Read;

    /// The blocks of a packed text, as streams.
    fn blocks(text: &[u8], level: u32) -> Vec<Vec<u8>> {
        let packed = BzEncoder::new(text, Compression::new(level));
        let (mut cut, mut block, mut all) = (Blocks::new(packed), Vec::new(), Vec::new());
        while cut.next(&mut block).expect("a good stream") {
            all.push(block.clone());
        }
        all
    }

    fn by_crate(stream: &[u8]) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        BzDecoder::new(stream).read_to_end(&mut text)?;
        Ok(text)
    }

    fn noise(length: usize, values: u64) -> Vec<u8> {
        let mut stream = Streams::new(7).stream("noise");
        (0..length).map(|_| stream.below(values) as u8).collect()
    }

    /// Lines as in the files that this is for.
    fn lines(count: usize) -> Vec<u8> {
        let mut stream = Streams::new(7).stream("lines");
        let line =
            |_| format!("{} {}:0.{}\n", stream.below(20), stream.below(60_000), stream.below(9999));
        (0..count).map(line).collect::<String>().into_bytes()
    }

    #[test]
    fn every_kind_of_text_comes_back_whole() {
        let mut long_runs = vec![b'x'; 3_000_000];
        long_runs.extend((0..=600).flat_map(|i| vec![b'a' + (i % 2) as u8; i]));
        // values of very different frequency have codes longer than the quick table
        let skewed: Vec<u8> = (0..19u8)
            .flat_map(|v| vec![v; 1 << v])
            .zip(noise(1 << 19, 256))
            .flat_map(<[u8; 2]>::from)
            .collect();
        let texts = [
            Vec::new(),
            b"1".to_vec(),
            b"aaaa".to_vec(),
            b"1 1:2\n".repeat(100_000),
            b"ab".repeat(500),
            vec![0; 10],
            long_runs,
            skewed,
            (0..=255).collect(),
            (0..=255u8).rev().flat_map(|v| vec![v; usize::from(v)]).collect(),
            lines(150_000),
            noise(500_000, 3),
            noise(2_000_000, 256),
        ];
        let mut unpacker = Unpacker::new();
        for (which, text) in texts.iter().enumerate() {
            for level in [1, 5, 9] {
                let mut unpacked = Vec::new();
                for block in blocks(text, level) {
                    unpacked.extend_from_slice(
                        unpacker.unpack(&block, usize::MAX).expect("a good block"),
                    );
                }
                assert!(unpacked == *text, "text {which}, level {level}");
            }
        }
    }

    #[test]
    fn codes_too_long_for_the_quick_table_are_read() {
        let lengths: Vec<u8> = (1..=20).chain([20]).collect();
        let mut code = Code::EMPTY;
        code.build(&lengths).expect("a code");
        for (symbol, &length) in lengths.iter().enumerate().skip(QUICK as usize) {
            // ones and, but for the last, a zero
            let window = if symbol < 20 { !(1 << (64 - length)) } else { u64::MAX };
            assert_eq!(code.quick[(window >> (64 - QUICK)) as usize], 0);
            assert_eq!(code.slow(window).expect("a symbol"), (symbol as u32, u32::from(length)));
        }
        assert!(code.build(&[1, 1, 1]).is_err());
        code.build(&[11, 11]).expect("a code with gaps");
        assert!(code.slow(u64::MAX).is_err());
    }

    #[test]
    fn a_block_with_more_text_than_allowed_is_given_up() {
        let block = &blocks(&vec![b'x'; 40_000_000], 9)[0];
        let mut unpacker = Unpacker::new();
        let error = unpacker.unpack(block, 1000).expect_err("too much").to_string();
        assert_eq!(error, "a block of very much text");
        assert!(unpacker.text.len() <= 1000 + 259, "{}", unpacker.text.len());
        let whole = by_crate(block).expect("a good block");
        assert_eq!(unpacker.unpack(block, whole.len()).expect("a good block"), whole);
    }

    #[test]
    fn the_checksum_is_that_of_the_format() {
        assert_eq!(crc(b""), 0);
        assert_eq!(crc(b"123456789"), 0xfc89_1918);
    }

    #[test]
    fn randomised_blocks_and_cut_ones_are_left_to_others() {
        let block = &blocks(&lines(1000), 1)[0];
        let mut unpacker = Unpacker::new();
        for length in 0..block.len() {
            assert!(unpacker.unpack(&block[..length], usize::MAX).is_err(), "{length} bytes");
        }
        let mut randomised = block.clone();
        randomised[4 + 10] |= 0x80;
        let error = unpacker.unpack(&randomised, usize::MAX).expect_err("randomised");
        assert_eq!(error.to_string(), "a randomised block");
    }

    fn check_damaged(
        text: &[u8],
        damage: &[(usize, u8)],
    ) -> std::result::Result<(), TestCaseError> {
        let mut unpacker = Unpacker::new();
        for mut block in blocks(text, 1) {
            for (place, flip) in damage {
                let place = place % block.len();
                block[place] ^= flip;
            }
            if let Ok(unpacked) = unpacker.unpack(&block, usize::MAX) {
                prop_assert_eq!(unpacked, by_crate(&block).expect("what we took for good"));
            }
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn any_text_comes_back_whole(text in prop::collection::vec(prop_oneof![0..3u8, any::<u8>()], 0..3000)) {
            for block in blocks(&text, 1) {
                let mut unpacker = Unpacker::new();
                prop_assert_eq!(unpacker.unpack(&block, usize::MAX).expect("a good block"), &text[..]);
            }
        }

        #[test]
        fn damaged_blocks_are_errors_or_what_the_crate_reads(
            count in 1..300usize,
            damage in prop::collection::vec((any::<usize>(), any::<u8>()), 0..4),
        ) {
            check_damaged(&lines(count), &damage)?;
        }

        #[test]
        fn damaged_tables_are_errors_or_what_the_crate_reads(
            text in prop::collection::vec(0..40u8, 1..400),
            damage in prop::collection::vec((10..60usize, any::<u8>()), 1..4),
        ) {
            check_damaged(&text, &damage)?;
        }
    }
}
