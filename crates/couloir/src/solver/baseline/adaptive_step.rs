//! The step of SP-AFW and SP-PFW where no rate is known ([`SpAfwStep::Adaptive`](super::spafw::SpAfwStep::Adaptive)).

use super::spfw::Look;
use crate::domain::Domain;
use crate::error::Result;
use crate::linalg::{axpby, dot, norm_squared};
use crate::state::Archive;

/// What of the last estimate of `beta` is kept when a smaller one is seen.
const KEEP_BETA: f64 = 0.9;

/// What it has learnt.
pub(super) struct Learnt {
    beta: f64,
    moved: bool,
    /// `1/D^2` of each block, 0 where the block is a point.
    weight: (f64, f64),
    /// `F` at the last pair, as `(gx, gy)`.
    last: (Vec<f64>, Vec<f64>),
    /// The last direction and step.
    pub d: (Vec<f64>, Vec<f64>),
    gamma: f64,
}

impl Learnt {
    pub fn new(x_set: &dyn Domain, y_set: &dyn Domain) -> Self {
        let weight = |d: f64| if d > 0.0 { 1.0 / (d * d) } else { 0.0 };
        let (nx, ny) = (x_set.dim(), y_set.dim());
        Learnt {
            beta: 0.0,
            moved: false,
            weight: (weight(x_set.diameter()), weight(y_set.diameter())),
            last: (vec![0.0; nx], vec![0.0; ny]),
            d: (vec![0.0; nx], vec![0.0; ny]),
            gamma: 0.0,
        }
    }

    /// The weights follow from the sets.
    pub fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.number("beta", &mut self.beta)?;
        archive.flag("moved", &mut self.moved)?;
        archive.numbers("last_x", &mut self.last.0)?;
        archive.numbers("last_y", &mut self.last.1)?;
        archive.numbers("d_x", &mut self.d.0)?;
        archive.numbers("d_y", &mut self.d.1)?;
        archive.number("gamma", &mut self.gamma)
    }

    /// Compares `F` with that before the last move.
    pub fn learn(&mut self, look: &Look) {
        if std::mem::take(&mut self.moved) {
            let (mut square, mut product) = (0.0, 0.0);
            for (now, last, d, weight) in [
                (&look.gx, &mut self.last.0, &self.d.0, self.weight.0),
                (&look.gy, &mut self.last.1, &self.d.1, self.weight.1),
            ] {
                axpby(1.0, now, -1.0, last);
                if weight > 0.0 {
                    square += norm_squared(last) / weight;
                    product += self.gamma * dot(last, d);
                }
            }
            let seen = square / product;
            if seen.is_finite() && seen > 0.0 {
                self.beta = seen.max(KEEP_BETA * self.beta);
            }
        }
        self.last.0.copy_from_slice(&look.gx);
        self.last.1.copy_from_slice(&look.gy);
    }

    /// The step along `self.d` with slope `g`.
    pub fn step(&self, g: f64) -> f64 {
        let length =
            self.weight.0 * norm_squared(&self.d.0) + self.weight.1 * norm_squared(&self.d.1);
        if self.beta > 0.0 && length > 0.0 { g / (self.beta * length) } else { 1.0 }
    }

    /// The pair moves by `gamma` along `self.d`.
    pub fn moves(&mut self, gamma: f64) {
        (self.gamma, self.moved) = (gamma, true);
    }
}
