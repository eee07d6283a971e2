//! A packet as a link carried it, whatever it holds: what interval statistics and the worth of a
//! capture are made of. Kept only where somebody asks for it.

use crate::{Mark, SightKind::*};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;

/// To whom a frame goes, by its link-layer address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Cast {
    Unicast,
    Multicast,
    Broadcast,
    /// The link type does not say.
    Unknown,
}

/// What a packet holds, as far down as its headers were read; of tunnels what is inside.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum SightKind {
    Tcp,
    Udp,
    Icmp,
    Icmpv6,
    /// IP with this protocol number, which is none of those.
    Ip(u8),
    /// A part of an IP datagram whose other parts are in other packets.
    Fragment,
    Arp,
    /// Spanning tree: IEEE 802.1D and its successors, and Cisco's per VLAN.
    Stp,
    /// Neither IP nor any of those.
    Other,
    /// Headers that are cut or contradict themselves, or a link type that is not supported.
    Unread,
}

impl SightKind {
    /// The name in filters and outputs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Tcp => "tcp",
            Udp => "udp",
            Icmp => "icmp",
            Icmpv6 => "icmpv6",
            Ip(_) => "ip",
            Fragment => "fragment",
            Arp => "arp",
            Stp => "stp",
            Other => "other",
            Unread => "unread",
        }
    }

    /// All names.
    pub const NAMES: [&str; 10] = [
        "tcp", "udp", "icmp", "icmpv6", "ip", "fragment", "arp", "stp", "other", "unread",
    ];
}

impl fmt::Display for SightKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A packet as it was seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sight {
    pub order: u64,
    pub at: Mark,
    /// Bytes on the wire as the capture counts them (without the frame check sequence, as a rule).
    pub length: u32,
    /// How many of them were captured.
    pub captured: u32,
    pub kind: SightKind,
    pub cast: Cast,
    /// The outermost VLAN tag's number.
    pub vlan: Option<u16>,
    /// Source and destination of the innermost IP header; of ARP the sender and the target.
    pub addresses: Option<[IpAddr; 2]>,
    /// Of TCP and UDP.
    pub ports: Option<[u16; 2]>,
}
