//! Limits of memory. As with clocks, the library asks no system: the caller passes a gauge in.

use std::fmt;
use std::sync::Arc;

/// The most memory that a run may take, and how much it takes is told by a gauge of the caller's: the resident set of the
/// process, what an allocator has handed out.
///
/// ```
/// use couloir::Solve;
/// use couloir::domain::{L2Ball, Simplex};
/// use couloir::problem::QuadraticBilinear;
/// use couloir::run::{MemoryLimit, Status};
///
/// let (x_set, y_set) = (L2Ball::new(5, 1.0)?, Simplex::new(4)?);
/// let problem = QuadraticBilinear::on(&x_set, &y_set).build()?;
/// let limit = MemoryLimit::new(1 << 30, || 2 << 30); // a gauge that stands at 2 GiB
/// let outcome = Solve::new(&problem, &x_set, &y_set).memory(limit).run()?.outcome;
/// assert_eq!(outcome.status, Status::MemoryLimit);
/// assert!(outcome.certificate.gap.is_finite());
/// # Ok::<(), couloir::Error>(())
/// ```
#[derive(Clone)]
pub struct MemoryLimit {
    bytes: u64,
    gauge: Arc<dyn Fn() -> u64 + Send + Sync>,
}

impl MemoryLimit {
    /// At most so many bytes. The gauge is read once an iteration.
    pub fn new(bytes: u64, gauge: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        MemoryLimit { bytes, gauge: Arc::new(gauge) }
    }

    /// The limit.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether the gauge stands above the limit.
    #[must_use]
    pub fn is_exceeded(&self) -> bool {
        (self.gauge)() > self.bytes
    }
}

impl fmt::Debug for MemoryLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryLimit").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl PartialEq for MemoryLimit {
    /// Whether both are the same limit on the same gauge.
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes && Arc::ptr_eq(&self.gauge, &other.gauge)
    }
}
