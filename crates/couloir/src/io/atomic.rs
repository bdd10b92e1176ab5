//! The one way to write files: beside, synced, renamed.

use super::place::{Place, folder_of, open_descriptor};
use super::unfinished;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// Writes a file so that no reader ever sees half of it: `write` fills a new file with an unguessable name in the same folder, which
/// is synced and renamed to `path`. On any error the old file, if there was one, stays as it was and
/// nothing is left behind.
///
/// A new file has the permissions that the process gives to new files (its umask), and never more than the file that it replaces had. A link is not
/// followed, and a read-only file is not replaced: both are errors. Devices, pipes and paths that stand for descriptors, such as
/// `/dev/stdout`, are written to as the streams that they are.
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
/// What the file system or `write` reports; a reader of a pipe that quits.
pub fn write_atomically(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    match Place::of(path)? {
        Place::File => replace(path, write),
        // who reads standard output may quit when it has seen enough, as in `| head`
        Place::Descriptor(1) => stream(open_descriptor(1)?, write),
        Place::Descriptor(number) => stream(open_descriptor(number)?, write).map_err(cut_off),
        Place::Device => stream(OpenOptions::new().write(true).open(path)?, write).map_err(cut_off),
    }
}

/// Fails unless [`write_atomically`] could write to this path now: for a job that wants to know before it begins. Leaves no trace.
///
/// # Errors
/// Why it could not.
pub fn check_output(path: &Path) -> io::Result<()> {
    if Place::of(path)? != Place::File {
        return Ok(()); // a stream needs no file beside it
    }
    let folder = folder_of(path);
    if !folder.is_dir() {
        let why = format!("there is no folder {}; make it first", folder.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, why));
    }
    let (file, probe) = unfinished::create(folder)?;
    fs::remove_file(probe)?;
    drop(file);
    Ok(())
}

/// A pipe whose reader quit: somebody wanted everything and did not get it.
fn cut_off(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::BrokenPipe => {
            io::Error::other("its reader quit before everything was written")
        }
        _ => error,
    }
}

fn stream(file: File, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = io::BufWriter::new(file);
    write(&mut out)?;
    out.flush()
}

fn replace(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let old = fs::symlink_metadata(path).ok().map(|old| old.permissions());
    let (file, beside) = unfinished::create(folder_of(path))?;
    let written = fill(&file, old, write).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        // The error that matters is the one above.
        let _ = fs::remove_file(&beside);
        return written;
    }
    // the lock on the file ends here, when it has its name
    drop(file);
    sync_folder(path)
}

fn fill(
    file: &File,
    old: Option<fs::Permissions>,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    if let Some(old) = old {
        let new = file.metadata()?.permissions();
        if let Some(narrowed) = narrow(&new, &old) {
            file.set_permissions(narrowed)?;
        }
    }
    let mut out = io::BufWriter::new(file);
    write(&mut out)?;
    out.flush()?;
    file.sync_all()
}

/// The permissions that both have, where these are not the new ones.
#[cfg(unix)]
fn narrow(new: &fs::Permissions, old: &fs::Permissions) -> Option<fs::Permissions> {
    use std::os::unix::fs::PermissionsExt as _;
    let (new, old) = (new.mode() & 0o777, old.mode() & 0o777);
    (new & old != new).then(|| fs::Permissions::from_mode(new & old))
}

#[cfg(not(unix))]
fn narrow(_: &fs::Permissions, _: &fs::Permissions) -> Option<fs::Permissions> {
    None
}

/// Makes the rename itself durable, where the platform can.
fn sync_folder(path: &Path) -> io::Result<()> {
    match File::open(folder_of(path)) {
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
                        super::super::remove_stale(path);
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
    fn permissions_never_widen_and_special_bits_are_not_copied() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("model");
        let mode = |path: &Path| fs::metadata(path).expect("a file").permissions().mode() & 0o7777;
        write_atomically(&path, |_| Ok(())).expect("a write");
        let usual = mode(&path);
        for (before, after) in [(0o600, 0o600), (0o4755, usual), (0o2666, usual), (0o777, usual)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(before)).expect("permissions");
            write_atomically(&path, |out| out.write_all(b"new")).expect("a write");
            assert_eq!(mode(&path), after & usual, "from {before:o}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_an_error_and_stays() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (path, link) = (folder.path().join("model"), folder.path().join("link"));
        fs::write(&path, b"old").expect("the first file");
        std::os::unix::fs::symlink("model", &link).expect("a link");
        assert!(check_output(&link).is_err());
        assert!(write_atomically(&link, |out| out.write_all(b"new")).is_err());
        assert!(link.is_symlink());
        assert_eq!(fs::read(&path).expect("the file"), b"old");
    }

    #[test]
    fn a_check_leaves_nothing_and_says_what_a_write_would() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = |name: &str| folder.path().join(name);
        assert!(check_output(&path("new")).is_ok());
        assert!(check_output(folder.path()).is_err());
        assert!(check_output(&path("missing/new")).is_err());
        assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 0);
        // one byte less than a name may have
        assert!(check_output(&path(&"n".repeat(255))).is_ok());
        write_atomically(&path(&"n".repeat(255)), |out| out.write_all(b"x")).expect("a long name");
        assert!(check_output(&path(&"n".repeat(256))).is_err());
    }

    #[test]
    fn a_path_without_a_file_name_is_an_error() {
        for (path, kind) in [("/", io::ErrorKind::IsADirectory), ("", io::ErrorKind::NotFound)] {
            let error = write_atomically(Path::new(path), |_| Ok(())).expect_err("no file name");
            assert_eq!(error.kind(), kind, "{path}");
        }
    }
}
