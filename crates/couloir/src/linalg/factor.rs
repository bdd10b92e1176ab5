//! Small symmetric matrices by their eigenvectors.

/// A symmetric `h x h` matrix `F` by its eigenvalues that are not zero, all at most 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Factor {
    /// The matrix itself, row-major.
    pub matrix: Vec<f64>,
    /// The eigenvalues that are not zero.
    pub values: Vec<f64>,
    /// Their eigenvectors, orthonormal, one after the other.
    pub vectors: Vec<f64>,
}

impl Factor {
    /// Room for any of this size.
    #[must_use]
    pub fn with_room(h: usize) -> Self {
        Factor {
            matrix: Vec::with_capacity(h * h),
            values: Vec::with_capacity(h),
            vectors: Vec::with_capacity(h * h),
        }
    }
}
