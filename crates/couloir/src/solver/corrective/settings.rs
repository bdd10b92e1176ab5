//! The settings of the corrective method.

use super::one_then_both::OneThenBoth;
use super::{BothBlocks, OneBlock};
use crate::error::{Block, Error, Result};
use crate::problem::BlockConstants;
use crate::run::Algorithm;
use crate::solver::{About, MethodSettings, Start};
use crate::state::Fingerprint;

/// Settings of the corrective method.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CorrectiveSettings {
    /// The most atoms that are kept in a block. Where one more would exceed it, atoms of weight zero leave, and then the two
    /// lightest are merged into one, which leaves the point where it is.
    pub atoms: usize,
    /// Restricted problems are solved to this share of the certified gap, or better; on large nuclear balls, where they take
    /// products, to 50 times this share and at most a tenth.
    pub share: f64,
    /// Which blocks are kept as atoms.
    pub blocks: AtomBlocks,
}

/// Which blocks are combinations of atoms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum AtomBlocks {
    /// `x` alone where the problem knows its best response or `f` is strongly concave in `y` (its constant `mu` is known), else
    /// both; and both from where the restricted problems of `x` alone are not solved, as happens for small `mu`.
    #[default]
    Auto,
    /// `x` alone; `y` is the best response.
    X,
    /// Both.
    Both,
}

impl Default for CorrectiveSettings {
    fn default() -> Self {
        CorrectiveSettings { atoms: 1000, share: 1e-3, blocks: AtomBlocks::Auto }
    }
}

impl CorrectiveSettings {
    /// The most atoms in a block.
    #[must_use]
    pub fn atoms(mut self, limit: usize) -> Self {
        self.atoms = limit;
        self
    }

    /// The share of the certified gap to which restricted problems are solved.
    #[must_use]
    pub fn share(mut self, share: f64) -> Self {
        self.share = share;
        self
    }

    /// Which blocks are kept as atoms.
    #[must_use]
    pub fn blocks(mut self, blocks: AtomBlocks) -> Self {
        self.blocks = blocks;
        self
    }
}

impl MethodSettings for CorrectiveSettings {
    const ABOUT: About = About::new(
        "corrective",
        "fully corrective steps over the answers of linear minimisations, one per iteration",
    );

    fn start<'a>(&self, start: Start<'a, '_>) -> Result<Box<dyn Algorithm + 'a>> {
        self.check()?;
        let oracles = start.oracles(Self::ABOUT.needs)?;
        let constants = BlockConstants::of(start.problem)?;
        let knows_y = oracles.has_best_response()
            || constants.mu.is_some() && (oracles.has_prox(Block::Y) || constants.lyy.is_some());
        let operator = start.problem.capabilities().matrix_operator;
        let on_factors = start.x_set.nuclear_shape().zip(operator);
        match (self.blocks, on_factors) {
            (AtomBlocks::Auto | AtomBlocks::X, Some((shape, operator))) if knows_y => {
                Ok(Box::new(OneBlock::spectral(start, self, shape, operator)?))
            }
            (AtomBlocks::Auto, _) if !knows_y => Ok(Box::new(BothBlocks::new(start, self)?)),
            (AtomBlocks::Both, _) => Ok(Box::new(BothBlocks::new(start, self)?)),
            (AtomBlocks::Auto, _) => Ok(Box::new(OneThenBoth::new(start, self)?)),
            (AtomBlocks::X, _) => Ok(Box::new(OneBlock::new(start, self)?)),
        }
    }

    fn fingerprint(&self, print: &mut Fingerprint) {
        let CorrectiveSettings { atoms, share, blocks } = self;
        print.note("atoms", atoms);
        print.note("share", share);
        print.note("blocks", format!("{blocks:?}"));
    }

    fn check(&self) -> Result<()> {
        if self.atoms < 2 {
            let why = format!("must be at least 2, got {}", self.atoms);
            return Err(Error::Setting { name: "atoms", why });
        }
        if !(self.share > 0.0 && self.share <= 0.1) {
            let why = format!("must be above 0 and at most 0.1, got {}", self.share);
            return Err(Error::Setting { name: "share", why });
        }
        Ok(())
    }
}
