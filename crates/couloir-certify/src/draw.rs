//! Random problems: near the origin and far from it, badly scaled, degenerate.

use crate::quadratic::Quadratic;
use crate::sets::Set;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Where the numbers of a problem lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// All numbers of about the size 1.
    Near,
    /// Sets or centres 10^3 to 10^9 times as far from the origin as they are wide.
    Far,
    /// Numbers from 1e-12 to 1e12.
    Scaled,
    /// No curvature in places, no coupling, single points, vast constants.
    Degenerate,
}

impl Place {
    /// All of them.
    pub const ALL: [Place; 4] = [Place::Near, Place::Far, Place::Scaled, Place::Degenerate];

    /// For tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Place::Near => "near the origin",
            Place::Far => "far from the origin",
            Place::Scaled => "badly scaled",
            Place::Degenerate => "degenerate",
        }
    }
}

/// How the library is given the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Form {
    /// As its own `QuadraticBilinear`.
    Library,
    /// As the mean of components, whose mean it is.
    Sum,
    /// As a user's closures, with constants.
    Closures,
    /// As a user's closures, without any.
    BareClosures,
    /// As a user's closures with a best response, as exact as a formula in `f64` is.
    Response,
    /// As a `MatrixGame`: the coupling and nothing else.
    Game,
}

impl Form {
    /// For tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Form::Library => "QuadraticBilinear",
            Form::Sum => "QuadraticSum",
            Form::Closures => "closures",
            Form::BareClosures => "closures without constants",
            Form::Response => "closures with a best response",
            Form::Game => "MatrixGame",
        }
    }

    /// Whether the library's problem promises bounds of its rounding.
    #[must_use]
    pub fn promises(self) -> bool {
        matches!(self, Form::Library | Form::Sum | Form::Game)
    }
}

/// A problem.
#[derive(Clone, Debug)]
pub struct Problem {
    /// Where its numbers lie.
    pub place: Place,
    /// How the library is given the function.
    pub form: Form,
    /// The set of `x`.
    pub x: Set,
    /// The set of `y`.
    pub y: Set,
    /// Which of the two sets the library is given by their linear minimisation alone.
    pub by_oracle: [bool; 2],
    /// The function.
    pub f: Quadratic,
}

/// Random numbers with the shapes that problems need.
pub struct Draw(Pcg64Mcg);

impl Draw {
    /// The numbers of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Draw(Pcg64Mcg::seed_from_u64(seed))
    }

    /// A number in `[-1, 1)`.
    pub fn unit(&mut self) -> f64 {
        self.0.random_range(-1.0..1.0)
    }

    /// `10^t` with `t` in `[-decades, decades)`.
    pub fn scale(&mut self, decades: f64) -> f64 {
        10f64.powf(decades * self.unit())
    }

    /// A number in `[0, 1)`.
    pub fn share(&mut self) -> f64 {
        self.0.random_range(0.0..1.0)
    }

    /// True with this probability.
    pub fn chance(&mut self, p: f64) -> bool {
        self.share() < p
    }

    /// A whole number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        self.0.random_range(0..n)
    }

    /// One of several.
    pub fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

/// Sizes of a block: its width and how far from the origin it lies.
#[derive(Clone, Copy)]
struct Block {
    width: f64,
    offset: f64,
}

fn draw_set(draw: &mut Draw, place: Place, block: Block) -> Set {
    let most = draw.one_of(&[1, 2, 3, 5, 8]);
    let dim = 1 + draw.below(most);
    let Block { width, offset } = block;
    // A box alone can lie away from the origin, so where that matters it is drawn more often.
    let boxes = if place == Place::Far { 0.55 } else { 0.25 };
    if draw.chance(boxes) {
        let (mut lower, mut upper) = (Vec::new(), Vec::new());
        let fixed = if place == Place::Degenerate { 0.2 } else { 0.0 };
        for _ in 0..dim {
            let middle = offset + if draw.chance(0.5) { 0.0 } else { width * draw.unit() };
            let own = width * (0.1 + 0.9 * draw.share());
            let low = middle - 0.5 * own;
            lower.push(low);
            upper.push(if draw.chance(fixed) { low } else { low.max(middle + 0.5 * own) });
        }
        return Set::Box { lower, upper };
    }
    match draw.below(10) {
        0..3 => Set::Simplex { dim, total: width },
        3..6 => Set::L1 { dim, radius: width },
        6..9 => Set::L2 { dim, radius: width },
        _ => Set::Nuclear { rows: 1 + draw.below(3), columns: 1 + draw.below(4), radius: width },
    }
}

/// A point about the middle of a set, or a centre as far from the origin as the block lies.
fn draw_centre(draw: &mut Draw, set: &Set, block: Block) -> Vec<f64> {
    let reach = draw.one_of(&[0.0, 0.3, 1.0, 3.0]);
    let entry = |draw: &mut Draw, i: usize| match set {
        Set::Box { lower, upper } => {
            0.5 * lower[i] + 0.5 * upper[i] + reach * (upper[i] - lower[i]) * draw.unit()
        }
        Set::Simplex { dim, total } => {
            block.offset + total / *dim as f64 + reach * total * draw.unit()
        }
        Set::L1 { radius, .. } | Set::L2 { radius, .. } | Set::Nuclear { radius, .. } => {
            block.offset + reach * radius * draw.unit()
        }
    };
    (0..set.dim()).map(|i| entry(draw, i)).collect()
}

/// The problem of a seed.
#[must_use]
pub fn draw_problem(draw: &mut Draw) -> Problem {
    let place = draw.one_of(&Place::ALL);
    let form = draw.one_of(&[
        Form::Library,
        Form::Library,
        Form::Sum,
        Form::Closures,
        Form::BareClosures,
        Form::Response,
    ]);
    let block = |draw: &mut Draw| {
        let width = match place {
            Place::Scaled => draw.scale(6.0),
            Place::Near => draw.scale(0.3),
            _ => draw.scale(1.0),
        };
        let far = match place {
            Place::Far if draw.chance(0.8) => 10f64.powf(3.0 + 6.0 * draw.share()),
            _ => 0.0,
        };
        Block { width, offset: far * width * draw.unit().signum() }
    };
    let (bx, by) = (block(draw), block(draw));
    let (x, y) = (draw_set(draw, place, bx), draw_set(draw, place, by));
    // the best response of a user is written down for boxes
    let form = match (form, &y) {
        (Form::Response, Set::Box { .. }) => Form::Response,
        (Form::Response, _) => Form::Library,
        (form, _) => form,
    };
    let (x0, y0) = (draw_centre(draw, &x, bx), draw_centre(draw, &y, by));

    // f in units of its own, entries in those of their blocks
    let unit = if place == Place::Scaled { draw.scale(6.0) } else { 1.0 };
    let spread = match place {
        Place::Near | Place::Far => draw.one_of(&[0.0, 0.3, 1.0]),
        Place::Scaled => draw.one_of(&[1.0, 3.0, 6.0]),
        Place::Degenerate => draw.one_of(&[0.0, 1.0, 4.0]),
    };
    let (n, m) = (x.dim(), y.dim());
    let (wx, wy) = (bx.width, by.width);
    let is_degenerate = place == Place::Degenerate;
    let flat = if is_degenerate { 0.5 } else { draw.one_of(&[0.0, 0.0, 0.3, 1.0]) };
    // on nuclear balls the truth is known for one curvature in all entries
    let curvature = |draw: &mut Draw, set: &Set, flat: f64, size: f64| -> Vec<f64> {
        let mut one = || if draw.chance(flat) { 0.0 } else { size * draw.scale(spread) };
        match set {
            Set::Nuclear { .. } => vec![one(); set.dim()],
            _ => (0..set.dim()).map(|_| one()).collect(),
        }
    };
    let hx = curvature(draw, &x, flat, unit / (wx * wx));
    // the library's own problems must be strongly concave in y; those of users may turn out not to be
    let flat_y = match form {
        Form::Closures | Form::BareClosures if is_degenerate => 0.3,
        _ => 0.0,
    };
    let hy = curvature(draw, &y, flat_y, unit / (wy * wy));
    let coupled = !(is_degenerate && draw.chance(0.3));
    let entry = |draw: &mut Draw, size: f64| size * draw.unit() * draw.scale(spread);
    let coupling = if coupled { unit / (wx * wy) } else { 0.0 };
    let b = (0..n * m).map(|_| entry(draw, coupling)).collect();
    let (slope_x, slope_y) = (draw.one_of(&[0.0, 0.3, 1.0]), draw.one_of(&[0.0, 0.3, 1.0]));
    let cx = (0..n).map(|_| entry(draw, slope_x * unit / wx)).collect();
    let cy = (0..m).map(|_| entry(draw, slope_y * unit / wy)).collect();
    let value = match place {
        Place::Near => 0.0,
        Place::Degenerate => unit * draw.unit() * draw.one_of(&[0.0, 1.0, 1e4, 1e8]),
        _ => unit * draw.unit() * draw.one_of(&[0.0, 1.0]),
    };
    let f = Quadratic { hx, hy, b, cx, cy, x0, y0, value };
    Problem { place, form, by_oracle: draw_by_oracle(draw, &x, &y), x, y, f }
}

/// The share of sets that are known by their oracle.
const BY_ORACLE: f64 = 0.1;

fn draw_by_oracle(draw: &mut Draw, x: &Set, y: &Set) -> [bool; 2] {
    [x, y].map(|set| {
        let is_point = (0..set.dim()).all(|i| set.width(i) == 0.0) || set.dim() == 1;
        draw.chance(BY_ORACLE) && !is_point
    })
}

/// A game by its matrix: on simplices, mostly.
#[must_use]
pub fn draw_game(draw: &mut Draw) -> Problem {
    let place = draw.one_of(&[Place::Near, Place::Scaled, Place::Degenerate]);
    let size = if place == Place::Scaled { draw.scale(6.0) } else { 1.0 };
    let set = |draw: &mut Draw| {
        let dim = 1 + draw.below(8);
        match draw.chance(0.7) {
            true => Set::Simplex { dim, total: 1.0 },
            false => {
                let width = draw.scale(if place == Place::Scaled { 6.0 } else { 0.3 });
                draw_set(draw, Place::Near, Block { width, offset: 0.0 })
            }
        }
    };
    let (x, y) = (set(draw), set(draw));
    let (n, m) = (x.dim(), y.dim());
    let spread = draw.one_of(&[0.0, 0.3, 3.0]);
    let nothing = if place == Place::Degenerate { 0.4 } else { 0.0 };
    let b = (0..n * m).map(|_| match draw.chance(nothing) {
        true => 0.0,
        false => size * draw.unit() * draw.scale(spread),
    });
    let b = b.collect();
    let (of_x, of_y) = (vec![0.0; n], vec![0.0; m]);
    let f = Quadratic {
        hx: of_x.clone(),
        hy: of_y.clone(),
        b,
        cx: of_x.clone(),
        cy: of_y.clone(),
        x0: of_x,
        y0: of_y,
        value: 0.0,
    };
    Problem { place, form: Form::Game, by_oracle: draw_by_oracle(draw, &x, &y), x, y, f }
}
