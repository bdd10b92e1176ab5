//! The corrective method on one block, which goes on with both where restricted problems of one block are not solved.
//!
//! For small mu, `phi(x) = max over y of f(x, y)` is nearly a maximum of smooth functions: it bends on tiny pieces, and second
//! derivatives at one point say little of the next. As a saddle problem over atoms of both blocks it stays smooth, and an interior
//! point method solves it, at a higher cost for each step where Y has many vertices.

use super::atoms::Atoms;
use super::{BothBlocks, CorrectiveSettings, OneBlock};
use crate::certificate::Certificate;
use crate::error::Result;
use crate::oracles::Ledger;
use crate::run::{Algorithm, Fact, Step};
use crate::solver::{MethodSettings, Start};
use crate::state::Archive;
use crate::watch::Watch;

/// The corrective method on one block or, later, on both.
pub(super) struct OneThenBoth<'a> {
    running: Running<'a>,
    settings: CorrectiveSettings,
    /// The image of the start point, and the first `y`.
    home: (Vec<f64>, Vec<f64>),
}

enum Running<'a> {
    One(Box<OneBlock<'a, Atoms>>),
    Both(Box<BothBlocks<'a>>),
    /// Between the two.
    Nothing,
}

const NOTHING: &str = "one of the two runs, but while one becomes the other";

impl<'a> OneThenBoth<'a> {
    /// The method at its start point.
    ///
    /// # Errors
    /// Dimensions that disagree, a start point outside its set, no way to find the best response.
    pub fn new(start: Start<'a, '_>, settings: &CorrectiveSettings) -> Result<Self> {
        let one = OneBlock::new(start, settings)?;
        let (image, y) = one.present();
        let home = (image.to_vec(), y.to_vec());
        Ok(OneThenBoth { running: Running::One(Box::new(one)), settings: settings.clone(), home })
    }

    fn go_on_with_both(&mut self) {
        self.running = match std::mem::replace(&mut self.running, Running::Nothing) {
            Running::One(one) => {
                let both = one.into_both((&self.home.0, &self.home.1), &self.settings);
                Running::Both(Box::new(both))
            }
            other => other,
        };
    }

    fn running(&self) -> &dyn Algorithm {
        match &self.running {
            Running::One(one) => &**one,
            Running::Both(both) => &**both,
            Running::Nothing => unreachable!("{NOTHING}"),
        }
    }

    fn running_mut(&mut self) -> &mut (dyn Algorithm + 'a) {
        match &mut self.running {
            Running::One(one) => &mut **one,
            Running::Both(both) => &mut **both,
            Running::Nothing => unreachable!("{NOTHING}"),
        }
    }
}

impl Algorithm for OneThenBoth<'_> {
    fn name(&self) -> &'static str {
        CorrectiveSettings::ABOUT.name
    }

    fn step(&mut self) -> Result<Step> {
        let Running::One(one) = &mut self.running else { return self.running_mut().step() };
        let step = one.step()?;
        let is_stuck = matches!(step, Step::NoProgress) && !one.is_at_floor();
        if !is_stuck && !one.fails() {
            return Ok(step);
        }
        self.go_on_with_both();
        Ok(Step::Advanced)
    }

    fn evaluate(&mut self) -> Result<()> {
        self.running_mut().evaluate()
    }

    fn certificate(&self) -> &Certificate {
        self.running().certificate()
    }

    fn best(&self) -> (&[f64], &[f64]) {
        self.running().best()
    }

    fn current(&self) -> (&[f64], &[f64]) {
        self.running().current()
    }

    fn iterations(&self) -> u64 {
        self.running().iterations()
    }

    fn ledger(&self) -> &Ledger {
        self.running().ledger()
    }

    fn watch(&self) -> &Watch {
        self.running().watch()
    }

    fn facts(&self) -> Vec<Fact> {
        self.running().facts()
    }

    fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let mut is_both = matches!(self.running, Running::Both(_));
        archive.flag("is_both", &mut is_both)?;
        if is_both {
            self.go_on_with_both();
        }
        archive.nested("running", |archive| self.running_mut().state(archive))
    }
}
