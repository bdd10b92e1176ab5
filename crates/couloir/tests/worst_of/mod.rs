//! Convex-concave families without strong concavity, `f(x, y) = sum_i y_i l_i(x)`, for tests and examples.

use couloir::Result;
use couloir::domain::{
    BoxSet, Cndg, Domain, L1Ball, L2Ball, LinearMin, Oracle, Simplex, SlideReport, SlideTask, cndg,
};
use couloir::problem::{Capabilities, ExactDifferences, Measured, PreparedImage, SaddleProblem};

/// Functions of `x` and their gradients, of which the worst mixture counts.
pub enum Losses {
    /// `|A_g x - b_g|^2/(2 n)` over groups of `n` rows.
    Squares { rows: Vec<Vec<f64>>, targets: Vec<f64>, size: usize },
    /// `log(1 + exp(-<a_i, x>))`.
    Logistic { rows: Vec<Vec<f64>> },
    /// `1/2 sum_j d_ij (x_j - p_ij)^2 + h_i`.
    Bowls { bends: Vec<Vec<f64>>, centres: Vec<Vec<f64>>, heights: Vec<f64> },
}

pub struct Worst {
    pub losses: Losses,
    pub dim: usize,
    pub count: usize,
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Numbers between -1 and 1, which bench/peers/reference_convex_concave.py draws as well.
struct Draw(u64);

impl Draw {
    fn number(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    fn numbers(&mut self, count: usize, scale: f64) -> Vec<f64> {
        (0..count).map(|_| scale * self.number()).collect()
    }
}

impl Worst {
    /// Roundings of sums over rows and coordinates.
    fn rounding(&self) -> f64 {
        f64::EPSILON * (16 + self.dim + self.count) as f64
    }

    pub fn losses(&self, x: &[f64]) -> Vec<f64> {
        match &self.losses {
            Losses::Squares { rows, targets, size } => (0..self.count)
                .map(|g| {
                    (g * size..(g + 1) * size)
                        .map(|i| (dot(&rows[i], x) - targets[i]).powi(2))
                        .sum::<f64>()
                        / (2.0 * *size as f64)
                })
                .collect(),
            Losses::Logistic { rows } => rows
                .iter()
                .map(|a| {
                    let m = dot(a, x);
                    if m > 0.0 { (-m).exp().ln_1p() } else { m.exp().ln_1p() - m }
                })
                .collect(),
            Losses::Bowls { bends, centres, heights } => (0..self.count)
                .map(|i| {
                    let terms = bends[i].iter().zip(&centres[i]).zip(x);
                    heights[i] + terms.map(|((d, p), x)| 0.5 * d * (x - p).powi(2)).sum::<f64>()
                })
                .collect(),
        }
    }
}

impl SaddleProblem for Worst {
    fn dim_x(&self) -> usize {
        self.dim
    }

    fn dim_y(&self) -> usize {
        self.count
    }

    fn value(&self, at: PreparedImage<'_>, y: &[f64]) -> f64 {
        dot(&self.losses(at.image), y)
    }

    fn grad_image(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
        let x = at.image;
        out.fill(0.0);
        let mut add = |weight: f64, a: &[f64]| {
            out.iter_mut().zip(a).for_each(|(o, a)| *o += weight * a);
        };
        match &self.losses {
            Losses::Squares { rows, targets, size } => {
                for (i, a) in rows.iter().enumerate() {
                    add(y[i / size] * (dot(a, x) - targets[i]) / *size as f64, a);
                }
            }
            Losses::Logistic { rows } => {
                for (a, y) in rows.iter().zip(y).filter(|(_, y)| **y != 0.0) {
                    add(-y / (1.0 + dot(a, x).exp()), a);
                }
            }
            Losses::Bowls { bends, centres, .. } => {
                for i in 0..self.count {
                    for (j, o) in out.iter_mut().enumerate() {
                        *o += y[i] * bends[i][j] * (x[j] - centres[i][j]);
                    }
                }
            }
        }
    }

    fn grad_y(&self, at: PreparedImage<'_>, _y: &[f64], out: &mut [f64]) {
        out.copy_from_slice(&self.losses(at.image));
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities::NONE.with_differences(self)
    }
}

impl ExactDifferences for Worst {
    fn bend_x(
        &self,
        from: PreparedImage<'_>,
        to: PreparedImage<'_>,
        y: &[f64],
        _slope: f64,
    ) -> Measured {
        let (x, moved) = (from.image, difference(to.image, from.image));
        let value: f64 = match &self.losses {
            Losses::Squares { rows, size, .. } => {
                let terms = rows.iter().enumerate();
                terms.map(|(i, a)| y[i / size] * 0.5 * dot(a, &moved).powi(2) / *size as f64).sum()
            }
            Losses::Logistic { rows } => rows
                .iter()
                .zip(y)
                .filter(|(_, y)| **y != 0.0)
                .map(|(a, y)| y * logistic_bend(dot(a, x), dot(a, &moved)))
                .sum(),
            Losses::Bowls { bends, .. } => {
                let bend =
                    |d: &[f64]| d.iter().zip(&moved).map(|(d, m)| 0.5 * d * m * m).sum::<f64>();
                bends.iter().zip(y).map(|(d, y)| y * bend(d)).sum()
            }
        };
        Measured { value, rounding: self.rounding() * value }
    }

    fn change_y(&self, at: PreparedImage<'_>, from: &[f64], to: &[f64]) -> Measured {
        let (losses, moved) = (self.losses(at.image), difference(to, from));
        let terms = || losses.iter().zip(&moved).map(|(l, m)| l * m);
        let size: f64 = terms().map(f64::abs).sum();
        Measured { value: terms().sum(), rounding: self.rounding() * size }
    }
}

fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

/// `log(1 + exp(-(m + d))) - log(1 + exp(-m)) + d/(1 + exp(m))`, without cancellation.
fn logistic_bend(m: f64, d: f64) -> f64 {
    let p = 1.0 / (1.0 + m.exp());
    if d.abs() < 1e-3 {
        p * (1.0 - p) * d * d * (0.5 - (1.0 - 2.0 * p) * d / 6.0)
    } else {
        (p * (-d).exp_m1()).ln_1p() + p * d
    }
}

/// `{0 <= y <= cap, sum y = 1}`.
pub struct Capped {
    pub dim: usize,
    pub cap: f64,
}

impl Domain for Capped {
    fn dim(&self) -> usize {
        self.dim
    }

    fn diameter(&self) -> f64 {
        (2.0 * self.cap).sqrt()
    }

    fn violation(&self, p: &[f64]) -> f64 {
        let outside = p.iter().fold(0.0f64, |m, y| m.max(-y).max(y - self.cap));
        outside.max((p.iter().sum::<f64>() - 1.0).abs())
    }

    fn center(&self, out: &mut [f64]) {
        out.fill(1.0 / self.dim as f64);
    }

    fn describe(&self) -> String {
        format!("the simplex in dimension {} with entries of at most {}", self.dim, self.cap)
    }

    fn oracle(&self) -> Box<dyn Oracle + '_> {
        Box::new(CappedOracle { set: self, order: Vec::new() })
    }
}

struct CappedOracle<'a> {
    set: &'a Capped,
    order: Vec<usize>,
}

impl Oracle for CappedOracle<'_> {
    fn lmo(&mut self, g: &[f64], p: &mut [f64]) -> Result<LinearMin> {
        self.order.clear();
        self.order.extend(0..g.len());
        self.order.sort_by(|a, b| g[*a].total_cmp(&g[*b]));
        p.fill(0.0);
        let (mut left, mut value) = (1.0f64, 0.0);
        for i in &self.order {
            let taken = left.min(self.set.cap);
            p[*i] = taken;
            value += taken * g[*i];
            left -= taken;
            if left <= 0.0 {
                break;
            }
        }
        Ok(LinearMin::exact(value))
    }

    fn has_prox(&self) -> bool {
        true
    }

    fn prox(&mut self, g: &[f64], q: &[f64], beta: f64, out: &mut [f64]) -> Result<f64> {
        let w: Vec<f64> = q.iter().zip(g).map(|(q, g)| q - g / beta).collect();
        let cap = self.set.cap;
        let sum = |t: f64| w.iter().map(|w| (w - t).clamp(0.0, cap)).sum::<f64>();
        let (mut low, mut high) = (
            w.iter().copied().fold(f64::INFINITY, f64::min) - cap,
            w.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        );
        for _ in 0..64 {
            let middle = 0.5 * (low + high);
            if sum(middle) > 1.0 { low = middle } else { high = middle }
        }
        // exact for the entries that are free
        let t = 0.5 * (low + high);
        let free: Vec<f64> = w.iter().copied().filter(|w| *w > t && *w < t + cap).collect();
        let capped = w.iter().filter(|w| **w >= t + cap).count();
        let t = match free.len() {
            0 => t,
            n => (free.iter().sum::<f64>() + capped as f64 * cap - 1.0) / n as f64,
        };
        out.iter_mut().zip(&w).for_each(|(o, w)| *o = (w - t).clamp(0.0, cap));
        Ok(0.0)
    }

    fn slide(&mut self, task: &SlideTask<'_>, out: &mut [f64]) -> Result<SlideReport> {
        let mut scratch = Cndg::new(self.set.dim);
        cndg(self, task, &mut scratch, out)
    }
}

/// A problem with its sets.
pub struct Family {
    pub name: &'static str,
    pub problem: Worst,
    pub x_set: Box<dyn Domain>,
    pub y_set: Box<dyn Domain>,
}

/// Least squares of the worst of some groups of rows, each about a rule of its own, over a ball.
pub fn squares(
    name: &'static str,
    dim: usize,
    groups: usize,
    size: usize,
    l1: bool,
) -> Result<Family> {
    let mut draw = Draw(1);
    let common = draw.numbers(dim, 1.0);
    let (mut rows, mut targets) = (Vec::new(), Vec::new());
    for _ in 0..groups {
        let own: Vec<f64> = common.iter().map(|c| c + 0.5 * draw.number()).collect();
        for _ in 0..size {
            let a = draw.numbers(dim, 1.0);
            targets.push(dot(&a, &own) + 0.3 * draw.number());
            rows.push(a);
        }
    }
    let x_set: Box<dyn Domain> = match l1 {
        true => Box::new(L1Ball::new(dim, 0.25 * dim as f64)?),
        false => Box::new(L2Ball::new(dim, 0.3 * (dim as f64).sqrt())?),
    };
    let problem = Worst { losses: Losses::Squares { rows, targets, size }, dim, count: groups };
    Ok(Family { name, problem, x_set, y_set: Box::new(Simplex::new(groups)?) })
}

/// The mean of the worst share of logistic losses over a ball (conditional value at risk).
pub fn cvar(name: &'static str, dim: usize, count: usize, share: f64, l1: bool) -> Result<Family> {
    let mut draw = Draw(2);
    let rule = draw.numbers(dim, 1.0);
    let rows = (0..count)
        .map(|_| {
            let a = draw.numbers(dim, 1.0);
            let label = if dot(&a, &rule) + 0.3 * draw.number() > 0.0 { 1.0 } else { -1.0 };
            a.iter().map(|a| label * a).collect()
        })
        .collect();
    let x_set: Box<dyn Domain> = match l1 {
        true => Box::new(L1Ball::new(dim, 5.0)?),
        false => Box::new(L2Ball::new(dim, 3.0)?),
    };
    let y_set = Box::new(Capped { dim: count, cap: 1.0 / (share * count as f64) });
    Ok(Family {
        name,
        problem: Worst { losses: Losses::Logistic { rows }, dim, count },
        x_set,
        y_set,
    })
}

/// The largest of quadratic functions over a box.
pub fn bowls(name: &'static str, dim: usize, count: usize) -> Result<Family> {
    let mut draw = Draw(3);
    let (mut bends, mut centres, mut heights) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..count {
        bends.push(draw.numbers(dim, 1.0).iter().map(|d| d * d).collect());
        centres.push(draw.numbers(dim, 2.0));
        heights.push(0.3 * draw.number());
    }
    let problem = Worst { losses: Losses::Bowls { bends, centres, heights }, dim, count };
    let x_set = Box::new(BoxSet::cube(dim, -1.0, 1.0)?);
    Ok(Family { name, problem, x_set, y_set: Box::new(Simplex::new(count)?) })
}
