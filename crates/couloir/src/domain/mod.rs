//! Sets that are cheap to minimise a linear function over.
//!
//! A [`Domain`] describes a convex compact set: its dimension, its diameter, what lies in it. The
//! work on it is done by an [`Oracle`] made from it, which owns the scratch memory (and, for large
//! nuclear balls, the warm start), so that the hot loops of a solver allocate nothing.
//!
//! | set | linear minimisation | exact prox | pairwise steps |
//! |---|---|---|---|
//! | [`Simplex`] | smallest entry | sort-free threshold | yes, O(log n) each |
//! | [`L1Ball`] | largest entry | threshold | yes, O(log n) each |
//! | [`BoxSet`] | sign | clip | one step per coordinate |
//! | [`L2Ball`] | normalise | scale | - |
//! | [`NuclearBall`] | top singular pair | singular value threshold | compressed sliding |
//! | [`Reweighting`] | selection, or a search in one dimension | a search in one or two dimensions | - |
//! | [`LoSet`] | the user's closure | - | - |
//!
//! The others slide as printed. Balls: [`LinfBall`], [`LpBall`], [`KSupportBall`], [`GroupL1Ball`], [`OrderedL1Ball`], [`Ellipsoid`].
//! Polytopes: [`Hypersimplex`], [`CappedSimplex`], [`BoxBudget`], [`SimplexBudget`], [`Permutahedron`], [`Birkhoff`], [`ConvexHull`],
//! [`Treeplex`]. Graphs: [`Paths`], [`Flows`], [`SpanningTrees`], [`Matchings`]. Matrices: [`SpectralBall`], [`Spectrahedron`],
//! [`Fantope`]. Made of other sets: [`Product`], [`Affine`]. By linear constraints, with the feature `highs`: `LinearPolytope`. [`check_set`] holds what a set says against what else it says.

mod atom;
mod balls;
mod box_set;
mod by_gram;
mod check;
mod combined;
mod graphs;
mod kinks;
mod l1_ball;
mod l2_ball;
mod lo_set;
mod matrices;
mod mixture;
mod nuclear_ball;
mod plain;
mod polytopes;
mod reweighting;
mod simplex;
mod slide;
mod sum_repair;
mod threshold;

pub use atom::Atom;
pub use balls::{Ellipsoid, GroupL1Ball, KSupportBall, LinfBall, LpBall, OrderedL1Ball};
pub use box_set::BoxSet;
pub(crate) use by_gram::mixed;
pub use by_gram::{ByGram, Factor, Products};
pub use check::{Directions, SetCheck, SetReport, check_set};
pub use combined::{Affine, Product};
pub use graphs::{Flows, Graph, Matchings, Paths, SpanningTrees};
pub use l1_ball::L1Ball;
pub use l2_ball::L2Ball;
pub use lo_set::LoSet;
pub use matrices::{Fantope, Spectrahedron, SpectralBall, TraceBound};
pub use mixture::{MixGoal, MixTask, Mixture};
pub use nuclear_ball::{LanczosSettings, NuclearBall, NuclearShape};
pub use polytopes::{
    Birkhoff, BoxBudget, CappedSimplex, ConvexHull, Hypersimplex, InformationSet, Permutahedron,
    SimplexBudget, Treeplex,
};
#[cfg(feature = "highs")]
pub use polytopes::{LinearConstraints, LinearPolytope};
pub use reweighting::Reweighting;
pub use simplex::Simplex;
pub(crate) use slide::OverAtoms;
pub use slide::{Cndg, SlideReport, SlideState, SlideTask, Sliding, cndg};

use crate::error::{Error, Result};
use crate::state::Archive;
use crate::watch::Watch;

/// On what a reported minimum rests.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Confidence {
    /// A closed form or a full decomposition: right up to rounding.
    Exact,
    /// The user's own oracle: as right as the user made it.
    AsGiven,
    /// A bound that holds except with (at most) this probability over the oracle's own random
    /// numbers. Where the problem promises nothing about its rounding, that is estimated as well.
    Probabilistic {
        /// The probability that the bound fails.
        failure: f64,
    },
    /// As `Exact`, but for the rounding in values and gradients of a problem that promises nothing about it
    /// ([`KnownRounding`](crate::problem::KnownRounding)): it is estimated, which is no proof.
    Estimated,
}

impl Confidence {
    /// What a conclusion drawn from both rests on: probabilities of failure add up, and what is only as
    /// right as the user made it stays so. A probability of failure is kept where rounding is estimated as well.
    #[must_use]
    pub fn and(self, other: Confidence) -> Confidence {
        use Confidence::{AsGiven, Estimated, Exact, Probabilistic};
        match (self, other) {
            (Exact, c) | (c, Exact) => c,
            (AsGiven, _) | (_, AsGiven) => AsGiven,
            (Probabilistic { failure: a }, Probabilistic { failure: b }) => {
                Probabilistic { failure: (a + b).min(1.0) }
            }
            (Estimated, c) | (c, Estimated) => c,
        }
    }

    /// Saves or loads it, for the state of a solver.
    ///
    /// # Errors
    /// What the archive reports.
    pub fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let (mut kind, mut failure) = match *self {
            Confidence::Exact => (0, 0.0),
            Confidence::AsGiven => (1, 0.0),
            Confidence::Probabilistic { failure } => (2, failure),
            Confidence::Estimated => (3, 0.0),
        };
        archive.count("kind", &mut kind)?;
        archive.number("failure", &mut failure)?;
        *self = match kind {
            0 => Confidence::Exact,
            1 => Confidence::AsGiven,
            3 => Confidence::Estimated,
            _ => Confidence::Probabilistic { failure },
        };
        Ok(())
    }
}

/// The answer of a linear minimisation `min over p in the set of <g, p>`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinearMin {
    /// `<g, p>` at the point returned.
    pub value: f64,
    /// A lower bound of the minimum; `value - lower` is the accuracy reached.
    pub lower: f64,
    /// On what `lower` rests.
    pub confidence: Confidence,
    /// Products of a matrix with a vector that the answer took (0 where there is no matrix).
    pub products: u64,
}

impl LinearMin {
    /// A minimum known exactly.
    #[must_use]
    pub fn exact(value: f64) -> Self {
        LinearMin { value, lower: value, confidence: Confidence::Exact, products: 0 }
    }
}

/// A convex compact set.
pub trait Domain: Send + Sync {
    /// The number of coordinates of a point.
    fn dim(&self) -> usize;

    /// The Euclidean diameter.
    fn diameter(&self) -> f64;

    /// How far `p` is outside, in the set's own measure: 0 inside (a NaN counts as infinitely far).
    fn violation(&self, p: &[f64]) -> f64;

    /// Whether `p` lies in the set up to `tol`.
    fn contains(&self, p: &[f64], tol: f64) -> bool {
        p.len() == self.dim() && self.violation(p) <= tol
    }

    /// A natural point of the set to start from: its centre, where it has one.
    fn center(&self, out: &mut [f64]);

    /// Moves a point that rounding has left outside into the set, and returns a bound of the Euclidean distance moved. A
    /// point that is inside up to two units in the last place of what bounds it keeps its bits (on a box: one that is
    /// inside), and the distance is 0.
    ///
    /// A mixture of points of the set lies in it, so the move takes the rounded mixture closer to the exact one, or at the
    /// most as far away again. Points are repaired before they are certified. A set without a repair of its own moves
    /// nothing.
    fn repair(&self, p: &mut [f64]) -> f64 {
        let _ = p;
        0.0
    }

    /// Whether [`repair`](Domain::repair) costs no more than a few passes over the point. Where it takes a decomposition, it
    /// is done once, at the end of a run.
    fn repairs_quickly(&self) -> bool {
        true
    }

    /// How far a point that [`repair`](Domain::repair) leaves as it is may still be from the set: its distance to a member,
    /// Euclidean and in the 1-norm. Certificates are charged with it, so that they hold for that member as well as for
    /// the numbers that are returned. A set without a repair of its own does not know.
    fn slack(&self) -> [f64; 2] {
        [0.0; 2]
    }

    /// Whether it is certain, for less work than a [`repair`](Domain::repair), that this point would keep its bits.
    fn needs_no_repair(&self, p: &[f64]) -> bool {
        let _ = p;
        false
    }

    /// The total of the entries, if the set is `{p >= 0, sum p = total}` and nothing else: games on two simplices can be solved exactly.
    fn simplex_total(&self) -> Option<f64> {
        None
    }

    /// What the set is, for messages: "the unit simplex in dimension 5".
    fn describe(&self) -> String;

    /// Whether the set is a polytope, or `None` if nobody knows: a set that is known by its linear minimisation alone.
    /// Methods for polytopes refuse sets that are none.
    fn is_polytope(&self) -> Option<bool> {
        None
    }

    /// What a nuclear-norm ball is, for methods that keep its points as thin factors; none for every other set.
    fn nuclear_shape(&self) -> Option<NuclearShape> {
        None
    }

    /// A working instance, with its own scratch memory.
    fn oracle(&self) -> Box<dyn Oracle + '_>;
}

/// The first `len` numbers of a scratch vector, which grows where it must.
fn room(scratch: &mut Vec<f64>, len: usize) -> &mut [f64] {
    if scratch.len() < len {
        scratch.resize(len, 0.0);
    }
    &mut scratch[..len]
}

/// The work on a set: linear minimisation, and what else the set can do.
///
/// Slices passed in must have the set's dimension; solvers check that once at the door.
pub trait Oracle: Send {
    /// Writes a minimiser `p` of `<g, p>` over the set.
    ///
    /// # Errors
    /// Numerical trouble (for instance a NaN in `g`, or an eigenvalue routine that fails).
    fn lmo(&mut self, g: &[f64], p: &mut [f64]) -> Result<LinearMin>;

    /// On what the answers of linear minimisations rest that a slide takes on its own.
    fn confidence(&self) -> Confidence {
        Confidence::AsGiven
    }

    /// A minimiser of `<g, .>` in the form that suits it, with its minimum. `scratch` has the set's dimension. By
    /// [`lmo`](Oracle::lmo), unless the set has its vertices in another form.
    ///
    /// # Errors
    /// As [`lmo`](Oracle::lmo).
    fn atom(&mut self, g: &[f64], scratch: &mut [f64]) -> Result<(Atom, LinearMin)> {
        let minimum = self.lmo(g, scratch)?;
        Ok((Atom::from_point(scratch), minimum))
    }

    /// The minimum of `<g, .>` over the set without the minimiser, for less than [`lmo`](Oracle::lmo) where the set
    /// can. `scratch` is for what it takes, and grows as needed.
    ///
    /// # Errors
    /// As [`lmo`](Oracle::lmo).
    fn support(&mut self, g: &[f64], scratch: &mut Vec<f64>) -> Result<LinearMin> {
        self.lmo(g, room(scratch, g.len()))
    }

    /// The weight `t` in `[0, 1]` that about maximises the minimum over the set of `1 - t` times one linear function and
    /// `t` times another: a concave function of `t`. By a few calls of [`lmo`](Oracle::lmo), unless the set has a cheaper
    /// way.
    ///
    /// # Errors
    /// As [`lmo`](Oracle::lmo).
    fn mix(&mut self, task: &MixTask<'_>, scratch: &mut Vec<f64>) -> Result<Mixture> {
        mixture::by_lmo(self, task, scratch)
    }

    /// Whether [`prox`](Oracle::prox) is there.
    fn has_prox(&self) -> bool {
        false
    }

    /// Writes `argmin <g, u> + beta/2 |u - q|^2`, exactly, and returns a bound (at the level of
    /// rounding) of the gap `max_u <g + beta (out - q), out - u>` that is left.
    ///
    /// # Errors
    /// [`Error::MissingOracle`] where the set has none.
    fn prox(&mut self, g: &[f64], q: &[f64], beta: f64, out: &mut [f64]) -> Result<f64> {
        let _ = (g, q, beta, out);
        Err(Error::MissingOracle {
            set: "this set".to_owned(),
            oracle: "exact prox",
            hint: "slide on it instead",
        })
    }

    /// The same work from Gram matrices alone, where the set can do that.
    fn by_gram(&mut self) -> Option<&mut dyn ByGram> {
        None
    }

    /// Whether [`away`](Oracle::away) is there (polytopes).
    fn has_away(&self) -> bool {
        false
    }

    /// Writes the vertex `a` of the smallest face that contains `u` with the largest `<g, a>`, and
    /// returns that value: the vertex to move away from.
    ///
    /// # Errors
    /// [`Error::MissingOracle`] where the set has none.
    fn away(&mut self, g: &[f64], u: &[f64], a: &mut [f64]) -> Result<f64> {
        let _ = (g, u, a);
        Err(Error::MissingOracle {
            set: "this set".to_owned(),
            oracle: "away oracle",
            hint: "away and pairwise steps need a polytope",
        })
    }

    /// The largest step `s` for which `u + s (p - a)` stays in the set.
    ///
    /// # Errors
    /// [`Error::MissingOracle`] where the set has none.
    fn max_pairwise_step(&mut self, u: &[f64], p: &[f64], a: &[f64]) -> Result<f64> {
        let _ = (u, p, a);
        Err(Error::MissingOracle {
            set: "this set".to_owned(),
            oracle: "away oracle",
            hint: "away and pairwise steps need a polytope",
        })
    }

    /// Solves `min <r, u> + beta/2 |u - q|^2` by conditional gradient steps to the gap `eta`, in
    /// the way that suits the set best (pairwise on polytopes, compressed on thin nuclear balls,
    /// else [`Sliding::Plain`], the procedure CndG as printed). The result goes to `out`.
    ///
    /// # Errors
    /// What the linear minimisation reports. Running out of budget is not an error but a state of
    /// the report.
    fn slide(&mut self, task: &SlideTask<'_>, out: &mut [f64]) -> Result<SlideReport>;

    /// Which way [`slide`](Oracle::slide) takes, for reports.
    fn sliding(&self) -> Sliding {
        Sliding::Plain
    }

    /// Hands over the watch of the run, for this block. Work of many linear minimisations or products counts on it and asks
    /// it whether it may go on; an oracle that has no such loops of its own may ignore it.
    fn attend(&mut self, watch: &Watch) {
        let _ = watch;
    }

    /// Saves or loads what the oracle remembers from call to call, such as a warm start, for checkpoints. Scratch
    /// memory is not worth it: most oracles remember nothing.
    ///
    /// # Errors
    /// What the archive reports.
    fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let _ = archive;
        Ok(())
    }
}
