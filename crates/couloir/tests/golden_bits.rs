//! The bits of every method, frozen: whoever moves code finds out here whether a result moved with it.
//!
//! Every method runs for a fixed number of iterations on a thin and on a wide robust problem, on the quadratic families and
//! on a problem of closures, with 1, 2 and 5 threads. `golden_bits.txt` has what came out: one line for each quantity, with a
//! digest of all bits and with some of the numbers themselves, so that a difference can be read.
//!
//! Kernels choose their instructions by the processor, and fused products round differently. The file therefore has one
//! section for each set of instructions. On a processor without a section the numbers in the file are compared to
//! 1e-12 instead, and the test says so.
//!
//! To freeze new bits on purpose: `COULOIR_GOLDEN=write cargo test -p couloir --test golden_bits`, and say in the commit why
//! they changed. The paper's methods as printed keep their bits.

mod common;

use couloir::domain::{BoxSet, Domain, L1Ball, L2Ball, Simplex};
use couloir::linalg::SparseMatrix;
use couloir::model::{GroupRobust, RobustMulticlass, RobustSettings, Scaling, SyntheticGroups};
use couloir::oracles::{Counter, OracleCounts};
use couloir::problem::{
    BlockConstants, ClosureProblem, MatrixGame, Population, QuadraticBilinear, QuadraticSum,
    SaddleProblem,
};
use couloir::run::StopRules;
use couloir::{Certificate, Method, Solution, Solve};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

/// Every method with the iterations that it runs for.
const METHODS: [(&str, u64); 12] = [
    ("certified", 80),
    ("corrective", 12),
    ("restarted", 80),
    ("mpcgs", 3),
    ("mpscgs", 1),
    ("batched", 40),
    ("spfw", 20),
    ("spafw", 20),
    ("sppfw", 20),
    ("svre", 20),
    ("extragradient", 10),
    ("apg", 40),
];

const THREADS: [usize; 3] = [1, 2, 5];
/// Entries of a vector that stand in the file beside its digest.
const SHOWN: usize = 6;
/// How close numbers must be where the instructions are not those of a section, relative to the largest of their line.
const CLOSE: f64 = 1e-12;

/// One line of the file: a digest of all bits, and numbers that tell where a difference lies.
#[derive(Clone, Debug, PartialEq)]
struct Line {
    digest: u64,
    numbers: Vec<f64>,
}

/// The lines of a section, by `problem | method | quantity`.
type Lines = BTreeMap<String, Line>;

/// FNV-1a over the bits.
fn digest(numbers: impl IntoIterator<Item = f64>) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in numbers.into_iter().flat_map(|n| n.to_bits().to_le_bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash
}

fn whole(numbers: Vec<f64>) -> Line {
    Line { digest: digest(numbers.iter().copied()), numbers }
}

/// A long vector: its digest, and entries spread over it.
fn sampled(vector: &[f64]) -> Line {
    let step = vector.len().div_ceil(SHOWN);
    let numbers = vector.iter().step_by(step.max(1)).copied().collect();
    Line { digest: digest(vector.iter().copied()), numbers }
}

fn numbers_of(certificate: &Certificate) -> Vec<f64> {
    let c = certificate;
    vec![c.gap, c.gap_x, c.gap_y, c.upper, c.lower]
}

fn counts(counts: &OracleCounts) -> Vec<f64> {
    let entry = |counter: Counter| match counter {
        Counter::Passes => counts.passes,
        counter => counts.get(counter) as f64,
    };
    Counter::ALL.map(entry).to_vec()
}

/// Everything that a run leaves, as lines.
fn lines_of(solution: &Solution) -> Vec<(&'static str, Line)> {
    let outcome = &solution.outcome;
    let trace: Vec<f64> = (outcome.trace.iter())
        .flat_map(|point| {
            let mut numbers = vec![point.iteration as f64];
            numbers.extend(numbers_of(&point.certificate));
            numbers.extend([point.bounds.schedule, point.bounds.minorant]);
            numbers.extend(counts(&point.ledger.method));
            numbers.extend(counts(&point.ledger.certificate));
            numbers
        })
        .collect();
    let bounds = vec![outcome.bounds.schedule, outcome.bounds.minorant];
    vec![
        ("x", sampled(&solution.x)),
        ("y", sampled(&solution.y)),
        ("certificate", whole(numbers_of(&outcome.certificate))),
        ("bounds", whole(bounds)),
        ("trace", Line { digest: digest(trace), numbers: vec![outcome.trace.len() as f64] }),
        ("calls by the method", whole(counts(&outcome.ledger.method))),
        ("calls for certificates", whole(counts(&outcome.ledger.certificate))),
    ]
}

struct Case {
    name: String,
    problem: Box<dyn SaddleProblem>,
    x_set: Box<dyn Domain>,
    y_set: Box<dyn Domain>,
}

/// Sparse rows with features of every frequency, drawn by arithmetic alone.
fn rows(n: usize, d: usize) -> (SparseMatrix, Vec<u32>) {
    const ROW: usize = 6;
    let mut state = 7_u64;
    let mut draw = move |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % below as u64) as usize
    };
    let block = d / ROW;
    let starts = (0..=n).map(|i| ROW * i).collect();
    let indices = (0..n * ROW).map(|p| ((p % ROW) * block + draw(block).min(draw(block))) as u32);
    let indices: Vec<u32> = indices.collect();
    let values = (0..n * ROW).map(|p| 0.25 + ((p * p) % 97) as f64 / 64.0).collect();
    let labels = (0..n).map(|i| ((i * i + i / 7) % CLASSES) as u32).collect();
    (SparseMatrix::from_rows(d, starts, indices, values).expect("rows"), labels)
}

const CLASSES: usize = 4;

fn robust(name: &str, (n, d): (usize, usize), scaling: Scaling) -> Case {
    let (rows, labels) = rows(n, d);
    let settings = RobustSettings::default().tau(15.0).scaling(scaling);
    let model = RobustMulticlass::new(rows, labels, CLASSES, settings).expect("a model");
    Case {
        name: name.to_owned(),
        x_set: Box::new(model.x_set().expect("a ball")),
        y_set: Box::new(Simplex::new(model.len()).expect("a simplex")),
        problem: Box::new(model),
    }
}

fn groups() -> Case {
    let data = SyntheticGroups {
        rows: 2000,
        features: 60,
        nonzeros: 5,
        groups: 4,
        flipped: 0.05,
        seed: 2,
    };
    let model: GroupRobust = data.model(0.5).expect("a model");
    Case {
        name: "groups".to_owned(),
        x_set: Box::new(L1Ball::new(model.dim_x(), 5.0).expect("a ball")),
        y_set: Box::new(model.y_set().clone()),
        problem: Box::new(model),
    }
}

fn quadratic_sum() -> Case {
    let (x_set, y_set) =
        (L2Ball::new(6, 1.0).expect("a ball"), Simplex::new(8).expect("a simplex"));
    let base = QuadraticBilinear::on(&x_set, &y_set).curvature(0.2, 1.0).coupling(0.7).push(0.4);
    let base = base.seed(5).build().expect("a problem");
    let sum = QuadraticSum::new(base, Population::Finite(400), 0.5, 0.1, 3).expect("a sum");
    Case {
        name: "quadratic sum".to_owned(),
        problem: Box::new(sum),
        x_set: Box::new(x_set),
        y_set: Box::new(y_set),
    }
}

/// `1/2 |x - a|^2 + <x, y> - 1/2 |y|^2`, as a user would write it.
fn closures() -> Case {
    const N: usize = 5;
    let a = |i: usize| (i as f64 + 1.0) / 3.0;
    let value = move |x: &[f64], y: &[f64]| {
        (0..N).map(|i| 0.5 * (x[i] - a(i)).powi(2) + x[i] * y[i] - 0.5 * y[i] * y[i]).sum()
    };
    let grad_x = move |x: &[f64], y: &[f64], out: &mut [f64]| {
        (0..N).for_each(|i| out[i] = x[i] - a(i) + y[i]);
    };
    let grad_y = |x: &[f64], y: &[f64], out: &mut [f64]| {
        (0..N).for_each(|i| out[i] = x[i] - y[i]);
    };
    let constants = BlockConstants::all(1.0, 1.0, 1.0, 1.0);
    let problem = ClosureProblem::new(N, N, value, grad_x, grad_y).expect("a problem");
    Case {
        name: "closures".to_owned(),
        problem: Box::new(problem.with_constants(constants).expect("constants")),
        x_set: Box::new(L1Ball::new(N, 1.0).expect("a ball")),
        y_set: Box::new(BoxSet::cube(N, -0.5, 0.75).expect("a box")),
    }
}

/// A matrix game, whose payoffs are made by arithmetic alone.
fn game() -> Case {
    let payoffs = (0..30 * 40).map(|k| ((k * k + 7 * k) % 101) as f64 / 16.0).collect();
    Case {
        name: "game".to_owned(),
        problem: Box::new(MatrixGame::from_rows(30, 40, payoffs).expect("a game")),
        x_set: Box::new(Simplex::new(30).expect("a simplex")),
        y_set: Box::new(Simplex::new(40).expect("a simplex")),
    }
}

fn cases() -> Vec<Case> {
    let families = common::families().into_iter().map(|family| Case {
        name: family.name.to_owned(),
        problem: Box::new(family.problem),
        x_set: family.x_set,
        y_set: family.y_set,
    });
    let others = [
        robust("thin robust", (1500, 90), Scaling::Dro),
        robust("thin robust, paper", (1500, 90), Scaling::Paper),
        robust("wide robust", (120, 900), Scaling::Dro),
        groups(),
        quadratic_sum(),
        closures(),
        game(),
    ];
    others.into_iter().chain(families).collect()
}

/// The lines of one case: what came out, or which kind of error refused it.
fn solve(case: &Case, name: &str, iterations: u64, threads: usize) -> Lines {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
    let method: Method = name.parse().expect("a method");
    let mut rules = StopRules::default();
    rules.iterations = Some(iterations);
    rules.relative_gap = Some(1e-14);
    let result = pool.install(|| {
        Solve::new(&*case.problem, &*case.x_set, &*case.y_set).method(method).rules(rules).run()
    });
    let key = |quantity: &str| format!("{} | {name} | {quantity}", case.name);
    match result {
        Ok(solution) => {
            lines_of(&solution).into_iter().map(|(quantity, line)| (key(quantity), line)).collect()
        }
        Err(error) => {
            let kind = format!("{error:?}");
            let kind = kind.split([' ', '(']).next().unwrap_or_default();
            Lines::from([(key(&format!("refused: {kind}")), whole(Vec::new()))])
        }
    }
}

/// The instructions that kernels choose here: the section's name.
fn instructions() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        let fused = has!("avx2") && has!("fma");
        if fused && has!("avx512f") && has!("avx512dq") && has!("avx512vl") {
            return "x86_64 avx512";
        }
        if fused { "x86_64 avx2" } else { "x86_64" }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        std::env::consts::ARCH
    }
}

fn file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden_bits.txt")
}

fn write(sections: &BTreeMap<String, Lines>) -> String {
    let mut text = String::from("# Written by tests/golden_bits.rs, which says how and when.\n");
    for (section, lines) in sections {
        writeln!(text, "\n[{section}]").expect("a string");
        for (key, line) in lines {
            let numbers: Vec<String> = line.numbers.iter().map(|n| format!("{n:?}")).collect();
            writeln!(text, "{key} = {:016x} {}", line.digest, numbers.join(" ")).expect("a string");
        }
    }
    text
}

fn read(text: &str) -> BTreeMap<String, Lines> {
    let mut sections: BTreeMap<String, Lines> = BTreeMap::new();
    let mut current = String::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            current = name.to_owned();
            continue;
        }
        let (key, rest) = line.split_once(" = ").expect("a key and its line");
        let mut parts = rest.split_whitespace();
        let digest = u64::from_str_radix(parts.next().expect("a digest"), 16).expect("a digest");
        let numbers = parts.map(|n| n.parse().expect("a number")).collect();
        let line = Line { digest, numbers };
        sections.entry(current.clone()).or_default().insert(key.to_owned(), line);
    }
    sections
}

/// Where two lines differ by more than rounding may.
fn far_apart(there: &Line, here: &Line) -> bool {
    let size = there.numbers.iter().filter(|n| n.is_finite()).fold(0.0, |m: f64, n| m.max(n.abs()));
    let close = |a: &f64, b: &f64| a == b || (a - b).abs() <= CLOSE * size;
    there.numbers.len() != here.numbers.len()
        || !there.numbers.iter().zip(&here.numbers).all(|(a, b)| close(a, b))
}

#[test]
fn every_method_gives_the_bits_that_it_gave_before() {
    let known: Vec<&str> = Method::all().map(|method| method.name()).collect();
    assert_eq!(METHODS.map(|(name, _)| name).to_vec(), known, "a method whose bits are not frozen");
    let mut found = Lines::new();
    for case in cases() {
        for (method, iterations) in METHODS {
            let one = solve(&case, method, iterations, THREADS[0]);
            for threads in &THREADS[1..] {
                let many = solve(&case, method, iterations, *threads);
                assert_eq!(one, many, "{} by {method} on {threads} threads", case.name);
            }
            found.extend(one);
        }
    }
    let text = std::fs::read_to_string(file()).unwrap_or_default();
    let mut sections = read(&text);
    let section = instructions();
    if std::env::var_os("COULOIR_GOLDEN").is_some_and(|value| value == "write") {
        sections.insert(section.to_owned(), found);
        std::fs::write(file(), write(&sections)).expect("the data file can be written");
        return;
    }
    let (golden, exact) = match sections.get(section) {
        Some(golden) => (golden, true),
        None => {
            let (other, golden) = sections.iter().next_back().expect("a section");
            #[allow(clippy::print_stderr)]
            {
                eprintln!(
                    "!! golden_bits.txt has no section for {section}: numbers are compared to {CLOSE:e} with those of {other}"
                );
            }
            (golden, false)
        }
    };
    let keys = |lines: &Lines| lines.keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(golden), keys(&found), "the cases themselves differ");
    let differs =
        |there: &Line, here: &Line| if exact { there != here } else { far_apart(there, here) };
    let different: Vec<String> = (golden.iter().zip(found.values()))
        .filter(|((_, there), here)| differs(there, here))
        .map(|((key, there), here)| format!("{key}\n  before {there:x?}\n  now    {here:x?}"))
        .collect();
    assert!(
        different.is_empty(),
        "{} of {} lines differ:\n{}",
        different.len(),
        golden.len(),
        different.join("\n")
    );
}
