//! `phi(s) = max over y of f(s, y)` as a function of the image.

use super::restricted::ImageFunction;
use crate::error::Result;
use crate::linalg::axpy;
use crate::oracles::Oracles;
use crate::problem::PointX;
use crate::solver::mpcgs::YSolver;

/// The response at the image that was looked at last.
pub(super) struct Response {
    pub y: Vec<f64>,
    /// A bound of `phi - f(., y)` there.
    pub gap: f64,
}

/// The step of differences where best responses are exact, and where they are iterations.
const EXACT: f64 = 1e-7;
const INEXACT: f64 = 1e-4;
/// The most that slopes may change by along such a step, as a share of their size: `y` runs fast where the penalty is small, and a
/// difference across a face of its set says nothing of either side.
const EXACT_CHANGE: f64 = 1e-6;
const INEXACT_CHANGE: f64 = 1e-5;
/// What rounding leaves of second derivatives along such steps, as a share of their size.
const EXACT_NOISE: f64 = 1e-5;
const INEXACT_NOISE: f64 = 1e-4;

/// `phi` as the problem's oracles give it.
pub(super) struct Phi<'p, 'a> {
    pub oracles: &'p mut Oracles<'a>,
    pub solver: &'p mut YSolver,
    /// Room for the image.
    pub point: &'p mut PointX,
    pub response: &'p mut Response,
    pub knows_curvature: bool,
    /// How well responses are to be known.
    pub accuracy: f64,
}

impl ImageFunction for Phi<'_, '_> {
    fn look(&mut self, image: &[f64], slope: &mut [f64]) -> Result<f64> {
        self.oracles.watch().check()?;
        self.point.image.copy_from_slice(image);
        self.oracles.prepare(self.point);
        let y = &mut self.response.y;
        self.response.gap = self.solver.respond(self.oracles, self.point, self.accuracy, y)?.gap;
        self.oracles.grad_image(self.point, y, slope)?;
        self.oracles.value(self.point, y)
    }

    fn bend(
        &mut self,
        image: &[f64],
        slope: &[f64],
        direction: &[f64],
        out: &mut [f64],
    ) -> Result<()> {
        self.oracles.watch().check()?;
        if self.knows_curvature {
            if self.point.image != image {
                self.look(image, out)?;
            }
            self.oracles.curvature(self.point, &self.response.y, direction, out)?;
            return Ok(());
        }
        let (mut step, most) = if self.oracles.has_best_response() {
            (EXACT, EXACT_CHANGE)
        } else {
            (INEXACT, INEXACT_CHANGE)
        };
        let mut ahead = image.to_vec();
        axpy(step, direction, &mut ahead);
        self.look(&ahead, out)?;
        let size = |v: &mut dyn Iterator<Item = f64>| v.fold(0.0f64, |m, v| m.max(v.abs()));
        let change = size(&mut out.iter().zip(slope).map(|(o, s)| o - s));
        let allowed = most * size(&mut slope.iter().copied());
        if change > allowed && allowed > 0.0 {
            step *= allowed / change;
            ahead.copy_from_slice(image);
            axpy(step, direction, &mut ahead);
            self.look(&ahead, out)?;
        }
        out.iter_mut().zip(slope).for_each(|(o, s)| *o = (*o - s) / step);
        Ok(())
    }

    fn noise(&self) -> f64 {
        match (self.knows_curvature, self.oracles.has_best_response()) {
            (true, _) => 1e-12,
            (false, true) => EXACT_NOISE,
            (false, false) => INEXACT_NOISE,
        }
    }
}
