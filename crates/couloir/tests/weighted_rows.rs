//! Nominal weights of rows, in every uncertainty set.

use couloir::linalg::SparseMatrix;
use couloir::model::uncertainty::{
    LevelRange, RowData, UNCERTAINTY_SETS, Uncertainty, UncertaintyChoice,
};
use couloir::model::{ClassWeight, Fitted, RobustFit, RobustMulticlass, Warm};
use couloir::problem::{SaddleProblem, check_gradient};
use couloir::random::{Stream, Streams};
use couloir::run::{Algorithm, Flow, NoClock, TracePoint};
use couloir::{Error, Method};
use std::sync::Arc;

const FEATURES: usize = 5;
const CLASSES: usize = 3;

struct Data {
    rows: Vec<[f64; FEATURES]>,
    labels: Vec<u32>,
    groups: Vec<u32>,
}

fn data(n: usize) -> Data {
    let mut draw = Streams::new(7).stream("rows");
    let mut number = || 2.0 * uniform(&mut draw) - 1.0;
    let rows = (0..n)
        .map(|i| {
            let mut row = [0.0; FEATURES];
            row.iter_mut().for_each(|v| *v = number());
            row[i % CLASSES] += 0.8;
            row
        })
        .collect();
    let labels = (0..n).map(|i| (i % CLASSES) as u32).collect();
    let groups = (0..n).map(|i| [0, 0, 1, 0, 1, 1, 2][i % 7]).collect();
    Data { rows, labels, groups }
}

impl Data {
    /// The rows of these places, as often as they are named.
    fn pick(&self, places: &[usize]) -> Data {
        Data {
            rows: places.iter().map(|&i| self.rows[i]).collect(),
            labels: places.iter().map(|&i| self.labels[i]).collect(),
            groups: places.iter().map(|&i| self.groups[i]).collect(),
        }
    }

    fn matrix(&self) -> SparseMatrix {
        let n = self.rows.len();
        let starts = (0..=n).map(|i| i * FEATURES).collect();
        let indices = (0..n).flat_map(|_| 0..FEATURES as u32).collect();
        SparseMatrix::from_rows(FEATURES, starts, indices, self.rows.concat()).expect("rows")
    }

    fn model(&self, fit: &RobustFit) -> couloir::Result<RobustMulticlass> {
        let fit = fit.clone().groups(Some(self.groups.clone()));
        fit.model(self.matrix(), self.labels.clone(), CLASSES)
    }

    fn fit(&self, fit: &RobustFit) -> Fitted {
        let mut nobody = |_: &TracePoint, _: &dyn Algorithm| Flow::Continue;
        let fit = fit.clone().groups(Some(self.groups.clone()));
        let model = fit.model(self.matrix(), self.labels.clone(), CLASSES).expect("a model");
        fit.run_on(model, Warm::default(), &NoClock, &mut nobody).expect("a fit")
    }
}

/// The fit with this uncertainty set, at a level at which the adversary does something.
fn base(set: UncertaintyChoice) -> RobustFit {
    RobustFit::default().uncertainty(set).level(0.3).intercept(true)
}

/// How exactly sets are solved: those that are not strongly concave take long.
fn tolerance(set: UncertaintyChoice) -> f64 {
    let groups = [0, 1];
    let data = RowData::new(2).groups(Some(&groups)).labels(Some(&groups));
    let mu = set.set(&data, 0.3).expect("a set").moduli().mu;
    if mu.is_some() { 1e-10 } else { 1e-4 }
}

fn exactly(set: UncertaintyChoice) -> RobustFit {
    base(set).tol(tolerance(set)).max_iters(Some(100_000))
}

#[test]
fn whole_weights_count_rows_so_often() {
    let data = data(31);
    let weights: Vec<f64> = (0..31).map(|i| [1.0, 3.0, 0.0, 2.0][i % 4]).collect();
    let places: Vec<usize> = (0..31).flat_map(|i| vec![i; weights[i] as usize]).collect();
    let repeated = data.pick(&places);
    for set in UNCERTAINTY_SETS {
        for class_weight in
            [ClassWeight::None, ClassWeight::Balanced, ClassWeight::PerClass(vec![0.5, 2.0, 1.0])]
        {
            let fit = exactly(*set).class_weight(class_weight.clone());
            let weighted = data.fit(&fit.clone().weights(Some(weights.clone())));
            let plain = repeated.fit(&fit);
            for fitted in [&weighted, &plain] {
                let status = fitted.outcome().status;
                assert!(status.is_solved(), "{set} {class_weight:?}: {status}, {}", fitted.gap());
            }
            // the same radius and intercept are chosen, and the same value is found
            assert!((weighted.tau() / plain.tau() - 1.0).abs() < 1e-12);
            let apart = weighted.primal() - plain.primal();
            assert!(apart.abs() < 10.0 * tolerance(*set), "{set} {class_weight:?}: {apart:e}");
            // a row's weight is that of its copies together
            let (by_row, by_copy) = (weighted.row_weights(), plain.row_weights());
            assert_eq!((by_row.len(), by_copy.len()), (31, repeated.rows.len()));
            let mut sums = vec![0.0; 31];
            places.iter().zip(by_copy).for_each(|(&i, w)| sums[i] += w);
            for i in 0..31 {
                assert!(
                    tolerance(*set) > 1e-9 || (by_row[i] - sums[i]).abs() < 1e-4,
                    "{set}, row {i}: {} {}",
                    by_row[i],
                    sums[i]
                );
                assert!(weights[i] > 0.0 || by_row[i] == 0.0);
            }
        }
    }
}

#[test]
fn rows_of_weight_zero_are_left_out_and_equal_weights_are_none_to_the_last_bit() {
    let data = data(30);
    let kept: Vec<usize> = (0..30).filter(|i| i % 5 != 0).collect();
    let few = data.pick(&kept);
    for set in UNCERTAINTY_SETS {
        let fit = base(*set).tau(Some(3.0)).tol((1e4 * tolerance(*set)).min(1e-2));
        let weights = (0..30).map(|i| if i % 5 == 0 { 0.0 } else { 0.3 }).collect();
        let (left_out, without) = (data.fit(&fit.clone().weights(Some(weights))), few.fit(&fit));
        assert_eq!(left_out.solution().x, without.solution().x, "{set}");
        assert_eq!(left_out.outcome().certificate, without.outcome().certificate);
        assert_eq!(left_out.model().places().expect("some were left out").len(), kept.len());
    }
}

#[test]
fn the_scale_of_the_weights_does_not_matter() {
    let data = data(20);
    let weights: Vec<f64> = (0..20).map(|i| 0.25 + (i % 4) as f64).collect();
    for set in UNCERTAINTY_SETS {
        let value = |scale: f64| {
            let weights = weights.iter().map(|w| w * scale).collect();
            data.fit(&exactly(*set).weights(Some(weights))).primal()
        };
        let one = value(1.0);
        for scale in [1e-300, 1.7e-3, 1e307] {
            assert!((value(scale) - one).abs() < 10.0 * tolerance(*set), "{set}, {scale:e}");
        }
    }
}

#[test]
fn without_an_adversary_the_weighted_mean_of_the_losses_is_least() {
    let data = data(24);
    let weights: Vec<f64> = (0..24).map(|i| 0.5 + (i % 3) as f64).collect();
    let none: UncertaintyChoice = "none".parse().expect("a set");
    let fitted = data.fit(&exactly(none).weights(Some(weights.clone())));
    let scores = fitted.scores();
    let total: f64 = weights.iter().sum();
    let mean: f64 = (0..24)
        .map(|i| {
            let scores = &scores[CLASSES * i..][..CLASSES];
            let log_sum = scores.iter().map(|s| s.exp()).sum::<f64>().ln();
            weights[i] / total * (log_sum - scores[data.labels[i] as usize])
        })
        .sum();
    assert!((fitted.primal() - mean).abs() < 1e-13, "{} {mean}", fitted.primal());
    // sets that have shrunk to the nominal weights give the same bits
    for (name, level) in [("cvar", 1.0), ("chi2-ball", 0.0), ("kl-ball", 0.0), ("tv-ball", 0.0)] {
        let set: UncertaintyChoice = name.parse().expect("a set");
        let other =
            data.fit(&exactly(none).uncertainty(set).level(level).weights(Some(weights.clone())));
        assert_eq!(other.solution().x, fitted.solution().x, "{name}");
        assert_eq!(other.primal(), fitted.primal(), "{name}");
    }
    // one group is no adversary either, and strong penalties leave none
    for (name, level, groups) in [
        ("group", 1.0, vec![0; 24]),
        ("chi2", 1e5, data.groups.clone()),
        ("kl", 1e5, data.groups.clone()),
    ] {
        let data = Data { groups, rows: data.rows.clone(), labels: data.labels.clone() };
        let set: UncertaintyChoice = name.parse().expect("a set");
        let other = data.fit(&exactly(set).level(level).weights(Some(weights.clone())));
        let more = other.primal() - fitted.primal();
        // an adversary who pays c gains the variance of the losses over 2 c
        assert!((-1e-10..1e-5).contains(&more), "{name}: {more:e}");
    }
}

/// A number between 0 and 1.
fn uniform(draw: &mut Stream) -> f64 {
    draw.below(1 << 53) as f64 / (1u64 << 53) as f64
}

/// Positive numbers that add up to 1, of very different sizes.
fn some_weights(n: usize, draw: &mut Stream, spread: f64) -> Vec<f64> {
    let raw: Vec<f64> = (0..n).map(|_| (spread * (uniform(draw) - 0.5)).exp()).collect();
    let sum: f64 = raw.iter().sum();
    raw.into_iter().map(|w| w / sum).collect()
}

fn some_point(n: usize, draw: &mut Stream) -> Vec<f64> {
    let mut y = some_weights(n, draw, 20.0);
    // some at zero
    for k in 0..n {
        if uniform(draw) < 0.2 && y[k] < 0.5 {
            y[k] = 0.0;
        }
    }
    let sum: f64 = y.iter().sum();
    y.iter_mut().for_each(|y| *y /= sum);
    y
}

struct Case {
    set: Arc<dyn Uncertainty>,
    name: String,
    losses: Vec<f64>,
}

/// Levels of all sizes.
fn levels(set: UncertaintyChoice) -> Vec<f64> {
    match set.level().range {
        LevelRange::Share => vec![0.02, 0.4, 1.0],
        LevelRange::ZeroOrMore => vec![0.0, 1e-3, 0.4, 50.0],
        _ => vec![1e-3, 0.4, 50.0],
    }
}

/// Every set, with and without weights, at levels of all sizes, for losses of all sizes.
fn cases(draw: &mut Stream) -> Vec<Case> {
    let mut cases = Vec::new();
    for n in [1, 2, 7, 40] {
        for line in UNCERTAINTY_SETS {
            for level in levels(*line) {
                for spread in [0.0, 3.0, 30.0] {
                    let q = some_weights(n, draw, spread);
                    let groups: Vec<u32> = (0..n).map(|i| (i % 3.min(n)) as u32).collect();
                    let data = RowData::new(n).groups(Some(&groups)).labels(Some(&groups));
                    let data = data.weights((spread > 0.0).then_some(&q));
                    let set = line.set(&data, level).expect("a set");
                    let size = [1e-6, 1.0, 300.0][draw.below(3) as usize];
                    let dim = set.y_set().dim();
                    let losses = (0..dim).map(|_| size * uniform(draw)).collect();
                    let name =
                        format!("{line} of {n} at {level}, spread {spread}, losses of {size}");
                    cases.push(Case { set, name, losses });
                }
            }
        }
    }
    cases
}

fn centre_of(set: &dyn Uncertainty) -> Vec<f64> {
    set.start().unwrap_or_else(|| {
        let mut centre = vec![0.0; set.y_set().dim()];
        set.y_set().center(&mut centre);
        centre
    })
}

fn value(set: &dyn Uncertainty, losses: &[f64], y: &[f64]) -> f64 {
    losses.iter().zip(y).map(|(l, y)| l * y).sum::<f64>() + set.value(y)
}

#[test]
fn no_point_beats_a_best_response_by_more_than_its_bound() {
    let mut draw = Streams::new(3).stream("responses");
    for Case { set, name, losses } in cases(&mut draw) {
        let dim = losses.len();
        let (mut best, mut room) = (vec![0.0; dim], vec![0.0; dim]);
        let missing = set.best_response(&losses, &mut room, &mut best);
        assert!(set.y_set().contains(&best, 1e-14), "{name}: {}", set.y_set().violation(&best));
        let top = losses.iter().fold(0.0f64, |m, l| m.max(*l));
        let at_best = value(&*set, &losses, &best);
        let scale = top + set.value(&best).abs() + 1e-300;
        assert!((0.0..=1e-12 * (scale + 50.0)).contains(&missing), "{name}: {missing:e}");
        let rounding = 1e-14 * scale;
        let beats = |y: &[f64]| {
            let more = value(&*set, &losses, y) - at_best;
            assert!(more <= missing + rounding, "{name}: {more:e} more, bound {missing:e}");
        };
        beats(&centre_of(&*set));
        for _ in 0..20 {
            let mut other = some_point(dim, &mut draw);
            // towards where the penalty is zero until it is inside
            let centre = centre_of(&*set);
            while !set.y_set().contains(&other, 1e-15) {
                other.iter_mut().zip(&centre).for_each(|(o, c)| *o = 0.5 * (*o + c));
            }
            beats(&other);
            // close by, where the penalty hardly differs
            for step in [1e-2, 1e-5] {
                let near: Vec<f64> =
                    best.iter().zip(&other).map(|(b, o)| b + step * (o - b)).collect();
                beats(&near);
            }
        }
    }
}

#[test]
fn slopes_and_changes_of_every_set_are_those_of_its_value() {
    let mut draw = Streams::new(4).stream("changes");
    for Case { set, name, losses } in cases(&mut draw) {
        let dim = losses.len();
        let (from, to) = (some_weights(dim, &mut draw, 2.0), some_weights(dim, &mut draw, 2.0));
        let change = set.change(&losses, &from, &to);
        let plain = value(&*set, &losses, &to) - value(&*set, &losses, &from);
        let size = value(&*set, &losses, &to).abs() + set.value(&from).abs() + 1e-300;
        let allowed = 1e-13 * size + change.rounding;
        assert!((change.value - plain).abs() <= allowed, "{name}: {change:?}, {plain:e}");
        // a step of a millionth, whose plain difference has few digits: against the slope
        let near: Vec<f64> = from.iter().zip(&to).map(|(f, t)| f + 1e-6 * (t - f)).collect();
        let mut slopes = vec![0.0; dim];
        let middle: Vec<f64> = from.iter().zip(&near).map(|(f, n)| 0.5 * (f + n)).collect();
        set.slopes(&middle, &mut slopes);
        let along: f64 = (0..dim).map(|i| (losses[i] + slopes[i]) * (near[i] - from[i])).sum();
        let size: f64 =
            (0..dim).map(|i| (losses[i] + slopes[i].abs()) * (near[i] - from[i]).abs()).sum();
        let change = set.change(&losses, &from, &near).value;
        assert!((change - along).abs() <= 1e-9 * size, "{name}: {change:e} {along:e}");
    }
}

#[test]
fn moduli_bound_the_bend_of_the_penalty() {
    let mut draw = Streams::new(5).stream("moduli");
    for Case { set, name, .. } in cases(&mut draw) {
        let dim = set.y_set().dim();
        let moduli = set.moduli();
        for _ in 0..10 {
            let (a, b) = (some_weights(dim, &mut draw, 8.0), some_weights(dim, &mut draw, 8.0));
            let (mut at_a, mut at_b) = (vec![0.0; dim], vec![0.0; dim]);
            set.slopes(&a, &mut at_a);
            set.slopes(&b, &mut at_b);
            let square: f64 = a.iter().zip(&b).map(|(a, b)| (a - b).powi(2)).sum();
            let fall: f64 = (0..dim).map(|i| (at_a[i] - at_b[i]) * (b[i] - a[i])).sum();
            if let Some(mu) = moduli.mu {
                assert!(fall >= mu * square * (1.0 - 1e-9), "{name}: {fall:e} {mu:e} {square:e}");
            }
            let moved: f64 = at_a.iter().zip(&at_b).map(|(a, b)| (a - b).powi(2)).sum();
            if let Some(lyy) = moduli.lyy {
                assert!(moved <= lyy * lyy * square * (1.0 + 1e-9) + 1e-30, "{name}");
            }
        }
    }
}

#[test]
fn gradients_of_the_weighted_model_are_right() {
    let data = data(20);
    let weights: Vec<f64> = (0..20).map(|i| (i % 4) as f64).collect();
    for set in UNCERTAINTY_SETS {
        let fit = base(*set).tau(Some(4.0)).weights(Some(weights.clone()));
        let model = data.model(&fit).expect("a model");
        let x: Vec<f64> = (0..model.dim_x()).map(|i| (0.4 * i as f64).sin()).collect();
        let mut draw = Streams::new(6).stream("y");
        let y = some_weights(model.dim_y(), &mut draw, 1.0);
        let check = check_gradient(&model, &x, &y).expect("finite");
        assert!(check.worst() < 1e-6, "{set}: {check:?}");
    }
}

#[test]
fn other_methods_certify_the_same_value_with_weights() {
    let data = data(20);
    let weights: Vec<f64> = (0..20).map(|i| 0.5 + (i % 4) as f64).collect();
    for set in UNCERTAINTY_SETS {
        let fit = base(*set).tau(Some(2.0)).level(0.5).weights(Some(weights.clone()));
        let hard = tolerance(*set) > 1e-9;
        let best = data.fit(&fit.clone().tol(if hard { 1e-3 } else { 1e-8 }));
        let others = match hard {
            true => vec![(Method::extragradient(), 1e-2)],
            false => {
                vec![(Method::apg(), 1e-6), (Method::corrective(), 1e-6), (Method::spfw(), 0.1)]
            }
        };
        for (method, tol) in others {
            let other = data.fit(&fit.clone().method(method.clone()).tol(tol));
            let (status, gap) = (other.outcome().status, other.gap());
            assert!(status.is_solved(), "{set} by {method}: {status}, gap {gap:e}");
            let (a, b) = (&best.outcome().certificate, &other.outcome().certificate);
            assert!(a.lower <= b.upper + 1e-12 && b.lower <= a.upper + 1e-12, "{set} by {method}");
        }
    }
}

#[test]
fn weights_that_cannot_be_are_refused_with_the_row() {
    let data = data(6);
    let refused = |fit: RobustFit| data.model(&fit).expect_err("refused");
    let fit = || RobustFit::default().tau(Some(1.0));
    let with = |weights: Vec<f64>| refused(fit().weights(Some(weights)));
    assert!(matches!(with(vec![1.0; 5]), Error::Dimension { expected: 6, got: 5, .. }));
    assert!(matches!(
        with(vec![1.0, f64::NAN, 1.0, 1.0, 1.0, 1.0]),
        Error::NotFinite { index: 1, .. }
    ));
    let error = with(vec![1.0, 1.0, -0.5, 1.0, 1.0, 1.0]).to_string();
    assert!(error.contains("entry 2 is -0.5"), "{error}");
    let error = with(vec![0.0; 6]).to_string();
    assert!(error.contains("all are zero"), "{error}");
    let error = refused(fit().class_weight(ClassWeight::PerClass(vec![1.0, -1.0, 1.0])));
    assert!(error.to_string().contains("class weights: entry 1 is -1"), "{error}");
    let error = refused(fit().class_weight(ClassWeight::PerClass(vec![1.0])));
    assert!(matches!(error, Error::Dimension { .. }));
    for set in UNCERTAINTY_SETS {
        let mut wrong = vec![-1.0, f64::NAN, f64::INFINITY];
        match set.level().range {
            LevelRange::Share => wrong.extend([0.0, 1.5]),
            LevelRange::ZeroOrMore => {}
            _ => wrong.push(0.0),
        }
        for level in wrong {
            let error = refused(fit().uncertainty(*set).level(level));
            assert!(matches!(&error, Error::Setting { name: "level", .. }), "{error}");
        }
    }
    let mut paper = fit().uncertainty("kl".parse().expect("a set"));
    paper.scaling = couloir::model::Scaling::Paper;
    assert!(matches!(refused(paper), Error::Setting { name: "objective", .. }));
}
