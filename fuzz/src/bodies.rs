//! What a fuzzer throws bytes at, a function for each reader. The tests of the command run the same functions on bytes of
//! their own (`crates/couloir-cli/tests/readers_never_panic.rs`).
//!
//! Each must return for any bytes: no panic, no endless loop, no more memory than the limits allow.

use couloir::domain::{Domain, L2Ball, Simplex};
use couloir::linalg::SparseMatrix;
use couloir::model::{Classifier, ModelLimits, RobustMulticlass, RobustSettings};
use couloir::problem::{QuadraticBilinear, SaddleProblem};
use couloir::run::Checkpoints;
use couloir::solver::{BatchedSettings, MpcgsSettings};
use couloir::{Method, Solve};
use couloir_data::libsvm::{ReadOptions, read, read_from, write_to};
use couloir_report::comparison::{figure, page};
use couloir_report::results::{Results, ResultsLimits};
use couloir_report::summary::summarise;
use std::io::{Cursor, Read, Write};
use std::path::Path;
use std::sync::OnceLock;

/// Limits that a few bytes can reach.
fn small() -> ReadOptions {
    ReadOptions::default().max_line(4096).max_text(1 << 22).max_memory(1 << 22)
}

/// LIBSVM text, or whatever the first bytes make of it. What is read can be written and read again to the same.
pub fn text(bytes: &[u8]) {
    let read = |bytes: Vec<u8>| read_from(Cursor::new(bytes), "bytes", &small());
    let data = match read(bytes.to_vec()) {
        Ok(data) => data,
        Err(error) => return check_message(&error.to_string()),
    };
    let mut again = Vec::new();
    write_to(&mut again, &data).expect("memory takes what is written");
    let options = ReadOptions::default().features(data.features);
    let second = read_from(Cursor::new(again), "bytes", &options).expect("what was written");
    assert_eq!(second, data);
}

/// bzip2 and gzip: the bytes as they are, from a file and from a stream, and the bytes packed, then damaged by their own
/// last ones. A file and a stream give the same.
pub fn compressed(bytes: &[u8]) {
    with_file(bytes, |path| {
        let by_path = read(path, &small());
        let by_stream = read_from(Cursor::new(bytes.to_vec()), "bytes", &small());
        assert_eq!(by_path.as_ref().ok(), by_stream.as_ref().ok());
        if let Err(error) = by_path {
            check_message(&error.to_string());
        }
    });
    let Some(([kind, place @ .., flip], text)) = bytes.split_last_chunk::<5>().map(|(t, c)| (c, t))
    else {
        return;
    };
    let mut packed = Vec::new();
    let whole = if kind % 2 == 0 {
        bzip2::read::BzEncoder::new(text, bzip2::Compression::fast()).read_to_end(&mut packed)
    } else {
        flate2::read::GzEncoder::new(text, flate2::Compression::fast()).read_to_end(&mut packed)
    };
    whole.expect("memory takes what is packed");
    let place = u32::from_le_bytes([place[0], place[1], place[2], 0]) as usize % packed.len();
    packed[place] ^= flip;
    with_file(&packed, |path| {
        let by_path = read(path, &small()).ok();
        let by_stream = read_from(Cursor::new(packed.clone()), "bytes", &small()).ok();
        assert_eq!(by_path, by_stream);
    });
}

/// A model file: as it is, and as the header and the numbers of a file that is right in all else. What is read can be
/// written and read again to the same.
pub fn model(bytes: &[u8]) {
    load_model(bytes);
    let header = String::from_utf8_lossy(bytes);
    let header = header.split('\0').next().unwrap_or_default();
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(header.as_bytes());
    file.extend_from_slice(&[0; 48]);
    load_model(&file);
}

fn load_model(bytes: &[u8]) {
    with_file(bytes, |path| {
        let limits = ModelLimits::default().bytes(1 << 22).header(1 << 16);
        match Classifier::load(path, &limits) {
            Err(error) => check_message(&error.to_string()),
            Ok(model) => {
                model.save(path).expect("a model that was read");
                let again =
                    Classifier::load(path, &ModelLimits::default()).expect("what was saved");
                assert_eq!(again.labels(), model.labels());
                assert_eq!(again.weights(), model.weights());
            }
        }
    });
}

/// Results, and all that is made of them: as they are, and behind a first line that is right.
pub fn results(bytes: &[u8]) {
    show_results(bytes);
    let mut whole = SETTINGS.as_bytes().to_vec();
    whole.extend_from_slice(bytes);
    show_results(&whole);
}

/// The first lines of a file of results.
pub const SETTINGS: &str = concat!(
    r#"{"kind":"comparison","version":"1","objective":"dro","tau":1,"level":1,"start":"uniform","#,
    r#""time_budget":1,"seed":0,"threads":1,"machine":{}}"#,
    "\n",
    r#"{"kind":"data","data":"a","n":1,"d":1,"classes":2,"entries":1,"tau":1,"scale":1}"#,
    "\n"
);

fn show_results(bytes: &[u8]) {
    let limits = ResultsLimits::within(1 << 22).runs(20);
    let (results, warnings) = match Results::read(bytes, &limits) {
        Ok(read) => read,
        Err(error) => return check_message(&error.to_string()),
    };
    assert!(warnings.len() <= 21);
    assert!(summarise(&results).len() <= results.runs.len());
    // nothing to draw is an answer too
    let _ = figure(&results).svg();
    let page = page(&results).html();
    assert_eq!(page.matches("<script").count(), page.matches("</script").count());
    let text = results.to_text().expect("what was read");
    // what is not finite, and runs that were kept without all of their points, come back as what they are
    Results::parse(&text).expect("what was written");
}

/// A checkpoint: the bytes as they are, and as a piece of the entries of a real one whose sum is right. What can be
/// loaded goes on.
pub fn checkpoint(bytes: &[u8]) {
    with_file(bytes, |path| {
        if let Err(error) = Checkpoints::verify(path) {
            check_message(&error.to_string());
        }
    });
    let Some(([method, place @ ..], piece)) = bytes.split_first_chunk::<3>() else { return };
    let run = *method as usize % RUNS.len();
    let mut whole = real_checkpoint(run).to_vec();
    let end = whole.len() - TAIL;
    let place = HEAD + u16::from_le_bytes(*place) as usize % (end - HEAD);
    for (byte, new) in whole[place..end].iter_mut().zip(piece) {
        *byte = *new;
    }
    let sum = crc32fast::hash(&whole[..whole.len() - 4]);
    let sum_at = whole.len() - 4;
    whole[sum_at..].copy_from_slice(&sum.to_le_bytes());
    with_file(&whole, |path| {
        if let Err(error) = go_on(run, &Checkpoints::resume(path), 8) {
            check_message(&error.to_string());
        }
    });
}

/// Bytes before and after the entries of a checkpoint.
const HEAD: usize = 12;
const TAIL: usize = 12;
/// Methods, and whether they fit a classifier, where points are kept in other ways.
pub const RUNS: [(&str, bool); 8] = [
    ("certified", false),
    ("mpcgs", false),
    ("spfw", false),
    ("extragradient", false),
    ("apg", false),
    ("certified", true),
    ("batched", true),
    ("svre", true),
];

/// Solves a small problem up to so many iterations.
fn go_on(run: usize, plan: &Checkpoints, iterations: u64) -> couloir::Result<()> {
    let (name, is_classifier) = RUNS[run];
    let method = match name {
        // a forged state may ask for far more than it is worth
        "mpcgs" => MpcgsSettings::default().inner_budget(10_000).into(),
        "batched" => BatchedSettings::default().first_batch(3).into(),
        _ => name.parse::<Method>()?,
    };
    if is_classifier {
        let model = classifier()?;
        return solve(&model, &model.x_set()?, model.y_set(), method, plan, iterations);
    }
    let (x_set, y_set) = (L2Ball::new(5, 1.0)?, Simplex::new(4)?);
    let problem = QuadraticBilinear::on(&x_set, &y_set).build()?;
    solve(&problem, &x_set, &y_set, method, plan, iterations)
}

fn solve(
    problem: &dyn SaddleProblem,
    x_set: &dyn Domain,
    y_set: &dyn Domain,
    method: Method,
    plan: &Checkpoints,
    iterations: u64,
) -> couloir::Result<()> {
    let solve = Solve::new(problem, x_set, y_set).method(method).gap(1e-12);
    let solution = solve.iterations(iterations).checkpoints(plan.clone()).run()?;
    assert_eq!((solution.x.len(), solution.y.len()), (problem.dim_x(), problem.dim_y()));
    Ok(())
}

fn classifier() -> couloir::Result<RobustMulticlass> {
    let (n, d, classes) = (8, 4, 2);
    let starts = (0..=n).map(|i| 2 * i).collect();
    let indices = (0..n).flat_map(|i| [i as u32 % 2, 2 + (i as u32 / 2) % 2]).collect();
    let values = (0..2 * n).map(|p| 1.0 + (p as f64).sin()).collect();
    let rows = SparseMatrix::from_rows(d, starts, indices, values)?;
    let labels = (0..n).map(|i| (i as u32 / 3) % 2).collect();
    RobustMulticlass::new(rows, labels, classes, RobustSettings::default().tau(3.0))
}

/// The bytes of a checkpoint after five iterations.
fn real_checkpoint(run: usize) -> &'static [u8] {
    static REAL: [OnceLock<Vec<u8>>; RUNS.len()] = [const { OnceLock::new() }; RUNS.len()];
    REAL[run].get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("checkpoint");
        go_on(run, &Checkpoints::to(&path), 5).expect("a solve");
        std::fs::read(&path).expect("a checkpoint")
    })
}

/// A message that a terminal can show: not empty, and without an end.
fn check_message(message: &str) {
    assert!(!message.is_empty() && message.len() < 2000, "{message}");
}

/// Runs on a file with these bytes, in memory where there is such a folder.
fn with_file(bytes: &[u8], run: impl FnOnce(&Path)) {
    let memory = Path::new("/dev/shm");
    let file = if memory.is_dir() {
        tempfile::NamedTempFile::new_in(memory)
    } else {
        tempfile::NamedTempFile::new()
    };
    let mut file = file.expect("a file");
    file.write_all(bytes).expect("writing");
    run(file.path());
}
