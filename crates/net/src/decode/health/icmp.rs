//! ICMP (RFC 792, 1191, 1812) and ICMPv6 (RFC 4443) errors into who could not deliver whose packet.

use super::super::ip::Ip;
use super::super::view::View;
use model::{Endpoint, IcmpError, IcmpReason, Transport};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Behind type, code, checksum and four bytes that depend on them stands the packet that is given back.
const QUOTED: usize = 8;

/// The error of an ICMP packet, if it is one and its head was captured.
pub(super) fn error(view: View<'_>, ip: &Ip) -> Option<IcmpError> {
    let (&[kind, code, _, _, a, b, c, d], _) = view.data.split_first_chunk::<QUOTED>()?;
    let reason = match ip.source {
        IpAddr::V4(_) => match (kind, code) {
            (3, 3) => IcmpReason::PortUnreachable,
            (3, 4) => IcmpReason::TooBig(u16::from_be_bytes([c, d]).into()),
            (3, 9 | 10 | 13) => IcmpReason::Prohibited,
            (3, code) => IcmpReason::Unreachable(code),
            (11, 0) => IcmpReason::TimeExceeded,
            (11, 1) => IcmpReason::ReassemblyTimeExceeded,
            _ => return None,
        },
        IpAddr::V6(_) => match (kind, code) {
            (1, 4) => IcmpReason::PortUnreachable,
            (1, 1 | 5 | 6) => IcmpReason::Prohibited,
            (1, code) => IcmpReason::Unreachable(code),
            (2, _) => IcmpReason::TooBig(u32::from_be_bytes([a, b, c, d])),
            (3, 0) => IcmpReason::TimeExceeded,
            (3, 1) => IcmpReason::ReassemblyTimeExceeded,
            _ => return None,
        },
    };
    let quoted = view.data.get(QUOTED..)?;
    let (hosts, number, length, payload) = match quoted {
        [first, ..] if first >> 4 == 4 => v4(quoted)?,
        [first, ..] if first >> 4 == 6 => v6(quoted)?,
        _ => return None,
    };
    let transport = match number {
        6 => Some(Transport::Tcp),
        17 => Some(Transport::Udp),
        _ => None,
    };
    let ports = payload.and_then(|p| p.first_chunk::<4>());
    let flow = transport.zip(ports).map(|(transport, &[s0, s1, d0, d1])| {
        let [source, destination] = hosts;
        let end = |address, port| Endpoint { address, port };
        let source = end(source, u16::from_be_bytes([s0, s1]));
        let destination = end(destination, u16::from_be_bytes([d0, d1]));
        (transport, [source, destination])
    });
    Some(IcmpError {
        from: ip.source,
        reason,
        flow,
        hosts,
        length,
    })
}

type Quoted<'a> = ([IpAddr; 2], u8, u32, Option<&'a [u8]>);

/// Addresses, protocol and length of a quoted header, and what is quoted behind it, if that is the start
/// of what it carried.
fn v4(quoted: &[u8]) -> Option<Quoted<'_>> {
    let &[
        first,
        _,
        l0,
        l1,
        _,
        _,
        f0,
        f1,
        _,
        number,
        _,
        _,
        s0,
        s1,
        s2,
        s3,
        d0,
        d1,
        d2,
        d3,
    ] = quoted.first_chunk()?;
    let source = Ipv4Addr::from([s0, s1, s2, s3]);
    let destination = Ipv4Addr::from([d0, d1, d2, d3]);
    let offset = u16::from_be_bytes([f0, f1]) & 0x1fff;
    let payload = quoted.get(usize::from(first & 15) * 4..);
    Some((
        [source.into(), destination.into()],
        number,
        u16::from_be_bytes([l0, l1]).into(),
        payload.filter(|_| offset == 0),
    ))
}

fn v6(quoted: &[u8]) -> Option<Quoted<'_>> {
    let (header, payload) = quoted.split_first_chunk::<40>()?;
    let &[_, _, _, _, l0, l1, number, _, ref addresses @ ..] = header;
    let (source, destination) = addresses.split_first_chunk::<16>()?;
    let destination: &[u8; 16] = destination.first_chunk()?;
    Some((
        [
            Ipv6Addr::from(*source).into(),
            Ipv6Addr::from(*destination).into(),
        ],
        number,
        u32::from(u16::from_be_bytes([l0, l1])) + 40,
        Some(payload),
    ))
}
