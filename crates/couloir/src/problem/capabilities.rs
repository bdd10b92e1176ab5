//! What a problem can do beyond the necessary.

use super::{
    BatchRestriction, BestResponse, Bilinear, ColumnWise, Curvature, ExactDifferences, Identity,
    ImageSpace, KnownConstants, KnownRounding, LinearOperator, MatrixOperator, Preparation,
    Sampled, SampledConstants,
};
use std::fmt;

/// What a problem can do beyond the methods that every [`SaddleProblem`](super::SaddleProblem) must have: one entry for each
/// capability, `None` where it is missing.
///
/// A problem names what it has, for example `Capabilities::NONE.with_operator(self).with_best_response(self)`.
///
/// A wrapper around another problem passes everything on with `self.inner.capabilities()`, or says which capabilities it
/// drops and which ones it answers itself. Nothing gets lost without a line that says so:
///
/// ```
/// use couloir::problem::{Capabilities, PreparedImage, SaddleProblem};
///
/// /// `f(x, y) + offset`.
/// struct Shifted<P> { inner: P, offset: f64 }
///
/// impl<P: SaddleProblem> SaddleProblem for Shifted<P> {
///     fn dim_x(&self) -> usize { self.inner.dim_x() }
///     fn dim_y(&self) -> usize { self.inner.dim_y() }
///     fn value(&self, at: PreparedImage<'_>, y: &[f64]) -> f64 { self.inner.value(at, y) + self.offset }
///     fn grad_image(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) { self.inner.grad_image(at, y, out) }
///     fn grad_y(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) { self.inner.grad_y(at, y, out) }
///     fn capabilities(&self) -> Capabilities<'_> {
///         let mut kept = self.inner.capabilities();
///         // their values lack the offset
///         kept.sampled = None;
///         kept.restriction = None;
///         kept
///     }
/// }
/// ```
///
/// Two entries decide in which form the problem receives `x`: with an operator it is the image `A x`, with a preparation there
/// is a cache beside it. A wrapper that forwards `value` and the gradients to its inner problem must therefore keep these
/// two; `self.inner.capabilities().representation()` keeps nothing else.
///
/// Solvers ask for capabilities once, when they start. What is missing is done in the general way, which may cost more
/// (the ledger shows it), or is refused with an error that names it.
#[derive(Clone, Copy, Default)]
#[non_exhaustive]
pub struct Capabilities<'a> {
    /// `f` depends on `x` through a linear image. Without: the image is `x`.
    pub operator: Option<&'a dyn LinearOperator>,
    /// The operator treats all columns alike. Without: trials on sets of matrices cost operator products.
    pub column_wise: Option<&'a dyn ColumnWise>,
    /// The operator works on factors of matrices. Without: points are whole matrices.
    pub matrix_operator: Option<&'a dyn MatrixOperator>,
    /// This process holds only a part of every image. Without: it holds whole images.
    pub image_space: Option<&'a dyn ImageSpace>,
    /// Work that depends on the image alone is done once for each point. Without: there is no cache.
    pub preparation: Option<&'a dyn Preparation>,
    /// The maximiser in `y` is known. Without: solvers search for it.
    pub best_response: Option<&'a dyn BestResponse>,
    /// Second derivatives of `max over y of f(., y)`. Without: differences of gradients.
    pub curvature: Option<&'a dyn Curvature>,
    /// `f` is linear in each block. Without: it is taken to be any convex-concave function.
    pub bilinear: Option<&'a dyn Bilinear>,
    /// Differences of values without cancellation. Without: values are subtracted.
    pub differences: Option<&'a dyn ExactDifferences>,
    /// Smoothness and strong concavity are known. Without: what needs them is refused.
    pub constants: Option<&'a dyn KnownConstants>,
    /// Bounds of the rounding in values and gradients are known. Without: they are estimated from what is seen.
    pub rounding: Option<&'a dyn KnownRounding>,
    /// `f` is a mean, and batches of it can be asked for. Without: methods that sample are refused.
    pub sampled: Option<&'a dyn Sampled>,
    /// Constants of the mean and of batches. Without: they must be given in a method's settings.
    pub sampled_constants: Option<&'a dyn SampledConstants>,
    /// The mean over a batch as a problem with capabilities of its own. Without: [`BatchProblem`](super::BatchProblem).
    pub restriction: Option<&'a dyn BatchRestriction>,
    /// What tells the problem from others like it. Without: its value at the start point alone.
    pub identity: Option<&'a dyn Identity>,
}

impl<'a> Capabilities<'a> {
    /// No capability: `value`, `grad_image` and `grad_y` are all there is.
    pub const NONE: Capabilities<'static> = Capabilities {
        operator: None,
        column_wise: None,
        matrix_operator: None,
        image_space: None,
        preparation: None,
        best_response: None,
        curvature: None,
        bilinear: None,
        differences: None,
        constants: None,
        rounding: None,
        sampled: None,
        sampled_constants: None,
        restriction: None,
        identity: None,
    };

    /// Only what decides in which form the problem receives `x`: the operator, whether it works by columns, who
    /// holds its images, and the preparation.
    #[must_use]
    pub fn representation(self) -> Self {
        Capabilities {
            operator: self.operator,
            column_wise: self.column_wise,
            matrix_operator: self.matrix_operator,
            image_space: self.image_space,
            preparation: self.preparation,
            ..Capabilities::NONE
        }
    }

    /// These capabilities and a linear image.
    #[must_use]
    pub fn with_operator(mut self, operator: &'a dyn LinearOperator) -> Self {
        self.operator = Some(operator);
        self
    }

    /// These capabilities and the claim that the operator works by columns.
    #[must_use]
    pub fn with_column_wise(mut self, column_wise: &'a dyn ColumnWise) -> Self {
        self.column_wise = Some(column_wise);
        self
    }

    /// These capabilities and an operator that works on factors of matrices.
    #[must_use]
    pub fn with_matrix_operator(mut self, operator: &'a dyn MatrixOperator) -> Self {
        self.matrix_operator = Some(operator);
        self
    }

    /// These capabilities and inner products of images that are held in parts.
    #[must_use]
    pub fn with_image_space(mut self, image_space: &'a dyn ImageSpace) -> Self {
        self.image_space = Some(image_space);
        self
    }

    /// These capabilities and a preparation of images.
    #[must_use]
    pub fn with_preparation(mut self, preparation: &'a dyn Preparation) -> Self {
        self.preparation = Some(preparation);
        self
    }

    /// These capabilities and a best response.
    #[must_use]
    pub fn with_best_response(mut self, best_response: &'a dyn BestResponse) -> Self {
        self.best_response = Some(best_response);
        self
    }

    /// These capabilities and second derivatives.
    #[must_use]
    pub fn with_curvature(mut self, curvature: &'a dyn Curvature) -> Self {
        self.curvature = Some(curvature);
        self
    }

    /// These capabilities and the claim that `f` is linear in each block.
    #[must_use]
    pub fn with_bilinear(mut self, bilinear: &'a dyn Bilinear) -> Self {
        self.bilinear = Some(bilinear);
        self
    }

    /// These capabilities and exact differences.
    #[must_use]
    pub fn with_differences(mut self, differences: &'a dyn ExactDifferences) -> Self {
        self.differences = Some(differences);
        self
    }

    /// These capabilities and constants.
    #[must_use]
    pub fn with_constants(mut self, constants: &'a dyn KnownConstants) -> Self {
        self.constants = Some(constants);
        self
    }

    /// These capabilities and bounds of rounding.
    #[must_use]
    pub fn with_rounding(mut self, rounding: &'a dyn KnownRounding) -> Self {
        self.rounding = Some(rounding);
        self
    }

    /// These capabilities and batches.
    #[must_use]
    pub fn with_sampled(mut self, sampled: &'a dyn Sampled) -> Self {
        self.sampled = Some(sampled);
        self
    }

    /// These capabilities and constants of the mean and of batches.
    #[must_use]
    pub fn with_sampled_constants(mut self, constants: &'a dyn SampledConstants) -> Self {
        self.sampled_constants = Some(constants);
        self
    }

    /// These capabilities and batches that are problems of their own.
    #[must_use]
    pub fn with_restriction(mut self, restriction: &'a dyn BatchRestriction) -> Self {
        self.restriction = Some(restriction);
        self
    }

    /// These capabilities and an identity.
    #[must_use]
    pub fn with_identity(mut self, identity: &'a dyn Identity) -> Self {
        self.identity = Some(identity);
        self
    }
}

/// The names of the capabilities that are there.
impl fmt::Debug for Capabilities<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // without `..`, so that a capability that is added is named here as well
        let Capabilities {
            operator,
            column_wise,
            matrix_operator,
            image_space,
            preparation,
            best_response,
            curvature,
            bilinear,
            differences,
            constants,
            rounding,
            sampled,
            sampled_constants,
            restriction,
            identity,
        } = self;
        let entries = [
            ("operator", operator.is_some()),
            ("column_wise", column_wise.is_some()),
            ("matrix_operator", matrix_operator.is_some()),
            ("image_space", image_space.is_some()),
            ("preparation", preparation.is_some()),
            ("best_response", best_response.is_some()),
            ("curvature", curvature.is_some()),
            ("bilinear", bilinear.is_some()),
            ("differences", differences.is_some()),
            ("constants", constants.is_some()),
            ("rounding", rounding.is_some()),
            ("sampled", sampled.is_some()),
            ("sampled_constants", sampled_constants.is_some()),
            ("restriction", restriction.is_some()),
            ("identity", identity.is_some()),
        ];
        f.write_str("Capabilities ")?;
        f.debug_set().entries(entries.iter().filter(|e| e.1).map(|e| e.0)).finish()
    }
}
