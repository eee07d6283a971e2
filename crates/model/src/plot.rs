//! A connection as a picture: what was sent, acknowledged, measured and waited for, moment by moment.
//! Kept only for connections that somebody looks at, in memory that does not grow with the capture:
//! where there is more than fits, the extremes of each stretch of time ([`Points`]).

use crate::{ConnectionId, Direction, Mark, PacketRef, PerClass, Time, TimeClass};

/// Points of a curve in the order of time, and how many there were.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Points<T> {
    pub points: Vec<T>,
    /// How many were seen; as many as there are when none was left out.
    pub seen: u64,
    /// Of each stretch of so many nanoseconds the smallest and the largest were kept, as they were
    /// and when they were; `None` when everything is there.
    pub bucket_ns: Option<i64>,
}

impl<T> Default for Points<T> {
    fn default() -> Points<T> {
        Points {
            points: Vec::new(),
            seen: 0,
            bucket_ns: None,
        }
    }
}

/// What a segment with data was.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SegmentKind {
    /// Bytes that were not sent before.
    New,
    /// As [`DirectionSummary::retransmitted_packets`](crate::DirectionSummary) counts them.
    Retransmission,
    /// One of those whose bytes the receiver had acknowledged before.
    SpuriousRetransmission,
    /// Overtaken, by the network or in the capture.
    OutOfOrder,
    /// A keep-alive, or sent to ask whether a closed window is still closed; may have no bytes.
    Probe,
}

impl SegmentKind {
    pub const ALL: [SegmentKind; 5] = [
        SegmentKind::New,
        SegmentKind::Retransmission,
        SegmentKind::SpuriousRetransmission,
        SegmentKind::OutOfOrder,
        SegmentKind::Probe,
    ];
}

/// A segment with data: bytes `from..to`, counted from the first of its direction that was seen (or,
/// where the handshake was seen, the first that was sent).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlotSegment {
    pub time: Time,
    pub packet: PacketRef,
    pub from: u64,
    pub to: u64,
    pub kind: SegmentKind,
    /// Of bytes sent again, when they had last been sent, if the capture has that: it lacks what was lost before it.
    pub before: Option<Mark>,
}

/// What the receiver acknowledged, and how far its window let the sender go: one for each change of
/// either. Positions count as those of segments; an acknowledged FIN counts as one byte (RFC 9293).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlotAck {
    pub time: Time,
    pub packet: PacketRef,
    pub acknowledged: u64,
    /// `None` where the window's scale is not known.
    pub window_end: Option<u64>,
}

/// A round trip of this direction's data, at its acknowledgement: those that
/// [`DirectionAccount::rtt`](crate::DirectionAccount) counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlotRoundTrip {
    pub time: Time,
    pub packet: PacketRef,
    pub ns: i64,
}

/// Bytes sent and not acknowledged, as seen at the point of capture, and the window in force: one for
/// each change of either.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlotFlight {
    pub time: Time,
    pub packet: PacketRef,
    pub bytes: u64,
    /// `None` where the window's scale is not known.
    pub window: Option<u64>,
}

/// Packets of one interval.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PlotInterval {
    /// Payload on the wire, also of what was sent again.
    pub payload_bytes: u64,
    /// Packets with payload.
    pub segments: u64,
    /// The smallest and the largest payload of one; 0 where there is none.
    pub segment_min_bytes: u32,
    pub segment_max_bytes: u32,
    /// As [`DirectionSummary::retransmitted_packets`](crate::DirectionSummary): added up they are the
    /// connection's.
    pub retransmitted_packets: u64,
}

/// What a direction sent in each of several intervals of the same width, one behind the other.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct PlotThroughput {
    pub first: Time,
    pub width_ns: i64,
    pub intervals: Vec<PlotInterval>,
}

impl PlotThroughput {
    /// The intervals in which there were packets with payload, each with its start.
    pub fn used(&self) -> impl Iterator<Item = (Time, &PlotInterval)> {
        let starts = (0..).map(|i: i64| self.first + i.saturating_mul(self.width_ns));
        starts
            .zip(&self.intervals)
            .filter(|(_, interval)| interval.segments > 0)
    }
}

/// A stretch of time in one class, up to the beginning of the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlotStretch {
    pub first: Time,
    pub until: Time,
    pub class: TimeClass,
}

/// What a direction's time went to, without gaps, from the connection's first packet to its last.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct PlotBand {
    pub stretches: Vec<PlotStretch>,
    /// Stretches as they were charged.
    pub seen: u64,
    /// Where they were too many, each stretch of so many nanoseconds shows one of its classes, so that
    /// all together show them in the shares that they have; `None` when everything is there.
    pub bucket_ns: Option<i64>,
    /// Nanoseconds by class, exact in any case: those of
    /// [`DirectionAccount::time_ns`](crate::DirectionAccount).
    pub time_ns: PerClass<i64>,
}

/// One direction. What its receiver says (acknowledgements, windows) stands with the data that it is
/// about.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct DirectionPlot {
    pub segments: Points<PlotSegment>,
    pub acks: Points<PlotAck>,
    pub round_trips: Points<PlotRoundTrip>,
    pub flight: Points<PlotFlight>,
    pub throughput: PlotThroughput,
    pub band: PlotBand,
    /// Of `segments`, what was sent again: how many there were, and how many of them stand there.
    pub retransmissions: u64,
    pub retransmissions_kept: u64,
}

impl DirectionPlot {
    /// Points of all curves: how many are there, and how many were seen.
    #[must_use]
    pub fn points(&self) -> (u64, u64) {
        let kept = [
            self.segments.points.len(),
            self.acks.points.len(),
            self.round_trips.points.len(),
            self.flight.points.len(),
        ];
        let seen = [
            self.segments.seen,
            self.acks.seen,
            self.round_trips.seen,
            self.flight.seen,
        ];
        (kept.iter().map(|n| *n as u64).sum(), seen.iter().sum())
    }

    /// The widest stretch of time of which only the extremes are there; `None` when all of it is.
    #[must_use]
    pub fn bucket_ns(&self) -> Option<i64> {
        [
            self.segments.bucket_ns,
            self.acks.bucket_ns,
            self.round_trips.bucket_ns,
            self.flight.bucket_ns,
        ]
        .into_iter()
        .flatten()
        .max()
    }
}

/// A connection as one capture saw it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plot {
    pub connection: ConnectionId,
    /// Of both directions.
    pub packets: u64,
    /// Indexed by [`Direction::index`].
    pub directions: [DirectionPlot; 2],
}

impl Plot {
    /// Points of both directions: how many are there, and how many were seen.
    #[must_use]
    pub fn points(&self) -> (u64, u64) {
        let [(kept, seen), (more_kept, more_seen)] =
            self.directions.each_ref().map(DirectionPlot::points);
        (kept + more_kept, seen + more_seen)
    }

    /// As of [`DirectionPlot::bucket_ns`], of both directions.
    #[must_use]
    pub fn bucket_ns(&self) -> Option<i64> {
        let [there, back] = self.directions.each_ref().map(DirectionPlot::bucket_ns);
        there.max(back)
    }

    pub fn direction(&mut self, d: Direction) -> &mut DirectionPlot {
        let [to_server, to_client] = &mut self.directions;
        match d {
            Direction::ToServer => to_server,
            Direction::ToClient => to_client,
        }
    }
}

/// A connection of which a plot is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlotRequest {
    pub connection: ConnectionId,
    /// Its first and last packet, as known from an earlier reading.
    pub first: Time,
    pub last: Time,
    /// The most points of each curve of a direction.
    pub points: usize,
    /// Whether the scale of its windows was concluded in that reading from what was sent into them.
    pub concludes_scales: bool,
}
