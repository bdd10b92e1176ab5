//! What problems promise about their rounding is true, in exact arithmetic.

use couloir::problem::{KnownRounding, PreparedImage, Rounding, SaddleProblem};
use couloir_certify::draw::Draw;
use couloir_certify::exact::{Exact, abs, exact, exact_vector, rounded};
use couloir_certify::quadratic::Quadratic;

fn numbers(draw: &mut Draw, n: usize, size: f64, decades: f64) -> Vec<f64> {
    (0..n).map(|_| size * draw.unit() * draw.scale(decades)).collect()
}

/// The length of the difference of computed numbers and exact ones.
fn apart(computed: &[f64], is: &[Exact]) -> f64 {
    let square = computed.iter().zip(is).fold(Exact::ZERO, |sum, (c, e)| {
        let d = exact(*c) - e;
        sum + &d * &d
    });
    rounded(&square).sqrt()
}

#[test]
fn quadratic_problems_err_by_no_more_than_they_promise_and_promises_are_not_idle() {
    let mut draw = Draw::new(12);
    let mut sharpest = [0.0f64; 5];
    for trial in 0..2_000 {
        let (n, m) = (1 + draw.below(8), 1 + draw.below(8));
        let decades = draw.one_of(&[0.0, 1.0, 6.0]);
        // far from the origin differences to the centre are small and exact, and the rest is as large as anywhere
        let offset = draw.one_of(&[0.0, 0.0, 1e3, 1e8]);
        let near = |draw: &mut Draw, n: usize| -> Vec<f64> {
            (0..n).map(|_| offset + draw.unit()).collect()
        };
        let (x0, y0, x, y) =
            (near(&mut draw, n), near(&mut draw, m), near(&mut draw, n), near(&mut draw, m));
        let positive = |v: Vec<f64>| v.into_iter().map(|v: f64| v.abs() + 1e-12).collect();
        let f = Quadratic {
            hx: positive(numbers(&mut draw, n, 1.0, decades)),
            hy: positive(numbers(&mut draw, m, 1.0, decades)),
            b: numbers(&mut draw, n * m, 1.0, decades),
            cx: numbers(&mut draw, n, 1.0, decades),
            cy: numbers(&mut draw, m, 1.0, decades),
            x0,
            y0,
            value: draw.one_of(&[0.0, 1.0, 1e6]),
        };
        let problem = f.library().expect("a problem");
        let at = PreparedImage::plain(&x);
        let promise = problem.rounding(at, &y, [0.0; 2]);
        let (xe, ye) = (exact_vector(&x), exact_vector(&y));
        let (in_y, in_x) = (f.in_y(&xe), f.against_x(&ye));
        let slopes = |s: &[Exact], bend: &[Exact], at: &[Exact]| -> Vec<Exact> {
            (0..s.len()).map(|i| &s[i] - &bend[i] * &at[i]).collect()
        };
        let grad_y = slopes(&in_y.slope, &in_y.bend, &ye);
        let grad_x: Vec<Exact> =
            slopes(&in_x.slope, &in_x.bend, &xe).into_iter().map(|g| -g).collect();
        let (mut gx, mut gy) = (vec![0.0; n], vec![0.0; m]);
        problem.grad_image(at, &y, &mut gx);
        problem.grad_y(at, &y, &mut gy);
        let value = rounded(&abs(&(exact(problem.value(at, &y)) - in_y.at(&ye))));
        let steepest = grad_y.iter().map(|g| rounded(&abs(g))).fold(0.0, f64::max);
        let length = grad_x.iter().fold(Exact::ZERO, |sum, g| sum + g * g);
        let length = rounded(&length).sqrt() * (1.0 - f64::EPSILON);
        let found = [value, apart(&gx, &grad_x), apart(&gy, &grad_y), length, steepest];
        let Rounding { value, grad_x, grad_y, steepest_x, steepest_y } = promise;
        let promised = [value, grad_x, grad_y, steepest_x, steepest_y];
        for (k, (found, promised)) in found.iter().zip(promised).enumerate() {
            assert!(*found <= promised, "{trial}, number {k}: {found:e} above {promised:e}");
            if promised > 0.0 {
                sharpest[k] = sharpest[k].max(found / promised);
            }
        }
    }
    // half of what is promised would be too little for some, or a few times as much would do for none
    assert!(sharpest.iter().all(|share| *share > 0.02), "{sharpest:?}");
}
