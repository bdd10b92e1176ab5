//! The top singular pair of a matrix from the Gram matrix of its smaller side: exact up to rounding.

use crate::domain::{Confidence, LinearMin, MixGoal, MixTask, Mixture, Products, by_gram, mixture};
use crate::error::{Error, Result, check_finite};
use crate::linalg::norm;
use crate::linalg::spectral::{SAFE_SQUARES, SymmetricEigen, Thin, max_abs, safe_factor, trace};
use crate::state::Archive;

/// The top singular pair from the Gram matrix of the smaller side.
pub(super) struct GramFinder {
    pub(super) thin: Thin,
    pub(super) gram: Vec<f64>,
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
    pub(super) fn new(thin: Thin) -> Self {
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

    pub(super) fn minimise(&mut self, g: &[f64], radius: f64, p: &mut [f64]) -> Result<LinearMin> {
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
    pub(super) fn support(&mut self, g: &[f64], radius: f64) -> Result<Option<LinearMin>> {
        self.thin.gram(g, &mut self.gram);
        let trace = trace(&self.gram, self.thin.short());
        if !SAFE_SQUARES.contains(&trace) {
            return Ok(None);
        }
        Ok(Some(self.top(self.thin.rounding() * trace, radius)?.0))
    }

    /// The minimum `-radius sqrt(eigenvalue)` from a Gram matrix whose top eigenvalue errs by at most `hidden`, and its
    /// derivative by the eigenvalue.
    pub(super) fn top(&mut self, hidden: f64, radius: f64) -> Result<(LinearMin, f64)> {
        self.eigen.decompose(&self.gram)?;
        let top = self.eigen.top_value().max(0.0);
        let hidden = hidden + 8.0 * f64::EPSILON * top;
        let (value, lower) = (-radius * top.sqrt(), -radius * (top + hidden).sqrt());
        let minimum = LinearMin { value, lower, confidence: Confidence::Exact, products: 0 };
        Ok((minimum, -0.5 * radius / top.sqrt().max(f64::MIN_POSITIVE)))
    }

    /// The best mixture of two matrices. None where squares would overflow or vanish.
    pub(super) fn mix(&mut self, task: &MixTask<'_>, radius: f64) -> Result<Option<Mixture>> {
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
    pub(super) fn mix_products(
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
    pub(super) fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
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
