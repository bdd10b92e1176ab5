//! Descent over both factors of a matrix `X = L R'` of low rank, on `|L|^2 + |R|^2 <= 2 tau`, which keeps `|X|_* <= tau`.
//!
//! A step costs three products with as many vectors as the rank of the point, where a linear minimisation takes some hundred
//! and a restricted problem as many in every step: it turns the directions of the point, which a restricted problem cannot do,
//! before the set is asked for more of them. These are spectral projected gradients (Birgin, Martinez and Raydan, 2000):
//! steps as long as the last change of the gradient says, and values that may rise above the last one, but not above those of
//! the last few steps. The problem is not convex in the factors, so nothing is concluded from where the descent ends.

use super::restricted::ImageFunction;
use crate::error::Result;
use crate::linalg::{dot, norm, scale};
use crate::problem::MatrixOperator;

/// A value may rise to the largest of so many before it.
const REMEMBERED: usize = 5;
/// The share of the fall that the gradient promises which a step must have.
const SUFFICIENT: f64 = 1e-4;
/// Shorter trials of one step.
const MOST_TRIALS: usize = 12;
/// Steps that bring no new least value and end the descent.
const MOST_IDLE: usize = 10;
/// How far lengths of steps may change in one step.
const CHANGE: f64 = 1e3;

/// When a descent ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Until {
    /// The gap of the linearised problem over the factors.
    pub gap: f64,
    /// Steps.
    pub steps: usize,
}

/// A point by its factors.
#[derive(Clone, Default)]
pub(super) struct Pair {
    /// `rows x k` and `columns x k`, row-major.
    pub left: Vec<f64>,
    pub right: Vec<f64>,
}

impl Pair {
    fn zeros(like: &Pair) -> Pair {
        Pair { left: vec![0.0; like.left.len()], right: vec![0.0; like.right.len()] }
    }

    fn dot(&self, other: &Pair) -> f64 {
        dot(&self.left, &other.left) + dot(&self.right, &other.right)
    }

    fn norm(&self) -> f64 {
        norm(&self.left).hypot(norm(&self.right))
    }

    /// `self = a + t b`
    fn set(&mut self, a: &Pair, t: f64, b: &Pair) {
        let set = |out: &mut [f64], a: &[f64], b: &[f64]| {
            out.iter_mut().zip(a.iter().zip(b)).for_each(|(o, (a, b))| *o = a + t * b);
        };
        set(&mut self.left, &a.left, &b.left);
        set(&mut self.right, &a.right, &b.right);
    }

    /// Scales it into the ball of this radius.
    fn project(&mut self, radius: f64) {
        let size = self.norm();
        if size > radius {
            scale(radius / size, &mut self.left);
            scale(radius / size, &mut self.right);
        }
    }
}

/// The descent.
pub(super) struct Descent<'a> {
    operator: &'a dyn MatrixOperator,
    k: usize,
    /// The radius of the ball of both factors.
    radius: f64,
    /// The length of the next step, relative to the gradient.
    step: f64,
    image: Vec<f64>,
    slope: Vec<f64>,
}

impl<'a> Descent<'a> {
    /// With matrices of rank `k` in a nuclear ball, where the problem bends by about `curvature` in a matrix.
    pub fn new(
        operator: &'a dyn MatrixOperator,
        k: usize,
        tau: f64,
        curvature: f64,
        image_dim: usize,
    ) -> Self {
        let zeros = || vec![0.0; image_dim];
        let step = 1.0 / (curvature * tau).max(f64::MIN_POSITIVE);
        Descent { operator, k, radius: (2.0 * tau).sqrt(), step, image: zeros(), slope: zeros() }
    }

    fn value(&mut self, phi: &mut dyn ImageFunction, at: &Pair) -> Result<f64> {
        self.operator.image_of_product(self.k, &at.left, &at.right, &mut self.image);
        phi.look(&self.image, &mut self.slope)
    }

    /// Writes the gradient by the factors of the point whose value was taken last.
    fn gradient(&self, at: &Pair, out: &mut Pair) {
        self.operator.adjoint_times(&self.slope, self.k, &at.right, &mut out.left);
        self.operator.adjoint_transposed_times(&self.slope, self.k, &at.left, &mut out.right);
    }

    /// Moves the point to where phi is lower, if there is such a place; returns its value and whether it has moved.
    pub fn run(
        &mut self,
        phi: &mut dyn ImageFunction,
        at: &mut Pair,
        until: Until,
    ) -> Result<(f64, bool)> {
        at.project(self.radius);
        let mut here = at.clone();
        let mut value = self.value(phi, &here)?;
        let (mut least, mut idle, mut has_moved) = (value, 0, false);
        let mut gradient = Pair::zeros(at);
        self.gradient(&here, &mut gradient);
        let (mut trial, mut next_gradient) = (here.clone(), gradient.clone());
        let mut direction = Pair::zeros(at);
        let mut last = vec![value];
        for _ in 0..until.steps {
            // the linearised problem over the ball of the factors
            let gap = gradient.dot(&here) + self.radius * gradient.norm();
            if gap <= until.gap || idle == MOST_IDLE {
                break;
            }
            trial.set(&here, -self.step, &gradient);
            trial.project(self.radius);
            direction.set(&trial, -1.0, &here);
            let along = gradient.dot(&direction);
            let highest = last.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let mut share = 1.0;
            let mut trials = 0;
            let next = loop {
                let next = self.value(phi, &trial)?;
                if next <= highest + SUFFICIENT * share * along {
                    break Some(next);
                }
                trials += 1;
                if trials == MOST_TRIALS || !(along < 0.0) {
                    break None;
                }
                // the minimum of the parabola through both values with this slope
                let best = -0.5 * along * share * share / (next - value - share * along);
                share = if best.is_finite() {
                    best.clamp(0.1 * share, 0.5 * share)
                } else {
                    0.1 * share
                };
                trial.set(&here, share, &direction);
            };
            let Some(next) = next else { break };
            self.gradient(&trial, &mut next_gradient);
            // how the gradient has changed along the step
            direction.set(&trial, -1.0, &here);
            let square = direction.dot(&direction);
            let bend = next_gradient.dot(&direction) - gradient.dot(&direction);
            let longest = CHANGE * self.step;
            self.step = if bend > 0.0 {
                (square / bend).clamp(self.step / CHANGE, longest)
            } else {
                longest.min(10.0 * self.step)
            };
            std::mem::swap(&mut here, &mut trial);
            std::mem::swap(&mut gradient, &mut next_gradient);
            value = next;
            if last.len() == REMEMBERED {
                last.remove(0);
            }
            last.push(value);
            idle += 1;
            if value < least {
                (least, idle, has_moved) = (value, 0, true);
                at.clone_from(&here);
            }
        }
        Ok((least, has_moved))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::ObservedEntries;

    /// `sum_e w_e (s_e - t_e)^2/2`.
    struct Squares {
        weights: Vec<f64>,
        targets: Vec<f64>,
    }

    impl ImageFunction for Squares {
        fn look(&mut self, image: &[f64], slope: &mut [f64]) -> Result<f64> {
            let mut value = 0.0;
            for (e, s) in slope.iter_mut().enumerate() {
                let missed = image[e] - self.targets[e];
                *s = self.weights[e] * missed;
                value += 0.5 * *s * missed;
            }
            Ok(value)
        }

        fn bend(&mut self, _: &[f64], _: &[f64], direction: &[f64], out: &mut [f64]) -> Result<()> {
            out.iter_mut().zip(direction).zip(&self.weights).for_each(|((o, d), w)| *o = w * d);
            Ok(())
        }
    }

    fn number(i: usize) -> f64 {
        ((i * i) as f64 * 0.61 + 0.3).sin()
    }

    fn pair(rows: usize, columns: usize, k: usize, first: usize) -> Pair {
        let some = |n: usize, first: usize| (0..n * k).map(|i| number(i + first)).collect();
        Pair { left: some(rows, first), right: some(columns, first + 1000) }
    }

    #[test]
    fn a_matrix_of_low_rank_in_the_ball_is_found_again_from_its_entries() {
        let (rows, columns, k) = (30, 24, 2);
        let places = (0..rows * columns).filter(|e| e % 3 != 1);
        let (row, column) = places.map(|e| ((e / columns) as u32, (e % columns) as u32)).unzip();
        let entries = ObservedEntries::new(rows, columns, row, column).expect("places");
        let truth = pair(rows, columns, k, 7);
        let mut targets = vec![0.0; entries.len()];
        entries.of_product(k, &truth.left, &truth.right, &mut targets);
        let weights = (0..targets.len()).map(|e| 1.0 + (e % 5) as f64).collect();
        let mut squares = Squares { weights, targets };
        let tau = 0.5 * truth.norm().powi(2);
        let mut at = pair(rows, columns, k, 50);
        let mut descent = Descent::new(&entries, k, tau, 1.0, entries.len());
        let until = Until { gap: 1e-9, steps: 500 };
        let (value, has_moved) = descent.run(&mut squares, &mut at, until).expect("finite");
        assert!(has_moved && value < 1e-9, "{value}");
    }

    #[test]
    fn a_descent_stays_in_the_ball_and_ends_where_its_boundary_holds_it() {
        let (rows, columns, k) = (9, 7, 3);
        let (row, column) = (0..63).map(|e| (e / 7, e % 7)).unzip();
        let entries = ObservedEntries::new(rows, columns, row, column).expect("places");
        let mut squares = Squares { weights: vec![1.0; 63], targets: vec![0.0; 63] };
        // a matrix of ones: the nearest of nuclear norm tau is its multiple of that norm
        squares.targets.fill(1.0);
        let tau = 2.0;
        let mut at = pair(rows, columns, k, 3);
        let mut descent = Descent::new(&entries, k, tau, 1.0, 63);
        let until = Until { gap: 1e-10, steps: 1000 };
        let (value, _) = descent.run(&mut squares, &mut at, until).expect("finite");
        assert!(at.norm() <= (2.0 * tau).sqrt() * (1.0 + 1e-14));
        let best = 0.5 * (63f64.sqrt() - tau).powi(2);
        assert!((value - best).abs() < 1e-8, "{value} is not {best}");
        // nothing is left to gain from there: the point stays
        let before = at.left.clone();
        let (again, has_moved) = descent.run(&mut squares, &mut at, until).expect("finite");
        assert!(!has_moved || again <= value);
        assert!(has_moved || at.left == before);
    }
}
