//! Matrix games are solved by the default method with the default settings: values are those of an independent enumeration of
//! supports, of closed forms, and of known games.

use couloir::certificate::{Certificate, FwGap};
use couloir::domain::{BoxSet, Domain, L2Ball, Simplex};
use couloir::linalg::SparseMatrix;
use couloir::problem::{MatrixGame, SaddleProblem};
use couloir::run::{Algorithm, Checkpoints, Flow, TracePoint};
use couloir::solver::RestartedSettings;
use couloir::{Error, Method, Solution, Solve};

/// Numbers in `[0, 1)`, drawn by arithmetic alone.
fn draws(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn normal(draw: &mut impl FnMut() -> f64) -> f64 {
    (-2.0 * (1.0 - draw()).ln()).sqrt() * (std::f64::consts::TAU * draw()).cos()
}

/// The families of the issue, of any size.
fn families(m: usize, n: usize) -> Vec<(&'static str, Vec<f64>)> {
    let mut draw = draws(5);
    let of = |entry: &mut dyn FnMut(usize, usize) -> f64| -> Vec<f64> {
        (0..m * n).map(|k| entry(k / n, k % n)).collect()
    };
    let normals = of(&mut |_, _| normal(&mut draw));
    let uniform = of(&mut |_, _| draw());
    let sparse = of(&mut |_, _| if draw() < 0.05 { normal(&mut draw) } else { 0.0 });
    let left: Vec<f64> = (0..5 * m).map(|_| normal(&mut draw)).collect();
    let right: Vec<f64> = (0..5 * n).map(|_| normal(&mut draw)).collect();
    let low_rank = of(&mut |i, j| (0..5).map(|k| left[5 * i + k] * right[5 * j + k]).sum());
    let hilbert = of(&mut |i, j| 1.0 / (i + j + 1) as f64);
    let near_diagonal = of(&mut |i, j| 1.0 / ((i as f64 - (j * m / n) as f64).abs() + 1.0));
    vec![
        ("normal", normals),
        ("uniform", uniform),
        ("sparse", sparse),
        ("low rank", low_rank),
        ("Hilbert", hilbert),
        ("near the diagonal", near_diagonal),
    ]
}

/// Rock-paper-scissors of `n` choices: each beats the half before it.
fn cyclic(n: usize, mut stake: impl FnMut(usize, usize) -> f64) -> Vec<f64> {
    let mut payoffs = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..i {
            let sign = if (i - j) % 2 == 1 { 1.0 } else { -1.0 };
            let stake = sign * stake(i, j);
            (payoffs[i * n + j], payoffs[j * n + i]) = (stake, -stake);
        }
    }
    payoffs
}

fn solve(m: usize, n: usize, payoffs: Vec<f64>) -> Solution {
    let game = MatrixGame::from_rows(m, n, payoffs).expect("a game");
    let (x_set, y_set) = (Simplex::new(m).expect("a simplex"), Simplex::new(n).expect("a simplex"));
    let solution = Solve::new(&game, &x_set, &y_set).run().expect("a run");
    // the certificate against an evaluation from outside
    let mut gap = FwGap::new(&game, &x_set, &y_set).expect("a gap");
    let at = gap.at(&solution.x, &solution.y).expect("a certificate");
    let certificate = &solution.outcome.certificate;
    assert!((certificate.gap - at.gap).abs() <= 1e-12 * (1.0 + at.upper.abs()), "{certificate:?}");
    solution
}

/// Gaussian elimination with pivoting; none for a singular matrix.
fn solve_square(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Option<Vec<f64>> {
    let n = b.len();
    for t in 0..n {
        let pivot = (t..n).max_by(|&i, &j| a[i][t].abs().total_cmp(&a[j][t].abs()))?;
        if a[pivot][t].abs() < 1e-12 {
            return None;
        }
        a.swap(t, pivot);
        b.swap(t, pivot);
        for i in 0..n {
            if i != t {
                let share = a[i][t] / a[t][t];
                (t..n).for_each(|j| a[i][j] -= share * a[t][j]);
                b[i] -= share * b[t];
            }
        }
    }
    Some((0..n).map(|i| b[i] / a[i][i]).collect())
}

/// The value of a game from all pairs of supports of one size (Shapley and Snow): some regular pair gives a saddle point.
fn value_by_enumeration(m: usize, n: usize, a: &[f64]) -> f64 {
    let bits =
        |mask: usize, len: usize| (0..len).filter(|i| mask >> i & 1 == 1).collect::<Vec<_>>();
    for rows in 1..1_usize << m {
        for columns in 1..1_usize << n {
            let (i_s, j_s) = (bits(rows, m), bits(columns, n));
            let k = i_s.len();
            if k != j_s.len() {
                continue;
            }
            // rows of the support are indifferent, and the weights add up to 1
            let system = |entry: &dyn Fn(usize, usize) -> f64| {
                let mut lines: Vec<Vec<f64>> =
                    (0..k).map(|r| (0..k).map(|c| entry(r, c)).chain([-1.0]).collect()).collect();
                lines.push(std::iter::repeat_n(1.0, k).chain([0.0]).collect());
                let right = std::iter::repeat_n(0.0, k).chain([1.0]).collect();
                solve_square(lines, right)
            };
            let y = system(&|r, c| a[i_s[r] * n + j_s[c]]);
            let x = system(&|r, c| a[i_s[c] * n + j_s[r]]);
            let (Some(x), Some(y)) = (x, y) else { continue };
            let value = y[k];
            let pays = |i: usize| (0..k).map(|c| a[i * n + j_s[c]] * y[c]).sum::<f64>();
            let gets = |j: usize| (0..k).map(|r| a[i_s[r] * n + j] * x[r]).sum::<f64>();
            let positive = x[..k].iter().chain(&y[..k]).all(|v| *v >= -1e-12);
            if positive
                && (0..m).all(|i| pays(i) >= value - 1e-10)
                && (0..n).all(|j| gets(j) <= value + 1e-10)
            {
                return value;
            }
        }
    }
    panic!("every game has a value");
}

#[test]
fn values_are_those_of_an_enumeration_of_supports() {
    let mut draw = draws(1);
    for (m, n) in [(1, 1), (1, 4), (3, 1), (2, 2), (3, 5), (6, 4), (6, 6)] {
        for round in 0..6 {
            // whole numbers make ties and singular parts
            let entry = |draw: &mut dyn FnMut() -> f64| match round % 2 {
                0 => draw() - 0.5,
                _ => (4.0 * draw()).floor(),
            };
            let payoffs: Vec<f64> = (0..m * n).map(|_| entry(&mut draw)).collect();
            let value = value_by_enumeration(m, n, &payoffs);
            let solution = solve(m, n, payoffs);
            let certificate = &solution.outcome.certificate;
            assert!(solution.outcome.status.is_solved(), "{m} x {n}, {round}: {certificate:?}");
            assert!(
                certificate.lower <= value + 1e-9 && value <= certificate.upper + 1e-9,
                "{m} x {n}, {round}: {value}, {certificate:?}"
            );
        }
    }
}

#[test]
fn every_family_is_certified_to_1e_6_with_the_default_settings() {
    for (m, n) in [(30, 40), (120, 80)] {
        for (name, payoffs) in families(m, n) {
            let scale = payoffs.iter().fold(0.0f64, |most, a| most.max(a.abs()));
            let solution = solve(m, n, payoffs);
            let outcome = &solution.outcome;
            assert!(outcome.status.is_solved(), "{name}, {m} x {n}: {:?}", outcome.certificate);
            assert!(outcome.certificate.gap <= 1e-6 * scale, "{name}: {:?}", outcome.certificate);
        }
    }
}

#[test]
fn rock_paper_scissors_of_101_choices_is_solved_with_and_without_stakes() {
    let mut draw = draws(3);
    let stakes = cyclic(101, |_, _| 0.5 + 1.5 * draw());
    // without stakes the centre, where the run starts, is the solution up to rounding
    for (payoffs, gap) in [(cyclic(101, |_, _| 1.0), 1e-11), (stakes, 1e-6)] {
        let solution = solve(101, 101, payoffs);
        // symmetric games have the value 0
        let certificate = &solution.outcome.certificate;
        assert!(certificate.lower <= 0.0 && certificate.upper >= 0.0, "{certificate:?}");
        assert!(certificate.gap <= gap, "{certificate:?}");
    }
}

/// Kuhn poker in normal form: 27 plans for the first player, 64 for the second; its value is -1/18.
#[test]
fn kuhn_poker_costs_the_first_player_an_eighteenth() {
    // 0: check and fold, 1: check and call, 2: bet
    let first = |plan: usize, card: usize| plan / 3_usize.pow(card as u32) % 3;
    // bit 0: bet after a check, bit 1: call a bet
    let second = |plan: usize, card: usize| plan / 4_usize.pow(card as u32) % 4;
    let wins = |mine: usize, theirs: usize, stake: f64| if mine > theirs { stake } else { -stake };
    let gain = |p: usize, q: usize| {
        let mut sum = 0.0;
        for mine in 0..3 {
            for theirs in (0..3).filter(|theirs| *theirs != mine) {
                let (act, answer) = (first(p, mine), second(q, theirs));
                sum += match (act, answer & 1, answer >> 1) {
                    (2, _, 0) => 1.0,
                    (2, _, _) => wins(mine, theirs, 2.0),
                    (_, 0, _) => wins(mine, theirs, 1.0),
                    (0, _, _) => -1.0,
                    _ => wins(mine, theirs, 2.0),
                };
            }
        }
        sum / 6.0
    };
    // y is the one who gains
    let payoffs = (0..64 * 27).map(|k| gain(k % 27, k / 27)).collect();
    let solution = solve(64, 27, payoffs);
    let certificate = &solution.outcome.certificate;
    assert!(certificate.gap < 1e-6, "{certificate:?}");
    assert!(certificate.lower <= -1.0 / 18.0 + 1e-12 && certificate.upper >= -1.0 / 18.0 - 1e-12);
}

#[test]
fn a_sparse_matrix_is_the_same_game() {
    let (m, n) = (25, 31);
    let (_, payoffs) = families(m, n).swap_remove(2);
    let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in payoffs.chunks(n) {
        for (j, a) in row.iter().enumerate().filter(|(_, a)| **a != 0.0) {
            indices.push(j as u32);
            values.push(*a);
        }
        starts.push(indices.len());
    }
    let matrix = SparseMatrix::from_rows(n, starts, indices, values).expect("a matrix");
    let (x_set, y_set) = (Simplex::new(m).expect("a simplex"), Simplex::new(n).expect("a simplex"));
    let sparse = MatrixGame::sparse(matrix).expect("a game");
    let a = Solve::new(&sparse, &x_set, &y_set).gap(1e-9).run().expect("a run");
    let dense = MatrixGame::from_rows(m, n, payoffs).expect("a game");
    let b = Solve::new(&dense, &x_set, &y_set).gap(1e-9).run().expect("a run");
    let [a, b] = [a, b].map(|solution| solution.outcome.certificate);
    assert!(a.gap <= 1e-9 && b.gap <= 1e-9, "{a:?} {b:?}");
    assert!(a.lower <= b.upper && b.lower <= a.upper, "{a:?} {b:?}");
}

#[test]
fn steps_alone_converge_linearly_on_sharp_games() {
    let (m, n) = (30, 40);
    for (name, payoffs) in families(m, n).into_iter().filter(|(name, _)| *name != "Hilbert") {
        let game = MatrixGame::from_rows(m, n, payoffs).expect("a game");
        let sets = [Simplex::new(m).expect("a simplex"), Simplex::new(n).expect("a simplex")];
        let run = |gap: f64| {
            let method = RestartedSettings::default().finish(false);
            let solve = Solve::new(&game, &sets[0], &sets[1]).method(method).iterations(40_000);
            let solution = solve.gap(gap).run().expect("a run");
            assert!(solution.outcome.certificate.gap <= gap, "{name}, {gap}");
            solution.outcome.iterations
        };
        // a sublinear method at the rate 1/k would take 1,000 times as many
        let (to_1e_5, to_1e_8) = (run(1e-5), run(1e-8));
        assert!(to_1e_8 <= 8 * to_1e_5 + 200, "{name}: {to_1e_5}, {to_1e_8}");
    }
}

#[test]
fn the_bound_from_the_residual_holds_at_every_iterate() {
    let (m, n) = (30, 40);
    for (name, payoffs) in families(m, n) {
        let scale = payoffs.iter().fold(0.0f64, |most, a| most.max(a.abs()));
        let game = MatrixGame::from_rows(m, n, payoffs).expect("a game");
        let sets = [Simplex::new(m).expect("a simplex"), Simplex::new(n).expect("a simplex")];
        let mut gap = FwGap::new(&game, &sets[0], &sets[1]).expect("a gap");
        let method = RestartedSettings::default().finish(false);
        let mut looks = 0;
        let mut watch = |_: &TracePoint, solver: &dyn Algorithm| {
            let (x, y) = solver.current();
            let (truth, bound) = (gap.at(x, y).expect("a gap").gap, solver.bounds().schedule);
            let rounding = 1e-11 * scale;
            assert!(truth <= bound + rounding, "{name}, {}: {truth}, {bound}", solver.iterations());
            looks += 1;
            Flow::Continue
        };
        let solve = Solve::new(&game, &sets[0], &sets[1]).method(method).gap(1e-6).iterations(500);
        let last = solve.run_with(&mut watch).expect("a run").outcome.bounds.schedule;
        assert!(looks > 10, "{name}: {looks}");
        assert!(last.is_finite(), "{name}");
    }
}

#[test]
fn bilinear_functions_on_other_sets_and_of_other_totals_are_solved_too() {
    let (m, n) = (12, 9);
    let (_, payoffs) = families(m, n).swap_remove(0);
    let game = MatrixGame::from_rows(m, n, payoffs).expect("a game");
    let scaled =
        [Simplex::scaled(m, 3.0).expect("a simplex"), Simplex::scaled(n, 0.5).expect("a simplex")];
    let unit = [Simplex::new(m).expect("a simplex"), Simplex::new(n).expect("a simplex")];
    let [a, b] = [scaled, unit].map(|[x_set, y_set]| {
        let solution = Solve::new(&game, &x_set, &y_set).gap(1e-9).run().expect("a run");
        assert!(x_set.contains(&solution.x, 1e-12) && y_set.contains(&solution.y, 1e-12));
        solution.outcome.certificate
    });
    assert!(a.gap <= 1e-9 && b.gap <= 1e-9, "{a:?} {b:?}");
    assert!((a.lower - 1.5 * b.lower).abs() <= 1e-8, "{a:?} {b:?}");
    // on a box around the origin and a ball the saddle point is the origin
    let (x_set, y_set) =
        (BoxSet::cube(m, -1.0, 2.0).expect("a box"), L2Ball::new(n, 1.0).expect("a ball"));
    let start = Solve::new(&game, &x_set, &y_set).start_x(vec![1.0; m]).gap(1e-7);
    let certificate = start.run().expect("a run").outcome.certificate;
    assert!(certificate.gap <= 1e-7, "{certificate:?}");
    assert!(certificate.lower <= 1e-9 && certificate.upper >= -1e-9, "{certificate:?}");
}

#[test]
fn every_thread_count_gives_the_same_bits_and_so_does_a_resumed_run() {
    let (m, n) = (300, 310);
    let (_, payoffs) = families(m, n).swap_remove(1);
    let game = MatrixGame::from_rows(m, n, payoffs).expect("a game");
    let (x_set, y_set) = (Simplex::new(m).expect("a simplex"), Simplex::new(n).expect("a simplex"));
    let solve = Solve::new(&game, &x_set, &y_set).gap(1e-10);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| solve.run().expect("a run"))
    };
    let one = on(1);
    assert!(one.outcome.status.is_solved(), "{:?}", one.outcome.certificate);
    assert_eq!(one, on(3));
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("checkpoint");
    for stop in [1, 31, 32, 33, one.outcome.iterations - 1] {
        solve.clone().iterations(stop).checkpoints(Checkpoints::to(&file)).run().expect("a run");
        let resumed = solve.clone().checkpoints(Checkpoints::resume(&file)).run().expect("a run");
        assert_eq!(resumed, one, "stopped after {stop}");
    }
}

#[test]
fn games_that_make_no_sense_are_refused() {
    assert!(MatrixGame::from_rows(0, 3, vec![]).is_err());
    assert!(MatrixGame::from_rows(2, 2, vec![0.0; 3]).is_err());
    assert!(matches!(
        MatrixGame::from_rows(1, 2, vec![0.0, f64::NAN]),
        Err(Error::NotFinite { .. })
    ));
    // constant games, and such with one choice, are solved at once
    for payoffs in [vec![0.0; 6], vec![7.0; 6]] {
        let value = payoffs[0];
        let certificate = solve(2, 3, payoffs).outcome.certificate;
        assert!(certificate.gap <= 1e-12 && (certificate.upper - value).abs() < 1e-12);
    }
}

#[test]
fn a_wrapper_that_drops_the_capability_is_solved_by_the_general_method() {
    struct Plain(MatrixGame);
    impl SaddleProblem for Plain {
        fn dim_x(&self) -> usize {
            self.0.dim_x()
        }
        fn dim_y(&self) -> usize {
            self.0.dim_y()
        }
        fn value(&self, at: couloir::problem::PreparedImage<'_>, y: &[f64]) -> f64 {
            self.0.value(at, y)
        }
        fn grad_image(&self, at: couloir::problem::PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
            self.0.grad_image(at, y, out);
        }
        fn grad_y(&self, at: couloir::problem::PreparedImage<'_>, y: &[f64], out: &mut [f64]) {
            self.0.grad_y(at, y, out);
        }
        fn capabilities(&self) -> couloir::problem::Capabilities<'_> {
            couloir::problem::Capabilities::NONE
        }
    }
    let game = MatrixGame::from_rows(2, 2, vec![3.0, -1.0, -2.0, 1.0]).expect("a game");
    let set = Simplex::new(2).expect("a simplex");
    let plain = Plain(game);
    assert_ne!(Method::suited(&plain, &set, &set), Method::restarted());
    let refused = Solve::new(&plain, &set, &set).method(Method::restarted()).start().err();
    assert!(matches!(refused, Some(Error::MissingOracle { .. })), "{refused:?}");
}

/// The games of every shape that users may try, with their values where these are known.
/// A name, both numbers of choices, payoffs, and the value where a formula has it.
type OddGame = (&'static str, usize, usize, Vec<f64>, Option<f64>);

fn odd_games() -> Vec<OddGame> {
    let mut draw = draws(9);
    let mut numbers =
        |count: usize| -> Vec<f64> { (0..count).map(|_| normal(&mut draw)).collect() };
    let rows = numbers(7 * 30);
    let twice: Vec<f64> = rows.chunks(30).flat_map(|row| [row, row].concat()).collect();
    let columns_twice: Vec<f64> = rows
        .chunks(30)
        .flat_map(|row| row.iter().flat_map(|a| [*a, *a]).collect::<Vec<_>>())
        .collect();
    let mut dominated = numbers(20 * 25);
    // the last row costs more than the first whatever y does, and the last column pays less than the first
    for j in 0..25 {
        dominated[19 * 25 + j] = dominated[j] + 1.0;
    }
    for i in 0..20 {
        dominated[i * 25 + 24] = dominated[i * 25] - 1.0;
    }
    let saddle: Vec<f64> = (0..12 * 9).map(|k| (k % 9) as f64 * 0.5 - (k / 9) as f64).collect();
    let large = numbers(40 * 30);
    let integers: Vec<f64> = numbers(30 * 30).iter().map(|a| (5.0 * a).round()).collect();
    let tiny: Vec<f64> = large.iter().map(|a| 1e-6 * a).collect();
    let huge: Vec<f64> = large.iter().map(|a| 1e6 * a).collect();
    let shifted: Vec<f64> = large.iter().map(|a| a + 1e3).collect();
    vec![
        ("wide", 5, 2000, numbers(5 * 2000), None),
        ("tall", 2000, 5, numbers(2000 * 5), None),
        ("duplicate rows", 14, 30, twice, None),
        ("duplicate columns", 7, 60, columns_twice, None),
        ("constant", 6, 8, vec![2.5; 48], Some(2.5)),
        ("zero", 6, 8, vec![0.0; 48], Some(0.0)),
        ("dominated", 20, 25, dominated, None),
        ("saddle point in pure strategies", 12, 9, saddle, Some(-7.0)),
        ("integers", 30, 30, integers, None),
        ("entries of 1e-6", 40, 30, tiny, None),
        ("entries of 1e6", 40, 30, huge, None),
        ("far from zero", 40, 30, shifted, None),
        ("one row", 1, 9, numbers(9), None),
        ("one column", 9, 1, numbers(9), None),
        ("one payoff", 1, 1, vec![-3.0], Some(-3.0)),
    ]
}

#[test]
fn games_of_every_shape_are_solved_with_the_default_settings() {
    let mut values = Vec::new();
    for (name, m, n, payoffs, value) in odd_games() {
        let largest = payoffs.iter().fold(0.0f64, |most, a| most.max(a.abs()));
        let solution = solve(m, n, payoffs);
        let Certificate { lower, upper, gap, .. } = solution.outcome.certificate;
        assert!(gap <= 1e-6 * largest.max(f64::MIN_POSITIVE), "{name}: {:?}", solution.outcome);
        if let Some(value) = value {
            assert!(lower <= value && value <= upper, "{name}: [{lower}, {upper}], {value}");
        }
        values.push((name, 0.5 * (lower + upper)));
    }
    let of = |name: &str| values.iter().find(|v| v.0 == name).expect("a game").1;
    let value = 1e6 * of("entries of 1e-6");
    assert!((value - 1e-6 * of("entries of 1e6")).abs() <= 1e-5);
    assert!((value - (of("far from zero") - 1e3)).abs() <= 1e-2);
}
