//! A trained linear classifier: labels, weights, and what is worth knowing of how it was made.

use crate::error::{Error, Result, check_finite, check_len};
use crate::linalg::{SparseMatrix, exp_in_place, scale, score_rows, transpose};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

/// Scores that are held at a time when only what follows from them is asked for.
const BLOCK: usize = 1 << 20;
/// Rows that one task of a pass over scores takes.
const CHUNK: usize = 256;

/// `h` classes, each with a label and a weight for every one of `d` features. A row `a` has the scores
///
/// ```text
/// s_j = x_j.a + bias_j,   j = 1..h,
/// ```
///
/// belongs to the class with the largest (the first of them if several are), and to class `j` with probability
/// `exp(s_j) / sum_k exp(s_k)`.
///
/// Everything runs in parallel over rows and gives the same bits on any number of threads.
///
/// ```
/// use couloir::linalg::SparseMatrix;
/// use couloir::model::Classifier;
///
/// let labels = vec!["-1".to_owned(), "+1".to_owned()];
/// let classifier = Classifier::new(labels, 2, vec![0.0, 0.0, 1.0, -1.0], None, Default::default())?;
/// let rows = SparseMatrix::from_rows(2, vec![0, 1, 2], vec![0, 1], vec![3.0, 3.0])?;
/// let classes = classifier.predict(&rows)?;
/// assert_eq!(classifier.labels()[classes[0] as usize], "+1");
/// assert_eq!(classes, [1, 0]);
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Classifier {
    labels: Vec<String>,
    features: usize,
    weights: Vec<f64>,
    bias: Option<Vec<f64>>,
    info: BTreeMap<String, String>,
    /// The weights feature after feature, which is how rows want them; made when first needed.
    by_feature: OnceLock<Vec<f64>>,
}

impl Classifier {
    /// Names that `info` cannot use: the file format does.
    pub const RESERVED: [&'static str; 3] = ["format", "version", "labels"];

    /// A classifier with one label per class, the row-major `h x d` weights, and facts worth keeping:
    /// settings, certificate.
    ///
    /// # Errors
    /// Fewer than two classes or no features; labels that are empty, the same, or have spaces or control characters in
    /// them (files hold one a line); weights or bias of the wrong length or not finite; an `info` entry with
    /// a [reserved](Self::RESERVED) name.
    pub fn new(
        labels: Vec<String>,
        features: usize,
        weights: Vec<f64>,
        bias: Option<Vec<f64>>,
        info: BTreeMap<String, String>,
    ) -> Result<Self> {
        let h = labels.len();
        check_labels(&labels)?;
        if features == 0 {
            let why = "a classifier needs at least one".to_owned();
            return Err(Error::Setting { name: "features", why });
        }
        let size = h.checked_mul(features).ok_or_else(|| Error::Setting {
            name: "features",
            why: format!("{h} classes x {features} features do not fit in memory"),
        })?;
        check_len("weights", size, weights.len())?;
        check_finite("weights", &weights)?;
        if let Some(bias) = &bias {
            check_len("bias", h, bias.len())?;
            check_finite("bias", bias)?;
        }
        if let Some(name) = Self::RESERVED.iter().find(|name| info.contains_key(**name)) {
            let why = format!("the name `{name}` is taken by the file format");
            return Err(Error::Setting { name: "info", why });
        }
        Ok(Classifier { labels, features, weights, bias, info, by_feature: OnceLock::new() })
    }

    /// `h`.
    #[must_use]
    pub fn classes(&self) -> usize {
        self.labels.len()
    }

    /// `d`.
    #[must_use]
    pub fn features(&self) -> usize {
        self.features
    }

    /// The label of every class.
    #[must_use]
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// The row-major `h x d` weights.
    #[must_use]
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// What every row's score of a class begins with.
    #[must_use]
    pub fn bias(&self) -> Option<&[f64]> {
        self.bias.as_deref()
    }

    /// Settings, certificate, whatever its maker thought worth keeping.
    #[must_use]
    pub fn info(&self) -> &BTreeMap<String, String> {
        &self.info
    }

    /// Writes the `n x h` scores of all rows. Rows may have fewer features than the classifier.
    ///
    /// # Errors
    /// Rows with an entry beyond the classifier's features, `out` of another length, scores that are not finite (only
    /// entries near the largest floating-point number do that).
    pub fn scores(&self, rows: &SparseMatrix, out: &mut [f64]) -> Result<()> {
        check_len("scores", rows.rows() * self.classes(), out.len())?;
        self.check_width(rows)?;
        self.score_block(rows, 0, out)
    }

    /// Writes the `n x h` probabilities of all rows.
    ///
    /// # Errors
    /// As [`scores`](Self::scores).
    pub fn probabilities(&self, rows: &SparseMatrix, out: &mut [f64]) -> Result<()> {
        self.scores(rows, out)?;
        self.scores_to_probabilities(out);
        Ok(())
    }

    /// Turns scores, `h` for each of some rows, into probabilities.
    pub fn scores_to_probabilities(&self, scores: &mut [f64]) {
        scores.par_chunks_mut(CHUNK * self.classes()).for_each(|chunk| {
            chunk.chunks_exact_mut(self.classes()).for_each(softmax);
        });
    }

    /// The class of every row, as a place in [`labels`](Self::labels).
    ///
    /// # Errors
    /// As [`scores`](Self::scores).
    pub fn predict(&self, rows: &SparseMatrix) -> Result<Vec<u32>> {
        let h = self.classes();
        let mut classes = vec![0; rows.rows()];
        self.score_blocks(rows, |first, scores| {
            let classes = &mut classes[first..first + scores.len() / h];
            classes.par_chunks_mut(CHUNK).zip(scores.par_chunks(CHUNK * h)).for_each(
                |(classes, scores)| {
                    for (class, scores) in classes.iter_mut().zip(scores.chunks_exact(h)) {
                        *class = largest(scores);
                    }
                },
            );
            Ok(())
        })?;
        Ok(classes)
    }

    /// Hands over the scores of all rows, some at a time so that memory stays small however many rows there
    /// are: the number of the first row, and `h` scores for each.
    ///
    /// # Errors
    /// As [`scores`](Self::scores), and what `work` reports.
    pub fn score_blocks(
        &self,
        rows: &SparseMatrix,
        mut work: impl FnMut(usize, &mut [f64]) -> Result<()>,
    ) -> Result<()> {
        self.check_width(rows)?;
        let (n, h) = (rows.rows(), self.classes());
        let block = (BLOCK / h).max(1);
        let mut scores = vec![0.0; block.min(n) * h];
        for first in (0..n).step_by(block) {
            let scores = &mut scores[..block.min(n - first) * h];
            self.score_block(rows, first, scores)?;
            work(first, scores)?;
        }
        Ok(())
    }

    fn score_block(&self, rows: &SparseMatrix, first: usize, out: &mut [f64]) -> Result<()> {
        let (h, d) = (self.classes(), self.features);
        let by_feature = self.by_feature.get_or_init(|| {
            let mut by_feature = vec![0.0; h * d];
            transpose(&self.weights, h, d, &mut by_feature);
            by_feature
        });
        score_rows(rows, first, h, by_feature, out);
        if let Some(bias) = &self.bias {
            out.par_chunks_mut(CHUNK * h).for_each(|chunk| {
                for scores in chunk.chunks_exact_mut(h) {
                    scores.iter_mut().zip(bias).for_each(|(s, b)| *s += b);
                }
            });
        }
        check_finite("scores", out)
    }

    fn check_width(&self, rows: &SparseMatrix) -> Result<()> {
        let widest = rows.used_columns();
        if widest > self.features {
            return Err(Error::TooWide { widest, features: self.features });
        }
        Ok(())
    }
}

fn check_labels(labels: &[String]) -> Result<()> {
    let bad = |why: String| Err(Error::Setting { name: "labels", why });
    if labels.len() < 2 {
        return bad(format!("at least two classes are needed, got {}", labels.len()));
    }
    if u32::try_from(labels.len()).is_err() {
        return bad(format!("{} classes are more than {}", labels.len(), u32::MAX));
    }
    let mut seen = BTreeSet::new();
    for (j, label) in labels.iter().enumerate() {
        let shown = label.escape_debug();
        if label.is_empty() || label.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return bad(format!("label {j} is `{shown}`; it must be a word without spaces"));
        }
        if !seen.insert(label) {
            return bad(format!("two classes have the label `{shown}`"));
        }
    }
    Ok(())
}

/// The place of the first of the largest.
pub(super) fn largest(scores: &[f64]) -> u32 {
    let mut best = 0;
    for (j, s) in scores.iter().enumerate() {
        if *s > scores[best] {
            best = j;
        }
    }
    best as u32
}

fn softmax(scores: &mut [f64]) {
    let top = scores[largest(scores) as usize];
    scores.iter_mut().for_each(|s| *s -= top);
    exp_in_place(scores);
    let total: f64 = scores.iter().sum();
    scale(1.0 / total, scores);
}
