//! The largest eigenpair of a symmetric positive semidefinite operator by the Lanczos process, with
//! full reorthogonalisation and a residual test, and an upper bound of the largest eigenvalue.

use super::{axpy, dot, norm, scale};
use crate::error::Result;
use crate::watch::Watch;

/// Workspace of the Lanczos process for operators of order `n`.
pub(crate) struct Lanczos {
    n: usize,
    /// The orthonormal vectors, one after the other.
    basis: Vec<f64>,
    tridiagonal: Tridiagonal,
    /// The top eigenvector of the tridiagonal matrix.
    ritz: Vec<f64>,
    work: Vec<f64>,
    watch: Watch,
}

/// When [`Lanczos::run`] looks and when it stops.
pub(crate) struct Stop {
    /// The residual `|A x - theta x|`, relative to `theta`, that is asked for.
    pub(crate) tolerance: f64,
    /// How many steps there may be.
    pub(crate) max_steps: usize,
    /// The test is made every so many steps.
    pub(crate) every: usize,
}

/// What the process found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ritz {
    /// The largest Ritz value, a lower bound of the largest eigenvalue.
    pub(crate) theta: f64,
    /// `|A x - theta x|`.
    pub(crate) residual: f64,
    /// Steps made, that is products with the operator.
    pub(crate) steps: usize,
}

impl Lanczos {
    /// Space for `max_steps` steps (never more than `n`).
    pub(crate) fn new(n: usize, max_steps: usize) -> Self {
        let k = max_steps.min(n);
        Lanczos {
            n,
            basis: vec![0.0; k * n],
            tridiagonal: Tridiagonal::with_capacity(k),
            ritz: vec![0.0; k],
            work: vec![0.0; n],
            watch: Watch::default(),
        }
    }

    /// Runs from the unit vector `start` and writes the unit Ritz vector to `out`.
    ///
    /// `apply(x, y)` sets `y = A x`. `enough` is asked, once the residual test has passed, whether
    /// the answer is good enough otherwise.
    ///
    /// # Errors
    /// An interruption by the watch.
    pub(crate) fn run(
        &mut self,
        start: &[f64],
        stop: &Stop,
        mut apply: impl FnMut(&[f64], &mut [f64]),
        mut enough: impl FnMut(&mut Tridiagonal, Ritz) -> bool,
        out: &mut [f64],
    ) -> Result<Ritz> {
        let n = self.n;
        let limit = stop.max_steps.min(self.ritz.len()).max(1);
        self.tridiagonal.clear();
        self.basis[..n].copy_from_slice(start);
        let mut found;
        loop {
            self.watch.check()?;
            let k = self.tridiagonal.len();
            let (done, next) = self.basis.split_at_mut((k + 1) * n);
            let work = &mut self.work;
            apply(&done[k * n..], work);
            let alpha = dot(&done[k * n..], work);
            // The three-term recurrence, then Gram-Schmidt against all vectors, and once more where
            // the first pass took away much: twice is enough.
            axpy(-alpha, &done[k * n..], work);
            if k > 0 {
                let before = self.tridiagonal.below[k - 1];
                axpy(-before, &done[(k - 1) * n..k * n], work);
            }
            let mut beta = norm(work);
            for _ in 0..2 {
                for v in done.chunks_exact(n) {
                    axpy(-dot(v, work), v, work);
                }
                let left = norm(work);
                let stays = left > 0.7 * beta;
                beta = left;
                if stays {
                    break;
                }
            }
            self.tridiagonal.push(alpha, beta);
            let steps = k + 1;
            // What is left of a vector that lies in the space already is rounding.
            let rounding = 8.0 * f64::EPSILON * self.tridiagonal.size();
            let exhausted = steps == n || beta <= rounding;
            let last = exhausted || steps == limit;
            if last || steps.is_multiple_of(stop.every) {
                let theta = self.tridiagonal.top_eigenpair(&mut self.ritz[..steps]);
                let residual = if exhausted { rounding } else { beta * self.ritz[k].abs() };
                found = Ritz { theta, residual, steps };
                let converged = residual <= stop.tolerance * theta;
                if last || converged && enough(&mut self.tridiagonal, found) {
                    break;
                }
            }
            let next = &mut next[..n];
            next.copy_from_slice(work);
            scale(1.0 / beta, next);
        }
        out.fill(0.0);
        for (y, v) in self.ritz.iter().zip(self.basis.chunks_exact(n)).take(found.steps) {
            axpy(*y, v, out);
        }
        let length = norm(out);
        scale(1.0 / length, out);
        Ok(found)
    }

    /// Hands over the watch that every step looks at.
    pub(crate) fn attend(&mut self, watch: &Watch) {
        self.watch = watch.clone();
    }

    /// The tridiagonal matrix of the last run.
    pub(crate) fn tridiagonal(&mut self) -> &mut Tridiagonal {
        &mut self.tridiagonal
    }
}

/// A symmetric tridiagonal matrix `T` with positive off-diagonal, as Lanczos makes it.
pub(crate) struct Tridiagonal {
    diagonal: Vec<f64>,
    /// `below[i]` couples `i` and `i + 1`; the last one couples `T` with what comes next.
    below: Vec<f64>,
    pivots: Vec<f64>,
    size: f64,
}

/// The logarithmic derivatives of `det(x I - T)` at an `x` above all eigenvalues.
struct Characteristic {
    first: f64,
    /// Minus the second one.
    second: f64,
}

impl Tridiagonal {
    fn with_capacity(k: usize) -> Self {
        Tridiagonal {
            diagonal: Vec::with_capacity(k),
            below: Vec::with_capacity(k),
            pivots: Vec::with_capacity(k),
            size: 0.0,
        }
    }

    fn clear(&mut self) {
        self.diagonal.clear();
        self.below.clear();
        self.pivots.clear();
        self.size = 0.0;
    }

    fn push(&mut self, alpha: f64, beta: f64) {
        let before = self.below.last().copied().unwrap_or(0.0);
        self.size = self.size.max(alpha.abs() + before + beta);
        self.diagonal.push(alpha);
        self.below.push(beta);
        self.pivots.push(0.0);
    }

    pub(crate) fn len(&self) -> usize {
        self.diagonal.len()
    }

    /// A bound of the norm (Gershgorin).
    fn size(&self) -> f64 {
        self.size
    }

    /// Factors `x I - T = L D L^T`; none unless `x` is above every eigenvalue.
    fn factor(&mut self, x: f64) -> Option<Characteristic> {
        let mut at = Characteristic { first: 0.0, second: 0.0 };
        // d = pivot, d1 and d2 its derivatives divided by it.
        let (mut d, mut d1, mut d2) = (f64::INFINITY, 0.0, 0.0);
        let mut coupling = 0.0;
        for i in 0..self.diagonal.len() {
            let t = coupling * coupling / d;
            let pivot = x - self.diagonal[i] - t;
            if pivot.is_nan() || pivot <= 0.0 {
                return None;
            }
            let first = (1.0 + t * d1) / pivot;
            let second = t * (d2 - 2.0 * d1 * d1) / pivot;
            at.first += first;
            at.second += first * first - second;
            (d, d1, d2) = (pivot, first, second);
            self.pivots[i] = pivot;
            coupling = self.below[i];
        }
        Some(at)
    }

    /// `log det(x I - T)` for `x` above every eigenvalue, else none.
    fn log_determinant(&mut self, x: f64) -> Option<f64> {
        self.factor(x)?;
        Some(self.pivots.iter().map(|d| d.ln()).sum())
    }

    /// The largest eigenvalue, and its unit eigenvector in `y`.
    fn top_eigenpair(&mut self, y: &mut [f64]) -> f64 {
        let k = self.diagonal.len();
        if k == 1 {
            y[0] = 1.0;
            return self.diagonal[0];
        }
        // Laguerre's iteration falls towards the largest root from the right and never passes it
        // (all roots are real); rounding may, and then half of the step is taken.
        let mut above = self.size * (1.0 + 4.0 * f64::EPSILON) + f64::MIN_POSITIVE;
        let mut step = f64::INFINITY;
        let degree = k as f64;
        for _ in 0..60 {
            if let Some(at) = self.factor(above - if step.is_finite() { step } else { 0.0 }) {
                if step.is_finite() {
                    above -= step;
                }
                let discriminant =
                    (degree - 1.0) * (degree * at.second - at.first * at.first).max(0.0);
                step = degree / (at.first + discriminant.sqrt());
            } else if step.is_finite() {
                step *= 0.5;
            } else {
                break;
            }
            if step.is_nan() || step <= f64::EPSILON * above {
                break;
            }
        }
        // x I - T is positive definite with entries below zero off the diagonal: solving with a
        // right side above zero adds up numbers of one sign, so that even tiny entries are right.
        let _ = self.factor(above);
        y.fill(1.0);
        for _ in 0..3 {
            for i in 1..k {
                y[i] += self.below[i - 1] / self.pivots[i - 1] * y[i - 1];
            }
            y[k - 1] /= self.pivots[k - 1];
            for i in (0..k - 1).rev() {
                y[i] = (y[i] + self.below[i] * y[i + 1]) / self.pivots[i];
            }
            let largest = y.iter().fold(0.0f64, |m, v| m.max(v.abs()));
            scale(1.0 / largest, y);
            let length = norm(y);
            scale(1.0 / length, y);
        }
        above
    }

    /// An upper bound of the largest eigenvalue `lambda_1 <= ceiling` of the operator, if the start
    /// vector `b` has `|<b, u_1>| >= overlap`.
    ///
    /// The monic Lanczos polynomial `p(x) = det(x I - T_k)` has `|p(A) b| = beta_1 ... beta_k`, so
    /// `p(lambda_1) overlap <= beta_1 ... beta_k`; and `p` grows to the right of its roots.
    pub(crate) fn upper_bound(&mut self, theta: f64, overlap: f64, ceiling: f64) -> f64 {
        let target = self.below.iter().map(|b| b.ln()).sum::<f64>() - overlap.ln();
        let too_low = |t: &mut Self, x: f64| t.log_determinant(x).is_none_or(|v| v < target);
        if ceiling <= theta {
            return theta;
        }
        if too_low(self, ceiling) {
            return ceiling;
        }
        // Bisection on the logarithm of the distance to theta.
        let (mut low, mut high) = ((f64::EPSILON * theta).ln(), (ceiling - theta).ln());
        if !too_low(self, theta + low.exp()) {
            return theta + low.exp();
        }
        while high - low > 1e-3 {
            let middle = 0.5 * (low + high);
            if too_low(self, theta + middle.exp()) {
                low = middle;
            } else {
                high = middle;
            }
        }
        theta + high.exp()
    }
}

/// The Chebyshev bound of the largest eigenvalue after `steps` steps from a start vector at an
/// angle to `u_1` of at most `tan^2 = exp(log_tan_squared)`: for every `e` in `(0, 1)`
///
/// ```text
/// lambda_1 - theta <= lambda_1 (e + tan^2 / T_{k-1}(1 + 2 e/(1-e))^2)
/// ```
///
/// (`T` the Chebyshev polynomial), here minimised over a grid of `e`.
pub(crate) fn chebyshev_bound(theta: f64, steps: usize, log_tan_squared: f64) -> f64 {
    let degree = steps.saturating_sub(1) as f64;
    let mut best = 1.0f64;
    for i in 1..400 {
        let e = (-0.05 * i as f64).exp();
        let x = 1.0 + 2.0 * e / (1.0 - e);
        // T(x) = cosh(degree acosh x) >= exp(degree acosh x) / 2.
        let log_t = degree * x.acosh() - std::f64::consts::LN_2;
        best = best.min(e + (log_tan_squared - 2.0 * log_t).exp());
    }
    if best < 1.0 { theta / (1.0 - best) } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `diag(values)` as an operator.
    fn diagonal(values: &[f64]) -> impl FnMut(&[f64], &mut [f64]) + '_ {
        move |x, y| {
            for i in 0..x.len() {
                y[i] = values[i] * x[i];
            }
        }
    }

    fn unit_start(n: usize) -> Vec<f64> {
        let mut b: Vec<f64> = (0..n).map(|i| 1.0 + 0.3 * (i as f64 * 1.7).sin()).collect();
        let length = norm(&b);
        scale(1.0 / length, &mut b);
        b
    }

    const STOP: Stop = Stop { tolerance: 1e-12, max_steps: 200, every: 1 };

    #[test]
    fn finds_the_top_of_spectra_with_and_without_gap() {
        let n = 60;
        let spectra: [Vec<f64>; 4] = [
            (0..n).map(|i| 1.0 / (1.0 + i as f64)).collect(),
            (0..n).map(|i| 1.0 - 1e-4 * i as f64).collect(),
            vec![3.0; n],
            (0..n).map(|i| if i == 17 { 1.0 + 1e-9 } else { 1.0 }).collect(),
        ];
        for values in &spectra {
            let mut lanczos = Lanczos::new(n, 200);
            let mut x = vec![0.0; n];
            let ritz = lanczos
                .run(&unit_start(n), &STOP, diagonal(values), |_, _| true, &mut x)
                .expect("no limits");
            let top = values.iter().fold(0.0f64, |m, v| m.max(*v));
            assert!((ritz.theta - top).abs() <= 1e-11 * top, "{ritz:?} instead of {top}");
            let mut y = vec![0.0; n];
            diagonal(values)(&x, &mut y);
            axpy(-ritz.theta, &x, &mut y);
            assert!(norm(&y) <= 1e-11 * top, "residual {}", norm(&y));
        }
    }

    #[test]
    fn both_upper_bounds_hold_at_every_step_and_become_sharp() {
        let n = 80;
        let values: Vec<f64> = (0..n).map(|i| (1.0 - i as f64 / n as f64).powi(2)).collect();
        let start = unit_start(n);
        let overlap = start[0].abs();
        let frobenius = norm(&values);
        let log_tan = (1.0 / overlap / overlap - 1.0).ln();
        let mut last = f64::INFINITY;
        for steps in 2..60 {
            let stop = Stop { tolerance: 0.0, max_steps: steps, every: 100 };
            let mut lanczos = Lanczos::new(n, steps);
            let mut x = vec![0.0; n];
            let ritz = lanczos
                .run(&start, &stop, diagonal(&values), |_, _| true, &mut x)
                .expect("no limits");
            let product = lanczos.tridiagonal().upper_bound(ritz.theta, overlap, frobenius);
            let chebyshev = chebyshev_bound(ritz.theta, steps, log_tan);
            assert!(product >= 1.0 - 1e-13, "step {steps}: {product}");
            assert!(chebyshev >= 1.0 - 1e-13, "step {steps}: {chebyshev}");
            assert!(ritz.theta <= 1.0 + 1e-13);
            last = product;
        }
        assert!(last <= 1.0 + 1e-9, "{last}");
    }

    /// Eigenvalues 1 and those of a worst case below a gap, with hardly anything of the first eigenvector in the start.
    #[test]
    fn the_chebyshev_bound_is_nearly_attained() {
        let (n, steps, gap, overlap) = (80, 12, 0.7, 1e-12f64);
        let node = |i: usize| (std::f64::consts::PI * (i - 1) as f64 / (n - 2) as f64).cos();
        let value = |i: usize| if i == 0 { 1.0 } else { (1.0 - gap) * (0.5 + 0.5 * node(i)) };
        let values: Vec<f64> = (0..n).map(value).collect();
        let other = ((1.0 - overlap * overlap) / (n - 1) as f64).sqrt();
        let start: Vec<f64> = (0..n).map(|i| if i == 0 { overlap } else { other }).collect();
        let stop = Stop { tolerance: 0.0, max_steps: steps, every: 100 };
        let (mut lanczos, mut x) = (Lanczos::new(n, steps), vec![0.0; n]);
        let ritz =
            lanczos.run(&start, &stop, diagonal(&values), |_, _| true, &mut x).expect("no limits");
        let bound = chebyshev_bound(ritz.theta, steps, (1.0 / overlap / overlap - 1.0).ln());
        assert!(bound >= 1.0, "{bound}");
        // lambda - theta is at most this share of lambda, and is nine tenths of it
        let (share, missed) = (1.0 - ritz.theta / bound, 1.0 - ritz.theta);
        assert!((0.8 * share..=share).contains(&missed), "misses {missed}, may miss {share}");
    }

    #[test]
    fn a_start_inside_an_invariant_subspace_ends_when_that_is_exhausted() {
        let values = [5.0, 4.0, 3.0, 2.0];
        let mut start = [0.0, 1.0, 1.0, 0.0];
        scale(0.5f64.sqrt(), &mut start);
        let mut lanczos = Lanczos::new(4, 10);
        let mut x = [0.0; 4];
        let ritz =
            lanczos.run(&start, &STOP, diagonal(&values), |_, _| true, &mut x).expect("no limits");
        assert_eq!(ritz.steps, 2);
        assert!((ritz.theta - 4.0).abs() < 1e-13);
    }
}
