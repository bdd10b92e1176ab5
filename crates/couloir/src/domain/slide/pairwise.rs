//! CndG with pairwise steps on the scaled simplex and on the l1 ball, O(log n) a step.
//!
//! A point of either set is mass spread over sites. On the simplex site `k` is the vertex
//! `total e_k`. On the l1 ball coordinate `k` with `u_k != 0` holds the mass `|u_k|` on the vertex
//! `sign(u_k) total e_k`, and what is left of `total` (the slack) sits at the origin: no vertex,
//! but a point of the ball that loses nothing, since the linear minimum is never above `<g, 0>`.
//! Keeping the slack apart, rather than on a pair of opposite vertices, keeps small coordinates
//! exact inside a large ball.
//!
//! With `g = r + beta (u - q)` a step takes mass from the site in use with the largest slope to the
//! vertex with the smallest, as far as pays: `s = min(mass, (g_i - g_j) / (2 beta))`. Only two
//! entries of `g` change, so two tournaments over the sites give the next pair.

use super::{SlideReport, SlideState, SlideTask};
use crate::error::{Error, Result, check_finite};
use crate::linalg::accurate_sum;
use crate::watch::Watch;

/// The sets that pairwise steps work on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hull {
    /// `{u >= 0, sum u = total}`.
    Simplex,
    /// `{|u|_1 <= total}`.
    L1Ball,
}

/// A step is noise when the slopes differ by less than this many roundings of their parts.
const NOISE: f64 = 2.0 * f64::EPSILON;
/// Mass that differs from `total` by less than this many roundings is left as it is.
const MASS_NOISE: f64 = 4.0 * f64::EPSILON;
/// Measurements of the gap (one every `max(n, 64)` steps) without an improvement of 1% after which
/// rounding is at work: in exact arithmetic `n` steps that are not cut short by an emptied site
/// divide the distance to the minimum by a constant.
const PATIENCE: u32 = 64;

/// Steps, which take a microsecond or so, between two looks at the watch.
const COUNTED_AT_ONCE: u64 = 64;

/// Pairwise CndG for one set, with its scratch memory (allocated by the first slide).
#[derive(Clone, Debug)]
pub(crate) struct Pairwise {
    hull: Hull,
    total: f64,
    /// `r`, on the simplex less a constant: the set does not see it, rounding does.
    r: Vec<f64>,
    /// Mass at the origin (l1 ball).
    slack: f64,
    /// Slope towards the best vertex of each site; the smallest wins.
    toward: Tournament,
    /// Minus the slope of each site in use; the smallest wins.
    away: Tournament,
    /// `sum of mass (slope - reference)`, kept up to date from step to step.
    weighted: f64,
    /// The smallest slope when the gap was last measured.
    reference: f64,
    watch: Watch,
}

/// What a step did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Moved,
    LostInRounding,
}

impl Pairwise {
    pub(crate) fn new(hull: Hull, total: f64) -> Self {
        Pairwise {
            hull,
            total,
            r: Vec::new(),
            slack: 0.0,
            toward: Tournament::default(),
            away: Tournament::default(),
            weighted: 0.0,
            reference: 0.0,
            watch: Watch::default(),
        }
    }

    pub(crate) fn attend(&mut self, watch: &Watch) {
        self.watch = watch.clone();
    }

    /// Solves the task; the result goes to `u`. Where `q` is not in the set it starts from a point
    /// nearby that is.
    pub(crate) fn slide(&mut self, task: &SlideTask<'_>, u: &mut [f64]) -> Result<SlideReport> {
        self.watch.check()?;
        let report = self.search(task, u)?;
        self.watch.add(report.lo_calls % COUNTED_AT_ONCE);
        Ok(report)
    }

    fn search(&mut self, task: &SlideTask<'_>, u: &mut [f64]) -> Result<SlideReport> {
        check_finite("linear part of the slide", task.r)?;
        check_finite("centre of the slide", task.q)?;
        self.start(task, u)?;
        let mut report = SlideReport {
            gap: f64::INFINITY,
            lo_calls: 0,
            products: 0,
            state: SlideState::OutOfBudget,
        };
        if task.budget == 0 {
            return Ok(report);
        }
        self.build(task, u);
        report.gap = self.measure(task, u)?;
        report.lo_calls = 1;
        if report.gap > task.eta && task.budget > 1 && self.full_step(task, u, report.gap) {
            report.gap = self.measure(task, u)?;
            report.lo_calls = 2;
        }
        let period = u.len().max(64);
        let mut since_measured = 0;
        let mut best = report.gap;
        let mut patience = PATIENCE;
        loop {
            // The running estimate decides when to look, the measured gap decides.
            let last = report.lo_calls >= task.budget;
            if self.estimate() <= task.eta || since_measured >= period || last {
                report.gap = self.measure(task, u)?;
                since_measured = 0;
                if report.gap < 0.99 * best {
                    best = report.gap;
                    patience = PATIENCE;
                } else {
                    patience -= 1;
                }
                if report.gap <= task.eta {
                    report.state = SlideState::Reached;
                    return Ok(report);
                }
                if last {
                    return Ok(report);
                }
            }
            if patience == 0 || self.step(task, u) == Step::LostInRounding {
                report.gap = self.measure(task, u)?;
                report.state = if report.gap <= task.eta {
                    SlideState::Reached
                } else {
                    SlideState::RoundingFloor
                };
                return Ok(report);
            }
            report.lo_calls += 1;
            since_measured += 1;
            if report.lo_calls.is_multiple_of(COUNTED_AT_ONCE) {
                self.watch.spend(COUNTED_AT_ONCE)?;
            }
        }
    }

    /// Puts the start point in `u` (`q` itself where it lies in the set), and shifts `r`.
    fn start(&mut self, task: &SlideTask<'_>, u: &mut [f64]) -> Result<()> {
        let n = u.len();
        if u32::try_from(n).is_err() {
            let why = format!("pairwise sliding takes at most {} coordinates, got {n}", u32::MAX);
            return Err(Error::Setting { name: "dim", why });
        }
        u.copy_from_slice(task.q);
        if self.hull == Hull::Simplex {
            for u in u.iter_mut() {
                *u = u.max(0.0);
            }
        }
        let mass = accurate_sum(u.iter().map(|u| u.abs()));
        let tolerance = MASS_NOISE * self.total;
        self.slack = 0.0;
        if self.hull == Hull::L1Ball && mass <= self.total + tolerance {
            let slack = self.total - mass;
            self.slack = if slack > tolerance { slack } else { 0.0 };
        } else if mass == 0.0 {
            u.fill(self.total / n as f64);
        } else if (mass - self.total).abs() > tolerance {
            // Divided by the largest first: the sum of huge entries may overflow.
            let largest = u.iter().fold(0.0f64, |m, u| m.max(u.abs()));
            let relative = accurate_sum(u.iter().map(|u| u.abs() / largest));
            for u in u.iter_mut() {
                *u = (*u / largest) * (self.total / relative);
            }
        }

        // The entry that wins in the end is at the level of the minimum: taking it as zero leaves
        // the slopes of all sites in use small.
        let shift = match self.hull {
            Hull::L1Ball => 0.0,
            Hull::Simplex => {
                let level = |k: usize| task.r[k] - task.beta * task.q[k];
                let best = (0..n).fold(0, |b, k| if level(k) < level(b) { k } else { b });
                task.r[best]
            }
        };
        self.r.clear();
        self.r.extend(task.r.iter().map(|r| r - shift));
        Ok(())
    }

    /// Fills both tournaments.
    fn build(&mut self, task: &SlideTask<'_>, u: &[f64]) {
        let sites = match self.hull {
            Hull::Simplex => u.len(),
            Hull::L1Ball => u.len() + 1,
        };
        self.toward.resize(sites);
        self.away.resize(sites);
        for k in 0..sites {
            let (toward, away) = self.keys(task, u, k);
            self.toward.keys[k] = toward;
            self.away.keys[k] = away;
        }
        self.toward.play();
        self.away.play();
    }

    /// `g_k = r_k + beta (u_k - q_k)`.
    fn gradient(&self, task: &SlideTask<'_>, u: &[f64], k: usize) -> f64 {
        self.r[k] + task.beta * (u[k] - task.q[k])
    }

    /// The keys of site `k` in the two tournaments. (The origin, site `u.len()`, is never better
    /// than the best vertex.)
    fn keys(&self, task: &SlideTask<'_>, u: &[f64], k: usize) -> (f64, f64) {
        if k == u.len() {
            return (f64::INFINITY, if self.slack > 0.0 { 0.0 } else { f64::INFINITY });
        }
        let g = self.gradient(task, u, k);
        let toward = match self.hull {
            Hull::Simplex => g,
            Hull::L1Ball => -g.abs(),
        };
        let away = match u[k] {
            u if u > 0.0 => -g,
            u if u < 0.0 => g,
            _ => f64::INFINITY,
        };
        (toward, away)
    }

    /// Site `k` has changed.
    fn update(&mut self, task: &SlideTask<'_>, u: &[f64], k: usize) {
        let (toward, away) = self.keys(task, u, k);
        self.toward.set(k, toward);
        self.away.set(k, away);
    }

    fn mass(&self, u: &[f64], k: usize) -> f64 {
        if k == u.len() { self.slack } else { u[k].abs() }
    }

    /// What site `k` adds to the gap, against the reference slope.
    fn share(&self, u: &[f64], k: usize) -> f64 {
        let mass = self.mass(u, k);
        if mass > 0.0 { mass * (-self.away.keys[k] - self.reference) } else { 0.0 }
    }

    /// The gap as the running sum has it.
    fn estimate(&self) -> f64 {
        self.weighted + self.total * (self.reference - self.toward.best_key())
    }

    /// The gap `sum of mass (slope - smallest slope)`, every term of it at least 0. Mass that
    /// rounding has made or lost since the last time is set right first.
    fn measure(&mut self, task: &SlideTask<'_>, u: &mut [f64]) -> Result<f64> {
        let missing = self.total - accurate_sum(u.iter().map(|u| u.abs())) - self.slack;
        if missing.abs() > MASS_NOISE * self.total {
            let sites = self.away.keys.len();
            let heaviest =
                (0..sites).fold(0, |b, k| if self.mass(u, k) > self.mass(u, b) { k } else { b });
            match u.get_mut(heaviest) {
                Some(u) => *u += missing * u.signum(),
                None => self.slack = (self.slack + missing).max(0.0),
            }
            self.update(task, u, heaviest);
        }
        self.reference = self.toward.best_key();
        self.weighted = accurate_sum((0..self.away.keys.len()).map(|k| self.share(u, k)));
        if self.weighted.is_finite() {
            Ok(self.weighted)
        } else {
            let why = format!("the gap overflows (beta {:e}, total {:e})", task.beta, self.total);
            Err(Error::Numerical { what: "pairwise sliding", why })
        }
    }

    /// Where CndG as printed would take `theta = 1`, go to the vertex at once instead of emptying
    /// the sites one by one. Tells whether it did.
    fn full_step(&mut self, task: &SlideTask<'_>, u: &mut [f64], gap: f64) -> bool {
        let k = self.toward.best();
        let vertex = match self.hull {
            Hull::Simplex => self.total,
            Hull::L1Ball => -self.total.copysign(self.gradient(task, u, k)),
        };
        let others = u.iter().map(|u| u * u).sum::<f64>() - u[k] * u[k];
        let distance_squared = others.max(0.0) + (u[k] - vertex).powi(2);
        if distance_squared == 0.0 || gap < task.beta * distance_squared {
            return false;
        }
        u.fill(0.0);
        u[k] = vertex;
        self.slack = 0.0;
        self.build(task, u);
        true
    }

    /// Moves mass from the worst site in use to the best vertex.
    fn step(&mut self, task: &SlideTask<'_>, u: &mut [f64]) -> Step {
        let origin = u.len();
        let mut from = self.away.best();
        let mut to = self.toward.best();
        let slope_at_to = self.gradient(task, u, to);
        // The best vertex is opposite to one in use: that one is the worst, and what leaves it
        // goes to the origin, between the two.
        if self.hull == Hull::L1Ball && u[to] != 0.0 && (u[to] > 0.0) == (slope_at_to > 0.0) {
            from = to;
            to = origin;
        }
        let slope_to = if to == origin { 0.0 } else { self.toward.keys[to] };
        let difference = -self.away.keys[from] - slope_to;
        let noise = NOISE * (self.parts(task, u, from) + self.parts(task, u, to));
        if difference.is_nan() || difference <= noise {
            return Step::LostInRounding;
        }
        let moving_coordinates = if from == origin || to == origin { 1.0 } else { 2.0 };
        let wanted = difference / (moving_coordinates * task.beta);
        let available = self.mass(u, from);
        let emptied = wanted >= available;
        let amount = if emptied { available } else { wanted };

        // What arrives, after rounding, is what leaves, so that mass stays what it is; but a
        // coordinate does not suffer from the rounding of a large slack.
        let held = self.mass(u, to);
        let filled = held + amount;
        let leaves = if to == origin { amount } else { filled - held };
        let left = if emptied { 0.0 } else { (available - leaves).max(0.0) };
        if left == available && filled == held {
            return Step::LostInRounding;
        }
        self.weighted -= self.share(u, from) + self.share(u, to);
        self.put(u, from, left, 0.0);
        self.put(u, to, filled, -slope_at_to);
        self.update(task, u, from);
        self.update(task, u, to);
        self.weighted += self.share(u, from) + self.share(u, to);
        Step::Moved
    }

    /// Sets the mass of site `k`; an empty one takes the sign of `direction`.
    fn put(&mut self, u: &mut [f64], k: usize, mass: f64, direction: f64) {
        if k == u.len() {
            self.slack = mass;
        } else if u[k] != 0.0 {
            u[k] = mass.copysign(u[k]);
        } else {
            u[k] = match self.hull {
                Hull::Simplex => mass,
                Hull::L1Ball => mass.copysign(direction),
            };
        }
        if k < u.len() && mass == 0.0 {
            u[k] = 0.0;
        }
    }

    /// The size of what is added up in the slope of site `k`, and so of its rounding.
    fn parts(&self, task: &SlideTask<'_>, u: &[f64], k: usize) -> f64 {
        if k == u.len() {
            return 0.0;
        }
        self.r[k].abs() + task.beta * ((u[k] - task.q[k]).abs() + u[k].abs())
    }
}

/// A tournament tree: which site has the smallest key. A change of one key replays the games of
/// that site only.
#[derive(Clone, Debug, Default)]
struct Tournament {
    keys: Vec<f64>,
    /// Node `i` holds the winner of nodes `2i` and `2i + 1`; site `k` is node `keys.len() + k`.
    winners: Vec<u32>,
}

impl Tournament {
    fn resize(&mut self, sites: usize) {
        self.keys.resize(sites, f64::INFINITY);
        self.winners.resize(2 * sites, 0);
    }

    fn play(&mut self) {
        let sites = self.keys.len();
        for k in 0..sites {
            self.winners[sites + k] = k as u32;
        }
        for node in (1..sites).rev() {
            self.winners[node] = self.game(node);
        }
    }

    fn game(&self, node: usize) -> u32 {
        let (a, b) = (self.winners[2 * node], self.winners[2 * node + 1]);
        if self.keys[b as usize] < self.keys[a as usize] { b } else { a }
    }

    fn set(&mut self, k: usize, key: f64) {
        self.keys[k] = key;
        let mut node = (self.keys.len() + k) / 2;
        while node > 0 {
            let winner = self.game(node);
            // Neither before nor now has `k` won here: nothing changes further up.
            if winner != k as u32 && self.winners[node] != k as u32 {
                break;
            }
            self.winners[node] = winner;
            node /= 2;
        }
    }

    fn best(&self) -> usize {
        self.winners[1] as usize
    }

    fn best_key(&self) -> f64 {
        self.keys[self.best()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tournament_knows_the_smallest_key_after_any_change() {
        for sites in [1, 2, 3, 7, 8, 13] {
            let mut tournament = Tournament::default();
            tournament.resize(sites);
            tournament.play();
            for turn in 0..500usize {
                let key = ((turn * 7919) % 31) as f64;
                tournament.set((turn * 104_729) % sites, key);
                let smallest = tournament.keys.iter().copied().fold(f64::INFINITY, f64::min);
                assert_eq!(tournament.best_key(), smallest);
            }
        }
    }
}
