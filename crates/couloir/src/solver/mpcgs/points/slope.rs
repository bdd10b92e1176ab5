//! Slopes of linear minorants, and their mixtures: as vectors, or as what the operator's adjoint makes them of.

use crate::domain::{LinearMin, MixGoal, MixTask, Mixture, Products, mixed};
use crate::error::Result;
use crate::linalg::spectral::Thin;
use crate::linalg::step_toward;
use crate::oracles::Oracles;
use crate::state::Archive;

/// A gradient that is to be mixed in.
#[derive(Clone, Copy)]
pub(in crate::solver::mpcgs) enum Gradient<'a> {
    /// The vector itself.
    Vector(&'a [f64]),
    /// As it is seen in the image.
    InImage(ImageGradient<'a>),
}

/// `g = A^T weights`, with `A g` and `g^T g`: enough for all that is done with slopes, as the products with another
/// slope `A^T u` are `u^T A g`.
#[derive(Clone, Copy)]
pub(in crate::solver::mpcgs) struct ImageGradient<'a> {
    pub weights: &'a [f64],
    pub image: &'a [f64],
    /// `|weights|` and `|image|`.
    pub lengths: [f64; 2],
    pub gram: Products<'a>,
    pub images: Thin,
}

/// A mixture of gradients.
pub(in crate::solver::mpcgs) struct Slope {
    /// The slope itself, or the weights that it is the adjoint product of.
    numbers: Vec<f64>,
    is_in_image: bool,
    /// Its Gram matrix, where it is given by weights, with a bound of the error.
    gram: Vec<f64>,
    error: f64,
    /// A bound of the weights' length.
    length: f64,
    /// The products with the last gradient.
    cross: Vec<f64>,
    mixed: Vec<f64>,
    scratch: Vec<f64>,
}

impl Slope {
    /// Zero, as a vector of this length.
    pub fn vector(dim: usize) -> Self {
        Slope {
            numbers: vec![0.0; dim],
            is_in_image: false,
            gram: Vec::new(),
            error: 0.0,
            length: 0.0,
            cross: Vec::new(),
            mixed: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// Zero, by weights in an image of this length with rows of `h`.
    pub fn in_image(image_dim: usize, h: usize) -> Self {
        let small = vec![0.0; h * h];
        Slope {
            is_in_image: true,
            gram: small.clone(),
            cross: small.clone(),
            mixed: small,
            ..Slope::vector(image_dim)
        }
    }

    /// The slope itself, where it is kept as a vector.
    pub fn as_vector(&self) -> &[f64] {
        &self.numbers
    }

    /// Turns weights into the vector: one operator product.
    pub fn become_vector(&mut self, oracles: &mut Oracles<'_>) -> Result<()> {
        if self.is_in_image {
            let mut vector = Slope::vector(oracles.problem.dim_x());
            oracles.adjoint(&self.numbers, &mut vector.numbers)?;
            *self = vector;
        }
        Ok(())
    }

    pub fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.numbers("numbers", &mut self.numbers)?;
        if self.is_in_image {
            archive.numbers("gram", &mut self.gram)?;
            archive.number("error", &mut self.error)?;
            archive.number("length", &mut self.length)?;
        }
        Ok(())
    }

    /// Becomes the same as another.
    pub fn copy_from(&mut self, other: &Slope) {
        self.numbers.copy_from_slice(&other.numbers);
        self.gram.copy_from_slice(&other.gram);
        (self.error, self.length) = (other.error, other.length);
    }

    /// Becomes this gradient.
    pub fn set(&mut self, g: Gradient<'_>) {
        match g {
            Gradient::Vector(g) => self.numbers.copy_from_slice(g),
            Gradient::InImage(g) => {
                self.numbers.copy_from_slice(g.weights);
                self.gram.copy_from_slice(g.gram.entries);
                (self.error, self.length) = (g.gram.error, g.lengths[0]);
            }
        }
    }

    /// The least value of `<slope, .>` over X.
    pub fn support(&mut self, oracles: &mut Oracles<'_>) -> Result<LinearMin> {
        if self.is_in_image {
            oracles.support_by_gram(Products { entries: &self.gram, error: self.error })
        } else {
            oracles.support_x(&self.numbers, &mut self.scratch)
        }
    }

    /// Moves towards a gradient by this weight.
    pub fn step(&mut self, oracles: &Oracles<'_>, weight: f64, g: Gradient<'_>) {
        match g {
            Gradient::Vector(g) => step_toward(weight, g, &mut self.numbers),
            Gradient::InImage(g) => {
                let cross_error = self.meet(oracles, g);
                self.step_known(weight, g, cross_error);
            }
        }
    }

    /// The products with a gradient; returns a bound of their error.
    fn meet(&mut self, oracles: &Oracles<'_>, g: ImageGradient<'_>) -> f64 {
        let space = oracles.images();
        space.cross(g.images.short(), &self.numbers, g.image, &mut self.cross);
        g.images.rounding() * self.length * g.lengths[1]
    }

    /// The products of slope and gradient.
    fn products<'b>(&'b self, g: ImageGradient<'b>, cross_error: f64) -> [Products<'b>; 3] {
        let own = Products { entries: &self.gram, error: self.error };
        [own, Products { entries: &self.cross, error: cross_error }, g.gram]
    }

    fn step_known(&mut self, weight: f64, g: ImageGradient<'_>, cross_error: f64) {
        let mut out = std::mem::take(&mut self.mixed);
        self.error = mixed(weight, self.products(g, cross_error), &mut out);
        self.mixed = std::mem::replace(&mut self.gram, out);
        step_toward(weight, g.weights, &mut self.numbers);
        self.length = (1.0 - weight) * self.length + weight * g.lengths[0];
    }

    /// Moves towards a gradient by the weight that is best for the bound. `follows` says that the slope is what the last
    /// such search found.
    pub fn mix(
        &mut self,
        oracles: &mut Oracles<'_>,
        goal: MixGoal,
        follows: bool,
        g: Gradient<'_>,
    ) -> Result<Mixture> {
        match g {
            Gradient::Vector(to) => {
                let task = MixTask { from: &self.numbers, to, goal, follows };
                let mixture = oracles.mix_x(&task, &mut self.scratch)?;
                if mixture.weight > 0.0 {
                    step_toward(mixture.weight, to, &mut self.numbers);
                }
                Ok(mixture)
            }
            Gradient::InImage(g) => {
                let cross_error = self.meet(oracles, g);
                let mixture = oracles.mix_by_gram(&goal, self.products(g, cross_error))?;
                if mixture.weight > 0.0 {
                    self.step_known(mixture.weight, g, cross_error);
                }
                Ok(mixture)
            }
        }
    }
}
