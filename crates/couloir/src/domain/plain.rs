//! The oracle of a set that minimises linear functions, perhaps projects, and slides as printed.

use super::{Atom, Cndg, Confidence, LinearMin, Oracle, SlideReport, SlideTask, cndg};
use crate::error::{Error, Result, check_finite};
use crate::linalg::{dot, dot_difference, norm};
use crate::watch::Watch;

/// What such a set is able to do; [`PlainOracle`] makes the rest of it.
pub(super) trait Work: Send {
    /// Writes a minimiser of `<g, .>`, of which every entry is finite.
    fn lmo(&mut self, g: &[f64], p: &mut [f64]) -> Result<LinearMin>;

    /// The minimiser in the form that suits it.
    fn atom(&mut self, g: &[f64], scratch: &mut [f64]) -> Result<(Atom, LinearMin)> {
        let minimum = self.lmo(g, scratch)?;
        Ok((Atom::from_point(scratch), minimum))
    }

    /// On what its minima rest.
    fn confidence(&self) -> Confidence {
        Confidence::Exact
    }

    fn projects(&self) -> bool {
        false
    }

    /// Writes the point of the set that is nearest to `v`, of which every entry is finite.
    fn project(&mut self, _v: &[f64], _out: &mut [f64]) -> Result<()> {
        Err(Error::MissingOracle {
            set: "this set".to_owned(),
            oracle: "projection",
            hint: "slide on it instead",
        })
    }
}

/// The oracle made from it.
pub(super) struct PlainOracle<W> {
    work: W,
    diameter: f64,
    cndg: Option<Cndg>,
    dim: usize,
    watch: Watch,
    target: Vec<f64>,
    slope: Vec<f64>,
    vertex: Vec<f64>,
}

impl<W: Work> PlainOracle<W> {
    pub(super) fn new(work: W, dim: usize, diameter: f64) -> Self {
        PlainOracle {
            work,
            diameter,
            dim,
            cndg: None,
            watch: Watch::default(),
            target: Vec::new(),
            slope: Vec::new(),
            vertex: Vec::new(),
        }
    }
}

impl<W: Work> Oracle for PlainOracle<W> {
    fn lmo(&mut self, g: &[f64], p: &mut [f64]) -> Result<LinearMin> {
        check_finite("gradient", g)?;
        self.work.lmo(g, p)
    }

    fn confidence(&self) -> Confidence {
        self.work.confidence()
    }

    fn atom(&mut self, g: &[f64], scratch: &mut [f64]) -> Result<(Atom, LinearMin)> {
        check_finite("gradient", g)?;
        self.work.atom(g, scratch)
    }

    fn has_prox(&self) -> bool {
        self.work.projects()
    }

    /// The projection of `q - g/beta`. The set's own linear minimisation measures the gap that is left.
    fn prox(&mut self, g: &[f64], q: &[f64], beta: f64, out: &mut [f64]) -> Result<f64> {
        let PlainOracle { work, target, slope, vertex, .. } = self;
        target.clear();
        target.extend(q.iter().zip(g).map(|(q, g)| q - g / beta));
        check_finite("point to be projected", target)?;
        work.project(target, out)?;
        slope.clear();
        slope.extend(g.iter().zip(q).zip(&*out).map(|((g, q), o)| g + beta * (o - q)));
        vertex.resize(g.len(), 0.0);
        let minimum = work.lmo(slope, vertex)?;
        let (gap, _) = dot_difference(slope, out, vertex);
        let rounding = 4.0 * f64::EPSILON * (norm(g) + beta * (norm(q) + norm(out)));
        Ok((gap + (minimum.value - minimum.lower)).max(0.0) + rounding * self.diameter)
    }

    fn attend(&mut self, watch: &Watch) {
        self.watch = watch.clone();
        self.cndg.iter_mut().for_each(|scratch| scratch.attend(watch));
    }

    fn slide(&mut self, task: &SlideTask<'_>, out: &mut [f64]) -> Result<SlideReport> {
        let mut scratch = self.cndg.take().unwrap_or_else(|| {
            let mut scratch = Cndg::new(self.dim);
            scratch.attend(&self.watch);
            scratch
        });
        let report = cndg(self, task, &mut scratch, out);
        self.cndg = Some(scratch);
        report
    }
}

/// The minimum `<g, p>` at a point that was found by comparing sums of at most `terms` entries of `g`, one after the other, each
/// times an entry of a point of length at most `reach`.
pub(super) fn found(g: &[f64], p: &[f64], terms: usize, reach: f64) -> LinearMin {
    let value = dot(g, p);
    let rounding = f64::EPSILON * (2 * terms + 8) as f64 * norm(g) * reach;
    LinearMin { lower: value - rounding, ..LinearMin::exact(value) }
}

/// How far a number is above zero; a NaN is infinitely far.
pub(super) fn excess(value: f64) -> f64 {
    if value.is_nan() { f64::INFINITY } else { value.max(0.0) }
}
