//! The problem and its two sets as a solver sees them: every call is counted, everything that comes
//! back is checked.

mod batches;
mod consistency;
mod function;
mod ledger;
mod rounding;
mod sets;
mod spectral;

pub(crate) use consistency::{Bend, FirstOrder, check_minimum, check_order};
pub use ledger::{Counter, Ledger, OracleCounts};

use crate::domain::{Confidence, Domain, Oracle, OverAtoms, Sliding};
use crate::error::{Block, Error, Result, check_finite, check_len};
use crate::linalg::norm;
use crate::problem::{ImageSpace, LocalImages, PointX, SaddleProblem, WithFallbacks};
use crate::random::Population;
use crate::state::Archive;
use crate::watch::Watch;
use rounding::Seen;

/// Which account a call is charged to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Account {
    /// The method's own work.
    Method,
    /// Work done only to certify.
    Certificate,
}

/// A problem of the caller, or one that was made for a part of a run (a batch).
pub(crate) enum MaybeOwned<'a> {
    Borrowed(&'a dyn SaddleProblem),
    Owned(Box<dyn SaddleProblem + 'a>),
}

impl<'a> std::ops::Deref for MaybeOwned<'a> {
    type Target = dyn SaddleProblem + 'a;

    fn deref(&self) -> &Self::Target {
        match self {
            MaybeOwned::Borrowed(problem) => *problem,
            MaybeOwned::Owned(problem) => &**problem,
        }
    }
}

/// The problem and its two sets as a solver sees them: every call is counted in the [`Ledger`], and everything that comes
/// back is checked. Calls are charged to the method, and inside of [`certifying`](Self::certifying) to the certificate.
pub struct Oracles<'a> {
    pub(crate) problem: MaybeOwned<'a>,
    /// The same with its capabilities, which are asked for once. An owned problem cannot be borrowed from beside itself:
    /// it is asked at every call.
    borrowed: Option<WithFallbacks<'a>>,
    has_operator: bool,
    has_best_response: bool,
    population: Option<Population>,
    pub(crate) x_set: &'a dyn Domain,
    pub(crate) y_set: &'a dyn Domain,
    pub(crate) ledger: Ledger,
    pub(crate) account: Account,
    x: Box<dyn Oracle + 'a>,
    y: Box<dyn Oracle + 'a>,
    grad_image: Vec<f64>,
    /// The diameters of X and Y.
    pub(crate) diameters: [f64; 2],
    /// Bounds of the length of a point of X and of Y.
    farthest: [f64; 2],
    /// How far repaired points may be from X, Euclidean, and from Y, in the 1-norm.
    slack: [f64; 2],
    /// The longest image so far, where images are other than the points themselves.
    longest_image: f64,
    /// What rounding is taken to make of plain sums.
    plain_rounding: f64,
    /// What was seen of the gradients of a problem that promises nothing about their rounding.
    seen: Option<Seen>,
    /// On what all answers so far rest.
    confidence: Confidence,
    /// The watch of the run, for x and for y.
    watches: [Watch; 2],
}

impl<'a> Oracles<'a> {
    /// Checks once that the problem and its sets fit together.
    ///
    /// # Errors
    /// Dimensions that disagree.
    pub fn new(
        problem: &'a dyn SaddleProblem,
        x_set: &'a dyn Domain,
        y_set: &'a dyn Domain,
    ) -> Result<Self> {
        Oracles::of(MaybeOwned::Borrowed(problem), x_set, y_set)
    }

    /// The same for a problem that may be owned.
    pub(crate) fn of(
        problem: MaybeOwned<'a>,
        x_set: &'a dyn Domain,
        y_set: &'a dyn Domain,
    ) -> Result<Self> {
        check_len("the set of x for this problem", problem.dim_x(), x_set.dim())?;
        check_len("the set of y for this problem", problem.dim_y(), y_set.dim())?;
        let borrowed = match &problem {
            MaybeOwned::Borrowed(problem) => Some(WithFallbacks::new(*problem)),
            MaybeOwned::Owned(_) => None,
        };
        let with_fallbacks = WithFallbacks::new(&*problem);
        let can = with_fallbacks.capabilities();
        let (has_operator, has_best_response) =
            (can.operator.is_some(), can.best_response.is_some());
        let population = can.sampled.map(|s| s.population());
        let grad_image = vec![0.0; with_fallbacks.image_dim()];
        let plain_rounding = with_fallbacks.plain_rounding();
        let seen = can.rounding.is_none().then(Seen::default);
        let diameters = [x_set, y_set].map(|set| 1.001 * set.diameter());
        let farthest = [x_set, y_set].map(|set| {
            // the centre of a nuclear ball is zero, and its points may be too large to be written in full
            let written = if set.nuclear_shape().is_some() { 0 } else { set.dim() };
            let mut centre = vec![0.0; written];
            if written > 0 {
                set.center(&mut centre);
            }
            norm(&centre) + 1.001 * set.diameter()
        });
        let [[slack_x, _], [_, slack_y]] = [x_set.slack(), y_set.slack()];
        let confidence = match seen {
            Some(_) => Confidence::Estimated,
            None => Confidence::Exact,
        };
        let mut oracles = Oracles {
            problem,
            borrowed,
            has_operator,
            has_best_response,
            population,
            x_set,
            y_set,
            ledger: Ledger::default(),
            account: Account::Method,
            x: x_set.oracle(),
            y: y_set.oracle(),
            grad_image,
            diameters,
            farthest,
            slack: [slack_x, slack_y],
            longest_image: 0.0,
            plain_rounding,
            seen,
            confidence,
            watches: Default::default(),
        };
        oracles.attend(&Watch::default());
        Ok(oracles)
    }

    /// Takes another problem of the same image and the same samples in place of its own: one that differs in `y` alone. Calls are
    /// counted on, and the oracles of the sets stay.
    pub(crate) fn replace_problem(&mut self, problem: MaybeOwned<'a>) {
        self.has_best_response = problem.capabilities().best_response.is_some();
        self.borrowed = match &problem {
            MaybeOwned::Borrowed(problem) => Some(WithFallbacks::new(*problem)),
            MaybeOwned::Owned(_) => None,
        };
        self.problem = problem;
    }

    /// Makes the slides on the set of this block go over the atoms of all slides before.
    pub(crate) fn slide_over_atoms(&mut self, block: Block) {
        let (set, oracle) = match block {
            Block::X => (self.x_set, &mut self.x),
            Block::Y => (self.y_set, &mut self.y),
        };
        if oracle.sliding() != Sliding::Atoms {
            *oracle = Box::new(OverAtoms::new(set.oracle(), set.dim()));
            oracle.attend(&self.watches[block as usize]);
        }
    }

    /// Takes over the atoms that slides on the same sets have found for another problem.
    pub(crate) fn keep_atoms_of(&mut self, earlier: Oracles<'a>) {
        for (own, other) in [(&mut self.x, earlier.x), (&mut self.y, earlier.y)] {
            if other.sliding() == Sliding::Atoms {
                *own = other;
            }
        }
    }

    /// Takes this watch, and hands it on to the oracles of both sets.
    pub fn attend(&mut self, watch: &Watch) {
        self.watches = [Block::X, Block::Y].map(|block| watch.on(block));
        self.x.attend(&self.watches[0]);
        self.y.attend(&self.watches[1]);
    }

    /// The watch that everything here looks at.
    pub fn watch(&self) -> &Watch {
        &self.watches[0]
    }

    /// Asks the problem for something that it may do in a way of its own.
    fn ask<T>(&self, question: impl FnOnce(&WithFallbacks<'_>) -> T) -> T {
        match &self.borrowed {
            Some(problem) => question(problem),
            None => question(&WithFallbacks::new(&*self.problem)),
        }
    }

    /// Inner products of images.
    pub fn images(&self) -> &dyn ImageSpace {
        let space = match &self.borrowed {
            Some(problem) => problem.capabilities().image_space,
            None => self.problem.capabilities().image_space,
        };
        space.unwrap_or(&LocalImages)
    }

    /// Whether the problem knows its best response in `y`.
    pub fn has_best_response(&self) -> bool {
        self.has_best_response
    }

    /// How much each row of an image counts, where rows count differently.
    pub(crate) fn image_weights(&self) -> Option<&[f64]> {
        let operator = match &self.borrowed {
            Some(problem) => problem.capabilities().operator,
            None => self.problem.capabilities().operator,
        };
        operator.and_then(|operator| operator.image_weights())
    }

    /// Whether images are other than the points themselves.
    pub(crate) fn has_operator(&self) -> bool {
        self.has_operator
    }

    /// The problem.
    #[must_use]
    pub fn problem(&self) -> &(dyn SaddleProblem + 'a) {
        &*self.problem
    }

    /// The calls so far.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    fn counts(&mut self) -> &mut OracleCounts {
        match self.account {
            Account::Method => &mut self.ledger.method,
            Account::Certificate => &mut self.ledger.certificate,
        }
    }

    /// Saves or loads the ledger and what the sets' oracles remember.
    ///
    /// # Errors
    /// What the archive reports.
    pub fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.nested("ledger", |archive| self.ledger.state(archive))?;
        archive.nested("x_set", |archive| self.x.state(archive))?;
        archive.nested("y_set", |archive| self.y.state(archive))?;
        archive.nested("confidence", |archive| self.confidence.state(archive))?;
        archive.number("longest_image", &mut self.longest_image)?;
        match &mut self.seen {
            Some(seen) => archive.nested("seen", |archive| seen.state(archive)),
            None => Ok(()),
        }
    }

    /// On what a certificate of this run rests: on every answer so far, each of which counts once.
    #[must_use]
    pub fn confidence(&self) -> Confidence {
        self.confidence
    }

    /// The strong convexity in `x` that the problem says it has.
    pub(crate) fn mu_x(&self) -> Option<f64> {
        self.problem.capabilities().constants.and_then(|known| known.mu_x())
    }

    /// Certificates rest on `mu_x`, as far as the problem has no proof of it.
    pub(crate) fn rest_on_constants(&mut self) {
        let known = self.problem.capabilities().constants.map(|known| known.confidence());
        self.rest_on(known.unwrap_or(Confidence::AsGiven));
    }

    /// Certificates rest on this too.
    pub(crate) fn rest_on(&mut self, confidence: Confidence) {
        self.confidence = self.confidence.and(confidence);
    }

    /// Saves or loads a point; what was prepared from its image is prepared again, which gives the same bits.
    ///
    /// # Errors
    /// What the archive reports.
    pub fn point_state(
        &self,
        archive: &mut Archive<'_>,
        name: &'static str,
        point: &mut PointX,
    ) -> Result<()> {
        archive.nested(name, |archive| {
            archive.numbers("x", &mut point.x)?;
            archive.numbers("image", &mut point.image)
        })?;
        if archive.is_loading() {
            self.prepare(point);
        }
        Ok(())
    }

    /// Runs `work` on the certificate's account.
    pub fn certifying<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.account, Account::Certificate);
        self.watch().certify(true);
        let result = work(self);
        self.account = before;
        self.watch().certify(before == Account::Certificate);
        result
    }

    /// Takes a point that rounding has left outside into the set of this block; returns a bound of how far it has moved. Where
    /// that takes a decomposition the point stays as it is until the end of the run.
    pub fn repair(&self, block: Block, p: &mut [f64]) -> f64 {
        if self.repairs(block) { self.set(block).repair(p) } else { 0.0 }
    }

    /// Whether points of this block are repaired before they are certified.
    pub(crate) fn repairs(&self, block: Block) -> bool {
        self.set(block).repairs_quickly()
    }

    /// The same for an `x` with its image, which moves along where it is the point itself; an image by an operator stays that of
    /// the exact mixture but for rounding. The point is to be prepared afterwards.
    pub(crate) fn repair_point(&self, point: &mut PointX) {
        if self.repair(Block::X, &mut point.x) > 0.0 && !self.has_operator {
            point.image.copy_from_slice(&point.x);
        }
    }

    /// The same for a point of which there is the image alone, and that is the point: prepared anew where it has moved.
    pub(crate) fn repair_image(&self, point: &mut PointX) {
        if !self.has_operator && self.repair(Block::X, &mut point.image) > 0.0 {
            self.prepare(point);
        }
    }

    fn set(&self, block: Block) -> &'a dyn Domain {
        match block {
            Block::X => self.x_set,
            Block::Y => self.y_set,
        }
    }

    /// Writes the user's start point, or the set's centre.
    ///
    /// # Errors
    /// A start point of the wrong length, not finite, or outside its set.
    pub fn start(&self, block: Block, given: Option<&[f64]>, out: &mut [f64]) -> Result<()> {
        let set = self.set(block);
        let Some(given) = given else {
            set.center(out);
            return Ok(());
        };
        let what = match block {
            Block::X => "the start point for x",
            Block::Y => "the start point for y",
        };
        check_len(what, set.dim(), given.len())?;
        check_finite(what, given)?;
        let violation = set.violation(given);
        let scale = given.iter().fold(set.diameter(), |m, v| m.max(v.abs()));
        let allowed = 1e-9 * scale;
        if violation > allowed {
            return Err(Error::OutsideSet { block, set: set.describe(), violation, allowed });
        }
        out.copy_from_slice(given);
        set.repair(out);
        Ok(())
    }

    /// Both start points, the one for `x` with its image.
    ///
    /// # Errors
    /// As [`start`](Self::start), and an image that is not finite.
    pub fn start_pair(
        &mut self,
        x_start: Option<&[f64]>,
        y_start: Option<&[f64]>,
    ) -> Result<(PointX, Vec<f64>)> {
        let mut x = PointX::new(&*self.problem);
        self.start(Block::X, x_start, &mut x.x)?;
        let mut y = vec![0.0; self.problem.dim_y()];
        self.start(Block::Y, y_start, &mut y)?;
        self.image(&x.x, &mut x.image)?;
        self.prepare(&mut x);
        Ok((x, y))
    }
}
