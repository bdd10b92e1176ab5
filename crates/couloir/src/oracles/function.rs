//! Values, gradients and images of the problem.

use super::Oracles;
use crate::domain::Confidence;
use crate::error::{Block, Error, Result, check_finite};
use crate::linalg::{between, norm};
use crate::problem::{Measured, PointX};
use crate::random::Population;

impl<'a> Oracles<'a> {
    /// Writes the image `A x`.
    ///
    /// # Errors
    /// An answer that is not finite.
    pub fn image(&mut self, x: &[f64], out: &mut [f64]) -> Result<()> {
        self.watch().check()?;
        self.ask(|problem| problem.image(x, out));
        self.count_image();
        check_finite("image of x", out)?;
        if self.has_operator {
            self.longest_image = self.longest_image.max(self.images().norm(out));
        }
        Ok(())
    }

    fn count_image(&mut self) {
        self.counts().images += 1;
        self.counts().passes += 1.0;
    }

    /// Has the problem prepare a point from its image.
    pub fn prepare(&self, point: &mut PointX) {
        self.ask(|problem| problem.prepare(&point.image, &mut point.cache));
    }

    /// Writes the image of a point piece by piece and computes its cache.
    pub(crate) fn prepare_filled(
        &self,
        point: &mut PointX,
        fill: impl Fn(usize, &mut [f64]) + Sync,
    ) {
        let (image, cache) = (&mut point.image, &mut point.cache);
        self.ask(|problem| problem.prepare_filled(&fill, image, cache));
    }

    /// The same for the image `x + t (v - x)`.
    pub(crate) fn prepare_between(&self, t: f64, x: &[f64], v: &[f64], point: &mut PointX) {
        self.prepare_filled(point, |start, piece| {
            let range = start..start + piece.len();
            between(t, &x[range.clone()], &v[range], piece);
        });
    }

    /// `f(x, y)`.
    ///
    /// # Errors
    /// An answer that is not finite.
    pub fn value(&mut self, at: &PointX, y: &[f64]) -> Result<f64> {
        let value = self.problem.value(at.prepared(), y);
        self.counts().value += 1;
        check_finite("value of f", &[value])?;
        Ok(value)
    }

    pub(crate) fn bend_x(
        &mut self,
        from: &PointX,
        to: &PointX,
        y: &[f64],
        slope: f64,
    ) -> Result<Measured> {
        let m = self.ask(|problem| problem.bend_x(from.prepared(), to.prepared(), y, slope));
        self.counts().value += 1;
        check_finite("bend of f in x", &[m.value, m.rounding])?;
        Ok(m)
    }

    pub(crate) fn change_y(&mut self, at: &PointX, from: &[f64], to: &[f64]) -> Result<Measured> {
        let m = self.ask(|problem| problem.change_y(at.prepared(), from, to));
        self.counts().value += 1;
        check_finite("change of f in y", &[m.value, m.rounding])?;
        Ok(m)
    }

    /// The length of the gradient in the image that [`grad_x`](Self::grad_x) took last; 0 without an operator, where images are the
    /// points themselves.
    pub(crate) fn slope_in_image(&self) -> f64 {
        if self.has_operator { self.images().norm(&self.grad_image) } else { 0.0 }
    }

    /// Writes the gradient in `x`.
    ///
    /// # Errors
    /// An answer that is not finite.
    pub fn grad_x(&mut self, at: &PointX, y: &[f64], out: &mut [f64]) -> Result<()> {
        let mut in_image = std::mem::take(&mut self.grad_image);
        let result = self.both_grads_x(at, y, &mut in_image, out);
        self.grad_image = in_image;
        result
    }

    /// The gradient in the image, and `A^T` of it, which is that in `x`.
    pub(crate) fn both_grads_x(
        &mut self,
        at: &PointX,
        y: &[f64],
        in_image: &mut [f64],
        out: &mut [f64],
    ) -> Result<()> {
        self.watch().check()?;
        self.problem.grad_image(at.prepared(), y, in_image);
        self.ask(|problem| problem.adjoint(in_image, out));
        self.count_grad_x();
        check_finite("grad_x", out)?;
        check_finite("gradient in the image of x", in_image)?;
        if self.seen.is_some() {
            self.see_grad_x(norm(out));
            self.look_around();
        }
        Ok(())
    }

    /// The gradient in the image and `A g` for `g = A^T` of it, with `g` itself where that is asked for; returns the lengths
    /// of the two.
    pub(crate) fn seen_grads_x(
        &mut self,
        at: &PointX,
        y: &[f64],
        in_image: &mut [f64],
        (g, with_g): (&mut [f64], bool),
        image: &mut [f64],
    ) -> Result<[f64; 2]> {
        self.problem.grad_image(at.prepared(), y, in_image);
        self.ask(|problem| {
            if with_g {
                problem.adjoint(in_image, g);
                problem.image(g, image);
            } else {
                problem.normal(in_image, g, image);
            }
        });
        self.count_grad_x();
        self.count_image();
        // what is not finite in g is not in its image either, and what is not finite has no finite length
        let space = self.images();
        let lengths = [space.norm(in_image), space.norm(image)];
        if !lengths.iter().all(|l| l.is_finite()) {
            check_finite("gradient in the image of x", in_image)?;
            check_finite("image of x", image)?;
        }
        // |A^T s|^2 = <s, A A^T s>
        self.see_grad_x((lengths[0] * lengths[1]).sqrt());
        Ok(lengths)
    }

    /// `A^T s`, which counts as a gradient.
    pub(crate) fn adjoint(&mut self, s: &[f64], out: &mut [f64]) -> Result<()> {
        self.ask(|problem| problem.adjoint(s, out));
        self.count_grad_x();
        check_finite("adjoint product", out)?;
        if self.seen.is_some() {
            self.see_grad_x(norm(out));
            self.look_around();
        }
        Ok(())
    }

    /// Counts a product with `A^T`.
    pub(crate) fn count_grad_x(&mut self) {
        let components = self.components();
        let counts = self.counts();
        counts.grad_x += 1;
        counts.passes += 1.0;
        counts.component_grads += components;
    }

    /// The components of a finite sum; 0 for anything else.
    fn components(&self) -> u64 {
        match self.population {
            Some(Population::Finite(n)) => n,
            _ => 0,
        }
    }

    /// Writes the gradient in `y`.
    ///
    /// # Errors
    /// An answer that is not finite.
    pub fn grad_y(&mut self, at: &PointX, y: &[f64], out: &mut [f64]) -> Result<()> {
        self.watch().check()?;
        self.problem.grad_y(at.prepared(), y, out);
        let components = self.components();
        let counts = self.counts();
        counts.grad_y += 1;
        counts.component_grads += components;
        check_finite("grad_y", out)?;
        if self.seen.is_some() {
            self.see_grad_y(norm(out));
            self.look_around();
        }
        Ok(())
    }

    /// The gradient in the image alone: no operator product.
    pub(crate) fn grad_image(&mut self, at: &PointX, y: &[f64], out: &mut [f64]) -> Result<()> {
        self.problem.grad_image(at.prepared(), y, out);
        if self.has_operator {
            self.counts().grad_image += 1;
        } else {
            self.count_grad_x();
        }
        check_finite("gradient in the image of x", out)
    }

    /// Writes the maximiser of `f(x, .)`, for problems that have one in closed form; returns what it may have missed: infinity
    /// where the problem does not promise anything.
    ///
    /// # Errors
    /// An answer that is not finite.
    pub fn best_response(&mut self, at: &PointX, out: &mut [f64]) -> Result<f64> {
        self.watch().check()?;
        let response = self.ask(|problem| {
            let known = problem.capabilities().best_response;
            known.map(|known| (known.best_response(at.prepared(), out), known.confidence()))
        });
        let (gap, confidence) = response.ok_or_else(|| Error::MissingOracle {
            set: "the problem".to_owned(),
            oracle: "best response (its capability `best_response` is missing)",
            hint: "use an inner solve for y",
        })?;
        self.counts().best_response += 1;
        check_finite("best response in y", out)?;
        let moved = self.repair(Block::Y, out);
        if moved > 1e-6 * self.y_set.diameter() {
            return Err(Error::Numerical {
                what: "the problem's best response",
                why: format!("it lies outside {} by {moved:e}", self.y_set.describe()),
            });
        }
        if gap == f64::INFINITY {
            return Ok(gap);
        }
        check_finite("accuracy of the best response in y", &[gap])?;
        if confidence == Confidence::AsGiven {
            self.rest_on(confidence);
        }
        Ok(gap.max(0.0))
    }

    /// Writes second derivatives of `max over y of f(., y)` along a direction of the image, where the problem knows them; whether it
    /// does. `y` is the best response at the point.
    pub(crate) fn curvature(
        &mut self,
        at: &PointX,
        y: &[f64],
        direction: &[f64],
        out: &mut [f64],
    ) -> Result<bool> {
        self.watch().check()?;
        let known = self.ask(|problem| {
            let known = problem.capabilities().curvature;
            known.map(|known| known.curvature(at.prepared(), y, direction, out)).is_some()
        });
        if known {
            check_finite("curvature in the image of x", out)?;
        }
        Ok(known)
    }
}
