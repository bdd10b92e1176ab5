//! Points as convex combinations of vertices that linear minimisations returned.

use crate::domain::Atom;
use crate::error::Result;
use crate::linalg::axpy;
use crate::state::Archive;

/// A point is made anew from its vertices when its rounding errors may have grown to this many units:
/// a step away multiplies them by `1 + gamma`.
const ROUNDING_UNITS: f64 = 1e3;

/// A vertex, its image (empty where images are not kept) and its weight.
#[derive(Default)]
struct Entry {
    weight: f64,
    atom: Atom,
    image: Vec<f64>,
}

/// A convex combination of at most `limit` vertices, each in the form that takes less memory. Where one more would
/// exceed the limit, the two lightest are merged into one, which leaves the point where it is.
///
/// Entries beyond `live` are memory for later ones.
pub(super) struct ActiveSet {
    entries: Vec<Entry>,
    live: usize,
    limit: usize,
    rounding: f64,
    /// What was looked for last.
    sought: Atom,
    /// Room for a vertex with all its coordinates.
    dense: Vec<f64>,
}

impl ActiveSet {
    /// The vertex `point` with its image, or with an empty one where images are not kept.
    pub fn at_vertex(point: &[f64], image: &[f64], limit: usize) -> Self {
        let entry = Entry { weight: 1.0, atom: Atom::from_point(point), image: image.to_vec() };
        ActiveSet {
            entries: vec![entry],
            live: 1,
            limit,
            rounding: 0.0,
            sought: Atom::default(),
            dense: vec![0.0; point.len()],
        }
    }

    /// Saves or loads the entries in use: the others are memory.
    pub fn state(&mut self, archive: &mut Archive<'_>, dim: usize, image_dim: usize) -> Result<()> {
        self.entries.truncate(self.live);
        let room = || Entry { image: vec![0.0; image_dim], ..Entry::default() };
        archive.list("atoms", &mut self.entries, room, |archive, entry| {
            archive.magnitude("weight", &mut entry.weight)?;
            entry.atom.state(archive)?;
            if image_dim == 0 {
                return Ok(());
            }
            archive.numbers("image", &mut entry.image)
        })?;
        self.live = self.entries.len();
        if archive.is_loading() {
            if self.live == 0 {
                return Err(archive.misfit("atoms", "is empty, but a point has some"));
            }
            if self.entries.iter().any(|entry| entry.atom.check("atom", dim).is_err()) {
                return Err(archive.misfit("atoms", "do not fit the set"));
            }
        }
        archive.magnitude("rounding", &mut self.rounding)
    }

    /// Weights and vertices.
    pub fn iter(&self) -> impl Iterator<Item = (f64, &Atom)> {
        self.live().iter().map(|entry| (entry.weight, &entry.atom))
    }

    pub fn len(&self) -> usize {
        self.live
    }

    pub fn atom(&self, i: usize) -> &Atom {
        &self.entries[i].atom
    }

    /// The image of a vertex; empty where images are not kept.
    pub fn image(&self, i: usize) -> &[f64] {
        &self.entries[i].image
    }

    pub fn weight(&self, i: usize) -> f64 {
        self.entries[i].weight
    }

    /// The active vertex `v` with the largest `<g, v>`.
    pub fn worst(&self, g: &[f64]) -> usize {
        let mut worst = (0, f64::NEG_INFINITY);
        for (i, (_, atom)) in self.iter().enumerate() {
            let value = atom.dot(g);
            if value > worst.1 {
                worst = (i, value);
            }
        }
        worst.0
    }

    /// The step at which a move away from vertex `i` takes its last weight.
    pub fn longest_away(&self, i: usize) -> f64 {
        if self.live == 1 { f64::INFINITY } else { self.entries[i].weight / self.others(i) }
    }

    /// Which vertex this is, if it is an active one. The methods that move to it expect this question first.
    pub fn find(&mut self, point: &[f64]) -> Option<usize> {
        self.sought.set_point(point);
        let sought = &self.sought;
        self.live().iter().position(|entry| entry.atom == *sought)
    }

    /// Weights of `(1 - gamma) z + gamma p`, with `p` and `known` those of the last [`find`](Self::find).
    pub fn move_to(&mut self, gamma: f64, known: Option<usize>, image: &[f64]) {
        self.rounding = self.rounding * (1.0 - gamma) + 1.0;
        for entry in &mut self.entries[..self.live] {
            entry.weight *= 1.0 - gamma;
        }
        self.add(gamma, known, image);
    }

    /// Weights of `(1 + gamma) z - gamma v_i`; at the longest step the vertex goes, whatever rounding says.
    pub fn move_away(&mut self, gamma: f64, i: usize) {
        if self.live == 1 {
            return; // the direction is zero
        }
        self.rounding = self.rounding * (1.0 + gamma) + 1.0 + 2.0 * gamma;
        let (others, longest) = (self.others(i), self.longest_away(i));
        let left = self.entries[i].weight - gamma * others;
        for entry in &mut self.entries[..self.live] {
            entry.weight *= 1.0 + gamma;
        }
        self.entries[i].weight = if gamma >= longest { 0.0 } else { left };
        self.drop_empty();
    }

    /// Weights of `z + gamma (p - v_i)`, with `p` and `known` those of the last [`find`](Self::find) and `gamma` at most the
    /// weight of `v_i`.
    pub fn move_between(&mut self, gamma: f64, i: usize, known: Option<usize>, image: &[f64]) {
        if known == Some(i) {
            return; // the direction is zero
        }
        self.rounding += 1.0 + 2.0 * gamma;
        let left = self.entries[i].weight - gamma;
        self.entries[i].weight = left.max(0.0);
        self.add(gamma, known, image);
    }

    /// Whether the point should be made anew.
    pub fn needs_rebuild(&self) -> bool {
        self.rounding > ROUNDING_UNITS
    }

    /// Makes the weights sum to one and writes the point (and its image, where images are kept) anew.
    pub fn rebuild(&mut self, point: &mut [f64], image: &mut [f64]) {
        let total: f64 = self.live().iter().map(|entry| entry.weight).sum();
        point.fill(0.0);
        image.fill(0.0);
        for entry in &mut self.entries[..self.live] {
            entry.weight /= total;
            entry.atom.add_to(entry.weight, point);
            axpy(entry.weight, &entry.image, image);
        }
        self.rounding = 0.0;
    }

    fn live(&self) -> &[Entry] {
        &self.entries[..self.live]
    }

    fn others(&self, i: usize) -> f64 {
        let live = self.live().iter().enumerate();
        live.filter(|(j, _)| *j != i).map(|(_, entry)| entry.weight).sum()
    }

    /// Gives this weight to the vertex that was looked for.
    fn add(&mut self, weight: f64, known: Option<usize>, image: &[f64]) {
        if let Some(i) = known {
            self.entries[i].weight += weight;
            return self.drop_empty();
        }
        self.drop_empty();
        if self.live >= self.limit {
            self.merge_lightest();
        }
        if self.live == self.entries.len() {
            self.entries.push(Entry { image: image.to_vec(), ..Entry::default() });
        }
        let entry = &mut self.entries[self.live];
        entry.weight = weight;
        entry.image.copy_from_slice(image);
        std::mem::swap(&mut entry.atom, &mut self.sought);
        self.live += 1;
    }

    fn drop_empty(&mut self) {
        let mut i = 0;
        while i < self.live {
            if self.entries[i].weight > 0.0 {
                i += 1;
            } else {
                self.remove(i);
            }
        }
    }

    fn remove(&mut self, i: usize) {
        self.live -= 1;
        self.entries.swap(i, self.live);
    }

    /// Puts the mean of the two lightest vertices in the place of the first.
    fn merge_lightest(&mut self) {
        let heavier = |i: usize, j: usize| self.entries[i].weight > self.entries[j].weight;
        let (mut a, mut b) = if heavier(0, 1) { (1, 0) } else { (0, 1) };
        for i in 2..self.live {
            if heavier(a, i) {
                (a, b) = (i, a);
            } else if heavier(b, i) {
                b = i;
            }
        }
        let (first, second) = (a.min(b), a.max(b));
        let (left, right) = self.entries.split_at_mut(second);
        let (kept, gone) = (&mut left[first], &right[0]);
        let weight = kept.weight + gone.weight;
        let share = gone.weight / weight;
        self.dense.fill(0.0);
        kept.atom.add_to(1.0 - share, &mut self.dense);
        gone.atom.add_to(share, &mut self.dense);
        kept.atom.set_point(&self.dense);
        kept.image.iter_mut().zip(&gone.image).for_each(|(k, g)| *k += share * (g - *k));
        kept.weight = weight;
        self.rounding += 1.0;
        self.remove(second);
    }
}
