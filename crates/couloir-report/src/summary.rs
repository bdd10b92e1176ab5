//! What it took to bring the gap down: time, gradients and linear minimisations to reach shares of the first gap.

use crate::results::{Point, Results, Run};
use serde::Serialize;

/// Shares of the first gap.
pub const SHARES: [f64; 6] = [1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6];

/// What a method did on a data set, over all of its repeats.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// The data set.
    pub data: String,
    /// The method.
    pub method: String,
    /// How many repeats came to their end.
    pub repeats: usize,
    /// How they ended, each way once.
    pub status: Vec<String>,
    /// The FW-gap at the start.
    pub first_gap: Option<f64>,
    /// For each of [`SHARES`] what it took to reach it; none where it was not reached.
    pub reached: Vec<Option<Cost>>,
    /// The last FW-gap.
    pub gap: Option<f64>,
    /// Its part in `x`.
    pub gap_x: Option<f64>,
    /// Its part in `y`.
    pub gap_y: Option<f64>,
    /// The last gap that the method certified.
    pub certified_gap: Option<f64>,
    /// Iterations.
    pub iterations: Option<f64>,
    /// Steps in `x` and `y` that were searched for and found.
    pub steps: Option<(f64, f64)>,
}

/// What something took: medians over the repeats.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// Seconds of the method itself.
    pub seconds: f64,
    /// Full gradients in `x`.
    pub gradients: f64,
    /// Linear minimisations.
    pub lo_calls: f64,
}

/// The middle one; of two the upper, so that half of the repeats and more are no better.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().filter(|value| value.is_finite())
}

/// One entry for every method on every data set, in the order of the results.
#[must_use]
pub fn summarise(results: &Results) -> Vec<Entry> {
    let mut entries = Vec::new();
    for data in &results.data {
        for method in results.methods() {
            let runs: Vec<&Run> =
                results.runs_on(&data.data).filter(|run| run.end.run.method == method).collect();
            if !runs.is_empty() {
                entries.push(entry(&data.data, method, &runs));
            }
        }
    }
    entries
}

fn entry(data: &str, method: &str, runs: &[&Run]) -> Entry {
    let mut status: Vec<String> = Vec::new();
    for run in runs {
        if !status.contains(&run.end.status) {
            status.push(run.end.status.clone());
        }
    }
    let over_runs = |value: &dyn Fn(&Run) -> Option<f64>| {
        median(runs.iter().map(|run| value(run).unwrap_or(f64::INFINITY)).collect())
    };
    let at_end =
        |value: fn(&Point) -> Option<f64>| over_runs(&|run| run.points.last().and_then(value));
    let reached = SHARES.map(|share| {
        let when = |value: fn(&Point) -> f64| over_runs(&|run| first_below(run, share).map(value));
        Some(Cost {
            seconds: when(|p| p.seconds)?,
            gradients: when(|p| p.gradients as f64)?,
            lo_calls: when(|p| p.lo_calls as f64)?,
        })
    });
    Entry {
        data: data.to_owned(),
        method: method.to_owned(),
        repeats: runs.len(),
        status,
        first_gap: over_runs(&|run| run.points.first().and_then(|p| p.gap)),
        reached: reached.to_vec(),
        gap: at_end(|p| p.gap),
        gap_x: at_end(|p| p.gap_x),
        gap_y: at_end(|p| p.gap_y),
        certified_gap: at_end(|p| p.certified_gap),
        iterations: at_end(|p| Some(p.iteration as f64)),
        steps: runs.iter().find_map(|run| run.end.steps),
    }
}

/// The first point of a run whose gap is at most this share of its first.
fn first_below(run: &Run, share: f64) -> Option<&Point> {
    let first = run.points.first()?.gap?;
    run.points.iter().find(|point| point.gap.is_some_and(|gap| gap <= share * first))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::samples::{results, run};

    #[test]
    fn costs_are_those_of_the_first_point_below_each_share() {
        let mut results = results();
        // 10^-k of 8 is below the share 10^-k but for rounding
        for run in &mut results.runs {
            run.points.iter_mut().for_each(|p| p.gap = p.gap.map(|gap| gap * 0.999));
            run.points[0].gap = Some(8.0);
        }
        let entries = summarise(&results);
        let names: Vec<_> = entries.iter().map(|e| (e.data.as_str(), e.method.as_str())).collect();
        assert_eq!(
            names,
            [
                ("news", "certified"),
                ("news", "svre"),
                ("stories", "certified"),
                ("stories", "svre")
            ]
        );
        let seconds = |e: &Entry| -> Vec<Option<f64>> {
            e.reached.iter().map(|cost| cost.map(|c| c.seconds)).collect()
        };
        assert_eq!(seconds(&entries[0]), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0].map(Some));
        assert_eq!(seconds(&entries[1]), [Some(1.0), Some(2.0), None, None, None, None]);
        let cost = entries[0].reached[2].expect("reached");
        assert_eq!((cost.gradients, cost.lo_calls), (3.0, 6.0));
        assert_eq!((entries[0].first_gap, entries[0].iterations), (Some(8.0), Some(7.0)));
    }

    #[test]
    fn repeats_count_by_their_median_and_not_to_arrive_is_worse_than_any_time() {
        let mut results = results();
        results.runs = [8, 3, 2]
            .iter()
            .enumerate()
            .map(|(repeat, points)| run("news", "certified", repeat as u64, 1.0, *points))
            .collect();
        let entries = summarise(&results);
        assert_eq!((entries.len(), entries[0].repeats), (1, 3));
        assert!(entries[0].reached[1].is_some() && entries[0].reached[2].is_none());
        assert_eq!(entries[0].iterations, Some(2.0));
    }
}
