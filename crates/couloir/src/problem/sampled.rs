//! Problems that are a mean: of `n` components, or of infinitely many samples.

/// How many samples there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Population {
    /// A finite sum `f = 1/n sum_i F_i`; a sample is an index below `n`.
    Finite(u64),
    /// An expectation `f = E F(.; xi)`; a sample is any 64-bit key, from which the problem makes
    /// `xi`.
    Infinite,
}

/// Gradients of a batch of samples: the mean over the batch.
pub trait Sampled: Send + Sync {
    /// How many samples there are.
    fn population(&self) -> Population;

    /// Writes the mean of `grad_x F(x, y; xi)` over the batch.
    fn batch_grad_x(&self, batch: &[u64], x: &[f64], y: &[f64], out: &mut [f64]);

    /// Writes the mean of `grad_y F(x, y; xi)` over the batch.
    fn batch_grad_y(&self, batch: &[u64], x: &[f64], y: &[f64], out: &mut [f64]);
}
