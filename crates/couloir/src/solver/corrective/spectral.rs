//! The restricted set of a large nuclear-norm ball: `X = U S V'` with orthonormal `U` and `V` of a few columns, and
//! `|S|_* <= tau`.
//!
//! It contains the hull of the rank-one matrices `-tau u v'` that linear minimisations over the ball return, and far more: the
//! whole ball of the small matrices `S`, on which the prox is exact. A linear minimisation adds the leading singular pairs of
//! the gradient to `U` and `V`; directions whose singular value vanishes leave. Nothing here is as large as `X`.

use super::factored::{Descent, Pair, Until};
use super::restricted::{ImageFunction, Restricted, RestrictedSet};
use crate::domain::{Confidence, Domain, LinearMin, NuclearBall, NuclearShape, Oracle};
use crate::error::{Error, Result};
use crate::linalg::block_lanczos::{Leading, Request};
use crate::linalg::scratch::Pool;
use crate::linalg::spectral::{product_of, transposed_product};
use crate::linalg::{Factors, axpy, combine, dot, dot_difference, norm, scale, transpose};
use crate::oracles::Oracles;
use crate::problem::MatrixOperator;
use crate::random::{Stream, Streams};
use crate::state::Archive;

/// Pairs that are asked for beyond the rank of the present point, whose own directions are among the leading ones once the
/// gradient has settled.
const MORE_PAIRS: usize = 4;
/// The most pairs that are asked for. Measured on 2,000 x 2,000, 5 % observed, to a gap of 1e-3: with at most 8, 12, 16 and 40
/// pairs 28, 20, 17 and 14 calls, and 7.7, 5.7, 4.0 and 5.2 s of one core.
const MOST_PAIRS: usize = 16;
/// The accuracy of the bound at which the first directions are good enough.
const FIRST_ACCURACY: f64 = 0.1;
/// Block steps of one linear minimisation.
const MOST_LANCZOS_STEPS: usize = 100;
/// What is left of a new direction beside those that are there, below which it is not new.
const IS_NEW: f64 = 1e-7;
/// Singular values of the point below this share of the largest leave.
const IS_ZERO: f64 = 1e-13;
/// Proximal steps of one restricted problem.
const MOST_STEPS: usize = 2000;
/// The same from the zero matrix, where a robust objective looks at a few observations alone and is hard to solve well: the descent over
/// both factors needs a start, and no more.
const FIRST_STEPS: usize = 20;
/// The gap over the restricted set is looked at every so many steps: it takes a product of its own.
const LOOK_EVERY: usize = 5;

/// The share of what is wanted of a restricted problem that is wanted of the descent over both factors after it, whose steps cost far
/// less. Measured on 2,000 x 2,000, 5 % observed, to a gap of 1e-4: with shares of 0.1, 0.01 and 0.001 6, 5 and 4 calls and 1.0, 1.0
/// and 0.75 s of one core; without a descent 19 calls and 3.5 s.
const FACTORED_SHARE: f64 = 1e-3;
/// Steps of one such descent.
const MOST_FACTORED_STEPS: usize = 100;

/// Looks without progress that end a restricted problem.
const MOST_IDLE: usize = 6;
/// A bend of so many roundings of a value is seen in values.
const VALUES_TELL: f64 = 1e3;

/// Thin factors of the points of a large nuclear-norm ball.
pub(super) struct Spectral<'a> {
    operator: &'a dyn MatrixOperator,
    shape: NuclearShape,
    /// `U` (`rows x p`) and `V` (`columns x q`), row-major, with orthonormal columns.
    left: Vec<f64>,
    right: Vec<f64>,
    p: usize,
    q: usize,
    /// `S`, `p x q`.
    s: Vec<f64>,
    /// The image of `U S V'`.
    image: Vec<f64>,
    /// The answer of the last linear minimisation.
    found: Leading,
    stream: Stream,
    /// The curvature of phi in `S`, as proximal steps have met it.
    curvature: f64,
    /// How well the linear minimisation is to be known.
    wanted: f64,
    /// The gradient in the image at the start pair, which the first directions come from.
    first: Vec<f64>,
    scratch: Pool,
}

/// Coordinates with their image, and phi there.
#[derive(Clone)]
struct At {
    s: Vec<f64>,
    image: Vec<f64>,
    slope: Vec<f64>,
    value: f64,
}

impl At {
    fn copy_from(&mut self, other: &At) {
        self.s.copy_from_slice(&other.s);
        self.image.copy_from_slice(&other.image);
        self.slope.copy_from_slice(&other.slope);
        self.value = other.value;
    }

    /// Whether phi lies at `to` no higher than its tangent here (of this gradient in `s`) and this curvature say: by
    /// values, and by slopes where these would be lost in rounding.
    fn bends_below(&self, gradient: &[f64], to: &At, curvature: f64, tie: f64) -> bool {
        let (rise, square) = dot_difference(gradient, &to.s, &self.s);
        let bend = 0.5 * curvature * square;
        if bend > VALUES_TELL * tie {
            return to.value - self.value - rise <= bend;
        }
        let terms = to.slope.iter().zip(&self.slope).zip(to.image.iter().zip(&self.image));
        terms.map(|((a, b), (c, d))| (a - b) * (c - d)).sum::<f64>() <= 2.0 * bend
    }
}

impl<'a> Spectral<'a> {
    /// The zero matrix. `first` is the gradient in the image there, for the start point of y: best responses to a point far from
    /// the optimum may look at a few observations alone, and say little of the others.
    pub fn new(shape: NuclearShape, operator: &'a dyn MatrixOperator, first: Vec<f64>) -> Self {
        Spectral {
            operator,
            shape,
            left: Vec::new(),
            right: Vec::new(),
            p: 0,
            q: 0,
            s: Vec::new(),
            image: vec![0.0; first.len()],
            found: Leading::default(),
            stream: Streams::new(shape.seed).stream("leading pairs"),
            curvature: 0.0,
            wanted: f64::INFINITY,
            first,
            scratch: Pool::new(),
        }
    }

    /// Writes the image of `U s V'`.
    fn image_of(&self, s: &[f64], out: &mut [f64]) {
        let (rows, p, q) = (self.shape.rows, self.p, self.q);
        self.scratch.with(rows * q, |product| {
            product_of(rows, p, q, &self.left, s, product);
            self.operator.image_of_product(q, product, &self.right, out);
        });
    }

    /// Writes `U' (A' slope) V`.
    fn pull_back(&self, slope: &[f64], out: &mut [f64]) {
        let (rows, p, q) = (self.shape.rows, self.p, self.q);
        self.scratch.with(rows * q, |product| {
            self.operator.adjoint_times(slope, q, &self.right, product);
            transposed_product(rows, p, q, &self.left, product, out);
        });
    }

    /// The image of these coordinates, and phi there.
    fn look(&self, phi: &mut dyn ImageFunction, at: &mut At) -> Result<()> {
        self.image_of(&at.s, &mut at.image);
        at.value = phi.look(&at.image, &mut at.slope)?;
        Ok(())
    }

    /// The singular value decomposition of `S`: left vectors, values, right vectors, all in columns.
    fn decompose(&self) -> Result<(faer::Mat<f64>, Vec<f64>, faer::Mat<f64>)> {
        let s = faer::MatRef::from_row_major_slice(&self.s, self.p, self.q);
        let svd = s.thin_svd().map_err(|e| Error::Numerical {
            what: "singular value decomposition",
            why: format!("{e:?}"),
        })?;
        let values: Vec<f64> = svd.S().column_vector().iter().copied().collect();
        Ok((svd.U().to_owned(), values, svd.V().to_owned()))
    }

    /// The point in factors, without singular values that are zero.
    fn reduced(&self) -> Result<Factors> {
        let NuclearShape { rows, columns, radius, .. } = self.shape;
        if self.p == 0 || self.q == 0 {
            return Ok(Factors::new(rows, columns, Vec::new(), Vec::new(), Vec::new()));
        }
        let (u, mut values, v) = self.decompose()?;
        let kept = values.iter().take_while(|s| **s > IS_ZERO * values[0]).count();
        values.truncate(kept);
        // rounding must not carry the point out of its ball
        let sum: f64 = values.iter().sum();
        if sum > radius {
            scale(radius / sum * (1.0 - 4.0 * f64::EPSILON), &mut values);
        }
        let turned = |basis: &[f64], rows: usize, k: usize, turn: &faer::Mat<f64>| {
            let mut square = vec![0.0; k * kept];
            for (i, row) in square.chunks_exact_mut(kept.max(1)).enumerate() {
                row.iter_mut().enumerate().for_each(|(j, x)| *x = turn[(i, j)]);
            }
            let mut out = vec![0.0; rows * kept];
            product_of(rows, k, kept, basis, &square, &mut out);
            out
        };
        let left = turned(&self.left, rows, self.p, &u);
        let right = turned(&self.right, columns, self.q, &v);
        Ok(Factors::new(rows, columns, left, values, right))
    }

    /// Moves both factors to where phi is lower, and returns the value.
    fn descend(&mut self, phi: &mut dyn ImageFunction, value: f64, wanted: f64) -> Result<f64> {
        let NuclearShape { rows, columns, radius, .. } = self.shape;
        let factors = self.reduced()?;
        let k = factors.rank();
        if k == 0 {
            return Ok(value);
        }
        let roots: Vec<f64> = factors.values().iter().map(|s| s.sqrt()).collect();
        let balanced = |basis: &[f64]| -> Vec<f64> {
            basis
                .chunks_exact(k)
                .flat_map(|row| row.iter().zip(&roots).map(|(x, s)| x * s))
                .collect()
        };
        let mut pair = Pair { left: balanced(factors.left()), right: balanced(factors.right()) };
        let until = Until { gap: FACTORED_SHARE * wanted, steps: MOST_FACTORED_STEPS };
        let mut descent = Descent::new(self.operator, k, radius, self.curvature, self.image.len());
        let (least, has_moved) = descent.run(phi, &mut pair, until)?;
        if !has_moved || !(least < value) {
            return Ok(value);
        }
        let (p, left) = extended(rows, 0, &[], k, &pair.left);
        let (q, right) = extended(columns, 0, &[], k, &pair.right);
        let (mut a, mut b) = (vec![0.0; p * k], vec![0.0; q * k]);
        transposed_product(rows, p, k, &left, &pair.left, &mut a);
        transposed_product(columns, q, k, &right, &pair.right, &mut b);
        let mut s = vec![0.0; p * q];
        for (row, a) in s.chunks_exact_mut(q.max(1)).zip(a.chunks_exact(k)) {
            row.iter_mut().zip(b.chunks_exact(k)).for_each(|(s, b)| *s = dot(a, b));
        }
        (self.p, self.q, self.left, self.right, self.s) = (p, q, left, right, s);
        let mut image = std::mem::take(&mut self.image);
        self.image_of(&self.s, &mut image);
        self.image = image;
        Ok(least)
    }

    /// Takes in the directions of these pairs, with coordinates that leave the point where it is. Tells whether any is new.
    fn extend(&mut self, found: &Leading) -> bool {
        let NuclearShape { rows, columns, .. } = self.shape;
        let k = found.sigma.len();
        let (p, left) = extended(rows, self.p, &self.left, k, &found.left);
        let (q, right) = extended(columns, self.q, &self.right, k, &found.right);
        let is_new = p > self.p || q > self.q;
        let mut s = vec![0.0; p * q];
        for (to, from) in s.chunks_exact_mut(q.max(1)).zip(self.s.chunks_exact(self.q.max(1))) {
            to[..self.q].copy_from_slice(from);
        }
        (self.p, self.q, self.s, self.left, self.right) = (p, q, s, left, right);
        is_new
    }

    /// Takes a point in factors.
    fn set_to(&mut self, factors: &Factors) {
        let k = factors.rank();
        (self.p, self.q) = (k, k);
        self.left = factors.left().to_vec();
        self.right = factors.right().to_vec();
        self.s = vec![0.0; k * k];
        for (i, value) in factors.values().iter().enumerate() {
            self.s[i * (k + 1)] = *value;
        }
    }
}

impl RestrictedSet for Spectral<'_> {
    fn len(&self) -> usize {
        self.p.max(self.q)
    }

    fn image(&self, out: &mut [f64]) {
        out.copy_from_slice(&self.image);
    }

    /// Accelerated proximal gradients with restarts, by value and by slope, and a curvature that is searched for. Extrapolated
    /// points need no product, as images are combined like the points.
    fn minimise(&mut self, phi: &mut dyn ImageFunction, wanted: f64) -> Result<Restricted> {
        self.wanted = wanted;
        let (p, q) = (self.p, self.q);
        if p == 0 || q == 0 {
            return Ok(Restricted { fell: 0.0, left: 0.0 });
        }
        let ball = NuclearBall::new(p, q, self.shape.radius)?;
        let mut oracle = ball.oracle();
        let mut slope = vec![0.0; self.image.len()];
        let value = phi.look(&self.image, &mut slope)?;
        let mut here = At { s: self.s.clone(), image: self.image.clone(), slope, value };
        let mut scratch = Vec::new();
        let mut gradient = vec![0.0; p * q];
        self.pull_back(&here.slope, &mut gradient);
        if self.curvature == 0.0 {
            self.curvature = norm(&gradient) / self.shape.radius;
        }
        let mut gap = restricted_gap(&mut *oracle, &gradient, &here.s, &mut scratch)?;
        if gap <= wanted {
            let after = self.descend(phi, value, wanted)?;
            return Ok(Restricted { fell: value - after, left: 0.0 });
        }
        // values that differ by no more are the same but for rounding: slopes decide then
        let tie = 16.0 * f64::EPSILON * value.abs();
        let (mut least, mut seen, mut idle) = (value, value, 0);
        // the point from which steps are taken: `here`, or beyond it
        let mut at = here.clone();
        let (mut trial, mut before) = (here.clone(), here.clone());
        let (mut momentum, mut is_beyond) = (1.0f64, false);
        let most = if self.s.iter().any(|s| *s != 0.0) { MOST_STEPS } else { FIRST_STEPS };
        for step in 1..=most {
            loop {
                oracle.prox(&gradient, &at.s, self.curvature, &mut trial.s)?;
                self.look(phi, &mut trial)?;
                if at.bends_below(&gradient, &trial, self.curvature, tie)
                    || !(self.curvature < 1e300)
                {
                    break;
                }
                self.curvature *= 2.0;
            }
            self.curvature *= 0.9;
            if !(trial.value <= least + tie) {
                if !is_beyond {
                    break; // rounding leaves nothing to gain
                }
                self.pull_back(&here.slope, &mut gradient);
                at.copy_from(&here);
                (momentum, is_beyond) = (1.0, false);
                continue;
            }
            least = least.min(trial.value);
            let along: f64 =
                (0..p * q).map(|i| (at.s[i] - trial.s[i]) * (trial.s[i] - here.s[i])).sum();
            std::mem::swap(&mut before, &mut here);
            std::mem::swap(&mut here, &mut trial);
            let restarts = is_beyond && along > 0.0;
            if restarts || step % LOOK_EVERY == 0 {
                self.pull_back(&here.slope, &mut gradient);
                let now = restricted_gap(&mut *oracle, &gradient, &here.s, &mut scratch)?;
                let progress = now < 0.9 * gap || least < seen - tie;
                idle = if progress { 0 } else { idle + 1 };
                (gap, seen) = (gap.min(now), least);
                if now <= wanted || idle == MOST_IDLE {
                    break;
                }
            }
            if restarts {
                at.copy_from(&here);
                (momentum, is_beyond) = (1.0, false);
                continue;
            }
            let next = 0.5 * (1.0 + (1.0 + 4.0 * momentum * momentum).sqrt());
            let beta = (momentum - 1.0) / next;
            (momentum, is_beyond) = (next, true);
            combine(1.0 + beta, &here.s, -beta, &before.s, &mut at.s);
            combine(1.0 + beta, &here.image, -beta, &before.image, &mut at.image);
            at.value = phi.look(&at.image, &mut at.slope)?;
            self.pull_back(&at.slope, &mut gradient);
        }
        (self.s, self.image) = (here.s, here.image);
        let after = self.descend(phi, here.value, wanted)?;
        Ok(Restricted { fell: value - after, left: 0.0 })
    }

    fn ask(&mut self, oracles: &mut Oracles<'_>, slope: &[f64]) -> Result<LinearMin> {
        let NuclearShape { radius, failure, .. } = self.shape;
        // relative to the minimum itself, which the last one tells best
        let size = radius * self.found.upper;
        let accuracy = (self.wanted / size).clamp(1e-12, 1e-2);
        let pairs = (self.p.max(self.q) + MORE_PAIRS).min(MOST_PAIRS);
        let request = Request { pairs, accuracy, most_steps: MOST_LANCZOS_STEPS, failure };
        self.found = oracles.leading_pairs(slope, request, &mut self.stream)?;
        let Leading { sigma, upper, is_certain, products, .. } = &self.found;
        let value = -radius * sigma.first().copied().unwrap_or(0.0);
        let confidence = match is_certain {
            true => Confidence::Exact,
            false => Confidence::Probabilistic { failure },
        };
        Ok(LinearMin { value, lower: -radius * upper, confidence, products: *products })
    }

    fn grow(&mut self, oracles: &mut Oracles<'_>) -> Result<bool> {
        let mut is_new = false;
        if self.p == 0 {
            let NuclearShape { failure, .. } = self.shape;
            let request = Request {
                pairs: MOST_PAIRS,
                accuracy: FIRST_ACCURACY,
                most_steps: MOST_LANCZOS_STEPS,
                failure,
            };
            let first = oracles.leading_pairs(&self.first, request, &mut self.stream)?;
            is_new = self.extend(&first);
        }
        let found = std::mem::take(&mut self.found);
        is_new |= self.extend(&found);
        self.found = found;
        Ok(is_new)
    }

    fn shrink(&mut self) {
        // where the decomposition fails all directions stay
        if let Ok(factors) = self.reduced() {
            self.set_to(&factors);
            let mut image = std::mem::take(&mut self.image);
            self.image_of(&self.s, &mut image);
            self.image = image;
        }
    }

    fn scale(&self, slope: &[f64]) -> f64 {
        slope.iter().zip(&self.image).map(|(a, b)| (a * b).abs()).sum()
    }

    fn write(&self, _x: &mut [f64]) {}

    fn factors(&self) -> Option<Result<Factors>> {
        Some(self.reduced())
    }

    fn state(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let NuclearShape { rows, columns, .. } = self.shape;
        let most = rows.min(columns) as u64;
        let mut counts = [self.p as u64, self.q as u64, self.found.sigma.len() as u64];
        archive.count("p", &mut counts[0])?;
        archive.count("q", &mut counts[1])?;
        archive.count("pairs", &mut counts[2])?;
        let [p, q, k] = counts.map(|count| count.min(most) as usize);
        (self.p, self.q) = (p, q);
        self.left.resize(rows * p, 0.0);
        self.right.resize(columns * q, 0.0);
        self.s.resize(p * q, 0.0);
        archive.numbers("left", &mut self.left)?;
        archive.numbers("right", &mut self.right)?;
        archive.numbers("s", &mut self.s)?;
        archive.numbers("image", &mut self.image)?;
        let found = &mut self.found;
        found.sigma.resize(k, 0.0);
        found.left.resize(rows * k, 0.0);
        found.right.resize(columns * k, 0.0);
        archive.numbers("sigma", &mut found.sigma)?;
        archive.numbers("found_left", &mut found.left)?;
        archive.numbers("found_right", &mut found.right)?;
        archive.number("upper", &mut found.upper)?;
        archive.nested("stream", |archive| self.stream.state(archive))?;
        archive.number("curvature", &mut self.curvature)?;
        archive.number("wanted", &mut self.wanted)
    }
}

/// The FW-gap over the small ball.
fn restricted_gap(
    oracle: &mut dyn Oracle,
    gradient: &[f64],
    s: &[f64],
    scratch: &mut Vec<f64>,
) -> Result<f64> {
    Ok(dot(gradient, s) - oracle.support(gradient, scratch)?.lower)
}

/// An orthonormal basis of `k` columns, with what is new in `more` others: their number and themselves, row-major.
fn extended(n: usize, k: usize, basis: &[f64], more: usize, others: &[f64]) -> (usize, Vec<f64>) {
    let mut columns = vec![0.0; n * (k + more)];
    let (own, new) = columns.split_at_mut(n * k);
    transpose(basis, n, k, own);
    transpose(others, n, more, new);
    let mut count = k;
    for j in k..k + more {
        let (done, rest) = columns.split_at_mut(j * n);
        let column = &mut rest[..n];
        let before = norm(column);
        for _ in 0..2 {
            for b in done[..count * n].chunks_exact(n) {
                axpy(-dot(b, column), b, column);
            }
        }
        let length = norm(column);
        if length > IS_NEW * before && count < n {
            scale(1.0 / length, column);
            columns.copy_within(j * n..(j + 1) * n, count * n);
            count += 1;
        }
    }
    columns.truncate(count * n);
    let mut out = vec![0.0; n * count];
    transpose(&columns, count, n, &mut out);
    (count, out)
}
