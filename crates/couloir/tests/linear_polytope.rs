//! Polytopes by HiGHS: linear minimisation against all vertices, the set checker, and what a robust program costs.

use couloir::domain::{
    Birkhoff, Confidence, Domain, LinearConstraints, LinearPolytope, Simplex, check_set,
};
use couloir::linalg::SparseMatrix;
use couloir::problem::MatrixGame;
use couloir::{Error, Method, Solve};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

fn matrix(rows: &[Vec<f64>]) -> SparseMatrix {
    let columns = rows[0].len();
    let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in rows {
        for (j, v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            indices.push(j as u32);
            values.push(*v);
        }
        starts.push(indices.len());
    }
    SparseMatrix::from_rows(columns, starts, indices, values).expect("a matrix")
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// All vertices of `A x <= b` in three dimensions: where three planes meet and no other is violated.
fn corners(a: &[Vec<f64>], b: &[f64]) -> Vec<Vec<f64>> {
    let det = |r: [&[f64]; 3]| {
        let minor = |i: usize, j: usize| r[1][i] * r[2][j] - r[1][j] * r[2][i];
        r[0][0] * minor(1, 2) - r[0][1] * minor(0, 2) + r[0][2] * minor(0, 1)
    };
    let mut found = Vec::new();
    for i in 0..a.len() {
        for j in 0..i {
            for k in 0..j {
                let rows = [i, j, k];
                let whole = det(rows.map(|r| &a[r][..]));
                if whole.abs() < 1e-9 {
                    continue;
                }
                let x: Vec<f64> = (0..3)
                    .map(|c| {
                        let with = rows.map(|r| {
                            let mut row = a[r].clone();
                            row[c] = b[r];
                            row
                        });
                        det([&with[0], &with[1], &with[2]]) / whole
                    })
                    .collect();
                if a.iter().zip(b).all(|(row, b)| dot(row, &x) <= b + 1e-9) {
                    found.push(x);
                }
            }
        }
    }
    found
}

/// Sets with all of their vertices.
fn cases() -> Vec<(LinearPolytope, Vec<Vec<f64>>)> {
    let mut rng = Pcg64Mcg::seed_from_u64(3);
    let infinite = |n: usize, sign: f64| vec![sign * f64::INFINITY; n];
    // halfspaces around the origin, without bounds
    let axes = (0..6).map(|k| {
        (0..3).map(|i| f64::from(u8::from(i == k / 2)) * (1.0 - 2.0 * (k % 2) as f64)).collect()
    });
    let mut a: Vec<Vec<f64>> = axes.collect();
    a.extend((0..6).map(|_| (0..3).map(|_| rng.random_range(-1.0..1.0)).collect()));
    let b: Vec<f64> =
        (0..12).map(|k| if k < 6 { 2.0 } else { rng.random_range(0.3..1.0) }).collect();
    let free =
        LinearConstraints::within(infinite(3, -1.0), infinite(3, 1.0)).at_most(&matrix(&a), &b);
    let around = corners(&a, &b);
    // doubly stochastic matrices of 3 x 3
    let lines: Vec<Vec<f64>> = (0..6)
        .map(|line| {
            let on = |at: usize| if line < 3 { at / 3 == line } else { at % 3 == line - 3 };
            (0..9).map(|at| f64::from(u8::from(on(at)))).collect()
        })
        .collect();
    let square = LinearConstraints::within(vec![0.0; 9], infinite(9, 1.0))
        .equal_to(&matrix(&lines), &[1.0; 6]);
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let permutations =
        orders.map(|o| (0..9).map(|at| f64::from(u8::from(o[at / 3] == at % 3))).collect());
    // whole numbers in a knapsack, and one that need not be whole
    let weights = [vec![3.0, 5.0, 4.0, 2.0]];
    let knapsack = LinearConstraints::within(vec![0.0; 4], vec![2.0, 1.0, 1.0, 1.0])
        .at_most(&matrix(&weights), &[7.0])
        .integer(vec![true, true, true, false]);
    let mut filled = Vec::new();
    for word in 0..12 {
        let p = [(word % 3) as f64, (word / 3 % 2) as f64, (word / 6) as f64];
        let left = (7.0 - dot(&weights[0][..3], &p)) / 2.0;
        if left >= 0.0 {
            for last in [0.0, left.min(1.0)] {
                filled.push([&p[..], &[last]].concat());
            }
        }
    }
    let make = |constraints| LinearPolytope::new(constraints).expect("a set");
    vec![(make(free), around), (make(square), permutations.to_vec()), (make(knapsack), filled)]
}

#[test]
fn linear_minimisation_finds_the_best_of_all_vertices() {
    let mut rng = Pcg64Mcg::seed_from_u64(11);
    for (set, vertices) in cases() {
        assert!(vertices.len() > 3);
        let n = set.dim();
        let farthest = vertices.iter().flat_map(|p| vertices.iter().map(move |q| (p, q)));
        let farthest =
            farthest.map(|(p, q)| p.iter().zip(q).map(|(p, q)| (p - q).powi(2)).sum::<f64>());
        assert!(farthest.fold(0.0, f64::max).sqrt() <= set.diameter() * (1.0 + 1e-9));
        let mut oracle = set.oracle();
        for trial in 0..1000 {
            let scale = [1e-9, 1.0, 1e9][trial % 3];
            let g: Vec<f64> = (0..n)
                .map(|_| {
                    if trial % 7 == 0 {
                        f64::from(rng.random_range(-1..=1))
                    } else {
                        rng.random_range(-1.0..1.0)
                    }
                })
                .map(|g: f64| scale * g)
                .collect();
            let mut p = vec![f64::NAN; n];
            let minimum = oracle.lmo(&g, &mut p).expect("a minimum");
            let least = vertices.iter().map(|v| dot(&g, v)).fold(f64::INFINITY, f64::min);
            let size = scale * (1.0 + set.diameter());
            assert!((minimum.value - least).abs() <= 1e-8 * size, "{}: {g:?}", set.describe());
            assert!(minimum.lower <= least + 1e-15 * size && least - minimum.lower <= 1e-8 * size);
            assert_eq!(minimum.confidence, Confidence::AsGiven);
            assert!(set.contains(&p, 0.0), "{p:?}");
        }
    }
}

#[test]
fn the_checker_has_nothing_to_say() {
    for (set, _) in cases() {
        let report = check_set(&set);
        assert!(report.is_clean(), "{}: {:#?}", set.describe(), report.faults);
    }
}

#[test]
fn doubly_stochastic_matrices_are_the_same_with_either_oracle() {
    let (set, _) = cases().remove(1);
    let known = Birkhoff::new(3).expect("a set");
    let adversary = Simplex::new(4).expect("a simplex");
    let mut rng = Pcg64Mcg::seed_from_u64(9);
    let costs = (0..36).map(|_| rng.random_range(0.0..1.0)).collect();
    let game = MatrixGame::from_rows(9, 4, costs).expect("a game");
    let value = |x_set: &dyn Domain| {
        let solve = Solve::new(&game, x_set, &adversary).method(Method::corrective()).gap(1e-7);
        let solution = solve.run().expect("a solution");
        assert!(solution.outcome.status.is_solved());
        solution.outcome.certificate
    };
    let (one, two) = (value(&set), value(&known));
    assert!(one.lower <= two.upper + 1e-8 && two.lower <= one.upper + 1e-8, "{one:?} {two:?}");
}

/// `sum_j w_j x_j^2/2 + max over y of y'C x` over a polytope of 40 numbers, with 15 scenarios of costs.
#[test]
fn a_robust_program_takes_few_linear_programs() {
    let mut rng = Pcg64Mcg::seed_from_u64(1);
    let (n, scenarios) = (40, 15);
    let covers: Vec<Vec<f64>> =
        (0..20).map(|_| (0..n).map(|_| -rng.random_range(0.0..1.0)).collect()).collect();
    let polytope = LinearConstraints::within(vec![0.0; n], vec![3.0; n])
        .at_most(&matrix(&covers), &[-10.0; 20]);
    let x_set = LinearPolytope::new(polytope).expect("a set");
    let y_set = Simplex::new(scenarios).expect("a simplex");
    let costs: Vec<f64> = (0..n * scenarios).map(|_| rng.random_range(0.0..10.0)).collect();
    let game = MatrixGame::from_rows(n, scenarios, costs).expect("costs");
    for (gap, most) in [(1e-1, 100), (1e-3, 300)] {
        let solution =
            Solve::new(&game, &x_set, &y_set).method(Method::corrective()).gap(gap).run();
        let outcome = solution.expect("a solution").outcome;
        assert!(outcome.status.is_solved(), "{}", outcome.status);
        let calls = outcome.ledger.method.lo_x + outcome.ledger.certificate.lo_x;
        assert!(calls <= most, "{calls} linear programs to {gap}");
    }
}

#[test]
fn constraints_that_make_no_sense_say_why() {
    let row = matrix(&[vec![1.0, -1.0]]);
    let square = || LinearConstraints::within(vec![0.0; 2], vec![1.0; 2]);
    let open = LinearConstraints::within(vec![0.0; 2], vec![f64::INFINITY; 2]);
    let wrong = [
        (square().at_most(&row, &[-2.0]), "no point satisfies all constraints"),
        (open.at_most(&row, &[1.0]), "unbounded"),
        (
            square().at_most(&row, &[1.0, 2.0]),
            "right-hand side of the constraints: expected 1 entries, got 2",
        ),
        (
            square().equal_to(&matrix(&[vec![1.0; 3]]), &[1.0]),
            "columns of the constraints: expected 2",
        ),
        (square().integer(vec![true]), "marks of whole numbers"),
        (LinearConstraints::within(vec![1.0], vec![0.0]), "entry 0 must lie between 1 and 0"),
        (LinearConstraints::within(Vec::new(), Vec::new()), "dimension 0"),
    ];
    for (constraints, words) in wrong {
        let error = LinearPolytope::new(constraints).expect_err(words);
        assert!(error.to_string().contains(words), "{error}");
    }
    let set = LinearPolytope::new(square()).expect("a set");
    let error = set.oracle().lmo(&[f64::NAN, 0.0], &mut [0.0; 2]).expect_err("a NaN");
    assert!(matches!(error, Error::NotFinite { .. }), "{error}");
    assert_eq!(set.violation(&[1.0, f64::NAN]), f64::INFINITY);
}
