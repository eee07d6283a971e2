//! Tunnels into what they carry: MPLS (RFC 3032) with IP or an Ethernet pseudowire (RFC 4448), GRE
//! (RFC 2784, 2890; PPTP's version 1, RFC 2637), ERSPAN, EtherIP, VXLAN (RFC 7348) and Geneve
//! (RFC 8926). etherparse has none of them.

use super::link;
use super::transport::Ports;
use super::view::{Skip, View};
use super::walk::Layer;
use etherparse::ip_number;

type Inner<'a> = Result<(Layer, View<'a>), Skip>;

const ERSPAN_2: u16 = 0x88be;
const ERSPAN_3: u16 = 0x22eb;
const PPTP: u16 = 0x880b;

/// One label. The stack does not say what follows it, so the bytes must, as in Wireshark.
pub(super) fn mpls(view: View<'_>) -> Inner<'_> {
    let (label, rest) = view.header::<4>("MPLS label")?;
    let last_of_stack = label[2] & 1 == 1;
    if !last_of_stack {
        return Ok((Layer::Mpls, rest));
    }
    let ethernet_at = |at: usize| rest.u16_at(at + 12).is_some_and(link::may_carry_ip);
    match rest.u8_at(0).map(|byte| byte >> 4) {
        // A pseudowire without control word may carry a MAC address that starts with 4 or 6.
        Some(4) if plausible_v4(rest) || !ethernet_at(0) => Ok((Layer::Ip, rest)),
        Some(6) if plausible_v6(rest) || !ethernet_at(0) => Ok((Layer::Ip, rest)),
        Some(0) if ethernet_at(4) => Ok((Layer::Ethernet, rest.skip(4))),
        _ if ethernet_at(0) => Ok((Layer::Ethernet, rest)),
        Some(_) => Err(Skip::NotIp),
        None => Err(rest.short("MPLS payload", 1)),
    }
}

fn plausible_v4(view: View<'_>) -> bool {
    let header_length = view.u8_at(0).map_or(0, |byte| u32::from(byte & 15) * 4);
    let total_length = view.u16_at(2).map_or(0, u32::from);
    header_length >= 20
        && (total_length == 0 || (header_length..=view.wire).contains(&total_length))
}

fn plausible_v6(view: View<'_>) -> bool {
    view.u16_at(4)
        .is_some_and(|length| u32::from(length) + 40 <= view.wire)
}

pub(super) fn gre(view: View<'_>) -> Inner<'_> {
    const CHECKSUM: u16 = 0x8000;
    const ROUTING: u16 = 0x4000;
    const KEY: u16 = 0x2000;
    const SEQUENCE: u16 = 0x1000;
    const ACKNOWLEDGEMENT: u16 = 0x0080;

    let (&[f0, f1, p0, p1], rest) = view.header::<4>("GRE header")?;
    let (flags, protocol) = (u16::from_be_bytes([f0, f1]), u16::from_be_bytes([p0, p1]));
    let optional = |flag, length| if flags & flag != 0 { length } else { 0 };
    match flags & 7 {
        0 => {
            if flags & ROUTING != 0 {
                return Err(view.problem(
                    "unsupported-tunnel",
                    "GRE source routing, flags",
                    flags.into(),
                ));
            }
            let length = optional(CHECKSUM, 4) + optional(KEY, 4) + optional(SEQUENCE, 4);
            let rest = rest.skip(length);
            match protocol {
                // A keepalive: nothing follows that anyone sent to someone else.
                0 => Err(Skip::NotTcpOrUdp(ip_number::GRE.0)),
                // Type I has no sequence number and no header of its own.
                ERSPAN_2 if flags & SEQUENCE == 0 => Ok((Layer::Ethernet, rest)),
                ERSPAN_2 => Ok((Layer::Ethernet, rest.header::<8>("ERSPAN header")?.1)),
                ERSPAN_3 => erspan_3(rest),
                _ => Ok((Layer::EtherType(protocol), rest)),
            }
        }
        1 if protocol == PPTP => {
            let (key, rest) = rest.header::<4>("PPTP header")?;
            let payload_length = u32::from(u16::from_be_bytes([key[0], key[1]]));
            if flags & SEQUENCE == 0 {
                return Err(Skip::NotTcpOrUdp(ip_number::GRE.0));
            }
            let rest = rest.skip(optional(SEQUENCE, 4) + optional(ACKNOWLEDGEMENT, 4));
            Ok((Layer::Ppp, rest.with_length(payload_length.min(rest.wire))))
        }
        version => Err(view.problem("unsupported-tunnel", "GRE version", version.into())),
    }
}

/// ERSPAN type III (draft-foschiano-erspan-03 section 4.3): the last 16 bits say what kind of frame
/// follows, and whether eight more bytes of header do.
fn erspan_3(view: View<'_>) -> Inner<'_> {
    let (header, rest) = view.header::<12>("ERSPAN header")?;
    let tail = u16::from_be_bytes([header[10], header[11]]);
    let rest = rest.skip(if tail & 1 == 1 { 8 } else { 0 });
    match tail >> 10 & 0x1f {
        0 => Ok((Layer::Ethernet, rest)),
        2 => Ok((Layer::Ip, rest)),
        _ => Err(Skip::NotIp),
    }
}

/// Ethernet in IP (RFC 3378): a version nibble of 3 and twelve zero bits.
pub(super) fn ether_ip(view: View<'_>) -> Inner<'_> {
    Ok((Layer::Ethernet, view.header::<2>("EtherIP header")?.1))
}

/// What a UDP datagram of these ports carries, if it is a tunnel's and looks like it. Tunnels send to
/// their port, but load balancers answer from it; 8472 is Linux's VXLAN from before the port was
/// assigned.
#[inline]
pub(super) fn in_udp((source, destination): Ports, view: View<'_>) -> Option<(Layer, View<'_>)> {
    match (source, destination) {
        (_, 4789 | 8472) | (4789 | 8472, _) => {
            let (header, rest) = view.header::<8>("VXLAN header").ok()?;
            // The network identifier's flag must be set, and the last byte is reserved.
            (header[0] & 0x08 != 0 && header[7] == 0).then_some((Layer::Ethernet, rest))
        }
        (_, 6081) | (6081, _) => {
            let (header, rest) = view.header::<8>("Geneve header").ok()?;
            let options = u32::from(header[0] & 0x3f) * 4;
            let protocol = u16::from_be_bytes([header[2], header[3]]);
            let is_version_0 = header[0] >> 6 == 0;
            (is_version_0 && options <= rest.wire)
                .then_some((Layer::EtherType(protocol), rest.skip(options)))
        }
        _ => None,
    }
}
