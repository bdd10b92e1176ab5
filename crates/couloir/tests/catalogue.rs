//! Every set of the catalogue: linear minimisation against all vertices or a formula of the test's own, membership from both sides,
//! projections by the inequality that defines them, and the set checker, also on sets with planted faults.

use couloir::domain::{
    Affine, Birkhoff, BoxBudget, BoxSet, CappedSimplex, ConvexHull, Directions, Domain, Ellipsoid,
    Fantope, Flows, Graph, GroupL1Ball, Hypersimplex, InformationSet, KSupportBall, L1Ball, L2Ball,
    LinearMin, LinfBall, LoSet, LpBall, Matchings, NuclearBall, Oracle, OrderedL1Ball, Paths,
    Permutahedron, Product, SetCheck, Simplex, SimplexBudget, SlideReport, SlideTask,
    SpanningTrees, Spectrahedron, SpectralBall, TraceBound, Treeplex, check_set,
};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Linear functions tried on every set.
const TRIALS: usize = 1000;

type Least = Box<dyn Fn(&[f64]) -> f64>;

struct Case {
    set: Box<dyn Domain>,
    /// The least value of `<g, .>`, found without the library.
    least: Least,
    directions: Directions,
}

fn case(set: impl Domain + 'static, least: impl Fn(&[f64]) -> f64 + 'static) -> Case {
    Case { set: Box::new(set), least: Box::new(least), directions: Directions::Any }
}

fn listed(set: impl Domain + 'static, vertices: Vec<Vec<f64>>) -> Case {
    assert!(vertices.len() > 1, "{}: {} vertices", set.describe(), vertices.len());
    case(set, move |g| vertices.iter().map(|v| dot(g, v)).fold(f64::INFINITY, f64::min))
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

fn falling(g: &[f64]) -> Vec<f64> {
    let mut sizes: Vec<f64> = g.iter().map(|g| g.abs()).collect();
    sizes.sort_by(|a, b| b.total_cmp(a));
    sizes
}

/// All lists of `len` digits below `base`.
fn words(base: usize, len: usize) -> impl Iterator<Item = Vec<usize>> {
    (0..base.pow(len as u32))
        .map(move |code| (0..len).map(|i| code / base.pow(i as u32) % base).collect())
}

fn permutations(n: usize) -> Vec<Vec<usize>> {
    words(n, n).filter(|w| (0..n).all(|i| w.contains(&i))).collect()
}

fn bits(word: &[usize]) -> Vec<f64> {
    word.iter().map(|b| *b as f64).collect()
}

fn ones(word: &[usize]) -> usize {
    word.iter().filter(|b| **b == 1).count()
}

/// Eigenvalues of a symmetric matrix by Jacobi's rotations, in rising order.
fn eigenvalues(mut a: Vec<f64>, n: usize) -> Vec<f64> {
    for _ in 0..60 {
        for p in 0..n {
            for q in p + 1..n {
                if a[p * n + q] == 0.0 {
                    continue;
                }
                let theta = 0.5 * (2.0 * a[p * n + q]).atan2(a[q * n + q] - a[p * n + p]);
                let (s, c) = theta.sin_cos();
                for k in 0..n {
                    let (x, y) = (a[k * n + p], a[k * n + q]);
                    (a[k * n + p], a[k * n + q]) = (c * x - s * y, s * x + c * y);
                }
                for k in 0..n {
                    let (x, y) = (a[p * n + k], a[q * n + k]);
                    (a[p * n + k], a[q * n + k]) = (c * x - s * y, s * x + c * y);
                }
            }
        }
    }
    let mut values: Vec<f64> = (0..n).map(|i| a[i * (n + 1)]).collect();
    values.sort_by(f64::total_cmp);
    values
}

fn symmetric_eigenvalues(g: &[f64], n: usize) -> Vec<f64> {
    eigenvalues((0..n * n).map(|at| 0.5 * (g[at] + g[at % n * n + at / n])).collect(), n)
}

fn singular_values(g: &[f64], rows: usize, columns: usize) -> Vec<f64> {
    // of the symmetric matrix [0 G; G' 0], whose eigenvalues are plus and minus the singular values
    let n = rows + columns;
    let mut whole = vec![0.0; n * n];
    for i in 0..rows {
        for j in 0..columns {
            whole[i * n + rows + j] = g[i * columns + j];
            whole[(rows + j) * n + i] = g[i * columns + j];
        }
    }
    eigenvalues(whole, n).into_iter().rev().take(rows.min(columns)).collect()
}

fn balls() -> Vec<Case> {
    let ordered = [1.5, 1.0, 1.0, 0.25, 0.0];
    let patterns = words(3, 5).filter(|w| w.iter().any(|d| *d > 0)).map(move |w| {
        let count = w.iter().filter(|d| **d > 0).count();
        let size = 2.0 / ordered[..count].iter().sum::<f64>();
        w.iter().map(|d| [0.0, size, -size][*d]).collect()
    });
    let shape = [2.0, 0.5, 0.0, 0.5, 1.0, 0.3, 0.0, 0.3, 0.2];
    let (center, groups) = ([1.0, -2.0, 0.5], [0usize, 1, 0, 2, 1, 0]);
    vec![
        case(L1Ball::new(5, 1.7).expect("a set"), |g| -1.7 * falling(g)[0]),
        case(L2Ball::new(5, 1.7).expect("a set"), |g| -1.7 * norm(g)),
        case(LinfBall::new(5, 1.7).expect("a set"), |g| -1.7 * falling(g).iter().sum::<f64>()),
        case(LpBall::new(5, 3.0, 1.7).expect("a set"), |g| {
            -1.7 * g.iter().map(|g| g.abs().powf(1.5)).sum::<f64>().powf(1.0 / 1.5)
        }),
        case(LpBall::new(4, 1.25, 0.3).expect("a set"), |g| {
            -0.3 * g.iter().map(|g| g.abs().powi(5)).sum::<f64>().powf(0.2)
        }),
        case(KSupportBall::new(6, 3, 2.0).expect("a set"), |g| -2.0 * norm(&falling(g)[..3])),
        case(KSupportBall::new(4, 4, 2.0).expect("a set"), |g| -2.0 * norm(g)),
        case(GroupL1Ball::new(groups.to_vec(), 1.5).expect("a set"), move |g| {
            let of = |k: usize| {
                let square = g.iter().zip(groups).filter(|(_, group)| *group == k);
                square.map(|(g, _)| g * g).sum::<f64>().sqrt()
            };
            -1.5 * of(0).max(of(1)).max(of(2))
        }),
        listed(OrderedL1Ball::new(ordered.to_vec(), 2.0).expect("a set"), patterns.collect()),
        case(Ellipsoid::new(center.to_vec(), shape.to_vec(), 1.5).expect("a set"), move |g| {
            let along: Vec<f64> = shape.chunks(3).map(|row| dot(row, g)).collect();
            dot(&center, g) - 1.5 * dot(&along, g).sqrt()
        }),
    ]
}

fn matrices() -> Vec<Case> {
    let at_most = Spectrahedron::new(3, 2.0, TraceBound::AtMost).expect("a set");
    vec![
        case(NuclearBall::new(3, 4, 1.2).expect("a set"), |g| -1.2 * singular_values(g, 3, 4)[0]),
        case(SpectralBall::new(3, 4, 1.2).expect("a set"), |g| {
            -1.2 * singular_values(g, 3, 4).iter().sum::<f64>()
        }),
        case(SpectralBall::new(4, 2, 0.5).expect("a set"), |g| {
            -0.5 * singular_values(g, 4, 2).iter().sum::<f64>()
        }),
        case(Spectrahedron::new(4, 2.0, TraceBound::Exactly).expect("a set"), |g| {
            2.0 * symmetric_eigenvalues(g, 4)[0]
        }),
        case(at_most, |g| 2.0 * symmetric_eigenvalues(g, 3)[0].min(0.0)),
        case(Fantope::new(5, 2).expect("a set"), |g| {
            symmetric_eigenvalues(g, 5)[..2].iter().sum::<f64>()
        }),
    ]
}

fn polytopes() -> Vec<Case> {
    let unit = |n: usize, k: usize, v: f64| {
        let mut p = vec![0.0; n];
        p[k] = v;
        p
    };
    let subsets = words(2, 6).filter(|w| ones(w) == 2).map(|w| bits(&w)).collect();
    let caps: [f64; 5] = [0.3, 0.6, 0.0, 0.5, 0.25];
    let filled = permutations(5).into_iter().map(|order| {
        let (mut p, mut left) = (vec![0.0; 5], 1.0f64);
        for i in order {
            p[i] = caps[i].min(left);
            left -= p[i];
        }
        p
    });
    let (lower, upper) = ([-1.0, 0.0, 0.5, -2.0], [1.0, 2.0, 0.5, 1.0]);
    let (costs, budget) = ([1.0, 0.5, 3.0, -1.0], 1.2);
    // all entries at bounds, or all but one, which uses up the budget
    let mut knapsacks = Vec::new();
    for word in words(2, 4) {
        let corner: Vec<f64> =
            (0..4).map(|i| if word[i] == 1 { upper[i] } else { lower[i] }).collect();
        if dot(&costs, &corner) <= budget {
            knapsacks.push(corner.clone());
        }
        for i in 0..4 {
            let mut p = corner.clone();
            p[i] += (budget - dot(&costs, &corner)) / costs[i];
            if p[i] >= lower[i] && p[i] <= upper[i] {
                knapsacks.push(p);
            }
        }
    }
    let bounds = BoxSet::new(lower.to_vec(), upper.to_vec()).expect("a box");
    let prices = [3.0, -1.0, 0.5, 2.0, 0.5];
    let mut mixed = Vec::new();
    for i in 0..5 {
        if 2.0 * prices[i] <= 2.5 {
            mixed.push(unit(5, i, 2.0));
        }
        for j in (0..5).filter(|j| 2.0 * prices[i] > 2.5 && 2.0 * prices[*j] < 2.5) {
            let of_i = (2.5 - 2.0 * prices[j]) / (prices[i] - prices[j]);
            let mut p = unit(5, i, of_i);
            p[j] = 2.0 - of_i;
            mixed.push(p);
        }
    }
    let values = [3.0, -1.0, 0.5, 0.5];
    let orders =
        permutations(4).into_iter().map(|order| order.iter().map(|i| values[*i]).collect());
    let assignments = |rows: usize, columns: usize| -> Vec<Vec<f64>> {
        let line = |w: &[usize], row: usize| ones(&w[row * columns..(row + 1) * columns]);
        let column = |w: &[usize], j: usize| (0..rows).filter(|i| w[i * columns + j] == 1).count();
        let right = |w: &Vec<usize>| {
            (0..rows).all(|i| line(w, i) <= 1)
                && (0..columns).all(|j| column(w, j) <= 1)
                && ones(w) == rows.min(columns)
        };
        words(2, rows * columns).filter(right).map(|w| bits(&w)).collect()
    };
    let points: Vec<Vec<f64>> =
        (0..7).map(|k| (0..3).map(|i| ((7 * k + 3 * i) as f64).sin()).collect()).collect();
    let flat = vec![vec![1.0, 1.0, 1.0], vec![2.0, 1.0, 1.0], vec![1.5, 1.0, 1.0]];
    let infos = [(0, 2), (1, 3), (1, 2), (2, 2), (5, 2)];
    let infos = infos.map(|(parent, actions)| InformationSet { parent, actions });
    let plans = words(3, 5).filter(|w| (0..5).all(|k| w[k] < infos[k].actions)).map(|w| {
        let (mut p, mut first) = (vec![1.0], 1);
        for (k, info) in infos.iter().enumerate() {
            let above = p[info.parent];
            p.resize(first + info.actions, 0.0);
            p[first + w[k]] = above;
            first += info.actions;
        }
        p
    });
    vec![
        listed(Simplex::scaled(5, 1.7).expect("a set"), (0..5).map(|k| unit(5, k, 1.7)).collect()),
        listed(
            BoxSet::new(lower.to_vec(), upper.to_vec()).expect("a set"),
            words(2, 4)
                .map(|w| (0..4).map(|i| if w[i] == 1 { upper[i] } else { lower[i] }).collect())
                .collect(),
        ),
        listed(Hypersimplex::new(6, 2).expect("a set"), subsets),
        listed(CappedSimplex::new(caps.to_vec(), 1.0).expect("a set"), filled.collect()),
        listed(BoxBudget::new(bounds, costs.to_vec(), budget).expect("a set"), knapsacks),
        listed(
            SimplexBudget::new(Simplex::scaled(5, 2.0).expect("a simplex"), prices.to_vec(), 2.5)
                .expect("a set"),
            mixed,
        ),
        listed(Permutahedron::new(values.to_vec()).expect("a set"), orders.collect()),
        listed(Birkhoff::new(4).expect("a set"), assignments(4, 4)),
        listed(Birkhoff::rectangular(3, 5).expect("a set"), assignments(3, 5)),
        listed(Birkhoff::rectangular(5, 2).expect("a set"), assignments(5, 2)),
        listed(ConvexHull::new(&points).expect("a set"), points.clone()),
        listed(ConvexHull::new(&flat).expect("a set"), flat.clone()),
        listed(Treeplex::new(infos.to_vec()).expect("a set"), plans.collect()),
    ]
}

/// The simple paths from node 0 to the last node, by trying all sets of arcs.
fn simple_paths(nodes: usize, arcs: &[(usize, usize)]) -> Vec<Vec<f64>> {
    let mut found = Vec::new();
    for word in words(2, arcs.len()) {
        let (mut node, mut steps, mut seen) = (0, 0, vec![0]);
        while node != nodes - 1 {
            let mut next = (0..arcs.len()).filter(|k| word[*k] == 1 && arcs[*k].0 == node);
            let (Some(arc), None) = (next.next(), next.next()) else { break };
            node = arcs[arc].1;
            steps += 1;
            if seen.contains(&node) {
                break;
            }
            seen.push(node);
        }
        if node == nodes - 1 && steps == ones(&word) {
            found.push(bits(&word));
        }
    }
    found
}

fn graphs() -> Vec<Case> {
    let forward = vec![(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (3, 4), (2, 4), (1, 4), (0, 1)];
    let around = vec![(0, 1), (1, 2), (2, 0), (2, 3), (3, 1), (0, 3), (3, 4), (2, 4), (4, 0)];
    let graph = |arcs: &Vec<(usize, usize)>| Graph::new(5, arcs.clone()).expect("a graph");
    let capacities = [2.0, 1.0, 1.0, 2.0, 1.0, 2.0, 1.0, 0.0, 1.0];
    let flows = |arcs: &[(usize, usize)], value: f64| -> Vec<Vec<f64>> {
        let balances = |p: &Vec<f64>| {
            let net = |v: usize| -> f64 {
                let of = |((a, b), p): (&(usize, usize), &f64)| {
                    f64::from(u8::from(*a == v)) * p - f64::from(u8::from(*b == v)) * p
                };
                arcs.iter().zip(p).map(of).sum()
            };
            (1..4).all(|v| net(v) == 0.0) && net(0) == value
        };
        let within = |p: &Vec<f64>| p.iter().zip(capacities).all(|(p, c)| *p <= c);
        words(3, 9).map(|w| bits(&w)).filter(|p| within(p) && balances(p)).collect()
    };
    let edges = vec![(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2), (0, 4), (0, 1)];
    let trees = words(2, 8).filter(|w| ones(w) == 4).filter(|w| {
        let mut part: Vec<usize> = (0..5).collect();
        for k in (0..8).filter(|k| w[*k] == 1) {
            let (a, b) = (part[edges[k].0], part[edges[k].1]);
            part.iter_mut().for_each(|p| *p = if *p == a { b } else { *p });
        }
        part.iter().all(|p| *p == part[0])
    });
    let pairs = [(0, 0), (0, 1), (1, 1), (2, 1), (2, 2), (1, 3), (0, 3), (0, 0)];
    let matchings = || {
        words(2, 8).filter(move |w| {
            let chosen: Vec<_> = (0..8).filter(|k| w[*k] == 1).map(|k| pairs[k]).collect();
            let apart =
                |i: usize, j: usize| chosen[i].0 != chosen[j].0 && chosen[i].1 != chosen[j].1;
            (0..chosen.len()).all(|i| (0..i).all(|j| apart(i, j)))
        })
    };
    let turned = pairs.iter().map(|(a, b)| (*b, *a)).collect();
    let cyclic = Case {
        directions: Directions::NonNegative,
        ..listed(Paths::new(graph(&around), 0, 4).expect("a set"), simple_paths(5, &around))
    };
    vec![
        listed(Paths::new(graph(&forward), 0, 4).expect("a set"), simple_paths(5, &forward)),
        cyclic,
        listed(
            Flows::new(graph(&forward), capacities.to_vec(), 0, 4, 2.0).expect("a set"),
            flows(&forward, 2.0),
        ),
        listed(
            Flows::new(graph(&around), capacities.to_vec(), 0, 4, 1.0).expect("a set"),
            flows(&around, 1.0),
        ),
        listed(
            SpanningTrees::new(5, edges.clone()).expect("a set"),
            trees.map(|w| bits(&w)).collect(),
        ),
        listed(
            Matchings::new(3, 4, pairs.to_vec()).expect("a set"),
            matchings().map(|w| bits(&w)).collect(),
        ),
        listed(
            Matchings::new(4, 3, turned).expect("a set"),
            matchings().map(|w| bits(&w)).collect(),
        ),
    ]
}

fn combined() -> Vec<Case> {
    let parts: Vec<Box<dyn Domain>> = vec![
        Box::new(Hypersimplex::new(4, 2).expect("a set")),
        Box::new(L2Ball::new(3, 0.5).expect("a set")),
    ];
    let trees: Vec<Box<dyn Domain>> =
        vec![Box::new(Birkhoff::new(2).expect("a set")), Box::new(Simplex::new(2).expect("a set"))];
    let two_least = |g: &[f64]| {
        let mut g = g.to_vec();
        g.sort_by(f64::total_cmp);
        g[0] + g[1]
    };
    let offset = [1.0, -2.0, 0.25, 30.0];
    let moved = Box::new(Hypersimplex::new(4, 2).expect("a set"));
    let turned = Box::new(Spectrahedron::new(3, 1.0, TraceBound::Exactly).expect("a set"));
    let scaled = Box::new(Simplex::new(4).expect("a set"));
    vec![
        case(Product::new(parts).expect("a set"), move |g| {
            two_least(&g[..4]) - 0.5 * norm(&g[4..])
        }),
        case(Product::new(trees).expect("a set"), |g| {
            (g[0] + g[3]).min(g[1] + g[2]) + g[4].min(g[5])
        }),
        case(Affine::shifted(moved, offset.to_vec()).expect("a set"), move |g| {
            two_least(g) + dot(&offset, g)
        }),
        case(Affine::scaled(turned, -2.0).expect("a set"), |g| {
            -2.0 * symmetric_eigenvalues(g, 3)[2]
        }),
        case(Affine::scaled(scaled, 0.01).expect("a set"), |g| {
            0.01 * g.iter().copied().fold(f64::INFINITY, f64::min)
        }),
    ]
}

fn all() -> Vec<Case> {
    [balls(), matrices(), polytopes(), graphs(), combined()].into_iter().flatten().collect()
}

/// Dense, sparse, with ties, huge and tiny ones in turn.
fn direction(trial: usize, dim: usize, directions: Directions, rng: &mut Pcg64Mcg) -> Vec<f64> {
    let mut g: Vec<f64> = (0..dim).map(|_| rng.random_range(-1.0..1.0)).collect();
    let few = rng.random_range(0..dim);
    match trial % 5 {
        1 => g.iter_mut().for_each(|g| *g = (*g * 2.5).round()),
        2 => g.iter_mut().for_each(|g| *g *= 1e8),
        3 => g.iter_mut().for_each(|g| *g *= 1e-8),
        4 => g.iter_mut().enumerate().for_each(|(i, g)| *g = if i == few { *g } else { 0.0 }),
        _ => {}
    }
    if directions == Directions::NonNegative {
        g.iter_mut().for_each(|g| *g = g.abs());
    }
    g
}

#[test]
fn the_least_value_of_a_thousand_linear_functions_is_that_over_all_points_and_beyond_it_is_outside()
{
    let mut rng = Pcg64Mcg::seed_from_u64(20);
    for Case { set, least, directions } in all() {
        let (name, dim) = (set.describe(), set.dim());
        let mut oracle = set.oracle();
        let mut p = vec![f64::NAN; dim];
        for trial in 0..TRIALS {
            let g = direction(trial, dim, directions, &mut rng);
            let expected = least(&g);
            let minimum = oracle.lmo(&g, &mut p).expect("a minimum");
            let size = norm(&g) * (norm(&p) + set.diameter());
            let (value, lower) = (minimum.value, minimum.lower);
            assert!(
                (value - expected).abs() <= 1e-12 * size,
                "{name}: {value} {expected} for {g:?}"
            );
            assert!((dot(&g, &p) - value).abs() <= 1e-14 * size, "{name}");
            // a bound, and a sharp one; the reference itself errs by a rounding
            assert!(
                lower <= expected + 2e-16 * size * dim as f64,
                "{name}: {lower} above {expected}"
            );
            assert!(expected - lower <= 1e-11 * size, "{name}: {lower} far below {expected}");
            assert!(set.contains(&p, 1e-12 * (1.0 + norm(&p))), "{name}: {p:?} for {g:?}");
            if norm(&g) > 0.0 {
                let length = norm(&g);
                let beyond: Vec<f64> =
                    p.iter().zip(&g).map(|(p, g)| p - 0.01 * g / length).collect();
                let outside = set.violation(&beyond);
                assert!(outside > 1e-5, "{name}: {beyond:?} counts as inside ({outside})");
            }
            let (atom, again) = oracle.atom(&g, &mut p.clone()).expect("an atom");
            assert!(
                (again.value - value).abs() <= 1e-14 * size
                    && (atom.dot(&g) - value).abs() <= 1e-13 * size
            );
        }
    }
}

#[test]
fn projections_satisfy_the_inequality_that_defines_them() {
    let mut rng = Pcg64Mcg::seed_from_u64(21);
    let mut projecting = 0;
    for Case { set, least, .. } in all() {
        let (name, dim) = (set.describe(), set.dim());
        let mut oracle = set.oracle();
        if !oracle.has_prox() {
            continue;
        }
        projecting += 1;
        for trial in 0..200 {
            let scale = [0.1, 1.0, 10.0][trial % 3] * (1.0 + set.diameter());
            let g: Vec<f64> = (0..dim).map(|_| scale * rng.random_range(-1.0..1.0)).collect();
            let mut q = vec![0.0; dim];
            oracle.lmo(&direction(0, dim, Directions::Any, &mut rng), &mut q).expect("a vertex");
            let beta = [0.5, 1.0, 40.0][trial / 3 % 3];
            let mut u = vec![f64::NAN; dim];
            let gap = oracle.prox(&g, &q, beta, &mut u).expect("a prox");
            // <s, u> is least over the set for s = g + beta (u - q)
            let s: Vec<f64> = (0..dim).map(|i| g[i] + beta * (u[i] - q[i])).collect();
            let left = dot(&s, &u) - least(&s);
            let size = (norm(&g) + beta * (norm(&u) + norm(&q))) * (norm(&u) + set.diameter());
            assert!(left <= 1e-11 * size, "{name}: a gap of {left:e} for {g:?}");
            assert!(
                left <= gap + 1e-15 * size,
                "{name}: {left:e} is more than the {gap:e} that it admits to"
            );
            assert!(gap <= 1e-10 * size, "{name}: {gap:e}");
            assert!(set.contains(&u, 1e-11 * (1.0 + norm(&u) + norm(&g))), "{name}: {u:?}");
        }
    }
    assert_eq!(projecting, 25);
}

#[test]
fn the_checker_has_nothing_to_say_against_any_set() {
    for Case { set, directions, .. } in all() {
        let report = SetCheck::default().directions(directions).run(&*set);
        assert!(report.is_clean(), "{}: {:#?}", set.describe(), report.faults);
        assert!(report.linear_minimisations >= 60 && report.farthest > 0.0);
        assert!(report.farthest <= set.diameter() * (1.0 + 1e-9));
        assert_eq!(report.tried_prox, set.oracle().has_prox());
    }
}

/// A square whose oracle has a fault.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    Maximises,
    Outside,
    Diameter,
    Value,
    Prox,
    ProxGap,
    Atom,
}

struct Square(Fault);

impl Domain for Square {
    fn dim(&self) -> usize {
        2
    }
    fn diameter(&self) -> f64 {
        if self.0 == Fault::Diameter { 2.5 } else { 8f64.sqrt() }
    }
    fn violation(&self, p: &[f64]) -> f64 {
        p.iter().fold(0.0f64, |worst, p| worst.max(p.abs() - 1.0))
    }
    fn center(&self, out: &mut [f64]) {
        out.fill(0.0);
    }
    fn describe(&self) -> String {
        format!("a square with the fault {:?}", self.0)
    }
    fn oracle(&self) -> Box<dyn Oracle + '_> {
        Box::new(SquareOracle { fault: self.0, asked: 0 })
    }
}

struct SquareOracle {
    fault: Fault,
    asked: u32,
}

impl Oracle for SquareOracle {
    fn lmo(&mut self, g: &[f64], p: &mut [f64]) -> couloir::Result<LinearMin> {
        self.asked += 1;
        let size = if self.fault == Fault::Outside && self.asked.is_multiple_of(7) {
            1.0 + 1e-6
        } else {
            1.0
        };
        let sign = if self.fault == Fault::Maximises { -1.0 } else { 1.0 };
        (0..2).for_each(|i| p[i] = -sign * size * g[i].signum());
        let value = dot(g, p);
        Ok(LinearMin::exact(if self.fault == Fault::Value { value - 0.1 } else { value }))
    }
    fn atom(
        &mut self,
        g: &[f64],
        scratch: &mut [f64],
    ) -> couloir::Result<(couloir::domain::Atom, LinearMin)> {
        let minimum = self.lmo(g, scratch)?;
        if self.fault == Fault::Atom {
            scratch[0] = -scratch[0];
        }
        Ok((couloir::domain::Atom::from_point(scratch), minimum))
    }
    fn has_prox(&self) -> bool {
        true
    }
    fn prox(&mut self, g: &[f64], q: &[f64], beta: f64, out: &mut [f64]) -> couloir::Result<f64> {
        let step = if self.fault == Fault::Prox { 0.5 } else { 1.0 };
        (0..2).for_each(|i| out[i] = (q[i] - step * g[i] / beta).clamp(-1.0, 1.0));
        Ok(if self.fault == Fault::ProxGap { 1.0 + norm(g) } else { 1e-12 * norm(g) })
    }
    fn slide(&mut self, task: &SlideTask<'_>, out: &mut [f64]) -> couloir::Result<SlideReport> {
        couloir::domain::cndg(self, task, &mut couloir::domain::Cndg::new(2), out)
    }
}

#[test]
fn the_checker_finds_planted_faults() {
    assert_eq!(check_set(&Square(Fault::None)).faults, Vec::<String>::new());
    for (fault, words) in [
        (Fault::Maximises, "does not minimise"),
        (Fault::Outside, "lies outside of the set by"),
        (Fault::Diameter, "its diameter is given as 2.5"),
        (Fault::Value, "but <g, p> at its point p is"),
        (Fault::Prox, "the exact prox reports the gap"),
        (Fault::ProxGap, "far above rounding"),
        (Fault::Atom, "the minimiser as an atom has"),
    ] {
        let report = check_set(&Square(fault));
        assert!(report.faults.iter().any(|f| f.contains(words)), "{fault:?}: {:#?}", report.faults);
    }
    // a set known by its oracle alone, whose diameter is too small
    let small = LoSet::new(2, 1.0, vec![0.0, 0.0], |g, p| {
        (0..2).for_each(|i| p[i] = -g[i].signum());
    });
    let report = check_set(&small.expect("a set"));
    assert!(report.faults[0].contains("diameter was given as 1"), "{:?}", report.faults);
}

#[test]
fn sets_that_make_no_sense_say_why() {
    let graph = || Graph::new(3, vec![(0, 1), (1, 0)]).expect("a graph");
    let errors = [
        LpBall::new(3, 1.0, 1.0).err(),
        KSupportBall::new(3, 4, 1.0).err(),
        GroupL1Ball::new(vec![0, 2, 2], 1.0).err(),
        OrderedL1Ball::new(vec![1.0, 2.0], 1.0).err(),
        Ellipsoid::new(vec![0.0; 2], vec![1.0, 0.0, 0.5, 1.0], 1.0).err(),
        Ellipsoid::new(vec![0.0; 2], vec![1.0, 2.0, 2.0, 1.0], 1.0).err(),
        CappedSimplex::new(vec![0.1; 3], 1.0).err(),
        Hypersimplex::new(3, 0).err(),
        BoxBudget::new(BoxSet::cube(2, 1.0, 2.0).expect("a box"), vec![1.0, 1.0], 1.0).err(),
        SimplexBudget::new(Simplex::new(2).expect("a simplex"), vec![2.0, 3.0], 1.0).err(),
        ConvexHull::new(&[vec![0.0], vec![0.0, 1.0]]).err(),
        Treeplex::new(vec![InformationSet { parent: 1, actions: 2 }]).err(),
        Graph::new(2, vec![(0, 2)]).err(),
        Paths::new(graph(), 0, 2).err(),
        Paths::new(graph(), 1, 1).err(),
        Flows::new(graph(), vec![1.0, 1.0], 0, 1, 2.0).err(),
        SpanningTrees::new(3, vec![(0, 1)]).err(),
        Matchings::new(1, 1, vec![(0, 1)]).err(),
        Spectrahedron::new(0, 1.0, TraceBound::Exactly).err(),
        Fantope::new(2, 3).err(),
        Product::new(Vec::new()).err(),
        Affine::scaled(Box::new(Simplex::new(2).expect("a simplex")), 0.0).err(),
    ];
    for (i, error) in errors.iter().enumerate() {
        let message = error.as_ref().map(ToString::to_string);
        assert!(message.is_some_and(|m| m.len() > 20), "case {i} has no error");
    }
    // a cycle of negative cost
    let around = Graph::new(3, vec![(0, 1), (1, 0), (1, 2)]).expect("a graph");
    let set = Paths::new(around, 0, 2).expect("a set");
    let error = set.oracle().lmo(&[-1.0, -1.0, 1.0], &mut [0.0; 3]).expect_err("a negative cycle");
    assert!(error.to_string().contains("negative cost"), "{error}");
    // but a negative cost without such a cycle is none
    let minimum = set.oracle().lmo(&[-1.0, 2.0, 1.0], &mut [0.0; 3]).expect("a path");
    assert_eq!(minimum.value, 0.0);
}
