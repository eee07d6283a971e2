//! A capture that does not end: what operations, statements and connections do, interval by interval
//! and over a sliding window, in memory that does not grow.
//!
//! Intervals are multiples of their width since the epoch, as those of
//! [`Interval`]. One is closed when packets have gone on beyond it; what comes late
//! counts in the oldest that is open. Beside them stand totals, which are those that `ops` and `conns`
//! give of the same packets.

mod connections;
mod found;
mod moment;
mod past;
mod subjects;
mod trigger;

pub use connections::{ConnectionRow, Limit};
pub use found::{Found, FoundRow};
pub use moment::{Figures, LiveResult, Moment, Silence, SlowestCall, StatementTotal, SubjectRow};
pub use past::{BOUNDS_NS, Opened, Past, PastInterval, RowKey};
pub use trigger::{Crossed, Crossing, Triggers};

use crate::connections::Lister;
use crate::conns;
use crate::group::{Groups, Key};
use connections::Connections;
use model::{
    Call, ConnectionSummary, Endpoint, Interval, Outstanding, PerClass, Problems, Protocol, Time,
    Transport, Where, limits,
};
use std::collections::BTreeMap;
use subjects::{Subjects, Tally};

/// What a connection did in an interval, or in a part of it, as it is told while the capture goes on.
#[derive(Clone, Copy, Debug)]
pub struct Stretch {
    pub client: Endpoint,
    pub server: Endpoint,
    /// Of its first call.
    pub protocol: Option<Protocol>,
    pub interval: Interval,
    /// What each direction's time went to since that was last told.
    pub spent: [PerClass<i64>; 2],
}

/// Packets of one interval.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Traffic {
    pub packets: u64,
    /// On the wire.
    pub bytes: u64,
}

/// Gathers a capture that goes on.
pub struct Live {
    width_ns: i64,
    /// Intervals that the window holds.
    slots: i64,
    /// The first interval, and the first that is not closed, in widths since the epoch.
    first: Option<i64>,
    next: i64,
    traffic: BTreeMap<i64, Traffic>,
    all: BTreeMap<i64, Tally>,
    /// Packets lost by the capturing host: so far, and when the last interval closed.
    dropped: Option<u64>,
    dropped_before: u64,
    operations: Subjects,
    statements: Subjects,
    connections: Connections,
    groups: Groups,
    lister: Lister,
    listed: usize,
    left_out: u64,
    problems: Problems,
}

impl Live {
    /// `window_ns` is taken as a whole number of intervals, at most [`limits::LIVE_SLOTS`].
    #[must_use]
    pub fn new(width_ns: i64, window_ns: i64) -> Live {
        let width_ns = width_ns.max(1);
        let slots = (window_ns / width_ns).clamp(1, limits::LIVE_SLOTS);
        Live {
            width_ns,
            slots,
            first: None,
            next: i64::MIN,
            traffic: BTreeMap::new(),
            all: BTreeMap::new(),
            dropped: None,
            dropped_before: 0,
            operations: Subjects::new(limits::LIVE_OPERATIONS, false),
            statements: Subjects::new(limits::LIVE_STATEMENTS, true),
            connections: Connections::default(),
            groups: Groups::with_most(vec![Key::Op], limits::LIVE_OPERATIONS),
            lister: Lister::default(),
            listed: 0,
            left_out: 0,
            problems: Problems::default(),
        }
    }

    /// The interval of a moment, or the oldest that is open.
    fn index(&mut self, time: Time) -> i64 {
        let index = time.0.div_euclid(self.width_ns);
        if self.first.is_none() {
            self.first = Some(index);
            self.next = index;
        }
        index.max(self.next)
    }

    /// Packets of the interval that begins at `start`. Comes before what they completed.
    pub fn traffic(&mut self, start: Time, traffic: Traffic) {
        let index = self.index(start);
        let known = self.traffic.entry(index).or_default();
        known.packets += traffic.packets;
        known.bytes += traffic.bytes;
    }

    /// So many packets were lost by the capturing host so far.
    pub fn dropped(&mut self, dropped: Option<u64>) {
        self.dropped = self.dropped.max(dropped);
    }

    /// A call was completed, or given up.
    pub fn call(&mut self, call: &Call) {
        let at = call.response_last.or(call.request_last);
        let at = at.or(call.response_first).or(call.request_first);
        let index =
            self.index(at.map_or(Time(self.next.saturating_mul(self.width_ns)), |m| m.time));
        self.groups.add(call);
        self.all.entry(index).or_default().add(call);
        self.operations.add(index, call);
        if call.sql.as_ref().is_some_and(|s| s.statement.is_some()) {
            self.statements.add(index, call);
        }
        self.connections.call(index, call);
    }

    /// The number of outstanding calls of a connection changed.
    pub fn outstanding(&mut self, change: &Outstanding) {
        let index = self.index(change.time);
        self.connections.outstanding(index, change);
    }

    /// What a connection did.
    pub fn stretch(&mut self, stretch: &Stretch) {
        let index = self.index(stretch.interval.start);
        self.connections.stretch(index, stretch);
    }

    /// A connection is over.
    pub fn connection(&mut self, summary: &ConnectionSummary) {
        self.connections.closed(summary.id);
        if summary.transport != Transport::Tcp {
            return;
        }
        if self.listed < limits::LIVE_LISTED {
            self.listed += 1;
            self.lister.add(&conns::alone(summary));
        } else {
            self.left_out += 1;
        }
    }

    /// Packets have gone on up to `now`: the next interval that is over, oldest first, until there is none. Those in
    /// which nothing came are one, as wide as all of them. A clock that is set back by more than the window begins
    /// another window.
    pub fn over(&mut self, now: Time) -> Option<Moment> {
        self.first?;
        let now_index = now.0.div_euclid(self.width_ns);
        if self.next.saturating_sub(now_index) > self.slots {
            if let Some(moment) = self.left() {
                return Some(moment);
            }
            self.traffic.clear();
            self.all.clear();
            self.operations.forget_window();
            self.statements.forget_window();
            self.connections.forget_window();
            (self.first, self.next) = (Some(now_index), now_index);
        }
        self.close_before(now_index, now)
    }

    /// The capture is over: the next interval that is left of it.
    pub fn left(&mut self) -> Option<Moment> {
        let traffic = self.traffic.last_key_value().map(|(i, _)| *i);
        let calls = self.all.last_key_value().map(|(i, _)| *i);
        let last = traffic.max(calls)?;
        let now = Time((last + 1).saturating_mul(self.width_ns));
        self.close_before(last + 1, now)
    }

    fn close_before(&mut self, end: i64, now: Time) -> Option<Moment> {
        let first = self.first.filter(|_| self.next < end)?;
        let traffic = self.traffic.range(self.next..end).next();
        let calls = self.all.range(self.next..end).next();
        let next = [traffic.map(|(i, _)| *i), calls.map(|(i, _)| *i)];
        let next = next.into_iter().flatten().min().unwrap_or(end);
        // Something came in this one, or nothing before that one.
        let last = (next - 1).max(self.next);
        Some(self.close(first, last, now))
    }

    /// Closes the intervals up to `index`.
    fn close(&mut self, first: i64, index: i64, now: Time) -> Moment {
        let intervals = index - self.next + 1;
        let start = Time(self.next.saturating_mul(self.width_ns));
        let width_ns = intervals.saturating_mul(self.width_ns);
        self.next = index + 1;
        let oldest = index - self.slots + 1;
        let covered = (index - first + 1).min(self.slots);
        let over = Over {
            index,
            oldest,
            width_ns: self.width_ns,
            window_ns: covered.saturating_mul(self.width_ns),
        };
        self.traffic = self.traffic.split_off(&oldest);
        self.all = self.all.split_off(&oldest);
        let traffic = self.traffic.get(&index).copied().unwrap_or_default();
        let in_window = self.traffic.range(..=index);
        let window = in_window.fold(Traffic::default(), |sum, (_, t)| Traffic {
            packets: sum.packets + t.packets,
            bytes: sum.bytes + t.bytes,
        });
        let mut merged = Tally::default();
        for (_, tally) in self.all.range(..=index) {
            merged.merge(tally);
        }
        let empty = Tally::default();
        let dropped = self.dropped.unwrap_or(0);
        let lost = dropped - self.dropped_before;
        self.dropped_before = dropped;
        let end = start + width_ns;
        let (connections, outstanding, silence) = self.connections.close(&over, end.max(now));
        Moment {
            start,
            width_ns,
            intervals: intervals.unsigned_abs(),
            window_ns: over.window_ns,
            traffic,
            window,
            dropped: self.dropped,
            dropped_now: lost,
            all: self.all.get(&index).unwrap_or(&empty).figures(width_ns),
            all_window: merged.figures(over.window_ns),
            operations: self.operations.close(&over),
            statements: self.statements.close(&over),
            connections,
            outstanding,
            silence,
        }
    }

    /// What the whole capture comes to: groups, statements, connections, and how many of these are not
    /// listed.
    #[must_use]
    pub fn finish(mut self) -> Totals {
        let full = |kind, n: u64, what: &str, problems: &mut Problems| {
            problems.add(kind, false, n, || (what.to_owned(), Where::default()));
        };
        let mut problems = std::mem::take(&mut self.problems);
        problems.merge(&self.groups.problems);
        full(
            "operations-left-out",
            self.operations.left_out(),
            "more different operations than are told apart live; calls of further ones share a line",
            &mut problems,
        );
        full(
            "statements-left-out",
            self.statements.left_out(),
            "more different statements than are told apart live; calls of further ones share a line",
            &mut problems,
        );
        full(
            "connections-not-shown",
            self.connections.left_out(),
            "more connections at a time than are followed live; packets of further ones count in sums",
            &mut problems,
        );
        full(
            "connections-left-out",
            self.left_out,
            "more connections than are listed at the end",
            &mut problems,
        );
        Totals {
            groups: self.groups.finish(),
            statements: self.statements.totals(),
            connections: self.lister.list(),
            left_out: self.left_out,
            problems,
        }
    }

    /// How many operations, statements and connections are remembered: what is bounded.
    #[must_use]
    pub fn remembered(&self) -> [usize; 4] {
        [
            self.operations.len(),
            self.statements.len(),
            self.connections.len(),
            self.listed,
        ]
    }
}

/// The sums of a capture that is over.
pub struct Totals {
    pub groups: Vec<crate::results::GroupResult>,
    pub statements: Vec<StatementTotal>,
    pub connections: crate::connections::Connections,
    pub left_out: u64,
    pub problems: Problems,
}

/// The interval that is closed, and the window that ends with it, in widths since the epoch.
#[derive(Clone, Copy, Debug)]
struct Over {
    index: i64,
    oldest: i64,
    width_ns: i64,
    window_ns: i64,
}

#[cfg(test)]
mod tests;
