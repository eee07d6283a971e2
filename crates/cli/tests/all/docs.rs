//! The pages for people against the repository: what they link to or name as a path is there, and
//! commands they show are understood.

use crate::kit::{root, said};
use std::fs;
use std::path::PathBuf;

/// Where pages are.
const PLACES: [&str; 4] = ["", "docs", "fuzz", "tests/lab"];

/// Folders of the repository that pages name files in.
const FOLDERS: [&str; 6] = ["crates/", "docs/", "tests/", "scripts/", "fuzz/", ".ci/"];

/// Every page: its path, and its text.
fn pages() -> Vec<(PathBuf, String)> {
    let files = PLACES
        .iter()
        .flat_map(|place| fs::read_dir(root().join(place)).expect("the folders are there"));
    let paths = files.map(|file| file.expect("a folder can be listed").path());
    let pages: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|e| e == "md"))
        .map(|path| {
            let text = fs::read_to_string(&path).expect("a page is UTF-8");
            (path, text)
        })
        .collect();
    assert!(pages.len() >= 6, "{} pages", pages.len());
    pages
}

/// Targets of Markdown links that stand in the repository.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'))
        .map(|(target, _)| target.split('#').next().unwrap_or_default())
        .filter(|target| !target.is_empty() && !target.contains("://"))
}

/// Words in code that are paths from the root of the repository.
fn paths(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || "`()|,;\"'".contains(c))
        .map(|word| word.trim_end_matches(['.', ':']))
        .filter(|word| FOLDERS.iter().any(|folder| word.starts_with(folder)))
        .filter(|word| !word.contains(['*', '<', '…', '{']))
        // `NAME` stands for something that the reader makes.
        .filter(|word| !word.contains("NAME"))
}

#[test]
fn what_pages_name_is_there() {
    let mut missing = Vec::new();
    for (page, text) in pages() {
        let folder = page.parent().expect("a page is in a folder");
        let linked = links(&text).map(|target| (target, folder.join(target)));
        let named = paths(&text).map(|path| (path, root().join(path)));
        for (given, path) in linked.chain(named) {
            if !path.exists() {
                missing.push(format!("{}: {given}", page.display()));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn tests_that_prove_the_invariants_exist() {
    let mut sources = Vec::new();
    let mut folders = vec![root().join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder can be listed") {
            let path = entry.expect("a folder can be listed").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                sources.push(fs::read_to_string(path).expect("a source is UTF-8"));
            }
        }
    }
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("there is a map");
    let rows = text
        .split("## Invariants")
        .nth(1)
        .expect("it names invariants");
    let rows = rows.split("\n## ").next().expect("text has a beginning");
    let names: Vec<&str> = rows
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|name| name.contains('_'))
        .collect();
    assert!(names.len() > 10, "{names:?}");
    let unproved: Vec<_> = names
        .iter()
        .filter(|name| !sources.iter().any(|s| s.contains(&format!("fn {name}("))))
        .collect();
    assert!(unproved.is_empty(), "{unproved:?}");
}

#[test]
fn options_that_the_readme_names_exist() {
    let help: String = [
        "diagnose", "calls", "ops", "conns", "sql", "startup", "whatif", "report", "compare",
        "cut", "info", "stat", "live", "trace", "probe", "explain", "man",
    ]
    .iter()
    .map(|command| said([command, "--help"]))
    .collect();
    let text = fs::read_to_string(root().join("README.md")).expect("there is a README");
    // Of the lines that speak of slowside's own options, not of cargo's and curl's.
    let own = text
        .split("## What it says")
        .nth(1)
        .expect("the README says what it says");
    let unknown: Vec<&str> = own
        .split(|c: char| !(c.is_ascii_lowercase() || c == '-'))
        .filter(|word| word.len() > 3 && word.starts_with("--") && !word.ends_with('-'))
        .filter(|word| !help.contains(word))
        .collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}
