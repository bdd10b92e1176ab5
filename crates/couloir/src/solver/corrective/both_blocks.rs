//! The corrective method where both blocks are known by their oracles.
//!
//! ```text
//! (1)  (w, v) = saddle point of f(sum_a w_a p_a, sum_b v_b q_b) over both simplices          (no oracle call)
//! (2)  p = LO_X(grad_x f),  q = LO_Y(-grad_y f)                          (one gradient and one call in each block)
//!      upper = f + <grad_y f, q - y>,  lower = f + <grad_x f, p - x>
//! (3)  p and q become atoms; none leaves below the limit
//! ```
//!
//! For bilinear `f` on polytopes this is the double oracle method (McMahan, Gordon, Blum, "Planning in the presence of cost
//! functions controlled by an adversary", ICML 2003), which ends after finitely many steps.
//!
//! Restricted problems are solved by Newton's method: `f` is replaced by a quadratic function, whose saddle point an interior-point
//! method finds. Second derivatives are differences of gradients between atoms, each taken once; where they do not lead to half of
//! the gap, differences at the present point take their place. For quadratic `f`, and so for games, the first are exact.
//!
//! A block that has a prox is taken for cheap to ask: it grows until its part of the gap is small, before the other is asked.

use super::CorrectiveSettings;
use super::atoms::Atoms;
use super::one_block::{Best, charges};
use super::restricted::RestrictedSet;
use super::saddle_qp::SaddleQp;
use crate::certificate::Certificate;
use crate::domain::LinearMin;
use crate::error::{Block, Result};
use crate::linalg::{axpy, dot};
use crate::oracles::{Ledger, Oracles};
use crate::problem::PointX;
use crate::run::{Algorithm, Fact, Step};
use crate::solver::{MethodSettings, Start};
use crate::state::Archive;
use crate::watch::Watch;

/// Newton steps in one restricted problem.
const MOST_STEPS: usize = 30;
/// Halvings of one Newton step.
const MOST_HALVINGS: u32 = 12;
/// The step of differences at the present point, as a share of the way to an atom.
const DIFFERENCE: f64 = 1e-6;
/// A cheap block grows until its part of the gap is at most this share of the certified gap.
const CHEAP_SHARE: f64 = 0.1;
/// Restricted problems need not be solved below this share of the value.
const FLOOR: f64 = 1e-15;

/// The corrective method on both blocks, running.
pub struct BothBlocks<'a> {
    oracles: Oracles<'a>,
    share: f64,
    xs: Atoms,
    ys: Atoms,
    k: u64,
    now: Look,
    /// The start points, at which differences between atoms of the other block are taken.
    home: Vec<f64>,
    home_y: Vec<f64>,
    /// Whether differences between atoms have failed: `f` is not quadratic.
    is_curved: bool,
    is_asked: bool,
    best: Best,
    room: PointX,
}

/// Gradients of `f`, in the image and in `y`.
#[derive(Clone, Debug, Default)]
struct Gradient {
    in_image: Vec<f64>,
    in_y: Vec<f64>,
}

/// A pair of weights with what `f` says there.
struct Look {
    w: Vec<f64>,
    v: Vec<f64>,
    image: Vec<f64>,
    y: Vec<f64>,
    gradient: Gradient,
    /// `K' grad_image` and `-Q' grad_y`.
    slopes: (Vec<f64>, Vec<f64>),
    gap: f64,
}

fn fw_gap(slopes: &[f64], weights: &[f64]) -> f64 {
    dot(slopes, weights) - slopes.iter().copied().fold(f64::INFINITY, f64::min)
}

impl<'a> BothBlocks<'a> {
    /// The method at its start point.
    ///
    /// # Errors
    /// Dimensions that disagree, a start point outside its set.
    pub fn new(start: Start<'a, '_>, settings: &CorrectiveSettings) -> Result<Self> {
        settings.check()?;
        let mut oracles = start.oracles(CorrectiveSettings::ABOUT.needs)?;
        let (point, y) = start.points(&mut oracles)?;
        let xs = Atoms::new(Block::X, &point.x, &point.image, settings.atoms)
            .with_bends_of(point.image.len() + y.len());
        let ys = Atoms::new(Block::Y, &y, &y, settings.atoms).with_bends_of(y.len());
        let now = Look {
            w: vec![1.0],
            v: vec![1.0],
            image: point.image.clone(),
            y: y.clone(),
            gradient: Gradient::default(),
            slopes: Default::default(),
            gap: f64::INFINITY,
        };
        Ok(BothBlocks {
            share: settings.share,
            xs,
            ys,
            k: 0,
            now,
            is_curved: false,
            is_asked: false,
            best: Best::new(&point, &y),
            room: point.room_for_image(),
            home: point.image,
            home_y: y,
            oracles,
        })
    }

    /// Goes on with the atoms of x, and `y` as the only atom of Y, after so many iterations with these bounds.
    pub(super) fn going_on(
        oracles: Oracles<'a>,
        (mut xs, y): (Atoms, Vec<f64>),
        (k, best): (u64, Best),
        home: (&[f64], &[f64]),
        settings: &CorrectiveSettings,
    ) -> Self {
        xs.forget_bends();
        let mut image = vec![0.0; best.image.len()];
        xs.image(&mut image);
        let xs = xs.with_bends_of(image.len() + y.len());
        let ys = Atoms::new(Block::Y, &y, &y, settings.atoms).with_bends_of(y.len());
        let room = PointX { x: Vec::new(), ..PointX::at_image_zero(&*oracles.problem) };
        let now = Look {
            w: xs.weights(),
            v: vec![1.0],
            image,
            y,
            gradient: Gradient::default(),
            slopes: Default::default(),
            gap: f64::INFINITY,
        };
        BothBlocks {
            share: settings.share,
            xs,
            ys,
            k,
            now,
            home: home.0.to_vec(),
            home_y: home.1.to_vec(),
            is_curved: false,
            is_asked: false,
            best,
            room,
            oracles,
        }
    }

    fn gradient(&mut self, image: &[f64], y: &[f64]) -> Result<Gradient> {
        let Self { oracles, room, .. } = self;
        oracles.watch().check()?;
        room.image.copy_from_slice(image);
        oracles.prepare(room);
        let mut gradient = Gradient { in_image: vec![0.0; image.len()], in_y: vec![0.0; y.len()] };
        oracles.grad_image(room, y, &mut gradient.in_image)?;
        oracles.grad_y(room, y, &mut gradient.in_y)?;
        Ok(gradient)
    }

    fn look(&mut self, w: Vec<f64>, v: Vec<f64>) -> Result<Look> {
        let (mut image, mut y) = (vec![0.0; self.now.image.len()], vec![0.0; self.now.y.len()]);
        self.xs.image_of(&w, &mut image);
        self.ys.image_of(&v, &mut y);
        if !self.oracles.has_operator() {
            self.oracles.repair(Block::X, &mut image);
        }
        self.oracles.repair(Block::Y, &mut y);
        let gradient = self.gradient(&image, &y)?;
        let mut slopes = (Vec::new(), Vec::new());
        self.xs.pull_back(&gradient.in_image, &mut slopes.0);
        self.ys.pull_back(&gradient.in_y, &mut slopes.1);
        slopes.1.iter_mut().for_each(|g| *g = -*g);
        let gap = fw_gap(&slopes.0, &w) + fw_gap(&slopes.1, &v);
        Ok(Look { w, v, image, y, gradient, slopes, gap })
    }

    /// Differences of gradients along the way to each atom of X (in the image and in `y`) and of Y (in `y`).
    fn differences(&mut self, is_local: bool) -> Result<[Vec<Vec<f64>>; 2]> {
        let (mut of_x, mut of_y) = (Vec::new(), Vec::new());
        for j in 0..self.xs.len() {
            if is_local {
                let mut ahead = self.now.image.clone();
                let atom = &self.xs.entries[j].image;
                ahead.iter_mut().zip(atom).for_each(|(a, k)| *a += DIFFERENCE * (k - *a));
                let y = self.now.y.clone();
                let there = self.gradient(&ahead, &y)?;
                let here = &self.now.gradient;
                let image = there.in_image.iter().zip(&here.in_image);
                let in_y = there.in_y.iter().zip(&here.in_y);
                of_x.push(image.chain(in_y).map(|(a, b)| (a - b) / DIFFERENCE).collect());
                continue;
            }
            if self.xs.entries[j].bend.is_empty() {
                let (image, y) = (self.xs.entries[j].image.clone(), self.home_y.clone());
                let Gradient { mut in_image, in_y } = self.gradient(&image, &y)?;
                in_image.extend(in_y);
                self.xs.entries[j].bend = in_image;
            }
            of_x.push(self.xs.entries[j].bend.clone());
        }
        for j in 0..self.ys.len() {
            if is_local {
                let mut ahead = self.now.y.clone();
                let atom = &self.ys.entries[j].image;
                ahead.iter_mut().zip(atom).for_each(|(a, q)| *a += DIFFERENCE * (q - *a));
                let image = self.now.image.clone();
                let there = self.gradient(&image, &ahead)?;
                let here = &self.now.gradient.in_y;
                let bend = there.in_y.iter().zip(here).map(|(a, b)| (a - b) / DIFFERENCE);
                of_y.push(bend.collect());
                continue;
            }
            if self.ys.entries[j].bend.is_empty() {
                let (image, y) = (self.home.clone(), self.ys.entries[j].image.clone());
                self.ys.entries[j].bend = self.gradient(&image, &y)?.in_y;
            }
            of_y.push(self.ys.entries[j].bend.clone());
        }
        Ok([of_x, of_y])
    }

    /// The quadratic function whose gradients are those of `f` here and change as differences say.
    fn model(&mut self, is_local: bool) -> Result<SaddleQp> {
        let [mut of_x, mut of_y] = self.differences(is_local)?;
        // away from the first, which makes no difference on the simplex: what cancels is zero exactly
        let first = of_x[0].clone();
        of_x.iter_mut().for_each(|d| axpy(-1.0, &first, d));
        let first = of_y[0].clone();
        of_y.iter_mut().for_each(|d| axpy(-1.0, &first, d));
        let (xs, ys, at) = (&self.xs.entries, &self.ys.entries, &self.now);
        let image_dim = at.image.len();
        let (k, l) = (xs.len(), ys.len());
        let mut coupling = vec![0.0; k * l];
        for (row, d) in coupling.chunks_exact_mut(l).zip(&of_x) {
            let in_y = &d[image_dim..];
            row.iter_mut().zip(ys).for_each(|(c, y)| *c = dot(in_y, &y.image));
        }
        let form = |ds: &[Vec<f64>], atoms: &[super::atoms::Entry], dim: usize, sign: f64| {
            let size = ds.iter().flat_map(|d| &d[..dim]).fold(0.0f64, |m, d| m.max(d.abs()));
            if size == 0.0 {
                return Vec::new();
            }
            let n = ds.len();
            let raw: Vec<f64> = atoms
                .iter()
                .flat_map(|atom| ds.iter().map(|d| sign * dot(&d[..dim], &atom.image)))
                .collect();
            // relative to the first atom on both sides, and symmetric
            let at = |i: usize, j: usize| raw[i * n + j] - raw[j];
            (0..n * n).map(|ij| 0.5 * (at(ij / n, ij % n) + at(ij % n, ij / n))).collect()
        };
        let a_form = form(&of_x, xs, image_dim, 1.0);
        let c_form = form(&of_y, ys, at.y.len(), -1.0);
        let mut qp = SaddleQp { a_form, coupling, c_form, a: vec![0.0; k], b: vec![0.0; l] };
        // so that its slopes are those of f at the present weights
        let (in_w, in_v) = qp.slopes(&at.w, &at.v);
        qp.a = at.slopes.0.iter().zip(&in_w).map(|(f, q)| f - q).collect();
        qp.b = at.slopes.1.iter().zip(&in_v).map(|(f, q)| f - q).collect();
        Ok(qp)
    }

    /// The saddle point over the atoms, to a gap of `wanted` if that can be reached.
    fn restrict(&mut self, wanted: f64) -> Result<()> {
        let (w, v) = (self.xs.weights(), self.ys.weights());
        self.now = self.look(w, v)?;
        for _ in 0..MOST_STEPS {
            let gap = self.now.gap;
            if gap <= wanted {
                break;
            }
            let is_local = self.is_curved;
            let qp = self.model(is_local)?;
            let (w, v) = qp.solve(0.1 * wanted, self.oracles.watch())?;
            let predicted = qp.gap(&w, &v);
            let mut next = self.look(w, v)?;
            // where the model says the same, it is not f that bends
            if next.gap > 2.0 * predicted + wanted && next.gap > 0.5 * gap {
                if !is_local {
                    self.is_curved = true;
                    if next.gap < gap {
                        self.now = next;
                    }
                    continue;
                }
                let (to_w, to_v) = (next.w.clone(), next.v.clone());
                let toward = |from: &[f64], to: &[f64], t: f64| -> Vec<f64> {
                    from.iter().zip(to).map(|(a, b)| a + t * (b - a)).collect()
                };
                let mut t = 0.5;
                for _ in 0..MOST_HALVINGS {
                    if next.gap <= (1.0 - 0.1 * t) * gap {
                        break;
                    }
                    let (w, v) = (toward(&self.now.w, &to_w, t), toward(&self.now.v, &to_v, t));
                    next = self.look(w, v)?;
                    t *= 0.5;
                }
            }
            if !(next.gap < gap) {
                break; // rounding leaves nothing to be gained
            }
            self.now = next;
        }
        self.xs.set_weights(&self.now.w);
        self.ys.set_weights(&self.now.v);
        Ok(())
    }

    /// Asks the oracle of this block; returns its part of the gap.
    fn ask_block(&mut self, block: Block) -> Result<(LinearMin, f64)> {
        let Self { oracles, xs, ys, now, .. } = self;
        match block {
            Block::X => {
                let minimum = xs.ask(oracles, &now.gradient.in_image)?;
                Ok((minimum, dot(&now.gradient.in_image, &now.image) - minimum.lower))
            }
            Block::Y => {
                let slope: Vec<f64> = now.gradient.in_y.iter().map(|g| -g).collect();
                let minimum = ys.ask(oracles, &slope)?;
                Ok((minimum, dot(&slope, &now.y) - minimum.lower))
            }
        }
    }

    fn grow(&mut self, block: Block) -> Result<bool> {
        match block {
            Block::X => self.xs.grow(&mut self.oracles),
            Block::Y => self.ys.grow(&mut self.oracles),
        }
    }

    /// Asks both oracles at the present pair, unless that has been done.
    fn ask(&mut self) -> Result<()> {
        if self.is_asked {
            return Ok(());
        }
        let (w, v) = (self.xs.weights(), self.ys.weights());
        self.now = self.look(w, v)?;
        let (in_x, _) = self.ask_block(Block::X)?;
        let (in_y, _) = self.ask_block(Block::Y)?;
        let Self { oracles, xs, ys, now, best, room, .. } = self;
        room.image.copy_from_slice(&now.image);
        oracles.prepare(room);
        let value = oracles.value(room, &now.y)?;
        let rounding = oracles.rounding(room, &now.y, value);
        let slope = &now.gradient.in_image;
        let gain_x = xs.gain(oracles, (slope, &now.image), &in_x, rounding.grad_x);
        let descent: Vec<f64> = now.gradient.in_y.iter().map(|g| -g).collect();
        let gain_y = ys.gain(oracles, (&descent, &now.y), &in_y, rounding.grad_y);
        let [below, above] = charges(oracles, &rounding, value, (xs.len(), xs.scale(slope)));
        let sums = 4.0 * f64::EPSILON * (gain_x.gap + gain_y.gap);
        let bounds = [value - gain_x.gap - below - sums, value + gain_y.gap + above + sums];
        best.charged = gain_x.rounding + gain_y.rounding + below + above + 2.0 * sums;
        best.take(oracles, bounds, xs, &now.image, &now.y)?;
        self.is_asked = true;
        Ok(())
    }

    /// The block that is cheap to ask, where the other is not.
    fn cheap(&self) -> Option<Block> {
        match (self.oracles.has_prox(Block::X), self.oracles.has_prox(Block::Y)) {
            (true, false) => Some(Block::X),
            (false, true) => Some(Block::Y),
            _ => None,
        }
    }
}

impl Algorithm for BothBlocks<'_> {
    fn name(&self) -> &'static str {
        CorrectiveSettings::ABOUT.name
    }

    fn step(&mut self) -> Result<Step> {
        self.ask()?;
        let gap = self.best.gap();
        let size = self.best.upper.abs().max(self.best.lower.abs());
        let wanted = (self.share * gap).max(FLOOR * size);
        let is_new = self.grow(Block::X)? | self.grow(Block::Y)?;
        self.is_asked = false;
        self.restrict(wanted)?;
        while let Some(block) = self.cheap() {
            let (_, part) = self.ask_block(block)?;
            if part <= (CHEAP_SHARE * gap).max(FLOOR * size) || !self.grow(block)? {
                break;
            }
            self.restrict(wanted)?;
        }
        self.ask()?;
        self.k += 1;
        let is_stuck = (!is_new && !(self.best.gap() < gap)) || self.best.is_at_floor(gap);
        Ok(if is_stuck { Step::NoProgress } else { Step::Advanced })
    }

    fn evaluate(&mut self) -> Result<()> {
        self.ask()?;
        self.best.certify(&mut self.oracles, &mut self.room)
    }

    fn certificate(&self) -> &Certificate {
        &self.best.certificate
    }

    fn best(&self) -> (&[f64], &[f64]) {
        (&self.best.x, &self.best.y)
    }

    fn current(&self) -> (&[f64], &[f64]) {
        (&self.best.x, &self.now.y)
    }

    fn iterations(&self) -> u64 {
        self.k
    }

    fn facts(&self) -> Vec<Fact> {
        let of = |name, atoms: &Atoms| Fact { name, value: atoms.len() as f64 };
        vec![of("atoms_x", &self.xs), of("atoms_y", &self.ys)]
    }

    fn ledger(&self) -> &Ledger {
        &self.oracles.ledger
    }

    fn watch(&self) -> &Watch {
        self.oracles.watch()
    }

    fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.nested("oracles", |archive| self.oracles.state(archive))?;
        archive.count("k", &mut self.k)?;
        archive.nested("xs", |archive| self.xs.atoms_state(archive))?;
        archive.nested("ys", |archive| self.ys.atoms_state(archive))?;
        archive.numbers("y", &mut self.now.y)?;
        archive.flag("is_curved", &mut self.is_curved)?;
        archive.flag("is_asked", &mut self.is_asked)?;
        archive.nested("best", |archive| self.best.state(archive))
    }
}
