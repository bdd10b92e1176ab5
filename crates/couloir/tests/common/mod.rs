//! Families of problems with known constants and saddle point.
#![allow(dead_code)]

use couloir::domain::{BoxSet, Domain, L1Ball, L2Ball, NuclearBall, Simplex};
use couloir::problem::{
    BlockConstants, Capabilities, ExactDifferences, KnownConstants, Measured, PreparedImage,
    QuadraticBilinear, SaddleProblem,
};

/// One family: sets and a quadratic-bilinear problem on them.
pub struct Family {
    pub name: &'static str,
    pub x_set: Box<dyn Domain>,
    pub y_set: Box<dyn Domain>,
    pub problem: QuadraticBilinear,
}

fn family(
    name: &'static str,
    x_set: Box<dyn Domain>,
    y_set: Box<dyn Domain>,
    (mu_x, mu_y): (f64, f64),
    coupling: f64,
    push: f64,
) -> Family {
    let problem = QuadraticBilinear::on(&*x_set, &*y_set)
        .curvature(mu_x, mu_y)
        .coupling(coupling)
        .push(push)
        .value(0.7)
        .seed(name.len() as u64)
        .build()
        .expect("a problem on sets with a projection");
    Family { name, x_set, y_set, problem }
}

/// Every pair of kinds of sets that matters, convex and strongly convex in x.
pub fn families() -> Vec<Family> {
    let l2 = |n: usize, r: f64| Box::new(L2Ball::new(n, r).expect("a ball"));
    let simplex = |n: usize| Box::new(Simplex::new(n).expect("a simplex"));
    let cube = |n: usize| Box::new(BoxSet::cube(n, -1.0, 0.5).expect("a box"));
    let l1 = |n: usize, r: f64| Box::new(L1Ball::new(n, r).expect("an l1 ball"));
    let nuclear = |h: usize, d: usize, r: f64| Box::new(NuclearBall::new(h, d, r).expect("a ball"));
    vec![
        family("ball, simplex", l2(6, 1.0), simplex(8), (0.0, 1.0), 1.0, 0.5),
        family("simplex, ball", simplex(7), l2(5, 0.8), (0.3, 1.0), 0.9, 0.5),
        family("nuclear ball, simplex", nuclear(4, 6, 1.5), simplex(6), (0.0, 1.0), 0.8, 0.5),
        family("nuclear ball, box", nuclear(3, 5, 1.0), cube(6), (0.5, 1.0), 1.0, 0.5),
        family("l1 ball, box", l1(6, 1.2), cube(5), (0.0, 1.0), 1.1, 0.2),
        family("box, l1 ball", cube(6), l1(7, 1.0), (0.2, 1.0), 1.0, 0.2),
    ]
}

/// The same problem with `y` measured in other units: `f'(x, y') = f(x, y'/c)`.
pub struct Rescaled<'a> {
    pub inner: &'a QuadraticBilinear,
    pub c: f64,
}

impl Rescaled<'_> {
    fn back(&self, y: &[f64]) -> Vec<f64> {
        y.iter().map(|v| v / self.c).collect()
    }
}

impl SaddleProblem for Rescaled<'_> {
    fn dim_x(&self) -> usize {
        self.inner.dim_x()
    }
    fn dim_y(&self) -> usize {
        self.inner.dim_y()
    }
    fn value(&self, at: PreparedImage<'_>, y: &[f64]) -> f64 {
        self.inner.value(at, &self.back(y))
    }
    fn grad_image(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
        self.inner.grad_image(at, &self.back(y), out);
    }
    fn grad_y(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
        self.inner.grad_y(at, &self.back(y), out);
        out.iter_mut().for_each(|g| *g /= self.c);
    }
    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities::NONE.with_differences(self).with_constants(self)
    }
}

impl ExactDifferences for Rescaled<'_> {
    fn bend_x(
        &self,
        from: PreparedImage<'_>,
        to: PreparedImage<'_>,
        y: &[f64],
        slope: f64,
    ) -> Measured {
        self.inner.bend_x(from, to, &self.back(y), slope)
    }
    fn change_y(&self, at: PreparedImage<'_>, from: &[f64], to: &[f64]) -> Measured {
        self.inner.change_y(at, &self.back(from), &self.back(to))
    }
}

impl KnownConstants for Rescaled<'_> {
    fn constants(&self) -> BlockConstants {
        let k = self.inner.constants();
        BlockConstants {
            lxx: k.lxx,
            lxy: k.lxy.map(|v| v / self.c),
            lyy: k.lyy.map(|v| v / self.c.powi(2)),
            mu: k.mu.map(|v| v / self.c.powi(2)),
            mu_x: k.mu_x,
        }
    }
}

/// The same problem without its cancellation-free differences: what a user's closures give.
pub struct Plain<'a>(pub &'a QuadraticBilinear);

impl SaddleProblem for Plain<'_> {
    fn dim_x(&self) -> usize {
        self.0.dim_x()
    }
    fn dim_y(&self) -> usize {
        self.0.dim_y()
    }
    fn value(&self, at: PreparedImage<'_>, y: &[f64]) -> f64 {
        self.0.value(at, y)
    }
    fn grad_image(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
        self.0.grad_image(at, y, out);
    }
    fn grad_y(&self, at: PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
        self.0.grad_y(at, y, out);
    }
    fn capabilities(&self) -> Capabilities<'_> {
        let mut kept = self.0.capabilities();
        kept.differences = None;
        kept
    }
}

/// A ball of 40 and a simplex of 30 numbers, with this strong convexity in x.
pub fn ball_and_simplex(mu_x: f64) -> Family {
    let x_set = Box::new(L2Ball::new(40, 1.0).expect("a ball"));
    let y_set = Box::new(Simplex::new(30).expect("a simplex"));
    family("a larger ball and simplex", x_set, y_set, (mu_x, 1.0), 1.0, 0.1)
}
