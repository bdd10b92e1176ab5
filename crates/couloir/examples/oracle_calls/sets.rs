//! Sets that are known only by their linear minimisation oracle, as in bench/peers/oracles/sets.py.

use couloir::domain::LoSet;
use couloir::{Error, Result};

/// The assignment of least cost, by shortest augmenting paths: a column for each row.
fn assign(cost: &[f64], n: usize) -> Vec<usize> {
    // potentials, and the row of each column; index 0 is a column outside
    let (mut u, mut v, mut row_of) = (vec![0.0; n + 1], vec![0.0; n + 1], vec![0; n + 1]);
    let mut way = vec![0; n + 1];
    for row in 1..=n {
        row_of[0] = row;
        let mut column = 0;
        let (mut least, mut used) = (vec![f64::INFINITY; n + 1], vec![false; n + 1]);
        while row_of[column] != 0 {
            used[column] = true;
            let from = row_of[column];
            let (mut delta, mut next) = (f64::INFINITY, 0);
            for j in 1..=n {
                if used[j] {
                    continue;
                }
                let reduced = cost[(from - 1) * n + j - 1] - u[from] - v[j];
                if reduced < least[j] {
                    (least[j], way[j]) = (reduced, column);
                }
                if least[j] < delta {
                    (delta, next) = (least[j], j);
                }
            }
            for j in 0..=n {
                if used[j] {
                    u[row_of[j]] += delta;
                    v[j] -= delta;
                } else {
                    least[j] -= delta;
                }
            }
            column = next;
        }
        while column != 0 {
            row_of[column] = row_of[way[column]];
            column = way[column];
        }
    }
    let mut columns = vec![0; n];
    (1..=n).for_each(|j| columns[row_of[j] - 1] = j - 1);
    columns
}

/// Edges to the right first, then those down.
fn grid_path(g: &[f64], n: usize, x: &mut [f64]) {
    let right = |row: usize, column: usize| row * (n - 1) + column;
    let down = |row: usize, column: usize| n * (n - 1) + row * n + column;
    let (mut cost, mut from_left) = (vec![0.0; n * n], vec![false; n * n]);
    for row in 0..n {
        for column in 0..n {
            if row + column == 0 {
                continue;
            }
            let mut left = f64::INFINITY;
            if column > 0 {
                left = cost[row * n + column - 1] + g[right(row, column - 1)];
            }
            let mut above = f64::INFINITY;
            if row > 0 {
                above = cost[(row - 1) * n + column] + g[down(row - 1, column)];
            }
            cost[row * n + column] = left.min(above);
            from_left[row * n + column] = left <= above;
        }
    }
    x.fill(0.0);
    let (mut row, mut column) = (n - 1, n - 1);
    while row + column > 0 {
        if from_left[row * n + column] {
            column -= 1;
            x[right(row, column)] = 1.0;
        } else {
            row -= 1;
            x[down(row, column)] = 1.0;
        }
    }
}

fn placements(g: &[f64], soldiers: usize, fields: usize, x: &mut [f64]) {
    let sizes = soldiers + 1;
    let mut best = vec![f64::INFINITY; sizes];
    best[0] = 0.0;
    let mut chosen = vec![0; fields * sizes];
    for field in 0..fields {
        let mut next = vec![f64::INFINITY; sizes];
        for all in 0..sizes {
            for here in 0..=all {
                let cost = best[all - here] + g[field * sizes + here];
                if cost < next[all] {
                    (next[all], chosen[field * sizes + all]) = (cost, here);
                }
            }
        }
        best = next;
    }
    x.fill(0.0);
    let mut left = soldiers;
    for field in (0..fields).rev() {
        let here = chosen[field * sizes + left];
        x[field * sizes + here] = 1.0;
        left -= here;
    }
}

/// A spanning tree of least cost, by Kruskal's method.
fn spanning_tree(g: &[f64], n: usize, x: &mut [f64]) {
    let ends: Vec<(usize, usize)> = (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j))).collect();
    let mut order: Vec<usize> = (0..ends.len()).collect();
    order.sort_by(|a, b| g[*a].total_cmp(&g[*b]));
    let mut part: Vec<usize> = (0..n).collect();
    x.fill(0.0);
    for edge in order {
        let (i, j) = (part[ends[edge].0], part[ends[edge].1]);
        if i != j {
            x[edge] = 1.0;
            part.iter_mut().filter(|p| **p == j).for_each(|p| *p = i);
        }
    }
}

/// Things of least cost whose weights stay within the capacity, by dynamic programming.
fn knapsack(g: &[f64], capacity: usize, x: &mut [f64]) {
    let weight = |j: usize| 1 + 7 * j % 11;
    let mut best = vec![0.0; capacity + 1];
    let mut taken = vec![false; g.len() * (capacity + 1)];
    for (j, cost) in g.iter().enumerate() {
        for all in (weight(j)..=capacity).rev() {
            let with_it = best[all - weight(j)] + cost;
            if with_it < best[all] {
                (best[all], taken[j * (capacity + 1) + all]) = (with_it, true);
            }
        }
    }
    x.fill(0.0);
    let mut left = capacity;
    for j in (0..g.len()).rev() {
        if taken[j * (capacity + 1) + left] {
            x[j] = 1.0;
            left -= weight(j);
        }
    }
}

/// The points of `Points` in sets.py.
fn hashed_points(dim: usize, count: usize) -> Vec<Vec<f64>> {
    let entry = |i: u64, j: u64| {
        let hashed = (i / 3 * 7919 + j * 104_729 + 12_345) * 2_654_435_761 % (1 << 32);
        hashed as f64 / (1u64 << 32) as f64 + 1e-9 * f64::from(u8::from(i % 3 == 1))
    };
    (0..count as u64).map(|i| (0..dim as u64).map(|j| entry(i, j)).collect()).collect()
}

/// The set of these words, with this start.
pub fn make(words: &str, start: Vec<f64>) -> Result<LoSet<'static>> {
    let mut parts = words.split(' ');
    let name = parts.next().unwrap_or_default();
    let sizes: Vec<f64> = parts.filter_map(|w| w.parse().ok()).collect();
    let size = |i: usize| sizes.get(i).map_or(0, |s| *s as usize);
    match name {
        "assignments" => {
            let n = size(0);
            LoSet::new(n * n, (2.0 * n as f64).sqrt(), start, move |g, x| {
                x.fill(0.0);
                assign(g, n).iter().enumerate().for_each(|(row, column)| x[row * n + column] = 1.0);
            })
        }
        "paths" => {
            let n = size(0);
            let diameter = (4.0 * (n as f64 - 1.0)).sqrt();
            LoSet::new(2 * n * (n - 1), diameter, start, move |g, x| grid_path(g, n, x))
        }
        "subsets" => {
            let (dim, k) = (size(0), size(1));
            LoSet::new(dim, (2.0 * k as f64).sqrt(), start, move |g, x| {
                let mut order: Vec<usize> = (0..dim).collect();
                order.select_nth_unstable_by(k - 1, |i, j| g[*i].total_cmp(&g[*j]));
                x.fill(0.0);
                order[..k].iter().for_each(|i| x[*i] = 1.0);
            })
        }
        "l1" => {
            let (dim, radius) = (size(0), sizes.get(1).copied().unwrap_or(1.0));
            LoSet::new(dim, 2.0 * radius, start, move |g, x| {
                let best = (0..dim).max_by(|i, j| g[*i].abs().total_cmp(&g[*j].abs()));
                let best = best.unwrap_or(0);
                x.fill(0.0);
                x[best] = if g[best] > 0.0 { -radius } else { radius };
            })
        }
        "blotto" => {
            let (soldiers, fields) = (size(0), size(1));
            let dim = fields * (soldiers + 1);
            LoSet::new(dim, (2.0 * fields as f64).sqrt(), start, move |g, x| {
                placements(g, soldiers, fields, x);
            })
        }
        "trees" => {
            let n = size(0);
            let diameter = (2.0 * (n as f64 - 1.0)).sqrt();
            LoSet::new(n * (n - 1) / 2, diameter, start, move |g, x| spanning_tree(g, n, x))
        }
        "knapsacks" => {
            let (n, capacity) = (size(0), size(1));
            LoSet::new(n, (n as f64).sqrt(), start, move |g, x| knapsack(g, capacity, x))
        }
        "choices" => {
            let (n, k) = (size(0), size(1));
            LoSet::new(n * k, (2.0 * n as f64).sqrt(), start, move |g, x| {
                x.fill(0.0);
                for (g, x) in g.chunks_exact(k).zip(x.chunks_exact_mut(k)) {
                    let best = (0..k).min_by(|i, j| g[*i].total_cmp(&g[*j]));
                    x[best.unwrap_or(0)] = 1.0;
                }
            })
        }
        "points" => {
            let (dim, points) = (size(0), hashed_points(size(0), size(1)));
            LoSet::new(dim, (dim as f64).sqrt() * (1.0 + 1e-9), start, move |g, x| {
                let value = |p: &&Vec<f64>| couloir::linalg::dot(p, g);
                let best = points.iter().min_by(|a, b| value(a).total_cmp(&value(b)));
                if let Some(best) = best {
                    x.copy_from_slice(best);
                }
            })
        }
        _ => Err(Error::Setting { name: "set", why: format!("there is no `{name}`") }),
    }
}
