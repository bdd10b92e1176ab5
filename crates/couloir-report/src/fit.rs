//! A single fit, to be looked at: its certificate over time, its spectrum, the rows and classes that are hard.

use crate::page::{Bars, Page, Panel, Point, Run, Table};

/// What a fit has to show. Numbers of the objective are in units of the loss.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fit {
    /// The data set.
    pub data: String,
    /// Its size and the problem.
    pub about: String,
    /// What came out, in sentences.
    pub summary: Vec<String>,
    /// The method.
    pub method: String,
    /// How it ended.
    pub status: String,
    /// The certificate over time.
    pub points: Vec<Point>,
    /// The singular values of `X`, largest first.
    pub singular_values: Vec<f64>,
    /// `n y`: the weight of every row, 1 on average.
    pub row_weights: Vec<f64>,
    /// For every row its label, the label it is given, and its loss.
    pub rows: Vec<Row>,
    /// For every class its label, its rows, and the share of them that are given it.
    pub classes: Vec<(String, usize, Option<f64>)>,
    /// Settings, versions, the machine.
    pub facts: Vec<(String, Vec<(String, String)>)>,
}

/// A row of the data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Its label.
    pub label: String,
    /// The label it is given.
    pub given: String,
    /// Its loss.
    pub loss: f64,
}

/// Singular values shown at the most.
const SPECTRUM: usize = 60;
/// Bars of the distribution of weights.
const BINS: usize = 20;
/// Rows in the table of the hardest.
const HARDEST: usize = 25;
/// Classes in the chart of recall; the table has all.
const CLASSES: usize = 60;

impl Fit {
    /// The page.
    #[must_use]
    pub fn page(&self) -> Page {
        let run = Run {
            method: self.method.clone(),
            repeat: 0,
            status: self.status.clone(),
            points: self.points.clone(),
        };
        Page {
            title: format!("A robust classifier of {}", self.data),
            summary: self.summary.clone(),
            panels: vec![Panel {
                name: self.data.clone(),
                about: self.about.clone(),
                runs: vec![run],
            }],
            bars: vec![self.spectrum(), self.weights(), self.recall()],
            tables: vec![self.hardest(), self.class_table()],
            facts: self.facts.clone(),
        }
    }

    fn spectrum(&self) -> Bars {
        let shown = self.singular_values.iter().take(SPECTRUM).enumerate();
        Bars {
            title: "Singular values of X".to_owned(),
            about: format!(
                "X has {} of them; the nuclear norm is their sum. Few large ones: classes share directions.",
                self.singular_values.len()
            ),
            labels_name: "number".to_owned(),
            values_name: "singular value".to_owned(),
            bars: shown.map(|(i, value)| ((i + 1).to_string(), *value)).collect(),
            logarithmic: false,
        }
    }

    fn weights(&self) -> Bars {
        let most = self.row_weights.iter().copied().fold(0.0, f64::max);
        let width = if most > 0.0 { most / BINS as f64 } else { 1.0 };
        let mut counts = [0usize; BINS];
        for weight in &self.row_weights {
            counts[((weight / width) as usize).min(BINS - 1)] += 1;
        }
        let bars = counts.iter().enumerate().map(|(i, count)| {
            let (from, to) = (i as f64 * width, (i + 1) as f64 * width);
            (format!("{from:.2} to {to:.2}"), *count as f64)
        });
        Bars {
            title: "Weights of the rows".to_owned(),
            about: "n y: how much the adversary makes of each row. 1 is the average, 0 a row that is no longer \
                    looked at, and the largest are the hardest."
                .to_owned(),
            labels_name: "n y".to_owned(),
            values_name: "rows".to_owned(),
            bars: bars.collect(),
            logarithmic: true,
        }
    }

    fn recall(&self) -> Bars {
        let mut known: Vec<(String, f64)> = (self.classes.iter())
            .filter_map(|(label, _, recall)| Some((label.clone(), (*recall)?)))
            .collect();
        known.sort_by(|a, b| a.1.total_cmp(&b.1));
        known.truncate(CLASSES);
        Bars {
            title: "Recall by class".to_owned(),
            about: "The share of the rows of each class that are given its label, on the data of the fit, worst \
                    first."
                .to_owned(),
            labels_name: "class".to_owned(),
            values_name: "recall".to_owned(),
            bars: known,
            logarithmic: false,
        }
    }

    fn hardest(&self) -> Table {
        let mut order: Vec<usize> = (0..self.rows.len().min(self.row_weights.len())).collect();
        order.sort_by(|&a, &b| self.row_weights[b].total_cmp(&self.row_weights[a]).then(a.cmp(&b)));
        let rows = order.iter().take(HARDEST).map(|&i| {
            let Row { label, given, loss } = &self.rows[i];
            vec![
                (i + 1).to_string(),
                format!("{:.3}", self.row_weights[i]),
                format!("{loss:.3}"),
                label.clone(),
                given.clone(),
            ]
        });
        Table {
            caption: "The hardest rows: those with the largest weights".to_owned(),
            header: ["row", "n y", "loss", "label", "label given"].map(str::to_owned).to_vec(),
            rows: rows.collect(),
        }
    }

    fn class_table(&self) -> Table {
        let rows = self.classes.iter().map(|(label, rows, recall)| {
            let recall = recall.map_or("no rows".to_owned(), |recall| format!("{recall:.4}"));
            vec![label.clone(), rows.to_string(), recall]
        });
        Table {
            caption: "Recall of every class on the data of the fit".to_owned(),
            header: ["class", "rows", "recall"].map(str::to_owned).to_vec(),
            rows: rows.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit() -> Fit {
        let row =
            |label: &str, loss: f64| Row { label: label.to_owned(), given: "b".to_owned(), loss };
        Fit {
            data: "text".to_owned(),
            method: "certified".to_owned(),
            singular_values: vec![3.0, 1.0, 0.0],
            row_weights: vec![0.0, 2.0, 1.0, 2.0],
            rows: vec![row("b", 0.1), row("a", 2.5), row("a", 1.0), row("b", 2.0)],
            classes: vec![
                ("a".to_owned(), 2, Some(0.5)),
                ("b".to_owned(), 2, Some(0.25)),
                ("c".to_owned(), 0, None),
            ],
            ..Fit::default()
        }
    }

    #[test]
    fn every_row_is_in_one_bar_of_the_weights() {
        let weights = fit().weights();
        assert_eq!(weights.bars.len(), BINS);
        assert_eq!(weights.bars.iter().map(|bar| bar.1).sum::<f64>(), 4.0);
        assert_eq!((weights.bars[0].1, weights.bars[10].1, weights.bars[19].1), (1.0, 1.0, 2.0));
        let nothing = Fit::default().weights();
        assert!(nothing.bars.iter().all(|bar| bar.1 == 0.0));
    }

    #[test]
    fn the_hardest_rows_come_first_and_go_by_their_place_in_the_file() {
        let table = fit().hardest();
        let places: Vec<&str> = table.rows.iter().map(|row| row[0].as_str()).collect();
        assert_eq!(places, ["2", "4", "3", "1"]);
        assert_eq!(table.rows[0][1..], ["2.000", "2.500", "a", "b"]);
    }

    #[test]
    fn the_worst_class_comes_first_and_one_without_rows_is_in_the_table_alone() {
        let page = fit().page();
        assert_eq!(page.bars[2].bars, [("b".to_owned(), 0.25), ("a".to_owned(), 0.5)]);
        assert_eq!(page.tables[1].rows[2], ["c", "0", "no rows"]);
        assert_eq!(page.bars[0].bars.len(), 3);
        assert_eq!(page.panels[0].runs.len(), 1);
    }
}
