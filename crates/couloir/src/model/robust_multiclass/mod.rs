//! Robust multiclass classification over a nuclear-norm ball.

mod batches;
mod row_lengths;
mod settings;

pub use settings::{RobustSettings, Scaling};

use super::loss::{MultinomialLogistic, ScoreLoss};
use super::uncertainty::{ChiSquare, Moduli, Uncertainty};
use crate::domain::{NuclearBall, Simplex};
use crate::error::{Error, Result, check_len, check_positive};
use crate::linalg::scratch::Pool;
use crate::linalg::{Layout, Rows, ScoreOperator, SparseMatrix, dot};
use crate::problem::{
    BestResponse, BlockConstants, Capabilities, ColumnWise, ExactDifferences, Identity,
    KnownConstants, LinearOperator, Measured, Preparation, PreparedImage, SaddleProblem,
};
use crate::state::{Digest, Fingerprint};
use rayon::prelude::*;
use row_lengths::{Lengths, top_eigenvalue};
use std::marker::PhantomData;
use std::sync::OnceLock;

/// A difference of values is as good as a sum of differences where its rounding is below this share of it.
const PLAIN_IS_ENOUGH: f64 = 1e-6;

/// ```text
/// f(X, y) = s sum_i y_i l_i(X) - lambda/2 |n y - 1|^2,   |X|_* <= tau,   y in the unit simplex of R^n,
/// l_i(X) = log(1 + sum_{j != b_i} exp(x_j.a_i - x_{b_i}.a_i))
/// ```
///
/// over sparse rows `a_i` in `R^d` with labels `b_i` below `h`; `X` has a vector `x_j` for every class. As a mean
/// over rows, `F_i = n s y_i l_i(X) - lambda/2 |n y - 1|^2`.
///
/// f sees X only through the `n x h` scores `A X^T` (the image); losses (`n`) and softmax slopes (`n x h`) are the
/// cache, so that a gradient for another `y` needs no exponential.
///
/// ```
/// use couloir::Solve;
/// use couloir::linalg::SparseMatrix;
/// use couloir::model::{RobustMulticlass, RobustSettings};
///
/// // three rows in the plane, one of each class
/// let rows = SparseMatrix::from_rows(2, vec![0, 1, 2, 4], vec![0, 1, 0, 1],
///     vec![1.0, 1.0, -0.7, -0.7])?;
/// let settings = RobustSettings::default().tau(10.0);
/// let model = RobustMulticlass::new(rows, vec![0, 1, 2], 3, settings)?;
/// let x_set = model.x_set()?;
/// let solution = Solve::new(&model, &x_set, model.y_set()).gap(1e-6).run()?;
/// assert_eq!(model.class_major(&solution.x).len(), 3 * 2);
/// assert!(solution.outcome.certificate.upper < 0.5);
/// # Ok::<(), couloir::Error>(())
/// ```
pub type RobustMulticlass = RobustModel<MultinomialLogistic, ChiSquare>;

/// A linear model over rows: a loss on their scores, and an uncertainty set from which an adversary takes their weights.
#[derive(Debug)]
pub struct RobustModel<L, U> {
    loss: PhantomData<L>,
    uncertainty: U,
    operator: ScoreOperator,
    labels: Vec<u32>,
    /// The feature that each line of a point by features stands for; none by classes.
    order: Vec<u32>,
    /// The entry of `y` that weighs each row, where that is not the row's own number: in a batch.
    members: Option<Vec<u32>>,
    y_set: Simplex,
    /// `n`, the dimension of `y`.
    n: usize,
    /// The factor of a row's loss: `s`, or `n s / |batch|` in a batch.
    weight: f64,
    settings: RobustSettings,
    lengths: Lengths,
    /// A bound of the top singular value of the rows, found when it is asked for.
    singular: OnceLock<f64>,
    scratch: Pool,
}

/// Rows that one task of a sum takes.
const CHUNK: usize = 256;
impl<L: ScoreLoss, U: Uncertainty> RobustModel<L, U> {
    /// The model over these rows, with `classes` classes and labels numbered from 0. A class may have no
    /// rows.
    ///
    /// # Errors
    /// No rows, fewer than two classes, labels of another number than rows or not below `classes`,
    /// `lambda_n` or `tau` not positive, an intercept that is not finite.
    pub fn new(
        rows: SparseMatrix,
        labels: Vec<u32>,
        classes: usize,
        settings: RobustSettings,
    ) -> Result<Self> {
        check_len("labels", rows.rows(), labels.len())?;
        check_positive("lambda n", settings.lambda_n)?;
        check_positive("tau", settings.tau)?;
        if classes < 2 {
            let why = format!("at least two are needed, got {classes}");
            return Err(Error::Setting { name: "classes", why });
        }
        if let Some(i) = labels.iter().position(|&b| b as usize >= classes) {
            let why = format!("label {i} is {}; there are {classes} classes", labels[i]);
            return Err(Error::Setting { name: "labels", why });
        }
        let n = labels.len();
        let y_set = Simplex::new(n)?;
        let rows = match settings.intercept {
            Some(value) => rows.with_constant_column(value)?,
            None => rows,
        };
        let (rows, order) = match settings.layout {
            Layout::ClassMajor => (rows, Vec::new()),
            Layout::FeatureMajor => rows.by_frequency(),
        };
        let weight = settings.scaling.factor(n);
        let lengths = Lengths::new(&rows);
        let operator = ScoreOperator::new(rows, classes, settings.layout);
        let scratch = Pool::default();
        Ok(RobustModel {
            loss: PhantomData,
            uncertainty: U::new(n, settings.lambda_n),
            operator,
            labels,
            order,
            members: None,
            y_set,
            n,
            weight,
            settings,
            lengths,
            singular: OnceLock::new(),
            scratch,
        })
    }

    /// The same problem over a ball of another radius.
    ///
    /// # Errors
    /// `tau` not positive.
    pub fn with_tau(mut self, tau: f64) -> Result<Self> {
        check_positive("tau", tau)?;
        self.settings.tau = tau;
        Ok(self)
    }

    /// The set of `X`: the nuclear-norm ball of radius `tau`, of matrices that lie as the settings say.
    ///
    /// # Errors
    /// No features.
    pub fn x_set(&self) -> Result<NuclearBall> {
        let (h, d) = (self.classes(), self.features());
        match self.settings.layout {
            Layout::ClassMajor => NuclearBall::new(h, d, self.settings.tau),
            Layout::FeatureMajor => NuclearBall::new(d, h, self.settings.tau),
        }
    }

    /// The set of `y`.
    #[must_use]
    pub fn y_set(&self) -> &Simplex {
        &self.y_set
    }

    /// `n`.
    #[must_use]
    pub fn len(&self) -> usize {
        self.n
    }

    /// Whether there are no rows; there are.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// The labels of the rows, numbered from 0.
    #[must_use]
    pub fn labels(&self) -> &[u32] {
        &self.labels
    }

    /// `h`.
    #[must_use]
    pub fn classes(&self) -> usize {
        self.operator.classes()
    }

    /// `d`, with the intercept where there is one (it is the last feature).
    #[must_use]
    pub fn features(&self) -> usize {
        self.operator.matrix().columns()
    }

    /// The settings.
    #[must_use]
    pub fn settings(&self) -> &RobustSettings {
        &self.settings
    }

    /// `s`.
    #[must_use]
    pub fn scale(&self) -> f64 {
        self.settings.scaling.factor(self.n)
    }

    /// A point of [`x_set`](Self::x_set) as the row-major `h x d` matrix `X`, features in the order of the data.
    #[must_use]
    pub fn class_major(&self, x: &[f64]) -> Vec<f64> {
        if self.order.is_empty() {
            return x.to_vec();
        }
        let (h, d) = (self.classes(), self.features());
        let mut lines = vec![0; d];
        for (k, &feature) in self.order.iter().enumerate() {
            lines[feature as usize] = k;
        }
        // of every line one cache line at a time: as many classes
        const CLASSES: usize = 8;
        let mut out = vec![0.0; x.len()];
        out.par_chunks_mut(CLASSES * d).enumerate().for_each(|(chunk, out)| {
            for (feature, k) in lines.iter().enumerate() {
                let line = &x[k * h + chunk * CLASSES..(k + 1) * h];
                for (out, x) in out.chunks_exact_mut(d).zip(line) {
                    out[feature] = *x;
                }
            }
        });
        out
    }

    /// The point of [`x_set`](Self::x_set) that stands for a row-major `h x d` matrix: what a start point must be.
    #[must_use]
    pub fn from_class_major(&self, matrix: &[f64]) -> Vec<f64> {
        let (h, d) = (self.classes(), self.features());
        let mut out = matrix.to_vec();
        out.par_chunks_mut(h).zip(&self.order).for_each(|(line, &feature)| {
            for (j, x) in line.iter_mut().enumerate() {
                *x = matrix[j * d + feature as usize];
            }
        });
        out
    }

    /// The smoothness of `f(., y)` for this `y`: `s/2` times the square of the top singular value of
    /// `diag(y)^(1/2) A`, by power iteration (from below, within a percent or so). Far below the
    /// [`constants`](KnownConstants::constants), which hold for every `y`, where `y` is near uniform.
    #[must_use]
    pub fn smoothness_at(&self, y: &[f64]) -> f64 {
        let weights: Vec<f64> =
            (0..self.labels.len()).map(|r| y[self.member(r)].max(0.0)).collect();
        L::CURVATURE * self.weight * top_eigenvalue(self.operator.matrix(), Some(&weights))
    }

    /// The entry of `y` that weighs row `r`.
    fn member(&self, r: usize) -> usize {
        self.members.as_ref().map_or(r, |m| m[r] as usize)
    }

    /// Losses, slopes.
    fn split<'a>(&self, cache: &'a [f64]) -> (&'a [f64], &'a [f64]) {
        cache.split_at(self.labels.len())
    }

    /// Lends `w_i l_i` for every entry of `y`: zero where a batch has no row.
    fn with_weighted_losses<T>(&self, losses: &[f64], work: impl FnOnce(&[f64]) -> T) -> T {
        self.scratch.with(self.n, |weighted| {
            match &self.members {
                None => weighted.iter_mut().zip(losses).for_each(|(w, l)| *w = self.weight * l),
                Some(members) => {
                    weighted.fill(0.0);
                    for (&i, l) in members.iter().zip(losses) {
                        weighted[i as usize] += self.weight * l;
                    }
                }
            }
            work(weighted)
        })
    }
}

impl<L: ScoreLoss, U: Uncertainty> SaddleProblem for RobustModel<L, U> {
    fn dim_x(&self) -> usize {
        self.classes() * self.features()
    }

    fn dim_y(&self) -> usize {
        self.n
    }

    fn value(&self, at: PreparedImage<'_>, y: &[f64]) -> f64 {
        let (losses, _) = self.split(at.cache);
        let mean = match &self.members {
            None => dot(losses, y),
            Some(members) => members.iter().zip(losses).map(|(&i, l)| y[i as usize] * l).sum(),
        };
        self.weight * mean + self.uncertainty.value(y)
    }

    fn grad_image(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
        let h = self.classes();
        let (_, slopes) = self.split(at.cache);
        out.par_chunks_mut(CHUNK * h).zip(slopes.par_chunks(CHUNK * h)).enumerate().for_each(
            |(chunk, (out, slopes))| {
                let rows = out.chunks_exact_mut(h).zip(slopes.chunks_exact(h));
                for (r, (out, slopes)) in rows.enumerate() {
                    let weight = self.weight * y[self.member(chunk * CHUNK + r)];
                    out.iter_mut().zip(slopes).for_each(|(o, q)| *o = weight * q);
                }
            },
        );
    }

    fn grad_y(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
        let (losses, _) = self.split(at.cache);
        self.uncertainty.slopes(y, out);
        for (r, l) in losses.iter().enumerate() {
            out[self.member(r)] += self.weight * l;
        }
    }

    fn capabilities(&self) -> Capabilities<'_> {
        let mut capabilities = Capabilities::NONE
            .with_operator(self)
            .with_preparation(self)
            .with_best_response(self)
            .with_differences(self)
            .with_constants(self)
            .with_identity(self);
        if self.settings.layout == Layout::FeatureMajor {
            capabilities.column_wise = Some(self);
        }
        // a batch has no batches
        if self.members.is_none() {
            capabilities =
                capabilities.with_sampled(self).with_sampled_constants(self).with_restriction(self);
        }
        capabilities
    }
}

impl<L: ScoreLoss, U: Uncertainty> LinearOperator for RobustModel<L, U> {
    fn image_dim(&self) -> usize {
        self.labels.len() * self.classes()
    }

    fn image(&self, x: &[f64], out: &mut [f64]) {
        self.operator.scores(x, out);
    }

    fn adjoint(&self, s: &[f64], out: &mut [f64]) {
        self.operator.adjoint(s, out);
    }
}

impl<L: ScoreLoss, U: Uncertainty> ColumnWise for RobustModel<L, U> {
    fn columns(&self) -> usize {
        self.classes()
    }

    fn normal(&self, s: &[f64], room: &mut [f64], out: &mut [f64]) {
        self.operator.normal(s, room, out);
    }
}

impl<L: ScoreLoss, U: Uncertainty> Preparation for RobustModel<L, U> {
    fn cache_dim(&self) -> usize {
        self.labels.len() * (self.classes() + 1)
    }

    fn prepare(&self, image: &[f64], cache: &mut [f64]) {
        let (losses, slopes) = cache.split_at_mut(self.labels.len());
        L::prepare(image, &self.labels, self.classes(), losses, slopes);
    }

    fn prepare_filled(
        &self,
        fill: &(dyn Fn(usize, &mut [f64]) + Sync),
        image: &mut [f64],
        cache: &mut [f64],
    ) {
        let (losses, slopes) = cache.split_at_mut(self.labels.len());
        L::prepare_filled(fill, &self.labels, self.classes(), image, losses, slopes);
    }
}

impl<L: ScoreLoss, U: Uncertainty> BestResponse for RobustModel<L, U> {
    fn best_response(&self, at: PreparedImage<'_>, y: &mut [f64]) -> f64 {
        let (losses, _) = self.split(at.cache);
        self.with_weighted_losses(losses, |weighted| {
            self.scratch.with(self.n, |room| self.uncertainty.best_response(weighted, room, y))
        })
    }
}

impl<L: ScoreLoss, U: Uncertainty> ExactDifferences for RobustModel<L, U> {
    fn bend_x(
        &self,
        from: PreparedImage<'_>,
        to: PreparedImage<'_>,
        y: &[f64],
        slope: f64,
    ) -> Measured {
        // far from rounding the losses tell, which are there already
        let plain = Measured::difference(self.value(to, y), self.value(from, y), slope);
        if plain.rounding <= PLAIN_IS_ENOUGH * plain.value {
            return plain;
        }
        let (h, count) = (self.classes(), self.labels.len());
        let ((l0, q0), (l1, q1)) = (self.split(from.cache), self.split(to.cache));
        let chunks = count.div_ceil(CHUNK);
        // sums of the chunks, added up in their order; in a batch the rows' weights before them
        let gathered = if self.members.is_some() { count } else { 0 };
        let (value, rounding) = self.scratch.with(gathered + 2 * chunks, |buffer| {
            let (weights, sums) = buffer.split_at_mut(gathered);
            weights.iter_mut().enumerate().for_each(|(r, w)| *w = y[self.member(r)]);
            let weights = if self.members.is_some() { &*weights } else { y };
            sums.par_chunks_mut(2).enumerate().for_each(|(chunk, sums)| {
                let rows = chunk * CHUNK..((chunk + 1) * CHUNK).min(count);
                let cells = rows.start * h..rows.end * h;
                let at = Rows {
                    scores: &from.image[cells.clone()],
                    losses: &l0[rows.clone()],
                    slopes: &q0[cells.clone()],
                };
                let there = Rows {
                    scores: &to.image[cells.clone()],
                    losses: &l1[rows.clone()],
                    slopes: &q1[cells],
                };
                (sums[0], sums[1]) =
                    L::bend(at, there, &self.labels[rows.clone()], h, &weights[rows]);
            });
            sums.chunks(2).fold((0.0, 0.0), |(v, r), s| (v + s[0], r + s[1]))
        });
        // the sum itself, of terms of one sign
        let rounding = rounding + f64::EPSILON * (count as f64).sqrt() * value.abs();
        Measured {
            value: self.weight * value,
            rounding: self.weight * rounding + f64::MIN_POSITIVE,
        }
    }

    fn change_y(&self, at: PreparedImage<'_>, from: &[f64], to: &[f64]) -> Measured {
        let (losses, _) = self.split(at.cache);
        self.with_weighted_losses(losses, |weighted| self.uncertainty.change(weighted, from, to))
    }
}

impl<L: ScoreLoss, U: Uncertainty> KnownConstants for RobustModel<L, U> {
    /// For every `y` of the simplex, with `|softmax'| <= 1/2` and `|p - e_b|^2 <= 2`:
    ///
    /// ```text
    /// Lxx = s/2 max_i |a_i|^2        y may put all its weight on one row
    /// Lxy = s sqrt(2) sigma_max(A)   the Gram matrix of the q_i (x) a_i is that of the q_i times that of the a_i,
    ///                                entry by entry, whose norm is at most max |q_i|^2 |A A^T| (Schur)
    /// Lyy = mu = lambda n^2
    /// ```
    fn constants(&self) -> BlockConstants {
        let Moduli { mu, lyy } = self.uncertainty.moduli();
        let longest = self.lengths.longest;
        // rows that are drawn twice weigh twice
        let repeated = self.most_repeated();
        let lxx = L::CURVATURE * self.weight * longest * longest * repeated;
        let lxy = self.weight * L::SLOPE_SQUARED.sqrt() * self.singular() * repeated.sqrt();
        BlockConstants { lxx: Some(lxx), lxy: Some(lxy), lyy, mu }
    }
}

impl<L: ScoreLoss, U: Uncertainty> Identity for RobustModel<L, U> {
    fn fingerprint(&self, print: &mut Fingerprint) {
        let RobustSettings { scaling, tau, intercept, layout, .. } = self.settings;
        let rows = self.operator.matrix();
        print.note("tau", tau);
        self.uncertainty.fingerprint(print);
        L::fingerprint(print);
        print.note("objective", scaling);
        print.note_maybe("intercept", intercept);
        print.note("layout", format!("{layout:?}"));
        print.note("number of classes", self.classes());
        rows.fingerprint(print);
        let mut digest = Digest::default();
        digest.indices(&self.labels);
        digest.indices(&self.order);
        print.note("labels and features (SHA-256)", digest.name());
    }
}

impl<L: ScoreLoss, U: Uncertainty> RobustModel<L, U> {
    /// A bound of the top singular value of the rows.
    fn singular(&self) -> f64 {
        let Lengths { longest, squares } = self.lengths;
        *self.singular.get_or_init(|| {
            // from below; a tenth more makes it a bound in practice, and |A|_F is one for sure
            let top = 1.1 * top_eigenvalue(self.operator.matrix(), None);
            top.max(longest * longest).min(squares).sqrt()
        })
    }

    /// How often a batch has its most frequent row.
    fn most_repeated(&self) -> f64 {
        let Some(members) = &self.members else { return 1.0 };
        let mut sorted = members.clone();
        sorted.sort_unstable();
        let longest = sorted.chunk_by(|a, b| a == b).map(<[u32]>::len).max();
        longest.unwrap_or(1) as f64
    }
}
