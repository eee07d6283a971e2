//! The captures that a command line names: which files make which, for commands that take one end or
//! both.

use super::check_standard_input;
use crate::args::Inputs;
use slowside::Captures;
use std::path::{Path, PathBuf};

/// Which files make which capture, and what should be said about that.
pub(super) fn captures(args: &Inputs) -> anyhow::Result<(Captures, Vec<String>)> {
    for inputs in [&args.captures, &args.client, &args.server] {
        check_standard_input(inputs)?;
    }
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
    Ok((captures, notes))
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
        let (captures, notes) =
            captures(&args.inputs).expect("no standard input that is a terminal");
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
