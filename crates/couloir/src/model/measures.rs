//! How good a classifier is on labelled rows.

use super::Classifier;
use super::classifier::largest;
use crate::error::{Error, Result, check_finite, check_len};
use crate::linalg::{SparseMatrix, accurate_sum, softmax_losses};
use std::collections::BTreeMap;

/// More groups than this are a mistake.
const MOST_GROUPS: u32 = 1 << 24;

/// What a classifier does on some labelled rows.
///
/// With `t_j` rows of class `j` of which `c_j` are predicted so, and `p_j` rows predicted as `j` in all:
///
/// ```text
/// accuracy   sum_j c_j / n
/// recall     c_j / t_j
/// macro F1   the mean of F1_j = 2 c_j / (t_j + p_j) over the classes with t_j + p_j > 0
/// balanced   the mean recall of the classes that have rows
/// loss       l_i = log sum_j exp(s_ij) - s_i,label
/// CVaR       (1 / alpha n) (sum of the floor(alpha n) largest l_i + (alpha n - floor(alpha n)) times the next one)
///            = min over t of t + 1/(alpha n) sum_i max(0, l_i - t),   alpha = 10 % unless set
/// ```
///
/// Where the tail is less than a row, CVaR is the largest loss.
///
/// ```
/// use couloir::model::Measures;
///
/// // three rows, two classes; the last row is wrong
/// let scores = [2.0, 0.0, 0.0, 2.0, 2.0, 0.0];
/// let m = Measures::from_scores(&scores, &[0, 1, 1], 2)?;
/// assert_eq!(m.recall, [Some(1.0), Some(0.5)]);
/// assert_eq!((m.worst_class, m.worst_recall), (1, 0.5));
/// assert!((m.macro_f1 - 2.0 / 3.0).abs() < 1e-15);
/// assert!((m.cvar - 2.0 - (-2f64).exp().ln_1p()).abs() < 1e-15);
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Measures {
    /// `n`.
    pub rows: usize,
    /// `t_j`: the rows of every class.
    pub class_rows: Vec<usize>,
    /// The share of rows that are right.
    pub accuracy: f64,
    /// For every class the share of its rows that are right; none for a class without rows.
    pub recall: Vec<Option<f64>>,
    /// The class with the least recall, the first if several have it.
    pub worst_class: usize,
    /// Its recall.
    pub worst_recall: f64,
    /// The mean recall of the classes that have rows.
    pub balanced_accuracy: f64,
    /// The mean F1 of the classes that rows have or are given.
    pub macro_f1: f64,
    /// The mean of the losses.
    pub mean_loss: f64,
    /// For every class the mean loss of its rows; none for a class without rows.
    pub class_loss: Vec<Option<f64>>,
    /// The share of rows that [`cvar`](Self::cvar) is about.
    pub tail: f64,
    /// The mean of the largest losses, of this share of the rows.
    pub cvar: f64,
    /// What the rows of every group get, where rows have groups.
    pub groups: Vec<GroupMeasures>,
}

/// The measures on the rows of one group; all are zero for a group without rows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct GroupMeasures {
    /// The rows of the group.
    pub rows: usize,
    /// The share of them that are right.
    pub accuracy: f64,
    /// The mean recall of the classes that rows of the group have.
    pub recall: f64,
    /// The mean of their losses.
    pub mean_loss: f64,
}

/// What to measure beyond the measures of all rows and of the classes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct MeasureBy<'a> {
    /// The group of each row, numbered from 0.
    pub groups: Option<&'a [u32]>,
    /// The share of rows, above 0 and at most 1, that CVaR is about.
    pub tail: f64,
}

impl Default for MeasureBy<'_> {
    /// No groups, and [`Measures::TAIL`].
    fn default() -> Self {
        MeasureBy { groups: None, tail: Measures::TAIL }
    }
}

impl<'a> MeasureBy<'a> {
    /// The measures for these groups of rows as well.
    #[must_use]
    pub fn groups(mut self, groups: Option<&'a [u32]>) -> Self {
        self.groups = groups;
        self
    }

    /// The measures with CVaR of this share of the rows.
    #[must_use]
    pub fn tail(mut self, share: f64) -> Self {
        self.tail = share;
        self
    }

    fn check(&self, rows: usize) -> Result<()> {
        if !(self.tail > 0.0 && self.tail <= 1.0) {
            let why = format!("the share of rows must be above 0 and at most 1, got {}", self.tail);
            return Err(Error::Setting { name: "cvar", why });
        }
        let Some(groups) = self.groups else { return Ok(()) };
        check_len("groups", rows, groups.len())?;
        match groups.iter().position(|&g| g >= MOST_GROUPS) {
            None => Ok(()),
            Some(i) => {
                let why = format!("row {i} has number {}; number groups from 0", groups[i]);
                Err(Error::Setting { name: "groups", why })
            }
        }
    }
}

impl Measures {
    /// The share of rows that [`cvar`](Self::cvar) is about unless another is set.
    pub const TAIL: f64 = 0.1;

    /// The measures of rows with `classes` scores each and labels numbered from 0.
    ///
    /// # Errors
    /// No rows, lengths that disagree, labels that are not below `classes`, scores that are not finite.
    pub fn from_scores(scores: &[f64], labels: &[u32], classes: usize) -> Result<Self> {
        Measures::from_scores_by(scores, labels, classes, MeasureBy::default())
    }

    /// The same, with groups of rows or another tail.
    ///
    /// # Errors
    /// As [`from_scores`](Self::from_scores); groups of another number than rows, a tail that is no share.
    pub fn from_scores_by(
        scores: &[f64],
        labels: &[u32],
        classes: usize,
        by: MeasureBy<'_>,
    ) -> Result<Self> {
        let mut tally = Tally::new(classes, labels.len(), by)?;
        tally.add(scores, labels)?;
        tally.measures(labels)
    }

    /// The group with the least accuracy, the first if several have it; none where no rows have groups.
    #[must_use]
    pub fn worst_group(&self) -> Option<usize> {
        let with_rows = (0..self.groups.len()).filter(|&g| self.groups[g].rows > 0);
        with_rows.min_by(|&a, &b| self.groups[a].accuracy.total_cmp(&self.groups[b].accuracy))
    }

    /// Its accuracy.
    #[must_use]
    pub fn worst_group_accuracy(&self) -> Option<f64> {
        self.worst_group().map(|g| self.groups[g].accuracy)
    }
}

impl Classifier {
    /// The measures on rows with these labels (places in [`labels`](Self::labels)). Holds the scores of some rows
    /// at a time only.
    ///
    /// # Errors
    /// As [`scores`](Self::scores), and as [`Measures::from_scores`].
    pub fn measures(&self, rows: &SparseMatrix, labels: &[u32]) -> Result<Measures> {
        self.measures_by(rows, labels, MeasureBy::default())
    }

    /// The same, with groups of rows or another tail.
    ///
    /// # Errors
    /// As [`measures`](Self::measures) and [`Measures::from_scores_by`].
    pub fn measures_by(
        &self,
        rows: &SparseMatrix,
        labels: &[u32],
        by: MeasureBy<'_>,
    ) -> Result<Measures> {
        check_len("labels", rows.rows(), labels.len())?;
        let h = self.classes();
        let mut tally = Tally::new(h, labels.len(), by)?;
        self.score_blocks(rows, |first, scores| {
            tally.add(scores, &labels[first..first + scores.len() / h])
        })?;
        tally.measures(labels)
    }
}

/// The mean of the `share` largest values, the last of which may count in part.
fn mean_of_largest(values: &mut [f64], share: f64) -> f64 {
    let count = (share * values.len() as f64).max(1.0);
    let whole = (count as usize).min(values.len());
    // continuous in `count`: whether rounding puts it on this or that side of a whole number does not matter
    let part = if whole < values.len() { count - whole as f64 } else { 0.0 };
    values.sort_unstable_by(|a, b| b.total_cmp(a));
    let next = if part > 0.0 { part * values[whole] } else { 0.0 };
    accurate_sum(values[..whole].iter().copied().chain([next])) / (whole as f64 + part)
}

/// What the measures are made of, row by row.
struct Tally<'a> {
    by: MeasureBy<'a>,
    /// Rows of every class, rows given to it, rows rightly so.
    rows: Vec<usize>,
    given: Vec<usize>,
    right: Vec<usize>,
    losses: Vec<f64>,
    slopes: Vec<f64>,
    /// Whether each row is right.
    hits: Vec<bool>,
}

/// Sums over the rows of a class, of a group, or of a class in a group.
#[derive(Clone, Copy, Default)]
struct Sums {
    rows: usize,
    right: usize,
    loss: f64,
}

impl Sums {
    fn add(&mut self, right: bool, loss: f64) {
        self.rows += 1;
        self.right += usize::from(right);
        self.loss += loss;
    }

    fn recall(&self) -> Option<f64> {
        (self.rows > 0).then(|| self.right as f64 / self.rows as f64)
    }

    fn mean_loss(&self) -> Option<f64> {
        (self.rows > 0).then(|| self.loss / self.rows as f64)
    }
}

/// The mean of what is there.
fn mean(values: impl Iterator<Item = Option<f64>>) -> f64 {
    let values: Vec<f64> = values.flatten().collect();
    accurate_sum(values.iter().copied()) / values.len().max(1) as f64
}

impl<'a> Tally<'a> {
    fn new(classes: usize, rows: usize, by: MeasureBy<'a>) -> Result<Self> {
        by.check(rows)?;
        let count = || vec![0; classes];
        let (losses, hits) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
        let slopes = Vec::new();
        Ok(Tally { by, rows: count(), given: count(), right: count(), losses, slopes, hits })
    }

    fn add(&mut self, scores: &[f64], labels: &[u32]) -> Result<()> {
        let h = self.rows.len();
        check_len("scores", labels.len() * h, scores.len())?;
        check_finite("scores", scores)?;
        if let Some(i) = labels.iter().position(|&b| b as usize >= h) {
            let why = format!("label {i} is {}; there are {h} classes", labels[i]);
            return Err(Error::Setting { name: "labels", why });
        }
        for (scores, &label) in scores.chunks_exact(h).zip(labels) {
            let given = largest(scores);
            self.rows[label as usize] += 1;
            self.given[given as usize] += 1;
            self.right[label as usize] += usize::from(given == label);
            self.hits.push(given == label);
        }
        let before = self.losses.len();
        self.losses.resize(before + labels.len(), 0.0);
        self.slopes.resize(scores.len(), 0.0);
        softmax_losses(scores, labels, h, &mut self.losses[before..], &mut self.slopes);
        Ok(())
    }

    /// The measures of every group; the rows have these labels.
    fn of_groups(&self, labels: &[u32]) -> Vec<GroupMeasures> {
        let Some(groups) = self.by.groups else { return Vec::new() };
        let count = groups.iter().max().map_or(0, |&last| last as usize + 1);
        // by group and class, without a table of all pairs
        let mut sums: BTreeMap<(u32, u32), Sums> = BTreeMap::new();
        for (i, &group) in groups.iter().enumerate() {
            sums.entry((group, labels[i])).or_default().add(self.hits[i], self.losses[i]);
        }
        let mut all = vec![GroupMeasures::default(); count];
        for (group, measures) in all.iter_mut().enumerate() {
            let group = group as u32;
            let of_classes: Vec<&Sums> =
                sums.range((group, 0)..=(group, u32::MAX)).map(|(_, sums)| sums).collect();
            let rows: usize = of_classes.iter().map(|sums| sums.rows).sum();
            if rows > 0 {
                let right: usize = of_classes.iter().map(|sums| sums.right).sum();
                let loss = accurate_sum(of_classes.iter().map(|sums| sums.loss));
                *measures = GroupMeasures {
                    rows,
                    accuracy: right as f64 / rows as f64,
                    recall: mean(of_classes.iter().map(|sums| sums.recall())),
                    mean_loss: loss / rows as f64,
                };
            }
        }
        all
    }

    fn measures(mut self, labels: &[u32]) -> Result<Measures> {
        let n = self.losses.len();
        if n == 0 {
            return Err(Error::EmptySet { why: "no rows to measure on".to_owned() });
        }
        let classes = 0..self.rows.len();
        let share = |part: usize, of: usize| (of > 0).then(|| part as f64 / of as f64);
        let recall: Vec<Option<f64>> =
            classes.clone().map(|j| share(self.right[j], self.rows[j])).collect();
        let (mut worst_class, mut worst_recall) = (0, f64::INFINITY);
        for (j, recall) in recall.iter().enumerate() {
            if let Some(recall) = recall.filter(|&r| r < worst_recall) {
                (worst_class, worst_recall) = (j, recall);
            }
        }
        let f1: Vec<f64> = classes
            .filter_map(|j| share(2 * self.right[j], self.rows[j] + self.given[j]))
            .collect();
        let mut of_classes = vec![Sums::default(); self.rows.len()];
        for (i, &label) in labels.iter().enumerate() {
            of_classes[label as usize].add(self.hits[i], self.losses[i]);
        }
        let groups = self.of_groups(labels);
        Ok(Measures {
            rows: n,
            accuracy: self.right.iter().sum::<usize>() as f64 / n as f64,
            balanced_accuracy: mean(recall.iter().copied()),
            recall,
            worst_class,
            worst_recall,
            macro_f1: accurate_sum(f1.iter().copied()) / f1.len() as f64,
            mean_loss: accurate_sum(self.losses.iter().copied()) / n as f64,
            class_loss: of_classes.iter().map(Sums::mean_loss).collect(),
            tail: self.by.tail,
            cvar: mean_of_largest(&mut self.losses, self.by.tail),
            groups,
            class_rows: self.rows,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Streams;

    fn random(n: usize, h: usize, seed: u64) -> (Vec<f64>, Vec<u32>) {
        let mut draw = Streams::new(seed).stream("measures");
        let scores = (0..n * h).map(|_| draw.below(2000) as f64 / 250.0 - 4.0).collect();
        // the last class has no rows
        let labels = (0..n).map(|_| draw.below(h as u64 - 1) as u32).collect();
        (scores, labels)
    }

    #[test]
    fn measures_are_what_their_definitions_say() {
        for (n, h) in [(1, 2), (7, 3), (10, 2), (99, 4), (1000, 21)] {
            let (scores, labels) = random(n, h, n as u64);
            let m = Measures::from_scores(&scores, &labels, h).expect("measures");
            let given: Vec<usize> = scores
                .chunks(h)
                .map(|s| {
                    let top = s.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    s.iter().position(|v| *v == top).expect("a largest")
                })
                .collect();
            let count = |which: &dyn Fn(usize) -> bool| (0..n).filter(|&i| which(i)).count() as f64;
            let of = |i: usize| labels[i] as usize;
            let close = |a: f64, b: f64| (a - b).abs() <= 1e-13 * (1.0 + b.abs());
            assert!(close(m.accuracy, count(&|i| given[i] == of(i)) / n as f64));
            let (mut f1, mut worst) = (Vec::new(), (f64::INFINITY, 0));
            for j in 0..h {
                let right = count(&|i| given[i] == j && of(i) == j);
                let (there, told) = (count(&|i| of(i) == j), count(&|i| given[i] == j));
                assert_eq!(m.class_rows[j] as f64, there);
                if there > 0.0 {
                    let recall = right / there;
                    assert!(m.recall[j].is_some_and(|r| close(r, recall)));
                    worst = if recall < worst.0 { (recall, j) } else { worst };
                } else {
                    assert_eq!(m.recall[j], None);
                }
                if there + told > 0.0 {
                    // through precision and recall where both are there
                    let (p, r) = (right / told.max(1.0), right / there.max(1.0));
                    f1.push(if right > 0.0 { 2.0 * p * r / (p + r) } else { 0.0 });
                }
            }
            assert_eq!((m.worst_recall, m.worst_class), worst);
            assert!(close(m.macro_f1, f1.iter().sum::<f64>() / f1.len() as f64));
            let losses: Vec<f64> = scores
                .chunks(h)
                .zip(&labels)
                .map(|(s, &b)| s.iter().map(|v| v.exp()).sum::<f64>().ln() - s[b as usize])
                .collect();
            assert!(close(m.mean_loss, losses.iter().sum::<f64>() / n as f64));
            // the minimum over t is at one of the losses
            let tail = |t: f64| {
                let above: f64 = losses.iter().map(|l| (l - t).max(0.0)).sum();
                t + above / (0.1 * n as f64)
            };
            let cvar = losses.iter().map(|&t| tail(t)).fold(f64::INFINITY, f64::min);
            assert!(close(m.cvar, cvar), "{n}: {} {cvar}", m.cvar);
        }
    }

    #[test]
    fn a_fraction_of_a_row_counts_as_such() {
        // a quarter of ten rows: 10 + 9 + half of 8, over 2.5
        let mut values: Vec<f64> = (1..=10).map(f64::from).collect();
        assert_eq!(mean_of_largest(&mut values, 0.25), 23.0 / 2.5);
        assert_eq!(mean_of_largest(&mut values, 1.0), 5.5);
        assert_eq!(mean_of_largest(&mut values, 0.01), 10.0);
    }

    #[test]
    fn a_classifier_measures_in_blocks_what_its_scores_say_at_once() {
        let (n, h, d) = (900, 3000, 3);
        let labels = (0..h).map(|j| j.to_string()).collect();
        let weights = (0..h * d).map(|i| (0.7 * i as f64).sin()).collect();
        let c = Classifier::new(labels, d, weights, None, BTreeMap::new()).expect("a classifier");
        let values = (0..n * d).map(|i| (0.3 * i as f64).cos()).collect();
        let indices = (0..n * d).map(|i| (i % d) as u32).collect();
        let starts = (0..=n).map(|i| i * d).collect();
        let rows = SparseMatrix::from_rows(d, starts, indices, values).expect("rows");
        let labels: Vec<u32> = (0..n as u32).collect();
        let mut scores = vec![0.0; n * h];
        c.scores(&rows, &mut scores).expect("scores");
        let at_once = Measures::from_scores(&scores, &labels, h).expect("measures");
        assert_eq!(c.measures(&rows, &labels), Ok(at_once));
        assert!(c.measures(&rows, &labels[1..]).is_err());
    }

    #[test]
    fn groups_and_classes_are_measured_by_their_own_rows() {
        let (n, h) = (200, 4);
        let (scores, labels) = random(n, h, 9);
        let groups: Vec<u32> = (0..n).map(|i| [0, 2, 2, 3, 0][i % 5]).collect();
        let by = MeasureBy::default().groups(Some(&groups)).tail(0.3);
        let m = Measures::from_scores_by(&scores, &labels, h, by).expect("measures");
        // of some rows alone
        let part = |keep: &dyn Fn(usize) -> bool| {
            let places: Vec<usize> = (0..n).filter(|&i| keep(i)).collect();
            let scores: Vec<f64> =
                places.iter().flat_map(|&i| scores[i * h..(i + 1) * h].to_vec()).collect();
            let labels: Vec<u32> = places.iter().map(|&i| labels[i]).collect();
            Measures::from_scores(&scores, &labels, h)
        };
        let close = |a: f64, b: f64| (a - b).abs() < 1e-13;
        for (g, group) in m.groups.iter().enumerate() {
            match part(&|i| groups[i] as usize == g) {
                Ok(alone) => {
                    assert_eq!((group.rows, group.accuracy), (alone.rows, alone.accuracy));
                    assert!(close(group.recall, alone.balanced_accuracy), "group {g}");
                    assert!(close(group.mean_loss, alone.mean_loss), "group {g}");
                }
                Err(_) => assert_eq!((g, *group), (1, GroupMeasures::default())),
            }
        }
        let worst = m.worst_group().expect("a group");
        assert!(m.groups.iter().all(|g| g.rows == 0 || g.accuracy >= m.groups[worst].accuracy));
        for (j, loss) in m.class_loss.iter().enumerate() {
            let alone = part(&|i| labels[i] as usize == j).ok().map(|m| m.mean_loss);
            assert_eq!(loss.is_some(), alone.is_some());
            assert!(loss.zip(alone).is_none_or(|(a, b)| close(a, b)));
        }
        let recalls: Vec<f64> = m.recall.iter().flatten().copied().collect();
        assert!(close(m.balanced_accuracy, recalls.iter().sum::<f64>() / recalls.len() as f64));
        assert!(m.cvar < Measures::from_scores(&scores, &labels, h).expect("measures").cvar);
    }

    #[test]
    fn what_cannot_be_measured_is_refused() {
        let by = |by| Measures::from_scores_by(&[1.0, 2.0], &[0], 2, by);
        assert!(by(MeasureBy::default().tail(0.0)).is_err());
        assert!(by(MeasureBy::default().tail(1.5)).is_err());
        assert!(by(MeasureBy::default().groups(Some(&[0, 1]))).is_err());
        assert!(Measures::from_scores(&[], &[], 2).is_err());
        assert!(Measures::from_scores(&[1.0, 2.0], &[2], 2).is_err());
        assert!(Measures::from_scores(&[1.0], &[0], 2).is_err());
        assert!(Measures::from_scores(&[1.0, f64::NAN], &[0], 2).is_err());
    }
}
