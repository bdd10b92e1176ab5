//! Certified MPCGS: the method of the paper with block constants found by backtracking, conditions
//! that are checked instead of assumed, and bounds computed from what was reached. The proof is in
//! docs/theory.md.

use super::certified_settings::CertifiedSettings;
use super::hull_search::{Candidate, HullSearch};
use super::lower_bound::{MixedY, Numbers};
use super::points::{InnerGoal, InnerSolve, Move, PointSpace, Trial};
use super::y_solve::{Response, YSolver};
use crate::certificate::{Bounds, Certificate, GapScratch, fw_gap};
use crate::domain::SlideState;
use crate::error::{Block, Error, Result};
use crate::oracles::{Bend, Ledger, MaybeOwned, Oracles, check_order};
use crate::problem::PointX;
use crate::run::{Algorithm, Fact, Stall, Step};
use crate::solver::inner::{InnerX, inner_x};
use crate::solver::{Inner, MethodSettings, Start};
use crate::state::Archive;
use crate::watch::Watch;

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
    /// A bound of `max_y f(x_k, y)`, `f(x_k, y_k) + eps_k`, and what is charged to it for rounding.
    upper: f64,
    rounding: f64,
    /// The numbers of the linear minorant of `f(., y_k)`: its constant is `f(z_k, y_k) - <grad_x f(z_k, y_k), z_k>`.
    minorant: Numbers,
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
    y_solver: YSolver,
    inner_budget: u64,
    diameter: f64,
    /// The size of the value, and of gradients times points, at the start.
    size: f64,
    k: u64,
    lhat: f64,
    highest_lhat: f64,
    /// `x_k`, the `v`s, the best `x`, and the minorants.
    space: PointSpace,
    /// `x_r`, then `x_k`, and `z_k`: their images alone.
    trial_x: PointX,
    z: PointX,
    /// `y_r`, then `y_k`.
    y: Vec<f64>,
    /// The response to `x_r`, then to `x_k`.
    y_hat: Vec<f64>,
    y_bar: MixedY,
    /// `sum_s s(s+1)(s+2) (eps_s + chi_s) + sum_s 3 s(s+1) zeta_s`.
    charges: f64,
    bounds: Bounds,
    best: Best,
    stall: Stall,
    hull_search: Option<HullSearch>,
    /// The iteration from which on the minorant at `x_k` is worth a gradient again.
    next_look: u64,
    /// What bounds of earlier points were not charged with, as the last iteration found.
    late: f64,
}

/// What is certified of the best `x` (by its upper bound) and the best `y` (by its lower bound) so far: together the best
/// pair.
struct Best {
    certificate: Certificate,
    upper: f64,
    lower: f64,
    y: Vec<f64>,
}

impl<'a> Certified<'a> {
    /// Certified MPCGS at its start point; evaluates the FW-gap there.
    ///
    /// # Errors
    /// Dimensions that disagree, an oracle or a constant that an inner solve needs and that is
    /// missing, a start point outside its set, values or gradients that are not finite.
    pub fn new(start: Start<'a, '_>, settings: &CertifiedSettings) -> Result<Self> {
        Certified::of(MaybeOwned::Borrowed(start.problem), start, settings)
    }

    /// The same for another problem on the sets of the start, which may be owned: a batch.
    pub(in crate::solver) fn of(
        problem: MaybeOwned<'a>,
        start: Start<'a, '_>,
        settings: &CertifiedSettings,
    ) -> Result<Self> {
        settings.check()?;
        let mut oracles = Oracles::of(problem, start.x_set, start.y_set)?;
        let budget = settings.inner_budget;
        let y_solver = YSolver::new(&mut oracles, settings.inner_y, budget)?;
        let way = inner_x(&mut oracles, settings.inner_x)?;
        let (x, y) = start.points(&mut oracles)?;
        let hull_search = match settings.hull_points {
            0 => None,
            points => {
                let search = HullSearch::new(points, &x, y.len());
                Some(if way == InnerX::Atoms { search.over_atoms() } else { search })
            }
        };
        let (first, size) = first_gap(&mut oracles, &x, &y)?;
        let (trial_x, z) = (x.room_for_image(), x.room_for_image());
        let (inner, history) = (InnerSolve { way, budget }, settings.hull_points.saturating_sub(3));
        let space = PointSpace::new(&mut oracles, inner, x, y.len(), history);
        Ok(Certified {
            oracles,
            y_solver,
            inner_budget: budget,
            diameter: start.x_set.diameter(),
            size,
            k: 0,
            lhat: settings.first_lhat.unwrap_or(0.0),
            highest_lhat: 0.0,
            space,
            trial_x,
            z,
            y_hat: y.clone(),
            y_bar: MixedY::new(y.clone()),
            charges: 0.0,
            bounds: Bounds::NONE,
            best: Best::new(first, y.clone()),
            y,
            stall: Stall::new(),
            hull_search,
            next_look: 2,
            late: 0.0,
        })
    }

    /// Starts anew from the present `x` with another problem on the same sets, one that is close to the
    /// last: the hull search keeps its points, and `Lhat` is sought from below its present value.
    pub(in crate::solver) fn move_to(
        &mut self,
        problem: MaybeOwned<'a>,
        inner_y: Inner,
    ) -> Result<()> {
        self.take_problem(problem, inner_y)?;
        self.space.move_to(&mut self.oracles)?;
        let (first, size) = first_gap(&mut self.oracles, self.space.x(), &self.best.y)?;
        self.size = size;
        self.y_hat.copy_from_slice(&self.best.y);
        self.best = Best::new(first, self.y_hat.clone());
        self.k = 0;
        (self.next_look, self.stall) = (2, Stall::new());
        self.lhat *= FRESH; // found again by raising, which costs no gradient
        self.charges = 0.0;
        self.bounds = Bounds::NONE;
        self.space.find_structure(&mut self.oracles);
        Ok(())
    }

    /// Takes another problem on the same sets, of which the state is then loaded.
    pub(in crate::solver) fn make_room(
        &mut self,
        problem: MaybeOwned<'a>,
        inner_y: Inner,
    ) -> Result<()> {
        self.take_problem(problem, inner_y)?;
        self.space.find_structure(&mut self.oracles);
        Ok(())
    }

    /// Takes another function of the same image, which differs in `y` alone.
    pub(super) fn take_function(&mut self, problem: MaybeOwned<'a>, inner_y: Inner) -> Result<()> {
        self.oracles.replace_problem(problem);
        self.y_solver = YSolver::new(&mut self.oracles, inner_y, self.inner_budget)?;
        Ok(())
    }

    /// Starts anew from the best `x` with another function of the same image, which differs in `y` alone and is larger by `shift` at
    /// the `y` of the best lower bound; at the best `x` it is at most `upper` for every `y`.
    pub(super) fn begin_stage(
        &mut self,
        problem: MaybeOwned<'a>,
        inner_y: Inner,
        upper: f64,
        shift: f64,
    ) -> Result<()> {
        self.take_function(problem, inner_y)?;
        self.space.restart_from_best(&mut self.oracles, shift);
        let Certified { oracles, space, best, .. } = self;
        best.upper = upper;
        if space.bound.value > f64::NEG_INFINITY {
            best.lower = space.bound.value - space.bound.mixed.charge(oracles, space.x());
            best.y.copy_from_slice(&space.bound.mixed.y);
        }
        let confidence = oracles.confidence();
        best.certificate = Certificate::between(best.lower, best.lower, upper, confidence);
        (self.k, self.charges, self.bounds) = (0, 0.0, Bounds::NONE);
        (self.next_look, self.stall) = (2, Stall::new());
        Ok(())
    }

    fn take_problem(&mut self, problem: MaybeOwned<'a>, inner_y: Inner) -> Result<()> {
        self.form_vectors()?;
        let (x_set, y_set) = (self.oracles.x_set, self.oracles.y_set);
        let watch = self.oracles.watch().clone();
        let oracles = Oracles::of(problem, x_set, y_set)?;
        let earlier = std::mem::replace(&mut self.oracles, oracles);
        self.oracles.keep_atoms_of(earlier);
        self.attend(&watch);
        self.y_solver = YSolver::new(&mut self.oracles, inner_y, self.inner_budget)?;
        self.space.make_room_for(&self.oracles);
        let x = self.space.x();
        (self.trial_x, self.z) = (x.room_for_image(), x.room_for_image());
        if let Some(hull_search) = &mut self.hull_search {
            hull_search.make_room(x);
        }
        Ok(())
    }

    /// Takes this watch in place of its own.
    pub(in crate::solver) fn attend(&mut self, watch: &Watch) {
        self.oracles.attend(watch);
    }

    /// Forms the vectors of all points, wherever they were kept in another way.
    pub(in crate::solver) fn form_vectors(&mut self) -> Result<()> {
        self.space.form_vectors(&mut self.oracles)
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

    /// `x_k`, as a problem sees it, with what rounding in its image may hide of `f`, and a `y` that responds to it.
    pub(super) fn present(&self) -> (&PointX, f64, &[f64]) {
        (self.space.x(), self.space.rounding(), &self.y_hat)
    }

    /// The problem and its sets as it sees them.
    pub(super) fn oracles(&self) -> &Oracles<'a> {
        &self.oracles
    }

    /// What upper bounds of points before the last iteration were not charged with: how far their images are found to be off.
    pub(super) fn late(&self) -> f64 {
        self.late
    }

    /// Whether `x_k` is the best `x`.
    pub(super) fn best_is_present(&self) -> bool {
        self.space.best_is_present()
    }

    /// The best lower bound of `min f(., y)`, and its `y`.
    pub(super) fn best_lower(&self) -> (f64, &[f64]) {
        (self.best.lower, &self.best.y)
    }

    /// The `y` of the best mixture of minorants.
    pub(super) fn mixed(&self) -> &[f64] {
        &self.space.bound.mixed.y
    }

    /// The average `ybar_k`.
    #[must_use]
    pub fn y_bar(&self) -> &[f64] {
        &self.y_bar.y
    }

    /// `Lhat D_X^2 / (k (k+1) (k+2))`: what condition (a) asks of `eps_k`.
    fn eps_target(&self, k: f64) -> f64 {
        self.lhat * self.diameter.powi(2) / (k * (k + 1.0) * (k + 2.0))
    }

    /// What condition (b) asks of a slide.
    fn inner_goal(&self, k: f64) -> InnerGoal {
        let needed = self.lhat * self.diameter.powi(2) / (100.0 * k * (k + 1.0));
        InnerGoal { needed, present: self.best.certificate.gap }
    }

    /// How well the inner y-solve must do for (a) to be decided.
    fn response_accuracy(&self, k: f64) -> f64 {
        let from_gap = 1e-2 * self.best.certificate.gap / k;
        let target = self.eps_target(k);
        let wanted = if target > 0.0 { (target / 64.0).min(from_gap) } else { from_gap };
        // no use in asking for less than rounding leaves
        wanted.max(1e-3 * f64::EPSILON * self.best.upper.abs())
    }

    /// `y` answers `z_k`; from `y_hat`, the last response.
    fn respond_to_z(&mut self, k: f64) -> Result<Response> {
        let accuracy = self.response_accuracy(k);
        self.y.copy_from_slice(&self.y_hat);
        self.y_solver.respond(&mut self.oracles, &self.z, accuracy, &mut self.y)
    }

    /// `y_hat` answers `x_r`; from `y`.
    fn respond_to_trial(&mut self, k: f64) -> Result<Response> {
        let accuracy = self.response_accuracy(k);
        self.y_hat.copy_from_slice(&self.y);
        self.y_solver.respond(&mut self.oracles, &self.trial_x, accuracy, &mut self.y_hat)
    }

    /// One iteration up to the acceptance of `(x_k, y_k, v_k)`, which are then in `trial_x`, `y` and the last trial of the
    /// space.
    fn prox_step(&mut self, k: f64, gamma: f64) -> Result<std::result::Result<Accepted, Step>> {
        // z_k = (1 - gamma) x_{k-1} + gamma v_{k-1}
        self.space.begin_iteration(&mut self.oracles)?;
        self.space.between(&self.oracles, gamma, &mut self.z);

        // y_1 answers z_k, which is closer to x_k than x_{k-1} is and costs no product either
        if self.respond_to_z(k)?.state == SlideState::OutOfBudget {
            return Ok(Err(Step::InnerBudget(Block::Y)));
        }
        self.space.take_gradient(&mut self.oracles, &self.z, &self.y)?;
        if self.lhat == 0.0 {
            let guess = FIRST_GUESS * self.space.gradient_length() / self.diameter;
            self.lhat = if guess > 0.0 && guess.is_finite() { guess } else { 1.0 };
        }

        let mut failed_rounds = 0;
        let most_rounds = ROUNDS + (0.5 * k.log2()) as u32;
        let mut ceiling = f64::INFINITY;
        while self.lhat <= ceiling {
            // v_r = argmin <g, u> + alpha/2 |u - v_{k-1}|^2 with (b), and x_r = (1 - gamma) x_{k-1} + gamma v_r
            let (alpha, goal) = (6.0 * self.lhat / (k + 1.0), self.inner_goal(k));
            let trial = self.space.try_step(&mut self.oracles, alpha, goal)?;
            let Trial { zeta, slope, square } = match trial {
                Ok(trial) => trial,
                Err(step) => return Ok(Err(step)),
            };
            self.space.between_trial(&self.oracles, gamma, &mut self.trial_x);

            // (c) f(x_k, y_k) <= f(z_k, y_k) + <grad_x, x_k - z_k> + gamma alpha/2 |v_k - v_{k-1}|^2 + chi
            let bend = self.oracles.bend_x(&self.z, &self.trial_x, &self.y, gamma * slope)?;
            let allowed = 0.5 * gamma * alpha * square;
            Bend::new(bend, gamma * slope).check(Block::X, || self.size)?;
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
            if -change.value > response.gap {
                check_order(
                    "f is not concave in y, or grad_y is not its gradient, or the best response is none",
                    ("what y can gain on the response to x", response.gap),
                    ("another y, which gains", -change.value),
                    self.size.max(0.5 * change.rounding / f64::EPSILON),
                )?;
            }
            let eps = change.value.max(0.0) + response.gap + change.rounding;
            let floor = 4.0 * (response.gap + change.rounding);
            if eps <= self.eps_target(k).max(floor) {
                let value = self.oracles.value(&self.trial_x, &self.y)?;
                let of_value = self.oracles.rounding(&self.trial_x, &self.y, value);
                // the minorant through z_k, by its value at x_k
                let mut minorant =
                    self.space.minorant(&self.oracles, &self.trial_x, value, &of_value);
                minorant.constant -= bend.value;
                minorant.error += bend.rounding + self.space.stale();
                minorant.error += 4.0 * f64::EPSILON * (value.abs() + bend.value.abs());
                let [of_x, _] = self.oracles.charge_of_slack(&of_value);
                let rounding = of_value.value + of_x + 4.0 * f64::EPSILON * (value.abs() + eps);
                let upper = value + eps + rounding;
                return Ok(Ok(Accepted { upper, rounding, minorant, eps, zeta, chi, needed }));
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
            self.space.take_gradient(&mut self.oracles, &self.z, &self.y)?;
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

    /// Looks for a better point than `x_k` in the hull of the last ones, where that is due; returns its upper bound.
    fn search_hull(&mut self, gamma: f64, upper: f64) -> Result<Option<f64>> {
        let Certified { oracles, y_solver, space, trial_x, y_hat, hull_search, best, .. } = self;
        match hull_search {
            Some(search) if search.is_due() => {
                let (images, count) = space.hull();
                let candidate = Candidate { x: trial_x, y_hat, upper };
                let gap = best.certificate.gap;
                search.search(oracles, y_solver, &images[..count], gamma, candidate, gap)
            }
            _ => Ok(None),
        }
    }

    /// Moves on to the accepted point, or to a better one in the hull of the last ones, and keeps the
    /// old `x` where its upper bound is the better one. Returns the bound of `max_y f(x_k, y)`.
    fn accept(&mut self, gamma: f64, accepted: &Accepted) -> Result<f64> {
        let better = self.search_hull(gamma, accepted.upper)?;
        // bounds of points before this one were not charged with what their images are found to be off by
        self.late = self.space.take_trial(&mut self.oracles)?;
        self.best.upper += self.late;
        let upper = better.unwrap_or(accepted.upper) + self.space.rounding();
        if upper <= self.best.upper {
            self.best.upper = upper;
            self.space.best_is_next();
        } else {
            self.space.keep_best();
        }
        let step = match better.and(self.hull_search.as_ref()) {
            Some(search) => Move::Combine(search.weights()),
            None => Move::Toward(gamma),
        };
        self.space.advance(&self.oracles, step, &mut self.trial_x);
        if let Some(hull_search) = &mut self.hull_search {
            hull_search.advance();
        }
        self.y_bar.step(gamma, &self.y);
        self.oracles.repair(Block::Y, &mut self.y_bar.y);
        Ok(upper)
    }

    /// The bounds `B_k` and `C_k`, and the certificates that come with the gradients already there.
    /// Returns what the bounds were charged with for rounding.
    fn certify(&mut self, k: f64, gamma: f64, accepted: Accepted, upper: f64) -> Result<f64> {
        let Accepted { minorant, eps, zeta, chi, rounding, .. } = accepted;

        // f(u, y_k) >= constant + <gradient, u>, and so on average
        let Certified { oracles, space, best, y_bar, .. } = self;
        let average = oracles.certifying(|o| space.average(o, gamma, &minorant))?;
        let of_sums = space.average_numbers.charge(oracles);
        let of_y = y_bar.charge(oracles, space.x());
        let lower = space.average_numbers.constant + average.lower - of_sums;

        let weight = k * (k + 1.0) * (k + 2.0);
        self.charges += weight * (eps + chi) + 3.0 * k * (k + 1.0) * zeta;
        let theorem = (9.0 * k * self.lhat * self.diameter.powi(2) + self.charges) / weight;
        // the theorem is about numbers that do not round: what both bounds were charged with comes on top
        let rounding = rounding + space.rounding() + of_sums + of_y;
        self.bounds.schedule = theorem + rounding;
        self.bounds.minorant = (upper - (lower - of_y)).min(self.bounds.schedule);

        let worth = WORTH * best.certificate.gap;
        oracles.certifying(|o| space.absorb(o, minorant, &self.y, worth))?;
        if lower > space.bound.value {
            space.average_is_best(y_bar, lower);
        }
        self.look_at_x(k, worth)?;

        let Certified { oracles, space, best, .. } = self;
        let lower = space.bound.value - space.bound.mixed.charge(oracles, space.x());
        if lower > best.lower {
            best.lower = lower;
            best.y.copy_from_slice(&space.bound.mixed.y);
        }
        let value = oracles.certifying(|o| o.value(space.best(), &best.y))?;
        best.check(value, self.size)?;
        // every bound so far may be the best one: the certificate rests on all of them
        let confidence = oracles.confidence();
        best.certificate = Certificate::between(best.lower, value, best.upper, confidence);
        Ok(rounding)
    }

    /// The minorant at `(x_k, yhat)` costs a gradient, on the certificate's account: a quarter of the method's at the
    /// most, and more rarely where it brings nothing.
    fn look_at_x(&mut self, k: f64, worth: f64) -> Result<()> {
        let Certified { oracles, space, best, y_hat, .. } = self;
        let (spent, own) = (oracles.ledger.certificate.grad_x, oracles.ledger.method.grad_x);
        if (k as u64) < self.next_look || 4 * (spent + 1) > own {
            return Ok(());
        }
        let before = space.bound.value;
        oracles.certifying(|o| match space.gradient_at_x(o, y_hat)? {
            Some(numbers) => space.absorb(o, numbers, y_hat, worth),
            None => Ok(()),
        })?;
        let pays = space.bound.value - before > 0.1 * (best.upper - before);
        self.next_look = if pays { k as u64 + 1 } else { 2 * k as u64 };
        Ok(())
    }
}

/// The FW-gap at the start, and the size of its numbers.
fn first_gap(oracles: &mut Oracles<'_>, x: &PointX, y: &[f64]) -> Result<(Certificate, f64)> {
    let mut scratch = GapScratch::without_vertex(x.x.len(), y.len());
    let certificate = oracles.certifying(|o| fw_gap(o, x, y, &mut scratch))?;
    let size = scratch.size(oracles, &certificate, &x.x, y);
    Ok((certificate, size))
}

impl Best {
    /// The start point with its FW-gap.
    fn new(first: Certificate, y: Vec<f64>) -> Self {
        let Certificate { upper, lower, .. } = first;
        Best { certificate: first, upper, lower, y }
    }

    /// Fails where the value at the best pair clearly lies outside of its bounds.
    fn check(&self, value: f64, size: f64) -> Result<()> {
        if value < self.lower {
            check_order(
                "f is not convex in x, or grad_x is not its gradient, or a minimum over the set of x is none",
                ("a lower bound of f(., y)", self.lower),
                ("the value at a point of the set,", value),
                size,
            )?;
        }
        if value > self.upper {
            check_order(
                "f is not concave in y, or grad_y is not its gradient, or the best response is none",
                ("an upper bound of f(x, .)", self.upper),
                ("the value at a point of the set,", value),
                size,
            )?;
        }
        Ok(())
    }

    fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.nested("certificate", |archive| self.certificate.state(archive))?;
        archive.number("upper", &mut self.upper)?;
        archive.number("lower", &mut self.lower)?;
        archive.numbers("y", &mut self.y)
    }
}

impl Algorithm for Certified<'_> {
    fn name(&self) -> &'static str {
        CertifiedSettings::ABOUT.name
    }

    fn step(&mut self) -> Result<Step> {
        let k = (self.k + 1) as f64;
        let gamma = 3.0 / (k + 2.0);
        let accepted = match self.prox_step(k, gamma)? {
            Ok(accepted) => accepted,
            Err(step) => return Ok(step),
        };
        let upper = self.accept(gamma, &accepted)?;
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
        (self.space.best_vector(&*self.oracles.problem), &self.best.y)
    }

    fn current(&self) -> (&[f64], &[f64]) {
        (self.space.x_vector(&*self.oracles.problem), &self.y_bar.y)
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

    fn watch(&self) -> &Watch {
        self.oracles.watch()
    }

    fn facts(&self) -> Vec<Fact> {
        vec![Fact { name: "Lhat", value: self.lhat }]
    }

    /// Trial points, `z` and `y` are made anew in every iteration.
    fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        // before the ledger, for loading may have to go on with vectors, whose products are then not counted
        archive.nested("space", |archive| self.space.state(archive, &mut self.oracles))?;
        archive.nested("oracles", |archive| self.oracles.state(archive))?;
        archive.nested("y_solver", |archive| self.y_solver.state(archive))?;
        archive.count("k", &mut self.k)?;
        archive.magnitude("lhat", &mut self.lhat)?;
        archive.number("size", &mut self.size)?;
        archive.number("highest_lhat", &mut self.highest_lhat)?;
        archive.numbers("y_hat", &mut self.y_hat)?;
        archive.nested("y_bar", |archive| self.y_bar.state(archive))?;
        archive.number("charges", &mut self.charges)?;
        archive.nested("bounds", |archive| self.bounds.state(archive))?;
        archive.nested("best", |archive| self.best.state(archive))?;
        archive.nested("stall", |archive| self.stall.state(archive))?;
        if let Some(hull_search) = &mut self.hull_search {
            archive.nested("hull_search", |archive| hull_search.state(archive))?;
        }
        archive.count("next_look", &mut self.next_look)
    }
}

#[cfg(test)]
mod tests;
