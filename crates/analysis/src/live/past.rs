//! The last minutes of each row, for whoever opens one: how long its calls took, interval by interval, and the slowest
//! of them with their packets.
//!
//! It is filled beside [`Live`](super::Live) and looked at from another thread, also when the capture has ended. Its
//! memory has one bound over all rows ([`limits::LIVE_PAST`]): the busier a capture, the fewer minutes.

use super::{SlowestCall, Stretch};
use crate::work::statement_of;
use hashbrown::HashMap;
use model::{Call, ConnectionId, Name, Protocol, Time, limits};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Upper bounds of response times that are told apart: 1, 2 and 5 of each power of ten, from 10 µs to 100 s.
pub const BOUNDS_NS: [i64; 22] = {
    let mut bounds = [0; 22];
    let (mut i, mut power) = (0, 10_000);
    while i < bounds.len() {
        bounds[i] = power * [1, 2, 5][i % 3];
        power *= if i % 3 == 2 { 10 } else { 1 };
        i += 1;
    }
    bounds
};

/// Calls of a row that are kept of each interval.
const SLOWEST: usize = 3;

/// Which row: one of the tables' lines.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RowKey {
    Operation(Protocol, Name),
    /// By its statement's id.
    Statement(Protocol, u64),
    Connection(ConnectionId),
}

/// What a row did in an interval.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct PastInterval {
    /// Calls by response time: up to each of [`BOUNDS_NS`], and beyond.
    pub calls: [u32; BOUNDS_NS.len() + 1],
    pub errors: u32,
    /// At most [`SLOWEST`], the slowest first.
    pub slowest: Vec<SlowestCall>,
    /// Of connections: payload, and packets that were sent again, in both directions.
    pub bytes: u64,
    pub resent: u64,
}

impl PastInterval {
    fn call(&mut self, call: &Call) {
        self.errors += u32::from(call.outcome.is_error());
        let Some(slow) = SlowestCall::of(call) else {
            return;
        };
        let bin = BOUNDS_NS.partition_point(|bound| *bound < slow.ns);
        if let Some(n) = self.calls.get_mut(bin) {
            *n = n.saturating_add(1);
        }
        let place = self.slowest.partition_point(|s| s.ns >= slow.ns);
        if place < SLOWEST {
            self.slowest.truncate(SLOWEST - 1);
            self.slowest.insert(place, slow);
        }
    }
}

type Rows = HashMap<RowKey, PastInterval, foldhash::fast::FixedState>;

/// The last minutes of all rows.
#[derive(Debug)]
pub struct Past {
    width_ns: i64,
    /// By interval, in widths since the epoch.
    intervals: BTreeMap<i64, Rows>,
    /// Of all intervals.
    rows: usize,
}

/// A row that was opened.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Opened {
    pub width_ns: i64,
    /// When the first of the intervals begins. They follow each other, also those in which it did nothing.
    pub start: Time,
    pub intervals: Vec<PastInterval>,
}

impl Opened {
    /// The slowest calls of these intervals.
    #[must_use]
    pub fn slowest(&self) -> Vec<SlowestCall> {
        let calls = self.intervals.iter().flat_map(|i| &i.slowest);
        let mut calls: Vec<SlowestCall> = calls.copied().collect();
        calls.sort_by_key(|c| (Reverse(c.ns), c.request));
        calls
    }
}

impl Past {
    #[must_use]
    pub fn new(width_ns: i64) -> Past {
        Past {
            width_ns: width_ns.max(1),
            intervals: BTreeMap::new(),
            rows: 0,
        }
    }

    /// What a row did in the interval of `at`, unless there is no room for it: what is older makes room.
    fn row(&mut self, at: Time, key: RowKey) -> Option<&mut PastInterval> {
        let index = at.0.div_euclid(self.width_ns);
        while self.rows >= limits::LIVE_PAST || self.intervals.len() > limits::LIVE_PAST_INTERVALS {
            let oldest = self.intervals.first_entry()?;
            if *oldest.key() >= index {
                break;
            }
            self.rows -= oldest.remove().len();
        }
        let full = self.rows >= limits::LIVE_PAST;
        let rows = match self.intervals.entry(index) {
            Entry::Vacant(_) if full => return None,
            Entry::Vacant(none) => none.insert(Rows::default()),
            Entry::Occupied(rows) => rows.into_mut(),
        };
        if !rows.contains_key(&key) {
            if full {
                return None;
            }
            self.rows += 1;
        }
        Some(rows.entry(key).or_default())
    }

    /// A call was completed, or given up.
    pub fn call(&mut self, call: &Call) {
        let at = call.response_last.or(call.request_last);
        let Some(at) = at.or(call.response_first).or(call.request_first) else {
            return;
        };
        let operation = RowKey::Operation(call.protocol, call.op);
        let statement = statement_of(call).map(|s| RowKey::Statement(call.protocol, s.id));
        let connection = RowKey::Connection(call.connection);
        for key in [Some(operation), statement, Some(connection)] {
            if let Some(row) = key.and_then(|key| self.row(at.time, key)) {
                row.call(call);
            }
        }
    }

    /// What a connection did.
    pub fn stretch(&mut self, stretch: &Stretch) {
        let counts = &stretch.interval.directions;
        if counts.iter().all(|d| d.packets == 0) {
            return;
        }
        let key = RowKey::Connection(stretch.interval.connection);
        if let Some(row) = self.row(stretch.interval.start, key) {
            row.bytes += counts.iter().map(|d| d.payload_bytes).sum::<u64>();
            row.resent += counts.iter().map(|d| d.retransmitted_packets).sum::<u64>();
        }
    }

    /// Packets have gone on up to `now`: what lies behind it is of a clock that was set back.
    pub fn reached(&mut self, now: Time) {
        let behind = now.0.div_euclid(self.width_ns).saturating_add(1);
        for rows in self.intervals.split_off(&behind).values() {
            self.rows -= rows.len();
        }
    }

    /// What a row did up to `end`, in so many intervals at most: those before the first that is known are left out.
    #[must_use]
    pub fn of(&self, key: RowKey, end: Time, most: usize) -> Opened {
        let end = end.0.div_euclid(self.width_ns);
        let most = i64::try_from(most.min(limits::LIVE_PAST_INTERVALS)).unwrap_or(0);
        let known = self.intervals.range(end.saturating_sub(most)..end).next();
        let first = known.map_or(end, |(index, _)| *index);
        let of = |index: i64| {
            let row = self.intervals.get(&index).and_then(|rows| rows.get(&key));
            row.cloned().unwrap_or_default()
        };
        Opened {
            width_ns: self.width_ns,
            start: Time(first.saturating_mul(self.width_ns)),
            intervals: (first..end).map(of).collect(),
        }
    }

    /// The slowest calls of each operation and interval.
    pub fn slowest(&self) -> impl Iterator<Item = &SlowestCall> {
        let rows = self.intervals.values().flatten();
        let operations = rows.filter(|(key, _)| matches!(key, RowKey::Operation(..)));
        operations.flat_map(|(_, row)| &row.slowest)
    }
}
