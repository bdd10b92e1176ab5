//! A comparison, to be looked at: its table, its figure in the layout of the paper, its page.

use crate::figure::{Figure, Panel, Series};
use crate::numbers::show_digits;
use crate::page::{self, Page, Table};
use crate::results::{DataFacts, Point, Results, Search};
use crate::summary::{Entry, SHARES, summarise};

/// The most panels of a figure.
const MOST_PANELS: usize = 24;

/// Time against FW-gap, a panel for each of the first 24 data sets.
#[must_use]
pub fn figure(results: &Results) -> Figure {
    let panel = |data: &DataFacts| Panel {
        title: data.data.clone(),
        series: (results.runs_on(&data.data))
            .map(|run| Series {
                name: run.end.run.method.clone(),
                points: run.points.iter().filter_map(|p| Some((p.seconds, p.gap?))).collect(),
            })
            .collect(),
    };
    Figure {
        x_label: "seconds".to_owned(),
        y_label: "FW-gap".to_owned(),
        panels: results.data.iter().take(MOST_PANELS).map(panel).collect(),
    }
}

/// What each method took to bring the gap down on one data set: three rows for each method.
#[must_use]
pub fn reach_table(entries: &[Entry], data: &str) -> Table {
    let mut entries = entries.iter().filter(|entry| entry.data == data).peekable();
    let first = entries.peek().and_then(|entry| entry.first_gap);
    let first = first.map_or("not known".to_owned(), number);
    let mut header = vec!["method".to_owned(), "to reach".to_owned()];
    header.extend(SHARES.map(|share| format!("{share:.0e}")));
    header.extend(["last FW-gap", "certified gap"].map(str::to_owned));
    let mut rows = Vec::new();
    for entry in entries {
        let costs = |show: &dyn Fn(&crate::summary::Cost) -> String| -> Vec<String> {
            (entry.reached.iter()).map(|cost| cost.as_ref().map_or("-".to_owned(), show)).collect()
        };
        let mut row = |name: &str, what: &str, costs: Vec<String>, ends: [Option<f64>; 2]| {
            let mut cells = vec![name.to_owned(), what.to_owned()];
            cells.extend(costs);
            cells.extend(ends.map(|end| end.map_or(String::new(), number)));
            rows.push(cells);
        };
        let ends = [entry.gap, entry.certified_gap];
        row(&entry.method, "seconds", costs(&|c| number(c.seconds)), ends);
        row("", "gradients", costs(&|c| format!("{:.0}", c.gradients)), [None; 2]);
        row("", "LO calls", costs(&|c| format!("{:.0}", c.lo_calls)), [None; 2]);
    }
    let caption = format!("{data}: what it took to reach shares of the first FW-gap, {first}");
    Table { caption, header, rows }
}

/// How a search for steps went.
fn search_table(search: &Search) -> Table {
    let steps = |steps: Option<(f64, f64)>| match steps {
        Some((x, y)) => [format!("{x:e}"), format!("{y:e}")],
        None => ["own".to_owned(), "own".to_owned()],
    };
    let rows = search.trials.iter().map(|trial| {
        let [x, y] = steps(trial.steps);
        let taken = if trial.steps == search.chosen { "taken" } else { "" };
        vec![x, y, trial.gap.map_or("failed".to_owned(), number), taken.to_owned()]
    });
    Table {
        caption: format!(
            "Search for steps of {} on {}: {} s, not charged",
            search.method,
            search.data,
            number(search.seconds)
        ),
        header: ["step in x", "step in y", "gap reached", ""].map(str::to_owned).to_vec(),
        rows: rows.collect(),
    }
}

/// The page of a comparison.
#[must_use]
pub fn page(results: &Results) -> Page {
    let settings = &results.settings;
    let entries = summarise(results);
    let mut tables: Vec<Table> =
        results.data.iter().map(|data| reach_table(&entries, &data.data)).collect();
    tables.extend(results.searches.iter().map(search_table));
    let seeds = match results.runs.iter().map(|run| run.end.run.repeat).max() {
        Some(most) if most > 0 => {
            format!("{} to {}", settings.seed, settings.seed.saturating_add(most))
        }
        _ => settings.seed.to_string(),
    };
    let fact = |name: &str, value: String| (name.to_owned(), value);
    let asked = vec![
        fact("objective", settings.objective.clone()),
        fact("tau", settings.tau.map_or("chosen for each data set".to_owned(), |t| t.to_string())),
        fact("level", settings.level.to_string()),
        fact("start", format!("X = 0, y {}", settings.start)),
        fact("time for each method", format!("{} s", settings.time_budget)),
        fact("seed", seeds),
        fact("threads", settings.threads.to_string()),
    ];
    let mut facts = vec![("Settings".to_owned(), asked)];
    for data in &results.data {
        let ended = results.runs_on(&data.data).map(|run| {
            let key = &run.end.run;
            let repeat = if key.repeat > 0 {
                format!(" (repeat {})", key.repeat.saturating_add(1))
            } else {
                String::new()
            };
            (format!("{}{repeat}", key.method), run.end.status.clone())
        });
        facts.push((format!("How the runs on {} ended", data.data), ended.collect()));
    }
    let versions = vec![fact("couloir", settings.version.clone())];
    facts.push(("Versions".to_owned(), versions));
    let machine = settings.machine.iter().map(|(name, value)| (name.clone(), value.clone()));
    facts.push(("Machine".to_owned(), machine.collect()));
    Page {
        title: "Comparison of methods".to_owned(),
        summary: vec![
            "Methods for min over X, max over y of f(X, y): robust multiclass classification over a nuclear-norm \
             ball, all from the same start under the same time budget. Time spent on looking at the gap is not \
             charged, nor is the search for steps."
                .to_owned(),
            "The FW-gap is that of the best pair which a method has at that time, in units of f. It bounds how far \
             from optimal the pair is. The certified gap is the bound that the method proves by itself, which may be \
             sharper."
                .to_owned(),
        ],
        panels: results.data.iter().map(|data| panel(results, data)).collect(),
        bars: Vec::new(),
        tables,
        facts,
    }
}

fn panel(results: &Results, data: &DataFacts) -> page::Panel {
    page::Panel {
        name: data.data.clone(),
        about: format!(
            "{} rows, {} features, {} classes, {} entries; tau = {}",
            data.n, data.d, data.classes, data.entries, data.tau
        ),
        runs: (results.runs_on(&data.data))
            .map(|run| page::Run {
                method: run.end.run.method.clone(),
                repeat: run.end.run.repeat,
                status: run.end.status.clone(),
                points: run.points.iter().map(page_point).collect(),
            })
            .collect(),
    }
}

fn page_point(point: &Point) -> page::Point {
    let known = |value: Option<f64>| value.unwrap_or(f64::NAN);
    page::Point {
        seconds: point.seconds,
        gradients: point.gradients as f64,
        component_gradients: point.component_gradients as f64,
        lo_calls: point.lo_calls as f64,
        passes: point.passes,
        iterations: point.iteration as f64,
        gap: known(point.gap),
        gap_x: known(point.gap_x),
        gap_y: known(point.gap_y),
        certified_gap: known(point.certified_gap),
        bound: known(point.bound),
    }
}

/// A number with three digits that matter.
fn number(value: f64) -> String {
    show_digits(value, 3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::samples::results;

    #[test]
    fn the_table_has_three_rows_for_each_method_and_dashes_for_what_was_not_reached() {
        let table = reach_table(&summarise(&results()), "news");
        assert_eq!(table.rows.len(), 6);
        assert!(table.rows.iter().all(|row| row.len() == table.header.len()));
        assert!(table.caption.contains("first FW-gap, 8.00"), "{}", table.caption);
        assert_eq!(table.rows[3][..2], ["svre", "seconds"]);
        assert_eq!(table.rows[3][7], "-");
        assert_eq!(table.rows[3][8..], ["0.0800", "0.0400"]);
    }

    #[test]
    fn the_page_has_everything_that_the_results_have() {
        let page = page(&results());
        assert_eq!(page.panels.len(), 2);
        assert_eq!(page.panels[1].runs.len(), 2);
        assert_eq!(page.panels[0].runs[0].points.len(), 8);
        assert_eq!(page.tables.len(), 4);
        assert!(page.tables[2].rows[1].contains(&"failed".to_owned()));
        let headings: Vec<&str> = page.facts.iter().map(|(heading, _)| heading.as_str()).collect();
        assert_eq!(headings.len(), 5, "{headings:?}");
        let figure = figure(&results());
        assert_eq!(figure.panels.len(), 2);
        assert_eq!(figure.panels[0].series[1].points.len(), 3);
    }

    #[test]
    fn numbers_have_three_digits() {
        assert_eq!(
            [0.0, 0.01234, 1.0, 564.53, 1e-7, 123456.0].map(number),
            ["0", "0.0123", "1.00", "565", "1.00e-7", "1.23e5"]
        );
    }
}
