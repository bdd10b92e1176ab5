//! Group-robust logistic regression: the loss of the worst group counts, softly.

use super::uncertainty::{Groups, Moduli, Uncertainty};
use crate::domain::{Confidence, Domain, Simplex};
use crate::error::{Error, Result, check_len};
use crate::linalg::SparseMatrix;
use crate::problem::{
    BatchRestriction, BestResponse, BlockConstants, Capabilities, ExactDifferences, Identity,
    KnownConstants, LinearOperator, Measured, Population, Preparation, PreparedImage,
    SaddleProblem, Sampled, SampledConstants,
};
use crate::random::Streams;
use crate::state::{Digest, Fingerprint};
use rayon::prelude::*;
use std::sync::Arc;

/// ```text
/// f(x, y) = sum_g y_g loss_g(x) - mu/2 |y - 1/G|^2,   y in the simplex of the G groups,
/// loss_g(x) = sum_{i in g} w_i log(1 + exp(-b_i <a_i, x>)),   w_i = 1/n_g
/// ```
///
/// over sparse rows `a_i` with labels `b_i = +-1`. As a mean over rows,
/// `F_i = n w_i y_{g(i)} log(1 + exp(-b_i <a_i, x>)) - mu/2 |y - 1/G|^2`.
///
/// f sees x only through the margins `<a_i, x>` (the image), and y only through the G group losses (the
/// cache), so the best response in y is a projection in dimension G.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupRobust {
    rows: SparseMatrix,
    labels: Vec<f64>,
    groups: Arc<[u32]>,
    weights: Arc<[f64]>,
    uncertainty: Groups,
    bounds: Smoothness,
}

/// Smoothness from row norms: `log(1 + exp(-m))` bends by at most 1/4 and its slope is at most 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Smoothness {
    lxx: f64,
    lxy: f64,
    /// Of the joint gradient, in the mean square over the components.
    mean: f64,
}

impl Smoothness {
    fn new(rows: &SparseMatrix, weights: &[f64], groups: usize, mu: f64) -> Self {
        let n = weights.len() as f64;
        let (mut lxx, mut lxy, mut squares) = (0.0f64, 0.0f64, 0.0);
        for (i, w) in weights.iter().enumerate() {
            let length = crate::linalg::norm(rows.row(i).1);
            lxx = lxx.max(0.25 * length * length);
            lxy = lxy.max(length);
            let (xx, xy) = (0.25 * n * w * length * length, n * w * length);
            let joint = 0.5 * (xx + mu) + (0.25 * (xx - mu).powi(2) + xy * xy).sqrt();
            squares += joint * joint;
        }
        // a group's loss is a mean over its rows, and f's slope in x a mean of those over groups
        Smoothness { lxx, lxy: lxy * (groups as f64).sqrt(), mean: (squares / n).sqrt() }
    }
}

/// Rows that one task of a sum takes; sums are added up in the order of the chunks.
const CHUNK: usize = 8192;

impl GroupRobust {
    /// The model over these rows: `labels` +1 or -1, `groups` numbered from 0 with none empty.
    ///
    /// # Errors
    /// Lengths that disagree, a label that is not +1 or -1, a group without rows, `mu` not positive.
    pub fn new(rows: SparseMatrix, labels: Vec<f64>, groups: Vec<u32>, mu: f64) -> Result<Self> {
        check_len("labels", rows.rows(), labels.len())?;
        check_len("groups", rows.rows(), groups.len())?;
        let uncertainty = Groups::with_modulus(groups, mu)?;
        if let Some(i) = labels.iter().position(|&b| b != 1.0 && b != -1.0) {
            let why = format!("label {i} is {}; labels are 1 or -1", labels[i]);
            return Err(Error::Setting { name: "labels", why });
        }
        let (groups, weights) = uncertainty.parts();
        let bounds = Smoothness::new(&rows, &weights, uncertainty.simplex().dim(), mu);
        Ok(GroupRobust { rows, labels, groups, weights, uncertainty, bounds })
    }

    /// The set of `y`.
    #[must_use]
    pub fn y_set(&self) -> &Simplex {
        self.uncertainty.simplex()
    }

    /// The number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Sums over all rows, in parallel and always in the same order.
    fn sum_rows(&self, term: impl Fn(usize) -> f64 + Sync) -> f64 {
        let n = self.len();
        let parts: Vec<f64> = (0..n.div_ceil(CHUNK))
            .into_par_iter()
            .map(|c| (c * CHUNK..((c + 1) * CHUNK).min(n)).map(&term).sum())
            .collect();
        parts.iter().sum()
    }

    fn margin_of_row(&self, i: usize, x: &[f64]) -> f64 {
        let (columns, values) = self.rows.row(i);
        self.labels[i] * columns.iter().zip(values).map(|(&j, v)| v * x[j as usize]).sum::<f64>()
    }

    /// `n w_i`, the weight of row `i` in its component.
    fn component_weight(&self, i: usize) -> f64 {
        self.len() as f64 * self.weights[i]
    }
}

/// `log(1 + exp(-m))`.
fn logistic(m: f64) -> f64 {
    if m > 0.0 { (-m).exp().ln_1p() } else { -m + m.exp().ln_1p() }
}

/// `1 / (1 + exp(m))`, minus the slope of [`logistic`].
fn complement(m: f64) -> f64 {
    if m > 0.0 {
        let e = (-m).exp();
        e / (1.0 + e)
    } else {
        1.0 / (1.0 + m.exp())
    }
}

/// `logistic(m + d) - logistic(m) + complement(m) d`, without cancellation.
fn logistic_bend(m: f64, d: f64) -> f64 {
    let p = complement(m);
    if d.abs() < 1e-3 {
        p * (1.0 - p) * d * d * (0.5 - (1.0 - 2.0 * p) * d / 6.0)
    } else if d.abs() < 30.0 {
        (p * (-d).exp_m1()).ln_1p() + p * d
    } else {
        logistic(m + d) - logistic(m) + p * d
    }
}

impl SaddleProblem for GroupRobust {
    fn dim_x(&self) -> usize {
        self.rows.columns()
    }

    fn dim_y(&self) -> usize {
        self.y_set().dim()
    }

    fn value(&self, at: PreparedImage<'_>, y: &[f64]) -> f64 {
        crate::linalg::dot(at.cache, y) + self.uncertainty.value(y)
    }

    fn grad_image(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
        out.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, out)| {
            for (offset, o) in out.iter_mut().enumerate() {
                let i = chunk * CHUNK + offset;
                let b = self.labels[i];
                let weight = self.weights[i] * y[self.groups[i] as usize];
                *o = -weight * b * complement(b * at.image[i]);
            }
        });
    }

    fn grad_y(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
        self.uncertainty.slopes(y, out);
        out.iter_mut().zip(at.cache).for_each(|(o, loss)| *o += loss);
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities::NONE
            .with_operator(self)
            .with_preparation(self)
            .with_best_response(self)
            .with_differences(self)
            .with_constants(self)
            .with_sampled(self)
            .with_sampled_constants(self)
            .with_restriction(self)
            .with_identity(self)
    }
}

impl LinearOperator for GroupRobust {
    fn image_dim(&self) -> usize {
        self.len()
    }

    fn image(&self, x: &[f64], out: &mut [f64]) {
        self.rows.multiply(x, out);
    }

    fn adjoint(&self, s: &[f64], out: &mut [f64]) {
        self.rows.multiply_transposed(s, out);
    }
}

impl Preparation for GroupRobust {
    fn cache_dim(&self) -> usize {
        self.dim_y()
    }

    fn prepare(&self, image: &[f64], cache: &mut [f64]) {
        let (n, count) = (self.len(), cache.len());
        let parts: Vec<Vec<f64>> = (0..n.div_ceil(CHUNK))
            .into_par_iter()
            .map(|c| {
                let mut losses = vec![0.0; count];
                for i in c * CHUNK..((c + 1) * CHUNK).min(n) {
                    let loss = self.weights[i] * logistic(self.labels[i] * image[i]);
                    losses[self.groups[i] as usize] += loss;
                }
                losses
            })
            .collect();
        cache.fill(0.0);
        for part in parts {
            cache.iter_mut().zip(part).for_each(|(c, p)| *c += p);
        }
    }

    fn prepare_filled(
        &self,
        fill: &(dyn Fn(usize, &mut [f64]) + Sync),
        image: &mut [f64],
        cache: &mut [f64],
    ) {
        fill(0, image);
        self.prepare(image, cache);
    }
}

impl BestResponse for GroupRobust {
    fn best_response(&self, at: PreparedImage<'_>, y: &mut [f64]) -> f64 {
        self.uncertainty.best_response(at.cache, &mut [], y)
    }

    fn confidence(&self) -> Confidence {
        Confidence::Exact
    }
}

impl ExactDifferences for GroupRobust {
    fn bend_x(
        &self,
        from: PreparedImage<'_>,
        to: PreparedImage<'_>,
        y: &[f64],
        _slope: f64,
    ) -> Measured {
        let value = self.sum_rows(|i| {
            let b = self.labels[i];
            let weight = self.weights[i] * y[self.groups[i] as usize];
            weight * logistic_bend(b * from.image[i], b * (to.image[i] - from.image[i]))
        });
        Measured { value, rounding: 1e-6 * value.abs() + f64::MIN_POSITIVE }
    }

    fn change_y(&self, at: PreparedImage<'_>, from: &[f64], to: &[f64]) -> Measured {
        self.uncertainty.change(at.cache, from, to)
    }
}

impl KnownConstants for GroupRobust {
    fn constants(&self) -> BlockConstants {
        let Moduli { mu, lyy } = self.uncertainty.moduli();
        let (lxx, lxy) = (Some(self.bounds.lxx), Some(self.bounds.lxy));
        BlockConstants { lxx, lxy, lyy, mu, mu_x: None }
    }

    fn confidence(&self) -> Confidence {
        Confidence::Exact
    }
}

impl Identity for GroupRobust {
    fn fingerprint(&self, print: &mut Fingerprint) {
        print.note("mu", self.uncertainty.modulus());
        self.rows.fingerprint(print);
        let mut digest = Digest::default();
        digest.numbers(&self.labels);
        digest.indices(&self.groups);
        print.note("labels and groups (SHA-256)", digest.name());
    }
}

impl Sampled for GroupRobust {
    fn population(&self) -> Population {
        Population::Finite(self.len() as u64)
    }

    fn batch_value(&self, batch: &[u64], x: &[f64], y: &[f64]) -> f64 {
        let terms = batch.iter().map(|&i| {
            let i = i as usize;
            let weight = self.component_weight(i) * y[self.groups[i] as usize];
            weight * logistic(self.margin_of_row(i, x))
        });
        terms.sum::<f64>() / batch.len() as f64 + self.uncertainty.value(y)
    }

    fn batch_grad_x(&self, batch: &[u64], x: &[f64], y: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        for &i in batch {
            let i = i as usize;
            let weight = self.component_weight(i) * y[self.groups[i] as usize] / batch.len() as f64;
            let slope = -weight * self.labels[i] * complement(self.margin_of_row(i, x));
            let (columns, values) = self.rows.row(i);
            for (&j, v) in columns.iter().zip(values) {
                out[j as usize] += slope * v;
            }
        }
    }

    fn batch_grad_y(&self, batch: &[u64], x: &[f64], y: &[f64], out: &mut [f64]) {
        self.uncertainty.slopes(y, out);
        for &i in batch {
            let i = i as usize;
            let loss = self.component_weight(i) * logistic(self.margin_of_row(i, x));
            out[self.groups[i] as usize] += loss / batch.len() as f64;
        }
    }
}

impl SampledConstants for GroupRobust {
    fn mean_smoothness(&self) -> Option<f64> {
        Some(self.bounds.mean)
    }

    fn sigma(&self) -> Option<f64> {
        None
    }

    /// Those of the [restriction](BatchRestriction).
    fn batch_constants(&self, batch: &[u64]) -> BlockConstants {
        self.part(batch).constants()
    }
}

impl BatchRestriction for GroupRobust {
    fn restrict(&self, batch: &[u64]) -> Option<Box<dyn SaddleProblem + '_>> {
        Some(Box::new(self.part(batch)))
    }
}

impl GroupRobust {
    /// The mean over a batch.
    fn part(&self, batch: &[u64]) -> GroupRobust {
        let size = batch.len() as f64;
        let pick = |i: &u64| *i as usize;
        let rows = self.rows.select(batch);
        let weights: Arc<[f64]> =
            batch.iter().map(|i| self.component_weight(pick(i)) / size).collect();
        // the weights of a group need not add up to 1 here
        let groups: Arc<[u32]> = batch.iter().map(|i| self.groups[pick(i)]).collect();
        let mut totals = vec![0.0; self.dim_y()];
        groups.iter().zip(&*weights).for_each(|(&g, w)| totals[g as usize] += w);
        let heaviest = totals.iter().fold(0.0f64, |m, v| m.max(*v));
        let mut bounds = Smoothness::new(&rows, &weights, self.dim_y(), self.uncertainty.modulus());
        (bounds.lxx, bounds.lxy) = (bounds.lxx * heaviest, bounds.lxy * heaviest);
        GroupRobust {
            rows,
            labels: batch.iter().map(|i| self.labels[pick(i)]).collect(),
            groups,
            weights,
            uncertainty: self.uncertainty.clone(),
            bounds,
        }
    }
}

/// A generated data set: sparse rows with frequent and rare features, labels from a linear rule that
/// differs somewhat from group to group, groups of very different size.
#[derive(Clone, Debug, PartialEq)]
pub struct SyntheticGroups {
    /// Rows.
    pub rows: usize,
    /// Features.
    pub features: usize,
    /// Non-zero entries of a row.
    pub nonzeros: usize,
    /// Groups.
    pub groups: usize,
    /// The share of labels that are flipped.
    pub flipped: f64,
    /// The seed.
    pub seed: u64,
}

impl SyntheticGroups {
    /// The data as a model with this `mu`.
    ///
    /// # Errors
    /// Sizes of zero, fewer features than non-zeros, a group that comes out empty, a bad `mu`.
    pub fn model(&self, mu: f64) -> Result<GroupRobust> {
        let SyntheticGroups { rows, features, nonzeros, groups, flipped, seed } = *self;
        if rows == 0 || nonzeros == 0 || groups == 0 || features < nonzeros {
            return Err(Error::EmptySet {
                why: format!("{rows} rows of {nonzeros} of {features} features in {groups} groups"),
            });
        }
        let streams = Streams::new(seed);
        let unit = |word: u64| (word >> 11) as f64 / (1u64 << 53) as f64;
        let mut rule = streams.stream("rule");
        let common: Vec<f64> = (0..features).map(|_| 2.0 * unit(rule.word()) - 1.0).collect();
        let own: Vec<Vec<f64>> = (0..groups)
            .map(|_| (0..features).map(|_| 2.0 * unit(rule.word()) - 1.0).collect())
            .collect();
        let mut draw = streams.stream("rows");
        let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        let (mut labels, mut memberships) = (Vec::new(), Vec::new());
        let size = 1.0 / (nonzeros as f64).sqrt();
        for _ in 0..rows {
            // group g is about half as large as group g - 1, but for the last, which ties with it
            let group =
                (0..groups - 1).find(|_| draw.word().is_multiple_of(2)).unwrap_or(groups - 1);
            let first = indices.len();
            while indices.len() < first + nonzeros {
                // squaring makes low features frequent
                let feature =
                    ((unit(draw.word()).powi(2) * features as f64) as u32).min(features as u32 - 1);
                if !indices[first..].contains(&feature) {
                    indices.push(feature);
                    values.push(if draw.word().is_multiple_of(2) { size } else { -size });
                }
            }
            indices[first..].sort_unstable();
            starts.push(indices.len());
            let score: f64 = indices[first..]
                .iter()
                .zip(&values[first..])
                .map(|(&j, v)| v * (common[j as usize] + 0.7 * own[group][j as usize]))
                .sum();
            let flip = unit(draw.word()) < flipped;
            labels.push(if (score > 0.0) != flip { 1.0 } else { -1.0 });
            memberships.push(group as u32);
        }
        let matrix = SparseMatrix::from_rows(features, starts, indices, values)?;
        GroupRobust::new(matrix, labels, memberships, mu)
    }
}
