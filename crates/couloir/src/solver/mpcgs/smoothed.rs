//! A function that is not strongly concave in `y`, smoothed: what a stage of certified MPCGS is run on.

use crate::domain::Confidence;
use crate::linalg::{distance_squared, dot_of_differences, norm, sum_rounding};
use crate::problem::{
    BlockConstants, Capabilities, ExactDifferences, KnownConstants, KnownRounding, Measured,
    PreparedImage, Rounding, SaddleProblem, WithFallbacks,
};

/// `f(x, y) - smoothing/2 |y - centre|^2`.
pub(super) struct Smoothed<'a> {
    inner: WithFallbacks<'a>,
    smoothing: f64,
    centre: Vec<f64>,
}

impl<'a> Smoothed<'a> {
    pub fn new(problem: &'a dyn SaddleProblem, smoothing: f64, centre: Vec<f64>) -> Self {
        Smoothed { inner: WithFallbacks::new(problem), smoothing, centre }
    }

    /// `smoothing/2 |y - centre|^2`.
    fn term(&self, y: &[f64]) -> f64 {
        0.5 * self.smoothing * distance_squared(y, &self.centre)
    }
}

impl SaddleProblem for Smoothed<'_> {
    fn dim_x(&self) -> usize {
        self.inner.dim_x()
    }

    fn dim_y(&self) -> usize {
        self.inner.dim_y()
    }

    fn value(&self, at: PreparedImage<'_>, y: &[f64]) -> f64 {
        self.inner.value(at, y) - self.term(y)
    }

    fn grad_image(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
        self.inner.grad_image(at, y, out);
    }

    fn grad_y(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
        self.inner.grad_y(at, y, out);
        for ((g, y), c) in out.iter_mut().zip(y).zip(&self.centre) {
            *g -= self.smoothing * (y - c);
        }
    }

    /// The best response and second derivatives are those of `f` and not of this function; samples are not asked for.
    fn capabilities(&self) -> Capabilities<'_> {
        let inner = self.inner.capabilities();
        let mut can = inner.representation().with_differences(self).with_constants(self);
        can.rounding = inner.rounding.map(|_| self as &dyn KnownRounding);
        can
    }
}

impl ExactDifferences for Smoothed<'_> {
    /// The term in `y` is the same at both points.
    fn bend_x(
        &self,
        from: PreparedImage<'_>,
        to: PreparedImage<'_>,
        y: &[f64],
        slope: f64,
    ) -> Measured {
        self.inner.bend_x(from, to, y, slope)
    }

    fn change_y(&self, at: PreparedImage<'_>, from: &[f64], to: &[f64]) -> Measured {
        let of_f = self.inner.change_y(at, from, to);
        // |to - c|^2 - |from - c|^2 = |to - from|^2 - 2 <to - from, c - from>
        let square = distance_squared(to, from);
        let along = dot_of_differences(to, &self.centre, from);
        let length = (square * distance_squared(&self.centre, from)).sqrt();
        let half = 0.5 * self.smoothing;
        let share = sum_rounding(to.len()) + 8.0 * f64::EPSILON;
        Measured {
            value: of_f.value - half * (square - 2.0 * along),
            rounding: of_f.rounding + share * half * (square + 2.0 * length),
        }
    }
}

impl KnownConstants for Smoothed<'_> {
    fn constants(&self) -> BlockConstants {
        let of_f = self.inner.constants();
        BlockConstants {
            lyy: of_f.lyy.map(|lyy| lyy + self.smoothing),
            mu: Some(of_f.mu.unwrap_or(0.0) + self.smoothing),
            ..of_f
        }
    }

    fn confidence(&self) -> Confidence {
        let known = self.inner.capabilities().constants;
        known.map_or(Confidence::AsGiven, |known| known.confidence())
    }
}

impl KnownRounding for Smoothed<'_> {
    fn rounding(&self, at: PreparedImage<'_>, y: &[f64], reach: [f64; 2]) -> Rounding {
        let known = self.inner.capabilities().rounding;
        let of_f = known.map_or(Rounding::NONE, |known| known.rounding(at, y, reach));
        let square = distance_squared(y, &self.centre);
        let share = sum_rounding(y.len()) + 8.0 * f64::EPSILON;
        let lengths = norm(y) + norm(&self.centre);
        Rounding {
            value: of_f.value + share * self.smoothing * (square + f64::EPSILON * lengths),
            grad_x: of_f.grad_x,
            grad_y: of_f.grad_y + 4.0 * f64::EPSILON * self.smoothing * (square.sqrt() + lengths),
            steepest_x: of_f.steepest_x,
            steepest_y: of_f.steepest_y + self.smoothing * square.sqrt() * (1.0 + share),
        }
    }
}
