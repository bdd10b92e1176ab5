//! Hot loops allocate nothing.

mod counting;

use couloir::Inner;
use couloir::domain::{Cndg, Domain, L2Ball, NuclearBall, Simplex, SlideTask, cndg};
use couloir::linalg::SparseMatrix;
use couloir::model::{RobustMulticlass, RobustSettings};
use couloir::problem::QuadraticBilinear;
use couloir::run::Algorithm;
use couloir::solver::{Certified, CertifiedSettings, Start};
use counting::allocations;

#[test]
fn the_counter_counts() {
    assert!(allocations(|| drop(std::hint::black_box(vec![0u8; 100]))) >= 1);
}

#[test]
fn a_steady_state_step_of_certified_mpcgs_allocates_nothing() {
    let sets: Vec<(Box<dyn Domain>, Box<dyn Domain>)> = vec![
        (
            Box::new(NuclearBall::new(6, 40, 1.0).expect("a ball")),
            Box::new(Simplex::new(30).expect("a simplex")),
        ),
        (
            Box::new(L2Ball::new(20, 1.0).expect("a ball")),
            Box::new(Simplex::new(30).expect("a simplex")),
        ),
    ];
    for (x_set, y_set) in &sets {
        for inner in [Inner::Exact, Inner::Slide] {
            let problem =
                QuadraticBilinear::on(&**x_set, &**y_set).coupling(3.0).build().expect("a problem");
            let settings = CertifiedSettings::default().inner(inner);
            let mut solver = Certified::new(Start::new(&problem, &**x_set, &**y_set), &settings)
                .expect("a solver");
            for _ in 0..10 {
                solver.step().expect("a step");
            }
            let count = allocations(|| {
                for _ in 0..20 {
                    solver.step().expect("a step");
                }
            });
            assert_eq!(count, 0, "{}, {inner:?}: allocations in 20 steps", x_set.describe());
        }
    }
}

#[test]
fn a_step_on_robust_multiclass_allocates_nothing() {
    let (n, d, h) = (700, 90, 5);
    let starts = (0..=n).map(|i| 6 * i).collect();
    let indices = (0..6 * n).map(|p| ((p * p + 7 * p / 6) % 15 + 15 * (p % 6)) as u32).collect();
    let values = (0..6 * n).map(|p| 0.4 + 0.2 * (p as f64).sin()).collect();
    let rows = SparseMatrix::from_rows(d, starts, indices, values).expect("rows");
    let labels: Vec<u32> = (0..n).map(|i| (i % h) as u32).collect();
    use couloir::linalg::Layout::{ClassMajor, FeatureMajor};
    for layout in [ClassMajor, FeatureMajor] {
        // far from solved after these steps: near rounding a run goes over to vectors, once
        let settings = RobustSettings::default().layout(layout).tau(100.0);
        let model =
            RobustMulticlass::new(rows.clone(), labels.clone(), h, settings).expect("a model");
        let x_set = model.x_set().expect("a ball");
        let settings = CertifiedSettings::default();
        // on one thread of rayon's, where all allocations are this thread's
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
        let count = pool.install(|| {
            let mut solver = Certified::new(Start::new(&model, &x_set, model.y_set()), &settings)
                .expect("a solver");
            for _ in 0..10 {
                solver.step().expect("a step");
            }
            // images are formed anew after 33 of them
            allocations(|| {
                for _ in 0..30 {
                    solver.step().expect("a step");
                }
            })
        });
        assert_eq!(count, 0, "{layout:?}");
    }
}

#[test]
fn cndg_allocates_nothing() {
    let sets: Vec<Box<dyn Domain>> = vec![
        Box::new(NuclearBall::new(6, 40, 1.0).expect("a ball")),
        Box::new(Simplex::new(240).expect("a simplex")),
        Box::new(L2Ball::new(240, 1.0).expect("a ball")),
    ];
    for set in &sets {
        let r: Vec<f64> = (0..240).map(|i| (i as f64 * 0.7).sin()).collect();
        let mut q = vec![0.0; 240];
        set.center(&mut q);
        let task = SlideTask { r: &r, q: &q, beta: 0.5, eta: 1e-9, budget: 300 };
        let mut out = vec![0.0; 240];
        let mut oracle = set.oracle();
        let mut scratch = Cndg::new(240);
        let mut both = || {
            cndg(&mut *oracle, &task, &mut scratch, &mut out).expect("plain");
            oracle.slide(&task, &mut out).expect("the set's own way");
        };
        both();
        assert_eq!(allocations(&mut both), 0, "{}", set.describe());
    }
}
