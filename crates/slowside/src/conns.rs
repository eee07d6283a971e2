//! One or two captures into their TCP connections, each with an account of its time.

use crate::Error;
use crate::config::{Captures, Config, Event};
use crate::diagnose::follow_each_other;
use crate::ends::{Ends, ends};
use crate::link::Wanted;
use crate::merge::Answers;
use crate::run::{self, Selection, Tally};
use crate::series::{Collector, RowSink};
use crate::stream::Stream;
use analysis::connections::Lister;
use analysis::conns;
use analysis::packed::Packed;
use analysis::results::{CaptureResult, ConnectionResult, ConnsResult, Order, Vantage};
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
    Ok(best(captures, config, None, events)?.result)
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
    let both = best(captures, config, Some(&mut collector), events)?;
    let selected = |first, last| both.selection.overlaps(first, last);
    collector.finish(&both.result, selected, sink)?;
    Ok(both.result)
}

struct Both<'a> {
    result: ConnsResult,
    selection: Selection<'a>,
}

/// As two captures or, where these are files of one rotated set, as one.
fn best<'a>(
    captures: &Captures,
    config: &'a Config,
    mut series: Option<&mut Collector>,
    events: &mut dyn FnMut(Event),
) -> Result<Both<'a>, Error> {
    let read = both(captures, config, series.as_deref_mut(), events)?;
    let Captures::Two(a, b) = captures else {
        return Ok(read);
    };
    let all: Vec<PathBuf> = a.iter().chain(b).cloned().collect();
    if captures.are_piped() || !continue_each_other(&read.result, &all) {
        return Ok(read);
    }
    if let Some(series) = series.as_deref_mut() {
        *series = Collector::new(series.width_ns());
    }
    let one = both(&Captures::One(all), config, series, events)?;
    let note = "The two captures have no packet in common but continue each other: they are read as one capture.";
    events(Event::Note(note.into()));
    Ok(one)
}

/// Whether captures given as two ends are files of one rotated set: one begins where the other ends, no connection
/// begins in both, and no packet is in both, whatever clocks say.
fn continue_each_other(read: &ConnsResult, files: &[PathBuf]) -> bool {
    let opens = |c: &ConnectionResult| c.openings.iter().all(|h| h.client_isn.is_some());
    let in_both = |c: &ConnectionResult| c.ids.len() > 1 && opens(c);
    follow_each_other(&read.captures)
        && !read.connections.iter().any(|c| in_both(&c))
        && ends(files) == Ends::One
}

fn both<'a>(
    captures: &Captures,
    config: &'a Config,
    mut series: Option<&mut Collector>,
    events: &mut dyn FnMut(Event),
) -> Result<Both<'a>, Error> {
    let mut read = |inputs: &[PathBuf], index, side, take: &mut dyn FnMut(&ConnectionSummary)| {
        let series = series.as_deref_mut();
        read(inputs, config, index, side, series, take, events)
    };
    let mut exchanged = false;
    let (results, selection, left_out, mut connections) = match captures {
        Captures::One(inputs) | Captures::Client(inputs) | Captures::Server(inputs) => {
            let side = match captures {
                Captures::Client(_) => Some(Vantage::Client),
                Captures::Server(_) => Some(Vantage::Server),
                _ => None,
            };
            let mut lister = Lister::default();
            let one = read(inputs, 0, side, &mut |c| lister.add(&conns::alone(c)))?;
            (
                vec![one.capture],
                one.selection,
                one.left_out,
                lister.list(),
            )
        }
        Captures::Two(client, server) | Captures::Sides { client, server } => {
            let (mut there, mut here) = (Packed::default(), Packed::default());
            let mut one = read(client, 0, Some(Vantage::Client), &mut |c| there.push(c))?;
            let mut two = read(server, 1, Some(Vantage::Server), &mut |c| here.push(c))?;
            if matches!(captures, Captures::Two(..)) && conns::are_exchanged(&there, &here) {
                std::mem::swap(&mut one, &mut two);
                std::mem::swap(&mut there, &mut here);
                (one.capture.side, two.capture.side) = (two.capture.side, one.capture.side);
                exchanged = true;
            }
            (
                vec![one.capture, two.capture],
                one.selection,
                one.left_out + two.left_out,
                conns::of_two((0, &there), (1, &here)),
            )
        }
    };
    // Only now, so that a connection has the same number whatever is selected.
    if !selection.takes_all_times() {
        connections.retain(|c| selection.overlaps(c.first, c.last));
    }
    Ok(Both {
        result: ConnsResult {
            captures: results,
            connections,
            left_out,
            exchanged,
            order: Order::default(),
        },
        selection,
    })
}

struct Read<'a> {
    capture: CaptureResult,
    selection: Selection<'a>,
    left_out: u64,
}

/// Reads one capture and hands its connections to `take`, as each is over.
fn read<'a>(
    inputs: &[PathBuf],
    config: &'a Config,
    index: usize,
    side: Option<Vantage>,
    mut series: Option<&mut Collector>,
    take: &mut dyn FnMut(&ConnectionSummary),
    events: &mut dyn FnMut(Event),
) -> Result<Read<'a>, Error> {
    let wanted = match &series {
        None => Wanted::Accounts,
        Some(series) => Wanted::Series(series.width_ns()),
    };
    let mut stream = Stream::start(run::open(inputs)?, run::share_for_accounts(config), wanted);
    let mut records = Answers::default();
    let mut tally = Tally::default();
    let mut selection = Selection::new(config);
    let (mut taken, mut left_out) = (0, 0);
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
            if taken < limits::CONNECTIONS {
                taken += 1;
                take(c);
            } else {
                left_out += 1;
            }
        }
        run::report(&stream, events);
        if !more {
            break;
        }
    }
    let finished = stream.take_finished()?;
    let mut capture = tally.result(&finished);
    capture.side = side;
    Ok(Read {
        capture,
        selection,
        left_out,
    })
}
