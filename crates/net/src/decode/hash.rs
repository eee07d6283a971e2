//! Hashes of a flow, and of what decides who owns it, the same for both directions and in every run.
//!
//! They decide which thread owns a packet and where a connection stands in its table, so they must
//! not vary between runs and must spread addresses and ports that differ in a few low bits. The ends are multiplied
//! with one another, which is symmetric and tells apart whom a sum would not, and the product is folded. Hashes of
//! sequences are not symmetric, and sorting the ends first costs a branch that cannot be predicted.

use crate::fold::{K, fold};
use model::{Endpoint, Transport};
use std::net::IpAddr;

#[inline]
fn host(address: IpAddr) -> u64 {
    match address {
        IpAddr::V4(a) => u32::from(a).into(),
        IpAddr::V6(a) => {
            let bits = u128::from(a);
            fold(bits as u64 ^ K[1], (bits >> 64) as u64 ^ K[2])
        }
    }
}

/// Ports of UDP at which everybody on the link is asked, so that the answer comes from another address
/// than the question went to: DHCP, NetBIOS names, mDNS, LLMNR. One thread owns all of them.
const ASKED_OF_EVERYBODY: [u16; 7] = [67, 68, 137, 546, 547, 5353, 5355];

/// Whether connections to a port of TCP have nothing in common, however many there are between two hosts: those of
/// databases are thousands. Calls of RPC are sent again on another connection, and so are owned by hosts.
const fn is_alone(port: u16) -> bool {
    matches!(port, 1433 | 1521 | 3306 | 5432)
}

/// `flow_hash` and `owner_hash` of a segment.
#[inline]
pub(super) fn hashes(a: Endpoint, b: Endpoint, transport: Transport) -> (u64, u64) {
    let (host_a, host_b) = (host(a.address), host(b.address));
    let both = |a: u64, b: u64| fold(a ^ K[0], b ^ K[0]);
    let end = |host: u64, port: u16| host.rotate_left(16) ^ u64::from(port);
    let flow = both(end(host_a, a.port), end(host_b, b.port));
    let pair = both(host_a, host_b);
    let everybody = |port| ASKED_OF_EVERYBODY.contains(&port);
    let (transport, owner) = match transport {
        Transport::Tcp if is_alone(a.port) || is_alone(b.port) => (6, flow),
        Transport::Tcp => (6, pair),
        Transport::Udp if everybody(a.port) || everybody(b.port) => (17, 0),
        Transport::Udp => (17, pair),
    };
    (flow ^ transport, owner)
}
