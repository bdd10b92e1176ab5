//! `min over w in the simplex of phi(K w)` by Newton's method with an active set.
//!
//! Second derivatives come from differences of gradients of phi along the edges of the simplex, which costs one look at phi for
//! each atom in use and asks nothing more of the problem. They are kept from one iteration to the next, and taken again where they no
//! longer lead to quick progress. On piecewise quadratic functions the method ends after finitely many steps.

use super::atoms::Atoms;
use super::restricted::{ImageFunction, Restricted};
use crate::error::Result;
use crate::linalg::{Form, axpy, dot};

/// Steps in one restricted problem; a handful is usual.
const MOST_STEPS: usize = 60;
/// Looks along one line.
const MOST_TRIALS: usize = 40;
/// The anchor of differences must have more weight than this.
const ANCHOR: f64 = 1e-3;
/// The share of the first slope that phi falls by along a line, where it does not fall all the way.
const ENOUGH: f64 = 0.25;
/// A line is searched until its slope is at most this share of the first.
const FLAT: f64 = 0.1;
/// Second derivatives are taken again where a step leaves more than this share of the gap.
const SLOW: f64 = 0.2;

/// A point with what phi says there.
struct At {
    weights: Vec<f64>,
    image: Vec<f64>,
    value: f64,
    slope: Vec<f64>,
    /// The gradient in the weights.
    gradient: Vec<f64>,
}

impl At {
    /// Looks at phi for these weights, whose image is this.
    fn look(
        atoms: &Atoms,
        phi: &mut dyn ImageFunction,
        weights: Vec<f64>,
        image: Vec<f64>,
    ) -> Result<Self> {
        let (mut slope, mut gradient) = (vec![0.0; image.len()], Vec::new());
        let value = phi.look(&image, &mut slope)?;
        atoms.pull_back(&slope, &mut gradient);
        Ok(At { weights, image, value, slope, gradient })
    }

    /// The FW-gap over the atoms.
    fn gap(&self) -> f64 {
        let least = self.gradient.iter().copied().fold(f64::INFINITY, f64::min);
        dot(&self.gradient, &self.weights) - least
    }

    /// All weight on the best atom.
    fn best_vertex(&self) -> Vec<f64> {
        let places = 0..self.weights.len();
        let best = places.min_by(|i, j| self.gradient[*i].total_cmp(&self.gradient[*j]));
        let mut weights = vec![0.0; self.weights.len()];
        weights[best.unwrap_or(0)] = 1.0;
        weights
    }

    /// The weights with those of the worst atom in use moved to the best atom.
    fn exchange(&self) -> Vec<f64> {
        let by_slope = |i: &usize, j: &usize| self.gradient[*i].total_cmp(&self.gradient[*j]);
        let best = (0..self.weights.len()).min_by(by_slope).unwrap_or(0);
        let used = (0..self.weights.len()).filter(|j| self.weights[*j] > 0.0);
        let worst = used.max_by(by_slope).unwrap_or(0);
        let mut weights = self.weights.clone();
        weights[best] += std::mem::take(&mut weights[worst]);
        weights
    }

    /// What rounding does to the gap.
    fn rounding(&self) -> f64 {
        let size = self.gradient.iter().fold(0.0f64, |m, g| m.max(g.abs()));
        16.0 * f64::EPSILON * (size + self.value.abs())
    }
}

/// Minimises from the present weights, which are replaced; phi was looked at last at the weights that remain.
pub(super) fn minimise(
    atoms: &mut Atoms,
    phi: &mut dyn ImageFunction,
    wanted: f64,
) -> Result<Restricted> {
    let weights = atoms.weights();
    let mut image = vec![0.0; atoms.entries[0].image.len()];
    atoms.image_of(&weights, &mut image);
    let mut at = At::look(atoms, phi, weights, image)?;
    let first = at.value;
    // a step to the best atom first: what the rate rests on (docs/theory.md, 13.1)
    if at.gap() > wanted.max(at.rounding())
        && let Some(next) = search(atoms, phi, &at, &at.best_vertex())?
    {
        at = next;
    }
    for _ in 0..MOST_STEPS {
        let gap = at.gap();
        if gap <= wanted.max(at.rounding()) {
            break;
        }
        anchor(atoms, &at.weights);
        let accuracy = 0.1 * wanted.max(at.rounding());
        let mut active = std::mem::take(&mut atoms.active);
        let is_new = atoms.entries.iter().all(|entry| entry.bend.is_empty());
        let mut form = Bends { atoms: &mut *atoms, phi: &mut *phi, at: &at };
        let (mut target, mut slope) = (at.weights.clone(), at.gradient.clone());
        active.minimise(&mut form, &mut target, &mut slope, accuracy)?;
        atoms.active = active;
        let mut next = search(atoms, phi, &at, &target)?;
        if next.is_none() && !is_new {
            atoms.forget_bends();
            continue;
        }
        if next.is_none() {
            // across a kink second derivatives may mislead, slopes cannot
            next = search(atoms, phi, &at, &at.exchange())?;
        }
        let Some(next) = next else {
            break; // rounding leaves nothing to be gained
        };
        if next.gap() > SLOW * gap {
            atoms.forget_bends();
        }
        at = next;
    }
    phi.look(&at.image, &mut at.slope)?;
    atoms.set_weights(&at.weights);
    Ok(Restricted { fell: first - at.value, left: at.gap() })
}

/// Makes sure that differences refer to an atom with enough weight.
fn anchor(atoms: &mut Atoms, weights: &[f64]) {
    if weights[atoms.anchor] > ANCHOR / weights.len() as f64 {
        return;
    }
    let heaviest = (0..weights.len()).max_by(|i, j| weights[*i].total_cmp(&weights[*j]));
    let heaviest = heaviest.unwrap_or(0);
    atoms.set_anchor(heaviest);
}

/// Second derivatives of phi along the edges from the anchor, at one point or at points nearby.
struct Bends<'b> {
    atoms: &'b mut Atoms,
    phi: &'b mut dyn ImageFunction,
    at: &'b At,
}

impl Bends<'_> {
    fn prepare(&mut self, j: usize) -> Result<()> {
        let Bends { atoms, phi, at } = self;
        if !atoms.entries[j].bend.is_empty() {
            return Ok(());
        }
        let mut bend = vec![0.0; at.image.len()];
        if j != atoms.anchor {
            let (to, from) = (&atoms.entries[j].image, &atoms.entries[atoms.anchor].image);
            let direction: Vec<f64> = to.iter().zip(from).map(|(to, from)| to - from).collect();
            phi.bend(&at.image, &at.slope, &direction, &mut bend)?;
        }
        atoms.entries[j].bend = bend;
        Ok(())
    }
}

impl Form for Bends<'_> {
    fn noise(&self) -> f64 {
        self.phi.noise()
    }

    fn entries(&mut self, vertex: usize, others: &[usize], out: &mut Vec<f64>) -> Result<()> {
        self.prepare(vertex)?;
        let Atoms { entries, anchor, .. } = &*self.atoms;
        let bend = &entries[vertex].bend;
        let constant = dot(bend, &entries[*anchor].image);
        out.clear();
        out.extend(others.iter().map(|i| dot(bend, &entries[*i].image) - constant));
        Ok(())
    }

    fn add_product(&mut self, step: &[f64], slope: &mut [f64]) -> Result<()> {
        let mut bend = vec![0.0; self.at.image.len()];
        for (j, step) in step.iter().enumerate().filter(|(_, step)| **step != 0.0) {
            self.prepare(j)?;
            axpy(*step, &self.atoms.entries[j].bend, &mut bend);
        }
        let Atoms { entries, anchor, .. } = &*self.atoms;
        let constant = dot(&bend, &entries[*anchor].image);
        for (slope, entry) in slope.iter_mut().zip(entries) {
            *slope += dot(&bend, &entry.image) - constant;
        }
        Ok(())
    }
}

/// Goes toward the target as far as phi falls, and looks at phi there.
fn search(
    atoms: &Atoms,
    phi: &mut dyn ImageFunction,
    from: &At,
    target: &[f64],
) -> Result<Option<At>> {
    let along: Vec<f64> = target.iter().zip(&from.weights).map(|(t, w)| t - w).collect();
    let down = dot(&from.gradient, &along);
    if !(down < 0.0) {
        return Ok(None);
    }
    let mut goal = vec![0.0; from.image.len()];
    atoms.image_of(target, &mut goal);
    let across: Vec<f64> = goal.iter().zip(&from.image).map(|(t, s)| t - s).collect();
    let (mut low, mut low_slope, mut high, mut high_slope) = (0.0, down, f64::INFINITY, 0.0);
    let mut step = 1.0f64;
    let (mut image, mut slope) = (goal, vec![0.0; from.image.len()]);
    let mut found = None;
    for trial in 0..MOST_TRIALS {
        if trial > 0 {
            let terms = from.image.iter().zip(&across);
            image.iter_mut().zip(terms).for_each(|(o, (s, d))| *o = s + step * d);
        }
        let value = phi.look(&image, &mut slope)?;
        let rise = dot(&slope, &across);
        // phi is convex along the line: where it still falls, it has fallen all the way
        let has_fallen = rise <= 0.0;
        let is_flat = rise.abs() <= FLAT * down.abs();
        if has_fallen || is_flat && value <= from.value + ENOUGH * step * down {
            found = Some((step, value, image.clone(), slope.clone()));
            if is_flat || step == 1.0 {
                break;
            }
        }
        if has_fallen {
            (low, low_slope) = (step, rise);
        } else {
            (high, high_slope) = (step, rise);
        }
        if !(high - low > 1e-12 * high) {
            break;
        }
        // where the slope would vanish if it were linear between the two, kept off the ends
        let zero = low - low_slope * (high - low) / (high_slope - low_slope);
        step = zero.clamp(low + 0.1 * (high - low), high - 0.1 * (high - low));
    }
    let Some((step, value, image, slope)) = found else { return Ok(None) };
    let weights = from.weights.iter().zip(&along);
    let weights = weights.map(|(w, d)| (w + step * d).max(0.0)).collect();
    let mut gradient = Vec::new();
    atoms.pull_back(&slope, &mut gradient);
    Ok(Some(At { weights, image, value, slope, gradient }))
}
