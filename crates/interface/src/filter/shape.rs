//! How conditions are joined, and what the conditions of an expression are.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Conditions, joined.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Shape<T> {
    Is(T),
    Not(Box<Shape<T>>),
    /// All of them; at least one.
    All(Vec<Shape<T>>),
    /// Any of them; at least one.
    Any(Vec<Shape<T>>),
}

impl<T> Shape<T> {
    pub(super) fn not(self) -> Shape<T> {
        Shape::Not(Box::new(self))
    }

    /// Both; chains stay flat, so that depth is that of parentheses.
    pub(super) fn and(self, other: Shape<T>) -> Shape<T> {
        match self {
            Shape::All(mut all) => {
                all.push(other);
                Shape::All(all)
            }
            one => Shape::All(vec![one, other]),
        }
    }

    pub(super) fn or(self, other: Shape<T>) -> Shape<T> {
        match self {
            Shape::Any(mut any) => {
                any.push(other);
                Shape::Any(any)
            }
            one => Shape::Any(vec![one, other]),
        }
    }
}

/// A primitive of pcap-filter(7), and where it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Primitive {
    /// How many `vlan` stand before it: it looks behind so many tags.
    pub(super) tags: u32,
    pub(super) column: usize,
    pub(super) what: What,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum What {
    Network(Network),
    Transport(Transport),
    /// Addresses that are these under a mask; of this protocol, or of any that has them.
    V4 {
        of: Option<Network>,
        end: End,
        address: Ipv4Addr,
        mask: Ipv4Addr,
    },
    V6 {
        end: End,
        address: Ipv6Addr,
        /// Bits of the network.
        bits: u8,
    },
    Ports {
        of: Option<Transport>,
        end: End,
        first: u16,
        last: u16,
    },
    Vlan(Option<u16>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Network {
    Ip,
    Ip6,
    Arp,
    Rarp,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Transport {
    Tcp,
    Udp,
    Sctp,
    Icmp,
    Icmp6,
}

/// Whose address or port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    Source,
    Destination,
    Either,
    Both,
}
