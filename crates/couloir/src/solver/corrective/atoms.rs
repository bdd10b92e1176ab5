//! Points as convex combinations of atoms, with the images of the atoms.

use super::newton;
use super::restricted::{ImageFunction, Restricted, RestrictedSet};
use crate::certificate::{Charged, gap_part};
use crate::domain::{Atom, Confidence, LinearMin};
use crate::error::{Block, Error, Result};
use crate::linalg::{ActiveSet, axpy, dot, dot_difference, norm, sum_rounding};
use crate::oracles::Oracles;
use crate::state::Archive;

/// Iterations for which an atom of weight zero is kept: asking for it once more would cost a call of the oracle.
const PATIENCE: u64 = 100;
/// An answer may lie outside of its set by this share of the diameter.
const OUTSIDE: f64 = 1e-6;
/// Differences of this share of the numbers compared are rounding.
const ROUNDING: f64 = 1e-9;

/// An atom with its image.
#[derive(Clone, Debug, Default)]
pub(in crate::solver) struct Entry {
    pub atom: Atom,
    pub image: Vec<f64>,
    pub weight: f64,
    /// Iterations since it last had a weight.
    idle: u64,
    /// `H (image - image of the anchor)` for the second derivatives `H` of phi at a point nearby, if they are known.
    pub bend: Vec<f64>,
}

impl Entry {
    fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        self.atom.state(archive)?;
        numbers(archive, "image", &mut self.image)?;
        archive.number("weight", &mut self.weight)?;
        numbers(archive, "bend", &mut self.bend)
    }
}

/// A vector whose length is part of the state.
pub(super) fn numbers(
    archive: &mut Archive<'_>,
    name: &'static str,
    values: &mut Vec<f64>,
) -> Result<()> {
    archive.list(name, values, || 0.0, |archive, value| archive.number("value", value))
}

/// `sum_a w_a p_a` with `w` in the simplex.
pub(in crate::solver) struct Atoms {
    pub block: Block,
    pub entries: Vec<Entry>,
    /// The atom whose image second derivatives refer to.
    pub anchor: usize,
    /// What the last quadratic model left.
    pub(super) active: ActiveSet,
    /// What the oracle answered last.
    answer: Option<Atom>,
    /// The most atoms that are kept.
    limit: usize,
    dense: Vec<f64>,
    slope: Vec<f64>,
    image_dim: usize,
    /// The length of second derivatives.
    bend_dim: usize,
}

impl Atoms {
    /// The point `start` with this image as the only atom.
    pub fn new(block: Block, start: &[f64], image: &[f64], limit: usize) -> Self {
        let entry = Entry {
            atom: Atom::from_point(start),
            image: image.to_vec(),
            weight: 1.0,
            ..Entry::default()
        };
        Atoms {
            block,
            entries: vec![entry],
            anchor: 0,
            active: ActiveSet::default(),
            answer: None,
            limit,
            dense: vec![0.0; start.len()],
            slope: vec![0.0; start.len()],
            image_dim: image.len(),
            bend_dim: image.len(),
        }
    }

    /// The same for second derivatives of another length.
    pub fn with_bends_of(mut self, length: usize) -> Self {
        self.bend_dim = length;
        self
    }

    pub fn weights(&self) -> Vec<f64> {
        self.entries.iter().map(|entry| entry.weight).collect()
    }

    /// Takes these weights, scaled to the sum one.
    pub fn set_weights(&mut self, weights: &[f64]) {
        let sum: f64 = weights.iter().map(|w| w.max(0.0)).sum();
        for (entry, w) in self.entries.iter_mut().zip(weights) {
            entry.weight = w.max(0.0) / sum;
        }
    }

    /// Writes the image of the point with these weights.
    pub fn image_of(&self, weights: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        for (entry, w) in self.entries.iter().zip(weights).filter(|(_, w)| **w != 0.0) {
            axpy(*w, &entry.image, out);
        }
    }

    /// Writes the inner products of a gradient in the image with the images of all atoms.
    pub fn pull_back(&self, slope: &[f64], out: &mut Vec<f64>) {
        out.clear();
        out.extend(self.entries.iter().map(|entry| dot(slope, &entry.image)));
    }

    /// Makes room for one more atom where the limit is reached: those of weight zero leave, the idlest first; then the two
    /// lightest are merged into one, which leaves the point where it is.
    fn make_room(&mut self) {
        while self.entries.len() >= self.limit {
            let unused = self.entries.iter().map(|entry| entry.idle).max().unwrap_or(0);
            if unused > 0 {
                self.keep(|entry| entry.idle < unused);
                continue;
            }
            let mut order: Vec<usize> = (0..self.entries.len()).collect();
            order.sort_by(|i, j| self.entries[*i].weight.total_cmp(&self.entries[*j].weight));
            let [a, b, ..] = order[..] else { return };
            self.merge(a.min(b), a.max(b));
        }
    }

    fn merge(&mut self, first: usize, second: usize) {
        let gone = self.entries.remove(second);
        let entry = &mut self.entries[first];
        let weight = entry.weight + gone.weight;
        let share = if weight > 0.0 { gone.weight / weight } else { 0.5 };
        self.dense.fill(0.0);
        entry.atom.add_to(1.0 - share, &mut self.dense);
        gone.atom.add_to(share, &mut self.dense);
        entry.atom = Atom::from_point(&self.dense);
        entry.image.iter_mut().zip(&gone.image).for_each(|(a, b)| *a += share * (b - *a));
        entry.weight = weight;
        self.forget_bends();
        self.anchor = 0;
    }

    fn keep(&mut self, is_kept: impl Fn(&Entry) -> bool) {
        if self.entries.iter().all(&is_kept) {
            return;
        }
        for gone in (0..self.entries.len()).rev().filter(|j| !is_kept(&self.entries[*j])) {
            self.active.forget(gone);
        }
        let anchor = self.entries.iter().take(self.anchor).filter(|entry| is_kept(entry)).count();
        let anchor_stays = self.entries.get(self.anchor).is_some_and(&is_kept);
        self.entries.retain(is_kept);
        if anchor_stays {
            self.anchor = anchor;
        } else {
            self.anchor = 0;
            self.forget_bends();
        }
    }

    /// Forgets the second derivatives.
    pub fn forget_bends(&mut self) {
        self.active = ActiveSet::default();
        for entry in &mut self.entries {
            entry.bend.clear();
        }
    }

    /// Has second derivatives refer to another atom.
    pub fn set_anchor(&mut self, anchor: usize) {
        self.active = ActiveSet::default();
        // H (k_j - k_new) = H (k_j - k_old) - H (k_new - k_old)
        let moved = std::mem::take(&mut self.entries[anchor].bend);
        for entry in &mut self.entries {
            if moved.is_empty() {
                entry.bend.clear();
            } else if !entry.bend.is_empty() {
                axpy(-1.0, &moved, &mut entry.bend);
            }
        }
        self.anchor = anchor;
    }
}

impl RestrictedSet for Atoms {
    fn len(&self) -> usize {
        self.entries.len()
    }

    fn image(&self, out: &mut [f64]) {
        self.image_of(&self.weights(), out);
    }

    fn minimise(&mut self, phi: &mut dyn ImageFunction, wanted: f64) -> Result<Restricted> {
        newton::minimise(self, phi, wanted)
    }

    fn ask(&mut self, oracles: &mut Oracles<'_>, slope: &[f64]) -> Result<LinearMin> {
        match self.block {
            Block::X => oracles.adjoint(slope, &mut self.slope)?,
            Block::Y => self.slope.copy_from_slice(slope),
        }
        let (atom, minimum) = oracles.lmo_atom(self.block, &self.slope, &mut self.dense)?;
        atom.write(&mut self.dense);
        let set = match self.block {
            Block::X => oracles.x_set,
            Block::Y => oracles.y_set,
        };
        let wrong =
            |why: String| Err(Error::Numerical { what: "the set's linear minimisation", why });
        // sets of our own are tested elsewhere, and membership may cost far more than an answer
        let is_users = minimum.confidence == Confidence::AsGiven;
        let allowed = OUTSIDE * set.diameter();
        let violation = if is_users { set.violation(&self.dense) } else { 0.0 };
        if !(violation <= allowed) {
            return wrong(format!(
                "the answer for {} lies outside {}: violation {violation:e}, allowed {allowed:e}",
                self.block,
                set.describe()
            ));
        }
        // an atom below a bound of the minimum proves the bound wrong
        let values = self.entries.iter().map(|entry| dot(slope, &entry.image));
        let least = values.fold(f64::INFINITY, f64::min);
        let allowance = ROUNDING
            * (minimum.lower.abs()
                + least.abs()
                + self.scale(slope)
                + norm(&self.slope) * set.diameter());
        if least < minimum.lower - allowance {
            return Err(Error::Contradiction {
                what: match self.block {
                    Block::X => "the linear minimisation over the set of x",
                    Block::Y => "the linear minimisation over the set of y",
                },
                claim: "the least value of <g, p> over the set",
                claimed: minimum.lower,
                place: "an earlier answer with",
                seen: least,
                allowance,
            });
        }
        self.answer = Some(atom);
        Ok(minimum)
    }

    /// In differences to the answer, where images are the points themselves: so a set far from the origin does no harm.
    fn gain(
        &self,
        oracles: &Oracles<'_>,
        (slope, image): (&[f64], &[f64]),
        minimum: &LinearMin,
        error: f64,
    ) -> Charged {
        let is_point = self.block == Block::Y || !oracles.has_operator();
        let diameter = oracles.diameters[self.block as usize];
        if is_point {
            let way = dot_difference(slope, image, &self.dense);
            return gap_part(slope, way, minimum, error, diameter);
        }
        let (here, farthest) = (dot(slope, image), oracles.farthest(Block::X));
        let sums = sum_rounding(slope.len()) * norm(slope) * norm(image)
            + sum_rounding(self.slope.len()) * norm(&self.slope) * farthest
            + 4.0 * f64::EPSILON * (here.abs() + minimum.lower.abs());
        // the gradient enters the minimum, and the product with the image through its operator
        let rounding = sums + error * (diameter + 2.0 * farthest);
        Charged { gap: (here - minimum.lower).max(0.0) + rounding, rounding }
    }

    fn scale(&self, slope: &[f64]) -> f64 {
        let mut sizes = vec![0.0; slope.len()];
        for entry in self.entries.iter().filter(|entry| entry.weight > 0.0) {
            let terms = sizes.iter_mut().zip(&entry.image);
            terms.for_each(|(size, k)| *size += entry.weight * k.abs());
        }
        let terms = slope.iter().zip(&sizes);
        terms.map(|(s, size)| s.abs() * size).sum()
    }

    fn grow(&mut self, oracles: &mut Oracles<'_>) -> Result<bool> {
        self.make_room();
        let Some(atom) = self.answer.take() else { return Ok(false) };
        if self.entries.iter().any(|entry| entry.atom == atom) {
            return Ok(false);
        }
        atom.write(&mut self.dense);
        let mut image = vec![0.0; self.image_dim];
        match self.block {
            Block::X => oracles.image(&self.dense, &mut image)?,
            Block::Y => image.copy_from_slice(&self.dense),
        }
        self.entries.push(Entry { atom, image, ..Entry::default() });
        Ok(true)
    }

    fn shrink(&mut self) {
        for entry in &mut self.entries {
            entry.idle = if entry.weight > 0.0 { 0 } else { entry.idle + 1 };
        }
        self.keep(|entry| entry.idle <= PATIENCE);
    }

    fn write(&self, x: &mut [f64]) {
        x.fill(0.0);
        for entry in self.entries.iter().filter(|entry| entry.weight > 0.0) {
            entry.atom.add_to(entry.weight, x);
        }
    }

    fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        self.atoms_state(archive)?;
        for entry in &mut self.entries {
            archive.count("idle", &mut entry.idle)?;
        }
        let mut anchor = self.anchor as u64;
        archive.count("anchor", &mut anchor)?;
        self.anchor = anchor as usize;
        if archive.is_loading() && self.anchor >= self.entries.len() {
            return Err(archive.misfit("anchor", "is no atom"));
        }
        let vertices = self.entries.len();
        archive.nested("active", |archive| self.active.state(archive, vertices))
    }
}

impl Atoms {
    /// Saves or loads the atoms and the last answer: all that there is unless the atoms are [minimised](RestrictedSet::minimise) over
    /// by themselves.
    pub(super) fn atoms_state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let dim = self.dense.len();
        archive.list("atoms", &mut self.entries, Entry::default, |archive, entry| {
            entry.state(archive)
        })?;
        let mut answers: Vec<Atom> = self.answer.iter().cloned().collect();
        archive.list("answer", &mut answers, Atom::default, |archive, atom| atom.state(archive))?;
        self.answer = answers.pop();
        let fits = |entry: &Entry| {
            entry.atom.check("atom", dim).is_ok()
                && entry.image.len() == self.image_dim
                && (entry.bend.is_empty() || entry.bend.len() == self.bend_dim)
                && entry.weight >= 0.0
        };
        if archive.is_loading()
            && !(!self.entries.is_empty()
                && self.entries.iter().all(fits)
                && self.answer.iter().all(|atom| atom.check("atom", dim).is_ok()))
        {
            return Err(archive.misfit("atoms", "do not fit the problem"));
        }
        Ok(())
    }
}
