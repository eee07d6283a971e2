//! The field cases (`tests/field`): investigations as they were, rebuilt; each holds captures, other evidence, and
//! what slowside must say (`expect.json`), which is compared with what it says.
//!
//! What does not hold today is in `tests/field/not-yet.tsv`; it only shrinks. `UPDATE_EXPECT=1` takes off what
//! holds and notes what is said instead; `NEW_CASE=name` adds the lines of a case that has none yet.

mod judge;
mod judgement;
mod list;
mod subject;

use crate::kit::{command, root};
use judge::{Run, Said};
use list::Line;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

fn folder() -> PathBuf {
    root().join("tests/field")
}

fn list_file() -> PathBuf {
    folder().join("not-yet.tsv")
}

struct Case {
    name: String,
    folder: PathBuf,
    runs: Vec<Run>,
}

impl Case {
    fn read(folder: PathBuf) -> Case {
        let name = folder.file_name().expect("a name").to_string_lossy();
        let file = folder.join("expect.json");
        let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let expect: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
        let runs = expect["runs"].as_array().map_or(&[][..], Vec::as_slice);
        assert!(!runs.is_empty(), "{name} has no runs");
        let read = |r| Run::read(r).unwrap_or_else(|e| panic!("{name}: {e}"));
        let runs: Vec<Run> = runs.iter().map(read).collect();
        for (i, run) in runs.iter().enumerate() {
            let twice = runs[..i].iter().any(|r| r.name == run.name);
            assert!(!twice, "{name}: two runs are called {}", run.name);
        }
        Case {
            name: name.into_owned(),
            folder,
            runs,
        }
    }

    /// All of its checks, and those that do not hold.
    fn perform(&self) -> (Vec<Line>, Vec<Line>) {
        let (mut checks, mut misses) = (Vec::new(), Vec::new());
        for run in &self.runs {
            let line = |check: &str, said: &str| Line::new(&self.name, &run.name, check, said);
            checks.extend(run.checks.iter().map(|c| line(&c.key, "")));
            let missed = run.misses(&said(run, &self.folder));
            misses.extend(missed.iter().map(|(check, said)| line(check, said)));
        }
        (checks, misses)
    }
}

/// Performs a run in the folder of its case, so that files are named as they are there.
fn said(run: &Run, folder: &Path) -> Said {
    let mut said = Said::default();
    let chosen = run.args.iter().any(|a| a.starts_with("--format"));
    let mut perform = |format: &[&str]| {
        let output = command([&run.command])
            .args(&run.args)
            .args(format)
            .current_dir(folder)
            .output()
            .expect("the binary that cargo built");
        let code = output.status.code().unwrap_or(-1);
        if !run.exits.contains(&i64::from(code)) {
            said.bad_exit = Some(code);
        }
        said.problem = String::from_utf8_lossy(&output.stderr).into_owned();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    if run.needs_json() {
        let json = perform(if chosen { &[] } else { &["--format", "json"] });
        let text = if run.needs_text() {
            perform(&[])
        } else {
            String::new()
        };
        said.text = text;
        said.json = serde_json::from_str(&json).unwrap_or_default();
    } else {
        said.text = perform(&[]);
    }
    said
}

fn cases() -> Vec<Case> {
    let entries = fs::read_dir(folder()).expect("tests/field");
    let paths = entries.map(|e| e.expect("an entry").path());
    // Hidden ones are being made by lab/keep.
    let hidden = |p: &Path| {
        p.file_name()
            .is_some_and(|n| n.to_string_lossy().starts_with('.'))
    };
    let mut folders: Vec<PathBuf> = paths.filter(|p| p.is_dir() && !hidden(p)).collect();
    folders.sort();
    folders.into_iter().map(Case::read).collect()
}

/// Performs cases side by side; all checks, and those that do not hold, in the order of cases.
fn performed(cases: &[Case]) -> (Vec<Line>, Vec<Line>) {
    let done = Mutex::new(Vec::new());
    let next = Mutex::new(cases.iter());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let Some(case) = next.lock().expect("the cases").next() else {
                        return;
                    };
                    let result = case.perform();
                    done.lock().expect("results").push((&case.name, result));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("results");
    done.sort_by_key(|(name, _)| *name);
    let (checks, misses): (Vec<_>, Vec<_>) = done.into_iter().map(|(_, r)| r).unzip();
    (checks.concat(), misses.concat())
}

fn listed() -> Vec<Line> {
    let text = fs::read_to_string(list_file()).expect("not-yet.tsv");
    list::read(&text).unwrap_or_else(|e| panic!("not-yet.tsv: {e}"))
}

/// `docs/cases.md` names every case; under its last heading exactly those of which something is not told yet.
#[test]
fn the_page_about_cases_is_true() {
    const LAST: &str = "\n## What is not told yet\n";
    let file = folder().join("../../docs/cases.md");
    let page = fs::read_to_string(file).expect("docs/cases.md");
    let (told, not_yet) = page.split_once(LAST).expect("the last heading");
    let mut wrong = Vec::new();
    for case in cases() {
        let named = format!("`{}`", case.name);
        let listed = listed().iter().any(|l| l.case == case.name);
        if !told.contains(&named) {
            wrong.push(format!("does not name {named}"));
        }
        if not_yet.contains(&named) != listed {
            let which = if listed {
                "and the page does not say so"
            } else {
                "no more"
            };
            wrong.push(format!("something of {named} is not told yet {which}"));
        }
    }
    assert!(wrong.is_empty(), "docs/cases.md:\n{}", wrong.join("\n"));
}

#[test]
fn field_cases_say_what_they_must() {
    let mut cases = cases();
    let wanted = |name: &str| std::env::var(name).ok().filter(|v| !v.is_empty());
    if let Some(new) = wanted("NEW_CASE") {
        cases.retain(|c| c.name == new);
        assert!(!cases.is_empty(), "there is no tests/field/{new}");
        let (_, misses) = performed(&cases);
        let all = list::with_new(&listed(), &new, &misses).unwrap_or_else(|e| panic!("{e}"));
        fs::write(list_file(), list::write(&all)).expect("not-yet.tsv can be written");
        return;
    }
    assert!(!cases.is_empty(), "there are no field cases");
    let (checks, misses) = performed(&cases);
    if wanted("UPDATE_EXPECT").is_some() {
        let kept = list::shrunk(&listed(), &misses);
        fs::write(list_file(), list::write(&kept)).expect("not-yet.tsv can be written");
    }
    let wrong = list::differences(&listed(), &checks, &misses);
    assert!(wrong.is_empty(), "tests/field:\n{}", wrong.join("\n"));
}
