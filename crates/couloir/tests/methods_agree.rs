//! Every method certifies the same value on shared strongly convex-concave problems.

use couloir::domain::{BoxSet, Domain, L2Ball, Simplex};
use couloir::problem::{KnownConstants, Population, QuadraticBilinear, QuadraticSum, Saddle};
use couloir::run::StopRules;
use couloir::solver::{MpscgsSettings, SpfwRate, SpfwSettings, SvreSettings};
use couloir::{Certificate, Method, Solve};

struct Shared {
    name: &'static str,
    x_set: Box<dyn Domain>,
    y_set: Box<dyn Domain>,
    sum: QuadraticSum,
    /// Methods with a reason why they cannot reach the tolerance here.
    without: Vec<&'static str>,
    /// Distances of the saddle point to the boundaries, where it is inside.
    inside: Option<(f64, f64)>,
}

/// `mu_x = mu_y = 1` and a coupling of norm 0.15, the saddle point where it is put.
fn problem(x: Vec<f64>, y: Vec<f64>, cx: Vec<f64>, cy: Vec<f64>) -> QuadraticSum {
    let (nx, ny) = (x.len(), y.len());
    let b = (0..nx * ny).map(|i| ((i * 7 + 3) % 5) as f64 - 2.0).collect::<Vec<f64>>();
    let size = couloir::linalg::spectral_norm(&b, ny, nx).expect("finite");
    let b = b.iter().map(|v| 0.15 * v / size).collect();
    let saddle = Saddle { x, y, value: 0.3 };
    let base =
        QuadraticBilinear::new(vec![1.0; nx], vec![1.0; ny], b, cx, cy, saddle).expect("one");
    QuadraticSum::new(base, Population::Finite(40), 0.2, 0.1, 5).expect("a sum")
}

fn shared() -> Vec<Shared> {
    vec![
        Shared {
            name: "cube, cube, inside",
            x_set: Box::new(BoxSet::cube(2, -0.5, 0.5).expect("a cube")),
            y_set: Box::new(BoxSet::cube(2, -0.5, 0.5).expect("a cube")),
            sum: problem(vec![0.05, -0.1], vec![0.1, 0.0], vec![0.0; 2], vec![0.0; 2]),
            without: vec![],
            inside: Some((0.4, 0.4)),
        },
        Shared {
            name: "ball, ball, inside",
            x_set: Box::new(L2Ball::new(3, 1.0).expect("a ball")),
            y_set: Box::new(L2Ball::new(3, 1.0).expect("a ball")),
            sum: problem(vec![0.1, 0.0, -0.1], vec![0.0, 0.1, 0.0], vec![0.0; 3], vec![0.0; 3]),
            without: vec!["spafw", "sppfw"], // no polytopes
            inside: Some((0.85, 0.9)),
        },
        Shared {
            name: "cube, simplex, on faces",
            x_set: Box::new(BoxSet::cube(3, 0.0, 1.0).expect("a cube")),
            y_set: Box::new(Simplex::new(4).expect("a simplex")),
            sum: problem(
                vec![0.0, 0.4, 1.0],
                vec![0.5, 0.3, 0.2, 0.0],
                vec![0.3, 0.0, -0.2],
                vec![0.0, 0.0, 0.0, 0.4],
            ),
            without: vec!["spfw"], // nu > 0 needs the saddle point inside
            inside: None,
        },
    ]
}

fn methods(shared: &Shared) -> Vec<(&'static str, Method)> {
    let sigma = shared.sum.sigma_on(shared.x_set.diameter(), shared.y_set.diameter());
    let mut list = vec![
        ("certified", Method::certified()),
        ("mpcgs", Method::mpcgs()),
        ("batched", Method::batched()),
        ("mpscgs", MpscgsSettings::default().sigma(sigma).into()),
        ("spafw", Method::spafw()),
        ("sppfw", Method::sppfw()),
        ("svre", SvreSettings::default().batch(10).into()),
        ("extragradient", Method::extragradient()),
        ("apg", Method::apg()),
    ];
    if let Some(distances) = shared.inside {
        let diameters = (shared.x_set.diameter(), shared.y_set.diameter());
        let rate = SpfwRate::interior(&shared.sum.base().constants(), 1.0, diameters, distances)
            .unwrap_or_else(|e| panic!("{}: {e}", shared.name));
        list.push(("spfw", SpfwSettings::default().gap_step(rate).into()));
    }
    list.retain(|(name, _)| !shared.without.contains(name));
    list
}

#[test]
fn all_methods_certify_a_gap_of_1e_6_and_their_value_intervals_meet() {
    for shared in shared() {
        let mut seen: Vec<(&str, Certificate)> = Vec::new();
        for (name, method) in methods(&shared) {
            let mut rules = StopRules::default();
            (rules.gap, rules.relative_gap) = (Some(1e-6), None);
            rules.iterations = Some(20_000);
            let (x_set, y_set) = (&*shared.x_set, &*shared.y_set);
            let solution = Solve::new(&shared.sum, x_set, y_set)
                .method(method)
                .rules(rules)
                .run()
                .unwrap_or_else(|e| panic!("{}, {name}: {e}", shared.name));
            let outcome = &solution.outcome;
            assert!(
                outcome.status.is_solved(),
                "{}, {name}: {} at gap {:e} after {}",
                shared.name,
                outcome.status,
                outcome.certificate.gap,
                outcome.iterations
            );
            let gap = shared
                .sum
                .base()
                .exact_gap(x_set, y_set, &solution.x, &solution.y)
                .expect("isotropic curvature");
            let certified = outcome.certificate.gap;
            assert!(
                (-1e-15..=certified).contains(&gap) && certified <= 1e-6,
                "{}, {name}: true gap {gap:e}, certified {certified:e}",
                shared.name
            );
            seen.push((name, outcome.certificate));
        }
        let truth = shared.sum.base().saddle().value;
        for (a, left) in &seen {
            assert!(left.lower <= truth && truth <= left.upper, "{a}: {left:?}");
            for (b, right) in &seen {
                assert!(
                    left.lower.max(right.lower) <= left.upper.min(right.upper),
                    "{}: {a} and {b} do not meet",
                    shared.name
                );
            }
        }
    }
}
