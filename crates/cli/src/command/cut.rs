//! `slowside cut`: the packets that prove something, to pcapng.

use super::{inputs, print};
use crate::args::Cut;
use crate::exit::Done;
use crate::out::{self, complain};
use crate::progress::Progress;
use analysis::results::Vantage;
use pseudonyms::{Anonymiser, NameKind};
use replace::{Kind, Replacement, Writer};
use report::harmless;
use slowside::{Captures, Config, CutCapture, CutRequest, same_file};
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

pub(super) const CUT: Kind = Kind {
    name: "capture that was cut",
    option: "-o",
    is: slowside::is_cut,
};

/// Bytes written at once.
pub(super) const PIECE_BYTES: usize = 64 << 10;

pub(crate) fn run(args: &Cut) -> anyhow::Result<Done> {
    anyhow::ensure!(
        is_anything_asked(args),
        "say what to cut: --finding, --connection, --call, --where, --frames, --from or --to"
    );
    let (captures, notes) = inputs::captures(&args.inputs, args.reading.as_one)?;
    let config = args.reading.config(&captures)?;
    let quiet = args.reading.quiet;
    if !quiet {
        notes.iter().for_each(|note| complain(&note.to_string()));
    }
    check_output(&args.output, &captures)?;
    let anonymiser = args.reading.anonymiser()?;
    let request = CutRequest {
        finding: args.finding.clone(),
        connection: args.connection,
        call: args.call,
        calls: args.reading.calls.filter.is_some(),
        frames: args
            .frames
            .iter()
            .flat_map(|list| list.frames.clone())
            .collect(),
        only: args.only,
        words: words(args, &config),
        application: concat!("slowside ", env!("CARGO_PKG_VERSION")).to_owned(),
        anonymiser,
    };
    let stdout = is_stdout(&args.output);
    let mut written = Vec::new();
    let mut open =
        |index: usize, count: usize, side: Option<Vantage>| -> io::Result<Box<dyn Write>> {
            if stdout {
                let out = Writer::to(out::packets(), "to standard output", CUT.option);
                return Ok(Box::new(BufWriter::with_capacity(PIECE_BYTES, out)));
            }
            let path = path(&args.output, index, count, side);
            let file = Replacement::create(&path, &CUT)?;
            let out = BufWriter::with_capacity(PIECE_BYTES, file.writer()?);
            written.push((index, path, file));
            Ok(Box::new(out))
        };
    let mut progress = Progress::new(quiet, false);
    let result = slowside::cut(&captures, &request, &config, &mut open, &mut |e| {
        progress.event(e)
    })?;
    drop(progress);
    // None before all are whole: those of two captures belong together.
    let mut paths = Vec::new();
    for (index, path, file) in written {
        file.commit()?;
        paths.push((index, path));
    }

    if !quiet {
        result.notes.iter().for_each(|note| complain(note));
    }
    if !stdout {
        print(|out| {
            (0..)
                .zip(&result.captures)
                .try_for_each(|(index, capture)| {
                    let path = paths.iter().find(|(i, _)| *i == index);
                    let path = path.map(|(_, p)| p.display().to_string());
                    let told = told(path, capture, request.anonymiser.as_ref());
                    out.write_all(told.as_bytes())
                })
        })?;
    }
    for capture in &result.captures {
        for (kind, p) in capture.problems.iter().filter(|(_, p)| p.damage && !quiet) {
            complain(&format!(
                "damaged: {kind}, {}: {} ({})",
                p.count, p.example, p.first
            ));
        }
    }
    let damaged = result.captures.iter().any(|c| c.problems.any_damage());
    Ok(Done::with_damage(damaged))
}

fn is_anything_asked(args: &Cut) -> bool {
    let times = args.reading.from.is_some() || args.reading.to.is_some();
    let calls = args.call.is_some() || args.reading.calls.filter.is_some();
    let others = args.finding.is_some() || args.connection.is_some() || !args.frames.is_empty();
    times || calls || others
}

fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The files of each capture.
fn all(captures: &Captures) -> Vec<&[PathBuf]> {
    match captures {
        Captures::One(a) | Captures::Client(a) | Captures::Server(a) => vec![a],
        Captures::Two(a, b)
        | Captures::Sides {
            client: a,
            server: b,
        } => vec![a, b],
    }
}

/// Refuses outputs that would do harm.
fn check_output(output: &Path, captures: &Captures) -> anyhow::Result<()> {
    let all = all(captures);
    if is_stdout(output) {
        anyhow::ensure!(
            all.len() == 1,
            "two captures make two files, which do not fit into standard output; give -o FILE"
        );
        anyhow::ensure!(
            !out::is_terminal(),
            "standard output is a terminal; give -o FILE, or pipe it into what reads pcapng"
        );
        return Ok(());
    }
    // Whichever names there will be.
    let sides = [None, Some(Vantage::Client), Some(Vantage::Server)];
    for (index, side) in (0..all.len()).flat_map(|i| sides.map(|s| (i, s))) {
        let path = path(output, index, all.len(), side);
        if !path.exists() {
            continue;
        }
        let mut inputs = all.iter().flat_map(|files| files.iter());
        anyhow::ensure!(
            !inputs.any(|input| holds(input, &path)),
            "{} is one of the captures; give -o another name",
            path.display()
        );
    }
    if all.len() == 1 {
        replace::check(output, &CUT)?;
    }
    Ok(())
}

/// Whether an input is this file, or a folder with it, by whichever name.
fn holds(input: &Path, file: &Path) -> bool {
    let entries = fs::read_dir(input).into_iter().flatten().flatten();
    same_file(input, file)
        || entries
            .map(|e| e.path())
            .any(|member| same_file(&member, file))
}

/// `evidence-client.pcapng` of `evidence.pcapng`, where there are several.
fn path(output: &Path, index: usize, count: usize, side: Option<Vantage>) -> PathBuf {
    if count == 1 {
        return output.to_owned();
    }
    let which = match side {
        Some(Vantage::Client) => "client".to_owned(),
        Some(Vantage::Server) => "server".to_owned(),
        _ => (index + 1).to_string(),
    };
    let mut name = output.file_stem().unwrap_or_default().to_owned();
    name.push("-");
    name.push(which);
    if let Some(extension) = output.extension() {
        name.push(".");
        name.push(extension);
    }
    output.with_file_name(name)
}

/// The selection as it was given, for the file's comment; where names are hidden, only how it was made.
fn words(args: &Cut, config: &Config) -> String {
    let hidden = args.reading.anonymise.is_some();
    let mut words = Vec::new();
    if let Some(finding) = &args.finding {
        words.push(match finding {
            slowside::WhichFinding::Number(n) => format!("--finding {n}"),
            slowside::WhichFinding::Rule(rule) => format!("--finding {rule}"),
        });
    }
    words.extend(args.connection.map(|n| format!("--connection {n}")));
    words.extend(args.call.map(|id| format!("--call 0x{id:08x}")));
    match &args.reading.calls.filter {
        Some(_) if hidden => words.push("--where …".into()),
        Some(filter) => words.push(format!("--where '{}'", filter.text())),
        None => {}
    }
    match hidden {
        true if !args.frames.is_empty() => words.push("--frames …".into()),
        true => {}
        false => words.extend(
            args.frames
                .iter()
                .map(|list| format!("--frames {}", list.text)),
        ),
    }
    for (name, moment) in [("--from", config.from), ("--to", config.to)] {
        words.extend(moment.map(|m| match m {
            slowside::Moment::Absolute(t) => format!(
                "{name} @{}.{:09}",
                t.0.div_euclid(1_000_000_000),
                t.0.rem_euclid(1_000_000_000)
            ),
            slowside::Moment::AfterStart(ns) => format!("{name} +{ns}ns"),
        }));
    }
    words.extend(args.only.then(|| "--only".to_owned()));
    words.join(" ")
}

fn told(path: Option<String>, c: &CutCapture, names: Option<&Anonymiser>) -> String {
    let shown = |file: &str| match names {
        Some(names) => names.name(NameKind::File, file),
        None => harmless(file),
    };
    let files = match c.files.as_slice() {
        [one] if one == "-" => "standard input".to_owned(),
        [one] => shown(one),
        several => format!("{} files", several.len()),
    };
    let Some(path) = path else {
        return format!("{files}: nothing of it is chosen, so no file was written\n");
    };
    format!(
        "{}: {} of {} packets of {files}, {} with comments that say why\n",
        shown(&path),
        c.chosen,
        c.packets,
        c.commented
    )
}
