//! A set known only by the user's own linear minimisation.

use super::{Atom, Cndg, Confidence, Domain, LinearMin, Oracle, SlideReport, SlideTask, cndg};
use crate::error::{Error, Result, check_finite, check_positive};
use crate::linalg::{distance_squared, dot, norm};
use crate::watch::Watch;

type LoClosure<'a> = Box<dyn Fn(&[f64], &mut [f64]) + Send + Sync + 'a>;
type AtomClosure<'a> = Box<dyn Fn(&[f64]) -> Atom + Send + Sync + 'a>;
type ViolationClosure<'a> = Box<dyn Fn(&[f64]) -> f64 + Send + Sync + 'a>;

/// In which form the closure returns the minimiser.
enum Minimiser<'a> {
    Point(LoClosure<'a>),
    Atom(AtomClosure<'a>),
}

/// A set made from a closure that minimises a linear function over it.
///
/// Certificates then rest on the closure ([`Confidence::AsGiven`]).
///
/// ```
/// use couloir::domain::{Domain, LoSet};
/// // the probability simplex in R^3, by hand
/// let set = LoSet::new(3, 2f64.sqrt(), vec![1.0, 0.0, 0.0], |g, p| {
///     let best = (0..3).min_by(|&i, &j| g[i].total_cmp(&g[j])).unwrap_or(0);
///     p.fill(0.0);
///     p[best] = 1.0;
/// })?;
/// let mut p = [0.0; 3];
/// assert_eq!(set.oracle().lmo(&[0.5, -1.0, 2.0], &mut p)?.value, -1.0);
/// # Ok::<(), couloir::Error>(())
/// ```
pub struct LoSet<'a> {
    diameter: f64,
    start: Vec<f64>,
    lo: Minimiser<'a>,
    violation: Option<ViolationClosure<'a>>,
}

impl<'a> LoSet<'a> {
    /// The set whose linear minimisation is `lo(g, p)`, which writes the minimiser to `p`.
    ///
    /// `diameter` bounds the Euclidean distance of two points of the set; `start` is a point of it.
    ///
    /// # Errors
    /// A dimension of zero, a diameter that is not positive and finite, a start point of another
    /// length or with entries that are not finite.
    pub fn new(
        dim: usize,
        diameter: f64,
        start: Vec<f64>,
        lo: impl Fn(&[f64], &mut [f64]) + Send + Sync + 'a,
    ) -> Result<Self> {
        LoSet::of(dim, diameter, start, Minimiser::Point(Box::new(lo)))
    }

    /// The same where the minimiser comes in a form of its own: by its few entries that are not zero, or as a matrix of rank one.
    ///
    /// ```
    /// use couloir::domain::{Atom, Domain, LoSet};
    /// // the probability simplex in R^3, by hand
    /// let set = LoSet::by_atoms(3, 2f64.sqrt(), vec![1.0, 0.0, 0.0], |g| {
    ///     let best = (0..3).min_by(|&i, &j| g[i].total_cmp(&g[j])).unwrap_or(0);
    ///     Atom::sparse(vec![best], vec![1.0])
    /// })?;
    /// let mut p = [0.0; 3];
    /// assert_eq!(set.oracle().lmo(&[0.5, -1.0, 2.0], &mut p)?.value, -1.0);
    /// assert_eq!(p, [0.0, 1.0, 0.0]);
    /// # Ok::<(), couloir::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`new`](LoSet::new).
    pub fn by_atoms(
        dim: usize,
        diameter: f64,
        start: Vec<f64>,
        lo: impl Fn(&[f64]) -> Atom + Send + Sync + 'a,
    ) -> Result<Self> {
        LoSet::of(dim, diameter, start, Minimiser::Atom(Box::new(lo)))
    }

    fn of(dim: usize, diameter: f64, start: Vec<f64>, lo: Minimiser<'a>) -> Result<Self> {
        if dim == 0 {
            return Err(Error::EmptySet { why: "a set of dimension 0".to_owned() });
        }
        check_positive("diameter", diameter)?;
        crate::error::check_len("start point of the set", dim, start.len())?;
        check_finite("start point of the set", &start)?;
        Ok(LoSet { diameter, start, lo, violation: None })
    }

    /// Adds a test of membership: how far a point is outside, 0 inside. Without one only points
    /// with a NaN or an infinity count as outside.
    #[must_use]
    pub fn with_violation(mut self, f: impl Fn(&[f64]) -> f64 + Send + Sync + 'a) -> Self {
        self.violation = Some(Box::new(f));
        self
    }
}

impl std::fmt::Debug for LoSet<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoSet")
            .field("dim", &self.start.len())
            .field("diameter", &self.diameter)
            .finish_non_exhaustive()
    }
}

impl Domain for LoSet<'_> {
    fn dim(&self) -> usize {
        self.start.len()
    }

    fn diameter(&self) -> f64 {
        self.diameter
    }

    fn violation(&self, p: &[f64]) -> f64 {
        if p.iter().any(|v| !v.is_finite()) {
            return f64::INFINITY;
        }
        self.violation.as_ref().map_or(0.0, |f| f(p))
    }

    fn center(&self, out: &mut [f64]) {
        out.copy_from_slice(&self.start);
    }

    fn describe(&self) -> String {
        format!("a user's set of diameter {} in dimension {}", self.diameter, self.dim())
    }

    fn oracle(&self) -> Box<dyn Oracle + '_> {
        Box::new(LoSetOracle { set: self, scratch: Some(Cndg::new(self.dim())) })
    }
}

const ANSWER: &str = "point returned by the set's linear minimisation";

struct LoSetOracle<'a> {
    set: &'a LoSet<'a>,
    scratch: Option<Cndg>,
}

impl LoSetOracle<'_> {
    /// The start point is in the set: it can be below a minimum by no more than rounding, or what a minimisation of moderate
    /// accuracy misses.
    fn compare_with_start(&self, g: &[f64], minimum: f64) -> Result<()> {
        let start = dot(g, &self.set.start);
        if !(minimum > start) {
            return Ok(());
        }
        let rounding = 1e-10 * (minimum.abs() + start.abs() + norm(g) * norm(&self.set.start));
        let allowance = 1e-6 * norm(g) * self.set.diameter + rounding;
        if minimum - start <= allowance {
            return Ok(());
        }
        Err(Error::Contradiction {
            what: "the set's linear minimisation does not minimise, or its start point is not in the set",
            claim: "the least value of <g, p>",
            claimed: minimum,
            place: "the start point with",
            seen: start,
            allowance,
        })
    }
}

impl Oracle for LoSetOracle<'_> {
    fn lmo(&mut self, g: &[f64], p: &mut [f64]) -> Result<LinearMin> {
        match &self.set.lo {
            Minimiser::Point(lo) => {
                lo(g, p);
                check_finite(ANSWER, p)?;
            }
            Minimiser::Atom(lo) => {
                let atom = lo(g);
                atom.check(ANSWER, p.len())?;
                atom.write(p);
            }
        }
        let apart = distance_squared(p, &self.set.start).sqrt();
        if apart > self.set.diameter * (1.0 + 1e-9) {
            return Err(Error::Setting {
                name: "diameter",
                why: format!(
                    "the set's linear minimisation returned a point {apart} away from the set's start point, \
                     but the diameter was given as {}",
                    self.set.diameter
                ),
            });
        }
        let value = dot(g, p);
        self.compare_with_start(g, value)?;
        Ok(LinearMin { confidence: Confidence::AsGiven, ..LinearMin::exact(value) })
    }

    fn attend(&mut self, watch: &Watch) {
        self.scratch.iter_mut().for_each(|scratch| scratch.attend(watch));
    }

    fn slide(&mut self, task: &SlideTask<'_>, out: &mut [f64]) -> Result<SlideReport> {
        let mut scratch = self.scratch.take().unwrap_or_else(|| Cndg::new(self.set.dim()));
        let report = cndg(self, task, &mut scratch, out);
        self.scratch = Some(scratch);
        report
    }
}
