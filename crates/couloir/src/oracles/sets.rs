//! Linear minimisation, prox and slides on the two sets.

use super::{Account, OracleCounts, Oracles};
use crate::domain::{
    Atom, ByGram, Confidence, Factor, LinearMin, MixGoal, MixTask, Mixture, Oracle, Products,
    SlideReport, SlideTask,
};
use crate::error::{Block, Result};
use crate::problem::SaddleProblem;

impl<'a> Oracles<'a> {
    /// Writes a minimiser of `<g, .>` over the set of this block.
    ///
    /// # Errors
    /// What the set reports.
    pub fn lmo(&mut self, block: Block, g: &[f64], p: &mut [f64]) -> Result<LinearMin> {
        self.watches[block as usize].spend(1)?;
        let answer = self.oracle(block).lmo(g, p)?;
        self.count_lo(block, 1, answer.products);
        self.rest_on(answer.confidence);
        Ok(answer)
    }

    /// A minimiser of `<g, .>` over the set of this block in the form that suits it.
    pub(crate) fn lmo_atom(
        &mut self,
        block: Block,
        g: &[f64],
        scratch: &mut [f64],
    ) -> Result<(Atom, LinearMin)> {
        self.watches[block as usize].spend(1)?;
        let (atom, answer) = self.oracle(block).atom(g, scratch)?;
        self.count_lo(block, 1, answer.products);
        self.rest_on(answer.confidence);
        Ok((atom, answer))
    }

    /// The least value of `<g, .>` over X.
    pub(crate) fn support_x(&mut self, g: &[f64], scratch: &mut Vec<f64>) -> Result<LinearMin> {
        self.watch().spend(1)?;
        let answer = self.x.support(g, scratch)?;
        self.count_lo(Block::X, 1, answer.products);
        self.rest_on(answer.confidence);
        Ok(answer)
    }

    /// The best mixture of two minorants over X.
    pub(crate) fn mix_x(&mut self, task: &MixTask<'_>, scratch: &mut Vec<f64>) -> Result<Mixture> {
        self.watch().check()?;
        let answer = self.x.mix(task, scratch)?;
        self.watch().add(answer.evaluations);
        self.rest_on(answer.confidence);
        self.count_lo(Block::X, answer.evaluations, answer.products);
        Ok(answer)
    }

    /// Work on X from Gram matrices, where X can do that.
    pub(crate) fn by_gram(&mut self) -> Option<&mut dyn ByGram> {
        self.x.by_gram()
    }

    /// The prox on X as a product with a small matrix.
    pub(crate) fn prox_factor(
        &mut self,
        w: Products<'_>,
        rounding: f64,
        beta: f64,
        factor: &mut Factor,
    ) -> Result<Option<f64>> {
        let found = match self.x.by_gram() {
            Some(set) => set.prox_factor(w, rounding, beta, factor)?,
            None => None,
        };
        self.counts().prox_x += u64::from(found.is_some());
        Ok(found)
    }

    /// The least value of `<g, .>` over X from the Gram matrix of `g`: no bound where that cannot tell.
    pub(crate) fn support_by_gram(&mut self, g: Products<'_>) -> Result<LinearMin> {
        self.count_lo(Block::X, 1, 0);
        let found = match self.x.by_gram() {
            Some(set) => set.support_by_gram(g)?,
            None => None,
        };
        let answer = found.unwrap_or(LinearMin::exact(f64::NEG_INFINITY));
        self.rest_on(answer.confidence);
        Ok(answer)
    }

    /// The best mixture of two minorants over X from Gram matrices: the first alone where they cannot tell.
    pub(crate) fn mix_by_gram(
        &mut self,
        goal: &MixGoal,
        products: [Products<'_>; 3],
    ) -> Result<Mixture> {
        let found = match self.x.by_gram() {
            Some(set) => set.mix_by_gram(goal, products)?,
            None => None,
        };
        let answer = found.unwrap_or(Mixture {
            weight: 0.0,
            lower: goal.known,
            confidence: Confidence::Exact,
            evaluations: 0,
            products: 0,
        });
        self.count_lo(Block::X, answer.evaluations, answer.products);
        self.rest_on(answer.confidence);
        Ok(answer)
    }

    /// Whether the set of this block has an exact prox.
    #[must_use]
    pub fn has_prox(&self, block: Block) -> bool {
        match block {
            Block::X => self.x.has_prox(),
            Block::Y => self.y.has_prox(),
        }
    }

    /// Writes `argmin <g, u> + beta/2 |u - q|^2` over the set of this block; returns the gap that is left.
    ///
    /// # Errors
    /// A set without an exact prox, and what it reports.
    pub fn prox(
        &mut self,
        block: Block,
        g: &[f64],
        q: &[f64],
        beta: f64,
        out: &mut [f64],
    ) -> Result<f64> {
        self.watch().check()?;
        let gap = self.oracle(block).prox(g, q, beta, out)?;
        match block {
            Block::X => self.counts().prox_x += 1,
            Block::Y => self.counts().prox_y += 1,
        }
        Ok(gap)
    }

    /// Solves the same problem by conditional gradient steps, to a given gap.
    ///
    /// # Errors
    /// What the set reports.
    pub fn slide(
        &mut self,
        block: Block,
        task: &SlideTask<'_>,
        out: &mut [f64],
    ) -> Result<SlideReport> {
        let watch = self.watches[block as usize].clone();
        let before = watch.count(block);
        let slide = self.oracle(block).slide(task, out);
        let seen = watch.count(block) - before;
        match &slide {
            Ok(report) => {
                // an oracle may have loops too short to look at the watch
                watch.add(report.lo_calls.saturating_sub(seen));
                self.count_lo(block, report.lo_calls, report.products);
                // its gap rests on the answer of its last test alone
                let confidence = self.oracle(block).confidence();
                self.rest_on(confidence);
            }
            Err(_) => self.count_lo(block, seen, 0),
        }
        slide
    }

    pub(crate) fn count_lo(&mut self, block: Block, calls: u64, products: u64) {
        let counts = self.counts();
        match block {
            Block::X => counts.lo_x += calls,
            Block::Y => counts.lo_y += calls,
        }
        counts.operator_products += products;
    }

    fn oracle(&mut self, block: Block) -> &mut (dyn Oracle + 'a) {
        match block {
            Block::X => &mut *self.x,
            Block::Y => &mut *self.y,
        }
    }

    /// The problem, the oracle of Y and the counts apart, for CGS, which calls both in turn.
    pub(crate) fn split_y(
        &mut self,
    ) -> (&(dyn SaddleProblem + 'a), &mut (dyn Oracle + 'a), &mut OracleCounts) {
        let counts = match self.account {
            Account::Method => &mut self.ledger.method,
            Account::Certificate => &mut self.ledger.certificate,
        };
        (&*self.problem, &mut *self.y, counts)
    }
}
