//! Certified MPCGS before it runs: its settings, and what is known of it.

use super::certified::Certified;
use super::hull_search::MOST_POINTS;
use super::staged::Staged;
use crate::error::{Error, Result, check_positive};
use crate::run::Algorithm;
use crate::solver::inner::{INNER_BUDGET, check_budget};
use crate::solver::{About, Footprint, Inner, MethodSettings, Start};
use crate::state::Fingerprint;

/// Settings of certified MPCGS.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CertifiedSettings {
    /// How `v` is found.
    pub inner_x: Inner,
    /// How `y` is found.
    pub inner_y: Inner,
    /// Linear minimisations that one inner solve may spend.
    pub inner_budget: u64,
    /// The first `Lhat`; where none is given a small guess is raised until the conditions hold.
    pub first_lhat: Option<f64>,
    /// Points of the convex hull in which a better `x` is sought when it pays (3 to 16; 0 for
    /// never). Each beyond the first three keeps one more point and its image in memory.
    pub hull_points: usize,
}

impl Default for CertifiedSettings {
    fn default() -> Self {
        CertifiedSettings {
            inner_x: Inner::Auto,
            inner_y: Inner::Auto,
            inner_budget: INNER_BUDGET,
            first_lhat: None,
            hull_points: 5,
        }
    }
}

impl CertifiedSettings {
    /// The same inner solve on both blocks.
    #[must_use]
    pub fn inner(mut self, inner: Inner) -> Self {
        (self.inner_x, self.inner_y) = (inner, inner);
        self
    }

    /// How `v` is found.
    #[must_use]
    pub fn inner_x(mut self, inner: Inner) -> Self {
        self.inner_x = inner;
        self
    }

    /// How `y` is found.
    #[must_use]
    pub fn inner_y(mut self, inner: Inner) -> Self {
        self.inner_y = inner;
        self
    }

    /// Linear minimisations that one inner solve may spend.
    #[must_use]
    pub fn inner_budget(mut self, calls: u64) -> Self {
        self.inner_budget = calls;
        self
    }

    /// The first `Lhat`.
    #[must_use]
    pub fn first_lhat(mut self, lhat: f64) -> Self {
        self.first_lhat = Some(lhat);
        self
    }

    /// Points of the convex hull in which a better `x` is sought: 3 to 16, or 0 for never.
    #[must_use]
    pub fn hull_points(mut self, points: usize) -> Self {
        self.hull_points = points;
        self
    }
}

impl MethodSettings for CertifiedSettings {
    const ABOUT: About = About::new(
        "certified",
        "MPCGS that finds its constants and proves its bounds while it runs",
    );

    fn start<'a>(&self, start: Start<'a, '_>) -> Result<Box<dyn Algorithm + 'a>> {
        let solver = Certified::new(start, self)?;
        if Staged::suits(&start, solver.certificate().gap) {
            return Ok(Box::new(Staged::new(start, self, solver)?));
        }
        Ok(Box::new(solver))
    }

    fn fingerprint(&self, print: &mut Fingerprint) {
        let CertifiedSettings { inner_x, inner_y, inner_budget, first_lhat, hull_points } = self;
        print.note("inner solve of x", inner_x);
        print.note("inner solve of y", inner_y);
        print.note("inner budget", inner_budget);
        print.note_maybe("first Lhat", *first_lhat);
        print.note("hull points", hull_points);
    }

    fn check(&self) -> Result<()> {
        if let Some(lhat) = self.first_lhat {
            check_positive("first Lhat", lhat)?;
        }
        if !matches!(self.hull_points, 0 | 3..=MOST_POINTS) {
            return Err(Error::Setting {
                name: "hull_points",
                why: format!("must be 0 or 3 to {}, got {}", MOST_POINTS, self.hull_points),
            });
        }
        check_budget(self.inner_budget)
    }

    fn with_inner(self, inner: Inner) -> Option<Self> {
        Some(self.inner(inner))
    }

    fn footprint(&self) -> Footprint {
        let history = self.hull_points.saturating_sub(3);
        // exact steps keep points by weights as long as images, until rounding makes them form all vectors
        let exact = self.inner_x != Inner::Slide;
        let points = if exact { 19 } else { 14 };
        Footprint {
            points: points + history,
            images: 21 + 2 * history,
            normal_products: exact,
            ..Footprint::default()
        }
    }
}
