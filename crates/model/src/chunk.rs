//! What a connection delivers: bytes in stream order, or the knowledge that some are missing.

use crate::{Mark, Reason, Time};
use serde::{Deserialize, Serialize};

/// Which way bytes go. `ToServer` is from the side that opened the connection (or is taken to have
/// opened it) to the other; a protocol may learn that the roles are the other way round.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Direction {
    ToServer,
    ToClient,
}

impl Direction {
    pub const BOTH: [Direction; 2] = [Direction::ToServer, Direction::ToClient];

    #[must_use]
    pub fn reverse(self) -> Direction {
        match self {
            Direction::ToServer => Direction::ToClient,
            Direction::ToClient => Direction::ToServer,
        }
    }

    /// 0 or 1, to index what is kept per direction.
    #[must_use]
    pub fn index(self) -> usize {
        match self {
            Direction::ToServer => 0,
            Direction::ToClient => 1,
        }
    }
}

/// Since when a sender's TCP would have held bytes, had they been written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct HeldSince {
    /// Since when in all: they may have stood behind others first, of which TCP let go as many as were acknowledged, by its
    /// congestion window (RFC 5681) or the room in the sender's buffer.
    pub at: Time,
    /// Since when by trouble: loss recovery, a closed window, Nagle's algorithm, a delayed acknowledgement.
    pub troubled: Option<Time>,
}

impl HeldSince {
    /// Behind others alone.
    #[must_use]
    pub fn behind(at: Time) -> HeldSince {
        HeldSince { at, troubled: None }
    }

    /// By trouble alone.
    #[must_use]
    pub fn troubled(at: Time) -> HeldSince {
        HeldSince {
            at,
            troubled: Some(at),
        }
    }
}

/// A run of stream bytes that came in one packet: first those that were captured, then those that
/// were on the wire but cut off by the snap length.
#[derive(Clone, Copy, Debug)]
pub struct Chunk<'a> {
    /// The captured bytes.
    pub data: &'a [u8],
    /// Bytes that follow `data` in this packet and were not captured.
    pub cut: u32,
    /// The packet that brought them first, and its time. In stream order these may step backwards.
    pub mark: Mark,
    /// The TCP sequence number of the first byte as it stands in the packet; 0 for UDP.
    pub sequence: u32,
    /// The order of the packet now being looked at, which made these bytes deliverable. Not before
    /// `mark`'s packet.
    pub order: u64,
    /// When that packet was captured: the first moment at which a receiver at the point of capture
    /// had all bytes up to and including these.
    pub now: Time,
    /// Set when TCP, not the application, decided when these bytes left. Only known where the capture stands near the
    /// sender.
    pub held_since: Option<HeldSince>,
    /// Whether its sender had received everything that the other side was seen to have sent by then.
    /// Who waits for an answer before speaking on always has. True for UDP, which does not say.
    pub heard_all: bool,
    /// When the other side had ended its data (FIN), if its sender knew that: as soon as what it said to that could have
    /// come here.
    pub peer_ended: Option<Time>,
}

/// Why a connection ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Close {
    /// Both sides said FIN.
    Finished,
    /// One side said RST.
    Reset,
    /// A new connection took the same addresses and ports.
    Replaced,
    /// Nothing was heard for [`IDLE_NS`](crate::limits::IDLE_NS), though nothing said that it was over.
    Forgotten,
    /// It was silent for longest as memory was full, though nothing said that it was over.
    Evicted,
    /// A UDP conversation, a TCP connection nobody answered or one that was closing fell silent.
    Expired,
    /// The capture ended.
    EndOfCapture,
}

impl Close {
    /// Whether nothing is known of what came later: not that nothing did.
    #[must_use]
    pub fn is_of_looking(self) -> bool {
        matches!(self, Close::EndOfCapture | Close::Evicted)
    }

    /// Why an answer is missing that had not come by then.
    #[must_use]
    pub fn reason(self) -> Reason {
        match self {
            Close::EndOfCapture => Reason::AfterCapture,
            Close::Evicted => Reason::Evicted,
            _ => Reason::NoAnswer,
        }
    }

    /// The name in machine output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Close::Finished => "finished",
            Close::Reset => "reset",
            Close::Replaced => "replaced",
            Close::Forgotten => "forgotten",
            Close::Evicted => "evicted",
            Close::Expired => "expired",
            Close::EndOfCapture => "end-of-capture",
        }
    }
}
