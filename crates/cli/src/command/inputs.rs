//! The captures that a command line names: which files make which, for commands that take one end or
//! both.

use super::check_standard_input;
use crate::args::Inputs;
use analysis::text::{Text, Value, text};
use anyhow::bail;
use slowside::{Captures, Ends, Run, same_file};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Which files make which capture, and what should be said about that. Files given as one capture that
/// are captures of both ends are taken for those, unless they are said to be one.
pub(super) fn captures(args: &Inputs, as_one: bool) -> anyhow::Result<(Captures, Vec<Text>)> {
    arranged(args, as_one, None)
}

/// A name that is mistyped is no file of a ring that went on: what is left of several would be taken for something else.
fn are_there(args: &Inputs) -> anyhow::Result<()> {
    let all = args.captures.iter().chain(&args.client).chain(&args.server);
    let several = all.clone().count() > 2;
    for path in all.filter(|_| several) {
        if let Err(error) = path.metadata()
            && error.kind() == ErrorKind::NotFound
            && path.as_os_str() != "-"
        {
            let path = path.display();
            bail!("cannot open {path}: {error}; check the path and its permissions")
        }
    }
    Ok(())
}

/// The same where it is known what the files of the command line are.
fn arranged(
    args: &Inputs,
    as_one: bool,
    known: Option<Ends>,
) -> anyhow::Result<(Captures, Vec<Text>)> {
    let (captures, mut notes) = given(args)?;
    let captures = match captures {
        Captures::Two(mut first, second) if as_one => {
            first.extend(second);
            one(&first, as_one)?
        }
        Captures::One(files) => {
            let count = files.len();
            let (captures, note) = match known {
                Some(ends) => of_ends(files, ends)?,
                None => one_or_both(files, as_one)?,
            };
            let as_one = || {
                text!(
                    "The {count} files were read as one capture; for two, give --client FILE… and --server FILE….",
                    count = count
                )
            };
            let several = count > 2 && !args.captures.is_empty();
            notes.extend(note.or_else(|| several.then(as_one)));
            captures
        }
        stated => {
            for files in stated.lists() {
                one(files, as_one)?;
            }
            stated
        }
    };
    Ok((captures, notes))
}

/// What is diagnosed: two ends or one, and captures of the same calls beside them.
pub(super) struct Diagnosed {
    pub captures: Captures,
    /// From between both ends, a list of files each.
    pub between: Vec<Vec<PathBuf>>,
    /// Of further clients of the server, or further servers of the client.
    pub peers: Vec<Vec<PathBuf>>,
    /// Of hosts beneath the second, each of which is asked by the one before it.
    pub beneath: Vec<Vec<PathBuf>>,
    pub notes: Vec<Text>,
}

/// The same for commands that take captures from between both ends as well.
pub(super) fn path(args: &Inputs, between: &[PathBuf], as_one: bool) -> anyhow::Result<Diagnosed> {
    are_there(args)?;
    let mut known = None;
    if !as_one && between.is_empty() && args.captures.len() > 2 {
        known = match slowside::ends(&args.captures) {
            Ends::Several(files) => return Ok(points(files)),
            ends => Some(ends),
        };
    }
    with_points(args, between, as_one, known)
}

/// The same for commands that take captures of several clients or servers, too.
pub(super) fn diagnosed(
    args: &Inputs,
    between: &[PathBuf],
    as_one: bool,
) -> anyhow::Result<Diagnosed> {
    are_there(args)?;
    let may_be_more = !as_one && between.is_empty();
    let mut known = None;
    if may_be_more && args.captures.len() > 2 {
        known = match slowside::ends(&args.captures) {
            Ends::Several(files) => return Ok(points(files)),
            Ends::Peers { of, each } => return Ok(peers(each, of, Captures::Two)),
            Ends::Chain(row) => return Ok(chain(row)),
            ends => Some(ends),
        };
    }
    if may_be_more && args.client.len() + args.server.len() > 2 {
        let all: Vec<PathBuf> = args.client.iter().chain(&args.server).cloned().collect();
        if !Captures::One(all.clone()).are_piped()
            && let Ends::Peers { of, each } = slowside::ends(&all)
        {
            let holds = |files: &[PathBuf], file: &PathBuf| {
                files.iter().any(|f| f == file || file.starts_with(f))
            };
            let is_server = of.iter().all(|file| holds(&args.server, file));
            // Of those that are given as the server's as well, packets say whether they lie beneath it.
            let are_clients = each.iter().flatten().all(|file| holds(&args.client, file));
            if is_server && !are_clients {
                return Ok(peers(each, of, Captures::Two));
            }
            if is_server {
                let sides = |client, server| Captures::Sides { client, server };
                return Ok(peers(each, of, sides));
            }
            if of.iter().all(|file| holds(&args.client, file)) {
                return Ok(peers(each, of, Captures::Two));
            }
        }
    }
    with_points(args, between, as_one, known)
}

fn with_points(
    args: &Inputs,
    between: &[PathBuf],
    as_one: bool,
    known: Option<Ends>,
) -> anyhow::Result<Diagnosed> {
    let (captures, notes) = arranged(args, as_one, known)?;
    let points: Vec<Vec<PathBuf>> = between.iter().map(|file| vec![file.clone()]).collect();
    for point in &points {
        one(point, as_one)?;
    }
    let [_, second] = captures.lists();
    if !points.is_empty() && second.is_empty() {
        bail!(
            "--between is for captures taken between two others: give those of both ends as well, --client FILE… --server FILE…"
        )
    }
    if !points.is_empty() && (captures.are_piped() || Captures::One(between.to_vec()).are_piped()) {
        bail!(
            "with --between captures are read several times, which a pipe cannot be: save them to files first"
        )
    }
    Ok(Diagnosed {
        captures,
        between: points,
        peers: Vec::new(),
        beneath: Vec::new(),
        notes,
    })
}

/// A path's captures, a file each.
fn points(mut files: Vec<PathBuf>) -> Diagnosed {
    let note = text!(
        "{count} files hold the same packets: they are read as captures of as many points of the path.",
        count = files.len()
    );
    let rest = files.split_off(2).into_iter().map(|file| vec![file]);
    let between = rest.collect();
    let [first, second] = <[PathBuf; 2]>::try_from(files).unwrap_or_default();
    Diagnosed {
        captures: Captures::Two(vec![first], vec![second]),
        between,
        peers: Vec::new(),
        beneath: Vec::new(),
        notes: vec![note],
    }
}

/// Captures that each have calls in common with one.
fn peers(
    mut each: Vec<Vec<PathBuf>>,
    of: Vec<PathBuf>,
    pair: impl Fn(Vec<PathBuf>, Vec<PathBuf>) -> Captures,
) -> Diagnosed {
    let common = of
        .first()
        .map_or_else(String::new, |f| f.display().to_string());
    let note = text!(
        "{count} captures of different hosts hold packets of {file}: each is read with that, by its own clock.",
        count = each.len(),
        file = Value::File(common.into())
    );
    let first = each.remove(0);
    Diagnosed {
        captures: pair(first, of),
        between: Vec::new(),
        peers: each,
        beneath: Vec::new(),
        notes: vec![note],
    }
}

/// Captures of hosts in a row.
fn chain(mut row: Vec<Vec<PathBuf>>) -> Diagnosed {
    let note = text!(
        "{count} captures of different hosts, each of which has packets in common with the next: read by two, by their own clocks.",
        count = row.len()
    );
    let beneath = row.split_off(2);
    let [first, second] = <[Vec<PathBuf>; 2]>::try_from(row).unwrap_or_default();
    Diagnosed {
        captures: Captures::Two(first, second),
        between: Vec::new(),
        peers: Vec::new(),
        beneath,
        notes: vec![note],
    }
}

/// Files as one capture or, if they turn out to be captures of both ends, as two, and a word about that.
pub(super) fn one_or_both(
    files: Vec<PathBuf>,
    as_one: bool,
) -> anyhow::Result<(Captures, Option<Text>)> {
    no_saved_run(&files)?;
    let ends = match as_one {
        true => Ends::One,
        false => slowside::ends(&files),
    };
    of_ends(files, ends)
}

/// Files of which it is known what they are.
fn of_ends(files: Vec<PathBuf>, ends: Ends) -> anyhow::Result<(Captures, Option<Text>)> {
    no_saved_run(&files)?;
    Ok(match ends {
        Ends::One => (Captures::One(files), None),
        Ends::Two([a, b]) => {
            let note = text!(
                "{count} files hold the same packets: they are read as captures of both ends.",
                count = a.len() + b.len()
            );
            (Captures::Two(a, b), Some(note))
        }
        Ends::Several(files) => bail!(
            "{} hold the same packets: they are captures of {} points of the path; slowside diagnose, calls \
             and report take them all, this command two of them, or all with --as-one",
            listed(&files),
            files.len()
        ),
        Ends::Peers { of, each } => bail!(
            "{} hold packets of {} and are captures of different hosts, each with a clock of its own; slowside diagnose \
             and report take them all, this command {} and one of them",
            listed(&each.concat()),
            listed(&of),
            listed(&of)
        ),
        Ends::Chain(row) => bail!(
            "{} are captures of different hosts in a row, each with a clock of its own; slowside diagnose and report take \
             them all, this command two that are neighbours",
            listed(&row.concat())
        ),
        Ends::Tangled([a, b]) => bail!(
            "{} and {} hold the same packets, so the files are more captures than one; say which \
             are which with --client FILE… and --server FILE…, or --as-one",
            a.display(),
            b.display()
        ),
    })
}

/// Refuses files as one capture that are captures of both ends: every call would count twice, which is for
/// whoever asks for it.
pub(super) fn one(files: &[PathBuf], as_one: bool) -> anyhow::Result<Captures> {
    no_saved_run(files)?;
    let whole = || Captures::One(files.to_vec());
    if as_one {
        return Ok(whole());
    }
    let [a, b] = match slowside::ends(files) {
        Ends::One => return Ok(whole()),
        Ends::Two(captures) => captures.map(|c| c.into_iter().next().unwrap_or_default()),
        Ends::Several(files) => {
            let mut files = files.into_iter();
            [(); 2].map(|()| files.next().unwrap_or_default())
        }
        Ends::Peers { of, each } => {
            [of, each.concat()].map(|c| c.into_iter().next().unwrap_or_default())
        }
        Ends::Chain(row) => {
            let mut row = row.into_iter().filter_map(|c| c.into_iter().next());
            [(); 2].map(|()| row.next().unwrap_or_default())
        }
        Ends::Tangled(files) => files,
    };
    bail!(
        "{} and {} hold the same packets: they are captures of both ends, and as one every call \
         would count twice; give one of them, or --as-one",
        a.display(),
        b.display()
    )
}

fn listed(files: &[PathBuf]) -> String {
    let names: Vec<String> = files.iter().map(|f| f.display().to_string()).collect();
    names.join(", ")
}

/// Says what to do with a saved run, which holds no packets.
fn no_saved_run(files: &[PathBuf]) -> anyhow::Result<()> {
    let Some(file) = files.iter().find(|file| Run::is_saved(file)) else {
        return Ok(());
    };
    let file = Path::new(file).display();
    bail!(
        "{file} is a run that slowside diagnose --save kept, which holds no packets; hold a capture against it: \
         slowside compare {file} CAPTURE"
    )
}

fn given(args: &Inputs) -> anyhow::Result<(Captures, Vec<Text>)> {
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
fn distinct(paths: &[PathBuf], notes: &mut Vec<Text>) -> Vec<PathBuf> {
    let mut kept: Vec<PathBuf> = Vec::new();
    for path in paths {
        if kept.iter().any(|k| same_file(k, path)) {
            notes.push(text!(
                "{file} was given twice: it is read once.",
                file = Value::File(path.display().to_string().into())
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
        let Some(Command::Diagnose(args)) = arguments.command else {
            panic!("{line} is another command");
        };
        let (captures, notes) = captures(&args.inputs, args.reading.as_one)
            .expect("no standard input that is a terminal");
        (format!("{captures:?}"), notes.len())
    }

    #[test]
    fn files_become_captures() {
        for (line, captures, notes) in [
            ("a", r#"One(["a"])"#, 0),
            ("-", r#"One(["-"])"#, 0),
            ("diagnose a b", r#"Two(["a"], ["b"])"#, 0),
            ("a b c", r#"One(["a", "b", "c"])"#, 1),
            ("a b --as-one", r#"One(["a", "b"])"#, 0),
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
