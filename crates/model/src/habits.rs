//! How a direction of a TCP connection is used: sizes, pauses, why it sent again, what its congestion
//! window was, and what explicit congestion notification told it.

use crate::Wait;
use serde::{Deserialize, Serialize};

/// Segments with data by size: how many up to each of [`SegmentSizes::UP_TO`], and how many larger.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct SegmentSizes(pub [u64; 6]);

impl SegmentSizes {
    /// Payload bytes: requests and keystrokes, small answers, the 512 bytes that any path carries,
    /// full segments of Ethernet (1,500 bytes less both headers), of jumbo frames (9,000 bytes). What
    /// is larger was put together, or not yet cut, by offloading.
    pub const UP_TO: [u32; 5] = [64, 256, 512, 1_460, 8_960];
}

/// Why segments were sent again. Adds up to the direction's retransmitted packets.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Retransmissions {
    /// Duplicate or selective acknowledgements said what was missing (RFC 5681, RFC 6675, RFC 8985);
    /// with what followed in the same recovery.
    pub fast: u64,
    /// The timer ran out: nothing was sent or acknowledged for 200 ms (RFC 6298); with what followed.
    pub timeout: u64,
    /// The last segment was sent again to find out whether it arrived (RFC 8985 section 7).
    pub tail_probe: u64,
    /// Nothing tells why.
    pub other: u64,
}

/// Silences of a sender with nothing outstanding, between the acknowledgement of everything and what it
/// sent next, above 200 µs.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Pauses {
    pub count: u64,
    pub total_ns: i64,
    pub longest: Option<Wait>,
}

/// What a sender sent as soon as the other side had: it had waited for an answer.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Answered {
    /// How often, and how long it had waited then since it had sent last.
    pub count: u64,
    pub waited_ns: i64,
    /// Of that, with everything acknowledged.
    pub idle_ns: i64,
    /// From an answer to what it let go, where the sender is far away: the path's or the sender's.
    pub unsure_ns: i64,
    /// The shortest time from an answer, as it passed here, to what it let go: the sender's end of the path
    /// and back, and what the sender took.
    pub soonest_ns: Option<i64>,
    /// How long it was silent where the other side had sent last, and it did not send at once: it may have had nothing to say
    /// until then.
    pub silent_behind_ns: i64,
}

/// The congestion window, estimated: what the sender had in flight each time it stopped although the
/// window of its receiver had room for half as much again and its application had more, and an
/// acknowledgement let it go on. A send buffer that is too small looks the same. Bytes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct CongestionWindow {
    /// How often it could be seen; without, nothing else is known.
    pub count: u64,
    pub sum_bytes: u64,
    pub min_bytes: u64,
    pub max_bytes: u64,
    pub last_bytes: u64,
}

impl CongestionWindow {
    #[must_use]
    pub fn mean_bytes(&self) -> Option<u64> {
        self.sum_bytes.checked_div(self.count)
    }
}

/// Explicit congestion notification (RFC 3168) in the packets of a direction.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct EcnCounts {
    /// Packets that a router may mark (ECT), and those that one did mark (CE).
    pub capable_packets: u64,
    pub ce_packets: u64,
    /// Packets that say that a mark was received (ECE), and that the window was reduced for one (CWR);
    /// none where the flags mean something else: in packets that open the connection, and where the
    /// sides agreed on nothing or on counting marks (RFC 9768).
    pub ece_packets: u64,
    pub cwr_packets: u64,
}
