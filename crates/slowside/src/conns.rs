//! One or two captures into their TCP connections, each with an account of its time.

use crate::Error;
use crate::config::{Captures, Config, Event};
use crate::diagnose::follow_each_other;
use crate::ends::{Ends, ends};
use crate::link::Wanted;
use crate::merge::Answers;
use crate::run::{self, Selection, Tally};
use crate::series::{Collector, RowSink};
use crate::stream::{Finished, Stream};
use analysis::connections::Lister;
use analysis::conns;
use analysis::packed::Packed;
use analysis::results::{ConnectionResult, ConnsResult, Order, Vantage};
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

/// The connections of captures, and which of them were asked for.
pub(crate) struct Both<'a> {
    pub(crate) result: ConnsResult,
    selection: Selection<'a>,
}

/// The same of captures of which one reading gathered them already.
pub(crate) fn of_read(
    captures: &Captures,
    read: ConnsResult,
    config: &Config,
    events: &mut dyn FnMut(Event),
) -> Result<ConnsResult, Error> {
    Ok(match as_one(captures, &read) {
        Some(one) => again_as_one(&one, config, None, events)?.result,
        None => read,
    })
}

/// As two captures or, where these are files of one rotated set, as one.
fn best<'a>(
    captures: &Captures,
    config: &'a Config,
    mut series: Option<&mut Collector>,
    events: &mut dyn FnMut(Event),
) -> Result<Both<'a>, Error> {
    let read = both(captures, config, series.as_deref_mut(), events)?;
    let Some(one) = as_one(captures, &read.result) else {
        return Ok(read);
    };
    again_as_one(&one, config, series, events)
}

fn again_as_one<'a>(
    one: &Captures,
    config: &'a Config,
    mut series: Option<&mut Collector>,
    events: &mut dyn FnMut(Event),
) -> Result<Both<'a>, Error> {
    if let Some(series) = series.as_deref_mut() {
        *series = Collector::new(series.width_ns());
    }
    let one = both(one, config, series, events)?;
    let note = "The two captures have no packet in common but continue each other: they are read as one capture.";
    events(Event::Note(note.into()));
    Ok(one)
}

/// What was read as two captures as one, where it is to be read again so.
fn as_one(captures: &Captures, read: &ConnsResult) -> Option<Captures> {
    let Captures::Two(a, b) = captures else {
        return None;
    };
    let all: Vec<PathBuf> = a.iter().chain(b).cloned().collect();
    let are_one = !captures.are_piped() && continue_each_other(read, &all);
    are_one.then_some(Captures::One(all))
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
    let mut list = Gathered::new(captures);
    let mut read_in_full = Vec::new();
    for (index, inputs) in captures.inputs().into_iter().enumerate() {
        let series = series.as_deref_mut();
        read_in_full.push(read(inputs, config, index, &mut list, series, events)?);
    }
    Ok(list.finish(read_in_full))
}

/// The connections of one or two captures, as they are over.
pub(crate) struct Gathered {
    list: List,
    stated: [Option<Vantage>; 2],
    tallies: [Tally; 2],
    /// How many of each capture.
    taken: [usize; 2],
    left_out: u64,
}

enum List {
    One(Lister),
    /// Which is which may be known only when both were read.
    Two([Packed<ConnectionSummary>; 2]),
}

impl Gathered {
    pub(crate) fn new(captures: &Captures) -> Gathered {
        Gathered {
            list: match captures.inputs().len() {
                2 => List::Two(Default::default()),
                _ => List::One(Lister::default()),
            },
            stated: captures.stated(),
            tallies: Default::default(),
            taken: [0; 2],
            left_out: 0,
        }
    }

    /// Takes the connections of a batch of capture `which`, and counts its calls.
    pub(crate) fn add(&mut self, which: usize, records: &Answers) {
        let tally = &mut self.tallies[which];
        for shard in &records.shards {
            tally.counted(&shard.tally);
        }
        records.calls().for_each(|call| tally.call(call));
        for c in records.connections() {
            self.tallies[which].connection(c);
            if c.transport == Transport::Tcp {
                self.take(which, c);
            }
        }
    }

    fn take(&mut self, which: usize, c: &ConnectionSummary) {
        let taken = &mut self.taken[which];
        if *taken >= limits::CONNECTIONS {
            self.left_out += 1;
            return;
        }
        *taken += 1;
        match &mut self.list {
            List::One(lister) => lister.add(&conns::alone(c)),
            List::Two(both) => both[which].push(c),
        }
    }

    /// The list, of captures that were read to their ends.
    pub(crate) fn finish(self, read: Vec<(Finished, Selection<'_>)>) -> Both<'_> {
        let are_two = read.len() == 2;
        let (mut captures, mut selections) = (Vec::new(), Vec::new());
        for (tally, (finished, selection)) in self.tallies.into_iter().zip(read) {
            captures.push(tally.result(&finished));
            selections.push(selection);
        }
        let mut exchanged = false;
        let mut connections = match self.list {
            List::One(lister) => lister.list(),
            List::Two([mut client, mut server]) => {
                exchanged = self.stated == [None, None]
                    && conns::are_exchanged(&client, &server) == Some(true);
                if exchanged {
                    std::mem::swap(&mut client, &mut server);
                    captures.reverse();
                    selections.reverse();
                }
                conns::of_two((0, &client), (1, &server))
            }
        };
        let sides = match are_two {
            true => [Some(Vantage::Client), Some(Vantage::Server)],
            false => self.stated,
        };
        for (capture, side) in captures.iter_mut().zip(sides) {
            capture.side = side;
        }
        let selection = selections.swap_remove(0);
        // Only now, so that a connection has the same number whatever is selected.
        if !selection.takes_all_times() {
            connections.retain(|c| selection.overlaps(c.first, c.last));
        }
        Both {
            result: ConnsResult {
                captures,
                connections,
                left_out: self.left_out,
                not_asked: 0,
                exchanged,
                order: Order::default(),
            },
            selection,
        }
    }
}

/// Reads one capture and gathers its connections.
fn read<'a>(
    inputs: &[PathBuf],
    config: &'a Config,
    index: usize,
    list: &mut Gathered,
    mut series: Option<&mut Collector>,
    events: &mut dyn FnMut(Event),
) -> Result<(Finished, Selection<'a>), Error> {
    let wanted = match &series {
        None => Wanted::Accounts,
        Some(series) => Wanted::Series(series.width_ns()),
    };
    let mut stream = Stream::start(
        run::input(inputs, config, 1)?,
        run::share(config, 1),
        wanted,
    );
    let mut records = Answers::default();
    let mut selection = Selection::new(config);
    loop {
        let more = stream.next(&mut records);
        selection.starts_at(stream.first_time());
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
        list.add(index, &records);
        run::report(&stream, events);
        if !more {
            break;
        }
    }
    Ok((stream.take_finished()?, selection))
}
