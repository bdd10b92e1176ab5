//! Median times of the kernels on the rows of a LIBSVM file and the memory bandwidth of the machine, as one JSON object
//! (seconds; bytes a second): `cargo run --release -p couloir-data --example kernel_speed -- FILE`
//!
//! `scripts/bench` sets them beside NumPy and SciPy.
#![allow(clippy::print_stdout)]

use couloir::linalg::{Layout, ScoreOperator, gram, softmax_losses};
use couloir_data::libsvm::{ReadOptions, read};
use rayon::prelude::*;
use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

const ROUNDS: usize = 21;

fn median(mut run: impl FnMut()) -> f64 {
    run();
    let mut times: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[ROUNDS / 2]
}

/// `a = b + 3 c` over arrays that no cache holds, on all threads: 24 bytes an element.
fn bandwidth() -> f64 {
    const LEN: usize = 16 << 20;
    let (b, c) = (vec![1.0f64; LEN], vec![2.0f64; LEN]);
    let mut a = vec![0.0f64; LEN];
    let seconds = median(|| {
        a.par_chunks_mut(1 << 16).zip(b.par_chunks(1 << 16).zip(c.par_chunks(1 << 16))).for_each(
            |(a, (b, c))| {
                for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
                    *a = b + 3.0 * c;
                }
            },
        );
        black_box(&mut a);
    });
    24.0 * LEN as f64 / seconds
}

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("name a LIBSVM file")?;
    let mut data = read(Path::new(&file), &ReadOptions::default())?;
    let (n, d, h) = (data.len(), data.features, data.classes.len());
    let entries = data.nonzeros();
    // as the model has it: features in order of falling frequency
    let (matrix, _) = data.take_matrix()?.by_frequency();
    let operator = ScoreOperator::new(matrix, h, Layout::FeatureMajor);
    let x: Vec<f64> = (0..h * d).map(|i| (0.7 * i as f64).sin()).collect();
    let w: Vec<f64> = (0..h * n).map(|i| (0.3 * i as f64).sin()).collect();
    let (mut by_row, mut by_feature) = (vec![0.0; h * n], vec![0.0; h * d]);
    let (mut losses, mut square) = (vec![0.0; n], vec![0.0; h * h]);
    let scores = median(|| operator.scores(black_box(&x), &mut by_row));
    let adjoint = median(|| operator.adjoint(black_box(&w), &mut by_feature));
    let softmax =
        median(|| softmax_losses(black_box(&w), &data.labels, h, &mut losses, &mut by_row));
    let gram = median(|| gram(black_box(&x), d, h, &mut square));
    println!(
        "{{\"n\": {n}, \"d\": {d}, \"h\": {h}, \"entries\": {entries}, \"threads\": {}, \"bandwidth\": {:e}, \
         \"scores\": {scores:e}, \"adjoint\": {adjoint:e}, \"softmax\": {softmax:e}, \"gram\": {gram:e}}}",
        rayon::current_num_threads(),
        bandwidth(),
    );
    Ok(())
}
