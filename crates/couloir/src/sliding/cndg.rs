//! The procedure CndG (Algorithm 2 of the paper), exactly as printed.

use super::{SlideReport, SlideState, SlideTask};
use crate::domain::Oracle;
use crate::error::Result;
use crate::linalg::{dot, norm_squared};

/// Scratch memory of [`cndg`] for one set.
#[derive(Clone, Debug)]
pub struct Cndg {
    gradient: Vec<f64>,
    vertex: Vec<f64>,
}

impl Cndg {
    /// Scratch for points with `dim` coordinates.
    #[must_use]
    pub fn new(dim: usize) -> Self {
        Cndg { gradient: vec![0.0; dim], vertex: vec![0.0; dim] }
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
/// What the linear minimisation reports.
pub fn cndg<O: Oracle + ?Sized>(
    oracle: &mut O,
    task: &SlideTask<'_>,
    scratch: &mut Cndg,
    out: &mut [f64],
) -> Result<SlideReport> {
    let SlideTask { r, q, beta, eta, budget } = *task;
    let Cndg { gradient, vertex } = scratch;
    out.copy_from_slice(q);
    let mut report = SlideReport {
        gap: f64::INFINITY,
        lo_calls: 0,
        products: 0,
        state: SlideState::OutOfBudget,
    };
    while report.lo_calls < budget {
        for i in 0..gradient.len() {
            gradient[i] = r[i] + beta * (out[i] - q[i]);
        }
        let minimum = oracle.lmo(gradient, vertex)?;
        report.lo_calls += 1;
        report.products += minimum.products;
        let mut tau = 0.0;
        let mut size = 0.0;
        let mut distance = 0.0;
        for i in 0..gradient.len() {
            let d = out[i] - vertex[i];
            tau += gradient[i] * d;
            size += (gradient[i] * d).abs();
            distance += d * d;
        }
        report.gap = tau + (minimum.value - minimum.lower).max(0.0);
        if report.gap <= eta {
            report.state = SlideState::Reached;
            return Ok(report);
        }
        let floor = 4.0 * f64::EPSILON * size.max(gradient_rounding(r, out, q, beta));
        let theta = (tau / (beta * distance)).min(1.0);
        if tau <= floor || theta <= 0.0 || !theta.is_finite() {
            report.state = SlideState::RoundingFloor;
            return Ok(report);
        }
        for i in 0..gradient.len() {
            out[i] += theta * (vertex[i] - out[i]);
        }
    }
    Ok(report)
}

/// The size of what is added up in `<r + beta (u - q), u>`, whose rounding limits `tau`.
fn gradient_rounding(r: &[f64], u: &[f64], q: &[f64], beta: f64) -> f64 {
    let norm_u = norm_squared(u).sqrt();
    dot(r, u).abs().max(beta * norm_u * norm_squared(q).sqrt().max(norm_u) * f64::EPSILON)
}
