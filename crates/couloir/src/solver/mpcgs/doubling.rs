//! When certified MPCGS starts its weights anew, where nothing is known of strong convexity.
//!
//! Stage j runs for `n_j` iterations and lowers the upper bound of the optimal value by `delta_j`. The next stage begins at the best `x`, with
//!
//! ```text
//! n_{j+1} = 2 n_j  where delta_j > delta_{j-1}/16,  else n_j
//! ```
//!
//! Stages that are long enough for the `mu_x` that there is, of about `sqrt(720 Lhat/mu_x)` iterations, are never doubled, and the bound
//! falls linearly: Theorem H in section 7.11 of docs/theory.md. Without strong convexity all are doubled, and the last one has half of the
//! iterations.

use crate::error::Result;
use crate::state::Archive;

/// Iterations of the first stage: most runs to moderate accuracy end within it.
const FIRST: u64 = 100;
/// A stage is long enough where it lowers the bound by at most this share of what the stage before did.
const SUFFICIENT: f64 = 1.0 / 16.0;

/// Where the present stage stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Doubling {
    length: u64,
    /// The upper bound at its start.
    upper: f64,
    /// By how much the stage before has lowered it.
    fall: f64,
}

impl Doubling {
    /// The first stage, from a point with this upper bound.
    pub fn new(upper: f64) -> Self {
        Doubling { length: FIRST, upper, fall: f64::INFINITY }
    }

    /// Whether the stage is over after so many iterations, with this upper bound; the next one has begun then.
    pub fn is_over(&mut self, iterations: u64, upper: f64) -> bool {
        if iterations < self.length {
            return false;
        }
        let fall = self.upper - upper;
        if !(fall <= SUFFICIENT * self.fall) {
            self.length = self.length.saturating_mul(2);
        }
        (self.upper, self.fall) = (upper, fall);
        true
    }

    pub fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.count("length", &mut self.length)?;
        archive.number("upper", &mut self.upper)?;
        archive.number("fall", &mut self.fall)
    }
}
