//! Captures into a row for each call, with its ledger: they are judged first, and read again for the rows,
//! as what divides a call's time may come long after it.

use crate::beneath::Rows;
use crate::config::{Captures, Config, Event};
use crate::diagnose::{Diagnosed, ReadOptions};
use crate::hops;
use crate::link::Wanted;
use crate::split::Seen;
use crate::tiers::{ByTiers, Work};
use crate::{Error, run};
use analysis::file_names::FileNames;
use analysis::findings::Owners;
use analysis::hops::CallHop;
use analysis::ledgers::Judged;
use analysis::pressure::{Pressure, Pressures};
use analysis::results::{CaptureResult, Diagnosis, Vantage, Why};
use analysis::tiers::{Beneath, Followed};
use model::{Call, Time};
use std::io;
use std::path::PathBuf;

/// A call, and what the judgement knows of it.
pub struct CallSeen<'a> {
    pub call: &'a Call,
    /// The names of its capture's files, by [`PacketRef::file`](model::PacketRef), and those of the server's
    /// capture where there are two.
    pub files: &'a [String],
    pub server_files: &'a [String],
    pub judged: Option<Judged>,
    /// The number of its connection, as [`conns`](crate::conns()) counts; datagrams have none.
    pub connection: Option<u64>,
    /// Of two captures: why one alone has it.
    pub unpaired: Option<Why>,
    /// Of captures from between both ends too: how much longer it took at each point than at the next.
    pub hops: Vec<CallHop>,
    /// How long of it, calls of its server's own were under way, where that makes any.
    pub beneath: Option<Beneath>,
    /// Which counters of a host were high as it began, of those that were high while calls were slow, and not else.
    pub pressures: Vec<Pressure>,
    /// Which findings of the diagnosis own lines of its ledger.
    pub owners: &'a Owners,
    /// The path of its file, as far as packets said it until then.
    pub path: Option<&'a str>,
    /// Its place among the calls that are handed on, from 1.
    pub order: u64,
}

/// Who takes the rows.
pub type CallSink<'a> = dyn FnMut(&CallSeen<'_>) -> io::Result<()> + 'a;

/// Who takes calls that are wanted, with what is known of names.
type Take<'a> = dyn FnMut(CallSeen<'_>, &FileNames) -> io::Result<()> + 'a;

/// Reads one capture or those of both ends and hands every call to `sink`: in order of completion at the
/// client, then those that only the server's capture has. What can be read only once has to be
/// [kept](crate::spool()) before.
///
/// # Errors
/// When no input can be read, or `sink` fails.
pub fn calls(
    captures: &Captures,
    config: &Config,
    sink: &mut CallSink<'_>,
    events: &mut dyn FnMut(Event),
) -> Result<Vec<CaptureResult>, Error> {
    if config.handed_on
        && let Captures::One(inputs) = captures
        && let Some(seen) = Seen::open(inputs)
    {
        return seen.hand_on(sink);
    }
    // A call's row is the same whichever others are asked for.
    let asked = config.filter.as_ref();
    let config = &Config {
        filter: None,
        ..config.clone()
    };
    let passes = |call: &Call| asked.is_none_or(|filter| filter.matches(call));
    let read = ReadOptions {
        rows: true,
        asked,
        ..ReadOptions::new(config)
    };
    let (captures, between) = read.between(captures, events)?;
    let ByTiers { all, work } = read.work(&captures, events)?;
    let Diagnosed {
        diagnosis,
        captures,
        judged,
        numbers,
        ..
    } = all;
    let judged = judged.unwrap_or_default();
    // What hosts ask for others is judged apart: only what they do for these is summed by a diagnosis.
    let (work, owners) = match work {
        None => (None, Owners::of(&diagnosis)),
        Some(Work { judged: work, .. }) => {
            let owners = Owners::of(&work.diagnosis);
            (Some(work.judged.unwrap_or_default()), owners)
        }
    };
    let ledger_of = |of, row| match &work {
        None => judged.get(of, row),
        Some(work) => work.get(of, row).or_else(|| {
            Some(Judged {
                in_diagnosis: false,
                ..judged.get(of, row)?
            })
        }),
    };
    // Whether evidence was used, and else why not.
    if config.has_noted() {
        diagnosis
            .notes
            .iter()
            .for_each(|note| events(Event::Note(note.to_string())));
    }
    let beneath = beneath(&captures, &diagnosis, config, events)?;
    let pressures = Pressures::of(&diagnosis.hosts);
    let pressures_of = |call: &Call, ahead_ns: i64| {
        let began = call.request_first.or(call.response_first);
        let at = began.map(|mark| pressures.at(Time(mark.time.0.saturating_sub(ahead_ns))));
        at.into_iter().flatten().cloned().collect()
    };
    let mut known = diagnosis.captures;
    let mut order = 0;
    // What packets say of a file's name is asked of those that are handed on.
    let sink: &mut Take<'_> = &mut |seen: CallSeen<'_>, names: &FileNames| {
        order += 1;
        let path = names.path_of(seen.call);
        sink(&CallSeen {
            path: path.as_deref(),
            order,
            ..seen
        })
    };
    match &captures {
        Captures::One(files) | Captures::Client(files) | Captures::Server(files) => {
            let take = |row, call: &Call| Known {
                is_wanted: passes(call),
                judged: ledger_of(0, row),
                connection: numbers.get(0, call.connection),
                unpaired: None,
                hops: Vec::new(),
                beneath: beneath.at(0, row),
                pressures: pressures_of(call, 0),
            };
            let again = rows(files, &[], config, take, &owners, sink, events)?;
            add_damage(known.first_mut(), &again);
        }
        Captures::Two(a, b)
        | Captures::Sides {
            client: a,
            server: b,
        } => {
            let (client, server) = match known.first().and_then(|c| c.side) {
                Some(Vantage::Server) => (b, a),
                _ => (a, b),
            };
            let is_server = |c: &&mut CaptureResult| c.side == Some(Vantage::Server);
            let at_server = known.iter_mut().find(is_server);
            let names = at_server.map_or_else(Vec::new, |c| c.files.clone());
            let take = |row, call: &Call| {
                let judged_here = ledger_of(0, row);
                let at_server = judged_here.as_ref().and_then(|j| j.server.as_ref());
                let at_server = at_server.map(|seen| &seen.marks);
                Known {
                    is_wanted: passes(call),
                    hops: hops::of_call([client, server], &between, row, call, at_server),
                    judged: judged_here,
                    connection: numbers.get(0, call.connection),
                    unpaired: judged.unpaired(0, row),
                    beneath: (judged.server_row(row))
                        .and_then(|row| beneath.at(1, row))
                        .or_else(|| beneath.at(0, row)),
                    pressures: pressures_of(call, 0),
                }
            };
            let again = rows(client, &names, config, take, &owners, sink, events)?;
            add_damage(known.iter_mut().find(|c| !is_server(c)), &again);
            let alone = |row, call: &Call| {
                let judged_here = ledger_of(1, row);
                let ahead_ns = judged_here.as_ref().map_or(0, |j| j.clock_offset_ns);
                Known {
                    is_wanted: !judged.is_matched(row) && passes(call),
                    pressures: pressures_of(call, ahead_ns),
                    judged: judged_here,
                    connection: numbers.get(1, call.connection),
                    unpaired: judged.unpaired(1, row),
                    hops: Vec::new(),
                    beneath: beneath.at(1, row),
                }
            };
            let again = rows(server, &[], config, alone, &owners, sink, events)?;
            add_damage(known.iter_mut().find(is_server), &again);
        }
    }
    Ok(known)
}

/// What lies beneath calls: of the only capture or the client's, and of the server's.
struct AllBeneath([Rows; 2]);

impl AllBeneath {
    fn at(&self, capture: usize, row: u64) -> Option<Beneath> {
        self.0[capture].get(row)
    }
}

fn beneath(
    captures: &Captures,
    d: &Diagnosis,
    config: &Config,
    events: &mut dyn FnMut(Event),
) -> Result<AllBeneath, Error> {
    let mut all = [Rows::default(), Rows::default()];
    for (which, inputs) in captures.inputs().into_iter().enumerate() {
        if !d.both[which].is_empty() {
            let followed = Followed::new(&d.both[which], &d.own[which]);
            all[which] = Rows::read(followed, inputs, config, events)?;
        }
    }
    let is_server = |c: &CaptureResult| c.side == Some(Vantage::Server);
    if d.captures.len() == 2 && d.captures.first().is_some_and(is_server) {
        all.reverse();
    }
    Ok(AllBeneath(all))
}

/// Rows are missing where a capture could not be read a second time as it was the first.
fn add_damage(known: Option<&mut CaptureResult>, again: &CaptureResult) {
    if let Some(known) = known {
        known.problems.merge_unread(&again.problems);
    }
}

/// What was found out of a call before its row is written.
struct Known {
    is_wanted: bool,
    judged: Option<Judged>,
    connection: Option<u64>,
    unpaired: Option<Why>,
    hops: Vec<CallHop>,
    beneath: Option<Beneath>,
    pressures: Vec<Pressure>,
}

/// Reads a capture and hands on those of its calls that are wanted, by their number.
fn rows(
    inputs: &[PathBuf],
    server_files: &[String],
    config: &Config,
    known: impl Fn(u64, &Call) -> Known,
    owners: &Owners,
    sink: &mut Take<'_>,
    events: &mut dyn FnMut(Event),
) -> Result<CaptureResult, Error> {
    let mut number = 0;
    let mut take = |call: &Call, names: &FileNames, files: &[String]| {
        let known = known(number, call);
        number += 1;
        match known.is_wanted {
            true => {
                let seen = CallSeen {
                    call,
                    files,
                    server_files,
                    judged: known.judged,
                    connection: known.connection,
                    unpaired: known.unpaired,
                    hops: known.hops,
                    beneath: known.beneath,
                    pressures: known.pressures,
                    owners,
                    path: None,
                    order: 0,
                };
                sink(seen, names)
            }
            false => Ok(()),
        }
    };
    Ok(run::read_wanted(inputs, config, Wanted::Named, &mut take, events)?.result)
}
