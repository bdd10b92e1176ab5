//! The exact arithmetic itself: against duality, members drawn at random, published digits, and the library's own values.

use couloir::problem::{BestResponse, LinearOperator, Preparation, SaddleProblem};
use couloir_certify::draw::{Draw, Place, draw_problem};
use couloir_certify::elementary::{ACCURATE, exp, ln};
use couloir_certify::exact::{Exact, abs, exact, exact_vector, max, rounded, tiny};
use couloir_certify::quadratic::Separable;
use couloir_certify::robust::Robust;
use couloir_certify::sets::Set;
use couloir_certify::spectral::{compose, svd};
use couloir_certify::subject::Subject;

/// A member of the set, for sure: drawn, and pulled in where rounding has put it outside.
fn member(set: &Set, draw: &mut Draw) -> Vec<Exact> {
    let n = set.dim();
    let is_vertex = draw.chance(0.3);
    let vertex = draw.below(n);
    let raw: Vec<f64> = (0..n)
        .map(|i| match set {
            Set::Box { lower, upper } => {
                let t =
                    if is_vertex { f64::from(u8::from(draw.chance(0.5))) } else { draw.share() };
                lower[i] + t * (upper[i] - lower[i])
            }
            Set::Simplex { total, .. } if is_vertex => f64::from(u8::from(i == vertex)) * total,
            Set::Simplex { total, .. } => total * draw.share(),
            _ if is_vertex => {
                f64::from(u8::from(i == vertex)) * set.width(i) * draw.unit().signum()
            }
            _ => set.width(i) * draw.unit(),
        })
        .collect();
    set.nearest(&raw)
}

fn sets(draw: &mut Draw) -> Vec<Set> {
    let (dim, radius) = (1 + draw.below(5), draw.scale(1.0));
    let lower: Vec<f64> = (0..dim).map(|_| draw.unit()).collect();
    let upper = lower.iter().map(|l| l + draw.share()).collect();
    vec![
        Set::Box { lower, upper },
        Set::Simplex { dim, total: radius },
        Set::L1 { dim, radius },
        Set::L2 { dim, radius },
        Set::Nuclear { rows: 1 + draw.below(3), columns: dim, radius },
    ]
}

fn separable(set: &Set, draw: &mut Draw) -> Separable {
    let n = set.dim();
    let flat = draw.one_of(&[0.0, 0.4, 1.0]);
    let size = draw.scale(2.0);
    let bend = |draw: &mut Draw| exact(if draw.chance(flat) { 0.0 } else { size * draw.share() });
    let bend = match set {
        Set::Nuclear { .. } => vec![bend(draw); n],
        _ => (0..n).map(|_| bend(draw)).collect(),
    };
    Separable {
        constant: exact(draw.unit()),
        slope: (0..n).map(|_| exact(draw.unit())).collect(),
        bend,
    }
}

#[test]
fn no_member_is_above_the_maximum_and_the_enclosure_is_tight() {
    let mut draw = Draw::new(1);
    for _ in 0..60 {
        for set in sets(&mut draw) {
            let f = separable(&set, &mut draw);
            let maximum = set.maximum(&f);
            assert!(maximum.low <= maximum.high, "{set:?}");
            let wide = &maximum.high - &maximum.low;
            assert!(
                wide <= (abs(&maximum.high) + exact(1.0)) * tiny(120),
                "{set:?}: {:e}",
                rounded(&wide)
            );
            for _ in 0..20 {
                let value = f.at(&member(&set, &mut draw));
                assert!(
                    value <= maximum.high,
                    "{set:?}: {} > {}",
                    rounded(&value),
                    rounded(&maximum.high)
                );
            }
        }
    }
}

/// Without these a maximum that is too high would pass: it must be attained, nearly, by a member found by plain ascent.
#[test]
fn members_come_close_to_the_maximum() {
    let mut draw = Draw::new(2);
    for _ in 0..40 {
        for set in sets(&mut draw) {
            let f = separable(&set, &mut draw);
            let maximum = rounded(&set.maximum(&f).low);
            let domain = set.domain().expect("a set");
            let (slope, bend): (Vec<f64>, Vec<f64>) =
                (f.slope.iter().map(rounded).collect(), f.bend.iter().map(rounded).collect());
            let curvature = bend.iter().copied().fold(0.0, f64::max).max(1e-3);
            let n = slope.len();
            let (mut u, mut next) = (vec![0.0; n], vec![0.0; n]);
            domain.center(&mut u);
            for _ in 0..20_000 {
                let g: Vec<f64> = (0..n).map(|i| bend[i] * u[i] - slope[i]).collect();
                domain.oracle().prox(&g, &u, curvature, &mut next).expect("a prox");
                std::mem::swap(&mut u, &mut next);
                if u == next {
                    break;
                }
            }
            let reached = rounded(&f.at(&set.nearest(&u)));
            let size = maximum.abs() + 1.0;
            assert!(reached >= maximum - 1e-5 * size, "{set:?}: {reached} < {maximum}");
        }
    }
}

#[test]
fn functions_of_one_block_are_the_function() {
    let mut draw = Draw::new(3);
    let mut judged = 0;
    while judged < 100 {
        let problem = draw_problem(&mut draw);
        if problem.place == Place::Far || problem.place == Place::Scaled {
            continue;
        }
        judged += 1;
        let (Ok(closures), f) = (problem.f.closures(), &problem.f) else { panic!("a problem") };
        let x: Vec<f64> = f.x0.iter().map(|x| x + draw.unit()).collect();
        let y: Vec<f64> = f.y0.iter().map(|y| y + draw.unit()).collect();
        let seen = couloir::problem::PreparedImage { image: &x, cache: &[] };
        let value = closures.value(seen, &y);
        let (ex, ey) = (exact_vector(&x), exact_vector(&y));
        let in_y = f.in_y(&ex).at(&ey);
        assert_eq!(in_y, -f.against_x(&ey).at(&ex));
        let size = f.size((&problem.x, &problem.y), &x, &y) + 1.0;
        assert!((rounded(&in_y) - value).abs() <= 1e-12 * size, "{} {value}", rounded(&in_y));
        let given = f.library();
        if let Ok(library) = given {
            assert!((library.value(seen, &y) - value).abs() <= 1e-12 * size);
        }
    }
}

#[test]
fn distances_outside_are_exact() {
    let third = 1.0 / 3.0;
    let simplex = Set::Simplex { dim: 3, total: 1.0 };
    // three times the f64 next to a third misses 1 by a quarter of a unit of the last place
    assert_eq!(simplex.outside(&[third; 3]), 0.25);
    assert_eq!(simplex.outside(&[0.5, 0.5, 0.0]), 0.0);
    assert!(simplex.outside(&[1.0 + f64::EPSILON, 0.0, -f64::EPSILON]) == 1.0);
    let unit = Set::Box { lower: vec![0.1], upper: vec![0.3] };
    assert_eq!(unit.outside(&[0.3]), 0.0);
    assert!(unit.outside(&[0.3f64.next_up()]) > 0.0 && unit.outside(&[0.1f64.next_down()]) > 0.0);
    let ball = Set::L1 { dim: 2, radius: 1.0 };
    assert_eq!(ball.outside(&[-1.0, -f64::EPSILON]), 1.0);
    assert_eq!(Set::L2 { dim: 2, radius: 5.0 }.outside(&[3.0, -4.0]), 0.0);
    let past = Set::L2 { dim: 1, radius: 1.0 }.outside(&[1.0 + 4.0 * f64::EPSILON]);
    assert!((past - 4.0).abs() < 1e-9, "{past}");
    let nuclear = Set::Nuclear { rows: 2, columns: 2, radius: 7.0 };
    assert_eq!(nuclear.outside(&[3.0, 0.0, 0.0, -4.0]), 0.0);
    let past = nuclear.outside(&[3.0, 0.0, 0.0, -4.0 - 7.0 * f64::EPSILON]);
    assert!((past - 1.0).abs() < 0.2, "{past}");
    assert_eq!(ball.outside(&[f64::NAN, 0.0]), f64::INFINITY);
}

#[test]
fn singular_values_compose_the_matrix() {
    let mut draw = Draw::new(4);
    for _ in 0..20 {
        let (rows, columns) = (1 + draw.below(4), 1 + draw.below(5));
        let matrix: Vec<Exact> = (0..rows * columns).map(|_| exact(draw.unit())).collect();
        let triples = svd(&matrix, rows);
        let weights: Vec<Exact> = triples.iter().map(|t| t.sigma.clone()).collect();
        let again = compose(&triples, &weights, rows, columns);
        let off = matrix.iter().zip(&again).map(|(a, b)| abs(&(a - b))).fold(Exact::ZERO, max);
        assert!(off <= tiny(200), "{:e}", rounded(&off));
        for (i, a) in triples.iter().enumerate() {
            for b in &triples[..i] {
                let product = a.left.iter().zip(&b.left).fold(Exact::ZERO, |s, (a, b)| s + a * b);
                assert!(abs(&product) <= tiny(200));
            }
        }
    }
}

#[test]
fn exponentials_and_logarithms_have_their_published_digits() {
    let digits = |text: &str| {
        let scale = text.len() - 2;
        let number: Exact =
            format!("{}/1{}", &text[2..], "0".repeat(scale)).parse().expect("digits");
        number
    };
    // 1/e and ln 2, to 70 places
    let inverse_e =
        digits("0.3678794411714423215955237701614608674458111310317678345078368016974614");
    let ln_2 = digits("0.6931471805599453094172321214581765680755001343602552541206800094933936");
    let places = Exact::ONE / Exact::from(10u8).pow(69);
    assert!(abs(&(exp(&exact(-1.0)) - inverse_e)) <= places);
    assert!(abs(&(ln(&exact(2.0)) - ln_2)) <= places);
    assert_eq!(exp(&Exact::ZERO), Exact::ONE);
    assert_eq!(ln(&Exact::ONE), Exact::ZERO);
    // products become sums, and the two undo each other
    let mut draw = Draw::new(5);
    for _ in 0..30 {
        let (a, b) = (exact(-30.0 * draw.share()), exact(-5.0 * draw.share()));
        let off = abs(&(exp(&a) * exp(&b) - exp(&(&a + &b))));
        assert!(off <= tiny(ACCURATE - 4), "{:e}", rounded(&off));
        let v = exact(1.0 + 4.0 * draw.share());
        let off = abs(&(exp(&-ln(&v)) * &v - Exact::ONE));
        assert!(off <= tiny(ACCURATE - 8), "{:e}", rounded(&off));
    }
}

#[test]
fn the_robust_classifier_has_the_values_of_its_definition() {
    let mut draw = Draw::new(6);
    for _ in 0..20 {
        let robust = Robust::draw(&mut draw);
        let model = robust.model().expect("a model");
        let (x_set, y_set) = (robust.x_set(), robust.y_set());
        let raw: Vec<f64> = (0..x_set.dim()).map(|_| robust.tau * draw.unit()).collect();
        let x: Vec<f64> = x_set.nearest(&raw).iter().map(rounded).collect();
        let weights: Vec<f64> = (0..y_set.dim()).map(|_| draw.share()).collect();
        let y: Vec<f64> = y_set.nearest(&weights).iter().map(rounded).collect();
        let truth = Subject::Robust(robust.clone()).truth(&exact_vector(&x), &exact_vector(&y));
        // the library's value and best response, through its own layout
        let point = model.from_class_major(&x);
        let (mut image, mut cache) = (vec![0.0; model.image_dim()], vec![0.0; model.cache_dim()]);
        model.image(&point, &mut image);
        model.prepare(&image, &mut cache);
        let seen = couloir::problem::PreparedImage { image: &image, cache: &cache };
        let mut response = y.clone();
        model.best_response(seen, &mut response);
        let size = robust.size(&x, &y) + robust.size(&x, &response) + 1.0;
        let (value, worst) = (model.value(seen, &y), model.value(seen, &response));
        let (low, high) = (rounded(&truth.worst.low), rounded(&truth.worst.high));
        assert!(
            (low - worst).abs() <= 1e-12 * size && (high - worst).abs() <= 1e-12 * size,
            "{low} {worst}"
        );
        assert!(high - low <= 1e-15 * size);
        assert!(rounded(&truth.least.high) <= value + 1e-12 * size, "{truth:?} {value}");
        assert!(truth.least.low <= truth.least.high);
    }
}
