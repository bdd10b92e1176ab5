//! Block constants.

use super::{SaddleProblem, WithFallbacks};
use crate::domain::Confidence;
use crate::error::{Error, Result};

/// Smoothness and curvature, block by block; each is optional.
///
/// What needs one that is missing says so. The printed schedules need all four; certified MPCGS
/// with a best response or an exact inner y-solve needs none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BlockConstants {
    /// `|grad_x f(x, y) - grad_x f(x', y)| <= lxx |x - x'|`.
    pub lxx: Option<f64>,
    /// `|grad_x f(x, y) - grad_x f(x, y')| <= lxy |y - y'|`.
    pub lxy: Option<f64>,
    /// `|grad_y f(x, y) - grad_y f(x, y')| <= lyy |y - y'|`.
    pub lyy: Option<f64>,
    /// `f(x, .)` is `mu`-strongly concave.
    pub mu: Option<f64>,
    /// `f(., y)` is `mu_x`-strongly convex, which gives certified MPCGS a linear rate.
    pub mu_x: Option<f64>,
}

/// The smoothness and the strong concavity of a problem.
///
/// They may take work to find (the norm of an operator, say), so that only what needs them asks.
///
/// ```
/// use couloir::problem::{BlockConstants, KnownConstants};
///
/// /// `f(x, y) = x'By - mu/2 |y|^2`, with the norm of `B` computed when it is asked for.
/// struct Bilinear { b: [[f64; 2]; 2], mu: f64 }
///
/// impl KnownConstants for Bilinear {
///     fn constants(&self) -> BlockConstants {
///         let frobenius = self.b.as_flattened().iter().map(|v| v * v).sum::<f64>().sqrt();
///         BlockConstants::all(0.0, frobenius, self.mu, self.mu)
///     }
/// }
///
/// let f = Bilinear { b: [[3.0, 0.0], [0.0, 4.0]], mu: 0.5 };
/// assert_eq!(f.constants().lhat(), Some(50.0));
/// ```
pub trait KnownConstants: Send + Sync {
    /// The constants that are known.
    fn constants(&self) -> BlockConstants;

    /// The modulus of strong concavity alone, which may be known without work.
    fn mu(&self) -> Option<f64> {
        self.constants().mu
    }

    /// The modulus of strong convexity in `x` alone, which may be known without work.
    fn mu_x(&self) -> Option<f64> {
        self.constants().mu_x
    }

    /// On what they rest: as given, unless the problem has a proof of its own. A certificate that uses `mu` or `mu_x` says so.
    fn confidence(&self) -> Confidence {
        Confidence::AsGiven
    }
}

const HINT: &str = "give it in `KnownConstants::constants`, or use what needs no constants";

impl BlockConstants {
    /// All that the paper's methods use.
    #[must_use]
    pub fn all(lxx: f64, lxy: f64, lyy: f64, mu: f64) -> Self {
        BlockConstants { lxx: Some(lxx), lxy: Some(lxy), lyy: Some(lyy), mu: Some(mu), mu_x: None }
    }

    /// The same with a modulus of strong convexity in `x`; 0 is none.
    #[must_use]
    pub fn with_mu_x(mut self, mu_x: f64) -> Self {
        self.mu_x = (mu_x != 0.0).then_some(mu_x);
        self
    }

    /// Those of a problem, checked. They may take work to find, so that only what needs them asks.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub(crate) fn of(problem: &dyn SaddleProblem) -> Result<Self> {
        let constants = WithFallbacks::new(problem).constants();
        constants.check()?;
        Ok(constants)
    }

    /// Fails where a constant is given that cannot be one: `mu`, `mu_x` or `lyy` not positive, `lxx` or
    /// `lxy` negative, anything not finite.
    ///
    /// # Errors
    /// [`Error::NotPositive`] or [`Error::NotFinite`] with the value.
    pub fn check(&self) -> Result<()> {
        for (name, value) in [("mu", self.mu), ("mu_x", self.mu_x), ("Lyy", self.lyy)] {
            if let Some(v) = value {
                crate::error::check_positive(name, v)?;
            }
        }
        for (name, value) in [("Lxx", self.lxx), ("Lxy", self.lxy)] {
            if let Some(v) = value
                && !(v.is_finite() && v >= 0.0)
            {
                return Err(Error::Setting { name, why: format!("must be zero or more, got {v}") });
            }
        }
        Ok(())
    }

    /// `Lxx`, or an error that names who needs it.
    ///
    /// # Errors
    /// [`Error::MissingConstant`].
    pub fn need_lxx(&self, needed_by: &'static str) -> Result<f64> {
        self.lxx.ok_or(Error::MissingConstant { name: "Lxx", needed_by, hint: HINT })
    }

    /// `Lxy`, or an error that names who needs it.
    ///
    /// # Errors
    /// [`Error::MissingConstant`].
    pub fn need_lxy(&self, needed_by: &'static str) -> Result<f64> {
        self.lxy.ok_or(Error::MissingConstant { name: "Lxy", needed_by, hint: HINT })
    }

    /// `Lyy`, or an error that names who needs it.
    ///
    /// # Errors
    /// [`Error::MissingConstant`].
    pub fn need_lyy(&self, needed_by: &'static str) -> Result<f64> {
        self.lyy.ok_or(Error::MissingConstant { name: "Lyy", needed_by, hint: HINT })
    }

    /// `mu`, or an error that names who needs it.
    ///
    /// # Errors
    /// [`Error::MissingConstant`].
    pub fn need_mu(&self, needed_by: &'static str) -> Result<f64> {
        self.mu.ok_or(Error::MissingConstant { name: "mu", needed_by, hint: HINT })
    }

    /// The smoothness `L` of the joint gradient that the paper uses: the spectral norm of
    /// `[[Lxx, Lxy], [Lxy, Lyy]]`, which bounds it.
    ///
    /// # Errors
    /// [`Error::MissingConstant`] where one of the three is missing.
    pub fn joint_smoothness(&self, needed_by: &'static str) -> Result<f64> {
        let (xx, xy, yy) =
            (self.need_lxx(needed_by)?, self.need_lxy(needed_by)?, self.need_lyy(needed_by)?);
        Ok(0.5 * (xx + yy) + (0.25 * (xx - yy).powi(2) + xy * xy).sqrt())
    }

    /// `Lhat = max(Lxy^2 / mu, Lxx / 2)`, which takes the place of `kappa L` in certified MPCGS;
    /// `None` where a constant is missing.
    #[must_use]
    pub fn lhat(&self) -> Option<f64> {
        Some((self.lxy?.powi(2) / self.mu?).max(self.lxx? / 2.0))
    }
}
