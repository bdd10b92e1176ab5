//! Zero-sum games: two sets of strategies and a bilinear payoff.
//!
//! `x` pays `x' A y` to `y`, plus what a regularised game adds. The certified gap of a pair is its *exploitability*: what the two players
//! could gain together if each changed to a best response.

mod blotto;
mod extensive;
mod poker;
mod regularised;

pub use extensive::{ExtensiveForm, Player};
pub use regularised::RegularisedGame;

use crate::domain::{Domain, Simplex};
use crate::error::{Result, check_len};
use crate::problem::{MatrixGame, SaddleProblem};
use crate::solver::{CorrectiveSettings, Method, Solution, Solve};

/// Iterations of a solve that says nothing else: primal-dual steps are many and cheap.
const MOST_ITERATIONS: u64 = 1_000_000;

/// A game by the strategies of both players and the payoffs.
///
/// ```
/// use couloir::model::games::Game;
/// let kuhn = Game::kuhn()?;
/// let solution = kuhn.solve(1e-9)?;
/// let bounds = solution.outcome.certificate;
/// assert!(bounds.lower <= -1.0 / 18.0 + 1e-12 && -1.0 / 18.0 <= bounds.upper + 1e-12);
/// assert!(bounds.gap <= 1e-9);
/// # Ok::<(), couloir::Error>(())
/// ```
pub struct Game {
    x_set: Box<dyn Domain>,
    y_set: Box<dyn Domain>,
    payoffs: MatrixGame,
    /// What the entries of `x` and of `y` stand for; empty where they are numbered alone.
    names: [Vec<String>; 2],
}

impl std::fmt::Debug for Game {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sets = [self.x_set.describe(), self.y_set.describe()];
        f.debug_tuple("Game").field(&sets).finish()
    }
}

impl Game {
    /// The game in which `x` from one set pays `x' A y` to `y` from another.
    ///
    /// # Errors
    /// Sets whose dimensions are not those of the payoffs.
    pub fn new(
        x_set: Box<dyn Domain>,
        y_set: Box<dyn Domain>,
        payoffs: MatrixGame,
    ) -> Result<Self> {
        check_sets(&*x_set, &*y_set, &payoffs)?;
        Ok(Game { x_set, y_set, payoffs, names: [Vec::new(), Vec::new()] })
    }

    /// The matrix game with these payoffs, row by row: `x` chooses a row and pays, `y` chooses a column.
    ///
    /// # Errors
    /// As [`MatrixGame::from_rows`].
    pub fn matrix(rows: usize, columns: usize, payoffs: Vec<f64>) -> Result<Self> {
        let payoffs = MatrixGame::from_rows(rows, columns, payoffs)?;
        Game::new(Box::new(Simplex::new(rows)?), Box::new(Simplex::new(columns)?), payoffs)
    }

    /// The strategies of `x`.
    #[must_use]
    pub fn x_set(&self) -> &dyn Domain {
        &*self.x_set
    }

    /// The strategies of `y`.
    #[must_use]
    pub fn y_set(&self) -> &dyn Domain {
        &*self.y_set
    }

    /// The payoffs.
    #[must_use]
    pub fn payoffs(&self) -> &MatrixGame {
        &self.payoffs
    }

    /// What entry `i` of `x` stands for.
    #[must_use]
    pub fn x_name(&self, i: usize) -> String {
        self.names[0].get(i).cloned().unwrap_or_else(|| i.to_string())
    }

    /// What entry `j` of `y` stands for.
    #[must_use]
    pub fn y_name(&self, j: usize) -> String {
        self.names[1].get(j).cloned().unwrap_or_else(|| j.to_string())
    }

    /// The method that suits it: restarted steps where both sets project, and otherwise corrective steps on both, the double oracle.
    #[must_use]
    pub fn method(&self) -> Method {
        suited(&*self.x_set, &*self.y_set)
    }

    /// The sets of `x` and of `y`, and the payoffs.
    #[must_use]
    pub fn into_parts(self) -> (Box<dyn Domain>, Box<dyn Domain>, MatrixGame) {
        (self.x_set, self.y_set, self.payoffs)
    }

    /// The solve with the method that suits it, to be refined.
    #[must_use]
    pub fn solver(&self) -> Solve<'_> {
        Solve::new(&self.payoffs, &*self.x_set, &*self.y_set)
            .method(self.method())
            .iterations(MOST_ITERATIONS)
    }

    /// A pair of strategies whose exploitability is at most `gap`, and the bounds of the value.
    ///
    /// # Errors
    /// As [`Solve::run`].
    pub fn solve(&self, gap: f64) -> Result<Solution> {
        self.solver().gap(gap).run()
    }
}

/// The method that suits a game on these sets.
#[must_use]
pub fn suited(x_set: &dyn Domain, y_set: &dyn Domain) -> Method {
    let project = x_set.oracle().has_prox() && y_set.oracle().has_prox();
    if project { Method::restarted() } else { CorrectiveSettings::default().into() }
}

fn check_sets(x_set: &dyn Domain, y_set: &dyn Domain, payoffs: &MatrixGame) -> Result<()> {
    check_len("strategies of x for these payoffs", payoffs.dim_x(), x_set.dim())?;
    check_len("strategies of y for these payoffs", payoffs.dim_y(), y_set.dim())
}

/// The examples of docs/games.md.
#[cfg(doctest)]
#[doc = include_str!("../../../../../docs/games.md")]
struct Page;
