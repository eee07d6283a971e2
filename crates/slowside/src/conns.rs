//! One or two captures into their TCP connections, each with an account of its time.

use crate::Error;
use crate::config::{Captures, Config, Event};
use crate::link::Wanted;
use crate::merge::Answers;
use crate::run::{self, Selection, Tally};
use crate::stream::Stream;
use analysis::results::{CaptureResult, ConnsResult, Vantage};
use model::{ConnectionSummary, Transport, limits};
use std::path::PathBuf;

/// Reads captures and tells what each TCP connection waited for.
///
/// # Errors
/// When no input of a capture can be read.
pub fn conns(
    captures: &Captures,
    config: &Config,
    events: &mut dyn FnMut(Event),
) -> Result<ConnsResult, Error> {
    let (mut one, mut two) = match captures {
        Captures::One(a) => (read(a, config, None, events)?, None),
        Captures::Client(a) => (read(a, config, Some(Vantage::Client), events)?, None),
        Captures::Server(a) => (read(a, config, Some(Vantage::Server), events)?, None),
        Captures::Two(client, server) | Captures::Sides { client, server } => (
            read(client, config, Some(Vantage::Client), events)?,
            Some(read(server, config, Some(Vantage::Server), events)?),
        ),
    };
    if let (Captures::Two(..), Some(two)) = (captures, &mut two)
        && analysis::conns::are_exchanged(&one.connections, &two.connections)
    {
        std::mem::swap(&mut one, two);
        (one.capture.side, two.capture.side) = (two.capture.side, one.capture.side);
    }
    let mut left_out = one.left_out;
    let mut results = vec![one.capture];
    let selection = one.selection;
    let mut connections = match two {
        None => analysis::conns::of_one(&one.connections),
        Some(two) => {
            left_out += two.left_out;
            results.push(two.capture);
            analysis::conns::of_two((0, &one.connections), (1, &two.connections))
        }
    };
    // Only now, so that a connection has the same number whatever is selected.
    connections.retain(|c| selection.overlaps(c.first, c.last));
    Ok(ConnsResult {
        captures: results,
        connections,
        left_out,
    })
}

struct Read<'a> {
    capture: CaptureResult,
    selection: Selection<'a>,
    connections: Vec<ConnectionSummary>,
    left_out: u64,
}

fn read<'a>(
    inputs: &[PathBuf],
    config: &'a Config,
    side: Option<Vantage>,
    events: &mut dyn FnMut(Event),
) -> Result<Read<'a>, Error> {
    let mut stream = Stream::start(
        run::open(inputs)?,
        run::threads(config, 1),
        Wanted::Accounts,
    );
    let mut records = Answers::default();
    let mut tally = Tally::default();
    let mut selection = Selection::new(config);
    let mut connections = Vec::new();
    let mut left_out = 0;
    loop {
        let more = stream.next(&mut records);
        selection.starts_at(stream.first_time());
        for shard in &records.shards {
            tally.counted(&shard.tally);
        }
        for c in records.connections() {
            tally.connection(c);
            if c.transport != Transport::Tcp {
                continue;
            }
            if connections.len() < limits::CONNECTIONS {
                connections.push(c.clone());
            } else {
                left_out += 1;
            }
        }
        run::report(&stream, events);
        if !more {
            break;
        }
    }
    let Some(finished) = stream.finished.take() else {
        return Err(Error::Message(
            "the reading thread stopped; see the message above".into(),
        ));
    };
    let mut capture = tally.result(&finished);
    capture.side = side;
    Ok(Read {
        capture,
        selection,
        connections,
        left_out,
    })
}
