//! `slowside diagnose`: which side is slow, by how much, and why.

use super::{inputs, print, tell_missing};
use crate::args::{Diagnose, FailOn, GroupFormat, HostFile};
use crate::exit::Done;
use crate::progress::Progress;
use analysis::results::{Diagnosis, Finding, Side};
use analysis::text::{Text, Value, text};
use anyhow::{Context, bail};
use jiff::tz::TimeZone;

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
    if args
        .fail_on
        .as_ref()
        .is_some_and(|on| fails(&diagnosis, on))
    {
        return Ok(Done::Found);
    }
    let between = diagnosis
        .hops
        .iter()
        .flat_map(|hop| &hop.diagnosis.captures);
    let peers = diagnosis.peers.iter().flat_map(|p| &p.diagnosis.captures);
    let tiers = diagnosis.tiers.iter().filter_map(|t| t.below.as_ref());
    let beneath = tiers.flat_map(|d| &d.captures);
    let all = diagnosis.captures.iter().chain(between).chain(peers);
    let mut all = all.chain(beneath);
    let damaged = all.any(|c| c.problems.any_damage());
    Ok(Done::with_damage(damaged))
}

/// What is asked for, as it is shown.
pub(super) fn diagnosis(args: &Diagnose) -> anyhow::Result<Diagnosis> {
    let inputs::Diagnosed {
        captures,
        between,
        peers,
        beneath,
        mut notes,
    } = inputs::diagnosed(&args.inputs, &args.between, args.reading.as_one)?;
    let hosts = hosts_of(&args.host, &mut notes)?;
    let app = rows_of(&args.app, "--app", &mut notes)?.or_else(|| client_sums(&hosts));
    let config = Config {
        between,
        peers,
        beneath,
        hosts,
        server_app: rows_of(&args.server_app, "--server-app", &mut notes)?,
        fast_enough_ns: args.judging.fast_enough,
        tail_ns: args.judging.tail,
        clock_offset_ns: args.judging.clock_offset,
        ..args.reading.config(&captures)?
    };
    if args.save.is_some() && !(config.peers.is_empty() && config.beneath.is_empty()) {
        bail!(
            "--save keeps what one pair of captures says: give those of one client and its server"
        )
    }
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
        diagnosis = diagnosis.anonymised(names);
    }
    Ok(diagnosis)
}

/// With a capital and a full stop.
fn sentence(text: &str) -> Text {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_ascii_uppercase());
    let said: String = first.into_iter().chain(letters).collect();
    text!("{said}.", said = said)
}

/// What ends the work costs more than any number of seconds. Of several hosts it is enough that one is held up.
fn fails(diagnosis: &Diagnosis, on: &FailOn) -> bool {
    let peers = diagnosis.peers.iter().flat_map(|p| &p.diagnosis.findings);
    let findings = || diagnosis.findings.iter().chain(peers.clone());
    let any = |is: &dyn Fn(&Finding) -> bool| findings().any(is);
    match on {
        FailOn::Rule(rule) => any(&|f| f.rule == *rule),
        FailOn::CostNs(limit) => any(&|f| f.fatal || f.cost_ns.is_some_and(|c| c >= *limit)),
        FailOn::Undetermined => diagnosis.verdict.side == Side::Undetermined,
    }
}

/// What a host noted itself.
pub(super) fn rows_of(
    files: &[PathBuf],
    option: &'static str,
    notes: &mut Vec<Text>,
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
pub(super) fn hosts_of(files: &[HostFile], notes: &mut Vec<Text>) -> anyhow::Result<Arc<[Host]>> {
    let hosts = trace::host::read(files).context("--host")?;
    for host in &hosts {
        if host.skipped_lines > 0 {
            notes.push(text!(
                "{lines,} lines of {file} could not be used{first}.",
                lines = host.skipped_lines,
                file = Value::File(host.file.as_str().into()),
                first = first_of_them(host.first_skipped.as_deref()),
            ));
        }
        if host.beyond_limit > 0 {
            notes.push(text!(
                "{samples,} samples of {file} are more than are remembered and were left out.",
                samples = host.beyond_limit,
                file = Value::File(host.file.as_str().into()),
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

/// A line that is another's, and where it stands.
fn first_of_them(line: Option<&str>) -> Text {
    line.map_or_else(Text::default, |line| {
        text!(
            ", the first of them: {line}",
            line = Value::Quoted(line.into())
        )
    })
}

/// What could not be read of it.
fn note_left_out(application: &trace::Application, notes: &mut Vec<Text>) {
    if application.skipped_lines > 0 {
        notes.push(text!(
            "{lines} lines of the {format} could not be read{first}.",
            lines = application.skipped_lines,
            format = application.format.clone(),
            first = first_of_them(application.first_skipped.as_deref()),
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
        notes.push(text!(
            "{count,} {what}, of the {format} were left out.",
            count = count,
            what = what,
            format = application.format.clone(),
        ));
    }
}
