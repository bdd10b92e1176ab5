//! The top singular pair of a large matrix from a warm-started Lanczos process, with a bound that holds with
//! high probability.

use rand::SeedableRng;
use rand_pcg::Pcg64;

use crate::domain::{Confidence, LinearMin};
use crate::error::{Error, Result, check_finite, check_positive};
use crate::linalg::lanczos::{Lanczos, Stop, chebyshev_bound};
use crate::linalg::spectral::{Thin, max_abs, safe_factor};
use crate::linalg::{norm, scale};
use crate::random::gaussian;
use crate::state::Archive;
use crate::watch::Watch;

/// How the Lanczos process of a large [`NuclearBall`](super::NuclearBall) runs.
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
    pub(super) fn check(&self) -> Result<()> {
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

/// The weight of the random part of a start vector beside the last answer.
const RANDOM_PART: f64 = 0.3;

/// The top singular pair from a Lanczos process on `G G^T`, `G` taken with its smaller side first.
pub(super) struct LanczosFinder {
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
    pub(super) fn new(thin: Thin, settings: &LanczosSettings) -> Self {
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

    /// On what one answer rests.
    pub(super) fn confidence(&self) -> Confidence {
        Confidence::Probabilistic { failure: self.settings.failure }
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

    pub(super) fn attend(&mut self, watch: &Watch) {
        self.lanczos.attend(watch);
    }

    pub(super) fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let before = self.draws;
        archive.count("draws", &mut self.draws)?;
        archive.numbers("u", &mut self.u)?;
        // a start vector takes two words for each entry
        let words = 2 * self.start.len() as u128;
        let more = u128::from(self.draws).wrapping_sub(before.into()).wrapping_mul(words);
        self.rng.advance(more);
        Ok(())
    }

    pub(super) fn minimise(&mut self, g: &[f64], radius: f64, p: &mut [f64]) -> Result<LinearMin> {
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
        )?;
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
