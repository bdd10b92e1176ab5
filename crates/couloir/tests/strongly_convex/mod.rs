//! Strongly convex problems of a given condition number, for tests and for `examples/strong_convexity.rs`.
#![allow(dead_code)] // not every user needs all of it

use couloir::domain::{BoxSet, Domain, L2Ball, NuclearBall, Simplex};
use couloir::problem::{
    BlockConstants, Capabilities, KnownConstants, PreparedImage, QuadraticBilinear, Saddle,
    SaddleProblem,
};
use couloir::run::{Algorithm, Flow, Observer, StopRules, TracePoint};
use couloir::{Result, Solve};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// A quadratic problem on its sets, and what it is called.
pub struct Instance {
    pub name: String,
    pub x_set: Box<dyn Domain>,
    pub y_set: Box<dyn Domain>,
    pub problem: QuadraticBilinear,
    /// `Lhat0/mu_x`.
    pub condition: f64,
}

/// Where the curvature comes from.
#[derive(Clone, Copy, Debug)]
pub enum Bent {
    /// From `Hx`, whose entries are spread evenly on log scale, and as much from the coupling.
    Spread,
    /// From a random coupling alone, `Lxy^2/mu`: `Hx` is `mu_x` times the identity.
    Coupled,
    /// From differences of neighbours: the chain on which no method of first order is fast.
    Chain,
}

/// The set of x of this name, in `5 n` dimensions.
pub fn set_of_x(name: &str, n: usize) -> Result<Box<dyn Domain>> {
    let dim = 5 * n;
    Ok(match name {
        "nuclear ball" => Box::new(NuclearBall::new(n, 5, 1.0)?),
        "simplex" => Box::new(Simplex::new(dim)?),
        "l2 ball" => Box::new(L2Ball::new(dim, 1.0)?),
        _ => Box::new(BoxSet::new(vec![-0.2; dim], vec![0.2; dim])?),
    })
}

pub const SETS: [&str; 4] = ["nuclear ball", "simplex", "l2 ball", "box"];

/// A problem with `Lhat0 = 1` and `mu_x = 1/condition`, with its solution inside of the set of x or on its border.
pub fn instance(
    set: &str,
    bent: Bent,
    is_interior: bool,
    condition: f64,
    seed: u64,
) -> Result<Instance> {
    let n = if matches!(bent, Bent::Chain) { 40 } else { 6 };
    let x_set = set_of_x(set, n)?;
    // responses to the chain stay inside
    let y_set: Box<dyn Domain> = match bent {
        Bent::Chain => Box::new(L2Ball::new(5 * n + 1, 2.0 + x_set.diameter())?),
        _ => Box::new(L2Ball::new(20, 1.0)?),
    };
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let (nx, ny) = (x_set.dim(), y_set.dim());
    let mu_x = 1.0 / condition;
    // Lhat0 = max(Lxy^2/mu, Lxx/2) = 1 with mu = 1
    let hx: Vec<f64> = match bent {
        Bent::Spread => {
            (0..nx).map(|i| mu_x * (2.0 * condition).powf(i as f64 / (nx - 1) as f64)).collect()
        }
        Bent::Coupled | Bent::Chain => vec![mu_x; nx],
    };
    let mut b: Vec<f64> = match bent {
        Bent::Chain => {
            let row = |j: usize, i: usize| f64::from(i == j) - f64::from(i + 1 == j);
            (0..ny).flat_map(|j| (0..nx).map(move |i| row(j, i))).collect()
        }
        _ => (0..nx * ny).map(|_| rng.random_range(-1.0..1.0)).collect(),
    };
    let size = couloir::linalg::spectral_norm(&b, ny, nx)?;
    b.iter_mut().for_each(|v| *v /= size);
    let mut centre = vec![0.0; nx];
    x_set.center(&mut centre);
    let mut away: Vec<f64> = (0..nx).map(|_| rng.random_range(-1.0..1.0)).collect();
    let length = away.iter().map(|v| v * v).sum::<f64>().sqrt();
    let far = if is_interior { 0.25 } else { 1.0 };
    away.iter_mut().for_each(|v| *v *= -far * x_set.diameter() / length);
    let mut x = vec![0.0; nx];
    x_set.oracle().prox(&away, &centre, 1.0, &mut x)?;
    let cx: Vec<f64> = match is_interior {
        // pulled inside
        true => {
            x.iter_mut().zip(&centre).for_each(|(x, c)| *x = 0.5 * (*x + c));
            vec![0.0; nx]
        }
        // gradient of <away, u> + 1/2 |u - centre|^2 at its minimiser: not negative along the set
        false => (0..nx).map(|i| 0.1 * (away[i] + x[i] - centre[i])).collect(),
    };
    let y: Vec<f64> = (0..ny).map(|_| rng.random_range(-0.1..0.1)).collect();
    let (hy, cy) = (vec![1.0; ny], vec![0.0; ny]);
    let problem = QuadraticBilinear::new(hx, hy, b, cx, cy, Saddle { x, y, value: 0.0 })?;
    let place = if is_interior { "inside" } else { "border" };
    let name = format!("{set}, {bent:?}, {place}, seed {seed}");
    let constants = problem.constants();
    let lhat = constants.lhat().unwrap_or(f64::NAN);
    let condition = lhat / constants.mu_x.unwrap_or(f64::NAN);
    Ok(Instance { name, x_set, y_set, problem, condition })
}

/// The same function with another opinion about its strong convexity in x.
pub struct Believed<'a> {
    pub inner: &'a QuadraticBilinear,
    pub mu_x: Option<f64>,
}

impl SaddleProblem for Believed<'_> {
    fn dim_x(&self) -> usize {
        self.inner.dim_x()
    }
    fn dim_y(&self) -> usize {
        self.inner.dim_y()
    }
    fn value(&self, at: PreparedImage<'_>, y: &[f64]) -> f64 {
        self.inner.value(at, y)
    }
    fn grad_image(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
        self.inner.grad_image(at, y, out);
    }
    fn grad_y(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
        self.inner.grad_y(at, y, out);
    }
    fn capabilities(&self) -> Capabilities<'_> {
        self.inner.capabilities().with_constants(self)
    }
}

impl KnownConstants for Believed<'_> {
    fn constants(&self) -> BlockConstants {
        BlockConstants { mu_x: self.mu_x, ..self.inner.constants() }
    }
}

/// The certified gaps of a run, with the gradients taken before each.
pub struct Fall {
    pub gaps: Vec<f64>,
    pub gradients: u64,
    pub status: String,
}

impl Fall {
    /// How fast the logarithm of the gap falls, from the first iteration to the last.
    pub fn slope(&self) -> f64 {
        let last = self.gaps.len() - 1;
        (self.gaps[1] / self.gaps[last]).ln() / (last - 1) as f64
    }
}

/// Runs until the gap has fallen to this share of its value after one iteration.
pub fn fall(solve: Solve<'_>, share: f64, most: u64) -> Result<Fall> {
    let mut gaps = Vec::new();
    let mut observer = |point: &TracePoint, _: &dyn Algorithm| {
        gaps.push(point.certificate.gap);
        let is_over = gaps.len() > 2 && point.certificate.gap <= share * gaps[1];
        if is_over { Flow::Stop } else { Flow::Continue }
    };
    let observer: &mut dyn Observer = &mut observer;
    let mut rules = StopRules::default();
    (rules.relative_gap, rules.iterations) = (None, Some(most));
    let outcome = solve.rules(rules).run_with(observer)?.outcome;
    let gradients = outcome.ledger.method.grad_x + outcome.ledger.certificate.grad_x;
    Ok(Fall { gaps, gradients, status: outcome.status.to_string() })
}
