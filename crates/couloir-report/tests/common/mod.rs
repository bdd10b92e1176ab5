//! Pages as the command makes them, for tests.

use couloir_report::page::{Bars, Page, Panel, Point, Run, Table};

/// Methods with what they take a step, how fast they fall, and how far.
const METHODS: [(&str, f64, f64, f64); 5] = [
    ("certified MPCGS", 0.008, 2.9, 3e-9),
    ("MPCGS", 0.09, 1.9, 1e-6),
    ("MPSCGS", 0.16, 1.3, 2e-4),
    ("SPFW", 0.02, 0.9, 6e-4),
    ("SVRE", 0.06, 0.7, 2e-2),
];

const SETS: [(&str, &str); 3] = [
    ("news20.scale", "15,935 rows, 62,061 features, 20 classes; dro, tau 565"),
    ("rcv1.multiclass", "15,564 rows, 47,236 features, 53 classes; dro, tau 908"),
    ("sector.scale", "6,412 rows, 55,197 features, 105 classes; dro, tau 821"),
];

/// A page of five methods on three sets, `points` points a run, the second method three times.
pub fn page(points: usize) -> Page {
    let panel = |(s, (name, about)): (usize, &(&str, &str))| {
        let mut runs: Vec<Run> = (0..METHODS.len()).map(|m| run(m, 0, s, points)).collect();
        runs.splice(2..2, [run(1, 1, s, points), run(1, 2, s, points)]);
        Panel { name: (*name).into(), about: (*about).into(), runs }
    };
    Page {
        title: "Five methods on three sets of text".into(),
        summary: vec![
            "Robust multiclass classification over a nuclear-norm ball: how fast each method closes the FW-gap of its \
             best pair, on the same data, with the same threads."
                .into(),
            "The certified variant reaches 1e-6 on all three; the others end at their budgets of time.".into(),
        ],
        panels: SETS.iter().enumerate().map(panel).collect(),
        bars: vec![times(), weights()],
        tables: vec![ends()],
        facts: facts(),
    }
}

fn run(method: usize, repeat: u64, set: usize, points: usize) -> Run {
    let (name, step, power, floor) = METHODS[method];
    let point = |i: usize| {
        let k = i as f64;
        // A wave that never rises: what is best so far stays.
        let wave = 1.0 + 0.3 * (set as f64 + repeat as f64 + 1.0) / (1.0 + (k / 9.0).floor());
        let progress = 1.0 + k * 400.0 / points as f64 * (1.0 - 0.25 * set as f64);
        let gap = 8.0 * wave * progress.powf(-power - 0.2 * set as f64) + floor;
        let bound = if method < 2 { 40.0 / ((k + 1.0) * (k + 2.0)) } else { f64::NAN };
        Point {
            seconds: k * step * (1.0 + 0.2 * set as f64 + 0.07 * repeat as f64),
            gradients: if method == 2 || method == 4 { f64::NAN } else { k },
            component_gradients: 15_935.0 * k / (1.0 + method as f64),
            lo_calls: if method == 4 { 0.0 } else { 2.0 * k + 1.0 },
            passes: k / (1.0 + method as f64),
            iterations: k,
            gap,
            gap_x: 0.9 * gap,
            gap_y: if i % 7 == 3 { 0.0 } else { 0.1 * gap },
            certified_gap: 0.5 * gap,
            bound,
        }
    };
    let status = if method == 0 { "solved" } else { "time budget" };
    Run {
        method: name.into(),
        repeat,
        status: status.into(),
        points: (0..points).map(point).collect(),
    }
}

fn times() -> Bars {
    let bars = METHODS
        .iter()
        .enumerate()
        .map(|(m, (name, ..))| ((*name).into(), 0.31 * 7f64.powi(m as i32)));
    Bars {
        title: "Seconds to a gap of 0.01".into(),
        about: "On news20.scale, the median of three runs.".into(),
        labels_name: "Method".into(),
        values_name: "Seconds".into(),
        bars: bars.collect(),
        logarithmic: true,
    }
}

fn weights() -> Bars {
    let weight =
        |c: usize| (format!("class {}", c + 1), 0.4 + 2.6 * ((c * 37 + 11) % 105) as f64 / 105.0);
    Bars {
        title: "Weight that the adversary gives each class".into(),
        about: "The mean of n y over the rows of the class, sector.scale; 1 is the plain mean."
            .into(),
        labels_name: "Class".into(),
        values_name: "Mean weight".into(),
        bars: (0..105).map(weight).collect(),
        logarithmic: false,
    }
}

fn ends() -> Table {
    let header = [
        "Method",
        "Set",
        "Gap",
        "x part",
        "y part",
        "Gradients",
        "LO calls",
        "Seconds",
        "How it ended",
    ];
    let row = |name: &str, set: &str| {
        [name, set, "2.785e-2", "2.785e-2", "1.912e-6", "27", "120", "1.61", "solved"]
            .map(str::to_owned)
            .to_vec()
    };
    let rows =
        METHODS.iter().flat_map(|(name, ..)| SETS.iter().map(move |(set, _)| row(name, set)));
    Table {
        caption: "Where each method ended".into(),
        header: header.map(str::to_owned).to_vec(),
        rows: rows.collect(),
    }
}

fn facts() -> Vec<(String, Vec<(String, String)>)> {
    let list =
        |facts: &[(&str, &str)]| facts.iter().map(|(n, v)| ((*n).into(), (*v).into())).collect();
    vec![
        (
            "Settings".into(),
            list(&[
                ("tolerance", "1e-6"),
                ("time budget", "60 s"),
                ("threads", "2"),
                ("seed", "7"),
            ]),
        ),
        (
            "Versions".into(),
            list(&[
                ("couloir", "0.1.0"),
                (
                    "sha-256 of news20",
                    "1f6a7c0e5b0d9d2c8f5a3b7e6d4c2b1a09f8e7d6c5b4a392817060f5e4d3c2b1",
                ),
            ]),
        ),
    ]
}
