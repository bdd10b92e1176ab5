//! The nuclear-norm ball.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use super::by_gram::{self, ByGram, Factor, Products};
use super::{Confidence, Domain, LinearMin, MixGoal, MixTask, Mixture, Oracle, mixture, room};
use crate::error::{Error, Result, check_finite, check_len, check_positive};
use crate::linalg::lanczos::{Lanczos, Stop, chebyshev_bound};
use crate::linalg::nuclear_projection::NuclearProjection;
use crate::linalg::spectral::{SAFE_SQUARES, SymmetricEigen, Thin, max_abs, safe_factor, trace};
use crate::linalg::{gradient_step, norm, scale};
use crate::run::Archive;
use crate::sliding::compressed::Compressed;
use crate::sliding::{Cndg, SlideReport, SlideTask, Sliding, cndg};

/// Up to this smaller side there is an exact prox, and on thin balls (`2 h < d`) a Gram matrix and its
/// eigen-decomposition find the top singular pair.
const THIN_LIMIT: usize = 512;

/// Up to this smaller side they do on all balls. Measured on one core, milliseconds for one minimum
/// by Gram and eigen-decomposition, against Lanczos on a falling and on a flat spectrum: 256 x 1024,
/// 13 against 5 and 13; 400 x 400, 34 against 3 and 7; 512 x 512, 65 against 7 and 19; 512 x 2048, 80
/// against 19 and 64. The Gram matrix is dearer but exact, and sliding on thin balls needs it once only.
const SQUARE_LIMIT: usize = 256;

/// The nuclear-norm ball `{P in R^{rows x cols} : |P|_* <= radius}`: the sum of the singular values
/// is bounded. Points are flat, row after row.
///
/// The minimum of `<G, P>` is `-radius u v^T` with `(u, v)` the top singular pair of `G`: from the
/// Gram matrix of the smaller side where that is at most 256 (512 if the other is more than twice
/// as large), exact up to rounding; above, from a warm-started Lanczos process, with a bound that
/// holds with high probability.
///
/// ```
/// use couloir::domain::{Domain, NuclearBall};
/// let ball = NuclearBall::new(2, 3, 2.0)?;
/// let mut p = [0.0; 6];
/// let minimum = ball.oracle().lmo(&[0.0, 5.0, 0.0, 1.0, 0.0, 0.0], &mut p)?;
/// assert!((p[1] + 2.0).abs() < 1e-12);
/// assert!((minimum.value + 10.0).abs() < 1e-12);
/// assert!(minimum.lower <= minimum.value);
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct NuclearBall {
    rows: usize,
    cols: usize,
    radius: f64,
    lanczos: Option<LanczosSettings>,
    exact_up_to: usize,
}

/// How the Lanczos process of a large [`NuclearBall`] runs.
#[derive(Clone, Debug, PartialEq)]
pub struct LanczosSettings {
    /// The residual `|G G^T u - sigma^2 u|`, relative to `sigma^2`, at which the singular pair counts
    /// as found.
    pub tolerance: f64,
    /// The process goes on until the upper bound of `sigma` is within this of `sigma`, relatively.
    /// `f64::INFINITY` asks for the residual test alone; the lower bound that comes with the
    /// minimum is then as good as it happens to be.
    pub certificate: f64,
    /// The largest number of steps (two products each) for one minimum.
    pub max_steps: usize,
    /// The probability with which the upper bound of one minimum may fail.
    pub failure: f64,
    /// The seed of the start vectors' random part.
    pub seed: u64,
}

impl Default for LanczosSettings {
    fn default() -> Self {
        LanczosSettings {
            tolerance: 1e-8,
            certificate: 1e-6,
            max_steps: 300,
            failure: 1e-9,
            seed: 0,
        }
    }
}

impl LanczosSettings {
    fn check(&self) -> Result<()> {
        check_positive("tolerance", self.tolerance)?;
        if self.certificate.is_nan() || self.certificate <= 0.0 {
            return Err(Error::NotPositive {
                name: "certificate".to_owned(),
                value: self.certificate,
            });
        }
        check_positive("failure", self.failure)?;
        if self.failure >= 1.0 {
            let why = format!("a probability below 1 is needed, got {}", self.failure);
            return Err(Error::Setting { name: "failure", why });
        }
        if self.max_steps == 0 {
            let why = "at least one step is needed".to_owned();
            return Err(Error::Setting { name: "max_steps", why });
        }
        Ok(())
    }
}

impl NuclearBall {
    /// The ball of the given radius around the zero matrix.
    ///
    /// # Errors
    /// No rows or no columns, or a radius that is not positive and finite.
    pub fn new(rows: usize, cols: usize, radius: f64) -> Result<Self> {
        if rows == 0 || cols == 0 {
            let why = format!("a nuclear ball of {rows} x {cols} matrices");
            return Err(Error::EmptySet { why });
        }
        check_positive("radius", radius)?;
        let (short, long) = (rows.min(cols), rows.max(cols));
        let limit = if 2 * short < long { THIN_LIMIT } else { SQUARE_LIMIT };
        let lanczos = (short > limit).then(LanczosSettings::default);
        Ok(NuclearBall { rows, cols, radius, lanczos, exact_up_to: THIN_LIMIT })
    }

    /// The same ball, with the Lanczos process whatever the size, run as `settings` say.
    ///
    /// # Errors
    /// As [`new`](Self::new), and settings outside their ranges.
    pub fn with_lanczos(
        rows: usize,
        cols: usize,
        radius: f64,
        settings: LanczosSettings,
    ) -> Result<Self> {
        settings.check()?;
        Ok(NuclearBall { lanczos: Some(settings), ..NuclearBall::new(rows, cols, radius)? })
    }

    /// The ball with an exact prox up to this smaller side in place of 512. It takes a full decomposition of the
    /// matrix: docs/reproduction.md has what that costs.
    #[must_use]
    pub fn exact_up_to(mut self, side: usize) -> Self {
        self.exact_up_to = side;
        self
    }

    /// The number of rows of a point.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns of a point.
    #[must_use]
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// The radius.
    #[must_use]
    pub fn radius(&self) -> f64 {
        self.radius
    }

    /// Whether sliding can run in the row space of `[r; q]` with a gain: `2 h < d`.
    fn compresses(&self) -> bool {
        self.lanczos.is_none() && 2 * self.rows.min(self.cols) < self.rows.max(self.cols)
    }

    /// The singular values of a point, in falling order, from a full decomposition: right to about
    /// rounding times the largest of them. Their sum is the nuclear norm.
    ///
    /// ```
    /// use couloir::domain::NuclearBall;
    /// let ball = NuclearBall::new(2, 3, 2.0)?;
    /// let values = ball.singular_values(&[0.0, 3.0, 0.0, -4.0, 0.0, 0.0])?;
    /// assert!((values[0] - 4.0).abs() < 1e-12 && (values[1] - 3.0).abs() < 1e-12);
    /// # Ok::<(), couloir::Error>(())
    /// ```
    ///
    /// # Errors
    /// A point of another length, entries that are not finite, a decomposition that fails.
    pub fn singular_values(&self, p: &[f64]) -> Result<Vec<f64>> {
        check_len("point", self.dim(), p.len())?;
        check_finite("point", p)?;
        let factor = safe_factor(max_abs(p));
        let scaled: Vec<f64> = p.iter().map(|v| v * factor).collect();
        let values = Thin::new(self.rows, self.cols).view(&scaled).singular_values();
        let mut values = values.map_err(|e| Error::Numerical {
            what: "singular value decomposition",
            why: format!("{e:?}"),
        })?;
        values.iter_mut().for_each(|v| *v /= factor);
        Ok(values)
    }

    /// The nuclear norm.
    fn nuclear_norm(&self, p: &[f64]) -> f64 {
        self.singular_values(p).map_or(f64::NAN, |values| values.iter().sum())
    }
}

impl Domain for NuclearBall {
    fn dim(&self) -> usize {
        self.rows * self.cols
    }

    /// `2 radius`, between a rank-one matrix of the boundary and its antipode.
    fn diameter(&self) -> f64 {
        2.0 * self.radius
    }

    fn violation(&self, p: &[f64]) -> f64 {
        if p.len() != self.dim() || check_finite("point", p).is_err() {
            return f64::INFINITY;
        }
        // |P|_* <= sqrt(rank) |P|: saves the decomposition well inside.
        let rank = self.rows.min(self.cols) as f64;
        if rank.sqrt() * norm(p) <= self.radius {
            return 0.0;
        }
        let excess = self.nuclear_norm(p) - self.radius;
        if excess.is_nan() { f64::INFINITY } else { excess.max(0.0) }
    }

    fn center(&self, out: &mut [f64]) {
        // where it is zero already, as new memory is, reading it is quicker
        if out.iter().any(|x| *x != 0.0) {
            out.fill(0.0);
        }
    }

    fn describe(&self) -> String {
        format!(
            "the nuclear-norm ball of radius {} of {} x {} matrices",
            self.radius, self.rows, self.cols
        )
    }

    fn oracle(&self) -> Box<dyn Oracle + '_> {
        let thin = Thin::new(self.rows, self.cols);
        let finder = match &self.lanczos {
            None => PairFinder::Gram(Box::new(GramFinder::new(thin))),
            Some(settings) => PairFinder::Lanczos(Box::new(LanczosFinder::new(thin, settings))),
        };
        Box::new(NuclearOracle {
            set: self,
            thin,
            finder,
            projection: None,
            compressed: None,
            scratch: None,
        })
    }
}

struct NuclearOracle<'a> {
    set: &'a NuclearBall,
    thin: Thin,
    finder: PairFinder,
    // Made when first used: a solver needs one or two of these three.
    projection: Option<Box<NuclearProjection>>,
    compressed: Option<Box<Compressed>>,
    scratch: Option<Cndg>,
}

enum PairFinder {
    Gram(Box<GramFinder>),
    Lanczos(Box<LanczosFinder>),
}

impl NuclearOracle<'_> {
    fn slide_plainly(&mut self, task: &SlideTask<'_>, out: &mut [f64]) -> Result<SlideReport> {
        let mut scratch = self.scratch.take().unwrap_or_else(|| Cndg::new(self.set.dim()));
        let report = cndg(self, task, &mut scratch, out);
        self.scratch = Some(scratch);
        report
    }
}

impl Oracle for NuclearOracle<'_> {
    fn lmo(&mut self, g: &[f64], p: &mut [f64]) -> Result<LinearMin> {
        match &mut self.finder {
            PairFinder::Gram(finder) => finder.minimise(g, self.set.radius, p),
            PairFinder::Lanczos(finder) => finder.minimise(g, self.set.radius, p),
        }
    }

    fn support(&mut self, g: &[f64], scratch: &mut Vec<f64>) -> Result<LinearMin> {
        if let PairFinder::Gram(finder) = &mut self.finder
            && let Some(minimum) = finder.support(g, self.set.radius)?
        {
            return Ok(minimum);
        }
        self.lmo(g, room(scratch, g.len()))
    }

    fn mix(&mut self, task: &MixTask<'_>, scratch: &mut Vec<f64>) -> Result<Mixture> {
        if let PairFinder::Gram(finder) = &mut self.finder
            && let Some(mixture) = finder.mix(task, self.set.radius)?
        {
            return Ok(mixture);
        }
        mixture::by_lmo(self, task, scratch)
    }

    fn has_prox(&self) -> bool {
        self.thin.short() <= self.set.exact_up_to
    }

    fn prox(&mut self, g: &[f64], q: &[f64], beta: f64, out: &mut [f64]) -> Result<f64> {
        if !self.has_prox() {
            return Err(Error::MissingOracle {
                set: self.set.describe(),
                oracle: "exact prox",
                hint: "both sides are too large for it; use the inner solve `Slide`, or `exact_up_to`",
            });
        }
        let radius = self.set.radius;
        let thin = self.thin;
        let projection =
            self.projection.get_or_insert_with(|| Box::new(NuclearProjection::new(thin)));
        let squares = gradient_step(q, g, beta, out);
        let done = projection.project(out, radius, |out| {
            gradient_step(q, g, beta, out);
        })?;
        let [q, g] = [(q, squares[0]), (g, squares[1])].map(|(x, square)| {
            if SAFE_SQUARES.contains(&square) { square.sqrt() } else { norm(x) }
        });
        let shift = 2.0 * f64::EPSILON * (q + g / beta);
        Ok(prox_gap(beta, done.rounding + shift, done.moved, radius))
    }

    fn by_gram(&mut self) -> Option<&mut dyn ByGram> {
        let gram = matches!(self.finder, PairFinder::Gram(_));
        (gram && self.set.rows > self.set.cols && self.has_prox()).then_some(self)
    }

    fn slide(&mut self, task: &SlideTask<'_>, out: &mut [f64]) -> Result<SlideReport> {
        if self.set.compresses() {
            let (thin, radius) = (self.thin, self.set.radius);
            let compressed =
                self.compressed.get_or_insert_with(|| Box::new(Compressed::new(thin, radius)));
            if let Some(report) = compressed.slide(task, out)? {
                return Ok(report);
            }
        }
        self.slide_plainly(task, out)
    }

    fn sliding(&self) -> Sliding {
        if self.set.compresses() { Sliding::Compressed } else { Sliding::Plain }
    }

    fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        match &mut self.finder {
            PairFinder::Gram(finder) => finder.state(archive),
            PairFinder::Lanczos(finder) => finder.state(archive),
        }
    }
}

impl ByGram for NuclearOracle<'_> {
    fn columns(&self) -> usize {
        self.set.cols
    }

    fn prox_factor(
        &mut self,
        w: Products<'_>,
        rounding: f64,
        beta: f64,
        factor: &mut Factor,
    ) -> Result<Option<f64>> {
        let (thin, radius) = (self.thin, self.set.radius);
        let projection =
            self.projection.get_or_insert_with(|| Box::new(NuclearProjection::new(thin)));
        let found = projection.factor(w.entries, w.error, radius, factor)?;
        Ok(found.map(|done| prox_gap(beta, done.rounding + rounding, done.moved, radius)))
    }

    fn support_by_gram(&mut self, g: Products<'_>) -> Result<Option<LinearMin>> {
        let PairFinder::Gram(finder) = &mut self.finder else {
            return Ok(None);
        };
        if !SAFE_SQUARES.contains(&trace(g.entries, finder.thin.short())) {
            return Ok(None);
        }
        finder.gram.copy_from_slice(g.entries);
        Ok(Some(finder.top(g.error, self.set.radius)?.0))
    }

    fn mix_by_gram(
        &mut self,
        goal: &MixGoal,
        products: [Products<'_>; 3],
    ) -> Result<Option<Mixture>> {
        match &mut self.finder {
            PairFinder::Gram(finder) => finder.mix_products(goal, products, self.set.radius),
            PairFinder::Lanczos(_) => Ok(None),
        }
    }
}

/// With `e` the error of a point (of the projection, and of `w = q - g/beta` as it was rounded), the gradient
/// `beta (point - w)` and the point err by `beta e` and `e`, so the gap is at most `beta |e| (|point - w| + 2 radius)`,
/// as `|point| <= radius`.
fn prox_gap(beta: f64, error: f64, moved: f64, radius: f64) -> f64 {
    beta * error * (moved + 2.0 * radius)
}

/// The top singular pair from the Gram matrix of the smaller side.
struct GramFinder {
    thin: Thin,
    gram: Vec<f64>,
    eigen: SymmetricEigen,
    w: Vec<f64>,
    /// Products of the two matrices of a mixture; the first is then that of the mixture.
    blocks: [Vec<f64>; 3],
    /// The error of the first block; 0 where there is no last mixture.
    error: f64,
    /// A scaled copy of the matrix, made only where its squares would overflow or vanish.
    scaled: Vec<f64>,
}

impl GramFinder {
    fn new(thin: Thin) -> Self {
        let (h, d) = (thin.short(), thin.long());
        GramFinder {
            thin,
            gram: vec![0.0; h * h],
            eigen: SymmetricEigen::new(h),
            w: vec![0.0; d],
            blocks: Default::default(),
            error: 0.0,
            scaled: Vec::new(),
        }
    }

    fn minimise(&mut self, g: &[f64], radius: f64, p: &mut [f64]) -> Result<LinearMin> {
        let h = self.thin.short();
        self.thin.gram(g, &mut self.gram);
        let largest = (0..h)
            .map(|i| self.gram[i * (h + 1)])
            .fold(0.0f64, |m, v| if v.is_nan() { f64::INFINITY } else { m.max(v) });
        if SAFE_SQUARES.contains(&largest) {
            return self.finish(g, 1.0, radius, p);
        }
        check_finite("gradient", g)?;
        let magnitude = max_abs(g);
        if magnitude == 0.0 {
            // Every point is a minimiser.
            p.fill(0.0);
            return Ok(LinearMin::exact(0.0));
        }
        let factor = safe_factor(magnitude);
        let mut scaled = std::mem::take(&mut self.scaled);
        scaled.clear();
        scaled.extend(g.iter().map(|v| v * factor));
        self.thin.gram(&scaled, &mut self.gram);
        let minimum = self.finish(&scaled, factor, radius, p);
        self.scaled = scaled;
        minimum
    }

    /// The minimum alone, from the Gram matrix; none where its squares would overflow or vanish.
    fn support(&mut self, g: &[f64], radius: f64) -> Result<Option<LinearMin>> {
        self.thin.gram(g, &mut self.gram);
        let trace = trace(&self.gram, self.thin.short());
        if !SAFE_SQUARES.contains(&trace) {
            return Ok(None);
        }
        Ok(Some(self.top(self.thin.rounding() * trace, radius)?.0))
    }

    /// The minimum `-radius sqrt(eigenvalue)` from a Gram matrix whose top eigenvalue errs by at most `hidden`, and its
    /// derivative by the eigenvalue.
    fn top(&mut self, hidden: f64, radius: f64) -> Result<(LinearMin, f64)> {
        self.eigen.decompose(&self.gram)?;
        let top = self.eigen.top_value().max(0.0);
        let hidden = hidden + 8.0 * f64::EPSILON * top;
        let (value, lower) = (-radius * top.sqrt(), -radius * (top + hidden).sqrt());
        let minimum = LinearMin { value, lower, confidence: Confidence::Exact, products: 0 };
        Ok((minimum, -0.5 * radius / top.sqrt().max(f64::MIN_POSITIVE)))
    }

    /// The best mixture of two matrices. None where squares would overflow or vanish.
    fn mix(&mut self, task: &MixTask<'_>, radius: f64) -> Result<Option<Mixture>> {
        let (h, rounding) = (self.thin.short(), self.thin.rounding());
        let mut blocks = std::mem::take(&mut self.blocks);
        let [pp, pg, gg] = &mut blocks;
        for block in [&mut *pp, &mut *pg, &mut *gg] {
            block.resize(h * h, 0.0);
        }
        if !(task.follows && self.error > 0.0) {
            self.thin.gram(task.from, pp);
            self.error = rounding * trace(pp, h);
        }
        self.thin.cross(task.from, task.to, pg);
        self.thin.gram(task.to, gg);
        let to = rounding * trace(gg, h);
        // each block errs by `rounding` times the lengths of its two matrices
        let errors = [self.error, (self.error * to).sqrt(), to];
        let products = [(&*pp, errors[0]), (&*pg, errors[1]), (&*gg, errors[2])]
            .map(|(entries, error)| Products { entries, error });
        let found = self.mix_products(&task.goal, products, radius);
        self.error = 0.0;
        if let Ok(Some(Mixture { weight, .. })) = found {
            self.error = by_gram::mixed(weight, products, &mut self.gram);
            blocks[0].copy_from_slice(&self.gram);
        }
        self.blocks = blocks;
        found
    }

    /// The best mixture `M(t) = (1-t) P + t G`: with the products of `P` and `G` every Gram matrix of `M` is a sum of
    /// small matrices.
    fn mix_products(
        &mut self,
        goal: &MixGoal,
        products: [Products<'_>; 3],
        radius: f64,
    ) -> Result<Option<Mixture>> {
        let h = self.thin.short();
        let [pp, pg, gg] = products.map(|p| p.entries);
        if ![pp, gg].iter().all(|block| SAFE_SQUARES.contains(&trace(block, h))) {
            return Ok(None);
        }
        let found = mixture::search(goal, mixture::CHEAP, |t| {
            let s = 1.0 - t;
            let hidden = by_gram::mixed(t, products, &mut self.gram);
            let (minimum, per_eigenvalue) = self.top(hidden, radius)?;
            // d/dt of the eigenvalue: e^T (d/dt M M^T) e
            let e = self.eigen.top_vector();
            let mut rise = 0.0;
            for i in 0..h {
                for j in 0..h {
                    let at = i * h + j;
                    let cross = pg[at] + pg[j * h + i];
                    let slope = -2.0 * s * pp[at] + (s - t) * cross + 2.0 * t * gg[at];
                    rise += e[i] * e[j] * slope;
                }
            }
            Ok((minimum, per_eigenvalue * rise))
        });
        found.map(Some)
    }

    /// The Gram matrix of the last mixture, where there is one.
    fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.number("error", &mut self.error)?;
        if !(self.error > 0.0) {
            return Ok(());
        }
        let h = self.thin.short();
        self.blocks[0].resize(h * h, 0.0);
        archive.numbers("mixture", &mut self.blocks[0])
    }

    /// From the Gram matrix of `g`, which is the matrix asked about times `factor`.
    fn finish(&mut self, g: &[f64], factor: f64, radius: f64, p: &mut [f64]) -> Result<LinearMin> {
        let h = self.thin.short();
        self.eigen.decompose(&self.gram)?;
        let u = self.eigen.top_vector();
        self.thin.mul_transposed(g, u, &mut self.w);
        let sigma = norm(&self.w);
        if sigma.is_nan() || sigma <= 0.0 {
            let why = format!("the top singular value came out as {sigma}");
            return Err(Error::Numerical { what: "top singular pair", why });
        }
        self.thin.rank_one(-radius / sigma, u, &self.w, p);
        // What rounding may hide of sigma_1^2: every entry of the Gram matrix errs by `rounding`
        // times the lengths of its two rows, together at most rounding |G|^2 (Frobenius), and the
        // eigen-decomposition by a few eps sigma_1^2.
        let trace = trace(&self.gram, h);
        let top = self.eigen.top_value().max(sigma * sigma);
        let hidden = self.thin.rounding() * trace + 8.0 * f64::EPSILON * top;
        let value = -radius * (sigma / factor);
        let lower = -radius * ((top + hidden).sqrt() / factor);
        Ok(LinearMin { value, lower: lower.min(value), confidence: Confidence::Exact, products: 0 })
    }
}

/// The weight of the random part of a start vector beside the last answer.
const RANDOM_PART: f64 = 0.3;

/// The top singular pair from a Lanczos process on `G G^T`, `G` taken with its smaller side first.
struct LanczosFinder {
    thin: Thin,
    settings: LanczosSettings,
    lanczos: Lanczos,
    rng: Pcg64,
    /// Start vectors drawn so far.
    draws: u64,
    start: Vec<f64>,
    /// The last answer; zero before there is one.
    u: Vec<f64>,
    w: Vec<f64>,
}

impl LanczosFinder {
    fn new(thin: Thin, settings: &LanczosSettings) -> Self {
        let (h, d) = (thin.short(), thin.long());
        LanczosFinder {
            thin,
            settings: settings.clone(),
            lanczos: Lanczos::new(h, settings.max_steps),
            rng: Pcg64::seed_from_u64(settings.seed),
            draws: 0,
            start: vec![0.0; h],
            u: vec![0.0; h],
            w: vec![0.0; d],
        }
    }

    /// Draws a start vector and returns a lower bound of `|<start, u_1>|` that fails with
    /// probability at most `failure`, whatever `u_1` and the last answer are.
    ///
    /// `b = w + delta g / sqrt(n)` with `g` Gaussian and `w` fixed: `<b, u_1>` is Gaussian with
    /// deviation `delta / sqrt(n)` around `<w, u_1>`, and no interval of width `2 s` is likelier than
    /// the one around its mean (Anderson), so `P(|<b, u_1>| <= s) <= sqrt(2/pi) s sqrt(n) / delta`.
    fn draw_start(&mut self) -> f64 {
        self.draws += 1;
        let warm = self.u.iter().any(|v| *v != 0.0);
        let delta = if warm { RANDOM_PART } else { 1.0 };
        let deviation = delta / (self.start.len() as f64).sqrt();
        for (b, w) in self.start.iter_mut().zip(&self.u) {
            *b = w + deviation * gaussian(&mut self.rng);
        }
        let length = norm(&self.start);
        scale(1.0 / length, &mut self.start);
        let s = self.settings.failure * deviation * (std::f64::consts::FRAC_PI_2).sqrt();
        (s / length).min(1.0)
    }

    fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let before = self.draws;
        archive.count("draws", &mut self.draws)?;
        archive.numbers("u", &mut self.u)?;
        // a start vector takes two words for each entry
        let words = 2 * self.start.len() as u128;
        let more = u128::from(self.draws).wrapping_sub(before.into()).wrapping_mul(words);
        self.rng.advance(more);
        Ok(())
    }

    fn minimise(&mut self, g: &[f64], radius: f64, p: &mut [f64]) -> Result<LinearMin> {
        check_finite("gradient", g)?;
        let magnitude = max_abs(g);
        if magnitude == 0.0 {
            p.fill(0.0);
            return Ok(LinearMin::exact(0.0));
        }
        let factor = safe_factor(magnitude);
        let frobenius: f64 = g.iter().map(|v| (v * factor) * (v * factor)).sum();
        let overlap = self.draw_start();
        let LanczosFinder { thin, settings, lanczos, start, u, w, .. } = self;
        let stop = Stop { tolerance: settings.tolerance, max_steps: settings.max_steps, every: 5 };
        let close = (1.0 + settings.certificate).powi(2);
        let found = lanczos.run(
            start,
            &stop,
            |x, y| {
                thin.mul_transposed(g, x, w);
                scale(factor, w);
                thin.mul(g, w, y);
                scale(factor, y);
            },
            |t, ritz| {
                close.is_infinite()
                    || t.upper_bound(ritz.theta, overlap, frobenius) <= close * ritz.theta
            },
            u,
        );
        thin.mul_transposed(g, u, w);
        scale(factor, w);
        let sigma = norm(w);
        if sigma.is_nan() || sigma <= 0.0 {
            let why = format!("the top singular value came out as {sigma}");
            u.fill(0.0);
            return Err(Error::Numerical { what: "Lanczos process", why });
        }
        thin.rank_one(-radius / sigma, u, w, p);
        // |G|^2 bounds sigma_1^2 for certain, the two others with the probability asked for.
        let log_tan_squared = (1.0 / overlap - 1.0).ln() + (1.0 / overlap + 1.0).ln();
        let bound = lanczos
            .tridiagonal()
            .upper_bound(found.theta, overlap, frobenius)
            .min(chebyshev_bound(found.theta, found.steps, log_tan_squared))
            .min(frobenius)
            .max(sigma * sigma);
        // The process is exact for a matrix that differs from G G^T by rounding.
        let rounding = thin.rounding() * (1.0 + (found.steps as f64).sqrt());
        let value = -radius * (sigma / factor);
        let lower = -radius * ((bound * (1.0 + rounding)).sqrt() / factor);
        Ok(LinearMin {
            value,
            lower: lower.min(value),
            confidence: Confidence::Probabilistic { failure: settings.failure },
            products: 2 * found.steps as u64 + 1,
        })
    }
}

/// A standard Gaussian number (Box and Muller).
fn gaussian(rng: &mut Pcg64) -> f64 {
    let radius = (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.random::<f64>()).cos()
}
