//! Robust multiclass classification over a nuclear-norm ball.

use crate::domain::{NuclearBall, Simplex};
use crate::error::{Error, Result, check_len, check_positive};
use crate::linalg::{
    Layout, Rows, ScoreOperator, SparseMatrix, bend, dot, norm, norm_squared, softmax_filled,
    softmax_losses,
};
use crate::problem::{BlockConstants, Measured, Population, SaddleProblem, Sampled, Seen};
use crate::run::{Digest, Fingerprint};
use crate::scratch::Pool;
use crate::sliding::pairwise::accurate_sum_of;
use rayon::prelude::*;
use std::sync::OnceLock;

/// The factor `s` of the losses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scaling {
    /// `s = 1`: the adversary reweights, `n y_i = max(0, 1 + (l_i - nu)/(lambda n))`.
    #[default]
    Dro,
    /// `s = 1/n`, as printed in the paper: `y` stays within about `1/n` of uniform.
    Paper,
}

impl Scaling {
    /// `s` for `n` rows.
    #[must_use]
    pub fn factor(self, n: usize) -> f64 {
        match self {
            Scaling::Dro => 1.0,
            Scaling::Paper => 1.0 / n as f64,
        }
    }
}

impl std::fmt::Display for Scaling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Scaling::Dro => "dro",
            Scaling::Paper => "paper",
        })
    }
}

/// Settings of [`RobustMulticlass`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct RobustSettings {
    /// The factor of the losses.
    pub scaling: Scaling,
    /// `lambda n`, 1 in the paper.
    pub lambda_n: f64,
    /// The radius of the nuclear-norm ball, 100 in the paper.
    pub tau: f64,
    /// A value to append to every row as one more feature, the intercept. Its weights lie in the ball
    /// with all others. A value far above the root mean square of every feature makes the problem
    /// much harder, for then it alone decides how much f bends; [`heaviest_feature`](super::heaviest_feature)
    /// is a sensible one.
    pub intercept: Option<f64>,
    /// How `X` lies in memory. By features (the default, and faster) they come in order of falling
    /// frequency: [`RobustMulticlass::class_major`] gives the matrix.
    pub layout: Layout,
}

impl Default for RobustSettings {
    fn default() -> Self {
        RobustSettings {
            scaling: Scaling::Dro,
            lambda_n: 1.0,
            tau: 100.0,
            intercept: None,
            layout: Layout::default(),
        }
    }
}

/// A difference of values is as good as a sum of differences where its rounding is below this share of it.
const PLAIN_IS_ENOUGH: f64 = 1e-6;

impl RobustSettings {
    /// The settings with this scaling.
    #[must_use]
    pub fn scaling(mut self, scaling: Scaling) -> Self {
        self.scaling = scaling;
        self
    }

    /// The settings with this `lambda n`.
    #[must_use]
    pub fn lambda_n(mut self, lambda_n: f64) -> Self {
        self.lambda_n = lambda_n;
        self
    }

    /// The settings with this radius.
    #[must_use]
    pub fn tau(mut self, tau: f64) -> Self {
        self.tau = tau;
        self
    }

    /// The settings with this intercept feature.
    #[must_use]
    pub fn intercept(mut self, value: Option<f64>) -> Self {
        self.intercept = value;
        self
    }

    /// The settings with this layout of `X`.
    #[must_use]
    pub fn layout(mut self, layout: Layout) -> Self {
        self.layout = layout;
        self
    }
}

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
#[derive(Debug)]
pub struct RobustMulticlass {
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

/// What the bounds need to know of the rows' lengths.
#[derive(Clone, Copy, Debug)]
struct Lengths {
    longest: f64,
    /// `sum_i |a_i|^2`.
    squares: f64,
}

/// Rows that one task of a sum takes.
const CHUNK: usize = 256;
/// Power iterations for the top singular value.
const POWER_STEPS: usize = 60;

impl RobustMulticlass {
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
        Ok(RobustMulticlass {
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
    /// [`constants`](SaddleProblem::constants), which hold for every `y`, where `y` is near uniform.
    #[must_use]
    pub fn smoothness_at(&self, y: &[f64]) -> f64 {
        let weights: Vec<f64> =
            (0..self.labels.len()).map(|r| y[self.member(r)].max(0.0)).collect();
        0.5 * self.weight * top_eigenvalue(self.operator.matrix(), Some(&weights))
    }

    /// The entry of `y` that weighs row `r`.
    fn member(&self, r: usize) -> usize {
        self.members.as_ref().map_or(r, |m| m[r] as usize)
    }

    fn lambda(&self) -> f64 {
        self.settings.lambda_n / self.n as f64
    }

    /// `-lambda/2 |n y - 1|^2`.
    fn regulariser(&self, y: &[f64]) -> f64 {
        let n = self.n as f64;
        let sum = in_lanes([y, y], 0.0, |[y, _]| (n * y - 1.0).powi(2), |sum, square| sum + square);
        -0.5 * self.lambda() * sum
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

    /// Scores of one row.
    fn row_scores(&self, i: usize, x: &[f64], out: &mut [f64]) {
        let (h, d) = (self.classes(), self.features());
        let (columns, values) = self.operator.matrix().row(i);
        out.fill(0.0);
        for (&k, v) in columns.iter().zip(values) {
            let k = k as usize;
            match self.settings.layout {
                Layout::FeatureMajor => crate::linalg::axpy(*v, &x[k * h..(k + 1) * h], out),
                Layout::ClassMajor => {
                    out.iter_mut().enumerate().for_each(|(j, o)| *o += v * x[j * d + k]);
                }
            }
        }
    }

    /// Lends scores, losses and slopes of a batch of rows.
    fn with_batch<T>(&self, batch: &[u64], x: &[f64], work: impl FnOnce(&[f64], &[f64]) -> T) -> T {
        let (h, count) = (self.classes(), batch.len());
        self.scratch.with(count * (2 * h + 1), |buffer| {
            let (scores, rest) = buffer.split_at_mut(count * h);
            let (losses, slopes) = rest.split_at_mut(count);
            scores
                .par_chunks_mut(h)
                .zip(batch)
                .zip(losses.par_iter_mut().zip(slopes.par_chunks_mut(h)))
                .for_each(|((scores, &i), (loss, slopes))| {
                    let i = i as usize;
                    self.row_scores(i, x, scores);
                    softmax_losses(
                        scores,
                        &self.labels[i..=i],
                        h,
                        std::slice::from_mut(loss),
                        slopes,
                    );
                });
            work(losses, slopes)
        })
    }

    /// `grad_y` without the losses.
    fn regulariser_slope(&self, y: f64) -> f64 {
        -self.settings.lambda_n * (self.n as f64 * y - 1.0)
    }
}

impl Lengths {
    fn new(rows: &SparseMatrix) -> Self {
        let (mut longest, mut squares) = (0.0f64, 0.0);
        for i in 0..rows.rows() {
            let length = norm(rows.row(i).1);
            longest = longest.max(length);
            squares += length * length;
        }
        Lengths { longest, squares }
    }
}

/// The top eigenvalue of `A^T diag(weights) A`, from below, by power iteration from a positive vector: text has
/// positive entries, and then so has the top eigenvector.
fn top_eigenvalue(rows: &SparseMatrix, weights: Option<&[f64]>) -> f64 {
    let (mut v, mut image) = (vec![1.0; rows.columns()], vec![0.0; rows.rows()]);
    for (j, v) in v.iter_mut().enumerate() {
        *v += 0.5 * (j as f64).sin(); // not orthogonal to everything of other signs either
    }
    let mut value = 0.0;
    for _ in 0..POWER_STEPS {
        let length = norm(&v);
        if length == 0.0 {
            return 0.0;
        }
        crate::linalg::scale(1.0 / length, &mut v);
        rows.multiply(&v, &mut image);
        if let Some(weights) = weights {
            image.iter_mut().zip(weights).for_each(|(i, w)| *i *= w.sqrt());
        }
        let before = value;
        value = norm_squared(&image);
        if value - before <= 1e-4 * value {
            break;
        }
        if let Some(weights) = weights {
            image.iter_mut().zip(weights).for_each(|(i, w)| *i *= w.sqrt());
        }
        rows.multiply_transposed(&image, &mut v);
    }
    value
}

impl SaddleProblem for RobustMulticlass {
    fn dim_x(&self) -> usize {
        self.classes() * self.features()
    }

    fn dim_y(&self) -> usize {
        self.n
    }

    fn has_operator(&self) -> bool {
        true
    }

    fn image_dim(&self) -> usize {
        self.labels.len() * self.classes()
    }

    fn columns(&self) -> Option<usize> {
        (self.settings.layout == Layout::FeatureMajor).then_some(self.classes())
    }

    fn image(&self, x: &[f64], out: &mut [f64]) {
        self.operator.scores(x, out);
    }

    fn adjoint(&self, s: &[f64], out: &mut [f64]) {
        self.operator.adjoint(s, out);
    }

    fn normal(&self, s: &[f64], room: &mut [f64], out: &mut [f64]) {
        self.operator.normal(s, room, out);
    }

    fn cache_dim(&self) -> usize {
        self.labels.len() * (self.classes() + 1)
    }

    fn prepare(&self, image: &[f64], cache: &mut [f64]) {
        let (losses, slopes) = cache.split_at_mut(self.labels.len());
        softmax_losses(image, &self.labels, self.classes(), losses, slopes);
    }

    fn prepare_filled(
        &self,
        fill: &(dyn Fn(usize, &mut [f64]) + Sync),
        image: &mut [f64],
        cache: &mut [f64],
    ) {
        let (losses, slopes) = cache.split_at_mut(self.labels.len());
        softmax_filled(fill, &self.labels, self.classes(), image, losses, slopes);
    }

    fn value(&self, at: Seen<'_>, y: &[f64]) -> f64 {
        let (losses, _) = self.split(at.cache);
        let mean = match &self.members {
            None => dot(losses, y),
            Some(members) => members.iter().zip(losses).map(|(&i, l)| y[i as usize] * l).sum(),
        };
        self.weight * mean + self.regulariser(y)
    }

    fn grad_image(&self, at: Seen<'_>, y: &[f64], out: &mut [f64]) {
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

    fn grad_y(&self, at: Seen<'_>, y: &[f64], out: &mut [f64]) {
        let (losses, _) = self.split(at.cache);
        for (o, y) in out.iter_mut().zip(y) {
            *o = self.regulariser_slope(*y);
        }
        for (r, l) in losses.iter().enumerate() {
            out[self.member(r)] += self.weight * l;
        }
    }

    fn has_best_response(&self) -> bool {
        true
    }

    fn best_response(&self, at: Seen<'_>, y: &mut [f64]) -> f64 {
        let (losses, _) = self.split(at.cache);
        self.with_weighted_losses(losses, |weighted| {
            self.scratch
                .with(self.n, |candidates| respond(weighted, self.settings.lambda_n, candidates, y))
        })
    }

    fn bend_x(&self, from: Seen<'_>, to: Seen<'_>, y: &[f64], slope: f64) -> Measured {
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
                (sums[0], sums[1]) = bend(at, there, &self.labels[rows.clone()], h, &weights[rows]);
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

    fn change_y(&self, at: Seen<'_>, from: &[f64], to: &[f64]) -> Measured {
        let (losses, _) = self.split(at.cache);
        self.with_weighted_losses(losses, |weighted| {
            let n = self.n;
            let middle = |i: usize| 0.5 * (from[i] + to[i]);
            let slope = |i: usize| weighted[i] + self.regulariser_slope(middle(i));
            // both sum to 1, so a common part of the slopes cancels: their mean, for near the best
            // response they are all the same
            let (sum, mass) =
                (0..n).fold((0.0, 0.0), |(s, m), i| (s + middle(i) * slope(i), m + middle(i)));
            let shift = if mass > 0.0 { sum / mass } else { 0.0 };
            let (mut value, mut size, mut drift) = (0.0, 0.0, 0.0);
            for i in 0..n {
                let step = to[i] - from[i];
                let slope = slope(i) - shift;
                value += slope * step;
                drift += step;
                let weight = self.settings.lambda_n * (n as f64 * middle(i) + 1.0);
                size += (weighted[i] + weight + shift.abs()) * step.abs();
            }
            let rounding = 4.0 * f64::EPSILON * size + (shift * drift).abs();
            Measured { value, rounding }
        })
    }

    /// For every `y` of the simplex, with `|softmax'| <= 1/2` and `|p - e_b|^2 <= 2`:
    ///
    /// ```text
    /// Lxx = s/2 max_i |a_i|^2        y may put all its weight on one row
    /// Lxy = s sqrt(2) sigma_max(A)   the Gram matrix of the q_i (x) a_i is that of the q_i times that of the a_i,
    ///                                entry by entry, whose norm is at most max |q_i|^2 |A A^T| (Schur)
    /// Lyy = mu = lambda n^2
    /// ```
    fn constants(&self) -> BlockConstants {
        let mu = self.settings.lambda_n * self.n as f64;
        let longest = self.lengths.longest;
        // rows that are drawn twice weigh twice
        let repeated = self.most_repeated();
        let lxx = 0.5 * self.weight * longest * longest * repeated;
        let lxy = self.weight * std::f64::consts::SQRT_2 * self.singular() * repeated.sqrt();
        BlockConstants::all(lxx, lxy, mu, mu)
    }

    fn fingerprint(&self, print: &mut Fingerprint) {
        let RobustSettings { scaling, lambda_n, tau, intercept, layout } = self.settings;
        let rows = self.operator.matrix();
        print.note("tau", tau);
        print.note("lambda n", lambda_n);
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

    fn sampled(&self) -> Option<&dyn Sampled> {
        if self.members.is_some() { None } else { Some(self) }
    }
}

impl RobustMulticlass {
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

/// Writes the maximiser of `<g, y> - lambda/2 |n y - 1|^2` over the simplex, `n y_i = max(0, (g_i - g_max)/lambda_n - theta)`
/// with `theta` such that they add up to `n` (Michelot's passes: O(n)), and returns a bound of what it misses.
/// Only differences of the `g` are formed.
fn respond(g: &[f64], lambda_n: f64, candidates: &mut [f64], y: &mut [f64]) -> f64 {
    let n = g.len() as f64;
    let top = largest([g, g], |[g, _]| g);
    // the largest entry is 0, so theta is at least -n and what lies below is none of the support
    let mut count = 0;
    for (y, g) in y.iter_mut().zip(g) {
        *y = (g - top) / lambda_n;
        candidates[count] = *y;
        count += usize::from(*y > -n);
    }
    let mut theta;
    loop {
        let before = count;
        theta = (accurate_sum_of(&candidates[..count]) - n) / count as f64;
        count = 0;
        for i in 0..before {
            let candidate = candidates[i];
            candidates[count] = candidate;
            count += usize::from(candidate > theta);
        }
        if count == before || count == 0 {
            break;
        }
    }
    for y in y.iter_mut() {
        *y = (*y - theta).max(0.0) / n;
    }
    // one correction takes the rounding of theta (times the size of the support) out of the sum
    let support = y.iter().filter(|&&y| y > 0.0).count().max(1);
    let missing = (1.0 - accurate_sum_of(y)) / support as f64;
    for y in y.iter_mut() {
        *y = if *y > 0.0 { (*y + missing).max(0.0) } else { 0.0 };
    }
    // max over w of <grad, w - y>, with the rounding of the slopes against us
    let slope = |g: f64, y: f64| {
        let (g, weight) = (g - top, n * y);
        let noise = 2.0 * f64::EPSILON * (g.abs() + lambda_n * (weight + 1.0));
        (g - lambda_n * (weight - 1.0), noise)
    };
    let highest = largest([g, y], |[g, y]| {
        let (value, noise) = slope(g, y);
        value + noise
    });
    let term = |[g, y]: [f64; 2]| {
        let (value, noise) = slope(g, y);
        if y > 0.0 { y * (highest - value + noise) } else { 0.0 }
    };
    in_lanes([g, y], 0.0, term, |sum, term| sum + term)
}

/// The largest of `value(a_i, b_i)`.
fn largest(vectors: [&[f64]; 2], value: impl Fn([f64; 2]) -> f64) -> f64 {
    in_lanes(vectors, f64::NEG_INFINITY, value, |m, v| if v > m { v } else { m })
}

/// All `value(a_i, b_i)` joined, in lanes that need not wait for each other.
fn in_lanes(
    [a, b]: [&[f64]; 2],
    first: f64,
    value: impl Fn([f64; 2]) -> f64,
    join: impl Fn(f64, f64) -> f64,
) -> f64 {
    const LANES: usize = 8;
    let ((chunks, rest), (others, other_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut lanes = [first; LANES];
    for (a, b) in chunks.iter().zip(others) {
        for l in 0..LANES {
            lanes[l] = join(lanes[l], value([a[l], b[l]]));
        }
    }
    let rest = rest.iter().zip(other_rest).map(|(a, b)| value([*a, *b]));
    lanes.into_iter().chain(rest).fold(first, join)
}

impl Sampled for RobustMulticlass {
    fn population(&self) -> Population {
        Population::Finite(self.n as u64)
    }

    fn batch_value(&self, batch: &[u64], x: &[f64], y: &[f64]) -> f64 {
        let weight = self.n as f64 * self.weight / batch.len() as f64;
        let sum: f64 = self.with_batch(batch, x, |losses, _| {
            batch.iter().zip(losses).map(|(&i, l)| y[i as usize] * l).sum()
        });
        weight * sum + self.regulariser(y)
    }

    fn batch_grad_x(&self, batch: &[u64], x: &[f64], y: &[f64], out: &mut [f64]) {
        let (h, d) = (self.classes(), self.features());
        let weight = self.n as f64 * self.weight / batch.len() as f64;
        out.fill(0.0);
        self.with_batch(batch, x, |_, slopes| {
            for (&i, slopes) in batch.iter().zip(slopes.chunks_exact(h)) {
                let weight = weight * y[i as usize];
                let (columns, values) = self.operator.matrix().row(i as usize);
                for (&k, v) in columns.iter().zip(values) {
                    let (k, factor) = (k as usize, weight * v);
                    match self.settings.layout {
                        Layout::FeatureMajor => {
                            crate::linalg::axpy(factor, slopes, &mut out[k * h..(k + 1) * h]);
                        }
                        Layout::ClassMajor => {
                            slopes
                                .iter()
                                .enumerate()
                                .for_each(|(j, q)| out[j * d + k] += factor * q);
                        }
                    }
                }
            }
        });
    }

    fn batch_grad_y(&self, batch: &[u64], x: &[f64], y: &[f64], out: &mut [f64]) {
        let weight = self.n as f64 * self.weight / batch.len() as f64;
        for (o, y) in out.iter_mut().zip(y) {
            *o = self.regulariser_slope(*y);
        }
        self.with_batch(batch, x, |losses, _| {
            for (&i, l) in batch.iter().zip(losses) {
                out[i as usize] += weight * l;
            }
        });
    }

    /// In the mean square over the components, where `sum_i y_i^2 <= 1` and the entries of `y` differ:
    /// the norm of `[[sqrt(n) s/2 a^2, s sqrt(2 n) a], [s sqrt(2 n) |A|_F, mu]]` with `a` the longest row.
    fn mean_smoothness(&self) -> Option<f64> {
        let (n, s) = (self.n as f64, self.weight);
        let Lengths { longest, squares } = self.lengths;
        let (xx, xy) = (0.5 * s * n.sqrt() * longest * longest, s * (2.0 * n).sqrt() * longest);
        let (yx, yy) = (s * (2.0 * n * squares).sqrt(), self.settings.lambda_n * n);
        crate::linalg::spectral_norm(&[xx, xy, yx, yy], 2, 2).ok()
    }

    /// From `|n s y_i q_i a_i| <= n s y_i sqrt(2) |a_i|` and `l_i <= log h + sqrt(2) tau |a_i|`.
    fn sigma(&self) -> Option<f64> {
        let (n, s) = (self.n as f64, self.weight);
        let Lengths { longest, squares } = self.lengths;
        let log = (self.classes() as f64).ln();
        let radius = std::f64::consts::SQRT_2 * self.settings.tau;
        // |(log h + r |a_i|)_i| <= sqrt(n) log h + r |A|_F
        let losses = n.sqrt() * log + radius * squares.sqrt();
        Some(s * (2.0 * n * longest * longest + n * losses * losses).sqrt())
    }

    /// The batch has images and a best response of its own; `y` keeps all its entries, those of rows that
    /// the batch lacks have no loss.
    fn restrict(&self, batch: &[u64]) -> Option<Box<dyn SaddleProblem + '_>> {
        if batch.is_empty() || self.members.is_some() {
            return None;
        }
        let rows = self.operator.matrix().select(batch);
        let lengths = Lengths::new(&rows);
        Some(Box::new(RobustMulticlass {
            operator: ScoreOperator::new(rows, self.classes(), self.settings.layout),
            labels: batch.iter().map(|&i| self.labels[i as usize]).collect(),
            order: Vec::new(), // points are read in the whole's terms
            members: Some(batch.iter().map(|&i| i as u32).collect()),
            y_set: self.y_set.clone(),
            n: self.n,
            weight: self.n as f64 * self.weight / batch.len() as f64,
            settings: self.settings,
            lengths,
            singular: OnceLock::new(),
            scratch: Pool::default(),
        }))
    }
}
