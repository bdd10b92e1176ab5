//! Outputs are written whole or not at all: with no space left, in a folder that cannot be written to, and with the
//! folder or the file deleted meanwhile, the old file stays as it was and one line names what could not be written.
#![cfg(target_os = "linux")]

mod common;

use common::{files, generate, text};
use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const OLD: &[u8] = b"what was there before";

fn couloir(folder: &Path, arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_couloir"));
    command.current_dir(folder).args(arguments.split(' ')).stdin(Stdio::null());
    command
}

/// Lets no file of the command grow beyond so many bytes; writing more fails as it does on a full disk.
fn limit_files(command: &mut Command, bytes: u64) {
    let limit = move || {
        let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
        // SAFETY: a system call on a value of our own, allowed between fork and exec.
        let done = unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &limit) };
        if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    };
    // SAFETY: see above; nothing is allocated.
    unsafe { command.pre_exec(limit) };
}

/// The one line on standard error of a command that must fail with this code.
fn failed(output: &Output, code: i32, case: &str) -> String {
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{case}: {error}");
    assert!(error.starts_with("couloir: ") && error.lines().count() == 1, "{case}: {error}");
    error
}

/// A folder with data, a model, and the results of a comparison.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    generate(folder.path(), "data.svm");
    for arguments in [
        "fit data.svm -q -o model",
        "compare data.svm -q --methods spfw --time-budget 0.05 --out done",
    ] {
        let output = couloir(folder.path(), arguments).output().expect("the command");
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    folder
}

#[test]
fn with_no_space_left_the_old_file_stays_and_the_line_names_it() {
    let folder = folder();
    let path = folder.path();
    for (arguments, output) in [
        ("fit data.svm -q -o out", "out"),
        ("fit data.svm -q --trace out --tol 1e-6", "out"),
        ("fit data.svm -q --report out", "out"),
        ("predict model data.svm --proba -o out", "out"),
        ("path data.svm -q --points 2 -o out", "out"),
        ("data generate -o out", "out"),
        ("data generate --rows 9000 -o out.bz2", "out.bz2"),
        ("data generate --rows 9000 -o out.gz", "out.gz"),
        ("report done", "done/figure.svg"),
    ] {
        fs::write(path.join(output), OLD).expect("writing");
        let before = (files(path), files(&path.join("done")));
        let mut command = couloir(path, arguments);
        limit_files(&mut command, 1000);
        let error = failed(&command.output().expect("the command"), 1, arguments);
        assert!(error.contains(output) && error.contains("File too large"), "{arguments}: {error}");
        assert_eq!(fs::read(path.join(output)).expect("the file"), OLD, "{arguments}");
        assert_eq!((files(path), files(&path.join("done"))), before, "{arguments}");
    }
}

#[test]
fn a_comparison_that_cannot_keep_a_run_keeps_those_before_it() {
    let folder = folder();
    let results = folder.path().join("done/results.jsonl");
    let before = fs::read(&results).expect("results");
    let again = "compare data.svm -q --methods spfw,apg --time-budget 0.05 --out done --continue";
    let mut command = couloir(folder.path(), again);
    limit_files(&mut command, before.len() as u64);
    let refused = command.output().expect("the command");
    let error = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{error}");
    // the checkpoint of the run may not find room either, which is no reason to end it
    let lines: Vec<&str> = error.lines().filter(|line| !line.contains("run.checkpoint")).collect();
    assert!(lines.len() == 1 && lines[0].contains("done/results.jsonl: File too large"), "{error}");
    assert_eq!(fs::read(&results).expect("results"), before);
    let output = couloir(folder.path(), again).output().expect("the command");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(fs::read(&results).expect("results").len() > before.len());
}

#[test]
fn standard_output_on_a_full_disk_is_a_failure() {
    let folder = folder();
    for arguments in
        ["predict model data.svm", "evaluate model data.svm", "data generate", "fit data.svm -q"]
    {
        let full = fs::File::options().write(true).open("/dev/full").expect("/dev/full");
        let output = couloir(folder.path(), arguments).stdout(full).output().expect("the command");
        let error = failed(&output, 1, arguments);
        assert!(error.contains("No space left on device"), "{arguments}: {error}");
    }
}

/// Takes from root the right to write where permissions say no, so that they hold for the command as for any user.
fn obey_permissions(command: &mut Command) {
    /// From linux/capability.h.
    const CAP_DAC_OVERRIDE: libc::c_ulong = 1;
    // SAFETY: asks for a number.
    if unsafe { libc::geteuid() } != 0 {
        return;
    }
    let drop = || {
        // SAFETY: a system call with a number, allowed between fork and exec. What is dropped is gone after exec; what
        // cannot be dropped shows in `is_closed`.
        unsafe { libc::prctl(libc::PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0) };
        Ok(())
    };
    // SAFETY: see above; nothing is allocated.
    unsafe { command.pre_exec(drop) };
}

/// Whether the folder is closed to commands as they are run here.
fn is_closed(folder: &Path) -> bool {
    let mut command = Command::new("test");
    command.arg("-w").arg(folder);
    obey_permissions(&mut command);
    command.status().is_ok_and(|status| status.code() == Some(1))
}

#[test]
fn a_folder_that_cannot_be_written_to_is_named_before_the_work_begins() {
    let folder = folder();
    let path = folder.path();
    let closed = path.join("closed");
    fs::create_dir(&closed).expect("a folder");
    fs::write(closed.join("out"), OLD).expect("writing");
    fs::set_permissions(&closed, Permissions::from_mode(0o555)).expect("permissions");
    if is_closed(&closed) {
        for arguments in [
            "fit data.svm -q -o closed/out",
            "fit data.svm -q --trace closed/out",
            "predict model data.svm -o closed/out",
            "data generate -o closed/out",
            "compare data.svm -q --out closed",
            "compare data.svm -q --out closed/made",
        ] {
            let mut command = couloir(path, arguments);
            obey_permissions(&mut command);
            let error = failed(&command.output().expect("the command"), 2, arguments);
            assert!(error.contains("closed") && error.contains("denied"), "{arguments}: {error}");
            assert_eq!(files(&closed), ["out"], "{arguments}");
            assert_eq!(fs::read(closed.join("out")).expect("the file"), OLD, "{arguments}");
        }
    } else {
        let skipped =
            "SKIPPED: no folder can be closed to commands here, so none was refused for that";
        writeln!(io::stderr(), "{skipped}").expect("standard error");
    }
    // and where nobody may write
    let error = couloir(path, "fit data.svm -q -o /proc/model").output().expect("the command");
    assert!(failed(&error, 2, "/proc").contains("/proc/model: cannot be written"));
}

/// Starts a command that reads data from standard input, waits until it does, lets `meanwhile` happen, and hands over
/// the rest.
fn with_meanwhile(folder: &Path, arguments: &str, meanwhile: impl FnOnce()) -> Output {
    let data = fs::read(folder.join("data.svm")).expect("the data");
    let mut child = couloir(folder, arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command");
    let mut input = child.stdin.take().expect("a pipe");
    // more than a pipe holds: once it is taken, outputs have been checked
    input.write_all("# nothing\n".repeat(200_000).as_bytes()).expect("a reader");
    meanwhile();
    input.write_all(&data).expect("a reader");
    drop(input);
    child.wait_with_output().expect("the command")
}

#[test]
fn a_folder_deleted_meanwhile_is_named_and_a_file_deleted_meanwhile_is_written() {
    let folder = folder();
    let path = folder.path();
    for (command, option) in [
        ("fit - -q", "-o"),
        ("fit - -q", "--trace"),
        ("fit - -q", "--report"),
        ("predict model -", "-o"),
    ] {
        fs::create_dir(path.join("gone")).expect("a folder");
        let arguments = format!("{command} {option} gone/out");
        let output = with_meanwhile(path, &arguments, || {
            fs::remove_dir(path.join("gone")).expect("an empty folder");
        });
        let error = failed(&output, 1, &arguments);
        assert!(error.contains("gone/out"), "{arguments}: {error}");
        assert!(!path.join("gone").exists());

        fs::write(path.join("out"), OLD).expect("writing");
        let arguments = format!("{command} {option} out");
        let output = with_meanwhile(path, &arguments, || {
            fs::remove_file(path.join("out")).expect("the old file");
        });
        assert!(output.status.success(), "{arguments}: {}", text(&output.stderr));
        assert!(fs::read(path.join("out")).is_ok_and(|now| now != OLD && !now.is_empty()));
    }
}

#[test]
fn pipes_get_what_files_would_and_stay_pipes() {
    let folder = folder();
    let path: PathBuf = folder.path().join("pipe");
    let name = std::ffi::CString::new(path.to_str().expect("UTF-8")).expect("a name");
    // SAFETY: the name is a string that ends.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    let reader = std::thread::spawn({
        let path = path.clone();
        move || fs::read(path).expect("the pipe")
    });
    let output = couloir(folder.path(), "predict model data.svm -o pipe").output();
    assert!(output.expect("the command").status.success());
    let output = couloir(folder.path(), "predict model data.svm").output().expect("the command");
    assert_eq!(reader.join().expect("the reader"), output.stdout);
    assert!(fs::metadata(&path).expect("the pipe").file_type().is_fifo());
}
