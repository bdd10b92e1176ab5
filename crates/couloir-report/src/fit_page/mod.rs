//! The page of a single fit: its certificate over time, its spectrum, the rows and classes that are hard.

mod charts;
mod facts;

use crate::page::{Page, Panel, Point, Run};
use charts::{Class, Row};
use couloir::model::{FitRecord, Measures};
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
    /// The singular values of `X`, largest first.
    pub singular_values: &'a [f64],
    /// The certificate over time.
    pub trace: Vec<Point>,
    /// Settings besides those of the record.
    pub more_settings: Vec<(String, String)>,
    /// Versions besides that of couloir.
    pub more_versions: Vec<(String, String)>,
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
    let FitDetails { names, scores, labels, row_weights, singular_values, .. } = *details;
    let measures = Measures::from_scores(scores, labels, names.len())?;
    let rows: Vec<Row> = (scores.chunks_exact(names.len()).zip(labels))
        .map(|(scores, &label)| Row::new(scores, label as usize, names))
        .collect();
    let counts = measures.class_rows.iter().zip(&measures.recall);
    let classes: Vec<Class> = (names.iter().zip(counts))
        .map(|(name, (&rows, &recall))| Class { name: name.clone(), rows, recall })
        .collect();
    let run = Run {
        method: record.method.clone(),
        repeat: 0,
        status: record.run.status.clone(),
        points: details.trace.clone(),
    };
    Ok(Page {
        title: format!("A robust classifier of {}", record.data),
        summary: facts::summary(record, &measures),
        panels: vec![Panel {
            name: record.data.clone(),
            about: facts::about(record),
            runs: vec![run],
        }],
        bars: vec![
            charts::spectrum(singular_values),
            charts::weights(row_weights),
            charts::recall(&classes),
        ],
        tables: vec![charts::hardest(&rows, row_weights), charts::class_table(&classes)],
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
        assert_eq!(page.bars[0].bars.len(), 2);
        let wrong = FitDetails { labels: &[0, 2], ..details(&names) };
        assert!(fit_page(&record, &wrong).is_err());
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
