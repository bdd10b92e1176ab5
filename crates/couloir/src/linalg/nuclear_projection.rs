//! The Euclidean projection onto a nuclear-norm ball: singular values projected onto an l1 ball.
//!
//! **Membership.** The result is `sum_i (s'_i/s_i) u_i (u_i^T w)`, whose nuclear norm is at most
//! `sum_i (s'_i/s_i) |u_i^T w|`, whatever the `u_i` are. So `s_i` is taken from above, `s'_i` from differences to the largest
//! singular value (far outside, `s_i - threshold` would cancel), and the ball that is projected on is smaller by a margin of
//! some roundings, for the products at the end: the result is in the ball, and not only close to it. What that costs in
//! accuracy is part of the rounding that is reported.

use super::spectral::{SAFE_SQUARES, SmallSvd, SymmetricEigen, Thin, max_abs, safe_factor, trace};
use super::{Factor, distance_squared, norm};
use crate::error::{Result, check_finite};

/// Below this ratio to the largest singular value the square roots of a Gram matrix's eigenvalues
/// are not good enough (their error is about `eps sigma_1^2 / sigma`), and a second pass is made.
const GRAM_IS_ENOUGH: f64 = 1e-4;

/// Scratch memory of the projection.
pub(crate) struct NuclearProjection {
    thin: Thin,
    gram: Vec<f64>,
    eigen: SymmetricEigen,
    svd: Option<SmallSvd>,
    singular: Vec<f64>,
    sorted: Vec<f64>,
    rotation: Vec<f64>,
    transform: Vec<f64>,
    /// A copy of the point that is repaired.
    copy: Vec<f64>,
}

/// `s -> max(s - threshold, 0)` with the threshold `top + level`: from differences to the largest singular value.
#[derive(Clone, Copy, Debug)]
struct Shrinkage {
    top: f64,
    level: f64,
}

impl Shrinkage {
    fn nothing(top: f64) -> Self {
        Shrinkage { top, level: -top }
    }

    fn threshold(self) -> f64 {
        self.top + self.level
    }

    fn kept(self, s: f64) -> f64 {
        ((s - self.top) - self.level).max(0.0)
    }
}

/// A ball to project on.
#[derive(Clone, Copy, Debug)]
struct Goal {
    /// A point of the ball of this radius stays as it is.
    accepted: f64,
    /// The others go to the ball of this radius.
    target: f64,
    /// Whether a Gram matrix is accurate enough where it is for a projection.
    is_rough: bool,
}

impl Goal {
    fn scaled(self, factor: f64) -> Self {
        let Goal { accepted, target, .. } = self;
        Goal { accepted: accepted * factor, target: target * factor, ..self }
    }
}

/// What a Gram matrix alone says of the projection.
enum Sight {
    /// There is nothing to do.
    Inside,
    /// The singular values above the threshold are kept, less it.
    Clear { shrinkage: Shrinkage, smallest_kept: f64 },
    /// Small singular values matter that the Gram matrix does not know well enough.
    Blurred,
}

/// What the projection did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Projected {
    /// `|w|`, Frobenius.
    pub(crate) norm: f64,
    /// `|w - projection|`, Frobenius.
    pub(crate) moved: f64,
    /// A bound of the rounding error of the projection, Frobenius.
    pub(crate) rounding: f64,
}

impl NuclearProjection {
    pub(crate) fn new(thin: Thin) -> Self {
        let h = thin.short();
        NuclearProjection {
            thin,
            gram: vec![0.0; h * h],
            eigen: SymmetricEigen::new(h),
            svd: None,
            singular: vec![0.0; h],
            sorted: vec![0.0; h],
            rotation: vec![0.0; h * h],
            transform: vec![0.0; h * h],
            copy: Vec::new(),
        }
    }

    /// What rounding in the products at the end may add to the nuclear norm, relative to the radius.
    fn margin(&self) -> f64 {
        f64::EPSILON * (4.0 + self.thin.short() as f64)
    }

    /// The ball of a repair.
    fn repaired(&self, radius: f64) -> Goal {
        let accepted = radius * (1.0 + 2.0 * f64::EPSILON);
        Goal { accepted, target: radius * (1.0 - self.margin()), is_rough: false }
    }

    /// Whether the Gram matrix alone tells that [`repair`](Self::repair) would leave this point as it is.
    pub(crate) fn is_inside(&mut self, p: &[f64], radius: f64) -> bool {
        let h = self.thin.short();
        self.thin.gram(p, &mut self.gram);
        let square = trace(&self.gram, h);
        // |P|_* <= sqrt(rank) |P|: saves the decomposition well inside
        if !SAFE_SQUARES.contains(&square) {
            return (h as f64).sqrt() * norm(p) <= radius;
        }
        let goal = self.repaired(radius);
        if (h as f64 * square).sqrt() * (1.0 + self.thin.rounding()) <= radius {
            return true;
        }
        let Ok(length) = self.decompose() else { return false };
        let hidden = self.thin.rounding() * length * length;
        matches!(self.look(goal, hidden), Sight::Inside)
    }

    /// Projects a point that is outside of the ball by more than two units in the last place of the radius; returns how far
    /// it has moved. Any other point keeps its bits.
    ///
    /// # Errors
    /// A point that is not finite, a decomposition that fails.
    pub(crate) fn repair(&mut self, p: &mut [f64], radius: f64) -> Result<f64> {
        let mut copy = std::mem::take(&mut self.copy);
        copy.clear();
        copy.extend_from_slice(p);
        let done = self.project_to(p, self.repaired(radius), |p| p.copy_from_slice(&copy));
        let moved = distance_squared(p, &copy).sqrt();
        self.copy = copy;
        done.map(|_| moved)
    }

    /// Projects `w`, in place, onto the ball; `restore` writes `w` anew.
    ///
    /// With `w = U diag(s) V^T` the projection is `U diag(s'/s) U^T w`, `s'` the projection of `s`
    /// onto the l1 ball: one Gram matrix and one product.
    ///
    /// # Errors
    /// A `w` that is not finite, a decomposition that fails.
    pub(crate) fn project(
        &mut self,
        w: &mut [f64],
        radius: f64,
        restore: impl FnOnce(&mut [f64]),
    ) -> Result<Projected> {
        let target = radius * (1.0 - self.margin());
        self.project_to(w, Goal { accepted: target, target, is_rough: true }, restore)
    }

    fn project_to(
        &mut self,
        w: &mut [f64],
        goal: Goal,
        restore: impl FnOnce(&mut [f64]),
    ) -> Result<Projected> {
        let (thin, h) = (self.thin, self.thin.short());
        thin.gram(w, &mut self.gram);
        let mut factor = 1.0;
        // only then can an entry be too large, too small or not finite
        if !SAFE_SQUARES.contains(&trace(&self.gram, h)) {
            check_finite("the matrix to project", w)?;
            factor = safe_factor(max_abs(w));
            super::scale(factor, w);
            thin.gram(w, &mut self.gram);
        }
        let goal = goal.scaled(factor);
        let length = self.decompose()?;
        let mut projected =
            Projected { norm: length / factor, moved: 0.0, rounding: thin.rounding() * length };
        let hidden = thin.rounding() * length * length;
        match self.look(goal, hidden) {
            Sight::Inside => {
                if factor != 1.0 {
                    restore(w);
                }
                projected.rounding /= factor;
                return Ok(projected);
            }
            Sight::Clear { shrinkage, smallest_kept } => {
                projected.rounding *= length / smallest_kept;
                projected.rounding += self.margin() * goal.target;
                self.shrink(shrinkage, hidden);
                return Ok(self.finish(w, shrinkage, factor, projected));
            }
            Sight::Blurred => {}
        }
        // Second pass. The rows of U^T w are nearly orthogonal, of lengths D; their Gram matrix,
        // scaled by D, is known to full relative accuracy and is E diag(l) E^T, so U^T w has the
        // singular values and left vectors of the small matrix D E diag(sqrt l), to about
        // eps sigma_1.
        thin.transform(&self.eigen.vectors, w);
        self.rotation.copy_from_slice(&self.eigen.vectors);
        thin.gram(w, &mut self.gram);
        for i in 0..h {
            self.sorted[i] = self.gram[i * h + i].max(0.0).sqrt();
        }
        let lengths = &self.sorted;
        for i in 0..h {
            for j in 0..h {
                let product = lengths[i] * lengths[j];
                let entry = &mut self.gram[i * h + j];
                *entry = if product > 0.0 { *entry / product } else { 0.0 };
            }
        }
        self.eigen.decompose(&self.gram)?;
        for k in 0..h {
            let root = self.eigen.values[k].max(0.0).sqrt();
            let column = &mut self.gram[k * h..(k + 1) * h];
            for ((c, length), e) in column.iter_mut().zip(lengths).zip(self.eigen.vector(k)) {
                *c = length * e * root;
            }
        }
        let margin = self.margin();
        let svd = self.svd.get_or_insert_with(|| SmallSvd::new(h));
        svd.decompose(&self.gram)?;
        self.singular.copy_from_slice(&svd.values);
        let sum: f64 = self.singular.iter().sum();
        let found = l1_threshold(&self.singular, goal.target, &mut self.sorted);
        let Some(shrinkage) = found.filter(|_| sum > goal.accepted) else {
            restore(w);
            projected.rounding /= factor;
            return Ok(projected);
        };
        projected.rounding += margin * goal.target;
        // what the decompositions may hide of |u_k^T w|
        let hidden = (8.0 + h as f64) * f64::EPSILON * self.singular[0];
        // The transform of U^T w is U (U2 diag(s'/s) U2^T).
        let inner = &mut self.gram;
        inner.fill(0.0);
        for k in 0..h {
            let kept = shrinkage.kept(self.singular[k]) / (self.singular[k] + hidden);
            if kept > 0.0 {
                add_outer(kept, &svd.left[k * h..(k + 1) * h], inner);
            }
        }
        self.transform.fill(0.0);
        for k in 0..h {
            // Row k of the old rotation is eigenvector k.
            for i in 0..h {
                let u = self.rotation[k * h + i];
                let row = &mut self.transform[i * h..(i + 1) * h];
                super::axpy(u, &inner[k * h..(k + 1) * h], row);
            }
        }
        std::mem::swap(&mut self.rotation, &mut self.transform);
        Ok(self.finish(w, shrinkage, factor, projected))
    }

    /// The projection from the Gram matrix of `w` alone, of which the entries together err by at most `error`
    /// (Frobenius): the matrix to multiply `w` with goes to `out`. None where that is not accurate enough, or
    /// where squares overflow or vanish.
    ///
    /// # Errors
    /// A decomposition that fails.
    pub(crate) fn factor(
        &mut self,
        gram: &[f64],
        error: f64,
        radius: f64,
        out: &mut Factor,
    ) -> Result<Option<Projected>> {
        let h = self.thin.short();
        if !SAFE_SQUARES.contains(&trace(gram, h)) {
            return Ok(None);
        }
        self.gram.copy_from_slice(gram);
        let length = self.decompose()?;
        let rounding = error / length;
        let mut done = Projected { norm: length, moved: 0.0, rounding };
        let target = radius * (1.0 - self.margin());
        match self.look(Goal { accepted: target, target, is_rough: true }, error) {
            Sight::Inside => {
                out.matrix.clear();
                out.matrix.resize(h * h, 0.0);
                (0..h).for_each(|i| out.matrix[i * (h + 1)] = 1.0);
                out.values.clear();
                out.values.resize(h, 1.0);
                out.vectors.clone_from(&out.matrix);
            }
            Sight::Clear { shrinkage, smallest_kept } => {
                done.rounding = error / smallest_kept + self.margin() * target;
                done.moved = self.moved(shrinkage);
                self.shrink(shrinkage, error);
                out.matrix.clone_from(&self.rotation);
                out.values.clear();
                out.vectors.clear();
                for k in (0..h).filter(|&k| shrinkage.kept(self.singular[k]) > 0.0) {
                    out.values.push(self.ratio(k, shrinkage, error));
                    out.vectors.extend_from_slice(self.eigen.vector(k));
                }
            }
            Sight::Blurred => return Ok(None),
        }
        Ok(Some(done))
    }

    /// Singular values and vectors from the Gram matrix; returns the length.
    fn decompose(&mut self) -> Result<f64> {
        self.eigen.decompose(&self.gram)?;
        for (s, value) in self.singular.iter_mut().zip(&self.eigen.values) {
            *s = value.max(0.0).sqrt();
        }
        Ok(norm(&self.singular))
    }

    /// What the Gram matrix, whose eigenvalues err by at most `hidden`, says of the projection.
    fn look(&mut self, goal: Goal, hidden: f64) -> Sight {
        // The largest that the singular values can be: well inside is inside for certain.
        let at_most: f64 = self.eigen.values.iter().map(|v| (v.max(0.0) + hidden).sqrt()).sum();
        if at_most <= goal.accepted {
            return Sight::Inside;
        }
        // No threshold (as it seems, inside by a hair): zero, and the second pass decides.
        let top = self.singular[self.singular.len() - 1];
        let shrinkage = l1_threshold(&self.singular, goal.target, &mut self.sorted)
            .unwrap_or(Shrinkage::nothing(top));
        let kept = self.singular.iter().copied().filter(|s| shrinkage.kept(*s) > 0.0);
        let smallest_kept = kept.fold(top, f64::min);
        let is_clear = goal.is_rough && smallest_kept >= GRAM_IS_ENOUGH * top;
        if is_clear && shrinkage.threshold() > 0.0 {
            Sight::Clear { shrinkage, smallest_kept }
        } else {
            Sight::Blurred
        }
    }

    /// `s'/s` for the singular value number `k`, whose square errs by at most `hidden`, from below.
    fn ratio(&self, k: usize, shrinkage: Shrinkage, hidden: f64) -> f64 {
        let s = self.singular[k];
        let kept = shrinkage.kept(s);
        if kept > 0.0 { kept / (s * s + hidden).sqrt() } else { 0.0 }
    }

    /// The rotation becomes `U diag(s'/s) U^T`.
    fn shrink(&mut self, shrinkage: Shrinkage, hidden: f64) {
        self.rotation.fill(0.0);
        for k in 0..self.singular.len() {
            let kept = self.ratio(k, shrinkage, hidden);
            if kept > 0.0 {
                add_outer(kept, self.eigen.vector(k), &mut self.rotation);
            }
        }
    }

    /// How far the singular values move.
    fn moved(&self, shrinkage: Shrinkage) -> f64 {
        let threshold = shrinkage.threshold();
        self.singular.iter().map(|s| s.min(threshold).powi(2)).sum::<f64>().sqrt()
    }

    /// Multiplies with the rotation, and takes the factor out that `w` was scaled with.
    fn finish(
        &mut self,
        w: &mut [f64],
        shrinkage: Shrinkage,
        factor: f64,
        mut projected: Projected,
    ) -> Projected {
        self.thin.transform(&self.rotation, w);
        projected.moved = self.moved(shrinkage) / factor;
        projected.rounding /= factor;
        if factor != 1.0 {
            super::scale(1.0 / factor, w);
        }
        projected
    }
}

/// `m += factor u u^T`.
fn add_outer(factor: f64, u: &[f64], m: &mut [f64]) {
    for (a, row) in u.iter().zip(m.chunks_exact_mut(u.len())) {
        super::axpy(factor * a, u, row);
    }
}

/// The shrinkage with `sum max(s - t, 0) = radius`, for `s >= 0`; none where the sum of `s` is at most
/// `radius` as it is.
fn l1_threshold(s: &[f64], radius: f64, sorted: &mut [f64]) -> Option<Shrinkage> {
    if s.iter().sum::<f64>() <= radius {
        return None;
    }
    sorted.copy_from_slice(s);
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    let top = sorted[0];
    let mut sum = 0.0;
    let mut level = 0.0;
    for (k, s) in sorted.iter().enumerate() {
        sum += s - top;
        let t = (sum - radius) / (k + 1) as f64;
        if t >= s - top {
            break;
        }
        level = t;
    }
    Some(Shrinkage { top, level: level.max(-top) })
}
