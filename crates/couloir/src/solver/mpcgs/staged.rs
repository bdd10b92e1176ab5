//! Certified MPCGS for functions that are not strongly concave in `y`, or hardly: in stages, each on a smoothed function.
//!
//! ```text
//! stage j:  f_j(x, y) = f(x, y) - mu_j/2 |y - c_j|^2,   certified MPCGS on f_j from the best x of the stage before
//!           G = certified gap of f itself,  g = certified gap of f_j
//! over when G is three tenths of that at the start of the stage:  mu_{j+1} = mu_j
//! or when g is an eighth of G, so that the rest is due to mu_j:   mu_{j+1} = mu_j/2
//! or when g stands still, so that f_j is too hard:                mu_{j+1} = 2 mu_j
//!           c_{j+1} = the y of the best lower bound
//! ```
//!
//! The certificate is one of `f`: a lower bound of `min f_j(., y)` is one of `min f(., y)` with `mu_j/2 |y - c_j|^2` added, and `f` is bounded
//! from above at every `x_k` by its own best response, or by a gradient and a linear minimisation in `y`. Section 15 of
//! docs/theory.md has the proofs.

use super::certified::Certified;
use super::smoothed::Smoothed;
use super::y_solve::YSolver;
use crate::certificate::{Bounds, Certificate, gap_part};
use crate::error::{Block, Result};
use crate::linalg::{distance_squared, dot_difference, sum_rounding};
use crate::oracles::{Ledger, MaybeOwned, Oracles, check_order};
use crate::problem::{PointX, SaddleProblem};
use crate::run::{Algorithm, Fact, Stall, Step};
use crate::solver::{CertifiedSettings, Inner, MethodSettings, Start};
use crate::state::Archive;
use crate::watch::Watch;

/// A stage is over when the gap of `f` has fallen to this share of its first value,
const SUFFICIENT: f64 = 0.3;
/// or when the gap of the smoothed function is this share of that of `f`.
const DOMINATED: f64 = 0.125;
/// What the smoothing is then multiplied with.
const FALL: f64 = 0.5;
/// A new best `x` is kept where it takes at least this share off the gap.
const WORTH: f64 = 0.01;
/// Iterations that the certificate may stand still, and half of the run at the least.
const PATIENCE: u64 = 500;
/// A gap of this many times the rounding charged to it can hardly fall further.
const FLOOR: f64 = 3.0;

/// A problem is smoothed where `mu D_Y^2/2` is at most this share of the gap at the start, or unknown.
const HARDLY: f64 = 1e-3;

/// Certified MPCGS in stages, running.
pub(super) struct Staged<'a> {
    f: &'a dyn SaddleProblem,
    inner_y: Inner,
    stage: Certified<'a>,
    /// `f` itself, for upper bounds.
    whole: Oracles<'a>,
    /// The best response of `f` itself, where the problem knows it.
    responder: Option<YSolver>,
    smoothing: f64,
    centre: Vec<f64>,
    /// The gap of `f` at the start of the stage.
    first_gap: f64,
    /// An upper bound of `max f(x, .)` at the best `x` of the stage.
    at_best: f64,
    stages: u64,
    iterations: u64,
    ledger: Ledger,
    bounds: Bounds,
    best: Best,
    /// The size of numbers at the start.
    size: f64,
    stall: Stall,
    response: Vec<f64>,
    gradient: Vec<f64>,
    vertex: Vec<f64>,
}

/// The best `x` and the best `y` of `f` itself.
struct Best {
    x: PointX,
    y: Vec<f64>,
    upper: f64,
    lower: f64,
    certificate: Certificate,
}

impl<'a> Staged<'a> {
    /// Whether a problem is to be smoothed: one that is not known to be strongly concave, or hardly so for the gap at the start.
    pub fn suits(start: &Start<'a, '_>, first_gap: f64) -> bool {
        if !start.y_set.oracle().has_prox() || start.y_set.diameter() == 0.0 {
            return false;
        }
        let can = start.problem.capabilities();
        // who knows the one best response and says nothing else is as a rule strongly concave
        if can.constants.is_none() && can.best_response.is_some() {
            return false;
        }
        let mu = can.constants.and_then(|constants| constants.mu()).unwrap_or(0.0);
        0.5 * mu * start.y_set.diameter().powi(2) < HARDLY * first_gap
    }

    /// The method from where a solver on `f` itself starts.
    ///
    /// # Errors
    /// What an inner solve needs and is missing.
    pub fn new(
        start: Start<'a, '_>,
        settings: &CertifiedSettings,
        stage: Certified<'a>,
    ) -> Result<Self> {
        let f = start.problem;
        let mut whole = Oracles::new(f, start.x_set, start.y_set)?;
        let responder = match whole.has_best_response() {
            true => Some(YSolver::new(&mut whole, Inner::Auto, settings.inner_budget)?),
            false => None,
        };
        let certificate = *stage.certificate();
        let (x, y) = stage.best();
        let y = y.to_vec();
        let at = PointX { x: x.to_vec(), ..stage.present().0.clone() };
        let Certificate { upper, lower, gap, .. } = certificate;
        let best = Best { x: at, y: y.clone(), upper, lower, certificate };
        let radius = 0.5 * whole.diameters[1].powi(2);
        let smoothing = if radius > 0.0 { gap / radius } else { 0.0 };
        let mut solver = Staged {
            f,
            inner_y: settings.inner_y,
            whole,
            responder,
            smoothing: if smoothing.is_normal() { smoothing } else { 1.0 },
            centre: y.clone(),
            first_gap: gap,
            at_best: upper,
            stages: 1,
            iterations: 0,
            ledger: *stage.ledger(),
            bounds: Bounds::NONE,
            size: upper.abs().max(lower.abs()).max(gap),
            stall: Stall::new(),
            response: y.clone(),
            gradient: y.clone(),
            vertex: y,
            best,
            stage,
        };
        solver.stage.attend(solver.whole.watch());
        let problem = solver.problem();
        solver.stage.begin_stage(problem, solver.inner_y, upper, 0.0)?;
        solver.count();
        Ok(solver)
    }

    /// The function of the present stage.
    fn problem(&self) -> MaybeOwned<'a> {
        MaybeOwned::Owned(Box::new(Smoothed::new(self.f, self.smoothing, self.centre.clone())))
    }

    /// An upper bound of `max f(x_k, .)`, and what of it is charged to rounding.
    fn bound_above(&mut self) -> Result<(f64, f64)> {
        let Staged { stage, whole, responder, response, gradient, vertex, best, .. } = self;
        let (at, carried, y) = stage.present();
        response.copy_from_slice(y);
        // upper bounds take no gradient in x: what a problem without promises is like there, the stage has seen
        whole.learn_from(stage.oracles());
        let accuracy = 1e-3 * best.certificate.gap;
        whole.certifying(|whole| {
            let gap = match responder {
                Some(responder) => responder.respond(whole, at, accuracy, response)?.gap,
                None => {
                    whole.grad_y(at, response, gradient)?;
                    gradient.iter_mut().for_each(|g| *g = -*g);
                    let minimum = whole.lmo(Block::Y, gradient, vertex)?;
                    let error = whole.rounding(at, response, 0.0).grad_y;
                    let slope = dot_difference(gradient, response, vertex);
                    gap_part(gradient, slope, &minimum, error, whole.diameters[1]).gap
                }
            };
            let value = whole.value(at, response)?;
            let of_value = whole.rounding(at, response, value);
            let [of_x, _] = whole.charge_of_slack(&of_value);
            let rounding =
                of_value.value + carried + of_x + 4.0 * f64::EPSILON * (value.abs() + gap);
            Ok((value + gap + rounding, rounding))
        })
    }

    /// Takes the bounds of `f` that the last iteration gives. Returns what is charged to rounding.
    fn look(&mut self) -> Result<f64> {
        let (upper, rounding) = self.bound_above()?;
        let Staged { stage, whole, best, smoothing, centre, at_best, .. } = self;
        best.upper += stage.late();
        *at_best += stage.late();
        if stage.best_is_present() {
            *at_best = upper;
        }
        let mut is_better = stage.late() > 0.0;
        if upper < best.upper - WORTH * (best.upper - best.lower) {
            let (at, ..) = stage.present();
            best.x.image.copy_from_slice(&at.image);
            best.x.cache.copy_from_slice(&at.cache);
            best.x.x.copy_from_slice(stage.current().0);
            best.upper = upper;
            is_better = true;
        }
        // min f(., y) = min f_j(., y) + mu_j/2 |y - c_j|^2
        let (of_stage, y) = stage.best_lower();
        let term = 0.5 * *smoothing * distance_squared(y, centre);
        let share = sum_rounding(y.len()) + 8.0 * f64::EPSILON;
        let lower = of_stage + term - share * term - 2.0 * f64::EPSILON * of_stage.abs();
        if lower > best.lower {
            best.lower = lower;
            best.y.copy_from_slice(y);
            is_better = true;
        }
        if best.lower > best.upper {
            check_order(
                "f is not convex in x and concave in y, or a gradient, a minimum or a best response is none",
                ("a lower bound of the value of the game", best.lower),
                ("an upper bound of it", best.upper),
                self.size,
            )?;
        }
        // every answer so far may be behind one of the two bounds
        let confidence = whole.confidence().and(stage.certificate().confidence);
        best.certificate.confidence = confidence;
        if is_better {
            let value = whole.certifying(|o| o.value(&best.x, &best.y))?;
            best.certificate = Certificate::between(best.lower, value, best.upper, confidence);
        }
        let radius = 0.5 * whole.diameters[1].powi(2);
        let lost = *smoothing * radius + rounding;
        let Bounds { schedule, minorant } = stage.bounds();
        self.bounds = Bounds { schedule: schedule + lost, minorant: minorant + lost };
        Ok(rounding)
    }

    /// Begins the next stage around the `y` of the best lower bound, where the present one has given what it can.
    fn move_on(&mut self, ended: bool) -> Result<()> {
        let gap = self.best.certificate.gap;
        let is_sufficient = gap <= SUFFICIENT * self.first_gap;
        let is_dominated = self.stage.certificate().gap <= DOMINATED * gap;
        if !is_sufficient && !is_dominated && !ended {
            return Ok(());
        }
        let mixed = self.stage.mixed();
        let shift = 0.5 * self.smoothing * distance_squared(mixed, &self.centre);
        self.centre.copy_from_slice(mixed);
        if is_dominated && !is_sufficient {
            self.smoothing = (FALL * self.smoothing).max(f64::MIN_POSITIVE);
        } else if !is_sufficient {
            self.smoothing /= FALL;
        }
        (self.first_gap, self.stages) = (gap, self.stages + 1);
        let problem = self.problem();
        self.stage.begin_stage(problem, self.inner_y, self.at_best, shift)
    }

    /// One iteration of the stage, and the next stage where that is due.
    fn iterate(&mut self) -> Result<Step> {
        let step = self.stage.step()?;
        if matches!(step, Step::InnerBudget(_)) {
            return Ok(step);
        }
        self.iterations += 1;
        let rounding = self.look()?;
        self.move_on(step == Step::NoProgress)?;
        let gap = self.best.certificate.gap;
        self.stall.look(gap);
        let still = self.stall.looks > PATIENCE.max(self.iterations / 2);
        if still || gap <= FLOOR * rounding {
            return Ok(Step::NoProgress);
        }
        Ok(Step::Advanced)
    }

    fn count(&mut self) {
        self.ledger = *self.stage.ledger();
        self.ledger.certificate = self.ledger.certificate + self.whole.ledger.certificate;
    }
}

impl Best {
    fn state(&mut self, oracles: &Oracles<'_>, archive: &mut Archive<'_>) -> Result<()> {
        oracles.point_state(archive, "x", &mut self.x)?;
        archive.numbers("y", &mut self.y)?;
        archive.number("upper", &mut self.upper)?;
        archive.number("lower", &mut self.lower)?;
        archive.nested("certificate", |archive| self.certificate.state(archive))
    }
}

impl Algorithm for Staged<'_> {
    fn name(&self) -> &'static str {
        CertifiedSettings::ABOUT.name
    }

    fn step(&mut self) -> Result<Step> {
        let step = self.iterate();
        self.count();
        step
    }

    fn evaluate(&mut self) -> Result<()> {
        Ok(()) // every step certifies itself
    }

    fn certificate(&self) -> &Certificate {
        &self.best.certificate
    }

    fn best(&self) -> (&[f64], &[f64]) {
        (&self.best.x.x, &self.best.y)
    }

    fn current(&self) -> (&[f64], &[f64]) {
        self.stage.current()
    }

    fn iterations(&self) -> u64 {
        self.iterations
    }

    fn bounds(&self) -> Bounds {
        self.bounds
    }

    fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    fn watch(&self) -> &Watch {
        self.whole.watch()
    }

    fn facts(&self) -> Vec<Fact> {
        vec![
            Fact { name: "Lhat", value: self.stage.lhat() },
            Fact { name: "stages", value: self.stages as f64 },
            Fact { name: "smoothing", value: self.smoothing },
        ]
    }

    /// The function of the stage is made anew from its centre.
    fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.nested("whole", |archive| self.whole.state(archive))?;
        if let Some(responder) = &mut self.responder {
            archive.nested("responder", |archive| responder.state(archive))?;
        }
        archive.magnitude("smoothing", &mut self.smoothing)?;
        archive.numbers("centre", &mut self.centre)?;
        if archive.is_loading() {
            let problem = self.problem();
            self.stage.take_function(problem, self.inner_y)?;
        }
        archive.nested("stage", |archive| self.stage.state(archive))?;
        archive.number("first_gap", &mut self.first_gap)?;
        archive.number("at_best", &mut self.at_best)?;
        archive.count("stages", &mut self.stages)?;
        archive.count("iterations", &mut self.iterations)?;
        archive.nested("ledger", |archive| self.ledger.state(archive))?;
        archive.nested("bounds", |archive| self.bounds.state(archive))?;
        archive.nested("best", |archive| self.best.state(&self.whole, archive))?;
        archive.number("size", &mut self.size)?;
        archive.nested("stall", |archive| self.stall.state(archive))
    }
}
