//! Cheapest assignments, by shortest augmenting paths.

/// Scratch memory of the Hungarian method in the form of Jonker and Volgenant: `O(rows^2 columns)`.
#[derive(Clone, Debug, Default)]
pub(in crate::domain) struct Assigner {
    /// Potentials of rows and columns.
    u: Vec<f64>,
    v: Vec<f64>,
    /// The row of each column, counted from 1; 0 for none.
    row_of: Vec<usize>,
    way: Vec<usize>,
    least: Vec<f64>,
    used: Vec<bool>,
    /// The column of each row.
    pub columns: Vec<usize>,
}

impl Assigner {
    /// Finds a cheapest assignment of every row to a column of its own, for at most as many rows as columns, with costs row by row.
    /// Returns a lower bound of its cost, up to the rounding of sums: the potentials are a solution of the dual problem but for
    /// rounding, which is taken off. Where sums of costs overflow it is minus infinity, and the assignment any.
    pub fn solve(&mut self, cost: &[f64], rows: usize, columns: usize) -> f64 {
        let Assigner { u, v, row_of, way, least, used, .. } = self;
        u.clear();
        u.resize(rows + 1, 0.0);
        v.clear();
        v.resize(columns + 1, 0.0);
        row_of.clear();
        row_of.resize(columns + 1, 0);
        self.columns.clear();
        self.columns.extend(0..rows);
        way.resize(columns + 1, 0);
        for row in 1..=rows {
            // index 0 is a column outside
            row_of[0] = row;
            let mut column = 0;
            least.clear();
            least.resize(columns + 1, f64::INFINITY);
            used.clear();
            used.resize(columns + 1, false);
            while row_of[column] != 0 {
                used[column] = true;
                let from = row_of[column];
                let costs = &cost[(from - 1) * columns..from * columns];
                let (mut delta, mut next) = (f64::INFINITY, 0);
                for j in 1..=columns {
                    if used[j] {
                        continue;
                    }
                    let reduced = costs[j - 1] - u[from] - v[j];
                    if reduced < least[j] {
                        (least[j], way[j]) = (reduced, column);
                    }
                    if least[j] < delta {
                        (delta, next) = (least[j], j);
                    }
                }
                for j in 0..=columns {
                    if used[j] {
                        u[row_of[j]] += delta;
                        v[j] -= delta;
                    } else {
                        least[j] -= delta;
                    }
                }
                if next == 0 {
                    // sums of the costs overflow: there is nothing to compare
                    return f64::NEG_INFINITY;
                }
                column = next;
            }
            while column != 0 {
                row_of[column] = row_of[way[column]];
                column = way[column];
            }
        }
        for j in (1..=columns).filter(|j| row_of[*j] != 0) {
            self.columns[row_of[j] - 1] = j - 1;
        }
        let mut short = 0.0f64;
        for (i, costs) in cost.chunks_exact(columns).enumerate().take(rows) {
            for (j, cost) in costs.iter().enumerate() {
                short = short.min(cost - u[i + 1] - v[j + 1]);
            }
        }
        // columns without a row have a potential of 0, the others one of at most 0
        u[1..].iter().sum::<f64>() + v[1..].iter().sum::<f64>() + rows as f64 * short
    }
}
