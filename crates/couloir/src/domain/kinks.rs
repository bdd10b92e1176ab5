//! Roots of functions that fall piecewise linearly.

/// Where a continuous function that never rises, and is linear between the kinks, has the value `level`. Outside of the kinks it
/// must be constant; where it never has that value, the answer is the kink next to it.
pub(super) fn root_between_kinks(
    kinks: &mut [f64],
    level: f64,
    mut function: impl FnMut(f64) -> f64,
) -> f64 {
    kinks.sort_unstable_by(f64::total_cmp);
    let (mut low, mut high) = (0, kinks.len() - 1);
    let (mut at_low, mut at_high) = (function(kinks[low]), function(kinks[high]));
    if at_low <= level {
        return kinks[low];
    }
    if at_high > level {
        return kinks[high];
    }
    while high - low > 1 {
        let middle = low.midpoint(high);
        let here = function(kinks[middle]);
        if here > level {
            (low, at_low) = (middle, here);
        } else {
            (high, at_high) = (middle, here);
        }
    }
    let share = ((at_low - level) / (at_low - at_high)).clamp(0.0, 1.0);
    kinks[low] + share * (kinks[high] - kinks[low])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_is_where_the_function_has_the_level() {
        let function = |t: f64| (2.0 - t).clamp(0.0, 1.0) + (5.0 - t).clamp(0.0, 3.0);
        for level in [0.5, 1.0, 2.25, 3.0, 3.5] {
            let root = root_between_kinks(&mut [5.0, 1.0, 2.0, 2.0], level, function);
            assert!((function(root) - level).abs() < 1e-12, "{level}: {root}");
        }
        // levels that it does not have
        assert_eq!(root_between_kinks(&mut [1.0, 5.0], 9.0, function), 1.0);
        assert_eq!(root_between_kinks(&mut [1.0, 5.0], -1.0, function), 5.0);
    }
}
