//! Connections that are known from a first reading into pictures: the captures are read once more, and
//! of all packets only those of the chosen connections are followed.
//!
//! What a connection's picture shows follows from its own packets alone, so the others are not even
//! put in order: from a connection's first packet on (which its id names), its two endpoints' packets
//! are taken. That leaves so little to do that one thread does it.

use crate::Error;
use crate::config::{Captures, Event};
use crate::link::END;
use crate::run;
use crate::stream::{Decoded, Reader};
use analysis::results::{ConnectionPlot, ConnectionResult, ConnsResult, PlotView};
use model::{Chunk, ConnectionId, ConnectionSummary, Direction, Episode, Mark, Plot, PlotRequest};
use model::{Problems, Time, Transport, limits};
use net::{Connection, Handler, Segment, Tracker};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::PathBuf;

/// Reads the captures of `conns` again and gives a picture of each of its connections that is in
/// `chosen`, in that order, with at most so many points in each curve of a direction.
///
/// # Errors
/// When no input of a capture can be read. What can be read only once is to be kept before the first
/// reading ([`spool`](crate::spool())).
pub fn plots(
    captures: &Captures,
    conns: &ConnsResult,
    chosen: &[ConnectionResult],
    points: usize,
    events: &mut dyn FnMut(Event),
) -> Result<Vec<ConnectionPlot>, Error> {
    let mut inputs = match captures {
        Captures::One(inputs) | Captures::Client(inputs) | Captures::Server(inputs) => vec![inputs],
        Captures::Two(client, server) | Captures::Sides { client, server } => vec![client, server],
    };
    if conns.exchanged {
        inputs.reverse();
    }
    let mut drawn = HashMap::new();
    for (capture, inputs) in inputs.into_iter().enumerate() {
        let of_one = |c: &ConnectionResult| {
            let concludes_scales = knows_scales(c);
            let ends = c.ends.clone().into_iter().zip(c.ids.clone());
            let ends = ends.filter(move |((of, ..), _)| *of == capture);
            ends.map(move |((_, first, last), id)| PlotRequest {
                connection: id,
                first: first.time,
                last: last.time,
                points: points.min(limits::PLOT_POINTS),
                concludes_scales,
            })
        };
        let requests: Vec<PlotRequest> = chosen.iter().flat_map(of_one).collect();
        if !requests.is_empty() {
            let (plots, problems) = draw(inputs, requests, events)?;
            let before = conns.captures.get(capture);
            if before.is_some_and(|c| problems.lacks_more_than(&c.problems)) {
                return Err(Error::Message(format!(
                    "cannot read {} again for the pictures; copy the capture, or take it again",
                    before.map_or_else(String::new, |c| c.files.join(", "))
                )));
            }
            let plots = plots.into_iter();
            drawn.extend(plots.map(|plot| ((capture, plot.connection), plot)));
        }
    }
    let mut plot = |c: &ConnectionResult| {
        let mut views = Vec::new();
        for ((capture, ..), id) in c.ends.iter().zip(&c.ids) {
            let capture = *capture;
            match drawn.get(&(capture, *id)).cloned() {
                Some(plot) => views.push(PlotView { capture, plot }),
                None => events(Event::Note(format!(
                    "connection {} has no picture: its capture changed between two readings",
                    c.number
                ))),
            }
        }
        ConnectionPlot {
            number: c.number,
            views,
        }
    };
    Ok(chosen.iter().map(&mut plot).collect())
}

/// How many points each curve may have so that the pictures of these connections have no more than
/// `all` together, as far as their packets tell: what short connections do not need the long ones have.
#[must_use]
pub fn points_within(all: usize, chosen: &[ConnectionResult]) -> usize {
    let views = chosen.iter().flat_map(|c| {
        // A packet is a point of five curves at most: data with an acknowledgement changes both flights.
        let packets: u64 = c.directions.iter().map(|d| d.counts.packets).sum();
        c.ends.iter().map(move |_| 5 * packets)
    });
    let mut needs: Vec<u64> = views.collect();
    needs.sort_unstable();
    let (mut left, mut views) = (all as u64, needs.len() as u64);
    for need in needs {
        let share = left / views;
        if need > share {
            return (share / CURVES) as usize;
        }
        left -= need;
        views -= 1;
    }
    all
}

/// Curves of both directions of a connection.
const CURVES: u64 = 8;

/// Reads one capture for the pictures of some of its connections.
fn draw(
    inputs: &[PathBuf],
    requests: Vec<PlotRequest>,
    events: &mut dyn FnMut(Event),
) -> Result<(Vec<Plot>, Problems), Error> {
    let mut flows = Flows::new(requests.iter().map(|r| r.connection));
    let mut reader = Reader::new(run::open(inputs)?);
    let mut tracker = Tracker::new(Collector::default()).with_plots(requests);
    let mut decoded = Decoded::default();
    while reader.next(&mut decoded) {
        for s in decoded.segments.iter().filter(|s| flows.has(s)) {
            tracker.segment(s, &decoded.batch.bytes);
        }
        if let Some(silent) = decoded.sweep {
            tracker.sweep(decoded.reached.0, silent);
        }
        run::progress(&reader.progress, events);
    }
    let plots = tracker.finish(END).0.plots;
    Ok((plots, reader.into_problems()))
}

/// The packets of connections whose first packets are known.
pub(crate) struct Flows {
    /// The orders of those that are to come, the next one last.
    first: Vec<u64>,
    /// Sorted hashes of the endpoints of those that have begun.
    begun: Vec<u64>,
}

impl Flows {
    pub(crate) fn new(connections: impl Iterator<Item = ConnectionId>) -> Flows {
        let mut first: Vec<u64> = connections.map(|id| id.0).collect();
        first.sort_unstable_by_key(|order| Reverse(*order));
        first.dedup();
        Flows {
            first,
            begun: Vec::new(),
        }
    }

    /// Whether the next segment is to be followed.
    pub(crate) fn has(&mut self, s: &Segment) -> bool {
        if s.transport != Transport::Tcp {
            return false;
        }
        let place = self.begun.binary_search(&s.flow_hash);
        while let Some(first) = self.first.pop_if(|first| *first <= s.order) {
            if let (Err(place), true) = (place, first == s.order) {
                self.begun.insert(place, s.flow_hash);
                return true;
            }
        }
        place.is_ok()
    }
}

/// Takes the pictures, and nothing else of connections.
#[derive(Default)]
struct Collector {
    plots: Vec<Plot>,
}

impl Handler for Collector {
    type State = ();
    type Rest = ();

    fn rest(&mut self, _: &mut ()) {}

    fn open(&mut self, _: &Connection) {}

    fn data(&mut self, _: &Connection, (): &mut (), _: Direction, _: &Chunk<'_>) {}

    fn gap(&mut self, _: &Connection, (): &mut (), _: Direction, _: u64, _: Mark, _: u64) {}

    fn datagram(&mut self, _: &Connection, (): &mut (), _: Direction, _: &Chunk<'_>, _: Mark) {}

    fn episode(&mut self, _: &Connection, (): &mut (), _: Episode) {}

    fn plot(&mut self, _: &Connection, (): &mut (), plot: Plot) {
        self.plots.push(plot);
    }

    fn close(&mut self, _: &Connection, (): (), _: ConnectionSummary, _: u64, _: Time) {}
}

/// Whether the scale of a window is known, which the pictures are to agree with.
fn knows_scales(c: &ConnectionResult) -> bool {
    let mut accounts = Direction::BOTH.into_iter().map(|d| &c.direction(d).account);
    accounts.any(|account| account.window_scale.is_some())
}
