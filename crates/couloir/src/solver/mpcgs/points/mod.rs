//! The points of a run of certified MPCGS, with their images, their scratch memory and their saved state.
//!
//! A point is a list of coordinates with its image `A x`. Whatever the coordinates are, a combination of points is the
//! same combination of their coordinates and of their images. So the algorithm says which points to combine, and never
//! asks how one is stored. What coordinates are, and how a gradient is taken and a step is made in them, is the business of a
//! [`Representation`]:
//!
//! * [`vectors`]: the coordinates are the vector itself, and an image costs a product with the operator;
//! * [`gram`]: trials cost no operator product, and where that is shorter a point is kept by weights in the image.
//!
//! A representation that is no longer accurate enough says so, and the space goes on with vectors by itself. Points as
//! weights of atoms fit the same interface: their coordinates are the weights, and a step adds an atom.

mod coordinates;
mod gram;
mod quadratic;
mod slope;
mod vectors;

pub(super) use slope::{Gradient, Slope};

use super::lower_bound::{LowerBound, Minorant, MixedY, Numbers};
use crate::error::{Block, Result, check_finite};
use crate::linalg::{MOST_POINTS, combine_many, dot_difference, step_toward, sum_rounding};
use crate::oracles::Oracles;
use crate::problem::{Imaged, PointX, Rounding, SaddleProblem};
use crate::run::Step;
use crate::solver::inner::InnerX;
use crate::state::Archive;
use gram::GramSpace;
use quadratic::Quadratic;
use std::sync::OnceLock;
use vectors::Vectors;

/// A trial `v'`, as the conditions of an iteration see it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trial {
    /// The gap that the inner solve has left.
    pub zeta: f64,
    /// `<g, v' - v>`.
    pub slope: f64,
    /// `|v' - v|^2`.
    pub square: f64,
}

/// How well an inner solve that slides must do.
#[derive(Clone, Copy, Debug)]
pub(super) struct InnerGoal {
    /// The gap that the bound of the theorem needs.
    pub needed: f64,
    /// The certified gap of the run so far.
    pub present: f64,
}

/// How inner problems on X are solved.
#[derive(Clone, Copy, Debug)]
pub(super) struct InnerSolve {
    /// By the exact prox of the set, by its slides, or by slides over atoms.
    pub way: InnerX,
    /// Linear minimisations that one slide may spend.
    pub budget: u64,
}

/// What a representation makes of a trial.
enum Attempt {
    Found(Trial),
    /// The inner solve used up its budget.
    Ended(Step),
    /// The representation cannot tell accurately enough.
    NotAccurate,
}

/// The gradient at hand: in the image, and the vector `A^T` of it where that is formed (else room for it).
struct GradientRoom {
    in_image: Vec<f64>,
    vector: Vec<f64>,
}

/// How coordinates stand for points.
trait Representation {
    /// Whether images are carried along with steps, and so gather rounding.
    fn carries_images(&self) -> bool;

    /// How many coordinates a point has.
    fn coordinates(&self) -> usize;

    /// The vector of a point by a product with the operator; none where the coordinates are the vector.
    fn form(&self, problem: &dyn SaddleProblem, coordinates: &[f64]) -> Option<Vec<f64>>;

    /// Takes the gradient at a point. False where this representation cannot keep it; its part in the image is there
    /// in any case.
    fn take_gradient(
        &mut self,
        oracles: &mut Oracles<'_>,
        at: &PointX,
        y: &[f64],
        room: &mut GradientRoom,
    ) -> Result<bool>;

    /// The gradient taken last, as the slope of a minorant.
    fn gradient<'b>(&'b self, room: &'b GradientRoom) -> Gradient<'b>;

    /// The length of the gradient taken last.
    fn gradient_length(&self, room: &GradientRoom) -> f64;

    /// Makes ready for steps from `v` along the gradient taken last.
    fn aim(&mut self, oracles: &Oracles<'_>, v: &Imaged, room: &GradientRoom);

    /// A trial `v' = argmin <g, u> + alpha/2 |u - v|^2`: its image, and its coordinates where they cost nothing more.
    fn try_step(
        &mut self,
        oracles: &mut Oracles<'_>,
        v: &Imaged,
        alpha: f64,
        goal: InnerGoal,
        room: &GradientRoom,
        trial: &mut Imaged,
    ) -> Result<Attempt>;

    /// Completes the coordinates of the last trial, which becomes the present `v`; the gradient is used up. Returns what
    /// the bounds of earlier points were not charged with for their images. After an error all is as before.
    fn take_trial(
        &mut self,
        oracles: &mut Oracles<'_>,
        v: &Imaged,
        room: &mut GradientRoom,
        trial: &mut Imaged,
    ) -> Result<f64>;

    /// Makes ready for steps from another `v`.
    fn restart(&mut self, oracles: &mut Oracles<'_>, v: &Imaged) {
        let _ = (oracles, v);
    }

    /// What rounding in images that are carried along may hide of `f`.
    fn rounding(&self) -> f64;

    /// Whether carried images were found to be off by too much.
    fn is_worn(&self) -> bool;

    /// Saves or loads what an iteration leaves to the next; the run began with `most_points` points at the most.
    fn state(&mut self, archive: &mut Archive<'_>, most_points: usize) -> Result<()>;
}

/// All points of a run, and the linear minorants of `f`, whose slopes are kept in the same way.
pub(super) struct PointSpace {
    representation: Box<dyn Representation>,
    inner: InnerSolve,
    /// `x_{k-1}`, then `x_k`.
    x: PointX,
    /// `v_{k-1}`, then `v_k`.
    v: Imaged,
    /// The `v` of the last trial.
    trial: Imaged,
    /// The `v`s before `v_{k-1}`, newest last; the last `filled` are in use.
    history: Vec<Imaged>,
    filled: usize,
    /// The best `x`, where that is not `x_k`.
    best: PointX,
    best_is_current: bool,
    /// The vectors of `x_k` and of the best `x`, where they were asked for and had to be formed.
    formed: [OnceLock<Vec<f64>>; 2],
    gradient: GradientRoom,
    /// The average of the minorants with the weights of Theorem D, and its numbers.
    average: Slope,
    pub average_numbers: Numbers,
    /// The combination of minorants with the best bound.
    pub bound: LowerBound,
    /// What carried images may have hidden at the start of the iteration, and how much of that an image that was not
    /// renewed when vectors took over may still hide.
    carried: f64,
    stale: f64,
    /// What minorants have beside their linear parts, where `f(., y)` is known to be strongly convex; points are vectors then.
    quadratic: Option<Quadratic>,
}

impl PointSpace {
    /// A run that begins at `x`, with room for so many of the `v`s before the last.
    pub fn new(
        oracles: &mut Oracles<'_>,
        inner: InnerSolve,
        x: PointX,
        dim_y: usize,
        history: usize,
    ) -> Self {
        let dim = x.x.len();
        let mut space = PointSpace {
            representation: Box::new(Vectors::new(dim, inner)),
            inner,
            v: Imaged::of(&x),
            trial: Imaged::room_for(&x),
            history: (0..history).map(|_| Imaged::room_for(&x)).collect(),
            filled: 0,
            best: PointX { x: vec![0.0; dim], ..x.room_for_image() },
            best_is_current: true,
            formed: [OnceLock::new(), OnceLock::new()],
            gradient: GradientRoom { in_image: vec![0.0; x.image.len()], vector: vec![0.0; dim] },
            average: Slope::vector(0),
            average_numbers: Numbers::default(),
            bound: LowerBound::new(Slope::vector(0), dim_y),
            carried: 0.0,
            stale: 0.0,
            quadratic: None,
            x,
        };
        space.find_structure(oracles);
        space
    }

    /// Goes on from the present `x` with another problem, for whose images there is room.
    pub fn move_to(&mut self, oracles: &mut Oracles<'_>) -> Result<()> {
        oracles.image(&self.x.x, &mut self.x.image)?;
        oracles.prepare(&mut self.x);
        self.v.x.copy_from_slice(&self.x.x);
        self.v.image.copy_from_slice(&self.x.image);
        self.renew_history(oracles)
    }

    /// Goes on from the best `x`, which becomes `v` too, with another function of the same image. The best mixture of minorants stays,
    /// raised by `shift`.
    pub fn restart_from_best(&mut self, oracles: &mut Oracles<'_>, shift: f64) {
        if !self.best_is_current {
            self.x.copy_from(&self.best);
            self.formed[0].take();
            self.best_is_current = true;
        }
        self.v.x.copy_from_slice(&self.x.x);
        self.v.image.copy_from_slice(&self.x.image);
        self.representation.restart(oracles, &self.v);
        self.bound.shift(shift);
    }

    /// The gradient taken last, in the image.
    pub fn image_gradient(&self) -> &[f64] {
        &self.gradient.in_image
    }

    /// Whether the way from `x_{k-1}` to this `x_k` leads uphill by the gradient taken last.
    pub fn is_uphill(&self, oracles: &Oracles<'_>, x_k: &PointX) -> bool {
        oracles.images().slope(&self.gradient.in_image, &x_k.image, &self.x.image) > 0.0
    }

    /// Makes room for the images of another problem on the same sets; the vectors have been formed.
    pub fn make_room_for(&mut self, oracles: &Oracles<'_>) {
        let mut x = PointX::new(&*oracles.problem);
        std::mem::swap(&mut x.x, &mut self.x.x);
        let len = x.image.len();
        for point in [&mut self.v, &mut self.trial].into_iter().chain(&mut self.history) {
            point.image.resize(len, 0.0);
        }
        self.gradient.in_image.resize(len, 0.0);
        self.x = x;
        self.best = self.x.clone();
        self.best_is_current = true;
    }

    /// Forgets all minorants, and takes up the representation that suits problem and set best.
    pub fn find_structure(&mut self, oracles: &mut Oracles<'_>) {
        // plain slides are too slow for the minima of quadratics
        let mu_x = oracles.mu_x().filter(|_| self.inner.way != InnerX::Slide);
        if mu_x.is_some() {
            oracles.rest_on_constants();
        }
        self.quadratic = mu_x.map(|mu_x| Quadratic::new(oracles, mu_x));
        let by_gram = self.inner.way == InnerX::Prox && mu_x.is_none();
        let columns = if by_gram { GramSpace::columns(oracles) } else { None };
        let slope = || match columns {
            Some(h) => Slope::in_image(self.x.image.len(), h),
            None => Slope::vector(self.gradient.vector.len()),
        };
        self.bound = LowerBound::new(slope(), self.bound.mixed.y.len());
        self.average = slope();
        self.average_numbers = Numbers::default();
        if let Some(h) = columns {
            let unused = self.history.len() - self.filled;
            let history = self.history[unused..].iter_mut().map(|entry| &mut entry.x);
            let mut gram = GramSpace::new(h, oracles, &self.v);
            gram.embed([&mut self.x.x, &mut self.v.x].into_iter().chain(history).collect());
            self.representation = Box::new(gram);
            self.fit_coordinates();
        }
    }

    /// Gives all points that do not have the right number of coordinates room for them.
    fn fit_coordinates(&mut self) {
        self.formed.iter_mut().for_each(|formed| drop(formed.take()));
        let len = self.representation.coordinates();
        let history = self.history.iter_mut().map(|entry| &mut entry.x);
        let points = [&mut self.x.x, &mut self.v.x, &mut self.trial.x, &mut self.best.x];
        for point in points.into_iter().chain(history).filter(|point| point.len() != len) {
            *point = vec![0.0; len];
        }
    }

    /// Goes on with vectors, which are formed; images stay those that were carried along. After an error all is as
    /// before.
    pub fn form_vectors(&mut self, oracles: &mut Oracles<'_>) -> Result<()> {
        if !self.representation.carries_images() {
            return Ok(());
        }
        let unused = self.history.len() - self.filled;
        let history = self.history[unused..].iter_mut().map(|entry| &mut entry.x);
        let best = (!self.best_is_current).then_some(&mut self.best.x);
        let points = [&mut self.x.x, &mut self.v.x].into_iter().chain(history).chain(best);
        let mut formed = Vec::new();
        for point in points {
            if let Some(vector) = self.representation.form(&*oracles.problem, point) {
                oracles.count_grad_x();
                check_finite("point", &vector)?;
                formed.push((point, vector));
            }
        }
        formed.into_iter().for_each(|(point, vector)| *point = vector);
        self.representation = Box::new(Vectors::new(oracles.problem.dim_x(), self.inner));
        self.fit_coordinates();
        Ok(())
    }

    /// Goes on with vectors, with their images in place of those that were carried along.
    fn use_vectors(&mut self, oracles: &mut Oracles<'_>) -> Result<()> {
        if !self.representation.carries_images() {
            return Ok(());
        }
        self.form_vectors(oracles)?;
        oracles.image(&self.x.x, &mut self.x.image)?;
        oracles.prepare(&mut self.x);
        oracles.image(&self.v.x, &mut self.v.image)?;
        self.renew_history(oracles)?;
        self.average.become_vector(oracles)?;
        self.bound.become_vector(oracles)
    }

    /// The same in the midst of an iteration, with the gradient at hand.
    fn use_vectors_now(&mut self, oracles: &mut Oracles<'_>) -> Result<()> {
        self.use_vectors(oracles)?;
        self.stale = self.carried;
        oracles.adjoint(&self.gradient.in_image, &mut self.gradient.vector)
    }

    fn renew_history(&mut self, oracles: &mut Oracles<'_>) -> Result<()> {
        let unused = self.history.len() - self.filled;
        for entry in &mut self.history[unused..] {
            oracles.image(&entry.x, &mut entry.image)?;
        }
        Ok(())
    }

    /// Begins an iteration, and renews images that have come to be off by too much.
    pub fn begin_iteration(&mut self, oracles: &mut Oracles<'_>) -> Result<()> {
        if self.representation.is_worn() {
            self.use_vectors(oracles)?;
        }
        (self.carried, self.stale) = (self.representation.rounding(), 0.0);
        Ok(())
    }

    /// `x_{k-1}`, then `x_k`, as a problem sees it.
    pub fn x(&self) -> &PointX {
        &self.x
    }

    /// Writes the image of `(1 - gamma) x_{k-1} + gamma v_{k-1}`.
    pub fn between(&self, oracles: &Oracles<'_>, gamma: f64, out: &mut PointX) {
        oracles.prepare_between(gamma, &self.x.image, &self.v.image, out);
    }

    /// Writes the image of `(1 - gamma) x_{k-1} + gamma v` for the `v` of the last trial, a member of its set where the image is
    /// the point.
    pub fn between_trial(&self, oracles: &Oracles<'_>, gamma: f64, out: &mut PointX) {
        oracles.prepare_between(gamma, &self.x.image, &self.trial.image, out);
        oracles.repair_image(out);
    }

    /// Takes the gradient `g` at `(z, y)` for `z = (1 - gamma) x_{k-1} + gamma v_{k-1}`, from `v_{k-1}` on.
    pub fn take_gradient(
        &mut self,
        oracles: &mut Oracles<'_>,
        (z, gamma): (&PointX, f64),
        y: &[f64],
    ) -> Result<()> {
        if !self.representation.take_gradient(oracles, z, y, &mut self.gradient)? {
            self.use_vectors_now(oracles)?;
        }
        self.representation.aim(oracles, &self.v, &self.gradient);
        if let Some(quadratic) = &mut self.quadratic {
            quadratic.aim(oracles, gamma, &self.x.x, &self.v, &self.gradient.vector);
        }
        Ok(())
    }

    /// `|g|`.
    pub fn gradient_length(&self) -> f64 {
        self.representation.gradient_length(&self.gradient)
    }

    /// A trial `v = argmin <g, u> + mu/2 |u - z|^2 + alpha/2 |u - v_{k-1}|^2` with the strong convexity `mu` that is known, or 0.
    pub fn try_step(
        &mut self,
        oracles: &mut Oracles<'_>,
        alpha: f64,
        goal: InnerGoal,
    ) -> Result<std::result::Result<Trial, Step>> {
        loop {
            let PointSpace { representation, v, gradient, trial, quadratic, .. } = self;
            let (alpha, along) = match quadratic {
                Some(quadratic) => (alpha + quadratic.mu, &quadratic.steering),
                None => (alpha, &*gradient),
            };
            match representation.try_step(oracles, v, alpha, goal, along, trial)? {
                Attempt::Found(mut found) => {
                    if quadratic.is_some() {
                        (found.slope, _) = dot_difference(&gradient.vector, &trial.x, &v.x);
                    }
                    return Ok(Ok(found));
                }
                Attempt::Ended(step) => return Ok(Err(step)),
                Attempt::NotAccurate => self.use_vectors_now(oracles)?,
            }
        }
    }

    /// What rounding in the image of `z` may hide of `f`, where vectors have taken over since it was formed.
    pub fn stale(&self) -> f64 {
        self.stale
    }

    /// What rounding in carried images may hide of `f`.
    pub fn rounding(&self) -> f64 {
        self.representation.rounding()
    }

    /// The images of `x_{k-1}`, the `v` of the last trial, `v_{k-1}` and the `v`s before it, and how many they are.
    pub fn hull(&self) -> ([&[f64]; MOST_POINTS], usize) {
        let mut images: [&[f64]; MOST_POINTS] = [&self.x.image; MOST_POINTS];
        (images[1], images[2]) = (&self.trial.image, &self.v.image);
        let recent = &self.history[self.history.len() - self.filled..];
        for (image, entry) in images[3..].iter_mut().zip(recent) {
            *image = &entry.image;
        }
        (images, 3 + self.filled)
    }

    /// Completes the `v` of the last trial. Returns what the bounds of earlier points were not charged with.
    pub fn take_trial(&mut self, oracles: &mut Oracles<'_>) -> Result<f64> {
        let PointSpace { representation, v, gradient, trial, .. } = self;
        representation.take_trial(oracles, v, gradient, trial)
    }

    /// Notes that the best `x` is the one that comes next.
    pub fn best_is_next(&mut self) {
        self.best_is_current = true;
    }

    /// Whether the present `x` is the best one.
    pub fn best_is_present(&self) -> bool {
        self.best_is_current
    }

    /// Keeps the present `x` before it moves on, where it is the best one.
    pub fn keep_best(&mut self) {
        if self.best_is_current {
            self.best.copy_from(&self.x);
            self.best_is_current = false;
            self.formed[1].take();
        }
    }

    /// Moves on: `x_k` is the combination of the points of [`hull`](Self::hull) with these weights, and has the image
    /// and cache of `x_k`, which takes those of `x_{k-1}`; `v_k` is the `v` of the last trial.
    pub fn advance(&mut self, oracles: &Oracles<'_>, step: Move<'_>, x_k: &mut PointX) {
        if oracles.has_operator() {
            self.mix(step);
            if !self.representation.carries_images() {
                // the coordinates are the vector
                oracles.repair(Block::X, &mut self.x.x);
            }
        } else {
            // the bits that were certified
            self.x.x.copy_from_slice(&x_k.image);
        }
        self.formed[0].take();
        std::mem::swap(&mut self.x.image, &mut x_k.image);
        std::mem::swap(&mut self.x.cache, &mut x_k.cache);
        std::mem::swap(&mut self.v, &mut self.trial);
        if let Some(last) = self.history.len().checked_sub(1) {
            self.history.rotate_left(1);
            self.filled = (self.filled + 1).min(last + 1);
            std::mem::swap(&mut self.history[last], &mut self.trial);
        }
    }

    /// Moves the coordinates of `x_{k-1}` on.
    fn mix(&mut self, step: Move<'_>) {
        match step {
            Move::Toward(gamma) => step_toward(gamma, &self.trial.x, &mut self.x.x),
            Move::Combine(weights) => {
                let mut points: [&[f64]; MOST_POINTS] = [&self.trial.x; MOST_POINTS];
                points[1] = &self.v.x;
                let recent = &self.history[self.history.len() - self.filled..];
                for (point, entry) in points[2..].iter_mut().zip(recent) {
                    *point = &entry.x;
                }
                let others = &points[..2 + self.filled];
                combine_many(weights[0], &weights[1..=others.len()], others, &mut self.x.x);
            }
        }
    }

    /// Mixes the minorant with these numbers into the average with weight `gamma`; returns a lower bound of what the average has
    /// beside its constant. A gain of `worth` matters.
    pub fn average(
        &mut self,
        oracles: &mut Oracles<'_>,
        gamma: f64,
        numbers: &Numbers,
        worth: f64,
    ) -> Result<f64> {
        self.average_numbers.step(oracles, gamma, numbers);
        if let Some(quadratic) = &mut self.quadratic {
            self.average.step(oracles, gamma, Gradient::Vector(&quadratic.slope));
            return quadratic.support(oracles, self.inner, self.average.as_vector(), worth);
        }
        let slope = self.representation.gradient(&self.gradient);
        self.average.step(oracles, gamma, slope);
        Ok(self.average.support(oracles)?.lower)
    }

    /// Mixes the minorant of `f(., y)` with these numbers and the slope `g` into the best bound.
    pub fn absorb(
        &mut self,
        oracles: &mut Oracles<'_>,
        numbers: Numbers,
        y: &[f64],
        worth: f64,
    ) -> Result<()> {
        if let Some(quadratic) = &mut self.quadratic {
            let (own, slope) = quadratic.own_support(oracles, self.inner, worth)?;
            let value = numbers.constant + own - numbers.charge(oracles);
            if value > self.bound.value {
                self.bound.replace(Minorant { slope: Gradient::Vector(slope), numbers, y }, value);
            }
            return Ok(());
        }
        let slope = self.representation.gradient(&self.gradient);
        self.bound.absorb(oracles, Minorant { slope, numbers, y }, worth)
    }

    /// Takes the average, which bounds `f(., y)` by `value`, for the best bound.
    pub fn average_is_best(&mut self, y: &MixedY, value: f64) {
        self.bound.take(&self.average, self.average_numbers, y, value);
    }

    /// Takes the gradient at `(x_k, y)` in place of the one at hand, for one more minorant; returns the minorant's
    /// numbers, or none where this representation cannot keep the gradient.
    pub fn gradient_at_x(
        &mut self,
        oracles: &mut Oracles<'_>,
        y: &[f64],
    ) -> Result<Option<Numbers>> {
        if !self.representation.take_gradient(oracles, &self.x, y, &mut self.gradient)? {
            return Ok(None);
        }
        if let Some(quadratic) = &mut self.quadratic {
            quadratic.bend_at(oracles, &self.x.x, &self.gradient.vector);
        }
        let value = oracles.value(&self.x, y)?;
        let rounding = oracles.rounding(&self.x, y, value);
        let mut numbers = self.minorant(oracles, &self.x, value, &rounding);
        // the image of x may be off by what was carried along
        numbers.error += self.representation.rounding();
        Ok(Some(numbers))
    }

    /// The numbers of the minorant with slope `g` through this value at a point.
    pub fn minorant(
        &self,
        oracles: &Oracles<'_>,
        at: &PointX,
        value: f64,
        rounding: &Rounding,
    ) -> Numbers {
        let space = oracles.images();
        let [along, steepness, length] = space.dot_and_lengths(&self.gradient.in_image, &at.image);
        let sums = 3.0 * sum_rounding(at.image.len()) * (steepness * length)
            + 4.0 * f64::EPSILON * (value.abs() + along.abs());
        // the gradient errs on the way from the point to any other of the set, and from where it was taken
        let error = rounding.value + 2.0 * rounding.grad_x * oracles.diameters[0] + sums;
        let linear = Numbers { constant: value - along, error, length: self.gradient_length() };
        self.quadratic.as_ref().map_or(linear, |quadratic| quadratic.bend(linear))
    }

    /// The strong convexity in `x` that is known.
    pub fn mu_x(&self) -> Option<f64> {
        self.quadratic.as_ref().map(|quadratic| quadratic.mu)
    }

    /// The best `x`, as a problem sees it.
    pub fn best(&self) -> &PointX {
        if self.best_is_current { &self.x } else { &self.best }
    }

    /// The vector of `x_k`.
    pub fn x_vector(&self, problem: &dyn SaddleProblem) -> &[f64] {
        self.vector(problem, &self.x, &self.formed[0])
    }

    /// The vector of the best `x`.
    pub fn best_vector(&self, problem: &dyn SaddleProblem) -> &[f64] {
        match self.best_is_current {
            true => self.x_vector(problem),
            false => self.vector(problem, &self.best, &self.formed[1]),
        }
    }

    fn vector<'b>(
        &'b self,
        problem: &dyn SaddleProblem,
        point: &'b PointX,
        formed: &'b OnceLock<Vec<f64>>,
    ) -> &'b [f64] {
        if formed.get().is_none()
            && let Some(vector) = self.representation.form(problem, &point.x)
        {
            return formed.get_or_init(|| vector);
        }
        formed.get().unwrap_or(&point.x)
    }

    /// Whether images are carried along, and whether vectors must be formed: for tests.
    #[cfg(test)]
    pub fn structure(&self, problem: &dyn SaddleProblem) -> Option<bool> {
        let carries = self.representation.carries_images();
        carries.then(|| self.representation.form(problem, &self.x.x).is_some())
    }

    /// Saves or loads all points and minorants. The trial and the gradient are made anew in every iteration.
    pub fn state(&mut self, archive: &mut Archive<'_>, oracles: &mut Oracles<'_>) -> Result<()> {
        let mut carries_images = self.representation.carries_images();
        archive.flag("carries_images", &mut carries_images)?;
        if !carries_images {
            self.use_vectors(oracles)?;
        }
        let most = 2 + self.history.len();
        archive.nested("representation", |archive| self.representation.state(archive, most))?;
        if archive.is_loading() {
            self.fit_coordinates();
        }
        oracles.point_state(archive, "x", &mut self.x)?;
        archive.nested("v", |archive| self.v.state(archive))?;
        let mut filled = self.filled as u64;
        archive.count("filled", &mut filled)?;
        self.filled = filled.min(self.history.len() as u64) as usize;
        let unused = self.history.len() - self.filled;
        for entry in &mut self.history[unused..] {
            archive.nested("history", |archive| entry.state(archive))?;
        }
        archive.flag("best_is_current", &mut self.best_is_current)?;
        if !self.best_is_current {
            oracles.point_state(archive, "best", &mut self.best)?;
        }
        archive.nested("average", |archive| self.average.state(archive))?;
        archive.nested("average_numbers", |archive| self.average_numbers.state(archive))?;
        archive.nested("bound", |archive| self.bound.state(archive))
    }
}

/// How `x_{k-1}` becomes `x_k`.
#[derive(Clone, Copy, Debug)]
pub(super) enum Move<'a> {
    /// By a step of this weight towards `v_k`.
    Toward(f64),
    /// By a combination of the points of the hull with these weights.
    Combine(&'a [f64]),
}
