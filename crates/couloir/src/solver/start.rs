//! What a solver is made from, and what a method may need of it.

use crate::domain::Domain;
use crate::error::{Block, Error, Result};
use crate::oracles::Oracles;
use crate::problem::{PointX, Population, SaddleProblem};
use std::fmt;

/// What a method needs of the problem or of its sets, beyond values, gradients and linear minimisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Need {
    /// An exact projection (prox) on the set of this block.
    Projection(Block),
    /// A function that is linear in each block.
    Bilinear,
    /// A problem that is a mean over samples.
    Batches,
    /// A problem that is a mean over finitely many samples.
    FiniteSum,
    /// Polytopes in both blocks. A set of which nobody knows is taken for one ([`Domain::is_polytope`]).
    Polytopes,
    /// Constants that the problem must give (or the settings, where they can).
    Constants(&'static str),
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Need::Projection(Block::X) => f.write_str("an exact projection on X"),
            Need::Projection(Block::Y) => f.write_str("an exact projection on Y"),
            Need::Bilinear => f.write_str("a bilinear function"),
            Need::Batches => f.write_str("a mean over samples"),
            Need::FiniteSum => f.write_str("a finite sum"),
            Need::Polytopes => f.write_str("polytopes"),
            Need::Constants(names) => write!(f, "the constants {names}"),
        }
    }
}

/// What every solver is made from: the problem, its two sets, and start points if they are not the sets' centres.
///
/// `'a` is how long the problem and the sets live, `'s` how long the start points do.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Start<'a, 's> {
    /// The problem.
    pub problem: &'a dyn SaddleProblem,
    /// The set of `x`.
    pub x_set: &'a dyn Domain,
    /// The set of `y`.
    pub y_set: &'a dyn Domain,
    /// The start point for `x`, if it is not the set's centre.
    pub x0: Option<&'s [f64]>,
    /// The start point for `y`, if it is not the set's centre.
    pub y0: Option<&'s [f64]>,
}

impl<'a, 's> Start<'a, 's> {
    /// A start from the centres of the sets.
    #[must_use]
    pub fn new(
        problem: &'a dyn SaddleProblem,
        x_set: &'a dyn Domain,
        y_set: &'a dyn Domain,
    ) -> Self {
        Start { problem, x_set, y_set, x0: None, y0: None }
    }

    /// The same from these points, where they are given.
    #[must_use]
    pub fn at<'t>(self, x0: Option<&'t [f64]>, y0: Option<&'t [f64]>) -> Start<'a, 't> {
        let Start { problem, x_set, y_set, .. } = self;
        Start { problem, x_set, y_set, x0, y0 }
    }

    /// The counted oracles of problem and sets, after a check that they fit together and offer what a method needs.
    /// Constants are not looked at here: finding them may take work, so that a method asks for those that it uses.
    ///
    /// # Errors
    /// Dimensions that disagree, and the first need that is not met.
    pub fn oracles(&self, needs: &[Need]) -> Result<Oracles<'a>> {
        let oracles = Oracles::new(self.problem, self.x_set, self.y_set)?;
        needs.iter().try_for_each(|need| self.check(*need, &oracles))?;
        Ok(oracles)
    }

    /// Both start points, checked, the one for `x` with its image.
    ///
    /// # Errors
    /// A start point of the wrong length or outside its set; an image that is not finite.
    pub fn points(&self, oracles: &mut Oracles<'_>) -> Result<(PointX, Vec<f64>)> {
        oracles.start_pair(self.x0, self.y0)
    }

    fn check(&self, need: Need, oracles: &Oracles<'_>) -> Result<()> {
        let of_set = |block: Block, oracle, hint| {
            let set = if block == Block::X { self.x_set } else { self.y_set };
            Err(Error::MissingOracle { set: set.describe(), oracle, hint })
        };
        let of_problem = |what: &str, oracle, hint| {
            Err(Error::MissingOracle { set: what.to_owned(), oracle, hint })
        };
        match need {
            Need::Projection(block) if !oracles.has_prox(block) => of_set(
                block,
                "exact projection",
                "use a projection-free method, for instance `certified`",
            ),
            Need::Bilinear if self.problem.capabilities().bilinear.is_none() => of_problem(
                "the problem",
                "bilinear form (its capability `bilinear` is missing)",
                "use a method for any convex-concave function, for instance `certified`",
            ),
            Need::Polytopes => {
                let sets = [(Block::X, self.x_set), (Block::Y, self.y_set)];
                match sets.into_iter().find(|(_, set)| set.is_polytope() == Some(false)) {
                    Some((block, _)) => of_set(
                        block,
                        "away oracle",
                        "the method needs polytopes in both blocks; use `spfw` or `certified` here",
                    ),
                    None => Ok(()),
                }
            }
            Need::Batches | Need::FiniteSum => match self.problem.capabilities().sampled {
                None => of_problem(
                    "the problem",
                    "batches (its capability `sampled` is missing)",
                    "use a method for whole gradients, for instance `certified`",
                ),
                Some(sampled)
                    if need == Need::FiniteSum && sampled.population() == Population::Infinite =>
                {
                    of_problem(
                        "an expectation",
                        "full gradient",
                        "the method is for finite sums: draw a sample and solve for its mean",
                    )
                }
                Some(_) => Ok(()),
            },
            Need::Projection(_) | Need::Bilinear | Need::Constants(_) => Ok(()),
        }
    }
}
