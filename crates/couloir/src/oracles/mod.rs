//! The problem and its two sets as a solver sees them: every call is counted, everything that comes
//! back is checked.

mod ledger;

pub use ledger::{Counter, Ledger, OracleCounts};

use crate::domain::{
    ByGram, Confidence, Domain, Factor, LinearMin, MixGoal, MixTask, Mixture, Oracle, Products,
    SlideReport, SlideTask,
};
use crate::error::{Block, Error, Result, check_finite, check_len};
use crate::linalg::between;
use crate::problem::{
    ImageSpace, LocalImages, Measured, PointX, SaddleProblem, Sampled, WithFallbacks,
};
use crate::random::Population;
use crate::state::Archive;
use crate::watch::Watch;

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
            watches: Default::default(),
        };
        oracles.attend(&Watch::default());
        Ok(oracles)
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
        archive.nested("y_set", |archive| self.y.state(archive))
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

    /// Writes the user's start point, or the set's centre.
    ///
    /// # Errors
    /// A start point of the wrong length, not finite, or outside its set.
    pub fn start(&self, block: Block, given: Option<&[f64]>, out: &mut [f64]) -> Result<()> {
        let set = match block {
            Block::X => self.x_set,
            Block::Y => self.y_set,
        };
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

    /// Writes the image `A x`.
    ///
    /// # Errors
    /// An answer that is not finite.
    pub fn image(&mut self, x: &[f64], out: &mut [f64]) -> Result<()> {
        self.watch().check()?;
        self.ask(|problem| problem.image(x, out));
        self.count_image();
        check_finite("image of x", out)
    }

    fn count_image(&mut self) {
        self.counts().images += 1;
        self.counts().passes += 1.0;
    }

    /// Has the problem prepare a point from its image.
    pub fn prepare(&self, point: &mut PointX) {
        self.ask(|problem| problem.prepare(&point.image, &mut point.cache));
    }

    /// Writes the image of a point piece by piece and computes its cache.
    pub(crate) fn prepare_filled(
        &self,
        point: &mut PointX,
        fill: impl Fn(usize, &mut [f64]) + Sync,
    ) {
        let (image, cache) = (&mut point.image, &mut point.cache);
        self.ask(|problem| problem.prepare_filled(&fill, image, cache));
    }

    /// The same for the image `x + t (v - x)`.
    pub(crate) fn prepare_between(&self, t: f64, x: &[f64], v: &[f64], point: &mut PointX) {
        self.prepare_filled(point, |start, piece| {
            let range = start..start + piece.len();
            between(t, &x[range.clone()], &v[range], piece);
        });
    }

    /// `f(x, y)`.
    ///
    /// # Errors
    /// An answer that is not finite.
    pub fn value(&mut self, at: &PointX, y: &[f64]) -> Result<f64> {
        let value = self.problem.value(at.prepared(), y);
        self.counts().value += 1;
        check_finite("value of f", &[value])?;
        Ok(value)
    }

    pub(crate) fn bend_x(
        &mut self,
        from: &PointX,
        to: &PointX,
        y: &[f64],
        slope: f64,
    ) -> Result<Measured> {
        let m = self.ask(|problem| problem.bend_x(from.prepared(), to.prepared(), y, slope));
        self.counts().value += 1;
        check_finite("bend of f in x", &[m.value, m.rounding])?;
        Ok(m)
    }

    pub(crate) fn change_y(&mut self, at: &PointX, from: &[f64], to: &[f64]) -> Result<Measured> {
        let m = self.ask(|problem| problem.change_y(at.prepared(), from, to));
        self.counts().value += 1;
        check_finite("change of f in y", &[m.value, m.rounding])?;
        Ok(m)
    }

    /// Writes the gradient in `x`.
    ///
    /// # Errors
    /// An answer that is not finite.
    pub fn grad_x(&mut self, at: &PointX, y: &[f64], out: &mut [f64]) -> Result<()> {
        let mut in_image = std::mem::take(&mut self.grad_image);
        let result = self.both_grads_x(at, y, &mut in_image, out);
        self.grad_image = in_image;
        result
    }

    /// The gradient in the image, and `A^T` of it, which is that in `x`.
    pub(crate) fn both_grads_x(
        &mut self,
        at: &PointX,
        y: &[f64],
        in_image: &mut [f64],
        out: &mut [f64],
    ) -> Result<()> {
        self.watch().check()?;
        self.problem.grad_image(at.prepared(), y, in_image);
        self.ask(|problem| problem.adjoint(in_image, out));
        self.count_grad_x();
        check_finite("grad_x", out)?;
        check_finite("gradient in the image of x", in_image)
    }

    /// The gradient in the image and `A g` for `g = A^T` of it, with `g` itself where that is asked for; returns the lengths
    /// of the two.
    pub(crate) fn seen_grads_x(
        &mut self,
        at: &PointX,
        y: &[f64],
        in_image: &mut [f64],
        (g, with_g): (&mut [f64], bool),
        image: &mut [f64],
    ) -> Result<[f64; 2]> {
        self.problem.grad_image(at.prepared(), y, in_image);
        self.ask(|problem| {
            if with_g {
                problem.adjoint(in_image, g);
                problem.image(g, image);
            } else {
                problem.normal(in_image, g, image);
            }
        });
        self.count_grad_x();
        self.count_image();
        // what is not finite in g is not in its image either, and what is not finite has no finite length
        let space = self.images();
        let lengths = [space.norm(in_image), space.norm(image)];
        if !lengths.iter().all(|l| l.is_finite()) {
            check_finite("gradient in the image of x", in_image)?;
            check_finite("image of x", image)?;
        }
        Ok(lengths)
    }

    /// `A^T s`, which counts as a gradient.
    pub(crate) fn adjoint(&mut self, s: &[f64], out: &mut [f64]) -> Result<()> {
        self.ask(|problem| problem.adjoint(s, out));
        self.count_grad_x();
        check_finite("adjoint product", out)
    }

    /// Counts a product with `A^T`.
    pub(crate) fn count_grad_x(&mut self) {
        let components = self.components();
        let counts = self.counts();
        counts.grad_x += 1;
        counts.passes += 1.0;
        counts.component_grads += components;
    }

    /// The components of a finite sum; 0 for anything else.
    fn components(&self) -> u64 {
        match self.population {
            Some(Population::Finite(n)) => n,
            _ => 0,
        }
    }

    /// Writes the gradient in `y`.
    ///
    /// # Errors
    /// An answer that is not finite.
    pub fn grad_y(&mut self, at: &PointX, y: &[f64], out: &mut [f64]) -> Result<()> {
        self.watch().check()?;
        self.problem.grad_y(at.prepared(), y, out);
        let components = self.components();
        let counts = self.counts();
        counts.grad_y += 1;
        counts.component_grads += components;
        check_finite("grad_y", out)
    }

    /// The gradient in the image alone: no operator product.
    pub(crate) fn grad_image(&mut self, at: &PointX, y: &[f64], out: &mut [f64]) -> Result<()> {
        self.problem.grad_image(at.prepared(), y, out);
        if self.has_operator {
            self.counts().grad_image += 1;
        } else {
            self.count_grad_x();
        }
        check_finite("gradient in the image of x", out)
    }

    /// Writes the maximiser of `f(x, .)`, for problems that have one in closed form; returns what it may have missed.
    ///
    /// # Errors
    /// An answer that is not finite.
    pub fn best_response(&mut self, at: &PointX, out: &mut [f64]) -> Result<f64> {
        self.watch().check()?;
        let response = self.ask(|problem| {
            let known = problem.capabilities().best_response;
            known.map(|known| known.best_response(at.prepared(), out))
        });
        let gap = response.ok_or_else(|| Error::MissingOracle {
            set: "the problem".to_owned(),
            oracle: "best response (its capability `best_response` is missing)",
            hint: "use an inner solve for y",
        })?;
        self.counts().best_response += 1;
        check_finite("best response in y", out)?;
        check_finite("accuracy of the best response in y", &[gap])?;
        Ok(gap.max(0.0))
    }

    /// Writes a minimiser of `<g, .>` over the set of this block.
    ///
    /// # Errors
    /// What the set reports.
    pub fn lmo(&mut self, block: Block, g: &[f64], p: &mut [f64]) -> Result<LinearMin> {
        self.watches[block as usize].spend(1)?;
        let answer = self.oracle(block).lmo(g, p)?;
        self.count_lo(block, 1, answer.products);
        Ok(answer)
    }

    /// The least value of `<g, .>` over X.
    pub(crate) fn support_x(&mut self, g: &[f64], scratch: &mut Vec<f64>) -> Result<LinearMin> {
        self.watch().spend(1)?;
        let answer = self.x.support(g, scratch)?;
        self.count_lo(Block::X, 1, answer.products);
        Ok(answer)
    }

    /// The best mixture of two minorants over X.
    pub(crate) fn mix_x(&mut self, task: &MixTask<'_>, scratch: &mut Vec<f64>) -> Result<Mixture> {
        self.watch().check()?;
        let answer = self.x.mix(task, scratch)?;
        self.watch().add(answer.evaluations);
        self.count_lo(Block::X, answer.evaluations, answer.products);
        Ok(answer)
    }

    /// Work on X from Gram matrices, where X can do that.
    pub(crate) fn by_gram(&mut self) -> Option<&mut dyn ByGram> {
        self.x.by_gram()
    }

    /// The prox on X as a product with a small matrix.
    pub(crate) fn prox_factor(
        &mut self,
        w: Products<'_>,
        rounding: f64,
        beta: f64,
        factor: &mut Factor,
    ) -> Result<Option<f64>> {
        let found = match self.x.by_gram() {
            Some(set) => set.prox_factor(w, rounding, beta, factor)?,
            None => None,
        };
        self.counts().prox_x += u64::from(found.is_some());
        Ok(found)
    }

    /// The least value of `<g, .>` over X from the Gram matrix of `g`: no bound where that cannot tell.
    pub(crate) fn support_by_gram(&mut self, g: Products<'_>) -> Result<LinearMin> {
        self.count_lo(Block::X, 1, 0);
        let found = match self.x.by_gram() {
            Some(set) => set.support_by_gram(g)?,
            None => None,
        };
        Ok(found.unwrap_or(LinearMin::exact(f64::NEG_INFINITY)))
    }

    /// The best mixture of two minorants over X from Gram matrices: the first alone where they cannot tell.
    pub(crate) fn mix_by_gram(
        &mut self,
        goal: &MixGoal,
        products: [Products<'_>; 3],
    ) -> Result<Mixture> {
        let found = match self.x.by_gram() {
            Some(set) => set.mix_by_gram(goal, products)?,
            None => None,
        };
        let answer = found.unwrap_or(Mixture {
            weight: 0.0,
            lower: goal.known,
            confidence: Confidence::Exact,
            evaluations: 0,
            products: 0,
        });
        self.count_lo(Block::X, answer.evaluations, answer.products);
        Ok(answer)
    }

    /// Whether the set of this block has an exact prox.
    #[must_use]
    pub fn has_prox(&self, block: Block) -> bool {
        match block {
            Block::X => self.x.has_prox(),
            Block::Y => self.y.has_prox(),
        }
    }

    /// Whether the set of this block has an away oracle: whether it is a polytope.
    pub(crate) fn has_away(&self, block: Block) -> bool {
        match block {
            Block::X => self.x.has_away(),
            Block::Y => self.y.has_away(),
        }
    }

    /// Writes `argmin <g, u> + beta/2 |u - q|^2` over the set of this block; returns the gap that is left.
    ///
    /// # Errors
    /// A set without an exact prox, and what it reports.
    pub fn prox(
        &mut self,
        block: Block,
        g: &[f64],
        q: &[f64],
        beta: f64,
        out: &mut [f64],
    ) -> Result<f64> {
        self.watch().check()?;
        let gap = self.oracle(block).prox(g, q, beta, out)?;
        match block {
            Block::X => self.counts().prox_x += 1,
            Block::Y => self.counts().prox_y += 1,
        }
        Ok(gap)
    }

    /// Solves the same problem by conditional gradient steps, to a given gap.
    ///
    /// # Errors
    /// What the set reports.
    pub fn slide(
        &mut self,
        block: Block,
        task: &SlideTask<'_>,
        out: &mut [f64],
    ) -> Result<SlideReport> {
        let watch = self.watches[block as usize].clone();
        let before = watch.count(block);
        let slide = self.oracle(block).slide(task, out);
        let seen = watch.count(block) - before;
        match &slide {
            Ok(report) => {
                // an oracle may have loops too short to look at the watch
                watch.add(report.lo_calls.saturating_sub(seen));
                self.count_lo(block, report.lo_calls, report.products);
            }
            Err(_) => self.count_lo(block, seen, 0),
        }
        slide
    }

    pub(crate) fn count_lo(&mut self, block: Block, calls: u64, products: u64) {
        let counts = self.counts();
        match block {
            Block::X => counts.lo_x += calls,
            Block::Y => counts.lo_y += calls,
        }
        counts.operator_products += products;
    }

    fn oracle(&mut self, block: Block) -> &mut (dyn Oracle + 'a) {
        match block {
            Block::X => &mut *self.x,
            Block::Y => &mut *self.y,
        }
    }

    /// The problem, the oracle of Y and the counts apart, for CGS, which calls both in turn.
    pub(crate) fn split_y(
        &mut self,
    ) -> (&(dyn SaddleProblem + 'a), &mut (dyn Oracle + 'a), &mut OracleCounts) {
        let counts = match self.account {
            Account::Method => &mut self.ledger.method,
            Account::Certificate => &mut self.ledger.certificate,
        };
        (&*self.problem, &mut *self.y, counts)
    }

    /// The same with the problem as a mean in place of the problem, for iSTORC.
    pub(crate) fn split_y_sampled(&mut self) -> Result<SampledParts<'_, 'a>> {
        let counts = match self.account {
            Account::Method => &mut self.ledger.method,
            Account::Certificate => &mut self.ledger.certificate,
        };
        Ok((sampled_of(self.borrowed.as_ref(), &self.problem)?, &mut *self.y, counts))
    }

    /// Writes the mean of `grad_x` over a batch.
    ///
    /// # Errors
    /// A problem without batches; an answer that is not finite.
    pub fn batch_grad_x(
        &mut self,
        batch: &[u64],
        x: &[f64],
        y: &[f64],
        out: &mut [f64],
    ) -> Result<()> {
        self.sampled()?.batch_grad_x(batch, x, y, out);
        self.count_components(batch.len() as u64);
        check_finite("grad_x of a batch", out)
    }

    /// Writes the mean of `grad_y` over a batch.
    ///
    /// # Errors
    /// A problem without batches; an answer that is not finite.
    pub fn batch_grad_y(
        &mut self,
        batch: &[u64],
        x: &[f64],
        y: &[f64],
        out: &mut [f64],
    ) -> Result<()> {
        self.sampled()?.batch_grad_y(batch, x, y, out);
        self.count_components(batch.len() as u64);
        check_finite("grad_y of a batch", out)
    }

    /// Counts gradients of single components, and the share of a pass that they are.
    pub(crate) fn count_components(&mut self, components: u64) {
        let population = self.population;
        let counts = self.counts();
        counts.component_grads += components;
        if let Some(Population::Finite(n)) = population {
            counts.passes += components as f64 / n as f64;
        }
    }

    /// The problem as a mean over samples.
    ///
    /// # Errors
    /// A problem that is none.
    pub fn sampled(&self) -> Result<&(dyn Sampled + '_)> {
        sampled_of(self.borrowed.as_ref(), &self.problem)
    }
}

/// A problem as a mean, the oracle of Y, the counts.
type SampledParts<'s, 'a> = (&'s dyn Sampled, &'s mut (dyn Oracle + 'a), &'s mut OracleCounts);

fn sampled_of<'s>(
    borrowed: Option<&WithFallbacks<'s>>,
    problem: &'s MaybeOwned<'_>,
) -> Result<&'s dyn Sampled> {
    let sampled = match borrowed {
        Some(problem) => problem.capabilities().sampled,
        None => problem.capabilities().sampled,
    };
    sampled.ok_or_else(|| Error::MissingOracle {
        set: "the problem".to_owned(),
        oracle: "batches (its capability `sampled` is missing)",
        hint: "ask for whole gradients instead",
    })
}
