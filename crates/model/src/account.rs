//! What a direction of a TCP connection waited for, and what was measured of it: filled in only where
//! somebody asks for it, as it takes memory and time for every segment.

use crate::{
    Answered, CongestionWindow, EcnCounts, Mark, Pauses, Retransmissions, SegmentSizes, Time,
    Timeline,
};
use serde::{Deserialize, Serialize};
use std::ops::{Index, IndexMut};

/// What a direction's time went to. Every nanosecond between a connection's first and last packet is
/// in exactly one class, for each direction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum TimeClass {
    /// Until the connection was open.
    Handshake,
    /// Nothing to send: waiting for the other side's data, or both silent.
    Idle,
    /// The sender's application did not write, though TCP could have sent.
    SenderApplication,
    /// The receiver's application did not read: the window was closed or closing.
    ReceiverApplication,
    /// The receiver reads, but its window is too small for the path.
    SmallWindow,
    /// A small segment was held back (RFC 896), or the sender stopped, until the receiver acknowledged
    /// at leisure (RFC 1122).
    NagleDelayedAck,
    /// Something was lost, or taken to be, and was sent again.
    LossRecovery,
    /// As much was under way as the congestion window allowed, and the path did not queue.
    Congestion,
    /// As much was under way as the congestion window allowed, and a queue stood on the path.
    Bandwidth,
    /// Sending, and the last bytes' way to the receiver and back.
    Transfer,
    Unknown,
}

impl TimeClass {
    pub const ALL: [TimeClass; 11] = [
        TimeClass::Handshake,
        TimeClass::Idle,
        TimeClass::SenderApplication,
        TimeClass::ReceiverApplication,
        TimeClass::SmallWindow,
        TimeClass::NagleDelayedAck,
        TimeClass::LossRecovery,
        TimeClass::Congestion,
        TimeClass::Bandwidth,
        TimeClass::Transfer,
        TimeClass::Unknown,
    ];

    /// The key in machine output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            TimeClass::Handshake => "handshake",
            TimeClass::Idle => "idle",
            TimeClass::SenderApplication => "sender-application",
            TimeClass::ReceiverApplication => "receiver-application",
            TimeClass::SmallWindow => "small-window",
            TimeClass::NagleDelayedAck => "nagle-delayed-ack",
            TimeClass::LossRecovery => "loss-recovery",
            TimeClass::Congestion => "congestion",
            TimeClass::Bandwidth => "bandwidth",
            TimeClass::Transfer => "transfer",
            TimeClass::Unknown => "unknown",
        }
    }
}

/// Something for each class.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct PerClass<T>([T; 11]);

impl<T: Copy> PerClass<T> {
    /// The same for each.
    #[must_use]
    pub fn of(each: T) -> PerClass<T> {
        PerClass([each; 11])
    }
}

impl<T> PerClass<T> {
    pub fn iter(&self) -> impl Iterator<Item = (TimeClass, &T)> {
        TimeClass::ALL.into_iter().zip(&self.0)
    }
}

impl<T> Index<TimeClass> for PerClass<T> {
    type Output = T;

    #[expect(clippy::indexing_slicing, reason = "there are as many as classes")]
    fn index(&self, class: TimeClass) -> &T {
        &self.0[class as usize]
    }
}

impl<T> IndexMut<TimeClass> for PerClass<T> {
    #[expect(clippy::indexing_slicing, reason = "there are as many as classes")]
    fn index_mut(&mut self, class: TimeClass) -> &mut T {
        &mut self.0[class as usize]
    }
}

/// A stretch of time in one class: the packet after which it began, and the one that ended it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Wait {
    pub first: Mark,
    pub last: Mark,
    pub ns: i64,
}

/// A segment that was sent again and again and never got through.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Stuck {
    /// Bytes of data in it on the wire.
    pub bytes: u64,
    /// How often it was sent again.
    pub times: u64,
    pub first: Mark,
    pub last: Mark,
    /// Whether the receiver was heard meanwhile, so that the path itself was not down.
    pub receiver_heard: bool,
    /// Whether others as large arrived that were sent again, too: the path carries what has that size.
    pub others_arrived: bool,
}

impl Stuck {
    /// How long it was sent again and again.
    #[must_use]
    pub fn lasted_ns(&self) -> i64 {
        self.last.time - self.first.time
    }
}

/// Bytes that were sent, as the number of a later packet of their sender says, and that neither came by nor were
/// acknowledged until the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Vanished {
    pub bytes: u64,
    /// When their sender was heard before: they were sent after that.
    pub since: Time,
    /// The packet that tells of them.
    pub told: Mark,
}

/// How round trips are distributed. Nanoseconds; percentiles are within 2 %, the others exact.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct RoundTrips {
    pub count: u64,
    pub min_ns: i64,
    pub p50_ns: i64,
    pub p90_ns: i64,
    pub p99_ns: i64,
    pub max_ns: i64,
}

/// What one direction of a TCP connection was measured to do, beyond
/// [`DirectionSummary`](crate::DirectionSummary). "Its" window and acknowledgements are those that the
/// direction's *receiver* sends.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct DirectionAccount {
    /// Nanoseconds by class: they add up to the connection's duration.
    pub time_ns: PerClass<i64>,
    /// The same by when, where that was asked for.
    pub timeline: Timeline,
    /// Of the waits for delayed acknowledgements, those in which nothing small was held back: the
    /// sender had sent all that it would before it heard.
    pub delayed_ack_wait_ns: i64,
    /// How many stretches, and the longest of each class.
    pub stretches: PerClass<u32>,
    pub longest: PerClass<Option<Wait>>,
    /// Data to its acknowledgement, where both are certain: sent once (Karn), not riding on data, and
    /// not held back for a delayed-acknowledgement timer.
    pub rtt: RoundTrips,
    /// Whether a line was full, and was so whenever anything passed it: the shortest round trip holds its queue, too.
    pub line_is_never_empty: bool,
    /// Most bytes sent and not acknowledged, as seen at the point of capture.
    pub flight_max_bytes: u64,
    /// The smallest (above zero) and largest window offered; `None` where the scale is not known.
    pub window_min_bytes: Option<u64>,
    pub window_max_bytes: Option<u64>,
    /// How long the window was closed, whether or not anybody waited.
    pub zero_window_ns: i64,
    /// Segments sent again although the receiver had them, as its acknowledgements showed.
    pub spurious_retransmissions: u64,
    /// Data segments acknowledged, in so many acknowledgements without data.
    pub segments_acknowledged: u64,
    pub acknowledgements: u64,
    /// Acknowledgements that came only when a timer ran out: their median delay, and how many.
    pub delayed_ack_ns: Option<i64>,
    pub delayed_acks: u64,
    /// The most frequent number of bytes between two pushes: what the application writes at once.
    pub write_size_bytes: Option<u64>,
    /// Writes that left as one large segment and one small one, though offloading could have made one
    /// of them, and the size of the most recent small one.
    pub split_writes: u64,
    pub split_rest_bytes: u64,
    pub vanished: Option<Vanished>,
    /// Writes of that size, and all writes.
    pub writes_of_that_size: u64,
    pub writes: u64,
    /// Packets that the sender's IP identifications skip: lost by the capture if it stands at the
    /// sender, else by the network or the capture. `None` where they do not count packets.
    pub skipped_identifications: Option<u64>,
    pub mss: Option<u16>,
    pub window_scale: Option<u8>,
    /// Whether both sides agreed on selective acknowledgements and on timestamps; `None` where that was not seen.
    pub sack: Option<bool>,
    pub timestamps: Option<bool>,
    /// Whether both sides agreed on explicit congestion notification; `None` where the handshake was
    /// not seen.
    pub ecn_negotiated: Option<bool>,
    pub ecn: EcnCounts,
    pub segment_sizes: SegmentSizes,
    pub retransmissions: Retransmissions,
    pub pauses: Pauses,
    pub answered: Answered,
    pub congestion_window: CongestionWindow,
    /// Acknowledgements without data of more than two full segments (RFC 5681 section 4.2).
    pub stretch_acks: u64,
    /// First and last packet with data.
    pub first_data: Option<Time>,
    pub last_data: Option<Time>,
}
