//! The page as text: a template with everything put in, escaped.

use super::{Bars, Page, Panel, Table, columns, thin};
use std::fmt::Write as _;

const TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const THEME: &str = include_str!("theme.js");
/// One script in the page; a file for each idea here.
const SCRIPT: [&str; 4] = [
    include_str!("scales.js"),
    include_str!("lines.js"),
    include_str!("bars.js"),
    include_str!("page.js"),
];

impl Page {
    /// The whole page as one HTML file that needs nothing else: style, script and data are in it. Runs with many points
    /// are thinned to [`MOST_POINTS`](super::MOST_POINTS).
    #[must_use]
    pub fn html(&self) -> String {
        fill(|name| match name {
            "title" => escaped(&self.title),
            "style" => STYLE.to_owned(),
            "theme" => THEME.to_owned(),
            "script" => SCRIPT.join("\n"),
            "data" => columns::json(self),
            "most points" => thin::MOST_POINTS.to_string(),
            "summary" => self.summary.iter().map(|text| element("p", text)).collect(),
            "panels" => self.panels.iter().enumerate().map(panel).collect(),
            "without panels" => hidden_if(self.panels.is_empty()),
            "bars" => self.bars.iter().enumerate().map(bars).collect(),
            "without bars" => hidden_if(self.bars.is_empty()),
            "tables" => self.tables.iter().map(captioned_table).collect(),
            "without tables" => hidden_if(self.tables.is_empty()),
            "facts" => self.facts.iter().map(fact_list).collect(),
            "without facts" => hidden_if(self.facts.is_empty()),
            unknown => unreachable!("page.html asks for {unknown}"),
        })
    }
}

/// The template with each `{{name}}` replaced. What is put in is not looked at again, so no text can pose as a name.
fn fill(value: impl Fn(&str) -> String) -> String {
    let mut parts = TEMPLATE.split("{{");
    let mut page = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once("}}").unwrap_or((part, ""));
        page += &value(name);
        page += rest;
    }
    page
}

fn hidden_if(empty: bool) -> String {
    if empty { "hidden".to_owned() } else { String::new() }
}

/// Text for between tags and for quoted attributes.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

fn element(tag: &str, text: &str) -> String {
    format!("<{tag}>{}</{tag}>\n", escaped(text))
}

/// The frame of a chart of runs, which the script fills, and a table of how the runs ended, which needs no script.
fn panel((place, panel): (usize, &Panel)) -> String {
    let header = ["Method", "Repeat", "How it ended", "Seconds", "FW-gap", "Points"];
    let row = |run: &super::Run| {
        let last =
            |value: fn(&super::Point) -> f64| shown(run.points.last().map_or(f64::NAN, value));
        let (all, kept) = (run.points.len(), run.points.len().min(thin::MOST_POINTS));
        let points = if kept < all { format!("{kept} of {all}") } else { all.to_string() };
        vec![
            run.method.clone(),
            run.repeat.to_string(),
            run.status.clone(),
            last(|p| p.seconds),
            last(|p| p.gap),
            points,
        ]
    };
    let table = Table {
        caption: format!("How the runs on {} ended", panel.name),
        header: header.map(str::to_owned).to_vec(),
        rows: panel.runs.iter().map(row).collect(),
    };
    format!(
        "<article class=\"panel\" data-panel=\"{place}\" aria-labelledby=\"panel-{place}\">\n\
         <h3 id=\"panel-{place}\">{}</h3>\n\
         <p class=\"about\">{}</p>\n\
         <div class=\"drawing\"></div>\n\
         <details class=\"ends\"><summary>How the runs ended</summary>\n{}</details>\n\
         </article>\n",
        escaped(&panel.name),
        escaped(&panel.about),
        plain_table(&table),
    )
}

/// The frame of a chart of bars, which the script fills, and a table of the same numbers.
fn bars((place, bars): (usize, &Bars)) -> String {
    let table = Table {
        caption: bars.title.clone(),
        header: vec![bars.labels_name.clone(), bars.values_name.clone()],
        rows: bars.bars.iter().map(|(label, value)| vec![label.clone(), shown(*value)]).collect(),
    };
    format!(
        "<article class=\"bars\" data-bars=\"{place}\" aria-labelledby=\"bars-{place}\">\n\
         <h3 id=\"bars-{place}\">{}</h3>\n\
         <p class=\"about\">{}</p>\n\
         <div class=\"drawing\"></div>\n\
         <details><summary>Numbers</summary>\n{}</details>\n\
         </article>\n",
        escaped(&bars.title),
        escaped(&bars.about),
        plain_table(&table),
    )
}

/// What stands for a number that is not known.
const UNKNOWN: &str = "not known";

/// A number as the charts have it.
fn shown(value: f64) -> String {
    let number = columns::number(value);
    if number.is_null() { UNKNOWN.to_owned() } else { number.to_string() }
}

fn captioned_table(table: &Table) -> String {
    format!("<article class=\"table\">\n{}</article>\n", plain_table(table))
}

/// A table in a box of its own, which scrolls where the window is narrow: with the keyboard too, hence the tabindex.
fn plain_table(table: &Table) -> String {
    let caption = escaped(&table.caption);
    let mut html = format!(
        "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{caption}\">\n\
         <table><caption>{caption}</caption>\n<thead><tr>"
    );
    let class = |column: usize| {
        let mut cells = table.rows.iter().filter_map(|row| row.get(column));
        if !table.rows.is_empty() && cells.all(|cell| looks_like_a_number(cell)) {
            " class=\"number\""
        } else {
            ""
        }
    };
    let classes: Vec<&str> = (0..table.header.len()).map(class).collect();
    for (name, class) in table.header.iter().zip(&classes) {
        _ = write!(html, "<th scope=\"col\"{class}>{}</th>", escaped(name));
    }
    html += "</tr></thead>\n<tbody>\n";
    for row in &table.rows {
        html += "<tr>";
        for (column, cell) in row.iter().enumerate() {
            let class = classes.get(column).unwrap_or(&"");
            _ = write!(html, "<td{class}>{}</td>", escaped(cell));
        }
        html += "</tr>\n";
    }
    html += "</tbody></table></div>\n";
    html
}

/// Whether a cell is at home in a column that is set to the right: it begins like a number, whatever its unit, or
/// stands for one that is missing.
fn looks_like_a_number(cell: &str) -> bool {
    let start = cell.trim_start_matches(['-', '+', '.', '<', '>', '~', ' ']);
    start.is_empty() || cell == UNKNOWN || start.starts_with(|c: char| c.is_ascii_digit())
}

fn fact_list((heading, facts): &(String, Vec<(String, String)>)) -> String {
    let mut html = format!("<article class=\"facts\">\n{}<dl>\n", element("h3", heading));
    for (name, value) in facts {
        html += &element("dt", name);
        html += &element("dd", value);
    }
    html += "</dl></article>\n";
    html
}
