//! Uncertainty sets on rows: which weights the adversary may give to the rows, and what they cost.

mod chi_square;

pub use chi_square::ChiSquare;

use crate::problem::Measured;
use crate::state::Fingerprint;

/// How concave the penalty is, as far as that is known.
#[derive(Clone, Copy, Debug)]
pub struct Moduli {
    /// The modulus of strong concavity.
    pub mu: Option<f64>,
    /// The smoothness in `y`.
    pub lyy: Option<f64>,
}

/// Weights `y` in the simplex of `n` rows, and the penalty on them.
pub trait Uncertainty: Copy + Send + Sync + std::fmt::Debug {
    /// The set for `n` rows at this level.
    fn new(n: usize, level: f64) -> Self;

    /// What the objective adds to the weighted losses: minus the penalty.
    fn value(&self, y: &[f64]) -> f64;

    /// Writes the gradient of [`value`](Self::value).
    fn slopes(&self, y: &[f64], out: &mut [f64]);

    /// Writes the maximiser of `<losses, y>` and [`value`](Self::value), and returns a bound of what it misses. `room` has
    /// `n` numbers.
    fn best_response(&self, losses: &[f64], room: &mut [f64], y: &mut [f64]) -> f64;

    /// The change of `<losses, y>` and [`value`](Self::value) between two points, without cancellation.
    fn change(&self, losses: &[f64], from: &[f64], to: &[f64]) -> Measured;

    /// The moduli that are known.
    fn moduli(&self) -> Moduli;

    /// Notes what tells this set from others.
    fn fingerprint(&self, print: &mut Fingerprint);
}
