//! The quadratic that strong convexity in `x` adds to every linear minorant.
//!
//! ```text
//! f(u, y) >= f(z, y) + <g, u - z> + mu/2 |u - z|^2  =  constant + <slope, u> + mu/2 |u - c|^2
//! slope = g - mu (z - c)            constant = f(z, y) - <g, z> + mu (|z - c|^2/2 + <z - c, c>)
//! ```
//!
//! for the gradient `g` at `z` and any fixed `c`. All minorants share the last term, so that only slopes and constants are mixed. What a
//! minorant is at the least over X is bounded from below by its tangent at a point `p`, one linear minimisation:
//!
//! ```text
//! mu/2 |u - c|^2 >= mu <p - c, u> - mu (|p - c|^2/2 + <p - c, c>)
//! ```
//!
//! That holds for every `p` and loses nothing at the minimiser itself, so that a prox or a slide to it need not be accurate.

use super::{GradientRoom, InnerSolve, Numbers};
use crate::domain::SlideTask;
use crate::error::{Block, Result};
use crate::linalg::{axpy, dot_and_squares, norm, sum_rounding};
use crate::oracles::Oracles;
use crate::problem::Imaged;
use crate::solver::inner::InnerX;

/// Linear minimisations that a slide to the minimiser of a minorant may spend.
const BUDGET: u64 = 2_000;

pub(super) struct Quadratic {
    pub mu: f64,
    centre: Vec<f64>,
    /// `g + mu (v - z)`, along which a step of weight `alpha + mu` is taken from `v`: that minimises
    /// `<g, u> + mu/2 |u - z|^2 + alpha/2 |u - v|^2`.
    pub steering: GradientRoom,
    /// The slope of the present minorant, what its constant has beside that of the linear one, and a bound of the rounding in both
    /// anywhere in X.
    pub slope: Vec<f64>,
    constant: f64,
    error: f64,
    /// Minimisers, and slopes turned there.
    point: Vec<f64>,
    turned: Vec<f64>,
    scratch: Vec<f64>,
}

impl Quadratic {
    /// The quadratic around the centre of X.
    pub fn new(oracles: &Oracles<'_>, mu: f64) -> Self {
        let zeros = vec![0.0; oracles.problem.dim_x()];
        let mut centre = zeros.clone();
        oracles.x_set.center(&mut centre);
        let steering = GradientRoom { in_image: Vec::new(), vector: zeros.clone() };
        let (constant, error) = (0.0, 0.0);
        let (slope, point, turned, scratch) = (zeros.clone(), zeros.clone(), zeros, Vec::new());
        Quadratic { mu, centre, steering, slope, constant, error, point, turned, scratch }
    }

    /// Makes ready for steps from `v` with the gradient at `z = (1 - gamma) x + gamma v`.
    pub fn aim(&mut self, oracles: &Oracles<'_>, gamma: f64, x: &[f64], v: &Imaged, g: &[f64]) {
        for (z, (x, v)) in self.point.iter_mut().zip(x.iter().zip(&v.x)) {
            *z = x + gamma * (v - x);
        }
        let steering = self.steering.vector.iter_mut().zip(&self.point);
        for ((s, z), (v, g)) in steering.zip(v.x.iter().zip(g)) {
            *s = g + self.mu * (v - z);
        }
        self.bend_at_point(oracles, g);
    }

    /// The minorant with this gradient at `x`.
    pub fn bend_at(&mut self, oracles: &Oracles<'_>, x: &[f64], g: &[f64]) {
        self.point.copy_from_slice(x);
        self.bend_at_point(oracles, g);
    }

    fn bend_at_point(&mut self, oracles: &Oracles<'_>, g: &[f64]) {
        let (longest, diameter) = (norm(&self.point), oracles.diameters[0]);
        let (constant, rounding) =
            turn(-self.mu, &mut self.point, &self.centre, (g, &mut self.slope));
        self.constant = -constant;
        // z is a rounded combination, which its image need not share to the last bit
        let off = 16.0 * f64::EPSILON * (longest + diameter);
        let entries = 4.0 * f64::EPSILON * (norm(g) + 2.0 * self.mu * diameter);
        self.error = rounding + self.mu * diameter * off + entries * oracles.farthest(Block::X);
    }

    /// The numbers of the present minorant, from those of its linear part.
    pub fn bend(&self, mut linear: Numbers) -> Numbers {
        linear.constant += self.constant;
        linear.error +=
            self.error + 2.0 * f64::EPSILON * (linear.constant.abs() + self.constant.abs());
        linear.length = norm(&self.slope);
        linear
    }

    /// The same for the slope of the present minorant, which comes with it.
    pub fn own_support(
        &mut self,
        oracles: &mut Oracles<'_>,
        inner: InnerSolve,
        accuracy: f64,
    ) -> Result<(f64, &[f64])> {
        let slope = std::mem::take(&mut self.slope);
        let lower = self.support(oracles, inner, &slope, accuracy);
        self.slope = slope;
        Ok((lower?, &self.slope))
    }

    /// A lower bound of `<slope, u> + mu/2 |u - c|^2` over X, with what rounds in it taken off; a slide may leave about `accuracy`.
    pub fn support(
        &mut self,
        oracles: &mut Oracles<'_>,
        inner: InnerSolve,
        slope: &[f64],
        accuracy: f64,
    ) -> Result<f64> {
        if inner.way == InnerX::Prox {
            oracles.prox(Block::X, slope, &self.centre, self.mu, &mut self.point)?;
        } else {
            let budget = inner.budget.min(BUDGET);
            let (q, beta) = (&self.centre, self.mu);
            let task = SlideTask { r: slope, q, beta, eta: accuracy, budget };
            oracles.slide(Block::X, &task, &mut self.point)?;
        }
        let Quadratic { mu, point, centre, turned, .. } = self;
        let (constant, rounding) = turn(*mu, point, centre, (slope, turned));
        let least = oracles.support_x(&self.turned, &mut self.scratch)?;
        let length = norm(&self.turned);
        let entries = 4.0 * f64::EPSILON * (norm(slope) + 2.0 * self.mu * norm(&self.point));
        let sums = 2.0 * f64::EPSILON * (least.lower.abs() + constant.abs());
        let charge = rounding
            + entries * oracles.farthest(Block::X)
            + oracles.rounding_of_minimum(constant, length)
            + sums;
        Ok(least.lower - constant - charge)
    }
}

/// Writes `slope + mu (p - c)`, where `p` becomes `p - c`. Returns `mu (|p - c|^2/2 + <p - c, c>)` with the rounding in it.
fn turn(mu: f64, p: &mut [f64], centre: &[f64], (slope, out): (&[f64], &mut [f64])) -> (f64, f64) {
    axpy(-1.0, centre, p);
    let [along, square, of_centre] = dot_and_squares(p, centre);
    out.copy_from_slice(slope);
    axpy(mu, p, out);
    let rounding = 2.0 * sum_rounding(p.len()) * mu.abs() * (square + (square * of_centre).sqrt());
    (mu * (0.5 * square + along), rounding)
}
