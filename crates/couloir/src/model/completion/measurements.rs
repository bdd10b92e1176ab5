//! What is measured of a matrix: some of its entries.

use super::MeasurementRounding;
use crate::linalg::ObservedEntries;
use crate::problem::{LinearOperator, MatrixOperator};
use crate::state::Fingerprint;

/// Linear measurements of a matrix that never need it whole.
pub trait MatrixMeasurements: LinearOperator + MatrixOperator + std::fmt::Debug {
    /// A bound of `|A A^T|`, for entries how often one and the same was observed. Where [`rounding_within`](Self::rounding_within) is
    /// known, it holds for the magnitudes of the measurements as well.
    fn squared_norm(&self) -> f64;

    /// A bound of the size of a measurement of a matrix of this nuclear norm.
    fn largest(&self, nuclear_norm: f64) -> f64;

    /// Bounds of their rounding for matrices of this nuclear norm, where they are known: certificates are then charged with what the
    /// numbers at hand round by, and with an estimate otherwise.
    fn rounding_within(&self, nuclear_norm: f64) -> Option<MeasurementRounding> {
        let _ = nuclear_norm;
        None
    }

    /// Notes what tells these measurements from others.
    fn fingerprint(&self, print: &mut Fingerprint);
}

impl LinearOperator for ObservedEntries {
    fn image_dim(&self) -> usize {
        self.len()
    }

    fn image(&self, x: &[f64], out: &mut [f64]) {
        self.of_matrix(x, out);
    }

    fn adjoint(&self, s: &[f64], out: &mut [f64]) {
        ObservedEntries::adjoint(self, s, out);
    }
}

impl MatrixOperator for ObservedEntries {
    fn shape(&self) -> (usize, usize) {
        (self.rows(), self.columns())
    }

    fn image_of_product(&self, k: usize, left: &[f64], right: &[f64], out: &mut [f64]) {
        self.of_product(k, left, right, out);
    }

    fn adjoint_times(&self, s: &[f64], k: usize, block: &[f64], out: &mut [f64]) {
        self.times(s, k, block, out);
    }

    fn adjoint_transposed_times(&self, s: &[f64], k: usize, block: &[f64], out: &mut [f64]) {
        self.transposed_times(s, k, block, out);
    }

    fn adjoint_norm(&self, s: &[f64]) -> f64 {
        ObservedEntries::adjoint_norm(self, s)
    }

    fn rounding(&self) -> f64 {
        ObservedEntries::rounding(self)
    }
}

impl MatrixMeasurements for ObservedEntries {
    fn squared_norm(&self) -> f64 {
        self.most_at_one_place() as f64
    }

    fn largest(&self, nuclear_norm: f64) -> f64 {
        nuclear_norm
    }

    /// Entries are taken as they are.
    fn rounding_within(&self, _nuclear_norm: f64) -> Option<MeasurementRounding> {
        let roundings = self.most_at_one_place() as f64;
        Some(MeasurementRounding { image: 0.0, roundings, longest: 1.0 })
    }

    fn fingerprint(&self, print: &mut Fingerprint) {
        ObservedEntries::fingerprint(self, print);
    }
}
