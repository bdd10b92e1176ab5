//! Checkpoints as a user meets them: fits that go on with the same bits, checkpoints of another run, damaged ones,
//! ones that cannot be written. (Every method on every kind of set, and every entry, are tested beside the code.)

use couloir::error::CheckpointError;
use couloir::linalg::SparseMatrix;
use couloir::model::{Fitted, RobustFit, Start};
use couloir::run::{
    Algorithm, Cancel, Checkpoints, Clock, Flow, MemoryLimit, NoClock, Observer, Status, TracePoint,
};
use couloir::solver::{BatchedSettings, Need};
use couloir::{Error, Method, Result};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

const CLASSES: usize = 3;

fn data(shift: f64) -> (SparseMatrix, Vec<u32>) {
    let (n, d) = (90, 20);
    let starts = (0..=n).map(|i| 3 * i).collect();
    let indices = (0..n).flat_map(|i| [i % 6, 6 + i % 5, 11 + i % 9].map(|j| j as u32)).collect();
    let values = (0..3 * n).map(|k| 1.0 + (k as f64 + shift).sin()).collect();
    let labels = (0..n).map(|i| ((i * i + i / 7) % CLASSES) as u32).collect();
    (SparseMatrix::from_rows(d, starts, indices, values).expect("rows"), labels)
}

/// Ends after an iteration of one's choice, and keeps what it hears of checkpoints.
#[derive(Default)]
struct Ends {
    at: Option<u64>,
    heard: Vec<Result<()>>,
}

impl Observer for Ends {
    fn observe(&mut self, point: &TracePoint, _: &dyn Algorithm) -> Flow {
        if self.at.is_some_and(|at| point.iteration >= at) { Flow::Stop } else { Flow::Continue }
    }

    fn checkpointed(&mut self, written: Result<()>) {
        self.heard.push(written);
    }
}

fn run_on(fit: &RobustFit, shift: f64, clock: &dyn Clock, watch: &mut Ends) -> Result<Fitted> {
    let (rows, labels) = data(shift);
    fit.run(rows, labels, CLASSES, clock, watch)
}

fn run(fit: &RobustFit) -> Result<Fitted> {
    run_on(fit, 0.0, &NoClock, &mut Ends::default())
}

fn fit() -> RobustFit {
    RobustFit::default().tau(Some(20.0)).tol(1e-5).max_iters(Some(60)).seed(3)
}

/// Stops a fit at an iteration; leaves its checkpoint.
fn stop(fit: &RobustFit, at: u64, file: &Path) -> Fitted {
    let fit = fit.clone().checkpoints(Checkpoints::to(file));
    let mut watch = Ends { at: Some(at), ..Ends::default() };
    let fitted = run_on(&fit, 0.0, &NoClock, &mut watch).expect("a fit");
    assert_eq!(watch.heard, [Ok(())], "one checkpoint, at the end");
    fitted
}

#[test]
fn a_fit_goes_on_with_the_same_bits_whatever_the_method_and_however_often_it_is_stopped() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("fit.checkpoint");
    for method in Method::all().filter(|m| !m.needs(Need::Polytopes) && !m.needs(Need::Bilinear)) {
        let name = method.name();
        // the printed constants of mpscgs ask for all rows, many times
        let (method, limit) = match name {
            "batched" => (BatchedSettings::default().first_batch(8).into(), 30),
            "mpscgs" => (method, 3),
            _ => (method, 30),
        };
        let fit = fit().method(method).max_iters(Some(limit)).intercept(true);
        let whole = run(&fit).expect("a fit");
        let first = stop(&fit, 1, &file);
        assert!(first.outcome().iterations >= 1);
        let mut at = 2;
        let resumed = loop {
            let plan = fit.clone().checkpoints(Checkpoints::resume(&file));
            let mut watch = Ends { at: Some(at), ..Ends::default() };
            let fitted = run_on(&plan, 0.0, &NoClock, &mut watch).expect("a fit");
            if fitted.outcome().status != Status::StoppedByObserver {
                break fitted;
            }
            at += 5;
        };
        assert!(at > 2 || limit == 3, "{name}");
        assert_eq!(resumed.solution(), whole.solution(), "{name}");
        // what a model file tells of the fit: certificate, iterations, rank
        let info = |fitted: &Fitted| {
            let labels = ["a", "b", "c"].map(str::to_owned).to_vec();
            fitted.classifier(labels).expect("a classifier").info().clone()
        };
        assert_eq!(info(&resumed), info(&whole), "{name}");
    }
}

#[test]
fn a_fit_goes_on_with_another_tolerance_and_other_limits() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("fit.checkpoint");
    let rough = fit().tol(1e-1).checkpoints(Checkpoints::to(&file));
    assert_eq!(run(&rough).expect("a fit").outcome().status, Status::Solved);
    let exact = run(&fit().checkpoints(Checkpoints::resume(&file))).expect("a fit");
    assert_eq!(exact.solution(), run(&fit()).expect("a fit").solution());
    // what is reached already ends at once
    let again = run(&rough.checkpoints(Checkpoints::resume(&file))).expect("a fit");
    assert_eq!(again.outcome().iterations, exact.outcome().iterations);
    assert_eq!(again.outcome().status, Status::Solved);
}

#[test]
fn a_cancelled_fit_keeps_its_best_point_and_its_state() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("fit.checkpoint");
    let cancel = Cancel::default();
    cancel.raise();
    let plan = fit().checkpoints(Checkpoints::to(&file)).cancel(Some(cancel));
    let cancelled = run(&plan).expect("a fit");
    assert_eq!(cancelled.outcome().status, Status::Cancelled);
    assert!(cancelled.gap().is_finite());
    let resumed = run(&fit().checkpoints(Checkpoints::resume(&file))).expect("a fit");
    assert_eq!(resumed.solution(), run(&fit()).expect("a fit").solution());
}

#[test]
fn a_fit_that_took_too_much_memory_keeps_its_state_and_goes_on_with_another_limit() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("fit.checkpoint");
    let whole = run(&fit()).expect("a fit");
    let taken = AtomicU64::new(0); // a byte more at every look
    let limit = MemoryLimit::new(1, move || taken.fetch_add(1, Ordering::Relaxed));
    let plan = fit().checkpoints(Checkpoints::to(&file)).max_memory(Some(limit));
    let ended = run(&plan).expect("a fit");
    assert_eq!((ended.outcome().status, ended.outcome().iterations), (Status::MemoryLimit, 2));
    assert!(ended.gap().is_finite() && ended.gap() > whole.gap());
    let more = MemoryLimit::new(2, || 2);
    let plan = fit().checkpoints(Checkpoints::resume(&file)).max_memory(Some(more));
    assert_eq!(run(&plan).expect("a fit").solution(), whole.solution());
}

fn error_of(result: Result<Fitted>) -> CheckpointError {
    match result {
        Err(Error::Checkpoint { error, .. }) => error,
        Err(other) => panic!("{other}"),
        Ok(fitted) => panic!("{}", fitted.outcome().status),
    }
}

#[test]
fn a_checkpoint_of_other_data_or_settings_is_refused_with_what_differs() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("fit.checkpoint");
    stop(&fit(), 2, &file);
    let on_other = |fit: RobustFit, shift: f64| {
        let fit = fit.checkpoints(Checkpoints::resume(&file));
        let error = error_of(run_on(&fit, shift, &NoClock, &mut Ends::default())).to_string();
        assert!(error.starts_with("is of another run: ") && error.lines().count() == 1, "{error}");
        error
    };
    let error = on_other(fit().tau(Some(21.0)), 0.0);
    assert!(error.contains("tau is 20 in the checkpoint and 21 here"), "{error}");
    let error = on_other(fit().level(2.0), 0.0);
    assert!(error.contains("level is 1 in the checkpoint and 2 here"), "{error}");
    let error = on_other(fit().method(Method::spfw()), 0.0);
    assert!(error.contains("method is certified in the checkpoint and spfw here"), "{error}");
    let error = on_other(fit().start(Start::Vertex), 0.0);
    assert!(error.contains("start of y is the centre of its set in the checkpoint and"), "{error}");
    let error = on_other(fit().intercept(true), 0.0);
    assert!(error.contains("intercept is none in the checkpoint and"), "{error}");
    let error = on_other(fit(), 1e-9);
    assert!(error.contains("entries (SHA-256) is "), "{error}");
    // methods that draw nothing have no seed
    stop(&fit().method(Method::svre()), 2, &file);
    let error = on_other(fit().method(Method::svre()).seed(4), 0.0);
    assert_eq!(error, "is of another run: seed is 3 in the checkpoint and 4 here");
}

#[test]
fn damaged_checkpoints_are_refused_wherever_the_damage_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("fit.checkpoint");
    stop(&fit(), 3, &file);
    let good = std::fs::read(&file).expect("a checkpoint");
    Checkpoints::verify(&file).expect("a good checkpoint");
    let resume = |bytes: &[u8]| {
        std::fs::write(&file, bytes).expect("writing");
        let error = error_of(run(&fit().checkpoints(Checkpoints::resume(&file))));
        assert!(Checkpoints::verify(&file).is_err(), "{error}");
        assert_eq!(error.to_string().lines().count(), 1);
        error
    };
    assert_eq!(resume(b""), CheckpointError::NotACheckpoint);
    assert_eq!(resume(b"not a checkpoint at all"), CheckpointError::NotACheckpoint);
    for length in (8..good.len()).step_by(good.len() / 40) {
        let error = resume(&good[..length]);
        assert!(matches!(error, CheckpointError::Damaged { .. }), "{length}: {error}");
    }
    for place in (12..good.len()).step_by(good.len() / 100) {
        let mut bytes = good.clone();
        bytes[place] ^= 0x10;
        let error = resume(&bytes);
        assert!(matches!(error, CheckpointError::Damaged { .. }), "{place}: {error}");
    }
    let mut longer = good.clone();
    longer.extend_from_slice(&good[good.len() - 12..]);
    assert!(matches!(resume(&longer), CheckpointError::Damaged { .. }));
    let mut later = good.clone();
    later[8] = 9;
    assert_eq!(resume(&later), CheckpointError::Version { got: 9, expected: 3 });
    // the format in which methods had other names
    let mut earlier = good.clone();
    earlier[8] = 1;
    let refused = resume(&earlier);
    assert_eq!(refused, CheckpointError::Version { got: 1, expected: 3 });
    assert!(refused.to_string().contains("resume it with the couloir that wrote it"), "{refused}");
    assert_eq!(resume(&good[..8]), CheckpointError::Damaged { why: "8 bytes are too few".into() });
    let missing = Checkpoints::resume(folder.path().join("missing"));
    assert_eq!(error_of(run(&fit().checkpoints(missing))), CheckpointError::Missing);
    let error = error_of(run(&fit().checkpoints(Checkpoints::resume(folder.path()))));
    assert_eq!(error, CheckpointError::NotAFile { what: "a directory" });
}

/// The same bytes with another content and a sum that is right: what only a liar writes.
fn forged(good: &[u8], place: usize, with: &[u8]) -> Vec<u8> {
    let mut bytes = good.to_vec();
    bytes[place..place + with.len()].copy_from_slice(with);
    let end = bytes.len() - 4;
    let sum = crc32fast::hash(&bytes[..end]);
    bytes[end..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

#[test]
fn a_forged_checkpoint_is_refused_or_read_and_nothing_worse_happens() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("fit.checkpoint");
    let fit = fit().max_iters(Some(4));
    stop(&fit, 3, &file);
    let good = std::fs::read(&file).expect("a checkpoint");
    let huge = u64::MAX.to_le_bytes();
    let (mut refused, mut tried) = (0, 0);
    // a length, a count or a number in every place of the first entries, and in some of all others
    let places = (12..2000).chain((2000..good.len() - 20).step_by(997));
    for place in places.step_by(3) {
        for with in [&huge[..], &[0xff], &(1u64 << 40).to_le_bytes()] {
            std::fs::write(&file, forged(&good, place, with)).expect("writing");
            let mut plan = Checkpoints::resume(&file);
            plan.file = None;
            let done = run(&fit.clone().checkpoints(plan));
            tried += 1;
            refused += u32::from(done.is_err());
        }
    }
    assert!(tried > 2000 && refused > tried / 3, "{refused} of {tried}");
}

#[test]
fn a_checkpoint_that_can_never_be_written_is_refused_at_the_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let nowhere = folder.path().join("missing/fit.checkpoint");
    let refused = run(&fit().checkpoints(Checkpoints::to(&nowhere)));
    assert!(matches!(refused, Err(Error::Checkpoint { .. })), "{refused:?}");
    let bad = fit().checkpoints(Checkpoints::to(&nowhere).every(-1.0));
    assert!(matches!(run(&bad), Err(Error::Setting { name: "checkpoint every", .. })));
}

/// A clock that puts a folder in the place of a checkpoint as soon as the run has a lock on it.
struct Usurper {
    file: std::path::PathBuf,
}

impl Clock for Usurper {
    fn seconds(&self) -> f64 {
        if self.file.with_file_name(".fit.checkpoint.lock").exists() {
            let _ = std::fs::create_dir(&self.file);
        }
        0.0
    }
}

#[test]
fn a_checkpoint_that_can_no_longer_be_written_ends_no_fit() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("fit.checkpoint");
    let plan = fit().checkpoints(Checkpoints::to(&file).every(0.0));
    let mut watch = Ends::default();
    let fitted = run_on(&plan, 0.0, &Usurper { file }, &mut watch).expect("a fit");
    assert_eq!(fitted.solution(), run(&fit()).expect("a fit").solution());
    assert!(watch.heard.len() > 3 && watch.heard.iter().all(|heard| heard.is_err()));
}
