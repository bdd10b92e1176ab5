//! A page for a browser: one file with charts, tables and facts, that loads nothing from anywhere.

mod columns;
mod html;
mod thin;

use serde::Serialize;

pub use thin::MOST_POINTS;

/// All that a page shows, from top to bottom.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Page {
    /// The heading, and the title of the window.
    pub title: String,
    /// Paragraphs below the heading: what was done and what came out.
    pub summary: Vec<String>,
    /// Charts of runs with axes to choose, one for each data set.
    pub panels: Vec<Panel>,
    /// Charts of bars.
    pub bars: Vec<Bars>,
    /// Tables.
    pub tables: Vec<Table>,
    /// Settings, versions, the machine: lists of names and values, each under a heading.
    pub facts: Vec<(String, Vec<(String, String)>)>,
}

/// Runs on one data set.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Panel {
    /// The data set.
    pub name: String,
    /// Its size and the problem.
    pub about: String,
    /// The runs, in the order of the legend.
    pub runs: Vec<Run>,
}

/// One run of a method. A method has the same colour in all panels; repeats of it share its colour and switch.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Run {
    /// The method.
    pub method: String,
    /// Which repeat it is, from 0.
    pub repeat: u64,
    /// How it ended.
    pub status: String,
    /// The points, from the start on.
    pub points: Vec<Point>,
}

/// A point of a run. What is not known is NaN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Point {
    /// Seconds of the method itself.
    pub seconds: f64,
    /// Full gradients in `x`.
    pub gradients: f64,
    /// Gradients of components.
    pub component_gradients: f64,
    /// Linear minimisations.
    pub lo_calls: f64,
    /// Passes over the data.
    pub passes: f64,
    /// Iterations.
    pub iterations: f64,
    /// The FW-gap of the best pair so far.
    pub gap: f64,
    /// Its part in `x`.
    pub gap_x: f64,
    /// Its part in `y`.
    pub gap_y: f64,
    /// The gap that the method has certified by itself.
    pub certified_gap: f64,
    /// What theory promises, where it does.
    pub bound: f64,
}

/// A chart of bars.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Bars {
    /// What is shown.
    pub title: String,
    /// What it means.
    pub about: String,
    /// What the labels are.
    pub labels_name: String,
    /// What the values are.
    pub values_name: String,
    /// A label and a value for each bar.
    pub bars: Vec<(String, f64)>,
    /// Whether values are better seen on a logarithmic axis.
    pub logarithmic: bool,
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Table {
    /// What it tells.
    pub caption: String,
    /// Names of columns.
    pub header: Vec<String>,
    /// Rows of cells.
    pub rows: Vec<Vec<String>>,
}
