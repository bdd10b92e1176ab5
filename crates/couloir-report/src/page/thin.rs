//! Fewer points for a long run, chosen so that its line looks the same.

use super::Point;

/// The most points that a page keeps of a run.
pub const MOST_POINTS: usize = 500;

/// The places of the points to keep, in order: the first and the last; those that first reach levels which lie evenly
/// on a logarithmic axis of time; those that first reach levels which lie evenly, on a logarithmic axis,
/// between the largest and the smallest gap; and what is left of `most` evenly by place.
pub(super) fn kept(points: &[Point], most: usize) -> Vec<usize> {
    let n = points.len();
    if n <= most {
        return (0..n).collect();
    }
    let mut keep = vec![false; n];
    keep[0] = true;
    keep[n - 1] = true;
    let share = most.saturating_sub(2) / 2;
    for coordinate in [log_time(points), fallen(points)] {
        for place in first_at_even_levels(&coordinate, share) {
            keep[place] = true;
        }
    }
    let left: Vec<usize> = (0..n).filter(|&i| !keep[i]).collect();
    let room = most.saturating_sub(n - left.len()).min(left.len());
    for k in 0..room {
        keep[left[k * left.len() / room]] = true;
    }
    (0..n).filter(|&i| keep[i]).collect()
}

/// The logarithm of the time, never falling; NaN before the clock shows something.
fn log_time(points: &[Point]) -> Vec<f64> {
    running_max(points.iter().map(|p| positive_log(p.seconds)))
}

/// How far the gap has fallen: minus the logarithm of the smallest one so far.
fn fallen(points: &[Point]) -> Vec<f64> {
    running_max(points.iter().map(|p| -positive_log(p.gap)))
}

fn positive_log(value: f64) -> f64 {
    if value > 0.0 && value.is_finite() { value.ln() } else { f64::NAN }
}

fn running_max(values: impl Iterator<Item = f64>) -> Vec<f64> {
    // `max` gives the number where one of the two is NaN.
    let largest = |so_far: &mut f64, value: f64| {
        *so_far = so_far.max(value);
        Some(*so_far)
    };
    values.scan(f64::NAN, largest).collect()
}

/// Where a rising coordinate first reaches each of `count` even levels from its smallest to its largest value.
fn first_at_even_levels(rising: &[f64], count: usize) -> Vec<usize> {
    let known = rising.partition_point(|v| v.is_nan());
    let (Some(&low), Some(&high)) = (rising.get(known), rising.last()) else {
        return Vec::new();
    };
    let level = |k: usize| low + (high - low) * k as f64 / count.max(2).saturating_sub(1) as f64;
    (0..count).map(|k| rising.partition_point(|v| v.is_nan() || *v < level(k).min(high))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(n: usize, seconds: impl Fn(f64) -> f64, gap: impl Fn(f64) -> f64) -> Vec<Point> {
        let point = |i| Point { seconds: seconds(i), gap: gap(i), ..Point::default() };
        (0..n).map(|i| point(i as f64)).collect()
    }

    #[test]
    fn short_runs_keep_every_point() {
        for n in [0, 1, 2, 499, 500] {
            let points = run(n, |i| i, |i| 1.0 / (i + 1.0));
            assert_eq!(kept(&points, MOST_POINTS), (0..n).collect::<Vec<_>>());
        }
    }

    #[test]
    fn long_runs_keep_as_many_as_there_is_room_for_with_first_and_last_in_order() {
        for n in [501, 1_000, 123_456] {
            let kept = kept(&run(n, |i| i * 1e-3, |i| 1.0 / (i + 1.0)), MOST_POINTS);
            assert_eq!(kept.len(), MOST_POINTS);
            assert_eq!((kept[0], kept[MOST_POINTS - 1]), (0, n - 1));
            assert!(kept.is_sorted_by(|a, b| a < b));
        }
    }

    #[test]
    fn points_lie_close_on_a_logarithmic_axis_of_time() {
        let points = run(200_000, |i| i * 1e-4, |_| 1.0);
        let kept = kept(&points, MOST_POINTS);
        // From 1e-4 to 20 are 5.3 decades: 249 levels are 1.05 apart, where points are not further apart themselves.
        for pair in kept.windows(2).filter(|pair| pair[0] > 100) {
            assert!(points[pair[1]].seconds <= 1.06 * points[pair[0]].seconds, "{pair:?}");
        }
    }

    #[test]
    fn a_sudden_fall_of_the_gap_is_kept_in_detail() {
        // All of the fall happens within the last thousandth of the time.
        let points =
            run(100_000, |i| 1.0 + i, |i| if i < 99_900.0 { 1.0 } else { (99_900.0 - i).exp() });
        let kept = kept(&points, MOST_POINTS);
        assert_eq!(kept.iter().filter(|&&i| i > 99_900).count(), 99);
    }

    #[test]
    fn unknown_times_and_gaps_leave_points_evenly_by_place() {
        let kept = kept(&run(5_000, |_| f64::NAN, |_| f64::NAN), MOST_POINTS);
        assert_eq!(kept.len(), MOST_POINTS);
        assert!(kept.windows(2).all(|pair| pair[1] - pair[0] <= 12), "{kept:?}");
    }

    #[test]
    fn zeros_infinities_and_gaps_that_rise_do_no_harm() {
        let odd = |i: f64| [f64::INFINITY, 3.0, 0.0, -1.0, 7.0, f64::NAN][i as usize % 6];
        let kept = kept(&run(5_000, odd, odd), MOST_POINTS);
        assert_eq!(kept.len(), MOST_POINTS);
        assert_eq!((kept[0], kept[MOST_POINTS - 1]), (0, 4_999));
    }
}
