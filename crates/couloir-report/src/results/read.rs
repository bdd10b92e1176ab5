//! Reads a file of results, which nobody needs to trust: what cannot be used is left out and said.

use super::limits::MAX_SKIPPED;
use super::{Line, Point, Results, ResultsError, ResultsLimits, Run, RunEnd, RunKey};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, Read as _};

/// The longest name of a data set or a method, and the longest status.
const MAX_NAME: usize = 1000;
/// Lines that are told to be skipped, one by one; the others are counted.
pub(super) const MAX_WARNINGS: usize = 20;

impl Results {
    /// Reads results, and what had to be left out, with its line.
    ///
    /// # Errors
    /// A first line without the settings; more than the default [`ResultsLimits`].
    pub fn parse(text: &str) -> Result<(Self, Vec<String>), ResultsError> {
        Results::read(text.as_bytes(), &ResultsLimits::default())
    }

    /// The same from a file, which nobody needs to trust.
    ///
    /// # Errors
    /// A first line without the settings; more than the limits; what the file system reports.
    pub fn read(
        input: impl BufRead,
        limits: &ResultsLimits,
    ) -> Result<(Self, Vec<String>), ResultsError> {
        let mut lines = Lines { input, limits: *limits, number: 0, bytes: 0, line: Vec::new() };
        let no_settings = |why: String| ResultsError::NoSettings { why };
        let first = match lines.next()? {
            Some((_, line)) => serde_json::from_str(&line),
            None => serde_json::from_str(""),
        };
        let settings = match first {
            Ok(Line::Comparison(settings)) => settings,
            Ok(_) => return Err(no_settings("it is a line of another kind".to_owned())),
            Err(error) => return Err(no_settings(error.to_string())),
        };
        let mut reader = Reader::new(Results::new(settings));
        while let Some((number, line)) = lines.next()? {
            if line.trim().is_empty() {
                continue;
            }
            if reader.warnings.more > MAX_SKIPPED {
                return Err(ResultsError::Nonsense { line: number });
            }
            if let Err(why) = reader.add(number, &line) {
                reader.warnings.push(|| format!("line {number}: {why}; skipped"));
            }
            if reader.results.count() > limits.runs {
                return Err(ResultsError::TooMany { line: number, limit: limits.runs });
            }
        }
        Ok(reader.finish())
    }
}

/// Puts lines together.
struct Reader {
    results: Results,
    warnings: Warnings,
    /// The data sets that have been described.
    described: BTreeSet<String>,
    /// The runs that have come to their end.
    ended: BTreeSet<RunKey>,
    /// Points of the others.
    open: BTreeMap<RunKey, Vec<Point>>,
}

impl Reader {
    fn new(results: Results) -> Self {
        Reader {
            results,
            warnings: Warnings::default(),
            described: BTreeSet::new(),
            ended: BTreeSet::new(),
            open: BTreeMap::new(),
        }
    }

    /// Takes a line, or says why it cannot be used.
    fn add(&mut self, number: u64, line: &str) -> Result<(), String> {
        let line: Line =
            serde_json::from_str(line).map_err(|error| format!("damaged ({error})"))?;
        if let Some(why) = line.names().iter().find_map(|name| bad_name(name)) {
            return Err(why);
        }
        match line {
            Line::Comparison(_) => return Err("a second line of settings".to_owned()),
            Line::Data(data) => {
                if !self.described.insert(data.data.clone()) {
                    return Err(format!("a second account of {}", data.data));
                }
                self.results.data.push(data);
            }
            Line::Search(search) => self.results.searches.push(search),
            Line::Point(point) => self.open.entry(point.run.clone()).or_default().push(point),
            Line::Run(end) => return self.end(number, end),
        }
        Ok(())
    }

    fn end(&mut self, number: u64, end: RunEnd) -> Result<(), String> {
        let points = self.open.remove(&end.run).unwrap_or_default();
        let RunKey { data, method, .. } = &end.run;
        if self.ended.contains(&end.run) {
            return Err(format!("a second run of {method} on {data}"));
        }
        if !self.described.contains(data) {
            return Err(format!("a run of {method} on {data}, which is not described"));
        }
        if points.len() != end.points {
            let (found, whole) = (points.len(), end.points);
            self.warnings.push(|| {
                format!("line {number}: {method} on {data} has {found} of its {whole} points; kept")
            });
        }
        self.ended.insert(end.run.clone());
        self.results.runs.push(Run { end, points });
        Ok(())
    }

    fn finish(mut self) -> (Results, Vec<String>) {
        for (RunKey { data, method, .. }, points) in self.open {
            self.warnings.push(|| {
                format!("{method} on {data} has {} points and no end; left out", points.len())
            });
        }
        (self.results, self.warnings.all())
    }
}

/// What had to be left out: told for the first lines, counted for the others.
#[derive(Default)]
struct Warnings {
    told: Vec<String>,
    more: usize,
}

impl Warnings {
    fn push(&mut self, warning: impl FnOnce() -> String) {
        if self.told.len() < MAX_WARNINGS {
            self.told.push(warning());
        } else {
            self.more += 1;
        }
    }

    fn all(mut self) -> Vec<String> {
        if self.more > 0 {
            self.told.push(format!("{} more of this kind", self.more));
        }
        self.told
    }
}

/// Lines of a file, within limits.
struct Lines<R> {
    input: R,
    limits: ResultsLimits,
    number: u64,
    bytes: u64,
    line: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    /// The next line with its number.
    fn next(&mut self) -> Result<Option<(u64, Cow<'_, str>)>, ResultsError> {
        let ResultsLimits { bytes, line: limit, .. } = self.limits;
        self.line.clear();
        self.number += 1;
        // a line may end in two characters more
        let most = limit.saturating_add(2);
        let length = (&mut self.input).take(most).read_until(b'\n', &mut self.line)? as u64;
        self.bytes += length;
        if self.bytes > bytes {
            return Err(ResultsError::TooLarge { limit: bytes });
        }
        if length == 0 {
            return Ok(None);
        }
        let line = self.line.strip_suffix(b"\n").unwrap_or(&self.line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() as u64 > limit {
            return Err(ResultsError::TooLong { line: self.number, limit });
        }
        Ok(Some((self.number, String::from_utf8_lossy(line))))
    }
}

/// What is wrong with a name that tables and terminals are to show.
fn bad_name(name: &str) -> Option<String> {
    if name.len() > MAX_NAME {
        return Some(format!("a name of {} bytes", name.len()));
    }
    let control = name.chars().find(|c| c.is_control())?;
    Some(format!("a name with the character {}", control.escape_default()))
}
