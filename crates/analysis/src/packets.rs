//! Packets of SQL*Net, of a session in a capture or of a trace, into a list: when each began and which way it went,
//! how long after the one before, and for which statement; and how large they were.
//!
//! A list is bounded ([`LISTED_PACKETS`](limits::LISTED_PACKETS)); how large packets were is counted of all.

use model::sqlnet::PacketKind;
use model::{Call, Mark, Name, PacketRef, Statement, Time, limits};
use std::collections::BTreeMap;
use std::sync::Arc;
use trace::oracle::Side;

/// Which way a packet went. A trace that does not say whose it is knows only that it sent or received.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Way {
    ToServer,
    ToClient,
    Sent,
    Received,
}

impl Way {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Way::ToServer => "to-server",
            Way::ToClient => "to-client",
            Way::Sent => "sent",
            Way::Received => "received",
        }
    }
}

/// Where a packet is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// The packets of its first and its last byte.
    Frames(PacketRef, PacketRef),
    /// The file, from 0, and the line of a trace that tells of it.
    Line(usize, u64),
}

/// A packet.
#[derive(Clone, Debug)]
pub struct ListedPacket {
    /// The session's number in a capture, the connection's in a trace, both from 1.
    pub session: u64,
    /// When its first byte was seen; of a trace, when the process had it, as local time.
    pub at: Option<Time>,
    pub way: Way,
    pub kind: PacketKind,
    /// With its header.
    pub bytes: Option<u64>,
    /// Since the packet before began, of the same session.
    pub gap_ns: Option<i64>,
    pub place: Place,
    /// What it belongs to: the operation and the statement of its call.
    pub op: Option<Name>,
    pub statement: Option<Arc<Statement>>,
    /// Its first byte and its last in the order of calls.
    pub(crate) marks: (Mark, Mark),
}

impl ListedPacket {
    /// A packet before it is known what it belongs to. `marks` are on the clock that calls have theirs on.
    #[must_use]
    pub fn new(
        session: u64,
        at: Option<Time>,
        way: Way,
        kind: PacketKind,
        bytes: Option<u64>,
        place: Place,
        marks: (Mark, Mark),
    ) -> ListedPacket {
        ListedPacket {
            session,
            at,
            way,
            kind,
            bytes,
            gap_ns: None,
            place,
            op: None,
            statement: None,
            marks,
        }
    }
}

/// What of a call says which packets are its own.
#[derive(Clone, Debug)]
pub struct CallPackets {
    begun: Mark,
    /// Its last packet that was seen, whichever way.
    ended: Mark,
    /// The last of its response.
    answered: Option<Mark>,
    op: Name,
    statement: Option<Arc<Statement>>,
}

impl CallPackets {
    /// What calls are sorted by.
    #[must_use]
    pub fn begun(&self) -> Mark {
        self.begun
    }

    /// `None`: no request of it was seen, or it has no packets.
    #[must_use]
    pub fn of(call: &Call) -> Option<CallPackets> {
        let begun = call.request_first.or(call.response_first)?;
        let asked = call.request_last.unwrap_or(begun);
        Some(CallPackets {
            begun,
            ended: call.response_last.map_or(asked, |last| last.max(asked)),
            answered: call.response_last,
            op: call.op,
            statement: call.sql.as_ref().and_then(|sql| sql.statement.clone()),
        })
    }
}

/// Packets of one size, or of a range of sizes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketSizes {
    pub way: Way,
    /// The largest of the range; the smallest is one more than that of the range before.
    pub up_to_bytes: u64,
    pub packets: u64,
    pub bytes: u64,
}

/// Packets in order, and how large all were.
#[derive(Clone, Default, Debug)]
pub struct PacketList {
    pub packets: Vec<ListedPacket>,
    /// Packets beyond [`LISTED_PACKETS`](limits::LISTED_PACKETS).
    pub left_out: u64,
    /// The session data unit that was agreed on.
    pub sdu_bytes: Option<u64>,
    /// By direction and size.
    sizes: BTreeMap<(Way, u64), u64>,
    /// The same of data packets alone: others are as small as they are.
    data: BTreeMap<(Way, u64), u64>,
}

impl PacketList {
    /// Of a session with this session data unit.
    #[must_use]
    pub fn of_unit(sdu_bytes: Option<u64>) -> PacketList {
        PacketList {
            sdu_bytes,
            ..PacketList::default()
        }
    }

    pub fn add(&mut self, packet: ListedPacket) {
        self.count(&packet);
        match self.packets.len() < limits::LISTED_PACKETS {
            true => self.packets.push(packet),
            false => self.left_out += 1,
        }
    }

    /// Leaves only packets that belong to a call.
    pub fn of_calls(&mut self) {
        self.packets.retain(|p| p.op.is_some());
        self.sizes.clear();
        self.data.clear();
        let packets = std::mem::take(&mut self.packets);
        packets.iter().for_each(|p| self.count(p));
        self.packets = packets;
    }

    fn count(&mut self, packet: &ListedPacket) {
        if let Some(bytes) = packet.bytes {
            let known = self.sizes.contains_key(&(packet.way, bytes));
            let size = match known || self.sizes.len() < limits::PACKET_SIZES {
                true => bytes,
                false => bytes.next_power_of_two(),
            };
            *self.sizes.entry((packet.way, size)).or_default() += 1;
            if packet.kind == PacketKind::DATA {
                *self.data.entry((packet.way, size)).or_default() += 1;
            }
        }
    }

    /// As the end sees it that wrote the trace.
    pub(crate) fn of_side(self, side: Option<Side>) -> PacketList {
        let turned = |way: Way| match (side, way) {
            (Some(Side::Client), Way::Sent) => Way::ToServer,
            (Some(Side::Client), Way::Received) => Way::ToClient,
            (Some(Side::Server | Side::Listener), Way::Sent) => Way::ToClient,
            (Some(Side::Server | Side::Listener), Way::Received) => Way::ToServer,
            (_, way) => way,
        };
        let sizes = |sizes: BTreeMap<(Way, u64), u64>| {
            let sizes = sizes.into_iter();
            sizes
                .map(|((way, size), n)| ((turned(way), size), n))
                .collect()
        };
        let packet = |p: ListedPacket| ListedPacket {
            way: turned(p.way),
            ..p
        };
        PacketList {
            packets: self.packets.into_iter().map(packet).collect(),
            sizes: sizes(self.sizes),
            data: sizes(self.data),
            ..self
        }
    }

    /// Takes those of a further trace, whose session data unit is another one or the same.
    pub(crate) fn take(&mut self, further: PacketList, sdu_bytes: Option<u64>) {
        self.sdu_bytes = match self.counted() {
            0 => sdu_bytes,
            _ => self
                .sdu_bytes
                .filter(|sdu| sdu_bytes.is_none_or(|s| s == *sdu)),
        };
        let room = limits::LISTED_PACKETS.saturating_sub(self.packets.len());
        self.left_out += further.left_out + further.packets.len().saturating_sub(room) as u64;
        self.packets.extend(further.packets.into_iter().take(room));
        for (mine, theirs) in [
            (&mut self.sizes, further.sizes),
            (&mut self.data, further.data),
        ] {
            for (size, packets) in theirs {
                *mine.entry(size).or_default() += packets;
            }
        }
    }

    /// Packets so far.
    fn counted(&self) -> u64 {
        self.packets.len() as u64 + self.left_out
    }

    /// Sorts by beginning, says how far packets are apart, and which calls of `calls` they belong to.
    pub fn finish(&mut self, calls: &BTreeMap<u64, Vec<CallPackets>>) {
        self.packets.sort_by_key(|p| p.marks.0);
        let mut before: BTreeMap<u64, Time> = BTreeMap::new();
        for packet in &mut self.packets {
            let last = packet.at.and_then(|at| before.insert(packet.session, at));
            packet.gap_ns = packet.at.zip(last).map(|(at, last)| at - last);
            let calls = calls.get(&packet.session).map_or(&[][..], Vec::as_slice);
            if let Some(call) = call_of(packet, calls) {
                packet.op = Some(call.op);
                packet.statement.clone_from(&call.statement);
            }
        }
    }

    /// The distribution of sizes: by powers of two, with the session data unit for a border, so that full packets
    /// stand for themselves.
    #[must_use]
    pub fn sizes(&self) -> Vec<PacketSizes> {
        let mut rows: Vec<PacketSizes> = Vec::new();
        for (&(way, size), &packets) in &self.sizes {
            let up_to_bytes = self.border(size);
            let bytes = size.saturating_mul(packets);
            match rows.last_mut() {
                Some(row) if (row.way, row.up_to_bytes) == (way, up_to_bytes) => {
                    row.packets += packets;
                    row.bytes = row.bytes.saturating_add(bytes);
                }
                _ => rows.push(PacketSizes {
                    way,
                    up_to_bytes,
                    packets,
                    bytes,
                }),
            }
        }
        rows
    }

    /// Data packets of a direction that are as large as the session data unit, and all of them.
    #[must_use]
    pub fn full(&self, way: Way) -> Option<(u64, u64)> {
        let sdu = self.sdu_bytes?;
        let of = self.data.iter().filter(|((w, _), _)| *w == way);
        let all: u64 = of.map(|(_, packets)| packets).sum();
        let full = self.data.get(&(way, sdu)).copied().unwrap_or(0);
        (all > 0).then_some((full, all))
    }

    /// The end of the range that a size is in.
    fn border(&self, size: u64) -> u64 {
        let power = size.max(16).next_power_of_two();
        match self.sdu_bytes {
            // Below a full packet the range ends before it.
            Some(sdu) if size == sdu => sdu,
            Some(sdu) if size < sdu && power >= sdu => sdu - 1,
            _ => power,
        }
    }
}

/// The call that a packet belongs to: calls are in the order in which they began.
fn call_of<'a>(packet: &ListedPacket, calls: &'a [CallPackets]) -> Option<&'a CallPackets> {
    let (first, last) = packet.marks;
    let next = calls.partition_point(|c| c.begun <= first);
    let mut at = next.checked_sub(1)?;
    if packet.way != Way::ToServer {
        // Requests may come before the answers to those before them.
        let earliest = at.saturating_sub(limits::TNS_PIPELINED);
        let waits = |c: &CallPackets| c.answered.is_some_and(|end| last <= end);
        at = (earliest..=at).find(|&at| calls.get(at).is_some_and(waits))?;
    }
    calls.get(at).filter(|c| first <= c.ended)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::sql::op;

    fn mark(ms: i64) -> Mark {
        Mark {
            time: Time(ms * 1_000_000),
            packet: PacketRef {
                file: 0,
                frame: ms as u32,
            },
        }
    }

    fn packet(way: Way, ms: i64, bytes: u64) -> ListedPacket {
        let at = mark(ms);
        let place = Place::Frames(at.packet, at.packet);
        ListedPacket::new(
            1,
            Some(at.time),
            way,
            PacketKind::DATA,
            Some(bytes),
            place,
            (at, at),
        )
    }

    fn call(op: Name, begun: i64, answered: i64) -> CallPackets {
        CallPackets {
            begun: mark(begun),
            ended: mark(answered),
            answered: Some(mark(answered)),
            op,
            statement: None,
        }
    }

    #[test]
    fn packets_have_gaps_and_calls_of_their_own() {
        let mut list = PacketList::default();
        for (way, ms) in [
            (Way::ToServer, 1),
            // An answer to the first of two that were asked at once, and to the second.
            (Way::ToServer, 2),
            (Way::ToClient, 5),
            (Way::ToClient, 9),
            // Behind all calls: the client says good-bye.
            (Way::ToServer, 12),
        ] {
            list.add(packet(way, ms, 100));
        }
        let calls = vec![call(op::EXECUTE, 1, 5), call(op::FETCH, 2, 9)];
        list.finish(&BTreeMap::from([(1, calls)]));
        let told: Vec<_> = list
            .packets
            .iter()
            .map(|p| (p.gap_ns.map(|ns| ns / 1_000_000), p.op))
            .collect();
        assert_eq!(
            told,
            [
                (None, Some(op::EXECUTE)),
                (Some(1), Some(op::FETCH)),
                (Some(3), Some(op::EXECUTE)),
                (Some(4), Some(op::FETCH)),
                (Some(3), None),
            ]
        );
    }

    #[test]
    fn full_packets_stand_for_themselves() {
        let mut list = PacketList {
            sdu_bytes: Some(8_192),
            ..PacketList::default()
        };
        for bytes in [11, 16, 17, 8_191, 8_192, 8_192, 8_193] {
            list.add(packet(Way::ToClient, 1, bytes));
        }
        let told: Vec<_> = list
            .sizes()
            .iter()
            .map(|r| (r.up_to_bytes, r.packets, r.bytes))
            .collect();
        assert_eq!(
            told,
            [
                (16, 2, 27),
                (32, 1, 17),
                (8_191, 1, 8_191),
                (8_192, 2, 16_384),
                (16_384, 1, 8_193),
            ]
        );
        assert_eq!(list.full(Way::ToClient), Some((2, 7)));
        assert_eq!(list.full(Way::ToServer), None);
    }

    #[test]
    fn what_is_not_listed_is_counted_with_its_size() {
        let mut list = PacketList::default();
        for ms in 0..limits::LISTED_PACKETS as i64 + 3 {
            list.add(packet(Way::ToServer, ms, ms as u64));
        }
        assert_eq!(
            (list.packets.len(), list.left_out),
            (limits::LISTED_PACKETS, 3)
        );
        let counted: u64 = list.sizes().iter().map(|r| r.packets).sum();
        assert_eq!(counted, limits::LISTED_PACKETS as u64 + 3);
    }
}
