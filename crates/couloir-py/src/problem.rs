//! Saddle problems whose functions are Python's.

use couloir::problem::{
    BestResponse, BlockConstants, Capabilities, KnownConstants, LinearOperator, MatrixOperator,
    Population, PreparedImage, SaddleProblem, Sampled, SampledConstants,
};
use pyo3::prelude::*;

use crate::callbacks::Argument::{Batch, Point};
use crate::callbacks::Callbacks;
use crate::failure::to_python;

/// A problem's functions on flat arrays, as `python/couloir/_problem.py` gives them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Functions {
    dim_x: usize,
    dim_y: usize,
    dim_image: usize,
    value: Py<PyAny>,
    grad_image: Py<PyAny>,
    grad_y: Py<PyAny>,
    image: Option<Py<PyAny>>,
    adjoint: Option<Py<PyAny>>,
    factored: Option<Factored>,
    best_response_y: Option<Py<PyAny>>,
    batches: Option<Batches>,
    lxx: Option<f64>,
    lxy: Option<f64>,
    lyy: Option<f64>,
    mu: Option<f64>,
    mu_x: Option<f64>,
}

/// The functions of a problem in a large matrix, of which it sees thin factors.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Factored {
    rows: usize,
    columns: usize,
    image_of_product: Py<PyAny>,
    adjoint_times: Py<PyAny>,
    adjoint_transposed_times: Py<PyAny>,
    adjoint_norm: Py<PyAny>,
}

/// The functions of a problem that is a mean.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Batches {
    /// None for an expectation.
    n_samples: Option<u64>,
    value: Py<PyAny>,
    grad_x: Py<PyAny>,
    grad_y: Py<PyAny>,
    constants: Option<Py<PyAny>>,
    mean_smoothness: Option<f64>,
    sigma: Option<f64>,
}

impl Functions {
    /// How many samples there are, where their number is finite.
    pub fn samples(&self) -> Option<u64> {
        self.batches.as_ref()?.n_samples
    }

    /// The problem; `callbacks` hears of exceptions in it.
    pub fn problem(mut self, callbacks: &Callbacks) -> PyResult<PythonProblem<'_>> {
        let constants = block_constants((self.lxx, self.lxy, self.lyy, self.mu, self.mu_x));
        constants.check().map_err(to_python)?;
        let samples = self.batches.take().map(|batches| Samples { batches, callbacks });
        let factors = self.factored.take().map(|functions| ByFactors { functions, callbacks });
        Ok(PythonProblem { functions: self, samples, factors, callbacks, constants })
    }
}

type Constants = (Option<f64>, Option<f64>, Option<f64>, Option<f64>, Option<f64>);

fn block_constants((lxx, lxy, lyy, mu, mu_x): Constants) -> BlockConstants {
    // no strong concavity or convexity is the same as none that is known
    let known = |mu: Option<f64>| mu.filter(|mu| *mu != 0.0);
    BlockConstants { lxx, lxy, lyy, mu: known(mu), mu_x: known(mu_x) }
}

/// A problem that asks Python.
pub struct PythonProblem<'a> {
    functions: Functions,
    samples: Option<Samples<'a>>,
    factors: Option<ByFactors<'a>>,
    callbacks: &'a Callbacks,
    constants: BlockConstants,
}

impl SaddleProblem for PythonProblem<'_> {
    fn dim_x(&self) -> usize {
        self.functions.dim_x
    }

    fn dim_y(&self) -> usize {
        self.functions.dim_y
    }

    fn value(&self, at: PreparedImage<'_>, y: &[f64]) -> f64 {
        self.callbacks.number(&self.functions.value, &[Point(at.image), Point(y)])
    }

    fn grad_image(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
        self.callbacks.vector(&self.functions.grad_image, &[Point(at.image), Point(y)], out);
    }

    fn grad_y(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
        self.callbacks.vector(&self.functions.grad_y, &[Point(at.image), Point(y)], out);
    }

    fn capabilities(&self) -> Capabilities<'_> {
        let Functions { image, best_response_y, .. } = &self.functions;
        let mut capabilities = Capabilities::NONE.with_constants(self);
        capabilities.operator = image.as_ref().map(|_| self as &dyn LinearOperator);
        capabilities.best_response = best_response_y.as_ref().map(|_| self as &dyn BestResponse);
        if let Some(factors) = &self.factors {
            capabilities = capabilities.with_matrix_operator(factors);
        }
        if let Some(samples) = &self.samples {
            capabilities = capabilities.with_sampled(samples).with_sampled_constants(samples);
        }
        capabilities
    }
}

impl LinearOperator for PythonProblem<'_> {
    fn image_dim(&self) -> usize {
        self.functions.dim_image
    }

    fn image(&self, x: &[f64], out: &mut [f64]) {
        match &self.functions.image {
            Some(image) => self.callbacks.vector(image, &[Point(x)], out),
            None => out.copy_from_slice(x),
        }
    }

    fn adjoint(&self, s: &[f64], out: &mut [f64]) {
        match &self.functions.adjoint {
            Some(adjoint) => self.callbacks.vector(adjoint, &[Point(s)], out),
            None => out.copy_from_slice(s),
        }
    }
}

impl BestResponse for PythonProblem<'_> {
    fn best_response(&self, at: PreparedImage<'_>, y: &mut [f64]) -> f64 {
        if let Some(respond) = &self.functions.best_response_y {
            self.callbacks.vector(respond, &[Point(at.image)], y);
        }
        f64::INFINITY
    }
}

impl KnownConstants for PythonProblem<'_> {
    fn constants(&self) -> BlockConstants {
        self.constants
    }
}

/// The same problem's linear map on thin factors.
struct ByFactors<'a> {
    functions: Factored,
    callbacks: &'a Callbacks,
}

impl MatrixOperator for ByFactors<'_> {
    fn shape(&self) -> (usize, usize) {
        (self.functions.rows, self.functions.columns)
    }

    fn image_of_product(&self, _k: usize, left: &[f64], right: &[f64], out: &mut [f64]) {
        let function = &self.functions.image_of_product;
        self.callbacks.vector(function, &[Point(left), Point(right)], out);
    }

    fn adjoint_times(&self, s: &[f64], _k: usize, block: &[f64], out: &mut [f64]) {
        self.callbacks.vector(&self.functions.adjoint_times, &[Point(s), Point(block)], out);
    }

    fn adjoint_transposed_times(&self, s: &[f64], _k: usize, block: &[f64], out: &mut [f64]) {
        let function = &self.functions.adjoint_transposed_times;
        self.callbacks.vector(function, &[Point(s), Point(block)], out);
    }

    fn adjoint_norm(&self, s: &[f64]) -> f64 {
        self.callbacks.number(&self.functions.adjoint_norm, &[Point(s)])
    }

    /// An estimate: sums as long as a side, of products of two sums at the most.
    fn rounding(&self) -> f64 {
        2.0 * f64::EPSILON * (self.functions.rows.max(self.functions.columns) + 2) as f64
    }
}

/// The same problem as a mean.
struct Samples<'a> {
    batches: Batches,
    callbacks: &'a Callbacks,
}

impl Sampled for Samples<'_> {
    fn population(&self) -> Population {
        self.batches.n_samples.map_or(Population::Infinite, Population::Finite)
    }

    fn batch_value(&self, batch: &[u64], x: &[f64], y: &[f64]) -> f64 {
        self.callbacks.number(&self.batches.value, &[Batch(batch), Point(x), Point(y)])
    }

    fn batch_grad_x(&self, batch: &[u64], x: &[f64], y: &[f64], out: &mut [f64]) {
        self.callbacks.vector(&self.batches.grad_x, &[Batch(batch), Point(x), Point(y)], out);
    }

    fn batch_grad_y(&self, batch: &[u64], x: &[f64], y: &[f64], out: &mut [f64]) {
        self.callbacks.vector(&self.batches.grad_y, &[Batch(batch), Point(x), Point(y)], out);
    }
}

impl SampledConstants for Samples<'_> {
    fn mean_smoothness(&self) -> Option<f64> {
        self.batches.mean_smoothness
    }

    fn sigma(&self) -> Option<f64> {
        self.batches.sigma
    }

    fn batch_constants(&self, batch: &[u64]) -> BlockConstants {
        let constants = self.batches.constants.as_ref();
        let given =
            constants.and_then(|c| self.callbacks.call(c, &[Batch(batch)], |a| a.extract()));
        given.map_or_else(BlockConstants::default, block_constants)
    }
}
