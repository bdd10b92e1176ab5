//! Sums that keep what plain ones lose in rounding.

use rayon::prelude::*;

/// A sum with Neumaier's correction: as if in twice the precision.
pub(crate) fn accurate_sum(values: impl Iterator<Item = f64>) -> f64 {
    let [sum, lost] = sum_and_lost(values);
    sum + lost
}

/// A sum and what rounding took from it.
fn sum_and_lost(values: impl Iterator<Item = f64>) -> [f64; 2] {
    let mut sum = 0.0f64;
    let mut lost = 0.0;
    for v in values {
        let next = sum + v;
        lost += if sum.abs() >= v.abs() { (sum - next) + v } else { (v - next) + sum };
        sum = next;
    }
    [sum, if lost.is_finite() { lost } else { 0.0 }]
}

/// Numbers that one thread adds up at a time.
const PIECE: usize = 1 << 16;

/// The same for a slice: pieces by several threads, in lanes that need not wait for each other.
pub(crate) fn accurate_sum_of(values: &[f64]) -> f64 {
    if values.len() <= PIECE {
        let [sum, lost] = sum_of_piece(values);
        return sum + lost;
    }
    let sums: Vec<[f64; 2]> = values.par_chunks(PIECE).map(sum_of_piece).collect();
    accurate_sum(sums.into_iter().flatten())
}

fn sum_of_piece(values: &[f64]) -> [f64; 2] {
    const LANES: usize = 16;
    let (mut sums, mut lost) = ([0.0f64; LANES], [0.0; LANES]);
    let (chunks, rest) = values.as_chunks::<LANES>();
    for chunk in chunks {
        for l in 0..LANES {
            let next = sums[l] + chunk[l];
            let added = next - sums[l];
            lost[l] += (sums[l] - (next - added)) + (chunk[l] - added);
            sums[l] = next;
        }
    }
    if lost.iter().all(|l| l.is_finite()) {
        sum_and_lost(sums.into_iter().chain(lost).chain(rest.iter().copied()))
    } else {
        sum_and_lost(values.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accurate_sums_keep_what_plain_ones_lose() {
        assert_eq!(accurate_sum([1e16, 1.0, 1.0, -1e16].into_iter()), 2.0);
        assert_eq!(accurate_sum([f64::MAX, f64::MAX].into_iter()), f64::INFINITY);
        let many: Vec<f64> = (0..1003).map(|i| [1e16, 1.0, -1e16, 0.25][i % 4]).collect();
        assert_eq!(accurate_sum_of(&many), 251.0 + 250.0 * 0.25);
        assert_eq!(accurate_sum_of(&[f64::MAX; 40]), f64::INFINITY);
        // of many pieces
        let many: Vec<f64> = (0..300_000).map(|i| [1e16, 1.0, -1e16, 0.25][i % 4]).collect();
        assert_eq!(accurate_sum_of(&many), 75_000.0 * 1.25);
    }
}
