//! The ways to solve an inner problem on one block.

use crate::error::{Block, Error, Result};
use crate::oracles::Oracles;

/// How an inner problem on one block is solved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Inner {
    /// By the problem's best response or the set's exact prox where there is one, else by sliding.
    #[default]
    Auto,
    /// Projection-free, by conditional gradient steps, as in the paper.
    Slide,
    /// By the problem's best response or the set's exact prox.
    Exact,
}

impl Inner {
    /// Every way: the choices of the command are made from this list.
    pub const ALL: [Inner; 3] = [Inner::Auto, Inner::Slide, Inner::Exact];

    /// The name that users type.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// What it does, in one line.
    #[must_use]
    pub fn summary(self) -> &'static str {
        self.row().1
    }

    fn row(self) -> (&'static str, &'static str) {
        match self {
            Inner::Auto => {
                ("auto", "exact where the problem or the set allows it, otherwise by sliding")
            }
            Inner::Slide => ("slide", "by conditional gradient steps, which never project"),
            Inner::Exact => ("exact", "by the problem's best response or the set's exact prox"),
        }
    }
}

impl std::fmt::Display for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The way of this name.
///
/// ```
/// use couloir::Inner;
/// assert_eq!("slide".parse(), Ok(Inner::Slide));
/// assert!("fast".parse::<Inner>().is_err());
/// ```
impl std::str::FromStr for Inner {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Inner::ALL.into_iter().find(|inner| inner.name() == name).ok_or_else(|| {
            let names = Inner::ALL.map(Inner::name).join(", ");
            Error::Setting {
                name: "inner",
                why: format!("there is no `{name}`; there are {names}"),
            }
        })
    }
}

/// Linear minimisations that one inner solve may spend, unless another budget is set.
pub(super) const INNER_BUDGET: u64 = 10_000_000;

/// Fails for a budget with which no inner solve could even test its start point.
pub(super) fn check_budget(inner_budget: u64) -> Result<()> {
    if inner_budget == 0 {
        return Err(Error::Setting {
            name: "inner_budget",
            why: "must be at least 1 linear minimisation, got 0".to_owned(),
        });
    }
    Ok(())
}

/// Whether the inner problem on X is solved exactly.
pub(super) fn exact_x(oracles: &Oracles<'_>, inner: Inner) -> Result<bool> {
    match (inner, oracles.has_prox(Block::X)) {
        (Inner::Slide, _) | (Inner::Auto, false) => Ok(false),
        (_, true) => Ok(true),
        (Inner::Exact, false) => Err(Error::MissingOracle {
            set: oracles.x_set.describe(),
            oracle: "exact prox",
            hint: "use the inner solve `slide` for x",
        }),
    }
}
