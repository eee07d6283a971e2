//! What a packet says of the health of the network it crossed, whatever else it carries: bridges that
//! choose a root, routers that give packets back, checksums that do not hold. Kept only where somebody
//! asks for it.

use crate::{Cast, Endpoint, Mark, SightKind, Time, Transport};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// Something noticed at a packet or, where it is a count, over a batch of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Notice {
    pub order: u64,
    pub at: Mark,
    pub kind: NoticeKind,
}

/// What it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum NoticeKind {
    Bridge(Bpdu),
    InvalidArp(InvalidArp),
    Icmp(IcmpError),
    Checksums(Checksums),
    Fragments(Fragments),
    LostFragments(LostFragments),
    Tagged(Tagged),
    Flooded(Flooded),
}

/// A bridge: its priority (with the number of the VLAN or instance in the lower twelve bits, IEEE
/// 802.1t) and its hardware address. The lowest of all bridges becomes the root.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Bridge {
    pub priority: u16,
    pub hardware: [u8; 6],
}

/// A bridge protocol data unit (IEEE 802.1D-2004 section 9.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Bpdu {
    /// The VLAN that its tree is for, where the bridge has one for each (Cisco's per-VLAN trees).
    pub vlan: Option<u16>,
    /// 0: spanning tree; 2: rapid; 3: multiple.
    pub version: u8,
    /// `None`: a notification, sent towards the root, that the topology changed.
    pub tree: Option<Tree>,
}

/// What a bridge says of the tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Tree {
    pub root: Bridge,
    pub bridge: Bridge,
    pub port: u16,
    /// The flag by which the topology is said to have changed.
    pub changing: bool,
    /// Nanoseconds without a word of the root after which another is chosen, from one word of it to the
    /// next, and that a port waits before it forwards.
    pub max_age_ns: i64,
    pub hello_ns: i64,
    pub forward_delay_ns: i64,
}

/// An ARP packet that says what cannot be.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum ArpFault {
    /// Other lengths of addresses than Ethernet and IPv4 have.
    Lengths,
    /// Neither question nor answer, of ARP or its kin (RFC 826, 903, 2390).
    Operation,
    /// The sender's hardware address is everybody's, a group's, or nobody's.
    SenderHardware,
    /// The sender's address is everybody's, a group's, of the loopback, or, in an answer, nobody's.
    SenderAddress,
    /// An answer to one host gives another hardware address as that host's than its frame goes to.
    TargetHardware,
    /// The frame comes from another hardware address than the sender gives.
    OtherSource,
}

impl ArpFault {
    /// A kebab-case word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ArpFault::Lengths => "lengths",
            ArpFault::Operation => "operation",
            ArpFault::SenderHardware => "sender-hardware",
            ArpFault::SenderAddress => "sender-address",
            ArpFault::TargetHardware => "target-hardware",
            ArpFault::OtherSource => "other-source",
        }
    }

    /// Whether no host sends such on purpose. Balancing bonds, clusters and wireless bridges answer for
    /// others from their own address.
    #[must_use]
    pub fn is_never_meant(self) -> bool {
        self != ArpFault::OtherSource
    }
}

/// An invalid ARP packet and who sent it, by the frame's source.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct InvalidArp {
    pub fault: ArpFault,
    pub source: [u8; 6],
}

/// Why a packet could not be delivered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum IcmpReason {
    /// No way to its network or host, or nobody answers there; the code of ICMP or ICMPv6.
    Unreachable(u8),
    /// The host is there and nobody listens.
    PortUnreachable,
    /// A filter rejects it.
    Prohibited,
    /// It is too large for the next link, which takes this many bytes (0: the router does not say).
    TooBig(u32),
    /// It crossed more routers than its time to live allows.
    TimeExceeded,
    /// Fragments of it did not arrive in time.
    ReassemblyTimeExceeded,
}

impl IcmpReason {
    /// A kebab-case word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            IcmpReason::Unreachable(_) => "unreachable",
            IcmpReason::PortUnreachable => "port-unreachable",
            IcmpReason::Prohibited => "prohibited",
            IcmpReason::TooBig(_) => "too-big",
            IcmpReason::TimeExceeded => "time-exceeded",
            IcmpReason::ReassemblyTimeExceeded => "reassembly-time-exceeded",
        }
    }
}

/// A router or host gives a packet back (RFC 792, 1191, 4443), of which it quotes the headers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct IcmpError {
    /// Who says it.
    pub from: IpAddr,
    pub reason: IcmpReason,
    /// Of the packet that is given back; `None` where it was neither TCP nor UDP or is quoted too short.
    pub flow: Option<(Transport, [Endpoint; 2])>,
    /// From whom to whom that went.
    pub hosts: [IpAddr; 2],
    /// Its length in bytes, of the IP header on.
    pub length: u32,
}

/// Which checksum.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum ChecksumOf {
    Ip,
    Tcp,
    Udp,
}

impl ChecksumOf {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ChecksumOf::Ip => "ip",
            ChecksumOf::Tcp => "tcp",
            ChecksumOf::Udp => "udp",
        }
    }
}

/// Packets whose checksum does not hold that are named, in each batch and for each sender.
pub const SHOWN_CHECKSUMS: usize = 4;

/// Checksums of a sender's packets in a batch, as far as packets were captured whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Checksums {
    pub of: ChecksumOf,
    pub source: IpAddr,
    pub right: u64,
    /// Only the part over addresses and lengths is there, or nothing: the sender's card adds the rest.
    pub unfinished: u64,
    /// Wrong, of a packet larger than the wire carries: joined by the receiver's card.
    pub joined: u64,
    /// Wrong in any other way, the first of which are named.
    pub wrong: u64,
    pub shown: [Option<Mark>; SHOWN_CHECKSUMS],
}

/// IP fragments of a batch.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Fragments {
    pub fragments: u64,
    /// Datagrams of which all parts came.
    pub complete: u64,
}

/// A datagram of which parts never came.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LostFragments {
    pub source: IpAddr,
    pub destination: IpAddr,
    /// IP's number.
    pub protocol: u8,
    /// The last packet with a part of it; [`Notice::at`] is the first.
    pub last: Mark,
    pub held_bytes: u32,
    /// How long it is, where its last part came.
    pub bytes: Option<u32>,
    /// When all of it was sent again, where that was seen.
    pub resent: Option<Time>,
}

/// Packets between two hosts that carry a VLAN's tag: the first of each batch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Tagged {
    /// The outermost tag and the one inside, if there are two.
    pub vlans: [Option<u16>; 2],
    /// Source and destination.
    pub hosts: [IpAddr; 2],
    pub hardware: [[u8; 6]; 2],
    /// A router sent them on: their time to live is none that hosts begin with.
    pub routed: bool,
}

/// A frame that goes to everybody or to a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Flooded {
    pub cast: Cast,
    pub source: [u8; 6],
    pub holds: SightKind,
    /// On the wire.
    pub bytes: u32,
}
