//! The page that `slowside report` writes: that its numbers are those of the other commands, that its frames
//! are the packets they are said to be, that it asks nothing of a network, and that no input does anything
//! in it but be shown.

#![allow(clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod frames;
mod hostile;
mod numbers;
mod page;
mod shape;

use page::Page;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The captures of each case of `tests/lab`.
fn lab() -> Vec<(String, Vec<PathBuf>)> {
    let mut cases: Vec<(String, Vec<PathBuf>)> = Vec::new();
    for entry in fs::read_dir(root().join("tests/lab")).expect("the lab") {
        let folder = entry.expect("an entry").path();
        if !folder.is_dir() {
            continue;
        }
        let files = fs::read_dir(&folder).expect("a case");
        let files = files.map(|f| f.expect("an entry").path());
        let captures = files.filter(|f| f.to_string_lossy().contains(".pcap"));
        let mut captures: Vec<PathBuf> = captures.collect();
        captures.sort();
        let name = folder.file_name().expect("a name").to_string_lossy();
        if !captures.is_empty() {
            cases.push((name.into_owned(), captures));
        }
    }
    cases.sort();
    assert!(cases.len() >= 25, "{} cases", cases.len());
    cases
}

fn slowside<S: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = S>) -> Output {
    Command::new(env!("CARGO_BIN_EXE_slowside"))
        .args(arguments)
        .env("TZ", "UTC")
        .stdin(Stdio::null())
        .output()
        .expect("the binary that cargo built")
}

/// What a command with these captures writes to standard output.
fn said(command: &[&str], captures: &[PathBuf]) -> String {
    let words = command.iter().map(std::ffi::OsStr::new);
    let output = slowside(words.chain(captures.iter().map(|c| c.as_os_str())));
    assert!(
        matches!(output.status.code(), Some(0 | 3)),
        "{command:?} {captures:?}: {output:?}"
    );
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn json(command: &str, captures: &[PathBuf]) -> Value {
    let text = said(&[command, "--format", "json"], captures);
    serde_json::from_str(&text).expect("JSON")
}

fn report(captures: &[PathBuf]) -> Page {
    Page::new(said(&["report", "-o", "-"], captures))
}

/// A folder of a test's own.
fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("report-{test}"));
    fs::create_dir_all(&folder).expect("cargo's folder for tests");
    folder
}
