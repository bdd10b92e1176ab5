//! How the command fails: one line on standard error, exit code 2 for bad input, 130 or 143 for a signal and 1 for all
//! else.

use crate::interrupt::Interrupted;
use crate::terminal::shown;
use couloir::model::ModelFileError;
use couloir_data::DataError;
use std::io::{self, Write};
use std::process::ExitCode;

/// Something the user gave that cannot be used.
#[derive(Debug)]
pub struct BadInput(pub String);

impl std::fmt::Display for BadInput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadInput {}

/// An error for bad input.
pub fn bad(why: impl Into<String>) -> anyhow::Error {
    BadInput(why.into()).into()
}

/// Reports an error and gives the exit code for it.
pub fn report(error: &anyhow::Error) -> ExitCode {
    let closed = |e: &io::Error| e.kind() == io::ErrorKind::BrokenPipe;
    if error.chain().filter_map(|cause| cause.downcast_ref()).any(closed) {
        return ExitCode::SUCCESS; // whoever reads has seen enough, as in `couloir ... | head`
    }
    say(&format!("{error:#}"));
    if let Some(interrupted) = error.downcast_ref::<Interrupted>() {
        return ExitCode::from(interrupted.exit_code());
    }
    ExitCode::from(if error.chain().any(is_bad_input) { 2 } else { 1 })
}

fn is_bad_input(cause: &(dyn std::error::Error + 'static)) -> bool {
    use io::ErrorKind::PermissionDenied;
    if let Some(error) = cause.downcast_ref() {
        return match error {
            DataError::Io { kind, .. } => *kind == PermissionDenied,
            DataError::Download { .. } | DataError::TooLarge { .. } | DataError::Digest { .. } => {
                false
            }
            _ => true,
        };
    }
    if let Some(error) = cause.downcast_ref() {
        return match error {
            ModelFileError::Io { kind, .. } => *kind == PermissionDenied,
            _ => true,
        };
    }
    if let Some(error) = cause.downcast_ref() {
        return !couloir::Error::is_numerical(error);
    }
    cause.is::<BadInput>()
}

/// Something that is not as it should be, and that one can go on with.
pub fn warn(message: &str) {
    say(&format!("warning: {message}"));
}

/// One line on standard error, whatever is in the message.
pub fn say(message: &str) {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let line = shown(&message.chars().map(plain).collect::<String>());
    // Nothing is left to do if even standard error is closed.
    let _ = writeln!(io::stderr(), "couloir: {line}");
}

/// Handles what clap has to say: help and version as they are, errors in one line like all others.
pub fn report_usage(error: &clap::Error) -> ExitCode {
    use clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand as NoArguments;
    if !error.use_stderr() || error.kind() == NoArguments {
        // as above
        let _ = error.print();
        return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
    }
    let mut line = one_line(&error.render().to_string());
    if !line.contains("; tip: ") && error.kind() != clap::error::ErrorKind::ValueValidation {
        line.push_str("; --help tells what there is");
    }
    say(&line);
    ExitCode::from(2)
}

/// The parts of clap's message that tell what is wrong, without its pages of usage.
fn one_line(message: &str) -> String {
    let mut line = String::new();
    for part in message.lines().map(str::trim) {
        if part.starts_with("Usage:") || part.starts_with("For more information") {
            break;
        }
        let part = part.strip_prefix("error: ").unwrap_or(part);
        if part.is_empty() {
            continue;
        }
        if part.starts_with("tip: ") {
            line.push(';');
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(part);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clap_messages_become_one_line_with_the_tip_and_without_the_usage() {
        let message = "error: invalid value 'a' for '--b <B>'\n  [possible values: c, d]\n\n  tip: try 'c'\n\n\
                       Usage: x\n\nFor more information, try '--help'.\n";
        let line = "invalid value 'a' for '--b <B>' [possible values: c, d]; tip: try 'c'";
        assert_eq!(one_line(message), line);
    }

    #[test]
    fn only_bad_input_is_code_2() {
        let code = |error: anyhow::Error| error.chain().any(is_bad_input);
        assert!(code(bad("x").context("file")));
        assert!(code(DataError::Missing { file: "x".into() }.into()));
        let full = io::ErrorKind::StorageFull;
        assert!(!code(DataError::Io { file: "x".into(), kind: full, why: String::new() }.into()));
        assert!(code(couloir::Error::EmptySet { why: String::new() }.into()));
        assert!(!code(couloir::Error::Numerical { what: "x", why: String::new() }.into()));
        let overflow =
            couloir::Error::NotFinite { what: "grad_x".to_owned(), index: 0, value: f64::NAN };
        assert!(!code(anyhow::Error::new(overflow).context("file")));
        assert!(!code(anyhow::anyhow!("x")));
    }
}
