//! Packets into what they say of the health of the network ([`Notice`]): for those who ask, in a second
//! look at headers that the walk has found.
//!
//! What every packet would tell again (checksums that are right, tags, fragments) is counted over a batch
//! and told at its end, so that it costs no record a packet. Nothing outlives its batch.

mod arp;
mod bpdu;
mod checksum;
mod icmp;

use super::fragment::Datagram;
use super::ip::Ip;
use super::plain::Plain;
use super::view::View;
use super::walk::Layer;
use super::{link, mark_of, sight};
use checksum::{ChecksumState, Sums};
use etherparse::ip_number;
use hashbrown::{HashMap, HashSet};
use model::{
    Cast, ChecksumOf, Flooded, Fragments, LostFragments, Mark, Notice, NoticeKind, Packet,
    SightKind, Tagged,
};
use std::net::IpAddr;

/// Longer than this a frame was not on an Ethernet as it is: 1,500 bytes of IP, and two VLAN tags.
const ETHERNET_BYTES: u32 = 1_522;
/// What systems give their packets to live, in routers: Windows 128 and, long ago, 32; Solaris and routers
/// 255; AIX 60; others 64.
const FIRST_TTLS: [u8; 5] = [32, 60, 64, 128, 255];
/// An IPv6 routing header: the destination that checksums cover stands in it.
const ROUTING: u8 = 43;

/// Senders whose places are at hand: looking them up takes a tenth of all that is done for a packet.
const NEAR: usize = 64;

/// Which of them an address is, by its last bits.
fn near(address: IpAddr) -> usize {
    let last = match address {
        IpAddr::V4(a) => a.octets()[3],
        IpAddr::V6(a) => a.octets()[15],
    };
    usize::from(last) % NEAR
}

/// The layers of a packet that are looked at again.
#[derive(Default)]
pub(super) struct Layers<'a> {
    /// The innermost IP header with all behind it, and what it carries.
    ip: Option<View<'a>>,
    payload: Option<(u8, View<'a>)>,
    /// Its checksums cover what is not at hand.
    routed: bool,
}

impl<'a> Layers<'a> {
    /// Takes in the next layer.
    pub(super) fn see(&mut self, layer: &Layer, view: View<'a>) {
        match layer {
            Layer::Ip => {
                *self = Layers {
                    ip: Some(view),
                    ..Layers::default()
                }
            }
            Layer::Payload(number) => {
                self.routed |= *number == ROUTING;
                self.payload = Some((*number, view));
            }
            _ => {}
        }
    }
}

/// What the packets of a batch say.
#[derive(Debug)]
pub(super) struct Health {
    notices: Vec<Notice>,
    sums: Vec<(IpAddr, Sums)>,
    /// Where in that list senders stand, and the last of each [`near`].
    places: HashMap<IpAddr, usize, foldhash::fast::FixedState>,
    latest: [u32; NEAR],
    tagged: HashSet<Tagged, foldhash::fast::FixedState>,
    fragments: Fragments,
}

impl Default for Health {
    fn default() -> Health {
        Health {
            notices: Vec::new(),
            sums: Vec::new(),
            places: HashMap::default(),
            latest: [0; NEAR],
            tagged: HashSet::default(),
            fragments: Fragments::default(),
        }
    }
}

impl Health {
    /// Looks at what a packet, or a datagram joined from `joined` ones, carries. `wire` is the length of
    /// the frame, `order` and `at` say which packet it is.
    pub(super) fn layers(
        &mut self,
        layers: &Layers<'_>,
        ip: &Ip,
        (order, at): (u64, Mark),
        wire: u32,
        joined: bool,
    ) {
        if let Some((1 | 58, view)) = layers.payload
            && let Some(error) = icmp::error(view, ip)
        {
            let kind = NoticeKind::Icmp(error);
            self.notices.push(Notice { order, at, kind });
        }
        let header = layers.ip.and_then(checksum::of_ip);
        // Without a length of IP's it is not known where the packet ends.
        let ends = || {
            layers.ip.is_none_or(|v| match v.u8_at(0) {
                Some(first) if first >> 4 == 4 => v.u16_at(2) != Some(0),
                _ => v.u16_at(4) != Some(0),
            })
        };
        let payload = layers.payload.filter(|_| !layers.routed);
        let payload = payload
            .and_then(|(number, view)| checksum::of_payload(number, view, ip))
            .filter(|_| ends());
        self.checksums(
            header,
            payload,
            ip.source,
            wire > ETHERNET_BYTES && !joined,
            at,
        );
    }

    /// Looks at what a [plain](super::plain) packet carries: the same, of which only checksums are left. It spares
    /// a packet 100 instructions.
    pub(super) fn plain(&mut self, plain: &Plain<'_>, at: Mark, wire: u32) {
        let header = checksum::of_ip(plain.packet);
        let payload = checksum::of_payload(ip_number::TCP.0, plain.payload, &plain.ip);
        self.checksums(header, payload, plain.ip.source, wire > ETHERNET_BYTES, at);
    }

    /// Counts how checksums of a sender's packet were found; what is wrong of one that `joins` others is not.
    #[inline(always)]
    fn checksums(
        &mut self,
        header: Option<ChecksumState>,
        payload: Option<(ChecksumOf, ChecksumState)>,
        source: IpAddr,
        joins: bool,
        at: Mark,
    ) {
        if header.is_none() && payload.is_none() {
            return;
        }
        let sums = self.sums_of(source);
        let of_sender = |found| match found {
            ChecksumState::Wrong if joins => ChecksumState::Joined,
            found => found,
        };
        if let Some(found) = header {
            sums.add(ChecksumOf::Ip, of_sender(found), at);
        }
        if let Some((of, found)) = payload {
            sums.add(of, of_sender(found), at);
        }
    }

    /// The sums of a sender: mostly the last that is near to it.
    #[expect(
        clippy::indexing_slicing,
        reason = "near is below NEAR, and a sender is put there if it was not"
    )]
    fn sums_of(&mut self, source: IpAddr) -> &mut Sums {
        let latest = &mut self.latest[near(source)];
        let known = |place: u32| self.sums.get(place as usize);
        if known(*latest).is_none_or(|(s, _)| *s != source) {
            let next = self.sums.len();
            let place = *self.places.entry(source).or_insert(next);
            if place == next {
                self.sums.push((source, Sums::default()));
            }
            *latest = place as u32;
        }
        &mut self.sums[*latest as usize].1
    }

    /// Looks at a packet's link layer.
    #[inline]
    pub(super) fn frame(&mut self, packet: &Packet, data: &[u8], ip: &Ip, kind: SightKind) {
        // Almost all go from one host to another, without a tag.
        if let [first, _, _, _, _, _, _, _, _, _, _, _, a, b, ..] = data
            && packet.link_type.0 == 1
            && first & 1 == 0
            && !link::is_vlan(u16::from_be_bytes([*a, *b]))
            && matches!(kind, SightKind::Tcp | SightKind::Udp)
        {
            return;
        }
        self.other_frame(packet, data, ip, kind);
    }

    #[inline(never)]
    fn other_frame(&mut self, packet: &Packet, data: &[u8], ip: &Ip, kind: SightKind) {
        let seen = sight::of(packet, data, ip, kind);
        let mut notice = |kind| {
            self.notices.push(Notice {
                order: packet.order,
                at: mark_of(packet),
                kind,
            });
        };
        let ethernet = packet.link_type.0 == 1;
        let source = match (packet.link_type.0, data) {
            (1, [_, _, _, _, _, _, s @ ..]) => s.first_chunk().copied(),
            (113, data) => data.get(6..).and_then(|s| s.first_chunk()).copied(),
            (276, data) => data.get(12..).and_then(|s| s.first_chunk()).copied(),
            _ => None,
        };
        if let (Cast::Broadcast | Cast::Multicast, Some(source)) = (seen.cast, source) {
            notice(NoticeKind::Flooded(Flooded {
                cast: seen.cast,
                source,
                holds: seen.kind,
                bytes: seen.length,
            }));
        }
        if !ethernet {
            return;
        }
        let (vlans, behind) = tags(data);
        match seen.kind {
            SightKind::Stp => {
                if let Some(bpdu) = bpdu::read(behind, vlans[0]) {
                    notice(NoticeKind::Bridge(bpdu));
                }
            }
            SightKind::Arp => {
                let to = data.first_chunk().copied();
                let to = to.filter(|_| seen.cast == Cast::Unicast);
                if let Some(invalid) = arp::fault(behind, source.unwrap_or_default(), to) {
                    notice(NoticeKind::InvalidArp(invalid));
                }
            }
            _ => {}
        }
        if let (Some(_), Some((hosts, ttl)), Some((destination, _))) =
            (vlans[0], outer_ip(behind), data.split_first_chunk())
            && seen.cast == Cast::Unicast
        {
            let tagged = Tagged {
                vlans,
                hosts,
                hardware: [source.unwrap_or_default(), *destination],
                routed: !FIRST_TTLS.contains(&ttl),
            };
            if self.tagged.insert(tagged) {
                notice(NoticeKind::Tagged(tagged));
            }
        }
    }

    /// A fragment came, and all of its datagram or not.
    pub(super) fn fragment(&mut self, completes: bool) {
        self.fragments.fragments += 1;
        self.fragments.complete += u64::from(completes);
    }

    /// A datagram never became whole; `order` is that of the packet that showed it.
    pub(super) fn lost(&mut self, datagram: &Datagram, order: u64) {
        self.notices.push(Notice {
            order,
            at: datagram.first,
            kind: NoticeKind::LostFragments(LostFragments {
                source: datagram.ip.source,
                destination: datagram.ip.destination,
                protocol: datagram.protocol,
                last: datagram.last,
                held_bytes: datagram.held(),
                bytes: datagram.total(),
                resent: datagram.resent,
            }),
        });
    }

    /// Ends a batch whose last packet is `at`; `order` is behind it.
    pub(super) fn end_batch(&mut self, order: u64, at: Mark) {
        let mut sums = std::mem::take(&mut self.sums);
        self.places.clear();
        sums.sort_unstable_by_key(|(source, _)| *source);
        for (source, sums) in sums {
            let told = sums.told(source).map(|c| Notice {
                order,
                at,
                kind: NoticeKind::Checksums(c),
            });
            self.notices.extend(told);
        }
        self.tagged.clear();
        let fragments = std::mem::take(&mut self.fragments);
        if fragments != Fragments::default() {
            self.notices.push(Notice {
                order,
                at,
                kind: NoticeKind::Fragments(fragments),
            });
        }
    }

    /// Puts what was noticed in the place of `into`'s.
    pub(super) fn take(&mut self, into: &mut Vec<Notice>) {
        std::mem::swap(&mut self.notices, into);
    }
}

/// Source and destination, and time to live, of the IP header behind an EtherType: not of what is in a
/// tunnel, whose hosts have no cards here.
fn outer_ip(behind: &[u8]) -> Option<([IpAddr; 2], u8)> {
    let (kind, header) = behind.split_first_chunk()?;
    match u16::from_be_bytes(*kind) {
        0x0800 => {
            let &[a, b, c, d, e, f, g, h] = header.get(12..)?.first_chunk()?;
            let hosts = [[a, b, c, d].into(), [e, f, g, h].into()];
            Some((hosts, *header.get(8)?))
        }
        0x86dd => {
            let (source, rest) = header.get(8..)?.split_first_chunk::<16>()?;
            let destination: &[u8; 16] = rest.first_chunk()?;
            let hosts = [(*source).into(), (*destination).into()];
            Some((hosts, *header.get(7)?))
        }
        _ => None,
    }
}

/// The numbers of the first two VLAN tags behind Ethernet's addresses, and what stands behind all tags,
/// from its EtherType or length on. Number 0 only gives a priority.
fn tags(data: &[u8]) -> ([Option<u16>; 2], &[u8]) {
    let mut vlans = [None; 2];
    let mut behind = data.get(12..).unwrap_or_default();
    let mut places = vlans.iter_mut();
    while let [a, b, c, d, rest @ ..] = behind
        && link::is_vlan(u16::from_be_bytes([*a, *b]))
    {
        let number = u16::from_be_bytes([*c, *d]) & 0x0fff;
        if number != 0
            && let Some(place) = places.next()
        {
            *place = Some(number);
        }
        behind = rest;
    }
    (vlans, behind)
}
