//! The command, as a user types it.

mod common;

use assert_cmd::Command;
use common::text;

fn couloir() -> Command {
    common::couloir(std::path::Path::new("."))
}

#[test]
fn demo_prints_both_tables_and_writes_model_trace_and_picture() {
    let folder = tempfile::tempdir().expect("a folder");
    let done = couloir()
        .current_dir(&folder)
        .args(["demo", "--rows", "600", "--time-budget", "0.3", "--out", "made"])
        .assert()
        .success();
    let out = text(&done.get_output().stdout);
    let cell = |name: &str, column: usize| -> f64 {
        let line = out.lines().find(|line| line.starts_with(&format!("| {name} ")));
        let cell = line.and_then(|line| line.split('|').nth(column)).map(str::trim);
        cell.and_then(|c| c.trim_end_matches(" %").parse().ok()).unwrap_or_else(|| panic!("{out}"))
    };
    for model in ["plain", "class-balanced", "group-robust", "CVaR 30 %"] {
        assert!(cell(model, 7) <= couloir::model::DEFAULT_TOL, "{out}");
    }
    for method in ["certified", "batched", "svre", "spfw"] {
        assert!(cell(method, 2) > 0.0 && cell(method, 6) > 0.0, "{out}");
    }
    let made = |name| std::fs::read_to_string(folder.path().join("made").join(name));
    let svg = made("gap.svg").expect("a picture");
    for method in ["certified", "batched", "svre", "spfw"] {
        assert!(svg.contains(method), "{method} is not in the picture");
    }
    for line in made("trace.jsonl").expect("a trace").lines() {
        let point: serde_json::Value = serde_json::from_str(line).expect("JSON");
        assert!(point["method"].is_string() && point["gap"].is_f64(), "{line}");
    }
    couloir()
        .current_dir(&folder)
        .args(["demo", "--out", "made/gap.svg"])
        .assert()
        .code(2)
        .stderr("couloir: made/gap.svg: is not a folder; name another with --out\n");
}

#[test]
fn help_tells_what_there_is() {
    let done = couloir().arg("--help").assert().success();
    let out = text(&done.get_output().stdout);
    for command in ["fit", "path", "predict", "evaluate", "data", "demo"] {
        assert!(out.contains(command), "{command}");
        couloir().args([command, "--help"]).assert().success();
    }
}

#[test]
fn the_help_of_fit_says_what_the_intercept_is_and_how_a_limit_ends() {
    let done = couloir().args(["fit", "--help"]).assert().success();
    let out = text(&done.get_output().stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(out.contains("as large as the heaviest feature (by root mean square)"), "{out}");
    assert!(out.contains("warns and ends with exit code 0"), "{out}");
    assert!(out.contains("generated:2000x5000x8"), "{out}");
}

#[test]
fn bad_options_get_one_line_and_exit_code_2() {
    for argument in ["--time-budget=0", "--time-budget=-1", "--time-budget=NaN"] {
        let done = couloir().args(["demo", argument]).assert().code(2);
        let err = text(&done.get_output().stderr);
        assert!(err.starts_with("couloir: invalid value"), "{err}");
        assert!(err.contains("above zero") && err.lines().count() == 1, "{err}");
    }
    couloir().arg("dmeo").assert().code(2);
}

#[test]
fn a_game_is_solved_from_a_file_or_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("game.csv");
    std::fs::write(&file, "0, 2, -1\n-2, 0, 1\n\n1, -1, 0\n").expect("a file");
    let run = |arguments: &[&str]| {
        let done = couloir().arg("game").args(arguments).assert().success();
        String::from_utf8(done.get_output().stdout.clone()).expect("text")
    };
    let json = |arguments: &[&str]| -> serde_json::Value {
        serde_json::from_str(&run(arguments)).expect("one JSON object")
    };
    let name = file.to_str().expect("a name");
    let answer = json(&[name, "--json", "--tol", "1e-9"]);
    assert!(answer["value"].as_f64().expect("a value").abs() < 1e-9);
    assert!(answer["lower"].as_f64() <= Some(1e-12) && answer["upper"].as_f64() >= Some(-1e-12));
    assert!(answer["gap"].as_f64().expect("a gap") <= 1e-9);
    assert!((answer["x"][2].as_f64().expect("a weight") - 0.5).abs() < 1e-7);
    assert_eq!(answer["y"].as_array().expect("a strategy").len(), 3);
    let text = run(&[name]);
    assert!(text.starts_with("value ") && text.contains("x, who pays"), "{text}");

    let kuhn = json(&["kuhn", "--json", "--tol", "1e-8"]);
    assert!((kuhn["value"].as_f64().expect("a value") + 1.0 / 18.0).abs() < 1e-8);
    let blotto = json(&["blotto:3,3", "--json", "--tol", "1e-6"]);
    assert!(blotto["value"].as_f64().expect("a value").abs() < 1e-6);

    for (text, says) in
        [("1,2\n3\n", "line 2: 1 payoffs"), ("1,x\n", "entry 2: `x`"), ("\n", "no payoffs")]
    {
        std::fs::write(&file, text).expect("a file");
        let done = couloir().args(["game", name]).assert().code(2);
        let error = String::from_utf8_lossy(&done.get_output().stderr).into_owned();
        assert!(error.contains(says) && error.lines().count() == 1, "{error}");
    }
    for wrong in ["blotto:3", "blotto:0,3", "chess"] {
        couloir().args(["game", wrong]).assert().code(2);
    }
}
