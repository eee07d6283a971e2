//! Packets that the capture holds twice: a mirror port that copies at ingress and egress, or a
//! capture on all interfaces of a host that has the packet on a bridge and on its port.
//!
//! A sender that sends again gives the packet a new IP identification and, with RFC 7323 timestamps,
//! mostly a new timestamp; a copy has the same header throughout. Where both are the same it is one packet,
//! however late its copy comes. Where neither is there to tell, an equal header within 1 ms counts as a copy
//! unless there was a reason to send it again.
//!
//! A copy from behind a router has a lower time to live. One packet that comes again and again,
//! lower each time, goes round in a circle of routers.

use super::MILLISECOND;
use crate::Segment;
use model::{DirectionSummary, PacketRef, Time};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How many packets of a direction are remembered, and how long a copy may come after its original.
const REMEMBERED: usize = 32;
const WITHIN_NS: i64 = 5 * MILLISECOND;
const WITHIN_WITHOUT_IDENTITY_NS: i64 = MILLISECOND;

#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Header {
    sequence: u32,
    acknowledgement: u32,
    length: u32,
    timestamp: Option<u32>,
    first_sack_end: u32,
    window: u16,
    ip_id: Option<u16>,
    flags: u8,
}

impl Header {
    fn of(s: &Segment) -> Header {
        let [(_, first_sack_end), _] = s.tcp.sack;
        Header {
            sequence: s.tcp.sequence,
            acknowledgement: s.tcp.acknowledgement,
            length: s.payload_length,
            timestamp: s.tcp.timestamps.map(|(value, _)| value),
            first_sack_end: if s.tcp.sack_count > 0 {
                first_sack_end
            } else {
                0
            },
            window: s.tcp.window,
            ip_id: s.ip_id,
            flags: s.tcp.flags.0,
        }
    }
}

/// A host sends no more packets to others between two of a connection, as a rule.
const COUNTED: u16 = 16;

/// A packet that falls this often passes more routers than a capture has places.
const CIRCLES: u8 = 4;

#[derive(Clone, Copy, Default, Debug)]
struct Packet {
    /// When it was seen last.
    at: Time,
    packet: PacketRef,
    ttl: u8,
    falls: u8,
    header: Header,
}

/// The last packets of a direction, however old: a file may hold a stretch of time twice. It grows with
/// the first packets, as most connections of a capture with many are short.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Recent {
    #[serde(serialize_with = "pack", deserialize_with = "unpack")]
    packets: Vec<Packet>,
    oldest: usize,
}

/// A packet for packing: what it has that the one before it in the list has not. Of most that is
/// little, and they are a third of what is known of a connection.
#[derive(Serialize, Deserialize)]
struct Difference {
    at: Time,
    packet: PacketRef,
    ttl: i8,
    falls: u8,
    sequence: i32,
    acknowledgement: i32,
    length: u32,
    timestamp: Option<i32>,
    first_sack_end: i32,
    window: i16,
    ip_id: Option<i16>,
    flags: u8,
}

impl Difference {
    fn between(before: &Packet, p: &Packet) -> Difference {
        let (b, h) = (&before.header, &p.header);
        let less = |n: u32, before: u32| n.wrapping_sub(before).cast_signed();
        let less_id = |id: u16| id.wrapping_sub(b.ip_id.unwrap_or(0)).cast_signed();
        Difference {
            at: p.at,
            packet: p.packet,
            ttl: p.ttl.wrapping_sub(before.ttl).cast_signed(),
            falls: p.falls,
            sequence: less(h.sequence, b.sequence),
            acknowledgement: less(h.acknowledgement, b.acknowledgement),
            length: h.length,
            timestamp: h.timestamp.map(|t| less(t, b.timestamp.unwrap_or(0))),
            first_sack_end: less(h.first_sack_end, b.first_sack_end),
            window: h.window.wrapping_sub(b.window).cast_signed(),
            ip_id: h.ip_id.map(less_id),
            flags: h.flags ^ b.flags,
        }
    }

    fn after(self, before: &Packet) -> Packet {
        let b = &before.header;
        let more_id = |id: i16| b.ip_id.unwrap_or(0).wrapping_add_signed(id);
        Packet {
            at: self.at,
            packet: self.packet,
            ttl: before.ttl.wrapping_add_signed(self.ttl),
            falls: self.falls,
            header: Header {
                sequence: b.sequence.wrapping_add_signed(self.sequence),
                acknowledgement: b.acknowledgement.wrapping_add_signed(self.acknowledgement),
                length: self.length,
                timestamp: (self.timestamp)
                    .map(|t| b.timestamp.unwrap_or(0).wrapping_add_signed(t)),
                first_sack_end: b.first_sack_end.wrapping_add_signed(self.first_sack_end),
                window: b.window.wrapping_add_signed(self.window),
                ip_id: self.ip_id.map(more_id),
                flags: self.flags ^ b.flags,
            },
        }
    }
}

fn pack<S: Serializer>(packets: &[Packet], to: S) -> Result<S::Ok, S::Error> {
    let none = Packet::default();
    let before = std::iter::once(&none).chain(packets);
    to.collect_seq(before.zip(packets).map(|(b, p)| Difference::between(b, p)))
}

fn unpack<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Packet>, D::Error> {
    let differences = Vec::<Difference>::deserialize(from)?;
    let mut before = Packet::default();
    let packets = differences.into_iter().map(|difference| {
        before = difference.after(&before);
        before
    });
    Ok(packets.collect())
}

impl Recent {
    pub(super) fn remember(&mut self, s: &Segment) {
        let packet = Packet {
            at: s.mark.time,
            packet: s.mark.packet,
            ttl: s.ttl,
            falls: 0,
            header: Header::of(s),
        };
        if self.packets.len() < REMEMBERED {
            self.packets.push(packet);
        } else if let Some(slot) = self.packets.get_mut(self.oldest) {
            *slot = packet;
            self.oldest = (self.oldest + 1) % REMEMBERED;
        }
    }

    /// Whether `s`, which is remembered, has an identification that its sender had come to: of few packets after
    /// the one before it. Who sends in somebody's name does not know his counter.
    pub(super) fn counts_on(&self, s: &Segment) -> bool {
        let seen = self.packets.len();
        let before = (self.oldest + seen).checked_sub(2);
        let before = before.and_then(|before| self.packets.get(before % seen));
        let before = before.and_then(|packet| packet.header.ip_id);
        let steps = s
            .ip_id
            .zip(before)
            .map(|(id, before)| id.wrapping_sub(before));
        steps.is_some_and(|n| (1..=COUNTED).contains(&n))
    }

    /// Whether `s` is a copy of a remembered packet, which is counted then. `reason` says that its
    /// sender may have had one to send the same again at once.
    pub(super) fn has(&mut self, s: &Segment, reason: bool, count: &mut DirectionSummary) -> bool {
        let header = Header::of(s);
        let within = match (header.ip_id, header.timestamp) {
            (Some(_), Some(_)) => i64::MAX,
            (Some(_), None) => WITHIN_NS,
            (None, _) if reason => return false,
            (None, Some(_)) => WITHIN_NS,
            (None, None) => WITHIN_WITHOUT_IDENTITY_NS,
        };
        let original = self.packets.iter_mut().find(|packet| {
            packet.header == header && (s.mark.time - packet.at).saturating_abs() <= within
        });
        let Some(original) = original else {
            return false;
        };
        count.duplicate_packets += 1;
        (count.first_duplicate).get_or_insert([original.packet, s.mark.packet]);
        if s.ttl < original.ttl {
            original.ttl = s.ttl;
            original.at = s.mark.time;
            original.falls = original.falls.saturating_add(1);
            count.duplicates_routed += 1;
            count.looped_packets += u64::from(original.falls == CIRCLES);
        }
        true
    }
}
