//! The extragradient method (Korpelevich 1976), which is Mirror-Prox (Nemirovski 2004) with the
//! Euclidean prox, with a step of its own for each block.

use crate::certificate::Certificate;
use crate::domain::Domain;
use crate::error::{Block, Error, Result, check_positive};
use crate::linalg::{axpby, distance_squared, dot_difference, norm};
use crate::oracles::{Ledger, Oracles};
use crate::problem::{BlockConstants, PointX};
use crate::run::{Algorithm, Step};
use crate::solver::{About, Incumbent, MethodSettings, Need, Start};
use crate::state::{Archive, Fingerprint};
use crate::watch::Watch;

/// Settings of the extragradient method: two steps, or none for steps found by backtracking.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ExtragradientSettings {
    /// The step in `x`.
    pub step_x: Option<f64>,
    /// The step in `y`.
    pub step_y: Option<f64>,
}

impl ExtragradientSettings {
    /// Constant steps `eta_x` and `eta_y`.
    #[must_use]
    pub fn steps(mut self, eta_x: f64, eta_y: f64) -> Self {
        (self.step_x, self.step_y) = (Some(eta_x), Some(eta_y));
        self
    }
}

impl MethodSettings for ExtragradientSettings {
    const ABOUT: About =
        About::new("extragradient", "Extragradient (Euclidean Mirror-Prox), which projects")
            .needs(&[Need::Projection(Block::X), Need::Projection(Block::Y)])
            .certifies_by_fw_gap();

    fn start<'a>(&self, start: Start<'a, '_>) -> Result<Box<dyn Algorithm + 'a>> {
        Ok(Box::new(Extragradient::new(start, self)?))
    }

    fn fingerprint(&self, print: &mut Fingerprint) {
        let ExtragradientSettings { step_x, step_y } = self;
        print.note_maybe("step in x", *step_x);
        print.note_maybe("step in y", *step_y);
    }

    fn check(&self) -> Result<()> {
        match (self.step_x, self.step_y) {
            (Some(step_x), Some(step_y)) => {
                check_positive("the step in x", step_x)?;
                check_positive("the step in y", step_y)
            }
            (None, None) => Ok(()),
            _ => {
                let why = "give a step for both blocks, or for none".to_owned();
                Err(Error::Setting { name: "step_x, step_y", why })
            }
        }
    }

    fn with_steps(self, step_x: f64, step_y: f64) -> Option<Self> {
        Some(self.steps(step_x, step_y))
    }

    fn steps(&self) -> Option<(f64, f64)> {
        self.step_x.zip(self.step_y)
    }
}

/// What a step may use up of what convergence needs (1 would be all).
const NU: f64 = 0.9;
/// A step that uses less than this of what it may is followed by a longer one, by `GROWTH` at most.
const ROOM: f64 = 0.8;
const GROWTH: f64 = 1.25;
/// A fall of the step within one iteration after which something other than the step must be wrong.
const RUNAWAY: f64 = 1e-14;
/// A step before projection of this many diameters need not become longer.
const OVERLONG: f64 = 1e3;
/// The ratio of the two steps is changed when the measured one differs by more than this factor.
const LOPSIDED: f64 = 2.0;

/// Steps `eta_x = 1/(Lxx + Lxy^2/d)`, `eta_y = 1/(Lyy + d)`. For every `d > 0` the scaled Jacobian
/// `[[eta_x Lxx, sqrt(eta_x eta_y) Lxy], [., eta_y Lyy]]` has norm at most 1, as extragradient needs.
///
/// `d = Lxy D_X/D_Y` makes `D_X^2/eta_x + D_Y^2/eta_y`, the constant of the ergodic rate, as small as
/// can be; raising `d` to `Lyy` costs `y` a factor of 2 at the most and lengthens the step in `x`.
/// Neither changes when a block is measured in other units.
fn balance(lxx: f64, lxy: f64, lyy: f64, size_x: f64, size_y: f64) -> (f64, f64) {
    let d = lyy.max(lxy * size_x / size_y);
    if !(d > 0.0) {
        let scale = if lxx > 0.0 { 1.0 / lxx } else { 1.0 };
        return (scale, scale * (size_y / size_x).powi(2));
    }
    let (curvature_x, step_y) = (lxx + lxy * lxy / d, 1.0 / (lyy + d));
    let step_x =
        if curvature_x > 0.0 { 1.0 / curvature_x } else { step_y * (size_x / size_y).powi(2) };
    (step_x, step_y)
}

/// The longest balanced steps that the problem's block constants allow.
pub(super) fn balanced_steps(start: &Start<'_, '_>, needed_by: &'static str) -> Result<(f64, f64)> {
    let c = BlockConstants::of(start.problem)?;
    let need = |name, value: Option<f64>| {
        let hint = "give the steps, or look for them with `search_steps`";
        value.ok_or(Error::MissingConstant { name, needed_by, hint })
    };
    let (lxx, lxy, lyy) = (need("Lxx", c.lxx)?, need("Lxy", c.lxy)?, need("Lyy", c.lyy)?);
    let (size_x, size_y) = sizes(start.x_set, start.y_set);
    Ok(balance(lxx, lxy, lyy, size_x, size_y))
}

/// The diameters; those of single points count as 1, for no step depends on them.
fn sizes(x_set: &dyn Domain, y_set: &dyn Domain) -> (f64, f64) {
    let size = |set: &dyn Domain| if set.diameter() > 0.0 { set.diameter() } else { 1.0 };
    (size(x_set), size(y_set))
}

/// Smoothness between two points, measured block by block.
#[derive(Clone, Copy, Debug, Default)]
struct Curvature {
    lxx: f64,
    lxy: f64,
    lyy: f64,
}

/// A pair of points with the field `F = (grad_x f, -grad_y f)` there.
struct Pair {
    x: PointX,
    y: Vec<f64>,
    field_x: Vec<f64>,
    field_y: Vec<f64>,
}

impl Pair {
    fn at(x: &PointX, y: &[f64]) -> Self {
        Pair { x: x.clone(), y: y.to_vec(), field_x: x.x.clone(), field_y: y.to_vec() }
    }

    /// The image of `x`, and what the problem prepares from it.
    fn see(&mut self, oracles: &mut Oracles<'_>) -> Result<()> {
        oracles.image(&self.x.x, &mut self.x.image)?;
        oracles.prepare(&mut self.x);
        Ok(())
    }

    /// The field at this point.
    fn field(&mut self, oracles: &mut Oracles<'_>) -> Result<()> {
        oracles.grad_x(&self.x, &self.y, &mut self.field_x)?;
        oracles.grad_y(&self.x, &self.y, &mut self.field_y)?;
        self.field_y.iter_mut().for_each(|g| *g = -*g);
        Ok(())
    }
}

/// The extragradient method, running:
///
/// ```text
/// z_half = P[z_k - eta F(z_k)],   z_{k+1} = P[z_k - eta F(z_half)],   F = (grad_x f, -grad_y f).
/// ```
///
/// Without given steps, `eta = s (w_x, w_y)`; a step is accepted if
///
/// ```text
/// 2 s <F(z_half) - F(z_k), z_half - z_{k+1}> <= nu (|z_half - z_k|_w^2 + |z_half - z_{k+1}|_w^2)
/// ```
///
/// with `|z|_w^2 = |x|^2/w_x + |y|^2/w_y`: what the proofs use of `F`. At iterations 1, 2, 4, 8, ... the
/// smoothness of each block is measured, by one more gradient at `(x_half, y_k)`, and the ratio of
/// the weights set by it; the ergodic average then begins anew.
///
/// The last iterate and the average of the half steps, weighted by the step, are both certified.
pub struct Extragradient<'a> {
    oracles: Oracles<'a>,
    adaptive: bool,
    weight_x: f64,
    weight_y: f64,
    /// `s`; 0 before the first step.
    scale: f64,
    measured: Curvature,
    size_x: f64,
    size_y: f64,
    k: u64,
    now: Pair,
    half: Pair,
    next: Pair,
    /// Whether `now` has its field.
    fresh: bool,
    average: PointX,
    average_y: Vec<f64>,
    average_weight: f64,
    best: Incumbent,
}

impl<'a> Extragradient<'a> {
    /// The extragradient method at its start point.
    ///
    /// # Errors
    /// Dimensions that disagree, a start point outside its set, a step that is no positive number or
    /// given for one block alone, a set without an exact projection.
    pub fn new(start: Start<'a, '_>, settings: &ExtragradientSettings) -> Result<Self> {
        settings.check()?;
        let mut oracles = start.oracles(ExtragradientSettings::ABOUT.needs)?;
        let (size_x, size_y) = sizes(start.x_set, start.y_set);
        let (adaptive, weight_x, weight_y, scale) = match MethodSettings::steps(settings) {
            Some((step_x, step_y)) => (false, step_x, step_y, 1.0),
            None => match balanced_steps(&start, "") {
                Ok((step_x, step_y)) => (true, step_x, step_y, 1.0),
                Err(_) => (true, size_x.powi(2), size_y.powi(2), 0.0),
            },
        };
        let (x, y) = start.points(&mut oracles)?;
        Ok(Extragradient {
            oracles,
            adaptive,
            weight_x,
            weight_y,
            scale,
            measured: Curvature::default(),
            size_x,
            size_y,
            k: 0,
            now: Pair::at(&x, &y),
            half: Pair::at(&x, &y),
            next: Pair::at(&x, &y),
            fresh: false,
            average_y: y.clone(),
            average_weight: 0.0,
            best: Incumbent::new(&x.x, &y),
            average: x,
        })
    }

    /// The steps in `x` and `y`: those given, or those last found.
    #[must_use]
    pub fn steps(&self) -> (f64, f64) {
        (self.scale * self.weight_x, self.scale * self.weight_y)
    }

    /// The average of the half steps, weighted by the step.
    #[must_use]
    pub fn average(&self) -> (&[f64], &[f64]) {
        (&self.average.x, &self.average_y)
    }

    /// `z_half = P[z_k - eta F(z_k)]`, and the field there.
    fn half_step(&mut self) -> Result<()> {
        let (step_x, step_y) = self.steps();
        let Extragradient { oracles, now, half, .. } = self;
        oracles.prox(Block::X, &now.field_x, &now.x.x, 1.0 / step_x, &mut half.x.x)?;
        oracles.prox(Block::Y, &now.field_y, &now.y, 1.0 / step_y, &mut half.y)?;
        half.see(oracles)?;
        half.field(oracles)
    }

    /// `z_{k+1} = P[z_k - eta F(z_half)]`, without its image.
    fn full_step(&mut self) -> Result<()> {
        let (step_x, step_y) = self.steps();
        let Extragradient { oracles, now, half, next, .. } = self;
        oracles.prox(Block::X, &half.field_x, &now.x.x, 1.0 / step_x, &mut next.x.x)?;
        oracles.prox(Block::Y, &half.field_y, &now.y, 1.0 / step_y, &mut next.y)?;
        Ok(())
    }

    /// Whether the half step went nowhere: `z_k` solves the problem as far as rounding lets one see.
    fn stands_still(&self) -> bool {
        self.half.x.x == self.now.x.x && self.half.y == self.now.y
    }

    /// How much of what it may the step uses: at most 1 if it is to be accepted.
    fn usage(&self) -> f64 {
        let Extragradient { now, half, next, weight_x, weight_y, .. } = self;
        let (half_x, ahead_x) = dot_difference(&half.field_x, &half.x.x, &next.x.x);
        let (half_y, ahead_y) = dot_difference(&half.field_y, &half.y, &next.y);
        let now_x = dot_difference(&now.field_x, &half.x.x, &next.x.x).0;
        let now_y = dot_difference(&now.field_y, &half.y, &next.y).0;
        let square = (distance_squared(&half.x.x, &now.x.x) + ahead_x) / weight_x
            + (distance_squared(&half.y, &now.y) + ahead_y) / weight_y;
        let product = (half_x - now_x) + (half_y - now_y);
        // near the saddle point the fields differ by no more than their rounding
        let rounding = 8.0
            * f64::EPSILON
            * (norm(&now.field_x) * ahead_x.sqrt() + norm(&now.field_y) * ahead_y.sqrt());
        if product.abs() <= rounding && rounding > 0.0 {
            return ROOM; // short enough, and no reason for a longer one
        }
        2.0 * self.scale * product.max(0.0) / (NU * square)
    }

    /// Whether a step reaches so far beyond its set that a longer one makes no sense.
    fn overlong(&self) -> bool {
        let (step_x, step_y) = self.steps();
        step_x * norm(&self.now.field_x) > OVERLONG * self.size_x
            || step_y * norm(&self.now.field_y) > OVERLONG * self.size_y
    }

    /// Measures the smoothness of each block between `z_k` and `z_half` and, where it says so, changes
    /// the ratio of the two steps. Uses `next` as scratch.
    fn rebalance(&mut self) -> Result<bool> {
        let Extragradient { oracles, now, half, next, .. } = self;
        next.y.copy_from_slice(&now.y);
        next.x.copy_from(&half.x);
        next.field(oracles)?; // at (x_half, y_k)
        let moved_x = distance_squared(&half.x.x, &now.x.x).sqrt();
        let moved_y = distance_squared(&half.y, &now.y).sqrt();
        let slope = |a: &[f64], b: &[f64], moved: f64| {
            if moved > 0.0 { distance_squared(a, b).sqrt() / moved } else { 0.0 }
        };
        let xx = slope(&next.field_x, &now.field_x, moved_x);
        let yx = slope(&next.field_y, &now.field_y, moved_x);
        let xy = slope(&half.field_x, &next.field_x, moved_y);
        let yy = slope(&half.field_y, &next.field_y, moved_y);
        let old = self.measured;
        // what was seen before counts half: directions differ
        self.measured = Curvature {
            lxx: xx.max(0.5 * old.lxx),
            lxy: xy.max(yx).max(0.5 * old.lxy),
            lyy: yy.max(0.5 * old.lyy),
        };
        let Curvature { lxx, lxy, lyy } = self.measured;
        let (new_x, new_y) = balance(lxx, lxy, lyy, self.size_x, self.size_y);
        let change = (new_x / new_y) / (self.weight_x / self.weight_y);
        let usable = new_x.is_finite() && new_y.is_finite() && new_x > 0.0 && new_y > 0.0;
        if moved_x == 0.0 || moved_y == 0.0 || !usable || !change.is_finite() {
            return Ok(false);
        }
        if (1.0 / LOPSIDED..=LOPSIDED).contains(&change) {
            return Ok(false);
        }
        (self.weight_x, self.weight_y, self.scale) = (new_x, new_y, NU);
        self.average_weight = 0.0;
        Ok(true)
    }

    /// Steps that are short enough; false if there is nowhere to go.
    fn search(&mut self) -> Result<bool> {
        if self.scale == 0.0 {
            let size =
                self.size_x * norm(&self.now.field_x) + self.size_y * norm(&self.now.field_y);
            self.scale = if size > 0.0 { 1.0 / size } else { 1.0 };
        }
        let mut due = (self.k + 1).is_power_of_two();
        let mut first = self.scale;
        loop {
            self.half_step()?;
            if self.stands_still() {
                return Ok(false);
            }
            if std::mem::take(&mut due) && self.rebalance()? {
                first = first.max(self.scale);
                continue;
            }
            self.full_step()?;
            let usage = self.usage();
            if usage <= 1.0 {
                self.average_half();
                if usage < ROOM && !self.overlong() {
                    self.scale *= (NU / usage.max(f64::MIN_POSITIVE)).clamp(1.0, GROWTH);
                }
                return Ok(true);
            }
            self.scale *= (NU / usage).clamp(0.1, 0.8);
            if self.scale < RUNAWAY * first {
                return Err(Error::Numerical {
                    what: "extragradient",
                    why: format!(
                        "the step fell to {:e} at iteration {}: are the gradients those of a convex-concave \
                         function, and continuous? `check_gradient` tells",
                        self.scale,
                        self.k + 1
                    ),
                });
            }
        }
    }

    /// Takes `z_half` into the average, its image along.
    fn average_half(&mut self) {
        self.average_weight += self.scale;
        let share = self.scale / self.average_weight;
        axpby(share, &self.half.x.x, 1.0 - share, &mut self.average.x);
        axpby(share, &self.half.x.image, 1.0 - share, &mut self.average.image);
        axpby(share, &self.half.y, 1.0 - share, &mut self.average_y);
    }
}

impl Algorithm for Extragradient<'_> {
    fn name(&self) -> &'static str {
        ExtragradientSettings::ABOUT.name
    }

    fn step(&mut self) -> Result<Step> {
        if !self.fresh {
            self.now.field(&mut self.oracles)?;
            self.fresh = true;
        }
        if self.adaptive {
            if !self.search()? {
                return Ok(Step::NoProgress);
            }
        } else {
            self.half_step()?;
            if self.stands_still() {
                return Ok(Step::NoProgress);
            }
            self.full_step()?;
            self.average_half();
        }
        self.next.see(&mut self.oracles)?;
        std::mem::swap(&mut self.now, &mut self.next);
        self.fresh = false;
        self.k += 1;
        Ok(Step::Advanced)
    }

    fn evaluate(&mut self) -> Result<()> {
        self.best.consider(&mut self.oracles, &self.now.x, &self.now.y)?;
        if self.average_weight > 0.0 {
            self.oracles.prepare(&mut self.average);
            self.best.consider(&mut self.oracles, &self.average, &self.average_y)?;
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
        (&self.now.x.x, &self.now.y)
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

    /// Between iterations there is a field at `z_k` only where the run is over.
    fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.nested("oracles", |archive| self.oracles.state(archive))?;
        archive.number("weight_x", &mut self.weight_x)?;
        archive.number("weight_y", &mut self.weight_y)?;
        archive.magnitude("scale", &mut self.scale)?;
        archive.number("measured_xx", &mut self.measured.lxx)?;
        archive.number("measured_xy", &mut self.measured.lxy)?;
        archive.number("measured_yy", &mut self.measured.lyy)?;
        archive.count("k", &mut self.k)?;
        self.oracles.point_state(archive, "x", &mut self.now.x)?;
        archive.numbers("y", &mut self.now.y)?;
        self.oracles.point_state(archive, "average_x", &mut self.average)?;
        archive.numbers("average_y", &mut self.average_y)?;
        archive.number("average_weight", &mut self.average_weight)?;
        archive.nested("best", |archive| self.best.state(archive))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn balanced_steps_make_the_scaled_jacobian_a_contraction_at_most_in_any_units() {
        for (lxx, lxy, lyy) in [(1.0, 2.0, 3.0), (0.0, 5.0, 0.1), (4.0, 0.0, 1.0), (0.0, 0.0, 2.0)]
        {
            let (ex, ey) = balance(lxx, lxy, lyy, 2.0, 3.0);
            let (a, b, c) = (ex * lxx, (ex * ey).sqrt() * lxy, ey * lyy);
            let norm = 0.5 * (a + c) + (0.25 * (a - c).powi(2) + b * b).sqrt();
            assert!(norm <= 1.0 + 1e-12, "{lxx} {lxy} {lyy}: norm {norm}");
            // y in units of 1/10: lxy / 10, lyy / 100, size * 10; the step is 100 times as long
            let (fx, fy) = balance(lxx, lxy / 10.0, lyy / 100.0, 2.0, 30.0);
            assert!((fx / ex - 1.0).abs() < 1e-12 && (fy / (100.0 * ey) - 1.0).abs() < 1e-12);
        }
    }
}
