//! Hashes of a flow, and of what decides who owns it, the same for both directions and in every run.
//!
//! They decide which thread owns a packet and where a connection stands in its table, so they must
//! not vary between runs and must spread addresses and ports that differ in a few low bits. Each end
//! is mixed on its own by multiplying 64 by 64 bits and folding the product (what foldhash does),
//! the two are added, which is symmetric and unlike exclusive-or keeps equal ends apart from
//! nothing, and the sum is mixed once more. foldhash itself hashes sequences, which are not
//! symmetric; sorting the ends first costs a branch that cannot be predicted.

use model::{Endpoint, Transport};
use std::net::IpAddr;

/// Digits of pi.
const K: [u64; 4] = [
    0x243f_6a88_85a3_08d3,
    0x1319_8a2e_0370_7344,
    0xa409_3822_299f_31d0,
    0x082e_fa98_ec4e_6c89,
];

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[inline]
fn address(address: IpAddr) -> u64 {
    let bits = match address {
        IpAddr::V4(a) => u128::from(u32::from(a)),
        IpAddr::V6(a) => u128::from(a),
    };
    fold(bits as u64 ^ K[0], (bits >> 64) as u64 ^ K[1])
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
    let (address_a, address_b) = (address(a.address), address(b.address));
    let endpoint = |address: u64, port: u16| fold(address ^ u64::from(port), K[2]);
    let flow = endpoint(address_a, a.port).wrapping_add(endpoint(address_b, b.port));
    let everybody = |port| ASKED_OF_EVERYBODY.contains(&port);
    let pair = address_a.wrapping_add(address_b);
    let (transport, owner) = match transport {
        Transport::Tcp if is_alone(a.port) || is_alone(b.port) => (6, flow),
        Transport::Tcp => (6, pair),
        Transport::Udp if everybody(a.port) || everybody(b.port) => (17, 0),
        Transport::Udp => (17, pair),
    };
    (fold(flow ^ transport, K[3]), fold(owner, K[3]))
}
