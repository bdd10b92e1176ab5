//! Free improvement of x: any `x'` in X with `max_y f(x', y) <= f(x_k, y_k) + eps_k` may take the place of
//! `x_k` without harm to the bounds. Images are linear, so the search over the convex hull of
//! `x_{k-1}`, `v_k` and the last few `v`'s (in which `x_k` lies) costs no operator product.

use super::respond::Responder;
use crate::error::Result;
use crate::linalg::{axpy, dot};
use crate::problem::{Imaged, Oracles, PointX};
use crate::sliding::SlideState;

/// Evaluations of `max_y f` that one search may spend.
const EVALUATIONS: u32 = 8;
/// A search pays if it takes off this share of the gap.
const WORTH: f64 = 0.03;
/// Iterations that a search is put off at the most.
const LONGEST_WAIT: u64 = 32;
/// Pairwise steps on the small quadratic in the weights.
const QUADRATIC_STEPS: u32 = 400;

/// The search, and when it pays.
pub(super) struct Improver {
    /// The last `v`'s, newest last.
    pub history: Vec<Imaged>,
    filled: usize,
    /// Weights of `[x_{k-1}, v_k, history...]`.
    weights: Vec<f64>,
    trial: Vec<f64>,
    slope: Vec<f64>,
    /// Gram matrix of the images, row-major.
    gram: Vec<f64>,
    target: Vec<f64>,
    point: PointX,
    grad_image: Vec<f64>,
    response: Vec<f64>,
    wait: u64,
    waited: u64,
}

impl Improver {
    /// A search over hulls of at most `points` points (3 at the least).
    pub fn new(points: usize, like: &PointX, dim_y: usize) -> Self {
        let m = points.max(3);
        Improver {
            history: (2..m).map(|_| Imaged::of(like)).collect(),
            filled: 0,
            weights: vec![0.0; m],
            trial: vec![0.0; m],
            slope: vec![0.0; m],
            gram: vec![0.0; m * m],
            target: vec![0.0; m],
            point: PointX {
                x: Vec::new(),
                image: like.image.clone(),
                cache: like.cache.clone(),
            },
            grad_image: vec![0.0; like.image.len()],
            response: vec![0.0; dim_y],
            wait: 0,
            waited: 0,
        }
    }

    /// Takes `v_{k-1}` into the history and hands back the buffer of the oldest entry.
    pub fn push(&mut self, v: Imaged) -> Imaged {
        self.waited += 1;
        if self.history.is_empty() {
            return v;
        }
        self.history.rotate_left(1);
        let last = self.history.len() - 1;
        self.filled = (self.filled + 1).min(self.history.len());
        std::mem::replace(&mut self.history[last], v)
    }

    /// The entries in use.
    fn recent(&self) -> &[Imaged] {
        &self.history[self.history.len() - self.filled..]
    }

    /// Whether it is time for a search.
    pub fn is_due(&self) -> bool {
        self.filled > 0 && self.waited > self.wait
    }

    /// Searches from `x_k = (1 - gamma) x_{k-1} + gamma v_k`, given in `x_k` with its response `y_hat` and upper
    /// bound. Where it finds better, `x_k` (image and cache) and `y_hat` are replaced and the new upper
    /// bound is returned; [`apply`](Improver::apply) then forms the vector.
    #[allow(clippy::too_many_arguments)]
    pub fn search(
        &mut self,
        oracles: &mut Oracles<'_>,
        responder: &mut Responder,
        x_old: &PointX,
        v_new: &Imaged,
        gamma: f64,
        x_k: &mut PointX,
        y_hat: &mut [f64],
        upper: f64,
        gap: f64,
    ) -> Result<Option<f64>> {
        let m = 2 + self.filled;
        self.weights.fill(0.0);
        self.weights[0] = 1.0 - gamma;
        self.weights[1] = gamma;
        self.fill_gram(m, x_old, v_new);
        let mut best = upper;
        let mut improved = false;
        // the scale of the quadratic model: f's curvature in the image, found by backtracking
        oracles.grad_image(x_k, y_hat, &mut self.grad_image)?;
        self.fill_slope(m, x_old, v_new);
        let mut beta = 0.0;
        for _ in 0..EVALUATIONS {
            if beta == 0.0 {
                beta = self.first_scale(m);
            }
            self.minimise_model(m, beta);
            let predicted: f64 = (0..m)
                .map(|j| self.slope[j] * (self.trial[j] - self.weights[j]))
                .sum();
            if -predicted <= 1e-3 * WORTH * gap {
                break;
            }
            self.form(m, x_old, v_new);
            oracles.prepare(&mut self.point);
            self.response.copy_from_slice(y_hat);
            let accuracy = 1e-3 * WORTH * gap;
            let answer = responder.respond(oracles, &self.point, accuracy, &mut self.response)?;
            if answer.state == SlideState::OutOfBudget {
                break;
            }
            let now = oracles.value(&self.point, &self.response)? + answer.gap;
            let square = self.square(m);
            let bend = now - best - predicted;
            // the curvature along this step, as the next guess
            let measured = (2.0 * bend / square).max(1e-3 * beta);
            if now < best {
                best = now;
                improved = true;
                std::mem::swap(&mut x_k.image, &mut self.point.image);
                std::mem::swap(&mut x_k.cache, &mut self.point.cache);
                y_hat.copy_from_slice(&self.response);
                self.weights[..m].copy_from_slice(&self.trial[..m]);
                oracles.grad_image(x_k, y_hat, &mut self.grad_image)?;
                self.fill_slope(m, x_old, v_new);
                beta = measured;
            } else {
                beta = measured.max(2.0 * beta);
            }
        }
        if upper - best >= WORTH * gap {
            self.wait = 0;
        } else {
            self.wait = (2 * self.wait + 1).min(LONGEST_WAIT);
        }
        self.waited = 0;
        Ok(improved.then_some(best))
    }

    /// `x = sum_j w_j p_j` with the weights found, in place of `x_{k-1}`.
    pub fn apply(&self, x: &mut [f64], v_new: &[f64]) {
        crate::linalg::axpby(self.weights[1], v_new, self.weights[0], x);
        for (entry, w) in self.recent().iter().zip(&self.weights[2..]) {
            if *w != 0.0 {
                axpy(*w, &entry.x, x);
            }
        }
    }

    fn image<'b>(&'b self, j: usize, x_old: &'b PointX, v_new: &'b Imaged) -> &'b [f64] {
        match j {
            0 => &x_old.image,
            1 => &v_new.image,
            j => &self.recent()[j - 2].image,
        }
    }

    fn fill_gram(&mut self, m: usize, x_old: &PointX, v_new: &Imaged) {
        for i in 0..m {
            for j in 0..=i {
                let value = dot(self.image(i, x_old, v_new), self.image(j, x_old, v_new));
                self.gram[i * m + j] = value;
                self.gram[j * m + i] = value;
            }
        }
    }

    fn fill_slope(&mut self, m: usize, x_old: &PointX, v_new: &Imaged) {
        for j in 0..m {
            self.slope[j] = dot(&self.grad_image, self.image(j, x_old, v_new));
        }
    }

    fn form(&mut self, m: usize, x_old: &PointX, v_new: &Imaged) {
        let mut image = std::mem::take(&mut self.point.image);
        image.fill(0.0);
        for j in 0..m {
            if self.trial[j] != 0.0 {
                axpy(self.trial[j], self.image(j, x_old, v_new), &mut image);
            }
        }
        self.point.image = image;
    }

    /// `|sum_j (trial_j - weights_j) p_j|^2`.
    fn square(&self, m: usize) -> f64 {
        let mut sum = 0.0;
        for i in 0..m {
            for j in 0..m {
                let (di, dj) = (
                    self.trial[i] - self.weights[i],
                    self.trial[j] - self.weights[j],
                );
                sum += di * dj * self.gram[i * m + j];
            }
        }
        sum.max(f64::MIN_POSITIVE)
    }

    /// A scale at which the model's minimiser lies about as far away as the best vertex.
    fn first_scale(&mut self, m: usize) -> f64 {
        let at: f64 = (0..m).map(|j| self.slope[j] * self.weights[j]).sum();
        let best = (0..m)
            .min_by(|&i, &j| self.slope[i].total_cmp(&self.slope[j]))
            .unwrap_or(0);
        self.trial.fill(0.0);
        self.trial[best] = 1.0;
        ((at - self.slope[best]) / self.square(m)).max(f64::MIN_POSITIVE)
    }

    /// `trial = argmin <slope, w> + beta/2 (w - weights)^T Gram (w - weights)` over the simplex, by pairwise
    /// steps with exact step lengths.
    fn minimise_model(&mut self, m: usize, beta: f64) {
        self.trial[..m].copy_from_slice(&self.weights[..m]);
        self.target[..m].copy_from_slice(&self.slope[..m]);
        let scale = self.slope[..m].iter().fold(0.0f64, |s, v| s.max(v.abs()));
        for _ in 0..QUADRATIC_STEPS {
            let g = &self.target;
            let (mut low, mut high) = (0, usize::MAX);
            for j in 0..m {
                if g[j] < g[low] {
                    low = j;
                }
                if self.trial[j] > 0.0 && (high == usize::MAX || g[j] > g[high]) {
                    high = j;
                }
            }
            if high == usize::MAX || g[high] - g[low] <= 1e-12 * scale {
                return;
            }
            let gram = |i: usize, j: usize| self.gram[i * m + j];
            let curvature =
                beta * (gram(low, low) - 2.0 * gram(low, high) + gram(high, high)).max(0.0);
            let full = self.trial[high];
            let step = ((g[high] - g[low]) / curvature).min(full);
            if !(step > 0.0) {
                return;
            }
            self.trial[low] += step;
            self.trial[high] = if step == full { 0.0 } else { full - step };
            for j in 0..m {
                self.target[j] += beta * step * (self.gram[j * m + low] - self.gram[j * m + high]);
            }
        }
    }
}
