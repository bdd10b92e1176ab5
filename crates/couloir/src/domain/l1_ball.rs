//! The l1 ball.

use super::slide::pairwise::{Hull, Pairwise};
use super::sum_repair::{Sum, repair_sum, slack};
use super::threshold::project_onto_simplex;
use super::{Confidence, Domain, LinearMin, Oracle, SlideReport, SlideTask, Sliding};
use crate::error::{Error, Result, check_finite, check_positive};
use crate::linalg::accurate_sum;
use crate::watch::Watch;

/// A point whose norm is this close to the radius, relatively, lies on the boundary.
const ON_THE_BOUNDARY: f64 = 1e-12;

/// The l1 ball `{p : sum of |p| <= radius}`.
///
/// ```
/// use couloir::domain::{Domain, L1Ball};
/// let ball = L1Ball::new(3, 2.0)?;
/// let mut p = [0.0; 3];
/// let minimum = ball.oracle().lmo(&[0.5, -1.0, 3.0], &mut p)?;
/// assert_eq!(p, [0.0, 0.0, -2.0]);
/// assert_eq!(minimum.value, -6.0);
///
/// // argmin <g, u> + 1/2 |u - q|^2: from outside, every entry shrinks by the same amount
/// ball.oracle().prox(&[0.0, 1.0, 2.0], &[0.25, 0.0, 0.0], 1.0, &mut p)?;
/// assert_eq!(p, [0.0, -0.5, -1.5]);
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct L1Ball {
    dim: usize,
    radius: f64,
}

impl L1Ball {
    /// The ball of the given radius around the origin of `R^dim`.
    ///
    /// # Errors
    /// A dimension of zero, or a radius that is not positive and finite.
    pub fn new(dim: usize, radius: f64) -> Result<Self> {
        if dim == 0 {
            return Err(Error::EmptySet { why: "an l1 ball of dimension 0".to_owned() });
        }
        check_positive("radius", radius)?;
        Ok(L1Ball { dim, radius })
    }

    /// The radius.
    #[must_use]
    pub fn radius(&self) -> f64 {
        self.radius
    }
}

impl Domain for L1Ball {
    fn dim(&self) -> usize {
        self.dim
    }

    fn diameter(&self) -> f64 {
        2.0 * self.radius
    }

    fn violation(&self, p: &[f64]) -> f64 {
        let excess = norm_1(p) - self.radius;
        if excess.is_nan() { f64::INFINITY } else { excess.max(0.0) }
    }

    /// Takes what is too much of the sum of magnitudes evenly off the support.
    fn repair(&self, p: &mut [f64]) -> f64 {
        repair_sum(p, self.radius, Sum::AtMost)
    }

    fn slack(&self) -> [f64; 2] {
        slack(self.radius)
    }

    fn center(&self, out: &mut [f64]) {
        out.fill(0.0);
    }

    fn describe(&self) -> String {
        format!("the l1 ball of radius {} in dimension {}", self.radius, self.dim)
    }

    fn is_polytope(&self) -> Option<bool> {
        Some(true)
    }

    fn oracle(&self) -> Box<dyn Oracle + '_> {
        Box::new(L1BallOracle {
            set: self,
            folded_g: Vec::new(),
            folded_q: Vec::new(),
            candidates: Vec::new(),
            pairwise: Pairwise::new(Hull::L1Ball, self.radius),
        })
    }
}

struct L1BallOracle<'a> {
    set: &'a L1Ball,
    folded_g: Vec<f64>,
    folded_q: Vec<f64>,
    candidates: Vec<f64>,
    pairwise: Pairwise,
}

impl Oracle for L1BallOracle<'_> {
    fn confidence(&self) -> Confidence {
        Confidence::Exact
    }

    fn lmo(&mut self, g: &[f64], p: &mut [f64]) -> Result<LinearMin> {
        check_finite("gradient", g)?;
        let best = steepest(g);
        p.fill(0.0);
        p[best] = -self.set.radius.copysign(g[best]);
        Ok(LinearMin::exact(-self.set.radius * g[best].abs()))
    }

    fn has_prox(&self) -> bool {
        true
    }

    fn prox(&mut self, g: &[f64], q: &[f64], beta: f64, out: &mut [f64]) -> Result<f64> {
        check_finite("gradient", g)?;
        check_finite("centre of the prox", q)?;
        let target = |i: usize| q[i] - g[i] / beta;
        for (i, o) in out.iter_mut().enumerate() {
            *o = target(i);
        }
        let radius = self.set.radius;
        if norm_1(out) > radius {
            // Outside, the nearest point has the signs of the target: fold all of them to plus and
            // it is the nearest point of the simplex.
            let fold = |v: f64, i: usize| if target(i) < 0.0 { -v } else { v };
            let Self { folded_g, folded_q, candidates, .. } = self;
            folded_g.clear();
            folded_g.extend(g.iter().enumerate().map(|(i, &g)| fold(g, i)));
            folded_q.clear();
            folded_q.extend(q.iter().enumerate().map(|(i, &q)| fold(q, i)));
            project_onto_simplex(folded_g, folded_q, beta, radius, candidates, out);
            for (i, o) in out.iter_mut().enumerate() {
                *o = fold(*o, i);
            }
        }
        Ok(gap_bound(g, q, beta, out, radius))
    }

    fn has_away(&self) -> bool {
        true
    }

    fn away(&mut self, g: &[f64], u: &[f64], a: &mut [f64]) -> Result<f64> {
        check_finite("gradient", g)?;
        let inside = norm_1(u) < self.set.radius * (1.0 - ON_THE_BOUNDARY);
        let (worst, sign) = if inside {
            let worst = steepest(g);
            (worst, 1f64.copysign(g[worst]))
        } else {
            // On the boundary the face has the vertices of u's own entries and signs.
            let rise = |i: usize| g[i] * u[i].signum();
            let worst = (0..g.len())
                .filter(|&i| u[i] != 0.0)
                .reduce(|worst, i| if rise(i) > rise(worst) { i } else { worst })
                .ok_or_else(|| Error::Numerical {
                    what: "away oracle of the l1 ball",
                    why: "the point is not finite".to_owned(),
                })?;
            (worst, u[worst].signum())
        };
        a.fill(0.0);
        a[worst] = sign * self.set.radius;
        Ok(self.set.radius * sign * g[worst])
    }

    fn max_pairwise_step(&mut self, u: &[f64], p: &[f64], a: &[f64]) -> Result<f64> {
        let length: f64 = p.iter().zip(a).map(|(p, a)| (p - a).abs()).sum();
        if length == 0.0 {
            return Ok(f64::INFINITY);
        }
        // |u + s (p - a)|_1 is convex and piecewise linear in s: Newton's method from a step that
        // is surely too long comes down to the last s with the level sought, kink by kink.
        let norm_u = norm_1(u);
        let level = self.set.radius.max(norm_u);
        let mut step = (level + norm_u) / length;
        loop {
            let excess =
                accurate_sum((0..u.len()).map(|i| (u[i] + step * (p[i] - a[i])).abs())) - level;
            if excess <= 4.0 * f64::EPSILON * level {
                return Ok(step);
            }
            // The slope on the left: an entry at its kink counts as not yet past it.
            let mut slope = 0.0;
            for i in 0..u.len() {
                let rise = p[i] - a[i];
                let here = u[i] + step * rise;
                slope += if here == 0.0 { -rise.abs() } else { rise * here.signum() };
            }
            let next = step - excess / slope;
            if slope <= 0.0 || next >= step {
                return Ok(step);
            }
            if next <= 0.0 {
                return Ok(0.0);
            }
            step = next;
        }
    }

    fn attend(&mut self, watch: &Watch) {
        self.pairwise.attend(watch);
    }

    fn slide(&mut self, task: &SlideTask<'_>, out: &mut [f64]) -> Result<SlideReport> {
        self.pairwise.slide(task, out)
    }

    fn sliding(&self) -> Sliding {
        Sliding::Pairwise
    }
}

fn norm_1(p: &[f64]) -> f64 {
    accurate_sum(p.iter().map(|p| p.abs()))
}

/// The entry of largest absolute value.
fn steepest(g: &[f64]) -> usize {
    (0..g.len()).fold(0, |best, i| if g[i].abs() > g[best].abs() { i } else { best })
}

/// A bound of `max over w of <g + beta (u - q), u - w>`: the gap as computed, and what rounding may
/// hide of it.
fn gap_bound(g: &[f64], q: &[f64], beta: f64, u: &[f64], radius: f64) -> f64 {
    let slope = |i: usize| {
        let noise = 4.0 * f64::EPSILON * (g[i].abs() + beta * (q[i].abs() + u[i].abs()));
        (g[i] + beta * (u[i] - q[i]), noise)
    };
    let mut highest = 0.0f64;
    for i in 0..u.len() {
        let (value, noise) = slope(i);
        highest = highest.max(value.abs() + noise);
    }
    let mut gap = 0.0;
    for i in (0..u.len()).filter(|&i| u[i] != 0.0) {
        let (value, noise) = slope(i);
        gap += u[i].abs() * (value * u[i].signum() + noise + highest);
    }
    gap + (radius - norm_1(u)).max(0.0) * highest
}
