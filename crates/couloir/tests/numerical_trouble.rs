//! Trouble in the middle of a run ends it with a status, and what was certified before is kept.

mod common;

use common::{Family, families};
use couloir::problem::{BlockConstants, SaddleProblem, Seen};
use couloir::run::Status;
use couloir::{Error, Method, Solve};
use std::sync::atomic::{AtomicU64, Ordering};

/// The problem of a family, whose gradient in `x` or `y` is NaN from some call on.
struct Breaking<'a> {
    family: &'a Family,
    good_x: AtomicU64,
    good_y: AtomicU64,
}

/// Counts down to zero and says whether it was there.
fn spent(left: &AtomicU64) -> bool {
    left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).is_err()
}

impl SaddleProblem for Breaking<'_> {
    fn dim_x(&self) -> usize {
        self.family.problem.dim_x()
    }
    fn dim_y(&self) -> usize {
        self.family.problem.dim_y()
    }
    fn value(&self, at: Seen<'_>, y: &[f64]) -> f64 {
        self.family.problem.value(at, y)
    }
    fn grad_image(&self, at: Seen<'_>, y: &[f64], out: &mut [f64]) {
        self.family.problem.grad_image(at, y, out);
        if spent(&self.good_x) {
            out[0] = f64::NAN;
        }
    }
    fn grad_y(&self, at: Seen<'_>, y: &[f64], out: &mut [f64]) {
        self.family.problem.grad_y(at, y, out);
        if spent(&self.good_y) {
            out[0] = f64::INFINITY;
        }
    }
    fn constants(&self) -> BlockConstants {
        self.family.problem.constants()
    }
}

#[test]
fn a_gradient_that_breaks_at_any_moment_leaves_the_best_pair_with_a_certificate_that_holds() {
    let methods = [
        Method::certified(),
        Method::printed(),
        Method::spfw(),
        Method::extragradient(),
        Method::apg(),
    ];
    let mut ended = 0;
    for family in families() {
        let (x_set, y_set) = (&*family.x_set, &*family.y_set);
        for method in &methods {
            for good in 1..25 {
                for (good_x, good_y) in [(good, u64::MAX), (u64::MAX, good)] {
                    let problem = Breaking {
                        family: &family,
                        good_x: AtomicU64::new(good_x),
                        good_y: AtomicU64::new(good_y),
                    };
                    let case =
                        format!("{} on {} after {good_x}, {good_y}", method.name(), family.name);
                    let run = Solve::new(&problem, x_set, y_set)
                        .method(method.clone())
                        .gap(1e-14)
                        .iterations(30)
                        .run();
                    let solution = match run {
                        Ok(solution) => solution,
                        // before the first certificate there is nothing to keep
                        Err(Error::NotFinite { .. }) => {
                            assert!(good <= 8, "{case}: nothing was kept");
                            continue;
                        }
                        Err(error) => panic!("{case}: {error}"),
                    };
                    let outcome = &solution.outcome;
                    let broke = matches!(outcome.trouble, Some(Error::NotFinite { .. }));
                    assert_eq!(broke, outcome.status == Status::NumericalTrouble, "{case}");
                    ended += u32::from(broke);
                    // what is claimed, held against the pair's true gap
                    let claim = outcome.certificate;
                    let truth = family
                        .problem
                        .exact_gap(x_set, y_set, &solution.x, &solution.y)
                        .expect("the gap of a point of the sets");
                    assert!(claim.gap.is_finite(), "{case}: {claim:?}");
                    assert!(claim.gap >= truth - 1e-9, "{case}: {claim:?}, but the gap is {truth}");
                }
            }
        }
    }
    assert!(ended > 300, "only {ended} runs met the trouble");
}
