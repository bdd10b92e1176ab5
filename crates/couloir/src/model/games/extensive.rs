//! Games in extensive form.

use super::Game;
use crate::domain::{InformationSet, Treeplex};
use crate::error::{Error, Result, check_finite};
use crate::linalg::SparseMatrix;
use crate::problem::MatrixGame;
use std::collections::{BTreeMap, HashMap};

/// One of the two players.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Player {
    /// Pays, and minimises.
    X,
    /// Is paid, and maximises.
    Y,
}

/// A game tree of two players with perfect recall, as it is gone through: information sets are told as they are met, and payoffs where the
/// game ends.
///
/// ```
/// use couloir::model::games::{ExtensiveForm, Player};
/// // y hides a coin in one of two hands, and x guesses
/// let mut form = ExtensiveForm::new();
/// for hidden in 0..2 {
///     let y = form.act(Player::Y, "hides", 0, 2)? + hidden;
///     for guess in 0..2 {
///         let x = form.act(Player::X, "guesses", 0, 2)? + guess;
///         form.end(x, y, 1.0, if guess == hidden { 0.0 } else { 1.0 })?;
///     }
/// }
/// let solution = form.into_game()?.solve(1e-9)?;
/// assert!((solution.outcome.certificate.upper - 0.5).abs() < 1e-8);
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ExtensiveForm {
    sides: [Side; 2],
    payoffs: BTreeMap<(usize, usize), f64>,
}

#[derive(Clone, Debug, Default)]
struct Side {
    sets: Vec<InformationSet>,
    names: Vec<String>,
    /// The number of each information set and its first sequence.
    known: HashMap<String, (usize, usize)>,
    sequences: usize,
}

impl ExtensiveForm {
    /// A game in which nobody has acted.
    #[must_use]
    pub fn new() -> Self {
        ExtensiveForm::default()
    }

    /// A player acts, who knows `information` (all that tells this place from others for this player) and whose own last sequence is
    /// `last`, 0 for none. Returns the sequence of the first of the actions; those of the others follow.
    ///
    /// # Errors
    /// The same information with another last sequence (the player has forgotten something) or another number of actions.
    pub fn act(
        &mut self,
        player: Player,
        information: &str,
        last: usize,
        actions: usize,
    ) -> Result<usize> {
        let side = &mut self.sides[player as usize];
        if let Some((set, first)) = side.known.get(information) {
            let before = side.sets[*set];
            if before != (InformationSet { parent: last, actions }) {
                let why = format!(
                    "`{information}` was met with last sequence {} and {} actions, and now with {last} and {actions}: \
                     perfect recall needs information that tells them apart",
                    before.parent, before.actions
                );
                return Err(Error::Setting { name: "information", why });
            }
            return Ok(*first);
        }
        let first = side.sequences + 1;
        side.known.insert(information.to_owned(), (side.sets.len(), first));
        side.names.push(information.to_owned());
        side.sets.push(InformationSet { parent: last, actions });
        side.sequences += actions;
        Ok(first)
    }

    /// The game ends, after these last sequences of `x` and `y`, with this probability of all that chance did, and `x` pays `payoff` to
    /// `y`.
    ///
    /// # Errors
    /// A probability or a payoff that is not finite, or sequences that nobody has been told of.
    pub fn end(&mut self, x: usize, y: usize, probability: f64, payoff: f64) -> Result<()> {
        check_finite("probability and payoff", &[probability, payoff])?;
        for (player, sequence) in [("x", x), ("y", y)] {
            let known = self.sides[usize::from(player == "y")].sequences;
            if sequence > known {
                let why = format!("{player} has sequences 0 to {known}, got {sequence}");
                return Err(Error::Setting { name: "sequence", why });
            }
        }
        *self.payoffs.entry((x, y)).or_default() += probability * payoff;
        Ok(())
    }

    /// The game in sequence form: the strategies are treeplexes, and the payoffs are between sequences.
    ///
    /// # Errors
    /// A player without information sets.
    pub fn into_game(self) -> Result<Game> {
        let [x, y] = &self.sides;
        for (side, name) in [(x, "x"), (y, "y")] {
            if side.sets.is_empty() {
                return Err(Error::EmptySet { why: format!("{name} never acts") });
            }
        }
        let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in 0..=x.sequences {
            for ((_, column), payoff) in self.payoffs.range((row, 0)..=(row, y.sequences)) {
                columns.push(*column as u32);
                values.push(*payoff);
            }
            starts.push(columns.len());
        }
        let matrix = SparseMatrix::from_rows(y.sequences + 1, starts, columns, values)?;
        let sets = self.sides.clone().map(|side| Treeplex::new(side.sets));
        let [x_set, y_set] = sets;
        let mut game = Game::new(Box::new(x_set?), Box::new(y_set?), MatrixGame::sparse(matrix)?)?;
        game.names = self.sides.map(|side| {
            let mut names = vec!["start".to_owned()];
            for (set, name) in side.sets.iter().zip(&side.names) {
                names.extend(
                    (0..set.actions).map(|action| format!("{name}: action {}", action + 1)),
                );
            }
            names
        });
        Ok(game)
    }
}
