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
            let why = format!("there is no `{name}`; there are {}", names.join(", "));
            Error::Setting { name: Make::SETTING, why }
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
