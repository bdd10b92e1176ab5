//! SP-AFW: SP-FW with away steps on a product of polytopes (Gidel, Jebara, Lacoste-Julien 2017, Algorithm 3).
//!
//! Each block keeps its iterate as explicit weights over vertices. An iteration moves *both* blocks
//! towards the vertices `s` of their linear minimisations, or both away from the active vertices `v`
//! with the largest `<F, v>`, whichever is steeper; the longest step away is the one at which the
//! first block loses its vertex. Vertices are kept as the linear minimisation returned them (see
//! [`ActiveSet`]), so that the method asks nothing else of a set: any polytope will do that is known by its linear
//! minimisation alone. SP-PFW ([`super::sppfw`]) is the same with pairwise steps.
//!
//! On a set that is no polytope, given by its linear minimisation alone, nearly every answer is a new vertex: the steps
//! stay right and so do certificates, but no linear rate is known, and the active set grows to its limit, from where on
//! the two lightest vertices are merged for each new one.
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
//! are no drops. (A merged vertex is none of the polytope's: beyond the limit of atoms the rate is not proved.)

use super::active_set::ActiveSet;
use super::adaptive_step::Learnt;
use super::spfw::{Geometry, Look, SpfwRate};
use super::sppfw::SpPfwSettings;
use crate::certificate::{Bounds, Certificate};
use crate::domain::{Atom, Domain};
use crate::error::{Block, Error, Result};
use crate::linalg::{axpby, axpy, dot_difference};
use crate::oracles::{Ledger, Oracles};
use crate::problem::PointX;
use crate::run::{Algorithm, Step};
use crate::solver::{About, Incumbent, MethodSettings, Need, Start};
use crate::state::{Archive, Fingerprint};
use crate::watch::Watch;

/// The step of SP-AFW and SP-PFW.
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
    /// Where `F` is not, as where `f` is linear in `x`, `beta` grows and the steps get short: to gaps of 1e-1 and 1e-2 of
    /// robust assignments (30 x 30, `mu` 10 and 1) SP-AFW took 10 to 30 times, SP-PFW 5 to 20 times the calls that it takes
    /// with [`Open`](Self::Open); on worst-case least squares it needs a third or less of them.
    #[default]
    Adaptive,
    /// `2/(k+2)`.
    Open,
    /// `(g - q g_pair)/(2 C)`, at least `nu g_pair/(2 C)`: linear, by the proofs in the files of the two methods, of
    /// which each has its own rate ([`SpfwRate::polytope`], [`SpfwRate::pairwise`]).
    Gap(SpfwRate),
}

impl SpAfwStep {
    /// Fails for a rate that belongs to another method.
    pub(super) fn check(&self, wanted: Geometry) -> Result<()> {
        match self {
            SpAfwStep::Gap(rate) => rate.check_geometry(wanted),
            SpAfwStep::Adaptive | SpAfwStep::Open => Ok(()),
        }
    }
}

/// Active vertices of a block, unless the settings say otherwise.
pub(super) const MOST_ATOMS: usize = 10_000;

/// Fails for active sets that cannot be.
pub(super) fn check_atoms(atoms: usize) -> Result<()> {
    if atoms < 2 {
        let why = format!("must be at least 2, got {atoms}");
        return Err(Error::Setting { name: "atoms", why });
    }
    Ok(())
}

/// Settings of SP-AFW.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SpAfwSettings {
    /// The step; adaptive where no rate is known.
    pub step: SpAfwStep,
    /// The most active vertices that are kept in a block. Where one more would exceed it, the two lightest are merged
    /// into one, which leaves the point where it is; the linear rate is then no longer proved.
    pub atoms: usize,
}

impl Default for SpAfwSettings {
    fn default() -> Self {
        SpAfwSettings { step: SpAfwStep::default(), atoms: MOST_ATOMS }
    }
}

impl SpAfwSettings {
    /// The step.
    #[must_use]
    pub fn step(mut self, step: SpAfwStep) -> Self {
        self.step = step;
        self
    }

    /// The most active vertices of a block.
    #[must_use]
    pub fn atoms(mut self, limit: usize) -> Self {
        self.atoms = limit;
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
        let SpAfwSettings { step, atoms } = self;
        print.note("step", format!("{step:?}"));
        print.note("atoms", atoms);
    }

    fn check(&self) -> Result<()> {
        check_atoms(self.atoms)?;
        self.step.check(Geometry::Polytope)
    }
}

/// Which directions an iteration chooses from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Directions {
    /// The steeper of [`Direction::Towards`] and [`Direction::Away`].
    Away,
    /// Always [`Direction::Pairwise`].
    Pairwise,
}

/// Where an iteration moves, with `s` the answers of the linear minimisations and `v` the worst active vertices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    /// `s - z`.
    Towards,
    /// `z - v`.
    Away,
    /// `s - v`.
    Pairwise,
}

/// One block: its iterate as weights over vertices, and the vertices between which it moves.
struct Side {
    active: ActiveSet,
    /// The worst active vertex: which one it is, and where.
    worst: usize,
    v: Vec<f64>,
    /// Which active vertex the answer `s` is, if it is one.
    known: Option<usize>,
}

impl Side {
    fn new(point: &[f64], image: &[f64], atoms: usize) -> Self {
        Side {
            active: ActiveSet::at_vertex(point, image, atoms),
            worst: 0,
            v: vec![0.0; point.len()],
            known: None,
        }
    }

    /// Finds the worst active vertex `v`; returns `<g, v - z>`, which is not negative, whatever rounding says: a step is never taken
    /// against its direction.
    fn look(&mut self, g: &[f64], z: &[f64]) -> f64 {
        self.worst = self.active.worst(g);
        self.active.atom(self.worst).write(&mut self.v);
        dot_difference(g, &self.v, z).0.max(0.0)
    }

    /// The longest step.
    fn longest(&self, direction: Direction) -> f64 {
        match direction {
            Direction::Towards => 1.0,
            Direction::Away => self.active.longest_away(self.worst),
            Direction::Pairwise if self.known == Some(self.worst) => f64::INFINITY, // it stays
            Direction::Pairwise => self.active.weight(self.worst),
        }
    }

    /// Writes the direction.
    fn direction(&self, direction: Direction, s: &[f64], z: &[f64], d: &mut [f64]) {
        match direction {
            Direction::Towards => {
                d.copy_from_slice(z);
                axpby(1.0, s, -1.0, d);
            }
            Direction::Away => {
                d.copy_from_slice(z);
                axpy(-1.0, &self.v, d);
            }
            Direction::Pairwise => {
                d.copy_from_slice(s);
                axpy(-1.0, &self.v, d);
            }
        }
    }

    /// Moves the point, its image and its weights; images are empty where they are not kept.
    fn move_along(
        &mut self,
        direction: Direction,
        gamma: f64,
        (s, s_image): (&[f64], &[f64]),
        (z, z_image): (&mut [f64], &mut [f64]),
    ) {
        let active = &mut self.active;
        match direction {
            Direction::Towards => {
                axpby(gamma, s, 1.0 - gamma, z);
                axpby(gamma, s_image, 1.0 - gamma, z_image);
                active.move_to(gamma, self.known, s_image);
            }
            Direction::Away => {
                if active.len() > 1 {
                    axpby(-gamma, &self.v, 1.0 + gamma, z);
                    axpby(-gamma, active.image(self.worst), 1.0 + gamma, z_image);
                }
                active.move_away(gamma, self.worst);
            }
            Direction::Pairwise => {
                if self.known != Some(self.worst) {
                    axpy(gamma, s, z);
                    axpy(-gamma, &self.v, z);
                    axpy(gamma, s_image, z_image);
                    axpy(-gamma, active.image(self.worst), z_image);
                }
                active.move_between(gamma, self.worst, self.known, s_image);
            }
        }
        if active.needs_rebuild() {
            active.rebuild(z, z_image);
        }
    }
}

/// SP-AFW or SP-PFW, running.
pub struct SpAfw<'a> {
    oracles: Oracles<'a>,
    name: &'static str,
    directions: Directions,
    step: SpAfwStep,
    k: u64,
    drops: u64,
    x: PointX,
    y: Vec<f64>,
    in_x: Side,
    in_y: Side,
    look: Look,
    /// The image of `look.px`; empty where the problem has no operator, and images are the points.
    p_image: Vec<f64>,
    learnt: Learnt,
    first_gap: Option<f64>,
    best: Incumbent,
}

impl<'a> SpAfw<'a> {
    /// SP-AFW at its start: in each block the start point where it is known to be a vertex, else the vertex that
    /// linear minimisation gives there (weights over vertices must exist from the start).
    ///
    /// # Errors
    /// Dimensions that disagree, a start point outside its set, a set that is known to be no polytope, a rate
    /// meant for another method.
    pub fn new(start: Start<'a, '_>, settings: &SpAfwSettings) -> Result<Self> {
        settings.check()?;
        let SpAfwSettings { step, atoms } = *settings;
        Self::at(start, SpAfwSettings::ABOUT, Directions::Away, step, atoms)
    }

    /// SP-PFW at the same start.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn pairwise(start: Start<'a, '_>, settings: &SpPfwSettings) -> Result<Self> {
        settings.check()?;
        let SpPfwSettings { step, atoms } = *settings;
        Self::at(start, SpPfwSettings::ABOUT, Directions::Pairwise, step, atoms)
    }

    fn at(
        start: Start<'a, '_>,
        about: About,
        directions: Directions,
        step: SpAfwStep,
        atoms: usize,
    ) -> Result<Self> {
        let mut oracles = start.oracles(about.needs)?;
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
        let image: &[f64] = if oracles.has_operator() { &x.image } else { &[] };
        Ok(SpAfw {
            name: about.name,
            directions,
            step,
            k: 0,
            drops: 0,
            in_x: Side::new(&x.x, image, atoms),
            in_y: Side::new(&y, &[], atoms),
            look,
            p_image: vec![0.0; image.len()],
            learnt: Learnt::new(start.x_set, start.y_set),
            first_gap: None,
            best: best.at(&x.x, &y),
            x,
            y,
            oracles,
        })
    }

    /// Weights and vertices of which a block of the current iterate is made.
    pub fn active(&self, block: Block) -> impl Iterator<Item = (f64, &Atom)> {
        match block {
            Block::X => self.in_x.active.iter(),
            Block::Y => self.in_y.active.iter(),
        }
    }

    /// Steps so far that were cut because a vertex lost its last weight.
    #[must_use]
    pub fn drops(&self) -> u64 {
        self.drops
    }

    /// Finds the answers among the active vertices, and the image of the one in X.
    fn recognise(&mut self) -> Result<()> {
        self.in_y.known = self.in_y.active.find(&self.look.py);
        self.in_x.known = self.in_x.active.find(&self.look.px);
        match self.in_x.known {
            Some(i) => self.p_image.copy_from_slice(self.in_x.active.image(i)),
            None if self.p_image.is_empty() => {}
            None => self.oracles.image(&self.look.px, &mut self.p_image)?,
        }
        Ok(())
    }

    fn move_along(&mut self, direction: Direction, gamma: f64) {
        let (x, image_is_x) = (&mut self.x, self.p_image.is_empty());
        let image: &mut [f64] = if image_is_x { &mut [] } else { &mut x.image };
        let s = (&*self.look.px, &*self.p_image);
        self.in_x.move_along(direction, gamma, s, (&mut x.x, image));
        self.oracles.repair(Block::X, &mut x.x);
        if image_is_x {
            x.image.copy_from_slice(&x.x);
        }
        self.oracles.prepare(x);
        self.in_y.move_along(direction, gamma, (&self.look.py, &[]), (&mut self.y, &mut []));
        self.oracles.repair(Block::Y, &mut self.y);
    }
}

/// Whether a point is known to be a vertex: the smallest face that contains it has no other. Nothing is known of a set
/// without an away oracle.
fn is_vertex(set: &dyn Domain, point: &[f64]) -> Result<bool> {
    let mut oracle = set.oracle();
    if !oracle.has_away() {
        return Ok(false);
    }
    let mut vertex = vec![0.0; point.len()];
    oracle.away(&vec![0.0; point.len()], point, &mut vertex)?;
    Ok(vertex == point)
}

impl Algorithm for SpAfw<'_> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn step(&mut self) -> Result<Step> {
        // s = LO(F(z)), v the worst active vertex; d = s - z or z - v, the steeper, or always s - v
        self.look.at(&mut self.oracles, &self.x, &self.y)?;
        let towards = self.look.slope();
        let away =
            self.in_x.look(&self.look.gx, &self.x.x) + self.in_y.look(&self.look.gy, &self.y);
        let gaps = self.look.gaps();
        self.first_gap.get_or_insert(gaps.0 + gaps.1);
        if !(towards > 0.0) {
            return Ok(Step::NoProgress);
        }
        let g_pair = towards + away;
        let (direction, g) = match self.directions {
            Directions::Pairwise => (Direction::Pairwise, g_pair),
            Directions::Away if away > towards => (Direction::Away, away),
            Directions::Away => (Direction::Towards, towards),
        };
        if direction != Direction::Away {
            self.recognise()?;
        }
        let longest = self.in_x.longest(direction).min(self.in_y.longest(direction));
        if longest.is_infinite() {
            return Ok(Step::NoProgress); // the direction is zero
        }

        let wish = match self.step {
            SpAfwStep::Open => 2.0 / (self.k as f64 + 2.0),
            SpAfwStep::Gap(rate) => (g - rate.q * g_pair) / (2.0 * rate.c),
            SpAfwStep::Adaptive => {
                self.learnt.learn(&self.look);
                let (dx, dy) = (&mut self.learnt.d.0, &mut self.learnt.d.1);
                self.in_x.direction(direction, &self.look.px, &self.x.x, dx);
                self.in_y.direction(direction, &self.look.py, &self.y, dy);
                self.learnt.step(g)
            }
        };
        let gamma = wish.min(longest);
        self.learnt.moves(gamma);
        self.drops += u64::from(direction != Direction::Towards && wish >= longest);
        self.move_along(direction, gamma);
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
        let (dim_x, image_dim, dim_y) = (self.x.x.len(), self.p_image.len(), self.y.len());
        archive.nested("active_x", |archive| self.in_x.active.state(archive, dim_x, image_dim))?;
        archive.nested("active_y", |archive| self.in_y.active.state(archive, dim_y, 0))?;
        archive.nested("look", |archive| self.look.state(archive))?;
        if self.step == SpAfwStep::Adaptive {
            archive.nested("learnt", |archive| self.learnt.state(archive))?;
        }
        archive.maybe("first_gap", &mut self.first_gap)?;
        archive.nested("best", |archive| self.best.state(archive))
    }
}
