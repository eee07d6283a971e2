//! `slowside diagnose`: which side is slow, by how much, and why.

use super::{check_standard_input, print};
use crate::args::{AnswerFormat, Diagnose, FailOn};
use crate::exit::Done;
use crate::progress::Progress;
use analysis::results::Finding;
use anyhow::Context;
use jiff::tz::TimeZone;
use slowside::{Captures, Config};
use std::path::{Path, PathBuf};

pub(crate) fn run(args: &Diagnose) -> anyhow::Result<Done> {
    for inputs in [&args.captures, &args.client, &args.server] {
        check_standard_input(inputs)?;
    }
    let config = Config {
        fast_enough_ns: args.fast_enough,
        tail_ns: args.tail,
        clock_offset_ns: args.clock_offset,
        ..args.reading.config()?
    };
    let (captures, mut notes) = captures(args);
    let app = application(&args.app, &mut notes)?;
    let mut progress = Progress::new(args.reading.quiet, false);
    let mut diagnosis = slowside::diagnose(&captures, app.as_ref(), &config, &mut |e| {
        progress.event(e);
    })?;
    drop(progress);
    diagnosis.notes.append(&mut notes);

    print(|out| match args.format {
        AnswerFormat::Json => report::diagnosis_json(&diagnosis, out),
        AnswerFormat::Text => report::diagnosis_text(&diagnosis, &TimeZone::system(), out),
    })?;
    if let Some(limit) = &args.fail_on
        && diagnosis.findings.iter().any(|f| reaches(f, limit))
    {
        return Ok(Done::Found);
    }
    let damaged = diagnosis.captures.iter().any(|c| c.problems.any_damage());
    Ok(Done::with_damage(damaged))
}

/// What ends the work costs more than any number of seconds.
fn reaches(finding: &Finding, limit: &FailOn) -> bool {
    match limit {
        FailOn::Code(code) => finding.code == *code,
        FailOn::CostNs(limit) => finding.fatal || finding.cost_ns.is_some_and(|c| c >= *limit),
    }
}

/// Which files make which capture, and what should be said about that.
fn captures(args: &Diagnose) -> (Captures, Vec<String>) {
    let mut notes = Vec::new();
    let client = distinct(&args.client, &mut notes);
    let server = distinct(&args.server, &mut notes);
    let captures = match (client.is_empty(), server.is_empty()) {
        (false, true) => Captures::Client(client),
        (true, false) => Captures::Server(server),
        (false, false) if client.iter().all(|c| server.iter().any(|s| same(c, s))) => {
            notes.push(
                "The same files were given for both sides: they are one capture, of which it is \
                 found out where it was taken."
                    .into(),
            );
            Captures::One(client)
        }
        (false, false) => Captures::Sides { client, server },
        (true, true) => {
            let files = distinct(&args.captures, &mut notes);
            match <[PathBuf; 2]>::try_from(files) {
                Ok([first, second]) => Captures::Two(vec![first], vec![second]),
                Err(files) => {
                    if files.len() > 2 {
                        notes.push(format!(
                            "The {} files were read as one capture; for two, give --client FILE… \
                             and --server FILE….",
                            files.len()
                        ));
                    }
                    Captures::One(files)
                }
            }
        }
    };
    (captures, notes)
}

/// The paths without those given before.
fn distinct(paths: &[PathBuf], notes: &mut Vec<String>) -> Vec<PathBuf> {
    let mut kept: Vec<PathBuf> = Vec::new();
    for path in paths {
        if kept.iter().any(|k| same(k, path)) {
            notes.push(format!(
                "{} was given twice: it is read once.",
                path.display()
            ));
        } else {
            kept.push(path.clone());
        }
    }
    kept
}

fn same(a: &Path, b: &Path) -> bool {
    a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// What the application noted itself.
fn application(
    files: &[PathBuf],
    notes: &mut Vec<String>,
) -> anyhow::Result<Option<trace::Application>> {
    if files.is_empty() {
        return Ok(None);
    }
    let application = trace::read(files).context("--app")?;
    if application.skipped_lines > 0 {
        notes.push(format!(
            "{} lines of the {} could not be read{}.",
            application.skipped_lines,
            application.format,
            application
                .first_skipped
                .as_ref()
                .map_or_else(String::new, |l| format!(", the first of them: {l}"))
        ));
    }
    Ok(Some(application))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Command, parse};

    /// The captures that a command line asks for, and how many notes it makes.
    fn asked(line: &str) -> (String, usize) {
        let words = std::iter::once("slowside").chain(line.split_whitespace());
        let arguments = parse(words.map(Into::into)).unwrap_or_else(|e| panic!("{line}: {e}"));
        let Command::Diagnose(args) = arguments.command else {
            panic!("{line} is another command");
        };
        let (captures, notes) = captures(&args);
        (format!("{captures:?}"), notes.len())
    }

    #[test]
    fn files_become_captures() {
        for (line, captures, notes) in [
            ("a", r#"One(["a"])"#, 0),
            ("-", r#"One(["-"])"#, 0),
            ("diagnose a b", r#"Two(["a"], ["b"])"#, 0),
            ("a b c", r#"One(["a", "b", "c"])"#, 1),
            ("a a", r#"One(["a"])"#, 1),
            ("--client a b", r#"Client(["a", "b"])"#, 0),
            ("--server a", r#"Server(["a"])"#, 0),
            (
                "--client a --server b --server c",
                r#"Sides { client: ["a"], server: ["b", "c"] }"#,
                0,
            ),
            ("--client a --server a", r#"One(["a"])"#, 1),
        ] {
            assert_eq!(asked(line), (captures.to_owned(), notes), "{line}");
        }
    }
}
