//! Why time passed: the closed list of causes, each with the place where it passes and the side whose
//! doing it is, by the direction of the bytes that waited.

use model::Direction;
use serde::{Deserialize, Serialize};

/// Where time passes, and whose doing it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Place {
    Client,
    Network,
    Server,
    Unknown,
}

impl Place {
    pub const ALL: [Place; 4] = [Place::Client, Place::Network, Place::Server, Place::Unknown];

    /// The word in machine output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Place::Client => "client",
            Place::Network => "network",
            Place::Server => "server",
            Place::Unknown => "unknown",
        }
    }
}

macro_rules! causes {
    ($($(#[doc = $doc:literal])+ $cause:ident $name:literal,)+) => {
        /// Why time passed.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
        pub enum Cause {
            $($(#[doc = $doc])+ $cause,)+
        }

        impl Cause {
            pub const ALL: &'static [Cause] = &[$(Cause::$cause,)+];

            /// The word in machine output.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Cause::$cause => $name,)+
                }
            }

            /// What it means, in a few words.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Cause::$cause => concat!($($doc),+),)+
                }
            }
        }
    };
}

causes! {
    /// The server had the request and worked on it, or its host did.
    Service "service",
    /// The request waited behind others for one of a limited number of workers.
    Queue "queue",
    /// The server was silent on all its connections at once.
    Stall "stall",
    /// The server had the request and had not begun the operation that it times itself, or was done with that and had not answered.
    Dispatch "dispatch",
    /// Calls of the server's own were under way to a server below it, while it worked on this call alone, or by a connection that is its session's own.
    Downstream "downstream",
    /// The same while it worked on several calls, or where such calls are under way at any time: whether this call needed them nothing tells.
    DownstreamShared "downstream-shared",
    /// The receiver's window was closed or closing: its application did not read.
    NotReading "not-reading",
    /// Everything was acknowledged and the window open, and the sender wrote nothing within a message, or did not confirm what the other end asked for inside a call (a break).
    NotWriting "not-writing",
    /// A sender was silent where a message may have ended: its application paused, or nobody waited.
    Idle "idle",
    /// The server took long and may have waited for an event: a message that was to come, a lock that another session held.
    Event "event",
    /// A lock that another session held while its client thought: as sessions let go, answers came, far more often than by chance.
    Lock "lock",
    /// Messages crossed the path.
    Path "path",
    /// Something was lost and sent again.
    Loss "loss",
    /// Its receiver's own capture has it, and its TCP did not take it: it had to be sent again.
    Dropped "dropped",
    /// Nothing came through, also not what was sent again.
    Outage "outage",
    /// Fragments of a datagram were lost, until it was sent again.
    Fragments "fragments",
    /// Bytes passed a line that was full, or queued before it.
    Bandwidth "bandwidth",
    /// A message passed in more than one segment, and nothing else explains how long that took.
    Transfer "transfer",
    /// Of a message, what TCP let go in round trip after round trip, as its congestion window begins small (RFC 5681 section 3.1).
    SlowStart "slow-start",
    /// Of a message, what waited for acknowledgements, as its sender's buffer held no more bytes and the window had room.
    SendBuffer "send-buffer",
    /// The sender held a small segment back until another was acknowledged.
    Nagle "nagle",
    /// The same, and the receiver acknowledged that one by a timer.
    NagleDelayedAck "nagle-delayed-ack",
    /// The sender waited for an acknowledgement that the receiver sent by a timer.
    DelayedAck "delayed-ack",
    /// The receiver reads, but offers a window too small for the path.
    SmallWindow "small-window",
    /// Of the path, what fewer and larger calls would have spared.
    Chatty "chatty",
    /// Of the path, what larger fetches would have spared.
    SmallFetch "small-fetch",
    /// Of the path, what larger writes would have spared, where each waits for a confirmation, or as many as are under way.
    SmallWrites "small-writes",
    /// The snap length hides the response, or the capture lacks it: whose the time was that the call may have waited for it beyond what is known, nothing tells.
    Hidden "hidden",
    /// Nothing tells.
    Unknown "unknown",
}

impl Cause {
    /// What is the server's own time, whatever it did or waited for meanwhile.
    pub const OF_SERVER: [Cause; 6] = [
        Cause::Service,
        Cause::Queue,
        Cause::Stall,
        Cause::Dispatch,
        Cause::Downstream,
        Cause::DownstreamShared,
    ];

    /// Where it passes, and whose doing it is, for bytes of this direction.
    #[must_use]
    pub fn of(self, d: Direction) -> (Place, Place) {
        let (sender, receiver) = match d {
            Direction::ToServer => (Place::Client, Place::Server),
            Direction::ToClient => (Place::Server, Place::Client),
        };
        match self {
            Cause::Service
            | Cause::Queue
            | Cause::Stall
            | Cause::Dispatch
            | Cause::Downstream
            | Cause::DownstreamShared => (Place::Server, Place::Server),
            Cause::NotWriting | Cause::Nagle | Cause::NagleDelayedAck | Cause::SendBuffer => {
                (sender, sender)
            }
            Cause::Idle => (sender, Place::Unknown),
            Cause::Dropped => (receiver, receiver),
            Cause::Event => (Place::Server, Place::Unknown),
            Cause::Lock => (Place::Server, Place::Client),
            Cause::NotReading | Cause::SmallWindow | Cause::DelayedAck => (sender, receiver),
            Cause::Path
            | Cause::Loss
            | Cause::Outage
            | Cause::Fragments
            | Cause::Bandwidth
            | Cause::SlowStart
            | Cause::Transfer => (Place::Network, Place::Network),
            Cause::Chatty | Cause::SmallFetch | Cause::SmallWrites => {
                (Place::Network, Place::Client)
            }
            Cause::Hidden | Cause::Unknown => (Place::Unknown, Place::Unknown),
        }
    }
}
