//! The file of a checkpoint: 8 bytes that say what it is, the version of the format, the entries of an
//! [`Archive`], the length of the file and a CRC-32 of all before it. Numbers are little-endian.

use crate::error::{CheckpointError, Error, Result};
use crate::io::write_atomically;
use crate::state::{Archive, io_error};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

const MAGIC: [u8; 8] = *b"COULCKPT";
/// 2: methods are named by one table, and the trace is thinned. 3: certified MPCGS starts its weights anew.
const VERSION: u32 = 3;
/// Bytes before and after the entries.
const HEAD: u64 = 12;
const TAIL: u64 = 12;
/// Bytes that are handled at a time.
const BUFFER: usize = 1 << 16;

/// Parts of [`BUFFER`] bytes that may wait for the disk: 4 MiB.
const WAITING: usize = 64;

/// A checkpoint on its way to the disk: a thread writes, syncs and renames it while the run goes on. The one before
/// it stays until the new one is whole.
pub(super) struct Writing {
    path: PathBuf,
    thread: JoinHandle<io::Result<()>>,
}

/// What the thread is sent; a checkpoint without its last part is not kept.
enum Part {
    Bytes(Vec<u8>),
    Last,
}

impl Writing {
    /// Takes the state, in one pass.
    pub fn begin(path: &Path, state: impl FnOnce(&mut Archive<'_>) -> Result<()>) -> Result<Self> {
        Writing::begin_with(path, |out| state(&mut Archive::save(path, out)))
    }

    /// Takes the entries as they are written.
    pub fn begin_with(
        path: &Path,
        entries: impl FnOnce(&mut dyn Write) -> Result<()>,
    ) -> Result<Self> {
        let (parts, received) = sync_channel(WAITING);
        let target = path.to_owned();
        let write = move || {
            write_atomically(&target, |out| {
                loop {
                    match received.recv() {
                        Ok(Part::Bytes(bytes)) => out.write_all(&bytes)?,
                        Ok(Part::Last) => return Ok(()),
                        Err(_) => return Err(io::Error::other("the state could not be saved")),
                    }
                }
            })
        };
        // a system that gives no thread costs a checkpoint and not the run
        let thread =
            std::thread::Builder::new().spawn(write).map_err(|error| io_error(path, &error))?;
        let writing = Writing { path: path.to_owned(), thread };
        match send(path, parts, entries) {
            Ok(()) => Ok(writing),
            // the thread knows better than the channel what went wrong with the file
            Err(Error::Checkpoint { error: CheckpointError::Io { .. }, .. }) => {
                Err(writing.finish().err().unwrap_or_else(|| gone(path)))
            }
            Err(error) => {
                let _ = writing.finish(); // it has nothing to write and clears up
                Err(error)
            }
        }
    }

    /// Waits until it is on the disk.
    pub fn finish(self) -> Result<()> {
        match self.thread.join() {
            Ok(written) => written.map_err(|error| io_error(&self.path, &error)),
            Err(_) => Err(gone(&self.path)),
        }
    }
}

fn gone(path: &Path) -> Error {
    io_error(path, &io::Error::other("the thread that wrote it is gone"))
}

/// All parts of a checkpoint.
fn send(
    path: &Path,
    parts: SyncSender<Part>,
    entries: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<()> {
    let failed = |error: io::Error| io_error(path, &error);
    let mut out = BufWriter::with_capacity(BUFFER, Summed::new(parts));
    out.write_all(&MAGIC).map_err(failed)?;
    out.write_all(&VERSION.to_le_bytes()).map_err(failed)?;
    entries(&mut out)?;
    out.flush().map_err(failed)?;
    let length = out.get_ref().length + TAIL;
    out.write_all(&length.to_le_bytes()).map_err(failed)?;
    out.flush().map_err(failed)?;
    let sum = out.get_ref().sum.clone().finalize();
    out.write_all(&sum.to_le_bytes()).map_err(failed)?;
    out.flush().map_err(failed)?;
    out.get_ref().send(Part::Last).map_err(failed)
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
    let damaged = || {
        let why = "its length or its sum is not what it was written with".to_owned();
        bad(CheckpointError::Damaged { why })
    };
    // a look at its end before one at all of it, which takes a minute where someone made a hole of 300 GB
    file.seek(SeekFrom::Start(length - TAIL)).map_err(|e| failed(&e))?;
    let mut written = [0; 8];
    file.read_exact(&mut written).map_err(|e| failed(&e))?;
    if u64::from_le_bytes(written) != length {
        return Err(damaged());
    }
    file.seek(SeekFrom::Start(HEAD)).map_err(|e| failed(&e))?;
    let mut sum = crc32fast::Hasher::new();
    sum.update(&head);
    let mut buffer = vec![0; BUFFER];
    let mut left = length - HEAD - 4;
    while left > 0 {
        let part = &mut buffer[..left.min(BUFFER as u64) as usize];
        file.read_exact(part).map_err(|e| failed(&e))?;
        sum.update(part);
        left -= part.len() as u64;
    }
    let mut expected = [0; 4];
    file.read_exact(&mut expected).map_err(|e| failed(&e))?;
    if u32::from_le_bytes(expected) != sum.finalize() {
        return Err(damaged());
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

/// Counts and sums what goes through, on its way to the thread that writes.
struct Summed {
    parts: SyncSender<Part>,
    sum: crc32fast::Hasher,
    length: u64,
}

impl Summed {
    fn new(parts: SyncSender<Part>) -> Self {
        Summed { parts, sum: crc32fast::Hasher::new(), length: 0 }
    }

    fn send(&self, part: Part) -> io::Result<()> {
        self.parts.send(part).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

impl Write for Summed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.sum.update(bytes);
        self.length += bytes.len() as u64;
        self.send(Part::Bytes(bytes.to_vec()))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
