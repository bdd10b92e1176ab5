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
    close("cvar", losses[..30].iter().sum::<f64>() / 30.0);
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

#[test]
fn a_path_shows_every_radius_chooses_the_best_and_trains_what_fit_would() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    generate(folder, "train.svm");
    let path = ["path", "train.svm", "--quiet", "--points", "4", "--ratio", "3"];
    let told = json(folder, &[&path[..], &["--json", "-o", "model"]].concat());
    let steps = told["steps"].as_array().expect("steps");
    let number = |v: &Value| v.as_f64().expect("a number");
    assert_eq!((steps.len(), &told["folds"], &told["level"]), (4, &5.into(), &1.0.into()));
    for pair in steps.windows(2) {
        assert!((number(&pair[1]["tau"]) / number(&pair[0]["tau"]) - 3.0).abs() < 1e-12);
    }
    for step in steps {
        assert_eq!(step["status"], "solved", "{step}");
        for name in ["worst_recall", "macro_f1", "mean_loss", "cvar_10", "seconds"] {
            assert!(number(&step[name]) >= 0.0, "{name}");
        }
        assert!(step["grads"].as_u64() > Some(0));
    }
    let accuracies: Vec<f64> = steps.iter().map(|s| number(&s["accuracy"])).collect();
    let best = accuracies.iter().copied().fold(0.0, f64::max);
    let chosen = accuracies.iter().position(|&a| a == best).expect("a best");
    assert_eq!(told["chosen"], chosen);
    assert_eq!(told["tau"], steps[chosen]["tau"]);

    let tau = number(&told["tau"]).to_string();
    run(folder, &["fit", "train.svm", "--quiet", "--tau", &tau, "-o", "same"]);
    let read = |name: &str| std::fs::read(folder.join(name)).expect("a model");
    assert!(read("model") == read("same"));
    assert_eq!(told["fit"]["n"], 300);
    assert!(json(folder, &["evaluate", "model", "train.svm", "--json"])["accuracy"].is_number());

    let table = run(folder, &path);
    let rows: Vec<&str> = table.lines().filter(|line| line.starts_with("| ")).collect();
    assert_eq!(rows.len(), 5, "{table}");
    assert!(
        rows[chosen + 1].contains("chosen") && table.matches("| chosen |").count() == 1,
        "{table}"
    );
    assert!(table.contains(&format!("couloir fit train.svm --tau {tau} --level 1")), "{table}");
    assert_eq!(files(folder), ["model", "same", "train.svm"]);
}

#[test]
fn the_seed_and_nothing_else_decides_which_rows_a_path_holds_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    generate(folder, "train.svm");
    let losses = |more: &[&str]| {
        let path = ["path", "train.svm", "--quiet", "--json", "--points", "2", "--by", "loss"];
        let told = json(folder, &[&path[..], more].concat());
        let steps = told["steps"].as_array().expect("steps").clone();
        steps.iter().map(|s| s["mean_loss"].to_string()).collect::<Vec<_>>()
    };
    let first = losses(&["--threads", "1"]);
    assert_eq!(first, losses(&["--threads", "2"]));
    assert_ne!(first, losses(&["--seed", "9"]));
    assert_ne!(first, losses(&["--folds", "3"]));
}

#[test]
fn bad_paths_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    generate(folder, "train.svm");
    std::fs::write(folder.join("few.svm"), "1 1:1\n2 2:1\n").expect("a file");
    for (arguments, says) in [
        (&["train.svm", "--points", "0"][..], "--points"),
        (&["train.svm", "--ratio", "1"], "--ratio"),
        (&["train.svm", "--ratio", "-2"], "--ratio"),
        (&["train.svm", "--folds", "1"], "--folds"),
        (&["train.svm", "--levels", "0.1,x"], "--levels"),
        (&["train.svm", "--tau", "0"], "--tau"),
        (&["train.svm", "--by", "luck"], "--by"),
        (&["train.svm", "--points", "900", "--ratio", "10"], "grid"),
        (&["few.svm"], "few.svm: setting folds: from 2 to the number of rows, 2, got 5"),
        (&["missing.svm"], "missing.svm: no such file"),
        (&["train.svm", "-o", "train.svm"], "same file"),
        (&["train.svm", "--max-memory", "100K"], "would take about"),
    ] {
        let done = couloir(folder).arg("path").args(arguments).assert().code(2);
        let err = text(&done.get_output().stderr);
        assert!(err.starts_with("couloir: ") && err.lines().count() == 1, "{arguments:?}: {err}");
        assert!(err.contains(says), "{arguments:?}: {err}");
    }
    assert_eq!(files(folder), ["few.svm", "train.svm"]);
}
