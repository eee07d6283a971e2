//! What connections did over time: rows of trackers and changes of outstanding calls into one row for
//! each interval and connection, by time and then by the connection's number.
//!
//! The numbers are known only at the end, and a row comes when the next packet of its connection does,
//! so rows are sorted: in little memory, and on disk where they are many ([`Sorter`]).

use crate::sort::{Key, Sorter};
use analysis::results::{ConnectionResult, ConnsResult, SeriesRow};
use model::{Change, ConnectionId, Interval, IntervalCounts, Outstanding, Protocol, Time};
use std::collections::HashMap;
use std::io;

/// Takes the rows in their order.
pub type RowSink<'a> = dyn FnMut(&ConnsResult, &SeriesRow<'_>) -> io::Result<()> + 'a;

/// What was seen of each interval, as it comes.
pub(crate) struct Collector {
    width_ns: i64,
    sorter: Sorter,
    row: Vec<u8>,
    /// Calls outstanding on each connection of the capture that is read.
    calls: HashMap<ConnectionId, Calls>,
}

/// Outstanding calls of a connection: now, most in the interval that goes on, and which that is.
#[derive(Clone, Copy)]
struct Calls {
    now: u64,
    most: u64,
    start: Time,
}

impl Collector {
    pub(crate) fn new(width_ns: i64) -> Collector {
        Collector {
            width_ns,
            sorter: Sorter::new("choose a longer --series"),
            row: Vec::new(),
            calls: HashMap::new(),
        }
    }

    pub(crate) fn width_ns(&self) -> i64 {
        self.width_ns
    }

    /// Takes in what is known of an interval.
    pub(crate) fn interval(&mut self, capture: usize, interval: &Interval) -> io::Result<()> {
        self.row.clear();
        write(interval, &mut self.row);
        // The order of a capture's packet is far below 2^63.
        let id = interval.connection.0 << 1 | (capture as u64 & 1);
        self.sorter.push((interval.start.0, id), &self.row)
    }

    pub(crate) fn outstanding(&mut self, capture: usize, change: &Outstanding) -> io::Result<()> {
        let start = Interval::start_of(change.time, self.width_ns);
        let calls = self.calls.entry(change.connection).or_insert(Calls {
            now: 0,
            most: 0,
            start,
        });
        let over = (calls.start != start).then_some(*calls);
        if over.is_some() {
            (calls.start, calls.most) = (start, calls.now);
        }
        match change.change {
            Change::Sent => calls.now += 1,
            Change::Settled => calls.now = calls.now.saturating_sub(1),
            _ => {}
        }
        calls.most = calls.most.max(calls.now);
        over.map_or(Ok(()), |calls| {
            self.counted(capture, change.connection, calls)
        })
    }

    /// A connection is over.
    pub(crate) fn closed(&mut self, capture: usize, id: ConnectionId) -> io::Result<()> {
        match self.calls.remove(&id) {
            Some(calls) => self.counted(capture, id, calls),
            None => Ok(()),
        }
    }

    fn counted(&mut self, capture: usize, id: ConnectionId, calls: Calls) -> io::Result<()> {
        let interval = Interval {
            outstanding: Some((calls.most, calls.now)),
            ..Interval::holding(id, calls.start, self.width_ns)
        };
        self.interval(capture, &interval)
    }

    /// Gives the rows of the connections that are listed.
    pub(crate) fn finish(
        self,
        result: &ConnsResult,
        selected: impl Fn(Time, Time) -> bool,
        sink: &mut RowSink<'_>,
    ) -> io::Result<()> {
        let connections: Vec<_> = result.connections.iter().collect();
        let mut listed: HashMap<(usize, ConnectionId), &ConnectionResult> = HashMap::new();
        for c in &connections {
            for ((capture, ..), id) in c.ends.iter().zip(&c.ids) {
                listed.insert((*capture, *id), c);
            }
        }
        let width_ns = self.width_ns;
        let mut rows = Rows {
            result,
            selected,
            width_ns,
            sink,
            same: Vec::new(),
            outstanding: HashMap::new(),
        };
        self.sorter.finish(&mut |(start, id): Key, row| {
            let connection = ConnectionId(id >> 1);
            let capture = (id & 1) as usize ^ usize::from(result.exchanged);
            let interval = read(row, connection, Time(start));
            match listed.get(&(capture, connection)) {
                Some(c) => rows.add(capture, c, &interval),
                None => Ok(()),
            }
        })?;
        rows.write()
    }
}

/// The rows of one interval, until those of another come.
struct Rows<'a, S> {
    result: &'a ConnsResult,
    selected: S,
    width_ns: i64,
    sink: &'a mut RowSink<'a>,
    same: Vec<(usize, &'a ConnectionResult, Interval)>,
    /// What the last change left outstanding, where that is something.
    outstanding: HashMap<(usize, ConnectionId), u64>,
}

impl<'a, S: Fn(Time, Time) -> bool> Rows<'a, S> {
    fn add(
        &mut self,
        capture: usize,
        connection: &'a ConnectionResult,
        interval: &Interval,
    ) -> io::Result<()> {
        let last = self.same.last_mut();
        if let Some((.., known)) = &last
            && known.start != interval.start
        {
            self.write()?;
        } else if let Some((there, _, known)) = last
            && (*there, known.connection) == (capture, interval.connection)
        {
            known.merge(interval);
            return Ok(());
        }
        self.same.push((capture, connection, *interval));
        Ok(())
    }

    /// Gives the rows of one interval.
    fn write(&mut self) -> io::Result<()> {
        self.same
            .sort_by_key(|(capture, c, _)| (c.number, *capture));
        for (capture, connection, interval) in self.same.drain(..) {
            let key = (capture, interval.connection);
            let before = self.outstanding.get(&key).copied().unwrap_or(0);
            let (most, now) = interval.outstanding.unwrap_or((before, before));
            match now {
                0 => self.outstanding.remove(&key),
                _ => self.outstanding.insert(key, now),
            };
            let packets: u64 = interval.directions.iter().map(|d| d.packets).sum();
            let end = interval.start + (self.width_ns - 1);
            if packets == 0 || !(self.selected)(interval.start, end) {
                continue;
            }
            // Of turns it is only known that one side waits.
            let counts = connection.protocol.is_some_and(|p| p != Protocol::Tcp);
            let row = SeriesRow {
                capture,
                connection,
                interval,
                width_ns: self.width_ns,
                outstanding: counts.then_some(most.max(before)),
            };
            (self.sink)(self.result, &row)?;
        }
        Ok(())
    }
}

/// Writes an interval in few bytes; most of its numbers are small.
fn write(interval: &Interval, row: &mut Vec<u8>) {
    let mut number = |mut n: u64| {
        while n >= 0x80 {
            row.push(n as u8 | 0x80);
            n >>= 7;
        }
        row.push(n as u8);
    };
    for d in &interval.directions {
        number(d.packets);
        number(d.payload_bytes);
        number(d.retransmitted_packets);
        number(d.rtt_count);
        number(d.rtt_sum_ns as u64);
        number(d.rtt_min_ns.map_or(0, |ns| ns as u64 + 1));
        number(d.flight_max_bytes);
        number(d.window_min_bytes.map_or(0, |n| n + 1));
        number(d.congestion_window_bytes.map_or(0, |n| n + 1));
    }
    let (most, now) = interval.outstanding.unzip();
    number(most.map_or(0, |n| n + 1));
    number(now.unwrap_or(0));
}

fn read(row: &[u8], connection: ConnectionId, start: Time) -> Interval {
    let mut bytes = row.iter();
    let mut number = || {
        let mut n = 0;
        for (&byte, shift) in bytes.by_ref().zip((0..64).step_by(7)) {
            n |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        n
    };
    let known = |n: u64| n.checked_sub(1);
    let mut direction = || IntervalCounts {
        packets: number(),
        payload_bytes: number(),
        retransmitted_packets: number(),
        rtt_count: number(),
        rtt_sum_ns: number() as i64,
        rtt_min_ns: known(number()).map(|ns| ns as i64),
        flight_max_bytes: number(),
        window_min_bytes: known(number()),
        congestion_window_bytes: known(number()),
    };
    let directions = [direction(), direction()];
    let (most, now) = (known(number()), number());
    Interval {
        connection,
        start,
        directions,
        outstanding: most.map(|most| (most, now)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counts() -> impl Strategy<Value = IntervalCounts> {
        let small = 0..300u64;
        let large = 0..u64::MAX;
        let some = proptest::option::of(0..u64::MAX);
        (small.clone(), large, some.clone(), some, small, 0..i64::MAX).prop_map(
            |(packets, bytes, window, estimate, rtts, ns)| IntervalCounts {
                packets,
                payload_bytes: bytes,
                retransmitted_packets: packets / 2,
                rtt_count: rtts,
                rtt_sum_ns: ns,
                rtt_min_ns: (rtts > 0).then_some(ns / 2),
                flight_max_bytes: bytes / 3,
                window_min_bytes: window,
                congestion_window_bytes: estimate,
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            directions in [counts(), counts()],
            outstanding in proptest::option::of((0..9u64, 0..900u64)),
            (id, start) in (0..1u64 << 62, i64::MIN..i64::MAX),
        ) {
            let interval = Interval {
                connection: ConnectionId(id),
                start: Time(start),
                directions,
                outstanding,
            };
            let mut row = Vec::new();
            write(&interval, &mut row);
            prop_assert_eq!(read(&row, ConnectionId(id), Time(start)), interval);
        }
    }
}
