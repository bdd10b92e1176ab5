//! CndG on a thin nuclear ball, without touching the long side.
//!
//! Take points as `h x d` matrices, `h` much smaller than `d`. Every atom of CndG is
//! `p_t = -(radius/sigma) u u^T G_t` with `G_t = r + beta (q_t - q)` and `(sigma^2, u)` the top eigenpair
//! of `G_t G_t^T`: its rows lie in the row space of `[r; q]`. So
//!
//! ```text
//! q_t = a q + S,   S = A r + B q,   G_t = r + beta (S - b q),   b = 1 - a
//! ```
//!
//! and all that CndG asks (the top eigenpair, `tau_t`, `|q_t - p_t|`) is made of the `h x h` products
//! `r r^T, q r^T, q q^T` (computed once) and `S r^T, S q^T, S S^T`, which a step changes by a factor and
//! a rank-one matrix. The long side is seen twice: in the products at the start and in the expansion
//! `A r + (B + a I) q` at the end.
//!
//! **Accuracy.** No block is mixed with another of a different size before its own products are
//! known, every entry is right relative to the lengths of its two rows, and the sums that shrink
//! (`1 - theta` in front) forget their rounding. What is left is cancellation in `G_t`: where `|G_t|` is
//! much smaller than `|r|` and `beta |S|`, `beta b |q|`, the products know its length to fewer digits than
//! the matrix itself would. Then the procedure is *anchored anew*: `q_t` and `G_t` are expanded and take the
//! places of `q` and `r`. CndG from there makes the same iterates, since `r' + beta (u - q')` is the same
//! gradient.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use super::{SlideReport, SlideState, SlideTask};
use crate::error::{Result, check_finite};
use crate::linalg::lanczos::{Lanczos, Stop};
use crate::linalg::spectral::{SymmetricEigen, Thin, max_abs};
use crate::linalg::{axpby, dot, norm, scale};
use crate::watch::Watch;

/// The residual, relative to the eigenvalue, to which a step's eigenpair is found.
const EIGENPAIR_TOLERANCE: f64 = 1e-12;

/// How much of the start vector is random, so that no eigenvector is orthogonal to it.
const RANDOM_PART: f64 = 1e-3;

/// Anchor anew where the radius may be passed by this much, relatively,
const FEASIBLE: f64 = 5e-13;

/// or where rounding may make up this part of the gap,
const GAP_ROUNDING: f64 = 0.05;

/// provided that `|G|` has become this much smaller than what it is made of.
const WORTH_ANCHORING: f64 = 0.25;

/// Magnitudes of the task's parts between which no square overflows or vanishes.
const SAFE: std::ops::RangeInclusive<f64> = 1e-120..=1e120;

/// Scratch memory of the compressed procedure. Square matrices are `h x h`, row after row.
pub(crate) struct Compressed {
    thin: Thin,
    radius: f64,
    small: Small,
    /// `r` and `q` after anchoring anew; empty until that happens.
    anchor_r: Vec<f64>,
    anchor_q: Vec<f64>,
}

impl Compressed {
    pub(crate) fn new(thin: Thin, radius: f64) -> Self {
        Compressed {
            thin,
            radius,
            small: Small::new(thin.short()),
            anchor_r: Vec::new(),
            anchor_q: Vec::new(),
        }
    }

    /// CndG(r, q, beta, eta, Omega) as printed. None where the magnitudes are too far from 1 for
    /// squares: the caller takes the plain procedure.
    pub(crate) fn slide(
        &mut self,
        task: &SlideTask<'_>,
        watch: &Watch,
        out: &mut [f64],
    ) -> Result<Option<SlideReport>> {
        let SlideTask { r, q, beta, eta, budget } = *task;
        check_finite("r of CndG", r)?;
        check_finite("q of CndG", q)?;
        let (size_r, size_q) = (max_abs(r), max_abs(q));
        let safe = |v: f64| v == 0.0 || SAFE.contains(&v);
        if !(safe(size_r) && safe(size_q) && safe(beta * self.radius) && safe(beta * size_q)) {
            return Ok(None);
        }
        let Compressed { thin, radius, small, anchor_r, anchor_q } = self;
        let (thin, radius) = (*thin, *radius);
        let mut report = SlideReport {
            gap: f64::INFINITY,
            lo_calls: 0,
            products: 0,
            state: SlideState::OutOfBudget,
        };
        if budget == 0 {
            out.copy_from_slice(q);
            return Ok(Some(report));
        }
        // The first test needs r alone: often it is the last.
        small.anchor_gradient(thin, r);
        let first = small.first_minimum(radius, dot(r, q), thin.rounding())?;
        if first <= eta {
            out.copy_from_slice(q);
            report = SlideReport { gap: first, lo_calls: 1, state: SlideState::Reached, ..report };
            return Ok(Some(report));
        }
        small.anchor_center(thin, r, q);
        let mut anchored = false;
        // A bound of how far q_t is outside, relative to the radius.
        let mut infeasible = 0.0;
        while report.lo_calls < budget {
            // p_t and tau_t. Only a full decomposition may end the procedure.
            small.form_gradient_gram(beta);
            let mut at = Minimum::default();
            let mut exact = report.lo_calls + 1 == budget;
            for _ in 0..2 {
                small.find_top_vector(exact)?;
                at = small.linear_minimum(beta, radius, thin.rounding());
                if exact || at.tau + at.hidden > eta && at.tau > at.floor {
                    break;
                }
                exact = true;
            }
            let theta = (at.tau / (beta * at.distance_squared)).min(1.0);
            // Cancellation has eaten too much, and there is something to gain: anchor anew.
            let then_infeasible = infeasible + theta * (at.unit_error - infeasible);
            let blurred = then_infeasible > FEASIBLE || at.blur > GAP_ROUNDING * at.tau;
            if blurred && at.gradient < WORTH_ANCHORING * at.parts {
                let (base_r, base_q) = base(anchored, anchor_r, anchor_q, task);
                small.expand(thin, base_r, base_q, out);
                anchor_q.clear();
                anchor_q.extend_from_slice(out);
                anchor_r.clear();
                anchor_r.extend(r.iter().zip(q).zip(&*out).map(|((r, q), o)| r + beta * (o - q)));
                anchored = true;
                infeasible = 0.0;
                small.anchor_gradient(thin, anchor_r);
                small.anchor_center(thin, anchor_r, anchor_q);
                continue;
            }
            watch.spend(1)?;
            report.lo_calls += 1;
            report.gap = at.tau + at.hidden;
            if report.gap <= eta {
                report.state = SlideState::Reached;
                break;
            }
            if at.tau <= at.floor || theta <= 0.0 || !theta.is_finite() {
                report.state = SlideState::RoundingFloor;
                break;
            }
            if report.lo_calls == budget {
                break; // a last step would go unverified
            }
            small.step(beta, radius, theta, at.sigma);
            infeasible = then_infeasible;
        }
        let (base_r, base_q) = base(anchored, anchor_r, anchor_q, task);
        small.expand(thin, base_r, base_q, out);
        Ok(Some(report))
    }
}

/// What the small matrices are products of.
fn base<'a>(
    anchored: bool,
    anchor_r: &'a [f64],
    anchor_q: &'a [f64],
    task: &SlideTask<'a>,
) -> (&'a [f64], &'a [f64]) {
    if anchored { (anchor_r, anchor_q) } else { (task.r, task.q) }
}

/// A linear minimisation as CndG sees it.
#[derive(Clone, Copy, Debug, Default)]
struct Minimum {
    /// `tau_t = <G, q_t - p_t>`.
    tau: f64,
    /// The top singular value of `G`.
    sigma: f64,
    /// `|q_t - p_t|^2`.
    distance_squared: f64,
    /// What rounding may hide of the minimum: to be added to `tau` for an upper bound.
    hidden: f64,
    /// `hidden` and the rounding of `tau` itself.
    blur: f64,
    /// Where `tau` is lost in rounding: as in the plain procedure, or below `hidden`.
    floor: f64,
    /// `|G|`, and the length of the parts that it is the sum of.
    gradient: f64,
    parts: f64,
    /// By how much the length of `v` may differ from 1.
    unit_error: f64,
}

/// The `h x h` side of the procedure.
struct Small {
    h: usize,
    /// `r r^T`, `q q^T`, and `q r^T` (rows of `q` by rows of `r`).
    rr: Vec<f64>,
    qq: Vec<f64>,
    qr: Vec<f64>,
    /// `S S^T`, `S r^T`, `S q^T`.
    ss: Vec<f64>,
    sr: Vec<f64>,
    sq: Vec<f64>,
    /// `S = A r + B q`.
    a_matrix: Vec<f64>,
    b_matrix: Vec<f64>,
    /// `q_t = q_weight q + S`; `q_missing = 1 - q_weight`, kept apart because it starts tiny.
    q_weight: f64,
    q_missing: f64,
    q_is_zero: bool,
    /// `G G^T`, and half of it before it is made symmetric.
    gram: Vec<f64>,
    half: Vec<f64>,
    /// The top eigenvector of `gram`, and the eigenvalue.
    u: Vec<f64>,
    lambda: f64,
    /// `r G^T u`, `q G^T u`, `S G^T u`.
    gr: Vec<f64>,
    gq: Vec<f64>,
    gs: Vec<f64>,
    row: Vec<f64>,
    random: Vec<f64>,
    start: Vec<f64>,
    eigen: SymmetricEigen,
    lanczos: Lanczos,
}

impl Small {
    fn new(h: usize) -> Self {
        let mut rng = Pcg64::seed_from_u64(0x63_6f75_6c6f_6972);
        let mut random: Vec<f64> = (0..h).map(|_| rng.random::<f64>() - 0.5).collect();
        let length = norm(&random);
        scale(RANDOM_PART / length, &mut random);
        let square = || vec![0.0; h * h];
        let vector = || vec![0.0; h];
        Small {
            h,
            rr: square(),
            qq: square(),
            qr: square(),
            ss: square(),
            sr: square(),
            sq: square(),
            a_matrix: square(),
            b_matrix: square(),
            q_weight: 1.0,
            q_missing: 0.0,
            q_is_zero: false,
            gram: square(),
            half: square(),
            u: vector(),
            lambda: 0.0,
            gr: vector(),
            gq: vector(),
            gs: vector(),
            row: vector(),
            random,
            start: vector(),
            eigen: SymmetricEigen::new(h),
            lanczos: Lanczos::new(h, h),
        }
    }

    /// Starts with the gradient `r`.
    fn anchor_gradient(&mut self, thin: Thin, r: &[f64]) {
        thin.gram(r, &mut self.rr);
    }

    /// Starts with the centre `q`, nothing moved yet.
    fn anchor_center(&mut self, thin: Thin, r: &[f64], q: &[f64]) {
        self.q_is_zero = max_abs(q) == 0.0;
        if self.q_is_zero {
            self.qq.fill(0.0);
            self.qr.fill(0.0);
        } else {
            thin.gram(q, &mut self.qq);
            thin.cross(q, r, &mut self.qr);
        }
        let Small { ss, sr, sq, a_matrix, b_matrix, .. } = self;
        for m in [ss, sr, sq, a_matrix, b_matrix] {
            m.fill(0.0);
        }
        self.q_weight = 1.0;
        self.q_missing = 0.0;
    }

    /// `tau_1 = <r, q> + radius sigma_1(r)`, and what rounding may hide.
    fn first_minimum(&mut self, radius: f64, inner: f64, rounding: f64) -> Result<f64> {
        self.gram.copy_from_slice(&self.rr);
        self.find_top_vector(true)?;
        let hidden = rounding * trace(&self.rr, self.h);
        Ok(inner + radius * (self.lambda.max(0.0) + hidden).sqrt())
    }

    /// `G G^T` of `G = r + beta (S - b q)`.
    fn form_gradient_gram(&mut self, beta: f64) {
        let h = self.h;
        let shift = beta * self.q_missing;
        let Small { rr, qq, qr, ss, sr, sq, gram, half, .. } = self;
        for i in 0..h * h {
            half[i] = 0.5 * (rr[i] + beta * beta * ss[i] + shift * shift * qq[i])
                + (beta * sr[i] - shift * qr[i] - beta * shift * sq[i]);
        }
        for i in 0..h {
            for j in 0..h {
                gram[i * h + j] = half[i * h + j] + half[j * h + i];
            }
        }
    }

    /// The top eigenpair of `gram`: from the full decomposition where `exact`, else from a Lanczos
    /// process that starts near the last one.
    fn find_top_vector(&mut self, exact: bool) -> Result<()> {
        let h = self.h;
        if !exact {
            let Small { u, start, random, gram, lanczos, .. } = self;
            for ((s, u), x) in start.iter_mut().zip(&*u).zip(&*random) {
                *s = u + x;
            }
            let length = norm(start);
            scale(1.0 / length, start);
            let stop = Stop { tolerance: EIGENPAIR_TOLERANCE, max_steps: h, every: 2 };
            let found =
                lanczos.run(start, &stop, |x, y| columns_times(gram, x, y), |_, _| true, u)?;
            self.lambda = found.theta;
            if found.residual <= EIGENPAIR_TOLERANCE * found.theta {
                return Ok(());
            }
        }
        self.eigen.decompose(&self.gram)?;
        self.u.copy_from_slice(self.eigen.top_vector());
        self.lambda = self.eigen.top_value();
        Ok(())
    }

    /// What CndG asks about `p = -(radius/sigma) u u^T G`.
    fn linear_minimum(&mut self, beta: f64, radius: f64, rounding: f64) -> Minimum {
        let h = self.h;
        let shift = beta * self.q_missing;
        let weight = self.q_weight;
        let Small { rr, qq, qr, ss, sr, sq, u, gr, gq, gs, row, .. } = self;
        // r G^T u = (r r^T) u + beta (S r^T)^T u - beta b (q r^T)^T u
        columns_times(rr, u, gr);
        add_columns_times(beta, sr, u, row, gr);
        add_columns_times(-shift, qr, u, row, gr);
        // q G^T u = (q r^T) u + beta (S q^T)^T u - beta b (q q^T) u
        rows_times(qr, u, gq);
        add_columns_times(beta, sq, u, row, gq);
        add_columns_times(-shift, qq, u, row, gq);
        // S G^T u = (S r^T) u + beta (S S^T) u - beta b (S q^T) u
        rows_times(sr, u, gs);
        add_columns_times(beta, ss, u, row, gs);
        rows_times(sq, u, row);
        axpby(-shift, row, 1.0, gs);

        let (in_s, in_q) = (dot(u, gs), dot(u, gq));
        let sigma = (dot(u, gr) + beta * in_s - shift * in_q).max(0.0).sqrt();
        let [rr, qq, qr, ss, sr, sq] = [rr, qq, qr, ss, sr, sq].map(|m| trace(m, h));
        // <r, q_t>, <S, q_t>, <q, q_t>
        let (with_r, with_s, with_q) = (weight * qr + sr, weight * sq + ss, weight * qq + sq);
        let inner = with_r + beta * with_s - shift * with_q;
        let length_squared = (weight * with_q + with_s).max(0.0);
        // <q_t, p> = -(radius/sigma) u^T q_t G^T u
        let slope = if sigma > 0.0 { radius * (weight * in_q + in_s) / sigma } else { 0.0 };
        let tau = inner + radius * sigma;
        let distance_squared = (length_squared + 2.0 * slope + radius * radius).max(0.0);

        let gradient = trace(&self.gram, h).max(0.0).sqrt();
        let parts_squared = rr + beta * beta * ss + shift * shift * qq;
        let parts = parts_squared.sqrt();
        // As for the Gram matrix of a plain minimisation, but relative to the parts of G.
        let lost = rounding * parts_squared + 8.0 * f64::EPSILON * self.lambda.max(0.0);
        let top = (self.lambda.max(sigma * sigma) + lost).sqrt();
        let hidden = radius * (top - sigma);
        let length = length_squared.sqrt();
        let center = qq.sqrt();
        let own = rounding * parts * (weight * center + ss.sqrt());
        let terms = gradient * distance_squared.sqrt();
        let sums = with_r.abs().max(beta * length * center.max(length) * f64::EPSILON);
        Minimum {
            tau,
            sigma,
            distance_squared,
            hidden,
            blur: hidden + own,
            // Below `hidden` a step cannot improve what is reported by more than a factor of two.
            floor: (4.0 * f64::EPSILON * terms.max(sums)).max(hidden),
            gradient,
            parts,
            unit_error: 0.5 * lost / (sigma * sigma),
        }
    }

    /// `q_{t+1} = (1 - theta) q_t + theta p_t`.
    fn step(&mut self, beta: f64, radius: f64, theta: f64, sigma: f64) {
        let keep = 1.0 - theta;
        let atom = theta * radius / sigma;
        let shift = beta * self.q_missing;
        let Small { ss, sr, sq, a_matrix, b_matrix, u, gr, gq, gs, row, .. } = self;
        // S S^T: p p^T = radius^2 u u^T and S p^T = -(radius/sigma) (S G^T u) u^T.
        let own = theta * theta * radius * radius;
        for ((i, m), g) in ss.chunks_exact_mut(u.len()).enumerate().zip(&*gs) {
            let (with_g, with_u) = (-keep * atom * u[i], own * u[i] - keep * atom * g);
            for ((m, g), u) in m.iter_mut().zip(&*gs).zip(&*u) {
                *m = keep * keep * *m + with_g * g + with_u * u;
            }
        }
        shrink_and_add(keep, -atom, u, gr, sr);
        shrink_and_add(keep, -atom, u, gq, sq);
        // u^T G = u^T (I + beta A) r + beta u^T (B - b I) q
        columns_times(a_matrix, u, row);
        axpby(1.0, u, beta, row);
        shrink_and_add(keep, -atom, u, row, a_matrix);
        columns_times(b_matrix, u, row);
        axpby(-shift, u, beta, row);
        shrink_and_add(keep, -atom, u, row, b_matrix);
        self.q_weight *= keep;
        self.q_missing = keep * self.q_missing + theta;
    }

    /// `q_t = A r + (B + a I) q` on the long side.
    fn expand(&mut self, thin: Thin, r: &[f64], q: &[f64], out: &mut [f64]) {
        if self.q_missing == 0.0 {
            out.copy_from_slice(q);
        } else if self.q_is_zero {
            thin.combine(&[(&self.a_matrix, r)], out);
        } else {
            self.half.copy_from_slice(&self.b_matrix);
            for i in 0..self.h {
                self.half[i * (self.h + 1)] += self.q_weight;
            }
            thin.combine(&[(&self.a_matrix, r), (&self.half, q)], out);
        }
    }
}

/// The sum of the diagonal of an `h x h` matrix.
fn trace(m: &[f64], h: usize) -> f64 {
    m.iter().step_by(h + 1).sum()
}

/// `y = m x`.
fn rows_times(m: &[f64], x: &[f64], y: &mut [f64]) {
    for (y, row) in y.iter_mut().zip(m.chunks_exact(x.len())) {
        *y = dot(row, x);
    }
}

/// `y = m^T x`: four rows at a time, so that `y` is read and written a quarter as often.
fn columns_times(m: &[f64], x: &[f64], y: &mut [f64]) {
    let h = x.len();
    y.fill(0.0);
    let mut rows = m.chunks_exact(4 * h);
    let (x4, x1) = x.as_chunks::<4>();
    for (rows, x) in (&mut rows).zip(x4) {
        let (a, rest) = rows.split_at(h);
        let (b, rest) = rest.split_at(h);
        let (c, d) = rest.split_at(h);
        for ((((y, a), b), c), d) in y.iter_mut().zip(a).zip(b).zip(c).zip(d) {
            *y += (x[0] * a + x[1] * b) + (x[2] * c + x[3] * d);
        }
    }
    for (row, x) in rows.remainder().chunks_exact(h).zip(x1) {
        crate::linalg::axpy(*x, row, y);
    }
}

/// `y += factor m^T x`.
fn add_columns_times(factor: f64, m: &[f64], x: &[f64], work: &mut [f64], y: &mut [f64]) {
    if factor != 0.0 {
        columns_times(m, x, work);
        axpby(factor, work, 1.0, y);
    }
}

/// `m = keep m + factor u v^T`.
fn shrink_and_add(keep: f64, factor: f64, u: &[f64], v: &[f64], m: &mut [f64]) {
    for (u, row) in u.iter().zip(m.chunks_exact_mut(v.len())) {
        axpby(factor * u, v, keep, row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_anew_when_the_gradient_cancels_and_keeps_the_gap_honest() {
        // The optimum -r/beta lies inside, where the gradient is zero.
        let (h, d, radius) = (3, 20, 10.0);
        let r: Vec<f64> = (0..h * d).map(|i| (0.37 * (i * i) as f64).sin()).collect();
        let q: Vec<f64> = (0..h * d).map(|i| 0.1 * (0.11 * i as f64).cos()).collect();
        let task = SlideTask { r: &r, q: &q, beta: 10.0, eta: 1e-8, budget: 200_000 };
        let thin = Thin::new(h, d);
        let mut compressed = Compressed::new(thin, radius);
        let mut out = vec![0.0; h * d];
        let report = compressed
            .slide(&task, &Watch::default(), &mut out)
            .expect("finite input")
            .expect("ordinary magnitudes");
        assert_eq!(report.state, SlideState::Reached, "{report:?}");
        assert!(!compressed.anchor_r.is_empty(), "{report:?}");
        let gradient: Vec<f64> = (0..h * d).map(|i| r[i] + task.beta * (out[i] - q[i])).collect();
        let sigma = thin.view(&gradient).singular_values().expect("a small matrix")[0];
        let gap = dot(&gradient, &out) + radius * sigma;
        // Above the truth, by no more than the part that rounding may have.
        assert!(
            (gap..=(1.0 + 2.0 * GAP_ROUNDING) * gap).contains(&report.gap),
            "{gap:e} {report:?}"
        );
        let nuclear: f64 = thin.view(&out).singular_values().expect("a small matrix").iter().sum();
        assert!(nuclear <= radius * (1.0 + 1e-12));
    }

    #[test]
    fn small_products_match_the_definition() {
        for h in [1, 3, 4, 7, 13] {
            let m: Vec<f64> = (0..h * h).map(|i| (i as f64).sin()).collect();
            let x: Vec<f64> = (0..h).map(|i| (i as f64 + 0.5).cos()).collect();
            let (mut rows, mut columns) = (vec![0.0; h], vec![0.0; h]);
            rows_times(&m, &x, &mut rows);
            columns_times(&m, &x, &mut columns);
            for i in 0..h {
                let row: f64 = (0..h).map(|j| m[i * h + j] * x[j]).sum();
                let column: f64 = (0..h).map(|j| m[j * h + i] * x[j]).sum();
                assert!((rows[i] - row).abs() <= 1e-14 * h as f64);
                assert!((columns[i] - column).abs() <= 1e-14 * h as f64);
            }
        }
    }
}
