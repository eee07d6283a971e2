//! IPv4 (RFC 791) and IPv6 (RFC 8200) headers and IPv6 extension headers into the payload.
//!
//! The lengths in the headers are believed, also beyond the end of the frame, because mirrors and
//! packet slicers cut frames short and TCP's sequence numbers follow the headers. A length of zero
//! means that the sender's offload left it to the hardware (or that it did not fit, BIG TCP): then
//! the frame's own length counts.

use super::fragment::Fragment;
use super::view::{Note, Skip, View};
use super::walk::Layer;
use crate::Ecn;
use etherparse::err::{ipv4, ipv6};
use etherparse::{Ipv4HeaderSlice, Ipv6HeaderSlice, ip_number};
use model::limits;
use std::net::{IpAddr, Ipv4Addr};

type Inner<'a> = Result<(Layer, View<'a>), Skip>;

/// What the innermost IP header says that a segment needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ip {
    pub(super) source: IpAddr,
    pub(super) destination: IpAddr,
    pub(super) id: Option<u16>,
    pub(super) ttl: u8,
    pub(super) ecn: Ecn,
}

impl Ip {
    pub(super) const NONE: Ip = Ip {
        source: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        destination: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        id: None,
        ttl: 0,
        ecn: Ecn(0),
    };
}

#[inline]
pub(super) fn header<'a>(view: View<'a>, ip: &mut Ip, notes: &mut Vec<Note>) -> Inner<'a> {
    match view.u8_at(0).map(|byte| byte >> 4) {
        Some(4) => v4(view, ip, notes),
        Some(6) => v6(view, ip, notes),
        Some(version) => Err(view.problem("bogus-ip-header", "IP version", version.into())),
        None => Err(view.short("IP header", 20)),
    }
}

#[inline]
fn v4<'a>(view: View<'a>, ip: &mut Ip, notes: &mut Vec<Note>) -> Inner<'a> {
    let header = Ipv4HeaderSlice::from_slice(view.data).map_err(|error| match error {
        ipv4::HeaderSliceError::Len(e) => view.short("IPv4 header", e.required_len as u32),
        ipv4::HeaderSliceError::Content(_) => {
            let length = view.u8_at(0).map_or(0, |byte| u32::from(byte & 15) * 4);
            view.problem("bogus-ip-header", "IPv4 header length", length)
        }
    })?;
    let header_length = u32::from(header.ihl()) * 4;
    let packet = match u32::from(header.total_len()) {
        0 => view,
        length if length < header_length => {
            return Err(view.problem("bogus-ip-length", "IPv4 total length", length));
        }
        length => {
            if length > view.wire {
                notes.push(view.note("ip-length-beyond-frame", "IPv4 total length", length));
            }
            view.with_length(length)
        }
    };
    let payload = packet.skip(header_length);
    let id = header.identification();
    *ip = Ip {
        source: IpAddr::V4(header.source_addr()),
        destination: IpAddr::V4(header.destination_addr()),
        id: (id != 0 || !header.dont_fragment()).then_some(id),
        ttl: header.ttl(),
        ecn: Ecn(header.ecn().value()),
    };
    let protocol = header.protocol().0;
    if header.is_fragmenting_payload() {
        let fragment = Fragment {
            id: id.into(),
            offset: u32::from(header.fragments_offset().value()) * 8,
            more: header.more_fragments(),
            protocol,
        };
        return Ok((Layer::Fragment(Box::new(fragment)), payload));
    }
    Ok((Layer::Payload(protocol), payload))
}

fn v6<'a>(view: View<'a>, ip: &mut Ip, notes: &mut Vec<Note>) -> Inner<'a> {
    let header = Ipv6HeaderSlice::from_slice(view.data).map_err(|error| match error {
        ipv6::HeaderSliceError::Len(e) => view.short("IPv6 header", e.required_len as u32),
        ipv6::HeaderSliceError::Content(_) => view.problem("bogus-ip-header", "IPv6 version", 0),
    })?;
    let next = header.next_header();
    let rest = view.skip(40);
    let length = match u32::from(header.payload_length()) {
        0 if next == ip_number::IPV6_HEADER_HOP_BY_HOP => jumbo_length(rest),
        0 => None,
        length => Some(length),
    };
    let payload = match length {
        None => rest,
        Some(length) if length > limits::PACKET_BYTES => {
            return Err(view.problem("bogus-ip-length", "IPv6 jumbo length", length));
        }
        Some(length) => {
            if length > rest.wire {
                notes.push(view.note("ip-length-beyond-frame", "IPv6 payload length", length));
            }
            rest.with_length(length)
        }
    };
    *ip = Ip {
        source: IpAddr::V6(header.source_addr()),
        destination: IpAddr::V6(header.destination_addr()),
        id: None,
        ttl: header.hop_limit(),
        ecn: Ecn(header.traffic_class() & 3),
    };
    Ok((Layer::Payload(next.0), payload))
}

/// The jumbo payload option (RFC 2675) among the options of a hop-by-hop header.
fn jumbo_length(view: View<'_>) -> Option<u32> {
    const PAD1: u8 = 0;
    const JUMBO: u8 = 0xc2;
    let length = (usize::from(view.u8_at(1)?) + 1) * 8;
    let mut options = view.data.get(2..length.min(view.data.len()))?;
    loop {
        options = match *options {
            [PAD1, ref rest @ ..] => rest,
            [JUMBO, 4, a, b, c, d, ..] => return Some(u32::from_be_bytes([a, b, c, d])),
            [_, length, ref rest @ ..] => rest.get(usize::from(length)..)?,
            _ => return None,
        }
    }
}

/// What follows an IPv6 extension header.
pub(super) fn extension(number: u8, view: View<'_>) -> Inner<'_> {
    const FRAGMENT: u8 = ip_number::IPV6_FRAGMENTATION_HEADER.0;
    match number {
        FRAGMENT => fragment(view),
        // Hop-by-hop, routing, destination, mobility, host identity, shim6.
        0 | 43 | 60 | 135 | 139 | 140 => options(view),
        _ => Err(Skip::NotTcpOrUdp(number)),
    }
}

fn options(view: View<'_>) -> Inner<'_> {
    let (&[next, length], _) = view.header::<2>("IPv6 extension header")?;
    skip_extension(view, next, (u32::from(length) + 1) * 8)
}

/// RFC 4302, which counts in units of four bytes; also found behind IPv4.
pub(super) fn authentication(view: View<'_>) -> Inner<'_> {
    let (&[next, length], _) = view.header::<2>("authentication header")?;
    skip_extension(view, next, (u32::from(length) + 2) * 4)
}

fn skip_extension(view: View<'_>, next: u8, length: u32) -> Inner<'_> {
    if length > view.wire {
        return Err(view.problem("bogus-ip-header", "extension header length", length));
    }
    Ok((Layer::Payload(next), view.skip(length)))
}

fn fragment(view: View<'_>) -> Inner<'_> {
    let (header, payload) = view.header::<8>("IPv6 fragment header")?;
    let &[protocol, _, o0, o1, i0, i1, i2, i3] = header;
    let position = u16::from_be_bytes([o0, o1]);
    let fragment = Fragment {
        id: u32::from_be_bytes([i0, i1, i2, i3]),
        offset: u32::from(position & 0xfff8),
        more: position & 1 == 1,
        protocol,
    };
    // RFC 6946: a fragment that is the whole datagram stands alone.
    if fragment.offset == 0 && !fragment.more {
        return Ok((Layer::Payload(protocol), payload));
    }
    Ok((Layer::Fragment(Box::new(fragment)), payload))
}
