//! `couloir fit`: what it prints, writes and promises.

mod common;

use common::{couloir, files, generate, text};
use couloir::model::{Classifier, ModelLimits};
use couloir::run::TRACE_RECORDS;
use couloir::{Inner, Method};
use serde_json::Value;
use std::path::Path;

/// Runs `couloir fit` with these arguments and gives the object that it prints.
fn fit(folder: &Path, arguments: &str) -> Value {
    let done =
        couloir(folder).arg("fit").args(arguments.split(' ')).arg("--json").assert().success();
    let out = text(&done.get_output().stdout);
    assert_eq!(out.lines().count(), 1, "{out}");
    serde_json::from_str(&out).expect("JSON")
}

fn number(report: &Value, name: &str) -> f64 {
    report[name].as_f64().unwrap_or_else(|| panic!("{name} is no number: {report}"))
}

#[test]
fn the_report_has_every_field_and_they_fit_together() {
    let folder = tempfile::tempdir().expect("a folder");
    generate(folder.path(), "text.svm.bz2");
    for (objective, tol) in [("dro", 1e-3), ("paper", 1e-4)] {
        let report =
            fit(folder.path(), &format!("text.svm.bz2 --objective {objective} --tol {tol}"));
        let get = |name: &str| number(&report, name);
        assert_eq!(
            (report["status"].as_str(), report["method"].as_str()),
            (Some("solved"), Some("certified"))
        );
        assert_eq!([get("n"), get("d"), get("classes")], [300.0, 400.0, 4.0]);
        // rows have length 1, so the chosen radius is sqrt(n h)
        assert!((get("tau") - 1200f64.sqrt()).abs() <= 1e-9);
        assert_eq!((report["tau_chosen"].as_bool(), get("level")), (Some(true), 1.0));
        assert_eq!(report["objective"], objective);
        assert!(get("gap") <= tol && get("gap") > 0.0);
        assert!((get("gap") - get("gap_x") - get("gap_y")).abs() <= 1e-15);
        assert!(get("value") <= get("primal"));
        assert_eq!(report["solved"], true);
        assert!((get("upper") - get("lower") - get("gap")).abs() <= 1e-12 * get("upper"));
        assert!(get("primal") - get("lower") <= get("gap") * (1.0 + 1e-9));
        assert_eq!(report["confidence"], "exact");
        assert!(get("bound") >= 0.0);
        assert!(get("iterations") >= 1.0 && get("grads") >= get("iterations"));
        assert!(get("certificate_grads") >= 1.0 && get("certificate_lo_calls") >= 1.0);
        assert!((1.0..=4.0).contains(&get("rank")));
        assert!(get("nuclear_norm") <= get("tau") * (1.0 + 1e-9));
        assert!(get("seconds") >= get("method_seconds") && get("method_seconds") > 0.0);
        assert!(get("threads") >= 1.0);
        assert_eq!(get("seed"), 0.0);
        let ledger = &report["ledger"];
        assert_eq!(ledger["method"]["grad_x"], report["grads"]);
        assert_eq!(ledger["certificate"]["grad_x"], report["certificate_grads"]);
        for (account, name) in [("method", "lo_calls"), ("certificate", "certificate_lo_calls")] {
            let lo = number(&ledger[account], "lo_x") + number(&ledger[account], "lo_y");
            assert_eq!(lo, get(name), "{name}");
        }
        assert!(report["model"].is_null());
    }
}

#[test]
fn an_intercept_costs_few_iterations_on_text() {
    let folder = tempfile::tempdir().expect("a folder");
    generate(folder.path(), "text.svm");
    let iterations = |extra: &str| {
        number(&fit(folder.path(), &format!("text.svm --tol 1e-3{extra}")), "iterations")
    };
    // a constant as long as the rows takes 55, where 16 do without
    let (without, with) = (iterations(""), iterations(" --intercept"));
    assert!(with <= 1.5 * without, "{with} iterations with an intercept, {without} without");
}

#[test]
fn every_method_runs_under_a_small_budget_and_certifies_what_it_returns() {
    let folder = tempfile::tempdir().expect("a folder");
    generate(folder.path(), "text.svm");
    let first = number(&fit(folder.path(), "text.svm --tau 5 --max-iters 1 --tol 1e-9"), "primal");
    for (arguments, name) in [
        ("--method certified", "certified"),
        ("--method certified --inner slide", "certified"),
        ("--method mpcgs", "mpcgs"),
        ("--method mpcgs --inner exact", "mpcgs"),
        ("--method batched --seed 7", "batched"),
        ("--method mpscgs --max-iters 2", "mpscgs"),
        ("--method spfw --start vertex", "spfw"),
        ("--method svre", "svre"),
        ("--method extragradient --intercept", "extragradient"),
        ("--method apg --inner exact", "apg"),
    ] {
        let iterations = if arguments.contains("--max-iters") { "" } else { " --max-iters 12" };
        let budget = format!("text.svm --tau 5 --max-time 5 --tol 1e-9{iterations} {arguments}");
        let report = fit(folder.path(), &budget);
        assert_eq!(report["method"], name, "{arguments}");
        let get = |field: &str| number(&report, field);
        assert!(get("gap").is_finite() && get("gap") > 0.0, "{arguments}: {report}");
        // whatever the method, its certificate brackets the same optimum: primal - gap <= optimum <= first
        assert!(get("primal") - get("gap") <= first + 1e-12, "{arguments}: {report}");
        assert!(get("nuclear_norm") <= 5.0 * (1.0 + 1e-9), "{arguments}: {report}");
    }
}

#[test]
fn budgets_end_a_run_and_say_so() {
    let folder = tempfile::tempdir().expect("a folder");
    generate(folder.path(), "text.svm");
    for (budget, status) in [
        ("--max-iters 2", "iteration limit"),
        ("--max-grads 3", "limit of grad_x"),
        ("--max-time 1e-9", "time limit"),
        ("--max-memory 1M", "memory limit"),
    ] {
        let report = fit(folder.path(), &format!("text.svm --tol 1e-12 {budget}"));
        assert_eq!((&report["status"], &report["solved"]), (&status.into(), &false.into()));
        assert!(number(&report, "gap") > 1e-12);
    }
}

#[test]
fn a_missed_tolerance_is_a_warning_with_what_was_reached_and_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    generate(folder.path(), "text.svm");
    let warning = |arguments: &str| {
        let done = couloir(folder.path()).args(arguments.split(' ')).assert().success();
        text(&done.get_output().stderr)
    };
    let limited = warning("fit text.svm --quiet --tol 1e-9 --max-iters 2 --checkpoint state");
    assert!(limited.starts_with("couloir: warning: text.svm: tolerance 1e-9 not reached: "));
    for part in [
        "iteration limit after 2 iterations, certified gap ",
        "raise --max-iters",
        "--resume state",
    ] {
        assert!(limited.contains(part), "{part}: {limited}");
    }
    assert_eq!(limited.lines().count(), 1, "{limited}");
    let path = warning("path text.svm --quiet --tol 1e-9 --max-iters 2 --points 3 -o model");
    assert!(path.contains("not reached for 15 of 15 fits: iteration limit"), "{path}");
    assert_eq!(path.lines().count(), 2, "one for the path and one for the model: {path}");
    assert_eq!(warning("fit text.svm --quiet"), "");
}

#[test]
fn the_summary_has_the_lower_bound_as_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = ["fit", "generated:300x200x3", "--max-iters", "1", "--quiet"];
    let report: Value = {
        let done = couloir(folder.path()).args(arguments).arg("--json").assert().success();
        serde_json::from_slice(&done.get_output().stdout).expect("JSON")
    };
    let (loss, lower) = (number(&report, "primal"), number(&report, "lower"));
    assert!(lower < 0.0 && loss - lower <= number(&report, "gap"), "{report}");
    let done = couloir(folder.path()).args(arguments).assert().success();
    let summary = text(&done.get_output().stdout);
    let line = format!("loss      {loss:.4} robust (under the worst row weights), lower bound ");
    assert!(summary.contains(&line), "{line}: {summary}");
    assert!(
        summary.contains(&format!("lower bound -{}", &format!("{:.5}", -lower)[..4])),
        "{summary}"
    );
}

#[test]
fn made_up_text_is_fitted_by_its_name_as_compare_makes_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let by_name = fit(folder.path(), "generated:300x400x4");
    assert_eq!(
        (&by_name["data"], &by_name["status"]),
        (&"generated:300x400x4".into(), &"solved".into())
    );
    assert_eq!([&by_name["n"], &by_name["d"], &by_name["classes"]], [300, 400, 4]);
    let shape = ["--rows", "300", "--features", "400", "--classes", "4", "-o", "same.svm"];
    couloir(folder.path()).args(["data", "generate"]).args(shape).assert().success();
    let by_file = fit(folder.path(), "same.svm");
    for field in ["entries", "primal", "gap", "iterations"] {
        assert_eq!(by_name[field], by_file[field], "{field}");
    }
    let failed = couloir(folder.path())
        .args(["fit", "generated:300x400x4", "--classes", "5"])
        .assert()
        .code(2);
    assert!(text(&failed.get_output().stderr).contains("has 4 classes, not 5"));
}

#[test]
fn numbers_that_overflow_before_the_first_certificate_end_with_code_1() {
    let folder = tempfile::tempdir().expect("a folder");
    let rows = "1 1:1e308 2:1e308\n2 1:-1e308 2:1e308\n";
    std::fs::write(folder.path().join("huge.svm"), rows).expect("a file");
    let failed =
        couloir(folder.path()).args(["fit", "huge.svm", "--tau", "1e200"]).assert().code(1);
    let message = text(&failed.get_output().stderr);
    assert!(message.contains("every entry must be a finite number"), "{message}");
}

#[test]
fn a_fit_over_its_memory_ends_with_its_best_point_and_goes_on_with_more() {
    let folder = tempfile::tempdir().expect("a folder");
    generate(folder.path(), "text.svm");
    // the estimate is within the limit, the process with all its code is not
    let ended =
        fit(folder.path(), "text.svm --tol 1e-4 --max-memory 1M -o model --checkpoint state");
    assert_eq!((&ended["status"], &ended["iterations"]), (&"memory limit".into(), &0.into()));
    assert!(number(&ended, "gap").is_finite());
    assert_eq!(files(folder.path()), ["model", "state", "text.svm"]);
    let more = fit(folder.path(), "text.svm --tol 1e-4 --max-memory 1G -o model --resume state");
    let whole = fit(folder.path(), "text.svm --tol 1e-4");
    assert_eq!(more["status"], "solved");
    assert_eq!((&more["gap"], &more["iterations"]), (&whole["gap"], &whole["iterations"]));
}

#[test]
fn the_help_has_every_method_and_every_inner_solve() {
    let folder = tempfile::tempdir().expect("a folder");
    let done = couloir(folder.path()).args(["fit", "--help"]).assert().success();
    // lines are wrapped to the width of the terminal
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let help = plain(&text(&done.get_output().stdout));
    for about in Method::all().map(|method| method.about()) {
        let row = format!("- {}: {}", about.name, about.summary);
        assert!(help.contains(&plain(&row)), "{row}\n{help}");
    }
    for inner in Inner::ALL {
        assert!(help.contains(&format!("- {inner}: {}", inner.summary())), "{inner}\n{help}");
    }
}

#[test]
fn a_long_trace_is_thinned_unless_all_of_it_is_wanted() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("few.svm"), "1 1:1\n2 2:1\n3 1:-1 2:-1\n").expect("writing");
    let iterations = TRACE_RECORDS as u64 + 100;
    let trace = |extra: &str| -> Vec<Value> {
        let run = format!("few.svm --method spfw --tol 1e-12 --max-iters {iterations} --threads 1");
        fit(folder.path(), &format!("{run} --trace trace.jsonl{extra}"));
        let trace = std::fs::read_to_string(folder.path().join("trace.jsonl")).expect("a trace");
        trace.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    };
    let (thinned, whole) = (trace(""), trace(" --whole-trace"));
    assert_eq!(whole.len() as u64, iterations + 1);
    assert!((TRACE_RECORDS / 2..=TRACE_RECORDS).contains(&thinned.len()), "{}", thinned.len());
    for trace in [&thinned, &whole] {
        let ends = [trace.first(), trace.last()]
            .map(|point| point.expect("a record")["iteration"].as_u64());
        assert_eq!(ends, [Some(0), Some(iterations)]);
    }
}

#[test]
fn the_model_is_the_same_bytes_on_one_thread_and_on_two() {
    let folder = tempfile::tempdir().expect("a folder");
    generate(folder.path(), "text.svm");
    for method in ["certified", "batched", "apg"] {
        let models = [1, 2].map(|threads| {
            let arguments = format!(
                "text.svm --method {method} --max-iters 15 --intercept --threads {threads} -o model"
            );
            let report = fit(folder.path(), &arguments);
            assert_eq!(report["threads"], threads);
            assert_eq!(report["model"], "model");
            std::fs::read(folder.path().join("model")).expect("the model")
        });
        assert!(models[0] == models[1], "{method}");
    }
    let model = Classifier::load(&folder.path().join("model"), &ModelLimits::default());
    let model = model.expect("a model");
    assert_eq!((model.classes(), model.features(), model.bias().is_some()), (4, 400, true));
    assert_eq!(model.labels(), ["1", "2", "3", "4"]);
    assert_eq!(model.info()["method"], "apg");
}

#[test]
fn the_trace_is_a_json_object_a_line_and_ends_where_the_report_does() {
    let folder = tempfile::tempdir().expect("a folder");
    generate(folder.path(), "text.svm");
    let report = fit(folder.path(), "text.svm --objective paper --tol 1e-4 --trace trace.jsonl");
    let trace = std::fs::read_to_string(folder.path().join("trace.jsonl")).expect("the trace");
    let lines: Vec<Value> =
        trace.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len() as f64, number(&report, "iterations") + 1.0);
    for pair in lines.windows(2) {
        for field in ["iteration", "seconds", "grads", "lo_calls", "certificate_lo_calls", "passes"]
        {
            assert!(number(&pair[0], field) <= number(&pair[1], field), "{field}");
        }
        assert!(number(&pair[1], "gap") <= number(&pair[0], "gap") * (1.0 + 1e-12));
    }
    let last = lines.last().expect("a last line");
    for field in [
        "gap",
        "gap_x",
        "gap_y",
        "lower",
        "grads",
        "certificate_grads",
        "lo_calls",
        "certificate_lo_calls",
    ] {
        assert_eq!(last[field], report[field], "{field}");
    }
    assert_eq!(files(folder.path()), ["text.svm", "trace.jsonl"]);
}

#[test]
fn the_summary_tells_the_radius_chosen_and_where_the_model_is() {
    let folder = tempfile::tempdir().expect("a folder");
    generate(folder.path(), "text.svm.gz");
    let run = |arguments: &[&str]| {
        let done = couloir(folder.path()).arg("fit").args(arguments).assert().success();
        assert_eq!(text(&done.get_output().stderr), "", "a short run shows no progress in a pipe");
        text(&done.get_output().stdout)
    };
    let out = run(&["text.svm.gz", "-o", "model.safetensors", "--quiet"]);
    for part in ["300 rows", "tau 34.64 (chosen", "solved after", "certified", "model.safetensors"]
    {
        assert!(out.contains(part), "{part}: {out}");
    }
    let out = run(&["text.svm.gz", "--tau", "3"]);
    assert!(out.contains("tau 3.000, ") && out.contains("not kept"), "{out}");
}

#[test]
fn data_comes_from_standard_input_or_by_the_name_of_a_fetched_set() {
    let folder = tempfile::tempdir().expect("a folder");
    generate(folder.path(), "text.svm");
    let cache = folder.path().join("couloir").join("data");
    std::fs::create_dir_all(&cache).expect("a folder");
    let rows = std::fs::read(folder.path().join("text.svm")).expect("the data");
    std::fs::write(cache.join("sector.scale.bz2"), &rows).expect("writing");
    let primal = |mut command: assert_cmd::Command| {
        let done = command.arg("--json").assert().success();
        number(&serde_json::from_slice(&done.get_output().stdout).expect("JSON"), "primal")
    };
    let mut by_file = couloir(folder.path());
    by_file.args(["fit", "text.svm"]);
    let mut by_pipe = couloir(folder.path());
    by_pipe.args(["fit", "-"]).write_stdin(rows);
    let mut by_name = couloir(folder.path());
    by_name.args(["fit", "sector.scale"]).env("XDG_CACHE_HOME", folder.path());
    let value = primal(by_file);
    assert_eq!(value, primal(by_pipe));
    if cfg!(target_os = "linux") {
        assert_eq!(value, primal(by_name));
    }
}

#[test]
fn declared_classes_that_no_row_has_get_labels_and_weights() {
    let folder = tempfile::tempdir().expect("a folder");
    generate(folder.path(), "text.svm");
    let report = fit(folder.path(), "text.svm --classes 6 -o model");
    assert_eq!(report["classes"], 6);
    let model = Classifier::load(&folder.path().join("model"), &ModelLimits::default());
    assert_eq!(model.expect("a model").labels(), ["1", "2", "3", "4", "5", "6"]);
}

#[test]
fn extreme_but_valid_data_ends_with_a_certificate_and_json_without_nan() {
    let folder = tempfile::tempdir().expect("a folder");
    let rows = |value: &str| -> String {
        (0..12)
            .map(|i| format!("{} {}:{value} {}:-{value}\n", i % 3, 1 + i % 4, 5 + i % 3))
            .collect()
    };
    for (name, content) in [
        ("vast", rows("1.5e150")),
        ("tiny", rows("1.5e-150")),
        ("both", rows("1.5e150") + &rows("1.5e-150")),
        ("one row of each class", "1 1:1\n2 1:1\n".to_owned()),
        ("empty rows", "1\n2\n1 1:1\n".to_owned()),
        ("one feature", "1 1:1\n2 1:-1\n1 1:2\n".to_owned()),
    ] {
        std::fs::write(folder.path().join("data.svm"), content).expect("a file");
        for tau in ["", "--tau 1e-8", "--tau 1", "--tau 1e8"] {
            let case = format!("data.svm --quiet --max-iters 50 -o model {tau}");
            let report = fit(folder.path(), case.trim());
            let get = |name: &str| number(&report, name);
            for name in ["value", "primal", "lower", "gap", "gap_x", "gap_y", "nuclear_norm", "tau"]
            {
                assert!(get(name).is_finite(), "{name}: {report}");
            }
            assert!(get("nuclear_norm") <= get("tau") * (1.0 + 1e-9), "{name}: {report}");
            let rounding = 1e-9 * get("primal").abs();
            assert!(get("gap") >= get("primal") - get("lower") - rounding, "{name}: {report}");
            couloir(folder.path()).args(["predict", "model", "data.svm"]).assert().success();
        }
    }
}
