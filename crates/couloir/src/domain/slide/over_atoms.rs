//! Sliding over the atoms of all slides so far: for sets whose linear minimisation costs far more than a small quadratic
//! program.

use super::{SlideReport, SlideState, SlideTask, Sliding};
use crate::domain::{Atom, ByGram, Confidence, LinearMin, Oracle};
use crate::error::{Result, check_finite};
use crate::linalg::{ActiveSet, dot, dot_difference, norm};
use crate::state::Archive;
use crate::watch::Watch;

/// Atoms without weight that are kept; where there are more, the oldest ones leave.
const MOST_IDLE: usize = 1000;
/// The gap over the atoms at hand, as a share of the one that is asked for over the set.
const SHARE: f64 = 0.1;
/// Quadratic programs for one point over the atoms at hand: the first finds it, the others repair rounding.
const REFINEMENTS: u32 = 8;

/// What an atom is called in errors.
const ANSWER: &str = "point returned by the set's linear minimisation";

/// A set whose slides remember the atoms of all slides before:
///
/// ```text
/// P = the atoms so far, at first q alone
/// for t = 1, 2, ...
///     u_t   = argmin of <r, u> + beta/2 |u - q|^2 over the convex hull of P
///     p_t   = argmin over p of <r + beta (u_t - q), p>
///     tau_t = <r + beta (u_t - q), u_t - p_t>
///     if tau_t <= eta, return u_t
///     P = P + {p_t}
/// ```
///
/// `u_t` is found by an active set in the weights of the atoms, with their Gram matrix, which gets a row for each atom. The gap is
/// measured at `u_t` as a vector, as in every other slide, so that it does not depend on how well the weights were found. Linear
/// minimisations between the slides give atoms, too. All else is what the set does.
pub(crate) struct OverAtoms<'a> {
    set: Box<dyn Oracle + 'a>,
    hull: Hull,
    vertex: Vec<f64>,
    watch: Watch,
}

impl<'a> OverAtoms<'a> {
    /// Slides on this set of so many dimensions over atoms.
    pub fn new(set: Box<dyn Oracle + 'a>, dim: usize) -> Self {
        let hull = Hull { gradient: vec![0.0; dim], ..Hull::default() };
        OverAtoms { set, hull, vertex: vec![0.0; dim], watch: Watch::default() }
    }
}

/// The convex hull of the atoms at hand, and a point of it.
#[derive(Default)]
struct Hull {
    atoms: Vec<Atom>,
    /// The weights of the last point.
    weights: Vec<f64>,
    gram: Vec<Vec<f64>>,
    active: ActiveSet,
    /// `r + beta (u - q)`, and its products with the atoms.
    gradient: Vec<f64>,
    slopes: Vec<f64>,
}

impl Hull {
    /// Takes an atom in, with this weight; `point` is the same as a vector.
    fn join(&mut self, atom: Atom, point: &[f64], weight: f64) {
        self.atoms.push(atom);
        self.weights.push(weight);
        self.widen(point);
    }

    /// Takes an atom in that was found elsewhere, if it is a new one; `point` becomes the same as a vector.
    fn offer(&mut self, atom: Atom, point: &mut [f64]) -> Result<()> {
        atom.check(ANSWER, self.gradient.len())?;
        if !self.atoms.contains(&atom) {
            atom.write(point);
            self.join(atom, point, 0.0);
        }
        Ok(())
    }

    /// Gives the Gram matrix its next row and column, which are those of this point.
    fn widen(&mut self, point: &[f64]) {
        let last = self.gram.len();
        let products: Vec<f64> = self.atoms[..=last].iter().map(|p| p.dot(point)).collect();
        self.gram.iter_mut().zip(&products).for_each(|(row, product)| row.push(*product));
        self.gram.push(products);
    }

    /// Lets the oldest atoms without weight leave, where there are too many of them.
    fn shrink(&mut self) {
        let is_idle = |j: &usize| self.weights[*j] == 0.0 && !self.active.free().contains(j);
        let mut idle: Vec<usize> = (0..self.atoms.len()).filter(is_idle).collect();
        if idle.len() <= MOST_IDLE {
            return;
        }
        idle.truncate(idle.len() - MOST_IDLE + MOST_IDLE / 4);
        for gone in idle.into_iter().rev() {
            self.atoms.remove(gone);
            self.weights.remove(gone);
            self.gram.remove(gone);
            for row in &mut self.gram {
                row.remove(gone);
            }
            self.active.forget(gone);
        }
    }

    /// Writes the point, and the gradient there.
    fn write(&mut self, task: &SlideTask<'_>, u: &mut [f64]) {
        u.fill(0.0);
        for (atom, weight) in self.atoms.iter().zip(&self.weights).filter(|(_, w)| **w > 0.0) {
            atom.add_to(*weight, u);
        }
        let centred = u.iter().zip(task.q);
        for ((g, r), (u, q)) in self.gradient.iter_mut().zip(task.r).zip(centred) {
            *g = r + task.beta * (u - q);
        }
    }

    /// Goes to the minimiser over the hull, up to this gap over the atoms or as far as rounding lets it.
    fn minimise(&mut self, task: &SlideTask<'_>, accuracy: f64, u: &mut [f64]) -> Result<()> {
        self.write(task, u);
        let mut last = f64::INFINITY;
        for _ in 0..REFINEMENTS {
            self.slopes.clear();
            self.slopes.extend(self.atoms.iter().map(|atom| atom.dot(&self.gradient)));
            let least = self.slopes.iter().copied().fold(f64::INFINITY, f64::min);
            self.slopes.iter_mut().for_each(|slope| *slope -= least);
            let gap = dot(&self.slopes, &self.weights);
            if gap <= accuracy || gap > 0.5 * last {
                break;
            }
            last = gap;
            // in units of beta the quadratic form is the Gram matrix, whatever the task
            self.slopes.iter_mut().for_each(|slope| *slope /= task.beta);
            let Hull { active, gram, weights, slopes, .. } = self;
            active.minimise(&mut &gram[..], weights, slopes, 0.1 * accuracy / task.beta)?;
            self.write(task, u);
        }
        Ok(())
    }

    /// Saves or loads it; the Gram matrix is computed from the rest.
    fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let dim = self.gradient.len();
        archive
            .list("atoms", &mut self.atoms, Atom::default, |archive, atom| atom.state(archive))?;
        archive.list(
            "weights",
            &mut self.weights,
            || 0.0,
            |archive, w| archive.magnitude("weight", w),
        )?;
        let count = self.atoms.len();
        archive.nested("active", |archive| self.active.state(archive, count))?;
        if !archive.is_loading() {
            return Ok(());
        }
        if self.weights.len() != count {
            return Err(archive.misfit("weights", "are not as many as the atoms"));
        }
        self.gram.clear();
        let mut point = vec![0.0; dim];
        for j in 0..count {
            self.atoms[j].check("an atom of the checkpoint", dim)?;
            self.atoms[j].write(&mut point);
            self.widen(&point);
        }
        Ok(())
    }
}

impl Oracle for OverAtoms<'_> {
    fn slide(&mut self, task: &SlideTask<'_>, out: &mut [f64]) -> Result<SlideReport> {
        check_finite("linear part of the slide", task.r)?;
        check_finite("centre of the slide", task.q)?;
        let OverAtoms { set, hull, vertex, watch } = self;
        let SlideTask { q, beta, eta, budget, .. } = *task;
        if !hull.weights.iter().any(|w| *w > 0.0) {
            hull.join(Atom::from_point(q), q, 1.0);
        }
        let norm_q = norm(q);
        let mut report = SlideReport {
            gap: f64::INFINITY,
            lo_calls: 0,
            products: 0,
            state: SlideState::OutOfBudget,
        };
        while report.lo_calls < budget {
            hull.minimise(task, SHARE * eta, out)?;
            watch.spend(1)?;
            let (atom, minimum) = set.atom(&hull.gradient, vertex)?;
            atom.check(ANSWER, vertex.len())?;
            atom.write(vertex);
            report.lo_calls += 1;
            report.products += minimum.products;
            let (tau, distance) = dot_difference(&hull.gradient, out, vertex);
            report.gap = tau + (minimum.value - minimum.lower).max(0.0);
            if report.gap <= eta {
                report.state = SlideState::Reached;
                break;
            }
            let apart = distance.sqrt();
            let floor =
                f64::EPSILON * (beta * (norm_q + apart) + 4.0 * norm(&hull.gradient)) * apart;
            if !(tau > floor) || hull.atoms.contains(&atom) {
                // the best atom over the set is one at hand, and rounding is all that is left between them
                report.state = SlideState::RoundingFloor;
                break;
            }
            hull.join(atom, vertex, 0.0);
        }
        hull.shrink();
        Ok(report)
    }

    fn sliding(&self) -> Sliding {
        Sliding::Atoms
    }

    fn attend(&mut self, watch: &Watch) {
        self.watch = watch.clone();
        self.set.attend(watch);
    }

    fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.nested("set", |archive| self.set.state(archive))?;
        archive.nested("hull", |archive| self.hull.state(archive))
    }

    fn lmo(&mut self, g: &[f64], p: &mut [f64]) -> Result<LinearMin> {
        let minimum = self.set.lmo(g, p)?;
        self.hull.offer(Atom::from_point(p), p)?;
        Ok(minimum)
    }

    fn atom(&mut self, g: &[f64], scratch: &mut [f64]) -> Result<(Atom, LinearMin)> {
        let (atom, minimum) = self.set.atom(g, scratch)?;
        self.hull.offer(atom.clone(), scratch)?;
        Ok((atom, minimum))
    }

    fn confidence(&self) -> Confidence {
        self.set.confidence()
    }

    fn has_prox(&self) -> bool {
        self.set.has_prox()
    }

    fn prox(&mut self, g: &[f64], q: &[f64], beta: f64, out: &mut [f64]) -> Result<f64> {
        self.set.prox(g, q, beta, out)
    }

    fn by_gram(&mut self) -> Option<&mut dyn ByGram> {
        self.set.by_gram()
    }

    fn has_away(&self) -> bool {
        self.set.has_away()
    }

    fn away(&mut self, g: &[f64], u: &[f64], a: &mut [f64]) -> Result<f64> {
        self.set.away(g, u, a)
    }

    fn max_pairwise_step(&mut self, u: &[f64], p: &[f64], a: &[f64]) -> Result<f64> {
        self.set.max_pairwise_step(u, p, a)
    }
}

#[cfg(test)]
mod tests;
