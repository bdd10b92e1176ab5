//! The table of a run: how many certificates were below the truth, and how far above it the others are.

use crate::judge::{Judged, Verdict};
use couloir::run::Status;
use std::collections::BTreeMap;
use std::fmt::Write;

/// One line of the table.
#[derive(Clone, Debug, Default)]
pub struct Line {
    /// Cases with a certificate.
    pub problems: u64,
    /// Cases that ended with an error.
    pub refused: u64,
    /// Cases that panicked.
    pub panics: u64,
    /// Cases of which the problem was said to contradict itself.
    pub accused: u64,
    /// Certificates of which a number is on the wrong side of the truth.
    pub wrong: u64,
    /// Estimates, of problems that promise nothing about their rounding, on the wrong side of the truth by less than that rounding.
    pub low_estimates: u64,
    /// Those whose gap is below the true one.
    pub gap_below: u64,
    /// The largest amount by which one is.
    pub worst: f64,
    /// The largest amount in roundings of the numbers that cancel in the value.
    pub worst_roundings: f64,
    /// Cases with a point outside of its set.
    pub outside: u64,
    /// The farthest one, in units of the last place.
    pub farthest: f64,
    /// Certified over true gap, where the true one is well above rounding.
    pub ratios: Vec<f64>,
    /// The certified gap over the size of the numbers that cancel, of runs that went down to rounding.
    pub floors: Vec<f64>,
}

/// A gap of this share of the numbers that cancel is well above rounding.
const ABOVE: f64 = 1e-12;

/// The median, and the largest one.
fn middle_and_largest(numbers: &[f64]) -> (f64, f64) {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.last() {
        Some(last) => (sorted[sorted.len() / 2], *last),
        None => (f64::NAN, f64::NAN),
    }
}

impl Line {
    fn add(&mut self, verdict: &Verdict) {
        self.problems += 1;
        let short = verdict.short.worst();
        self.wrong += u64::from(verdict.is_wrong());
        self.low_estimates += u64::from(verdict.is_low_estimate());
        self.gap_below += u64::from(verdict.is_wrong() && verdict.short.gap > 0.0);
        self.worst = self.worst.max(short);
        self.worst_roundings = self.worst_roundings.max(verdict.roundings());
        self.outside += u64::from(verdict.is_outside());
        self.farthest = self.farthest.max(verdict.farthest());
        if verdict.gap > ABOVE * verdict.size && verdict.claim.gap.is_finite() {
            self.ratios.push(verdict.claim.gap / verdict.gap);
        }
        if !verdict.is_solved && verdict.status == "no more progress" && verdict.size > 0.0 {
            self.floors.push(verdict.claim.gap / verdict.size);
        }
    }
}

/// All lines, by the names of places, sets, forms and methods.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// The line of all cases.
    pub all: Line,
    groups: [BTreeMap<String, Line>; 4],
    statuses: BTreeMap<String, u64>,
    reasons: BTreeMap<String, u64>,
    /// Cases that are not right: how many roundings they are off by, and what they are.
    faults: Vec<(f64, String)>,
    /// Estimates on the wrong side of the truth, in the same way.
    low: Vec<(f64, String)>,
    /// Cases that were ended by the clock.
    slow: Vec<u64>,
}

const GROUPS: [&str; 4] = ["problems", "sets of x, y", "given as", "method"];

impl Table {
    /// Takes a case into the table.
    pub fn add(&mut self, judged: &Judged) {
        let names = match judged {
            Judged::Verdict(verdict) => &verdict.names,
            Judged::Refused { names, .. }
            | Judged::Accused { names, .. }
            | Judged::Panicked { names, .. } => names,
        };
        let lines = self.groups.iter_mut().zip(names);
        let lines = lines.map(|(group, name)| group.entry(name.clone()).or_default());
        for line in lines.chain([&mut self.all]) {
            match judged {
                Judged::Verdict(verdict) => line.add(verdict),
                Judged::Refused { .. } => line.refused += 1,
                Judged::Accused { .. } => line.accused += 1,
                Judged::Panicked { .. } => line.panics += 1,
            }
        }
        match judged {
            Judged::Verdict(verdict) => {
                *self.statuses.entry(verdict.status.clone()).or_default() += 1;
                if verdict.is_low_estimate() {
                    self.low.push((verdict.roundings(), fault(verdict)));
                }
                if verdict.status == Status::TimeLimit.to_string() {
                    self.slow.push(verdict.seed);
                }
                if !verdict.is_right() {
                    self.faults.push((verdict.roundings().max(verdict.farthest()), fault(verdict)));
                }
            }
            Judged::Refused { why, .. } => {
                // numbers apart, it is the same reason
                let why: String = why.chars().filter(|c| !c.is_ascii_digit()).collect();
                *self.reasons.entry(why.chars().take(100).collect()).or_default() += 1;
            }
            Judged::Accused { names, seed, why } => {
                let what = format!("case {seed}: accused ({}): {why}", names.join("; "));
                self.faults.push((f64::INFINITY, what));
            }
            Judged::Panicked { names, seed } => {
                let what = format!("case {seed}: panicked ({})", names.join("; "));
                self.faults.push((f64::INFINITY, what));
            }
        }
    }

    /// Takes another table into this one; the order does not matter.
    #[must_use]
    pub fn and(mut self, judged: &[Judged]) -> Self {
        judged.iter().for_each(|judged| self.add(judged));
        self
    }

    /// Cases that are not right: the worst ones, with the command that repeats them.
    #[must_use]
    pub fn faults(&self, most: usize) -> Vec<String> {
        worst_of(&self.faults, most)
    }

    /// The same of estimates on the wrong side of the truth, by no more than they may be.
    #[must_use]
    pub fn low_estimates(&self, most: usize) -> Vec<String> {
        worst_of(&self.low, most)
    }

    /// The seeds of cases that were ended by the clock, which another machine may end elsewhere.
    #[must_use]
    pub fn ended_by_the_clock(&self) -> &[u64] {
        &self.slow
    }

    /// How many certificates of a method were judged.
    #[must_use]
    pub fn judged_by(&self, method: &str) -> u64 {
        self.groups[3].get(method).map_or(0, |line| line.problems)
    }

    /// Whether no case is wrong.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.faults.is_empty()
    }

    /// The table in Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        let all = BTreeMap::from([("all".to_owned(), self.all.clone())]);
        for (title, group) in GROUPS.iter().zip(&self.groups).chain([(&"", &all)]) {
            let _ = writeln!(
                text,
                "\n| {title} | certificates | wrong | gap below the true one | low estimates | worst by | in roundings | outside \
                 | farthest (ulps) | certified/true gap: median | worst | floor/size: median | worst | errors |\n\
                 |---|---|---|---|---|---|---|---|---|---|---|---|---|---|"
            );
            for (name, line) in group {
                let (ratio, worst_ratio) = middle_and_largest(&line.ratios);
                let (floor, worst_floor) = middle_and_largest(&line.floors);
                let _ = writeln!(
                    text,
                    "| {name} | {} | {} | {} | {} | {:.1e} | {:.1e} | {} | {:.3} | {ratio:.2} | {worst_ratio:.1e} | {floor:.1e} \
                     | {worst_floor:.1e} | {} |",
                    line.problems,
                    line.wrong,
                    line.gap_below,
                    line.low_estimates,
                    line.worst,
                    line.worst_roundings,
                    line.outside,
                    line.farthest,
                    line.refused + line.panics + line.accused,
                );
            }
        }
        let _ = writeln!(text, "\nsaid to contradict themselves: {}", self.all.accused);
        let _ = writeln!(text, "\nstatus of the runs:");
        for (status, count) in &self.statuses {
            let _ = writeln!(text, "  {count:>8}  {status}");
        }
        for (why, count) in &self.reasons {
            let _ = writeln!(text, "  {count:>8}  error: {why}");
        }
        text
    }
}

fn worst_of(faults: &[(f64, String)], most: usize) -> Vec<String> {
    let mut faults: Vec<&(f64, String)> = faults.iter().collect();
    faults.sort_by(|a, b| b.0.total_cmp(&a.0));
    faults.iter().take(most).map(|(_, fault)| fault.clone()).collect()
}

fn fault(v: &Verdict) -> String {
    format!(
        "case {}: {}; {}; certified {:e} in [{:e}, {:e}], true gap {:e}; short by gap {:e}, upper {:e}, lower {:e}, trace {:e}, at members {:e}; \
         outside by {:?} ulps",
        v.seed,
        v.names.join("; "),
        v.status,
        v.claim.gap,
        v.claim.lower,
        v.claim.upper,
        v.gap,
        v.short.gap,
        v.short.upper,
        v.short.lower,
        v.short.trace,
        v.short.members,
        v.outside
    )
}
