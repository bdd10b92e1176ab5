//! Names and labels from elsewhere cannot act on a terminal, and reach files and pipes as they are.
#![cfg(unix)]

mod common;

use common::{couloir, text};
use std::fs::File;
use std::io::Read;
use std::os::fd::{FromRawFd, OwnedFd};
use std::path::Path;
use std::process::{Command, Stdio};

/// Turns the text after it around, in the name of a file and in a label.
const EVIL: &str = "a\u{1b}[2J\nforged: all is well\u{202e}.svm";
const LABEL: &str = "\u{202e}evil";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join(EVIL), "1 1:1\n2 2:1\n").expect("writing");
    let header = format!(
        r#"{{"__metadata__":{{"format":"couloir classifier","version":"1","labels":"[\"{LABEL}\",\"2\"]"}},"#
    ) + r#""weights":{"dtype":"F64","shape":[2,2],"data_offsets":[0,32]}}"#;
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend([1.0f64, 0.0, 0.0, 1.0].iter().flat_map(|v| v.to_le_bytes()));
    std::fs::write(folder.path().join("model"), bytes).expect("writing");
    folder
}

/// What a terminal gets on which the command runs: standard output and standard error.
fn on_a_terminal(folder: &Path, arguments: &[&str]) -> String {
    let (mut master, mut slave) = (0, 0);
    let null = std::ptr::null_mut();
    // SAFETY: the call fills the two numbers; the rest may be null.
    let opened = unsafe { libc::openpty(&mut master, &mut slave, null, null.cast(), null.cast()) };
    assert_eq!(opened, 0, "{}", std::io::Error::last_os_error());
    // SAFETY: the descriptors are open, and nobody else has them.
    let (master, slave) = unsafe { (OwnedFd::from_raw_fd(master), OwnedFd::from_raw_fd(slave)) };
    let mut command = Command::new(env!("CARGO_BIN_EXE_couloir"));
    command.current_dir(folder).args(arguments).stdin(Stdio::null());
    command.stdout(slave.try_clone().expect("a descriptor")).stderr(slave);
    let mut child = command.spawn().expect("a process");
    drop(command);
    let mut seen = Vec::new();
    // a terminal without a process ends with an error
    let _ = File::from(master).read_to_end(&mut seen);
    assert!(child.wait().expect("its end").success());
    text(&seen)
}

#[test]
fn names_and_labels_cannot_act_on_a_terminal() {
    let folder = folder();
    for arguments in [
        &["fit", EVIL, "-q", "--max-grads", "1"][..],
        &["fit", EVIL, "-q", "--max-grads", "1", "--json"],
        &["path", EVIL, "-q", "--max-grads", "1", "--points", "2", "--folds", "2"],
        &["data", "generate", "--rows", "20", "-o", "new\u{1b}[2J\nforged\u{202e}.svm"],
        &["predict", "model", EVIL],
    ] {
        let seen = on_a_terminal(folder.path(), arguments);
        let acts = |c: char| (c.is_control() && !"\r\n".contains(c)) || c == '\u{202e}';
        assert!(!seen.contains(acts), "{arguments:?}: {seen:?}");
        assert!(!seen.lines().any(|line| line.trim_start().starts_with("forged")), "{seen:?}");
        assert!(seen.contains("\\u202e"), "{arguments:?}: {seen:?}");
    }
}

#[test]
fn errors_are_one_line_and_pipes_get_labels_as_they_are() {
    let folder = folder();
    let done = couloir(folder.path()).args(["predict", "model", EVIL]).assert().success();
    assert_eq!(text(&done.get_output().stdout), format!("{LABEL}\n2\n"));
    let missing = format!("no {EVIL}");
    let done = couloir(folder.path()).args(["fit", &missing]).assert().code(2);
    let err = text(&done.get_output().stderr);
    assert!(err.lines().count() == 1 && !err.contains(['\u{1b}', '\u{202e}']), "{err:?}");
    // standard output says where a file is on one line, whoever reads
    let done =
        couloir(folder.path()).args(["fit", EVIL, "-q", "--max-grads", "1"]).assert().success();
    assert!(!text(&done.get_output().stdout).contains("\nforged"));
}
