//! Practical MPSCGS against certified MPCGS on a finite sum of a million components: component
//! gradients until the certified gap is a tenth of the first one, in one run.
//!
//! Certificates are counted for neither; their number is printed. For certified MPCGS a gradient is n
//! component gradients.
#![allow(clippy::print_stdout, missing_docs)]

use couloir::domain::L2Ball;
use couloir::model::SyntheticGroups;
use couloir::problem::SaddleProblem;
use couloir::run::{Algorithm, Flow, StopRules, TracePoint, WallClock};
use couloir::{Method, Result, Solve};

const ROWS: usize = 1_000_000;

fn main() -> Result<()> {
    // cargo test --benches calls with --test: then a small size only shows that it runs
    let quick = std::env::args().any(|a| a == "--test");
    let rows = if quick { 20_000 } else { ROWS };
    let data =
        SyntheticGroups { rows, features: 2000, nonzeros: 10, groups: 8, flipped: 0.05, seed: 1 };
    let model = data.model(0.1)?;
    let x_set = L2Ball::new(model.dim_x(), 20.0)?;
    println!("{rows} rows of 10 of 2,000 features in 8 groups; |x| <= 20");
    println!(
        "{:<11} {:>9} {:>12} {:>18} {:>8} {:>26}",
        "method", "share", "gap", "component grads", "seconds", "certificate grads (full)"
    );
    for share in [0.1, 0.01] {
        let mut spent = Vec::new();
        for method in [Method::certified(), Method::mpscgs()] {
            let mut rules = StopRules::default();
            rules.relative_gap = Some(share);
            let mut nobody = |_: &TracePoint, _: &dyn Algorithm| Flow::Continue;
            let outcome = Solve::new(&model, &x_set, model.y_set())
                .method(method.clone())
                .rules(rules)
                .run_with(&WallClock::start(), &mut nobody)?
                .outcome;
            let counts = outcome.ledger.method;
            let name = if matches!(method, Method::Certified(_)) { "certified" } else { "mpscgs" };
            let components = counts.component_grads;
            spent.push(components as f64);
            println!(
                "{name:<11} {share:>9} {:>12.3e} {components:>18} {:>8.2} {:>26}   {}",
                outcome.certificate.gap,
                outcome.seconds,
                outcome.ledger.certificate.grad_x,
                outcome.status
            );
        }
        println!("mpscgs needs {:.3} of certified's component gradients", spent[1] / spent[0]);
    }
    Ok(())
}
