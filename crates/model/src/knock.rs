//! Packets by which a host asks for something before there is a call: who has this address, is there
//! somebody at this port. What it waits for while nobody answers is told by them alone.

use crate::{Endpoint, Mark};
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;

/// What kind of packet it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum KnockKind {
    /// TCP: a connection is asked for, granted, refused or torn down.
    Syn,
    SynAck,
    Reset,
    /// A UDP datagram of which nobody knows what it says.
    Datagram,
    /// One that asks for names or tells them.
    Lookup,
}

/// A packet of TCP or UDP that may begin or end a wait without being a call's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Knock {
    pub order: u64,
    pub at: Mark,
    pub source: Endpoint,
    pub destination: Endpoint,
    pub kind: KnockKind,
    /// The first two bytes of a datagram: where all protocols that find names have the number of the
    /// question. 0 for TCP.
    pub id: u16,
}

/// An ARP packet for IPv4 over Ethernet (RFC 826).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Arp {
    pub order: u64,
    pub at: Mark,
    /// 1: who has the target's address? 2: the sender has its own.
    pub operation: u16,
    pub sender: Ipv4Addr,
    pub sender_hardware: [u8; 6],
    pub target: Ipv4Addr,
    pub target_hardware: [u8; 6],
}

impl Arp {
    /// Asks everybody for an address other than its own. A request to one host only makes sure that it
    /// is still there, while packets go on.
    #[must_use]
    pub fn is_question(&self) -> bool {
        let unknown = [[0; 6], [0xff; 6]].contains(&self.target_hardware);
        self.operation == 1
            && unknown
            && self.sender != self.target
            && !self.sender.is_unspecified()
    }
}
