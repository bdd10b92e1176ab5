//! The problems of bench/peers/oracles/instances.py.

use couloir::linalg::dot;
use couloir::problem::{
    BestResponse, BlockConstants, Capabilities, Curvature, KnownConstants, LinearOperator,
    PreparedImage, SaddleProblem,
};

/// A matrix row by row, with its transpose.
pub struct Matrix {
    rows: usize,
    columns: usize,
    entries: Vec<f64>,
    transposed: Vec<f64>,
}

impl Matrix {
    pub fn new(rows: usize, columns: usize, entries: Vec<f64>) -> Self {
        let mut transposed = vec![0.0; entries.len()];
        for i in 0..rows {
            for j in 0..columns {
                transposed[j * rows + i] = entries[i * columns + j];
            }
        }
        Matrix { rows, columns, entries, transposed }
    }

    fn times(&self, x: &[f64], out: &mut [f64]) {
        let used = x.iter().filter(|x| **x != 0.0).count();
        if 4 * used < x.len() {
            out.fill(0.0);
            let columns = self.transposed.chunks_exact(self.rows);
            for (x, column) in x.iter().zip(columns).filter(|(x, _)| **x != 0.0) {
                out.iter_mut().zip(column).for_each(|(o, c)| *o += x * c);
            }
            return;
        }
        out.iter_mut()
            .zip(self.entries.chunks_exact(self.columns))
            .for_each(|(o, row)| *o = dot(row, x));
    }

    fn transposed_times(&self, s: &[f64], out: &mut [f64]) {
        let used = s.iter().filter(|s| **s != 0.0).count();
        if 4 * used < s.len() {
            out.fill(0.0);
            let rows = self.entries.chunks_exact(self.columns);
            for (s, row) in s.iter().zip(rows).filter(|(s, _)| **s != 0.0) {
                out.iter_mut().zip(row).for_each(|(o, e)| *o += s * e);
            }
            return;
        }
        out.iter_mut()
            .zip(self.transposed.chunks_exact(self.rows))
            .for_each(|(o, c)| *o = dot(c, s));
    }
}

/// `f(x, y) = sum_i y_i loss_i(a_i . x) - mu/2 |y - 1/m|^2`.
pub struct Rows {
    pub matrix: Matrix,
    pub target: Vec<f64>,
    pub mu: f64,
    pub squared: bool,
    /// What it says of itself beside its constants.
    pub knows: Knows,
}

/// What a problem may say of the maximum over `y`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Knows {
    /// Neither of the following, as a user's own functions.
    Nothing,
    /// The maximiser.
    Response,
    /// And second derivatives of the maximum.
    Curvature,
}

impl Rows {
    fn loss(&self, i: usize, s: f64) -> f64 {
        if self.squared { 0.5 * (s - self.target[i]).powi(2) } else { s }
    }

    fn even(&self) -> f64 {
        1.0 / self.target.len() as f64
    }
}

impl SaddleProblem for Rows {
    fn dim_x(&self) -> usize {
        self.matrix.columns
    }

    fn dim_y(&self) -> usize {
        self.target.len()
    }

    fn value(&self, at: PreparedImage<'_>, y: &[f64]) -> f64 {
        let even = self.even();
        let of = |(i, y): (usize, &f64)| {
            y * self.loss(i, at.image[i]) - 0.5 * self.mu * (y - even).powi(2)
        };
        y.iter().enumerate().map(of).sum()
    }

    fn grad_image(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
        for (i, o) in out.iter_mut().enumerate() {
            *o = if self.squared { y[i] * (at.image[i] - self.target[i]) } else { y[i] };
        }
    }

    fn grad_y(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
        let even = self.even();
        for (i, o) in out.iter_mut().enumerate() {
            *o = self.loss(i, at.image[i]) - self.mu * (y[i] - even);
        }
    }

    fn capabilities(&self) -> Capabilities<'_> {
        let all = Capabilities::NONE.with_operator(self).with_constants(self);
        match self.knows {
            _ if self.mu == 0.0 => all,
            Knows::Nothing => all,
            Knows::Response => all.with_best_response(self),
            Knows::Curvature => all.with_best_response(self).with_curvature(self),
        }
    }
}

impl LinearOperator for Rows {
    fn image_dim(&self) -> usize {
        self.target.len()
    }

    fn image(&self, x: &[f64], out: &mut [f64]) {
        self.matrix.times(x, out);
    }

    fn adjoint(&self, s: &[f64], out: &mut [f64]) {
        self.matrix.transposed_times(s, out);
    }
}

impl BestResponse for Rows {
    /// The projection of `1/m + losses/mu`.
    fn best_response(&self, at: PreparedImage<'_>, y: &mut [f64]) -> f64 {
        let even = self.even();
        let mut largest = 0.0f64;
        for (i, y) in y.iter_mut().enumerate() {
            let loss = self.loss(i, at.image[i]);
            largest = largest.max(loss.abs());
            *y = even + loss / self.mu;
        }
        // the mean excess of those above the threshold, until none is below it (Michelot, JOTA 1986)
        let mut above = y.to_vec();
        let theta = loop {
            let theta = (above.iter().sum::<f64>() - 1.0) / above.len() as f64;
            let before = above.len();
            above.retain(|v| *v > theta);
            if above.len() == before || above.is_empty() {
                break theta;
            }
        };
        y.iter_mut().for_each(|y| *y = (*y - theta).max(0.0));
        16.0 * f64::EPSILON * (largest + self.mu)
    }
}

impl Curvature for Rows {
    /// `diag(y_i loss_i'') + D (I - 1 1'/n) D/mu` on the `n` rows with `y_i > 0`, `D = diag(loss_i')`.
    fn curvature(&self, at: PreparedImage<'_>, y: &[f64], direction: &[f64], out: &mut [f64]) {
        let slope = |i: usize| if self.squared { at.image[i] - self.target[i] } else { 1.0 };
        let on_face = || (0..y.len()).filter(|i| y[*i] > 0.0);
        let mean =
            on_face().map(|i| slope(i) * direction[i]).sum::<f64>() / on_face().count() as f64;
        out.fill(0.0);
        for i in on_face() {
            let own = if self.squared { y[i] * direction[i] } else { 0.0 };
            out[i] = own + slope(i) * (slope(i) * direction[i] - mean) / self.mu;
        }
    }
}

impl KnownConstants for Rows {
    fn constants(&self) -> BlockConstants {
        let mut constants = BlockConstants::default();
        constants.mu = (self.mu > 0.0).then_some(self.mu);
        constants.lyy = constants.mu;
        constants
    }
}

/// `f(x, y) = x' B y`, with `B' x` as the image of `x`.
pub struct Game {
    pub matrix: Matrix,
}

impl SaddleProblem for Game {
    fn dim_x(&self) -> usize {
        self.matrix.rows
    }

    fn dim_y(&self) -> usize {
        self.matrix.columns
    }

    fn value(&self, at: PreparedImage<'_>, y: &[f64]) -> f64 {
        dot(at.image, y)
    }

    fn grad_image(&self, _at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
        out.copy_from_slice(y);
    }

    fn grad_y(&self, at: PreparedImage<'_>, _y: &[f64], out: &mut [f64]) {
        out.copy_from_slice(at.image);
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities::NONE.with_operator(self)
    }
}

impl LinearOperator for Game {
    fn image_dim(&self) -> usize {
        self.matrix.columns
    }

    fn image(&self, x: &[f64], out: &mut [f64]) {
        self.matrix.transposed_times(x, out);
    }

    fn adjoint(&self, s: &[f64], out: &mut [f64]) {
        self.matrix.times(s, out);
    }
}
