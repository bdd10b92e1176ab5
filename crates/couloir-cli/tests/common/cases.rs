//! Inputs that must be refused, each a row of a table in the docs: run in a folder of its own, with one line on
//! standard error, exit code 2, and nothing written.

use super::{files, text};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// What writes the content of a file: it may be large, and is never held by the test.
pub type Content = Box<dyn Fn(&mut dyn Write) -> io::Result<()>>;

pub struct Case {
    pub name: &'static str,
    /// What follows `couloir fit`, or all of it where it begins with another command.
    pub arguments: &'static str,
    /// What is in the file that the arguments name; none if there is no such file.
    pub content: Option<Content>,
    /// Whether the fault is in line 2.
    pub second_line: bool,
    /// Options that the docs give once for all rows.
    pub options: &'static [&'static str],
}

pub const GOOD: &str = "1 1:0.5 3:1\n2 2:1\n";

pub fn case(name: &'static str, arguments: &'static str, content: impl AsRef<[u8]>) -> Case {
    let content = content.as_ref().to_vec();
    written(name, arguments, move |out| out.write_all(&content))
}

/// A case with a file that is written piece by piece.
pub fn written(
    name: &'static str,
    arguments: &'static str,
    content: impl Fn(&mut dyn Write) -> io::Result<()> + 'static,
) -> Case {
    Case { content: Some(Box::new(content)), ..without_file(name, arguments) }
}

pub fn without_file(name: &'static str, arguments: &'static str) -> Case {
    Case { name, arguments, content: None, second_line: false, options: &[] }
}

impl Case {
    fn is_fit(&self) -> bool {
        let commands = ["data", "fti", "predict", "report"];
        !commands.contains(&self.arguments.split(' ').next().unwrap_or_default())
    }

    /// The file with the content: what begins with `bad`, or the data of a fit.
    fn file(&self) -> &str {
        let mut words = self.arguments.split(' ');
        match words.clone().find(|word| word.starts_with("bad")) {
            Some("bad") => "bad/results.jsonl",
            Some(file) => file,
            None if self.is_fit() => words.next().unwrap_or_default(),
            None => "good.svm",
        }
    }

    /// The row of the table.
    pub fn row(&self, message: &str) -> String {
        let plain = |cell: &str| cell.replace('|', "\\|").replace('<', "\\<");
        format!("| {} | `{}` | {} |", self.name, self.arguments, plain(message))
    }
}

/// How a command was refused.
pub struct Refused {
    /// What it printed after `couloir: `.
    pub message: String,
    /// The most memory that it had, in bytes.
    pub peak: u64,
}

/// Runs a case in a folder of its own.
pub fn run(case: &Case) -> Refused {
    let folder = tempfile::tempdir().expect("a folder");
    let (inside, beside) = (folder.path().join("in"), folder.path());
    fs::create_dir(&inside).expect("a folder");
    if case.arguments.contains("good.svm") {
        fs::write(inside.join("good.svm"), GOOD).expect("writing");
    }
    let file = inside.join(case.file());
    if let Some(content) = &case.content {
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        let mut out = BufWriter::new(File::create(&file).expect("a file"));
        content(&mut out).and_then(|()| out.flush()).expect("writing");
    }
    let mut words: Vec<&str> = case.arguments.split(' ').collect();
    if case.is_fit() {
        words.insert(0, "fit");
        words.extend(["--trace", "trace.jsonl", "--json"]);
        if !words.contains(&"-o") {
            words.extend(["-o", "model.safetensors"]);
        }
    }
    words.extend(case.options);
    let state = || {
        let about =
            fs::metadata(&file).ok().filter(|m| m.is_file()).map(|m| (m.len(), m.modified().ok()));
        (files(&inside), about)
    };
    let before = state();
    let (out, err) = (beside.join("out"), beside.join("err"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_couloir"));
    command
        .current_dir(&inside)
        .args(&words)
        .env("XDG_CACHE_HOME", &inside)
        .env("HOME", &inside)
        .stdin(Stdio::null())
        .stdout(File::create(&out).expect("a file"))
        .stderr(File::create(&err).expect("a file"));
    let (code, peak) = run_measured(&mut command);
    let read = |path: &Path| text(&fs::read(path).expect("what was printed"));
    let (out, err) = (read(&out), read(&err));
    assert_eq!(code, Some(2), "{}: {err}", case.name);
    assert_eq!(out, "", "{}", case.name);
    assert_eq!(state(), before, "{}: something was written", case.name);
    assert!(err.ends_with('\n') && err.lines().count() == 1, "{}: {err}", case.name);
    let message = err.trim_end().strip_prefix("couloir: ").expect("the command's name").to_owned();
    Refused { message, peak }
}

/// Runs a command; its exit code and the most memory that it had, in bytes.
#[allow(clippy::zombie_processes, reason = "wait4 waits, and tells the memory")]
fn run_measured(command: &mut Command) -> (Option<i32>, u64) {
    let child = command.spawn().expect("the command");
    let mut status = 0;
    // SAFETY: plain numbers, for which zero is a value; the call writes to both and keeps neither.
    let (waited, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        (libc::wait4(child.id() as libc::pid_t, &mut status, 0, &mut usage), usage)
    };
    assert_eq!(waited, child.id() as libc::pid_t);
    let code = libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
    // in kilobytes but on macOS
    let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
    (code, usage.ru_maxrss as u64 * unit)
}

/// The rows that a file of the docs lacks.
pub fn missing_rows(docs: &str, rows: &[String]) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(docs);
    let docs = fs::read_to_string(path).unwrap_or_default();
    rows.iter().filter(|row| !docs.lines().any(|line| line == *row)).cloned().collect()
}
