//! What sets of matrices can do from Gram matrices alone.

use super::{LinearMin, MixGoal, Mixture};
use crate::error::Result;
pub use crate::linalg::Factor;

/// The inner products `M^T N` (`h x h`, row-major) of the columns of two matrices with rows of length `h`; where both
/// are the same, its Gram matrix.
#[derive(Clone, Copy, Debug)]
pub struct Products<'a> {
    /// The entries.
    pub entries: &'a [f64],
    /// A bound of the Frobenius norm of their error.
    pub error: f64,
}

/// Work on a set of matrices with rows of length `h` that needs only `h x h` Gram matrices: for sets that
/// are the same after every rotation of the rows, such as the nuclear-norm ball. A solver that knows the
/// Gram matrices of its vectors and their images then moves images along without forming the vectors.
pub trait ByGram {
    /// The length `h` of a row.
    fn columns(&self) -> usize;

    /// Writes the matrix `F`, of whatever size `factor` was, with `w F` the point that
    /// [`prox`](super::Oracle::prox) finds from `w = q - g/beta`, given the Gram matrix of `w` and a bound of the
    /// rounding in `w`; returns a bound of the gap that is left, as `prox`. None where it would not be accurate enough.
    ///
    /// # Errors
    /// Numerical trouble.
    fn prox_factor(
        &mut self,
        w: Products<'_>,
        rounding: f64,
        beta: f64,
        factor: &mut Factor,
    ) -> Result<Option<f64>>;

    /// The minimum of `<g, .>`, as [`support`](super::Oracle::support), from the Gram matrix of `g`. None where squares
    /// overflow or vanish.
    ///
    /// # Errors
    /// Numerical trouble.
    fn support_by_gram(&mut self, g: Products<'_>) -> Result<Option<LinearMin>>;

    /// The best mixture, as [`mix`](super::Oracle::mix), of matrices `P` and `G` with the products `P^T P`, `P^T G` and
    /// `G^T G`. None where squares overflow or vanish.
    ///
    /// # Errors
    /// Numerical trouble.
    fn mix_by_gram(
        &mut self,
        goal: &MixGoal,
        products: [Products<'_>; 3],
    ) -> Result<Option<Mixture>>;
}

/// The products of the mixture `(1-t) P + t G` from `P^T P`, `P^T G` and `G^T G`; returns their error.
pub(crate) fn mixed(t: f64, [pp, pg, gg]: [Products<'_>; 3], out: &mut [f64]) -> f64 {
    let (s, h) = (1.0 - t, pp.entries.len().isqrt());
    let (square, cross, new) = (s * s, s * t, t * t);
    for i in 0..h {
        for j in 0..h {
            let at = i * h + j;
            let both = pg.entries[at] + pg.entries[j * h + i];
            out[at] = square * pp.entries[at] + cross * both + new * gg.entries[at];
        }
    }
    square * pp.error + 2.0 * cross * pg.error + new * gg.error
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Domain, MixTask, NuclearBall};
    use crate::linalg::spectral::Thin;

    fn wave(rate: f64, len: usize) -> Vec<f64> {
        (0..len).map(|i| (rate * (i * i) as f64).sin()).collect()
    }

    /// The products of two matrices, from the definition.
    fn products(a: &[f64], b: &[f64], h: usize) -> Vec<f64> {
        let mut out = vec![0.0; h * h];
        for (a, b) in a.chunks(h).zip(b.chunks(h)) {
            for i in 0..h {
                for j in 0..h {
                    out[i * h + j] += a[i] * b[j];
                }
            }
        }
        out
    }

    const ROWS: usize = 300;
    const H: usize = 6;

    #[test]
    fn the_factor_of_the_prox_gives_what_the_prox_gives() {
        let (q, g) = (wave(0.7, ROWS * H), wave(1.3, ROWS * H));
        let mut factor = Factor::with_room(H);
        // most directions go, some go, none goes
        for (radius, least, most) in [(3.0, 1, H - 1), (30.0, 1, H), (1e4, H, H)] {
            let ball = NuclearBall::new(ROWS, H, radius).expect("a ball");
            let beta = 0.8;
            let (mut point, mut oracle) = (vec![0.0; ROWS * H], ball.oracle());
            let gap = oracle.prox(&g, &q, beta, &mut point).expect("a prox");
            let w: Vec<f64> = q.iter().zip(&g).map(|(q, g)| q - g / beta).collect();
            let gram = products(&w, &w, H);
            let gram = Products { entries: &gram, error: 1e-12 };
            let set = oracle.by_gram().expect("it can");
            assert_eq!(set.columns(), H);
            let found = set.prox_factor(gram, 1e-14, beta, &mut factor).expect("no trouble");
            let found = found.expect("accurate enough");
            assert!(found < 1e-6 && gap < 1e-6, "{found} {gap}");
            assert!((least..=most).contains(&factor.values.len()), "{:?}", factor.values);
            assert!(factor.values.iter().all(|v| (0.0..=1.0).contains(v)));
            let mut quick = vec![0.0; ROWS * H];
            Thin::new(ROWS, H).step(&factor, &q, 1.0 / beta, &g, &mut quick);
            for i in 0..ROWS * H {
                assert!((quick[i] - point[i]).abs() < 1e-11, "{} {}", quick[i], point[i]);
                let row = &w[i / H * H..i / H * H + H];
                let whole: f64 = (0..H).map(|k| row[k] * factor.matrix[k * H + i % H]).sum();
                assert!((whole - point[i]).abs() < 1e-11, "{whole} {}", point[i]);
            }
        }
    }

    #[test]
    fn minima_and_mixtures_from_products_are_those_from_matrices() {
        let ball = NuclearBall::new(ROWS, H, 2.0).expect("a ball");
        let (from, to) = (wave(0.7, ROWS * H), wave(1.3, ROWS * H));
        let blocks = [products(&from, &from, H), products(&from, &to, H), products(&to, &to, H)];
        let blocks = [0, 1, 2].map(|k| Products { entries: &blocks[k], error: 1e-12 });
        let (mut oracle, mut scratch) = (ball.oracle(), Vec::new());
        let plain = oracle.support(&from, &mut scratch).expect("a minimum");
        let quick = oracle.by_gram().expect("it can").support_by_gram(blocks[0]);
        let quick = quick.expect("no trouble").expect("squares are fine");
        assert!((quick.value - plain.value).abs() < 1e-11 && quick.lower <= quick.value);
        for to_constant in [0.0, 2.0, 20.0] {
            let goal = MixGoal {
                from_constant: 0.3,
                to_constant,
                known: 0.3 + plain.lower,
                guess: 0.4,
                worth: 1e-9,
            };
            let task = MixTask { from: &from, to: &to, goal, follows: false };
            let plain = oracle.mix(&task, &mut scratch).expect("a mixture");
            let quick = oracle.by_gram().expect("it can").mix_by_gram(&goal, blocks);
            let quick = quick.expect("no trouble").expect("squares are fine");
            assert!((quick.weight - plain.weight).abs() < 1e-9, "{quick:?} {plain:?}");
            assert!((quick.lower - plain.lower).abs() < 1e-9, "{quick:?} {plain:?}");
        }
    }

    #[test]
    fn where_products_cannot_tell_there_is_no_answer() {
        let ball = NuclearBall::new(ROWS, H, 2.0).expect("a ball");
        let mut oracle = ball.oracle();
        let set = oracle.by_gram().expect("it can");
        let mut factor = Factor::with_room(H);
        let tiny = vec![1e-260; H * H];
        let tiny = Products { entries: &tiny, error: 0.0 };
        assert_eq!(set.prox_factor(tiny, 0.0, 1.0, &mut factor).expect("no trouble"), None);
        assert!(set.support_by_gram(tiny).expect("no trouble").is_none());
        // a kept singular value far below the largest one
        let mut steep = vec![0.0; H * H];
        (0..H).for_each(|i| steep[i * (H + 1)] = if i == 0 { 4.0 } else { 1e-12 });
        let steep = Products { entries: &steep, error: 1e-15 };
        assert_eq!(set.prox_factor(steep, 0.0, 1.0, &mut factor).expect("no trouble"), None);
        // rotations of the longer side are none of its business
        let wide = NuclearBall::new(H, ROWS, 2.0).expect("a ball");
        assert!(wide.oracle().by_gram().is_none());
    }
}
