//! Singular values of small matrices to some hundred bits.

use crate::exact::{BITS, Exact, Wide, exact, narrow, tiny, wide};

/// A singular value with its vectors, all rational numbers: of length 1 but for the last bits.
#[derive(Clone, Debug)]
pub struct Triple {
    /// The singular value.
    pub sigma: Exact,
    /// One entry for every row.
    pub left: Vec<Exact>,
    /// One entry for every column.
    pub right: Vec<Exact>,
}

/// What a sum of squares may leave of a product of two rows that are called orthogonal.
const ORTHOGONAL: usize = BITS - 24;

/// The singular values that are not zero, by rotations of the rows (Jacobi); the matrix lies row after row.
#[must_use]
pub fn svd(matrix: &[Exact], rows: usize) -> Vec<Triple> {
    let columns = matrix.len() / rows;
    let mut lines: Vec<Vec<Wide>> =
        matrix.chunks(columns).map(|line| line.iter().map(wide).collect()).collect();
    let unit = |i: usize, j: usize| wide(&exact(f64::from(u8::from(i == j))));
    let mut turns: Vec<Vec<Wide>> =
        (0..rows).map(|i| (0..rows).map(|j| unit(i, j)).collect()).collect();
    let (zero, one, two) = (wide(&Exact::ZERO), wide(&Exact::ONE), wide(&exact(2.0)));
    let bound = wide(&tiny(2 * ORTHOGONAL));
    for _ in 0..60 {
        let mut is_done = true;
        for p in 0..rows {
            for q in p + 1..rows {
                let (pp, qq) = (dot(&lines[p], &lines[p]), dot(&lines[q], &lines[q]));
                let pq = dot(&lines[p], &lines[q]);
                if &pq * &pq <= &bound * &pp * &qq {
                    continue;
                }
                is_done = false;
                // the smaller of the two angles that make the rows orthogonal
                let zeta = (&qq - &pp) / (&two * &pq);
                let root = (&one + &zeta * &zeta).sqrt();
                let t = if zeta < zero { &one / (&zeta - root) } else { &one / (&zeta + root) };
                let c = &one / (&one + &t * &t).sqrt();
                let s = &c * &t;
                for all in [&mut lines, &mut turns] {
                    for k in 0..all[p].len() {
                        let (a, b) = (&all[p][k], &all[q][k]);
                        let turned = (&c * a - &s * b, &s * a + &c * b);
                        (all[p][k], all[q][k]) = turned;
                    }
                }
            }
        }
        if is_done {
            break;
        }
    }
    let mut triples = Vec::new();
    for (line, turn) in lines.iter().zip(&turns) {
        let square = dot(line, line);
        if square > zero {
            let sigma = square.sqrt();
            triples.push(Triple {
                left: turn.iter().map(narrow).collect(),
                right: line.iter().map(|v| narrow(&(v / &sigma))).collect(),
                sigma: narrow(&sigma),
            });
        }
    }
    triples.sort_by(|a, b| b.sigma.cmp(&a.sigma));
    triples
}

fn dot(a: &[Wide], b: &[Wide]) -> Wide {
    a.iter().zip(b).fold(wide(&Exact::ZERO), |sum, (a, b)| sum + a * b)
}

/// The sum of the singular values.
#[must_use]
pub fn nuclear_norm(matrix: &[Exact], rows: usize) -> Exact {
    svd(matrix, rows).into_iter().fold(Exact::ZERO, |sum, triple| sum + triple.sigma)
}

/// `sum_k weights_k u_k v_k^T`, which has a nuclear norm of at most `sum_k |weights_k| |u_k| |v_k|`.
#[must_use]
pub fn compose(triples: &[Triple], weights: &[Exact], rows: usize, columns: usize) -> Vec<Exact> {
    let mut out = vec![Exact::ZERO; rows * columns];
    for (triple, weight) in triples.iter().zip(weights).filter(|(_, w)| **w != Exact::ZERO) {
        for i in 0..rows {
            for j in 0..columns {
                out[i * columns + j] += weight * &triple.left[i] * &triple.right[j];
            }
        }
    }
    out
}
