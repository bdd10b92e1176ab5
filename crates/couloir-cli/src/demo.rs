//! `couloir demo`: two small saddle problems, both forms of MPCGS, one table.

use crate::values::positive;
use anyhow::Result;
use comfy_table::{CellAlignment, Table, presets};
use couloir::domain::{Domain, L2Ball, NuclearBall, Simplex};
use couloir::problem::QuadraticBilinear;
use couloir::run::{Algorithm, Flow, StopRules, TracePoint, WallClock};
use couloir::solver::CertifiedSettings;
use couloir::{Inner, Method, Solution, Solve};
use std::io::Write;

#[derive(clap::Args)]
pub struct Options {
    /// Stop at this share of the first gap
    #[arg(long, default_value_t = 1e-6, value_name = "SHARE", value_parser = positive, allow_hyphen_values = true)]
    tol: f64,
    /// Seconds that one run may take
    #[arg(long, default_value_t = 4.0, value_name = "SECONDS", value_parser = positive, allow_hyphen_values = true)]
    max_time: f64,
    /// Seed of the random problems
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

struct Example {
    title: &'static str,
    x_set: Box<dyn Domain>,
    y_set: Box<dyn Domain>,
    problem: QuadraticBilinear,
}

fn examples(seed: u64) -> Result<Vec<Example>> {
    let make = |title, x_set: Box<dyn Domain>, y_set: Box<dyn Domain>, mu: (f64, f64), coupling| {
        let problem = QuadraticBilinear::on(&*x_set, &*y_set)
            .curvature(mu.0, mu.1)
            .coupling(coupling)
            .seed(seed)
            .build()?;
        Ok::<_, anyhow::Error>(Example { title, x_set, y_set, problem })
    };
    Ok(vec![
        make(
            "a game on a ball (dimension 200) and a simplex (300), blocks of one scale",
            Box::new(L2Ball::new(200, 1.0)?),
            Box::new(Simplex::new(300)?),
            (0.0, 1.0),
            1.5,
        )?,
        make(
            "a nuclear ball (10 x 80) and a simplex (200), y curved 10,000 times more than x",
            Box::new(NuclearBall::new(10, 80, 1.0)?),
            Box::new(Simplex::new(200)?),
            (0.01, 100.0),
            1.0,
        )?,
    ])
}

pub fn run(options: &Options, out: &mut dyn Write) -> Result<()> {
    writeln!(out, "min over x in X, max over y in Y of f(x, y), three ways\n")?;
    for example in examples(options.seed)? {
        writeln!(out, "{}", example.title)?;
        let mut table = Table::new();
        table.load_preset(presets::ASCII_MARKDOWN);
        table.set_header([
            "method",
            "ended",
            "iterations",
            "certified gap",
            "true gap",
            "bound",
            "gradients",
            "LO calls",
            "proxes",
            "seconds",
        ]);
        for column in 2..10 {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        let sliding = Method::Certified(CertifiedSettings::default().inner(Inner::Slide));
        for (name, method) in [
            ("printed", Method::printed()),
            ("certified (slide)", sliding),
            ("certified", Method::certified()),
        ] {
            let solution = solve(&example, method, options)?;
            let o = &solution.outcome;
            let (x_set, y_set) = (&*example.x_set, &*example.y_set);
            let truth = example.problem.exact_gap(x_set, y_set, &solution.x, &solution.y)?;
            let bound = o.bounds.schedule.min(o.bounds.minorant);
            table.add_row([
                name.to_owned(),
                o.status.to_string(),
                o.iterations.to_string(),
                format!("{:.1e}", o.certificate.gap),
                format!("{truth:.1e}"),
                format!("{bound:.1e}"),
                o.ledger.method.grad_x.to_string(),
                (o.ledger.method.lo() + o.ledger.certificate.lo()).to_string(),
                (o.ledger.method.prox_x + o.ledger.method.prox_y).to_string(),
                format!("{:.2}", o.seconds),
            ]);
        }
        writeln!(out, "{table}\n")?;
    }
    writeln!(
        out,
        "certified gap: proved at the point returned; true gap: from the known saddle point;"
    )?;
    writeln!(
        out,
        "bound: what theory says of the last iterate (docs/theory.md). `printed` and `slide` never project."
    )?;
    Ok(())
}

fn solve(example: &Example, method: Method, options: &Options) -> Result<Solution> {
    let mut rules = StopRules::default();
    rules.relative_gap = Some(options.tol);
    rules.seconds = Some(options.max_time);
    rules.iterations = None;
    let mut nobody = |_: &TracePoint, _: &dyn Algorithm| Flow::Continue;
    Ok(Solve::new(&example.problem, &*example.x_set, &*example.y_set)
        .method(method)
        .rules(rules)
        .run_with(&WallClock::start(), &mut nobody)?)
}
