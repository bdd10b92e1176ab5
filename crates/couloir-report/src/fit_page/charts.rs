//! Charts and tables of a single fit.

use crate::page::{Bars, Table};
use couloir::model::GroupMeasures;

/// A row of the data.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its label.
    pub label: String,
    /// The predicted label.
    pub given: String,
    /// Its loss.
    pub loss: f64,
}

impl Row {
    /// A row by its scores.
    pub fn new(scores: &[f64], label: usize, names: &[String]) -> Self {
        let given =
            (0..scores.len()).max_by(|&a, &b| scores[a].total_cmp(&scores[b])).unwrap_or(label);
        let top = scores[given];
        let sum: f64 = scores.iter().map(|score| (score - top).exp()).sum();
        Row {
            label: names[label].clone(),
            given: names[given].clone(),
            loss: sum.ln() + top - scores[label],
        }
    }
}

/// A class of the data.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    pub name: String,
    /// Its rows.
    pub rows: usize,
    /// The share of them that are predicted as such.
    pub recall: Option<f64>,
    /// Their mean loss.
    pub loss: Option<f64>,
}

/// A group of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    pub name: String,
    pub measures: GroupMeasures,
}

/// Singular values shown at most.
const SPECTRUM: usize = 60;
/// Bars of the distribution of weights.
const BINS: usize = 20;
/// Rows in the table of the hardest.
const HARDEST: usize = 25;
/// Classes in the chart of recall; the table has all.
const CLASSES: usize = 60;

/// The largest singular values.
pub fn spectrum(singular_values: &[f64]) -> Bars {
    let shown = singular_values.iter().take(SPECTRUM).enumerate();
    Bars {
        title: "Singular values of the weights W".to_owned(),
        about: format!(
            "W, a row of weights for each class, has {} of them; the nuclear norm is their sum. Few large ones: classes share \
             directions.",
            singular_values.len()
        ),
        labels_name: "number".to_owned(),
        values_name: "singular value".to_owned(),
        bars: shown.map(|(i, value)| ((i + 1).to_string(), *value)).collect(),
        logarithmic: false,
    }
}

/// The distribution of the weights of the rows.
pub fn weights(row_weights: &[f64]) -> Bars {
    let most = row_weights.iter().copied().fold(0.0, f64::max);
    let width = if most > 0.0 { most / BINS as f64 } else { 1.0 };
    let mut counts = [0usize; BINS];
    for weight in row_weights {
        counts[((weight / width) as usize).min(BINS - 1)] += 1;
    }
    let bars = counts.iter().enumerate().map(|(i, count)| {
        let (from, to) = (i as f64 * width, (i + 1) as f64 * width);
        (format!("{from:.2} to {to:.2}"), *count as f64)
    });
    Bars {
        title: "Weights of the rows".to_owned(),
        about: "How much the adversary makes of each row: 1 is the average, 0 a row that it leaves out, and the largest are the \
                hardest."
            .to_owned(),
        labels_name: "weight".to_owned(),
        values_name: "rows".to_owned(),
        bars: bars.collect(),
        logarithmic: true,
    }
}

/// The recall of the classes that have rows, worst first.
pub fn recall(classes: &[Class], of: &str) -> Bars {
    let mut known: Vec<(String, f64)> =
        (classes.iter()).filter_map(|class| Some((class.name.clone(), class.recall?))).collect();
    known.sort_by(|a, b| a.1.total_cmp(&b.1));
    known.truncate(CLASSES);
    Bars {
        title: format!("Recall by class on {of}"),
        about: "The share of the rows of each class that are predicted as such, worst first."
            .to_owned(),
        labels_name: "class".to_owned(),
        values_name: "recall".to_owned(),
        bars: known,
        logarithmic: false,
    }
}

/// The accuracy of the groups that have rows, worst first.
pub fn group_accuracy(groups: &[Group], of: &str) -> Bars {
    let with_rows = groups.iter().filter(|group| group.measures.rows > 0);
    let mut known: Vec<(String, f64)> =
        with_rows.map(|group| (group.name.clone(), group.measures.accuracy)).collect();
    known.sort_by(|a, b| a.1.total_cmp(&b.1));
    known.truncate(CLASSES);
    Bars {
        title: format!("Accuracy by group on {of}"),
        about: "The share of the rows of each group that are predicted right, worst first."
            .to_owned(),
        labels_name: "group".to_owned(),
        values_name: "accuracy".to_owned(),
        bars: known,
        logarithmic: false,
    }
}

/// The measures of all groups.
pub fn group_table(groups: &[Group], of: &str) -> Table {
    let rows = groups.iter().map(|Group { name, measures: m }| {
        let numbers = [m.accuracy, m.recall, m.mean_loss].map(|v| format!("{v:.4}"));
        [name.clone(), m.rows.to_string()].into_iter().chain(numbers).collect()
    });
    Table {
        caption: format!("Every group on {of}"),
        header: ["group", "rows", "accuracy", "mean recall", "mean loss"]
            .map(str::to_owned)
            .to_vec(),
        rows: rows.collect(),
    }
}

/// The rows with the largest weights. `places` has the number of each row in the data, where rows were left out; numbers begin with 0, as
/// in Python.
pub fn hardest(rows: &[Row], row_weights: &[f64], places: Option<&[u64]>) -> Table {
    let mut order: Vec<usize> = (0..rows.len().min(row_weights.len())).collect();
    order.sort_by(|&a, &b| row_weights[b].total_cmp(&row_weights[a]).then(a.cmp(&b)));
    let shown = order.iter().take(HARDEST).map(|&i| {
        let Row { label, given, loss } = &rows[i];
        vec![
            places.map_or(i as u64, |places| places[i]).to_string(),
            format!("{:.3}", row_weights[i]),
            format!("{loss:.3}"),
            label.clone(),
            given.clone(),
        ]
    });
    Table {
        caption: "The hardest rows: those with the largest weights".to_owned(),
        header: ["row (from 0)", "weight", "loss", "label", "predicted"]
            .map(str::to_owned)
            .to_vec(),
        rows: shown.collect(),
    }
}

/// Recall and loss of all classes.
pub fn class_table(classes: &[Class], of: &str) -> Table {
    let rows = classes.iter().map(|Class { name, rows, recall, loss }| {
        let told = |value: &Option<f64>| value.map_or("no rows".to_owned(), |v| format!("{v:.4}"));
        vec![name.clone(), rows.to_string(), told(recall), told(loss)]
    });
    Table {
        caption: format!("Every class on {of}"),
        header: ["class", "rows", "recall", "mean loss"].map(str::to_owned).to_vec(),
        rows: rows.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WEIGHTS: [f64; 4] = [0.0, 2.0, 1.0, 2.0];

    #[test]
    fn a_row_has_its_loss_and_the_label_of_its_largest_score() {
        let names = ["a", "b", "c"].map(str::to_owned);
        let row = Row::new(&[1.0, 3.0, 2.0], 2, &names);
        assert_eq!((row.label.as_str(), row.given.as_str()), ("c", "b"));
        let expected = (1f64.exp() + 3f64.exp() + 2f64.exp()).ln() - 2.0;
        assert!((row.loss - expected).abs() < 1e-14, "{} {expected}", row.loss);
        // sizes that overflow without care
        assert_eq!(Row::new(&[0.0, 2000.0, 0.0], 0, &names).loss, 2000.0);
    }

    #[test]
    fn every_row_is_in_one_bar_of_the_weights() {
        let weights = weights(&WEIGHTS);
        assert_eq!(weights.bars.len(), BINS);
        assert_eq!(weights.bars.iter().map(|bar| bar.1).sum::<f64>(), 4.0);
        assert_eq!((weights.bars[0].1, weights.bars[10].1, weights.bars[19].1), (1.0, 1.0, 2.0));
        let nothing = super::weights(&[]);
        assert!(nothing.bars.iter().all(|bar| bar.1 == 0.0));
    }

    #[test]
    fn the_hardest_rows_come_first_and_go_by_their_place_in_the_file() {
        let row =
            |label: &str, loss: f64| Row { label: label.to_owned(), given: "b".to_owned(), loss };
        let rows = [row("b", 0.1), row("a", 2.5), row("a", 1.0), row("b", 2.0)];
        let table = hardest(&rows, &WEIGHTS, None);
        let places: Vec<&str> = table.rows.iter().map(|row| row[0].as_str()).collect();
        assert_eq!(places, ["1", "3", "2", "0"]);
        let of_some = hardest(&rows, &WEIGHTS, Some(&[3, 7, 8, 9]));
        assert_eq!(of_some.rows[0][0], "7");
        assert_eq!(table.rows[0][1..], ["2.000", "2.500", "a", "b"]);
    }

    #[test]
    fn the_worst_class_comes_first_and_one_without_rows_is_in_the_table_alone() {
        let class =
            |name: &str, rows, recall| Class { name: name.to_owned(), rows, recall, loss: None };
        let classes = [class("a", 2, Some(0.5)), class("b", 2, Some(0.25)), class("c", 0, None)];
        assert_eq!(recall(&classes, "rows").bars, [("b".to_owned(), 0.25), ("a".to_owned(), 0.5)]);
        assert_eq!(class_table(&classes, "rows").rows[2], ["c", "0", "no rows", "no rows"]);
    }
}
