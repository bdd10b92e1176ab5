//! The kernels of robust multiclass classification against plain loops, and the memory bandwidth that
//! bounds them.
//!
//! Data like news20 and rcv1: Zipf features, about 80 and 68 non-zeros a row. `COULOIR_DATA=FILE` takes the
//! pattern of a plain LIBSVM file instead.
//!
//! Throughput of the products counts the gathered lines, `8 h` bytes for each non-zero, and the non-zeros
//! themselves, 12 bytes.
#![allow(clippy::unwrap_used, missing_docs)]

use couloir::linalg::{Layout, ScoreOperator, SparseMatrix, exp_in_place, gram, softmax_losses};
use couloir::random::Streams;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rayon::prelude::*;
use std::hint::black_box;
use std::time::Duration;

struct Data {
    starts: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f64>,
    columns: usize,
}

impl Data {
    fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    fn matrix(&self) -> SparseMatrix {
        let (starts, indices) = (self.starts.clone(), self.indices.clone());
        SparseMatrix::from_rows(self.columns, starts, indices, self.values.clone()).unwrap()
    }
}

/// Features whose frequency falls like one over their rank, ranks in no order.
fn zipf(rows: usize, columns: usize, nonzeros: usize) -> Data {
    let mut draw = Streams::new(1).stream("zipf");
    let mut unit = move || (draw.word() >> 11) as f64 / (1u64 << 53) as f64;
    let (mut starts, mut indices) = (vec![0], Vec::new());
    for _ in 0..rows {
        let first = indices.len();
        while indices.len() < first + nonzeros {
            let rank = (columns as f64).powf(unit()) as u64 - 1;
            let feature = (rank.wrapping_mul(48_271) % columns as u64) as u32;
            if !indices[first..].contains(&feature) {
                indices.push(feature);
            }
        }
        indices[first..].sort_unstable();
        starts.push(indices.len());
    }
    let values = vec![1.0 / (nonzeros as f64).sqrt(); indices.len()];
    Data { starts, indices, values, columns }
}

fn read(path: &str) -> Data {
    let text = std::fs::read_to_string(path).unwrap();
    let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for line in text.lines() {
        for word in line.split_ascii_whitespace().skip(1) {
            let (index, value) = word.split_once(':').unwrap();
            indices.push(index.parse::<u32>().unwrap() - 1);
            values.push(value.parse().unwrap());
        }
        starts.push(indices.len());
    }
    let columns = indices.iter().max().map_or(0, |&j| j as usize + 1);
    Data { starts, indices, values, columns }
}

/// `S = A X^T` as one would write it first: `x` by features, rows in parallel.
fn plain_scores(data: &Data, h: usize, x: &[f64], out: &mut [f64]) {
    out.par_chunks_mut(h).enumerate().for_each(|(i, out)| {
        out.fill(0.0);
        for p in data.starts[i]..data.starts[i + 1] {
            let (j, v) = (data.indices[p] as usize, data.values[p]);
            for (o, x) in out.iter_mut().zip(&x[j * h..(j + 1) * h]) {
                *o += v * x;
            }
        }
    });
}

/// `G = W^T A` as one would write it first: by rows, scattered, on one thread.
fn plain_adjoint(data: &Data, h: usize, w: &[f64], out: &mut [f64]) {
    out.fill(0.0);
    for i in 0..data.rows() {
        for p in data.starts[i]..data.starts[i + 1] {
            let (j, v) = (data.indices[p] as usize, data.values[p]);
            for (o, w) in out[j * h..(j + 1) * h].iter_mut().zip(&w[i * h..(i + 1) * h]) {
                *o += v * w;
            }
        }
    }
}

fn plain_softmax(scores: &[f64], labels: &[u32], h: usize, losses: &mut [f64], q: &mut [f64]) {
    let rows = scores.par_chunks(h).zip(labels).zip(losses.par_iter_mut().zip(q.par_chunks_mut(h)));
    rows.for_each(|((s, &b), (loss, q))| {
        let top = s.iter().fold(f64::NEG_INFINITY, |m, &v| m.max(v));
        let mut total = 0.0;
        for (q, s) in q.iter_mut().zip(s) {
            *q = (s - top).exp();
            total += *q;
        }
        *loss = total.ln() + top - s[b as usize];
        q.iter_mut().for_each(|q| *q /= total);
        q[b as usize] -= 1.0;
    });
}

/// `X^T X` as one would write it first, `x` by features.
fn plain_gram(x: &[f64], h: usize, out: &mut [f64]) {
    out.fill(0.0);
    for line in x.chunks_exact(h) {
        for (a, out) in line.iter().zip(out.chunks_exact_mut(h)) {
            for (o, b) in out.iter_mut().zip(line) {
                *o += a * b;
            }
        }
    }
}

fn shapes() -> Vec<(&'static str, Data, usize)> {
    match std::env::var("COULOIR_DATA") {
        Ok(path) => vec![("file", read(&path), 20)],
        Err(_) => {
            vec![("news20", zipf(15_935, 62_061, 80), 20), ("rcv1", zipf(15_564, 47_236, 68), 53)]
        }
    }
}

fn products(c: &mut Criterion) {
    for (name, data, h) in shapes() {
        let (n, d) = (data.rows(), data.columns);
        let mut group = c.benchmark_group(format!("products/{name}"));
        group.throughput(Throughput::Bytes((data.indices.len() * (8 * h + 12)) as u64));
        let x: Vec<f64> = (0..h * d).map(|i| (0.7 * i as f64).sin()).collect();
        let w: Vec<f64> = (0..h * n).map(|i| (0.3 * i as f64).sin()).collect();
        let (mut scores, mut gradient) = (vec![0.0; h * n], vec![0.0; h * d]);
        for layout in [Layout::FeatureMajor, Layout::ClassMajor] {
            let operator = ScoreOperator::new(data.matrix(), h, layout);
            group.bench_function(BenchmarkId::new("scores", format!("{layout:?}")), |b| {
                b.iter(|| operator.scores(black_box(&x), &mut scores));
            });
            group.bench_function(BenchmarkId::new("adjoint", format!("{layout:?}")), |b| {
                b.iter(|| operator.adjoint(black_box(&w), &mut gradient));
            });
        }
        group.bench_function("scores/plain", |b| {
            b.iter(|| plain_scores(&data, h, black_box(&x), &mut scores));
        });
        group.bench_function("adjoint/plain", |b| {
            b.iter(|| plain_adjoint(&data, h, black_box(&w), &mut gradient));
        });
        group.finish();

        let labels: Vec<u32> = (0..n).map(|i| (i % h) as u32).collect();
        let mut losses = vec![0.0; n];
        let mut group = c.benchmark_group(format!("softmax/{name}"));
        group.throughput(Throughput::Elements((n * h) as u64));
        group.bench_function("ours", |b| {
            b.iter(|| softmax_losses(black_box(&w), &labels, h, &mut losses, &mut scores));
        });
        group.bench_function("plain", |b| {
            b.iter(|| plain_softmax(black_box(&w), &labels, h, &mut losses, &mut scores));
        });
        group.finish();

        // h (h+1) d flops over one pass through X
        let mut square = vec![0.0; h * h];
        let mut group = c.benchmark_group(format!("gram/{name}"));
        group.throughput(Throughput::Bytes((8 * h * d) as u64));
        group.bench_function("ours", |b| b.iter(|| gram(black_box(&x), d, h, &mut square)));
        group.bench_function("plain", |b| b.iter(|| plain_gram(black_box(&x), h, &mut square)));
        group.finish();
    }
}

fn exponential(c: &mut Criterion) {
    let x: Vec<f64> = (0..2048).map(|i| -0.01 * i as f64).collect();
    let mut y = x.clone();
    let mut group = c.benchmark_group("exp");
    group.throughput(Throughput::Elements(x.len() as u64));
    group.bench_function("ours", |b| {
        b.iter(|| {
            y.copy_from_slice(&x);
            exp_in_place(black_box(&mut y));
        });
    });
    group.bench_function("std", |b| {
        b.iter(|| {
            y.copy_from_slice(&x);
            black_box(&mut y).iter_mut().for_each(|y| *y = y.exp());
        });
    });
    group.finish();
}

/// `a = b + s c` over arrays that no cache holds, on all threads: 24 bytes an element.
fn bandwidth(c: &mut Criterion) {
    const LEN: usize = 16 << 20;
    let (b, c2) = (vec![1.0f64; LEN], vec![2.0f64; LEN]);
    let mut a = vec![0.0f64; LEN];
    let mut group = c.benchmark_group("memory");
    group.throughput(Throughput::Bytes(24 * LEN as u64));
    group.bench_function("triad", |bench| {
        bench.iter(|| {
            a.par_chunks_mut(1 << 16)
                .zip(b.par_chunks(1 << 16).zip(c2.par_chunks(1 << 16)))
                .for_each(|(a, (b, c))| {
                    for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
                        *a = b + 3.0 * c;
                    }
                });
        });
    });
    group.finish();
}

criterion_group! {
    name = kernels;
    config = Criterion::default().sample_size(20).measurement_time(Duration::from_secs(2))
        .warm_up_time(Duration::from_millis(500));
    targets = products, exponential, bandwidth
}
criterion_main!(kernels);
