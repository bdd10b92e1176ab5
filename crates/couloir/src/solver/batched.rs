//! Progressive batching: certified MPCGS on a batch, and a larger batch once the present one has given
//! what it can.
//!
//! ```text
//! draw a batch of b samples
//! repeat
//!     run certified MPCGS on the mean over the batch, from the present x and y, until the gap on the
//!     batch is half of what it was when the batch was new
//!     certify the pair on the whole problem; draw a batch `growth` (2) times as large
//! until the batch is the whole sum, on which certified MPCGS then runs on
//! ```
//!
//! The gap of the present pair on a new batch is a measurement of the last batch's sampling error: a
//! pair that solves the old batch is off on the new one by just that. So the batch grows when the
//! measured error says so, not by worst-case constants. All gradients of an iteration use the same
//! batch, in x and in y, so there is no noise within an iteration and `Lhat` is found by backtracking on
//! the batch. On a finite sum the last batch is the whole and the guarantee is that of certified
//! MPCGS; on an expectation there is none (docs/theory.md).

use super::inner::{INNER_BUDGET, check_budget};
use super::mpcgs::{Certified, CertifiedSettings};
use super::{About, Footprint, Incumbent, Inner, MethodSettings, Need, Start};
use crate::certificate::{Bounds, Certificate};
use crate::error::{Block, Error, Result};
use crate::oracles::{Ledger, MaybeOwned, OracleCounts, Oracles};
use crate::problem::{BatchProblem, PointX, Population, SaddleProblem};
use crate::random::{Stream, Streams};
use crate::run::{Algorithm, Fact, Step};
use crate::state::{Archive, Fingerprint};
use crate::watch::Watch;

/// Settings of progressive batching.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BatchedSettings {
    /// Samples in the first batch.
    pub first_batch: u64,
    /// How much larger the next batch is (at least 2).
    pub growth: u64,
    /// The most samples in a batch of an expectation; batches of a finite sum grow to the whole.
    pub largest_batch: u64,
    /// How inner problems are solved.
    pub inner: Inner,
    /// Linear minimisations that one inner solve may spend.
    pub inner_budget: u64,
    /// The seed of the batches.
    pub seed: u64,
}

impl Default for BatchedSettings {
    fn default() -> Self {
        BatchedSettings {
            first_batch: 256,
            growth: 2,
            largest_batch: 1 << 24,
            inner: Inner::Auto,
            inner_budget: INNER_BUDGET,
            seed: 0,
        }
    }
}

impl BatchedSettings {
    /// Samples in the first batch.
    #[must_use]
    pub fn first_batch(mut self, samples: u64) -> Self {
        self.first_batch = samples;
        self
    }

    /// How much larger the next batch is.
    #[must_use]
    pub fn growth(mut self, factor: u64) -> Self {
        self.growth = factor;
        self
    }

    /// The most samples in a batch of an expectation.
    #[must_use]
    pub fn largest_batch(mut self, samples: u64) -> Self {
        self.largest_batch = samples;
        self
    }

    /// How inner problems are solved.
    #[must_use]
    pub fn inner(mut self, inner: Inner) -> Self {
        self.inner = inner;
        self
    }

    /// Linear minimisations that one inner solve may spend.
    #[must_use]
    pub fn inner_budget(mut self, calls: u64) -> Self {
        self.inner_budget = calls;
        self
    }

    /// The seed of the batches.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }
}

impl MethodSettings for BatchedSettings {
    const ABOUT: About = About::new(
        "batched",
        "Certified MPCGS on growing batches of samples (progressive batching)",
    )
    .needs(&[Need::Batches]);

    fn start<'a>(&self, start: Start<'a, '_>) -> Result<Box<dyn Algorithm + 'a>> {
        Ok(Box::new(Batched::new(start, self)?))
    }

    fn fingerprint(&self, print: &mut Fingerprint) {
        let BatchedSettings { first_batch, growth, largest_batch, inner, inner_budget, seed } =
            self;
        print.note("first batch", first_batch);
        print.note("growth of batches", growth);
        print.note("largest batch", largest_batch);
        print.note("inner solve", inner);
        print.note("inner budget", inner_budget);
        print.note("seed", seed);
    }

    fn check(&self) -> Result<()> {
        let BatchedSettings { first_batch, growth, largest_batch, .. } = *self;
        if growth < 2 || first_batch == 0 || largest_batch < first_batch {
            let why = format!(
                "growth must be at least 2 and the first batch from 1 to the largest, got {growth}, {first_batch} \
                 and {largest_batch}"
            );
            return Err(Error::Setting { name: "batches", why });
        }
        check_budget(self.inner_budget)
    }

    fn with_seed(self, seed: u64) -> Self {
        self.seed(seed)
    }

    fn with_inner(self, inner: Inner) -> Option<Self> {
        Some(self.inner(inner))
    }

    fn footprint(&self) -> Footprint {
        Footprint { points: 29, images: 26, copies_data: true, ..Footprint::default() }
    }
}

/// The share of its first gap at which a batch has given what it can. This and the growth of 2 were the
/// best of a dozen settings on one data set of `benches/million_rows.rs`, which shows others too.
const REDUCTION: f64 = 0.5;
/// Iterations on one batch at the most: where the gap on it will not fall, a larger one may help.
const MOST_ITERATIONS: u64 = 50;

/// Progressive batching, running.
pub struct Batched<'a> {
    problem: &'a dyn SaddleProblem,
    /// The whole problem, for certificates.
    whole: Oracles<'a>,
    settings: BatchedSettings,
    batches: Stream,
    /// Words of the stream drawn before the present batch.
    drawn_before: u64,
    stage: Stage<'a>,
    /// Oracle calls of the stages that are over.
    spent: Ledger,
    ledger: Ledger,
    iterations: u64,
    /// Whether the present pair is yet to be certified on the whole.
    uncertified: bool,
    point: PointX,
    y: Vec<f64>,
    best: Incumbent,
}

/// One batch and the solver on it.
struct Stage<'a> {
    solver: Certified<'a>,
    size: u64,
    is_whole: bool,
    /// The gap on the batch when it was new.
    first_gap: f64,
}

impl<'a> Batched<'a> {
    /// Progressive batching at its start point.
    ///
    /// # Errors
    /// Dimensions that disagree, a problem that is no mean, an oracle that an inner solve lacks, a
    /// start point outside its set.
    pub fn new(start: Start<'a, '_>, settings: &BatchedSettings) -> Result<Self> {
        settings.check()?;
        let problem = start.problem;
        let whole = start.oracles(BatchedSettings::ABOUT.needs)?;
        let mut point = PointX::new(problem);
        whole.start(Block::X, start.x0, &mut point.x)?;
        let mut y = vec![0.0; problem.dim_y()];
        whole.start(Block::Y, start.y0, &mut y)?;
        let mut batches = Streams::new(settings.seed).stream("batches");
        let (held, size, is_whole) = draw(problem, &mut batches, settings.first_batch)?;
        let inner =
            CertifiedSettings::default().inner(settings.inner).inner_budget(settings.inner_budget);
        let mut solver = Certified::of(held, start.at(Some(&point.x), Some(&y)), &inner)?;
        solver.attend(whole.watch());
        let first_gap = solver.certificate().gap;
        let stage = Stage { solver, size, is_whole, first_gap };
        let best = Incumbent::new(&point.x, &y);
        let mut solver = Batched {
            problem,
            whole,
            settings: settings.clone(),
            batches,
            drawn_before: 0,
            stage,
            spent: Ledger::default(),
            ledger: Ledger::default(),
            iterations: 0,
            uncertified: true,
            point,
            y,
            best,
        };
        solver.count();
        Ok(solver)
    }

    /// Moves on to a larger batch.
    fn grow(&mut self) -> Result<()> {
        self.stage.solver.form_vectors()?;
        self.spent = self.spent_on_batches();
        let mut wanted = self.stage.size.saturating_mul(self.settings.growth);
        if self.whole.sampled()?.population() == Population::Infinite {
            wanted = wanted.min(self.settings.largest_batch);
        }
        self.drawn_before = self.batches.drawn();
        let (held, size, is_whole) = draw(self.problem, &mut self.batches, wanted)?;
        let solver = &mut self.stage.solver;
        solver.move_to(held, self.settings.inner)?;
        let first_gap = solver.certificate().gap;
        (self.stage.size, self.stage.is_whole) = (size, is_whole);
        self.stage.first_gap = first_gap;
        self.uncertified = true;
        self.count();
        Ok(())
    }

    /// What earlier stages spent, and this one. A gradient on a batch is as many component gradients as
    /// the batch has samples.
    fn spent_on_batches(&self) -> Ledger {
        let population = self.problem.capabilities().sampled.map(|s| s.population());
        let share = match population {
            Some(Population::Finite(n)) => self.stage.size as f64 / n as f64,
            _ => 0.0,
        };
        let convert = |mut counts: OracleCounts| {
            counts.component_grads = self.stage.size * (counts.grad_x + counts.grad_y);
            counts.passes *= share;
            if !self.stage.is_whole {
                (counts.grad_x, counts.grad_y) = (0, 0);
            }
            counts
        };
        let now = self.stage.solver.ledger();
        Ledger {
            method: self.spent.method + convert(now.method),
            certificate: self.spent.certificate + convert(now.certificate),
        }
    }

    /// Brings the ledger up to date.
    fn count(&mut self) {
        self.ledger = self.spent_on_batches();
        self.ledger.certificate = self.ledger.certificate + self.whole.ledger.certificate;
    }
}

impl Stage<'_> {
    /// Whether the batch has given what it can.
    fn is_spent(&self) -> bool {
        !self.is_whole
            && (self.solver.certificate().gap <= REDUCTION * self.first_gap
                || self.solver.iterations() >= MOST_ITERATIONS)
    }
}

/// The mean over a new batch of the size wanted, in the problem's own way where it has one; its size;
/// whether it is the whole problem.
fn draw<'a>(
    problem: &'a dyn SaddleProblem,
    batches: &mut Stream,
    wanted: u64,
) -> Result<(MaybeOwned<'a>, u64, bool)> {
    let capabilities = problem.capabilities();
    let Some(sampled) = capabilities.sampled else {
        return Err(Error::MissingOracle {
            set: "the problem".to_owned(),
            oracle: "batches (its capability `sampled` is missing)",
            hint: "use a method for whole gradients, for instance `certified`",
        });
    };
    match sampled.population() {
        Population::Finite(n) if wanted >= n => {
            return Ok((MaybeOwned::Borrowed(problem), n, true));
        }
        _ => {}
    }
    let mut batch = Vec::new();
    batches.batch(sampled.population(), wanted, &mut batch)?;
    let held = match capabilities.restriction.and_then(|r| r.restrict(&batch)) {
        Some(restricted) => MaybeOwned::Owned(restricted),
        None => match BatchProblem::new(problem, batch) {
            Some(restricted) => MaybeOwned::Owned(Box::new(restricted)),
            None => MaybeOwned::Borrowed(problem),
        },
    };
    Ok((held, wanted, false))
}

impl Algorithm for Batched<'_> {
    fn name(&self) -> &'static str {
        BatchedSettings::ABOUT.name
    }

    fn step(&mut self) -> Result<Step> {
        if self.stage.is_spent() {
            self.grow()?;
        }
        let step = self.stage.solver.step()?;
        self.iterations += 1;
        self.count();
        // a batch that is solved to the last bit has given what it can
        match step {
            Step::NoProgress if !self.stage.is_whole => {
                self.stage.first_gap = f64::INFINITY;
                Ok(Step::Advanced)
            }
            step => Ok(step),
        }
    }

    fn evaluate(&mut self) -> Result<()> {
        if self.stage.is_whole && !self.uncertified {
            return Ok(());
        }
        // twice for each batch: after its first iteration, and when it is spent
        if self.uncertified || self.stage.is_spent() {
            let (x, y) = self.stage.solver.best();
            self.point.x.copy_from_slice(x);
            self.y.copy_from_slice(y);
            let point = &mut self.point;
            self.whole.certifying(|o| o.image(&point.x, &mut point.image))?;
            self.whole.prepare(point);
            if self.whole.has_best_response() {
                // y answers the batch; what answers the whole certifies x better
                self.whole.certifying(|o| o.best_response(point, &mut self.y))?;
            }
            self.best.consider(&mut self.whole, point, &self.y)?;
            self.uncertified = false;
            self.count();
        }
        Ok(())
    }

    fn certificate(&self) -> &Certificate {
        let on_whole = self.stage.solver.certificate();
        if self.stage.is_whole && on_whole.gap < self.best.certificate.gap {
            on_whole
        } else {
            &self.best.certificate
        }
    }

    fn best(&self) -> (&[f64], &[f64]) {
        let on_whole = self.stage.solver.certificate();
        if self.stage.is_whole && on_whole.gap < self.best.certificate.gap {
            self.stage.solver.best()
        } else {
            (&self.best.x, &self.best.y)
        }
    }

    fn current(&self) -> (&[f64], &[f64]) {
        self.stage.solver.current()
    }

    fn iterations(&self) -> u64 {
        self.iterations
    }

    fn bounds(&self) -> Bounds {
        if self.stage.is_whole { self.stage.solver.bounds() } else { Bounds::NONE }
    }

    fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    fn watch(&self) -> &Watch {
        self.whole.watch()
    }

    fn facts(&self) -> Vec<Fact> {
        vec![
            Fact { name: "batch size", value: self.stage.size as f64 },
            Fact { name: "Lhat", value: self.stage.solver.lhat() },
        ]
    }

    /// Of a batch only its size and where its draw began are kept: it is drawn again.
    fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.nested("whole", |archive| self.whole.state(archive))?;
        archive.count("drawn_before", &mut self.drawn_before)?;
        archive.count("batch_size", &mut self.stage.size)?;
        if archive.is_loading() {
            if self.whole.sampled()?.population() == Population::Infinite {
                self.stage.size = self.stage.size.min(self.settings.largest_batch);
            }
            self.batches.move_to(self.drawn_before);
            let (held, size, is_whole) = draw(self.problem, &mut self.batches, self.stage.size)?;
            (self.stage.size, self.stage.is_whole) = (size, is_whole);
            self.stage.solver.make_room(held, self.settings.inner)?;
        }
        archive.number("first_gap", &mut self.stage.first_gap)?;
        archive.nested("stage", |archive| self.stage.solver.state(archive))?;
        archive.nested("spent", |archive| self.spent.state(archive))?;
        archive.nested("ledger", |archive| self.ledger.state(archive))?;
        archive.count("iterations", &mut self.iterations)?;
        archive.flag("uncertified", &mut self.uncertified)?;
        archive.nested("best", |archive| self.best.state(archive))
    }
}
