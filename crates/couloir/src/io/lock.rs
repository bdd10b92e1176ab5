//! Locks on what two processes must not keep at once: a checkpoint, the folder of a comparison.

use super::place::{folder_of, is_at};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Holds a file, or what goes by its name, for this process: until it is dropped, or the process ends in whatever way. It binds those who ask for
/// it and nobody else.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// use couloir::io::{Lock, LockError};
/// let path = folder.path().join("run.checkpoint");
/// let held = Lock::beside(&path)?;
/// assert!(matches!(Lock::beside(&path), Err(LockError::Held)));
/// drop(held);
/// assert!(Lock::beside(&path).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Lock {
    file: File,
    /// The file to remove in the end.
    remove: Option<PathBuf>,
}

/// Why there is no lock.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// Another process has it.
    #[error("another process is using it")]
    Held,
    /// The file system refuses.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Lock {
    /// Locks the name `path`, whether there is a file or not, by an empty file `.NAME.lock` beside it, which is removed in
    /// the end.
    ///
    /// # Errors
    /// Another process holds it; the file cannot be made.
    pub fn beside(path: &Path) -> Result<Self, LockError> {
        let name = path.file_name().ok_or(io::Error::from(io::ErrorKind::InvalidInput))?;
        let mut beside = std::ffi::OsString::from(".");
        beside.push(name);
        beside.push(".lock");
        let beside = folder_of(path).join(beside);
        loop {
            let mut lock = Lock::on(&beside)?;
            // the process that had it before may have removed the file between the two steps
            if is_at(&lock.file, &beside) {
                held().push(beside.clone());
                lock.remove = Some(beside);
                return Ok(lock);
            }
        }
    }

    /// Locks this file itself, which is made if it is not there, and stays.
    ///
    /// # Errors
    /// Another process holds it; the file cannot be opened.
    pub fn on(path: &Path) -> Result<Self, LockError> {
        if path.is_symlink() {
            let why = format!("{} is a link; remove it", path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why).into());
        }
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Lock { file, remove: None }),
            Err(fs::TryLockError::WouldBlock) => Err(LockError::Held),
            // a file system without locks: nothing can be promised there
            Err(fs::TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                Ok(Lock { file, remove: None })
            }
            Err(fs::TryLockError::Error(error)) => Err(error.into()),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // removed while it is held, so that nobody else's is removed
        if let Some(path) = self.remove.take() {
            let mut held = held();
            if let Some(place) = held.iter().position(|other| *other == path) {
                held.swap_remove(place);
                let _ = fs::remove_file(path);
            }
        }
    }
}

/// The files that go with the locks of this process.
fn held() -> MutexGuard<'static, Vec<PathBuf>> {
    static HELD: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the files that go with the locks of this process on names in the folder of `path`: for a process that is about to end.
pub(super) fn remove_locks(path: &Path) {
    let folder = folder_of(path);
    held().retain(|lock| {
        let elsewhere = folder_of(lock) != folder;
        if !elsewhere {
            let _ = fs::remove_file(lock);
        }
        elsewhere
    });
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn one_at_a_time_holds_a_name_and_nothing_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("run.checkpoint");
        let (inside, times) = (AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        if let Ok(_lock) = Lock::beside(&path) {
                            assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                            times.fetch_add(1, Ordering::SeqCst);
                            inside.fetch_sub(1, Ordering::SeqCst);
                        }
                    }
                });
            }
        });
        assert!(times.load(Ordering::SeqCst) >= 4);
        assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 0);
    }

    #[test]
    fn a_lock_that_a_killed_process_left_is_taken_over() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join(".run.lock"), "").expect("a file");
        assert!(Lock::beside(&folder.path().join("run")).is_ok());
        assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 0);
    }

    #[test]
    fn a_lock_on_a_file_leaves_it_as_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("mark");
        fs::write(&path, "mine").expect("a file");
        let held = Lock::on(&path).expect("a lock");
        assert!(matches!(Lock::on(&path), Err(LockError::Held)));
        drop(held);
        assert_eq!(fs::read(&path).expect("the file"), b"mine");
    }
}
