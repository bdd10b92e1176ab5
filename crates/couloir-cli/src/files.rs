//! What comes in and what goes out: data by path or name, within the memory there is; results into
//! paths that are known to work before the work begins.

use crate::failure::bad;
use crate::memory::Memory;
use crate::values::bytes;
use anyhow::{Context, Result};
use couloir::io::{remove_stale, write_atomically};
use couloir_data::fetch::{Platform, cache_folder, find_fetched};
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

/// How messages call standard input.
const STANDARD_INPUT: &str = "standard input";

/// Where data comes from.
pub enum Source {
    /// Standard input.
    Input,
    /// A file.
    File(PathBuf),
}

impl Source {
    /// A path, `-` for standard input, or the name of a data set that has been fetched, whose digest is held against the
    /// one that is known.
    pub fn find(data: &Path) -> Result<Self> {
        if data == Path::new("-") {
            return Ok(Source::Input);
        }
        let entry = data.to_str().and_then(catalogue::find);
        let Some(entry) = entry.filter(|_| !data.exists()) else {
            return Ok(Source::File(data.to_owned()));
        };
        if let Some(file) = find_fetched(entry, &cache()?)? {
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
            Source::Input => Path::new(STANDARD_INPUT),
            Source::File(path) => path,
        }
    }

    /// Reads it all.
    pub fn read(&self, options: &ReadOptions) -> Result<Dataset> {
        let data = match self {
            Source::Input => read_from(std::io::stdin(), STANDARD_INPUT, options),
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
    couloir::io::check_output(path)
        .map_err(|error| bad(format!("{}: cannot be written: {error}", path.display())))
}

/// Makes sure, before any work is done, that every output can be written and that none of them is an input or another output.
pub fn prepare_outputs(inputs: &[(&str, &Path)], outputs: &[(&str, &Path)]) -> Result<()> {
    outputs.iter().try_for_each(|(_, path)| check_output(path))?;
    for (i, (name, path)) in outputs.iter().enumerate() {
        let own = Identity::of(path);
        for (other_name, other) in inputs.iter().chain(&outputs[..i]) {
            if own.is_some() && own == Identity::of(other) {
                let shown = path.display();
                return Err(bad(format!("{shown}: {other_name} and {name} are the same file")));
            }
        }
    }
    outputs.iter().for_each(|(_, path)| remove_stale(path));
    Ok(())
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

/// Which file a path leads to; none for a stream, which takes what is written by many.
#[derive(PartialEq, Eq)]
enum Identity {
    /// A file that is there, by its number, whatever it is called.
    #[cfg(unix)]
    There(u64, u64),
    /// A file by its whole path.
    Named(PathBuf),
}

impl Identity {
    fn of(path: &Path) -> Option<Self> {
        let path = if path == Path::new(STANDARD_INPUT) { Path::new("/dev/stdin") } else { path };
        match std::fs::metadata(path) {
            Ok(metadata) if !metadata.is_file() => None,
            #[cfg(unix)]
            Ok(metadata) => {
                use std::os::unix::fs::MetadataExt as _;
                Some(Identity::There(metadata.dev(), metadata.ino()))
            }
            #[cfg(not(unix))]
            Ok(_) => Some(Identity::Named(path.canonicalize().ok()?)),
            // a file that is still to be written has no canonical path, its folder has
            Err(_) => {
                let parent =
                    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
                let folder = parent.canonicalize().ok()?;
                Some(Identity::Named(folder.join(path.file_name()?)))
            }
        }
    }
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

    fn named(paths: &[PathBuf]) -> Vec<(&str, &Path)> {
        paths.iter().map(|path| ("it", path.as_path())).collect()
    }

    #[test]
    fn outputs_are_checked_and_nothing_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let ready = |inputs: &[&str], outputs: &[&str]| {
            let whole = |names: &[&str]| names.iter().map(|name| path(name)).collect::<Vec<_>>();
            let (inputs, outputs) = (whole(inputs), whole(outputs));
            prepare_outputs(&named(&inputs), &named(&outputs)).is_ok()
        };
        assert!(ready(&[], &["new"]) && !ready(&[], &[""]) && !ready(&[], &["missing/new"]));
        assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 0);
        std::fs::write(path("there"), "x").expect("writing");
        assert!(ready(&["there"], &["new"]) && ready(&[], &["there", "new"]));
        assert!(!ready(&["there"], &["./there"]) && !ready(&[], &["new", "./new"]));
    }

    #[cfg(unix)]
    #[test]
    fn a_file_of_two_names_is_one_file_and_streams_are_not_files() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, other) = (folder.path().join("data"), folder.path().join("other"));
        std::fs::write(&file, "x").expect("writing");
        std::fs::hard_link(&file, &other).expect("a link");
        assert!(prepare_outputs(&[("the data", &file)], &[("--output", &other)]).is_err());
        let null = Path::new("/dev/null");
        assert!(prepare_outputs(&[("the data", null)], &[("--output", null)]).is_ok());
    }
}
