//! SVRE: extragradient with an SVRG estimator at both half steps (Algorithm 1 of Chavdarova, Gidel,
//! Fleuret, Lacoste-Julien, "Reducing Noise in GAN Training with Variance Reduced Extragradient",
//! NeurIPS 2019), with minibatches and exact Euclidean projections.

use super::extragradient::balanced_steps;
use crate::certificate::Certificate;
use crate::error::{Block, Error, Result, check_positive};
use crate::linalg::axpy;
use crate::oracles::{Ledger, Oracles};
use crate::problem::{PointX, Population};
use crate::random::{Stream, Streams};
use crate::run::{Algorithm, Step};
use crate::solver::{About, Incumbent, MethodSettings, Need, Start};
use crate::state::{Archive, Fingerprint};
use crate::watch::Watch;

/// How long an epoch (the inner iterations between two full gradients) is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Epoch {
    /// Geometrically distributed around its mean, as in the paper.
    #[default]
    Geometric,
    /// Always its mean, rounded.
    Fixed,
}

/// Settings of SVRE.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SvreSettings {
    /// The step in `x`. Where none is given: a quarter of the step that extragradient may take by
    /// the problem's block constants. [`search_steps`](crate::solver::search_steps) finds better ones.
    pub step_x: Option<f64>,
    /// The step in `y`; as for `x`.
    pub step_y: Option<f64>,
    /// Components in a batch (at most all of them, which makes the method plain extragradient).
    pub batch: u64,
    /// How the length of an epoch is drawn.
    pub epoch: Epoch,
    /// The mean length of an epoch in inner iterations; where none is given, `n / batch`.
    pub epoch_mean: Option<f64>,
    /// The seed of the batches and epochs.
    pub seed: u64,
}

/// The batch that the NeurIPS 2020 paper uses.
const BATCH: u64 = 100;
/// The default step, relative to that of the extragradient method: the estimator is noisy and the
/// components may be rougher than their mean.
const CAUTION: f64 = 0.25;

impl Default for SvreSettings {
    fn default() -> Self {
        SvreSettings {
            step_x: None,
            step_y: None,
            batch: BATCH,
            epoch: Epoch::Geometric,
            epoch_mean: None,
            seed: 0,
        }
    }
}

impl SvreSettings {
    /// Steps `eta_x` and `eta_y`.
    #[must_use]
    pub fn steps(mut self, eta_x: f64, eta_y: f64) -> Self {
        (self.step_x, self.step_y) = (Some(eta_x), Some(eta_y));
        self
    }

    /// Components in a batch.
    #[must_use]
    pub fn batch(mut self, size: u64) -> Self {
        self.batch = size;
        self
    }

    /// The seed.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// How the length of an epoch is drawn.
    #[must_use]
    pub fn epoch(mut self, epoch: Epoch) -> Self {
        self.epoch = epoch;
        self
    }

    /// The mean length of an epoch in inner iterations.
    #[must_use]
    pub fn epoch_mean(mut self, iterations: f64) -> Self {
        self.epoch_mean = Some(iterations);
        self
    }
}

impl MethodSettings for SvreSettings {
    const ABOUT: About = About::new("svre", "SVRE: variance-reduced extragradient, which projects")
        .needs(&[Need::Projection(Block::X), Need::Projection(Block::Y), Need::FiniteSum])
        .certifies_by_fw_gap();

    fn start<'a>(&self, start: Start<'a, '_>) -> Result<Box<dyn Algorithm + 'a>> {
        Ok(Box::new(Svre::new(start, self)?))
    }

    fn fingerprint(&self, print: &mut Fingerprint) {
        let SvreSettings { step_x, step_y, batch, epoch, epoch_mean, seed } = self;
        print.note_maybe("step in x", *step_x);
        print.note_maybe("step in y", *step_y);
        print.note("batch", batch);
        print.note("epoch", format!("{epoch:?}"));
        print.note_maybe("mean epoch", *epoch_mean);
        print.note("seed", seed);
    }

    fn check(&self) -> Result<()> {
        for (name, step) in [("the step in x", self.step_x), ("the step in y", self.step_y)] {
            if let Some(step) = step {
                check_positive(name, step)?;
            }
        }
        if self.batch == 0 {
            let why = "must be at least 1 component, got 0".to_owned();
            return Err(Error::Setting { name: "batch", why });
        }
        match self.epoch_mean {
            Some(mean) if !(mean.is_finite() && mean >= 1.0) => {
                let why = format!("must be at least 1, got {mean}");
                Err(Error::Setting { name: "epoch_mean", why })
            }
            _ => Ok(()),
        }
    }

    fn with_seed(self, seed: u64) -> Self {
        self.seed(seed)
    }

    fn with_steps(self, step_x: f64, step_y: f64) -> Option<Self> {
        Some(self.steps(step_x, step_y))
    }

    fn steps(&self) -> Option<(f64, f64)> {
        self.step_x.zip(self.step_y)
    }

    fn samples_per_iteration(&self) -> Option<u64> {
        Some(self.batch)
    }
}

/// The snapshot `(x_S, y_S)` and the full gradients there.
struct Snapshot {
    x: PointX,
    y: Vec<f64>,
    mean_x: Vec<f64>,
    mean_y: Vec<f64>,
    spare_x: Vec<f64>,
    spare_y: Vec<f64>,
}

impl Snapshot {
    /// Full gradients at a new point: `n` component gradients in each block.
    fn take(&mut self, oracles: &mut Oracles<'_>, x: &[f64], y: &[f64]) -> Result<()> {
        self.x.x.copy_from_slice(x);
        self.y.copy_from_slice(y);
        oracles.image(x, &mut self.x.image)?;
        oracles.prepare(&mut self.x);
        oracles.grad_x(&self.x, y, &mut self.mean_x)?;
        oracles.grad_y(&self.x, y, &mut self.mean_y)?;
        Ok(())
    }

    /// The image is of no more use once there are the full gradients.
    fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.numbers("x", &mut self.x.x)?;
        archive.numbers("y", &mut self.y)?;
        archive.numbers("mean_x", &mut self.mean_x)?;
        archive.numbers("mean_y", &mut self.mean_y)
    }

    /// `d_B(x, y) = grad F_B(x, y) - grad F_B(x_S, y_S) + grad f(x_S, y_S)` in one block; the sum over
    /// all components needs no correction.
    fn estimate(
        &mut self,
        oracles: &mut Oracles<'_>,
        (block, batch, n): (Block, &[u64], u64),
        x: &[f64],
        y: &[f64],
        out: &mut [f64],
    ) -> Result<()> {
        match block {
            Block::X => oracles.batch_grad_x(batch, x, y, out)?,
            Block::Y => oracles.batch_grad_y(batch, x, y, out)?,
        }
        if batch.len() as u64 == n {
            return Ok(());
        }
        let (mean, spare) = match block {
            Block::X => {
                oracles.batch_grad_x(batch, &self.x.x, &self.y, &mut self.spare_x)?;
                (&self.mean_x, &self.spare_x)
            }
            Block::Y => {
                oracles.batch_grad_y(batch, &self.x.x, &self.y, &mut self.spare_y)?;
                (&self.mean_y, &self.spare_y)
            }
        };
        axpy(-1.0, spare, out);
        axpy(1.0, mean, out);
        Ok(())
    }
}

/// SVRE, running. One step is one inner iteration, so that limits of time and oracle calls are kept
/// closely; certificates cost full gradients, so look at them every epoch or so
/// ([`epoch_mean`](Svre::epoch_mean), [`evaluate_every`](crate::run::StopRules::evaluate_every)).
///
/// An inner iteration asks for `8 batch` component gradients (two half steps, two blocks, at the
/// point and at the snapshot), a new epoch for `2 n`.
pub struct Svre<'a> {
    oracles: Oracles<'a>,
    step_x: f64,
    step_y: f64,
    n: u64,
    batch_size: u64,
    epoch: Epoch,
    epoch_mean: f64,
    /// Inner iterations left in this epoch.
    left: u64,
    epochs: u64,
    k: u64,
    x: Vec<f64>,
    y: Vec<f64>,
    x_half: Vec<f64>,
    y_half: Vec<f64>,
    gradient_x: Vec<f64>,
    gradient_y: Vec<f64>,
    snapshot: Snapshot,
    batch: Vec<u64>,
    x_batches: Stream,
    y_batches: Stream,
    epoch_lengths: Stream,
    /// The current point with its image, for evaluations.
    seen: PointX,
    best: Incumbent,
}

impl<'a> Svre<'a> {
    /// SVRE at its start point.
    ///
    /// # Errors
    /// Dimensions that disagree, a start point outside its set, settings out of range, a problem that
    /// is no finite sum, a set without an exact projection, no steps and no constants to find them
    /// from.
    pub fn new(start: Start<'a, '_>, settings: &SvreSettings) -> Result<Self> {
        settings.check()?;
        let oracles = start.oracles(SvreSettings::ABOUT.needs)?;
        let n = match oracles.sampled()?.population() {
            Population::Finite(n) if n > 0 => n,
            _ => {
                let why = "cannot be drawn: the sum has no components".to_owned();
                return Err(Error::Setting { name: "batch", why });
            }
        };
        let (step_x, step_y) = match (settings.step_x, settings.step_y) {
            (Some(x), Some(y)) => (x, y),
            (x, y) => {
                let (safe_x, safe_y) = balanced_steps(&start, "SVRE's default step")?;
                (x.unwrap_or(CAUTION * safe_x), y.unwrap_or(CAUTION * safe_y))
            }
        };
        check_positive("the step in x", step_x)?;
        check_positive("the step in y", step_y)?;
        let batch_size = settings.batch.min(n);
        let epoch_mean = settings.epoch_mean.unwrap_or(n as f64 / batch_size as f64);
        let seen = PointX::new(start.problem);
        let (mut x, mut y) = (seen.x.clone(), vec![0.0; start.problem.dim_y()]);
        oracles.start(Block::X, start.x0, &mut x)?;
        oracles.start(Block::Y, start.y0, &mut y)?;
        let streams = Streams::new(settings.seed);
        Ok(Svre {
            oracles,
            step_x,
            step_y,
            n,
            batch_size,
            epoch: settings.epoch,
            epoch_mean,
            left: 0,
            epochs: 0,
            k: 0,
            x_half: x.clone(),
            y_half: y.clone(),
            gradient_x: x.clone(),
            gradient_y: y.clone(),
            snapshot: Snapshot {
                x: seen.clone(),
                y: y.clone(),
                mean_x: x.clone(),
                mean_y: y.clone(),
                spare_x: x.clone(),
                spare_y: y.clone(),
            },
            batch: Vec::with_capacity(batch_size as usize),
            x_batches: streams.stream("svre batches of x"),
            y_batches: streams.stream("svre batches of y"),
            epoch_lengths: streams.stream("svre epochs"),
            seen,
            best: Incumbent::new(&x, &y),
            x,
            y,
        })
    }

    /// The steps in `x` and `y`.
    #[must_use]
    pub fn steps(&self) -> (f64, f64) {
        (self.step_x, self.step_y)
    }

    /// The mean number of inner iterations in an epoch.
    #[must_use]
    pub fn epoch_mean(&self) -> f64 {
        self.epoch_mean
    }

    /// Epochs begun so far.
    #[must_use]
    pub fn epochs(&self) -> u64 {
        self.epochs
    }

    /// Writes the estimator `grad F_B(x, y) - grad F_B(x_S, y_S) + grad f(x_S, y_S)` of the gradient
    /// in one block, with the snapshot of the current epoch (there is one after the first step,
    /// unless every batch is the whole sum). Its calls are counted as the method's own.
    ///
    /// # Errors
    /// Gradients that are not finite.
    pub fn estimate(
        &mut self,
        block: Block,
        batch: &[u64],
        x: &[f64],
        y: &[f64],
        out: &mut [f64],
    ) -> Result<()> {
        self.snapshot.estimate(&mut self.oracles, (block, batch, self.n), x, y, out)
    }

    fn begin_epoch(&mut self) -> Result<()> {
        if self.batch_size < self.n {
            self.snapshot.take(&mut self.oracles, &self.x, &self.y)?;
        }
        self.left = match self.epoch {
            Epoch::Fixed => self.epoch_mean.round() as u64,
            Epoch::Geometric => geometric(&mut self.epoch_lengths, self.epoch_mean),
        };
        self.epochs += 1;
        Ok(())
    }

    /// Estimates both gradients at the current point or at the half step, each from a batch of its
    /// own.
    fn estimate_both(&mut self, at_half: bool) -> Result<()> {
        let Svre { oracles, snapshot, batch, n, .. } = self;
        let (x, y) = if at_half { (&self.x_half, &self.y_half) } else { (&self.x, &self.y) };
        let population = Population::Finite(*n);
        self.x_batches.batch(population, self.batch_size, batch)?;
        snapshot.estimate(oracles, (Block::X, batch, *n), x, y, &mut self.gradient_x)?;
        self.y_batches.batch(population, self.batch_size, batch)?;
        snapshot.estimate(oracles, (Block::Y, batch, *n), x, y, &mut self.gradient_y)?;
        self.gradient_y.iter_mut().for_each(|g| *g = -*g);
        Ok(())
    }

    /// Steps from the current point along the estimated gradients and projects, into the half step.
    fn project(&mut self) -> Result<()> {
        let (bx, by) = (1.0 / self.step_x, 1.0 / self.step_y);
        self.oracles.prox(Block::X, &self.gradient_x, &self.x, bx, &mut self.x_half)?;
        self.oracles.prox(Block::Y, &self.gradient_y, &self.y, by, &mut self.y_half)?;
        Ok(())
    }
}

/// A number from 1 on with `P(N > j) = (1 - 1/mean)^j`.
fn geometric(stream: &mut Stream, mean: f64) -> u64 {
    if mean <= 1.0 {
        return 1;
    }
    // in (0, 1): the middle of one of 2^53 cells
    let uniform = ((stream.word() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
    1 + (uniform.ln() / (-1.0 / mean).ln_1p()) as u64
}

impl Algorithm for Svre<'_> {
    fn name(&self) -> &'static str {
        SvreSettings::ABOUT.name
    }

    fn step(&mut self) -> Result<Step> {
        if self.left == 0 {
            self.begin_epoch()?;
        }
        // extrapolation: z_half = P[z_t - eta d(z_t)]
        self.estimate_both(false)?;
        self.project()?;
        // update, with new batches: z_{t+1} = P[z_t - eta d(z_half)]
        self.estimate_both(true)?;
        self.project()?;
        std::mem::swap(&mut self.x, &mut self.x_half);
        std::mem::swap(&mut self.y, &mut self.y_half);
        self.left -= 1;
        self.k += 1;
        Ok(Step::Advanced)
    }

    fn evaluate(&mut self) -> Result<()> {
        let seen = &mut self.seen;
        seen.x.copy_from_slice(&self.x);
        self.oracles.certifying(|o| o.image(&seen.x, &mut seen.image))?;
        self.oracles.prepare(seen);
        self.best.consider(&mut self.oracles, seen, &self.y)
    }

    fn certificate(&self) -> &Certificate {
        &self.best.certificate
    }

    fn best(&self) -> (&[f64], &[f64]) {
        (&self.best.x, &self.best.y)
    }

    fn current(&self) -> (&[f64], &[f64]) {
        (&self.x, &self.y)
    }

    fn iterations(&self) -> u64 {
        self.k
    }

    fn ledger(&self) -> &Ledger {
        &self.oracles.ledger
    }

    fn watch(&self) -> &Watch {
        self.oracles.watch()
    }

    fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.nested("oracles", |archive| self.oracles.state(archive))?;
        archive.count("left", &mut self.left)?;
        archive.count("epochs", &mut self.epochs)?;
        archive.count("k", &mut self.k)?;
        archive.numbers("x", &mut self.x)?;
        archive.numbers("y", &mut self.y)?;
        // with batches of all components there is no snapshot, and with none left in the epoch none is needed
        if self.batch_size < self.n && self.left > 0 {
            archive.nested("snapshot", |archive| self.snapshot.state(archive))?;
        }
        archive.nested("x_batches", |archive| self.x_batches.state(archive))?;
        archive.nested("y_batches", |archive| self.y_batches.state(archive))?;
        archive.nested("epoch_lengths", |archive| self.epoch_lengths.state(archive))?;
        archive.nested("best", |archive| self.best.state(archive))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_have_the_mean_and_the_tail_of_a_geometric_distribution() {
        let mut stream = Streams::new(3).stream("test");
        let (mean, draws) = (8.0, 20_000);
        let lengths: Vec<u64> = (0..draws).map(|_| geometric(&mut stream, mean)).collect();
        assert!(lengths.iter().all(|&l| l >= 1));
        let average = lengths.iter().sum::<u64>() as f64 / f64::from(draws);
        let sd = (mean * (mean - 1.0) / f64::from(draws)).sqrt();
        assert!((average - mean).abs() <= 5.0 * sd, "mean {average}");
        let beyond = lengths.iter().filter(|&&l| l > 8).count() as f64 / f64::from(draws);
        assert!((beyond - (1.0f64 - 1.0 / mean).powi(8)).abs() < 0.02, "tail {beyond}");
        assert_eq!(geometric(&mut stream, 1.0), 1);
    }
}
