//! Quadratic-bilinear problems whose saddle point is known.

use super::{
    BlockConstants, Capabilities, ExactDifferences, KnownConstants, KnownRounding, Measured,
    Population, PreparedImage, Rounding, SaddleProblem, Sampled, SampledConstants,
};
use crate::domain::{Confidence, Domain};
use crate::error::{Error, Result, check_finite, check_len, check_positive};
use crate::linalg::{distance_squared, dot, norm, spectral_norm};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// A known saddle point.
#[derive(Clone, Debug, PartialEq)]
pub struct Saddle {
    /// `x*`.
    pub x: Vec<f64>,
    /// `y*`.
    pub y: Vec<f64>,
    /// `f(x*, y*)`.
    pub value: f64,
}

/// The quadratic-bilinear function
///
/// ```text
/// f(x, y) = value + 1/2 |x - x*|^2_Hx + <c_x, x - x*> + <y - y*, B (x - x*)>
///                 - 1/2 |y - y*|^2_Hy - <c_y, y - y*>
/// ```
///
/// with diagonal `Hx >= 0`, `Hy > 0`. Where `<c_x, x - x*> >= 0` on X and `<c_y, y - y*> >= 0` on Y, its
/// saddle point over X x Y is `(x*, y*)`.
///
/// ```
/// use couloir::domain::{L2Ball, Simplex};
/// use couloir::problem::QuadraticBilinear;
/// let (x_set, y_set) = (L2Ball::new(4, 1.0)?, Simplex::new(3)?);
/// let problem = QuadraticBilinear::on(&x_set, &y_set).curvature(0.1, 1.0).coupling(2.0).seed(7).build()?;
/// let gap = problem.exact_gap(&x_set, &y_set, &problem.saddle().x, &problem.saddle().y)?;
/// assert!(gap.abs() < 1e-12);
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct QuadraticBilinear {
    hx: Vec<f64>,
    hy: Vec<f64>,
    /// Row-major, `dim_y` rows of `dim_x`.
    b: Vec<f64>,
    cx: Vec<f64>,
    cy: Vec<f64>,
    saddle: Saddle,
    constants: BlockConstants,
    /// The length of the longest row of `B`, and of all of it as one vector.
    longest_row: f64,
    frobenius: f64,
}

/// Chooses a [`QuadraticBilinear`] problem with its saddle point on given sets.
#[derive(Clone, Copy)]
pub struct QuadraticBuilder<'a> {
    x_set: &'a dyn Domain,
    y_set: &'a dyn Domain,
    mu_x: f64,
    mu_y: f64,
    spread: f64,
    coupling: f64,
    push: f64,
    value: f64,
    seed: u64,
}

impl<'a> QuadraticBuilder<'a> {
    /// Curvature `Hx = mu_x I` (may be 0) and `Hy = mu_y I`.
    #[must_use]
    pub fn curvature(mut self, mu_x: f64, mu_y: f64) -> Self {
        (self.mu_x, self.mu_y) = (mu_x, mu_y);
        self
    }

    /// Spreads the diagonal of `Hx` and `Hy` from the curvature up to `factor` times it.
    #[must_use]
    pub fn spread(mut self, factor: f64) -> Self {
        self.spread = factor;
        self
    }

    /// The spectral norm of `B`.
    #[must_use]
    pub fn coupling(mut self, norm: f64) -> Self {
        self.coupling = norm;
        self
    }

    /// How far outside the sets (in diameters) the points lie whose projections are `x*` and `y*`:
    /// 0 puts the saddle point inside, 1 well onto the boundary.
    #[must_use]
    pub fn push(mut self, push: f64) -> Self {
        self.push = push;
        self
    }

    /// The value at the saddle point.
    #[must_use]
    pub fn value(mut self, value: f64) -> Self {
        self.value = value;
        self
    }

    /// The seed of the random numbers.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Makes the problem. The saddle point is the projection of a random point `q`, so that
    /// `c = x* - q` points into the set: any face can come out.
    ///
    /// # Errors
    /// Sets without a projection, curvature or coupling that is no such thing.
    pub fn build(self) -> Result<QuadraticBilinear> {
        let mut rng = Pcg64Mcg::seed_from_u64(self.seed);
        let (x, cx) = self.place(self.x_set, &mut rng)?;
        let (y, cy) = self.place(self.y_set, &mut rng)?;
        let mut b: Vec<f64> = (0..x.len() * y.len()).map(|_| rng.random_range(-1.0..1.0)).collect();
        let size = spectral_norm(&b, y.len(), x.len())?;
        b.iter_mut().for_each(|v| *v *= self.coupling / size);
        let mut diagonal = |mu: f64, n: usize| -> Vec<f64> {
            (0..n).map(|_| mu * (1.0 + (self.spread - 1.0) * rng.random::<f64>())).collect()
        };
        let (hx, hy) = (diagonal(self.mu_x, x.len()), diagonal(self.mu_y, y.len()));
        QuadraticBilinear::new(hx, hy, b, cx, cy, Saddle { x, y, value: self.value })
    }

    fn place(&self, set: &dyn Domain, rng: &mut Pcg64Mcg) -> Result<(Vec<f64>, Vec<f64>)> {
        let n = set.dim();
        let mut centre = vec![0.0; n];
        set.center(&mut centre);
        let mut away: Vec<f64> = (0..n).map(|_| rng.random_range(-1.0..1.0)).collect();
        let length = norm(&away);
        away.iter_mut().for_each(|v| *v *= (self.push + 0.05) * set.diameter() / length);
        let mut point = vec![0.0; n];
        away.iter_mut().for_each(|v| *v = -*v);
        set.oracle().prox(&away, &centre, 1.0, &mut point)?;
        // grad of <away, u> + 1/2 |u - centre|^2 at its minimiser: non-negative along the set.
        let inward = (0..n).map(|i| away[i] + point[i] - centre[i]).collect();
        Ok((point, inward))
    }
}

impl QuadraticBilinear {
    /// A problem on the given sets, its saddle point chosen at random; see [`QuadraticBuilder`].
    #[must_use]
    pub fn on<'a>(x_set: &'a dyn Domain, y_set: &'a dyn Domain) -> QuadraticBuilder<'a> {
        QuadraticBuilder {
            x_set,
            y_set,
            mu_x: 0.0,
            mu_y: 1.0,
            spread: 1.0,
            coupling: 1.0,
            push: 1.0,
            value: 0.0,
            seed: 1,
        }
    }

    /// The function with these parts; `b` is row-major with one row for each coordinate of `y`.
    ///
    /// # Errors
    /// Lengths that disagree, entries that are not finite, `hx` negative or `hy` not positive.
    pub fn new(
        hx: Vec<f64>,
        hy: Vec<f64>,
        b: Vec<f64>,
        cx: Vec<f64>,
        cy: Vec<f64>,
        saddle: Saddle,
    ) -> Result<Self> {
        let (nx, ny) = (saddle.x.len(), saddle.y.len());
        if nx == 0 || ny == 0 {
            return Err(Error::EmptySet { why: format!("a problem of dimensions {nx} and {ny}") });
        }
        for (what, expected, part) in [
            ("hx", nx, &hx),
            ("hy", ny, &hy),
            ("b", nx * ny, &b),
            ("cx", nx, &cx),
            ("cy", ny, &cy),
            ("x*", nx, &saddle.x),
            ("y*", ny, &saddle.y),
        ] {
            check_len(what, expected, part.len())?;
            check_finite(what, part)?;
        }
        check_finite("value at the saddle point", &[saddle.value])?;
        let largest = |h: &[f64]| h.iter().fold(0.0f64, |m, v| m.max(*v));
        let smallest = |h: &[f64]| h.iter().fold(f64::INFINITY, |m, v| m.min(*v));
        check_positive("the smallest entry of hy", smallest(&hy))?;
        if smallest(&hx) < 0.0 {
            return Err(Error::Setting {
                name: "hx",
                why: format!("entries must be zero or more, got {}", smallest(&hx)),
            });
        }
        let coupling = spectral_norm(&b, ny, nx)?;
        let constants = BlockConstants::all(largest(&hx), coupling, largest(&hy), smallest(&hy))
            .with_mu_x(smallest(&hx));
        let longest_row = b.chunks_exact(nx).map(norm).fold(0.0, f64::max);
        let frobenius = norm(&b);
        Ok(QuadraticBilinear { hx, hy, b, cx, cy, saddle, constants, longest_row, frobenius })
    }

    /// The saddle point.
    #[must_use]
    pub fn saddle(&self) -> &Saddle {
        &self.saddle
    }

    /// `B (x - x*)`, one entry.
    fn row(&self, j: usize, x: &[f64]) -> f64 {
        let nx = x.len();
        let row = &self.b[j * nx..(j + 1) * nx];
        row.iter().zip(x).zip(&self.saddle.x).map(|((b, x), s)| b * (x - s)).sum()
    }

    /// The primal-dual gap `max_y' f(x, y') - min_x' f(x', y)`, exactly, from two projections.
    ///
    /// # Errors
    /// [`Error::Setting`] unless `Hx` and `Hy` are multiples of the identity; what the sets report.
    pub fn exact_gap(
        &self,
        x_set: &dyn Domain,
        y_set: &dyn Domain,
        x: &[f64],
        y: &[f64],
    ) -> Result<f64> {
        let constant = |h: &[f64]| h.iter().all(|v| *v == h[0]);
        if !constant(&self.hx) || !constant(&self.hy) {
            return Err(Error::Setting {
                name: "curvature",
                why: "the exact gap needs Hx and Hy to be multiples of the identity".to_owned(),
            });
        }
        // max over y' of <B (x - x*) - c_y, y'> - mu_y/2 |y' - y*|^2
        let mut slope: Vec<f64> = (0..y.len()).map(|j| self.cy[j] - self.row(j, x)).collect();
        let mut response_y = vec![0.0; y.len()];
        y_set.oracle().prox(&slope, &self.saddle.y, self.hy[0], &mut response_y)?;
        // min over x' of <B^T (y - y*) + c_x, x'> + mu_x/2 |x' - x*|^2
        slope = self.slope_x(y);
        let mut response_x = vec![0.0; x.len()];
        if self.hx[0] > 0.0 {
            x_set.oracle().prox(&slope, &self.saddle.x, self.hx[0], &mut response_x)?;
        } else {
            x_set.oracle().lmo(&slope, &mut response_x)?;
        }
        // The value itself cancels.
        Ok(self.rest(x, &response_y) - self.rest(&response_x, y))
    }

    /// `B^T (y - y*) + c_x`.
    fn slope_x(&self, y: &[f64]) -> Vec<f64> {
        let nx = self.saddle.x.len();
        let mut slope = self.cx.clone();
        for (j, (y, s)) in y.iter().zip(&self.saddle.y).enumerate() {
            crate::linalg::axpy(y - s, &self.b[j * nx..(j + 1) * nx], &mut slope);
        }
        slope
    }

    /// `f - value`.
    fn rest(&self, x: &[f64], y: &[f64]) -> f64 {
        let mut sum = 0.0;
        for i in 0..x.len() {
            let d = x[i] - self.saddle.x[i];
            sum += (0.5 * self.hx[i] * d + self.cx[i]) * d;
        }
        for j in 0..y.len() {
            let d = y[j] - self.saddle.y[j];
            sum += (self.row(j, x) - 0.5 * self.hy[j] * d - self.cy[j]) * d;
        }
        sum
    }
}

impl SaddleProblem for QuadraticBilinear {
    fn dim_x(&self) -> usize {
        self.saddle.x.len()
    }

    fn dim_y(&self) -> usize {
        self.saddle.y.len()
    }

    fn value(&self, at: PreparedImage<'_>, y: &[f64]) -> f64 {
        self.saddle.value + self.rest(at.image, y)
    }

    fn grad_image(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
        let nx = at.image.len();
        for i in 0..nx {
            out[i] = self.cx[i] + self.hx[i] * (at.image[i] - self.saddle.x[i]);
        }
        for j in 0..y.len() {
            crate::linalg::axpy(y[j] - self.saddle.y[j], &self.b[j * nx..(j + 1) * nx], out);
        }
    }

    fn grad_y(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
        for j in 0..y.len() {
            out[j] = self.row(j, at.image) - self.hy[j] * (y[j] - self.saddle.y[j]) - self.cy[j];
        }
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities::NONE.with_differences(self).with_constants(self).with_rounding(self)
    }
}

impl ExactDifferences for QuadraticBilinear {
    fn bend_x(
        &self,
        from: PreparedImage<'_>,
        to: PreparedImage<'_>,
        _y: &[f64],
        _slope: f64,
    ) -> Measured {
        let (mut value, mut rounding) = (0.0, 0.0);
        for i in 0..self.hx.len() {
            let d = to.image[i] - from.image[i];
            // the points themselves are rounded, and so is their difference
            let error = 2.0 * f64::EPSILON * (to.image[i].abs() + from.image[i].abs());
            value += 0.5 * self.hx[i] * d * d;
            rounding += self.hx[i] * error * (d.abs() + error);
        }
        Measured { value, rounding: rounding + 4.0 * f64::EPSILON * value }
    }

    fn change_y(&self, at: PreparedImage<'_>, from: &[f64], to: &[f64]) -> Measured {
        let (mut value, mut size) = (0.0, 0.0);
        // a coupling may be small and its terms large
        let terms = self.longest_row * distance(at.image, &self.saddle.x);
        for j in 0..from.len() {
            // far from the origin the sum of the two would round to the spacing of numbers there
            let (before, after) = (from[j] - self.saddle.y[j], to[j] - self.saddle.y[j]);
            let bent = 0.5 * self.hy[j];
            let coupling = self.row(j, at.image);
            let slope = coupling - bent * (before + after) - self.cy[j];
            value += slope * (to[j] - from[j]);
            let largest = terms + bent * (before.abs() + after.abs()) + self.cy[j].abs();
            size += largest * (to[j] - from[j]).abs();
        }
        Measured { value, rounding: self.roundings() * size }
    }
}

impl KnownConstants for QuadraticBilinear {
    fn constants(&self) -> BlockConstants {
        self.constants
    }

    fn confidence(&self) -> Confidence {
        Confidence::Exact
    }
}

impl KnownRounding for QuadraticBilinear {
    /// Every number is a sum of products of at most three factors, added up one after the other: `sum |terms|`, bounded by
    /// lengths, times the number of roundings that a term goes through.
    fn rounding(&self, at: PreparedImage<'_>, y: &[f64], reach: [f64; 2]) -> Rounding {
        let Saddle { x: x0, y: y0, value } = &self.saddle;
        let apart_x = distance(at.image, x0);
        let apart_y = distance(y, y0);
        let mut size = value.abs();
        let (mut bent_x, mut bent_y) = (0.0, 0.0);
        for i in 0..x0.len() {
            let d = (at.image[i] - x0[i]).abs();
            let slope = self.hx[i] * d;
            size += (0.5 * slope + self.cx[i].abs()) * d;
            bent_x += slope * slope;
        }
        let mut steepest = 0.0f64;
        for j in 0..y0.len() {
            let d = (y[j] - y0[j]).abs();
            let slope = self.hy[j] * d;
            size += (0.5 * slope + self.cy[j].abs()) * d;
            bent_y += slope * slope;
            steepest = steepest.max(slope + self.cy[j].abs());
        }
        size += self.frobenius * apart_x * apart_y;
        let roundings = self.roundings();
        // members of the sets that are as near as rounding leaves them, where gradients that vanish here do not
        let turn = |h: Option<f64>, p: &[f64]| 4.0 * f64::EPSILON * h.unwrap_or(0.0) * norm(p);
        let BlockConstants { lxx, lyy, .. } = self.constants;
        let (turn_x, turn_y) = (turn(lxx, at.image), turn(lyy, y));
        let steep_x = norm(&self.cx) + bent_x.sqrt() + self.frobenius * apart_y;
        Rounding {
            value: roundings * size,
            grad_x: roundings * steep_x,
            grad_y: roundings * (norm(&self.cy) + bent_y.sqrt() + self.frobenius * apart_x),
            steepest_x: (steep_x + turn_x + self.frobenius * reach[1]) * (1.0 + roundings),
            steepest_y: (steepest + turn_y + self.longest_row * (apart_x + reach[0]))
                * (1.0 + roundings),
        }
    }
}

impl QuadraticBilinear {
    /// The share of a term that is lost on its way into a sum over rows, at the most.
    fn roundings(&self) -> f64 {
        0.5 * f64::EPSILON * (self.hx.len() + self.hy.len() + 8) as f64
    }
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    distance_squared(a, b).sqrt()
}

/// A mean of quadratic-bilinear functions with noise in their Hessians:
///
/// ```text
/// F(x, y; xi) = f(x, y) + s(xi) [ noise (<y - y*, N (x - x*)> + 1/2 mu_x |x - x*|^2 - 1/2 mu_y |y - y*|^2)
///                                 + drift (<d_x, x - x*> + <d_y, y - y*>) ]
/// ```
///
/// with `s(xi)` in [-1, 1] of mean zero: a finite sum over `n` components, whose `s` come in pairs
/// of opposite sign, or an expectation with `s` uniform.
#[derive(Clone, Debug)]
pub struct QuadraticSum {
    base: QuadraticBilinear,
    population: Population,
    noise: f64,
    drift: f64,
    n: Vec<f64>,
    dx: Vec<f64>,
    dy: Vec<f64>,
}

impl QuadraticSum {
    /// Spreads `base` over a population. `noise` (at most 1) scales the noise of the Hessian relative
    /// to the curvature and coupling of `base`; `drift` is the norm of the additive noise.
    ///
    /// # Errors
    /// A finite population that is empty or odd; `noise` outside [0, 1] or `drift` negative.
    pub fn new(
        base: QuadraticBilinear,
        population: Population,
        noise: f64,
        drift: f64,
        seed: u64,
    ) -> Result<Self> {
        if let Population::Finite(n) = population
            && (n == 0 || n % 2 == 1)
        {
            return Err(Error::Setting {
                name: "population",
                why: format!("the number of components must be even and above 0, got {n}"),
            });
        }
        if !((0.0..=1.0).contains(&noise) && drift.is_finite() && drift >= 0.0) {
            return Err(Error::Setting {
                name: "noise",
                why: format!("noise must be in [0, 1] and drift >= 0, got {noise} and {drift}"),
            });
        }
        let (nx, ny) = (base.dim_x(), base.dim_y());
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let mut draw =
            |n: usize| -> Vec<f64> { (0..n).map(|_| rng.random_range(-1.0..1.0)).collect() };
        let (mut n, mut dx, mut dy) = (draw(nx * ny), draw(nx), draw(ny));
        let size = spectral_norm(&n, ny, nx)?;
        let coupling = base.constants.lxy.unwrap_or(0.0);
        n.iter_mut().for_each(|v| *v *= coupling / size);
        for d in [&mut dx, &mut dy] {
            let length = norm(d);
            d.iter_mut().for_each(|v| *v /= length);
        }
        let sum = QuadraticSum { base, population, noise, drift, n, dx, dy };
        if let Population::Finite(n) = population {
            let variance = (0..n).map(|i| sum.weight(i).powi(2)).sum::<f64>() / n as f64;
            if variance > WEIGHT_VARIANCE {
                return Err(Error::Setting {
                    name: "population",
                    why: format!(
                        "{n} components are too few: their weights have variance {variance}"
                    ),
                });
            }
        }
        Ok(sum)
    }

    /// The problem that is the mean.
    #[must_use]
    pub fn base(&self) -> &QuadraticBilinear {
        &self.base
    }

    /// A bound of `sigma`, the standard deviation of the joint gradient over sets of these diameters.
    #[must_use]
    pub fn sigma_on(&self, diameter_x: f64, diameter_y: f64) -> f64 {
        let c = self.base.constants;
        let size = |v: Option<f64>| v.unwrap_or(0.0);
        let (lxx, lxy, lyy) = (size(c.lxx), size(c.lxy), size(c.lyy));
        let x = self.noise * (lxx * diameter_x + lxy * diameter_y) + self.drift;
        let y = self.noise * (lyy * diameter_y + lxy * diameter_x) + self.drift;
        (WEIGHT_VARIANCE * (x * x + y * y)).sqrt()
    }

    fn weight(&self, sample: u64) -> f64 {
        match self.population {
            Population::Finite(n) => {
                // components i and i + n/2 are opposite
                let half = n / 2;
                let s = uniform(sample % half);
                if sample >= half { -s } else { s }
            }
            Population::Infinite => uniform(sample),
        }
    }

    fn mean_weight(&self, batch: &[u64]) -> f64 {
        batch.iter().map(|&i| self.weight(i)).sum::<f64>() / batch.len() as f64
    }
}

/// A bound of the variance of `s`: 1/3 for the uniform law, somewhat more for a small finite population.
const WEIGHT_VARIANCE: f64 = 0.4; // checked in `new`

/// A number in [-1, 1) from a key, by a hash with good mixing (splitmix64).
fn uniform(key: u64) -> f64 {
    let mut z = key.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^= z >> 31;
    (z >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

impl SaddleProblem for QuadraticSum {
    fn dim_x(&self) -> usize {
        self.base.dim_x()
    }

    fn dim_y(&self) -> usize {
        self.base.dim_y()
    }

    fn value(&self, at: PreparedImage<'_>, y: &[f64]) -> f64 {
        self.base.value(at, y)
    }

    fn grad_image(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
        self.base.grad_image(at, y, out);
    }

    fn grad_y(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
        self.base.grad_y(at, y, out);
    }

    fn capabilities(&self) -> Capabilities<'_> {
        self.base.capabilities().with_sampled(self).with_sampled_constants(self)
    }
}

impl Sampled for QuadraticSum {
    fn population(&self) -> Population {
        self.population
    }

    fn batch_value(&self, batch: &[u64], x: &[f64], y: &[f64]) -> f64 {
        let base = &self.base;
        let s = self.mean_weight(batch);
        let (mut quadratic, mut linear) = (0.0, 0.0);
        for i in 0..x.len() {
            let d = x[i] - base.saddle.x[i];
            quadratic += 0.5 * base.hx[i] * d * d;
            linear += self.dx[i] * d;
        }
        for j in 0..y.len() {
            let d = y[j] - base.saddle.y[j];
            let row = &self.n[j * x.len()..(j + 1) * x.len()];
            let coupling = dot(row, x) - dot(row, &base.saddle.x);
            quadratic += (coupling - 0.5 * base.hy[j] * d) * d;
            linear += self.dy[j] * d;
        }
        base.value(PreparedImage::plain(x), y) + s * (self.noise * quadratic + self.drift * linear)
    }

    fn batch_grad_x(&self, batch: &[u64], x: &[f64], y: &[f64], out: &mut [f64]) {
        self.base.grad_image(PreparedImage::plain(x), y, out);
        let s = self.mean_weight(batch);
        let nx = x.len();
        for i in 0..nx {
            let curvature = self.base.hx[i] * (x[i] - self.base.saddle.x[i]);
            out[i] += s * (self.noise * curvature + self.drift * self.dx[i]);
        }
        for (j, (y, star)) in y.iter().zip(&self.base.saddle.y).enumerate() {
            let row = &self.n[j * nx..(j + 1) * nx];
            crate::linalg::axpy(s * self.noise * (y - star), row, out);
        }
    }

    fn batch_grad_y(&self, batch: &[u64], x: &[f64], y: &[f64], out: &mut [f64]) {
        self.base.grad_y(PreparedImage::plain(x), y, out);
        let s = self.mean_weight(batch);
        let nx = x.len();
        for j in 0..y.len() {
            let row = &self.n[j * nx..(j + 1) * nx];
            let coupling = dot(row, x) - dot(row, &self.base.saddle.x);
            let curvature = self.base.hy[j] * (y[j] - self.base.saddle.y[j]);
            out[j] += s * (self.noise * (coupling - curvature) + self.drift * self.dy[j]);
        }
    }
}

impl SampledConstants for QuadraticSum {
    /// `s` is independent of the point and of mean 0, so `L^2 <= L_f^2 + noise^2 E s^2 L_N^2` with `L_N` the joint smoothness
    /// of the noise.
    fn mean_smoothness(&self) -> Option<f64> {
        let joint = self.base.constants.joint_smoothness("the mean smoothness").ok()?;
        // the noise has the curvature and the coupling norm of the base
        Some(joint * (1.0 + WEIGHT_VARIANCE * self.noise.powi(2)).sqrt())
    }

    /// It depends on the sets: [`sigma_on`](Self::sigma_on).
    fn sigma(&self) -> Option<f64> {
        None
    }

    fn batch_constants(&self, batch: &[u64]) -> BlockConstants {
        let k = self.base.constants;
        let bent = 1.0 + self.noise * self.mean_weight(batch);
        let size = |v: Option<f64>| v.map(|v| bent * v);
        BlockConstants {
            lxx: size(k.lxx),
            lxy: k.lxy.map(|v| v * (1.0 + self.noise * self.mean_weight(batch).abs())),
            lyy: size(k.lyy),
            mu: size(k.mu).filter(|mu| *mu > 0.0),
            mu_x: size(k.mu_x).filter(|mu| *mu > 0.0),
        }
    }
}
