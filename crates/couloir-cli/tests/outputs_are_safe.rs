//! Outputs never destroy what is not theirs: streams are added to, links and read-only files are refused, inputs and files of other
//! processes stay, and what two processes cannot share is locked.
#![cfg(target_os = "linux")]

mod common;

use common::{generate, text};
use std::fs::{self, File, Permissions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const OLD: &[u8] = b"what was there before\n";
/// A run that takes until it is told to end.
const ENDLESS: &str = "--tol 1e-300 --method spfw --max-iters 1000000000 -q";

fn couloir(folder: &Path, arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_couloir"));
    command.current_dir(folder).args(arguments.split(' ')).stdin(Stdio::null());
    command
}

fn data() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    generate(folder.path(), "data.svm");
    folder
}

/// The one line of a command that must be refused as bad input.
fn refused(folder: &Path, arguments: &str) -> String {
    let output = couloir(folder, arguments).output().expect("the command");
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments}: {error}");
    assert!(error.starts_with("couloir: ") && error.lines().count() == 1, "{arguments}: {error}");
    error
}

fn succeeded(output: &Output) {
    assert!(output.status.success(), "{}", text(&output.stderr));
}

fn wait_for(path: &Path) {
    let began = Instant::now();
    while !path.exists() {
        assert!(began.elapsed() < Duration::from_secs(60), "{} never came", path.display());
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn interrupt(mut child: Child) {
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().expect("kill").success());
    child.wait().expect("its end");
}

#[test]
fn what_a_stream_has_stays_and_everything_is_added_to_it() {
    let folder = data();
    let log = folder.path().join("log");
    fs::write(&log, OLD).expect("writing");
    let append = || File::options().append(true).open(&log).expect("the log");
    let arguments = "fit data.svm -q --json --trace /dev/stdout -o model";
    succeeded(&couloir(folder.path(), arguments).stdout(append()).output().expect("the command"));
    let whole = fs::read(&log).expect("the log");
    let lines: Vec<&str> = std::str::from_utf8(&whole).expect("text").lines().collect();
    assert!(whole.starts_with(OLD) && lines.len() > 4, "{}", text(&whole));
    assert!(lines[1].contains("\"iteration\"") && lines[lines.len() - 1].contains("\"model\""));
    // the model itself, also where the shell began the file anew
    for begin in [append(), File::create(folder.path().join("out")).expect("a file")] {
        let command =
            couloir(folder.path(), "fit data.svm -q -o /dev/stdout").stdout(begin).output();
        succeeded(&command.expect("the command"));
    }
    let model = fs::read(folder.path().join("model")).expect("a model");
    let (added, out) = (fs::read(&log).expect("the log"), fs::read(folder.path().join("out")));
    assert!(added.starts_with(&whole) && added[whole.len()..].starts_with(&model));
    assert!(out.expect("the file").starts_with(&model));
}

#[test]
fn links_and_read_only_files_are_refused_before_the_work() {
    let folder = data();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("precious"), OLD).expect("writing");
    fs::write(path("kept"), OLD).expect("writing");
    fs::set_permissions(path("kept"), Permissions::from_mode(0o444)).expect("permissions");
    symlink("precious", path("link")).expect("a link");
    symlink("nowhere", path("dangling")).expect("a link");
    symlink("loop", path("loop")).expect("a link");
    succeeded(&couloir(folder.path(), "fit data.svm -q -o model").output().expect("the command"));
    for command in [
        "fit data.svm -o",
        "fit data.svm --trace",
        "fit data.svm --report",
        "fit data.svm --checkpoint",
        "path data.svm -o",
        "predict model data.svm -o",
        "data generate -o",
    ] {
        for (name, why) in [
            ("link", "it is a link to precious; name the file itself"),
            ("dangling", "it is a link to nowhere"),
            ("loop", "it is a link to loop"),
            ("kept", "the file is read-only"),
        ] {
            let error = refused(folder.path(), &format!("{command} {name}"));
            assert!(error.contains(name) && error.contains(why), "{command}: {error}");
        }
        refused(folder.path(), &format!("{command} {}", "n".repeat(300)));
    }
    assert!(["link", "dangling", "loop"].iter().all(|name| path(name).is_symlink()));
    assert!(["precious", "kept"].iter().all(|name| fs::read(path(name)).expect("it") == OLD));
}

#[test]
fn special_permissions_are_not_given_to_new_files() {
    let folder = data();
    let model = folder.path().join("model");
    fs::write(&model, OLD).expect("writing");
    fs::set_permissions(&model, Permissions::from_mode(0o4755)).expect("permissions");
    succeeded(&couloir(folder.path(), "fit data.svm -q -o model").output().expect("the command"));
    let mode = fs::metadata(&model).expect("the model").permissions().mode();
    assert_eq!(mode & 0o7111, 0, "{mode:o}");
}

#[test]
fn an_input_is_never_an_output() {
    let folder = data();
    let path = |name: &str| folder.path().join(name);
    let limited = "fit data.svm -q --max-iters 3 --tol 1e-9 --checkpoint first";
    couloir(folder.path(), limited).output().expect("the command");
    let (first, rows) = (fs::read(path("first")).expect("it"), fs::read(path("data.svm")));
    let rows = rows.expect("the data");
    refused(folder.path(), "fit data.svm --resume first --checkpoint second -o first");
    refused(folder.path(), "fit data.svm --resume first -o first");
    fs::hard_link(path("data.svm"), path("other")).expect("another name");
    refused(folder.path(), "fit data.svm -o other");
    for arguments in ["fit - -q -o data.svm", "fit - -q --report data.svm"] {
        let input = File::open(path("data.svm")).expect("the data");
        let output = couloir(folder.path(), arguments).stdin(input).output().expect("the command");
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    }
    assert_eq!(fs::read(path("first")).expect("the checkpoint"), first);
    assert_eq!(fs::read(path("data.svm")).expect("the data"), rows);
}

#[test]
fn a_pipe_whose_reader_quits_is_a_failure() {
    let folder = data();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let arguments = "data generate --rows 20000 -o pipe";
    let child = couloir(folder.path(), arguments).stderr(Stdio::piped()).spawn().expect("it");
    let mut byte = [0];
    File::open(&pipe).expect("the pipe").read_exact(&mut byte).expect("a byte");
    let output = child.wait_with_output().expect("its end");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("its reader quit"), "{}", text(&output.stderr));
}

#[test]
fn a_limit_of_file_sizes_costs_what_does_not_fit_and_not_the_run() {
    let folder = data();
    let limited = |arguments: &str| {
        let mut command = couloir(folder.path(), arguments);
        let limit = || {
            let limit = libc::rlimit { rlim_cur: 500, rlim_max: 500 };
            // SAFETY: a system call on a value of our own, allowed between fork and exec.
            match unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &limit) } {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        };
        // SAFETY: see above; nothing is allocated.
        unsafe { command.pre_exec(limit) };
        command.output().expect("the command")
    };
    let output = limited("fit data.svm -q --checkpoint state");
    succeeded(&output);
    assert!(text(&output.stderr).contains("no checkpoint: state: File too large"));
    let output = limited("fit data.svm -q -o model");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("File too large"), "{}", text(&output.stderr));
}

/// Runs the command as a user who may have so many threads and processes at once.
fn with_threads(folder: &Path, arguments: &str, threads: u64) -> Output {
    const NOBODY: u32 = 64_321;
    let mut command = couloir(folder, arguments);
    let limit = move || {
        let limit = libc::rlimit { rlim_cur: threads, rlim_max: threads };
        // SAFETY: system calls on values of our own, allowed between fork and exec.
        match unsafe { libc::setrlimit(libc::RLIMIT_NPROC, &limit) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    command.uid(NOBODY);
    // SAFETY: see above; nothing is allocated.
    unsafe { command.pre_exec(limit) };
    command.output().expect("the command")
}

#[test]
fn threads_that_cannot_be_had_are_an_error_or_a_warning_and_never_a_panic() {
    // SAFETY: asks for a number.
    if unsafe { libc::geteuid() } != 0 {
        let skipped = "SKIPPED: only root can run a command as another user\n";
        std::io::stderr().write_all(skipped.as_bytes()).expect("standard error");
        return;
    }
    let folder = data();
    for entry in [folder.path().to_owned(), folder.path().join("data.svm")] {
        fs::set_permissions(entry, Permissions::from_mode(0o777)).expect("permissions");
    }
    let copy = folder.path().join("command");
    fs::copy(env!("CARGO_BIN_EXE_couloir"), &copy).expect("a copy that everybody may run");
    fs::set_permissions(&copy, Permissions::from_mode(0o755)).expect("permissions");
    let mut codes = Vec::new();
    for threads in 1..=4 {
        let arguments = "fit data.svm -q --threads 1 --checkpoint state --checkpoint-every 0";
        let output = with_threads(folder.path(), arguments, threads);
        let error = text(&output.stderr);
        assert!(!error.contains("panicked"), "{threads}: {error}");
        assert!(matches!(output.status.code(), Some(0 | 1)), "{threads}: {error}");
        codes.push((output.status.code(), error.contains("no checkpoint")));
    }
    assert_eq!(codes[0].0, Some(1), "{codes:?}");
    assert!(codes.contains(&(Some(0), true)) && codes[3] == (Some(0), false), "{codes:?}");
}

#[test]
fn a_checkpoint_is_kept_by_one_run_at_a_time() {
    let folder = data();
    let state = folder.path().join("state");
    let arguments = format!("fit data.svm {ENDLESS} --checkpoint state --checkpoint-every 0.01");
    let first = couloir(folder.path(), &arguments).stderr(Stdio::null()).spawn().expect("it");
    wait_for(&state);
    let error = refused(folder.path(), "fit data.svm --checkpoint state");
    assert!(error.contains("state: another process keeps its checkpoints there"), "{error}");
    interrupt(first);
    let resumed = "fit data.svm -q --tol 1e-300 --method spfw --max-iters 3 --resume state";
    assert_ne!(couloir(folder.path(), resumed).status().expect("it").code(), Some(2));
    let left: Vec<_> = fs::read_dir(folder.path()).expect("it").flatten().collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn a_folder_of_comparisons_is_used_by_one_at_a_time_and_other_folders_are_left_alone() {
    let folder = data();
    let path = |name: &str| folder.path().join(name);
    let compare = "compare data.svm -q --methods spfw --time-budget";
    let long = format!("{compare} 60 --out done");
    let first = couloir(folder.path(), &long).stderr(Stdio::null()).spawn().expect("it");
    wait_for(&path("done/.couloir-compare"));
    std::thread::sleep(Duration::from_millis(200));
    let error = refused(folder.path(), &format!("{compare} 0.05 --out done --continue"));
    assert!(error.contains("done: another comparison is working in it"), "{error}");
    interrupt(first);

    fs::create_dir(path("mine")).expect("a folder");
    for name in ["run.checkpoint", "report.html"] {
        let file = path("mine").join(name);
        fs::write(&file, OLD).expect("writing");
        let error = refused(folder.path(), &format!("{compare} 0.05 --out mine"));
        assert!(error.contains(&format!("mine: has a file {name}")), "{error}");
        assert_eq!(fs::read(&file).expect("the file"), OLD);
        fs::remove_file(file).expect("removing");
    }
    // the data of a comparison under a name that it would use
    fs::copy(path("data.svm"), path("mine/run.checkpoint")).expect("a copy");
    let inside = "compare mine/run.checkpoint -q --methods spfw --time-budget 0.05 --out mine";
    refused(folder.path(), inside);
    fs::write(path("mine/.couloir-compare"), "").expect("writing");
    let error = refused(folder.path(), inside);
    assert!(error.contains("are the same file") && path("mine/run.checkpoint").exists(), "{error}");
}

#[test]
fn more_runs_than_a_file_of_results_may_have_are_refused_at_once() {
    let folder = data();
    let error = refused(folder.path(), "compare data.svm --methods spfw,apg --repeat 1000000000");
    assert!(error.contains("make 2000000000 runs, more than 2000"), "{error}");
}
