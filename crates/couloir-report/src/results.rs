//! The results of a comparison: a file of JSON lines, in the order in which things happened.
//!
//! The first line has the settings. A data set has a line of its own, a search for steps one for each method
//! that needs it, a run one line for every point and one at its end. A run without its end has not happened.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, Read as _};

/// A line of the file. Numbers of the objective are those of `f` itself, not over `s`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Line {
    /// What all runs have in common.
    Comparison(Settings),
    /// A data set.
    Data(DataFacts),
    /// A search for steps.
    Search(Search),
    /// A point of a run.
    Point(Point),
    /// The end of a run.
    Run(RunEnd),
}

impl Line {
    /// What tables and terminals show of it.
    fn names(&self) -> Vec<&str> {
        match self {
            Line::Comparison(_) => Vec::new(),
            Line::Data(data) => vec![&data.data],
            Line::Search(search) => vec![&search.data, &search.method],
            Line::Point(Point { run, .. }) => vec![&run.data, &run.method],
            Line::Run(RunEnd { run, status, .. }) => vec![&run.data, &run.method, status],
        }
    }
}

/// What all runs have in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// The version of couloir.
    pub version: String,
    /// Scaling of the losses: `paper` or `dro`.
    pub objective: String,
    /// Radius of the ball; where there is none it is chosen for each data set.
    pub tau: Option<f64>,
    /// `lambda n`.
    pub lambda_n: f64,
    /// First weights of the rows: `uniform` or `vertex`.
    pub start: String,
    /// Seconds of its own that a method has on each data set.
    pub time_budget: f64,
    /// The seed of the first repeat; each further one has the next.
    pub seed: u64,
    /// Threads.
    pub threads: usize,
    /// What is known of the machine, by name.
    pub machine: BTreeMap<String, String>,
}

impl Settings {
    /// What would make runs under `other` incomparable to those under these: name, mine, theirs.
    #[must_use]
    pub fn differences(&self, other: &Settings) -> Vec<(&'static str, String, String)> {
        let tau = |s: &Settings| s.tau.map_or("chosen".to_owned(), |tau| tau.to_string());
        let pairs = [
            ("objective", self.objective.clone(), other.objective.clone()),
            ("tau", tau(self), tau(other)),
            ("lambda-n", self.lambda_n.to_string(), other.lambda_n.to_string()),
            ("start", self.start.clone(), other.start.clone()),
            ("time-budget", self.time_budget.to_string(), other.time_budget.to_string()),
            ("seed", self.seed.to_string(), other.seed.to_string()),
            ("threads", self.threads.to_string(), other.threads.to_string()),
            ("version", self.version.clone(), other.version.clone()),
        ];
        pairs.into_iter().filter(|(_, mine, theirs)| mine != theirs).collect()
    }
}

/// A data set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DataFacts {
    /// Its name.
    pub data: String,
    /// Rows.
    pub n: usize,
    /// Features.
    pub d: usize,
    /// Classes.
    pub classes: usize,
    /// Entries that are not zero.
    pub entries: usize,
    /// Radius of the ball.
    pub tau: f64,
    /// The factor `s` of the losses.
    pub scale: f64,
}

/// A search for steps, which is not charged to the method.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Search {
    /// The data set.
    pub data: String,
    /// The method.
    pub method: String,
    /// What was tried.
    pub trials: Vec<Trial>,
    /// The steps taken; none where the method's own did best.
    pub chosen: Option<(f64, f64)>,
    /// Seconds that the search took, looks at certificates included.
    pub seconds: f64,
}

/// A pair of steps and the gap it led to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The steps in `x` and `y`; none for the method's own.
    pub steps: Option<(f64, f64)>,
    /// The gap reached; none where the trial ran into numerical trouble.
    pub gap: Option<f64>,
}

/// What tells runs apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RunKey {
    /// The data set.
    pub data: String,
    /// The method.
    pub method: String,
    /// Which repeat it is, from 0.
    pub repeat: u64,
}

/// A point of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The run.
    #[serde(flatten)]
    pub run: RunKey,
    /// Iterations done.
    pub iteration: u64,
    /// Seconds of the method itself.
    pub seconds: f64,
    /// The gap that the method has certified.
    pub certified_gap: Option<f64>,
    /// The FW-gap of the method's best pair, the best so far.
    pub gap: Option<f64>,
    /// Its part in `x`.
    pub gap_x: Option<f64>,
    /// Its part in `y`.
    pub gap_y: Option<f64>,
    /// What theory promises, where it does.
    pub bound: Option<f64>,
    /// Full gradients in `x`.
    pub gradients: u64,
    /// Full gradients spent on certificates alone.
    pub certificate_gradients: u64,
    /// Gradients of components.
    pub component_gradients: u64,
    /// Linear minimisations.
    pub lo_calls: u64,
    /// Passes over the data.
    pub passes: f64,
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunEnd {
    /// The run.
    #[serde(flatten)]
    pub run: RunKey,
    /// Why it ended.
    pub status: String,
    /// The seed.
    pub seed: u64,
    /// How many points it has.
    pub points: usize,
    /// Steps in `x` and `y`, where they were searched for and found.
    pub steps: Option<(f64, f64)>,
    /// A bound of `max_y f(x, y)` at the best pair.
    pub upper: Option<f64>,
    /// A bound of `min_x f(x, y)` at the best pair.
    pub lower: Option<f64>,
    /// What the method found out by itself.
    pub facts: BTreeMap<String, f64>,
}

/// A number as JSON has it: none where it is not finite.
#[must_use]
pub fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// A run that came to its end.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// How it ended.
    pub end: RunEnd,
    /// Its points, from the start on.
    pub points: Vec<Point>,
}

/// What a file of results says.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// What all runs have in common.
    pub settings: Settings,
    /// The data sets.
    pub data: Vec<DataFacts>,
    /// The searches for steps.
    pub searches: Vec<Search>,
    /// The runs that came to their end.
    pub runs: Vec<Run>,
}

/// How much of a file of results to bear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResultsLimits {
    /// The largest file, in bytes. Reading it takes up to three times as much memory.
    pub bytes: u64,
    /// The longest line, in bytes. Reading it takes up to some twenty times as much for a moment.
    pub line: u64,
    /// The most data sets, searches and runs together: tables and pages are made of all of them.
    pub runs: usize,
}

impl Default for ResultsLimits {
    /// Files up to 1 GiB, lines up to 1 MiB, 2000 data sets, searches and runs.
    fn default() -> Self {
        ResultsLimits { bytes: 1 << 30, line: 1 << 20, runs: 2000 }
    }
}

impl ResultsLimits {
    /// What can be read within this much memory.
    #[must_use]
    pub fn within(memory: u64) -> Self {
        ResultsLimits { bytes: memory / 4, line: memory / 64, ..ResultsLimits::default() }
    }

    /// The limits with this many data sets, searches and runs.
    #[must_use]
    pub fn runs(mut self, runs: usize) -> Self {
        self.runs = runs;
        self
    }
}

/// The longest name of a data set or a method, and the longest status.
const MAX_NAME: usize = 1000;
/// Lines that are told to be skipped, one by one; the others are counted.
const MAX_WARNINGS: usize = 20;
/// A file with more lines that cannot be used is none of ours.
const MAX_SKIPPED: usize = 10_000;

/// Why a text is no file of results.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResultsError {
    /// It begins otherwise.
    #[error("line 1 does not have the settings of a comparison: {why}")]
    NoSettings {
        /// What is wrong with it.
        why: String,
    },
    /// A file larger than allowed.
    #[error("more than {limit} bytes; if that is meant, raise the limit on memory")]
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// A line longer than allowed.
    #[error("line {line}: longer than {limit} bytes; if that is meant, raise the limit on memory")]
    TooLong {
        /// The line, from 1.
        line: u64,
        /// The limit.
        limit: u64,
    },
    /// More runs than allowed.
    #[error(
        "line {line}: more than {limit} data sets, searches and runs; if that is meant, raise the limit on runs"
    )]
    TooMany {
        /// The line, from 1.
        line: u64,
        /// The limit.
        limit: usize,
    },
    /// Hardly a line that can be used.
    #[error("line {line}: the {MAX_SKIPPED}th that cannot be used; this is no file of results")]
    Nonsense {
        /// The line, from 1.
        line: u64,
    },
    /// What the file system reports.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// A line that cannot be written.
    #[error("cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
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
    fn next(&mut self) -> Result<Option<(u64, std::borrow::Cow<'_, str>)>, ResultsError> {
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

impl Results {
    /// No results yet.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Results { settings, data: Vec::new(), searches: Vec::new(), runs: Vec::new() }
    }

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
        let mut results = Results::new(settings);
        let mut warnings = Warnings::default();
        let mut described: BTreeSet<String> = BTreeSet::new();
        let mut ended: BTreeSet<RunKey> = BTreeSet::new();
        let mut open: BTreeMap<RunKey, Vec<Point>> = BTreeMap::new();
        while let Some((i, line)) = lines.next()? {
            if line.trim().is_empty() {
                continue;
            }
            if warnings.more > MAX_SKIPPED {
                return Err(ResultsError::Nonsense { line: i });
            }
            let mut skip = |why: &dyn Fn() -> String| {
                warnings.push(|| format!("line {i}: {}; skipped", why()));
            };
            let line = match serde_json::from_str::<Line>(&line) {
                Ok(line) => line,
                Err(error) => {
                    skip(&|| format!("damaged ({error})"));
                    continue;
                }
            };
            if let Some(why) = line.names().iter().find_map(|name| bad_name(name)) {
                skip(&|| why.clone());
                continue;
            }
            match line {
                Line::Data(data) if described.contains(&data.data) => {
                    skip(&|| format!("a second account of {}", data.data));
                }
                Line::Data(data) => {
                    described.insert(data.data.clone());
                    results.data.push(data);
                }
                Line::Search(search) => results.searches.push(search),
                Line::Point(point) => open.entry(point.run.clone()).or_default().push(point),
                Line::Run(end) => {
                    let points = open.remove(&end.run).unwrap_or_default();
                    let RunKey { data, method, .. } = &end.run;
                    if ended.contains(&end.run) {
                        skip(&|| format!("a second run of {method} on {data}"));
                        continue;
                    }
                    if !described.contains(data) {
                        skip(&|| format!("a run of {method} on {data}, which is not described"));
                        continue;
                    }
                    if points.len() != end.points {
                        let (found, whole) = (points.len(), end.points);
                        warnings.push(|| {
                            format!("line {i}: {method} on {data} has {found} of its {whole} points; kept")
                        });
                    }
                    ended.insert(end.run.clone());
                    results.runs.push(Run { end, points });
                }
                Line::Comparison(_) => skip(&|| "a second line of settings".to_owned()),
            }
            let count = results.data.len() + results.searches.len() + results.runs.len();
            if count > limits.runs {
                return Err(ResultsError::TooMany { line: i, limit: limits.runs });
            }
        }
        for (key, points) in open {
            let RunKey { data, method, .. } = key;
            warnings.push(|| {
                format!("{method} on {data} has {} points and no end; left out", points.len())
            });
        }
        Ok((results, warnings.all()))
    }

    /// The results as lines.
    ///
    /// # Errors
    /// None that is known: numbers and text can always be written.
    pub fn to_text(&self) -> Result<String, ResultsError> {
        let mut text = String::new();
        let mut push = |line: &Line| -> Result<(), ResultsError> {
            text.push_str(&serde_json::to_string(line)?);
            text.push('\n');
            Ok(())
        };
        push(&Line::Comparison(self.settings.clone()))?;
        for data in &self.data {
            push(&Line::Data(data.clone()))?;
            for search in self.searches.iter().filter(|s| s.data == data.data) {
                push(&Line::Search(search.clone()))?;
            }
            for run in self.runs_on(&data.data) {
                for point in &run.points {
                    push(&Line::Point(point.clone()))?;
                }
                push(&Line::Run(run.end.clone()))?;
            }
        }
        Ok(text)
    }

    /// The data set of this name.
    #[must_use]
    pub fn facts_of(&self, data: &str) -> Option<&DataFacts> {
        self.data.iter().find(|facts| facts.data == data)
    }

    /// The search for steps of this method on this data.
    #[must_use]
    pub fn search_of(&self, data: &str, method: &str) -> Option<&Search> {
        self.searches.iter().find(|s| s.data == data && s.method == method)
    }

    /// The run, if it came to its end.
    #[must_use]
    pub fn run(&self, key: &RunKey) -> Option<&Run> {
        self.runs.iter().find(|run| run.end.run == *key)
    }

    /// The runs on this data set, in the order in which they happened.
    pub fn runs_on<'a>(&'a self, data: &'a str) -> impl Iterator<Item = &'a Run> {
        self.runs.iter().filter(move |run| run.end.run.data == data)
    }

    /// The methods, in the order in which they first came to an end.
    #[must_use]
    pub fn methods(&self) -> Vec<&str> {
        let mut methods: Vec<&str> = Vec::new();
        for run in &self.runs {
            if !methods.contains(&run.end.run.method.as_str()) {
                methods.push(&run.end.run.method);
            }
        }
        methods
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub fn settings() -> Settings {
        Settings {
            version: "1.2.3".to_owned(),
            objective: "paper".to_owned(),
            tau: Some(100.0),
            lambda_n: 1.0,
            start: "vertex".to_owned(),
            time_budget: 30.0,
            seed: 7,
            threads: 2,
            machine: BTreeMap::from([("processor".to_owned(), "a fast one".to_owned())]),
        }
    }

    /// A run whose gap is divided by ten with every second, gradient and two linear minimisations.
    pub fn run(data: &str, method: &str, repeat: u64, first_gap: f64, points: usize) -> Run {
        let key = RunKey { data: data.to_owned(), method: method.to_owned(), repeat };
        let point = |k: usize| {
            let gap = first_gap * 10f64.powi(-(k as i32));
            Point {
                run: key.clone(),
                iteration: k as u64,
                seconds: k as f64,
                certified_gap: finite(gap / 2.0),
                gap: finite(gap),
                gap_x: finite(gap / 4.0),
                gap_y: finite(gap * 3.0 / 4.0),
                bound: None,
                gradients: k as u64,
                certificate_gradients: 0,
                component_gradients: 10 * k as u64,
                lo_calls: 2 * k as u64,
                passes: 2.0 * k as f64,
            }
        };
        let end = RunEnd {
            run: key.clone(),
            status: "time limit".to_owned(),
            seed: 7 + repeat,
            points,
            steps: None,
            upper: Some(1.0),
            lower: Some(0.5),
            facts: BTreeMap::from([("Lhat".to_owned(), 0.25)]),
        };
        Run { end, points: (0..points).map(point).collect() }
    }

    pub fn results() -> Results {
        let mut results = Results::new(settings());
        for (data, n) in [("news", 100), ("stories", 200)] {
            results.data.push(DataFacts {
                data: data.to_owned(),
                n,
                d: 1000,
                classes: 5,
                entries: 10 * n,
                tau: 100.0,
                scale: 1.0 / n as f64,
            });
            results.searches.push(Search {
                data: data.to_owned(),
                method: "svre".to_owned(),
                trials: vec![
                    Trial { steps: None, gap: Some(2.0) },
                    Trial { steps: Some((0.1, 0.01)), gap: None },
                ],
                chosen: None,
                seconds: 3.5,
            });
            results.runs.push(run(data, "certified", 0, 8.0, 8));
            results.runs.push(run(data, "svre", 0, 8.0, 3));
        }
        results
    }

    #[test]
    fn what_is_written_is_read_again() {
        let results = results();
        let text = results.to_text().expect("text");
        assert_eq!(text.lines().count(), 1 + 2 * (1 + 1 + 8 + 1 + 3 + 1));
        let (read, warnings) = Results::parse(&text).expect("results");
        assert_eq!(read, results);
        assert_eq!(warnings, Vec::<String>::new());
        assert_eq!(read.methods(), ["certified", "svre"]);
    }

    #[test]
    fn a_damaged_line_costs_no_more_than_itself() {
        let whole = results();
        let mut lines: Vec<String> =
            whole.to_text().expect("text").lines().map(str::to_owned).collect();
        lines[4].truncate(30);
        lines.push(r#"{"kind":"riddle"}"#.to_owned());
        let (read, warnings) = Results::parse(&lines.join("\n")).expect("results");
        assert_eq!(warnings.len(), 3, "{warnings:?}");
        assert!(warnings[0].starts_with("line 5: damaged"), "{warnings:?}");
        assert!(warnings[1].contains("certified on news has 7 of its 8 points"), "{warnings:?}");
        assert!(warnings[2].contains("riddle"), "{warnings:?}");
        assert_eq!(read.runs.len(), whole.runs.len());
        assert_eq!(read.runs[1..], whole.runs[1..]);
    }

    #[test]
    fn a_run_without_its_end_is_left_out_and_a_second_one_skipped() {
        let whole = results();
        let text = whole.to_text().expect("text");
        let lines: Vec<&str> = text.lines().collect();
        let cut = lines[..lines.len() - 1].join("\n");
        let (read, warnings) = Results::parse(&cut).expect("results");
        assert_eq!(read.runs, whole.runs[..3]);
        assert!(warnings[0].contains("svre on stories has 3 points and no end"), "{warnings:?}");
        let twice = format!("{text}{}\n{}\n", lines[lines.len() - 1], lines[1]);
        let (read, warnings) = Results::parse(&twice).expect("results");
        assert_eq!(read, whole);
        assert_eq!(warnings.len(), 2, "{warnings:?}");
    }

    #[test]
    fn another_kind_of_file_is_refused() {
        for text in ["", "nonsense", "{}", r#"{"kind":"search","data":"a"}"#] {
            assert!(Results::parse(text).is_err(), "{text}");
        }
        let text = results().to_text().expect("text");
        assert!(Results::parse(text.split_once('\n').expect("lines").1).is_err());
    }

    #[test]
    fn files_lines_and_runs_have_limits() {
        let text = results().to_text().expect("text");
        let read = |limits| Results::read(text.as_bytes(), &limits);
        let longest = text.lines().map(str::len).max().expect("lines") as u64;
        let (bytes, runs) = (text.len() as u64, 2 + 2 + 4);
        let fits = ResultsLimits { bytes, line: longest, runs };
        assert_eq!(read(fits).expect("within the limits").0, results());
        let why = |limits| read(limits).expect_err("beyond a limit").to_string();
        let large = why(ResultsLimits { bytes: bytes - 1, ..fits });
        assert!(large.starts_with(&format!("more than {} bytes", bytes - 1)), "{large}");
        let long = why(ResultsLimits { line: longest - 1, ..fits });
        assert!(long.contains(&format!(": longer than {} bytes", longest - 1)), "{long}");
        let many = why(ResultsLimits { runs: runs - 1, ..fits });
        assert!(many.contains(": more than 7 data sets, searches and runs"), "{many}");
    }

    #[test]
    fn names_that_would_change_a_terminal_are_skipped_and_warnings_end() {
        let mut whole = results();
        whole.runs[1].end.status = "\u{1b}[2Jfine".to_owned();
        let (read, warnings) = Results::parse(&whole.to_text().expect("text")).expect("results");
        assert_eq!(read.runs.len(), 3);
        assert!(warnings[0].contains("a name with the character \\u{1b}"), "{warnings:?}");
        let nonsense = format!("{}{}", whole.to_text().expect("text"), "{\n".repeat(5000));
        let (_, warnings) = Results::parse(&nonsense).expect("results");
        assert_eq!(warnings.len(), MAX_WARNINGS + 1);
        assert_eq!(warnings[MAX_WARNINGS], format!("{} more of this kind", 5002 - MAX_WARNINGS));
        let nonsense = format!("{nonsense}{}", "{\n".repeat(6000));
        let error = Results::parse(&nonsense).expect_err("nonsense").to_string();
        assert!(error.contains("the 10000th that cannot be used"), "{error}");
    }

    #[test]
    fn settings_tell_what_differs() {
        let mut other = settings();
        assert_eq!(settings().differences(&other), []);
        other.machine.clear();
        assert_eq!(settings().differences(&other), []);
        (other.tau, other.seed) = (None, 8);
        let names: Vec<_> = settings().differences(&other);
        assert_eq!(
            names,
            [
                ("tau", "100".to_owned(), "chosen".to_owned()),
                ("seed", "7".to_owned(), "8".to_owned())
            ]
        );
    }
}
