//! Certified MPCGS: the method of the paper with block constants found by backtracking, conditions
//! that are checked instead of assumed, and bounds computed from what was reached. The proof is in
//! docs/theory.md.

use super::certified_settings::CertifiedSettings;
use super::gram_space::{Factored, Trial};
use super::hull_search::HullSearch;
use super::lower_bound::{LowerBound, Minorant};
use super::slope::{Gradient, Slope};
use super::y_solve::{Response, YSolver};
use crate::certificate::{Bounds, Certificate, GapScratch, fw_gap};
use crate::domain::{Confidence, SlideState, SlideTask};
use crate::error::{Block, Error, Result, check_finite};
use crate::linalg::{dot, dot_difference, norm, step_toward};
use crate::oracles::{Held, Ledger, Oracles};
use crate::problem::{Imaged, PointX};
use crate::run::{Algorithm, Fact, Stall, Step};
use crate::solver::inner::exact_x;
use crate::solver::{Inner, MethodSettings, Start};
use crate::state::Archive;
use std::sync::OnceLock;

/// Linear minimisations that an inner solve may spend on more accuracy than the bound asks for.
const POLISH_BUDGET: u64 = 200_000;

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
    y_solver: YSolver,
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
    /// The gradient in the image at `(z_k, y_r)`; once that is in the bounds, the one at `(x_k, yhat)`.
    in_image: Vec<f64>,
    /// The gradient itself where points are vectors, else room for it.
    gradient: Vec<f64>,
    /// Trials without operator products, as long as they are accurate enough. In place of vectors all points then have the
    /// coordinates that it keeps them by.
    factored: Option<Factored>,
    /// The vectors of `x_k` and of the best `x`, where they were asked for.
    formed: [OnceLock<Vec<f64>>; 2],
    /// The averaged linear minorant `u -> constant + <slope, u>`.
    average_slope: Slope,
    average_constant: f64,
    /// `sum_s s(s+1)(s+2) (eps_s + chi_s) + sum_s 3 s(s+1) zeta_s`.
    charges: f64,
    bounds: Bounds,
    best: Best,
    floor: LowerBound,
    stall: Stall,
    hull_search: Option<HullSearch>,
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
    pub fn new(start: Start<'a, '_>, settings: &CertifiedSettings) -> Result<Self> {
        Certified::of(Held::Lent(start.problem), start, settings)
    }

    /// The same for another problem on the sets of the start, which may be owned: a batch.
    pub(in crate::solver) fn of(
        problem: Held<'a>,
        start: Start<'a, '_>,
        settings: &CertifiedSettings,
    ) -> Result<Self> {
        settings.check()?;
        let mut oracles = Oracles::of(problem, start.x_set, start.y_set)?;
        let y_solver = YSolver::new(&oracles, settings.inner_y, settings.inner_budget)?;
        let exact_x = exact_x(&oracles, settings.inner_x)?;
        let (x, y) = start.points(&mut oracles)?;
        let hull_search = match settings.hull_points {
            0 => None,
            points => Some(HullSearch::new(points, &x, y.len())),
        };
        let (first, y_confidence) = first_gap(&mut oracles, &x, &y)?;
        let mut solver = Certified {
            y_solver,
            exact_x,
            inner_budget: settings.inner_budget,
            diameter: start.x_set.diameter(),
            k: 0,
            lhat: settings.first_lhat.unwrap_or(0.0),
            highest_lhat: 0.0,
            hull_search,
            stall: Stall::new(),
            y_confidence,
            next_look: 2,
            trial_x: x.room_for_image(),
            z: x.room_for_image(),
            v: Imaged::of(&x),
            trial_v: Imaged::room_for(&x),
            y_hat: y.clone(),
            y_bar: y.clone(),
            gradient: vec![0.0; x.x.len()],
            in_image: vec![0.0; x.image.len()],
            average_slope: Slope::vector(0),
            average_constant: 0.0,
            charges: 0.0,
            bounds: Bounds::NONE,
            floor: LowerBound::new(Slope::vector(0), y.len()),
            factored: None,
            formed: [OnceLock::new(), OnceLock::new()],
            best: Best {
                certificate: first,
                upper: first.upper,
                x_is_current: true,
                x: PointX { x: vec![0.0; x.x.len()], ..x.room_for_image() },
                lower: first.lower,
                y: y.clone(),
                confidence: first.confidence,
            },
            x,
            y,
            oracles,
        };
        solver.try_factors();
        Ok(solver)
    }

    /// Starts anew from the present `x` with another problem on the same sets, one that is close to the
    /// last: the hull search keeps its points, and `Lhat` is sought from below its present value.
    pub(in crate::solver) fn move_to(&mut self, problem: Held<'a>, inner_y: Inner) -> Result<()> {
        self.form_vectors()?;
        let (x_set, y_set) = (self.oracles.x_set, self.oracles.y_set);
        self.oracles = Oracles::of(problem, x_set, y_set)?;
        self.y_solver = YSolver::new(&self.oracles, inner_y, self.inner_budget)?;
        let mut start = PointX::new(&*self.oracles.problem);
        std::mem::swap(&mut start.x, &mut self.x.x);
        self.oracles.image(&start.x, &mut start.image)?;
        self.oracles.prepare(&mut start);
        for point in [&mut self.v, &mut self.trial_v] {
            point.image.resize(start.image.len(), 0.0);
        }
        self.v.x.copy_from_slice(&start.x);
        self.v.image.copy_from_slice(&start.image);
        if let Some(hull_search) = &mut self.hull_search {
            hull_search.move_to(&mut self.oracles, &start)?;
        }
        (self.trial_x, self.z) = (start.room_for_image(), start.room_for_image());
        let (o, y) = (&mut self.oracles, &self.best.y);
        let (first, _) = first_gap(o, &start, y)?;
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
        self.in_image.resize(self.x.image.len(), 0.0);
        self.try_factors();
        Ok(())
    }

    /// Takes another problem on the same sets, of which the state is then loaded.
    pub(in crate::solver) fn make_room(&mut self, problem: Held<'a>, inner_y: Inner) -> Result<()> {
        self.form_vectors()?;
        let (x_set, y_set) = (self.oracles.x_set, self.oracles.y_set);
        self.oracles = Oracles::of(problem, x_set, y_set)?;
        self.y_solver = YSolver::new(&self.oracles, inner_y, self.inner_budget)?;
        self.x = PointX::new(&*self.oracles.problem);
        for point in [&mut self.v, &mut self.trial_v] {
            point.image.resize(self.x.image.len(), 0.0);
        }
        if let Some(hull_search) = &mut self.hull_search {
            hull_search.make_room(&self.x);
        }
        (self.trial_x, self.z) = (self.x.room_for_image(), self.x.room_for_image());
        self.best.x = self.x.clone();
        self.in_image.resize(self.x.image.len(), 0.0);
        self.try_factors();
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
        self.y_solver.respond(&mut self.oracles, &self.trial_x, accuracy, &mut self.y_hat)
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

    /// The gradient at `(z_k, y_r)`.
    fn take_gradient(&mut self) -> Result<()> {
        let Certified { oracles, z, y, in_image, gradient, .. } = self;
        let Some(factored) = &mut self.factored else {
            return oracles.both_grads_x(z, y, in_image, gradient);
        };
        if factored.take(oracles, z, y, in_image, gradient)? {
            factored.meet(&self.v, in_image);
            Ok(())
        } else {
            self.use_vectors_with_gradient()
        }
    }

    /// The vector of a point, which is formed where the point is kept in another way.
    fn vector<'b>(&'b self, point: &'b PointX, formed: &'b OnceLock<Vec<f64>>) -> &'b [f64] {
        match &self.factored {
            Some(factored) if factored.points.are_by_weights() => {
                formed.get_or_init(|| factored.points.vector(&*self.oracles.problem, &point.x))
            }
            _ => &point.x,
        }
    }

    /// `x_k`.
    fn x(&self) -> &[f64] {
        self.vector(&self.x, &self.formed[0])
    }

    /// Takes up trials without operator products, where problem and set have the structure.
    fn try_factors(&mut self) {
        let columns = if self.exact_x { Factored::columns(&mut self.oracles) } else { None };
        let slope = || match columns {
            Some(h) => Slope::seen(self.x.image.len(), h),
            None => Slope::vector(self.gradient.len()),
        };
        (self.average_slope, self.floor) = (slope(), LowerBound::new(slope(), self.y.len()));
        if let Some(h) = columns {
            let mut factored = Factored::new(h, &self.v);
            let history = self.hull_search.iter_mut().flat_map(HullSearch::vectors);
            let vectors = [&mut self.x.x, &mut self.v.x].into_iter().chain(history);
            factored.points.embed(vectors.collect());
            let len = factored.points.len();
            self.factored = Some(factored);
            self.make_points(len);
        }
    }

    /// Gives all points that do not have so many coordinates room for them.
    fn make_points(&mut self, len: usize) {
        self.formed.iter_mut().for_each(|formed| drop(formed.take()));
        let history = self.hull_search.iter_mut().flat_map(HullSearch::room);
        let points =
            [&mut self.x.x, &mut self.v.x, &mut self.trial_v.x, &mut self.best.x.x].into_iter();
        for point in points.chain(history).filter(|point| point.len() != len) {
            *point = vec![0.0; len];
        }
    }

    /// Gives up trials without operator products and forms all vectors. After an error all is as before.
    pub(in crate::solver) fn form_vectors(&mut self) -> Result<()> {
        let Some(factored) = &self.factored else {
            return Ok(());
        };
        if factored.points.are_by_weights() {
            let history = self.hull_search.iter_mut().flat_map(HullSearch::vectors);
            let best = (!self.best.x_is_current).then_some(&mut self.best.x.x);
            let points = [&mut self.x.x, &mut self.v.x].into_iter().chain(history).chain(best);
            let mut formed = Vec::new();
            for point in points {
                let vector = factored.points.vector(&*self.oracles.problem, point);
                self.oracles.count_grad_x();
                check_finite("point", &vector)?;
                formed.push((point, vector));
            }
            formed.into_iter().for_each(|(point, vector)| *point = vector);
        }
        self.factored = None;
        self.make_points(self.oracles.problem.dim_x());
        Ok(())
    }

    /// Goes on with vectors, with their images in place of those that were carried along.
    fn use_vectors(&mut self) -> Result<()> {
        if self.factored.is_none() {
            return Ok(());
        }
        self.form_vectors()?;
        self.oracles.image(&self.x.x, &mut self.x.image)?;
        self.oracles.prepare(&mut self.x);
        self.oracles.image(&self.v.x, &mut self.v.image)?;
        if let Some(hull_search) = &mut self.hull_search {
            hull_search.renew_images(&mut self.oracles)?;
        }
        self.average_slope.become_vector(&mut self.oracles)?;
        self.floor.become_vector(&mut self.oracles)
    }

    /// The same in the midst of an iteration.
    fn use_vectors_with_gradient(&mut self) -> Result<()> {
        self.use_vectors()?;
        self.oracles.adjoint(&self.in_image, &mut self.gradient)
    }

    /// A trial `v_r` with its image: the vector itself only where it takes one.
    fn try_v(&mut self, k: f64, alpha: f64) -> Result<std::result::Result<Trial, Step>> {
        if let Some(factored) = &mut self.factored {
            let (o, v, image) = (&mut self.oracles, &self.v, &mut self.trial_v.image);
            if let Some(trial) = factored.trial(o, v, &self.in_image, alpha, image)? {
                return Ok(Ok(trial));
            }
            self.use_vectors_with_gradient()?;
        }
        let zeta = match self.slide_v(k, alpha)? {
            Ok(zeta) => zeta,
            Err(step) => return Ok(Err(step)),
        };
        self.oracles.image(&self.trial_v.x, &mut self.trial_v.image)?;
        let (slope, square) = dot_difference(&self.gradient, &self.trial_v.x, &self.v.x);
        Ok(Ok(Trial { zeta, slope, square }))
    }

    /// One iteration up to the acceptance of `(x_k, y_k, v_k)`, which are then in `trial_x` (its image
    /// alone), `y` and `trial_v`.
    fn prox_step(&mut self, k: f64, gamma: f64) -> Result<std::result::Result<Accepted, Step>> {
        if self.factored.as_ref().is_some_and(Factored::is_worn) {
            self.use_vectors()?;
        }
        // what the image of z_k may be off by, should the others be formed anew while it stays
        let carried = self.factored.as_ref().map_or(0.0, Factored::rounding);
        self.oracles.prepare_between(gamma, &self.x.image, &self.v.image, &mut self.z);

        // y_1 answers z_k, which is closer to x_k than x_{k-1} is and costs no product either
        let accuracy = self.response_accuracy(k);
        self.y.copy_from_slice(&self.y_hat);
        let response = self.y_solver.respond(&mut self.oracles, &self.z, accuracy, &mut self.y)?;
        if response.state == SlideState::OutOfBudget {
            return Ok(Err(Step::InnerBudget(Block::Y)));
        }
        self.take_gradient()?;
        if self.lhat == 0.0 {
            let length = match &self.factored {
                Some(factored) => factored.length(),
                None => norm(&self.gradient),
            };
            let guess = FIRST_GUESS * length / self.diameter;
            self.lhat = if guess > 0.0 && guess.is_finite() { guess } else { 1.0 };
        }

        let mut failed_rounds = 0;
        let most_rounds = ROUNDS + (0.5 * k.log2()) as u32;
        let mut ceiling = f64::INFINITY;
        while self.lhat <= ceiling {
            let alpha = 6.0 * self.lhat / (k + 1.0);
            let Trial { zeta, slope, square } = match self.try_v(k, alpha)? {
                Ok(trial) => trial,
                Err(step) => return Ok(Err(step)),
            };
            let (x, v) = (&self.x.image, &self.trial_v.image);
            self.oracles.prepare_between(gamma, x, v, &mut self.trial_x);

            // (c) f(x_k, y_k) <= f(z_k, y_k) + <grad_x, x_k - z_k> + gamma alpha/2 |v_k - v_{k-1}|^2 + chi
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
                let along = dot(&self.in_image, &self.trial_x.image);
                let stale = if self.factored.is_none() { carried } else { 0.0 };
                let constant = value - bend.value - bend.rounding - along - stale;
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
            self.take_gradient()?;
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
    /// old `x` where its upper bound is the better one. Returns the bound of `max_y f(x_k, y)`.
    fn accept(&mut self, gamma: f64, accepted: &Accepted) -> Result<f64> {
        let upper = accepted.upper;
        let better = match &mut self.hull_search {
            Some(hull_search) if hull_search.is_due() => hull_search.search(
                &mut self.oracles,
                &mut self.y_solver,
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
        if let Some(factored) = &mut self.factored {
            let gradient = (&mut self.gradient[..], &self.in_image[..]);
            // bounds of points before this one were not charged with what they are found to be off by
            self.best.upper +=
                factored.form(&mut self.oracles, &self.v, gradient, &mut self.trial_v)?;
        }
        let new_upper = better.unwrap_or(upper);
        let carried = self.factored.as_ref().map_or(0.0, Factored::rounding);
        let size = new_upper.abs() + (upper - accepted.constant).abs();
        let new_upper = new_upper + rounding(self.k + 1, size) + carried;
        if new_upper <= self.best.upper {
            self.best.upper = new_upper;
            self.best.x_is_current = true;
        } else if self.best.x_is_current {
            self.best.x.copy_from(&self.x);
            self.best.x_is_current = false;
            self.formed[1].take();
        }
        match better.and(self.hull_search.as_ref()) {
            Some(hull) => hull.apply(&mut self.x.x, [&self.trial_v.x, &self.v.x]),
            None => step_toward(gamma, &self.trial_v.x, &mut self.x.x),
        }
        self.formed[0].take();
        std::mem::swap(&mut self.x.image, &mut self.trial_x.image);
        std::mem::swap(&mut self.x.cache, &mut self.trial_x.cache);
        std::mem::swap(&mut self.v, &mut self.trial_v);
        if let Some(hull_search) = &mut self.hull_search {
            let old = std::mem::take(&mut self.trial_v);
            self.trial_v = hull_search.push(old);
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

        // f(u, y_k) >= constant + <gradient, u>; on average >= average_constant + <average_slope, u>
        let Certified { oracles, best, floor, factored, average_slope, .. } = self;
        let slope = match factored {
            Some(factored) => factored.gradient(&self.in_image),
            None => Gradient::Vector(&self.gradient),
        };
        average_slope.step(gamma, slope);
        self.average_constant += gamma * (constant - self.average_constant);
        let average = oracles.certifying(|o| average_slope.support(o))?;
        let rounding = rounding(self.k + 1, upper.abs() + (upper - constant).abs());
        let lower_average = self.average_constant + average.lower - rounding;
        self.bounds.minorant = upper - lower_average;

        // the best of all bounds so far holds if all of them do
        floor.confidence = floor.confidence.and(average.confidence).and(self.y_confidence);
        let worth = WORTH * best.certificate.gap;
        let new = Minorant { slope, constant, y: &self.y };
        oracles.certifying(|o| floor.absorb(o, new, rounding, worth))?;
        if lower_average > floor.value {
            floor.take(average_slope, self.average_constant, &self.y_bar, lower_average);
        }
        // the minorant at (x_k, yhat) costs a gradient, on the certificate's account: a quarter of the method's
        // at the most, and more rarely where it brings nothing
        let (spent, own) = (oracles.ledger.certificate.grad_x, oracles.ledger.method.grad_x);
        if k as u64 >= self.next_look && 4 * (spent + 1) <= own {
            let (x, y_hat) = (&self.x, &self.y_hat);
            let (g, in_image) = (&mut self.gradient, &mut self.in_image);
            let before = floor.value;
            oracles.certifying(|o| -> Result<()> {
                let slope = match factored {
                    Some(factored) => {
                        if !factored.take(o, x, y_hat, in_image, g)? {
                            return Ok(()); // no slope that its squares can measure
                        }
                        factored.gradient(in_image)
                    }
                    None => {
                        o.both_grads_x(x, y_hat, in_image, g)?;
                        Gradient::Vector(g)
                    }
                };
                let constant = o.value(x, y_hat)? - dot(in_image, &x.image);
                let new = Minorant { slope, constant, y: y_hat };
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

/// What rounding may hide of values of this size after `k` iterations: iterates are sums of so many terms, each of them
/// rounded.
fn rounding(k: u64, size: f64) -> f64 {
    (8.0 + (k as f64).sqrt()) * f64::EPSILON * size
}

/// The FW-gap at the start, and on what the bound of its response rests.
fn first_gap(
    oracles: &mut Oracles<'_>,
    x: &PointX,
    y: &[f64],
) -> Result<(Certificate, Confidence)> {
    let mut scratch = GapScratch::new(x.x.len(), y.len());
    let first = oracles.certifying(|o| fw_gap(o, x, y, &mut scratch))?;
    Ok((first, scratch.y_confidence))
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
        let x = match self.best.x_is_current {
            true => self.x(),
            false => self.vector(&self.best.x, &self.formed[1]),
        };
        (x, &self.best.y)
    }

    fn current(&self) -> (&[f64], &[f64]) {
        (self.x(), &self.y_bar)
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
        let mut is_factored = self.factored.is_some();
        archive.flag("factored", &mut is_factored)?;
        if !is_factored {
            self.use_vectors()?;
        }
        if let Some(factored) = &mut self.factored {
            let most = 2 + self.hull_search.iter_mut().flat_map(HullSearch::room).count();
            archive.nested("factors", |archive| factored.state(archive, most))?;
            let len = factored.points.len();
            if archive.is_loading() {
                self.make_points(len);
            }
        }
        archive.nested("oracles", |archive| self.oracles.state(archive))?;
        archive.nested("y_solver", |archive| self.y_solver.state(archive))?;
        archive.count("k", &mut self.k)?;
        archive.magnitude("lhat", &mut self.lhat)?;
        archive.number("highest_lhat", &mut self.highest_lhat)?;
        self.oracles.point_state(archive, "x", &mut self.x)?;
        archive.nested("v", |archive| self.v.state(archive))?;
        archive.numbers("y_hat", &mut self.y_hat)?;
        archive.numbers("y_bar", &mut self.y_bar)?;
        archive.nested("average_slope", |archive| self.average_slope.state(archive))?;
        archive.number("average_constant", &mut self.average_constant)?;
        archive.number("charges", &mut self.charges)?;
        archive.nested("bounds", |archive| self.bounds.state(archive))?;
        archive.nested("best", |archive| self.best.state(archive, &self.oracles))?;
        archive.nested("floor", |archive| self.floor.state(archive))?;
        archive.nested("stall", |archive| self.stall.state(archive))?;
        if let Some(hull_search) = &mut self.hull_search {
            archive.nested("hull_search", |archive| hull_search.state(archive))?;
        }
        archive.nested("y_confidence", |archive| self.y_confidence.state(archive))?;
        archive.count("next_look", &mut self.next_look)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Domain;
    use crate::linalg::{Layout, SparseMatrix};
    use crate::model::{RobustMulticlass, RobustSettings, Scaling};
    use crate::problem::{SaddleProblem, Seen};
    use crate::random::Streams;
    use crate::run::{Checkpoints, Flow, NoClock, StopRules, TracePoint, run_kept};
    use crate::state::Fingerprint;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    fn model(layout: Layout, scaling: Scaling) -> RobustMulticlass {
        model_of(120, 60, layout, scaling)
    }

    fn model_of(n: usize, d: usize, layout: Layout, scaling: Scaling) -> RobustMulticlass {
        let (h, row) = (4, 8);
        let mut draw = Streams::new(3).stream("rows");
        let starts = (0..=n).map(|i| row * i).collect();
        let step = (d / row) as u64;
        let indices =
            (0..n * row).map(|p| (p % row) as u32 * step as u32 + draw.below(step) as u32);
        let indices = indices.collect();
        let values = (0..n * row).map(|_| 0.2 + draw.below(1000) as f64 / 1000.0).collect();
        let rows = SparseMatrix::from_rows(d, starts, indices, values).expect("rows");
        let labels = (0..n).map(|_| draw.below(h as u64) as u32).collect();
        let settings = RobustSettings::default().layout(layout).tau(12.0).scaling(scaling);
        RobustMulticlass::new(rows, labels, h, settings).expect("a model")
    }

    #[test]
    fn trials_without_operator_products_go_the_way_of_those_with() {
        let dro = [0, 3, 8, 16].map(|hull_points| (Scaling::Dro, hull_points));
        let settings = dro.into_iter().chain([(Scaling::Paper, 8)]);
        // points as vectors and, where features are many and mostly rare, by weights
        let cases =
            [(120, 60), (60, 200)].into_iter().flat_map(|s| settings.clone().map(move |t| (s, t)));
        for ((n, d), (scaling, hull_points)) in cases {
            let models =
                [Layout::FeatureMajor, Layout::ClassMajor].map(|l| model_of(n, d, l, scaling));
            let sets = [&models[0], &models[1]].map(|m| m.x_set().expect("a ball"));
            let settings = CertifiedSettings { hull_points, ..CertifiedSettings::default() };
            let mut solvers = [0, 1].map(|i| {
                let y_set = models[i].y_set();
                Certified::new(Start::new(&models[i], &sets[i], y_set), &settings).expect("starts")
            });
            let mut images = 0;
            for k in 0..if n < d { 20 } else { 40 } {
                solvers.iter_mut().for_each(|solver| {
                    solver.step().expect("a step");
                });
                let [quick, plain] = &solvers;
                let by_weights = quick.factored.as_ref().map(|f| f.points.are_by_weights());
                assert!(by_weights == Some(n < d) && plain.factored.is_none(), "{n} x {d}: {k}");
                let (a, b) = (quick.certificate(), plain.certificate());
                let size = b.upper.abs();
                assert!((a.upper - b.upper).abs() < 1e-9 * size, "{k}: {a:?} {b:?}");
                assert!((a.lower - b.lower).abs() < 1e-7 * size, "{k}: {a:?} {b:?}");
                let [x, plain_x] = [0, 1].map(|i| models[i].class_major(solvers[i].best().0));
                let apart = crate::linalg::distance_squared(&x, &plain_x).sqrt();
                assert!(apart < 1e-6 * norm(&plain_x), "{k}: {apart}");
                // the image that is carried along is that of the point
                let mut image = vec![0.0; quick.x.image.len()];
                models[0].image(quick.x(), &mut image);
                let drift = crate::linalg::distance_squared(&image, &quick.x.image).sqrt();
                assert!(drift < 1e-12 * norm(&image), "{k}: {drift}");
                images = plain.ledger().method.images - quick.ledger().method.images;
                assert_eq!(quick.ledger().method.grad_x, plain.ledger().method.grad_x);
            }
            assert!(images > 0, "no trial was without a product");
        }
    }

    #[test]
    fn where_steps_become_too_short_vectors_take_over_and_go_on() {
        let model = model(Layout::FeatureMajor, Scaling::Dro);
        let x_set = model.x_set().expect("a ball");
        let settings = CertifiedSettings::default();
        let mut solver =
            Certified::new(Start::new(&model, &x_set, model.y_set()), &settings).expect("starts");
        let mut gap = f64::INFINITY;
        while solver.factored.is_some() {
            assert_eq!(solver.step().expect("a step"), Step::Advanced);
            gap = solver.certificate().gap;
        }
        let taken_over = solver.iterations();
        assert!(taken_over > 20, "{taken_over}");
        while solver.step().expect("a step") == Step::Advanced {}
        let end = solver.certificate();
        assert!(end.gap < 0.1 * gap && end.gap < 1e-10 * end.upper, "{gap} {end:?}");
        assert!(x_set.contains(solver.best().0, 1e-9));
    }

    /// `1/2 |A x - b|^2 - 1/2 y^2`, where `A` turns the numbers of `x` by one place: it mixes columns.
    struct Turned {
        target: Vec<f64>,
    }

    impl SaddleProblem for Turned {
        fn dim_x(&self) -> usize {
            self.target.len()
        }

        fn dim_y(&self) -> usize {
            1
        }

        fn columns(&self) -> Option<usize> {
            Some(4)
        }

        fn image(&self, x: &[f64], out: &mut [f64]) {
            out.copy_from_slice(x);
            out.rotate_left(1);
        }

        fn adjoint(&self, s: &[f64], out: &mut [f64]) {
            out.copy_from_slice(s);
            out.rotate_right(1);
        }

        fn value(&self, at: Seen<'_>, y: &[f64]) -> f64 {
            0.5 * crate::linalg::distance_squared(at.image, &self.target) - 0.5 * y[0] * y[0]
        }

        fn grad_image(&self, at: Seen<'_>, _y: &[f64], out: &mut [f64]) {
            out.copy_from_slice(at.image);
            crate::linalg::axpy(-1.0, &self.target, out);
        }

        fn grad_y(&self, _at: Seen<'_>, y: &[f64], out: &mut [f64]) {
            out[0] = -y[0];
        }
    }

    #[test]
    fn a_problem_that_mixes_columns_and_says_it_does_not_is_found_out() {
        let target = (0..80).map(|i| (i * i) as f64 % 7.0 - 3.0).collect();
        let problem = Turned { target };
        // also where the prox changes nothing, as the ball is large
        for radius in [5.0, 1e4] {
            let x_set = crate::domain::NuclearBall::new(20, 4, radius).expect("a ball");
            let y_set = crate::domain::BoxSet::cube(1, -1.0, 1.0).expect("a box");
            let settings = CertifiedSettings::default();
            let mut solver =
                Certified::new(Start::new(&problem, &x_set, &y_set), &settings).expect("starts");
            let error = solver.step().expect_err("a wrong claim");
            assert!(error.to_string().contains("`columns`"), "{error}");
            assert!(solver.best().0.iter().all(|x| *x == 0.0), "the start is the best point yet");
        }
    }

    /// A model whose operator gives NaN after so many products: from then on, or once.
    struct Breaking<'a> {
        model: &'a RobustMulticlass,
        good: u64,
        stays: bool,
        products: AtomicU64,
    }

    impl Breaking<'_> {
        fn count(&self, out: &mut [f64]) {
            let before = self.products.fetch_add(1, Relaxed);
            if before == self.good || (self.stays && before > self.good) {
                out[0] = f64::NAN;
            }
        }
    }

    impl SaddleProblem for Breaking<'_> {
        fn dim_x(&self) -> usize {
            self.model.dim_x()
        }
        fn dim_y(&self) -> usize {
            self.model.dim_y()
        }
        fn image_dim(&self) -> usize {
            self.model.image_dim()
        }
        fn columns(&self) -> Option<usize> {
            self.model.columns()
        }
        fn image(&self, x: &[f64], out: &mut [f64]) {
            self.model.image(x, out);
            self.count(out);
        }
        fn adjoint(&self, s: &[f64], out: &mut [f64]) {
            self.model.adjoint(s, out);
            self.count(out);
        }
        fn cache_dim(&self) -> usize {
            self.model.cache_dim()
        }
        fn prepare(&self, image: &[f64], cache: &mut [f64]) {
            self.model.prepare(image, cache);
        }
        fn value(&self, at: Seen<'_>, y: &[f64]) -> f64 {
            self.model.value(at, y)
        }
        fn grad_image(&self, at: Seen<'_>, y: &[f64], out: &mut [f64]) {
            self.model.grad_image(at, y, out);
        }
        fn grad_y(&self, at: Seen<'_>, y: &[f64], out: &mut [f64]) {
            self.model.grad_y(at, y, out);
        }
        fn has_best_response(&self) -> bool {
            true
        }
        fn best_response(&self, at: Seen<'_>, y: &mut [f64]) -> f64 {
            self.model.best_response(at, y)
        }
    }

    /// Found by fuzzing: there is no number between 1.4 and 16 times a negative one.
    #[test]
    fn a_forged_lhat_is_refused() {
        let model = model(Layout::FeatureMajor, Scaling::Dro);
        let x_set = model.x_set().expect("a ball");
        let settings = CertifiedSettings::default();
        let solver = || {
            Certified::new(Start::new(&model, &x_set, model.y_set()), &settings).expect("starts")
        };
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("checkpoint");
        let run = |solver: &mut Certified<'_>, plan: &Checkpoints| {
            let rules = StopRules { iterations: Some(5), ..StopRules::default() };
            let mut nobody = |_: &TracePoint, _: &dyn Algorithm| Flow::Continue;
            let print = Fingerprint::default();
            run_kept(solver, &rules, plan, &print, &NoClock, &mut nobody)
        };
        run(&mut solver(), &Checkpoints::to(&file)).expect("a run");
        let bytes = std::fs::read(&file).expect("a checkpoint");
        let place = bytes.windows(6).position(|w| w == b"n\x04lhat").expect("an entry") + 6;
        for forged in [-1.0, f64::NAN, f64::INFINITY] {
            let mut bytes = bytes.clone();
            bytes[place..place + 8].copy_from_slice(&forged.to_le_bytes());
            let end = bytes.len() - 4;
            let sum = crc32fast::hash(&bytes[..end]);
            bytes[end..].copy_from_slice(&sum.to_le_bytes());
            std::fs::write(&file, bytes).expect("writing");
            let error = run(&mut solver(), &Checkpoints::resume(&file)).expect_err("forged");
            assert!(error.to_string().contains("lhat"), "{error}");
        }
    }

    #[test]
    fn an_operator_that_breaks_leaves_the_best_pair_and_its_certificate() {
        // more rows than features, and fewer: there points are kept by weights, and forming one takes a product
        for (n, d, stays) in [(120, 60, true), (120, 60, false), (40, 64, false)] {
            let model = model_of(n, d, Layout::FeatureMajor, Scaling::Dro);
            (3..90).for_each(|good| break_after(good, stays, &model));
        }
    }

    fn break_after(good: u64, stays: bool, model: &RobustMulticlass) {
        let x_set = model.x_set().expect("a ball");
        let settings = CertifiedSettings::default();
        let problem = Breaking { model, good, stays, products: AtomicU64::new(0) };
        let mut solver =
            Certified::new(Start::new(&problem, &x_set, model.y_set()), &settings).expect("starts");
        let mut before = *solver.certificate();
        let error = loop {
            match solver.step() {
                Ok(_) => before = *solver.certificate(),
                Err(error) => break error,
            }
        };
        assert!(error.is_numerical(), "{good}: {error}");
        assert_eq!(*solver.certificate(), before, "{good}");
        let (x, _) = solver.best();
        assert!(x_set.contains(x, 1e-9), "{good}");
        // max_y f at the point, from scratch
        let mut point = PointX::new(model);
        model.image(x, &mut point.image);
        model.prepare(&point.image, &mut point.cache);
        let mut y = vec![0.0; model.dim_y()];
        let left = model.best_response(point.seen(), &mut y);
        let upper = model.value(point.seen(), &y) + left;
        assert!(upper <= before.upper + 1e-15, "{good}: {upper} {before:?}");
    }
}
