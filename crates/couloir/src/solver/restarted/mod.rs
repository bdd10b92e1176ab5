//! The restarted primal-dual method for bilinear problems: reflected Halpern steps (Lu and Yang 2024, r2HPDHG) of the primal-dual
//! hybrid gradient method (Chambolle and Pock 2011), with restarts and a primal weight as in PDLP (Applegate et al. 2021), an FW-gap
//! for every iterate, and an exact finish for games on simplices.

mod finish;
mod settings;

use crate::certificate::{AffineParts, BilinearScratch, Bounds, Certificate, bilinear_gap};
use crate::domain::Domain;
use crate::error::{Block, Error, Result};
use crate::linalg::{distance_squared, dot_of_differences, norm};
use crate::oracles::{Ledger, Oracles};
use crate::problem::PointX;
use crate::run::{Algorithm, Fact, Step};
use crate::solver::{Incumbent, MethodSettings, Start};
use crate::state::Archive;
use crate::watch::Watch;
use finish::Finish;
pub use settings::RestartedSettings;

/// Steps are this share of the longest that converge.
const SHARE: f64 = 0.998;
/// A restart is due when the residual has fallen to this share of its first value,
const SUFFICIENT: f64 = 0.2;
/// or to this one and does not fall any more,
const NECESSARY: f64 = 0.8;
/// or after this share of all iterations.
const OVERDUE: f64 = 0.36;
/// How much a restart believes the distances of its own run for the primal weight.
const SMOOTHING: f64 = 0.5;
/// Products with `M` and with `M^T` for the first estimate of its norm, and what the estimate may miss.
const POWERS: usize = 10;
const MISSED: f64 = 1.05;

/// A pair with the two gradients that belong to it: `grad_x` depends on `y` alone, `grad_y` on `x`.
#[derive(Clone)]
struct Pair {
    x: Vec<f64>,
    y: Vec<f64>,
    grad_x: Vec<f64>,
    grad_y: Vec<f64>,
}

impl Pair {
    fn parts(&self) -> [&[f64]; 4] {
        [&self.x, &self.y, &self.grad_x, &self.grad_y]
    }

    fn parts_mut(&mut self) -> [&mut Vec<f64>; 4] {
        [&mut self.x, &mut self.y, &mut self.grad_x, &mut self.grad_y]
    }

    fn copy_from(&mut self, other: &Pair) {
        self.parts_mut().into_iter().zip(other.parts()).for_each(|(a, b)| a.copy_from_slice(b));
    }

    fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.numbers("x", &mut self.x)?;
        archive.numbers("y", &mut self.y)?;
        archive.numbers("grad_x", &mut self.grad_x)?;
        archive.numbers("grad_y", &mut self.grad_y)
    }
}

/// The restarted primal-dual method, running. With `tau = c/(|M| w)` and `sigma = c w/|M|`:
///
/// ```text
/// T(z):     x' = P_X[x - tau grad_x f(., y)],   y' = P_Y[y + sigma (2 grad_y f(x', .) - grad_y f(x, .))]
/// step:     z_{k+1} = (k+1)/(k+2) (2 T(z_k) - z_k) + 1/(k+2) z_0
/// residual: r_k^2 = |x' - x|^2/tau + |y' - y|^2/sigma - 2 <y' - y, M^T (x' - x)>
/// restart:  z_0 = T(z_k), k = 0, when r_k <= 0.2 r_0, or r_k <= 0.8 r_0 and r_k > r_{k-1}, or k >= 0.36 of all iterations;
///           then log w = (log w + log |y move| - log |x move|)/2
/// ```
///
/// An iteration takes one product with `M` and one with `M^T`: gradients are affine, so those of the combinations are combinations of
/// gradients. `T(z_k)` lies in the sets, has both its gradients, and is certified by its FW-gap, which for bilinear `f` is the gap.
pub(crate) struct Restarted<'a> {
    oracles: Oracles<'a>,
    /// `f(0, 0)` and `b = grad_y f(0, .)`, for values: `f = f(0, 0) + <grad_x, x> + <b, y>`.
    origin: f64,
    slope_y: Vec<f64>,
    /// An estimate of `|M|`, which rises where a step shows it to be too small.
    norm: f64,
    /// The primal weight `w`.
    weight: f64,
    iterations: u64,
    /// `k`, iterations since the last restart, and how many there were.
    since: u64,
    restarts: u64,
    first_residual: f64,
    last_residual: f64,
    /// A bound of the gap of `next` (docs/theory.md 14, Lemma R).
    bound: f64,
    diameters: [f64; 2],
    anchor: Pair,
    now: Pair,
    /// `T(z)` of the last iteration, with what the problem is asked by.
    next: Pair,
    at: PointX,
    /// Minus the gradient of a step in `y`.
    descent_y: Vec<f64>,
    scratch: BilinearScratch,
    best: Incumbent,
    finish: Option<Finish<'a>>,
}

impl<'a> Restarted<'a> {
    pub fn new(start: Start<'a, '_>, settings: &RestartedSettings) -> Result<Self> {
        settings.check()?;
        let mut oracles = start.oracles(RestartedSettings::ABOUT.needs)?;
        let (at, y) = start.points(&mut oracles)?;
        let size = |set: &dyn Domain| if set.diameter() > 0.0 { set.diameter() } else { 1.0 };
        let weight = size(start.y_set) / size(start.x_set);
        let mut pair =
            Pair { x: at.x.clone(), y, grad_x: vec![0.0; at.x.len()], grad_y: Vec::new() };
        pair.grad_y = vec![0.0; pair.y.len()];
        oracles.grad_x(&at, &pair.y, &mut pair.grad_x)?;
        oracles.grad_y(&at, &pair.y, &mut pair.grad_y)?;
        let mut zero = PointX::new(start.problem);
        oracles.image(&zero.x, &mut zero.image)?;
        oracles.prepare(&mut zero);
        let (mut slope_x, mut slope_y) = (vec![0.0; pair.x.len()], vec![0.0; pair.y.len()]);
        oracles.grad_y(&zero, &vec![0.0; pair.y.len()], &mut slope_y)?;
        oracles.grad_x(&zero, &vec![0.0; pair.y.len()], &mut slope_x)?;
        let origin = oracles.value(&zero, &vec![0.0; pair.y.len()])?;
        let norm = estimated_norm(&mut oracles, &start, [&slope_x, &slope_y], &pair)?;
        let finish = match settings.finish {
            true => Finish::of(&start, [slope_x, slope_y.clone()]),
            false => None,
        };
        Ok(Restarted {
            origin,
            slope_y,
            norm,
            weight,
            iterations: 0,
            since: 0,
            restarts: 0,
            first_residual: 0.0,
            last_residual: 0.0,
            bound: f64::INFINITY,
            diameters: [start.x_set.diameter(), start.y_set.diameter()],
            descent_y: pair.y.clone(),
            scratch: BilinearScratch::new(pair.x.len(), pair.y.len()),
            best: Incumbent::new(&pair.x, &pair.y),
            anchor: pair.clone(),
            now: pair.clone(),
            next: pair,
            at,
            oracles,
            finish,
        })
    }

    /// `next = T(now)`; returns the residual.
    fn advance(&mut self) -> Result<f64> {
        loop {
            let (tau, sigma) = (SHARE / (self.norm * self.weight), SHARE * self.weight / self.norm);
            let Restarted { oracles, now, next, at, descent_y, .. } = self;
            oracles.prox(Block::X, &now.grad_x, &now.x, 1.0 / tau, &mut next.x)?;
            oracles.repair(Block::X, &mut next.x);
            at.x.copy_from_slice(&next.x);
            oracles.image(&at.x, &mut at.image)?;
            oracles.prepare(at);
            oracles.grad_y(at, &now.y, &mut next.grad_y)?;
            for ((d, new), old) in descent_y.iter_mut().zip(&next.grad_y).zip(&now.grad_y) {
                *d = old - 2.0 * new;
            }
            oracles.prox(Block::Y, descent_y, &now.y, 1.0 / sigma, &mut next.y)?;
            oracles.repair(Block::Y, &mut next.y);
            let squares =
                distance_squared(&next.x, &now.x) / tau + distance_squared(&next.y, &now.y) / sigma;
            // <y' - y, M^T (x' - x)>
            let cross = dot_of_differences(&next.y, &next.grad_y, &now.y)
                - dot_of_differences(&next.y, &now.grad_y, &now.y);
            if !(2.0 * cross.abs() > 1.0001 * SHARE * squares) {
                oracles.grad_x(at, &next.y, &mut next.grad_x)?;
                let residual = (squares - 2.0 * cross).max(0.0).sqrt();
                let [dx, dy] = self.diameters;
                self.bound = residual * (2.0 * (dx * dx / tau + dy * dy / sigma)).sqrt();
                return Ok(residual);
            }
            // |M| is at least the estimate times this
            self.norm *= MISSED * 2.0 * cross.abs() / (SHARE * squares);
            if !self.norm.is_finite() {
                return Err(Error::Numerical {
                    what: "restarted",
                    why: "steps became shorter without end: is the problem bilinear, as it claims?"
                        .to_owned(),
                });
            }
        }
    }

    fn restart_is_due(&self, residual: f64) -> bool {
        let share = residual / self.first_residual;
        self.since > 0
            && (share <= SUFFICIENT
                || (share <= NECESSARY && residual > self.last_residual)
                || self.since as f64 >= OVERDUE * self.iterations as f64)
    }

    /// Starts again from `T(z)`, with the primal weight that balances the distances travelled.
    fn restart(&mut self) {
        let [moved_x, moved_y] = [(&self.next.x, &self.anchor.x), (&self.next.y, &self.anchor.y)]
            .map(|(a, b)| distance_squared(a, b).sqrt());
        let ratio = moved_y / moved_x;
        if ratio.is_normal() {
            self.weight = (SMOOTHING * ratio.ln() + (1.0 - SMOOTHING) * self.weight.ln()).exp();
        }
        self.now.copy_from(&self.next);
        self.anchor.copy_from(&self.next);
        self.since = 0;
        self.restarts += 1;
    }

    /// `z_{k+1} = (k+1)/(k+2) (2 T(z_k) - z_k) + 1/(k+2) z_0`, with the gradients there.
    fn reflect(&mut self) {
        let back = 1.0 / (self.since + 2) as f64;
        let share = 1.0 - back;
        let others = self.next.parts().into_iter().zip(self.anchor.parts());
        for (now, (next, anchor)) in self.now.parts_mut().into_iter().zip(others) {
            for ((z, t), a) in now.iter_mut().zip(next).zip(anchor) {
                *z = share * (2.0 * t - *z) + back * a;
            }
        }
        self.since += 1;
    }

    /// Takes the exact solution that the supports of `T(z)` point at, where it is time to look for one. Returns whether there is
    /// nothing more to hope for.
    fn look_for_vertex(&mut self) -> Result<bool> {
        let Some(finish) = &mut self.finish else { return Ok(false) };
        if !finish.is_due(self.iterations) {
            return Ok(false);
        }
        let watch = self.oracles.watch().clone();
        let Some((x, y)) = finish.look(self.iterations, [&self.next.x, &self.next.y], &watch)?
        else {
            return Ok(false);
        };
        let mut at = PointX { x, ..self.at.clone() };
        self.oracles.image(&at.x, &mut at.image)?;
        self.oracles.prepare(&mut at);
        self.best.consider(&mut self.oracles, &at, &y)?;
        Ok(finish.judge(self.best.certificate().gap))
    }
}

/// `|M|` by the power method, on directions along the sets where they are simplices.
fn estimated_norm(
    oracles: &mut Oracles<'_>,
    start: &Start<'_, '_>,
    [slope_x, slope_y]: [&[f64]; 2],
    pair: &Pair,
) -> Result<f64> {
    let flat = |set: &dyn Domain, direction: &mut [f64]| {
        if set.simplex_total().is_some() {
            let mean = direction.iter().sum::<f64>() / direction.len() as f64;
            direction.iter_mut().for_each(|d| *d -= mean);
        }
        let length = norm(direction);
        if length > 0.0 {
            direction.iter_mut().for_each(|d| *d /= length);
        }
        length
    };
    let minus =
        |out: &mut [f64], slope: &[f64]| out.iter_mut().zip(slope).for_each(|(o, s)| *o -= s);
    let (mut at, mut dy) = (PointX::new(start.problem), vec![0.0; pair.y.len()]);
    let spread =
        |(i, d): (usize, &mut f64)| *d = (i as f64 * 0.618_033_988_749_894_9).fract() - 0.45;
    dy.iter_mut().enumerate().for_each(spread);
    flat(start.y_set, &mut dy);
    let (mut dx, mut back) = (vec![0.0; pair.x.len()], vec![0.0; pair.y.len()]);
    let mut largest = 0.0f64;
    for _ in 0..POWERS {
        oracles.grad_x(&at, &dy, &mut dx)?;
        minus(&mut dx, slope_x);
        largest = largest.max(flat(start.x_set, &mut dx));
        at.x.copy_from_slice(&dx);
        oracles.image(&at.x, &mut at.image)?;
        oracles.prepare(&mut at);
        oracles.grad_y(&at, &dy, &mut back)?;
        minus(&mut back, slope_y);
        largest = largest.max(flat(start.y_set, &mut back));
        std::mem::swap(&mut dy, &mut back);
    }
    // a game that is (nearly) decided by its linear parts needs steps all the same
    let slopes = norm(&pair.grad_x).max(norm(&pair.grad_y));
    Ok((MISSED * largest).max(1e-9 * slopes).max(f64::MIN_POSITIVE.sqrt()))
}

impl Algorithm for Restarted<'_> {
    fn name(&self) -> &'static str {
        RestartedSettings::ABOUT.name
    }

    fn step(&mut self) -> Result<Step> {
        let residual = self.advance()?;
        self.iterations += 1;
        if self.since == 0 {
            self.first_residual = residual;
        }
        let is_solved = self.look_for_vertex()?;
        if residual == 0.0 || is_solved {
            self.restart();
            return Ok(Step::NoProgress);
        }
        if self.restart_is_due(residual) {
            self.restart();
        } else {
            self.reflect();
        }
        self.last_residual = residual;
        Ok(Step::Advanced)
    }

    /// The FW-gap of `T(z)`, from the gradients that the step has taken.
    fn evaluate(&mut self) -> Result<()> {
        let Restarted { oracles, next, at, best, origin, slope_y, scratch, .. } = self;
        let certificate = oracles.certifying(|oracles| {
            let affine = AffineParts { origin: *origin, slope_y };
            bilinear_gap(oracles, (at, &next.y), [&next.grad_x, &next.grad_y], &affine, scratch)
        })?;
        best.offer(certificate, &next.x, &next.y);
        Ok(())
    }

    fn certificate(&self) -> &Certificate {
        self.best.certificate()
    }

    fn best(&self) -> (&[f64], &[f64]) {
        self.best.pair()
    }

    fn current(&self) -> (&[f64], &[f64]) {
        (&self.next.x, &self.next.y)
    }

    fn iterations(&self) -> u64 {
        self.iterations
    }

    fn ledger(&self) -> &Ledger {
        &self.oracles.ledger
    }

    fn watch(&self) -> &Watch {
        self.oracles.watch()
    }

    fn bounds(&self) -> Bounds {
        Bounds { schedule: self.bound, ..Bounds::NONE }
    }

    fn facts(&self) -> Vec<Fact> {
        vec![
            Fact { name: "restarts", value: self.restarts as f64 },
            Fact { name: "primal weight", value: self.weight },
            Fact { name: "norm of the coupling", value: self.norm },
        ]
    }

    fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.nested("oracles", |archive| self.oracles.state(archive))?;
        archive.number("norm", &mut self.norm)?;
        archive.number("weight", &mut self.weight)?;
        archive.count("iterations", &mut self.iterations)?;
        archive.count("since", &mut self.since)?;
        archive.count("restarts", &mut self.restarts)?;
        archive.number("first_residual", &mut self.first_residual)?;
        archive.number("last_residual", &mut self.last_residual)?;
        archive.number("bound", &mut self.bound)?;
        archive.nested("anchor", |archive| self.anchor.state(archive))?;
        archive.nested("now", |archive| self.now.state(archive))?;
        archive.nested("next", |archive| self.next.state(archive))?;
        self.oracles.point_state(archive, "at", &mut self.at)?;
        archive.nested("best", |archive| self.best.state(archive))?;
        if let Some(finish) = &mut self.finish {
            archive.nested("finish", |archive| finish.state(archive))?;
        }
        Ok(())
    }
}
