//! Trials of `v` without operator products, for sets whose prox is a product with a small matrix.
//!
//! Where `x` is a matrix with rows of length `h` and the operator works on every column alike, the prox of
//! the nuclear-norm ball is `v' = (v - g/alpha) F` with an `h x h` matrix `F` that depends on the Gram matrix of
//! `v - g/alpha` alone, so
//!
//! ```text
//! (v - g/alpha)^T (v - g/alpha)   comes from v^T v, v^T g and g^T g,
//! A v' = (A v - A g/alpha) F      from A v and A g,
//! |v' - v|^2                      from the three products and F.
//! ```
//!
//! All that is computed once for a gradient; a trial with another `alpha` costs small matrices and a pass over an
//! image. The price is cancellation: where a step is so short that `|v' - v|^2` or the prox would not be accurate, there is no
//! answer, and the caller goes on with vectors.

use super::coordinates::Points;
use super::slope::{Gradient, Seen};
use crate::domain::{Factor, Products};
use crate::error::{Error, Result};
use crate::linalg::spectral::{SAFE_SQUARES, Thin, product, trace};
use crate::linalg::{distance_squared, dot_difference, norm};
use crate::oracles::Oracles;
use crate::problem::{Imaged, PointX, WithFallbacks};
use crate::state::Archive;

/// The relative error of `|v' - v|^2` that may be left.
const ACCURACY: f64 = 1e-3;
/// Steps after which the image and the Gram matrix of `v` are computed anew, for rounding adds up.
const FRESH_EVERY: u64 = 32;
/// Roundings in an image that is carried along, in units of the longest one: at the least, and before one was compared.
const ROUNDINGS: f64 = 8.0;
const UNSEEN: f64 = 512.0;
/// Products that are taken in the image may be off by this share, where the operator has the structure; an image that is
/// carried along and comes to be off by more is not gone on with.
const DRIFT: f64 = 1e-10;

/// A trial `v'`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trial {
    /// The gap that the prox has left.
    pub zeta: f64,
    /// `<g, v' - v>`.
    pub slope: f64,
    /// `|v' - v|^2`.
    pub square: f64,
}

pub(super) struct Factored {
    /// How the points themselves are kept.
    pub points: Points,
    shape: Thin,
    images: Thin,
    /// `v^T v`, a bound of its error, and the length of `A v`.
    vv: Vec<f64>,
    vv_error: f64,
    v_length: f64,
    /// Steps since the image of `v` was a product with the operator.
    age: u64,
    /// The largest length of an image of a `v` so far, and so of one of an `x`; and how far one was off.
    longest: f64,
    drift: f64,
    /// Whether the problem was seen to have the structure that it claims.
    is_checked: bool,
    /// Of the present gradient.
    gg: Vec<f64>,
    gg_error: f64,
    vg: Vec<f64>,
    vg_error: f64,
    /// The lengths of the gradient in the image, and of its image.
    lengths: [f64; 2],
    image: Vec<f64>,
    /// Of the last trial.
    gram: Vec<f64>,
    gram_error: f64,
    factor: Factor,
    alpha: f64,
    scratch: [Vec<f64>; 2],
    fresh_image: Vec<f64>,
}

impl Factored {
    /// The length of a row, where problem and set have the structure.
    pub fn columns(oracles: &mut Oracles<'_>) -> Option<usize> {
        let problem = &*oracles.problem;
        let problem = WithFallbacks::new(problem);
        let h = problem.capabilities().column_wise?.columns();
        let (dim, image_dim) = (problem.dim_x(), problem.image_dim());
        let tall = |len: usize| len.is_multiple_of(h) && len / h > h;
        let fits = oracles.by_gram()?.columns() == h && tall(dim) && tall(image_dim);
        fits.then_some(h)
    }

    /// For points with rows of length `h`, from this `v` on.
    pub fn new(h: usize, v: &Imaged) -> Self {
        let small = vec![0.0; h * h];
        let (shape, images) = (Thin::new(v.x.len() / h, h), Thin::new(v.image.len() / h, h));
        let mut factored = Factored {
            points: Points::new(h, shape, images),
            shape,
            images,
            vv: small.clone(),
            vv_error: 0.0,
            v_length: 0.0,
            age: 0,
            longest: 0.0,
            drift: 0.0,
            is_checked: false,
            gg: small.clone(),
            gg_error: 0.0,
            vg: small.clone(),
            vg_error: 0.0,
            lengths: [0.0; 2],
            image: vec![0.0; v.image.len()],
            gram: small.clone(),
            gram_error: 0.0,
            factor: Factor::with_room(h),
            alpha: 0.0,
            scratch: [small.clone(), small],
            fresh_image: vec![0.0; v.image.len()],
        };
        if v.x.iter().any(|x| *x != 0.0) {
            factored.know(&v.x, norm(&v.image));
        }
        factored
    }

    /// Saves or loads what an iteration leaves to the next; the run began with `most_points` vectors at the most.
    pub fn state(&mut self, archive: &mut Archive<'_>, most_points: usize) -> Result<()> {
        archive.nested("points", |archive| self.points.state(archive, most_points))?;
        archive.count("age", &mut self.age)?;
        archive.number("longest", &mut self.longest)?;
        archive.number("drift", &mut self.drift)?;
        archive.flag("is_checked", &mut self.is_checked)?;
        archive.numbers("vv", &mut self.vv)?;
        archive.number("vv_error", &mut self.vv_error)?;
        archive.number("v_length", &mut self.v_length)
    }

    /// Computes anew what is known of the present `v`.
    fn know(&mut self, v: &[f64], image_length: f64) {
        self.shape.gram(v, &mut self.vv);
        self.vv_error = self.shape.rounding() * trace(&self.vv, self.shape.short());
        self.take_length(image_length);
    }

    fn take_length(&mut self, image_length: f64) {
        self.v_length = image_length;
        self.longest = self.longest.max(image_length);
    }

    fn is_due(&self) -> bool {
        self.age + 1 >= FRESH_EVERY
    }

    /// Whether an image was found to be off by too much.
    pub fn is_worn(&self) -> bool {
        !(self.drift <= DRIFT * self.longest)
    }

    /// Takes the gradient `A^T in_image` at a point, with its image. `g` has room for it, and may be left with whatever where
    /// points are kept by weights. False where its squares overflow or vanish.
    pub fn take(
        &mut self,
        oracles: &mut Oracles<'_>,
        at: &PointX,
        y: &[f64],
        in_image: &mut [f64],
        g: &mut [f64],
    ) -> Result<bool> {
        let with_g = !(self.is_checked && self.points.are_by_weights());
        self.lengths = oracles.seen_grads_x(at, y, in_image, (&mut *g, with_g), &mut self.image)?;
        let h = self.shape.short();
        self.images.symmetric_cross(in_image, &self.image, &mut self.gg);
        self.gg_error = self.images.rounding() * self.lengths[0] * self.lengths[1];
        if !SAFE_SQUARES.contains(&trace(&self.gg, h)) {
            return Ok(false);
        }
        if !self.is_checked {
            let [plain, _] = &mut self.scratch;
            self.shape.gram(g, plain);
            let apart = distance_squared(plain, &self.gg).sqrt();
            if !(apart <= self.gg_error + DRIFT * self.lengths[0] * self.lengths[1]) {
                return Err(Error::Numerical {
                    what: "the products of a gradient are not those in the image",
                    why: "does its operator mix columns? `columns` says no".to_owned(),
                });
            }
            self.is_checked = true;
        }
        Ok(true)
    }

    /// The length of the present gradient.
    pub fn length(&self) -> f64 {
        trace(&self.gg, self.shape.short()).sqrt()
    }

    /// The products of the present gradient with `v`, for trials.
    pub fn meet(&mut self, v: &Imaged, in_image: &[f64]) {
        self.images.cross(&v.image, in_image, &mut self.vg);
        self.vg_error = self.images.rounding() * self.lengths[0] * self.v_length;
    }

    /// What rounding in the image of `x` may hide of `f`, as far as the present gradient tells how that changes.
    pub fn rounding(&self) -> f64 {
        let least = if self.drift == 0.0 { UNSEEN } else { ROUNDINGS };
        self.lengths[0] * self.drift.max(least * f64::EPSILON * self.longest)
    }

    /// The present gradient as a slope.
    pub fn gradient<'b>(&'b self, weights: &'b [f64]) -> Gradient<'b> {
        Gradient::Seen(Seen {
            weights,
            image: &self.image,
            lengths: self.lengths,
            gram: Products { entries: &self.gg, error: self.gg_error },
            images: self.images,
        })
    }

    /// The image of `v' = (v - g/alpha) F`, `g = A^T in_image`; none where it would not be accurate enough.
    pub fn trial(
        &mut self,
        oracles: &mut Oracles<'_>,
        v: &Imaged,
        in_image: &[f64],
        alpha: f64,
        image: &mut [f64],
    ) -> Result<Option<Trial>> {
        let h = self.shape.short();
        let t = 1.0 / alpha;
        for i in 0..h {
            for j in 0..h {
                let cross = self.vg[i * h + j] + self.vg[j * h + i];
                let at = i * h + j;
                self.gram[at] = self.vv[at] - t * cross + t * t * self.gg[at];
            }
        }
        let length = trace(&self.vv, h).sqrt() + t * self.length();
        self.gram_error = self.vv_error + t * (2.0 * self.vg_error + t * self.gg_error);
        self.alpha = alpha;
        let w = Products { entries: &self.gram, error: self.gram_error };
        let rounding = 2.0 * f64::EPSILON * length;
        let Some(zeta) = oracles.prox_factor(w, rounding, alpha, &mut self.factor)? else {
            return Ok(None);
        };
        let square = self.square(t);
        // F and 1 - F lie between 0 and 1, so that the Frobenius norms of their squares are at most sqrt(h)
        let error = (h as f64).sqrt().max(2.0) * self.gram_error;
        if !(error <= ACCURACY * square) {
            return Ok(None);
        }
        self.images.step(&self.factor, &v.image, t, &self.image, image);
        let slope = dot_difference(in_image, image, &v.image).0;
        Ok(Some(Trial { zeta, slope, square: square - error }))
    }

    /// `|v (F - 1) - t g F|^2`.
    fn square(&mut self, t: f64) -> f64 {
        let h = self.shape.short();
        let sum = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let f = &self.factor.matrix;
        let [less, times] = &mut self.scratch;
        less.copy_from_slice(f);
        (0..h).for_each(|i| less[i * (h + 1)] -= 1.0);
        product(h, &self.vv, less, times);
        let of_v = sum(less, times);
        product(h, &self.vg, f, times);
        let of_both = sum(less, times);
        product(h, &self.gg, f, times);
        let of_g = sum(f, times);
        of_v - 2.0 * t * of_both + t * t * of_g
    }

    /// Forms the coordinates of the `v'` of the last trial, of which the image is there already, and takes it for the present
    /// `v`, which was `old`. The gradient `g = A^T in_image` is used up. Returns what earlier points were not charged with for
    /// their images. After an error all is as before.
    pub fn form(
        &mut self,
        oracles: &mut Oracles<'_>,
        old: &Imaged,
        (g, in_image): (&mut [f64], &[f64]),
        new: &mut Imaged,
    ) -> Result<f64> {
        let h = self.shape.short();
        self.points.step(&self.factor, &old.x, 1.0 / self.alpha, (g, in_image), &mut new.x);
        if self.is_due() {
            self.points.write(&*oracles.problem, &new.x, g);
            if self.points.are_by_weights() {
                oracles.count_grad_x();
            }
            let charged = self.rounding();
            self.compare(oracles, g, &mut new.image)?;
            self.age = 0;
            self.know(g, norm(&new.image));
            return Ok((self.rounding() - charged).max(0.0));
        }
        self.age += 1;
        let [half, _] = &mut self.scratch;
        let f = &self.factor.matrix;
        product(h, &self.gram, f, half);
        product(h, f, half, &mut self.vv);
        let largest = self.factor.values.iter().fold(0.0, |m: f64, v| m.max(*v));
        self.vv_error =
            largest * largest * self.gram_error + self.shape.rounding() * trace(&self.vv, h);
        self.take_length(norm(&new.image));
        Ok(0.0)
    }

    /// Puts the image of `v` in place of the one that was carried along.
    fn compare(&mut self, oracles: &mut Oracles<'_>, v: &[f64], image: &mut [f64]) -> Result<()> {
        oracles.image(v, &mut self.fresh_image)?;
        self.drift = self.drift.max(distance_squared(&self.fresh_image, image).sqrt());
        image.copy_from_slice(&self.fresh_image);
        Ok(())
    }
}
