//! `slowside diagnose`: which side is slow, by how much, and why.

use super::{inputs, print, tell_missing};
use crate::args::{Diagnose, FailOn, GroupFormat, HostFile};
use crate::exit::Done;
use crate::progress::Progress;
use analysis::results::{Diagnosis, Finding};
use anyhow::Context;
use jiff::tz::TimeZone;

use pseudonyms::{Anonymiser, NameKind};
use replace::{Kind, Replacement};
use report::Anonymise;
use slowside::{Config, Run};
use std::path::PathBuf;
use std::sync::Arc;
use trace::host::{End, Host};

const SAVED: Kind = Kind {
    name: "saved run",
    option: "--save",
    is: Run::begins,
};

pub(crate) fn run(args: &Diagnose) -> anyhow::Result<Done> {
    let diagnosis = diagnosis(args)?;
    let zone = TimeZone::system();
    print(|out| match args.format {
        GroupFormat::Json => report::diagnosis_json(&diagnosis, out),
        GroupFormat::Csv => report::diagnosis_csv(&diagnosis, out),
        GroupFormat::Text => report::diagnosis_text(&diagnosis, &zone, out),
        GroupFormat::Markdown => report::diagnosis_markdown(&diagnosis, &zone, out),
    })?;
    if !args.reading.quiet {
        diagnosis.captures.iter().for_each(tell_missing);
    }
    if let Some(limit) = &args.fail_on
        && diagnosis.findings.iter().any(|f| reaches(f, limit))
    {
        return Ok(Done::Found);
    }
    let damaged = diagnosis.captures.iter().any(|c| c.problems.any_damage());
    Ok(Done::with_damage(damaged))
}

/// What is asked for, as it is shown.
pub(super) fn diagnosis(args: &Diagnose) -> anyhow::Result<Diagnosis> {
    let (captures, mut notes) = inputs::captures(&args.inputs, args.reading.as_one)?;
    let hosts = hosts_of(&args.host, &mut notes)?;
    let app = rows_of(&args.app, "--app", &mut notes)?.or_else(|| client_sums(&hosts));
    let config = Config {
        hosts,
        server_app: rows_of(&args.server_app, "--server-app", &mut notes)?,
        fast_enough_ns: args.judging.fast_enough,
        tail_ns: args.judging.tail,
        clock_offset_ns: args.judging.clock_offset,
        ..args.reading.config(&captures)?
    };
    // Before all the work.
    let save = args.save.as_deref();
    let save = save.map(|file| Replacement::create(file, &SAVED));
    let save = save.transpose()?;
    let names = args.reading.anonymiser()?;
    let mut progress = Progress::new(args.reading.quiet, false);
    let mut event = |e| progress.event(e);
    let mut diagnosis = match save {
        None => slowside::diagnose(&captures, app.as_ref(), &config, &mut event)?,
        Some(file) => {
            let (diagnosis, snapshot) =
                slowside::measure(&captures, app.as_ref(), &config, &mut event)?;
            let snapshot = match &names {
                Some(names) => snapshot.anonymised(names),
                None => snapshot,
            };
            file.write(&slowside::saved(&snapshot))?;
            diagnosis
        }
    };
    drop(progress);
    if let Some(why) = super::nothing_within(&config, &diagnosis.captures) {
        notes.insert(0, sentence(&why));
    }
    diagnosis.notes.append(&mut notes);
    if let Some(names) = &names {
        diagnosis = without_files(
            diagnosis,
            &args.inputs.files(&args.app, &args.server_app, &args.host),
            names,
        )
        .anonymised(names);
    }
    Ok(diagnosis)
}

/// With a capital and a full stop.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_ascii_uppercase());
    first.into_iter().chain(letters).chain(['.']).collect()
}

/// What ends the work costs more than any number of seconds.
fn reaches(finding: &Finding, limit: &FailOn) -> bool {
    match limit {
        FailOn::Rule(rule) => finding.rule == *rule,
        FailOn::CostNs(limit) => finding.fatal || finding.cost_ns.is_some_and(|c| c >= *limit),
    }
}

/// Notes name files: logs of the application that could not be read, captures that were given twice.
pub(super) fn without_files(
    mut diagnosis: Diagnosis,
    given: &[&PathBuf],
    names: &Anonymiser,
) -> Diagnosis {
    let captures = diagnosis.captures.iter().flat_map(|c| c.files.clone());
    let mut files: Vec<String> = given.iter().map(|f| f.display().to_string()).collect();
    files.extend(captures);
    // One may be the beginning of another.
    files.sort_by_key(|f| std::cmp::Reverse(f.len()));
    for note in &mut diagnosis.notes {
        for file in &files {
            *note = renamed(note, file, &names.name(NameKind::File, file));
        }
    }
    diagnosis
}

/// `text` with `new` for each `word` that stands there as one.
fn renamed(text: &str, word: &str, new: &str) -> String {
    let part = |c: char| c.is_alphanumeric() || matches!(c, '/' | '-' | '_');
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once(word).filter(|_| !word.is_empty()) {
        let inside = before.ends_with(part) || behind.starts_with(part);
        out.push_str(before);
        out.push_str(if inside { word } else { new });
        rest = behind;
    }
    out + rest
}

/// What a host noted itself.
pub(super) fn rows_of(
    files: &[PathBuf],
    option: &'static str,
    notes: &mut Vec<String>,
) -> anyhow::Result<Option<Arc<trace::Application>>> {
    if files.is_empty() {
        return Ok(None);
    }
    let application = trace::read(files).context(option)?;
    if let Some(disks) = &application.disks {
        note_left_out(disks, notes);
    }
    note_left_out(&application, notes);
    Ok(Some(Arc::new(application)))
}

/// What tools said of hosts.
pub(super) fn hosts_of(files: &[HostFile], notes: &mut Vec<String>) -> anyhow::Result<Arc<[Host]>> {
    let hosts = trace::host::read(files).context("--host")?;
    for host in &hosts {
        if host.skipped_lines > 0 {
            let first = host.first_skipped.as_ref();
            notes.push(format!(
                "{} lines of {} could not be used{}.",
                model::grouped(host.skipped_lines),
                host.file,
                first.map_or_else(String::new, |l| format!(", the first of them: {l}"))
            ));
        }
        if host.beyond_limit > 0 {
            notes.push(format!(
                "{} samples of {} are more than are remembered and were left out.",
                model::grouped(host.beyond_limit),
                host.file
            ));
        }
    }
    Ok(hosts.into())
}

/// What an NFS client's system counted stands for its application, where that noted nothing itself.
pub(super) fn client_sums(hosts: &[Host]) -> Option<Arc<trace::Application>> {
    let clients = hosts.iter().filter(|h| h.said != Some(End::Server));
    clients.filter_map(|h| h.sums.clone()).next()
}

/// What could not be read of it.
fn note_left_out(application: &trace::Application, notes: &mut Vec<String>) {
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
    let left_out = [
        (
            application.unfinished,
            "operations without an end, unfinished or failed when it was written",
        ),
        (
            application.beyond_limit,
            "operations beyond those that are remembered",
        ),
    ];
    for (count, what) in left_out.into_iter().filter(|(n, _)| *n > 0) {
        notes.push(format!(
            "{} {what}, of the {} were left out.",
            model::grouped(count),
            application.format
        ));
    }
}
