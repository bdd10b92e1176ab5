//! SP-FW: both blocks move to the answers of their linear minimisations, with one step for both
//! (Gidel, Jebara, Lacoste-Julien, "Frank-Wolfe Algorithms for Saddle Point Problems", AISTATS 2017,
//! Algorithm 2).
//!
//! # Why it is linear where it is
//!
//! Let `h = f(x, y*) - f(x*, y)`, `e = z - z*`, and `F = (grad_x f, -grad_y f)` at `z = (x, y)`. For a step
//! `gamma` along `d` with slope `g = -<F, d>`, smoothness of `f(., y*)` and `f(x*, .)` gives
//!
//! ```text
//! h+ <= h - gamma g + gamma Lxy (|e_y| D_X + |e_x| D_Y) + gamma^2 C,      2 C = Lxx D_X^2 + Lyy D_Y^2
//! ```
//!
//! Strong convexity gives `mu_x |e_x|^2/2 + mu_y |e_y|^2/2 <= h`, so by Cauchy-Schwarz the middle term is at
//! most `gamma Lxy sqrt(2 h) sqrt(D_X^2/mu_y + D_Y^2/mu_x)`. And the slope is large where `h` is: a ball of
//! radius `delta_X` around `x*` lies in X, so `g >= <F, e> + delta_X |F_x| + delta_Y |F_y|`, while
//! `<F, e> >= h + E` with `E = mu_x |e_x|^2/2 + mu_y |e_y|^2/2` and
//! `<F, e> <= sqrt(2 E) sqrt(|F_x|^2/mu_x + |F_y|^2/mu_y)`; hence
//!
//! ```text
//! g >= delta_mu (h + E)/sqrt(2 E) >= delta_mu sqrt(2 h),      delta_mu^2 = min(mu_x delta_X^2, mu_y delta_Y^2)
//! ```
//!
//! Together `h+ <= h - nu gamma g + gamma^2 C` with `nu = 1 - q`,
//! `q = Lxy sqrt(D_X^2/mu_y + D_Y^2/mu_x)/delta_mu`. If `nu > 0`, the step `min(1, nu g/(2 C))` gives
//! `h+ <= (1 - rho) h`, `rho = nu^2 delta_mu^2/(2 C)` (where the step is cut at 1, `g >= h` gives
//! `1 - nu/2`, which is better). The primal-dual gap is at most `(1 + Lxy^2/(mu_x mu_y)) h`: from `y*` the
//! best `y'` gains at most `max_t Lxy |e_x| t - mu_y t^2/2`, and so with `x`.
//!
//! # What the sources say
//!
//! `C`, the step `nu g/(2 C)` and `nu = 1 - ..`, with away steps `1/2 - ..`, are those of the authors' own code
//! (GauthierGidel/SP-FW, `SP_FW.m`). For `q` accounts of the paper have
//! `sqrt(2)/delta_mu max(Lxy D_X/mu_y, Lxy D_Y/mu_x)`, and the code divides by `delta_mu^2` in place of
//! `delta_mu`. Neither can be meant: `nu` must not change when `f` is multiplied by a constant (a test holds
//! us to that). With `sqrt(mu_y)`, `sqrt(mu_x)` the first is right, and at least the `q` proved above.

use crate::certificate::{Bounds, Certificate, certificate_of, gap_part};
use crate::error::{Block, Error, Result, check_positive};
use crate::linalg::{axpby, dot_difference};
use crate::oracles::{FirstOrder, Ledger, Oracles, check_minimum};
use crate::problem::{BlockConstants, PointX};
use crate::run::{Algorithm, Step};
use crate::solver::history::History;
use crate::solver::{About, Incumbent, MethodSettings, Start};
use crate::state::{Archive, Fingerprint};
use crate::watch::Watch;

/// The constants of the linear rate of SP-FW ([`interior`](SpfwRate::interior)), SP-AFW
/// ([`polytope`](SpfwRate::polytope)) and SP-PFW ([`pairwise`](SpfwRate::pairwise)); they exist only where `nu > 0`.
///
/// ```
/// use couloir::problem::BlockConstants;
/// use couloir::solver::SpfwRate;
/// // curvature 1 in both blocks, coupling 0.1, unit balls, saddle point in their centres
/// let constants = BlockConstants::all(1.0, 0.1, 1.0, 1.0);
/// let rate = SpfwRate::interior(&constants, 1.0, (2.0, 2.0), (1.0, 1.0))?;
/// assert!((rate.nu - (1.0 - 0.1 * 8f64.sqrt())).abs() < 1e-12 && rate.rho() > 0.06);
/// // a coupling as strong as the curvature leaves no such rate
/// let strong = BlockConstants::all(1.0, 1.0, 1.0, 1.0);
/// assert!(SpfwRate::interior(&strong, 1.0, (2.0, 2.0), (1.0, 1.0)).is_err());
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct SpfwRate {
    /// What the coupling leaves of the slope: `1 - q` inside and for pairwise steps, `1/2 - q` for away steps.
    pub nu: f64,
    /// What the coupling takes of it: `q = Lxy sqrt(D_X^2/mu_y + D_Y^2/mu_x)/delta_mu`.
    pub q: f64,
    /// Curvature: `C = (Lxx D_X^2 + Lyy D_Y^2)/2`.
    pub c: f64,
    /// `delta_mu = sqrt(min(mu_x delta_X^2, mu_y delta_Y^2))`.
    pub delta_mu: f64,
    /// `1 + Lxy^2/(mu_x mu_y)`: the primal-dual gap is at most this times `h`.
    pub spread: f64,
    /// Which of the proofs it belongs to.
    pub geometry: Geometry,
}

/// What the deltas of a [`SpfwRate`] measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Geometry {
    /// Distances of the saddle point to the boundaries: for SP-FW.
    Interior,
    /// Pyramidal widths: for SP-AFW.
    Polytope,
    /// Pyramidal widths: for SP-PFW.
    Pairwise,
}

impl SpfwRate {
    /// The rate of SP-FW, from the constants of the problem, the strong convexity `mu_x` in `x`, the
    /// diameters `(D_X, D_Y)` and the distances `(delta_X, delta_Y)` of `x*` and `y*` to the boundaries.
    ///
    /// # Errors
    /// [`Error::Setting`] with the value of `nu` where it is not positive; constants that are missing
    /// or make no sense.
    pub fn interior(
        constants: &BlockConstants,
        mu_x: f64,
        diameters: (f64, f64),
        distances: (f64, f64),
    ) -> Result<Self> {
        Self::new(constants, mu_x, diameters, distances, Geometry::Interior)
    }

    /// The rate of SP-AFW: as [`interior`](SpfwRate::interior), with the pyramidal widths of the sets
    /// (Lacoste-Julien and Jaggi 2015) in place of distances; `1/sqrt(n)` for the unit cube,
    /// `2/sqrt(n)` for the unit simplex with `n` even, `2/sqrt(n - 1/n)` with `n` odd.
    ///
    /// # Errors
    /// As [`interior`](SpfwRate::interior).
    pub fn polytope(
        constants: &BlockConstants,
        mu_x: f64,
        diameters: (f64, f64),
        widths: (f64, f64),
    ) -> Result<Self> {
        Self::new(constants, mu_x, diameters, widths, Geometry::Polytope)
    }

    /// The rate of SP-PFW: as [`polytope`](SpfwRate::polytope), with more left of the slope, but for steps that may be
    /// cut more often.
    ///
    /// # Errors
    /// As [`interior`](SpfwRate::interior).
    pub fn pairwise(
        constants: &BlockConstants,
        mu_x: f64,
        diameters: (f64, f64),
        widths: (f64, f64),
    ) -> Result<Self> {
        Self::new(constants, mu_x, diameters, widths, Geometry::Pairwise)
    }

    fn new(
        constants: &BlockConstants,
        mu_x: f64,
        (dx, dy): (f64, f64),
        (delta_x, delta_y): (f64, f64),
        geometry: Geometry,
    ) -> Result<Self> {
        let who = "the gap step of SP-FW";
        constants.check()?;
        let (lxx, lxy) = (constants.need_lxx(who)?, constants.need_lxy(who)?);
        let (lyy, mu_y) = (constants.need_lyy(who)?, constants.need_mu(who)?);
        for (name, value) in
            [("mu_x", mu_x), ("D_X", dx), ("D_Y", dy), ("delta_X", delta_x), ("delta_Y", delta_y)]
        {
            check_positive(name, value)?;
        }
        for (name, small, large) in [
            ("mu_x", mu_x, lxx),
            ("mu", mu_y, lyy),
            ("delta_X", delta_x, dx),
            ("delta_Y", delta_y, dy),
        ] {
            if small > large * (1.0 + 1e-9) {
                let why = format!("{small} exceeds its upper bound {large} (Lxx, Lyy, D_X or D_Y)");
                return Err(Error::Setting { name, why });
            }
        }
        let delta_mu = (mu_x.sqrt() * delta_x).min(mu_y.sqrt() * delta_y);
        let q = lxy * (dx * dx / mu_y + dy * dy / mu_x).sqrt() / delta_mu;
        let whole = match geometry {
            Geometry::Interior | Geometry::Pairwise => 1.0,
            Geometry::Polytope => 0.5,
        };
        let nu = whole - q;
        if !(nu > 0.0) {
            return Err(Error::Setting {
                name: "nu",
                why: format!(
                    "{nu} is not above zero: the coupling Lxy = {lxy} is too strong for a linear rate, \
                     which needs Lxy < {}; use the open step",
                    whole * lxy / q
                ),
            });
        }
        let c = 0.5 * (lxx * dx * dx + lyy * dy * dy);
        let spread = 1.0 + lxy * lxy / (mu_x * mu_y);
        Ok(SpfwRate { nu, q, c, delta_mu, spread, geometry })
    }

    /// `rho = nu^2 delta_mu^2/(2 C)`: `h` falls by `1 - rho` at every step (of SP-AFW and SP-PFW: at every step that
    /// drops no vertex; for SP-AFW these are at least a third).
    #[must_use]
    pub fn rho(&self) -> f64 {
        self.nu.powi(2) * self.delta_mu.powi(2) / (2.0 * self.c)
    }

    /// The primal-dual gap is at most this after `steps` such steps from a pair with FW-gap
    /// `first_gap` (which is at least `h`).
    #[must_use]
    pub fn bound(&self, first_gap: f64, steps: u64) -> f64 {
        self.spread * first_gap * (steps as f64 * (-self.rho()).ln_1p()).exp()
    }

    pub(super) fn check_geometry(&self, wanted: Geometry) -> Result<()> {
        if self.geometry == wanted {
            return Ok(());
        }
        Err(Error::Setting {
            name: "rate",
            why: format!("the method needs {wanted:?} constants, got {:?} ones", self.geometry),
        })
    }
}

/// The step of SP-FW.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum SpfwStep {
    /// `2/(k+2)`.
    #[default]
    Open,
    /// `min(1, nu g/(2 C))` with `g` the FW-gap.
    Gap(SpfwRate),
}

/// Settings of SP-FW.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct SpfwSettings {
    /// The step; open where no rate is known.
    pub step: SpfwStep,
}

impl SpfwSettings {
    /// The step.
    #[must_use]
    pub fn step(mut self, step: SpfwStep) -> Self {
        self.step = step;
        self
    }

    /// The step `min(1, nu g/(2 C))`.
    #[must_use]
    pub fn gap_step(self, rate: SpfwRate) -> Self {
        self.step(SpfwStep::Gap(rate))
    }
}

impl MethodSettings for SpfwSettings {
    const ABOUT: About =
        About::new("spfw", "SP-FW: one linear minimisation in each block per iteration")
            .certifies_by_fw_gap();

    fn start<'a>(&self, start: Start<'a, '_>) -> Result<Box<dyn Algorithm + 'a>> {
        Ok(Box::new(Spfw::new(start, self)?))
    }

    fn fingerprint(&self, print: &mut Fingerprint) {
        let SpfwSettings { step } = self;
        print.note("step", format!("{step:?}"));
    }

    fn check(&self) -> Result<()> {
        match self.step {
            SpfwStep::Gap(rate) => rate.check_geometry(Geometry::Interior),
            SpfwStep::Open => Ok(()),
        }
    }
}

/// The operator `F` at the current pair and the answers of both linear minimisations, which the
/// certificate and the step share.
pub(super) struct Look {
    /// `grad_x f`.
    pub gx: Vec<f64>,
    /// `-grad_y f`.
    pub gy: Vec<f64>,
    /// The vertices to move to.
    pub px: Vec<f64>,
    pub py: Vec<f64>,
    /// `<gx, x - px>` and `<gy, y - py>`.
    pub slope_x: f64,
    pub slope_y: f64,
    /// The parts of the FW-gap, with everything that the oracles and rounding may hide.
    gaps: (f64, f64),
    /// The length of the gradient in the image.
    in_image: f64,
    fresh: bool,
}

impl Look {
    pub fn new(dim_x: usize, dim_y: usize) -> Self {
        Look {
            gx: vec![0.0; dim_x],
            gy: vec![0.0; dim_y],
            px: vec![0.0; dim_x],
            py: vec![0.0; dim_y],
            slope_x: 0.0,
            slope_y: 0.0,
            gaps: (0.0, 0.0),
            in_image: 0.0,
            fresh: false,
        }
    }

    /// Looks, unless that has been done at this pair; the method pays, for its step needs it.
    pub fn at(&mut self, oracles: &mut Oracles<'_>, x: &PointX, y: &[f64]) -> Result<()> {
        if self.fresh {
            return Ok(());
        }
        oracles.grad_x(x, y, &mut self.gx)?;
        let x_min = oracles.lmo(Block::X, &self.gx, &mut self.px)?;
        oracles.grad_y(x, y, &mut self.gy)?;
        self.gy.iter_mut().for_each(|g| *g = -*g);
        let y_min = oracles.lmo(Block::Y, &self.gy, &mut self.py)?;
        let in_x = dot_difference(&self.gx, &x.x, &self.px);
        let in_y = dot_difference(&self.gy, y, &self.py);
        (self.slope_x, self.slope_y) = (in_x.0, in_y.0);
        let least = (x_min.value + in_x.0, x_min.lower);
        check_minimum(oracles, Block::X, &self.gx, &x.x, least)?;
        let least = (y_min.value + in_y.0, y_min.lower);
        check_minimum(oracles, Block::Y, &self.gy, y, least)?;
        let (rounding, [dx, dy]) = (oracles.rounding(x, y, 0.0), oracles.diameters);
        let gap_x = gap_part(&self.gx, in_x, &x_min, rounding.grad_x, dx).gap;
        let gap_y = gap_part(&self.gy, in_y, &y_min, rounding.grad_y, dy).gap;
        self.gaps = (gap_x, gap_y);
        self.in_image = oracles.slope_in_image();
        self.fresh = true;
        Ok(())
    }

    pub fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.flag("fresh", &mut self.fresh)?;
        if !self.fresh {
            return Ok(());
        }
        archive.numbers("gx", &mut self.gx)?;
        archive.numbers("gy", &mut self.gy)?;
        archive.numbers("px", &mut self.px)?;
        archive.numbers("py", &mut self.py)?;
        archive.number("slope_x", &mut self.slope_x)?;
        archive.number("slope_y", &mut self.slope_y)?;
        archive.number("gap_x", &mut self.gaps.0)?;
        archive.number("gap_y", &mut self.gaps.1)?;
        archive.number("in_image", &mut self.in_image)
    }

    /// The pair has moved.
    pub fn forget(&mut self) {
        self.fresh = false;
    }

    /// The FW-gap as far as the answers of the oracles realise it.
    pub fn slope(&self) -> f64 {
        self.slope_x + self.slope_y
    }

    /// The parts of the FW-gap, with everything that the oracles and rounding may hide.
    pub fn gaps(&self) -> (f64, f64) {
        self.gaps
    }

    /// The certificate of the pair that was looked at last, once it is held against what was seen before.
    pub fn compare(
        &self,
        oracles: &mut Oracles<'_>,
        x: &PointX,
        y: &[f64],
        history: &mut History,
    ) -> Result<Certificate> {
        let value = oracles.certifying(|o| o.value(x, y))?;
        let rounding = oracles.rounding(x, y, value);
        let now = certificate_of(oracles, (value, self.in_image), &rounding, self.gaps.into());
        let first_order = FirstOrder { value, x: &x.x, y, gx: &self.gx, gy: &self.gy };
        history.compare(oracles, &now, &first_order)?;
        Ok(now)
    }

    /// Certifies the pair, which costs one value beyond what the step needs, and keeps the best.
    pub fn certify(
        &mut self,
        oracles: &mut Oracles<'_>,
        x: &PointX,
        y: &[f64],
        best: &mut Incumbent,
    ) -> Result<()> {
        self.at(oracles, x, y)?;
        let now = self.compare(oracles, x, y, &mut best.history)?;
        best.offer(now, &x.x, y);
        Ok(())
    }
}

/// SP-FW, running.
pub struct Spfw<'a> {
    oracles: Oracles<'a>,
    step: SpfwStep,
    k: u64,
    x: PointX,
    y: Vec<f64>,
    look: Look,
    /// The image of `look.px`.
    p_image: Vec<f64>,
    first_gap: Option<f64>,
    best: Incumbent,
}

impl<'a> Spfw<'a> {
    /// SP-FW at its start point.
    ///
    /// # Errors
    /// Dimensions that disagree, a start point outside its set, a rate meant for SP-AFW.
    pub fn new(start: Start<'a, '_>, settings: &SpfwSettings) -> Result<Self> {
        settings.check()?;
        let mut oracles = start.oracles(SpfwSettings::ABOUT.needs)?;
        let (x, y) = start.points(&mut oracles)?;
        Ok(Spfw {
            step: settings.step,
            k: 0,
            look: Look::new(x.x.len(), y.len()),
            p_image: vec![0.0; x.image.len()],
            first_gap: None,
            best: Incumbent::new(&x.x, &y),
            x,
            y,
            oracles,
        })
    }
}

impl Algorithm for Spfw<'_> {
    fn name(&self) -> &'static str {
        SpfwSettings::ABOUT.name
    }

    fn step(&mut self) -> Result<Step> {
        // s = LO(F(z)), g = <F(z), z - s>
        self.look.at(&mut self.oracles, &self.x, &self.y)?;
        let g = self.look.slope();
        let gaps = self.look.gaps();
        self.first_gap.get_or_insert(gaps.0 + gaps.1);
        if !(g > 0.0) {
            return Ok(Step::NoProgress);
        }
        let gamma = match self.step {
            SpfwStep::Open => 2.0 / (self.k as f64 + 2.0),
            SpfwStep::Gap(rate) => (rate.nu * g / (2.0 * rate.c)).min(1.0),
        };
        // z' = (1 - gamma) z + gamma s, and so with the image
        self.oracles.image(&self.look.px, &mut self.p_image)?;
        axpby(gamma, &self.look.px, 1.0 - gamma, &mut self.x.x);
        axpby(gamma, &self.p_image, 1.0 - gamma, &mut self.x.image);
        self.oracles.repair_point(&mut self.x);
        self.oracles.prepare(&mut self.x);
        axpby(gamma, &self.look.py, 1.0 - gamma, &mut self.y);
        self.oracles.repair(Block::Y, &mut self.y);
        // look at the new point here, where the method's time is counted: the next step needs it
        self.look.forget();
        self.look.at(&mut self.oracles, &self.x, &self.y)?;
        self.k += 1;
        Ok(Step::Advanced)
    }

    fn evaluate(&mut self) -> Result<()> {
        self.look.certify(&mut self.oracles, &self.x, &self.y, &mut self.best)
    }

    fn certificate(&self) -> &Certificate {
        &self.best.certificate
    }

    fn best(&self) -> (&[f64], &[f64]) {
        (&self.best.x, &self.best.y)
    }

    fn current(&self) -> (&[f64], &[f64]) {
        (&self.x.x, &self.y)
    }

    fn iterations(&self) -> u64 {
        self.k
    }

    fn bounds(&self) -> Bounds {
        match (self.step, self.first_gap) {
            (SpfwStep::Gap(rate), Some(gap)) => {
                Bounds { schedule: rate.bound(gap, self.k), ..Bounds::NONE }
            }
            _ => Bounds::NONE,
        }
    }

    fn ledger(&self) -> &Ledger {
        &self.oracles.ledger
    }

    fn watch(&self) -> &Watch {
        self.oracles.watch()
    }

    fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.nested("oracles", |archive| self.oracles.state(archive))?;
        archive.count("k", &mut self.k)?;
        self.oracles.point_state(archive, "x", &mut self.x)?;
        archive.numbers("y", &mut self.y)?;
        archive.nested("look", |archive| self.look.state(archive))?;
        archive.maybe("first_gap", &mut self.first_gap)?;
        archive.nested("best", |archive| self.best.state(archive))
    }
}
