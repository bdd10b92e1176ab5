//! Sets of weights around nominal ones, from which an adversary chooses without a price.

mod capped;
mod chi_square;
mod kl;
mod total_variation;

use super::sum_repair::{Sum, repair_sum};
use super::{Cndg, Confidence, Domain, LinearMin, Oracle, SlideReport, SlideTask, cndg};
use crate::error::{Error, Result, check_finite, check_positive};
use crate::linalg::{accurate_sum, accurate_sum_of, distance_squared};
use crate::watch::Watch;
use std::sync::Arc;

/// Probability vectors `p` that are not too far from nominal weights `q`:
///
/// ```text
/// capped           p_i <= q_i/alpha                          0 < alpha < 1
/// total variation  1/2 sum |p_i - q_i| <= rho                rho > 0
/// chi-square       sum (p_i - q_i)^2/q_i <= rho
/// KL               sum p_i log(p_i/q_i) <= rho
/// ```
///
/// ```
/// use couloir::domain::{Domain, Reweighting};
/// let set = Reweighting::capped(vec![0.25; 4], 0.5)?;
/// let mut p = [0.0; 4];
/// // the largest of <loss, p> is the mean of the two largest losses
/// let minimum = set.oracle().lmo(&[-1.0, -7.0, -2.0, -5.0], &mut p)?;
/// assert_eq!((p, minimum.value), ([0.0, 0.5, 0.0, 0.5], -6.0));
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Reweighting {
    q: Arc<[f64]>,
    shape: Shape,
    /// `alpha` or `rho`.
    level: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Capped,
    TotalVariation,
    ChiSquare,
    Kl,
}

/// By how many units in the last place a point may leave a set and is left alone.
const ULPS: f64 = 2.0;

impl Reweighting {
    fn new(q: Vec<f64>, shape: Shape, level: f64) -> Result<Self> {
        if q.is_empty() {
            return Err(Error::EmptySet { why: "weights of no rows".to_owned() });
        }
        check_finite("nominal weights", &q)?;
        let sum = accurate_sum_of(&q);
        if q.iter().any(|q| *q <= 0.0) || (sum - 1.0).abs() > 1e-12 {
            let why =
                format!("nominal weights must be positive and add up to 1; they add up to {sum}");
            return Err(Error::Setting { name: "weights", why });
        }
        check_positive("level", level)?;
        Ok(Reweighting { q: q.into(), shape, level })
    }

    /// No weight above `1/alpha` times its nominal one: the largest mean is the conditional value at risk.
    ///
    /// # Errors
    /// Nominal weights that are not positive or do not add up to 1, `alpha` outside (0, 1).
    pub fn capped(q: Vec<f64>, alpha: f64) -> Result<Self> {
        if !(alpha > 0.0 && alpha < 1.0) {
            let why = format!("alpha must lie between 0 and 1, got {alpha}");
            return Err(Error::Setting { name: "level", why });
        }
        Reweighting::new(q, Shape::Capped, alpha)
    }

    /// At most `rho` of the weight moved from some rows to others.
    ///
    /// # Errors
    /// Nominal weights that are not positive or do not add up to 1, `rho` not positive.
    pub fn total_variation(q: Vec<f64>, rho: f64) -> Result<Self> {
        Reweighting::new(q, Shape::TotalVariation, rho)
    }

    /// A chi-square divergence of at most `rho`.
    ///
    /// # Errors
    /// As [`total_variation`](Self::total_variation).
    pub fn chi_square(q: Vec<f64>, rho: f64) -> Result<Self> {
        Reweighting::new(q, Shape::ChiSquare, rho)
    }

    /// A Kullback-Leibler divergence of at most `rho`.
    ///
    /// # Errors
    /// As [`total_variation`](Self::total_variation).
    pub fn kullback_leibler(q: Vec<f64>, rho: f64) -> Result<Self> {
        Reweighting::new(q, Shape::Kl, rho)
    }

    /// The nominal weights.
    #[must_use]
    pub fn nominal(&self) -> &[f64] {
        &self.q
    }

    /// `alpha` or `rho`.
    #[must_use]
    pub fn level(&self) -> f64 {
        self.level
    }

    /// The share of the way from `q` to `p` that the bound on the divergence allows; 1 or more inside.
    fn share(&self, p: &[f64]) -> f64 {
        match self.shape {
            Shape::Capped => capped::share(p, &self.q, self.level),
            Shape::TotalVariation => self.level / total_variation::distance(p, &self.q),
            Shape::ChiSquare => (self.level / chi_square::distance(p, &self.q)).sqrt(),
            // KL is convex and zero at q, so that the share is a lower bound
            Shape::Kl => self.level / kl::distance(p, &self.q),
        }
    }

    /// Writes a point with the largest `<losses, p>`, and returns a bound of what it misses. `room` is as long as the point.
    pub(crate) fn best(&self, losses: &[f64], room: &mut [f64], p: &mut [f64]) -> f64 {
        let missing = match self.shape {
            Shape::Capped => capped::best(losses, &self.q, self.level, p),
            Shape::TotalVariation => total_variation::best(losses, &self.q, self.level, p),
            Shape::ChiSquare => chi_square::best(losses, &self.q, self.level, p),
            Shape::Kl => kl::best(losses, &self.q, self.level, room, p),
        };
        // the weights round, each by a few units in its last place
        let top = losses.iter().fold(f64::NEG_INFINITY, |top, l| top.max(*l));
        let spread: f64 = losses.iter().zip(&*p).map(|(l, p)| (top - l) * p).sum();
        // what is no number tells nothing
        let missing = if missing.is_nan() { f64::INFINITY } else { missing };
        missing.max(0.0) + 8.0 * f64::EPSILON * spread.max(0.0)
    }

    /// Takes what rounding has left outside back in, on the way to `q`.
    fn draw_in(&self, p: &mut [f64]) -> f64 {
        let share = self.share(p);
        if share >= 1.0 - ULPS * f64::EPSILON {
            return 0.0;
        }
        let share = share * (1.0 - 4.0 * f64::EPSILON);
        let moved = (1.0 - share) * distance_squared(p, &self.q).sqrt();
        for (p, q) in p.iter_mut().zip(&*self.q) {
            *p = (q + share * (*p - q)).max(0.0);
        }
        moved + 2.0 * f64::EPSILON
    }
}

impl Domain for Reweighting {
    fn dim(&self) -> usize {
        self.q.len()
    }

    /// Of the simplex, or less: for capped weights by the largest, for the chi-square ball by `|p - q|^2 <= rho max q`, for the others by
    /// the total variation (which the divergence bounds by Pinsker's inequality).
    fn diameter(&self) -> f64 {
        if self.q.len() == 1 {
            return 0.0;
        }
        let most = self.q.iter().fold(0.0f64, |most, q| most.max(*q));
        let of_shape = match self.shape {
            Shape::Capped => (2.0 * most / self.level).sqrt(),
            Shape::TotalVariation => 2.0 * std::f64::consts::SQRT_2 * self.level,
            Shape::ChiSquare => 2.0 * (self.level * most).sqrt(),
            Shape::Kl => 2.0 * self.level.sqrt(),
        };
        of_shape.min(std::f64::consts::SQRT_2)
    }

    fn violation(&self, p: &[f64]) -> f64 {
        if p.iter().any(|p| !p.is_finite()) {
            return f64::INFINITY;
        }
        let negative = p.iter().fold(0.0f64, |worst, p| worst.max(-p));
        let sum = accurate_sum(p.iter().copied());
        let share = self.share(p);
        let beyond =
            if share < 1.0 { (1.0 - share) * distance_squared(p, &self.q).sqrt() } else { 0.0 };
        negative.max((sum - 1.0).abs()).max(beyond)
    }

    fn repair(&self, p: &mut [f64]) -> f64 {
        let moved = repair_sum(p, 1.0, Sum::Exactly);
        moved + self.draw_in(p)
    }

    /// As a simplex, which a single row meets exactly.
    fn slack(&self) -> [f64; 2] {
        if self.q.len() == 1 { [0.0; 2] } else { [16.0 * f64::EPSILON; 2] }
    }

    fn center(&self, out: &mut [f64]) {
        out.copy_from_slice(&self.q);
    }

    fn describe(&self) -> String {
        let (n, level) = (self.q.len(), self.level);
        match self.shape {
            Shape::Capped => {
                format!("weights of {n} rows of at most 1/{level} of the nominal ones")
            }
            Shape::TotalVariation => {
                format!("weights of {n} rows with at most {level} moved")
            }
            Shape::ChiSquare => {
                format!("weights of {n} rows with a chi-square divergence of at most {level}")
            }
            Shape::Kl => {
                format!("weights of {n} rows with a Kullback-Leibler divergence of at most {level}")
            }
        }
    }

    fn is_polytope(&self) -> Option<bool> {
        Some(matches!(self.shape, Shape::Capped | Shape::TotalVariation))
    }

    fn oracle(&self) -> Box<dyn Oracle + '_> {
        let scratch = Some(Cndg::new(self.dim()));
        let [negative, vertex, room] = [(); 3].map(|()| vec![0.0; self.dim()]);
        Box::new(ReweightingOracle { set: self, negative, vertex, room, scratch })
    }
}

struct ReweightingOracle<'a> {
    set: &'a Reweighting,
    negative: Vec<f64>,
    vertex: Vec<f64>,
    room: Vec<f64>,
    scratch: Option<Cndg>,
}

impl Oracle for ReweightingOracle<'_> {
    fn confidence(&self) -> Confidence {
        Confidence::Exact
    }

    fn lmo(&mut self, g: &[f64], p: &mut [f64]) -> Result<LinearMin> {
        check_finite("gradient", g)?;
        self.negative.iter_mut().zip(g).for_each(|(n, g)| *n = -g);
        let missing = self.set.best(&self.negative, &mut self.room, p);
        let value = accurate_sum(g.iter().zip(&*p).map(|(g, p)| g * p));
        let size: f64 = g.iter().zip(&*p).map(|(g, p)| g.abs() * p).sum();
        let lower = value - missing - 4.0 * f64::EPSILON * size;
        Ok(LinearMin { lower, ..LinearMin::exact(value) })
    }

    fn has_prox(&self) -> bool {
        true
    }

    fn prox(&mut self, g: &[f64], q: &[f64], beta: f64, out: &mut [f64]) -> Result<f64> {
        check_finite("gradient", g)?;
        check_finite("centre of the prox", q)?;
        // differences to the largest, so that no common part hides what is small
        let level = |i: usize| if beta > 1.0 { q[i] - g[i] / beta } else { beta * q[i] - g[i] };
        let top = (0..g.len()).fold(0, |best, i| if level(i) > level(best) { i } else { best });
        let v: Vec<f64> = (0..g.len()).map(|i| (q[i] - q[top]) - (g[i] - g[top]) / beta).collect();
        let Reweighting { q: nominal, level, shape } = self.set;
        match shape {
            Shape::Capped => capped::project(&v, nominal, *level, out),
            Shape::TotalVariation => total_variation::project(&v, nominal, *level, out),
            Shape::ChiSquare => chi_square::project(&v, nominal, *level, out),
            Shape::Kl => kl::project(&v, nominal, *level, out),
        }
        self.set.repair(out);
        // max over w of <g + beta (out - q), out - w>, by a linear minimisation, with the rounding of the slopes against us
        let mut noise = 0.0f64;
        for i in 0..out.len() {
            let (dg, dq) = (g[i] - g[top], q[i] - q[top]);
            self.negative[i] = -(dg + beta * (out[i] - dq));
            noise = noise.max(4.0 * f64::EPSILON * (dg.abs() + beta * (dq.abs() + out[i])));
        }
        let missing = self.set.best(&self.negative, &mut self.room, &mut self.vertex);
        let along = |i: usize| self.negative[i] * (self.vertex[i] - out[i]);
        let gap = accurate_sum((0..out.len()).map(along));
        let apart: f64 = (0..out.len()).map(|i| (self.vertex[i] - out[i]).abs()).sum();
        Ok(gap.max(0.0) + missing + noise * apart)
    }

    fn attend(&mut self, watch: &Watch) {
        self.scratch.iter_mut().for_each(|scratch| scratch.attend(watch));
    }

    fn slide(&mut self, task: &SlideTask<'_>, out: &mut [f64]) -> Result<SlideReport> {
        let mut scratch = self.scratch.take().unwrap_or_else(|| Cndg::new(self.set.dim()));
        let report = cndg(self, task, &mut scratch, out);
        self.scratch = Some(scratch);
        report
    }
}

/// Evaluations of a search in one dimension.
const EVALUATIONS: u32 = 200;

/// Where a function that falls from above zero to below it is zero, between `low` and `high`: regula falsi (Illinois), with a bisection
/// wherever that does not halve the bracket in three evaluations. Returns the last end where it is at most zero.
fn root(mut f: impl FnMut(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    let (mut at_low, mut at_high) = (f(low), f(high));
    if at_low <= 0.0 {
        return low;
    }
    let (mut width, mut side) = (high - low, 0);
    for k in 1..=EVALUATIONS {
        let mut middle = low + (high - low) * (at_low / (at_low - at_high));
        if k.is_multiple_of(3) {
            if high - low > 0.5 * width {
                middle = 0.5 * (low + high);
            }
            width = high - low;
        }
        if !(middle > low && middle < high) {
            middle = 0.5 * (low + high);
            if middle <= low || middle >= high {
                break;
            }
        }
        let value = f(middle);
        if value > 0.0 {
            (low, at_low) = (middle, value);
            if side > 0 {
                at_high *= 0.5;
            }
            side = 1;
        } else {
            (high, at_high) = (middle, value);
            if side < 0 {
                at_low *= 0.5;
            }
            side = -1;
            if value == 0.0 {
                break;
            }
        }
    }
    high
}
