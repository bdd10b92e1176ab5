//! Bounds of rounding: what a problem promises, or what is estimated for one that promises nothing.

use super::Oracles;
use crate::error::Result;
use crate::linalg::{distance_squared, norm};
use crate::problem::{PointX, Rounding, WithFallbacks};
use crate::state::Archive;

/// What has been seen of one gradient of a problem that promises nothing: how large it was, and how fast it moves.
#[derive(Default)]
struct SeenGradient {
    /// The largest length.
    largest: f64,
    /// The largest change per distance from the first pair.
    fastest: f64,
    /// The first pair, and the gradient there.
    first: Option<[Vec<f64>; 3]>,
}

impl SeenGradient {
    fn see(&mut self, image: &[f64], y: &[f64], gradient: &[f64]) {
        self.largest = self.largest.max(norm(gradient));
        let Some([image_0, y_0, gradient_0]) = &self.first else {
            self.first = Some([image, y, gradient].map(<[f64]>::to_vec));
            return;
        };
        let distance = |a: &[f64], b: &[f64]| distance_squared(a, b).sqrt();
        let moved = distance(image, image_0) + distance(y, y_0);
        let change = distance(gradient, gradient_0) / moved;
        if change.is_finite() {
            self.fastest = self.fastest.max(change);
        }
    }

    /// The size of the terms that add up to the gradient at a pair of these lengths: those of a function that is computed
    /// from `x` and `y` themselves, not from differences to a centre, are as large as its slope times these lengths.
    fn terms(&self, lengths: f64) -> f64 {
        self.largest + self.fastest * lengths
    }

    fn state(&mut self, archive: &mut Archive<'_>, lens: [usize; 3]) -> Result<()> {
        archive.number("largest", &mut self.largest)?;
        archive.number("fastest", &mut self.fastest)?;
        let mut has_first = self.first.is_some();
        archive.flag("has_first", &mut has_first)?;
        if !has_first {
            self.first = None;
            return Ok(());
        }
        let [image, y, gradient] = self.first.get_or_insert_with(|| lens.map(|len| vec![0.0; len]));
        archive.numbers("image", image)?;
        archive.numbers("y", y)?;
        archive.numbers("gradient", gradient)
    }
}

/// The same of both gradients, for problems that promise nothing.
#[derive(Default)]
pub(super) struct Seen {
    x: SeenGradient,
    y: SeenGradient,
    /// How much longer `A^T s` was than `s`, at the most.
    adjoint: f64,
}

impl Seen {
    pub fn state(&mut self, archive: &mut Archive<'_>, image: usize, y: usize) -> Result<()> {
        archive.nested("x", |archive| self.x.state(archive, [image, y, image]))?;
        archive.nested("y", |archive| self.y.state(archive, [image, y, y]))?;
        archive.number("adjoint", &mut self.adjoint)
    }
}

impl Oracles<'_> {
    /// Sees a gradient in the image, and how long `A^T` of it is where that is known.
    pub(super) fn see_grad_image(
        &mut self,
        at: &PointX,
        y: &[f64],
        in_image: &[f64],
        length: Option<f64>,
    ) {
        if let Some(seen) = &mut self.seen {
            seen.x.see(&at.image, y, in_image);
            let own = norm(in_image);
            if let Some(length) = length.filter(|_| own > 0.0) {
                seen.adjoint = seen.adjoint.max(length / own);
            }
        }
    }

    /// Sees a gradient in `y`.
    pub(super) fn see_grad_y(&mut self, at: &PointX, y: &[f64], gradient: &[f64]) {
        if let Some(seen) = &mut self.seen {
            seen.y.see(&at.image, y, gradient);
        }
    }

    /// Bounds of the rounding in what the problem returns at a pair where its value is this: those that it promises, or
    /// estimates for a function that is computed by sums over the coordinates.
    pub(crate) fn rounding(&self, at: &PointX, y: &[f64], value: f64) -> Rounding {
        let reach = self.diameters[0];
        let Some(seen) = &self.seen else {
            let known = self.ask(|problem| {
                let known = problem.capabilities().rounding;
                known.map(|known| known.rounding(at.prepared(), y, reach))
            });
            return known.unwrap_or(Rounding::NONE).checked();
        };
        let share = WithFallbacks::new(&*self.problem).plain_rounding();
        let (image, length) = (self.images().norm(&at.image), norm(y));
        let in_image = share * seen.x.terms(image + length);
        let (adjoint, steep) = (seen.adjoint.max(1.0), seen.y.largest);
        Rounding {
            value: share * (value.abs() + seen.x.largest * image + steep * length),
            // the product with A^T rounds as well
            grad_x: 2.0 * adjoint * in_image,
            grad_y: share * seen.y.terms(image + length),
            steepest_y: steep + seen.y.fastest * adjoint * reach,
        }
        .checked()
    }

    /// What rounding makes of `constant + min <slope, .>` over X, for a slope of this length.
    pub(crate) fn rounding_of_minimum(&self, constant: f64, length: f64) -> f64 {
        let sum = crate::linalg::sum_rounding(self.problem.dim_x());
        sum * length * self.farthest_x + 4.0 * f64::EPSILON * constant.abs()
    }
}
