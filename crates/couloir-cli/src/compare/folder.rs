//! The folder of a comparison: results that only grow, and what is made of them.

use crate::failure::{bad, warn};
use crate::files::check_output;
use crate::terminal::shown_path;
use anyhow::{Context, Result};
use couloir::io::{Lock, LockError, write_atomically};
use couloir_report::comparison::{figure, page};
use couloir_report::figure::png;
use couloir_report::results::{Results, ResultsError, ResultsLimits, Settings};
use couloir_report::summary::summarise;
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};

const RESULTS: &str = "results.jsonl";
/// What is made of the results.
const VIEWS: [&str; 4] = ["summary.json", "figure.svg", "figure.png", "report.html"];
/// Results with damaged lines, as they were before they were written again without them.
const DAMAGED: &str = "results.damaged.jsonl";

/// What tells that a folder is one of comparisons; the comparison that works in it holds a lock on it.
const MARK: &str = ".couloir-compare";
const MARK_TEXT: &str =
    "`couloir compare` keeps its results in this folder and may replace its own files here.\n";

/// The run under way.
const CHECKPOINT: &str = "run.checkpoint";

/// The folder of a comparison.
pub struct Folder {
    path: PathBuf,
    limits: ResultsLimits,
}

impl Folder {
    /// `limits` are for the results that are there.
    pub fn new(path: &Path, limits: ResultsLimits) -> Self {
        Folder { path: path.to_owned(), limits }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The state of the run under way.
    pub fn checkpoint(&self) -> PathBuf {
        self.file(CHECKPOINT)
    }

    /// Everything that may be written.
    pub fn outputs(&self) -> Vec<PathBuf> {
        [RESULTS, DAMAGED, CHECKPOINT].iter().chain(&VIEWS).map(|name| self.file(name)).collect()
    }

    /// The run under way is over.
    pub fn forget_checkpoint(&self) {
        // one that stays is of another run than the next, and refused
        let _ = std::fs::remove_file(self.checkpoint());
    }

    /// Makes sure that the folder is one of comparisons, and that nobody else works in it.
    pub fn claim(&self) -> Result<Lock> {
        let (shown, mark) = (self.path.display(), self.file(MARK));
        if mark.symlink_metadata().is_err() {
            let made = |name: &str| name != RESULTS && self.file(name).symlink_metadata().is_ok();
            if let Some(name) = VIEWS.into_iter().chain([DAMAGED, CHECKPOINT]).find(|n| made(n)) {
                return Err(bad(format!(
                    "{shown}: has a file {name}, and no {MARK}, which would tell that a comparison made it; move the file away, \
                     name another folder, or make an empty {MARK} if the folder is a comparison's"
                )));
            }
        }
        let lock = Lock::on(&mark).map_err(|error| match error {
            LockError::Held => {
                bad(format!("{shown}: another comparison is working in it; wait for its end"))
            }
            error => bad(format!("{shown}: cannot be written: {error}")),
        })?;
        std::fs::write(&mark, MARK_TEXT).with_context(|| format!("{}", mark.display()))?;
        Ok(lock)
    }

    /// Makes the folder ready and locks it: results so far where they are to be continued, else none.
    pub fn begin(&self, settings: Settings, go_on: bool) -> Result<(Results, Lock)> {
        let shown = self.path.display();
        if self.path.exists() && !self.path.is_dir() {
            return Err(bad(format!("{shown}: is not a folder; name another with --out")));
        }
        std::fs::create_dir_all(&self.path)
            .map_err(|error| bad(format!("{shown}: cannot be made: {error}")))?;
        check_output(&self.file(RESULTS))?;
        let was_marked = self.file(MARK).exists();
        let lock = self.claim()?;
        let results = self.so_far(settings, go_on);
        if results.is_err() && !was_marked {
            let _ = std::fs::remove_file(self.file(MARK)); // the folder stays as it was
        }
        Ok((results?, lock))
    }

    fn so_far(&self, settings: Settings, go_on: bool) -> Result<Results> {
        let shown = self.path.display();
        if !self.file(RESULTS).exists() {
            return Ok(Results::new(settings));
        }
        if !go_on {
            return Err(bad(format!(
                "{shown}: has results; go on with --continue, or name another folder with --out"
            )));
        }
        let results = self.read()?;
        let differences = results.settings.differences(&settings);
        if let Some((name, then, now)) = differences.first() {
            return Err(bad(format!(
                "{shown}: has results of another comparison ({name} was {then} and is {now}); name another folder \
                 with --out"
            )));
        }
        Ok(results)
    }

    /// The results; lines that cannot be read are said to be skipped, and kept in a copy.
    pub fn read(&self) -> Result<Results> {
        let path = self.file(RESULTS);
        let shown = path.display();
        let cannot = |why: &dyn std::fmt::Display| {
            bad(format!("{shown}: cannot be read: {why}; is it the folder of a comparison?"))
        };
        // looked at before it is opened: opening a pipe would wait for someone to write
        if let Ok(metadata) = std::fs::metadata(&path) {
            if !metadata.is_file() {
                return Err(cannot(&"it is not a file"));
            }
            if metadata.len() > self.limits.bytes {
                let error = ResultsError::TooLarge { limit: self.limits.bytes };
                return Err(bad(format!("{shown}: {error} (--max-memory)")));
            }
        }
        let open = || std::fs::File::open(&path).map_err(|error| cannot(&error));
        let (results, warnings) =
            Results::read(BufReader::new(open()?), &self.limits).map_err(|error| match error {
                ResultsError::Io(error) => cannot(&error),
                ResultsError::TooLarge { .. } | ResultsError::TooLong { .. } => {
                    bad(format!("{shown}: {error} (--max-memory)"))
                }
                ResultsError::TooMany { .. } => bad(format!("{shown}: {error} (--max-runs)")),
                other => bad(format!("{shown}: {other}")),
            })?;
        if !warnings.is_empty() {
            let copy = self.file(DAMAGED);
            let mut whole = open()?;
            write_atomically(&copy, |out| io::copy(&mut whole, out).map(|_| ()))
                .with_context(|| format!("{}", copy.display()))?;
            for warning in &warnings {
                warn(&format!("{shown}: {warning}"));
            }
            warn(&format!("{}: has the file as it was", copy.display()));
        }
        Ok(results)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.file(name);
        write_atomically(&path, |out| out.write_all(bytes))
            .with_context(|| format!("{}", path.display()))
    }

    /// Keeps the results.
    pub fn keep(&self, results: &Results) -> Result<()> {
        self.write(RESULTS, results.to_text()?.as_bytes())
    }

    /// Writes what is made of the results.
    pub fn write_views(&self, results: &Results) -> Result<()> {
        let svg = figure(results).svg()?;
        self.write(VIEWS[0], &serde_json::to_vec_pretty(&summarise(results))?)?;
        self.write(VIEWS[1], svg.as_bytes())?;
        self.write(VIEWS[2], &png(&svg)?)?;
        self.write(VIEWS[3], page(results).html().as_bytes())
    }

    /// Says what is where.
    pub fn list(&self, out: &mut dyn Write) -> Result<()> {
        for name in [RESULTS].iter().chain(&VIEWS) {
            writeln!(out, "{}", shown_path(&self.file(name)))?;
        }
        Ok(())
    }
}
