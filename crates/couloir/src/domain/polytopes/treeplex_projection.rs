//! The Euclidean projection on a treeplex.
//!
//! Let `V_I(t)` be the least of `|x - v|^2/2` over the sequences at and below information set `I` where the parent has the weight `t`. With
//! the multiplier `l` of `sum of x_a = t` its slope is `l`, and each `x_a >= 0` solves
//!
//! ```text
//! h_a(x) := x - v_a + (sum of V_J'(x) over the sets J after a) = l,    or x = 0 where h_a(0) >= l.
//! ```
//!
//! All of these slopes rise piecewise linearly, so that they are kept by their kinks: once up the tree they are added and inverted, and once
//! down it the weights are read off. A set has at most as many kinks as there are sequences below it: `O(n depth)` but for sorting.

use super::Treeplex;

/// A function on `x >= 0` that rises piecewise linearly: its kinks, the first at 0, and its slope after the last.
#[derive(Clone, Debug)]
struct Rising {
    kinks: Vec<(f64, f64)>,
    last_slope: f64,
}

impl Rising {
    /// The value at `x`.
    fn at(&self, x: f64) -> f64 {
        let after = self.kinks.partition_point(|(at, _)| *at <= x).max(1);
        let (x0, y0) = self.kinks[after - 1];
        match self.kinks.get(after) {
            Some((x1, y1)) if *x1 > x0 => y0 + (y1 - y0) * ((x - x0) / (x1 - x0)),
            _ => y0 + self.last_slope * (x - x0),
        }
    }

    /// Where the value is `y`; 0 where it is above `y` from the start.
    fn inverse_at(&self, y: f64) -> f64 {
        if y <= self.kinks[0].1 {
            return 0.0;
        }
        let after = self.kinks.partition_point(|(_, value)| *value <= y).max(1);
        let (x0, y0) = self.kinks[after - 1];
        match self.kinks.get(after) {
            Some((x1, y1)) if *y1 > y0 => x0 + (x1 - x0) * ((y - y0) / (y1 - y0)),
            _ => x0 + (y - y0) / self.last_slope,
        }
    }

    /// `x - v` plus the sum of others.
    fn sum_above(v: f64, others: &[&Rising]) -> Rising {
        let mut places = vec![0.0];
        others.iter().for_each(|other| places.extend(other.kinks.iter().map(|(x, _)| *x)));
        places.sort_unstable_by(f64::total_cmp);
        places.dedup();
        let value = |x: f64| x - v + others.iter().map(|other| other.at(x)).sum::<f64>();
        Rising {
            kinks: places.into_iter().map(|x| (x, value(x))).collect(),
            last_slope: 1.0 + others.iter().map(|other| other.last_slope).sum::<f64>(),
        }
    }

    /// The inverse of the sum of the inverses, which count as 0 before they start.
    fn split_among(parts: &[Rising]) -> Rising {
        let mut levels: Vec<f64> =
            parts.iter().flat_map(|part| part.kinks.iter().map(|(_, y)| *y)).collect();
        levels.sort_unstable_by(f64::total_cmp);
        levels.dedup();
        let total = |y: f64| parts.iter().map(|part| part.inverse_at(y)).sum::<f64>();
        Rising {
            kinks: levels.into_iter().map(|y| (total(y), y)).collect(),
            last_slope: 1.0 / parts.iter().map(|part| 1.0 / part.last_slope).sum::<f64>(),
        }
    }
}

/// Writes the point of the treeplex nearest to `v`.
pub(super) fn project(set: &Treeplex, v: &[f64], out: &mut [f64]) {
    let sets = set.information_sets();
    // the slopes h_a of the actions of each set, and V' of each set
    let mut of_actions: Vec<Vec<Rising>> = vec![Vec::new(); sets.len()];
    let mut of_sets: Vec<Option<Rising>> = vec![None; sets.len()];
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); v.len()];
    for k in (0..sets.len()).rev() {
        let of_action = |sequence: usize| {
            let below: Vec<&Rising> =
                after[sequence].iter().filter_map(|j| of_sets[*j].as_ref()).collect();
            Rising::sum_above(v[sequence], &below)
        };
        of_actions[k] = set.sequences(k).map(of_action).collect();
        of_sets[k] = Some(Rising::split_among(&of_actions[k]));
        after[sets[k].parent].push(k);
    }
    out[0] = 1.0;
    for (k, info) in sets.iter().enumerate() {
        let total = out[info.parent];
        let level = of_sets[k].as_ref().map_or(0.0, |slope| slope.at(total));
        let choices = set.sequences(k);
        for (sequence, slope) in choices.clone().zip(&of_actions[k]) {
            out[sequence] = if total > 0.0 { slope.inverse_at(level) } else { 0.0 };
        }
        // rounding of the level shows in the sum
        let sum: f64 = out[choices.clone()].iter().sum();
        if sum > 0.0 {
            out[choices].iter_mut().for_each(|x| *x *= total / sum);
        } else if total > 0.0 {
            let share = total / info.actions as f64;
            out[choices].fill(share);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rising_function_and_its_inverse_agree_also_between_and_beyond_kinks() {
        let one = Rising { kinks: vec![(0.0, -1.0), (2.0, 3.0)], last_slope: 5.0 };
        for x in [0.0, 0.5, 2.0, 7.0] {
            assert!((one.inverse_at(one.at(x)) - x).abs() < 1e-14);
        }
        assert_eq!(one.inverse_at(-9.0), 0.0);
        let sum = Rising::sum_above(0.5, &[&one, &one]);
        for x in [0.0, 1.0, 2.0, 4.0] {
            assert!((sum.at(x) - (x - 0.5 + 2.0 * one.at(x))).abs() < 1e-13);
        }
        let other = Rising { kinks: vec![(0.0, 1.0)], last_slope: 1.0 };
        let split = Rising::split_among(&[one.clone(), other.clone()]);
        for level in [-0.5, 0.0, 2.0, 10.0] {
            let total = one.inverse_at(level) + other.inverse_at(level);
            assert!((split.at(total) - level).abs() < 1e-13, "{level}");
        }
    }
}
