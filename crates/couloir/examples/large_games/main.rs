//! Games whose strategies are paths and placements: what it takes to certify them.
//!
//! ```text
//! cargo run --release -p couloir --example large_games [GAP]
//! ```
#![allow(clippy::print_stdout)]

mod problems;

use couloir::model::games::Game;
use couloir::run::WallClock;
use problems::{robust_path, security};

fn main() -> couloir::Result<()> {
    let gap = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1e-4);
    let games = [
        ("robust path 40 x 40, 50 scenarios", robust_path(40, 50)),
        ("security on 1,984 arcs", security(32, 40.0)),
        ("Blotto, 20 soldiers on 8 fields", Game::blotto(20, 8)?),
    ];
    for (name, game) in games {
        let solution = game.solver().gap(gap).clock(WallClock::start()).run()?;
        let outcome = &solution.outcome;
        let calls = outcome.ledger.method + outcome.ledger.certificate;
        println!(
            "{name}: {}, value {:.6} to {:.6}, {} iterations, oracle calls {} of x and {} of y, {:.1} s",
            outcome.status,
            outcome.certificate.lower,
            outcome.certificate.upper,
            outcome.iterations,
            calls.lo_x,
            calls.lo_y,
            outcome.seconds
        );
    }
    Ok(())
}
