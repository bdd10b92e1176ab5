//! Oracle calls, gradients and seconds to certified gaps on sets that are known only by their oracles: our side of
//! `scripts/bench oracles`. `oracle_calls FILE [METHOD...]` prints one line of JSON for each method.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod completion;
mod instance;
mod problems;
mod sets;

use couloir::domain::{Domain, Simplex};
use couloir::problem::SaddleProblem;
use couloir::run::{Algorithm, Flow, TracePoint, WallClock};
use couloir::solver::{CertifiedSettings, Inner};
use couloir::{Method, Solve};
use instance::Instance;
use problems::{Game, Knows, Matrix, Rows};
use serde_json::{Value, json};

const GAPS: [(&str, f64); 4] = [("0.1", 1e-1), ("0.01", 1e-2), ("0.0001", 1e-4), ("1e-06", 1e-6)];
/// Gaps of matrix completion.
const COMPLETION_GAPS: [(&str, f64); 4] =
    [("0.1", 1e-1), ("0.01", 1e-2), ("0.001", 1e-3), ("0.0001", 1e-4)];
/// Seconds for matrix completion.
const COMPLETION_SECONDS: f64 = 600.0;
/// Seconds for the corrective method, for MPCGS over atoms, and for those that stand beside them.
const SECONDS: (f64, f64, f64) = (60.0, 20.0, 3.0);
/// Our method on problems that say less of themselves.
const PLAIN: [(&str, Knows); 2] =
    [("corrective, no curvature", Knows::Response), ("corrective, no response", Knows::Nothing)];

fn report(name: &str, solve: &Solve<'_>, gaps: &[(&'static str, f64)]) -> couloir::Result<Value> {
    let mut reached: Vec<(&str, Value)> =
        gaps.iter().map(|(name, _)| (*name, Value::Null)).collect();
    let mut watch = |point: &TracePoint, _: &dyn Algorithm| {
        let (counts, other) = (point.ledger.method, point.ledger.certificate);
        // in games a call is one in each block
        let calls = (counts.lo_x + other.lo_x).max(1);
        let gradients = counts.grad_x + other.grad_x;
        for ((_, entry), (_, gap)) in reached.iter_mut().zip(gaps) {
            if entry.is_null() && point.certificate.gap <= *gap {
                *entry = json!({"calls": calls, "gradients": gradients, "seconds": point.seconds});
            }
        }
        Flow::Continue
    };
    let solution = solve.run_with(&mut watch)?;
    let certificate = solution.outcome.certificate;
    let gaps: serde_json::Map<String, Value> =
        reached.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Ok(json!({
        "method": name, "upper": certificate.upper, "lower": certificate.lower, "gaps": gaps,
        "status": solution.outcome.status.to_string(),
    }))
}

const OURS: &str = "corrective";

fn is_wanted(wanted: &[String], name: &str) -> bool {
    wanted.is_empty() || wanted.iter().any(|w| w == name)
}

fn run(
    problem: &dyn SaddleProblem,
    x_set: &dyn Domain,
    y_set: &dyn Domain,
    starts: (Vec<f64>, Option<Vec<f64>>),
    wanted: &[String],
) -> couloir::Result<()> {
    let slides = || CertifiedSettings::default().inner_x(Inner::Slide).inner_y(Inner::Slide);
    let methods: [(&str, Method, f64); 5] = [
        (OURS, Method::corrective(), SECONDS.0),
        ("mpcgs over atoms", CertifiedSettings::default().into(), SECONDS.1),
        ("mpcgs by slides", slides().into(), SECONDS.2),
        ("spfw", Method::spfw(), SECONDS.2),
        ("spafw", Method::spafw(), SECONDS.2),
    ];
    for (name, method, seconds) in methods {
        if !is_wanted(wanted, name) {
            continue;
        }
        let mut solve = Solve::new(problem, x_set, y_set)
            .method(method)
            .gap(1e-6)
            .iterations(u64::MAX)
            .seconds(seconds, WallClock::start())
            .start_x(starts.0.clone());
        if let Some(y) = &starts.1 {
            solve = solve.start_y(y.clone());
        }
        match report(name, &solve, &GAPS) {
            Ok(value) => println!("{value}"),
            // a method that cannot run here has nothing to be compared
            Err(error) if name != OURS => eprintln!("{name}: {error}"),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("oracle_calls FILE [METHOD...]")?;
    let wanted: Vec<String> = arguments.collect();
    let instance = Instance::read(&path)?;
    let shape: Vec<usize> =
        instance.words("shape").split(' ').filter_map(|w| w.parse().ok()).collect();
    if instance.words("kind") == "completion" {
        // the bench asks for no more of the largest instance
        let is_large = instance.words("sides").split(' ').any(|side| side.len() > 4);
        let problem = completion::problem(instance)?;
        let x_set = problem.x_set()?;
        let solve = Solve::new(&problem, &x_set, problem.y_set())
            .method(Method::corrective())
            .gap(if is_large { 1e-2 } else { 1e-4 })
            .seconds(COMPLETION_SECONDS, WallClock::start());
        println!("{}", report("corrective", &solve, &COMPLETION_GAPS)?);
        return Ok(());
    }
    match (instance.words("kind"), &shape[..]) {
        ("rows", [rows, columns]) => {
            let mut problem = Rows {
                matrix: Matrix::new(*rows, *columns, instance.array("matrix")),
                target: instance.array("target"),
                mu: instance.number("mu"),
                squared: instance.words("loss") == "squared",
                knows: Knows::Curvature,
            };
            let start = instance.array("start");
            let x_set = sets::make(instance.words("set"), start.clone())?;
            let y_set = Simplex::new(*rows)?;
            run(&problem, &x_set, &y_set, (start.clone(), None), &wanted)?;
            for (name, knows) in PLAIN.into_iter().filter(|(name, _)| is_wanted(&wanted, name)) {
                problem.knows = knows;
                let solve = Solve::new(&problem, &x_set, &y_set)
                    .method(Method::corrective())
                    .gap(1e-6)
                    .iterations(u64::MAX)
                    .seconds(SECONDS.0, WallClock::start())
                    .start_x(start.clone());
                println!("{}", report(name, &solve, &GAPS)?);
            }
        }
        ("game", [rows, columns]) => {
            let problem = Game { matrix: Matrix::new(*rows, *columns, instance.array("matrix")) };
            let starts = (instance.array("start"), instance.array("other_start"));
            let x_set = sets::make(instance.words("set"), starts.0.clone())?;
            let y_set = sets::make(instance.words("other"), starts.1.clone())?;
            run(&problem, &x_set, &y_set, (starts.0, Some(starts.1)), &wanted)?;
        }
        (kind, _) => return Err(format!("no instance of kind `{kind}` can be solved here").into()),
    }
    Ok(())
}
