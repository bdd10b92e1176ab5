//! Kuhn's and Leduc poker.

use super::{ExtensiveForm, Game, Player};
use crate::error::Result;

/// The player who acts first is `y`, so that the value of a game is what the first player gains.
const PLAYERS: [Player; 2] = [Player::Y, Player::X];

/// What both players have put into the pot, and where they are in their trees.
#[derive(Clone)]
struct Hand {
    /// The ranks of the cards, of the first and the second player.
    ranks: [usize; 2],
    /// The rank of the card on the table.
    table: Option<usize>,
    stakes: [f64; 2],
    /// The last sequence of each player.
    last: [usize; 2],
    /// All that both have seen.
    history: String,
    probability: f64,
}

impl Hand {
    fn new(ranks: [usize; 2], probability: f64) -> Self {
        let (table, history) = (None, String::new());
        Hand { ranks, table, stakes: [1.0; 2], last: [0; 2], history, probability }
    }

    /// Ends the game, with so much for the first player.
    fn end(&self, form: &mut ExtensiveForm, gain: f64) -> Result<()> {
        form.end(self.last[1], self.last[0], self.probability, gain)
    }

    /// The player who holds the better hand gets the stake of the other.
    fn show(&self, form: &mut ExtensiveForm) -> Result<()> {
        let strength = |player: usize| {
            let rank = self.ranks[player];
            if self.table == Some(rank) { 10 + rank } else { rank }
        };
        let gain = match strength(0).cmp(&strength(1)) {
            std::cmp::Ordering::Greater => self.stakes[1],
            std::cmp::Ordering::Less => -self.stakes[0],
            std::cmp::Ordering::Equal => 0.0,
        };
        self.end(form, gain)
    }
}

/// The rules of a round of bets.
struct Rules {
    /// The size of a bet in each round.
    bets: &'static [f64],
    /// How many bets and raises a round may have.
    raises: usize,
    /// The ranks of the deck, one entry for each card.
    deck: &'static [usize],
}

impl Rules {
    fn game(&self) -> Result<Game> {
        let mut form = ExtensiveForm::new();
        let cards = self.deck.len() as f64;
        for (i, first) in self.deck.iter().enumerate() {
            for (j, second) in self.deck.iter().enumerate().filter(|(j, _)| *j != i) {
                let hand = Hand::new([*first, *second], 1.0 / (cards * (cards - 1.0)));
                self.bet(&mut form, hand, [i, j], 0, 0, 0, 0)?;
            }
        }
        form.into_game()
    }

    /// `acts` is the player to act, `raised` counts the bets of this round and `passed` the players who have called or checked since.
    #[expect(clippy::too_many_arguments, reason = "the state of a round, in one recursion")]
    fn bet(
        &self,
        form: &mut ExtensiveForm,
        hand: Hand,
        cards: [usize; 2],
        round: usize,
        acts: usize,
        raised: usize,
        passed: usize,
    ) -> Result<()> {
        let other = 1 - acts;
        let owes = hand.stakes[other] - hand.stakes[acts];
        let (can_fold, can_raise) = (owes > 0.0, raised < self.raises);
        let actions = 1 + usize::from(can_fold) + usize::from(can_raise);
        let information = format!("{} {}", hand.ranks[acts], hand.history);
        let first = form.act(PLAYERS[acts], &information, hand.last[acts], actions)?;
        let after = |action: usize, letter: char| {
            let mut next = hand.clone();
            next.last[acts] = first + action;
            next.history.push(letter);
            next
        };
        let mut action = 0;
        if can_fold {
            let gain = if acts == 0 { -hand.stakes[0] } else { hand.stakes[1] };
            after(action, 'f').end(form, gain)?;
            action += 1;
        }
        let mut calls = after(action, 'c');
        calls.stakes[acts] = hand.stakes[other];
        if can_fold || passed == 1 {
            self.next_round(form, calls, cards, round)?;
        } else {
            self.bet(form, calls, cards, round, other, raised, 1)?;
        }
        if can_raise {
            let mut raises = after(action + 1, 'r');
            raises.stakes[acts] = hand.stakes[other] + self.bets[round];
            self.bet(form, raises, cards, round, other, raised + 1, 0)?;
        }
        Ok(())
    }

    fn next_round(
        &self,
        form: &mut ExtensiveForm,
        hand: Hand,
        cards: [usize; 2],
        round: usize,
    ) -> Result<()> {
        if round + 1 == self.bets.len() {
            return hand.show(form);
        }
        let left = self.deck.iter().enumerate().filter(|(k, _)| !cards.contains(k));
        for (_, rank) in left {
            let mut dealt = hand.clone();
            dealt.table = Some(*rank);
            dealt.history.push_str(&format!("/{rank}"));
            dealt.probability /= (self.deck.len() - 2) as f64;
            self.bet(form, dealt, cards, round + 1, 0, 0, 0)?;
        }
        Ok(())
    }
}

impl Game {
    /// Kuhn's poker: three cards, one round, one bet of 1. The first player is `y`, and the value is -1/18.
    ///
    /// # Errors
    /// None in practice.
    pub fn kuhn() -> Result<Self> {
        Rules { bets: &[1.0], raises: 1, deck: &[0, 1, 2] }.game()
    }

    /// Leduc poker: two suits of three ranks, two rounds with bets of 2 and 4, at most two bets in a round, and a card on the table in the
    /// second. The first player is `y`.
    ///
    /// # Errors
    /// None in practice.
    pub fn leduc() -> Result<Self> {
        Rules { bets: &[2.0, 4.0], raises: 2, deck: &[0, 0, 1, 1, 2, 2] }.game()
    }
}
