//! Certificates: numbers that prove how good a pair `(x, y)` is.

use crate::domain::{Confidence, Domain, LinearMin};
use crate::error::{Block, Result, check_len};
use crate::linalg::{dot, dot_and_squares, dot_difference, length, norm, sum_rounding};
use crate::oracles::{FirstOrder, Oracles, check_minimum};
use crate::problem::{PointX, Rounding, SaddleProblem};
use crate::state::Archive;

/// A certified pair: `max_y' f(x, y') <= upper` and `min_x' f(x', y) >= lower`, so the primal-dual gap
/// of the pair is at most `gap`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Certificate {
    /// The certified primal-dual gap, `gap_x + gap_y`.
    pub gap: f64,
    /// The part that `x` may still gain: a bound of `f(x, y) - min_x' f(x', y)`.
    pub gap_x: f64,
    /// The part that `y` may still gain: a bound of `max_y' f(x, y') - f(x, y)`.
    pub gap_y: f64,
    /// A bound of `max_y' f(x, y')`.
    pub upper: f64,
    /// A bound of `min_x' f(x', y)`.
    pub lower: f64,
    /// On what the bounds rest.
    pub confidence: Confidence,
}

impl Certificate {
    /// No certificate yet.
    pub const NONE: Certificate = Certificate {
        gap: f64::INFINITY,
        gap_x: f64::INFINITY,
        gap_y: f64::INFINITY,
        upper: f64::INFINITY,
        lower: f64::NEG_INFINITY,
        confidence: Confidence::Exact,
    };

    /// The certificate with parts `gap_x`, `gap_y` at a point of this value.
    #[must_use]
    pub fn from_parts(value: f64, gap_x: f64, gap_y: f64, confidence: Confidence) -> Self {
        Certificate::charged(value, 0.0, gap_x, gap_y, confidence)
    }

    /// The same where the value may be off by `rounding`, which concerns the two bounds and not the gap between them.
    fn charged(value: f64, rounding: f64, gap_x: f64, gap_y: f64, confidence: Confidence) -> Self {
        let sums = |gap: f64| rounding + 2.0 * f64::EPSILON * (value.abs() + gap);
        let room = if rounding > 0.0 { 1.0 + 4.0 * f64::EPSILON } else { 1.0 };
        Certificate {
            gap: (gap_x + gap_y) * room,
            gap_x,
            gap_y,
            upper: value + gap_y + if rounding > 0.0 { sums(gap_y) } else { 0.0 },
            lower: value - gap_x - if rounding > 0.0 { sums(gap_x) } else { 0.0 },
            confidence,
        }
    }

    /// The certificate of a pair of this value with these bounds.
    #[must_use]
    pub fn between(lower: f64, value: f64, upper: f64, confidence: Confidence) -> Self {
        let value = value.max(lower).min(upper.max(lower));
        let (gap_x, gap_y) = (value - lower, upper.max(lower) - value);
        // the two differences round, each by half a unit in its last place
        let gap = (gap_x + gap_y) * (1.0 + 4.0 * f64::EPSILON);
        Certificate { gap, gap_x, gap_y, upper, lower, confidence }
    }

    /// Saves or loads it, for the state of a solver.
    ///
    /// # Errors
    /// What the archive reports.
    pub fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.number("gap", &mut self.gap)?;
        archive.number("gap_x", &mut self.gap_x)?;
        archive.number("gap_y", &mut self.gap_y)?;
        archive.number("upper", &mut self.upper)?;
        archive.number("lower", &mut self.lower)?;
        archive.nested("confidence", |archive| self.confidence.state(archive))
    }
}

/// Bounds that a theorem gives at the current iteration (infinite where it gives none).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// The bound of the schedule: Theorem 1 of the paper for `mpcgs`, Theorem 3 for `mpscgs`, `B_k` for `certified`.
    pub schedule: f64,
    /// The sharper bound `C_k` from the averaged linear minorants (`certified` only).
    pub minorant: f64,
}

impl Bounds {
    /// Nothing is known.
    pub const NONE: Bounds = Bounds { schedule: f64::INFINITY, minorant: f64::INFINITY };

    /// The sharper of the two.
    #[must_use]
    pub fn best(&self) -> f64 {
        self.schedule.min(self.minorant)
    }

    /// Saves or loads it, for the state of a solver.
    ///
    /// # Errors
    /// What the archive reports.
    pub fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.number("schedule", &mut self.schedule)?;
        archive.number("minorant", &mut self.minorant)
    }
}

/// Charges one part of an FW-gap: `slope = <g, u - p>` and `square = |u - p|^2` for the answer `p` of a linear minimisation, where
/// the gradient errs by `error` in a set of this diameter. What may be missed is
///
/// ```text
/// (<g, p> - least) + sum_rounding |g| |u - p| + |error of g| D
/// ```
///
/// Differences are taken before the sum, so that a set far from the origin does no harm.
pub(crate) fn gap_part(
    g: &[f64],
    (slope, square): (f64, f64),
    minimum: &LinearMin,
    error: f64,
    diameter: f64,
) -> Charged {
    gap_part_of((norm(g), g.len()), (slope, square), minimum, error, diameter)
}

/// The same for a gradient of this length in so many dimensions.
fn gap_part_of(
    (steepness, dim): (f64, usize),
    (slope, square): (f64, f64),
    minimum: &LinearMin,
    error: f64,
    diameter: f64,
) -> Charged {
    let sum = sum_rounding(dim);
    // an answer that is no vertex found exactly is a product itself, which rounds
    let missed = minimum.value - minimum.lower;
    let missed = if missed > 0.0 { missed + sum * minimum.value.abs() } else { 0.0 };
    let rounding = known(sum * steepness * square.sqrt()) + known(error * diameter);
    // sums of numbers that are not negative round as well
    let rounding = rounding + 4.0 * f64::EPSILON * (slope.abs() + missed);
    Charged { gap: slope.max(0.0) + missed + rounding, rounding }
}

/// A gap, and the part of it that is charged for rounding.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Charged {
    pub gap: f64,
    pub rounding: f64,
}

/// What is not a number bounds nothing.
fn known(bound: f64) -> f64 {
    if bound.is_nan() { f64::INFINITY } else { bound }
}

/// The certificate of a pair from the two parts of its FW-gap, charged with the roundings of the value, of an image that may have
/// been carried along (`slope` is the length of the gradient in the image, 0 where images are the points themselves), and with the
/// way from the points to members of their sets.
pub(crate) fn certificate_of(
    oracles: &Oracles<'_>,
    (value, slope): (f64, f64),
    rounding: &Rounding,
    [gap_x, gap_y]: [f64; 2],
) -> Certificate {
    let carried = if slope > 0.0 { known(oracles.carried() * slope) } else { 0.0 };
    let of_value = rounding.value + carried;
    let [of_x, of_y] = oracles.charge_of_slack(rounding);
    // x moves max_y f(x, y), which bounds what y may gain
    let (gap_x, gap_y) = (gap_x + 2.0 * carried + known(of_y), gap_y + known(of_x));
    Certificate::charged(value, of_value, gap_x, gap_y, oracles.confidence())
}

/// Buffers for [`fw_gap`].
#[derive(Clone, Debug)]
pub(crate) struct GapScratch {
    gx: Vec<f64>,
    gy: Vec<f64>,
    /// The vertex of X; empty where X told the least value without one.
    px: Vec<f64>,
    py: Vec<f64>,
}

impl GapScratch {
    pub fn new(dim_x: usize, dim_y: usize) -> Self {
        GapScratch { px: vec![0.0; dim_x], ..GapScratch::without_vertex(dim_x, dim_y) }
    }

    /// For one pair: where X finds the least value without a vertex, none is formed. In a thin nuclear-norm ball that saves as much
    /// memory as a point takes, and half of the time.
    pub fn without_vertex(dim_x: usize, dim_y: usize) -> Self {
        let [gy, py] = [dim_y; 2].map(|dim| vec![0.0; dim]);
        GapScratch { gx: vec![0.0; dim_x], gy, px: Vec::new(), py }
    }

    /// What the last FW-gap, at this pair, was made of.
    pub fn first_order<'a>(&'a self, value: f64, x: &'a [f64], y: &'a [f64]) -> FirstOrder<'a> {
        FirstOrder { value, x, y, gx: &self.gx, gy: &self.gy }
    }

    /// The size of its numbers.
    pub fn size(&self, oracles: &Oracles<'_>, gap: &Certificate, x: &[f64], y: &[f64]) -> f64 {
        self.first_order(gap.lower + gap.gap_x, x, y).size(oracles.diameters)
    }
}

/// The FW-gap `max_u <x - u, grad_x f> + max_v <v - y, grad_y f>` at a pair: one gradient and one
/// linear minimisation in each block. It bounds the primal-dual gap.
pub(crate) fn fw_gap(
    oracles: &mut Oracles<'_>,
    at: &PointX,
    y: &[f64],
    scratch: &mut GapScratch,
) -> Result<Certificate> {
    let GapScratch { gx, gy, px, py } = scratch;
    oracles.grad_x(at, y, gx)?;
    let x_min = match px.is_empty() {
        true => oracles.support_x(gx, px)?,
        false => oracles.lmo(Block::X, gx, px)?,
    };
    oracles.grad_y(at, y, gy)?;
    gy.iter_mut().for_each(|g| *g = -*g);
    let y_min = oracles.lmo(Block::Y, gy, py)?;
    let (in_x, steepness) = match px.is_empty() {
        true => {
            // <g, x> as it is, with what rounds in that: such a set lies around the origin
            let [along, of_g, of_x] = dot_and_squares(gx, &at.x);
            ((along - x_min.value, of_x), length(gx, of_g))
        }
        false => (dot_difference(gx, &at.x, px), norm(gx)),
    };
    let in_y = dot_difference(gy, y, py);
    check_minimum(oracles, Block::X, gx, &at.x, (x_min.value + in_x.0, x_min.lower))?;
    check_minimum(oracles, Block::Y, gy, y, (y_min.value + in_y.0, y_min.lower))?;
    let value = oracles.value(at, y)?;
    let (rounding, slope) = (oracles.rounding(at, y, value), oracles.slope_in_image());
    let [dx, dy] = oracles.diameters;
    let gap_x = gap_part_of((steepness, gx.len()), in_x, &x_min, rounding.grad_x, dx);
    let gap_y = gap_part(gy, in_y, &y_min, rounding.grad_y, dy);
    Ok(certificate_of(oracles, (value, slope), &rounding, [gap_x.gap, gap_y.gap]))
}

/// The affine parts of a bilinear function that its value takes: `f(0, 0)` and `b = grad_y f(0, .)`.
pub(crate) struct AffineParts<'a> {
    pub origin: f64,
    pub slope_y: &'a [f64],
}

/// The FW-gap of a bilinear function at a pair whose gradients are known: no product, two linear minimisations. It is the
/// primal-dual gap itself. The value is `f(0, 0) + <grad_x, x> + <b, y>`.
pub(crate) fn bilinear_gap(
    oracles: &mut Oracles<'_>,
    (at, y): (&PointX, &[f64]),
    [grad_x, grad_y]: [&[f64]; 2],
    affine: &AffineParts<'_>,
    scratch: &mut BilinearScratch,
) -> Result<Certificate> {
    let BilinearScratch { px, py, descent } = scratch;
    let x_min = oracles.lmo(Block::X, grad_x, px)?;
    descent.iter_mut().zip(grad_y).for_each(|(d, g)| *d = -g);
    let y_min = oracles.lmo(Block::Y, descent, py)?;
    let (of_x, of_y) = (dot(grad_x, &at.x), dot(affine.slope_y, y));
    let value = affine.origin + of_x + of_y;
    let sums = sum_rounding(grad_x.len()) * norm(grad_x) * norm(&at.x)
        + sum_rounding(y.len()) * norm(affine.slope_y) * norm(y)
        + f64::EPSILON * (affine.origin.abs() + of_x.abs() + of_y.abs());
    let known = oracles.rounding(at, y, value);
    // the error of the gradient enters the value as well
    let of_value = known.value + sums + known.grad_x * norm(&at.x);
    let rounding = Rounding { value: of_value, ..known };
    let [dx, dy] = oracles.diameters;
    let (in_x, in_y) = (dot_difference(grad_x, &at.x, px), dot_difference(descent, y, py));
    check_minimum(oracles, Block::X, grad_x, &at.x, (x_min.value + in_x.0, x_min.lower))?;
    check_minimum(oracles, Block::Y, descent, y, (y_min.value + in_y.0, y_min.lower))?;
    let gap_x = gap_part(grad_x, in_x, &x_min, rounding.grad_x, dx);
    let gap_y = gap_part(descent, in_y, &y_min, rounding.grad_y, dy);
    let slope = oracles.slope_in_image();
    Ok(certificate_of(oracles, (value, slope), &rounding, [gap_x.gap, gap_y.gap]))
}

/// Buffers for [`bilinear_gap`].
pub(crate) struct BilinearScratch {
    px: Vec<f64>,
    py: Vec<f64>,
    descent: Vec<f64>,
}

impl BilinearScratch {
    pub fn new(dim_x: usize, dim_y: usize) -> Self {
        let zeros = |dim: usize| vec![0.0; dim];
        BilinearScratch { px: zeros(dim_x), py: zeros(dim_y), descent: zeros(dim_y) }
    }
}

/// The FW-gap of any pair, from outside of a run: the same measure for every method, charged to none.
///
/// ```
/// use couloir::certificate::FwGap;
/// use couloir::domain::{L2Ball, Simplex};
/// use couloir::problem::QuadraticBilinear;
/// use couloir::Solve;
///
/// let (x_set, y_set) = (L2Ball::new(5, 1.0)?, Simplex::new(4)?);
/// let problem = QuadraticBilinear::on(&x_set, &y_set).build()?;
/// let solution = Solve::new(&problem, &x_set, &y_set).gap(1e-6).run()?;
/// let mut fw_gap = FwGap::new(&problem, &x_set, &y_set)?;
/// let at = fw_gap.at(&solution.x, &solution.y)?;
/// assert!(at.gap < 1e-2 && at.upper >= solution.outcome.certificate.lower);
/// # Ok::<(), couloir::Error>(())
/// ```
pub struct FwGap<'a> {
    oracles: Oracles<'a>,
    at: PointX,
    scratch: GapScratch,
}

impl<'a> FwGap<'a> {
    /// The FW-gap of pairs for this problem on these sets.
    ///
    /// # Errors
    /// Dimensions that disagree.
    pub fn new(
        problem: &'a dyn SaddleProblem,
        x_set: &'a dyn Domain,
        y_set: &'a dyn Domain,
    ) -> Result<Self> {
        let oracles = Oracles::new(problem, x_set, y_set)?;
        let scratch = GapScratch::new(problem.dim_x(), problem.dim_y());
        Ok(FwGap { oracles, at: PointX::new(problem), scratch })
    }

    /// The FW-gap at a pair.
    ///
    /// # Errors
    /// A point of the wrong length, gradients that are not finite.
    pub fn at(&mut self, x: &[f64], y: &[f64]) -> Result<Certificate> {
        check_len("x", self.at.x.len(), x.len())?;
        check_len("y", self.oracles.problem.dim_y(), y.len())?;
        self.at.x.copy_from_slice(x);
        self.oracles.image(x, &mut self.at.image)?;
        self.oracles.prepare(&mut self.at);
        fw_gap(&mut self.oracles, &self.at, y, &mut self.scratch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_between_two_bounds_has_their_distance_and_no_less() {
        let exact = Confidence::Exact;
        let simple = Certificate::between(-1.0, 0.5, 2.0, exact);
        assert_eq!((simple.gap_x, simple.gap_y), (1.5, 1.5));
        assert!((3.0..=3.0 + 1e-14).contains(&simple.gap));
        for (lower, value, upper) in
            [(0.1, 0.2, 0.3), (-1e16, 0.3, 1e16), (1.0, 1.0 + 3e-16, 1.0 + 1e-15), (2.0, 5.0, 3.0)]
        {
            let made = Certificate::between(lower, value, upper, exact);
            // the exact difference of two numbers is the rounded one and what Dekker's sum leaves
            let difference = upper - lower;
            let left =
                (upper - (difference + lower)) + (difference - (upper - (upper - difference)));
            assert!(made.gap >= difference && made.gap - difference >= left, "{made:?}");
            assert!(made.gap <= difference * (1.0 + 1e-14), "{made:?}");
            assert_eq!((made.lower, made.upper), (lower, upper));
        }
    }
}
