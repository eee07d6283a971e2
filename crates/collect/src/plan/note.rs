//! What was found and hinders nothing, but should be known.

use super::Side;
use crate::clock::Offset;
use std::fmt;
use std::net::IpAddr;

/// What should be known of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Note {
    /// The port was found among what is open.
    Port(u16),
    /// Nobody at the server has the client's address.
    Translated {
        client: IpAddr,
        port: u16,
    },
    /// The server itself does not have the address to which the client sends.
    Virtual {
        server: IpAddr,
    },
    /// With so few bytes of a packet, what begins deep in a super-segment is hidden.
    Offload {
        side: Side,
        snaplen: u32,
    },
    ClocksDiffer(Offset),
    /// What the server asks itself may pass by another one.
    OneInterface {
        interface: String,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::Port(port) => write!(
                f,
                "port {port} is taken, the only one to which the client has connections there"
            ),
            Note::Translated { client, port } => write!(
                f,
                "no connection at the server comes from {client}: addresses are translated on the way, and there all of \
                 port {port} is captured; --client-address says which address the server sees"
            ),
            Note::Virtual { server } => write!(
                f,
                "{server}, to which the client sends, is none of the server's own addresses: something between them passes it on"
            ),
            Note::Offload { side, snaplen } => write!(
                f,
                "the {} hands packets on in larger pieces (offload): of what begins behind byte {snaplen} of one nothing is \
                 seen; --snaplen 0 takes whole packets",
                side.name()
            ),
            Note::OneInterface { interface } => write!(
                f,
                "the server captures on {interface} alone: what it asks others by another \
                 interface is not in it; --server-interface names one"
            ),
            Note::ClocksDiffer(offset) => write!(
                f,
                "the server's clock is {} s {} the client's, within {} ms, as measured over the ways there",
                decimal(offset.ns.unsigned_abs(), 1_000_000_000),
                if offset.ns < 0 { "behind" } else { "ahead of" },
                decimal(offset.error_ns.unsigned_abs(), 1_000_000)
            ),
        }
    }
}

/// With three digits behind the point.
fn decimal(ns: u64, unit: u64) -> String {
    format!("{}.{:03}", ns / unit, ns % unit * 1_000 / unit)
}
