//! Runs that are interrupted or killed, and go on.
#![cfg(unix)]

mod common;

use common::{couloir, files, generate, text};
use couloir::model::{Classifier, ModelLimits};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

/// A fit that takes a second or so and writes all that it can.
const LONG: &str = "text.svm --tol 1e-9 --method spfw --max-iters 5000";
const OUTPUTS: &str = "-o model --trace trace.jsonl --json --quiet";

fn start(folder: &Path, arguments: &str) -> Child {
    start_with(folder, arguments, Stdio::null())
}

fn start_with(folder: &Path, arguments: &str, input: Stdio) -> Child {
    Command::new(env!("CARGO_BIN_EXE_couloir"))
        .current_dir(folder)
        .args(arguments.split(' '))
        .stdin(input)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a process")
}

fn send(signal: &str, child: &Child) {
    let id = child.id().to_string();
    assert!(Command::new("kill").args([signal, &id]).status().expect("kill").success());
}

/// Waits for something to happen.
fn wait_until(what: &str, happened: impl Fn() -> bool) {
    let began = Instant::now();
    while !happened() {
        assert!(began.elapsed() < Duration::from_secs(60), "{what}: it never came");
        std::thread::sleep(Duration::from_micros(500));
    }
}

/// Waits for a file to be there.
fn wait_for(path: &Path) {
    wait_until(&path.display().to_string(), || path.exists());
}

/// Waits until a process catches signals: before, one would end it as any process.
#[cfg(target_os = "linux")]
fn wait_until_it_listens(child: &Child) {
    let caught = 1u64 << (libc::SIGINT - 1) | 1 << (libc::SIGTERM - 1);
    let status = format!("/proc/{}/status", child.id());
    wait_until("listening", || {
        let status = fs::read_to_string(&status).expect("its status");
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).expect("a mask");
        let mask = u64::from_str_radix(mask.trim(), 16).expect("a number");
        mask & caught == caught
    });
}

#[cfg(not(target_os = "linux"))]
fn wait_until_it_listens(_: &Child) {
    std::thread::sleep(Duration::from_secs(2));
}

/// A process that a signal ended at once, with a line that says no more than that.
fn ended_at_once(child: Child, code: i32) {
    let (output, status) = end(child);
    assert_eq!(status.code(), Some(code), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "couloir: interrupted\n");
}

fn end(child: Child) -> (Output, ExitStatus) {
    let output = child.wait_with_output().expect("its output");
    let status = output.status;
    (output, status)
}

fn report(output: &Output) -> Value {
    serde_json::from_str(&text(&output.stdout)).expect("a report")
}

/// All of a report but its times and names.
fn facts(output: &Output) -> Value {
    let mut report = report(output);
    let object = report.as_object_mut().expect("an object");
    for name in ["seconds", "method_seconds", "model", "threads"] {
        object.remove(name).unwrap_or_else(|| panic!("{name}"));
    }
    report
}

/// The trace without its times.
fn trace(path: &Path) -> Vec<Value> {
    let lines = fs::read_to_string(path).expect("a trace");
    let mut lines: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    for line in &mut lines {
        line.as_object_mut().expect("an object").remove("seconds").expect("seconds");
    }
    lines
}

fn fit(folder: &Path, arguments: &str) -> Output {
    let (output, status) = end(start(folder, &format!("fit {arguments}")));
    assert!(status.success(), "{}", text(&output.stderr));
    output
}

#[test]
fn a_signal_ends_a_fit_with_all_that_it_has_and_it_goes_on_to_the_same_bits() {
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        generate(folder.path(), "text.svm");
        let child = start(
            folder.path(),
            &format!("fit {LONG} {OUTPUTS} --checkpoint state --checkpoint-every 0.01"),
        );
        wait_for(&path("state"));
        send(signal, &child);
        let (output, status) = end(child);
        assert_eq!(status.code(), Some(code), "{}", text(&output.stderr));
        let line = "couloir: interrupted; the model is the best point so far, with its certificate; \
                    --resume state continues\n";
        assert_eq!(text(&output.stderr), line);
        assert_eq!(files(folder.path()), ["model", "state", "text.svm", "trace.jsonl"]);
        // the model has the certificate of the report, the trace ends with it
        let now = report(&output);
        assert_eq!(now["status"], "cancelled");
        let model = Classifier::load(&path("model"), &ModelLimits::default()).expect("a model");
        assert_eq!(model.info()["gap"].parse::<f64>().ok(), now["gap"].as_f64());
        let before = trace(&path("trace.jsonl"));
        assert_eq!(before.last().expect("records")["gap"], now["gap"]);

        // threads may be others
        let resumed = fit(folder.path(), &format!("{LONG} {OUTPUTS} --resume state --threads 1"));
        let (model, records) = (fs::read(path("model")), trace(&path("trace.jsonl")));
        assert!(records.len() > before.len());
        let whole = fit(folder.path(), &format!("{LONG} {OUTPUTS}"));
        assert_eq!(facts(&resumed), facts(&whole));
        assert!(model.expect("a model") == fs::read(path("model")).expect("a model"));
        assert_eq!(records, trace(&path("trace.jsonl")));
        assert_eq!(records[..before.len()], before);
    }
}

#[test]
fn a_second_signal_ends_at_once_whichever_it_is_and_leaves_no_half_files() {
    for (first, second, code) in
        [("-INT", "-INT", 130), ("-INT", "-TERM", 143), ("-TERM", "-TERM", 143)]
    {
        let folder = tempfile::tempdir().expect("a folder");
        generate(folder.path(), "text.svm");
        // an iteration of mpscgs takes long: the first signal waits for its end
        let mut child = start(
            folder.path(),
            "fit text.svm --method mpscgs --tau 1000 --level 1e-7 -o model --quiet \
             --checkpoint state --checkpoint-every 0",
        );
        // the state before the first iteration
        wait_for(&folder.path().join("state"));
        let began = Instant::now();
        send(first, &child);
        // two that come at once are one request
        while child.try_wait().expect("its status").is_none() {
            std::thread::sleep(Duration::from_millis(250));
            send(second, &child);
        }
        ended_at_once(child, code);
        assert!(began.elapsed() < Duration::from_secs(20), "an iteration takes longer than that");
        assert_eq!(files(folder.path()), ["state", "text.svm"]);
        couloir::run::Checkpoints::verify(&folder.path().join("state")).expect("a checkpoint");
    }
}

#[test]
fn a_fit_that_is_killed_again_and_again_comes_to_the_same_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    generate(folder.path(), "text.svm");
    // long enough for all the kills, however fast the machine
    let long = LONG.replace("5000", "20000");
    let whole = fit(folder.path(), &format!("{long} {OUTPUTS}"));
    let model = fs::read(path("model")).expect("a model");
    fs::remove_file(path("model")).expect("removing");
    let arguments = format!("fit {long} {OUTPUTS} --checkpoint-every 0.01");
    let mut child = start(folder.path(), &format!("{arguments} --checkpoint state"));
    wait_for(&path("state"));
    for kill in 0..4 {
        std::thread::sleep(Duration::from_millis(40 + 17 * kill));
        send("-KILL", &child);
        end(child);
        couloir::run::Checkpoints::verify(&path("state")).expect("a whole checkpoint");
        assert!(!path("model").exists());
        child = start(folder.path(), &format!("{arguments} --resume state"));
    }
    let (output, status) = end(child);
    assert!(status.success(), "{}", text(&output.stderr));
    assert_eq!(facts(&output), facts(&whole));
    assert!(fs::read(path("model")).expect("a model") == model);
    // what the killed ones left half-written is gone
    assert_eq!(files(folder.path()), ["model", "state", "text.svm", "trace.jsonl"]);
}

#[test]
fn a_checkpoint_that_does_not_fit_is_refused_in_one_line_and_nothing_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    generate(folder.path(), "text.svm");
    fit(folder.path(), "text.svm --tau 100 --checkpoint state --json --quiet");
    let state = fs::read(path("state")).expect("a checkpoint");
    let refused = |arguments: &str| {
        let mut command = couloir(folder.path());
        let done = command.arg("fit").args(arguments.split(' ')).args(["-o", "m"]).assert().code(2);
        let error = text(&done.get_output().stderr);
        assert_eq!(error.lines().count(), 1, "{error}");
        assert_eq!(fs::read(path("state")).expect("the checkpoint"), state, "{arguments}");
        assert!(!path("m").exists());
        error
    };
    let error = refused("text.svm --tau 50 --resume state");
    assert!(error.starts_with("couloir: state: is of another run: "), "{error}");
    assert!(error.contains("tau is 100 in the checkpoint and 50 here"), "{error}");
    let error = refused("text.svm --tau 100 --method apg --resume state");
    assert!(error.contains("method is certified in the checkpoint and apg here"), "{error}");
    fs::write(path("other.svm"), "1 1:0.5 2:1\n2 3:1\n").expect("writing");
    let error = refused("other.svm --tau 100 --resume state");
    assert!(error.contains("number of rows is 300 in the checkpoint and 2 here"), "{error}");
    let error = refused("text.svm --resume missing");
    assert_eq!(error, "couloir: missing: no such file; check the path\n");
    assert!(refused("text.svm --resume text.svm").contains("not a checkpoint"));
    fs::write(path("half"), &state[..state.len() / 2]).expect("writing");
    assert!(refused("text.svm --resume half").contains("half: damaged: "));
    assert!(refused("text.svm --checkpoint m").contains("are the same file"));
    assert!(refused("text.svm --checkpoint missing/state").contains("there is no folder"));
    assert!(refused("text.svm --checkpoint x --checkpoint-every -1").contains("zero or more"));
}

#[test]
fn a_finished_fit_goes_on_to_a_smaller_gap() {
    let folder = tempfile::tempdir().expect("a folder");
    generate(folder.path(), "text.svm");
    let rough = fit(folder.path(), "text.svm --tol 1e-1 --checkpoint state --json --quiet");
    let fine = fit(folder.path(), "text.svm --tol 1e-4 --resume state --json --quiet");
    let whole = fit(folder.path(), "text.svm --tol 1e-4 --json --quiet");
    assert_eq!(facts(&fine), facts(&whole));
    assert!(report(&rough)["iterations"].as_u64() < report(&fine)["iterations"].as_u64());
}

#[test]
fn an_interrupted_comparison_takes_the_run_under_way_up_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let arguments = "compare generated:400x500x4 --methods spfw,certified --time-budget 2 --tau 20 --out out --quiet";
    let child = start(folder.path(), arguments);
    wait_for(&out);
    std::thread::sleep(Duration::from_millis(1200));
    send("-INT", &child);
    let (output, status) = end(child);
    assert_eq!(status.code(), Some(130), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("the same command with --continue goes on"));
    assert_eq!(files(&out), [".couloir-compare", "results.jsonl", "run.checkpoint"]);
    let (output, status) = end(start(folder.path(), &format!("{arguments} --continue")));
    assert!(status.success(), "{}", text(&output.stderr));
    assert!(!out.join("run.checkpoint").exists());
    let results = fs::read_to_string(out.join("results.jsonl")).expect("results");
    let points: Vec<Value> = (results.lines())
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .filter(|line: &Value| line["kind"] == "point" && line["method"] == "spfw")
        .collect();
    // one run from its start to the end of its time, a good part of it before the signal
    let seconds: Vec<f64> = points.iter().filter_map(|point| point["seconds"].as_f64()).collect();
    assert!(seconds.is_sorted() && seconds[0] == 0.0);
    let iterations: Vec<u64> = points.iter().filter_map(|p| p["iteration"].as_u64()).collect();
    assert!(iterations.is_sorted_by(|a, b| a < b) && iterations[0] == 0);
    let last = seconds.last().expect("points");
    assert!((2.0..2.5).contains(last), "{last}");
}

#[test]
fn commands_without_a_state_end_at_the_first_signal_and_leave_nothing_half() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = "data generate --rows 300000 --features 50000 -o text.svm --max-memory 2G";
    let child = start(folder.path(), arguments);
    wait_until_it_listens(&child);
    send("-TERM", &child);
    ended_at_once(child, 143);
    assert!(files(folder.path()).is_empty());

    // a path of many seconds
    let shape = ["--rows", "4000", "--features", "8000"];
    let made =
        couloir(folder.path()).args(["data", "generate", "-o", "text.svm"]).args(shape).assert();
    made.success();
    let child = start(
        folder.path(),
        "path text.svm --tol 1e-9 --points 50 --max-iters 100000 -o model --quiet",
    );
    wait_until_it_listens(&child);
    send("-INT", &child);
    let (output, status) = end(child);
    assert_eq!(status.code(), Some(130), "{}", text(&output.stderr));
    // while it still reads there is nothing to speak of
    let line = text(&output.stderr);
    let lines = ["interrupted", "interrupted; no radius was chosen, and nothing written"];
    assert!(lines.iter().any(|expected| line == format!("couloir: {expected}\n")), "{line}");
    assert_eq!(files(folder.path()), ["text.svm"]);
}

#[test]
fn one_signal_ends_a_fit_that_waits_for_its_data() {
    let folder = tempfile::tempdir().expect("a folder");
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let mut child = start_with(folder.path(), "fit - --quiet -o model", Stdio::piped());
        let input = child.stdin.take();
        wait_until_it_listens(&child);
        send(signal, &child);
        ended_at_once(child, code);
        drop(input);
        assert!(files(folder.path()).is_empty());
    }
}

#[test]
fn a_signal_that_comes_twice_at_once_is_one_request() {
    let folder = tempfile::tempdir().expect("a folder");
    generate(folder.path(), "text.svm");
    let arguments = format!("fit {LONG} {OUTPUTS} --checkpoint state --checkpoint-every 0.01");
    let child = start(folder.path(), &arguments);
    wait_for(&folder.path().join("state"));
    // as `timeout` does: to the process, and to its group
    let id = child.id().to_string();
    let twice = ["-TERM", &id, &id];
    assert!(Command::new("kill").args(twice).status().expect("kill").success());
    let (output, status) = end(child);
    assert_eq!(status.code(), Some(143), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("the model is the best point so far"));
    assert_eq!(files(folder.path()), ["model", "state", "text.svm", "trace.jsonl"]);
}

#[test]
fn a_signal_that_the_caller_has_ignored_stays_ignored() {
    let folder = tempfile::tempdir().expect("a folder");
    generate(folder.path(), "text.svm");
    let command = env!("CARGO_BIN_EXE_couloir");
    let script = format!(
        "trap '' INT; exec {command} fit text.svm --tol 1e-300 --method spfw --max-iters 1000000000 {OUTPUTS} \
         --checkpoint state --checkpoint-every 0.01"
    );
    let child = Command::new("sh")
        .current_dir(folder.path())
        .args(["-c", &script])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a process");
    wait_for(&folder.path().join("state"));
    send("-INT", &child);
    std::thread::sleep(Duration::from_millis(300));
    send("-TERM", &child);
    let (output, status) = end(child);
    assert_eq!(status.code(), Some(143), "{}", text(&output.stderr));
}

const OLD: &[u8] = b"what was there before";

#[test]
fn predictions_end_at_the_first_signal_and_the_old_file_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    generate(path, "text.svm");
    fit(path, "text.svm -o model --quiet");
    fs::write(path.join("out"), OLD).expect("writing");
    let kept = || {
        assert_eq!(fs::read(path.join("out")).expect("the file"), OLD);
        assert_eq!(files(path), ["model", "out", "text.svm"]);
    };
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        // it waits for data that never comes
        let mut child = start_with(path, "predict model - -o out", Stdio::piped());
        let input = child.stdin.take();
        wait_until_it_listens(&child);
        send(signal, &child);
        ended_at_once(child, code);
        drop(input);
        kept();
    }

    // while it writes: a machine may be done before the signal comes, but not every time
    let rows = fs::read_to_string(path.join("text.svm")).expect("rows");
    fs::write(path.join("text.svm"), rows.repeat(100)).expect("writing");
    let arguments = "predict model text.svm --proba -o out";
    let is_half = |name: &String| name.ends_with(".partial");
    let caught = (0..20).any(|_| {
        let child = start(path, arguments);
        wait_until("writing", || {
            files(path).iter().any(is_half)
                || fs::read(path.join("out")).is_ok_and(|now| now != OLD)
        });
        send("-TERM", &child);
        let (output, status) = end(child);
        if !status.success() {
            assert_eq!(status.code(), Some(143), "{}", text(&output.stderr));
            assert_eq!(text(&output.stderr), "couloir: interrupted\n");
        }
        let now = fs::read(path.join("out")).expect("the file");
        if now == OLD {
            kept();
            return true;
        }
        assert_eq!(text(&now).lines().count(), 1 + 100 * rows.lines().count());
        fs::write(path.join("out"), OLD).expect("writing");
        false
    });
    assert!(caught, "the signal always came too late");
}

#[test]
fn a_demo_ends_at_the_first_signal_and_what_it_wrote_is_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        // a minute for each method
        let mut child = start(folder.path(), "demo --rows 200 --time-budget 60 --out out");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let first = lines.next().expect("a line").expect("text");
        assert!(first.starts_with("Made-up text"), "{first}");
        send(signal, &child);
        ended_at_once(child, code);
        assert!(files(&out).is_empty());

        // and as soon as there is anything in the folder: all that is there is whole
        let child = start(folder.path(), "demo --rows 200 --time-budget 0.01 --out out");
        wait_until("writing", || !files(&out).is_empty());
        send(signal, &child);
        let (output, status) = end(child);
        let names = files(&out);
        if status.success() {
            assert_eq!(names, ["gap.svg", "model.safetensors", "trace.jsonl"]);
        } else {
            assert_eq!(status.code(), Some(code), "{}", text(&output.stderr));
        }
        for name in names {
            let path = out.join(&name);
            match name.as_str() {
                "model.safetensors" => {
                    Classifier::load(&path, &ModelLimits::default()).expect("a whole model");
                }
                "trace.jsonl" => assert!(!trace(&path).is_empty()),
                "gap.svg" => {
                    let picture = fs::read_to_string(&path).expect("a picture");
                    assert!(picture.trim_end().ends_with("</svg>"), "{picture}");
                }
                other => panic!("{other} is left over"),
            }
            fs::remove_file(path).expect("removing");
        }
    }
}
