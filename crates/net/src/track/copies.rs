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
use prefetch::prefetch;
use serde::{Deserialize, Serialize};
use std::hash::BuildHasher;

/// How many packets of a direction are remembered: at first, and where copies come that late behind their originals, as they
/// do behind a row that leaves in one moment. And how long a copy may come after its original.
const REMEMBERED: usize = 32;
const MOST_REMEMBERED: usize = 1_024;
const WITHIN_NS: i64 = 5 * MILLISECOND;
const WITHIN_WITHOUT_IDENTITY_NS: i64 = MILLISECOND;

/// What a packet and its copy have in common and no two others have, in 64 bits: of the packets of a connection,
/// 32 are remembered and some thousands are asked for, which of as many values meet by chance never.
fn identity(s: &Segment) -> u64 {
    let t = &s.tcp;
    let [(_, first_sack_end), _] = t.sack;
    let sack = if t.sack_count > 0 { first_sack_end } else { 0 };
    let timestamp = t.timestamps.map(|(value, _)| value);
    let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
    let id = s.ip_id.map_or(u32::MAX, u32::from);
    let rest =
        u32::from(t.window) << 16 | u32::from(t.flags.0) << 8 | u32::from(timestamp.is_some());
    foldhash::quality::FixedState::with_seed(0).hash_one((
        pair(t.sequence, t.acknowledgement),
        pair(s.payload_length, timestamp.unwrap_or(0)),
        pair(sack, id),
        u64::from(rest),
    ))
}

/// A host sends no more packets to others between two of a connection, as a rule.
const COUNTED: u16 = 16;

/// A packet that falls this often passes more routers than a capture has places.
const CIRCLES: u8 = 4;

#[derive(Clone, Copy, Default, Debug, Serialize, Deserialize)]
struct Packet {
    /// When it was seen last.
    at: Time,
    packet: PacketRef,
    identity: u64,
    ttl: u8,
    falls: u8,
}

/// The last packets of a direction, however old: a file may hold a stretch of time twice. It grows with
/// the first packets, as most connections of a capture with many are short.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Recent {
    packets: Vec<Packet>,
    oldest: usize,
    /// How often room for as many again was made.
    doubled: u8,
    /// IP identifications of the last, and of the one before it.
    ids: [Option<u16>; 2],
}

impl Recent {
    pub(super) fn remember(&mut self, s: &Segment) {
        let packet = Packet {
            at: s.mark.time,
            packet: s.mark.packet,
            ttl: s.ttl,
            falls: 0,
            identity: identity(s),
        };
        let [last, _] = self.ids;
        self.ids = [s.ip_id, last];
        let room = self.room();
        if self.packets.len() < room {
            self.packets.push(packet);
        } else if let Some(slot) = self.packets.get_mut(self.oldest) {
            *slot = packet;
            // Room is a power of two.
            self.oldest = (self.oldest + 1) & (room - 1);
        }
    }

    fn room(&self) -> usize {
        REMEMBERED << self.doubled
    }

    /// What it keeps beyond what any connection does, in bytes.
    #[inline]
    pub(super) fn more_bytes(&self) -> usize {
        match self.doubled {
            0 => 0,
            _ => (self.room() - REMEMBERED) * size_of::<Packet>(),
        }
    }

    /// How many packets were remembered after this one.
    fn age(&self, at: usize) -> usize {
        let last = self.oldest + self.packets.len() - 1;
        (last - at) % self.packets.len().max(1)
    }

    /// Copies come nearly too late to be known: makes room for more, and says where this one is then.
    #[cold]
    fn double(&mut self, at: usize) -> usize {
        let at = self.packets.len() - 1 - self.age(at);
        self.packets.rotate_left(self.oldest);
        self.oldest = 0;
        self.doubled += 1;
        self.packets.reserve_exact(self.room() - self.packets.len());
        at
    }

    /// Asks the processor for where the next packet goes.
    pub(super) fn prefetch(&self) {
        if let Some(slot) = self.packets.get(self.oldest) {
            prefetch(slot);
        }
    }

    /// Whether `s`, which is remembered, has an identification that its sender had come to: of few packets after
    /// the one before it. Who sends in somebody's name does not know his counter.
    pub(super) fn counts_on(&self, s: &Segment) -> bool {
        let [_, before] = self.ids;
        let steps = s
            .ip_id
            .zip(before)
            .map(|(id, before)| id.wrapping_sub(before));
        steps.is_some_and(|n| (1..=COUNTED).contains(&n))
    }

    /// Whether `s` is a copy of a remembered packet, which is counted then. `reason` says that its
    /// sender may have had one to send the same again at once.
    pub(super) fn has(&mut self, s: &Segment, reason: bool, count: &mut DirectionSummary) -> bool {
        let within = match (s.ip_id, s.tcp.timestamps) {
            (Some(_), Some(_)) => i64::MAX,
            (Some(_), None) => WITHIN_NS,
            (None, _) if reason => return false,
            (None, Some(_)) => WITHIN_NS,
            (None, None) => WITHIN_WITHOUT_IDENTITY_NS,
        };
        let identity = identity(s);
        let is_same = |packet: &Packet| {
            packet.identity == identity && (s.mark.time - packet.at).saturating_abs() <= within
        };
        let Some(at) = self.packets.iter().position(is_same) else {
            return false;
        };
        let is_old = self.packets.len() == self.room() && self.age(at) >= self.room() / 2;
        let at = match is_old && self.room() < MOST_REMEMBERED {
            true => self.double(at),
            false => at,
        };
        let Some(original) = self.packets.get_mut(at) else {
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
