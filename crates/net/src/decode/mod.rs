//! Packets into segments: [`Decoder`] takes off link layers, tunnels and IP, joins IP fragments,
//! and leaves the innermost TCP segment or UDP datagram of each packet.
//!
//! Each layer is a function from a view of bytes to the next layer and its view; a loop follows them
//! to TCP or UDP, through a bounded number of headers. What cannot be read is counted: as a plain
//! count where it is other people's traffic ([`Counts`]), as a [`Problems`] note where a header is
//! cut or contradicts itself, and as damage only where a whole link type is not supported.
//!
//! etherparse reads the IP headers. It is not used for whole packets: `LaxSlicedPacket` ends at what
//! captures hold (SLL2, GRE, MPLS, VXLAN, cut TCP options), and over 485,100 packets of NFS it takes
//! 59 ns for the headers alone of a packet, where all of this takes 46 (15 of them to fetch the packet
//! from memory). In tests it says what plain packets are.

mod anonymise;
mod fragment;
mod hash;
mod health;
mod ip;
mod link;
mod outline;
mod plain;
mod sight;
#[cfg(test)]
mod tests;
mod transport;
mod tunnel;
mod view;
mod walk;
mod whose;

pub use anonymise::PacketAnonymiser;
pub use outline::{Flow, Outline};
pub use whose::Whose;

use crate::{Segment, Tcp};
use fragment::{Datagram, Ending, Reassembly};
use health::{Health, Layers};
use ip::Ip;
use model::{
    Arp, Batch, Endpoint, LinkType, Mark, Notice, Packet, Problems, Sight, SightKind, Transport,
    Where,
};
use transport::Ports;
use view::{Note, Skip, View};
use walk::{Innermost, Layer, walk_past};

/// Datagrams joined from fragments within one packet: a tunnel's, and the one inside.
const JOINS: usize = 4;

/// How many packets were what. Only for the reader: none of these is a problem.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    pub packets: u64,
    /// TCP segments and UDP datagrams handed on.
    pub segments: u64,
    /// Packets of ARP, spanning tree and the like.
    pub not_ip: u64,
    /// IP packets with neither TCP nor UDP, such as ICMP.
    pub not_tcp_or_udp: u64,
    /// Packets that held an IP fragment.
    pub fragments: u64,
    /// Fragments that the capture held twice.
    pub duplicate_fragments: u64,
}

/// Takes packets in the capture's order and gives their segments in the same order.
#[derive(Debug)]
pub struct Decoder {
    files: Vec<String>,
    reassembly: Reassembly,
    problems: Problems,
    counts: Counts,
    notes: Vec<Note>,
    /// Where somebody asks for them.
    arps: Option<Vec<Arp>>,
    sights: Option<Vec<Sight>>,
    health: Option<Box<Health>>,
    /// Behind the orders of all packets and batches so far.
    next_order: u64,
}

/// Bytes of the batch that hold a layer, the layer's length on the wire, and the packets it came in.
#[derive(Clone, Copy)]
struct Stretch {
    start: u32,
    captured: u32,
    wire: u32,
    first: Mark,
    mark: Mark,
    order: u64,
}

impl Decoder {
    /// A decoder for one capture. `files` are the names of its files in the order of
    /// [`PacketRef::file`](model::PacketRef), for the places of problems; a file beyond the list
    /// stays without a name.
    #[must_use]
    pub fn new(files: &[String]) -> Decoder {
        Decoder {
            files: files.to_vec(),
            reassembly: Reassembly::default(),
            problems: Problems::default(),
            counts: Counts::default(),
            notes: Vec::new(),
            arps: None,
            sights: None,
            health: None,
            next_order: 0,
        }
    }

    /// The same, with ARP packets kept until they are taken ([`Decoder::take_arps`]).
    #[must_use]
    pub fn with_arps(self) -> Decoder {
        Decoder {
            arps: Some(Vec::new()),
            ..self
        }
    }

    /// Puts the ARP packets of the last batch in the place of `into`'s.
    pub fn take_arps(&mut self, into: &mut Vec<Arp>) {
        into.clear();
        if let Some(arps) = &mut self.arps {
            std::mem::swap(arps, into);
        }
    }

    /// The same, with every packet as it was seen kept until it is taken ([`Decoder::take_sights`]), and
    /// those of ARP too.
    #[must_use]
    pub fn with_sights(self) -> Decoder {
        Decoder {
            arps: Some(Vec::new()),
            sights: Some(Vec::new()),
            ..self
        }
    }

    /// Puts the packets of the last batch in the place of `into`'s.
    pub fn take_sights(&mut self, into: &mut Vec<Sight>) {
        into.clear();
        if let Some(sights) = &mut self.sights {
            std::mem::swap(sights, into);
        }
    }

    /// The same, with what packets say of the network's health kept until it is taken
    /// ([`Decoder::take_notices`]).
    #[must_use]
    pub fn with_notices(self) -> Decoder {
        Decoder {
            health: Some(Box::default()),
            ..self
        }
    }

    /// Puts what the last batch's packets say of the network's health in the place of `into`'s.
    pub fn take_notices(&mut self, into: &mut Vec<Notice>) {
        into.clear();
        if let Some(health) = &mut self.health {
            health.take(into);
        }
    }

    /// Appends the segments of the batch's packets to `out`, and the payloads of joined IP fragments
    /// to the batch's bytes. A packet gives one segment at most. Returns the order behind the batch's
    /// packets, which is no packet's.
    pub fn decode(&mut self, batch: &mut Batch, out: &mut Vec<Segment>) -> u64 {
        match self.health {
            None => self.packets::<false>(batch, out),
            Some(_) => self.packets::<true>(batch, out),
        }
    }

    /// Two functions of one, so that who does not ask for the network's health does not pay for it.
    fn packets<const HEALTH: bool>(&mut self, batch: &mut Batch, out: &mut Vec<Segment>) -> u64 {
        let Batch { bytes, packets } = batch;
        out.reserve(packets.len());
        self.counts.packets += packets.len() as u64;
        if let Some(last) = packets.last() {
            self.next_order = last.order + 1;
        }
        for packet in packets.iter() {
            let Some(layer) = link::first(packet.link_type) else {
                self.unsupported(packet.link_type, mark_of(packet));
                if let Some(sights) = &mut self.sights {
                    sights.push(sight::of(packet, &[], &Ip::NONE, SightKind::Unread));
                }
                continue;
            };
            let stretch = Stretch {
                start: packet.start,
                captured: packet.captured,
                wire: packet.length.max(packet.captured),
                first: mark_of(packet),
                mark: mark_of(packet),
                order: packet.order,
            };
            let (kind, ip) = self.follow::<HEALTH>(layer, Ip::NONE, &stretch, bytes, out, JOINS);
            if let (true, Some(health)) = (HEALTH, &mut self.health) {
                health.frame(packet, frame(bytes, &stretch), &ip, kind);
            }
            if let Some(sights) = &mut self.sights {
                let data = frame(bytes, &stretch);
                let mut sight = sight::of(packet, data, &ip, kind);
                match kind {
                    SightKind::Tcp | SightKind::Udp => {
                        let ports = out.last().map(|s| [s.source.port, s.destination.port]);
                        sight.ports = ports;
                    }
                    SightKind::Arp => {
                        let arp = self.arps.as_ref().and_then(|arps| arps.last());
                        sight.addresses = arp.map(|a| [a.sender.into(), a.target.into()]);
                    }
                    _ => {}
                }
                sights.push(sight);
            }
        }
        let behind = self.end_batch();
        if let (true, Some(health), Some(last)) = (HEALTH, &mut self.health, packets.last()) {
            health.end_batch(behind, mark_of(last));
        }
        behind
    }

    /// Ends the capture: hands on what is known of datagrams whose later fragments never came. Their
    /// orders follow that of the last batch. Returns the order behind them.
    pub fn finish(&mut self, batch: &mut Batch, out: &mut Vec<Segment>) -> u64 {
        while let Some(datagram) = self.reassembly.pop() {
            let order = self.next_order;
            self.next_order += 1;
            let last = datagram.last;
            let ended = (datagram, Ending::Incomplete);
            match self.health {
                None => self.join::<false>(ended, order, &mut batch.bytes, out, JOINS),
                Some(_) => self.join::<true>(ended, order, &mut batch.bytes, out, JOINS),
            }
            if let Some(health) = &mut self.health {
                health.end_batch(order, last);
            }
        }
        self.end_batch()
    }

    /// Packets that others were given reach up to this order: what is decided from here on comes behind them.
    pub fn reach(&mut self, behind: u64) {
        self.next_order = self.next_order.max(behind.saturating_add(1));
    }

    fn end_batch(&mut self) -> u64 {
        self.next_order += 1;
        self.next_order - 1
    }

    /// What was wrong so far.
    #[must_use]
    pub fn problems(&self) -> &Problems {
        &self.problems
    }

    /// What the packets so far were.
    #[must_use]
    pub fn counts(&self) -> Counts {
        Counts {
            duplicate_fragments: self.reassembly.duplicates,
            ..self.counts
        }
    }

    /// Follows the headers from `layer` on, and hands on what they end at, which it returns with the
    /// innermost IP header. Always inlined, as is
    /// [`mod@walk`]: a function of its own takes 25 of 517 instructions a packet more.
    #[inline(always)]
    fn follow<const HEALTH: bool>(
        &mut self,
        layer: Layer,
        mut ip: Ip,
        stretch: &Stretch,
        bytes: &mut Vec<u8>,
        out: &mut Vec<Segment>,
        joins: usize,
    ) -> (SightKind, Ip) {
        let view = View {
            data: frame(bytes, stretch),
            wire: stretch.wire,
            start: stretch.start,
        };
        let plain = match layer {
            Layer::Ethernet => plain::read(view),
            _ => None,
        };
        let found = match plain {
            Some(plain) => {
                ip = plain.ip;
                if let (true, Some(health)) = (HEALTH, &mut self.health) {
                    health.plain(&plain, stretch.mark, stretch.wire);
                }
                Ok(Innermost::Tcp(plain.tcp))
            }
            None => self.walk::<HEALTH>(layer, view, &mut ip, stretch, joins < JOINS),
        };
        while let Some(note) = self.notes.pop() {
            self.note(note, stretch);
        }
        let kind = match found {
            Ok(Innermost::Tcp(header)) => {
                self.counts.segments += 1;
                let (ports, tcp) = (header.ports(), header.fields());
                let payload = header.payload;
                out.push(segment(Transport::Tcp, &ip, ports, tcp, payload, stretch));
                if let Some(segment) = out.last_mut() {
                    header.read_options(&mut segment.tcp);
                }
                SightKind::Tcp
            }
            Ok(Innermost::Udp(ports, payload)) => {
                self.counts.segments += 1;
                let tcp = Tcp::default();
                out.push(segment(Transport::Udp, &ip, ports, tcp, payload, stretch));
                SightKind::Udp
            }
            Ok(Innermost::Fragment(fragment, payload)) => {
                self.counts.fragments += 1;
                let ended = self.reassembly.add(&ip, fragment, payload, stretch.mark);
                if let (true, Some(health)) = (HEALTH, &mut self.health) {
                    health.fragment(matches!(ended, Ok(Some((_, Ending::Complete)))));
                }
                match ended {
                    Ok(Some(ended)) => self.join::<HEALTH>(ended, stretch.order, bytes, out, joins),
                    Ok(None) => {}
                    Err(note) => self.note(note, stretch),
                }
                SightKind::Fragment
            }
            Err(Skip::NotIp) => {
                self.counts.not_ip += 1;
                SightKind::Other
            }
            Err(Skip::Arp(packet)) => {
                self.counts.not_ip += 1;
                if let Some(arps) = &mut self.arps {
                    arps.push(arp(&packet, stretch));
                }
                SightKind::Arp
            }
            Err(Skip::NotTcpOrUdp(number)) => {
                self.counts.not_tcp_or_udp += 1;
                match number {
                    1 => SightKind::Icmp,
                    58 => SightKind::Icmpv6,
                    number => SightKind::Ip(number),
                }
            }
            Err(Skip::Problem(note)) => {
                self.note(*note, stretch);
                SightKind::Unread
            }
        };
        (kind, ip)
    }

    /// Follows headers that are not [plain](mod@plain).
    #[inline(always)]
    fn walk<'a, const HEALTH: bool>(
        &mut self,
        layer: Layer,
        view: View<'a>,
        ip: &mut Ip,
        stretch: &Stretch,
        joined: bool,
    ) -> Result<Innermost<'a>, Skip> {
        let mut layers = Layers::default();
        let found = walk_past(layer, view, ip, &mut self.notes, |layer, view| {
            if HEALTH {
                layers.see(layer, view);
            }
        });
        if let (true, Some(health)) = (HEALTH, &mut self.health) {
            let packet = (stretch.order, stretch.mark);
            health.layers(&layers, ip, packet, stretch.wire, joined);
        }
        found
    }

    /// Appends a datagram that ended to the batch's bytes and follows its headers.
    #[cold]
    fn join<const HEALTH: bool>(
        &mut self,
        (datagram, ending): (Datagram, Ending),
        order: u64,
        bytes: &mut Vec<u8>,
        out: &mut Vec<Segment>,
        joins: usize,
    ) {
        let (first, mark) = (datagram.first, datagram.last);
        if ending != Ending::Complete {
            if let (true, Some(health)) = (HEALTH, &mut self.health) {
                health.lost(&datagram, order);
            }
            self.count("fragments-incomplete", "a datagram's first fragment", first);
        }
        if ending == Ending::Evicted {
            self.count("fragments-evicted", "a datagram's first fragment", first);
        }
        if ending == Ending::SentAgain {
            return;
        }
        let Some((payload, wire)) = datagram.payload() else {
            return;
        };
        let (Ok(start), Some(joins)) = (u32::try_from(bytes.len()), joins.checked_sub(1)) else {
            self.count("too-many-headers", "fragments in fragments", mark);
            return;
        };
        bytes.extend_from_slice(payload);
        let stretch = Stretch {
            start,
            captured: payload.len() as u32,
            wire,
            first: datagram.begun,
            mark,
            order,
        };
        let layer = Layer::Payload(datagram.protocol);
        self.follow::<HEALTH>(layer, datagram.ip, &stretch, bytes, out, joins);
    }

    #[cold]
    fn note(&mut self, note: Note, stretch: &Stretch) {
        let example = || (note.text(stretch.start), place(&self.files, stretch.mark));
        self.problems.note(note.kind, example);
    }

    fn count(&mut self, kind: &'static str, what: &str, mark: Mark) {
        let example = || (what.to_owned(), place(&self.files, mark));
        self.problems.note(kind, example);
    }

    #[cold]
    fn unsupported(&mut self, link_type: LinkType, mark: Mark) {
        let what = || format!("link type {}", link_type.0);
        let example = || (what(), place(&self.files, mark));
        self.problems.damage("unsupported-link-type", example);
    }
}

fn arp(packet: &[u8; link::ARP_BYTES], from: &Stretch) -> Arp {
    let [
        _,
        _,
        _,
        _,
        _,
        _,
        op0,
        op1,
        s0,
        s1,
        s2,
        s3,
        s4,
        s5,
        a,
        b,
        c,
        d,
        t0,
        t1,
        t2,
        t3,
        t4,
        t5,
        e,
        f,
        g,
        h,
    ] = *packet;
    Arp {
        order: from.order,
        at: from.mark,
        operation: u16::from_be_bytes([op0, op1]),
        sender: [a, b, c, d].into(),
        sender_hardware: [s0, s1, s2, s3, s4, s5],
        target: [e, f, g, h].into(),
        target_hardware: [t0, t1, t2, t3, t4, t5],
    }
}

/// A stretch's captured bytes.
#[inline]
fn frame<'a>(bytes: &'a [u8], stretch: &Stretch) -> &'a [u8] {
    let from = stretch.start as usize;
    bytes
        .get(from..from + stretch.captured as usize)
        .unwrap_or_default()
}

#[inline]
fn mark_of(packet: &Packet) -> Mark {
    Mark {
        time: packet.time,
        packet: packet.at,
    }
}

fn place(files: &[String], mark: Mark) -> Where {
    Where {
        file: files
            .get(usize::from(mark.packet.file))
            .cloned()
            .unwrap_or_default(),
        frame: Some(mark.packet.frame),
        line: None,
        offset: None,
    }
}

#[inline]
fn segment(
    transport: Transport,
    ip: &Ip,
    ports: Ports,
    tcp: Tcp,
    payload: View<'_>,
    from: &Stretch,
) -> Segment {
    let source = Endpoint {
        address: ip.source,
        port: ports.0,
    };
    let destination = Endpoint {
        address: ip.destination,
        port: ports.1,
    };
    let (flow_hash, owner_hash) = hash::hashes(source, destination, transport);
    Segment {
        mark: from.mark,
        first: from.first,
        order: from.order,
        transport,
        source,
        destination,
        flow_hash,
        owner_hash,
        payload_start: payload.start,
        payload_captured: payload.data.len() as u32,
        payload_length: payload.wire,
        ip_id: ip.id,
        ttl: ip.ttl,
        ecn: ip.ecn,
        tcp,
    }
}
