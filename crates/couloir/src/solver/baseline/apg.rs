//! Accelerated projected gradient on `phi(x) = max_y f(x, y)`: FISTA (Beck, Teboulle 2009) with a curvature
//! that may rise and fall (Scheinberg, Goldfarb, Bai 2014) and restarts (O'Donoghue, Candes 2015).

use crate::certificate::{Certificate, GapScratch, certificate_of, fw_gap, gap_part};
use crate::domain::SlideState;
use crate::error::{Block, Error, Result, check_positive};
use crate::linalg::{axpby, combine, dot_difference, dot_of_differences, norm};
use crate::oracles::{Ledger, Oracles};
use crate::problem::PointX;
use crate::run::{Algorithm, Step};
use crate::solver::inner::{INNER_BUDGET, check_budget};
use crate::solver::mpcgs::YSolver;
use crate::solver::{About, Incumbent, Inner, MethodSettings, Need, Start};
use crate::state::{Archive, Fingerprint};
use crate::watch::Watch;

/// Settings of accelerated projected gradient.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ApgSettings {
    /// How `y(x)` is found.
    pub inner_y: Inner,
    /// Linear minimisations that one inner solve may spend.
    pub inner_budget: u64,
    /// The first guess of the smoothness of `phi`; where none is given a small one is raised until the
    /// condition holds.
    pub first_curvature: Option<f64>,
}

impl Default for ApgSettings {
    fn default() -> Self {
        ApgSettings { inner_y: Inner::Auto, inner_budget: INNER_BUDGET, first_curvature: None }
    }
}

impl ApgSettings {
    /// How `y(x)` is found.
    #[must_use]
    pub fn inner(mut self, inner: Inner) -> Self {
        self.inner_y = inner;
        self
    }

    /// Linear minimisations that one inner solve may spend.
    #[must_use]
    pub fn inner_budget(mut self, calls: u64) -> Self {
        self.inner_budget = calls;
        self
    }

    /// The first guess of the smoothness of `phi`.
    #[must_use]
    pub fn first_curvature(mut self, curvature: f64) -> Self {
        self.first_curvature = Some(curvature);
        self
    }
}

impl MethodSettings for ApgSettings {
    const ABOUT: About = About::new(
        "apg",
        "Accelerated projected gradient on max over y of f(., y), with restarts; projects x",
    )
    .needs(&[Need::Projection(Block::X)]);

    fn start<'a>(&self, start: Start<'a, '_>) -> Result<Box<dyn Algorithm + 'a>> {
        Ok(Box::new(Apg::new(start, self)?))
    }

    fn fingerprint(&self, print: &mut Fingerprint) {
        let ApgSettings { inner_y, inner_budget, first_curvature } = self;
        print.note("inner solve of y", inner_y);
        print.note("inner budget", inner_budget);
        print.note_maybe("first curvature", *first_curvature);
    }

    fn check(&self) -> Result<()> {
        if let Some(curvature) = self.first_curvature {
            check_positive("first curvature", curvature)?;
        }
        check_budget(self.inner_budget)
    }

    fn with_inner(self, inner: Inner) -> Option<Self> {
        Some(self.inner(inner))
    }
}

/// The first guess of the curvature in units of `|grad phi| / D_X`.
const FIRST_GUESS: f64 = 1e-2;
/// The accuracy of the first response, relative to the first gap.
const FIRST_ACCURACY: f64 = 1e-3;
/// The accuracy of later responses, relative to `L |x_k - w_k|^2`.
const ACCURACY: f64 = 0.02;
/// How much the curvature may fall from one step to the next, and what calls for it.
const FALL: f64 = 0.85;
/// A rise of the curvature within one iteration after which something else must be wrong.
const RUNAWAY: f64 = 1e14;

/// Accelerated projected gradient, running:
///
/// ```text
/// t_k = (1 + sqrt(1 + 4 t_{k-1}^2 L_k/L_{k-1}))/2,   w_k = x_{k-1} + (t_{k-1} - 1)/t_k (x_{k-1} - x_{k-2}),
/// x_k = P[w_k - grad phi(w_k)/L_k],                  grad phi(w) = grad_x f(w, y(w)),
/// ```
///
/// where `L_k` is raised until `phi(x_k) <= phi(w_k) + <grad phi(w_k), x_k - w_k> + L_k/2 |x_k - w_k|^2`. The
/// momentum is dropped when it points uphill or `phi` rises. Every `x_k` is in X; `w_k` may lie a little
/// outside, where `f` must be defined too.
///
/// The responses are good to a part of `L_k |x_k - w_k|^2`, which falls like the square of the gap: the
/// gap of the pair `(x_k, y(x_k))` is of first order in the error of `y`. That pair and `(x_k, ybar_k)`, with
/// the average of the `y(w_s)` weighted by `t_s/L_s` since the last restart, are certified.
pub struct Apg<'a> {
    oracles: Oracles<'a>,
    y_solver: YSolver,
    diameter: f64,
    k: u64,
    curvature: f64,
    /// The `L` that `momentum` belongs to.
    last_curvature: f64,
    momentum: f64,
    /// Whether the last step dropped the momentum.
    restarts: bool,
    accuracy: f64,
    first_gap: f64,
    /// `f(x_k, y_k)`, and a bound of `max_y f(x_k, y)`, once known.
    value: f64,
    upper: f64,
    x: PointX,
    before: PointX,
    ahead: PointX,
    trial: PointX,
    /// The response to `x_k`, to `w_k`, and to the trial.
    y: Vec<f64>,
    y_ahead: Vec<f64>,
    y_trial: Vec<f64>,
    /// The average of the responses to `w_k` since the last restart, and the sum of its weights.
    y_bar: Vec<f64>,
    y_bar_weight: f64,
    gradient: Vec<f64>,
    vertex: Vec<f64>,
    best: Incumbent,
}

impl<'a> Apg<'a> {
    /// Accelerated projected gradient at its start point; evaluates the FW-gap there.
    ///
    /// # Errors
    /// Dimensions that disagree, a start point outside its set, a set of `x` without an exact
    /// projection, an oracle or a constant that the inner y-solve needs and that is missing, values
    /// or gradients that are not finite.
    pub fn new(start: Start<'a, '_>, settings: &ApgSettings) -> Result<Self> {
        settings.check()?;
        let mut oracles = start.oracles(ApgSettings::ABOUT.needs)?;
        let y_solver = YSolver::new(&mut oracles, settings.inner_y, settings.inner_budget)?;
        let (x, y) = start.points(&mut oracles)?;
        let mut scratch = GapScratch::new(x.x.len(), y.len());
        let first = oracles.certifying(|o| fw_gap(o, &x, &y, &mut scratch))?;
        Ok(Apg {
            oracles,
            y_solver,
            diameter: start.x_set.diameter(),
            k: 0,
            curvature: settings.first_curvature.unwrap_or(0.0),
            last_curvature: 0.0,
            momentum: 1.0,
            restarts: false,
            accuracy: FIRST_ACCURACY * first.gap,
            first_gap: first.gap,
            value: f64::INFINITY,
            upper: f64::INFINITY,
            y_bar: y.clone(),
            y_bar_weight: 0.0,
            vertex: vec![0.0; x.x.len()],
            before: x.clone(),
            ahead: x.clone(),
            trial: x.clone(),
            y_ahead: y.clone(),
            y_trial: y.clone(),
            gradient: vec![0.0; x.x.len()],
            best: Incumbent::new(&x.x, &y),
            x,
            y,
        })
    }

    /// The current estimate of the smoothness of `phi`.
    #[must_use]
    pub fn curvature(&self) -> f64 {
        self.curvature
    }

    /// `w_k` with its image, and the momentum that goes with it.
    fn look_ahead(&mut self) -> f64 {
        let ratio =
            if self.last_curvature > 0.0 { self.curvature / self.last_curvature } else { 1.0 };
        let following = 0.5 * (1.0 + (1.0 + 4.0 * self.momentum.powi(2) * ratio).sqrt());
        let push = (self.momentum - 1.0) / following;
        let Apg { x, before, ahead, .. } = self;
        combine(1.0 + push, &x.x, -push, &before.x, &mut ahead.x);
        combine(1.0 + push, &x.image, -push, &before.image, &mut ahead.image);
        self.oracles.prepare(&mut self.ahead);
        following
    }

    /// Responds to the trial or to `w_k`, from the warm start that is there; returns what `y` may still
    /// gain, or nothing if the budget is used up.
    fn respond(&mut self, trial: bool) -> Result<Option<f64>> {
        let (at, y) =
            if trial { (&self.trial, &mut self.y_trial) } else { (&self.ahead, &mut self.y_ahead) };
        let response = self.y_solver.respond(&mut self.oracles, at, self.accuracy, y)?;
        Ok((response.state != SlideState::OutOfBudget).then_some(response.gap))
    }

    /// The pair `(x_k, ybar_k)`, better than `(x_k, y_k)` where weak concavity makes `y(x)` jump:
    /// `max_y f(x_k, y)` is known from the response, `min_x f(x, ybar_k)` is bounded from the gradient at
    /// `x_k`.
    fn consider_average(&mut self) -> Result<()> {
        let Apg { oracles, x, y_bar, gradient, vertex, .. } = self;
        let (value, minimum) = oracles.certifying(|o| -> Result<_> {
            o.grad_x(x, y_bar, gradient)?;
            let minimum = o.lmo(Block::X, gradient, vertex)?;
            Ok((o.value(x, y_bar)?, minimum))
        })?;
        let (rounding, [dx, _]) = (oracles.rounding(x, y_bar, value), oracles.diameters);
        let slope = dot_difference(gradient, &x.x, vertex);
        let gap_x = gap_part(gradient, slope, &minimum, rounding.grad_x, dx).gap;
        // max_y f(x_k, y) is known from elsewhere: the difference of two values rounds as both do
        let sums = 4.0 * f64::EPSILON * (value.abs() + self.upper.abs() + gap_x);
        let gap_y = self.upper - value + rounding.value + sums;
        let now = certificate_of(oracles, (value, 0.0), &rounding, [gap_x, gap_y.max(0.0)]);
        self.best.history.take_bounds(&now)?;
        self.best.offer(now, &self.x.x, &self.y_bar);
        Ok(())
    }
}

impl Algorithm for Apg<'_> {
    fn name(&self) -> &'static str {
        ApgSettings::ABOUT.name
    }

    fn step(&mut self) -> Result<Step> {
        let following = self.look_ahead();
        self.y_ahead.copy_from_slice(&self.y);
        let Some(gap_ahead) = self.respond(false)? else {
            return Ok(Step::InnerBudget(Block::Y));
        };
        self.oracles.grad_x(&self.ahead, &self.y_ahead, &mut self.gradient)?;
        if self.curvature == 0.0 {
            let guess = FIRST_GUESS * norm(&self.gradient) / self.diameter;
            self.curvature = if guess > 0.0 && guess.is_finite() { guess } else { 1.0 };
        }

        self.y_trial.copy_from_slice(&self.y_ahead);
        let mut ceiling = f64::INFINITY;
        let (falls, square, gap) = loop {
            let (g, w) = (&self.gradient, &self.ahead.x);
            self.oracles.prox(Block::X, g, w, self.curvature, &mut self.trial.x)?;
            self.oracles.image(&self.trial.x, &mut self.trial.image)?;
            self.oracles.prepare(&mut self.trial);
            let Some(gap) = self.respond(true)? else {
                return Ok(Step::InnerBudget(Block::Y));
            };
            // phi(x_k) - phi(w_k) - slope = [f(x_k, y_w) - f(w_k, y_w) - slope] + [f(x_k, y_k) - f(x_k, y_w)],
            // up to what both responses may still gain (the least that can be told of it is a rounding of f)
            let (slope, square) = dot_difference(&self.gradient, &self.trial.x, &self.ahead.x);
            let bend = self.oracles.bend_x(&self.ahead, &self.trial, &self.y_ahead, slope)?;
            let change = self.oracles.change_y(&self.trial, &self.y_ahead, &self.y_trial)?;
            let bends = bend.value + change.value;
            let least = if self.value.is_finite() { f64::EPSILON * self.value.abs() } else { 0.0 };
            let slack = bend.rounding + change.rounding + gap + gap_ahead + least;
            let allowed = 0.5 * self.curvature * square;
            if bends <= allowed + slack || square == 0.0 {
                break (bends < FALL * allowed && slack < allowed, square, gap);
            }
            let needed = 2.0 * bends / square;
            ceiling = ceiling.min(RUNAWAY * self.curvature.max(needed));
            self.curvature = (1.05 * needed).clamp(1.4 * self.curvature, 32.0 * self.curvature);
            if !(self.curvature <= ceiling) {
                return Err(Error::Numerical {
                    what: "accelerated projected gradient",
                    why: format!(
                        "the curvature ran away to {:e} at iteration {}: is grad_x the gradient of value, \
                         and is f concave in y? `check_gradient` tells",
                        self.curvature,
                        self.k + 1
                    ),
                });
            }
        };
        let value = self.oracles.value(&self.trial, &self.y_trial)?;

        // ybar_k = sum_s (t_s/L_s) y(w_s) / sum_s t_s/L_s
        if std::mem::take(&mut self.restarts) {
            self.y_bar_weight = 0.0;
        }
        let weight = following / self.curvature;
        self.y_bar_weight += weight;
        let share = weight / self.y_bar_weight;
        axpby(share, &self.y_ahead, 1.0 - share, &mut self.y_bar);
        self.oracles.repair(Block::Y, &mut self.y_bar);

        // restart when the momentum points uphill or phi rises beyond rounding and inner accuracy
        let uphill = dot_of_differences(&self.ahead.x, &self.x.x, &self.trial.x) < 0.0;
        let rises = value
            > self.value + self.accuracy + 8.0 * f64::EPSILON * (value.abs() + self.value.abs());
        self.momentum = following;
        if uphill || rises || square == 0.0 {
            self.momentum = 1.0;
            self.restarts = true;
        }
        // x_k = w_k = x_{k-1} solves the problem, if y(w_k) was right
        let stuck = square == 0.0
            && self.trial.x == self.x.x
            && self.accuracy <= f64::EPSILON.powf(1.5) * (value.abs() + self.first_gap);
        let rounding = self.oracles.rounding(&self.trial, &self.y_trial, value).value;
        (self.value, self.upper) = (value, value + gap + rounding);
        self.accuracy = (ACCURACY * self.curvature * square).max(1e-4 * self.accuracy);
        self.last_curvature = self.curvature;
        if falls {
            // the momentum t^2 L_{k+1}/L_k must go on growing
            self.curvature *= FALL.max(1.0 - 0.5 / self.momentum);
        }
        std::mem::swap(&mut self.before, &mut self.x);
        std::mem::swap(&mut self.x, &mut self.trial);
        std::mem::swap(&mut self.y, &mut self.y_trial);
        self.k += 1;
        Ok(if stuck { Step::NoProgress } else { Step::Advanced })
    }

    fn evaluate(&mut self) -> Result<()> {
        self.best.consider(&mut self.oracles, &self.x, &self.y)?;
        if self.k > 0 {
            self.consider_average()?;
        }
        Ok(())
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

    fn ledger(&self) -> &Ledger {
        &self.oracles.ledger
    }

    fn watch(&self) -> &Watch {
        self.oracles.watch()
    }

    /// `w_k`, the trial and their responses are made anew in every iteration; the first gap is known from the start.
    fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.nested("oracles", |archive| self.oracles.state(archive))?;
        archive.nested("y_solver", |archive| self.y_solver.state(archive))?;
        archive.count("k", &mut self.k)?;
        archive.magnitude("curvature", &mut self.curvature)?;
        archive.number("last_curvature", &mut self.last_curvature)?;
        archive.number("momentum", &mut self.momentum)?;
        archive.flag("restarts", &mut self.restarts)?;
        archive.number("accuracy", &mut self.accuracy)?;
        archive.number("value", &mut self.value)?;
        archive.number("upper", &mut self.upper)?;
        self.oracles.point_state(archive, "x", &mut self.x)?;
        self.oracles.point_state(archive, "before", &mut self.before)?;
        archive.numbers("y", &mut self.y)?;
        archive.numbers("y_bar", &mut self.y_bar)?;
        archive.number("y_bar_weight", &mut self.y_bar_weight)?;
        archive.nested("best", |archive| self.best.state(archive))
    }
}
