//! Runs of methods on one data set, all measured in the same way.

use crate::progress::Progress;
use crate::values::show;
use anyhow::Result;
use couloir::certificate::FwGap;
use couloir::domain::{Domain, NuclearBall};
use couloir::model::{RobustFit, RobustMulticlass, Start};
use couloir::run::{Algorithm, Clock, Flow, StopRules, TracePoint, WallClock};
use couloir::solver::{PAPER_GRID, search_steps};
use couloir::{Certificate, Error, Method, Solve};
use couloir_data::Dataset;
use couloir_report::results::{
    DataFacts, Point, Results, Run, RunEnd, RunKey, Search, Trial, finite,
};

/// The share of the budget that each candidate of a search for steps has.
const SEARCH_SHARE: f64 = 0.1;
/// Looks at the gap in an epoch of SVRE: each costs as much as several of its batches.
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
}

impl Problem {
    pub fn new(name: &str, mut data: Dataset, fit: &RobustFit, budget: f64) -> Result<Self> {
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
        Ok(Problem { facts, x_set, model, start, budget, seed: fit.seed })
    }

    pub fn facts(&self) -> &DataFacts {
        &self.facts
    }

    /// The method on this problem from the common start, for these seconds.
    fn solve(&self, method: Method, seconds: f64) -> Solve<'_> {
        let mut rules = StopRules::default();
        (rules.relative_gap, rules.iterations) = (None, Some(MANY));
        rules.seconds = Some(seconds);
        if let Method::Svre(settings) = &method {
            let epoch = (self.facts.n as u64).div_ceil(settings.batch.max(1));
            rules.evaluate_every = epoch.div_ceil(LOOKS);
        }
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
        if !matches!(method, Method::Svre(_) | Method::Extragradient(_)) {
            return Ok(None);
        }
        if let Some(search) = results.search_of(&self.facts.data, method.name()) {
            return Ok(Some(search.clone()));
        }
        let seconds = SEARCH_SHARE * self.budget;
        let candidates = PAPER_GRID.len() * PAPER_GRID.len() + 1;
        progress.show(|| format!("{title}: {candidates} pairs of steps, {seconds} s each"));
        let clock = WallClock::start();
        let mut solve = self.solve(method.clone().with_seed(self.seed), seconds);
        let own =
            match solve.run_with(&clock, &mut |_: &TracePoint, _: &dyn Algorithm| Flow::Continue) {
                Ok(solution) if solution.outcome.trouble.is_some() => None,
                Ok(solution) => finite(solution.outcome.certificate.gap),
                Err(error) if error.is_numerical() => None,
                Err(error) => return Err(error.into()),
            };
        solve = solve.evaluate_every(MANY);
        let search = search_steps(&solve, &PAPER_GRID, true, &clock)?;
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

    /// Runs a method until its time is up. A method that runs into numerical trouble has its run end there.
    pub fn run(
        &self,
        method: Method,
        key: RunKey,
        progress: &mut Progress,
        title: &str,
    ) -> Result<Run> {
        let seed = self.seed + key.repeat;
        let steps = steps_of(&method);
        let solve = self.solve(method.clone().with_seed(seed), self.budget);
        let mut look = Look::new(self, &method)?;
        let mut points: Vec<Point> = Vec::new();
        let mut trouble = None;
        let budget = self.budget;
        let mut watch = |point: &TracePoint, state: &dyn Algorithm| {
            match look.at(point, state) {
                Ok(gap) => points.push(record(&key, point, &gap)),
                Err(error) => {
                    trouble = Some(error);
                    return Flow::Stop;
                }
            }
            progress.show(|| {
                let gap = show(look.best.gap);
                format!("{title}: {:.1} of {budget} s, FW-gap {gap}", point.seconds)
            });
            Flow::Continue
        };
        let outcome = solve.run_with(&WallClock::start(), &mut watch);
        let (status, certificate, facts) = match (outcome, trouble) {
            (Ok(solution), None) => {
                let outcome = solution.outcome;
                let status = match &outcome.trouble {
                    Some(error) => trouble_at(error),
                    None => outcome.status.to_string(),
                };
                (status, outcome.certificate, outcome.facts)
            }
            (Err(error), _) if !error.is_numerical() => return Err(error.into()),
            (Err(error), _) | (Ok(_), Some(error)) => {
                (trouble_at(&error), Certificate::NONE, Vec::new())
            }
        };
        let end = RunEnd {
            run: key,
            status,
            seed,
            points: points.len(),
            steps,
            upper: finite(certificate.upper),
            lower: finite(certificate.lower),
            facts: (facts.iter())
                .filter(|fact| fact.value.is_finite())
                .map(|fact| (fact.name.to_owned(), fact.value))
                .collect(),
        };
        Ok(Run { end, points })
    }
}

/// The status of a run that ended with this error.
fn trouble_at(error: &Error) -> String {
    format!("numerical trouble: {error}")
}

fn steps_of(method: &Method) -> Option<(f64, f64)> {
    match method {
        Method::Svre(settings) => settings.step_x.zip(settings.step_y),
        Method::Extragradient(settings) => settings.step_x.zip(settings.step_y),
        _ => None,
    }
}

/// Measures the FW-gap, the same for every method.
struct Look<'a> {
    fw_gap: FwGap<'a>,
    /// Whether the certificate of the method is another.
    measures: bool,
    /// The best so far, from the common start on: a method may know a better pair before its first iteration.
    best: Certificate,
}

impl<'a> Look<'a> {
    fn new(problem: &'a Problem, method: &Method) -> Result<Self> {
        let mut fw_gap = FwGap::new(&problem.model, &problem.x_set, problem.model.y_set())?;
        let best = fw_gap.at(&vec![0.0; problem.x_set.dim()], &problem.start)?;
        let measures = matches!(method, Method::Certified(_) | Method::Mpscgs(_));
        Ok(Look { fw_gap, measures, best })
    }

    fn at(&mut self, point: &TracePoint, state: &dyn Algorithm) -> couloir::Result<Certificate> {
        if point.iteration == 0 {
            return Ok(self.best);
        }
        let now = if self.measures {
            let (x, y) = state.best();
            self.fw_gap.at(x, y)?
        } else {
            point.certificate
        };
        if now.gap < self.best.gap {
            self.best = now;
        }
        Ok(self.best)
    }
}

fn record(key: &RunKey, point: &TracePoint, gap: &Certificate) -> Point {
    let ledger = &point.ledger;
    Point {
        run: key.clone(),
        iteration: point.iteration,
        seconds: point.seconds,
        certified_gap: finite(point.certificate.gap),
        gap: finite(gap.gap),
        gap_x: finite(gap.gap_x),
        gap_y: finite(gap.gap_y),
        bound: finite(point.bounds.schedule.min(point.bounds.minorant)),
        gradients: ledger.method.grad_x,
        certificate_gradients: ledger.certificate.grad_x,
        component_gradients: ledger.method.component_grads,
        lo_calls: ledger.method.lo(),
        passes: ledger.method.passes,
    }
}
