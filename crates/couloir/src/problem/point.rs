//! Points with their images.

use super::{PreparedImage, SaddleProblem, WithFallbacks};
use crate::error::Result;
use crate::state::Archive;

/// A point `x` with its image and what the problem prepared from it.
#[derive(Clone, Debug, Default)]
pub(crate) struct PointX {
    pub x: Vec<f64>,
    pub image: Vec<f64>,
    pub cache: Vec<f64>,
}

impl PointX {
    pub fn new(problem: &dyn SaddleProblem) -> Self {
        let problem = WithFallbacks::new(problem);
        PointX {
            x: vec![0.0; problem.dim_x()],
            image: vec![0.0; problem.image_dim()],
            cache: vec![0.0; problem.cache_dim()],
        }
    }

    /// Room for the image and the cache of another point, without a copy of this one's.
    pub fn room_for_image(&self) -> Self {
        let zeros = |like: &[f64]| vec![0.0; like.len()];
        PointX { x: Vec::new(), image: zeros(&self.image), cache: zeros(&self.cache) }
    }

    pub fn prepared(&self) -> PreparedImage<'_> {
        PreparedImage { image: &self.image, cache: &self.cache }
    }

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
