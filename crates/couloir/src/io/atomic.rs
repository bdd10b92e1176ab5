//! The one way to write files: beside, synced, renamed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes a file so that no reader ever sees half of it: `write` fills a new file beside `path`, which
/// is synced and renamed over it. On any error the old file, if there was one, stays as it was and
/// nothing is left behind.
///
/// A new file has the permissions of the one it replaces. Where `path` is a link, the file that it leads to is
/// replaced; a device or a pipe is no file that could be, and is written to as it is.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("answer.txt");
/// couloir::io::write_atomically(&path, |out| out.write_all(b"42"))?;
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
    let old = fs::metadata(path).ok();
    if old.as_ref().is_some_and(|old| !old.is_file() && !old.is_dir()) {
        let mut device = io::BufWriter::new(OpenOptions::new().write(true).open(path)?);
        write(&mut device)?;
        return device.flush();
    }
    let target = match path.is_symlink() {
        true => path.canonicalize()?,
        false => path.to_owned(),
    };
    let beside = name_beside(&target)?;
    let permissions = old.map(|old| old.permissions());
    let result = fill(&beside, permissions, write).and_then(|()| fs::rename(&beside, &target));
    if result.is_err() {
        // The error that matters is the one above.
        let _ = fs::remove_file(&beside);
        return result;
    }
    sync_folder(&target)
}

/// A name that no other thread or process uses.
fn name_beside(path: &Path) -> io::Result<PathBuf> {
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name().ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidInput, format!("{} names no file", path.display()))
    })?;
    let count = WRITTEN.fetch_add(1, Ordering::Relaxed);
    let mut beside = std::ffi::OsString::from(".");
    beside.push(name);
    beside.push(format!(".{}-{count}.partial", std::process::id()));
    Ok(path.with_file_name(beside))
}

fn fill(
    path: &Path,
    permissions: Option<fs::Permissions>,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    // a process of the same number may have left one when it was killed
    let _ = fs::remove_file(path);
    // a new one: a link that someone put in its place is not followed
    let file = File::create_new(path)?;
    if let Some(permissions) = permissions {
        file.set_permissions(permissions)?;
    }
    let mut file = io::BufWriter::new(file);
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
    fn threads_that_write_the_same_file_do_not_meet() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("model");
        std::thread::scope(|scope| {
            for thread in 0..4u8 {
                let path = &path;
                scope.spawn(move || {
                    for _ in 0..20 {
                        write_atomically(path, |out| out.write_all(&[thread; 10_000]))
                            .expect("a write");
                    }
                });
            }
        });
        let last = fs::read(&path).expect("the file");
        assert!(last.len() == 10_000 && last.iter().all(|byte| *byte == last[0]));
        assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn permissions_stay_and_a_link_still_leads_to_the_file() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (path, link) = (folder.path().join("model"), folder.path().join("link"));
        fs::write(&path, b"old").expect("the first file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("permissions");
        symlink("model", &link).expect("a link");
        write_atomically(&link, |out| out.write_all(b"new")).expect("a write");
        assert!(link.is_symlink());
        assert_eq!(fs::read(&path).expect("the file"), b"new");
        let mode = fs::metadata(&path).expect("the file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        // a link that leads nowhere is an error, and stays
        fs::remove_file(&path).expect("removing");
        assert!(write_atomically(&link, |_| Ok(())).is_err());
        assert!(link.is_symlink());
    }

    #[test]
    fn a_path_without_a_file_name_is_an_error() {
        let error = write_atomically(Path::new("/"), |_| Ok(())).expect_err("no file name");
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }
}
