//! Games with a quadratic penalty on either strategy.

use super::Game;
use crate::domain::Confidence;
use crate::error::{Error, Result};
use crate::linalg::{axpy, norm_squared};
use crate::problem::{
    BlockConstants, Capabilities, Identity, KnownConstants, MatrixGame, PreparedImage,
    SaddleProblem,
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
#[derive(Debug)]
pub struct RegularisedGame<'a> {
    game: &'a Game,
    x_weight: f64,
    y_weight: f64,
}

impl<'a> RegularisedGame<'a> {
    /// The game with these weights.
    ///
    /// # Errors
    /// Weights that are negative or not finite.
    pub fn new(game: &'a Game, x_weight: f64, y_weight: f64) -> Result<Self> {
        for (name, weight) in [("x_weight", x_weight), ("y_weight", y_weight)] {
            if !(weight >= 0.0 && weight.is_finite()) {
                let why = format!("must be finite and not negative, got {weight}");
                return Err(Error::Setting { name, why });
            }
        }
        Ok(RegularisedGame { game, x_weight, y_weight })
    }

    fn payoffs(&self) -> &MatrixGame {
        self.game.payoffs()
    }

    /// The solve, to be refined: certified steps where both sets project and `y_weight` is positive, and otherwise corrective steps.
    #[must_use]
    pub fn solver(&self) -> Solve<'_> {
        let (x_set, y_set) = (self.game.x_set(), self.game.y_set());
        let project = x_set.oracle().has_prox() && y_set.oracle().has_prox();
        let certified = project && self.y_weight > 0.0;
        let method = if certified { Method::certified() } else { Method::corrective() };
        Solve::new(self, x_set, y_set).method(method)
    }
}

impl SaddleProblem for RegularisedGame<'_> {
    fn dim_x(&self) -> usize {
        self.payoffs().dim_x()
    }

    fn dim_y(&self) -> usize {
        self.payoffs().dim_y()
    }

    fn value(&self, at: PreparedImage<'_>, y: &[f64]) -> f64 {
        self.payoffs().value(at, y) + 0.5 * self.x_weight * norm_squared(at.image)
            - 0.5 * self.y_weight * norm_squared(y)
    }

    fn grad_image(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
        self.payoffs().grad_image(at, y, out);
        axpy(self.x_weight, at.image, out);
    }

    fn grad_y(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
        self.payoffs().grad_y(at, y, out);
        axpy(-self.y_weight, y, out);
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities::NONE.with_constants(self).with_identity(self)
    }
}

impl KnownConstants for RegularisedGame<'_> {
    fn constants(&self) -> BlockConstants {
        let coupling = self.payoffs().constants().lxy.unwrap_or(f64::INFINITY);
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

impl Identity for RegularisedGame<'_> {
    fn fingerprint(&self, print: &mut Fingerprint) {
        self.payoffs().fingerprint(print);
        print.note("x_weight", self.x_weight);
        print.note("y_weight", self.y_weight);
    }
}
