//! The corrective method where `x` is known by its oracle and `y` by its best response.
//!
//! ```text
//! (1)  w   = argmin over w in the simplex of phi(sum_a w_a A p_a),  to a share of the gap     (no oracle call)
//! (2)  y   = argmax f(x, .),  g = grad_x f(x, y),  p = LO(g)                                   (one gradient, one call)
//!      upper = phi(x),  lower = f(x, y) + <g, p - x>
//! (3)  p becomes an atom; atoms idle for long leave, after phi has fallen
//! ```
//!
//! This is fully corrective Frank-Wolfe on `phi` (Jaggi, "Revisiting Frank-Wolfe", ICML 2013). docs/theory.md has the rates.

use super::BothBlocks;
use super::CorrectiveSettings;
use super::atoms::Atoms;
use super::phi::{Phi, Response};
use super::restricted::RestrictedSet;
use super::spectral::Spectral;
use crate::certificate::Certificate;
use crate::domain::NuclearShape;
use crate::error::{Block, Error, Result, check_len};
use crate::linalg::Factors;
use crate::oracles::{Ledger, Oracles};
use crate::problem::{MatrixOperator, PointX, Rounding};
use crate::run::{Algorithm, Fact, Step};
use crate::solver::inner::INNER_BUDGET;
use crate::solver::mpcgs::YSolver;
use crate::solver::{Inner, MethodSettings, Start};
use crate::state::Archive;
use crate::watch::Watch;

/// Restricted problems need not be solved below this share of the value.
const FLOOR: f64 = 1e-15;

/// On large nuclear balls evaluations of phi take products, and are not cheap beside a call: restricted problems are solved to
/// this many times the share. Measured on 2,000 x 2,000, 5 % observed, to a gap of 1e-3: with shares of 0.01, 0.03 and 0.1 of the
/// gap 15, 13 and 13 calls, and 9.5, 5.7 and 3.9 s.
const SPECTRAL_SHARE: f64 = 50.0;

/// A gap of so many times what it is charged with for rounding is as good as rounding.
const AT_FLOOR: f64 = 4.0;

/// A restricted problem that leaves more than this share of the gap was not solved, and after so many in a row none will be.
const POOR: f64 = 0.1;
const MOST_POOR: u64 = 3;

/// The corrective method on one block, running.
pub struct OneBlock<'a, S> {
    oracles: Oracles<'a>,
    solver: YSolver,
    share: f64,
    set: S,
    k: u64,
    /// The image of the present point.
    point: PointX,
    response: Response,
    /// The gradient in the image there.
    slope: Vec<f64>,
    /// Whether the oracle has been asked at the present point.
    is_asked: bool,
    /// How many restricted problems in a row were left unsolved.
    poor: u64,
    best: Best,
}

/// The best bounds, with the points for which they hold.
pub(super) struct Best {
    pub certificate: Certificate,
    /// The point, empty where it is kept by factors.
    pub x: Vec<f64>,
    pub factors: Option<Factors>,
    /// The image of `x`.
    pub image: Vec<f64>,
    pub y: Vec<f64>,
    pub upper: f64,
    pub lower: f64,
    /// What the bounds of the last pair were charged with for rounding.
    pub charged: f64,
    /// Whether the certificate is that of the bounds.
    pub is_current: bool,
}

impl Best {
    pub fn new(x: &PointX, y: &[f64]) -> Self {
        Best {
            certificate: Certificate::NONE,
            x: x.x.clone(),
            factors: None,
            image: x.image.clone(),
            y: y.to_vec(),
            upper: f64::INFINITY,
            lower: f64::NEG_INFINITY,
            charged: 0.0,
            is_current: false,
        }
    }

    pub fn gap(&self) -> f64 {
        self.upper - self.lower
    }

    /// Whether the gap is as good as rounding, and has not fallen since it was `before`: answers of an oracle to gradients that are
    /// rounding are new for ever, and lead nowhere.
    pub fn is_at_floor(&self, before: f64) -> bool {
        !(self.gap() < before) && self.gap() <= AT_FLOOR * self.charged
    }

    /// Takes in bounds: `upper` of `max f(x, .)` at the point of the atoms, `lower` of `min f(., y)`.
    ///
    /// # Errors
    /// A point whose factors cannot be found.
    pub fn take(
        &mut self,
        oracles: &Oracles<'_>,
        [lower, upper]: [f64; 2],
        set: &impl RestrictedSet,
        image: &[f64],
        y: &[f64],
    ) -> Result<()> {
        if upper < self.upper {
            self.upper = upper;
            match set.factors() {
                Some(factors) => self.factors = Some(factors?),
                // the bits that were certified
                None if !oracles.has_operator() => self.x.copy_from_slice(image),
                None => {
                    set.write(&mut self.x);
                    oracles.repair(Block::X, &mut self.x);
                }
            }
            self.image.copy_from_slice(image);
            self.is_current = false;
        }
        if lower > self.lower {
            self.lower = lower;
            self.y.copy_from_slice(y);
            self.is_current = false;
        }
        Ok(())
    }

    /// Makes the certificate that of the bounds: one value.
    pub fn certify(&mut self, oracles: &mut Oracles<'_>, room: &mut PointX) -> Result<()> {
        if self.is_current {
            return Ok(());
        }
        room.image.copy_from_slice(&self.image);
        oracles.prepare(room);
        let value = oracles.certifying(|o| o.value(room, &self.y))?;
        let confidence = oracles.confidence();
        self.certificate = Certificate::between(self.lower, value, self.upper, confidence);
        self.is_current = true;
        Ok(())
    }

    pub fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.nested("certificate", |archive| self.certificate.state(archive))?;
        archive.numbers("x", &mut self.x)?;
        if let Some(factors) = &mut self.factors {
            archive.nested("factors", |archive| factors.state(archive))?;
        }
        archive.numbers("image", &mut self.image)?;
        archive.numbers("y", &mut self.y)?;
        archive.number("upper", &mut self.upper)?;
        archive.number("lower", &mut self.lower)?;
        archive.number("charged", &mut self.charged)?;
        archive.flag("is_current", &mut self.is_current)
    }
}

/// What the lower and the upper bound of a pair are charged with beyond the gains of both blocks: the value, the way to members of
/// the sets, and what is carried along. The point that is written and its image are mixtures of so many `terms`, of which each rounds,
/// and `scale` is the size of those that enter the value; images that are the points themselves are what they are.
pub(super) fn charges(
    oracles: &Oracles<'_>,
    rounding: &Rounding,
    value: f64,
    (terms, scale): (usize, f64),
) -> [f64; 2] {
    let [of_x, of_y] = oracles.charge_of_slack(rounding);
    let carried = match oracles.has_operator() {
        true => {
            let way = rounding.steepest_x * oracles.farthest(Block::X);
            2.0 * (8 + terms) as f64 * f64::EPSILON * (scale + way)
        }
        false => 0.0,
    };
    let of_value = rounding.value + 4.0 * f64::EPSILON * value.abs();
    [of_value + of_y, of_value + of_x + carried]
}

impl<'a> OneBlock<'a, Atoms> {
    /// The method at its start point.
    ///
    /// # Errors
    /// Dimensions that disagree, a start point outside its set, no way to find the best response.
    pub fn new(start: Start<'a, '_>, settings: &CorrectiveSettings) -> Result<Self> {
        settings.check()?;
        let mut oracles = start.oracles(CorrectiveSettings::ABOUT.needs)?;
        let solver = YSolver::new(&mut oracles, Inner::Auto, INNER_BUDGET)?;
        let (point, y) = start.points(&mut oracles)?;
        Ok(OneBlock {
            solver,
            share: settings.share,
            set: Atoms::new(Block::X, &point.x, &point.image, settings.atoms),
            k: 0,
            slope: vec![0.0; point.image.len()],
            is_asked: false,
            poor: 0,
            best: Best::new(&point, &y),
            response: Response { y, gap: f64::INFINITY },
            point,
            oracles,
        })
    }
}

impl<'a> OneBlock<'a, Atoms> {
    /// Whether restricted problems are no longer solved: phi has too many kinks, or `y` runs too fast for its second derivatives.
    pub(super) fn fails(&self) -> bool {
        self.poor >= MOST_POOR
    }

    /// Whether what is left of the gap is rounding.
    pub(super) fn is_at_floor(&self) -> bool {
        self.best.is_at_floor(f64::NEG_INFINITY)
    }

    /// The image of the present point, and the last response.
    pub(super) fn present(&self) -> (&[f64], &[f64]) {
        (&self.point.image, &self.response.y)
    }

    /// Goes on with atoms of both blocks, from the present ones of x and the last response. `home` is a pair of points of the run's
    /// start.
    pub(super) fn into_both(
        self,
        home: (&[f64], &[f64]),
        settings: &CorrectiveSettings,
    ) -> BothBlocks<'a> {
        let OneBlock { oracles, set, k, response, best, .. } = self;
        BothBlocks::going_on(oracles, (set, response.y), (k, best), home, settings)
    }
}

impl<'a> OneBlock<'a, Spectral<'a>> {
    /// The method on a nuclear-norm ball, from the zero matrix: points are thin factors.
    ///
    /// # Errors
    /// Dimensions that disagree, a start point for x, no way to find the best response.
    pub fn spectral(
        start: Start<'a, '_>,
        settings: &CorrectiveSettings,
        shape: NuclearShape,
        operator: &'a dyn MatrixOperator,
    ) -> Result<Self> {
        settings.check()?;
        if start.x0.is_some() {
            let why = "points are kept as thin factors here and start from zero; leave it out";
            return Err(Error::Setting { name: "start point for x", why: why.to_owned() });
        }
        check_len("rows of the operator", shape.rows, operator.shape().0)?;
        check_len("columns of the operator", shape.columns, operator.shape().1)?;
        let mut oracles = start.oracles(CorrectiveSettings::ABOUT.needs)?;
        let solver = YSolver::new(&mut oracles, Inner::Auto, INNER_BUDGET)?;
        let mut point = PointX::at_image_zero(start.problem);
        let mut y = vec![0.0; start.problem.dim_y()];
        oracles.start(Block::Y, start.y0, &mut y)?;
        oracles.prepare(&mut point);
        let mut first = vec![0.0; point.image.len()];
        oracles.grad_image(&point, &y, &mut first)?;
        let set = Spectral::new(shape, operator, first);
        let nothing = Factors::new(shape.rows, shape.columns, vec![], vec![], vec![]);
        Ok(OneBlock {
            solver,
            share: (SPECTRAL_SHARE * settings.share).min(0.1),
            set,
            k: 0,
            slope: vec![0.0; point.image.len()],
            is_asked: false,
            poor: 0,
            best: Best { factors: Some(nothing), ..Best::new(&point, &y) },
            response: Response { y, gap: f64::INFINITY },
            point,
            oracles,
        })
    }
}

impl<S: RestrictedSet> OneBlock<'_, S> {
    /// Asks the oracle at the present point, unless that has been done: the next step needs the answer as much as the
    /// certificate does.
    fn ask(&mut self) -> Result<()> {
        if self.is_asked {
            return Ok(());
        }
        self.set.image(&mut self.point.image);
        if !self.oracles.has_operator() {
            self.oracles.repair(Block::X, &mut self.point.image);
        }
        self.oracles.prepare(&mut self.point);
        let Response { y, gap } = &mut self.response;
        let accuracy = 1e-3 * self.share * self.best.gap();
        *gap = self.solver.respond(&mut self.oracles, &self.point, accuracy, y)?.gap;
        self.oracles.grad_image(&self.point, y, &mut self.slope)?;
        let value = self.oracles.value(&self.point, y)?;
        let minimum = self.set.ask(&mut self.oracles, &self.slope)?;
        let Self { oracles, set, slope, point, .. } = self;
        let rounding = oracles.rounding(point, y, value);
        let gain = set.gain(oracles, (slope, &point.image), &minimum, rounding.grad_x);
        let mixed = (set.len(), set.scale(slope));
        let [below, above] = charges(oracles, &rounding, value, mixed);
        let sums = 4.0 * f64::EPSILON * (gain.gap + *gap);
        let bounds = [value - gain.gap - below - sums, value + *gap + above + sums];
        self.best.charged = gain.rounding + below + above + 2.0 * sums;
        self.best.take(oracles, bounds, set, &point.image, y)?;
        self.is_asked = true;
        Ok(())
    }
}

impl<S: RestrictedSet> Algorithm for OneBlock<'_, S> {
    fn name(&self) -> &'static str {
        CorrectiveSettings::ABOUT.name
    }

    fn step(&mut self) -> Result<Step> {
        self.ask()?;
        let is_new = self.set.grow(&mut self.oracles)?;
        let gap = self.best.gap();
        let size = self.best.upper.abs().max(self.best.lower.abs());
        let wanted = (self.share * gap).max(FLOOR * size);
        let knows_curvature = self.oracles.problem().capabilities().curvature.is_some();
        // differences need responses that are better than values do
        let needs_more = !knows_curvature && !self.oracles.has_best_response();
        let mut phi = Phi {
            knows_curvature,
            oracles: &mut self.oracles,
            solver: &mut self.solver,
            point: &mut self.point,
            response: &mut self.response,
            accuracy: if needs_more { 1e-6 } else { 1e-3 } * wanted,
        };
        let restricted = self.set.minimise(&mut phi, wanted)?;
        self.poor = if restricted.left > POOR * gap { self.poor + 1 } else { 0 };
        self.is_asked = false;
        self.ask()?;
        if restricted.fell > 0.0 {
            self.set.shrink();
        }
        self.k += 1;
        let is_stuck = !is_new && !(restricted.fell > 0.0) && !(self.best.gap() < gap);
        let is_stuck = is_stuck || self.best.is_at_floor(gap);
        Ok(if is_stuck { Step::NoProgress } else { Step::Advanced })
    }

    fn evaluate(&mut self) -> Result<()> {
        self.ask()?;
        // the image of the present point is taken anew by the next look
        self.best.certify(&mut self.oracles, &mut self.point)
    }

    fn certificate(&self) -> &Certificate {
        &self.best.certificate
    }

    fn best(&self) -> (&[f64], &[f64]) {
        (&self.best.x, &self.best.y)
    }

    fn factors(&self) -> Option<&Factors> {
        self.best.factors.as_ref()
    }

    fn current(&self) -> (&[f64], &[f64]) {
        (&self.best.x, &self.response.y)
    }

    fn iterations(&self) -> u64 {
        self.k
    }

    fn facts(&self) -> Vec<Fact> {
        vec![Fact { name: "atoms_x", value: self.set.len() as f64 }]
    }

    fn ledger(&self) -> &Ledger {
        &self.oracles.ledger
    }

    fn watch(&self) -> &Watch {
        self.oracles.watch()
    }

    fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.nested("oracles", |archive| self.oracles.state(archive))?;
        archive.nested("y_solver", |archive| self.solver.state(archive))?;
        archive.count("k", &mut self.k)?;
        archive.nested("atoms", |archive| self.set.state(archive))?;
        archive.numbers("y", &mut self.response.y)?;
        archive.flag("is_asked", &mut self.is_asked)?;
        archive.count("poor", &mut self.poor)?;
        archive.nested("best", |archive| self.best.state(archive))
    }
}
