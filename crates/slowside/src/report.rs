//! Captures into everything that a report shows: the diagnosis with what its charts are drawn from, the
//! connections, the statements of databases, and pictures of the connections that matter most.
//!
//! Each part comes from the very function that its own command uses, so that their numbers are the same;
//! statements, and pictures, cost one more reading of the captures each.

mod ladders;

use crate::config::{Captures, Config, Event};
use crate::diagnose::{Diagnosed, ReadOptions};
use crate::flows;
use crate::{Error, conns, plots, points_within, spool, sql};
use analysis::results::{CaptureResult, ConnectionResult, ConnsResult, Diagnosis, Report};
use analysis::sql::SqlKey;
use model::PacketRef;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// What a report is to show.
#[derive(Clone, Debug)]
pub struct ReportOptions {
    /// How many connections, those first that findings name.
    pub connections: usize,
    /// These too, by number.
    pub chosen: Vec<u64>,
    /// Points of all plots together, some 35 bytes each.
    pub points: usize,
}

impl Default for ReportOptions {
    fn default() -> ReportOptions {
        ReportOptions {
            connections: 6,
            chosen: Vec::new(),
            points: 40_000,
        }
    }
}

/// Points of one list of a direction at most: more than that no screen shows.
const POINTS: usize = 4_000;

/// Reads captures several times, for all that a report shows.
///
/// # Errors
/// When no input of a capture can be read, or there is no connection of a number that was asked for.
pub fn report(
    captures: &Captures,
    config: &Config,
    options: &ReportOptions,
    events: &mut dyn FnMut(Event),
) -> Result<Report, Error> {
    spool(captures, events)?;
    let mut passes = Passes::default();
    let read = ReadOptions {
        charts: true,
        conns: true,
        ..ReadOptions::new(config)
    };
    let Diagnosed {
        mut diagnosis,
        mut charts,
        captures,
        conns,
        ..
    } = read.by_peers(captures, &mut |e| events(passes.part(e)))?;
    let lost = || Error::Message("no connections were listed; please report this".into());
    let read = conns.ok_or_else(lost)?;
    let conns = conns::of_read(&captures, read, config, &mut |e| events(passes.part(e)))?;
    let sql = match diagnosis.ops.iter().any(|o| o.protocol.is_sql()) {
        true => {
            passes.next();
            let keys = [SqlKey::Statement];
            Some(sql(&captures, config, &keys, None, &mut |e| {
                events(passes.part(e))
            })?)
        }
        false => None,
    };
    let sql_captures = sql.iter().flat_map(|s| &s.captures);
    for again in conns.captures.iter().chain(sql_captures) {
        let same = |c: &&mut CaptureResult| c.files == again.files;
        if let Some(known) = diagnosis.captures.iter_mut().find(same) {
            known.problems.merge_unread(&again.problems);
        }
    }
    let shown = shown(&captures, &diagnosis, &conns, options)?;
    passes.next();
    let points = points_within(options.points, &shown).min(POINTS);
    let followed = ladders::with_connections(&shown, &charts.ladders, &conns);
    let mut plots = plots(&captures, &conns, &followed, points, &mut |e| {
        events(passes.part(e));
    })?;
    ladders::resent(&mut charts.ladders, &followed, &plots, &conns);
    plots.truncate(shown.len());
    Ok(Report {
        diagnosis,
        charts,
        conns,
        sql,
        shown,
        plots,
    })
}

/// The connections to show: those asked for, those whose packets findings name, the costliest finding
/// first, and those that waited longest.
fn shown(
    captures: &Captures,
    diagnosis: &Diagnosis,
    conns: &ConnsResult,
    options: &ReportOptions,
) -> Result<Vec<ConnectionResult>, Error> {
    let mut shown: Vec<ConnectionResult> = Vec::new();
    let all = conns.connections.len() <= options.connections;
    if all {
        shown.extend(conns.connections.iter());
    }
    for number in &options.chosen {
        let found = conns.connections.iter().find(|c| c.number == *number);
        let none = || {
            Error::Message(format!(
                "there is no connection {number} among the {} listed; slowside conns --all shows their numbers",
                conns.connections.len()
            ))
        };
        add(&mut shown, found.ok_or_else(none)?);
    }
    let most = options.connections.saturating_add(options.chosen.len());
    if !all {
        let named = named(captures, diagnosis, conns)?;
        for c in named.into_iter().chain(conns.connections.iter().take(most)) {
            if shown.len() < most {
                add(&mut shown, c);
            }
        }
    }
    Ok(shown)
}

fn add(shown: &mut Vec<ConnectionResult>, c: ConnectionResult) {
    if !shown.iter().any(|s| s.number == c.number) {
        shown.push(c);
    }
}

/// Packets of each finding that are looked up.
const PACKETS: usize = 8;

/// Connections whose packets stand in the evidence of findings, in their order.
fn named(
    captures: &Captures,
    diagnosis: &Diagnosis,
    conns: &ConnsResult,
) -> Result<Vec<ConnectionResult>, Error> {
    // A diagnosis counts captures as they were given.
    let inputs: Vec<&[PathBuf]> = match captures {
        Captures::One(a) | Captures::Client(a) | Captures::Server(a) => vec![a],
        Captures::Two(a, b)
        | Captures::Sides {
            client: a,
            server: b,
        } => vec![a, b],
    };
    let mut wanted: Vec<(usize, PacketRef)> = Vec::new();
    for e in diagnosis.findings.iter().flat_map(|f| &f.evidence) {
        let file = e.file as u16;
        let packets = e.frames.iter().take(PACKETS);
        wanted.extend(packets.map(|&frame| (e.capture, PacketRef { file, frame })));
    }
    let mut found = Vec::new();
    for (i, input) in inputs.into_iter().enumerate() {
        let own: BTreeSet<PacketRef> = wanted
            .iter()
            .filter(|(capture, _)| *capture == i)
            .map(|(_, packet)| *packet)
            .collect();
        found.push(flows::of(input, &own)?);
    }
    let mut flows: Vec<(usize, flows::Flow)> = Vec::new();
    for (capture, packet) in wanted {
        let flow = found.get(capture).and_then(|f| f.get(&packet));
        if let Some(flow) = flow.filter(|f| !flows.contains(&(capture, **f))) {
            flows.push((capture, *flow));
        }
    }
    let mut named: Vec<Option<ConnectionResult>> = Vec::new();
    named.resize_with(flows.len(), || None);
    for c in conns.connections.iter() {
        for (slot, (capture, flow)) in named.iter_mut().zip(&flows) {
            // `conns` counts the client's capture first.
            let capture = *capture ^ usize::from(conns.exchanged);
            let seen = c.ends.iter().find(|(i, ..)| *i == capture);
            let there = seen.is_some_and(|(_, first, last)| {
                (first.time..=last.time).contains(&flow.at) && flow.is_between(c.client, c.server)
            });
            if slot.is_none() && there {
                *slot = Some(c.clone());
            }
        }
    }
    Ok(named.into_iter().flatten().collect())
}

/// Several readings as one progress.
#[derive(Default)]
struct Passes {
    done: u64,
    /// Readings that are over.
    over: u64,
    read: u64,
}

/// How often captures are read at least.
const READINGS: u64 = 2;

impl Passes {
    fn next(&mut self) {
        self.done += self.read;
        self.over += 1;
    }

    fn part(&mut self, event: Event) -> Event {
        match event {
            Event::Progress {
                read,
                total,
                packets,
            } => {
                self.read = read;
                let left = READINGS.saturating_sub(self.over).max(1);
                Event::Progress {
                    read: self.done + read,
                    total: total.map(|total| self.done + total * left),
                    packets,
                }
            }
            note @ Event::Note(_) => note,
        }
    }
}
