//! The nuclear ball's oracles allocate nothing once they are warm.
#![allow(clippy::unwrap_used, missing_docs)]

mod counting;

use couloir::domain::{Domain, LanczosSettings, NuclearBall, SlideTask};
use counting::allocations;

#[test]
fn a_warm_oracle_allocates_nothing() {
    // on one thread of rayon's, where all allocations are this thread's
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    pool.install(look_at_oracles);
}

fn look_at_oracles() {
    for (rows, cols) in [(20, 3000), (3000, 20), (53, 2000)] {
        let dim = rows * cols;
        let r: Vec<f64> = (0..dim).map(|i| (i as f64 * 0.7).sin()).collect();
        let q: Vec<f64> = (0..dim).map(|i| 1e-6 * (i as f64 * 0.3).cos()).collect();
        let mut out = vec![0.0; dim];
        let gram = NuclearBall::new(rows, cols, 10.0).unwrap();
        let settings = LanczosSettings::default();
        let lanczos = NuclearBall::with_lanczos(rows, cols, 10.0, settings).unwrap();
        for ball in [&gram, &lanczos] {
            let mut oracle = ball.oracle();
            let task = SlideTask { r: &r, q: &q, beta: 5.0, eta: 0.0, budget: 20 };
            let mut all = || {
                (
                    allocations(|| {
                        let _ = oracle.lmo(&r, &mut out).unwrap();
                    }),
                    allocations(|| {
                        let _ = oracle.prox(&r, &q, 5.0, &mut out).unwrap();
                    }),
                    allocations(|| {
                        let _ = oracle.slide(&task, &mut out).unwrap();
                    }),
                )
            };
            all();
            assert_eq!(all(), (0, 0, 0), "{rows} x {cols}");
        }
    }
}
