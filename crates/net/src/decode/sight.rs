//! What a packet's link layer says to whom it goes: for those who look at every packet, whatever it
//! holds. Ethernet's addresses (IEEE 802.3), VLAN tags (802.1Q), the packet type of Linux's cooked
//! captures, and which frames are spanning tree's.

use super::ip::Ip;
use super::{link, mark_of};
use model::{Cast, Packet, Sight, SightKind};

/// Where IEEE 802.1D bridges send to, and Cisco's for each VLAN.
const BRIDGES: [u8; 6] = [0x01, 0x80, 0xc2, 0, 0, 0];
const PER_VLAN: [u8; 6] = [0x01, 0x00, 0x0c, 0xcc, 0xcc, 0xcd];
/// ARP's EtherType, and a SNAP header with it.
const ARP: [u8; 2] = [0x08, 0x06];
const SNAP_ARP: [u8; 8] = [0xaa, 0xaa, 0x03, 0, 0, 0, 0x08, 0x06];

/// The packet with these bytes, whose headers end at `kind`.
pub(super) fn of(packet: &Packet, data: &[u8], ip: &Ip, kind: SightKind) -> Sight {
    let mut sight = Sight {
        order: packet.order,
        at: mark_of(packet),
        length: packet.length.max(packet.captured),
        captured: packet.captured,
        kind,
        cast: Cast::Unknown,
        vlan: None,
        addresses: None,
        ports: None,
    };
    match packet.link_type.0 {
        1 => ethernet(data, &mut sight),
        // Linux's packet type: to us, broadcast, multicast, to another host, sent by us.
        113 => sight.cast = cooked(data.get(1)),
        276 => sight.cast = cooked(data.get(10)),
        _ => {}
    }
    sight.addresses = match kind {
        SightKind::Arp | SightKind::Stp | SightKind::Other | SightKind::Unread => None,
        _ => Some([ip.source, ip.destination]),
    };
    sight
}

fn ethernet(data: &[u8], sight: &mut Sight) {
    let Some((destination, rest)) = data.split_first_chunk::<6>() else {
        return;
    };
    sight.cast = match destination {
        [0xff, 0xff, 0xff, 0xff, 0xff, 0xff] => Cast::Broadcast,
        [first, ..] if first & 1 == 1 => Cast::Multicast,
        _ => Cast::Unicast,
    };
    if let Some(&[high, low, tag, number]) = rest.get(6..).and_then(|r| r.first_chunk())
        && link::is_vlan(u16::from_be_bytes([high, low]))
    {
        sight.vlan = Some(u16::from_be_bytes([tag, number]) & 0x0fff);
    }
    if sight.kind != SightKind::Other {
        return;
    }
    let behind = rest.get(6..).unwrap_or_default();
    if [BRIDGES, PER_VLAN].contains(destination) {
        sight.kind = SightKind::Stp;
    } else if behind.starts_with(&ARP) || behind.get(2..).is_some_and(|b| b.starts_with(&SNAP_ARP))
    {
        // Of another network or hardware than IPv4 over Ethernet.
        sight.kind = SightKind::Arp;
    }
}

fn cooked(packet_type: Option<&u8>) -> Cast {
    match packet_type {
        Some(0 | 3 | 4) => Cast::Unicast,
        Some(1) => Cast::Broadcast,
        Some(2) => Cast::Multicast,
        _ => Cast::Unknown,
    }
}
