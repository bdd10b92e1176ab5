//! Free improvement of x: any `x'` in X with `max_y f(x', y) <= f(x_k, y_k) + eps_k` may take the place of
//! `x_k` without harm to the bounds. Images are linear, so the search over the convex hull of
//! `x_{k-1}`, `v_k`, `v_{k-1}` and a few earlier `v`'s (in which `x_k` lies) costs no operator product.

use super::y_solve::YSolver;
use crate::domain::SlideState;
use crate::error::Result;
pub(super) use crate::linalg::MOST_POINTS;
use crate::linalg::combine_piece;
use crate::oracles::Oracles;
use crate::problem::PointX;
use crate::state::Archive;

/// Evaluations of `max_y f` that one search may spend.
const EVALUATIONS: u32 = 8;
/// A search pays if it takes off this share of the gap.
const WORTH: f64 = 0.1;
/// A step pays if it promises this share of that, and less where searches have become rare.
const STEP_WORTH: f64 = 0.01;
/// A single step around `z_k` pays if it takes off this share of the gap.
const SINGLE_WORTH: f64 = 0.01;
/// Iterations that a search is put off at the most. With waits of up to 32 iterations squares over subsets take twice as many over
/// atoms (docs/benchmarks.md); with waits of 1 small matchings do.
const LONGEST_WAIT: u64 = 4;
/// Steps of the active-set method at the most; it needs a few.
const ACTIVE_SET_STEPS: u32 = 64;
/// Keeps the small quadratic well-posed where the points are nearly dependent.
const RIDGE: f64 = 1e-10;

/// The search, and when it pays.
pub(super) struct HullSearch {
    /// Whether there has been an iteration: before, `v_{k-1}` is `x_{k-1}`.
    started: bool,
    /// Weights of `[x_{k-1}, v_k, v_{k-1}, earlier v's...]`.
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

/// The point to improve on: its image and cache, the response to it, and the upper bound that comes with that.
pub(super) struct Candidate<'a> {
    pub x: &'a mut PointX,
    pub y_hat: &'a mut [f64],
    pub upper: f64,
}

/// A quadratic model of `max_y f` around `z_k`: its gradient there and its curvature.
pub(super) struct Model<'a> {
    pub gradient: &'a [f64],
    pub curvature: f64,
}

impl HullSearch {
    /// A search over hulls of at most `points` points (3 to 16).
    pub fn new(points: usize, like: &PointX, dim_y: usize) -> Self {
        let m = points.min(MOST_POINTS);
        HullSearch {
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

    /// Makes room for images of another length.
    pub fn make_room(&mut self, like: &PointX) {
        self.point = like.room_for_image();
        self.grad_image.resize(like.image.len(), 0.0);
    }

    pub fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.flag("started", &mut self.started)?;
        archive.count("wait", &mut self.wait)?;
        archive.count("waited", &mut self.waited)
    }

    /// Hears that an iteration is over.
    pub fn advance(&mut self) {
        self.waited += 1;
        self.started = true;
    }

    /// Hears that the next iteration begins at `v = x`.
    pub fn restart(&mut self) {
        self.started = false;
    }

    /// Whether it is time for a search.
    pub fn is_due(&self) -> bool {
        self.started && self.waited > self.wait
    }

    /// The weights found.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Searches from `x_k = (1 - gamma) x_{k-1} + gamma v_k` among the combinations of points with these images: `x_{k-1}`,
    /// `v_k`, and others. Where it finds better, the candidate (image, cache and response) is replaced and the new upper
    /// bound is returned; [`weights`](HullSearch::weights) are then those of the better point.
    pub fn search(
        &mut self,
        oracles: &mut Oracles<'_>,
        y_solver: &mut YSolver,
        images: &[&[f64]],
        gamma: f64,
        candidate: Candidate<'_>,
        gap: f64,
    ) -> Result<Option<f64>> {
        let m = images.len();
        let Candidate { x: x_k, y_hat, upper } = candidate;
        self.weights.fill(0.0);
        self.weights[0] = 1.0 - gamma;
        self.weights[1] = gamma;
        self.fill_gram(oracles, images);
        let mut best = upper;
        let mut improved = false;
        // the scale of the quadratic model: f's curvature in the image, found by backtracking
        oracles.grad_image(x_k, y_hat, &mut self.grad_image)?;
        self.fill_slope(oracles, images);
        let mut beta = 0.0;
        for _ in 0..EVALUATIONS {
            if beta == 0.0 {
                beta = self.first_scale(m);
                if !(beta > 0.0 && beta.is_finite()) {
                    break; // no point of the hull is downhill
                }
            }
            self.minimise_model(m, beta);
            if !self.scale_trial(m) {
                break;
            }
            let predicted: f64 =
                (0..m).map(|j| self.slope[j] * (self.trial[j] - self.weights[j])).sum();
            if -predicted <= STEP_WORTH * WORTH * gap / (1 + self.wait) as f64 {
                break;
            }
            let left = self.respond_to_trial(oracles, y_solver, images, y_hat, gap)?;
            let Some(left) = left else {
                break;
            };
            // how far max_y f bends between the two points, without the rounding of its values
            let bend = oracles.bend_x(x_k, &self.point, y_hat, predicted)?;
            let change = oracles.change_y(&self.point, y_hat, &self.response)?;
            let rounding = bend.rounding + change.rounding;
            let bend = bend.value + change.value + left;
            let curvature = (2.0 * bend / self.square(m)).max(1e-3 * beta);
            if predicted + bend + rounding < 0.0 {
                best = best.min(self.bound(oracles, left)?);
                improved = true;
                std::mem::swap(&mut x_k.image, &mut self.point.image);
                std::mem::swap(&mut x_k.cache, &mut self.point.cache);
                y_hat.copy_from_slice(&self.response);
                self.weights[..m].copy_from_slice(&self.trial[..m]);
                oracles.grad_image(x_k, y_hat, &mut self.grad_image)?;
                self.fill_slope(oracles, images);
                beta = curvature;
            } else {
                beta = curvature.max(2.0 * beta);
            }
        }
        self.note(upper - best >= WORTH * gap);
        Ok(improved.then_some(best))
    }

    /// Hears whether a search has paid.
    fn note(&mut self, paid: bool) {
        self.wait = if paid { 0 } else { (2 * self.wait + 1).min(LONGEST_WAIT) };
        self.waited = 0;
    }

    /// The same by one step of a model around `z_k = (1 - gamma) x_{k-1} + gamma v_{k-1}`, which takes no gradient: for problems whose
    /// images are the points.
    #[allow(clippy::too_many_arguments)]
    pub fn step_from_z(
        &mut self,
        oracles: &mut Oracles<'_>,
        y_solver: &mut YSolver,
        images: &[&[f64]],
        gamma: f64,
        candidate: Candidate<'_>,
        gap: f64,
        model: Model<'_>,
    ) -> Result<Option<f64>> {
        let m = images.len();
        let Candidate { x: x_k, y_hat, upper } = candidate;
        self.fill_gram(oracles, images);
        self.grad_image.copy_from_slice(model.gradient);
        self.fill_slope(oracles, images);
        self.weights.fill(0.0);
        (self.weights[0], self.weights[2]) = (1.0 - gamma, gamma);
        if model.curvature > 0.0 && model.curvature.is_finite() {
            self.minimise_model(m, model.curvature);
        } else {
            self.trial.fill(f64::NAN);
        }
        let Some(bound) = self.try_trial(oracles, y_solver, images, y_hat, gap)? else {
            self.note(false);
            return Ok(None);
        };
        self.note(upper - bound >= SINGLE_WORTH * gap);
        if bound >= upper {
            return Ok(None);
        }
        std::mem::swap(&mut x_k.image, &mut self.point.image);
        std::mem::swap(&mut x_k.cache, &mut self.point.cache);
        y_hat.copy_from_slice(&self.response);
        self.weights[..m].copy_from_slice(&self.trial[..m]);
        Ok(Some(bound))
    }

    /// Forms the point of the trial weights and responds to it, from this `y`. Returns a bound of `max_y f` there; none where the model or
    /// the response has broken down.
    fn try_trial(
        &mut self,
        oracles: &mut Oracles<'_>,
        y_solver: &mut YSolver,
        images: &[&[f64]],
        y: &[f64],
        gap: f64,
    ) -> Result<Option<f64>> {
        if !self.scale_trial(images.len()) {
            return Ok(None);
        }
        let Some(left) = self.respond_to_trial(oracles, y_solver, images, y, gap)? else {
            return Ok(None);
        };
        self.bound(oracles, left).map(Some)
    }

    /// Makes the trial weights a convex combination. False where the small solve, which is ill-conditioned, has broken down.
    fn scale_trial(&mut self, m: usize) -> bool {
        let total: f64 = self.trial[..m].iter().sum();
        self.trial[..m].iter_mut().for_each(|w| *w /= total);
        total > 0.5 && total < 2.0
    }

    /// Forms the point of the trial weights and responds to it, from this `y`; returns what the response may still gain.
    fn respond_to_trial(
        &mut self,
        oracles: &mut Oracles<'_>,
        y_solver: &mut YSolver,
        images: &[&[f64]],
        y: &[f64],
        gap: f64,
    ) -> Result<Option<f64>> {
        oracles.prepare_filled(&mut self.point, |start, piece| {
            combine_piece(&self.trial[..images.len()], images, start, piece);
        });
        oracles.repair_image(&mut self.point);
        self.response.copy_from_slice(y);
        let accuracy = 1e-3 * WORTH * gap;
        let answer = y_solver.respond(oracles, &self.point, accuracy, &mut self.response)?;
        Ok((answer.state != SlideState::OutOfBudget).then_some(answer.gap))
    }

    /// A bound of `max_y f` at the trial point, whose response may still gain so much.
    fn bound(&self, oracles: &mut Oracles<'_>, left: f64) -> Result<f64> {
        let value = oracles.value(&self.point, &self.response)?;
        let rounding = oracles.rounding(&self.point, &self.response, value);
        let [of_x, _] = oracles.charge_of_slack(&rounding);
        let sums = 4.0 * f64::EPSILON * (value.abs() + left);
        Ok(value + left + rounding.value + of_x + sums)
    }

    /// Gram matrix and slopes are taken relative to `x_{k-1}`, as the points come close to each other.
    fn fill_gram(&mut self, oracles: &Oracles<'_>, images: &[&[f64]]) {
        let (m, others) = (images.len(), images.len() - 1);
        let mut products = [0.0; MOST_POINTS * MOST_POINTS];
        let products = &mut products[..others * others];
        match oracles.image_weights() {
            None => oracles.images().gram(&images[1..], images[0], products),
            Some(weights) => {
                let scaled: Vec<Vec<f64>> = images.iter().map(|p| by_rows(p, weights)).collect();
                let scaled: Vec<&[f64]> = scaled.iter().map(Vec::as_slice).collect();
                oracles.images().gram(&scaled[1..], scaled[0], products);
            }
        }
        let mut largest: f64 = 0.0;
        for i in 0..m {
            for j in 0..=i {
                let value = if j == 0 { 0.0 } else { products[(i - 1) * others + j - 1] };
                self.gram[i * m + j] = value;
                self.gram[j * m + i] = value;
            }
            largest = largest.max(self.gram[i * m + i]);
        }
        for j in 0..m {
            self.gram[j * m + j] += RIDGE * largest;
        }
    }

    fn fill_slope(&mut self, oracles: &Oracles<'_>, images: &[&[f64]]) {
        let (g, out) = (&self.grad_image, &mut self.slope[..images.len()]);
        out[0] = 0.0;
        oracles.images().slopes(g, &images[1..], images[0], &mut out[1..]);
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

/// An image with the square root of a weight on each of its rows, so that inner products are weighted.
fn by_rows(image: &[f64], weights: &[f64]) -> Vec<f64> {
    let row = image.len() / weights.len().max(1);
    let roots = weights.iter().flat_map(|w| std::iter::repeat_n(w.sqrt(), row));
    image.iter().zip(roots).map(|(value, root)| value * root).collect()
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
