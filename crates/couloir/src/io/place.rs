//! What stands at the path of an output: a file that can be replaced, or a stream that is written to as it is.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// Where an output goes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A file, or nothing yet: it is replaced as a whole.
    File,
    /// A descriptor of this process, by its number: what was written to it before stays.
    Descriptor(u32),
    /// A device or a pipe.
    Device,
}

impl Place {
    /// Looks without following a link: whoever can put a link there could make us replace any file.
    ///
    /// # Errors
    /// A link, a folder, a file that is read-only, a name that no file can have.
    pub fn of(path: &Path) -> io::Result<Self> {
        if let Some(number) = descriptor(path) {
            return Ok(Place::Descriptor(number));
        }
        let metadata = match fs::symlink_metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound && path.file_name().is_some() => {
                return Ok(Place::File);
            }
            Err(error) => return Err(error),
        };
        if metadata.is_symlink() {
            let to = fs::read_link(path)?;
            let why = format!("it is a link to {}; name the file itself", to.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        if metadata.is_dir() {
            let why = "it is a folder; name a file in it";
            return Err(io::Error::new(io::ErrorKind::IsADirectory, why));
        }
        if !metadata.is_file() {
            return Ok(Place::Device);
        }
        if metadata.permissions().readonly() {
            let why = "the file is read-only; remove it first, or name another";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        Ok(Place::File)
    }
}

/// The descriptor that a path like `/dev/stdout` stands for. Opening such a path would begin anew at the start of a file that
/// others write to as well.
fn descriptor(path: &Path) -> Option<u32> {
    if !cfg!(unix) {
        return None;
    }
    match path.to_str()? {
        "/dev/stdout" => Some(1),
        "/dev/stderr" => Some(2),
        other => {
            let number =
                other.strip_prefix("/dev/fd/").or_else(|| other.strip_prefix("/proc/self/fd/"))?;
            number.parse().ok()
        }
    }
}

/// The stream behind a descriptor, at the place where it is: a copy of it for the standard streams.
#[cfg(unix)]
pub(super) fn open_descriptor(number: u32) -> io::Result<File> {
    use std::os::fd::AsFd as _;
    let copy = match number {
        1 => io::stdout().as_fd().try_clone_to_owned()?,
        2 => io::stderr().as_fd().try_clone_to_owned()?,
        _ => {
            let path = PathBuf::from(format!("/dev/fd/{number}"));
            // a file of the shell's is only ever added to
            let is_file = fs::metadata(&path)?.is_file();
            return OpenOptions::new().write(true).append(is_file).open(path);
        }
    };
    Ok(File::from(copy))
}

/// There are no such paths.
#[cfg(not(unix))]
pub(super) fn open_descriptor(_: u32) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The folder that a path lies in.
pub(super) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Whether this file is what stands at this path, which may have been removed or replaced since it was opened.
#[cfg(unix)]
pub(super) fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(own), Ok(there)) => (own.dev(), own.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
pub(super) fn is_at(_: &File, path: &Path) -> bool {
    path.exists()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    #[test]
    fn links_folders_and_read_only_files_are_refused_with_the_reason() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let refused = |name: &str| Place::of(&path(name)).expect_err(name).to_string();
        symlink("nowhere", path("dangling")).expect("a link");
        assert_eq!(refused("dangling"), "it is a link to nowhere; name the file itself");
        symlink("loop", path("loop")).expect("a link");
        assert_eq!(refused("loop"), "it is a link to loop; name the file itself");
        fs::create_dir(path("folder")).expect("a folder");
        assert_eq!(refused("folder"), "it is a folder; name a file in it");
        fs::write(path("kept"), "x").expect("a file");
        fs::set_permissions(path("kept"), fs::Permissions::from_mode(0o444)).expect("permissions");
        assert_eq!(refused("kept"), "the file is read-only; remove it first, or name another");
        let long = "n".repeat(300);
        assert!(refused(&long).starts_with("File name too long"));
        assert_eq!(Place::of(&path("new")).expect("a new file"), Place::File);
    }

    #[test]
    fn descriptors_and_devices_are_streams() {
        assert_eq!(Place::of(Path::new("/dev/stdout")).expect("a stream"), Place::Descriptor(1));
        assert_eq!(Place::of(Path::new("/dev/fd/2")).expect("a stream"), Place::Descriptor(2));
        assert_eq!(Place::of(Path::new("/dev/null")).expect("a device"), Place::Device);
    }
}
