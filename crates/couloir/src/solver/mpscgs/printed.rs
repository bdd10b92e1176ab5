//! MPSCGS as printed: Algorithm 6 of the paper with its stochastic prox step (Algorithm 7), iSTORC
//! inside, and the constants of Theorem 3.

use crate::block::{Istorc, IstorcConstants, SampledFunction, Snapshot};
use crate::certificate::{Bounds, Certificate};
use crate::domain::{SlideState, SlideTask};
use crate::error::{Block, Error, Result, check_finite, check_positive};
use crate::linalg::{between, distance_squared, step_toward};
use crate::oracles::{Ledger, Oracles};
use crate::problem::{BlockConstants, PointX, Population, Sampled};
use crate::random::{Stream, Streams};
use crate::run::{Algorithm, Fact, Step};
use crate::solver::inner::{INNER_BUDGET, check_budget};
use crate::solver::mpcgs::MpcgsConstants;
use crate::solver::{About, Incumbent, MethodSettings, Need, Start};
use crate::state::{Archive, Fingerprint};
use crate::watch::Watch;

/// Settings of MPSCGS.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MpscgsSettings {
    /// `sigma`; where none is given, the problem's own, else an estimate at the start, which is reported.
    pub sigma: Option<f64>,
    /// `L` in the mean square; where none is given, the problem's own.
    pub smoothness: Option<f64>,
    /// Linear minimisations that one inner solve may spend.
    pub inner_budget: u64,
    /// The seed of the batches.
    pub seed: u64,
}

impl Default for MpscgsSettings {
    fn default() -> Self {
        MpscgsSettings { sigma: None, smoothness: None, inner_budget: INNER_BUDGET, seed: 0 }
    }
}

impl MpscgsSettings {
    /// `sigma`.
    #[must_use]
    pub fn sigma(mut self, sigma: f64) -> Self {
        self.sigma = Some(sigma);
        self
    }

    /// `L` in the mean square.
    #[must_use]
    pub fn smoothness(mut self, l: f64) -> Self {
        self.smoothness = Some(l);
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

impl MethodSettings for MpscgsSettings {
    const ABOUT: About =
        About::new("mpscgs", "MPSCGS as printed in the paper: stochastic, with its constants")
            .needs(&[Need::Batches, Need::Constants("mu, L in the mean square")])
            .certifies_by_fw_gap();

    fn start<'a>(&self, start: Start<'a, '_>) -> Result<Box<dyn Algorithm + 'a>> {
        Ok(Box::new(Mpscgs::new(start, self)?))
    }

    fn fingerprint(&self, print: &mut Fingerprint) {
        let MpscgsSettings { sigma, smoothness, inner_budget, seed } = self;
        print.note_maybe("sigma", *sigma);
        print.note_maybe("L in the mean square", *smoothness);
        print.note("inner budget", inner_budget);
        print.note("seed", seed);
    }

    fn check(&self) -> Result<()> {
        if let Some(l) = self.smoothness {
            check_positive("L in the mean square", l)?;
        }
        if let Some(sigma) = self.sigma {
            check_sigma(sigma)?;
        }
        check_budget(self.inner_budget)
    }

    fn with_seed(self, seed: u64) -> Self {
        self.seed(seed)
    }
}

fn check_sigma(sigma: f64) -> Result<()> {
    if sigma.is_finite() && sigma >= 0.0 {
        return Ok(());
    }
    Err(Error::Setting { name: "sigma", why: format!("must be zero or more, got {sigma}") })
}

/// The schedule of Theorem 3, every constant as printed. `gamma_k`, `alpha_k`, `eps_k` and `eps_cgs` are those of
/// MPCGS.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MpscgsConstants {
    /// `L`, `kappa` and `D_X`, and what they give in MPCGS.
    pub batch: MpcgsConstants,
    /// `sigma`.
    pub sigma: f64,
}

impl MpscgsConstants {
    /// `zeta_k = L D_X^2/(576 k (k+1))`.
    #[must_use]
    pub fn zeta(&self, k: u64) -> f64 {
        let k = k as f64;
        self.batch.l * self.batch.diameter.powi(2) / (576.0 * k * (k + 1.0))
    }

    /// `P_k = ceil(96 sigma^2 (k+1)^3/(kappa L^2 D_X^2))`, at least 1.
    #[must_use]
    pub fn samples(&self, k: u64) -> u64 {
        let MpcgsConstants { l, kappa, diameter } = self.batch;
        let p =
            96.0 * self.sigma.powi(2) * (k as f64 + 1.0).powi(3) / (kappa * (l * diameter).powi(2));
        p.ceil().max(1.0) as u64
    }

    /// `eps_mp = 8 gamma^2 (4 kappa L eps_cgs/alpha^2 + 2 zeta/alpha + 2 sigma^2/(P alpha^2))`.
    #[must_use]
    pub fn eps_mp(&self, k: u64) -> f64 {
        let c = &self.batch;
        let alpha = c.alpha(k);
        let noise = 2.0 * self.sigma.powi(2) / (self.samples(k) as f64 * alpha.powi(2));
        8.0 * c.gamma(k).powi(2)
            * (4.0 * c.kappa * c.l * c.eps_cgs(k) / alpha.powi(2)
                + 2.0 * self.zeta(k) / alpha
                + noise)
    }

    /// `R = ceil(log2(4 D_X^2/eps_mp))`, at least 1.
    #[must_use]
    pub fn rounds(&self, k: u64) -> u64 {
        ((4.0 * self.batch.diameter.powi(2) / self.eps_mp(k)).log2().ceil()).max(1.0) as u64
    }

    /// Theorem 3: `E gap <= 12 kappa L D_X^2/((k+1)(k+2))` (tested, not proved: docs/theory.md).
    #[must_use]
    pub fn bound(&self, k: u64) -> f64 {
        let MpcgsConstants { l, kappa, diameter } = self.batch;
        let k = k as f64;
        12.0 * kappa * l * diameter.powi(2) / ((k + 1.0) * (k + 2.0))
    }
}

/// MPSCGS, running.
pub struct Mpscgs<'a> {
    oracles: Oracles<'a>,
    constants: MpscgsConstants,
    sigma_is_estimate: bool,
    istorc: Istorc,
    x_batches: Stream,
    y_batches: Stream,
    inner_budget: u64,
    k: u64,
    /// `x_{k-1}`, then `x_k`; the image is up to date after an evaluation only.
    x: PointX,
    x_r: Vec<f64>,
    z: Vec<f64>,
    v: Vec<f64>,
    v_r: Vec<f64>,
    y: Vec<f64>,
    y_r: Vec<f64>,
    y_bar: Vec<f64>,
    gradient: Vec<f64>,
    batch: Vec<u64>,
    best: Incumbent,
}

/// Single samples from which `sigma` is estimated.
const SIGMA_SAMPLES: u64 = 256;

impl<'a> Mpscgs<'a> {
    /// MPSCGS at its start point.
    ///
    /// # Errors
    /// Dimensions that disagree, a problem that is no mean, a constant that is missing, a start point
    /// outside its set.
    pub fn new(start: Start<'a, '_>, settings: &MpscgsSettings) -> Result<Self> {
        let who = "the printed schedule of MPSCGS";
        settings.check()?;
        let (x_diameter, y_diameter) = (start.x_set.diameter(), start.y_set.diameter());
        check_positive("the diameter of X", x_diameter)?;
        check_positive("the diameter of Y", y_diameter)?;
        let mut oracles = start.oracles(MpscgsSettings::ABOUT.needs)?;
        let mut x = PointX::new(start.problem);
        oracles.start(Block::X, start.x0, &mut x.x)?;
        let mut y = vec![0.0; start.problem.dim_y()];
        oracles.start(Block::Y, start.y0, &mut y)?;

        let mu = BlockConstants::of(start.problem)?.need_mu(who)?;
        oracles.sampled()?;
        let known = start.problem.capabilities().sampled_constants;
        let l = match settings.smoothness.or(known.and_then(|k| k.mean_smoothness())) {
            Some(l) => l,
            None => {
                return Err(Error::MissingConstant {
                    name: "L (in the mean square)",
                    needed_by: who,
                    hint: "give it in the settings or in `mean_smoothness()`, or use `batched`",
                });
            }
        };
        check_positive("L in the mean square", l)?;
        let streams = Streams::new(settings.seed);
        let given = settings.sigma.or(known.and_then(|k| k.sigma()));
        let sigma = match given {
            Some(sigma) => sigma,
            None => estimate_sigma(&mut oracles, &mut streams.stream("sigma"), &x.x, &y)?,
        };
        check_sigma(sigma)?;
        let batch = MpcgsConstants { l, kappa: l / mu, diameter: x_diameter };
        let inner =
            IstorcConstants { smoothness: l, strong_convexity: mu, diameter: y_diameter, sigma };
        Ok(Mpscgs {
            constants: MpscgsConstants { batch, sigma },
            sigma_is_estimate: given.is_none(),
            istorc: Istorc::new(y.len(), inner, Snapshot::Sampled),
            x_batches: streams.stream("batches of x"),
            y_batches: streams.stream("batches of y"),
            inner_budget: settings.inner_budget,
            k: 0,
            x_r: x.x.clone(),
            z: x.x.clone(),
            v: x.x.clone(),
            v_r: x.x.clone(),
            y_r: y.clone(),
            y_bar: y.clone(),
            gradient: vec![0.0; x.x.len()],
            batch: Vec::new(),
            best: Incumbent::new(&x.x, &y),
            x,
            y,
            oracles,
        })
    }
}

impl Algorithm for Mpscgs<'_> {
    fn name(&self) -> &'static str {
        MpscgsSettings::ABOUT.name
    }

    fn step(&mut self) -> Result<Step> {
        let k = self.k + 1;
        let c = self.constants;
        let (gamma, alpha, zeta) = (c.batch.gamma(k), c.batch.alpha(k), c.zeta(k));
        between(gamma, &self.x.x, &self.v, &mut self.z);

        // P_k samples, drawn once and used in every round
        let population = self.oracles.sampled()?.population();
        self.x_batches.batch(population, c.samples(k), &mut self.batch)?;

        // Stochastic-Prox-step
        let y_rounds = self.istorc.constants().rounds_to(c.batch.eps_cgs(k));
        self.x_r.copy_from_slice(&self.x.x);
        for _ in 1..=c.rounds(k) {
            self.y_r.copy_from_slice(&self.y);
            let (sampled, oracle, counts) = self.oracles.split_y_sampled()?;
            let mut h = NegatedBatches { sampled, x: &self.x_r };
            let report = self.istorc.minimise(
                &mut h,
                oracle,
                &mut self.y_batches,
                y_rounds,
                self.inner_budget,
                &mut self.y_r,
            )?;
            counts.lo_y += report.lo_calls;
            counts.operator_products += report.products;
            self.oracles.count_components(report.component_grads);
            if report.state == SlideState::OutOfBudget {
                return Ok(Step::InnerBudget(Block::Y));
            }

            self.oracles.batch_grad_x(&self.batch, &self.z, &self.y_r, &mut self.gradient)?;
            let task = SlideTask {
                r: &self.gradient,
                q: &self.v,
                beta: alpha,
                eta: zeta,
                budget: self.inner_budget,
            };
            let slide = self.oracles.slide(Block::X, &task, &mut self.v_r)?;
            if slide.state == SlideState::OutOfBudget {
                return Ok(Step::InnerBudget(Block::X));
            }
            between(gamma, &self.x.x, &self.v_r, &mut self.x_r);
        }
        std::mem::swap(&mut self.x.x, &mut self.x_r);
        std::mem::swap(&mut self.y, &mut self.y_r);
        std::mem::swap(&mut self.v, &mut self.v_r);
        step_toward(gamma, &self.y, &mut self.y_bar);
        self.k = k;
        Ok(Step::Advanced)
    }

    fn evaluate(&mut self) -> Result<()> {
        let x = &mut self.x;
        self.oracles.certifying(|o| o.image(&x.x, &mut x.image))?;
        self.oracles.prepare(x);
        self.best.consider(&mut self.oracles, x, &self.y_bar)
    }

    fn certificate(&self) -> &Certificate {
        &self.best.certificate
    }

    fn best(&self) -> (&[f64], &[f64]) {
        (&self.best.x, &self.best.y)
    }

    fn current(&self) -> (&[f64], &[f64]) {
        (&self.x.x, &self.y_bar)
    }

    fn iterations(&self) -> u64 {
        self.k
    }

    fn bounds(&self) -> Bounds {
        if self.k == 0 {
            return Bounds::NONE;
        }
        Bounds { schedule: self.constants.bound(self.k), ..Bounds::NONE }
    }

    fn ledger(&self) -> &Ledger {
        &self.oracles.ledger
    }

    fn watch(&self) -> &Watch {
        self.oracles.watch()
    }

    fn facts(&self) -> Vec<Fact> {
        let name = if self.sigma_is_estimate { "sigma (estimated)" } else { "sigma" };
        vec![Fact { name, value: self.constants.sigma }]
    }

    /// The image of `x` is up to date after an evaluation only, and then of no more use.
    fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.nested("oracles", |archive| self.oracles.state(archive))?;
        archive.nested("x_batches", |archive| self.x_batches.state(archive))?;
        archive.nested("y_batches", |archive| self.y_batches.state(archive))?;
        archive.count("k", &mut self.k)?;
        archive.numbers("x", &mut self.x.x)?;
        archive.numbers("v", &mut self.v)?;
        archive.numbers("y", &mut self.y)?;
        archive.numbers("y_bar", &mut self.y_bar)?;
        archive.nested("best", |archive| self.best.state(archive))
    }
}

/// `-f(x, .)` at a fixed `x` as a mean of functions, for [`Istorc`].
pub struct NegatedBatches<'a> {
    /// The problem's batches.
    pub sampled: &'a dyn Sampled,
    /// The fixed `x`.
    pub x: &'a [f64],
}

impl SampledFunction for NegatedBatches<'_> {
    fn population(&self) -> Population {
        self.sampled.population()
    }

    fn batch_gradient(&mut self, batch: &[u64], w: &[f64], out: &mut [f64]) -> Result<()> {
        self.sampled.batch_grad_y(batch, self.x, w, out);
        out.iter_mut().for_each(|g| *g = -*g);
        check_finite("grad_y of a batch", out)
    }
}

/// The standard deviation of the joint gradient at a point, from single samples.
fn estimate_sigma(
    oracles: &mut Oracles<'_>,
    stream: &mut Stream,
    x: &[f64],
    y: &[f64],
) -> Result<f64> {
    let mut batch = Vec::new();
    stream.batch(oracles.sampled()?.population(), SIGMA_SAMPLES, &mut batch)?;
    let (mut mean_x, mut mean_y) = (vec![0.0; x.len()], vec![0.0; y.len()]);
    let (mut one_x, mut one_y) = (mean_x.clone(), mean_y.clone());
    oracles.batch_grad_x(&batch, x, y, &mut mean_x)?;
    oracles.batch_grad_y(&batch, x, y, &mut mean_y)?;
    let mut sum = 0.0;
    for sample in batch.chunks(1) {
        oracles.batch_grad_x(sample, x, y, &mut one_x)?;
        oracles.batch_grad_y(sample, x, y, &mut one_y)?;
        sum += distance_squared(&one_x, &mean_x) + distance_squared(&one_y, &mean_y);
    }
    Ok((sum / (batch.len() as f64 - 1.0).max(1.0)).sqrt())
}
