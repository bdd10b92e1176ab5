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

use super::coordinates::Coordinates;
use super::slope::{Gradient, ImageGradient};
use super::{Attempt, GradientRoom, InnerGoal, Representation, Trial};
use crate::domain::{Factor, Products};
use crate::error::{Error, Result};
use crate::linalg::distance_squared;
use crate::linalg::spectral::{SAFE_SQUARES, Thin, product, trace};
use crate::oracles::Oracles;
use crate::problem::{Imaged, PointX, SaddleProblem, WithFallbacks};
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

/// Points whose trials cost no operator product.
pub(super) struct GramSpace {
    /// How the points themselves are kept.
    points: Coordinates,
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

impl GramSpace {
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
    pub fn new(h: usize, oracles: &Oracles<'_>, v: &Imaged) -> Self {
        let small = vec![0.0; h * h];
        let (shape, images) = (Thin::new(v.x.len() / h, h), Thin::new(v.image.len() / h, h));
        let mut space = GramSpace {
            points: Coordinates::new(h, shape, images),
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
            space.know(&v.x, oracles.images().norm(&v.image));
        }
        space
    }

    /// Puts coordinates in place of the vectors that the run begins with.
    pub fn embed(&mut self, vectors: Vec<&mut Vec<f64>>) {
        self.points.embed(vectors);
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

    /// The length of the present gradient.
    fn length(&self) -> f64 {
        trace(&self.gg, self.shape.short()).sqrt()
    }

    /// Compares the products of the first gradient with those taken in the image: does the operator have the structure
    /// that the problem claims?
    fn check_structure(&mut self, g: &[f64]) -> Result<()> {
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
        Ok(())
    }

    /// The Gram matrix of `v - g/alpha`; returns a bound of the rounding in `v - g/alpha`.
    fn fill_gram(&mut self, t: f64) -> f64 {
        let h = self.shape.short();
        for i in 0..h {
            for j in 0..h {
                let cross = self.vg[i * h + j] + self.vg[j * h + i];
                let at = i * h + j;
                self.gram[at] = self.vv[at] - t * cross + t * t * self.gg[at];
            }
        }
        let length = trace(&self.vv, h).sqrt() + t * self.length();
        self.gram_error = self.vv_error + t * (2.0 * self.vg_error + t * self.gg_error);
        2.0 * f64::EPSILON * length
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

    /// Puts the image of `v` in place of the one that was carried along.
    fn compare(&mut self, oracles: &mut Oracles<'_>, v: &[f64], image: &mut [f64]) -> Result<()> {
        oracles.image(v, &mut self.fresh_image)?;
        let off = oracles.images().distance(&self.fresh_image, image);
        self.drift = self.drift.max(off);
        image.copy_from_slice(&self.fresh_image);
        Ok(())
    }
}

impl Representation for GramSpace {
    fn carries_images(&self) -> bool {
        true
    }

    fn coordinates(&self) -> usize {
        self.points.len()
    }

    fn form(&self, problem: &dyn SaddleProblem, coordinates: &[f64]) -> Option<Vec<f64>> {
        self.points.are_by_weights().then(|| self.points.vector(problem, coordinates))
    }

    /// The gradient with its image. The vector may be left with whatever where points are kept by weights. False where
    /// its squares overflow or vanish.
    fn take_gradient(
        &mut self,
        oracles: &mut Oracles<'_>,
        at: &PointX,
        y: &[f64],
        room: &mut GradientRoom,
    ) -> Result<bool> {
        let GradientRoom { in_image, vector } = room;
        let with_g = !(self.is_checked && self.points.are_by_weights());
        self.lengths =
            oracles.seen_grads_x(at, y, in_image, (&mut *vector, with_g), &mut self.image)?;
        let h = self.shape.short();
        let space = oracles.images();
        space.symmetric_cross(h, in_image, &self.image, &mut self.gg);
        self.gg_error = self.images.rounding() * self.lengths[0] * self.lengths[1];
        if !SAFE_SQUARES.contains(&trace(&self.gg, h)) {
            return Ok(false);
        }
        if !self.is_checked {
            self.check_structure(vector)?;
        }
        Ok(true)
    }

    fn gradient<'b>(&'b self, room: &'b GradientRoom) -> Gradient<'b> {
        Gradient::InImage(ImageGradient {
            weights: &room.in_image,
            image: &self.image,
            lengths: self.lengths,
            gram: Products { entries: &self.gg, error: self.gg_error },
            images: self.images,
        })
    }

    fn gradient_length(&self, _room: &GradientRoom) -> f64 {
        self.length()
    }

    fn aim(&mut self, oracles: &Oracles<'_>, v: &Imaged, room: &GradientRoom) {
        let space = oracles.images();
        space.cross(self.shape.short(), &v.image, &room.in_image, &mut self.vg);
        self.vg_error = self.images.rounding() * self.lengths[0] * self.v_length;
    }

    /// The image of `v' = (v - g/alpha) F`, `g = A^T in_image`.
    fn try_step(
        &mut self,
        oracles: &mut Oracles<'_>,
        v: &Imaged,
        alpha: f64,
        _goal: InnerGoal,
        room: &GradientRoom,
        trial: &mut Imaged,
    ) -> Result<Attempt> {
        let t = 1.0 / alpha;
        let rounding = self.fill_gram(t);
        self.alpha = alpha;
        let w = Products { entries: &self.gram, error: self.gram_error };
        let Some(zeta) = oracles.prox_factor(w, rounding, alpha, &mut self.factor)? else {
            return Ok(Attempt::NotAccurate);
        };
        let square = self.square(t);
        // F and 1 - F lie between 0 and 1, so that the Frobenius norms of their squares are at most sqrt(h)
        let error = (self.shape.short() as f64).sqrt().max(2.0) * self.gram_error;
        if !(error <= ACCURACY * square) {
            return Ok(Attempt::NotAccurate);
        }
        self.images.step(&self.factor, &v.image, t, &self.image, &mut trial.image);
        let slope = oracles.images().slope(&room.in_image, &trial.image, &v.image);
        Ok(Attempt::Found(Trial { zeta, slope, square: square - error }))
    }

    fn take_trial(
        &mut self,
        oracles: &mut Oracles<'_>,
        v: &Imaged,
        room: &mut GradientRoom,
        trial: &mut Imaged,
    ) -> Result<f64> {
        let h = self.shape.short();
        let GradientRoom { in_image, vector } = room;
        self.points.step(&self.factor, &v.x, 1.0 / self.alpha, (vector, in_image), &mut trial.x);
        if self.is_due() {
            self.points.write(&*oracles.problem, &trial.x, vector);
            if self.points.are_by_weights() {
                oracles.count_grad_x();
            }
            let charged = self.rounding();
            self.compare(oracles, vector, &mut trial.image)?;
            self.age = 0;
            self.know(vector, oracles.images().norm(&trial.image));
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
        self.take_length(oracles.images().norm(&trial.image));
        Ok(0.0)
    }

    fn restart(&mut self, oracles: &mut Oracles<'_>, v: &Imaged) {
        let length = oracles.images().norm(&v.image);
        if self.points.are_by_weights() {
            let h = self.shape.short();
            let u = &v.x[..self.images.long() * h];
            let space = oracles.images();
            space.symmetric_cross(h, u, &v.image, &mut self.vv);
            self.vv_error = self.images.rounding() * space.norm(u) * length;
            self.take_length(length);
        } else {
            self.know(&v.x, length);
        }
    }

    fn rounding(&self) -> f64 {
        let least = if self.drift == 0.0 { UNSEEN } else { ROUNDINGS };
        self.lengths[0] * self.drift.max(least * f64::EPSILON * self.longest)
    }

    fn is_worn(&self) -> bool {
        !(self.drift <= DRIFT * self.longest)
    }

    fn state(&mut self, archive: &mut Archive<'_>, most_points: usize) -> Result<()> {
        archive.nested("points", |archive| self.points.state(archive, most_points))?;
        archive.count("age", &mut self.age)?;
        archive.number("longest", &mut self.longest)?;
        archive.number("drift", &mut self.drift)?;
        archive.flag("is_checked", &mut self.is_checked)?;
        archive.numbers("vv", &mut self.vv)?;
        archive.number("vv_error", &mut self.vv_error)?;
        archive.number("v_length", &mut self.v_length)
    }
}
