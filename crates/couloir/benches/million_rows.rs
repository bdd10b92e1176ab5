//! Progressive batching against certified MPCGS on finite sums of a million components: component gradients
//! until the certified gap is a tenth of the first one, over several data sets and seeds of the batches, in
//! one run.
//!
//! Certificates are counted for neither; their number is printed. The growth of the batches was chosen on
//! data set 1 with seed 0: the other rows are the ones to believe.
#![allow(clippy::print_stdout, missing_docs)]

use couloir::domain::L2Ball;
use couloir::model::SyntheticGroups;
use couloir::problem::SaddleProblem;
use couloir::run::{Outcome, WallClock};
use couloir::solver::BatchedSettings;
use couloir::{Method, Result, Solve};

const ROWS: usize = 1_000_000;

fn main() -> Result<()> {
    // cargo test --benches calls with --test: then a small size only shows that it runs
    let quick = std::env::args().any(|a| a == "--test");
    let rows = if quick { 20_000 } else { ROWS };
    println!(
        "{rows} rows of 10 of 2,000 features in 8 groups, |x| <= 20, to a tenth of the first gap"
    );
    println!("component gradients (seconds, whole gradients for certificates)");
    let mut ratios = Vec::new();
    for data in 1..=4 {
        let (features, nonzeros, groups) = (2000, 10, 8);
        let set = SyntheticGroups { rows, features, nonzeros, groups, flipped: 0.05, seed: data };
        let model = set.model(0.1)?;
        let x_set = L2Ball::new(model.dim_x(), 20.0)?;
        let solve = |method: Method| -> Result<Outcome> {
            let solve = Solve::new(&model, &x_set, model.y_set()).method(method).relative_gap(0.1);
            Ok(solve.clock(WallClock::start()).run()?.outcome)
        };
        let certified = solve(Method::certified())?;
        println!("data {data}: certified {}", cost(&certified));
        for seed in 0..3 {
            let batched = solve(BatchedSettings::default().seed(seed).into())?;
            let ratio = components(&batched) / components(&certified);
            println!("data {data}, seed {seed}: batched {}: {ratio:.3}", cost(&batched));
            ratios.push(ratio);
        }
    }
    ratios.sort_by(f64::total_cmp);
    let (median, worst) = (ratios[ratios.len() / 2], ratios[ratios.len() - 1]);
    let within = ratios.iter().filter(|r| **r <= 1.0 / 3.0).count();
    println!(
        "ratio: median {median:.3}, worst {worst:.3}, {within} of {} within 1/3",
        ratios.len()
    );
    Ok(())
}

fn components(outcome: &Outcome) -> f64 {
    outcome.ledger.method.component_grads as f64
}

fn cost(outcome: &Outcome) -> String {
    let whole = outcome.ledger.certificate.grad_x;
    let status = outcome.status;
    format!("{:>8} ({:.2} s, {whole}, {status})", components(outcome), outcome.seconds)
}
