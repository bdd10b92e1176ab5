//! Points with their images.

use super::{PreparedImage, SaddleProblem, WithFallbacks};
use crate::error::Result;
use crate::state::Archive;

/// A point `x` with its image and what the problem prepared from it.
///
/// A solver that changes the image has the point prepared again before it asks for anything there.
#[derive(Clone, Debug, Default)]
pub struct PointX {
    /// The point.
    pub x: Vec<f64>,
    /// Its image `A x`.
    pub image: Vec<f64>,
    /// What the problem prepared from the image.
    pub(crate) cache: Vec<f64>,
}

impl PointX {
    /// Room for a point of this problem: zeros, and nothing prepared.
    #[must_use]
    pub fn new(problem: &dyn SaddleProblem) -> Self {
        let problem = WithFallbacks::new(problem);
        PointX {
            x: vec![0.0; problem.dim_x()],
            image: vec![0.0; problem.image_dim()],
            cache: vec![0.0; problem.cache_dim()],
        }
    }

    /// The point whose image is zero, without its vector, and nothing prepared.
    pub(crate) fn at_image_zero(problem: &dyn SaddleProblem) -> Self {
        let problem = WithFallbacks::new(problem);
        let (image, cache) = (vec![0.0; problem.image_dim()], vec![0.0; problem.cache_dim()]);
        PointX { x: Vec::new(), image, cache }
    }

    /// Room for the image and the cache of another point, without a copy of this one's.
    pub(crate) fn room_for_image(&self) -> Self {
        let zeros = |like: &[f64]| vec![0.0; like.len()];
        PointX { x: Vec::new(), image: zeros(&self.image), cache: zeros(&self.cache) }
    }

    /// What a problem sees of it.
    #[must_use]
    pub fn prepared(&self) -> PreparedImage<'_> {
        PreparedImage { image: &self.image, cache: &self.cache }
    }

    /// Copies another point of the same problem.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn copy_from(&mut self, other: &PointX) {
        self.x.copy_from_slice(&other.x);
        self.image.copy_from_slice(&other.image);
        self.cache.copy_from_slice(&other.cache);
    }
}

/// A point with its image alone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Imaged {
    pub x: Vec<f64>,
    pub image: Vec<f64>,
}

impl Imaged {
    pub fn of(point: &PointX) -> Self {
        Imaged { x: point.x.clone(), image: point.image.clone() }
    }

    /// Room for a point like this one: zeros, whose memory is not touched before it is used.
    pub fn room_for(point: &PointX) -> Self {
        Imaged { x: vec![0.0; point.x.len()], image: vec![0.0; point.image.len()] }
    }

    pub fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.numbers("x", &mut self.x)?;
        archive.numbers("image", &mut self.image)
    }
}
