//! Free improvement of x: any `x'` in X with `max_y f(x', y) <= f(x_k, y_k) + eps_k` may take the place of
//! `x_k` without harm to the bounds. Images are linear, so the search over the convex hull of
//! `x_{k-1}`, `v_k`, `v_{k-1}` and a few earlier `v`'s (in which `x_k` lies) costs no operator product.

use super::y_solve::YSolver;
use crate::domain::SlideState;
use crate::error::Result;
pub(super) use crate::linalg::MOST_POINTS;
use crate::linalg::{combine_many, combine_piece, gram_of_differences, slopes_of_differences};
use crate::oracles::Oracles;
use crate::problem::{Imaged, PointX};
use crate::state::Archive;

/// Evaluations of `max_y f` that one search may spend.
const EVALUATIONS: u32 = 8;
/// A search pays if it takes off this share of the gap.
const WORTH: f64 = 0.1;
/// A step pays if it promises this share of that, and less where searches have become rare.
const STEP_WORTH: f64 = 0.01;
/// Iterations that a search is put off at the most.
const LONGEST_WAIT: u64 = 32;
/// Steps of the active-set method at the most; it needs a few.
const ACTIVE_SET_STEPS: u32 = 64;
/// Keeps the small quadratic well-posed where the points are nearly dependent.
const RIDGE: f64 = 1e-10;

/// The search, and when it pays.
pub(super) struct HullSearch {
    /// The `v`'s before `v_{k-1}`, newest last.
    history: Vec<Imaged>,
    filled: usize,
    /// Whether there has been an iteration: before, `v_{k-1}` is `x_{k-1}`.
    started: bool,
    /// Weights of `[x_{k-1}, v_k, v_{k-1}, history...]`.
    weights: Vec<f64>,
    trial: Vec<f64>,
    slope: Vec<f64>,
    /// Gram matrix of the images' differences to that of `x_{k-1}`, row-major.
    gram: Vec<f64>,
    point: PointX,
    grad_image: Vec<f64>,
    response: Vec<f64>,
    wait: u64,
    waited: u64,
}

impl HullSearch {
    /// A search over hulls of at most `points` points (3 to 16).
    pub fn new(points: usize, like: &PointX, dim_y: usize) -> Self {
        let m = points.min(MOST_POINTS);
        HullSearch {
            history: (3..m).map(|_| Imaged::room_for(like)).collect(),
            filled: 0,
            started: false,
            weights: vec![0.0; m],
            trial: vec![0.0; m],
            slope: vec![0.0; m],
            gram: vec![0.0; m * m],
            point: like.room_for_image(),
            grad_image: vec![0.0; like.image.len()],
            response: vec![0.0; dim_y],
            wait: 0,
            waited: 0,
        }
    }

    /// Forms the images anew for another problem, at a point of it.
    pub fn move_to(&mut self, oracles: &mut Oracles<'_>, like: &PointX) -> Result<()> {
        self.make_room(like);
        self.renew_images(oracles)
    }

    /// Forms the images anew.
    pub fn renew_images(&mut self, oracles: &mut Oracles<'_>) -> Result<()> {
        let unused = self.history.len() - self.filled;
        for entry in &mut self.history[unused..] {
            oracles.image(&entry.x, &mut entry.image)?;
        }
        Ok(())
    }

    /// Makes room for images of another length.
    pub fn make_room(&mut self, like: &PointX) {
        for entry in &mut self.history {
            entry.image.resize(like.image.len(), 0.0);
        }
        self.point = like.room_for_image();
        self.grad_image.resize(like.image.len(), 0.0);
    }

    pub fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.flag("started", &mut self.started)?;
        archive.count("wait", &mut self.wait)?;
        archive.count("waited", &mut self.waited)?;
        let mut filled = self.filled as u64;
        archive.count("filled", &mut filled)?;
        self.filled = filled.min(self.history.len() as u64) as usize;
        let unused = self.history.len() - self.filled;
        for entry in &mut self.history[unused..] {
            archive.nested("history", |archive| entry.state(archive))?;
        }
        Ok(())
    }

    /// Takes `v_{k-1}` into the history and hands back the buffer of the oldest entry.
    pub fn push(&mut self, v: Imaged) -> Imaged {
        self.waited += 1;
        self.started = true;
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

    /// The `v`'s before `v_{k-1}` that are in use, without their images.
    pub fn vectors(&mut self) -> impl Iterator<Item = &mut Vec<f64>> {
        let unused = self.history.len() - self.filled;
        self.history[unused..].iter_mut().map(|entry| &mut entry.x)
    }

    /// All of them, and the room for more.
    pub fn room(&mut self) -> impl Iterator<Item = &mut Vec<f64>> {
        self.history.iter_mut().map(|entry| &mut entry.x)
    }

    /// Whether it is time for a search.
    pub fn is_due(&self) -> bool {
        self.started && self.waited > self.wait
    }

    /// Searches from `x_k = (1 - gamma) x_{k-1} + gamma v_k`, given in `x_k` with its response `y_hat` and upper
    /// bound. Where it finds better, `x_k` (image and cache) and `y_hat` are replaced and the new upper
    /// bound is returned; [`apply`](HullSearch::apply) then forms the vector.
    #[allow(clippy::too_many_arguments)]
    pub fn search(
        &mut self,
        oracles: &mut Oracles<'_>,
        y_solver: &mut YSolver,
        x_old: &PointX,
        vs: [&Imaged; 2],
        gamma: f64,
        x_k: &mut PointX,
        y_hat: &mut [f64],
        upper: f64,
        gap: f64,
    ) -> Result<Option<f64>> {
        let m = 3 + self.filled;
        self.weights.fill(0.0);
        self.weights[0] = 1.0 - gamma;
        self.weights[1] = gamma;
        self.fill_gram(m, x_old, vs);
        let mut best = upper;
        let mut improved = false;
        // the scale of the quadratic model: f's curvature in the image, found by backtracking
        oracles.grad_image(x_k, y_hat, &mut self.grad_image)?;
        self.fill_slope(m, x_old, vs);
        let mut beta = 0.0;
        for _ in 0..EVALUATIONS {
            if beta == 0.0 {
                beta = self.first_scale(m);
                if !(beta > 0.0 && beta.is_finite()) {
                    break; // no point of the hull is downhill
                }
            }
            self.minimise_model(m, beta);
            // the small solve is ill-conditioned, and only convex combinations stay in the set
            let total: f64 = self.trial[..m].iter().sum();
            if !(total > 0.5 && total < 2.0) {
                break; // the model has broken down
            }
            self.trial[..m].iter_mut().for_each(|w| *w /= total);
            let predicted: f64 =
                (0..m).map(|j| self.slope[j] * (self.trial[j] - self.weights[j])).sum();
            if -predicted <= STEP_WORTH * WORTH * gap / (1 + self.wait) as f64 {
                break;
            }
            self.form(oracles, m, x_old, vs);
            self.response.copy_from_slice(y_hat);
            let accuracy = 1e-3 * WORTH * gap;
            let answer = y_solver.respond(oracles, &self.point, accuracy, &mut self.response)?;
            if answer.state == SlideState::OutOfBudget {
                break;
            }
            // how far max_y f bends between the two points, without the rounding of its values
            let bend = oracles.bend_x(x_k, &self.point, y_hat, predicted)?.value
                + oracles.change_y(&self.point, y_hat, &self.response)?.value
                + answer.gap;
            let curvature = (2.0 * bend / self.square(m)).max(1e-3 * beta);
            if predicted + bend < 0.0 {
                best = best.min(oracles.value(&self.point, &self.response)? + answer.gap);
                improved = true;
                std::mem::swap(&mut x_k.image, &mut self.point.image);
                std::mem::swap(&mut x_k.cache, &mut self.point.cache);
                y_hat.copy_from_slice(&self.response);
                self.weights[..m].copy_from_slice(&self.trial[..m]);
                oracles.grad_image(x_k, y_hat, &mut self.grad_image)?;
                self.fill_slope(m, x_old, vs);
                beta = curvature;
            } else {
                beta = curvature.max(2.0 * beta);
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
    pub fn apply(&self, x: &mut [f64], vs: [&[f64]; 2]) {
        let mut points: [&[f64]; MOST_POINTS] = [vs[0]; MOST_POINTS];
        points[1] = vs[1];
        for (point, entry) in points[2..].iter_mut().zip(self.recent()) {
            *point = &entry.x;
        }
        let others = 2 + self.filled;
        combine_many(self.weights[0], &self.weights[1..=others], &points[..others], x);
    }

    /// The images of all points.
    fn images<'b>(&'b self, x_old: &'b PointX, vs: [&'b Imaged; 2]) -> [&'b [f64]; MOST_POINTS] {
        let mut images: [&[f64]; MOST_POINTS] = [&x_old.image; MOST_POINTS];
        images[1] = &vs[0].image;
        images[2] = &vs[1].image;
        for (image, entry) in images[3..].iter_mut().zip(self.recent()) {
            *image = &entry.image;
        }
        images
    }

    /// Gram matrix and slopes are taken relative to `x_{k-1}`, as the points come close to each other.
    fn fill_gram(&mut self, m: usize, x_old: &PointX, vs: [&Imaged; 2]) {
        let images = self.images(x_old, vs);
        let gram = gram_of_differences(&images[1..m], &x_old.image);
        let mut largest: f64 = 0.0;
        for i in 0..m {
            for j in 0..=i {
                let value = if j == 0 { 0.0 } else { gram[i - 1][j - 1] };
                self.gram[i * m + j] = value;
                self.gram[j * m + i] = value;
            }
            largest = largest.max(self.gram[i * m + i]);
        }
        for j in 0..m {
            self.gram[j * m + j] += RIDGE * largest;
        }
    }

    fn fill_slope(&mut self, m: usize, x_old: &PointX, vs: [&Imaged; 2]) {
        let images = self.images(x_old, vs);
        let slopes = slopes_of_differences(&self.grad_image, &images[1..m], &x_old.image);
        self.slope[0] = 0.0;
        self.slope[1..m].copy_from_slice(&slopes[..m - 1]);
    }

    /// The image and the cache of the trial point.
    fn form(&mut self, oracles: &Oracles<'_>, m: usize, x_old: &PointX, vs: [&Imaged; 2]) {
        let mut point = std::mem::take(&mut self.point);
        let images = self.images(x_old, vs);
        oracles.prepare_filled(&mut point, |start, piece| {
            combine_piece(&self.trial[..m], &images[..m], start, piece);
        });
        self.point = point;
    }

    /// `|sum_j (trial_j - weights_j) p_j|^2`.
    fn square(&self, m: usize) -> f64 {
        let mut sum = 0.0;
        for i in 0..m {
            for j in 0..m {
                let (di, dj) = (self.trial[i] - self.weights[i], self.trial[j] - self.weights[j]);
                sum += di * dj * self.gram[i * m + j];
            }
        }
        sum.max(f64::MIN_POSITIVE)
    }

    /// A scale at which the model's minimiser lies about as far away as the best vertex.
    fn first_scale(&mut self, m: usize) -> f64 {
        let at: f64 = (0..m).map(|j| self.slope[j] * self.weights[j]).sum();
        let best = (0..m).min_by(|&i, &j| self.slope[i].total_cmp(&self.slope[j])).unwrap_or(0);
        self.trial.fill(0.0);
        self.trial[best] = 1.0;
        (at - self.slope[best]) / self.square(m)
    }

    /// `trial = argmin <slope, w> + beta/2 (w - weights)^T Gram (w - weights)` over the simplex, by the primal
    /// active-set method: the ridge makes the quadratic strictly convex.
    fn minimise_model(&mut self, m: usize, beta: f64) {
        let weights = &self.weights[..m];
        let gram = |i: usize, j: usize| self.gram[i * m + j];
        let linear =
            |i: usize| self.slope[i] / beta - (0..m).map(|j| gram(i, j) * weights[j]).sum::<f64>();
        let linear: [f64; MOST_POINTS] =
            std::array::from_fn(|i| if i < m { linear(i) } else { 0.0 });
        let w = &mut self.trial;
        w[..m].copy_from_slice(weights);
        let mut active: [bool; MOST_POINTS] = std::array::from_fn(|j| j < m && w[j] > 0.0);
        for _ in 0..ACTIVE_SET_STEPS {
            let Some(target) = on_face(m, &active, &linear, gram) else {
                return;
            };
            // as far towards the minimiser on this face as the set allows
            let mut step = 1.0;
            let mut blocking = None;
            for j in (0..m).filter(|&j| active[j] && target[j] < 0.0) {
                let t = w[j] / (w[j] - target[j]);
                if t < step {
                    (step, blocking) = (t, Some(j));
                }
            }
            for j in (0..m).filter(|&j| active[j]) {
                w[j] = (w[j] + step * (target[j] - w[j])).max(0.0);
            }
            if let Some(j) = blocking {
                w[j] = 0.0;
                active[j] = false;
                continue;
            }
            // the face that would gain most, if any
            let slope = |i: usize| linear[i] + (0..m).map(|j| gram(i, j) * w[j]).sum::<f64>();
            let level: f64 = (0..m).map(|j| w[j] * slope(j)).sum();
            let best = (0..m)
                .filter(|&j| !active[j])
                .min_by(|&i, &j| slope(i).total_cmp(&slope(j)))
                .filter(|&j| slope(j) < level - 1e-14 * level.abs());
            match best {
                Some(j) => active[j] = true,
                None => return,
            }
        }
    }
}

/// The minimiser of `<linear, w> + 1/2 w^T Gram w` over `sum w = 1` with `w` zero off the active coordinates;
/// `None` where the matrix is not positive definite.
fn on_face(
    m: usize,
    active: &[bool; MOST_POINTS],
    linear: &[f64; MOST_POINTS],
    gram: impl Fn(usize, usize) -> f64,
) -> Option<[f64; MOST_POINTS]> {
    // Cholesky factor of the active part, in place of a larger KKT system
    let mut factor = [[0.0; MOST_POINTS]; MOST_POINTS];
    let mut index = [0; MOST_POINTS];
    let mut size = 0;
    for j in (0..m).filter(|&j| active[j]) {
        index[size] = j;
        size += 1;
    }
    for i in 0..size {
        for j in 0..=i {
            let known: f64 = (0..j).map(|l| factor[i][l] * factor[j][l]).sum();
            let rest = gram(index[i], index[j]) - known;
            if i == j {
                if !(rest > 0.0) {
                    return None;
                }
                factor[i][i] = rest.sqrt();
            } else {
                factor[i][j] = rest / factor[j][j];
            }
        }
    }
    let solve = |mut b: [f64; MOST_POINTS]| {
        for i in 0..size {
            let known: f64 = (0..i).map(|l| factor[i][l] * b[l]).sum();
            b[i] = (b[i] - known) / factor[i][i];
        }
        for i in (0..size).rev() {
            let known: f64 = (i + 1..size).map(|l| factor[l][i] * b[l]).sum();
            b[i] = (b[i] - known) / factor[i][i];
        }
        b
    };
    let mut ones = [0.0; MOST_POINTS];
    let mut right = [0.0; MOST_POINTS];
    for i in 0..size {
        (ones[i], right[i]) = (1.0, -linear[index[i]]);
    }
    let (ones, right) = (solve(ones), solve(right));
    let multiplier = (1.0 - right[..size].iter().sum::<f64>()) / ones[..size].iter().sum::<f64>();
    let mut w = [0.0; MOST_POINTS];
    for i in 0..size {
        w[index[i]] = right[i] + multiplier * ones[i];
    }
    multiplier.is_finite().then_some(w)
}
