//! The commands, one file each, and what they share.

pub(crate) mod calls;
pub(crate) mod capture;
pub(crate) mod compare;
pub(crate) mod conns;
pub(crate) mod cut;
pub(crate) mod demo;
pub(crate) mod diagnose;
pub(crate) mod explain;
pub(crate) mod info;
pub(crate) mod live;
pub(crate) mod ops;
pub(crate) mod probe;
pub(crate) mod report;
pub(crate) mod shell;
pub(crate) mod sql;
pub(crate) mod startup;
pub(crate) mod stat;
pub(crate) mod trace;
pub(crate) mod welcome;
pub(crate) mod whatif;

mod html;
mod inputs;
mod noted;
mod rows;

use crate::args::FromInterface;
use crate::out::{self, complain};
use analysis::results::CaptureResult;
use anyhow::Context;
use jiff::tz::TimeZone;
use model::{Time, format_duration};
use slowside::{Config, Moment, Source};
use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

/// Writes an answer to standard output.
fn print(answer: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<()> {
    let mut out = out::text();
    answer(&mut out)
        .and_then(|()| out.flush())
        .context(CANNOT_WRITE)
}

pub(crate) const CANNOT_WRITE: &str = "cannot write to standard output";

/// Bytes of a token's file that are read.
const TOKEN_FILE_BYTES: u64 = 4_096;

/// What stands in the file of a token that `option` names.
fn token_bytes(path: &Path, option: &str) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(TOKEN_FILE_BYTES).read_to_end(&mut bytes))
        .with_context(|| format!("cannot open {}; check {option}", path.display()))?;
    Ok(bytes)
}

/// Refuses to wait for somebody to type a capture.
fn check_standard_input(inputs: &[PathBuf]) -> anyhow::Result<()> {
    let wanted = inputs.iter().any(|p| p.as_os_str() == "-");
    anyhow::ensure!(
        !(wanted && io::stdin().is_terminal()),
        "standard input is a terminal; pipe a capture into it or name a file"
    );
    Ok(())
}

/// The files of a capture, or an interface in place of them.
fn source(captures: &[PathBuf], as_one: bool, interface: &FromInterface) -> anyhow::Result<Source> {
    check_standard_input(captures)?;
    let opened = interface.open()?;
    Ok(match (opened, &interface.interface) {
        (Some(opened), Some(name)) => Source::Stream {
            name: name.clone(),
            reader: Box::new(opened),
        },
        _ => {
            inputs::one(captures, as_one)?;
            Source::Files(captures.to_vec())
        }
    })
}

/// Why nothing can be in the answer, if that is because of the times asked for.
fn nothing_within(config: &Config, captures: &[CaptureResult]) -> Option<String> {
    let known: Vec<(Time, Time)> = captures
        .iter()
        .filter_map(|c| c.first.zip(c.last))
        .collect();
    let at = |moment: Moment, first: Time| match moment {
        Moment::Absolute(time) => time,
        Moment::AfterStart(ns) => Time(first.0.saturating_add(ns)),
    };
    let all = |test: &dyn Fn(Time, Time) -> bool| {
        !known.is_empty() && known.iter().all(|(first, last)| test(*first, *last))
    };
    let (first, last) = known.first()?;
    let lasts = format!(
        "the capture has {}, from {} to {}",
        format_duration(*last - *first),
        ::report::moment(*first, &TimeZone::system()),
        ::report::moment(*last, &TimeZone::system())
    );
    if let Some(from) = config.from
        && all(&|first, last| at(from, first) > last)
    {
        return Some(format!(
            "nothing is left, as --from is behind the end: {lasts}"
        ));
    }
    if let Some(to) = config.to
        && all(&|first, _| at(to, first) <= first)
    {
        return Some(format!(
            "nothing is left, as --to is not behind the start: {lasts}"
        ));
    }
    None
}

/// Says on standard error why nothing is in the answer, and what was damaged for outputs that only
/// hold rows.
fn tell(config: &Config, captures: &[CaptureResult], only_rows: bool, quiet: bool) {
    if quiet {
        return;
    }
    if let Some(why) = nothing_within(config, captures) {
        complain(&why);
    }
    for capture in captures {
        match only_rows {
            true => tell_damage(capture),
            false => tell_missing(capture),
        }
    }
}

/// Kinds of damage that stand for whole files, or for all that follows in one.
const MISSING: [&str; 6] = [
    "empty-directory",
    "empty-file",
    "not-a-capture",
    "read-error",
    "unknown-version",
    "unreadable-file",
];

/// Says on standard error which files could not be read at all: who looks at the answer may not miss them.
fn tell_missing(capture: &CaptureResult) {
    tell_problems(capture, |kind| MISSING.contains(&kind));
}

/// Says on standard error what was damaged.
fn tell_damage(capture: &CaptureResult) {
    tell_problems(capture, |_| true);
}

fn tell_problems(capture: &CaptureResult, of: impl Fn(&str) -> bool) {
    let damage = capture.problems.iter().filter(|(_, p)| p.damage);
    for (kind, p) in damage.filter(|(kind, _)| of(kind)) {
        complain(&format!(
            "damaged: {kind}, {}: {} ({})",
            p.count, p.example, p.first
        ));
    }
}
