//! `slowside diagnose`: which side is slow, by how much, and why.

use super::noted::Noted;
use super::{inputs, print, tell_missing};
use crate::args::{Diagnose, FailOn, GroupFormat};
use crate::exit::Done;
use crate::progress::Progress;
use analysis::results::{Diagnosis, Finding, Side};
use analysis::text::{Text, text};
use anyhow::bail;
use jiff::tz::TimeZone;
use replace::{Kind, Replacement};
use report::Anonymise;
use slowside::{Config, Run};

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
    let noted = Noted::read(&args.app, &args.server_app, &args.host, &mut notes)?;
    let config = Config {
        between,
        peers,
        beneath,
        app: noted.app,
        server_app: noted.server_app,
        hosts: noted.hosts,
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
        None => slowside::diagnose(&captures, &config, &mut event)?,
        Some(file) => {
            let (diagnosis, snapshot) = slowside::measure(&captures, &config, &mut event)?;
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
