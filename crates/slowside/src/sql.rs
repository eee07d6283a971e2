//! One or two captures into a profile of the statements that databases were asked.

use crate::Error;
use crate::config::{Captures, Config, Event};
use crate::link::Wanted;
use crate::merge::Answers;
use crate::run::{self, Selection, Tally};
use crate::sqlnet;
use crate::stream::Stream;
use analysis::capture_facts::TcpFacts;
use analysis::packets::PacketList;
use analysis::results::{CaptureResult, Vantage};
use analysis::sql::{OneSession, Profiler, SqlKey, SqlResult, of_one, of_two};
use analysis::vantage::conclude;
use model::Protocol;
use std::path::PathBuf;

/// Reads captures and profiles the calls of databases in them.
///
/// # Errors
/// When no input of a capture can be read.
pub fn sql(
    captures: &Captures,
    config: &Config,
    keys: &[SqlKey],
    only: Option<OneSession>,
    events: &mut dyn FnMut(Event),
) -> Result<SqlResult, Error> {
    let mut read = |inputs: &[PathBuf], stated| read(inputs, config, keys, only, stated, events);
    let (client, server) = match captures {
        Captures::One(a) => return one(read(a, None)?, only, a, config, events),
        Captures::Client(a) => {
            let read = read(a, Some(Vantage::Client))?;
            return one(read, only, a, config, events);
        }
        Captures::Server(a) => {
            let read = read(a, Some(Vantage::Server))?;
            return one(read, only, a, config, events);
        }
        Captures::Two(..) | Captures::Sides { .. } if only.is_some() => {
            let text = "a session is followed in one capture: give one of the two";
            return Err(Error::Message(text.into()));
        }
        Captures::Two(client, server) | Captures::Sides { client, server } => (client, server),
    };
    let mut at_client = read(client, Some(Vantage::Client))?;
    let mut at_server = read(server, Some(Vantage::Server))?;
    if matches!(captures, Captures::Two(..)) {
        let longer = at_server.profiler.waits_longer_than(&at_client.profiler);
        if longer > 0 {
            std::mem::swap(&mut at_client, &mut at_server);
        }
        let [at_first, at_second] = match longer {
            0 => ["a guess: what both have waits as long in either"; 2],
            _ => [
                "the same statements wait longer here",
                "the same statements wait less here",
            ],
        };
        at_client.capture.side = Some(Vantage::Client);
        at_client.capture.side_from = at_first.into();
        at_server.capture.side = Some(Vantage::Server);
        at_server.capture.side_from = at_second.into();
    }
    let captures = vec![at_client.capture, at_server.capture];
    Ok(of_two(at_client.profiler, &at_server.profiler, captures))
}

fn one(
    read: Read,
    only: Option<OneSession>,
    inputs: &[PathBuf],
    config: &Config,
    events: &mut dyn FnMut(Event),
) -> Result<SqlResult, Error> {
    let seen = read.profiler.sessions_seen();
    if let Some(only) = only.filter(|only| only.number > seen) {
        let n = only.number;
        let text = match seen {
            0 => format!("there is no session {n}: no call of a database is in this capture"),
            1 => format!("there is no session {n}: the capture has one, --session 1"),
            _ => format!(
                "there is no session {n}: the capture has {seen} (slowside sql --all lists them)"
            ),
        };
        return Err(Error::Message(text));
    }
    let vantage = read.capture.side.unwrap_or(Vantage::Unknown);
    let mut result = of_one(read.profiler, vec![read.capture], vantage);
    if only.is_some_and(|only| only.packets) {
        result.packets = packets(inputs, config, &result, events)?;
    }
    Ok(result)
}

/// The packets of the one session, which is one of SQL*Net.
fn packets(
    inputs: &[PathBuf],
    config: &Config,
    result: &SqlResult,
    events: &mut dyn FnMut(Event),
) -> Result<Option<PacketList>, Error> {
    let Some(session) = result.sessions.first() else {
        return Ok(None);
    };
    if session.protocol != Protocol::Tns {
        let text = format!(
            "session {} speaks {}: packets are listed of SQL*Net (tns) alone; --follow shows its calls",
            session.number, session.protocol
        );
        return Err(Error::Message(text));
    }
    sqlnet::packets(inputs, config, session, events).map(Some)
}

struct Read {
    capture: CaptureResult,
    profiler: Profiler,
}

fn read(
    inputs: &[PathBuf],
    config: &Config,
    keys: &[SqlKey],
    only: Option<OneSession>,
    stated: Option<Vantage>,
    events: &mut dyn FnMut(Event),
) -> Result<Read, Error> {
    let capture = run::input(inputs, config, 1)?;
    let share = run::share(config, 1);
    let mut stream = Stream::start(capture, share, Wanted::Sessions);
    let mut records = Answers::default();
    let mut tally = Tally::default();
    let mut selection = Selection::new(config);
    let mut profiler = Profiler::new(keys, share.statements_bytes).only(only);
    let mut tcp = TcpFacts::default();
    loop {
        let more = stream.next(&mut records);
        selection.starts_at(stream.first_time());
        let mut episodes = records.episodes().peekable();
        for call in records.calls() {
            while let Some(e) = episodes.next_if(|e| e.order <= call.order) {
                profiler.episode(e);
            }
            if selection.takes(call) {
                tally.call(call);
                profiler.call(call);
            } else {
                profiler.pass(call);
            }
        }
        for e in episodes {
            profiler.episode(e);
        }
        for c in records.connections() {
            tally.connection(c);
            tcp.add(c);
            profiler.connection(c);
        }
        run::report(&stream, events);
        if !more {
            break;
        }
    }
    let finished = stream.take_finished()?;
    let mut capture = tally.result(&finished);
    let concluded = conclude(&tcp);
    capture.concluded = Some(concluded.vantage);
    (capture.side, capture.side_from) = match stated {
        Some(side) => (Some(side), "stated".into()),
        None => (Some(concluded.vantage), concluded.from.words()),
    };
    Ok(Read { capture, profiler })
}
