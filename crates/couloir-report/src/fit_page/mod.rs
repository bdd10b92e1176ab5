//! The page of a single fit: its certificate over time, its spectrum, the rows and classes that are hard.

mod charts;
mod facts;

use crate::page::{Bars, Page, Panel, Point, Run, Table};
use charts::{Class, Group, Row};
use couloir::model::{FitRecord, GroupMeasures, MeasureBy, Measures};
use couloir::run::TraceRecord;

/// What a page shows of a fit besides its record.
#[derive(Clone, Debug, Default)]
pub struct FitDetails<'a> {
    /// The names of the classes.
    pub names: &'a [String],
    /// For every row its score for each class.
    pub scores: &'a [f64],
    /// For every row the place of its class among the names.
    pub labels: &'a [u32],
    /// `n y`: the weight of every row, 1 on average.
    pub row_weights: &'a [f64],
    /// The numbers of the rows in the data, where rows were left out.
    pub places: Option<&'a [u64]>,
    /// The group of each row, and the names of the groups.
    pub groups: Option<(&'a [u32], &'a [String])>,
    /// Other rows to measure on.
    pub test: Option<TestRows<'a>>,
    /// The singular values of the weights, largest first.
    pub singular_values: &'a [f64],
    /// The certificate over time.
    pub trace: Vec<Point>,
    /// Settings besides those of the record.
    pub more_settings: Vec<(String, String)>,
    /// Versions besides that of couloir.
    pub more_versions: Vec<(String, String)>,
}

/// Rows that the fit did not see.
#[derive(Clone, Debug, Default)]
pub struct TestRows<'a> {
    /// What the page calls them.
    pub name: String,
    /// For every row its score for each class.
    pub scores: &'a [f64],
    /// For every row the place of its class among the names.
    pub labels: &'a [u32],
    /// The group of each row, and the names of the groups.
    pub groups: Option<(&'a [u32], &'a [String])>,
}

/// Measures on some rows, with the charts and tables of their classes and groups.
struct Measured {
    measures: Measures,
    bars: Vec<Bars>,
    tables: Vec<Table>,
}

impl Measured {
    fn new(
        names: &[String],
        scores: &[f64],
        labels: &[u32],
        groups: Option<(&[u32], &[String])>,
        of: &str,
    ) -> couloir::Result<Self> {
        let by = MeasureBy::default().groups(groups.map(|(numbers, _)| numbers));
        let measures = Measures::from_scores_by(scores, labels, names.len(), by)?;
        let class = |(j, name): (usize, &String)| Class {
            name: name.clone(),
            rows: measures.class_rows[j],
            recall: measures.recall[j],
            loss: measures.class_loss[j],
        };
        let classes: Vec<Class> = names.iter().enumerate().map(class).collect();
        let (mut bars, mut tables) =
            (vec![charts::recall(&classes, of)], vec![charts::class_table(&classes, of)]);
        if let Some((_, names)) = groups {
            let group = |(name, measures): (&String, &GroupMeasures)| Group {
                name: name.clone(),
                measures: *measures,
            };
            let groups: Vec<Group> = names.iter().zip(&measures.groups).map(group).collect();
            bars.insert(0, charts::group_accuracy(&groups, of));
            tables.insert(0, charts::group_table(&groups, of));
        }
        Ok(Measured { measures, bars, tables })
    }
}

impl From<&TraceRecord> for Point {
    fn from(record: &TraceRecord) -> Self {
        Point {
            seconds: record.seconds,
            gradients: record.grads as f64,
            component_gradients: record.component_grads as f64,
            lo_calls: record.lo_calls as f64,
            passes: record.passes,
            iterations: record.iteration as f64,
            gap: record.gap,
            gap_x: record.gap_x,
            gap_y: record.gap_y,
            certified_gap: record.gap,
            bound: record.bound,
        }
    }
}

/// The page of a fit.
///
/// # Errors
/// As [`Measures::from_scores`].
pub fn fit_page(record: &FitRecord, details: &FitDetails<'_>) -> couloir::Result<Page> {
    let FitDetails { names, scores, labels, row_weights, places, singular_values, .. } = *details;
    let trained = Measured::new(names, scores, labels, details.groups, "the data of the fit")?;
    let tested = match &details.test {
        None => None,
        Some(test) => {
            Some(Measured::new(names, test.scores, test.labels, test.groups, &test.name)?)
        }
    };
    let rows: Vec<Row> = (scores.chunks_exact(names.len()).zip(labels))
        .map(|(scores, &label)| Row::new(scores, label as usize, names))
        .collect();
    let mut summary = facts::summary(record, &trained.measures);
    let mut bars = Vec::new();
    let mut tables = Vec::new();
    // what was not trained on comes first
    if let (Some(tested), Some(test)) = (tested, &details.test) {
        summary.insert(1, facts::measured(&test.name, &tested.measures));
        bars.extend(tested.bars);
        tables.extend(tested.tables);
    }
    bars.extend(trained.bars);
    bars.extend([charts::weights(row_weights), charts::spectrum(singular_values)]);
    tables.extend(trained.tables);
    tables.push(charts::hardest(&rows, row_weights, places));
    let run = Run {
        method: record.method.clone(),
        repeat: 0,
        status: record.run.status.clone(),
        points: details.trace.clone(),
    };
    Ok(Page {
        title: format!("A robust classifier of {}", record.data),
        summary,
        panels: vec![Panel {
            name: record.data.clone(),
            about: facts::about(record),
            runs: vec![run],
        }],
        bars,
        tables,
        facts: facts::facts(record, &details.more_settings, &details.more_versions),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> [String; 2] {
        ["a", "b"].map(str::to_owned)
    }

    fn details(names: &[String]) -> FitDetails<'_> {
        FitDetails {
            names,
            scores: &[1.0, 0.0, 0.0, 1.0],
            labels: &[0, 0],
            row_weights: &[1.5, 0.5],
            singular_values: &[2.0, 1.0],
            ..FitDetails::default()
        }
    }

    #[test]
    fn the_page_has_what_was_added_to_settings_and_versions() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let (record, names) = (FitRecord::default(), names());
        let more = FitDetails {
            more_settings: vec![pair("scale", "auto")],
            more_versions: vec![pair("Python", "3")],
            ..details(&names)
        };
        let page = fit_page(&record, &more).expect("a page");
        assert_eq!(page.facts[0].1.last(), Some(&pair("scale", "auto")));
        assert_eq!(page.facts[2].1.last(), Some(&pair("Python", "3")));
        assert!(page.summary[1].contains("accuracy 0.5000"), "{:?}", page.summary);
        assert_eq!(page.bars.last().expect("a spectrum").bars.len(), 2);
        let wrong = FitDetails { labels: &[0, 2], ..details(&names) };
        assert!(fit_page(&record, &wrong).is_err());
    }

    #[test]
    fn rows_to_test_on_come_first_and_groups_have_their_bars() {
        let (record, names) = (FitRecord::default(), names());
        let groups = ["north", "south"].map(str::to_owned);
        let test = TestRows {
            name: "test.svm".to_owned(),
            scores: &[1.0, 0.0, 1.0, 0.0, 0.0, 1.0],
            labels: &[0, 1, 1],
            groups: Some((&[0, 1, 0], &groups)),
        };
        let more = FitDetails { test: Some(test), ..details(&names) };
        let page = fit_page(&record, &more).expect("a page");
        assert!(page.summary[1].contains("On test.svm: accuracy 0.6667"), "{:?}", page.summary);
        assert!(page.summary[1].contains("worst group 0"), "{:?}", page.summary);
        let south = [("south".to_owned(), 0.0), ("north".to_owned(), 1.0)];
        assert_eq!(page.bars[0].bars, south);
        assert_eq!(page.tables[0].rows[1][..3], ["south", "1", "0.0000"]);
    }

    #[test]
    fn the_page_says_the_lower_bound_as_it_is_and_whether_the_tolerance_was_reached() {
        let mut record = FitRecord::default();
        (record.primal, record.tol) = (1.042, 0.1);
        (record.run.lower, record.run.gap) = (-0.734, 1.776);
        let names = names();
        let said = |record: &FitRecord| {
            fit_page(record, &details(&names)).expect("a page").summary[0].clone()
        };
        let summary = said(&record);
        assert!(summary.contains("robust loss 1.042, lower bound -0.7340"), "{summary}");
        assert!(summary.contains("certified gap 1.776"), "{summary}");
        assert!(summary.contains("tolerance 0.1000 was not reached"), "{summary}");
        record.run.solved = true;
        assert!(!said(&record).contains("not reached"), "{}", said(&record));
    }
}
