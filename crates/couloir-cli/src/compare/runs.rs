//! Runs of methods on one data set, all measured in the same way.

use super::watch::Watch;
use crate::failure::warn;
use crate::progress::Progress;
use anyhow::Result;
use couloir::certificate::FwGap;
use couloir::domain::{Domain, NuclearBall};
use couloir::model::{RobustFit, RobustMulticlass, Start};
use couloir::run::{Cancel, Checkpoints, Clock, MemoryLimit, Status, StopRules, WallClock};
use couloir::solver::{PAPER_GRID, search_steps};
use couloir::{Certificate, Error, Method, Solve};
use couloir_data::Dataset;
use couloir_report::results::{DataFacts, Results, Run, RunEnd, RunKey, Search, Trial, finite};
use std::path::Path;

/// The share of the budget that each candidate of a search for steps has.
const SEARCH_SHARE: f64 = 0.1;
/// Evaluations in a pass over the data, for methods whose iterations are batches: each costs as much as several of those.
const LOOKS: u64 = 8;
/// A limit for the sake of a limit: time is up long before.
const MANY: u64 = 1_000_000_000;

/// A problem on which methods are compared.
pub struct Problem {
    facts: DataFacts,
    model: RobustMulticlass,
    x_set: NuclearBall,
    /// First weights of the rows; `X = 0` with them is where all methods start.
    start: Vec<f64>,
    budget: f64,
    seed: u64,
    cancel: Cancel,
    max_memory: Option<MemoryLimit>,
}

impl Problem {
    pub fn new(name: &str, mut data: Dataset, fit: &RobustFit, budget: f64) -> Result<Self> {
        let (cancel, max_memory) = (fit.cancel.clone().unwrap_or_default(), fit.max_memory.clone());
        let (d, classes, entries) = (data.features, data.classes.len(), data.nonzeros());
        let rows = data.take_matrix()?;
        let model = fit.model(rows, std::mem::take(&mut data.labels), classes)?;
        let facts = DataFacts {
            data: name.to_owned(),
            n: model.len(),
            d,
            classes,
            entries,
            tau: model.settings().tau,
            scale: model.scale(),
        };
        let x_set = model.x_set()?;
        let n = model.len();
        let start = match fit.start {
            Start::Vertex => (0..n).map(|i| if i == 0 { 1.0 } else { 0.0 }).collect(),
            _ => vec![1.0 / n as f64; n],
        };
        Ok(Problem { facts, x_set, model, start, budget, seed: fit.seed, cancel, max_memory })
    }

    pub fn facts(&self) -> &DataFacts {
        &self.facts
    }

    /// The FW-gap on this problem, and its value at the common start.
    pub fn fw_gap(&self) -> couloir::Result<(FwGap<'_>, Certificate)> {
        let mut fw_gap = FwGap::new(&self.model, &self.x_set, self.model.y_set())?;
        let first = fw_gap.at(&vec![0.0; self.x_set.dim()], &self.start)?;
        Ok((fw_gap, first))
    }

    /// Seconds that each run has.
    pub fn budget(&self) -> f64 {
        self.budget
    }

    /// The method on this problem from the common start, for these seconds.
    fn solve(&self, method: Method, seconds: f64) -> Solve<'_> {
        let mut rules = StopRules::default();
        (rules.relative_gap, rules.iterations) = (None, Some(MANY));
        (rules.seconds, rules.memory) = (Some(seconds), self.max_memory.clone());
        rules.cancel = Some(self.cancel.clone());
        rules.evaluate_every = method.iterations_per_pass(self.facts.n as u64).div_ceil(LOOKS);
        Solve::new(&self.model, &self.x_set, self.model.y_set())
            .method(method)
            .rules(rules)
            .start_y(self.start.clone())
    }

    /// Searches for the steps of a method that needs them, unless that has been done.
    pub fn search(
        &self,
        method: &Method,
        results: &Results,
        progress: &mut Progress,
        title: &str,
    ) -> Result<Option<Search>> {
        if !method.has_steps() {
            return Ok(None);
        }
        if let Some(search) = results.search_of(&self.facts.data, method.name()) {
            return Ok(Some(search.clone()));
        }
        let seconds = SEARCH_SHARE * self.budget;
        let candidates = PAPER_GRID.len() * PAPER_GRID.len() + 1;
        progress.show(|| format!("{title}: {candidates} pairs of steps, {seconds} s each"));
        let clock = WallClock::start();
        let mut solve = self.solve(method.with_seed(self.seed), seconds).clock(clock);
        let own = match solve.run() {
            Ok(solution) if solution.outcome.trouble.is_some() => None,
            Ok(solution) => finite(solution.outcome.certificate.gap),
            Err(error) if error.is_numerical() => None,
            Err(error) => return Err(error.into()),
        };
        solve = solve.evaluate_every(MANY);
        let search = search_steps(&solve, &PAPER_GRID, true)?;
        let mut trials = vec![Trial { steps: None, gap: own }];
        trials.extend(search.trials.iter().map(|trial| Trial {
            steps: Some((trial.step_x, trial.step_y)),
            gap: finite(trial.gap()),
        }));
        let best = search.best().filter(|best| !own.is_some_and(|own| own <= best.gap()));
        Ok(Some(Search {
            data: self.facts.data.clone(),
            method: method.name().to_owned(),
            trials,
            chosen: best.map(|best| (best.step_x, best.step_y)),
            seconds: clock.seconds(),
        }))
    }

    /// Runs a method until its time is up, or goes on with the run that `checkpoint` is of; none where the run is
    /// interrupted, and then all of it is in the checkpoint. A method that runs into numerical trouble has its run end
    /// there.
    pub fn run(
        &self,
        method: &Method,
        key: &RunKey,
        checkpoint: &Path,
        progress: &mut Progress,
        title: &str,
    ) -> Result<Option<Run>> {
        let mut plan = Checkpoints::to(checkpoint);
        if checkpoint.exists() {
            plan = Checkpoints::resume(checkpoint);
        }
        let resumes = plan.resume.is_some();
        match self.attempt(method, key, plan, progress, title) {
            Err(Error::Checkpoint { error, file }) if resumes => {
                warn(&format!("{}: {error}; the run begins anew", file.display()));
                let plan = Checkpoints::to(checkpoint);
                Ok(self.attempt(method, key, plan, progress, title)?)
            }
            done => Ok(done?),
        }
    }

    fn attempt(
        &self,
        method: &Method,
        key: &RunKey,
        plan: Checkpoints,
        progress: &mut Progress,
        title: &str,
    ) -> couloir::Result<Option<Run>> {
        let seed = self.seed + key.repeat;
        let solve = self.solve(method.with_seed(seed), self.budget).checkpoints(plan);
        let mut watch = Watch::new(self, method, key, progress, title)?;
        let outcome = solve.clock(WallClock::start()).run_with(&mut watch);
        let Watch { points, trouble, .. } = watch;
        let (status, certificate, facts) = match (outcome, trouble) {
            (Ok(solution), None) => {
                let outcome = solution.outcome;
                if outcome.status == Status::Cancelled {
                    return Ok(None);
                }
                let status = match &outcome.trouble {
                    Some(error) => trouble_at(error),
                    None => outcome.status.to_string(),
                };
                (status, outcome.certificate, outcome.facts)
            }
            (Err(error), _) if !error.is_numerical() => return Err(error),
            (Err(error), _) | (Ok(_), Some(error)) => {
                (trouble_at(&error), Certificate::NONE, Vec::new())
            }
        };
        let end = RunEnd {
            run: key.clone(),
            status,
            seed,
            points: points.len(),
            steps: method.steps(),
            upper: finite(certificate.upper),
            lower: finite(certificate.lower),
            facts: (facts.iter())
                .filter(|fact| fact.value.is_finite())
                .map(|fact| (fact.name.to_owned(), fact.value))
                .collect(),
        };
        Ok(Some(Run { end, points }))
    }
}

/// The status of a run that ended with this error.
fn trouble_at(error: &Error) -> String {
    match error {
        Error::Contradiction { .. } => format!("{}: {error}", Status::Contradiction),
        _ => format!("{}: {error}", Status::NumericalTrouble),
    }
}
