//! The cost of the best response of every uncertainty set at a million rows, over that of one gradient of a classifier like news20 (20 classes,
//! 62,061 features, 80 entries per row) with as many rows. The gradient, which is linear in the rows, is timed on a tenth of them.
#![allow(clippy::print_stdout, missing_docs)]

use couloir::linalg::SparseMatrix;
use couloir::model::uncertainty::{RowData, UNCERTAINTY_SETS};
use couloir::model::{RobustMulticlass, RobustSettings};
use couloir::problem::{LinearOperator, Preparation, PreparedImage, SaddleProblem};
use couloir::random::{Stream, Streams};
use std::time::Instant;

const ROWS: usize = 1_000_000;
const CLASSES: usize = 20;
const FEATURES: usize = 62_061;
const ENTRIES: usize = 80;
/// The gradient is timed on one in so many rows.
const PART: usize = 10;
const ROUNDS: usize = 5;

fn unit(draw: &mut Stream) -> f64 {
    (draw.word() >> 11) as f64 / (1u64 << 53) as f64
}

/// The median of some rounds, in seconds.
fn median(mut work: impl FnMut()) -> f64 {
    let mut seconds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64()
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    seconds[ROUNDS / 2]
}

/// Seconds of one gradient with as many rows: scores, losses, slopes and the product with the rows.
fn gradient(rows: usize) -> couloir::Result<f64> {
    let n = rows / PART;
    let mut draw = Streams::new(1).stream("rows");
    let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for _ in 0..n {
        let mut row: Vec<u32> =
            (0..ENTRIES).map(|_| (unit(&mut draw).powi(4) * FEATURES as f64) as u32).collect();
        row.sort_unstable();
        row.dedup();
        values.extend(row.iter().map(|_| 0.1));
        indices.extend(row);
        starts.push(indices.len());
    }
    let labels: Vec<u32> = (0..n).map(|i| (i % CLASSES) as u32).collect();
    let matrix = SparseMatrix::from_rows(FEATURES, starts, indices, values)?;
    let model = RobustMulticlass::new(matrix, labels, CLASSES, RobustSettings::default())?;
    let x: Vec<f64> = (0..model.dim_x()).map(|i| (0.7 * i as f64).sin()).collect();
    let y = vec![1.0 / n as f64; n];
    let (mut image, mut cache) = (vec![0.0; model.image_dim()], vec![0.0; model.cache_dim()]);
    let (mut slopes, mut out) = (vec![0.0; model.image_dim()], vec![0.0; model.dim_x()]);
    Ok(PART as f64
        * median(|| {
            model.image(&x, &mut image);
            model.prepare(&image, &mut cache);
            let at = PreparedImage { image: &image, cache: &cache };
            model.grad_image(at, &y, &mut slopes);
            model.adjoint(&slopes, &mut out);
        }))
}

fn main() -> couloir::Result<()> {
    // cargo test --benches calls with --test: then a small size only shows that it runs
    let rows = if std::env::args().any(|a| a == "--test") { 10_000 } else { ROWS };
    let gradient = gradient(rows)?;
    println!("{rows} rows, {CLASSES} classes: one gradient takes {gradient:.3} s");
    let mut draw = Streams::new(2).stream("losses");
    let losses: Vec<f64> = (0..rows).map(|_| -unit(&mut draw).max(1e-300).ln()).collect();
    let weights: Vec<f64> = (0..rows).map(|_| 0.5 + unit(&mut draw)).collect();
    let total: f64 = weights.iter().sum();
    let q: Vec<f64> = weights.iter().map(|w| w / total).collect();
    let labels: Vec<u32> = (0..rows).map(|i| (i % CLASSES) as u32).collect();
    println!("uncertainty set  level  milliseconds  of a gradient");
    for set in UNCERTAINTY_SETS {
        let data = RowData::new(rows).weights(Some(&q)).groups(Some(&labels)).labels(Some(&labels));
        let level = set.level().default;
        let made = set.set(&data, level)?;
        let dim = made.y_set().dim();
        // sets on groups respond to the losses of the groups
        let (mut y, mut room) = (vec![0.0; dim], vec![0.0; dim]);
        let seconds = median(|| {
            made.best_response(&losses[..dim], &mut room, &mut y);
        });
        let share = 100.0 * seconds / gradient;
        println!("{:<15}  {level:>5}  {:>12.3}  {share:>10.2} %", set.name(), 1e3 * seconds);
    }
    Ok(())
}
