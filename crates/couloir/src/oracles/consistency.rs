//! What a problem and its sets say at one place, held against what they say at another.
//!
//! A set's linear minimisation, a gradient or a best response that is wrong makes certificates that are wrong. Some of that shows
//! for nothing: a point of the set below the reported minimum, a value below a linear minorant or above a linear majorant. What
//! is only off by rounding is no contradiction, nor what an honest oracle of moderate accuracy may miss: the allowance is
//! [`CLEAR`] times the size of the numbers that were compared.

use super::Oracles;
use crate::error::{Block, Error, Result};
use crate::linalg::{dot, norm};
use crate::problem::Measured;

/// A contradiction is clear where it is more than this share of the sizes of what is compared.
pub(crate) const CLEAR: f64 = 1e-6;
/// What a measured difference may be off by, in units of the rounding that it admits to.
const ROUNDINGS: f64 = 1e8;

/// Fails where a point of the set, with this value of `<g, .>`, is clearly below the minimum that was reported.
pub(crate) fn check_minimum(
    oracles: &Oracles<'_>,
    block: Block,
    g: &[f64],
    at: &[f64],
    (value, lower): (f64, f64),
) -> Result<()> {
    let below = lower - value;
    if !(below > 0.0) {
        return Ok(());
    }
    let length = norm(g);
    // a sum of products errs by its roundings, and an oracle may err by a small share of what it minimises
    let rounding = 1e-10 * (value.abs() + lower.abs() + length * norm(at));
    let allowance = CLEAR * length * oracles.diameters[block as usize] + rounding;
    if below <= allowance {
        return Ok(());
    }
    Err(Error::Contradiction {
        what: match block {
            Block::X => "the linear minimisation over the set of x",
            Block::Y => "the linear minimisation over the set of y",
        },
        claim: "the least value of <g, p> over the set",
        claimed: lower,
        seen: value,
        place: "a point of the set",
        allowance,
    })
}

/// What can be said against a measured second-order difference, of a function that is convex along its line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bend {
    /// `f(to) - f(from) - slope`: not negative where all is well.
    pub value: f64,
    /// The rounding that it admits to.
    pub rounding: f64,
    /// `<gradient at from, to - from>`.
    pub slope: f64,
    /// The size of values and of gradients times points; 0 where it was not asked for.
    size: f64,
}

impl Bend {
    pub fn new(Measured { value, rounding, .. }: Measured, slope: f64) -> Self {
        Bend { value, rounding, slope, size: 0.0 }
    }

    fn is_clear(self) -> bool {
        let Bend { value, rounding, slope, size } = self;
        value < -(ROUNDINGS * rounding + CLEAR * (slope.abs() + size))
    }

    fn contradiction(self, block: Block) -> Error {
        let Bend { value, rounding, slope, size } = self;
        let (what, claim, sign) = match block {
            Block::X => (
                "f(., y) is not convex, or grad_x is not its gradient",
                "the linear minorant of f(., y), from a point to another, rises by",
                1.0,
            ),
            Block::Y => (
                "f(x, .) is not concave, or grad_y is not its gradient",
                "the linear majorant of f(x, .), from a point to another, rises by",
                -1.0,
            ),
        };
        Error::Contradiction {
            what,
            claim,
            claimed: sign * slope,
            seen: sign * (slope + value),
            place: "the change of the value itself",
            allowance: ROUNDINGS * rounding + CLEAR * (slope.abs() + size),
        }
    }

    /// Fails where `f(., y)` was seen below its linear minorant, or `f(x, .)` above its linear majorant: then the numbers are
    /// those of `-f`. The size is asked for where it matters.
    pub fn check(mut self, block: Block, size: impl FnOnce() -> f64) -> Result<()> {
        if self.is_clear() {
            self.size = size();
            if self.is_clear() {
                return Err(self.contradiction(block));
            }
        }
        Ok(())
    }
}

/// Fails where a lower bound is clearly above an upper bound, or above a value, of the same thing.
pub(crate) fn check_order(
    what: &'static str,
    (claim, claimed): (&'static str, f64),
    (place, seen): (&'static str, f64),
    size: f64,
) -> Result<()> {
    let allowance = CLEAR * size.max(claimed.abs()).max(seen.abs());
    // infinite bounds say nothing, and allow anything
    if !((claimed - seen).abs() > allowance) {
        return Ok(());
    }
    Err(Error::Contradiction { what, claim, claimed, place, seen, allowance })
}

/// What is known to first order at a pair, of which the points are kept elsewhere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FirstOrder<'a> {
    pub value: f64,
    pub x: &'a [f64],
    pub y: &'a [f64],
    /// `grad_x f`.
    pub gx: &'a [f64],
    /// `-grad_y f`.
    pub gy: &'a [f64],
}

impl FirstOrder<'_> {
    /// The size of the value, and of gradients times points.
    pub fn size(&self, diameters: [f64; 2]) -> f64 {
        let part = |g: &[f64], p: &[f64], diameter: f64| norm(g) * (norm(p) + diameter);
        self.value.abs() + part(self.gx, self.x, diameters[0]) + part(self.gy, self.y, diameters[1])
    }

    /// Fails where two pairs contradict each other. With `f` convex in `x` and concave in `y`,
    ///
    /// ```text
    /// f(x1, y1) + <grad_x f(x1, y1), x2 - x1> <= f(x2, y1) <= f(x2, y2) + <grad_y f(x2, y2), y1 - y2>.
    /// ```
    pub fn check_against(
        &self,
        other: &FirstOrder<'_>,
        size: f64,
        diameters: [f64; 2],
    ) -> Result<()> {
        for (one, two) in [(self, other), (other, self)] {
            let minorant = one.value + dot(one.gx, two.x) - dot(one.gx, one.x);
            let majorant = two.value - dot(two.gy, one.y) + dot(two.gy, two.y);
            if minorant - majorant > CLEAR * size {
                let size = size.max(one.size(diameters)).max(two.size(diameters));
                check_order(
                    "f is not convex in x and concave in y, or a gradient is not its gradient",
                    ("the minorant of f(., y) from a pair (x, y), at another x,", minorant),
                    ("the majorant of f(x, .) from another pair, at the same point,", majorant),
                    size,
                )?;
            }
        }
        Ok(())
    }
}
