//! What every test of the command needs.
#![allow(dead_code)]

pub mod cases;

use assert_cmd::Command;
use std::path::Path;

/// The command, in a folder.
pub fn couloir(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_couloir"));
    command.current_dir(folder);
    command
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// A small text-like data set, made by the command itself.
pub fn generate(folder: &Path, name: &str) {
    let shape = ["--rows", "300", "--features", "400", "--classes", "4", "--density", "15"];
    couloir(folder)
        .args(["data", "generate", "--seed", "3", "-o", name])
        .args(shape)
        .assert()
        .success();
}

/// The names of the files in a folder.
pub fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .expect("the folder")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
        .collect();
    names.sort();
    names
}
