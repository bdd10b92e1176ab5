//! What long work looks at while it runs: the clock, the cancel flag, and how many linear minimisations it may still spend.
//!
//! A [`Watch`] is handed down from the run loop into every inner loop: slides count their linear minimisations on it and
//! ask it from time to time whether they may go on. Work that may not ends with [`Error::Interrupted`], which travels up
//! like every other error; the best pair and its certificate stay as they are.

use crate::error::{Block, Error, Interruption, Result};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Something that tells seconds. The library reads no clock of its own accord: the caller passes one in.
pub trait Clock: Send + Sync {
    /// Seconds since some fixed moment.
    fn seconds(&self) -> f64;

    /// The same clock for inner loops, so that a time limit also holds within an iteration. Without one it is looked at
    /// between iterations.
    fn shared(&self) -> Option<SharedClock> {
        None
    }
}

/// A clock that inner loops may read from any thread.
pub type SharedClock = Arc<dyn Clock>;

impl<C: Clock + ?Sized> Clock for &C {
    fn seconds(&self) -> f64 {
        (**self).seconds()
    }

    fn shared(&self) -> Option<SharedClock> {
        (**self).shared()
    }
}

/// The machine's monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct WallClock(Instant);

impl WallClock {
    /// A clock that starts at zero now.
    #[must_use]
    pub fn start() -> Self {
        WallClock(Instant::now())
    }
}

impl Clock for WallClock {
    fn seconds(&self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }

    fn shared(&self) -> Option<SharedClock> {
        Some(Arc::new(*self))
    }
}

/// A clock that stands still: for runs whose traces must be the same bits every time.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoClock;

impl Clock for NoClock {
    fn seconds(&self) -> f64 {
        0.0
    }
}

/// A flag that ends a run from outside: from another thread or from what handles signals.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Asks the run to end.
    pub fn raise(&self) {
        self.0.store(true, Relaxed);
    }

    /// Whether the run has been asked to end.
    #[must_use]
    pub fn is_raised(&self) -> bool {
        self.0.load(Relaxed)
    }
}

impl From<Arc<AtomicBool>> for Cancel {
    fn from(flag: Arc<AtomicBool>) -> Self {
        Cancel(flag)
    }
}

impl PartialEq for Cancel {
    /// Whether both are the same flag.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// What ends the work that is under way.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Limits {
    /// End when this is raised.
    pub cancel: Option<Cancel>,
    /// End when this clock shows so many seconds.
    pub deadline: Option<(SharedClock, f64)>,
    /// Before this time neither the flag nor the deadline ends anything: work that is over soon is finished.
    pub not_before: f64,
    /// Linear minimisations that may still be spent on x and on y.
    pub linear_minimisations: [Option<u64>; 2],
}

/// A handle on the watch of one run, for one block of variables; all handles look at the same watch.
#[derive(Clone)]
pub struct Watch {
    shared: Arc<Shared>,
    block: Block,
}

impl Default for Watch {
    /// A new watch without limits, for x.
    fn default() -> Self {
        Watch { shared: Arc::default(), block: Block::X }
    }
}

#[derive(Default)]
struct Shared {
    /// Whether there are limits; off the hot path nothing else is read.
    is_armed: AtomicBool,
    limits: Mutex<Limits>,
    /// Whether linear minimisations are spent on the certificate, which no limit holds for.
    is_certifying: AtomicBool,
    /// Linear minimisations so far, on x and on y.
    counts: [AtomicU64; 2],
    /// How far the counts may go.
    ceilings: [AtomicU64; 2],
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch")
            .field("block", &self.block)
            .field("counts", &self.shared.counts)
            .finish_non_exhaustive()
    }
}

impl Watch {
    /// Sets the limits of the work that comes next.
    pub fn arm(&self, limits: Limits) {
        for block in [Block::X, Block::Y] {
            let left = limits.linear_minimisations[block as usize];
            let ceiling = left.map_or(u64::MAX, |left| self.count(block).saturating_add(left));
            self.shared.ceilings[block as usize].store(ceiling, Relaxed);
        }
        let any = limits.cancel.is_some()
            || limits.deadline.is_some()
            || limits.linear_minimisations.iter().any(Option::is_some);
        *self.shared.limits.lock().unwrap_or_else(PoisonError::into_inner) = limits;
        self.shared.is_armed.store(any, Relaxed);
    }

    /// Takes all limits away.
    pub fn disarm(&self) {
        self.arm(Limits::default());
    }

    /// Linear minimisations that inner loops have counted on this block.
    #[must_use]
    pub fn count(&self, block: Block) -> u64 {
        self.shared.counts[block as usize].load(Relaxed)
    }

    /// Says whether what comes next is spent on the certificate.
    pub fn certify(&self, is_certifying: bool) {
        self.shared.is_certifying.store(is_certifying, Relaxed);
    }

    /// A handle on the same watch for this block.
    #[must_use]
    pub fn on(&self, block: Block) -> Self {
        Watch { shared: self.shared.clone(), block }
    }

    /// Counts linear minimisations that are about to be done: one, or a number of cheap ones at once.
    ///
    /// # Errors
    /// [`Error::Interrupted`] where the work has to end instead.
    pub fn spend(&self, calls: u64) -> Result<()> {
        self.check()?;
        let shared = &*self.shared;
        let block = self.block as usize;
        if shared.is_armed.load(Relaxed)
            && !shared.is_certifying.load(Relaxed)
            && self.count(self.block) >= shared.ceilings[block].load(Relaxed)
        {
            return Err(Error::Interrupted(Interruption::LinearMinimisations(self.block)));
        }
        self.add(calls);
        Ok(())
    }

    /// Counts linear minimisations that are done.
    pub fn add(&self, calls: u64) {
        let (shared, block) = (&*self.shared, self.block as usize);
        shared.counts[block].fetch_add(calls, Relaxed);
        if shared.is_certifying.load(Relaxed) {
            let ceiling = shared.ceilings[block].load(Relaxed);
            shared.ceilings[block].store(ceiling.saturating_add(calls), Relaxed);
        }
    }

    /// Whether the work may go on.
    ///
    /// # Errors
    /// [`Error::Interrupted`] where it may not.
    pub fn check(&self) -> Result<()> {
        if !self.shared.is_armed.load(Relaxed) {
            return Ok(());
        }
        let limits = self.shared.limits.lock().unwrap_or_else(PoisonError::into_inner);
        let cancelled = limits.cancel.as_ref().is_some_and(Cancel::is_raised);
        let now = match &limits.deadline {
            Some((clock, _)) => clock.seconds(),
            None if cancelled => f64::INFINITY,
            None => return Ok(()),
        };
        if now < limits.not_before {
            Ok(())
        } else if cancelled {
            Err(Error::Interrupted(Interruption::Cancelled))
        } else if limits.deadline.as_ref().is_some_and(|(_, end)| now >= *end) {
            Err(Error::Interrupted(Interruption::Time))
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock that is moved by hand.
    #[derive(Clone, Default)]
    struct ByHand(Arc<AtomicU64>);

    impl Clock for ByHand {
        fn seconds(&self) -> f64 {
            self.0.load(Relaxed) as f64
        }

        fn shared(&self) -> Option<SharedClock> {
            Some(Arc::new(self.clone()))
        }
    }

    fn why(result: Result<()>) -> Option<Interruption> {
        match result {
            Ok(()) => None,
            Err(Error::Interrupted(why)) => Some(why),
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn a_watch_without_limits_counts_and_never_ends_anything() {
        let watch = Watch::default();
        for _ in 0..5 {
            watch.on(Block::Y).spend(1).expect("no limits");
        }
        assert_eq!((watch.count(Block::X), watch.count(Block::Y)), (0, 5));
    }

    #[test]
    fn linear_minimisations_end_on_the_spot_and_those_of_certificates_are_free() {
        let watch = Watch::default();
        watch.spend(1).expect("no limits");
        watch.arm(Limits { linear_minimisations: [Some(2), None], ..Limits::default() });
        watch.certify(true);
        (0..5).for_each(|_| assert_eq!(why(watch.spend(1)), None));
        watch.certify(false);
        (0..2).for_each(|_| assert_eq!(why(watch.spend(1)), None));
        assert_eq!(why(watch.spend(1)), Some(Interruption::LinearMinimisations(Block::X)));
        assert_eq!(why(watch.on(Block::Y).spend(1)), None);
        watch.disarm();
        assert_eq!(why(watch.spend(1)), None);
    }

    #[test]
    fn time_and_flag_end_work_that_is_not_over_soon() {
        let (watch, clock, cancel) = (Watch::default(), ByHand::default(), Cancel::default());
        let shared = clock.shared().expect("a clock");
        watch.arm(Limits {
            cancel: Some(cancel.clone()),
            deadline: Some((shared, 10.0)),
            not_before: 3.0,
            ..Limits::default()
        });
        cancel.raise();
        clock.0.store(2, Relaxed);
        assert_eq!(why(watch.check()), None);
        clock.0.store(3, Relaxed);
        assert_eq!(why(watch.check()), Some(Interruption::Cancelled));
        watch.disarm();
        assert_eq!(why(watch.check()), None);
    }
}
