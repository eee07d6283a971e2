//! What connections do now: round trips, what is sent again, calls outstanding, and what limits them.

use super::moment::Silence;
use super::subjects::{forget, slot};
use super::{Over, Stretch};
use crate::conns::is_wait;
use hashbrown::HashMap;
use model::{
    Call, Change, ConnectionId, Direction, Endpoint, Interval, Outstanding, PerClass, Protocol,
    Time, TimeClass, limits,
};
use std::cmp::Reverse;
use std::collections::VecDeque;

/// A wait is worth naming from this part of a connection's time on.
const SHARE: f64 = 0.1;

/// Calls that nothing was answered to for so long are told.
const SILENCE_NS: i64 = 2_000_000_000;

/// What most of a connection's time goes to that somebody could spare.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Limit {
    pub direction: Direction,
    pub class: TimeClass,
    /// Of those intervals of the window in which the connection did something, 0 to 1.
    pub share: f64,
}

/// A connection in the window.
#[derive(Clone, Debug)]
pub struct ConnectionRow {
    pub id: ConnectionId,
    pub client: Endpoint,
    pub server: Endpoint,
    pub protocol: Option<Protocol>,
    /// Client to server, server to client.
    pub packets: [u64; 2],
    pub bytes: [u64; 2],
    pub retransmitted: [u64; 2],
    /// Payload bytes per second in the interval, and in the window.
    pub now_bytes: u64,
    pub over_ns: i64,
    /// From the server and back plus from the client and back, as seen at the point of capture: means of
    /// the window.
    pub rtt_ns: Option<i64>,
    /// Calls of the window, those with an error, the time of all and of the slowest.
    pub calls: u64,
    pub errors: u64,
    pub total_ns: i64,
    pub max_ns: i64,
    /// Calls outstanding: now, and most in the interval.
    pub outstanding: u64,
    pub outstanding_most: u64,
    /// How long nothing was answered although calls are outstanding.
    pub silent_ns: Option<i64>,
    pub limit: Option<Limit>,
}

impl ConnectionRow {
    /// The part of the packets that were sent again, 0 to 1; unknown without packets.
    #[must_use]
    pub fn resent(&self) -> Option<f64> {
        let sum = |n: &[u64; 2]| n.iter().sum::<u64>() as f64;
        let packets = sum(&self.packets);
        (packets > 0.0).then(|| sum(&self.retransmitted) / packets)
    }

    /// Payload bits per second of the window.
    #[must_use]
    pub fn bps(&self) -> u64 {
        let bits = self.bytes.iter().sum::<u64>() as f64 * 8.0;
        (bits * 1e9 / self.over_ns.max(1) as f64).round() as u64
    }
}

/// What one connection did in an interval.
#[derive(Clone, Debug)]
struct Slot {
    interval: Interval,
    spent: [PerClass<i64>; 2],
    calls: u64,
    errors: u64,
    total_ns: i64,
    max_ns: i64,
    outstanding_most: u64,
    /// How many were outstanding after the last change in it, and since when nothing was answered.
    left: Option<(u64, Time)>,
}

impl Slot {
    fn new(id: ConnectionId) -> Slot {
        Slot {
            interval: Interval::holding(id, Time(0), 1),
            spent: [PerClass::of(0); 2],
            calls: 0,
            errors: 0,
            total_ns: 0,
            max_ns: 0,
            outstanding_most: 0,
            left: None,
        }
    }
}

struct Connection {
    client: Endpoint,
    server: Endpoint,
    protocol: Option<Protocol>,
    slots: VecDeque<(i64, Slot)>,
    /// Calls outstanding, and since when nothing was answered: as far as changes have come, and when the
    /// last interval closed.
    outstanding: u64,
    since: Time,
    closed: (u64, Time),
    over: bool,
}

/// Connections that do something, or wait for an answer.
#[derive(Default)]
pub(super) struct Connections {
    known: HashMap<ConnectionId, Connection, foldhash::fast::FixedState>,
    left_out: u64,
}

impl Connections {
    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    /// How often something was told of a connection that is not followed.
    pub(super) fn left_out(&self) -> u64 {
        self.left_out
    }

    fn at(
        &mut self,
        id: ConnectionId,
        (client, server): (Endpoint, Endpoint),
    ) -> Option<&mut Connection> {
        if self.known.len() >= limits::LIVE_CONNECTIONS && !self.known.contains_key(&id) {
            self.left_out += 1;
            return None;
        }
        Some(self.known.entry(id).or_insert_with(|| Connection {
            client,
            server,
            protocol: None,
            slots: VecDeque::new(),
            outstanding: 0,
            since: Time::MIN,
            closed: (0, Time::MIN),
            over: false,
        }))
    }

    /// Nothing of the window counts any more.
    pub(super) fn forget_window(&mut self) {
        self.known.values_mut().for_each(|c| c.slots.clear());
    }

    pub(super) fn stretch(&mut self, index: i64, s: &Stretch) {
        let id = s.interval.connection;
        let nothing = s.interval.directions.iter().all(|d| d.packets == 0);
        if nothing && !self.known.contains_key(&id) {
            return;
        }
        let Some(c) = self.at(id, (s.client, s.server)) else {
            return;
        };
        c.protocol = c.protocol.or(s.protocol);
        let slot = slot(&mut c.slots, index, || Slot::new(id));
        slot.interval.merge(&s.interval);
        for (mine, more) in slot.spent.iter_mut().zip(&s.spent) {
            for (class, ns) in more.iter() {
                mine[class] += *ns;
            }
        }
    }

    pub(super) fn call(&mut self, index: i64, call: &Call) {
        let id = call.connection;
        let Some(c) = self.at(id, (call.client, call.server)) else {
            return;
        };
        c.protocol = c.protocol.or(Some(call.protocol));
        let slot = slot(&mut c.slots, index, || Slot::new(id));
        slot.errors += u64::from(call.outcome.is_error());
        if let Some(ns) = call.response_time_ns().filter(|_| call.is_timed()) {
            slot.calls += 1;
            slot.total_ns = slot.total_ns.saturating_add(ns);
            slot.max_ns = slot.max_ns.max(ns);
        }
    }

    pub(super) fn outstanding(&mut self, index: i64, change: &Outstanding) {
        let id = change.connection;
        let known = self.known.contains_key(&id);
        if !known && change.change != Change::Sent {
            return;
        }
        let Some(c) = self.at(id, (change.client, change.server)) else {
            return;
        };
        match change.change {
            Change::Sent => {
                if c.outstanding == 0 {
                    c.since = change.time;
                }
                c.outstanding += 1;
            }
            Change::Settled => {
                c.outstanding = c.outstanding.saturating_sub(1);
                c.since = change.time;
            }
            _ => c.since = change.time,
        }
        let left = (c.outstanding, c.since);
        let slot = slot(&mut c.slots, index, || Slot::new(id));
        slot.outstanding_most = slot.outstanding_most.max(left.0);
        slot.left = Some(left);
    }

    pub(super) fn closed(&mut self, id: ConnectionId) {
        if let Some(c) = self.known.get_mut(&id) {
            c.over = true;
        }
    }

    /// The rows of the window, those with most call time first; all calls outstanding; and the longest
    /// silence with some.
    pub(super) fn close(
        &mut self,
        over: &Over,
        now: Time,
    ) -> (Vec<ConnectionRow>, u64, Option<Silence>) {
        let (mut rows, mut outstanding, mut silence) = (Vec::new(), 0, None::<Silence>);
        self.known.retain(|id, c| {
            c.close(over.index);
            forget(&mut c.slots, over.oldest);
            if c.slots.is_empty() && (c.outstanding == 0 || c.over) {
                return false;
            }
            let row = c.row(*id, over, now);
            outstanding += row.outstanding;
            if let Some(ns) = row.silent_ns.filter(|ns| *ns >= SILENCE_NS) {
                let key = |s: &Silence| (s.ns, Reverse((s.client, s.server)));
                let this = Silence {
                    client: row.client,
                    server: row.server,
                    outstanding: row.outstanding,
                    ns,
                };
                if silence.is_none_or(|s| key(&this) > key(&s)) {
                    silence = Some(this);
                }
            }
            rows.push(row);
            true
        });
        rows.sort_by_key(|r| {
            let bytes = r.bytes.iter().sum::<u64>();
            (Reverse(r.total_ns), Reverse(bytes), r.id)
        });
        (rows, outstanding, silence)
    }
}

impl Connection {
    /// Intervals are over, up to that one.
    fn close(&mut self, index: i64) {
        let over = self.slots.iter().rev().filter(|(i, _)| *i <= index);
        if let Some(left) = over.filter_map(|(_, slot)| slot.left).next() {
            self.closed = left;
        }
        if self.over && self.slots.back().is_none_or(|(i, _)| *i <= index) {
            self.closed.0 = 0;
        }
    }

    fn row(&self, id: ConnectionId, over: &Over, now: Time) -> ConnectionRow {
        let (outstanding, since) = self.closed;
        let waits = outstanding > 0 && self.protocol.is_some_and(|p| p != Protocol::Tcp);
        let mut row = ConnectionRow {
            id,
            client: self.client,
            server: self.server,
            protocol: self.protocol,
            packets: [0; 2],
            bytes: [0; 2],
            retransmitted: [0; 2],
            now_bytes: 0,
            over_ns: over.window_ns,
            rtt_ns: None,
            calls: 0,
            errors: 0,
            total_ns: 0,
            max_ns: 0,
            outstanding: match self.protocol {
                // Of turns it is only known that one side waits.
                Some(Protocol::Tcp) => 0,
                _ => outstanding,
            },
            outstanding_most: 0,
            silent_ns: waits.then(|| (now - since).max(0)),
            limit: None,
        };
        let mut spent = [PerClass::of(0); 2];
        let mut rtts = [(0_u64, 0_i64); 2];
        for (index, slot) in self.slots.iter().filter(|(i, _)| *i <= over.index) {
            for (d, counts) in slot.interval.directions.iter().enumerate() {
                row.packets[d] += counts.packets;
                row.bytes[d] += counts.payload_bytes;
                row.retransmitted[d] += counts.retransmitted_packets;
                rtts[d].0 += counts.rtt_count;
                rtts[d].1 = rtts[d].1.saturating_add(counts.rtt_sum_ns);
                for (class, ns) in slot.spent[d].iter() {
                    spent[d][class] += *ns;
                }
                if *index == over.index {
                    row.now_bytes += counts.payload_bytes;
                }
            }
            row.calls += slot.calls;
            row.errors += slot.errors;
            row.total_ns = row.total_ns.saturating_add(slot.total_ns);
            row.max_ns = row.max_ns.max(slot.max_ns);
            if *index == over.index {
                row.outstanding_most = slot.outstanding_most;
            }
        }
        row.outstanding_most = row.outstanding_most.max(row.outstanding);
        let means = rtts.map(|(n, sum)| sum.checked_div(n as i64));
        row.rtt_ns = match means {
            [None, None] => None,
            [a, b] => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
        };
        let active = self.slots.iter().filter(|(i, _)| *i <= over.index).count();
        row.limit = limit(&spent, over.width_ns.saturating_mul(active as i64));
        row
    }
}

/// The wait that had most of the time, where it had enough.
fn limit(spent: &[PerClass<i64>; 2], active_ns: i64) -> Option<Limit> {
    let directions = [Direction::ToServer, Direction::ToClient];
    let waits = directions.into_iter().flat_map(|d| {
        let of = spent[d.index()].iter();
        of.filter(|(class, _)| is_wait(*class))
            .map(move |(class, ns)| (*ns, Reverse((class, d))))
    });
    let (ns, Reverse((class, direction))) = waits.max()?;
    let share = (ns as f64 / active_ns.max(1) as f64).min(1.0);
    (share >= SHARE).then_some(Limit {
        direction,
        class,
        share,
    })
}
