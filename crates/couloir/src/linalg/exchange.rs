//! Exchange tableaux (Tucker 1960) of matrix games, and the parametric self-dual simplex method (Dantzig 1963; Vanderbei, *Linear
//! Programming*, chapter 7) on them: from a guess of the two supports to the exact ones, in about as many exchanges as the guess
//! has errors.
//!
//! For payoffs `P > 0` the game `min over x, max over y of x^T P y` on two unit simplices is the pair of linear programs
//!
//! ```text
//! max sum q   subject to   s = 1 - P^T q >= 0,  q >= 0          x = q/sum q
//! min sum p   subject to   e = P p - 1 >= 0,    p >= 0          y = p/sum p
//! ```
//!
//! The tableau `T` has a row for every `q` and `e` and a column for every `s` and `p`: columns say `s = 1 - sum_i T_ij q_i`, rows say
//! `e = sum_j T_ij p_j - 1`. An exchange at `(i, j)` makes `q_i` basic in place of `s_j`. Two borders hold the right sides, and two more a
//! positive perturbation: the basis is optimal for the sides plus `lambda` times the perturbation, and every exchange lowers `lambda`.

use crate::error::Result;
use crate::watch::Watch;
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

/// A pivot below this, for payoffs between 1 and 2, counts as zero.
const TINY: f64 = 1e-10;
/// The same for the first basis, as a share of its largest entry.
const SINGULAR: f64 = 1e-9;
/// Right sides may be this far below zero, relative to their mean.
const FEASIBLE: f64 = 1e-13;
/// Tableaux with fewer entries are not handed to other threads.
const GRAIN: usize = 1 << 15;

/// How a run of exchanges ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The basis is optimal.
    Optimal,
    /// The budget is used up.
    Spent,
    /// Rounding leaves no pivot.
    Stuck,
}

/// The tableau of a game.
pub(crate) struct ExchangeTableau {
    rows: usize,
    columns: usize,
    /// Row-major, with two more rows and two more columns for the borders.
    entries: Vec<f64>,
    /// What stands in each row: `i` for `q_i`, `rows + j` for `s_j`; and the same for columns.
    in_row: Vec<usize>,
    in_column: Vec<usize>,
    pivot_row: Vec<f64>,
}

impl ExchangeTableau {
    /// The tableau of these payoffs, which it scales to `1 <= P <= 2`: neither a constant nor a factor changes who plays what.
    pub fn new(rows: usize, columns: usize, payoffs: &[f64]) -> Self {
        let low = payoffs.iter().fold(f64::INFINITY, |low, p| low.min(*p));
        let high = payoffs.iter().fold(f64::NEG_INFINITY, |high, p| high.max(*p));
        let range = if high > low { high - low } else { 1.0 };
        let width = columns + 2;
        let mut entries = vec![-1.0; (rows + 2) * width];
        for (line, payoffs) in entries.chunks_mut(width).zip(payoffs.chunks(columns)) {
            line.iter_mut().zip(payoffs).for_each(|(t, p)| *t = (p - low) / range + 1.0);
        }
        ExchangeTableau {
            rows,
            columns,
            entries,
            in_row: (0..rows).collect(),
            in_column: (rows..rows + columns).collect(),
            pivot_row: vec![0.0; width],
        }
    }

    fn at(&self, i: usize, j: usize) -> f64 {
        self.entries[i * (self.columns + 2) + j]
    }

    fn set(&mut self, i: usize, j: usize, value: f64) {
        self.entries[i * (self.columns + 2) + j] = value;
    }

    /// Makes a basis from guesses of both supports: as many rows and columns of them as have a part that is well enough conditioned.
    /// Returns its size.
    pub fn guess(&mut self, rows: &[usize], columns: &[usize], watch: &Watch) -> Result<usize> {
        let Some(part) = Part::of(self, rows, columns, watch)? else { return Ok(0) };
        let size = part.rows.len();
        self.exchange_block(&part);
        Ok(size)
    }

    /// `[[M, B], [C, D]]` becomes `[[M^-1, -M^-1 B], [C M^-1, D - C M^-1 B]]` for the part `M`.
    fn exchange_block(&mut self, part: &Part) {
        let size = part.rows.len();
        let rest = |len: usize, taken: &[usize]| {
            let mut is_taken = vec![false; len];
            taken.iter().for_each(|&i| is_taken[i] = true);
            (0..len).filter(|&i| !is_taken[i]).collect::<Vec<_>>()
        };
        let (other_rows, other_columns) =
            (rest(self.rows + 2, &part.rows), rest(self.columns + 2, &part.columns));
        let from = &*self;
        let gather = |rows: &[usize], columns: &[usize]| -> Vec<f64> {
            rows.iter().flat_map(|&i| columns.iter().map(move |&j| from.at(i, j))).collect()
        };
        let beside = gather(&part.rows, &other_columns);
        let below = gather(&other_rows, &part.columns);
        let mut corner = gather(&other_rows, &other_columns);
        let mut solved = vec![0.0; beside.len()];
        let mut turned = vec![0.0; below.len()];
        multiply(&mut solved, Accum::Replace, &part.inverse, &beside, size, 1.0);
        multiply(&mut turned, Accum::Replace, &below, &part.inverse, size, 1.0);
        multiply(&mut corner, Accum::Add, &below, &solved, size, -1.0);
        let mut scatter = |rows: &[usize], columns: &[usize], values: &[f64], sign: f64| {
            let width = columns.len().max(1);
            for (&i, line) in rows.iter().zip(values.chunks(width)) {
                columns.iter().zip(line).for_each(|(&j, v)| self.set(i, j, sign * v));
            }
        };
        scatter(&part.rows, &part.columns, &part.inverse, 1.0);
        scatter(&part.rows, &other_columns, &solved, -1.0);
        scatter(&other_rows, &part.columns, &turned, 1.0);
        scatter(&other_rows, &other_columns, &corner, 1.0);
        for (&i, &j) in part.rows.iter().zip(&part.columns) {
            std::mem::swap(&mut self.in_row[i], &mut self.in_column[j]);
        }
    }

    /// Exchanges until the basis is optimal, at most `budget` times; returns how often as well.
    pub fn solve(&mut self, budget: u64, watch: &Watch) -> Result<(Ended, u64)> {
        let (m, n) = (self.rows, self.columns);
        let mean = |values: &mut dyn Iterator<Item = f64>, len: usize| {
            (values.map(f64::abs).sum::<f64>() / len as f64).max(f64::MIN_POSITIVE)
        };
        let of_columns = mean(&mut (0..n).map(|j| self.at(m, j)), n);
        let of_rows = mean(&mut (0..m).map(|i| self.at(i, n)), m);
        // numbers between a half and 1 that are as good as random, so that there are no ties
        let spread = |i: usize| 0.5 + 0.5 * (i as f64 * 0.618_033_988_749_894_9).fract();
        (0..n).for_each(|j| self.set(m + 1, j, -of_columns * spread(j + 1)));
        (0..m).for_each(|i| self.set(i, n + 1, of_rows * spread(n + i + 1)));
        for exchanges in 0.. {
            watch.check()?;
            // the largest lambda at which a right side is zero
            let of_column = |j: usize| self.at(m, j) / -self.at(m + 1, j).min(-f64::MIN_POSITIVE);
            let of_row = |i: usize| -self.at(i, n) / self.at(i, n + 1).max(f64::MIN_POSITIVE);
            let (j, by_column) = largest(n, of_column);
            let (i, by_row) = largest(m, of_row);
            let lambda = by_column.max(by_row);
            if lambda <= FEASIBLE {
                return Ok((Ended::Optimal, exchanges));
            }
            if exchanges == budget {
                return Ok((Ended::Spent, exchanges));
            }
            let pivot = if by_column >= by_row {
                let side = |i: usize| self.at(i, n) + lambda * self.at(i, n + 1);
                first_to_vanish(m, side, |i| -self.at(i, j)).map(|i| (i, j))
            } else {
                let side = |j: usize| -self.at(m, j) - lambda * self.at(m + 1, j);
                first_to_vanish(n, side, |j| self.at(i, j)).map(|j| (i, j))
            };
            let Some((i, j)) = pivot else { return Ok((Ended::Stuck, exchanges)) };
            self.exchange(i, j);
        }
        Ok((Ended::Spent, budget))
    }

    fn exchange(&mut self, i: usize, j: usize) {
        let width = self.columns + 2;
        let pivot = self.at(i, j);
        let ExchangeTableau { entries, pivot_row, .. } = self;
        pivot_row.copy_from_slice(&entries[i * width..(i + 1) * width]);
        let update = |(r, line): (usize, &mut [f64])| {
            if r == i {
                line.iter_mut().for_each(|t| *t /= -pivot);
                line[j] = 1.0 / pivot;
                return;
            }
            let share = line[j] / pivot;
            if share != 0.0 {
                line.iter_mut().zip(&*pivot_row).for_each(|(t, p)| *t -= share * p);
            }
            line[j] = share;
        };
        if entries.len() < GRAIN {
            entries.chunks_mut(width).enumerate().for_each(update);
        } else {
            entries.par_chunks_mut(width).enumerate().for_each(update);
        }
        std::mem::swap(&mut self.in_row[i], &mut self.in_column[j]);
    }

    /// The pair of mixed strategies that the basis says, on the unit simplices; false if it says none.
    pub fn strategies(&self, x: &mut [f64], y: &mut [f64]) -> bool {
        x.fill(0.0);
        y.fill(0.0);
        for (j, &who) in self.in_column.iter().enumerate().filter(|(_, who)| **who < self.rows) {
            x[who] = (-self.at(self.rows, j)).max(0.0);
        }
        for (i, &who) in self.in_row.iter().enumerate().filter(|(_, who)| **who >= self.rows) {
            y[who - self.rows] = self.at(i, self.columns).max(0.0);
        }
        [x, y].into_iter().all(|point| {
            let sum = super::accurate_sum_of(point);
            point.iter_mut().for_each(|p| *p /= sum);
            sum > 0.0 && point.iter().all(|p| p.is_finite())
        })
    }
}

/// The largest value and where it is first taken.
fn largest(len: usize, value: impl Fn(usize) -> f64) -> (usize, f64) {
    (0..len)
        .map(|i| (i, value(i)))
        .fold((0, f64::NEG_INFINITY), |best, now| if now.1 > best.1 { now } else { best })
}

/// Where `side/fall` is least among the falls that count.
fn first_to_vanish(
    len: usize,
    side: impl Fn(usize) -> f64,
    fall: impl Fn(usize) -> f64,
) -> Option<usize> {
    let ratios = (0..len).filter(|&i| fall(i) > TINY).map(|i| (i, side(i) / fall(i)));
    ratios.reduce(|best, now| if now.1 < best.1 { now } else { best }).map(|best| best.0)
}

/// `out = out + factor a b` or `factor a b`, row-major, where `inner` is the side that `a` and `b` share.
fn multiply(out: &mut [f64], accum: Accum, a: &[f64], b: &[f64], inner: usize, factor: f64) {
    let (rows, columns) = (a.len() / inner, b.len() / inner);
    if out.is_empty() {
        return;
    }
    const ROWS: usize = 64;
    let b = MatRef::from_row_major_slice(b, inner, columns);
    out.par_chunks_mut(ROWS * columns).enumerate().for_each(|(chunk, out)| {
        let (first, count) = (chunk * ROWS, ROWS.min(rows - chunk * ROWS));
        let a =
            MatRef::from_row_major_slice(&a[first * inner..(first + count) * inner], count, inner);
        matmul(
            MatMut::from_row_major_slice_mut(out, count, columns),
            accum,
            a,
            b,
            factor,
            Par::Seq,
        );
    });
}

/// Rows and columns of a tableau whose square part is regular, with its inverse (by columns of the part, then its rows).
struct Part {
    rows: Vec<usize>,
    columns: Vec<usize>,
    inverse: Vec<f64>,
}

impl Part {
    /// Gaussian elimination with complete pivoting chooses them.
    fn of(
        tableau: &ExchangeTableau,
        rows: &[usize],
        columns: &[usize],
        watch: &Watch,
    ) -> Result<Option<Part>> {
        let (mut rows, mut columns) = (rows.to_vec(), columns.to_vec());
        let width = columns.len();
        let mut lines: Vec<Vec<f64>> =
            (rows.iter()).map(|&i| columns.iter().map(|&j| tableau.at(i, j)).collect()).collect();
        let mut size = 0;
        let mut first = 0.0;
        while size < rows.len().min(width) {
            watch.check()?;
            let (mut place, mut most) = ((size, size), 0.0);
            for (i, line) in lines.iter().enumerate().skip(size) {
                for (j, t) in line.iter().enumerate().skip(size) {
                    if t.abs() > most {
                        (place, most) = ((i, j), t.abs());
                    }
                }
            }
            if size == 0 {
                first = most;
            }
            if !(most > SINGULAR * first) {
                break;
            }
            lines.swap(size, place.0);
            rows.swap(size, place.0);
            lines.iter_mut().for_each(|line| line.swap(size, place.1));
            columns.swap(size, place.1);
            let (above, rest) = lines.split_at_mut(size + 1);
            let pivot = &above[size];
            for line in rest {
                let share = line[size] / pivot[size];
                line[size] = share;
                let (line, pivot) = (&mut line[size + 1..], &pivot[size + 1..]);
                line.iter_mut().zip(pivot).for_each(|(t, p)| *t -= share * p);
            }
            size += 1;
        }
        if size == 0 {
            return Ok(None);
        }
        rows.truncate(size);
        columns.truncate(size);
        let inverse = inverse(&lines, size, watch)?;
        Ok(Some(Part { rows, columns, inverse }))
    }
}

/// The inverse of the first `size` rows and columns of what elimination left, row-major.
fn inverse(factors: &[Vec<f64>], size: usize, watch: &Watch) -> Result<Vec<f64>> {
    let mut inverse = vec![0.0; size * size];
    (0..size).for_each(|i| inverse[i * size + i] = 1.0);
    for t in 0..size {
        watch.check()?;
        let (above, below) = inverse.split_at_mut((t + 1) * size);
        let solved = &above[t * size..];
        for (line, factors) in below.chunks_mut(size).zip(&factors[t + 1..]) {
            let share = factors[t];
            line[..=t].iter_mut().zip(&solved[..=t]).for_each(|(v, s)| *v -= share * s);
        }
    }
    for t in (0..size).rev() {
        watch.check()?;
        let (above, from) = inverse.split_at_mut(t * size);
        let solved = &mut from[..size];
        solved.iter_mut().for_each(|v| *v /= factors[t][t]);
        for (line, factors) in above.chunks_mut(size).zip(factors) {
            let share = factors[t];
            line.iter_mut().zip(&*solved).for_each(|(v, s)| *v -= share * s);
        }
    }
    Ok(inverse)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The gap of a pair of strategies, by the definition.
    fn gap(rows: usize, columns: usize, payoffs: &[f64], x: &[f64], y: &[f64]) -> f64 {
        let of_row = |i: usize| (0..columns).map(|j| payoffs[i * columns + j] * y[j]).sum::<f64>();
        let of_column = |j: usize| (0..rows).map(|i| payoffs[i * columns + j] * x[i]).sum::<f64>();
        largest(columns, of_column).1 + largest(rows, |i| -of_row(i)).1
    }

    #[test]
    fn any_guess_leads_to_a_saddle_point_of_any_regular_game() {
        let watch = Watch::default();
        let mut state = 1_u64;
        let mut draw = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
        };
        for (rows, columns) in [(1, 1), (1, 5), (6, 1), (2, 2), (7, 9), (40, 25), (60, 60)] {
            let payoffs: Vec<f64> = (0..rows * columns).map(|_| 100.0 * draw() + 1e3).collect();
            let nothing: [&[usize]; 2] = [&[], &[]];
            let all: [&[usize]; 2] =
                [&(0..rows).collect::<Vec<_>>(), &(0..columns).collect::<Vec<_>>()];
            let some: [&[usize]; 2] = [
                &(0..rows).step_by(2).collect::<Vec<_>>(),
                &(0..columns).step_by(3).collect::<Vec<_>>(),
            ];
            for [in_x, in_y] in [nothing, all, some] {
                let mut tableau = ExchangeTableau::new(rows, columns, &payoffs);
                let size = tableau.guess(in_x, in_y, &watch).expect("no limits");
                assert!(size <= in_x.len().min(in_y.len()));
                let (ended, _) = tableau.solve(10_000, &watch).expect("no limits");
                assert_eq!(ended, Ended::Optimal, "{rows} x {columns}");
                let (mut x, mut y) = (vec![0.0; rows], vec![0.0; columns]);
                assert!(tableau.strategies(&mut x, &mut y));
                let gap = gap(rows, columns, &payoffs, &x, &y);
                assert!(gap.abs() < 1e-8, "{rows} x {columns}: {gap}");
            }
        }
    }

    #[test]
    fn the_right_supports_need_no_exchange_and_a_budget_is_kept() {
        let watch = Watch::default();
        // rock, paper, scissors
        let payoffs = [0.0, 1.0, -1.0, -1.0, 0.0, 1.0, 1.0, -1.0, 0.0];
        let mut tableau = ExchangeTableau::new(3, 3, &payoffs);
        assert_eq!(tableau.guess(&[0, 1, 2], &[0, 1, 2], &watch).expect("no limits"), 3);
        assert_eq!(tableau.solve(0, &watch).expect("no limits"), (Ended::Optimal, 0));
        let mut tableau = ExchangeTableau::new(3, 3, &payoffs);
        assert_eq!(tableau.solve(1, &watch).expect("no limits"), (Ended::Spent, 1));
    }

    #[test]
    fn a_part_that_is_singular_shrinks_to_a_regular_one() {
        let payoffs: Vec<f64> = (0..20).map(|k| ((k / 5) % 2) as f64 * (k % 5) as f64).collect();
        let mut tableau = ExchangeTableau::new(4, 5, &payoffs);
        let size = tableau.guess(&[0, 1, 2, 3], &[0, 1, 2, 3, 4], &Watch::default());
        assert_eq!(size.expect("no limits"), 2);
    }
}
