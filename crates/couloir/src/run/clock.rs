//! Clocks. The library reads none of its own accord: the caller passes one in.

use std::time::Instant;

/// Something that tells seconds.
pub trait Clock: Send + Sync {
    /// Seconds since some fixed moment.
    fn seconds(&self) -> f64;
}

impl<C: Clock + ?Sized> Clock for &C {
    fn seconds(&self) -> f64 {
        (**self).seconds()
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
}

/// A clock that stands still: for runs whose traces must be the same bits every time.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoClock;

impl Clock for NoClock {
    fn seconds(&self) -> f64 {
        0.0
    }
}
