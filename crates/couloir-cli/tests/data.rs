//! `couloir data`: the catalogue, files that are there, and data made to measure. Downloads themselves are
//! tested in `couloir-data`, against a server on the same machine.

mod common;

use common::{couloir, files, text};
use couloir_data::libsvm::{ReadOptions, read};
use std::path::Path;

fn run(folder: &Path, arguments: &str) -> String {
    let done =
        couloir(folder).args(arguments.split(' ')).env("XDG_CACHE_HOME", folder).assert().success();
    text(&done.get_output().stdout)
}

#[test]
fn the_catalogue_is_listed_and_described() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = run(folder.path(), "data list");
    for (name, rows, features, classes) in [
        ("rcv1.multiclass", "15564", "47236", "53"),
        ("sector.scale", "6412", "55197", "105"),
        ("news20.scale", "15935", "62061", "20"),
    ] {
        let line = out.lines().find(|line| line.contains(&format!("| {name} "))).expect(name);
        assert!([rows, features, classes, "no"].iter().all(|part| line.contains(part)), "{line}");
        let out = run(folder.path(), &format!("data info {name}"));
        assert!([rows, features, classes].iter().all(|part| out.contains(part)), "{out}");
        for part in ["https://", "licence", "digest", "fetched   no"] {
            assert!(out.contains(part), "{part}: {out}");
        }
    }
    let out = run(folder.path(), "data info rcv1.multiclass");
    assert!(out.contains("79691e3f974aa6a08d5e3116c61aff822fbdb2725e99ed27fde4351af51076a8"));
    assert!(run(folder.path(), "data info news20").contains("begins 8c79851f"));
}

#[test]
fn a_file_that_is_there_is_checked_and_its_first_digest_recorded() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("sector.scale.bz2"), "some data").expect("writing");
    let out = run(folder.path(), "data fetch sector.scale --dir .");
    assert!(out.contains("was there") && out.contains("recorded for next time"), "{out}");
    assert_eq!(files(folder.path()), ["sector.scale.bz2", "sector.scale.bz2.sha256"]);
    let out = run(folder.path(), "data fetch sector.scale --dir .");
    assert!(out.contains("the same as when it was first seen"), "{out}");
    let out = run(folder.path(), "data info sector.scale --dir .");
    assert!(out.contains("fetched   yes, 9 B"), "{out}");
    std::fs::write(folder.path().join("sector.scale.bz2"), "other data").expect("writing");
    let fetch = ["data", "fetch", "sector.scale", "--dir", "."];
    let done = couloir(folder.path()).args(fetch).assert().code(1);
    assert!(text(&done.get_output().stderr).contains("SHA-256"));
}

#[test]
fn every_knob_of_the_generator_turns_something() {
    let folder = tempfile::tempdir().expect("a folder");
    let make = |knobs: &str, name: &str| {
        let base = "data generate --rows 400 --features 300 --classes 3";
        run(folder.path(), &format!("{base} -o {name}{knobs}"));
        read(&folder.path().join(name), &ReadOptions::default()).expect("good data")
    };
    let plain = make("", "plain.svm");
    assert_eq!((plain.len(), plain.classes.len()), (400, 3));
    assert!(make(" --threads 1", "again.svm.gz") == plain, "the same settings, the same data");
    assert!(make(" --seed 1", "seed.svm") != plain);
    assert!(make(" --topic 0.9", "topic.svm") != plain);
    let sparse = make(" --density 5", "sparse.svm.bz2");
    assert!((4.0..6.0).contains(&(sparse.nonzeros() as f64 / 400.0)));
    let noisy = make(" --label-noise 0.5", "noisy.svm");
    assert_eq!(noisy.rows, plain.rows);
    let changed = noisy.labels.iter().zip(&plain.labels).filter(|(a, b)| a != b).count();
    assert!((150..250).contains(&changed), "{changed}");
    let counts = make(" --imbalance 2", "imbalanced.svm").class_counts();
    assert!(counts[0] > 3 * counts[1] && counts[1] > counts[2], "{counts:?}");
}

#[test]
fn generated_data_goes_to_standard_output_where_no_file_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let shape = "data generate --rows 50 --features 60 --classes 2";
    let out = run(folder.path(), shape);
    assert_eq!(out.lines().count(), 50);
    run(folder.path(), &format!("{shape} -o file.svm"));
    let file = std::fs::read_to_string(folder.path().join("file.svm")).expect("the file");
    assert!(out == file);
}
