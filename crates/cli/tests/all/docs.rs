//! The pages for people against the repository: what they link to or name as a path is there, and
//! commands they show are understood.

mod generated;
mod typed;

use crate::kit::{root, said};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Where pages are.
const PLACES: [&str; 5] = ["", "docs", "docs/roles", "fuzz", "tests/lab"];

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
        .map(|(target, _)| target)
        .filter(|target| !target.contains("://"))
}

/// The anchors of a page's headings, as GitHub and mdBook make them.
fn anchors(text: &str) -> impl Iterator<Item = String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings.map(|line| {
        let words = line.trim_start_matches('#').trim().to_lowercase();
        let kept = words
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    })
}

/// Whether a link's page is there, and in it the heading that it leads to.
fn leads_somewhere(page: &Path, target: &str) -> bool {
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = match file {
        "" => page.to_owned(),
        file => page.with_file_name("").join(file),
    };
    let has_anchor = || fs::read_to_string(&path).is_ok_and(|t| anchors(&t).any(|a| a == anchor));
    path.exists() && (anchor.is_empty() || has_anchor())
}

/// Words in code that are paths from the root of the repository.
fn paths(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || "`()|,;\"'#".contains(c))
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
        let linked = links(&text).filter(|target| !leads_somewhere(&page, target));
        let named = paths(&text).filter(|path| !root().join(path).exists());
        let named: Vec<_> = linked.chain(named).collect();
        missing.extend(
            named
                .iter()
                .map(|given| format!("{}: {given}", page.display())),
        );
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn the_summary_of_the_site_lists_every_page() {
    let docs = root().join("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).expect("there is a summary");
    let listed: BTreeSet<PathBuf> = links(&summary).map(|target| docs.join(target)).collect();
    let pages = pages().into_iter().map(|(path, _)| path);
    let there: BTreeSet<PathBuf> = pages
        .filter(|path| path.starts_with(&docs) && !path.ends_with("SUMMARY.md"))
        .collect();
    assert_eq!(listed, there);
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

/// Pages that speak of no other program's options.
const OF_OPTIONS: [&str; 8] = [
    "docs/answers.md",
    "docs/commands.md",
    "docs/formats.md",
    "docs/limits.md",
    "docs/privacy.md",
    "docs/questions.md",
    "docs/scripts.md",
    "docs/tutorial.md",
];

#[test]
fn options_that_pages_name_exist() {
    let help: String = crate::command::COMMANDS
        .iter()
        .map(|command| said([command, "--help"]))
        .collect();
    for page in OF_OPTIONS {
        let text = fs::read_to_string(root().join(page)).expect("a page of the site");
        let unknown: Vec<&str> = text
            .split(|c: char| !(c.is_ascii_lowercase() || c == '-'))
            .filter(|word| word.len() > 3 && word.starts_with("--") && !word.ends_with('-'))
            .filter(|word| !help.contains(word) && *word != "--help")
            .collect();
        assert!(unknown.is_empty(), "{page}: {unknown:?}");
    }
}
