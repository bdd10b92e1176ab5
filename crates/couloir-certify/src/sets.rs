//! Sets on which the maximum of a separable quadratic is known, and exact membership.

use crate::exact::{
    BITS, Enclosure, Exact, Wide, abs, exact, exact_vector, max, narrow, rounded, tiny, wide,
};
use crate::quadratic::Separable;
use crate::spectral::{compose, nuclear_norm, svd};
use couloir::domain::{BoxSet, Domain, L1Ball, L2Ball, LoSet, NuclearBall, Simplex};

/// A set, in numbers of the tests' own.
#[derive(Clone, Debug)]
pub enum Set {
    /// `lower <= p <= upper`.
    Box {
        /// The lower corner.
        lower: Vec<f64>,
        /// The upper corner.
        upper: Vec<f64>,
    },
    /// `p >= 0`, `sum p = total`.
    Simplex {
        /// The number of coordinates.
        dim: usize,
        /// What they add up to.
        total: f64,
    },
    /// `sum |p| <= radius`.
    L1 {
        /// The number of coordinates.
        dim: usize,
        /// The radius.
        radius: f64,
    },
    /// `|p| <= radius`.
    L2 {
        /// The number of coordinates.
        dim: usize,
        /// The radius.
        radius: f64,
    },
    /// The sum of the singular values is at most `radius`.
    Nuclear {
        /// The number of rows.
        rows: usize,
        /// The number of columns.
        columns: usize,
        /// The radius.
        radius: f64,
    },
}

impl Set {
    /// The number of coordinates.
    #[must_use]
    pub fn dim(&self) -> usize {
        match self {
            Set::Box { lower, .. } => lower.len(),
            Set::Simplex { dim, .. } | Set::L1 { dim, .. } | Set::L2 { dim, .. } => *dim,
            Set::Nuclear { rows, columns, .. } => rows * columns,
        }
    }

    /// What kind of set it is, for tables.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Set::Box { .. } => "box",
            Set::Simplex { .. } => "simplex",
            Set::L1 { .. } => "l1",
            Set::L2 { .. } => "l2",
            Set::Nuclear { .. } => "nuclear",
        }
    }

    /// How far a coordinate can move.
    #[must_use]
    pub fn width(&self, i: usize) -> f64 {
        match self {
            Set::Box { lower, upper } => upper[i] - lower[i],
            Set::Simplex { total, .. } => *total,
            Set::L1 { radius, .. } | Set::L2 { radius, .. } | Set::Nuclear { radius, .. } => {
                2.0 * radius
            }
        }
    }

    /// The library's set of the same numbers.
    ///
    /// # Errors
    /// Numbers that make no set.
    pub fn domain(&self) -> couloir::Result<Box<dyn Domain>> {
        Ok(match self {
            Set::Box { lower, upper } => Box::new(BoxSet::new(lower.clone(), upper.clone())?),
            Set::Simplex { dim, total } => Box::new(Simplex::scaled(*dim, *total)?),
            Set::L1 { dim, radius } => Box::new(L1Ball::new(*dim, *radius)?),
            Set::L2 { dim, radius } => Box::new(L2Ball::new(*dim, *radius)?),
            Set::Nuclear { rows, columns, radius } => {
                Box::new(NuclearBall::new(*rows, *columns, *radius)?)
            }
        })
    }

    /// The same set, of which the library is given the linear minimisation and nothing else.
    ///
    /// # Errors
    /// Numbers that make no set, a single point.
    pub fn by_oracle(&self) -> couloir::Result<LoSet<'static>> {
        let set = self.domain()?;
        let mut start = vec![0.0; self.dim()];
        set.center(&mut start);
        let diameter = set.diameter();
        LoSet::new(self.dim(), diameter, start, move |g, p| {
            if set.oracle().lmo(g, p).is_err() {
                p.fill(f64::NAN);
            }
        })
    }

    /// The maximum of a separable function over the set: the value at a point that is in the set for sure, and a bound from
    /// above.
    #[must_use]
    pub fn maximum(&self, f: &Separable) -> Enclosure {
        match self {
            Set::Box { lower, upper } => {
                let best = |i: usize| {
                    let (low, high) = (exact(lower[i]), exact(upper[i]));
                    // the slope at an end tells whether the maximum is there
                    if &f.slope[i] - &f.bend[i] * &high >= Exact::ZERO {
                        high
                    } else if &f.slope[i] - &f.bend[i] * &low <= Exact::ZERO {
                        low
                    } else {
                        &f.slope[i] / &f.bend[i]
                    }
                };
                let point: Vec<Exact> = (0..lower.len()).map(best).collect();
                Enclosure::known(f.at(&point))
            }
            Set::Simplex { total, .. } => {
                Enclosure::known(&f.constant + on_simplex(&f.slope, &f.bend, &exact(*total)))
            }
            Set::L1 { radius, .. } => {
                // The signs of the slopes are those of the maximiser, and what is left of the radius is one more
                // coordinate that gains nothing.
                let (mut slope, mut bend) =
                    (f.slope.iter().map(abs).collect::<Vec<_>>(), f.bend.clone());
                slope.push(Exact::ZERO);
                bend.push(Exact::ZERO);
                Enclosure::known(&f.constant + on_simplex(&slope, &bend, &exact(*radius)))
            }
            Set::L2 { radius, .. } => on_ball(f, &exact(*radius)).plus(&f.constant),
            Set::Nuclear { rows, columns, radius } => {
                on_nuclear_ball(f, *rows, *columns, &exact(*radius)).plus(&f.constant)
            }
        }
    }

    /// How far a point is outside, exactly, in units of the last place of what bounds it: 0 inside.
    #[must_use]
    pub fn outside(&self, p: &[f64]) -> f64 {
        if p.iter().any(|p| !p.is_finite()) || p.len() != self.dim() {
            return f64::INFINITY;
        }
        match self {
            Set::Box { lower, upper } => {
                let side = |past: Exact, bound: f64| {
                    let unit = f64::EPSILON * bound.abs().max(f64::MIN_POSITIVE / f64::EPSILON);
                    rounded(&(max(past, Exact::ZERO) / exact(unit)))
                };
                let entry = |i: usize| {
                    let here = exact(p[i]);
                    side(exact(lower[i]) - &here, lower[i])
                        .max(side(here - exact(upper[i]), upper[i]))
                };
                (0..p.len()).map(entry).fold(0.0, f64::max)
            }
            Set::Simplex { total, .. } => {
                let sum = p.iter().fold(Exact::ZERO, |sum, p| sum + exact(*p));
                let least = p.iter().copied().fold(0.0, f64::min);
                let past = max(abs(&(sum - exact(*total))), -exact(least));
                rounded(&(past / exact(f64::EPSILON * total)))
            }
            Set::L1 { radius, .. } => {
                let sum = p.iter().fold(Exact::ZERO, |sum, p| sum + exact(p.abs()));
                rounded(&(max(sum - exact(*radius), Exact::ZERO) / exact(f64::EPSILON * radius)))
            }
            Set::L2 { radius, .. } => {
                let square = p.iter().fold(Exact::ZERO, |sum, p| sum + exact(*p) * exact(*p));
                let radius = exact(*radius);
                let past = max(square - &radius * &radius, Exact::ZERO);
                // (|p|^2 - r^2)/(2 r) is |p| - r but for a relative error of (|p| - r)/(2 r)
                rounded(&(past / (exact(2.0 * f64::EPSILON) * &radius * radius)))
            }
            Set::Nuclear { rows, radius, .. } => {
                let norm = nuclear_norm(&exact_vector(p), *rows);
                rounded(&(max(norm - exact(*radius), Exact::ZERO) / exact(f64::EPSILON * radius)))
            }
        }
    }

    /// The nearest member, or one next to it: the point itself where it is inside.
    #[must_use]
    pub fn nearest(&self, p: &[f64]) -> Vec<Exact> {
        let point = exact_vector(p);
        if self.outside(p) == 0.0 {
            return point;
        }
        let ones = || vec![Exact::ONE; p.len()];
        match self {
            Set::Box { lower, upper } => {
                let clip = |i: usize| exact(p[i].max(lower[i]).min(upper[i]));
                (0..p.len()).map(clip).collect()
            }
            // the projection maximises <p, u> - 1/2 |u|^2
            Set::Simplex { total, .. } => best_on_simplex(&point, &ones(), &exact(*total)).1,
            Set::L1 { radius, .. } => {
                let sizes: Vec<Exact> = point.iter().map(abs).collect();
                let folded = best_on_simplex(&sizes, &ones(), &exact(*radius)).1;
                folded.into_iter().zip(p).map(|(u, p)| u * exact(1f64.copysign(*p))).collect()
            }
            Set::L2 { radius, .. } => {
                let square = point.iter().fold(Exact::ZERO, |sum, p| sum + p * p);
                let length = narrow(&wide(&square).sqrt()) * (Exact::ONE + tiny(MARGIN));
                point.into_iter().map(|p| p * exact(*radius) / &length).collect()
            }
            Set::Nuclear { rows, radius, .. } => {
                let norm = nuclear_norm(&point, *rows) * (Exact::ONE + tiny(MARGIN));
                point.into_iter().map(|p| narrow(&wide(&(p * exact(*radius) / &norm)))).collect()
            }
        }
    }
}

/// Relative errors of a number that was found to [`BITS`] bits, with a wide margin.
const MARGIN: usize = BITS - 100;

/// `max <slope, U> - bend/2 |U|^2` over the nuclear-norm ball, with one curvature for all entries: the maximiser has the
/// singular vectors of the slope, and its singular values solve the problem on an l1 ball.
fn on_nuclear_ball(f: &Separable, rows: usize, columns: usize, radius: &Exact) -> Enclosure {
    let bend = &f.bend[0];
    assert!(f.bend.iter().all(|b| b == bend), "one curvature for all entries");
    let triples = svd(&f.slope, rows);
    if triples.is_empty() {
        return Enclosure::known(Exact::ZERO);
    }
    let mut slope: Vec<Exact> = triples.iter().map(|t| t.sigma.clone()).collect();
    slope.push(Exact::ZERO);
    let mut bends = vec![bend.clone(); triples.len()];
    bends.push(Exact::ZERO);
    let (value, weights) = best_on_simplex(&slope, &bends, radius);
    // A member for sure: the nuclear norm of a sum of rank-one matrices is at most the sum of theirs.
    let length = |v: &[Exact]| wide(&v.iter().fold(Exact::ZERO, |s, v| s + v * v)).sqrt();
    let size = triples.iter().zip(&weights).fold(Exact::ZERO, |sum, (t, w)| {
        sum + w * narrow(&(length(&t.left) * length(&t.right))) * (Exact::ONE + tiny(MARGIN))
    });
    let shrink = if size > *radius { radius / size } else { Exact::ONE };
    let mut point = compose(&triples, &weights[..triples.len()], rows, columns);
    point
        .iter_mut()
        .for_each(|p| *p = narrow(&wide(&(&*p * &shrink))) * (Exact::ONE - tiny(MARGIN)));
    let plain = Separable { constant: Exact::ZERO, slope: f.slope.clone(), bend: f.bend.clone() };
    let high = &value + abs(&value) * tiny(MARGIN);
    Enclosure { low: plain.at(&point), high }
}

/// The maximum of [`best_on_simplex`].
fn on_simplex(slope: &[Exact], bend: &[Exact], total: &Exact) -> Exact {
    best_on_simplex(slope, bend, total).0
}

/// `max <slope, u> - 1/2 |u|^2_bend` over `u >= 0`, `sum u = total`, with its maximiser: `u_i = max(0, slope_i - level)/bend_i`, and what is left
/// goes to the steepest coordinate without curvature.
fn best_on_simplex(slope: &[Exact], bend: &[Exact], total: &Exact) -> (Exact, Vec<Exact>) {
    let flat = (0..slope.len()).filter(|&i| bend[i] == Exact::ZERO).map(|i| slope[i].clone());
    let flat = flat.reduce(max);
    let mut point = vec![Exact::ZERO; slope.len()];
    let mut curved: Vec<usize> = (0..slope.len()).filter(|&i| bend[i] > Exact::ZERO).collect();
    curved.sort_by(|&i, &j| slope[j].cmp(&slope[i]));
    // the level at which those above it take all of the total; raised to that of the flat coordinate
    let (mut weighted, mut weights) = (Exact::ZERO, Exact::ZERO);
    let mut level = None;
    for &i in &curved {
        if level.as_ref().is_some_and(|level| slope[i] <= *level) {
            break;
        }
        weighted += &slope[i] / &bend[i];
        weights += Exact::ONE / &bend[i];
        level = Some((&weighted - total) / &weights);
    }
    let level = match (level, &flat) {
        (Some(level), Some(flat)) => max(level, flat.clone()),
        (Some(level), None) => level,
        (None, Some(flat)) => flat.clone(),
        (None, None) => return (Exact::ZERO, point),
    };
    let (mut value, mut left) = (Exact::ZERO, total.clone());
    for &i in &curved {
        if slope[i] > level {
            let u = (&slope[i] - &level) / &bend[i];
            value += exact(0.5) * &u * (&slope[i] + &level);
            left -= &u;
            point[i] = u;
        }
    }
    if let Some(flat) = flat
        && left > Exact::ZERO
    {
        let steepest = (0..slope.len()).find(|&i| bend[i] == Exact::ZERO && slope[i] == flat);
        value += &left * flat;
        if let Some(i) = steepest {
            point[i] = left;
        }
    }
    (value, point)
}

/// `max <slope, u> - 1/2 |u|^2_bend` over `|u| <= radius`. With `u(t) = slope/(bend + t)`, for every `t >= 0`,
/// `1/2 <slope, u(t)> + t r^2/2` is a bound from above, and `u(t)` is a member where it is short enough.
fn on_ball(f: &Separable, radius: &Exact) -> Enclosure {
    let steep: Vec<usize> = (0..f.slope.len()).filter(|&i| f.slope[i] != Exact::ZERO).collect();
    let square = radius * radius;
    if steep.iter().all(|&i| f.bend[i] > Exact::ZERO) {
        let u: Vec<Exact> = steep.iter().map(|&i| &f.slope[i] / &f.bend[i]).collect();
        if u.iter().fold(Exact::ZERO, |s, u| s + u * u) <= square {
            let gain = |(u, &i): (&Exact, &usize)| exact(0.5) * u * &f.slope[i];
            return Enclosure::known(
                u.iter().zip(&steep).map(gain).fold(Exact::ZERO, |s, g| s + g),
            );
        }
    }
    let slopes: Vec<Wide> = steep.iter().map(|&i| wide(&abs(&f.slope[i]))).collect();
    let bends: Vec<Wide> = steep.iter().map(|&i| wide(&f.bend[i])).collect();
    let (r, r2) = (wide(radius), wide(&square));
    // Newton's method on sum (slope/(bend + t))^2 = r^2, convex and falling: from the left it stays on the left.
    let zero = wide(&Exact::ZERO);
    let mut t = zero.clone();
    for (a, e) in slopes.iter().zip(&bends) {
        let least = a / &r - e;
        t = if least > t { least } else { t };
    }
    for _ in 0..200 {
        let (mut excess, mut fall) = (-r2.clone(), zero.clone());
        for (a, e) in slopes.iter().zip(&bends) {
            let u = a / (e + &t);
            excess += &u * &u;
            fall += wide(&exact(2.0)) * &u * &u / (e + &t);
        }
        let step = &excess / &fall;
        let done = step <= &t * wide(&tiny(BITS - 16));
        if step > zero {
            t += step;
        }
        if done {
            break;
        }
    }
    let t = narrow(&t);
    let mut high = exact(0.5) * &t * &square;
    let mut u = vec![Exact::ZERO; f.slope.len()];
    for &i in &steep {
        let at = &f.slope[i] / (&f.bend[i] + &t);
        high += exact(0.5) * &at * &f.slope[i];
        u[i] = narrow(&wide(&at));
    }
    // short by a hair, so that the witness is a member
    let shrink = Exact::ONE - tiny(BITS - 32);
    while u.iter().fold(Exact::ZERO, |s, u| s + u * u) > square {
        u.iter_mut().for_each(|u| *u *= &shrink);
    }
    let plain = Separable { constant: Exact::ZERO, slope: f.slope.clone(), bend: f.bend.clone() };
    Enclosure { low: plain.at(&u), high }
}
