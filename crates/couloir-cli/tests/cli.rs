//! The command, as a user types it.

mod common;

use assert_cmd::Command;
use common::text;

fn couloir() -> Command {
    common::couloir(std::path::Path::new("."))
}

#[test]
fn demo_prints_every_method_on_both_problems_and_certified_solves_them() {
    let done = couloir().args(["demo", "--max-time", "1"]).assert().success();
    let out = text(&done.get_output().stdout);
    let rows = |name: &str| -> Vec<&str> {
        out.lines().filter(|line| line.starts_with(&format!("| {name} "))).collect()
    };
    assert_eq!((rows("printed").len(), rows("certified").len()), (2, 4), "{out}");
    for line in rows("certified") {
        assert!(line.contains("solved (relative)"), "{line}");
    }
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
fn bad_options_get_one_line_and_exit_code_2() {
    for arguments in [["demo", "--tol=0"], ["demo", "--max-time=-1"], ["demo", "--tol=NaN"]] {
        let done = couloir().args(arguments).assert().code(2);
        let err = text(&done.get_output().stderr);
        assert!(err.starts_with("couloir: invalid value"), "{err}");
        assert!(err.contains("above zero") && err.lines().count() == 1, "{err}");
    }
    couloir().arg("dmeo").assert().code(2);
}
