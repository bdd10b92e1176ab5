//! SP-AFW: SP-FW with away steps on a product of polytopes (Gidel, Jebara, Lacoste-Julien 2017, Algorithm 3).
//!
//! Each block keeps its iterate as explicit weights over vertices. An iteration moves *both* blocks
//! towards the vertices `s` of their linear minimisations, or both away from the active vertices `v`
//! with the largest `<F, v>`, whichever is steeper; the longest step away is the one at which the
//! first block loses its vertex.
//!
//! # Why it is linear where it is
//!
//! In the notation of [`SpfwRate`]'s file, with `delta` the pyramidal width: block by block
//! `<F_b, v_b - s_b> >= delta_b <F_b, e_b>^+/|e_b|` (Lacoste-Julien and Jaggi 2015, Theorem 3; the left side is
//! never negative, so it holds also where the coupling makes `<F_b, e_b> < 0`). Summed, with
//! `<F, e> >= h + E`, the pairwise slope is `g_pair = <F, v - s> >= delta_mu sqrt(2 h)`, and the coupling costs at
//! most `gamma q g_pair`. The chosen direction has slope `g >= g_pair/2` and `|d_b| <= D_b`, so
//!
//! ```text
//! h+ <= h - gamma (g - q g_pair) + gamma^2 C
//! ```
//!
//! We take the minimiser `gamma = (g - q g_pair)/(2 C)` of that bound, cut at the longest step; it is at least
//! `nu g_pair/(2 C)` with the paper's `nu = 1/2 - q`, so a step that is not cut by a drop has
//! `h+ <= (1 - rho) h` with the same `rho = nu^2 delta_mu^2/(2 C)`, and a drop does not increase `h`. A drop removes
//! a vertex from a block, a step towards `s` adds at most one to each: at least a third of all steps
//! are no drops.

use super::spfw::{Geometry, Look, SpfwRate};
use crate::certificate::{Bounds, Certificate};
use crate::domain::Domain;
use crate::error::{Block, Result};
use crate::linalg::{axpby, axpy, dot_difference, norm_squared};
use crate::oracles::{Ledger, Oracles};
use crate::problem::PointX;
use crate::run::{Algorithm, Step};
use crate::solver::{About, Incumbent, MethodSettings, Need, Start};
use crate::state::{Archive, Fingerprint};
use crate::watch::Watch;

/// The step of SP-AFW.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum SpAfwStep {
    /// For use where no rate is known: `g/(beta |d|^2)`, with `beta` learnt from the operator.
    ///
    /// Lengths are in diameters, `|d|^2 = |d_x|^2/D_X^2 + |d_y|^2/D_Y^2` (so units do not matter), and `beta` is
    /// the largest recent `|dF|^2/<dF, dz>` (dual norm) over consecutive iterates: the inverse of the
    /// cocoercivity of `F`, which is `L^2/mu` at worst. `1/beta` is half of the longest step for which
    /// `z - F(z)/beta` is known to stray no further from the saddle point; that the same measure suits a
    /// step along `d` is a rule of thumb without a proof. It costs no oracle call, and in our tests it is
    /// linear wherever `F` is strongly monotone, coupling or no coupling.
    #[default]
    Adaptive,
    /// `2/(k+2)`.
    Open,
    /// `(g - q g_pair)/(2 C)`, at least `nu g_pair/(2 C)`: linear, by the proof in this file.
    Gap(SpfwRate),
}

/// Settings of SP-AFW.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct SpAfwSettings {
    /// The step; adaptive where no rate is known.
    pub step: SpAfwStep,
}

impl SpAfwSettings {
    /// The step.
    #[must_use]
    pub fn step(mut self, step: SpAfwStep) -> Self {
        self.step = step;
        self
    }
}

impl MethodSettings for SpAfwSettings {
    const ABOUT: About = About::new("spafw", "SP-FW with away steps, for polytopes")
        .needs(&[Need::Polytopes])
        .certifies_by_fw_gap();

    fn start<'a>(&self, start: Start<'a, '_>) -> Result<Box<dyn Algorithm + 'a>> {
        Ok(Box::new(SpAfw::new(start, self)?))
    }

    fn fingerprint(&self, print: &mut Fingerprint) {
        let SpAfwSettings { step } = self;
        print.note("step", format!("{step:?}"));
    }

    fn check(&self) -> Result<()> {
        match self.step {
            SpAfwStep::Gap(rate) => rate.check_geometry(Geometry::Polytope),
            SpAfwStep::Adaptive | SpAfwStep::Open => Ok(()),
        }
    }
}

/// What of the last estimate of `beta` is kept when a smaller one is seen.
const KEEP_BETA: f64 = 0.9;

/// An iterate is rebuilt from its vertices when its rounding errors may have grown to this many units:
/// a step away multiplies them by `1 + gamma`.
const ROUNDING_UNITS: f64 = 1e3;

/// A vertex, its image (empty for y) and its weight.
struct Atom {
    weight: f64,
    point: Vec<f64>,
    image: Vec<f64>,
}

/// A convex combination of vertices. Atoms beyond `live` are memory for later ones.
struct ActiveSet {
    atoms: Vec<Atom>,
    live: usize,
    rounding: f64,
}

impl ActiveSet {
    fn at_vertex(point: &[f64], image: &[f64]) -> Self {
        let atom = Atom { weight: 1.0, point: point.to_vec(), image: image.to_vec() };
        ActiveSet { atoms: vec![atom], live: 1, rounding: 0.0 }
    }

    /// Only atoms in use: the others are memory.
    fn state(&mut self, archive: &mut Archive<'_>, dim: usize, image_dim: usize) -> Result<()> {
        self.atoms.truncate(self.live);
        let room = || Atom { weight: 0.0, point: vec![0.0; dim], image: vec![0.0; image_dim] };
        archive.list("atoms", &mut self.atoms, room, |archive, atom| {
            archive.number("weight", &mut atom.weight)?;
            archive.numbers("point", &mut atom.point)?;
            if image_dim == 0 {
                return Ok(());
            }
            archive.numbers("image", &mut atom.image)
        })?;
        self.live = self.atoms.len();
        if self.live == 0 {
            return Err(archive.misfit("atoms", "is empty, but a point has some"));
        }
        archive.number("rounding", &mut self.rounding)
    }

    fn live(&self) -> &[Atom] {
        &self.atoms[..self.live]
    }

    /// The active vertex `v` with the largest `<g, v - at>`, and that slope.
    fn worst(&self, g: &[f64], at: &[f64]) -> (usize, f64) {
        let mut worst = (0, f64::NEG_INFINITY);
        for (i, atom) in self.live().iter().enumerate() {
            let slope = dot_difference(g, &atom.point, at).0;
            if slope > worst.1 {
                worst = (i, slope);
            }
        }
        worst
    }

    fn others(&self, i: usize) -> f64 {
        let live = self.live().iter().enumerate();
        live.filter(|(j, _)| *j != i).map(|(_, atom)| atom.weight).sum()
    }

    /// The step at which a move away from atom `i` takes its last weight.
    fn longest_away(&self, i: usize) -> f64 {
        if self.live == 1 { f64::INFINITY } else { self.atoms[i].weight / self.others(i) }
    }

    fn find(&self, point: &[f64]) -> Option<usize> {
        self.live().iter().position(|atom| atom.point == point)
    }

    /// Weights of `(1 - gamma) z + gamma p`.
    fn move_to(&mut self, gamma: f64, point: &[f64], image: &[f64]) {
        self.rounding = self.rounding * (1.0 - gamma) + 1.0;
        let known = self.find(point);
        for atom in &mut self.atoms[..self.live] {
            atom.weight *= 1.0 - gamma;
        }
        match known {
            Some(i) => self.atoms[i].weight += gamma,
            None => self.insert(gamma, point, image),
        }
        self.drop_empty();
    }

    fn insert(&mut self, weight: f64, point: &[f64], image: &[f64]) {
        if let Some(atom) = self.atoms.get_mut(self.live) {
            atom.weight = weight;
            atom.point.copy_from_slice(point);
            atom.image.copy_from_slice(image);
        } else {
            self.atoms.push(Atom { weight, point: point.to_vec(), image: image.to_vec() });
        }
        self.live += 1;
    }

    /// Weights of `(1 + gamma) z - gamma v_i`; at the longest step the atom goes, whatever rounding says.
    fn move_away(&mut self, gamma: f64, i: usize) {
        if self.live == 1 {
            return; // the direction is zero
        }
        self.rounding = self.rounding * (1.0 + gamma) + 1.0 + 2.0 * gamma;
        let (others, longest) = (self.others(i), self.longest_away(i));
        let left = self.atoms[i].weight - gamma * others;
        for atom in &mut self.atoms[..self.live] {
            atom.weight *= 1.0 + gamma;
        }
        self.atoms[i].weight = if gamma >= longest { 0.0 } else { left };
        self.drop_empty();
    }

    fn drop_empty(&mut self) {
        let mut i = 0;
        while i < self.live {
            if self.atoms[i].weight > 0.0 {
                i += 1;
            } else {
                self.live -= 1;
                self.atoms.swap(i, self.live);
            }
        }
    }

    fn needs_rebuild(&self) -> bool {
        self.rounding > ROUNDING_UNITS
    }

    /// Makes the weights sum to one and writes the point (and its image) anew.
    fn rebuild(&mut self, point: &mut [f64], image: &mut [f64]) {
        let total: f64 = self.live().iter().map(|atom| atom.weight).sum();
        point.fill(0.0);
        image.fill(0.0);
        for atom in &mut self.atoms[..self.live] {
            atom.weight /= total;
            axpy(atom.weight, &atom.point, point);
            axpy(atom.weight, &atom.image, image);
        }
        self.rounding = 0.0;
    }
}

/// What [`SpAfwStep::Adaptive`] has learnt.
struct Learnt {
    beta: f64,
    moved: bool,
    /// `1/D^2` of each block, 0 where the block is a point.
    weight: (f64, f64),
    /// `F` at the last pair, as `(gx, gy)`.
    last: (Vec<f64>, Vec<f64>),
    /// The last direction and step.
    d: (Vec<f64>, Vec<f64>),
    gamma: f64,
}

impl Learnt {
    fn new(x_set: &dyn Domain, y_set: &dyn Domain) -> Self {
        let weight = |d: f64| if d > 0.0 { 1.0 / (d * d) } else { 0.0 };
        let (nx, ny) = (x_set.dim(), y_set.dim());
        Learnt {
            beta: 0.0,
            moved: false,
            weight: (weight(x_set.diameter()), weight(y_set.diameter())),
            last: (vec![0.0; nx], vec![0.0; ny]),
            d: (vec![0.0; nx], vec![0.0; ny]),
            gamma: 0.0,
        }
    }

    /// The weights follow from the sets.
    fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.number("beta", &mut self.beta)?;
        archive.flag("moved", &mut self.moved)?;
        archive.numbers("last_x", &mut self.last.0)?;
        archive.numbers("last_y", &mut self.last.1)?;
        archive.numbers("d_x", &mut self.d.0)?;
        archive.numbers("d_y", &mut self.d.1)?;
        archive.number("gamma", &mut self.gamma)
    }

    /// Compares `F` with that before the last move.
    fn learn(&mut self, look: &Look) {
        if std::mem::take(&mut self.moved) {
            let (mut square, mut product) = (0.0, 0.0);
            for (now, last, d, weight) in [
                (&look.gx, &mut self.last.0, &self.d.0, self.weight.0),
                (&look.gy, &mut self.last.1, &self.d.1, self.weight.1),
            ] {
                axpby(1.0, now, -1.0, last);
                if weight > 0.0 {
                    square += norm_squared(last) / weight;
                    product += self.gamma * crate::linalg::dot(last, d);
                }
            }
            let seen = square / product;
            if seen.is_finite() && seen > 0.0 {
                self.beta = seen.max(KEEP_BETA * self.beta);
            }
        }
        self.last.0.copy_from_slice(&look.gx);
        self.last.1.copy_from_slice(&look.gy);
    }

    /// The step along `self.d` with slope `g`.
    fn step(&self, g: f64) -> f64 {
        let length =
            self.weight.0 * norm_squared(&self.d.0) + self.weight.1 * norm_squared(&self.d.1);
        if self.beta > 0.0 && length > 0.0 { g / (self.beta * length) } else { 1.0 }
    }
}

/// SP-AFW, running.
pub struct SpAfw<'a> {
    oracles: Oracles<'a>,
    step: SpAfwStep,
    k: u64,
    drops: u64,
    x: PointX,
    y: Vec<f64>,
    active_x: ActiveSet,
    active_y: ActiveSet,
    look: Look,
    /// The image of `look.px`.
    p_image: Vec<f64>,
    learnt: Learnt,
    first_gap: Option<f64>,
    best: Incumbent,
}

impl<'a> SpAfw<'a> {
    /// SP-AFW at its start: in each block the start point where it is a vertex, else the vertex that
    /// linear minimisation gives there (weights over vertices must exist from the start).
    ///
    /// # Errors
    /// Dimensions that disagree, a start point outside its set, a set that is no polytope, a rate
    /// meant for SP-FW.
    pub fn new(start: Start<'a, '_>, settings: &SpAfwSettings) -> Result<Self> {
        settings.check()?;
        let mut oracles = start.oracles(SpAfwSettings::ABOUT.needs)?;
        let (mut x, mut y) = start.points(&mut oracles)?;
        let mut look = Look::new(x.x.len(), y.len());
        let mut best = Incumbent::new(&x.x, &y);
        let (vertex_x, vertex_y) = (is_vertex(start.x_set, &x.x)?, is_vertex(start.y_set, &y)?);
        if !(vertex_x && vertex_y) {
            look.at(&mut oracles, &x, &y)?;
            look.compare(&mut oracles, &x, &y, &mut best.history)?;
            look.forget();
            if !vertex_x {
                x.x.copy_from_slice(&look.px);
                oracles.image(&x.x, &mut x.image)?;
                oracles.prepare(&mut x);
            }
            if !vertex_y {
                y.copy_from_slice(&look.py);
            }
        }
        Ok(SpAfw {
            step: settings.step,
            k: 0,
            drops: 0,
            active_x: ActiveSet::at_vertex(&x.x, &x.image),
            active_y: ActiveSet::at_vertex(&y, &[]),
            look,
            p_image: vec![0.0; x.image.len()],
            learnt: Learnt::new(start.x_set, start.y_set),
            first_gap: None,
            best: best.at(&x.x, &y),
            x,
            y,
            oracles,
        })
    }

    /// Weights and vertices of which a block of the current iterate is made.
    pub fn active(&self, block: Block) -> impl Iterator<Item = (f64, &[f64])> {
        let set = match block {
            Block::X => &self.active_x,
            Block::Y => &self.active_y,
        };
        set.live().iter().map(|atom| (atom.weight, &*atom.point))
    }

    /// Steps so far that were cut because a vertex lost its last weight.
    #[must_use]
    pub fn drops(&self) -> u64 {
        self.drops
    }

    fn move_to(&mut self, gamma: f64) {
        let Look { px, py, .. } = &self.look;
        axpby(gamma, px, 1.0 - gamma, &mut self.x.x);
        axpby(gamma, &self.p_image, 1.0 - gamma, &mut self.x.image);
        axpby(gamma, py, 1.0 - gamma, &mut self.y);
        self.active_x.move_to(gamma, px, &self.p_image);
        self.active_y.move_to(gamma, py, &[]);
    }

    fn move_away(&mut self, gamma: f64, vx: usize, vy: usize) {
        let (ax, ay) = (&self.active_x.atoms[vx], &self.active_y.atoms[vy]);
        if self.active_x.live > 1 {
            axpby(-gamma, &ax.point, 1.0 + gamma, &mut self.x.x);
            axpby(-gamma, &ax.image, 1.0 + gamma, &mut self.x.image);
        }
        if self.active_y.live > 1 {
            axpby(-gamma, &ay.point, 1.0 + gamma, &mut self.y);
        }
        self.active_x.move_away(gamma, vx);
        self.active_y.move_away(gamma, vy);
    }
}

/// Whether a point is a vertex: the smallest face that contains it has no other.
fn is_vertex(set: &dyn Domain, point: &[f64]) -> Result<bool> {
    let mut vertex = vec![0.0; point.len()];
    set.oracle().away(&vec![0.0; point.len()], point, &mut vertex)?;
    Ok(vertex == point)
}

impl Algorithm for SpAfw<'_> {
    fn name(&self) -> &'static str {
        SpAfwSettings::ABOUT.name
    }

    fn step(&mut self) -> Result<Step> {
        // s = LO(F(z)), v the worst active vertex; d = s - z or z - v, the steeper
        self.look.at(&mut self.oracles, &self.x, &self.y)?;
        let (vx, slope_vx) = self.active_x.worst(&self.look.gx, &self.x.x);
        let (vy, slope_vy) = self.active_y.worst(&self.look.gy, &self.y);
        let (towards, away) = (self.look.slope(), slope_vx + slope_vy);
        let gaps = self.look.gaps();
        self.first_gap.get_or_insert(gaps.0 + gaps.1);
        let is_away = away > towards;
        let (g, g_pair) = (towards.max(away), towards + away);
        if !(towards > 0.0) {
            return Ok(Step::NoProgress);
        }
        let longest = if is_away {
            self.active_x.longest_away(vx).min(self.active_y.longest_away(vy))
        } else {
            self.oracles.image(&self.look.px, &mut self.p_image)?;
            1.0
        };

        let wish = match self.step {
            SpAfwStep::Open => 2.0 / (self.k as f64 + 2.0),
            SpAfwStep::Gap(rate) => (g - rate.q * g_pair) / (2.0 * rate.c),
            SpAfwStep::Adaptive => {
                self.learnt.learn(&self.look);
                let (dx, dy) = (&mut self.learnt.d.0, &mut self.learnt.d.1);
                dx.copy_from_slice(&self.x.x);
                dy.copy_from_slice(&self.y);
                if is_away {
                    axpy(-1.0, &self.active_x.atoms[vx].point, dx);
                    axpy(-1.0, &self.active_y.atoms[vy].point, dy);
                } else {
                    axpby(1.0, &self.look.px, -1.0, dx);
                    axpby(1.0, &self.look.py, -1.0, dy);
                }
                self.learnt.step(g)
            }
        };
        let gamma = wish.min(longest);
        (self.learnt.gamma, self.learnt.moved) = (gamma, true);

        if is_away {
            self.drops += u64::from(wish >= longest);
            self.move_away(gamma, vx, vy);
        } else {
            self.move_to(gamma);
        }
        if self.active_x.needs_rebuild() {
            self.active_x.rebuild(&mut self.x.x, &mut self.x.image);
        }
        if self.active_y.needs_rebuild() {
            self.active_y.rebuild(&mut self.y, &mut []);
        }
        self.oracles.repair(Block::X, &mut self.x.x);
        self.oracles.repair(Block::Y, &mut self.y);
        self.oracles.prepare(&mut self.x);
        // look at the new point here, where the method's time is counted: the next step needs it
        self.look.forget();
        self.look.at(&mut self.oracles, &self.x, &self.y)?;
        self.k += 1;
        Ok(Step::Advanced)
    }

    fn evaluate(&mut self) -> Result<()> {
        self.look.certify(&mut self.oracles, &self.x, &self.y, &mut self.best)
    }

    fn certificate(&self) -> &Certificate {
        &self.best.certificate
    }

    fn best(&self) -> (&[f64], &[f64]) {
        (&self.best.x, &self.best.y)
    }

    fn current(&self) -> (&[f64], &[f64]) {
        (&self.x.x, &self.y)
    }

    fn iterations(&self) -> u64 {
        self.k
    }

    fn bounds(&self) -> Bounds {
        match (self.step, self.first_gap) {
            (SpAfwStep::Gap(rate), Some(gap)) => Bounds {
                schedule: rate.bound(gap, self.k.saturating_sub(self.drops)),
                ..Bounds::NONE
            },
            _ => Bounds::NONE,
        }
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
        archive.count("drops", &mut self.drops)?;
        self.oracles.point_state(archive, "x", &mut self.x)?;
        archive.numbers("y", &mut self.y)?;
        let (dim_x, image_dim, dim_y) = (self.x.x.len(), self.x.image.len(), self.y.len());
        archive.nested("active_x", |archive| self.active_x.state(archive, dim_x, image_dim))?;
        archive.nested("active_y", |archive| self.active_y.state(archive, dim_y, 0))?;
        archive.nested("look", |archive| self.look.state(archive))?;
        if self.step == SpAfwStep::Adaptive {
            archive.nested("learnt", |archive| self.learnt.state(archive))?;
        }
        archive.maybe("first_gap", &mut self.first_gap)?;
        archive.nested("best", |archive| self.best.state(archive))
    }
}
