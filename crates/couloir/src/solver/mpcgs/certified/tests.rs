//! Tests of certified MPCGS that look at how its points are kept.

use super::*;
use crate::domain::Domain;
use crate::linalg::{Layout, SparseMatrix, norm};
use crate::model::{RobustMulticlass, RobustSettings, Scaling};
use crate::problem::{
    BestResponse, Capabilities, ColumnWise, LinearOperator, Preparation, PreparedImage,
    SaddleProblem,
};
use crate::random::Streams;
use crate::run::{Checkpoints, Flow, NoClock, StopRules, TracePoint, run_kept};
use crate::state::Fingerprint;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

fn model(layout: Layout, scaling: Scaling) -> RobustMulticlass {
    model_of(120, 60, layout, scaling)
}

fn model_of(n: usize, d: usize, layout: Layout, scaling: Scaling) -> RobustMulticlass {
    let (h, row) = (4, 8);
    let mut draw = Streams::new(3).stream("rows");
    let starts = (0..=n).map(|i| row * i).collect();
    let step = (d / row) as u64;
    let indices = (0..n * row).map(|p| (p % row) as u32 * step as u32 + draw.below(step) as u32);
    let indices = indices.collect();
    let values = (0..n * row).map(|_| 0.2 + draw.below(1000) as f64 / 1000.0).collect();
    let rows = SparseMatrix::from_rows(d, starts, indices, values).expect("rows");
    let labels = (0..n).map(|_| draw.below(h as u64) as u32).collect();
    let settings = RobustSettings::default().layout(layout).tau(12.0).scaling(scaling);
    RobustMulticlass::new(rows, labels, h, settings).expect("a model")
}

#[test]
fn trials_without_operator_products_go_the_way_of_those_with() {
    let dro = [0, 3, 8, 16].map(|hull_points| (Scaling::Dro, hull_points));
    let settings = dro.into_iter().chain([(Scaling::Paper, 8)]);
    // points as vectors and, where features are many and mostly rare, by weights
    let cases =
        [(120, 60), (60, 200)].into_iter().flat_map(|s| settings.clone().map(move |t| (s, t)));
    for ((n, d), (scaling, hull_points)) in cases {
        let models = [Layout::FeatureMajor, Layout::ClassMajor].map(|l| model_of(n, d, l, scaling));
        let sets = [&models[0], &models[1]].map(|m| m.x_set().expect("a ball"));
        let settings = CertifiedSettings { hull_points, ..CertifiedSettings::default() };
        let mut solvers = [0, 1].map(|i| {
            let y_set = models[i].y_set();
            Certified::new(Start::new(&models[i], &sets[i], y_set), &settings).expect("starts")
        });
        let mut images = 0;
        for k in 0..if n < d { 20 } else { 40 } {
            solvers.iter_mut().for_each(|solver| {
                solver.step().expect("a step");
            });
            let [quick, plain] = &solvers;
            let structures = [0, 1].map(|i| solvers[i].space.structure(&models[i]));
            assert_eq!(structures, [Some(n < d), None], "{n} x {d}: {k}");
            let (a, b) = (quick.certificate(), plain.certificate());
            let size = b.upper.abs();
            assert!((a.upper - b.upper).abs() < 1e-9 * size, "{k}: {a:?} {b:?}");
            assert!((a.lower - b.lower).abs() < 1e-7 * size, "{k}: {a:?} {b:?}");
            let [x, plain_x] = [0, 1].map(|i| models[i].class_major(solvers[i].best().0));
            let apart = crate::linalg::distance_squared(&x, &plain_x).sqrt();
            assert!(apart < 1e-6 * norm(&plain_x), "{k}: {apart}");
            // the image that is carried along is that of the point
            let mut image = vec![0.0; quick.space.x().image.len()];
            models[0].image(quick.current().0, &mut image);
            let drift = crate::linalg::distance_squared(&image, &quick.space.x().image).sqrt();
            assert!(drift < 1e-12 * norm(&image), "{k}: {drift}");
            images = plain.ledger().method.images - quick.ledger().method.images;
            assert_eq!(quick.ledger().method.grad_x, plain.ledger().method.grad_x);
        }
        assert!(images > 0, "no trial was without a product");
    }
}

#[test]
fn where_steps_become_too_short_vectors_take_over_and_go_on() {
    let model = model(Layout::FeatureMajor, Scaling::Dro);
    let x_set = model.x_set().expect("a ball");
    let settings = CertifiedSettings::default();
    let mut solver =
        Certified::new(Start::new(&model, &x_set, model.y_set()), &settings).expect("starts");
    let mut gap = f64::INFINITY;
    while solver.space.structure(&model).is_some() {
        assert_eq!(solver.step().expect("a step"), Step::Advanced);
        gap = solver.certificate().gap;
    }
    let taken_over = solver.iterations();
    assert!(taken_over > 20, "{taken_over}");
    while solver.step().expect("a step") == Step::Advanced {}
    let end = solver.certificate();
    assert!(end.gap < 0.1 * gap && end.gap < 1e-10 * end.upper, "{gap} {end:?}");
    assert!(x_set.contains(solver.best().0, 1e-9));
}

/// `1/2 |A x - b|^2 - 1/2 y^2`, where `A` turns the numbers of `x` by one place: it mixes columns.
struct Turned {
    target: Vec<f64>,
}

impl SaddleProblem for Turned {
    fn dim_x(&self) -> usize {
        self.target.len()
    }

    fn dim_y(&self) -> usize {
        1
    }

    fn value(&self, at: PreparedImage<'_>, y: &[f64]) -> f64 {
        0.5 * crate::linalg::distance_squared(at.image, &self.target) - 0.5 * y[0] * y[0]
    }

    fn grad_image(&self, at: PreparedImage<'_>, _y: &[f64], out: &mut [f64]) {
        out.copy_from_slice(at.image);
        crate::linalg::axpy(-1.0, &self.target, out);
    }

    fn grad_y(&self, _at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
        out[0] = -y[0];
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities::NONE.with_operator(self).with_column_wise(self)
    }
}

impl LinearOperator for Turned {
    fn image_dim(&self) -> usize {
        self.target.len()
    }

    fn image(&self, x: &[f64], out: &mut [f64]) {
        out.copy_from_slice(x);
        out.rotate_left(1);
    }

    fn adjoint(&self, s: &[f64], out: &mut [f64]) {
        out.copy_from_slice(s);
        out.rotate_right(1);
    }
}

impl ColumnWise for Turned {
    fn columns(&self) -> usize {
        4
    }

    fn normal(&self, s: &[f64], room: &mut [f64], out: &mut [f64]) {
        self.adjoint(s, room);
        self.image(room, out);
    }
}

#[test]
fn a_problem_that_mixes_columns_and_says_it_does_not_is_found_out() {
    let target = (0..80).map(|i| (i * i) as f64 % 7.0 - 3.0).collect();
    let problem = Turned { target };
    // also where the prox changes nothing, as the ball is large
    for radius in [5.0, 1e4] {
        let x_set = crate::domain::NuclearBall::new(20, 4, radius).expect("a ball");
        let y_set = crate::domain::BoxSet::cube(1, -1.0, 1.0).expect("a box");
        let settings = CertifiedSettings::default();
        let mut solver =
            Certified::new(Start::new(&problem, &x_set, &y_set), &settings).expect("starts");
        let error = solver.step().expect_err("a wrong claim");
        assert!(error.to_string().contains("`columns`"), "{error}");
        assert!(solver.best().0.iter().all(|x| *x == 0.0), "the start is the best point yet");
    }
}

/// A model whose operator gives NaN after so many products: from then on, or once.
struct Breaking<'a> {
    model: &'a RobustMulticlass,
    good: u64,
    stays: bool,
    products: AtomicU64,
}

impl Breaking<'_> {
    fn count(&self, out: &mut [f64]) {
        let before = self.products.fetch_add(1, Relaxed);
        if before == self.good || (self.stays && before > self.good) {
            out[0] = f64::NAN;
        }
    }
}

impl SaddleProblem for Breaking<'_> {
    fn dim_x(&self) -> usize {
        self.model.dim_x()
    }
    fn dim_y(&self) -> usize {
        self.model.dim_y()
    }
    fn value(&self, at: PreparedImage<'_>, y: &[f64]) -> f64 {
        self.model.value(at, y)
    }
    fn grad_image(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
        self.model.grad_image(at, y, out);
    }
    fn grad_y(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
        self.model.grad_y(at, y, out);
    }
    fn capabilities(&self) -> Capabilities<'_> {
        let model = self.model.capabilities();
        let mut kept = model.representation().with_operator(self).with_column_wise(self);
        kept.best_response = model.best_response;
        kept
    }
}

impl LinearOperator for Breaking<'_> {
    fn image_dim(&self) -> usize {
        self.model.image_dim()
    }
    fn image(&self, x: &[f64], out: &mut [f64]) {
        self.model.image(x, out);
        self.count(out);
    }
    fn adjoint(&self, s: &[f64], out: &mut [f64]) {
        self.model.adjoint(s, out);
        self.count(out);
    }
}

impl ColumnWise for Breaking<'_> {
    fn columns(&self) -> usize {
        self.model.columns()
    }
    fn normal(&self, s: &[f64], room: &mut [f64], out: &mut [f64]) {
        self.adjoint(s, room);
        self.image(room, out);
    }
}

/// Found by fuzzing: there is no number between 1.4 and 16 times a negative one.
#[test]
fn a_forged_lhat_is_refused() {
    let model = model(Layout::FeatureMajor, Scaling::Dro);
    let x_set = model.x_set().expect("a ball");
    let settings = CertifiedSettings::default();
    let solver =
        || Certified::new(Start::new(&model, &x_set, model.y_set()), &settings).expect("starts");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("checkpoint");
    let run = |solver: &mut Certified<'_>, plan: &Checkpoints| {
        let rules = StopRules { iterations: Some(5), ..StopRules::default() };
        let mut nobody = |_: &TracePoint, _: &dyn Algorithm| Flow::Continue;
        let print = Fingerprint::default();
        run_kept(solver, &rules, plan, &print, &NoClock, &mut nobody)
    };
    run(&mut solver(), &Checkpoints::to(&file)).expect("a run");
    let bytes = std::fs::read(&file).expect("a checkpoint");
    let place = bytes.windows(6).position(|w| w == b"n\x04lhat").expect("an entry") + 6;
    for forged in [-1.0, f64::NAN, f64::INFINITY] {
        let mut bytes = bytes.clone();
        bytes[place..place + 8].copy_from_slice(&forged.to_le_bytes());
        let end = bytes.len() - 4;
        let sum = crc32fast::hash(&bytes[..end]);
        bytes[end..].copy_from_slice(&sum.to_le_bytes());
        std::fs::write(&file, bytes).expect("writing");
        let error = run(&mut solver(), &Checkpoints::resume(&file)).expect_err("forged");
        assert!(error.to_string().contains("lhat"), "{error}");
    }
}

#[test]
fn an_operator_that_breaks_leaves_the_best_pair_and_its_certificate() {
    // more rows than features, and fewer: there points are kept by weights, and forming one takes a product
    for (n, d, stays) in [(120, 60, true), (120, 60, false), (40, 64, false)] {
        let model = model_of(n, d, Layout::FeatureMajor, Scaling::Dro);
        (3..90).for_each(|good| break_after(good, stays, &model));
    }
}

fn break_after(good: u64, stays: bool, model: &RobustMulticlass) {
    let x_set = model.x_set().expect("a ball");
    let settings = CertifiedSettings::default();
    let problem = Breaking { model, good, stays, products: AtomicU64::new(0) };
    let mut solver =
        Certified::new(Start::new(&problem, &x_set, model.y_set()), &settings).expect("starts");
    let mut before = *solver.certificate();
    let error = loop {
        match solver.step() {
            Ok(_) => before = *solver.certificate(),
            Err(error) => break error,
        }
    };
    assert!(error.is_numerical(), "{good}: {error}");
    assert_eq!(*solver.certificate(), before, "{good}");
    let (x, _) = solver.best();
    assert!(x_set.contains(x, 1e-9), "{good}");
    // max_y f at the point, from scratch
    let mut point = PointX::new(model);
    model.image(x, &mut point.image);
    model.prepare(&point.image, &mut point.cache);
    let mut y = vec![0.0; model.dim_y()];
    let left = model.best_response(point.prepared(), &mut y);
    let upper = model.value(point.prepared(), &y) + left;
    assert!(upper <= before.upper + 1e-15, "{good}: {upper} {before:?}");
}
