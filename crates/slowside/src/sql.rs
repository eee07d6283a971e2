//! One or two captures into a profile of the statements that databases were asked.

use crate::Error;
use crate::config::{Captures, Config, Event};
use crate::link::Wanted;
use crate::merge::Answers;
use crate::run::{self, Selection, Tally};
use crate::stream::Stream;
use analysis::capture_facts::TcpFacts;
use analysis::results::{CaptureResult, Vantage};
use analysis::sql::{Profiler, SqlKey, SqlResult, of_one, of_two};
use analysis::vantage::conclude;
use std::path::PathBuf;

/// Reads captures and profiles the calls of databases in them.
///
/// # Errors
/// When no input of a capture can be read.
pub fn sql(
    captures: &Captures,
    config: &Config,
    keys: &[SqlKey],
    events: &mut dyn FnMut(Event),
) -> Result<SqlResult, Error> {
    let (client, server) = match captures {
        Captures::One(a) => return one(read(a, config, keys, None, events)?),
        Captures::Client(a) => {
            return one(read(a, config, keys, Some(Vantage::Client), events)?);
        }
        Captures::Server(a) => {
            return one(read(a, config, keys, Some(Vantage::Server), events)?);
        }
        Captures::Two(client, server) | Captures::Sides { client, server } => (client, server),
    };
    let mut at_client = read(client, config, keys, Some(Vantage::Client), events)?;
    let mut at_server = read(server, config, keys, Some(Vantage::Server), events)?;
    if matches!(captures, Captures::Two(..)) {
        if at_server.profiler.waits_longer_than(&at_client.profiler) > 0 {
            std::mem::swap(&mut at_client, &mut at_server);
        }
        at_client.capture.side = Some(Vantage::Client);
        at_client.capture.side_from = "the same statements wait longer here".into();
        at_server.capture.side = Some(Vantage::Server);
        at_server.capture.side_from = "the same statements wait less here".into();
    }
    let captures = vec![at_client.capture, at_server.capture];
    Ok(of_two(at_client.profiler, &at_server.profiler, captures))
}

fn one(read: Read) -> Result<SqlResult, Error> {
    let vantage = read.capture.side.unwrap_or(Vantage::Unknown);
    Ok(of_one(read.profiler, vec![read.capture], vantage))
}

struct Read {
    capture: CaptureResult,
    profiler: Profiler,
}

fn read(
    inputs: &[PathBuf],
    config: &Config,
    keys: &[SqlKey],
    stated: Option<Vantage>,
    events: &mut dyn FnMut(Event),
) -> Result<Read, Error> {
    let capture = run::open(inputs)?;
    let share = run::share(config, 1);
    let mut stream = Stream::start(capture, share, Wanted::Sessions);
    let mut records = Answers::default();
    let mut tally = Tally::default();
    let mut selection = Selection::new(config);
    let mut profiler = Profiler::new(keys, share.statements_bytes);
    let mut tcp = TcpFacts::default();
    loop {
        let more = stream.next(&mut records);
        selection.starts_at(stream.first_time());
        for e in records.episodes() {
            profiler.episode(e);
        }
        for call in records.calls() {
            if selection.takes(call) {
                tally.call(call);
                profiler.call(call);
            } else {
                profiler.pass(call);
            }
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
        None => (Some(concluded.vantage), concluded.from.to_string()),
    };
    Ok(Read { capture, profiler })
}
