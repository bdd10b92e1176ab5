//! The checker of certificates finds one that is wrong by a rounding.

use couloir::Solve;
use couloir_certify::exact::{Exact, exact_vector, rounded};
use couloir_certify::judge::{Truth, compare};
use couloir_certify::quadratic::Quadratic;
use couloir_certify::sets::Set;

/// What is true of a pair of a quadratic problem.
fn truth(f: &Quadratic, (x_set, y_set): (&Set, &Set), x: &[f64], y: &[f64]) -> Truth {
    Truth {
        worst: y_set.maximum(&f.in_y(&exact_vector(x))),
        least: x_set.maximum(&f.against_x(&exact_vector(y))).negated(),
    }
}

fn cube(dim: usize, lower: f64, upper: f64) -> Set {
    Set::Box { lower: vec![lower; dim], upper: vec![upper; dim] }
}

/// `(2 + x) y - 0.005 y^2` on the unit square.
fn slanted() -> Quadratic {
    Quadratic {
        hx: vec![0.0],
        hy: vec![0.01],
        b: vec![1.0],
        cx: vec![0.0],
        cy: vec![0.0],
        x0: vec![-2.0],
        y0: vec![0.0],
        value: 0.0,
    }
}

/// The checker is no use if it believes everything.
#[test]
fn a_certificate_that_is_one_rounding_too_small_is_found_out() {
    let (f, set) = (slanted(), cube(1, 0.0, 1.0));
    let domain = set.domain().expect("a box");
    let problem = f.library().expect("a problem");
    let solution = Solve::new(&problem, &*domain, &*domain).gap(1e-10).run().expect("a run");
    let truth = truth(&f, (&set, &set), &solution.x, &solution.y);
    let mut claim = solution.outcome.certificate;
    // max over y of 2 y - 0.005 y^2 is 1.995 at x = 0
    (claim.upper, claim.lower) = (rounded(&truth.worst.low), rounded(&truth.least.high));
    claim.gap = rounded(&truth.gap()).next_up();
    assert!(truth.gap() >= Exact::ZERO && claim.upper > 1.99, "{truth:?}");
    claim.upper = claim.upper.next_up();
    claim.lower = claim.lower.next_down();
    assert_eq!(compare(&claim, &truth).worst(), 0.0);
    for broken in 0..3 {
        let mut claim = claim;
        match broken {
            0 => claim.upper = claim.upper.next_down().next_down(),
            1 => claim.lower = claim.lower.next_up().next_up(),
            _ => claim.gap = -f64::MIN_POSITIVE,
        }
        assert!(compare(&claim, &truth).worst() > 0.0, "{broken}: {claim:?} {truth:?}");
    }
}
