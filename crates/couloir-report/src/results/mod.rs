//! The results of a comparison: a file of JSON lines, in the order in which things happened.
//!
//! The first line has the settings. A data set has a line of its own, a search for steps one for each method
//! that needs it, a run one line for every point and one at its end. A run without its end has not happened.

mod limits;
mod line;
mod read;
#[cfg(test)]
pub(crate) mod samples;

pub use limits::{ResultsError, ResultsLimits};
pub use line::{DataFacts, Line, Point, RunEnd, RunKey, Search, Settings, Trial, finite};

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

impl Results {
    /// No results yet.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Results { settings, data: Vec::new(), searches: Vec::new(), runs: Vec::new() }
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

    /// Data sets, searches and runs together.
    fn count(&self) -> usize {
        self.data.len() + self.searches.len() + self.runs.len()
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
mod tests {
    use super::read::MAX_WARNINGS;
    use super::samples::{results, settings};
    use super::*;

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
