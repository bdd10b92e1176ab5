//! How fast the weights of certified MPCGS grow where `f(., y)` is strongly convex.
//!
//! With `A_k` the sum of the weights `a_1 = 1, a_2, ...` and `gamma_k = a_k/A_k`, iteration k minimises
//! `<g_k, u> + mu_x/2 |u - z_k|^2 + alpha_k/2 |u - v_{k-1}|^2`, where
//!
//! ```text
//! a_k alpha_k = c + mu_x A_{k-1},   c = 2 Lhat_1,        alpha_k = 2 Lhat_k gamma_k
//! hence       2 Lhat_k gamma_k^2 = (1 - gamma_k) (mu_x + c/A_{k-1})
//! B_k = [Lhat_1 D_X^2 + sum A_s delta_s + sum a_s zeta_s]/A_k
//! ```
//!
//! Theorem G in section 7.10 of docs/theory.md. Only `c/A_k` is kept, as `A_k` grows without bound.

use crate::error::{Error, Result, check_positive};
use crate::oracles::Oracles;
use crate::problem::{Measured, Rounding};
use crate::state::Archive;

/// What an iteration may leave in (d), as a share of gamma times the gap, and its slide in (b), as a share of the bound before: together
/// below 1, so that the bound contracts by `1 - (1 - shares) gamma` in each iteration.
const EPS_SHARE: f64 = 0.125;
const ZETA_SHARE: f64 = 1.0 / 128.0;

/// `f(., y)` must bend by this share of what `mu_x` promises, less so many roundings and this share of the slope.
const PROMISED: f64 = 1.0 - 1e-6;
const ROUNDINGS: f64 = 16.0;
const OF_SLOPE: f64 = 1e-8;

/// Fails for a `mu_x` that cannot be one.
pub(super) fn check_strong_convexity(oracles: &Oracles<'_>) -> Result<()> {
    oracles.mu_x().map_or(Ok(()), |mu_x| check_positive("mu_x", mu_x))
}

/// The growth of the weights so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    pub mu: f64,
    /// `c/A_k`; infinite before the first iteration.
    rest: f64,
    /// `[sum A_s delta_s + sum a_s zeta_s]/A_k`.
    charges: f64,
}

impl Pace {
    pub fn new(mu: f64) -> Self {
        Pace { mu, rest: f64::INFINITY, charges: 0.0 }
    }

    /// The weight of the next step with this `Lhat`.
    pub fn gamma(&self, lhat: f64) -> f64 {
        let s = self.mu + self.rest;
        if !s.is_finite() {
            return 1.0;
        }
        // 2 Lhat gamma^2 + s gamma - s = 0
        2.0 * s / (s + (s * s + 8.0 * lhat * s).sqrt())
    }

    /// The weight of the prox term.
    pub fn alpha(lhat: f64, gamma: f64) -> f64 {
        2.0 * lhat * gamma
    }

    /// `mu_x/2 |x - z|^2` for two points at this distance, between which `f(., y)` bends by so much. What gradient and value round by
    /// counts where they seem to contradict each other.
    ///
    /// # Errors
    /// [`Error::Contradiction`] where it clearly bends by less: then no strongly convex minorant is one.
    pub fn quadratic(
        &self,
        bend: Measured,
        slope: f64,
        square: f64,
        rounding: impl FnOnce() -> Result<Rounding>,
    ) -> Result<f64> {
        let promised = 0.5 * self.mu * square;
        let mut allowance = ROUNDINGS * bend.rounding + OF_SLOPE * slope.abs();
        if bend.value + allowance < PROMISED * promised {
            let Rounding { value, grad_x, .. } = rounding()?;
            allowance += ROUNDINGS * (value + grad_x * square.sqrt());
        }
        if bend.value + allowance < PROMISED * promised {
            return Err(Error::Contradiction {
                what: "f(., y) is not as strongly convex as mu_x says, or grad_x is not its gradient",
                claim: "f(., y), from a point to another, rises above its linear minorant by at least",
                claimed: promised,
                place: "the change of the value itself",
                seen: bend.value,
                allowance,
            });
        }
        Ok(promised)
    }

    /// What an iteration may leave in (d).
    pub fn eps_target(gamma: f64, gap: f64) -> f64 {
        EPS_SHARE * gamma * gap
    }

    /// What (b) asks of a slide, from the bound before.
    pub fn zeta_target(bound: f64) -> f64 {
        ZETA_SHARE * bound
    }

    /// Takes an iteration with these errors. Returns the bound of the theorem without rounding.
    pub fn step(&mut self, lhat: f64, gamma: f64, [delta, zeta]: [f64; 2], diameter: f64) -> f64 {
        self.rest = if gamma < 1.0 { (1.0 - gamma) * self.rest } else { 2.0 * lhat };
        self.charges = (1.0 - gamma) * self.charges + delta + gamma * zeta;
        0.5 * self.rest * diameter.powi(2) + self.charges
    }

    /// `Lhat` may fall by any factor; this one forgets a hard step as fast as weights grow.
    pub fn fall(gamma: f64) -> f64 {
        1.0 - gamma / 3.0
    }

    pub fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.number("rest", &mut self.rest)?;
        archive.number("charges", &mut self.charges)
    }
}
