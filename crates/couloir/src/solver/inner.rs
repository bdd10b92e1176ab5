//! The ways to solve an inner problem on one block.

use crate::error::{Block, Error, Result};
use crate::oracles::Oracles;

/// How an inner problem on one block is solved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Inner {
    /// By the problem's best response or the set's exact prox where there is one, else over atoms.
    #[default]
    Auto,
    /// Projection-free, by conditional gradient steps, as in the paper.
    Slide,
    /// Projection-free, by quadratic programs over the points that the linear minimisations of all inner problems so far
    /// have returned: far fewer of them, for a set that is expensive to minimise over. On `y` this is done where the problem has
    /// no best response and the set no exact prox.
    Atoms,
    /// By the problem's best response or the set's exact prox.
    Exact,
}

impl Inner {
    /// Every way: the choices of the command are made from this list.
    pub const ALL: [Inner; 4] = [Inner::Auto, Inner::Slide, Inner::Atoms, Inner::Exact];

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
                ("auto", "exact where the problem or the set allows it, otherwise over atoms")
            }
            Inner::Slide => ("slide", "by conditional gradient steps, which never project"),
            Inner::Atoms => (
                "atoms",
                "by quadratic programs over the points that the oracle has returned so far",
            ),
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

/// How the inner problem on X is solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InnerX {
    /// By the set's exact prox.
    Prox,
    /// By the set's own way to slide.
    Slide,
    /// By sliding over atoms.
    Atoms,
}

/// The way that this choice means for the set of x, which is made ready for it.
pub(super) fn inner_x(oracles: &mut Oracles<'_>, inner: Inner) -> Result<InnerX> {
    let way = match (inner, oracles.has_prox(Block::X)) {
        (Inner::Slide, _) => InnerX::Slide,
        (Inner::Atoms, _) | (Inner::Auto, false) => InnerX::Atoms,
        (Inner::Auto | Inner::Exact, true) => InnerX::Prox,
        (Inner::Exact, false) => {
            return Err(Error::MissingOracle {
                set: oracles.x_set.describe(),
                oracle: "exact prox",
                hint: "use the inner solve `atoms` or `slide` for x",
            });
        }
    };
    if way == InnerX::Atoms {
        oracles.slide_over_atoms(Block::X);
    }
    Ok(way)
}
