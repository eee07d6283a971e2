//! Packets into packets that may be shown to others: pseudonyms for addresses, and zeros for what was
//! said.
//!
//! What stays: link headers, VLANs, labels and tunnels; of IP and TCP what says how packets flow (lengths,
//! identifications, times to live, sequence numbers, flags, windows, the options that TCP itself lives by);
//! UDP headers. What goes: addresses at every layer, options that may hold one, every byte of payload, and
//! everything of packets that are neither TCP nor UDP (of ARP the addresses become pseudonyms). Checksums
//! are right afterwards, also where they were not before.
//!
//! Of ONC-RPC's messages (RFC 5531) record mark, XID and type stay, and of a call program, version and
//! procedure, so that calls can be paired: credentials and arguments become zeros, which read as none.
//! Messages are followed through TCP's stream by their record marks.

use super::link;
use super::outline::{Flow, Outline};
use super::view::View;
use super::walk::{Innermost, Layer, walk_past};
use super::{Ip, Skip};
use hashbrown::HashMap;
use model::{LinkType, limits};
use pseudonyms::Anonymiser;
use std::net::IpAddr;
use std::ops::Range;

const TCP: u8 = 6;
const UDP: u8 = 17;

/// A header as it stands in the packet, up to `end`.
struct Header {
    layer: Layer,
    start: usize,
    end: usize,
    /// Its length with all that it carries, on the wire.
    wire: u32,
}

/// Changes the packets of one capture, in their order.
pub struct PacketAnonymiser<'a> {
    names: &'a Anonymiser,
    /// Sequence number at which the next RPC message of a direction begins.
    messages: HashMap<(Flow, bool), u32, foldhash::fast::FixedState>,
}

impl<'a> PacketAnonymiser<'a> {
    #[must_use]
    pub fn new(names: &'a Anonymiser) -> PacketAnonymiser<'a> {
        PacketAnonymiser {
            names,
            messages: HashMap::default(),
        }
    }

    /// Changes a packet's captured bytes; `length` is its length on the wire.
    pub fn packet(&mut self, link_type: LinkType, bytes: &mut [u8], length: u32) {
        let Some(first) = link::first(link_type) else {
            bytes.fill(0);
            return;
        };
        let outline = Outline::of(link_type, bytes, length);
        let (headers, payload, kind) = headers(first, bytes, length);
        let kept = match kind {
            Payload::Tcp => {
                let wire = headers
                    .last()
                    .map_or(0, |h| (h.wire as usize).saturating_sub(h.end - h.start));
                self.kept_of_stream(outline.as_ref(), behind(bytes, payload), wire)
            }
            Payload::Udp => vec![rpc(behind(bytes, payload), 0)],
            Payload::Fragment(true) => vec![0..8, shifted(rpc(behind(bytes, payload + 8), 0), 8)],
            Payload::Fragment(false) | Payload::None => Vec::new(),
        };
        let (arp, saved) = match headers.last() {
            Some(h) if matches!(h.layer, Layer::EtherType(0x0806 | 0x8035)) => {
                (true, vec![(payload, slice(bytes, payload, 28).to_vec())])
            }
            _ => {
                let save = |r: &Range<usize>| {
                    (
                        payload + r.start,
                        slice(bytes, payload + r.start, r.len()).to_vec(),
                    )
                };
                (false, kept.iter().map(save).collect::<Vec<_>>())
            }
        };
        if let Some(rest) = bytes.get_mut(payload.min(bytes.len())..) {
            rest.fill(0);
        }
        for (at, saved) in saved {
            put(bytes, at, &saved);
        }
        if arp {
            self.arp(bytes, payload);
        }
        // From the outside in: checksums of what IP carries are of its addresses too.
        for (i, header) in headers.iter().enumerate() {
            let ip = headers
                .get(..i)
                .and_then(|before| before.iter().rev().find(|h| h.layer == Layer::Ip));
            self.header(bytes, header, ip, kind);
        }
    }

    fn header(&self, bytes: &mut [u8], h: &Header, ip: Option<&Header>, kind: Payload) {
        let at = h.start;
        match h.layer {
            Layer::Ethernet => {
                self.mac(bytes, at);
                self.mac(bytes, at + 6);
            }
            Layer::Cooked => self.cooked(bytes, at + 6, half(bytes, at + 4)),
            Layer::Cooked2 => {
                let length = bytes.get(at + 11).copied().unwrap_or(0);
                self.cooked(bytes, at + 12, length.into());
            }
            Layer::Ip => self.ip(bytes, h),
            Layer::Payload(TCP) => {
                tcp_options(bytes, at + 20, h.end);
                transport_checksum(bytes, h, ip, TCP, at + 16, h.wire);
            }
            Layer::Payload(UDP) if half(bytes, at + 6) != 0 => {
                // What a tunnel carries was changed, and need not be summed (RFC 6935).
                let tunnel = h.end > at + 8;
                put(bytes, at + 6, &[0, 0]);
                if tunnel {
                    // Geneve's options.
                    zero(bytes, at + 16, h.end);
                } else {
                    transport_checksum(bytes, h, ip, UDP, at + 6, h.wire);
                }
            }
            // Routing, destination options, mobility, host identity, shim6: they may hold addresses.
            Layer::Payload(43 | 60 | 135 | 139 | 140) => zero(bytes, at + 2, h.end),
            // The authentication header's value.
            Layer::Payload(51) => zero(bytes, at + 12, h.end),
            Layer::Fragment(_) if kind == Payload::Fragment(true) && half(bytes, at + 6) != 0 => {
                let whole = u32::from(half(bytes, at + 4));
                transport_checksum(bytes, h, ip, UDP, at + 6, whole);
            }
            _ => {}
        }
    }

    fn mac(&self, bytes: &mut [u8], at: usize) {
        if let Some(mac) = bytes.get(at..).and_then(|b| b.first_chunk::<6>()) {
            let new = self.names.mac(*mac);
            put(bytes, at, &new);
        } else {
            zero(bytes, at, at + 6);
        }
    }

    /// The eight bytes that Linux has for an address of the link layer, of which `length` are used.
    fn cooked(&self, bytes: &mut [u8], at: usize, length: u16) {
        if length == 6 {
            self.mac(bytes, at);
            zero(bytes, at + 6, at + 8);
        } else {
            zero(bytes, at, at + 8);
        }
    }

    fn v4(&self, bytes: &mut [u8], at: usize) {
        if let Some(address) = bytes.get(at..).and_then(|b| b.first_chunk::<4>()) {
            if let IpAddr::V4(new) = self.names.address(IpAddr::from(*address)) {
                put(bytes, at, &new.octets());
            }
        } else {
            zero(bytes, at, at + 4);
        }
    }

    fn v6(&self, bytes: &mut [u8], at: usize) {
        if let Some(address) = bytes.get(at..).and_then(|b| b.first_chunk::<16>()) {
            if let IpAddr::V6(new) = self.names.address(IpAddr::from(*address)) {
                put(bytes, at, &new.octets());
            }
        } else {
            zero(bytes, at, at + 16);
        }
    }

    fn ip(&self, bytes: &mut [u8], h: &Header) {
        let at = h.start;
        let first = bytes.get(at).copied().unwrap_or(0);
        if first >> 4 == 6 {
            self.v6(bytes, at + 8);
            self.v6(bytes, at + 24);
            return;
        }
        self.v4(bytes, at + 12);
        self.v4(bytes, at + 16);
        let end = at + usize::from(first & 15) * 4;
        // Options that do nothing in place of those that record routes.
        if let Some(options) = bytes.get_mut(at + 20..end) {
            options.fill(1);
        }
        put(bytes, at + 10, &[0, 0]);
        let checksum = !fold(sum(slice(bytes, at, end - at)));
        put(bytes, at + 10, &checksum.to_be_bytes());
    }

    /// RFC 826: hardware and protocol addresses of sender and target.
    fn arp(&self, bytes: &mut [u8], at: usize) {
        if slice(bytes, at + 4, 2) == [6, 4] {
            self.mac(bytes, at + 8);
            self.v4(bytes, at + 14);
            self.mac(bytes, at + 18);
            self.v4(bytes, at + 24);
        } else {
            zero(bytes, at + 8, bytes.len());
        }
    }

    /// What stays of a segment's payload: the beginnings of RPC messages.
    fn kept_of_stream(
        &mut self,
        outline: Option<&Outline>,
        data: &[u8],
        wire: usize,
    ) -> Vec<Range<usize>> {
        let Some((outline, (_, sequence))) = outline.and_then(|o| Some((o, o.tcp?))) else {
            return Vec::new();
        };
        if !outline.payload || wire == 0 {
            return Vec::new();
        }
        let key = (outline.flow, outline.from_first);
        let mut at = match self.messages.get(&key) {
            // In the middle of a message.
            Some(next) if next.wrapping_sub(sequence) < i32::MAX.cast_unsigned() => {
                next.wrapping_sub(sequence) as usize
            }
            _ => 0,
        };
        let mut kept = Vec::new();
        while at < wire {
            let message = rpc(behind(data, at), 4);
            let mark = slice(data, at, 4).first_chunk::<4>();
            let (false, Some(mark)) = (message.is_empty(), mark) else {
                // What begins here is nothing that is known.
                self.messages.remove(&key);
                return kept;
            };
            kept.push(shifted(message, at));
            at += 4 + (u32::from_be_bytes(*mark) & 0x7fff_ffff) as usize;
        }
        if self.messages.len() >= limits::PSEUDONYMS {
            self.messages.clear();
        }
        self.messages.insert(key, sequence.wrapping_add(at as u32));
        kept
    }
}

/// What follows a packet's headers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Payload {
    Tcp,
    Udp,
    /// Of an IP fragment; whether it begins with a UDP header.
    Fragment(bool),
    /// Nothing that is kept.
    None,
}

/// A packet's headers, where what they carry begins, and what that is.
fn headers(first: Layer, bytes: &[u8], length: u32) -> (Vec<Header>, usize, Payload) {
    let view = View {
        data: bytes,
        wire: length.max(bytes.len() as u32),
        start: 0,
    };
    let mut headers: Vec<Header> = Vec::new();
    let mut ip = Ip::NONE;
    let found = walk_past(first, view, &mut ip, &mut Vec::new(), |layer, view| {
        let start = view.start as usize;
        if let Some(before) = headers.last_mut() {
            before.end = start;
        }
        headers.push(Header {
            layer: layer.clone(),
            start,
            end: bytes.len(),
            wire: view.wire,
        });
    });
    let (payload, kind) = match found {
        Ok(Innermost::Tcp(header)) => (header.payload.start as usize, Payload::Tcp),
        Ok(Innermost::Udp(_, payload)) => (payload.start as usize, Payload::Udp),
        Ok(Innermost::Fragment(f, view)) => {
            let udp = f.offset == 0 && f.protocol == UDP;
            (view.start as usize, Payload::Fragment(udp))
        }
        Err(Skip::NotIp | Skip::Arp(_) | Skip::NotTcpOrUdp(_) | Skip::Problem(_)) => {
            // The header that could not be read is blanked with what it carries.
            let last = headers.last().map_or(0, |h| h.start);
            let arp = headers
                .last()
                .is_some_and(|h| matches!(h.layer, Layer::EtherType(0x0806 | 0x8035)));
            if !arp {
                headers.pop();
            }
            (last, Payload::None)
        }
    };
    if let Some(last) = headers.last_mut() {
        last.end = payload.max(last.start);
    }
    (headers, payload, kind)
}

/// How much of the RPC message that begins with `data`, behind a record mark of so many bytes, says only
/// which call it is; nothing where none begins.
fn rpc(data: &[u8], mark: usize) -> Range<usize> {
    const PROGRAMS: Range<u32> = 100_000..0x6000_0000;
    let word = |i: usize| {
        let bytes = data.get(mark + 4 * i..)?.first_chunk::<4>()?;
        Some(u32::from_be_bytes(*bytes))
    };
    let length = match data.first_chunk::<4>() {
        Some(bytes) if mark == 4 => u32::from_be_bytes(*bytes),
        _ => 1 << 31 | 24,
    };
    let plausible =
        length >> 31 == 1 && (16..limits::MESSAGE_BYTES).contains(&(length & 0x7fff_ffff));
    match (word(1), word(2), word(3)) {
        (Some(0), Some(2), Some(program)) if plausible && PROGRAMS.contains(&program) => {
            0..mark + 24
        }
        (Some(1), Some(0 | 1), _) if plausible => 0..mark + 12,
        _ => 0..0,
    }
}

fn shifted(range: Range<usize>, by: usize) -> Range<usize> {
    range.start + by..range.end + by
}

/// Options that TCP itself lives by (RFC 9293 3.2, 2018, 7323) stay, others become padding.
fn tcp_options(bytes: &mut [u8], mut at: usize, end: usize) {
    while at < end.min(bytes.len()) {
        let head = slice(bytes, at, 2);
        let (kind, length) = match *head {
            [0 | 1, ..] => (1, 1),
            [kind, length] if length >= 2 => (kind, usize::from(length)),
            // Cut off, or nonsense.
            _ => (u8::MAX, end - at),
        };
        let next = (at + length).min(end);
        if !matches!(kind, 1..=5 | 8)
            && let Some(option) = bytes.get_mut(at..next.min(bytes.len()))
        {
            option.fill(1);
        }
        at = next;
    }
}

/// Puts the checksum of a header with what it carries, and the addresses above it, to `at`: what was not
/// captured counts as zeros, like the rest of the payload.
fn transport_checksum(
    bytes: &mut [u8],
    h: &Header,
    ip: Option<&Header>,
    protocol: u8,
    at: usize,
    length: u32,
) {
    let Some(ip) = ip.map(|ip| ip.start) else {
        return;
    };
    put(bytes, at, &[0, 0]);
    let addresses = match bytes.get(ip).map(|b| b >> 4) {
        Some(6) => slice(bytes, ip + 8, 32),
        _ => slice(bytes, ip + 12, 8),
    };
    let carried = slice(bytes, h.start, length as usize);
    let pseudo = u64::from(protocol) + u64::from(length >> 16) + u64::from(length & 0xffff);
    let checksum = match !fold(sum(addresses) + sum(carried) + pseudo) {
        // RFC 768: zero would mean that there is none.
        0 if protocol == UDP => 0xffff,
        checksum => checksum,
    };
    put(bytes, at, &checksum.to_be_bytes());
}

/// RFC 1071.
fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<2>();
    let last = rest.first().map_or(0, |b| u64::from(*b) << 8);
    words
        .iter()
        .map(|w| u64::from(u16::from_be_bytes(*w)))
        .sum::<u64>()
        + last
}

fn fold(mut sum: u64) -> u16 {
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

fn behind(bytes: &[u8], at: usize) -> &[u8] {
    bytes.get(at..).unwrap_or_default()
}

/// `length` bytes from `at` on, or as many as there are.
fn slice(bytes: &[u8], at: usize, length: usize) -> &[u8] {
    let rest = behind(bytes, at);
    rest.get(..length).unwrap_or(rest)
}

fn half(bytes: &[u8], at: usize) -> u16 {
    let bytes = bytes.get(at..).and_then(|b| b.first_chunk::<2>());
    bytes.map_or(0, |b| u16::from_be_bytes(*b))
}

fn put(bytes: &mut [u8], at: usize, new: &[u8]) {
    for (place, byte) in bytes.iter_mut().skip(at).zip(new) {
        *place = *byte;
    }
}

fn zero(bytes: &mut [u8], from: usize, to: usize) {
    let to = to.min(bytes.len());
    if let Some(range) = bytes.get_mut(from..to) {
        range.fill(0);
    }
}
