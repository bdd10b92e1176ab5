//! Batches of a problem that is a mean.

use super::{Account, MaybeOwned, OracleCounts, Oracles};
use crate::domain::Oracle;
use crate::error::{Error, Result, check_finite};
use crate::problem::{Sampled, WithFallbacks};
use crate::random::Population;

impl<'a> Oracles<'a> {
    /// The same with the problem as a mean in place of the problem, for iSTORC.
    pub(crate) fn split_y_sampled(&mut self) -> Result<SampledParts<'_, 'a>> {
        let counts = match self.account {
            Account::Method => &mut self.ledger.method,
            Account::Certificate => &mut self.ledger.certificate,
        };
        Ok((sampled_of(self.borrowed.as_ref(), &self.problem)?, &mut *self.y, counts))
    }

    /// Writes the mean of `grad_x` over a batch.
    ///
    /// # Errors
    /// A problem without batches; an answer that is not finite.
    pub fn batch_grad_x(
        &mut self,
        batch: &[u64],
        x: &[f64],
        y: &[f64],
        out: &mut [f64],
    ) -> Result<()> {
        self.sampled()?.batch_grad_x(batch, x, y, out);
        self.count_components(batch.len() as u64);
        check_finite("grad_x of a batch", out)
    }

    /// Writes the mean of `grad_y` over a batch.
    ///
    /// # Errors
    /// A problem without batches; an answer that is not finite.
    pub fn batch_grad_y(
        &mut self,
        batch: &[u64],
        x: &[f64],
        y: &[f64],
        out: &mut [f64],
    ) -> Result<()> {
        self.sampled()?.batch_grad_y(batch, x, y, out);
        self.count_components(batch.len() as u64);
        check_finite("grad_y of a batch", out)
    }

    /// Counts gradients of single components, and the share of a pass that they are.
    pub(crate) fn count_components(&mut self, components: u64) {
        let population = self.population;
        let counts = self.counts();
        counts.component_grads += components;
        if let Some(Population::Finite(n)) = population {
            counts.passes += components as f64 / n as f64;
        }
    }

    /// The problem as a mean over samples.
    ///
    /// # Errors
    /// A problem that is none.
    pub fn sampled(&self) -> Result<&(dyn Sampled + '_)> {
        sampled_of(self.borrowed.as_ref(), &self.problem)
    }
}

/// A problem as a mean, the oracle of Y, the counts.
type SampledParts<'s, 'a> = (&'s dyn Sampled, &'s mut (dyn Oracle + 'a), &'s mut OracleCounts);

fn sampled_of<'s>(
    borrowed: Option<&WithFallbacks<'s>>,
    problem: &'s MaybeOwned<'_>,
) -> Result<&'s dyn Sampled> {
    let sampled = match borrowed {
        Some(problem) => problem.capabilities().sampled,
        None => problem.capabilities().sampled,
    };
    sampled.ok_or_else(|| Error::MissingOracle {
        set: "the problem".to_owned(),
        oracle: "batches (its capability `sampled` is missing)",
        hint: "ask for whole gradients instead",
    })
}
