//! The captures that a command line names: which files make which, for commands that take one end or
//! both.

use super::check_standard_input;
use crate::args::Inputs;
use anyhow::bail;
use slowside::{Captures, Ends, same_file};
use std::path::PathBuf;

/// Which files make which capture, and what should be said about that. Files given as one capture that
/// are captures of both ends are taken for those.
pub(super) fn captures(args: &Inputs) -> anyhow::Result<(Captures, Vec<String>)> {
    let (captures, mut notes) = given(args)?;
    let captures = match captures {
        Captures::One(files) => {
            let count = files.len();
            let (captures, note) = one_or_both(files)?;
            let as_one = || {
                format!(
                    "The {count} files were read as one capture; for two, give --client FILE… and \
                     --server FILE…."
                )
            };
            let several = count > 2 && !args.captures.is_empty();
            notes.extend(note.or_else(|| several.then(as_one)));
            captures
        }
        stated => {
            let lists = match &stated {
                Captures::Two(a, b) => [a.as_slice(), b],
                Captures::Sides { client, server } => [client.as_slice(), server],
                Captures::One(a) | Captures::Client(a) | Captures::Server(a) => [a.as_slice(), &[]],
            };
            lists.into_iter().try_for_each(one)?;
            stated
        }
    };
    Ok((captures, notes))
}

/// Files as one capture or, if they turn out to be captures of both ends, as two, and a word about that.
pub(super) fn one_or_both(files: Vec<PathBuf>) -> anyhow::Result<(Captures, Option<String>)> {
    Ok(match slowside::ends(&files) {
        Ends::One => (Captures::One(files), None),
        Ends::Two([a, b]) => {
            let note = format!(
                "{} files hold the same packets: they are read as captures of both ends.",
                a.len() + b.len()
            );
            (Captures::Two(a, b), Some(note))
        }
        Ends::Tangled([a, b]) => bail!(
            "{} and {} hold the same packets, so the files are more captures than one; say which \
             are which with --client FILE… and --server FILE…",
            a.display(),
            b.display()
        ),
    })
}

/// Refuses files as one capture that are captures of both ends: every call would count twice.
pub(super) fn one(files: &[PathBuf]) -> anyhow::Result<()> {
    let [a, b] = match slowside::ends(files) {
        Ends::One => return Ok(()),
        Ends::Two(captures) => captures.map(|c| c.into_iter().next().unwrap_or_default()),
        Ends::Tangled(files) => files,
    };
    bail!(
        "{} and {} hold the same packets: they are captures of both ends, and as one every call \
         would count twice; give one of them",
        a.display(),
        b.display()
    )
}

fn given(args: &Inputs) -> anyhow::Result<(Captures, Vec<String>)> {
    for inputs in [&args.captures, &args.client, &args.server] {
        check_standard_input(inputs)?;
    }
    let mut notes = Vec::new();
    let client = distinct(&args.client, &mut notes);
    let server = distinct(&args.server, &mut notes);
    let captures = match (client.is_empty(), server.is_empty()) {
        (false, true) => Captures::Client(client),
        (true, false) => Captures::Server(server),
        (false, false)
            if client
                .iter()
                .all(|c| server.iter().any(|s| same_file(c, s))) =>
        {
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
                Err(files) => Captures::One(files),
            }
        }
    };
    Ok((captures, notes))
}

/// The paths without those given before.
fn distinct(paths: &[PathBuf], notes: &mut Vec<String>) -> Vec<PathBuf> {
    let mut kept: Vec<PathBuf> = Vec::new();
    for path in paths {
        if kept.iter().any(|k| same_file(k, path)) {
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
