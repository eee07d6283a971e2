//! What was asked for into packets that are wanted, and why, capture by capture.

use super::{CutRequest, WhichFinding};
use crate::Error;
use crate::config::{Captures, Config, Event};
use analysis::results::{Finding, Vantage};
use model::{Call, Field, Name, PacketRef, Problems, Protocol, format_duration, limits};
use pseudonyms::Anonymiser;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;

/// What is wanted of one capture.
#[derive(Default)]
pub(super) struct Wanted {
    pub(super) inputs: Vec<PathBuf>,
    pub(super) files: Vec<String>,
    pub(super) side: Option<Vantage>,
    /// Why a packet is wanted; empty where it is only one of many.
    pub(super) why: BTreeMap<PacketRef, Vec<String>>,
    pub(super) spans: Vec<Span>,
    /// Frames in a row, by file: first and last.
    pub(super) frames: Vec<(u16, u32, u32)>,
    /// Everything in the time asked for.
    pub(super) time: bool,
    /// What the readings so far could not read.
    pub(super) unread: Problems,
}

/// A stretch of one connection between two packets of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) first: PacketRef,
    pub(super) last: PacketRef,
    /// How many of the connection's first packets belong to its opening.
    pub(super) opening: usize,
    /// How many packets just before it are needed to read it.
    pub(super) lead: usize,
    /// Only what of it is in the time asked for.
    pub(super) clip: bool,
}

pub(super) struct Found {
    pub(super) captures: Vec<Wanted>,
    pub(super) notes: Vec<String>,
    /// What hides names in reasons.
    names: Option<Anonymiser>,
}

/// SYN, SYN/ACK, ACK, and SYNs that were sent again.
const HANDSHAKE: usize = 3;

/// Of a database's session also what was said before: its messages name statements and cursors, and
/// behind a hole nobody can be sure which answer is whose, as with turns of a protocol that is not known.
const SESSION: usize = 20_000;

/// Of a call whose header the snap length hides, packets before it from which it follows where it begins.
const LEAD: usize = 256;

/// What tells a call in each capture: sequence numbers stay behind address translation.
type CallKey = (Protocol, Name, u32, u32);

fn key(call: &Call) -> CallKey {
    (call.protocol, call.op, call.id, call.request_sequence)
}

/// Finds what is wanted.
pub(super) fn find(
    captures: &Captures,
    request: &CutRequest,
    config: &Config,
    events: &mut dyn FnMut(Event),
) -> Result<Found, Error> {
    let mut found = Found {
        captures: sides(captures)?,
        notes: Vec::new(),
        names: request.anonymiser.clone(),
    };
    if let Some(which) = &request.finding {
        finding(captures, which, config, &mut found, events)?;
    }
    if let Some(number) = request.connection {
        connection(captures, number, config, &mut found, events)?;
    }
    if request.call.is_some() || (request.calls && request.finding.is_none()) {
        calls(request, config, &mut found, events)?;
    }
    for frames in &request.frames {
        let mut places = Vec::new();
        for (c, wanted) in found.captures.iter().enumerate() {
            for (file, path) in (0..).zip(&wanted.files) {
                let name = path;
                let named = frames
                    .file
                    .as_ref()
                    .is_none_or(|end| name.ends_with(end.as_str()));
                places.extend(named.then_some((c, file)));
            }
        }
        let [(capture, file)] = places[..] else {
            let what = match &frames.file {
                None => "frames are numbered in each file, and there are several".to_owned(),
                Some(name) if places.is_empty() => format!("no file is called {name}"),
                Some(name) => format!("several files are called {name}"),
            };
            return Err(Error::Message(format!(
                "{what}; say which is meant: --frames FILE:812,900-910"
            )));
        };
        if let Some(wanted) = found.captures.get_mut(capture) {
            wanted.frames.push((file, frames.first, frames.last));
        }
    }
    let chosen_otherwise = request.finding.is_some()
        || request.connection.is_some()
        || request.call.is_some()
        || request.calls
        || !request.frames.is_empty();
    for wanted in &mut found.captures {
        wanted.time = !chosen_otherwise;
    }
    Ok(found)
}

/// The captures with their files, in the order given.
fn sides(captures: &Captures) -> Result<Vec<Wanted>, Error> {
    let (client, server) = (Some(Vantage::Client), Some(Vantage::Server));
    let all = match captures {
        Captures::One(a) => vec![(a, None)],
        Captures::Client(a) => vec![(a, client)],
        Captures::Server(a) => vec![(a, server)],
        Captures::Two(a, b) => vec![(a, None), (b, None)],
        Captures::Sides {
            client: c,
            server: s,
        } => vec![(c, client), (s, server)],
    };
    let wanted = |(inputs, side): (&Vec<PathBuf>, _)| {
        Ok(Wanted {
            inputs: inputs.clone(),
            files: crate::run::open(inputs)?.files().to_vec(),
            side,
            ..Wanted::default()
        })
    };
    all.into_iter().map(wanted).collect()
}

impl Found {
    /// The capture and file of a result that has these files: two captures may have been taken for one.
    fn place(&self, files: &[String], file: usize) -> Option<(usize, u16)> {
        let name = files.get(file)?;
        self.captures.iter().enumerate().find_map(|(c, wanted)| {
            let file = wanted.files.iter().position(|f| f == name)?;
            Some((c, u16::try_from(file).ok()?))
        })
    }

    /// Learns where captures were taken.
    fn learn_side(&mut self, files: &[String], side: Option<Vantage>) {
        let known = matches!(side, Some(Vantage::Client | Vantage::Server));
        for wanted in self
            .captures
            .iter_mut()
            .filter(|w| known && w.files == files)
        {
            wanted.side = wanted.side.or(side);
        }
    }

    fn why(&mut self, capture: usize, packet: PacketRef, why: String) {
        if let Some(wanted) = self.captures.get_mut(capture) {
            let reasons = wanted.why.entry(packet).or_default();
            if !reasons.contains(&why) {
                reasons.push(why);
            }
        }
    }
}

/// The evidence of findings: the calls that it shows, in both captures, and its other frames.
fn finding(
    captures: &Captures,
    which: &WhichFinding,
    config: &Config,
    found: &mut Found,
    events: &mut dyn FnMut(Event),
) -> Result<(), Error> {
    let d = crate::diagnose(captures, config, events)?;
    let all = || (1..).zip(&d.findings);
    let chosen: Vec<(usize, &Finding)> = match which {
        WhichFinding::Number(n) => all().filter(|(i, _)| i == n).collect(),
        WhichFinding::Rule(rule) => all().filter(|(_, f)| f.rule == *rule).collect(),
    };
    if chosen.is_empty() {
        let known: Vec<String> = all().map(|(i, f)| format!("{i} {}", f.rule)).collect();
        let what = match which {
            WhichFinding::Number(n) => format!("there is no finding {n}"),
            WhichFinding::Rule(rule) => format!("{rule} is not among the findings"),
        };
        return Err(Error::Message(if known.is_empty() {
            format!("{what}: the diagnosis has none; choose packets by --call, --where or --frames")
        } else {
            format!("{what}; the diagnosis has {}", known.join(", "))
        }));
    }
    for capture in &d.captures {
        found.learn_side(&capture.files, capture.side);
    }
    let mut frames: HashMap<(usize, PacketRef), String> = HashMap::new();
    for (number, f) in &chosen {
        for e in &f.evidence {
            let files = d.captures.get(e.capture).map_or(&[][..], |c| &c.files);
            let Some((capture, file)) = found.place(files, e.file) else {
                continue;
            };
            for &frame in &e.frames {
                let at = PacketRef { file, frame };
                let code = format!("finding {number} {}", f.rule);
                found.why(capture, at, format!("{code} ({})", e.shows));
                frames.insert((capture, at), code);
            }
        }
    }
    if frames.is_empty() {
        let codes: Vec<&str> = chosen.iter().map(|(_, f)| f.rule.code()).collect();
        return Err(Error::Message(format!(
            "{} names no packets; choose some by --where, --connection or --from and --to",
            codes.join(", ")
        )));
    }
    // The calls behind these frames: of each call the request and the response are named.
    let mut behind = |c: usize, call: &Call| {
        let code = |marks: [Option<model::Mark>; 2]| {
            let packets = marks.into_iter().flatten().map(|m| m.packet);
            packets.into_iter().find_map(|p| frames.get(&(c, p)))
        };
        let request = code([call.request_first, call.request_last])?;
        let response = code([call.response_first, call.response_last])?;
        (request == response).then(|| request.clone())
    };
    take_calls(
        &Config {
            threads: config.threads,
            memory_bytes: config.memory_bytes,
            ..Config::default()
        },
        found,
        &mut behind,
        events,
    )
}

fn calls(
    request: &CutRequest,
    config: &Config,
    found: &mut Found,
    events: &mut dyn FnMut(Event),
) -> Result<(), Error> {
    let filtered = request.calls && request.finding.is_none();
    let config = Config {
        filter: config.filter.clone().filter(|_| filtered),
        ..config.clone()
    };
    let mut take = |_: usize, call: &Call| {
        let wanted = request.call.is_none_or(|id| call.id == id);
        wanted.then(String::new)
    };
    let before: usize = found.captures.iter().map(|w| w.spans.len()).sum();
    take_calls(&config, found, &mut take, events)?;
    let after: usize = found.captures.iter().map(|w| w.spans.len()).sum();
    if before == after {
        return Err(Error::Message(
            "no call is chosen; slowside calls with the same --where shows which there are".into(),
        ));
    }
    Ok(())
}

/// Takes the calls for which `take` has a reason, and their twins in the other capture.
fn take_calls(
    config: &Config,
    found: &mut Found,
    take: &mut dyn FnMut(usize, &Call) -> Option<String>,
    events: &mut dyn FnMut(Event),
) -> Result<(), Error> {
    let pair = found.captures.len() > 1;
    let mut keys: HashMap<CallKey, String> = HashMap::new();
    let mut left_out = 0_u64;
    let inputs: Vec<Vec<PathBuf>> = found.captures.iter().map(|w| w.inputs.clone()).collect();
    for (c, inputs) in inputs.iter().enumerate() {
        let mut sink = |call: &Call, _: &[String]| {
            if let Some(code) = take(c, call) {
                if pair {
                    if keys.len() < limits::CUT_CALLS {
                        keys.insert(key(call), code);
                    } else {
                        left_out += 1;
                    }
                } else if !found.call(c, call, &code) {
                    left_out += 1;
                }
            }
            Ok(())
        };
        let read = crate::run::read(inputs, config, &mut sink, events)?;
        if let Some(wanted) = found.captures.get_mut(c) {
            wanted.unread.merge_unread(&read.problems);
        }
    }
    if pair {
        // Times differ from capture to capture, so that only the key says which calls are meant.
        let config = Config {
            threads: config.threads,
            memory_bytes: config.memory_bytes,
            ..Config::default()
        };
        for (c, inputs) in inputs.iter().enumerate() {
            let mut sink = |call: &Call, _: &[String]| {
                if let Some(code) = keys.get(&key(call))
                    && !found.call(c, call, code)
                {
                    left_out += 1;
                }
                Ok(())
            };
            let read = crate::run::read(inputs, &config, &mut sink, events)?;
            if let Some(wanted) = found.captures.get_mut(c) {
                wanted.unread.merge_unread(&read.problems);
            }
        }
    }
    if left_out > 0 {
        found.notes.push(format!(
            "Of more than {} calls the first are cut: {left_out} are left out.",
            limits::CUT_CALLS
        ));
    }
    Ok(())
}

impl Found {
    /// Wants a call from its first packet to its last; `false` when there is no more room.
    fn call(&mut self, capture: usize, call: &Call, code: &str) -> bool {
        let first = call.request_first.or(call.response_first);
        let last = call.response_last.or(call.request_last).or(first);
        let (Some(first), Some(last)) = (first, last) else {
            return true;
        };
        let told = told(call, self.names.as_ref());
        let Some(wanted) = self.captures.get_mut(capture) else {
            return true;
        };
        if wanted.spans.len() >= limits::CUT_CALLS {
            return false;
        }
        wanted.spans.push(Span {
            first: first.packet,
            last: last.packet,
            lead: match call.detail.get(Field::Inferred) {
                Some(1) => LEAD,
                _ => 0,
            },
            opening: if call.protocol.is_sql() || call.protocol == Protocol::Tcp {
                SESSION
            } else {
                HANDSHAKE
            },
            clip: false,
        });
        for (what, mark) in [
            ("request", call.request_first),
            ("response", call.response_last),
        ] {
            let Some(mark) = mark else {
                continue;
            };
            let reasons = wanted.why.entry(mark.packet).or_default();
            // What finding it is evidence of may stand there already, with more words.
            if !code.is_empty() && !reasons.iter().any(|r| r.starts_with(code)) {
                reasons.push(code.to_owned());
            }
            reasons.insert(0, format!("{what} of {told}"));
        }
        true
    }
}

/// `call 0x4ecb8123 READ, 35.2 ms`.
fn told(call: &Call, names: Option<&Anonymiser>) -> String {
    let id = match call.protocol {
        Protocol::Tns | Protocol::Pgsql | Protocol::Mysql | Protocol::Tcp => call.id.to_string(),
        _ => format!("0x{:08x}", call.id),
    };
    let op = &call.op;
    let outcome = names.map_or(call.outcome, |names| names.outcome(call.outcome));
    match call.response_time_ns() {
        Some(ns) if outcome.is_error() => {
            format!(
                "call {id} {op}, {}, {}",
                format_duration(ns),
                outcome.name()
            )
        }
        Some(ns) => format!("call {id} {op}, {}", format_duration(ns)),
        None => format!("call {id} {op}, {}", outcome.name()),
    }
}

/// A connection from its first packet to its last.
fn connection(
    captures: &Captures,
    number: u64,
    config: &Config,
    found: &mut Found,
    events: &mut dyn FnMut(Event),
) -> Result<(), Error> {
    let all = Config {
        from: None,
        to: None,
        filter: None,
        ..config.clone()
    };
    let result = crate::conns(captures, &all, events)?;
    let Some(c) = result.connections.iter().find(|c| c.number == number) else {
        return Err(Error::Message(format!(
            "there is no connection {number}; slowside conns --all shows their numbers"
        )));
    };
    let mut seen = HashSet::new();
    for (capture, first, last) in &c.ends {
        let files = result.captures.get(*capture).map_or(&[][..], |c| &c.files);
        let side = result.captures.get(*capture).and_then(|c| c.side);
        found.learn_side(files, side);
        let place = |p: PacketRef| found.place(files, usize::from(p.file));
        let (Some((index, first_file)), Some((_, last_file))) =
            (place(first.packet), place(last.packet))
        else {
            continue;
        };
        let span = Span {
            first: PacketRef {
                file: first_file,
                ..first.packet
            },
            last: PacketRef {
                file: last_file,
                ..last.packet
            },
            opening: HANDSHAKE,
            lead: 0,
            clip: true,
        };
        if seen.insert(index) {
            found.why(
                index,
                span.first,
                format!("first packet of connection {number}"),
            );
        }
        if let Some(wanted) = found.captures.get_mut(index) {
            wanted.spans.push(span);
        }
    }
    Ok(())
}
