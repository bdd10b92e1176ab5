//! Rows, labels, classes: what every reader gives and every model takes.

use crate::error::{DataError, Result};
use couloir::linalg::SparseMatrix;
use std::path::Path;

/// A class as its file names it. Two labels are the same class when their values are equal (readers refuse labels that are
/// different numbers and the same value); the text is the spelling that came first.
#[derive(Clone, Debug)]
pub struct Label {
    value: f64,
    text: String,
}

impl Label {
    /// A label from a number.
    #[must_use]
    pub fn new(value: f64) -> Self {
        Label { value, text: value.to_string() }
    }

    pub(crate) fn spelled(value: f64, text: String) -> Self {
        Label { value, text }
    }

    /// A label from its text; none if that is not a finite number.
    ///
    /// ```
    /// use couloir_data::Label;
    /// assert_eq!(Label::parse("+1"), Some(Label::new(1.0)));
    /// assert_eq!(Label::parse("cat"), None);
    /// ```
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let value = text.parse::<f64>().ok().filter(|v| v.is_finite())?;
        Some(Label { value, text: text.to_owned() })
    }

    /// The number.
    #[must_use]
    pub fn value(&self) -> f64 {
        self.value
    }

    /// The spelling.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl PartialEq for Label {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl std::fmt::Display for Label {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

/// Compressed rows: the entries of row `i` are `starts[i]..starts[i + 1]` of `indices` and `values`.
#[derive(Clone, Debug, PartialEq)]
pub struct Csr {
    /// Where rows start; one more than there are rows, the first 0.
    pub starts: Vec<usize>,
    /// Features, counted from 0, increasing within a row.
    pub indices: Vec<u32>,
    /// Their values.
    pub values: Vec<f64>,
}

impl Default for Csr {
    fn default() -> Self {
        Csr { starts: vec![0], indices: Vec::new(), values: Vec::new() }
    }
}

/// A labelled data set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dataset {
    /// The features of every row.
    pub rows: Csr,
    /// For every row the place of its class in `classes`.
    pub labels: Vec<u32>,
    /// The classes in increasing order of their labels; there may be some that no row has.
    pub classes: Vec<Label>,
    /// The number of features.
    pub features: usize,
}

impl Dataset {
    /// The number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The number of stored entries.
    #[must_use]
    pub fn nonzeros(&self) -> usize {
        self.rows.indices.len()
    }

    /// The features and values of a row.
    #[must_use]
    pub fn row(&self, i: usize) -> (&[u32], &[f64]) {
        let range = self.rows.starts[i]..self.rows.starts[i + 1];
        (&self.rows.indices[range.clone()], &self.rows.values[range])
    }

    /// The number of rows of every class.
    #[must_use]
    pub fn class_counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.classes.len()];
        for &label in &self.labels {
            counts[label as usize] += 1;
        }
        counts
    }

    /// Fails unless rows of at least two classes are there; `file` is for the message.
    ///
    /// # Errors
    /// No rows, or one class only.
    pub fn check_trainable(&self, file: &Path) -> Result<()> {
        let Some(&first) = self.labels.first() else {
            return Err(DataError::Empty { file: file.to_owned() });
        };
        if self.labels.iter().all(|&l| l == first) {
            let label = self.classes[first as usize].to_string();
            return Err(DataError::OneClass { file: file.to_owned(), label });
        }
        Ok(())
    }

    /// For every row the place of its label among other classes, for example those of a model: none if
    /// it is not there.
    #[must_use]
    pub fn labels_among(&self, classes: &[Label]) -> Vec<Option<u32>> {
        let place: Vec<Option<u32>> = self
            .classes
            .iter()
            .map(|own| classes.iter().position(|c| c == own).map(|p| p as u32))
            .collect();
        self.labels.iter().map(|&l| place[l as usize]).collect()
    }

    /// The data set of these rows, in this order; classes and features stay as they are.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Dataset {
        let mut part = Csr::default();
        for &i in rows {
            let (indices, values) = self.row(i);
            part.indices.extend_from_slice(indices);
            part.values.extend_from_slice(values);
            part.starts.push(part.indices.len());
        }
        Dataset {
            rows: part,
            labels: rows.iter().map(|&i| self.labels[i]).collect(),
            classes: self.classes.clone(),
            features: self.features,
        }
    }

    /// The rows as a matrix that can be multiplied from both sides. Takes the rows out of `self.rows`, so
    /// that they are not kept twice; clone the data set first to keep them.
    ///
    /// # Errors
    /// Rows that are no valid matrix; a reader never gives such.
    pub fn take_matrix(&mut self) -> couloir::Result<SparseMatrix> {
        let rows = std::mem::take(&mut self.rows);
        SparseMatrix::from_rows(self.features, rows.starts, rows.indices, rows.values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Dataset {
        Dataset {
            rows: Csr {
                starts: vec![0, 2, 2, 3],
                indices: vec![0, 2, 1],
                values: vec![1.0, 2.0, 3.0],
            },
            labels: vec![0, 1, 1],
            classes: vec![Label::new(-1.0), Label::new(1.0), Label::new(7.0)],
            features: 3,
        }
    }

    #[test]
    fn rows_can_be_chosen_counted_and_multiplied() {
        let mut data = example();
        assert_eq!(data.class_counts(), [1, 2, 0]);
        let part = data.select(&[2, 0]);
        assert_eq!(part.row(0), (&[1][..], &[3.0][..]));
        assert_eq!(part.labels, [1, 0]);
        let matrix = data.take_matrix().expect("a matrix");
        assert_eq!((matrix.rows(), matrix.columns()), (3, 3));
    }

    #[test]
    fn one_class_cannot_train_even_if_more_are_declared() {
        let data = example();
        let file = Path::new("x");
        assert_eq!(data.check_trainable(file), Ok(()));
        let error = data.select(&[1, 2]).check_trainable(file).expect_err("one class");
        assert_eq!(error, DataError::OneClass { file: "x".into(), label: "1".into() });
        assert_eq!(
            Dataset::default().check_trainable(file),
            Err(DataError::Empty { file: "x".into() })
        );
    }

    #[test]
    fn labels_are_found_among_the_classes_of_a_model_by_value() {
        let model = [Label::parse("+1").expect("a label"), Label::new(5.0)];
        assert_eq!(example().labels_among(&model), [None, Some(0), Some(0)]);
    }
}
