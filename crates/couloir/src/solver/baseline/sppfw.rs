//! SP-PFW: SP-FW with pairwise steps on a product of polytopes.
//!
//! As SP-AFW ([`super::spafw`], which has the running solver), but every iteration moves weight in both blocks from the
//! active vertices `v` with the largest `<F, v>` to the vertices `s` of the linear minimisations: `d = s - v`. The longest
//! step is the smaller of the weights of the two `v` (a block where `s = v` stays, and does not count).
//!
//! # Why it is linear where it is
//!
//! In the notation of [`super::spafw`]: the slope along `d` is `g_pair` itself, and `|d_b| <= D_b`, so
//!
//! ```text
//! h+ <= h - gamma (1 - q) g_pair + gamma^2 C
//! ```
//!
//! with the minimiser `gamma = nu g_pair/(2 C)`, `nu = 1 - q`. A step that is not cut has `h+ <= (1 - rho) h` with
//! `rho = nu^2 delta_mu^2/(2 C)`, by `g_pair >= delta_mu sqrt(2 h)`; a step that is cut does not increase `h`. That is better
//! than the `nu = 1/2 - q` of SP-AFW, but the steps that are cut may be many: they can swap the weight of one vertex
//! for another without making the active set smaller, and all that is proved of their number is that of `3 |A|! + 1`
//! steps in a row one is not cut, for `A` all vertices (Lacoste-Julien and Jaggi 2015, Theorem 1). The bound that the method
//! reports counts the steps that were not cut.

use super::spafw::{MOST_ATOMS, SpAfw, SpAfwStep, check_atoms};
use super::spfw::Geometry;
use crate::error::Result;
use crate::run::Algorithm;
use crate::solver::{About, MethodSettings, Need, Start};
use crate::state::Fingerprint;

/// Settings of SP-PFW.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SpPfwSettings {
    /// The step; adaptive where no rate is known.
    pub step: SpAfwStep,
    /// The most active vertices that are kept in a block, with what
    /// [`SpAfwSettings::atoms`](super::spafw::SpAfwSettings::atoms) says of it.
    pub atoms: usize,
}

impl Default for SpPfwSettings {
    fn default() -> Self {
        SpPfwSettings { step: SpAfwStep::default(), atoms: MOST_ATOMS }
    }
}

impl SpPfwSettings {
    /// The step.
    #[must_use]
    pub fn step(mut self, step: SpAfwStep) -> Self {
        self.step = step;
        self
    }

    /// The most active vertices of a block.
    #[must_use]
    pub fn atoms(mut self, limit: usize) -> Self {
        self.atoms = limit;
        self
    }
}

impl MethodSettings for SpPfwSettings {
    const ABOUT: About = About::new("sppfw", "SP-FW with pairwise steps, for polytopes")
        .needs(&[Need::Polytopes])
        .certifies_by_fw_gap();

    fn start<'a>(&self, start: Start<'a, '_>) -> Result<Box<dyn Algorithm + 'a>> {
        Ok(Box::new(SpAfw::pairwise(start, self)?))
    }

    fn fingerprint(&self, print: &mut Fingerprint) {
        let SpPfwSettings { step, atoms } = self;
        print.note("step", format!("{step:?}"));
        print.note("atoms", atoms);
    }

    fn check(&self) -> Result<()> {
        check_atoms(self.atoms)?;
        self.step.check(Geometry::Pairwise)
    }
}
