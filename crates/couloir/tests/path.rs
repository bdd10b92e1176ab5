//! A path over radii: certified at each, cheaper than fits from nothing, chosen by its rule.

use couloir::linalg::SparseMatrix;
use couloir::model::{
    Criterion, Labelled, RobustFit, RobustPath, TauPath, Warm, geometric_grid, stratified_split,
};
use couloir::random::Streams;
use couloir::run::{Algorithm, Flow, NoClock, TracePoint};

const CLASSES: usize = 4;

/// Rows of a few words, of which most belong to the class.
fn text(n: usize, seed: u64) -> Labelled {
    let mut draw = Streams::new(seed).stream("text");
    let (mut starts, mut indices, mut labels) = (vec![0], Vec::new(), Vec::new());
    for _ in 0..n {
        let class = draw.below(CLASSES as u64) as u32;
        let mut words: Vec<u32> = (0..8)
            .map(|_| match draw.below(3) {
                0 => class * 10 + draw.below(10) as u32,
                _ => draw.below(60) as u32,
            })
            .collect();
        words.sort_unstable();
        words.dedup();
        indices.extend(words);
        starts.push(indices.len());
        labels.push(class);
    }
    let values = vec![0.4; indices.len()];
    Labelled::new(SparseMatrix::from_rows(60, starts, indices, values).expect("rows"), labels)
}

fn path(fit: &RobustFit, taus: &[f64], by: Criterion) -> TauPath {
    let mut firsts = 0;
    let mut watch = |point: &TracePoint, _: &dyn Algorithm| {
        firsts += usize::from(point.iteration == 0);
        Flow::Continue
    };
    let path = RobustPath::new(fit.clone(), taus.to_vec())
        .by(by)
        .run(text(300, 1), &text(200, 2), CLASSES, &NoClock, &mut watch)
        .expect("a path");
    assert_eq!((firsts, path.steps.len()), (taus.len(), taus.len()));
    path
}

#[test]
fn every_step_is_certified_and_starts_where_the_last_one_ended() {
    let fit = RobustFit::default().tol(1e-3);
    let taus = geometric_grid(80.0, 7, 1.6).expect("a grid");
    let path = path(&fit, &taus, Criterion::Accuracy);
    let mut nobody = |_: &TracePoint, _: &dyn Algorithm| Flow::Continue;
    let mut cold_grads = 0;
    for (step, &tau) in path.steps.iter().zip(&taus) {
        assert!(step.status.is_solved() && step.gap <= 1e-3 && step.tau == tau, "{step:?}");
        let Labelled { rows, labels, .. } = text(300, 1);
        let cold = fit.clone().tau(Some(tau)).run(rows, labels, CLASSES, &NoClock, &mut nobody);
        cold_grads += cold.expect("a fit").grads();
    }
    let warm_grads: u64 = path.steps.iter().map(|step| step.grads).sum();
    assert!(warm_grads < cold_grads, "{warm_grads} warm, {cold_grads} cold");
}

#[test]
fn the_choice_is_the_best_by_its_measure_and_the_smaller_of_equals() {
    let fit = RobustFit::default();
    let taus = geometric_grid(40.0, 6, 3.0).expect("a grid");
    for by in [Criterion::Accuracy, Criterion::WorstRecall, Criterion::Cvar, Criterion::MeanLoss] {
        let path = path(&fit, &taus, by);
        let merit = |k: usize| {
            let m = &path.steps[k].measures;
            match by {
                Criterion::Accuracy => m.accuracy,
                Criterion::WorstRecall => m.worst_recall,
                Criterion::Cvar => -m.cvar,
                _ => -m.mean_loss,
            }
        };
        let best = (0..taus.len()).map(merit).fold(f64::NEG_INFINITY, f64::max);
        let first = (0..taus.len()).find(|&k| merit(k) == best).expect("a best");
        assert_eq!((path.chosen, path.tau()), (first, taus[first]), "{by}");
    }
}

#[test]
fn a_start_of_ones_own_leads_to_the_same_optimum() {
    for intercept in [false, true] {
        let fit = RobustFit::default().intercept(intercept).tau(Some(60.0));
        let mut nobody = |_: &TracePoint, _: &dyn Algorithm| Flow::Continue;
        let run = |Labelled { rows, labels, .. }: Labelled| fit.model(rows, labels, CLASSES);
        let cold = fit
            .run_on(run(text(300, 1)).expect("a model"), Warm::default(), &NoClock, &mut nobody)
            .expect("a fit");
        let matrix = cold.model().class_major(&cold.solution().x);
        let model = run(text(400, 1)).expect("a model");
        let x = Some(model.from_class_major(&matrix));
        let warm = fit.run_on(model, Warm { x, y: None }, &NoClock, &mut nobody).expect("a fit");
        let again = run(text(400, 1)).expect("a model");
        let cold = fit.run_on(again, Warm::default(), &NoClock, &mut nobody).expect("a fit");
        assert!(warm.outcome().status.is_solved() && cold.outcome().status.is_solved());
        assert!((warm.primal() - cold.primal()).abs() <= warm.gap().max(cold.gap()));
    }
}

#[test]
fn paths_and_grids_that_do_not_increase_are_refused() {
    let run = |taus: &[f64]| {
        let path = RobustPath::new(RobustFit::default(), taus.to_vec());
        let mut nobody = |_: &TracePoint, _: &dyn Algorithm| Flow::Continue;
        path.run(text(50, 1), &text(20, 2), CLASSES, &NoClock, &mut nobody).is_err()
    };
    assert!(run(&[]) && run(&[2.0, 1.0]) && run(&[1.0, 1.0]) && run(&[-1.0, 1.0]));
    assert!(run(&[f64::NAN]) && run(&[1.0, f64::NAN]));
    for (centre, points, ratio) in
        [(0.0, 3, 2.0), (1.0, 0, 2.0), (1.0, 3, 1.0), (1.0, 3, f64::NAN), (1.0, 9, 1e200)]
    {
        assert!(geometric_grid(centre, points, ratio).is_err(), "{centre} {points} {ratio}");
    }
    let grid = geometric_grid(3.0, 4, 4.0).expect("a grid");
    assert!(grid.iter().zip([0.375, 1.5, 6.0, 24.0]).all(|(a, b)| (a - b).abs() < 1e-12 * b));
}

#[test]
fn a_split_keeps_the_share_in_every_class_and_the_seed_decides() {
    // classes of 1000, 100, 10, 3, 1 and 1 rows, mixed
    let sizes = [1000, 100, 10, 3, 1, 1];
    let mut labels: Vec<u32> =
        sizes.iter().enumerate().flat_map(|(j, &n)| vec![j as u32; n]).collect();
    let mut draw = Streams::new(5).stream("mix");
    for i in (1..labels.len()).rev() {
        labels.swap(i, draw.below(i as u64 + 1) as usize);
    }
    let split = |share, seed| stratified_split(&labels, share, seed).expect("a split");
    for (share, seed) in [(0.2, 0), (0.2, 1), (0.5, 0), (0.01, 3), (0.99, 3)] {
        let (train, back) = split(share, seed);
        let mut all: Vec<usize> = train.iter().chain(&back).copied().collect();
        all.sort_unstable();
        assert_eq!(all, (0..labels.len()).collect::<Vec<_>>());
        assert!(train.is_sorted() && back.is_sorted());
        let count = |rows: &[usize], j: u32| rows.iter().filter(|&&i| labels[i] == j).count();
        for (j, &size) in sizes.iter().enumerate() {
            let (kept, held) = (count(&train, j as u32), count(&back, j as u32));
            assert!(kept >= 1);
            let off = held as f64 - share * size as f64;
            // half a row of its own rounding and half of those before, or what must stay to train on
            assert!(
                off.abs() <= 1.0 || held + 1 == size || (off > 0.0 && share > 0.9),
                "{off} of {size}"
            );
        }
        assert_eq!((train, back), split(share, seed));
    }
    assert_eq!(split(0.2, 0).1.len(), (0.2f64 * 1115.0).round() as usize);
    assert_ne!(split(0.2, 0), split(0.2, 1));
    for share in [0.0, 1.0, -0.1, f64::NAN] {
        assert!(stratified_split(&labels, share, 0).is_err());
    }
    assert!(stratified_split(&[0, 1, 2], 0.3, 0).is_err(), "one row of each stays to train on");
    assert!(stratified_split(&[], 0.3, 0).is_err());
}
