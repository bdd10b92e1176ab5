//! Solves a problem and compares what the certificate claims with the truth at the bits that were returned.

use crate::draw::Draw;
use crate::exact::{Enclosure, Exact, exact, exact_vector, max, rounded};
use crate::subject::Subject;
use couloir::domain::Confidence;
use couloir::oracles::Counter;
use couloir::run::{Status, StopRules, WallClock};
use couloir::solver::{
    ApgSettings, BatchedSettings, CertifiedSettings, MpcgsSettings, MpscgsSettings, SvreSettings,
};
use couloir::{Certificate, Inner, Method, Solution, Solve};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

/// Units of the last place by which a returned point may miss a set that rounding cannot hit (boxes are met exactly).
pub const ULPS: f64 = 4.0;
/// The same, for each iteration, for a set that is known by its oracle alone: nobody can repair a point of it, and every mixture of
/// its answers rounds.
pub const ULPS_OF_MIXTURES: f64 = 4.0;

/// Linear minimisations that a case may spend on each of its sets. A run that is ended by a limit has a certificate, which is judged.
const LINEAR_MINIMISATIONS: u64 = 10_000;
/// Seconds that a case may take, where no other limit ends it.
const SECONDS: f64 = 60.0;

/// The names of all methods, as users type them.
#[must_use]
pub fn method_names() -> Vec<String> {
    Method::all().map(|method| method.name().to_owned()).collect()
}

/// What the exact arithmetic says of a pair.
#[derive(Clone, Debug)]
pub struct Truth {
    /// `max_y' f(x, y')`.
    pub worst: Enclosure,
    /// `min_x' f(x', y)`.
    pub least: Enclosure,
}

impl Truth {
    /// The primal-dual gap: it is at least this.
    #[must_use]
    pub fn gap(&self) -> Exact {
        &self.worst.low - &self.least.high
    }
}

/// By how much the numbers of a certificate are on the wrong side of the truth: 0 where they are right.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Short {
    /// The gap is below the true one by this.
    pub gap: f64,
    /// The upper bound is below `max_y' f(x, y')` by this.
    pub upper: f64,
    /// The lower bound is above `min_x' f(x', y)` by this.
    pub lower: f64,
    /// A bound of the game's value that the trace reports is on the wrong side of it by this.
    pub trace: f64,
    /// One of the three is on the wrong side of what is true of the nearest members by this.
    pub members: f64,
}

impl Short {
    /// The largest one.
    #[must_use]
    pub fn worst(&self) -> f64 {
        self.gap.max(self.upper).max(self.lower).max(self.trace).max(self.members)
    }
}

/// Compares a certificate with the truth. A number that is not finite claims nothing, unless it is a NaN or
/// infinitely good.
#[must_use]
pub fn compare(claim: &Certificate, truth: &Truth) -> Short {
    let past = |is: &Exact, claimed: f64, upper: bool| {
        let (nothing, all) = if upper {
            (f64::INFINITY, f64::NEG_INFINITY)
        } else {
            (f64::NEG_INFINITY, f64::INFINITY)
        };
        if claimed == nothing {
            return 0.0;
        }
        if claimed.is_nan() || claimed == all {
            return f64::INFINITY;
        }
        let over = if upper { is - exact(claimed) } else { exact(claimed) - is };
        let amount = rounded(&max(over.clone(), Exact::ZERO));
        // what is too small for an f64 is wrong all the same
        if over > Exact::ZERO { amount.max(f64::MIN_POSITIVE) } else { 0.0 }
    };
    Short {
        gap: past(&truth.gap(), claim.gap, true),
        upper: past(&truth.worst.low, claim.upper, true),
        lower: past(&truth.least.high, claim.lower, false),
        ..Short::default()
    }
}

/// By how much bounds of the game's value that a trace reports, for other pairs, are on the wrong side of it: they must agree
/// with what is true of every pair of members.
#[must_use]
pub fn compare_trace(solution: &Solution, truth: &Truth) -> f64 {
    let mut worst = 0.0f64;
    for point in &solution.outcome.trace {
        let (upper, lower) = (point.certificate.upper, point.certificate.lower);
        // lower <= value of the game <= max_y' f(x, y'), and so from below
        if lower.is_finite() {
            worst = worst.max(rounded(&(exact(lower) - &truth.worst.high)));
        }
        if upper.is_finite() {
            worst = worst.max(rounded(&(&truth.least.low - exact(upper))));
        }
    }
    worst
}

/// A problem with the method that is to solve it, and how exactly: all from one seed.
#[derive(Clone, Debug)]
pub struct Case {
    /// The seed.
    pub seed: u64,
    /// The problem.
    pub subject: Subject,
    /// The method.
    pub method: Method,
    /// The relative tolerance asked for.
    pub tolerance: f64,
    /// Evaluations are so many iterations apart.
    pub every: u64,
    /// Iterations at the most.
    pub iterations: u64,
}

/// What came out.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// Of which case.
    pub seed: u64,
    /// Names for tables: the place, the sets, the form, the method.
    pub names: [String; 4],
    /// Why the run ended.
    pub status: String,
    /// Whether the tolerance was reached.
    pub is_solved: bool,
    /// The certificate.
    pub claim: Certificate,
    /// The true gap.
    pub gap: f64,
    /// Where it is wrong.
    pub short: Short,
    /// How far `x` and `y` are outside, in units of the last place.
    pub outside: [f64; 2],
    /// How far they may be.
    pub allowed: [f64; 2],
    /// The size of the numbers that cancel in the value.
    pub size: f64,
    /// What an estimate of rounding may miss; none where the certificate claims to be a proof.
    pub unpromised: Option<f64>,
}

impl Verdict {
    /// By how much the certificate is wrong, in roundings of the numbers that cancel.
    #[must_use]
    pub fn roundings(&self) -> f64 {
        match self.short.worst() {
            0.0 => 0.0,
            short => short / (f64::EPSILON * self.size.max(f64::MIN_POSITIVE)),
        }
    }

    /// How far the worse of the two points is outside, in units of the last place.
    #[must_use]
    pub fn farthest(&self) -> f64 {
        self.outside[0].max(self.outside[1])
    }

    /// Whether a point is outside of its set by more than it may be.
    #[must_use]
    pub fn is_outside(&self) -> bool {
        (0..2).any(|i| !(self.outside[i] <= self.allowed[i]))
    }

    /// Whether the certificate is wrong. A problem that promises nothing about its rounding has an estimate, which may miss what
    /// plain sums of its own numbers round by, and no more; and the certificate must not claim to be exact.
    #[must_use]
    pub fn is_wrong(&self) -> bool {
        match self.unpromised {
            None => self.short.worst() > 0.0,
            Some(may_miss) => {
                !(self.short.worst() <= may_miss) || self.claim.confidence == Confidence::Exact
            }
        }
    }

    /// Whether an estimate is on the wrong side of the truth, by no more than it may miss.
    #[must_use]
    pub fn is_low_estimate(&self) -> bool {
        !self.is_wrong() && self.short.worst() > 0.0
    }

    /// Whether all is well.
    #[must_use]
    pub fn is_right(&self) -> bool {
        !self.is_wrong() && !self.is_outside()
    }
}

/// What became of a case.
#[derive(Clone, Debug)]
pub enum Judged {
    /// There was a certificate.
    Verdict(Box<Verdict>),
    /// There was an error, and no certificate.
    Refused {
        /// Names for tables.
        names: [String; 4],
        /// The error.
        why: String,
    },
    /// The problem was said to contradict itself, which none of these does.
    Accused {
        /// Names for tables.
        names: [String; 4],
        /// Of which case.
        seed: u64,
        /// Of what.
        why: String,
    },
    /// The library panicked, which it never may.
    Panicked {
        /// Names for tables.
        names: [String; 4],
        /// Of which case.
        seed: u64,
    },
}

/// The seed of the case with this number in the run of a seed.
#[must_use]
pub fn case_seed(run: u64, number: u64) -> u64 {
    // splitmix64: seeds that are close give cases that are not
    let mut z = run.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(number);
    z = z.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A method by its name with budgets that keep a case short.
fn short_method(name: &str, budget: u64, draw: &mut Draw) -> Method {
    let mut method: Method = name.parse().expect("a listed name");
    if draw.chance(0.25)
        && let Ok(slides) = method.clone().with_inner(Inner::Slide)
    {
        method = slides;
    }
    let settings = &method;
    let shorter: [Option<Method>; 6] = [
        settings.settings().map(|s: &CertifiedSettings| s.clone().inner_budget(budget).into()),
        settings.settings().map(|s: &MpcgsSettings| s.clone().inner_budget(budget).into()),
        settings.settings().map(|s: &MpscgsSettings| s.clone().inner_budget(budget).into()),
        settings
            .settings()
            .map(|s: &BatchedSettings| s.clone().inner_budget(budget).first_batch(2).into()),
        settings.settings().map(|s: &ApgSettings| s.clone().inner_budget(budget).into()),
        settings.settings().map(|s: &SvreSettings| s.clone().batch(2).into()),
    ];
    method = shorter.into_iter().flatten().next().unwrap_or(method);
    method.with_seed(draw.below(1000) as u64)
}

/// Iterations that the method with this name may take.
fn iterations(name: &str) -> u64 {
    match name {
        "mpcgs" => 6,
        "mpscgs" => 2,
        // an atom each, and more work with every atom
        "corrective" => 60,
        _ => u64::MAX,
    }
}

impl Case {
    /// The case of a seed: a problem and one of the methods that take it.
    #[must_use]
    pub fn new(seed: u64, names: &[String]) -> Self {
        let mut draw = Draw::new(seed);
        let subject = Subject::draw(&mut draw);
        let tolerance = draw.one_of(&[1e-4, 1e-8, 1e-12, 1e-15]);
        let every = draw.one_of(&[1, 1, 7]);
        // decompositions take longer than everything else
        let (x, y) = subject.sets();
        let is_dear =
            [x.kind(), y.kind()].contains(&"nuclear") || subject.by_oracle() != [false; 2];
        let iterations = draw.one_of(if is_dear { &[20, 60, 200] } else { &[30, 300, 1_000] });
        let budget = if is_dear { 500 } else { 20_000 };
        // of all methods in a random order the first that takes the problem
        let mut order: Vec<&String> = names.iter().collect();
        (1..order.len()).rev().for_each(|i| order.swap(i, draw.below(i + 1)));
        // the default more often than the others
        if draw.chance(0.2)
            && let Some(place) = order.iter().position(|name| *name == Method::default().name())
        {
            order.swap(0, place);
        }
        let methods: Vec<Method> =
            order.iter().map(|name| short_method(name, budget, &mut draw)).collect();
        let takes = |method: &&Method| {
            let started = subject
                .with(|f, x, y| Solve::new(f, x, y).method((*method).clone()).start().map(|_| ()));
            started.is_ok()
        };
        let method = methods.iter().find(takes).cloned().unwrap_or_default();
        Case { seed, subject, method, tolerance, every, iterations }
    }

    fn names(&self) -> [String; 4] {
        let [place, sets, form] = self.subject.names();
        [place, sets, form, self.method.to_string()]
    }

    /// Solves the case.
    ///
    /// # Errors
    /// What the library reports.
    pub fn solve(&self) -> couloir::Result<Solution> {
        let mut rules = StopRules::default();
        rules.iterations = Some(iterations(self.method.name()).min(self.iterations));
        rules.relative_gap = Some(self.tolerance);
        rules.evaluate_every = self.every;
        rules.seconds = Some(SECONDS);
        rules.limits = [Counter::LoX, Counter::LoY].map(|of| (of, LINEAR_MINIMISATIONS)).to_vec();
        let method = self.method.clone();
        self.subject.with(|f, x, y| {
            Solve::new(f, x, y).method(method).rules(rules).clock(WallClock::start()).run()
        })
    }

    /// Solves the case and compares.
    #[must_use]
    pub fn judge(&self) -> Judged {
        let names = self.names();
        let solved = match catch_unwind(AssertUnwindSafe(|| self.solve())) {
            Err(_) => return Judged::Panicked { names, seed: self.seed },
            Ok(Err(error)) if error.is_contradiction() => {
                return Judged::Accused { names, seed: self.seed, why: error.to_string() };
            }
            Ok(Err(error)) => return Judged::Refused { names, why: error.to_string() },
            Ok(Ok(solution)) => solution,
        };
        if solved.outcome.status == Status::Contradiction {
            let why = solved.outcome.trouble.map_or_else(String::new, |error| error.to_string());
            return Judged::Accused { names, seed: self.seed, why };
        }
        if !solved.x.iter().chain(&solved.y).all(|v| v.is_finite()) {
            return Judged::Refused { names, why: "a point that is not finite".to_owned() };
        }
        let (x, y) = self.subject.points(&solved);
        let (x_set, y_set) = self.subject.sets();
        let at_bits = self.subject.truth(&exact_vector(&x), &exact_vector(&y));
        let outside = [x_set.outside(&x), y_set.outside(&y)];
        let by_oracle = self.subject.by_oracle();
        let (near_x, near_y) = (x_set.nearest(&x), y_set.nearest(&y));
        let at_members = match outside {
            [0.0, 0.0] => at_bits.clone(),
            _ => self.subject.truth(&near_x, &near_y),
        };
        // where members cannot be known the certificate is one of the bits alone
        let at_known = match by_oracle {
            [false, false] => at_members.clone(),
            [true, false] => self.subject.truth(&exact_vector(&x), &near_y),
            [false, true] => self.subject.truth(&near_x, &exact_vector(&y)),
            [true, true] => at_bits.clone(),
        };
        let claim = solved.outcome.certificate;
        let short = Short {
            trace: match by_oracle {
                [false, false] => compare_trace(&solved, &at_members),
                _ => 0.0,
            },
            members: compare(&claim, &at_known).worst(),
            ..compare(&claim, &at_bits)
        };
        let may = |kind: &str, by_oracle: bool| match (kind, by_oracle) {
            (_, true) => ULPS_OF_MIXTURES * (4 + solved.outcome.iterations) as f64,
            ("box", false) => 0.0,
            _ => ULPS,
        };
        Judged::Verdict(Box::new(Verdict {
            seed: self.seed,
            names,
            status: solved.outcome.status.to_string(),
            is_solved: solved.outcome.status.is_solved(),
            claim,
            gap: rounded(&at_bits.gap()),
            short,
            outside,
            allowed: [may(x_set.kind(), by_oracle[0]), may(y_set.kind(), by_oracle[1])],
            size: self.subject.size(&x, &y),
            unpromised: self.subject.unpromised(&x, &y),
        }))
    }
}

/// Judges the cases with these numbers in the run of a seed, in their order. Every core takes one case after the other: the
/// library's own tasks stay on it.
///
/// # Panics
/// No threads to be had.
#[must_use]
pub fn judge_all(run: u64, numbers: Range<u64>, names: &[String]) -> Vec<Judged> {
    let next = AtomicU64::new(numbers.start);
    let work = || {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
        pool.install(|| {
            let mut judged = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= numbers.end {
                    return judged;
                }
                judged.push((number, Case::new(case_seed(run, number), names).judge()));
            }
        })
    };
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let mut all: Vec<(u64, Judged)> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        handles.into_iter().flat_map(|h| h.join().expect("cases catch panics")).collect()
    });
    all.sort_by_key(|(number, _)| *number);
    all.into_iter().map(|(_, judged)| judged).collect()
}
