//! Robust matrix completion: ratings of 600 users for 400 films, of which every twentieth is known. The matrix is found as thin
//! factors, with a certificate, and predicts ratings that were held out.
#![allow(clippy::print_stdout)]

use couloir::linalg::ObservedEntries;
use couloir::model::RobustCompletion;
use couloir::model::loss::Squared;
use couloir::model::uncertainty::ChiSquare;
use couloir::random::Streams;
use couloir::run::WallClock;
use couloir::{Method, Solve};
use std::sync::Arc;

const USERS: usize = 600;
const FILMS: usize = 400;
const RANK: usize = 3;
const RATINGS: usize = 12_000;
const HELD_OUT: usize = 2_000;

fn main() -> couloir::Result<()> {
    let mut numbers = Streams::new(0).stream("ratings");
    let mut uniform = || numbers.below(1 << 53) as f64 / (1u64 << 53) as f64 - 0.5;
    let taste: Vec<f64> = (0..USERS * RANK).map(|_| uniform()).collect();
    let kind: Vec<f64> = (0..FILMS * RANK).map(|_| uniform()).collect();
    let rating = |i: usize, j: usize| -> f64 {
        (0..RANK).map(|l| 12.0 * taste[i * RANK + l] * kind[j * RANK + l]).sum()
    };
    let mut places = Streams::new(0).stream("places");
    let mut place = |size: usize| places.below(size as u64) as u32;
    let all: Vec<(u32, u32)> =
        (0..RATINGS + HELD_OUT).map(|_| (place(USERS), place(FILMS))).collect();
    let (seen, held) = all.split_at(RATINGS);
    let values = |seen: &[(u32, u32)]| -> Vec<f64> {
        seen.iter().map(|&(i, j)| rating(i as usize, j as usize)).collect()
    };

    let (rows, columns) = seen.iter().copied().unzip();
    let entries = ObservedEntries::new(USERS, FILMS, rows, columns)?;
    let uncertainty = Arc::new(ChiSquare::new(RATINGS, 1.0)?);
    let tau = (USERS as f64 * FILMS as f64 * RANK as f64).sqrt();
    let problem = RobustCompletion::new(
        Arc::new(Squared),
        uncertainty,
        Box::new(entries),
        values(seen),
        tau,
    )?;
    let solution = Solve::new(&problem, &problem.x_set()?, problem.y_set())
        .method(Method::corrective())
        .gap(1e-3)
        .seconds(60.0, WallClock::start())
        .run()?;

    let certificate = solution.outcome.certificate;
    let factors = solution.factors.unwrap_or_default();
    println!(
        "{}: robust loss in [{:.4}, {:.4}]",
        solution.outcome.status, certificate.lower, certificate.upper
    );
    println!(
        "rank {}, {} linear minimisations",
        factors.rank(),
        solution.outcome.ledger.method.lo_x
    );
    let truth = values(held);
    let squares = |predicted: &dyn Fn(usize, usize) -> f64| -> f64 {
        let missed = held
            .iter()
            .zip(&truth)
            .map(|(&(i, j), t)| (predicted(i as usize, j as usize) - t).powi(2));
        (missed.sum::<f64>() / HELD_OUT as f64).sqrt()
    };
    let mean = values(seen).iter().sum::<f64>() / RATINGS as f64;
    println!(
        "error on held-out ratings {:.3}, of the mean {:.3}",
        squares(&|i, j| factors.entry(i, j)),
        squares(&|_, _| mean)
    );
    Ok(())
}
