use super::*;
use crate::linalg::spectral::product_of;
use crate::linalg::spectral_norm;
use crate::random::Streams;

/// A whole matrix, row-major.
struct Whole {
    rows: usize,
    columns: usize,
    entries: Vec<f64>,
}

impl MatrixProducts for Whole {
    fn shape(&self) -> (usize, usize) {
        (self.rows, self.columns)
    }

    fn times(&self, k: usize, block: &[f64], out: &mut [f64]) {
        product_of(self.rows, self.columns, k, &self.entries, block, out);
    }

    fn transposed_times(&self, k: usize, block: &[f64], out: &mut [f64]) {
        let mut transposed = vec![0.0; self.entries.len()];
        transpose(&self.entries, self.rows, self.columns, &mut transposed);
        product_of(self.columns, self.rows, k, &transposed, block, out);
    }

    fn frobenius(&self) -> f64 {
        norm(&self.entries)
    }

    fn rounding(&self) -> f64 {
        f64::EPSILON * self.rows.max(self.columns) as f64
    }
}

const REQUEST: Request = Request { pairs: 4, accuracy: 1e-6, most_steps: 40, failure: 1e-9 };

/// `sum_k values_k u_k v_k'` of random orthonormal vectors.
fn with_values(rows: usize, columns: usize, values: &[f64], seed: u64) -> Whole {
    let mut stream = Streams::new(seed).stream("test");
    let k = values.len();
    let mut left: Vec<f64> = (0..rows * k).map(|_| stream.gaussian()).collect();
    let mut right: Vec<f64> = (0..columns * k).map(|_| stream.gaussian()).collect();
    orthonormalise(rows, k, 0.0, &mut left);
    orthonormalise(columns, k, 0.0, &mut right);
    for row in left.chunks_exact_mut(k) {
        row.iter_mut().zip(values).for_each(|(l, v)| *l *= v);
    }
    let mut turned = vec![0.0; right.len()];
    transpose(&right, columns, k, &mut turned);
    let mut entries = vec![0.0; rows * columns];
    product_of(rows, k, columns, &left, &turned, &mut entries);
    Whole { rows, columns, entries }
}

fn found(matrix: &Whole, request: Request, seed: u64) -> Leading {
    let mut stream = Streams::new(seed).stream("start");
    leading_pairs(matrix, request, || stream.gaussian(), &Watch::default()).expect("no limits")
}

#[test]
fn the_upper_bound_holds_at_every_number_of_steps_and_becomes_sharp() {
    let mut worst_at_the_end = 0.0f64;
    for seed in 0..60 {
        let (rows, columns) = [(60, 90), (120, 80), (100, 100)][seed as usize % 3];
        let few = rows.min(columns);
        let values: Vec<f64> = match seed % 4 {
            0 => (0..few).map(|i| 1.0 / (1.0 + i as f64)).collect(),
            1 => (0..few).map(|i| 1.0 - 1e-3 * i as f64).collect(),
            2 => (0..few).map(|i| if i < 5 { 1.0 - 1e-5 * i as f64 } else { 0.6 }).collect(),
            _ => (0..7).map(|i| 3.0 * 0.5f64.powi(i)).collect(),
        };
        let matrix = with_values(rows, columns, &values, seed);
        let top = spectral_norm(&matrix.entries, rows, columns).expect("a decomposition");
        for most_steps in 1..14 {
            let Leading { sigma, upper, .. } =
                found(&matrix, Request { accuracy: 0.0, most_steps, ..REQUEST }, seed);
            assert!(
                upper >= top * (1.0 - 1e-14),
                "seed {seed}, {most_steps} steps: {upper} < {top}"
            );
            assert!(sigma[0] <= top * (1.0 + 1e-14) && sigma.is_sorted_by(|a, b| a >= b));
            if most_steps == 13 && seed % 4 != 1 {
                worst_at_the_end = worst_at_the_end.max(upper / top - 1.0);
            }
        }
    }
    assert!(worst_at_the_end < 1e-8, "{worst_at_the_end:e}");
}

#[test]
fn a_failure_probability_that_is_large_fails_about_as_often_as_it_says_at_the_most() {
    // one step says little of the spectrum, so the bound rests on the overlap
    let values: Vec<f64> = (0..40).map(|i| if i == 0 { 1.0 } else { 0.9 }).collect();
    let failure = 0.2;
    let request = Request { failure, accuracy: 0.0, most_steps: 2, pairs: 1 };
    let matrix = with_values(40, 45, &values, 3);
    let runs = 400;
    let failed =
        (0..runs).filter(|seed| found(&matrix, request, *seed).upper < 1.0 - 1e-12).count();
    assert!(failed as f64 <= failure * runs as f64, "{failed} of {runs}");
    // and the overlap alone is close to what it says
    let shorter = (0..2000u64).filter(|seed| {
        let mut stream = Streams::new(*seed).stream("overlap");
        let mut block: Vec<f64> = (0..40 * 8).map(|_| stream.gaussian()).collect();
        orthonormalise(40, 8, 0.0, &mut block);
        norm(&block[..8]) < overlap(40, 8, failure)
    });
    let share = shorter.count() as f64 / 2000.0;
    assert!((0.03..=failure).contains(&share), "{share}");
}

#[test]
fn pairs_are_those_of_a_full_decomposition() {
    for (rows, columns) in [(5, 3), (8, 8), (9, 30), (31, 9), (70, 40)] {
        let values: Vec<f64> = (0..rows.min(columns)).map(|i| 0.8f64.powi(i as i32)).collect();
        let matrix = with_values(rows, columns, &values, 1);
        let Leading { sigma, left, right, upper, is_certain, .. } =
            found(&matrix, Request { accuracy: 1e-12, ..REQUEST }, 5);
        assert_eq!(is_certain, rows.min(columns) <= WIDTH);
        let k = sigma.len();
        assert_eq!(k, 4.min(values.len()));
        assert!((1.0 - 1e-14..=1.0 + 1e-10).contains(&upper), "{upper}");
        for (l, sigma) in sigma.iter().enumerate() {
            assert!(
                (sigma - values[l]).abs() < 1e-10,
                "{rows} x {columns}: {sigma} for {}",
                values[l]
            );
            // u' M v
            let (u, v): (Vec<f64>, Vec<f64>) = (
                left.chunks_exact(k).map(|row| row[l]).collect(),
                right.chunks_exact(k).map(|row| row[l]).collect(),
            );
            let mut mv = vec![0.0; rows];
            matrix.times(1, &v, &mut mv);
            assert!((dot(&u, &mv) - sigma).abs() < 1e-10);
            assert!((norm(&u) - 1.0).abs() < 1e-12 && (norm(&v) - 1.0).abs() < 1e-12);
        }
    }
}

#[test]
fn extreme_scales_and_matrices_of_low_rank_and_zero_are_no_trouble() {
    for size in [1e-300, 1e-130, 1.0, 1e130, 1e300] {
        let mut matrix = with_values(40, 50, &[1.0, 0.5], 2);
        scale(size, &mut matrix.entries);
        let Leading { sigma, upper, .. } = found(&matrix, REQUEST, 7);
        assert!((sigma[0] / size - 1.0).abs() < 1e-12, "{size:e}: {}", sigma[0] / size);
        assert!(
            upper >= size * (1.0 - 1e-14) && upper <= size * (1.0 + 1e-5),
            "{size:e}: {upper:e}"
        );
    }
    let zero = Whole { rows: 12, columns: 20, entries: vec![0.0; 240] };
    let answer = found(&zero, REQUEST, 7);
    assert!(answer.upper == 0.0 && answer.sigma.is_empty() && answer.is_certain);
    let mut broken = with_values(12, 20, &[1.0], 2);
    broken.entries[7] = f64::NAN;
    let mut stream = Streams::new(0).stream("start");
    let answer = leading_pairs(&broken, REQUEST, || stream.gaussian(), &Watch::default());
    assert!(matches!(answer, Err(Error::NotFinite { .. })), "{answer:?}");
}
