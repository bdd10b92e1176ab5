//! Files that are within the limits by their looks and beyond them by what they would take.

mod common;

use common::{couloir, text};
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{Duration, Instant};

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("good.svm"), "1 1:1\n2 2:1\n").expect("writing");
    folder
}

/// The line with which a command is refused.
fn refused(folder: &Path, arguments: &[&str]) -> String {
    let done = couloir(folder).args(arguments).assert().code(2);
    let err = text(&done.get_output().stderr);
    assert_eq!(err.lines().count(), 1, "{err}");
    err
}

#[test]
fn a_checkpoint_that_is_a_hole_of_300_gb_is_refused_at_once() {
    const LENGTH: u64 = 300 << 30;
    let folder = folder();
    let mut file = File::create(folder.path().join("hole")).expect("a file");
    file.write_all(b"COULCKPT\x03\0\0\0").expect("writing");
    file.set_len(LENGTH).expect("a hole");
    let resume = ["fit", "good.svm", "--resume", "hole"];
    let began = Instant::now();
    let err = refused(folder.path(), &resume);
    assert!(err.contains("hole: ") && err.contains(" would take about 300 GiB"), "{err}");
    // the length that a file of this size would have at its end, and as much memory as anyone likes
    file.seek(SeekFrom::End(-12)).expect("its end");
    file.write_all(&LENGTH.to_le_bytes()).expect("writing");
    refused(folder.path(), &[&resume[..], &["--max-memory", "1000G"]].concat());
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    // smaller than the memory, with a wrong length at its end
    file.set_len(1 << 30).expect("a hole");
    let err = refused(folder.path(), &resume);
    assert!(err.contains("its length or its sum"), "{err}");
}

#[test]
fn the_facts_of_a_model_are_held_against_the_memory_whatever_the_limit_on_headers() {
    let folder = folder();
    let facts: Vec<String> = (0..2_000_000).map(|i| format!(r#""{i:x}":"""#)).collect();
    let header = format!(r#"{{"__metadata__":{{{}}}}}"#, facts.join(","));
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(header.as_bytes());
    std::fs::write(folder.path().join("model"), bytes).expect("writing");
    let limits = ["--max-memory", "300M", "--max-header", "1G"];
    let err = refused(folder.path(), &[&["predict", "model", "good.svm"], &limits[..]].concat());
    assert!(err.contains("limit of 9830400 (a 32nd of --max-memory)"), "{err}");
}

#[test]
fn labels_that_look_like_measured_values_are_told() {
    let folder = folder();
    let warns = |name: &str, label: &dyn Fn(usize) -> String, expected: bool| {
        let lines: Vec<String> =
            (0..400).map(|i| format!("{} {}:1", label(i), i % 7 + 1)).collect();
        std::fs::write(folder.path().join(name), lines.join("\n")).expect("writing");
        let fit = ["fit", name, "-q", "--max-iters", "1"];
        let done = couloir(folder.path()).args(fit).assert().success();
        let err = text(&done.get_output().stderr);
        let told = err.contains("measured values") && err.contains("each becomes a class");
        assert_eq!(told, expected, "{name}: {err}");
    };
    warns("measured", &|i| format!("{}", 0.37 * (i % 150) as f64), true);
    warns("years", &|i| format!("{}", 1000 + i), true);
    warns("classes", &|i| format!("{}", i % 120), false);
    warns("halves", &|i| format!("{}", 0.5 * (i % 5) as f64), false);
}
