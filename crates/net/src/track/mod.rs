//! Segments into connections, and each direction's bytes into stream order.
//!
//! One [`Tracker`] serves one thread; several may share a capture by
//! [`owner_hash`](Segment::owner_hash). What happens to a connection follows from its own packets and
//! from [`sweep`](Tracker::sweep)s, which all trackers get at the same packets, so the result does not
//! depend on how connections are shared out. For that reason memory is bounded by silence, and by what the
//! connections of a [`partition`] take up ([`weight`]): a connection is forgotten once it was silent for
//! [`model::limits::IDLE_NS`], one nobody answered, one that is closing and a UDP conversation much sooner. The
//! same holds where its next packet comes before the next sweep: forgetting does not depend on when sweeps come. A connection that is
//! over is released at once, except for some 100 bytes by which its last packets are known for
//! [`model::limits::CLOSED_NS`].
//!
//! Positions are 64 bits wide ([`sequence`]), so nothing else knows that sequence numbers wrap.

mod ahead;
mod attic;
mod copies;
mod deliver;
mod echoes;
mod entry;
mod flight;
mod handshake;
mod held;
mod metering;
mod output;
mod pace;
mod queue;
mod reassembly;
mod recovery;
mod rest;
mod sequence;
mod size;
mod stamps;
mod stream;
mod tcp;
mod tombstone;
mod weight;
mod window;

#[cfg(test)]
mod tests;

use crate::{Handler, Segment};
use attic::Attic;
pub(crate) use echoes::left_before;
use entry::{Entry, Verdict};
use hashbrown::HashTable;
pub(crate) use held::LONGEST_DELAY_NS;
use model::{Close, ConnectionId, PlotRequest, Problems, Time, Transport};
use rest::{Awake, Looked, is_quiet};
use std::collections::HashMap;
use tombstone::Tombstones;
use weight::Weights;
pub(crate) use weight::partition_of;
pub use weight::{PARTITIONS, partition};

const MILLISECOND: i64 = 1_000_000;
const SECOND: i64 = 1_000 * MILLISECOND;

/// What is kept of each TCP connection beyond what its bytes need.
#[derive(Clone, Default, Debug)]
struct Wanted {
    /// An account of its time.
    accounts: bool,
    /// With it, when.
    timelines: bool,
    /// What it did in each interval of so many nanoseconds.
    intervals_ns: Option<i64>,
    /// Pictures of these connections, which alone have accounts then.
    plots: Option<HashMap<ConnectionId, PlotRequest>>,
    /// Not what held bytes up.
    bytes_alone: bool,
}

/// Sorts segments into connections and hands their bytes, in order, to a [`Handler`].
pub struct Tracker<H: Handler> {
    handler: H,
    connections: HashTable<Box<Entry<H::State>>>,
    awake: Awake,
    /// Bytes that connections may take up, awake and packed.
    room: u64,
    weights: Weights,
    /// What is known of the others.
    attic: Attic,
    closed: Tombstones,
    /// Those that are still to be ended, the oldest last, as the capture has ended.
    ending: Vec<Box<Entry<H::State>>>,
    wanted: Wanted,
    problems: Problems,
    /// Whether intervals are told before the next one begins.
    tells: bool,
}

impl<H: Handler> Tracker<H> {
    pub fn new(handler: H) -> Tracker<H> {
        Tracker {
            handler,
            connections: HashTable::new(),
            awake: Awake::default(),
            room: u64::MAX,
            weights: Weights::default(),
            attic: Attic::default(),
            closed: Tombstones::default(),
            ending: Vec::new(),
            wanted: Wanted::default(),
            problems: Problems::default(),
            tells: false,
        }
    }

    /// The same, giving each TCP connection an account of its time
    /// ([`ConnectionSummary::accounts`](model::ConnectionSummary)).
    #[must_use]
    pub fn with_accounts(self) -> Tracker<H> {
        Tracker {
            wanted: Wanted {
                accounts: true,
                ..self.wanted
            },
            ..self
        }
    }

    /// The same, where accounts say by when what time went to ([`Timeline`](model::Timeline)).
    #[must_use]
    pub fn with_timelines(self) -> Tracker<H> {
        Tracker {
            wanted: Wanted {
                timelines: true,
                ..self.wanted
            },
            ..self
        }
    }

    /// The same with accounts, also giving what each TCP connection did in each interval of so many
    /// nanoseconds ([`Handler::interval`]).
    #[must_use]
    pub fn with_intervals(self, width_ns: i64) -> Tracker<H> {
        Tracker {
            wanted: Wanted {
                accounts: true,
                intervals_ns: Some(width_ns.max(1)),
                ..self.wanted
            },
            ..self
        }
    }

    /// The same with accounts and pictures ([`Handler::plot`]) of certain TCP connections, and only of
    /// these.
    #[must_use]
    pub fn with_plots(self, requests: impl IntoIterator<Item = PlotRequest>) -> Tracker<H> {
        let requests = requests.into_iter().map(|r| (r.connection, r));
        Tracker {
            wanted: Wanted {
                accounts: true,
                plots: Some(requests.collect()),
                ..self.wanted
            },
            ..self
        }
    }

    /// The same, where nobody asks what held bytes up: that is not followed then.
    #[must_use]
    pub fn with_bytes_alone(self) -> Tracker<H> {
        Tracker {
            wanted: Wanted {
                bytes_alone: true,
                ..self.wanted
            },
            ..self
        }
    }

    /// The same, of which the connections have so many bytes: what they do not weigh is for those that are awake.
    #[must_use]
    pub fn with_room(self, bytes: u64) -> Tracker<H> {
        Tracker {
            room: bytes,
            ..self
        }
    }

    pub fn handler(&self) -> &H {
        &self.handler
    }

    pub fn handler_mut(&mut self) -> &mut H {
        &mut self.handler
    }

    /// What was odd so far. The places hold no file names: those are the caller's to know.
    pub fn problems(&self) -> &Problems {
        &self.problems
    }

    /// Lets every connection rest as soon as it can: for tests that this changes nothing.
    #[doc(hidden)]
    #[cfg(test)]
    pub(crate) fn with_little_awake(self) -> Tracker<H> {
        Tracker {
            awake: Awake::as_few_as_can_be(),
            ..self
        }
    }

    /// Connections that are open now.
    #[cfg(test)]
    pub(crate) fn open_connections(&self) -> usize {
        self.connections.len()
    }

    /// Takes in one segment, whose payload stands in `bytes`. Segments come in capture order.
    #[inline]
    pub fn segment(&mut self, s: &Segment, bytes: &[u8]) {
        let mut direction = None;
        let found = self.connections.find_mut(s.flow_hash, |entry| {
            direction = entry.direction(s);
            direction.is_some()
        });
        if let (Some(entry), Some(d)) = (found, direction) {
            let mut woken = false;
            let verdict = match entry.expired(s.mark.time) {
                None => {
                    woken = entry.wake(&mut self.handler, &mut self.attic, &mut self.problems);
                    entry.segment(&mut self.handler, &mut self.problems, s, bytes, d)
                }
                Some(_) => Verdict::Replaced,
            };
            if verdict == Verdict::Goes {
                if let Some(more) = entry.weigh(&self.handler) {
                    self.weights.add(entry.weight.partition, more);
                }
                if woken {
                    let one = (entry.hash, entry.connection.id);
                    self.is_awake(one, s.mark.time);
                }
                return;
            }
            self.end(s, verdict);
            if matches!(verdict, Verdict::Over(_)) {
                return;
            }
        }
        self.begin(s, bytes);
    }

    /// A segment without an open connection.
    #[cold]
    fn begin(&mut self, s: &Segment, bytes: &[u8]) {
        if s.transport == Transport::Tcp && self.closed.absorb(s) {
            return;
        }
        let mut entry = Box::new(Entry::open(&mut self.handler, s, &self.wanted));
        let Some(d) = entry.direction(s) else { return };
        let verdict = entry.segment(&mut self.handler, &mut self.problems, s, bytes, d);
        if let Some(more) = entry.weigh(&self.handler) {
            self.weights.add(entry.weight.partition, more);
        }
        let one = (entry.hash, entry.connection.id);
        self.connections
            .insert_unique(s.flow_hash, entry, |entry| entry.hash);
        if matches!(verdict, Verdict::Over(_)) {
            self.end(s, verdict);
        } else {
            self.is_awake(one, s.mark.time);
        }
    }

    /// This connection is open and not packed: others may rest.
    #[cold]
    fn is_awake(&mut self, one: (u64, ConnectionId), now: Time) {
        let (connections, handler, attic) =
            (&mut self.connections, &mut self.handler, &mut self.attic);
        let (tells, problems) = (self.tells, &mut self.problems);
        self.awake.add(one, |(hash, id), too_many| {
            let Some(entry) = connections.find_mut(hash, |entry| entry.connection.id == id) else {
                return Looked::Gone;
            };
            let used = std::mem::take(&mut entry.used);
            let may_rest = is_quiet(entry.last.time, now) || (too_many && !used);
            if may_rest && tells {
                entry.tell_interval(handler, problems, Time::MAX);
            }
            match may_rest && entry.rest(handler, attic) {
                true => Looked::Gone,
                false => Looked::Awake,
            }
        });
    }

    /// Ends the connection of `s`.
    #[cold]
    fn end(&mut self, s: &Segment, verdict: Verdict) {
        let Ok(found) = self
            .connections
            .find_entry(s.flow_hash, |entry| entry.direction(s).is_some())
        else {
            return;
        };
        let (entry, _) = found.remove();
        let close = match verdict {
            Verdict::Over(close) => close,
            Verdict::Goes | Verdict::Replaced => {
                entry.expired(s.mark.time).unwrap_or(Close::Replaced)
            }
        };
        self.close(*entry, close, s.order, s.mark.time);
    }

    fn close(&mut self, mut entry: Entry<H::State>, close: Close, order: u64, now: Time) {
        let weight = &entry.weight;
        self.weights
            .add(weight.partition, -(weight.bytes() as isize));
        entry.wake(&mut self.handler, &mut self.attic, &mut self.problems);
        let (hash, connection, last) = (entry.hash, entry.connection, entry.last);
        let ending = entry.close(&mut self.handler, &mut self.problems, close, order, now);
        if matches!(close, Close::Finished | Close::Reset) && connection.transport == Transport::Tcp
        {
            self.closed
                .insert(hash, &connection, ending, close, last.time);
        }
    }

    /// Forgets connections that have been silent for too long by `now`, those that began first first. To be
    /// called now and then with an order that is behind that of the packets so far; where several trackers share a
    /// capture, on each of them behind the same packets.
    pub fn sweep(&mut self, order: u64, now: Time) {
        self.closed.sweep(now);
        let mut silent: Vec<_> = self
            .connections
            .extract_if(|entry| entry.expired(now).is_some())
            .collect();
        silent.sort_unstable_by_key(|entry| entry.connection.id);
        for entry in silent {
            if let Some(close) = entry.expired(now) {
                self.close(*entry, close, order, now);
            }
        }
    }

    /// Says what connections did in intervals that lie before the one that holds `now`, without waiting
    /// for their next packet: for a capture that is looked at while it goes on. Once this was called,
    /// those that are packed say so first; what else they do in the interval comes as a further part of
    /// it.
    pub fn tell_intervals(&mut self, now: Time) {
        self.tells = true;
        for entry in &mut self.connections {
            entry.tell_interval(&mut self.handler, &mut self.problems, now);
        }
    }

    /// The capture has ended: ends the oldest connection, and those of which the names lie in the same
    /// `width` orders, the oldest first; says which orders, or nothing when no connection is left. For a
    /// caller who does not want what comes of all of them at once. `order` is behind all packets.
    pub fn finish_part(&mut self, width: u64, order: u64) -> Option<u64> {
        if !self.connections.is_empty() {
            self.ending.extend(self.connections.drain());
            (self.ending).sort_unstable_by_key(|entry| entry.connection.id);
            self.attic.sort(&mut self.ending, |entry| entry.place());
            self.ending.reverse();
        }
        let part_of = |entry: &Entry<H::State>| entry.connection.id.0 / width.max(1);
        let part = part_of(self.ending.last()?);
        while let Some(entry) = self.ending.pop_if(|entry| part_of(entry) == part) {
            let now = entry.last.time;
            self.close(*entry, Close::EndOfCapture, order, now);
        }
        Some(part)
    }

    /// Ends all connections, the oldest first, as the capture has ended. `order` is behind all packets.
    pub fn finish(mut self, order: u64) -> (H, Problems) {
        while self.finish_part(u64::MAX, order).is_some() {}
        (self.handler, self.problems)
    }
}
