//! Certified MPCGS: the method of the paper with block constants found by backtracking, conditions
//! that are checked instead of assumed, and bounds computed from what was reached. The proof is in
//! docs/theory.md.

use super::certified_settings::CertifiedSettings;
use super::hull_search::{Candidate, HullSearch, Model};
use super::lower_bound::{MixedY, Numbers};
use super::pace::{Pace, check_strong_convexity};
use super::points::{InnerGoal, InnerSolve, Move, PointSpace, Trial};
use super::schedule::Schedule;
use super::y_solve::{Response, YSolver};
use crate::certificate::{Bounds, Certificate, GapScratch, fw_gap};
use crate::domain::SlideState;
use crate::error::{Block, Error, Result};
use crate::oracles::{Bend, Ledger, MaybeOwned, Oracles, check_order};
use crate::problem::PointX;
use crate::run::{Algorithm, Fact, Stall, Step};
use crate::solver::inner::inner_x;
use crate::solver::{Inner, MethodSettings, Start};
use crate::state::Archive;
use crate::watch::Watch;

/// The most that an iteration may leave in (d), as a share of the certified gap over k and of the prox term.
const OF_GAP: f64 = 0.05;
const OF_STEP: f64 = 0.05;
/// The accuracy of responses, relative to the prox term of the iteration before.
const ACCURACY: f64 = 0.01;
/// Iterations from one look at `x_k` to the next at the most.
const LONGEST_WAIT: u64 = 8;
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
    /// The weight of the step.
    gamma: f64,
    /// A bound of `max_y f(x_k, y)`, `f(x_k, yhat)` with the bound of the response, and what is charged to it for rounding.
    upper: f64,
    rounding: f64,
    /// The numbers of the linear minorant of `f(., y_k)`: its constant is `f(z_k, y_k) - <grad_x f(z_k, y_k), z_k>`.
    minorant: Numbers,
    /// The `delta_k` and `zeta_k` reached.
    delta: f64,
    zeta: f64,
    /// The `Lhat` that condition (d) would have been content with.
    needed: f64,
    /// The prox term, and the curvature of `max_y f` between `z_k` and `x_k`.
    allowed: f64,
    curvature: f64,
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
    /// The prox term of the last iteration.
    allowed: f64,
    schedule: Schedule,
    /// How weights grow in place of that, where `f(., y)` is known to be strongly convex.
    pace: Option<Pace>,
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
        check_strong_convexity(&oracles)?;
        let (x, y) = start.points(&mut oracles)?;
        let hull_search = match settings.hull_points {
            0 => None,
            points => Some(HullSearch::new(points, &x, y.len())),
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
            pace: space.mu_x().map(Pace::new),
            space,
            trial_x,
            z,
            y_hat: y.clone(),
            y_bar: MixedY::new(y.clone()),
            allowed: f64::INFINITY,
            schedule: Schedule::new(first.gap, first.upper),
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
        (self.k, self.schedule) = (0, Schedule::new(first.gap, first.upper));
        self.allowed = f64::INFINITY;
        (self.next_look, self.stall) = (2, Stall::new());
        self.lhat *= FRESH; // found again by raising, which costs no gradient
        self.bounds = Bounds::NONE;
        self.find_structure();
        Ok(())
    }

    /// Takes up what suits the problem best.
    fn find_structure(&mut self) {
        self.space.find_structure(&mut self.oracles);
        self.pace = self.space.mu_x().map(Pace::new);
    }

    /// Takes another problem on the same sets, of which the state is then loaded.
    pub(in crate::solver) fn make_room(
        &mut self,
        problem: MaybeOwned<'a>,
        inner_y: Inner,
    ) -> Result<()> {
        self.take_problem(problem, inner_y)?;
        self.find_structure();
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
        (self.k, self.bounds) = (0, Bounds::NONE);
        self.schedule = Schedule::new(self.best.certificate.gap, upper);
        self.allowed = f64::INFINITY;
        self.pace = self.pace.map(|pace| Pace::new(pace.mu));
        (self.next_look, self.stall) = (2, Stall::new());
        Ok(())
    }

    fn take_problem(&mut self, problem: MaybeOwned<'a>, inner_y: Inner) -> Result<()> {
        self.form_vectors()?;
        let (x_set, y_set) = (self.oracles.x_set, self.oracles.y_set);
        let watch = self.oracles.watch().clone();
        let oracles = Oracles::of(problem, x_set, y_set)?;
        check_strong_convexity(&oracles)?;
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

    /// The weight of step k.
    fn gamma(&self, k: f64) -> f64 {
        self.pace.map_or(3.0 / (k + 2.0), |pace| pace.gamma(self.lhat))
    }

    /// The weight of the prox term in step k.
    fn alpha(&self, k: f64, gamma: f64) -> f64 {
        match self.pace {
            Some(_) => Pace::alpha(self.lhat, gamma),
            None => 6.0 * self.lhat / (k + 1.0),
        }
    }

    /// `Lhat D_X^2 / (k (k+1) (k+2))`: what the bound of the theorem allows for `delta_k`.
    fn delta_target(&self, k: f64) -> f64 {
        if let Some(pace) = self.pace {
            return Pace::eps_target(pace.gamma(self.lhat), self.best.certificate.gap);
        }
        self.lhat * self.diameter.powi(2) / (k * (k + 1.0) * (k + 2.0))
    }

    /// What condition (b) asks of a slide.
    fn inner_goal(&self, k: f64) -> InnerGoal {
        let needed = match self.pace {
            Some(_) if k > 1.0 => Pace::zeta_target(self.bounds.schedule),
            _ => self.lhat * self.diameter.powi(2) / (100.0 * k * (k + 1.0)),
        };
        InnerGoal { needed, present: self.best.certificate.gap }
    }

    /// How well the inner y-solve must do for (d) to be decided.
    fn response_accuracy(&self, k: f64) -> f64 {
        let share = self.pace.map_or(1.0 / k, |pace| pace.gamma(self.lhat));
        let from_gap = 1e-2 * self.best.certificate.gap * share;
        let target = self.delta_target(k);
        let wanted = if target > 0.0 { (target / 64.0).min(from_gap) } else { from_gap };
        // close to a solution max_y f changes by far less than the gap; sliding cannot follow that
        let follows = self.y_solver.is_linear();
        let wanted = if follows { wanted.min(ACCURACY * self.allowed) } else { wanted };
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

    /// Starts the weights anew from the best `x`, which becomes `v` too. Bounds and the mixture of minorants stay.
    fn start_anew(&mut self) {
        self.space.restart_from_best(&mut self.oracles, 0.0);
        self.schedule.start_anew(self.best.certificate.gap);
        if let Some(hull_search) = &mut self.hull_search {
            hull_search.restart();
        }
    }

    /// `z_k = (1 - gamma) x_{k-1} + gamma v_{k-1}`, the response to it and the gradient there. Returns what `y` may still gain; a step
    /// where the response has run out of budget.
    fn set_out(&mut self, k: f64, gamma: f64) -> Result<std::result::Result<f64, Step>> {
        self.space.between(&self.oracles, gamma, &mut self.z);
        // y_k answers z_k, which is closer to x_k than x_{k-1} is and costs no product either
        let response = self.respond_to_z(k)?;
        if response.state == SlideState::OutOfBudget {
            return Ok(Err(Step::InnerBudget(Block::Y)));
        }
        self.space.take_gradient(&mut self.oracles, (&self.z, gamma), &self.y)?;
        Ok(Ok(response.gap))
    }

    /// One iteration up to the acceptance of `(x_k, y_k, v_k)`, which are then in `trial_x`, `y` and the last trial of the
    /// space.
    fn prox_step(&mut self, k: f64) -> Result<std::result::Result<Accepted, Step>> {
        self.space.begin_iteration(&mut self.oracles)?;
        let mut gamma = self.gamma(k);
        let mut left = match self.set_out(k, gamma)? {
            Ok(gap) => gap,
            Err(step) => return Ok(Err(step)),
        };
        if self.lhat == 0.0 {
            let guess = FIRST_GUESS * self.space.gradient_length() / self.diameter;
            self.lhat = if guess > 0.0 && guess.is_finite() { guess } else { 1.0 };
        }

        let mut ceiling = f64::INFINITY;
        while self.lhat <= ceiling {
            if gamma != self.gamma(k) {
                // weights grow more slowly where Lhat has risen: z_k is another point
                gamma = self.gamma(k);
                left = match self.set_out(k, gamma)? {
                    Ok(gap) => gap,
                    Err(step) => return Ok(Err(step)),
                };
            }
            // v_k = argmin <g, u> + alpha/2 |u - v_{k-1}|^2 with (b), and x_k = (1 - gamma) x_{k-1} + gamma v_k
            let (alpha, goal) = (self.alpha(k, gamma), self.inner_goal(k));
            let trial = self.space.try_step(&mut self.oracles, alpha, goal)?;
            let Trial { zeta, slope, square } = match trial {
                Ok(trial) => trial,
                Err(step) => return Ok(Err(step)),
            };
            self.space.between_trial(&self.oracles, gamma, &mut self.trial_x);

            // (d) max_y f(x_k, y) <= l_k(x_k) + gamma alpha/2 |v_k - v_{k-1}|^2 + delta
            let bend = self.oracles.bend_x(&self.z, &self.trial_x, &self.y, gamma * slope)?;
            let allowed = 0.5 * gamma * alpha * square;
            Bend::new(bend, gamma * slope).check(Block::X, || self.size)?;
            // the quadratic of a strongly convex minorant, where that is known
            let quadratic = match self.pace {
                Some(pace) => {
                    let Certified { oracles, trial_x, y, .. } = &mut *self;
                    pace.quadratic(bend, gamma * slope, gamma * gamma * square, || {
                        let value = oracles.certifying(|o| o.value(trial_x, y))?;
                        Ok(oracles.rounding(trial_x, y, value))
                    })?
                }
                None => 0.0,
            };
            let bent = bend.value - quadratic;
            if bent - allowed > bend.rounding {
                self.raise_lhat(bent, allowed, &mut ceiling); // whatever the response
                continue;
            }
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
            let gain = change.value.max(0.0);
            let excess = bent + gain - allowed;
            let noise = bend.rounding + change.rounding + response.gap;
            let delta = (excess + noise).max(0.0);
            let most = self.delta_target(k).min(OF_GAP * self.best.certificate.gap / k);
            if excess <= most.min(OF_STEP * allowed) || delta <= 4.0 * (noise + left) {
                let needed =
                    if allowed > 0.0 { self.lhat * (bent + gain + noise) / allowed } else { 0.0 };
                let curvature = 2.0 * (bend.value + gain) / (gamma * gamma * square);
                let eps = gain + response.gap + change.rounding;
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
                return Ok(Ok(Accepted {
                    gamma,
                    upper,
                    rounding,
                    minorant,
                    delta,
                    zeta,
                    needed,
                    allowed,
                    curvature,
                }));
            }
            self.raise_lhat(bent + gain, allowed, &mut ceiling);
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

    /// Raises `Lhat` to what a step needs that bends by so much, and notes where that would run away.
    fn raise_lhat(&mut self, bent: f64, allowed: f64, ceiling: &mut f64) {
        let needed = if allowed > 0.0 { self.lhat * bent / allowed } else { 0.0 };
        *ceiling = ceiling.min(RUNAWAY * self.lhat.max(needed));
        self.lhat = (1.05 * needed).clamp(1.4 * self.lhat, 16.0 * self.lhat);
    }

    /// Looks for a better point than `x_k` in the hull of the last ones, where that is due; returns its upper bound.
    fn search_hull(&mut self, gamma: f64, accepted: &Accepted) -> Result<Option<f64>> {
        let Certified { oracles, y_solver, space, trial_x, y_hat, hull_search, best, .. } = self;
        match hull_search {
            Some(search) if search.is_due() => {
                let (images, count) = space.hull();
                let candidate = Candidate { x: trial_x, y_hat, upper: accepted.upper };
                let gap = best.certificate.gap;
                if !oracles.has_operator() {
                    // there a gradient at x_k would be a whole one
                    let model =
                        Model { gradient: space.image_gradient(), curvature: accepted.curvature };
                    let images = &images[..count];
                    return search
                        .step_from_z(oracles, y_solver, images, gamma, candidate, gap, model);
                }
                search.search(oracles, y_solver, &images[..count], gamma, candidate, gap)
            }
            _ => Ok(None),
        }
    }

    /// Moves on to the accepted point, or to a better one in the hull of the last ones, and keeps the
    /// old `x` where its upper bound is the better one. Returns the bound of `max_y f(x_k, y)`, and whether the way there led uphill.
    fn accept(&mut self, gamma: f64, accepted: &Accepted) -> Result<(f64, bool)> {
        let better = self.search_hull(gamma, accepted)?;
        let uphill = self.space.is_uphill(&self.oracles, &self.trial_x);
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
        Ok((upper, uphill))
    }

    /// The bounds `B_k` and `C_k`, and the certificates that come with the gradients already there.
    /// Returns what the bounds were charged with for rounding.
    fn certify(&mut self, accepted: Accepted, upper: f64) -> Result<f64> {
        let Accepted { gamma, minorant, delta, zeta, rounding, .. } = accepted;

        let theorem = match &mut self.pace {
            Some(pace) => pace.step(self.lhat, gamma, [delta, zeta], self.diameter),
            None => self.schedule.step(self.lhat, [delta, zeta], self.diameter),
        };
        // f(u, y_k) >= constant + <gradient, u>, and so on average
        let Certified { oracles, space, best, y_bar, .. } = self;
        let worth = WORTH * best.certificate.gap.min(theorem);
        let average = oracles.certifying(|o| space.average(o, gamma, &minorant, worth))?;
        let of_sums = space.average_numbers.charge(oracles);
        let of_y = y_bar.charge(oracles, space.x());
        let lower = space.average_numbers.constant + average - of_sums;
        // the theorem is about numbers that do not round: what both bounds were charged with comes on top
        let rounding = rounding + space.rounding() + of_sums + of_y;
        self.bounds.schedule = theorem + rounding;
        self.bounds.minorant = (upper - (lower - of_y)).min(self.bounds.schedule);

        let worth = WORTH * best.certificate.gap;
        oracles.certifying(|o| space.absorb(o, minorant, &self.y, worth))?;
        if lower > space.bound.value {
            space.average_is_best(y_bar, lower);
        }
        self.look_at_x(worth)?;

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
    fn look_at_x(&mut self, worth: f64) -> Result<()> {
        let k = self.k + 1;
        let Certified { oracles, space, best, y_hat, .. } = self;
        let (spent, own) = (oracles.ledger.certificate.grad_x, oracles.ledger.method.grad_x);
        if k < self.next_look || 4 * (spent + 1) > own {
            return Ok(());
        }
        let before = space.bound.value;
        oracles.certifying(|o| match space.gradient_at_x(o, y_hat)? {
            Some(numbers) => space.absorb(o, numbers, y_hat, worth),
            None => Ok(()),
        })?;
        let pays = space.bound.value - before > 0.1 * (best.upper - before);
        self.next_look = k + if pays { 1 } else { k.min(LONGEST_WAIT) };
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
        if self.pace.is_none() && self.schedule.is_over(self.best.upper) {
            self.start_anew();
        }
        let k = match self.pace {
            Some(_) => (self.k + 1) as f64,
            None => self.schedule.next(),
        };
        let accepted = match self.prox_step(k)? {
            Ok(accepted) => accepted,
            Err(step) => return Ok(step),
        };
        let gamma = accepted.gamma;
        let (upper, uphill) = self.accept(gamma, &accepted)?;
        let rounding = self.certify(accepted, upper)?;
        self.k += 1;
        self.allowed = accepted.allowed;
        self.highest_lhat = self.highest_lhat.max(self.lhat);
        if accepted.needed < 0.7 * self.lhat {
            self.lhat *= self.pace.map_or(self.schedule.fall(), |_| Pace::fall(gamma));
        }
        if uphill && self.pace.is_none() && self.schedule.may_end(self.best.certificate.gap) {
            self.start_anew();
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
        archive.nested("schedule", |archive| self.schedule.state(archive))?;
        archive.number("allowed", &mut self.allowed)?;
        archive.magnitude("lhat", &mut self.lhat)?;
        archive.number("size", &mut self.size)?;
        archive.number("highest_lhat", &mut self.highest_lhat)?;
        archive.numbers("y_hat", &mut self.y_hat)?;
        archive.nested("y_bar", |archive| self.y_bar.state(archive))?;
        if let Some(pace) = &mut self.pace {
            archive.nested("pace", |archive| pace.state(archive))?;
        }
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
