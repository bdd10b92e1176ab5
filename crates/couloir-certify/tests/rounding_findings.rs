//! One test for each way in which an audit broke a certificate by rounding, by a best response that was believed, by counting
//! probabilities wrongly, or by giving up, named by the sentence that must hold.

use couloir::domain::{Confidence, L2Ball, LanczosSettings, NuclearBall, Simplex};
use couloir::problem::{ClosureProblem, QuadraticBilinear};
use couloir::run::{Algorithm, Flow, Status, TracePoint};
use couloir::solver::CertifiedSettings;
use couloir::{Method, Solution, Solve};
use couloir_certify::draw::Draw;
use couloir_certify::exact::{exact, exact_vector, rounded};
use couloir_certify::judge::{Case, Judged, Short, Truth, compare, method_names};
use couloir_certify::quadratic::Quadratic;
use couloir_certify::sets::Set;

/// What is true of a pair of a quadratic problem.
fn truth(f: &Quadratic, (x_set, y_set): (&Set, &Set), x: &[f64], y: &[f64]) -> Truth {
    Truth {
        worst: y_set.maximum(&f.in_y(&exact_vector(x))),
        least: x_set.maximum(&f.against_x(&exact_vector(y))).negated(),
    }
}

/// How wrong the certificate of a solution is.
fn short(f: &Quadratic, sets: (&Set, &Set), solution: &Solution) -> Short {
    compare(&solution.outcome.certificate, &truth(f, sets, &solution.x, &solution.y))
}

fn cube(dim: usize, lower: f64, upper: f64) -> Set {
    Set::Box { lower: vec![lower; dim], upper: vec![upper; dim] }
}

fn method(name: &str) -> Method {
    name.parse().expect("a method")
}

// 1 ---------------------------------------------------------------------------------------------------------------

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

#[test]
fn a_best_response_that_misses_the_maximum_does_not_lower_the_upper_bound() {
    let (f, set) = (slanted(), cube(1, 0.0, 1.0));
    let domain = set.domain().expect("a box");
    for name in ["certified", "apg"] {
        for miss in [1e-7, 1e-9, 1e-12] {
            let problem =
                f.closures().expect("a problem").with_best_response(move |_, y| y[0] = 1.0 - miss);
            let solve = Solve::new(&problem, &*domain, &*domain).method(method(name)).gap(1e-10);
            // a response that is found out is no certificate at all
            let Ok(solution) = solve.run() else { continue };
            let short = short(&f, (&set, &set), &solution);
            let outcome = &solution.outcome;
            assert_eq!(
                short.worst(),
                0.0,
                "{name}, response off by {miss:e}: {} at {:?}, but {short:?}",
                outcome.status,
                outcome.certificate
            );
        }
    }
}

// 2 ---------------------------------------------------------------------------------------------------------------

/// A problem with its saddle point near the centre of sets that lie `offset` away from the origin.
fn far_problem(draw: &mut Draw, (n, x0): (usize, f64), (m, y0): (usize, f64)) -> Quadratic {
    let mut numbers = |n: usize, least: f64| -> Vec<f64> {
        (0..n).map(|_| if least > 0.0 { least + draw.share() } else { draw.unit() }).collect()
    };
    let (hx, hy, b) = (numbers(n, 0.1), numbers(m, 0.5), numbers(n * m, 0.0));
    let near = |centre: f64, moves: Vec<f64>| moves.iter().map(|t| centre + 0.2 * t).collect();
    let (x0, y0) = (near(x0, numbers(n, 0.0)), near(y0, numbers(m, 0.0)));
    Quadratic { hx, hy, b, cx: vec![0.0; n], cy: vec![0.0; m], x0, y0, value: 0.0 }
}

#[test]
fn the_certificate_knows_the_rounding_of_points_far_from_the_origin() {
    let mut wrong = Vec::new();
    let mut runs = 0;
    for (offset, width) in [(1e6, 1.0), (1e8, 0.1)] {
        let mut draw = Draw::new(16);
        let x_set = Set::L1 { dim: 1, radius: 1.0 };
        let y_set = cube(2, offset, offset + width);
        let (x, y) = (x_set.domain().expect("a ball"), y_set.domain().expect("a box"));
        for trial in 0..100 {
            let f = far_problem(&mut draw, (1, 0.0), (2, offset + 0.5 * width));
            let problem = f.library().expect("a problem");
            let solution = Solve::new(&problem, &*x, &*y).relative_gap(1e-14).run().expect("a run");
            let short = short(&f, (&x_set, &y_set), &solution);
            runs += 1;
            if short.worst() > 0.0 {
                let gap = truth(&f, (&x_set, &y_set), &solution.x, &solution.y).gap();
                let claimed = solution.outcome.certificate.gap;
                let status = solution.outcome.status;
                wrong.push((short.worst(), offset, trial, claimed, rounded(&gap), status));
            }
        }
    }
    wrong.sort_by(|a, b| b.0.total_cmp(&a.0));
    assert!(
        wrong.is_empty(),
        "{} of {runs} certificates are wrong; worst (by, offset, trial, certified, true gap): {:?}",
        wrong.len(),
        &wrong[..wrong.len().min(3)]
    );
}

// 4 ---------------------------------------------------------------------------------------------------------------

#[test]
fn the_probability_of_failure_counts_every_oracle_call_once() {
    let failure = 1e-9;
    let settings = LanczosSettings { failure, ..LanczosSettings::default() };
    let x_set = NuclearBall::with_lanczos(8, 12, 1.0, settings).expect("a ball");
    let y_set = L2Ball::new(5, 1.0).expect("a ball");
    let problem = QuadraticBilinear::on(&x_set, &y_set).curvature(0.0, 1.0).coupling(2.0);
    let problem = problem.push(0.5).build().expect("a problem");
    let mut faults = Vec::new();
    for name in ["certified", "spfw", "apg", "extragradient"] {
        let solve = Solve::new(&problem, &x_set, &y_set).method(method(name)).relative_gap(1e-9);
        let outcome = solve.iterations(200).run().expect("a run").outcome;
        let calls = outcome.ledger.method.lo_x + outcome.ledger.certificate.lo_x;
        let looks = outcome.trace.len() as f64;
        let Confidence::Probabilistic { failure: total } = outcome.certificate.confidence else {
            faults.push(format!("{name}: {:?}", outcome.certificate.confidence));
            continue;
        };
        // at most one failure for each call; at least one for each look, for the best of all looks is kept
        let (least, most) = (looks * failure, calls as f64 * failure);
        if !(least * 0.999 <= total && total <= most * 1.001) {
            faults.push(format!("{name}: {total:e} after {calls} calls and {looks} looks"));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

// 5 ---------------------------------------------------------------------------------------------------------------

#[test]
fn the_bounds_of_sp_fw_hold_down_to_the_last_bit() {
    let mut draw = Draw::new(55);
    let (x_set, y_set) = (cube(3, -1.0, 0.5), Set::Simplex { dim: 4, total: 1.0 });
    let (x, y) = (x_set.domain().expect("a box"), y_set.domain().expect("a simplex"));
    let (mut wrong, mut runs, mut worst) = (0, 0, 0.0f64);
    for _ in 0..100 {
        // slopes that are steep enough for a saddle point in vertices, where SP-FW ends
        let mut f = far_problem(&mut draw, (3, 0.0), (4, 0.25));
        f.cx.iter_mut().chain(&mut f.cy).for_each(|c| *c = 9.0 * draw.unit());
        let problem = f.library().expect("a problem");
        for name in ["spfw", "spafw"] {
            let solve = Solve::new(&problem, &*x, &*y).method(method(name)).iterations(50);
            let short = short(&f, (&x_set, &y_set), &solve.run().expect("a run"));
            runs += 1;
            wrong += u32::from(short.worst() > 0.0);
            worst = worst.max(short.worst());
        }
    }
    assert_eq!(wrong, 0, "{wrong} of {runs} certificates are wrong, the worst by {worst:e}");
}

#[test]
fn the_bounds_of_the_theorem_hold_at_the_current_pair_down_to_rounding() {
    let mut draw = Draw::new(56);
    let (x_set, y_set) = (cube(3, -1.0, 1.0), cube(3, -1.0, 1.0));
    let (x, y) = (x_set.domain().expect("a box"), y_set.domain().expect("a box"));
    let (mut looks, mut above) = (0, Vec::new());
    for trial in 0..20 {
        // without curvature in x and coupling a small Lhat is right, and B_k falls below rounding
        let mut f = far_problem(&mut draw, (3, 0.3), (3, 0.1));
        f.hx.fill(0.0);
        f.b.fill(0.0);
        f.cx.iter_mut().for_each(|c| *c = draw.unit());
        let problem = f.library().expect("a problem");
        let mut observe = |point: &TracePoint, state: &dyn Algorithm| {
            let (x, y) = state.current();
            let gap = truth(&f, (&x_set, &y_set), x, y).gap();
            for (name, bound) in [("B_k", point.bounds.schedule), ("C_k", point.bounds.minorant)] {
                looks += 1;
                if bound.is_finite() && gap > exact(bound) {
                    let by = rounded(&(&gap - exact(bound)));
                    above.push((by, name, trial, point.iteration, bound, rounded(&gap)));
                }
            }
            // C_k <= B_k is a part of the theorem
            if point.bounds.minorant > point.bounds.schedule {
                let by = point.bounds.minorant - point.bounds.schedule;
                above.push((by, "C_k > B_k", trial, point.iteration, point.bounds.schedule, 0.0));
            }
            Flow::Continue
        };
        let settings = CertifiedSettings::default().first_lhat(1e-20);
        let solve = Solve::new(&problem, &*x, &*y).method(Method::from(settings));
        let solve = solve.relative_gap(1e-15).iterations(100);
        solve.run_with(&mut observe).expect("a run");
    }
    above.sort_by(|a, b| b.0.total_cmp(&a.0));
    let few = &above[..above.len().min(4)];
    assert!(above.is_empty(), "{} of {looks} bounds fail: {few:?}", above.len());
}

// 7 ---------------------------------------------------------------------------------------------------------------

/// `c + y'Mx - mu/2 |y|^2` by plain loops, without a best response and without constants.
fn game(m: Vec<f64>, n: usize, c: f64, mu: f64) -> ClosureProblem<'static> {
    let rows = m.len() / n;
    let (a, b) = (m.clone(), m.clone());
    let value = move |x: &[f64], y: &[f64]| {
        let mut sum = c;
        for j in 0..rows {
            for i in 0..n {
                sum += y[j] * m[j * n + i] * x[i];
            }
            sum -= 0.5 * mu * y[j] * y[j];
        }
        sum
    };
    let grad_x = move |_: &[f64], y: &[f64], out: &mut [f64]| {
        (0..n).for_each(|i| out[i] = (0..rows).map(|j| y[j] * a[j * n + i]).sum());
    };
    let grad_y = move |x: &[f64], y: &[f64], out: &mut [f64]| {
        for j in 0..rows {
            out[j] = (0..n).map(|i| b[j * n + i] * x[i]).sum::<f64>() - mu * y[j];
        }
    };
    ClosureProblem::new(n, rows, value, grad_x, grad_y).expect("a problem")
}

/// Gradients in both blocks, of the method and of its certificates.
fn gradients(solution: &Solution) -> u64 {
    let ledger = &solution.outcome.ledger;
    [&ledger.method, &ledger.certificate].iter().map(|c| c.grad_x + c.grad_y).sum()
}

#[test]
fn three_closures_are_enough_for_a_gap_of_a_millionth() {
    let (n, rows) = (50, 40);
    let (x_set, y_set) =
        (Simplex::new(n).expect("a simplex"), L2Ball::new(rows, 1.0).expect("a ball"));
    let mut draw = Draw::new(7);
    let m: Vec<f64> = (0..n * rows).map(|_| draw.unit()).collect();
    let mut faults = Vec::new();
    for c in [0.0, 1.0, 100.0, 1e4] {
        let problem = game(m.clone(), n, c, 10.0);
        let run = |name: &str| {
            let solve = Solve::new(&problem, &x_set, &y_set).method(method(name)).gap(1e-6);
            solve.iterations(20_000).run().expect("a run")
        };
        let (certified, peer) = (run("certified"), run("extragradient"));
        let (own, other) = (gradients(&certified), gradients(&peer));
        let outcome = &certified.outcome;
        if !outcome.status.is_solved() || own > 3 * other {
            faults.push(format!(
                "c = {c}: {} at {:e} after {own} gradients; extragradient: {} after {other}",
                outcome.status, outcome.certificate.gap, peer.outcome.status
            ));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn a_game_that_is_hardly_concave_is_not_given_up() {
    let (n, rows) = (20, 15);
    let (x_set, y_set) =
        (Simplex::new(n).expect("a simplex"), Simplex::new(rows).expect("a simplex"));
    let mut given_up = Vec::new();
    for (c, seed) in [(0.0, 2), (1.0, 8), (100.0, 15), (100.0, 3)] {
        let mut draw = Draw::new(seed);
        let m: Vec<f64> = (0..n * rows).map(|_| draw.unit()).collect();
        let problem = game(m, n, c, 1e-4);
        let solve = Solve::new(&problem, &x_set, &y_set).gap(1e-6).iterations(20_000);
        let outcome = solve.run().expect("a run").outcome;
        if outcome.status == Status::NoProgress {
            let (gap, after) = (outcome.certificate.gap, outcome.iterations);
            given_up.push(format!("c = {c}: at {gap:e} after {after} iterations"));
        }
    }
    assert!(given_up.is_empty(), "{given_up:#?}");
}

// the long run ----------------------------------------------------------------------------------------------------

/// Closures whose gradients vanish at the start, which were certified at 0 in [0, 0] with members of the sets that are worse by 1e-9; and
/// pairwise steps that rounding made negative, out of a ball that was then accused of a wrong oracle.
#[test]
fn cases_that_the_long_run_found_wrong_are_right() {
    for (seed, form, method) in [
        (11684757753108401635, "closures", "certified"),
        (1559683401045979487, "QuadraticBilinear", "sppfw"),
    ] {
        let judged = Case::new(seed, &method_names()).judge();
        let Judged::Verdict(verdict) = judged else { panic!("case {seed}: {judged:?}") };
        assert_eq!([verdict.names[2].as_str(), verdict.names[3].as_str()], [form, method]);
        assert!(verdict.is_right() && !verdict.is_low_estimate(), "{verdict:?}");
    }
}

#[test]
fn a_gradient_that_vanishes_at_the_start_is_not_taken_to_vanish_elsewhere() {
    let f = Quadratic {
        hx: vec![0.0],
        hy: vec![1e-2; 3],
        b: vec![1e11, -3e10, 2e10],
        cx: vec![0.0],
        cy: vec![0.0; 3],
        x0: vec![0.0],
        y0: vec![137.0 / 3.0; 3],
        value: 0.0,
    };
    let sets = (Set::L2 { dim: 1, radius: 4e-6 }, Set::Simplex { dim: 3, total: 137.0 });
    let problem = f.closures().expect("a problem");
    let (x_set, y_set) = (sets.0.domain().expect("a ball"), sets.1.domain().expect("a simplex"));
    let solve = Solve::new(&problem, &*x_set, &*y_set).iterations(20);
    let certificate = solve.run().expect("a run").outcome.certificate;
    // a unit in the last place of y is worth 1e11 * 1e-14 * 4e-6
    assert!(certificate.gap > 4e-9 && certificate.lower < -2e-9, "{certificate:?}");
}
