//! Bounds of rounding: what a problem promises, or what is estimated for one that promises nothing.

use super::{OracleCounts, Oracles};
use crate::domain::{Confidence, Oracle};
use crate::error::{Block, Result};
use crate::linalg::sum_rounding;
use crate::problem::{PointX, Rounding};
use crate::state::Archive;

/// The largest gradients in `x` and in `y` so far, of a problem that promises nothing.
#[derive(Default)]
pub(super) struct Seen {
    largest_x: f64,
    largest_y: f64,
    has_looked_around: bool,
}

/// How much steeper than where it was seen a function is taken to be elsewhere.
const ELSEWHERE: f64 = 4.0;

impl Seen {
    pub fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.number("largest_x", &mut self.largest_x)?;
        archive.number("largest_y", &mut self.largest_y)?;
        archive.flag("has_looked_around", &mut self.has_looked_around)
    }
}

impl Oracles<'_> {
    /// Sees how long a gradient in `x` is.
    pub(super) fn see_grad_x(&mut self, length: f64) {
        if let Some(seen) = &mut self.seen {
            seen.largest_x = seen.largest_x.max(length);
        }
    }

    /// Sees a gradient in `y`.
    pub(super) fn see_grad_y(&mut self, length: f64) {
        if let Some(seen) = &mut self.seen {
            seen.largest_y = seen.largest_y.max(length);
        }
    }

    /// Sees the gradients at one pair of vertices besides, once in a run: a run may start where they vanish, which says nothing of
    /// their size elsewhere. A set that is known by its oracle alone is asked only where a gradient was seen to vanish, for an answer may
    /// take minutes; and where an image is a product with an operator, nothing is asked.
    pub(super) fn look_around(&mut self) {
        let Some(seen) = &mut self.seen else { return };
        if std::mem::replace(&mut seen.has_looked_around, true) || self.has_operator {
            return;
        }
        let vanishes = seen.largest_x == 0.0 && seen.largest_y == 0.0;
        let is_users = |oracle: &dyn Oracle| oracle.confidence() == Confidence::AsGiven;
        if (is_users(&*self.x) || is_users(&*self.y)) && !vanishes {
            return;
        }
        // where the function cannot be taken there is nothing to be seen
        let _ = self.certifying(Self::see_vertices);
    }

    fn see_vertices(&mut self) -> Result<()> {
        let direction = |dim: usize| -> Vec<f64> {
            let size = |i: usize| 1.0 + ((i * 7) % 11) as f64 / 11.0;
            (0..dim).map(|i| if i % 2 == 0 { size(i) } else { -size(i) }).collect()
        };
        let (mut at, mut y) = (PointX::new(&*self.problem), vec![0.0; self.problem.dim_y()]);
        self.lmo(Block::X, &direction(at.x.len()), &mut at.x)?;
        self.lmo(Block::Y, &direction(y.len()), &mut y)?;
        self.image(&at.x, &mut at.image)?;
        self.prepare(&mut at);
        let (mut in_image, mut in_x) = (vec![0.0; at.image.len()], vec![0.0; at.x.len()]);
        self.both_grads_x(&at, &y, &mut in_image, &mut in_x)?;
        let mut in_y = vec![0.0; y.len()];
        self.grad_y(&at, &y, &mut in_y)
    }

    /// Takes over what was seen of the same function, or a smoothed one, through other oracles.
    pub(crate) fn learn_from(&mut self, other: &Oracles<'_>) {
        self.longest_image = self.longest_image.max(other.longest_image);
        if let (Some(own), Some(other)) = (&mut self.seen, &other.seen) {
            own.largest_x = own.largest_x.max(other.largest_x);
            own.largest_y = own.largest_y.max(other.largest_y);
        }
    }

    /// Bounds of the rounding in what the problem returns at a pair where its value is this: those that it promises, or
    /// estimates for a function that is computed by sums over the coordinates, from `x` and `y` themselves: over a set that lies far
    /// from the origin the terms of its gradients are larger than those by as much as the set is far for its width.
    pub(crate) fn rounding(&self, at: &PointX, y: &[f64], value: f64) -> Rounding {
        let reach @ [dx, dy] = self.diameters;
        let Some(Seen { largest_x, largest_y, .. }) = self.seen else {
            let known = self.ask(|problem| {
                let known = problem.capabilities().rounding;
                known.map(|known| known.rounding(at.prepared(), y, reach))
            });
            return known.unwrap_or(Rounding::NONE).checked();
        };
        let share = self.plain_rounding;
        let [far_x, far_y] = self.farthest;
        // a single point has no way to go, and no rounding on it
        let away = |far: f64, diameter: f64| if diameter > 0.0 { far / diameter } else { 1.0 };
        let terms = 1.0 + away(far_x, dx) + away(far_y, dy);
        Rounding {
            value: share * (value.abs() + largest_x * far_x + largest_y * far_y),
            grad_x: share * largest_x * terms,
            grad_y: share * largest_y * terms,
            steepest_x: ELSEWHERE * largest_x,
            steepest_y: ELSEWHERE * largest_y,
        }
        .checked()
    }

    /// A bound of all entries of `grad_y f(u, y)`, for every `u` of X: [`steepest_y`](Rounding::steepest_y) alone.
    pub(crate) fn steepest_y(&self, at: &PointX, y: &[f64]) -> f64 {
        if self.seen.is_some() {
            return self.rounding(at, y, 0.0).steepest_y;
        }
        let steepest = self.ask(|problem| {
            let known = problem.capabilities().rounding;
            known.map(|known| known.steepest_y(at.prepared(), y, self.diameters))
        });
        steepest.filter(|bound| bound.is_finite()).unwrap_or(f64::INFINITY)
    }

    /// What rounding makes of `constant + min <slope, .>` over X, for a slope of this length.
    pub(crate) fn rounding_of_minimum(&self, constant: f64, length: f64) -> f64 {
        let sum = sum_rounding(self.problem.dim_x());
        sum * length * self.farthest[0] + 4.0 * f64::EPSILON * constant.abs()
    }

    /// What a step from or to a minorant with these numbers may round by, anywhere in X: every entry of the slope errs by three roundings
    /// of its two parts at the most, whatever their number. (Where slopes are adjoint products, their Gram matrices carry the error.)
    pub(crate) fn rounding_of_mixing(&self, constant: f64, length: f64) -> f64 {
        4.0 * f64::EPSILON * (length * self.farthest[0] + constant.abs())
    }

    /// A bound of the length of the points of this block.
    pub(crate) fn farthest(&self, block: Block) -> f64 {
        self.farthest[block as usize]
    }

    /// What the upper and the lower bound of a pair are charged with for members of the sets that are as near to `x` and to `y` as
    /// repaired points are: `max_y f(x, y)` changes by no more than its steepest slope times the way, and so does `min_x f(x, y)`.
    pub(crate) fn charge_of_slack(&self, rounding: &Rounding) -> [f64; 2] {
        let charge = |slack: f64, slope: f64| if slack > 0.0 { slack * slope } else { 0.0 };
        [charge(self.slack[0], rounding.steepest_x), charge(self.slack[1], rounding.steepest_y)]
    }

    /// How far a repaired `y` may be from a member of its set, in the 1-norm.
    pub(crate) fn slack_of_y(&self) -> f64 {
        self.slack[1]
    }

    /// How far an image that was carried along with its point, as a mixture of images of points, may be from the image of its
    /// point: every step rounds, and none is longer than the longest image so far.
    pub(crate) fn carried(&self) -> f64 {
        let of = |counts: &OracleCounts| counts.images + counts.lo_x;
        let steps = of(&self.ledger.method) + of(&self.ledger.certificate);
        (16 + 2 * steps) as f64 * f64::EPSILON * self.longest_image
    }
}
