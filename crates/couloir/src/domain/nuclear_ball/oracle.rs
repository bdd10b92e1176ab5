//! The oracle of a nuclear-norm ball: which way finds the top singular pair, the exact prox, sliding.

use super::NuclearBall;
use super::gram_pair::GramFinder;
use super::lanczos_pair::LanczosFinder;
use crate::domain::slide::compressed::Compressed;
use crate::domain::{
    ByGram, Cndg, Confidence, Domain, Factor, LinearMin, MixGoal, MixTask, Mixture, Oracle,
    Products, SlideReport, SlideState, SlideTask, Sliding, cndg, mixture, room,
};
use crate::error::{Error, Result};
use crate::linalg::nuclear_projection::NuclearProjection;
use crate::linalg::spectral::{SAFE_SQUARES, Thin, trace};
use crate::linalg::{gradient_step, norm};
use crate::state::Archive;
use crate::watch::Watch;

pub(super) struct NuclearOracle<'a> {
    set: &'a NuclearBall,
    thin: Thin,
    finder: PairFinder,
    // Made when first used: a solver needs one or two of these three.
    projection: Option<Box<NuclearProjection>>,
    compressed: Option<Box<Compressed>>,
    scratch: Option<Cndg>,
    watch: Watch,
}

/// How the top singular pair is found.
enum PairFinder {
    Gram(Box<GramFinder>),
    Lanczos(Box<LanczosFinder>),
}

impl<'a> NuclearOracle<'a> {
    pub(super) fn new(set: &'a NuclearBall) -> Self {
        let thin = Thin::new(set.rows, set.cols);
        let finder = match &set.lanczos {
            None => PairFinder::Gram(Box::new(GramFinder::new(thin))),
            Some(settings) => PairFinder::Lanczos(Box::new(LanczosFinder::new(thin, settings))),
        };
        NuclearOracle {
            set,
            thin,
            finder,
            projection: None,
            compressed: None,
            scratch: None,
            watch: Watch::default(),
        }
    }

    /// Takes the end of a slide into the ball, and charges the gap with that move: as the point moves by `d`, the gradient moves
    /// by `beta d`, and with `G` the one at the end the gap rises by at most `|d| (|G| + 2 beta radius)`, but for `beta |d|^2`.
    fn repair_slide(
        &mut self,
        task: &SlideTask<'_>,
        mut report: SlideReport,
        out: &mut [f64],
    ) -> Result<SlideReport> {
        let (thin, radius) = (self.thin, self.set.radius);
        let projection =
            self.projection.get_or_insert_with(|| Box::new(NuclearProjection::new(thin)));
        let moved = projection.repair(out, radius)?;
        if moved > 0.0 {
            let SlideTask { r, q, beta, eta, .. } = *task;
            let gradient = r.iter().zip(q).zip(&*out).map(|((r, q), o)| r + beta * (o - q));
            let length = gradient.map(|g| g * g).sum::<f64>().sqrt();
            report.gap += moved * (length + 3.0 * beta * radius);
            if report.state == SlideState::Reached && report.gap > eta {
                report.state = SlideState::RoundingFloor;
            }
        }
        Ok(report)
    }

    fn slide_plainly(&mut self, task: &SlideTask<'_>, out: &mut [f64]) -> Result<SlideReport> {
        let mut scratch = self.scratch.take().unwrap_or_else(|| Cndg::new(self.set.dim()));
        scratch.attend(&self.watch);
        let report = cndg(self, task, &mut scratch, out);
        self.scratch = Some(scratch);
        report
    }
}

impl Oracle for NuclearOracle<'_> {
    fn confidence(&self) -> Confidence {
        match &self.finder {
            PairFinder::Gram(_) => Confidence::Exact,
            PairFinder::Lanczos(finder) => finder.confidence(),
        }
    }

    fn attend(&mut self, watch: &Watch) {
        self.watch = watch.clone();
        if let PairFinder::Lanczos(finder) = &mut self.finder {
            finder.attend(watch);
        }
    }

    fn lmo(&mut self, g: &[f64], p: &mut [f64]) -> Result<LinearMin> {
        match &mut self.finder {
            PairFinder::Gram(finder) => finder.minimise(g, self.set.radius, p),
            PairFinder::Lanczos(finder) => finder.minimise(g, self.set.radius, p),
        }
    }

    fn support(&mut self, g: &[f64], scratch: &mut Vec<f64>) -> Result<LinearMin> {
        if let PairFinder::Gram(finder) = &mut self.finder
            && let Some(minimum) = finder.support(g, self.set.radius)?
        {
            return Ok(minimum);
        }
        self.lmo(g, room(scratch, g.len()))
    }

    fn mix(&mut self, task: &MixTask<'_>, scratch: &mut Vec<f64>) -> Result<Mixture> {
        if let PairFinder::Gram(finder) = &mut self.finder
            && let Some(mixture) = finder.mix(task, self.set.radius)?
        {
            return Ok(mixture);
        }
        mixture::by_lmo(self, task, scratch)
    }

    fn has_prox(&self) -> bool {
        self.thin.short() <= self.set.exact_up_to
    }

    fn prox(&mut self, g: &[f64], q: &[f64], beta: f64, out: &mut [f64]) -> Result<f64> {
        if !self.has_prox() {
            return Err(Error::MissingOracle {
                set: self.set.describe(),
                oracle: "exact prox",
                hint: "both sides are too large for it; slide on it instead, or raise `exact_up_to`",
            });
        }
        let radius = self.set.radius;
        let thin = self.thin;
        let projection =
            self.projection.get_or_insert_with(|| Box::new(NuclearProjection::new(thin)));
        let squares = gradient_step(q, g, beta, out);
        let done = projection.project(out, radius, |out| {
            gradient_step(q, g, beta, out);
        })?;
        let [q, g] = [(q, squares[0]), (g, squares[1])].map(|(x, square)| {
            if SAFE_SQUARES.contains(&square) { square.sqrt() } else { norm(x) }
        });
        let shift = 2.0 * f64::EPSILON * (q + g / beta);
        Ok(prox_gap(beta, done.rounding + shift, done.moved, radius))
    }

    fn by_gram(&mut self) -> Option<&mut dyn ByGram> {
        let gram = matches!(self.finder, PairFinder::Gram(_));
        (gram && self.set.rows > self.set.cols && self.has_prox()).then_some(self)
    }

    fn slide(&mut self, task: &SlideTask<'_>, out: &mut [f64]) -> Result<SlideReport> {
        if self.set.compresses() {
            let (thin, radius) = (self.thin, self.set.radius);
            let compressed =
                self.compressed.get_or_insert_with(|| Box::new(Compressed::new(thin, radius)));
            if let Some(report) = compressed.slide(task, &self.watch, out)? {
                return self.repair_slide(task, report, out);
            }
        }
        self.slide_plainly(task, out)
    }

    fn sliding(&self) -> Sliding {
        if self.set.compresses() { Sliding::Compressed } else { Sliding::Plain }
    }

    fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        match &mut self.finder {
            PairFinder::Gram(finder) => finder.state(archive),
            PairFinder::Lanczos(finder) => finder.state(archive),
        }
    }
}

impl ByGram for NuclearOracle<'_> {
    fn columns(&self) -> usize {
        self.set.cols
    }

    fn prox_factor(
        &mut self,
        w: Products<'_>,
        rounding: f64,
        beta: f64,
        factor: &mut Factor,
    ) -> Result<Option<f64>> {
        let (thin, radius) = (self.thin, self.set.radius);
        let projection =
            self.projection.get_or_insert_with(|| Box::new(NuclearProjection::new(thin)));
        let found = projection.factor(w.entries, w.error, radius, factor)?;
        Ok(found.map(|done| prox_gap(beta, done.rounding + rounding, done.moved, radius)))
    }

    fn support_by_gram(&mut self, g: Products<'_>) -> Result<Option<LinearMin>> {
        let PairFinder::Gram(finder) = &mut self.finder else {
            return Ok(None);
        };
        if !SAFE_SQUARES.contains(&trace(g.entries, finder.thin.short())) {
            return Ok(None);
        }
        finder.gram.copy_from_slice(g.entries);
        Ok(Some(finder.top(g.error, self.set.radius)?.0))
    }

    fn mix_by_gram(
        &mut self,
        goal: &MixGoal,
        products: [Products<'_>; 3],
    ) -> Result<Option<Mixture>> {
        match &mut self.finder {
            PairFinder::Gram(finder) => finder.mix_products(goal, products, self.set.radius),
            PairFinder::Lanczos(_) => Ok(None),
        }
    }
}

/// With `e` the error of a point (of the projection, and of `w = q - g/beta` as it was rounded), the gradient
/// `beta (point - w)` and the point err by `beta e` and `e`, so the gap is at most `beta |e| (|point - w| + 2 radius)`,
/// as `|point| <= radius`.
fn prox_gap(beta: f64, error: f64, moved: f64, radius: f64) -> f64 {
    beta * error * (moved + 2.0 * radius)
}
