//! One or two captures into their TCP connections, each with an account of its time.

use crate::Error;
use crate::config::{Captures, Config, Event};
use crate::link::Wanted;
use crate::merge::Answers;
use crate::run::{self, Selection, Tally};
use crate::series::{Collector, RowSink};
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
    Ok(both(captures, config, None, events)?.result)
}

/// The same, and then hands to `sink` what each connection did in each interval of `width_ns`
/// nanoseconds in which at least one packet of it was seen: by time, connection and capture.
///
/// # Errors
/// When no input of a capture can be read, when there is no room to sort rows, or `sink` fails.
pub fn series(
    captures: &Captures,
    config: &Config,
    width_ns: i64,
    sink: &mut RowSink<'_>,
    events: &mut dyn FnMut(Event),
) -> Result<ConnsResult, Error> {
    let mut collector = Collector::new(width_ns.max(1));
    let both = both(captures, config, Some(&mut collector), events)?;
    let selected = |first, last| both.selection.overlaps(first, last);
    collector.finish(&both.result, both.exchanged, selected, sink)?;
    Ok(both.result)
}

struct Both<'a> {
    result: ConnsResult,
    selection: Selection<'a>,
    /// Whether the capture that was read first is the second one of the result.
    exchanged: bool,
}

fn both<'a>(
    captures: &Captures,
    config: &'a Config,
    mut series: Option<&mut Collector>,
    events: &mut dyn FnMut(Event),
) -> Result<Both<'a>, Error> {
    let mut read = |inputs: &[PathBuf], index: usize, side: Option<Vantage>| {
        read(inputs, config, index, side, series.as_deref_mut(), events)
    };
    let (mut one, mut two) = match captures {
        Captures::One(a) => (read(a, 0, None)?, None),
        Captures::Client(a) => (read(a, 0, Some(Vantage::Client))?, None),
        Captures::Server(a) => (read(a, 0, Some(Vantage::Server))?, None),
        Captures::Two(client, server) | Captures::Sides { client, server } => (
            read(client, 0, Some(Vantage::Client))?,
            Some(read(server, 1, Some(Vantage::Server))?),
        ),
    };
    let mut exchanged = false;
    if let (Captures::Two(..), Some(two)) = (captures, &mut two)
        && analysis::conns::are_exchanged(&one.connections, &two.connections)
    {
        std::mem::swap(&mut one, two);
        (one.capture.side, two.capture.side) = (two.capture.side, one.capture.side);
        exchanged = true;
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
    Ok(Both {
        result: ConnsResult {
            captures: results,
            connections,
            left_out,
        },
        selection,
        exchanged,
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
    index: usize,
    side: Option<Vantage>,
    mut series: Option<&mut Collector>,
    events: &mut dyn FnMut(Event),
) -> Result<Read<'a>, Error> {
    let wanted = match &series {
        None => Wanted::Accounts,
        Some(series) => Wanted::Series(series.width_ns()),
    };
    let mut stream = Stream::start(run::open(inputs)?, run::threads(config, 1), wanted);
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
        if let Some(series) = series.as_deref_mut() {
            for interval in records.intervals() {
                series.interval(index, interval)?;
            }
            for change in records.outstanding() {
                series.outstanding(index, change)?;
            }
            for c in records.connections() {
                series.closed(index, c.id)?;
            }
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
