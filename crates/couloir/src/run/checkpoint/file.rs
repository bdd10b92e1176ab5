//! The file of a checkpoint: 8 bytes that say what it is, the version of the format, the entries of an
//! [`Archive`], the length of the file and a CRC-32 of all before it. Numbers are little-endian.

use super::archive::{Archive, io_error};
use super::error::CheckpointError;
use crate::error::{Error, Result};
use crate::run::write_atomically;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

const MAGIC: [u8; 8] = *b"COULCKPT";
const VERSION: u32 = 1;
/// Bytes before and after the entries.
const HEAD: u64 = 12;
const TAIL: u64 = 12;
/// Bytes that are handled at a time.
const BUFFER: usize = 1 << 16;

/// Writes a checkpoint in one pass; the one before it stays until the new one is whole.
pub(super) fn write(path: &Path, state: impl FnOnce(&mut Archive<'_>) -> Result<()>) -> Result<()> {
    let mut failed = None;
    let written = write_atomically(path, |out| {
        let mut out = BufWriter::with_capacity(BUFFER, Summed::new(out));
        out.write_all(&MAGIC)?;
        out.write_all(&VERSION.to_le_bytes())?;
        if let Err(error) = state(&mut Archive::save(path, &mut out)) {
            failed = Some(error);
            return Err(io::Error::other("the state could not be saved"));
        }
        out.flush()?;
        let length = out.get_ref().length + TAIL;
        out.write_all(&length.to_le_bytes())?;
        out.flush()?;
        let sum = out.get_ref().sum.clone().finalize();
        out.write_all(&sum.to_le_bytes())?;
        out.flush()
    });
    match (failed, written) {
        (Some(error), _) => Err(error),
        (None, Err(error)) => Err(io_error(path, &error)),
        (None, Ok(())) => Ok(()),
    }
}

/// Loads a checkpoint, which nobody needs to trust: nothing is taken from it before its sum is right, and no entry
/// is larger than what the run has room for or the file has bytes.
pub(super) fn read(path: &Path, state: impl FnOnce(&mut Archive<'_>) -> Result<()>) -> Result<()> {
    let (file, length) = open(path)?;
    let mut input = BufReader::with_capacity(BUFFER, file);
    let mut archive = Archive::load(path, &mut input, length - HEAD - TAIL);
    state(&mut archive)?;
    archive.finish()
}

/// Opens a checkpoint at its first entry, after a look at all of it.
pub(super) fn open(path: &Path) -> Result<(File, u64)> {
    let failed = |error: &io::Error| io_error(path, error);
    let bad = |error: CheckpointError| Error::Checkpoint { file: path.to_owned(), error };
    // looks before opening: opening a pipe would wait for someone to write
    let metadata = std::fs::metadata(path).map_err(|e| failed(&e))?;
    if !metadata.is_file() {
        let what = if metadata.is_dir() { "a directory" } else { "a device or pipe" };
        return Err(bad(CheckpointError::NotAFile { what }));
    }
    let mut file = File::open(path).map_err(|e| failed(&e))?;
    let length = file.metadata().map_err(|e| failed(&e))?.len();
    let mut head = [0; HEAD as usize];
    let got = read_up_to(&mut file, &mut head).map_err(|e| failed(&e))?;
    if got < MAGIC.len() || head[..8] != MAGIC {
        return Err(bad(CheckpointError::NotACheckpoint));
    }
    if got < head.len() || length < HEAD + TAIL {
        let why = format!("{length} bytes are too few");
        return Err(bad(CheckpointError::Damaged { why }));
    }
    let version = u32::from_le_bytes([head[8], head[9], head[10], head[11]]);
    if version != VERSION {
        return Err(bad(CheckpointError::Version { got: version, expected: VERSION }));
    }
    let mut sum = crc32fast::Hasher::new();
    sum.update(&head);
    let mut buffer = vec![0; BUFFER];
    let mut left = length - HEAD - 4;
    let mut last = [0; 8];
    while left > 0 {
        let part = &mut buffer[..left.min(BUFFER as u64) as usize];
        file.read_exact(part).map_err(|e| failed(&e))?;
        sum.update(part);
        for byte in &part[part.len().saturating_sub(8)..] {
            last.rotate_left(1);
            last[7] = *byte;
        }
        left -= part.len() as u64;
    }
    let mut expected = [0; 4];
    file.read_exact(&mut expected).map_err(|e| failed(&e))?;
    if u64::from_le_bytes(last) != length || u32::from_le_bytes(expected) != sum.finalize() {
        let why = "its length or its sum is not what it was written with".to_owned();
        return Err(bad(CheckpointError::Damaged { why }));
    }
    file.seek(SeekFrom::Start(HEAD)).map_err(|e| failed(&e))?;
    Ok((file, length))
}

/// Reads until the buffer is full or the file ends; tells how much that was.
fn read_up_to(file: &mut File, bytes: &mut [u8]) -> io::Result<usize> {
    let mut got = 0;
    while got < bytes.len() {
        match file.read(&mut bytes[got..])? {
            0 => break,
            more => got += more,
        }
    }
    Ok(got)
}

/// Counts and sums what goes through.
struct Summed<'a> {
    out: &'a mut dyn Write,
    sum: crc32fast::Hasher,
    length: u64,
}

impl<'a> Summed<'a> {
    fn new(out: &'a mut dyn Write) -> Self {
        Summed { out, sum: crc32fast::Hasher::new(), length: 0 }
    }
}

impl Write for Summed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.sum.update(&bytes[..written]);
        self.length += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
