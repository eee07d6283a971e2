//! Link layers into IP: Ethernet with any stack of VLAN tags, IEEE 802.3 LLC/SNAP, Linux cooked
//! captures, BSD loopback, raw IP, PPPoE and PPP.
//!
//! Numbers are those of the pcap link-type registry (<https://www.tcpdump.org/linktypes.html>), the
//! IEEE 802 numbers and PPP's (RFC 1661, 2516). etherparse has Ethernet, VLAN and SLL, but stops at
//! the third tag and at hardware types it does not know, and lacks the rest; a common form for all
//! of them is shorter than both together.

use super::view::{Skip, View};
use super::walk::Layer;
use etherparse::ether_type;
use model::LinkType;

type Inner<'a> = Result<(Layer, View<'a>), Skip>;

const IPV4: u16 = ether_type::IPV4.0;
const IPV6: u16 = ether_type::IPV6.0;
/// 802.1Q, 802.1ad, and the tags that were in use before 802.1ad was.
const VLAN: [u16; 5] = [0x8100, 0x88a8, 0x9100, 0x9200, 0x9300];
const MPLS: [u16; 2] = [0x8847, 0x8848];
const PPPOE_SESSION: u16 = 0x8864;
/// GRE's name for an Ethernet frame (RFC 1701), also used by Geneve.
pub(super) const TRANSPARENT_ETHERNET: u16 = 0x6558;
/// Values up to here are an IEEE 802.3 length, not a type.
const LENGTH_MAX: u16 = 1500;
/// Linux's cooked captures give raw 802.2 frames and Novell's 802.3 frames such types.
const COOKED_802_2: u16 = 0x0004;

/// What a packet of this link type starts with; `None` for a type that is not supported.
pub(super) fn first(link_type: LinkType) -> Option<Layer> {
    Some(match link_type.0 {
        1 => Layer::Ethernet,
        0 | 108 => Layer::Loopback,
        9 | 50 => Layer::Ppp,
        12 | 14 | 101 | 228 | 229 => Layer::Ip,
        51 => Layer::EtherType(PPPOE_SESSION),
        113 => Layer::Cooked,
        276 => Layer::Cooked2,
        _ => return None,
    })
}

#[inline]
pub(super) fn ethernet(view: View<'_>) -> Inner<'_> {
    let (header, rest) = view.header::<14>("Ethernet header")?;
    Ok((
        Layer::EtherType(u16::from_be_bytes([header[12], header[13]])),
        rest,
    ))
}

/// What follows an EtherType, or an 802.3 length in its place.
#[inline]
pub(super) fn ether_type<'a>(value: u16, view: View<'a>) -> Inner<'a> {
    if value == IPV4 || value == IPV6 {
        Ok((Layer::Ip, view))
    } else if VLAN.contains(&value) {
        let (tag, rest) = view.header::<4>("VLAN tag")?;
        Ok((Layer::EtherType(u16::from_be_bytes([tag[2], tag[3]])), rest))
    } else if MPLS.contains(&value) {
        Ok((Layer::Mpls, view))
    } else if value == PPPOE_SESSION {
        pppoe(view)
    } else if value == TRANSPARENT_ETHERNET {
        Ok((Layer::Ethernet, view))
    } else if value == COOKED_802_2 {
        llc(view)
    } else if value <= LENGTH_MAX {
        llc(view.with_length(view.wire.min(u32::from(value))))
    } else if value == ether_type::ARP.0 {
        Err(arp(view))
    } else {
        Err(Skip::NotIp)
    }
}

/// Bytes of an ARP packet for IPv4 over Ethernet (RFC 826).
pub(super) const ARP_BYTES: usize = 28;

#[cold]
fn arp(view: View<'_>) -> Skip {
    /// Ethernet, IPv4, and the lengths of their addresses.
    const IPV4_OVER_ETHERNET: [u8; 6] = [0, 1, 8, 0, 6, 4];
    match view.header::<ARP_BYTES>("ARP packet") {
        Ok((packet, _)) if packet.starts_with(&IPV4_OVER_ETHERNET) => Skip::Arp(Box::new(*packet)),
        _ => Skip::NotIp,
    }
}

/// Whether an EtherType is a VLAN tag's.
pub(super) fn is_vlan(value: u16) -> bool {
    VLAN.contains(&value)
}

/// Whether an EtherType says that IP may follow: what tells an Ethernet header from other bytes.
pub(super) fn may_carry_ip(value: u16) -> bool {
    value == IPV4
        || value == IPV6
        || value == PPPOE_SESSION
        || VLAN.contains(&value)
        || MPLS.contains(&value)
}

/// IEEE 802.2 LLC: IP by its own service access point, or a SNAP header with an EtherType.
fn llc(view: View<'_>) -> Inner<'_> {
    match *view.header::<3>("LLC header")?.0 {
        [0x06, 0x06, 0x03] => Ok((Layer::Ip, view.skip(3))),
        [0xaa, 0xaa, 0x03] => {
            let (snap, rest) = view.header::<8>("SNAP header")?;
            match *snap {
                // The second is 802.1H's, for bridges.
                [_, _, _, 0, 0, 0, a, b] | [_, _, _, 0, 0, 0xf8, a, b] => {
                    Ok((Layer::EtherType(u16::from_be_bytes([a, b])), rest))
                }
                _ => Err(Skip::NotIp),
            }
        }
        _ => Err(Skip::NotIp),
    }
}

/// LINKTYPE_LINUX_SLL: what `-i any` gave before libpcap 1.10.
pub(super) fn cooked(view: View<'_>) -> Inner<'_> {
    let (header, rest) = view.header::<16>("Linux cooked header")?;
    Ok((
        Layer::EtherType(u16::from_be_bytes([header[14], header[15]])),
        rest,
    ))
}

/// LINKTYPE_LINUX_SLL2: the protocol comes first.
pub(super) fn cooked2(view: View<'_>) -> Inner<'_> {
    let (header, rest) = view.header::<20>("Linux cooked header, version 2")?;
    Ok((
        Layer::EtherType(u16::from_be_bytes([header[0], header[1]])),
        rest,
    ))
}

/// BSD loopback: an address family in the byte order of the host that captured, or (OpenBSD) of
/// the network. The families for IPv6 are those of Linux, NetBSD, FreeBSD and macOS.
pub(super) fn loopback(view: View<'_>) -> Inner<'_> {
    let (header, rest) = view.header::<4>("loopback header")?;
    let family = u32::from_le_bytes(*header);
    let family = if family > 0xffff {
        family.swap_bytes()
    } else {
        family
    };
    match family {
        2 | 10 | 24 | 28 | 30 => Ok((Layer::Ip, rest)),
        _ => Err(Skip::NotIp),
    }
}

/// PPPoE session stage (RFC 2516 section 4).
fn pppoe(view: View<'_>) -> Inner<'_> {
    let (header, rest) = view.header::<6>("PPPoE header")?;
    let length = u32::from(u16::from_be_bytes([header[4], header[5]]));
    if header[1] != 0 {
        return Err(Skip::NotIp);
    }
    Ok((Layer::Ppp, rest.with_length(length.min(rest.wire))))
}

/// PPP (RFC 1661 section 2, 1662 section 3.1): address and control bytes may be there or not, and
/// the protocol may be compressed to its odd low byte.
pub(super) fn ppp(view: View<'_>) -> Inner<'_> {
    let view = match view.u16_at(0) {
        // The second is Cisco's HDLC, whose protocol is an EtherType.
        Some(0xff03) => view.skip(2),
        Some(0x0f00 | 0x8f00) => {
            let (header, rest) = view.header::<4>("Cisco HDLC header")?;
            let value = u16::from_be_bytes([header[2], header[3]]);
            return Ok((Layer::EtherType(value), rest));
        }
        _ => view,
    };
    let (&[first], rest) = view.header::<1>("PPP protocol")?;
    let (protocol, rest) = if first & 1 == 1 {
        (u16::from(first), rest)
    } else {
        let (&[second], rest) = rest.header::<1>("PPP protocol")?;
        (u16::from_be_bytes([first, second]), rest)
    };
    match protocol {
        0x0021 | 0x0057 => Ok((Layer::Ip, rest)),
        0x0281 | 0x0283 => Ok((Layer::Mpls, rest)),
        _ => Err(Skip::NotIp),
    }
}
