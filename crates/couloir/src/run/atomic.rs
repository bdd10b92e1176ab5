//! The one way to write files: beside, synced, renamed.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes a file so that no reader ever sees half of it: `write` fills a new file beside `path`, which
/// is synced and renamed over it. On any error the old file, if there was one, stays as it was and
/// nothing is left behind.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("answer.txt");
/// couloir::run::write_atomically(&path, |out| out.write_all(b"42"))?;
/// assert_eq!(std::fs::read(&path)?, b"42");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// What the file system or `write` reports.
pub fn write_atomically(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let beside = name_beside(path)?;
    let result = fill(&beside, write).and_then(|()| fs::rename(&beside, path));
    if result.is_err() {
        // The error that matters is the one above.
        let _ = fs::remove_file(&beside);
        return result;
    }
    sync_folder(path)
}

fn name_beside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidInput, format!("{} names no file", path.display()))
    })?;
    let mut beside = std::ffi::OsString::from(".");
    beside.push(name);
    beside.push(format!(".{}.partial", std::process::id()));
    Ok(path.with_file_name(beside))
}

fn fill(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut file = io::BufWriter::new(File::create(path)?);
    write(&mut file)?;
    file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
}

/// Makes the rename itself durable, where the platform can.
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = match path.parent() {
        Some(p) if !p.as_os_str().is_empty() => p,
        _ => Path::new("."),
    };
    match File::open(folder) {
        Ok(folder) if cfg!(unix) => folder.sync_all(),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("model");
        write_atomically(&path, |out| out.write_all(b"old")).expect("the first write");
        let failed = write_atomically(&path, |out| {
            out.write_all(b"half of the new")?;
            Err(io::Error::other("disk full"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).expect("the old file"), b"old");
        assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 1);
    }

    #[test]
    fn a_path_without_a_file_name_is_an_error() {
        let error = write_atomically(Path::new("/"), |_| Ok(())).expect_err("no file name");
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }
}
