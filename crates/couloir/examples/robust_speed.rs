//! Robust multiclass classification on a plain LIBSVM file: gradients and seconds that certified
//! MPCGS needs, per tolerance.
//!
//! ```text
//! cargo run --release --example robust_speed -- FILE [dro|paper] [class|feature] [tau] [lambda_n] [trace]
//! ```
#![allow(clippy::print_stdout)]

use couloir::linalg::{Layout, SparseMatrix};
use couloir::model::{RobustMulticlass, RobustSettings, Scaling};
use couloir::run::{Algorithm, Flow, StopRules, TracePoint, WallClock};
use couloir::{Method, Solve};
use std::time::Instant;

type Failure = Box<dyn std::error::Error>;

fn read(path: &str) -> Result<(SparseMatrix, Vec<u32>, usize), Failure> {
    let text = std::fs::read_to_string(path)?;
    let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    let mut labels: Vec<i64> = Vec::new();
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let Some(label) = words.next() else { continue };
        labels.push(label.parse::<f64>()? as i64);
        for word in words {
            let (index, value) = word.split_once(':').ok_or("no colon")?;
            indices.push(index.parse::<u32>()? - 1);
            values.push(value.parse::<f64>()?);
        }
        starts.push(indices.len());
    }
    let mut names = labels.clone();
    names.sort_unstable();
    names.dedup();
    let columns = indices.iter().max().map_or(0, |&j| j as usize + 1);
    let numbered = labels.iter().map(|l| names.partition_point(|m| m < l) as u32).collect();
    Ok((SparseMatrix::from_rows(columns, starts, indices, values)?, numbered, names.len()))
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let get = |i: usize, default: &str| arguments.get(i).map_or(default.to_owned(), Clone::clone);
    let Some(path) = arguments.first().cloned() else {
        return Err("name a LIBSVM text file, for instance cora.bow".into());
    };
    let scaling = if get(1, "paper") == "dro" { Scaling::Dro } else { Scaling::Paper };
    let layout =
        if get(2, "feature") == "class" { Layout::ClassMajor } else { Layout::FeatureMajor };
    let (tau, lambda_n): (f64, f64) = (get(3, "100").parse()?, get(4, "1").parse()?);
    let trace = get(5, "") == "trace";
    let (rows, labels, classes) = read(&path)?;
    println!(
        "{path}: {} x {}, {classes} classes; {scaling:?} {layout:?}",
        rows.rows(),
        rows.columns()
    );
    let settings = RobustSettings::default().scaling(scaling).layout(layout);
    let start = Instant::now();
    let model = RobustMulticlass::new(rows, labels, classes, settings.tau(tau).lambda_n(lambda_n))?;
    let x_set = model.x_set()?;
    println!("model built in {:.3} s", start.elapsed().as_secs_f64());
    let mut tolerances = vec![1e-2, 1e-3, 1e-4];
    if scaling == Scaling::Paper {
        tolerances.push(1e-5);
    }
    let smallest = *tolerances.last().ok_or("none")?;
    let mut rules = StopRules::default();
    rules.gap = Some(smallest * model.scale());
    rules.relative_gap = None;
    rules.iterations = Some(400);
    let mut remaining = tolerances.into_iter().peekable();
    let mut last = (0u64, 0u64);
    let mut observer = |point: &TracePoint, state: &dyn Algorithm| {
        let gap = point.certificate.gap / model.scale();
        let (own, certificate) = (point.ledger.method, point.ledger.certificate);
        if trace {
            println!(
                "  k {:>3} gap/s {gap:.3e} grads {:>3} (+{}) images {:>3} (+{}) responses {:>4} {:.3} s {:?}",
                point.iteration,
                own.grad_x,
                own.grad_x - last.0,
                own.images,
                own.images - last.1,
                own.best_response,
                point.seconds,
                state
                    .facts()
                    .iter()
                    .map(|f| format!("{} {:.3e}", f.name, f.value))
                    .collect::<Vec<_>>()
            );
        }
        last = (own.grad_x, own.images);
        while remaining.next_if(|&t| gap <= t).map(|t| {
            println!(
                "gap/s <= {t:.0e}: {} iterations, {} grads + {} certificate, {} images, {:.3} s, {:.1} ms/iteration",
                point.iteration,
                own.grad_x,
                certificate.grad_x,
                own.images,
                point.seconds,
                1e3 * point.seconds / point.iteration.max(1) as f64
            );
        }).is_some() {}
        Flow::Continue
    };
    let solution = Solve::new(&model, &x_set, model.y_set())
        .method(Method::certified())
        .rules(rules)
        .run_with(&WallClock::start(), &mut observer)?;
    let outcome = solution.outcome;
    println!(
        "{}: value/s in [{:.6}, {:.6}], n y up to {:.3}",
        outcome.status,
        outcome.certificate.lower / model.scale(),
        outcome.certificate.upper / model.scale(),
        model.len() as f64 * solution.y.iter().fold(0.0f64, |m, y| m.max(*y))
    );
    Ok(())
}
