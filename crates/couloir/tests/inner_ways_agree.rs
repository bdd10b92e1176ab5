//! Projection-free and exact inner solves reach the same value.

mod common;

use common::families;
use couloir::{Certificate, Inner, Method, Solve, solver::CertifiedSettings};

/// Four units in the last place of the largest radius here, 1.5, and what a decomposition in plain arithmetic adds.
const ULPS: f64 = 8.0 * f64::EPSILON * 1.5;

#[test]
fn slide_and_exact_both_certify_a_gap_of_1e_6_and_their_value_intervals_meet() {
    for family in families() {
        let solve = |inner: Inner| {
            let solution = Solve::new(&family.problem, &*family.x_set, &*family.y_set)
                .method(Method::new(CertifiedSettings::default().inner(inner)))
                .gap(1e-6)
                .run()
                .unwrap_or_else(|e| panic!("{}, {inner:?}: {e}", family.name));
            let status = solution.outcome.status;
            assert!(status.is_solved(), "{}, {inner:?}: {status}", family.name);
            let gap = family
                .problem
                .exact_gap(&*family.x_set, &*family.y_set, &solution.x, &solution.y)
                .expect("isotropic curvature");
            let certified = solution.outcome.certificate.gap;
            assert!(
                gap <= certified && certified <= 1e-6,
                "{}, {inner:?}: true gap {gap:e}, certified {certified:e}",
                family.name
            );
            assert!(family.x_set.contains(&solution.x, ULPS), "{}: x outside", family.name);
            assert!(family.y_set.contains(&solution.y, ULPS), "{}: y outside", family.name);
            solution.outcome
        };
        let (slide, exact) = (solve(Inner::Slide), solve(Inner::Exact));
        let atoms = solve(Inner::Atoms);
        assert_eq!(slide.ledger.method.prox_x + slide.ledger.method.prox_y, 0, "Slide projected");
        assert_eq!(exact.ledger.method.lo_x, 0, "Exact slid on x");
        assert_eq!(atoms.ledger.method.prox_x, 0, "Atoms projected x");
        let b = exact.certificate;
        let truth = family.problem.saddle().value;
        for certificate in [slide.certificate, atoms.certificate, b] {
            let Certificate { lower, upper, .. } = certificate;
            assert!(lower <= truth && truth <= upper, "{}: [{lower}, {upper}]", family.name);
        }
    }
}
