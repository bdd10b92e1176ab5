//! iSTORC (Algorithm 5 of the paper): conditional gradient sliding with variance reduction on a mean
//! of functions. With a finite sum and the full gradient at every snapshot it is STORC (Hazan and Luo).

use crate::domain::{Oracle, SlideState, SlideTask};
use crate::error::Result;
use crate::linalg::{between, step_toward};
use crate::random::{Population, Stream};

/// A mean of functions on one block, to be minimised by [`Istorc`].
pub trait SampledFunction {
    /// How many samples there are.
    fn population(&self) -> Population;

    /// Writes the mean gradient over a batch at `w`.
    ///
    /// # Errors
    /// What the function reports, for instance a gradient that is not finite.
    fn batch_gradient(&mut self, batch: &[u64], w: &[f64], out: &mut [f64]) -> Result<()>;
}

/// How the gradient at a snapshot is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Snapshot {
    /// From `Q_t` samples, as in iSTORC.
    #[default]
    Sampled,
    /// From all components of a finite sum, as in STORC.
    Full,
}

/// The constants of iSTORC as printed, for `E |grad H(p) - grad H(q)|^2 <= L^2 |p - q|^2`, `h` `mu`-strongly
/// convex, a set of diameter `D`, and `E |grad H - grad h|^2 <= sigma^2`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IstorcConstants {
    /// `L`.
    pub smoothness: f64,
    /// `mu`.
    pub strong_convexity: f64,
    /// `D`.
    pub diameter: f64,
    /// `sigma`.
    pub sigma: f64,
}

impl IstorcConstants {
    /// `kappa = L/mu`.
    #[must_use]
    pub fn kappa(&self) -> f64 {
        self.smoothness / self.strong_convexity
    }

    /// `M = ceil(4 sqrt(2 kappa))`.
    #[must_use]
    pub fn steps_per_round(&self) -> u64 {
        (4.0 * (2.0 * self.kappa()).sqrt()).ceil() as u64
    }

    /// `beta_k = 3L/k`.
    #[must_use]
    pub fn beta(&self, k: u64) -> f64 {
        3.0 * self.smoothness / k as f64
    }

    /// `eta_{t,k} = kappa L D^2 / (2^{t-2} M k)`.
    #[must_use]
    pub fn eta(&self, t: u64, k: u64) -> f64 {
        self.kappa() * self.smoothness * self.diameter.powi(2)
            / (2f64.powi(t as i32 - 2) * self.steps_per_round() as f64 * k as f64)
    }

    /// `S = 4800 M kappa`, samples for a difference of gradients.
    #[must_use]
    pub fn difference_batch(&self) -> u64 {
        (4800.0 * self.steps_per_round() as f64 * self.kappa()).ceil() as u64
    }

    /// `Q_t = ceil(1200 2^{t-1} sigma^2 sqrt(kappa) / (L^2 D^2))`, samples at a snapshot; at least 1.
    #[must_use]
    pub fn snapshot_batch(&self, t: u64) -> u64 {
        let q = 1200.0 * 2f64.powi(t as i32 - 1) * self.sigma.powi(2) * self.kappa().sqrt()
            / (self.smoothness * self.diameter).powi(2);
        q.ceil().max(1.0) as u64
    }

    /// Theorem 2: `E[h(x_t) - h*] <= L D^2 / 2^{t+1}` for `t >= 1`.
    #[must_use]
    pub fn bound(&self, t: u64) -> f64 {
        self.smoothness * self.diameter.powi(2) / 2f64.powi(t as i32 + 1)
    }

    /// Rounds that reach `eps`: `max(1, ceil(log2(L D^2/eps)) - 1)`.
    #[must_use]
    pub fn rounds_to(&self, eps: f64) -> u64 {
        let halvings = (self.smoothness * self.diameter.powi(2) / eps).log2().ceil() - 1.0;
        halvings.max(1.0) as u64
    }
}

/// iSTORC with its scratch memory.
#[derive(Clone, Debug)]
pub struct Istorc {
    constants: IstorcConstants,
    snapshot: Snapshot,
    batch: Vec<u64>,
    x_0: Vec<f64>,
    u: Vec<f64>,
    u_next: Vec<f64>,
    w: Vec<f64>,
    nu: Vec<f64>,
    r: Vec<f64>,
    at_snapshot: Vec<f64>,
}

/// What [`Istorc::round`] reports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IstorcReport {
    /// Gradients of single samples.
    pub component_grads: u64,
    /// Linear minimisations.
    pub lo_calls: u64,
    /// Products of a matrix with a vector inside them.
    pub products: u64,
    /// How it ended.
    pub state: SlideState,
}

impl Istorc {
    /// iSTORC on `dim` variables.
    #[must_use]
    pub fn new(dim: usize, constants: IstorcConstants, snapshot: Snapshot) -> Self {
        let zeros = vec![0.0; dim];
        Istorc {
            constants,
            snapshot,
            batch: Vec::new(),
            x_0: zeros.clone(),
            u: zeros.clone(),
            u_next: zeros.clone(),
            w: zeros.clone(),
            nu: zeros.clone(),
            r: zeros.clone(),
            at_snapshot: zeros,
        }
    }

    /// The constants in use.
    #[must_use]
    pub fn constants(&self) -> IstorcConstants {
        self.constants
    }

    /// Runs rounds 1 to `rounds`, starting and ending in `x`.
    ///
    /// # Errors
    /// What the function or the oracle reports.
    pub fn minimise(
        &mut self,
        h: &mut dyn SampledFunction,
        oracle: &mut dyn Oracle,
        stream: &mut Stream,
        rounds: u64,
        budget: u64,
        x: &mut [f64],
    ) -> Result<IstorcReport> {
        let mut total = IstorcReport {
            component_grads: 0,
            lo_calls: 0,
            products: 0,
            state: SlideState::Reached,
        };
        for t in 1..=rounds {
            let left = budget.saturating_sub(total.lo_calls);
            let report = self.round(h, oracle, stream, t, left, x)?;
            total.component_grads += report.component_grads;
            total.lo_calls += report.lo_calls;
            total.products += report.products;
            total.state = report.state;
            if report.state == SlideState::OutOfBudget {
                break;
            }
        }
        Ok(total)
    }

    /// Round `t`:
    ///
    /// ```text
    /// x_0 = u_0 = last x; draw Q_t samples, nu = grad h_Q(x_0)
    /// for k = 1 .. M
    ///     w_k = (1 - lambda_k) x_{k-1} + lambda_k u_{k-1}
    ///     draw S samples, r_k = grad h_S(w_k) - grad h_S(x_0) + nu
    ///     u_k = CndG(r_k, u_{k-1}, beta_k, eta_{t,k})
    ///     x_k = (1 - lambda_k) x_{k-1} + lambda_k u_k
    /// ```
    ///
    /// On a finite sum batches are drawn without replacement; what asks for more than there are is the
    /// full sum.
    ///
    /// # Errors
    /// What the function or the oracle reports.
    pub fn round(
        &mut self,
        h: &mut dyn SampledFunction,
        oracle: &mut dyn Oracle,
        stream: &mut Stream,
        t: u64,
        budget: u64,
        x: &mut [f64],
    ) -> Result<IstorcReport> {
        let c = self.constants;
        let population = h.population();
        let mut report = IstorcReport {
            component_grads: 0,
            lo_calls: 0,
            products: 0,
            state: SlideState::Reached,
        };
        self.x_0.copy_from_slice(x);
        self.u.copy_from_slice(x);
        let wanted = match (self.snapshot, population) {
            (Snapshot::Full, Population::Finite(n)) => n,
            _ => c.snapshot_batch(t),
        };
        stream.batch(population, wanted, &mut self.batch)?;
        h.batch_gradient(&self.batch, &self.x_0, &mut self.nu)?;
        report.component_grads += self.batch.len() as u64;
        for k in 1..=c.steps_per_round() {
            let lambda = 2.0 / (k as f64 + 1.0);
            between(lambda, x, &self.u, &mut self.w);
            stream.batch(population, c.difference_batch(), &mut self.batch)?;
            h.batch_gradient(&self.batch, &self.w, &mut self.r)?;
            h.batch_gradient(&self.batch, &self.x_0, &mut self.at_snapshot)?;
            report.component_grads += 2 * self.batch.len() as u64;
            for i in 0..self.r.len() {
                self.r[i] += self.nu[i] - self.at_snapshot[i];
            }
            let task = SlideTask {
                r: &self.r,
                q: &self.u,
                beta: c.beta(k),
                eta: c.eta(t, k),
                budget: budget.saturating_sub(report.lo_calls),
            };
            let slide = oracle.slide(&task, &mut self.u_next)?;
            report.lo_calls += slide.lo_calls;
            report.products += slide.products;
            if slide.state == SlideState::OutOfBudget {
                report.state = SlideState::OutOfBudget;
                return Ok(report);
            }
            std::mem::swap(&mut self.u, &mut self.u_next);
            step_toward(lambda, &self.u, x);
        }
        Ok(report)
    }
}
