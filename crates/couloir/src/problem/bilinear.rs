//! Problems that are linear in each block.

/// `f(x, y) = c + <a, x> + <b, y> + x^T M y`: linear in `x` for every `y`, and in `y` for every `x`, for all vectors and not only
/// on the sets.
///
/// `grad_x` then depends on `y` alone and `grad_y` on `x` alone, which lets methods such as
/// [`restarted`](crate::Method::restarted) take two products per iteration, and a pair of gradients certifies any mean of pairs.
/// [`MatrixGame`](super::MatrixGame) has the capability; a problem of one's own claims it like this:
///
/// ```
/// use couloir::domain::Simplex;
/// use couloir::problem::{Bilinear, Capabilities, PreparedImage, SaddleProblem};
/// use couloir::{Method, Solve};
///
/// /// Matching pennies, where the second player pays `fee` for tails.
/// struct Pennies { fee: f64 }
///
/// impl SaddleProblem for Pennies {
///     fn dim_x(&self) -> usize { 2 }
///     fn dim_y(&self) -> usize { 2 }
///     fn value(&self, at: PreparedImage<'_>, y: &[f64]) -> f64 {
///         (at.image[0] - at.image[1]) * (y[0] - y[1]) - self.fee * y[1]
///     }
///     fn grad_image(&self, _at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
///         out.copy_from_slice(&[y[0] - y[1], y[1] - y[0]]);
///     }
///     fn grad_y(&self, at: PreparedImage<'_>, _y: &[f64], out: &mut [f64]) {
///         let ahead = at.image[0] - at.image[1];
///         out.copy_from_slice(&[ahead, -ahead - self.fee]);
///     }
///     fn capabilities(&self) -> Capabilities<'_> { Capabilities::NONE.with_bilinear(self) }
/// }
///
/// impl Bilinear for Pennies {
///     fn entries(&self) -> u64 { 4 }
///     fn coupling(&self, out: &mut [f64]) -> bool { out.copy_from_slice(&[1.0, -1.0, -1.0, 1.0]); true }
/// }
///
/// let set = Simplex::new(2)?;
/// let solution = Solve::new(&Pennies { fee: 0.5 }, &set, &set).gap(1e-9).run()?;
/// assert!((solution.x[0] - 0.375).abs() < 1e-6 && (solution.y[0] - 0.5).abs() < 1e-6);
/// # Ok::<(), couloir::Error>(())
/// ```
pub trait Bilinear: Send + Sync {
    /// The multiplications that one product with `M` takes: its entries that are not zero, where they are stored.
    fn entries(&self) -> u64;

    /// Writes `M`, row-major with one row for each coordinate of `x`, and returns true; or returns false, where the matrix is
    /// known only by its products. Methods that solve a part of the game exactly need it.
    fn coupling(&self, out: &mut [f64]) -> bool;
}
