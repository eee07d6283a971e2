//! Packets of SQL*Net traces into turns, by connection.
//!
//! A process speaks with one partner at a time, so a socket is a connection, until a CONNECT comes on it.
//! Packets that follow each other in one direction are one message. From the last packet sent to the
//! first received, time passed away from this process: on the network and at the other side. From the
//! last received to the first sent it passed in this process.

use super::results::{ConnectionRow, NetTime, PacketRow};
use crate::stats::Distribution;
use model::limits::TRACE_CONNECTIONS;
use model::{Problems, Where};
use std::collections::BTreeMap;
use trace::oracle::{Packet, PacketKind};

#[derive(Default)]
pub(super) struct Packets {
    connections: Vec<Connection>,
    /// Those that packets are seen of, by socket.
    open: BTreeMap<Option<u32>, usize>,
}

#[derive(Default)]
struct Connection {
    socket: Option<u32>,
    /// By direction and type: packets, bytes, and packets of unknown size.
    kinds: BTreeMap<(bool, PacketKind), (u64, u64, u64)>,
    /// The largest packet of each direction, received and sent, and how often there was one.
    largest: [(u32, u64); 2],
    first: Option<i64>,
    last: Option<i64>,
    before: Option<(bool, Option<i64>)>,
    messages: [u64; 2],
    /// A time was finer than milliseconds.
    fine: bool,
    away: Distribution,
    here: Distribution,
}

impl Packets {
    /// The number of its connection, from 1.
    pub(super) fn packet(&mut self, packet: &Packet, problems: &mut Problems) -> u64 {
        let known = self.open.get(&packet.socket).copied();
        let number = match known {
            Some(number) if packet.kind != PacketKind::CONNECT => number,
            _ => self.begin(packet.socket, problems),
        };
        if let Some(connection) = self.connections.get_mut(number) {
            connection.packet(packet, problems);
        }
        number as u64 + 1
    }

    fn begin(&mut self, socket: Option<u32>, problems: &mut Problems) -> usize {
        if self.connections.len() < TRACE_CONNECTIONS {
            self.connections.push(Connection {
                socket,
                ..Connection::default()
            });
        } else {
            problems.note("connections-full", || {
                let what =
                    format!("more than {TRACE_CONNECTIONS} connections; the rest is in the last");
                (what, Where::default())
            });
        }
        let number = self.connections.len() - 1;
        self.open.insert(socket, number);
        number
    }

    /// The file is over.
    pub(super) fn end(&mut self) {
        self.open.clear();
    }

    pub(super) fn finish(self) -> Option<NetTime> {
        let mut all = Connection::default();
        for connection in &self.connections {
            all.merge(connection);
        }
        (!self.connections.is_empty()).then(|| NetTime {
            all: all.row(),
            connections: self.connections.iter().map(Connection::row).collect(),
        })
    }
}

impl Connection {
    fn packet(&mut self, packet: &Packet, problems: &mut Problems) {
        let sum = self.kinds.entry((packet.sent, packet.kind)).or_default();
        sum.0 += 1;
        match packet.bytes {
            Some(bytes) => {
                sum.1 += u64::from(bytes);
                let [received, sent] = &mut self.largest;
                let (largest, count) = if packet.sent { sent } else { received };
                match bytes.cmp(largest) {
                    std::cmp::Ordering::Greater => (*largest, *count) = (bytes, 1),
                    std::cmp::Ordering::Equal => *count += 1,
                    std::cmp::Ordering::Less => {}
                }
            }
            None => sum.2 += 1,
        }
        let now = packet.local_ns;
        self.fine |= now.is_some_and(|ns| ns % 1_000_000 != 0);
        self.first = self.first.or(now);
        self.last = now.or(self.last);
        let [received, sent] = &mut self.messages;
        match self.before {
            Some((before, _)) if before == packet.sent => {}
            before => {
                *(if packet.sent { sent } else { received }) += 1;
                if let (Some((_, Some(then))), Some(now)) = (before, now) {
                    match now.checked_sub(then) {
                        Some(ns) if ns >= 0 => (if packet.sent {
                            &mut self.here
                        } else {
                            &mut self.away
                        })
                        .add(ns),
                        _ => problems.note("time-steps-back", || {
                            let what =
                                "a packet is earlier than the one before it; its wait is left out";
                            (what.to_owned(), Where::default())
                        }),
                    }
                }
            }
        }
        self.before = Some((packet.sent, now));
    }

    fn merge(&mut self, other: &Connection) {
        for (kind, (packets, bytes, unknown)) in &other.kinds {
            let sum = self.kinds.entry(*kind).or_default();
            sum.0 += packets;
            sum.1 += bytes;
            sum.2 += unknown;
        }
        for (mine, (largest, count)) in self.largest.iter_mut().zip(other.largest) {
            match largest.cmp(&mine.0) {
                std::cmp::Ordering::Greater => *mine = (largest, count),
                std::cmp::Ordering::Equal => mine.1 += count,
                std::cmp::Ordering::Less => {}
            }
        }
        for (mine, theirs) in self.messages.iter_mut().zip(other.messages) {
            *mine += theirs;
        }
        self.fine |= other.fine;
        self.first = self.first.into_iter().chain(other.first).min();
        self.last = self.last.into_iter().chain(other.last).max();
        self.away.merge(&other.away);
        self.here.merge(&other.here);
    }

    fn row(&self) -> ConnectionRow {
        let [(largest_received, _), (largest_sent, largest_sent_count)] = self.largest;
        let [messages_received, messages_sent] = self.messages;
        ConnectionRow {
            socket: self.socket,
            packets: self
                .kinds
                .iter()
                .map(|(&(sent, kind), &(packets, bytes, unknown))| PacketRow {
                    sent,
                    kind: kind.name(),
                    packets,
                    bytes: (unknown < packets).then_some(bytes),
                })
                .collect(),
            largest_received,
            largest_sent,
            largest_sent_count,
            messages_received,
            messages_sent,
            first_local_ns: self.first,
            last_local_ns: self.last,
            milliseconds: self.first.is_some() && !self.fine,
            away: self.away.summary(),
            here: self.here.summary(),
        }
    }
}
