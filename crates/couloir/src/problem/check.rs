//! A check of a user's gradients against finite differences.

use super::{PointX, SaddleProblem, WithFallbacks};
use crate::error::{Result, check_finite, check_len};
use crate::linalg::{axpy, dot, norm};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// What [`check_gradient`] found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GradientCheck {
    /// The largest relative error of `<grad_x, d>` over the directions tried.
    pub grad_x: f64,
    /// The same in `y`.
    pub grad_y: f64,
}

impl GradientCheck {
    /// The larger of the two; below about 1e-5 for right gradients.
    #[must_use]
    pub fn worst(&self) -> f64 {
        self.grad_x.max(self.grad_y)
    }
}

/// Random directions tried in each block, besides the gradient's own.
const DIRECTIONS: usize = 8;

/// Compares the gradients of a problem at `(x, y)` with central differences of its value, along
/// the gradient and along random directions (the same ones every time).
///
/// The points tried lie off the sets by a small step: `value` must be defined there.
///
/// ```
/// use couloir::problem::{check_gradient, ClosureProblem};
/// let wrong = ClosureProblem::new(1, 1, |x, y| x[0] * y[0] - y[0] * y[0],
///     |_, y, g| g[0] = y[0],
///     |x, y, g| g[0] = x[0] - y[0], // should be x - 2 y
/// )?;
/// let report = check_gradient(&wrong, &[0.5], &[0.5])?;
/// assert!(report.grad_x < 1e-6 && report.grad_y > 0.1);
/// # Ok::<(), couloir::Error>(())
/// ```
///
/// # Errors
/// Points of wrong length; values or gradients that are not finite.
pub fn check_gradient(problem: &dyn SaddleProblem, x: &[f64], y: &[f64]) -> Result<GradientCheck> {
    check_len("x", problem.dim_x(), x.len())?;
    check_len("y", problem.dim_y(), y.len())?;
    check_finite("x", x)?;
    check_finite("y", y)?;
    let mut point = PointX::new(problem);
    let problem = WithFallbacks::new(problem);
    let mut value = |x: &[f64], y: &[f64]| -> Result<f64> {
        problem.image(x, &mut point.image);
        problem.prepare(&point.image, &mut point.cache);
        let v = problem.value(point.prepared(), y);
        check_finite("value of f", &[v])?;
        Ok(v)
    };
    let mut base = PointX::new(&*problem);
    problem.image(x, &mut base.image);
    problem.prepare(&base.image, &mut base.cache);
    let mut slope_image = vec![0.0; problem.image_dim()];
    let mut grad_x = vec![0.0; x.len()];
    problem.grad_image(base.prepared(), y, &mut slope_image);
    problem.adjoint(&slope_image, &mut grad_x);
    check_finite("grad_x", &grad_x)?;
    let mut grad_y = vec![0.0; y.len()];
    problem.grad_y(base.prepared(), y, &mut grad_y);
    check_finite("grad_y", &grad_y)?;

    let mut rng = Pcg64Mcg::seed_from_u64(0x67ad);
    let x_error = worst_direction(x, &grad_x, &mut rng, |p| value(p, y))?;
    let y_error = worst_direction(y, &grad_y, &mut rng, |p| value(x, p))?;
    Ok(GradientCheck { grad_x: x_error, grad_y: y_error })
}

fn worst_direction(
    at: &[f64],
    gradient: &[f64],
    rng: &mut Pcg64Mcg,
    mut value: impl FnMut(&[f64]) -> Result<f64>,
) -> Result<f64> {
    let size = norm(gradient);
    let scale = norm(at) / (at.len() as f64).sqrt();
    let h = f64::EPSILON.cbrt() * if scale > 0.0 { scale } else { 1.0 };
    let centre = value(at)?;
    let mut worst: f64 = 0.0;
    for trial in 0..=DIRECTIONS {
        let mut direction: Vec<f64> = if trial == 0 && size > 0.0 {
            gradient.to_vec()
        } else {
            at.iter().map(|_| rng.random_range(-1.0..1.0)).collect()
        };
        let length = norm(&direction) / (at.len() as f64).sqrt();
        crate::linalg::scale(1.0 / length, &mut direction);
        let mut moved = at.to_vec();
        axpy(h, &direction, &mut moved);
        let up = value(&moved)?;
        axpy(-2.0 * h, &direction, &mut moved);
        let down = value(&moved)?;
        let measured = (up - down) / (2.0 * h);
        let claimed = dot(gradient, &direction);
        // Rounding of the values limits what a difference can tell.
        let rounding = 4.0 * f64::EPSILON * (up.abs() + down.abs() + centre.abs()) / (2.0 * h);
        let error = ((measured - claimed).abs() - rounding).max(0.0);
        let against = claimed.abs().max(measured.abs()).max(size).max(rounding);
        if against > 0.0 {
            worst = worst.max(error / against);
        }
    }
    Ok(worst)
}
