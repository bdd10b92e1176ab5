//! The lines of a file of results.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
    pub(super) fn names(&self) -> Vec<&str> {
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
    /// `level`.
    pub level: f64,
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
            ("level", self.level.to_string(), other.level.to_string()),
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
