//! The sets of weights around nominal ones, against their definitions, their duals and sorting.

use couloir::domain::{Domain, Reweighting};
use couloir::random::{Stream, Streams};

fn uniform(draw: &mut Stream) -> f64 {
    draw.below(1 << 53) as f64 / (1u64 << 53) as f64
}

fn weights(n: usize, spread: f64, draw: &mut Stream) -> Vec<f64> {
    let raw: Vec<f64> = (0..n).map(|_| (spread * (uniform(draw) - 0.5)).exp()).collect();
    let sum: f64 = raw.iter().sum();
    raw.into_iter().map(|w| w / sum).collect()
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Cvar,
    Tv,
    ChiSquare,
    Kl,
}

const KINDS: [Kind; 4] = [Kind::Cvar, Kind::Tv, Kind::ChiSquare, Kind::Kl];

impl Kind {
    fn set(self, q: &[f64], level: f64) -> Reweighting {
        let q = q.to_vec();
        match self {
            Kind::Cvar => Reweighting::capped(q, level),
            Kind::Tv => Reweighting::total_variation(q, level),
            Kind::ChiSquare => Reweighting::chi_square(q, level),
            Kind::Kl => Reweighting::kullback_leibler(q, level),
        }
        .expect("a set")
    }

    fn levels(self) -> [f64; 4] {
        match self {
            Kind::Cvar => [0.05, 0.3, 0.5, 0.97],
            Kind::Tv => [1e-3, 0.1, 0.6, 2.0],
            Kind::ChiSquare | Kind::Kl => [1e-4, 0.1, 1.0, 50.0],
        }
    }

    /// Whether `p` is inside by the definition, up to `slack`.
    fn holds(self, p: &[f64], q: &[f64], level: f64, slack: f64) -> bool {
        let pairs = || p.iter().zip(q);
        match self {
            Kind::Cvar => pairs().all(|(p, q)| *p <= q / level + slack),
            Kind::Tv => 0.5 * pairs().map(|(p, q)| (p - q).abs()).sum::<f64>() <= level + slack,
            Kind::ChiSquare => {
                pairs().map(|(p, q)| (p - q).powi(2) / q).sum::<f64>()
                    <= level * (1.0 + slack) + slack
            }
            Kind::Kl => {
                let term = |(p, q): (&f64, &f64)| if *p > 0.0 { p * (p / q).ln() } else { 0.0 };
                pairs().map(term).sum::<f64>() <= level * (1.0 + slack) + slack
            }
        }
    }

    /// A point of the set on the way from `q` to a point of the simplex.
    fn member(self, q: &[f64], level: f64, draw: &mut Stream) -> Vec<f64> {
        let far = weights(q.len(), 15.0, draw);
        let on_the_way =
            |t: f64| -> Vec<f64> { q.iter().zip(&far).map(|(q, f)| q + t * (f - q)).collect() };
        let (mut inside, mut outside) = (0.0, 1.0);
        if self.holds(&far, q, level, 0.0) {
            return far;
        }
        for _ in 0..60 {
            let t = 0.5 * (inside + outside);
            if self.holds(&on_the_way(t), q, level, 0.0) { inside = t } else { outside = t }
        }
        on_the_way(inside)
    }

    /// The largest `<l, p>` by the scalar form of its dual, minimised on an interval that shrinks by the golden section.
    fn by_dual(self, l: &[f64], q: &[f64], level: f64) -> f64 {
        let top = l.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let least = l.iter().copied().fold(f64::INFINITY, f64::min);
        let mean = |f: &dyn Fn(f64) -> f64| l.iter().zip(q).map(|(l, q)| q * f(*l)).sum::<f64>();
        let wide = top - least + 1e-12;
        match self {
            Kind::Cvar => golden(least, top, &|nu| nu + mean(&|l| (l - nu).max(0.0)) / level),
            Kind::Tv => {
                let rho = level.min(1.0);
                let rest = |nu: f64| (1.0 - rho) * nu + mean(&|l| (l - nu).max(0.0));
                // beyond rho = 1 the bound does not matter, and nu may fall
                rho * top + if level < 1.0 { golden(least, top, &rest) } else { 0.0 }
            }
            Kind::ChiSquare => golden(top - 1e4 * wide, top, &|nu| {
                nu + ((1.0 + level) * mean(&|l| (l - nu).max(0.0).powi(2))).sqrt()
            }),
            Kind::Kl => {
                // over the logarithm of lambda
                let value = |log: f64| {
                    let lambda = log.exp() * wide;
                    lambda * level + top + lambda * mean(&|l| ((l - top) / lambda).exp()).ln()
                };
                golden(-30.0, 12.0, &value)
            }
        }
    }
}

fn golden(mut low: f64, mut high: f64, f: &dyn Fn(f64) -> f64) -> f64 {
    let share = 0.5 * (5f64.sqrt() - 1.0);
    for _ in 0..200 {
        let (a, b) = (high - share * (high - low), low + share * (high - low));
        if f(a) < f(b) { high = b } else { low = a }
    }
    f(low).min(f(high)).min(f(0.5 * (low + high)))
}

/// Every kind at every level, with equal and with very different nominal weights.
fn cases(mut work: impl FnMut(Kind, f64, &[f64], &mut Stream)) {
    let mut draw = Streams::new(11).stream("sets");
    for n in [1, 2, 3, 10, 57] {
        for kind in KINDS {
            for level in kind.levels() {
                for spread in [0.0, 2.0, 12.0] {
                    let q = weights(n, spread, &mut draw);
                    work(kind, level, &q, &mut draw);
                }
            }
        }
    }
}

#[test]
fn linear_minimisation_finds_the_value_of_the_dual_within_its_bound() {
    cases(|kind, level, q, draw| {
        let set = kind.set(q, level);
        let mut oracle = set.oracle();
        for size in [1e-6, 1.0, 40.0] {
            let ties = draw.below(2) == 0;
            let g: Vec<f64> = (0..q.len())
                .map(|_| size * (if ties { draw.below(3) as f64 } else { uniform(draw) } - 0.3))
                .collect();
            let mut p = vec![0.0; q.len()];
            let minimum = oracle.lmo(&g, &mut p).expect("a minimum");
            let name = format!("{kind:?} {level} of {}, {size}", q.len());
            assert!(kind.holds(&p, q, level, 1e-12), "{name}: outside by the definition");
            assert!(set.violation(&p) <= 1e-12, "{name}: {:e} outside", set.violation(&p));
            let value: f64 = g.iter().zip(&p).map(|(g, p)| g * p).sum();
            assert!((value - minimum.value).abs() <= 1e-14 * size, "{name}");
            let missed = minimum.value - minimum.lower;
            assert!((0.0..=1e-10 * size).contains(&missed), "{name}: may miss {missed:e}");
            let negative: Vec<f64> = g.iter().map(|g| -g).collect();
            let dual = -kind.by_dual(&negative, q, level);
            // the golden section stops at the square root of the rounding, where the function is flat
            assert!(minimum.value >= dual - 1e-9 * size, "{name}: {} {dual}", minimum.value);
            assert!(minimum.lower <= dual + 1e-6 * size, "{name}: {} {dual}", minimum.lower);
            for _ in 0..10 {
                let other = kind.member(q, level, draw);
                let value: f64 = g.iter().zip(&other).map(|(g, p)| g * p).sum();
                assert!(value >= minimum.lower - 1e-13 * size, "{name}: {value} {}", minimum.lower);
            }
        }
    });
}

#[test]
fn polytopes_have_the_greedy_vertices() {
    cases(|kind, level, q, draw| {
        let n = q.len();
        let l: Vec<f64> = (0..n).map(|_| uniform(draw)).collect();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&i, &j| l[j].total_cmp(&l[i]));
        let mut expected = vec![0.0; n];
        match kind {
            Kind::Cvar => {
                let mut left = 1.0f64;
                for i in order {
                    expected[i] = left.min(q[i] / level);
                    left -= expected[i];
                }
            }
            Kind::Tv => {
                expected.copy_from_slice(q);
                let mut left = level;
                for &i in order[1..].iter().rev() {
                    let moved = left.min(expected[i]);
                    expected[i] -= moved;
                    expected[order[0]] += moved;
                    left -= moved;
                }
            }
            _ => return,
        }
        let set = kind.set(q, level);
        let g: Vec<f64> = l.iter().map(|l| -l).collect();
        let mut p = vec![0.0; n];
        set.oracle().lmo(&g, &mut p).expect("a minimum");
        for i in 0..n {
            assert!((p[i] - expected[i]).abs() < 1e-13, "{kind:?} {level}: {p:?} {expected:?}");
        }
    });
}

#[test]
fn a_prox_is_a_member_and_no_member_is_better_by_more_than_its_bound() {
    cases(|kind, level, q, draw| {
        let (n, set) = (q.len(), kind.set(q, level));
        let mut oracle = set.oracle();
        for beta in [1e-3, 1.0, 300.0] {
            let centre = kind.member(q, level, draw);
            let g: Vec<f64> = (0..n).map(|_| 4.0 * uniform(draw) - 2.0).collect();
            let mut u = vec![0.0; n];
            let bound = oracle.prox(&g, &centre, beta, &mut u).expect("a prox");
            let name = format!("{kind:?} {level} of {n}, beta {beta}");
            assert!(kind.holds(&u, q, level, 1e-12), "{name}: outside by the definition");
            assert!(set.violation(&u) <= 1e-12, "{name}");
            assert!((0.0..1e-9 * (1.0 + beta)).contains(&bound), "{name}: bound {bound:e}");
            let value = |u: &[f64]| -> f64 {
                (0..n).map(|i| g[i] * u[i] + 0.5 * beta * (u[i] - centre[i]).powi(2)).sum()
            };
            let least = value(&u);
            for _ in 0..10 {
                let other = kind.member(q, level, draw);
                let near: Vec<f64> =
                    u.iter().zip(&other).map(|(u, o)| u + 1e-3 * (o - u)).collect();
                for w in [&other, &near] {
                    let less = least - value(w);
                    assert!(
                        less <= bound + 1e-13 * (1.0 + beta),
                        "{name}: {less:e} less, {bound:e}"
                    );
                }
            }
        }
    });
}

#[test]
fn repairs_bring_points_back_and_leave_members_alone() {
    cases(|kind, level, q, draw| {
        let set = kind.set(q, level);
        let member = kind.member(q, level, draw);
        let mut beside: Vec<f64> =
            member.iter().map(|p| p * (1.0 + 1e-9 * uniform(draw))).collect();
        let before = beside.clone();
        let moved = set.repair(&mut beside);
        assert!(set.violation(&beside) <= 1e-15, "{kind:?} {level}: {:e}", set.violation(&beside));
        let apart: f64 =
            before.iter().zip(&beside).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
        assert!(apart <= moved * (1.0 + 1e-6) + 1e-16, "{kind:?} {level}: {apart:e} {moved:e}");
        let again = beside.clone();
        set.repair(&mut beside);
        assert_eq!(beside, again, "{kind:?} {level}");
        // no two members are further apart than the diameter
        let other = kind.member(q, level, draw);
        let apart: f64 =
            member.iter().zip(&other).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
        assert!(apart <= set.diameter() * (1.0 + 1e-12) + 1e-15, "{kind:?} {level}");
        let mut centre = vec![0.0; q.len()];
        set.center(&mut centre);
        assert_eq!(centre, q);
    });
}

#[test]
fn sets_that_cannot_be_are_refused() {
    let q = || vec![0.5, 0.5];
    assert!(Reweighting::capped(vec![], 0.5).is_err());
    assert!(Reweighting::capped(vec![0.5, 0.6], 0.5).is_err());
    assert!(Reweighting::capped(vec![1.0, 0.0], 0.5).is_err());
    for alpha in [0.0, 1.0, -0.5, 2.0, f64::NAN] {
        assert!(Reweighting::capped(q(), alpha).is_err(), "{alpha}");
    }
    for rho in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(Reweighting::total_variation(q(), rho).is_err());
        assert!(Reweighting::chi_square(q(), rho).is_err());
        assert!(Reweighting::kullback_leibler(q(), rho).is_err());
    }
}
