//! The robust classifier from its definition, with losses to some hundred bits.
//!
//! The maximum over `y` is a separable quadratic on a simplex. The minimum over `X` has no closed form: any member of the
//! ball gives an upper bound of it, which is what refutes a lower bound, and convexity at that member gives a lower one.

use crate::draw::Draw;
use crate::elementary::{exp, ln};
use crate::exact::{BITS, Enclosure, Exact, abs, exact, max, narrow, rounded, tiny, wide};
use crate::judge::Truth;
use crate::quadratic::Separable;
use crate::sets::Set;
use crate::spectral::svd;
use couloir::linalg::{Layout, SparseMatrix};
use couloir::model::{RobustMulticlass, RobustSettings, Scaling};

/// `f(X, y) = s sum_i y_i l_i(X) - lambda/2 |n y - 1|^2` over the nuclear ball of radius `tau` and the simplex.
#[derive(Clone, Debug)]
pub struct Robust {
    /// The rows, with zeros.
    pub rows: Vec<Vec<f64>>,
    /// Their labels.
    pub labels: Vec<u32>,
    /// How many there may be.
    pub classes: usize,
    /// The radius.
    pub tau: f64,
    /// `lambda n`.
    pub lambda_n: f64,
    /// Whether `s = 1/n`; 1 otherwise.
    pub is_paper: bool,
    /// Whether points lie by classes.
    pub by_classes: bool,
}

/// What is left of a number that was found to [`BITS`] bits by a few operations.
const MARGIN: usize = BITS - 40;

impl Robust {
    /// Random rows: near the origin, far from it, badly scaled, sparse.
    #[must_use]
    pub fn draw(draw: &mut Draw) -> Self {
        let (n, d, h) = (1 + draw.below(10), 1 + draw.below(6), 2 + draw.below(3));
        let (scale, sparse) = (draw.one_of(&[1.0, 1.0, 1e-3, 1e3]), draw.one_of(&[0.0, 0.5]));
        let shift = draw.one_of(&[0.0, 0.0, 1.0, 100.0]);
        let entry = |draw: &mut Draw| {
            if draw.chance(sparse) { 0.0 } else { scale * (shift + draw.unit()) }
        };
        let rows = (0..n).map(|_| (0..d).map(|_| entry(draw)).collect()).collect();
        Robust {
            rows,
            labels: (0..n).map(|_| draw.below(h) as u32).collect(),
            classes: h,
            tau: draw.scale(1.5) / scale,
            lambda_n: draw.scale(2.0),
            is_paper: draw.chance(0.3),
            by_classes: draw.chance(0.3),
        }
    }

    /// The library's model of the same numbers.
    ///
    /// # Errors
    /// Numbers that make none.
    pub fn model(&self) -> couloir::Result<RobustMulticlass> {
        let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in &self.rows {
            for (j, value) in row.iter().enumerate().filter(|(_, value)| **value != 0.0) {
                indices.push(j as u32);
                values.push(*value);
            }
            starts.push(indices.len());
        }
        let rows = SparseMatrix::from_rows(self.features(), starts, indices, values)?;
        let scaling = if self.is_paper { Scaling::Paper } else { Scaling::Dro };
        let layout = if self.by_classes { Layout::ClassMajor } else { Layout::FeatureMajor };
        let settings = RobustSettings::default().tau(self.tau).level(self.lambda_n);
        let settings = settings.scaling(scaling).layout(layout);
        RobustMulticlass::new(rows, self.labels.clone(), self.classes, settings)
    }

    fn features(&self) -> usize {
        self.rows[0].len()
    }

    /// The ball of `X`, a row for each class.
    #[must_use]
    pub fn x_set(&self) -> Set {
        Set::Nuclear { rows: self.classes, columns: self.features(), radius: self.tau }
    }

    /// The simplex of `y`.
    #[must_use]
    pub fn y_set(&self) -> Set {
        Set::Simplex { dim: self.rows.len(), total: 1.0 }
    }

    fn scale(&self) -> Exact {
        let n = Exact::from(self.rows.len());
        if self.is_paper { Exact::ONE / n } else { Exact::ONE }
    }

    /// Scores of a row, exactly.
    fn scores(&self, x: &[Exact], i: usize) -> Vec<Exact> {
        let d = self.features();
        let score = |c: usize| {
            (0..d).fold(Exact::ZERO, |sum, j| sum + &x[c * d + j] * exact(self.rows[i][j]))
        };
        (0..self.classes).map(score).collect()
    }

    /// The exponentials of a row's scores over the largest one, and that one.
    fn exponentials(scores: &[Exact]) -> (Vec<Exact>, Exact) {
        let top = scores.iter().cloned().reduce(max).unwrap_or(Exact::ZERO);
        (scores.iter().map(|s| exp(&(s - &top))).collect(), top)
    }

    /// The loss of a row.
    fn loss(&self, x: &[Exact], i: usize) -> Exact {
        let scores = self.scores(x, i);
        let (powers, top) = Self::exponentials(&scores);
        let sum = powers.iter().fold(Exact::ZERO, |sum, p| sum + p);
        ln(&sum) + top - &scores[self.labels[i] as usize]
    }

    /// `f(X, .)` as a separable function, its losses moved by their error: up or down.
    fn in_y(&self, losses: &[Exact], sign: f64) -> Separable {
        let (n, lambda_n) = (Exact::from(self.rows.len()), exact(self.lambda_n));
        let moved =
            |l: &Exact| (l + (abs(l) + Exact::ONE) * tiny(MARGIN) * exact(sign)) * self.scale();
        Separable {
            constant: -exact(0.5) * &lambda_n,
            slope: losses.iter().map(|l| moved(l) + &lambda_n).collect(),
            bend: vec![lambda_n * n; losses.len()],
        }
    }

    /// The true bounds of a pair, `X` with a row for each class.
    #[must_use]
    pub fn truth(&self, x: &[Exact], y: &[Exact]) -> Truth {
        let losses: Vec<Exact> = (0..y.len()).map(|i| self.loss(x, i)).collect();
        let at = |sign: f64| self.y_set().maximum(&self.in_y(&losses, sign));
        let worst = Enclosure { low: at(-1.0).low, high: at(1.0).high };
        Truth { worst, least: self.least(x, y) }
    }

    /// The minimum over `X`, between the value at a member that a descent of our own has found and what convexity says there.
    fn least(&self, x: &[Exact], y: &[Exact]) -> Enclosure {
        let weights: Vec<f64> = y.iter().map(rounded).collect();
        let start: Vec<f64> = x.iter().map(rounded).collect();
        // of two members the better one
        let found = self.x_set().nearest(&self.descend(start.clone(), &weights));
        let member = self.x_set().nearest(&start);
        let (at_found, at_member) = (self.at(&found, y), self.at(&member, y));
        let is_better = at_member < at_found;
        let (point, high) = if is_better { (member, at_member) } else { (found, at_found) };
        let slope = self.gradient(&point, y);
        let along = slope.iter().zip(&point).fold(Exact::ZERO, |sum, (g, x)| sum + g * x);
        let steepest = svd(&slope, self.classes).into_iter().map(|t| t.sigma).reduce(max);
        let support = exact(self.tau) * steepest.unwrap_or(Exact::ZERO);
        let size = abs(&high) + abs(&along) + &support + Exact::ONE;
        let error = size * tiny(MARGIN);
        Enclosure { low: &high - along - support - &error, high: high + error }
    }

    fn at(&self, x: &[Exact], y: &[Exact]) -> Exact {
        let losses: Vec<Exact> = (0..y.len()).map(|i| self.loss(x, i)).collect();
        self.in_y(&losses, 0.0).at(y)
    }

    /// The gradient of `f(., y)`.
    fn gradient(&self, x: &[Exact], y: &[Exact]) -> Vec<Exact> {
        let d = self.features();
        let mut out = vec![Exact::ZERO; x.len()];
        for (i, row) in self.rows.iter().enumerate() {
            let (powers, _) = Self::exponentials(&self.scores(x, i));
            let sum = powers.iter().fold(Exact::ZERO, |sum, p| sum + p);
            for (c, power) in powers.iter().enumerate() {
                let own = Exact::from(u8::from(c == self.labels[i] as usize));
                let slope = self.scale() * &y[i] * (narrow(&wide(&(power / &sum))) - own);
                for j in 0..d {
                    out[c * d + j] += &slope * exact(row[j]);
                }
            }
        }
        out
    }

    /// Steps of Frank-Wolfe from a point, with lengths by halving, in `f64`: a better point where there is one.
    fn descend(&self, mut x: Vec<f64>, y: &[f64]) -> Vec<f64> {
        let d = self.features();
        let (mut value, mut slope) = (self.plain(&x, y), vec![0.0; x.len()]);
        for _ in 0..STEPS {
            self.plain_gradient(&x, y, &mut slope);
            let Some((left, right)) = top_pair(&slope, self.classes) else { break };
            let atom = |k: usize| -self.tau * left[k / d] * right[k % d];
            let mut step = 0.5;
            let better = loop {
                let trial: Vec<f64> =
                    x.iter().enumerate().map(|(k, x)| x + step * (atom(k) - x)).collect();
                let at = self.plain(&trial, y);
                if at < value {
                    break Some((trial, at));
                }
                step *= 0.25;
                if step < 1e-10 {
                    break None;
                }
            };
            match better {
                Some(better) => (x, value) = better,
                None => break,
            }
        }
        x
    }

    fn plain_scores(&self, x: &[f64], i: usize) -> Vec<f64> {
        let d = self.features();
        (0..self.classes).map(|c| (0..d).map(|j| x[c * d + j] * self.rows[i][j]).sum()).collect()
    }

    /// The weighted losses.
    fn plain(&self, x: &[f64], y: &[f64]) -> f64 {
        let loss = |i: usize| {
            let scores = self.plain_scores(x, i);
            let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = scores.iter().map(|s| (s - top).exp()).sum();
            top - scores[self.labels[i] as usize] + sum.ln()
        };
        (0..y.len()).map(|i| y[i] * loss(i)).sum()
    }

    fn plain_gradient(&self, x: &[f64], y: &[f64], out: &mut [f64]) {
        let d = self.features();
        out.fill(0.0);
        for (i, row) in self.rows.iter().enumerate() {
            let scores = self.plain_scores(x, i);
            let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = scores.iter().map(|s| (s - top).exp()).sum();
            for (c, score) in scores.iter().enumerate() {
                let own = f64::from(u8::from(c == self.labels[i] as usize));
                let slope = y[i] * ((score - top).exp() / sum - own);
                (0..d).for_each(|j| out[c * d + j] += slope * row[j]);
            }
        }
    }

    /// The size of the numbers that cancel: weighted scores and losses, and the penalty.
    #[must_use]
    pub fn size(&self, x: &[f64], y: &[f64]) -> f64 {
        let n = y.len() as f64;
        let scale = if self.is_paper { 1.0 / n } else { 1.0 };
        let score = |i: usize| self.plain_scores(x, i).iter().fold(0.0f64, |m, s| m.max(s.abs()));
        let longest = |row: &Vec<f64>| row.iter().map(|v| v * v).sum::<f64>().sqrt();
        let reach =
            |i: usize| score(i) + self.tau * longest(&self.rows[i]) + (self.classes as f64).ln();
        let losses: f64 = (0..y.len()).map(|i| y[i] * reach(i)).sum();
        let penalty: f64 = y.iter().map(|y| (n * y - 1.0).powi(2)).sum();
        scale * losses + 0.5 * self.lambda_n / n * penalty
    }
}

/// Steps of the descent.
const STEPS: usize = 30;

/// The top singular pair, by a few steps of the power method: any unit vectors do for a descent.
fn top_pair(matrix: &[f64], rows: usize) -> Option<(Vec<f64>, Vec<f64>)> {
    let d = matrix.len() / rows;
    let unit = |mut v: Vec<f64>| {
        let length = v.iter().map(|v| v * v).sum::<f64>().sqrt();
        v.iter_mut().for_each(|v| *v /= length);
        (length > 0.0 && length.is_finite()).then_some(v)
    };
    let mut right = unit((0..d).map(|j| 1.0 + 0.3 * j as f64).collect())?;
    let mut left = Vec::new();
    for _ in 0..40 {
        left = unit(
            matrix.chunks(d).map(|r| r.iter().zip(&right).map(|(a, b)| a * b).sum()).collect(),
        )?;
        right =
            unit((0..d).map(|j| (0..rows).map(|i| matrix[i * d + j] * left[i]).sum()).collect())?;
    }
    Some((left, right))
}
