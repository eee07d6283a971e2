//! The pages that `slowside report` and `slowside compare` write: that its numbers are those of the other commands, that its frames
//! are the packets they are said to be, that it asks nothing of a network, and that no input does anything
//! in it but be shown.

mod compare;
mod frames;
mod hostile;
mod numbers;
mod page;
mod shape;

use crate::kit::{self, root};
use page::Page;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

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

/// What a command with these captures writes to standard output.
fn said(command: &[&str], captures: &[PathBuf]) -> String {
    let words = command.iter().map(std::ffi::OsStr::new);
    kit::said(words.chain(captures.iter().map(|c| c.as_os_str())))
}

fn json(command: &str, captures: &[PathBuf]) -> Value {
    kit::answer(command, captures)
}

fn report(captures: &[PathBuf]) -> Page {
    Page::new(said(&["report", "-o", "-"], captures))
}

fn folder(test: &str) -> PathBuf {
    kit::folder(&format!("report-{test}"))
}
