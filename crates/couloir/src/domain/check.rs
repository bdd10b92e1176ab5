//! A check of a set: does what its oracle says fit together?

use super::{Domain, Oracle, SlideState, SlideTask};
use crate::linalg::{between, distance_squared, dot, norm};
use crate::random::{Stream, Streams};

/// What may be off by rounding, as a share of the sizes of what is compared.
const ROUNDING: f64 = 1e-9;
/// The gap that an exact prox may leave, as a share of the sizes of what is compared.
const EXACT: f64 = 1e-7;
/// The gap asked of a slide, as a share of the first one.
const SLIDE: f64 = 1e-3;
/// Linear minimisations that a slide may spend.
const SLIDE_BUDGET: u64 = 2000;
/// Sentences about one fault are not repeated beyond this number.
const MOST_FAULTS: usize = 10;

/// The linear functions to try.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Directions {
    /// Any.
    #[default]
    Any,
    /// Those without negative entries: for sets such as shortest paths in a graph with cycles.
    NonNegative,
}

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct SetReport {
    /// One sentence for each fault, with the numbers that do not fit; empty where all is well.
    pub faults: Vec<String>,
    /// Linear functions that were minimised.
    pub linear_minimisations: u64,
    /// The largest distance of two points of the set that were seen: at most the diameter.
    pub farthest: f64,
    /// Whether the exact prox was tried.
    pub tried_prox: bool,
    /// Whether away steps were tried.
    pub tried_away: bool,
}

impl SetReport {
    /// Whether no fault was found.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.faults.is_empty()
    }
}

/// Settings of a check.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SetCheck {
    /// How many linear functions are tried.
    pub trials: usize,
    /// Which ones.
    pub directions: Directions,
    /// The seed of the random numbers.
    pub seed: u64,
}

impl Default for SetCheck {
    fn default() -> Self {
        SetCheck { trials: 60, directions: Directions::Any, seed: 0 }
    }
}

/// Checks a set by its own answers: whether linear minimisations stay in the set and are never worse than another point of it, whether
/// the diameter bounds all distances, and whether prox, away steps and slides agree with linear minimisation.
///
/// ```
/// use couloir::domain::{LoSet, Simplex, check_set};
/// assert!(check_set(&Simplex::new(5)?).is_clean());
///
/// // this one maximises
/// let wrong = LoSet::new(2, 2.0, vec![0.0, 0.0], |g, p| {
///     p.iter_mut().zip(g).for_each(|(p, g)| *p = if *g > 0.0 { 0.7 } else { -0.7 });
/// })?;
/// let report = check_set(&wrong);
/// assert!(report.faults[0].contains("does not minimise"), "{}", report.faults[0]);
/// # Ok::<(), couloir::Error>(())
/// ```
#[must_use]
pub fn check_set(set: &dyn Domain) -> SetReport {
    SetCheck::default().run(set)
}

impl SetCheck {
    /// How many linear functions are tried.
    #[must_use]
    pub fn trials(mut self, trials: usize) -> Self {
        self.trials = trials;
        self
    }

    /// Which linear functions are tried.
    #[must_use]
    pub fn directions(mut self, directions: Directions) -> Self {
        self.directions = directions;
        self
    }

    /// The seed of the random numbers.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Checks this set.
    #[must_use]
    pub fn run(&self, set: &dyn Domain) -> SetReport {
        let mut check = Check {
            settings: self,
            set,
            oracle: set.oracle(),
            random: Streams::new(self.seed).stream("check of a set"),
            members: Vec::new(),
            diameter: set.diameter(),
            reach: 0.0,
            report: SetReport::default(),
        };
        check.run();
        check.report
    }
}

struct Check<'a> {
    settings: &'a SetCheck,
    set: &'a dyn Domain,
    oracle: Box<dyn Oracle + 'a>,
    random: Stream,
    /// Points of the set.
    members: Vec<Vec<f64>>,
    diameter: f64,
    /// The length of the longest of them.
    reach: f64,
    report: SetReport,
}

impl Check<'_> {
    fn fault(&mut self, sentence: String) {
        if self.report.faults.len() < MOST_FAULTS {
            self.report.faults.push(sentence);
        }
    }

    fn run(&mut self) {
        let dim = self.set.dim();
        if dim == 0 || !(self.diameter >= 0.0 && self.diameter.is_finite()) {
            let diameter = self.diameter;
            self.fault(format!(
                "the set has dimension {dim} and diameter {diameter}; a set needs at least one coordinate and a finite diameter"
            ));
            return;
        }
        let mut centre = vec![0.0; dim];
        self.set.center(&mut centre);
        self.join(centre, "the start point of the set (its centre)");
        for trial in 0..self.settings.trials {
            let g = self.direction(trial);
            if !self.minimise(&g) {
                return;
            }
            if trial % 4 == 0 {
                self.mix();
            }
            if self.oracle.has_prox() {
                self.report.tried_prox = true;
                self.prox(&g);
            }
            if self.oracle.has_away() {
                self.report.tried_away = true;
                self.away(&g);
            }
            if trial % 10 == 0 {
                self.slide(&g);
            }
            if self.report.faults.len() >= MOST_FAULTS {
                return;
            }
        }
        // what was found late may be below an early minimum
        let early: Vec<Vec<f64>> =
            (0..self.settings.trials.min(8)).map(|t| self.direction(t)).collect();
        early.iter().for_each(|g| {
            self.minimise(g);
        });
    }

    /// Dense, sparse, flat, huge and tiny ones in turn.
    fn direction(&mut self, trial: usize) -> Vec<f64> {
        let dim = self.set.dim();
        let mut g: Vec<f64> = (0..dim).map(|_| self.random.gaussian()).collect();
        match trial % 6 {
            1 => {
                let keep = (self.random.word() % dim as u64) as usize;
                g.iter_mut().enumerate().for_each(|(i, g)| *g = if i == keep { *g } else { 0.0 });
            }
            2 => g.iter_mut().for_each(|g| *g = g.signum()),
            3 => g.iter_mut().for_each(|g| *g *= 1e6),
            4 => g.iter_mut().for_each(|g| *g *= 1e-6),
            _ => {}
        }
        if self.settings.directions == Directions::NonNegative {
            g.iter_mut().for_each(|g| *g = g.abs());
        }
        g
    }

    fn tolerance(&self) -> f64 {
        ROUNDING * (self.reach + self.diameter)
    }

    /// Takes a point of the set in, and looks whether it is one.
    fn join(&mut self, p: Vec<f64>, what: &str) {
        if let Some(i) = p.iter().position(|p| !p.is_finite()) {
            self.fault(format!("{what} has the entry {} at place {i}", p[i]));
            return;
        }
        self.reach = self.reach.max(norm(&p));
        let (outside, tolerance) = (self.set.violation(&p), self.tolerance());
        if !(outside <= tolerance) {
            self.fault(format!(
                "{what} lies outside of the set by {outside:e}; rounding explains {tolerance:e}"
            ));
            return;
        }
        let apart = self.members.iter().map(|q| distance_squared(&p, q)).fold(0.0, f64::max).sqrt();
        self.report.farthest = self.report.farthest.max(apart);
        if apart > self.diameter * (1.0 + ROUNDING) + f64::EPSILON * self.reach {
            let diameter = self.diameter;
            self.fault(format!(
                "two points of the set are {apart} apart, but its diameter is given as {diameter}; give a larger one"
            ));
        }
        self.members.push(p);
    }

    /// A random point between two.
    fn mix(&mut self) {
        let n = self.members.len() as u64;
        let (one, two) = ((self.random.word() % n) as usize, (self.random.word() % n) as usize);
        let share = self.random.gaussian().abs().min(1.0);
        let mut p = vec![0.0; self.set.dim()];
        between(share, &self.members[one], &self.members[two], &mut p);
        self.join(p, "a point between two points of the set");
    }

    /// Minimises, and compares with everything known; false where it is no use to go on.
    fn minimise(&mut self, g: &[f64]) -> bool {
        self.report.linear_minimisations += 1;
        let mut p = vec![f64::NAN; g.len()];
        let minimum = match self.oracle.lmo(g, &mut p) {
            Ok(minimum) => minimum,
            Err(error) => {
                self.fault(format!("the linear minimisation failed: {error}"));
                return false;
            }
        };
        let allowance = self.tolerance() * norm(g);
        let value = dot(g, &p);
        if !((value - minimum.value).abs() <= allowance) {
            self.fault(format!(
                "the linear minimisation reports the minimum {}, but <g, p> at its point p is {value}",
                minimum.value
            ));
        }
        if !(minimum.lower <= minimum.value) {
            let (lower, reported) = (minimum.lower, minimum.value);
            self.fault(format!(
                "the lower bound {lower} of a minimum is above the minimum {reported}"
            ));
        }
        let best = self.members.iter().map(|m| dot(g, m)).fold(f64::INFINITY, f64::min);
        if best < minimum.lower - allowance {
            self.fault(format!(
                "the linear minimisation does not minimise: it reports that <g, p> is at least {}, but a point of the set that was \
                 seen before has {best}",
                minimum.lower
            ));
        }
        self.join(p, "an answer of the linear minimisation");
        let mut scratch = Vec::new();
        match self.oracle.support(g, &mut scratch) {
            Ok(again) if (again.value - minimum.value).abs() <= allowance => {}
            Ok(again) => self.fault(format!(
                "the minimum without its point is {}, with its point {}",
                again.value, minimum.value
            )),
            Err(error) => self.fault(format!("the minimum without its point failed: {error}")),
        }
        scratch.resize(g.len(), 0.0);
        match self.oracle.atom(g, &mut scratch) {
            Ok((atom, again)) => {
                if let Err(error) = atom.check("the atom", g.len()) {
                    self.fault(error.to_string());
                } else if !((atom.dot(g) - again.value).abs() <= allowance
                    && (again.value - minimum.value).abs() <= allowance)
                {
                    let of_atom = atom.dot(g);
                    self.fault(format!(
                        "the minimiser as an atom has {of_atom} and reports {}, the plain one {}",
                        again.value, minimum.value
                    ));
                } else {
                    let mut p = vec![0.0; g.len()];
                    atom.write(&mut p);
                    self.join(p, "an atom of the linear minimisation");
                }
            }
            Err(error) => self.fault(format!("the minimiser as an atom failed: {error}")),
        }
        true
    }

    fn member(&mut self) -> Vec<f64> {
        let at = self.random.word() % self.members.len() as u64;
        self.members[at as usize].clone()
    }

    /// A weight of the quadratic that makes both parts of a prox matter.
    fn weight(&self, g: &[f64]) -> f64 {
        if self.diameter > 0.0 { norm(g) / self.diameter } else { 1.0 }
    }

    /// Holds the point found against linear minimisation at its slope `g + beta (u - q)`.
    fn measure(&mut self, what: &str, (g, q, beta): (&[f64], &[f64], f64), u: Vec<f64>, gap: f64) {
        let slope: Vec<f64> = (0..u.len()).map(|i| g[i] + beta * (u[i] - q[i])).collect();
        let allowance = self.tolerance() * (norm(g) + beta * (norm(&u) + norm(q)));
        // a set that takes costs of one sign cannot answer for this slope
        let least = match self.settings.directions {
            Directions::Any => {
                let mut p = vec![0.0; u.len()];
                self.report.linear_minimisations += 1;
                match self.oracle.lmo(&slope, &mut p) {
                    Ok(minimum) => minimum.value,
                    Err(error) => {
                        return self.fault(format!("the linear minimisation failed: {error}"));
                    }
                }
            }
            Directions::NonNegative => {
                self.members.iter().map(|m| dot(&slope, m)).fold(f64::INFINITY, f64::min)
            }
        };
        let left = dot(&slope, &u) - least;
        if !(left <= gap + allowance) {
            self.fault(format!(
                "{what} reports the gap {gap:e}, but linear minimisation finds {left:e}"
            ));
        }
        self.join(u, what);
    }

    fn prox(&mut self, g: &[f64]) {
        let q = self.member();
        let beta = self.weight(g);
        let mut u = vec![f64::NAN; g.len()];
        match self.oracle.prox(g, &q, beta, &mut u) {
            // a bound at the level of rounding
            Ok(gap) if gap <= EXACT * norm(g) * (self.reach + self.diameter) => {
                self.measure("the exact prox", (g, &q, beta), u, gap);
            }
            Ok(gap) => {
                self.fault(format!("the exact prox leaves a gap of {gap:e}, far above rounding"))
            }
            Err(error) => self.fault(format!("the exact prox failed: {error}")),
        }
    }

    fn away(&mut self, g: &[f64]) {
        let u = self.member();
        let (mut p, mut a) = (vec![0.0; g.len()], vec![f64::NAN; g.len()]);
        let value = match (self.oracle.lmo(g, &mut p), self.oracle.away(g, &u, &mut a)) {
            (Ok(_), Ok(value)) => value,
            (_, Err(error)) | (Err(error), _) => {
                return self.fault(format!("the away vertex failed: {error}"));
            }
        };
        let allowance = self.tolerance() * norm(g);
        let (at_a, at_u) = (dot(g, &a), dot(g, &u));
        if !((at_a - value).abs() <= allowance && at_a >= at_u - allowance) {
            self.fault(format!(
                "the away vertex reports {value} and has <g, a> = {at_a}, but the point to move away from has {at_u}"
            ));
        }
        match self.oracle.max_pairwise_step(&u, &p, &a) {
            Ok(step) if step >= 0.0 => {
                let step = step.min(1.0);
                let moved = (0..u.len()).map(|i| u[i] + step * (p[i] - a[i])).collect();
                self.join(moved, "the end of the longest pairwise step");
            }
            Ok(step) => self.fault(format!("the longest pairwise step is {step}")),
            Err(error) => self.fault(format!("the longest pairwise step failed: {error}")),
        }
        self.join(a, "an away vertex");
    }

    fn slide(&mut self, g: &[f64]) {
        if self.settings.directions == Directions::NonNegative {
            return; // its slopes have any sign
        }
        let q = self.member();
        let beta = self.weight(g);
        let eta = SLIDE * norm(g) * self.diameter;
        let mut u = vec![f64::NAN; g.len()];
        let task = SlideTask { r: g, q: &q, beta, eta, budget: SLIDE_BUDGET };
        match self.oracle.slide(&task, &mut u) {
            Ok(report) => {
                self.report.linear_minimisations += report.lo_calls;
                if report.state == SlideState::Reached && report.gap > eta {
                    let gap = report.gap;
                    self.fault(format!(
                        "a slide to the gap {eta:e} says that it is reached, at {gap:e}"
                    ));
                }
                self.measure("a slide", (g, &q, beta), u, report.gap);
            }
            Err(error) => self.fault(format!("a slide failed: {error}")),
        }
    }
}
