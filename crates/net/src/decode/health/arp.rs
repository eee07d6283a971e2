//! ARP packets that say what cannot be (RFC 826, 5227).

use model::{ArpFault, InvalidArp};
use std::net::Ipv4Addr;

/// Operations with a meaning (IANA's registry of ARP parameters).
const OPERATIONS: std::ops::RangeInclusive<u16> = 1..=25;
/// Groups in whose name clusters of Windows answer on purpose.
const CLUSTERS: [[u8; 2]; 2] = [[0x03, 0xbf], [0x01, 0x00]];

/// What is wrong with an ARP packet, if anything is. It stands behind Ethernet's addresses and tags,
/// from the EtherType on; `source` is the frame's, `to` the one host that it goes to, if it does.
pub(super) fn fault(behind: &[u8], source: [u8; 6], to: Option<[u8; 6]>) -> Option<InvalidArp> {
    let is = |fault| Some(InvalidArp { fault, source });
    // Ethernet and IPv4: of others nobody knows here what is right.
    let &[_, _, 0, 1, 8, 0, hardware, protocol, o0, o1] = behind.first_chunk()? else {
        return None;
    };
    if [hardware, protocol] != [6, 4] {
        return is(ArpFault::Lengths);
    }
    let operation = u16::from_be_bytes([o0, o1]);
    if !OPERATIONS.contains(&operation) {
        return is(ArpFault::Operation);
    }
    let (sender, rest) = behind.get(10..)?.split_first_chunk::<6>()?;
    let address = Ipv4Addr::from(*rest.first_chunk::<4>()?);
    let [first, second, ..] = *sender;
    let group = first & 1 == 1 && !CLUSTERS.contains(&[first, second]);
    if group || *sender == [0; 6] {
        return is(ArpFault::SenderHardware);
    }
    if address.is_broadcast()
        || address.is_multicast()
        || address.is_loopback()
        || address.is_unspecified() && operation == 2
    {
        return is(ArpFault::SenderAddress);
    }
    if *sender != source {
        return is(ArpFault::OtherSource);
    }
    let target = rest.get(4..)?.first_chunk::<6>()?;
    match (operation, to) {
        (2, Some(host)) if *target != host => is(ArpFault::TargetHardware),
        _ => None,
    }
}
