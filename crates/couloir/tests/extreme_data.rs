//! Data that is extreme but valid ends with a certificate that holds, or with a clear error: values of 1e150 and
//! 1e-150, a feature in every row, empty rows, identical rows, one row, two classes, one feature, tiny and vast balls.
//!
//! Nothing that is checked here is computed by the library: losses, the best response, feasibility and points that
//! would refute a lower bound come from the plain code below.

mod plain;

use couloir::linalg::SparseMatrix;
use couloir::model::{Fitted, RobustFit, Scaling};
use couloir::run::{Algorithm, Flow, NoClock, Status, TracePoint};
use couloir::{Certificate, Error, Method};
use plain::{Data, Objective};

const TAUS: [Option<f64>; 4] = [None, Some(1e-8), Some(1.0), Some(1e8)];

/// What no number may miss by, relative to the largest number that it is a sum of.
const ROUNDING: f64 = 1e-13;

fn fit(data: &Data, fit: &RobustFit) -> couloir::Result<Fitted> {
    let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in &data.rows {
        indices.extend(row.iter().map(|(index, _)| *index as u32));
        values.extend(row.iter().map(|(_, value)| *value));
        starts.push(indices.len());
    }
    let rows = SparseMatrix::from_rows(data.features, starts, indices, values)?;
    let mut nobody = |_: &TracePoint, _: &dyn Algorithm| Flow::Continue;
    fit.run(rows, data.labels.clone(), data.classes, &NoClock, &mut nobody)
}

/// Whether the certificate holds; what is wrong with it where it does not.
fn check(data: &Data, fitted: &Fitted) -> Result<(), String> {
    check_claims(data, fitted, fitted.outcome().certificate)
}

fn check_claims(data: &Data, fitted: &Fitted, certificate: Certificate) -> Result<(), String> {
    let (tau, y) = (fitted.tau(), &fitted.solution().y);
    let x = fitted.weights();
    let objective =
        Objective { data, scale: fitted.model().scale(), level: fitted.fit().level_in_use() };
    let (lower, upper, gap) = (certificate.lower, certificate.upper, certificate.gap);
    let ensure = |holds: bool, what: String| if holds { Ok(()) } else { Err(what) };
    ensure(
        [lower, upper, gap].iter().all(|v| v.is_finite()),
        format!("not finite: {certificate:?}"),
    )?;

    let sum: f64 = y.iter().sum();
    ensure(
        y.iter().all(|v| *v >= 0.0) && (sum - 1.0).abs() <= ROUNDING * y.len() as f64,
        format!("y is not in the simplex: {y:?}"),
    )?;
    let nuclear: f64 = plain::svd(&x, data.classes, data.features).iter().map(|t| t.sigma).sum();
    ensure(
        nuclear <= tau * (1.0 + ROUNDING),
        format!("X is not in the ball: {nuclear:e} > {tau:e}"),
    )?;

    // the upper bound is one of max_y f(X, y)
    let (value, worst) = (objective.value(&x, y), objective.worst(&x));
    let size = objective.size(&x, y).max(objective.size(&x, &objective.response(&x)));
    ensure(
        worst <= upper + ROUNDING * size,
        format!("upper {upper:e} is below max_y f(X, y) = {worst:e}"),
    )?;
    ensure(value <= worst + ROUNDING * size, format!("{value:e} above {worst:e}"))?;
    // the lower bound is one of min_X f(X, y), and the gap one of the way down to it from max_y f(X, y): no point that a descent
    // of our own finds is further down. Not the way to `lower`, which is charged with the rounding of the value, as a gap of
    // slopes is not: with values of 1e8 the two differ by 1e-6.
    for start in [x.clone(), vec![0.0; x.len()]] {
        let found = objective.descend(start, y, tau);
        ensure(
            found >= lower - ROUNDING * size,
            format!("lower {lower:e} is above f(X', y) = {found:e}"),
        )?;
        ensure(
            gap >= worst - found - ROUNDING * size,
            format!("gap {gap:e} is less than {:e}", worst - found),
        )?;
    }
    Ok(())
}

#[test]
fn every_kind_of_data_in_every_ball_has_a_certificate_that_holds() {
    let (mut faults, mut checked) = (Vec::new(), 0);
    for (name, data) in plain::kinds() {
        for tau in TAUS {
            for scaling in [Scaling::Dro, Scaling::Paper] {
                let settings =
                    RobustFit::default().scaling(scaling).tau(tau).tol(1e-6).max_iters(Some(60));
                let case = format!("{name}, tau {tau:?}, {scaling}");
                match fit(&data, &settings) {
                    Ok(fitted) => {
                        checked += 1;
                        if let Err(fault) = check(&data, &fitted) {
                            faults.push(format!("{case}: {fault}"));
                        }
                    }
                    // no radius follows from rows without length
                    Err(Error::Setting { name: "tau", .. })
                        if tau.is_none() && data.rows.iter().all(Vec::is_empty) => {}
                    Err(error) => faults.push(format!("{case}: {error}")),
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(checked >= 100, "only {checked} were checked");
}

#[test]
fn ordinary_data_is_solved_and_claims_beyond_its_certificate_are_refuted() {
    let data = plain::kinds().swap_remove(0).1;
    let settings = RobustFit::default().tau(Some(1.0)).tol(1e-6);
    let fitted = fit(&data, &settings).expect("a fit");
    assert_eq!(fitted.outcome().status, Status::Solved);
    check(&data, &fitted).expect("a certificate that holds");
    let truth = fitted.outcome().certificate;
    let much = 1e-5;
    for (claim, fault) in [
        (Certificate { upper: truth.upper - much, ..truth }, "is below max_y"),
        (Certificate { gap: truth.gap - much, ..truth }, "is less than"),
        (Certificate { lower: truth.lower + much, ..truth }, "is above f(X', y)"),
    ] {
        let refuted = check_claims(&data, &fitted, claim).expect_err("too much was claimed");
        assert!(refuted.contains(fault), "{refuted}");
    }
}

#[test]
fn every_method_ends_with_a_certificate_that_holds() {
    let methods = [
        Method::mpcgs(),
        Method::batched(),
        Method::spfw(),
        Method::svre(),
        Method::extragradient(),
        Method::apg(),
    ];
    let mut faults = Vec::new();
    for (name, data) in plain::kinds() {
        for tau in [Some(1.0), Some(1e8)] {
            for method in &methods {
                let settings = RobustFit::default()
                    .method(method.clone())
                    .tau(tau)
                    .tol(1e-6)
                    .max_grads(Some(200))
                    .max_iters(Some(20));
                let case = format!("{} on {name}, tau {tau:?}", method.name());
                let fitted = fit(&data, &settings).map_err(|error| error.to_string());
                if let Err(fault) = fitted.and_then(|fitted| check(&data, &fitted)) {
                    faults.push(format!("{case}: {fault}"));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
