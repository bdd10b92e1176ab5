//! Sums that keep what plain ones lose in rounding.

/// A sum with Neumaier's correction: as if in twice the precision.
pub(crate) fn accurate_sum(values: impl Iterator<Item = f64>) -> f64 {
    let mut sum = 0.0f64;
    let mut lost = 0.0;
    for v in values {
        let next = sum + v;
        lost += if sum.abs() >= v.abs() { (sum - next) + v } else { (v - next) + sum };
        sum = next;
    }
    if lost.is_finite() { sum + lost } else { sum }
}

/// The same for a slice, in lanes that need not wait for each other.
pub(crate) fn accurate_sum_of(values: &[f64]) -> f64 {
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
        accurate_sum(sums.into_iter().chain(lost).chain(rest.iter().copied()))
    } else {
        accurate_sum(values.iter().copied())
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
    }
}
