//! A connection's packets into rows, one for each interval of time in which there was one.
//!
//! Intervals are multiples of their width since the epoch, so that those of several connections and
//! captures stand beside each other. What stands from before, bytes in flight and windows, counts in
//! the interval that it reaches into.

use model::{ConnectionId, Direction, Interval, Time};
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Intervals {
    width_ns: i64,
    open: Interval,
    standing: [Standing; 2],
}

/// Where a direction stands.
#[derive(Clone, Copy, Default, Debug, Serialize, Deserialize)]
struct Standing {
    sent: u64,
    acknowledged: u64,
    window: Option<u64>,
}

impl Standing {
    fn flight(self) -> u64 {
        self.sent.saturating_sub(self.acknowledged)
    }
}

impl Intervals {
    pub(super) fn new(connection: ConnectionId, first: Time, width_ns: i64) -> Intervals {
        Intervals {
            width_ns,
            open: Interval::holding(connection, first, width_ns),
            standing: [Standing::default(); 2],
        }
    }

    /// A packet has that time: gives the interval before, if it is of another.
    pub(super) fn reach(&mut self, now: Time) -> Option<Interval> {
        // Most are of the same: a division costs as much as twenty other instructions.
        let since = now - self.open.start;
        if (0..self.width_ns).contains(&since) {
            return None;
        }
        let mut next = Interval::holding(self.open.connection, now, self.width_ns);
        for (counts, standing) in next.directions.iter_mut().zip(&self.standing) {
            counts.flight_max_bytes = standing.flight();
            counts.window(standing.window);
        }
        Some(std::mem::replace(&mut self.open, next))
    }

    /// The interval that goes on.
    pub(super) fn last(&self) -> Interval {
        self.open
    }

    pub(super) fn counted(&mut self, d: Direction, payload: u32) {
        let counts = self.open.direction(d);
        counts.packets += 1;
        counts.payload_bytes += u64::from(payload);
    }

    /// Data of direction `d` was sent up to `data_end`, of which the sender knew that everything before
    /// `acknowledged` had arrived.
    pub(super) fn sent(&mut self, d: Direction, data_end: u64, acknowledged: u64, again: bool) {
        let standing = self.standing(d);
        standing.sent = standing.sent.max(data_end);
        standing.acknowledged = standing.acknowledged.max(acknowledged);
        let flight = data_end.saturating_sub(standing.acknowledged);
        let counts = self.open.direction(d);
        counts.flight_max_bytes = counts.flight_max_bytes.max(flight);
        counts.retransmitted_packets += u64::from(again);
    }

    pub(super) fn acknowledged(&mut self, d: Direction, position: u64, window: Option<u64>) {
        let standing = self.standing(d);
        standing.acknowledged = standing.acknowledged.max(position);
        standing.window = window;
        self.open.direction(d).window(window);
    }

    pub(super) fn round_trip(&mut self, d: Direction, ns: i64) {
        self.open.direction(d).round_trip(ns);
    }

    pub(super) fn window_was(&mut self, d: Direction, bytes: u64) {
        let estimate = &mut self.open.direction(d).congestion_window_bytes;
        *estimate = (*estimate).max(Some(bytes));
    }

    fn standing(&mut self, d: Direction) -> &mut Standing {
        let [to_server, to_client] = &mut self.standing;
        match d {
            Direction::ToServer => to_server,
            Direction::ToClient => to_client,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Direction::{ToClient, ToServer};

    #[test]
    fn what_stands_reaches_into_the_next_interval() {
        let mut intervals = Intervals::new(ConnectionId(7), Time(1_050), 100);
        assert_eq!(intervals.reach(Time(1_099)), None);
        intervals.counted(ToServer, 30);
        intervals.sent(ToServer, 130, 100, false);
        intervals.acknowledged(ToServer, 110, Some(500));
        let first = intervals.reach(Time(1_350)).expect("an interval is over");
        assert_eq!(
            (first.start, first.connection),
            (Time(1_000), ConnectionId(7))
        );
        let [counts, back] = first.directions;
        assert_eq!((counts.packets, counts.payload_bytes), (1, 30));
        assert_eq!(
            (counts.flight_max_bytes, counts.window_min_bytes),
            (30, Some(500))
        );
        assert_eq!(back, Default::default());
        intervals.acknowledged(ToServer, 130, Some(0));
        intervals.round_trip(ToServer, 40);
        intervals.round_trip(ToServer, 20);
        intervals.counted(ToClient, 0);
        let [counts, back] = intervals.last().directions;
        assert_eq!(
            (counts.flight_max_bytes, counts.window_min_bytes),
            (20, Some(0))
        );
        assert_eq!(
            (counts.rtt_count, counts.rtt_sum_ns, counts.rtt_min_ns),
            (2, 60, Some(20))
        );
        assert_eq!((counts.packets, back.packets), (0, 1));
    }

    #[test]
    fn a_clock_that_steps_back_begins_an_earlier_interval() {
        let mut intervals = Intervals::new(ConnectionId(0), Time(-50), 100);
        assert_eq!(intervals.last().start, Time(-100));
        assert!(intervals.reach(Time(0)).is_some());
        assert!(intervals.reach(Time(-1)).is_some());
        assert_eq!(intervals.last().start, Time(-100));
    }
}
