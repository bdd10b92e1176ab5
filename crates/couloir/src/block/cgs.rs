//! The conditional gradient sliding method CGS for smooth strongly convex functions (Algorithm 1
//! of the paper).

use crate::domain::{Oracle, SlideState, SlideTask};
use crate::error::Result;
use crate::linalg::{between, dot, step_toward};

/// A smooth function on one block, to be minimised by [`Cgs`].
pub trait SmoothFunction {
    /// Writes the gradient at `w`.
    ///
    /// # Errors
    /// What the function reports, for instance a gradient that is not finite.
    fn gradient(&mut self, w: &[f64], out: &mut [f64]) -> Result<()>;
}

/// The constants of CGS and its scratch memory.
#[derive(Clone, Debug)]
pub struct Cgs {
    /// Smoothness of the function.
    pub smoothness: f64,
    /// Its strong convexity.
    pub strong_convexity: f64,
    u: Vec<f64>,
    u_next: Vec<f64>,
    w: Vec<f64>,
    gradient: Vec<f64>,
}

/// What [`Cgs::minimise`] reports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CgsReport {
    /// `delta_0 2^-t` after the `t` rounds done: a bound of `h(x) - min h`, as far as the constants
    /// are right.
    pub guarantee: f64,
    /// Rounds of `M` steps done.
    pub rounds: u64,
    /// Gradients of the function.
    pub gradients: u64,
    /// Linear minimisations.
    pub lo_calls: u64,
    /// Products of a matrix with a vector inside them.
    pub products: u64,
    /// How it ended: `Reached` covers the guarantee as well as the measured gap.
    pub state: SlideState,
}

/// How far CGS goes.
#[derive(Clone, Copy, Debug)]
pub struct CgsGoal {
    /// Accuracy `eps` of the function value: `ceil(log2(delta_0 / eps))` rounds.
    pub accuracy: f64,
    /// A bound of `h(x) - min h` at the start; the FW-gap there where none is given.
    pub delta_0: Option<f64>,
    /// Linear minimisations that may be spent.
    pub budget: u64,
}

impl Cgs {
    /// CGS for an `L`-smooth, `mu`-strongly convex function of `dim` variables.
    #[must_use]
    pub fn new(dim: usize, smoothness: f64, strong_convexity: f64) -> Self {
        let zeros = vec![0.0; dim];
        Cgs {
            smoothness,
            strong_convexity,
            u: zeros.clone(),
            u_next: zeros.clone(),
            w: zeros.clone(),
            gradient: zeros,
        }
    }

    /// `M = ceil(sqrt(24 L / mu))`, the steps of a round.
    #[must_use]
    pub fn steps_per_round(&self) -> u64 {
        (24.0 * self.smoothness / self.strong_convexity).sqrt().ceil() as u64
    }

    /// `eta_{t,k} = 8 L delta_0 2^-t / (mu M k)`.
    #[must_use]
    pub fn eta(&self, delta_0: f64, t: u64, k: u64) -> f64 {
        8.0 * self.smoothness * delta_0 * 0.5f64.powi(t as i32)
            / (self.strong_convexity * self.steps_per_round() as f64 * k as f64)
    }

    /// Minimises `h` over the oracle's set, starting and ending in `x`:
    ///
    /// ```text
    /// delta_0 = the bound given, or the FW-gap of h at x (one gradient, one linear minimisation)
    /// for t = 1 .. ceil(log2(delta_0 / eps))
    ///     x_0 = u_0 = last x
    ///     for k = 1 .. M
    ///         lambda_k = 2/(k+1), beta_k = 2L/k, eta_{t,k} = 8 L delta_0 2^-t / (mu M k)
    ///         w_k = (1 - lambda_k) x_{k-1} + lambda_k u_{k-1}
    ///         u_k = CndG(grad h(w_k), u_{k-1}, beta_k, eta_{t,k})
    ///         x_k = (1 - lambda_k) x_{k-1} + lambda_k u_k
    /// ```
    ///
    /// After `t` rounds `h(x) - min h <= delta_0 2^-t`.
    ///
    /// # Errors
    /// What the function or the oracle reports.
    pub fn minimise(
        &mut self,
        h: &mut dyn SmoothFunction,
        oracle: &mut dyn Oracle,
        goal: CgsGoal,
        x: &mut [f64],
    ) -> Result<CgsReport> {
        let m = self.steps_per_round();
        let mut report = CgsReport {
            guarantee: 0.0,
            rounds: 0,
            gradients: 0,
            lo_calls: 0,
            products: 0,
            state: SlideState::Reached,
        };
        let delta_0 = match goal.delta_0 {
            Some(bound) => bound,
            None => {
                h.gradient(x, &mut self.gradient)?;
                let start = oracle.lmo(&self.gradient, &mut self.w)?;
                (report.gradients, report.lo_calls, report.products) = (1, 1, start.products);
                (dot(&self.gradient, x) - start.lower).max(0.0)
            }
        };
        report.guarantee = delta_0;
        let rounds = rounds_to(delta_0, goal.accuracy);
        for t in 1..=rounds {
            self.u.copy_from_slice(x);
            for k in 1..=m {
                let lambda = 2.0 / (k as f64 + 1.0);
                between(lambda, x, &self.u, &mut self.w);
                h.gradient(&self.w, &mut self.gradient)?;
                report.gradients += 1;
                let task = SlideTask {
                    r: &self.gradient,
                    q: &self.u,
                    beta: 2.0 * self.smoothness / k as f64,
                    eta: self.eta(delta_0, t, k),
                    budget: goal.budget.saturating_sub(report.lo_calls),
                };
                let slide = oracle.slide(&task, &mut self.u_next)?;
                report.lo_calls += slide.lo_calls;
                report.products += slide.products;
                if slide.state == SlideState::OutOfBudget {
                    report.state = SlideState::OutOfBudget;
                    return Ok(report);
                }
                if slide.state == SlideState::RoundingFloor {
                    report.state = SlideState::RoundingFloor;
                }
                std::mem::swap(&mut self.u, &mut self.u_next);
                step_toward(lambda, &self.u, x);
            }
            report.rounds = t;
            if report.state == SlideState::Reached {
                report.guarantee = delta_0 * 0.5f64.powi(t as i32); // every slide met its eta
            }
        }
        Ok(report)
    }
}

/// `ceil(log2(delta_0 / eps))`, at least 0, and no more than halvings lead from the largest number to none.
fn rounds_to(delta_0: f64, eps: f64) -> u64 {
    const HALVINGS: f64 = (f64::MAX_EXP - f64::MIN_EXP + 53) as f64;
    if delta_0 <= eps { 0 } else { (delta_0 / eps).log2().ceil().min(HALVINGS) as u64 }
}
