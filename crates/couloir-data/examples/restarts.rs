//! Certified MPCGS against accelerated projected gradient, which certifies nothing while it runs: gradients and seconds to
//! the same certified gaps, on the robust classifier and on quadratic families.
//!
//! `cargo run --release -p couloir-data --example restarts -- [--rounds N] [families] [generated:sector] [FILE...]`
//! prints one JSON object for each problem and tolerance; `scripts/bench restarts` judges them. Of several rounds, times are medians.
#![allow(clippy::print_stdout)]

#[path = "../../couloir/tests/common/mod.rs"]
mod common;

use couloir::domain::Domain;
use couloir::model::{RobustMulticlass, RobustSettings, Scaling};
use couloir::problem::SaddleProblem;
use couloir::run::{Algorithm, Flow, StopRules, TracePoint, WallClock};
use couloir::{Method, Solve};
use couloir_data::generate::TextLike;
use couloir_data::libsvm::{ReadOptions, read};
use std::error::Error;
use std::path::Path;
use std::time::Instant;

/// Radius and level of the classifier.
const TAU: f64 = 100.0;
const LEVEL: f64 = 1.0;
/// Gaps over the objective's scale.
const TOLERANCES: [f64; 6] = [1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6];

/// What a run had done when its certified gap first was at most a tolerance.
#[derive(Clone, Copy, Default)]
struct Mark {
    gradients: u64,
    for_certificates: u64,
    iterations: u64,
    /// Seconds of the method, and all seconds.
    method: f64,
    whole: f64,
}

fn marks(
    method: Method,
    problem: &dyn SaddleProblem,
    sets: (&dyn Domain, &dyn Domain),
    tolerances: &[f64],
) -> Result<Vec<Option<Mark>>, Box<dyn Error>> {
    let mut marks = vec![None; tolerances.len()];
    let mut rules = StopRules::default();
    rules.relative_gap = None;
    rules.iterations = Some(3000);
    rules.gap = tolerances.last().copied();
    let clock = WallClock::start();
    let began = Instant::now();
    let mut watch = |point: &TracePoint, _: &dyn Algorithm| {
        let (own, other) = (point.ledger.method, point.ledger.certificate);
        for (mark, tolerance) in marks.iter_mut().zip(tolerances) {
            if mark.is_none() && point.certificate.gap <= *tolerance {
                *mark = Some(Mark {
                    gradients: own.grad_x,
                    for_certificates: other.grad_x,
                    iterations: point.iteration,
                    method: point.seconds,
                    whole: began.elapsed().as_secs_f64(),
                });
            }
        }
        Flow::Continue
    };
    Solve::new(problem, sets.0, sets.1)
        .method(method)
        .rules(rules)
        .clock(clock)
        .run_with(&mut watch)?;
    Ok(marks)
}

fn compare(
    name: &str,
    problem: &dyn SaddleProblem,
    sets: (&dyn Domain, &dyn Domain),
    scale: f64,
    rounds: usize,
) -> Result<(), Box<dyn Error>> {
    let tolerances = TOLERANCES.map(|t| t * scale);
    let mut seconds = vec![[Vec::new(), Vec::new()]; tolerances.len()];
    let mut lasts = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        for (i, method) in [Method::certified(), Method::apg()].into_iter().enumerate() {
            let found = marks(method, problem, sets, &tolerances)?;
            for (j, mark) in found.iter().enumerate() {
                let taken = mark.map_or(f64::INFINITY, |m| if i == 0 { m.whole } else { m.method });
                seconds[j][i].push(taken);
            }
            lasts[i] = found;
        }
    }
    for (j, tolerance) in tolerances.iter().enumerate() {
        let [ours, theirs] = [0, 1].map(|i| {
            let times = &mut seconds[j][i];
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        });
        let [own, apg] = [0, 1].map(|i| lasts[i][j].unwrap_or_default());
        println!(
            "{{\"name\": \"{name}\", \"tol\": {:.0e}, \"gradients\": {}, \"certificates\": {}, \"iterations\": {}, \"apg_gradients\": {}, \"seconds\": {ours:.4}, \"apg_seconds\": {theirs:.4}, \"ratio\": {:.3}}}",
            tolerance / scale,
            own.gradients,
            own.for_certificates,
            own.iterations,
            apg.gradients,
            ours / theirs
        );
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut rounds = 1;
    let mut names = Vec::new();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--rounds" => rounds = arguments.next().ok_or("--rounds N")?.parse()?,
            _ => names.push(argument),
        }
    }
    for name in names {
        if name == "families" {
            for family in common::families() {
                let sets = (&*family.x_set, &*family.y_set);
                compare(family.name, &family.problem, sets, 1.0, rounds)?;
            }
            for mu_x in [0.0, 1e-3, 1e-2, 0.1, 1.0] {
                let family = common::ball_and_simplex(mu_x);
                let sets = (&*family.x_set, &*family.y_set);
                let name = format!("ball 40, simplex 30, mu_x {mu_x:.0e}");
                compare(&name, &family.problem, sets, 1.0, rounds)?;
            }
            continue;
        }
        let mut data = match name.strip_prefix("generated:") {
            Some("sector") => TextLike::new(6_412, 55_197, 105).density(163.0).generate()?,
            Some(_) => return Err("generated:sector".into()),
            None => read(Path::new(&name), &ReadOptions::default())?,
        };
        let rows = data.take_matrix()?;
        let classes = data.classes.len();
        let short = name.rsplit('/').next().unwrap_or(&name);
        for (objective, scaling) in [("paper", Scaling::Paper), ("dro", Scaling::Dro)] {
            let settings = RobustSettings::default().scaling(scaling).level(LEVEL).tau(TAU);
            let model =
                RobustMulticlass::new(rows.clone(), data.labels.clone(), classes, settings)?;
            let x_set = model.x_set()?;
            let sets = (&x_set as &dyn Domain, model.y_set());
            compare(&format!("{short} {objective}"), &model, sets, model.scale(), rounds)?;
        }
    }
    Ok(())
}
