//! The inner y-solve: `max over y of f(x, y)` at a fixed `x`, to an accuracy that is certified.

use crate::block::{Cgs, CgsGoal, SmoothFunction};
use crate::certificate::{Charged, gap_part};
use crate::domain::{Confidence, SlideState, SlideTask};
use crate::error::{Block, Error, Result, check_finite};
use crate::linalg::{combine, distance_squared, dot_difference, norm, sum_rounding};
use crate::oracles::{Bend, Oracles};
use crate::problem::{BlockConstants, Measured, PointX, PreparedImage, SaddleProblem};
use crate::solver::Inner;
use crate::state::Archive;

/// How `y` is found.
enum Way {
    /// The problem's own exact best response.
    BestResponse,
    /// Accelerated proximal gradient steps with backtracking; needs no constants.
    ProxGradient,
    /// CGS: projection-free; needs `Lyy` and `mu`.
    Cgs { cgs: Cgs, mu: f64, rests_on: Confidence },
}

/// What came out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Response {
    /// A bound of `max_y f(x, .) - f(x, y)`.
    pub gap: f64,
    pub state: SlideState,
}

pub(crate) struct YSolver {
    way: Way,
    /// Best responses taken; every power of two of them is verified.
    responses: u64,
    budget: u64,
    /// The curvature that [`Way::ProxGradient`] last found right; kept from call to call.
    beta: f64,
    /// The largest size of gradients times points so far.
    size: f64,
    gradient: Vec<f64>,
    turned: Vec<f64>,
    ahead: Vec<f64>,
    next: Vec<f64>,
    vertex: Vec<f64>,
}

/// Proximal gradient steps at the most; a strongly concave problem needs far fewer.
const PROX_STEPS: u64 = 100_000;
/// The share of a bend that may be lost in the rounding of values before gradients are asked.
const LOST: f64 = 1e-3;
/// A gap of this many times the rounding charged to it can hardly fall further.
const FLOOR: f64 = 1.5;
/// Rounds of CGS, each to an eighth of the last accuracy, before giving up on the bound.
const CGS_ATTEMPTS: u32 = 12;

impl YSolver {
    /// # Errors
    /// `Exact` without a best response or a prox; CGS without `Lyy` and `mu`.
    pub fn new(oracles: &mut Oracles<'_>, inner: Inner, budget: u64) -> Result<Self> {
        let exact = if oracles.has_best_response() {
            Some(Way::BestResponse)
        } else if oracles.has_prox(Block::Y) {
            Some(Way::ProxGradient)
        } else {
            None
        };
        let way = match (inner, exact) {
            (Inner::Exact | Inner::Auto | Inner::Atoms, Some(way)) => way,
            (Inner::Exact, None) => {
                return Err(Error::MissingOracle {
                    set: oracles.y_set.describe(),
                    oracle: "exact prox (and the problem has no best response)",
                    hint: "use the inner solve `slide` for y",
                });
            }
            (Inner::Slide, _) | (Inner::Auto | Inner::Atoms, None) => {
                if inner != Inner::Slide {
                    oracles.slide_over_atoms(Block::Y);
                }
                let constants = BlockConstants::of(&*oracles.problem)?;
                let known = oracles.problem.capabilities().constants;
                let rests_on = known.map_or(Confidence::AsGiven, |known| known.confidence());
                let who = "the inner y-solve by sliding";
                let (l, mu) = (constants.need_lyy(who)?, constants.need_mu(who)?);
                Way::Cgs { cgs: Cgs::new(oracles.problem.dim_y(), l.max(mu), mu), mu, rests_on }
            }
        };
        let zeros = vec![0.0; oracles.problem.dim_y()];
        Ok(YSolver {
            way,
            responses: 0,
            budget,
            beta: 0.0,
            size: 0.0,
            gradient: zeros.clone(),
            turned: zeros.clone(),
            ahead: zeros.clone(),
            next: zeros.clone(),
            vertex: zeros,
        })
    }

    /// Whether one more digit costs the same at every accuracy: by sliding it costs more and more.
    pub fn is_linear(&self) -> bool {
        !matches!(self.way, Way::Cgs { .. })
    }

    pub fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.count("responses", &mut self.responses)?;
        archive.number("beta", &mut self.beta)?;
        archive.number("size", &mut self.size)
    }

    /// Improves `y` until `max_y f(x, .) - f(x, y)` is certified to be at most `accuracy`, or rounding or
    /// the budget ends it.
    pub fn respond(
        &mut self,
        oracles: &mut Oracles<'_>,
        at: &PointX,
        accuracy: f64,
        y: &mut [f64],
    ) -> Result<Response> {
        match self.way {
            Way::BestResponse => {
                let gap = oracles.best_response(at, y)?;
                self.responses += 1;
                if self.responses.is_power_of_two() {
                    self.verify(oracles, at, y, gap)?;
                }
                if gap < f64::INFINITY {
                    return Ok(Response { gap, state: SlideState::Reached });
                }
                // the problem promises nothing: what the response misses is measured, and made good where that can be done
                let gap = self.fw_gap_y(oracles, at, y)?.gap;
                if gap > accuracy && oracles.has_prox(Block::Y) {
                    return self.prox_gradient(oracles, at, accuracy, y);
                }
                Ok(Response { gap, state: SlideState::Reached })
            }
            Way::ProxGradient => self.prox_gradient(oracles, at, accuracy, y),
            Way::Cgs { .. } => self.certified_cgs(oracles, at, accuracy, y),
        }
    }

    /// Looks whether the problem's own best response is one: in the set, and with no slope left but what the
    /// problem admits to (where `f` is all but flat, rounding is all there is).
    fn verify(
        &mut self,
        oracles: &mut Oracles<'_>,
        at: &PointX,
        y: &[f64],
        admitted: f64,
    ) -> Result<()> {
        let wrong =
            |why: String| Err(Error::Numerical { what: "the problem's best response", why });
        let violation = oracles.y_set.violation(y);
        if violation > 1e-6 * oracles.y_set.diameter() {
            return wrong(format!("it lies outside {} by {violation:e}", oracles.y_set.describe()));
        }
        // what is charged for rounding, much by an estimate for a problem in many dimensions, is no slope that was seen
        let seen = oracles.certifying(|o| self.fw_gap_y(o, at, y))?;
        let gap = seen.gap - seen.rounding;
        check_finite("slope of f in y at the best response", &[gap])?;
        let admitted = if admitted < f64::INFINITY { admitted } else { 0.0 };
        let value = oracles.certifying(|o| o.value(at, y))?;
        let slope = norm(&self.gradient) * oracles.y_set.diameter();
        if !(gap <= admitted.max(1e-6 * (value.abs() + slope))) {
            return wrong(format!(
                "f(x, .) has still a slope of up to {gap:e} from it, so it is not the maximiser (value {value:e})"
            ));
        }
        Ok(())
    }

    /// CGS as printed: to an accuracy that rests on its theorem.
    pub fn printed_cgs(
        &mut self,
        oracles: &mut Oracles<'_>,
        at: &PointX,
        accuracy: f64,
        y: &mut [f64],
    ) -> Result<Response> {
        match self.way {
            Way::Cgs { .. } => self.cgs(oracles, at, accuracy, None, self.budget, y),
            _ => self.respond(oracles, at, accuracy, y),
        }
    }

    fn cgs(
        &mut self,
        oracles: &mut Oracles<'_>,
        at: &PointX,
        accuracy: f64,
        delta_0: Option<f64>,
        budget: u64,
        y: &mut [f64],
    ) -> Result<Response> {
        let Way::Cgs { cgs, .. } = &mut self.way else {
            return Ok(Response { gap: f64::INFINITY, state: SlideState::OutOfBudget });
        };
        let (problem, oracle, counts) = oracles.split_y();
        let mut negated = Negated { problem, at: at.prepared() };
        let goal = CgsGoal { accuracy, delta_0, budget };
        let report = cgs.minimise(&mut negated, oracle, goal, y)?;
        counts.grad_y += report.gradients;
        counts.lo_y += report.lo_calls;
        counts.operator_products += report.products;
        Ok(Response { gap: report.guarantee, state: report.state })
    }

    /// CGS until the bound from strong concavity is below `accuracy`:
    ///
    /// `max_y f(x, y) - f(x, ŷ) <= max_y <grad_y f(x, ŷ), y - ŷ> - mu/2 |y - ŷ|^2`,
    ///
    /// whose right side one slide bounds. It is of second order in the distance to the maximiser,
    /// where the FW-gap is of first order.
    fn certified_cgs(
        &mut self,
        oracles: &mut Oracles<'_>,
        at: &PointX,
        accuracy: f64,
        y: &mut [f64],
    ) -> Result<Response> {
        let Way::Cgs { ref cgs, mu, rests_on } = self.way else {
            return Ok(Response { gap: f64::INFINITY, state: SlideState::OutOfBudget });
        };
        if rests_on == Confidence::AsGiven {
            oracles.rest_on(rests_on);
        }
        let kappa = cgs.smoothness / mu;
        let mut target = accuracy / (4.0 * kappa);
        let spent_before = oracles.ledger.method.lo_y + oracles.ledger.certificate.lo_y;
        let mut best = f64::INFINITY;
        for attempt in 0.. {
            oracles.grad_y(at, y, &mut self.gradient)?;
            self.gradient.iter_mut().for_each(|g| *g = -*g);
            let spent = oracles.ledger.method.lo_y + oracles.ledger.certificate.lo_y - spent_before;
            let budget = self.budget.saturating_sub(spent);
            let task = SlideTask { r: &self.gradient, q: y, beta: mu, eta: accuracy / 4.0, budget };
            let slide = oracles.slide(Block::Y, &task, &mut self.next)?;
            let (slope, square) = dot_difference(&self.gradient, &self.next, y);
            let gap = slide.gap - (slope + 0.5 * mu * square);
            // the slope of the slide is formed from r, q and u, whose rounding its gap does not know
            let rounding = {
                let (error, diameter) = (oracles.rounding(at, y, 0.0).grad_y, oracles.diameters[1]);
                let lengths = norm(&self.gradient) + mu * (norm(y) + diameter);
                error * diameter + 4.0 * sum_rounding(y.len()) * lengths * diameter
            };
            let gap = match slide.state {
                SlideState::OutOfBudget => f64::INFINITY,
                _ => gap.max(0.0) + rounding,
            };
            let stuck = attempt > 0 && gap > 0.5 * best || gap <= FLOOR * rounding;
            best = best.min(gap);
            let state = if gap <= accuracy {
                SlideState::Reached
            } else if slide.state == SlideState::OutOfBudget {
                SlideState::OutOfBudget
            } else if stuck || attempt == CGS_ATTEMPTS {
                SlideState::RoundingFloor
            } else {
                let left = budget.saturating_sub(slide.lo_calls);
                let response = self.cgs(oracles, at, target, Some(gap), left, y)?;
                if response.state == SlideState::OutOfBudget {
                    return Ok(Response { gap: f64::INFINITY, state: SlideState::OutOfBudget });
                }
                target /= 8.0;
                continue;
            };
            return Ok(Response { gap, state });
        }
        Ok(Response { gap: f64::INFINITY, state: SlideState::OutOfBudget })
    }

    /// Accelerated proximal gradient ascent with backtracking and restarts; the stopping test is the
    /// FW-gap in `y`, one linear minimisation.
    fn prox_gradient(
        &mut self,
        oracles: &mut Oracles<'_>,
        at: &PointX,
        accuracy: f64,
        y: &mut [f64],
    ) -> Result<Response> {
        let mut gap = self.fw_gap_y(oracles, at, y)?.gap;
        let size = norm(&self.gradient) * (norm(y) + oracles.diameters[1]);
        self.size = self.size.max(size);
        if gap <= accuracy {
            return Ok(Response { gap, state: SlideState::Reached });
        }
        if self.beta == 0.0 {
            self.beta = self.first_curvature(oracles, at, y)?;
        }
        self.ahead.copy_from_slice(y);
        let mut momentum = 1.0f64;
        // outside of Y nothing is promised of f
        let mut is_member = true;
        let mut best = gap;
        let mut since_best = 0;
        for _ in 0..PROX_STEPS {
            oracles.grad_y(at, &self.ahead, &mut self.gradient)?;
            self.gradient.iter_mut().for_each(|g| *g = -*g);
            loop {
                oracles.prox(Block::Y, &self.gradient, &self.ahead, self.beta, &mut self.next)?;
                let (slope, square) = dot_difference(&self.gradient, &self.next, &self.ahead);
                let change = oracles.change_y(at, &self.ahead, &self.next)?;
                let (mut bend, mut hidden) =
                    (-change.value - slope, change.rounding + 4.0 * f64::EPSILON * slope.abs());
                if is_member {
                    let measured = Measured { value: bend, rounding: change.rounding };
                    Bend::new(measured, slope).check(Block::Y, || self.size)?;
                }
                let allowed = 0.5 * self.beta * square;
                if hidden > LOST * allowed {
                    // values cannot tell: by convexity the function bends no more than its gradient turns, and half of
                    // that where it is quadratic
                    (bend, hidden) = self.turn(oracles, at, square)?;
                }
                // a slack of 1e-8 keeps rounding from raising a curvature that is right
                if bend <= (1.0 + 1e-8) * allowed + hidden || square == 0.0 {
                    break;
                }
                self.beta = (2.0 * bend / square).max(1.1 * self.beta);
            }
            // restart when the momentum points uphill
            let uphill: f64 =
                (0..y.len()).map(|i| (self.ahead[i] - self.next[i]) * (self.next[i] - y[i])).sum();
            momentum = if uphill > 0.0 { 1.0 } else { momentum };
            let following = 0.5 * (1.0 + (1.0 + 4.0 * momentum * momentum).sqrt());
            let push = (momentum - 1.0) / following;
            combine(1.0 + push, &self.next, -push, y, &mut self.ahead);
            momentum = following;
            is_member = push == 0.0;
            y.copy_from_slice(&self.next);
            let now = self.fw_gap_y(oracles, at, y)?;
            gap = now.gap;
            if gap <= accuracy {
                return Ok(Response { gap, state: SlideState::Reached });
            }
            since_best = if gap < 0.9 * best { 0 } else { since_best + 1 };
            best = best.min(gap);
            if since_best > 60 || gap <= FLOOR * now.rounding {
                return Ok(Response { gap, state: SlideState::RoundingFloor });
            }
        }
        Ok(Response { gap, state: SlideState::RoundingFloor })
    }

    /// Half of `<grad h(next) - grad h(ahead), next - ahead>` with `h = -f(x, .)`, whose gradient at `ahead` is there, and the rounding
    /// in it.
    fn turn(&mut self, oracles: &mut Oracles<'_>, at: &PointX, square: f64) -> Result<(f64, f64)> {
        oracles.grad_y(at, &self.next, &mut self.turned)?;
        self.turned.iter_mut().for_each(|g| *g = -*g);
        let there = dot_difference(&self.turned, &self.next, &self.ahead).0;
        let here = dot_difference(&self.gradient, &self.next, &self.ahead).0;
        let noise = 2.0 * oracles.rounding(at, &self.next, 0.0).grad_y * square.sqrt();
        let sums = sum_rounding(self.next.len()) * norm(&self.gradient) * square.sqrt();
        Ok((0.5 * (there - here), noise + 2.0 * sums))
    }

    /// What `y` may gain, one gradient and one linear minimisation, charged with what rounding may hide of it.
    fn fw_gap_y(&mut self, oracles: &mut Oracles<'_>, at: &PointX, y: &[f64]) -> Result<Charged> {
        oracles.grad_y(at, y, &mut self.gradient)?;
        self.gradient.iter_mut().for_each(|g| *g = -*g);
        let minimum = oracles.lmo(Block::Y, &self.gradient, &mut self.vertex)?;
        let (error, diameter) = (oracles.rounding(at, y, 0.0).grad_y, oracles.diameters[1]);
        let slope = dot_difference(&self.gradient, y, &self.vertex);
        Ok(gap_part(&self.gradient, slope, &minimum, error, diameter))
    }

    /// The curvature between `y` and the vertex that the last linear minimisation found.
    fn first_curvature(
        &mut self,
        oracles: &mut Oracles<'_>,
        at: &PointX,
        y: &[f64],
    ) -> Result<f64> {
        let slope = dot_difference(&self.gradient, &self.vertex, y).0;
        let change = oracles.change_y(at, y, &self.vertex)?;
        let bend = -change.value - slope;
        let measured = Measured { value: bend, rounding: change.rounding };
        Bend::new(measured, slope).check(Block::Y, || self.size)?;
        let square = distance_squared(&self.vertex, y);
        let beta = 2.0 * bend / square;
        if beta.is_finite() && beta > 0.0 {
            Ok(beta)
        } else {
            // not strongly concave along this line as far as rounding lets one see
            Ok((slope.abs() / square).max(f64::MIN_POSITIVE))
        }
    }
}

/// `-f(x, .)` for CGS.
struct Negated<'a> {
    problem: &'a dyn SaddleProblem,
    at: PreparedImage<'a>,
}

impl SmoothFunction for Negated<'_> {
    fn gradient(&mut self, w: &[f64], out: &mut [f64]) -> Result<()> {
        self.problem.grad_y(self.at, w, out);
        out.iter_mut().for_each(|g| *g = -*g);
        check_finite("grad_y", out)
    }
}
