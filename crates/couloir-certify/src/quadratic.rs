//! Quadratic-bilinear functions with diagonal curvature: for one block fixed, what is left separates by coordinates.

use crate::exact::{Exact, exact};
use crate::sets::Set;
use couloir::problem::{BlockConstants, ClosureProblem, MatrixGame, QuadraticBilinear, Saddle};

/// ```text
/// f(x, y) = value + 1/2 |x - x0|^2_Hx + <cx, x - x0> + <y - y0, B (x - x0)> - 1/2 |y - y0|^2_Hy - <cy, y - y0>
/// ```
///
/// as [`QuadraticBilinear`] has it, but with `(x0, y0)` any points.
#[derive(Clone, Debug)]
pub struct Quadratic {
    /// The diagonal of `Hx`, zero or more.
    pub hx: Vec<f64>,
    /// The diagonal of `Hy`, zero or more.
    pub hy: Vec<f64>,
    /// Row-major, one row for each coordinate of `y`.
    pub b: Vec<f64>,
    /// The slope in `x`.
    pub cx: Vec<f64>,
    /// Minus the slope in `y`.
    pub cy: Vec<f64>,
    /// The centre in `x`.
    pub x0: Vec<f64>,
    /// The centre in `y`.
    pub y0: Vec<f64>,
    /// The value at the centres.
    pub value: f64,
}

/// `constant + sum_i slope_i u_i - 1/2 bend_i u_i^2`.
#[derive(Clone, Debug)]
pub struct Separable {
    /// What does not depend on `u`.
    pub constant: Exact,
    /// The slopes at zero.
    pub slope: Vec<Exact>,
    /// The curvatures, zero or more.
    pub bend: Vec<Exact>,
}

impl Separable {
    /// The value at a point.
    #[must_use]
    pub fn at(&self, u: &[Exact]) -> Exact {
        let half = exact(0.5);
        let term = |i: usize| &u[i] * (&self.slope[i] - &half * &self.bend[i] * &u[i]);
        (0..u.len()).map(term).fold(self.constant.clone(), |sum, t| sum + t)
    }

    /// A separable function around a centre, `constant + <slope, u - u0> - 1/2 |u - u0|^2_bend`, by powers of `u`.
    fn around(constant: Exact, slope: Vec<Exact>, bend: &[f64], u0: &[f64]) -> Self {
        let mut out = Separable { constant, slope, bend: Vec::new() };
        for i in 0..bend.len() {
            let (bend, centre) = (exact(bend[i]), exact(u0[i]));
            out.constant -= &centre * (&out.slope[i] + exact(0.5) * &bend * &centre);
            out.slope[i] += &bend * &centre;
            out.bend.push(bend);
        }
        out
    }
}

impl Quadratic {
    /// The number of coordinates of `x`.
    #[must_use]
    pub fn dim_x(&self) -> usize {
        self.x0.len()
    }

    /// The number of coordinates of `y`.
    #[must_use]
    pub fn dim_y(&self) -> usize {
        self.y0.len()
    }

    /// `f(x, .)`, exactly.
    #[must_use]
    pub fn in_y(&self, x: &[Exact]) -> Separable {
        let d: Vec<Exact> = (0..x.len()).map(|i| &x[i] - exact(self.x0[i])).collect();
        let mut constant = exact(self.value);
        for i in 0..x.len() {
            constant += &d[i] * (exact(0.5) * exact(self.hx[i]) * &d[i] + exact(self.cx[i]));
        }
        let n = x.len();
        let row = |j: usize| {
            (0..n).fold(-exact(self.cy[j]), |sum, i| sum + exact(self.b[j * n + i]) * &d[i])
        };
        let slope = (0..self.dim_y()).map(row).collect();
        Separable::around(constant, slope, &self.hy, &self.y0)
    }

    /// `-f(., y)`, exactly.
    #[must_use]
    pub fn against_x(&self, y: &[Exact]) -> Separable {
        let d: Vec<Exact> = (0..y.len()).map(|j| &y[j] - exact(self.y0[j])).collect();
        let mut constant = -exact(self.value);
        for j in 0..y.len() {
            constant += &d[j] * (exact(0.5) * exact(self.hy[j]) * &d[j] + exact(self.cy[j]));
        }
        let n = self.dim_x();
        let column = |i: usize| {
            (0..y.len()).fold(-exact(self.cx[i]), |sum, j| sum - exact(self.b[j * n + i]) * &d[j])
        };
        let slope = (0..n).map(column).collect();
        Separable::around(constant, slope, &self.hx, &self.x0)
    }

    /// The same function as the library's own.
    ///
    /// # Errors
    /// A curvature in `y` that is zero.
    pub fn library(&self) -> couloir::Result<QuadraticBilinear> {
        let saddle = Saddle { x: self.x0.clone(), y: self.y0.clone(), value: self.value };
        let Quadratic { hx, hy, b, cx, cy, .. } = self.clone();
        QuadraticBilinear::new(hx, hy, b, cx, cy, saddle)
    }

    /// The coupling alone, as the library's own game.
    ///
    /// # Errors
    /// No coordinates.
    pub fn game(&self) -> couloir::Result<MatrixGame> {
        let (n, m) = (self.dim_x(), self.dim_y());
        let payoffs = (0..n).flat_map(|i| (0..m).map(move |j| self.b[j * n + i])).collect();
        MatrixGame::from_rows(n, m, payoffs)
    }

    /// The same function as a user would write it: three closures with plain loops.
    ///
    /// # Errors
    /// No coordinates.
    pub fn closures(&self) -> couloir::Result<ClosureProblem<'_>> {
        let (n, m) = (self.dim_x(), self.dim_y());
        let value = move |x: &[f64], y: &[f64]| {
            let mut sum = self.value;
            for i in 0..n {
                let d = x[i] - self.x0[i];
                sum += 0.5 * self.hx[i] * d * d + self.cx[i] * d;
            }
            for j in 0..m {
                let d = y[j] - self.y0[j];
                sum += -0.5 * self.hy[j] * d * d - self.cy[j] * d;
                for i in 0..n {
                    sum += self.b[j * n + i] * d * (x[i] - self.x0[i]);
                }
            }
            sum
        };
        let grad_x = move |x: &[f64], y: &[f64], out: &mut [f64]| {
            for i in 0..n {
                out[i] = self.hx[i] * (x[i] - self.x0[i]) + self.cx[i];
                for j in 0..m {
                    out[i] += self.b[j * n + i] * (y[j] - self.y0[j]);
                }
            }
        };
        let grad_y = move |x: &[f64], y: &[f64], out: &mut [f64]| {
            for j in 0..m {
                out[j] = -self.hy[j] * (y[j] - self.y0[j]) - self.cy[j];
                for i in 0..n {
                    out[j] += self.b[j * n + i] * (x[i] - self.x0[i]);
                }
            }
        };
        ClosureProblem::new(n, m, value, grad_x, grad_y)
    }

    /// The maximiser of `f(x, .)` over a box, by the formula that a user would write.
    pub fn respond(&self, x: &[f64], lower: &[f64], upper: &[f64], y: &mut [f64]) {
        let n = self.dim_x();
        for j in 0..y.len() {
            let mut slope = -self.cy[j];
            for i in 0..n {
                slope += self.b[j * n + i] * (x[i] - self.x0[i]);
            }
            let best = self.y0[j] + slope / self.hy[j];
            y[j] = best.max(lower[j]).min(upper[j]);
        }
    }

    /// Constants of the blocks that hold for sure: Frobenius norms where spectral ones would be sharper.
    #[must_use]
    pub fn constants(&self) -> BlockConstants {
        let largest = |h: &[f64]| h.iter().copied().fold(0.0, f64::max);
        let smallest = |h: &[f64]| h.iter().copied().fold(f64::INFINITY, f64::min);
        let coupling = self.b.iter().map(|b| b * b).sum::<f64>().sqrt();
        BlockConstants {
            lxx: Some(largest(&self.hx)),
            lxy: Some(coupling),
            lyy: Some(largest(&self.hy)).filter(|v| *v > 0.0),
            mu: Some(smallest(&self.hy)).filter(|v| *v > 0.0),
            mu_x: Some(smallest(&self.hx)).filter(|v| *v > 0.0),
        }
    }

    /// The size of the numbers that cancel in values and gaps at a pair: `sum |terms|` of the value, and of the gradients times
    /// the widths of the sets.
    #[must_use]
    pub fn size(&self, (x_set, y_set): (&Set, &Set), x: &[f64], y: &[f64]) -> f64 {
        let n = self.dim_x();
        let dx: Vec<f64> = (0..n).map(|i| (x[i] - self.x0[i]).abs()).collect();
        let dy: Vec<f64> = (0..y.len()).map(|j| (y[j] - self.y0[j]).abs()).collect();
        let mut sum = self.value.abs();
        for i in 0..n {
            let column: f64 = (0..y.len()).map(|j| self.b[j * n + i].abs() * dy[j]).sum();
            sum += (0.5 * self.hx[i] * dx[i] + self.cx[i].abs()) * dx[i];
            sum += (self.hx[i] * dx[i] + self.cx[i].abs() + column) * x_set.width(i);
        }
        for j in 0..y.len() {
            let row: f64 = (0..n).map(|i| self.b[j * n + i].abs() * dx[i]).sum();
            sum += (0.5 * self.hy[j] * dy[j] + self.cy[j].abs() + row) * dy[j];
            sum += (self.hy[j] * dy[j] + self.cy[j].abs() + row) * y_set.width(j);
        }
        sum
    }
}
