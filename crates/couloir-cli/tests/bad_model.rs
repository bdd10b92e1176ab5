//! Model files that are none, and data that does not fit the model: one line that names the file, exit code 2,
//! nothing written.

mod common;

use common::{couloir, files, text};
use std::path::Path;

/// A model of three classes and two features, and rows that fit it.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, bytes: &[u8]| {
        std::fs::write(folder.path().join(name), bytes).expect("a file");
    };
    write("model", &model(&header(), &[1.0, 0.0, 0.0, 1.0, -1.0, -1.0]));
    write("data.svm", b"1 1:1\n2 2:1\n# a comment\n\n+3 1:-1 2:-1\n");
    folder
}

fn header() -> String {
    r#"{"__metadata__":{"format":"couloir classifier","version":"1","labels":"[\"1\",\"2\",\"3\"]"},"#
        .to_owned()
        + r#""weights":{"dtype":"F64","shape":[3,2],"data_offsets":[0,48]}}"#
}

fn model(header: &str, numbers: &[f64]) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend(numbers.iter().flat_map(|v| v.to_le_bytes()));
    bytes
}

/// Runs a command that must fail as bad input does; gives the line.
fn refused(folder: &Path, arguments: &[&str]) -> String {
    failed(folder, arguments, 2)
}

/// Runs a command that must fail with this exit code and write nothing; gives the line.
fn failed(folder: &Path, arguments: &[&str], code: i32) -> String {
    let before = files(folder);
    let done = couloir(folder).args(arguments).assert().code(code);
    let (out, err) = (text(&done.get_output().stdout), text(&done.get_output().stderr));
    assert!(err.starts_with("couloir: ") && err.lines().count() == 1, "{arguments:?}: {err}");
    assert!(out.is_empty(), "{arguments:?}: {out}");
    assert_eq!(files(folder), before, "{arguments:?}");
    err
}

#[test]
fn a_good_model_works() {
    let folder = folder();
    let done = couloir(folder.path()).args(["predict", "model", "data.svm"]).assert().success();
    assert_eq!(text(&done.get_output().stdout), "1\n2\n3\n");
    couloir(folder.path()).args(["evaluate", "model", "data.svm"]).assert().success();
}

#[test]
fn files_that_are_no_model_are_named_by_every_command_that_takes_one() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    let good = std::fs::read(path("model")).expect("the model");
    let six = [1.0; 6];
    let with = |from: &str, to: &str| {
        assert!(header().contains(from), "{from}");
        model(&header().replace(from, to), &six)
    };
    let mut nan = six;
    nan[4] = f64::NAN;
    let mut broken = good.clone();
    broken[20] = b'\n';
    let halves = model(&header().replace("F64", "F32").replace("48", "24"), &six[..3]);
    let path_to_docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/bad-input.md");
    let docs = std::fs::read_to_string(path_to_docs).unwrap_or_default();
    let mut rows = Vec::new();
    for (fault, content) in [
        ("missing", None),
        ("empty", Some(vec![])),
        ("five bytes", Some(good[..5].to_vec())),
        ("truncated", Some(good[..good.len() - 3].to_vec())),
        ("truncated in its header", Some(good[..60].to_vec())),
        ("bytes added at the end", Some([&good[..], &[0]].concat())),
        ("corrupt header", Some(broken)),
        ("a header behind a space", Some(with("{\"__metadata__", " {\"__metadata__"))),
        ("a LIBSVM file", Some(b"1 1:1 2:1\n2 1:1 2:1\n".to_vec())),
        ("of another shape", Some(with("[3,2]", "[2,3]"))),
        ("of another dimension", Some(with("[3,2]", "[6]"))),
        ("of single precision", Some(halves)),
        ("of integers", Some(with("F64", "I64"))),
        ("a weight is NaN", Some(model(&header(), &nan))),
        ("of another program", Some(with("couloir classifier", "pt"))),
        ("of a later version", Some(with(r#""version":"1""#, r#""version":"7""#))),
        ("a label twice", Some(with(r#"\"2\""#, r#"\"1\""#))),
        ("too few labels", Some(with(r#",\"3\""#, ""))),
        ("no weights", Some(with("weights", "wights"))),
    ] {
        if let Some(bytes) = content {
            std::fs::write(path("bad.model"), bytes).expect("a file");
        }
        let mut messages = Vec::new();
        for arguments in [
            &["predict", "bad.model", "data.svm", "-o", "labels.txt"][..],
            &["predict", "bad.model", "data.svm", "--proba"],
            &["evaluate", "bad.model", "data.svm", "--json"],
        ] {
            let err = refused(folder.path(), arguments);
            assert!(err.starts_with("couloir: bad.model: "), "{fault}: {err}");
            messages.push(err["couloir: ".len()..].trim_end().to_owned());
        }
        messages.dedup();
        assert_eq!(messages.len(), 1, "{messages:?}");
        rows.push(format!("| {fault} | {} |", messages[0]));
    }
    rows.retain(|row| !docs.lines().any(|line| line == row));
    assert!(rows.is_empty(), "docs/bad-input.md lacks these rows:\n{}", rows.join("\n"));
    let err = refused(folder.path(), &["predict", ".", "data.svm"]);
    assert!(err.contains(".: is a directory"), "{err}");
}

#[test]
fn a_model_larger_than_the_memory_allowed_is_not_read() {
    let folder = folder();
    // a hole of 64 GiB that takes no room on the disk
    let big = std::fs::File::create(folder.path().join("big")).expect("a file");
    big.set_len(64 << 30).expect("a length");
    let err = refused(folder.path(), &["predict", "big", "data.svm", "--max-memory", "1G"]);
    assert!(err.contains("big: the file takes 68719476736 bytes"), "{err}");
}

#[test]
fn data_that_can_be_read_but_not_used_within_the_memory_is_refused() {
    let folder = folder();
    std::fs::write(folder.path().join("many.svm"), "1 1:1 2:1\n".repeat(25_000)).expect("a file");
    for command in ["predict", "evaluate"] {
        let err = refused(folder.path(), &[command, "model", "many.svm", "--max-memory", "1M"]);
        let why = "many.svm: 25000 rows with 50000 entries would take about 1.7 MiB of memory and 1.0 MiB are allowed by \
                   --max-memory; use fewer rows, or raise --max-memory";
        assert!(err.contains(why), "{err}");
    }
}

#[test]
fn data_wider_than_the_model_is_named_with_its_line_and_index() {
    let folder = folder();
    std::fs::write(folder.path().join("wide.svm"), "1 1:1\n# x\n2 1:1 7:0.5\n").expect("a file");
    for arguments in [
        &["predict", "model", "wide.svm", "-o", "labels.txt"][..],
        &["evaluate", "model", "wide.svm"],
    ] {
        let err = refused(folder.path(), arguments);
        assert!(
            err.starts_with(
                "couloir: wide.svm:3: index 7, but the model model has only 2 features"
            ),
            "{err}"
        );
    }
}

#[test]
fn labels_that_the_model_does_not_have_are_an_error_of_evaluate_only() {
    let folder = folder();
    std::fs::write(folder.path().join("new.svm"), "1 1:1\n\n4 1:1\n").expect("a file");
    couloir(folder.path()).args(["predict", "model", "new.svm"]).assert().success();
    let err = refused(folder.path(), &["evaluate", "model", "new.svm"]);
    assert!(err.starts_with("couloir: new.svm:3: the label `4` is no class of the model"), "{err}");
    let words = header().replace(r#"\"2\""#, r#"\"two\""#);
    std::fs::write(folder.path().join("words"), model(&words, &[1.0; 6])).expect("a file");
    let err = refused(folder.path(), &["evaluate", "words", "data.svm"]);
    assert!(err.contains("words: its label `two` is no number"), "{err}");
    let same = header().replace(r#"\"2\""#, r#"\"+1.0\""#);
    std::fs::write(folder.path().join("same"), model(&same, &[1.0; 6])).expect("a file");
    let err = refused(folder.path(), &["evaluate", "same", "data.svm"]);
    assert!(err.contains("same: its labels `1` and `+1.0` are the same"), "{err}");
}

#[test]
fn scores_beyond_all_numbers_are_an_error_before_anything_is_written() {
    let folder = folder();
    std::fs::write(folder.path().join("huge"), model(&header(), &[1e300; 6])).expect("a file");
    std::fs::write(folder.path().join("huge.svm"), "1 1:1\n2 2:1e300\n").expect("a file");
    for proba in [&[][..], &["--proba"]] {
        let err = failed(folder.path(), &[&["predict", "huge", "huge.svm"], proba].concat(), 1);
        assert!(err.contains("huge.svm") && err.contains("inf"), "{err}");
    }
}

#[test]
fn outputs_that_cannot_be_or_would_overwrite_an_input_are_refused() {
    let folder = folder();
    let before = std::fs::read(folder.path().join("model")).expect("the model");
    for output in ["model", "data.svm", ".", "nowhere/labels.txt"] {
        refused(folder.path(), &["predict", "model", "data.svm", "-o", output]);
    }
    assert_eq!(std::fs::read(folder.path().join("model")).expect("the model"), before);
}
