//! What a connection did over time: a row for each interval in which a packet of it was seen. Kept only
//! where somebody asks for it.

use crate::{ConnectionId, Direction, Time};
use serde::{Deserialize, Serialize};

/// What one direction did in an interval. What its receiver says (windows) stands here too, with the
/// data that it is about.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct IntervalCounts {
    /// As in [`DirectionSummary`](crate::DirectionSummary): added up they are the connection's.
    pub packets: u64,
    pub payload_bytes: u64,
    pub retransmitted_packets: u64,
    /// Round trips of this direction's data that ended in the interval: how many, their sum and the
    /// shortest. Nanoseconds.
    pub rtt_count: u64,
    pub rtt_sum_ns: i64,
    pub rtt_min_ns: Option<i64>,
    /// Most bytes sent and not acknowledged at any moment of it, as seen at the point of capture.
    pub flight_max_bytes: u64,
    /// The smallest window in force at any moment of it, zero included; `None` where the scale is not
    /// known.
    pub window_min_bytes: Option<u64>,
    /// The largest of the congestion window's estimates made in it
    /// ([`CongestionWindow`](crate::CongestionWindow)).
    pub congestion_window_bytes: Option<u64>,
}

/// What a connection did in one interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Interval {
    pub connection: ConnectionId,
    /// When it begins: a multiple of its width since the epoch.
    pub start: Time,
    /// Indexed by [`Direction::index`].
    pub directions: [IntervalCounts; 2],
    /// Calls outstanding: most of them in the interval, and at its end. `None` where nothing changed
    /// their number.
    pub outstanding: Option<(u64, u64)>,
}

impl Interval {
    /// The interval of that width which holds `at`, with nothing in it.
    #[must_use]
    pub fn holding(connection: ConnectionId, at: Time, width_ns: i64) -> Interval {
        Interval {
            connection,
            start: Interval::start_of(at, width_ns),
            directions: [IntervalCounts::default(); 2],
            outstanding: None,
        }
    }

    /// When the interval of that width begins which holds `at`.
    #[must_use]
    pub fn start_of(at: Time, width_ns: i64) -> Time {
        let width = width_ns.max(1);
        Time(at.0.div_euclid(width).saturating_mul(width))
    }

    /// Takes in what else is known of the same interval, `later` in the order of packets.
    pub fn merge(&mut self, later: &Interval) {
        for (mine, other) in self.directions.iter_mut().zip(&later.directions) {
            mine.merge(other);
        }
        self.outstanding = match (self.outstanding, later.outstanding) {
            (Some((most, _)), Some((other, now))) => Some((most.max(other), now)),
            (mine, other) => other.or(mine),
        };
    }

    pub fn direction(&mut self, d: Direction) -> &mut IntervalCounts {
        let [to_server, to_client] = &mut self.directions;
        match d {
            Direction::ToServer => to_server,
            Direction::ToClient => to_client,
        }
    }
}

impl IntervalCounts {
    fn merge(&mut self, other: &IntervalCounts) {
        self.packets += other.packets;
        self.payload_bytes += other.payload_bytes;
        self.retransmitted_packets += other.retransmitted_packets;
        self.rtt_count += other.rtt_count;
        self.rtt_sum_ns = self.rtt_sum_ns.saturating_add(other.rtt_sum_ns);
        self.rtt_min_ns = least(self.rtt_min_ns, other.rtt_min_ns);
        self.flight_max_bytes = self.flight_max_bytes.max(other.flight_max_bytes);
        self.window_min_bytes = least(self.window_min_bytes, other.window_min_bytes);
        self.congestion_window_bytes = self
            .congestion_window_bytes
            .max(other.congestion_window_bytes);
    }

    /// A round trip ended.
    pub fn round_trip(&mut self, ns: i64) {
        self.rtt_count += 1;
        self.rtt_sum_ns = self.rtt_sum_ns.saturating_add(ns);
        self.rtt_min_ns = least(self.rtt_min_ns, Some(ns));
    }

    /// A window is in force.
    pub fn window(&mut self, bytes: Option<u64>) {
        self.window_min_bytes = least(self.window_min_bytes, bytes);
    }
}

fn least<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
