//! What robust completion promises about its rounding is true, in exact arithmetic, and so are its upper bounds.

use couloir::linalg::ObservedEntries;
use couloir::model::loss::{Huber, ResidualLoss, Squared};
use couloir::model::uncertainty::{ChiSquare, Groups, KullbackLeibler, RowWeights, Uncertainty};
use couloir::model::{MatrixMeasurements, RankOneMeasurements, RobustCompletion};
use couloir::problem::{PreparedImage, Rounding, SaddleProblem};
use couloir::{Method, Solve};
use couloir_certify::draw::Draw;
use couloir_certify::elementary::ln;
use couloir_certify::exact::{Exact, abs, exact, exact_vector, max, rounded};
use couloir_certify::quadratic::Separable;
use couloir_certify::sets::Set;
use std::sync::Arc;

#[derive(Clone, Copy)]
enum Penalty {
    Chi(f64),
    Kl(f64),
    Group(f64),
}

/// A completion problem, with every measurement as a matrix.
struct Case {
    problem: RobustCompletion,
    measurements: Vec<Vec<Exact>>,
    targets: Vec<f64>,
    threshold: Option<f64>,
    penalty: Penalty,
    weights: RowWeights,
    dim: usize,
    x: Vec<f64>,
    y: Vec<f64>,
}

impl Case {
    fn draw(draw: &mut Draw) -> Case {
        let (rows, columns, n) = (1 + draw.below(4), 1 + draw.below(4), 1 + draw.below(9));
        let size = draw.scale(3.0);
        let decades = draw.one_of(&[0.0, 1.0, 6.0]);
        let mut numbers = |n: usize, size: f64| -> Vec<f64> {
            (0..n).map(|_| size * draw.unit() * draw.scale(decades)).collect()
        };
        let x = numbers(rows * columns, size);
        let (a, b) = (numbers(n * rows, 1.0), numbers(n * columns, 1.0));
        // no smaller than the nuclear norm
        let tau = x.iter().map(|v| v.abs()).sum::<f64>() * (1.0 + 1e-9) + 1e-3;
        let mut measurements = vec![vec![Exact::ZERO; rows * columns]; n];
        let boxed: Box<dyn MatrixMeasurements>;
        if draw.chance(0.6) {
            let row: Vec<u32> = (0..n).map(|_| draw.below(rows) as u32).collect();
            let column: Vec<u32> = (0..n).map(|_| draw.below(columns) as u32).collect();
            for (m, (i, j)) in measurements.iter_mut().zip(row.iter().zip(&column)) {
                m[*i as usize * columns + *j as usize] = Exact::ONE;
            }
            let entries = ObservedEntries::new(rows, columns, row, column).expect("places");
            boxed = Box::new(entries);
        } else {
            let of = |i: usize, k: usize| {
                exact(a[i * rows + k / columns]) * exact(b[i * columns + k % columns])
            };
            measurements =
                (0..n).map(|i| (0..rows * columns).map(|k| of(i, k)).collect()).collect();
            boxed = Box::new(RankOneMeasurements::new(rows, columns, a, b).expect("vectors"));
        }
        let mut image = vec![0.0; n];
        boxed.image(&x, &mut image);
        // some residuals are tiny beside their numbers, and some are the numbers
        let near = draw.one_of(&[0.0, 1e-12, 1e-3, 1.0, 100.0]);
        let targets: Vec<f64> =
            image.iter().map(|v| v + near * (v.abs() + 0.1) * draw.unit()).collect();
        let threshold = draw.chance(0.5).then(|| size * draw.scale(2.0));
        let loss: Arc<dyn ResidualLoss> = match threshold {
            Some(threshold) => Arc::new(Huber { threshold }),
            None => Arc::new(Squared),
        };
        let level = draw.scale(2.0);
        let (penalty, set): (Penalty, Arc<dyn Uncertainty>) = match draw.below(3) {
            0 => (Penalty::Chi(level), Arc::new(ChiSquare::new(n, level).expect("a level"))),
            1 => {
                let q = vec![1.0 / n as f64; n];
                (Penalty::Kl(level), Arc::new(KullbackLeibler::new(q, level).expect("a level")))
            }
            _ => {
                let count = 1 + draw.below(n);
                let groups = (0..n).map(|i| (i % count) as u32).collect();
                let mu = level * count as f64;
                (Penalty::Group(mu), Arc::new(Groups::new(groups, level).expect("groups")))
            }
        };
        let (weights, dim) = (set.row_weights(), set.y_set().dim());
        let uniform = draw.chance(0.2);
        let mut y: Vec<f64> =
            (0..dim).map(|_| if uniform { 1.0 } else { draw.scale(2.0) }).collect();
        let sum: f64 = y.iter().sum();
        y.iter_mut().for_each(|v| *v /= sum);
        let problem =
            RobustCompletion::new(loss, set, boxed, targets.clone(), tau).expect("a problem");
        Case { problem, measurements, targets, threshold, penalty, weights, dim, x, y }
    }

    fn share(&self, i: usize) -> (usize, Exact) {
        match &self.weights {
            RowWeights::PerRow => (i, Exact::ONE),
            RowWeights::Shared { entry, share } => (entry[i] as usize, exact(share[i])),
        }
    }

    /// Losses and their derivatives at a matrix.
    fn losses(&self, x: &[Exact]) -> Vec<(Exact, Exact)> {
        let half = exact(0.5);
        let loss = |(m, t): (&Vec<Exact>, &f64)| {
            let r = m.iter().zip(x).fold(-exact(*t), |sum, (m, x)| sum + m * x);
            match self.threshold.map(exact) {
                Some(t) if abs(&r) > t => {
                    let slope = if r > Exact::ZERO { t.clone() } else { -t.clone() };
                    (&t * (abs(&r) - &half * &t), slope)
                }
                _ => (&half * &r * &r, r),
            }
        };
        self.measurements.iter().zip(&self.targets).map(loss).collect()
    }

    /// What the objective adds to the losses, and its slopes.
    fn penalty(&self, y: &[Exact]) -> (Exact, Vec<Exact>) {
        let n = Exact::from(self.dim);
        let half = exact(0.5);
        let mut value = Exact::ZERO;
        let mut slopes = Vec::new();
        for y in y {
            let (term, slope) = match self.penalty {
                Penalty::Chi(level) => {
                    let (level, z) = (exact(level), &n * y - Exact::ONE);
                    (&half * &level / &n * &z * &z, level * z)
                }
                Penalty::Kl(level) => {
                    let (level, q) = (exact(level), exact(1.0 / self.dim as f64));
                    let share = y / &q;
                    let log = match share < Exact::ONE {
                        true => -ln(&(Exact::ONE / share)),
                        false => ln(&share),
                    };
                    (&level * (y * &log - (y - &q)), level * log)
                }
                Penalty::Group(mu) => {
                    let (mu, z) = (exact(mu), y - exact(1.0 / self.dim as f64));
                    (&half * &mu * &z * &z, mu * z)
                }
            };
            value -= term;
            slopes.push(-slope);
        }
        (value, slopes)
    }

    /// The gradient in `x` for these weights.
    fn grad_x(&self, losses: &[(Exact, Exact)], y: &[Exact]) -> Vec<Exact> {
        let mut out = vec![Exact::ZERO; self.x.len()];
        for (i, (m, (_, q))) in self.measurements.iter().zip(losses).enumerate() {
            let (entry, share) = self.share(i);
            let weight = share * &y[entry] * q;
            out.iter_mut().zip(m).for_each(|(o, m)| *o += &weight * m);
        }
        out
    }
}

fn length(v: impl Iterator<Item = Exact>) -> f64 {
    rounded(&v.fold(Exact::ZERO, |sum, v| sum + &v * &v)).sqrt() * (1.0 - f64::EPSILON)
}

fn apart(computed: &[f64], is: &[Exact]) -> f64 {
    length(computed.iter().zip(is).map(|(c, e)| exact(*c) - e))
}

#[test]
fn completion_errs_by_no_more_than_it_promises_and_promises_are_not_idle() {
    let mut draw = Draw::new(17);
    let mut sharpest = [0.0f64; 5];
    for trial in 0..1_500 {
        let case = Case::draw(&mut draw);
        let (problem, y) = (&case.problem, &case.y);
        let capabilities = problem.capabilities();
        let operator = capabilities.operator.expect("an operator");
        let preparation = capabilities.preparation.expect("a preparation");
        let promise = capabilities.rounding.expect("a promise");
        let mut image = vec![0.0; operator.image_dim()];
        operator.image(&case.x, &mut image);
        let mut cache = vec![0.0; preparation.cache_dim()];
        preparation.prepare(&image, &mut cache);
        let at = PreparedImage { image: &image, cache: &cache };
        let promise = promise.rounding(at, y, [0.0; 2]);

        let (xe, ye) = (exact_vector(&case.x), exact_vector(y));
        let losses = case.losses(&xe);
        let (mut value, mut in_y) = case.penalty(&ye);
        for (i, (l, _)) in losses.iter().enumerate() {
            let (entry, share) = case.share(i);
            value += &share * &ye[entry] * l;
            in_y[entry] += &share * l;
        }
        let in_x = case.grad_x(&losses, &ye);
        let mut slope = vec![0.0; image.len()];
        problem.grad_image(at, y, &mut slope);
        let (mut gx, mut gy) = (vec![0.0; case.x.len()], vec![0.0; case.dim]);
        operator.adjoint(&slope, &mut gx);
        problem.grad_y(at, y, &mut gy);
        let value = rounded(&abs(&(exact(problem.value(at, y)) - value)));
        // convex in the weights, so longest at a vertex
        let vertex = |g: usize| -> Vec<Exact> {
            (0..case.dim).map(|k| Exact::from(u8::from(k == g))).collect()
        };
        let longest = (0..case.dim)
            .map(|g| length(case.grad_x(&losses, &vertex(g)).into_iter()))
            .fold(0.0, f64::max);
        let steepest = in_y.iter().map(abs).reduce(max).expect("an entry");
        let found = [value, apart(&gx, &in_x), apart(&gy, &in_y), longest, rounded(&steepest)];
        let Rounding { value, grad_x, grad_y, steepest_x, steepest_y } = promise;
        let promised = [value, grad_x, grad_y, steepest_x, steepest_y];
        for (k, (found, promised)) in found.iter().zip(promised).enumerate() {
            assert!(promised.is_finite(), "{trial}, number {k}");
            assert!(*found <= promised, "{trial}, number {k}: {found:e} above {promised:e}");
            sharpest[k] = sharpest[k].max(found / promised);
        }
    }
    assert!(sharpest.iter().all(|share| *share > 0.02), "{sharpest:?}");
}

#[test]
fn bounds_of_completion_at_rounding_are_on_the_right_side_at_the_factors_that_are_returned() {
    let mut draw = Draw::new(18);
    let mut judged = 0;
    for trial in 0..300 {
        let case = Case::draw(&mut draw);
        let Penalty::Chi(level) = case.penalty else { continue };
        let x_set = case.problem.x_set().expect("a ball");
        let solve = Solve::new(&case.problem, &x_set, case.problem.y_set());
        let solution =
            solve.method(Method::corrective()).gap(1e-300).iterations(30).run().expect("a run");
        let certificate = solution.outcome.certificate;
        let Some(factors) = solution.factors else { continue };
        let (rows, columns) = (factors.rows(), factors.columns());
        let k = factors.rank();
        let entry = |i: usize, j: usize| {
            (0..k).fold(Exact::ZERO, |sum, l| {
                let left = exact(factors.left()[i * k + l]) * exact(factors.values()[l]);
                sum + left * exact(factors.right()[j * k + l])
            })
        };
        let x: Vec<Exact> = (0..rows * columns).map(|c| entry(c / columns, c % columns)).collect();
        let losses = case.losses(&x);
        let level = exact(level);
        let in_y = Separable {
            constant: -exact(0.5) * &level,
            slope: losses.iter().map(|(l, _)| l + &level).collect(),
            bend: vec![&level * Exact::from(case.dim); case.dim],
        };
        let worst = Set::Simplex { dim: case.dim, total: 1.0 }.maximum(&in_y).low;
        assert!(exact(certificate.upper) >= worst, "{trial}: {:e}", certificate.upper);
        let at = in_y.at(&exact_vector(&solution.y));
        assert!(exact(certificate.lower) <= at, "{trial}: {:e}", certificate.lower);
        judged += 1;
    }
    assert!(judged > 50, "{judged}");
}
