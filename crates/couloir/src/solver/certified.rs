//! Certified MPCGS: the method of the paper with block constants found by backtracking, conditions
//! that are checked instead of assumed, and bounds computed from what was reached. The proof is in
//! docs/theory.md.

use super::Inner;
use super::improve::Improver;
use super::lower_bound::{LowerBound, Minorant};
use super::respond::{Responder, Response};
use crate::certificate::{Bounds, Certificate, GapScratch, fw_gap};
use crate::domain::{Confidence, Domain};
use crate::error::{Block, Error, Result};
use crate::linalg::{between, dot, norm, step_products, step_toward};
use crate::problem::{Held, Imaged, Ledger, Oracles, PointX, SaddleProblem};
use crate::run::{Algorithm, Archive, Fact, Stall, Step};
use crate::sliding::{SlideState, SlideTask};

/// Linear minimisations that one inner solve may spend, where nothing else is said.
pub(super) const INNER_BUDGET: u64 = 10_000_000;

/// Linear minimisations that an inner solve may spend on more accuracy than the bound asks for.
const POLISH_BUDGET: u64 = 200_000;

/// Settings of certified MPCGS.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CertifiedSettings {
    /// How `v` is found.
    pub inner_x: Inner,
    /// How `y` is found.
    pub inner_y: Inner,
    /// Linear minimisations that one inner solve may spend.
    pub inner_budget: u64,
    /// The first `Lhat`; where none is given a small guess is raised until the conditions hold.
    pub first_lhat: Option<f64>,
    /// Points of the convex hull in which a better `x` is sought when it pays (3 to 16; 0 for
    /// never). Each beyond the first three keeps one more vector and its image in memory.
    pub hull_points: usize,
}

impl Default for CertifiedSettings {
    fn default() -> Self {
        CertifiedSettings {
            inner_x: Inner::Auto,
            inner_y: Inner::Auto,
            inner_budget: INNER_BUDGET,
            first_lhat: None,
            hull_points: 8,
        }
    }
}

impl CertifiedSettings {
    fn check(&self) -> Result<()> {
        if let Some(lhat) = self.first_lhat {
            crate::error::check_positive("first Lhat", lhat)?;
        }
        if !matches!(self.hull_points, 0 | 3..=super::improve::MOST_POINTS) {
            return Err(Error::Setting {
                name: "hull_points",
                why: format!(
                    "must be 0 or 3 to {}, got {}",
                    super::improve::MOST_POINTS,
                    self.hull_points
                ),
            });
        }
        super::check_budget(self.inner_budget)
    }

    /// The same inner solve on both blocks.
    #[must_use]
    pub fn inner(mut self, inner: Inner) -> Self {
        (self.inner_x, self.inner_y) = (inner, inner);
        self
    }
}

/// Rounds of (y, v, x) that may fail condition (a) before `Lhat` is doubled, and `log2(k)/2` more: with
/// half a factor each they suffice where `Lhat` does.
const ROUNDS: u32 = 4;
/// A rise of `Lhat` above the first curvature measured in an iteration after which something other
/// than `Lhat` must be wrong.
const RUNAWAY: f64 = 1e12;
/// The first guess of `Lhat` in units of `|grad_x| / D_X`: low, for raising it costs no gradient.
const FIRST_GUESS: f64 = 1e-3;
/// What `Lhat` is multiplied with when the problem changes: a larger batch may bend far less.
const FRESH: f64 = 1.0 / 64.0;
/// Iterations that the certificate may stand still, and half of the run at the least.
const PATIENCE: u64 = 200;
/// A lower bound is worth a linear minimisation if it may take off this share of the gap.
const WORTH: f64 = 0.01;
/// A gap of this many times the rounding charged to it can hardly fall further.
const FLOOR: f64 = 3.0;

/// What one accepted round leaves.
#[derive(Clone, Copy, Debug, Default)]
struct Accepted {
    /// A bound of `max_y f(x_k, y)`: `f(x_k, y_k) + eps_k`.
    upper: f64,
    /// `f(z_k, y_k) - <grad_x f(z_k, y_k), z_k>`: the constant of the linear minorant of `f(., y_k)`.
    constant: f64,
    /// The `eps_k`, `zeta_k`, `chi_k` reached.
    eps: f64,
    zeta: f64,
    chi: f64,
    /// The `Lhat` that condition (c) would have been content with.
    needed: f64,
}

/// Certified MPCGS, running.
pub struct Certified<'a> {
    oracles: Oracles<'a>,
    responder: Responder,
    exact_x: bool,
    inner_budget: u64,
    diameter: f64,
    k: u64,
    lhat: f64,
    highest_lhat: f64,
    /// `x_{k-1}`, then `x_k`.
    x: PointX,
    /// `x_r`, of which only the image is needed until it is accepted; as for `z_k`.
    trial_x: PointX,
    z: PointX,
    v: Imaged,
    trial_v: Imaged,
    /// `y_r`, then `y_k`.
    y: Vec<f64>,
    /// The response to `x_r`, then to `x_k`.
    y_hat: Vec<f64>,
    y_bar: Vec<f64>,
    /// The gradient at `(z_k, y_r)`; once that is in the bounds, the one at `(x_k, yhat)`.
    gradient: Vec<f64>,
    /// The averaged linear minorant `u -> constant + <slope, u>`.
    minorant_slope: Vec<f64>,
    minorant_constant: f64,
    /// `sum_s s(s+1)(s+2) (eps_s + chi_s) + sum_s 3 s(s+1) zeta_s`.
    charges: f64,
    bounds: Bounds,
    best: Best,
    floor: LowerBound,
    stall: Stall,
    improver: Option<Improver>,
    /// On what one bound of a response rests.
    y_confidence: Confidence,
    /// The iteration from which on the minorant at `x_k` is worth a gradient again.
    next_look: u64,
}

/// The best `x` (by its upper bound) and the best `y` (by its lower bound) so far: together the best
/// certified pair.
struct Best {
    certificate: Certificate,
    upper: f64,
    /// Whether the solver's current `x` is the best one; if not, it is in `x`.
    x_is_current: bool,
    x: PointX,
    lower: f64,
    y: Vec<f64>,
    confidence: Confidence,
}

impl<'a> Certified<'a> {
    /// Certified MPCGS at its start point; evaluates the FW-gap there.
    ///
    /// # Errors
    /// Dimensions that disagree, an oracle or a constant that an inner solve needs and that is
    /// missing, a start point outside its set, values or gradients that are not finite.
    pub fn new(
        problem: &'a dyn SaddleProblem,
        x_set: &'a dyn Domain,
        y_set: &'a dyn Domain,
        settings: &CertifiedSettings,
        x_start: Option<&[f64]>,
        y_start: Option<&[f64]>,
    ) -> Result<Self> {
        Certified::of(Held::Lent(problem), x_set, y_set, settings, x_start, y_start)
    }

    /// The same for a problem that may be owned.
    pub(super) fn of(
        problem: Held<'a>,
        x_set: &'a dyn Domain,
        y_set: &'a dyn Domain,
        settings: &CertifiedSettings,
        x_start: Option<&[f64]>,
        y_start: Option<&[f64]>,
    ) -> Result<Self> {
        settings.check()?;
        let mut oracles = Oracles::of(problem, x_set, y_set)?;
        let responder = Responder::new(&oracles, settings.inner_y, settings.inner_budget)?;
        let exact_x = super::exact_x(&oracles, settings.inner_x)?;
        let (x, y) = oracles.start_pair(x_start, y_start)?;
        let improver = match settings.hull_points {
            0 => None,
            points => Some(Improver::new(points, &x, y.len())),
        };
        let mut scratch = GapScratch::new(x.x.len(), y.len());
        let first = oracles.certifying(|o| fw_gap(o, &x, &y, &mut scratch))?;
        Ok(Certified {
            responder,
            exact_x,
            inner_budget: settings.inner_budget,
            diameter: x_set.diameter(),
            k: 0,
            lhat: settings.first_lhat.unwrap_or(0.0),
            highest_lhat: 0.0,
            improver,
            stall: Stall::new(),
            y_confidence: scratch.y_confidence,
            next_look: 2,
            trial_x: PointX { x: Vec::new(), ..x.clone() },
            z: PointX { x: Vec::new(), ..x.clone() },
            v: Imaged::of(&x),
            trial_v: Imaged::room_for(&x),
            y_hat: y.clone(),
            y_bar: y.clone(),
            gradient: vec![0.0; x.x.len()],
            minorant_slope: vec![0.0; x.x.len()],
            minorant_constant: 0.0,
            charges: 0.0,
            bounds: Bounds::NONE,
            floor: LowerBound::new(x.x.len(), y.len()),
            best: Best {
                certificate: first,
                upper: first.upper,
                x_is_current: true,
                x: PointX {
                    x: vec![0.0; x.x.len()],
                    image: vec![0.0; x.image.len()],
                    cache: vec![0.0; x.cache.len()],
                },
                lower: first.lower,
                y: y.clone(),
                confidence: first.confidence,
            },
            x,
            y,
            oracles,
        })
    }

    /// Starts anew from the present `x` with another problem on the same sets, one that is close to the
    /// last: the hull search keeps its points, and `Lhat` is sought from below its present value.
    pub(super) fn move_to(&mut self, problem: Held<'a>, inner_y: Inner) -> Result<()> {
        let (x_set, y_set) = (self.oracles.x_set, self.oracles.y_set);
        self.oracles = Oracles::of(problem, x_set, y_set)?;
        self.responder = Responder::new(&self.oracles, inner_y, self.inner_budget)?;
        let mut start = PointX::new(&*self.oracles.problem);
        std::mem::swap(&mut start.x, &mut self.x.x);
        self.oracles.image(&start.x, &mut start.image)?;
        self.oracles.prepare(&mut start);
        for point in [&mut self.v, &mut self.trial_v] {
            point.image.resize(start.image.len(), 0.0);
        }
        self.v.x.copy_from_slice(&start.x);
        self.v.image.copy_from_slice(&start.image);
        if let Some(improver) = &mut self.improver {
            improver.move_to(&mut self.oracles, &start)?;
        }
        self.trial_x = PointX { x: Vec::new(), ..start.clone() };
        self.z = self.trial_x.clone();
        let (o, y) = (&mut self.oracles, &self.best.y);
        let mut scratch = GapScratch::new(start.x.len(), y.len());
        let first = o.certifying(|o| fw_gap(o, &start, y, &mut scratch))?;
        self.y_hat.copy_from_slice(y);
        self.best = Best {
            certificate: first,
            upper: first.upper,
            x_is_current: true,
            x: start.clone(),
            lower: first.lower,
            y: self.y_hat.clone(),
            confidence: first.confidence,
        };
        self.x = start;
        self.k = 0;
        (self.next_look, self.stall) = (2, Stall::new());
        self.lhat *= FRESH; // found again by raising, which costs no gradient
        self.charges = 0.0;
        self.bounds = Bounds::NONE;
        self.floor.clear();
        Ok(())
    }

    /// Takes another problem on the same sets, of which the state is then loaded.
    pub(super) fn make_room(&mut self, problem: Held<'a>, inner_y: Inner) -> Result<()> {
        let (x_set, y_set) = (self.oracles.x_set, self.oracles.y_set);
        self.oracles = Oracles::of(problem, x_set, y_set)?;
        self.responder = Responder::new(&self.oracles, inner_y, self.inner_budget)?;
        self.x = PointX::new(&*self.oracles.problem);
        for point in [&mut self.v, &mut self.trial_v] {
            point.image.resize(self.x.image.len(), 0.0);
        }
        if let Some(improver) = &mut self.improver {
            improver.make_room(&self.x);
        }
        self.trial_x = PointX { x: Vec::new(), ..self.x.clone() };
        self.z = self.trial_x.clone();
        self.best.x = self.x.clone();
        Ok(())
    }

    /// The current `Lhat`.
    #[must_use]
    pub fn lhat(&self) -> f64 {
        self.lhat
    }

    /// The largest `Lhat` accepted so far.
    #[must_use]
    pub fn highest_lhat(&self) -> f64 {
        self.highest_lhat
    }

    /// The iterate `v_k`.
    #[must_use]
    pub fn v(&self) -> &[f64] {
        &self.v.x
    }

    /// The average `ybar_k`.
    #[must_use]
    pub fn y_bar(&self) -> &[f64] {
        &self.y_bar
    }

    /// `Lhat D_X^2 / (k (k+1) (k+2))`: what condition (a) asks of `eps_k`.
    fn eps_target(&self, k: f64) -> f64 {
        self.lhat * self.diameter.powi(2) / (k * (k + 1.0) * (k + 2.0))
    }

    /// How well the inner y-solve must do for (a) to be decided.
    fn response_accuracy(&self, k: f64) -> f64 {
        let from_gap = 1e-2 * self.best.certificate.gap / k;
        let target = self.eps_target(k);
        let wanted = if target > 0.0 { (target / 64.0).min(from_gap) } else { from_gap };
        // no use in asking for less than rounding leaves
        wanted.max(1e-3 * f64::EPSILON * self.best.upper.abs())
    }

    fn respond_to_trial(&mut self, k: f64) -> Result<Response> {
        let accuracy = self.response_accuracy(k);
        self.y_hat.copy_from_slice(&self.y);
        self.responder.respond(&mut self.oracles, &self.trial_x, accuracy, &mut self.y_hat)
    }

    /// `v_r = argmin <g, u> + alpha/2 |u - v_{k-1}|^2` with condition (b) at `zeta_k`; returns the `zeta`
    /// reached.
    fn slide_v(&mut self, k: f64, alpha: f64) -> Result<std::result::Result<f64, Step>> {
        let (g, v, out) = (&self.gradient, &self.v.x, &mut self.trial_v.x);
        if self.exact_x {
            return Ok(Ok(self.oracles.prox(Block::X, g, v, alpha, out)?));
        }
        // what the bound asks for, and what pays: more, as far as it comes cheaply
        let needed = self.lhat * self.diameter.powi(2) / (100.0 * k * (k + 1.0));
        let eta = needed.min(0.05 * self.best.certificate.gap);
        let budget = self.inner_budget.min(POLISH_BUDGET);
        let task = SlideTask { r: g, q: v, beta: alpha, eta, budget };
        let mut slide = self.oracles.slide(Block::X, &task, out)?;
        if slide.state == SlideState::OutOfBudget && !(slide.gap <= needed) {
            let task = SlideTask { eta: needed, budget: self.inner_budget, ..task };
            slide = self.oracles.slide(Block::X, &task, out)?;
            if slide.state == SlideState::OutOfBudget {
                return Ok(Err(Step::InnerBudget(Block::X)));
            }
        }
        Ok(Ok(slide.gap))
    }

    /// One iteration up to the acceptance of `(x_k, y_k, v_k)`, which are then in `trial_x` (its image
    /// alone), `y` and `trial_v`.
    fn prox_step(&mut self, k: f64, gamma: f64) -> Result<std::result::Result<Accepted, Step>> {
        between(gamma, &self.x.image, &self.v.image, &mut self.z.image);
        self.oracles.prepare(&mut self.z);

        // y_1 answers z_k, which is closer to x_k than x_{k-1} is and costs no product either
        let accuracy = self.response_accuracy(k);
        self.y.copy_from_slice(&self.y_hat);
        let response = self.responder.respond(&mut self.oracles, &self.z, accuracy, &mut self.y)?;
        if response.state == SlideState::OutOfBudget {
            return Ok(Err(Step::InnerBudget(Block::Y)));
        }
        self.oracles.grad_x(&self.z, &self.y, &mut self.gradient)?;
        if self.lhat == 0.0 {
            let guess = FIRST_GUESS * norm(&self.gradient) / self.diameter;
            self.lhat = if guess > 0.0 && guess.is_finite() { guess } else { 1.0 };
        }

        let mut failed_rounds = 0;
        let most_rounds = ROUNDS + (0.5 * k.log2()) as u32;
        let mut ceiling = f64::INFINITY;
        while self.lhat <= ceiling {
            let alpha = 6.0 * self.lhat / (k + 1.0);
            let zeta = match self.slide_v(k, alpha)? {
                Ok(zeta) => zeta,
                Err(step) => return Ok(Err(step)),
            };
            self.oracles.image(&self.trial_v.x, &mut self.trial_v.image)?;
            let (v, trial_v) = (&self.v, &self.trial_v);
            between(gamma, &self.x.image, &trial_v.image, &mut self.trial_x.image);
            self.oracles.prepare(&mut self.trial_x);

            // (c) f(x_k, y_k) <= f(z_k, y_k) + <grad_x, x_k - z_k> + gamma alpha/2 |v_k - v_{k-1}|^2 + chi
            let [slope, square, at_v, at_x] =
                step_products(&self.gradient, &trial_v.x, &v.x, &self.x.x);
            let bend = self.oracles.bend_x(&self.z, &self.trial_x, &self.y, gamma * slope)?;
            let allowed = 0.5 * gamma * alpha * square;
            let excess = bend.value - allowed;
            let needed = if allowed > 0.0 { self.lhat * bend.value / allowed } else { 0.0 };
            if excess > bend.rounding {
                ceiling = ceiling.min(RUNAWAY * self.lhat.max(needed));
                self.lhat = (1.05 * needed).clamp(1.4 * self.lhat, 16.0 * self.lhat);
                continue;
            }
            let chi = (excess + bend.rounding).max(0.0);

            // (a) max_y f(x_k, y) - f(x_k, y_k) <= eps_k
            let response = self.respond_to_trial(k)?;
            if response.state == SlideState::OutOfBudget {
                return Ok(Err(Step::InnerBudget(Block::Y)));
            }
            let change = self.oracles.change_y(&self.trial_x, &self.y, &self.y_hat)?;
            let eps = change.value.max(0.0) + response.gap + change.rounding;
            let floor = 4.0 * (response.gap + change.rounding);
            if eps <= self.eps_target(k).max(floor) {
                let value = self.oracles.value(&self.trial_x, &self.y)?;
                let along = (1.0 - gamma) * at_x + gamma * at_v;
                let constant = value - bend.value - bend.rounding - along;
                return Ok(Ok(Accepted { upper: value + eps, constant, eps, zeta, chi, needed }));
            }
            // the curvature of max_y f between z_k, which y_1 answers, and x_1: what Lhat stands for
            let curvature = (bend.value.max(0.0) + eps) / (gamma * gamma * square);
            ceiling = ceiling.min(RUNAWAY * self.lhat.max(curvature));
            if failed_rounds == 0 && self.lhat < 0.5 * curvature {
                self.lhat = curvature.clamp(1.4 * self.lhat, 16.0 * self.lhat);
                continue; // the step was far too long: a shorter one, from the same gradient
            }
            failed_rounds += 1;
            if failed_rounds % most_rounds == 0 {
                self.lhat *= 2.0;
            }
            std::mem::swap(&mut self.y, &mut self.y_hat);
            self.oracles.grad_x(&self.z, &self.y, &mut self.gradient)?;
        }
        Err(Error::Numerical {
            what: "certified MPCGS",
            why: format!(
                "Lhat ran away to {:e} at iteration {k}: is grad_x the gradient of value, and is f convex \
                 in x and concave in y? `check_gradient` tells",
                self.lhat
            ),
        })
    }

    /// Moves on to the accepted point, or to a better one in the hull of the last ones, and keeps the
    /// old `x` where its upper bound is the better one. `upper` bounds `max_y f(x_k, y)`.
    fn accept(&mut self, gamma: f64, upper: f64) -> Result<f64> {
        let better = match &mut self.improver {
            Some(improver) if improver.is_due() => improver.search(
                &mut self.oracles,
                &mut self.responder,
                &self.x,
                [&self.trial_v, &self.v],
                gamma,
                &mut self.trial_x,
                &mut self.y_hat,
                upper,
                self.best.certificate.gap,
            )?,
            _ => None,
        };
        let new_upper = better.unwrap_or(upper);
        let new_upper = new_upper + 4.0 * f64::EPSILON * new_upper.abs();
        if new_upper <= self.best.upper {
            self.best.upper = new_upper;
            self.best.x_is_current = true;
        } else if self.best.x_is_current {
            self.best.x.copy_from(&self.x);
            self.best.x_is_current = false;
        }
        match (&self.improver, better) {
            (Some(improver), Some(_)) => {
                improver.apply(&mut self.x.x, [&self.trial_v.x, &self.v.x])
            }
            _ => step_toward(gamma, &self.trial_v.x, &mut self.x.x),
        }
        std::mem::swap(&mut self.x.image, &mut self.trial_x.image);
        std::mem::swap(&mut self.x.cache, &mut self.trial_x.cache);
        std::mem::swap(&mut self.v, &mut self.trial_v);
        if let Some(improver) = &mut self.improver {
            let old = std::mem::take(&mut self.trial_v);
            self.trial_v = improver.push(old);
        }
        step_toward(gamma, &self.y, &mut self.y_bar);
        Ok(new_upper)
    }

    /// The bounds `B_k` and `C_k`, and the certificates that come with the gradients already there.
    /// Returns the rounding that the lower bounds were charged with.
    fn certify(&mut self, k: f64, gamma: f64, accepted: Accepted, upper: f64) -> Result<f64> {
        let Accepted { constant, eps, zeta, chi, .. } = accepted;
        let weight = k * (k + 1.0) * (k + 2.0);
        self.charges += weight * (eps + chi) + 3.0 * k * (k + 1.0) * zeta;
        self.bounds.schedule =
            (9.0 * k * self.lhat * self.diameter.powi(2) + self.charges) / weight;

        // f(u, y_k) >= constant + <gradient, u>; on average >= minorant_constant + <minorant_slope, u>
        step_toward(gamma, &self.gradient, &mut self.minorant_slope);
        self.minorant_constant += gamma * (constant - self.minorant_constant);
        let Certified { oracles, best, floor, .. } = self;
        let slope = &self.minorant_slope;
        let average = oracles.certifying(|o| o.support_x(slope, &mut floor.scratch))?;
        // iterates are sums of k terms by now, each of them rounded
        let ulps = 8.0 + k.sqrt();
        let rounding = ulps * f64::EPSILON * (upper.abs() + (upper - constant).abs());
        let lower_average = self.minorant_constant + average.lower - rounding;
        self.bounds.minorant = upper - lower_average;

        // the best of all bounds so far holds if all of them do
        floor.confidence = floor.confidence.and(average.confidence).and(self.y_confidence);
        let worth = WORTH * best.certificate.gap;
        let new = Minorant { slope: &self.gradient, constant, y: &self.y };
        oracles.certifying(|o| floor.absorb(o, new, rounding, worth))?;
        if lower_average > floor.value {
            let (constant, y) = (self.minorant_constant, &self.y_bar[..]);
            floor.take(Minorant { slope, constant, y }, lower_average);
        }
        // the minorant at (x_k, yhat) costs a gradient, on the certificate's account: a quarter of the method's
        // at the most, and more rarely where it brings nothing
        let (spent, own) = (oracles.ledger.certificate.grad_x, oracles.ledger.method.grad_x);
        if k as u64 >= self.next_look && 4 * (spent + 1) <= own {
            let (x, y_hat, g) = (&self.x, &self.y_hat, &mut self.gradient);
            let before = floor.value;
            oracles.certifying(|o| -> Result<()> {
                o.grad_x(x, y_hat, g)?;
                let constant = o.value(x, y_hat)? - dot(g, &x.x);
                let new = Minorant { slope: g, constant, y: y_hat };
                floor.absorb(o, new, rounding, worth)
            })?;
            if floor.value - before > 0.1 * (best.upper - before) {
                self.next_look = k as u64 + 1;
            } else {
                self.next_look = 2 * k as u64;
            }
        }
        if floor.value > best.lower {
            best.lower = floor.value;
            best.y.copy_from_slice(&floor.y);
        }
        best.confidence = best.confidence.and(floor.confidence);
        // bounds closer than that say no more than that
        best.lower = best.lower.min(best.upper - rounding);
        let best_x = if best.x_is_current { &self.x } else { &best.x };
        let value = oracles.certifying(|o| o.value(best_x, &best.y))?;
        best.certificate = Certificate::between(best.lower, value, best.upper, best.confidence);
        Ok(rounding)
    }
}

impl Best {
    fn state(&mut self, archive: &mut Archive<'_>, oracles: &Oracles<'_>) -> Result<()> {
        archive.nested("certificate", |archive| self.certificate.state(archive))?;
        archive.number("upper", &mut self.upper)?;
        archive.flag("x_is_current", &mut self.x_is_current)?;
        if !self.x_is_current {
            oracles.point_state(archive, "x", &mut self.x)?;
        }
        archive.number("lower", &mut self.lower)?;
        archive.numbers("y", &mut self.y)?;
        archive.nested("confidence", |archive| self.confidence.state(archive))
    }
}

impl Algorithm for Certified<'_> {
    fn name(&self) -> &'static str {
        "certified"
    }

    fn step(&mut self) -> Result<Step> {
        let k = (self.k + 1) as f64;
        let gamma = 3.0 / (k + 2.0);
        let accepted = match self.prox_step(k, gamma)? {
            Ok(accepted) => accepted,
            Err(step) => return Ok(step),
        };
        let upper = self.accept(gamma, accepted.upper)?;
        let rounding = self.certify(k, gamma, accepted, upper)?;
        self.k += 1;
        self.highest_lhat = self.highest_lhat.max(self.lhat);
        // Lhat may fall, by at most the factor k/(k+1), which keeps k Lhat_k from falling
        if accepted.needed < 0.7 * self.lhat {
            self.lhat *= k / (k + 1.0);
        }
        self.stall.look(self.best.certificate.gap);
        let still = self.stall.looks > PATIENCE.max(self.k / 2);
        if still || self.best.certificate.gap <= FLOOR * rounding {
            return Ok(Step::NoProgress);
        }
        Ok(Step::Advanced)
    }

    fn evaluate(&mut self) -> Result<()> {
        Ok(()) // every step certifies itself
    }

    fn certificate(&self) -> &Certificate {
        &self.best.certificate
    }

    fn best(&self) -> (&[f64], &[f64]) {
        let x = if self.best.x_is_current { &self.x.x } else { &self.best.x.x };
        (x, &self.best.y)
    }

    fn current(&self) -> (&[f64], &[f64]) {
        (&self.x.x, &self.y_bar)
    }

    fn iterations(&self) -> u64 {
        self.k
    }

    fn bounds(&self) -> Bounds {
        self.bounds
    }

    fn ledger(&self) -> &Ledger {
        &self.oracles.ledger
    }

    fn facts(&self) -> Vec<Fact> {
        vec![Fact { name: "Lhat", value: self.lhat }]
    }

    /// Trial points, `z`, `y` and the gradient are made anew in every iteration.
    fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.nested("oracles", |archive| self.oracles.state(archive))?;
        archive.nested("responder", |archive| self.responder.state(archive))?;
        archive.count("k", &mut self.k)?;
        archive.number("lhat", &mut self.lhat)?;
        archive.number("highest_lhat", &mut self.highest_lhat)?;
        self.oracles.point_state(archive, "x", &mut self.x)?;
        archive.nested("v", |archive| self.v.state(archive))?;
        archive.numbers("y_hat", &mut self.y_hat)?;
        archive.numbers("y_bar", &mut self.y_bar)?;
        archive.numbers("minorant_slope", &mut self.minorant_slope)?;
        archive.number("minorant_constant", &mut self.minorant_constant)?;
        archive.number("charges", &mut self.charges)?;
        archive.nested("bounds", |archive| self.bounds.state(archive))?;
        archive.nested("best", |archive| self.best.state(archive, &self.oracles))?;
        archive.nested("floor", |archive| self.floor.state(archive))?;
        archive.nested("stall", |archive| self.stall.state(archive))?;
        if let Some(improver) = &mut self.improver {
            archive.nested("improver", |archive| improver.state(archive))?;
        }
        archive.nested("y_confidence", |archive| self.y_confidence.state(archive))?;
        archive.count("next_look", &mut self.next_look)
    }
}
