//! Points as vectors: every trial is a prox or a slide, and its image a product with the operator.

use super::{Attempt, Gradient, GradientRoom, InnerGoal, InnerSolve, Representation, Trial};
use crate::domain::{SlideState, SlideTask};
use crate::error::{Block, Result};
use crate::linalg::{dot_difference, norm};
use crate::oracles::Oracles;
use crate::problem::{Imaged, PointX, SaddleProblem};
use crate::run::Step;
use crate::solver::inner::InnerX;
use crate::state::Archive;

/// Linear minimisations that a slide may spend on more accuracy than the bound asks for.
const POLISH_BUDGET: u64 = 200_000;
/// The accuracy beyond what the bound asks for, as a share of the present gap.
const POLISH: f64 = 0.05;
/// The gap that a slide over atoms may leave, as a share of the present one; below 1/3, for the bound.
const COARSE: f64 = 0.25;

pub(super) struct Vectors {
    dim: usize,
    inner: InnerSolve,
    /// Iterations, the longest image, and the length of the gradient in the image: what carrying images along may cost.
    age: u64,
    longest: f64,
    steepest: f64,
}

impl Vectors {
    pub fn new(dim: usize, inner: InnerSolve) -> Self {
        Vectors { dim, inner, age: 0, longest: 0.0, steepest: 0.0 }
    }

    /// Solves the inner problem with condition (b) at `goal`; returns the gap reached.
    fn solve(
        &self,
        oracles: &mut Oracles<'_>,
        (g, v, alpha): (&[f64], &[f64], f64),
        goal: InnerGoal,
        out: &mut [f64],
    ) -> Result<std::result::Result<f64, Step>> {
        if self.inner.way == InnerX::Prox {
            return Ok(Ok(oracles.prox(Block::X, g, v, alpha, out)?));
        }
        let over_atoms = self.inner.way == InnerX::Atoms;
        let (eta, budget) = match over_atoms {
            true => (goal.needed.max(COARSE * goal.present), self.inner.budget),
            false => (goal.needed.min(POLISH * goal.present), self.inner.budget.min(POLISH_BUDGET)),
        };
        let task = SlideTask { r: g, q: v, beta: alpha, eta, budget };
        let mut slide = oracles.slide(Block::X, &task, out)?;
        let mut has_ended = slide.state == SlideState::OutOfBudget && !(slide.gap <= goal.needed);
        if has_ended && !over_atoms {
            let task = SlideTask { eta: goal.needed, budget: self.inner.budget, ..task };
            slide = oracles.slide(Block::X, &task, out)?;
            has_ended = slide.state == SlideState::OutOfBudget;
        }
        Ok(if has_ended { Err(Step::InnerBudget(Block::X)) } else { Ok(slide.gap) })
    }
}

impl Representation for Vectors {
    fn carries_images(&self) -> bool {
        false
    }

    fn coordinates(&self) -> usize {
        self.dim
    }

    fn form(&self, _problem: &dyn SaddleProblem, _coordinates: &[f64]) -> Option<Vec<f64>> {
        None
    }

    fn take_gradient(
        &mut self,
        oracles: &mut Oracles<'_>,
        at: &PointX,
        y: &[f64],
        room: &mut GradientRoom,
    ) -> Result<bool> {
        oracles.both_grads_x(at, y, &mut room.in_image, &mut room.vector)?;
        if oracles.has_operator() {
            self.steepest = oracles.images().norm(&room.in_image);
            self.longest = self.longest.max(oracles.images().norm(&at.image));
        }
        Ok(true)
    }

    fn gradient<'b>(&'b self, room: &'b GradientRoom) -> Gradient<'b> {
        Gradient::Vector(&room.vector)
    }

    fn gradient_length(&self, room: &GradientRoom) -> f64 {
        norm(&room.vector)
    }

    fn aim(&mut self, _oracles: &Oracles<'_>, _v: &Imaged, _room: &GradientRoom) {}

    fn try_step(
        &mut self,
        oracles: &mut Oracles<'_>,
        v: &Imaged,
        alpha: f64,
        goal: InnerGoal,
        room: &GradientRoom,
        trial: &mut Imaged,
    ) -> Result<Attempt> {
        let zeta = match self.solve(oracles, (&room.vector, &v.x, alpha), goal, &mut trial.x)? {
            Ok(zeta) => zeta,
            Err(step) => return Ok(Attempt::Ended(step)),
        };
        oracles.image(&trial.x, &mut trial.image)?;
        let (slope, square) = dot_difference(&room.vector, &trial.x, &v.x);
        Ok(Attempt::Found(Trial { zeta, slope, square }))
    }

    fn take_trial(
        &mut self,
        _oracles: &mut Oracles<'_>,
        _v: &Imaged,
        _room: &mut GradientRoom,
        _trial: &mut Imaged,
    ) -> Result<f64> {
        self.age += 1;
        Ok(0.0)
    }

    /// Points and images are combinations of so many, and round in the same way; without an operator they are the same bits.
    fn rounding(&self) -> f64 {
        (8 + 4 * self.age) as f64 * f64::EPSILON * self.steepest * self.longest
    }

    fn is_worn(&self) -> bool {
        false
    }

    fn state(&mut self, archive: &mut Archive<'_>, _most_points: usize) -> Result<()> {
        archive.count("age", &mut self.age)?;
        archive.number("longest", &mut self.longest)
    }
}
