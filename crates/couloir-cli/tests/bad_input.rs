//! Bad input is one line on standard error and exit code 2, nothing is written, and docs/bad-input.md
//! says so word for word.

mod common;

use common::cases::{Case, GOOD, case, missing_rows, run, without_file};
use common::{couloir, text};
use std::io::Read;

/// A good line and then this one.
fn second(name: &'static str, line: &str) -> Case {
    let content = format!("1 1:0.5\n{line}\n2 1:1\n");
    Case { second_line: true, ..case(name, "bad.svm", content) }
}

fn cases() -> Vec<Case> {
    let long: String = (0..20_000).map(|i| format!("{} {}:0.5\n", i % 3, 1 + i % 77)).collect();
    let (mut bz2, mut gz) = (Vec::new(), Vec::new());
    bzip2::read::BzEncoder::new(long.as_bytes(), bzip2::Compression::new(1))
        .read_to_end(&mut bz2)
        .expect("packing");
    flate2::read::GzEncoder::new(long.as_bytes(), flate2::Compression::fast())
        .read_to_end(&mut gz)
        .expect("packing");
    let (half_bz2, half_gz) = (&bz2[..bz2.len() / 2], &gz[..gz.len() / 2]);
    let mut damaged = bz2.clone();
    damaged[bz2.len() / 2] ^= 0x55;
    vec![
        without_file("missing file", "bad.svm"),
        without_file("a directory", "."),
        without_file("a data set that was not fetched", "sector.scale"),
        case("empty file", "bad.svm", ""),
        case("only comments", "bad.svm", "# nothing\n\n"),
        case("one class only", "bad.svm", "7 1:1\n7 2:1\n"),
        case("no features", "bad.svm", "1\n2\n"),
        second("label not a number", "cat 1:1"),
        second("several labels", "1,2 1:1"),
        second("label not finite", "nan 1:1"),
        case("labels too close to tell", "bad.svm", "1 1:1\n1.0000000000000001 2:1\n"),
        second("no label", "1:1 2:1"),
        second("index 0", "1 0:1"),
        second("negative index", "1 -3:1"),
        second("index not increasing", "1 5:1 3:1"),
        second("duplicate index", "1 5:1 5:2"),
        second("index beyond u32", "1 4294967296:1"),
        second("index not a number", "1 x:1"),
        second("two colons", "1 1:1:1"),
        second("missing value", "1 3: 4:1"),
        second("missing index", "1 :1"),
        second("value not a number", "1 3:x"),
        second("value NaN", "1 3:NaN"),
        second("value inf", "1 3:inf"),
        second("value 1e999", "1 3:1e999"),
        case("byte-order mark", "bad.svm", "\u{feff}1 1:1\n2 1:1\n"),
        case("binary junk", "bad.svm", b"\x7fELF\x02\x01\x01\0\0"),
        case("truncated .bz2", "bad.bz2", half_bz2),
        case("truncated .gz", "bad.gz", half_gz),
        case("damaged .bz2", "bad.bz2", &damaged),
        case("another packing", "bad.xz", b"\xfd7zXZ\0\0\0"),
        case("line of 100 MB", "bad.svm", vec![b'1'; 100 << 20]),
        case("--tau negative", "good.svm --tau -1", GOOD),
        case("a multiple of auto below zero", "good.svm --tau -2auto", GOOD),
        case("unknown ball", "good.svm --ball nuclera", GOOD),
        case("unknown loss", "good.svm --loss hing", GOOD),
        case("unknown rule of scaling", "good.svm --scale of", GOOD),
        case("--tau 0", "good.svm --tau 0", GOOD),
        case("--tau NaN", "good.svm --tau NaN", GOOD),
        case("--level 0", "good.svm --level 0", GOOD),
        case("--level negative", "good.svm --uncertainty kl --level -0.5", GOOD),
        case("alpha above 1", "good.svm --uncertainty cvar --level 1.5", GOOD),
        case("rho negative", "good.svm --uncertainty tv-ball --level -0.1", GOOD),
        case("--level NaN", "good.svm --level NaN", GOOD),
        case("unknown uncertainty set", "good.svm --uncertainty chi", GOOD),
        case(
            "the paper's scaling of another set",
            "good.svm --uncertainty kl --objective paper",
            GOOD,
        ),
        case("groups that are not given", "good.svm --uncertainty group", GOOD),
        case("groups of another length", "good.svm --uncertainty group --groups bad.txt", "a\n"),
        without_file("a missing file of weights", "good.svm --weights bad.txt"),
        case("weights of another length", "good.svm --weights bad.txt", "1\n2\n3\n"),
        case("a weight that is negative", "good.svm --weights bad.txt", "1\n-0.5\n"),
        case("a weight that is NaN", "good.svm --weights bad.txt", "NaN\n1\n"),
        case("a weight that is a word", "good.svm --weights bad.txt", "heavy\n1\n"),
        case("weights that are all zero", "good.svm --weights bad.txt", "0\n0\n"),
        case("a class that is not there", "good.svm --class-weight 9=2", GOOD),
        case("a class weight that is negative", "good.svm --class-weight 1=-2", GOOD),
        case("no weights of classes", "good.svm --class-weight heavy", GOOD),
        case("--tol 0", "good.svm --tol 0", GOOD),
        case("--tol negative", "good.svm --tol -1e-3", GOOD),
        case("--max-time 0", "good.svm --max-time 0", GOOD),
        case("--max-grads 0", "good.svm --max-grads 0", GOOD),
        case("--threads 0", "good.svm --threads 0", GOOD),
        case("--classes below the labels seen", "good.svm --classes 1", GOOD),
        case("--classes that have no names", "good.svm --classes 4", "1 1:1\n7 1:1\n"),
        case("unknown method", "good.svm --method mpcg", GOOD),
        case("a method for other sets", "good.svm --method spafw", GOOD),
        case("a method that has another name now", "good.svm --method mpscgs-printed", GOOD),
        case("an inner solve for nothing", "good.svm --method spfw --inner exact", GOOD),
        case("unknown option", "good.svm --thread 2", GOOD),
        case("h*d beyond memory", "bad.svm --max-memory 1G", "1 4294967295:1\n2 1:1\n"),
        case("more classes than memory", "good.svm --classes 16777216 --max-memory 1G", GOOD),
        case("model into a missing folder", "good.svm -o no/model", GOOD),
        case("model into a directory", "good.svm -o .", GOOD),
        case("model over the data", "good.svm -o ./good.svm", GOOD),
        case("unknown data set", "data fetch news2", GOOD),
        case("generated data out of range", "data generate --density 0", GOOD),
        case(
            "generated data beyond memory",
            "data generate --rows 4000000000 --max-memory 1G",
            GOOD,
        ),
        case("generated data into a missing folder", "data generate -o no/data.svm", GOOD),
        case("unknown command", "fti good.svm", GOOD),
    ]
}

#[test]
fn every_case_is_one_line_with_code_2_and_stands_in_the_docs() {
    let mut rows = Vec::new();
    for case in cases() {
        let message = run(&case).message;
        let about_file = case.arguments.starts_with("bad.");
        if about_file {
            let file = case.arguments.split(' ').next().unwrap_or_default();
            assert!(message.starts_with(file), "{}: {message}", case.name);
        }
        if case.second_line {
            assert!(message.starts_with("bad.svm:2: "), "{}: {message}", case.name);
        }
        rows.push(case.row(&message));
    }
    let missing = missing_rows("bad-input.md", &rows);
    assert!(missing.is_empty(), "docs/bad-input.md lacks these rows:\n{}", missing.join("\n"));
}

#[test]
fn data_too_large_for_the_machine_is_refused_with_the_estimate() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("wide.svm"), "1 4294967295:1\n2 1:1\n").expect("writing");
    let done = couloir(folder.path()).args(["fit", "wide.svm"]).assert().code(2);
    let err = text(&done.get_output().stderr);
    assert!(err.contains("4294967295 features and 2 classes would take about 1.6 TiB"), "{err}");
    assert!(err.contains("are free") && err.lines().count() == 1, "{err}");
}

#[test]
fn a_fetched_file_is_held_against_its_digest_whenever_it_is_used() {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = folder.path().join("couloir").join("data");
    std::fs::create_dir_all(&cache).expect("a folder");
    let write = |name: &str, text: &str| std::fs::write(cache.join(name), text).expect("writing");
    write("rcv1_train.multiclass.bz2", GOOD);
    write("sector.scale.bz2", GOOD);
    let used = |arguments: &[&str]| {
        let mut command = couloir(folder.path());
        command.args(arguments).env("XDG_CACHE_HOME", folder.path()).assert()
    };
    // the digest that the catalogue has
    for command in [&["fit", "rcv1.multiclass"][..], &["path", "rcv1.multiclass"]] {
        let done = used(command).code(1);
        let err = text(&done.get_output().stderr);
        assert!(err.contains("SHA-256") && err.contains("79691e3f974aa6a"), "{err}");
        assert!(err.contains("delete it and fetch it again") && err.lines().count() == 1, "{err}");
    }
    // the digest that was recorded
    used(&["fit", "sector.scale", "--max-grads", "1", "-q"]).success();
    write("sector.scale.bz2.sha256", &format!("{}  sector.scale.bz2\n", "0".repeat(64)));
    let err = text(&used(&["fit", "sector.scale"]).code(1).get_output().stderr);
    assert!(err.contains("expected 000000"), "{err}");
    let compare = ["compare", "sector.scale", "--time-budget", "0.1", "--out", "c"];
    used(&compare).code(1);
    assert!(!folder.path().join("c").join("results.jsonl").exists());
}

#[test]
fn a_digest_that_differs_is_a_failure_but_no_bad_input() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("rcv1_train.multiclass.bz2"), "not it").expect("writing");
    let fetch = ["data", "fetch", "rcv1.multiclass", "--dir", "."];
    let done = couloir(folder.path()).args(fetch).assert().code(1);
    let err = text(&done.get_output().stderr);
    assert!(err.contains("79691e3f974aa6a08d5e3116c61aff8") && err.lines().count() == 1, "{err}");
}
