//! Robust multiclass classification from its definition, for data so small that nothing needs to be fast.

/// Rows as lists of `(feature, value)`, with labels from 0.
pub struct Data {
    pub rows: Vec<Vec<(usize, f64)>>,
    pub labels: Vec<u32>,
    pub classes: usize,
    pub features: usize,
}

impl Data {
    fn new(
        (n, features, classes): (usize, usize, usize),
        value: impl Fn(usize, usize) -> Option<f64>,
    ) -> Self {
        let row = |i: usize| (0..features).filter_map(|j| Some((j, value(i, j)?))).collect();
        let labels = (0..n).map(|i| (i % classes) as u32).collect();
        Data { rows: (0..n).map(row).collect(), labels, classes, features }
    }
}

/// A number between -1 and 1 that looks random.
fn noise(i: usize, j: usize) -> f64 {
    (12.9898 * (i + 1) as f64 + 78.233 * (j + 1) as f64).sin()
}

/// About half of the entries, with this factor.
fn half(factor: f64) -> impl Fn(usize, usize) -> Option<f64> {
    move |i, j| (noise(i, j + 50) > 0.0 || i % 7 == j).then_some(factor * noise(i, j))
}

/// Data of every kind that is extreme and valid, and ordinary data for comparison.
pub fn kinds() -> Vec<(&'static str, Data)> {
    let shape = (12, 6, 3);
    let both = |i: usize, j: usize| if (i + j).is_multiple_of(2) { 1e150 } else { 1e-150 };
    vec![
        ("ordinary", Data::new(shape, half(1.0))),
        ("values of 1e150", Data::new(shape, half(1e150))),
        ("values of 1e-150", Data::new(shape, half(1e-150))),
        ("values of 1e150 beside 1e-150", Data::new(shape, |i, j| Some(noise(i, j) * both(i, j)))),
        (
            "rows of 1e150 beside rows of 1e-150",
            Data::new(shape, |i, j| Some(noise(i, j) * both(i, 0))),
        ),
        (
            "a feature in every row",
            Data::new(shape, |i, j| if j == 2 { Some(1.0) } else { half(1.0)(i, j) }),
        ),
        (
            "a vast feature in every row",
            Data::new(shape, |i, j| if j == 2 { Some(1e150) } else { half(1.0)(i, j) }),
        ),
        ("one feature in every row and no other", Data::new((9, 1, 3), |_, _| Some(2.0))),
        (
            "empty rows among others",
            Data::new(shape, |i, j| if i % 3 == 0 { None } else { half(1.0)(i, j) }),
        ),
        ("nothing but empty rows", Data::new(shape, |_, _| None)),
        ("entries of zero", Data::new(shape, |i, j| Some(if i == j { 1.0 } else { 0.0 }))),
        ("identical rows with different labels", Data::new(shape, |_, j| Some(noise(3, j)))),
        ("identical rows with the same label", Data::new(shape, |i, j| Some(noise(i % 3, j)))),
        ("identical rows of 1e150", Data::new(shape, |_, j| Some(1e150 * noise(3, j)))),
        ("one row", Data::new((1, 6, 2), half(1.0))),
        ("one row of one feature", Data::new((1, 1, 2), |_, _| Some(1.0))),
        ("one row of 1e150", Data::new((1, 3, 2), |_, j| Some(1e150 * noise(0, j)))),
        ("one row of 1e-150", Data::new((1, 3, 2), |_, j| Some(1e-150 * noise(0, j)))),
        ("two classes", Data::new((12, 6, 2), half(1.0))),
        ("two classes of 1e-150", Data::new((12, 6, 2), half(1e-150))),
        ("one feature", Data::new((12, 1, 3), |i, _| Some(noise(i, 0)))),
        ("one feature of 1e150", Data::new((12, 1, 3), |i, _| Some(1e150 * noise(i, 0)))),
        ("more classes than rows", Data::new((2, 4, 9), half(1.0))),
        ("more classes than features", Data::new((20, 2, 9), half(1.0))),
    ]
}

/// `f(X, y) = s sum_i y_i l_i(X) - lambda/2 |n y - 1|^2` with `X` row after row, a row for each class.
pub struct Objective<'a> {
    pub data: &'a Data,
    pub scale: f64,
    pub level: f64,
}

impl Objective<'_> {
    fn n(&self) -> f64 {
        self.data.rows.len() as f64
    }

    fn scores(&self, x: &[f64], i: usize) -> Vec<f64> {
        let d = self.data.features;
        let score = |c: usize| self.data.rows[i].iter().map(|(j, v)| x[c * d + j] * v).sum();
        (0..self.data.classes).map(score).collect()
    }

    fn loss(&self, x: &[f64], i: usize) -> f64 {
        let scores = self.scores(x, i);
        let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = scores.iter().map(|s| (s - top).exp()).sum();
        (top - scores[self.data.labels[i] as usize]) + sum.ln()
    }

    fn losses(&self, x: &[f64]) -> Vec<f64> {
        (0..self.data.rows.len()).map(|i| self.loss(x, i)).collect()
    }

    fn penalty(&self, y: &[f64]) -> f64 {
        let square: f64 = y.iter().map(|y| (self.n() * y - 1.0).powi(2)).sum();
        0.5 * self.level / self.n() * square
    }

    pub fn value(&self, x: &[f64], y: &[f64]) -> f64 {
        let loss: f64 = self.losses(x).iter().zip(y).map(|(l, y)| l * y).sum();
        self.scale * loss - self.penalty(y)
    }

    /// The size of the numbers that `f` is a sum of.
    pub fn size(&self, x: &[f64], y: &[f64]) -> f64 {
        let score = |i: usize| self.scores(x, i).iter().fold(0.0f64, |m, s| m.max(s.abs()));
        let scores: f64 = (0..y.len()).map(|i| y[i] * score(i)).sum();
        self.scale * (scores + (self.data.classes as f64).ln()) + self.penalty(y)
    }

    /// The `y` with the largest `f(X, y)`: `n y_i = max(0, 1 + (s l_i - nu) / (lambda n))`.
    pub fn response(&self, x: &[f64]) -> Vec<f64> {
        let n = self.n();
        let losses: Vec<f64> = self.losses(x).iter().map(|l| self.scale * l / self.level).collect();
        let mut order = losses.clone();
        order.sort_by(|a, b| b.total_cmp(a));
        // with the k largest in play: sum (1 + l_i - nu) = n
        let (mut level, mut sum) = (f64::INFINITY, 0.0);
        for (k, loss) in order.iter().enumerate() {
            // from the largest loss on, so that nothing vast cancels
            sum += loss - order[0];
            let count = (k + 1) as f64;
            let nu = (sum + count - n) / count;
            if 1.0 + (loss - order[0]) - nu > 0.0 {
                level = nu;
            }
        }
        let y: Vec<f64> =
            losses.iter().map(|l| (1.0 + (l - order[0]) - level).max(0.0) / n).collect();
        let total: f64 = y.iter().sum();
        y.iter().map(|y| y / total).collect()
    }

    /// `max_y f(X, y)`.
    pub fn worst(&self, x: &[f64]) -> f64 {
        self.value(x, &self.response(x))
    }

    /// The gradient of `f(., y)`.
    fn gradient(&self, x: &[f64], y: &[f64]) -> Vec<f64> {
        let d = self.data.features;
        let mut gradient = vec![0.0; x.len()];
        for (i, row) in self.data.rows.iter().enumerate() {
            let scores = self.scores(x, i);
            let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = scores.iter().map(|s| (s - top).exp()).sum();
            for (c, score) in scores.iter().enumerate() {
                let own = f64::from(u8::from(c == self.data.labels[i] as usize));
                let slope = self.scale * y[i] * ((score - top).exp() / sum - own);
                row.iter().for_each(|(j, v)| gradient[c * d + j] += slope * v);
            }
        }
        gradient
    }

    /// The smallest `f(., y)` that Frank-Wolfe with exact steps finds in the ball.
    pub fn descend(&self, mut x: Vec<f64>, y: &[f64], tau: f64) -> f64 {
        let (h, d) = (self.data.classes, self.data.features);
        for _ in 0..40 {
            let triples = svd(&self.gradient(&x, y), h, d);
            let Some(top) = triples.iter().max_by(|a, b| a.sigma.total_cmp(&b.sigma)) else {
                break;
            };
            if top.sigma == 0.0 {
                break;
            }
            let atom = |k: usize| -tau * top.left[k / d] * top.right[k % d];
            let at = |t: f64| -> Vec<f64> {
                x.iter().enumerate().map(|(k, x)| (1.0 - t) * x + t * atom(k)).collect()
            };
            let (mut low, mut high) = (0.0, 1.0);
            for _ in 0..50 {
                let (a, b) = (low + (high - low) * 0.382, low + (high - low) * 0.618);
                if self.value(&at(a), y) <= self.value(&at(b), y) {
                    high = b;
                } else {
                    low = a;
                }
            }
            let next = at(0.5 * (low + high));
            if self.value(&next, y) >= self.value(&x, y) {
                break;
            }
            x = next;
        }
        self.value(&x, y)
    }
}

/// A singular value and its vectors.
pub struct Triple {
    pub sigma: f64,
    pub left: Vec<f64>,
    pub right: Vec<f64>,
}

/// The singular values of an `h x d` matrix by rotations of its rows (Jacobi).
pub fn svd(a: &[f64], h: usize, d: usize) -> Vec<Triple> {
    let largest = a.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    if largest == 0.0 {
        return Vec::new();
    }
    let mut rows: Vec<Vec<f64>> =
        a.chunks(d).map(|row| row.iter().map(|v| v / largest).collect()).collect();
    let mut turns: Vec<Vec<f64>> =
        (0..h).map(|i| (0..h).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    for _ in 0..60 {
        for p in 0..h {
            for q in p + 1..h {
                let (pp, qq) = (dot(&rows[p], &rows[p]), dot(&rows[q], &rows[q]));
                let pq = dot(&rows[p], &rows[q]);
                if pq.abs() <= 1e-16 * (pp * qq).sqrt() || pq == 0.0 {
                    continue;
                }
                let theta = 0.5 * (2.0 * pq).atan2(pp - qq);
                let (s, c) = theta.sin_cos();
                for matrix in [&mut rows, &mut turns] {
                    for k in 0..matrix[p].len() {
                        let (a, b) = (matrix[p][k], matrix[q][k]);
                        (matrix[p][k], matrix[q][k]) = (c * a + s * b, c * b - s * a);
                    }
                }
            }
        }
    }
    let triple = |(row, left): (Vec<f64>, Vec<f64>)| {
        let sigma = dot(&row, &row).sqrt();
        let right = row.iter().map(|v| if sigma > 0.0 { v / sigma } else { 0.0 }).collect();
        Triple { sigma: sigma * largest, left, right }
    };
    rows.into_iter().zip(turns).map(triple).collect()
}
