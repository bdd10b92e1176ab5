//! Games with a quadratic penalty on either strategy.

use super::Game;
use crate::domain::{Confidence, Domain};
use crate::error::{Error, Result};
use crate::linalg::{axpy, norm, norm_squared};
use crate::problem::{
    BlockConstants, Capabilities, Identity, KnownConstants, KnownRounding, MatrixGame,
    PreparedImage, Rounding, SaddleProblem,
};
use crate::solver::{Method, Solve};
use crate::state::Fingerprint;

/// `f(x, y) = x' A y + x_weight/2 |x|^2 - y_weight/2 |y|^2` on the sets of a game: mixed strategies are favoured, and the saddle point is
/// unique where both weights are positive.
///
/// ```
/// use couloir::model::games::{Game, RegularisedGame};
/// let game = Game::matrix(2, 2, vec![1.0, 0.0, 0.0, 3.0])?;
/// let regularised = RegularisedGame::new(&game, 0.5, 0.5)?;
/// let solution = regularised.solver().gap(1e-9).run()?;
/// assert!(solution.outcome.status.is_solved());
/// # Ok::<(), couloir::Error>(())
/// ```
pub struct RegularisedGame<'a> {
    x_set: &'a dyn Domain,
    y_set: &'a dyn Domain,
    payoffs: &'a MatrixGame,
    x_weight: f64,
    y_weight: f64,
}

impl std::fmt::Debug for RegularisedGame<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sets = (self.x_set.describe(), self.y_set.describe());
        let weights = (self.x_weight, self.y_weight);
        f.debug_tuple("RegularisedGame").field(&sets).field(&weights).finish()
    }
}

impl<'a> RegularisedGame<'a> {
    /// The game with these weights.
    ///
    /// # Errors
    /// Weights that are negative or not finite.
    pub fn new(game: &'a Game, x_weight: f64, y_weight: f64) -> Result<Self> {
        RegularisedGame::on((game.x_set(), game.y_set()), game.payoffs(), x_weight, y_weight)
    }

    /// The game with these weights on two sets, whose dimensions must be those of the payoffs.
    ///
    /// # Errors
    /// As [`new`](Self::new), and sets of another dimension.
    pub fn on(
        (x_set, y_set): (&'a dyn Domain, &'a dyn Domain),
        payoffs: &'a MatrixGame,
        x_weight: f64,
        y_weight: f64,
    ) -> Result<Self> {
        super::check_sets(x_set, y_set, payoffs)?;
        for (name, weight) in [("x_weight", x_weight), ("y_weight", y_weight)] {
            if !(weight >= 0.0 && weight.is_finite()) {
                let why = format!("must be finite and not negative, got {weight}");
                return Err(Error::Setting { name, why });
            }
        }
        Ok(RegularisedGame { x_set, y_set, payoffs, x_weight, y_weight })
    }

    /// The method that suits it: certified steps where both sets project and `y_weight` is positive, and otherwise corrective steps.
    #[must_use]
    pub fn method(&self) -> Method {
        let project = self.x_set.oracle().has_prox() && self.y_set.oracle().has_prox();
        let certified = project && self.y_weight > 0.0;
        if certified { Method::certified() } else { Method::corrective() }
    }

    /// The solve with the method that suits it, to be refined.
    #[must_use]
    pub fn solver(&self) -> Solve<'_> {
        Solve::new(self, self.x_set, self.y_set).method(self.method())
    }
}

impl SaddleProblem for RegularisedGame<'_> {
    fn dim_x(&self) -> usize {
        self.payoffs.dim_x()
    }

    fn dim_y(&self) -> usize {
        self.payoffs.dim_y()
    }

    fn value(&self, at: PreparedImage<'_>, y: &[f64]) -> f64 {
        self.payoffs.value(at, y) + 0.5 * self.x_weight * norm_squared(at.image)
            - 0.5 * self.y_weight * norm_squared(y)
    }

    fn grad_image(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
        self.payoffs.grad_image(at, y, out);
        axpy(self.x_weight, at.image, out);
    }

    fn grad_y(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
        self.payoffs.grad_y(at, y, out);
        axpy(-self.y_weight, y, out);
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities::NONE.with_constants(self).with_rounding(self).with_identity(self)
    }
}

impl KnownConstants for RegularisedGame<'_> {
    fn constants(&self) -> BlockConstants {
        let coupling = self.payoffs.constants().lxy.unwrap_or(f64::INFINITY);
        let mut constants =
            BlockConstants::all(self.x_weight, coupling, self.y_weight, self.y_weight)
                .with_mu_x(self.x_weight);
        constants.mu = (self.y_weight > 0.0).then_some(self.y_weight);
        constants
    }

    fn confidence(&self) -> Confidence {
        Confidence::Exact
    }
}

impl KnownRounding for RegularisedGame<'_> {
    /// That of the payoffs, the sums of squares, and one more addition for each number.
    fn rounding(&self, at: PreparedImage<'_>, y: &[f64], reach: [f64; 2]) -> Rounding {
        let (bent_x, bent_y) = (self.x_weight * norm(at.image), self.y_weight * norm(y));
        let squares = 0.5 * (bent_x * norm(at.image) + bent_y * norm(y));
        let roundings = f64::EPSILON * (at.image.len() + y.len() + 8) as f64;
        let payoffs = self.payoffs.rounding(at, y, reach);
        let coupling = self.payoffs.constants().lxy.unwrap_or(f64::INFINITY);
        let (pay_x, pay_y) = (coupling * norm(y), coupling * norm(at.image));
        Rounding {
            value: payoffs.value
                + roundings * squares
                + 2.0 * f64::EPSILON * pay_x * norm(at.image),
            grad_x: payoffs.grad_x + 2.0 * f64::EPSILON * (bent_x + pay_x),
            grad_y: payoffs.grad_y + 2.0 * f64::EPSILON * (bent_y + pay_y),
            steepest_x: (payoffs.steepest_x + bent_x) * (1.0 + roundings),
            steepest_y: (payoffs.steepest_y + bent_y) * (1.0 + roundings),
        }
    }
}

impl Identity for RegularisedGame<'_> {
    fn fingerprint(&self, print: &mut Fingerprint) {
        self.payoffs.fingerprint(print);
        print.note("x_weight", self.x_weight);
        print.note("y_weight", self.y_weight);
    }
}
