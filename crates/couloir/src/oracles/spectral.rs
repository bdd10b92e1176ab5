//! Work on large nuclear-norm balls: leading singular pairs of gradients that are operators.

use super::Oracles;
use crate::error::{Block, Error, Result};
use crate::linalg::block_lanczos::{Leading, MatrixProducts, Request, leading_pairs};
use crate::problem::MatrixOperator;
use crate::random::Stream;

/// `A^T s` as an operator.
struct Adjoint<'a> {
    operator: &'a dyn MatrixOperator,
    s: &'a [f64],
}

impl MatrixProducts for Adjoint<'_> {
    fn shape(&self) -> (usize, usize) {
        self.operator.shape()
    }

    fn times(&self, k: usize, block: &[f64], out: &mut [f64]) {
        self.operator.adjoint_times(self.s, k, block, out);
    }

    fn transposed_times(&self, k: usize, block: &[f64], out: &mut [f64]) {
        self.operator.adjoint_transposed_times(self.s, k, block, out);
    }

    fn frobenius(&self) -> f64 {
        self.operator.adjoint_norm(self.s)
    }

    fn rounding(&self) -> f64 {
        self.operator.rounding()
    }
}

impl<'a> Oracles<'a> {
    /// The leading singular pairs of `A^T s`, which is not formed: a gradient and a linear minimisation over X.
    pub(crate) fn leading_pairs(
        &mut self,
        s: &[f64],
        request: Request,
        stream: &mut Stream,
    ) -> Result<Leading> {
        self.watch().spend(1)?;
        let watch = self.watch().clone();
        let found = self.ask(|problem| {
            let operator = problem.capabilities().matrix_operator?;
            let gradient = Adjoint { operator, s };
            let length = gradient.frobenius();
            Some((leading_pairs(&gradient, request, || stream.gaussian(), &watch), length))
        });
        if let Some((_, length)) = &found {
            self.see_grad_x(*length);
        }
        let leading = found.map(|(leading, _)| leading).ok_or_else(|| Error::MissingOracle {
            set: "the problem".to_owned(),
            oracle: "products with its gradient (its capability `matrix_operator` is missing)",
            hint: "use a method that forms whole points",
        })??;
        self.count_grad_x();
        self.count_lo(Block::X, 1, leading.products);
        Ok(leading)
    }
}
