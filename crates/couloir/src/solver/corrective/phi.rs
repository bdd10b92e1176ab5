//! `phi(s) = max over y of f(s, y)` as a function of the image.

use super::restricted::ImageFunction;
use crate::error::Result;
use crate::oracles::Oracles;
use crate::problem::PointX;
use crate::solver::mpcgs::YSolver;

/// The response at the image that was looked at last.
pub(super) struct Response {
    pub y: Vec<f64>,
    /// A bound of `phi - f(., y)` there.
    pub gap: f64,
}

/// `phi` as the problem's oracles give it.
pub(super) struct Phi<'p, 'a> {
    pub oracles: &'p mut Oracles<'a>,
    pub solver: &'p mut YSolver,
    /// Room for the image.
    pub point: &'p mut PointX,
    pub response: &'p mut Response,
    /// How well responses are to be known.
    pub accuracy: f64,
}

impl ImageFunction for Phi<'_, '_> {
    fn look(&mut self, image: &[f64], slope: &mut [f64]) -> Result<f64> {
        self.oracles.watch().check()?;
        self.point.image.copy_from_slice(image);
        self.oracles.prepare(self.point);
        let y = &mut self.response.y;
        self.response.gap =
            self.solver.respond(self.oracles, self.point, self.accuracy, y)?.gap;
        self.oracles.grad_image(self.point, y, slope)?;
        self.oracles.value(self.point, y)
    }
}
