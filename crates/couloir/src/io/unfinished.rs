//! The files in which outputs grow before they get their names, and what is left of them when a process is killed.
//!
//! Their names are unguessable, they are only ever made anew, and the process that writes one holds a lock on it. So a file
//! of this kind that nobody holds is left over from a process that is gone, in whatever namespace that was.

use super::lock::remove_locks;
use super::place::{folder_of, is_at};
use std::fs::{self, File};
use std::hash::BuildHasher as _;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

const PREFIX: &str = ".couloir-";
const SUFFIX: &str = ".partial";
/// Names that may turn out to be taken.
const TRIES: usize = 16;

/// What all unfinished files of this process have in their names: a number that the system draws.
static OWN: LazyLock<String> = LazyLock::new(|| {
    let drawn = std::collections::hash_map::RandomState::new().hash_one(std::process::id());
    format!("{drawn:016x}")
});

/// A new file in this folder, with a lock on it.
pub(super) fn create(folder: &Path) -> io::Result<(File, PathBuf)> {
    static MADE: AtomicU64 = AtomicU64::new(0);
    for _ in 0..TRIES {
        let count = MADE.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("{PREFIX}{}-{count}{SUFFIX}", *OWN));
        let file = match File::create_new(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            Err(error) => return Err(error),
        };
        if !cfg!(unix) {
            return Ok((file, path));
        }
        match file.try_lock() {
            // before it was locked, another process may have taken it for one that was left over
            Ok(()) if is_at(&file, &path) => return Ok((file, path)),
            Ok(()) | Err(fs::TryLockError::WouldBlock) => {}
            // a file system without locks, whose unfinished files nobody removes
            Err(fs::TryLockError::Error(_)) => return Ok((file, path)),
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, "no name is free for an unfinished file"))
}

/// Removes the unfinished files in the folder of `path` whose processes are gone. Nothing depends on it, so nothing is said
/// of files that cannot be removed. Where the file system knows no locks, nothing is removed.
pub fn remove_stale(path: &Path) {
    if !cfg!(unix) {
        return;
    }
    for path in unfinished(path, is_unfinished) {
        // the lock is kept until the file is gone
        if let Ok(file) = File::open(&path)
            && file.try_lock().is_ok()
            && is_at(&file, &path)
        {
            let _ = fs::remove_file(&path);
        }
    }
}

/// Removes what this process has in the folder of `path` and has not finished, and the files that go with its locks there: for a
/// process that is about to end.
pub fn remove_unfinished(path: &Path) {
    remove_locks(path);
    let own = format!("{PREFIX}{}-", *OWN);
    for path in unfinished(path, |name| name.starts_with(&own) && is_unfinished(name)) {
        let _ = fs::remove_file(path);
    }
}

/// The files in the folder of `path` with such names.
fn unfinished(path: &Path, is_one: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let entries = folder_of(path).read_dir().into_iter().flatten().flatten();
    let is_file = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_file());
    entries
        .filter(|entry| entry.file_name().to_str().is_some_and(&is_one) && is_file(entry))
        .map(|entry| entry.path())
        .collect()
}

/// Whether this is a name that [`create`] gives.
fn is_unfinished(name: &str) -> bool {
    let parts = name
        .strip_prefix(PREFIX)
        .and_then(|name| name.strip_suffix(SUFFIX))
        .and_then(|name| name.split_once('-'));
    parts.is_some_and(|(process, count)| {
        process.len() == 16
            && process.bytes().all(|byte| byte.is_ascii_hexdigit())
            && !count.is_empty()
            && count.bytes().all(|byte| byte.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn only_unfinished_files_that_nobody_holds_are_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let stale = [".couloir-0123456789abcdef-0.partial", ".couloir-fedcba9876543210-17.partial"];
        let users = [
            "model",
            ".model.4294967294.partial",
            ".couloir-0123456789abcdef-.partial",
            ".couloir-0123456789abcde-1.partial",
            ".couloir-0123456789abcdeg-1.partial",
            ".couloir-0123456789abcdef-1",
        ];
        for name in stale.iter().chain(&users) {
            fs::write(folder.path().join(name), "x").expect("writing");
        }
        let target = folder.path().join("model");
        let (held, own) = create(folder.path()).expect("a new file");
        remove_stale(&target);
        assert!(stale.iter().all(|name| !folder.path().join(name).exists()));
        assert!(users.iter().all(|name| folder.path().join(name).exists()) && own.exists());
        remove_unfinished(&target);
        assert!(!own.exists());
        assert_eq!(folder.path().read_dir().expect("the folder").count(), users.len());
        drop(held);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_with_the_name_of_an_unfinished_file_is_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let link = folder.path().join(".couloir-0123456789abcdef-0.partial");
        let file = folder.path().join("precious");
        fs::write(&file, "x").expect("writing");
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        remove_stale(&folder.path().join("model"));
        assert!(link.is_symlink() && file.exists());
    }

    #[test]
    fn a_name_that_is_taken_is_passed_over() {
        let folder = tempfile::tempdir().expect("a folder");
        let (_first, path) = create(folder.path()).expect("a file");
        let (_second, other) = create(folder.path()).expect("another");
        assert_ne!(path, other);
        assert!(is_unfinished(path.file_name().and_then(|name| name.to_str()).expect("a name")));
    }
}
