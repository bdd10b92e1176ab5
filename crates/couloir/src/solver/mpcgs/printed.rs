//! MPCGS as printed: Algorithm 3 of the paper with its prox step (Algorithm 4) and the constants of
//! Theorem 1.

use super::y_solve::YSolver;
use crate::certificate::{Bounds, Certificate};
use crate::domain::{Domain, SlideState, SlideTask};
use crate::error::{Block, Result};
use crate::linalg::{between, step_toward};
use crate::oracles::{Ledger, Oracles};
use crate::problem::{BlockConstants, Imaged, PointX, SaddleProblem};
use crate::run::{Algorithm, Step};
use crate::solver::inner::{INNER_BUDGET, InnerX, check_budget, inner_x};
use crate::solver::{About, Incumbent, Inner, MethodSettings, Need, Start};
use crate::state::{Archive, Fingerprint};
use crate::watch::Watch;

/// Settings of MPCGS as printed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MpcgsSettings {
    /// How `v` is found; the paper slides.
    pub inner_x: Inner,
    /// How `y` is found; the paper slides.
    pub inner_y: Inner,
    /// Linear minimisations that one inner solve may spend.
    pub inner_budget: u64,
}

impl Default for MpcgsSettings {
    fn default() -> Self {
        MpcgsSettings { inner_x: Inner::Slide, inner_y: Inner::Slide, inner_budget: INNER_BUDGET }
    }
}

impl MpcgsSettings {
    /// The same inner solve on both blocks.
    #[must_use]
    pub fn inner(mut self, inner: Inner) -> Self {
        (self.inner_x, self.inner_y) = (inner, inner);
        self
    }

    /// How `v` is found.
    #[must_use]
    pub fn inner_x(mut self, inner: Inner) -> Self {
        self.inner_x = inner;
        self
    }

    /// How `y` is found.
    #[must_use]
    pub fn inner_y(mut self, inner: Inner) -> Self {
        self.inner_y = inner;
        self
    }

    /// Linear minimisations that one inner solve may spend.
    #[must_use]
    pub fn inner_budget(mut self, calls: u64) -> Self {
        self.inner_budget = calls;
        self
    }
}

impl MethodSettings for MpcgsSettings {
    const ABOUT: About = About::new("mpcgs", "MPCGS as printed in the paper, with its constants")
        .needs(&[Need::Constants("Lxx, Lxy, Lyy, mu")])
        .certifies_by_fw_gap();

    fn start<'a>(&self, start: Start<'a, '_>) -> Result<Box<dyn Algorithm + 'a>> {
        Ok(Box::new(Mpcgs::new(start, self)?))
    }

    fn fingerprint(&self, print: &mut Fingerprint) {
        let MpcgsSettings { inner_x, inner_y, inner_budget } = self;
        print.note("inner solve of x", inner_x);
        print.note("inner solve of y", inner_y);
        print.note("inner budget", inner_budget);
    }

    fn check(&self) -> Result<()> {
        check_budget(self.inner_budget)
    }

    fn with_inner(self, inner: Inner) -> Option<Self> {
        Some(self.inner(inner))
    }
}

/// The schedule of Theorem 1, every constant as printed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MpcgsConstants {
    /// Smoothness of the joint gradient.
    pub l: f64,
    /// `kappa = L / mu`.
    pub kappa: f64,
    /// The diameter of X.
    pub diameter: f64,
}

impl MpcgsConstants {
    /// From the problem's block constants.
    ///
    /// # Errors
    /// A constant that is missing.
    pub fn new(problem: &dyn SaddleProblem, x_set: &dyn Domain) -> Result<Self> {
        let who = "the printed schedule of MPCGS";
        let constants = BlockConstants::of(problem)?;
        crate::error::check_positive(
            "the diameter of X, for the printed schedule,",
            x_set.diameter(),
        )?;
        let l = constants.joint_smoothness(who)?;
        let kappa = l / constants.need_mu(who)?;
        Ok(MpcgsConstants { l, kappa, diameter: x_set.diameter() })
    }

    /// `gamma_k = 3/(k+2)`.
    #[must_use]
    pub fn gamma(&self, k: u64) -> f64 {
        3.0 / (k as f64 + 2.0)
    }

    /// `alpha_k = 6 kappa L/(k+1)`.
    #[must_use]
    pub fn alpha(&self, k: u64) -> f64 {
        6.0 * self.kappa * self.l / (k as f64 + 1.0)
    }

    /// `zeta_k = L D_X^2/(384 k (k+1))`.
    #[must_use]
    pub fn zeta(&self, k: u64) -> f64 {
        let k = k as f64;
        self.l * self.diameter.powi(2) / (384.0 * k * (k + 1.0))
    }

    /// `eps_k = kappa L D_X^2/(k (k+1) (k+2))`.
    #[must_use]
    pub fn eps(&self, k: u64) -> f64 {
        let k = k as f64;
        self.kappa * self.l * self.diameter.powi(2) / (k * (k + 1.0) * (k + 2.0))
    }

    /// `eps_cgs = eps/(64 kappa)`.
    #[must_use]
    pub fn eps_cgs(&self, k: u64) -> f64 {
        self.eps(k) / (64.0 * self.kappa)
    }

    /// `eps_mp = 4 gamma sqrt(2 kappa L eps_cgs/alpha^2 + 2 zeta/alpha)`.
    #[must_use]
    pub fn eps_mp(&self, k: u64) -> f64 {
        let alpha = self.alpha(k);
        let inside = 2.0 * self.kappa * self.l * self.eps_cgs(k) / alpha.powi(2)
            + 2.0 * self.zeta(k) / alpha;
        4.0 * self.gamma(k) * inside.sqrt()
    }

    /// `R = ceil(log2(4 D_X/eps_mp))`, at least 1.
    #[must_use]
    pub fn rounds(&self, k: u64) -> u64 {
        ((4.0 * self.diameter / self.eps_mp(k)).log2().ceil()).max(1.0) as u64
    }

    /// Theorem 1: `gap(x_k, ybar_k) <= 11 kappa L D_X^2/((k+1)(k+2))`.
    #[must_use]
    pub fn bound(&self, k: u64) -> f64 {
        let k = k as f64;
        11.0 * self.kappa * self.l * self.diameter.powi(2) / ((k + 1.0) * (k + 2.0))
    }
}

/// MPCGS as printed, running.
pub struct Mpcgs<'a> {
    oracles: Oracles<'a>,
    y_solver: YSolver,
    constants: MpcgsConstants,
    exact_x: bool,
    inner_budget: u64,
    k: u64,
    /// `x_{k-1}`, then `x_k`.
    x: PointX,
    /// `x_r` inside the prox step.
    x_r: PointX,
    /// `z_k`, of which only the image is needed.
    z: PointX,
    v: Imaged,
    v_r: Imaged,
    y: Vec<f64>,
    y_r: Vec<f64>,
    y_bar: Vec<f64>,
    gradient: Vec<f64>,
    best: Incumbent,
}

impl<'a> Mpcgs<'a> {
    /// MPCGS as printed, at its start point.
    ///
    /// # Errors
    /// Dimensions that disagree, a constant or an oracle that is missing, a start point outside its
    /// set.
    pub fn new(start: Start<'a, '_>, settings: &MpcgsSettings) -> Result<Self> {
        settings.check()?;
        let mut oracles = start.oracles(MpcgsSettings::ABOUT.needs)?;
        let constants = MpcgsConstants::new(start.problem, start.x_set)?;
        let y_solver = YSolver::new(&mut oracles, settings.inner_y, settings.inner_budget)?;
        let exact_x = inner_x(&mut oracles, settings.inner_x)? == InnerX::Prox;
        let (x, y) = start.points(&mut oracles)?;
        Ok(Mpcgs {
            y_solver,
            constants,
            exact_x,
            inner_budget: settings.inner_budget,
            k: 0,
            x_r: x.clone(),
            z: x.clone(),
            v: Imaged::of(&x),
            v_r: Imaged::of(&x),
            y_r: y.clone(),
            y_bar: y.clone(),
            gradient: vec![0.0; x.x.len()],
            best: Incumbent::new(&x.x, &y),
            x,
            y,
            oracles,
        })
    }

    /// Prox-step(f, x_0, y_0, z, v_0, gamma, alpha, zeta, eps), Algorithm 4:
    ///
    /// ```text
    /// for r = 1, ..., R
    ///     y_r = CGS(-f(x_{r-1}, .), y_0, L, mu, eps_cgs)
    ///     v_r = CndG(grad_x f(z, y_r), v_0, alpha, zeta)
    ///     x_r = (1 - gamma) x_0 + gamma v_r
    /// return (x_R, y_R, v_R)
    /// ```
    ///
    /// The result is in `x_r`, `y_r` and `v_r`; where an inner solve used up its budget, that is returned.
    fn prox_step(&mut self, k: u64) -> Result<Option<Step>> {
        let c = self.constants;
        let (gamma, alpha, zeta, eps_cgs) = (c.gamma(k), c.alpha(k), c.zeta(k), c.eps_cgs(k));
        self.x_r.copy_from(&self.x);
        for _ in 1..=c.rounds(k) {
            self.y_r.copy_from_slice(&self.y);
            let response =
                self.y_solver.printed_cgs(&mut self.oracles, &self.x_r, eps_cgs, &mut self.y_r)?;
            if response.state == SlideState::OutOfBudget {
                return Ok(Some(Step::InnerBudget(Block::Y)));
            }
            self.oracles.grad_x(&self.z, &self.y_r, &mut self.gradient)?;
            if self.exact_x {
                self.oracles.prox(Block::X, &self.gradient, &self.v.x, alpha, &mut self.v_r.x)?;
            } else {
                let task = SlideTask {
                    r: &self.gradient,
                    q: &self.v.x,
                    beta: alpha,
                    eta: zeta,
                    budget: self.inner_budget,
                };
                let slide = self.oracles.slide(Block::X, &task, &mut self.v_r.x)?;
                if slide.state == SlideState::OutOfBudget {
                    return Ok(Some(Step::InnerBudget(Block::X)));
                }
            }
            self.oracles.image(&self.v_r.x, &mut self.v_r.image)?;
            between(gamma, &self.x.x, &self.v_r.x, &mut self.x_r.x);
            between(gamma, &self.x.image, &self.v_r.image, &mut self.x_r.image);
            self.oracles.prepare(&mut self.x_r);
        }
        Ok(None)
    }
}

impl Algorithm for Mpcgs<'_> {
    fn name(&self) -> &'static str {
        MpcgsSettings::ABOUT.name
    }

    fn step(&mut self) -> Result<Step> {
        let k = self.k + 1;
        let gamma = self.constants.gamma(k);

        // z_k = (1 - gamma_k) x_{k-1} + gamma_k v_{k-1}
        between(gamma, &self.x.image, &self.v.image, &mut self.z.image);
        self.oracles.prepare(&mut self.z);

        // (x_k, y_k, v_k) = Prox-step(f, x_{k-1}, y_{k-1}, z_k, v_{k-1}, gamma_k, alpha_k, zeta_k, eps_k)
        if let Some(ended) = self.prox_step(k)? {
            return Ok(ended);
        }
        std::mem::swap(&mut self.x, &mut self.x_r);
        std::mem::swap(&mut self.y, &mut self.y_r);
        std::mem::swap(&mut self.v, &mut self.v_r);

        // ybar_k = 3/(k (k+1) (k+2)) sum_s s (s+1) y_s, which is a step of gamma_k towards y_k
        step_toward(gamma, &self.y, &mut self.y_bar);
        self.k = k;
        Ok(Step::Advanced)
    }

    fn evaluate(&mut self) -> Result<()> {
        self.best.consider(&mut self.oracles, &self.x, &self.y_bar)
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

    /// `z` and what belongs to a round of the prox step are made anew in every iteration.
    fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.nested("oracles", |archive| self.oracles.state(archive))?;
        archive.nested("y_solver", |archive| self.y_solver.state(archive))?;
        archive.count("k", &mut self.k)?;
        self.oracles.point_state(archive, "x", &mut self.x)?;
        archive.nested("v", |archive| self.v.state(archive))?;
        archive.numbers("y", &mut self.y)?;
        archive.numbers("y_bar", &mut self.y_bar)?;
        archive.nested("best", |archive| self.best.state(archive))
    }
}
