//! A problem from closures.

use super::{
    BestResponse, BlockConstants, Capabilities, KnownConstants, PreparedImage, SaddleProblem,
};
use crate::error::{Error, Result};

type ValueFn<'a> = Box<dyn Fn(&[f64], &[f64]) -> f64 + Send + Sync + 'a>;
type GradFn<'a> = Box<dyn Fn(&[f64], &[f64], &mut [f64]) + Send + Sync + 'a>;
type ResponseFn<'a> = Box<dyn Fn(&[f64], &mut [f64]) + Send + Sync + 'a>;

/// A saddle problem made from closures.
///
/// ```
/// use couloir::problem::{check_gradient, BlockConstants, ClosureProblem};
/// // f(x, y) = x y - y^2 / 2
/// let problem = ClosureProblem::new(
///     1, 1,
///     |x, y| x[0] * y[0] - 0.5 * y[0] * y[0],
///     |_x, y, g| g[0] = y[0],
///     |x, y, g| g[0] = x[0] - y[0],
/// )?
/// .with_constants(BlockConstants::all(0.0, 1.0, 1.0, 1.0))?;
/// assert!(check_gradient(&problem, &[0.3], &[0.7])?.worst() < 1e-6);
/// # Ok::<(), couloir::Error>(())
/// ```
pub struct ClosureProblem<'a> {
    dim_x: usize,
    dim_y: usize,
    value: ValueFn<'a>,
    grad_x: GradFn<'a>,
    grad_y: GradFn<'a>,
    response: Option<ResponseFn<'a>>,
    constants: BlockConstants,
}

impl<'a> ClosureProblem<'a> {
    /// A problem with `value(x, y)`, `grad_x(x, y, out)` and `grad_y(x, y, out)`.
    ///
    /// # Errors
    /// A dimension of zero.
    pub fn new(
        dim_x: usize,
        dim_y: usize,
        value: impl Fn(&[f64], &[f64]) -> f64 + Send + Sync + 'a,
        grad_x: impl Fn(&[f64], &[f64], &mut [f64]) + Send + Sync + 'a,
        grad_y: impl Fn(&[f64], &[f64], &mut [f64]) + Send + Sync + 'a,
    ) -> Result<Self> {
        if dim_x == 0 || dim_y == 0 {
            return Err(Error::EmptySet {
                why: format!("a problem of dimensions {dim_x} and {dim_y}"),
            });
        }
        Ok(ClosureProblem {
            dim_x,
            dim_y,
            value: Box::new(value),
            grad_x: Box::new(grad_x),
            grad_y: Box::new(grad_y),
            response: None,
            constants: BlockConstants::default(),
        })
    }

    /// Adds a best response: `response(x, out)` writes the maximiser of `f(x, .)`. It is not believed: what a response misses is
    /// measured, by one gradient in `y` and one linear minimisation.
    #[must_use]
    pub fn with_best_response(
        mut self,
        response: impl Fn(&[f64], &mut [f64]) + Send + Sync + 'a,
    ) -> Self {
        self.response = Some(Box::new(response));
        self
    }

    /// Adds constants.
    ///
    /// # Errors
    /// A constant that cannot be one.
    pub fn with_constants(mut self, constants: BlockConstants) -> Result<Self> {
        constants.check()?;
        self.constants = constants;
        Ok(self)
    }
}

impl std::fmt::Debug for ClosureProblem<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClosureProblem")
            .field("dim_x", &self.dim_x)
            .field("dim_y", &self.dim_y)
            .field("constants", &self.constants)
            .finish_non_exhaustive()
    }
}

impl SaddleProblem for ClosureProblem<'_> {
    fn dim_x(&self) -> usize {
        self.dim_x
    }

    fn dim_y(&self) -> usize {
        self.dim_y
    }

    fn value(&self, at: PreparedImage<'_>, y: &[f64]) -> f64 {
        (self.value)(at.image, y)
    }

    fn grad_image(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
        (self.grad_x)(at.image, y, out);
    }

    fn grad_y(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
        (self.grad_y)(at.image, y, out);
    }

    fn capabilities(&self) -> Capabilities<'_> {
        let mut capabilities = Capabilities::NONE.with_constants(self);
        capabilities.best_response = self.response.as_ref().map(|_| self as &dyn BestResponse);
        capabilities
    }
}

impl BestResponse for ClosureProblem<'_> {
    fn best_response(&self, at: PreparedImage<'_>, y: &mut [f64]) -> f64 {
        if let Some(response) = &self.response {
            response(at.image, y);
        }
        f64::INFINITY
    }
}

impl KnownConstants for ClosureProblem<'_> {
    fn constants(&self) -> BlockConstants {
        self.constants
    }
}
