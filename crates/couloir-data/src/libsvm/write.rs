//! Writing: shortest numbers that read back to the same bits.

use crate::dataset::Dataset;
use crate::error::{DataError, Result};
use bzip2::write::BzEncoder;
use couloir::io::write_atomically;
use flate2::write::GzEncoder;
use std::io::{self, Write};
use std::path::Path;

/// Writes a data set to a file, beside it first and then renamed, so that no one ever sees half of it. A name
/// that ends in `.bz2` or `.gz` is packed so.
/// Classes that no row has, and features beyond the largest used, are not in the format: give them to
/// [`ReadOptions`](super::ReadOptions) when reading.
///
/// # Errors
/// What the file system reports.
pub fn write(path: &Path, data: &Dataset) -> Result<()> {
    let packing = path.extension().and_then(|extension| extension.to_str());
    write_atomically(path, |out| match packing {
        Some("bz2") => {
            let mut packed = BzEncoder::new(out, bzip2::Compression::best());
            write_to(&mut packed, data)?;
            packed.finish().map(|_| ())
        }
        Some("gz") => {
            let mut packed = GzEncoder::new(out, flate2::Compression::default());
            write_to(&mut packed, data)?;
            packed.finish().map(|_| ())
        }
        _ => write_to(out, data),
    })
    .map_err(|error| DataError::Io {
        file: path.to_owned(),
        kind: error.kind(),
        why: format!("could not be written: {error}"),
    })
}

/// Writes a data set as LIBSVM text.
///
/// # Errors
/// What `out` reports.
pub fn write_to(out: &mut (impl Write + ?Sized), data: &Dataset) -> io::Result<()> {
    let mut line = Vec::new();
    for i in 0..data.len() {
        line.clear();
        line.extend_from_slice(data.classes[data.labels[i] as usize].text().as_bytes());
        let (indices, values) = data.row(i);
        for (&index, &value) in indices.iter().zip(values) {
            let index = u64::from(index) + 1;
            // both forms are the shortest digits that read back to the same number
            if value == 0.0 || (1e-5..1e16).contains(&value.abs()) {
                write!(line, " {index}:{value}")?;
            } else {
                write!(line, " {index}:{value:e}")?;
            }
        }
        line.push(b'\n');
        out.write_all(&line)?;
    }
    Ok(())
}
