//! Columns of comparable size: what a fit takes off each column of its data and what it multiplies it by.

use super::Classifier;
use crate::error::{Error, Result, check_len};
use crate::linalg::SparseMatrix;

/// A column that varies by less than this share of its largest entry is the same in every row but for rounding.
const CONSTANT: f64 = 1e-12;

/// Which columns to scale.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScaleRule {
    /// Scale dense data and leave sparse data, such as text, as they are. Data are dense if at least half of their
    /// cells are not zero.
    #[default]
    Auto,
    /// Scale all data.
    On,
    /// Scale nothing.
    Off,
}

impl std::fmt::Display for ScaleRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            ScaleRule::Auto => "auto",
            ScaleRule::On => "on",
            ScaleRule::Off => "off",
        })
    }
}

/// Whether at least half of the cells of these rows are not zero.
#[must_use]
pub fn is_dense(rows: &SparseMatrix) -> bool {
    let entries: usize = (0..rows.rows()).map(|i| rows.row(i).1.len()).sum();
    2 * entries >= rows.rows().saturating_mul(rows.columns()) && entries > 0
}

/// A map of columns, `value -> (value - centre) * factor`.
///
/// Columns of dense data are centred and divided by their standard deviation, or, where the model has no constant to make up for
/// the centre, divided by their root mean square alone. Columns of sparse data are divided by their largest absolute
/// value, which leaves zeros zero.
///
/// ```
/// use couloir::linalg::SparseMatrix;
/// use couloir::model::{ColumnScale, ScaleRule};
/// let rows = SparseMatrix::from_rows(2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![1.0, 50.0, 3.0, 70.0])?;
/// let scale = ColumnScale::of(&rows, None, ScaleRule::Auto, true)?.expect("the rows are dense");
/// let scaled = scale.apply(&rows)?;
/// for (i, expected) in [(0, -1.0), (1, 1.0)] {
///     assert!(scaled.row(i).1.iter().all(|value: &f64| (value - expected).abs() < 1e-14));
/// }
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnScale {
    /// None if nothing is taken off any column.
    centre: Option<Vec<f64>>,
    factor: Vec<f64>,
}

impl ColumnScale {
    /// The scale of these rows, which may have weights, one for each; none if the rule is to leave them as they are, or if no column
    /// would be left when all are centred.
    /// Columns are `centred` only where a model has an intercept.
    ///
    /// # Errors
    /// Weights of another number than rows.
    pub fn of(
        rows: &SparseMatrix,
        weights: Option<&[f64]>,
        rule: ScaleRule,
        centred: bool,
    ) -> Result<Option<Self>> {
        if let Some(weights) = weights {
            check_len("the weights of the rows", rows.rows(), weights.len())?;
        }
        let dense = is_dense(rows);
        match rule {
            ScaleRule::Off => Ok(None),
            ScaleRule::Auto if !dense => Ok(None),
            _ if dense => Ok(dense_scale(rows, weights, centred)),
            _ => Ok(Some(sparse_scale(rows, weights))),
        }
    }

    /// Whether columns are centred.
    #[must_use]
    pub fn is_centred(&self) -> bool {
        self.centre.is_some()
    }

    /// `centred` or `divided`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        if self.is_centred() { "centred" } else { "divided" }
    }

    /// The scaled rows.
    ///
    /// # Errors
    /// Rows with another number of columns; numbers that get out of range.
    pub fn apply(&self, rows: &SparseMatrix) -> Result<SparseMatrix> {
        let d = self.factor.len();
        check_len("columns", d, rows.columns())?;
        let mut starts = Vec::with_capacity(rows.rows() + 1);
        starts.push(0);
        let (mut indices, mut values) = (Vec::new(), Vec::new());
        let mut full = vec![0.0; d];
        for i in 0..rows.rows() {
            let (columns, entries) = rows.row(i);
            match &self.centre {
                None => {
                    indices.extend_from_slice(columns);
                    let scaled = columns.iter().zip(entries);
                    values.extend(scaled.map(|(&j, v)| v * self.factor[j as usize]));
                }
                Some(centre) => {
                    full.fill(0.0);
                    // a column may have two entries in a row, which add up
                    columns.iter().zip(entries).for_each(|(&j, v)| full[j as usize] += v);
                    for (j, v) in full.iter().enumerate() {
                        let value = (v - centre[j]) * self.factor[j];
                        if value != 0.0 {
                            indices.push(j as u32);
                            values.push(value);
                        }
                    }
                }
            }
            starts.push(indices.len());
        }
        SparseMatrix::from_rows(d, starts, indices, values)
    }

    /// The classifier for rows as they came that gives them the scores which `fitted` gives the scaled rows. Its info
    /// says how the columns were scaled.
    ///
    /// # Errors
    /// A classifier with another number of features; weights that get out of range.
    pub fn classifier(&self, fitted: &Classifier) -> Result<Classifier> {
        let d = self.factor.len();
        check_len("features of the classifier", d, fitted.features())?;
        let mut weights = fitted.weights().to_vec();
        let mut bias = fitted.bias().map(<[f64]>::to_vec);
        if self.is_centred() {
            bias.get_or_insert_with(|| vec![0.0; fitted.classes()]);
        }
        for (class, line) in weights.chunks_exact_mut(d).enumerate() {
            line.iter_mut().zip(&self.factor).for_each(|(w, f)| *w *= f);
            if let (Some(centre), Some(bias)) = (&self.centre, &mut bias) {
                bias[class] -= line.iter().zip(centre).map(|(w, c)| w * c).sum::<f64>();
            }
        }
        let mut info = fitted.info().clone();
        info.insert("scale".to_owned(), self.name().to_owned());
        Classifier::new(fitted.labels().to_vec(), d, weights, bias, info)
    }
}

/// What each row weighs; all the same if there are no weights.
fn share(weights: Option<&[f64]>, i: usize) -> f64 {
    weights.map_or(1.0, |weights| weights[i])
}

/// The largest absolute value of every column, in the rows that weigh something.
fn largest(rows: &SparseMatrix, weights: Option<&[f64]>) -> Vec<f64> {
    let mut largest = vec![0.0f64; rows.columns()];
    for i in (0..rows.rows()).filter(|&i| share(weights, i) > 0.0) {
        let (columns, entries) = rows.row(i);
        for (&j, v) in columns.iter().zip(entries) {
            largest[j as usize] = largest[j as usize].max(v.abs());
        }
    }
    largest
}

/// One over each of these sizes; 1 where there is no such number.
fn inverses(sizes: Vec<f64>) -> Vec<f64> {
    let inverse = |size: f64| Some(1.0 / size).filter(|f| size > 0.0 && f.is_finite());
    sizes.into_iter().map(|size| inverse(size).unwrap_or(1.0)).collect()
}

fn sparse_scale(rows: &SparseMatrix, weights: Option<&[f64]>) -> ColumnScale {
    ColumnScale { centre: None, factor: inverses(largest(rows, weights)) }
}

/// In units of the largest entry of each column, so that squares neither overflow nor vanish.
fn dense_scale(rows: &SparseMatrix, weights: Option<&[f64]>, centred: bool) -> Option<ColumnScale> {
    let d = rows.columns();
    let mut units = largest(rows, weights);
    units.iter_mut().filter(|unit| **unit == 0.0).for_each(|unit| *unit = 1.0);
    let heaviest = weights.map_or(1.0, |w| w.iter().fold(0.0f64, |most, w| most.max(*w)));
    let share = |i: usize| if heaviest > 0.0 { share(weights, i) / heaviest } else { 1.0 };
    let total: f64 = (0..rows.rows()).map(share).sum();
    let mut middle = vec![0.0; d];
    if centred {
        for i in 0..rows.rows() {
            let (columns, entries) = rows.row(i);
            for (&j, v) in columns.iter().zip(entries) {
                middle[j as usize] += share(i) * (v / units[j as usize]);
            }
        }
        middle.iter_mut().for_each(|m| *m /= total);
    }
    // the rows without an entry in a column are as far from its middle as zero is
    let (mut squares, mut seen) = (vec![0.0; d], vec![0.0; d]);
    for i in 0..rows.rows() {
        let (columns, entries) = rows.row(i);
        for (&j, v) in columns.iter().zip(entries) {
            let j = j as usize;
            let away = v / units[j] - middle[j];
            squares[j] += share(i) * away * away;
            seen[j] += share(i);
        }
    }
    let spread = |j: usize| {
        let unseen = (total - seen[j]).max(0.0) * middle[j] * middle[j];
        ((squares[j] + unseen) / total).sqrt()
    };
    let varies = |j: usize| spread(j) > CONSTANT;
    if !(0..d).any(varies) {
        return None;
    }
    let size = |j: usize| if varies(j) { spread(j) * units[j] } else { units[j] };
    let factor = inverses((0..d).map(size).collect());
    let centre = centred.then(|| middle.iter().zip(&units).map(|(m, u)| m * u).collect());
    Some(ColumnScale { centre, factor })
}

/// Reads the name of a rule.
impl std::str::FromStr for ScaleRule {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let rules = [ScaleRule::Auto, ScaleRule::On, ScaleRule::Off];
        rules.into_iter().find(|rule| rule.to_string() == name).ok_or_else(|| {
            let why = super::choice::unknown(name, &["auto", "on", "off"]);
            Error::Setting { name: "scale", why }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn rows(columns: usize, dense: &[&[f64]]) -> SparseMatrix {
        let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in dense {
            for (j, &v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
                indices.push(j as u32);
                values.push(v);
            }
            starts.push(indices.len());
        }
        SparseMatrix::from_rows(columns, starts, indices, values).expect("rows")
    }

    fn full(rows: &SparseMatrix, i: usize) -> Vec<f64> {
        let mut row = vec![0.0; rows.columns()];
        let (columns, entries) = rows.row(i);
        columns.iter().zip(entries).for_each(|(&j, v)| row[j as usize] = *v);
        row
    }

    #[test]
    fn dense_columns_get_mean_zero_and_deviation_one_by_the_weights_of_the_rows() {
        let data =
            rows(3, &[&[1.0, 1e300, 5.0], &[2.0, 0.0, 5.0], &[6.0, 2e300, 5.0], &[9.0, 1.0, 5.0]]);
        let weights = [1.0, 2.0, 0.5, 0.0];
        for weights in [None, Some(&weights[..])] {
            let scale = ColumnScale::of(&data, weights, ScaleRule::Auto, true);
            let scaled = scale.expect("weights").expect("dense").apply(&data).expect("rows");
            let share = |i: usize| weights.map_or(1.0, |w: &[f64]| w[i]);
            let total: f64 = (0..4).map(share).sum();
            for j in 0..3 {
                let moment = |p: i32| -> f64 {
                    (0..4).map(|i| share(i) * full(&scaled, i)[j].powi(p)).sum::<f64>() / total
                };
                assert!(moment(1).abs() < 1e-14, "column {j}");
                // the last column is the same in every row
                let expected = if j < 2 { 1.0 } else { 0.0 };
                assert!((moment(2) - expected).abs() < 1e-14, "column {j}: {}", moment(2));
            }
        }
    }

    #[test]
    fn sparse_data_keep_their_zeros_and_the_rule_decides() {
        let data = rows(4, &[&[0.0, -8.0, 0.0, 0.0], &[0.0, 2.0, 0.0, 0.0], &[0.5, 0.0, 0.0, 0.0]]);
        let of = |rule| ColumnScale::of(&data, None, rule, true).expect("no weights");
        assert_eq!((of(ScaleRule::Auto), of(ScaleRule::Off)), (None, None));
        let scaled = of(ScaleRule::On).expect("a scale").apply(&data).expect("rows");
        assert_eq!(
            [full(&scaled, 0), full(&scaled, 2)],
            [[0.0, -1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]]
        );
        assert!(ColumnScale::of(&data, Some(&[1.0]), ScaleRule::On, true).is_err());
        let constant = rows(1, &[&[1.0], &[1.0]]);
        assert_eq!(ColumnScale::of(&constant, None, ScaleRule::Auto, true), Ok(None));
    }

    #[test]
    fn the_classifier_gives_rows_as_they_came_the_scores_of_the_scaled_ones() {
        let data = rows(2, &[&[1.0, 100.0], &[4.0, 300.0], &[-2.0, 250.0]]);
        let labels = vec!["1".to_owned(), "2".to_owned(), "3".to_owned()];
        let weights = vec![0.3, -1.0, 2.0, 0.5, -0.7, 0.1];
        for (bias, centred) in [(None, false), (None, true), (Some(vec![0.1, -0.2, 0.3]), true)] {
            let scale = ColumnScale::of(&data, None, ScaleRule::On, centred).expect("no weights");
            let scale = scale.expect("a scale");
            let info = BTreeMap::new();
            let fitted = Classifier::new(labels.clone(), 2, weights.clone(), bias, info)
                .expect("a classifier");
            let (mut of_scaled, mut as_they_came) = (vec![0.0; 9], vec![0.0; 9]);
            fitted.scores(&scale.apply(&data).expect("rows"), &mut of_scaled).expect("scores");
            let model = scale.classifier(&fitted).expect("a classifier");
            model.scores(&data, &mut as_they_came).expect("scores");
            for (a, b) in of_scaled.iter().zip(&as_they_came) {
                assert!((a - b).abs() < 1e-13, "{a} {b}");
            }
            assert!(model.info().contains_key("scale"));
        }
    }
}
