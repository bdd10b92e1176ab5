//! `couloir compare` and `couloir report`: what they write, and that nothing done is lost.

mod common;

use common::{couloir, files, generate, text};
use serde_json::Value;
use std::path::Path;

const SET: &str = "generated:200x300x4";
const FILES: [&str; 6] = [
    ".couloir-compare",
    "figure.png",
    "figure.svg",
    "report.html",
    "results.jsonl",
    "summary.json",
];

/// Runs `couloir compare` with a small budget; standard output and standard error.
fn compare(folder: &Path, arguments: &str) -> (String, String) {
    let done = couloir(folder)
        .args(["compare", "--time-budget", "0.2", "--tau", "20", "--out", "out"])
        .args(arguments.split(' '))
        .assert()
        .success();
    (text(&done.get_output().stdout), text(&done.get_output().stderr))
}

fn lines(folder: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(folder.join("out/results.jsonl")).expect("results");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The lines of a kind, for one method.
fn of<'a>(lines: &'a [Value], kind: &str, method: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["kind"] == kind && line["method"] == method).collect()
}

#[test]
fn all_methods_start_from_the_same_gap_and_every_point_is_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let (out, _) = compare(
        folder.path(),
        &format!("{SET} --methods certified,mpcgs,batched,mpscgs,spfw,svre,extragradient,apg"),
    );
    assert_eq!(files(&folder.path().join("out")), FILES);
    let lines = lines(folder.path());
    assert_eq!((&lines[0]["kind"], &lines[0]["start"]), (&"comparison".into(), &"vertex".into()));
    assert_eq!([&lines[1]["n"], &lines[1]["d"], &lines[1]["classes"]], [200, 300, 4]);
    let first = of(&lines, "point", "spfw")[0]["gap"].as_f64().expect("a gap");
    for method in
        ["certified", "mpcgs", "batched", "mpscgs", "spfw", "svre", "extragradient", "apg"]
    {
        let (points, ends) = (of(&lines, "point", method), of(&lines, "run", method));
        assert_eq!(ends.len(), 1, "{method}");
        assert_eq!(ends[0]["points"], points.len());
        let number = |i: usize, name: &str| points[i][name].as_f64().expect("a number");
        let start = number(0, "gap");
        assert!((start - first).abs() <= 1e-9 * first, "{method} starts at {start}, not {first}");
        assert_eq!(number(0, "seconds"), 0.0);
        for i in 1..points.len() {
            for name in ["seconds", "iteration", "gradients", "lo_calls", "passes"] {
                assert!(number(i, name) >= number(i - 1, name), "{method} {name} at {i}");
            }
            assert!(number(i, "gap") <= number(i - 1, "gap"), "{method} at {i}");
            let parts = number(i, "gap_x") + number(i, "gap_y");
            assert!((number(i, "gap") - parts).abs() <= 1e-12 * parts, "{method} at {i}");
        }
        assert!(out.contains(method), "{out}");
    }
    // certified solves it: both of its gaps fall far, and the FW-gap is no less than what it bounds (until both are rounding)
    let points = of(&lines, "point", "certified");
    let gaps =
        |i: usize| ["gap", "certified_gap"].map(|name| points[i][name].as_f64().expect("a number"));
    let far = (0..points.len()).find(|&i| gaps(i)[0] < 1e-6 * first).expect("it falls far");
    let [gap, certified] = gaps(far);
    assert!(certified < gap, "{}", points[far]);
    // the paper's grid and the method's own steps
    for method in ["svre", "extragradient"] {
        let search = of(&lines, "search", method);
        assert_eq!(search.len(), 1);
        let trials = search[0]["trials"].as_array().expect("trials");
        assert_eq!(trials.len(), 37);
        let gap_of = |trial: &Value| trial["gap"].as_f64().unwrap_or(f64::INFINITY);
        let best = trials.iter().map(gap_of).fold(f64::INFINITY, f64::min);
        let chosen = trials.iter().find(|trial| trial["steps"] == search[0]["chosen"]);
        assert_eq!(chosen.map(gap_of), Some(best));
        assert_eq!(of(&lines, "run", method)[0]["steps"], search[0]["chosen"]);
    }
    let summary = std::fs::read_to_string(folder.path().join("out/summary.json")).expect("a file");
    let summary: Vec<Value> = serde_json::from_str(&summary).expect("JSON");
    assert_eq!(summary.len(), 8);
    assert_eq!(summary[0]["reached"].as_array().map(Vec::len), Some(6));
    let page = std::fs::read_to_string(folder.path().join("out/report.html")).expect("a page");
    assert!(page.starts_with("<!doctype html>") && page.contains("mpscgs"));
}

#[test]
fn runs_over_their_memory_end_and_say_so() {
    let folder = tempfile::tempdir().expect("a folder");
    // the estimate is within the limit, the process with all its code is not
    compare(folder.path(), &format!("{SET} --methods certified,svre --max-memory 1M"));
    let lines = lines(folder.path());
    for method in ["certified", "svre"] {
        let ends = of(&lines, "run", method);
        assert_eq!((&ends[0]["status"], &ends[0]["points"]), (&"memory limit".into(), &1.into()));
    }
}

#[test]
fn a_comparison_goes_on_where_it_stopped_and_refuses_other_settings() {
    let folder = tempfile::tempdir().expect("a folder");
    generate(folder.path(), "text.svm.gz");
    compare(folder.path(), &format!("{SET} --methods certified,spfw --repeat 2"));
    let before = lines(folder.path());
    assert_eq!(before.iter().filter(|line| line["kind"] == "run").count(), 4);

    let again = |arguments: &str| {
        let mut command = couloir(folder.path());
        command.args(["compare", SET, "--out", "out"]).args(arguments.split(' '));
        let done = command.assert().code(2);
        let error = text(&done.get_output().stderr);
        assert_eq!(error.lines().count(), 1, "{error}");
        error
    };
    let same = "--time-budget 0.2 --tau 20";
    assert!(again(same).contains("has results; go on with --continue"));
    let error = again("--time-budget 0.2 --tau 21 --continue");
    assert!(error.contains("tau was 20 and is 21"), "{error}");
    assert_eq!(lines(folder.path()), before);

    // one more set, one more method; the runs that are there stay as they are
    compare(folder.path(), &format!("{SET} text.svm.gz --methods certified,spfw,apg --continue"));
    let after = lines(folder.path());
    for method in ["certified", "spfw"] {
        let now: Vec<_> = of(&after, "run", method).into_iter().take(2).collect();
        assert_eq!(now, of(&before, "run", method));
    }
    assert_eq!(after.iter().filter(|line| line["kind"] == "run").count(), 4 + 1 + 3);

    // a run that was cut off is run again; a damaged line is skipped, said, and kept in a copy
    let path = folder.path().join("out/results.jsonl");
    let whole = std::fs::read_to_string(&path).expect("results");
    let mut cut: Vec<&str> = whole.lines().collect();
    cut.pop();
    let place = cut.iter().position(|line| line.contains("\"point\"")).expect("a point");
    cut[place] = &cut[place][..20];
    std::fs::write(&path, cut.join("\n")).expect("writing");
    let arguments = format!("{SET} text.svm.gz --methods certified,spfw,apg --continue --quiet");
    let (_, warnings) = compare(folder.path(), &arguments);
    assert!(warnings.contains(&format!("line {}: damaged", place + 1)), "{warnings}");
    assert!(warnings.contains("apg on text.svm has") && warnings.contains("no end"), "{warnings}");
    let copy = folder.path().join("out/results.damaged.jsonl");
    assert_eq!(std::fs::read_to_string(copy).expect("a copy"), cut.join("\n"));
    let healed = lines(folder.path());
    assert_eq!(healed.iter().filter(|line| line["kind"] == "run").count(), 4 + 1 + 3);
}

#[test]
fn the_report_is_made_again_from_the_results_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let (shown, _) = compare(folder.path(), &format!("{SET} --methods certified,spfw"));
    let read = |name: &str| std::fs::read(folder.path().join("out").join(name)).expect("a file");
    let before = FILES.map(read);
    for name in FILES.iter().filter(|name| !["results.jsonl", FILES[0]].contains(name)) {
        std::fs::remove_file(folder.path().join("out").join(name)).expect("removing");
    }
    let done = couloir(folder.path()).args(["report", "out"]).assert().success();
    assert_eq!(text(&done.get_output().stdout), shown);
    assert!(FILES.map(read) == before);
}

#[test]
fn a_fit_has_a_page_of_its_own() {
    let folder = tempfile::tempdir().expect("a folder");
    generate(folder.path(), "text.svm");
    couloir(folder.path()).args(["fit", "text.svm", "--report", "page.html"]).assert().success();
    let page = std::fs::read_to_string(folder.path().join("page.html")).expect("a page");
    for part in [
        "Singular values of the weights W",
        "Weights of the rows",
        "Recall by class",
        "hardest rows",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let refused = |path: &str| {
        couloir(folder.path()).args(["fit", "text.svm", "--report", path]).assert().code(2);
    };
    refused("missing/page.html");
    refused("text.svm");
    assert_eq!(files(folder.path()), ["page.html", "text.svm"]);
}

#[test]
fn bad_input_is_one_line_as_the_docs_have_it_and_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("file"), "x").expect("writing");
    std::fs::create_dir(folder.path().join("other")).expect("a folder");
    std::fs::write(folder.path().join("other/results.jsonl"), "{}\n").expect("writing");
    let before = files(folder.path());
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/bad-input.md");
    let docs = std::fs::read_to_string(docs).expect("docs/bad-input.md");
    let (_, section) = docs.split_once("\n## Comparisons").expect("a section on comparisons");
    let rows: Vec<&str> = section.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    assert!(rows.len() >= 18, "{rows:?}");
    for row in rows {
        let mut cells = row.trim_matches('|').splitn(3, " | ").map(str::trim).skip(1);
        let (arguments, message) =
            (cells.next().expect("arguments"), cells.next().expect("a message"));
        let arguments = arguments.trim_matches('`');
        let done = couloir(folder.path()).args(arguments.split(' ')).assert().code(2);
        let error = text(&done.get_output().stderr);
        assert_eq!(error.trim_end(), format!("couloir: {message}"), "{arguments}");
        assert_eq!(files(folder.path()), before, "{arguments}");
        assert_eq!(files(&folder.path().join("other")), ["results.jsonl"], "{arguments}");
    }
}
