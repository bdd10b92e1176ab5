//! Columns of very different size, groups of rows, and the same from Python's rule.

mod common;

use common::{couloir, text};
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;

/// Four columns of very different size and place, of which all tell something of three classes.
fn unscaled(seed: usize) -> String {
    let mut out = String::new();
    for i in 0..240 {
        let class = i % 3;
        let noise = |k: usize| ((i * 37 + k * 101 + seed * 13) % 97) as f64 / 97.0 - 0.5;
        let c = class as f64;
        let row = [
            1e4 + 3.0 * c + 2.0 * noise(1),
            1e-3 * (c * c + 1.5 * noise(2) + 4.0),
            500.0 * noise(3) + 100.0,
            7.0 - 2.0 * c + 3.0 * noise(4),
        ];
        write!(out, "{class}").expect("text");
        row.iter().enumerate().for_each(|(j, v)| write!(out, " {}:{v}", j + 1).expect("text"));
        out.push('\n');
    }
    out
}

fn json(folder: &Path, arguments: &str) -> Value {
    let done = couloir(folder).args(arguments.split(' ')).arg("--json").assert().success();
    serde_json::from_str(&text(&done.get_output().stdout)).expect("JSON")
}

#[test]
fn unscaled_columns_are_scaled_and_the_model_takes_rows_as_they_come() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    std::fs::write(folder.join("train.svm"), unscaled(1)).expect("a file");
    std::fs::write(folder.join("test.svm"), unscaled(2)).expect("a file");
    let accuracy = |scale: &str| {
        let fit = json(folder, &format!("fit train.svm --quiet -o model --scale {scale}"));
        let evaluated = json(folder, "evaluate model test.svm");
        (fit, evaluated["accuracy"].as_f64().expect("a number"))
    };
    let (scaled, with) = accuracy("auto");
    assert_eq!((&scaled["scale"], &scaled["intercept"]), (&"centred".into(), &true.into()));
    assert_eq!(scaled["tol"], 0.01);
    let (unscaled, without) = accuracy("off");
    assert_eq!((&unscaled["scale"], &unscaled["intercept"]), (&Value::Null, &false.into()));
    assert!(with > 0.9 && without < 0.6, "{with} with scaled columns, {without} without");
    // a search scales too
    let path = json(folder, "path train.svm --quiet --points 3 -o best --levels 0.3,1");
    assert_eq!(path["steps"].as_array().map(Vec::len), Some(6));
    assert!(path["steps"][0]["accuracy"].as_f64() > Some(0.8), "{path}");
    assert!(json(folder, "evaluate best test.svm")["accuracy"].as_f64() > Some(0.9));
}

#[test]
fn groups_are_measured_and_test_rows_are_on_the_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let made = "data generate --rows 900 --features 600 --classes 3 --density 30";
    for (name, minority, sample) in [("train", "0.1", "0"), ("test", "0.5", "1")] {
        let options = format!("{made} --minority {minority} --sample {sample}");
        couloir(folder)
            .args(options.split(' '))
            .args(["--groups", &format!("{name}.groups"), "-o", &format!("{name}.svm")])
            .assert()
            .success();
    }
    // the same features in both
    for name in ["train.svm", "test.svm"] {
        let path = folder.join(name);
        let rows = std::fs::read_to_string(&path).expect("rows");
        let lines = rows.lines().map(|line| match line.contains(" 600:") {
            true => line.to_owned(),
            false => format!("{line} 600:1e-9"),
        });
        std::fs::write(&path, lines.collect::<Vec<_>>().join("\n") + "\n").expect("a file");
    }
    couloir(folder)
        .args("fit train.svm -q --uncertainty group --groups train.groups -o model".split(' '))
        .args("--report page.html --test test.svm --test-groups test.groups".split(' '))
        .assert()
        .success();
    let page = std::fs::read_to_string(folder.join("page.html")).expect("a page");
    for part in
        ["Accuracy by group on test.svm", "Accuracy by group on the data of the fit", "minority"]
    {
        assert!(page.contains(part), "{part}");
    }
    let report = json(folder, "evaluate model test.svm --groups test.groups --cvar 0.2");
    let number = |v: &Value| v.as_f64().expect("a number");
    let groups = report["per_group"].as_array().expect("groups");
    let names: Vec<&str> = groups.iter().filter_map(|g| g["group"].as_str()).collect();
    assert_eq!(names, ["majority", "minority"]);
    let rows: Vec<f64> = groups.iter().map(|g| number(&g["rows"])).collect();
    assert_eq!(rows, [450.0, 450.0]);
    let accuracies: Vec<f64> = groups.iter().map(|g| number(&g["accuracy"])).collect();
    assert!((accuracies.iter().sum::<f64>() / 2.0 - number(&report["accuracy"])).abs() < 1e-12);
    assert_eq!(report["worst_group_accuracy"], accuracies[0].min(accuracies[1]));
    assert_eq!(report["cvar_level"], 0.2);
    let table = couloir(folder)
        .args("evaluate model test.svm --groups test.groups".split(' '))
        .assert()
        .success();
    let table = text(&table.get_output().stdout);
    assert!(table.contains("worst group   ") && table.contains("| minority |"), "{table}");
}
