//! The box.

use super::{Confidence, Domain, LinearMin, Oracle, SlideReport, SlideState, SlideTask, Sliding};
use crate::error::{Error, Result, check_finite, check_len};
use crate::linalg::{distance_squared, dot};

/// The box `{p : lower <= p <= upper}`, entry by entry.
///
/// ```
/// use couloir::domain::{BoxSet, Domain};
/// let set = BoxSet::new(vec![0.0, -1.0], vec![2.0, 1.0])?;
/// let mut p = [0.0; 2];
/// let minimum = set.oracle().lmo(&[1.0, -3.0], &mut p)?;
/// assert_eq!(p, [0.0, 1.0]);
/// assert_eq!(minimum.value, -3.0);
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct BoxSet {
    lower: Vec<f64>,
    upper: Vec<f64>,
}

impl BoxSet {
    /// The box between two corners. An entry with `lower == upper` is fixed.
    ///
    /// # Errors
    /// No entries, corners of different length, an entry that is not finite, or one with
    /// `lower > upper`.
    pub fn new(lower: Vec<f64>, upper: Vec<f64>) -> Result<Self> {
        if lower.is_empty() && upper.is_empty() {
            return Err(Error::EmptySet { why: "a box of dimension 0".to_owned() });
        }
        check_len("upper corner of the box", lower.len(), upper.len())?;
        check_finite("lower corner of the box", &lower)?;
        check_finite("upper corner of the box", &upper)?;
        if let Some(i) = (0..lower.len()).find(|&i| lower[i] > upper[i]) {
            let why = format!("entry {i} of the box: lower {} > upper {}", lower[i], upper[i]);
            return Err(Error::EmptySet { why });
        }
        Ok(BoxSet { lower, upper })
    }

    /// The cube `[lo, hi]^dim`.
    ///
    /// # Errors
    /// As [`new`](BoxSet::new).
    pub fn cube(dim: usize, lo: f64, hi: f64) -> Result<Self> {
        Self::new(vec![lo; dim], vec![hi; dim])
    }

    /// The lower corner.
    #[must_use]
    pub fn lower(&self) -> &[f64] {
        &self.lower
    }

    /// The upper corner.
    #[must_use]
    pub fn upper(&self) -> &[f64] {
        &self.upper
    }
}

impl Domain for BoxSet {
    fn dim(&self) -> usize {
        self.lower.len()
    }

    fn diameter(&self) -> f64 {
        distance_squared(&self.lower, &self.upper).sqrt()
    }

    fn violation(&self, p: &[f64]) -> f64 {
        let mut worst = 0.0f64;
        for ((p, lower), upper) in p.iter().zip(&self.lower).zip(&self.upper) {
            if p.is_nan() {
                return f64::INFINITY;
            }
            worst = worst.max(lower - p).max(p - upper);
        }
        worst
    }

    /// Clips: the nearest point of the box, exactly.
    fn repair(&self, p: &mut [f64]) -> f64 {
        let mut square = 0.0;
        for ((p, lower), upper) in p.iter_mut().zip(&self.lower).zip(&self.upper) {
            let inside = p.clamp(*lower, *upper);
            square += (*p - inside) * (*p - inside);
            *p = inside;
        }
        square.sqrt()
    }

    fn center(&self, out: &mut [f64]) {
        for ((o, lower), upper) in out.iter_mut().zip(&self.lower).zip(&self.upper) {
            // Halved before they are added: the sum of two huge corners overflows.
            *o = (0.5 * lower + 0.5 * upper).clamp(*lower, *upper);
        }
    }

    fn describe(&self) -> String {
        let (lo, hi) = (self.lower[0], self.upper[0]);
        let same = self.lower.iter().all(|&l| l == lo) && self.upper.iter().all(|&h| h == hi);
        if same {
            format!("the cube [{lo}, {hi}] in dimension {}", self.dim())
        } else {
            format!("a box in dimension {}", self.dim())
        }
    }

    fn is_polytope(&self) -> Option<bool> {
        Some(true)
    }

    fn oracle(&self) -> Box<dyn Oracle + '_> {
        Box::new(BoxOracle { set: self })
    }
}

struct BoxOracle<'a> {
    set: &'a BoxSet,
}

impl Oracle for BoxOracle<'_> {
    fn confidence(&self) -> Confidence {
        Confidence::Exact
    }

    fn lmo(&mut self, g: &[f64], p: &mut [f64]) -> Result<LinearMin> {
        check_finite("gradient", g)?;
        for i in 0..p.len() {
            p[i] = if g[i] > 0.0 { self.set.lower[i] } else { self.set.upper[i] };
        }
        Ok(LinearMin::exact(dot(g, p)))
    }

    fn has_prox(&self) -> bool {
        true
    }

    fn prox(&mut self, g: &[f64], q: &[f64], beta: f64, out: &mut [f64]) -> Result<f64> {
        check_finite("gradient", g)?;
        check_finite("centre of the prox", q)?;
        let mut gap = 0.0;
        for i in 0..out.len() {
            let (lower, upper) = (self.set.lower[i], self.set.upper[i]);
            out[i] = (q[i] - g[i] / beta).clamp(lower, upper);
            let slope = g[i] + beta * (out[i] - q[i]);
            let noise = 4.0 * f64::EPSILON * (g[i].abs() + beta * (q[i].abs() + out[i].abs()));
            // Room to fall times slope; a noisy slope may have either sign.
            gap += ((slope + noise).max(0.0) * (out[i] - lower))
                .max((noise - slope).max(0.0) * (upper - out[i]));
        }
        Ok(gap)
    }

    fn has_away(&self) -> bool {
        true
    }

    fn away(&mut self, g: &[f64], u: &[f64], a: &mut [f64]) -> Result<f64> {
        check_finite("gradient", g)?;
        for i in 0..a.len() {
            let (lower, upper) = (self.set.lower[i], self.set.upper[i]);
            // An entry at a bound stays there on the face.
            a[i] = if u[i] <= lower || (u[i] < upper && g[i] <= 0.0) { lower } else { upper };
        }
        Ok(dot(g, a))
    }

    fn max_pairwise_step(&mut self, u: &[f64], p: &[f64], a: &[f64]) -> Result<f64> {
        let mut longest = f64::INFINITY;
        for i in 0..u.len() {
            let rise = p[i] - a[i];
            if rise != 0.0 {
                let bound = if rise > 0.0 { self.set.upper[i] } else { self.set.lower[i] };
                longest = longest.min(((bound - u[i]) / rise).max(0.0));
            }
        }
        Ok(longest)
    }

    /// CndG where every coordinate takes its own step
    /// `theta_i = min(1, tau_i / (beta (u_i - p_i)^2))`: a box is a product of intervals, and on an
    /// interval one step is exact. The second linear minimisation confirms it.
    fn slide(&mut self, task: &SlideTask<'_>, out: &mut [f64]) -> Result<SlideReport> {
        let SlideTask { r, q, beta, eta, budget } = *task;
        check_finite("linear part of the slide", r)?;
        check_finite("centre of the slide", q)?;
        for i in 0..out.len() {
            out[i] = q[i].clamp(self.set.lower[i], self.set.upper[i]);
        }
        let mut report = SlideReport {
            gap: f64::INFINITY,
            lo_calls: 0,
            products: 0,
            state: SlideState::OutOfBudget,
        };
        while report.lo_calls < budget {
            report.lo_calls += 1;
            let mut tau = 0.0;
            for i in 0..out.len() {
                let (g, p) = self.slope_and_vertex(task, out, i);
                tau += g * (out[i] - p);
            }
            let before = report.gap;
            report.gap = tau;
            if tau <= eta {
                report.state = SlideState::Reached;
                return Ok(report);
            }
            // The first step is exact: if a later one does not even halve the gap, it is noise.
            if report.lo_calls > 2 && tau > 0.5 * before {
                report.state = SlideState::RoundingFloor;
                return Ok(report);
            }
            if report.lo_calls == budget {
                return Ok(report);
            }
            for i in 0..out.len() {
                let (g, p) = self.slope_and_vertex(task, out, i);
                let step = (g / beta).abs();
                out[i] = if step >= (out[i] - p).abs() {
                    p
                } else {
                    (out[i] - g / beta).clamp(self.set.lower[i], self.set.upper[i])
                };
            }
        }
        Ok(report)
    }

    fn sliding(&self) -> Sliding {
        Sliding::Coordinatewise
    }
}

impl BoxOracle<'_> {
    /// `g_i = r_i + beta (u_i - q_i)` and the bound that the linear minimisation picks for it.
    fn slope_and_vertex(&self, task: &SlideTask<'_>, u: &[f64], i: usize) -> (f64, f64) {
        let g = task.r[i] + task.beta * (u[i] - task.q[i]);
        (g, if g > 0.0 { self.set.lower[i] } else { self.set.upper[i] })
    }
}
