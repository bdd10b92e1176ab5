//! Sets that are shifted or scaled.

use crate::domain::{
    Atom, Cndg, Confidence, Domain, LinearMin, Oracle, SlideReport, SlideTask, cndg,
};
use crate::error::{Error, Result, check_finite, check_len};
use crate::linalg::{dot, norm};
use crate::state::Archive;
use crate::watch::Watch;

/// The set `{factor p + offset : p in set}`.
///
/// Linear minimisation and, where the set has one, the projection are those of the set.
///
/// ```
/// use couloir::domain::{Affine, Domain, Simplex};
/// let set = Affine::shifted(Box::new(Simplex::new(2)?), vec![1.0, -1.0])?;
/// let mut p = [0.0; 2];
/// let minimum = set.oracle().lmo(&[2.0, 1.0], &mut p)?;
/// assert_eq!((p, minimum.value), ([1.0, 0.0], 2.0));
///
/// let set = Affine::scaled(Box::new(Simplex::new(2)?), -3.0)?;
/// set.oracle().lmo(&[2.0, 1.0], &mut p)?;
/// assert_eq!(p, [-3.0, 0.0]);
/// # Ok::<(), couloir::Error>(())
/// ```
pub struct Affine<'a> {
    set: Box<dyn Domain + 'a>,
    factor: f64,
    /// Empty for none.
    offset: Vec<f64>,
}

impl<'a> Affine<'a> {
    /// The set moved by `offset`.
    ///
    /// # Errors
    /// An offset of another length or with entries that are not finite.
    pub fn shifted(set: Box<dyn Domain + 'a>, offset: Vec<f64>) -> Result<Self> {
        check_len("offset of the set", set.dim(), offset.len())?;
        check_finite("offset of the set", &offset)?;
        Ok(Affine { set, factor: 1.0, offset })
    }

    /// The set scaled by `factor`, which may be negative.
    ///
    /// # Errors
    /// A factor that is zero or not finite.
    pub fn scaled(set: Box<dyn Domain + 'a>, factor: f64) -> Result<Self> {
        if factor == 0.0 || !factor.is_finite() {
            let why = format!("must be finite and not zero, got {factor}");
            return Err(Error::Setting { name: "factor", why });
        }
        Ok(Affine { set, factor, offset: Vec::new() })
    }

    /// Goes from a point of the set to that of its image.
    fn forward(&self, p: &mut [f64]) {
        p.iter_mut().for_each(|p| *p *= self.factor);
        p.iter_mut().zip(&self.offset).for_each(|(p, o)| *p += o);
    }

    /// The way back.
    fn backward(&self, p: &[f64]) -> Vec<f64> {
        let mut q = p.to_vec();
        q.iter_mut().zip(&self.offset).for_each(|(q, o)| *q -= o);
        q.iter_mut().for_each(|q| *q /= self.factor);
        q
    }

    /// What the way to a point and back may move it by: two roundings of each entry, there and back.
    fn rounding(&self) -> f64 {
        4.0 * f64::EPSILON * (self.reach() + norm(&self.offset))
    }

    fn reach(&self) -> f64 {
        let mut centre = vec![0.0; self.dim()];
        self.center(&mut centre);
        norm(&centre) + self.diameter()
    }
}

impl std::fmt::Debug for Affine<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Affine").field(&self.describe()).finish()
    }
}

impl Domain for Affine<'_> {
    fn dim(&self) -> usize {
        self.set.dim()
    }

    fn diameter(&self) -> f64 {
        self.set.diameter() * self.factor.abs()
    }

    /// That of the set, times the factor, but for the rounding of a shift.
    fn violation(&self, p: &[f64]) -> f64 {
        let outside = self.set.violation(&self.backward(p)) * self.factor.abs();
        let rounding = 4.0 * f64::EPSILON * (norm(p) + norm(&self.offset));
        if outside <= rounding { 0.0 } else { outside }
    }

    fn center(&self, out: &mut [f64]) {
        self.set.center(out);
        self.forward(out);
    }

    /// That of the set. A point that would move by no more than the way there and back is left as it is.
    fn repair(&self, p: &mut [f64]) -> f64 {
        let mut inner = self.backward(p);
        let moved = self.set.repair(&mut inner) * self.factor.abs();
        let rounding = self.rounding();
        if moved <= rounding {
            return 0.0;
        }
        self.forward(&mut inner);
        p.copy_from_slice(&inner);
        moved + rounding
    }

    fn repairs_quickly(&self) -> bool {
        self.set.repairs_quickly()
    }

    fn slack(&self) -> [f64; 2] {
        let [length, sum] = self.set.slack().map(|slack| slack * self.factor.abs());
        let rounding = 2.0 * self.rounding();
        [length + rounding, sum + rounding * (self.dim() as f64).sqrt()]
    }

    fn needs_no_repair(&self, p: &[f64]) -> bool {
        self.set.needs_no_repair(&self.backward(p))
    }

    fn describe(&self) -> String {
        let name = self.set.describe();
        if self.offset.is_empty() {
            format!("{name}, times {}", self.factor)
        } else {
            format!("{name}, shifted by a vector of length {}", norm(&self.offset))
        }
    }

    fn is_polytope(&self) -> Option<bool> {
        self.set.is_polytope()
    }

    fn oracle(&self) -> Box<dyn Oracle + '_> {
        Box::new(AffineOracle {
            set: self,
            inner: self.set.oracle(),
            turned: Vec::new(),
            scratch: Some(Cndg::new(self.dim())),
            reach: self.reach(),
        })
    }
}

struct AffineOracle<'a> {
    set: &'a Affine<'a>,
    inner: Box<dyn Oracle + 'a>,
    turned: Vec<f64>,
    scratch: Option<Cndg>,
    reach: f64,
}

impl AffineOracle<'_> {
    fn turn(&mut self, g: &[f64]) {
        self.turned.clear();
        self.turned.extend(g.iter().map(|g| g * self.set.factor));
    }

    /// The minimum over the image, where that over the set is known.
    fn minimum(&self, g: &[f64], inner: LinearMin, value: f64) -> LinearMin {
        let moved = if self.set.offset.is_empty() { 0.0 } else { dot(g, &self.set.offset) };
        let rounding = 8.0 * f64::EPSILON * (g.len() as f64).sqrt() * norm(g) * self.reach;
        LinearMin { value, lower: (inner.lower + moved).min(value) - rounding, ..inner }
    }
}

impl Oracle for AffineOracle<'_> {
    fn confidence(&self) -> Confidence {
        self.inner.confidence()
    }

    fn lmo(&mut self, g: &[f64], p: &mut [f64]) -> Result<LinearMin> {
        self.turn(g);
        let inner = self.inner.lmo(&self.turned, p)?;
        self.set.forward(p);
        Ok(self.minimum(g, inner, dot(g, p)))
    }

    /// A scaled atom keeps its form; a shift makes it dense.
    fn atom(&mut self, g: &[f64], scratch: &mut [f64]) -> Result<(Atom, LinearMin)> {
        if !self.set.offset.is_empty() {
            let minimum = self.lmo(g, scratch)?;
            return Ok((Atom::from_point(scratch), minimum));
        }
        self.turn(g);
        let (mut atom, inner) = self.inner.atom(&self.turned, scratch)?;
        match &mut atom {
            Atom::Dense(values) | Atom::Sparse { values, .. } | Atom::RankOne { u: values, .. } => {
                values.iter_mut().for_each(|v| *v *= self.set.factor);
            }
        }
        let value = atom.dot(g);
        Ok((atom, self.minimum(g, inner, value)))
    }

    fn has_prox(&self) -> bool {
        self.inner.has_prox()
    }

    /// With `u = factor u' + offset`: the prox of the set for `factor g`, `(q - offset)/factor` and `beta factor^2`.
    fn prox(&mut self, g: &[f64], q: &[f64], beta: f64, out: &mut [f64]) -> Result<f64> {
        self.turn(g);
        let from = self.set.backward(q);
        let factor = self.set.factor;
        let gap = self.inner.prox(&self.turned, &from, beta * factor * factor, out)?;
        self.set.forward(out);
        let rounding = 8.0 * f64::EPSILON * (norm(g) + beta * (norm(q) + 2.0 * self.reach));
        Ok(gap + rounding * self.set.diameter())
    }

    fn attend(&mut self, watch: &Watch) {
        self.scratch.iter_mut().for_each(|scratch| scratch.attend(watch));
        self.inner.attend(watch);
    }

    fn slide(&mut self, task: &SlideTask<'_>, out: &mut [f64]) -> Result<SlideReport> {
        let mut scratch = self.scratch.take().unwrap_or_else(|| Cndg::new(out.len()));
        let report = cndg(self, task, &mut scratch, out);
        self.scratch = Some(scratch);
        report
    }

    fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        self.inner.state(archive)
    }
}
