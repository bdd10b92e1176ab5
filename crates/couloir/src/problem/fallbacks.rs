//! A problem together with a general way for whatever it cannot do itself.

use super::{BlockConstants, Capabilities, Measured, PreparedImage, SaddleProblem};

/// A problem whose capabilities have been asked for once, with a fallback for each one that is missing: without an operator
/// the image is `x`, without a preparation the cache is empty, without exact differences values are subtracted.
///
/// ```
/// use couloir::problem::{ClosureProblem, WithFallbacks};
/// let bare = ClosureProblem::new(2, 1, |x, y| x[0] * y[0] - y[0] * y[0], |_, y, g| g.copy_from_slice(&[y[0], 0.0]),
///     |x, y, g| g[0] = x[0] - 2.0 * y[0])?;
/// let problem = WithFallbacks::new(&bare);
/// let mut image = [0.0; 2];
/// problem.image(&[0.5, 0.25], &mut image);
/// assert_eq!(image, [0.5, 0.25]);
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct WithFallbacks<'a> {
    problem: &'a dyn SaddleProblem,
    capabilities: Capabilities<'a>,
}

impl<'a> WithFallbacks<'a> {
    /// Asks the problem what it can do.
    #[must_use]
    pub fn new(problem: &'a dyn SaddleProblem) -> Self {
        WithFallbacks { problem, capabilities: problem.capabilities() }
    }

    /// What the problem can do itself.
    #[must_use]
    pub fn capabilities(&self) -> &Capabilities<'a> {
        &self.capabilities
    }

    /// The length of the image.
    #[must_use]
    pub fn image_dim(&self) -> usize {
        self.capabilities.operator.map_or_else(|| self.problem.dim_x(), |a| a.image_dim())
    }

    /// Writes the image `A x`.
    pub fn image(&self, x: &[f64], out: &mut [f64]) {
        match self.capabilities.operator {
            Some(operator) => operator.image(x, out),
            None => out.copy_from_slice(x),
        }
    }

    /// Writes the adjoint product `A^T s`.
    pub fn adjoint(&self, s: &[f64], out: &mut [f64]) {
        match self.capabilities.operator {
            Some(operator) => operator.adjoint(s, out),
            None => out.copy_from_slice(s),
        }
    }

    /// Writes `A A^T s`; `room` is as long as `x`.
    pub fn normal(&self, s: &[f64], room: &mut [f64], out: &mut [f64]) {
        match self.capabilities.column_wise {
            Some(operator) => operator.normal(s, room, out),
            None => {
                self.adjoint(s, room);
                self.image(room, out);
            }
        }
    }

    /// The length of the cache.
    #[must_use]
    pub fn cache_dim(&self) -> usize {
        self.capabilities.preparation.map_or(0, |p| p.cache_dim())
    }

    /// Writes what depends on the image alone.
    pub fn prepare(&self, image: &[f64], cache: &mut [f64]) {
        if let Some(preparation) = self.capabilities.preparation {
            preparation.prepare(image, cache);
        }
    }

    /// Writes an image, of which `fill(start, piece)` writes the piece from `start` on, and prepares it.
    pub fn prepare_filled(
        &self,
        fill: &(dyn Fn(usize, &mut [f64]) + Sync),
        image: &mut [f64],
        cache: &mut [f64],
    ) {
        match self.capabilities.preparation {
            Some(preparation) => preparation.prepare_filled(fill, image, cache),
            None => fill(0, image),
        }
    }

    /// `f(to, y) - f(from, y) - slope`.
    #[must_use]
    pub fn bend_x(
        &self,
        from: PreparedImage<'_>,
        to: PreparedImage<'_>,
        y: &[f64],
        slope: f64,
    ) -> Measured {
        match self.capabilities.differences {
            Some(differences) => differences.bend_x(from, to, y, slope),
            None => {
                let (problem, share) = (self.problem, self.plain_rounding());
                let (to, from) = (problem.value(to, y), problem.value(from, y));
                Measured::difference_by(share, to, from, slope)
            }
        }
    }

    /// `f(x, to) - f(x, from)`.
    #[must_use]
    pub fn change_y(&self, at: PreparedImage<'_>, from: &[f64], to: &[f64]) -> Measured {
        match self.capabilities.differences {
            Some(differences) => differences.change_y(at, from, to),
            None => {
                let (problem, share) = (self.problem, self.plain_rounding());
                let (to, from) = (problem.value(at, to), problem.value(at, from));
                Measured::difference_by(share, to, from, 0.0)
            }
        }
    }

    /// What rounding is taken to make of a number that a problem computes by plain sums over its coordinates, in shares of the sizes
    /// that enter.
    #[must_use]
    pub(crate) fn plain_rounding(&self) -> f64 {
        f64::EPSILON * (16 + self.problem.dim_x() + self.problem.dim_y()) as f64
    }

    /// The constants that are known.
    #[must_use]
    pub fn constants(&self) -> BlockConstants {
        self.capabilities.constants.map_or_else(BlockConstants::default, |c| c.constants())
    }
}

/// The methods that every problem has.
impl<'a> std::ops::Deref for WithFallbacks<'a> {
    type Target = dyn SaddleProblem + 'a;

    fn deref(&self) -> &Self::Target {
        self.problem
    }
}
