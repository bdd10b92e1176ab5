//! Results for tests.

use super::{DataFacts, Point, Results, Run, RunEnd, RunKey, Search, Settings, Trial, finite};
use std::collections::BTreeMap;

pub fn settings() -> Settings {
    Settings {
        version: "1.2.3".to_owned(),
        objective: "paper".to_owned(),
        tau: Some(100.0),
        level: 1.0,
        start: "vertex".to_owned(),
        time_budget: 30.0,
        seed: 7,
        threads: 2,
        machine: BTreeMap::from([("processor".to_owned(), "a fast one".to_owned())]),
    }
}

/// A run whose gap is divided by ten with every second, gradient and two linear minimisations.
pub fn run(data: &str, method: &str, repeat: u64, first_gap: f64, points: usize) -> Run {
    let key = RunKey { data: data.to_owned(), method: method.to_owned(), repeat };
    let point = |k: usize| {
        let gap = first_gap * 10f64.powi(-(k as i32));
        Point {
            run: key.clone(),
            iteration: k as u64,
            seconds: k as f64,
            certified_gap: finite(gap / 2.0),
            gap: finite(gap),
            gap_x: finite(gap / 4.0),
            gap_y: finite(gap * 3.0 / 4.0),
            bound: None,
            gradients: k as u64,
            certificate_gradients: 0,
            component_gradients: 10 * k as u64,
            lo_calls: 2 * k as u64,
            passes: 2.0 * k as f64,
        }
    };
    let end = RunEnd {
        run: key.clone(),
        status: "time limit".to_owned(),
        seed: 7 + repeat,
        points,
        steps: None,
        upper: Some(1.0),
        lower: Some(0.5),
        facts: BTreeMap::from([("Lhat".to_owned(), 0.25)]),
    };
    Run { end, points: (0..points).map(point).collect() }
}

pub fn results() -> Results {
    let mut results = Results::new(settings());
    for (data, n) in [("news", 100), ("stories", 200)] {
        results.data.push(DataFacts {
            data: data.to_owned(),
            n,
            d: 1000,
            classes: 5,
            entries: 10 * n,
            tau: 100.0,
            scale: 1.0 / n as f64,
        });
        results.searches.push(Search {
            data: data.to_owned(),
            method: "svre".to_owned(),
            trials: vec![
                Trial { steps: None, gap: Some(2.0) },
                Trial { steps: Some((0.1, 0.01)), gap: None },
            ],
            chosen: None,
            seconds: 3.5,
        });
        results.runs.push(run(data, "certified", 0, 8.0, 8));
        results.runs.push(run(data, "svre", 0, 8.0, 3));
    }
    results
}
