//! Trouble in the middle of a run ends it with a status, and what was certified before is kept.

mod common;

use common::{Family, families};
use couloir::problem::{
    Capabilities, Population, PreparedImage, QuadraticSum, SaddleProblem, Sampled,
};
use couloir::run::Status;
use couloir::solver::{BatchedSettings, MpscgsSettings, SvreSettings};
use couloir::{Error, Method, Solve};
use std::sync::atomic::{AtomicU64, Ordering};

/// What breaks.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Part {
    X,
    Y,
    Value,
}

/// A problem whose gradient in `x` is NaN, whose gradient in `y` is infinite or whose value overflows from some call on,
/// on batches or on the whole.
struct Breaking<'a> {
    problem: &'a dyn SaddleProblem,
    part: Part,
    good: AtomicU64,
}

impl Breaking<'_> {
    /// Counts a call; tells whether it breaks.
    fn breaks(&self, part: Part) -> bool {
        let count = |left: u64| left.checked_sub(1);
        part == self.part
            && self.good.fetch_update(Ordering::Relaxed, Ordering::Relaxed, count).is_err()
    }

    fn break_x(&self, out: &mut [f64]) {
        if self.breaks(Part::X) {
            out[0] = f64::NAN;
        }
    }

    fn break_y(&self, out: &mut [f64]) {
        if self.breaks(Part::Y) {
            out[0] = f64::INFINITY;
        }
    }

    fn break_value(&self, value: f64) -> f64 {
        if self.breaks(Part::Value) { value * f64::MAX * 2.0 } else { value }
    }

    fn sum(&self) -> &dyn Sampled {
        self.problem.capabilities().sampled.expect("a sum")
    }
}

impl SaddleProblem for Breaking<'_> {
    fn dim_x(&self) -> usize {
        self.problem.dim_x()
    }
    fn dim_y(&self) -> usize {
        self.problem.dim_y()
    }
    fn value(&self, at: PreparedImage<'_>, y: &[f64]) -> f64 {
        self.break_value(self.problem.value(at, y))
    }
    fn grad_image(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
        self.problem.grad_image(at, y, out);
        self.break_x(out);
    }
    fn grad_y(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
        self.problem.grad_y(at, y, out);
        self.break_y(out);
    }
    fn capabilities(&self) -> Capabilities<'_> {
        let mut kept = self.problem.capabilities();
        // these would bypass what breaks
        kept.differences = None;
        kept.restriction = None;
        kept.sampled = kept.sampled.map(|_| self as &dyn Sampled);
        kept
    }
}

impl Sampled for Breaking<'_> {
    fn population(&self) -> Population {
        self.sum().population()
    }
    fn batch_value(&self, batch: &[u64], x: &[f64], y: &[f64]) -> f64 {
        self.break_value(self.sum().batch_value(batch, x, y))
    }
    fn batch_grad_x(&self, batch: &[u64], x: &[f64], y: &[f64], out: &mut [f64]) {
        self.sum().batch_grad_x(batch, x, y, out);
        self.break_x(out);
    }
    fn batch_grad_y(&self, batch: &[u64], x: &[f64], y: &[f64], out: &mut [f64]) {
        self.sum().batch_grad_y(batch, x, y, out);
        self.break_y(out);
    }
}

/// Runs a method on a problem of a family that breaks after so many good calls. What is kept is held against the pair's
/// true gap; tells whether there was trouble after the first certificate.
fn breaks_well(
    method: &Method,
    family: &Family,
    problem: &dyn SaddleProblem,
    (part, good): (Part, u64),
) -> bool {
    let case = format!("{} on {}: {part:?} after {good}", method.name(), family.name);
    let (x_set, y_set) = (&*family.x_set, &*family.y_set);
    let problem = Breaking { problem, part, good: AtomicU64::new(good) };
    let run =
        Solve::new(&problem, x_set, y_set).method(method.clone()).gap(1e-14).iterations(30).run();
    let solution = match run {
        Ok(solution) => solution,
        // before the first certificate there is nothing to keep
        Err(Error::NotFinite { .. }) => {
            assert!(good <= 8, "{case}: nothing was kept");
            return false;
        }
        Err(error) => panic!("{case}: {error}"),
    };
    let outcome = &solution.outcome;
    let broke = matches!(outcome.trouble, Some(Error::NotFinite { .. }));
    assert_eq!(broke, outcome.status == Status::NumericalTrouble, "{case}");
    let claim = outcome.certificate;
    let truth = family
        .problem
        .exact_gap(x_set, y_set, &solution.x, &solution.y)
        .expect("the gap of a point of the sets");
    assert!(claim.gap.is_finite(), "{case}: {claim:?}");
    assert!(claim.gap >= truth - 1e-9, "{case}: {claim:?}, but the gap is {truth}");
    broke
}

#[test]
fn a_gradient_that_breaks_at_any_moment_leaves_the_best_pair_with_a_certificate_that_holds() {
    let methods = [
        Method::certified(),
        Method::mpcgs(),
        Method::spfw(),
        Method::extragradient(),
        Method::apg(),
    ];
    let mut ended = 0;
    for family in families() {
        for method in &methods {
            for good in 1..25 {
                for part in [Part::X, Part::Y] {
                    let broke = breaks_well(method, &family, &family.problem, (part, good));
                    ended += u32::from(broke);
                }
            }
        }
    }
    assert!(ended > 300, "only {ended} runs met the trouble");
}

#[test]
fn methods_that_sample_keep_the_best_pair_whichever_batch_breaks() {
    for (name, parts) in [
        ("svre", &[Part::X, Part::Y][..]),
        ("batched", &[Part::X, Part::Y, Part::Value]),
        ("mpscgs", &[Part::X, Part::Y]),
    ] {
        for part in parts {
            let mut ended = 0;
            for family in families() {
                let (base, all) = (family.problem.clone(), Population::Finite(40));
                let sum = QuadraticSum::new(base, all, 0.5, 0.3, 9).expect("a sum");
                let method = sampling(name, &family, &sum);
                for good in 1..40 {
                    let broke = breaks_well(&method, &family, &sum, (*part, good));
                    ended += u32::from(broke);
                }
            }
            assert!(ended > 200, "{name}: only {ended} runs met the trouble in {part:?}");
        }
    }
}

/// A method with batches that are a part of 40 components.
fn sampling(name: &str, family: &Family, sum: &QuadraticSum) -> Method {
    match name {
        "svre" => SvreSettings::default().batch(4).into(),
        "batched" => BatchedSettings::default().first_batch(4).into(),
        _ => {
            let sigma = sum.sigma_on(family.x_set.diameter(), family.y_set.diameter());
            MpscgsSettings::default().sigma(sigma).into()
        }
    }
}
