//! The points that a run returns, that a prox writes and that a slide ends at are in their sets: boxes are met to the last bit,
//! elsewhere a point is within four units in the last place of what bounds the set, judged in exact arithmetic.

use couloir::domain::{Domain, NuclearBall, SlideTask};
use couloir::{Method, Solve};
use couloir_certify::draw::Draw;
use couloir_certify::judge::{ULPS, judge_all, method_names};
use couloir_certify::quadratic::Quadratic;
use couloir_certify::sets::Set;
use couloir_certify::table::Table;

fn cube(dim: usize, lower: f64, upper: f64) -> Set {
    Set::Box { lower: vec![lower; dim], upper: vec![upper; dim] }
}

fn method(name: &str) -> Method {
    name.parse().expect("a method")
}

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
fn the_nuclear_prox_stays_in_the_ball_wherever_it_comes_from() {
    let mut worst = (0.0, 0.0);
    for size in [1e0, 1e4, 1e8, 1e12] {
        let mut draw = Draw::new(3);
        for (rows, columns, radius) in [(3, 5, 0.1), (2, 9, 0.1), (4, 4, 10.0)] {
            let set = Set::Nuclear { rows, columns, radius };
            let ball = NuclearBall::new(rows, columns, radius).expect("a ball");
            for _ in 0..20 {
                let n = rows * columns;
                let gradient: Vec<f64> = (0..n).map(|_| size * draw.unit()).collect();
                let mut out = vec![0.0; n];
                ball.oracle().prox(&gradient, &vec![0.0; n], 1.0, &mut out).expect("a prox");
                let outside = set.outside(&out);
                worst = if outside > worst.0 { (outside, size) } else { worst };
            }
        }
    }
    let (ulps, size) = worst;
    assert!(
        ulps <= ULPS,
        "a prox from {size:e} is outside by {ulps} units in the last place of the radius"
    );
}

#[test]
fn sliding_on_a_thin_nuclear_ball_stays_in_the_ball() {
    let (mut worst, mut at) = (0.0, 0);
    for trial in 0..60 {
        let mut draw = Draw::new(trial);
        let rows = 2 + draw.below(3);
        let columns = 2 * rows + 1 + draw.below(40);
        let (n, radius, beta) = (rows * columns, draw.scale(2.0), draw.scale(4.0));
        let set = Set::Nuclear { rows, columns, radius };
        let ball = NuclearBall::new(rows, columns, radius).expect("a ball");
        let mut oracle = ball.oracle();
        // from a vertex to a point just inside or outside: the gradient shrinks on the way, and what is left of it cancels
        let spread = draw.one_of(&[0.0, 2.0, 5.0]);
        let sizes: Vec<f64> = (0..rows).map(|_| draw.scale(spread)).collect();
        let mut numbers = |f: f64| (0..n).map(|i| f * sizes[i / columns] * draw.unit()).collect();
        let (towards, far): (Vec<f64>, Vec<f64>) = (numbers(1.0), numbers(3.0 * radius));
        let (mut q, mut target, mut out) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
        oracle.lmo(&towards, &mut q).expect("a vertex");
        oracle.prox(&vec![0.0; n], &far, 1.0, &mut target).expect("a point of the boundary");
        let reach = [0.999, 1.0, 1.001][trial as usize % 3];
        let r: Vec<f64> = (0..n).map(|i| beta * (q[i] - reach * target[i])).collect();
        let eta = 1e-9 * beta * radius * radius;
        let task = SlideTask { r: &r, q: &q, beta, eta, budget: 5_000 };
        oracle.slide(&task, &mut out).expect("a slide");
        let outside = set.outside(&out);
        (worst, at) = if outside > worst { (outside, trial) } else { (worst, at) };
    }
    assert!(worst <= ULPS, "slide {at} ends {worst} units in the last place outside of the ball");
}

#[test]
fn points_that_extragradient_returns_from_a_nuclear_ball_are_in_it() {
    let mut draw = Draw::new(5);
    let x_set = Set::Nuclear { rows: 3, columns: 5, radius: 0.1 };
    let y_set = cube(2, -1.0, 1.0);
    let (x, y) = (x_set.domain().expect("a ball"), y_set.domain().expect("a box"));
    let mut worst = (0.0, 0.0);
    for size in [1.0, 1e4, 1e8] {
        for _ in 0..10 {
            let unit = |draw: &mut Draw, n: usize| (0..n).map(|_| draw.unit()).collect::<Vec<_>>();
            let f = Quadratic {
                hx: vec![1e-6; 15],
                hy: vec![1.0; 2],
                b: unit(&mut draw, 30),
                cx: unit(&mut draw, 15).iter().map(|v| size * v).collect(),
                cy: vec![0.0; 2],
                x0: vec![0.0; 15],
                y0: unit(&mut draw, 2),
                value: 0.0,
            };
            let problem = f.library().expect("a problem");
            let solve = Solve::new(&problem, &*x, &*y).method(method("extragradient"));
            let solution = solve.relative_gap(1e-12).iterations(500).run().expect("a run");
            let outside = x_set.outside(&solution.x);
            if outside > worst.0 {
                worst = (outside, solution.outcome.certificate.gap);
            }
        }
    }
    let (ulps, gap) = worst;
    assert!(ulps <= ULPS, "outside by {ulps} units in the last place, certified to {gap:e}");
}

#[test]
fn returned_points_are_in_their_boxes_to_the_last_bit() {
    let mut draw = Draw::new(80);
    let (mut outside, mut runs) = (0, 0);
    for _ in 0..50 {
        let corner = |draw: &mut Draw| (0..3).map(|_| draw.unit()).collect::<Vec<f64>>();
        let mut set = || {
            let (a, b) = (corner(&mut draw), corner(&mut draw));
            let lower = a.iter().zip(&b).map(|(a, b)| a.min(*b)).collect();
            Set::Box { lower, upper: a.iter().zip(&b).map(|(a, b)| a.max(*b)).collect() }
        };
        let (x_set, y_set) = (set(), set());
        let (x, y) = (x_set.domain().expect("a box"), y_set.domain().expect("a box"));
        let f = far_problem(&mut draw, (3, 0.5), (3, -0.5));
        let problem = f.library().expect("a problem");
        for name in ["certified", "spfw", "spafw", "extragradient", "apg", "mpcgs"] {
            let most = if name == "mpcgs" { 3 } else { 300 };
            let solve = Solve::new(&problem, &*x, &*y).method(method(name)).iterations(most);
            let solution = solve.run().expect("a run");
            runs += 1;
            let is_outside = x_set.outside(&solution.x) > 0.0 || y_set.outside(&solution.y) > 0.0;
            outside += u32::from(is_outside);
        }
    }
    assert_eq!(outside, 0, "{outside} of {runs} pairs have a point outside of its box");
}

#[test]
fn points_of_every_method_on_every_set_are_members() {
    let table = Table::default().and(&judge_all(317, 0..600, &method_names()));
    let all = &table.all;
    assert_eq!(all.problems + all.refused, 600);
    assert!(all.outside == 0 && all.farthest <= ULPS, "{} outside, {}", all.outside, all.farthest);
    // some points are not exactly on the right side, and are seen not to be
    assert!(all.farthest > 0.0);
    assert_eq!(all.accused, 0, "{:?}", table.faults(3));
}
