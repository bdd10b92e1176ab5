//! The procedure CndG (Algorithm 2 of the paper), exactly as printed.

use super::{SlideReport, SlideState, SlideTask};
use crate::domain::Oracle;
use crate::error::Result;
use crate::linalg::{dot_difference, norm};
use crate::watch::Watch;

/// Scratch memory of [`cndg`] for one set.
#[derive(Clone, Debug)]
pub struct Cndg {
    gradient: Vec<f64>,
    vertex: Vec<f64>,
    watch: Watch,
}

impl Cndg {
    /// Scratch for points with `dim` coordinates.
    #[must_use]
    pub fn new(dim: usize) -> Self {
        Cndg { gradient: vec![0.0; dim], vertex: vec![0.0; dim], watch: Watch::default() }
    }

    /// Hands over the watch that every linear minimisation is counted on.
    pub fn attend(&mut self, watch: &Watch) {
        self.watch = watch.clone();
    }
}

/// CndG(r, q, beta, eta, Omega):
///
/// ```text
/// q_1 = q
/// for t = 1, 2, ...
///     p_t   = argmin over p of <r + beta (q_t - q), p>
///     tau_t = <r + beta (q_t - q), q_t - p_t>
///     if tau_t <= eta, return q_t
///     theta_t = min(1, tau_t / (beta |q_t - p_t|^2))
///     q_{t+1} = (1 - theta_t) q_t + theta_t p_t
/// ```
///
/// Beyond the listing it ends when the budget is spent, and when `tau_t` is lost in rounding.
///
/// # Errors
/// What the linear minimisation reports, and an interruption by the watch.
pub fn cndg<O: Oracle + ?Sized>(
    oracle: &mut O,
    task: &SlideTask<'_>,
    scratch: &mut Cndg,
    out: &mut [f64],
) -> Result<SlideReport> {
    let SlideTask { r, q, beta, eta, budget } = *task;
    let Cndg { gradient, vertex, watch } = scratch;
    out.copy_from_slice(q);
    gradient.copy_from_slice(r);
    let norm_q = norm(q);
    let mut report = SlideReport {
        gap: f64::INFINITY,
        lo_calls: 0,
        products: 0,
        state: SlideState::OutOfBudget,
    };
    while report.lo_calls < budget {
        watch.spend(1)?;
        let minimum = oracle.lmo(gradient, vertex)?;
        report.lo_calls += 1;
        report.products += minimum.products;
        let (tau, distance) = dot_difference(gradient, out, vertex);
        report.gap = tau + (minimum.value - minimum.lower).max(0.0);
        if report.gap <= eta {
            report.state = SlideState::Reached;
            return Ok(report);
        }
        let theta = (tau / (beta * distance)).min(1.0);
        // rounding of the gradient, whose parts may cancel, and of the sum; the latter is looked at
        // only where tau is small beside its own parts
        let apart = distance.sqrt();
        let mut floor = beta * f64::EPSILON * (norm_q + apart) * apart;
        if tau <= 1e-6 * (minimum.value.abs() + (minimum.value + tau).abs()) {
            floor = floor.max(4.0 * f64::EPSILON * norm(gradient) * apart);
        }
        if !(theta > 0.0) || tau <= floor {
            report.state = SlideState::RoundingFloor;
            return Ok(report);
        }
        if report.lo_calls == budget {
            return Ok(report); // a last step would go unverified
        }
        // q_{t+1}, and with it the next gradient
        for i in 0..gradient.len() {
            out[i] += theta * (vertex[i] - out[i]);
            gradient[i] = r[i] + beta * (out[i] - q[i]);
        }
    }
    Ok(report)
}
