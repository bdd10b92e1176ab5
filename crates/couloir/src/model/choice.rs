//! Losses and uncertainty sets by name.

use crate::error::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// A line of a table of things that can be chosen by name: the name, and how to make one.
#[derive(Clone, Copy)]
pub struct Choice<Make> {
    name: &'static str,
    pub(super) make: Make,
}

/// What stands in one table.
pub trait Tabled: Sized + 'static {
    /// The setting that chooses from the table, for messages.
    const SETTING: &'static str;
    /// The table. Its first line is the default.
    const TABLE: &'static [Choice<Self>];
}

impl<Make> Choice<Make> {
    pub(super) const fn new(name: &'static str, make: Make) -> Self {
        Choice { name, make }
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }
}

impl<Make: Tabled + Copy> Default for Choice<Make> {
    fn default() -> Self {
        Make::TABLE[0]
    }
}

impl<Make: Tabled + Copy> FromStr for Choice<Make> {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Make::TABLE.iter().find(|line| line.name == name).copied().ok_or_else(|| {
            let names: Vec<&str> = Make::TABLE.iter().map(|line| line.name).collect();
            Error::Setting { name: Make::SETTING, why: unknown(name, &names) }
        })
    }
}

impl<Make> PartialEq for Choice<Make> {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl<Make> fmt::Display for Choice<Make> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl<Make> fmt::Debug for Choice<Make> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// What to say of a name that is none of these.
pub(super) fn unknown(name: &str, names: &[&str]) -> String {
    let nearest = nearest(name, names).map_or(String::new(), |n| format!("nearest is {n}; "));
    format!("there is no `{name}`; {nearest}there are {}", names.join(", "))
}

/// The name that takes the fewest changed letters, if that is less than all.
fn nearest<'a>(name: &str, names: &[&'a str]) -> Option<&'a str> {
    let far = |other: &str| changes(name, other);
    let nearest = *names.iter().min_by_key(|other| far(other))?;
    (far(nearest) < name.chars().count().max(2)).then_some(nearest)
}

/// The letters to insert, leave out or change to come from one name to the other (Levenshtein).
fn changes(from: &str, to: &str) -> usize {
    // names are short, and a longer text is near to none of them
    let from: Vec<char> = from.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=from.len()).collect();
    for (j, letter) in to.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = j + 1;
        for (i, other) in from.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *other);
            diagonal = row[i + 1];
            row[i + 1] = changed.min(row[i] + 1).min(diagonal + 1);
        }
    }
    row[from.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_takes_the_fewest_changes() {
        let names = ["chi2", "kl", "chi2-ball", "group"];
        for (name, expected) in [
            ("chi", Some("chi2")),
            ("CHI2-ball", Some("chi2-ball")),
            ("groups", Some("group")),
            ("k1", Some("kl")),
            ("", None),
            ("xx", None),
        ] {
            assert_eq!(nearest(name, &names), expected, "{name}");
        }
        assert_eq!(
            (changes("kitten", "sitting"), changes("", "abc"), changes("a", "a")),
            (3, 3, 0)
        );
    }
}
