//! What comes in and what goes out: data by path or name, within the memory there is; results into
//! paths that are known to work before the work begins.

use crate::failure::bad;
use crate::memory::Memory;
use crate::values::bytes;
use anyhow::{Context, Result};
use couloir::io::write_atomically;
use couloir_data::fetch::{Platform, cache_folder};
use couloir_data::libsvm::{ReadOptions, read, read_from};
use couloir_data::{DataError, Dataset, LineFault, catalogue};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// How much of a data file to bear.
#[derive(clap::Args, Clone, Copy)]
pub struct Limits {
    #[command(flatten)]
    pub memory: Memory,
    /// Refuse data with a line longer than this
    #[arg(long, value_name = "SIZE", value_parser = bytes, default_value = "64M", help_heading = "Limits")]
    max_line: u64,
    /// Refuse a .bz2 or .gz file with more text than this in it
    #[arg(long, value_name = "SIZE", value_parser = bytes, default_value = "4G", help_heading = "Limits")]
    max_unpacked: u64,
}

impl Limits {
    /// Bytes that may be used.
    pub fn memory(&self) -> u64 {
        self.memory.bytes()
    }

    /// How to read within these limits.
    pub fn read_options(&self, classes: Option<usize>) -> ReadOptions {
        let options = ReadOptions::default()
            .max_line(usize::try_from(self.max_line).unwrap_or(usize::MAX))
            .max_memory(self.memory())
            .max_text(self.max_unpacked);
        match classes {
            Some(classes) => options.classes(classes),
            None => options,
        }
    }
}

/// The folder where data sets are kept.
pub fn cache() -> Result<PathBuf> {
    cache_folder(Platform::current(), |name| std::env::var_os(name)).ok_or_else(|| {
        bad("no cache folder: neither HOME nor what else names it is set; use --dir")
    })
}

/// Where data comes from.
pub enum Source {
    /// Standard input.
    Input,
    /// A file.
    File(PathBuf),
}

impl Source {
    /// A path, `-` for standard input, or the name of a data set that has been fetched.
    pub fn find(data: &Path) -> Result<Self> {
        if data == Path::new("-") {
            return Ok(Source::Input);
        }
        let entry = data.to_str().and_then(catalogue::find);
        let Some(entry) = entry.filter(|_| !data.exists()) else {
            return Ok(Source::File(data.to_owned()));
        };
        let file = cache()?.join(entry.file);
        if file.is_file() {
            return Ok(Source::File(file));
        }
        let name = entry.name;
        Err(bad(format!(
            "{name}: not fetched yet; run `couloir data fetch {name}`, or name a file"
        )))
    }

    /// How messages call it.
    pub fn name(&self) -> &Path {
        match self {
            Source::Input => Path::new("standard input"),
            Source::File(path) => path,
        }
    }

    /// Reads it all.
    pub fn read(&self, options: &ReadOptions) -> Result<Dataset> {
        let data = match self {
            Source::Input => read_from(std::io::stdin(), "standard input", options),
            Source::File(path) => read(path, options),
        };
        data.map_err(|error| match option_for(&error) {
            Some(option) => bad(format!("{error} ({option})")),
            None => error.into(),
        })
    }
}

/// The option that the advice of an error speaks of.
fn option_for(error: &DataError) -> Option<&'static str> {
    match error {
        DataError::TooMuchMemory { .. } => Some("--max-memory"),
        DataError::TooMuchText { .. } => Some("--max-unpacked"),
        DataError::Line { fault: LineFault::TooLong { .. }, .. } => Some("--max-line"),
        DataError::TooFewClasses { .. } | DataError::UnnamedClasses { .. } => Some("--classes"),
        _ => None,
    }
}

/// Fails unless a file can be written to this path. Leaves no trace.
pub fn check_output(path: &Path) -> Result<()> {
    let shown = path.display();
    if path.is_dir() {
        return Err(bad(format!("{shown}: is a directory; name a file in it")));
    }
    let Some(name) = path.file_name() else {
        return Err(bad(format!("{shown}: names no file")));
    };
    if path.exists() && !path.is_file() {
        return Ok(()); // a device or a pipe, which needs no file beside it
    }
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if !folder.is_dir() {
        let folder = folder.display();
        return Err(bad(format!("{shown}: there is no folder {folder}; make it first")));
    }
    let mut probe = std::ffi::OsString::from(".");
    probe.push(name);
    probe.push(format!(".{}.probe", std::process::id()));
    let probe = folder.join(probe);
    match std::fs::File::create_new(&probe) {
        Ok(_) => Ok(std::fs::remove_file(&probe)?),
        Err(error) => Err(bad(format!("{shown}: cannot be written: {error}"))),
    }
}

/// Writes results to a file, of which nobody ever sees half, or where none is named to `out`.
pub fn write_result(
    path: Option<&Path>,
    out: &mut dyn Write,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<()> {
    match path {
        Some(path) => {
            write_atomically(path, write).with_context(|| format!("{}", path.display()))?;
        }
        None => {
            let mut out = io::BufWriter::new(out);
            write(&mut out)?;
            out.flush()?;
        }
    }
    Ok(())
}

/// Fails if two of these paths are the same file: one would overwrite the other.
pub fn check_distinct(paths: &[(&str, &Path)]) -> Result<()> {
    // a file that is still to be written has no canonical path, its folder has
    let whole = |path: &Path| {
        path.canonicalize().ok().or_else(|| {
            let parent =
                path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
            Some(parent.canonicalize().ok()?.join(path.file_name()?))
        })
    };
    for (i, (name, path)) in paths.iter().enumerate() {
        for (other_name, other) in &paths[..i] {
            if whole(path).is_some_and(|p| whole(other) == Some(p)) {
                let shown = path.display();
                return Err(bad(format!("{shown}: {other_name} and {name} are the same file")));
            }
        }
    }
    Ok(())
}

/// Runs a job on this many threads, or on as many as there are processors.
pub fn on_threads<T: Send>(
    threads: Option<usize>,
    job: impl FnOnce() -> Result<T> + Send,
) -> Result<T> {
    rayon::ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).build()?.install(job)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_checked_and_nothing_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        assert!(check_output(&path("new")).is_ok());
        assert!(check_output(folder.path()).is_err());
        assert!(check_output(&path("missing/new")).is_err());
        assert!(check_output(Path::new("/")).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 0);
        std::fs::write(path("there"), "x").expect("writing");
        assert!(check_output(&path("there")).is_ok());
        let (a, b) = (path("there"), path("./there"));
        assert!(check_distinct(&[("a", &a), ("b", &b)]).is_err());
        assert!(check_distinct(&[("a", &a), ("b", &path("new"))]).is_ok());
        assert!(check_distinct(&[("a", &path("new")), ("b", &path("./new"))]).is_err());
    }
}
