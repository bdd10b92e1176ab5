//! What is trained can be used, measured and tuned.

mod common;

use common::{couloir, files, generate, text};
use serde_json::Value;
use std::path::Path;

/// A folder with `train.svm`, and a `model` trained on it.
fn trained() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    generate(folder.path(), "train.svm");
    run(folder.path(), &["fit", "train.svm", "-o", "model", "--quiet"]);
    folder
}

/// What a command prints.
fn run(folder: &Path, arguments: &[&str]) -> String {
    text(&couloir(folder).args(arguments).assert().success().get_output().stdout)
}

fn json(folder: &Path, arguments: &[&str]) -> Value {
    serde_json::from_str(&run(folder, arguments)).expect("one JSON object")
}

/// The labels of a LIBSVM file, as they are spelled.
fn labels(folder: &Path, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join(name)).expect("the data");
    text.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

/// The labels of the header, and the probabilities of every row.
fn probabilities(text: &str) -> (Vec<String>, Vec<Vec<f64>>) {
    let mut lines = text.lines();
    let names = lines.next().expect("a header").split(' ').map(str::to_owned).collect();
    let numbers = |line: &str| line.split(' ').map(|p| p.parse().expect("a number")).collect();
    (names, lines.map(numbers).collect())
}

#[test]
fn predictions_and_probabilities_agree_with_each_other_and_with_what_evaluate_says() {
    let folder = trained();
    let folder = folder.path();
    let truth = labels(folder, "train.svm");
    let predicted = run(folder, &["predict", "model", "train.svm"]);
    let predicted: Vec<&str> = predicted.lines().collect();
    let (names, p) = probabilities(&run(folder, &["predict", "model", "train.svm", "--proba"]));
    assert_eq!((predicted.len(), p.len(), names.len()), (300, 300, 4));
    let mut losses = Vec::new();
    for i in 0..300 {
        assert!((p[i].iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let best = (0..4).max_by(|&a, &b| p[i][a].total_cmp(&p[i][b])).expect("a best");
        assert_eq!(names[best], predicted[i]);
        let own = names.iter().position(|name| *name == truth[i]).expect("a known label");
        losses.push(-p[i][own].ln());
    }
    let report = json(folder, &["evaluate", "model", "train.svm", "--json"]);
    let close = |name: &str, value: f64| {
        let told = report[name].as_f64().expect("a number");
        assert!((told - value).abs() <= 1e-9 * (1.0 + value.abs()), "{name}: {told} {value}");
    };
    let right =
        |label: &str| (0..300).filter(|&i| truth[i] == label && predicted[i] == label).count();
    let rows = |label: &str| truth.iter().filter(|l| *l == label).count();
    close("accuracy", names.iter().map(|l| right(l)).sum::<usize>() as f64 / 300.0);
    close("mean_loss", losses.iter().sum::<f64>() / 300.0);
    losses.sort_by(|a, b| b.total_cmp(a));
    close("cvar_10", losses[..30].iter().sum::<f64>() / 30.0);
    let recalls: Vec<f64> = names.iter().map(|l| right(l) as f64 / rows(l) as f64).collect();
    close("worst_recall", recalls.iter().copied().fold(f64::INFINITY, f64::min));
    for (j, name) in names.iter().enumerate() {
        let class = &report["per_class"][j];
        assert_eq!(class["label"], name.as_str());
        assert_eq!(class["rows"], rows(name));
        assert!((class["recall"].as_f64().expect("a number") - recalls[j]).abs() < 1e-12);
    }
    assert!(report["accuracy"].as_f64() > Some(0.8) && report["macro_f1"].as_f64() > Some(0.5));
    let table = run(folder, &["evaluate", "model", "train.svm"]);
    for word in ["accuracy", "worst recall", "macro F1", "mean loss", "CVaR 10 %", "| class"] {
        assert!(table.contains(word), "{table}");
    }
}

#[test]
fn labels_come_back_as_the_training_file_spelled_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let train = "+1 1:1\n-1.50 2:1\n+1 1:0.9\n-1.50 2:1.1\n007 3:1\n7 3:1\n";
    std::fs::write(folder.join("train.svm"), train).expect("a file");
    run(folder, &["fit", "train.svm", "-o", "model", "--quiet"]);
    // other labels, fewer features, no features
    std::fs::write(folder.join("new.svm"), "99 3:2\n0 2:2\n0 1:2 # x\n").expect("a file");
    assert_eq!(run(folder, &["predict", "model", "new.svm"]), "007\n-1.50\n+1\n");
    std::fs::write(folder.join("narrow.svm"), "1 1:1\n1\n").expect("a file");
    assert_eq!(run(folder, &["predict", "model", "narrow.svm"]).lines().next(), Some("+1"));
    let piped = couloir(folder).args(["predict", "model", "-"]).write_stdin("0 2:1\n").assert();
    assert_eq!(text(&piped.success().get_output().stdout), "-1.50\n");
    // spelled otherwise, but the same numbers
    std::fs::write(folder.join("test.svm"), "1.0 1:1\n-1.5 2:1\n").expect("a file");
    let report = json(folder, &["evaluate", "model", "test.svm", "--json"]);
    assert_eq!(report["accuracy"], 1.0);
    assert_eq!(report["per_class"][2]["recall"], Value::Null, "{report}");
}

#[test]
fn the_output_file_has_what_would_have_been_printed_on_any_number_of_threads() {
    let folder = trained();
    let folder = folder.path();
    for proba in [&[][..], &["--proba"]] {
        let printed = run(folder, &[&["predict", "model", "train.svm"], proba].concat());
        for threads in ["1", "3"] {
            let more = [&["-o", "out.txt", "--threads", threads], proba].concat();
            assert_eq!(run(folder, &[&["predict", "model", "train.svm"], &more[..]].concat()), "");
            assert_eq!(std::fs::read_to_string(folder.join("out.txt")).expect("a file"), printed);
        }
    }
    assert_eq!(files(folder), ["model", "out.txt", "train.svm"]);
}
